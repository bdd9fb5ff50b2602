"""Buffers in shared memory: the ops each becomes, code for every target, and what is refused."""

import re

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout, SwizzledSharedLayout

from tritonext.errors import UserError
from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

PLAIN = tl.constexpr(SwizzledSharedLayout(1, 1, 1, [0]))
COLUMNS = tl.constexpr(SwizzledSharedLayout(1, 1, 1, [0, 1]))
DEEP = tl.constexpr(SwizzledSharedLayout(1, 1, 1, [2, 1, 0]))
WIDE = tl.constexpr(NVMMASharedLayout(64, 16, 2))
SIGNATURE = "x=*fp16:16, y=*fp16:16, at=*i32:16, n=i32"


@triton.jit
def offsets(ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]


@triton.jit
def round_trip(x, y, at, n, NUM: tl.constexpr):
    o = offsets(64, 64)
    ring = tlx.local_alloc((64, 64), tl.float16, NUM)
    tlx.local_store(ring[0], tl.load(x + o))
    tlx.local_store(tlx.local_view(ring, n), tl.load(x + o + 4096))
    tl.store(y + o, tlx.local_load(ring[n]) + tlx.local_load(ring[NUM - 1]))


@triton.jit
def views(x, y, at, n, NUM: tl.constexpr):
    o = offsets(64, 64)
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(slot, tl.load(x + o))
    turned = tlx.local_load(tlx.local_trans(slot))
    half = tlx.local_load(tlx.local_slice(slot, (0, 32), (64, 32)))
    flat = tlx.local_load(tlx.local_reshape(slot, (4096,)))
    words = tlx.local_load(tlx.local_reinterpret(slot, tl.int32, (64, 32)))
    same = tlx.local_load(tlx.local_reinterpret(slot, tl.int16))
    tl.store(y + o, turned)
    tl.store(y + 4096 + offsets(64, 32), half)
    tl.store(y + 8192 + tl.arange(0, 4096), flat)
    tl.store((y + 12288).to(tl.pointer_type(tl.int32)) + offsets(64, 32), words)
    tl.store((y + 16384).to(tl.pointer_type(tl.int16)) + o, same)


@triton.jit
def turned(x, y, at, n, NUM: tl.constexpr):
    """A slice of a permuted view needs the layout of that view."""
    o = offsets(64, 64)
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(slot, tl.load(x + o))
    plain = tlx.local_alloc((64, 64), tl.float16, layout=COLUMNS)[0]
    tlx.local_store(plain, tl.load(x + o))
    deep = tlx.local_alloc((16, 16, 16), tl.float16, layout=DEEP)[0]
    tlx.local_store(deep, tl.reshape(tl.load(x + tl.arange(0, 4096)), (16, 16, 16)))
    total = tlx.local_load(tlx.local_slice(tlx.local_trans(slot), (32, 0), (32, 64)))
    total += tlx.local_load(tlx.local_slice(tlx.local_trans(plain), (32, 0), (32, 64)))
    total += tlx.local_load(tlx.local_slice(tlx.local_trans(tlx.local_trans(slot)), (32, 0), (32, 64)))
    tl.store(y + offsets(32, 64), total)
    part = tlx.local_slice(tlx.local_trans(deep, (2, 0, 1)), (0, 0, 8), (16, 16, 8))
    tl.store(y + 2048 + tl.arange(0, 2048), tl.reshape(tlx.local_load(part), (2048,)))


@triton.jit
def reused(x, y, at, n, NUM: tl.constexpr):
    o = offsets(64, 64)
    ring = tlx.local_alloc((64, 64), tl.float16, 3)
    tlx.local_store(ring[0], tl.load(x + o))
    first = tlx.local_load(ring[0])
    words = tlx.local_alloc((64, 64), tl.int32, reuse=ring)[0]
    tlx.local_store(words, tl.load(at + o))
    tl.store(y + o, first + tlx.local_load(ring[0]))


