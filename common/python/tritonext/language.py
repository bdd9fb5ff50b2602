"""Ops of extensions in kernels.

An op of an extension is a Python function that builds IR. Marked with :func:`builtin` it carries the extension's
content into the cache key of every kernel that reaches it, and that kernel alone compiles under the extension's
default pipeline: using an op is opting in. The op can be reached by name, as an attribute of a module, and through
other ``@triton.jit`` functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import triton.language as tl

from ._triton import ops, scopes, typed

__all__ = ["builtin", "constant", "op_name", "ops_of", "scope", "shown", "target_of", "typed_builder"]


def builtin(*, extension: str) -> Callable[[Callable[..., Any]], Any]:
    """Mark a function as an op of an extension that kernels call like those of ``triton.language``.

    The function gets the arguments of the call, constants as ``tl.constexpr``, and the keyword ``_semantic``, whose
    ``builder`` has the extension's ``create_…`` methods. It must be defined at module level.

    Args:
        extension: Id of the extension the op belongs to.

    Example::

        @tritonext.language.builtin(extension="probe")
        def twice(x, _semantic=None):
            return tl.tensor(_semantic.builder.create_probe_twice([x.handle]), x.type)
    """

    def mark(function: Callable[..., Any]) -> Any:
        return ops.Op(function, extension)

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
    return f"{options.backend_name}:{str(options.arch).removeprefix('sm')}"


def constant(value: Any) -> Any:
    """Return the value of a constant, whether wrapped in ``tl.constexpr`` or not; anything else as it is."""
    return value.value if isinstance(value, tl.constexpr) else value


def shown(value: Any) -> str:
    """Return how an error shows what it was given: a value of run time by its type, others as they are."""
    return f"a value of type {value.type}" if isinstance(value, tl.core.base_value) else repr(value)
