"""Where pipelines meet Triton: the stage hook and the pass additions of the backends.

Triton offers one slot, ``knobs.runtime.add_stages_inspection_hook``, and each backend adds its passes through names of
its compiler module. :func:`install` puts a property over the slot and proxies over those names, once and only when the
first pipeline is activated. All of it passes through unless a pipeline is active in the current context.

While a kernel compiles under a pipeline, the hook first runs the stage functions of the backend *dry*, with a stand-in
for the module and without LLVM, which gives the exact list of passes this target and these options run. The steps are
matched against it, so an absent or ambiguous anchor is an error before any stage has run. The real stages then count
their additions and act at the planned places. The caches around the compiler are the matter of :mod:`.caching`.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from triton import knobs
from triton._C.libtriton import amd, ir, nvidia, passes
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import make_backend

from tritonext import activation
from tritonext._triton import caching, diagnostics
from tritonext._triton.guarding import Guard, Parting
from tritonext.errors import (
    AmbiguousAnchorError,
    InternalError,
    PipelineConflictError,
    PipelineError,
    UnknownAnchorError,
    UnknownPassError,
)
from tritonext.manifest import STAGES
from tritonext.pipeline import Anchor, PassRef, Pipeline, StageInfo, Step

__all__ = ["Change", "Plan", "Stock", "install", "plan", "stock"]

_SLOT = "add_stages_inspection_hook"
_BACKEND_MODULES = ("triton.backends.nvidia.compiler", "triton.backends.amd.compiler")

# What each stage gives to the next one.
_RESULTS: dict[str, type] = {
    "ttir": ir.module,
    "ttgir": ir.module,
    "llir": str,
    "ptx": str,
    "cubin": bytes,
    "amdgcn": str,
    "hsaco": bytes,
}

_lock = threading.RLock()
_installed = False


# --- what a stage runs -----------------------------------------------------------------------------------------------


class _LeaveDryRun(BaseException):
    """Ends a dry run where the stage turns to LLVM; not an Exception, so that stage code cannot catch it."""


class _StandIn:
    """Takes the place of modules, contexts and pass managers in a dry run: everything it is asked for is itself."""

    def __getattr__(self, name: str) -> _StandIn:
        return self

    def __call__(self, *args: object, **kwargs: object) -> _StandIn:
        return self


_STAND_IN = _StandIn()


class _DryRun:
    """Records the names of the passes that a stage adds."""

    dry = True

    def __init__(self) -> None:
        self.names: list[str] = []

    def add(self, name: str, function: Callable, pm: object, args: tuple, kwargs: dict) -> None:
        self.names.append(name)


class _RealRun:
    """Adds the passes of a stage, changed as planned.

    Args:
        stage: The passes and what is planned for them.
        parting: Where the stage parts from what it is without a guarded pipeline, to be found out.
        begin: Place, as in :class:`Parting`, in front of which nothing runs, since the module is past it.
    """

    dry = False

    def __init__(self, stage: _StagePlan, parting: Parting | None = None, begin: int = 0) -> None:
        self.stage = stage
        self.position = 0
        self.parting = parting
        self.begin = begin

    def pass_manager(self, context: Any) -> Any:
        return ir.pass_manager(context) if self.parting is None else _PassManagers(context)

    def add(self, name: str, function: Callable, pm: Any, args: tuple, kwargs: dict) -> None:
        position = self.position
        names = self.stage.names
        if position >= len(names) or names[position] != name:
            self._diverged(name)
        self.position += 1
        edit = self.stage.edits.get(position) or _Edit()
        if 2 * position >= self.begin:
            self._insert(2 * position, edit.before, pm)
            if edit.instead is None and not edit.disabled:
                function(_current(pm), *args, **kwargs)
            else:
                self._insert(2 * position, edit.instead or [], pm, instead=True)
        if 2 * position + 1 >= self.begin:
            self._insert(2 * position + 1, edit.after, pm)

    def _insert(self, place: int, additions: list[Callable], pm: Any, instead: bool = False) -> None:
        parting = self.parting if additions or instead else None
        if parting is not None:
            pm.call(functools.partial(parting.arrive, place))
        for addition in additions:
            addition(_current(pm))
        if parting is not None:
            pm.call(functools.partial(parting.leave, instead))

    def finish(self) -> None:
        if self.position != len(self.stage.names):
            self._diverged("the end of the stage")

    def _diverged(self, found: str) -> None:
        names = self.stage.names
        raise PipelineError(
            "the stage does not run the passes it ran when the pipeline was planned",
            where=f"stage {self.stage.name}, pass {self.position + 1}",
            expected=names[self.position] if self.position < len(names) else "the end of the stage",
            found=found,
            hint="another stage hook of this process replaces the stage; deactivate one of the two",
        )


class _PassManagers:
    """What a stage takes for one pass manager: several, with functions that are called between them."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._debug = False
        self._parts: list[Any] = [ir.pass_manager(context)]

    @property
    def current(self) -> Any:
        """The pass manager that passes are added to."""
        return self._parts[-1]

    def enable_debug(self) -> bool:
        self._debug = True
        return self.current.enable_debug()

    def call(self, function: Callable[[Any], None]) -> None:
        """Have ``function`` called with the module at this place."""
        self._parts += [function, ir.pass_manager(self._context)]
        if self._debug:
            self.current.enable_debug()

    def run(self, module: Any, name: str) -> None:
        for part in self._parts:
            if isinstance(part, ir.pass_manager):
                part.run(module, name)
            else:
                part(module)


