"""The JSON tree that hatchet and Proton's viewer read: kernel, category, source line.

``proton-viewer -m time/ms FILE`` prints it. Times of warps run side by side, so what lies under a kernel shares its
duration by the warps' time.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ..analysis import Analysis, analyze
from ..model import Device, Profile

__all__ = ["tree", "write"]


def write(profile: Profile, path: str | pathlib.Path) -> None:
    """Write the tree of a profile."""
    pathlib.Path(path).write_text(json.dumps(tree(profile)), encoding="utf-8")


def tree(profile: Profile) -> list[dict[str, Any]]:
    """Return the tree and the description of the devices, as Proton writes them."""
    analyses = analyze(profile)
    root = _node("ROOT", {"count": 0, "time (ns)": 0}, [_kernel(analysis) for analysis in analyses])
    devices: dict[str, dict[str, Any]] = {}
    for analysis in analyses:
        kind = "CUDA" if analysis.kernel.target.startswith("cuda") else "HIP"
        devices.setdefault(kind, {})[str(analysis.device.index)] = _device(analysis.device, analysis)
    return [root, devices]


def _node(name: str, metrics: dict[str, Any], children: list[dict[str, Any]]) -> dict[str, Any]:
    return {"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": children}


def _kernel(analysis: Analysis) -> dict[str, Any]:
    total = analysis.total
    where = {
        "device_id": str(analysis.device.index),
        "device_type": "CUDA" if analysis.kernel.target.startswith("cuda") else "HIP",
    }
    known: dict[str, list[tuple[str, float]]] = {}
    for line in analysis.lines:
        place = f"{line.file.rsplit('/', 1)[-1]}:{line.line}" if line.line else "elsewhere"
        for category, share in line.categories.items():
            known.setdefault(category, []).append((place, share))
    # Metrics are exclusive: what has children is the sum of them.
    children = [
        _node(
            category,
            {},
            [_node(place, {"time (ns)": share * total, "count": 0, **where}, []) for place, share in places],
        )
        for category, places in known.items()
    ]
    count = len(analysis.rows)
    rest = total * (1 - sum(share for places in known.values() for _, share in places))
    metrics = {"time (ns)": max(rest, 0.0) if children else total, "count": count, **where}
    return _node(analysis.kernel.name, metrics, children)


def _device(device: Device, analysis: Analysis) -> dict[str, Any]:
    # The viewer divides by these; bus width and clock are those that give the bandwidth with two transfers a cycle.
    return {
        "arch": analysis.kernel.target.partition(":")[2],
        "bus_width": 8,
        "memory_clock_rate": device.bandwidth / 2 / 1000,
        "clock_rate": analysis.frequency * 1e6,
        "num_sms": device.sms,
    }
