"""Sparse products of the language on a GPU against float64; ``tests/fuzz/run.py`` tries any number of them."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import numpy as np
import pytest
import triton
import triton.language as tl

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")

from tritonext_sparsity import formats  # noqa: E402

pytestmark = pytest.mark.gpu

_spec = importlib.util.spec_from_file_location("products", pathlib.Path(__file__).parents[1] / "fuzz" / "run.py")
products = importlib.util.module_from_spec(_spec)
sys.modules["products"] = products
_spec.loader.exec_module(products)


@pytest.mark.parametrize("number", range(40))
def test_product(number):
    case = products.draw(5, number)
    state, said = products.run(case)
    assert state != "bad", f"{case}: {said}"


@pytest.mark.parametrize("rows", [32, 64])
@pytest.mark.parametrize("form", ["sparse_dot", "dot_sparse"])
@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("uint8", "int8"), ("int8", "uint8")])
def test_integers_of_either_sign(kinds, form, rows):
    """Whole ranges, by warps where a tile has 32 rows and by warp groups where it has 64."""
    height, width, depth = 100, 72, 320
    numbers = np.random.default_rng(rows)
    left, right = (
        numbers.integers(0, 256, shape).astype(np.uint8).view(kind)
        for shape, kind in zip([(height, depth), (depth, width)], kinds, strict=True)
    )
    matrix = formats.compress(left, pruned=True)
    values, meta, b = (torch.from_numpy(array).cuda() for array in (matrix.values, matrix.meta, right))
    c = torch.full((height, width), 77, device="cuda", dtype=torch.int32)
    grid = triton.cdiv(height, rows), triton.cdiv(width, 32)
    constants = {"BM": rows, "BN": 32, "BK": 64, "GROUP": 8, "BYTES": 8, "FORM": form, "LOAD": "rows", "ACC": tl.int32}
    products.gemm[grid](values, meta, b, c, height, width, depth, **constants, num_warps=4, num_stages=3)
    expected = formats.decompress(matrix).astype(np.int64) @ right.astype(np.int64)
    np.testing.assert_array_equal(c.cpu().numpy(), expected)
