"""Kernels that are wrong: what the simulator finds, whatever the seed, and the lines it names."""

import inspect

import pytest
import triton
import triton.language as tl

from tritonext.errors import UserError

np = pytest.importorskip("numpy")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext_tlx import simulator  # noqa: E402
from tritonext_tlx.simulator import Descriptor, simulate  # noqa: E402

SEEDS = range(5)


def line_of(kernel, text, which=0):
    """Return where a kernel has a text, as messages call it."""
    lines, first = inspect.getsourcelines(kernel.fn)
    found = [first + index for index, line in enumerate(lines) if text in line]
    return f"test_simulator_findings.py:{found[which]}"


def found(error, kernel, *args, seed=0, **constants):
    """Return the text of the error of that class which a simulation ends in."""
    with pytest.raises(error) as caught:
        simulate(kernel, (1,), *args, seed=seed, **constants)
    assert type(caught.value) is error
    return str(caught.value)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


@triton.jit
def waits_for_the_wrong_phase(x):
    tile = tlx.local_alloc((32,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(2):
                tlx.barrier_wait(empty[0], i & 1)
                tlx.local_store(tile[0], tl.zeros((32,), tl.float32))
                tlx.barrier_arrive(full[0])
        with tlx.async_task(num_warps=4):
            for i in range(2):
                tlx.barrier_wait(full[0], i & 1)
                tl.store(x + tl.arange(0, 32), tlx.local_load(tile[0]))
                tlx.barrier_arrive(empty[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deadlock_names_tasks_lines_and_who_could_arrive(seed):
    kernel = waits_for_the_wrong_phase
    text = found(simulator.Deadlock, kernel, zeros(32), seed=seed)
    task = line_of(kernel, "num_warps=4").rpartition(":")[2]
    first, second = line_of(kernel, "barrier_wait(empty[0]"), line_of(kernel, "barrier_wait(full[0]")
    lacks = "to complete a phase of parity 0; phase 0 lacks 1 of 1 arrivals"
    assert f"the default task waits at {first} for empty[0] {lacks}" in text
    assert f"the task at line {task} waits at {second} for full[0] {lacks}" in text
    arrival = line_of(kernel, "barrier_arrive(empty[0])")
    assert f"could arrive: tlx.barrier_arrive of empty[0] in the task at line {task} at {arrival}" in text


@triton.jit
def releases_too_little(desc):
    ring = tlx.alloc_pipeline(tlx.local_alloc((32, 32), tl.float32, 2))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(4):
                stage = ring.acquire(i)
                tlx.async_descriptor_load(desc, stage[0], [0, 0], stage.full)
        with tlx.async_task(num_warps=4):
            for i in range(4):
                ring.wait(i)
            ring.release(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deadlock_of_a_ring_names_its_calls(seed):
    kernel = releases_too_little
    text = found(simulator.Deadlock, kernel, Descriptor(zeros(32, 32), [32, 32]), seed=seed)
    task = line_of(kernel, "num_warps=4").rpartition(":")[2]
    release = line_of(kernel, "ring.release(3)")
    assert f"could arrive: ring.release(3) in the task at line {task} at {release}, which was not reached" in text
    assert "hint: let one task acquire each step, each of the consumers release it once" in text


@triton.jit
def captures(x, n, WHAT: tl.constexpr):
    at = tl.arange(0, 32)
    zeros = tl.zeros((32,), tl.float32)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x + at, zeros)
        with tlx.async_task(num_warps=4):
            if WHAT == "read":
                tl.store(x + 32 + at, zeros)
            if WHAT == "changed":
                at += 32
                tl.store(x + at, zeros)
            if WHAT == "made anew":
                at = tl.arange(0, 32) + 32
                tl.store(x + at, zeros)


@pytest.mark.parametrize("what", ["read", "changed"])
def test_a_task_takes_no_tensor_from_outside(what):
    text = found(UserError, captures, zeros(64), 1, WHAT=what)
    assert "the tensor 'at' was made outside of the task, in registers of other warps" in text
    place = line_of(captures, "x + 32 + at") if what == "read" else line_of(captures, "at += 32")
    assert f"where: {line_of(captures, 'x + 32 + at')}" in text or f"where: {place}" in text


@triton.jit
def reads_no_tensor(x):
    at = tl.arange(0, 32)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x + at, 1.0)
        with tlx.async_task(num_warps=4):
            at = at_of(32)
            for at_of_loop in range(2):
                tl.store(x + at + at_of_loop, 1.0)


@triton.jit
def at_of(start):
    return start + tl.arange(0, 32)


def test_a_task_may_make_a_tensor_of_the_same_name():
    x = zeros(128)
    simulate(reads_no_tensor, (1,), x)
    assert x.sum() == 65


@triton.jit
def is_malformed(x, desc, WHAT: tl.constexpr):
    two, three = tlx.local_alloc((32,), tl.float32, 2), tlx.local_alloc((32,), tl.float32, 3)
    if WHAT == "slots":
        tlx.alloc_pipeline((two, three))
    if WHAT == "one slot":
        tlx.alloc_pipeline(two[0])
    if WHAT == "barrier":
        tlx.named_barrier_arrive(16, 128)
    if WHAT == "threads":
        tlx.named_barrier_wait(15, 40)
    if WHAT == "load":
        tl.load(two[0])
    if WHAT == "sum":
        tl.store(x, two[0] + 1.0)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=3):
            tl.store(x, 1.0)


@pytest.mark.parametrize(
    ("what", "line", "message"),
    [
        ("slots", "(two, three))", "tlx.alloc_pipeline takes buffers with as many slots each"),
        ("one slot", "pipeline(two[0])", "tlx.alloc_pipeline takes buffers with as many slots each"),
        ("barrier", "arrive(16", "expected: 0 to 15\n  found: 16"),
        ("threads", "wait(15", "expected: 32 to 1024 in steps of 32\n  found: 40"),
        ("load", "tl.load(two", "a buffer is no tensor"),
        ("sum", "two[0] + 1", "hint: load it with tlx.local_load"),
        ("warps", "num_warps=3", "expected: num_warps of 1, 2, 4, 8 or 16"),
    ],
)
def test_what_cannot_be_meant_is_an_error_at_its_line(what, line, message):
    text = found(UserError, is_malformed, zeros(32), 0, WHAT=what)
    assert message in text
    assert f"where: {line_of(is_malformed, line)}" in text


@triton.jit
def counts_replicas_wrongly(x):
    done = tlx.alloc_barriers(1, arrive_count=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
        with tlx.async_task(num_warps=1, replicate=2):
            tlx.barrier_arrive(done[0])


def test_a_deadlock_says_who_arrived():
    kernel = counts_replicas_wrongly
    text = found(simulator.Deadlock, kernel, zeros(1))
    assert "phase 0 lacks 1 of 3 arrivals" in text
    place = line_of(kernel, "barrier_arrive")
    task = line_of(kernel, "replicate=2").rpartition(":")[2]
    for replica in (0, 1):
        assert f"arrived: tlx.barrier_arrive in the task at line {task}, replica {replica} at {place}, once" in text


@triton.jit
def arrives_too_often(x):
    done = tlx.alloc_barriers(1, arrive_count=1)
    wide = tlx.alloc_barriers(1, arrive_count=2)
    tlx.barrier_arrive(done[0])
    tlx.barrier_arrive(wide[0])
    tlx.barrier_arrive(wide[0], arrive_count=2)


def test_more_arrivals_than_a_barrier_counts():
    text = found(simulator.BarrierMisuse, arrives_too_often, zeros(1))
    assert line_of(arrives_too_often, "arrive_count=2", 1) in text
    assert "expected: 2 of wide[0]" in text
    assert "3 in phase 0" in text


@triton.jit
def too_many_threads(x):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(14, 128)
        with tlx.async_task(num_warps=8):
            tlx.named_barrier_wait(14, 128)


@triton.jit
def fewer_threads_than_come(x):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(14, 128)
        with tlx.async_task(num_warps=2):
            tlx.named_barrier_arrive(14, 128)


@pytest.mark.parametrize("seed", range(8))
def test_who_comes_to_a_named_barrier_may_be_left_over(seed):
    text = found(simulator.BarrierMisuse, fewer_threads_than_come, zeros(1), seed=seed)
    assert "named barrier 14" in text
    assert "expected: 128, the argument arrive_count" in text


@triton.jit
def pairs_in_turn(x):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(14, 256)
            tlx.named_barrier_arrive(15, 256)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(14, 256)
            tlx.named_barrier_wait(14, 256)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(15, 256)
            tlx.named_barrier_wait(14, 256)


@pytest.mark.parametrize("seed", range(8))
def test_a_named_barrier_is_used_again_by_others_that_know(seed):
    tlx.simulate(pairs_in_turn, (1,), zeros(1), seed=seed)


def test_more_threads_than_a_named_barrier_counts():
    text = found(simulator.BarrierMisuse, too_many_threads, zeros(1))
    assert "named barrier 14" in text
    assert "256" in text


@triton.jit
def writes_while_another_task_reads(x):
    tile = tlx.local_alloc((32,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(tile[0], tl.zeros((32,), tl.float32))
            tlx.barrier_arrive(full[0])
            tlx.local_store(tile[0], tl.zeros((32,), tl.float32))
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(full[0], 0)
            tl.store(x + tl.arange(0, 32), tlx.local_load(tile[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_race_of_two_tasks(seed):
    kernel = writes_while_another_task_reads
    text = found(simulator.Race, kernel, zeros(32), seed=seed)
    store, load = line_of(kernel, "local_store", 1), line_of(kernel, "local_load")
    # Which of the two comes first depends on the order of the tasks.
    assert f"tlx.local_store at {store} in the default task" in text
    assert "tile[0]" in text
    assert load in text


@triton.jit
def refills_while_a_product_reads(x):
    a = tlx.local_alloc((64, 32), tl.float16, 1)
    b = tlx.local_alloc((32, 32), tl.float16, 1)
    tlx.local_store(a[0], tl.zeros((64, 32), tl.float16))
    tlx.local_store(b[0], tl.zeros((32, 32), tl.float16))
    acc = tlx.async_dot(a[0], b[0])
    tlx.local_store(a[0], tl.zeros((64, 32), tl.float16))
    acc = tlx.async_dot_wait(0, acc)


def test_a_store_to_what_a_product_reads():
    kernel = refills_while_a_product_reads
    text = found(simulator.Race, kernel, zeros(1))
    assert "a[0] is written while another operation reads it" in text
    assert line_of(kernel, "local_store(a[0]", 1) in text
    assert f"tlx.async_dot at {line_of(kernel, 'async_dot(')} in the kernel, which may not have ended" in text
    assert "tlx.async_dot_wait" in text


@triton.jit
def reuses_what_a_product_reads(x):
    a = tlx.local_alloc((64, 32), tl.float16, 1)
    b = tlx.local_alloc((32, 32), tl.float16, 1)
    other = tlx.local_alloc((32, 32), tl.float32, 1, reuse=a)
    tlx.local_store(a[0], tl.zeros((64, 32), tl.float16))
    tlx.local_store(b[0], tl.zeros((32, 32), tl.float16))
    acc = tlx.async_dot(a[0], b[0])
    tlx.local_store(other[0], tl.zeros((32, 32), tl.float32))
    acc = tlx.async_dot_wait(0, acc)


def test_a_store_to_the_memory_of_what_a_product_reads():
    text = found(simulator.Race, reuses_what_a_product_reads, zeros(1))
    assert "other[0] is written while another operation reads it" in text
    assert line_of(reuses_what_a_product_reads, "local_store(other[0]") in text


@triton.jit
def reads_what_another_buffer_overwrote(x, SLOT: tl.constexpr):
    spec = tlx.storage_alias_spec()
    words = tlx.local_alloc((32, 32), tl.float32, 2, reuse=spec)
    halves = tlx.local_alloc((32, 32), tl.float16, 2, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(words, halves))
    tlx.local_store(halves[1], tl.zeros((32, 32), tl.float16))
    tlx.local_store(words[SLOT], tl.zeros((32, 32), tl.float32))
    tlx.local_load(halves[1])


def test_a_load_of_what_another_buffer_overwrote():
    kernel = reads_what_another_buffer_overwrote
    text = found(simulator.OverwrittenRead, kernel, zeros(1), SLOT=1)
    assert "halves[1] is read behind a write to another buffer in its memory" in text
    assert line_of(kernel, "local_load(halves[1]") in text
    assert f"2048 of 2048 bytes of tlx.local_store at {line_of(kernel, 'local_store(words[SLOT]')}" in text


def test_a_load_beside_what_another_buffer_overwrote():
    simulator.simulate(reads_what_another_buffer_overwrote, (1,), zeros(1), SLOT=0)


@triton.jit
def shares_memory_between_tasks(x):
    spec = tlx.storage_alias_spec()
    words = tlx.local_alloc((32, 32), tl.float32, 1, reuse=spec)
    halves = tlx.local_alloc((32, 32), tl.float16, 1, reuse=spec)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(halves[0], tl.zeros((32, 32), tl.float16))
        with tlx.async_task(num_warps=4):
            tlx.local_store(words[0], tl.zeros((32, 32), tl.float32))


def test_stores_of_two_tasks_to_shared_memory():
    text = found(simulator.Race, shares_memory_between_tasks, zeros(1))
    assert "is written while another operation writes it" in text


@triton.jit
def needs_more_than_there_is(x):
    spec = tlx.storage_alias_spec(buffer_size_bytes=1024)
    tlx.local_alloc((32, 32), tl.float32, 1, reuse=spec)


def test_buffers_larger_than_their_memory():
    text = found(UserError, needs_more_than_there_is, zeros(1))
    assert "the buffers do not fit into the storage_alias_spec" in text


@triton.jit
def refills_too_early(x, K: tl.constexpr):
    tile = tlx.local_alloc((64,), tl.float32, 2)
    at = tl.arange(0, 64)
    for k in range(K):
        tlx.async_load(x + at, tile[k % 2])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(2)
    tlx.async_load_wait_group(0)


def test_two_copies_into_one_slot():
    kernel = refills_too_early
    text = found(simulator.Race, kernel, zeros(64), K=4)
    assert "tile[0] is written while another operation writes it" in text
    assert f"tlx.async_load at {line_of(kernel, 'async_load(')}" in text
    simulate(kernel, (1,), zeros(64), K=2)


@triton.jit
def reads_before_the_copy(x, PENDING: tl.constexpr):
    tile = tlx.local_alloc((64,), tl.float32, 1)
    tlx.async_load(x + tl.arange(0, 64), tile[0])
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(PENDING)
    tl.store(x + tl.arange(0, 64), tlx.local_load(tile[0]))
    tlx.async_load_wait_group(0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_read_before_a_copy_is_waited_for(seed):
    kernel = reads_before_the_copy
    text = found(simulator.ReadBeforeCompletion, kernel, zeros(64), PENDING=1, seed=seed)
    assert "tile[0] is read before the copy into it was waited for" in text
    assert line_of(kernel, "local_load") in text
    assert f"tlx.async_load at {line_of(kernel, 'async_load(')}" in text
    assert "tlx.async_load_wait_group" in text
    simulate(kernel, (1,), zeros(64), PENDING=0, seed=seed)


@triton.jit
def reads_before_the_barrier(source, x, WAIT: tl.constexpr):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 1024)
    tlx.async_descriptor_load(source, tile[0], [0, 0], full[0])
    if WAIT:
        tlx.barrier_wait(full[0], 0)
    at = tl.arange(0, 16)
    tl.store(x + at[:, None] * 16 + at[None, :], tlx.local_load(tile[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_read_before_a_descriptor_load_is_waited_for(seed):
    kernel = reads_before_the_barrier
    source = Descriptor(zeros(16, 16), [16, 16])
    text = found(simulator.ReadBeforeCompletion, kernel, source, zeros(256), WAIT=False, seed=seed)
    assert line_of(kernel, "local_load") in text
    assert f"tlx.async_descriptor_load at {line_of(kernel, 'async_descriptor_load')}" in text
    assert "tlx.barrier_wait" in text
    simulate(kernel, (1,), source, zeros(256), WAIT=True, seed=seed)


@triton.jit
def uses_a_running_product(x):
    a = tlx.local_alloc((64, 32), tl.float16, 1)
    tlx.local_store(a[0], tl.zeros((64, 32), tl.float16))
    b = tlx.local_alloc((32, 32), tl.float16, 1)
    tlx.local_store(b[0], tl.zeros((32, 32), tl.float16))
    acc = tlx.async_dot(a[0], b[0])
    acc = tlx.async_dot_wait(1, acc)
    total = acc + 1
    tl.store(x, tl.sum(tl.sum(total, 0), 0))


def test_an_accumulator_is_used_before_its_product_ended():
    kernel = uses_a_running_product
    text = found(simulator.ReadBeforeCompletion, kernel, zeros(1))
    assert line_of(kernel, "acc + 1") in text
    assert f"tlx.async_dot at {line_of(kernel, 'async_dot(')}" in text


@triton.jit
def reads_what_nobody_wrote(x):
    tile = tlx.local_alloc((2, 32), tl.float32, 1)
    tlx.local_store(tlx.local_slice(tile[0], (0, 0), (1, 32)), tl.zeros((1, 32), tl.float32))
    at = tl.arange(0, 2)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(x + at, tlx.local_load(tile[0]))


def test_an_uninitialized_read():
    kernel = reads_what_nobody_wrote
    text = found(simulator.UninitializedRead, kernel, zeros(64))
    assert line_of(kernel, "local_load") in text
    assert f"tile[0] filled, of {line_of(kernel, 'local_alloc')}" in text
    assert "128 of 256 bytes" in text


@triton.jit
def stores_without_a_fence(target, FENCE: tl.constexpr):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    tlx.local_store(tile[0], tl.zeros((16, 16), tl.float32))
    if FENCE:
        tlx.fence_async_shared()
    tlx.async_descriptor_store(target, tile[0], [0, 0])
    tlx.async_descriptor_store_wait(0)


def test_a_missing_fence():
    kernel = stores_without_a_fence
    target = Descriptor(zeros(16, 16), [16, 16])
    text = found(simulator.MissingFence, kernel, target, FENCE=False)
    assert line_of(kernel, "async_descriptor_store(") in text
    assert f"tlx.local_store at {line_of(kernel, 'local_store')}" in text
    assert "tlx.fence_async_shared" in text
    simulate(kernel, (1,), target, FENCE=True)


@triton.jit
def chooses_a_slot(x, i):
    tile = tlx.local_alloc((32,), tl.float32, 2)
    tlx.local_store(tile[i], tl.zeros((32,), tl.float32))


@triton.jit
def chooses_a_barrier(x, i):
    bars = tlx.alloc_barriers(2)
    tlx.barrier_arrive(bars[i])


@triton.jit
def loads_beyond(x, n):
    tl.store(x, tl.sum(tl.load(x + n + tl.arange(0, 4))))


@triton.jit
def stores_beyond(x, n):
    tl.store(x + n + tl.arange(0, 4), 1.0)


@triton.jit
def copies_beyond(x, n):
    tile = tlx.local_alloc((4,), tl.float32, 1)
    tlx.async_load(x + n + tl.arange(0, 4), tile[0])
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)


@pytest.mark.parametrize(
    ("kernel", "text", "at", "expected", "got"),
    [
        (chooses_a_slot, "local_store", 2, "0 to 1 of tile", "found: 2"),
        (chooses_a_slot, "local_store", -1, "0 to 1 of tile", "found: -1"),
        (chooses_a_barrier, "barrier_arrive", 2, "0 to 1 of bars", "found: 2"),
        (loads_beyond, "tl.load", 5, "elements 0 to 7 of argument x", "element 8; 1 elements"),
        (stores_beyond, "tl.store", -2, "elements 0 to 7 of argument x", "element -2; 2 elements"),
        (copies_beyond, "async_load(", 6, "elements 0 to 7 of argument x", "element 8; 2 elements"),
    ],
)
def test_accesses_out_of_range(kernel, text, at, expected, got):
    message = found(simulator.OutOfRange, kernel, zeros(8), at)
    assert line_of(kernel, text) in message
    assert expected in message
    assert got in message


@triton.jit
def fills_shared_memory(x):
    tile = tlx.local_alloc((128, 128), tl.float32, 4)
    tlx.local_store(tile[0], tl.zeros((128, 128), tl.float32))


def test_shared_memory_overflows():
    text = found(simulator.OutOfRange, fills_shared_memory, zeros(1))
    assert "found: 262144" in text
    assert line_of(fills_shared_memory, "local_alloc") in text


@triton.jit
def fills_it_in_turn(x):
    for _ in tl.static_range(5):
        tlx.local_alloc((128, 128), tl.float32)


def test_buffers_that_may_share_bytes_are_left_to_the_compiler():
    simulator.simulate(fills_it_in_turn, (1,), zeros(1))


@triton.jit
def expects_bytes(source, x, BYTES: tl.constexpr):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], BYTES)
    tlx.async_descriptor_load(source, tile[0], [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("size", "message"), [(2048, "1024 bytes fewer in phase 0"), (512, "512 bytes more in phase 0")]
)
def test_other_bytes_than_expected(size, message, seed):
    source = Descriptor(zeros(16, 16), [16, 16])
    text = found(simulator.ByteCountMismatch, expects_bytes, source, zeros(1), BYTES=size, seed=seed)
    assert message in text
    assert "full[0]" in text
    assert "test_simulator_findings.py:" in text
    simulate(expects_bytes, (1,), source, zeros(1), BYTES=1024, seed=seed)


@triton.jit
def leaves_a_copy(x):
    tile = tlx.local_alloc((64,), tl.float32, 1)
    tlx.async_load(x + tl.arange(0, 64), tile[0])
    tlx.async_load_commit_group()


@triton.jit
def leaves_a_product(x):
    a = tlx.local_alloc((64, 32), tl.float16, 1)
    tlx.local_store(a[0], tl.zeros((64, 32), tl.float16))
    b = tlx.local_alloc((32, 32), tl.float16, 1)
    tlx.local_store(b[0], tl.zeros((32, 32), tl.float16))
    tlx.async_dot(a[0], b[0])


@triton.jit
def leaves_a_store(x):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    target = tl.make_tensor_descriptor(x, [16, 16], [16, 1], [16, 16])
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(tile[0], tl.zeros((16, 16), tl.float32))
            tlx.fence_async_shared()
            tlx.async_descriptor_store(target, tile[0], [0, 0])


@triton.jit
def leaves_a_load(x):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    source = tl.make_tensor_descriptor(x, [16, 16], [16, 1], [16, 16])
    tlx.barrier_expect_bytes(full[0], 1024)
    tlx.async_descriptor_load(source, tile[0], [0, 0], full[0])


@pytest.mark.parametrize(
    ("kernel", "text", "who"),
    [
        (leaves_a_copy, "async_load(", "the kernel ends"),
        (leaves_a_product, "async_dot(", "the kernel ends"),
        (leaves_a_store, "async_descriptor_store(", "the default task ends"),
        (leaves_a_load, "async_descriptor_load(", "the kernel ends"),
    ],
)
def test_work_is_left_behind(kernel, text, who):
    message = found(simulator.Leak, kernel, zeros(16, 16))
    assert line_of(kernel, text) in message
    assert who in message


@triton.jit
def divides(x, DIVISOR: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, 1 // DIVISOR)
        with tlx.async_task(num_warps=1):
            tl.store(x, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failure_of_python_names_the_line(seed):
    text = found(simulator.ExecutionError, divides, zeros(1), DIVISOR=0, seed=seed)
    assert line_of(divides, "1 // DIVISOR") in text
    assert "ZeroDivisionError" in text


@triton.jit
def stores_another_type(x):
    tile = tlx.local_alloc((32,), tl.float16, 1)
    tlx.local_store(tile[0], tl.zeros((32,), tl.float32))


def test_a_store_of_another_type():
    text = found(UserError, stores_another_type, zeros(1))
    assert line_of(stores_another_type, "local_store") in text
    assert "(32,) of fp16" in text
    assert "(32,) of fp32" in text


@triton.jit
def waits_for_the_phase_before(x, y):
    tile = tlx.local_alloc((32,), tl.float32, 2)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in tl.static_range(2):
                tlx.local_store(tile[i], tl.load(x + i * 32 + tl.arange(0, 32)))
                tlx.barrier_arrive(full[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(full[0], 0)
            tl.store(y + tl.arange(0, 32), tlx.local_load(tile[1]))


def test_a_wait_tells_of_its_phase_only():
    """A phase that happens to have completed too orders nothing, so no order makes the kernel look right."""
    kinds = set()
    for seed in range(20):
        with pytest.raises(simulator.Finding) as caught:
            simulate(waits_for_the_phase_before, (1,), zeros(64), zeros(32), seed=seed)
        kinds.add(type(caught.value))
    # When both phases are over before the wait, it waits for a third one.
    assert kinds == {simulator.Race, simulator.UninitializedRead, simulator.Deadlock}


@triton.jit
def reads_behind_its_own_arrival(source, x):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1, arrive_count=2)
    tlx.barrier_expect_bytes(full[0], 1024)
    tlx.async_descriptor_load(source, tile[0], [0, 0], full[0])
    tlx.barrier_arrive(full[0])
    at = tl.arange(0, 16)
    tl.store(x + at[:, None] * 16 + at[None, :], tlx.local_load(tile[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_arriving_last_is_not_waiting(seed):
    kernel = reads_behind_its_own_arrival
    text = found(simulator.ReadBeforeCompletion, kernel, Descriptor(zeros(16, 16), [16, 16]), zeros(256), seed=seed)
    assert line_of(kernel, "local_load") in text


@triton.jit
def copies_in_bulk(x, out, WHAT: tl.constexpr):
    row = tlx.local_alloc((64,), tl.float32)[0]
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 128 if WHAT == "bytes" else 256)
    tlx.async_load(x + (2 if WHAT == "alignment" else 0), row, bulk=True, barrier=full[0])
    if WHAT != "early":
        tlx.barrier_wait(full[0], 0)
    value = tlx.local_load(row)
    if WHAT == "fence":
        tlx.local_store(row, value)
    tlx.async_store(out, row, 24 if WHAT == "size" else 256)
    if WHAT == "refill":
        tlx.local_store(row, value)
    if WHAT != "leak":
        tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize(
    ("what", "error", "text"),
    [
        ("bytes", simulator.ByteCountMismatch, "bring more bytes than their barrier was told to expect"),
        ("alignment", simulator.OutOfRange, "tlx.async_load is not aligned"),
        ("early", simulator.ReadBeforeCompletion, "wait for its barrier with tlx.barrier_wait"),
        ("fence", simulator.MissingFence, "behind a store without a fence"),
        ("size", UserError, "tlx.async_store copies a multiple of 16 bytes"),
        ("refill", simulator.Race, "wait with tlx.async_descriptor_store_wait before"),
        ("leak", simulator.Leak, "wait with tlx.async_descriptor_store_wait"),
    ],
)
def test_copies_in_bulk(what, error, text):
    assert text in found(error, copies_in_bulk, zeros(128), zeros(64), WHAT=what)


@triton.jit
def misuses_memory_of_descriptors(x, WHAT: tl.constexpr):
    memory = tlx.allocate_tensor_descriptor(2)
    made = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.make_tensor_descriptor(memory[0], x, [16, 32], [32, 1], [16, 32])
            tlx.barrier_arrive(made[0])
        with tlx.async_task(num_warps=4):
            if WHAT != "early":
                tlx.barrier_wait(made[0], 0)
            if WHAT == "shape":
                tlx.reinterpret_tensor_descriptor(memory[0], [32, 16], tl.float32)
            tlx.reinterpret_tensor_descriptor(memory[1 if WHAT == "empty" else 0], [16, 32], tl.float32)
            memory[2 if WHAT == "range" else 0]


@pytest.mark.parametrize(
    ("what", "error", "text"),
    [
        ("shape", UserError, "a descriptor is used as another one than was made"),
        ("empty", simulator.UninitializedRead, "a descriptor is used that was not made"),
        ("range", simulator.OutOfRange, "a descriptor is out of range"),
    ],
)
def test_memory_of_descriptors(what, error, text):
    assert text in found(error, misuses_memory_of_descriptors, zeros(16, 32), WHAT=what)


def test_a_descriptor_of_another_task_without_a_wait():
    messages = set()
    for seed in range(10):
        with pytest.raises((simulator.Race, simulator.UninitializedRead)) as caught:
            simulate(misuses_memory_of_descriptors, (1,), zeros(16, 32), WHAT="early", seed=seed)
        messages.add(str(caught.value).partition("\n")[0])
    assert messages == {
        "a descriptor is used that another task may still make",
        "a descriptor is used that was not made",
    }


@triton.jit
def takes_anything(x, n):
    pass


HALVES = np.zeros((64, 64), np.float16)


@pytest.mark.parametrize(
    ("grid", "given", "options", "message"),
    [
        *(
            (grid, (zeros(1), 1), {}, "the grid has no such size")
            for grid in ((-1,), (1.5,), ("a",), (1, 2, 3, 4), (1, 70000), None, lambda given: None)
        ),
        *(
            ((1,), (Descriptor(array, block), 1), {}, message)
            for array, block, message in (
                (HALVES, [64], "a descriptor has no such tile"),
                (HALVES[0], [64, 64], "a descriptor has no such tile"),
                (HALVES, [], "a descriptor has no such tile"),
                (HALVES, [0, 64], "a descriptor has no such tile"),
                (HALVES, [63, 64], "a descriptor has no such tile"),
                (HALVES, 64, "a descriptor has no such tile"),
                (HALVES, [64, 4], "a descriptor cannot be made"),
                (HALVES.reshape(1, 1, 1, 1, 64, 64), [1, 1, 1, 1, 64, 64], "a descriptor cannot be made"),
                ([[1.0]], [64, 64], "a descriptor describes an array"),
            )
        ),
        ((1,), (zeros(1), 2**70), {}, "a number is too large"),
        ((1,), (simulator.Typed([1], tl.bfloat16), 1), {}, "an array has no such bits or type"),
        ((1,), (simulator.Typed(zeros(1), "bf16"), 1), {}, "an array has no such bits or type"),
        ((1,), (zeros(1), 1), {"num_warps": 3}, "a kernel has no such number of warps"),
    ],
)
def test_arguments_that_no_launch_has(grid, given, options, message):
    with pytest.raises(UserError, match=message):
        simulate(takes_anything, grid, *given, **options)
