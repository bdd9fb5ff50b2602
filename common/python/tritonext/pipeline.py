"""Pipelines as data: the changes an extension or a user makes to a backend's stock compilation.

A :class:`Pipeline` is a list of steps. Each one names a place in the stock pipeline by *anchor*, a stage and a pass
name with an occurrence, and says what happens there. Nothing here touches Triton: the steps are matched against the
passes that the installed backend really runs when a kernel is compiled, and an anchor that is absent or ambiguous is
an error then, before anything is stored.

Composition. Active pipelines apply in order, outer before inner, those of extensions in an order of their own.
Insertions at one anchor keep that order. Disabling a pass twice is one disabling. An insertion at a disabled or
replaced pass holds: the anchor names a place in the stock order. Two replacements of one pass, replacing and disabling
one pass, two replacements of one stage, a replaced stage with steps inside it, and a replaced pipeline with anything
but wrapped stages are conflicts.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from . import cachekey
from .errors import ExtensionError, OptionError, PipelineError, UnknownPassError
from .loops import Loops, slower
from .manifest import STAGES, Manifest
from .occupancy import REGISTER_UNIT, Usage, resident_programs, useful_programs, warps_of_scheduler

if TYPE_CHECKING:
    from .registry import InstalledExtension

__all__ = [
    "Anchor",
    "KernelOption",
    "PassRef",
    "Pipeline",
    "ResourceGuard",
    "StageInfo",
    "Step",
    "assembler_log",
    "disable_pass",
    "from_manifest",
    "guard_resources",
    "insert_after",
    "insert_before",
    "main",
    "of_extension",
    "of_passes",
    "replace_pass",
    "replace_pipeline",
    "replace_stage",
    "wrap_stage",
]

T = TypeVar("T")

_ANCHOR = re.compile(r"(?P<name>[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+)(#(?P<occurrence>-?[1-9][0-9]*))?(?P<optional>\?)?")
_TARGET = re.compile(r"cuda(:[1-9][0-9]+)?|hip(:gfx[0-9a-z-]+)?")
_FULL_TARGET = re.compile(r"cuda:[1-9][0-9]+|hip:gfx[0-9a-z-]+")
_LANGUAGE = re.compile("triton|gluon")
_EXTENSION_PASS = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Anchor:
    """A place in a stage: the name of a stock pass and which of its occurrences.

    Attributes:
        name: Upstream's Python path without ``passes.`` and ``add_``, such as ``ttgpuir.coalesce`` or
            ``nvidia.ttnvgpuir.tma_lowering``.
        occurrence: Counted from 1, or from the end when negative; None when the pass must run once in the stage.
        optional: Whether the stage may do without the pass, as it does with other options of the kernel; then the step
            changes nothing. Triton has to have a pass of that name all the same.
    """

    name: str
    occurrence: int | None = None
    optional: bool = False

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Read ``name`` or ``name#occurrence``, with a ``?`` behind it when it is optional.

        Raises:
            PipelineError: ``text`` is no anchor.
        """
        match = _ANCHOR.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise PipelineError(
                "an anchor is malformed",
                expected="a name such as ttgpuir.coalesce, with #1, #2, … or #-1 when the pass repeats",
                found=repr(text),
                hint="list the anchors with `tritonext pipeline --target cuda:90`",
            )
        occurrence = match["occurrence"]
        return cls(match["name"], int(occurrence) if occurrence else None, match["optional"] is not None)

    def __str__(self) -> str:
        occurrence = "" if self.occurrence is None else f"#{self.occurrence}"
        return f"{self.name}{occurrence}{'?' if self.optional else ''}"


@dataclass(frozen=True)
class KernelOption:
    """The value of a pass option that is what the kernel is compiled with.

    Args:
        name: Field of the backend's options, such as ``num_stages``.
    """

    name: str

    def __str__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True)
