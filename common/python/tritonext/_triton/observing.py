"""Watching launches, and giving kernels that ask for it a piece of memory of their own.

While somebody watches, ``JITFunction.run`` and ``Autotuner._bench`` are functions that tell; with nobody left the
original functions are back in place.
"""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Callable
from typing import Any

from triton import knobs
from triton.compiler import compiler
from triton.runtime import _allocation, autotuner, jit
from triton.runtime.driver import driver

from tritonext.errors import InternalError, PipelineError

from .wrapping import Below, Wrapped

__all__ = ["Handle", "Launch", "listen", "listen_to_tuning", "observe", "provide_profile_memory"]

_lock = threading.RLock()
# Replaced, never changed: a launch in another thread reads it without the lock.
_observers: tuple[Handle, ...] = ()
# Of each thread: how deep it is in tuning, and what it launches.
_thread = threading.local()


class Launch:
    """A launch that somebody watches.

    Args:
        kernel: The ``@triton.jit`` function.
        warmup: Whether it is ``kernel.warmup``, which only compiles.
        tuning: Whether an autotuner measures a configuration with it.
        run: What launches a kernel.
        args: Arguments of the kernel.
        kwargs: Those by name, and the other keywords of the launch.
        observers: Who else watches, the last one first to be asked.
    """

    # One is made for each launch, in the time of the program.
    __slots__ = ("_args", "_kwargs", "_observers", "_run", "kernel", "tuning", "warmup")

    def __init__(
        self,
        kernel: Any,
        warmup: bool,
        tuning: bool,
        run: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        observers: tuple[Handle, ...],
    ) -> None:
        self.kernel = kernel
        self.warmup = warmup
        self.tuning = tuning
        self._run = run
        self._args = args
        self._kwargs = kwargs
        self._observers = observers

    def proceed(self) -> Any:
        """Do it."""
        observers = self._observers
        if not observers:
            return self._run(self.kernel, *self._args, warmup=self.warmup, **self._kwargs)
        fields = (self.kernel, self.warmup, self.tuning, self._run, self._args, self._kwargs)
        return observers[-1].value(Launch(*fields, observers[:-1]))

    def launch_as(self, kernel: Any) -> Any:
        """Launch another kernel instead, such as a copy with a pipeline, past what else observes."""
        return self._run(kernel, *self._args, warmup=self.warmup, **self._kwargs)

    def compile(self) -> Any:
        """Compile it, with what is active where this is called, and launch nothing."""
        # What the first launch on a device adds to a kernel, a copy needs as well.
        self.kernel.device_caches[driver.active.get_current_device()]
        # Triton runs these hooks at warm-ups too, and they may change what the launch has written.
        silent = copy.copy(self.kernel)
        silent.pre_run_hooks = []
        return self._run(silent, *self._args, warmup=True, **self._kwargs)


class Handle:
    """Something that was put in place, until :meth:`remove`.

    Args:
        value: What it is.
        undo: Takes it away.
    """

    def __init__(self, value: Any, undo: Callable[[Handle], None]) -> None:
        self.value = value
        self._undo: Callable[[Handle], None] | None = undo

    def remove(self) -> None:
        """Take it away. Later calls do nothing."""
        with _lock:
            undo, self._undo = self._undo, None
        if undo is not None:
            undo(self)


def observe(observer: Callable[[Launch], Any]) -> Handle:
    """Watch launches; see :func:`tritonext.launch.observe`."""
    global _observers
    with _lock:
        _check()
        handle = Handle(observer, _forget)
        _observers = (*_observers, handle)
        for place in _PLACES:
            place.put()
    return handle


