"""Running a kernel: its arguments, its functions, its programs one after another."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.runtime.jit import ConstexprFunction, JITFunction

from tritonext.errors import TritonextError, UserError
from tritonext.interpret import Builder, Comparison, bfloat16_bits, interpreted, scalar, widen
from tritonext.language import interpretation, op_name

from ..compat import OPTION, check_grid, cluster_shape
from .blackwell import Context
from .errors import ExecutionError, UnsupportedOperation
from .machine import Machine, Site
from .memory import GlobalMemory
from .operations import Operations, Pipeline
from .rewriting import RUNTIME, Place, names_other_block, rewrite
from .scheduler import Abandoned
from .values import Barriers, Buffer, PendingHandle, plain, to_int

__all__ = ["Descriptor", "Report", "Typed", "run"]

# Not resolved, because code knows its file by the path it was imported from.
_LIBRARIES = (*(str(Path(module.__file__).parent) for module in (triton, np)), str(Path(__file__).parents[1]))
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", OPTION)
_HINTS = {
    "inline_asm_elementwise": "call a function that is a tl.constexpr argument of the kernel, and pass one that "
    "does the same with tl to the simulator",
}
_TYPES = {
    "float16": tl.float16,
    "float32": tl.float32,
    "float64": tl.float64,
    "bfloat16": tl.bfloat16,
    "float8_e4m3fn": tl.float8e4nv,
    "float8_e5m2": tl.float8e5,
    "bool": tl.int1,
    **{f"{sign}int{bits}": getattr(tl, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class Typed:
    """An array whose bits are of a type that NumPy lacks.

    Attributes:
        data: The bits, as unsigned integers.
        dtype: The type.
    """

    data: np.ndarray
    dtype: tl.dtype

    @classmethod
    def bfloat16(cls, values: np.ndarray) -> Typed:
        """Return numbers rounded to bfloat16."""
        return cls(bfloat16_bits(np.asarray(values, np.float32)), tl.bfloat16)

    def numbers(self) -> np.ndarray:
        """Return the elements as 32-bit floats."""
        return widen(self.data, self.dtype)


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor of the host.

    Attributes:
        array: The tensor; its last dimension is contiguous.
        block_shape: Shape of a tile.
    """

    array: np.ndarray | Typed
    block_shape: list[int]


@dataclass
class Report:
    """What a simulation did.

    Attributes:
        kernel: Name of the kernel.
        seed: The seed that makes it again.
        programs: How many programs ran.
        operations: How often each op of TLX ran.
        switches: How often one task went on where another one stopped.
        shared_bytes: Most bytes of shared memory that a program allocated.
    """

    kernel: str
    seed: int
    programs: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    switches: int = 0
    shared_bytes: int = 0


class _Tasks:
    """A block of tasks that is being collected."""

    def __init__(self, runtime: Runtime, names: dict[str, Any], place: Place) -> None:
        self.runtime = runtime
        self.names = dict(names)
        self.place = place
        self.tasks: list[tuple] = []

    def add(
        self,
        label: str,
        body: Callable[[], None],
        place: tuple[str, int],
        reads: dict[str, int],
        kind: Any = None,
        num_warps: Any = None,
        num_regs: Any = None,
        registers: Any = None,
        replicate: Any = 1,
        warp_group_start_id: Any = None,
    ) -> None:
        machine = self.runtime.machine
        where = Place(*place)
        kind = plain(kind)
        default = kind == "default"
        warps = machine.actor.num_warps if default else plain(kind if num_warps is None else num_warps)
        if warps not in (1, 2, 4, 8, 16):
            raise UserError(
                "a task has no such number of warps",
                where=where,
                expected='num_warps of 1, 2, 4, 8 or 16, or "default" in its place',
                found=warps,
            )
        if warp_group_start_id is not None:
            raise UnsupportedOperation(
                "the simulator does not know this argument of tlx.async_task", where=where, found="warp_group_start_id"
            )
        # The default task runs on the warps of the kernel, its further replicas do not.
        if not default or to_int(replicate) > 1:
            self._refuse_captures(where.file, reads)
        self.tasks.append((label, to_int(replicate), warps, default, partial(self.runtime.guarded, body)))

    def _refuse_captures(self, file: str, reads: dict[str, int]) -> None:
        """Refuse tensors from outside of a task, which are in registers of other warps."""
        for name, line in reads.items():
            value = self.names.get(name)
            if not isinstance(value, tl.tensor) or not value.type.is_block():
                continue
            # One of equal elements may be a constant, which the compiler makes anew in the task.
            handle = value.handle
            if isinstance(handle, PendingHandle) or (handle.data != handle.data.flat[0]).any():
                raise UserError(
                    f"the tensor {name!r} was made outside of the task, in registers of other warps",
                    where=Place(file, line),
                    hint="make it in the task, or pass it through a buffer",
                )

    def run(self) -> None:
        if sum(default for _, _, _, default, _ in self.tasks) != 1:
            raise UserError(
                "a block of tasks has one default task",
                where=self.place,
                expected='with tlx.async_task("default"):',
            )
        self.runtime.machine.run_tasks(self.tasks, self.place)


