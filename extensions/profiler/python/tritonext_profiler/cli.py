"""``tritonext profile``: run a script with its kernels recorded, look at what was stored, compare two runs."""

from __future__ import annotations

import argparse
import os
import pathlib
import runpy
import sys
import traceback
from collections.abc import Sequence

from rich.console import Console

from tritonext.errors import UserError

from . import compare, proton, saving, storage
from .model import Profile
from .passes import MODES
from .report import terminal
from .runtime import BUFFER, ProfileWarning, profile

__all__ = ["main"]

_EXAMPLES = """\
examples:
  tritonext profile train.py --steps 3
  tritonext profile -k "matmul|attention" -o run.npz -o run.html -o run.pftrace bench.py
  tritonext profile --mode header -m package.module
  tritonext profile show run.npz
  tritonext profile compare before.npz after.npz
"""

# Different from 1, with which a command that failed ends, and 2, a wrong command line.
SLOWER = 3


def main(arguments: Sequence[str]) -> int:
    """Run ``tritonext profile``.

    Args:
        arguments: What follows the command's name.

    Returns:
        The script's exit status; of ``compare`` 0, or 3 when a kernel became slower.
    """
    arguments = list(arguments)
    commands = {"show": _show, "compare": _compare}
    if arguments and arguments[0] in commands and not pathlib.Path(arguments[0]).is_file():
        return commands[arguments[0]](arguments[1:])
    return _run(arguments)


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tritonext profile",
        description="Run a Python script with its Triton kernels recorded, and print what they do with their time.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-k", "--kernels", default="", metavar="REGEX", help="names of kernels to record; all if not given"
    )
    parser.add_argument("--mode", default="auto", choices=MODES, help="what is recorded (default: %(default)s)")
    parser.add_argument(
        "--records", type=int, default=1024, metavar="N", help="records of a warp (default: %(default)s)"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="record one of N CTAs; 1 for all (default: what fits)")
    parser.add_argument(
        "--buffer", type=int, default=BUFFER, metavar="BYTES", help="GPU memory for records of a kernel"
    )
    formats = ", ".join(f"{suffix} ({meaning})" for suffix, meaning in saving.FORMATS.items())
    output = {"action": "append", "default": [], "metavar": "FILE", "type": pathlib.Path}
    parser.add_argument("-o", "--output", help=f"file to write, may be repeated: {formats}", **output)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing; only write files")
    parser.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    parser.add_argument("script", help="script, or module after -m; or `show`, `compare`: see their --help")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    # The script may change the directory.
    outputs = [path.absolute() for path in options.output]
    for path in outputs:
        # Before the script runs for an hour.
        saving.check(path)
        if not path.parent.is_dir():
            raise UserError("there is no such directory", where=path.parent, hint="make it before the script runs")
        if path.is_dir():
            raise UserError("the output is a directory", where=path, expected="a file, which may be there or not")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UserError("the output may not be written", where=path, hint="name a file in a directory of yours")
    if not options.module and not pathlib.Path(options.script).is_file():
        raise UserError("there is no such script", where=options.script, hint="for a module, put -m before its name")
    wishes = {"records": options.records, "sample": options.sample, "buffer": options.buffer}
    recording = profile(options.kernels, options.mode, **wishes)
    status, ran = 0, False
    failed: list[Exception] = []
    try:
        with recording:
            ran = True
            status = _execute(options.script, options.module, options.arguments)
    except ProfileWarning as error:
        # A filter made an exception of it, which must not cost what was recorded.
        if not ran:
            raise
        failed.append(error)
    for path in outputs:
        try:
            recording.save(path)
        except Exception as error:
            # What was recorded is in the other files nevertheless.
            failed.append(error)
    if not options.quiet:
        # A file or a pipe is as wide as the tables are.
        recording.show(Console() if sys.stdout.isatty() else Console(stderr=True, width=150))
    if failed:
        for error in failed[1:]:
            print(f"error: {error}", file=sys.stderr)
        raise failed[0]
    return status


def _execute(script: str, module: bool, arguments: list[str]) -> int:
    """Run a script as ``python`` would, and return its exit status."""
    before = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    try:
        if module:
            sys.path.insert(0, "")
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(pathlib.Path(script).resolve().parent))
            runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
            return 1
        return error.code or 0
    except (Exception, KeyboardInterrupt) as error:
        # What it did until then is shown nevertheless.
        traceback.print_exc()
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.argv, sys.path[:] = before
    return 0


def _show(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tritonext profile show",
        description="Print a stored profile, or write it in another format.",
        epilog="examples:\n  tritonext profile show run.npz -o run.html\n  tritonext profile show proton.chrome_trace",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=pathlib.Path, help="*.npz that was saved, or a Chrome trace or tree of Proton")
    parser.add_argument("-o", "--output", action="append", default=[], type=pathlib.Path, help="file to write")
    options = parser.parse_args(arguments)
    for path in options.output:
        saving.check(path)
    if options.file.suffix == ".hatchet":
        _show_tree(options.file)
        return 0
    data = _load(options.file)
    for path in options.output:
        saving.save(data, path)
    if not options.output:
        terminal.show(data)
    return 0


def _load(path: pathlib.Path) -> Profile:
    return storage.load(path) if path.suffix == ".npz" else proton.read_trace(path)


def _show_tree(path: pathlib.Path) -> None:
    for row in proton.read_tree(path):
        values = ", ".join(f"{name} {value}" for name, value in row.metrics.items() if not name.startswith("device"))
        print("  " * (len(row.path) - 1) + row.path[-1] + (f": {values}" if values else ""))


def _compare(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tritonext profile compare",
        description="Compare two stored profiles, kernel by kernel.",
        epilog=f"exit status: {SLOWER} when a kernel became slower by more than the noise, else 0",
    )
    parser.add_argument("before", type=pathlib.Path, help="*.npz or *.json")
    parser.add_argument("after", type=pathlib.Path, help="the one that is judged")
    band = {"type": float, "default": compare.BAND * 100, "metavar": "PERCENT"}
    parser.add_argument("--band", help="difference that never counts (default: %(default)s)", **band)
    parser.add_argument("--code", action="store_true", help="also print what changed in the TTGIR and machine code")
    options = parser.parse_args(arguments)
    found = compare.compare(
        compare.load_summary(options.before), compare.load_summary(options.after), options.band / 100
    )
    compare.show(found, Console(), options.code)
    return SLOWER if any(entry.verdict == "slower" for entry in found) else 0
