"""Profiles as files: a compressed archive of all columns, and a JSON summary for other tools.

``profile.npz`` keeps everything and reads back equal. ``profile.json`` has what the reports show: one object for each
kernel and device with durations, shares, lines, iterations, rooflines and findings; ``compare`` reads both.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import types
import typing
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from tritonext.errors import UserError

from .analysis import Analysis, analyze
from .findings import findings, measurement
from .model import LAUNCHES, MARKS, SPANS, WARPS, Profile

__all__ = ["VERSION", "load", "made", "save", "summary"]

# Raised when a field changes its meaning; a reader refuses what is newer.
VERSION = 1

# What is stored as it is; the rest is JSON.
_TABLES = {"launches": LAUNCHES, "warps": WARPS, "spans": SPANS, "marks": MARKS}

_KINDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", tuple: "a list"}

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
        tables = {name: getattr(profile, name) for name in _TABLES}
        np.savez_compressed(file, **tables, described=text)


def load(path: str | pathlib.Path) -> Profile:
    """Read a profile that :func:`save` wrote.

    Raises:
        UserError: The file is no profile, or one of a later version.
        OSError: It cannot be read.
    """
    # What cannot be opened is another matter than what cannot be understood.
    with open(path, "rb") as file:
        try:
            return _read(file, path)
        except UserError:
            raise
        except Exception as error:
            # A damaged archive fails anywhere in NumPy and zipfile, which document no exceptions.
            raise UserError(
                "the file is no profile, or damaged",
                where=path,
                expected="an archive that profile.save wrote",
                found=str(error) or type(error).__name__,
                hint="record and save it again",
            ) from error


def _read(file: BinaryIO, path: str | pathlib.Path) -> Profile:
    with np.load(file, allow_pickle=False) as archive:
        described = json.loads(archive["described"].tobytes())
        tables = [archive[name] for name in _TABLES]
    _check_version(described, path)
    for table, (name, dtype) in zip(tables, _TABLES.items()):
        if table.ndim != 1 or table.dtype != dtype:
            raise ValueError(f"{name} is no table of the columns {', '.join(dtype.names)}")
    values = {
        name: made(hint, described[name], name)
        for name, hint in typing.get_type_hints(Profile).items()
        if name not in _TABLES
    }
    profile = Profile(**values, **dict(zip(_TABLES, tables)))
    _check_places(profile)
    return profile


def _check_places(profile: Profile) -> None:
    """Check that what points to something else points to what is there."""
    kernels, launches, warps = profile.kernels, profile.launches, profile.warps
    for number, kernel in enumerate(kernels):
        roles, regions, loops = len(kernel.roles), len(kernel.regions), len(kernel.loops)
        at = f"kernels[{number}]"
        if [region.id for region in kernel.regions] != list(range(regions)):
            raise ValueError(f"{at}.regions are not numbered from 0 on")
        _check(f"{at}.regions.role", kernel.column("role"), 0, roles)
        _check(f"{at}.regions.loop", kernel.column("loop"), -1, loops)
        _check(f"{at}.loops.pace", np.array([loop.pace for loop in kernel.loops], int), -1, regions)
        above = np.array([loop.parent for loop in kernel.loops], int)
        _check(f"{at}.loops.parent", above, -1, loops)
        outer = above.copy()
        for _ in range(loops):
            outer = np.where(outer < 0, -1, above[outer])
        if (outer >= 0).any():
            raise ValueError(f"{at}.loops are around each other")
    _check("launches.kernel", launches["kernel"], 0, len(kernels))
    _check("warps.launch", warps["launch"], 0, len(launches))
    _check("warps.sm", warps["sm"], 0, 1 << 15)
    for name, table, inner in (("launches", launches, warps), ("warps", warps, profile.spans)):
        _check(f"{name}.first", table["first"], 0, len(inner) + 1)
        _check(f"{name}.count", table["count"], 0, len(inner) + 1 - table["first"])
    of_warp = launches["kernel"][warps["launch"]]
    _check("warps.role", warps["role"], 0, np.array([len(kernel.roles) for kernel in kernels], int)[of_warp])
    for name, table in (("spans", profile.spans), ("marks", profile.marks)):
        _check(f"{name}.warp", table["warp"], 0, len(warps))
        regions = np.array([len(kernel.regions) for kernel in kernels], int)[of_warp[table["warp"]]]
        _check(f"{name}.region", table["region"], 0, regions)
        _check(f"{name}.iteration", table["iteration"], 0, 1 << 31)


def _check(name: str, values: np.ndarray, least: int, end: int | np.ndarray) -> None:
    wrong = np.flatnonzero((values < least) | (values >= end))
    if len(wrong):
        row = int(wrong[0])
        above = int(np.broadcast_to(end, values.shape)[row])
        raise ValueError(f"{name} is {int(values[row])} in row {row}, not {least} or more and below {above}")


def _check_version(described: dict[str, Any], path: str | pathlib.Path) -> None:
    if made(int, described["version"], "the version") > VERSION:
        raise UserError(
            "the profile was written by a later release",
            where=path,
            expected=f"version {VERSION} or lower",
            found=described["version"],
            hint="read it with the release that wrote it",
        )


def made(hint: Any, value: Any, where: str) -> Any:
    """Make what was written as JSON what it was before.

    Args:
        hint: Its type: a dataclass of such types, a tuple of one, a mapping from text, a number, text, or one of two.
        value: What was read.
        where: What it is, for the exception.

    Raises:
        ValueError: It is something else.
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return None if value is None and types.NoneType in parts else made(parts[0], value, where)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        fields = {field.name: field for field in dataclasses.fields(hint)}
        needed = {name for name, field in fields.items() if _has_no_default(field)}
        if missing := needed - set(value):
            raise ValueError(f"{where} has no {', '.join(sorted(missing))}")
        hints = typing.get_type_hints(hint)
        known = {name: made(hints[name], entry, f"{where}.{name}") for name, entry in value.items() if name in fields}
        return hint(**known)
    if origin is tuple and isinstance(value, list):
        return tuple(made(parts[0], entry, f"{where}[{number}]") for number, entry in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {name: made(parts[1], entry, f"{where}[{name!r}]") for name, entry in value.items()}
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    whole = hint is int and type(value) is int and -(1 << 63) <= value < 1 << 63
    if hint is Any or whole or (hint in {bool, str} and type(value) is hint):
        return value
    raise ValueError(f"{where} is {json.dumps(value)[:80]}, not {_KINDS.get(hint) or _KINDS.get(origin, 'an object')}")


def _has_no_default(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


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
