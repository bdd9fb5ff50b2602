"""Compile and simulate random TLX programs, and say which outcome nobody may see.

python run.py --count 2000

Each program is compiled for cuda:90 and simulated. It may work, or end in a typed error; the simulator may find a
mistake. What no program may do is crash or hang the compiler, end in a bare error, or compute other numbers than its
reference. Programs run in worker processes, so that a crash costs one program.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import programs

__all__ = ["Outcome", "main", "run"]

_TIMEOUT = 120


@dataclass(frozen=True)
class Outcome:
    """What became of a program.

    Attributes:
        seed: Its seed.
        mistake: The mistake in it; empty when there is none.
        compiled: ``ok``, ``error`` for a typed error, or what went wrong.
        simulated: ``ok``, ``error``, ``unknown`` for an op that the simulator lacks, or what went wrong.
        detail: First line of the errors.
    """

    seed: int
    mistake: str
    compiled: str
    simulated: str
    detail: str = ""

    @property
    def bad(self) -> bool:
        """Whether this may not happen."""
        expected = ("ok", "error", "unknown", *(("wrong",) if self.mistake else ()))
        if self.compiled not in ("ok", "error") or self.simulated.split()[0] not in expected:
            return True
        # Without a mistake, what compiles has to be right.
        return not self.mistake and self.compiled == "ok" and self.simulated == "error"

    @property
    def works(self) -> bool:
        """Whether it compiles, and the simulator says that it works."""
        return self.compiled == self.simulated == "ok"


def _load(program: programs.Program, directory: pathlib.Path):
    path = directory / f"program_{program.seed}.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile(program: programs.Program, kernel) -> tuple[str, str]:
    import triton

    from tritonext.errors import TritonextError
    from tritonext.offline import Specialization, parse_signature

    try:
        Specialization(kernel, parse_signature(program.signature), {}, {"num_warps": 4}).compile("cuda:90")
    except (TritonextError, triton.CompilationError) as error:
        return "error", str(error).strip().splitlines()[-1]
    except Exception as error:
        return f"bare {type(error).__name__}", (str(error).strip().splitlines() or [""])[0]
    return "ok", ""


def _simulate(program: programs.Program, module) -> tuple[str, str]:
    import numpy as np

    from tritonext.errors import TritonextError
    from tritonext_tlx.simulator import Descriptor, UnsupportedOperation, simulate

    shape = (programs.SLABS, program.rows, program.columns)
    x = np.random.default_rng(program.seed).integers(-3, 4, shape).astype(program.dtype)
    out = np.zeros(program.shape, program.dtype)
    tiles = Descriptor(x.reshape(-1, program.columns), [program.rows, program.columns])
    try:
        simulate(module.program, (1,), x, tiles, out, programs.SLABS, num_warps=4, seed=program.seed)
    except UnsupportedOperation as error:
        return "unknown", str(error).splitlines()[0]
    except TritonextError as error:
        return "error", " ".join(str(error).split())
    except Exception as error:
        return f"bare {type(error).__name__}", (str(error).strip().splitlines() or [""])[0]
    expected = module.reference(x.astype(np.float64), programs.SLABS)
    difference = float(np.abs(out.astype(np.float64) - expected).max())
    limit = 2e-3 * max(1.0, float(np.abs(expected).max()))
    return ("ok", "") if difference <= limit else (f"wrong by {difference:g}", "")


def _work(seeds: list[int]) -> None:
    """Run programs in this process, and print an outcome a line."""
    with tempfile.TemporaryDirectory(prefix="tritonext-fuzz-") as directory:
        os.environ.update(TRITON_CACHE_DIR=directory, TRITON_DEFAULT_FP_FUSION="1")
        for seed in seeds:
            program = programs.generate(seed)
            module = _load(program, pathlib.Path(directory))
            compiled, first = _compile(program, module.program)
            simulated, second = _simulate(program, module)
            detail = " | ".join(filter(None, (first, second)))
            print(json.dumps(asdict(Outcome(seed, program.mistake, compiled, simulated, detail))), flush=True)


def _batch(seeds: list[int]) -> list[Outcome]:
    """Run programs in worker processes; the one that ends a worker is an outcome too."""
    outcomes: list[Outcome] = []
    while seeds:
        command = [sys.executable, __file__, "--worker", *map(str, seeds)]
        limit = _TIMEOUT + 30 * len(seeds)
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
            output, reason = done.stdout, f"crash with status {done.returncode}"
        except subprocess.TimeoutExpired as error:
            output, reason = (error.stdout or b"").decode(), "hang"
        found = [Outcome(**json.loads(line)) for line in output.splitlines() if line.startswith("{")]
        outcomes += found
        seeds = seeds[len(found) :]
        if seeds:
            outcomes.append(Outcome(seeds[0], programs.generate(seeds[0]).mistake, reason, "ok"))
            seeds = seeds[1:]
    return outcomes


def run(seeds: list[int], jobs: int = 1, batch: int = 25) -> list[Outcome]:
    """Compile and simulate the programs of ``seeds``, ``batch`` of them in each of ``jobs`` processes at a time."""
    batches = [seeds[start : start + batch] for start in range(0, len(seeds), batch)]
    with ThreadPoolExecutor(jobs) as pool:
        return [outcome for outcomes in pool.map(_batch, batches) for outcome in outcomes]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=2000, help="number of programs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--show", action="store_true", help="print the program of the first seed, and end")
    parser.add_argument("--worker", type=int, nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.show:
        print(programs.generate(arguments.first).source)
        return 0
    if arguments.worker:
        _work(arguments.worker)
        return 0
    outcomes = run(list(range(arguments.first, arguments.first + arguments.count)), arguments.jobs)
    counts = collections.Counter(
        (outcome.mistake or "no mistake", outcome.compiled, outcome.simulated) for outcome in outcomes
    )
    for (mistake, compiled, simulated), count in sorted(counts.items()):
        print(f"{count:6}  {mistake:28} compiled: {compiled:12} simulated: {simulated}")
    works = sum(outcome.works for outcome in outcomes)
    bad = [outcome for outcome in outcomes if outcome.bad]
    print(f"{len(outcomes)} programs, {works} ({works / len(outcomes):.0%}) compile and work, {len(bad)} bad")
    for outcome in bad:
        print(f"  seed {outcome.seed}: {outcome.compiled}, {outcome.simulated}: {outcome.detail}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
