"""Profiles as files: a compressed archive of all columns, and a JSON summary for other tools.

``profile.npz`` keeps everything and reads back equal. ``profile.json`` has what the reports show: one object for each
kernel and device with durations, shares, lines, iterations, rooflines and findings; ``compare`` reads both.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import zipfile
import zlib
from typing import Any

import numpy as np

from tritonext.errors import UserError

from .analysis import Analysis, analyze
from .findings import findings, measurement
from .model import LAUNCHES, MARKS, SPANS, WARPS, Device, HostEvent, Kernel, Loop, Loss, Profile, Region

__all__ = ["VERSION", "load", "save", "summary"]

# Raised when a field changes its meaning; a reader refuses what is newer.
VERSION = 1

# A summary of very many launches keeps this many durations, evenly chosen.
_DURATIONS = 10_000


def save(profile: Profile, path: str | pathlib.Path) -> None:
    """Write a profile as ``.npz``, from which :func:`load` makes an equal one."""
    described = {
        "version": VERSION,
        "kernels": [dataclasses.asdict(kernel) for kernel in profile.kernels],
        "devices": [dataclasses.asdict(device) for device in profile.devices],
        "events": [dataclasses.asdict(event) for event in profile.events],
        "loss": dataclasses.asdict(profile.loss),
        "notices": list(profile.notices),
        "host_offset": profile.host_offset,
    }
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    with open(path, "wb") as file:
        tables = {name: getattr(profile, name) for name in ("launches", "warps", "spans", "marks")}
        np.savez_compressed(file, **tables, described=text)


def load(path: str | pathlib.Path) -> Profile:
    """Read a profile that :func:`save` wrote.

    Raises:
        UserError: The file is no profile, or one of a later version.
        OSError: It cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            described = json.loads(archive["described"].tobytes())
            tables = [archive["launches"], archive["warps"], archive["spans"], archive["marks"]]
        _check_version(described, path)
        same = [table.dtype == dtype for table, dtype in zip(tables, (LAUNCHES, WARPS, SPANS, MARKS))]
        if not all(same):
            raise ValueError("its tables have other columns")
        return Profile(
            tuple(_kernel_from_json(entry) for entry in described["kernels"]),
            *tables[:3],
            tuple(Device(**entry) for entry in described["devices"]),
            tuple(HostEvent(**entry) for entry in described["events"]),
            Loss(**(described["loss"] | {"kernels": tuple(described["loss"]["kernels"])})),
            tuple(described["notices"]),
            described["host_offset"],
            tables[3],
        )
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(
            "the file is no profile", where=path, expected="an archive that profile.save wrote", found=str(error)
        ) from error


def _check_version(described: dict[str, Any], path: str | pathlib.Path) -> None:
    if described["version"] > VERSION:
        raise UserError(
            "the profile was written by a later release",
            where=path,
            expected=f"version {VERSION} or lower",
            found=described["version"],
            hint="read it with the release that wrote it",
        )


def _kernel_from_json(entry: dict[str, Any]) -> Kernel:
    return Kernel(
        **entry
        | {
            "roles": tuple(entry["roles"]),
            "regions": tuple(Region(**region) for region in entry["regions"]),
            "loops": tuple(Loop(**loop) for loop in entry["loops"]),
            "moved": None if entry["moved"] is None else tuple(entry["moved"]),
        }
    )


def summary(profile: Profile) -> dict[str, Any]:
    """Return what the reports show as plain data for ``json.dumps``."""
    return {
        "format": "tritonext-profile",
        "version": VERSION,
        "devices": [dataclasses.asdict(device) for device in profile.devices],
        "loss": dataclasses.asdict(profile.loss) | {"kernels": list(profile.loss.kernels)},
        "measurement": [dataclasses.asdict(finding) for finding in measurement(profile)],
        "kernels": [_analysis_to_json(analysis) for analysis in analyze(profile)],
    }


def _analysis_to_json(analysis: Analysis) -> dict[str, Any]:
    kernel = analysis.kernel
    step = -(-len(analysis.durations) // _DURATIONS)
    fields = {
        "name": kernel.name,
        "key": kernel.key,
        "target": kernel.target,
        "mode": kernel.mode,
        "num_warps": kernel.num_warps,
        "num_stages": kernel.num_stages,
        "resources": dict(kernel.resources),
        "opcodes": dict(kernel.opcodes),
        "ir": kernel.ir,
        "device": analysis.device.index,
        "launches": len(analysis.rows),
        "durations_ns": analysis.durations[::step],
        "frequency_ghz": analysis.frequency,
        "categories": [dataclasses.asdict(row) for row in analysis.categories],
        "scopes": [dataclasses.asdict(row) for row in analysis.scopes],
        "marks": [dataclasses.asdict(row) for row in analysis.marks],
        "lines": [dataclasses.asdict(line) for line in analysis.lines],
        "phases": analysis.phases,
        "iterations": [dataclasses.asdict(entry) for entry in analysis.iterations],
        "rooflines": [
            dataclasses.asdict(entry) | {"bound": entry.bound, "fraction": entry.fraction}
            for entry in analysis.rooflines
        ],
        "waves": dataclasses.asdict(analysis.waves),
        "roles": analysis.roles,
        "unrecorded": analysis.unrecorded,
        "closure": analysis.closure,
        "findings": [dataclasses.asdict(finding) for finding in findings(analysis)],
    }
    return _plain(fields)


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers and arrays into Python's, rounded to what a measurement can mean."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
