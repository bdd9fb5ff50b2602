"""Waits on the GPU that last too long: the reports of ``tlx-limit-waits`` as an error."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import triton

import tritonext
from tritonext.errors import UserError

from .passes import pipeline

__all__ = ["HangError", "StuckWait", "watch"]

# LimitWaits.cpp writes it.
_REPORT = re.compile(
    r"^tlx: (?P<task>[^\n]+?) waits at (?P<place>[^\n]+) for (?P<barrier>[^\n]+) to complete a phase of parity "
    r"(?P<parity>\d+); the barrier is in a phase of parity (?P<seen>\d+)(?:, of (?P<count>\d+) arrivals)? "
    r"\(kernel (?P<kernel>\S+), block (?P<x>\d+) (?P<y>\d+) (?P<z>\d+), warp (?P<warp>\d+)\)\n",
    re.MULTILINE,
)


@dataclass(frozen=True)
class StuckWait:
    """A wait that one warp reported.

    Attributes:
        task: ``task 1`` and so on, in the order of the kernel with each replica counted, ``the default task``, or
            ``the kernel`` when it has no tasks.
        place: File and line of the wait, and where functions around it were called.
        barrier: What the kernel calls the barrier, with its slot.
        parity: Parity of the phase that it waits for.
        seen: Parity of the phase that the barrier was in at the time of the report. It is the same when that phase
            lacks arrivals or bytes, and the other one when it completed behind the limit.
        count: Arrivals that complete a phase; None when they differ in the array.
        kernel: Name of the kernel.
        block: Its block, as ``tl.program_id`` of the three axes.
        warp: The warp, counted in the block of threads.
    """

    task: str
    place: str
    barrier: str
    parity: int
    seen: int
    count: int | None
    kernel: str
    block: tuple[int, int, int]
    warp: int

    def __str__(self) -> str:
        of = f" of {self.count} arrivals" if self.count is not None else ""
        return (
            f"{self.task} waits at {self.place} for {self.barrier} to complete a phase of parity {self.parity}; "
            f"it is in a phase of parity {self.seen}{of}"
        )


class HangError(UserError):
    """A wait in a kernel lasted too long.

    Attributes:
        waits: What each warp reported.
    """

    waits: tuple[StuckWait, ...] = ()


@contextlib.contextmanager
def watch(wait_limit: int = 1_000_000_000) -> Iterator[None]:
    """Launch kernels such that a wait which lasts too long ends in an error, not in a hang.

    Kernels that are launched in the block compile with ``tlx:wait_limit=…``, and the device is synchronized at its end.
    Standard output is held back until then. CUDA can do nothing more in a process whose kernel was stopped: look at the
    error and start another one.

    Args:
        wait_limit: Nanoseconds that a wait for a barrier may last, at least a million.

    Raises:
        HangError: A wait lasted longer. What CUDA says is its cause.
        OptionError: The limit is out of range.
    """
    output = _Output()
    try:
        with tritonext.use(pipeline(wait_limit=wait_limit)), _held_back(output):
            try:
                yield
                _synchronize()
            except Exception:
                # The error may be one of a launch behind the kernel, and what that one printed not be fetched yet.
                with contextlib.suppress(Exception):
                    _synchronize()
                raise
    except Exception as error:
        if output.waits:
            raise _hang(wait_limit, output.waits) from error
        raise


def _synchronize() -> None:
    """Wait for the kernels, which also fetches what they printed."""
    triton.runtime.driver.active.get_device_interface().synchronize()


class _Output:
    waits: tuple[StuckWait, ...] = ()


@contextlib.contextmanager
def _held_back(output: _Output) -> Iterator[None]:
    """Take reports out of what the block writes to file descriptor 1, where kernels print, and write the rest there."""
    with tempfile.TemporaryFile() as file:
        _flush()
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            _flush()
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            text = file.read().decode(errors="replace")
            output.waits = tuple(map(_stuck_wait, _REPORT.finditer(text)))
            with open(1, "wb", closefd=False) as stdout:
                stdout.write(_REPORT.sub("", text).encode())


def _flush() -> None:
    """Write out what Python and C hold back; the driver prints through C."""
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def _stuck_wait(match: re.Match[str]) -> StuckWait:
    fields: dict[str, Any] = match.groupdict()
    block = tuple(int(fields.pop(axis)) for axis in "xyz")
    numbers = {name: int(fields[name]) for name in ("parity", "seen", "warp")}
    count = None if fields["count"] is None else int(fields["count"])
    return StuckWait(**{**fields, **numbers, "count": count, "block": block})


def _hang(wait_limit: int, waits: Sequence[StuckWait]) -> HangError:
    blocks: dict[str, dict[tuple[int, int, int], None]] = {}
    for wait in waits:
        blocks.setdefault(str(wait), {})[wait.block] = None
    error = HangError(
        f"a wait lasted longer than {wait_limit / 1e6:g} ms",
        where=f"kernel {waits[0].kernel}",
        found=f"{len(blocks)} waiting",
        details=[f"{text}; {_describe(list(where))}" for text, where in blocks.items()],
        hint="compare the phases, and count arrivals and bytes; tlx.simulate says who could have arrived",
    )
    error.waits = tuple(waits)
    return error


def _describe(blocks: list[tuple[int, int, int]]) -> str:
    return f"block {blocks[0]}" if len(blocks) == 1 else f"{len(blocks)} blocks, block {min(blocks)} among them"
