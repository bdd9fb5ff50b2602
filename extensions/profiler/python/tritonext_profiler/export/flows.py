"""Which copy a wait waits for."""

from __future__ import annotations

import numpy as np

from ..model import Kernel, Profile

__all__ = ["flows"]


def flows(profile: Profile, warps: np.ndarray) -> tuple[dict[int, int], dict[int, int]]:
    """Pair copies with the waits for them.

    In a pipelined loop the wait of an iteration is for the copy that was issued ``num_stages - 1`` iterations before;
    those of the first iterations are for what was issued before the loop. In a warp-specialized kernel a consumer waits
    at an mbarrier for the copy that the producer's first warp issued in the iteration of the same number.

    Args:
        profile: What was recorded.
        warps: Rows of ``Profile.warps`` that are shown.

    Returns:
        For rows of ``Profile.spans`` where an arrow begins, its id, and likewise for those where one ends. A copy that
        several warps wait for has the arrow that ends last.
    """
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    categories = [np.array([region.category for region in kernel.regions]) for kernel in profile.kernels]
    producers: dict[tuple[int, int], dict[int, int]] = {}
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
                issued = zip(spans["iteration"][copies].tolist(), (copies + first).tolist())
                producers[key] = dict(issued)
        elif len(barriers := np.flatnonzero(names == "mbarrier_wait")):
            consumers.append((int(row), kernel, barriers))
    _pair_roles(profile, producers, consumers, starts, ends)
    return starts, ends


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
    producers: dict[tuple[int, int], dict[int, int]],
    consumers: list[tuple[int, Kernel, np.ndarray]],
    starts: dict[int, int],
    ends: dict[int, int],
) -> None:
    for row, _, barriers in consumers:
        warp = profile.warps[row]
        issued = producers.get((int(warp["launch"]), int(warp["cta"])))
        if issued is None:
            continue
        first = int(warp["first"])
        numbers = profile.spans["iteration"][first + barriers].tolist()
        seen: set[int] = set()
        for number, place in zip(numbers, (first + barriers).tolist()):
            copy = issued.get(number)
            # Only the first wait of an iteration is for the copy.
            if copy is not None and number not in seen:
                seen.add(number)
                identifier = copy + 1
                starts[copy] = identifier
                ends[place] = identifier
