"""``tritonext explain``: what a kernel compiles to, and what extensions change about it, pass by pass.

The kernel is compiled by stock Triton, with the extensions whose ops it uses, and then with those that ``--enable``
names. Shown are the passes with the IR each one changed, the remarks of the extensions' passes with the source lines
they are about, and the resources of both results. No GPU is needed.

What the kernel's arguments are is taken, later ones winning, from

1. string annotations in the kernel: ``def add(x: "*fp32:16", n: "i32", BLOCK: tl.constexpr = 1024)``,
2. a mapping ``tritonext_explain`` in the kernel's module, from kernel names to a
   :class:`tritonext.offline.Specialization` or a dictionary with ``signature``, ``constexprs`` and ``options``,
3. the command line.

An extension adds sections of its own by defining ``explain_sections(before, after, found)`` in its package: it takes
the two compiled kernels and the remarks about the second, and returns a list of :class:`Section`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import json
import pathlib
import re
import sys
import traceback
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from . import activation, env, inspect_code, loader, registry, remarks
from ._triton import caching, recording
from ._triton.recording import PassRun
from .errors import ExtensionError, TritonextError, UserError
from .inspect_code import CodeStats
from .manifest import STAGES
from .offline import Argument, Specialization, parse_setting, parse_signature, parse_target
from .remarks import Remark

__all__ = ["Compilation", "Explanation", "Section", "explain", "find_kernel", "main", "unified_diff"]

_MODULE_ATTRIBUTE = "tritonext_explain"
_PACKAGE_ATTRIBUTE = "explain_sections"


@dataclass(frozen=True)
class Section:
    """A part of the explanation that an extension contributes.

    Attributes:
        title: Heading.
        columns: Column names of a table; empty for none.
        rows: Rows of the table, each as long as ``columns``.
        text: Paragraph under the table.
    """

    title: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the section as plain data for ``json.dumps``."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "text": self.text,
        }


@dataclass(frozen=True)
class Compilation:
    """One compilation of the kernel: the result, the passes that ran, and what the machine code is made of."""

    kernel: CompiledKernel
    passes: tuple[PassRun, ...]
    stats: CodeStats


@dataclass(frozen=True)
class Explanation:
    """Everything ``explain`` found out.

    Attributes:
        name: Name of the kernel.
        target: What it was compiled for.
        baseline: Compilation by stock Triton, and the extensions of ``used``.
        extended: Compilation with the extensions, None when none was asked for.
        extensions: Ids of the extensions.
        used: Ids of the extensions whose ops the kernel calls, which takes part in both compilations.
        found: Remarks of the extensions' passes.
        sections: What the extensions add to it.
        extension_passes: Flags of the passes that extensions define.
    """

    name: str
    target: str
    baseline: Compilation
    extended: Compilation | None = None
    extensions: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    found: tuple[Remark, ...] = ()
    sections: tuple[Section, ...] = ()
    extension_passes: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data for ``json.dumps``."""
        shown = self.extended or self.baseline
        return {
            "kernel": self.name,
            "target": self.target,
            "extensions": list(self.extensions),
            "passes": [
                {
                    "stage": run.stage,
                    "name": run.name,
                    "flag": run.flag,
                    "changed": run.changed,
                    "extension": run.flag in self.extension_passes,
                    "diff": list(unified_diff(run.before, run.after)) if run.changed else [],
                }
                for run in shown.passes
            ],
            "remarks": [remark.to_json() | {"source": remark.source_line} for remark in self.found],
            "used": list(self.used),
            "baseline": self.baseline.stats.to_json(),
            "extended": self.extended.stats.to_json() if self.extended else None,
            "sections": [section.to_json() for section in self.sections],
        }


