"""Fit the prices of instructions in layout conversions to the record of the suite `layout-conversions`.

    python benchmarks/fit_layout_prices.py benchmarks/results/nvidia-h200/layout-conversions.json --clock 1.98

No GPU is needed. The row that is printed belongs into the extension's ``lib/Analysis/InstructionPrices.inc``. How it is
found: where a multiprocessor is full of CTAs, one of two pipes is busy all the time, that of shared memory and shuffles
or that of selections. So a price is the median, over the cases in which a class of instruction alone decides, of the
cycles per instruction. What a lone CTA takes longer than a full multiprocessor's share is latency, of which the median
is taken too. Below the row stands how far the prices are from the record.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from tritonext_layout import PricedConversion, conversions
from tritonext_layout.testing import CONVERSIONS


@dataclass(frozen=True)
class Measured:
    """One lowering of one conversion.

    Args:
        name: Conversion and lowering.
        element: Element type.
        price: What the extension says of it.
        alone: Cycles of a lone CTA.
        busy: Cycles of a full multiprocessor for one of its CTAs.
    """

    name: str
    element: str
    price: PricedConversion
    alone: float
    busy: float

    @property
    def wavefronts(self) -> int:
        """Passes over the banks, of all warps."""
        counts = self.price.counts
        return counts["warps"] * (counts["stores"]["wavefronts"] + counts["loads"]["wavefronts"])

    @property
    def shuffles(self) -> int:
        """Shuffles of all warps."""
        return self.price.counts["warps"] * self.price.counts["shuffles"]

    @property
    def selects(self) -> int:
        """Selections of all warps."""
        return self.price.counts["warps"] * self.price.counts["selects"]


def load(path: pathlib.Path, target: str, clock: float) -> list[Measured]:
    """Return the lowerings of a record, their times in cycles of ``clock`` GHz."""
    times = {entry["case"]: entry["baselines"] for entry in json.loads(path.read_text())}
    found = []
    for conversion in CONVERSIONS:
        alone, busy = (times[f"{conversion}-{load}"] for load in ("alone", "busy"))
        for lowering in alone:
            [price] = conversions(conversion.module(target), shuffles=lowering == "shuffles")
            if price.path != "registers":
                name = f"{conversion} {lowering}"
                found.append(Measured(name, conversion.element, price, alone[lowering] * clock, busy[lowering] * clock))
    return found


def median(found: list[Measured], wanted: Callable[[Measured], bool], value: Callable[[Measured], float]) -> float:
    """Return the median of ``value`` over the cases that are ``wanted``."""
    return statistics.median(value(entry) for entry in found if wanted(entry))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--clock", type=float, required=True, help="GHz at which the GPU ran")
    arguments = parser.parse_args()
    found = load(arguments.record, arguments.target, arguments.clock)
    # The loop of the suite carries elements of 8 bits one to a register, and takes longer to pack them than to move.
    words = [entry for entry in found if entry.element == "f32"]
    wavefront = median(words, lambda m: m.wavefronts > 0, lambda m: m.busy / m.wavefronts)
    shuffle = median(words, lambda m: m.shuffles > 0 and not m.selects, lambda m: m.busy / m.shuffles)
    select = median(words, lambda m: m.selects >= 4 * m.shuffles > 0, lambda m: m.busy / m.selects)
    exchange = median(found, lambda m: m.wavefronts > 0 and m.element != "i8", lambda m: m.alone - m.busy)
    turn = median(found, lambda m: m.shuffles > 0 and m.element != "i8", lambda m: m.alone - m.busy)
    print(
        f"{arguments.target}: shared memory {exchange:.0f}, shuffles {turn:.0f}; "
        f"wavefront {wavefront:.2f}, shuffle {shuffle:.2f}, select {select:.2f}"
    )
    for name, priced, measured in (
        ("alone", lambda m: m.price.cycles, lambda m: m.alone),
        ("busy", lambda m: m.price.busy_cycles, lambda m: m.busy),
    ):
        ratios = sorted((priced(entry) / measured(entry), entry.name) for entry in found if entry.element != "i8")
        middle = statistics.median(abs(ratio - 1) for ratio, _ in ratios)
        print(f"{name}: median error {middle:.0%}; {ratios[0][0]:.2f} of the time of {ratios[0][1]}, ", end="")
        print(f"{ratios[-1][0]:.2f} of that of {ratios[-1][1]}")


if __name__ == "__main__":
    main()
