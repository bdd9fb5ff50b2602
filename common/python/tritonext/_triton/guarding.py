"""Keeping what a pipeline makes of a kernel only where it takes no more of the machine than the kernel without it.

The stage that the pipeline changes first runs as planned, and the stages behind it on a copy of its result. Where the
binary then leaves room for doubt, the kernel is compiled without the pipeline as well, from the place on at which the
pipeline changed it first, and the stage gives what turned out better. The stages behind it give what was made before:
a kernel that raises no doubt is compiled once, and one that the pipeline leaves as it is without a copy.

Where doubt is certain before there is a binary, or likely and a processor idles, both are compiled at once, on two
threads, and nothing waits for the other one if there is no doubt after all. It then has an MLIR context of its own,
since those of Triton serve one thread.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

from tritonext import remarks
from tritonext._triton import assembling, ir
from tritonext.errors import InternalError
from tritonext.loops import Loops
from tritonext.occupancy import Usage
from tritonext.pipeline import ResourceGuard, StageInfo

__all__ = ["Guard", "Parting", "amd_usage", "comparing", "settle"]

FLAG = "resource-guard"

_comparing: ContextVar[bool] = ContextVar("tritonext_comparing", default=False)

_DUMPS = (
    "AMDGCN_ENABLE_DUMP",
    "LLVM_ENABLE_TIMING",
    "LLVM_IR_ENABLE_DUMP",
    "MLIR_ENABLE_DIAGNOSTICS",
    "MLIR_ENABLE_DUMP",
    "MLIR_ENABLE_TIMING",
    "NVPTX_ENABLE_DUMP",
    "TRITON_DUMP_MIR",
    "TRITON_DUMP_PTXAS_LOG",
    "TRITON_ENABLE_LLVM_DEBUG",
    "TRITON_LLVM_DEBUG_ONLY",
    "TRITON_REPRODUCER_PATH",
)

# What compiles on threads of its own, also when nothing waits for it.
_running: set[Future] = set()
# A child process has none of the threads.
os.register_at_fork(after_in_child=_running.clear)

_REGISTERS = re.compile(r"Used (\d+) registers")
_SUM = re.compile(r"\b(?:tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma|tt\.reduce)")
_SCRATCH = re.compile(r"^\s+scratch_(?:load|store)_[a-z]+(?:x(\d))?\b", re.MULTILINE)
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def comparing() -> bool:
    """Whether a kernel compiles only to be compared with what a pipeline makes of it."""
    return _comparing.get()


@dataclass
class Parting:
    """Where a stage parts from what it is without a pipeline: at the first passes of that which change the module.

    Attributes:
        place: Twice the position of the pass of the stock stage that this is in front of, and one more where it is
            behind that pass.
        before: The module there.
        found: Whether there is such a place.
        looped: Whether passes change what is in a loop.
        resume: Runs the rest of the stage without the pipeline on that module.
    """

    place: int = 0
    before: _Module | None = None
    found: bool = False
    looped: bool = False
    resume: Callable[[Any, dict], Any] | None = None
    _here: _Module | None = None

    def arrive(self, place: int, module: Any) -> None:
        """Note the module in front of passes of the pipeline."""
        self._here = _content(module)
        if not self.found:
            self.place, self.before = place, self._here

    def leave(self, instead: bool, module: Any) -> None:
        """Note the module behind them; ``instead`` when a stock pass did not run."""
        after = _content(module)
        if instead or after != self._here:
            self.found = True
            self.looped = self.looped or instead or _in_loops(after.text) != _in_loops(self._here.text)


@dataclass
class _Trial:
    """A kernel compiled to its end.

    Attributes:
        stages: The functions that made it.
        inputs: What each stage behind the first was given, modules as text.
        results: What each of them gave.
        metadata: What all of them wrote.
        log: What the assembler said.
        usage: What the binary takes of the machine.
        loops: Its loops; None of a target whose machine code says nothing of its schedule.
    """

    stages: Mapping[str, Callable]
    inputs: dict[str, Any]
    results: dict[str, Any]
    metadata: dict[str, Any]
    log: list[str]
    usage: Usage
    loops: Loops | None


class Guard:
    """Compiles one kernel, with a pipeline and, in doubt, without it.

    Args:
        limits: What raises doubt.
        stages: The stages with the pipeline.
        fallback: The stages without it.
        first: The stage at which the two begin to differ.
        info: The compilation.
        pipelines: Names of what is guarded.
        alone: Whether the two differ in no other stage.
        own: Whether the stages behind that one are Triton's own, and so may run on several threads.
        parting: What is found out about the first stage, where its passes are all that is changed.
    """

    def __init__(
        self,
        limits: ResourceGuard,
        stages: Mapping[str, Callable],
        fallback: Mapping[str, Callable],
        first: str,
        info: StageInfo,
        pipelines: str,
        alone: bool,
        own: bool,
        parting: Parting | None,
    ) -> None:
        self._limits = limits
        self._stages = dict(stages)
        self._fallback = dict(fallback)
        self._first = first
        names = list(stages)
        self._later = names[names.index(first) + 1 :]
        self._info = info
        self._pipelines = pipelines
        self._alone = alone
        self._own = own
        self._parting = parting
        self._kept: _Trial | None = None

    def install(self, stages: dict[str, Callable]) -> None:
        """Put the guarded stages into Triton's table."""
        stages[self._first] = self._run_first
        for name in self._later:
            stages[name] = functools.partial(self._run_later, name)

    def _run_first(self, source: Any, metadata: dict) -> Any:
        parting, metadata_before = self._parting, dict(metadata)
        before = None if parting else _content(source)
        module = self._stages[self._first](source, metadata)
        if parting and not parting.found:
            return module
        if parting:
            before = parting.before
        after = _content(module)
        looped = parting is None or parting.looped
        copied = _copy(after)
        if at_once := self._is_at_once(after):
            # Parsed here, since parsing holds back what any thread writes to the standard error.
            compiling = _started(self._without, _bare(module), _copy(before, ir.context()), metadata_before)
        trial = self._kept = self._finish(self._stages, after, copied, metadata)
        if not self._limits.doubts(trial.usage, self._info.target, trial.loops, looped):
            return module
        if not at_once:
            compiling = _done(self._without, _bare(module), _copy(before), metadata_before)
        try:
            other = compiling.result()
        except Exception as error:
            # What does not compile is no alternative, and stock Triton raises anything.
            metadata["tritonext_guard"] = {"kept": "with", "reason": "", "with": trial.usage.to_json(), "without": None}
            message = f"the kernel does not compile without {self._pipelines}: {type(error).__name__}: {error}"
            remarks.record("analysis", FLAG, message)
            return module
        if other is None:
            return module
        assembling.note(other.log)
        reason = self._limits.reason(trial.usage, other.usage, self._info.target, trial.loops, other.loops)
        if reason:
            # Whose passes decided about the kernel is recorded, whatever they decided.
            if "tritonext" in metadata:
                metadata_before["tritonext"] = metadata["tritonext"]
            metadata.clear()
            metadata.update(metadata_before)
            module, self._kept = _copy(other.inputs[self._later[0]], getattr(module, "context", None)), other
            # The names of a block's arguments do not survive parsing.
            other.inputs[self._later[0]] = _content(module)
        metadata["tritonext_guard"] = {
            "kept": "without" if reason else "with",
            "reason": reason,
            "with": trial.usage.to_json(),
            "without": other.usage.to_json(),
        }
        if reason:
            remarks.record("missed", FLAG, f"kept the kernel without {self._pipelines}: {reason}")
        else:
            remarks.record("analysis", FLAG, f"the kernel without {self._pipelines} takes no less of the machine")
        return module

    def _is_at_once(self, after: _Module) -> bool:
        """Whether to compile without the pipeline before it is known whether that is in doubt.

        Args:
            after: What the first stage gave with the pipeline.
        """
        # Kernels of AMD seldom raise doubt.
        if self._parting is None or not self._own or "cubin" not in self._later or _dumps():
            return False
        # The machine code of loops that are changed always raises doubt.
        if self._limits.loops and self._parting.looped:
            return True
        # What is added up takes the most registers, or the assembler moves them about.
        return _is_idle() and _SUM.search(after.text) is not None

    def _without(self, bare: Any, before: Any, metadata: dict) -> _Trial | None:
        """Compile the kernel without the pipeline.

        Args:
            bare: What the first stage gives with the pipeline, without locations.
            before: The module where the pipeline parts from this, which is used up.
            metadata: What there is in front of the stage.

        Returns:
            The trial; None if the first stage gives the same.
        """
        # What passes say of this attempt is about no kernel of the program, and so is a failure of the assembler.
        with _compared(), remarks.collect(), assembling.apart(quiet=not _dumps()):
            run = self._parting.resume if self._parting else self._fallback[self._first]
            plain = run(before, metadata)
            if self._alone and _bare(plain) == bare:
                return None
            return self._finish(self._fallback, _content(plain), plain, metadata)

    def _run_later(self, name: str, source: Any, metadata: dict) -> Any:
        trial = self._kept
        if trial is None:
            return self._stages[name](source, metadata)
        # A tool may put another module between two stages.
        if _content(source) != trial.inputs[name]:
            return trial.stages[name](source, metadata)
        metadata.update(trial.metadata)
        return _copy(trial.results[name])

    def _finish(
        self, stages: Mapping[str, Callable], content: _Module, module: Any, metadata: Mapping[str, Any]
    ) -> _Trial:
        """Run the stages behind the first one on ``module``, which they use up."""
        own, value = dict(metadata), module
        inputs, results = {}, {}
        with assembling.assembler_log() as log:
            for name in self._later:
                inputs[name] = content
                value = stages[name](value, own)
                content = results[name] = _content(value)
        # What was there before belongs to the kernel that is compiled, such as the hash of its key.
        written = {key: value for key, value in own.items() if key not in metadata or metadata[key] != value}
        loops = None
        if self._limits.loops and "cubin" in results:
            loops = Loops(results["cubin"], int(self._info.target.removeprefix("cuda:")))
        return _Trial(stages, inputs, results, written, log, self._usage(log, results, own), loops)

    def _usage(self, log: list[str], results: Mapping[str, Any], metadata: Mapping[str, Any]) -> Usage:
        if "amdgcn" in results:
            registers, spilled = amd_usage(results["amdgcn"])
        else:
            # A wrapper of the stage may try several times, such as once more without what it measures with.
            registers, spilled = _nvidia_usage(log[-1] if log else "")
        threads = metadata["num_warps"] * metadata.get("warp_size", 32)
        return Usage(registers, spilled, metadata["shared"], threads)


