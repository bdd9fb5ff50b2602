"""The command ``tritonext``. Each subcommand lives in the module it is about and is imported when it is called.

An extension adds subcommands by entry points of the group ``tritonext.commands``: the name of the command, and a
function that takes its arguments and returns the exit status.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .errors import ExtensionError, TritonextError, UserError, install_command

if TYPE_CHECKING:
    from .registry import InstalledExtension

__all__ = ["OWN_COMMANDS", "guarded", "main"]

# Module that implements each subcommand, by its `main` or by the function behind the colon, and its summary.
_COMMANDS = {
    "new": ("scaffold:new", "make a new extension from the template"),
    "new-pass": ("scaffold:new_pass", "add a pass with its tests to an extension"),
    "new-op": ("scaffold:new_op", "add an op with its lowering and tests to an extension"),
    "doctor": ("doctor", "examine the installation, and say what to do about each problem"),
    "index": ("index", "make an index of published extensions from their wheels, or check one"),
    "pipeline": ("pipeline", "show stock pipelines with their anchors, and what active pipelines change"),
    "explain": ("explain", "compile a kernel and show what each pass changed, with remarks and resources"),
    "opt": ("opt", "run passes by name on textual IR"),
    "abi": ("abi", "compare the class layouts of a plugin with libtriton's"),
    "toolchain": ("toolchain.__main__", "find or provide clang, LLVM headers and mlir-tblgen"),
}

OWN_COMMANDS = frozenset({*_COMMANDS, "list"})
"""Commands that no extension can add."""

_EXAMPLES = """\
examples:
  tritonext new demo --kind pass
  tritonext list
  tritonext pipeline --target cuda:90
  tritonext explain kernel.py::matmul --target cuda:90
  tritonext opt kernel.ttgir --pass ttgpuir.coalesce
  tritonext toolchain
"""

_LIST_EXAMPLES = """\
examples:
  tritonext list
  tritonext list --json
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Command line without the program's name; the process's own when None.

    Returns:
        The exit status: 0, 1 after an error, 2 after a wrong command line, 130 when interrupted.
    """
    return guarded(lambda: _main(list(sys.argv[1:] if arguments is None else arguments)))


def _main(arguments: list[str]) -> int:
    # Everything after the subcommand is its own, including --help, so only what comes before it is parsed here.
    if arguments and arguments[0] in _COMMANDS:
        return _delegate(arguments[0], arguments[1:])
    added = _added()
    if arguments and arguments[0] in added:
        return _call(added[arguments[0]], arguments[1:])
    parser = _parser(added)
    options = parser.parse_args(arguments)
    if options.version:
        from . import __version__

        print(f"tritonext {__version__}")
        return 0
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    return _list(options.json)


def _parser(added: Mapping[str, importlib.metadata.EntryPoint]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tritonext",
        description="Compiler extensions for the stock Triton wheel.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    listing = commands.add_parser(
        "list",
        help="list the installed extensions",
        description="List the installed extensions, and what each one adds.",
        epilog=_LIST_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    listing.add_argument("--json", action="store_true", help="print machine-readable JSON")
    for name, (_, summary) in _COMMANDS.items():
        commands.add_parser(name, help=summary)
    for name, entry in added.items():
        commands.add_parser(name, help=f"of {entry.dist.name}" if entry.dist else None)
    return parser


def _added() -> dict[str, importlib.metadata.EntryPoint]:
    """Return the commands that extensions add, by name; none takes the place of one of ours."""
    from . import registry

    found = registry.points("tritonext.commands")
    return {
        entry.name: entry for entry in sorted(found, key=lambda entry: entry.name) if entry.name not in OWN_COMMANDS
    }


def _call(entry: importlib.metadata.EntryPoint, arguments: list[str]) -> int:
    try:
        function = entry.load()
    except TritonextError:
        raise
    except (Exception, SystemExit) as error:
        raise ExtensionError(
            f"`tritonext {entry.name}` cannot be imported",
            where=entry.value,
            found=f"{type(error).__name__}: {error}",
            hint=install_command(entry.dist.name) if entry.dist else None,
        ) from error
    return function(arguments)


def _delegate(name: str, arguments: list[str]) -> int:
    try:
        place, _, function = _COMMANDS[name][0].partition(":")
        module = importlib.import_module(f".{place}", __package__)
    except ModuleNotFoundError as error:
        raise ExtensionError(
            f"`tritonext {name}` needs a module that is not installed",
            expected=f"an importable module {error.name}",
            hint="install tritonext with its dependencies: `pip install --force-reinstall dist/tritonext-*.whl`",
        ) from error
    return getattr(module, function or "main")(arguments)


def guarded(function: Callable[[], int]) -> int:
    """Call a command and print what goes wrong around it as text instead of a traceback; return the exit status."""
    _ensure_streams()
    try:
        try:
            return function()
        finally:
            # Also behind the SystemExit of --help: at its own end the interpreter reports what cannot be written badly.
            sys.stdout.flush()
    except TritonextError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough.
        _discard_output()
        return 1
    except OSError as error:
        _discard_output()
        where = "the output" if error.filename is None else error.filename
        shown = UserError("a file cannot be read or written", where=where, found=error.strerror)
        print(f"error: {shown}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _ensure_streams() -> None:
    """Make output possible where a stream is closed or cannot encode what is printed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not fail on it once more at its end."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)


