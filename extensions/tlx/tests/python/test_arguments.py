"""Arguments of a kind that an op cannot take: each is an error of the op that names the argument."""

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

SIGNATURE = "x=*fp32:16, y=*fp16:16, desc=tensordesc<fp16[64, 64]>, n=i32"


@triton.jit
def wrong(x, y, desc, n, CASE: tl.constexpr):
    at = tl.arange(0, 128)
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    if CASE == "pred: barrier":
        tlx.barrier_wait(bars[0], 0, pred=bars[1])
    if CASE == "pred: text":
        tlx.barrier_arrive(bars[0], pred="yes")
    if CASE == "pred: pointer":
        tlx.barrier_arrive(bars[0], pred=x)
    if CASE == "phase: tuple":
        tlx.barrier_wait(bars[0], (0, 1))
    if CASE == "offsets: number":
        tlx.async_descriptor_load(desc, tiles[0], 0, bars[0])
    if CASE == "offsets: tensor":
        tlx.async_descriptor_store(desc, tiles[0], at)
    if CASE == "policy: tuple":
        tlx.async_descriptor_store(desc, tiles[0], [0, 0], (1, 2))
    if CASE == "use_acc: tensor":
        tlx.async_dot(tiles[0], tiles[1], acc, use_acc=at > 0)
    if CASE == "use_acc: pointers":
        tlx.async_dot(tiles[0], tiles[1], acc, use_acc=x + at)
    if CASE == "A: pointers":
        tlx.async_dot(x + o, tiles[1], acc)
    if CASE == "mBarriers: pointer":
        tlx.async_dot(tiles[0], tiles[1], acc, mBarriers=x)
    if CASE == "input_precision: tensor":
        tlx.async_dot(tiles[0], tiles[1], acc, input_precision=at)
    if CASE == "inp: pointers":
        tlx.async_dot_wait(0, x + at)
    if CASE == "pendings: huge":
        tlx.async_dot_wait(1 << 40, acc)
    if CASE == "num: huge":
        tlx.local_alloc((64, 64), tl.float16, 1 << 20)
    if CASE == "slot: huge":
        tlx.barrier_wait(bars[0], 0, pred=n > 0)
        tlx.async_descriptor_load(desc, tiles[0], [1 << 40, 0], bars[0])
    if CASE == "mask: text":
        tlx.async_load(y + o, tiles[0], mask="all")
    if CASE == "level: tensor":
        tlx.prefetch(x + at, level=at)
    if CASE == "base: number":
        tlx.make_tensor_descriptor(None, n, [64, 64], [64, 1], [64, 64])
    if CASE == "block_shape: number":
        tlx.make_tensor_descriptor(None, y, [64, 64], [64, 1], 64)
    if CASE == "dtype: tensor":
        tlx.get_fp8_format_name(at)
    if CASE == "shape: buffer":
        tlx.local_alloc(tiles, tl.float16, 1)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("pred: barrier", "an argument is no number\n  where: tlx.barrier_wait, argument pred"),
        ("pred: text", "an argument is no number\n  where: tlx.barrier_arrive, argument pred"),
        ("pred: pointer", "a condition is not a scalar\n  where: tlx.barrier_arrive, argument pred"),
        ("phase: tuple", "an argument has no such value\n  where: tlx.barrier_wait, argument phase"),
        ("offsets: number", "not a tuple of offsets\n  where: tlx.async_descriptor_load, argument offsets"),
        ("offsets: tensor", "not a tuple of offsets\n  where: tlx.async_descriptor_store, argument offsets"),
        ("policy: tuple", "no such value\n  where: tlx.async_descriptor_store, argument eviction_policy"),
        ("use_acc: tensor", "a condition is not a scalar\n  where: tlx.async_dot, argument use_acc"),
        ("use_acc: pointers", "a condition is not a scalar\n  where: tlx.async_dot, argument use_acc"),
        ("A: pointers", "the tensor cores do not take this type\n  where: tlx.async_dot, argument A"),
        ("mBarriers: pointer", "an argument is not supported\n  where: tlx.async_dot, argument mBarriers"),
        ("input_precision: tensor", "an unknown value\n  where: tlx.async_dot, argument input_precision"),
        ("inp: pointers", "pointers are no accumulator\n  where: tlx.async_dot_wait, argument inp"),
        ("pendings: huge", "an argument is too large\n  where: tlx.async_dot_wait, argument pendings"),
        ("num: huge", "the buffers are too large\n  where: tlx.local_alloc"),
        ("slot: huge", "an argument is out of range\n  where: tlx.async_descriptor_load, argument offsets"),
        ("mask: text", "an argument is no number\n  where: tlx.async_load, argument mask"),
        ("level: tensor", "an argument has an unknown value\n  where: tlx.prefetch, argument level"),
        ("base: number", "an argument is not a pointer\n  where: tlx.make_tensor_descriptor, argument base"),
        ("block_shape: number", "not a tuple\n  where: tlx.make_tensor_descriptor, argument block_shape"),
        ("dtype: tensor", "the type has no such name\n  where: tlx.get_fp8_format_name, argument dtype"),
        ("shape: buffer", "an argument is not a tuple of constants\n  where: tlx.local_alloc, argument shape"),
    ],
)
def test_what_is_refused(refused, case, text):
    assert text in refused(wrong, SIGNATURE, CASE=case)


@triton.jit
def wrong_on_amd(x, y, CASE: tl.constexpr):
    at = tl.arange(0, 256)
    if CASE == "stored_value":
        tlx.buffer_store(x + at, y, at)
    if CASE == "mask":
        tlx.buffer_load(x, at, mask="all")
    if CASE == "other":
        tlx.buffer_load(x, at, mask=at < 3, other="none")


@pytest.mark.parametrize("case", ["stored_value", "mask", "other"])
def test_what_is_refused_on_amd(refused, case):
    assert f"argument {case}" in refused(wrong_on_amd, "x=*fp32:16, y=*fp32:16", "hip:gfx950", CASE=case)