class PassRef:
    """A pass to add: one of an extension by its name, or a stock one by its anchor name.

    Args:
        name: ``layout_localize_stores`` for a pass of an extension, ``ttgpuir.prefetch`` for a stock pass.
        options: Options of an extension pass. True and False become ``true`` and ``false``, sequences are joined by
            commas, and a :class:`KernelOption` becomes the value that each kernel has.
        args: Arguments of a stock pass after the pass manager, as upstream's ``add_…`` function takes them.
        extension: Id of the extension that has the pass; found by the pass name when None.

    Raises:
        PipelineError: The name is malformed, or options and arguments are given to the wrong kind of pass.
    """

    name: str
    options: Mapping[str, Any] | tuple[tuple[str, str | KernelOption], ...] = ()
    args: tuple[Any, ...] = ()
    extension: str | None = None

    def __post_init__(self) -> None:
        options = self.options
        # The form in which a PassRef keeps them, and gives them to a copy of itself.
        if isinstance(options, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in options):
            options = dict(options)
        if not isinstance(options, Mapping):
            raise PipelineError(
                "the options of a pass are malformed",
                where=f"pass {self.name}",
                expected="a mapping of names to values",
                found=repr(options),
            )
        pairs = sorted(
            (
                (str(key), value if isinstance(value, KernelOption) else _option_text(value))
                for key, value in options.items()
            ),
            key=lambda pair: pair[0],
        )
        object.__setattr__(self, "options", tuple(pairs))
        object.__setattr__(self, "args", _sequence(self.args, f"pass {self.name}", "positional arguments"))
        pattern = _ANCHOR if self.stock else _EXTENSION_PASS
        if not isinstance(self.name, str) or not pattern.fullmatch(self.name) or set("#?") & set(self.name):
            raise PipelineError(
                "the name of a pass is malformed",
                expected="an extension pass such as layout_localize_stores, or a stock pass such as ttgpuir.prefetch",
                found=repr(self.name),
                hint=self._spelling(),
            )
        if self.stock and self.options:
            raise PipelineError(
                "a stock pass takes positional arguments, not options",
                where=f"pass {self.name}",
                found=self.option_text,
                hint="pass args=(…)",
            )
        if not self.stock and self.args:
            raise PipelineError(
                "a pass of an extension takes options, not positional arguments",
                where=f"pass {self.name}",
                found=repr(self.args),
                hint="pass options={…}",
            )

    def _spelling(self) -> str | None:
        """Return how to write a malformed name that is the flag of a pass, as `tritonext explain` prints it."""
        name = self.name.replace("-", "_") if isinstance(self.name, str) else ""
        return f"write {name!r}" if _EXTENSION_PASS.fullmatch(name) else None

    @property
    def stock(self) -> bool:
        """Whether the name is that of a pass of the installed Triton."""
        return isinstance(self.name, str) and "." in self.name

    @property
    def option_text(self) -> str:
        """The options as the pass reads them, ``key=value key=value``."""
        return " ".join(f"{key}={value}" for key, value in self.options)

    @property
    def fixed_options(self) -> list[str]:
        """The options that are the same for every kernel, ``key=value`` each."""
        return [f"{key}={value}" for key, value in self.options if not isinstance(value, KernelOption)]

    def options_of(self, options: Any) -> list[str]:
        """Return the options for a kernel, ``key=value`` each.

        Args:
            options: The backend's parsed options of the kernel.

        Raises:
            PipelineError: A kernel of this backend has no option that a :class:`KernelOption` names.
        """
        texts = []
        for key, value in self.options:
            if isinstance(value, KernelOption):
                if not hasattr(options, value.name):
                    raise PipelineError(
                        "a pass asks for an option that kernels do not have",
                        where=f"pass {self.name}, option {key}",
                        expected="a field of the backend's options, such as num_stages",
                        found=value.name,
                    )
                value = _option_text(getattr(options, value.name))
            texts.append(f"{key}={value}")
        return texts

    def __str__(self) -> str:
        if self.stock:
            return f"{self.name}({', '.join(map(repr, self.args))})" if self.args else self.name
        return f"{self.name}{{{self.option_text}}}" if self.options else self.name


