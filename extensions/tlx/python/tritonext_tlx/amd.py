"""What only AMD GPUs have: accesses by a pointer and 32-bit offsets, and stages of a loop that warps take in turn."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from tritonext.language import typed_builder

from ._arguments import bounded, broadcast, choice, masked, number
from .definition import AMD, AMD_ASYNC, constant, op, refuse, shown, target_of, tensor
from .types import async_token, buffered_tensor, require_buffer

__all__ = ["buffer_atomic_add", "buffer_load", "buffer_load_to_local", "buffer_store", "warp_pipeline_stage"]

_LOAD_MODIFIERS = ("", ".ca", ".cg", ".cv")
_STORE_MODIFIERS = ("", ".wb", ".cg", ".cs", ".wt")


def _place(name: str, ptr: Any, offsets: Any, mask: Any, semantic: Any) -> tuple[tl.tensor, tl.tensor | None]:
    """Return offsets and mask in one shape.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    if not isinstance(ptr, tl.tensor) or ptr.type.is_block() or not ptr.dtype.is_ptr():
        found = shown(ptr)
        raise refuse(name, "an argument is not a pointer", "ptr", expected="one pointer", found=found)
    places = tensor(name, "offsets", offsets)
    if places.dtype not in (tl.int32, tl.uint32):
        hint = "add larger offsets to the pointer"
        raise refuse(name, "offsets have 32 bits", "offsets", expected=tl.int32, found=places.dtype, hint=hint)
    return masked(name, places, mask, semantic)


def _other(name: str, ptr: tl.tensor, places: tl.tensor, mask: Any, other: Any, semantic: Any) -> Any:
    value = constant(other)
    if mask is None:
        if value is not None:
            raise refuse(name, "there is no mask that leaves anything out", "other", expected=None, hint="pass a mask")
        return None
    value = semantic.cast(number(name, "other", 0 if value is None else value, semantic), ptr.dtype.element_ty)
    return broadcast(name, "other", value, [int(size) for size in places.shape], semantic)


def _handle(builder: Any, value: Any) -> Any:
    return builder.no_value if value is None else value.handle


@op(targets=AMD)
def buffer_load(
    ptr: Any, offsets: Any, mask: Any = None, other: Any = None, cache_modifier: Any = "", _semantic: Any = None
) -> tl.tensor:
    """Load ``ptr[offsets]`` by buffer instructions, which take one pointer and an offset of 32 bits for each element.

    Args:
        ptr: One pointer, the same for all threads.
        offsets: Tensor of ``tl.int32`` or ``tl.uint32``, in elements and not negative, of less than 2 GiB.
        mask: Where to load.
        other: Value where ``mask`` is false; zero when None.
        cache_modifier: ``""``, ``".ca"``, ``".cg"`` or ``".cv"``.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "buffer_load"
    places, chosen = _place(name, ptr, offsets, mask, _semantic)
    value = _other(name, ptr, places, chosen, other, _semantic)
    modifier = _semantic._str_to_load_cache_modifier(choice(name, "cache_modifier", cache_modifier, _LOAD_MODIFIERS))
    builder = typed_builder(_semantic)
    result = tl.block_type(ptr.dtype.element_ty, places.shape)
    handle = builder.create_buffer_load(
        result.to_ir(builder),
        ptr.handle,
        places.handle,
        _handle(builder, chosen),
        _handle(builder, value),
        modifier,
    )
    return tl.tensor(handle, result)


def _stored(
    name: str, ptr: tl.tensor, places: tl.tensor, value: Any, semantic: Any, argument: str = "stored_value"
) -> tl.tensor:
    element = ptr.dtype.element_ty
    given = number(name, argument, value, semantic)
    if given.dtype.is_ptr():
        raise refuse(name, "pointers are no numbers", argument, expected=element, found=given.type)
    stored = semantic.cast(given, element)
    if stored.type.is_block() and [*stored.shape] != [*places.shape]:
        expected, found = tuple(map(int, places.shape)), tuple(map(int, stored.shape))
        raise refuse(name, "the shapes differ", argument, expected=expected, found=found)
    return semantic.broadcast_impl_shape(stored, places.shape)


@op(targets=AMD)
def buffer_store(
    stored_value: Any, ptr: Any, offsets: Any, mask: Any = None, cache_modifier: Any = "", _semantic: Any = None
) -> None:
    """Store to ``ptr[offsets]`` by buffer instructions.

    Args:
        stored_value: Tensor of the shape of ``offsets``, or a scalar.
        ptr: As of :func:`buffer_load`.
        offsets: As of :func:`buffer_load`.
        mask: Where to store.
        cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "buffer_store"
    places, chosen = _place(name, ptr, offsets, mask, _semantic)
    value = _stored(name, ptr, places, stored_value, _semantic)
    modifier = _semantic._str_to_store_cache_modifier(choice(name, "cache_modifier", cache_modifier, _STORE_MODIFIERS))
    builder = typed_builder(_semantic)
    builder.create_buffer_store(value.handle, ptr.handle, places.handle, _handle(builder, chosen), modifier)


# What the instruction adds; that of bf16 is new on gfx950. Stock gives integers without a sign the same bits.
_ADDED = (tl.float16, tl.bfloat16, tl.float32, tl.float64, tl.int32, tl.uint32, tl.int64, tl.uint64)
_SEMANTICS = (None, "relaxed", "acquire", "release", "acq_rel")
_SCOPES = (None, "cta", "gpu")


