"""Scopes and marks in kernels::

    import tritonext_profiler.language as tpl

    @triton.jit
    def kernel(…):
        with tpl.scope("load"):
            x = tl.load(…)
        tpl.mark("row", row)

They build something only while the kernel is compiled for a profile that records more than begin and end. Otherwise the
kernel is what it is without them, under the same key in Triton's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import triton.language as tl

import tritonext
from tritonext.errors import UserError
from tritonext.language import constant, interpreting, refuse, shown, target_of

__all__ = ["enter_scope", "exit_scope", "mark", "scope"]

T = TypeVar("T", bound=Callable[..., Any])

_ENTER, _EXIT, _MARK, _MARK_INTEGER, _MARK_FLOAT = range(5)


def _builtin(function: T) -> T:
    # What the front end asks for. Such a function is no part of a kernel's key; a pipeline has a key of its own.
    setattr(function, tl.core.TRITON_BUILTIN, True)
    return function


def _builder(op: str, _semantic: Any) -> Any:
    """Return the builder of a kernel in which notes are recorded, or None."""
    if _semantic is None:
        if interpreting():
            return None
        raise UserError(
            "scopes and marks are of kernels", where=f"profiler.{op}", hint="call it in a function with @triton.jit"
        )
    target = target_of(_semantic)
    for pipeline in tritonext.active():
        if pipeline.extension == "profiler" and (not pipeline.targets or target in pipeline.targets):
            modes = [dict(entry.options).get("mode") for step in pipeline.steps for entry in step.passes]
            return None if "header" in modes else _semantic.builder
    return None


def _name(op: str, name: Any) -> str:
    text = constant(name)
    if not isinstance(text, str) or not text or "/" in text:
        raise refuse(
            "profiler", op, "the name is unusable", "name", expected="a text without slashes", found=shown(text)
        )
    return text


def _note(builder: Any, kind: int, name: str, value: Any = None) -> None:
    constants = [builder.get_int32(byte) for byte in name.encode()]
    builder.create_profiler_note([builder.get_int32(kind), *([] if value is None else [value]), *constants])


@_builtin
def enter_scope(name: str, _semantic: Any = None) -> None:
    """Enter a scope; on every way through the kernel :func:`exit_scope` has to follow.

    Args:
        name: Shown in reports, behind the names of the scopes around it and slashes.

    Raises:
        UserError: The name is empty or has a slash.
    """
    text = _name("enter_scope", name)
    if (builder := _builder("enter_scope", _semantic)) is not None:
        _note(builder, _ENTER, text)


@_builtin
def exit_scope(name: str, _semantic: Any = None) -> None:
    """Leave the innermost scope, which is the one of this name."""
    text = _name("exit_scope", name)
    if (builder := _builder("exit_scope", _semantic)) is not None:
        _note(builder, _EXIT, text)


class _Scope:
    def __init__(self, name: str, semantic: Any) -> None:
        self._arguments = name, semantic

    def __enter__(self) -> None:
        enter_scope(self._arguments[0], _semantic=self._arguments[1])

    def __exit__(self, *exception: object) -> None:
        exit_scope(self._arguments[0], _semantic=self._arguments[1])


@_builtin
def scope(name: str, _semantic: Any = None) -> _Scope:
    """Measure a block: ``with scope("load"):``. Scopes may be within others.

    Args:
        name: As of :func:`enter_scope`.
    """
    return _Scope(_name("scope", name), _semantic)


@_builtin
def mark(name: str, value: Any = None, _semantic: Any = None) -> None:
    """Record a moment, and a value with it.

    Args:
        name: Shown in reports.
        value: A number of the kernel, no tensor; of floats 32 bits are recorded, and of integers 64.

    Raises:
        UserError: The name is empty or has a slash, or the value is no number.
    """
    text, value = _name("mark", name), constant(value)
    if (builder := _builder("mark", _semantic)) is None:
        return None
    if value is None:
        return _note(builder, _MARK, text)
    number = _semantic.to_tensor(value) if isinstance(value, int | float) else value
    if not isinstance(number, tl.tensor) or number.type.is_block() or number.dtype.is_ptr():
        raise refuse("profiler", "mark", "the value is no number", "value", expected="a scalar", found=shown(value))
    if number.dtype.is_floating():
        whole = _semantic.bitcast(_semantic.cast(number, tl.float32), tl.uint32)
        return _note(builder, _MARK_FLOAT, text, _semantic.cast(whole, tl.int64).handle)
    return _note(builder, _MARK_INTEGER, text, _semantic.cast(number, tl.int64).handle)
