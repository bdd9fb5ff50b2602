"""Ops of extensions that own a ``with`` statement.

Triton's front end lowers ``with f(…):`` by asking ``f`` for a context manager and visiting the body once, in place. An
op whose body becomes a region needs more: where the body starts and ends, its names kept to itself, and as many copies
as there are replicas. So ``CodeGenerator.visit_With`` is replaced once by a function that hands the statement to such
an op and every other one to Triton.
"""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Callable
from typing import Any

from triton import knobs
from triton.compiler import code_generator
from triton.compiler.errors import CompilationError

from tritonext._triton.ops import Op
from tritonext.errors import InternalError, UserError

__all__ = ["Body", "ScopeOp", "install"]

_NEEDED = {
    code_generator: ("ContainsReturnChecker", "enter_sub_region"),
    code_generator.CodeGenerator: ("visit", "visit_With", "visit_compound_statement"),
}

_lock = threading.Lock()
_installed = False


class Body:
    """The body of a ``with`` statement, as its op sees it.

    Args:
        generator: Triton's code generator of the function that has the statement.
        node: The statement.
    """

    def __init__(self, generator: Any, node: ast.With) -> None:
        self._generator = generator
        self._node = node

    @property
    def statements(self) -> tuple[ast.stmt, ...]:
        """The statements of the body, for checks of its form; their lines count from the function's first."""
        return tuple(self._node.body)

    def emit(self) -> None:
        """Build the body at the insertion point of the kernel's builder, which is restored afterwards.

        Names from before are visible inside; what the body assigns is gone after it. Each call builds another copy.
        """
        with code_generator.enter_sub_region(self._generator):
            self._generator.visit_compound_statement(self._node.body)

    def inline(self) -> None:
        """Build the body at the insertion point as if no ``with`` stood around it: what it assigns stays assigned."""
        self._generator.visit_compound_statement(self._node.body)

    def error(self, message: str, statement: ast.stmt | None = None) -> Exception:
        """Return an error at ``statement``, or at the ``with`` statement itself."""
        return CompilationError(self._generator.jit_fn.src, statement or self._node, message)

    def error_at(self, message: str, line: int, column: int) -> Exception:
        """Return an error at a line and column of the file, as locations of ops give them; line 0 is unknown."""
        if line == 0:
            return self.error(message)
        place = ast.Pass(lineno=line - self._generator.begin_line, col_offset=column - self._generator.begin_col)
        return CompilationError(self._generator.jit_fn.src, place, message)


class ScopeOp(Op):
    """An op that is called by a ``with`` statement and gets its body as the keyword argument ``_body``."""

    def __init__(self, function: Callable[..., Any], extension: str) -> None:
        super().__init__(function, extension)
        install()

    def __call__(self, *args: Any, _semantic: Any = None, _body: Body | None = None, **kwargs: Any) -> Any:
        if _semantic is not None and _body is None:
            raise UserError(
                "the op opens a block", where=f"op {self.__name__}", hint=f"write `with {self.__name__}(…):`"
            )
        return super().__call__(*args, _semantic=_semantic, _body=_body, **kwargs)


def install() -> None:
    """Put the function over ``CodeGenerator.visit_With``; later calls do nothing.

    Raises:
        InternalError: The front end of the installed Triton has not the form this relies on.
    """
    global _installed
    for owner, names in _NEEDED.items():
        if missing := [name for name in names if not hasattr(owner, name)]:
            raise InternalError(
                "the front end of the installed triton lacks what with statements of extensions need",
                where=owner.__name__,
                expected=", ".join(missing),
                hint="use the triton release this tritonext was made for",
            )
    with _lock:
        if not _installed:
            code_generator.CodeGenerator.visit_With = _visit_with(code_generator.CodeGenerator.visit_With)
            _installed = True


def _visit_with(original: Callable[[Any, ast.With], None]) -> Callable[[Any, ast.With], None]:
    @functools.wraps(original)
    def visit_With(self: Any, node: ast.With) -> None:
        call = node.items[0].context_expr
        function = self.visit(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(function, ScopeOp):
            return original(self, node)
        body = Body(self, node)
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise body.error(f"`with {function.__name__}(…):` stands alone and binds no name")
        if code_generator.ContainsReturnChecker(self.gscope).visit(node):
            raise body.error(f"cannot return from inside `with {function.__name__}(…):`")
        arguments = [self.visit(argument) for argument in call.args]
        keywords = dict(self.visit(keyword) for keyword in call.keywords)
        try:
            function(*arguments, _semantic=self.semantic, _body=body, **keywords)
        except CompilationError:
            raise
        except Exception as error:
            if knobs.compilation.front_end_debugging:
                raise
            raise body.error(str(error)) from None
        return None

    return visit_With
