"""Launch options that an extension adds to ``kernel[grid](…)`` and ``triton.Config``.

Triton refuses a keyword it does not know in both places. While at least one option is added, ``JITFunction.run`` and
``Config.__init__`` are functions that take it out, and pass everything else on untouched; with none left the original
functions are back in place.

A kernel to which a pass gave scratch memory needs an allocator, which scripts set only if their own kernels have some.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from triton.runtime import _allocation, autotuner, driver, jit

from tritonext.errors import InternalError, PipelineError

from .wrapping import Below, Wrapped

__all__ = ["Handle", "add_option", "applied", "provide_scratch"]

_lock = threading.RLock()
# Replaced, never changed: a launch in another thread reads it without the lock.
_options: dict[str, Handle] = {}


class Handle:
    """An added option, until :meth:`remove`.

    Args:
        name: The keyword.
        apply: See :func:`tritonext.launch.add_option`.
        freeze: See :func:`tritonext.launch.add_option`.
    """

    def __init__(self, name: str, apply: Callable[..., Any], freeze: Callable[[Any], Any]) -> None:
        self.name = name
        self.apply = apply
        self.freeze = freeze

    def remove(self) -> None:
        """Take the option away; a launch or ``Config`` that names it is an error again. Later calls do nothing."""
        global _options
        with _lock:
            if _options.get(self.name) is not self:
                return
            _options = {name: handle for name, handle in _options.items() if handle is not self}
            if not _options:
                for place in _PLACES:
                    place.take()


def add_option(name: str, apply: Callable[..., Any], freeze: Callable[[Any], Any]) -> Handle:
    """Add a launch option; see :func:`tritonext.launch.add_option`."""
    global _options
    with _lock:
        if name in _options:
            raise PipelineError("the launch option is added already", found=name)
        _check(name)
        handle = Handle(name, apply, freeze)
        _options = {**_options, name: handle}
        for place in _PLACES:
            place.put()
    return handle


@contextlib.contextmanager
def applied(given: Mapping[str, Any], arguments: Container[str] = ()) -> Iterator[dict[str, Any]]:
    """Do for a compilation what added options do for a launch, whose grid is not known.

    Args:
        given: Compile options by name, with or without added ones.
        arguments: Names that are arguments of the kernel, and so no options.

    Returns:
        The others, as the added ones leave them.
    """
    added = [option for name, option in _options.items() if given.get(name) is not None and name not in arguments]
    rest = {name: value for name, value in given.items() if name not in _options or name in arguments}
    with contextlib.ExitStack() as scopes:
        for option in added:
            _, scope = option.apply(given[option.name], lambda _: (1,), rest)
            scopes.enter_context(scope or contextlib.nullcontext())
        yield rest


def provide_scratch() -> None:
    """Stand in for a missing allocator; see :func:`tritonext.launch.provide_scratch`."""
    with _lock:
        original = _allocation.NullAllocator.__call__
        if getattr(original, "stands_in", False):
            return

        @functools.wraps(original)
        def allocate(self: Any, size: int, alignment: int, stream: int | None) -> Any:
            import torch

            # Its allocator aligns to 512 bytes, and gives memory back in the order of the stream that launches use.
            return torch.empty(size, dtype=torch.int8, device=driver.active.get_active_torch_device())

        allocate.stands_in = True
        _allocation.NullAllocator.__call__ = allocate


def _check(name: str) -> None:
    run, config = _PLACES
    if not (run.accepts("grid", "warmup", "kwargs") and config.accepts("kwargs")):
        raise InternalError(
            "the launcher of the installed triton lacks what launch options need",
            where="JITFunction.run, Config.__init__",
            expected="run(…, *, grid, warmup, **kwargs) and Config(kwargs, …)",
            hint="use the triton release this tritonext was made for",
        )
    if any(name in inspect.signature(place.there).parameters for place in _PLACES):
        raise PipelineError(
            "the installed triton has the launch option itself", found=name, hint="use it without the extension's"
        )


def _run(original: Callable, below: Below) -> Callable:
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        # An argument of the kernel keeps its name.
        given = [option for name, option in _options.items() if name in kwargs and name not in self.arg_names]
        if not given or below.yes:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        with contextlib.ExitStack() as scopes:
            for option in given:
                value = kwargs.pop(option.name)
                if value is not None:
                    grid, scope = option.apply(value, grid, kwargs)
                    scopes.enter_context(scope or contextlib.nullcontext())
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)

    return run


def _config_init(original: Callable, below: Below) -> Callable:
    def __init__(self: Any, kwargs: dict, *args: Any, **options: Any) -> None:
        # Kept among the values for the kernel, an option is part of the configuration's text, hash and stored results.
        added = {}
        for name, option in () if below.yes else _options.items():
            value = options.pop(name, kwargs.get(name))
            if value is not None:
                added[name] = option.freeze(value)
        original(self, {**kwargs, **added} if added else kwargs, *args, **options)

    return __init__


_PLACES = Wrapped(jit.JITFunction, "run", _run), Wrapped(autotuner.Config, "__init__", _config_init)
