"""The JSON format of Chrome's trace viewer, for tools that read nothing else.

A slice takes some 150 bytes, so fewer are shown than in a Perfetto trace.
"""

from __future__ import annotations

import json
import math
import pathlib

import numpy as np

from ..assemble import UNRECORDED
from ..model import Profile
from .selection import Selection, select

__all__ = ["write"]

SPANS = 100_000


def write(profile: Profile, path: str | pathlib.Path, *, spans: int = SPANS) -> Selection:
    """Write a trace: a process for each SM of a launch, a thread for each warp, an instant for each mark.

    Args:
        profile: What was recorded.
        path: File to write.
        spans: The most spans to show.

    Returns:
        What is shown.
    """
    chosen = select(profile, spans)
    origin = int(profile.launches["start"].min()) if len(profile.launches) else 0
    processes: dict[tuple[int, int], int] = {}
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        file.write('{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"launches"}}')
        for launch in profile.launches:
            name = profile.kernels[launch["kernel"]].name
            times = {"ts": (int(launch["start"]) - origin) / 1000, "dur": int(launch["end"] - launch["start"]) / 1000}
            notes = {"ticket": int(launch["ticket"]), "grid": int(launch["grid"])}
            _event(file, {"name": name, "ph": "X", "pid": 0, "tid": int(launch["kernel"]), **times, "args": notes})
        for thread, row in enumerate(chosen.warps.tolist(), 1):
            warp = profile.warps[row]
            launch = profile.launches[warp["launch"]]
            kernel = profile.kernels[launch["kernel"]]
            key = (int(warp["launch"]), int(warp["sm"]))
            if key not in processes:
                processes[key] = len(processes) + 1
                label = {"name": f"{kernel.name} launch {launch['ticket']} SM {warp['sm']}"}
                _event(file, {"name": "process_name", "ph": "M", "pid": processes[key], "tid": 0, "args": label})
            process = processes[key]
            role = f" {kernel.roles[warp['role']]}" if len(kernel.roles) > 1 else ""
            label = {"name": f"CTA {warp['cta']} warp {warp['warp']}{role}"}
            _event(file, {"name": "thread_name", "ph": "M", "pid": process, "tid": thread, "args": label})
            _warp(file, profile, row, process, thread, origin)
        file.write("\n]}\n")
    return chosen


def _warp(file, profile: Profile, row: int, process: int, thread: int, origin: int) -> None:
    warp = profile.warps[row]
    kernel = profile.kernels[profile.launches["kernel"][warp["launch"]]]
    spans = profile.spans[int(warp["first"]) : int(warp["first"] + warp["count"])]
    scale = (int(warp["end"]) - int(warp["start"])) / max(int(warp["cycles"]), 1)
    starts = np.rint(spans["start"] * scale) + int(warp["start"]) - origin
    lengths = spans["cycles"] * scale
    columns = (spans["region"], spans["iteration"], spans["cycles"], starts, lengths)
    for number, iteration, cycles, start, length in zip(*(column.tolist() for column in columns)):
        if number == UNRECORDED:
            name, place = "not recorded", ""
        else:
            region = kernel.regions[number]
            name, place = region.scope or region.category, region.place
        notes = {"line": place, "iteration": iteration, "cycles": cycles}
        times = {"ts": start / 1000, "dur": round(length) / 1000}
        _event(file, {"name": name, "ph": "X", "pid": process, "tid": thread, **times, "args": notes})
    for region, iteration, start, value in profile.marks_of(row):
        notes: dict[str, object] = {"line": region.place, "iteration": iteration}
        if value is not None:
            # JSON knows no infinity.
            notes["value"] = value if math.isfinite(value) else str(value)
        time = round(start * scale) + int(warp["start"]) - origin
        mark = {"name": region.mark, "ph": "i", "s": "t", "pid": process, "tid": thread, "ts": time / 1000}
        _event(file, mark | {"args": notes})


def _event(file, event: dict) -> None:
    file.write(",\n" + json.dumps(event, separators=(",", ":")))
