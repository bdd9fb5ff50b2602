"""Run kernels in Triton's own interpreter, which shows that kernels and references agree before any pass is judged.

``TRITON_INTERPRET=1 python -m kernels.interpreter [NAME …] [--shape NUMBER]`` prints a line for each kernel and shape:
name, number of the shape, and the largest error as a multiple of the tolerance. The variable has to be set before
Triton is imported.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonext.interpret import Builder

from . import KERNELS
from .case import Case, Descriptor, Shape, Tensor
from .formats import decode, encode
from .running import worst

PROCESSORS = 3


class Exact(Builder):
    """The SDK's builder, exact in bfloat16 and 8-bit floats, on the memory of this process."""

    def __init__(self) -> None:
        super().__init__(None, lambda name: NotImplementedError(name))

    create_masked_load = interpreter.InterpreterBuilder.create_masked_load
    create_masked_store = interpreter.InterpreterBuilder.create_masked_store
    create_atomic_rmw = interpreter.InterpreterBuilder.create_atomic_rmw


interpreter.interpreter_builder = Exact()
interpreter.interpreter_semantic = TritonSemantic(interpreter.interpreter_builder)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="names; all when none is given")
    parser.add_argument("--shape", type=int, help="number of a shape, or the last; all without it")
    chosen = parser.parse_args()
    for name in chosen.kernels or KERNELS:
        shapes = list(enumerate(KERNELS[name].shapes))
        for number, shape in shapes if chosen.shape is None else shapes[: chosen.shape + 1][-1:]:
            print(name, number, f"{run(KERNELS[name], shape):.3f}", flush=True)


if __name__ == "__main__":
    main()
