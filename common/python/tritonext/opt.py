"""``python -m tritonext.opt``: run stock and extension passes by name on textual IR, and check the diagnostics.

It takes the place of ``triton-opt``, which the wheel lacks, in tests and by hand. Every module of the input is
processed in a forked child, so a pass that crashes ends its own module and is reported like any other failure.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import pathlib
import pickle
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import registry
from .errors import DiagnosticError, OptionError, TritonextError, UserError

if TYPE_CHECKING:
    from ._triton.ir import Diagnostic
    from .remarks import Remark

__all__ = [
    "Chunk",
    "Expectation",
    "PassCall",
    "expectations",
    "main",
    "mismatches",
    "parse_pipeline",
    "run_passes",
    "split_input",
]

SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)

_PASS_NAME = re.compile(r"[A-Za-z][\w.-]*")
_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?"
    r"\s*(?:@(?P<place>[+-][0-9]+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_LOOSE_EXPECTATION = re.compile(r"expected-(error|warning|remark|note)\b")
_REGEX_PART = re.compile(r"\{\{(.*?)\}\}")

_EXAMPLES = """\
examples:
  python -m tritonext.opt kernel.ttgir --pass ttgpuir.coalesce --pass common.cse
  python -m tritonext.opt in.mlir --pipeline "layout-localize-stores,ttgpuir.pipeline{3 false}"
  python -m tritonext.opt tests.mlir --pass layout-localize-stores --verify-diagnostics
  python -m tritonext.opt - --load probe < in.mlir
  python -m tritonext.opt --list-passes
"""


@dataclass(frozen=True)
class Chunk:
    """One module of the input: its text and the line of the file it starts at."""

    text: str
    first_line: int


@dataclass(frozen=True)
class PassCall:
    """One pass to run: its name as given, and its options, or the arguments of a stock pass."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expectation:
    """One ``// expected-…`` comment: the message it waits for, and the line, None for a message without a location."""

    severity: str
    pattern: re.Pattern[str]
    text: str
    line: int | None
    written_at: int


@dataclass
class _Result:
    """What processing one module gave."""

    output: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    error: Exception | None = None
    remarks: str = ""


def split_input(text: str) -> list[Chunk]:
    """Split the input at lines that start with ``// -----``; parts without content are dropped."""
    chunks = []
    start = 0
    for match in [*SEPARATOR.finditer(text), None]:
        part = text[start : match.start() if match else len(text)]
        if part.strip():
            chunks.append(Chunk(part, text.count("\n", 0, start) + 1))
        start = match.end() if match else len(text)
    return chunks


def parse_pipeline(text: str) -> list[PassCall]:
    """Read ``name{option=value option2=value},name2,…``.

    Raises:
        OptionError: The text is malformed.
    """
    calls = []
    position = 0
    while True:
        match = _PASS_NAME.match(text, position)
        if match is None:
            raise _malformed(text, position, "the name of a pass")
        position = match.end()
        arguments: tuple[str, ...] = ()
        if text[position : position + 1] == "{":
            end = _closing_brace(text, position)
            arguments = tuple(_split_options(text[position + 1 : end]))
            position = end + 1
        calls.append(PassCall(match[0], arguments))
        if position == len(text):
            return calls
        if text[position] != ",":
            raise _malformed(text, position, "a comma, {options}, or the end")
        position += 1


def run_passes(text: str, pipeline: str) -> tuple[str, list[Remark]]:
    """Run passes on a module in this process.

    Args:
        text: The module, such as ``kernel.asm["ttgir"]``.
        pipeline: The passes, as :func:`parse_pipeline` reads them; extensions that have them are loaded.

    Returns:
        The module as text with locations, and the remarks of the extensions' passes.

    Raises:
        OptionError: The pipeline is malformed.
        DiagnosticError: The text is no module, or a pass failed.
        TritonextError: A pass is unknown, or an extension is refused.
    """
    from . import remarks
    from ._triton import ir

    calls = parse_pipeline(pipeline)
    for call in calls:
        _provide(call.name)
        _check_options(call)
    made = ir.context()
    module = ir.parse_text(text, made)
    manager = ir.pass_manager(made)
    for call in calls:
        ir.add_pass(manager, call.name, call.arguments)
    with remarks.collect() as found:
        ir.run(manager, module)
    found = [dataclasses.replace(remark, file=ir.source_name(remark.file, "<input>")) for remark in found]
    return ir.text(module, locations=True), found


