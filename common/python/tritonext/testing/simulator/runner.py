"""Running a module: its text, its arguments, its programs."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tritonext._triton import ir
from tritonext.errors import UserError
from tritonext.testing.findings import OutOfRange

from .elements import Element
from .execution import Execution, Kernel
from .machine import Program, Scheduler
from .memory import GlobalMemory, TensorDescriptor
from .module import Operation, Value, parse

__all__ = ["Report", "load", "run"]

ORDERS = ("random", "eager", "lazy")
_TARGET = re.compile(r'"?ttg\.target"? = "cuda:(\d+)"')
_ALLOCATION = "nvidia.ttgpuir.allocate_shared_memory_nv"
# The version of PTX does not matter for the size of scratch memory of the targets that are simulated.
_PTX = 86
SHARED_BYTES = 232448
"""What a program may have on Hopper and Blackwell: CUDA Programming Guide, compute capabilities."""

RESIDENT = 64
"""How many programs run at the same time where they have atomic operations."""

_ATOMIC = ("tt.atomic_rmw", "tt.atomic_cas")


@dataclass
class Report:
    """What a simulation did.

    Attributes:
        kernel: Name of the kernel.
        seed: The seed that makes it again.
        programs: How many programs ran.
        operations: How often each operation with a side effect ran.
        switches: How often one partition went on where another one stopped.
        shared_bytes: Bytes of all allocations in shared memory.
    """

    kernel: str
    seed: int
    programs: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    switches: int = 0
    shared_bytes: int = 0


def load(source: Any, name: str = "<ttgir>", *, allocate: bool = True) -> Operation:
    """Return the module of a compiled kernel, or of the text of one.

    Args:
        source: A ``triton.compiler.CompiledKernel``, the text of a module, or the path of a file with it.
        name: What messages call a text whose operations have no other location.
        allocate: Whether shared memory is laid out as stock compilation does it next, so that buffers that are used at
            different times share bytes with each other and with scratch memory. Otherwise each buffer has its own.

    Raises:
        DiagnosticError: The text is no valid module.
        UnsupportedOperation: It has an element type that is not simulated.
    """
    if isinstance(source, Operation):
        return source
    if hasattr(source, "asm"):
        source = source.asm["ttgir"]
    elif isinstance(source, os.PathLike):
        name = os.fspath(source)
        with open(source, encoding="utf-8") as file:
            source = file.read()
    context = ir.context()
    module = ir.parse_text(source, context, name)
    if allocate:
        target = _TARGET.search(source)
        manager = ir.pass_manager(context)
        ir.add_pass(manager, _ALLOCATION, (target[1] if target else 90, _PTX))
        ir.run(manager, module, name)
    printed = ir.text(module, locations=True)
    return parse(ir.generic_text(module, context), printed, lambda file: ir.source_name(file, name))


def run(
    module: Operation,
    grid: Sequence[int],
    arguments: Sequence[Any] | Mapping[str, Any],
    seed: int,
    order: str,
    limit: int,
    fences: bool,
) -> Report:
    """Run all programs of a grid; :func:`tritonext.testing.simulator.simulate` says more."""
    if order not in ORDERS:
        raise UserError("an order is unknown", expected=", ".join(ORDERS), found=repr(order))
    sizes = (*map(int, grid), 1, 1, 1)[:3]
    if int(module.attributes.get("ttg.num-ctas", 1)) != 1:
        raise UserError(
            "the simulator has no clusters", expected="a module with ttg.num-ctas of 1", hint="compile with num_ctas=1"
        )
    memory = GlobalMemory()
    kernel = Kernel(module, memory, sizes)
    if kernel.shared_bytes > SHARED_BYTES:
        raise OutOfRange(
            "the buffers do not fit into shared memory",
            where=f"kernel {_entry(kernel)[0]}",
            expected=f"at most {SHARED_BYTES} bytes",
            found=kernel.shared_bytes,
            hint="use fewer or smaller buffers, or let those that are used at different times share their bytes",
        )
    name, entry = _entry(kernel)
    values = _bind(entry, arguments, memory, name)
    places = list(itertools.product(*map(range, reversed(sizes))))
    report = Report(name, seed, len(places), kernel.counts, shared_bytes=kernel.shared_bytes)
    # Programs that talk to each other have to run at the same time.
    together = any(operation.name in _ATOMIC for operation in module.regions[0].walk())
    waiting = iter(places)

    def start() -> None:
        place = next(waiting, None)
        if place is not None:
            program = Program(scheduler, place[::-1], kernel.shared_bytes, kernel.num_warps)
            execution = Execution(kernel, program, program.root, {})
            scheduler.start(program.root, execution.function(name, values))

    scheduler = Scheduler(str(seed), order, limit, fences, start)
    memory.place = lambda: scheduler.current and scheduler.current.operation
    for _ in range(RESIDENT if together else 1):
        start()
    with np.errstate(all="ignore"):
        scheduler.run()
    report.switches = scheduler.switches
    return report


def _entry(kernel: Kernel) -> tuple[str, Operation]:
    public = [
        (name, function)
        for name, function in kernel.functions.items()
        if function.attributes.get("sym_visibility") != "private"
    ]
    if len(public) != 1:
        raise UserError(
            "a module has one function that is launched",
            expected="one tt.func public",
            found=", ".join(name for name, _ in public) or "none",
        )
    return public[0]


def _bind(
    function: Operation, arguments: Sequence[Any] | Mapping[str, Any], memory: GlobalMemory, name: str
) -> list[Any]:
    """Return the values of the arguments of a function."""
    parameters = function.regions[0].blocks[0].arguments
    groups: list[list[Value]] = []
    for parameter in parameters:
        follows = groups and _is_descriptor(groups[-1][0]) and len(groups[-1]) <= 2 * len(groups[-1][0].type.shape)
        if follows:
            groups[-1].append(parameter)
        else:
            groups.append([parameter])
    names = [group[0].location.name or group[0].name for group in groups]
    where = f"kernel {name}"
    if isinstance(arguments, Mapping):
        if missing := [wanted for wanted in names if wanted not in arguments]:
            raise UserError("arguments are missing", where=where, found=", ".join(missing))
        given = [arguments[wanted] for wanted in names]
    else:
        given = list(arguments)
    if len(given) != len(names) or (isinstance(arguments, Mapping) and len(arguments) != len(names)):
        raise UserError(
            "the arguments are not those of the kernel",
            where=where,
            expected=f"{len(names)}: {', '.join(names)}",
            found=f"{len(arguments)}",
        )
    values: list[Any] = []
    for label, group, value in zip(names, groups, given):
        if _is_descriptor(group[0]):
            values += _descriptor(label, group, value, memory)
        else:
            values.append(_scalar(label, group[0], value, memory))
    return values


def _is_descriptor(value: Value) -> bool:
    return value.type.kind == "descriptor"


def _descriptor(label: str, group: list[Value], value: Any, memory: GlobalMemory) -> list[Any]:
    of = group[0].type
    assert of.element is not None
    if not isinstance(value, np.ndarray) or value.ndim != len(of.shape):
        raise UserError(
            "an argument is no tensor of the rank of its descriptor",
            where=f"argument {label}",
            expected=f"a NumPy array with {len(of.shape)} dimensions",
            found=f"{type(value).__name__} {np.shape(value)}",
        )
    _check_width(label, value, of.element)
    address = memory.add(label, value)
    descriptor = TensorDescriptor(address, value.shape, value.strides, of.element, of.shape)
    strides = [stride // value.itemsize for stride in value.strides]
    rest = [np.array(size, np.int32) for size in value.shape] + [np.array(stride, np.int64) for stride in strides]
    return [descriptor, *rest[: len(group) - 1]]


def _scalar(label: str, parameter: Value, value: Any, memory: GlobalMemory) -> Any:
    of = parameter.type.element
    if parameter.type.kind != "scalar" or of is None:
        raise UserError("the simulator has no such arguments", where=f"argument {label}", found=str(parameter.type))
    if of.name != "ptr":
        return of.cast(np.array(value))
    if not isinstance(value, np.ndarray):
        raise UserError(
            "an argument is no array", where=f"argument {label}", expected="a NumPy array", found=type(value).__name__
        )
    assert of.pointee is not None
    _check_width(label, value, of.pointee)
    return np.array(memory.add(label, value), np.int64)


def _check_width(label: str, value: np.ndarray, of: Element) -> None:
    if value.itemsize != of.bytes:
        raise UserError(
            "an array has elements of another width",
            where=f"argument {label}",
            expected=f"{of.name}, {of.bytes} bytes",
            found=f"{value.dtype}, {value.itemsize} bytes",
        )
