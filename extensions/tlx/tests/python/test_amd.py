"""What AMD GPUs do with TLX: buffer instructions, copies to LDS, MFMA, and stages of warps."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

AMD = ["hip:gfx942", "hip:gfx950"]


def found(kernel, pattern: str) -> list[str]:
    """Return the instructions of compiled code, in order."""
    return re.findall(pattern, kernel.asm["amdgcn"])


@triton.jit
def scale(x, y, n, MASK: tl.constexpr):
    o = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    value = tlx.buffer_load(x, o, o < n, 1.0) if MASK else tlx.buffer_load(x, o)
    if MASK:
        tlx.buffer_store(value * 2, y, o, o < n)
    else:
        tlx.buffer_store(value * 2, y, o)


@pytest.mark.parametrize("target", AMD)
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize(("kind", "width"), [("fp32", "dwordx4"), ("fp16", "dwordx2")])
def test_buffer_accesses(compiled, target, mask, kind, width):
    """Each thread has 4 elements, in one instruction."""
    kernel = compiled(scale, f"x=*{kind}:16, y=*{kind}:16, n=i32:16", target, MASK=mask)
    assert found(kernel, r"buffer_load_(\w+)") == [width]
    assert found(kernel, r"buffer_store_(\w+)") == [width]
    assert not found(kernel, r"(?:global|flat)_(?:load|store)_\w+")


@triton.jit
def columns(x, y):
    o = tl.arange(0, 64)[:, None] + tl.arange(0, 64)[None, :] * 64
    tlx.buffer_store(tlx.buffer_load(x, o, cache_modifier=".cg"), y, o, cache_modifier=".cs")


@pytest.mark.parametrize("target", AMD)
def test_the_contiguous_dimension_comes_first(compiled, target):
    kernel = compiled(columns, "x=*fp32:16, y=*fp32:16", target)
    assert set(found(kernel, r"buffer_(?:load|store)_(\w+)")) == {"dwordx4"}
    # The modifiers reach the instructions.
    assert all(re.search(r" (sc\d|nt)", line) for line in found(kernel, r"buffer_(?:load|store)_dwordx4 .*"))


@triton.jit
def unaligned(x, y, shift):
    o = tl.arange(0, 1024) * shift
    tlx.buffer_store(tlx.buffer_load(x, o), y, o)


def test_unknown_offsets_are_single_elements(compiled):
    kernel = compiled(unaligned, "x=*fp32:16, y=*fp32:16, shift=i32", "hip:gfx950")
    assert set(found(kernel, r"buffer_(?:load|store)_(\w+)")) == {"dword"}


@triton.jit
def copied(x, y, n, HINT: tl.constexpr, MASK: tl.constexpr):
    tile = tlx.local_alloc((64, 64), x.dtype.element_ty)[0]
    o = tl.arange(0, 64)[:, None] * n + tl.arange(0, 64)[None, :]
    if MASK:
        token = tlx.buffer_load_to_local(tile, x, o, o < 4096, contiguity=HINT)
    else:
        token = tlx.buffer_load_to_local(tile, x, o, contiguity=HINT)
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    tl.store(y + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], tlx.local_load(tile))


@pytest.mark.parametrize(("signature", "hint"), [("n=i32:16", 1), ("n=i32", 8)])
def test_buffer_copies_to_local_memory(compiled, signature, hint):
    kernel = compiled(copied, f"x=*fp16:16, y=*fp16:16, {signature}", "hip:gfx950", HINT=hint, MASK=False)
    assert found(kernel, r"buffer_load_(\w+) .* lds") == ["dwordx4"] * 2
    lines = found(kernel, r"buffer_load_\w+ .* lds|s_waitcnt vmcnt\(0\)|s_barrier|ds_read\w*")
    # Nobody reads before all threads know that their copies are over.
    assert lines.index("s_waitcnt vmcnt(0)") < lines.index("s_barrier")
    assert next(i for i, line in enumerate(lines) if line.startswith("ds_read")) > lines.index("s_barrier")


def test_buffer_copies_with_a_mask(compiled):
    kernel = compiled(copied, "x=*fp16:16, y=*fp16:16, n=i32:16", "hip:gfx950", HINT=8, MASK=True)
    assert found(kernel, r"buffer_load_(\w+) .* lds") == ["dwordx4"] * 2


def test_copies_that_are_too_narrow(refused_by_pass):
    error = refused_by_pass(copied, "x=*fp16:2, y=*fp16:16, n=i32", "hip:gfx950", HINT=1, MASK=False)
    assert "expected offsets that let a thread copy at least 4 bytes at once, got 2" in error
    assert "tlx.buffer_load_to_local(" in error


@triton.jit
def pipelined(a, b, c, K, STAGES: tl.constexpr):
    """A ring of slots: copies of later steps go on while one is multiplied."""
    at_m, at_n, at_k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    a_at = a + at_m[:, None] * K + at_k[None, :]
    b_at = b + at_n[:, None] * K + at_k[None, :]
    a_tiles = tlx.local_alloc((128, 64), tl.float16, STAGES)
    b_tiles = tlx.local_alloc((128, 64), tl.float16, STAGES)
    for slot in tl.static_range(STAGES - 1):
        tlx.async_load(a_at + slot * 64, a_tiles[slot])
        tlx.async_load(b_at + slot * 64, b_tiles[slot])
        tlx.async_load_commit_group()
    acc = tl.zeros((128, 128), tl.float32)
    for k in tl.range(0, K // 64 - STAGES + 1):
        ahead = k + STAGES - 1
        tlx.async_load_wait_group(STAGES - 2)
        tlx.async_load(a_at + ahead * 64, a_tiles[ahead % STAGES])
        tlx.async_load(b_at + ahead * 64, b_tiles[ahead % STAGES])
        tlx.async_load_commit_group()
        acc = tlx.async_dot(a_tiles[k % STAGES], tlx.local_trans(b_tiles[k % STAGES]), acc)
        acc = tlx.async_dot_wait(0, acc)
    tl.store(c + at_m[:, None] * 128 + at_n[None, :], acc)


@pytest.mark.parametrize("stages", [3, 4])
def test_copies_go_on_behind_their_wait(compiled, stages):
    kernel = compiled(pipelined, "a=*fp16:16, b=*fp16:16, c=*fp32:16, K=i32:16", "hip:gfx950", STAGES=stages)
    # A group is 8 instructions of a thread; the wait leaves those of the newest groups, and no load of LDS adds one.
    counts = {int(count) for count in found(kernel, r"s_waitcnt vmcnt\((\d+)\)")}
    assert counts == {8 * (stages - 2)}
    assert set(found(kernel, r"global_load_lds_(\w+)")) == {"dwordx4"}
    assert set(found(kernel, r"v_mfma_\w+")) == {"v_mfma_f32_32x32x16_f16"}
    assert "#ttg.dot_op<{opIdx = 0, parent = #mma" in kernel.asm["ttgir"]


def test_copies_through_registers(compiled):
    """gfx942 has no such copies: the same kernel loads and stores, and a barrier stands before each use."""
    kernel = compiled(pipelined, "a=*fp16:16, b=*fp16:16, c=*fp32:16, K=i32:16", "hip:gfx942", STAGES=2)
    assert not found(kernel, r"load_lds_\w+|buffer_load\w* .* lds")
    assert set(found(kernel, r"(?:global|buffer)_load_(\w+)")) == {"dwordx4"}
    assert found(kernel, r"ds_write\w*")
    assert found(kernel, r"v_mfma_f32_32x32x8_f16\w*")
    text = kernel.asm["ttgir"]
    assert "ttg.async" not in text
    loop = text[text.index("scf.for") :]
    assert loop.count("ttg.local_store") == loop.count("ttg.local_load") == 2


@triton.jit
def filled(x, y, n):
    tile = tlx.local_alloc((64, 64), tl.float32)[0]
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.async_load(x + o, tile, o < n, 7.0, ".cg")
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y + o, tlx.local_load(tile))


def test_registers_are_filled_where_the_mask_is_false(compiled):
    text = compiled(filled, "x=*fp32:16, y=*fp32:16, n=i32:16", "hip:gfx942").asm["ttgir"]
    assert "dense<7.000000e+00>" in text
    assert "cache_modifier = cg" in text


@pytest.mark.parametrize(
    ("kind", "target", "instruction"),
    [
        ("fp16", "hip:gfx942", "v_mfma_f32_32x32x8"),
        ("bf16", "hip:gfx942", "v_mfma_f32_32x32x8"),
        ("fp16", "hip:gfx950", "v_mfma_f32_32x32x16"),
        ("bf16", "hip:gfx950", "v_mfma_f32_32x32x16"),
        ("fp32", "hip:gfx942", "v_mfma_f32_32x32x"),
        ("fp8e4nv", "hip:gfx950", "v_mfma_f32_32x32x|v_mfma_scale_f32_32x32x64"),
    ],
)
def test_products(compiled, kind, target, instruction):
    kernel = compiled(multiplied, f"a=*{kind}:16, b=*{kind}:16, c=*fp32:16", target, USE=None)
    assert re.search(instruction, kernel.asm["amdgcn"])


@triton.jit
def multiplied(a, b, c, USE: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    left = tlx.local_alloc((64, 64), a.dtype.element_ty)[0]
    right = tlx.local_alloc((64, 64), b.dtype.element_ty)[0]
    tlx.local_store(left, tl.load(a + o))
    tlx.local_store(right, tl.load(b + o))
    acc = tlx.async_dot(left, right, tl.load(c + o), use_acc=USE)
    tl.store(c + o, tlx.async_dot_wait(0, acc))


def test_the_accumulator_can_be_left_out(compiled):
    signature = "a=*fp16:16, b=*fp16:16, c=*fp32:16"
    with_it, without = (
        compiled(multiplied, signature, "hip:gfx950", USE=use).asm["ttgir"].count("amdg.buffer_load")
        for use in (True, False)
    )
    assert (with_it, without) == (3, 2)


@triton.jit
def in_turn(a, b, c, n):
    """Two stages, the first with priority; values of one are used in the other and behind the loop."""
    at_m, at_n, at_k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    a_tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    b_tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    a_at = a + at_m[:, None] * 64 + at_k[None, :]
    b_at = b + at_k[:, None] * 64 + at_n[None, :]
    tlx.async_load(a_at, a_tiles[0])
    tlx.async_load(b_at, b_tiles[0])
    tlx.async_load_commit_group()
    acc = tl.zeros((64, 64), tl.float32)
    for i in tl.range(n):
        tlx.async_load_wait_group(0)
        with tlx.warp_pipeline_stage("load", priority=1):
            left = tlx.local_load(a_tiles[i % 2])
            right = tlx.local_load(b_tiles[i % 2])
        with tlx.warp_pipeline_stage("multiply", priority=0):
            tlx.async_load(a_at + i * 8192, a_tiles[(i + 1) % 2])
            tlx.async_load(b_at + i * 8192, b_tiles[(i + 1) % 2])
            tlx.async_load_commit_group()
            acc = tl.dot(left, right, acc)
    tl.store(c + at_m[:, None] * 64 + at_n[None, :], acc)


def test_warps_take_turns(compiled):
    signature = "a=*fp16:16, b=*fp16:16, c=*fp32:16, n=i32"
    kernel = compiled(in_turn, signature, "hip:gfx950", {"num_warps": 8})
    text = kernel.asm["ttgir"]
    assert re.findall(r'triton.warp_pipeline.stage = "(\w+)"', text) == ["load", "multiply"]
    assert {"s_setprio 1", "s_setprio 0"} <= set(found(kernel, r"s_setprio \d"))
    assert len(found(kernel, r"s_barrier")) >= 4


@triton.jit
def added(x, y, n, STEP: tl.constexpr, SCOPE: tl.constexpr, SEM: tl.constexpr, HINT: tl.constexpr):
    o = (tl.program_id(0) * 1024 + tl.arange(0, 1024)) * STEP
    tl.store(x + o, tlx.buffer_atomic_add(y, o, tl.load(x + o), o < n, SEM, SCOPE, HINT))


ADDED = {"STEP": 1, "SCOPE": None, "SEM": None, "HINT": 1}


@pytest.mark.parametrize("target", AMD)
@pytest.mark.parametrize(
    ("kind", "instruction"),
    [
        ("fp32", "add_f32"),
        ("fp64", "add_f64"),
        ("i32", "add"),
        ("i64", "add_x2"),
        ("fp16", "pk_add_f16"),
        ("bf16", "pk_add_bf16"),
    ],
)
def test_buffer_atomics(compiled, refused, target, kind, instruction):
    signature = f"x=*{kind}:16, y=*{kind}:16, n=i32:16"
    if (target, kind) == ("hip:gfx942", "bf16"):
        text = refused(added, signature, target, **ADDED)
        assert "the target adds no elements of this type\n  where: tlx.buffer_atomic_add, argument ptr" in text
        return
    kernel = compiled(added, signature, target, **ADDED)
    assert set(found(kernel, r"buffer_atomic_(\w+)")) == {instruction}
    # The old value is wanted.
    assert all(" sc0" in line for line in found(kernel, r"buffer_atomic_\w+ .*"))
    assert not found(kernel, r"(?:global|flat)_atomic\w+")


@pytest.mark.parametrize(
    ("order", "scope", "fences"),
    [("relaxed", "gpu", (0, 0)), ("acquire", "gpu", (0, 1)), ("release", "gpu", (1, 0)), (None, None, (1, 1))],
)
def test_buffer_atomics_order_memory(compiled, order, scope, fences):
    kernel = compiled(added, "x=*fp32:16, y=*fp32:16, n=i32:16", "hip:gfx942", **ADDED | {"SEM": order, "SCOPE": scope})
    assert tuple(min(len(found(kernel, name)), 1) for name in ("buffer_wbl2", "buffer_inv")) == fences


@triton.jit
def called(WHAT: tl.constexpr):
    if WHAT == "buffer_load":
        tlx.buffer_load(0, 0)
    if WHAT == "buffer_store":
        tlx.buffer_store(0, 0, 0)
    if WHAT == "buffer_atomic_add":
        tlx.buffer_atomic_add(0, 0, 0)
    if WHAT == "buffer_load_to_local":
        tlx.buffer_load_to_local(0, 0, 0)
    if WHAT == "warp_pipeline_stage":
        with tlx.warp_pipeline_stage("load"):
            pass


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
@pytest.mark.parametrize(
    "what", ["buffer_atomic_add", "buffer_load", "buffer_store", "buffer_load_to_local", "warp_pipeline_stage"]
)
def test_other_targets(refused, target, what):
    text = refused(called, "", target, WHAT=what)
    assert f"the target lacks this operation\n  where: tlx.{what}" in text


def test_copies_of_buffers_on_gfx942(refused):
    text = refused(called, "", "hip:gfx942", WHAT="buffer_load_to_local")
    assert "where: tlx.buffer_load_to_local\n  expected: hip:gfx950\n  found: hip:gfx942" in text


@triton.jit
def wrong(x, WHAT: tl.constexpr):
    o = tl.arange(0, 64)
    tile = tlx.local_alloc((64,), tl.float32)[0]
    if WHAT == "pointer":
        tlx.buffer_load(x + o, o)
    if WHAT == "offsets":
        tlx.buffer_load(x, 5)
    if WHAT == "wide offsets":
        tlx.buffer_load(x, o.to(tl.int64))
    if WHAT == "mask":
        tlx.buffer_load(x, o, o)
    if WHAT == "other":
        tlx.buffer_load(x, o, other=1.0)
    if WHAT == "modifier":
        tlx.buffer_load(x, o, cache_modifier=".wb")
    if WHAT == "value":
        tlx.buffer_store(tl.zeros((32,), tl.float32), x, o)
    if WHAT == "modifier of a store":
        tlx.buffer_store(1.0, x, o, cache_modifier=".ca")
    if WHAT == "added":
        tlx.buffer_atomic_add(x, o, tl.zeros((32,), tl.float32))
    if WHAT == "order":
        tlx.buffer_atomic_add(x, o, 1.0, sem="strong")
    if WHAT == "scope":
        tlx.buffer_atomic_add(x, o, 1.0, scope="sys")
    if WHAT == "pairs":
        tlx.buffer_atomic_add(x, o, 1.0, contiguity=3)
    if WHAT == "slot":
        tlx.buffer_load_to_local(o, x, o)
    if WHAT == "shape":
        tlx.buffer_load_to_local(tile, x, tl.arange(0, 32))
    if WHAT == "type":
        tlx.buffer_load_to_local(tlx.local_alloc((64,), tl.int32)[0], x, o)
    if WHAT == "contiguity":
        tlx.buffer_load_to_local(tile, x, o, contiguity=3)
    if WHAT == "label":
        with tlx.warp_pipeline_stage(5):
            pass
    if WHAT == "priority":
        with tlx.warp_pipeline_stage("load", priority=4):
            pass


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("pointer", "an argument is not a pointer\n  where: tlx.buffer_load, argument ptr"),
        ("offsets", "an argument is not a tensor\n  where: tlx.buffer_load, argument offsets"),
        ("wide offsets", "offsets have 32 bits\n  where: tlx.buffer_load, argument offsets"),
        ("mask", "the mask is no tensor of booleans\n  where: tlx.buffer_load, argument mask"),
        ("other", "there is no mask that leaves anything out\n  where: tlx.buffer_load, argument other"),
        ("modifier", "an argument has no such value\n  where: tlx.buffer_load, argument cache_modifier"),
        ("value", "the shapes differ\n  where: tlx.buffer_store, argument stored_value"),
        ("modifier of a store", "an argument has no such value\n  where: tlx.buffer_store, argument cache_modifier"),
        ("added", "the shapes differ\n  where: tlx.buffer_atomic_add, argument value"),
        ("order", "an argument has no such value\n  where: tlx.buffer_atomic_add, argument sem"),
        ("scope", "an argument has no such value\n  where: tlx.buffer_atomic_add, argument scope"),
        ("pairs", "is not a power of two\n  where: tlx.buffer_atomic_add, argument contiguity"),
        ("slot", "an argument is not a buffer\n  where: tlx.buffer_load_to_local, argument dest"),
        ("shape", "the shapes differ\n  where: tlx.buffer_load_to_local, argument offsets"),
        ("type", "the types of the elements differ\n  where: tlx.buffer_load_to_local, argument ptr"),
        ("contiguity", "is not a power of two\n  where: tlx.buffer_load_to_local, argument contiguity"),
        ("label", "an argument is not a text\n  where: tlx.warp_pipeline_stage, argument label"),
        ("priority", "an argument has no such value\n  where: tlx.warp_pipeline_stage, argument priority"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, "x=*fp32:16", "hip:gfx950", WHAT=what)


@triton.jit
def row(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    slot = tlx.local_alloc((BLOCK,), tl.float32)[0]
    tlx.buffer_load_to_local(slot, x, at)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y + at, tlx.local_load(slot))


@pytest.mark.parametrize(("block", "width"), [(64, "dword"), (128, "dword"), (256, "dwordx4")])
def test_small_copies_are_narrow(compiled, block, width):
    kernel = compiled(row, "x=*fp32:16, y=*fp32:16", "hip:gfx950", BLOCK=block)
    assert set(found(kernel, r"buffer_load_(\w+) .* lds")) == {width}
