"""LLVM install prefixes: reading one, and the one a user points at."""

from __future__ import annotations

import pathlib
import re

from tritonext import env, versions
from tritonext.elf import Elf
from tritonext.errors import ToolchainError

from . import cache
from .model import Llvm, SourceUnavailable
from .process import output

__all__ = ["abi_overlay", "inspect", "pointed"]

_NEEDED = ("include/llvm/Config/llvm-config.h", "include/llvm/Config/abi-breaking.h", "include/mlir/IR/Operation.h")
_TBLGEN = "bin/mlir-tblgen"
# Added to LLVM after the 23 release branch, before an enumerator that so moved.
_FORMAT = "Float8E5M3FNU"
_LAST_FORMAT = re.compile(r"^( +)S_x87DoubleExtended,$", re.MULTILINE)
_CHECKS = re.compile(r"^#define LLVM_ENABLE_ABI_BREAKING_CHECKS [01]$", re.MULTILINE)


def inspect(prefix: pathlib.Path, source: str) -> Llvm:
    """Return what ``prefix`` holds, having run its ``mlir-tblgen`` once.

    Args:
        prefix: A directory with ``include`` and ``bin/mlir-tblgen``.
        source: Where it came from, for people.

    Raises:
        SourceUnavailable: A file is missing, or ``mlir-tblgen`` does not run on this machine.
    """
    for name in (*_NEEDED, _TBLGEN):
        if not (prefix / name).is_file():
            raise SourceUnavailable(f"there is no {name} in it")
    output([prefix / _TBLGEN, "--version"], f"its {_TBLGEN}")
    config = (prefix / _NEEDED[0]).read_text("utf-8", "replace")
    version = re.search(r'^#define LLVM_VERSION_STRING "([^"]+)"', config, re.MULTILINE)
    if version is None:
        raise SourceUnavailable(f"its {_NEEDED[0]} states no LLVM_VERSION_STRING")
    return Llvm(prefix / "include", prefix / _TBLGEN, version[1], _revision(prefix), source)


def pointed(commit: str) -> Llvm | None:
    """Return the LLVM the user points at with TRITONEXT_LLVM_PREFIX or MLIR_DIR, or None when neither is set.

    Args:
        commit: LLVM commit of the installed libtriton.

    Raises:
        ToolchainError: The place named cannot be used; it is never passed over silently.
    """
    if value := env.get("TRITONEXT_LLVM_PREFIX"):
        variable, prefix = "TRITONEXT_LLVM_PREFIX", pathlib.Path(value)
    elif value := env.get("MLIR_DIR"):
        variable, prefix = "MLIR_DIR", _prefix_of_mlir_dir(pathlib.Path(value))
    else:
        return None
    series = versions.load()["llvm"]["headers"]
    expected = f"an install prefix of LLVM commit {commit[:12]} or of LLVM {series}, with MLIR and mlir-tblgen"
    hint = f"correct {variable}, or unset it and run `tritonext toolchain` to have the packages fetched"
    try:
        llvm = inspect(prefix.expanduser().absolute(), f"{variable}={value}")
    except SourceUnavailable as error:
        raise ToolchainError(
            f"the LLVM that {variable} names cannot be used", expected=expected, found=error, where=value, hint=hint
        ) from None
    # Headers that name no revision are judged by their version; the ABI check of every build has the last word.
    major = llvm.version.split(".")[0]
    fits = llvm.revision.startswith(commit) if llvm.revision else int(major) >= int(series)
    if not fits and major != series:
        raise ToolchainError(
            f"the LLVM that {variable} names does not match the installed triton",
            expected=expected,
            found=f"LLVM {llvm.version}" + (f" at commit {llvm.revision[:12]}" if llvm.revision else ""),
            where=value,
            hint=hint,
        )
    return llvm


def abi_overlay(include: pathlib.Path, checks: bool, library: pathlib.Path) -> pathlib.Path:
    """Return an include directory with the headers that have to differ from those below ``include``.

    ``llvm/Config/abi-breaking.h`` states what libtriton was built with, and ``llvm/ADT/APFloat.h`` numbers the float
    formats as libtriton does, when the two disagree.

    Args:
        include: The LLVM headers.
        checks: Whether libtriton was built with ABI-breaking checks.
        library: ``libtriton.so``.

    Raises:
        ToolchainError: A header below ``include`` is not as expected.
    """
    header = include / "llvm" / "Config" / "abi-breaking.h"
    line = f"#define LLVM_ENABLE_ABI_BREAKING_CHECKS {int(checks)}"
    text, count = _CHECKS.subn(line, header.read_text("utf-8"))
    if count != 1:
        raise ToolchainError(
            "the LLVM headers have no setting for ABI-breaking checks",
            expected="one line `#define LLVM_ENABLE_ABI_BREAKING_CHECKS 0` or `… 1`",
            found=f"{count} lines",
            where=header,
            hint="point TRITONEXT_LLVM_PREFIX at an LLVM that was configured by its own CMake build",
        )
    texts = {"llvm/Config/abi-breaking.h": text, **_float_formats(include, library)}
    directory = cache.root() / f"abi-{cache.digest(''.join(texts.values()))}"
    for name, content in texts.items():
        copy = directory / name
        if not (copy.is_file() and copy.read_text("utf-8") == content):
            cache.write_or_explain(copy, content)
    return directory


def _float_formats(include: pathlib.Path, library: pathlib.Path) -> dict[str, str]:
    """Return a corrected ``APFloat.h`` by its name when libtriton knows a float format that the headers do not.

    Of the types that extensions see, the number of this enumerator is the one difference between the 23 release and
    the commit of libtriton; `tritonext abi` finds it.
    """
    header = include / "llvm" / "ADT" / "APFloat.h"
    if not header.is_file():
        return {}
    text = header.read_text("utf-8")
    with Elf(library) as elf:
        known = elf.exports(f"_ZN4llvm11APFloatBase{len(f'sem{_FORMAT}')}sem{_FORMAT}E")
    if not known or f"S_{_FORMAT}," in text:
        return {}
    corrected, count = _LAST_FORMAT.subn(rf"\1S_{_FORMAT},\n\g<0>", text)
    if count != 1:
        raise ToolchainError(
            f"the LLVM headers neither number the float format {_FORMAT} nor can be corrected to",
            expected="one line `S_x87DoubleExtended,`",
            found=f"{count} lines",
            where=header,
            hint="point TRITONEXT_LLVM_PREFIX at the LLVM commit that libtriton names",
        )
    return {"llvm/ADT/APFloat.h": corrected}


def _prefix_of_mlir_dir(directory: pathlib.Path) -> pathlib.Path:
    """``MLIR_DIR`` is the CMake package, ``<prefix>/lib/cmake/mlir``; some people set the prefix itself."""
    absolute = directory.expanduser().absolute()
    return absolute.parents[2] if absolute.parts[-3:] == ("lib", "cmake", "mlir") else absolute


def _revision(prefix: pathlib.Path) -> str | None:
    try:
        text = (prefix / "include" / "llvm" / "Support" / "VCSRevision.h").read_text("utf-8", "replace")
    except OSError:
        return None
    match = re.search(r'^#define LLVM_REVISION "([0-9a-f]{40})"', text, re.MULTILINE)
    return match[1] if match else None
