"""Copies of tiles by tensor descriptors (TMA)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.language.core import (
    base_type,
    base_value,
    builtin,
    tensor_descriptor_base,
    tensor_descriptor_base_type,
)

from tritonext.language import typed_builder

from ._arguments import bounded, choice, coordinates, predicate
from .barrier import require_barrier
from .cluster import remote_blocks, remote_rank
from .definition import BLACKWELL, NVIDIA_TMA, constant, integers, op, refuse, scalar, shown
from .types import buffered_tensor, require_buffer

__all__ = [
    "allocate_tensor_descriptor",
    "async_descriptor_load",
    "async_descriptor_prefetch_tensor",
    "async_descriptor_store",
    "async_descriptor_store_wait",
    "make_tensor_descriptor",
    "reinterpret_tensor_descriptor",
    "tensor_descriptor_ptr",
]

# Values of the enumerations EvictionPolicy and DescriptorReduceKind of Triton.
_EVICTION = {"": 1, "evict_first": 2, "evict_last": 3}
# PTX ISA, tensor copies: dimensions of a tensor, and bytes of a row of a tile.
_MOST_DIMENSIONS = 5
_LEAST_ROW = 16
_REDUCTION = {"": -1, "add": 1, "min": 2, "max": 3, "and": 6, "or": 7, "xor": 8}


def _descriptor(name: str, desc: Any) -> None:
    if not isinstance(desc, tensor_descriptor_base):
        found = shown(desc)
        raise refuse(name, "an argument is not a descriptor", "desc", expected="a tensor descriptor", found=found)


def _tile(name: str, argument: str, desc: Any, value: Any) -> buffered_tensor:
    """Return the buffer of a copy, which has to be like a block of its descriptor.

    Raises:
        UserError: It is not, or there is no descriptor or buffer.
    """
    _descriptor(name, desc)
    buffer = require_buffer(name, argument, value, slots=False)
    block = [constant(size) for size in desc.block_shape]
    if buffer.type.shape != block or buffer.dtype != desc.dtype:
        raise refuse(
            name,
            "the buffer is not like a block of the descriptor",
            argument,
            expected=f"{tuple(block)} of {desc.dtype}",
            found=f"{tuple(buffer.type.shape)} of {buffer.dtype}",
        )
    layout = buffer.type.layout
    if not isinstance(layout, NVMMASharedLayout) or layout.transposed:
        raise refuse(
            name,
            "the buffer has no layout that TMA writes",
            argument,
            expected="an NVMMASharedLayout that is not transposed",
            found=layout,
            hint="leave out the layout of tlx.local_alloc, and make each row at least 32 bytes",
        )
    row = block[-1] * desc.dtype.primitive_bitwidth // 8
    if row < layout.swizzle_byte_width:
        # CUDA driver API, cuTensorMapEncodeTiled: rows of a box lie behind one another, whatever they are a part of.
        raise refuse(
            name,
            "a row of the slice is narrower than the swizzle of its buffer",
            argument,
            expected=f"rows of at least {layout.swizzle_byte_width} bytes",
            found=f"{row} bytes",
            hint="cut the buffer along its rows, or give it a layout with a narrower swizzle",
        )
    return buffer


@op(targets=NVIDIA_TMA, arguments={"two_ctas": BLACKWELL})
def async_descriptor_load(
    desc: Any,
    result: Any,
    offsets: Any,
    barrier: Any,
    pred: Any = None,
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    multicast_targets: Any = (),
    two_ctas: Any = False,
    _semantic: Any = None,
) -> None:
    """Start the copy of a tile into a buffer. A barrier that was told of its bytes completes when they have come.

    Elements outside of the tensor are zero.

    Args:
        desc: Tensor descriptor, of the host or of ``tl.make_tensor_descriptor``.
        result: One slot, like a block of the descriptor.
        offsets: Where the tile starts, one integer for each dimension.
        barrier: The barrier that gets the bytes, announced by :func:`barrier_expect_bytes`.
        pred: Condition; does nothing when false.
        cache_modifier: Only ``""``: the instruction has none.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``, of the lines in the L2 cache.
        multicast_targets: Ranks of the blocks of the cluster that get the tile, a tuple of integers; none for the own
            block alone. Each gets it in the same place, with its bytes at the same barrier, and so has to be ready.
        two_ctas: Whether the bytes go to the barrier at this place of the pair's block of even rank, for a product of
            two blocks; on Blackwell.

    Raises:
        UserError: An argument is of the wrong kind or not supported, a constant rank is out of range or there twice, or
            the kernel has no clusters.
    """
    name = "async_descriptor_load"
    buffer = _tile(name, "result", desc, result)
    signalled = require_barrier(name, "barrier", barrier)
    choice(name, "cache_modifier", cache_modifier, ("",))
    eviction = _EVICTION[choice(name, "eviction_policy", eviction_policy, tuple(_EVICTION))]
    targets = _targets(name, multicast_targets, _semantic)
    pair = choice(name, "two_ctas", two_ctas, (False, True))
    if pair:
        remote_blocks(name, _semantic)
    start = coordinates(name, offsets, len(desc.block_shape), _semantic)
    condition = predicate(name, pred, _semantic)
    builder = _semantic.builder
    how = [builder.get_int32(eviction), targets, builder.get_int32(int(pair))]
    builder.create_tlx_async_descriptor_load([desc.handle, buffer.handle, signalled.handle, condition, *how, *start])


def _targets(name: str, value: Any, semantic: Any) -> Any:
    """Return the mask of the blocks that get a tile, the constant 0 for the own one alone."""
    argument = "multicast_targets"
    ranks = constant(value)
    if ranks is None or isinstance(ranks, tl.tensor) or not isinstance(ranks, Iterable):
        if ranks is None:
            return semantic.builder.get_int32(0)
        raise refuse(name, "an argument is not a tuple of ranks", argument, expected="such as (0, 1)", found=ranks)
    ranks = [constant(rank) for rank in ranks]
    known = [rank for rank in ranks if isinstance(rank, int)]
    if len(set(known)) < len(known):
        raise refuse(name, "a block is there twice", argument, expected="each block once", found=tuple(known))
    mask = semantic.to_tensor(0)
    for rank in ranks:
        place = remote_rank(name, argument, rank, semantic)
        mask = semantic.or_(mask, semantic.shl(semantic.to_tensor(1), place))
    return mask.handle


@op(targets=NVIDIA_TMA)
def async_descriptor_store(
    desc: Any, source: Any, offsets: Any, eviction_policy: Any = "", store_reduce: Any = "", _semantic: Any = None
) -> None:
    """Start the copy of a buffer to a tile, or its reduction into one.

    A buffer that :func:`local_store` filled needs :func:`fence_async_shared` before this, and
    :func:`async_descriptor_store_wait` before it is filled again. Elements outside of the tensor stay as they are.

    Args:
        desc: Tensor descriptor, of the host or of ``tl.make_tensor_descriptor``.
        source: One slot, like a block of the descriptor.
        offsets: Where the tile starts, one integer for each dimension.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``, of the lines in the L2 cache. Reductions take
            only ``""``.
        store_reduce: ``""`` to copy; ``"add"``, ``"min"``, ``"max"``, ``"and"``, ``"or"`` or ``"xor"`` to reduce each
            element atomically.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "async_descriptor_store"
    buffer = _tile(name, "source", desc, source)
    reduction = choice(name, "store_reduce", store_reduce, tuple(_REDUCTION))
    _check_reduction(name, reduction, desc.dtype)
    eviction = choice(name, "eviction_policy", eviction_policy, ("",) if reduction else tuple(_EVICTION))
    start = coordinates(name, offsets, len(desc.block_shape), _semantic)
    builder = _semantic.builder
    kinds = [builder.get_int32(_EVICTION[eviction]), builder.get_int32(_REDUCTION[reduction])]
    builder.create_tlx_async_descriptor_store([desc.handle, buffer.handle, *kinds, *start])


