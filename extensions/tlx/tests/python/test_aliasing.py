"""Buffers that share memory: where their slots lie, code for every target, and overlaps that cannot be."""

import re

import pytest
import triton
import triton.language as tl

from tritonext.errors import KernelError
from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

SIGNATURE = "x=*fp16:16, y=*fp32:16, n=i32"


@triton.jit
def offsets(ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]


@triton.jit
def from_the_start(x, y, n):
    """Both buffers start where the memory does."""
    o = offsets(64, 64)
    spec = tlx.storage_alias_spec()
    halves = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    words = tlx.local_alloc((64, 64), tl.float32, 3, reuse=spec)
    tlx.local_store(halves[n], tl.load(x + o))
    value = tlx.local_load(halves[n])
    tlx.local_store(words[0], value.to(tl.float32))
    tl.store(y + o, tlx.local_load(words[0]))


@pytest.mark.parametrize("target", TARGETS)
def test_buffers_share_one_allocation(compiled, target):
    result = compiled(from_the_start, SIGNATURE, target)
    text = result.asm["ttir"]
    assert "tlx." not in text
    assert text.count("ttg.local_alloc") == 1
    memory = re.search(r"(%\w+) = ttg.local_alloc .*memdesc<3072x16xi8", text)[1]
    assert text.count(f"ttg.memdesc_reinterpret {memory} :") == 2
    assert result.metadata.shared == 3 * 64 * 64 * 4


@pytest.mark.parametrize("target", TARGETS)
def test_accesses_to_shared_memory_are_ordered(compiled, target):
    """The compiler sees that the buffers are one memory: between the load of one and the store to the other."""
    result = compiled(from_the_start, SIGNATURE, target)
    code, barrier = ("ptx", "bar.sync") if target.startswith("cuda") else ("amdgcn", "s_barrier")
    assert result.asm[code].count(barrier) == 3


@triton.jit
def by_slots(x, y, n):
    """Slots of one number share, those of others do not: fp32 and fp16 slots lie 16384 bytes apart."""
    o = offsets(64, 64)
    spec = tlx.storage_alias_spec()
    words = tlx.local_alloc((64, 64), tl.float32, 2, reuse=spec)
    halves = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(words, halves))
    tlx.local_store(halves[0], tl.load(x + o))
    tlx.local_store(halves[1], tl.load(x + 4096 + o))
    tl.store(y + o, (tlx.local_load(halves[n]) + tlx.local_load(halves[1])).to(tl.float32))
    tlx.local_store(words[1], tl.load(y + o))
    tl.store(y + o, tlx.local_load(words[n]))


@pytest.mark.parametrize("target", TARGETS)
def test_slots_of_one_number_share(compiled, target):
    result = compiled(by_slots, SIGNATURE, target)
    text = result.asm["ttir"]
    assert result.metadata.shared == 2 * 64 * 64 * 4
    # Slots 0 and 1 of the halves are slots 0 and 2 of a view, and slot n is 2 n.
    views = dict(re.findall(r"(%\w+) = ttg.memdesc_reinterpret .* -> !ttg.memdesc<(\w+), ", text))
    (halves,) = (name for name, shape in views.items() if shape == "3x64x64xf16")
    (words,) = (name for name, shape in views.items() if shape == "2x64x64xf32")
    constants = dict(re.findall(r"(%\w+) = arith.constant (\d+) : i32", text))
    slots = re.findall(rf"ttg.memdesc_index {halves}\[(%\w+)\]", text)
    assert {"0", "2"} <= {constants.get(slot) for slot in slots}
    assert re.findall(rf"ttg.memdesc_index {words}\[(%\w+)\]", text)[-1] == "%n"
    assert re.search(r"arith.muli", text)


@triton.jit
def nested(x, y, n):
    """As in attention: scores over pieces of probabilities and a row of numbers beside them."""
    spec = tlx.storage_alias_spec(buffer_size_bytes=40000)
    row = tlx.local_alloc((64,), tl.float32, 2, reuse=spec)
    scores = tlx.local_alloc((64, 64), tl.float32, 2, reuse=spec)
    pieces = tlx.local_alloc((64, 32), tl.float16, 4, reuse=spec)
    inner = tlx.reuse_group(row, tlx.reuse_group(pieces, group_size=2), group_type=tlx.reuse_group_type.distinct)
    spec.set_buffer_overlap(tlx.reuse_group(scores, inner))
    tlx.local_store(row[1], tl.load(y + tl.arange(0, 64)))
    tlx.local_store(pieces[3], tl.load(x + offsets(64, 32)))
    tlx.local_store(pieces[n], tl.load(x + offsets(64, 32)))
    tl.store(y + tl.arange(0, 64), tlx.local_load(row[n]))
    tl.store(y + offsets(64, 32), tlx.local_load(pieces[n]).to(tl.float32))


