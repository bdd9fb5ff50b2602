"""Reading of arguments that barriers, copies and tasks share."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .definition import constant, integer, refuse, scalar

__all__ = ["bounded", "choice", "coordinates", "predicate", "unsupported"]


def bounded(name: str, argument: str, value: Any, least: int, most: int, multiple: int = 1) -> int:
    """Return a constant integer from ``least`` to ``most`` that is a multiple of ``multiple``.

    Raises:
        UserError: It is none.
    """
    number = integer(name, argument, value)
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
    if isinstance(found, tl.tensor) or found not in allowed:
        shown = f"a value of type {found.type}" if isinstance(found, tl.tensor) else repr(found)
        raise refuse(
            name, "an argument has no such value", argument, expected=", ".join(map(repr, allowed)), found=shown
        )
    return found


def predicate(name: str, value: Any, semantic: Any, argument: str = "pred") -> Any:
    """Return the handle of an optional condition; None means true.

    Raises:
        UserError: It is a tensor with a shape.
    """
    condition = constant(value)
    if isinstance(condition, tl.tensor) and condition.type.is_block():
        raise refuse(name, "a condition is not a scalar", argument, expected="a scalar", found=condition.type)
    return semantic.cast(semantic.to_tensor(True if condition is None else condition), tl.int1).handle


def coordinates(name: str, value: Any, rank: int, semantic: Any) -> list[Any]:
    """Return the handles of the ``rank`` offsets of a tile.

    Raises:
        UserError: There are more or fewer, or one is no integer.
    """
    values = list(constant(value))
    if len(values) != rank:
        raise refuse(name, "the tile has another number of offsets", "offsets", expected=rank, found=len(values))
    return [scalar(name, "offsets", item, semantic).handle for item in values]


def unsupported(name: str, argument: str, value: Any, default: Any, hint: str | None = None) -> None:
    """Refuse an argument of published TLX that this implementation cannot honour.

    Raises:
        UserError: It is not at its default.
    """
    found = constant(value)
    if isinstance(found, tl.core.base_value):
        found = f"a value of type {found.type}"
    if found != default:
        raise refuse(name, "an argument is not supported", argument, expected=repr(default), found=found, hint=hint)
