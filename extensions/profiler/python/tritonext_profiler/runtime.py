"""``profile``: what a block of a program launches is recorded, and nothing else about the program changes.

Matching kernels are compiled with records while the block runs, and launched as they would be. They write into rings
that stay where they are, so that a CUDA graph may be replayed at any time; a thread of ours empties them over a stream
of its own. No launch waits for anything. Whatever fails here becomes a warning and a notice in the profile: the program
goes on, with plain kernels. Where a filter turns warnings into exceptions, these come out of the end of the block, when
all is read and put back.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import difflib
import functools
import os
import pathlib
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console
from triton.runtime import driver

import tritonext
from tritonext import launch as launches
from tritonext.errors import TritonextError, UserError
from tritonext.inspect_code import disassemble

from . import clock, integrity, saving
from .analysis import Analysis, analyze
from .decode import add_launches, decode
from .gpu import gpu
from .model import Device, HostEvent, Kernel, Loss, Profile
from .passes import MODES, pipeline
from .report import terminal
from .rings import Blank, Ring, Rings
from .table import kernel_of, table_of

__all__ = ["BUFFER", "ProfileWarning", "profile"]

# Bytes that wait in a ring until they are read.
BUFFER = 32 << 20

# Bytes that are kept on the host: of records, and then of begin and end of launches.
MEMORY = 512 << 20

# Host events that are kept, and what of the memory for records one stands for.
_EVENTS = 100_000
_EVENT_BYTES = 512

# Seconds for which the end of a block waits for launches that other threads have begun in it.
_PATIENCE = 10.0

# What could not be had of a GPU.
_UNREAD = "what GPU {} still holds is not read"
_UNCHECKED = "whether launches on GPU {} are mixed up is not known"
_UNDESCRIBED = "what GPU {} is, is not known"

# Characters of a kernel's name in a sentence.
_NAME = 80

# What the driver says when it does not take a launch.
_REFUSED = "Triton Error [CUDA]"

# Packages whose frames are between a warning and the line of the program that it is about.
_OWN = frozenset({"triton", "tritonext", "tritonext_profiler"})

# Of MLIR's text: behind an op or an argument, and the list of them.
_LOCATION = re.compile(r" loc\((?:[^()]|\([^()]*\))*\)|^#loc.*\n", re.MULTILINE)

_lock = threading.RLock()
_active: profile | None = None


class ProfileWarning(UserWarning):
    """Something is not recorded; the program itself runs as it would."""


@dataclasses.dataclass(eq=False, slots=True)
class _Begun:
    """A launch that is recorded, from its begin to its return.

    Attributes:
        name: Name of the kernel.
        thread: Identifier of the thread.
        rings: Of the GPU.
        captured: Whether it goes into a graph.
        ring: What it was given to record into; None when it has not come so far.
        launched: Whether the GPU has it.
    """

    name: str
    thread: int
    rings: Rings | None = None
    captured: bool = False
    ring: Ring | Blank | None = None
    launched: bool = False


class profile:
    """Record what kernels do in a block::

        with tritonext_profiler.profile(kernels="matmul") as p:
            run()
        p.show()
        p.save("report.html")

    Args:
        kernels: Regular expression that is searched for in the names of kernels; all when empty.
        mode: What is recorded: ``auto`` (each change of category), ``header`` (begin and end of each CTA), ``all``
            (each operation of a category), ``scopes`` (the scopes and marks of :mod:`.language` alone).
        records: Records that a warp may write where the lengths of its loops are not known.
        sample: Record one of so many CTAs, 1 for all of them. As many as fit when None: those that run first, and
            others evenly from the rest.
        buffer: Bytes of GPU memory in which the records of a kernel on a stream wait until they are read.
        memory: Bytes that are kept on the host. When seven eighths are used, only begin and end of further launches are
            kept, and when all of it is, they are counted.
        interval: Seconds between two looks at the buffers.

    Attributes:
        data: What was recorded, after the block.

    Raises:
        UserError: An argument is unusable.
        ProfileWarning: Where the filters of :mod:`warnings` turn it into an exception. It comes where the block begins,
            when nothing can be recorded, or where it has ended, when everything is stored, with further ones as its
            notes. An exception of the block itself passes, with all of them as its notes. Nothing else is raised once
            the block runs.
    """

    def __init__(
        self,
        kernels: str = "",
        mode: str = "auto",
        *,
        records: int = 1024,
        sample: int | None = None,
        buffer: int = BUFFER,
        memory: int = MEMORY,
        interval: float = 0.01,
    ) -> None:
        if mode not in MODES:
            raise UserError("the mode is unknown", expected=", ".join(MODES), found=repr(mode))
        try:
            self._pattern = re.compile(kernels)
        except (re.error, TypeError) as error:
            raise UserError(
                "kernels is no regular expression",
                expected='such as "matmul|attention"',
                found=f"{kernels!r}: {error}",
            ) from error
        if not isinstance(self._pattern.pattern, str):
            raise UserError("kernels is no text", expected='such as "matmul|attention"', found=repr(kernels))
        for name, value, least in (("sample", sample, 1), ("buffer", buffer, 1 << 12), ("memory", memory, 0)):
            if value is None and name == "sample":
                continue
            if not isinstance(value, int) or value < least:
                raise UserError(
                    f"{name} is unusable", expected=f"a whole number of at least {least}", found=repr(value)
                )
        if not isinstance(interval, int | float) or not interval >= 0:
            raise UserError("interval is unusable", expected="seconds, 0 or more", found=repr(interval))
        self.data = Profile()
        # Also checks `records`.
        self._pipeline = pipeline(mode=mode, records=records)
        self._limits = buffer, memory, sample
        self._most_events = min(_EVENTS, memory // _EVENT_BYTES)
        self._interval = min(interval, threading.TIMEOUT_MAX)
        # By id of the kernel, which is held so that the id stays its own.
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._undo: list[Callable[[], None]] = []
        self._rings: dict[int, Rings | None] = {}
        # By id of the compiled kernel, which is held so that the id stays its own.
        self._compiled: dict[int, tuple[Any, int, bool]] = {}
        self._plain: dict[int, Any] = {}
        self._tables: list[Mapping[str, Any]] = []
        self._kernels: dict[int, Kernel] = {}
        # Names of launched kernels, and whether they are recorded.
        self._wanted: dict[str, bool] = {}
        # Whether a launch matched, and names of which one was recorded.
        self._matched = False
        self._recorded: set[str] = set()
        # Launches as tuples: one is made for each, in the time of the program.
        self._launches: list[tuple[str, int, int, int, int, int, bool]] = []
        self._events: list[HostEvent] = []
        self._thread_local = threading.local()
        # Launches that have begun and not returned; and whether the block has ended.
        self._under_way: dict[Any, _Begun] = {}
        self._ended = False
        # By which the user cut the wait for them short.
        self._interrupted: KeyboardInterrupt | None = None
        self._returned = threading.Event()
        self._missed_events = 0
        self._paused = 0
        self._notices: list[str] = []
        # Those that no warning was given of yet, and those of which it became an exception in the middle of a launch.
        self._unwarned: list[str] = []
        self._held: list[str] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._entered = False
        # Blocks of this object that record nothing, because it had one before.
        self._idle_blocks = 0

    # --- the block ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        if self._entered:
            self._idle_blocks += 1
            self._tell("a profile records one block, and this one has had its block; make another")
            try:
                self._warn_at_last()
            except BaseException:
                # A block that is not entered has no end.
                self._idle_blocks -= 1
                raise
            return self
        self._entered = True
        self._begin()
        # A launch of another thread may have told of something already, which waits for the end of the block.
        if _active is not self:
            self._warn_at_last()
        return self

    def _begin(self) -> None:
        global _active
        with _lock:
            if _active is not None:
                self._tell(
                    "this block begins inside another profile, which records it as long as that one lasts; this one "
                    "stays empty; end that one first"
                )
                return
            _active = self
        try:
            self._start()
        except Exception as error:
            self._end()
            self._tell(f"nothing is recorded: {_sentence(error)}")
        except BaseException:
            self._end()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: types.TracebackType | None = None,
    ) -> None:
        if self._idle_blocks:
            self._idle_blocks -= 1
            return
        if _active is self:
            try:
                self._finish()
            except Exception as failure:
                self._tell(f"the profile is incomplete: {_sentence(failure)}")
            finally:
                self._end()
        self._warn_at_last(self._interrupted if error is None else error)
        if self._interrupted is not None:
            raise self._interrupted

    def _start(self) -> None:
        try:
            target = driver.active.get_current_target()
        except RuntimeError as error:
            # Where there is no GPU, Triton says how many of its drivers work.
            raise UserError(
                "recording needs an NVIDIA GPU",
                found=_sentence(error),
                hint="see that nvidia-smi lists one and that Triton launches a kernel there",
            ) from error
        if target.backend != "cuda":
            raise UserError("recording needs an NVIDIA GPU", found=f"{target.backend}:{target.arch}")
        if self._rings_of(driver.active.get_current_device()) is None:
            self._end()
            return
        self._undo.append(launches.provide_profile_memory(self._provide).remove)
        self._undo.append(launches.observe(self._observe).remove)
        self._undo.append(launches.listen(self._heard).remove)
        self._undo.append(launches.listen_to_tuning(self._tuned).remove)
        thread = threading.Thread(target=self._drain, name="tritonext-profiler", daemon=True)
        thread.start()
        self._thread = thread

    def _leave(self) -> None:
        """Let go of Triton's launches."""
        while self._undo:
            self._undo.pop()()

    def _end(self) -> None:
        """Put everything back, whatever happened."""
        global _active
        try:
            self._leave()
            self._join()
            # A launch under way may reach the GPU behind the wait, and be over before the slots are freed.
            late = bool(self._under_way)
            for rings in self._rings.values():
                if rings is not None:
                    self._close(rings, late)
        finally:
            with _lock:
                if _active is self:
                    _active = None

    def _close(self, rings: Rings, late: bool) -> None:
        try:
            rings.close()
            # What had begun before may still write.
            rings.memory.synchronize()
            rings.free(keep_slots=late)
        except Exception as error:
            self._tell(f"buffers on GPU {rings.memory.index} stay allocated: {_sentence(error)}")

    def _join(self) -> None:
        """End the thread that empties the rings."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _settle(self) -> list[_Begun]:
        """Wait for the launches of other threads that have begun; those that begin from now on are plain.

        Returns:
            Those that have not returned.
        """
        self._ended = True
        deadline = time.monotonic() + _PATIENCE
        try:
            while self._awaited() and (rest := deadline - time.monotonic()) > 0:
                self._returned.clear()
                if self._awaited():
                    self._returned.wait(rest)
        except KeyboardInterrupt as error:
            # What is recorded is read nevertheless.
            self._interrupted = error
        return list(self._under_way.values())

    def _awaited(self) -> bool:
        """Return whether launches of other threads are under way."""
        me = threading.get_ident()
        return any(begun.thread != me for begun in list(self._under_way.values()))

    def _tell_of_late(self, late: list[_Begun]) -> None:
        """Say which of the launches that did not come back are recorded, when everything is read."""
        unfinished: dict[Ring, int] = {}
        missing, there = [], []
        for begun in late:
            ring = begun.ring
            # Of the first two the profile says so anyway: there was no room, or a graph has it.
            if isinstance(ring, Blank) or begun.captured:
                continue
            if ring is not None:
                left = unfinished.setdefault(ring, (ring.issued - ring.begun) // ring.per_launch)
                unfinished[ring] = left - 1
            (missing if ring is None or left > 0 else there).append(begun.name)
        when = f"when the records were read, {_PATIENCE:g} s behind the block at most"
        if missing:
            self._tell(
                f"{_launches_of(missing)} had neither come back nor ended on the GPU {when}: nothing is recorded of "
                "that; wait in the block for the threads that launch, and compile before it what takes long to compile"
            )
        if there:
            self._tell(
                f"{_launches_of(there)} had not come back {when}: all is recorded but the time on the host and, of a "
                "kernel that was new, registers, occupancy and code without records; launch such kernels once before "
                "the block"
            )

    def _finish(self) -> None:
        late = self._settle()
        self._leave()
        # One of these may get to the GPU at any time from here on.
        idle = all(begun.launched for begun in late)
        groups = [rings for rings in self._rings.values() if rings is not None]
        # The thread goes on reading: what is still queued may fill a ring many times.
        ended = [rings for rings in groups if self._attempt(rings, rings.memory.synchronize, _UNREAD)]
        self._join()
        for rings in ended:
            self._attempt(rings, functools.partial(rings.drain, final=True), _UNREAD)
            if idle:
                self._attempt(rings, functools.partial(self._doubt, rings), _UNCHECKED)
        self._tell_of_late(late)
        # Each waits for the disassembler.
        kernels = _each(self._checked, range(len(self._tables)))
        made = decode([chunk for rings in groups for chunk in rings.chunks], kernels, self._tables)
        for rings in groups:
            times = rings.times()
            if len(times):
                made = add_launches(made, times)
                self._notices.append(f"of {len(times):,} launches only begin and end are kept; memory= keeps more")
            if rings.untold:
                self._notices.append(f"{rings.untold:,} further launches are only counted; memory= keeps more")
        devices: list[Device] = []
        for rings in groups:
            # Both lists at once, or the loop's name would be the last one in each.
            describe = rings.memory.describe
            self._attempt(rings, lambda describe=describe: devices.append(describe()), _UNDESCRIBED)
        self.data = made.profile(kernels, devices)
        # Somebody may have looked at it in the block.
        self.__dict__.pop("analyses", None)
        named = [
            HostEvent("launch", name, begin, end, thread, device, stream, "capture" if captured else "")
            for name, begin, end, thread, device, stream, captured in self._launches
        ]
        self.data.events = tuple(sorted([*self._events, *named], key=lambda event: event.start))
        self.data.loss = self._loss(groups)
        if len(made.launches):
            self.data.host_offset = self._offset(groups[0].memory.index)
        if self._missed_events:
            self._notices.append(f"{self._missed_events:,} launches on the host are not listed")
        # A compiled kernel that is launched by itself has no name here.
        if not self._matched and not len(made.launches):
            self._tell(self._nothing())

    def _attempt(self, rings: Rings, step: Callable[[], object], otherwise: str) -> bool:
        """Do something with a GPU that the program may have left broken; what was read before is kept."""
        try:
            step()
        except Exception as error:
            self._tell(f"{otherwise.format(rings.memory.index)}: {_sentence(error)}")
            return False
        return True

    def _doubt(self, rings: Rings) -> None:
        for ring in rings.leave_out_torn():
            name, grid = self._tables[ring.kernel]["kernel"], " x ".join(map(str, ring.grid))
            self._tell(
                f"launches of {name} over {grid} blocks are left out: other blocks ended than were launched, so that "
                "launches are mixed up; profile a version whose blocks all run to their end"
            )

    def _loss(self, groups: list[Rings]) -> Loss:
        lossy = [ring for rings in groups for ring in rings.rings if ring.lost]
        skipped = [(kernel, count) for rings in groups for kernel, (count, _) in rings.skipped.items()]
        warps = self.data.warps
        short = np.flatnonzero(warps["dropped"])
        kernel = self.data.launches["kernel"][warps["launch"][short]]
        numbers = [ring.kernel for ring in lossy] + [kernel for kernel, _ in skipped] + np.unique(kernel).tolist()
        came_to = warps["dropped"][short] + warps["count"][short] - 1
        return Loss(
            launches=sum(count for _, count in skipped),
            segments=sum(ring.lost for ring in lossy),
            records=int(warps["dropped"].sum()),
            capacity=max((ring.count * ring.bytes for ring in lossy), default=self._limits[0] if skipped else 0),
            needed=max((rings.needed() for rings in groups), default=0),
            needed_records=int(came_to.max(initial=0)),
            kernels=tuple(dict.fromkeys(self._tables[number]["kernel"] for number in numbers)),
        )

    def _offset(self, device: int) -> int | None:
        try:
            return clock.offset(device)
        except Exception as error:
            # Only the host's events need it.
            self._notices.append(f"the host's clock cannot be placed: {_sentence(error)}")
            return None

    def _nothing(self) -> str:
        pattern = self._pattern.pattern
        if not self._wanted:
            return "no kernel was launched in the block"
        if matching := [name for name in self._wanted if self._pattern.search(name)]:
            return (
                f"nothing is recorded: all launches of {_names(matching)} were warm-ups, measurements of an autotuner, "
                "or in a pause"
            )
        near = difflib.get_close_matches(pattern, self._wanted, n=3, cutoff=0.4) or sorted(self._wanted)[:5]
        more = len(self._wanted) - len(near)
        names = ", ".join(map(_short, near)) + (f" and {more} more" if more else "")
        return f"no launched kernel matches {pattern!r}; launched were {names}"

    def _tell(self, text: str) -> None:
        """Put a sentence into the profile, and warn of it where a warning ends nothing."""
        self._notices.append(text)
        if text not in (*self._unwarned, *self._held):
            self._unwarned.append(text)

    def _warn_meanwhile(self) -> None:
        """Warn in the middle of the program's work, which goes on even where filters make an exception of it."""
        while self._unwarned and not self._ended:
            try:
                text = self._unwarned.pop(0)
            except IndexError:
                # Another thread was faster.
                return
            try:
                warnings.warn(text, ProfileWarning, stacklevel=_outside())
            except Exception:
                self._held.append(text)

    def _warn_at_last(self, block: BaseException | None = None) -> None:
        """Warn of everything that is left, when everything is in its place.

        Args:
            block: The exception with which the block ended.
        """
        self.data.notices = tuple(dict.fromkeys((*self.data.notices, *self._notices)))
        texts = [*self._held, *self._unwarned]
        self._held.clear()
        self._unwarned.clear()
        errors = []
        for text in texts:
            try:
                warnings.warn(text, ProfileWarning, stacklevel=_outside())
            except Exception as error:
                errors.append(error)
        # Nobody sees the notes of what ends a generator.
        raised = None if block is None or isinstance(block, GeneratorExit) else block
        for error in errors:
            if raised is None:
                raised = error
            else:
                raised.add_note(f"{type(error).__name__}: {error}")
        if errors and raised is errors[0]:
            raise raised

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Launch plain kernels inside a block within the block."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    # --- launches, in any thread -------------------------------------------------------------------------------------

    def _observe(self, launch: Any) -> Any:
        name = launch.kernel.__name__
        wanted = self._wanted.get(name)
        if wanted is None:
            wanted = self._wanted[name] = self._pattern.search(name) is not None
        # An autotuner must choose by times without records, and those launches are no part of the program. What a
        # warm-up returns is asked for its registers, and outlives the block.
        if not wanted or launch.tuning or launch.warmup or self._paused:
            return launch.proceed()
        # In this order: either the end of the block sees this launch, or this launch sees the end.
        begun = self._under_way[launch] = _Begun(name, threading.get_ident())
        try:
            return launch.proceed() if self._ended else self._launch(launch, begun)
        finally:
            del self._under_way[launch]
            # In this order: who waits for launches says so first, and then looks for them.
            if self._ended:
                self._returned.set()
            if self._unwarned:
                self._warn_meanwhile()

    def _launch(self, launch: Any, begun: _Begun) -> Any:
        self._matched = True
        name, begin = begun.name, time.perf_counter_ns()
        device = driver.active.get_current_device()
        rings = self._rings.get(device) or self._rings_of(device)
        if rings is None:
            return launch.proceed()
        stream = driver.active.get_current_stream(device)
        capturing = rings.memory.capturing(stream)
        begun.rings, begun.captured = rings, capturing
        # A hook of this launch may launch too.
        around, self._thread_local.launching = getattr(self._thread_local, "launching", None), begun
        try:
            # A copy with the pipeline launches as fast as a plain kernel; a scope around each launch does not.
            known = self._copies.get(id(launch.kernel))
            if known is None:
                copy = tritonext.use(self._pipeline)(launch.kernel)
                # Hooks that are added later run too.
                copy.pre_run_hooks = launch.kernel.pre_run_hooks
                known = self._copies[id(launch.kernel)] = launch.kernel, copy
            if capturing:
                # The kernel with records may be a new one, which has to be loaded.
                with rings.memory.relaxed():
                    compiled = launch.launch_as(known[1])
            else:
                compiled = launch.launch_as(known[1])
        except Exception as error:
            # Behind the memory for records come the program's own arguments, and hooks behind the launch: to launch
            # again would run the kernel twice.
            # A warning of Triton or of the program, which a filter made an exception, may not come a second time.
            if isinstance(error, Warning) or (begun.ring is not None and not _refused(error)):
                raise
            failure = error
        else:
            begun.launched = True
            if compiled is not None:
                if isinstance(begun.ring, Ring):
                    self._recorded.add(name)
                self._launched(compiled, launch, rings, capturing)
                if len(self._launches) < self._most_events:
                    end = time.perf_counter_ns()
                    self._launches.append((name, begin, end, begun.thread, device, stream, capturing))
                else:
                    self._missed_events += 1
            return compiled
        finally:
            # A compiled kernel that is launched by itself does not pass here, and has to be looked at.
            self._thread_local.launching = around
        if isinstance(begun.ring, Ring):
            rings.take_back(begun.ring)
        # Where the program itself is wrong, the plain launch says so.
        compiled = launch.proceed()
        # Behind the block there is no memory for records, and the launch is told of as a late one.
        if not self._ended:
            self._leave_out(name, failure)
        return compiled

    def _leave_out(self, name: str, error: Exception) -> None:
        self._wanted[name] = False
        what = f"further launches of {_short(name)} are" if name in self._recorded else f"{_short(name)} is"
        self._tell(f"{what} not recorded: {_sentence(error)}")

    def _launched(self, compiled: Any, launch: Any, rings: Rings, capturing: bool) -> None:
        """Describe a kernel at its first launch that is no capture: to load the plain one may wait for the GPU."""
        known = self._compiled.get(id(compiled))
        if capturing or (known is not None and known[1] in self._kernels):
            return
        try:
            number = self._number(compiled)
        except Exception as error:
            self._leave_out(launch.kernel.__name__, error)
            return
        try:
            self._kernels[number] = self._described(number, compiled, launch, rings)
        except Exception as error:
            # Once: what failed would take its time at each launch.
            self._kernels[number] = kernel_of(self._tables[number])
            name = _short(launch.kernel.__name__)
            self._tell(
                f"{name} is recorded, but its registers, occupancy and code without records are not known: "
                f"{_sentence(error)}"
            )

    def _number(self, compiled: Any) -> int:
        """Return the index of a compiled kernel."""
        known = self._compiled.get(id(compiled))
        if known is None:
            entry = table_of(compiled)
            with _lock:
                same = [index for index, other in enumerate(self._tables) if other["kernel_id"] == entry["kernel_id"]]
                if not same:
                    same = [len(self._tables)]
                    self._tables.append(entry)
                overlaps = bool(getattr(compiled.metadata, "launch_pdl", False))
                known = self._compiled[id(compiled)] = compiled, same[0], overlaps
        return known[1]

    def _described(self, number: int, compiled: Any, launch: Any, rings: Rings) -> Kernel:
        """Return what is known about a kernel, and how it differs from the one without records."""
        resources = _resources(compiled, rings)
        plain = launch.compile()
        if plain is not None:
            # Registers are known of a loaded kernel only.
            plain[(1, 1, 1)]
            resources |= {f"plain_{key}": value for key, value in _resources(plain, rings).items()}
            self._plain[number] = plain
        stages = getattr(compiled.metadata, "num_stages", 0)
        return kernel_of(table_of(compiled), num_stages=stages, resources=resources)

    def _checked(self, number: int) -> Kernel:
        """Return what is known about a kernel, what it is made of, and whether its records stand where they should."""
        kernel = self._kernels.get(number) or kernel_of(self._tables[number])
        # Other threads may be in the middle of a launch.
        known = list(self._compiled.values())
        compiled = next((compiled for compiled, index, _ in known if index == number), None)
        if compiled is None:
            return kernel
        try:
            plain = self._plain.get(number)
            if plain is not None:
                ir = _LOCATION.sub("", plain.asm["ttgir"])
                kernel = dataclasses.replace(kernel, ir=ir, opcodes=_opcodes(plain))
            if kernel.mode == "header":
                return kernel
            found = {entry.region for entry in integrity.check(compiled)}
            return dataclasses.replace(kernel, moved=tuple(sorted(found)))
        except Exception as error:
            self._notices.append(f"the machine code of {kernel.name} is not checked: {_sentence(error)}")
            return kernel

    def _provide(self, compiled: Any, grid: tuple[int, ...], size: int, stream: int) -> Any:
        number = self._number(compiled)
        table, overlaps = self._tables[number], self._compiled[id(compiled)][2]
        begun = getattr(self._thread_local, "launching", None)
        if begun is not None:
            place = tuple(grid), stream, begun.captured, overlaps
            begun.ring = begun.rings.ring(number, table, *place)
            return begun.ring
        # A compiled kernel that is launched by itself, with nobody to launch a plain one instead.
        try:
            device = driver.active.get_current_device()
            rings = self._rings.get(device) or self._rings_of(device)
            if rings is not None:
                # Nobody says when the GPU has it.
                place = tuple(grid), stream, rings.memory.capturing(stream), overlaps
                return rings.ring(number, table, *place, lasting=True)
        except Exception as error:
            self._tell(f"launches of {_short(table['kernel'])} by itself are not recorded: {_sentence(error)}")
        self._warn_meanwhile()
        # docs/records.md: with bit 0 clear a kernel reads nothing, and records nothing.
        return Blank(0)

    def _rings_of(self, device: int) -> Rings | None:
        with _lock:
            if device not in self._rings:
                try:
                    self._rings[device] = Rings(gpu(device), *self._limits)
                except TritonextError as error:
                    self._rings[device] = None
                    self._tell(f"nothing is recorded on GPU {device}: {_sentence(error)}")
            return self._rings[device]

    def _heard(self, **found: Any) -> None:
        if len(self._events) >= self._most_events:
            return
        times, end = found["times"], time.perf_counter_ns()
        detail = {"cache hit": bool(found["cache_hit"]), "lowering µs": int(times.total_lowering)}
        name = str(found["metadata"].get("name", "?"))
        begin = end - int(times.total) * 1000
        self._events.append(HostEvent("compile", name, begin, end, threading.get_ident(), detail=detail))

    def _tuned(self, **found: Any) -> None:
        name = found["fn"].__name__
        if len(self._events) >= self._most_events or not self._pattern.search(name):
            return
        end = time.perf_counter_ns()
        begin = end - round((found["duration"] or 0) * 1e9)
        medians = {str(config): float(np.ravel(times)[0]) for config, times in found["configs_timings"].items()}
        # One that does not compile took for ever.
        finite = sorted((median, config) for config, median in medians.items() if np.isfinite(median))
        detail = {config: median for median, config in finite}
        self._events.append(HostEvent("tune", name, begin, end, threading.get_ident(), detail=detail))

    # --- the thread that empties the rings ---------------------------------------------------------------------------

    def _drain(self) -> None:
        wait, broken = self._interval, set()
        while not self._stop.wait(wait):
            hurry = False
            for device, rings in list(self._rings.items()):
                if rings is None or device in broken:
                    continue
                try:
                    hurry |= rings.drain()
                except Exception as error:
                    broken.add(device)
                    self._tell(
                        f"the buffers of GPU {device} are read at the end of the block only, and what has no room in "
                        f"them is missing: {_sentence(error)}"
                    )
                    self._warn_meanwhile()
            wait = 0 if hurry else self._interval

    # --- afterwards --------------------------------------------------------------------------------------------------

    @functools.cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """What the data says, by kernel; only after the block."""
        return analyze(self.data)

    def show(self, console: Console | None = None) -> None:
        """Print what the data says."""
        terminal.show(self.data, console)

    def save(self, path: str | pathlib.Path) -> None:
        """Write the data; the suffix says how, see :func:`.saving.save`."""
        saving.save(self.data, path)