def test_groups_are_laid_out_inside_of_groups(compiled):
    text = compiled(nested, SIGNATURE).asm["ttir"]
    assert re.search(r"ttg.local_alloc \{alignment = 1024 : i32\} .*memdesc<2500x16xi8", text)
    constants = dict(re.findall(r"(%\w+) = arith.constant (\d+) : i32", text))
    views = {
        shape: name for name, shape in re.findall(r"(%\w+) = ttg.memdesc_reinterpret .* -> !ttg.memdesc<(\w+), ", text)
    }
    # Slot 3 is the second piece of the second group, which lies 16384 bytes or 4 pieces on.
    assert constants[re.search(rf"ttg.memdesc_index {views['6x64x32xf16']}\[(%\w+)\]", text)[1]] == "5"
    # Row 1 lies behind the 8192 bytes of the pieces of its group: (16384 + 8192) / 256.
    assert constants[re.search(rf"ttg.memdesc_index {views['97x64xf32']}\[(%\w+)\]", text)[1]] == "96"


@triton.jit
def in_tasks(x, y, n):
    spec = tlx.storage_alias_spec()
    words = tlx.local_alloc((64, 64), tl.float32, 2, reuse=spec)
    halves = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(words, halves))
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            tl.store(y + offsets(64, 64), tlx.local_load(halves[1]).to(tl.float32))
        with tlx.async_task(num_warps=4):
            tlx.local_store(halves[1], tl.load(x + offsets(64, 64)))
            tlx.barrier_arrive(full[0])


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_tasks_index_slots_that_lie_apart(compiled, target):
    text = compiled(in_tasks, SIGNATURE, target).asm["ttir"]
    assert len(re.findall(r"ttg.memdesc_index .*memdesc<3x64x64xf16", text)) == 2
    assert "memdesc<2x64x64xf16" not in text


@triton.jit
def twice(x, y, n):
    """A helper that allocates: each call has memory of its own."""
    return both(x, y) + both(x + 4096, y)


@triton.jit
def both(x, y):
    spec = tlx.storage_alias_spec()
    first = tlx.local_alloc((64, 64), tl.float16, reuse=spec)
    second = helper(spec)
    tlx.local_store(first[0], tl.load(x + offsets(64, 64)))
    value = tlx.local_load(first[0])
    tlx.local_store(second[0], tl.load(y + offsets(64, 32)))
    return value + tl.sum(tlx.local_load(second[0])).to(tl.float16)


@triton.jit
def helper(spec):
    return tlx.local_alloc((64, 32), tl.float32, reuse=spec)


@triton.jit
def of_a_helper(x, y, n):
    tl.store(x + offsets(64, 64), twice(x, y, n))


def test_each_call_has_memory_of_its_own(compiled):
    assert compiled(of_a_helper, SIGNATURE).asm["ttir"].count("ttg.local_alloc") == 2


