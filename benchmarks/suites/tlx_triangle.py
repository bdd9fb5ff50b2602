"""The triangle multiplicative update by the example of the extension `tlx` against what torch compiles.

Pairs of 128 channels, outgoing and incoming. What is timed are replays of CUDA graphs, so that no time of the host is
in it. ``compiled`` is ``torch.compile`` of the update, written with ``einsum`` and with permuted matrices, whichever
is faster in the case; ours is tuned over the example's table. It runs in an interpreter without PYTHONPATH, so with
the Triton that torch was released with, and the two processes take turns: each run of one waits for the other.
``eager`` is torch without a compiler. In the mode ``max-autotune-no-cudagraphs`` torch compiles for a minute; at N =
512 in fp16 it was 0.4 % faster than the default mode, which is the one that is measured.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
import sys
from collections.abc import Iterator
from types import ModuleType

import torch

import harness
from harness import ROOT, Environment, Metric, Record, Timer, TurnTimer, Worker

from . import _torch_triangle as baseline

SUITE = "tlx-triangle"

CHANNELS = 128
SIZES = (256, 512, 1024)
MODES = ("default",)
# The largest relative error: of a, b and their products, of normalized numbers and of the result.
TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@functools.cache
def example() -> ModuleType:
    """Return the example as a module; it imports another one."""
    folder = str(ROOT / "extensions" / "tlx" / "examples")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("triangle")
    finally:
        sys.path.remove(folder)


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    script = str(pathlib.Path(baseline.__file__).resolve())
    # -E leaves PYTHONPATH out of account.
    worker = Worker([sys.executable, "-E", script, str(harness.FLUSH_BYTES)])
    try:
        for incoming in (False, True):
            for dtype in TOLERANCES:
                # What differs between directions does not depend on the type.
                for n in SIZES if dtype == torch.float16 or not incoming else ():
                    kind = "fp16" if dtype == torch.float16 else "bf16"
                    name = f"{'incoming' if incoming else 'outgoing'}-{kind}-{n}"
                    if wanted in name:
                        yield measured(name, n, dtype, incoming, worker, environment, timer, seconds)
                        torch.cuda.empty_cache()
    finally:
        worker.close()


def measured(
    name: str,
    n: int,
    dtype: torch.dtype,
    incoming: bool,
    worker: Worker,
    environment: Environment,
    timer: Timer,
    seconds: float,
) -> Record:
    """Check and time one case."""
    problem = {"n": n, "channels": CHANNELS, "dtype": str(dtype).removeprefix("torch."), "incoming": incoming}
    problem |= {"seed": n, "modes": MODES}
    said = worker.ask(problem)
    values = baseline.operands(n, CHANNELS, dtype, n)
    wide = {key: value.double() for key, value in values.items()}
    exact = baseline.update(incoming, baseline.FORMS[0], **wide)
    del wide
    x, mask = values["x"], values["mask"]
    weights = example().Weights(**{key: value for key, value in values.items() if key not in ("x", "mask")})
    out = torch.full_like(x, float("nan"))
    configs = example().CONFIGS
    calls = [example().prepare(x, weights, out, incoming, mask, config=config) for config in configs]
    replays = {str(number): baseline.captured(call) for number, call in enumerate(calls)}
    tried = harness.measure(replays, timer, rounds=6, warmup=2)
    best = min(tried, key=lambda number: tried[number].median)
    out.fill_(float("nan"))
    replays[best]()
    error = harness.check({"ours": [out]}, [exact], TOLERANCES[dtype], "float64", torch.equal)
    del exact
    eager = functools.partial(baseline.update, incoming, baseline.FORMS[1], **values)
    candidates = {"ours": replays[best], "compiled": worker, "eager": baseline.captured(eager)}
    turns = TurnTimer(timer)
    rounds = harness.rounds_for(candidates, turns, seconds)
    samples = harness.measure(candidates, turns, rounds)
    params = {"B": 1, "N": n, "C": CHANNELS, "incoming": incoming, "input": problem["dtype"], "rounds": rounds}
    params |= {"config": int(best), "compiled_as": said["form"], "compiled_error": said["error"]}
    params |= {"compiled_torch": said["torch"], "compiled_triton": said["triton"]}
    return harness.record(SUITE, name, params, Metric.microseconds(), samples, environment, error)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    if entry.error.acceptable:
        return []
    return [f"the relative error {entry.error.value:.2e} is above {entry.error.tolerance:.0e}"]
