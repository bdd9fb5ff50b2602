"""A ring of buffers between a task that fills them with descriptor copies and tasks that use them.

Slots, parities, barriers and expected bytes follow from the number of the step; a kernel writes none of them by hand.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.language.core import base_type, base_value, builtin

from ._arguments import bounded
from .barrier import (
    alloc_barriers,
    barrier_arrive,
    barrier_at,
    barrier_expect_bytes,
    barrier_wait,
    mbarrier,
    name_parts,
)
from .definition import NVIDIA_TMA, constant, integer, op, refuse, scalar
from .memory import local_view
from .types import buffered_tensor, require_buffer

__all__ = ["alloc_pipeline", "async_pipeline", "pipeline_stage"]


class _group_type(base_type):
    """Type of a value that is several others."""

    def __init__(self, value_class: type, members: tuple[base_type, ...]) -> None:
        self.value_class = value_class
        self.members = members

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _group_type) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return (self.value_class, self.members)

    def __str__(self) -> str:
        return f"{self.value_class.__name__}<{', '.join(map(str, self.members))}>"

    __repr__ = __str__

    def mangle(self) -> str:
        return "_".join((f"TLX{self.value_class.__name__}{len(self.members)}", *(m.mangle() for m in self.members)))

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for type_ in self.members:
            type_._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[base_value, int]:
        values = []
        for type_ in self.members:
            value, cursor = type_._unflatten_ir(handles, cursor)
            values.append(value)
        return self.value_class(*values), cursor


class _group(base_value):
    """A value that is several others."""

    def __init__(self, *values: base_value) -> None:
        self.values = values
        self.type = _group_type(type(self), tuple(value.type for value in values))

    def __str__(self) -> str:
        return str(self.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        for value in self.values:
            value._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        for value in self.values:
            value._set_name(builder, name)


class pipeline_stage(_group):
    """The buffers of one step, ``stage[i]`` in the order in which they were given, and the barrier of their copies."""

    @property
    def full(self) -> mbarrier:
        """The barrier that copies into the buffers signal."""
        return self.values[0]

    @builtin
    def __getitem__(self, index: Any, _semantic: Any = None) -> buffered_tensor:
        number = bounded("async_pipeline", "index", index, 0, len(self.values) - 2)
        return self.values[1 + number]


class async_pipeline(_group):
    """A ring of buffers, made by :func:`alloc_pipeline`.

    Steps are numbered from 0 without a gap, over all tiles of a persistent kernel. The filling task calls
    :meth:`acquire` for each, and copies into every buffer of the stage; each using task calls :meth:`wait` for each,
    and :meth:`release` when it has read the buffers.
    """

    def _set_name(self, builder: Any, name: str) -> None:
        # The buffers have names of their own.
        full, empty, *_ = self.values
        full._set_name(builder, f"{name}.full")
        empty._set_name(builder, f"{name}.empty")

    @builtin
    def acquire(self, step: Any, _semantic: Any = None) -> pipeline_stage:
        """Wait until the buffers of a step may be overwritten, and announce the bytes of one copy into each.

        Args:
            step: Number of the step, from 0.

        Returns:
            The stage, whose :attr:`~pipeline_stage.full` the copies have to signal.

        Raises:
            UserError: The step is no integer.
        """
        slot, parity = self._place("acquire", step, _semantic)
        # The first round finds all slots empty: the phase before the first counts as complete.
        other = _semantic.xor_(parity, _semantic.to_tensor(1))
        barrier_wait(barrier_at(self.values[1], slot, _semantic), other, _semantic=_semantic)
        stage = self._stage(slot, _semantic)
        size = sum(buffer.type.slot_bytes for buffer in stage.values[1:])
        barrier_expect_bytes(stage.full, size, _semantic=_semantic)
        return stage

    @builtin
    def wait(self, step: Any, _semantic: Any = None) -> pipeline_stage:
        """Wait until the buffers of a step have been filled.

        Args:
            step: Number of the step, from 0.

        Returns:
            The stage.

        Raises:
            UserError: The step is no integer.
        """
        slot, parity = self._place("wait", step, _semantic)
        stage = self._stage(slot, _semantic)
        barrier_wait(stage.full, parity, _semantic=_semantic)
        return stage

    @builtin
    def release(self, step: Any, _semantic: Any = None) -> None:
        """Say that this task has read the buffers of a step. Products must have been waited for.

        Args:
            step: Number of the step, from 0.

        Raises:
            UserError: The step is no integer.
        """
        slot, _ = self._place("release", step, _semantic)
        barrier_arrive(barrier_at(self.values[1], slot, _semantic), _semantic=_semantic)

    def _place(self, method: str, step: Any, semantic: Any) -> tuple[tl.tensor, tl.tensor]:
        """Return slot and parity of a step."""
        name = f"async_pipeline.{method}"
        if isinstance(constant(step), int):
            integer(name, "step", step, least=0)
        number = scalar(name, "step", step, semantic)
        slots = semantic.to_tensor(self.values[0].type.num)
        round_ = semantic.floordiv(number, slots)
        return semantic.mod(number, slots), semantic.and_(round_, semantic.to_tensor(1))

    def _stage(self, slot: tl.tensor, semantic: Any) -> pipeline_stage:
        full = barrier_at(self.values[0], slot, semantic)
        return pipeline_stage(full, *(local_view(buffer, slot, _semantic=semantic) for buffer in self.values[2:]))


@op(targets=NVIDIA_TMA)
def alloc_pipeline(buffers: Any, consumers: Any = 1, _semantic: Any = None) -> async_pipeline:
    """Make a ring of buffers that one task fills with descriptor copies and others use.

    Args:
        buffers: A buffer with slots, or a tuple of them with as many slots each. The ring has one stage for each slot.
        consumers: How many tasks use each stage and release it, a constant; replicas count each.

    Returns:
        The ring, with two barriers for each stage.

    Raises:
        UserError: An argument is of the wrong kind, or the buffers have different numbers of slots.
    """
    name = "alloc_pipeline"
    given = constant(buffers)
    members = (given,) if isinstance(given, buffered_tensor) else tuple(given) if _is_tuple(given) else (given,)
    if not members:
        raise refuse(name, "the ring has no buffer", "buffers", expected="at least one")
    for buffer in members:
        require_buffer(name, "buffers", buffer, slots=True)
    slots = sorted({buffer.type.num for buffer in members})
    if len(slots) > 1:
        found = " and ".join(map(str, slots))
        raise refuse(name, "the buffers have different numbers of slots", "buffers", expected=slots[0], found=found)
    count = bounded(name, "consumers", consumers, 1, 32)
    full = alloc_barriers(slots[0], _semantic=_semantic)
    empty = alloc_barriers(slots[0], count, _semantic=_semantic)
    name_parts(_semantic, full=full, empty=empty)
    return async_pipeline(full, empty, *members)


def _is_tuple(value: Any) -> bool:
    return isinstance(value, tuple | list | tl.tuple)