def explain(
    kernel: Specialization,
    target: str,
    specs: Sequence[str] = (),
    stages: Sequence[str] = STAGES,
    name: str | None = None,
) -> Explanation:
    """Compile ``kernel`` with stock Triton, and the extensions whose ops it uses, and with those of ``specs`` too.

    Args:
        kernel: The kernel and its arguments.
        target: Such as ``cuda:90``.
        specs: Extension ids with options, as :func:`tritonext.use` takes them.
        stages: Stages whose passes are recorded.
        name: What to call the kernel, its function's name when None.

    Raises:
        TritonextError: An argument of the kernel is missing, or an extension cannot be used.
    """
    name = name or kernel.fn.__name__
    ids: tuple[str, ...] = ()
    sections: list[Section] = []
    extended = None
    with activation.use_stock():
        # A kernel that uses ops of an extension runs its passes in any case.
        with remarks.collect() as found:
            baseline = _compile(kernel, target, (), stages)
        if specs:
            with remarks.collect() as found:
                pipelines = activation.use(*specs).pipelines
                extended = _compile(kernel, target, pipelines, stages)
            ids = tuple(dict.fromkeys(id_ for pipeline in pipelines for id_ in pipeline.extensions))
            sections = [section for id_ in ids for section in _sections(id_, baseline.kernel, extended.kernel, found)]
    libraries = [library.native for library in loader.loaded().values() if library.native.extension]
    passes = frozenset(entry["flag"] for library in libraries for entry in library.description["passes"])
    used = tuple(sorted(caching.extensions_used(kernel.fn, *kernel.constexprs.values())))
    return Explanation(name, target, baseline, extended, ids, used, tuple(found), tuple(sections), passes)


def _compile(kernel: Specialization, target: str, pipelines: tuple, stages: Sequence[str]) -> Compilation:
    # A kernel of the lower-level front end starts at ttgir.
    stages = tuple(stage for stage in stages if stage != "ttir" or not kernel.fn.is_gluon())
    with (
        recording.uncached(),
        recording.record(stages) as recorded,
        activation.use(*pipelines, recorded.pipeline),
    ):
        try:
            compiled = kernel.compile(target)
        except TritonextError:
            raise
        except Exception as error:
            # Triton raises what its parts raise: its own errors, assertions, key errors. A pass that fails has told
            # the reason as a diagnostic, which is on standard error already.
            raise UserError(
                "the kernel does not compile",
                where=", ".join([f"kernel {kernel.fn.__name__}", target, *(pipeline.name for pipeline in pipelines)]),
                found=type(error).__name__,
                details=str(error).splitlines(),
            ) from error
    return Compilation(compiled, tuple(recorded.passes), inspect_code.stats(compiled))


def _sections(identifier: str, before: CompiledKernel, after: CompiledKernel, found: Sequence[Remark]) -> list[Section]:
    package = registry.extension(identifier).module()
    contribute = getattr(package, _PACKAGE_ATTRIBUTE, None)
    if contribute is None:
        return []
    sections = contribute(before, after, tuple(found))
    for section in sections:
        if not isinstance(section, Section) or any(len(row) != len(section.columns) for row in section.rows):
            raise ExtensionError(
                f"{package.__name__}.{_PACKAGE_ATTRIBUTE} returned something unusable",
                expected="sections whose rows are as long as their columns",
                found=repr(section),
            )
    return sections


# --- finding the kernel and its arguments ----------------------------------------------------------------------------


def find_kernel(place: str) -> Specialization:
    """Return the kernel written as ``file.py::name`` or ``package.module::name``, described as far as its source does.

    Raises:
        UserError: The place is malformed, or there is no such file, module or kernel.
    """
    where, separator, name = place.rpartition("::")
    if not separator or not where or not name:
        raise UserError(
            "the kernel is not named", expected="kernel.py::name or package.module::name", found=repr(place)
        )
    module = _module(where)
    declared = _mapping(getattr(module, _MODULE_ATTRIBUTE, {}), where, _MODULE_ATTRIBUTE)
    kernels = {key: value for key, value in vars(module).items() if _jit_function(value) is not None}
    entry = declared.get(name)
    if isinstance(entry, Specialization):
        return entry
    if name not in kernels:
        names = sorted({*kernels, *(key for key, value in declared.items() if isinstance(value, Specialization))})
        close = difflib.get_close_matches(name, names, n=1)
        raise UserError(
            f"no kernel named {name!r}",
            where=where,
            expected=", ".join(names) or "a @triton.jit function",
            hint=f"write {where}::{close[0]}" if close else None,
        )
    fn = _jit_function(kernels[name])
    label = f"{_MODULE_ATTRIBUTE}[{name!r}]"
    entry = _mapping({} if entry is None else entry, where, label)
    if unknown := set(entry) - {"signature", "constexprs", "options"}:
        raise UserError(
            f"the mapping {_MODULE_ATTRIBUTE} has an unknown key",
            where=f"{where}, entry {name!r}",
            expected="signature, constexprs, options",
            found=", ".join(sorted(unknown)),
        )
    signature = entry.get("signature", "")
    if isinstance(signature, str):
        signature = parse_signature(signature)
    signature = {
        key: value if isinstance(value, Argument) else parse_signature(f"{key}={value}")[key]
        for key, value in _mapping(signature, where, f"{label}['signature']").items()
    }
    constexprs, options = (
        dict(_mapping(entry.get(key, {}), where, f"{label}[{key!r}]")) for key in ("constexprs", "options")
    )
    annotated = {key: type_ for key, type_ in _annotated(fn).items() if key not in constexprs}
    return Specialization(fn, annotated | signature, constexprs, options)


