"""Hand facts to CMake: the toolchain, the Triton wheel and the SDK, as a file of ``set`` commands."""

from __future__ import annotations

import pathlib

from .. import toolchain, versions
from .._triton import wheel
from .paths import sdk_root

__all__ = ["toolchain_file", "write_if_changed"]


def toolchain_file(out: pathlib.Path) -> None:
    """Write the variables that ``TritonextToolchain.cmake`` includes.

    Args:
        out: The file; it is left alone when its content would not change.

    Raises:
        ToolchainError: No toolchain is at hand; nothing is downloaded.
        ExtensionError: Triton is not installed.
    """
    triton = wheel.installed()
    values = {
        "ROOT": sdk_root(),
        "CLANG_MINIMUM": versions.load()["clang"]["minimum"],
        "TRITON_VERSION": triton.version,
        "TRITON_INCLUDE": triton.include,
        "LIBTRITON": triton.library,
    }
    text = "".join(f"set(TRITONEXT_{name} [==[{value}]==])\n" for name, value in values.items())
    write_if_changed(out, toolchain.find().to_cmake() + text)


def write_if_changed(path: pathlib.Path, text: str) -> None:
    """Write ``text`` unless ``path`` holds it already, so that build tools see no newer file."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