@dataclass(frozen=True)
class _Module:
    """A module as text, since a stage changes the one it is given, and the context that it is in."""

    text: str
    context: Any = field(compare=False, repr=False)


_LOCATION = re.compile(r" loc\(.*\)$", re.MULTILINE)
_VALUE = re.compile(r"%[\w:#]+")
_ALIAS = re.compile(r"#\w+")


def _in_loops(text: str) -> Counter[str]:
    """Return the ops in loops of a module, without names of values and layouts."""
    aliases = dict(line.split(" = ", 1) for line in text.splitlines() if line.startswith("#") and " = " in line)
    regions: list[bool] = []
    found: Counter[str] = Counter()
    for line in _LOCATION.sub("", text).splitlines():
        words = line.strip()
        if words.startswith("}") and regions:
            regions.pop()
        opens = "scf.for" in words or "scf.while" in words
        if opens or any(regions):
            named = _VALUE.sub("%", words)
            # The layout of a slice names that of its parent.
            for _ in range(2):
                named = _ALIAS.sub(lambda match: aliases.get(match[0], match[0]), named)
            found[named] += 1
        if words.endswith("{"):
            regions.append(opens)
    return found


def _content(value: Any) -> Any:
    """Return what a stage gave in a form that no later stage changes."""
    return value if isinstance(value, str | bytes) else _Module(value.str(), value.context)


