"""How an op of TLX is defined: its name, its targets, and the reading of its arguments.

Everything a kernel author can get wrong is a :class:`tritonext.errors.UserError` that names the op and the argument.
Triton shows it below the line of the kernel.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton.language as tl

from tritonext import language
from tritonext.errors import UserError
from tritonext.language import constant, shown, target_of

__all__ = [
    "ALL",
    "AMD",
    "AMD_ASYNC",
    "ASYNC_COPY",
    "BLACKWELL",
    "HOPPER",
    "NVIDIA",
    "NVIDIA_TMA",
    "Definition",
    "constant",
    "definitions",
    "integer",
    "integers",
    "op",
    "refuse",
    "scalar",
    "shown",
    "supported_ops",
    "target_of",
    "tensor",
]

ALL = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950")
"""Every target of the extension."""

NVIDIA = ("cuda:80", "cuda:90", "cuda:100")
"""Targets of the CUDA backend."""

NVIDIA_TMA = ("cuda:90", "cuda:100")
"""Targets with mbarriers, TMA and clusters."""

HOPPER = ("cuda:90",)
"""Targets with warp-group MMA."""

BLACKWELL = ("cuda:100",)
"""Targets with tensor memory and stochastic rounding."""

AMD = ("hip:gfx942", "hip:gfx950")
"""Targets of the HIP backend."""

AMD_ASYNC = ("hip:gfx950",)
"""Targets of the HIP backend that copy 16 bytes from global to shared memory without registers."""

ASYNC_COPY = (*NVIDIA, *AMD_ASYNC)
"""Targets whose threads copy from global to shared memory without registers."""


refuse = functools.partial(language.refuse, "tlx")


@dataclass(frozen=True)
class Definition:
    """What is known of an op without calling it.

    Attributes:
        function: The Python function.
        targets: The targets that have it.
        arguments: The targets that have an argument, where they are fewer.
        values: The same of values of an argument: which values, and the targets.
    """

    function: Callable[..., Any]
    targets: tuple[str, ...]
    arguments: dict[str, tuple[str, ...]]
    values: dict[str, tuple[str, tuple[str, ...]]]


_ops: dict[str, Definition] = {}


def op(
    *,
    targets: tuple[str, ...] = ALL,
    block: bool = False,
    arguments: dict[str, tuple[str, ...]] | None = None,
    values: dict[str, tuple[str, tuple[str, ...]]] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Define an op that kernels call.

    Args:
        targets: The targets that have it; a kernel for any other gets an error at the line of the call.
        block: Whether it is used as ``with f(…):`` and gets the statements of that as ``_body``.
        arguments: Arguments that fewer targets have; on others anything but the default is an error.
        values: Values of arguments that fewer targets have, such as ``("other than 0", NVIDIA)``. The function itself
            refuses them.
    """
    limits = arguments or {}
    mark = language.scope if block else language.builtin

    def define(function: Callable[..., Any]) -> Any:
        name = function.__name__
        _ops[name] = Definition(function, targets, limits, values or {})
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
            target = target_of(_semantic)
            if target not in targets:
                raise refuse(name, "the target lacks this operation", expected=", ".join(targets), found=target)
            if any(target not in having for having in limits.values()):
                _check_arguments(name, signature, limits, target, args, kwargs)
            return function(*args, _semantic=_semantic, **kwargs)

        return mark(extension="tlx")(checked)

    return define


def _check_arguments(
    name: str, signature: inspect.Signature, limits: dict[str, tuple[str, ...]], target: str, args: Any, kwargs: Any
) -> None:
    given = signature.bind_partial(*args, **kwargs).arguments
    for argument, having in limits.items():
        if target in having or argument not in given:
            continue
        value = constant(given[argument])
        if isinstance(value, tl.core.base_value) or value != signature.parameters[argument].default:
            found = shown(value)
            raise refuse(
                name,
                "the target lacks this argument",
                argument,
                expected=", ".join(having) or "no target has it",
                found=f"{found} for {target}",
            )


def definitions() -> dict[str, Definition]:
    """Return all ops by name, sorted."""
    return dict(sorted(_ops.items()))


def supported_ops(target: str) -> dict[str, tuple[str, ...]]:
    """Return the ops that a target such as ``cuda:90`` has, sorted, each with the arguments that it lacks there.

    An argument of which only some values are missing reads as ``"other: other than 0"``.

    Raises:
        UserError: TLX is not made for the target.
    """
    if target not in ALL:
        raise UserError("the extension is not made for this target", expected=", ".join(ALL), found=repr(target))
    return {
        name: (
            *(argument for argument, having in item.arguments.items() if target not in having),
            *(f"{argument}: {which}" for argument, (which, having) in item.values.items() if target not in having),
        )
        for name, item in definitions().items()
        if target in item.targets
    }


def integer(name: str, argument: str, value: Any, *, least: int | None = None, most: int = 2**31 - 1) -> int:
    """Return a constant integer argument.

    Raises:
        UserError: It is none, less than ``least`` or more than ``most``.
    """
    number = constant(value)
    if not isinstance(number, int) or isinstance(number, bool):
        raise refuse(
            name,
            "an argument is not a constant integer",
            argument,
            expected="a number known at compile time",
            found=_describe(number),
            hint="pass a literal or a tl.constexpr",
        )
    if least is not None and number < least:
        raise refuse(name, "an argument is too small", argument, expected=f"at least {least}", found=number)
    if number > most:
        raise refuse(name, "an argument is too large", argument, expected=f"at most {most}", found=number)
    return number


def integers(name: str, argument: str, value: Any) -> list[int]:
    """Return an argument that is a tuple of constant integers.

    Raises:
        UserError: It is none.
    """
    values = constant(value)
    if not isinstance(values, tuple | list | tl.tuple):
        raise refuse(
            name,
            "an argument is not a tuple of constants",
            argument,
            expected="such as (64, 64)",
            found=_describe(values),
        )
    return [integer(name, argument, item) for item in values]


def scalar(name: str, argument: str, value: Any, semantic: Any) -> tl.tensor:
    """Return a constant or run-time integer argument as a 32-bit value.

    Raises:
        UserError: It is no integer of 32 bits, or not a scalar.
    """
    number = constant(value)
    if isinstance(number, int):
        if not -(2**31) <= number < 2**31:
            raise refuse(name, "an argument is out of range", argument, expected="32 bits", found=number)
        return semantic.to_tensor(int(number))
    if not isinstance(number, tl.tensor) or number.type.is_block() or not number.dtype.is_int():
        raise refuse(name, "an argument is not an integer", argument, expected="a scalar", found=_describe(number))
    return semantic.cast(number, tl.int32)


def tensor(name: str, argument: str, value: Any) -> tl.tensor:
    """Return an argument that is a tensor with a shape.

    Raises:
        UserError: It is none.
    """
    if not isinstance(value, tl.tensor) or not value.type.is_block():
        raise refuse(
            name, "an argument is not a tensor", argument, expected="a tensor", found=_describe(constant(value))
        )
    return value


def _describe(value: Any) -> str:
    return shown(value) if isinstance(value, tl.core.base_value) else f"{value!r} of type {type(value).__name__}"