class Runtime:
    """What rewritten functions call."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.machine: Machine | None = None
        self.operations: Operations | None = None
        self.semantic: Any = None
        self.sites: list[Site] = []
        self.kernel: Any = None
        self._remote: dict[int, bool] = {}
        self._functions: dict[int, tuple[Any, Callable[..., Any]]] = {}

    def here(self) -> Place:
        """Return the line of the kernel, or of a function of its author that it calls, that is running."""
        frames, frame = [], sys._getframe(1)
        while frame is not None:
            frames.append((frame, frame.f_lineno))
            frame = frame.f_back
        return _innermost(frames)

    def unsupported(self, name: str) -> Exception:
        hint = _HINTS.get(name.partition(" ")[0])
        return UnsupportedOperation(
            "the simulator does not know this operation", where=self.here(), found=name, hint=hint
        )

    def guarded(self, body: Callable[[], Any]) -> None:
        """Run code of the kernel; what fails in it is told with its line."""
        try:
            body()
        except (TritonextError, Abandoned):
            raise
        except Exception as error:
            raise ExecutionError(
                "the kernel fails", where=_line_of(error), found=f"{type(error).__name__}: {error or 'no message'}"
            ) from error

    # Called by rewritten code.

    def function(self, given: Any) -> Any:
        """Return what runs when a kernel calls ``given``."""
        if isinstance(given, JITFunction):
            return self._rewritten(given)
        name = op_name(given, "tlx")
        if name is not None:
            return self._operation(given, name)
        if isinstance(given, ConstexprFunction):
            if (function := interpretation(given)) is not None:
                return partial(function, _semantic=self.semantic)
            if op_name(given) is not None:
                raise self.unsupported(f"an op of another extension, {op_name(given)}")
            return lambda *args, **kwargs: given.fn(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        if given is range:
            return tl.range
        if given in (min, max):
            return partial(self._extreme, given)
        return given

    def member(self, owner: Any, name: str) -> Any:
        """Return what runs when a kernel calls ``owner.name``."""
        found = getattr(owner, name)
        if isinstance(found, JITFunction) and isinstance(owner, tl.tensor):
            return partial(self._rewritten(found), owner)
        return self.function(found)

    @staticmethod
    def named(value: Any, name: str) -> Any:
        """Let messages call a buffer or barriers what the kernel calls them."""
        if isinstance(value, Barriers | Context | Pipeline):
            value.rename(name)
        elif isinstance(value, Buffer):
            value.label = name
            value.allocation.name = value.allocation.name or name
        return value

    @staticmethod
    def logical(word: str, *operands: Callable[[], Any]) -> Any:
        value = operands[0]()
        for operand in operands[1:]:
            if isinstance(value, tl.tensor) and value.type.is_block():
                value = getattr(value, f"logical_{word}")(operand())
            elif bool(plain(value)) == (word == "and"):
                value = operand()
        return value

    @staticmethod
    def negated(value: Any) -> Any:
        if isinstance(value, tl.tensor) and value.type.is_block():
            return value.logical_not()
        return not plain(value)

    def tasks(
        self,
        names: dict[str, Any],
        exclusive: Any = False,
        no_ending_cluster_sync: Any = False,
        mbarrier_try_wait_suspend_ns: Any = None,
    ) -> _Tasks:
        if self.machine.actor.replica is not None:
            raise UserError("a block of tasks stands in another one", where=self.here())
        self.machine.actor.block.meets_at_end = not plain(no_ending_cluster_sync)
        return _Tasks(self, names, self.here())

    def meet(self) -> None:
        """Let the blocks of a cluster meet before the first access to another one."""
        if len(self.machine.blocks) > 1:
            self.machine.meet(self.here())

    @staticmethod
    def _extreme(function: Any, *args: Any) -> Any:
        if any(isinstance(value, tl.tensor) and value.type.is_block() for value in args):
            first, second = args
            return tl.minimum(first, second) if function is min else tl.maximum(first, second)
        return function(*args)

    def _operation(self, op: Any, name: str) -> Callable[..., Any]:
        run = getattr(self.operations, name, None) if not name.startswith("_") else None
        if run is None:
            raise self.unsupported(f"tlx.{name}")
        parameters = [item for item in inspect.signature(op.fn).parameters.values() if item.name != "_semantic"]
        signature, known = inspect.Signature(parameters), list(inspect.signature(run).parameters)
        names = {item.name for item in parameters}
        # By name, or by position where the simulator has another name for it.
        targets = {
            item.name: item.name if item.name in known else own
            for item, own in itertools.zip_longest(parameters, known[: len(parameters)])
            if item.name in known or (own is not None and own not in names)
        }

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise UserError(f"the arguments do not fit tlx.{name}", where=self.here(), found=error) from None
            bound.apply_defaults()
            given = {key: plain(value) for key, value in bound.arguments.items()}
            for argument in parameters:
                if argument.name not in targets and given[argument.name] != argument.default:
                    raise self.unsupported(f"the argument {argument.name} of tlx.{name}")
            self.report.operations[name] += 1
            self.machine.scheduler.switch()
            return run(**{target: given[key] for key, target in targets.items()})

        return call

    @staticmethod
    def _scope_name(function: JITFunction, scope: dict[str, Any], node: ast.expr) -> str | None:
        """Return the name of the op of TLX that an expression of a function stands for."""
        called = Runtime._value(function, scope, node)
        return None if called is None else op_name(called, "tlx")

    @staticmethod
    def _value(function: JITFunction, scope: dict[str, Any], node: ast.expr) -> Any:
        # Of names alone: anything else would be run, here, to know what it has.
        owner = node
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        if not isinstance(owner, ast.Name):
            return None
        try:
            return eval(compile(ast.Expression(body=node), function.file_name, "eval"), scope)
        except (AttributeError, NameError):
            # A name of the function itself, which holds no op and no function.
            return None

    def accesses_others(self, function: JITFunction) -> bool:
        """Return whether a function, or one that it calls, accesses other blocks of a cluster."""
        known = self._remote.get(id(function))
        if known is None:
            # Until it is known, for one that calls itself, which does not compile either.
            self._remote[id(function)] = False
            scope = function.get_capture_scope()
            own = not function.file_name.startswith(_LIBRARIES)
            calls = [node for node in ast.walk(function.parse()) if isinstance(node, ast.Call)] if own else []
            known = self._remote[id(function)] = any(self._reaches(function, scope, call) for call in calls)
        return known

    def _reaches(self, function: JITFunction, scope: dict[str, Any], call: ast.Call) -> bool:
        if names_other_block(call):
            return True
        called = self._value(function, scope, call.func)
        return isinstance(called, JITFunction) and self.accesses_others(called)

    def _rewritten(self, function: JITFunction) -> Callable[..., Any]:
        known = self._functions.get(id(function))
        if known is None:
            scope = function.get_capture_scope()
            space = {
                **scope,
                RUNTIME: self,
                "interpreter_semantic": self.semantic,
                "_InterpreterComparison": Comparison,
            }
            reaches = partial(self._reaches, function, scope) if function is self.kernel else lambda call: False
            result = rewrite(function, partial(self._scope_name, function, scope), reaches)
            exec(result.code, space)
            self.sites.extend(result.sites)
            made = space[function.fn.__name__]
            made.__defaults__, made.__kwdefaults__ = function.fn.__defaults__, function.fn.__kwdefaults__
            known = self._functions[id(function)] = (function, made)
        return known[1]


def _innermost(frames: list[tuple[Any, int]]) -> Place:
    """Return the first line of a kernel in frames from the inside out, one of a library if there is no other."""
    places = [Place(frame.f_code.co_filename, line) for frame, line in frames if RUNTIME in frame.f_globals]
    own = [place for place in places if not place.file.startswith(_LIBRARIES)]
    return next(iter(own or places), Place("unknown", 0))


def _line_of(error: BaseException) -> Place:
    """Return the line of a kernel at which an error was raised."""
    return _innermost([(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)][::-1])


def _dtype(name: str, array: np.ndarray) -> tl.dtype:
    found = _TYPES.get(array.dtype.name)
    if found is None:
        raise UserError(
            "an array has elements that no kernel has",
            where=f"argument {name}",
            expected=", ".join(_TYPES),
            found=array.dtype,
        )
    return found


class _Arguments:
    """Makes arguments of the host into values of a kernel."""

    def __init__(self, memory: GlobalMemory, semantic: Any) -> None:
        self._memory = memory
        self._semantic = semantic

    def value(self, name: str, given: Any, kind: str = "") -> Any:
        """Return the value of an argument; ``kind`` is the type that an annotation gives to a number."""
        if isinstance(given, Typed | np.ndarray):
            return self._pointer(name, given)
        if isinstance(given, Descriptor):
            return self._descriptor(name, given)
        if isinstance(given, tuple):
            return tuple(self.value(f"{name}[{index}]", item) for index, item in enumerate(given))
        given = given.item() if isinstance(given, np.generic) else given
        if kind and isinstance(given, bool | int | float):
            return scalar(given, tl.str_to_ty(kind, None))
        if isinstance(given, float):
            return scalar(given, tl.float32)
        if isinstance(given, bool | int):
            if not -(2**63) <= given < 2**64:
                raise UserError("a number is too large", where=f"argument {name}", expected="64 bits", found=given)
            return self._semantic.to_tensor(given)
        if given is None or isinstance(given, tl.constexpr):
            return given
        raise UserError(
            "an argument has a type that kernels do not take",
            where=f"argument {name}",
            expected="a NumPy array, a number, or Typed or Descriptor of tritonext_tlx.simulator",
            found=type(given).__name__,
        )

    def _pointer(self, name: str, given: Any, gaps: bool = False) -> tl.tensor:
        array, dtype = (given.data, given.dtype) if isinstance(given, Typed) else (given, _dtype(name, given))
        if not isinstance(array, np.ndarray) or not isinstance(dtype, tl.dtype):
            raise UserError(
                "an array has no such bits or type",
                where=f"argument {name}",
                expected="Typed(a NumPy array of unsigned integers, a type such as tl.bfloat16)",
                found=f"Typed({type(array).__name__}, {dtype!r})",
            )
        return scalar(self._memory.add(name, array, gaps), tl.pointer_type(dtype))

    def _descriptor(self, name: str, given: Descriptor) -> Any:
        array = given.array.data if isinstance(given.array, Typed) else given.array
        if not isinstance(array, np.ndarray):
            raise UserError(
                "a descriptor describes an array",
                where=f"argument {name}",
                expected="a NumPy array, or Typed of tritonext_tlx.simulator",
                found=type(array).__name__,
            )
        block = given.block_shape
        whole = isinstance(block, tuple | list) and all(isinstance(size, int) and size > 0 for size in block)
        if not whole or not block or len(block) != array.ndim or any(size & (size - 1) for size in block):
            raise UserError(
                "a descriptor has no such tile",
                where=f"argument {name}, block_shape",
                expected=f"a power of two for each dimension of the array, which has {array.ndim}",
                found=repr(block),
            )
        strides = [stride // array.itemsize for stride in array.strides]
        if strides[-1] != 1 or any(stride * array.itemsize % 16 for stride in strides[:-1]):
            raise UserError(
                "a descriptor cannot describe the array",
                where=f"argument {name}",
                expected="a contiguous last dimension, and strides of multiples of 16 bytes",
                found=f"strides of {array.strides} bytes",
            )
        # The copy engine stays inside of the shape, so it matters not what lies between.
        pointer = self._pointer(name, given.array, gaps=True)
        try:
            return self._semantic.make_tensor_descriptor(
                pointer,
                [self._semantic.to_tensor(size) for size in array.shape],
                [*(self._semantic.to_tensor(stride) for stride in strides[:-1]), tl.constexpr(1)],
                [tl.constexpr(size) for size in given.block_shape],
            )
        except ValueError as error:
            raise UserError("a descriptor cannot be made", where=f"argument {name}", found=error) from None


def _grid(given: Any) -> tuple[int, int, int]:
    """Return the sizes of a grid.

    Raises:
        UserError: They are no three whole numbers, or more than a GPU has (CUDA C++ Programming Guide, technical
            specifications).
    """
    sizes = given if isinstance(given, tuple | list) else (given,)
    whole = all(isinstance(size, int | np.integer) and not isinstance(size, bool) for size in sizes)
    limits = (2**31 - 1, 2**16 - 1, 2**16 - 1)
    if not whole or len(sizes) > len(limits) or not all(0 <= size <= most for size, most in zip(sizes, limits)):
        raise UserError(
            "the grid has no such size",
            where="argument grid",
            expected="up to three whole numbers, such as (16,), of at most " + ", ".join(map(str, limits)),
            found=repr(given),
        )
    return (*map(int, sizes), *(1,) * (len(limits) - len(sizes)))


def _bind(kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments by name, and the options."""
    options = {key: kwargs.pop(key) for key in list(kwargs) if key in _OPTIONS and key not in kernel.arg_names}
    if options.get("num_ctas", 1) != 1:
        raise UnsupportedOperation(
            "the simulator has no tensors that are spread over a cluster",
            where="option num_ctas",
            expected=1,
            found=options["num_ctas"],
            hint="clusters of ctas_per_cga=(n, 1, 1) are simulated",
        )
    warps = options.get("num_warps", 4)
    if warps not in (1, 2, 4, 8, 16, 32):
        raise UserError(
            "a kernel has no such number of warps",
            where="option num_warps",
            expected="1, 2, 4, 8, 16 or 32",
            found=repr(warps),
        )
    options[OPTION] = (1, 1, 1) if options.get(OPTION) is None else cluster_shape(options[OPTION])
    try:
        bound = inspect.signature(kernel.fn).bind(*args, **kwargs)
    except TypeError as error:
        raise UserError("the arguments do not fit the kernel", where=kernel.__name__, found=error) from None
    bound.apply_defaults()
    return dict(bound.arguments), options


