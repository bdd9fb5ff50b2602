"""Buffers in shared memory: allocation, views without copies, loads and stores."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import (
    NVMMASharedLayout,
    PaddedSharedLayout,
    SharedLinearLayout,
    SwizzledSharedLayout,
)
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryScalesLayout

from tritonext.language import typed_builder

from . import tmem
from ._arguments import choice
from .aliasing import alias_spec
from .barrier import barrier_at, mbarrier
from .definition import AMD_ASYNC, BLACKWELL, constant, integer, integers, op, refuse, scalar, target_of, tensor
from .layouts import required
from .types import (
    alignment_of,
    async_token,
    buffered_tensor,
    buffered_tensor_type,
    default_layout,
    remote_buffer,
    require_buffer,
    storage_kind,
)

__all__ = [
    "local_alloc",
    "local_gather",
    "local_load",
    "local_reinterpret",
    "local_reshape",
    "local_scatter",
    "local_slice",
    "local_store",
    "local_trans",
    "local_view",
]

_LAYOUTS = (NVMMASharedLayout, PaddedSharedLayout, SharedLinearLayout, SwizzledSharedLayout)


def _wrap(handle: Any, dtype: tl.dtype, shape: list[int], num: int, layout: Any, alloc: list[int]) -> buffered_tensor:
    return buffered_tensor(handle, buffered_tensor_type(dtype, shape, num, layout, alloc, handle.get_type()))


def _descriptor(builder: Any, dtype: tl.dtype, shape: list[int], layout: Any, alloc: list[int]) -> Any:
    in_tensor_memory = isinstance(layout, tmem.LAYOUTS)
    make = builder.get_tensor_mem_desc_ty if in_tensor_memory else builder.get_shared_mem_desc_ty
    return make(dtype.to_ir(builder), shape, layout._to_ir(builder), alloc)


def _check_shape(name: str, argument: str, shape: list[int]) -> None:
    for size in shape:
        if size < 1 or size & (size - 1):
            raise refuse(name, "a size is not a power of two", argument, expected="such as 64", found=size)
    if not shape:
        raise refuse(name, "a shape is empty", argument, expected="such as (64, 64)", found="()")


def _check_dtype(name: str, value: Any) -> tl.dtype:
    dtype = constant(value)
    if not isinstance(dtype, tl.dtype) or dtype.primitive_bitwidth < 8:
        raise refuse(
            name, "an argument is not a type of whole bytes", "dtype", expected="such as tl.float16", found=dtype
        )
    return dtype


def _check_layout(name: str, value: Any, rank: int) -> Any:
    layout = constant(value)
    if not isinstance(layout, _LAYOUTS):
        raise refuse(
            name,
            "an argument is not a layout of shared memory",
            "layout",
            expected="a shared layout of triton.experimental.gluon.language",
            found=repr(layout),
        )
    own = layout.rank if isinstance(layout, NVMMASharedLayout) else len(getattr(layout, "order", ())) or rank
    if own != rank:
        raise refuse(name, "the layout has another rank than the shape", "layout", expected=rank, found=own)
    return layout


@op(values={"storage": ("tlx.storage_kind.tmem", BLACKWELL)})
def local_alloc(
    shape: Any,
    dtype: Any,
    num: Any = 1,
    storage: Any = storage_kind.smem,
    layout: Any = None,
    reuse: Any = None,
    _semantic: Any = None,
) -> buffered_tensor:
    """Allocate ``num`` equal buffers in shared memory, or in tensor memory on Blackwell.

    Their memory is theirs until their last use, and until asynchronous work with them has been waited for; other
    buffers and the compiler may have it then. Use ``buffer[i]`` to get one of them.

    Args:
        shape: Shape of one, a tuple of powers of two.
        dtype: Type of the elements.
        num: How many.
        storage: ``tlx.storage_kind.smem`` or ``tlx.storage_kind.tmem``. Tensor memory has buffers of 64 or 128 rows,
            of elements of 16 or 32 bits or of 8-bit floats; those of ``tl.int8`` and ``tl.uint8`` hold the scales of
            :func:`async_dot_scaled`.
        layout: A shared layout of ``triton.experimental.gluon.language``, or one for tensor memory of
            ``triton.experimental.gluon.language.nvidia.blackwell``; chosen from shape and type when None.
        reuse: Instead of new memory, that of a :func:`storage_alias_spec` of the same storage, which scales have none
            of, or of a buffer from its start. What is stored to one of the buffers overwrites the others.

    Raises:
        UserError: An argument is not a constant of the right kind.
    """
    name = "local_alloc"
    if (blocks := _semantic.builder.options.num_ctas) > 1:
        raise refuse(
            name, "a buffer belongs to one block, and num_ctas spreads tensors over a cluster", expected=1, found=blocks
        )
    sizes = integers(name, "shape", shape)
    _check_shape(name, "shape", sizes)
    element = _check_dtype(name, dtype)
    count = integer(name, "num", num, least=1)
    if (size := math.prod(sizes) * count * element.primitive_bitwidth // 8) >= 2**31:
        raise refuse(name, "the buffers are too large", expected="less than 2 GiB", found=f"{size} bytes")
    chosen = constant(layout)
    if choice(name, "storage", storage, tuple(storage_kind)) is storage_kind.tmem:
        chosen = tmem.layout_of(name, sizes, element, count, chosen, target_of(_semantic))
    elif chosen is None:
        chosen = default_layout(sizes, element, target_of(_semantic))
    else:
        chosen = _check_layout(name, chosen, len(sizes))
    builder = typed_builder(_semantic)
    # Stock has no scales in tensor memory with slots, so a view of the only one changes nothing.
    whole = sizes if isinstance(chosen, TensorMemoryScalesLayout) else [count, *sizes]
    descriptor = _descriptor(builder, element, whole, chosen, whole)
    base = constant(reuse)
    if isinstance(base, alias_spec):
        _check_spec(name, base, chosen)
        in_tensor_memory = base.storage is storage_kind.tmem
        handle = (
            builder.create_tmem_alloc(descriptor, None) if in_tensor_memory else builder.create_local_alloc(descriptor)
        )
        _semantic.builder.create_tlx_alias_storage([base.handle, handle])
    elif isinstance(chosen, tmem.LAYOUTS):
        handle = tmem.allocate(name, builder, descriptor, (sizes, element, count, chosen), base)
    elif base is None:
        handle = builder.create_local_alloc(descriptor)
    else:
        _check_reuse(name, base, math.prod(whole) * element.primitive_bitwidth // 8, chosen)
        handle = builder.create_memdesc_reinterpret(descriptor, base.handle)
    return _wrap(handle, element, sizes, count, chosen, sizes)


def _check_spec(name: str, spec: alias_spec, layout: Any) -> None:
    storage = storage_kind.tmem if isinstance(layout, tmem.LAYOUTS) else storage_kind.smem
    if spec.storage is not storage:
        raise refuse(
            name, "the memory to reuse is another one", "reuse", expected=f"a spec of {storage.value}", found=spec
        )
    if isinstance(layout, TensorMemoryScalesLayout):
        hint = "let the scales reuse a buffer"
        raise refuse(name, "scales in tensor memory have no slots to place", "reuse", found=spec, hint=hint)


def _check_reuse(name: str, base: Any, size: int, layout: Any) -> None:
    kind = require_buffer(name, "reuse", base).type
    _check_whole(name, kind)
    there = kind.slot_bytes * max(kind.num, 1)
    if size > there:
        raise refuse(name, "the buffer is too small to be reused", "reuse", expected=f"{size} bytes", found=there)
    _check_alignment(name, "reuse", kind, layout)


def _check_alignment(name: str, argument: str, kind: buffered_tensor_type, layout: Any) -> None:
    if (needed := alignment_of(layout)) > (there := alignment_of(kind.layout)):
        raise refuse(
            name,
            "the buffer is not aligned for the layout of the view",
            argument,
            expected=f"a multiple of {needed} bytes",
            found=there,
            hint="give the buffer the wider of both layouts, or the view a plain one",
        )


@op()
def local_view(local_allocated_buffers: Any, buffer_idx: Any, _semantic: Any = None) -> buffered_tensor | mbarrier:
    """Return one slot of a buffer, or one barrier of an array; ``buffer[index]`` is the same.

    Args:
        local_allocated_buffers: A buffer with slots, or an array of barriers.
        buffer_idx: Number of the slot, a constant or a scalar.

    Raises:
        UserError: A constant index is out of range, or an argument of the wrong kind.
    """
    name = "local_view"
    if isinstance(local_allocated_buffers, mbarrier):
        return barrier_at(local_allocated_buffers, buffer_idx, _semantic)
    kind = require_buffer(name, "local_allocated_buffers", local_allocated_buffers, slots=True, storage=None).type
    at = constant(buffer_idx)
    if isinstance(at, int) and not 0 <= at < kind.num:
        raise refuse(name, "the slot is out of range", "buffer_idx", expected=f"0 to {kind.num - 1}", found=at)
    number = scalar(name, "buffer_idx", buffer_idx, _semantic)
    if isinstance(kind.layout, TensorMemoryScalesLayout):
        return _wrap(local_allocated_buffers.handle, kind.element_ty, kind.shape, 0, kind.layout, kind.shape)
    builder = typed_builder(_semantic)
    result = _descriptor(builder, kind.element_ty, kind.shape, kind.layout, kind.shape)
    handle = builder.create_memdesc_index(result, local_allocated_buffers.handle, number.handle)
    return _wrap(handle, kind.element_ty, kind.shape, 0, kind.layout, kind.shape)


@op()
def local_slice(buffer: Any, offset: Any, shape: Any, _semantic: Any = None) -> buffered_tensor:
    """Return a part of a slot, of the same rank.

    Args:
        buffer: One slot.
        offset: Where the part starts in each dimension, constants that are multiples of ``shape``.
        shape: Shape of the part.

    Raises:
        UserError: The part leaves the slot, or an argument is of the wrong kind.
    """
    name = "local_slice"
    kind = require_buffer(name, "buffer", buffer, slots=False, storage=None).type
    offsets, sizes = integers(name, "offset", offset), integers(name, "shape", shape)
    _check_shape(name, "shape", sizes)
    for argument, values in (("offset", offsets), ("shape", sizes)):
        if len(values) != len(kind.shape):
            raise refuse(
                name,
                "an argument has another rank than the buffer",
                argument,
                expected=len(kind.shape),
                found=len(values),
            )
    for dimension, (start, size, whole) in enumerate(zip(offsets, sizes, kind.shape)):
        if start < 0 or start + size > whole:
            raise refuse(
                name,
                "the slice leaves the buffer",
                "offset",
                expected=f"0 to {whole - size} in dimension {dimension}",
                found=start,
            )
        if start % size:
            raise refuse(
                name,
                "the slice does not start at a multiple of its size",
                "offset",
                expected=f"a multiple of {size} in dimension {dimension}",
                found=start,
            )
    if kind.storage is storage_kind.tmem:
        if sizes[0] != kind.shape[0]:
            raise refuse(
                name, "tensor memory is sliced along its columns only", "shape", expected=kind.shape[0], found=sizes[0]
            )
        return tmem.columns(buffer, offsets[1], sizes[1], _semantic)
    builder = typed_builder(_semantic)
    result = _descriptor(builder, kind.element_ty, sizes, kind.layout, kind.alloc_shape)
    handle = builder.create_memdesc_subslice(result, buffer.handle, offsets)
    return _wrap(handle, kind.element_ty, sizes, 0, kind.layout, kind.alloc_shape)


@op()
def local_trans(input: Any, dims: Any = (1, 0), _semantic: Any = None) -> buffered_tensor:
    """Return a view of a slot with its dimensions permuted; no data moves.

    Args:
        input: One slot.
        dims: The dimension of ``input`` that becomes each dimension of the result.

    Raises:
        UserError: ``dims`` is no permutation, or the buffer has slots.
    """
    name = "local_trans"
    kind = require_buffer(name, "input", input, slots=False).type
    order = integers(name, "dims", dims)
    if sorted(order) != list(range(len(kind.shape))):
        raise refuse(
            name,
            "the dimensions are no permutation",
            "dims",
            expected=f"each of 0 to {len(kind.shape) - 1} once",
            found=tuple(order),
        )
    builder = typed_builder(_semantic)
    handle = builder.create_memdesc_trans(input.handle, order)
    layout = _permuted(kind.layout, order) or builder.get_gluon_layout_from_memdesc(handle)
    alloc = [kind.alloc_shape[dimension] for dimension in order]
    return _wrap(handle, kind.element_ty, [kind.shape[dimension] for dimension in order], 0, layout, alloc)


def _permuted(layout: Any, order: list[int]) -> Any:
    """Return the layout of a permuted view, or None for one that only the compiler knows.

    Asking the compiler makes it hold on to Python classes until the process ends, which it then reports as a leak.
    """
    if isinstance(layout, SwizzledSharedLayout):
        return dataclasses.replace(layout, order=[order.index(dimension) for dimension in layout.order])
    if isinstance(layout, NVMMASharedLayout) and order == [1, 0]:
        return dataclasses.replace(layout, transposed=not layout.transposed)
    return layout if order == sorted(order) else None


@op()
def local_reshape(buffer: Any, shape: Any, _semantic: Any = None) -> buffered_tensor:
    """Return a view of a slot with another shape over the same elements in the same order.

    Args:
        buffer: One slot, not a slice of one.
        shape: The new shape.

    Raises:
        UserError: The number of elements differs, or the buffer is a slice or has slots.
    """
    name = "local_reshape"
    kind = require_buffer(name, "buffer", buffer, slots=False).type
    sizes = integers(name, "shape", shape)
    _check_shape(name, "shape", sizes)
    _check_whole(name, kind)
    if math.prod(sizes) != math.prod(kind.shape):
        raise refuse(
            name,
            "the shapes have different numbers of elements",
            "shape",
            expected=math.prod(kind.shape),
            found=math.prod(sizes),
        )
    builder = typed_builder(_semantic)
    handle = builder.create_memdesc_reshape(buffer.handle, sizes)
    layout = builder.get_gluon_layout_from_memdesc(handle)
    return _wrap(handle, kind.element_ty, sizes, 0, layout, sizes)


@op()
def local_reinterpret(
    src: Any, dtype: Any, shape: Any = None, layout: Any = None, pin: Any = True, _semantic: Any = None
) -> buffered_tensor:
    """Return a view of the bytes of a slot as elements of another type or in another shape.

    Args:
        src: One slot, not a slice of one.
        dtype: The new type of the elements.
        shape: The new shape; that of ``src`` when None.
        layout: The new layout; chosen from shape and type when None.
        pin: Either value. No layout of a buffer is ever replaced by another one.

    Raises:
        UserError: The number of bytes differs, or the buffer is a slice or has slots.
    """
    name = "local_reinterpret"
    choice(name, "pin", pin, (True, False))
    kind = require_buffer(name, "src", src, slots=False, storage=None).type
    element = _check_dtype(name, dtype)
    sizes = list(kind.shape) if constant(shape) is None else integers(name, "shape", shape)
    _check_shape(name, "shape", sizes)
    _check_whole(name, kind)
    size = math.prod(sizes) * element.primitive_bitwidth // 8
    if size != kind.slot_bytes:
        raise refuse(
            name,
            "the view has another number of bytes than the buffer",
            expected=kind.slot_bytes,
            found=f"{size} of {element} in the shape {tuple(sizes)}",
        )
    chosen = constant(layout)
    if kind.storage is storage_kind.tmem:
        chosen = tmem.layout_of(name, sizes, element, 1, chosen, target_of(_semantic))
    elif chosen is None:
        chosen = default_layout(sizes, element, target_of(_semantic))
    else:
        chosen = _check_layout(name, chosen, len(sizes))
    if kind.storage is storage_kind.smem:
        _check_alignment(name, "src", kind, chosen)
    builder = typed_builder(_semantic)
    handle = builder.create_memdesc_reinterpret(_descriptor(builder, element, sizes, chosen, sizes), src.handle)
    return _wrap(handle, element, sizes, 0, chosen, sizes)


def _check_whole(name: str, kind: buffered_tensor_type) -> None:
    if kind.shape != kind.alloc_shape:
        raise refuse(
            name,
            "the buffer is a slice, whose elements are not contiguous",
            "buffer",
            expected=f"the whole slot of shape {tuple(kind.alloc_shape)}",
            found=kind,
        )


@op(arguments=dict.fromkeys(("rematerialize_coordinates", "rematerialize_coordinates_group"), ()))
def local_load(
    src: Any,
    token: Any = None,
    layout: Any = None,
    relaxed: Any = False,
    rematerialize_coordinates: Any = False,
    rematerialize_coordinates_group: Any = None,
    _semantic: Any = None,
) -> tl.tensor:
    """Load a slot, or a view of one, into registers. It waits for no asynchronous copy or product.

    Args:
        src: One slot, also one of :func:`remote_view`.
        token: A token of the wait that the load comes after, for readers of the kernel.
        layout: The layout of registers to load in, as of :func:`require_layout`; chosen by the compiler when None.
        relaxed: Whether a wait of the kernel covers the copy, so that the compiler adds none. It adds none anyhow, so
            both values mean the same.
        rematerialize_coordinates: Not supported: computing the addresses at the load anew.
        rematerialize_coordinates_group: Not supported: which loads do so together.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "local_load"
    choice(name, "relaxed", relaxed, (False, True))
    slot = src.local if isinstance(src, remote_buffer) else src
    kind = require_buffer(name, "src", slot, slots=False, storage=None).type
    _check_token(name, token)
    if kind.storage is storage_kind.tmem:
        value = tmem.load(name, slot, _semantic)
        return value if constant(layout) is None else required(name, value, layout, _semantic)
    result = tl.block_type(kind.element_ty, kind.shape)
    if isinstance(src, remote_buffer):
        value = tl.tensor(_semantic.builder.create_tlx_remote_load([slot.handle, src.rank.handle]), result)
        return value if constant(layout) is None else required(name, value, layout, _semantic)
    builder = typed_builder(_semantic)
    handle = builder.create_local_load(result.to_ir(builder), slot.handle)
    if target_of(_semantic) in AMD_ASYNC:
        # The kernel waits for copies itself; LLVM would wait for all of them in front of each load.
        handle.set_attr("ttg.amdg.syncedViaAsyncWait", builder.get_bool_attr(True))
    value = tl.tensor(handle, result)
    return value if constant(layout) is None else required(name, value, layout, _semantic)