def expectations(chunk: Chunk) -> list[Expectation]:
    """Return the ``// expected-…`` comments of a module, with lines of the whole file.

    Raises:
        UserError: A comment starts like an expectation and is none.
    """
    lines = chunk.text.split("\n")
    marked = [bool(_LOOSE_EXPECTATION.search(line.partition("//")[2])) for line in lines]
    found = []
    for index, line in enumerate(lines):
        if not marked[index]:
            continue
        number = chunk.first_line + index
        match = _EXPECTATION.search(line)
        if match is None:
            raise UserError(
                "an expectation is malformed",
                where=f"line {number}",
                expected="// expected-error [@+N|@-N|@above|@below|@unknown] {{text}}",
                found=line.strip(),
            )
        place = match["place"]
        if place in ("above", "below"):
            # Several expectations may be stacked on one line of code, so lines that hold only them do not count.
            step = -1 if place == "above" else 1
            target = index + step
            while 0 <= target < len(lines) and marked[target]:
                target += step
            wanted = chunk.first_line + target
        else:
            wanted = None if place == "unknown" else number + int(place or 0)
        found.append(Expectation(match["severity"], _pattern(match), match["text"], wanted, number))
    return found


def mismatches(wanted: Sequence[Expectation], diagnostics: Sequence[Diagnostic], name: str) -> list[str]:
    """Return one line for each diagnostic nothing expects, and each expectation nothing meets.

    Args:
        wanted: The expectations of a module.
        diagnostics: What it gave.
        name: The file, for lines about expectations.
    """
    open_ones, met = list(wanted), []
    problems = []
    for diagnostic in diagnostics:
        line = diagnostic.line or None
        # A pattern that is tried again repeats its remark, so what was expected once may come again, as in MLIR.
        match = next(
            (
                expectation
                for expectation in [*open_ones, *met]
                if (expectation.severity, expectation.line) == (diagnostic.severity, line)
                and expectation.pattern.search(diagnostic.message)
            ),
            None,
        )
        if match is None:
            place = f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}" if line else name
            problems.append(f"{place}: unexpected {diagnostic.severity}: {diagnostic.message}")
        elif match in open_ones:
            open_ones.remove(match)
            met.append(match)
    for expectation in open_ones:
        place = f"line {expectation.line}" if expectation.line else "no location"
        problems.append(
            f"{name}:{expectation.written_at}: expected {expectation.severity} at {place} "
            f"was not produced: {expectation.text}"
        )
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Command line without the program's name; the process's own when None.

    Returns:
        0 when every module was processed, or gave the diagnostics it expects; 1 otherwise.

    Raises:
        TritonextError: The input, a pass, an option or an extension is unusable.
    """
    return _run(_parser().parse_args(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tritonext.opt",
        description="Run stock and extension passes by name on textual MLIR and print the result.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("input", nargs="?", default="-", metavar="FILE", help="the input; - reads standard input")
    parser.add_argument(
        "--pass",
        dest="passes",
        action="append",
        default=[],
        metavar="NAME{OPTIONS}",
        help="a pass to run, with `key=value` options, or positional arguments for a stock pass; repeat in order",
    )
    parser.add_argument(
        "--pipeline", dest="passes", action="append", metavar="A{…},B", help="several passes in one argument"
    )
    parser.add_argument(
        "--split-input-file",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="process the parts between lines `// -----` as modules of their own (default)",
    )
    parser.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="compare errors, warnings, remarks and notes with `// expected-…` comments",
    )
    parser.add_argument(
        "--load", action="append", default=[], metavar="ID", help="load an installed extension before parsing"
    )
    parser.add_argument(
        "--load-library", action="append", default=[], metavar="PATH", help="load a plugin library before parsing"
    )
    parser.add_argument(
        "--remarks", action="store_true", help="print the remarks of extension passes on standard error"
    )
    parser.add_argument("--print-locations", action="store_true", help="keep locations in the output")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the result instead of standard output")
    parser.add_argument("--list-passes", action="store_true", help="list every pass by name and exit")
    return parser


def _run(options: argparse.Namespace) -> int:
    from . import loader
    from ._triton import ir

    # Contexts know only the dialects of libraries loaded before them.
    for identifier in options.load:
        loader.load(identifier)
    for path in options.load_library:
        loader.load_library(path)
    if options.list_passes:
        print("\n".join(_pass_list()))
        return 0
    calls = [call for text in options.passes for call in parse_pipeline(text)]
    for call in calls:
        _provide(call.name)
    # Every module would fail the same way on a wrong name or argument.
    manager = ir.pass_manager(ir.context())
    for call in calls:
        _check_options(call)
        ir.add_pass(manager, call.name, call.arguments)

    text, name = _read(options.input)
    chunks = split_input(text) if options.split_input_file else [Chunk(text, 1)]
    outputs = []
    failed = False
    for chunk in chunks:
        wanted = expectations(chunk) if options.verify_diagnostics else []
        result = _isolated(chunk, calls, name, options)
        sys.stderr.write(result.remarks)
        if options.verify_diagnostics:
            problems = mismatches(wanted, result.diagnostics, name)
            # Failing is what the module is for, provided that it said why.
            explained = isinstance(result.error, DiagnosticError) and result.diagnostics and not result.error.crashed
            if result.error and not explained:
                problems.append(f"error: {result.error}")
            failed |= bool(problems)
        elif result.error:
            problems = [f"error: {result.error}"]
            failed = True
        else:
            problems = [str(diagnostic) for diagnostic in result.diagnostics]
        for problem in problems:
            print(problem, file=sys.stderr)
        if result.error is None:
            outputs.append(result.output)
    _write("\n// -----\n\n".join(outputs), options.output)
    return 1 if failed else 0


def _isolated(chunk: Chunk, calls: list[PassCall], name: str, options: argparse.Namespace) -> _Result:
    """Process one module in a forked child and return what it gave, or what is known of its crash."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as noise:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            # The child must never return into the caller's code, whatever happens.
            status = 1
            with contextlib.suppress(BaseException):
                os.dup2(noise.fileno(), 2)
                answer.write(pickle.dumps(_process(chunk, calls, name, options)))
                answer.flush()
                status = 0
            os._exit(status)
        _, status = os.waitpid(child, 0)
        if status == 0:
            answer.seek(0)
            return pickle.load(answer)
        noise.seek(0)
        tail = noise.read().decode(errors="replace").strip().splitlines()[-20:]
    number = os.waitstatus_to_exitcode(status)
    reason = signal.Signals(-number).name if number < 0 else f"exit status {number}"
    error = UserError(
        "the process crashed in a pass",
        where=f"{name}:{chunk.first_line}",
        found=reason,
        details=tail,
        hint="run one pass at a time to see which one it is",
    )
    return _Result(error=error)