def _option_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_option_text(item) for item in value)
    return str(value)


@dataclass(frozen=True)
class ResourceGuard:
    """When a kernel is compiled without a pipeline as well, and which of the two is kept.

    Args:
        registers: Registers fewer of a thread that must let another program onto a multiprocessor to raise doubt.
        shared_bytes: The same of shared memory.
        loops: Whether loops are looked at as well, where machine code says how it is scheduled.
    """

    registers: int = 8
    shared_bytes: int = 16384
    loops: bool = False

    def doubts(self, usage: Usage, target: str, loops: Loops | None = None, looped: bool = True) -> bool:
        """Whether a kernel without the pipeline could spill less, leave more room, or have faster loops.

        Args:
            usage: What it takes with the pipeline.
            target: Such as ``cuda:90``.
            loops: Its loops with the pipeline, where they count.
            looped: Whether the pipeline changes them.
        """
        if usage.spill_bytes or (loops is not None and (looped or loops.copied)):
            return True
        less = replace(
            usage,
            registers=max(1, usage.registers - self.registers),
            shared_bytes=max(0, usage.shared_bytes - self.shared_bytes),
        )
        if useful_programs(usage, target) != useful_programs(less, target):
            return True
        # Of warps that fill more than half of a multiprocessor, those count that one portion of registers is worth.
        less = replace(usage, registers=max(1, usage.registers - min(self.registers, REGISTER_UNIT)))
        return resident_programs(usage, target) != resident_programs(less, target)

    def reason(
        self, usage: Usage, plain: Usage, target: str, loops: Loops | None = None, plain_loops: Loops | None = None
    ) -> str:
        """Return why the kernel without the pipeline, which takes ``plain``, is better; empty when it is not."""
        if usage.spill_bytes > plain.spill_bytes:
            return f"it spills {plain.spill_bytes} bytes instead of {usage.spill_bytes}"
        programs, others = (resident_programs(each, target) for each in (usage, plain))
        if programs is not None and programs < others:
            return f"a multiprocessor holds {others} of its programs instead of {programs}"
        if loops is not None and plain_loops is not None:
            # A grid may give a multiprocessor one program, or as many as fit.
            for full in (False, True):
                warps, plain_warps = (warps_of_scheduler(each, target, full) for each in (usage, plain))
                if found := slower(loops, plain_loops, warps, plain_warps):
                    return found
        return ""


@dataclass(frozen=True)
class Step:
    """One change. Build it with the functions of this module, which check what they are given.

    Attributes:
        kind: ``before``, ``after``, ``replace``, ``disable``, ``wrap-stage``, ``replace-stage``, ``replace-pipeline``,
            ``guard``.
        stage: Stage it changes; empty for a replaced pipeline and a guard.
        anchor: Stock pass it refers to, for the kinds that name one.
        passes: Passes it adds.
        function: Callable of a stage or pipeline step.
        function_key: What the cache key covers of that callable.
        targets: Backends (``cuda``) or targets (``cuda:90``) it is for; empty for all.
        languages: Those of the pipeline's languages whose kernels it is for; empty for all.
        guard: What a guard doubts.
    """

    kind: str
    stage: str
    anchor: Anchor | None = None
    passes: tuple[PassRef, ...] = ()
    function: Callable | None = field(default=None, compare=False)
    function_key: str = ""
    targets: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    guard: ResourceGuard | None = None

    def applies(self, target: str, language: str) -> bool:
        """Whether the step is for ``target``, such as ``cuda:90``, and kernels of ``language``."""
        if self.languages and language not in self.languages:
            return False
        return not self.targets or target in self.targets or target.partition(":")[0] in self.targets

    def __str__(self) -> str:
        where = f"{self.stage} {self.anchor}" if self.anchor else self.stage
        what = ", ".join(map(str, self.passes))
        return {
            "before": f"insert {what} before {where}",
            "after": f"insert {what} after {where}",
            "replace": f"replace {where} by {what}",
            "disable": f"disable {where}",
            "wrap-stage": f"wrap stage {where}",
            "replace-stage": f"replace stage {where}",
            "replace-pipeline": "replace the pipeline",
            "guard": "guard the resources",
        }[self.kind]


