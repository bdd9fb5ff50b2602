"""What the simulator makes of Blackwell and AMD: numbers, and programs that go wrong."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
np = pytest.importorskip("numpy", reason="the simulator needs numpy")

from tritonext.errors import UserError  # noqa: E402
from tritonext_tlx import simulator  # noqa: E402

SEEDS = range(8)


@triton.jit
def gemm(a, b, c, n, WAIT: tl.constexpr, SLOTS: tl.constexpr, FREE: tl.constexpr, END: tl.constexpr):
    """C = A @ B, K in steps of 32; waits for slots and for the end are left out where the arguments say so."""
    acc = tlx.local_alloc((64, 64), tl.float32, 1, tlx.storage_kind.tmem)[0]
    a_tiles = tlx.local_alloc((64, 32), tl.float16, SLOTS)
    b_tiles = tlx.local_alloc((32, 64), tl.float16, SLOTS)
    free = tlx.alloc_barriers(SLOTS)
    done = tlx.alloc_barriers(1)
    a_at = a + tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    b_at = b + tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    for i in range(n):
        slot, phase = tlx.get_bufidx_phase(i, SLOTS)
        if FREE:
            tlx.barrier_wait(free[slot], phase ^ 1)
        tlx.local_store(a_tiles[slot], tl.load(a_at + i * 2048))
        tlx.local_store(b_tiles[slot], tl.load(b_at + i * 2048))
        tlx.async_dot(a_tiles[slot], b_tiles[slot], acc, use_acc=i > 0, pred=i >= 0, mBarriers=[free[slot]])
    tlx.tcgen05_commit(done[0])
    if WAIT:
        tlx.barrier_wait(done[0], 0)
    if END:
        tl.store(c + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], tlx.local_load(acc))


def gemm_arguments(steps=5):
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((steps, *shape)).astype(np.float16) for shape in ((64, 32), (32, 64)))
    return a, b, np.full((64, 64), np.nan, np.float32), steps


RIGHT = {"WAIT": True, "SLOTS": 2, "FREE": True, "END": True}


@pytest.mark.parametrize("seed", SEEDS)
def test_products_in_tensor_memory(seed):
    a, b, c, n = gemm_arguments()
    tlx.simulate(gemm, (1,), a, b, c, n, **RIGHT, seed=seed)
    np.testing.assert_allclose(c, np.einsum("smk,skn->mn", a.astype(float), b.astype(float)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("values", "finding", "text"),
    [
        (
            {"WAIT": False},
            simulator.ReadBeforeCompletion,
            r"the buffer\[0\] is read before the product into it was waited for",
        ),
        ({"FREE": False}, simulator.Race, "_tiles.* is written while another operation reads it"),
        ({"WAIT": False, "END": False}, simulator.Leak, "ends before an operation of the tensor cores was waited for"),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_missing_waits(values, finding, text, seed):
    """Found whatever the schedule."""
    with pytest.raises(finding, match=text) as caught:
        tlx.simulate(gemm, (1,), *gemm_arguments(), **RIGHT | values, seed=seed)
    assert "async_dot to tensor memory at test_simulator_targets.py" in str(caught.value)


@triton.jit
def by_tasks(a, b, c, WAIT: tl.constexpr, COUNT: tl.constexpr):
    acc = tlx.local_alloc((64, 64), tl.float32, 1, tlx.storage_kind.tmem)
    a_tile = tlx.local_alloc((64, 32), tl.float16)
    b_tile = tlx.local_alloc((32, 64), tl.float16)
    filled = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1, COUNT)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            tl.store(c + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=1):
            if WAIT:
                tlx.barrier_wait(filled[0], 0)
            tlx.async_dot(a_tile[0], b_tile[0], acc[0], use_acc=False, mBarriers=[done[0]])
        with tlx.async_task(num_warps=4):
            tlx.local_store(a_tile[0], tl.load(a + tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]))
            tlx.local_store(b_tile[0], tl.load(b + tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]))
            tlx.fence_async_shared()
            tlx.barrier_arrive(filled[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_share_tensor_memory(seed):
    a, b, c, _ = gemm_arguments(1)
    tlx.simulate(by_tasks, (1,), a, b, c, WAIT=True, COUNT=1, seed=seed)
    np.testing.assert_allclose(c, a[0].astype(float) @ b[0].astype(float), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_that_do_not_wait(seed):
    with pytest.raises((simulator.Race, simulator.UninitializedRead)):
        tlx.simulate(by_tasks, (1,), *gemm_arguments(1)[:3], WAIT=False, COUNT=1, seed=seed)


def test_a_product_arrives_once():
    with pytest.raises(simulator.Deadlock, match="1 of 2 arrivals"):
        tlx.simulate(by_tasks, (1,), *gemm_arguments(1)[:3], WAIT=True, COUNT=2)


@triton.jit
def views(a, c, WHAT: tl.constexpr):
    scores = tlx.local_alloc((64, 32), tl.float32, 2, tlx.storage_kind.tmem)
    weights = tlx.local_alloc((64, 32), tl.float16, 2, tlx.storage_kind.tmem, reuse=scores)
    at = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tlx.local_store(scores[0], tl.load(a + at))
    if WHAT == "overwritten":
        # The second slot of halves is the second half of the first slot of floats.
        tlx.local_store(weights[1], tl.zeros((64, 32), tl.float16))
    if WHAT == "range":
        tlx.local_store(scores[tl.load(c).to(tl.int32) + 2], tl.load(a + at))
    if WHAT == "full":
        tlx.local_alloc((64, 256), tl.float32, 2, tlx.storage_kind.tmem)
    tl.store(c + at, tlx.local_load(scores[0]))
    half = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 16)[None, :]
    tl.store(c + half, tlx.local_load(tlx.subslice(scores[0], 16, 16)))


@triton.jit
def shared_columns(a, c, WHAT: tl.constexpr):
    """Halves in the first half of each slot of words, and a column behind them."""
    tmem: tl.constexpr = tlx.storage_kind.tmem
    spec = tlx.storage_alias_spec(tmem, 8192 if WHAT == "size" else None)
    words = tlx.local_alloc((64, 32), tl.float32, 2, tmem, reuse=spec)
    halves = tlx.local_alloc((64, 32), tl.float16, 2, tmem, reuse=spec)
    column = tlx.local_alloc((64, 1), tl.float32, 2, tmem, reuse=spec)
    inner = tlx.reuse_group(halves, column, group_type=tlx.reuse_group_type.distinct)
    spec.set_buffer_overlap(tlx.reuse_group(words, inner))
    at = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    first = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 1)[None, :]
    tlx.local_store(words[0], tl.load(a + at))
    tlx.local_store(halves[1], tl.load(a + at).to(tl.float16))
    tlx.local_store(column[1], tl.load(a + first))
    if WHAT == "overwritten":
        tlx.local_store(column[0], tl.load(a + first))
    if WHAT == "range":
        tlx.local_store(column[tl.load(c).to(tl.int32) + 2], tl.load(a + first))
    if WHAT == "full":
        tlx.local_alloc((64, 512), tl.float32, 1, tmem)
    if WHAT == "rows":
        tlx.local_alloc((128, 32), tl.float32, 1, tmem, reuse=spec)
    if WHAT == "storage":
        tlx.local_alloc((64, 32), tl.float32, 1, reuse=spec)
    tl.store(c + at, tlx.local_load(words[0]) + tlx.local_load(halves[1]).to(tl.float32))
    tl.store(c + first, tlx.local_load(column[1]))


def test_buffers_that_share_columns():
    a, c = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32), np.zeros((64, 32), np.float32)
    tlx.simulate(shared_columns, (1,), a, c, WHAT="")
    wanted = a + a.astype(np.float16)
    wanted[:, 0] = a[:, 0]
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize(
    ("what", "finding", "text"),
    [
        ("overwritten", simulator.OverwrittenRead, "words[0] is read behind a write to another buffer in its memory"),
        ("range", simulator.OutOfRange, "0 to 1 of column"),
        ("full", simulator.OutOfRange, "found: 576"),
        ("rows", UserError, "a buffer of a storage_alias_spec has another number of rows"),
        ("storage", UserError, "the memory to reuse is another one"),
        ("size", UserError, "found: buffer_size_bytes of 8192"),
    ],
)
def test_buffers_that_cannot_share_columns(what, finding, text):
    a = np.zeros((64, 32), np.float32)
    with pytest.raises(finding, match=re.escape(text)):
        tlx.simulate(shared_columns, (1,), a, np.zeros_like(a), WHAT=what)


def test_views_of_tensor_memory():
    a, c = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32), np.zeros((64, 32), np.float32)
    tlx.simulate(views, (1,), a, c, WHAT="")
    np.testing.assert_array_equal(c, np.concatenate([a[:, 16:], a[:, 16:]], 1))
    tlx.simulate(views, (1,), a, c, WHAT="overwritten")
    np.testing.assert_array_equal(c[:, 16:], np.zeros((64, 16)))


@pytest.mark.parametrize(
    ("what", "finding", "text"),
    [
        ("range", simulator.OutOfRange, "a slot is out of range"),
        ("full", simulator.OutOfRange, "do not fit into tensor memory"),
    ],
)
def test_tensor_memory_has_an_end(what, finding, text):
    a = np.ones((64, 32), np.float32)
    with pytest.raises(finding, match=text):
        tlx.simulate(views, (1,), a, np.zeros((64, 32), np.float32), WHAT=what)


@triton.jit
def scaled(a, b, a_scale, b_scale, c, FORMAT: tl.constexpr, COPY: tl.constexpr):
    K: tl.constexpr = 64 if FORMAT == "e2m1" else 128
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)[0]
    left = tlx.local_alloc((128, K), a.dtype.element_ty)[0]
    right = tlx.local_alloc((128, K), a.dtype.element_ty)[0]
    at = tl.arange(0, 128)[:, None] * K + tl.arange(0, K)[None, :]
    tlx.local_store(left, tl.load(a + at))
    tlx.local_store(right, tl.load(b + at))
    left_scale = tlx.local_alloc((1, 1, 32, 16), tl.uint8)[0]
    right_scale = tlx.local_alloc((1, 1, 32, 16), tl.uint8)[0]
    tile = tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tlx.local_store(left_scale, tl.load(a_scale + tile)[None, None, :, :])
    tlx.local_store(right_scale, tl.load(b_scale + tile)[None, None, :, :])
    if COPY:
        left_there = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)[0]
        right_there = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)[0]
        tlx.fence_async_shared()
        tlx.tmem_copy(left_scale, left_there)
        tlx.tmem_copy(right_scale, right_there)
        tlx.async_dot_scaled(left, tlx.local_trans(right), acc, left_there, FORMAT, right_there, FORMAT, use_acc=False)
    else:
        tlx.async_dot_scaled(left, tlx.local_trans(right), acc, left_scale, FORMAT, right_scale, FORMAT, use_acc=False)
    tl.store(c + tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :], tlx.local_load(acc))


def in_tiles(scales):
    """Return scales of 128 x 4 in the order of their tile: row 32 c + b at [b, c]."""
    return np.ascontiguousarray(scales.reshape(4, 32, 4).transpose(1, 0, 2))


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("format_", ["e4m3", "e2m1"])
def test_scaled_products(format_, copy):
    random = np.random.default_rng(0)
    scales = [random.integers(120, 134, (128, 4)).astype(np.uint8) for _ in range(2)]
    if format_ == "e2m1":
        table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
        codes = [random.integers(0, 16, (128, 128)).astype(np.uint8) for _ in range(2)]
        numbers = [table[code] for code in codes]
        given = [code[:, ::2] | code[:, 1::2] << 4 for code in codes]
    else:
        # Bits of e4m3 without its NaN.
        bits = [random.integers(0, 0x7E, (128, 128)).astype(np.uint8) for _ in range(2)]
        given = [simulator.Typed(item, tl.float8e4nv) for item in bits]
        numbers = [item.numbers().astype(float) for item in given]
    c = np.full((128, 128), np.nan, np.float32)
    tlx.simulate(scaled, (1,), *given, *map(in_tiles, scales), c, FORMAT=format_, COPY=copy)
    left, right = (x * np.repeat(2.0 ** (s.astype(float) - 127), 32, 1) for x, s in zip(numbers, scales))
    np.testing.assert_allclose(c, left @ right.T, rtol=1e-4, atol=1e-3)


@triton.jit
def dynamic(count, done, AGAIN: tl.constexpr, WAIT: tl.constexpr):
    """Each block works on its tile, and on those of blocks that have not started."""
    context = tlx.clc_create_context(1)
    phase = 0
    tile = tl.program_id(0)
    row = tl.program_id(1)
    while tile != -1:
        tlx.clc_producer(context, phase ^ 1 if WAIT else 1)
        tl.atomic_add(count + row * 8 + tile, 1)
        tile, row, _ = tlx.clc_consumer(context, phase, return_3d=True)
        phase ^= 1
    tl.atomic_add(done, 1)
    if AGAIN:
        tlx.clc_producer(context, phase ^ 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_work_is_done_once(seed):
    count, done = np.zeros((3, 8), np.int32), np.zeros(1, np.int32)
    report = tlx.simulate(dynamic, (8, 3), count, done, AGAIN=False, WAIT=True, seed=seed)
    np.testing.assert_array_equal(count, np.ones((3, 8)))
    # Blocks whose work others took never start.
    assert report.programs == done[0] < 24


@triton.jit
def dynamic_clusters(count, done, READERS: tl.constexpr, MULTI: tl.constexpr):
    """All blocks of a cluster work on what the first one asked for."""
    context = tlx.clc_create_context(READERS)
    phase = 0
    tile = tl.program_id(0)
    row = tl.program_id(1)
    while tile != -1:
        tlx.clc_producer(context, phase ^ 1, MULTI)
        tl.atomic_add(count + row * 8 + tile, 1)
        tile, row, _ = tlx.clc_consumer(context, phase, MULTI, return_3d=True)
        phase ^= 1
    tl.atomic_add(done, 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(2, 1, 1), (2, 2, 1), (4, 1, 1)])
def test_clusters_do_work_once(shape, seed):
    count, done = np.zeros((4, 8), np.int32), np.zeros(1, np.int32)
    options = {"READERS": int(np.prod(shape)), "MULTI": True, "ctas_per_cga": shape}
    report = tlx.simulate(dynamic_clusters, (8, 4), count, done, seed=seed, **options)
    np.testing.assert_array_equal(count, np.ones((4, 8)))
    assert report.programs == done[0] < 32


def test_a_cluster_asks_once():
    with pytest.raises(simulator.LaunchMisuse, match="get that of a whole cluster"):
        tlx.simulate(
            dynamic_clusters,
            (8, 4),
            np.zeros((4, 8), np.int32),
            np.zeros(1, np.int32),
            READERS=2,
            MULTI=False,
            ctas_per_cga=(2, 1, 1),
        )


def test_no_more_work_is_asked_for():
    with pytest.raises(simulator.LaunchMisuse, match="more work is asked for after a response said that none is left"):
        tlx.simulate(dynamic, (8, 3), np.zeros((3, 8), np.int32), np.zeros(1, np.int32), AGAIN=True, WAIT=True)


@triton.jit
def asked_twice(x, TASKS: tl.constexpr, PARITY: tl.constexpr):
    context = tlx.clc_create_context(1)
    if TASKS:
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.clc_producer(context, 1)
                tlx.clc_producer(context, PARITY)
            with tlx.async_task(num_warps=4):
                tlx.clc_consumer(context, 0)
    else:
        tlx.clc_producer(context, 1)
        tlx.clc_producer(context, PARITY)


@pytest.mark.parametrize("tasks", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_work_is_asked_for_once(tasks, seed):
    """Another request would overwrite a response, whether somebody has read it by then or not."""
    with pytest.raises(simulator.LaunchMisuse, match="with the parity of another request") as caught:
        tlx.simulate(asked_twice, (8,), np.zeros(1, np.int32), TASKS=tasks, PARITY=1, seed=seed)
    line = asked_twice.def_file_line_number + (6 if tasks else 11)
    assert f"test_simulator_targets.py:{line}" in str(caught.value)
    assert "expected: p_producer=0 in request 2 of stage 0\n  found: 1" in str(caught.value)


def test_a_request_that_waits_for_readers_that_do_not_come():
    with pytest.raises(simulator.Deadlock, match=r"for context.empty\[0\] to complete a phase of parity 0"):
        tlx.simulate(asked_twice, (8,), np.zeros(1, np.int32), TASKS=False, PARITY=0)


@triton.jit
def asked_by_turns(count, STAGES: tl.constexpr):
    context = tlx.clc_create_context(1, STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile, i = tl.program_id(0), 0
            while tile != -1:
                stage, phase = tlx.get_bufidx_phase(i, STAGES)
                tlx.clc_producer(context, phase ^ 1, k=stage)
                tile = tlx.clc_consumer(context, phase, k=stage)
                i += 1
        with tlx.async_task(num_warps=4):
            tl.atomic_add(count, 1)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_work_is_asked_for_by_stages(stages, seed):
    count = np.zeros(1, np.int32)
    report = tlx.simulate(asked_by_turns, (16,), count, STAGES=stages, seed=seed)
    assert count[0] == report.programs


@triton.jit
def unread(x):
    context = tlx.clc_create_context(2)
    phase = 0
    tile = tl.program_id(0)
    while tile != -1:
        tlx.clc_producer(context, phase ^ 1)
        tile = tlx.clc_consumer(context, phase)
        phase ^= 1


def test_a_reader_is_missing():
    with pytest.raises(simulator.Deadlock, match=r"context.empty\[0\] to complete .* lacks 1 of 2 arrivals"):
        tlx.simulate(unread, (8,), np.zeros(1, np.int32))


@triton.jit
def accesses(x, y, n, SHIFT: tl.constexpr, WAIT: tl.constexpr):
    o = tl.arange(0, 64) + SHIFT
    tile = tlx.local_alloc((64,), tl.float32)[0]
    tlx.buffer_load_to_local(tile, x, o, o < n, 5.0)
    tlx.async_load_commit_group()
    for _ in range(1):
        with tlx.warp_pipeline_stage("load", priority=1):
            value = tlx.buffer_load(x, o, o < n, 3.0)
        if WAIT:
            tlx.async_load_wait_group(0)
        with tlx.warp_pipeline_stage("add"):
            total = value + tlx.local_load(tile)
    tlx.buffer_store(total, y, o, o < 48)


def test_buffer_accesses():
    x, y = np.arange(64, dtype=np.float32), np.full(64, -1, np.float32)
    tlx.simulate(accesses, (1,), x, y, 32, SHIFT=0, WAIT=True)
    np.testing.assert_array_equal(y, np.concatenate([2 * x[:32], np.full(16, 8.0), np.full(16, -1.0)]))


def test_buffer_copies_are_waited_for():
    with pytest.raises(
        simulator.ReadBeforeCompletion, match=r"the buffer\[0\] is read before the copy into it was waited for"
    ):
        tlx.simulate(accesses, (1,), np.ones(64, np.float32), np.ones(64, np.float32), 32, SHIFT=0, WAIT=False)


def test_offsets_are_not_negative():
    from tritonext.errors import UserError

    with pytest.raises(UserError, match="offsets of buffer accesses are not negative"):
        tlx.simulate(accesses, (1,), np.ones(64, np.float32), np.ones(64, np.float32), 32, SHIFT=-1, WAIT=True)


@triton.jit
def everywhere(a, b, c):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    left, right = tlx.local_alloc((64, 64), tl.float16)[0], tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.async_load(a + o, left)
    tlx.async_load(b + o, right)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    acc = tlx.async_dot(left, right)
    tl.store(c + o, tlx.async_dot_wait(0, acc))


def test_the_simulator_waits_for_what_some_target_leaves_under_way():
    """A kernel that is right in it is right where products and copies are over at once, too."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    c = np.full((64, 64), np.nan, np.float32)
    tlx.simulate(everywhere, (1,), a, b, c)
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float), rtol=1e-3, atol=1e-3)


