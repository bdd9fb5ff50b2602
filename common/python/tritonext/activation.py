"""Turning pipelines on: for a kernel, a region, the process, or by an environment variable.

The active pipelines of a context are those of the process, in the order they were enabled, then those of the
surrounding :class:`use` scopes from outer to inner. Scopes are context variables: a thread starts without any, an
asyncio task inherits its creator's. A pipeline that is already active is not added again, and of two pipelines of one
extension the inner one holds. Default pipelines of several extensions come in one order, however they were activated:
each behind those of the extensions that its own one requires, and else by id.

Importing this module touches nothing; the first activation installs the hooks of ``tritonext._triton.pipeline``.
"""

from __future__ import annotations

import copy
import functools
import threading
import warnings
import weakref
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

    Make states with :func:`state_of`.

    Attributes:
        pipelines: Active pipelines, outer first, those of extensions in their own order.
        key: Text that changes with their content and order.
        answer: What Triton appends to its disk key and to its in-process specialization.
    """

    __slots__ = ("__weakref__", "answer", "key", "pipelines")

    def __init__(self, pipelines: tuple[Pipeline, ...], key: str) -> None:
        self.pipelines = pipelines
        self.key = key
        self.answer = (f"-tritonext-{key}", f"tritonext-{key}")


_states: dict[str, State] = {}


def state_of(pipelines: tuple[Pipeline, ...]) -> State:
    """Return the state in which exactly ``pipelines`` are active."""
    pipelines = _ordered(pipelines)
    key = cachekey.digest(versions.load()["tritonext"]["version"], *(pipeline.key() for pipeline in pipelines))
    state = _states[key] = State(pipelines, key)
    return state


def _same(one: Pipeline, other: Pipeline) -> bool:
    """Whether two pipelines do the same, callables with a key of their own included: those may hold on to things."""
    return one is other or (
        one.key() == other.key() and all(step.function is twin.function for step, twin in zip(one.steps, other.steps))
    )


def known_state(key: str) -> State | None:
    """Return the latest state of this process with the given key, if there has been one."""
    return _states.get(key)


def _compose(outer: tuple[Pipeline, ...], inner: Iterable[Pipeline]) -> tuple[Pipeline, ...]:
    result = list(outer)
    for pipeline in inner:
        for index, other in enumerate(result):
            if _same(pipeline, other):
                break
            if pipeline.extension is not None and pipeline.extension == other.extension:
                result[index] = pipeline
                break
        else:
            result.append(pipeline)
    return tuple(result)


def _ordered(pipelines: tuple[Pipeline, ...]) -> tuple[Pipeline, ...]:
    """Return ``pipelines`` with those of extensions in an order that does not depend on how they were activated.

    Others keep their places: whoever wrote them knows what they go with.
    """
    own = {pipeline.extension: pipeline for pipeline in pipelines if pipeline.extension is not None}
    if len(own) < 2:
        return pipelines
    from . import loader

    known = {identifier: library.extension for identifier, library in loader.loaded().items()}
    order: dict[str, None] = {}

    def add(identifier: str) -> None:
        installed = known.get(identifier)
        for requirement in sorted(installed.manifest.requires, key=str) if installed else ():
            add(requirement.id)
        order.setdefault(identifier)

    for identifier in sorted(own):
        add(identifier)
    sequence = (own[identifier] for identifier in order if identifier in own)
    return tuple(pipeline if pipeline.extension is None else next(sequence) for pipeline in pipelines)


class _Process:
    """The process-wide pipelines at one moment; replaced as a whole, so that a reader sees a consistent one."""

    __slots__ = ("entries", "state")

    def __init__(self, entries: tuple[Handle, ...]) -> None:
        self.entries = entries
        pipelines: tuple[Pipeline, ...] = ()
        for entry in entries:
            pipelines = _compose(pipelines, entry.pipelines)
        self.state = state_of(pipelines) if entries else None


class _Scope:
    """One level of nesting in a context.

    Args:
        owner: What opened it, with a method ``under(outer)`` that gives the state inside for the state outside.
        parent: Enclosing scope.
    """

    __slots__ = ("cached", "owner", "parent")

    def __init__(self, owner: use | use_stock | _Pinned, parent: _Scope | None) -> None:
        self.owner = owner
        self.parent = parent
        # One attribute, because threads share the scope of a decorated kernel.
        self.cached: tuple[_Process | None, State | None] = (None, None)

    def state(self, process: _Process) -> State | None:
        """Return the state inside the scope."""
        known, state = self.cached
        if known is not process:
            outer = process.state if self.parent is None else self.parent.state(process)
            state = self.owner.under(outer)
            self.cached = (process, state)
        return state


class _Pinned:
    """Owner of a scope in which exactly one state holds, whatever is around it."""

    def __init__(self, state: State | None) -> None:
        self.state = state

    def under(self, outer: State | None) -> State | None:
        return self.state


_scope: ContextVar[_Scope | None] = ContextVar("tritonext_scope", default=None)
_lock = threading.RLock()


# This runs several times on every launch, so the names it needs are bound once.
_get_scope = _scope.get


def current() -> State | None:
    """Return the state of the calling context, or None when no pipeline is active."""
    scope = _get_scope()
    if scope is None:
        return _process.state
    process, state = scope.cached
    return state if process is _process else scope.state(_process)


def slot_reader(name: str, hook: Callable, chain: Callable[[Callable], Callable]) -> Callable[[Any], Callable | None]:
    """Return the getter of Triton's hook slot: what it holds, and with a pipeline active ``hook`` as well.

    Args:
        name: Instance attribute that holds what others store in the slot.
        hook: Hook to give while a pipeline is active.
        chain: Makes a hook of a stored one and ``hook``.
    """

    def read(self: Any) -> Callable | None:
        # `current`, written out: a call would cost a tenth of what a launch may.
        scope = _get_scope()
        if scope is None:
            state = _process.state
        else:
            process, state = scope.cached
            if process is not _process:
                state = scope.state(_process)
        foreign = self.__dict__.get(name)
        if state is None:
            return foreign
        return hook if foreign is None else chain(foreign)

    return read


def active() -> tuple[Pipeline, ...]:
    """Return the pipelines active in the calling context, outer first."""
    state = current()
    return () if state is None else state.pipelines


def run_pinned(state: State | None, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call ``function`` in a context whose active pipelines are exactly those of ``state``."""
    token = _scope.set(_Scope(_Pinned(state), None))
    try:
        return function(*args, **kwargs)
    finally:
        _scope.reset(token)


