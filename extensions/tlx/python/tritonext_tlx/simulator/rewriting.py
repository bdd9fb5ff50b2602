"""The source of a kernel turned into Python that runs: calls find simulated ops, bodies of tasks become functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonext.interpret import Transformer

from .errors import UnsupportedOperation
from .machine import Site

__all__ = ["RUNTIME", "Place", "Rewriter", "Rewritten", "names_other_block", "rewrite"]

RUNTIME = "__tlx"
"""Name under which rewritten functions find :class:`.runner.Runtime`."""

_ARRIVING = ("barrier_arrive", "barrier_expect_bytes", "async_descriptor_load", "tcgen05_commit")
# The methods of a pipeline, and the barriers at which they arrive.
_RING = {"acquire": "full", "release": "empty"}
_REMOTE = ("remote_view", "remote_shmem_store", "async_remote_shmem_store", "clc_producer", "clc_consumer")
# Places of the argument that makes them ops of two blocks.
_IN_PAIRS = {"async_descriptor_load": 8, "async_dot": 6, "async_dot_scaled": 10, "tcgen05_commit": 1, "tmem_copy": 2}
_INITIALIZING = ("alloc_barriers", "alloc_pipeline", "alloc_warp_barrier")
_NAMED = ("alloc_barriers", "alloc_pipeline", "alloc_warp_barrier", "clc_create_context", "local_alloc")


@dataclass(frozen=True)
class Place:
    """A line of a kernel."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


@dataclass
class Rewritten:
    """A rewritten function.

    Attributes:
        code: Defines it under its name.
        sites: Calls in it that arrive at barriers.
    """

    code: Any
    sites: list[Site]


def _runtime(name: str, *args: ast.expr) -> ast.Call:
    owner = ast.Name(id=RUNTIME, ctx=ast.Load())
    return ast.Call(func=ast.Attribute(value=owner, attr=name, ctx=ast.Load()), args=list(args), keywords=[])


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _thunk(node: ast.expr) -> ast.Lambda:
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=arguments, body=node)


