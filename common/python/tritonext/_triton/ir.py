"""MLIR through Triton's Python bindings: contexts, parsing, running passes by name, and the diagnostics of both.

The bindings raise a bare ``RuntimeError`` and leave the reason on the process's standard error, so parsing and running
here capture that stream at the file-descriptor level and return it as :class:`Diagnostic` objects. That is for tools
and tests; a kernel's compilation never passes through this module.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
import pathlib
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from triton._C import libtriton

from tritonext.errors import DiagnosticError, OptionError, UnknownPassError

__all__ = [
    "Captured",
    "Diagnostic",
    "StockPass",
    "add_pass",
    "capture_stderr",
    "context",
    "environment",
    "extension_pass_names",
    "generic_text",
    "parse_diagnostics",
    "parse_text",
    "pass_manager",
    "redirect_stderr",
    "run",
    "source_name",
    "stock_pass",
    "stock_passes",
    "text",
    "unknown_pass",
]

_capture_lock = threading.RLock()

_SEVERITIES = "error|warning|remark|note"
_DIAGNOSTIC = re.compile(
    rf'^(?:loc\("(?P<parsed>[^"]*)":(?P<parsed_line>\d+):(?P<parsed_column>\d+)\): '
    rf"|(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): "
    rf"|(?:loc\((?P<other>.*)\): |<unknown>:0: )?)(?P<severity>{_SEVERITIES}): (?P<message>.*)$"
)
_MODULE_START = re.compile(r'(module\b|"builtin\.module"\()')
_ALIAS = re.compile(r"[#!][\w.-]+ = ")
_TEMPORARY = re.compile(r"/tritonext-[^/]*/input\.mlir$")
_SIGNAL = re.compile(r"A signal was caught while processing the MLIR module")
_PIPELINE_FAILED = re.compile(r"Failures have been detected while processing an MLIR pass pipeline")
_FAILED_PASS = re.compile(r"Pipeline failed while executing \[?`([^`]+)`")

# Groups of pass adders, as (dotted path under libtriton, prefix of the anchor names).
_ROOTS = (
    ("passes", ""),
    ("nvidia.passes", "nvidia."),
    ("amd.passes", "amd."),
    ("proton", "proton."),
)
_SIGNATURE = re.compile(r"^add_\w+\((?P<parameters>[^)]*)\)")


@dataclass(frozen=True)
class Diagnostic:
    """One message of MLIR.

    Attributes:
        severity: ``error``, ``warning``, ``remark`` or ``note``.
        message: Its text, which may have several lines.
        file: File of its location; None when it has none.
        line: 1-based line; 0 when it has none.
        column: 1-based column; 0 when it has none.
    """

    severity: str
    message: str
    file: str | None = None
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        # MLIR gives line 0 to a module that the text does not spell out.
        place = [self.file, *([str(self.line), str(self.column)] if self.line else [])] if self.file else []
        return f"{''.join(f'{part}:' for part in place)}{' ' if place else ''}{self.severity}: {self.message}"


@dataclass(frozen=True)
class StockPass:
    """A pass the stock wheel can add to a pass manager.

    Attributes:
        name: Its anchor name, such as ``ttgpuir.coalesce``.
        path: Its place in Triton, such as ``passes.ttgpuir.add_coalesce``.
        parameters: Types of its arguments: ``int``, ``bool``, ``str``, or the path of an enumeration of Triton.
        add: The function, which takes the pass manager and the arguments.
    """

    name: str
    path: str
    parameters: tuple[str, ...]
    add: Callable[..., None]

    def __str__(self) -> str:
        kinds = " ".join(kind.rpartition(".")[2] for kind in self.parameters)
        return f"{self.name}{{{kinds}}}" if kinds else self.name


def context() -> Any:
    """Return a new MLIR context with all dialects of Triton, its backends and the extensions loaded so far."""
    made = libtriton.ir.context()
    libtriton.ir.load_dialects(made)
    for backend in ("nvidia", "amd", "proton"):
        getattr(libtriton, backend).load_dialects(made)
    # The printed op would make up most of a diagnostic's text.
    made.printOpOnDiagnostic(False)
    return made


def pass_manager(made_in: Any) -> Any:
    """Return a new pass manager for modules of the given context."""
    return libtriton.ir.pass_manager(made_in)


def parse_text(source: str, made_in: Any, name: str = "<input>", first_line: int = 1) -> Any:
    """Parse a module.

    Args:
        source: Its text.
        made_in: The context.
        name: What diagnostics call the source.
        first_line: Line of ``name`` at which the text starts.

    Raises:
        DiagnosticError: The text is not a valid module; ``diagnostics`` has the reasons.
    """
    with tempfile.TemporaryDirectory(prefix="tritonext-") as directory:
        # The bindings read files only. Locations keep the file's name, so it is replaced in what is shown.
        path = pathlib.Path(directory) / "input.mlir"
        path.write_text("\n" * (first_line - 1) + source, encoding="utf-8")
        return _parse(path, made_in, name)


def run(manager: Any, module: Any, name: str = "<input>") -> list[Diagnostic]:
    """Run a pass manager on a module.

    Args:
        manager: The pass manager.
        module: The module, changed in place.
        name: What diagnostics call the source of a module that :func:`parse_text` made.

    Returns:
        Warnings, remarks and notes of the passes.

    Raises:
        DiagnosticError: A pass failed or left invalid IR; ``diagnostics`` has all messages.
    """
    failed = False
    with capture_stderr() as captured, environment("MLIR_ENABLE_DIAGNOSTICS", "warnings,remarks"):
        try:
            manager.run(module, "tritonext")
        except RuntimeError:
            failed = True
    diagnostics = parse_diagnostics(_without_reproducers(captured.text), name)
    culprit = next((match[1] for d in diagnostics if (match := _FAILED_PASS.search(d.message))), None)
    crashed = any(_SIGNAL.search(diagnostic.message) for diagnostic in diagnostics)
    # What these three say beyond the reasons before them is in the exception's message.
    noise = (_SIGNAL, _PIPELINE_FAILED, _FAILED_PASS)
    diagnostics = [d for d in diagnostics if not any(pattern.search(d.message) for pattern in noise)]
    if failed:
        subject = f"the pass {culprit}" if culprit else "the pass pipeline"
        error = _error(f"{subject} {'crashed' if crashed else 'failed'}", diagnostics, name)
        error.crashed = crashed
        raise error
    return diagnostics


def text(module: Any, locations: bool = False) -> str:
    """Return the textual form of a module."""
    return module.str() if locations else module.str_nodebug()


def generic_text(module: Any, made_in: Any) -> str:
    """Return the generic textual form of a module, with locations, in which all operations are written alike.

    The bindings cannot ask for it, but MLIR falls back to it where a module is invalid. So the module gets a return
    outside of a function, and is of no use afterwards.

    Args:
        module: A valid module with a function.
        made_in: Its context.
    """
    blocks: list[Any] = []
    module.walk(lambda operation: blocks.append(operation.get_block()) if operation.get_name() == "tt.func" else None)
    builder = libtriton.ir.builder(made_in)
    builder.set_insertion_point_to_end(blocks[0])
    builder.ret([])
    return module.str()


@functools.cache
def stock_passes() -> dict[str, StockPass]:
    """Return every pass adder of the installed wheel by anchor name, sorted."""
    found = {}
    for root, prefix in _ROOTS:
        module = functools.reduce(getattr, root.split("."), libtriton)
        groups = {"": module, **{name: group for name, group in vars(module).items() if type(group) is type(module)}}
        for group_name, group in groups.items():
            # Extensions bind their passes into this one.
            if group is libtriton.passes.plugin:
                continue
            for attribute, function in vars(group).items():
                parameters = _parameters(function) if attribute.startswith("add_") else None
                if parameters is not None:
                    place = [group_name] if group_name else []
                    name = prefix + ".".join([*place, attribute.removeprefix("add_")])
                    found[name] = StockPass(name, ".".join([root, *place, attribute]), parameters, function)
    return dict(sorted(found.items()))


def stock_pass(name: str) -> StockPass | None:
    """Return the stock pass of the given anchor name, upstream path or MLIR flag, or None."""
    passes = stock_passes()
    short = ".".join(part.removeprefix("add_") for part in name.split(".") if part != "passes")
    return passes.get(short) or passes.get(_flags().get(name, ""))


def extension_pass_names() -> list[str]:
    """Return the names of the passes of all libraries loaded so far."""
    return sorted(name.removeprefix("add_") for name in dir(libtriton.passes.plugin) if name.startswith("add_"))


def add_pass(manager: Any, name: str, arguments: Sequence[object] = ()) -> None:
    """Append a pass to a pass manager.

    Args:
        manager: The pass manager.
        name: Anchor name or upstream path of a stock pass, or flag or name of a pass of a loaded extension.
        arguments: Values in the order of the binding for a stock pass; ``key=value`` for a pass of an extension.

    Raises:
        UnknownPassError: Nothing has this name; the nearest names are listed.
        OptionError: A stock pass takes other arguments.
    """
    snake = name.replace("-", "_")
    if (extension := getattr(libtriton.passes.plugin, f"add_{snake}", None)) is not None:
        extension(manager, [str(argument) for argument in arguments])
        return
    stock = stock_pass(name)
    if stock is None:
        raise unknown_pass(name)
    if len(arguments) != len(stock.parameters):
        raise OptionError(
            f"the stock pass {stock.name} takes {len(stock.parameters) or 'no'} arguments",
            expected=str(stock),
            found=f"{len(arguments)} arguments",
            hint="give them in this order, separated by spaces",
        )
    values = [_convert(stock, kind, argument) for kind, argument in zip(stock.parameters, arguments)]
    stock.add(manager, *values)


def unknown_pass(name: str, others: Sequence[str] = ()) -> UnknownPassError:
    """Return the error for a pass name that nothing has, with the nearest of all names and of ``others``."""
    candidates = [*stock_passes(), *extension_pass_names(), *others, *_flags()]
    # A name given without its group is a frequent slip, and closeness alone would not find it.
    near = [known for known in candidates if known.rpartition(".")[2] == name.replace("-", "_")]
    near += difflib.get_close_matches(name, candidates, 5, 0.6)
    return UnknownPassError(
        f"no pass is called {name!r}",
        found=name,
        details=[f"near: {known}" for known in dict.fromkeys(near)],
        hint="list all passes with `python -m tritonext.opt --list-passes`",
    )


class Captured:
    """What a block wrote to standard error; empty until it ends."""

    text = ""


@contextlib.contextmanager
def redirect_stderr(captured: Captured) -> Iterator[None]:
    """Send file descriptor 2 to ``captured`` for the duration of the block; blocks of several threads take turns."""
    with _capture_lock, tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            captured.text = file.read().decode(errors="replace")


@contextlib.contextmanager
def capture_stderr() -> Iterator[Captured]:
    """Redirect file descriptor 2 as :func:`redirect_stderr` does.

    When an exception leaves the block, what was captured goes to the real stream after all.
    """
    captured = Captured()
    try:
        with redirect_stderr(captured):
            yield captured
    except BaseException:
        os.write(2, captured.text.encode())
        raise


def parse_diagnostics(output: str, name: str | None = None) -> list[Diagnostic]:
    """Split MLIR's output into diagnostics; lines that start none continue the one before.

    Args:
        output: The text.
        name: What to call the temporary file of :func:`parse_text`; None keeps its name.
    """
    found: list[dict[str, Any]] = []
    for line in output.splitlines():
        match = _DIAGNOSTIC.match(line)
        if match is None:
            if found and line.strip():
                found[-1]["message"] += "\n" + line.rstrip()
            continue
        file = match["parsed"] or match["file"]
        if file and name is not None:
            file = source_name(file, name)
        found.append(
            {
                "severity": match["severity"],
                "message": match["message"].rstrip(),
                "file": file or match["other"],
                "line": int(match["parsed_line"] or match["line"] or 0),
                "column": int(match["parsed_column"] or match["column"] or 0),
            }
        )
    return [Diagnostic(**fields) for fields in found]


def source_name(file: str, name: str) -> str:
    """Return ``name`` when ``file`` is the temporary file that :func:`parse_text` made of it, else ``file``."""
    return name if _TEMPORARY.search(file) else file


def _parse(path: pathlib.Path, made_in: Any, name: str) -> Any:
    with capture_stderr() as captured:
        try:
            module = libtriton.ir.parse_mlir_module(os.fspath(path), made_in)
        except RuntimeError:
            module = None
    if module is None:
        raise _error("the input is no valid module", parse_diagnostics(captured.text, name), name)
    # A valid module gives no diagnostics: what there is, another thread wrote meanwhile.
    os.write(2, captured.text.encode())
    # Without a reference of its own, the context may be collected while the module lives.
    module.context = made_in
    return module


def _error(message: str, diagnostics: list[Diagnostic], name: str) -> DiagnosticError:
    error = DiagnosticError(message, where=name, details=[line for d in diagnostics for line in str(d).splitlines()])
    error.diagnostics = tuple(diagnostics)
    return error


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Set an environment variable, which MLIR reads, for the duration of the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _without_reproducers(output: str) -> str:
    """Drop the modules that the bindings dump with instructions to reproduce a failure."""
    lines = output.splitlines()
    kept: list[str] = []
    inside = False
    for index, line in enumerate(lines):
        if line == "{-#" and "external_resources" in "".join(lines[index + 1 : index + 2]):
            # The dump starts at the last module in the first column, or at the aliases right before it.
            while kept and not _MODULE_START.match(kept.pop()):
                pass
            while kept and _ALIAS.match(kept[-1]):
                kept.pop()
            inside = True
        elif not inside:
            kept.append(line)
        elif line == "#-}":
            inside = False
    return "\n".join(kept)


def _parameters(function: Any) -> tuple[str, ...] | None:
    """Return the argument types after the pass manager, or None when the function takes no pass manager."""
    match = _SIGNATURE.match(getattr(function, "__doc__", None) or "")
    if match is None:
        return None
    types = [part.partition(":")[2].strip() for part in match["parameters"].split(",") if ":" in part]
    if not types or not types[0].endswith(".pass_manager"):
        return None
    return tuple(types[1:])


def _convert(stock: StockPass, kind: str, argument: object) -> object:
    """Turn one argument, possibly the text of an option, into what the binding takes."""
    value = str(argument)
    if kind == "str":
        return value
    if kind == "int" and re.fullmatch(r"-?[0-9]+", value):
        return int(value)
    if kind == "bool" and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if "." in kind:
        values = functools.reduce(getattr, kind.removeprefix("triton._C.libtriton.").split("."), libtriton)
        if isinstance(member := getattr(values, value, None), values):
            return member
    raise OptionError(
        f"an argument of the stock pass {stock.name} has the wrong type", expected=str(stock), found=repr(value)
    )


@functools.cache
def _flags() -> dict[str, str]:
    """Return the anchor name of each stock pass by its MLIR flag, for the flags that only one adder has."""
    made = context()
    samples = {"int": 1, "bool": False, "str": "gfx942"}
    names: dict[str, list[str]] = {}
    for stock in stock_passes().values():
        if not all(kind in samples for kind in stock.parameters):
            continue
        manager = pass_manager(made)
        stock.add(manager, *(samples[kind] for kind in stock.parameters))
        match = re.fullmatch(r"any\(([A-Za-z0-9-]+)\)", re.sub(r"\{[^}]*\}", "", manager.get_pipeline_str()))
        if match:
            names.setdefault(match[1], []).append(stock.name)
    return {flag: found[0] for flag, found in names.items() if len(found) == 1}
