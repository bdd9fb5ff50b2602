"""Which launches and CTAs a trace shows, when there are more than a viewer can open."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..model import Profile

__all__ = ["Selection", "select"]


@dataclasses.dataclass(frozen=True)
class Selection:
    """Rows that are shown.

    Attributes:
        launches: Rows of ``Profile.launches`` shown in detail.
        warps: Rows of ``Profile.warps``.
        spans: Number of their spans.
        omitted: Number of spans that are left out.
    """

    launches: np.ndarray
    warps: np.ndarray
    spans: int
    omitted: int


def select(profile: Profile, spans: int, per_kernel: int = 2) -> Selection:
    """Choose what to show.

    Of each kernel on each device the slowest launch and the one of median duration come first. When these are too much,
    CTAs are left out evenly, so that those of all waves and SMs remain.

    Args:
        profile: What was recorded.
        spans: The most spans to show.
        per_kernel: The most launches of a kernel to show.
    """
    launches = profile.launches
    chosen: list[int] = []
    for kernel in range(len(profile.kernels)):
        rows = profile.of(kernel)
        rows = rows[launches["count"][rows] > 0]
        for device in np.unique(launches["device"][rows]):
            mine = rows[launches["device"][rows] == device]
            order = mine[np.argsort(launches["end"][mine] - launches["start"][mine], kind="stable")]
            # The slowest, the median, and then evenly between them.
            picks = [len(order) - 1, (len(order) - 1) // 2]
            picks += [int(index) for index in np.linspace(0, len(order) - 1, max(per_kernel - 1, 1))]
            chosen += [int(order[index]) for index in dict.fromkeys(picks)][:per_kernel]
    rows = np.array(sorted(chosen), np.int64)
    warps = profile.warps_of(rows)
    total = int(profile.warps["count"][warps].sum())
    if total > spans:
        keep = max(spans / total, 1e-9)
        cta, launch = profile.warps["cta"][warps], profile.warps["launch"][warps]
        # All warps of a CTA share its fate: every 1/keep-th CTA of a launch, in the order they are stored.
        change = np.ones(len(warps), bool)
        change[1:] = (cta[1:] != cta[:-1]) | (launch[1:] != launch[:-1])
        number = np.cumsum(change) - 1
        kept = np.floor((number + 1) * keep) > np.floor(number * keep)
        kept[number == 0] = True
        warps = warps[kept]
    shown = int(profile.warps["count"][warps].sum())
    return Selection(rows, warps, shown, len(profile.spans) - shown)
