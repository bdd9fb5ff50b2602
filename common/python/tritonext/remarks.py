"""What the passes of extensions did, did not do, and why.

Passes record remarks through ``tritonext/Remarks.h``; they cost one thread-local read unless someone collects::

    with remarks.collect() as found:
        triton.compile(source, target=target)
    print(remarks.render(found))

A kernel taken from a cache runs no pass and so gives no remark.
"""

from __future__ import annotations

import contextlib
import linecache
import pathlib
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

__all__ = ["KINDS", "Remark", "attach", "collect", "record", "render"]

KINDS = ("applied", "missed", "analysis")
"""What a remark can be: a change made, a change looked for and not made, or a fact behind a later decision."""


class Source(Protocol):
    """A library that records remarks on the thread a pass runs on, in collections that nest."""

    def begin_remarks(self) -> None:
        """Start a collection on this thread."""

    def end_remarks(self) -> list[dict]:
        """End this thread's innermost collection and return its remarks in order."""


@dataclass(frozen=True)
class Remark:
    """One remark of one pass.

    Attributes:
        kind: One of :data:`KINDS`.
        pass_name: Flag of the pass.
        function: Function the op is in.
        file: Source file of the op, empty when it has none.
        line: Line in that file, counted from 1; 0 when unknown.
        column: Column, counted from 1; 0 when unknown.
        message: The remark itself.
    """

    kind: str
    pass_name: str
    function: str
    file: str
    line: int
    column: int
    message: str

    @classmethod
    def from_json(cls, data: dict) -> Remark:
        """Build a remark from what a library reports; ``loc`` is ``file:line:column`` or empty."""
        file, line, column = data["loc"].rsplit(":", 2) if data["loc"] else ("", 0, 0)
        return cls(data["kind"], data["pass"], data["function"], file, int(line), int(column), data["message"])

    def to_json(self) -> dict[str, object]:
        """Return the remark as plain data for ``json.dumps``."""
        return {
            "kind": self.kind,
            "pass": self.pass_name,
            "function": self.function,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }

    @property
    def source_line(self) -> str:
        """Text of the line the remark is about, empty when it cannot be read."""
        return linecache.getline(self.file, self.line).strip() if self.file else ""


class _Collections(threading.local):
    """The collections open on this thread, outermost first: which sources each one began."""

    def __init__(self) -> None:
        self.open: list[list[Source]] = []


class _Recorded(threading.local):
    """The remarks of the SDK itself, which no library records."""

    def __init__(self) -> None:
        self.open: list[list[dict]] = []

    def begin_remarks(self) -> None:
        self.open.append([])

    def end_remarks(self) -> list[dict]:
        return self.open.pop()


_recorded = _Recorded()
_sources: list[Source] = [_recorded]
_lock = threading.Lock()
_collections = _Collections()


def attach(source: Source) -> None:
    """Collect from ``source`` too, in the collections already open on this thread as well as in later ones.

    The loader calls it for every library it loads.
    """
    with _lock:
        _sources.append(source)
    for collection in _collections.open:
        source.begin_remarks()
        collection.append(source)


def record(kind: str, pass_name: str, message: str, function: str = "") -> None:
    """Add a remark to the collection of this thread, if there is one.

    Args:
        kind: One of :data:`KINDS`.
        pass_name: What decided.
        message: The remark.
        function: Name of the kernel.
    """
    if _recorded.open:
        _recorded.open[-1].append(
            {"kind": kind, "pass": pass_name, "function": function, "loc": "", "message": message}
        )


@contextlib.contextmanager
def collect() -> Iterator[list[Remark]]:
    """Collect the remarks of passes that run on this thread; the list is filled when the block ends.

    Collections nest: an inner one keeps nothing from the outer one. Other threads are not affected, so a kernel that
    an executor compiles must be collected in the function the executor runs.
    """
    found: list[Remark] = []
    with _lock:
        sources = list(_sources)
    for source in sources:
        source.begin_remarks()
    _collections.open.append(sources)
    try:
        yield found
    finally:
        _collections.open.pop()
        for source in sources:
            found.extend(map(Remark.from_json, source.end_remarks()))


def render(found: Iterable[Remark]) -> str:
    """Return ``found`` as text: by source line, each with the line itself and equal remarks counted once."""
    counts = Counter(sorted(found, key=lambda remark: (remark.file, remark.line, remark.column)))
    lines = []
    previous = None
    for remark, count in counts.items():
        place = f"{pathlib.Path(remark.file).name}:{remark.line}:{remark.column}" if remark.file else remark.function
        if place != previous:
            lines.append(f"{place}: {remark.source_line}".rstrip(": "))
            previous = place
        times = f" ({count} times)" if count > 1 else ""
        lines.append(f"  {remark.kind}: {remark.message} [{remark.pass_name}]{times}")
    return "\n".join(lines)
