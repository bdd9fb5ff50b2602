"""Every environment variable the project reads, declared once."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

import platformdirs

__all__ = ["VARIABLES", "Variable", "cache_dir", "get"]


@dataclass(frozen=True)
class Variable:
    """One environment variable: its name, the value used when unset, and what it does."""

    name: str
    default: str
    summary: str


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("TRITONEXT_ENABLE", "", "extensions to activate for the whole process, as `id[:key=value]…,id…`"),
        Variable("TRITONEXT_CACHE_DIR", "", "directory of the toolchain and ABI caches; the user cache when empty"),
        Variable("TRITONEXT_LLVM_PREFIX", "", "an LLVM/MLIR install prefix to use before any other source"),
        Variable("MLIR_DIR", "", "`<prefix>/lib/cmake/mlir`, as CMake uses it; looked at after the prefix"),
        Variable("TRITONEXT_LLVM_ARCHIVE_URL", "", "directory URL of Triton's LLVM archives; upstream's when empty"),
        Variable("TRITONEXT_LLVM_ARCHIVE_SHA256", "", "the sha256 the LLVM archive must have"),
        Variable("TRITONEXT_CXX", "", "the clang++ to compile extensions with, before any other"),
        Variable("TRITONEXT_CHROMIUM", "", "the Chromium with which tests look at pages; one on PATH when empty"),
    )
}


def get(name: str) -> str:
    """Return the value of the declared variable ``name``, or its default."""
    return os.environ.get(name, "") or VARIABLES[name].default


def cache_dir() -> pathlib.Path:
    """Return the directory for downloaded and extracted files; it may not exist yet."""
    return pathlib.Path(get("TRITONEXT_CACHE_DIR") or platformdirs.user_cache_dir("tritonext"))
