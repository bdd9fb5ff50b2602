"""Compile one matrix multiplication for H100 with stock Triton and with the extension `layout`, and compare.

    nox -s demo

No GPU is needed to compile. Where there is a Hopper GPU and torch, both versions also run: results must be equal bit
for bit, and the times are shown. The exit status is 1 when the extension made anything worse or changed nothing.
"""

from __future__ import annotations

import os
import pathlib
import sys
from dataclasses import dataclass

# Said here so that Triton does not print a notice about its default.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
from rich import box
from rich.console import Console
from rich.table import Table

import tritonext
import workspace
from tritonext.inspect_code import CodeStats, describe_widths, regressions, stats
from tritonext.offline import Specialization
from tritonext.testing import gpu_missing

sys.path.insert(0, str(workspace.ROOT / "extensions" / "layout" / "examples"))

import gemm

TARGET = "cuda:90"
SIZE = 4096
# A time within this of stock's is the noise of a short measurement.
NOISE = 0.97


@dataclass(frozen=True)
class Case:
    """One way to compile the kernel."""

    out: str
    columns: int
    warps: int

    @property
    def kernel(self) -> Specialization:
        return gemm.specialize(self.out, self.columns, self.warps)

    def __str__(self) -> str:
        return f"128x{self.columns}x64, {self.warps} warps"


CASES = [Case(out, columns, warps) for out in ("fp16", "fp32") for columns, warps in ((128, 4), (128, 8), (256, 8))]

HEADINGS = ["warps", "CTA barriers", "in epilogue", "shared bytes", "registers", "spills", "instructions", "stores"]


def compile_both(case: Case) -> tuple[CodeStats, CodeStats, bool]:
    """Return what the stock and the extended compilation are made of, and whether their code differs."""
    stock = case.kernel.compile(TARGET)
    with tritonext.use("layout"):
        extended = case.kernel.compile(TARGET)
    return stats(stock), stats(extended), stock.asm["cubin"] != extended.asm["cubin"]


def run_both(case: Case) -> tuple[float, float, bool]:
    """Return the median times in ms, stock first, and whether the results are equal bit for bit."""
    import torch

    dtype = {"fp16": torch.float16, "fp32": torch.float32}[case.out]
    a, b = (torch.randn((SIZE, SIZE), device="cuda", dtype=torch.float16) for _ in range(2))
    kernel = case.kernel
    grid = (SIZE // kernel.constexprs["BM"], SIZE // kernel.constexprs["BN"])

    def run(result: torch.Tensor) -> None:
        gemm.gemm[grid](a, b, result, SIZE, SIZE, SIZE, **kernel.constexprs, **kernel.options)

    def measure() -> tuple[torch.Tensor, float]:
        result = torch.full((SIZE, SIZE), float("nan"), device="cuda", dtype=dtype)
        run(result)
        return result, triton.testing.do_bench(lambda: run(result), warmup=50, rep=200, return_mode="median")

    expected, stock_ms = measure()
    with tritonext.use("layout"):
        result, extended_ms = measure()
    exact = a.double() @ b.double()
    close = bool((expected.double() - exact).abs().max() <= 2e-3 * exact.abs().max())
    return stock_ms, extended_ms, close and torch.equal(result, expected)


def why_not_run() -> str | None:
    """Return why the kernels cannot run here, or None."""
    if (reason := gpu_missing()) is not None:
        return reason
    import torch

    if torch.cuda.get_device_capability() != (9, 0):
        return f"the GPU is {torch.cuda.get_device_name()}, not a Hopper GPU"
    return None


def arrow(before: object, after: object) -> str:
    """Return a table cell: one value when nothing changed, else both."""
    return str(before) if before == after else f"[dim]{before} →[/dim] [bold]{after}[/bold]"


def main() -> int:
    reason = why_not_run()
    console = Console(width=max(Console().width, 142 if reason else 168))
    title = f"\nmatrix multiplication for {TARGET}: stock Triton → with tritonext-layout"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("output", "tile"):
        table.add_column(heading, no_wrap=True)
    for heading in HEADINGS + ([] if reason else [f"ms at {SIZE}³", "equal"]):
        table.add_column(heading, justify="right", no_wrap=True)

    worse, changed = [], 0
    for case in CASES:
        before, after, differs = compile_both(case)
        changed += differs
        worse += [f"{case.out}, {case}: {problem}" for problem in regressions(before, after)]
        cells = [case.out, f"128x{case.columns}x64", str(case.warps)]
        for name in ("barriers", "epilogue_barriers", "shared_bytes", "registers", "spills", "instructions"):
            cells.append(arrow(getattr(before, name), getattr(after, name)))
        cells.append(arrow(describe_widths(before.global_stores), describe_widths(after.global_stores)))
        if not reason:
            stock_ms, extended_ms, equal = run_both(case)
            cells += [arrow(f"{stock_ms:.3f}", f"{extended_ms:.3f}"), "yes" if equal else "[red]no[/red]"]
            if not equal:
                worse.append(f"{case.out}, {case}: the results differ")
            if stock_ms / extended_ms < NOISE:
                worse.append(f"{case.out}, {case}: {extended_ms:.3f} ms instead of {stock_ms:.3f} ms")
        table.add_row(*cells)

    console.print(table)
    if reason:
        console.print(f"numerics and time are not shown: {reason}")
    if changed == 0:
        worse.append("the extension changed no kernel")
    for problem in worse:
        console.print(f"[red]worse[/red] {problem}")
    if worse:
        return 1
    command = pathlib.Path(sys.executable).with_name("tritonext")
    console.print(
        f"the extension changed {changed} of {len(CASES)} kernels and made none worse; see what it did, pass by pass:\n"
        f"  {os.path.relpath(command)} explain {os.path.relpath(gemm.__file__)}::gemm --enable layout"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