@triton.jit
def indexed(x, y, at, n, NUM: tl.constexpr):
    o = offsets(64, 64)
    ring = tlx.local_alloc((64, 64), tl.float16, 2)
    index = tl.load(at + o)
    tlx.local_store(ring[0], tl.load(x + o))
    tlx.local_scatter(ring[1], tlx.local_gather(ring[0], index, 0), index, 1)
    tl.store(y + o, tlx.local_load(ring[1]))


@triton.jit
def choose(ring, n):
    return ring[n]


@triton.jit
def passed_around(x, y, at, n, NUM: tl.constexpr):
    """Buffers go through helpers, loops, conditionals and tuples."""
    o = offsets(64, 64)
    ring = tlx.local_alloc((64, 64), tl.float16, 2)
    slot = choose(ring, 0)
    pair = (ring[0], ring[1])
    for step in range(n):
        tlx.local_store(slot, tl.load(x + o + step))
        slot = choose(ring, step % 2)
    if n > 3:
        slot = pair[1]
    tl.store(y + o, tlx.local_load(slot))


@triton.jit
def load_before_loop(x, y, at, n, NUM: tl.constexpr):
    o = offsets(64, 64)
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(slot, tl.load(x + o))
    value = tlx.local_load(slot)
    total = tl.zeros((64, 64), tl.float16)
    for _ in range(n):
        total += value
        tlx.local_store(slot, total)
    tl.store(y + o, total)


KERNELS = [round_trip, views, turned, reused, indexed, passed_around, load_before_loop]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_compiles_for_every_target(compiled, kernel, target):
    result = compiled(kernel, SIGNATURE, target, NUM=3)
    assert "tlx." not in result.asm["ttgir"]
    code = result.asm["ptx" if target.startswith("cuda") else "amdgcn"]
    stores, barriers = ("st.shared", "bar.sync") if target.startswith("cuda") else ("ds_write", "s_barrier")
    assert stores in code or "stmatrix" in code
    # Other threads read what was stored.
    assert barriers in code


def test_round_trip_is_stock_ops(compiled):
    text = compiled(round_trip, SIGNATURE, NUM=3).asm["ttir"]
    assert "ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>" in text
    assert "nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>" in text
    # Slot 0, slot n once for both uses, and the last.
    assert text.count("ttg.memdesc_index") == 3
    assert text.count("ttg.local_store") == text.count("ttg.local_load") == 2


def test_views_move_no_data(compiled):
    text = compiled(views, SIGNATURE, NUM=1).asm["ttir"]
    slot = re.search(r"(%\w+) = ttg.memdesc_index", text)[1]
    assert f"ttg.memdesc_trans {slot} {{order = array<i32: 1, 0>}}" in text
    assert f"ttg.memdesc_subslice {slot}[0, 32] :" in text
    assert "-> !ttg.memdesc<64x32xf16, #shared, #smem, mutable, 64x64>" in text
    assert f"ttg.memdesc_reshape {slot} :" in text
    assert text.count(f"ttg.memdesc_reinterpret {slot} :") == 2
    assert text.count("ttg.local_store") == 1


def test_reused_memory_is_ordered_and_counted_once(compiled):
    result = compiled(reused, SIGNATURE, NUM=1)
    assert result.metadata.shared == 3 * 64 * 64 * 2
    # Before the load, before the store to the same memory, and before the load of that.
    assert result.asm["ptx"].count("bar.sync") == 3


def test_index_ops_have_their_axis(compiled):
    text = compiled(indexed, SIGNATURE, NUM=1).asm["ttir"]
    assert "ttg.local_gather" in text
    assert "{axis = 0 : i32}" in text
    assert "ttg.local_scatter" in text
    assert "{axis = 1 : i32}" in text


@pytest.mark.parametrize("target", TARGETS)
def test_load_stays_in_front_of_a_loop_that_stores(compiled, target):
    """Stock passes take for granted that a buffer is written once, and would move the load into the loop."""
    text = compiled(load_before_loop, SIGNATURE, target, NUM=1).asm["ttgir"]
    assert text.index("ttg.local_load") < text.index("scf.for")