def _process(chunk: Chunk, calls: list[PassCall], name: str, options: argparse.Namespace) -> _Result:
    from . import remarks
    from ._triton import ir

    result = _Result()
    try:
        made = ir.context()
        module = ir.parse_text(chunk.text, made, name, chunk.first_line)
        manager = ir.pass_manager(made)
        for call in calls:
            ir.add_pass(manager, call.name, call.arguments)
        with remarks.collect() if options.remarks else contextlib.nullcontext([]) as found:
            result.diagnostics = ir.run(manager, module, name) if calls else []
        if found:
            named = [dataclasses.replace(remark, file=ir.source_name(remark.file, name)) for remark in found]
            result.remarks = remarks.render(named) + "\n"
        result.output = ir.text(module, locations=options.print_locations)
    except DiagnosticError as error:
        result.error, result.diagnostics = error, list(error.diagnostics)
    except TritonextError as error:
        result.error = error
    except Exception as error:
        result.error = UserError(
            "triton raised an error",
            where=f"{name}:{chunk.first_line}",
            found=f"{type(error).__name__}: {error}",
            details=traceback.format_exc().splitlines()[-3:-1],
        )
    return result


def _provide(name: str) -> None:
    """Load the installed extension that has the pass, so that naming the pass is enough."""
    from . import loader
    from ._triton import ir

    snake = name.replace("-", "_")
    if snake in ir.extension_pass_names() or ir.stock_pass(name):
        return
    others = []
    for extension in registry.installed().values():
        names = [entry.name for entry in extension.manifest.passes]
        others += [entry.flag for entry in extension.manifest.passes]
        if snake in names:
            loader.load(extension.id)
            return
    raise ir.unknown_pass(name, others)


