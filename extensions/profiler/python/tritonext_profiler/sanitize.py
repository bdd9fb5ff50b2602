"""``tritonext sanitize``: run a script under Triton's own sanitizers, and report what they found by source line.

The sanitizers are passes of the Triton wheel that add checks to kernels; a check that fails prints a device-side
assertion from every thread and ends the process. Each sanitizer runs the script anew, and its output becomes one entry
for each line and message.
"""

from __future__ import annotations

import argparse
import dataclasses
import linecache
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from tritonext.errors import UserError

__all__ = ["TOOLS", "Report", "Violation", "main", "parse", "run", "show"]

# What each finds, and what to think about when it does.
TOOLS = {
    "consan": ("shared memory and barriers used before they are ready", "a wait, a commit or a barrier is missing"),
    "gsan": ("races between programs in global memory", "two programs need an atomic with acquire and release"),
    "iisan": ("misaligned tensor descriptors", "base and strides must be multiples of 16 bytes"),
    "fpsan": (
        "arithmetic that is not what it should be, apart from rounding",
        "under fpsan equal formulas give equal bits: compare with another kernel, not with a library",
    ),
}

# What `__assertfail` prints on NVIDIA GPUs.
_ASSERTION = re.compile(
    r"^(?P<file>[^\n:]*):(?P<line>\d+): (?P<function>.*?): block: \[(?P<block>\d+,\d+,\d+)\], "
    r"thread: \[(?P<thread>\d+,\d+,\d+)\] Assertion `(?P<message>.*?)` failed\.?\n?",
    re.MULTILINE,
)

# Different from 1, with which a command that failed ends, and 2, a wrong command line.
FOUND = 3


@dataclasses.dataclass(frozen=True)
class Violation:
    """One check that failed at one line.

    Attributes:
        file: Source file.
        line: Number of the line.
        message: What the check says.
        blocks: CTAs in which it failed.
        threads: Threads in which it failed.
    """

    file: str
    line: int
    message: str
    blocks: int
    threads: int


@dataclasses.dataclass(frozen=True)
class Report:
    """What one sanitizer said.

    Attributes:
        tool: Its name.
        violations: Those with most threads first.
        status: Exit status of the script.
        output: What the script printed to standard error, assertions left out.
    """

    tool: str
    violations: tuple[Violation, ...]
    status: int
    output: str


def parse(text: str) -> tuple[Violation, ...]:
    """Return the failed checks in a process's output."""
    found: dict[tuple[str, int, str], tuple[set[str], int]] = {}
    for match in _ASSERTION.finditer(text):
        key = (match["file"], int(match["line"]), match["message"])
        blocks, threads = found.get(key, (set(), 0))
        found[key] = (blocks | {match["block"]}, threads + 1)
    violations = [Violation(*key, len(blocks), threads) for key, (blocks, threads) in found.items()]
    return tuple(sorted(violations, key=lambda entry: (-entry.threads, entry.file, entry.line)))


def run(tool: str, script: str, arguments: Sequence[str] = (), timeout: float | None = None) -> Report:
    """Run a script under a sanitizer.

    Args:
        tool: A key of :data:`TOOLS`.
        script: Path of the script.
        arguments: Its arguments.
        timeout: Seconds after which it is ended; none when None.

    Raises:
        UserError: The tool or the script is unknown, or the time is over.
    """
    if tool not in TOOLS:
        raise UserError("the sanitizer is unknown", expected=", ".join(TOOLS), found=repr(tool))
    if not pathlib.Path(script).is_file():
        raise UserError("there is no such script", where=script)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TRITON_INSTRUMENTATION_MODE": tool}
    command = [sys.executable, "-m", f"{__package__}.sanitized", tool, script, *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stderr=subprocess.PIPE, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"the script did not end under {tool}",
            where=script,
            found=f"{error.timeout:.0f} s",
            hint="a kernel may hang; give it a smaller problem, or a longer --timeout",
        ) from error
    return Report(tool, parse(done.stderr), done.returncode, _ASSERTION.sub("", done.stderr).strip())


def show(report: Report, console: Console) -> None:
    """Print a report."""
    purpose, advice = TOOLS[report.tool]
    console.print(Text(f"{report.tool}: {purpose}", style="bold"))
    for violation in report.violations:
        text = Text("! ", style="bold red")
        text.append(f"{violation.file}:{violation.line}: {violation.message}", style="bold")
        source = linecache.getline(violation.file, violation.line).strip()
        if source:
            text.append(f"\n    {source}")
        text.append(f"\n    in {violation.threads:,} threads of {violation.blocks:,} CTAs", style="dim")
        console.print(text)
    if report.violations:
        console.print(Text(f"  {advice}"))
    elif report.status:
        console.print(Text(f"  the script ended with status {report.status}, and no check failed", style="red"))
        console.print(Text("  " + "\n  ".join(report.output.splitlines()[-12:]), style="dim"))
        if report.tool == "fpsan":
            # It adds no checks: what it finds, the script's own comparison says.
            console.print(Text(f"  {advice}"))
    else:
        console.print(Text("  no check failed", style="green"))


def main(arguments: Sequence[str]) -> int:
    """Run ``tritonext sanitize``.

    Args:
        arguments: What follows the command's name.

    Returns:
        0 when no check failed, 3 when one did, 1 when the script failed in another way.
    """
    described = "\n".join(f"  {name:8} {purpose}" for name, (purpose, _) in TOOLS.items())
    parser = argparse.ArgumentParser(
        prog="tritonext sanitize",
        description="Run a script under Triton's sanitizers, one after the other, and report by source line.",
        epilog=f"sanitizers:\n{described}\n\nexamples:\n  tritonext sanitize kernel.py\n"
        "  tritonext sanitize -t consan -t gsan kernel.py --size 128",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tool = {"action": "append", "choices": tuple(TOOLS), "dest": "tools"}
    parser.add_argument("-t", "--tool", help="sanitizer, may be repeated (default: consan)", **tool)
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end a run that takes longer")
    parser.add_argument("script", help="script that launches kernels")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    reports = [
        run(tool, options.script, options.arguments, options.timeout)
        for tool in dict.fromkeys(options.tools or ["consan"])
    ]
    console = Console()
    for report in reports:
        show(report, console)
    return _status(reports)


def _status(reports: Iterable[Report]) -> int:
    statuses = [FOUND if report.violations else 1 if report.status else 0 for report in reports]
    return max(statuses)
