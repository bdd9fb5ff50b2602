"""Mistakes that only the whole kernel shows: each is an error at its line, with what to do."""

import inspect
import re

import numpy as np
import pytest
import triton
import triton.language as tl

from tritonext.errors import KernelError

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

POINTERS = "x=*fp32:16, y=*fp32:16, n=i32:16"
DESCRIPTOR = "desc=tensordesc<fp16[64, 64]>, y=*fp16:16, n=i32"


@triton.jit
def slots(x, y, n, CASE: tl.constexpr):
    at = tl.arange(0, 128)
    ring = tlx.local_alloc((128,), tl.float32, 3)
    tlx.local_store(ring[0], tl.load(x + at))
    if CASE == "folded":
        step = tl.full((), 1, tl.int32)
        tl.store(y + at, tlx.local_load(ring[step + 2]))
    if CASE == "loop":
        for i in range(4):
            tl.store(y + i * 128 + at, tlx.local_load(ring[i]))


@triton.jit
def groups(x, y, n, CASE: tl.constexpr):
    at = tl.arange(0, 128)
    ring = tlx.local_alloc((128,), tl.float32, 2)
    if CASE == "no wait":
        for i in range(n):
            tlx.async_load(x + i * 128 + at, ring[i % 2])
            tlx.async_load_commit_group()
            tl.store(y + i * 128 + at, tlx.local_load(ring[(i + 1) % 2]))
    if CASE == "wait behind":
        tlx.async_load(x + at, ring[0])
        tlx.async_load_commit_group()
        tl.store(y + at, tlx.local_load(ring[0]))
        tlx.async_load_wait_group(0)
    if CASE == "wait for too few":
        tlx.async_load(x + at, ring[0])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(1)
        tl.store(y + at, tlx.local_load(ring[0]))
    if CASE == "no group":
        tlx.async_load(x + at, ring[0])
        tlx.async_load_wait_group(0)  # of nothing
        tl.store(y + at, tlx.local_load(ring[0]))


@triton.jit
def transfers(desc, y, n, CASE: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    if CASE != "no bytes":
        tlx.barrier_expect_bytes(full[0], 4096 if CASE == "bytes" else 8192)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], full[0])
    if CASE != "no wait" and CASE != "late wait":
        tlx.barrier_wait(full[0], 0)
    tl.store(y + o, tlx.local_load(tile[0]))
    if CASE == "late wait":
        tlx.barrier_wait(full[0], 0)


@triton.jit
def arrivals(x, y, n, COUNT: tl.constexpr, REPLICAS: tl.constexpr, ARRIVE: tl.constexpr, WAIT: tl.constexpr):
    done = tlx.alloc_barriers(1, arrive_count=COUNT)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            if WAIT:
                tlx.barrier_wait(done[0], 0)
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=1, replicate=REPLICAS):
            if ARRIVE:
                tlx.barrier_arrive(done[0], ARRIVE)
            tl.store(y + tlx.async_task_replica_id(), 1.0)


@triton.jit
def never_freed(desc, y, n):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(full[slot], phase)
                tl.store(y + i * 4096 + o, tlx.local_load(tiles[slot]))
        with tlx.async_task(num_warps=1):
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], 8192)
                tlx.async_descriptor_load(desc, tiles[slot], [i * 64, 0], full[slot])


@triton.jit
def never_filled(desc, y, n):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    for i in range(n):
        slot, phase = tlx.get_bufidx_phase(i, 2)
        tlx.barrier_wait(full[slot], phase)
        tl.store(y + i * 4096 + o, tlx.local_load(tiles[slot]))


@triton.jit
def alone(x, y, n, THREADS: tl.constexpr):
    tlx.named_barrier_wait(9, THREADS)
    tl.store(x, 1.0)


@triton.jit
def named(x, y, n, THREADS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(9, THREADS)
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=2):
            tlx.named_barrier_arrive(9, THREADS)
            tl.store(y, 1.0)


@triton.jit
def large(x, y, n, SLOTS: tl.constexpr):
    at = tl.arange(0, 64)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tiles = tlx.local_alloc((64, 128), tl.float32, SLOTS)
    edge = tlx.local_alloc((64, 128), tl.float32, 1)
    tlx.local_store(edge[0], tl.load(x + at))
    for i in range(n):
        tlx.local_store(tiles[i % SLOTS], tl.load(x + i + at))
        tl.store(y + at, tlx.local_load(tiles[(i + 1) % SLOTS]) + tlx.local_load(edge[0]))


