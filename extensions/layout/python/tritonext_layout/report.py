"""What the layout conversions of a kernel cost, and why each is there.

The figures are those of the pass ``layout-report-conversions``, which prices a conversion as stock Triton lowers it.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton.compiler import CompiledKernel

from tritonext import opt
from tritonext.explain import Section
from tritonext.remarks import Remark

__all__ = ["PricedConversion", "conversions", "explain_sections"]


@dataclass(frozen=True)
class PricedConversion:
    """One ``ttg.convert_layout`` and its price.

    Args:
        path: How elements move: ``nothing``, ``registers``, ``shuffles`` or ``shared memory of a warp``, ``… of a CTA``
            or ``… of a cluster``.
        shape: Shape and element type of the tensor.
        source: Layout of the operand in short.
        target: Layout of the result in short.
        depth: Loops around it.
        producer: Op that gives the operand its layout.
        consumers: Ops that want the result's layout.
        consumer_lines: Lines at which they are.
        counts: Barriers, rounds, bytes of shared memory and instructions of a warp, by name.
        cycles: Estimate for a CTA that is alone on its multiprocessor.
        busy_cycles: Those of them in which other CTAs can issue nothing in its place.
        file: Source file, empty when unknown.
        line: Line in that file, 0 when unknown.
        source_line: Text of that line.
    """

    path: str
    shape: str
    source: str
    target: str
    depth: int
    producer: str
    consumers: tuple[str, ...]
    consumer_lines: tuple[int, ...]
    counts: Mapping[str, Any]
    cycles: int
    busy_cycles: int
    file: str
    line: int
    source_line: str

    @property
    def barriers(self) -> int:
        """Barriers inside the conversion at which warps wait for each other."""
        return self.counts["block_barriers"] + self.counts["cluster_barriers"]

    def cheaper(self, other: PricedConversion) -> bool:
        """Whether this lowering beats ``other``, alone and beside other CTAs, by more than prices are wrong by."""
        return 1.1 * self.cycles < other.cycles and 1.1 * self.busy_cycles < other.busy_cycles

    @classmethod
    def from_remark(cls, remark: Remark) -> PricedConversion:
        """Read a remark of the pass."""
        data = json.loads(remark.message)
        own = {name: data.pop(name) for name in ("path", "shape", "depth", "producer", "cycles", "busy_cycles")}
        return cls(
            source=data.pop("from"),
            target=data.pop("to"),
            consumers=tuple(data.pop("consumers")),
            consumer_lines=tuple(data.pop("consumer_lines")),
            counts=data,
            file=remark.file,
            line=remark.line,
            source_line=remark.source_line,
            **own,
        )


def conversions(ttgir: str, *, shuffles: bool = False) -> list[PricedConversion]:
    """Return the conversions of a module, in its order.

    Args:
        ttgir: The module, such as ``kernel.asm["ttgir"]``.
        shuffles: Price each conversion that warp shuffles can do as if ``force_warp_shuffle`` were set.

    Raises:
        DiagnosticError: The text is no module.
    """
    _, found = opt.run_passes(ttgir, f"layout-report-conversions{{shuffles={str(shuffles).lower()}}}")
    return [PricedConversion.from_remark(remark) for remark in found]


def explain_sections(before: CompiledKernel, after: CompiledKernel, found: Sequence[Remark]) -> list[Section]:
    """Return the table of conversions that ``tritonext explain`` shows: those that are left, and the sum of stock's."""
    stock, left = (conversions(kernel.asm["ttgir"]) for kernel in (before, after))
    shuffled = conversions(after.asm["ttgir"], shuffles=True)
    columns = ("line", "tensor", "from", "to", "path", "bytes", "barriers", "cycles", "between", "why it stays")
    rows = [_row(entry, other, found) for entry, other in zip(left, shuffled, strict=True)]
    sums = [
        f"{name}: {_sum(entries)}{_exchanges(kernel.asm['ttgir'])}"
        for name, entries, kernel in (("stock", stock, before), ("with layout", left, after))
    ]
    return [Section("layout conversions", columns, rows, "\n".join(sums))]


def _sum(entries: Sequence[PricedConversion]) -> str:
    looped = [entry for entry in entries if entry.depth]
    return (
        f"{len(entries)} conversions, {len(looped)} of them in loops; "
        f"{sum(entry.barriers for entry in entries)} barriers, {sum(entry.barriers for entry in looped)} of them in "
        f"loops; {sum(entry.cycles for entry in entries)} cycles each time, estimated"
    )


def _exchanges(ttgir: str) -> str:
    """Return how many tensors change their layout by way of a buffer that the module names, as text."""
    buffers = re.findall(r"(%[\w#]+) = ttg\.local_alloc %", ttgir)
    loads = Counter(re.findall(r"= ttg\.local_load (%[\w#]+)", ttgir))
    count = sum(loads[buffer] for buffer in buffers)
    return f"; {count} more through buffers, with a barrier each" if count else ""


def _row(entry: PricedConversion, shuffled: PricedConversion, found: Iterable[Remark]) -> tuple[str, ...]:
    place = f"{pathlib.Path(entry.file).name}:{entry.line}" if entry.file else "?"
    consumers = ", ".join(name.partition(".")[2] or name for name in entry.consumers) or "nothing"
    between = f"{entry.producer.partition('.')[2] or entry.producer} and {consumers}"
    return (
        place + (" in a loop" if entry.depth else ""),
        entry.shape,
        entry.source,
        entry.target,
        entry.path,
        str(entry.counts["scratch_bytes"]),
        str(entry.barriers),
        str(entry.cycles),
        between,
        _why(entry, shuffled, found),
    )


def _why(entry: PricedConversion, shuffled: PricedConversion, found: Iterable[Remark]) -> str:
    """Return what the passes said of its line or of those that want its result, or what the lowering says of it."""
    lines = (entry.line, *entry.consumer_lines)
    said = dict.fromkeys(
        remark.message
        for remark in found
        if remark.kind == "missed" and entry.file and remark.file == entry.file and remark.line in lines
    )
    if said:
        return "; ".join(said)
    return {
        "nothing": "costs nothing",
        "registers": "moves nothing between threads",
        "shuffles": "stays in its warp",
        "shared memory of a warp": f"stays in its warp; shuffles would take {shuffled.cycles} cycles",
    }.get(entry.path, "both ends fix their layout")
