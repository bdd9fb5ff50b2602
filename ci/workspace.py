"""What the repository contains, read from its own files: extensions, pins and the requirements of each session."""

from __future__ import annotations

import functools
import pathlib
import sys
import tomllib

__all__ = ["ROOT", "extensions", "pins", "program", "project_directory", "requirements"]

ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.cache
def pins() -> dict:
    """Return the contents of versions.toml."""
    return tomllib.loads((ROOT / "versions.toml").read_text())


@functools.cache
def extensions(fixtures: bool = False) -> dict[str, pathlib.Path]:
    """Return the directory of every extension by id; with ``fixtures`` also those that only tests use."""
    patterns = ["extensions/*/pyproject.toml"] + (["tests/extensions/*/pyproject.toml"] if fixtures else [])
    found = {}
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            manifest = tomllib.loads(path.read_text()).get("tool", {}).get("tritonext")
            if manifest is not None:
                found[manifest["id"]] = path.parent
    return found


def project_directory(name: str) -> pathlib.Path:
    """Return the directory of the project ``name``: ``sdk`` or an extension id.

    Raises:
        SystemExit: There is no such project; the message lists those there are.
    """
    projects = {"sdk": ROOT / "common"} | extensions(fixtures=True)
    if name not in projects:
        raise SystemExit(f"unknown project {name!r}\n  expected: one of {', '.join(projects)}")
    return projects[name]


def requirements(group: str) -> list[str]:
    """Return the pinned requirements of a session group: build, test, lint, docs or report."""
    return [name + pin for name, pin in pins()["requirements"][group].items()]


def program(name: str) -> str:
    """Return the path of a program that a package installed beside this interpreter, which need not be on PATH."""
    return str(pathlib.Path(sys.executable).with_name(name))
