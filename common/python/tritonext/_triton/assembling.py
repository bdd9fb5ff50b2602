"""What the assembler of NVIDIA says of a kernel, which Triton throws away with its log."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from triton.backends.nvidia import compiler

__all__ = ["apart", "assembler_log", "note"]

# A log within another one leaves that one nothing out.
_logs: ContextVar[tuple[list[str], ...]] = ContextVar("logs", default=())
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_lock = threading.Lock()


class _Subprocess:
    """The module ``subprocess`` as the backend sees it: its ``run`` reads the log before the backend removes it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, command: Any, *args: Any, **kwargs: Any) -> Any:
        done = subprocess.run(command, *args, **kwargs)
        file = kwargs.get("stderr")
        if _logs.get() and hasattr(file, "name"):
            note([pathlib.Path(file.name).read_text()])
        return done


def _print(*args: Any, **kwargs: Any) -> None:
    """What the backend prints with, such as the report of an assembler that failed, with the whole PTX."""
    if not _quiet.get():
        print(*args, **kwargs)


def _install() -> None:
    with _lock:
        if not isinstance(compiler.subprocess, _Subprocess):
            compiler.subprocess = _Subprocess()
            compiler.print = _print


def note(log: list[str]) -> None:
    """Add what the assembler said to the logs of this context."""
    for texts in _logs.get():
        texts.extend(log)


@contextlib.contextmanager
def apart(quiet: bool) -> Iterator[None]:
    """Keep what the assembler says from the logs around the block.

    Args:
        quiet: Whether the backend prints nothing either.
    """
    _install()
    token, silence = _logs.set(()), _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(silence)
        _logs.reset(token)


@contextlib.contextmanager
def assembler_log() -> Iterator[list[str]]:
    """Collect what the assembler says, in this context, of kernels that it assembles."""
    _install()
    texts: list[str] = []
    token = _logs.set((*_logs.get(), texts))
    try:
        yield texts
    finally:
        _logs.reset(token)
