"""The reference of an extension's ops, read from the source of its Python package.

An op is a function marked with ``@op(…)`` of the package's ``definition.py``, whose docstring has a summary, text, and
sections of Google style. What an op returns may have methods of its own: the public ones of a class that stands in the
``__all__`` of the op's file, marked with ``@builtin`` or ``@property``. Nothing is imported: Triton and the extension
need not be installed.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pathlib
import re
import textwrap
from collections.abc import Iterator
from typing import Any

__all__ = ["Method", "Op", "page", "read", "read_methods"]

_SECTIONS = ("Args", "Returns", "Raises", "Attributes", "Example")


@dataclasses.dataclass(frozen=True)
class Op:
    """What the source says of an op.

    Attributes:
        name: Its name.
        module: Name of the file it is in.
        summary: What the file is about.
        signature: Its arguments and their defaults.
        text: Its docstring.
        targets: The targets that have it.
        limits: What fewer targets have: an argument, or values of one, and the targets.
    """

    name: str
    module: str
    summary: str
    signature: str
    text: str
    targets: tuple[str, ...]
    limits: tuple[tuple[str, tuple[str, ...]], ...]


@dataclasses.dataclass(frozen=True)
class Method:
    """What the source says of a method of what an op returns.

    Attributes:
        owner: Name of the class.
        about: Docstring of the class.
        name: Its name.
        module: Name of the file it is in.
        signature: Its arguments and their defaults; None for a property.
        text: Its docstring.
    """

    owner: str
    about: str
    name: str
    module: str
    signature: str | None
    text: str


def read(package: pathlib.Path) -> list[Op]:
    """Return the ops of a package, by file and then in the order of the source."""
    constants = _constants(ast.parse((package / "definition.py").read_text()))
    return [op for path in sorted(package.glob("*.py")) for op in _ops(path, constants)]


def read_methods(package: pathlib.Path) -> list[Method]:
    """Return the methods of what the ops of a package return, by file and then in the order of the source."""
    return [method for path in sorted(package.glob("*.py")) for method in _methods(path)]


def page(title: str, notice: str, package: pathlib.Path) -> str:
    """Return the page on the ops of a package."""
    ops, methods = read(package), read_methods(package)
    targets = _constants(ast.parse((package / "definition.py").read_text()))["ALL"]
    lines = [notice, f"# {title}", "", f"| op | {' | '.join(targets)} |", f"|---|{'---|' * len(targets)}"]
    for op in sorted(ops, key=lambda op: op.name):
        lines.append(_row(f"[`{op.name}`](#{op.name})", op.targets, targets))
        for what, having in op.limits:
            lines.append(_row(f"`{op.name}`, {what}", having, targets))
    modules = dict.fromkeys(op.module for op in ops)
    for module in modules:
        of_module = [op for op in ops if op.module == module]
        lines += ["", f"## {of_module[0].summary.rstrip('.')}"]
        for op in of_module:
            lines += ["", f"### `{op.name}`", "", f"```text\n{op.name}({op.signature})\n```", "", render(op.text)]
        owner = None
        for method in (method for method in methods if method.module == module):
            if method.owner != owner:
                owner = method.owner
                lines += ["", f"### `{owner}`", "", render(method.about)]
            call = method.name if method.signature is None else f"{method.name}({method.signature})"
            lines += ["", f"#### `{owner}.{method.name}`", "", f"```text\n{call}\n```", "", render(method.text)]
    return "\n".join(lines) + "\n"


def _row(name: str, having: tuple[str, ...], targets: tuple[str, ...]) -> str:
    return f"| {name} | {' | '.join('●' if target in having else '' for target in targets)} |"


def _constants(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the tuples of targets that a file gives names to."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and _is_of_texts(node.value):
            found[node.targets[0].id] = _evaluate(node.value, found)
    return found


def _is_of_texts(node: ast.Tuple) -> bool:
    return all(
        isinstance(item, ast.Starred) or (isinstance(item, ast.Constant) and isinstance(item.value, str))
        for item in node.elts
    )


def _evaluate(node: ast.expr, names: dict[str, Any]) -> Any:
    """Return the value of an expression of literals and known names."""
    return eval(compile(ast.Expression(node), "<targets>", "eval"), {"__builtins__": {}, "dict": dict}, names)


def _ops(path: pathlib.Path, constants: dict[str, Any]) -> Iterator[Op]:
    tree = ast.parse(path.read_text())
    summary = (ast.get_docstring(tree) or path.stem).splitlines()[0]
    names = {**constants, **_constants(tree)}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if not isinstance(mark, ast.Call) or getattr(mark.func, "id", "") != "op":
                continue
            given = {item.arg: item.value for item in mark.keywords}

            def value(name: str, default: Any) -> Any:
                return _evaluate(given[name], names) if name in given else default  # noqa: B023

            limits = [(f"argument `{name}`", having) for name, having in value("arguments", {}).items()]
            limits += [(f"`{name}` {which}", having) for name, (which, having) in value("values", {}).items()]
            text = ast.get_docstring(node)
            if text is None:
                raise SystemExit(f"{path}: {node.name} has no docstring")
            targets = value("targets", constants["ALL"])
            yield Op(node.name, path.stem, summary, _signature(node.args), text, targets, tuple(limits))


def _methods(path: pathlib.Path) -> Iterator[Method]:
    tree = ast.parse(path.read_text())
    exported = {
        name
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        for name in ast.literal_eval(node.value)
    }
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef) or owner.name not in exported:
            continue
        for node in owner.body:
            marks = {getattr(mark, "id", "") for mark in getattr(node, "decorator_list", ())}
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if text is None or node.name.startswith("_") or not marks & {"builtin", "property"}:
                continue
            node.args.args = node.args.args[1:]
            signature = None if "property" in marks else _signature(node.args)
            yield Method(owner.name, ast.get_docstring(owner) or "", node.name, path.stem, signature, text)


def _signature(arguments: ast.arguments) -> str:
    """Return arguments without annotations and without those that the front end adds."""
    plain = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    shown = [(argument.arg, default) for argument, default in zip(arguments.args, plain)]
    if arguments.vararg:
        shown.append((f"*{arguments.vararg.arg}", None))
    shown += [(argument.arg, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return ", ".join(
        name + (f"={ast.unparse(default)}" if default else "") for name, default in shown if not name.startswith("_")
    )


def render(text: str) -> str:
    """Return a docstring in Markdown."""
    lines = inspect.cleandoc(text).splitlines()
    out: list[str] = []
    index = 0
    while index < len(lines):
        match = re.fullmatch(r"(\w+)::?", lines[index])
        if match and match[1] in _SECTIONS:
            end = index + 1
            while end < len(lines) and (not lines[end] or lines[end].startswith(" ")):
                end += 1
            out += [f"{'Arguments' if match[1] == 'Args' else match[1]}:", ""]
            out += _section(textwrap.dedent("\n".join(lines[index + 1 : end])).strip().splitlines())
            out.append("")
            index = end
        else:
            out.append(lines[index])
            index += 1
    body = "\n".join(out).strip()
    # The last part of what starts with `~` is shown, as Sphinx does.
    body = re.sub(
        r":(?:func|class|meth|attr):`(?:~[\w.]*?(\w+)|([^`]*))`", lambda match: f"`{match[1] or match[2]}`", body
    )
    return body.replace("``", "`")


def _section(lines: list[str]) -> list[str]:
    """Return entries `name: text` as items of a list, and other text as it is."""
    if not lines or not re.match(r"\*{0,2}\w+: ", lines[0]):
        return lines
    items: list[str] = []
    for line in lines:
        match = re.match(r"(\*{0,2}\w+): (.*)", line)
        if match and not line.startswith(" "):
            items.append(f"- `{match[1]}`: {match[2]}")
        else:
            items[-1] += " " + line.strip()
    return items
