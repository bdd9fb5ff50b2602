"""A hook for profilers: kernels mark where they begin and end, and the time to compile them is collected."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tritonext.errors import OptionError
from tritonext.pipeline import StageInfo, Step, wrap_stage

__all__ = ["BEGIN", "END", "Compilation", "collect", "marks_of", "profile"]

BEGIN, END = 0, 1
"""Events that a kernel triggers: performance counters of the GPU count them."""

_STAGES = ("ttir", "ttgir", "llir", "ptx", "cubin")
_BODY = re.compile(r"^\.(?:visible )?\.?entry.*?^\{$.*?^\}$", re.MULTILINE | re.DOTALL)
_DECLARATIONS = re.compile(r"^\{$(?:\s+\.(?:reg|shared|local)[^\n]*$)*", re.MULTILINE)
_RETURN = re.compile(r"^(?P<space>\s+)(?P<guard>@!?%p\d+\s+)?ret;", re.MULTILINE)


@dataclass
class Compilation:
    """What was compiled inside :func:`collect`.

    Attributes:
        seconds: Time of each stage in s, summed over kernels.
        kernels: Names of the kernels, in the order they were compiled.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    kernels: list[str] = field(default_factory=list)


class _Collections(threading.local):
    def __init__(self) -> None:
        self.stack: list[Compilation] = []


_collections = _Collections()


@contextlib.contextmanager
def collect() -> Iterator[Compilation]:
    """Collect what this thread compiles while the extension is active; a kernel from the cache is not compiled."""
    found = Compilation()
    _collections.stack.append(found)
    try:
        yield found
    finally:
        _collections.stack.remove(found)


def marks_of(value: Any) -> bool:
    """Return the option ``marks`` as a truth value.

    Raises:
        OptionError: It is none.
    """
    text = str(value).lower()
    if text not in ("true", "false"):
        raise OptionError("there is no such choice of marks", expected="marks=true or marks=false", found=repr(value))
    return text == "true"


def profile(marks: bool) -> Iterator[Step]:
    """Return the steps that time each stage, and with ``marks`` the one that puts marks into kernels for NVIDIA."""
    # What a kernel is cached by has the content of this file anyway, and the key only has to be there.
    for stage in _STAGES:
        yield wrap_stage(stage, _timed, key="times", targets=("cuda",))
    if marks:
        yield wrap_stage("ptx", _marked, key="marks", targets=("cuda",))


def _timed(inner: Callable, source: Any, metadata: dict, info: StageInfo) -> Any:
    started = time.perf_counter()
    result = inner(source, metadata)
    for found in _collections.stack:
        found.seconds[info.stage] = found.seconds.get(info.stage, 0.0) + time.perf_counter() - started
        if info.stage == _STAGES[-1]:
            found.kernels.append(metadata["name"])
    return result


def _marked(inner: Callable, source: Any, metadata: dict, info: StageInfo) -> str:
    return _BODY.sub(lambda match: mark(match[0]), inner(source, metadata))


def mark(body: str) -> str:
    """Return the text of a PTX entry that triggers ``BEGIN`` first, and ``END`` before each return."""
    body = _DECLARATIONS.sub(lambda match: f"{match[0]}\n\tpmevent {BEGIN};", body, count=1)
    return _RETURN.sub(lambda match: f"{match['space']}{match['guard'] or ''}pmevent {END};{match[0]}", body)