def _mapping(value: object, where: str, name: str) -> Mapping:
    """Return ``value``, a part of what a module says of its kernels, if it is a mapping."""
    if not isinstance(value, Mapping):
        raise UserError(f"{name} is unusable", where=where, expected="a mapping", found=repr(value))
    return value


def _module(where: str) -> types.ModuleType:
    if not where.endswith(".py"):
        with _importing(where):
            return importlib.import_module(where)
    path = pathlib.Path(where).resolve()
    if not path.is_file():
        raise UserError("the kernel's file does not exist", where=where, hint="give a path from the current directory")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    # As when the file is run: its neighbours can be imported, and it is found by its name.
    with _first_on_path(path.parent), _importing(where):
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _importing(where: str) -> Iterator[None]:
    """Report whatever the code of a kernel's module raises, at the line of that code that raised it."""
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename != __file__ and "importlib" not in frame.filename]
        raise UserError(
            "the module cannot be imported",
            where=where,
            found=f"{type(error).__name__}: {error}",
            details=[f"{frame.filename}:{frame.lineno}: {frame.line}" for frame in own],
        ) from error


@contextlib.contextmanager
def _first_on_path(directory: pathlib.Path) -> Iterator[None]:
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path.remove(str(directory))


def _jit_function(value: object) -> JITFunction | None:
    """The kernel inside autotuners and heuristics, None when ``value`` is no kernel."""
    while value is not None and not isinstance(value, JITFunction):
        # Only Triton's own wrappers are followed; any object may have an attribute of this name.
        value = getattr(value, "fn", None) if type(value).__module__.startswith("triton.runtime") else None
    return value


def _annotated(fn: JITFunction) -> dict[str, Argument]:
    """Types that the kernel's annotations give as text."""
    types_ = {}
    for name, annotation in inspect.get_annotations(fn.fn).items():
        if not isinstance(annotation, str):
            continue
        # Under `from __future__ import annotations` a text annotation arrives as the source of a text.
        with contextlib.suppress(ValueError, SyntaxError):
            annotation = str(ast.literal_eval(annotation))
        if re.fullmatch(r"\*?[a-z]+[0-9]\w*(:\d+)?|tensordesc<.*>", annotation):
            types_ |= parse_signature(f"{name}={annotation}")
    return types_


def _complete(kernel: Specialization, arguments: argparse.Namespace) -> Specialization:
    """Add what the command line says, and refuse what is still missing."""
    constexprs = dict(parse_setting(text, "--constexpr") for text in arguments.constexpr)
    signature = {name: type_ for name, type_ in kernel.signature.items() if name not in constexprs}
    complete = Specialization(
        kernel.fn,
        signature | parse_signature(arguments.signature),
        {**kernel.constexprs, **constexprs},
        {**kernel.options, **dict(parse_setting(text, "--option") for text in arguments.option)},
    )
    if missing := complete.missing():
        constant = {parameter.name for parameter in kernel.fn.params if parameter.is_constexpr}
        raise UserError(
            f"{len(missing)} of {len(kernel.fn.arg_names)} arguments are not described",
            where=f"kernel {kernel.fn.__name__}",
            details=[
                f"{name} needs a value: --constexpr {name}=128"
                if name in constant
                else f"{name} needs a type: --signature '{name}=*fp16:16' or '{name}=i32'"
                for name in missing
            ],
            hint=f"or describe them once in a mapping {_MODULE_ATTRIBUTE} of the kernel's module",
        )
    return complete


