"""Which copy a wait waits for."""

from __future__ import annotations

import numpy as np

from ..model import Kernel, Profile, Region

__all__ = ["flows"]


def flows(profile: Profile, warps: np.ndarray) -> tuple[dict[int, int], dict[int, int]]:
    """Pair copies with the waits for them.

    In a pipelined loop the wait of an iteration is for the copy that was issued ``num_stages - 1`` iterations before;
    those of the first iterations are for what was issued before the loop. In a warp-specialized kernel a consumer waits
    at an mbarrier, in the n-th iteration of its innermost loop, for the copy that the producer's first warp issued in
    the n-th of its own, over all tiles. Copies from shared to global memory have no arrows.

    Args:
        profile: What was recorded.
        warps: Rows of ``Profile.warps`` that are shown.

    Returns:
        For rows of ``Profile.spans`` where an arrow begins, its id, and likewise for those where one ends. A copy that
        several warps wait for has the arrow that ends last.
    """
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    categories = [np.array([_loading(region) for region in kernel.regions]) for kernel in profile.kernels]
    producers: dict[tuple[int, int], list[int]] = {}
    consumers: list[tuple[int, Kernel, np.ndarray]] = []
    for row in warps:
        warp = profile.warps[row]
        number = profile.launches["kernel"][warp["launch"]]
        kernel = profile.kernels[number]
        first = int(warp["first"])
        spans = profile.spans[first : first + int(warp["count"])]
        names = np.where(spans["region"] >= 0, categories[number][np.maximum(spans["region"], 0)], "")
        copies = np.flatnonzero(names == "copy_issue")
        waits = np.flatnonzero(names == "copy_wait")
        if len(copies) and len(waits):
            _pair_in_warp(kernel, spans, copies, waits, first, starts, ends)
        elif len(copies):
            key = (int(warp["launch"]), int(warp["cta"]))
            if key not in producers:
                # The last copy of an iteration is the one that completes it.
                producers[key] = [first + group[-1] for group in _by_iteration(kernel, spans, copies)]
        elif len(barriers := np.flatnonzero(names == "mbarrier_wait")):
            consumers.append((int(row), kernel, barriers))
    _pair_roles(profile, producers, consumers, starts, ends)
    return starts, ends


def _loading(region: Region) -> str:
    """Return the category of a region; none for what writes to global memory, which nobody waits for to read."""
    return "" if "local_to_global" in region.op or "store_wait" in region.op else region.category


def _by_iteration(kernel: Kernel, spans: np.ndarray, places: np.ndarray) -> list[list[int]]:
    """Group places by the iterations of the innermost loop that they are in; others are left out."""
    depth = np.array([region.depth for region in kernel.regions])[np.maximum(spans["region"], 0)]
    places = places[depth[places] == depth[places].max(initial=0)]
    groups: list[list[int]] = []
    last = (-1, -1)
    for place in places.tolist():
        number, region = int(spans["iteration"][place]), int(spans["region"][place])
        # A loop of one iteration that is entered again has the same number and the same region.
        if not groups or number != last[0] or region <= last[1]:
            groups.append([])
        groups[-1].append(place)
        last = number, region
    return groups


def _pair_in_warp(
    kernel: Kernel,
    spans: np.ndarray,
    copies: np.ndarray,
    waits: np.ndarray,
    first: int,
    starts: dict[int, int],
    ends: dict[int, int],
) -> None:
    lag = max(kernel.num_stages - 1, 0)
    inside = np.array([region.depth > 0 for region in kernel.regions])
    issued: dict[int, int] = {}
    before_loop: int | None = None
    waiting = set(waits.tolist())
    for place in np.sort(np.concatenate([copies, waits])).tolist():
        number = int(spans["iteration"][place])
        if place not in waiting:
            if inside[spans["region"][place]]:
                # A loop that is entered anew counts from 0 again: the latest copy of a number counts.
                issued[number] = place
            else:
                before_loop = place
            continue
        copy = issued.get(number - lag, before_loop) if number >= lag else before_loop
        if copy is not None and first + copy not in starts:
            identifier = first + copy + 1
            starts[first + copy] = identifier
            ends[first + place] = identifier


def _pair_roles(
    profile: Profile,
    producers: dict[tuple[int, int], list[int]],
    consumers: list[tuple[int, Kernel, np.ndarray]],
    starts: dict[int, int],
    ends: dict[int, int],
) -> None:
    for row, kernel, barriers in consumers:
        warp = profile.warps[row]
        first = int(warp["first"])
        spans = profile.spans[first : first + int(warp["count"])]
        issued = producers.get((int(warp["launch"]), int(warp["cta"])), [])
        # Only the first wait of an iteration is for the copy.
        for copy, group in zip(issued, _by_iteration(kernel, spans, barriers)):
            starts[copy] = copy + 1
            ends[first + group[0]] = copy + 1
