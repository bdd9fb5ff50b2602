"""The command ``tritonext abi``."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence

from tritonext.errors import TritonextError, render

from .check import examine
from .comparison import Report

__all__ = ["main"]

_DESCRIPTION = """\
Compare every type in the debug information of a plugin with the same type in libtriton: sizes, members, base classes,
virtual tables, enumerators. Look up every undefined symbol, look at the compiler, and run the plugin's own test of
trait and interface identities in a fresh process. Exit status 0 means that nothing differs, 1 that something does,
2 that the check could not be made.
"""

_EXAMPLES = """\
examples:
  tritonext abi build/libtritonext_layout.so            a library built with -g -fstandalone-debug
  tritonext abi build/libtritonext_layout.so --list-uncovered
  tritonext abi "$(python -c 'import tritonext_layout as t; print(t.__path__[0])')/libtritonext_layout.so"
                                                        an installed extension, from the table in its wheel
  tritonext abi plugin.so --json | jq .mismatched       for scripts
  tritonext abi plugin.so --against other/libtriton.so  compare with a library that is not installed
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tritonext abi",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plugin", help="the plugin library")
    parser.add_argument("--against", metavar="LIBTRITON", help="compare with this library, not the installed libtriton")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--list-uncovered", action="store_true", help="list each type that could not be compared")
    parser.add_argument("--no-identity", action="store_true", help="do not load the plugin for its self-test")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (without the program name) and return its exit status."""
    arguments = _parser().parse_args(argv)
    start = time.monotonic()
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("tritonext.abi").setLevel(logging.INFO)
    try:
        report = examine(arguments.plugin, against=arguments.against, identity=not arguments.no_identity)
    except TritonextError as error:
        print(f"error: {render(error)}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        _show(report, arguments.plugin, arguments.list_uncovered, time.monotonic() - start)
    return 0 if report.ok else 1


def _show(report: Report, plugin: str, list_uncovered: bool, seconds: float) -> None:
    for problem in report.problems:
        print(f"{problem.kind}: {problem.message}")
        if problem.hint:
            print(f"  hint: {problem.hint}")
    for mismatch in report.mismatches:
        print(f"mismatch: {mismatch.type}")
        for reason in mismatch.reasons:
            print(f"  {reason}")
        for side, lines in (("plugin", mismatch.plugin), ("libtriton", mismatch.host)):
            print(f"  {side}:")
            for line in lines:
                print(f"    {line}")
    declared = [each for each in report.uncovered if each.reason == "declared"]
    if list_uncovered:
        for each in report.uncovered:
            seen = f", {each.functions - each.moved} of {each.functions} functions on the same line"
            print(f"uncovered: {each.type} ({each.reason}{seen if each.functions else ''})")
    functions, moved = sum(each.functions for each in declared), sum(each.moved for each in declared)
    tested = ", ".join(f"{found} of {expected} {what}" for what, found, expected in report.identities())
    print(f"{plugin}: {'suits' if report.ok else 'does not suit'} libtriton")
    print(
        f"  compared    {report.compared} types ({report.members} members and bases, {report.slots} virtual functions, "
        f"{report.enumerators} enumerators), {len(report.mismatches)} mismatches"
    )
    if report.standard:
        print(f"  libstdc++   {len(report.standard)} of them differ in spelling between releases, not in a byte")
    for each in report.extended:
        print(f"  extended    {each}")
    print(f"  symbols     {report.symbols} undefined ones looked up")
    print(f"  identities  {tested or 'not tested'}")
    print(
        f"  uncovered   {len(report.uncovered)} types, {len(declared)} of them declared in libtriton "
        f"({functions - moved} of {functions} member functions on the same source line); "
        f"{report.local} private to a unit; {report.host_only} in libtriton only"
    )
    for note in report.notes:
        print(f"  note        {note}")
    print(f"  time        {seconds:.1f} s")
