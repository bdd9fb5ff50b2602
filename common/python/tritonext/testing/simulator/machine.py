"""The programs of a simulated grid: their partitions, shared memory, barriers and asynchronous operations.

Order between partitions is kept in vector clocks (C. Flanagan and S. Freund, FastTrack, PLDI 2009). Every partition has
a component, and so has every queue whose work ends in order: the copies, products and descriptor stores of a partition,
and a barrier, whose phases are what descriptor loads complete. An access is ordered behind another one when the clock
of its partition has reached the epoch of that one. So a missing wait is found whether or not the schedule at hand shows
it. Barriers are those of PTX ISA, *mbarrier*.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tritonext.testing.findings import (
    BarrierMisuse,
    ByteCountMismatch,
    Deadlock,
    Finding,
    Leak,
    MissingFence,
    Race,
    ReadBeforeCompletion,
    UninitializedRead,
    UnsupportedOperation,
)

from .memory import MemoryView, SharedMemory
from .module import Operation

__all__ = ["Access", "Actor", "Barrier", "Program", "Queue", "Scheduler", "Steps", "Waiting"]

_COMPONENTS = 1024
_WAITS = {
    "ttg.async_copy_global_to_local": "wait with ttg.async_wait after ttg.async_commit_group",
    "ttng.async_tma_copy_global_to_local": "wait with ttng.wait_barrier for the phase of its barrier",
    "ttng.async_tma_gather": "wait with ttng.wait_barrier for the phase of its barrier",
    "ttng.warp_group_dot": "wait with ttng.warp_group_dot_wait",
    "ttng.async_tma_copy_local_to_global": "wait with ttng.async_tma_store_wait",
    "ttng.async_tma_reduce": "wait with ttng.async_tma_store_wait",
    "ttng.async_tma_scatter": "wait with ttng.async_tma_store_wait",
}
# What the execution of an actor gives behind its last step.
_END: Any = object()
_ORDER = "let the one arrive at a barrier behind it, and the other wait for that phase before"


@dataclass
class Waiting:
    """What an actor waits for.

    Attributes:
        ready: Whether it may go on.
        what: Says so in words.
        operation: The operation that waits.
        barrier: The barrier, when it waits for one.
        others: Whether it waits for the end of other actors.
    """

    ready: Callable[[], bool]
    what: Callable[[], str]
    operation: Operation
    barrier: Barrier | None = None
    others: bool = False


Steps = Generator["Waiting | None", None, Any]
"""Execution that can be suspended: it yields where another actor may go on, or what it waits for."""


@dataclass
class Queue:
    """Asynchronous operations of one kind by one actor, which end in order."""

    tid: int
    pending: list[Access] = field(default_factory=list)
    issued: int = 0


@dataclass(eq=False)
class Actor:
    """A thread of a program: its code outside of partitions with the default one, or another partition.

    Attributes:
        name: What messages call it.
        num_warps: Its warps.
        weight: How likely it is drawn, so that some run far ahead of others.
        steps: The rest of its execution.
        waiting: What it waits for; None while it can run.
        operation: What it executes.
        copies: Its copies to shared memory by threads.
        groups: The last epoch of each group of them that was closed.
        products: Its asynchronous products.
        stores: Its descriptor stores, until they have read shared memory.
        written: The same, until they have written.
    """

    program: Program
    name: str
    num_warps: int
    weight: int
    tid: int
    clock: np.ndarray
    copies: Queue
    products: Queue
    stores: Queue
    written: Queue
    groups: list[int] = field(default_factory=list)
    steps: Steps | None = None
    waiting: Waiting | None = None
    operation: Operation | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Access:
    """An operation that accesses shared memory, or an asynchronous one.

    Attributes:
        number: Its place in ``Program.accesses``.
        tid: Component of the clock that tells whether it has ended.
        epoch: What that component has to reach.
        effect: Does its work; called once, when it completes.
        result: Of a product, once it has completed.
        barrier: The barrier that a descriptor load completes at.
    """

    number: int
    operation: Operation
    actor: Actor
    tid: int
    epoch: int
    effect: Callable[[], None] | None = None
    done: bool = False
    result: Any = None
    barrier: Barrier | None = None

    def complete(self) -> None:
        if not self.done:
            self.done = True
            if self.effect is not None:
                self.effect()

    def __str__(self) -> str:
        return f"{self.operation} in {self.actor}"

    @property
    def remedy(self) -> str:
        """What has to be done for it to have ended."""
        return _WAITS.get(self.operation.name, _ORDER) if self.tid != self.actor.tid else _ORDER


@dataclass(eq=False)
class _Next:
    """The first operation of a queue, whichever that is when it completes."""

    queue: Queue

    def complete(self) -> None:
        if self.queue.pending:
            self.queue.pending.pop(0).complete()


class Barrier:
    """A barrier in shared memory: pending arrivals, bytes that are to come, and the number of completed phases.

    Phases are counted on when the barrier is made anew; ``base`` is the first of the present one.
    """

    def __init__(self, program: Program, label: str) -> None:
        self.program = program
        self.label = label
        # How many phases are known to be over, and of how many the bytes may be read.
        self.passed = program.new_tid()
        self.tid = program.new_tid()
        self.phase = self.base = 0
        self.valid = False
        self.made: Operation | None = None
        self.count = self.pending = self.bytes = 0
        self.arriving = program.new_clock()
        # What is known by who has waited for so many phases. A wait tells of no more, even when it ends late.
        self.released: dict[int, np.ndarray] = {}
        self.arrivals: Counter[str] = Counter()

    def __str__(self) -> str:
        return self.label

    def make(self, actor: Actor, operation: Operation, count: int) -> None:
        """Set it up for ``count`` arrivals a phase."""
        if self.valid:
            self._check_idle(operation, "made anew")
        self.base = self.phase = self.phase + 1
        self.valid, self.made = True, operation
        self.count = self.pending = count
        self.bytes = 0
        self.arriving = self.program.new_clock()
        self.arriving[self.tid] = self.arriving[self.passed] = self.base
        actor.clock[self.passed] = actor.clock[self.tid] = self.base
        self.released = {self.base: self.arriving.copy()}
        self.arrivals.clear()

    def unmake(self, operation: Operation, actor: Actor) -> None:
        """Invalidate it."""
        self.check_valid(operation, actor)
        self._check_idle(operation, "invalidated")
        self.valid = False

    def _check_idle(self, operation: Operation, what: str) -> None:
        for other in self.program.actors:
            if other.waiting is not None and other.waiting.barrier is self:
                raise BarrierMisuse(
                    f"{self} is {what} while a partition waits for it",
                    where=operation,
                    found=f"{other} waits at {other.waiting.operation}",
                )
        if self.bytes:
            raise BarrierMisuse(
                f"{self} is {what} while it expects bytes", where=operation, found=f"{self.bytes} bytes to come"
            )

    def check_valid(self, operation: Operation, actor: Actor) -> None:
        """Refuse a use of a barrier that is not there, or not known to be."""
        if not self.valid:
            raise UninitializedRead(
                f"{self} is used that is not initialized",
                where=operation,
                expected="ttng.init_barrier before",
                found=str(operation),
            )
        if actor.clock[self.passed] < self.base:
            raise Race(
                f"{actor} uses {self}, which may not be there yet",
                where=operation,
                found=f"{self.made}, which {actor} does not know of",
                hint=_ORDER,
            )

    def arrive(self, who: str, operation: Operation, count: int, clock: np.ndarray) -> None:
        """Count arrivals that tell of what ``clock`` says."""
        if count > self.pending:
            raise BarrierMisuse(
                f"{self} gets more arrivals in a phase than it was made for",
                where=operation,
                expected=f"{self.count}, of {self.made}",
                found=f"{self.count - self.pending + count} in phase {self.phase - self.base}",
                details=self.history(),
            )
        self.arrivals[who] += 1
        self.pending -= count
        np.maximum(self.arriving, clock, out=self.arriving)
        self.advance(operation)

    def advance(self, operation: Operation) -> None:
        """End the phase when nothing is lacking."""
        if self.pending:
            return
        if self.bytes < 0:
            raise ByteCountMismatch(
                f"copies bring more bytes to {self} than it was told to expect",
                where=operation,
                expected="ttng.barrier_expect with the sum of the bytes of a phase",
                found=f"{-self.bytes} bytes more in phase {self.phase - self.base}",
                details=self.history(),
            )
        if self.bytes == 0:
            self.phase += 1
            self.pending = self.count
            # Arrivals only add up, so this holds what the phases before told.
            self.arriving[self.tid] = self.arriving[self.passed] = self.phase
            self.released[self.phase] = self.arriving.copy()

    def complete(self, load: Access, size: int) -> None:
        """Count the bytes of a copy that has completed."""
        if self.phase + 1 != load.epoch:
            raise ByteCountMismatch(
                f"a phase of {self} ends before a copy that was issued in it",
                where=load.operation,
                expected="ttng.barrier_expect with the sum of the bytes of a phase, before its last arrival",
                found=f"phase {self.phase - self.base}, where the copy was issued in {load.epoch - 1 - self.base}",
                details=self.history(),
            )
        self.bytes -= size
        self.advance(load.operation)

    def state(self) -> str:
        missing = []
        if self.pending:
            missing.append(f"{self.pending} of {self.count} arrivals")
        if self.bytes:
            missing.append(f"{self.bytes} bytes")
        return f"phase {self.phase - self.base} lacks {' and '.join(missing)}"

    def history(self) -> list[str]:
        """Say who arrived so far."""
        lines = [f"arrived: {who}, {'once' if n == 1 else f'{n} times'}" for who, n in self.arrivals.items()]
        return lines or [f"nobody arrived at {self}"]


class Program:
    """One program of the grid.

    Args:
        scheduler: What runs it.
        place: Its place in the grid.
        shared_bytes: Size of its shared memory.
        num_warps: Its warps outside of partitions.
    """

    def __init__(self, scheduler: Scheduler, place: tuple[int, int, int], shared_bytes: int, num_warps: int) -> None:
        self.scheduler = scheduler
        self.random = scheduler.random
        # How likely something that is under way ends at a step.
        fixed = {"eager": 1.0, "lazy": 0.0}
        self.haste = fixed[scheduler.order] if scheduler.order in fixed else self.random.choice((0.03, 0.3, 0.8))
        self.place = place
        self.memory = SharedMemory(shared_bytes)
        self.accesses: list[Access] = []
        self.actors: list[Actor] = []
        self.in_flight: list[Access | _Next] = []
        self.barriers: dict[int, Barrier] = {}
        self.loads: list[Access] = []
        self.tids = 0
        self.steps = 0
        self.root = self.new_actor("the kernel", num_warps)

    # Clocks.

    def new_tid(self) -> int:
        if self.tids == _COMPONENTS:
            raise UnsupportedOperation(
                "a program has too many barriers and partitions", expected=f"{_COMPONENTS} components of clocks at most"
            )
        self.tids += 1
        return self.tids - 1

    @staticmethod
    def new_clock() -> np.ndarray:
        return np.zeros(_COMPONENTS, np.int32)

    def new_actor(self, name: str, num_warps: int, parent: Actor | None = None) -> Actor:
        """Return an actor that knows what its parent knows."""
        tids = [self.new_tid() for _ in range(5)]
        clock = self.new_clock() if parent is None else parent.clock.copy()
        clock[tids[0]] = 1
        queues = [Queue(tid) for tid in tids[1:]]
        return Actor(self, name, num_warps, 4 ** self.random.randrange(4), tids[0], clock, *queues)

    # Asynchronous operations.

    def new_access(self, actor: Actor, operation: Operation, queue: Queue | None = None) -> Access:
        """Return a synchronous access, or one that ends behind all that are in ``queue``."""
        access = Access(len(self.accesses), operation, actor, actor.tid, int(actor.clock[actor.tid]))
        self.accesses.append(access)
        if queue is not None:
            queue.issued += 1
            access.tid, access.epoch = queue.tid, queue.issued
            queue.pending.append(access)
            self.in_flight.append(_Next(queue))
        return access

    def drain(self, actor: Actor, queue: Queue, epoch: int) -> None:
        """Complete a queue up to an epoch, and let the actor know."""
        reached = max(epoch, int(actor.clock[queue.tid]))
        while queue.pending and queue.pending[0].epoch <= reached:
            queue.pending.pop(0).complete()
        actor.clock[queue.tid] = reached

    @staticmethod
    def complete_until(queue: Queue, access: Access) -> None:
        """Complete a queue up to an access of it."""
        while not access.done:
            queue.pending.pop(0).complete()

    def complete_any(self) -> bool:
        """Complete something that is under way; return whether there was anything."""
        if not self.in_flight:
            return False
        self.in_flight.pop(self.random.randrange(len(self.in_flight))).complete()
        return True

    # Shared memory.

    def read(self, view: MemoryView, access: Access, *, fenced: bool = False) -> None:
        """Note that ``access``, issued now, reads; ``fenced`` says that it does so through the async proxy.

        Raises:
            Finding: What it reads may not be there.
        """
        memory, clock, operation = view.memory, access.actor.clock, access.operation
        filled = view.of(memory.filled)
        if not filled.all():
            raise UninitializedRead(
                "shared memory is read that nothing has written",
                where=operation,
                expected=f"{view} filled",
                found=f"{int((~filled).sum())} of {filled.size} bytes without a value",
                details=[f"read by {access}"],
            )
        late = clock[view.of(memory.writer)] < view.of(memory.epoch)
        if late.any():
            other = self.accesses[int(view.of(memory.access)[late][0])]
            kind, message = (
                (Race, f"{view} is read while another partition may write it")
                if other.tid == other.actor.tid
                else (ReadBeforeCompletion, f"{view} is read before the copy into it was waited for")
            )
            raise kind(message, where=operation, found=str(other), hint=other.remedy, details=[f"read by {access}"])
        if fenced and self.scheduler.fences and (unfenced := view.of(memory.unfenced)).any():
            raise MissingFence(
                f"{view} is read through the async proxy behind a store without a fence",
                where=operation,
                found=str(self.accesses[int(view.of(memory.access)[unfenced][0])]),
                hint="put ttng.fence_async_shared between the two",
                details=[f"read by {access}"],
            )
        epochs, accesses = memory.readers(access.tid)
        view.of(epochs)[...] = access.epoch
        view.of(accesses)[...] = access.number

    def check_write(self, view: MemoryView, access: Access, what: str = "written") -> None:
        """Raise a race when another operation may still access the bytes that are ``what`` now."""
        memory, clock = view.memory, access.actor.clock
        late = clock[view.of(memory.writer)] < view.of(memory.epoch)
        if late.any():
            self._race(view, access, what, self.accesses[int(view.of(memory.access)[late][0])], "writes")
        for tid, (epochs, accesses) in memory.reads.items():
            late = view.of(epochs) > clock[tid]
            if late.any():
                self._race(view, access, what, self.accesses[int(view.of(accesses)[late][0])], "reads")

    def write(self, view: MemoryView, access: Access, *, generic: bool) -> None:
        """Note that ``access``, issued now, writes; ``generic`` says that the async proxy does not see it.

        Raises:
            Race: Another operation may still access the bytes.
        """
        self.check_write(view, access)
        memory = view.memory
        view.of(memory.writer)[...] = access.tid
        view.of(memory.epoch)[...] = access.epoch
        view.of(memory.access)[...] = access.number
        view.of(memory.filled)[...] = True
        view.of(memory.unfenced)[...] = generic

    @staticmethod
    def _race(view: MemoryView, access: Access, what: str, other: Access, verb: str) -> None:
        hint = other.remedy
        if hint != _ORDER and other.actor is not access.actor:
            hint += f", then {_ORDER}"
        raise Race(
            f"{view} is {what} while another operation {verb} it",
            where=access.operation,
            found=f"{other}, which may not have ended",
            hint=hint,
            details=[f"{what} by {access}"],
        )

    def fence(self, actor: Actor) -> None:
        """Show the stores that the actor knows of to the async proxy."""
        memory = self.memory
        at = np.flatnonzero(memory.unfenced)
        seen = actor.clock[memory.writer[at]] >= memory.epoch[at]
        memory.unfenced[at[seen]] = False

    # Barriers.

    def release(self, actor: Actor) -> np.ndarray:
        """Return what an actor knows, for others; what it does from now on is not part of it."""
        clock = actor.clock.copy()
        actor.clock[actor.tid] += 1
        return clock

    def wait(self, actor: Actor, operation: Operation, barrier: Barrier, parity: int) -> Steps:
        """Wait for the end of a phase of the given parity."""
        barrier.check_valid(operation, actor)

        def ready() -> bool:
            return (barrier.phase - barrier.base) & 1 != parity

        yield Waiting(
            ready,
            lambda: f"{barrier} to complete a phase of parity {parity}; {barrier.state()}",
            operation,
            barrier,
        )
        known = int(actor.clock[barrier.passed]) - barrier.base
        np.maximum(actor.clock, barrier.released[barrier.base + known + (known & 1 == parity)], out=actor.clock)

    # The end.

    def finish(self, actor: Actor) -> None:
        """Check an actor that has ended.

        Raises:
            Leak: It left asynchronous operations behind.
        """
        for queue in (actor.products, actor.stores):
            if queue.issued > actor.clock[queue.tid]:
                left = [a for a in self.accesses if a.tid == queue.tid and a.epoch > actor.clock[queue.tid]]
                raise Leak(
                    f"{actor} ends before its asynchronous operations were waited for",
                    where=left[0].operation,
                    found=f"{len(left)} of {left[0].operation.name}",
                    hint=left[0].remedy,
                )

    def end(self) -> None:
        """Complete what is under way, and check that the program waited for it.

        Raises:
            Finding: It did not.
        """
        while self.complete_any():
            pass
        for load in self.loads:
            if self.root.clock[load.tid] < load.epoch:
                raise Leak(
                    "the kernel ends before a copy was waited for",
                    where=load.operation,
                    found=f"{load}, at {load.barrier}" if load.barrier else str(load),
                    hint=load.remedy,
                )
        for barrier in self.barriers.values():
            if barrier.valid and barrier.bytes:
                raise ByteCountMismatch(
                    f"the kernel ends while {barrier} expects bytes",
                    where=barrier.made,
                    found=f"{barrier.bytes} bytes in phase {barrier.phase - barrier.base}",
                )


class Scheduler:
    """Runs the actors of programs, one at a time, and draws which goes on where one can be suspended.

    Args:
        seed: Of all choices.
        order: When asynchronous work ends: at a ``random`` moment, as soon (``eager``) or as late (``lazy``) as it can.
        limit: Number of steps after which a run counts as one without an end.
        fences: Whether missing fences are an error.
        ended: Called when a program has ended; may start another one.
    """

    def __init__(self, seed: str, order: str, limit: int, fences: bool, ended: Callable[[], None]) -> None:
        self.random = random.Random(seed)
        self.order = order
        self.limit = limit
        self.fences = fences
        self.ended = ended
        self.steps = 0
        self.switches = 0
        self.actors: list[Actor] = []
        self.current: Actor | None = None

    def start(self, actor: Actor, steps: Steps) -> None:
        """Let an actor take part."""
        actor.steps = steps
        actor.program.actors.append(actor)
        self.actors.append(actor)

    def run(self) -> None:
        """Run until all actors have ended.

        Raises:
            Finding: One does something wrong, or all wait.
        """
        actor: Actor | None = None
        while self.actors:
            able = [one for one in self.actors if one.waiting is None or one.waiting.ready()]
            if not able:
                if not sum(program.complete_any() for program in self._programs()):
                    raise self._deadlock()
                continue
            following = able[0] if len(able) == 1 else self.random.choices(able, [one.weight for one in able])[0]
            self.switches += following is not actor
            actor = self.current = following
            actor.waiting = None
            self._step(actor)

    def _programs(self) -> list[Program]:
        return list(dict.fromkeys(actor.program for actor in self.actors))

    def _step(self, actor: Actor) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise Deadlock(
                "the grid does not come to an end",
                where=actor.operation,
                found=f"more than {self.limit} steps",
                hint="pass a larger limit if the kernel does that much",
            )
        program = actor.program
        while program.in_flight and self.random.random() < program.haste:
            program.complete_any()
        assert actor.steps is not None
        step = next(actor.steps, _END)
        if step is not _END:
            actor.waiting = step
            return
        self.actors.remove(actor)
        program.actors.remove(actor)
        program.finish(actor)
        if actor is program.root:
            program.end()
            self.ended()

    def _deadlock(self) -> Finding:
        waits = [(actor, actor.waiting) for actor in self.actors if actor.waiting and not actor.waiting.others]
        for _, waiting in waits:
            barrier = waiting.barrier
            if barrier is not None and not barrier.pending and barrier.bytes > 0:
                return ByteCountMismatch(
                    "a barrier waits for bytes that no copy brings",
                    where=waiting.operation,
                    expected=f"the bytes that {barrier} was told to expect",
                    found=f"{barrier.bytes} bytes fewer in phase {barrier.phase - barrier.base}",
                    details=barrier.history(),
                )
        details = []
        for actor, waiting in waits:
            details.append(f"{actor} waits at {waiting.operation} for {waiting.what()}")
            if waiting.barrier is not None:
                details.extend(f"  {line}" for line in waiting.barrier.history())
        return Deadlock(
            "all partitions wait, and nothing wakes one of them",
            where=waits[0][1].operation,
            found=f"{len(waits)} waiting",
            hint="compare the phases, and count the arrivals",
            details=details,
        )