def _check_reduction(name: str, reduction: str, dtype: tl.dtype) -> None:
    """Refuse element types that the copy engine cannot reduce: PTX ISA, cp.reduce.async.bulk.tensor."""
    integers = (tl.int32, tl.uint32, tl.int64, tl.uint64)
    halves = (tl.float16, tl.bfloat16)
    allowed = {
        "": None,
        "add": (tl.int32, tl.uint32, tl.uint64, tl.float32, *halves),
        "min": (*integers, *halves),
        "max": (*integers, *halves),
        "and": integers,
        "or": integers,
        "xor": integers,
    }[reduction]
    if allowed is not None and dtype not in allowed:
        expected = ", ".join(map(str, allowed))
        raise refuse(name, f"elements have no atomic {reduction!r}", "store_reduce", expected=expected, found=dtype)


@op(targets=NVIDIA_TMA)
def async_descriptor_prefetch_tensor(
    desc: Any, offsets: Any, pred: Any = None, eviction_policy: Any = "", _semantic: Any = None
) -> None:
    """Start loading a tile into the L2 cache.

    Args:
        desc: Tensor descriptor, of the host or of ``tl.make_tensor_descriptor``.
        offsets: Where the tile starts, one integer for each dimension.
        pred: Condition; does nothing when false.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``, of the lines in the L2 cache.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "async_descriptor_prefetch_tensor"
    _descriptor(name, desc)
    # In the order of lib/IR/AsyncBuilders.cpp.
    policies = ("", "evict_first", "evict_last")
    policy = policies.index(choice(name, "eviction_policy", eviction_policy, policies))
    start = coordinates(name, offsets, len(desc.block_shape), _semantic)
    condition = predicate(name, pred, _semantic)
    builder = _semantic.builder
    builder.create_tlx_async_descriptor_prefetch([desc.handle, condition, builder.get_int32(policy), *start])


@op(targets=NVIDIA_TMA)
def async_descriptor_store_wait(pendings: Any, read_only: Any = True, _semantic: Any = None) -> None:
    """Wait until at most so many stores are left, of those that the same warps started.

    Args:
        pendings: How many may be left, a constant; 0 waits for all.
        read_only: Whether to wait only until the others have read their buffers, and not until their writes to global
            memory can be seen too.

    Raises:
        UserError: An argument is no constant, or out of range.
    """
    name = "async_descriptor_store_wait"
    count = bounded(name, "pendings", pendings, 0, 63)
    typed_builder(_semantic).create_async_tma_store_wait(count, choice(name, "read_only", read_only, (True, False)))


# PTX ISA, tensormap: an object of 128 bytes.
_DESCRIPTOR_BYTES = 128


class tensor_descriptor_ptr_type(base_type):
    """Type of memory for ``num`` descriptors, or for one when ``num`` is 0."""

    def __init__(self, num: int) -> None:
        self.num = num

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_ptr_type) and self.num == other.num

    def __hash__(self) -> int:
        return hash((tensor_descriptor_ptr_type, self.num))

    def __str__(self) -> str:
        return f"tensor_descriptor_ptr<{self.num or ''}>"

    def mangle(self) -> str:
        return f"TLXD{self.num}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(tl.pointer_type(tl.int8).to_ir(builder))

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[tensor_descriptor_ptr, int]:
        return tensor_descriptor_ptr(handles[cursor], self), cursor + 1


class tensor_descriptor_ptr(base_value):
    """Memory for descriptors, made by :func:`allocate_tensor_descriptor`; ``memory[i]`` is that of one."""

    def __init__(self, handle: Any, type: tensor_descriptor_ptr_type) -> None:
        self.handle = handle
        self.type = type

    def __str__(self) -> str:
        return str(self.type)

    @builtin
    def __getitem__(self, index: Any, _semantic: Any = None) -> tensor_descriptor_ptr:
        name = "tensor_descriptor_ptr"
        if not self.type.num:
            raise refuse(name, "the argument is memory of one descriptor already", expected="memory of several")
        at = constant(index)
        if isinstance(at, int) and not 0 <= at < self.type.num:
            expected = f"0 to {self.type.num - 1}"
            raise refuse(name, "the descriptor is out of range", "index", expected=expected, found=at)
        number = scalar(name, "index", at, _semantic).handle
        builder = _semantic.builder
        offset = builder.create_mul(number, builder.get_int32(_DESCRIPTOR_BYTES))
        pointer = builder.create_addptr(self.handle, offset)
        return tensor_descriptor_ptr(pointer, tensor_descriptor_ptr_type(0))

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))


def _slot(name: str, value: Any) -> tensor_descriptor_ptr:
    if not isinstance(value, tensor_descriptor_ptr):
        found = shown(value)
        raise refuse(
            name,
            "an argument is no memory of a descriptor",
            "desc_ptr",
            expected="what tlx.allocate_tensor_descriptor returned",
            found=found,
        )
    if value.type.num > 1:
        raise refuse(
            name, "an argument is memory of several descriptors", "desc_ptr", expected="one of it, as in memory[0]"
        )
    return value


@op(targets=NVIDIA_TMA)
def allocate_tensor_descriptor(num: Any, _semantic: Any = None) -> tensor_descriptor_ptr:
    """Take global memory, of the program alone, for descriptors that the kernel makes.

    :func:`make_tensor_descriptor` makes one there, and :func:`reinterpret_tensor_descriptor` uses it, also in another
    task behind a barrier, or in another iteration of a loop. All that are made in it are used with buffers of one
    layout.

    Args:
        num: Of how many, a constant; ``memory[i]`` is that of one.

    Raises:
        UserError: ``num`` is no constant, or out of range.
    """
    count = bounded("allocate_tensor_descriptor", "num", num, 1, 1 << 16)
    builder = _semantic.builder
    memory = builder.create_tlx_descriptor_memory([builder.get_int32(count * _DESCRIPTOR_BYTES)])
    return tensor_descriptor_ptr(memory, tensor_descriptor_ptr_type(count))


def _block(name: str, given: Any, element: tl.dtype) -> list[int]:
    """Return the shape of the tiles of a descriptor.

    Raises:
        UserError: No descriptor has such tiles: PTX ISA, tensor copies; Triton, shapes of tensors.
    """
    argument = "block_shape"
    sizes = integers(name, argument, given)
    if not 1 <= len(sizes) <= _MOST_DIMENSIONS:
        raise refuse(
            name,
            "a descriptor has no such number of dimensions",
            argument,
            expected=f"1 to {_MOST_DIMENSIONS} sizes, such as (64, 64)",
            found=tuple(sizes),
        )
    if any(size < 1 or size & (size - 1) for size in sizes):
        raise refuse(name, "a size is no power of two", argument, expected="such as (64, 64)", found=tuple(sizes))
    row = sizes[-1] * element.primitive_bitwidth // 8
    if row < _LEAST_ROW:
        raise refuse(
            name,
            "the rows of a tile are too short",
            argument,
            expected=f"at least {_LEAST_ROW} bytes",
            found=f"{row}, of {tuple(sizes)} of {element}",
        )
    return sizes


@op(targets=NVIDIA_TMA)
def reinterpret_tensor_descriptor(desc_ptr: Any, block_shape: Any, dtype: Any, _semantic: Any = None) -> Any:
    """Return the descriptor that was made in memory, for asynchronous copies.

    Args:
        desc_ptr: Memory of one descriptor.
        block_shape: Shape of its tiles, constants.
        dtype: Type of its elements.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "reinterpret_tensor_descriptor"
    slot = _slot(name, constant(desc_ptr))
    element = constant(dtype)
    if not isinstance(element, tl.dtype):
        raise refuse(name, "an argument is no type", "dtype", expected="such as tl.float16", found=repr(element))
    block = tl.block_type(element, _block(name, block_shape, element))
    types: list[Any] = []
    kind = tensor_descriptor_base_type(block)
    kind._flatten_ir_types(_semantic.builder, types)
    carrier = _semantic.builder.create_poison(types[0])
    return kind._unflatten_ir([_semantic.builder.create_tlx_load_descriptor([slot.handle, carrier])], 0)[0]


