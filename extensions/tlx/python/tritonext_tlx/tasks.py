"""Tasks: parts of a kernel that run at the same time, each on warps of its own (warp specialization)."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import triton
import triton.language as tl

from tritonext.language import typed_builder

from ._arguments import bounded, choice, unsupported
from .definition import NVIDIA_TMA, constant, op, refuse, target_of

__all__ = ["async_task", "async_task_replica_id", "async_tasks", "get_bufidx_phase"]

# 1024 threads; the warps of tasks are given out, and their registers set, in groups of four.
_WARPS = 32
_GROUP = 4
_THREADS = 32
# CUDA C++ Programming Guide, technical specifications: 32-bit registers of a block. PTX ISA, setmaxnreg: the least.
_REGISTERS = 64 * 1024
_LEAST_REGISTERS = 24


@dataclass(frozen=True)
class _Task:
    """A task that was built.

    Attributes:
        op: The MLIR op that holds its code until all tasks are merged.
        num_warps: Its warps; 0 for the default task.
        registers: Registers of each of its threads; None when the compiler decides.
    """

    op: Any
    num_warps: int
    registers: int | None


@dataclass
class _Region:
    """The block of tasks that is being built.

    Attributes:
        block: Identity of the MLIR block it lies in.
        tasks: The tasks so far.
        replica: Number of the replica that is being built; None between tasks.
        num_warps: Warps of the task that is being built.
    """

    block: Any
    tasks: list[_Task] = field(default_factory=list)
    replica: int | None = None
    num_warps: int | None = None


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    previous = getattr(owner, name, None)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, previous)


def _region(semantic: Any) -> _Region | None:
    return getattr(semantic, "tlx_region", None)


def warps_here(semantic: Any) -> int:
    """Return the number of warps that run the code that is being built: those of the task, or of the kernel."""
    region = _region(semantic)
    inside = region is not None and region.num_warps is not None
    return region.num_warps if inside else semantic.builder.options.num_warps


@op(targets=NVIDIA_TMA, block=True)
def async_tasks(
    exclusive: Any = False,
    no_ending_cluster_sync: Any = False,
    mbarrier_try_wait_suspend_ns: Any = None,
    _semantic: Any = None,
    _body: Any = None,
) -> None:
    """Open a block of tasks, which run at the same time; the kernel goes on when all have ended.

    In it stand ``with tlx.async_task(…):`` and ``if`` statements on constants. One task is the default task, which runs
    on the warps of the kernel; a default task that is alone runs like code without tasks.

    Args:
        exclusive: Whether the kernel has no other block of tasks, which is checked.
        no_ending_cluster_sync: Whether the blocks of a cluster end without waiting for each other, in a kernel that
            accesses other blocks in these tasks last. No block may end then before others have accessed it. The wait
            stays where the default task is alone.
        mbarrier_try_wait_suspend_ns: Not supported.

    Raises:
        UserError: The tasks do not fit together or into a block of threads, or an argument is not supported.
        CompilationError: Something else stands in the block, or a task uses a tensor from outside.
    """
    name = "async_tasks"
    alone = choice(name, "exclusive", exclusive, (False, True))
    unsynchronized = choice(name, "no_ending_cluster_sync", no_ending_cluster_sync, (False, True))
    unsupported(name, "mbarrier_try_wait_suspend_ns", mbarrier_try_wait_suspend_ns, None)
    if _region(_semantic) is not None:
        raise refuse(name, "a block of tasks stands in another one", expected="one block of tasks around the tasks")
    _check_statements(_body, _body.statements)
    builder = _semantic.builder
    region = _Region(builder.get_insertion_block().id())
    with _replaced(_semantic, "tlx_region", region):
        _body.emit()
    _check_tasks(name, region.tasks, builder.options.num_warps, builder.options.maxnreg)
    _merge(region.tasks, alone, unsynchronized, _semantic, _body)


def _check_statements(body: Any, statements: Any) -> None:
    for statement in statements:
        if isinstance(statement, ast.If):
            _check_statements(body, [*statement.body, *statement.orelse])
        elif not isinstance(statement, ast.With | ast.Pass) and not _is_text(statement):
            raise body.error(
                "only tasks, and conditions on constants around them, stand in a block of tasks", statement
            )


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a string that documents something."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _check_tasks(name: str, tasks: list[_Task], num_warps: int, maximum: int | None) -> None:
    others = [task for task in tasks if task.num_warps]
    if len(tasks) - len(others) != 1:
        raise refuse(
            name,
            "a block of tasks has one default task",
            expected='with tlx.async_task("default"):',
            found=f"{len(tasks) - len(others)} of them",
        )
    total = num_warps + -(-sum(task.num_warps for task in others) // _GROUP) * _GROUP
    if total > _WARPS:
        raise refuse(
            name,
            "the tasks have too many warps",
            expected=f"at most {_WARPS}, with those of the kernel",
            found=f"{total}, with those of the other tasks rounded up to a multiple of {_GROUP}",
        )
    missing = [task for task in others if task.registers is None]
    if missing and len(missing) != len(others):
        raise refuse(
            "async_task",
            "registers are given for some tasks",
            "num_regs",
            expected="all tasks but the default one, or none",
            found=f"{len(others) - len(missing)} of {len(others)}",
        )
    if others and not missing:
        _check_registers(name, others, num_warps, maximum)


def _check_registers(name: str, others: list[_Task], num_warps: int, maximum: int | None) -> None:
    """Refuse registers that leave the default task too few.

    Stock Triton then drops all of them. It gives registers to groups of four warps, the tasks of more warps first, and
    the default task gets what is left.
    """
    ordered = sorted(others, key=lambda task: -task.num_warps)
    warps = [task.registers for task in ordered for _ in range(task.num_warps)]
    groups = [max(warps[at : at + _GROUP]) for at in range(0, len(warps), _GROUP)]
    total = num_warps + _GROUP * len(groups)
    each = (maximum or _REGISTERS // (total * _THREADS)) // 8 * 8
    left = (each * total - _GROUP * sum(groups)) // num_warps // 8 * 8
    if left < _LEAST_REGISTERS:
        raise refuse(
            name,
            "the registers of the tasks do not fit",
            "num_regs",
            expected=f"at least {_LEAST_REGISTERS} left for each thread of the default task, "
            f"of {each * total * _THREADS} in all",
            found=left,
            details=[
                f"{task.num_warps} warps of {task.registers} registers: {task.num_warps * _THREADS * task.registers}"
                for task in others
            ],
            hint="give the tasks fewer registers or warps",
        )


def _merge(tasks: list[_Task], exclusive: bool, unsynchronized: bool, semantic: Any, body: Any) -> None:
    builder = semantic.builder
    (default,) = (task for task in tasks if not task.num_warps)
    default.op.set_attr("tlx.target", builder.get_string_attr(target_of(semantic)))
    if exclusive:
        default.op.set_attr("tlx.exclusive", builder.get_int32_attr(1))
    facts = {"num_warps": builder.options.num_warps, "threads_per_warp": 32, "num_ctas": builder.options.num_ctas}
    for name, number in facts.items():
        default.op.set_attr(f"tlx.{name}", builder.get_int32_attr(number))
    if unsynchronized:
        default.op.set_attr("tlx.no_ending_cluster_sync", builder.get_unit_attr())
    builder.create_tlx_merge_tasks([builder.get_int32(0)])
    # The op is gone when there was nothing to merge.
    captured = default.op.get_operation().get_str_attr("tlx.captured_tensor") if len(tasks) > 1 else None
    if captured is None:
        return
    tensor, line, column = captured.split("|")
    raise body.error_at(
        f"the tensor {repr(tensor) if tensor else 'used here'} was made outside of the task, in registers of other "
        "warps; make it in the task, or pass it through a buffer",
        int(line),
        int(column),
    )


@op(targets=NVIDIA_TMA, block=True)
def async_task(
    kind: Any = None,
    num_warps: Any = None,
    num_regs: Any = None,
    registers: Any = None,
    replicate: Any = 1,
    warp_group_start_id: Any = None,
    _semantic: Any = None,
    _body: Any = None,
) -> None:
    """Open a task, directly in a block of tasks.

    It sees the scalars, pointers, descriptors, buffers, barriers and constants from before the block, but no tensors:
    those are in registers of the kernel's warps, which only the default task runs on. What it assigns is gone after it.

    Args:
        kind: ``"default"`` for the task on the warps of the kernel, or ``num_warps``.
        num_warps: Warps of the task: 1, 2, 4, 8 or 16.
        num_regs: Registers of each thread, a multiple of 8 from 24 to 256, given for all tasks but the default one or
            for none. The default task gets what the others leave.
        registers: The same as ``num_regs``.
        replicate: How many copies of the task run, told apart by :func:`async_task_replica_id`. Copies of the default
            task but the first have as many warps of their own as the kernel.
        warp_group_start_id: Not supported.

    Raises:
        UserError: An argument is of the wrong kind, out of range or not supported, or no block of tasks is around.
    """
    name = "async_task"
    unsupported(name, "warp_group_start_id", warp_group_start_id, None)
    region = _region(_semantic)
    if region is None or region.replica is not None:
        raise refuse(name, "a task stands outside of a block of tasks", expected="with tlx.async_tasks(): around it")
    builder = _semantic.builder
    if builder.get_insertion_block().id() != region.block:
        raise refuse(name, "a task depends on a value of the kernel", expected="conditions on constants around tasks")
    is_default = constant(kind) == "default"
    if constant(kind) is not None and not is_default:
        if constant(num_warps) is not None:
            raise refuse(
                name, "an argument has no such value", "kind", expected="'default'", found=repr(constant(kind))
            )
        num_warps = kind
    count = _registers(name, num_regs, registers)
    if is_default:
        unsupported(name, "num_warps", num_warps, None, hint="the default task has the warps of the kernel")
        unsupported(name, "num_regs", count, None, hint="the default task has the registers that the others leave")
        warps = builder.options.num_warps
    else:
        warps = choice(name, "num_warps", num_warps, (1, 2, 4, 8, 16))
    for replica in range(bounded(name, "replicate", replicate, 1, _WARPS)):
        own = 0 if is_default and replica == 0 else warps
        with _replaced(region, "replica", replica), _replaced(region, "num_warps", warps):
            task = _Task(_emit(own, count, _semantic, _body), own, count)
        region.tasks.append(task)


def _registers(name: str, num_regs: Any, registers: Any) -> int | None:
    given = [value for value in (constant(num_regs), constant(registers)) if value is not None]
    if len(given) == 2:
        raise refuse(name, "registers are given twice", "registers", expected="num_regs or registers")
    # PTX ISA, setmaxnreg.
    return bounded(name, "num_regs", given[0], 24, 256, 8) if given else None


def _emit(num_warps: int, registers: int | None, semantic: Any, body: Any) -> Any:
    """Build the code of a task into an op of its own, and return that."""
    builder = semantic.builder
    place, location = builder.get_insertion_point(), builder.get_loc()
    holder = typed_builder(semantic).create_warp_specialize([], [])
    holder.set_attr("tlx.task_warps", builder.get_int32_attr(num_warps))
    if registers is not None:
        holder.set_attr("tlx.task_registers", builder.get_int32_attr(registers))
    builder.create_block_with_parent(holder.get_default_region(), [])
    builder.set_loc(location)
    body.emit()
    typed = typed_builder(semantic)
    if num_warps:
        typed.create_warp_return()
    else:
        typed.create_warp_yield([])
    builder.restore_insertion_point(place)
    builder.set_loc(location)
    return holder


@op(targets=NVIDIA_TMA)
def async_task_replica_id(_semantic: Any = None) -> tl.constexpr:
    """Return the number of the replica of the task, a constant from 0.

    Raises:
        UserError: No task is around. A function that a task calls takes the number as a ``tl.constexpr`` argument.
    """
    region = _region(_semantic)
    if region is None or region.replica is None:
        hint = "pass it to functions that tasks call as a tl.constexpr argument"
        raise refuse("async_task_replica_id", "no task is around", expected="a call in a task", hint=hint)
    return tl.constexpr(region.replica)


@triton.jit
def get_bufidx_phase(counter, NUM_BUFFERS: tl.constexpr):
    """Return slot and parity of the use number ``counter`` of a ring of ``NUM_BUFFERS`` buffers."""
    return counter % NUM_BUFFERS, (counter // NUM_BUFFERS) & 1