@triton.jit
def wrong(x, y, n, WHAT: tl.constexpr):
    spec = tlx.storage_alias_spec(buffer_size_bytes=10000 if WHAT == "size" else None)
    words = tlx.local_alloc((64, 64), tl.float32, 2, reuse=spec)
    halves = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    other = tlx.local_alloc((64, 64), tl.float16, 2)
    three = tlx.local_alloc((64,), tl.float16, 3)
    if WHAT == "target":
        tlx.storage_alias_spec(tlx.storage_kind.tmem)
    if WHAT == "storage":
        tlx.storage_alias_spec("smem")
    if WHAT == "no size":
        tlx.storage_alias_spec(buffer_size_bytes=0)
    if WHAT == "no group":
        spec.set_buffer_overlap(words)
    if WHAT == "empty":
        tlx.reuse_group()
    if WHAT == "member":
        tlx.reuse_group(words, n)
    if WHAT == "slot":
        tlx.reuse_group(words[0])
    if WHAT == "type":
        tlx.reuse_group(words, group_type="shared")
    if WHAT == "group size":
        spec.set_buffer_overlap(tlx.reuse_group(words, three, group_size=2))
    if WHAT == "counts":
        spec.set_buffer_overlap(tlx.reuse_group(words, three))
    if WHAT == "twice":
        spec.set_buffer_overlap(tlx.reuse_group(words, tlx.reuse_group(halves, words)))
    if WHAT == "foreign":
        spec.set_buffer_overlap(tlx.reuse_group(words, halves, other))
    if WHAT == "left out":
        spec.set_buffer_overlap(tlx.reuse_group(words))
    if WHAT == "again":
        spec.set_buffer_overlap(tlx.reuse_group(words, halves))
        spec.set_buffer_overlap(tlx.reuse_group(words, halves))
    if WHAT == "carried":
        spec.set_buffer_overlap(tlx.reuse_group(words, halves))
        chosen = other
        if n > 3:
            chosen = halves
        tlx.local_store(chosen[0], tl.load(x + offsets(64, 64)))


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("target", "the target has no tensor memory\n  where: tlx.storage_alias_spec, argument storage"),
        ("storage", "an argument has no such value\n  where: tlx.storage_alias_spec, argument storage"),
        ("no size", "an argument is too small\n  where: tlx.storage_alias_spec, argument buffer_size_bytes"),
        ("no group", "an argument is not a group\n  where: tlx.storage_alias_spec.set_buffer_overlap"),
        ("empty", "a group is empty\n  where: tlx.reuse_group"),
        ("member", "an argument is not a buffer\n  where: tlx.reuse_group, argument args"),
        ("slot", "the buffer is one slot already\n  where: tlx.reuse_group, argument args"),
        ("type", "an argument is no type of groups\n  where: tlx.reuse_group, argument group_type"),
        ("group size", "the slots do not fill groups\n  where: tlx.storage_alias_spec.set_buffer_overlap"),
        ("counts", "the buffers have different numbers of slots\n  where: tlx.storage_alias_spec.set_buffer_overlap"),
        ("twice", "a buffer is in the group twice\n  where: tlx.storage_alias_spec.set_buffer_overlap"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, SIGNATURE, WHAT=what)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("size", "expected buffer_size_bytes of 32768 or more, which the buffers need, got 10000"),
        ("foreign", "expected a buffer that reuses this storage_alias_spec, got one with memory of its own"),
        ("left out", "expected an overlap of all buffers of the storage_alias_spec, got one without a place"),
        ("again", "expected one overlap for a storage_alias_spec, got a second one"),
        ("carried", "expected a buffer whose slots lie apart to be indexed where it is allocated or in a task"),
    ],
)
def test_what_the_pass_refuses(compiled, what, text):
    with pytest.raises(KernelError) as caught:
        compiled(wrong, SIGNATURE, WHAT=what)
    message = str(caught.value)
    assert text in message
    assert "test_aliasing.py" in message


# --- tensor memory ---------------------------------------------------------------------------------------------------


@triton.jit
def scores_and_weights(x, y, n, SIZE: tl.constexpr):
    """As in attention on Blackwell: scores of 128 columns, over weights of 64 and numbers of 1."""
    tmem: tl.constexpr = tlx.storage_kind.tmem
    spec = tlx.storage_alias_spec(tmem, SIZE)
    scores = tlx.local_alloc((128, 128), tl.float32, 2, tmem, reuse=spec)
    weights = tlx.local_alloc((128, 64), tl.float16, 4, tmem, reuse=spec)
    factors = tlx.local_alloc((128, 1), tl.float32, 2, tmem, reuse=spec)
    sums = tlx.local_alloc((128, 1), tl.float32, 2, tmem, reuse=spec)
    inner = tlx.reuse_group(
        tlx.reuse_group(weights, group_size=2), factors, sums, group_type=tlx.reuse_group_type.distinct
    )
    spec.set_buffer_overlap(tlx.reuse_group(scores, inner))
    square, half, column = offsets(128, 128), offsets(128, 64), offsets(128, 1)
    tlx.local_store(scores[1], tl.load(y + square))
    tl.store(y + square, tlx.local_load(scores[1]))
    tlx.local_store(weights[3], tl.load(x + half))
    tlx.local_store(factors[1], tl.load(y + column))
    tlx.local_store(sums[n], tl.load(y + 128 + column))
    tl.store(x + half, tlx.local_load(weights[3]))
    tl.store(y + column, tlx.local_load(factors[1]) + tlx.local_load(sums[n]))