def _check_token(name: str, value: Any) -> None:
    token = constant(value)
    if token is not None and not isinstance(token, async_token):
        raise refuse(
            name, "an argument is not a token", "token", expected="what an asynchronous op returned", found=token
        )


@op()
def local_store(dst: Any, src: Any, _semantic: Any = None) -> None:
    """Store a tensor to a slot, or a view of one.

    Args:
        dst: One slot, also one of :func:`remote_view`.
        src: A tensor of the same shape and type.

    Raises:
        UserError: Shape or type differ, or an argument is of the wrong kind.
    """
    name = "local_store"
    slot = dst.local if isinstance(dst, remote_buffer) else dst
    kind = require_buffer(name, "dst", slot, slots=False, storage=None).type
    check_like(name, "src", tensor(name, "src", src), kind.shape, kind.element_ty)
    if kind.storage is storage_kind.tmem:
        tmem.store(name, slot, src, _semantic)
    elif isinstance(dst, remote_buffer):
        _semantic.builder.create_tlx_remote_store([src.handle, slot.handle, dst.rank.handle])
    else:
        typed_builder(_semantic).create_local_store(slot.handle, src.handle)


def check_like(name: str, argument: str, value: tl.tensor, shape: list[int], dtype: tl.dtype) -> None:
    """Check shape and type of a tensor that goes into a buffer.

    Raises:
        UserError: One of them differs.
    """
    found = [int(size) for size in value.shape]
    if found != shape:
        raise refuse(name, "the shapes differ", argument, expected=tuple(shape), found=tuple(found))
    if value.dtype != dtype:
        raise refuse(
            name,
            "the types of the elements differ",
            argument,
            expected=dtype,
            found=value.dtype,
            hint=f"convert with .to(tl.{dtype_name(dtype)})",
        )


