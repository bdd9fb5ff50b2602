"""Ops of extensions in kernels.

An op of an extension is a Python function that builds IR. Marked with :func:`builtin` it carries the extension's
content into the cache key of every kernel that reaches it, and that kernel alone compiles under the extension's
default pipeline: using an op is opting in. The op can be reached by name, as an attribute of a module, and through
other ``@triton.jit`` functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton.language as tl

from ._triton import ops, scopes, typed
from .errors import UserError

__all__ = [
    "INTERPRETER",
    "Buffer",
    "buffer_of",
    "builtin",
    "constant",
    "interpretation",
    "interpreting",
    "op_name",
    "ops_of",
    "refuse",
    "scope",
    "shown",
    "target_of",
    "typed_builder",
]

INTERPRETER = "interpreter"
"""What :func:`target_of` returns in Triton's interpreter."""


def builtin(*, extension: str, interpreted: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Mark a function as an op of an extension that kernels call like those of ``triton.language``.

    The function gets the arguments of the call, constants as ``tl.constexpr``, and the keyword ``_semantic``, whose
    ``builder`` has the extension's ``create_…`` methods. It must be defined at module level.

    Args:
        extension: Id of the extension the op belongs to.
        interpreted: Whether the function computes on Triton's interpreter too, whose values hold NumPy arrays and whose
            builder has no ``create_…`` methods of extensions. There :func:`target_of` returns :data:`INTERPRETER`. An
            op without it is an error in the interpreter.

    Example::

        @tritonext.language.builtin(extension="probe")
        def twice(x, _semantic=None):
            return tl.tensor(_semantic.builder.create_probe_twice([x.handle]), x.type)
    """

    def mark(function: Callable[..., Any]) -> Any:
        return ops.Op(function, extension, interpreted)

    return mark


def scope(*, extension: str) -> Callable[[Callable[..., Any]], Any]:
    """Mark a function as an op of an extension that opens a block: kernels write ``with f(…):``.

    The function gets the arguments of the call, the keyword ``_semantic`` as those of :func:`builtin` do, and the
    keyword ``_body``. ``_body.emit()`` builds the block where the kernel's builder stands, as often as it is called,
    and what the block assigns is gone after it; ``_body.inline()`` builds it once, as if no statement stood around it;
    ``_body.statements`` are its statements; ``_body.error`` and ``_body.error_at`` make errors at a place in it.

    Args:
        extension: Id of the extension the op belongs to.
    """

    def mark(function: Callable[..., Any]) -> Any:
        return scopes.ScopeOp(function, extension)

    return mark


def op_name(value: Any, extension: str | None = None) -> str | None:
    """Return the name of an op, or None when ``value`` is none, or none of ``extension``."""
    if isinstance(value, ops.Op) and extension in (None, value.extension):
        return value.__name__
    return None


def interpretation(value: Any) -> Callable[..., Any] | None:
    """Return the function behind an op that computes on semantics of an interpreter, or None.

    It is called with the arguments of the op and those semantics as ``_semantic``.
    """
    return value.fn if isinstance(value, ops.Op) and value.interpreted else None


def interpreting() -> bool:
    """Return whether kernels run in Triton's interpreter, which hands its semantics to builtins of Triton alone."""
    return ops.interpreting()


def ops_of(package: types.ModuleType, extension: str) -> tuple[str, ...]:
    """Return the names that kernels call the ops of an extension by, sorted: those that its package exports.

    Args:
        package: The package, whose ``__all__`` is what it exports.
        extension: Id of the extension.
    """
    exported = getattr(package, "__all__", ())
    return tuple(sorted(name for name in exported if op_name(getattr(package, name, None), extension) is not None))


def typed_builder(_semantic: Any) -> Any:
    """Return a builder of stock TritonGPU ops for the place where an op of an extension is called.

    It makes what ``triton.language`` has no spelling for: shared memory and its views, asynchronous copies, barriers,
    tensor memory, every layout. Its methods are those of Gluon's builder in the installed Triton; its attribute
    ``no_value`` stands for an operand that is left out, and ``atomic_op`` has Triton's read-modify-write operations. It
    stands where the kernel's builder stands at the time of the call, so ask anew after that one has moved.

    Ops with tensors reach the GPU dialects only in an extension that carries them across the conversion to layouts;
    ``tritonext/ForeignOps.h`` says how.

    Args:
        _semantic: The ``_semantic`` the op was called with.

    Raises:
        InternalError: The installed Triton lacks what this is made of.
    """
    return typed.typed_builder(_semantic)


def target_of(_semantic: Any) -> str:
    """Return the target a kernel is compiled for, such as ``cuda:90``.

    Args:
        _semantic: The ``_semantic`` the op was called with.
    """
    options = _semantic.builder.options
    if options.backend_name == INTERPRETER:
        return INTERPRETER
    return f"{options.backend_name}:{str(options.arch).removeprefix('sm')}"


@dataclass(frozen=True)
class Buffer:
    """Memory that a value of a kernel stands for, whichever extension made the value.

    Attributes:
        handle: The MLIR value, of type ``!ttg.memdesc``.
        dtype: Type of the elements.
        shape: Shape, with all dimensions of the handle.
        layout: Layout, one of ``triton.experimental.gluon.language``.
    """

    handle: Any
    dtype: tl.dtype
    shape: tuple[int, ...]
    layout: Any


def buffer_of(value: Any) -> Buffer | None:
    """Return the memory behind an argument of an op, or None when it stands for none.

    Gluon's shared memory is known. A value of an extension says what it stands for by a method ``__tritonext_buffer__``
    that returns a :class:`Buffer`, so ops take buffers of extensions that they know nothing of.
    """
    describe = getattr(type(value), "__tritonext_buffer__", None)
    if describe is not None:
        return describe(value)
    from triton.experimental.gluon.language import shared_memory_descriptor

    if not isinstance(value, shared_memory_descriptor):
        return None
    return Buffer(value.handle, value.dtype, tuple(int(size) for size in value.shape), value.layout)


def refuse(extension: str, op: str, message: str, argument: str | None = None, **fields: Any) -> UserError:
    """Return the error to raise about an op of an extension or about one of its arguments.

    Args:
        extension: Id of the extension.
        op: Name of the op.
        message: As of :class:`tritonext.errors.TritonextError`.
        argument: Name of the argument.
        **fields: The other arguments of that class.
    """
    return UserError(message, where=f"{extension}.{op}" + (f", argument {argument}" if argument else ""), **fields)


def constant(value: Any) -> Any:
    """Return the value of a constant, whether wrapped in ``tl.constexpr`` or not; anything else as it is."""
    return value.value if isinstance(value, tl.constexpr) else value


def shown(value: Any) -> str:
    """Return how an error shows what it was given: a value of run time by its type, others as they are."""
    return f"a value of type {value.type}" if isinstance(value, tl.core.base_value) else repr(value)
