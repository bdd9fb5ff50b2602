"""Writes a profile to a file; the suffix says how."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
from collections.abc import Callable

from tritonext.errors import UserError

from . import storage
from .export import chrome, hatchet, parquet, perfetto
from .model import Profile
from .report import html

__all__ = ["FORMATS", "check", "save"]


def _summary(profile: Profile, path: pathlib.Path) -> None:
    path.write_text(json.dumps(storage.summary(profile), indent=1), encoding="utf-8")


_WRITERS: dict[str, tuple[str, Callable[[Profile, pathlib.Path], object]]] = {
    ".npz": ("everything, to be read again", storage.save),
    ".html": ("report for a browser", html.write),
    ".pftrace": ("trace for Perfetto", perfetto.write),
    ".parquet": ("table of all spans", parquet.write),
    ".chrome.json": ("trace in Chrome's format", chrome.write),
    ".hatchet": ("tree for hatchet and proton-viewer", hatchet.write),
    ".json": ("summary for tools", _summary),
}

# What checks for the package that a format needs.
_NEEDS = {".pftrace": perfetto.require, ".parquet": parquet.require}

FORMATS = {suffix: meaning for suffix, (meaning, _) in _WRITERS.items()}


def save(profile: Profile, path: str | pathlib.Path) -> None:
    """Write a profile. A file that is there is replaced when the new one is whole, and else stays as it is.

    Args:
        profile: What was recorded.
        path: ``*.npz`` keeps everything, ``*.html`` is a report, ``*.pftrace`` a trace for Perfetto, ``*.parquet`` a
            table of all spans, ``*.json`` a summary, ``*.chrome.json`` a trace in Chrome's format, ``*.hatchet`` a tree
            for hatchet and proton-viewer.

    Raises:
        UserError: The suffix is none of these, or a package is missing.
        OSError: The file cannot be written.
    """
    write, path = check(path), pathlib.Path(path)
    # A link goes on to lead to the file.
    place = path.resolve()
    # A pipe cannot be replaced, and neither what is in a directory of somebody else.
    if (place.exists() and not place.is_file()) or not os.access(place.parent, os.W_OK):
        write(profile, path)
        return
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        write(profile, beside)
        if place.exists():
            shutil.copymode(place, beside)
        beside.replace(place)
    except OSError as error:
        if error.filename == os.fspath(beside):
            error.filename = os.fspath(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def check(path: str | pathlib.Path) -> Callable[[Profile, pathlib.Path], object]:
    """Return what writes files of a suffix.

    Raises:
        UserError: Nothing does, or a package is missing.
    """
    for suffix, (_, writer) in _WRITERS.items():
        if pathlib.Path(path).name.endswith(suffix):
            if suffix in _NEEDS:
                _NEEDS[suffix]()
            return writer
    known = ", ".join(f"{suffix} ({meaning})" for suffix, meaning in FORMATS.items())
    raise UserError("the suffix of the file says no format", where=path, expected=known)