def _current(pm: Any) -> Any:
    return pm.current if isinstance(pm, _PassManagers) else pm


_run: ContextVar[_DryRun | _RealRun | None] = ContextVar("tritonext_stage_run", default=None)


class _Passes:
    """Proxy over a module of pass additions; a plain attribute access unless a stage runs under a plan."""

    def __init__(self, real: Any, path: str) -> None:
        self._real = real
        self._path = path

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        run = _run.get()
        if run is None:
            return value
        if name.startswith("add_"):
            anchor = f"{self._path}.{name.removeprefix('add_')}"
            return lambda pm, *args, **kwargs: run.add(anchor, value, pm, args, kwargs)
        if isinstance(value, types.ModuleType):
            # Both `passes` and `nvidia.passes` are left out of the path.
            return _Passes(value, self._path if name == "passes" else f"{self._path}.{name}".lstrip("."))
        return value


class _Real:
    """Proxy over a module that a dry run must not reach."""

    def __init__(self, real: Any, dry: Callable[[], object]) -> None:
        self._real = real
        self._dry = dry

    def __getattr__(self, name: str) -> Any:
        run = _run.get()
        if run is not None and run.dry:
            return self._dry()
        if run is not None and name == "pass_manager":
            return run.pass_manager
        return getattr(self._real, name)


def _leave_dry_run() -> object:
    raise _LeaveDryRun


def _instrument(real: Callable) -> Callable:
    """Return Triton's instrumentation point, silent in a dry run."""

    def instrument(*args: object, **kwargs: object) -> bool:
        run = _run.get()
        return False if run is not None and run.dry else real(*args, **kwargs)

    return instrument


@contextlib.contextmanager
def _running(run: _DryRun | _RealRun) -> Iterator[None]:
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)


def _dry_run(name: str, function: Callable) -> tuple[str, ...]:
    """Return the names of the passes that the stage ``function`` adds, in order."""
    run = _DryRun()
    with _running(run), contextlib.suppress(_LeaveDryRun):
        try:
            function(_STAND_IN, {})
        except Exception as error:
            raise InternalError(
                "the stage cannot be run dry with this release of triton",
                where=f"stage {name}",
                found=f"{type(error).__name__}: {error}",
                hint="report it with the versions of triton and tritonext",
            ) from error
    return tuple(run.names)


# --- planning --------------------------------------------------------------------------------------------------------