@triton.jit
def sums(x, y, z, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    old = tlx.buffer_atomic_add(y, o, tl.load(x + tl.program_id(0) * BLOCK + o), o < 48)
    tl.store(z + tl.program_id(0) * BLOCK + o, old, o < 48)


def test_buffer_atomics():
    x = np.random.default_rng().integers(-100, 100, (5, 64)).astype(np.int32)
    y, z = np.zeros(64, np.int32), np.zeros((5, 64), np.int32)
    tlx.simulate(sums, (5,), x, y, z, BLOCK=64)
    np.testing.assert_array_equal(y, np.where(np.arange(64) < 48, x.sum(0), 0))
    # What was there before is the sum of those that came before, in some order.
    assert {int(value) for value in z[:, 5]} <= {int(x[chosen, 5].sum()) for chosen in _subsets(range(5))}
    assert (z[:, 5] == 0).any()


def _subsets(items):
    items = list(items)
    return [[item for bit, item in enumerate(items) if mask >> bit & 1] for mask in range(2 ** len(items))]


@triton.jit
def rounded(x, bits, y, DTYPE: tl.constexpr):
    at = tl.arange(0, 1024)
    tl.store(y + at, tlx.stoch_round(tl.load(x + at), DTYPE, tl.load(bits + at)).to(tl.float32))


@pytest.mark.parametrize(("dtype", "step"), [(tl.float16, 2**-10), (tl.bfloat16, 2**-7), (tl.float8e5, 0.25)])
def test_rounding_at_random(dtype, step):
    """To one of the two neighbours, with the odds that keep the mean, and exact numbers to themselves."""
    random = np.random.default_rng(0)
    x = np.full(1024, -(1 + 0.25 * step), np.float32)
    x[:4] = (1, -1, 0, 1 + step)
    bits, y = random.integers(0, 2**31, 1024, dtype=np.int32), np.full(1024, np.nan, np.float32)
    tlx.simulate(rounded, (1,), x, bits, y, DTYPE=dtype)
    np.testing.assert_array_equal(y[:4], x[:4])
    assert set(y[4:].tolist()) == {-1.0, -(1 + step)}
    assert 0.15 < (y[4:] != -1).mean() < 0.35