class Rewriter(Transformer):
    """Rewrites one function.

    Args:
        file: Its file.
        first_line: Line of its ``def``; those of the tree count from 1.
        scope_name: Returns for the expression that is called the name of the op of TLX, or None.
        reaches: Returns whether a call accesses other blocks of a cluster, which those of a kernel meet before.
    """

    def __init__(
        self,
        file: str,
        first_line: int,
        scope_name: Callable[[ast.expr], str | None],
        reaches: Callable[[ast.Call], bool],
    ) -> None:
        self._file = file
        self._first = first_line
        self._scope_name = scope_name
        self._reaches = reaches
        self._task = "the kernel"
        self._tasks = 0
        self._blocks = 0
        self.sites: list[Site] = []

    def _place(self, node: ast.AST) -> Place:
        return Place(self._file, self._first + node.lineno - 1)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = []
        node.returns = None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        # They were evaluated where the function was defined; the caller takes them from there.
        node.args.defaults, node.args.kw_defaults = [], [None for _ in node.args.kwonlyargs]
        meeting = self._meeting(node.body)
        if meeting is None:
            node.body = self._statements(node.body)
        else:
            meet = ast.copy_location(ast.Expr(value=_runtime("meet")), node.body[meeting])
            node.body = [*self._statements(node.body[:meeting]), meet, *self._statements(node.body[meeting:])]
        return node

    def _meeting(self, statements: list[ast.stmt]) -> int | None:
        """Return the index of the statement before which the compiler lets the blocks of a cluster meet."""
        met = False
        for index, statement in enumerate(statements):
            calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
            if any(self._reaches(call) for call in calls):
                return None if met else index
            names = {_last_name(call.func) for call in calls}
            if names & set(_INITIALIZING):
                met = False
            elif isinstance(statement, ast.Expr) and "cluster_barrier" in names:
                met = True
        return None

    def _statements(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            visited = self.visit(statement)
            result.extend(visited if isinstance(visited, list) else [visited])
        return result

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = _last_name(node.func)
        if name in _ARRIVING:
            position = 3 if name == "async_descriptor_load" else 0
            given = node.args[position] if len(node.args) > position else None
            for keyword in node.keywords:
                given = keyword.value if keyword.arg in ("bar", "barrier", "mBarrier") else given
            if given is not None:
                barrier = ast.unparse(given)
                self.sites.append(Site(f"tlx.{name} of {barrier}", barrier, self._task, self._place(node)))
        elif name in _RING and isinstance(node.func, ast.Attribute):
            ring = ast.unparse(node.func.value)
            self.sites.append(Site(ast.unparse(node), f"{ring}.{_RING[name]}", self._task, self._place(node)))
        if isinstance(node.func, ast.Attribute):
            function = _runtime("member", self.visit(node.func.value), ast.Constant(value=node.func.attr))
        else:
            function = _runtime("function", self.visit(node.func))
        keywords = [ast.keyword(arg=item.arg, value=self.visit(item.value)) for item in node.keywords]
        call = ast.Call(func=function, args=[self.visit(item) for item in node.args], keywords=keywords)
        return ast.copy_location(call, node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        value, target = node.value, node.targets[0]
        named = isinstance(value, ast.Call) and _last_name(value.func) in _NAMED and isinstance(target, ast.Name)
        node = super().visit_Assign(node)
        if named:
            node.value = ast.copy_location(_runtime("named", node.value, ast.Constant(value=target.id)), value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # The annotation says that the value is a constant; it is used as it is.
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        word = "and" if isinstance(node.op, ast.And) else "or"
        operands = [_thunk(self.visit(value)) for value in node.values]
        return ast.copy_location(_runtime("logical", ast.Constant(value=word), *operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.copy_location(_runtime("negated", operand), node)
        node.operand = operand
        return node

    def visit_With(self, node: ast.With) -> Any:
        call = node.items[0].context_expr
        name = self._scope_name(call.func) if isinstance(call, ast.Call) and len(node.items) == 1 else None
        if name == "async_tasks":
            return self._block(node, call)
        if name == "warp_pipeline_stage":
            # Warps take turns at the stages of a loop, and each does what stands there, in that order.
            return self._statements(node.body)
        if name == "async_task":
            raise UnsupportedOperation(
                "a task stands outside of a block of tasks",
                where=str(self._place(node)),
                expected="with tlx.async_tasks(): around it",
            )
        raise UnsupportedOperation(
            "the simulator does not know this block",
            where=str(self._place(node)),
            found=f"with {', '.join(ast.unparse(item.context_expr) for item in node.items)}",
        )

    def _block(self, node: ast.With, call: ast.Call) -> list[ast.stmt]:
        self._blocks += 1
        name = f"__tlx_block_{self._blocks}"
        names = ast.Call(func=ast.Name(id="locals", ctx=ast.Load()), args=[], keywords=[])
        options = [ast.keyword(arg=item.arg, value=self.visit(item.value)) for item in call.keywords]
        opened = _runtime("tasks", names, *(self.visit(item) for item in call.args))
        opened.keywords = options
        statements = [
            ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=opened),
            *self._tasks_of(node.body, name),
            ast.Expr(value=self._method(name, "run")),
        ]
        return [self._located(statement, node) for statement in statements]

    @staticmethod
    def _located(statement: ast.stmt, node: ast.AST) -> ast.stmt:
        if not hasattr(statement, "lineno"):
            ast.copy_location(statement, node)
        return statement

    @staticmethod
    def _method(block: str, name: str, *args: ast.expr) -> ast.Call:
        owner = ast.Name(id=block, ctx=ast.Load())
        return ast.Call(func=ast.Attribute(value=owner, attr=name, ctx=ast.Load()), args=list(args), keywords=[])

    def _tasks_of(self, statements: list[ast.stmt], block: str) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.With) and isinstance(statement.items[0].context_expr, ast.Call):
                result.extend(self._one_task(statement, block))
            elif isinstance(statement, ast.If):
                statement.test = self.visit(statement.test)
                statement.body = self._tasks_of(statement.body, block) or [ast.Pass()]
                statement.orelse = self._tasks_of(statement.orelse, block)
                result.append(statement)
            elif not isinstance(statement, ast.Pass | ast.Expr):
                raise UnsupportedOperation(
                    "only tasks, and conditions on constants around them, stand in a block of tasks",
                    where=str(self._place(statement)),
                )
        return result

    def _one_task(self, node: ast.With, block: str) -> list[ast.stmt]:
        call = node.items[0].context_expr
        if self._scope_name(call.func) != "async_task":
            return [self.visit_With(node)]
        self._tasks += 1
        first = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "kind"), None)
        default = isinstance(first, ast.Constant) and first.value == "default"
        label = "the default task" if default else f"the task at line {self._place(node).line}"
        # Before calls are rewritten, which adds names.
        read = {name: self._place(use).line for name, use in _first_uses(node.body).items() if not _is_stored(use)}
        outer, self._task = self._task, label
        body = self._statements(node.body)
        self._task = outer
        name = f"__tlx_task_{self._tasks}"
        # What a task assigns is its own, and starts as what it was outside.
        assigned = sorted({n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and _is_stored(n)})
        starts = [
            ast.parse(f"if {variable!r} in {block}.names: {variable} = {block}.names[{variable!r}]").body[0]
            for variable in assigned
        ]
        for start in starts:
            for part in ast.walk(start):
                ast.copy_location(part, node)
        function = ast.parse(f"def {name}(): pass").body[0]
        function.body = [*starts, *body]
        place = ast.Tuple(
            elts=[ast.Constant(value=self._file), ast.Constant(value=self._place(node).line)], ctx=ast.Load()
        )
        reads = ast.Dict(keys=list(map(ast.Constant, read)), values=list(map(ast.Constant, read.values())))
        add = self._method(block, "add", ast.Constant(value=label), ast.Name(id=name, ctx=ast.Load()), place, reads)
        add.args.extend(self.visit(item) for item in call.args)
        add.keywords.extend(ast.keyword(arg=item.arg, value=self.visit(item.value)) for item in call.keywords)
        return [ast.copy_location(function, node), ast.copy_location(ast.Expr(value=add), node)]


def _first_uses(statements: list[ast.stmt]) -> dict[str, ast.Name]:
    """Return where each name is used first, in the order in which Python comes to them."""
    found: dict[str, ast.Name] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            found.setdefault(node.id, node)
            return
        parts = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
            # What is assigned comes behind what it is made of.
            source = node.iter if isinstance(node, ast.For) else node.value
            parts = [source, *(part for part in parts if part is not source)] if source is not None else parts
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            parts = [ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node.target), node.value]
        for part in parts:
            visit(part)

    for statement in statements:
        visit(statement)
    return found


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def names_other_block(call: ast.Call) -> bool:
    """Return whether a call is one of an op that accesses another block of a cluster."""
    name, keywords = _last_name(call.func), {item.arg for item in call.keywords}
    if name in _IN_PAIRS:
        pair = [item.value for item in call.keywords if item.arg == "two_ctas"] or call.args[_IN_PAIRS[name] :][:1]
        if pair and not (isinstance(pair[0], ast.Constant) and not pair[0].value):
            return True
    if name == "barrier_arrive":
        return "remote_cta_rank" in keywords or len(call.args) > 2
    if name == "async_descriptor_load":
        return "multicast_targets" in keywords or len(call.args) > 7
    return name in _REMOTE


def rewrite(
    function: Any, scope_name: Callable[[ast.expr], str | None], reaches: Callable[[ast.Call], bool]
) -> Rewritten:
    """Rewrite a ``@triton.jit`` function.

    Args:
        function: It.
        scope_name: As of :class:`Rewriter`.
        reaches: As of :class:`Rewriter`.

    Raises:
        UnsupportedOperation: It has a statement that is not known.
    """
    rewriter = Rewriter(function.file_name, function.def_file_line_number, scope_name, reaches)
    tree = rewriter.visit(function.parse())
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, function.def_file_line_number - 1)
    return Rewritten(compile(tree, function.file_name, "exec"), rewriter.sites)
