"""Running a module: its text, its arguments, its programs."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tritonext._triton import ir
from tritonext.errors import UserError

from .elements import Element
from .execution import Execution, Frame, Kernel
from .machine import Program, Scheduler
from .memory import GlobalMemory, TensorDescriptor
from .module import Operation, Value, parse

__all__ = ["Report", "load", "run"]

ORDERS = ("random", "eager", "lazy")
_ATOMIC = ("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_poll")


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


def load(source: Any, name: str = "<ttgir>") -> Operation:
    """Return the module of a compiled kernel, or of the text of one.

    Args:
        source: A ``triton.compiler.CompiledKernel``, the text of a module, or the path of a file with it.
        name: What messages call a text whose operations have no other location.

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
    text = ir.generic_text(ir.parse_text(source, context, name), context)
    return parse(text, lambda file: ir.source_name(file, name))


def run(
    module: Operation,
    grid: Sequence[int],
    arguments: Sequence[Any] | Mapping[str, Any],
    seed: int,
    order: str,
    limit: int,
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
    name, entry = _entry(kernel)
    values = _bind(entry, arguments, memory, name)
    places = list(itertools.product(*map(range, reversed(sizes))))
    report = Report(name, seed, len(places), kernel.counts, shared_bytes=kernel.shared_bytes)
    together = any(operation.name in _ATOMIC for operation in module.regions[0].walk())
    groups = [places] if together else [[place] for place in places]
    with np.errstate(all="ignore"):
        for number, group in enumerate(groups):
            scheduler = Scheduler(f"{seed}:{number}", order, limit)
            memory.place = lambda scheduler=scheduler: scheduler.current and scheduler.current.operation
            programs = []
            for z, y, x in group:
                program = Program(scheduler, (x, y, z), kernel.shared_bytes, kernel.num_warps)
                start = Execution(kernel, program, program.root, Frame(), {})
                programs.append(program)
                scheduler.start(program.root, start.function(name, values))
            scheduler.run()
            report.switches += scheduler.switches
            for program in programs:
                program.end()
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
