"""A sample of random products; `nox -s sparsity-fuzz` runs many."""

import importlib.util
import pathlib
import sys

import pytest

pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")


@pytest.fixture(scope="module")
def products():
    path = pathlib.Path(__file__).parents[1] / "fuzz" / "run.py"
    spec = importlib.util.spec_from_file_location("products", path)
    module = sys.modules["products"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["products"]


def test_a_seed_and_a_number_make_the_same_case(products):
    cases = [products.draw(7, number) for number in range(300)]
    assert cases == [products.draw(7, number) for number in range(300)]
    assert {case.mistake for case in cases} == set(products.MISTAKES)
    assert {(case.kind, case.form) for case in cases} == {(k, f) for k in products.TYPES for f in products.forms_of(k)}


@pytest.mark.parametrize("mistaken", [False, True])
def test_a_sample_compiles_or_is_refused(products, mistaken):
    case = next(case for case in map(products.draw, [7] * 300, range(300)) if bool(case.mistake) == mistaken)
    assert products.run(case, compile_only=True)[0] == ("refused" if mistaken else "ok")
