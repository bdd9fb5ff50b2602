"""Values that simulated kernels hold: buffers, barriers, tokens, accumulators of products that go on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import triton.language as tl
from triton.language.core import base_value

from tritonext.errors import UserError
from tritonext.interpret import TensorHandle, numpy_dtype

from ..aliasing import Extent, Placement, end_of, group_of_buffers, place
from ..types import alignment_of, no_tensor, no_tensor_error, storage_kind
from .errors import OutOfRange, Race, UninitializedRead, UnsupportedOperation
from .memory import Allocation

if TYPE_CHECKING:
    from .machine import AsyncOp, Machine, Mbarrier

__all__ = ["COLUMN_BYTES", "AliasSpec", "Barriers", "Buffer", "DescriptorMemory", "PendingHandle", "Token", "plain"]

COLUMN_BYTES = 4
"""Bytes of a column of tensor memory in each row."""


def plain(value: Any) -> Any:
    """Return an argument without ``tl.constexpr``, in tuples too."""
    if isinstance(value, tl.constexpr):
        return plain(value.value)
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else tuple(map(plain, value))
    return value


def to_int(value: Any) -> int:
    """Return a scalar of a kernel as an integer of Python."""
    value = plain(value)
    return int(value.handle.data.item()) if isinstance(value, tl.tensor) else int(value)


class Token:
    """What asynchronous copies return."""


class Buffer(no_tensor, base_value):
    """A view of shared memory: ``num`` slots, or one when ``num`` is 0.

    Messages call it ``label``, or by the name of its allocation.

    Attributes:
        owner: Number of the buffer among those that share its memory.
        placement: Where its slots lie; None when they follow each other.
        used: Whether a slot of it was taken.
        block: The block whose memory it is in.
    """

    def __init__(
        self,
        machine: Machine,
        allocation: Allocation,
        dtype: tl.dtype,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int = 0,
        num: int = 0,
        label: str | None = None,
        owner: int = 0,
    ) -> None:
        self.machine = machine
        self.allocation = allocation
        self.dtype = dtype
        self.sizes = shape
        self.strides = strides
        self.offset = offset
        self.num = num
        self.label = label
        self.owner = owner
        self.placement: Placement | None = None
        self.used = False
        self.block = machine.actor.block
        self._selector: Any = None

    @property
    def type(self) -> Buffer:
        return self

    @property
    def scalar(self) -> tl.dtype:
        raise self._misuse()

    def _misuse(self) -> UserError:
        return no_tensor_error(self, where=self.machine.here())

    @property
    def shape(self) -> list[tl.constexpr]:
        """Shape of one slot."""
        return [tl.constexpr(size) for size in self.sizes]

    @property
    def item_bytes(self) -> int:
        return self.dtype.primitive_bitwidth // 8

    @property
    def slot_bytes(self) -> int:
        """Number of bytes of one slot."""
        return math.prod(self.sizes) * self.item_bytes

    @property
    def extent(self) -> Extent:
        """How much of its memory it takes."""
        return Extent(self.num, self.slot_bytes, max(self.slot_bytes, alignment_of(None)))

    @property
    def contiguous(self) -> bool:
        return self.strides == dense(self.sizes, self.item_bytes)

    def __str__(self) -> str:
        return self.label or self.allocation.name or "the buffer"

    __repr__ = __str__

    def __getitem__(self, index: Any) -> Buffer:
        at = to_int(index)
        if not self.num:
            raise OutOfRange("a buffer has one slot already", where=self.machine.here(), found=f"{self}[{at}]")
        if not 0 <= at < self.num:
            raise OutOfRange(
                "a slot is out of range",
                where=self.machine.here(),
                expected=f"0 to {self.num - 1} of {self}, of {self.allocation.place}",
                found=at,
            )
        self.used = True
        place = self.placement or Placement(self.offset, self.slot_bytes, 1)
        offset = place.offset + at // place.group * place.stride + at % place.group * self.slot_bytes
        return self.view(self.dtype, self.sizes, self.strides, offset, f"{self}[{at}]")

    def view(
        self, dtype: tl.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, label: str | None = None
    ) -> Buffer:
        """Return a slot of other elements at another offset in the same memory."""
        slot = Buffer(
            self.machine, self.allocation, dtype, shape, strides, offset, 0, label or self.label, owner=self.owner
        )
        slot.block = self.block
        return slot

    @property
    def selector(self) -> Any:
        """What indexes the bytes of the view in those of the allocation, in the order of the elements."""
        if self._selector is None:
            if self.contiguous:
                self._selector = slice(self.offset, self.offset + self.slot_bytes)
            else:
                index = np.array(self.offset)
                for size, stride in zip((*self.sizes, self.item_bytes), (*self.strides, 1)):
                    index = index[..., None] + np.arange(size) * stride
                self._selector = index.reshape(-1)
        return self._selector

    def fetch(self) -> np.ndarray:
        """Return a copy of the elements, whatever state they are in."""
        data = np.array(self.allocation.data[self.selector])
        return data.view(numpy_dtype(self.dtype)).reshape(self.sizes)

    def put(self, values: np.ndarray) -> None:
        """Replace the elements."""
        packed = np.ascontiguousarray(np.broadcast_to(values, self.sizes)).astype(numpy_dtype(self.dtype), copy=False)
        self.allocation.data[self.selector] = packed.reshape(-1).view(np.uint8)


def dense(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """Return the strides in bytes of an array without gaps."""
    strides = []
    for size in reversed(shape):
        strides.append(item_bytes)
        item_bytes *= size
    return tuple(reversed(strides))


class AliasSpec(base_value):
    """Memory that buffers share.

    Attributes:
        rows: Of the buffers, in tensor memory; None before there is one.
    """

    def __init__(self, machine: Machine, allocation: Allocation, storage: storage_kind, fixed: int | None) -> None:
        self.machine = machine
        self.allocation = allocation
        self.storage = storage
        self.fixed = fixed
        self.rows: int | None = None
        self.buffers: list[Buffer] = []
        self.placed = False

    @property
    def type(self) -> AliasSpec:
        return self

    @property
    def buffer_size_bytes(self) -> int | None:
        return self.fixed

    def add(self, buffer: Buffer) -> Buffer:
        """Take in a buffer, and return it."""
        self.buffers.append(buffer)
        buffer.owner = len(self.buffers)
        return buffer

    def require(self, extent: int) -> None:
        """Take as much memory as buffers need, in bytes or columns."""
        unit = 1 if self.rows is None else self.rows * COLUMN_BYTES
        size = extent * unit
        if self.fixed is not None and size > self.fixed:
            raise UserError(
                "the buffers do not fit into the storage_alias_spec",
                where=self.machine.here(),
                expected=f"{size} bytes or more",
                found=f"buffer_size_bytes of {self.fixed}",
            )
        if self.rows is None:
            self.machine.grow(self.allocation, extent, self.machine.here())
        else:
            self.machine.grow_columns(self.allocation, -(-(self.fixed or size) // unit))

    def set_buffer_overlap(self, overlap_def: Any) -> None:
        here = self.machine.here()

        def refuse(message: str, **fields: Any) -> UserError:
            return UserError(message, where=here, **fields)

        if not isinstance(overlap_def, group_of_buffers):
            raise refuse("an argument is not a group", expected="a tlx.reuse_group", found=overlap_def)
        placements = place(overlap_def, refuse, lambda buffer: buffer.extent, lambda one, other: one is other)
        members = [buffer for buffer, _ in placements]
        if self.placed:
            raise refuse("the buffers of a storage_alias_spec have an overlap already")
        for buffer in self.buffers:
            if not any(buffer is member for member in members):
                raise refuse("the group leaves out a buffer of the storage_alias_spec", found=buffer)
        for buffer, at in placements:
            if not any(buffer is own for own in self.buffers):
                raise refuse("the group has a buffer of other memory", found=buffer)
            if buffer.used:
                raise UnsupportedOperation(
                    "the simulator places buffers before they are used only", where=here, found=buffer
                )
            buffer.placement = at
            self.require(end_of(buffer.extent, at))
        self.placed = True


class Barriers(base_value):
    """An array of barriers."""

    def __init__(self, machine: Machine, barriers: list[Mbarrier]) -> None:
        self.machine = machine
        self.barriers = barriers
        self.name = "barriers"

    @property
    def type(self) -> Barriers:
        return self

    def rename(self, name: str) -> None:
        self.name = name
        for index, barrier in enumerate(self.barriers):
            barrier.name = f"{name}[{index}]"
            barrier.array = name

    def __str__(self) -> str:
        return self.name

    def __getitem__(self, index: Any) -> Mbarrier:
        at = to_int(index)
        if not 0 <= at < len(self.barriers):
            raise OutOfRange(
                "a barrier is out of range",
                where=self.machine.here(),
                expected=f"0 to {len(self.barriers) - 1} of {self.name}",
                found=at,
            )
        return self.barriers[at]


class DescriptorMemory(base_value):
    """Memory for descriptors. Each place knows its descriptor, and until when who made it has to be known.

    Attributes:
        slots: The places, as (descriptor, actor, epoch), shared by all views.
    """

    def __init__(self, machine: Machine, num: int, slots: list[Any] | None = None, at: int = 0) -> None:
        self.machine = machine
        self.num = num
        self.slots = [None] * num if slots is None else slots
        self.at = at

    @property
    def type(self) -> DescriptorMemory:
        return self

    def __getitem__(self, index: Any) -> DescriptorMemory:
        at = to_int(index)
        if not 0 <= at < self.num:
            raise OutOfRange(
                "a descriptor is out of range", where=self.machine.here(), expected=f"0 to {self.num - 1}", found=at
            )
        return DescriptorMemory(self.machine, 1, self.slots, self.at + at)

    def put(self, descriptor: Any, machine: Machine) -> None:
        actor = machine.actor
        self.slots[self.at] = descriptor, actor, int(actor.clock[actor.tid]), machine.here()

    def get(self, machine: Machine) -> Any:
        if self.slots[self.at] is None:
            raise UninitializedRead("a descriptor is used that was not made", where=machine.here())
        descriptor, actor, epoch, place = self.slots[self.at]
        if machine.actor.clock[actor.tid] < epoch:
            raise Race(
                "a descriptor is used that another task may still make",
                where=machine.here(),
                found=f"tlx.make_tensor_descriptor at {place} in {actor}",
                hint="let the one arrive at a barrier that the other waits for",
            )
        return descriptor


class PendingHandle(TensorHandle):
    """The accumulator of a product: its elements are an error until the product is waited for."""

    def __init__(self, op: AsyncOp, dtype: tl.dtype) -> None:
        self.op = op
        self.dtype = dtype
        self.attr: dict = {}

    @property
    def data(self) -> np.ndarray:
        return self.op.machine.result_of(self.op)
