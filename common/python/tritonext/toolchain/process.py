"""Running the programs a source depends on."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Sequence

from .model import SourceUnavailable

__all__ = ["environment", "output", "run"]


def environment() -> dict[str, str]:
    """Return this process's environment with messages in the language they are read in."""
    return {**os.environ, "LC_ALL": "C.UTF-8"}


def run(command: Sequence[str | pathlib.Path], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``command`` to its end, with its output captured; the caller judges its exit status.

    Raises:
        SourceUnavailable: It cannot be started, or runs longer than ``timeout`` seconds.
    """
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            env=environment(),
        )
    except OSError as error:
        raise SourceUnavailable(f"{command[0]} cannot be started: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(f"{command[0]} did not end within {timeout:.0f} s") from None


def output(command: Sequence[str | pathlib.Path], name: str) -> str:
    """Return what a short ``command`` prints.

    Args:
        command: The program and its arguments.
        name: What the message calls the program.

    Raises:
        SourceUnavailable: It cannot be started, runs longer than a minute, or fails.
    """
    result = run(command, timeout=60)
    if result.returncode:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise SourceUnavailable(f"{name} does not run: {lines[0] if lines else f'exit {result.returncode}'}")
    return result.stdout
