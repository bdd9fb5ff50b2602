"""Processor time that kernels take to compile with stock Triton and with the extension, the assembler's included.

The compilations of a kernel take turns, and the medians are compared, so that what else the machine does is on both
accounts.
"""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from corpus import KERNELS
from triton.compiler import CompiledKernel

import tritonext
from tritonext.offline import Specialization
from tritonext.testing import quiet

__all__ = ["Times", "compiled", "measure_times", "report"]


@dataclass(frozen=True)
class Times:
    """Medians for a kernel, in seconds."""

    name: str
    target: str
    stock: float
    ours: float
    guarded: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.stock


def compiled(kernel: Specialization, target: str, extended: bool) -> tuple[CompiledKernel, float]:
    """Compile a kernel in a fresh cache, and return it with the processor time that took."""
    before = _processor_time()
    with tempfile.TemporaryDirectory() as cache, _environment(TRITON_CACHE_DIR=cache):
        with tritonext.use("layout") if extended else contextlib.nullcontext():
            made = kernel.compile(target)
    return made, _processor_time() - before


def measure_times(names: Iterable[str], target: str, repeat: int) -> list[Times]:
    """Return the medians of ``repeat`` compilations of each kernel, after one that is not counted."""
    found = []
    for name in names:
        kernel = KERNELS[name].specialization()
        seconds: dict[bool, list[float]] = {False: [], True: []}
        with quiet():
            for _ in range(repeat + 1):
                for extended, known in seconds.items():
                    made, taken = compiled(kernel, target, extended)
                    known.append(taken)
        guarded = hasattr(made.metadata, "tritonext_guard")
        found.append(Times(name, target, *(statistics.median(known[1:]) for known in seconds.values()), guarded))
    return found


def report(found: list[Times]) -> str:
    """Return the ratios of the sum and of the slowest kernels."""
    lines = [
        f"{one.name}, {one.target}: {one.stock:.3f} s -> {one.ours:.3f} s, {one.ratio:.2f} times"
        + (", compared with stock" if one.guarded else "")
        for one in sorted(found, key=lambda one: -one.ratio)
    ]
    ratio = sum(one.ours for one in found) / sum(one.stock for one in found)
    middle = statistics.median(one.ratio for one in found)
    twice = sum(one.guarded for one in found)
    lines.append(
        f"{len(found)} kernels, {twice} of them compiled twice: {ratio:.2f} times the processor time of stock,"
        f" {middle:.2f} times for the kernel in the middle, {max(one.ratio for one in found):.2f} times for the slowest"
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