@dataclass
class _Edit:
    """What happens at one position of a stage."""

    before: list[Callable] = field(default_factory=list)
    after: list[Callable] = field(default_factory=list)
    instead: list[Callable] | None = None
    disabled: bool = False
    by: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One step as planned: where it acts, what it adds, and whose it is."""

    position: int
    kind: str
    passes: tuple[str, ...]
    pipeline: str
    where: str


@dataclass
class _StagePlan:
    """The passes of one stage and the edits by position."""

    name: str
    names: tuple[str, ...]
    edits: dict[int, _Edit] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    def anchors(self) -> list[str]:
        """Return the names of the stage, numbered where they repeat."""
        total = {name: self.names.count(name) for name in self.names}
        count: dict[str, int] = {}
        result = []
        for name in self.names:
            count[name] = count.get(name, 0) + 1
            result.append(f"{name}#{count[name]}" if total[name] > 1 else name)
        return result

    def position(self, anchor: Anchor, where: str) -> int:
        """Return the position of ``anchor``.

        Raises:
            UnknownAnchorError: The stage does not run it, or not that often.
            AmbiguousAnchorError: It repeats and the anchor does not say which.
        """
        positions = [index for index, name in enumerate(self.names) if name == anchor.name]
        if not positions:
            close = difflib.get_close_matches(anchor.name, sorted(set(self.names)), n=3)
            raise UnknownAnchorError(
                f"the stage runs no pass {anchor.name!r}",
                where=where,
                expected="one of the anchors below",
                found=str(anchor),
                details=self.anchors(),
                hint=f"did you mean {' or '.join(close)}" if close else None,
            )
        if anchor.occurrence is None:
            if len(positions) > 1:
                raise AmbiguousAnchorError(
                    f"the stage runs the pass {anchor.name!r} {len(positions)} times",
                    where=where,
                    expected=", ".join(f"{anchor.name}#{index + 1}" for index in range(len(positions))),
                    found=str(anchor),
                    hint="add the occurrence, counted from 1 or, from the end, -1",
                )
            return positions[0]
        index = anchor.occurrence - 1 if anchor.occurrence > 0 else anchor.occurrence
        try:
            return positions[index]
        except IndexError:
            raise UnknownAnchorError(
                f"the stage runs the pass {anchor.name!r} {len(positions)} times",
                where=where,
                expected=f"an occurrence up to {len(positions)}",
                found=str(anchor),
                details=self.anchors(),
            ) from None


@dataclass
class Plan:
    """The active pipelines matched against one compilation.

    Attributes:
        info: The compilation.
        stages: Stages that run passes, with their edits.
        wrappers: Wrapping steps by stage, innermost first.
        replacements: Replacing steps by stage.
        pipeline: The step that replaces the whole pipeline, if any.
        extensions: Ids of the extensions that take part.
        guard: The step that guards resources, if any.
        guarded: Names of the pipelines that have one.
        begin: The first stage that they change.
        alone: Whether it is the only one.
        stock: Upstream's function of that stage.
        fallback: What is planned without them.
    """

    info: StageInfo
    stages: dict[str, _StagePlan]
    extensions: tuple[str, ...] = ()
    wrappers: dict[str, list[Step]] = field(default_factory=dict)
    replacements: dict[str, tuple[Step, str]] = field(default_factory=dict)
    pipeline: tuple[Step, str] | None = None
    guard: Step | None = None
    guarded: tuple[str, ...] = ()
    begin: str = ""
    alone: bool = False
    stock: Callable | None = None
    fallback: Plan | None = None

    def apply(self, stages: dict[str, Callable]) -> None:
        """Edit Triton's table of stages in place."""
        stock, without = dict(stages), dict(stages)
        parting = Parting() if self._parts(stages) else None
        if self.pipeline is not None:
            self._replace_table(stages, self.pipeline[0])
        for name, stage in self.stages.items():
            if stage.edits:
                stages[name] = _planned(stages[name], stage, parting if name == self.begin else None)
        for name, (step, _) in self.replacements.items():
            stages[name] = functools.partial(_replaced, step.function, self._info(name))
        for name, steps in self.wrappers.items():
            for step in steps:
                stages[name] = functools.partial(_wrapped, step.function, stages[name], self._info(name))
        if self.extensions:
            first = next(iter(stages))
            stages[first] = functools.partial(_recorded, stages[first], self.extensions)
        if self.guard is not None and self.fallback is not None:
            if parting is not None:
                bare = _StagePlan(self.begin, self.stages[self.begin].names)
                rest = self.fallback.stages.get(self.begin, bare)
                parting.resume = functools.partial(_resumed, without[self.begin], rest, parting)
            self.fallback.apply(without)
            names = " and ".join(self.guarded)
            info = self._info(self.begin)
            later = list(stages)[list(stages).index(self.begin) + 1 :]
            # Another stage hook may have put its functions into the table before.
            upstream = type(self.info.backend).__module__
            own = all(
                stages.get(name) is without.get(name) is stock.get(name)
                and getattr(stages[name], "__module__", "") == upstream
                and _RESULTS.get(name) in (str, bytes)
                for name in later
            )
            guard = Guard(self.guard.guard, stages, without, self.begin, info, names, self.alone, own, parting)
            guard.install(stages)

    def _parts(self, stages: Mapping[str, Callable]) -> bool:
        """Whether a guarded pipeline changes one stage, which is upstream's own but for passes and gives a module."""
        return (
            self.guard is not None
            and self.alone
            and _RESULTS[self.begin] is ir.module
            and self.pipeline is None
            and self.begin in self.stages
            and stages[self.begin] is self.stock
            and self.begin not in self.wrappers
            and self.begin not in self.replacements
        )

    def _info(self, stage: str) -> StageInfo:
        return StageInfo(stage, self.info.target, self.info.language, self.info.backend, self.info.options)

    def _replace_table(self, stages: dict[str, Callable], step: Step) -> None:
        first, last = next(iter(stages)), self.info.backend.binary_ext
        replacement = step.function(types.MappingProxyType(dict(stages)), self._info(""))
        names = list(replacement) if isinstance(replacement, Mapping) else None
        if not names or names[0] != first or names[-1] != last:
            raise PipelineError(
                "the replaced pipeline is not a usable table of stages",
                where=f"step replace_pipeline for {self.info.target}",
                expected=f"a mapping of stage names to functions that begins with {first} and ends with {last}",
                found=repr(replacement) if names is None else ", ".join(names) or "no stage",
            )
        for name, steps in self.wrappers.items():
            if name not in names:
                raise _unknown_stage(steps[0], names, self.info.target)
        stages.clear()
        stages.update(replacement)