@op(targets=AMD, values={"scope": ("'sys'", ())})
def buffer_atomic_add(
    ptr: Any,
    offsets: Any,
    value: Any,
    mask: Any = None,
    sem: Any = None,
    scope: Any = None,
    contiguity: Any = 1,
    _semantic: Any = None,
) -> tl.tensor:
    """Add to ``ptr[offsets]`` atomically by buffer instructions, and return what was there before.

    Args:
        ptr: As of :func:`buffer_load`, to floats of 16, 32 or 64 bits, or integers of 32 or 64; bf16 on gfx950.
        offsets: As of :func:`buffer_load`.
        value: Tensor of the shape of ``offsets``, or a scalar.
        mask: Where to add; the result is undefined elsewhere.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"``, which None means.
        scope: ``"cta"``, or ``"gpu"``, which None means. Stock Triton has no such instruction for the whole system;
            ``tl.atomic_add`` does that.
        contiguity: As of :func:`buffer_load_to_local`. Elements of 16 bits are added in pairs where it is known.

    Raises:
        UserError: An argument is of the wrong kind, or the target adds no such elements.
    """
    name = "buffer_atomic_add"
    places, chosen = _place(name, ptr, offsets, mask, _semantic)
    element = ptr.dtype.element_ty
    known = [kind for kind in _ADDED if kind != tl.bfloat16 or target_of(_semantic) in AMD_ASYNC]
    if element not in known:
        expected = ", ".join(map(str, known))
        raise refuse(name, "the target adds no elements of this type", "ptr", expected=expected, found=element)
    added = _stored(name, ptr, places, value, _semantic, "value")
    places = _contiguous(name, places, contiguity, _semantic)
    order = _semantic._str_to_sem(choice(name, "sem", sem, _SEMANTICS))
    reach = _semantic._str_to_scope(choice(name, "scope", scope, _SCOPES))
    builder = typed_builder(_semantic)
    kind = builder.atomic_op.FADD if element.is_floating() else builder.atomic_op.ADD
    handle = builder.create_buffer_atomic_rmw(
        kind, ptr.handle, places.handle, added.handle, order, reach, _handle(builder, chosen)
    )
    return tl.tensor(handle, added.type)


def _contiguous(name: str, places: tl.tensor, contiguity: Any, semantic: Any) -> tl.tensor:
    """Return offsets of which so many follow one another, a constant power of two.

    Raises:
        UserError: It is none.
    """
    shape = [int(size) for size in places.shape]
    known = bounded(name, "contiguity", contiguity, 1, shape[-1])
    if known & (known - 1):
        raise refuse(name, "an argument is not a power of two", "contiguity", expected="such as 8", found=known)
    if known == 1:
        return places
    steps = [*[1] * (len(shape) - 1), known]
    return semantic.multiple_of(semantic.max_contiguous(places, steps), steps)


@op(targets=AMD_ASYNC)
def buffer_load_to_local(
    dest: buffered_tensor,
    ptr: Any,
    offsets: Any,
    mask: Any = None,
    other: Any = None,
    cache_modifier: Any = "",
    contiguity: Any = 1,
    _semantic: Any = None,
) -> async_token:
    """Start copying ``ptr[offsets]`` to a slot, as :func:`async_load` does for a tensor of pointers.

    Args:
        dest: One slot.
        ptr: As of :func:`buffer_load`.
        offsets: As of :func:`buffer_load`, of the shape of the slot; each 4 bytes, or better 16, must be contiguous.
        mask: Where to copy; the slot gets ``other`` elsewhere.
        other: Value where ``mask`` is false; zero when None.
        cache_modifier: ``""``, ``".ca"``, ``".cg"`` or ``".cv"``.
        contiguity: How many offsets follow one another from each multiple of so many on, along the last dimension; for
            offsets of which the compiler cannot tell. A constant power of two.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "buffer_load_to_local"
    kind = require_buffer(name, "dest", dest, slots=False).type
    places, chosen = _place(name, ptr, offsets, mask, _semantic)
    if ptr.dtype.element_ty != kind.element_ty:
        found = ptr.dtype.element_ty
        raise refuse(name, "the types of the elements differ", "ptr", expected=kind.element_ty, found=found)
    shape = [int(size) for size in places.shape]
    if shape != kind.shape:
        raise refuse(name, "the shapes differ", "offsets", expected=tuple(kind.shape), found=tuple(shape))
    value = _other(name, ptr, places, chosen, other, _semantic)
    places = _contiguous(name, places, contiguity, _semantic)
    modifier = _semantic._str_to_load_cache_modifier(choice(name, "cache_modifier", cache_modifier, _LOAD_MODIFIERS))
    builder = typed_builder(_semantic)
    builder.create_buffer_load_to_local(
        dest.handle,
        ptr.handle,
        places.handle,
        _handle(builder, chosen),
        _handle(builder, value),
        builder.no_value,
        modifier,
    )
    return async_token()


@op(targets=AMD, block=True)
def warp_pipeline_stage(label: Any = None, priority: Any = None, _semantic: Any = None, _body: Any = None) -> None:
    """Open a stage of the loop around it. While some warps are in one stage, the others are in the next.

    All of the loop but waits for copies stands in stages, two or more of them, directly in the loop. The kernel has as
    many warps as two for each SIMD of a compute unit, 8 on CDNA.

    Args:
        label: A name, for dumps.
        priority: Which warps to prefer: 0 to 3, the highest first; None for no preference.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "warp_pipeline_stage"
    text = constant(label)
    if text is not None and not isinstance(text, str):
        raise refuse(name, "an argument is not a text", "label", expected="such as 'load'", found=repr(text))
    level = choice(name, "priority", priority, (None, 0, 1, 2, 3))
    _body.inline()
    typed_builder(_semantic).create_warp_pipeline_border(text or "stage", -1 if level is None else level)
