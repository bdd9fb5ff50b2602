"""Tasks as actors: one runs at a time, and which one is drawn anew at each operation of TLX."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Abandoned", "Actor", "Scheduler", "Waiting"]


class Abandoned(BaseException):
    """Unwinds an actor after another one failed. No kernel catches it."""


@dataclass
class Waiting:
    """What an actor waits for.

    Attributes:
        ready: Whether it may go on.
        what: Says so in words.
        place: The line of the kernel.
        barrier: The barrier, when it waits for one.
        others: Whether it waits for the end of other actors, and for nothing of its own.
    """

    ready: Callable[[], bool]
    what: Callable[[], str]
    place: Any
    barrier: Any = None
    others: bool = False


class Actor:
    """A thread of a kernel: its code outside of tasks, or one replica of a task.

    Attributes:
        name: How messages call it.
        replica: Number of the replica; None outside of tasks.
        num_warps: Its warps.
        first_thread: The first of its threads in the block.
        weight: How likely it is drawn, so that some tasks run far ahead of others.
        block: The block it runs in.
        waiting: What it waits for; None while it can run.
    """

    def __init__(self, name: str, replica: int | None, num_warps: int, first_thread: int, weight: int) -> None:
        self.name = name
        self.replica = replica
        self.num_warps = num_warps
        self.first_thread = first_thread
        self.weight = weight
        self.block: Any = None
        self.waiting: Waiting | None = None
        self.baton = threading.Semaphore(0)

    def __str__(self) -> str:
        return self.name


class Scheduler:
    """Hands the baton from actor to actor.

    Args:
        random: Source of all choices.
        progress: Called at each operation; may complete asynchronous work.
        complete_any: Completes some asynchronous work that is under way; returns whether there was any.
        deadlock: Returns the error for actors that all wait.
        enter: Called with the actor that goes on.
        root: The actor that runs first, on the thread of the caller.
    """

    def __init__(
        self,
        random: random.Random,
        progress: Callable[[], None],
        complete_any: Callable[[], bool],
        deadlock: Callable[[list[Actor]], Exception],
        enter: Callable[[Actor], None],
        root: Actor,
    ) -> None:
        self._random = random
        self._progress = progress
        self._complete_any = complete_any
        self._deadlock = deadlock
        self._enter = enter
        self.live = [root]
        self.current = root
        self.failure: BaseException | None = None
        self.switches = 0

    def switch(self, waiting: Waiting | None = None) -> None:
        """Let another actor run, or this one again once what it waits for is there."""
        me = self.current
        me.waiting = waiting
        self._progress()
        following = self._next()
        if following is not me:
            self.switches += 1
            self._hand_to(following)
            me.baton.acquire()
            if self.failure is not None:
                raise Abandoned
        me.waiting = None

    def _hand_to(self, actor: Actor) -> None:
        self.current = actor
        self._enter(actor)
        actor.baton.release()

    def _next(self) -> Actor:
        while True:
            able = [actor for actor in self.live if actor.waiting is None or actor.waiting.ready()]
            if able:
                return self._random.choices(able, [actor.weight for actor in able])[0]
            if not self._complete_any():
                raise self._deadlock(list(self.live))

    def run(self, actors: list[Actor], bodies: list[Callable[[], None]], place: Any) -> None:
        """Run actors, and return when all have ended.

        Raises:
            Exception: What one of them raised.
        """
        parent = self.current
        threads = [
            threading.Thread(target=self._live, args=(actor, body), name=f"simulated {actor}", daemon=True)
            for actor, body in zip(actors, bodies)
        ]
        self.live.extend(actors)
        for thread in threads:
            thread.start()
        try:
            done = Waiting(lambda: not any(actor in self.live for actor in actors), lambda: "its tasks", place)
            done.others = True
            self.switch(done)
        except BaseException as error:
            self._fail(error, parent)
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def _live(self, actor: Actor, body: Callable[[], None]) -> None:
        actor.baton.acquire()
        try:
            if self.failure is None:
                body()
                self.live.remove(actor)
                self._hand_to(self._next())
        except BaseException as error:
            self._fail(error, actor)

    def _fail(self, error: BaseException, actor: Actor) -> None:
        """Wake all actors, so that they end."""
        if isinstance(error, Abandoned):
            return
        if self.failure is None:
            self.failure = error
        for other in self.live:
            if other is not actor:
                other.baton.release()