def run(kernel: Any, grid: Any, args: tuple, seed: int, kwargs: dict[str, Any]) -> Report:
    """Do what :func:`tritonext_tlx.simulate` says."""
    if not isinstance(kernel, JITFunction):
        raise UserError(
            "a simulation takes a kernel",
            expected="a function decorated with @triton.jit",
            found=type(kernel).__name__,
            hint="pass the .fn of an autotuned kernel with the values of its configuration, and unset TRITON_INTERPRET",
        )
    given, options = _bind(kernel, args, kwargs)
    parameters = {parameter.name: parameter for parameter in kernel.params}
    report = Report(kernel.__name__, seed)
    runtime = Runtime(report)
    memory = GlobalMemory(runtime.here)
    builder = Builder(memory, runtime.unsupported)
    with np.errstate(all="ignore"), interpreted(builder, runtime.function) as semantic:
        runtime.semantic = semantic
        runtime.operations = Operations(memory, semantic)
        convert = _Arguments(memory, semantic)
        values = {}
        for name, value in given.items():
            parameter = parameters[name]
            constant = parameter.is_constexpr
            values[name] = plain(value) if constant else convert.value(name, value, parameter.annotation_type)
        sizes = _grid(grid({**given}) if callable(grid) else grid)
        builder.set_grid_dim(*sizes)
        shape = options[OPTION]
        blocks = math.prod(shape)
        check_grid(sizes, shape)
        clusters = list(np.ndindex(tuple(size // part for size, part in zip(sizes, shape))))
        # Ranks count along the first axis first.
        ranks = [place[::-1] for place in np.ndindex(shape[::-1])]
        random.Random(f"{seed} order").shuffle(clusters)
        runtime.kernel = kernel
        function = runtime.function(kernel)
        remote = runtime.accesses_others(kernel)
        choices = random.Random(f"{seed} launch")

        def take_work() -> tuple[int, ...] | None:
            # Blocks that other processors started meanwhile are not to be had.
            if not clusters or choices.random() >= 0.8:
                return None
            return tuple(at * part for at, part in zip(clusters.pop(), shape))

        while clusters:
            first = [at * part for at, part in zip(clusters.pop(0), shape)]
            programs = [tuple(at + step for at, step in zip(first, rank)) for rank in ranks]
            machine = Machine(
                f"{seed} {programs[0]}",
                options.get("num_warps", 4),
                runtime.here,
                runtime.sites,
                programs,
                lambda program: builder.set_grid_idx(*program),
            )
            machine.take_work = take_work
            machine.cluster_shape = shape
            runtime.machine = runtime.operations.machine = machine

            def body(machine: Machine = machine) -> None:
                runtime.guarded(partial(function, **values))
                if blocks > 1:
                    machine.leave(Place(kernel.file_name, kernel.def_file_line_number), meets=remote)

            machine.run_blocks(body, runtime.here())
            machine.end()
            report.programs += blocks
            report.switches += machine.scheduler.switches
            report.shared_bytes = max(report.shared_bytes, *(block.shared_bytes for block in machine.blocks))
    return report
