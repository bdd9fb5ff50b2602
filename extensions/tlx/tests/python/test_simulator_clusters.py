"""Clusters in the simulator: programs that run together, each other's memory, and what goes wrong with it."""

import re

import pytest
import triton
import triton.language as tl

np = pytest.importorskip("numpy")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
from tritonext.errors import UserError  # noqa: E402
from tritonext_tlx.simulator import (  # noqa: E402
    BarrierMisuse,
    ByteCountMismatch,
    Deadlock,
    Descriptor,
    Leak,
    MissingFence,
    OutOfRange,
    Race,
    ReadBeforeCompletion,
    UninitializedRead,
    simulate,
)

SEEDS = range(8)


def random(*shape):
    return np.random.default_rng().standard_normal(shape).astype(np.float32)


@triton.jit
def places(program, rank, size):
    at = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    tlx.cluster_barrier()
    tl.store(program + at, tl.program_id(0))
    tl.store(rank + at, tlx.cluster_cta_rank())
    tl.store(size + at, tlx.cluster_size_1d())


@pytest.mark.parametrize("blocks", [2, 4, 8])
def test_each_block_is_a_program_of_its_own(blocks):
    program, rank, size = (np.full((3, 16), -1, np.int32) for _ in range(3))
    report = simulate(places, (16, 3), program, rank, size, ctas_per_cga=(blocks, 1, 1))
    expected = np.tile(np.arange(16), (3, 1))
    np.testing.assert_array_equal(program, expected)
    np.testing.assert_array_equal(rank, expected % blocks)
    np.testing.assert_array_equal(size, np.full_like(expected, blocks))
    assert report.programs == 48


@triton.jit
def places_along_axes(x):
    at = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tlx.cluster_barrier()
    tl.store(x + at, tlx.cluster_cta_rank())


def test_ranks_count_along_the_first_axis_first():
    """PTX ISA, %cluster_ctarank."""
    x = np.full((2, 4, 8), -1, np.int32)
    simulate(places_along_axes, (8, 4, 2), x, ctas_per_cga=(2, 2, 2))
    z, y, x_ = np.indices(x.shape)
    np.testing.assert_array_equal(x, x_ % 2 + 2 * (y % 2) + 4 * z)
    with pytest.raises(UserError, match="a second size that 2 divides"):
        simulate(places_along_axes, (8, 3, 2), x, ctas_per_cga=(2, 2, 2))


@triton.jit
def total(value, bar):
    parts = tlx.local_alloc((32,), tl.float32, 2)
    rank = tlx.cluster_cta_rank()
    tlx.local_store(parts[rank], value)
    tlx.async_remote_shmem_store(parts[rank], value, rank ^ 1, bar)
    tlx.barrier_wait(bar, 0)
    return tlx.local_load(parts[0]) + tlx.local_load(parts[1])


@triton.jit
def allocates_in_a_function(x, y):
    at = tl.program_id(0) * 32 + tl.arange(0, 32)
    bars = tlx.alloc_barriers(2)
    for i in tl.static_range(2):
        tlx.barrier_expect_bytes(bars[i], 32 * 4)
    value = tl.load(x + at)
    for i in tl.static_range(2):
        value = value * total(value, bars[i])
    tl.store(y + at, value)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_block_stores_to_what_another_one_has_not_come_to(seed):
    x = random(4, 2, 32)
    y = np.empty_like(x)
    simulate(allocates_in_a_function, (8,), x, y, seed=seed, ctas_per_cga=(2, 1, 1))
    for _ in range(2):
        x = x * x.sum(1, keepdims=True)
    np.testing.assert_allclose(y, x, rtol=1e-6)


