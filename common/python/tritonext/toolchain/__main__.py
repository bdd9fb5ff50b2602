"""``python -m tritonext.toolchain``: provide the toolchain and say what it is."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Sequence

import rich.console
import rich.table

from . import Toolchain, cache, find, provide

__all__ = ["main"]

_EXAMPLES = """\
examples:
  tritonext toolchain                    fetch what is missing and show what is used
  tritonext toolchain --offline          use the cache and the system only
  tritonext toolchain --offline --json   the same for a program
  tritonext toolchain --cmake out.cmake  also write a file of CMake variables
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` and return the exit status: 0, or 130 when interrupted.

    Raises:
        TritonextError: A piece of the toolchain cannot be had.
        OSError: The file for CMake cannot be written.
    """
    parser = argparse.ArgumentParser(
        prog="tritonext toolchain",
        description="Find or download the clang, the LLVM/MLIR headers and the mlir-tblgen extensions are built with.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--offline", action="store_true", help="do not touch the network")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")
    parser.add_argument("--cmake", type=pathlib.Path, metavar="FILE", help="write set() commands to FILE")
    options = parser.parse_args(argv)
    try:
        toolchain = find() if options.offline else provide()
        if options.cmake:
            cache.atomic_write(options.cmake.absolute(), toolchain.to_cmake().encode())
    except KeyboardInterrupt:
        print("interrupted; what was not complete has been removed", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(toolchain.to_json(), indent=2))
    else:
        rich.console.Console().print(table(toolchain))
    return 0


def table(toolchain: Toolchain) -> rich.table.Table:
    """Return the table of what is used and where it came from."""
    result = rich.table.Table(
        title=f"toolchain for LLVM {toolchain.llvm_commit[:12]}", caption=str(cache.root()), title_justify="left"
    )
    for column in ("piece", "version", "from"):
        result.add_column(column, overflow="fold")
    rows = (
        ("clang", toolchain.cxx_version, toolchain.sources["clang"]),
        ("LLVM/MLIR headers", toolchain.headers_version, toolchain.sources["headers"]),
        ("mlir-tblgen", toolchain.headers_version, toolchain.sources["mlir-tblgen"]),
        ("ABI-breaking checks", "on" if toolchain.abi_breaking_checks else "off", "libtriton"),
        ("linker", "lld" if toolchain.lld else "system", toolchain.lld or "clang's default"),
        ("strip", "", toolchain.strip or "none; install binutils"),
    )
    for row in rows:
        result.add_row(*map(str, row))
    return result


if __name__ == "__main__":
    from tritonext.cli import guarded

    raise SystemExit(guarded(main))
