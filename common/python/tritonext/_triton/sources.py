"""What Triton compiles from, by front end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource
from triton.runtime.jit import JITFunction

__all__ = ["ast_source"]


def ast_source(
    fn: JITFunction, signature: Mapping[str, str], constexprs: Mapping[str, Any], attrs: Mapping[tuple[int, ...], list]
) -> ASTSource:
    """Return the compile source of a kernel of either front end.

    Args:
        fn: The kernel.
        signature: Type of every argument, ``constexpr`` for a constant.
        constexprs: Value of every constant.
        attrs: What is known about arguments, by position.
    """
    kind = GluonASTSource if fn.is_gluon() else ASTSource
    return kind(fn, dict(signature), dict(constexprs), dict(attrs))
