"""Errors of passes in the compilation of a kernel, as exceptions that show the lines of the kernel.

Triton prints such errors, and raises a ``RuntimeError`` that says ``PassManager::run failed``. Libraries of extensions
keep the errors of a pass manager they add a pass to (``lib/Diagnostics.cpp``); :func:`raising` turns them into
:class:`tritonext.errors.KernelError` for a pass of an extension. A stock pass keeps Triton's exception, and what it
said becomes a note of that.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from tritonext.errors import KernelError

__all__ = ["attach", "raising"]


class Source(Protocol):
    """A library that keeps errors on the thread a pipeline is built on, in collections that nest."""

    @property
    def description(self) -> dict:
        """What is compiled in; the flags of its passes are in there."""

    def begin_diagnostics(self) -> None:
        """Start a collection on this thread."""

    def end_diagnostics(self) -> list[dict]:
        """End this thread's innermost collection and return the passes that failed."""


_sources: list[Source] = []
_lock = threading.Lock()


def attach(source: Source) -> None:
    """Collect from ``source`` too. The loader calls it for every library it loads."""
    with _lock:
        _sources.append(source)


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Raise what failed inside as an exception that says so.

    Raises:
        KernelError: A pass of an extension reported errors.
    """
    with _lock:
        sources = list(_sources)
    for source in sources:
        source.begin_diagnostics()
    failures: list[dict] = []
    try:
        try:
            yield
        finally:
            for source in sources:
                failures += source.end_diagnostics()
    except RuntimeError as error:
        if not failures:
            raise
        if _flags(sources).isdisjoint(failures[0]["passes"]):
            for line in _report(failures[0]):
                error.add_note(line)
            raise
        raise _kernel_error(failures[0]) from None


def _flags(sources: Iterable[Source]) -> set[str]:
    return {entry["flag"] for source in sources for entry in source.description["passes"]}


def _kernel_error(failure: dict) -> KernelError:
    """Return the exception for a pass that failed: its first error, with the others among the details."""
    first, *others = failure["errors"]
    hints = _remedies(first)
    details = [*_excerpt(first["frames"]), *_notes(first)]
    for other in others:
        details += [f"also: {line}" if index == 0 else line for index, line in enumerate(_block(other, hints))]
    details.append(f"pass: {failure['passes'][0]}")
    message, *rest = first["message"].splitlines()
    made, extra = KernelError, {}
    if "resource" in first:
        made, extra = _exhausted_class(), first["resource"]
    error = made(
        message, where=_place(first["frames"]), details=[*rest, *details], hint="; ".join(_remedies(first)) or None
    )
    error.diagnostics = tuple(_diagnostics(failure))
    vars(error).update(extra)
    return error


@functools.cache
def _exhausted_class() -> type[KernelError]:
    """Return the class of errors about exhausted resources; only they need Triton to be importable."""
    from tritonext._triton.resources import KernelResourceError

    return KernelResourceError


def _report(failure: dict) -> list[str]:
    shown: list[str] = []
    lines = [line for error in failure["errors"] for line in _block(error, shown)]
    return [*lines, f"pass: {failure['passes'][0]}"]


def _block(error: dict, shown: list[str]) -> list[str]:
    """Return an error as lines: where and what, the line of the kernel, the callers, the notes.

    A remedy that is among ``shown`` is left out; the others are added to it.
    """
    place = _place(error["frames"])
    first, *rest = error["message"].splitlines()
    remedies = [remedy for remedy in _remedies(error) if remedy not in shown]
    shown += remedies
    hints = [f"hint: {remedy}" for remedy in remedies]
    return [f"{place}: {first}" if place else first, *rest, *_excerpt(error["frames"]), *_notes(error), *hints]


def _remedies(error: dict) -> list[str]:
    return [note["message"] for note in error["notes"] if _is_remedy(note, error)]


def _is_remedy(note: dict, error: dict) -> bool:
    """Whether a note says what to do: one at the place of the error names no other place."""
    return note["frames"] == error["frames"]


def _notes(error: dict) -> list[str]:
    lines = []
    for note in error["notes"]:
        if not _is_remedy(note, error):
            place = _place(note["frames"])
            lines += [f"note: {note['message']}" + (f" ({place})" if place else ""), *_source(note["frames"][:1])]
    return lines


def _excerpt(frames: list[dict]) -> list[str]:
    """Return the line of the kernel with a mark below the place, and those of the calls that led there."""
    lines = _source(frames[:1])
    for frame in frames[1:]:
        lines += [f"called from: {_place([frame])}", *_source([frame])]
    return lines


def _source(frames: list[dict]) -> list[str]:
    lines = []
    for frame in frames:
        text = linecache.getline(frame["file"], frame["line"]).rstrip()
        if text:
            shift = len(text) - len(text.lstrip())
            lines += [f"    {text.lstrip()}", "    " + " " * max(frame["column"] - 1 - shift, 0) + "^"]
    return lines


def _place(frames: list[dict]) -> str | None:
    return f"{frames[0]['file']}:{frames[0]['line']}:{frames[0]['column']}" if frames else None


def _diagnostics(failure: dict) -> Iterator[Any]:
    # The loader imports this module, and must not import Triton.
    from tritonext._triton.ir import Diagnostic

    for error in failure["errors"]:
        for severity, message in (("error", error), *(("note", note) for note in error["notes"])):
            frame: dict[str, Any] = message["frames"][0] if message["frames"] else {}
            yield Diagnostic(
                severity, message["message"], frame.get("file"), frame.get("line", 0), frame.get("column", 0)
            )
