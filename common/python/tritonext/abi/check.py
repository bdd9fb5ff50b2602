"""The check of one library: tables, symbols, compiler and identities put together."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

from tritonext._triton import wheel
from tritonext._triton.plugin import EXTENSION_ENTRY
from tritonext.errors import AbiError, InvalidLibraryError
from tritonext.toolchain import libtriton

from .comparison import Problem, Report, compare
from .elf import SectionedElf, open_library
from .table import Table, cached, extract

__all__ = ["TABLE_NAME", "check_plugin", "examine"]

TABLE_NAME = "_abi.json.xz"
"""The table a wheel ships beside its stripped library."""

# Of the C and C++ runtime, which libtriton uses from the same system.
_RUNTIME = ("libc.so.", "libm.so.", "libstdc++.so.", "libgcc_s.so.", "ld-linux-x86-64.so.", "libpthread.so.")
# Every toolchain leaves these weak references open; the dynamic linker ignores them.
_OPEN = frozenset({"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"})
_CHECKS = {libtriton.WITH_CHECKS: "1", libtriton.WITHOUT_CHECKS: "0"}


def examine(
    path: str | os.PathLike[str],
    *,
    against: str | os.PathLike[str] | None = None,
    table: Table | None = None,
    identity: bool = True,
) -> Report:
    """Compare a plugin with libtriton and report what was found, without judging it.

    Args:
        path: The plugin, with debug information or with the table of its wheel beside it.
        against: The library to compare with; the installed ``libtriton.so`` by default.
        table: The plugin's layout table when the caller has it already.
        identity: Run the plugin's native self-test, which loads it in a fresh process. Only possible against the
            installed libtriton.

    Raises:
        MissingLibraryError, InvalidLibraryError: A file cannot be read, or has neither debug information nor a table.
        AbiError: The table beside the plugin is damaged or belongs to another build.
    """
    path = pathlib.Path(path)
    library = pathlib.Path(against) if against is not None else wheel.installed().library
    with open_library(path) as elf:
        notes: list[str] = []
        plugin = table or _plugin_table(path, elf, notes)
        host, origin = cached(library)
        report = compare(plugin, host)
        report.notes += [*notes, f"{library.name}: {origin}"]
        _check_symbols(report, elf, library)
        offered = elf.exports(EXTENSION_ENTRY)
    if not identity:
        report.notes.append("identities: not tested, as asked")
    elif against is not None and not library.samefile(wheel.installed().library):
        report.notes.append("identities: not tested, because only the installed libtriton can be loaded")
    elif not offered:
        report.notes.append(f"identities: not tested, because the library does not export {EXTENSION_ENTRY}")
    else:
        _check_identity(report, path)
    return report


def check_plugin(
    path: str | os.PathLike[str],
    *,
    against: str | os.PathLike[str] | None = None,
    table: Table | None = None,
    identity: bool = True,
) -> Report:
    """Return the report of a plugin that suits libtriton.

    Args:
        path, against, table, identity: As :func:`examine`.

    Raises:
        AbiError: Something differs; the details name each type, member and reason.
        MissingLibraryError, InvalidLibraryError: As :func:`examine`.
    """
    report = examine(path, against=against, table=table, identity=identity)
    if report.ok:
        return report
    details = [f"{problem.kind}: {problem.message}" for problem in report.problems]
    for mismatch in report.mismatches:
        details.append(f"{mismatch.type}: " + "; ".join(mismatch.reasons))
        details += [f"  plugin:    {line}" for line in mismatch.plugin]
        details += [f"  libtriton: {line}" for line in mismatch.host]
    hints = [problem.hint for problem in report.problems if problem.hint]
    raise AbiError(
        "the library does not suit libtriton",
        where=path,
        expected="the layouts, symbols and identities of libtriton",
        found=f"{len(report.mismatches)} of {report.compared} types differ, {len(report.problems)} other problems",
        details=details,
        hint=hints[0] if hints else "build against the headers that `tritonext toolchain` names",
    )


def _plugin_table(path: pathlib.Path, elf: SectionedElf, notes: list[str]) -> Table:
    if elf.has(".debug_info"):
        return extract(path)
    shipped = path.parent / TABLE_NAME
    if not shipped.is_file():
        raise InvalidLibraryError(
            "the library has no debug information, and no layout table lies beside it",
            where=path,
            expected=f"a .debug_info section, or {TABLE_NAME} as a wheel of an extension ships it",
            hint="check the library before it is stripped: compile and link with `-g -fstandalone-debug`",
        )
    table = Table.load(shipped)
    if table.build_id != (elf.build_id or ""):
        raise AbiError(
            "the layout table beside the library belongs to another build",
            where=shipped,
            expected=f"build id {elf.build_id or 'none'}",
            found=f"build id {table.build_id or 'none'}",
            hint="reinstall the extension",
        )
    notes.append(f"{path.name}: stripped, layouts taken from {TABLE_NAME} written when it was built")
    if not table.build_id:
        notes.append("neither carries a build id, so that the table belongs to the library is not proven")
    return table


def _check_symbols(report: Report, elf: SectionedElf, library: pathlib.Path) -> None:
    # Read before libtriton is opened, so that an error about them names the plugin.
    providers, symbols = elf.providers(), elf.symbols
    with open_library(library) as host:
        missing = []
        for symbol in symbols:
            if symbol.defined or symbol.name in _OPEN:
                continue
            report.symbols += 1
            if providers.get(symbol.name, "").startswith(_RUNTIME) or host.exports(symbol.name):
                continue
            missing.append(symbol.name)
        wanted = {_CHECKS[name] for name in missing if name in _CHECKS}
        offered = next((value for name, value in _CHECKS.items() if host.exports(name)), None)
    if wanted and offered:
        report.problems.append(
            Problem(
                "abi-breaking checks",
                f"compiled with LLVM_ENABLE_ABI_BREAKING_CHECKS {wanted.pop()}, libtriton with {offered}: "
                "several LLVM classes have other members then",
                "put the include directory of `tritonext toolchain` that overrides llvm/Config/abi-breaking.h first",
            )
        )
        missing = [name for name in missing if name not in _CHECKS]
    for name in missing:
        origin = f" (of {providers[name]})" if name in providers else ""
        report.problems.append(
            Problem(
                "symbol",
                f"undefined symbol {name}{origin} is exported neither by {library.name} nor by the C and C++ runtime",
                "use only what libtriton exports, or compile the source that defines it into the extension",
            )
        )


def _check_identity(report: Report, path: pathlib.Path) -> None:
    # A plugin with wrong layouts or identities may crash, which has to be a finding and not the end of this process.
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}._identity", os.fspath(path.absolute())],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    try:
        report.identity = json.loads(done.stdout)
    except ValueError:
        lines = (done.stderr or done.stdout).strip().splitlines()
        report.problems.append(
            Problem(
                "identity",
                f"the native self-test ended with exit status {done.returncode}: {lines[-1] if lines else 'no output'}",
                "run `tritonext abi` on a build with debug information for the cause",
            )
        )
        return
    short = [f"{found} of {expected} {what}" for what, found, expected in report.identities() if found != expected]
    if short:
        wrong = report.identity.get("wrong")
        report.problems.append(
            Problem(
                "identity",
                f"the native self-test recognises {', '.join(short)} of ops that libtriton registered"
                + (f": {', '.join(wrong)}" if wrong else ""),
                "build with the clang++ that `tritonext toolchain` names",
            )
        )
