"""Turning pipelines on: for a kernel, a region, the process, or by an environment variable.

The active pipelines of a context are those of the process, in the order they were enabled, then those of the
surrounding :class:`use` scopes from outer to inner. Scopes are context variables: a thread starts without any, an
asyncio task inherits its creator's. A pipeline that is already active is not added again, and of two pipelines of one
extension the inner one holds, in the place of the outer one.

Importing this module touches nothing; the first activation installs the hooks of ``tritonext._triton.pipeline``.
"""

from __future__ import annotations

import copy
import functools
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, TypeVar

from . import cachekey, versions
from .errors import OptionError, PipelineError
from .pipeline import Pipeline

__all__ = ["Handle", "State", "active", "current", "enable", "parse_spec", "parse_specs", "use", "use_stock"]

T = TypeVar("T")


class State:
    """The pipelines active in a context, composed, with the answer the stage hook gives for them.

    Attributes:
        pipelines: Active pipelines, outer first.
        key: Text that changes with their content and order.
        answer: What Triton appends to its disk key and to its in-process specialization.
    """

    __slots__ = ("answer", "key", "pipelines")

    def __init__(self, pipelines: tuple[Pipeline, ...]) -> None:
        self.pipelines = pipelines
        self.key = cachekey.digest(versions.load()["tritonext"]["version"], *(pipeline.key() for pipeline in pipelines))
        self.answer = (f"-tritonext-{self.key}", f"tritonext-{self.key}")


def _compose(outer: tuple[Pipeline, ...], inner: Iterable[Pipeline]) -> tuple[Pipeline, ...]:
    result = list(outer)
    for pipeline in inner:
        for index, other in enumerate(result):
            if pipeline.key() == other.key():
                break
            if pipeline.extension is not None and pipeline.extension == other.extension:
                result[index] = pipeline
                break
        else:
            result.append(pipeline)
    return tuple(result)


class _Process:
    """The process-wide pipelines at one moment; replaced as a whole, so that a reader sees a consistent one."""

    __slots__ = ("entries", "state")

    def __init__(self, entries: tuple[Handle, ...]) -> None:
        self.entries = entries
        pipelines: tuple[Pipeline, ...] = ()
        for entry in entries:
            pipelines = _compose(pipelines, entry.pipelines)
        self.state = State(pipelines) if entries else None


class _Scope:
    """One level of nesting in a context.

    Args:
        owner: Object that opened it.
        parent: Enclosing scope.
        pipelines: Pipelines it adds.
        stock: Whether it hides everything outside.
        pinned: State that holds whatever the process does meanwhile, in a one-element tuple.
    """

    __slots__ = ("owner", "parent", "pinned", "pipelines", "process", "state", "stock")

    def __init__(
        self,
        owner: object,
        parent: _Scope | None,
        pipelines: tuple[Pipeline, ...] = (),
        *,
        stock: bool = False,
        pinned: tuple[State | None] | None = None,
    ) -> None:
        self.owner = owner
        self.parent = parent
        self.pipelines = pipelines
        self.stock = stock
        self.pinned = pinned
        self.process: _Process | None = None
        self.state: State | None = None

    def resolve(self, process: _Process) -> State | None:
        if self.pinned is not None:
            state = self.pinned[0]
        elif self.stock:
            state = None
        else:
            outer = process.state if self.parent is None else _resolve(self.parent)
            pipelines = _compose(outer.pipelines if outer else (), self.pipelines)
            # Keeping the outer state when nothing was added keeps its key, and so its cached kernels.
            state = outer if outer and pipelines == outer.pipelines else State(pipelines)
        self.state = state
        self.process = process
        return state


_scope: ContextVar[_Scope | None] = ContextVar("tritonext_scope", default=None)
_lock = threading.RLock()


def _resolve(scope: _Scope) -> State | None:
    process = _process
    return scope.state if scope.process is process else scope.resolve(process)


def current() -> State | None:
    """Return the state of the calling context, or None when no pipeline is active."""
    scope = _scope.get()
    process = _process
    if scope is None:
        return process.state
    return scope.state if scope.process is process else scope.resolve(process)


def active() -> tuple[Pipeline, ...]:
    """Return the pipelines active in the calling context, outer first."""
    state = current()
    return () if state is None else state.pipelines


def run_pinned(state: State | None, function: Callable[[], T]) -> T:
    """Call ``function`` in a context whose active pipelines are exactly those of ``state``."""
    token = _scope.set(_Scope(None, None, pinned=(state,)))
    try:
        return function()
    finally:
        _scope.reset(token)


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Split ``id:key=value:key=value`` into the id and the options.

    Raises:
        OptionError: The text has another form.
    """
    identifier, *pairs = text.strip().split(":")
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not identifier or not key or not equals:
            raise OptionError(
                "the description of a pipeline is malformed",
                expected="id:key=value:key=value",
                found=repr(text),
            )
        options[key] = value
    if not identifier.isidentifier():
        raise OptionError("the description of a pipeline is malformed", expected="an extension id", found=repr(text))
    return identifier, options


def parse_specs(text: str) -> list[str]:
    """Split the value of ``TRITONEXT_ENABLE`` into its descriptions; :func:`parse_spec` reads each."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _pipelines(specs: tuple[str | Pipeline, ...], function: str) -> tuple[Pipeline, ...]:
    """Return the loaded pipelines that ``specs`` describe, and install the hooks they need."""
    if not specs:
        raise PipelineError(
            f"{function} needs at least one pipeline",
            expected="an extension id such as 'layout', or a Pipeline",
            hint="use tritonext.use_stock() for a region in which nothing is active",
        )
    result: tuple[Pipeline, ...] = ()
    for spec in specs:
        if isinstance(spec, str):
            from . import registry

            identifier, options = parse_spec(spec)
            spec = registry.extension(identifier).pipeline(**options)
        elif not isinstance(spec, Pipeline):
            raise PipelineError(
                f"{function} takes extension ids and pipelines",
                expected="an extension id such as 'layout', or a Pipeline",
                found=repr(spec),
            )
        spec.prepare()
        spec.key()
        result = _compose(result, (spec,))
    from ._triton import pipeline

    pipeline.install()
    return result