@pytest.mark.parametrize("size", [None, 384 * 128 * 4])
def test_buffers_share_tensor_memory(compiled, size):
    result = compiled(scores_and_weights, SIGNATURE, "cuda:100", SIZE=size)
    text = result.asm["ttir"]
    assert "tlx.alias" not in text
    assert text.count("ttng.tmem_alloc") == 1
    assert result.metadata.tmem_size == (512 if size else 256)
    views = {
        shape: name for name, shape in re.findall(r"(%\w+) = ttg.memdesc_reinterpret .* -> !ttg.memdesc<(\w+), ", text)
    }
    constants = dict(re.findall(r"(%\w+) = arith.constant (\d+) : i32", text))
    # Pairs of weights take 64 of 128 columns; factors and sums are columns 64 and 65, and 128 more.
    assert constants[re.search(rf"ttg.memdesc_index {views['6x128x64xf16']}\[(%\w+)\]", text)[1]] == "5"
    assert constants[re.search(rf"ttg.memdesc_index {views['193x128x1xf32']}\[(%\w+)\]", text)[1]] == "192"
    assert re.search(rf"ttg.memdesc_index {views['194x128x1xf32']}\[(%\w+)\]", text)[1] not in constants


def test_columns_of_slots_that_share(compiled):
    """Which columns the instructions access, behind the address of the allocation."""
    code = compiled(scores_and_weights, SIGNATURE, "cuda:100", SIZE=None).asm["ptx"]
    assert re.search(r"tcgen05\.alloc\S* \[\S+\], 256;", code)
    adds = {int(value) for value in re.findall(r"add\.s32 \s*%r\d+, %r\d+, (\d+);", code)}
    assert {128, 160, 192} <= adds, adds


@triton.jit
def wrong_in_tensor_memory(x, y, n, WHAT: tl.constexpr):
    tmem: tl.constexpr = tlx.storage_kind.tmem
    spec = tlx.storage_alias_spec(tmem, 1024 if WHAT == "size" else None)
    scores = tlx.local_alloc((128, 128), tl.float32, 2, tmem, reuse=spec)
    if WHAT == "shared memory":
        tlx.local_alloc((64, 64), tl.float32, reuse=spec)
    if WHAT == "tensor memory":
        tlx.local_alloc((128, 64), tl.float32, 1, tmem, reuse=tlx.storage_alias_spec())
    if WHAT == "scales":
        tlx.local_alloc((128, 4), tl.uint8, 1, tmem, reuse=spec)
    if WHAT == "foreign":
        spec.set_buffer_overlap(tlx.reuse_group(scores, tlx.local_alloc((64, 64), tl.float32, 2)))
    if WHAT == "too many":
        more = tlx.local_alloc((128, 256), tl.float32, 2, tmem, reuse=spec)
        spec.set_buffer_overlap(tlx.reuse_group(scores, more, group_type=tlx.reuse_group_type.distinct))
    if WHAT == "rows":
        tlx.local_alloc((64, 64), tl.float32, 1, tmem, reuse=spec)
    tl.store(y + offsets(128, 128), tlx.local_load(scores[0]))


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("shared memory", "the memory to reuse is another one\n  where: tlx.local_alloc, argument reuse"),
        ("tensor memory", "the memory to reuse is another one\n  where: tlx.local_alloc, argument reuse"),
        ("scales", "scales in tensor memory have no slots to place\n  where: tlx.local_alloc, argument reuse"),
        ("foreign", "a buffer of the group is in another memory\n  where: tlx.storage_alias_spec.set_buffer_overlap"),
        (
            "too many",
            "the buffers do not fit into tensor memory\n  where: tlx.storage_alias_spec.set_buffer_overlap",
        ),
    ],
)
def test_what_is_refused_in_tensor_memory(refused, what, text):
    assert text in refused(wrong_in_tensor_memory, SIGNATURE, "cuda:100", WHAT=what)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("size", "expected buffer_size_bytes of 131072 or more, which the buffers need, got 1024"),
        ("rows", "expected buffers of one number of rows in a storage_alias_spec, got another"),
    ],
)
def test_what_the_pass_refuses_in_tensor_memory(compiled, what, text):
    with pytest.raises(KernelError) as caught:
        compiled(wrong_in_tensor_memory, SIGNATURE, "cuda:100", WHAT=what)
    assert text in str(caught.value)
    assert "test_aliasing.py" in str(caught.value)
