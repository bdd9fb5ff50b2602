"""Compile random kernels with and without the extension, run both, and compare: their results must be equal.

    python run.py --count 500             # on a GPU
    python run.py --count 50 --simulate   # for cuda:90 on the simulator of TTGIR, without a GPU

``--first 17 --count 1 --print`` shows a kernel.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import numpy as np

import tritonext
from tritonext.testing import quiet

# Also where this file is run as a script.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from fuzz.generate import Program, generate

__all__ = ["Outcome", "check", "main"]


@dataclass(frozen=True)
class Outcome:
    """What became of a kernel.

    Args:
        seed: Its seed.
        problem: What is wrong; empty when nothing is.
        changed: Whether the extension changed its TTGIR.
        skipped: Why it was not run; empty when it was.
        features: What it has in it.
    """

    seed: int
    problem: str
    changed: bool = False
    skipped: str = ""
    features: frozenset[str] = frozenset()


def check(seed: int, simulated: bool) -> Outcome:
    """Compile the kernel of a seed both ways, run both, and compare.

    Args:
        seed: Its seed.
        simulated: Whether it runs on the simulator instead of a GPU.
    """
    program = generate(seed)
    with tempfile.TemporaryDirectory() as directory:
        module = program.load(pathlib.Path(directory))
        run = _simulate if simulated else _launch
        try:
            stock, before = run(program, module.program, module)
        except Exception as error:
            # What stock cannot compile says nothing about the extension.
            return Outcome(seed, "", skipped=f"stock: {_line(error)}", features=program.features)
        try:
            with tritonext.use("layout:guard=false"):
                ours, after = run(program, module.program, module)
        except Exception as error:
            return Outcome(seed, _line(error), features=program.features)
    changed = _without_locations(stock.asm["ttgir"]) != _without_locations(ours.asm["ttgir"])
    wrong = [
        f"{name} differs in {int((before[name] != after[name]).sum())} elements"
        for name in before
        if not np.array_equal(before[name], after[name])
    ]
    if not (before["out"] != -384).any():
        wrong.append("nothing was stored")
    return Outcome(seed, "; ".join(wrong), changed, features=program.features)


def _line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


def _without_locations(ttgir: str) -> list[str]:
    return [line.partition(" loc(")[0] for line in ttgir.splitlines() if not line.startswith("#loc")]


def _simulate(program: Program, fn: Any, module: Any) -> tuple[Any, dict[str, np.ndarray]]:
    from tritonext.testing import simulator

    kernel = program.specialization(module).compile("cuda:90")
    arguments = program.arguments()
    simulator.simulate(kernel, (1,), arguments)
    return kernel, {name: arguments[name] for name in ("out", "total")}


def _launch(program: Program, fn: Any, module: Any) -> tuple[Any, dict[str, np.ndarray]]:
    import torch

    values = {
        name: torch.from_numpy(value).cuda() if isinstance(value, np.ndarray) else value
        for name, value in program.arguments().items()
    }
    kernel = fn[(1,)](**values, num_warps=program.warps, num_stages=program.stages)
    return kernel, {name: values[name].cpu().numpy() for name in ("out", "total")}


def _checked(seed: int, simulated: bool) -> Outcome:
    """Run in a worker process, whose passes print a module where one fails."""
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    with quiet():
        return check(seed, simulated)


def _all(seeds: range, simulated: bool, jobs: int, seconds: float | None) -> Iterator[Outcome]:
    spawn = multiprocessing.get_context("spawn")
    end = None if seconds is None else time.monotonic() + seconds
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        tasks = {seed: pool.submit(_checked, seed, simulated) for seed in seeds}
        for seed, task in tasks.items():
            try:
                yield task.result(None if end is None else max(0.0, end - time.monotonic()))
            except TimeoutError:
                pool.shutdown(wait=False, cancel_futures=True)
                return
            except BrokenProcessPool:
                yield Outcome(seed, "a worker process ended; run the seeds behind the last good one singly")
                return


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="first seed (default: %(default)s)")
    parser.add_argument("--count", type=int, default=500, help="number of kernels (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    parser.add_argument("--seconds", type=float, help="end after this time, with the kernels that are done")
    parser.add_argument("--simulate", action="store_true", help="run on the simulator of TTGIR")
    parser.add_argument("--print", action="store_true", dest="shown", help="print the kernels and run nothing")
    arguments = parser.parse_args(argv)
    seeds = range(arguments.first, arguments.first + arguments.count)
    if arguments.shown:
        print(*(generate(seed).source for seed in seeds), sep="\n\n")
        return 0
    started = time.monotonic()
    found = []
    for outcome in _all(seeds, arguments.simulate, arguments.jobs, arguments.seconds):
        found.append(outcome)
        if outcome.problem:
            print(f"seed {outcome.seed}: {outcome.problem}", flush=True)
    bad = sum(bool(outcome.problem) for outcome in found)
    features = collections.Counter(feature for outcome in found for feature in outcome.features)
    print(
        f"{len(found)} kernels in {time.monotonic() - started:.0f} s: {bad} wrong,"
        f" {sum(outcome.changed for outcome in found)} that the extension changes,"
        f" {sum(bool(outcome.skipped) for outcome in found)} not run"
    )
    print(", ".join(f"{name} in {count}" for name, count in features.most_common()))
    for reason, count in collections.Counter(outcome.skipped for outcome in found if outcome.skipped).most_common():
        print(f"  {count} x {reason}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