def _list(as_json: bool) -> int:
    from . import doctor, registry

    found = registry.scan()
    clashes = doctor.conflicts(found.extensions.values())
    enabled = doctor.enabled()
    records = [
        _record(extension) | {"active": extension.id in enabled, "conflicts": clashes[extension.id]}
        for extension in found.extensions.values()
    ]
    if as_json:
        print(json.dumps(records, indent=2))
    else:
        rows = [("id", "version", "passes", "dialects", "ops", "targets", "triton", "abi", "active", "state")]
        for record in records:
            counts = ["-" if record[key] is None else str(len(record[key])) for key in ("passes", "dialects", "ops")]
            counted = record["abi"]
            abi = "-" if counted is None else f"{counted['mismatches']} of {counted['compared']} differ"
            state = "; ".join([record["state"], *(f"conflict: {text}" for text in record["conflicts"])])
            rows.append(
                (
                    record["id"],
                    record["version"],
                    *counts,
                    _targets(record["targets"]),
                    record["triton"] or "-",
                    abi,
                    "yes" if record["active"] else "no",
                    state,
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        if len(rows) > 1:
            for row in rows:
                print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        elif not found.broken:
            print("no extension is installed")
    for identifier, error in found.broken.items():
        print(f"error: the extension {identifier!r} is broken: {error}", file=sys.stderr)
    return 1 if found.broken else 0


def _targets(targets: list[str]) -> str:
    """Return targets in the form ``cuda:80,90 hip:gfx942``."""
    chips: dict[str, list[str]] = {}
    for target in targets:
        backend, _, chip = target.partition(":")
        chips.setdefault(backend, []).append(chip)
    return " ".join(f"{backend}:{','.join(names)}" for backend, names in chips.items()) or "all"


def _record(extension: InstalledExtension) -> dict:
    manifest = extension.manifest
    from . import loader

    triton, abi, ops, state = None, None, None, "ok"
    try:
        triton, abi = extension.stamp.triton, dict(extension.stamp.abi)
        loader.check(extension)
        ops = _ops(extension)
    except TritonextError as error:
        state = error.message
    return {
        "id": manifest.id,
        "version": manifest.version,
        "description": manifest.description,
        "distribution": extension.distribution,
        "requires": [str(requirement) for requirement in manifest.requires],
        "targets": list(manifest.targets),
        "passes": [entry.flag for entry in manifest.passes],
        "dialects": [entry.name for entry in manifest.dialects],
        "ops": ops,
        "builder_ops": [entry.name for entry in manifest.ops],
        "triton": triton,
        "abi": abi,
        "state": state,
    }


def _ops(extension: InstalledExtension) -> list[str]:
    """Return the names of the ops that kernels can call.

    Raises:
        TritonextError: The package cannot be imported.
    """
    from . import language

    # Only the package knows. It is imported in a process of its own, so that none spoils the list of the others.
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                # What it prints is no part of the list, and what is to be active no matter of this extension.
                os.dup2(2, 1)
                os.environ.pop("TRITONEXT_ENABLE", None)
                try:
                    result = language.ops_of(extension.module(), extension.id)
                except TritonextError as error:
                    result = error
                answer.write(pickle.dumps(result))
                answer.flush()
                status = 0
            os._exit(status)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        result = pickle.load(answer) if status == 0 else None
    if isinstance(result, TritonextError):
        raise result
    if result is None:
        raise ExtensionError(f"the package of the extension {extension.id!r} crashes the process that imports it")
    return list(result)
