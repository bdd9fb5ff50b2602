"""Measure benchmark suites on this machine's GPU.

    python benchmarks/run.py                                  # every suite
    python benchmarks/run.py layout-epilogue --out results    # one suite, written to results/<device>/
    python benchmarks/run.py layout-epilogue --case tile      # only the cases whose name contains a text
    python benchmarks/run.py layout-kernels --jobs 16         # after its kernels have been compiled by 16 processes

Results go to benchmarks/results/<device>/<suite>.json unless --out says otherwise. The exit status is 1 when a record
breaks what its suite promises, such as an error within tolerance or bit-equality with stock.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType

import harness
import report
import tritonext
from harness import Environment, Record
from tritonext.testing import gpu_missing

HERE = pathlib.Path(__file__).resolve().parent


def suites() -> list[str]:
    """Return the names of the suites, as records spell them."""
    return sorted(path.stem.replace("_", "-") for path in (HERE / "suites").glob("[!_]*.py"))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"one of {', '.join(suites())}; all when none is given"
    )
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results", help="directory of results")
    parser.add_argument("--case", default="", help="run only the cases whose name contains this text")
    parser.add_argument("--seconds", type=float, default=0.4, help="device time per case (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=0, help="processes that compile before anything is measured, where a suite can"
    )
    parser.add_argument("--commit", help="commit to record, where the tree is no clone")
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.suites) - set(suites()):
        parser.error(f"unknown suite {', '.join(sorted(unknown))}; expected {', '.join(suites())}")
    if (reason := why_not()) is not None:
        parser.exit(2, f"the suites cannot run here: {reason}\n")

    environment = Environment.current(arguments.commit)
    timer = harness.CudaTimer()
    broken = 0
    for name in arguments.suites or suites():
        module = suite(name)
        started = time.monotonic()
        if arguments.jobs and hasattr(module, "compilations"):
            compile_all(name, module.compilations(arguments.case), arguments.jobs)
            print(f"{name}: compiled in {time.monotonic() - started:.0f} s", flush=True)
        records: list[Record] = []
        paths: list[pathlib.Path] = []
        for entry in module.run(environment, timer, arguments.seconds, arguments.case):
            records.append(entry)
            problems = module.problems(entry)
            broken += bool(problems)
            print(line(entry), *(f"  BROKEN: {problem}" for problem in problems), sep="\n", flush=True)
            # Device time is scarce: what was measured is kept, whatever ends the run.
            paths = harness.write(records, arguments.out)
        for path in paths:
            print(f"{name}: {len(records)} cases in {time.monotonic() - started:.0f} s, written to {path}")
        for summary in summaries(records):
            print(f"{name}: {summary}")
    return 1 if broken else 0


def suite(name: str) -> ModuleType:
    """Return the module of a suite."""
    return importlib.import_module(f"suites.{name.replace('-', '_')}")


def compile_all(name: str, kernels: Sequence[tuple], jobs: int) -> None:
    """Compile kernels of a suite into Triton's cache, by so many processes. One that fails is left to the suite."""
    # This process has a context on the GPU, which a fork would share.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for failure in pool.map(_compile, [name] * len(kernels), kernels):
            if failure:
                print(failure, flush=True)


def _compile(name: str, kernel: tuple) -> str:
    try:
        suite(name).compile_kernel(*kernel)
    except Exception as error:
        return f"{name}: {kernel} does not compile: {type(error).__name__}: {error}"
    return ""


def why_not() -> str | None:
    """Return why nothing can be measured here, or None."""
    if (reason := gpu_missing()) is not None:
        return reason
    return "a pipeline is active for the whole process; unset TRITONEXT_ENABLE" if tritonext.active() else None


def line(entry: Record) -> str:
    """Return one line about a record."""
    ratios = ", ".join(f"{ratio:.3f}x {name}" for name, ratio in entry.ratio.items())
    error = f"error {entry.error.value:.1e}" if entry.error else ""
    return f"{entry.case:42} {entry.ours:9.2f} {entry.metric:6} {ratios}  {error}".rstrip()


def summaries(records: list[Record]) -> list[str]:
    """Return one line for each baseline: the geometric mean and the worst of the ratios."""
    entries = [entry.to_json() for entry in records]
    lines = []
    for name in report.baselines(entries):
        count, mean, worst, case = report.summary(entries, name)
        lines.append(f"{mean:.3f}x {name} over {count} cases, worst {worst:.3f}x ({case})")
    return lines


if __name__ == "__main__":
    sys.exit(main())