# --- showing it -------------------------------------------------------------------------------------------------------


def unified_diff(before: str, after: str) -> Iterator[str]:
    """Yield the lines of a unified diff of two modules.

    Values are matched without their numbers, which all change when one value is added or removed.
    """
    old, new = before.splitlines(), after.splitlines()
    keys = [[re.sub(r"(%[A-Za-z]\w*?)_\d+\b|%\d+", r"%\1", line) for line in lines] for lines in (old, new)]
    if keys[0] == keys[1]:
        keys = [old, new]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=max(len(old), len(new)) > 2000)
    for group in matcher.get_grouped_opcodes(2):
        yield f"@@ -{group[0][1] + 1},{group[-1][2] - group[0][1]} +{group[0][3] + 1},{group[-1][4] - group[0][3]} @@"
        for tag, first, last, start, end in group:
            if tag == "equal":
                yield from (f" {line}" for line in new[start:end])
            else:
                yield from (f"-{line}" for line in old[first:last])
                yield from (f"+{line}" for line in new[start:end])


def _show(explanation: Explanation, console: Console, diff: bool | None, only: str | None) -> None:
    extended = explanation.extended
    title = f"{explanation.name} for {explanation.target}"
    console.print(Text(f"{title} with {', '.join(explanation.extensions)}" if extended else title, style="bold"))
    shown = (extended or explanation.baseline).passes
    _show_passes(shown, explanation.extension_passes, console)
    for run in shown:
        named = only is not None and only in (run.flag, run.name)
        if run.changed and (
            diff or named or (diff is None and only is None and run.flag in explanation.extension_passes)
        ):
            console.print()
            _show_diff(run, console)
    if extended or explanation.found:
        console.print(Text("\nremarks", style="bold"))
        console.print(Text(remarks.render(explanation.found) or "none: no pass had anything to say"), soft_wrap=True)
    console.print()
    _show_resources(explanation, console)
    for section in explanation.sections:
        console.print()
        if section.columns:
            table = Table(*section.columns, title=section.title, title_justify="left")
            for row in section.rows:
                table.add_row(*row)
            console.print(table)
        else:
            console.print(Text(section.title, style="bold"))
        if section.text:
            console.print(Text(section.text))


def _show_passes(passes: Iterable[PassRun], added: frozenset[str], console: Console) -> None:
    table = Table("stage", "pass", "lines", title="passes that changed the IR", title_justify="left")
    table.columns[2].justify = "right"
    unchanged = 0
    for run in passes:
        if not run.changed and run.flag not in added:
            unchanged += 1
            continue
        lines = list(unified_diff(run.before, run.after))
        size = f"+{sum(line[0] == '+' for line in lines)} -{sum(line[0] == '-' for line in lines)}"
        table.add_row(
            run.stage, run.flag, size if run.changed else "none", style="green" if run.flag in added else None
        )
    console.print(table)
    console.print(Text(f"{unchanged} more changed nothing", style="dim"))


def _show_diff(run: PassRun, console: Console) -> None:
    console.print(Text(f"{run.stage}: {run.flag}{run.options}", style="bold"))
    styles = {"+": "green", "-": "red", "@": "cyan", " ": ""}
    for line in unified_diff(run.before, run.after):
        console.print(Text(line, style=styles[line[0]]), soft_wrap=True)


def _show_resources(explanation: Explanation, console: Console) -> None:
    before = explanation.baseline.stats
    after = explanation.extended.stats if explanation.extended else None
    used = explanation.used
    title = f"resources of a kernel that uses ops of {', '.join(used)}" if used else "resources"
    names = ["with " + ", ".join(used) if used else "stock"]
    if after:
        names.append("with " + ", ".join(dict.fromkeys((*used, *explanation.extensions))))
        if names[0] == names[1]:
            names[1] += ", as enabled"
    table = Table("resource", *names, title=title, title_justify="left")
    for label, old, new in _resource_rows(before, after):
        better = after and old != new
        table.add_row(label, old, *([Text(new, style="bold" if better else "")] if after else []))
    console.print(table)
    for worse in inspect_code.regressions(before, after) if after else ():
        console.print(Text(f"worse: {worse}", style="red"))