@triton.jit
def addresses_in_a_buffer(x, y, at, n):
    o = offsets(64, 64)
    slot = tlx.local_alloc((64, 64), tl.int32)[0]
    tlx.local_store(slot, tl.load(at + o))
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        index = tlx.local_load(slot)
        acc = tl.dot(tl.load(x + index), tl.load(y + i * 4096 + o), acc)
        tlx.local_store(slot, index + i)
    tl.store(y + o, acc)


@pytest.mark.parametrize("target", TARGETS)
def test_load_of_an_iteration_sees_the_store_of_the_one_before(compiled, target):
    """The pipeliners would load addresses of later iterations in front of the loop."""
    signature = "x=*fp32:16, y=*fp32:16, at=*i32:16, n=i32"
    text = compiled(addresses_in_a_buffer, signature, target, {"num_stages": 3}).asm["ttgir"]
    before, loop = text.split("scf.for")
    assert "ttg.local_load" not in before
    assert loop.index("ttg.local_load") < loop.index("ttg.local_store")


@triton.jit
def allocates(x, SHAPE: tl.constexpr, DTYPE: tl.constexpr, NUM: tl.constexpr, LAYOUT: tl.constexpr):
    tlx.local_alloc(SHAPE, DTYPE, NUM, layout=LAYOUT)


@pytest.mark.parametrize(
    ("shape", "dtype", "target", "layout"),
    [
        ((64, 64), tl.float16, "cuda:90", "nvmma_shared<{swizzlingByteWidth = 128"),
        ((64, 32), tl.float16, "cuda:80", "nvmma_shared<{swizzlingByteWidth = 64"),
        ((64, 32), tl.int8, "cuda:100", "nvmma_shared<{swizzlingByteWidth = 32"),
        ((64, 4), tl.float16, "cuda:90", "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"),
        ((64,), tl.float32, "cuda:90", "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"),
        ((64, 64), tl.float16, "hip:gfx942", "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"),
    ],
)
def test_layout_follows_shape_type_and_target(compiled, shape, dtype, target, layout):
    text = compiled(allocates, "x=i32", target, SHAPE=shape, DTYPE=dtype, NUM=1, LAYOUT=None).asm["source"]
    assert f"#ttg.{layout}" in text


def test_layout_can_be_given(compiled):
    for given, text in ((COLUMNS, "order = [0, 1]"), (WIDE, "swizzlingByteWidth = 64")):
        result = compiled(allocates, "x=i32", SHAPE=(64, 64), DTYPE=tl.float16, NUM=1, LAYOUT=given.value)
        assert text in result.asm["source"]


@pytest.mark.parametrize(
    ("values", "message", "where", "expected", "found"),
    [
        ({"SHAPE": (48, 64)}, "a size is not a power of two", "shape", "such as 64", "48"),
        ({"SHAPE": ()}, "a shape is empty", "shape", "such as (64, 64)", "()"),
        ({"SHAPE": 64}, "an argument is not a tuple of constants", "shape", "such as (64, 64)", "64 of type int"),
        ({"NUM": 0}, "an argument is too small", "num", "at least 1", "0"),
        ({"NUM": 1.5}, "an argument is not a constant integer", "num", "a number known at compile time", "1.5 of type"),
        ({"DTYPE": tl.int1}, "an argument is not a type of whole bytes", "dtype", "such as tl.float16", "int1"),
        ({"LAYOUT": "rows"}, "an argument is not a layout of shared memory", "layout", "a shared layout", "'rows'"),
        ({"LAYOUT": PLAIN.value}, "the layout has another rank than the shape", "layout", "2", "1"),
    ],
)
def test_what_cannot_be_allocated(refused, values, message, where, expected, found):
    fine = {"SHAPE": (64, 64), "DTYPE": tl.float16, "NUM": 1, "LAYOUT": None}
    text = refused(allocates, "x=i32", **(fine | values))
    assert f"{message}\n  where: tlx.local_alloc, argument {where}\n  expected: {expected}" in text
    assert f"  found: {found}" in text
    # The line of the kernel stands above the message.
    assert "tlx.local_alloc(SHAPE" in text


