"""What small ops do on a GPU: fences, prefetches, barriers that a cluster is told of, and constants."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def hopper():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("the kernels need a GPU of compute capability 9.0")


@triton.jit
def fenced(source, target, SCOPE: tl.constexpr):
    """Copy tiles by TMA, those stored plainly behind a fence, and the next one prefetched."""
    row = tl.program_id(0) * 64
    tiles = tlx.local_alloc((64, 64), tlx.dtype_of(source), 2)
    full = tlx.alloc_barriers(1)
    tlx.async_descriptor_prefetch_tensor(source, [row, 0])
    tlx.barrier_expect_bytes(full[0], 64 * 64 * tlx.size_of(tlx.dtype_of(source)))
    tlx.async_descriptor_load(source, tlx.local_view(tiles, 0), [row, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    value = tlx.local_load(tlx.local_view(tiles, 0))
    tlx.assert_same_layout(value, value + value)
    tlx.dump_layout(value)
    tlx.local_store(tlx.local_view(tiles, 1), value + value)
    tlx.fence(SCOPE)
    tlx.fence("async_shared")
    tlx.async_descriptor_store(target, tlx.local_view(tiles, 1), [row, 0])
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("scope", ["gpu", "sys"])
def test_fences_and_prefetches(scope):
    x = torch.randn(1024, 64, device="cuda", dtype=torch.float16)
    y = torch.full_like(x, float("nan"))
    fenced[(16,)](TensorDescriptor.from_tensor(x, [64, 64]), TensorDescriptor.from_tensor(y, [64, 64]), scope)
    assert torch.equal(y, x + x)


@triton.jit
def flags(data, flag, out, SCOPE: tl.constexpr):
    """The second program of each pair reads, behind a fence, what the first one stored in front of one."""
    at = tl.program_id(0) // 2 * 128 + tl.arange(0, 128)
    ready = flag + tl.program_id(0) // 2
    if tl.program_id(0) % 2 == 0:
        tl.store(data + at, at + 1)
        tlx.fence(SCOPE)
        tl.debug_barrier()
        tl.atomic_xchg(ready, 1, sem="relaxed")
    else:
        while tl.atomic_add(ready, 0, sem="relaxed") == 0:
            pass
        tlx.fence(SCOPE)
        tl.store(out + at, tl.load(data + at, volatile=True))


@pytest.mark.parametrize("scope", ["gpu", "sys"])
def test_stores_come_before_a_flag(scope):
    data, out = (torch.full((32 * 128,), -1, device="cuda", dtype=torch.int32) for _ in range(2))
    flag = torch.zeros(32, device="cuda", dtype=torch.int32)
    flags[(64,)](data, flag, out, scope)
    assert torch.equal(out.cpu(), torch.arange(1, 32 * 128 + 1, dtype=torch.int32))


@triton.jit
def made_late(x):
    """Barriers that the cluster is told of by the kernel itself."""
    bars = tlx.alloc_barriers(1)
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    tlx.barrier_arrive(bars[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)
    tlx.barrier_wait(bars[0], 0)
    tl.store(x + tl.program_id(0), tl.program_id(0))


def test_barriers_are_shown_to_the_cluster():
    x = torch.full((64,), -1, device="cuda", dtype=torch.int32)
    with tlx.install_compat():
        made_late[(64,)](x, ctas_per_cga=(2, 1, 1))
    assert torch.equal(x.cpu(), torch.arange(64, dtype=torch.int32))


@triton.jit
def known(x, y, NAME: tl.constexpr):
    value = tl.load(x + tl.arange(0, 64))
    tl.store(y + tl.arange(0, 64), value if tlx.get_fp8_format_name(tlx.dtype_of(x)) == NAME else -value)


@pytest.mark.parametrize(("dtype", "name"), [(torch.float8_e5m2, "e5m2"), (torch.float8_e4m3fn, "e4m3")])
def test_names_of_formats(dtype, name):
    x = torch.randn(64, device="cuda").to(dtype)
    y = torch.empty_like(x)
    known[(1,)](x, y, name)
    assert torch.equal(y.float(), x.float())