def run_with(pipelines: tuple[Pipeline, ...], function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call ``function`` with loaded ``pipelines`` active inside whatever is active already."""
    return run_pinned(state_with(pipelines), function, *args, **kwargs)


def state_with(pipelines: tuple[Pipeline, ...]) -> State | None:
    """Return the state in which ``pipelines`` are active inside whatever is active already."""
    state = current()
    return state_of(_compose(state.pipelines if state else (), pipelines)) if pipelines else state


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


def prepare(specs: Iterable[str | Pipeline], function: str) -> tuple[Pipeline, ...]:
    """Return the pipelines that ``specs`` describe, loaded and with the hooks they need installed.

    Args:
        specs: Extension ids with options, and pipelines.
        function: Who asks, for the messages.

    Raises:
        TritonextError: An extension is unknown or refused, an option is wrong, or ``specs`` is empty.
    """
    specs = tuple(specs)
    if not specs:
        raise PipelineError(
            f"{function} needs at least one pipeline",
            expected="an extension id such as 'layout', or a Pipeline",
            hint="use tritonext.use_stock() for a region in which nothing is active",
        )
    result: tuple[Pipeline, ...] = ()
    for spec in specs:
        if isinstance(spec, str):
            spec = _described(spec)
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


# A loop may enter a region around each launch, and to look for extensions takes milliseconds. One that was found is
# loaded and stays so.
@functools.cache
def _described(spec: str) -> Pipeline:
    """Return the pipeline that an extension id with options describes, always the same one."""
    from . import registry

    identifier, options = parse_spec(spec)
    return registry.extension(identifier).pipeline(**options)


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
        self.pipelines = prepare(specs, "use")
        self._alone = state_of(self.pipelines)
        self._inside: weakref.WeakKeyDictionary[State, State] = weakref.WeakKeyDictionary()

    def under(self, outer: State | None) -> State:
        """Return the state inside the scope for the state around it."""
        if outer is None:
            return self._alone
        state = self._inside.get(outer)
        if state is None:
            state = self._inside[outer] = state_of(_compose(outer.pipelines, self.pipelines))
        return state

    def __enter__(self) -> use:
        _scope.set(_Scope(self, _scope.get()))
        return self

    def __exit__(self, *exception: object) -> None:
        _leave(self)

    def __call__(self, kernel: T) -> T:
        return decorate(self.pipelines, kernel)


class use_stock:
    """A region in which no pipeline is active, whatever the process or an outer scope enabled.

    A kernel decorated with :class:`use` still runs under its own pipelines there: the decorator is further in.
    """

    def under(self, outer: State | None) -> None:
        """Return that no state holds inside the scope."""

    def __enter__(self) -> use_stock:
        _scope.set(_Scope(self, _scope.get()))
        return self

    def __exit__(self, *exception: object) -> None:
        _leave(self)


def _leave(owner: object) -> None:
    scope = _scope.get()
    if scope is None or scope.owner is not owner:
        # A block ends once: what is refused here would otherwise stay active for good.
        _scope.set(_without(scope, owner))
        raise PipelineError(
            "the scope is left in another order or context than it was entered",
            hint="leave nested scopes from the innermost, in the thread or task that entered them",
        )
    _scope.set(scope.parent)


def _without(scope: _Scope | None, owner: object) -> _Scope | None:
    """Return the nesting of ``scope`` less the innermost level that ``owner`` opened."""
    if scope is None or scope.owner is owner:
        return None if scope is None else scope.parent
    parent = _without(scope.parent, owner)
    return scope if parent is scope.parent else _Scope(scope.owner, parent)


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
    handle = Handle(prepare(specs, "enable"))
    with _lock:
        _process = _Process((*_process.entries, handle))
    return handle


# --- kernels ---------------------------------------------------------------------------------------------------------


def decorate(pipelines: tuple[Pipeline, ...], kernel: Any) -> Any:
    """Return a copy of ``kernel`` that compiles with loaded ``pipelines`` active; see :class:`use`.

    A copy keeps its compiled kernels to itself, so the pipelines matter only where one is compiled: a launch costs
    what it did. The copy has the attributes ``tritonext_pipelines``, and ``tritonext_kernel`` for what it was made of.

    Raises:
        PipelineError: ``kernel`` is none.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    if hasattr(kernel, "tritonext_kernel"):
        return decorate(_compose(pipelines, kernel.tritonext_pipelines), kernel.tritonext_kernel)
    if isinstance(kernel, JITFunction):
        result = copy.copy(kernel)
        result.device_caches = defaultdict(result.create_binder)
        result.pre_run_hooks = list(kernel.pre_run_hooks)
        result._do_compile = functools.partial(run_with, pipelines, result._do_compile)
    elif isinstance(kernel, Autotuner | Heuristics):
        result = copy.copy(kernel)
        result.fn = decorate(pipelines, kernel.fn)
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
    result.tritonext_pipelines = pipelines
    result.tritonext_kernel = kernel
    return result


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