def dtype_name(dtype: tl.dtype) -> str:
    """Return the name a type has in ``triton.language``, such as ``float16``."""
    return next(
        (name for name, value in vars(tl).items() if isinstance(value, tl.dtype) and value == dtype), str(dtype)
    )


def _check_index(name: str, kind: buffered_tensor_type, index: Any, axis: Any) -> int:
    tensor(name, "index", index)
    at = integer(name, "axis", axis)
    if not 0 <= at < len(kind.shape):
        raise refuse(name, "the axis is out of range", "axis", expected=f"0 to {len(kind.shape) - 1}", found=at)
    if len(index.shape) != len(kind.shape):
        raise refuse(
            name,
            "the index has another rank than the buffer",
            "index",
            expected=len(kind.shape),
            found=len(index.shape),
        )
    if not index.dtype.is_int():
        raise refuse(
            name, "the index is no tensor of integers", "index", expected="such as tl.int32", found=index.dtype
        )
    return at


@op()
def local_gather(buffer: Any, index: Any, axis: Any, _semantic: Any = None) -> tl.tensor:
    """Load the elements of a slot that an index chooses along one dimension.

    Element ``[i, j]`` of the result is ``buffer[index[i, j], j]`` for axis 0. No index is checked.

    Args:
        buffer: One slot.
        index: A tensor of integers with the rank of the buffer; the result has its shape.
        axis: The dimension it replaces, a constant.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "local_gather"
    kind = require_buffer(name, "buffer", buffer, slots=False).type
    at = _check_index(name, kind, index, axis)
    builder = typed_builder(_semantic)
    result = tl.block_type(kind.element_ty, [int(size) for size in index.shape])
    return tl.tensor(builder.create_local_gather(result.to_ir(builder), buffer.handle, index.handle, at), result)


@op()
def local_scatter(buffer: Any, value: Any, index: Any, axis: Any, _semantic: Any = None) -> None:
    """Store elements to the places of a slot that an index chooses along one dimension.

    ``value[i, j]`` goes to ``buffer[index[i, j], j]`` for axis 0. No index is checked, and of two elements for one
    place either stays.

    Args:
        buffer: One slot.
        value: A tensor of the type of the buffer.
        index: A tensor of integers of the shape of ``value``.
        axis: The dimension it replaces, a constant.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "local_scatter"
    kind = require_buffer(name, "buffer", buffer, slots=False).type
    at = _check_index(name, kind, index, axis)
    check_like(name, "value", tensor(name, "value", value), [int(size) for size in index.shape], kind.element_ty)
    typed_builder(_semantic).create_local_scatter(buffer.handle, value.handle, index.handle, at)