@triton.jit
def exchange(x, y, HOW: tl.constexpr, FAULT: tl.constexpr = ""):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    slot = tlx.local_alloc((64,), tl.float32, 1)
    bars = tlx.alloc_barriers(1)
    peer = tlx.cluster_cta_rank() ^ 1
    value = tl.load(x + at)
    if HOW == "async":
        size = 128 if FAULT == "bytes" else 256
        if FAULT != "expect" or peer == 0:
            tlx.barrier_expect_bytes(bars[0], size)
        tlx.async_remote_shmem_store(slot[0], value, peer, bars[0])
    elif HOW == "view":
        tlx.local_store(tlx.remote_view(slot[0], peer), value)
        tlx.barrier_arrive(tlx.remote_view(bars[0], peer))
    else:
        tlx.remote_shmem_store(slot[0], value, peer)
        if FAULT == "own":
            tlx.barrier_arrive(bars[0])
        else:
            tlx.barrier_arrive(bars[0], remote_cta_rank=peer)
        if FAULT == "often":
            tlx.barrier_arrive(bars[0], remote_cta_rank=peer)
    if FAULT != "wait":
        tlx.barrier_wait(bars[0], 0)
    tl.store(y + at, tlx.local_load(slot[0]))


def swapped(x):
    return x.reshape(-1, 2, 64)[:, ::-1].reshape(-1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("how", ["async", "view", "plain"])
def test_blocks_exchange_tensors(how, seed):
    x = random(6 * 64)
    y = np.full_like(x, np.nan)
    simulate(exchange, (6,), x, y, HOW=how, seed=seed, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(y, swapped(x))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("how", "fault", "finding", "text"),
    [
        ("async", "bytes", (ByteCountMismatch, ReadBeforeCompletion), ""),
        ("async", "wait", (ReadBeforeCompletion, UninitializedRead), "slot[0]"),
        ("async", "expect", (Deadlock, ByteCountMismatch), ""),
        ("plain", "own", (Race, UninitializedRead), "slot[0]"),
        ("plain", "often", (Deadlock, BarrierMisuse), "bars[0] of block"),
        ("plain", "wait", (Race, UninitializedRead), "slot[0]"),
    ],
)
def test_faults_of_exchanges(how, fault, finding, text, seed):
    x = random(128)
    with pytest.raises(finding) as caught:
        simulate(exchange, (2,), x, np.zeros_like(x), HOW=how, FAULT=fault, seed=seed, ctas_per_cga=(2, 1, 1))
    assert text in str(caught.value)


@triton.jit
def sums(x, y, N: tl.constexpr):
    at = tl.arange(0, 32)
    rank, size = tlx.cluster_cta_rank(), tlx.cluster_size_1d()
    tile = tlx.local_alloc((32,), tl.float32)
    tlx.local_store(tile[0], tl.load(x + tl.program_id(0) * 32 + at))
    tlx.cluster_barrier()
    total = tl.zeros((32,), tl.float32)
    for other in range(size):
        total += tlx.local_load(tlx.remote_view(tile[0], (rank + other) % size))
    tl.store(y + tl.program_id(0) * 32 + at, total)


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_load_from_each_other_until_all_have_ended(seed):
    x = random(8 * 32)
    y = np.full_like(x, np.nan)
    simulate(sums, (8,), x, y, N=4, seed=seed, ctas_per_cga=(4, 1, 1))
    expected = np.repeat(x.reshape(2, 4, 32).sum(1, keepdims=True), 4, 1).reshape(-1)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@triton.jit
def unmet(x, y):
    at = tl.arange(0, 32)
    tile = tlx.local_alloc((32,), tl.float32)
    other = tlx.remote_view(tile[0], tlx.cluster_cta_rank() ^ 1)
    tlx.local_store(tile[0], tl.load(x + at))
    tl.store(y + at, tlx.local_load(other))


@pytest.mark.parametrize("seed", SEEDS)
def test_loads_before_the_other_block_has_stored(seed):
    x = random(32)
    with pytest.raises(Exception) as caught:
        simulate(unmet, (2,), x, np.zeros_like(x), seed=seed, ctas_per_cga=(2, 1, 1))
    assert re.search("nothing has written|while another|may write", str(caught.value))


@triton.jit
def multicast_once(desc, y, FAULT: tl.constexpr = ""):
    tile = tlx.local_alloc((16, 32), tl.float32)
    full = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    if FAULT != "leak" or rank == 0:
        tlx.barrier_expect_bytes(full[0], 16 * 32 * (2 if FAULT == "bytes" else 4))
    tlx.cluster_barrier()
    if rank == 0:
        tlx.async_descriptor_load(desc, tile[0], [0, 0], full[0], multicast_targets=[0, 1])
    if FAULT != "leak" or rank == 0:
        tlx.barrier_wait(full[0], 0)
    at = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    if FAULT != "leak" or rank == 0:
        tl.store(y + tl.program_id(0) * 16 * 32 + at, tlx.local_load(tile[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tile_goes_to_both_blocks_with_its_bytes(seed):
    x = random(16, 32)
    y = np.full((4, 16, 32), np.nan, np.float32)
    simulate(multicast_once, (4,), Descriptor(x, [16, 32]), y, seed=seed, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(y, np.tile(x, (4, 1, 1)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("fault", "finding"), [("bytes", ByteCountMismatch), ("leak", (Race, Leak))])
def test_faults_of_tiles_for_both_blocks(fault, finding, seed):
    x, y = random(16, 32), np.zeros((2, 16, 32), np.float32)
    with pytest.raises(finding):
        simulate(multicast_once, (2,), Descriptor(x, [16, 32]), y, FAULT=fault, seed=seed, ctas_per_cga=(2, 1, 1))


@triton.jit
def ring(desc, y, n, LOCAL: tl.constexpr = False):
    """Halves of tiles are sent to both blocks, behind the loads of both of the tile before."""
    tile = tlx.local_alloc((16, 32), tl.float32)
    full, ready = tlx.alloc_barriers(1), tlx.alloc_barriers(1, arrive_count=2)
    rank = tlx.cluster_cta_rank()
    at = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    for i in range(n):
        tlx.barrier_expect_bytes(full[0], 16 * 32 * 4)
        if LOCAL:
            tlx.barrier_arrive(ready[0], 2)
        else:
            tlx.barrier_arrive(ready[0])
            tlx.barrier_arrive(ready[0], remote_cta_rank=rank ^ 1)
        tlx.barrier_wait(ready[0], i & 1)
        for half in tl.static_range(2):
            if rank == half:
                part = tlx.local_slice(tile[0], [half * 8, 0], [8, 32])
                tlx.async_descriptor_load(desc, part, [i * 16 + half * 8, 0], full[0], multicast_targets=[0, 1])
        tlx.barrier_wait(full[0], i & 1)
        tl.store(y + (tl.program_id(0) * n + i) * 512 + at, tlx.local_load(tile[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_halves_of_tiles_go_to_both_blocks(seed):
    x = random(4 * 16, 32)
    y = np.full((2, 4, 16, 32), np.nan, np.float32)
    simulate(ring, (2,), Descriptor(x, [8, 32]), y, 4, seed=seed, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(y, np.tile(x.reshape(4, 16, 32), (2, 1, 1, 1)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tile_for_a_block_that_still_reads_the_one_before(seed):
    """A block that waits for itself alone overwrites what the other one reads."""
    x, y = random(4 * 16, 32), np.zeros((2, 4, 16, 32), np.float32)
    with pytest.raises((Race, ByteCountMismatch)):
        simulate(ring, (2,), Descriptor(x, [8, 32]), y, 4, LOCAL=True, seed=seed, ctas_per_cga=(2, 1, 1))


@triton.jit
def leaves(x, MEETS: tl.constexpr):
    slot = tlx.local_alloc((32,), tl.float32)
    rank = tlx.cluster_cta_rank()
    with tlx.async_tasks(no_ending_cluster_sync=not MEETS):
        with tlx.async_task("default"):
            if rank == 0:
                tlx.remote_shmem_store(slot[0], tl.zeros((32,), tl.float32), 1)
        with tlx.async_task(num_warps=1):
            if rank == 1:
                tl.store(x, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_block_ends_while_another_one_accesses_it(seed):
    x = np.zeros(1, np.float32)
    simulate(leaves, (2,), x, MEETS=True, seed=seed, ctas_per_cga=(2, 1, 1))
    assert x[0] == 1
    with pytest.raises(Race, match="a block is accessed that may have ended, block 1"):
        simulate(leaves, (2,), x, MEETS=False, seed=seed, ctas_per_cga=(2, 1, 1))


@triton.jit
def stored_for_tma(desc, FENCE: tl.constexpr):
    tile = tlx.local_alloc((16, 32), tl.float32)
    tlx.remote_shmem_store(tile[0], tl.full((16, 32), 2.0, tl.float32), tlx.cluster_cta_rank() ^ 1)
    if FENCE:
        tlx.fence_async_shared()
    tlx.cluster_barrier()
    tlx.async_descriptor_store(desc, tile[0], [tl.program_id(0) * 16, 0])
    tlx.async_descriptor_store_wait(0)


def test_remote_stores_need_a_fence_before_descriptor_copies():
    out = np.zeros((32, 32), np.float32)
    simulate(stored_for_tma, (2,), Descriptor(out, [16, 32]), FENCE=True, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(out, np.full_like(out, 2))
    with pytest.raises(MissingFence, match="remote_shmem_store"):
        simulate(stored_for_tma, (2,), Descriptor(out, [16, 32]), FENCE=False, ctas_per_cga=(2, 1, 1))


@triton.jit
def late_barriers(x):
    first = tlx.alloc_barriers(1)
    tlx.barrier_arrive(first[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)
    second = tlx.alloc_barriers(1)
    tlx.barrier_arrive(second[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)
    tlx.barrier_wait(first[0], 0)
    tlx.barrier_wait(second[0], 0)
    tl.store(x, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_barriers_that_another_block_may_not_have_yet(seed):
    with pytest.raises((Race, OutOfRange)) as caught:
        simulate(late_barriers, (2,), np.zeros(1, np.float32), seed=seed, ctas_per_cga=(2, 1, 1))
    assert re.search("may not be there yet|has nothing at this place yet", str(caught.value))


@triton.jit
def waits(x, CASE: tl.constexpr):
    bars = tlx.alloc_barriers(1)
    if CASE == "deadlock":
        if tlx.cluster_cta_rank() == 0:
            tlx.barrier_arrive(bars[0], remote_cta_rank=1)
        tlx.barrier_wait(bars[0], 0)
    elif CASE == "remote":
        tlx.barrier_wait(tlx.remote_view(bars[0], 1 - tlx.cluster_cta_rank()), 0)
    elif CASE == "rank":
        tlx.barrier_arrive(bars[0], remote_cta_rank=2 + tlx.cluster_cta_rank())
    elif CASE == "task":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.cluster_barrier()
            with tlx.async_task(num_warps=1):
                tl.store(x, 1.0)
    else:
        tlx.cluster_barrier()


@pytest.mark.parametrize(
    ("case", "finding", "text"),
    [
        ("deadlock", Deadlock, r"the kernel of block 0 waits at \S+ for bars\[0\] of block 0"),
        ("remote", UserError, "a block waits for the barriers of its own"),
        ("rank", OutOfRange, "the cluster has no such block"),
        ("task", UserError, "a task waits for all warps of the cluster"),
    ],
)
def test_waits_of_clusters(case, finding, text):
    with pytest.raises(finding, match=text):
        simulate(waits, (2,), np.zeros(1, np.float32), CASE=case, ctas_per_cga=(2, 1, 1))


def test_kernels_that_are_no_clusters():
    for case in ("deadlock", "barrier"):
        with pytest.raises(UserError, match="the kernel has no clusters"):
            simulate(waits, (2,), np.zeros(1, np.float32), CASE=case)


@pytest.mark.parametrize(
    ("grid", "shape", "text"),
    [((3,), (2, 1, 1), "the grid is no whole number of clusters"), ((4,), (1, 2, 1), "a second size that 2 divides")],
)
def test_grids_of_clusters(grid, shape, text):
    with pytest.raises(UserError, match=text):
        simulate(waits, grid, np.zeros(1, np.float32), CASE="barrier", ctas_per_cga=shape)


@triton.jit
def threads_arrive(x):
    done = tlx.alloc_warp_barrier(1, num_warps=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            tl.store(x + tl.program_id(0), 1.0)
        with tlx.async_task(num_warps=2):
            tlx.barrier_arrive(done[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_arrive_at_a_warp_barrier_of_another_block(seed):
    x = np.zeros(2, np.float32)
    simulate(threads_arrive, (2,), x, seed=seed, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(x, [1, 1])