def _recorded(inner: Callable, extensions: tuple[str, ...], source: object, metadata: dict) -> object:
    # Imported late: the loader imports this package.
    from tritonext import loader

    # The name of a cache entry says nothing about where it came from, and `tritonext doctor` has to know.
    known = {identifier: library.extension for identifier, library in loader.loaded().items()}
    metadata["tritonext"] = [f"{name}=={known[name].version}" for name in extensions if known.get(name)]
    return inner(source, metadata)


def _planned(inner: Callable, stage: _StagePlan, parting: Parting | None = None) -> Callable:
    return lambda source, metadata: _run_stage(inner, _RealRun(stage, parting), source, metadata)


def _resumed(inner: Callable, stage: _StagePlan, parting: Parting, source: object, metadata: dict) -> object:
    """Run what is left of a stage from where a guarded pipeline changes the module first."""
    return _run_stage(inner, _RealRun(stage, begin=parting.place), source, metadata)


def _run_stage(inner: Callable, run: _RealRun, source: object, metadata: dict) -> object:
    with _running(run), diagnostics.raising():
        result = inner(source, metadata)
    run.finish()
    return result


def _wrapped(function: Callable, inner: Callable, info: StageInfo, source: object, metadata: dict) -> object:
    return _checked(function(inner, source, metadata, info), "wrap", info)


def _replaced(function: Callable, info: StageInfo, source: object, metadata: dict) -> object:
    return _checked(function(source, metadata, info), "replace", info)


def _checked(result: object, verb: str, info: StageInfo) -> object:
    """Return what the callable of a step gave for a stage, if Triton can go on with it."""
    kind = _RESULTS.get(info.stage, object)
    if result is None or not isinstance(result, kind):
        raise PipelineError(
            f"the callable of a step returned no result for the stage {info.stage!r}",
            where=f"step {verb}_stage at {info.stage}, target {info.target}",
            expected=f"an object of type {kind.__name__}",
            found=repr(result)[:80],
            hint="return what inner(source, metadata) returns" if verb == "wrap" else "return the stage's result",
        )
    return result


