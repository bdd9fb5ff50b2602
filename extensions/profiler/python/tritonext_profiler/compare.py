"""Two stored profiles side by side: which kernels became slower, by more than the noise, and where."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from tritonext.errors import UserError

from . import storage

__all__ = ["Difference", "compare", "load_summary", "show"]

_EXPECTED = "a file that profile.save wrote, *.json or *.npz"

# Two runs of the same kernel on a GPU that manages its power differ by about this much.
BAND = 0.02


@dataclasses.dataclass(frozen=True)
class Difference:
    """What changed for one kernel.

    Attributes:
        name: The kernel.
        before: Median ns.
        after: Median ns.
        noise: Relative difference that could be chance.
        verdict: ``slower``, ``faster``, ``same``, ``new`` or ``gone``.
        parts: ns per launch that a category takes more than before, largest first.
        resources: Resources that changed: before, after.
        opcodes: Machine instructions of which there are more or fewer: before, after; the largest difference first.
        ir: How the TTGIR differs, as a unified diff; None when it is not known of both.
    """

    name: str
    before: float
    after: float
    noise: float
    verdict: str
    parts: dict[str, float] = dataclasses.field(default_factory=dict)
    resources: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    opcodes: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    ir: str | None = None

    @property
    def ratio(self) -> float:
        """``after / before``; NaN where one is missing."""
        return self.after / self.before if self.before and self.after else math.nan


@dataclasses.dataclass(frozen=True)
class _Category:
    """What is read of a category of a stored kernel."""

    name: str
    share: float


@dataclasses.dataclass(frozen=True)
class _Kernel:
    """What is read of a stored kernel; older releases stored neither instructions nor TTGIR."""

    name: str
    key: str
    device: int
    durations_ns: tuple[float, ...]
    categories: tuple[_Category, ...]
    resources: Mapping[str, int]
    opcodes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    ir: str = ""

    def __post_init__(self) -> None:
        if not self.durations_ns:
            raise ValueError(f"durations_ns of {self.name} is empty")


@dataclasses.dataclass(frozen=True)
class _Summary:
    """What is read of a stored summary."""

    version: int
    kernels: tuple[_Kernel, ...]


def load_summary(path: str | pathlib.Path) -> dict[str, Any]:
    """Return the summary of a stored profile, ``.npz`` or ``.json``.

    Raises:
        UserError: The file is none.
    """
    path = pathlib.Path(path)
    if path.suffix != ".json":
        return storage.summary(storage.load(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError("the file is no JSON", where=path, expected=_EXPECTED, found=str(error)) from error
    if not isinstance(data, dict) or data.get("format") != "tritonext-profile":
        raise UserError("the file is no profile", where=path, expected=_EXPECTED)
    version = data.get("version")
    if isinstance(version, int) and version > storage.VERSION:
        raise UserError(
            "the profile was written by a later release",
            where=path,
            expected=f"version {storage.VERSION} or lower",
            found=version,
            hint="read it with the release that wrote it",
        )
    try:
        storage.made(_Summary, {key: data[key] for key in ("version", "kernels") if key in data}, "the summary")
    except ValueError as error:
        raise UserError(
            "the summary is damaged", where=path, expected=_EXPECTED, found=str(error), hint="record and save it again"
        ) from error
    return data


def compare(before: dict[str, Any], after: dict[str, Any], band: float = BAND) -> tuple[Difference, ...]:
    """Compare two summaries, kernel by kernel.

    A difference counts when it is larger than ``band`` and than three standard errors of the two medians.

    Args:
        before: Summary to compare with.
        after: Summary that is judged.
        band: Relative difference that is never counted.
    """
    old, new = _by_name(before), _by_name(after)
    result = []
    for name in dict.fromkeys([*old, *new]):
        if name not in new:
            result.append(Difference(name, _median(old[name]), 0.0, band, "gone"))
        elif name not in old:
            result.append(Difference(name, 0.0, _median(new[name]), band, "new"))
        else:
            result.append(_difference(name, old[name], new[name], band))
    return tuple(sorted(result, key=lambda entry: -(entry.ratio if entry.ratio == entry.ratio else 0)))


def _by_name(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return kernels by name; of several of one name (other configurations, other devices) each gets a number."""
    result: dict[str, dict[str, Any]] = {}
    for kernel in sorted(data["kernels"], key=lambda entry: (entry["name"], entry["device"], entry["key"])):
        name, number = kernel["name"], 2
        while name in result:
            name, number = f"{kernel['name']} #{number}", number + 1
        result[name] = kernel
    return result


