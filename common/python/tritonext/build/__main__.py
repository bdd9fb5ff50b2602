"""Commands that CMake and developers run: ``python -m tritonext.build <command>``."""

from __future__ import annotations

import argparse
import pathlib
import sys

from ..errors import TritonextError, render
from .paths import sdk_root

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tritonext.build", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("root", help="print the directory to pass to CMake as Tritonext_ROOT")
    configure = commands.add_parser("configure", help="write the toolchain and Triton facts as a CMake file")
    configure.add_argument("--out", type=pathlib.Path, required=True)
    generate = commands.add_parser("generate", help="write the plugin table and print the id and the dialect")
    generate.add_argument("--pyproject", type=pathlib.Path, required=True)
    generate.add_argument("--out", type=pathlib.Path, required=True)
    inplace = commands.add_parser(
        "inplace", help="build an extension and put the library into its Python source package"
    )
    inplace.add_argument("directory", type=pathlib.Path, nargs="?", default=pathlib.Path())
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except TritonextError as error:
        print(render(error), file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "root":
            print(sdk_root())
        case "configure":
            from .cmake import toolchain_file

            toolchain_file(options.out)
        case "generate":
            from .generate import plugin_table

            entry = plugin_table(options.pyproject, options.out)
            print(";".join([entry.id, *(dialect.name for dialect in entry.dialects)]))
        case "inplace":
            from .backend import build_inplace

            print(build_inplace(options.directory))
    return 0


if __name__ == "__main__":
    sys.exit(main())
