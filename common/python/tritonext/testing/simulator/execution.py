"""Execution of a program: control flow, and the operations that touch memory, barriers and other partitions."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tritonext.testing.findings import (
    AssertionFailure,
    OutOfRange,
    ReadBeforeCompletion,
    UninitializedRead,
    UnsupportedOperation,
)

from .arithmetic import PURE, multiply, result_element
from .elements import Element, element
from .machine import Access, Actor, Barrier, Program, Steps, Waiting
from .memory import GlobalMemory, MemoryView, TensorDescriptor, dense_strides
from .module import Block, Operation, Region, Value

__all__ = ["Execution", "Kernel", "Pending"]

EFFECTS: dict[str, Callable[..., Any]] = {}

# What they are given is for captured values, which are read before anything else, and for the function that is called.
_OWN_USE = ("ttg.warp_specialize", "tt.call")
_TERMINATORS = (
    "scf.yield",
    "scf.condition",
    "tt.return",
    "tt.reduce.return",
    "tt.scan.return",
    "ttg.warp_yield",
    "ttg.warp_return",
)
# What does not change what a program computes, and what the simulator orders anyway.
_NOTHING = (
    "gpu.barrier",
    "llvm.intr.assume",
    "ttg.barrier",
    "ttng.tensormap_fenceproxy_acquire",
    "ttng.fence_mbarrier_init_release_cluster",
)


class Pending:
    """The accumulator of an asynchronous product, until a wait returns it."""

    def __init__(self, access: Access) -> None:
        self.access = access


class Kernel:
    """What all programs of a run share.

    Args:
        module: The module.
        memory: Arrays of the arguments.
        grid: Sizes of the grid.
    """

    def __init__(self, module: Operation, memory: GlobalMemory, grid: tuple[int, int, int]) -> None:
        self.module = module
        self.memory = memory
        self.grid = grid
        self.counts: Counter[str] = Counter()
        self.functions = {
            operation.attributes["sym_name"]: operation
            for operation in module.regions[0].walk()
            if operation.name == "tt.func"
        }
        self.num_warps = int(module.attributes.get("ttg.num-warps", 4))
        self.offsets: dict[Operation, int] = {}
        self.shared_bytes = 0
        self._place()

    def _place(self) -> None:
        """Give each allocation its own bytes, or those that ``allocation.offset`` says."""
        allocated = "ttg.shared" in self.module.attributes
        for operation in self.module.regions[0].walk():
            if operation.name == "ttg.local_alloc":
                of = operation.results[0].type
                assert of.element is not None
                size = int(np.prod(of.shape)) * of.element.bytes
                offset = operation.attributes["allocation.offset"] if allocated else -(-self.shared_bytes // 128) * 128
                self.offsets[operation] = offset
                self.shared_bytes = max(self.shared_bytes, offset + size)
        self.shared_bytes = max(self.shared_bytes, self.module.attributes.get("ttg.shared", 0))


class Execution:
    """One actor in one call of a function.

    Attributes:
        descriptors: Descriptors that the program made, by the address they lie at.
        base: Where the shared memory of the function starts.
        values: What each value is.
    """

    def __init__(
        self, kernel: Kernel, program: Program, actor: Actor, descriptors: dict[int, Any], base: int = 0
    ) -> None:
        self.kernel = kernel
        self.program = program
        self.actor = actor
        self.descriptors = descriptors
        self.base = base
        self.values: dict[Value, Any] = {}

    # Values.

    def raw(self, value: Value) -> Any:
        """Return what a value is, maybe an accumulator that is still computed."""
        return self.values[value]

    def get(self, value: Value) -> Any:
        """Return what a value is.

        Raises:
            ReadBeforeCompletion: It is an accumulator that no wait has returned yet.
        """
        found = self.values[value]
        if isinstance(found, Pending):
            raise ReadBeforeCompletion(
                "the accumulator of a product is used before the product was waited for",
                where=self.actor.operation,
                expected="the result of a ttng.warp_group_dot_wait that covers it",
                found=str(found.access),
            )
        return found

    def integer(self, value: Value) -> int:
        return int(self.get(value))

    def integers(self, values: Iterable[Value]) -> list[int]:
        return [int(self.get(value)) for value in values]

    def holds(self, predicate: list[Value]) -> bool:
        """Return whether an optional predicate is true."""
        return not predicate or bool(self.get(predicate[0]))

    def barrier(self, value: Value) -> Barrier:
        """Return the barrier that lies in a view."""
        view = self.get(value)
        barriers = self.program.barriers
        if view.offset not in barriers:
            barriers[view.offset] = Barrier(self.program, view.label)
        return barriers[view.offset]

    # Control.

    def function(self, name: str, arguments: list[Any]) -> Steps:
        return (yield from self.region(self.kernel.functions[name].regions[0], arguments))

    def region(self, region: Region, arguments: list[Any]) -> Steps:
        """Run a region, and return the values that it ends with."""
        block, labels = region.blocks[0], {block.label: block for block in region.blocks}
        while True:
            self._bind(block, arguments)
            for operation in block.operations:
                self.actor.operation = operation
                name = operation.name
                if "allocation.size" in operation.attributes and name not in _OWN_USE:
                    yield None
                    self._use_scratch(operation)
                if name == "arith.select" and operation.operands[0].type.kind == "scalar":
                    # What is passed on may be under way, as through an scf.if.
                    chosen = operation.operands[1 if self.get(operation.operands[0]) else 2]
                    self.keep(operation, self.raw(chosen))
                elif (pure := PURE.get(name)) is not None:
                    self.keep(operation, pure(operation, *map(self.get, operation.operands)))
                elif name in _TERMINATORS:
                    return [self.raw(operand) for operand in operation.operands]
                elif name.startswith("cf."):
                    block, arguments = self._branch(operation, labels)
                    break
                else:
                    effect = EFFECTS.get(name)
                    if effect is None:
                        raise self._unsupported(operation)
                    self.kernel.counts[name] += 1
                    result = effect(self, operation)
                    if inspect.isgenerator(result):
                        result = yield from result
                        self.actor.operation = operation
                    self.keep(operation, result)
            else:
                return []

    def _use_scratch(self, operation: Operation) -> None:
        """Write the shared memory through which an operation moves elements between threads."""
        size, offset = operation.attributes["allocation.size"], self.base + operation.attributes["allocation.offset"]
        view = MemoryView(self.program.memory, "scratch memory", offset, (size,), (1,), element("i8"))
        self.program.write(view, self.program.new_access(self.actor, operation), generic=True)
        view.of(view.memory.filled)[...] = False

    @staticmethod
    def _unsupported(operation: Operation) -> UnsupportedOperation:
        return UnsupportedOperation("the simulator does not know an operation", where=operation, found=operation.name)

    def _bind(self, block: Block, arguments: list[Any]) -> None:
        self.values.update(zip(block.arguments, arguments, strict=True))

    def _branch(self, operation: Operation, labels: dict[str, Block]) -> tuple[Block, list[Any]]:
        if operation.name == "cf.br":
            return labels[operation.successors[0]], [self.raw(operand) for operand in operation.operands]
        if operation.name != "cf.cond_br":
            raise self._unsupported(operation)
        condition, *passed = operation.segments()
        taken = 0 if self.get(condition[0]) else 1
        return labels[operation.successors[taken]], [self.raw(operand) for operand in passed[taken]]

    def keep(self, operation: Operation, result: Any) -> None:
        """Keep what an operation gave."""
        results = operation.results
        if len(results) == 1 and not isinstance(result, list):
            self.values[results[0]] = result
        elif results:
            self.values.update(zip(results, result, strict=True))

    def combine(self, region: Region, arguments: list[np.ndarray]) -> list[np.ndarray]:
        """Run a region of operations without side effects, on whole arrays in place of its scalars."""
        block = region.blocks[0]
        self._bind(block, arguments)
        for operation in block.operations:
            if operation.name in _TERMINATORS:
                return [self.get(operand) for operand in operation.operands]
            pure = PURE.get(operation.name)
            if pure is None:
                raise self._unsupported(operation)
            self.actor.operation = operation
            operands = [self.get(operand) for operand in operation.operands]
            result = pure(operation, *operands)
            self.keep(operation, result)
        raise AssertionError("a region without an end")

    def pointee(self, value: Value) -> Element:
        of = value.type.element
        assert of is not None
        assert of.pointee is not None
        return of.pointee


def _effect(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        EFFECTS.update(dict.fromkeys(names, function))
        return function

    return register


@_effect(*_NOTHING)
def _nothing(run: Execution, operation: Operation) -> None:
    return None


# Control flow.


@_effect("scf.for")
def _for(run: Execution, operation: Operation) -> Steps:
    low, high, step = run.integers(operation.operands[:3])
    values = [run.raw(operand) for operand in operation.operands[3:]]
    counter = operation.regions[0].blocks[0].arguments[0].type.element
    assert counter is not None
    if operation.attributes.get("unsignedCmp"):
        mask = (1 << counter.bytes * 8) - 1
        low, high = low & mask, high & mask
    for index in range(low, high, step):
        values = yield from run.region(operation.regions[0], [counter.cast(np.array(index)), *values])
    return values


@_effect("scf.while")
def _while(run: Execution, operation: Operation) -> Steps:
    values = [run.raw(operand) for operand in operation.operands]
    while True:
        go_on, *values = yield from run.region(operation.regions[0], values)
        if not go_on:
            return values
        values = yield from run.region(operation.regions[1], values)
        yield None


@_effect("scf.if")
def _if(run: Execution, operation: Operation) -> Steps:
    region = operation.regions[0 if run.get(operation.operands[0]) else 1]
    return (yield from run.region(region, [])) if region.blocks[0].operations else []


@_effect("tt.call")
def _call(run: Execution, operation: Operation) -> Steps:
    arguments = [run.raw(operand) for operand in operation.operands]
    base = run.base + operation.attributes.get("allocation.offset", 0)
    inner = Execution(run.kernel, run.program, run.actor, run.descriptors, base)
    return (yield from inner.function(operation.attributes["callee"], arguments))


@_effect("ttg.warp_specialize")
def _warp_specialize(run: Execution, operation: Operation) -> Steps:
    default, container = operation.regions
    partitions = container.blocks[0].operations[-1]
    captured = [run.raw(operand) for operand in (*operation.operands, *partitions.operands)]
    program, parent = run.program, run.actor
    children = []
    warps = operation.attributes["partitionNumWarps"]
    for number, (region, num_warps) in enumerate(zip(partitions.regions, warps, strict=True)):
        actor = program.new_actor(f"partition {number}", num_warps, parent)
        child = Execution(run.kernel, program, actor, run.descriptors, run.base)
        children.append(actor)
        program.scheduler.start(actor, child.region(region, captured))
    parent.clock[parent.tid] += 1
    yield None
    values = yield from run.region(default, [])
    yield Waiting(
        lambda: not any(child in program.actors for child in children), lambda: "its partitions", operation, others=True
    )
    for child in children:
        np.maximum(parent.clock, child.clock, out=parent.clock)
    return values


# The grid, and what is printed.


@_effect("tt.get_program_id")
def _program_id(run: Execution, operation: Operation) -> Any:
    return np.array(run.program.place[operation.attributes["axis"]], np.int32)


@_effect("tt.get_num_programs")
def _num_programs(run: Execution, operation: Operation) -> Any:
    return np.array(run.kernel.grid[operation.attributes["axis"]], np.int32)


@_effect("tt.assert")
def _assert(run: Execution, operation: Operation) -> None:
    if not np.all(run.get(operation.operands[0])):
        raise AssertionFailure(
            "an assertion of the kernel fails",
            where=operation,
            found=operation.attributes["message"],
            details=[f"in {run.actor} of program {run.program.place}"],
        )


@_effect("tt.print")
def _print(run: Execution, operation: Operation) -> None:
    values = [np.array2string(np.asarray(run.get(operand))) for operand in operation.operands]
    print(f"{run.program.place}{operation.attributes['prefix']}", *values)


# Reductions, which run regions.


@_effect("tt.reduce")
def _reduce(run: Execution, operation: Operation) -> Any:
    axis = operation.attributes["axis"]
    parts = [np.moveaxis(run.get(operand), axis, 0) for operand in operation.operands]
    while (size := len(parts[0])) > 1:
        half = size // 2
        parts = run.combine(operation.regions[0], [part[:half] for part in parts] + [part[half:] for part in parts])
    return [part[0] for part in parts]


@_effect("tt.scan")
def _scan(run: Execution, operation: Operation) -> Any:
    axis, reverse = operation.attributes["axis"], operation.attributes["reverse"]
    parts = [np.array(np.moveaxis(run.get(operand), axis, 0)) for operand in operation.operands]
    parts = [part[::-1].copy() if reverse else part for part in parts]
    distance = 1
    while distance < len(parts[0]):
        done = run.combine(
            operation.regions[0], [part[:-distance] for part in parts] + [part[distance:] for part in parts]
        )
        parts = [np.concatenate((part[:distance], new)) for part, new in zip(parts, done)]
        distance *= 2
    return [np.moveaxis(part[::-1] if reverse else part, 0, axis) for part in parts]


# Global memory.


@_effect("tt.load")
def _load(run: Execution, operation: Operation) -> Any:
    pointer, mask, other = operation.segments()
    of = run.pointee(pointer[0])
    fill = of.encode(run.get(other[0])) if other else None
    addresses = np.asarray(run.get(pointer[0]))
    chosen = np.broadcast_to(run.get(mask[0]), addresses.shape) if mask else None
    if fill is not None and chosen is not None:
        data = run.kernel.memory.load(addresses, chosen, None, of)
        return of.decode(np.where(chosen, data, fill))
    return of.decode(run.kernel.memory.load(addresses, chosen, None, of))


@_effect("tt.store")
def _store(run: Execution, operation: Operation) -> None:
    pointer, value, *mask = operation.operands
    of = run.pointee(pointer)
    addresses = np.asarray(run.get(pointer))
    chosen = np.broadcast_to(run.get(mask[0]), addresses.shape) if mask else None
    run.kernel.memory.store(addresses, of.encode(run.get(value)), chosen, of)


# Numbers of the enumeration RMWOp.
_ATOMICS: dict[int, Callable[[Any, Any], Any]] = {
    1: lambda old, new: old & new,
    2: lambda old, new: old | new,
    3: lambda old, new: old ^ new,
    4: lambda old, new: old + new,
    5: lambda old, new: old + new,
    6: max,
    7: min,
    8: max,
    9: min,
    10: lambda old, new: new,
}


@_effect("tt.atomic_rmw")
def _atomic(run: Execution, operation: Operation) -> Steps:
    yield None
    pointer, value, *mask = operation.operands
    of, kind = run.pointee(pointer), operation.attributes["atomic_rmw_op"]
    addresses = np.asarray(run.get(pointer))
    chosen = np.broadcast_to(run.get(mask[0]) if mask else True, addresses.shape)
    values = np.broadcast_to(run.get(value), addresses.shape).reshape(-1)

    def replace(at: int, old: Any) -> Any:
        was, new = of.decode(np.asarray(old)), np.asarray(values[at])
        if kind in (8, 9):
            was, new = was.view(of.unsigned), new.view(of.unsigned)
            return np.asarray(_ATOMICS[kind](was, new)).view(of.stored)
        return of.encode(of.cast(_ATOMICS[kind](was, new)))

    return of.decode(run.kernel.memory.update(addresses, chosen, of, replace))


@_effect("tt.atomic_cas")
def _compare_and_swap(run: Execution, operation: Operation) -> Steps:
    yield None
    pointer, expected, new = operation.operands
    of = run.pointee(pointer)
    addresses = np.asarray(run.get(pointer))
    before = np.broadcast_to(of.encode(run.get(expected)), addresses.shape).reshape(-1)
    after = np.broadcast_to(of.encode(run.get(new)), addresses.shape).reshape(-1)
    everywhere = np.ones(addresses.shape, bool)
    return of.decode(
        run.kernel.memory.update(addresses, everywhere, of, lambda at, old: after[at] if old == before[at] else old)
    )


@_effect("ttg.global_scratch_alloc")
def _scratch(run: Execution, operation: Operation) -> Any:
    size = operation.attributes["nbytes"]
    return np.array(run.kernel.memory.add("scratch memory", np.zeros(size, np.uint8)), np.int64)


# Descriptors.


@_effect("tt.make_tensor_descriptor")
def _make_descriptor(run: Execution, operation: Operation) -> TensorDescriptor:
    base, *rest = operation.operands
    rank = (len(rest)) // 2
    of = operation.results[0].type
    element = run.pointee(base)
    fill = np.array(np.nan) if operation.attributes.get("padding") == 2 else np.array(0)
    strides = tuple(stride * element.bytes for stride in run.integers(rest[rank:]))
    return TensorDescriptor(
        run.integer(base),
        tuple(run.integers(rest[:rank])),
        strides,
        element,
        of.shape,
        fill=element.encode(fill.astype(element.computed))[()],
    )


@_effect("ttng.tensormap_create")
def _create_tensormap(run: Execution, operation: Operation) -> None:
    at, base, box, sizes, strides, _ = operation.segments()
    element = run.pointee(base[0])
    fill = np.array(np.nan if operation.attributes["fill_mode"] == 1 else 0).astype(element.computed)
    run.descriptors[run.integer(at[0])] = TensorDescriptor(
        run.integer(base[0]),
        tuple(reversed(run.integers(sizes))),
        (*reversed(run.integers(strides)), element.bytes),
        element,
        (),
        tuple(reversed(run.integers(box))),
        element.encode(fill)[()],
    )


@_effect("ttng.reinterpret_tensor_descriptor")
def _reinterpret_descriptor(run: Execution, operation: Operation) -> TensorDescriptor:
    address = run.integer(operation.operands[0])
    if address not in run.descriptors:
        raise UninitializedRead(
            "a descriptor is used that was not made", where=operation, expected="ttng.tensormap_create before"
        )
    made = run.descriptors[address]
    block = operation.results[0].type.shape
    # The innermost dimension of a box is as wide as a row of the swizzle.
    expected = tuple(min(size, 256) for size in block[:-1])
    if made.box[:-1] != expected[-len(made.box) + 1 :] or len(made.box) != len(block):
        raise OutOfRange(
            "a descriptor moves boxes of another shape than it is used for",
            where=operation,
            expected=f"box sizes {expected} but for the last",
            found=f"{made.box}",
        )
    return TensorDescriptor(made.address, made.shape, made.strides, made.element, block, made.box, made.fill)


Place = tuple[np.ndarray, "np.ndarray | None"]


def _block(descriptor: TensorDescriptor, coordinates: list[Any], shape: tuple[int, ...]) -> Place:
    """Return where a block lies, or rows when the first coordinate is a tensor of their numbers."""
    if np.ndim(coordinates[0]):
        return descriptor.locate_rows(coordinates[0], int(coordinates[1]), shape[-1])
    return descriptor.locate([int(coordinate) for coordinate in coordinates])


def _read_block(run: Execution, descriptor: TensorDescriptor, place: Place) -> np.ndarray:
    addresses, mask = place
    data = run.kernel.memory.load(addresses, mask, None, descriptor.element, "descriptor load")
    return data if mask is None else np.where(mask, data, descriptor.fill)


def _write_block(run: Execution, descriptor: TensorDescriptor, place: Place, data: np.ndarray) -> None:
    addresses, mask = place
    data = data.reshape(addresses.shape)
    run.kernel.memory.store(addresses, data, mask, descriptor.element, "descriptor store")


# Numbers of the enumeration DescriptorReduceKind.
_REDUCTIONS: dict[int, Callable[[Any, Any], Any]] = {
    1: np.add,
    2: np.minimum,
    3: np.maximum,
    4: lambda old, new: np.where(old >= new, 0, old + 1),
    5: lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
    6: np.bitwise_and,
    7: np.bitwise_or,
    8: np.bitwise_xor,
}


def _reduce_block(
    run: Execution, operation: Operation, descriptor: TensorDescriptor, place: Place, data: np.ndarray
) -> None:
    of = descriptor.element
    kind = _REDUCTIONS[operation.attributes["kind"]]
    old = of.decode(_read_block(run, descriptor, place))
    new = of.decode(data.reshape(old.shape))
    _write_block(run, descriptor, place, of.encode(of.cast(kind(old, new))))


@_effect("tt.descriptor_load", "tt.descriptor_gather")
def _load_block(run: Execution, operation: Operation) -> Any:
    descriptor, *coordinates = map(run.get, operation.operands)
    of, shape = result_element(operation), operation.results[0].type.shape
    place = _block(descriptor, coordinates, shape)
    return of.decode(_read_block(run, descriptor, place)).reshape(shape)


@_effect("tt.descriptor_store", "tt.descriptor_reduce")
def _store_block(run: Execution, operation: Operation) -> Steps:
    yield None
    descriptor, value, *coordinates = map(run.get, operation.operands)
    place, data = _block(descriptor, coordinates, value.shape), descriptor.element.encode(value)
    if operation.name == "tt.descriptor_reduce":
        _reduce_block(run, operation, descriptor, place, data)
    else:
        _write_block(run, descriptor, place, data)


@_effect("tt.descriptor_scatter")
def _scatter_block(run: Execution, operation: Operation) -> Steps:
    yield None
    descriptor, rows, column, value = map(run.get, operation.operands)
    _write_block(run, descriptor, _block(descriptor, [rows, column], value.shape), descriptor.element.encode(value))


# Shared memory.


@_effect("ttg.local_alloc")
def _allocate(run: Execution, operation: Operation) -> Steps:
    yield None
    of = operation.results[0].type
    assert of.element is not None
    view = MemoryView(
        run.program.memory,
        f"%{operation.results[0].name}",
        run.base + run.kernel.offsets[operation],
        of.shape,
        dense_strides(of.shape, of.element.bytes),
        of.element,
    )
    access = run.program.new_access(run.actor, operation)
    if operation.operands:
        value = run.get(operation.operands[0])
        run.program.write(view, access, generic=True)
        view.put(of.element.encode(value))
    else:
        # Its bytes are given anew, so whoever still accesses them is too late.
        run.program.check_write(view, access, "given anew")
        view.of(view.memory.filled)[...] = False
    return view


@_effect("ttg.local_dealloc")
def _deallocate(run: Execution, operation: Operation) -> Steps:
    yield None
    view = run.get(operation.operands[0])
    run.program.check_write(view, run.program.new_access(run.actor, operation), "freed")
    view.of(view.memory.filled)[...] = False


@_effect("ttg.local_store")
def _local_store(run: Execution, operation: Operation) -> Steps:
    yield None
    value, target = map(run.get, operation.operands)
    run.program.write(target, run.program.new_access(run.actor, operation), generic=True)
    target.put(target.element.encode(value))


@_effect("ttg.local_load")
def _local_load(run: Execution, operation: Operation) -> Steps:
    yield None
    view = run.get(operation.operands[0])
    run.program.read(view, run.program.new_access(run.actor, operation))
    return result_element(operation).decode(view.fetch())


@_effect("ttg.memdesc_index")
def _index(run: Execution, operation: Operation) -> MemoryView:
    view, at = map(run.get, operation.operands)
    try:
        return view.index(int(at))
    except IndexError:
        raise OutOfRange(
            "a slot is out of range", where=operation, expected=f"0 to {view.shape[0] - 1} of {view}", found=int(at)
        ) from None


@_effect("ttg.memdesc_subslice", "ttg.memdesc_subview")
def _slice(run: Execution, operation: Operation) -> MemoryView:
    view = run.get(operation.operands[0])
    offsets = operation.attributes.get("offsets")
    if offsets is None:
        offsets = run.integers(operation.operands[1:])
    shape = operation.results[0].type.shape
    try:
        return view.slice(tuple(offsets), shape)
    except IndexError:
        raise OutOfRange(
            "a slice is out of range", where=operation, expected=f"a part of {view}, {view.shape}", found=offsets
        ) from None


@_effect("ttg.memdesc_trans")
def _transpose_view(run: Execution, operation: Operation) -> MemoryView:
    return run.get(operation.operands[0]).transpose(operation.attributes["order"])


@_effect("ttg.memdesc_reshape")
def _reshape_view(run: Execution, operation: Operation) -> MemoryView:
    return run.get(operation.operands[0]).reshape(operation.results[0].type.shape)


@_effect("ttg.memdesc_reinterpret")
def _reinterpret_view(run: Execution, operation: Operation) -> MemoryView:
    of = operation.results[0].type
    return run.get(operation.operands[0]).reinterpret(of.shape, result_element(operation))


@_effect("ttng.fence_async_shared")
def _fence(run: Execution, operation: Operation) -> None:
    run.program.fence(run.actor)


# Copies by threads.


@_effect("ttg.async_copy_global_to_local")
def _copy(run: Execution, operation: Operation) -> Steps:
    yield None
    source, target, mask, other = operation.segments()
    program = run.program
    view, addresses = run.get(target[0]), np.asarray(run.get(source[0]))
    chosen = np.broadcast_to(run.get(mask[0]), addresses.shape) if mask else None
    fill = view.element.encode(run.get(other[0])) if other else 0
    access = program.new_access(run.actor, operation, run.actor.copies)
    program.write(view, access, generic=True)
    program.loads.append(access)
    view.spoil()

    def effect() -> None:
        data = run.kernel.memory.load(addresses, chosen, None, view.element, "copy")
        view.put(data if chosen is None else np.where(chosen, data, fill))

    access.effect = effect
    return None


@_effect("ttg.async_commit_group")
def _commit(run: Execution, operation: Operation) -> None:
    run.actor.groups.append(run.actor.copies.issued)


@_effect("ttg.async_wait")
def _wait_copies(run: Execution, operation: Operation) -> Steps:
    yield None
    groups, left = run.actor.groups, operation.attributes["num"]
    run.program.drain(run.actor, run.actor.copies, groups[-1 - left] if len(groups) > left else 0)


@_effect("ttng.async_copy_mbarrier_arrive")
def _arrive_after_copies(run: Execution, operation: Operation) -> Steps:
    yield None
    barrier, program, actor = run.barrier(operation.operands[0]), run.program, run.actor
    barrier.check_valid(operation, actor)
    if not operation.attributes.get("noIncrement"):
        barrier.pending += 32 * actor.num_warps
    clock = program.release(actor)
    access = program.new_access(actor, operation, actor.copies)
    clock[access.tid] = access.epoch
    access.effect = lambda: barrier.arrive(str(access), operation, 32 * actor.num_warps, clock)


# Barriers.


@_effect("ttng.init_barrier")
def _init_barrier(run: Execution, operation: Operation) -> Steps:
    yield None
    run.barrier(operation.operands[0]).make(run.actor, operation, operation.attributes["count"])


@_effect("ttng.inval_barrier")
def _invalidate_barrier(run: Execution, operation: Operation) -> Steps:
    yield None
    run.barrier(operation.operands[0]).unmake(operation, run.actor)


@_effect("ttng.barrier_expect")
def _expect(run: Execution, operation: Operation) -> Steps:
    yield None
    target, predicate = operation.operands
    if run.get(predicate):
        barrier = run.barrier(target)
        barrier.check_valid(operation, run.actor)
        barrier.bytes += operation.attributes["size"]
        barrier.arrive(f"{operation} in {run.actor}", operation, 1, run.program.release(run.actor))


@_effect("ttng.arrive_barrier")
def _arrive(run: Execution, operation: Operation) -> Steps:
    yield None
    target, *predicate = operation.operands
    if run.holds(predicate):
        barrier = run.barrier(target)
        barrier.check_valid(operation, run.actor)
        clock = run.program.release(run.actor)
        barrier.arrive(f"{operation} in {run.actor}", operation, operation.attributes["count"], clock)


@_effect("ttng.wait_barrier")
def _wait(run: Execution, operation: Operation) -> Steps:
    target, phase, predicate, _ = operation.segments()
    if run.holds(predicate):
        yield None
        parity = run.integer(phase[0]) & 1
        yield from run.program.wait(run.actor, operation, run.barrier(target[0]), parity)


# Copies by descriptors.


def _start_load(
    run: Execution, operation: Operation, descriptor: TensorDescriptor, place: Place, target: Value, view: MemoryView
) -> None:
    """Let a copy fill a view at any time from now on, and then tell a barrier."""
    program, barrier = run.program, run.barrier(target)
    barrier.check_valid(operation, run.actor)
    access = program.new_access(run.actor, operation)
    access.tid, access.epoch, access.barrier = barrier.tid, barrier.phase + 1, barrier
    program.write(view, access, generic=False)
    view.spoil()
    program.loads.append(access)

    def effect() -> None:
        view.put(_read_block(run, descriptor, place).reshape(view.shape))
        barrier.complete(access, view.bytes)

    access.effect = effect
    program.in_flight.append(access)


@_effect("ttng.async_tma_copy_global_to_local")
def _descriptor_copy(run: Execution, operation: Operation) -> Steps:
    yield None
    source, coordinates, offsets, target, result, predicate = operation.segments()
    if offsets:
        raise UnsupportedOperation("the simulator does not know copies of images", where=operation)
    if run.holds(predicate):
        descriptor, view = run.get(source[0]), run.get(result[0])
        place = _block(descriptor, list(map(run.get, coordinates)), view.shape)
        _start_load(run, operation, descriptor, place, target[0], view)


@_effect("ttng.async_tma_gather")
def _gather_rows(run: Execution, operation: Operation) -> Steps:
    yield None
    source, rows, column, target, result, predicate = operation.operands
    if run.get(predicate):
        descriptor, view = run.get(source), run.get(result)
        place = _block(descriptor, [run.get(rows), run.get(column)], view.shape)
        _start_load(run, operation, descriptor, place, target, view)


def _start_store(run: Execution, operation: Operation, source: MemoryView, write: Callable[[np.ndarray], None]) -> None:
    """Let a copy read a view, and later write what it read, at any time from now on."""
    program, actor = run.program, run.actor
    access = program.new_access(actor, operation, actor.stores)
    program.read(source, access, fenced=True)
    written = program.new_access(actor, operation, actor.written)
    data: list[np.ndarray] = []
    access.effect = lambda: data.append(source.fetch())

    def effect() -> None:
        program.complete_until(actor.stores, access)
        write(data[0])

    written.effect = effect


@_effect("ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce")
def _descriptor_copy_back(run: Execution, operation: Operation) -> Steps:
    yield None
    descriptor, *coordinates, source = map(run.get, operation.operands)
    place = _block(descriptor, coordinates, source.shape)
    if operation.name == "ttng.async_tma_reduce":
        _start_store(run, operation, source, lambda data: _reduce_block(run, operation, descriptor, place, data))
    else:
        _start_store(run, operation, source, lambda data: _write_block(run, descriptor, place, data))


@_effect("ttng.async_tma_scatter")
def _scatter_rows(run: Execution, operation: Operation) -> Steps:
    yield None
    descriptor, rows, column, source = map(run.get, operation.operands)
    place = _block(descriptor, [rows, column], source.shape)
    _start_store(run, operation, source, lambda data: _write_block(run, descriptor, place, data))


@_effect("ttng.async_tma_store_wait")
def _wait_stores(run: Execution, operation: Operation) -> Steps:
    yield None
    left = operation.attributes["pendings"]
    run.program.drain(run.actor, run.actor.stores, run.actor.stores.issued - left)
    if not operation.attributes.get("read_only"):
        run.program.drain(run.actor, run.actor.written, run.actor.written.issued - left)


# Products.


@_effect("ttng.warp_group_dot")
def _warp_group_dot(run: Execution, operation: Operation) -> Steps:
    yield None
    if "operandSegmentSizes" in operation.attributes:
        first, second, third, use = operation.segments()
        a, b, c = first[0], second[0], third[0]
    else:
        a, b, c, *use = operation.operands
    program, actor = run.program, run.actor
    left, right, accumulator = run.get(a), run.get(b), run.raw(c)
    used = run.holds(use)
    access = program.new_access(actor, operation, actor.products)
    for operand in (left, right):
        if isinstance(operand, MemoryView):
            program.read(operand, access, fenced=True)
    if isinstance(accumulator, Pending) and accumulator.access.actor is not actor:
        run.get(c)

    def fetch(operand: Any) -> np.ndarray:
        return operand.element.decode(operand.fetch()) if isinstance(operand, MemoryView) else operand

    def effect() -> None:
        start = accumulator.access.result if isinstance(accumulator, Pending) else accumulator
        start = start if used else np.zeros_like(start)
        access.result = multiply(operation, fetch(left), fetch(right), start)

    access.effect = effect
    if operation.attributes.get("isAsync"):
        return Pending(access)
    program.drain(actor, actor.products, actor.products.issued)
    return access.result


@_effect("ttng.warp_group_dot_wait")
def _wait_products(run: Execution, operation: Operation) -> Steps:
    yield None
    program, actor = run.program, run.actor
    program.drain(actor, actor.products, actor.products.issued - operation.attributes["pendings"])
    results = []
    for operand in operation.operands:
        value = run.raw(operand)
        if isinstance(value, Pending):
            access = value.access
            if access.actor is actor and actor.clock[access.tid] >= access.epoch:
                value = access.result
        results.append(value)
    return results