@triton.jit
def greedy(x, y, n, REGISTERS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=4, num_regs=REGISTERS, replicate=2):
            tl.store(y, 1.0)


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.fn)
    return next(first + at for at, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("kernel", "signature", "constants", "line", "message", "remedy"),
    [
        (
            slots,
            POINTERS,
            {"CASE": "folded"},
            "ring[step + 2]",
            "expected a slot from 0 to 2, got 3",
            "modulo the number",
        ),
        (
            slots,
            POINTERS,
            {"CASE": "loop"},
            "tlx.local_load(ring[i])",
            "expected a slot from 0 to 2, got 3 in the last iteration of the loop",
            "take the number modulo the number of slots",
        ),
        (
            groups,
            POINTERS,
            {"CASE": "no wait"},
            "ring[(i + 1) % 2]",
            "expected a wait for the copies into the buffer, got none in the whole kernel",
            "tlx.async_load_wait_group before the read",
        ),
        (
            groups,
            POINTERS,
            {"CASE": "wait behind"},
            "tl.store(y + at, tlx.local_load(ring[0]))",
            "expected a wait for the copy before its buffer is read, got none",
            "tlx.async_load_wait_group before the read",
        ),
        (
            groups,
            POINTERS,
            {"CASE": "wait for too few"},
            "tlx.async_load_wait_group(1)",
            "expected a wait that covers the copy, got one that leaves 1 groups where 0 are newer",
            "call tlx.async_load_wait_group(0)",
        ),
        (
            groups,
            POINTERS,
            {"CASE": "no group"},
            "tlx.async_load_wait_group(0)  # of nothing",
            "expected a wait that covers the copy, got one before the copy is in a group",
            "call tlx.async_load_commit_group between the copy and the wait",
        ),
        (
            transfers,
            DESCRIPTOR,
            {"CASE": "late wait"},
            "tl.store(y + o",
            "expected a wait for the copy before its buffer is read, got none",
            "call tlx.barrier_wait on the barrier of the copy",
        ),
        (
            transfers,
            DESCRIPTOR,
            {"CASE": "no wait"},
            "tlx.async_descriptor_load(",
            "expected a wait for the barrier, got none in the whole kernel",
            "call tlx.barrier_wait before the buffer is read",
        ),
        (
            transfers,
            DESCRIPTOR,
            {"CASE": "no bytes"},
            "tlx.barrier_wait(full[0], 0)",
            "expected an arrival at the barrier, got none in the whole kernel",
            "announce the bytes of the copies with tlx.barrier_expect_bytes",
        ),
        (
            transfers,
            DESCRIPTOR,
            {"CASE": "bytes"},
            "tlx.barrier_expect_bytes(",
            "expected 8192 bytes to be announced, those of the copies here, got 4096",
            "pass the bytes of all copies",
        ),
        (
            arrivals,
            POINTERS,
            {"COUNT": 1, "REPLICAS": 1, "ARRIVE": 0, "WAIT": True},
            "tlx.barrier_wait(done[0], 0)",
            "expected an arrival at the barrier, got none in the whole kernel",
            "call tlx.barrier_arrive where the phase ends",
        ),
        (
            arrivals,
            POINTERS,
            {"COUNT": 3, "REPLICAS": 2, "ARRIVE": 1, "WAIT": True},
            "tlx.barrier_wait(done[0], 0)",
            "expected 3 arrivals to complete the phase, got at most 2 in the whole kernel",
            "the sum over the tasks and replicas that arrive",
        ),
        (
            arrivals,
            POINTERS,
            {"COUNT": 3, "REPLICAS": 2, "ARRIVE": 2, "WAIT": True},
            "tlx.alloc_barriers(1, arrive_count=COUNT)",
            "expected arrivals that add up to the 3 of the barrier, got only multiples of 2",
            "the sum over the tasks and replicas that arrive",
        ),
        (
            arrivals,
            POINTERS,
            {"COUNT": 1, "REPLICAS": 2, "ARRIVE": 1, "WAIT": True},
            "tlx.alloc_barriers(1, arrive_count=COUNT)",
            "expected at most 1 arrivals in the first phase, got 2 from tasks that do not wait for each other",
            "the sum over the tasks and replicas that arrive",
        ),
        (
            named,
            POINTERS,
            {"THREADS": 256},
            "tlx.named_barrier_wait(9, THREADS)",
            "expected 256 threads to come to named barrier 9, got 192 in all tasks that use it with that number",
            "pass the threads of all tasks that wait or arrive",
        ),
        (
            named,
            POINTERS,
            {"THREADS": 128},
            "tlx.named_barrier_wait(9, THREADS)",
            "expected 128 threads to come to named barrier 9, got 192 in all tasks that use it with that number",
            "pass the threads of all tasks that wait or arrive",
        ),
        (
            named,
            POINTERS,
            {"THREADS": 64},
            "tlx.named_barrier_wait(9, THREADS)",
            "expected a named barrier for at least 128 threads, those of the task, got 64",
            "pass the threads of all tasks that wait or arrive",
        ),
        (
            alone,
            POINTERS,
            {"THREADS": 96},
            "tlx.named_barrier_wait(9, THREADS)",
            "expected a named barrier for at least 128 threads, those of the task, got 96",
            "pass the threads of all tasks that wait or arrive",
        ),
        (
            alone,
            POINTERS,
            {"THREADS": 160},
            "tlx.named_barrier_wait(9, THREADS)",
            "expected 160 threads to come to named barrier 9, got 128 in all tasks that use it with that number",
            "pass the threads of all tasks that wait or arrive",
        ),
        (
            never_filled,
            DESCRIPTOR,
            {},
            "tlx.barrier_wait(full[slot], phase)",
            "expected an arrival at the barrier, got none in the whole kernel",
            "call tlx.barrier_arrive where the phase ends",
        ),
        (
            large,
            POINTERS,
            {"SLOTS": 8},
            "tiles = tlx.local_alloc(",
            "expected at most 232448 bytes of shared memory, got 294912",
            "use smaller tiles or fewer slots",
        ),
    ],
)
def test_mistake_is_an_error_at_its_line(refused_by_pass, kernel, signature, constants, line, message, remedy):
    text = refused_by_pass(kernel, signature, **constants)
    assert text.startswith(message)
    assert f"where: {__file__}:{line_of(kernel, line)}:" in text
    assert re.search(rf"\n  hint: .*{re.escape(remedy)}", text)


