"""Memory of a simulated module: arrays at made-up addresses, and shared memory that knows who accessed each byte."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tritonext.errors import UserError
from tritonext.testing.findings import OutOfRange

from .elements import Element

__all__ = ["GlobalMemory", "MemoryView", "SharedMemory", "TensorDescriptor", "dense_strides"]

# Each array lies in the middle of this much room, so an address tells which one it was made from.
_ROOM = 40
_MIDDLE = 1 << (_ROOM - 1)


@dataclass
class _Array:
    name: str
    array: np.ndarray
    data: np.ndarray


class GlobalMemory:
    """The arrays that a kernel was given, and its scratch memory.

    Attributes:
        place: Returns the operation that is running, for errors.
    """

    def __init__(self) -> None:
        self.place: Callable[[], Any] = lambda: None
        self._arrays: list[_Array] = []

    def add(self, name: str, array: np.ndarray) -> int:
        """Take in an array, unless it is known, and return its address.

        Raises:
            UserError: Its elements do not fill one piece of memory.
        """
        for index, known in enumerate(self._arrays):
            if known.array is array:
                return ((index + 1) << _ROOM) + _MIDDLE
        packed = array.transpose(np.argsort([-stride for stride in array.strides], kind="stable"))
        if not packed.flags.c_contiguous:
            raise UserError(
                "an array is a view with gaps", where=f"argument {name}", hint="pass numpy.ascontiguousarray of it"
            )
        self._arrays.append(_Array(name, array, packed.reshape(-1).view(np.uint8)))
        return (len(self._arrays) << _ROOM) + _MIDDLE

    def _parts(
        self, addresses: np.ndarray, mask: np.ndarray | None, element: Element, verb: str
    ) -> Iterator[tuple[np.ndarray | None, np.ndarray, np.ndarray]]:
        """Yield, for each array that is accessed, which accesses, its elements, and their indices."""
        chosen = addresses if mask is None else addresses[mask]
        if not chosen.size:
            return
        numbers = chosen >> _ROOM
        for number in [int(numbers.flat[0])] if (numbers == numbers.flat[0]).all() else np.unique(numbers):
            if not 1 <= number <= len(self._arrays):
                raise OutOfRange(f"a {verb} is at no array", where=self.place(), expected="addresses of an argument")
            of = self._arrays[number - 1]
            here = None if (numbers == number).all() else numbers == number
            offsets = (chosen if here is None else chosen[here]) - ((number << _ROOM) + _MIDDLE)
            outside = (offsets < 0) | (offsets + element.bytes > of.data.size)
            if outside.any():
                raise OutOfRange(
                    f"a {verb} leaves its array",
                    where=self.place(),
                    expected=f"elements 0 to {of.array.size - 1} of argument {of.name}",
                    found=f"element {int(offsets[outside].flat[0]) // of.array.itemsize}; "
                    f"{int(outside.sum())} elements are outside",
                )
            if (offsets % element.bytes).any():
                raise OutOfRange(
                    f"a {verb} is not aligned", where=self.place(), expected=f"a multiple of {element.bytes} bytes"
                )
            elements = of.data[: of.data.size // element.bytes * element.bytes].view(element.stored)
            yield here, elements, offsets // element.bytes

    def load(
        self, addresses: np.ndarray, mask: np.ndarray | None, other: Any, element: Element, verb: str = "load"
    ) -> np.ndarray:
        """Return what lies at addresses, or ``other`` where the mask is false, as it is stored."""
        addresses = np.asarray(addresses)
        result = np.full(addresses.shape, 0 if other is None else other, element.stored)
        part = np.zeros(addresses.shape if mask is None else int(np.count_nonzero(mask)), element.stored)
        for here, elements, index in self._parts(addresses, mask, element, verb):
            part[... if here is None else here] = elements[index]
        result[... if mask is None else mask] = part
        return result

    def store(
        self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None, element: Element, verb: str = "store"
    ) -> None:
        """Store ``values``, as they are to lie in memory, where the mask is true."""
        addresses = np.asarray(addresses)
        values = np.broadcast_to(values, addresses.shape)
        part = values if mask is None else values[mask]
        for here, elements, index in self._parts(addresses, mask, element, verb):
            elements[index] = part[... if here is None else here]

    def update(
        self, addresses: np.ndarray, mask: np.ndarray, element: Element, function: Callable[[int, Any], Any]
    ) -> np.ndarray:
        """Replace elements one after another by ``function(index, old)``, and return the old ones, all as stored."""
        old = np.zeros(np.shape(addresses), element.stored)
        flat, numbers = old.reshape(-1), np.flatnonzero(mask)
        chosen = np.asarray(addresses).reshape(-1)[numbers]
        for here, elements, index in self._parts(chosen, None, element, "atomic"):
            for at, position in zip(numbers if here is None else numbers[here], index):
                flat[at] = elements[position]
                elements[position] = function(int(at), flat[at])
        return old


@dataclass(frozen=True)
class TensorDescriptor:
    """What a tensor descriptor says.

    Attributes:
        address: Of the first element.
        shape: Sizes of the tensor, the contiguous dimension last.
        strides: In bytes.
        element: Type of the elements.
        block: Sizes of what a copy moves.
        box: Sizes of what one instruction moves, where a kernel made the descriptor itself.
        fill: What is read outside of the tensor, as it is stored.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Element
    block: tuple[int, ...]
    box: tuple[int, ...] = ()
    fill: Any = 0

    def locate_rows(self, rows: np.ndarray, column: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the addresses of ``width`` elements of each of some rows of a matrix, and which lie in it."""
        at = np.arange(column, column + width, dtype=np.int64)
        rows = rows.astype(np.int64)[:, None]
        inside = (rows >= 0) & (rows < self.shape[0]) & (at >= 0) & (at < self.shape[1])
        return self.address + rows * self.strides[0] + at * self.strides[1], inside

    def locate(self, coordinates: list[int]) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the addresses of the block at ``coordinates``, and which lie in the tensor; None for all."""
        addresses = np.array(self.address, np.int64)
        mask: np.ndarray | None = None
        rank = len(self.block)
        for axis, (start, size, limit, stride) in enumerate(zip(coordinates, self.block, self.shape, self.strides)):
            at = np.arange(start, start + size, dtype=np.int64)
            form = [-1 if i == axis else 1 for i in range(rank)]
            addresses = addresses + (at * stride).reshape(form)
            if start < 0 or start + size > limit:
                inside = ((at >= 0) & (at < limit)).reshape(form)
                mask = inside if mask is None else mask & inside
        return addresses, None if mask is None else np.broadcast_to(mask, addresses.shape)


def dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides in bytes of an array without gaps."""
    return tuple(math.prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape)))


@dataclass
class SharedMemory:
    """The shared memory of one program.

    Each byte knows its last writer and the readers since: the component of the clock that tells of them (``writer``),
    how far that was (``epoch``), and the operation. ``filled`` tells whether it holds a value, ``unfenced`` whether
    that was stored where the async proxy does not see it yet.
    """

    size: int
    data: np.ndarray = field(init=False)
    writer: np.ndarray = field(init=False)
    epoch: np.ndarray = field(init=False)
    access: np.ndarray = field(init=False)
    filled: np.ndarray = field(init=False)
    unfenced: np.ndarray = field(init=False)
    reads: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.data = np.full(self.size, 0xFF, np.uint8)
        self.writer = np.zeros(self.size, np.int32)
        self.epoch = np.zeros(self.size, np.int32)
        self.access = np.zeros(self.size, np.int32)
        self.filled = np.zeros(self.size, bool)
        self.unfenced = np.zeros(self.size, bool)

    def readers(self, tid: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the epochs and operations of the reads of one component."""
        if tid not in self.reads:
            self.reads[tid] = np.zeros(self.size, np.int32), np.zeros(self.size, np.int32)
        return self.reads[tid]


@dataclass(frozen=True)
class MemoryView:
    """A view of shared memory.

    Attributes:
        memory: What it is a view of.
        label: What messages call it.
        offset: Of its first element, in bytes.
        shape: Sizes.
        strides: In bytes.
        element: Type of the elements.
    """

    memory: SharedMemory
    label: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Element

    def __str__(self) -> str:
        return self.label

    @property
    def bytes(self) -> int:
        """Size of the elements."""
        return math.prod(self.shape) * self.element.bytes

    def of(self, array: np.ndarray) -> np.ndarray:
        """Return the entries of one of the memory's arrays that belong to the view, as a view of it."""
        strides = (*(stride * array.itemsize for stride in self.strides), array.itemsize)
        return np.lib.stride_tricks.as_strided(array[self.offset :], (*self.shape, self.element.bytes), strides)

    def fetch(self) -> np.ndarray:
        """Return a copy of the elements, as they are stored."""
        return self.of(self.memory.data).copy().view(self.element.stored)[..., 0]

    def put(self, values: np.ndarray) -> None:
        """Replace the elements by ``values`` as they are to be stored."""
        packed = np.ascontiguousarray(np.broadcast_to(values, self.shape), self.element.stored)
        self.of(self.memory.data)[...] = packed[..., None].view(np.uint8)

    def spoil(self) -> None:
        """Let the elements be NaN, or -1, until what is to be written there comes."""
        self.of(self.memory.data)[...] = 0xFF

    def index(self, at: int) -> MemoryView:
        """Return one slot.

        Raises:
            IndexError: There is no such slot.
        """
        if not 0 <= at < self.shape[0]:
            raise IndexError(at)
        return replace(
            self,
            label=f"{self.label}[{at}]",
            offset=self.offset + at * self.strides[0],
            shape=self.shape[1:],
            strides=self.strides[1:],
        )

    def slice(self, offsets: tuple[int, ...], shape: tuple[int, ...]) -> MemoryView:
        """Return a part.

        Raises:
            IndexError: It leaves the view.
        """
        for start, size, limit in zip(offsets, shape, self.shape, strict=True):
            if start < 0 or start + size > limit:
                raise IndexError(offsets)
        moved = sum(start * stride for start, stride in zip(offsets, self.strides))
        return replace(self, offset=self.offset + moved, shape=shape)

    def transpose(self, order: tuple[int, ...]) -> MemoryView:
        """Return the view with its dimensions in another order."""
        return replace(self, shape=tuple(self.shape[i] for i in order), strides=tuple(self.strides[i] for i in order))

    def reshape(self, shape: tuple[int, ...]) -> MemoryView:
        """Return the same elements under another shape.

        Raises:
            ValueError: They do not lie so that strides could say where.
        """
        data = self.memory.data[self.offset :]
        reshaped = np.lib.stride_tricks.as_strided(data, self.shape, self.strides).reshape(shape)
        if not np.may_share_memory(reshaped, data):
            raise ValueError(shape)
        return replace(self, shape=shape, strides=reshaped.strides)

    def reinterpret(self, shape: tuple[int, ...], element: Element) -> MemoryView:
        """Return the bytes from the start of the view as other elements."""
        return replace(self, shape=shape, strides=dense_strides(shape, element.bytes), element=element)
