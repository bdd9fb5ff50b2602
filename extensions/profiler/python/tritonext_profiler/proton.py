"""Reads what Proton writes: the Chrome trace of its instrumentation mode, and its trees of kernel times."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tritonext.errors import UserError

from .model import LAUNCHES, SPANS, WARPS, Kernel, Profile, Region

__all__ = ["TreeRow", "read_trace", "read_tree"]

# As many digits as the columns of a profile hold.
_PROCESS = re.compile(r"(?P<kernel>.*) Core(?P<sm>\d{1,4}) CTA(?P<cta>\d{1,9})")
_THREAD = re.compile(r"warp (?P<warp>\d{1,4})\b")
# What reading an entry that is not as it should be comes to.
_MALFORMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
_FARTHEST = 1 << 62


@dataclasses.dataclass(frozen=True)
class TreeRow:
    """A node of Proton's tree.

    Attributes:
        path: Names from below the root to the node.
        metrics: By name, such as ``time (ns)`` and ``count``.
    """

    path: tuple[str, ...]
    metrics: dict[str, Any]


def _load(path: str | pathlib.Path) -> Any:
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        expected = "a whole file that Proton wrote"
        raise UserError("the file is no JSON", where=path, expected=expected, found=str(error)) from error


def _malformed(what: str, path: str | pathlib.Path, expected: str, place: str, entry: Any) -> UserError:
    text = json.dumps(entry)
    found = f"{place}: {text if len(text) <= 200 else text[:200] + '…'}"
    return UserError(f"{what} is not as Proton writes it", where=path, expected=expected, found=found)


def read_tree(path: str | pathlib.Path) -> tuple[TreeRow, ...]:
    """Read a tree that Proton, or :mod:`.export.hatchet`, wrote.

    Raises:
        UserError: The file is none, or a node in it is not as Proton writes it.
    """
    data = _load(path)
    if not (isinstance(data, list) and data and isinstance(data[0], dict) and "frame" in data[0]):
        raise UserError("the file is no tree of Proton", where=path, expected="a list that begins with a frame")

    rows = []
    waiting: list[tuple[Any, tuple[str, ...]]] = [(data[0], ())]
    while waiting:
        node, above = waiting.pop()
        try:
            name, metrics, children = node["frame"]["name"], node.get("metrics", {}), node.get("children", [])
            if not (isinstance(name, str) and isinstance(metrics, dict) and isinstance(children, list)):
                raise TypeError
        except _MALFORMED as error:
            expected = "an object with frame.name (text), and metrics (an object) and children (a list) if any"
            place = f"below {'/'.join(above) or 'the root'}"
            raise _malformed("a node of the tree", path, expected, place, node) from error
        here = (*above, name) if node is not data[0] else ()
        if here:
            rows.append(TreeRow(here, dict(metrics)))
        waiting += [(child, here) for child in reversed(children)]
    return tuple(rows)


def read_trace(path: str | pathlib.Path) -> Profile:
    """Read a Chrome trace of Proton's instrumentation mode.

    Proton draws a cycle as a nanosecond and does not tell launches of a kernel apart, so a profile has one launch of
    each kernel, and its times in ns are cycles. Where scopes nest, the innermost holds.

    Raises:
        UserError: The file is none, or an event in it is not as Proton writes it.
    """
    data = _load(path)
    events = data.get("traceEvents") if isinstance(data, dict) else None
    if not isinstance(events, list):
        found = f"traceEvents of type {type(events).__name__}" if isinstance(data, dict) else type(data).__name__
        raise UserError(
            "the file is no Chrome trace", where=path, expected="an object with a list traceEvents", found=found
        )
    scopes: dict[str, dict[str, int]] = {}
    places: dict[tuple[str, int, int, int], int] = {}
    process, thread = functools.cache(_PROCESS.fullmatch), functools.cache(_THREAD.match)
    rows = []
    for number, event in enumerate(events):
        try:
            if event.get("ph") != "X":
                continue
            where, which = process(str(event.get("pid", ""))), thread(str(event.get("tid", "")))
            if not where or not which:
                continue
            name, start, length = event["name"], round(event["ts"] * 1000), round(event["dur"] * 1000)
            if not (isinstance(name, str) and abs(start) < _FARTHEST and 0 <= length < _FARTHEST):
                raise ValueError
        except _MALFORMED as error:
            expected = "an object whose name is text, and ts and dur are numbers of µs, dur not below 0"
            raise _malformed("an event of the trace", path, expected, f"event {number}", event) from error
        names = scopes.setdefault(where["kernel"], {})
        place = places.setdefault(
            (where["kernel"], int(where["sm"]), int(where["cta"]), int(which["warp"])), len(places)
        )
        rows.append((place, start, start + length, names.setdefault(name, len(names) + 1)))
    if not rows:
        raise UserError(
            "the trace has no records of Proton's instrumentation mode",
            where=path,
            expected='processes such as "kernel Core0 CTA0" with threads such as "warp 0 (line 0)"',
        )
    return _profile({kernel: list(names) for kernel, names in scopes.items()}, list(places), np.array(rows, np.int64))


def _profile(scopes: dict[str, list[str]], places: list[tuple[str, int, int, int]], rows: np.ndarray) -> Profile:
    """Make a profile of intervals.

    Args:
        scopes: Names of the scopes by kernel; a scope's number counts from 1.
        places: Kernel, SM, CTA and warp.
        rows: Place, start, end and scope of each interval, of shape (intervals, 4).
    """
    order = {name: index for index, name in enumerate(scopes)}
    sorting = sorted(range(len(places)), key=lambda at: (order[places[at][0]], *places[at][2:], places[at][1]))
    rank = np.empty(len(places), np.int64)
    rank[sorting] = np.arange(len(places))
    rows[:, 0] = rank[rows[:, 0]]
    rows = _apart(rows[np.lexsort((-rows[:, 2], rows[:, 1], rows[:, 0]))])
    # What lies between two intervals of a warp is in no scope.
    same = rows[1:, 0] == rows[:-1, 0]
    between = np.flatnonzero(same & (rows[1:, 1] > rows[:-1, 2]))
    gaps = np.stack([rows[between, 0], rows[between, 2], rows[between + 1, 1], np.zeros(len(between), np.int64)], 1)
    rows = np.concatenate([rows, gaps])
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]

    firsts = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
    counts = np.diff(np.append(firsts, len(rows)))
    spans, warps = np.zeros(len(rows), SPANS), np.zeros(len(places), WARPS)
    spans["warp"], spans["region"], spans["cycles"] = rows[:, 0], rows[:, 3], rows[:, 2] - rows[:, 1]
    spans["start"] = rows[:, 1] - np.repeat(rows[firsts, 1], counts)
    warps["start"], warps["end"] = rows[firsts, 1], rows[firsts + counts - 1, 2]
    warps["cycles"], warps["first"], warps["count"], warps["closed"] = (
        warps["end"] - warps["start"],
        firsts,
        counts,
        True,
    )
    for name, field in (("launch", 0), ("sm", 1), ("cta", 2), ("warp", 3)):
        values = [places[at][field] for at in sorting]
        warps[name] = [order[value] for value in values] if field == 0 else values
    launches = np.zeros(len(order), LAUNCHES)
    for index in range(len(order)):
        mine = np.flatnonzero(warps["launch"] == index)
        ctas = len(np.unique(warps["cta"][mine]))
        times = (warps["start"][mine].min(), warps["end"][mine].max())
        launches[index] = (index, 0, 0, 0, False, *times, ctas, ctas, mine[0], len(mine))
    kernels = tuple(
        Kernel(
            name,
            mode="scopes",
            num_warps=int(warps["warp"][warps["launch"] == index].max()) + 1,
            regions=(Region(0, "other"), *(Region(i, "scope", scope=text) for i, text in enumerate(names, 1))),
        )
        for index, (name, names) in enumerate(scopes.items())
    )
    notice = "read from Proton, which draws a cycle as a nanosecond: times in ns are cycles"
    return Profile(kernels, launches, warps, spans, notices=(notice,))


def _apart(rows: np.ndarray) -> np.ndarray:
    """Split intervals that overlap others of their warp, so that the innermost holds at each time.

    Args:
        rows: As for :func:`_profile`, sorted by place and start.
    """
    overlaps = (rows[1:, 0] == rows[:-1, 0]) & (rows[1:, 1] < rows[:-1, 2])
    nested = np.unique(rows[1:][overlaps, 0])
    if not len(nested):
        return rows
    inside = np.isin(rows[:, 0], nested)
    parts = [rows[~inside]]
    tangled = rows[inside]
    for mine in np.split(tangled, np.flatnonzero(np.diff(tangled[:, 0])) + 1):
        place = int(mine[0, 0])
        parts.append(np.array([(place, *part) for part in _flatten(mine[:, 1:].tolist())], np.int64))
    rows = np.concatenate(parts)
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def _flatten(intervals: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Turn intervals that may nest into start, end and number of what is innermost, where anything is."""
    edges = sorted({edge for start, end, _ in intervals for edge in (start, end)})
    # Shorter ones are further in.
    pending = sorted(intervals, key=lambda entry: (entry[0], -entry[1]))
    active: list[tuple[int, int, int]] = []
    place = 0
    for begin, end in itertools.pairwise(edges):
        while place < len(pending) and pending[place][0] <= begin:
            active.append(pending[place])
            place += 1
        active = [entry for entry in active if entry[1] > begin]
        if active:
            yield begin, end, max(active, key=lambda entry: (entry[0], -entry[1]))[2]