@pytest.mark.parametrize(
    ("kernel", "signature", "constants"),
    [
        (transfers, DESCRIPTOR, {"CASE": "right"}),
        (arrivals, POINTERS, {"COUNT": 2, "REPLICAS": 2, "ARRIVE": 1, "WAIT": True}),
        (arrivals, POINTERS, {"COUNT": 4, "REPLICAS": 2, "ARRIVE": 2, "WAIT": True}),
        (named, POINTERS, {"THREADS": 192}),
        (alone, POINTERS, {"THREADS": 128}),
        (never_freed, DESCRIPTOR, {}),
        (arrivals, POINTERS, {"COUNT": 1, "REPLICAS": 1, "ARRIVE": 1, "WAIT": False}),
        (arrivals, POINTERS, {"COUNT": 2, "REPLICAS": 3, "ARRIVE": 1, "WAIT": True}),
        (large, POINTERS, {"SLOTS": 6}),
        (greedy, POINTERS, {"REGISTERS": 232}),
    ],
)
def test_the_same_kernels_without_the_mistake_compile(compiled, kernel, signature, constants):
    assert compiled(kernel, signature, **constants).asm["cubin"]


def test_buffers_are_listed_when_shared_memory_is_short(compiled):
    with pytest.raises(KernelError) as caught:
        compiled(large, POINTERS, SLOTS=8)
    error = caught.value
    assert isinstance(error, triton.runtime.errors.OutOfResources)
    assert (error.name, error.required, error.limit) == ("shared memory", 294912, 232448)
    first, second = (line_of(large, text) for text in ("tiles = ", "edge = "))
    assert f"\n  262144 bytes at 0: tiles, 8x64x128 of f32, line {first}\n" in str(error)
    assert f"\n  32768 bytes at 262144: edge, 1x64x128 of f32, line {second}\n" in str(error)


