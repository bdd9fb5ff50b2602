"""Copies from global to shared memory that go on while the kernel does something else, and waiting for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import SwizzledSharedLayout
from triton.language.core import tensor_descriptor_base

from tritonext.language import typed_builder

from ._arguments import bounded, broadcast, choice, masked, number, unsupported
from .barrier import require_barrier
from .definition import (
    AMD,
    ASYNC_COPY,
    NVIDIA,
    NVIDIA_TMA,
    constant,
    integer,
    op,
    refuse,
    scalar,
    shown,
    target_of,
    tensor,
)
from .types import async_token, buffered_tensor, require_buffer

__all__ = ["async_load", "async_load_commit_group", "async_load_wait_group", "async_store", "prefetch"]

_CACHE_MODIFIERS = {"": "none", ".ca": "ca", ".cg": "cg"}
_EVICTION_POLICIES = {"": "evict_normal", **{name: name for name in ("evict_normal", "evict_first", "evict_last")}}
# Values that lib/IR/AsyncBuilders.cpp reads.
_BULK_POLICIES = {"": 0, "evict_first": 1, "evict_last": 2}
_PREFETCH = """{
.reg .pred %p;
setp.ne.s32 %p, $2, 0;
@%p prefetch.global.LEVEL [$1];
mov.u32 $0, 0;
}"""


_BULK = ("bulk", "bulk_size", "barrier")
# Bytes of a bulk copy are a multiple of this: PTX ISA, cp.async.bulk.
_BULK_BYTES = 16


@op(
    arguments=dict.fromkeys(_BULK, NVIDIA_TMA),
    values={
        "eviction_policy": ("other than evict_normal", NVIDIA_TMA),
        "other": ("other than 0", AMD),
    },
)
def async_load(
    src: Any,
    result: buffered_tensor,
    mask: Any = None,
    other: Any = None,
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    is_volatile: Any = False,
    bulk: Any = False,
    bulk_size: Any = None,
    barrier: Any = None,
    _semantic: Any = None,
) -> async_token:
    """Start copying from global memory to a slot.

    The copy belongs to the group that the next :func:`async_load_commit_group` closes. Nobody may read the slot before
    a wait has covered that group.

    Threads of gfx942 copy through registers: there the copy is over when the call returns, and groups have nothing left
    to wait for.

    With ``bulk`` one thread starts one copy (PTX ISA, cp.async.bulk), which belongs to no group: it brings its bytes to
    ``barrier``, which :func:`barrier_expect_bytes` told of them.

    A thread copies 4 bytes or more, of elements that follow one another in memory. Where a slot has fewer for each, not
    all threads copy.

    Args:
        src: Tensor of pointers, of the shape of the slot; for a bulk copy one pointer, divisible by 16.
        result: One slot.
        mask: Where to copy; the slot gets ``other`` elsewhere, or zeros.
        other: Value for the places that ``mask`` leaves out. NVIDIA's hardware fills with zeros only.
        cache_modifier: ``".ca"`` or ``".cg"``.
        eviction_policy: ``"evict_normal"``, or on Hopper and Blackwell ``"evict_first"`` or ``"evict_last"``.
        is_volatile: False; no target has a volatile asynchronous copy.
        bulk: Whether to copy without threads. The slot then has one dimension, and there is no mask.
        bulk_size: How many bytes a bulk copy brings, a multiple of 16, a constant or a scalar; those of the slot when
            None.
        barrier: The barrier of a bulk copy.

    Raises:
        UserError: Shapes or types differ, or the hardware cannot do what is asked.
    """
    name = "async_load"
    kind = require_buffer(name, "result", result, slots=False).type
    if constant(is_volatile):
        raise refuse(
            name,
            "no target has a volatile asynchronous copy",
            "is_volatile",
            expected=False,
            hint="use tl.load instead",
        )
    if choice(name, "bulk", bulk, (False, True)):
        for argument, value in (("mask", mask), ("other", other)):
            unsupported(name, argument, value, None, hint="bulk copies have no mask")
        choice(name, "cache_modifier", cache_modifier, ("",))
        policy = _BULK_POLICIES[choice(name, "eviction_policy", eviction_policy, tuple(_BULK_POLICIES))]
        signalled = require_barrier(name, "barrier", barrier)
        if len(kind.shape) != 1:
            raise refuse(
                name, "a bulk copy fills a row", "result", expected="a slot of one dimension", found=tuple(kind.shape)
            )
        address, size = _bulk(name, "src", src, "result", kind, "bulk_size", bulk_size, _semantic)
        builder = _semantic.builder
        builder.create_tlx_bulk_load([address, result.handle, size, signalled.handle, builder.get_int32(policy)])
        return async_token()
    for argument, value in (("bulk_size", bulk_size), ("barrier", barrier)):
        unsupported(name, argument, value, None, hint="it belongs to bulk=True")
    pointers = tensor(name, "src", src)
    if not pointers.dtype.is_ptr():
        raise refuse(name, "an argument is not a tensor of pointers", "src", expected="pointers", found=pointers.type)
    element = pointers.dtype.element_ty
    if element != kind.element_ty:
        raise refuse(name, "the types of the elements differ", "src", expected=kind.element_ty, found=element)
    other = constant(other)
    pointers, mask = masked(name, pointers, mask, _semantic)
    found = [int(size) for size in pointers.shape]
    if found != kind.shape:
        raise refuse(name, "the shapes differ", "src", expected=tuple(kind.shape), found=tuple(found))
    other = _fill(name, mask, other, pointers, _semantic)
    policy = _cache_policy(name, cache_modifier, eviction_policy, _semantic)
    builder = typed_builder(_semantic)
    if target_of(_semantic) not in ASYNC_COPY:
        modifier = constant(cache_modifier) or ""
        value = tl.load(pointers, mask, other, cache_modifier=modifier, _semantic=_semantic)
        typed_builder(_semantic).create_local_store(result.handle, value.handle)
        return async_token()
    builder.create_async_copy_global_to_local(
        result.handle,
        pointers.handle,
        builder.no_value if mask is None else mask.handle,
        builder.no_value if other is None else other.handle,
        policy,
        False,
    )
    return async_token()


def _bulk(
    name: str, source: str, pointer: Any, place: str, kind: Any, argument: str, size: Any, semantic: Any
) -> tuple[Any, Any]:
    """Check a copy of bytes between a pointer and a buffer, and return the handles of pointer and size.

    Raises:
        UserError: The buffer is not plain, the types differ, or the size is none of such a copy.
    """
    if not isinstance(pointer, tl.tensor) or not pointer.type.is_ptr():
        found = shown(pointer)
        raise refuse(name, "an argument is not one pointer", source, expected="a scalar pointer", found=found)
    if pointer.dtype.element_ty != kind.element_ty:
        raise refuse(
            name, "the types of the elements differ", source, expected=kind.element_ty, found=pointer.dtype.element_ty
        )
    layout = kind.layout
    rows = list(reversed(range(len(kind.shape))))
    if not isinstance(layout, SwizzledSharedLayout) or layout.max_phase != 1 or list(layout.order) != rows:
        raise refuse(
            name,
            "a bulk copy keeps the order of the bytes, and the layout of the buffer does not",
            place,
            expected="rows without swizzle",
            found=layout,
            hint="allocate it with layout=SwizzledSharedLayout(1, 1, 1, …), or use a tensor descriptor",
        )
    if kind.shape != kind.alloc_shape:
        raise refuse(
            name, "a bulk copy takes a whole slot", place, expected=f"shape {tuple(kind.alloc_shape)}", found=kind
        )
    count = constant(size)
    if count is None:
        count = kind.slot_bytes
    if not isinstance(count, tl.tensor):
        bounded(name, argument, count, _BULK_BYTES, kind.slot_bytes, _BULK_BYTES)
    return pointer.handle, scalar(name, argument, count, semantic).handle


@op(targets=NVIDIA_TMA)
def async_store(dst_global_ptr: Any, src_smem: Any, size: Any, _semantic: Any = None) -> None:
    """Start copying a slot to global memory, as one copy of bytes (PTX ISA, cp.async.bulk).

    A buffer that :func:`local_store` filled needs :func:`fence_async_shared` before this, and
    :func:`async_descriptor_store_wait`, which counts it too, before it is filled again.

    Args:
        dst_global_ptr: One pointer, divisible by 16.
        src_smem: One slot, of rows without swizzle as those of one dimension are.
        size: How many bytes, a multiple of 16, a constant or a scalar.

    Raises:
        UserError: An argument is of the wrong kind, or the buffer has another layout.
    """
    name = "async_store"
    kind = require_buffer(name, "src_smem", src_smem, slots=False).type
    if constant(size) is None:
        raise refuse(name, "an argument is not an integer", "size", expected="a number of bytes", found=None)
    address, count = _bulk(name, "dst_global_ptr", dst_global_ptr, "src_smem", kind, "size", size, _semantic)
    _semantic.builder.create_tlx_bulk_store([address, src_smem.handle, count])


def _fill(name: str, mask: Any, other: Any, pointers: tl.tensor, semantic: Any) -> tl.tensor | None:
    """Return the operand for the places that the mask leaves out, or None where the hardware fills with zeros."""
    nvidia = target_of(semantic).startswith("cuda")
    if mask is None:
        if other is not None:
            raise refuse(name, "there is no mask that leaves anything out", "other", expected=None, hint="pass a mask")
        return None
    zero = other is None or (isinstance(other, int | float) and other == 0)
    if nvidia:
        if not zero:
            unknown = isinstance(other, tl.tensor)
            raise refuse(
                name,
                "the hardware fills with zeros only",
                "other",
                expected="0 or none, known at compile time" if unknown else "0 or none",
                found=f"a value of type {other.type}" if unknown else other,
                hint="declare a variable that is zero a constant, as in other: tl.constexpr = 0.0; replace another "
                "value after tlx.local_load with tl.where"
                if unknown
                else "replace the value after tlx.local_load with tl.where",
            )
        return None
    # Without a value, lanes that copy nothing leave what was there.
    element = pointers.dtype.element_ty
    value = semantic.cast(number(name, "other", 0 if zero else other, semantic), element)
    return broadcast(name, "other", value, [int(size) for size in pointers.shape], semantic)


def _cache_policy(name: str, cache_modifier: Any, eviction_policy: Any, semantic: Any) -> Any:
    modifier, policy = constant(cache_modifier) or "", constant(eviction_policy) or ""
    for argument, value, known in (
        ("cache_modifier", modifier, _CACHE_MODIFIERS),
        ("eviction_policy", policy, _EVICTION_POLICIES),
    ):
        if isinstance(value, tl.core.base_value) or value not in known:
            expected = ", ".join(repr(text) for text in known)
            raise refuse(name, "an argument has an unknown value", argument, expected=expected, found=repr(value))
    if policy not in ("", "evict_normal") and target_of(semantic) not in NVIDIA_TMA:
        raise refuse(
            name,
            "the copies of this target have no eviction policy",
            "eviction_policy",
            expected="evict_normal, or one of the targets " + ", ".join(NVIDIA_TMA),
            found=f"{policy} for {target_of(semantic)}",
        )
    return semantic.builder.get_cache_policy(_CACHE_MODIFIERS[modifier], _EVICTION_POLICIES[policy])


def _check_tokens(name: str, tokens: Any) -> None:
    values = constant(tokens)
    if values is None:
        return
    if not isinstance(values, Iterable):
        values = [values]
    for token in values:
        if not isinstance(token, async_token):
            raise refuse(
                name,
                "an argument is not a list of tokens",
                "tokens",
                expected="what asynchronous ops returned",
                found=token,
            )


@op()
def async_load_commit_group(tokens: Any = None, _semantic: Any = None) -> async_token:
    """Close the group of all copies started since the last group; an empty group counts too.

    On gfx942 no copy is left to be in a group: see :func:`async_load`.

    Args:
        tokens: Tokens of the copies, for readers of the kernel.

    Raises:
        UserError: ``tokens`` are none.
    """
    _check_tokens("async_load_commit_group", tokens)
    if target_of(_semantic) in ASYNC_COPY:
        typed_builder(_semantic).create_async_commit_group()
    return async_token()


@op()
def async_load_wait_group(pendings: Any, tokens: Any = None, _semantic: Any = None) -> async_token:
    """Wait until at most ``pendings`` of the closed groups are still being copied.

    On gfx942 none is: see :func:`async_load`.

    Args:
        pendings: How many of the newest groups may go on, a constant.
        tokens: Tokens of the groups, for readers of the kernel.

    Raises:
        UserError: ``pendings`` is no constant, or ``tokens`` are none.
    """
    name = "async_load_wait_group"
    _check_tokens(name, tokens)
    count = integer(name, "pendings", pendings, least=0)
    if target_of(_semantic) in ASYNC_COPY:
        typed_builder(_semantic).create_async_wait_group(count)
    return async_token()


@op(targets=NVIDIA, values={"tensormap": ("True", NVIDIA_TMA)})
def prefetch(pointer: Any, level: Any = "L2", mask: Any = None, tensormap: Any = False, _semantic: Any = None) -> None:
    """Bring memory closer without waiting for it.

    Args:
        pointer: Tensor of pointers; one in each cache line is enough. A tensor descriptor with ``tensormap``.
        level: ``"L1"`` or ``"L2"``; of no account for a descriptor.
        mask: Which of the pointers to use.
        tensormap: Whether to fetch a descriptor itself, before the first copy by it.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "prefetch"
    if choice(name, "tensormap", tensormap, (False, True)):
        if target_of(_semantic) not in NVIDIA_TMA:
            raise refuse(
                name,
                "the target has no descriptors",
                "tensormap",
                expected=", ".join(NVIDIA_TMA),
                found=target_of(_semantic),
            )
        if not isinstance(pointer, tensor_descriptor_base):
            raise refuse(name, "an argument is not a descriptor", "pointer", expected="a tensor descriptor")
        unsupported(name, "mask", mask, None, hint="a descriptor has no mask")
        _semantic.builder.create_tlx_prefetch_descriptor([pointer.handle])
        return
    pointers = tensor(name, "pointer", pointer)
    if not pointers.dtype.is_ptr():
        raise refuse(
            name, "an argument is not a tensor of pointers", "pointer", expected="pointers", found=pointers.type
        )
    cache = constant(level)
    if isinstance(cache, tl.core.base_value) or cache not in ("L1", "L2"):
        raise refuse(name, "an argument has an unknown value", "level", expected="'L1', 'L2'", found=repr(cache))
    pointers, chosen = masked(name, pointers, True if constant(mask) is None else mask, _semantic)
    tl.inline_asm_elementwise(
        _PREFETCH.replace("LEVEL", cache),
        "=r,l,r",
        [_semantic.cast(pointers, tl.int64), _semantic.cast(chosen, tl.int32)],
        tl.int32,
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )
