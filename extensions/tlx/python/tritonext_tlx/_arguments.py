"""Reading of arguments that barriers, copies and tasks share."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.language.core import base_value

from .definition import constant, integer, refuse, scalar, shown

__all__ = ["bounded", "broadcast", "choice", "coordinates", "masked", "number", "predicate", "unsupported"]


def bounded(name: str, argument: str, value: Any, least: int, most: int, multiple: int = 1) -> int:
    """Return a constant integer from ``least`` to ``most`` that is a multiple of ``multiple``.

    Raises:
        UserError: It is none.
    """
    number = integer(name, argument, value, most=max(most, 2**31 - 1))
    if not least <= number <= most or number % multiple:
        wanted = f"{least} to {most}" + (f" in steps of {multiple}" if multiple > 1 else "")
        raise refuse(name, "an argument is out of range", argument, expected=wanted, found=number)
    return number


def choice(name: str, argument: str, value: Any, allowed: tuple) -> Any:
    """Return a constant that is one of ``allowed``.

    Raises:
        UserError: It is another one, or no constant.
    """
    found = constant(value)
    if isinstance(found, base_value) or found not in allowed:
        raise refuse(
            name, "an argument has no such value", argument, expected=", ".join(map(repr, allowed)), found=shown(found)
        )
    return found


def predicate(name: str, value: Any, semantic: Any, argument: str = "pred") -> Any:
    """Return the handle of an optional condition; None means true.

    Raises:
        UserError: It is no number, or a tensor with a shape.
    """
    condition = constant(value)
    held = number(name, argument, True if condition is None else condition, semantic)
    if held.type.is_block() or held.dtype.is_ptr():
        raise refuse(name, "a condition is not a scalar", argument, expected="a scalar", found=held.type)
    return semantic.cast(held, tl.int1).handle


def number(name: str, argument: str, value: Any, semantic: Any) -> tl.tensor:
    """Return a constant number, or a tensor of any shape, as a tensor.

    Raises:
        UserError: It is neither.
    """
    given = constant(value)
    if not isinstance(given, tl.tensor | bool | int | float):
        found = shown(given)
        raise refuse(name, "an argument is no number", argument, expected="a number or a tensor", found=found)
    return semantic.to_tensor(given)


def broadcast(name: str, argument: str, value: tl.tensor, shape: list[int], semantic: Any) -> tl.tensor:
    """Return a tensor in another shape, of which each size is that of the tensor, or 1 there.

    Raises:
        UserError: It does not fit into the shape.
    """
    if _common(shape, _sizes(value)) != shape:
        expected = f"{tuple(shape)}, or 1 for a size"
        raise refuse(name, "the shapes differ", argument, expected=expected, found=tuple(_sizes(value)))
    while value.type.is_block() and len(value.shape) < len(shape):
        value = semantic.expand_dims(value, 0)
    return semantic.broadcast_impl_shape(value, shape)


def masked(name: str, value: tl.tensor, mask: Any, semantic: Any) -> tuple[tl.tensor, tl.tensor | None]:
    """Return a tensor and the mask that chooses from it in one shape; a mask of None stays.

    Raises:
        UserError: The mask has no booleans, or the shapes do not fit together.
    """
    chosen = constant(mask)
    if chosen is None:
        return value, None
    chosen = number(name, "mask", chosen, semantic)
    if not chosen.dtype.is_int1():
        raise refuse(name, "the mask is no tensor of booleans", "mask", expected=tl.int1, found=chosen.dtype)
    shape = _common(_sizes(value), _sizes(chosen)) or _sizes(value)
    return broadcast(name, "mask", value, shape, semantic), broadcast(name, "mask", chosen, shape, semantic)


def _sizes(value: tl.tensor) -> list[int]:
    return [int(size) for size in value.shape]


def _common(one: list[int], other: list[int]) -> list[int] | None:
    """Return the shape that two have together, or None."""
    rank = max(len(one), len(other))
    pairs = list(zip([1] * (rank - len(one)) + one, [1] * (rank - len(other)) + other, strict=True))
    return [max(pair) for pair in pairs] if all(1 in pair or pair[0] == pair[1] for pair in pairs) else None


def coordinates(name: str, value: Any, rank: int, semantic: Any) -> list[Any]:
    """Return the handles of the ``rank`` offsets of a tile.

    Raises:
        UserError: There are more or fewer, or one is no integer.
    """
    given = constant(value)
    if not isinstance(given, tuple | list | tl.tuple):
        found = shown(given)
        raise refuse(name, "an argument is not a tuple of offsets", "offsets", expected="such as [0, 0]", found=found)
    values = list(given)
    if len(values) != rank:
        raise refuse(name, "the tile has another number of offsets", "offsets", expected=rank, found=len(values))
    return [scalar(name, "offsets", item, semantic).handle for item in values]


def unsupported(name: str, argument: str, value: Any, default: Any, hint: str | None = None) -> None:
    """Refuse an argument of published TLX that this implementation cannot honour.

    Raises:
        UserError: It is not at its default.
    """
    found = constant(value)
    if isinstance(found, base_value):
        found = f"a value of type {found.type}"
    if found != default:
        raise refuse(name, "an argument is not supported", argument, expected=repr(default), found=found, hint=hint)