@pytest.mark.parametrize(("target", "limit"), [("cuda:80", 166912), ("cuda:100", 232448), ("hip:gfx942", 65536)])
def test_limits_of_targets(compiled, target, limit):
    with pytest.raises(KernelError, match=f"expected at most {limit} bytes of shared memory, got 294912"):
        compiled(large, POINTERS, target, SLOTS=8)


def test_an_autotuner_passes_over_too_many_slots(device):
    tuned = triton.autotune([triton.Config({"SLOTS": slots}) for slots in (8, 4)], key=[])(triton.jit(large.fn))
    with pytest.raises(triton.runtime.errors.OutOfResources):
        tuned.fn.warmup(*device, 4, SLOTS=8, grid=(1,))
    assert tuned.fn.warmup(*device, 4, SLOTS=4, grid=(1,)).asm["cubin"]


@pytest.fixture
def device():
    from tritonext.testing import fake_driver

    with fake_driver.active("cuda:90"):
        yield fake_driver.Array("fp32"), fake_driver.Array("fp32")


def test_registers_that_leave_the_default_task_none(refused, compiled):
    text = refused(greedy, POINTERS, REGISTERS=248)
    excerpt, _, reason = text.partition("^")
    assert "with tlx.async_tasks():" in excerpt.rstrip().splitlines()[-1]
    assert "the registers of the tasks do not fit\n  where: tlx.async_tasks, argument num_regs" in reason
    assert "expected: at least 24 left for each thread of the default task, of 64512 in all" in reason
    assert "found: 8" in reason
    assert reason.count("4 warps of 248 registers: 31744") == 2
    # What is accepted is what the compiler keeps.
    ptx = compiled(greedy, POINTERS, REGISTERS=240).asm["ptx"]
    assert {"240", "24"} <= set(re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32 \t?(\d+)", ptx))


@triton.jit
def careful(desc, y, n, CASE: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 3)
    full = tlx.alloc_barriers(3)
    tlx.barrier_expect_bytes(full[0], 8192)
    tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0])
    for i in range(3):
        ahead = i + 1
        if CASE == "condition":
            tlx.barrier_expect_bytes(full[ahead], 8192, pred=ahead < 3)
            tlx.async_descriptor_load(desc, tiles[ahead], [ahead * 64, 0], full[ahead], pred=ahead < 3)
        if CASE == "branch":
            tile, barrier = tiles[ahead], full[ahead]
            if ahead < 3:
                tlx.barrier_expect_bytes(barrier, 8192)
                tlx.async_descriptor_load(desc, tile, [ahead * 64, 0], barrier)
        tlx.barrier_wait(full[i], 0)
        tl.store(y + i * 4096 + o, tlx.local_load(tiles[i]))


@pytest.mark.parametrize("case", ["condition", "branch"])
def test_slots_that_nothing_is_done_to(compiled, case):
    compiled(careful, DESCRIPTOR, CASE=case)


@triton.jit
def later(x, y, n):
    at = tl.arange(0, 128)
    ring = tlx.local_alloc((128,), tl.float32, 2)
    tlx.async_load(x + at, ring[0])
    tlx.async_load_commit_group()
    for i in range(n):
        if i > 0:
            tl.store(y + i * 128 + at, tlx.local_load(ring[0]))
        tlx.async_load_wait_group(0)


def test_reads_of_later_iterations(compiled):
    compiled(later, POINTERS)


