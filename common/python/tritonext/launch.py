"""What extensions add to launches: options, observers, and memory for measurements.

An option is a keyword that kernels are launched with, ``kernel[grid](…, name=value)``, and that configurations for
autotuning carry, ``triton.Config({…}, name=value)``. It may change the grid, and what is active for that launch.

Passes may give a kernel scratch memory that it did not have; :func:`provide_scratch` has launches allocate it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._triton import observing
    from ._triton.launching import Handle

__all__ = ["add_option", "listen", "listen_to_tuning", "observe", "provide_profile_memory", "provide_scratch"]


def add_option(
    name: str,
    apply: Callable[[Any, Any, dict[str, Any]], tuple[Any, AbstractContextManager | None]],
    freeze: Callable[[Any], Any],
) -> Handle:
    """Add a launch option, process-wide, until the returned handle's ``remove()``.

    A launch that does not name it is what it was.

    Args:
        name: The keyword. A kernel that has an argument of this name keeps it.
        apply: Called with the value, the grid (a tuple, or a function of the arguments) and the other keywords of the
            launch, which it may change; returns the grid, and what is entered for the launch, such as
            :class:`tritonext.use`, or None.
        freeze: Called with the value given to ``triton.Config``; returns an equal value that can be hashed, or raises.

    Raises:
        PipelineError: The option is added already, or the installed Triton has it itself.
        InternalError: The installed Triton lacks what this is made of.
    """
    from ._triton import launching

    return launching.add_option(name, apply, freeze)


def observe(observer: Callable[[observing.Launch], Any]) -> observing.Handle:
    """Call ``observer`` instead of each launch of a ``@triton.jit`` function, until the returned handle's ``remove()``.

    Every thread is watched. With nobody watching, Triton's own functions are in place.

    Args:
        observer: Called with the launch, in whichever thread it happens: ``launch.kernel``, whether it only compiles
            (``launch.warmup``), whether an autotuner measures with it (``launch.tuning``). Returns what
            ``launch.proceed()`` returns, which does it. ``launch.launch_as(kernel)`` launches another kernel with the
            same arguments instead, and ``launch.compile()`` gives the compiled kernel and launches nothing.

    Raises:
        InternalError: The installed Triton lacks what this is made of.
    """
    from ._triton import observing

    return observing.observe(observer)


def listen(listener: Callable[..., None]) -> observing.Handle:
    """Call ``listener`` after each compilation, besides whoever listens already, until the handle's ``remove()``.

    Args:
        listener: Called as Triton's ``knobs.compilation.listener``: with ``src``, ``metadata``, ``metadata_group``,
            ``times`` and ``cache_hit``.
    """
    from ._triton import observing

    return observing.listen(listener)


def listen_to_tuning(listener: Callable[..., None]) -> observing.Handle:
    """Call ``listener`` after each choice of an autotuner, besides whoever listens, until the handle's ``remove()``.

    Args:
        listener: Called as Triton's ``knobs.autotuning.listener``: with ``fn``, ``key``, ``best_config``,
            ``configs_timings`` (three quantiles in ms for each configuration), ``duration`` (seconds, None when nothing
            was measured) and ``cache_hit``.
    """
    from ._triton import observing

    return observing.listen_to_tuning(listener)


def provide_profile_memory(allocate: Callable[[Any, tuple[int, ...], int, int], Any]) -> observing.Handle:
    """Give launches of kernels with a *profile scratch* their memory, until the returned handle's ``remove()``.

    Args:
        allocate: Called in the launching thread with the compiled kernel, the grid, the bytes that it asks for and the
            stream; returns an object with ``data_ptr()``.

    Raises:
        PipelineError: Somebody else provides it, such as Proton.
    """
    from ._triton import observing

    return observing.provide_profile_memory(allocate)


def provide_scratch() -> None:
    """Let launches allocate scratch memory with torch where no allocator is set and Triton would fail.

    A script with plain kernels has no reason to call ``triton.set_allocator``. One that is set is what is used.
    """
    from ._triton import launching

    launching.provide_scratch()