def plan(
    pipelines: Iterable[Pipeline], backend: Any, stages: Mapping[str, Callable], options: Any, language: Language
) -> Plan:
    """Match pipelines against the passes and stages that one compilation runs.

    Args:
        pipelines: Active pipelines, outer first.
        backend: Triton's backend object.
        stages: Its stock table of stages.
        options: Its parsed options.
        language: Front end of the kernel.

    Raises:
        UnknownAnchorError: A step names a pass or occurrence the stage does not run.
        UnknownPassError: The installed Triton has no pass that a step names or is optionally anchored at.
        AmbiguousAnchorError: A step names a repeated pass without its occurrence.
        PipelineConflictError: Two steps cannot both hold.
        PipelineError: A step names a stage the backend does not have.
    """
    info = StageInfo("", backend.get_target_name(options), language.name.lower(), backend, options)
    active = []
    for pipeline in pipelines:
        if info.language not in pipeline.languages:
            continue
        if pipeline.targets and info.target not in pipeline.targets:
            activation.warn_unsupported(pipeline, info.target)
            continue
        active.append(pipeline)
    steps = [
        (step, pipeline) for pipeline in active for step in pipeline.steps if step.applies(info.target, info.language)
    ]
    touched = {step.stage for step, _ in steps if step.anchor is not None}
    result = Plan(
        info,
        {name: _StagePlan(name, _dry_run(name, stages[name])) for name in STAGES if name in touched & stages.keys()},
        tuple(sorted({identifier for pipeline in active for identifier in pipeline.extensions})),
    )
    for step, pipeline in steps:
        _enter(result, stages, step, pipeline)
    _check_stages(result, stages)
    guards = [(step, pipeline) for step, pipeline in steps if step.kind == "guard"]
    if guards:
        guarded = [pipeline for _, pipeline in guards]
        others = [pipeline for pipeline in active if not any(pipeline is one for one in guarded)]
        changed = [step for step, pipeline in steps if step.kind != "guard" and pipeline not in others]
        if changed:
            result.guard = guards[-1][0]
            result.guarded = tuple(pipeline.name for pipeline in guarded)
            result.begin = _begin(changed, f"pipeline {result.guarded[-1]}, {result.guard}, target {info.target}")
            result.alone = {step.stage for step in changed} == {result.begin}
            result.stock = stages.get(result.begin)
            result.fallback = plan(others, backend, stages, options, language)
    return result


def _begin(steps: list[Step], where: str) -> str:
    """Return the first stage that ``steps`` change, if it works on a module, which can be compiled twice."""
    touched = {step.stage for step in steps}
    begin = next((name for name in STAGES if name in touched), None)
    if begin is None or "" in touched:
        raise PipelineError(
            "a guarded pipeline changes no stage that can be compiled from again",
            where=where,
            expected="a step at " + ", ".join(STAGES) + ", and no replaced pipeline",
            found=", ".join(map(str, steps)),
            hint="leave the guard out",
        )
    return begin


def _enter(plan: Plan, stages: Mapping[str, Callable], step: Step, pipeline: Pipeline) -> None:
    """Record one step in ``plan``, refusing it when an earlier one excludes it."""
    where = f"pipeline {pipeline.name}, {step}, target {plan.info.target}"
    if step.kind == "guard":
        return
    if step.kind == "replace-pipeline":
        if plan.pipeline is not None:
            raise _conflict("the whole pipeline is replaced twice", plan.pipeline[1], where)
        plan.pipeline = (step, where)
        return
    if step.anchor is None:
        if step.kind == "wrap-stage":
            plan.wrappers.setdefault(step.stage, []).append(step)
        elif step.stage in plan.replacements:
            raise _conflict("a stage is replaced twice", plan.replacements[step.stage][1], where)
        else:
            plan.replacements[step.stage] = (step, where)
        return
    if step.stage not in plan.stages:
        raise _unknown_stage(step, stages, plan.info.target)
    stage = plan.stages[step.stage]
    if step.anchor.optional and step.anchor.name not in stage.names:
        _stock_pass(step.anchor.name, where)
        return
    position = stage.position(step.anchor, where)
    edit = stage.edits.setdefault(position, _Edit())
    additions = [_addition(ref, plan.info.options, where) for ref in step.passes]
    if step.kind == "before":
        edit.before += additions
    elif step.kind == "after":
        edit.after += additions
    else:
        for kind, earlier in edit.by.items():
            if (kind, step.kind) != ("disable", "disable"):
                raise _conflict("a pass is replaced or disabled twice", earlier, where)
        edit.by[step.kind] = where
        if step.kind == "replace":
            edit.instead = additions
        else:
            edit.disabled = True
    stage.changes.append(Change(position, step.kind, tuple(map(str, step.passes)), pipeline.name, where))