@triton.jit
def unrolled(desc, y, n, STEPS: tl.constexpr, STAGES: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in tl.static_range(STEPS):
                tlx.barrier_wait(full[i % STAGES], (i // STAGES) % 2)
                tl.store(y + i * 4096 + o, tlx.local_load(tiles[i % STAGES]))
                tlx.barrier_arrive(empty[i % STAGES])
        with tlx.async_task(num_warps=1):
            for i in tl.static_range(STEPS):
                if i >= STAGES:
                    tlx.barrier_wait(empty[i % STAGES], (i // STAGES - 1) % 2)
                tlx.barrier_expect_bytes(full[i % STAGES], 8192)
                tlx.async_descriptor_load(desc, tiles[i % STAGES], [i * 64, 0], full[i % STAGES])


@pytest.mark.parametrize(("steps", "stages"), [(1, 2), (2, 2), (3, 4), (3, 2), (5, 3)])
def test_rings_of_any_number_of_steps(compiled, steps, stages):
    rows = 64 * steps
    x, y = (np.zeros((rows, 64), np.float16) for _ in range(2))
    x[:] = np.arange(rows)[:, None]
    tlx.simulate(unrolled, (1,), tlx.simulator.Descriptor(x, [64, 64]), y, 0, STEPS=steps, STAGES=stages)
    np.testing.assert_array_equal(x, y)
    assert compiled(unrolled, DESCRIPTOR, STEPS=steps, STAGES=stages).asm["cubin"]


@triton.jit
def carried(x, y, n):
    at = tl.arange(0, 128)
    ring = tlx.local_alloc((128,), tl.float32, 3)
    bars = tlx.alloc_warp_barrier(3, num_warps=4)
    for i in tl.static_range(3):
        tlx.local_store(ring[i], tl.load(x + i * 128 + at))
    slot = ring[0]
    for i in range(3):
        tl.store(y + i * 128 + at, tlx.local_load(slot))
        slot = ring[i + 1]
        tlx.barrier_arrive(bars[i + 1], pred=i < 2)


def test_slots_of_an_iteration_that_does_not_come(compiled):
    compiled(carried, POINTERS)


@triton.jit
def between(desc, y, n, x):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 8192)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], full[0])
    for _ in range(1):
        tlx.async_load(x + o, tile[1])
        tlx.async_load_commit_group()
        tlx.barrier_wait(full[0], 0)
    tlx.async_load_wait_group(0)
    tl.store(y + o, tlx.local_load(tile[0]) + tlx.local_load(tile[1]))


def test_copies_of_two_kinds(compiled):
    compiled(between, f"{DESCRIPTOR}, x=*fp16:16")


@triton.jit
def twice_wrong(x, y, n):
    bars = tlx.alloc_barriers(2)
    tlx.barrier_wait(bars[0], 0)
    tlx.barrier_wait(bars[1], 0)


def test_a_remedy_is_given_once(refused_by_pass):
    text = refused_by_pass(twice_wrong, POINTERS)
    assert text.count("expected an arrival at the barrier") == 2
    assert text.count("leave the wait out") == 1


@triton.jit
def small(x, y, n, BUFFER: tl.constexpr):
    at = tl.arange(0, 32)
    slot = tlx.local_alloc((32,), x.dtype.element_ty)[0]
    if BUFFER:
        tlx.buffer_load_to_local(slot, x, at)
    else:
        tlx.async_load(x + at, slot)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y + at, tlx.local_load(slot))


@pytest.mark.parametrize(
    ("target", "kind", "buffer", "least"),
    [
        ("hip:gfx950", "fp16", False, 256),
        ("hip:gfx950", "fp32", False, 256),
        ("hip:gfx950", "fp32", True, 256),
    ],
)
def test_copies_that_are_too_small(refused_by_pass, target, kind, buffer, least):
    error = refused_by_pass(small, f"x=*{kind}:16, y=*{kind}:16, n=i32", target, BUFFER=buffer)
    assert f"expected at least {least} bytes to copy, 4 for each thread" in error


@triton.jit
def few(x, y, n, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    slot = tlx.local_alloc((SIZE,), x.dtype.element_ty)[0]
    tlx.async_load(x + at, slot, mask=at < n)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y + at, tlx.local_load(slot))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
@pytest.mark.parametrize(("kind", "size"), [("fp16", 2), ("fp16", 32), ("bf16", 128), ("i8", 4), ("fp8e5", 256)])
def test_fewer_than_four_bytes_for_each_thread(compiled, target, kind, size):
    ptx = compiled(few, f"x=*{kind}:16, y=*{kind}:16, n=i32:16", target, SIZE=size).asm["ptx"]
    assert set(re.findall(r"cp\.async\.c[ag]\.shared\.global \[[^]]*\], \[[^]]*\], (0x\w+)", ptx)) == {"0x4"}


@pytest.mark.parametrize(("target", "size"), [("cuda:80", 1), ("cuda:90", 1), ("hip:gfx950", 64)])
def test_fewer_bytes_than_a_copy_has(refused_by_pass, target, size):
    error = refused_by_pass(few, "x=*fp16:16, y=*fp16:16, n=i32:16", target, SIZE=size)
    assert error.startswith("expected at least ")
    assert "fill the slot with tl.load and tlx.local_store" in error


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx950"])
@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("x=*fp16, y=*fp16:16, n=i32:16", "expected pointers that let a thread copy at least 4 bytes at once, got 2"),
        ("x=*fp16:16, y=*fp16:16, n=i32", "expected a mask that is constant over at least 4 bytes, got 2"),
    ],
)
def test_copies_that_are_too_narrow(refused_by_pass, target, signature, message):
    assert refused_by_pass(few, signature, target, SIZE=2048).startswith(message)


