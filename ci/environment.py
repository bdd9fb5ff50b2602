"""The Python environment that every compiling nox session shares: build/environment.

Triton unpacks to a gigabyte, so it is installed once and not for each session.
"""

from __future__ import annotations

import pathlib
import sys

import build
import workspace

__all__ = ["ensure"]

ENVIRONMENT = workspace.ROOT / "build" / "environment"


def ensure(*groups: str) -> pathlib.Path:
    """Make the environment if it is absent, install the pinned ``groups`` of versions.toml, return its Python.

    Raises:
        SystemExit: The environment could not be made or a package not installed; pip has said why.
    """
    python = ENVIRONMENT / "bin" / "python"
    # A venv interrupted while it was made has a Python but no pip.
    if not (ENVIRONMENT / "bin" / "pip").exists():
        build.run(sys.executable, "-m", "venv", "--clear", ENVIRONMENT)
    triton = f"triton=={workspace.pins()['triton']['version']}"
    pinned = [requirement for group in groups for requirement in workspace.requirements(group)]
    build.run(python, "-m", "pip", "install", "-q", triton, *pinned)
    return python