def _bare(value: Any) -> Any:
    """Return what a stage gave without its locations."""
    return value if isinstance(value, str | bytes) else value.str_nodebug()


def _copy(content: Any, context: Any = None) -> Any:
    """Return what a stage can be given, in its own MLIR context or another one."""
    return ir.parse_text(content.text, context or content.context) if isinstance(content, _Module) else content


def _started(function: Callable[..., _Trial | None], *arguments: Any) -> Future[_Trial | None]:
    """Run a function on a thread of its own, in this context; here if there can be no thread."""
    executor = ThreadPoolExecutor(1, "tritonext-guard")
    try:
        future = executor.submit(copy_context().run, function, *arguments)
    except RuntimeError:
        # The interpreter ends, or the system allows no more threads.
        return _done(function, *arguments)
    finally:
        executor.shutdown(wait=False)
    _running.add(future)
    future.add_done_callback(_running.discard)
    return future


def settle() -> None:
    """Wait for kernels that still compile on threads of their own, though what they are compared with is done."""
    wait(_running.copy())


def _done(function: Callable[..., _Trial | None], *arguments: Any) -> Future[_Trial | None]:
    """Run a function here."""
    done: Future[_Trial | None] = Future()
    try:
        done.set_result(function(*arguments))
    except Exception as error:
        done.set_exception(error)
    return done


def _is_idle() -> bool:
    """Whether processors are known to have little else to do."""
    try:
        return os.getloadavg()[0] < len(os.sched_getaffinity(0))
    except OSError:
        return False


def _dumps() -> bool:
    """Whether a compilation prints or writes what it does, which two at once would mix."""
    return any(os.environ.get(name, "0").lower() not in ("", "0", "off", "false") for name in _DUMPS)


@contextlib.contextmanager
def _compared() -> Iterator[None]:
    token = _comparing.set(True)
    try:
        yield
    finally:
        _comparing.reset(token)


def _nvidia_usage(log: str) -> tuple[int, int]:
    registers = [int(count) for count in _REGISTERS.findall(log)]
    if not registers:
        raise InternalError("the assembler does not say how many registers a kernel uses", found=log[:500])
    return max(registers), sum(int(stores) + int(loads) for stores, loads in _SPILLS.findall(log))


def amd_usage(assembly: str) -> tuple[int, int]:
    """Return the registers of a thread, and the bytes that it stores to and loads from spill memory."""
    match = re.search(r"^\s*\.vgpr_count:\s+(\d+)", assembly, re.MULTILINE)
    if match is None:
        raise InternalError("the assembly has no kernel metadata", expected=".vgpr_count", found=assembly[-500:])
    return int(match[1]), sum(4 * int(words or 1) for words in _SCRATCH.findall(assembly))
