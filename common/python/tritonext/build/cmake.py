"""Hand facts to CMake: the toolchain and the Triton wheel, as a file of ``set`` commands."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

from .. import toolchain, versions
from .._triton import wheel
from .paths import sdk_root

__all__ = ["toolchain_file"]


def toolchain_file(out: pathlib.Path) -> None:
    """Write the variables that ``TritonextToolchain.cmake`` includes.

    Args:
        out: The file; it is left alone when its content would not change.

    Raises:
        ToolchainError: No toolchain is at hand; nothing is downloaded.
        ExtensionError: Triton is not installed.
    """
    tools = toolchain.find()
    triton = wheel.installed()
    lines = [
        _set("TRITONEXT_ROOT", sdk_root()),
        _set("TRITONEXT_CLANG_MINIMUM", versions.load()["clang"]["minimum"]),
        _set("TRITONEXT_CXX", tools.cxx),
        _set("TRITONEXT_CXX_FLAGS", *tools.cxx_flags),
        _set("TRITONEXT_LINK_FLAGS", *([f"--ld-path={tools.lld}"] if tools.lld else [])),
        _set("TRITONEXT_MLIR_TBLGEN", tools.mlir_tblgen),
        _set("TRITONEXT_INCLUDE_DIRS", *tools.include_dirs),
        _set("TRITONEXT_HEADERS_VERSION", tools.headers_version),
        _set("TRITONEXT_LLVM_COMMIT", tools.llvm_commit),
        _set("TRITONEXT_TRITON_VERSION", triton.version),
        _set("TRITONEXT_TRITON_INCLUDE", triton.include),
        _set("TRITONEXT_LIBTRITON", triton.library),
    ]
    write_if_changed(out, "".join(lines))


def write_if_changed(path: pathlib.Path, text: str) -> None:
    """Write ``text`` unless ``path`` holds it already, so that build tools see no newer file."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _set(name: str, *values: object) -> str:
    """Return a ``set`` command in bracket quotes, inside which CMake interprets nothing."""
    return f"set({name}{''.join(f' [=[{value}]=]' for value in _plain(values))})\n"


def _plain(values: Iterable[object]) -> Iterable[str]:
    return (str(value) for value in values)
