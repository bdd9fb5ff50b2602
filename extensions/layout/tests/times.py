"""Time that kernels take to compile with stock Triton and with the extension, the assembler's included.

Elapsed time is what a user waits for, and means something on a machine that does nothing else and has two cores, since
kernels that are compared compile on two. Processor time does not depend on that. The compilations of a kernel take
turns, and the medians are compared, so that what else the machine does is on both accounts.
"""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from corpus import KERNELS
from triton.compiler import CompiledKernel

import tritonext
from tritonext.offline import Specialization
from tritonext.testing import quiet

__all__ = ["Spent", "Times", "compiled", "measure_times", "report"]


@dataclass(frozen=True)
class Spent:
    """Seconds: those that passed, and those of processors."""

    elapsed: float
    processor: float


@dataclass(frozen=True)
class Times:
    """Medians for a kernel."""

    name: str
    target: str
    stock: Spent
    ours: Spent
    guarded: bool

    @property
    def ratio(self) -> float:
        return self.ours.elapsed / self.stock.elapsed


def compiled(kernel: Specialization, target: str, extended: bool) -> tuple[CompiledKernel, Spent]:
    """Compile a kernel in a fresh cache, and return it with what that took."""
    with tempfile.TemporaryDirectory() as cache, _environment(TRITON_CACHE_DIR=cache):
        began, before = time.perf_counter(), _processor_time()
        with tritonext.use("layout") if extended else contextlib.nullcontext():
            made = kernel.compile(target)
        return made, Spent(time.perf_counter() - began, _processor_time() - before)


def measure_times(names: Iterable[str], target: str, repeat: int) -> list[Times]:
    """Return the medians of ``repeat`` compilations of each kernel, after one that is not counted."""
    found = []
    for name in names:
        kernel = KERNELS[name].specialization()
        spent: dict[bool, list[Spent]] = {False: [], True: []}
        with quiet():
            for _ in range(repeat + 1):
                for extended, known in spent.items():
                    made, taken = compiled(kernel, target, extended)
                    known.append(taken)
        guarded = hasattr(made.metadata, "tritonext_guard")
        found.append(Times(name, target, *(_medians(known[1:]) for known in spent.values()), guarded))
    return found


def _medians(spent: Sequence[Spent]) -> Spent:
    return Spent(*(statistics.median(getattr(each, name) for each in spent) for name in ("elapsed", "processor")))


def report(found: list[Times]) -> str:
    """Return the ratios of the sum and of the slowest kernels."""
    lines = [
        f"{one.name}, {one.target}: {one.stock.elapsed:.3f} s -> {one.ours.elapsed:.3f} s, {one.ratio:.2f} times,"
        f" {one.ours.processor / one.stock.processor:.2f} times the processor time"
        + (", compared with stock" if one.guarded else "")
        for one in sorted(found, key=lambda one: -one.ratio)
    ]
    elapsed, processor = (
        sum(getattr(one.ours, name) for one in found) / sum(getattr(one.stock, name) for one in found)
        for name in ("elapsed", "processor")
    )
    middle = statistics.median(one.ratio for one in found)
    twice = sum(one.guarded for one in found)
    lines.append(
        f"{len(found)} kernels, {twice} of them compiled twice: {elapsed:.2f} times the time of stock,"
        f" {middle:.2f} times for the kernel in the middle, {max(one.ratio for one in found):.2f} times for the"
        f" slowest; {processor:.2f} times the processor time"
    )
    return "\n".join(lines)


def _processor_time() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
