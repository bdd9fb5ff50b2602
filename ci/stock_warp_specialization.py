"""Compile the kernels of the extension `warpspec` with stock Triton's own warp specialization, and say what it does.

    python ci/stock_warp_specialization.py                      # the table, on standard output
    python ci/stock_warp_specialization.py --write docs/warpspec-stock.md
    python ci/stock_warp_specialization.py --renew docs/warpspec-stock.md  # what the extension does, and new kernels
    python ci/stock_warp_specialization.py --kernels attention  # those whose names contain a text

Nothing is run, so no GPU is needed. Stock may end the process that compiles: kernels are compiled in a process of their
own, which is started anew behind a kernel that ended it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
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
- *warpspec*: what the extension makes of the kernel on sm_90, which its tests check: specialized, or left to the stock
  schedule for that reason.
- *wrong*: what the kernel computes is wrong, or races, when `tritonext.testing.simulator` runs it; sm_90 alone.
  An H200 found the same seven wrong.

{totals}

| kernel | kind | sm_90 | sm_100 | warpspec |
|---|---|---|---|---|
"""

# Inputs that users reported or asked for (T: triton-lang/triton, F: facebookexperimental/triton), by kernels.
REPORTS = {
    "T#9728, loads through pointers fail": ("gemm_pointers", "gemm_walking_pointers"),
    "T#8260, packed sequences with 3-D descriptors": ("attention_packed", "attention_rank_3"),
    "T#8311, pointers and descriptors mixed, wrong results": ("persistent_mixed", "gemm_gather"),
    "T#8072, T#7354, tiles of 16x16x16": ("gemm_tiny",),
    "T#10901, norm and quantization": ("norm_quantize",),
    "T#7658, descriptors of the host": ("gemm_host", "gemm_host_wide"),
    "pytorch/helion#967, unrolled loops": ("gemm_unrolled",),
    "meta-pytorch/tritonbench#1164, persistent fp8": ("persistent_flat_fp8",),
    "tritonbench#1094, #1025, flatten": ("persistent_flat",),
    "F#290, a persistent product": ("persistent_outer",),
    "T#2339, a product near cuBLAS; T#4308, attention near FlashAttention-3": ("gemm_bf16_wide", "attention_128"),
    "F#2880, fp32 without tensor cores": ("gemm_ieee",),
    "F#2743, attention and its stages": ("attention_128_3_stages", "attention_128_4_warps"),
    "T#8232, no product": ("activation",),
    "found here: tiles of 64 rows, 8 warps": ("gemm_64_rows", "gemm_8_warps"),
    "found here: atomics, two loops, backward": (
        "gemm_split_k",
        "attention_causal_2_loops",
        "attention_keys_gradient_128",
    ),
    "found here: annotations of both loops, groups": ("persistent_both", "grouped_outer"),
}

# Kinds of problems that are measured, and a kernel of each.
MEASURED = {
    "GEMM": "gemm_bf16_wide",
    "fp8": "gemm_fp8",
    "bias and GELU": "gemm_bias_gelu",
    "residual": "gemm_residual",
    "SwiGLU": "swiglu",
    "quantized rows": "gemm_quantize",
    "grouped GEMM": "grouped_outer",
    "mixture of experts": "experts",
    "GEMM and softmax": "gemm_softmax",
    "8-bit weights": "gemm_w8a16_wide",
    "block-scaled fp8": "gemm_fp8_scaled_8_warps",
    "attention forward": "attention_128",
    "attention backward": "attention_keys_gradient_128",
    "linear attention": "linear_attention",
}


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
    from kernels import KERNELS

    from tritonext.testing.cases import running

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


def reports(cases: dict[str, Any]) -> str:
    """Return the tables of what was reported, and of what is measured."""
    lines = ["", "| reported | warpspec |", "|---|---|"]
    for text, names in REPORTS.items():
        lines.append(f"| {text} | {'; '.join(f'`{name}`: {cases[name].expected}' for name in names)} |")
    done = [kind for kind, name in MEASURED.items() if cases[name].expected == "specialized"]
    left = [kind for kind in MEASURED if kind not in done]
    share = f"{len(done)} of {len(MEASURED)}, {len(done) / len(MEASURED):.0%}"
    lines += [
        "",
        f"Kinds of problems that are measured, and specialized by `warpspec` on sm_90: {share}: {', '.join(done)}.",
    ]
    lines += [f"Left alone: {', '.join(left)}."] if left else []
    return "\n".join(lines) + "\n"


def page(found: dict[str, dict[str, str]], cases: dict[str, Any], version: str) -> str:
    """Return the page with the tables."""
    totals = []
    for target in TARGETS:
        kinds = [found[target][name].partition(":")[0] for name in cases]
        counts = {kind: kinds.count(kind) for kind in ("ignored", "empty", "fails")}
        counts = {"specialized": len(kinds) - sum(counts.values())} | counts
        named = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        totals.append(f"sm_{target[5:]}: {named}, of {len(cases)}.")
    ours = sum(case.expected == "specialized" for case in cases.values())
    totals.append(f"warpspec, sm_90: {ours} specialized, {len(cases) - ours} left alone, of {len(cases)}.")
    lines = []
    for name, case in cases.items():
        cells = [*(found[target][name] for target in TARGETS), case.expected]
        lines.append(f"| `{name}` | {case.row} | {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    text = HEADER.format(version=version, totals="\n".join(totals)) + "\n".join(lines) + "\n"
    named = {*itertools.chain(*REPORTS.values()), *MEASURED.values()}
    return text + reports(cases) if named <= cases.keys() else text


def known(text: str) -> dict[str, dict[str, str]]:
    """Return the outcomes that a page lists."""
    found: dict[str, dict[str, str]] = {target: {} for target in TARGETS}
    for name, rest in re.findall(r"^\| `(\w+)` \|(.*)\|$", text, re.MULTILINE):
        for target, outcome in zip(TARGETS, rest.split("|")[1:]):
            found[target][name] = outcome.strip()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path, help="file to write instead of standard output")
    parser.add_argument("--renew", type=pathlib.Path, help="file to write, from whose rows stock's outcomes are taken")
    parser.add_argument("--kernels", default="", help="only the kernels whose names contain this text")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return compile_all(arguments.worker[1:], arguments.worker[0])
    sys.path.insert(0, str(TESTS))
    from kernels import KERNELS

    cases = {name: case for name, case in KERNELS.items() if arguments.kernels in name}
    found = known(arguments.renew.read_text()) if arguments.renew else {target: {} for target in TARGETS}
    for target in TARGETS:
        found[target] |= outcomes([name for name in cases if name not in found[target]], target)
    text = page(found, cases, importlib.metadata.version("triton"))
    if to := arguments.write or arguments.renew:
        to.write_text(text)
    else:
        print(text)
    return None


if __name__ == "__main__":
    main()