@dataclass(frozen=True)
class StageInfo:
    """What the callable of a step learns about the compilation.

    Attributes:
        stage: Name of the stage; empty for a replaced pipeline.
        target: Such as ``cuda:90`` or ``hip:gfx942``.
        language: ``triton`` or ``gluon``.
        backend: Triton's backend object.
        options: The backend's parsed options.
    """

    stage: str
    target: str
    language: str
    backend: Any
    options: Any


def _pass_step(kind: str, stage: str, anchor: str, passes: Iterable[PassRef | str], targets: Iterable[str]) -> Step:
    if stage not in STAGES:
        raise PipelineError(
            "only some stages run passes",
            where=f"step at {stage} {anchor}",
            expected="one of " + ", ".join(STAGES),
            found=repr(stage),
            hint="use wrap_stage or replace_stage for a stage that produces text or a binary",
        )
    refs = tuple(ref if isinstance(ref, PassRef) else PassRef(ref) for ref in passes)
    if kind != "disable" and not refs:
        raise PipelineError("a step adds no pass", where=f"{stage} {anchor}", hint="name at least one pass")
    return Step(kind, stage, Anchor.parse(anchor), refs, targets=_targets(targets))


def _targets(targets: Iterable[str]) -> tuple[str, ...]:
    return _checked(targets, _TARGET, "a backend or target such as cuda or hip:gfx942")


def _checked(values: Iterable[str], pattern: re.Pattern[str], noun: str) -> tuple[str, ...]:
    """Return ``values`` as a tuple; a text in place of a sequence, or a misspelt one, would silently match nothing."""
    values = _sequence(values, "targets or languages", noun)
    for value in values:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise PipelineError("a value is malformed", expected=noun, found=repr(value))
    return values