@triton.jit
def transposed(x, y, n):
    columns = tl.arange(0, 64)[:, None] + tl.arange(0, 64)[None, :] * 64
    slot = tlx.local_alloc((64, 64), x.dtype.element_ty)[0]
    tlx.async_load(x + columns, slot)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y + columns, tlx.local_load(slot))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx950"])
def test_copies_across_the_rows_of_a_slot(refused_by_pass, compiled, target):
    error = refused_by_pass(transposed, "x=*fp16:16, y=*fp16:16, n=i32", target)
    assert error.startswith("expected a slot in which neighbours of dimension 0 lie next to each other")
    assert "use tlx.local_trans of it" in error


def test_copies_of_elements_that_need_no_neighbours(compiled):
    ptx = compiled(transposed, "x=*fp32:16, y=*fp32:16, n=i32").asm["ptx"]
    assert "cp.async.ca.shared.global" in ptx


@triton.jit
def taken_for_tensors(x, y, n, CASE: tl.constexpr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    if CASE == "dot":
        tl.dot(tiles[0], tiles[1])
    if CASE == "where":
        tl.where(n > 0, tiles[0], 0.0)


@pytest.mark.parametrize("case", ["dot", "where"])
def test_buffers_are_no_operands_of_tl(refused, case):
    text = refused(taken_for_tensors, POINTERS, CASE=case)
    assert f"tl.{case}(" in text
    assert "a buffer is no tensor" in text
    assert "load it with tlx.local_load" in text


@triton.jit
def computed_with(x, y, n, CASE: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float16)[0]
    values = tl.zeros((64, 64), tl.float16)
    if CASE == "sum":
        _ = tile + 1
    if CASE == "sum from the right":
        _ = values + tile
    if CASE == "power":
        _ = tile**2
    if CASE == "complement":
        _ = ~tile
    if CASE == "sign":
        _ = +tile
    if CASE == "negation":
        _ = not tile
    if CASE == "equal to a number":
        _ = tile == 1
    if CASE == "unequal to a number":
        _ = tile != 2.0
    if CASE == "equal to a tensor":
        _ = values == tile
    if CASE == "conversion":
        tile.to(tl.float32)
    if CASE == "method":
        tile.sum(axis=0)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("sum", "_ = tile + 1"),
        ("sum from the right", "_ = values + tile"),
        ("power", "_ = tile**2"),
        ("complement", "_ = ~tile"),
        ("sign", "_ = +tile"),
        ("negation", "_ = not tile"),
        ("equal to a number", "_ = tile == 1"),
        ("unequal to a number", "_ = tile != 2.0"),
        ("equal to a tensor", "_ = values == tile"),
        ("conversion", "tile.to(tl.float32)"),
        ("method", "tile.sum(axis=0)"),
    ],
)
def test_buffers_are_no_operands_of_operators(refused, case, line):
    text = refused(computed_with, POINTERS, CASE=case)
    place, _, error = text.partition("^")
    assert place.splitlines()[-2].strip() == line
    assert error.lstrip().startswith(
        "a buffer is no tensor\n  expected: a tensor\n  found: buffered_tensor<64x64xfp16>"
    )


@triton.jit
def compared_by_identity(x, y, n):
    """Names that a branch or a loop does not change may hold buffers."""
    tiles = tlx.local_alloc((64,), tl.float16, 2)
    at = tl.arange(0, 64)
    chosen = tiles[0]
    for i in range(n):
        if i > 3:
            other = tiles[1]
            tlx.local_store(other, tl.load(x + at).to(tl.float16))
        tlx.local_store(chosen, tl.load(x + at).to(tl.float16))
    tl.store(y + at, tlx.local_load(chosen))


def test_buffers_are_compared_by_identity_elsewhere(compiled):
    assert "ld.shared" in compiled(compared_by_identity, POINTERS).asm["ptx"]
