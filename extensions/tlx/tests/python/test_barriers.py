"""Barriers, named barriers and fences: the code they become, and what is refused."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

TMA_TARGETS = ("cuda:90", "cuda:100")


@triton.jit
def take(barriers, slot, parity):
    tlx.barrier_wait(barriers[slot], parity)


@triton.jit
def ring(x, n):
    full = tlx.alloc_barriers(3)
    empty = tlx.alloc_barriers(num_barriers=3, arrive_count=2)
    for i in range(n):
        tlx.barrier_wait(empty[i % 3], 1, pred=i > 3)
        tlx.barrier_arrive(full[i % 3], pred=i > 1)
        take(full, i % 3, i & 1)
        tlx.barrier_wait(full[0], i == 2)
        tlx.barrier_arrive(empty[i % 3], 2)
        tlx.barrier_arrive(tlx.local_view(empty, 1), pred=i < n - 1)
    tl.store(x, 1.0)


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_barriers_become_mbarriers(compiled, target):
    result = compiled(ring, "x=*fp32, n=i32", target)
    ptx = result.asm["ptx"]
    assert re.findall(r"mbarrier\.init\.shared::cta\.b64 \[%r\d+\], (\d)", ptx) == ["1"] * 3 + ["2"] * 3
    assert ptx.count("mbarrier.try_wait.parity") == 3
    assert re.findall(r"mbarrier\.arrive\.shared::cta\.b64 _, \[%r\d+\](?:, (\d))?;", ptx) == ["", "2", ""]
    # A phase that is a comparison is 0 or 1, and not -1.
    text = result.asm["ttgir"]
    assert "arith.extui" in text
    assert "arith.extsi" not in text
    # One word each, and at most padding between the two arrays.
    assert 8 * 6 <= result.metadata.shared <= 8 * 7


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_barriers_end_with_the_kernel(compiled, target):
    ptx = compiled(ring, "x=*fp32, n=i32", target).asm["ptx"]
    assert ptx.count("mbarrier.inval") == 6
    assert ptx.index("mbarrier.inval") > ptx.rindex("mbarrier.arrive")


@triton.jit
def announced(desc, n):
    tile = tlx.local_alloc((32, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    for i in range(n):
        tlx.barrier_expect_bytes(full[0], 4096, pred=i > 1)
        tlx.async_descriptor_load(desc, tile[0], [i * 32, 0], full[0], pred=i > 1)
        tlx.barrier_wait(full[0], i & 1, pred=i > 1)


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_bytes_are_announced_by_an_arrival(compiled, target):
    ptx = compiled(announced, "desc=tensordesc<fp16[32, 64]>, n=i32", target).asm["ptx"]
    assert len(re.findall(r"@%p\d+ mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, \[%r\d+\], 4096", ptx)) == 1


@triton.jit
def by_threads(x, n):
    done = tlx.alloc_warp_barrier(2, num_warps=2, num_arrivals=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[1], 0)
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=2):
            for _ in range(3):
                tlx.barrier_arrive(done[1], pred=n > 3)


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_each_thread_arrives_at_a_warp_barrier(compiled, target):
    ptx = compiled(by_threads, "x=*fp32, n=i32", target).asm["ptx"]
    assert re.findall(r"mbarrier\.init\.shared::cta\.b64 \[%r\d+\], (\d+)", ptx) == [str(2 * 32 * 3)] * 2
    # No thread of the task is chosen to arrive, and none waits for the others before.
    (arrival,) = set(re.findall(r"@(%p\d+) mbarrier\.arrive\.shared::cta\.b64 _, \[%r\d+\];", ptx))
    assert re.search(rf"setp\.\w+\.s32 \t{arrival}, %r\d+, [34];", ptx)
    assert not re.search(r"bar\.sync \t?2, 64", ptx)
    # The block meets between the initialization and the first arrival.
    assert re.search(r"\tbar\.sync \t0", ptx[ptx.rindex("mbarrier.init") : ptx.index("mbarrier.try_wait")])


@triton.jit
def again(x, n):
    for i in range(n):
        barriers = tlx.alloc_barriers(1)
        tlx.barrier_arrive(barriers[0])
        tlx.barrier_wait(barriers[0], 0)
        tl.store(x + i, 1.0)


def test_barriers_of_a_loop_are_new_in_each_iteration(compiled):
    text = compiled(again, "x=*fp32, n=i32").asm["ttir"]
    loop = text[text.index("scf.for") : text.index("tt.return")]
    order = [loop.index(op) for op in ("init_barrier", "arrive_barrier", "wait_barrier", "inval_barrier")]
    assert order == sorted(order)


@triton.jit
def alone(x, n):
    barriers = tlx.alloc_barriers(1)
    tlx.barrier_wait(barriers[0], True)
    tlx.barrier_wait(barriers[n], 0)
    tlx.barrier_arrive(barriers[n])
    tl.store(x, 1.0)


def test_a_constant_index_and_phase_cost_nothing(compiled):
    text = compiled(alone, "x=*fp32, n=i32").asm["ttgir"]
    first, second = re.findall(r"ttng.wait_barrier %(\w+), %(\w+),", text)
    assert (first[1], second[1]) == ("c1_i32", "c0_i32")


@triton.jit
def named(x, n):
    if n > 3:
        tlx.named_barrier_arrive(14, 256)
        tl.store(x, 1.0)
    tlx.named_barrier_wait(15, 128)


@pytest.mark.parametrize("target", ["cuda:80", *TMA_TARGETS])
def test_named_barriers_become_hardware_barriers_that_no_pass_clones(compiled, target):
    result = compiled(named, "x=*fp32, n=i32", target)
    assert re.findall(r"(bar\.\w+) \t?(1[45], \d+);", result.asm["ptx"].replace("barrier.", "bar.")) == [
        ("bar.arrive", "14, 256"),
        ("bar.sync", "15, 128"),
    ]
    for name in ("arrive", "sync"):
        (attributes,) = re.findall(
            rf"declare void @llvm\.nvvm\.barrier\.cta\.{name}\.aligned\.count\(i32, i32\) #(\d+)", result.asm["llir"]
        )
        assert re.search(rf"^attributes #{attributes} = {{ convergent ", result.asm["llir"], re.MULTILINE)


@triton.jit
def reserved(x, n, BAR: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(BAR, 128)
        with tlx.async_task(num_warps=4, replicate=2):
            tl.store(x, 1.0)


def test_barriers_of_the_compiler_are_refused(compiled, refused_by_pass):
    error = refused_by_pass(reserved, "x=*fp32, n=i32", BAR=3)
    assert "expected a named barrier from 4 to 15, got 3, which the compiler uses itself" in error
    assert "tlx.named_barrier_wait(BAR, 128)" in error
    assert compiled(reserved, "x=*fp32, n=i32", BAR=4).asm["ptx"].count("bar.sync \t4, 128;") == 1


@triton.jit
def fenced(x, SCOPE: tl.constexpr):
    tl.store(x, 1.0)
    tlx.fence(SCOPE)
    tl.store(x + 1, 1.0)


@pytest.mark.parametrize(
    ("target", "scope", "stage", "pattern"),
    [
        ("cuda:80", "gpu", "ptx", r"fence\.acq_rel\.gpu;"),
        ("cuda:90", "gpu", "ptx", r"fence\.acq_rel\.gpu;"),
        ("cuda:90", "sys", "ptx", r"fence\.acq_rel\.sys;"),
        ("cuda:100", "sys", "ptx", r"fence\.acq_rel\.sys;"),
        ("cuda:90", "async_shared", "ptx", r"fence\.proxy\.async\.shared::cta;"),
        ("hip:gfx942", "gpu", "llir", r'fence syncscope\("agent"\) acq_rel'),
        ("hip:gfx942", "gpu", "amdgcn", r"buffer_wbl2 sc1\n"),
        ("hip:gfx950", "sys", "llir", r"fence acq_rel"),
        ("hip:gfx950", "sys", "amdgcn", r"buffer_wbl2 sc0 sc1\n"),
    ],
)
def test_fences_stand_between_the_accesses(compiled, target, scope, stage, pattern):
    text = compiled(fenced, "x=*fp32", target, SCOPE=scope).asm[stage]
    stores = {"ptx": r"st\.global", "llir": r" store ", "amdgcn": r"\tglobal_store"}[stage]
    first, second = [match.start() for match in re.finditer(stores, text)]
    # Threads that store nothing may have a copy in a branch of theirs.
    assert [match.start() for match in re.finditer(pattern, text) if first < match.start() < second]


@triton.jit
def all_fences(x):
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    tlx.fence_async_shared()


@pytest.mark.parametrize("target", TMA_TARGETS)
def test_fences_of_one_purpose(compiled, target):
    ptx = compiled(all_fences, "x=*fp32", target, {"num_ctas": 2}).asm["ptx"]
    names = ("fence.mbarrier_init.release.cluster", "barrier.cluster.arrive", "fence.proxy.async.shared::cta")
    order = [ptx.index(name) for name in names]
    assert order == sorted(order)


def test_fences_and_barriers_say_which_kernels_have_clusters(refused):
    text = refused(all_fences, "x=*fp32")
    assert "the kernel has no clusters\n  where: tlx.fence_mbarrier_init_cluster\n" in text
    text = refused(ring, "x=*fp32, n=i32", "cuda:90", {"num_ctas": 2})
    assert "barriers of clusters are not supported\n  where: tlx.alloc_barriers\n" in text


@triton.jit
def wrong(x, n, CASE: tl.constexpr):
    one = tlx.alloc_barriers(4, arrive_count=2)
    tile = tl.arange(0, 16)
    if CASE == "no barriers":
        tlx.alloc_barriers(0)
    if CASE == "run-time number":
        tlx.alloc_barriers(n)
    if CASE == "no arrivals":
        tlx.alloc_barriers(1, 0)
    if CASE == "slot":
        tlx.barrier_arrive(one[4])
    if CASE == "slot of a slot":
        tlx.barrier_arrive(one[0][0])
    if CASE == "slot of no integer":
        tlx.barrier_arrive(one[1.5])
    if CASE == "array":
        tlx.barrier_arrive(one)
    if CASE == "no barrier":
        tlx.barrier_wait(n, 0)
    if CASE == "phase":
        tlx.barrier_wait(one[0], 2)
    if CASE == "phases":
        tlx.barrier_wait(one[0], tile)
    if CASE == "conditions":
        tlx.barrier_wait(one[0], 0, pred=tile > 3)
    if CASE == "bytes":
        tlx.barrier_expect_bytes(one[0], 1 << 20)
    if CASE == "run-time bytes":
        tlx.barrier_expect_bytes(one[0], n)
    if CASE == "arrivals":
        tlx.barrier_arrive(one[0], 3)
    if CASE == "remote":
        tlx.barrier_arrive(one[0], 1, remote_cta_rank=0)
    threads = tlx.alloc_warp_barrier(1)
    if CASE == "no warps":
        tlx.alloc_warp_barrier(1, num_warps=33)
    if CASE == "too many arrivals":
        tlx.alloc_warp_barrier(1, 32, num_arrivals=1024)
    if CASE == "bytes of threads":
        tlx.barrier_expect_bytes(threads[0], 16)
    if CASE == "arrivals of threads":
        tlx.barrier_arrive(threads[0], 2)
    if CASE == "id":
        tlx.named_barrier_wait(16, 128)
    if CASE == "threads":
        tlx.named_barrier_arrive(9, 100)
    if CASE == "run-time id":
        tlx.named_barrier_arrive(n, 128)
    if CASE == "scope":
        tlx.fence("cta")


@pytest.mark.parametrize(
    ("case", "line", "message", "where", "expected", "found"),
    [
        ("no barriers", "alloc_barriers(0)", "out of range", "alloc_barriers, argument num_barriers", "1 to 1024", "0"),
        (
            "run-time number",
            "alloc_barriers(n)",
            "not a constant integer",
            "alloc_barriers, argument num_barriers",
            "",
            "",
        ),
        ("no arrivals", "alloc_barriers(1, 0)", "out of range", "alloc_barriers, argument arrive_count", "1 to", "0"),
        ("slot", "one[4]", "the slot is out of range", "local_view, argument index", "0 to 3", "4"),
        (
            "slot of a slot",
            "one[0][0]",
            "one barrier already",
            "local_view, argument buffer",
            "an array",
            "mbarrier<2>",
        ),
        ("slot of no integer", "one[1.5]", "not an integer", "local_view, argument index", "a scalar", "1.5"),
        ("array", "arrive(one)", "is an array", "barrier_arrive, argument bar", "one barrier", "mbarrier<4 x 2>"),
        ("no barrier", "wait(n, 0)", "is not a barrier", "barrier_wait, argument bar", "a barrier", "int32"),
        ("phase", "wait(one[0], 2)", "no such value", "barrier_wait, argument phase", "0, 1", "2"),
        ("phases", "wait(one[0], tile)", "not an integer", "barrier_wait, argument phase", "a scalar", ""),
        ("conditions", "pred=tile > 3", "not a scalar", "barrier_wait, argument pred", "a scalar", "int1"),
        ("bytes", "1 << 20", "out of range", "barrier_expect_bytes, argument size", "1 to 1048575", "1048576"),
        ("run-time bytes", "bytes(one[0], n)", "not a constant", "barrier_expect_bytes, argument size", "", ""),
        ("arrivals", "one[0], 3", "out of range", "barrier_arrive, argument arrive_count", "1 to 2", "3"),
        ("remote", "remote_cta_rank=0", "has no clusters", "barrier_arrive", "ctas_per_cga=(n, 1, 1)", "1"),
        ("no warps", "num_warps=33", "out of range", "alloc_warp_barrier, argument num_warps", "1 to 32", "33"),
        ("too many arrivals", "1024", "out of range", "alloc_warp_barrier, argument num_arrivals", "1 to 1023", "1024"),
        (
            "bytes of threads",
            "16",
            "one thread announces",
            "barrier_expect_bytes, argument bar",
            "",
            "warp_barrier<32>",
        ),
        ("arrivals of threads", "2", "out of range", "barrier_arrive, argument arrive_count", "1 to 1", "2"),
        ("id", "wait(16, 128)", "out of range", "named_barrier_wait, argument bar", "0 to 15", "16"),
        ("threads", "(9, 100)", "out of range", "named_barrier_arrive, argument arrive_count", "in steps of 32", "100"),
        ("run-time id", "(n, 128)", "not a constant integer", "named_barrier_arrive, argument bar", "", ""),
        ("scope", 'fence("cta")', "no such value", "fence, argument scope", "'gpu', 'sys', 'async_shared'", "'cta'"),
    ],
)
def test_mistakes_are_errors_at_their_line(refused, case, line, message, where, expected, found):
    text = refused(wrong, "x=*fp32, n=i32", CASE=case)
    excerpt, _, reason = text.partition("^")
    assert line in excerpt.rstrip().splitlines()[-1]
    assert message in reason
    assert f"where: tlx.{where}" in reason
    assert re.search(rf"expected: .*{re.escape(expected)}", reason)
    assert re.search(rf"found: .*{re.escape(found)}", reason)


@triton.jit
def on_any_target(x, OP: tl.constexpr):
    if OP == "alloc_barriers":
        tlx.alloc_barriers(1)
    if OP == "alloc_warp_barrier":
        tlx.alloc_warp_barrier(1)
    if OP == "named_barrier_wait":
        tlx.named_barrier_wait(9, 128)
    if OP == "named_barrier_arrive":
        tlx.named_barrier_arrive(9, 128)
    if OP == "fence":
        tlx.fence("async_shared")
    if OP == "fence_async_shared":
        tlx.fence_async_shared()
    if OP == "fence_mbarrier_init_cluster":
        tlx.fence_mbarrier_init_cluster()
    if OP == "barrier_wait":
        tlx.barrier_wait(x, 0)
    if OP == "barrier_arrive":
        tlx.barrier_arrive(x)
    if OP == "barrier_expect_bytes":
        tlx.barrier_expect_bytes(x, 16)


@pytest.mark.parametrize(
    ("op", "target", "targets"),
    [
        ("alloc_barriers", "cuda:80", "cuda:90, cuda:100"),
        ("alloc_warp_barrier", "cuda:80", "cuda:90, cuda:100"),
        ("barrier_wait", "cuda:80", "cuda:90, cuda:100"),
        ("barrier_arrive", "hip:gfx942", "cuda:90, cuda:100"),
        ("barrier_expect_bytes", "hip:gfx950", "cuda:90, cuda:100"),
        ("named_barrier_wait", "hip:gfx950", "cuda:80, cuda:90, cuda:100"),
        ("named_barrier_arrive", "hip:gfx942", "cuda:80, cuda:90, cuda:100"),
        ("fence", "cuda:80", "cuda:90, cuda:100"),
        ("fence", "hip:gfx950", "cuda:90, cuda:100"),
        ("fence_async_shared", "cuda:80", "cuda:90, cuda:100"),
        ("fence_mbarrier_init_cluster", "hip:gfx942", "cuda:90, cuda:100"),
    ],
)
def test_a_target_without_the_operation_is_named(refused, op, target, targets):
    text = refused(on_any_target, "x=*fp32", target, OP=op)
    assert f"where: tlx.{op}" in text
    assert f"expected: {targets}\n" in text
    assert f"found: {target}" in text
    # A fence is there for other scopes.
    assert op == "fence" or op not in tlx.supported_ops(target)
