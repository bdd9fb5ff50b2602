"""The report as one HTML file: data as JSON, charts drawn by a script of the page, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import pathlib
from importlib import resources
from typing import Any

import numpy as np

from ..analysis import Analysis, analyze
from ..export.selection import select
from ..findings import findings, measurement
from ..model import CATEGORIES, Profile
from ..storage import summary

__all__ = ["render", "write"]

# Shares of the two megabytes that a page may have: spans and CTAs that are drawn, of all kernels together.
_SPANS = 60_000
_CTAS = 20_000
_KERNELS = 12
_POINTS = 512
_LAUNCHES = 1_000


def write(profile: Profile, path: str | pathlib.Path) -> None:
    """Write the report of a profile."""
    pathlib.Path(path).write_text(render(profile), encoding="utf-8")


def render(profile: Profile) -> str:
    """Return the page."""
    analyses = analyze(profile)
    shown = analyses[:_KERNELS]
    plain = summary(profile)["kernels"]
    data = {
        "categories": CATEGORIES,
        "measurement": [_finding(finding) for finding in measurement(profile)],
        "kernels": [_kernel(profile, analysis, entry, len(shown)) for analysis, entry in zip(shown, plain)],
        "others": [[analysis.kernel.name, len(analysis.rows), analysis.total] for analysis in analyses[_KERNELS:]],
    }
    # In a script element only this sequence could end the text early.
    text = json.dumps(data, separators=(",", ":"), default=float).replace("</", "<\\/")
    page = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    return page.replace("/*DATA*/null", text)


def _finding(finding: Any) -> dict[str, Any]:
    return {
        "message": finding.message[:1].upper() + finding.message[1:],
        "evidence": finding.evidence,
        "advice": finding.advice,
        "severe": finding.severe,
    }


def _kernel(profile: Profile, analysis: Analysis, plain: dict[str, Any], kernels: int) -> dict[str, Any]:
    kernel = analysis.kernel
    order = analysis.timed[np.argsort(analysis.durations, kind="stable")]
    known = order[profile.launches["count"][order] > 0]
    # The median of those whose warps are kept.
    order = known if len(known) else order
    row = int(order[(len(order) - 1) // 2])
    step = -(-len(analysis.durations) // _LAUNCHES)
    return {
        **{
            name: plain[name] for name in ("name", "target", "mode", "num_warps", "num_stages", "resources", "launches")
        },
        **{
            name: plain[name]
            for name in ("frequency_ghz", "categories", "scopes", "marks", "phases", "roles", "waves", "closure")
        },
        "device": f"GPU {analysis.device.index} {analysis.device.name}".strip(),
        "timed": len(analysis.timed),
        "median": analysis.duration,
        "durations": [round(value) for value in analysis.durations[::step].tolist()],
        "lines": plain["lines"][:40],
        "rooflines": plain["rooflines"][:20],
        "iterations": [
            {
                **{
                    name: getattr(entry, name)
                    for name in ("role", "count", "median", "p95", "p99", "longest", "warmup")
                },
                "mean": [round(value) for value in entry.mean_by_index[:_POINTS].tolist()],
                "max": [round(value) for value in entry.max_by_index[:_POINTS].tolist()],
            }
            for entry in analysis.iterations
        ],
        "findings": [_finding(finding) for finding in findings(analysis)],
        "regions": [
            [CATEGORIES.index(region.category), region.place, region.scope, region.mark] for region in kernel.regions
        ],
        "launch": int(profile.launches["ticket"][row]),
        "ctas": _ctas(profile, row, _CTAS // kernels),
        "timeline": _timeline(profile, row, _SPANS // kernels),
    }


def _ctas(profile: Profile, row: int, most: int) -> list[list[int]]:
    """Return SM, CTA, start and length of each CTA of a launch in ns."""
    warps = profile.warps[profile.warps_of([row])]
    if not len(warps):
        return []
    firsts = np.flatnonzero(np.diff(warps["cta"], prepend=-1))
    start = np.minimum.reduceat(warps["start"], firsts)
    end = np.maximum.reduceat(warps["end"], firsts)
    table = np.stack([warps["sm"][firsts], warps["cta"][firsts], start - start.min(), end - start], axis=1)
    return table[:: -(-len(table) // most)].tolist()


def _timeline(profile: Profile, row: int, most: int) -> list[dict[str, Any]]:
    """Return the warps of some CTAs of a launch: start in ns, lengths in ns with regions and iterations, and marks."""
    only = Profile(
        profile.kernels, profile.launches[row : row + 1].copy(), profile.warps, profile.spans, profile.devices
    )
    chosen = select(only, most).warps
    origin = int(profile.launches["start"][row])
    result = []
    kernel = profile.kernels[profile.launches["kernel"][row]]
    budget = most
    for number in chosen.tolist():
        warp, marks = profile.warps[number], profile.marks_of(number)
        # A mark takes about twice the text of a span.
        budget -= int(warp["count"]) + 2 * len(marks)
        if budget < 0 and result:
            break
        spans = profile.spans[int(warp["first"]) : int(warp["first"] + warp["count"])][:most]
        scale = (int(warp["end"]) - int(warp["start"])) / max(int(warp["cycles"]), 1)
        edges = np.rint(np.append(spans["start"], int(warp["cycles"])) * scale).astype(np.int64)
        flat = np.stack([np.diff(edges), spans["region"], spans["iteration"]], axis=1)
        role = f" {kernel.roles[warp['role']]}" if len(kernel.roles) > 1 else ""
        result.append(
            {
                "label": f"SM {warp['sm']} CTA {warp['cta']} warp {warp['warp']}{role}",
                "start": int(warp["start"]) - origin,
                "spans": flat.ravel().tolist(),
                "marks": [
                    [round(start * scale), region.id, iteration, value]
                    for region, iteration, start, value in marks[:most]
                ],
            }
        )
    return result
