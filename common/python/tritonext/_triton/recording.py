"""Compiling outside every cache, and the IR before each pass of a compilation.

MLIR can print the IR before each pass it runs. :func:`record` turns that on, collects the text and cuts it into passes.
What is recorded is the compilation itself: no pass manager is split or replaced for it.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from triton import knobs

from tritonext._triton import guarding, ir
from tritonext.pipeline import Pipeline, wrap_stage

__all__ = ["PassRun", "Recording", "interpreted", "record", "uncached"]

_DUMP = re.compile(
    r"^// -----// IR Dump Before (?P<name>\w+): (?P<flag>[^{(\s]+)(?P<options>\{.*?\})?"
    r" \('(?P<op>[\w.]+)' operation.*$",
    re.MULTILINE,
)
_MARK = re.compile(r"^// -----//.*$", re.MULTILINE)
_DIAGNOSTIC = re.compile(r"^\S*: (?:error|warning|remark|note): .*\n", re.MULTILINE)
_LOCATION = re.compile(r' loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)')
_LOCATION_ALIAS = re.compile(r"^#loc\d* = loc\(.*\n", re.MULTILINE)

# Two compilations that print to one stream could not be told apart.
_lock = threading.Lock()


@dataclass(frozen=True)
class PassRun:
    """One pass of one compilation, with the module before and after it, locations left out.

    Attributes:
        stage: Stage it ran in.
        name: Class of the pass.
        flag: Its name in a textual pipeline.
        options: Its options in a textual pipeline, ``{…}`` or empty.
        before: The module before it.
        after: The module after it.
    """

    stage: str
    name: str
    flag: str
    options: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether the pass changed the module."""
        return self.before != self.after


@dataclass
class Recording:
    """The passes of a compilation, in order.

    Attributes:
        pipeline: Pipeline that must be active around the compilation, added last; it changes nothing.
        passes: What ran; filled while the kernel compiles.
    """

    pipeline: Pipeline
    passes: list[PassRun] = field(default_factory=list)


def interpreted() -> bool:
    """Whether kernels run in Triton's interpreter, so that none is compiled."""
    return knobs.runtime.interpret


@contextlib.contextmanager
def uncached() -> Iterator[None]:
    """Compile every kernel anew, and leave the user's cache as it is."""
    with tempfile.TemporaryDirectory() as directory, knobs.cache.scope(), knobs.compilation.scope():
        knobs.cache.dir = directory
        knobs.compilation.always_compile = True
        yield


@contextlib.contextmanager
def record(stages: tuple[str, ...]) -> Iterator[Recording]:
    """Record the passes of ``stages`` of kernels that this thread compiles under the recording's pipeline.

    While a recorded stage runs, the process's standard error is held back; diagnostics among it are forwarded at the
    end of the stage. One recording runs at a time.
    """

    def around(inner, source, metadata, info):
        if guarding.comparing():
            return inner(source, metadata)
        with _printed_ir() as printed:
            result = inner(source, metadata)
        # The stages before the LLVM module edit their argument, so it now is what the last pass left.
        recording.passes += _split(info.stage, printed.text, _without_locations(str(source)))
        return result

    steps = [wrap_stage(stage, around, key="recording") for stage in stages]
    recording = Recording(Pipeline(tuple(steps), name="recording"))
    with _lock:
        yield recording


@contextlib.contextmanager
def _printed_ir() -> Iterator[ir.Captured]:
    """Make MLIR print before each pass, and catch it."""
    captured = ir.Captured()
    # It would print too.
    guarding.settle()
    try:
        with ir.redirect_stderr(captured), ir.environment("MLIR_ENABLE_DUMP", "1"):
            yield captured
    finally:
        sys.stderr.write("".join(_DIAGNOSTIC.findall(captured.text)))


def _split(stage: str, text: str, last: str) -> list[PassRun]:
    """Cut printed IR into passes; ``last`` is the module after the last one."""
    runs: list[list[str]] = []
    matches = list(_DUMP.finditer(text))
    for match in matches:
        # The inliner simplifies the functions it inlines with passes of its own, which are part of it.
        if runs and runs[-1][1] == "inline" and match["op"] != "builtin.module":
            continue
        following = _MARK.search(text, match.end())
        module = text[match.end() : following.start() if following else len(text)]
        runs.append([match["name"], match["flag"], match["options"] or "", _without_locations(module)])
    after = [run[3] for run in runs[1:]] + [last]
    return [PassRun(stage, *run, end) for run, end in zip(runs, after)]


def _without_locations(module: str) -> str:
    return _LOCATION.sub("", _LOCATION_ALIAS.sub("", module)).strip()
