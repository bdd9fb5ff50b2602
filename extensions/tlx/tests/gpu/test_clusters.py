"""Numbers of kernels whose blocks access each other, against exact references."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

BLOCKS = 64


@pytest.fixture(autouse=True)
def compat():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters need a GPU of compute capability 9.0")
    with tlx.install_compat():
        yield


def bits(*shape, dtype):
    """Return random finite numbers of a type."""
    size = torch.tensor([], dtype=dtype).element_size()
    if dtype.is_floating_point:
        return torch.randn(shape, device="cuda").to(dtype)
    return torch.randint(-(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1, shape, device="cuda", dtype=dtype)


def swapped(x, blocks=2):
    """Return what the blocks of each cluster have when each got the tensor of the one before it."""
    return x.unflatten(0, (-1, blocks)).roll(1, 1).flatten(0, 1)


@triton.jit
def passes_on(x, y, n, M: tl.constexpr, N: tl.constexpr, HOW: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tiles = tlx.local_alloc((M, N), tlx.dtype_of(x), 2)
    full, empty = tlx.alloc_barriers(2), tlx.alloc_barriers(2)
    rank, size = tlx.cluster_cta_rank(), tlx.cluster_size_1d()
    following, before = (rank + 1) % size, (rank + size - 1) % size
    base = tl.program_id(0) * n * M * N
    for i in range(n):
        slot, phase = tlx.get_bufidx_phase(i, 2)
        value = tl.load(x + base + i * M * N + at)
        tlx.barrier_wait(empty[slot], phase ^ 1)
        if HOW == "async":
            tlx.barrier_expect_bytes(full[slot], M * N * tlx.size_of(tlx.dtype_of(x)))
            tlx.async_remote_shmem_store(tiles[slot], value, following, full[slot])
        elif HOW == "view":
            tlx.local_store(tlx.remote_view(tiles[slot], following), value)
            tlx.barrier_arrive(tlx.remote_view(full[slot], following))
        else:
            tlx.remote_shmem_store(tiles[slot], value, following)
            tlx.barrier_arrive(full[slot], remote_cta_rank=following)
        tlx.barrier_wait(full[slot], phase)
        tl.store(y + base + i * M * N + at, tlx.local_load(tiles[slot]))
        tlx.barrier_arrive(empty[slot], remote_cta_rank=before)


@pytest.mark.parametrize("how", ["plain", "view", "async"])
@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (torch.float16, (64, 64)),
        (torch.bfloat16, (16, 256)),
        (torch.float32, (128, 32)),
        (torch.float32, (4, 8)),
        (torch.int8, (64, 128)),
        (torch.int64, (8, 4)),
        (torch.float16, (256, 2)),
    ],
)
def test_tensors_go_to_the_next_block(how, blocks, dtype, shape):
    x = bits(BLOCKS, 5, *shape, dtype=dtype)
    y = torch.full_like(x, 77)
    for _ in range(3):
        passes_on[(BLOCKS,)](x, y, 5, *shape, HOW=how, ctas_per_cga=(blocks, 1, 1))
        assert torch.equal(y, swapped(x, blocks))


@triton.jit
def sums(x, y, M: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    size = tlx.cluster_size_1d()
    tile = tlx.local_alloc((M, N), tl.float32)
    tlx.local_store(tile[0], tl.load(x + at))
    tlx.cluster_barrier()
    total = tl.zeros((M, N), tl.float32)
    for other in range(size):
        total += tlx.local_load(tlx.remote_view(tile[0], other))
    tl.store(y + at, total)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(64, 64), (32, 4), (8, 128)])
def test_blocks_load_from_each_other(shape, num_warps):
    x = torch.randint(-1000, 1000, (BLOCKS, *shape), device="cuda").float()
    y = torch.full_like(x, float("nan"))
    for _ in range(3):
        sums[(BLOCKS,)](x, y, *shape, num_warps=num_warps, ctas_per_cga=(4, 1, 1))
        expected = x.unflatten(0, (-1, 4)).sum(1, keepdim=True).expand(-1, 4, -1, -1).flatten(0, 1)
        assert torch.equal(y, expected)


@triton.jit
def sends_halves(desc, y, n, M: tl.constexpr, N: tl.constexpr, POLICY: tl.constexpr):
    """Of each tile a block loads half of the columns and sends it to both; a task stores what came."""
    tiles = tlx.local_alloc((M, N), tlx.dtype_of(desc), 3)
    full, empty, ready = tlx.alloc_barriers(3), tlx.alloc_barriers(3), tlx.alloc_barriers(3, arrive_count=2)
    first = tl.program_id(0) // 2 * n
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 3)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], M * N * tlx.size_of(tlx.dtype_of(desc)))
                tlx.barrier_arrive(ready[slot])
                tlx.barrier_arrive(ready[slot], remote_cta_rank=rank ^ 1)
                tlx.barrier_wait(ready[slot], phase)
                if rank == 0:
                    part = tlx.local_slice(tiles[slot], [0, 0], [M, N // 2])
                else:
                    part = tlx.local_slice(tiles[slot], [0, N // 2], [M, N // 2])
                tlx.async_descriptor_load(
                    desc,
                    part,
                    [(first + i) * M, rank * (N // 2)],
                    full[slot],
                    eviction_policy=POLICY,
                    multicast_targets=[rank, rank ^ 1],
                )
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 3)
                tlx.barrier_wait(full[slot], phase)
                tl.store(y + (tl.program_id(0) * n + i) * M * N + at, tlx.local_load(tiles[slot]))
                tlx.barrier_arrive(empty[slot])


@pytest.mark.parametrize("policy", ["", "evict_first"])
@pytest.mark.parametrize(
    ("dtype", "shape"), [(torch.float16, (64, 256)), (torch.float32, (32, 64)), (torch.float16, (8, 128))]
)
def test_halves_of_tiles_go_to_both_blocks(dtype, shape, policy):
    n, (rows, columns) = 7, shape
    x = bits(BLOCKS // 2 * n * rows, columns, dtype=dtype)
    y = torch.full((BLOCKS, n, rows, columns), float("nan"), device="cuda", dtype=dtype)
    desc = TensorDescriptor.from_tensor(x, [rows, columns // 2])
    for _ in range(3):
        sends_halves[(BLOCKS,)](desc, y, n, rows, columns, POLICY=policy, ctas_per_cga=(2, 1, 1))
        expected = x.view(BLOCKS // 2, 1, n, rows, columns).expand(-1, 2, -1, -1, -1).flatten(0, 1)
        assert torch.equal(y, expected)


@triton.jit
def by_threads(y):
    done = tlx.alloc_warp_barrier(1, num_warps=2, num_arrivals=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            tl.store(y + tl.program_id(0), tlx.cluster_cta_rank())
        with tlx.async_task(num_warps=2):
            for _ in range(3):
                tlx.barrier_arrive(done[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)


def test_threads_arrive_at_a_warp_barrier_of_another_block():
    y = torch.full((BLOCKS,), -1, device="cuda", dtype=torch.int32)
    by_threads[(BLOCKS,)](y, ctas_per_cga=(2, 1, 1))
    assert torch.equal(y.cpu(), torch.arange(BLOCKS, dtype=torch.int32) % 2)


@triton.jit
def stored_for_tma(desc, M: tl.constexpr, N: tl.constexpr):
    tile = tlx.local_alloc((M, N), tl.float16)
    rank = tlx.cluster_cta_rank()
    tlx.remote_shmem_store(tile[0], tl.full((M, N), 1.0, tl.float16) * tl.program_id(0), rank ^ 1)
    tlx.fence_async_shared()
    tlx.cluster_barrier()
    tlx.async_descriptor_store(desc, tile[0], [tl.program_id(0) * M, 0])
    tlx.async_descriptor_store_wait(0)


def test_descriptor_stores_read_what_another_block_stored():
    out = torch.full((BLOCKS * 64, 64), float("nan"), device="cuda", dtype=torch.float16)
    stored_for_tma[(BLOCKS,)](TensorDescriptor.from_tensor(out, [64, 64]), 64, 64, ctas_per_cga=(2, 1, 1))
    expected = swapped(torch.arange(BLOCKS, device="cuda", dtype=torch.float16))
    assert torch.equal(out.view(BLOCKS, -1), expected[:, None].expand(-1, 64 * 64))


@triton.jit
def along_axes(x, ranks):
    """Each block arrives at the first one of its cluster, which counts them, and notes its rank."""
    bars = tlx.alloc_barriers(1, 8)
    at = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tlx.barrier_arrive(bars[0], remote_cta_rank=0)
    if tlx.cluster_cta_rank() == 0:
        tlx.barrier_wait(bars[0], 0)
        tl.store(x + at, tlx.cluster_size_1d())
    tl.store(ranks + at, tlx.cluster_cta_rank())


@pytest.mark.parametrize("shape", [(4, 2, 1), (1, 8, 1), (2, 2, 2)])
def test_clusters_along_other_axes(shape):
    sizes = (8, 8, 4)
    x, ranks = (torch.full(sizes[::-1], -1, device="cuda", dtype=torch.int32) for _ in range(2))
    along_axes[sizes](x, ranks, ctas_per_cga=shape)
    z, y, first = torch.meshgrid(*(torch.arange(size) for size in sizes[::-1]), indexing="ij")
    expected = first % shape[0] + shape[0] * (y % shape[1]) + shape[0] * shape[1] * (z % shape[2])
    assert torch.equal(ranks.cpu(), expected.int())
    assert torch.equal(x.cpu(), torch.where(expected == 0, 8, -1).int())
