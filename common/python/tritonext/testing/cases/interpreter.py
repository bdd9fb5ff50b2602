"""Run kernels in Triton's own interpreter, which shows that kernels and references agree before any pass is judged.

A corpus calls :func:`main` in a process that was started with ``TRITON_INTERPRET=1``, which has to be set before Triton
is imported.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonext._triton.interpreter import interpret_exactly

from .case import Case, Descriptor, Shape, Tensor
from .formats import decode, encode
from .running import worst

__all__ = ["main", "run"]

PROCESSORS = 3


class Memory:
    """What the interpreter asks of a tensor of torch: an address, and a storage that stays where it is."""

    def __init__(self, tensor: Tensor) -> None:
        bits = encode(tensor.values, tensor.dtype).ravel()
        # Aligned as descriptors want it; an empty tensor has an address too.
        room = np.zeros(bits.nbytes + 32, np.uint8)
        start = -room.ctypes.data % 16
        self.bits = room[start : start + bits.nbytes].view(bits.dtype)
        self.bits[:] = bits
        self.dtype = Type(tensor.dtype, bits.itemsize)
        self.tensor = tensor

    @property
    def values(self) -> np.ndarray:
        """What the memory holds now."""
        return decode(self.bits, self.tensor.dtype).reshape(self.tensor.values.shape)

    def data_ptr(self) -> int:
        return self.bits.ctypes.data

    def untyped_storage(self) -> Memory:
        return self

    def cpu(self) -> Memory:
        return self

    def new_empty(self, *_args: Any, **_keywords: Any) -> Memory:
        return self

    def set_(self, *_args: Any) -> None:
        return None

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self.tensor.values.shape

    stride = size

    def copy_(self, other: Memory) -> None:
        assert other is self


class Type(str):
    """Triton's name of a type, with the size that descriptors ask for."""

    itemsize: int

    def __new__(cls, name: str, itemsize: int) -> Type:
        made = super().__new__(cls, name)
        made.itemsize = itemsize
        return made


def run(case: Case, shape: Shape, seed: int | None = None) -> float:
    """Run a kernel and return the largest error as a multiple of the tolerance."""
    arguments = case.arguments(shape, seed)
    memories: dict[int, Memory] = {}
    values = {name: _value(argument, memories) for name, argument in arguments.items()}
    case.fn[case.grid(arguments, case.constants, PROCESSORS)](**values, **case.constants)
    return worst(case, arguments, {name: _read(values[name]) for name in case.reference(arguments)})


def _value(argument: Any, memories: dict[int, Memory]) -> Any:
    if isinstance(argument, Descriptor):
        memory = _value(argument.tensor, memories)
        shape = list(argument.tensor.values.shape)
        strides = [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
        return TensorDescriptor(memory, shape, strides, list(argument.block))
    if isinstance(argument, Tensor):
        return memories.setdefault(id(argument), Memory(argument))
    return argument


def _read(value: Any) -> np.ndarray:
    return (value.base if isinstance(value, TensorDescriptor) else value).values


def main(kernels: Mapping[str, Case]) -> None:
    """Print a line for each kernel and shape: name, number of the shape, and the error as a multiple of the tolerance.

    Args:
        kernels: Those to choose from on the command line, by name.
    """
    parser = argparse.ArgumentParser(description="Run kernels in Triton's interpreter and compare with references.")
    parser.add_argument("kernels", nargs="*", metavar="kernel", help="names; all when none is given")
    parser.add_argument("--shape", type=int, help="number of a shape, or the last; all without it")
    chosen = parser.parse_args()
    interpret_exactly()
    for name in chosen.kernels or kernels:
        shapes = list(enumerate(kernels[name].shapes))
        for number, shape in shapes if chosen.shape is None else shapes[: chosen.shape + 1][-1:]:
            print(name, number, f"{run(kernels[name], shape):.3f}", flush=True)
