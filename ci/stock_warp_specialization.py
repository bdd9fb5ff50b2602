"""Compile the kernels of the extension `warpspec` with stock Triton's own warp specialization, and say what it does.

    python ci/stock_warp_specialization.py                      # the table, on standard output
    python ci/stock_warp_specialization.py --write docs/warpspec-stock.md
    python ci/stock_warp_specialization.py --kernels attention  # those whose names contain a text

Nothing is run, so no GPU is needed. Stock may end the process that compiles: kernels are compiled in a process of their
own, which is started anew behind a kernel that ended it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import workspace

TESTS = workspace.ROOT / "extensions" / "warpspec" / "tests"
TARGETS = ("cuda:90", "cuda:100")
# A compilation takes seconds.
TIMEOUT = 120

HEADER = """\
# What stock warp specialization does

Kernels of `extensions/warpspec/tests/kernels`, each with `warp_specialize=True` on a loop, or on two, compiled by stock
Triton {version} without any extension. This page is written by
`python ci/stock_warp_specialization.py --write docs/warpspec-stock.md`.

- *ignored*: compiles, without specialized warps.
- *N warps*: the warps of all partitions. *Waits 0*: each wait for the tensor cores waits for everything in flight, so
  that a consumer never multiplies while it does something else.
- *empty*: the kernel compiles to a trap.
- *fails*: the compilation ends with the message.
- *wrong*: what the kernel computes is wrong, or races, when `tritonext.testing.simulator` runs it; sm_90 alone.
  An H200 found the same seven wrong.

{totals}

| kernel | kind | sm_90 | sm_100 |
|---|---|---|---|
"""


def described(kernel: Any) -> str:
    """Say what became of a kernel that compiled."""
    ptx, ttgir = kernel.asm["ptx"], kernel.asm["ttgir"]
    if "mma" not in ptx and re.search(r"\btrap;", ptx):
        return "empty"
    if "ttg.warp_specialize" not in ttgir:
        return "ignored"
    waits = set(re.findall(r"wgmma\.wait_group\.sync\.aligned (\d+)", ptx))
    return f"{kernel.metadata.num_warps} warps" + (", waits 0" if waits == {"0"} else "")


def judged(case: Any, kernel: Any, running: ModuleType) -> str:
    """Return a note on what a kernel computes, empty when it is right."""
    from tritonext.testing import simulator

    try:
        error = running.simulate(case, kernel, case.shapes[0], processors=2)
    except simulator.Finding as finding:
        return f", wrong: {type(finding).__name__}"
    return "" if error <= 1 else ", wrong"


# How MLIR and LLVM announce what went wrong, and at last that they did.
MESSAGES = (
    r"LLVM ERROR: (.*)",
    r"Assertion `(?:[^'\n]*&& )?\"?([^'\n]*?)\"?' failed",
    r"(.*)\nUNREACHABLE executed",
    r"error: (?!Failures have been detected)(.*)",
)
LAST = r"Pipeline failed while executing \[`(\w+)`"


def reason(text: str) -> str:
    """Return the first message about a failure in what a compilation printed."""
    found = [match for pattern in MESSAGES if (match := re.search(pattern, text)) is not None]
    if found:
        return min(found, key=re.Match.start)[1].strip()
    if (match := re.search(LAST, text)) is not None:
        return f"in {match[1]}"
    return text.strip().splitlines()[-1].strip()


def compile_all(names: list[str], target: str) -> None:
    """Compile kernels and print a line of JSON for each: its name, and what became of it."""
    sys.path.insert(0, str(TESTS))
    from kernels import KERNELS, running

    for name in names:
        print(json.dumps([name, None]), flush=True)
        with tempfile.TemporaryFile() as printed:
            # Passes print on the file descriptor.
            kept = os.dup(2)
            os.dup2(printed.fileno(), 2)
            try:
                kernel = KERNELS[name].specialization().compile(target)
                outcome = described(kernel)
                if target == "cuda:90" and "warps" in outcome:
                    outcome += judged(KERNELS[name], kernel, running)
            except Exception as error:
                printed.seek(0)
                text = printed.read().decode(errors="replace")
                outcome = "fails: " + reason(f"{text}\n{error}")
            finally:
                os.dup2(kept, 2)
                os.close(kept)
        print(json.dumps([name, outcome]), flush=True)


def outcomes(names: list[str], target: str) -> Iterator[tuple[str, str]]:
    """Return what becomes of each kernel on a target."""
    left = list(names)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache, "TRITON_DEFAULT_FP_FUSION": "1"}
        while left:
            command = [sys.executable, __file__, "--worker", target, *left]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, env=environment, timeout=TIMEOUT * len(left)
                )
                printed, errors, ending = done.stdout, done.stderr, f"exit status {done.returncode}"
            except subprocess.TimeoutExpired as late:
                printed, errors, ending = (late.stdout or b"").decode(), "", "no end"
            for name, outcome in map(json.loads, printed.splitlines()):
                if outcome is not None:
                    left.remove(name)
                    yield name, outcome
            if left:
                text = f"{errors}\n{ending}"
                yield left.pop(0), f"fails: ends the process: {reason(text)}"


def page(found: dict[str, dict[str, str]], rows: dict[str, str], version: str) -> str:
    """Return the page with the table."""
    totals = []
    for target in TARGETS:
        kinds = [found[target][name].partition(":")[0] for name in rows]
        counts = {kind: kinds.count(kind) for kind in ("ignored", "empty", "fails")}
        counts = {"specialized": len(kinds) - sum(counts.values())} | counts
        named = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        totals.append(f"sm_{target[5:]}: {named}, of {len(rows)}.")
    lines = [
        f"| `{name}` | {kind} | {' | '.join(found[target][name].replace('|', '/') for target in TARGETS)} |"
        for name, kind in rows.items()
    ]
    return HEADER.format(version=version, totals="\n".join(totals)) + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path, help="file to write instead of standard output")
    parser.add_argument("--kernels", default="", help="only the kernels whose names contain this text")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return compile_all(arguments.worker[1:], arguments.worker[0])
    sys.path.insert(0, str(TESTS))
    from kernels import KERNELS

    rows = {name: case.row for name, case in KERNELS.items() if arguments.kernels in name}
    found = {target: dict(outcomes(list(rows), target)) for target in TARGETS}
    text = page(found, rows, importlib.metadata.version("triton"))
    if arguments.write:
        arguments.write.write_text(text)
    else:
        print(text)
    return None


if __name__ == "__main__":
    main()