def _check_options(call: PassCall) -> None:
    """Let the extension parse the options of its pass once, for one error instead of one for each module."""
    from . import loader

    snake = call.name.replace("-", "_")
    for library in loader.loaded().values():
        if snake in library.native.plugin.passes and library.native.extension:
            library.native.check_pass_options(snake, " ".join(call.arguments))


def _pass_list() -> Iterator[str]:
    from ._triton import ir

    yield "stock passes, with the types of their positional arguments:"
    yield from (f"  {stock}" for stock in ir.stock_passes().values())
    listed = set()
    for extension in registry.installed().values():
        yield f"passes of the extension {extension.id} {extension.version}:"
        for entry in extension.manifest.passes:
            listed.add(entry.name)
            yield f"  {entry.flag}"
    others = [name for name in ir.extension_pass_names() if name not in listed]
    if others:
        yield "passes of libraries loaded by path:"
        yield from (f"  {name}" for name in others)


def _read(path: str) -> tuple[str, str]:
    name = "<stdin>" if path == "-" else path
    if path == "-" and sys.stdin is None:
        raise UserError("the input cannot be read", where=name, found="standard input is closed", hint="name a file")
    try:
        # Bytes: the locale decides what standard input is as text, and here it is always UTF-8.
        content = sys.stdin.buffer.read() if path == "-" else pathlib.Path(path).read_bytes()
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8").read(), name
    except OSError as error:
        raise UserError("the input cannot be read", where=name, found=error.strerror, hint="check the path") from error
    except UnicodeDecodeError as error:
        raise UserError("the input is not UTF-8 text", where=name, found=str(error)) from error


def _write(text: str, path: str | None) -> None:
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError("the output cannot be written", where=path, found=error.strerror) from error


def _pattern(match: re.Match[str]) -> re.Pattern[str]:
    """Return what the message must contain: literal text, in which `-re` gives {{…}} to regular expressions."""
    if not match["regex"]:
        return re.compile(re.escape(match["text"]))
    # The outer braces were removed, so an inner {{…}} at the very end has lost nothing.
    parts = _REGEX_PART.split(match["text"])
    return re.compile("".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts)))


def _closing_brace(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise _malformed(text, start, "a closing brace")


def _split_options(text: str) -> Iterator[str]:
    """Split at spaces outside of braces, as MLIR separates the options of a pass."""
    depth, start = 0, 0
    for position, character in enumerate(text + " "):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character.isspace() and depth == 0:
            if position > start:
                yield text[start:position]
            start = position + 1


def _malformed(text: str, position: int, expected: str) -> OptionError:
    return OptionError(
        "the pass pipeline is malformed",
        where=f"character {position + 1} of {text!r}",
        expected=expected,
        found=repr(text[position : position + 20]) if position < len(text) else "the end",
        hint='write it as "first-pass{option=value},second-pass"',
    )


if __name__ == "__main__":
    from .cli import guarded

    raise SystemExit(guarded(main))