@op(targets=NVIDIA_TMA)
def make_tensor_descriptor(
    desc_ptr: Any,
    base: Any,
    shape: Any,
    strides: Any,
    block_shape: Any,
    padding_option: Any = "zero",
    _semantic: Any = None,
) -> Any:
    """Make a tensor descriptor in the kernel.

    ``tl.make_tensor_descriptor`` does the same without ``desc_ptr``.

    Args:
        desc_ptr: Where to keep it too, memory of one descriptor; None for no such place.
        base: Pointer to the tensor, divisible by 16.
        shape: Sizes of the tensor.
        strides: Distances of the elements in each dimension, the last one 1 and the others multiples of 16 bytes.
        block_shape: Shape of the tiles, constants; a row has at least 16 bytes.
        padding_option: ``"zero"`` or ``"nan"``, what is loaded from outside of the tensor.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "make_tensor_descriptor"
    place = constant(desc_ptr)
    slot = None if place is None else _slot(name, place)
    if not isinstance(base, tl.tensor) or base.type.is_block() or not base.dtype.is_ptr():
        found = getattr(base, "type", base)
        raise refuse(name, "an argument is not a pointer", "base", expected="one pointer", found=found)
    for argument, value in (("shape", shape), ("strides", strides), ("block_shape", block_shape)):
        if not isinstance(constant(value), tuple | list | tl.tuple):
            found = getattr(value, "type", value)
            raise refuse(name, "an argument is not a tuple", argument, expected="such as (64, 64)", found=found)
    sizes = _block(name, block_shape, base.dtype.element_ty)
    for argument, value in (("shape", shape), ("strides", strides)):
        if len(constant(value)) != len(sizes):
            raise refuse(
                name,
                "a tensor has another number of dimensions than its tiles",
                argument,
                expected=f"{len(sizes)}, as of block_shape",
                found=len(constant(value)),
            )
    last = constant(constant(strides)[-1])
    if not isinstance(last, int) or last != 1:
        raise refuse(
            name,
            "the last dimension is not contiguous",
            "strides",
            expected="the constant 1 at its end",
            found=shown(last),
        )
    choice(name, "padding_option", padding_option, ("zero", "nan"))
    made = tl.make_tensor_descriptor(base, shape, strides, block_shape, padding_option, _semantic=_semantic)
    if slot is not None:
        _semantic.builder.create_tlx_store_descriptor([made.handle, slot.handle])
    return made
