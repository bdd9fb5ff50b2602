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

__all__ = ["assembler_log"]

# A log within another one leaves that one nothing out.
_logs: ContextVar[tuple[list[str], ...]] = ContextVar("logs", default=())
_lock = threading.Lock()


class _Subprocess:
    """The module ``subprocess`` as the backend sees it: its ``run`` reads the log before the backend removes it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, command: Any, *args: Any, **kwargs: Any) -> Any:
        done = subprocess.run(command, *args, **kwargs)
        logs, file = _logs.get(), kwargs.get("stderr")
        if logs and hasattr(file, "name"):
            text = pathlib.Path(file.name).read_text()
            for texts in logs:
                texts.append(text)
        return done


@contextlib.contextmanager
def assembler_log() -> Iterator[list[str]]:
    """Collect what the assembler says, in this context, of kernels that it assembles."""
    with _lock:
        if not isinstance(compiler.subprocess, _Subprocess):
            compiler.subprocess = _Subprocess()
    texts: list[str] = []
    token = _logs.set((*_logs.get(), texts))
    try:
        yield texts
    finally:
        _logs.reset(token)
