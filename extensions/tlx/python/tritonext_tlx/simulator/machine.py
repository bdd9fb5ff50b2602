"""The programs of a cluster of a simulated kernel: their actors, shared memory, barriers and asynchronous operations.

A kernel without clusters has one program in each.

Order between actors is kept in vector clocks (C. Flanagan and S. Freund, FastTrack, PLDI 2009). Every actor has a
component, and so has every queue whose work ends in order: the copies, products and descriptor stores of an actor, and
a barrier, whose phases are what descriptor loads complete. An access is ordered behind another one when the clock of
its actor has reached the epoch of that one. So a missing wait is found whether or not the schedule at hand shows it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tritonext.errors import UserError

from .errors import (
    BarrierMisuse,
    ByteCountMismatch,
    Deadlock,
    Leak,
    MissingFence,
    OutOfRange,
    OverwrittenRead,
    Race,
    ReadBeforeCompletion,
    UninitializedRead,
    UnsupportedOperation,
)
from .memory import Allocation
from .scheduler import Actor, Scheduler, Waiting
from .values import Buffer

__all__ = ["AsyncOp", "Block", "Machine", "Mbarrier", "Queue", "Site"]

_COMPONENTS = 2048
_HINTS = {
    "async_load": "close its group with tlx.async_load_commit_group, wait with tlx.async_load_wait_group",
    "async_descriptor_load": "wait for its barrier with tlx.barrier_wait",
    "async_dot": "wait with tlx.async_dot_wait before",
    "async_remote_shmem_store": "wait for its barrier with tlx.barrier_wait",
    "async_descriptor_store": "wait with tlx.async_descriptor_store_wait before",
    "async_store": "wait with tlx.async_descriptor_store_wait before",
    "clc_producer": "let tlx.clc_consumer wait for it",
    **{
        f"{name} to tensor memory": "wait for a barrier of its mBarriers or of tlx.tcgen05_commit before"
        for name in ("async_dot", "async_dot_scaled", "tmem_copy")
    },
}
# Columns of 32 bits of tensor memory.
_COLUMNS = 512
_PLAIN_STORES = ("local_store", "local_scatter", "remote_shmem_store")
_RING = "let one task acquire each step, each of the consumers release it once, and all count steps alike"
_ORDER = "let the one arrive at a barrier that the other waits for"


@dataclass(frozen=True)
class Site:
    """A call in the source of a kernel that arrives at a barrier.

    Attributes:
        call: What messages call it.
        barrier: The barrier, as the kernel writes it.
        task: Where it stands.
        place: Its line.
    """

    call: str
    barrier: str
    task: str
    place: Any


@dataclass(eq=False)
class AsyncOp:
    """An operation of TLX that accesses shared memory, synchronous ones included.

    Attributes:
        name: The op.
        actor: Who issued it.
        place: The line of the kernel.
        tid: Component of the clock that tells whether it has ended.
        epoch: What that component has to reach.
        effect: Does its work; called once, when it completes.
    """

    machine: Machine
    number: int
    name: str
    actor: Actor
    place: Any
    tid: int
    epoch: int
    effect: Callable[[], None] | None = None
    done: bool = False
    size: int = 0
    barrier: Mbarrier | None = None
    phase: int = 0
    result: np.ndarray | None = None

    def complete(self) -> None:
        if not self.done:
            self.done = True
            if self.effect is not None:
                self.effect()

    def __str__(self) -> str:
        return f"tlx.{self.name} at {self.place} in {self.actor}"


def _remedy(op: AsyncOp) -> str:
    """Say what has to be done for an operation to have ended."""
    return _HINTS.get("async_descriptor_load" if op.barrier is not None else op.name, _ORDER)


@dataclass
class Queue:
    """Asynchronous operations of one kind by one actor, which end in order."""

    tid: int
    pending: list[AsyncOp] = field(default_factory=list)
    issued: int = 0


@dataclass
class _Next:
    """The first operation of a queue, whichever that is when it completes."""

    queue: Queue

    def complete(self) -> None:
        if self.queue.pending:
            self.queue.pending.pop(0).complete()


class Mbarrier:
    """A barrier in shared memory: pending arrivals, bytes that are to come, and the number of completed phases.

    Attributes:
        per_thread: Whether each thread of a task arrives for itself.
        in_ring: Whether it belongs to a pipeline, whose methods wait and arrive.
    """

    def __init__(self, machine: Machine, count: int, place: Any) -> None:
        self.machine = machine
        # How many phases are known to be over, and of how many the bytes may be read.
        self.passed = machine.new_tid()
        self.tid = machine.new_tid()
        self.count = count
        self.place = place
        self.block = machine.actor.block
        # What has to be known by who arrives from another block.
        self.made = machine.actor.tid, int(machine.actor.clock[machine.actor.tid])
        self.per_thread = False
        self.in_ring = False
        self.name = "barrier"
        self.array = ""
        self.pending = count
        self.bytes = 0
        self.phase = 0
        self.arriving = machine.new_clock()
        # What is known by who has waited for so many phases. A wait tells of no more, even when it ends late.
        self.released = [machine.new_clock()]
        self.arrivals: Counter[tuple[str, Any]] = Counter()

    @property
    def type(self) -> Mbarrier:
        return self

    def __str__(self) -> str:
        return f"{self.name}{self.block.suffix}"

    def check_made(self, actor: Any, place: Any) -> None:
        tid, epoch = self.made
        if actor.block is not self.block and actor.clock[tid] < epoch:
            raise Race(
                f"{actor} uses {self}, which may not be there yet",
                where=place,
                expected=f"an access behind the initialization at {self.place}",
                hint="allocate barriers before the first remote access, or call tlx.fence_mbarrier_init_cluster and "
                "tlx.cluster_barrier behind",
            )

    def arrive(self, actor: Any, count: int, place: Any, op: str) -> None:
        self.check_made(actor, place)
        if count > self.pending:
            raise BarrierMisuse(
                "a barrier gets more arrivals in a phase than it was made for",
                where=place,
                expected=f"{self.count} of {self}, of {self.place}",
                found=f"{self.count - self.pending + count} in phase {self.phase}",
                hint=_RING
                if self.in_ring
                else "make alloc_barriers count each task, each replica and each barrier_expect_bytes",
            )
        self.arrivals[(f"tlx.{op} in {actor}", place)] += 1
        self.pending -= count
        self.machine.release(actor, self.arriving)
        before = self.phase
        self.advance(place)
        if self.phase > before:
            # Who arrives last knows that the phase is over, and nothing of the others.
            actor.clock[self.passed] = self.phase

    def advance(self, place: Any) -> None:
        if self.pending:
            return
        if self.bytes < 0:
            raise ByteCountMismatch(
                "copies bring more bytes than their barrier was told to expect",
                where=place,
                expected=f"no more than were announced at {self}, of {self.place}",
                found=f"{-self.bytes} bytes more in phase {self.phase}",
                hint="make tlx.barrier_expect_bytes the sum of the copies of a phase",
            )
        if self.bytes == 0:
            self.phase += 1
            self.pending = self.count
            # Arrivals only add up, so this holds what the phases before told.
            self.arriving[self.tid] = self.arriving[self.passed] = self.phase
            self.released.append(self.arriving.copy())

    def state(self) -> str:
        missing = []
        if self.pending:
            missing.append(f"{self.pending} of {self.count} arrivals")
        if self.bytes:
            missing.append(f"{self.bytes} bytes")
        return f"phase {self.phase} lacks {' and '.join(missing)}"


@dataclass
class _Named:
    arriving: np.ndarray
    threads: int = 0
    released: list[np.ndarray] = field(default_factory=list)
    coming: list[Actor] = field(default_factory=list)
    met: list[Actor] = field(default_factory=list)


class Block:
    """One program, with its shared memory.

    Attributes:
        program: Its place in the grid.
        rank: Its place in the cluster.
        suffix: What messages call it, behind the name of something in it.
        root: Its code outside of tasks.
        ended: Whether it has ended.
        meets_at_end: Whether it waits for the others of the cluster at its end.
    """

    root: Any

    def __init__(self, program: tuple[int, ...], rank: int, suffix: str) -> None:
        self.program = program
        self.rank = rank
        self.suffix = suffix
        self.allocations: list[Allocation] = []
        self.barriers: list[Mbarrier] = []
        self.named: dict[int, _Named] = {}
        self.shared_bytes = 0
        self.columns = 0
        self.meetings = 0
        self.ended = False
        self.meets_at_end = True


class Machine:
    """The programs of a cluster, or a single one.

    Args:
        seed: Of all choices.
        num_warps: Warps of the kernel outside of tasks.
        here: Returns the line of the kernel that is running.
        sites: Calls of barrier operations in the source.
        programs: Places of the programs in the grid.
        enter: Called with the program that goes on.
    """

    def __init__(
        self,
        seed: str,
        num_warps: int,
        here: Callable[[], Any],
        sites: list[Site],
        programs: list[tuple[int, ...]],
        enter: Callable[[tuple[int, ...]], None],
    ) -> None:
        self.random = random.Random(seed)
        # How likely something that is under way ends at an operation.
        self.haste = self.random.choice((0.03, 0.3, 0.8))
        self.here = here
        self.sites = sites
        self.tids = 0
        self.ops: list[AsyncOp] = []
        self.in_flight: list[AsyncOp] = []
        self.loads: list[AsyncOp] = []
        self.products: list[AsyncOp] = []
        # Where a response to a request for work said that there is none; and what gives out blocks that did not start.
        self.dismissed: Any = None
        self.cluster_shape = (1, 1, 1)
        self.take_work: Callable[[], tuple[int, ...] | None] = lambda: None
        # Accesses to other blocks, which may not end before.
        self.remote: list[tuple[AsyncOp, Block]] = []
        self.steps = 0
        several = len(programs) > 1
        self.blocks = [
            Block(program, rank, f" of block {rank}" if several else "") for rank, program in enumerate(programs)
        ]
        self.meeting = self.new_clock()
        self.met: list[np.ndarray] = []
        for block in self.blocks:
            block.root = self._actor("the kernel", None, num_warps, 0, None, block)
        first = self._actor("the cluster", None, 0, 0, None, self.blocks[0]) if several else self.blocks[0].root
        self.scheduler = Scheduler(
            self.random,
            self._progress,
            self._complete_any,
            self._deadlock,
            lambda actor: enter(actor.block.program),
            first,
        )
        enter(first.block.program)

    # Clocks.

    def new_tid(self) -> int:
        if self.tids == _COMPONENTS:
            raise UnsupportedOperation(
                "a program, or a cluster, has too many barriers and tasks",
                where=self.here(),
                expected=f"{_COMPONENTS} at most",
            )
        self.tids += 1
        return self.tids - 1

    @staticmethod
    def new_clock() -> np.ndarray:
        return np.zeros(_COMPONENTS, np.int32)

    def _actor(self, name: str, replica: int | None, warps: int, thread: int, parent: Any, block: Block) -> Any:
        actor = Actor(f"{name}{block.suffix}", replica, warps, thread, weight=4 ** self.random.randrange(4))
        actor.block = block
        actor.tid = self.new_tid()
        actor.clock = self.new_clock() if parent is None else parent.clock.copy()
        actor.clock[actor.tid] = 1
        actor.copies, actor.dots, actor.stores, actor.products = (Queue(self.new_tid()) for _ in range(4))
        return actor

    @property
    def actor(self) -> Any:
        """The actor that is running."""
        return self.scheduler.current

    def release(self, actor: Any, clock: np.ndarray) -> None:
        """Let whoever takes ``clock`` know what ``actor`` has done."""
        np.maximum(clock, actor.clock, out=clock)
        actor.clock[actor.tid] += 1

    # Asynchronous operations.

    def new_op(self, name: str, queue: Queue | None = None, epoch: int | None = None) -> AsyncOp:
        """Return a synchronous operation, or one that ends when ``queue`` comes to it, by default behind all others."""
        actor = self.actor
        op = AsyncOp(self, len(self.ops), name, actor, self.here(), actor.tid, int(actor.clock[actor.tid]))
        if queue is not None:
            if epoch is None:
                epoch = queue.issued = queue.issued + 1
            op.tid, op.epoch = queue.tid, epoch
            queue.pending.append(op)
        self.ops.append(op)
        return op

    def drain(self, queue: Queue, left: int) -> None:
        """Complete a queue but for its last ``left`` epochs, and let the actor know."""
        reached = max(queue.issued - left, int(self.actor.clock[queue.tid]))
        while queue.pending and queue.pending[0].epoch <= reached:
            queue.pending.pop(0).complete()
        self.actor.clock[queue.tid] = reached

    def follow(self, queue: Queue) -> None:
        """Let what was put into a queue end by itself, behind what is in it."""
        self.in_flight.append(_Next(queue))

    def _progress(self) -> None:
        self.steps += 1
        while self.in_flight and self.random.random() < self.haste:
            self._complete_any()

    def _complete_any(self) -> bool:
        if not self.in_flight:
            return False
        self.in_flight.pop(self.random.randrange(len(self.in_flight))).complete()
        return True

    def complete(self, tid: int, epoch: int) -> None:
        """Complete what is under way of a queue up to an epoch."""
        for op in [op for op in self.in_flight if op.tid == tid and op.epoch <= epoch]:
            self.in_flight.remove(op)
            op.complete()

    def result_of(self, op: AsyncOp) -> np.ndarray:
        """Return the accumulator of a product.

        Raises:
            ReadBeforeCompletion: It may still be computed.
        """
        if op.result is None:
            raise ReadBeforeCompletion(
                "the accumulator of a product is used before the product was waited for",
                where=self.here(),
                found=str(op),
                hint=_HINTS["async_dot"],
            )
        return op.result

    # Shared memory.

    def check_read(self, buffer: Buffer, op: AsyncOp, clock: np.ndarray) -> None:
        at, selector = buffer.allocation, buffer.selector
        writers = at.writer[selector]
        if (writers < 0).any():
            raise UninitializedRead(
                "shared memory is read that nothing has written",
                where=op.place,
                expected=f"{buffer} filled, of {at.place}",
                found=f"{int((writers < 0).sum())} of {writers.size} bytes without a value",
            )
        late = clock[writers] < at.epoch[selector]
        if late.any():
            other = self.ops[int(at.op[selector][late][0])]
            if other.name in _HINTS:
                what = "product" if "dot" in other.name else "copy"
                raise ReadBeforeCompletion(
                    f"{buffer} is read before the {what} into it was waited for",
                    where=op.place,
                    found=str(other),
                    hint=_remedy(other),
                    details=(f"read by {op}",),
                )
            raise Race(
                f"{buffer} is read while another task may write it",
                where=op.place,
                found=str(other),
                hint=_ORDER,
                details=(f"read by {op}",),
            )

    def _check_owner(self, buffer: Buffer, op: AsyncOp) -> None:
        at, selector = buffer.allocation, buffer.selector
        foreign = at.owner[selector] != buffer.owner
        if foreign.any():
            raise OverwrittenRead(
                f"{buffer} is read behind a write to another buffer in its memory",
                where=op.place,
                expected=f"what was written to {buffer} itself",
                found=f"{int(foreign.sum())} of {foreign.size} bytes of {self.ops[int(at.op[selector][foreign][0])]}",
                hint="read it before, make the group of the two distinct, or use tlx.local_reinterpret to read the "
                "bytes of a buffer as another type",
            )

    def read(self, buffer: Buffer, op: AsyncOp, *, fenced: bool = False, clock: np.ndarray | None = None) -> None:
        """Note that ``op``, issued now, reads; ``clock`` is what it knows, by default what its actor does.

        Raises:
            Finding: What it reads may not be there.
        """
        self.check_read(buffer, op, self.actor.clock if clock is None else clock)
        self._check_owner(buffer, op)
        at, selector = buffer.allocation, buffer.selector
        if fenced and at.unfenced[selector].any():
            other = self.ops[int(at.op[selector][at.unfenced[selector]][0])]
            raise MissingFence(
                f"a descriptor copy reads {buffer} behind a store without a fence",
                where=op.place,
                found=str(other),
                hint="call tlx.fence_async_shared after the store, and before a barrier that tells of it",
            )
        if op.tid not in at.reads:
            at.reads[op.tid] = np.zeros(at.size, np.int32), np.zeros(at.size, np.int32)
        epochs, ops = at.reads[op.tid]
        epochs[selector] = op.epoch
        ops[selector] = op.number

    def write(self, buffer: Buffer, op: AsyncOp, *, clock: np.ndarray | None = None) -> None:
        """Note that ``op``, issued now, writes; ``clock`` as of :meth:`read`.

        Raises:
            Race: Another operation may still access the bytes.
        """
        at, selector = buffer.allocation, buffer.selector
        clock = self.actor.clock if clock is None else clock
        writers = at.writer[selector]
        late = (writers >= 0) & (clock[writers] < at.epoch[selector])
        if late.any():
            self._race(buffer, op, self.ops[int(at.op[selector][late][0])], "writes")
        for tid, (epochs, ops) in at.reads.items():
            late = epochs[selector] > clock[tid]
            if late.any():
                self._race(buffer, op, self.ops[int(ops[selector][late][0])], "reads")
        at.writer[selector] = op.tid
        at.epoch[selector] = op.epoch
        at.op[selector] = op.number
        at.owner[selector] = buffer.owner
        at.unfenced[selector] = op.name in _PLAIN_STORES

    def _race(self, buffer: Buffer, op: AsyncOp, other: AsyncOp, verb: str) -> None:
        hint = _remedy(other)
        if other.name in _HINTS and other.actor is not op.actor:
            hint += f", then {_ORDER}"
        raise Race(
            f"{buffer} is written while another operation {verb} it",
            where=op.place,
            found=f"{other}, which may not have ended",
            hint=hint,
            details=(f"written by {op}",),
        )

    def fence(self) -> None:
        """Show the stores that the actor knows of to descriptor copies."""
        for at in (at for block in self.blocks for at in block.allocations):
            seen = at.unfenced & (self.actor.clock[np.maximum(at.writer, 0)] >= at.epoch)
            at.unfenced[seen] = False

    # Waiting.

    def wait(self, barrier: Mbarrier, parity: int, place: Any) -> None:
        def ready() -> bool:
            return barrier.phase & 1 != parity

        def what() -> str:
            return f"{barrier} to complete a phase of parity {parity}; {barrier.state()}"

        self.scheduler.switch(Waiting(ready, what, place, barrier))
        clock = self.actor.clock
        phases = int(clock[barrier.passed])
        np.maximum(clock, barrier.released[phases + (phases & 1 == parity)], out=clock)

    def named_barrier(self, number: int, threads: int, waits: bool, place: Any) -> None:
        actor = self.actor
        barrier = actor.block.named.setdefault(number, _Named(self.new_clock()))
        barrier.threads += actor.num_warps * 32
        if barrier.threads > threads:
            raise BarrierMisuse(
                f"named barrier {number} gets more threads than it waits for",
                where=place,
                expected=f"{threads}, the argument arrive_count",
                found=f"{barrier.threads}, with the {actor.num_warps * 32} of {actor}",
            )
        # Whoever neither met the others nor knows that they met could have come among them instead.
        last = barrier.released[-1] if barrier.released else None
        if last is not None and actor not in barrier.met and np.any(actor.clock < last):
            raise BarrierMisuse(
                f"named barrier {number} may get more threads than it waits for",
                where=place,
                expected=f"{threads}, the argument arrive_count",
                found=f"{threads} of {', '.join(map(str, barrier.met))}, and {actor}, which may come before or after",
                hint="pass the threads of all tasks that wait or arrive, or use another barrier",
            )
        self.release(actor, barrier.arriving)
        barrier.coming.append(actor)
        generation = len(barrier.released)
        if barrier.threads == threads:
            barrier.threads = 0
            barrier.released.append(barrier.arriving.copy())
            barrier.met, barrier.coming = barrier.coming, []
        if waits:
            self.scheduler.switch(
                Waiting(
                    lambda: len(barrier.released) > generation,
                    lambda: f"named barrier {number}; {barrier.threads} of {threads} threads are there",
                    place,
                )
            )
            np.maximum(actor.clock, barrier.released[generation], out=actor.clock)

    def _deadlock(self, actors: list[Actor]) -> Exception:
        waits = [(actor, actor.waiting) for actor in actors if not actor.waiting.others]
        for _, waiting in waits:
            barrier = waiting.barrier
            if barrier is not None and not barrier.pending and barrier.bytes:
                return ByteCountMismatch(
                    "a barrier waits for bytes that no copy brings",
                    where=waiting.place,
                    expected=f"the bytes announced at {barrier}, of {barrier.place}",
                    found=f"{barrier.bytes} bytes fewer in phase {barrier.phase}",
                    hint="copy into every buffer of the stage, once"
                    if barrier.in_ring
                    else "make tlx.barrier_expect_bytes the sum of the copies of a phase",
                    details=self._arrivals(barrier),
                )
        details = []
        for actor, waiting in waits:
            details.append(f"{actor} waits at {waiting.place} for {waiting.what()}")
            if waiting.barrier is not None:
                details.extend(f"  {line}" for line in self._arrivals(waiting.barrier))
        return Deadlock(
            "all tasks wait, and nothing wakes one of them",
            where=waits[0][1].place,
            found=f"{len(waits)} waiting",
            hint=_RING
            if any(waiting.barrier is not None and waiting.barrier.in_ring for _, waiting in waits)
            else "compare the phases, and count the arrivals",
            details=details,
        )

    @staticmethod
    def _times(count: int) -> str:
        return "once" if count == 1 else f"{count} times"

    def _arrivals(self, barrier: Mbarrier) -> list[str]:
        """Say who arrived at a barrier so far, and who else could."""
        lines = [f"arrived: {who} at {place}, {self._times(count)}" for (who, place), count in barrier.arrivals.items()]
        reached = {place for _, place in barrier.arrivals}
        for site in self.sites:
            if site.barrier.partition("[")[0] == barrier.array and site.place not in reached:
                lines.append(f"could arrive: {site.call} in {site.task} at {site.place}, which was not reached")
        return lines or ["nobody arrives at it"]

    # Tasks, and the end.

    def run_tasks(self, tasks: list[tuple[str, int, int, bool, Callable[[], None]]], place: Any) -> None:
        """Run tasks of (name, replicas, warps, default, body) until all have ended."""
        parent = self.actor
        actors, bodies = [], []
        thread = parent.num_warps * 32
        for name, replicas, warps, default, body in tasks:
            for replica in range(replicas):
                label = f"{name}, replica {replica}" if replicas > 1 else name
                own = default and replica == 0
                actors.append(self._actor(label, replica, warps, 0 if own else thread, parent, parent.block))
                bodies.append(body)
                thread += 0 if own else warps * 32
        parent.clock[parent.tid] += 1
        self.scheduler.run(actors, bodies, place)
        for actor in actors:
            # Its queues end with it.
            np.maximum(parent.clock, actor.clock, out=parent.clock)
            self.finish(actor)

    # Clusters.

    def peer(self, rank: int) -> Block:
        """Return another block of the cluster, which is to be accessed.

        Raises:
            UserError: There is no such block.
            Race: It has ended.
        """
        if len(self.blocks) == 1:
            raise UserError(
                "the kernel has no clusters", where=self.here(), expected="ctas_per_cga=(n, 1, 1) for tlx.simulate"
            )
        if not 0 <= rank < len(self.blocks):
            raise OutOfRange(
                "the cluster has no such block", where=self.here(), expected=f"0 to {len(self.blocks) - 1}", found=rank
            )
        block = self.blocks[rank]
        if block.ended:
            raise self._gone(block, f"{self.actor} at {self.here()}", self.here())
        return block

    def note_remote(self, op: AsyncOp, block: Block) -> None:
        """Note that ``op`` accesses what belongs to a block."""
        if block is not op.actor.block:
            self.remote.append((op, block))

    @staticmethod
    def _gone(block: Block, who: str, place: Any) -> Exception:
        return Race(
            f"a block is accessed that may have ended, block {block.rank}",
            where=place,
            found=who,
            hint="let it wait for the access before it ends, with tlx.cluster_barrier or at a barrier",
        )

    def meet(self, place: Any, why: str = "to meet them") -> None:
        """Wait for all blocks of the cluster that have not ended."""
        actor = self.actor
        block = actor.block
        if actor is not block.root:
            raise UserError(
                "a task waits for all warps of the cluster",
                where=place,
                expected="tlx.cluster_barrier outside of tasks",
            )
        if len(self.blocks) == 1:
            raise UserError(
                "the kernel has no clusters", where=place, expected="ctas_per_cga=(n, 1, 1) for tlx.simulate"
            )
        self.release(actor, self.meeting)
        block.meetings += 1
        number = block.meetings
        self._complete_meeting()
        self.scheduler.switch(
            Waiting(lambda: len(self.met) >= number, lambda: f"the other blocks of the cluster {why}", place)
        )
        np.maximum(actor.clock, self.met[number - 1], out=actor.clock)

    def _complete_meeting(self) -> None:
        """Let blocks go on that met all others."""
        there = [block.meetings for block in self.blocks if not block.ended]
        if there and min(there) > len(self.met):
            self.met.append(self.meeting.copy())

    def leave(self, place: Any, *, meets: bool) -> None:
        """End the block of the actor that is running.

        Raises:
            Race: Another one may still access it.
        """
        block = self.actor.block
        if meets and block.meets_at_end:
            self.meet(place, "to end with them")
        clock = block.root.clock
        for op, accessed in self.remote:
            if accessed is block and clock[op.tid] < op.epoch:
                raise self._gone(block, str(op), op.place)
        block.ended = True
        self._complete_meeting()

    def run_blocks(self, body: Callable[[], None], place: Any) -> None:
        """Run all programs until they have ended."""
        if len(self.blocks) == 1:
            body()
            self.blocks[0].ended = True
            return
        roots = [block.root for block in self.blocks]
        self.scheduler.run(roots, [body for _ in roots], place)

    def finish(self, actor: Any) -> None:
        """Check an actor that has ended.

        Raises:
            Leak: It left asynchronous operations behind.
        """
        for queue in (actor.copies, actor.dots, actor.stores):
            left = [op for op in queue.pending if op.size]
            if left:
                name = left[0].name
                raise Leak(
                    f"{actor} ends before its asynchronous operations were waited for",
                    where=left[0].place,
                    found=f"{len(left)} of tlx.{name}",
                    hint=_HINTS[name].removesuffix(" before"),
                    details=[str(op) for op in left[1:5]],
                )

    def end(self) -> None:
        """Complete what is under way, and check that the program waited for it.

        Raises:
            Finding: It did not.
        """
        while self._complete_any():
            pass
        for block in self.blocks:
            self.finish(block.root)
        for op in self.loads:
            if op.barrier.block.root.clock[op.tid] < op.epoch:
                raise Leak(
                    f"the kernel ends before a copy of tlx.{op.name} was waited for",
                    where=op.place,
                    found=f"phase {op.epoch - 1} of {op.barrier}, which nobody waits for",
                    hint=_remedy(op),
                )
        for op in self.products:
            if op.actor.block.root.clock[op.tid] < op.epoch:
                raise Leak(
                    "the kernel ends before an operation of the tensor cores was waited for",
                    where=op.place,
                    found=str(op),
                    hint=_HINTS[op.name].removesuffix(" before"),
                )
        for barrier in (barrier for block in self.blocks for barrier in block.barriers):
            if barrier.bytes:
                raise ByteCountMismatch(
                    "the kernel ends while a barrier expects bytes",
                    where=barrier.place,
                    found=f"{barrier.bytes} bytes at {barrier} in phase {barrier.phase}",
                )

    def allocate_columns(self, columns: int, size: int) -> Allocation:
        """Allocate columns of tensor memory, of so many bytes in the rows that are used."""
        allocation = Allocation("", self.here(), size)
        self.actor.block.allocations.append(allocation)
        self.grow_columns(allocation, columns)
        return allocation

    def grow_columns(self, allocation: Allocation, columns: int) -> None:
        """Count as many columns to an allocation in tensor memory, unless it has them."""
        block = self.actor.block
        added = max(columns - allocation.columns, 0)
        allocation.columns += added
        block.columns += added
        if block.columns > _COLUMNS:
            raise OutOfRange(
                "the buffers do not fit into tensor memory",
                where=self.here(),
                expected=f"at most {_COLUMNS} columns",
                found=block.columns,
                details=[
                    f"{item.name or 'a buffer'}: {item.columns} columns at {item.place}"
                    for item in block.allocations
                    if item.columns
                ],
            )

    def allocate(self, size: int, place: Any) -> Allocation:
        allocation = Allocation("", place, size)
        self.actor.block.allocations.append(allocation)
        self._count(allocation, size, place)
        return allocation

    def grow(self, allocation: Allocation, size: int, place: Any) -> None:
        """Make an allocation as large as ``size``, unless it is."""
        if size > allocation.size:
            added = size - allocation.size
            allocation.grow(size)
            self._count(allocation, added, place)

    def _count(self, allocation: Allocation, added: int, place: Any) -> None:
        self.actor.block.shared_bytes += added
        # Whether all of them fit, the compiler knows: it lets buffers that live at different times share bytes.
        if allocation.size > 232448:
            raise OutOfRange(
                "the buffer does not fit into shared memory",
                where=place,
                expected="at most 232448 bytes, those of a Hopper block",
                found=allocation.size,
            )
