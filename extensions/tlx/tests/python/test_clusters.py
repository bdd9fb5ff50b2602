"""Clusters of blocks that each own their tensors: remote barriers and buffers, copies to several blocks."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
from tritonext.errors import KernelError  # noqa: E402
from tritonext_tlx.cluster import launched_as  # noqa: E402

TMA_TARGETS = ("cuda:90", "cuda:100")


@pytest.fixture
def clustered(compiled):
    """Compile a kernel as for a launch with ``ctas_per_cga=(blocks, 1, 1)``."""

    def compile_kernel(kernel, signature, target="cuda:90", blocks=2, **constants):
        with launched_as(blocks):
            return compiled(kernel, signature, target, **constants)

    return compile_kernel


@pytest.fixture
def refused_in_cluster(refused):
    def compile_kernel(kernel, signature, target="cuda:90", blocks=2, **constants):
        with launched_as(blocks):
            return refused(kernel, signature, target, **constants)

    return compile_kernel


@triton.jit
def arrivals(x, n):
    bars = tlx.alloc_barriers(2, arrive_count=3)
    peer = tlx.cluster_cta_rank() ^ 1
    tlx.barrier_arrive(bars[n], 2, remote_cta_rank=peer, pred=n > 0)
    tlx.barrier_arrive(tlx.remote_view(bars[1], 0))
    tlx.barrier_expect_bytes(tlx.remote_view(bars[1], peer), 512)
    tlx.barrier_wait(bars[0], 0)
    tl.store(x, 1.0)


REMOTE = r"@p mbarrier\.arrive\.{}shared::cluster\.b64 _, \[%r\d+\]{};"


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_a_block_arrives_at_barriers_of_another(clustered, target):
    result = clustered(arrivals, "x=*fp32, n=i32", target)
    ptx = result.asm["ptx"]
    assert result.metadata.num_ctas == 2
    assert '"ttg.num-ctas" = 1' in result.asm["ttgir"]
    assert len(re.findall(r"mapa\.shared::cluster\.u32 ", ptx)) == 3
    for kind, number in (("", ", 2"), ("", ""), (r"expect_tx\.", ", 512")):
        assert len(re.findall(REMOTE.format(kind, number), ptx)) == 1
    # One thread arrives, behind all others of its task.
    assert ptx.count("elect.sync _|p, -1; and.pred p, p,") == 3
    first = ptx.index("mbarrier.arrive.shared::cluster")
    assert ptx.rindex("bar.sync", 0, first) > ptx.index("barrier.cluster.wait")
    # A wait for what barriers tell, and for no plain stores of others, is the stock one, and an arrival waits for none.
    assert "fence.acq_rel.cluster" not in ptx
    # Blocks wait for their accesses when they end, for others' sake.
    assert ptx.count("barrier.cluster.arrive.relaxed.aligned") == ptx.count("barrier.cluster.arrive.aligned") == 1
    assert result.asm["sass"].count("MEMBAR.ALL.GPU") == 1


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_blocks_meet_before_the_first_and_after_the_last_remote_access(clustered, target):
    ptx = clustered(arrivals, "x=*fp32, n=i32", target).asm["ptx"]
    names = ("mbarrier.init", "fence.mbarrier_init.release.cluster", "barrier.cluster.arrive", "barrier.cluster.wait")
    names = (*names, "mbarrier.arrive.shared::cluster", "mbarrier.try_wait", "mbarrier.inval")
    order = [ptx.index(name) for name in names]
    assert order == sorted(order)
    assert ptx.count("barrier.cluster.arrive") == ptx.count("barrier.cluster.wait") == 2
    assert ptx.index("mbarrier.try_wait") < ptx.rindex("barrier.cluster.arrive") < ptx.index("mbarrier.inval")


@triton.jit
def meets_itself(x):
    bars = tlx.alloc_barriers(1)
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    tlx.barrier_arrive(bars[0], remote_cta_rank=1)
    tlx.barrier_wait(bars[0], 0)
    tlx.cluster_barrier()
    tl.store(x, tlx.cluster_size_1d())


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_barriers_of_the_kernel_are_enough(clustered, target):
    ptx = clustered(meets_itself, "x=*i32", target).asm["ptx"]
    assert ptx.count("fence.mbarrier_init.release.cluster") == 1
    assert ptx.count("barrier.cluster.arrive") == ptx.count("barrier.cluster.wait") == 2


@triton.jit
def by_threads(x, n):
    done = tlx.alloc_warp_barrier(1, num_warps=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=2):
            tlx.barrier_arrive(done[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1, pred=n > 3)


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_each_thread_arrives_remotely_at_a_warp_barrier(clustered, target):
    ptx = clustered(by_threads, "x=*fp32, n=i32", target).asm["ptx"]
    assert len(re.findall(REMOTE.format("", ""), ptx)) == 1
    assert "elect.sync _|p" not in ptx


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_all_warps_meet_the_cluster_around_tasks(clustered, target):
    """Hardware counts the threads of tasks too, which wait for work meanwhile."""
    ptx = clustered(by_threads, "x=*fp32, n=i32", target).asm["ptx"]
    # At the start and the end, in the code of the kernel's warps and in that of the others.
    for name in ("arrive.relaxed.aligned", "arrive.aligned"):
        assert ptx.count(f"barrier.cluster.{name}") == 2
    assert ptx.count("barrier.cluster.wait.aligned") == 4


@triton.jit
def without_end(x, UNSYNCHRONIZED: tl.constexpr):
    bars = tlx.alloc_barriers(1)
    with tlx.async_tasks(no_ending_cluster_sync=UNSYNCHRONIZED):
        with tlx.async_task("default"):
            tlx.barrier_arrive(bars[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)
            tlx.barrier_wait(bars[0], 0)
        with tlx.async_task(num_warps=4):
            tl.store(x, 1.0)


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_blocks_end_alone_when_asked_to(clustered, target):
    meetings = [
        clustered(without_end, "x=*fp32", target, UNSYNCHRONIZED=value).asm["ttir"].count("tlx.cluster_barrier")
        for value in (False, True)
    ]
    assert meetings == [2, 1]


@triton.jit
def sum_of_blocks(value, bar):
    """Allocates behind what came before, which another block may be ahead of."""
    parts = tlx.local_alloc((32,), tl.float32, 2)
    rank = tlx.cluster_cta_rank()
    tlx.local_store(parts[rank], value)
    tlx.async_remote_shmem_store(parts[rank], value, rank ^ 1, bar)
    tlx.barrier_wait(bar, 0)
    return tlx.local_load(parts[0]) + tlx.local_load(parts[1])


@triton.jit
def two_sums(x, y):
    at = tl.program_id(0) * 32 + tl.arange(0, 32)
    bars = tlx.alloc_barriers(2)
    for i in tl.static_range(2):
        tlx.barrier_expect_bytes(bars[i], 32 * 4)
    value = tl.load(x + at)
    for i in tl.static_range(2):
        value = value * sum_of_blocks(value, bars[i])
    tl.store(y + at, value)


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_what_others_store_to_shares_no_bytes_with_what_came_before(clustered, target):
    found = tlx.report(clustered(two_sums, "x=*fp32:16, y=*fp32:16", target))
    first, second = (piece for piece in found.memory if piece.kind == "buffer")
    assert {first.name, second.name} == {"parts"}
    assert first.offset + first.size <= second.offset


@triton.jit
def stores(x, y, M: tl.constexpr, N: tl.constexpr, ASYNC: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tile = tlx.local_alloc((M, N), tlx.dtype_of(x), 2)
    bars = tlx.alloc_barriers(1)
    peer = tlx.cluster_cta_rank() ^ 1
    value = tl.load(x + rows * N + columns)
    if ASYNC:
        tlx.barrier_expect_bytes(bars[0], M * N * tlx.size_of(tlx.dtype_of(x)))
        tlx.async_remote_shmem_store(tile[1], value, peer, bars[0])
    else:
        tlx.remote_shmem_store(tile[1], value, peer)
        tlx.barrier_arrive(bars[0], remote_cta_rank=peer)
    tlx.barrier_wait(bars[0], 0)
    tl.store(y + rows * N + columns, tlx.local_load(tile[1]))


@pytest.mark.parametrize("target", TMA_TARGETS)
@pytest.mark.parametrize(
    ("dtype", "shape", "suffix", "count"),
    [
        ("fp16", (64, 64), ".v4.b32", 4),
        ("fp32", (64, 32), ".v4.b32", 4),
        ("fp8e4nv", (32, 128), ".v4.b32", 2),
        ("i64", (16, 4), ".v4.b32", 1),
        ("bf16", (128, 2), ".v4.b32", 1),
        ("i8", (8, 4), ".v4.b32", 1),
    ],
)
def test_remote_stores(clustered, target, dtype, shape, suffix, count):
    signature = f"x=*{dtype}:16, y=*{dtype}:16"
    ptx = clustered(stores, signature, target, M=shape[0], N=shape[1], ASYNC=False).asm["ptx"]
    assert len(re.findall(rf"@%p\d+ st\.shared::cluster{suffix} \[%r\d+\], {{", ptx)) == count
    # The arrival releases and the wait acquires what the other block stored.
    assert len(re.findall(REMOTE.format(r"release\.cluster\.", ""), ptx)) == 1
    assert ptx.index("mbarrier.try_wait") < ptx.index("fence.acq_rel.cluster")
    ptx = clustered(stores, signature, target, M=shape[0], N=shape[1], ASYNC=True).asm["ptx"]
    instruction = rf"st\.async\.shared::cluster\.mbarrier::complete_tx::bytes{suffix} \[%r\d+\], {{.*}}, \[%r\d+\];"
    assert len(re.findall(rf"@%p\d+ {instruction}", ptx)) == count
    assert "fence.acq_rel.cluster" not in ptx


@triton.jit
def loads(x, y, N: tl.constexpr):
    at = tl.arange(0, 32)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tlx.local_alloc((32, N), tlx.dtype_of(x))
    other = tlx.remote_view(tile[0], tlx.cluster_cta_rank() ^ 1)
    tlx.local_store(tile[0], tl.load(x + at))
    tlx.cluster_barrier()
    total = tlx.local_load(other) + tlx.local_load(tile[0])
    tlx.cluster_barrier()
    tlx.local_store(other, total)
    tlx.cluster_barrier()
    tl.store(y + at, tlx.local_load(tile[0]))


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_views_of_remote_buffers_are_loaded_and_stored(clustered, target):
    ptx = clustered(loads, "x=*fp16:16, y=*fp16:16", target, N=64).asm["ptx"]
    assert len(re.findall(r"ld\.shared::cluster\.v4\.b32 {%r\d+, %r\d+, %r\d+, %r\d+}, \[%r\d+\];", ptx)) == 2
    assert len(re.findall(r"st\.shared::cluster\.v4\.b32 \[", ptx)) == 2
    # One more before the first remote access is of no use, because the kernel has one there.
    assert ptx.count("barrier.cluster.arrive") == 3


@triton.jit
def multicast(desc, y, n, SLICE: tl.constexpr, TARGETS: tl.constexpr, POLICY: tl.constexpr):
    tile = tlx.local_alloc((64, 256), tl.float16)
    bars = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    tlx.barrier_expect_bytes(bars[0], 64 * 256 * 2)
    part = tlx.local_slice(tile[0], [0, SLICE], [64, 128])
    if TARGETS is None:
        tlx.async_descriptor_load(desc, part, [n, 128], bars[0], multicast_targets=[rank, rank ^ 1])
    else:
        tlx.async_descriptor_load(desc, part, [n, 128], bars[0], eviction_policy=POLICY, multicast_targets=TARGETS)
    tlx.barrier_wait(bars[0], 0)
    tl.store(y + tl.arange(0, 64)[:, None] * 256 + tl.arange(0, 256)[None, :], tlx.local_load(tile[0]))


COPY = (
    r"@p cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\.mbarrier::complete_tx::bytes\.multicast::cluster"
    r"{} \[%r\d+\], \[%rd\d+, {{%r\d+, %r\d+}}\], \[%r\d+\], %rs\d+{};"
)
DESC = "desc=tensordesc<fp16[64,128]>, y=*fp16:16, n=i32"


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_a_tile_goes_to_several_blocks(clustered, target):
    result = clustered(multicast, DESC, target, SLICE=128, TARGETS=None, POLICY="")
    ptx = result.asm["ptx"]
    # Two, because an instruction copies 128 bytes of a row.
    assert len(re.findall(COPY.format("", ""), ptx)) == 2
    assert ptx.index("barrier.cluster.wait") < ptx.index("multicast::cluster")
    text = result.asm["ttir"]
    assert re.search(r"tlx\.async_descriptor_load .* to %\w+", text)


def test_a_tile_for_several_blocks_has_an_eviction_policy(clustered):
    ptx = clustered(multicast, DESC, SLICE=0, TARGETS=(0, 1), POLICY="evict_last").asm["ptx"]
    assert len(re.findall(COPY.format(r"\.L2::cache_hint", ", policy"), ptx)) == 2
    assert ptx.count("createpolicy.fractional.L2::evict_last.b64 policy, 1.0;") == 2


@triton.jit
def helper(bar, slot, rank):
    tlx.barrier_arrive(bar)
    tlx.local_store(slot, tl.full((32,), 1.0, tl.float32))


@triton.jit
def handed_on(x, n):
    slots = tlx.local_alloc((32,), tl.float32, 2)
    bars = tlx.alloc_barriers(2)
    helper(tlx.remote_view(bars[0], n), tlx.remote_view(slots[0], n), n)
    for i in range(n):
        helper(tlx.remote_view(bars[i], n), tlx.remote_view(slots[i], n), n)


def test_remote_views_are_handed_to_functions(clustered):
    ptx = clustered(handed_on, "x=*fp32, n=i32").asm["ptx"]
    assert ptx.count("st.shared::cluster.v4.b32") == 2
    assert len(re.findall(REMOTE.format(r"release\.cluster\.", ""), ptx)) == 2


@triton.jit
def wrong(x, n, CASE: tl.constexpr):
    slots = tlx.local_alloc((64, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    warps = tlx.alloc_warp_barrier(1)
    value = tl.full((64, 64), 0, tl.float16)
    if CASE == "rank":
        tlx.barrier_arrive(bars[0], remote_cta_rank=2)
    elif CASE == "negative":
        tlx.remote_view(slots[0], -1)
    elif CASE == "kind":
        tlx.remote_shmem_store(slots[0], value, 1.5)
    elif CASE == "array":
        tlx.remote_view(bars, 0)
    elif CASE == "slots":
        tlx.remote_view(slots, 0)
    elif CASE == "number":
        tlx.remote_view(n, 0)
    elif CASE == "shape":
        tlx.remote_shmem_store(slots[0], tl.full((64, 32), 0, tl.float16), 1)
    elif CASE == "type":
        tlx.async_remote_shmem_store(slots[0], value.to(tl.float32), 1, bars[0])
    elif CASE == "warp":
        tlx.async_remote_shmem_store(slots[0], value, 1, warps[0])
    elif CASE == "wait":
        tlx.barrier_wait(tlx.remote_view(bars[0], 1), 0)
    elif CASE == "twice":
        tlx.barrier_arrive(tlx.remote_view(bars[0], 1), remote_cta_rank=1)
    elif CASE == "gather":
        tlx.local_trans(tlx.remote_view(slots[0], 1))
    elif CASE == "task":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.cluster_barrier()


NO_BLOCK = "the cluster has no such block\n  where: tlx.{}, argument remote_cta_rank\n  expected: 0 to 1"


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ("rank", NO_BLOCK.format("barrier_arrive")),
        ("negative", NO_BLOCK.format("remote_view")),
        ("kind", "an argument is not an integer\n  where: tlx.remote_shmem_store, argument remote_cta_rank"),
        ("array", "an argument is an array\n  where: tlx.remote_view, argument local_allocated_buffer"),
        ("slots", "the buffer has slots\n  where: tlx.remote_view, argument local_allocated_buffer"),
        ("number", "an argument has no place in a block\n  where: tlx.remote_view"),
        ("shape", "the shapes differ\n  where: tlx.remote_shmem_store, argument src"),
        ("type", "the types of the elements differ\n  where: tlx.async_remote_shmem_store, argument src"),
        ("warp", "the barrier takes no bytes\n  where: tlx.async_remote_shmem_store, argument barrier"),
        ("wait", "found: a value of type remote_mbarrier<1>"),
        ("twice", "the block is given twice\n  where: tlx.barrier_arrive, argument remote_cta_rank"),
        ("gather", "found: a value of type remote_buffered_tensor<64x64xfp16>"),
        ("task", "a task waits for all warps of the cluster\n  where: tlx.cluster_barrier"),
    ],
)
def test_what_no_block_can_do_is_refused(refused_in_cluster, case, wanted):
    assert wanted in refused_in_cluster(wrong, "x=*fp32, n=i32", CASE=case)


@pytest.mark.parametrize(
    ("targets", "wanted"),
    [
        ((0, 2), "the cluster has no such block\n  where: tlx.async_descriptor_load, argument multicast_targets"),
        ((1, 1), "a block is there twice\n  where: tlx.async_descriptor_load, argument multicast_targets"),
        (3, "an argument is not a tuple of ranks\n  where: tlx.async_descriptor_load, argument multicast_targets"),
    ],
)
def test_targets_of_a_tile_are_blocks_of_the_cluster(refused_in_cluster, targets, wanted):
    assert wanted in refused_in_cluster(multicast, DESC, SLICE=0, TARGETS=targets, POLICY="")


@triton.jit
def remote_only(x, OP: tl.constexpr):
    slots = tlx.local_alloc((64,), tl.float32)
    bars = tlx.alloc_barriers(1)
    value = tl.full((64,), 0, tl.float32)
    if OP == "barrier_arrive":
        tlx.barrier_arrive(bars[0], remote_cta_rank=0)
    elif OP == "remote_view":
        tlx.remote_view(bars[0], 0)
    elif OP == "remote_shmem_store":
        tlx.remote_shmem_store(slots[0], value, 0)
    elif OP == "async_remote_shmem_store":
        tlx.async_remote_shmem_store(slots[0], value, 0, bars[0])
    elif OP == "cluster_barrier":
        tlx.cluster_barrier()
    else:
        tlx.fence_mbarrier_init_cluster()


OPS = ("barrier_arrive", "remote_view", "remote_shmem_store", "async_remote_shmem_store", "cluster_barrier", "fence")


@pytest.mark.parametrize("op", OPS)
def test_a_kernel_that_is_no_cluster_has_no_other_block(refused, op):
    name = "fence_mbarrier_init_cluster" if op == "fence" else op
    text = refused(remote_only, "x=*fp32", OP=op)
    assert f"the kernel has no clusters\n  where: tlx.{name}\n  expected: ctas_per_cga=(n, 1, 1)" in text


def test_a_tile_of_a_kernel_that_is_no_cluster_goes_nowhere_else(refused):
    text = refused(multicast, DESC, SLICE=0, TARGETS=(0,), POLICY="")
    assert "the kernel has no clusters\n  where: tlx.async_descriptor_load\n" in text


@triton.jit
def bare(x, OP: tl.constexpr):
    if OP == "remote_view":
        tlx.remote_view(x, 0)
    elif OP == "remote_shmem_store":
        tlx.remote_shmem_store(x, x, 0)
    else:
        tlx.async_remote_shmem_store(x, x, 0, x)


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942", "hip:gfx950"])
@pytest.mark.parametrize("op", ["remote_view", "remote_shmem_store", "async_remote_shmem_store"])
def test_targets_without_clusters_refuse(refused, op, target):
    text = refused(bare, "x=*fp32", target, OP=op)
    assert f"the target lacks this operation\n  where: tlx.{op}\n  expected: cuda:90, cuda:100" in text


@triton.jit
def narrow(x):
    tile = tlx.local_alloc((64, 1), tl.float16, layout=None)
    bars = tlx.alloc_barriers(1)
    tlx.async_remote_shmem_store(tlx.local_slice(tile[0], [0, 0], [1, 1]), tl.full((1, 1), 0, tl.float16), 1, bars[0])


def test_an_asynchronous_store_takes_whole_words(clustered):
    with pytest.raises(KernelError, match="expected 4 bytes next to each other in a row of the buffer") as caught:
        clustered(narrow, "x=*fp32")
    assert "    tlx.async_remote_shmem_store(" in str(caught.value)


@triton.jit
def plain(x):
    tl.store(x + tl.program_id(0), 1.0)


def test_a_kernel_without_remote_accesses_does_not_meet(clustered, compiled):
    assert clustered(plain, "x=*fp32").asm["ptx"] == compiled(plain, "x=*fp32").asm["ptx"]