def _check_stages(plan: Plan, stages: Mapping[str, Callable]) -> None:
    """Refuse what only the whole list of steps shows, in whatever order it was given."""
    if plan.pipeline is None:
        whole = [step for steps in plan.wrappers.values() for step in steps]
        for step in (*whole, *(step for step, _ in plan.replacements.values())):
            if step.stage not in stages:
                raise _unknown_stage(step, stages, plan.info.target)
    for name, (_, where) in plan.replacements.items():
        if name in plan.stages and plan.stages[name].changes:
            raise _conflict("a replaced stage has steps inside it", where, plan.stages[name].changes[0].where)
    if plan.pipeline is not None:
        inside = [change.where for stage in plan.stages.values() for change in stage.changes]
        inside += [where for _, where in plan.replacements.values()]
        if inside:
            raise _conflict("a replaced pipeline has steps inside it", plan.pipeline[1], inside[0])


def _conflict(message: str, first: str, second: str) -> PipelineConflictError:
    return PipelineConflictError(
        message, where=second, found=f"already decided by {first}", hint="deactivate one of the two pipelines"
    )


def _unknown_stage(step: Step, stages: Iterable[str], target: str) -> PipelineError:
    return PipelineError(
        f"the backend has no stage {step.stage!r} here",
        where=f"step {step}, target {target}",
        expected=", ".join(stages),
        found=step.stage,
        hint="limit the step with targets=('cuda',) or targets=('hip',)",
    )


def _addition(ref: PassRef, kernel: Any, where: str) -> Callable[[object], None]:
    """Return the function that adds the pass to a pass manager, for the options of a kernel."""
    if not ref.stock:
        function = getattr(passes.plugin, f"add_{ref.name}", None)
        if function is None:
            raise UnknownPassError(
                f"the pass {ref.name!r} is not loaded",
                where=where,
                hint="call tritonext.load(…) of its extension before the kernel compiles",
            )
        options = ref.options_of(kernel)
        return lambda pm: function(pm, options)
    function = _stock_pass(ref.name, where)
    try:
        function(ir.pass_manager(ir.context()), *ref.args)
    except TypeError as error:
        raise PipelineError(
            f"the pass {ref.name!r} does not take these arguments",
            where=where,
            found=repr(ref.args),
            details=[line.strip() for line in str(error).splitlines() if "add_" in line],
            hint="pass PassRef(name, args=(…)) what the function takes after the pass manager",
        ) from None
    return lambda pm: function(pm, *ref.args)


def _stock_pass(name: str, where: str) -> Callable:
    """Return upstream's function that adds the stock pass ``name``.

    Raises:
        UnknownPassError: The installed Triton has none.
    """
    function = stock_pass(name)
    if function is None:
        close = difflib.get_close_matches(name, stock_pass_names(), n=3)
        raise UnknownPassError(
            f"the installed triton has no pass {name!r}",
            where=where,
            hint=f"did you mean {' or '.join(close)}" if close else None,
        )
    return function


def stock_pass(name: str) -> Callable | None:
    """Return upstream's function that adds the stock pass ``name``, an anchor name, or None."""
    group, _, last = name.rpartition(".")
    head, _, rest = group.partition(".")
    module: Any = {"nvidia": nvidia.passes, "amd": amd.passes}.get(head)
    module, path = (passes, group) if module is None else (module, rest)
    for part in filter(None, path.split(".")):
        module = getattr(module, part, None)
    return getattr(module, f"add_{last}", None)


@functools.cache
def stock_pass_names() -> tuple[str, ...]:
    """Return the anchor names of every stock pass of the installed wheel, sorted."""
    names = []
    for root, prefix in ((passes, ""), (nvidia.passes, "nvidia."), (amd.passes, "amd.")):
        for group, module in vars(root).items():
            if isinstance(module, types.ModuleType) and group != "plugin":
                names += [f"{prefix}{group}.{name[4:]}" for name in vars(module) if name.startswith("add_")]
    return tuple(sorted(names))