class use:
    """Activate pipelines in a region or for a kernel.

    As a context manager it covers every compilation and launch of the block, in this context. As a decorator on a
    ``@triton.jit`` function, an autotuner or heuristics it returns a copy whose launches, ``warmup`` and ``preload``
    run under the pipelines; the kernel it was given stays as it is, and the copy can still be called from other
    kernels. It may stand anywhere among those decorators.

    Args:
        specs: Extension ids with options (``"layout"``, ``"layout:key=value"``) or :class:`Pipeline` objects, outer
            first.

    Raises:
        TritonextError: An extension is unknown or refused, an option is wrong, or ``specs`` is empty.
    """

    def __init__(self, *specs: str | Pipeline) -> None:
        self.pipelines = _pipelines(specs, "use")

    def __enter__(self) -> use:
        _scope.set(_Scope(self, _scope.get(), self.pipelines))
        return self

    def __exit__(self, *exception: object) -> None:
        _leave(self)

    def __call__(self, kernel: T) -> T:
        return _decorate(self, kernel)


class use_stock:
    """A region in which no pipeline is active, whatever the process or an outer scope enabled.

    A kernel decorated with :class:`use` still runs under its own pipelines there: the decorator is further in.
    """

    def __enter__(self) -> use_stock:
        _scope.set(_Scope(self, _scope.get(), stock=True))
        return self

    def __exit__(self, *exception: object) -> None:
        _leave(self)


def _leave(owner: object) -> None:
    scope = _scope.get()
    if scope is None or scope.owner is not owner:
        raise PipelineError(
            "the scope is left in another order or context than it was entered",
            hint="leave nested scopes from the innermost, in the thread or task that entered them",
        )
    _scope.set(scope.parent)


class Handle:
    """A process-wide activation; :meth:`disable` ends it."""

    def __init__(self, pipelines: tuple[Pipeline, ...]) -> None:
        self.pipelines = pipelines

    def disable(self) -> None:
        """End the activation; a second call does nothing."""
        global _process
        with _lock:
            _process = _Process(tuple(entry for entry in _process.entries if entry is not self))


_process = _Process(())


def enable(*specs: str | Pipeline) -> Handle:
    """Activate pipelines in every thread of the process, from now on.

    Enable before kernels launch: a launch that is under way in another thread may see the change between the moment it
    looks a kernel up and the moment it compiles it.

    Args:
        specs: As for :class:`use`.

    Returns:
        A handle whose ``disable()`` ends the activation.

    Raises:
        TritonextError: As for :class:`use`.
    """
    global _process
    handle = Handle(_pipelines(specs, "enable"))
    with _lock:
        _process = _Process((*_process.entries, handle))
    return handle


# --- kernels ---------------------------------------------------------------------------------------------------------


def _decorate(owner: use, kernel: Any) -> Any:
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    if isinstance(kernel, JITFunction):
        result = copy.copy(kernel)
        # Kernels compiled so far and the binder belong to the kernel it was copied from.
        result.device_caches = defaultdict(result.create_binder)
        result.pre_run_hooks = list(kernel.pre_run_hooks)
        methods = ("run", "preload")
    elif isinstance(kernel, Autotuner | Heuristics):
        result = copy.copy(kernel)
        # The warm-up pool launches the inner kernel of an autotuner itself.
        result.fn = _decorate(owner, kernel.fn)
        methods = ("run", "warmup")
        if isinstance(kernel, Autotuner):
            result.cache = {}
    elif hasattr(kernel, "run") and hasattr(kernel, "arg_names"):
        # TRITON_INTERPRET=1 makes @triton.jit return an interpreted function, which nothing compiles.
        return kernel
    else:
        raise PipelineError(
            "use decorates kernels",
            expected="a @triton.jit function, an autotuner or heuristics",
            found=repr(kernel),
            hint="put it above @triton.jit, or use it as a context manager around the call",
        )
    for name in methods:
        setattr(result, name, _under(owner, getattr(result, name)))
    result.tritonext_pipelines = owner.pipelines
    return result


def _under(owner: use, method: Callable) -> Callable:
    """Return ``method`` run in a scope of ``owner``."""
    outermost = _Scope(owner, None, owner.pipelines)

    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        parent = _scope.get()
        if parent is not None and parent.owner is owner:
            return method(*args, **kwargs)
        token = _scope.set(outermost if parent is None else _Scope(owner, parent, owner.pipelines))
        try:
            return method(*args, **kwargs)
        finally:
            _scope.reset(token)

    return run


_warned: set[tuple[str, str]] = set()


def warn_unsupported(pipeline: Pipeline, target: str) -> None:
    """Say once that an active pipeline leaves ``target`` alone."""
    if (pipeline.key(), target) not in _warned:
        _warned.add((pipeline.key(), target))
        warnings.warn(
            f"the pipeline {pipeline.name!r} is active but not made for {target}; its kernels stay stock there "
            f"(made for {', '.join(pipeline.targets)})",
            stacklevel=2,
        )
