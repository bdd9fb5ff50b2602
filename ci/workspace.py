"""What the repository contains, read from its own files: extensions, pins and the requirements of each session."""

from __future__ import annotations

import functools
import json
import pathlib
import sys
import tomllib

__all__ = ["ROOT", "extension_directory", "extensions", "kinds", "pins", "program", "requirements"]

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


def extension_directory(name: str) -> pathlib.Path:
    """Return the directory of the extension with the id ``name``.

    Raises:
        SystemExit: There is no such extension; the message lists those there are.
    """
    found = extensions(fixtures=True)
    if name not in found:
        raise SystemExit(f"unknown extension {name!r}\n  expected: one of {', '.join(found)}")
    return found[name]


def kinds() -> list[str]:
    """Return what an extension can start from, as the questions of the template say."""
    questions = json.loads((ROOT / "templates" / "extension" / "cookiecutter.json").read_text())
    return [name.removeprefix("with_") for name in questions if name.startswith("with_")]


def requirements(group: str) -> list[str]:
    """Return the pinned requirements of a group of versions.toml, such as ``build``."""
    return [name + pin for name, pin in pins()["requirements"][group].items()]


def program(name: str) -> str:
    """Return the path of a program that a package installed beside this interpreter, which need not be on PATH."""
    return str(pathlib.Path(sys.executable).with_name(name))