def _sequence(values: Iterable[T], where: str, noun: str) -> tuple[T, ...]:
    """Return ``values`` as a tuple; a text is no sequence of its letters here."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise PipelineError(
            "a sequence is expected",
            where=where,
            expected=f"a sequence of: {noun}",
            found=repr(values),
            hint="a sequence of one is written (value,)",
        )
    return tuple(values)


def insert_before(stage: str, anchor: str, *passes: PassRef | str, targets: Iterable[str] = ()) -> Step:
    """Add ``passes`` in front of the stock pass at ``anchor``.

    Args:
        stage: ``ttir``, ``ttgir`` or ``llir``.
        anchor: ``name`` or ``name#occurrence``, optional with a ``?`` behind it, see :class:`Anchor`.
        passes: Passes in the order they run; a text is a pass without options.
        targets: Backends or targets the step is for; all when empty.

    Raises:
        PipelineError: The stage runs no passes, the anchor is malformed, or no pass is given.
    """
    return _pass_step("before", stage, anchor, passes, targets)


def insert_after(stage: str, anchor: str, *passes: PassRef | str, targets: Iterable[str] = ()) -> Step:
    """Add ``passes`` behind the stock pass at ``anchor``; arguments and errors as :func:`insert_before`."""
    return _pass_step("after", stage, anchor, passes, targets)


def replace_pass(stage: str, anchor: str, *passes: PassRef | str, targets: Iterable[str] = ()) -> Step:
    """Run ``passes`` instead of the stock pass at ``anchor``; arguments and errors as :func:`insert_before`."""
    return _pass_step("replace", stage, anchor, passes, targets)


def disable_pass(stage: str, anchor: str, *, targets: Iterable[str] = ()) -> Step:
    """Leave out the stock pass at ``anchor``; arguments and errors as :func:`insert_before`."""
    return _pass_step("disable", stage, anchor, (), targets)


def _function_step(kind: str, stage: str, function: Callable, key: str | None, targets: Iterable[str]) -> Step:
    step = f"{kind} {stage}".rstrip()
    if not callable(function):
        raise PipelineError("a step needs a callable", where=step, found=repr(function))
    content = cachekey.callable_key(function, step) if key is None else f"key {key}"
    return Step(kind, stage, function=function, function_key=content, targets=_targets(targets))


def wrap_stage(stage: str, function: Callable, *, key: str | None = None, targets: Iterable[str] = ()) -> Step:
    """Call ``function(inner, source, metadata, info)`` in place of a stage; it returns the stage's result.

    Args:
        stage: Any stage of the backend, the text and binary ones included (``ptx``, ``cubin``, ``amdgcn``, ``hsaco``).
        function: ``inner(source, metadata)`` runs the stage as it would have run; ``info`` is a
            :class:`StageInfo`. Of several wrappers the last one is outermost.
        key: Text for the cache key, when the content of ``function`` cannot be followed.
        targets: Backends or targets the step is for; all when empty.

    Raises:
        PipelineError: ``function`` is no callable, or its content is unknown and ``key`` is None.
    """
    return _function_step("wrap-stage", stage, function, key, targets)


def guard_resources(
    *, registers: int = 8, shared_bytes: int = 16384, loops: bool = False, targets: Iterable[str] = ()
) -> Step:
    """Fall back to the kernel without the pipeline where the pipeline makes it spill more, or fewer programs fit.

    The kernel is compiled without the pipeline only where its binary raises doubt: where it spills, or where fewer
    registers or less shared memory would let another program onto a multiprocessor. The other active pipelines stay,
    except those that have a guard too. What was compared is in the metadata, as ``tritonext_guard``, and in a remark.

    Args:
        registers: So many registers fewer.
        shared_bytes: So many bytes less.
        loops: Whether to fall back also where a pass through the kernel's loops takes longer by an estimate from
            machine code (:mod:`tritonext.loops`). A change in a loop raises doubt, and so do loops that copy registers.
            NVIDIA only.
        targets: Backends or targets the step is for; all when empty.

    Raises:
        PipelineError: A number is negative.
    """
    for name, value in (("registers", registers), ("shared_bytes", shared_bytes)):
        if value < 0:
            raise PipelineError(
                "a limit is negative", where="step guard the resources", expected=f"{name} >= 0", found=str(value)
            )
    return Step("guard", "", guard=ResourceGuard(registers, shared_bytes, loops), targets=_targets(targets))


def assembler_log() -> AbstractContextManager[list[str]]:
    """Collect what NVIDIA's assembler says of the kernels that it assembles in a context: a list, a text for each.

    For wrappers of the stage ``cubin``, around ``inner``. Triton removes the log of an assembler that did not fail.
    """
    from ._triton.assembling import assembler_log

    return assembler_log()


def replace_stage(stage: str, function: Callable, *, key: str | None = None, targets: Iterable[str] = ()) -> Step:
    """Call ``function(source, metadata, info)`` instead of a stage; arguments and errors as :func:`wrap_stage`.

    The replacement owes the metadata the stock stage writes: ``tensordesc_meta`` in ``ttgir``; ``shared``,
    ``num_warps`` and the scratch sizes in ``llir``; ``name`` in ``ptx`` and ``amdgcn``.
    """
    return _function_step("replace-stage", stage, function, key, targets)


def replace_pipeline(function: Callable, *, key: str | None = None, targets: Iterable[str] = ()) -> Step:
    """Use the stages that ``function(stages, info)`` returns; arguments and errors as :func:`wrap_stage`.

    ``stages`` maps each stock stage to its function of source and metadata, in order. The result must keep the first
    stage's name, which is the form the front end produces, and end in the backend's binary.
    """
    return _function_step("replace-pipeline", "", function, key, targets)


@dataclass(frozen=True)
class Pipeline:
    """Changes to the stock compilation, as data.

    Args:
        steps: What changes, in order.
        name: Shown in messages and reports.
        targets: Targets (``cuda:90``) the pipeline is made for; on others it changes nothing and says so once. Empty
            for all.
        languages: ``triton`` and ``gluon``, those whose kernels it changes.
        extension: Id of the extension whose default pipeline this is. Of two active pipelines of one extension the
            inner one holds.
    """

    steps: tuple[Step, ...] = ()
    name: str = "pipeline"
    targets: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("triton", "gluon")
    extension: str | None = None

    def __post_init__(self) -> None:
        steps = _sequence(self.steps, f"pipeline {self.name}", "steps")
        for step in steps:
            if not isinstance(step, Step):
                raise PipelineError(
                    "a pipeline is made of steps",
                    where=f"pipeline {self.name}",
                    expected="what insert_after, disable_pass, wrap_stage and their like return",
                    found=repr(step),
                )
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "targets", _checked(self.targets, _FULL_TARGET, "a target such as cuda:90"))
        object.__setattr__(self, "languages", _checked(self.languages, _LANGUAGE, "triton or gluon"))
        if not self.languages:
            raise PipelineError(
                "a pipeline for no language changes nothing", where=f"pipeline {self.name}", expected="triton or gluon"
            )

    def __getstate__(self) -> dict[str, Any]:
        # The process that unpickles it may see other files of the extension, and must not use the old key for them.
        return {name: value for name, value in self.__dict__.items() if name != "_key"}

    @property
    def extensions(self) -> tuple[str, ...]:
        """Ids of the extensions whose content the result depends on, sorted."""
        ids = {self.extension} | {ref.extension or _owner(ref) for ref in self._refs() if not ref.stock}
        return tuple(sorted(identifier for identifier in ids if identifier))

    def _refs(self) -> Iterable[PassRef]:
        return (ref for step in self.steps for ref in step.passes)

    def key(self) -> str:
        """Return the text a compiled kernel's cache key covers: steps, options, order, and extension content.

        Raises:
            TritonextError: An extension the pipeline names is not installed or its files cannot be read.
        """
        return self._key

    @functools.cached_property
    def _key(self) -> str:
        steps = [
            {name: str(value) for name, value in vars(step).items() if name not in ("passes", "function")}
            | {"passes": list(map(str, step.passes))}
            for step in self.steps
        ]
        content = [cachekey.extension_digest(identifier) for identifier in self.extensions]
        return cachekey.digest(json.dumps([steps, self.targets, self.languages, content]))

    def prepare(self) -> None:
        """Load every extension the pipeline needs and check the options of its passes.

        Raises:
            TritonextError: An extension is missing or refused.
            OptionError: A pass rejects its options.
        """
        from . import loader

        for identifier in self.extensions:
            if identifier not in loader.loaded():
                loader.load(identifier)
        for ref in self._refs():
            if ref.stock:
                continue
            library = loader.loaded()[ref.extension or _owner(ref)]
            if ref.name not in library.native.plugin.passes:
                raise UnknownPassError(
                    f"the extension {library.id!r} has no pass {ref.name!r}",
                    where=f"pipeline {self.name}",
                    expected=", ".join(library.native.plugin.passes) or "a pass; it has none",
                )
            if ref.fixed_options:
                library.native.check_pass_options(ref.name, " ".join(ref.fixed_options))


def _owner(ref: PassRef) -> str:
    """Return the id of the loaded or installed extension that has the pass."""
    from . import loader, registry

    names: list[str] = []
    for library in loader.loaded().values():
        if ref.name in library.native.plugin.passes:
            return library.id
        names += library.native.plugin.passes
    for installed in registry.installed().values():
        passes = [entry.name for entry in installed.manifest.passes]
        if ref.name in passes:
            return installed.id
        names += passes
    close = difflib.get_close_matches(ref.name, names, n=3)
    raise UnknownPassError(
        f"no extension has a pass {ref.name!r}",
        expected=", ".join(sorted(set(names))) or "a pass of an extension; none is installed or loaded",
        hint=f"did you mean {close[0]!r}" if close else "see `tritonext list`; a stock pass is named by its anchor",
    )


def of_extension(extension: InstalledExtension, /, **options: Any) -> Pipeline:
    """Return the default pipeline of an installed extension.

    The extension's package may define ``pipeline(**options)``; otherwise the manifest's default anchors are used and
    ``options`` are options of its passes: each goes to every pass that has it.

    Args:
        extension: The installed extension.
        options: Options, with underscores where a pass option has hyphens.

    Raises:
        OptionError: No pass of the extension accepts an option.
    """
    from . import loader

    # Loaded first: importing the package may need the library, and the library's parser decides about the options.
    loader.load(extension.id)
    custom = getattr(extension.module(), "pipeline", None)
    if callable(custom):
        return _custom(extension, custom, options)
    return of_passes(extension, **options)


def of_passes(extension: InstalledExtension, /, **options: Any) -> Pipeline:
    """Return the pipeline that places an extension's passes at the anchors of its manifest, and nothing else.

    A package's own ``pipeline`` starts from it where it adds steps to those of the manifest.

    Args:
        extension: The installed extension.
        options: Options of its passes, with underscores where a pass option has hyphens; each goes to every pass that
            has it.

    Raises:
        OptionError: No pass of the extension accepts an option.
    """
    from . import loader

    native = loader.load(extension.id).native
    passes = [entry.name for entry in extension.manifest.passes if entry.position]
    chosen: dict[str, dict[str, Any]] = {name: {} for name in passes}
    for key, value in options.items():
        spelling = key.replace("_", "-")
        refusals = []
        for name in passes:
            try:
                native.check_pass_options(name, f"{spelling}={_option_text(value)}")
            except OptionError as error:
                refusals += error.details or (error.message,)
            else:
                chosen[name][spelling] = value
        if not any(spelling in accepted for accepted in chosen.values()):
            raise OptionError(
                f"no pass of the extension {extension.id!r} accepts the option {key}={value}",
                found=f"{key}={value}",
                details=refusals,
            )
    return from_manifest(extension.manifest, chosen)


def _custom(extension: InstalledExtension, function: Callable, options: Mapping[str, Any]) -> Pipeline:
    """Return what the package's own ``pipeline`` makes of ``options``."""
    try:
        inspect.signature(function).bind(**options)
    except TypeError as error:
        raise OptionError(
            f"the extension {extension.id!r} does not take these options",
            expected=f"pipeline{inspect.signature(function)}",
            found=", ".join(f"{key}={value}" for key, value in options.items()) or "none",
            details=[str(error)],
        ) from error
    result = function(**options)
    if not isinstance(result, Pipeline):
        raise ExtensionError(
            f"the function pipeline of the extension {extension.id!r} returned something unusable",
            expected="a Pipeline",
            found=repr(result),
        )
    return result


def from_manifest(manifest: Manifest, options: Mapping[str, Mapping[str, Any]] | None = None) -> Pipeline:
    """Return the pipeline that places the passes of ``manifest`` at their default anchors.

    Args:
        manifest: Manifest of the extension.
        options: Options by pass name.
    """
    options = options or {}
    placed = [entry for entry in manifest.passes if entry.position]
    steps = []
    for entry in placed:
        ref = PassRef(entry.name, options.get(entry.name, {}), extension=manifest.id)
        for backend, anchor in entry.anchors:
            step = _pass_step(entry.position, entry.stage, anchor, [ref], (backend,))
            steps.append(replace(step, languages=entry.languages))
    languages = tuple(sorted({"triton"}.union(*(entry.languages for entry in placed)), reverse=True))
    return Pipeline(
        tuple(steps), name=manifest.id, targets=manifest.targets, languages=languages, extension=manifest.id
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tritonext pipeline``; see :mod:`tritonext.pipeline_cli`."""
    from tritonext import pipeline_cli

    return pipeline_cli.main(arguments)


if __name__ == "__main__":
    from .cli import guarded

    raise SystemExit(guarded(main))
