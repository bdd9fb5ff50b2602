"""Activations that are pruned and compressed in the kernel of their product, against float64."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

torch = pytest.importorskip("torch")
sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity.groups import compress24  # noqa: E402
from tritonext_sparsity.prune import prune  # noqa: E402

pytestmark = pytest.mark.gpu


@triton.jit
def product(x, b, out, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``out = prune(relu(x)) @ b`` for whole tiles."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x += rows[:, None] * K + inner[None, :]
    b += inner[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        values, meta = compress24(tl.maximum(tl.load(x), 0.0))
        acc = sparsity.sparse_dot(values, meta, tl.load(b), acc)
        x += BK
        b += BK * N
    tl.store(out + rows[:, None] * N + columns[None, :], acc)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_product_of_compressed_activations(dtype, stages):
    torch.manual_seed(0)
    m, n, k = 256, 384, 320
    x, b = torch.randn((m, k), device="cuda").to(dtype), torch.randn((k, n), device="cuda").to(dtype)
    out = torch.full((m, n), float("nan"), device="cuda")
    product[m // 128, n // 128](x, b, out, k, n, BM=128, BN=128, BK=64, num_warps=8, num_stages=stages)
    expected = prune(x.relu()).double() @ b.double()
    error = (out.double() - expected).abs().max() / expected.abs().max()
    # Operands of float32 are rounded to 11 bits.
    assert error.item() <= (2e-3 if dtype == torch.float32 else 1e-5)
