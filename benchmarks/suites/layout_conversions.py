"""Single layout conversions in a loop of dependent ones: as stock Triton lowers them, by warp shuffles, and ours.

``ours`` is what the prices of the extension `layout` choose of the two; where elements change their warp, there is
nothing to choose. Each conversion is measured twice: ``alone`` with one CTA on a multiprocessor, where its latency
counts, and ``busy`` with eight, where CTAs fill each other's gaps. The time is that of one conversion of one CTA in the
first case, and of one multiprocessor's share in the second.
"""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

import harness
from harness import Environment, Metric, Record, Timer
from tritonext_layout import conversions
from tritonext_layout.testing import CONVERSIONS, Conversion

SUITE = "layout-conversions"

REPETITIONS = {"alone": 4000, "busy": 1000}
CTAS = {"alone": 1, "busy": 8}
_TYPES = {"f32": torch.float32, "f16": torch.float16, "i8": torch.int8}


class Case:
    """The kernels of one conversion."""

    def __init__(self, conversion: Conversion, target: str, directory: pathlib.Path) -> None:
        self.conversion = conversion
        text = conversion.module(target)
        [self.stock_price] = conversions(text)
        [self.shuffle_price] = conversions(text, shuffles=True)
        self.target = target
        self.directory = directory
        self.kernels: dict[tuple[str, bool], Any] = {}
        self.x = torch.randint(-128, 128, conversion.shape, device="cuda").to(_TYPES[conversion.element])
        self.y = torch.empty_like(self.x)

    @property
    def lowerings(self) -> tuple[str, ...]:
        """What there is to choose from."""
        forced = self.shuffle_price.path == "shuffles" and self.stock_price.path != "shuffles"
        return ("stock", "shuffles") if forced else ("stock",)

    @property
    def chosen(self) -> str:
        """The cheaper one, by the prices."""
        return "shuffles" if "shuffles" in self.lowerings and self.shuffle_price.cheaper(self.stock_price) else "stock"

    def compile(self) -> None:
        """Make the kernels; several cases may do so at once."""
        for name in self.lowerings:
            for repeated in (False, True):
                self.kernels[name, repeated] = self.conversion.compile(
                    self.directory, self.target, forced=name == "shuffles", repeated=repeated
                )

    def launch(self, name: str, repetitions: int, ctas: int) -> None:
        """Run a kernel; none of its loops when ``repetitions`` is 0."""
        self.kernels[name, bool(repetitions)][(ctas, 1, 1)](self.x, self.y, repetitions)

    def results(self, name: str) -> list[torch.Tensor]:
        """Return what a lowering gives once, and after three times over poisoned memory."""
        results = []
        for repetitions in (0, 3):
            self.y.fill_(77)
            self.launch(name, repetitions, 1)
            results.append(self.y.clone())
        return results

    def measured(self, load: str, environment: Environment, timer: Timer, seconds: float) -> Record:
        """Check and time the lowerings."""
        repetitions = REPETITIONS[load]
        ctas = CTAS[load] * torch.cuda.get_device_properties(0).multi_processor_count
        outputs = {name: self.results(name) for name in self.lowerings}
        outputs = {"ours": outputs[self.chosen], **outputs}
        references = [self.x.double(), outputs["stock"][1].double()]
        error = harness.check(outputs, references, 0.0, "the tile itself", torch.equal)
        names = {"ours": self.chosen, **{name: name for name in self.lowerings}}
        candidates = {key: lambda name=name: self.launch(name, repetitions, ctas) for key, name in names.items()}
        rounds = min(40, harness.rounds_for(candidates, timer, seconds))
        samples = harness.measure(candidates, timer, rounds, warmup=1)
        metric = Metric("ns", lambda ms: ms * 1e6 / repetitions / CTAS[load], False)
        params = {
            "shape": list(self.conversion.shape),
            "element": self.conversion.element,
            "warps": self.conversion.warps,
            "ctas_per_multiprocessor": CTAS[load],
            "path": self.stock_price.path,
            "ours": self.chosen,
            "rounds": rounds,
        }
        code = {}
        for key, name in names.items():
            kernel = self.kernels[name, True]
            code[key] = {"shared_bytes": kernel.metadata.shared, "registers": kernel.n_regs, "spills": kernel.n_spills}
        return harness.record(SUITE, f"{self.conversion}-{load}", params, metric, samples, environment, error, code)


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    major, minor = torch.cuda.get_device_capability()
    target = f"cuda:{10 * major + minor}"
    names = {conversion: [load for load in CTAS if wanted in f"{conversion}-{load}"] for conversion in CONVERSIONS}
    selected = [conversion for conversion in CONVERSIONS if names[conversion]]
    with tempfile.TemporaryDirectory() as directory:
        cases = [Case(conversion, target, pathlib.Path(directory)) for conversion in selected]
        with ThreadPoolExecutor() as pool:
            list(pool.map(Case.compile, cases))
        for case in cases:
            for load in names[case.conversion]:
                # A case takes 0.1 s, so that the budget of other suites would make it 20 times as exact as it need be.
                yield case.measured(load, environment, timer, seconds / 4)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result."""
    found = []
    if not entry.error.acceptable:
        found.append("the conversion changes values")
    if not all(entry.error.bit_equal.values()):
        found.append("the lowerings do not agree in every bit")
    return found