def stock_table(backend: Any, options: Any, language: Language) -> dict[str, Callable]:
    """Return the stage table of ``backend`` as it is with no pipeline active."""
    stages: dict[str, Callable] = {}
    with activation.use_stock(), knobs.runtime.scope():
        knobs.runtime.add_stages_inspection_hook = None
        backend.add_stages(stages, options, language)
    return stages


@dataclass(frozen=True)
class Stock:
    """The stock pipeline for one target, set of options and language.

    Attributes:
        backend: Triton's backend object.
        options: Its parsed options.
        language: Front end.
        table: Stage functions by name, in order.
        anchors: Anchors of the stages that run passes, in order.
    """

    backend: Any
    options: Any
    language: Language
    table: dict[str, Callable]
    anchors: dict[str, list[str]]


def stock(target: GPUTarget, options: Mapping[str, Any], language: str = "triton") -> Stock:
    """Return the stock pipeline that kernels of ``language`` compile with.

    Args:
        target: Target to compile for.
        options: Compile options such as ``num_warps``; the backend's defaults where absent.
        language: ``triton`` or ``gluon``.
    """
    install()
    backend = make_backend(target)
    parsed = backend.parse_options(dict(options))
    front = Language[language.upper()]
    table = stock_table(backend, parsed, front)
    anchors = {name: _StagePlan(name, _dry_run(name, table[name])).anchors() for name in STAGES if name in table}
    return Stock(backend, parsed, front, table, anchors)


# --- the slot --------------------------------------------------------------------------------------------------------


_asking = threading.local()


def _hook(*args: Any) -> tuple[str, str] | None:
    """The stage hook while a pipeline is active: the key without arguments, the edit of the stage table with them.

    A foreign hook may have stored this function and call it itself; it then answers for whatever is active at that
    moment, and nothing while :class:`_Chained` is already asking.
    """
    if _chained and getattr(_asking, "depth", 0):
        return None if args else ("", "")
    state = activation.current()
    if not args:
        return ("", "") if state is None else state.answer
    if state is not None:
        backend, stages, options, language, _ = args
        plan(state.pipelines, backend, stages, options, language).apply(stages)
    return None


# Whether a foreign hook has ever been chained; keeps a thread-local read off the launches of everyone else.
_chained = False


class _Chained:
    """The stage hook while a pipeline is active and a foreign hook sits in the slot."""

    def __init__(self, foreign: Callable) -> None:
        global _chained
        _chained = True
        self.foreign = foreign

    def __call__(self, *args: Any) -> tuple[str, str] | None:
        state = activation.current()
        _asking.depth = getattr(_asking, "depth", 0) + 1
        try:
            if not args:
                answers = (self.foreign(), ("", "") if state is None else state.answer)
                return "".join(key for key, _ in answers), "".join(part for _, part in answers)
            backend, stages, options, language, _ = args
            # Matched while the table is the stock one, applied around whatever the foreign hook makes of it.
            planned = None if state is None else plan(state.pipelines, backend, stages, options, language)
            self.foreign(*args)
            if planned is not None:
                planned.apply(stages)
            return None
        finally:
            _asking.depth -= 1


def _write_slot(self: Any, value: Callable | None) -> None:
    # Saving and restoring the slot while a pipeline is active must not store ours as a foreign hook.
    if value is _hook:
        value = None
    elif isinstance(value, _Chained):
        value = value.foreign
    self.__dict__[_SLOT] = value


def _clear_slot(self: Any) -> None:
    self.__dict__.pop(_SLOT, None)


def install() -> None:
    """Put the property over the hook slot and the proxies over the backends' names; later calls do nothing."""
    global _installed
    with _lock:
        if _installed:
            return
        for name in _BACKEND_MODULES:
            module = importlib.import_module(name)
            module.passes = _Passes(module.passes, "")
            module.ir = _Real(module.ir, lambda: _STAND_IN)
            module.llvm = _Real(module.llvm, _leave_dry_run)
            module.instrument = _instrument(module.instrument)
            backend = name.split(".")[2]
            setattr(module, backend, _Passes(getattr(module, backend), backend))
        knobs.runtime_knobs.add_stages_inspection_hook = property(
            activation.slot_reader(_SLOT, _hook, _Chained), _write_slot, _clear_slot
        )
        caching.install()
        _installed = True
