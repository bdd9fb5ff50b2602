"""Numbers of the grouped Hopper GEMM against float64."""

from __future__ import annotations

import importlib
import itertools
import pathlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("hopper_gemm_grouped")


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 1e-3), (torch.bfloat16, 8e-3)], ids=str)
@pytest.mark.parametrize(
    "sizes",
    [[256, 512], [700, 0, 1500, 33, 1863], [1] * 40, [0, 0, 5], [40000, 3], [130 * (i % 5) for i in range(64)]],
    ids=lambda sizes: f"{len(sizes)}-{sum(sizes)}",
)
def test_groups(example, sizes, dtype, tolerance):
    generator = torch.Generator("cuda").manual_seed(sum(sizes))
    k, n, total = 320, 712, sum(sizes)
    a = torch.randn((total, k), generator=generator, device="cuda").to(dtype)
    b = torch.randn((len(sizes), k, n), generator=generator, device="cuda").to(dtype)
    offsets = torch.tensor([0, *sizes], device="cuda").cumsum(0).int()
    ends = offsets.tolist()
    products = [a[i:j].double() @ b[group].double() for group, (i, j) in enumerate(itertools.pairwise(ends))]
    reference = torch.cat(products)
    example.triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    # A row more shows what is written past the end.
    out = torch.empty((total + 1, n), device="cuda", dtype=dtype)
    launch = example.prepare(a, b, offsets, out[:total])
    for _ in range(3):
        out.fill_(float("nan"))
        launch()
        error = (out[:total].double() - reference).abs().max() / reference.abs().max()
        assert error.item() <= tolerance
        assert bool(out[total].isnan().all())


def test_a_k_that_reaches_into_the_next_group_is_refused(example):
    a, b = torch.empty((64, 72), device="cuda"), torch.empty((2, 72, 64), device="cuda")
    offsets = torch.tensor([0, 32, 64], device="cuda", dtype=torch.int32)
    with pytest.raises(ValueError, match="expected a K that is a multiple of 64, got 72"):
        example.prepare(a, b, offsets, torch.empty((64, 64), device="cuda"))
