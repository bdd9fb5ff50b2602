"""Reads what Proton writes: the Chrome trace of its instrumentation mode, and its trees of kernel times."""

from __future__ import annotations

import dataclasses
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

_PROCESS = re.compile(r"(?P<kernel>.*) Core(?P<sm>\d+) CTA(?P<cta>\d+)")
_THREAD = re.compile(r"warp (?P<warp>\d+)")


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
    except ValueError as error:
        raise UserError("the file is no JSON", where=path, found=str(error)) from error


def read_tree(path: str | pathlib.Path) -> tuple[TreeRow, ...]:
    """Read a tree that Proton, or :mod:`.export.hatchet`, wrote.

    Raises:
        UserError: The file is none.
    """
    data = _load(path)
    if not (isinstance(data, list) and data and isinstance(data[0], dict) and "frame" in data[0]):
        raise UserError("the file is no tree of Proton", where=path, expected="a list that begins with a frame")

    def walk(node: dict[str, Any], above: tuple[str, ...]) -> Iterator[TreeRow]:
        for child in node.get("children", ()):
            here = (*above, child["frame"]["name"])
            yield TreeRow(here, dict(child.get("metrics", {})))
            yield from walk(child, here)

    return tuple(walk(data[0], ()))


def read_trace(path: str | pathlib.Path) -> Profile:
    """Read a Chrome trace of Proton's instrumentation mode.

    Proton draws a cycle as a nanosecond and does not tell launches of a kernel apart, so a profile has one launch of
    each kernel, and its times in ns are cycles. Where scopes nest, the innermost holds.

    Raises:
        UserError: The file is none.
    """
    data = _load(path)
    events = data.get("traceEvents") if isinstance(data, dict) else None
    if events is None:
        raise UserError("the file is no Chrome trace", where=path, expected="an object with traceEvents")
    scopes: dict[str, list[str]] = {}
    warps: dict[tuple[str, int, int, int], list[tuple[int, int, int]]] = {}
    for event in events:
        process, thread = _PROCESS.fullmatch(str(event.get("pid", ""))), _THREAD.match(str(event.get("tid", "")))
        if event.get("ph") != "X" or not process or not thread:
            continue
        names = scopes.setdefault(process["kernel"], [])
        if event["name"] not in names:
            names.append(event["name"])
        start = round(event["ts"] * 1000)
        key = (process["kernel"], int(process["sm"]), int(process["cta"]), int(thread["warp"]))
        warps.setdefault(key, []).append((start, start + round(event["dur"] * 1000), names.index(event["name"]) + 1))
    if not warps:
        raise UserError(
            "the trace has no records of Proton's instrumentation mode",
            where=path,
            expected='processes such as "kernel Core0 CTA0" with threads such as "warp 0 (line 0)"',
        )
    return _profile(scopes, warps)


def _profile(
    scopes: dict[str, list[str]], found: dict[tuple[str, int, int, int], list[tuple[int, int, int]]]
) -> Profile:
    order = {name: index for index, name in enumerate(scopes)}
    launches, warps, spans = np.zeros(len(order), LAUNCHES), np.zeros(len(found), WARPS), []
    keys = sorted(found, key=lambda key: (order[key[0]], key[2], key[3], key[1]))
    for row, key in enumerate(keys):
        kernel, sm, cta, warp = key
        flat = list(_flatten(found[key]))
        begin = flat[0][0]
        mine = np.zeros(len(flat), SPANS)
        mine["warp"] = row
        mine["start"], mine["cycles"], mine["region"] = np.array(flat).T
        mine["start"] -= begin
        end = begin + int(mine["start"][-1] + mine["cycles"][-1])
        first = sum(len(part) for part in spans)
        warps[row] = (order[kernel], cta, warp, 0, sm, begin, end, end - begin, 0, 0, True, first, len(flat))
        spans.append(mine)
    for index in range(len(order)):
        rows = np.flatnonzero(warps["launch"] == index)
        ctas = len(np.unique(warps["cta"][rows]))
        times = (warps["start"][rows].min(), warps["end"][rows].max())
        launches[index] = (index, 0, 0, 0, False, *times, ctas, ctas, rows[0], len(rows))
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
    return Profile(kernels, launches, warps, np.concatenate(spans), notices=(notice,))


def _flatten(intervals: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Turn intervals that may nest into start, length and number of what is innermost; 0 where nothing is."""
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
        inner = max(active, key=lambda entry: (entry[0], -entry[1]), default=None)
        yield begin, end - begin, inner[2] if inner else 0