def _resources(compiled: Any, rings: Rings) -> dict[str, int]:
    threads = compiled.metadata.num_warps * compiled.metadata.target.warp_size
    return {
        "registers": compiled.n_regs,
        "spills": compiled.n_spills,
        "shared": compiled.metadata.shared,
        "ctas_per_sm": rings.memory.ctas_per_sm(compiled.function, threads, compiled.metadata.shared),
    }


def _opcodes(compiled: Any) -> dict[str, int]:
    """Return the machine instructions of a kernel by name, the most frequent first."""
    counts = collections.Counter(instruction.name.split(".")[0] for instruction in disassemble(compiled))
    return dict(counts.most_common())


def _outside() -> int:
    """Return the ``stacklevel`` with which a warning by the caller names the line of the program."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OWN:
        frame, level = frame.f_back, level + 1
    return level


def _refused(error: Exception) -> bool:
    """Whether the GPU does not have the launch, because the driver did not take it."""
    return isinstance(error, RuntimeError) and str(error).startswith(_REFUSED)


def _each(function: Callable[[int], Any], numbers: range) -> list[Any]:
    """Call a function for each number, several at a time where the interpreter still starts threads."""
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(function, numbers))
    except RuntimeError:
        # The profile ends with the interpreter.
        return [function(number) for number in numbers]


def _short(name: str) -> str:
    """Return a name as a sentence has room for it."""
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _names(names: Iterable[str], most: int = 5) -> str:
    """Return names, each once."""
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - most} more" if len(unique) > most else ""
    return ", ".join(map(_short, unique[:most])) + more


def _launches_of(names: list[str]) -> str:
    """Return how many launches of which kernels these are."""
    return f"{len(names):,} launch{'es' if len(names) > 1 else ''} of the block ({_names(names)})"


def _sentence(error: Exception) -> str:
    """Return the first line of an error, and what was found and what to do."""
    if isinstance(error, TritonextError):
        parts = [error.message, None if error.found is None else f"found {error.found}", error.hint]
        return "; ".join(part for part in parts if part)
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