def _median(kernel: dict[str, Any]) -> float:
    return float(np.median(kernel["durations_ns"]))


def _error(kernel: dict[str, Any]) -> float:
    """Return the relative standard error of the median, from the median absolute deviation."""
    durations = np.asarray(kernel["durations_ns"], float)
    median = np.median(durations)
    deviation = 1.4826 * np.median(np.abs(durations - median))
    return float(1.2533 * deviation / math.sqrt(len(durations)) / median) if median else 0.0


def _difference(name: str, old: dict[str, Any], new: dict[str, Any], band: float) -> Difference:
    before, after = _median(old), _median(new)
    noise = max(band, 3 * math.hypot(_error(old), _error(new)))
    change = after / before - 1 if before else 0.0
    verdict = "same" if abs(change) <= noise else "slower" if change > 0 else "faster"
    shares = [{row["name"]: row["share"] for row in kernel["categories"]} for kernel in (old, new)]
    parts = {
        category: shares[1].get(category, 0.0) * after - shares[0].get(category, 0.0) * before
        for category in dict.fromkeys([*shares[0], *shares[1]])
    }
    resources = {
        key: (old["resources"][key], new["resources"][key])
        for key in old["resources"]
        if key in new["resources"] and old["resources"][key] != new["resources"][key]
    }
    parts = dict(sorted(parts.items(), key=lambda item: -abs(item[1])))
    counts = [kernel.get("opcodes", {}) for kernel in (old, new)]
    opcodes = {
        opcode: (counts[0].get(opcode, 0), counts[1].get(opcode, 0))
        for opcode in (dict.fromkeys([*counts[0], *counts[1]]) if all(counts) else ())
        if counts[0].get(opcode, 0) != counts[1].get(opcode, 0)
    }
    opcodes = dict(sorted(opcodes.items(), key=lambda item: -abs(item[1][1] - item[1][0])))
    texts = [kernel.get("ir", "").splitlines() for kernel in (old, new)]
    ir = "\n".join(difflib.unified_diff(*texts, "before", "after", lineterm="")) if all(texts) else None
    return Difference(name, before, after, noise, verdict, parts, resources, opcodes, ir)


def show(differences: tuple[Difference, ...], console: Console, code: bool = False) -> None:
    """Print a comparison.

    Args:
        differences: What :func:`compare` found.
        console: Where to.
        code: Whether all instructions whose number changed and the changes of the TTGIR are printed too.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("kernel", "before", "after", "change", "noise", "verdict", "where"):
        table.add_column(name, justify="right" if name in {"before", "after", "change", "noise"} else "left")
    styles = {"slower": "bold red", "faster": "green"}
    for entry in differences:
        where = [f"{name} {value / 1000:+.2f} µs" for name, value in list(entry.parts.items())[:3] if abs(value) >= 10]
        where += [f"{name} {old:,} → {new:,}" for name, (old, new) in entry.resources.items()]
        where += [f"{name} {old:,} → {new:,}" for name, (old, new) in list(entry.opcodes.items())[:3]]
        change = "" if math.isnan(entry.ratio) else f"{(entry.ratio - 1) * 100:+.1f} %"
        table.add_row(
            # Brackets in names are no markup.
            Text(entry.name),
            f"{entry.before / 1000:,.2f} µs" if entry.before else "",
            f"{entry.after / 1000:,.2f} µs" if entry.after else "",
            change,
            f"± {entry.noise * 100:.1f} %",
            Text(entry.verdict, style=styles.get(entry.verdict, "")),
            Text("; ".join(where)),
        )
    console.print(table)
    for entry in differences if code else ():
        console.print(Text(f"\n{entry.name}", style="bold"))
        console.print(Text(", ".join(f"{name} {old:,} → {new:,}" for name, (old, new) in entry.opcodes.items())))
        if entry.ir is None:
            console.print("  the TTGIR is not known of both")
        else:
            text = Syntax("", "diff", background_color="default").highlight(entry.ir)
            # Lines of TTGIR are longer than a terminal is wide, and none is cut.
            console.print(text if entry.ir else "  the TTGIR is the same", soft_wrap=True)