def test_tensors_spread_over_a_cluster(refused):
    values = {"SHAPE": (64, 64), "DTYPE": tl.float16, "NUM": 1, "LAYOUT": None}
    text = refused(allocates, "x=i32", "cuda:90", {"num_ctas": 2}, **values)
    assert (
        "a buffer belongs to one block, and num_ctas spreads tensors over a cluster\n  where: tlx.local_alloc" in text
    )
    assert "expected: 1\n  found: 2" in text


def test_storage_that_does_not_exist(refused):
    @triton.jit
    def kernel(x, KIND: tl.constexpr):
        tlx.local_alloc((64, 64), tl.float16, storage=KIND)

    text = refused(kernel, "x=i32", KIND="registers")
    assert "an argument has no such value\n  where: tlx.local_alloc, argument storage" in text


@triton.jit
def wrong(x, y, at, n, WHAT: tl.constexpr):
    o = offsets(64, 64)
    ring = tlx.local_alloc((64, 64), tl.float16, 2)
    if WHAT == "high slot":
        tlx.local_load(ring[2])
    if WHAT == "low slot":
        tlx.local_load(ring[-1])
    if WHAT == "slot of a slot":
        ring[0][1]
    if WHAT == "no slot":
        tlx.local_load(ring)
    if WHAT == "no buffer":
        tlx.local_load(n)
    if WHAT == "index type":
        tlx.local_view(ring, 1.5)
    if WHAT == "store shape":
        tlx.local_store(ring[0], tl.load(x + offsets(64, 32)))
    if WHAT == "store type":
        tlx.local_store(ring[0], tl.load(x + o).to(tl.float32))
    if WHAT == "store scalar":
        tlx.local_store(ring[0], n)
    if WHAT == "slice outside":
        tlx.local_slice(ring[0], (0, 64), (64, 32))
    if WHAT == "slice start":
        tlx.local_slice(ring[0], (0, 16), (64, 32))
    if WHAT == "slice rank":
        tlx.local_slice(ring[0], (0,), (64, 32))
    if WHAT == "permutation":
        tlx.local_trans(ring[0], (1, 1))
    if WHAT == "reshape":
        tlx.local_reshape(ring[0], (64, 32))
    if WHAT == "reshape slice":
        tlx.local_reshape(tlx.local_slice(ring[0], (0, 0), (64, 32)), (2048,))
    if WHAT == "reinterpret":
        tlx.local_reinterpret(ring[0], tl.float32)
    if WHAT == "reuse size":
        tlx.local_alloc((64, 64), tl.float32, 2, reuse=ring)
    if WHAT == "reuse alignment":
        tlx.local_alloc((64, 64), tl.float16, reuse=tlx.local_alloc((4096,), tl.float16))
    if WHAT == "reuse slice":
        tlx.local_alloc((32, 32), tl.float16, reuse=tlx.local_slice(ring[0], (0, 0), (64, 32)))
    if WHAT == "reuse type":
        tlx.local_alloc((64, 64), tl.float16, reuse=n)
    if WHAT == "reinterpret alignment":
        tlx.local_reinterpret(tlx.local_alloc((4096,), tl.float16)[0], tl.float16, (64, 64))
    if WHAT == "token":
        tlx.local_load(ring[0], n)
    if WHAT == "gather axis":
        tlx.local_gather(ring[0], tl.load(at + o), 2)
    if WHAT == "gather rank":
        tlx.local_gather(ring[0], tl.load(at + tl.arange(0, 64)), 0)
    if WHAT == "gather type":
        tlx.local_gather(ring[0], tl.load(x + o), 0)
    if WHAT == "scatter shape":
        tlx.local_scatter(ring[0], tl.load(x + offsets(64, 32)), tl.load(at + o), 0)
    if WHAT == "stock load":
        tl.load(ring[0])
    if WHAT == "arithmetic":
        tl.store(x + o, ring[0] * 2.0)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (
            "high slot",
            "the slot is out of range\n  where: tlx.local_view, argument buffer_idx\n  expected: 0 to 1\n  found: 2",
        ),
        (
            "low slot",
            "the slot is out of range\n  where: tlx.local_view, argument buffer_idx\n  expected: 0 to 1\n  found: -1",
        ),
        ("slot of a slot", "the buffer is one slot already\n  where: tlx.local_view, argument local_allocated_buffers"),
        ("no slot", "the buffer has slots\n  where: tlx.local_load, argument src\n  expected: one slot"),
        ("no buffer", "an argument is not a buffer\n  where: tlx.local_load, argument src"),
        ("stock load", "a buffer is no tensor\n  expected: a tensor"),
        ("arithmetic", "a buffer is no tensor\n  expected: a tensor"),
        ("index type", "an argument is not an integer\n  where: tlx.local_view, argument buffer_idx"),
        (
            "store shape",
            "the shapes differ\n  where: tlx.local_store, argument src\n  expected: (64, 64)\n  found: (64, 32)",
        ),
        ("store type", "the types of the elements differ\n  where: tlx.local_store, argument src\n  expected: fp16"),
        ("store type", "hint: convert with .to(tl.float16)"),
        ("store scalar", "an argument is not a tensor\n  where: tlx.local_store, argument src"),
        ("slice outside", "the slice leaves the buffer\n  where: tlx.local_slice, argument offset"),
        (
            "slice start",
            "the slice does not start at a multiple of its size\n  where: tlx.local_slice, argument offset",
        ),
        ("slice rank", "an argument has another rank than the buffer\n  where: tlx.local_slice, argument offset"),
        ("permutation", "the dimensions are no permutation\n  where: tlx.local_trans, argument dims"),
        ("reshape", "the shapes have different numbers of elements\n  where: tlx.local_reshape, argument shape"),
        ("reshape slice", "the buffer is a slice, whose elements are not contiguous\n  where: tlx.local_reshape"),
        ("reinterpret", "the view has another number of bytes than the buffer\n  where: tlx.local_reinterpret"),
        ("reuse size", "the buffer is too small to be reused\n  where: tlx.local_alloc, argument reuse"),
        ("reuse alignment", "the buffer is not aligned for the layout of the view\n  where: tlx.local_alloc"),
        ("reuse slice", "the buffer is a slice, whose elements are not contiguous\n  where: tlx.local_alloc"),
        ("reuse type", "an argument is not a buffer\n  where: tlx.local_alloc, argument reuse"),
        ("reinterpret alignment", "the buffer is not aligned for the layout of the view\n  where: tlx.local_reinter"),
        ("token", "an argument is not a token\n  where: tlx.local_load, argument token"),
        ("gather axis", "the axis is out of range\n  where: tlx.local_gather, argument axis"),
        ("gather rank", "the index has another rank than the buffer\n  where: tlx.local_gather, argument index"),
        ("gather type", "the index is no tensor of integers\n  where: tlx.local_gather, argument index"),
        ("scatter shape", "the shapes differ\n  where: tlx.local_scatter, argument value"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, SIGNATURE, WHAT=what)


def test_ops_of_a_target():
    ampere, hopper, blackwell = (set(tlx.supported_ops(f"cuda:{number}")) for number in (80, 90, 100))
    assert ampere < hopper < blackwell
    assert {"local_alloc", "async_load", "async_dot"} <= ampere
    assert "barrier_wait" in hopper - ampere
    assert {"tmem_copy", "async_dot_scaled", "clc_producer"} <= blackwell - hopper
    older, newer = (set(tlx.supported_ops(f"hip:{name}")) for name in ("gfx942", "gfx950"))
    assert {"async_load", "buffer_load", "warp_pipeline_stage"} <= older - hopper | {"async_load"}
    assert newer - older == {"buffer_load_to_local"}
    with pytest.raises(UserError, match="the extension is not made for this target"):
        tlx.supported_ops("cuda:75")
