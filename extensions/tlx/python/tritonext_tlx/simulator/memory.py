"""Memory of a simulated kernel: arrays at made-up addresses, and shared memory that knows who accessed each byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tritonext.errors import UserError

from .errors import OutOfRange

__all__ = ["Allocation", "GlobalMemory"]

# Each array lies in the middle of this much room, so an address tells which one it was made from.
_ROOM = 40
_MIDDLE = 1 << (_ROOM - 1)


@dataclass
class _Region:
    name: str
    array: np.ndarray
    data: np.ndarray


class GlobalMemory:
    """The arrays that a kernel was given.

    Args:
        where: Returns the line of the kernel that is running, for errors.
    """

    def __init__(self, where: Callable[[], Any]) -> None:
        self._where = where
        self._regions: list[_Region] = []

    def add(self, name: str, array: np.ndarray, gaps: bool = False) -> int:
        """Take in an array and return its address.

        Args:
            name: The argument of the kernel.
            array: The array.
            gaps: Whether there may be other memory between its elements.

        Raises:
            UserError: Its elements do not fill one piece of memory.
        """
        for index, region in enumerate(self._regions):
            if region.array is array:
                return ((index + 1) << _ROOM) + _MIDDLE
        order = np.argsort([-stride for stride in array.strides], kind="stable")
        packed = array.transpose(order)
        if gaps and array.size and min(array.strides) > 0:
            span = 1 + sum((size - 1) * (stride // array.itemsize) for size, stride in zip(array.shape, array.strides))
            packed = np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,))
        elif not packed.flags.c_contiguous:
            raise UserError(
                "an array is a view with gaps", where=f"argument {name}", hint="pass numpy.ascontiguousarray of it"
            )
        self._regions.append(_Region(name, array, packed.reshape(-1).view(np.uint8)))
        return (len(self._regions) << _ROOM) + _MIDDLE

    def _resolve(self, addresses: np.ndarray, size: int, verb: str) -> tuple[_Region, np.ndarray]:
        numbers = (addresses >> np.uint64(_ROOM)).astype(np.int64)
        number = int(numbers[0])
        if not 1 <= number <= len(self._regions) or (numbers != number).any():
            raise OutOfRange(f"a {verb} is at no array", where=self._where(), expected="addresses of one argument")
        region = self._regions[number - 1]
        offsets = (addresses & np.uint64((1 << _ROOM) - 1)).astype(np.int64) - _MIDDLE
        outside = (offsets < 0) | (offsets + size > region.data.size)
        if outside.any():
            first = int(offsets[outside][0])
            raise OutOfRange(
                f"a {verb} leaves its array",
                where=self._where(),
                expected=f"elements 0 to {region.array.size - 1} of argument {region.name}",
                found=f"element {first // region.array.itemsize}; {int(outside.sum())} elements are outside",
                hint="mask it",
            )
        if (offsets % size).any():
            raise OutOfRange(f"a {verb} is not aligned", where=self._where(), expected=f"a multiple of {size} bytes")
        return region, offsets // size

    @staticmethod
    def _elements(region: _Region, dtype: np.dtype) -> np.ndarray:
        return region.data[: region.data.size // dtype.itemsize * dtype.itemsize].view(dtype)

    def load(self, addresses: np.ndarray, mask: np.ndarray, other: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
        """Return the elements at addresses, or of ``other`` where the mask is false."""
        addresses, mask = np.broadcast_arrays(addresses, mask)
        fill = 0 if other is None else other
        result = np.array(np.broadcast_to(fill, addresses.shape)).astype(dtype)
        chosen = addresses[mask]
        if chosen.size:
            region, index = self._resolve(chosen, dtype.itemsize, "load")
            result[mask] = self._elements(region, dtype)[index]
        return result

    def check(self, addresses: np.ndarray, mask: np.ndarray, dtype: np.dtype, verb: str) -> None:
        """Raise what an access would, without one."""
        addresses, mask = np.broadcast_arrays(addresses, mask)
        if (chosen := addresses[mask]).size:
            self._resolve(chosen, dtype.itemsize, verb)

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray) -> None:
        """Store elements where the mask is true."""
        addresses, values, mask = np.broadcast_arrays(addresses, values, mask)
        chosen = addresses[mask]
        if chosen.size:
            region, index = self._resolve(chosen, values.dtype.itemsize, "store")
            self._elements(region, values.dtype)[index] = values[mask]

    def update(
        self, addresses: np.ndarray, mask: np.ndarray, dtype: np.dtype, function: Callable[[int, Any], Any]
    ) -> np.ndarray:
        """Replace elements one after another by ``function(index, old)``, and return the old ones."""
        old = np.zeros(np.shape(addresses), dtype)
        flat, chosen = old.reshape(-1), np.flatnonzero(mask)
        if chosen.size:
            region, index = self._resolve(np.asarray(addresses).reshape(-1)[chosen], dtype.itemsize, "atomic")
            elements = self._elements(region, dtype)
            for at, element in zip(chosen, index):
                flat[at] = elements[element]
                elements[element] = function(int(at), flat[at])
        return old


@dataclass
class Allocation:
    """A piece of shared memory, or of ``columns`` of tensor memory when those are not 0.

    Each byte knows its last writer and the readers since: the thread of execution (``tid``), how far that was
    (``epoch``), and the operation. ``writer`` is -1 for a byte that nothing has written. ``owner`` is the number of the
    buffer that was written, of several that share the memory.
    """

    name: str
    place: Any
    size: int
    columns: int = 0
    data: np.ndarray = field(init=False)
    writer: np.ndarray = field(init=False)
    epoch: np.ndarray = field(init=False)
    op: np.ndarray = field(init=False)
    unfenced: np.ndarray = field(init=False)
    owner: np.ndarray = field(init=False)
    reads: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.data = np.full(self.size, 0xFF, np.uint8)
        self.writer = np.full(self.size, -1, np.int32)
        self.epoch = np.zeros(self.size, np.int32)
        self.op = np.zeros(self.size, np.int32)
        self.unfenced = np.zeros(self.size, bool)
        self.owner = np.zeros(self.size, np.int32)

    def grow(self, size: int) -> None:
        """Add bytes that nothing has written."""
        old = self.size
        state = {name: getattr(self, name) for name in ("data", "writer", "epoch", "op", "unfenced", "owner")}
        self.size = size
        self.__post_init__()
        for name, values in state.items():
            getattr(self, name)[:old] = values
        self.reads = {
            tid: (np.pad(epochs, (0, size - old)), np.pad(ops, (0, size - old)))
            for tid, (epochs, ops) in self.reads.items()
        }
