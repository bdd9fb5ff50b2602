"""Where the CMake package, the headers and the native sources of the SDK are."""

from __future__ import annotations

import pathlib

__all__ = ["sdk_root"]


def sdk_root() -> pathlib.Path:
    """Return the directory that holds ``cmake/``, ``include/`` and ``lib/``.

    It is the package itself when installed, and ``common/`` of the source tree when imported from there.
    """
    package = pathlib.Path(__file__).resolve().parents[1]
    return package if (package / "cmake").is_dir() else package.parents[1]
