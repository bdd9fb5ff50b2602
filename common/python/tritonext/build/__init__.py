"""The build backend of extensions: ``build-backend = "tritonext.build"`` in a ``pyproject.toml``.

It runs CMake through scikit-build-core with settings that follow from the manifest, then checks the library, stamps
the wheel and gives it the platform tag it earned. ``python -m tritonext.build`` holds the commands CMake calls.
"""

from __future__ import annotations

from .backend import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