def provide_profile_memory(allocate: Callable[[Any, tuple[int, ...], int, int], Any]) -> Handle:
    """Give kernels their profile memory; see :func:`tritonext.launch.provide_profile_memory`."""
    with _lock:
        if _allocation.has_profile_allocator():
            raise PipelineError(
                "another profiler provides the profile memory of kernels",
                found=repr(_allocation._profile_allocator.get()),
                hint="end its session first; Proton's ends with triton.profiler.finalize()",
            )
        original = compiler.CompiledKernel.launch_metadata

        @functools.wraps(original)
        def launch_metadata(self: Any, grid: Any, stream: int, *args: Any) -> Any:
            # Triton calls this in front of each launch; the allocator is not told what the memory is for.
            _thread.launched = self, grid
            return original(self, grid, stream, *args)

        def provide(size: int, alignment: int, stream: int | None) -> Any:
            kernel, grid = _thread.launched
            return allocate(kernel, grid, size, stream or 0)

        compiler.CompiledKernel.launch_metadata = launch_metadata
        _allocation.set_profile_allocator(provide)

    def withdraw(handle: Handle) -> None:
        # Whoever came after us keeps theirs.
        if _allocation._profile_allocator.get() is provide:
            _allocation.set_profile_allocator(None)
        if compiler.CompiledKernel.launch_metadata is launch_metadata:
            compiler.CompiledKernel.launch_metadata = original

    return Handle(allocate, withdraw)


def listen(listener: Callable[..., None]) -> Handle:
    """Hear of compilations; see :func:`tritonext.launch.listen`."""
    return _listen(knobs.compilation, listener)


def listen_to_tuning(listener: Callable[..., None]) -> Handle:
    """Hear of choices of autotuners; see :func:`tritonext.launch.listen_to_tuning`."""
    return _listen(knobs.autotuning, listener)


class _Both:
    """Calls whoever listened before, and then a listener until it is taken away."""

    def __init__(self, before: Callable[..., None] | None, listener: Callable[..., None]) -> None:
        self.before = before
        self.listener: Callable[..., None] | None = listener

    def __call__(self, **found: Any) -> None:
        for listener in (self.before, self.listener):
            if listener is not None:
                listener(**found)


def _listen(group: Any, listener: Callable[..., None]) -> Handle:
    with _lock:
        both = group.listener = _Both(group.listener, listener)

    def withdraw(handle: Handle) -> None:
        with _lock:
            # Somebody who came after us keeps theirs, and calls this on.
            both.listener = None
            while isinstance(group.listener, _Both) and group.listener.listener is None:
                group.listener = group.listener.before

    return Handle(listener, withdraw)


def _forget(handle: Handle) -> None:
    global _observers
    with _lock:
        _observers = tuple(other for other in _observers if other is not handle)
        if _observers:
            return
        for place in _PLACES:
            place.take()


def _check() -> None:
    for place, wanted in zip(_PLACES, (("grid", "warmup"), ("config",))):
        if not place.accepts(*wanted):
            raise InternalError(
                "the launcher of the installed triton lacks what watching launches needs",
                where=f"{place.owner.__name__}.{place.attribute}",
                expected=f"a function with the arguments {', '.join(wanted)}",
                hint="use the triton release this tritonext was made for",
            )


def _run(original: Callable, below: Below) -> Callable:
    def run(self: Any, *args: Any, warmup: bool, **kwargs: Any) -> Any:
        observers = _observers
        if not observers or below.yes:
            return original(self, *args, warmup=warmup, **kwargs)
        tuning = getattr(_thread, "tuning", 0) > 0
        return observers[-1].value(Launch(self, warmup, tuning, original, args, kwargs, observers[:-1]))

    return run


def _bench(original: Callable, below: Below) -> Callable:
    def bench(self: Any, *args: Any, **kwargs: Any) -> Any:
        if below.yes:
            return original(self, *args, **kwargs)
        _thread.tuning = getattr(_thread, "tuning", 0) + 1
        try:
            return original(self, *args, **kwargs)
        finally:
            _thread.tuning -= 1

    return bench


_PLACES = Wrapped(jit.JITFunction, "run", _run), Wrapped(autotuner.Autotuner, "_bench", _bench)
