"""What the installed libtriton says about the LLVM it was built from."""

from __future__ import annotations

import pathlib

from tritonext import versions
from tritonext._triton import wheel
from tritonext.elf import Elf, ElfError
from tritonext.errors import ToolchainError

from . import cache

__all__ = ["WITHOUT_CHECKS", "WITH_CHECKS", "abi_breaking_checks", "llvm_commit"]

# LLVM defines exactly one of these in every build; a plugin refers to the one its headers were configured for.
WITH_CHECKS = "_ZN4llvm23EnableABIBreakingChecksE"
WITHOUT_CHECKS = "_ZN4llvm24DisableABIBreakingChecksE"


def llvm_commit(installed: wheel.Wheel) -> str:
    """Return the LLVM commit of ``installed``.

    Raises:
        ToolchainError: The library does not say, and it is not the release the pinned commit belongs to.
    """
    commit = cache.remember("llvm-commit", installed.library, lambda: installed.llvm_commit)
    if commit:
        return commit
    pins = versions.load()
    if installed.version == pins["triton"]["version"]:
        return pins["llvm"]["commit"]
    raise ToolchainError(
        "the LLVM commit of the installed triton is not known",
        expected=f"triton {pins['triton']['version']}, or a libtriton that names its LLVM commit",
        found=f"triton {installed.version}",
        where=installed.library,
        hint=f"install triton=={pins['triton']['version']}",
    )


def abi_breaking_checks(library: pathlib.Path) -> bool:
    """Return whether ``library`` was built with LLVM_ENABLE_ABI_BREAKING_CHECKS.

    Raises:
        ToolchainError: It defines both of LLVM's marker symbols, or neither.
    """
    try:
        with Elf(library) as elf:
            found = elf.exports(WITH_CHECKS), elf.exports(WITHOUT_CHECKS)
    except ElfError as error:
        raise ToolchainError("libtriton cannot be read as a shared library", found=error, where=library) from None
    if found[0] == found[1]:
        raise ToolchainError(
            "libtriton does not say whether LLVM's ABI-breaking checks are on",
            expected=f"one of {WITH_CHECKS}, {WITHOUT_CHECKS} among its symbols",
            found="both" if found[0] else "neither",
            where=library,
            hint="install the stock triton wheel; builds that hide LLVM's symbols cannot load extensions",
        )
    return found[0]
