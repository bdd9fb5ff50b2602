"""The values the toolchain package works with."""

from __future__ import annotations

import pathlib
from dataclasses import asdict, dataclass

__all__ = ["Attempt", "Compiler", "Llvm", "SourceUnavailable", "Toolchain"]


class SourceUnavailable(Exception):
    """One source cannot give its piece on this machine; the message says why.

    It never leaves the package: the next source is tried, and the reason is listed when none is left.
    """


@dataclass(frozen=True)
class Attempt:
    """A source that was tried for a piece, and the reason it gave nothing."""

    piece: str
    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.piece} from {self.source}: {self.reason}"


@dataclass(frozen=True)
class Llvm:
    """LLVM and MLIR headers with the ``mlir-tblgen`` that belongs to them.

    ``revision`` is the LLVM commit the headers name, or None when they name none.
    """

    include: pathlib.Path
    mlir_tblgen: pathlib.Path
    version: str
    revision: str | None
    source: str


@dataclass(frozen=True)
class Compiler:
    """A clang++ that was seen to build a C++20 shared library against libstdc++."""

    cxx: pathlib.Path
    version: str
    lld: pathlib.Path | None
    source: str


@dataclass(frozen=True)
class Toolchain:
    """Everything an extension is built with.

    Attributes:
        cxx: The clang++ to compile and link with.
        cxx_flags: Flags that select the C++ runtime of libtriton; for compiling and for linking.
        cxx_version: Version of that clang.
        mlir_tblgen: An executable ``mlir-tblgen`` that runs on this machine.
        include_dirs: Include directories in order; the first overrides ``llvm/Config/abi-breaking.h``.
        headers_version: LLVM version the headers state.
        llvm_commit: LLVM commit of the installed libtriton.
        abi_breaking_checks: Whether libtriton was built with LLVM's ABI-breaking checks.
        lld: A linker of the LLVM project, or None when only the system's linker is there.
        strip: A tool that removes debug information, or None.
        sources: For each piece, where it came from.
    """

    cxx: pathlib.Path
    cxx_flags: tuple[str, ...]
    cxx_version: str
    mlir_tblgen: pathlib.Path
    include_dirs: tuple[pathlib.Path, ...]
    headers_version: str
    llvm_commit: str
    abi_breaking_checks: bool
    lld: pathlib.Path | None
    strip: pathlib.Path | None
    sources: dict[str, str]

    @property
    def link_flags(self) -> tuple[str, ...]:
        """Flags to add to ``cxx_flags`` when linking: they choose lld where it is there."""
        return (f"--ld-path={self.lld}",) if self.lld else ()

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values, paths as strings."""

        def plain(value: object) -> object:
            if isinstance(value, pathlib.Path):
                return str(value)
            return [plain(item) for item in value] if isinstance(value, tuple) else value

        return {name: plain(value) for name, value in asdict(self).items()}

    def to_cmake(self) -> str:
        """Return CMake ``set`` commands, one for each field that a build reads."""
        values = {
            "CXX": self.cxx,
            "CXX_FLAGS": self.cxx_flags,
            "CXX_VERSION": self.cxx_version,
            "LINK_FLAGS": self.link_flags,
            "MLIR_TBLGEN": self.mlir_tblgen,
            "INCLUDE_DIRS": self.include_dirs,
            "HEADERS_VERSION": self.headers_version,
            "LLVM_COMMIT": self.llvm_commit,
            "ABI_BREAKING_CHECKS": int(self.abi_breaking_checks),
            "STRIP": self.strip or "",
        }
        lines = []
        for name, value in values.items():
            text = ";".join(map(str, value)) if isinstance(value, tuple) else str(value)
            # A bracket argument: nothing in it is special to CMake.
            lines.append(f"set(TRITONEXT_{name} [==[{text}]==])\n")
        return "".join(lines)
