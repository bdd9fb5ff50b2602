"""Each op has tests of its code, what it refuses, its simulation and its numbers on Hopper: read off the tests."""

from __future__ import annotations

import ast
import pathlib
import re
import types

import pytest

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
from tritonext.errors import UserError  # noqa: E402
from tritonext_tlx.definition import ALL, definitions  # noqa: E402

TESTS = pathlib.Path(__file__).parents[1]
OPS = definitions()


def sources(directory: pathlib.Path, pattern: str = "*.py") -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(directory.glob(pattern))}


def called(text: str) -> set[str]:
    """Return the ops that kernels of a file use; `buffer[i]` of a buffer is a view."""
    names = {
        node.func.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "tlx"
    }
    return names | ({"local_view"} if re.search(r"\w+\[\w+\], |\(\w+\[\w+\]\)", text) else set())


def ops_of(files: dict[str, str], using: str) -> set[str]:
    return set().union(*(called(text) for text in files.values() if re.search(using, text)))


PYTHON = sources(TESTS / "python", "test_*.py")
EXAMPLES = sources(TESTS.parent / "examples")
COMPILED = ops_of(PYTHON, r"\bcompiled\(|\.compile\(|\bclustered\(")
SIMULATED = ops_of(PYTHON, r"\bsimulate\(") | ops_of(EXAMPLES, "")
ON_GPU = ops_of(sources(TESTS / "gpu", "test_*.py"), "") | ops_of(EXAMPLES, "")


@pytest.mark.parametrize("name", OPS)
def test_code_is_looked_at(name):
    assert name in COMPILED


@pytest.mark.parametrize("name", OPS)
def test_the_simulator_runs_it(name):
    assert name in SIMULATED


@pytest.mark.parametrize("name", [name for name, item in OPS.items() if "cuda:90" in item.targets])
def test_numbers_are_compared_on_hopper(name):
    assert name in ON_GPU


@pytest.mark.parametrize("name", [name for name, item in OPS.items() if "Raises:" in (item.function.__doc__ or "")])
def test_something_is_refused(name):
    """By the name of the op in the message, or as a case of a test that puts it there."""
    for text in PYTHON.values():
        constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        texts = [value for value in constants if isinstance(value, str)]
        if any(re.search(rf"tlx\.{name}\b", value) for value in texts):
            return
        if name in texts and ("refused(" in text or "UserError" in text):
            return
    pytest.fail(f"no test expects an error of tlx.{name}")


@pytest.mark.parametrize(
    ("name", "target"), [(name, target) for name, item in OPS.items() for target in ALL if target not in item.targets]
)
def test_targets_without_it_are_told(name, target):
    backend, _, arch = target.partition(":")
    options = types.SimpleNamespace(backend_name=backend, arch=f"sm{arch}" if backend == "cuda" else arch)
    semantic = types.SimpleNamespace(builder=types.SimpleNamespace(options=options))
    with pytest.raises(UserError, match="the target lacks this operation") as caught:
        getattr(tlx, name).fn(_semantic=semantic)
    assert f"tlx.{name}" in str(caught.value)
    assert f"found: {target}" in str(caught.value)
    assert name not in tlx.supported_ops(target)