def _resource_rows(before: CodeStats, after: CodeStats | None) -> Iterator[tuple[str, str, str]]:
    both = (before, after or before)
    for label, name in (
        ("CTA barriers", "barriers"),
        ("  after the last tensor-core instruction", "epilogue_barriers"),
        ("warp barriers", "warp_barriers"),
        ("shared memory, bytes", "shared_bytes"),
        ("registers", "registers"),
        ("spill instructions", "spills"),
        ("spill memory, bytes", "stack_bytes"),
        ("instructions", "instructions"),
    ):
        yield (label, *(str(getattr(stats, name)) for stats in both))
    for class_ in sorted({*both[0].classes, *both[1].classes}):
        yield (f"  {class_}", *(str(stats.classes.get(class_, 0)) for stats in both))
    for label, name in (("global loads", "global_loads"), ("global stores", "global_stores")):
        yield (label, *(inspect_code.describe_widths(getattr(stats, name)) for stats in both))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tritonext explain",
        description="Show what a kernel compiles to, and what extensions change about it, pass by pass.",
        epilog="""examples:
  tritonext explain tritonext.testing.kernels::gemm_fp16 --target cuda:90
  tritonext explain kernel.py::add --signature 'x=*fp32:16, n=i32' --constexpr BLOCK=1024
  tritonext explain kernel.py::matmul --target cuda:90 --enable layout --option num_warps=8
  tritonext explain kernel.py::matmul --enable layout --pass tritongpu-coalesce""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kernel", help="kernel.py::name or package.module::name")
    parser.add_argument("--target", default="cuda:90", help="cuda:<capability> or hip:<chip> (default: %(default)s)")
    parser.add_argument(
        "--enable",
        action="append",
        default=[],
        metavar="ID[:KEY=VALUE…]",
        help="extension to compile with, repeatable; TRITONEXT_ENABLE when absent",
    )
    parser.add_argument("--signature", default="", help="types of arguments: 'a=*fp16:16, n=i32'")
    parser.add_argument(
        "--constexpr", action="append", default=[], metavar="NAME=VALUE", help="value of a tl.constexpr; repeatable"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="compile option such as num_warps=8; repeatable",
    )
    parser.add_argument("--stage", choices=STAGES, help="only the passes of this stage")
    parser.add_argument("--pass", dest="only", metavar="NAME", help="show the IR diff of this pass, by flag or class")
    parser.add_argument(
        "--diff",
        action=argparse.BooleanOptionalAction,
        help="show the IR diff of every pass, or of none (default: of the extensions' passes)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status.

    Raises:
        TritonextError: The kernel, an argument or an extension is unusable.
    """
    arguments = _parser().parse_args(argv)
    if recording.interpreted():
        raise UserError(
            "interpreted kernels are not compiled", where="TRITON_INTERPRET", hint="unset the variable and run it again"
        )
    parse_target(arguments.target)
    kernel = _complete(find_kernel(arguments.kernel), arguments)
    stages = (arguments.stage,) if arguments.stage else STAGES
    name = arguments.kernel.rpartition("::")[2]
    specs = arguments.enable or activation.parse_specs(env.get("TRITONEXT_ENABLE"))
    explanation = explain(kernel, arguments.target, specs, stages, name)
    if arguments.only:
        _check_pass(explanation, arguments.only)
    if arguments.json:
        json.dump(explanation.to_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _show(explanation, Console(), arguments.diff, arguments.only)
    return 0


def _check_pass(explanation: Explanation, name: str) -> None:
    passes = (explanation.extended or explanation.baseline).passes
    names = {known for run in passes for known in (run.flag, run.name)}
    if name not in names:
        close = difflib.get_close_matches(name, names, n=3)
        raise UserError(
            f"the compilation runs no pass {name!r}",
            where=f"kernel {explanation.name}, {explanation.target}",
            expected=None if close else ", ".join(sorted({run.flag for run in passes})),
            hint=f"did you mean {' or '.join(close)}" if close else None,
        )
