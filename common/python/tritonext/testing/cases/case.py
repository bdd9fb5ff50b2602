"""What a kernel of a corpus comes with: arguments, reference, tolerance and grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from triton.runtime.jit import JITFunction

from tritonext.offline import Argument, Specialization

from .formats import epsilon, rounded

__all__ = [
    "Arguments",
    "Case",
    "Descriptor",
    "Shape",
    "Tensor",
    "Tolerance",
    "normal",
    "output",
    "within",
]

Shape = Mapping[str, Any]


@dataclass(frozen=True)
class Tensor:
    """A row-major tensor in global memory.

    Args:
        dtype: Triton's name of the element type.
        values: What it holds, exactly representable in ``dtype``, as float64 or int64.
        written: Whether the kernel writes all of it, so that what it holds before does not matter.
    """

    dtype: str
    values: np.ndarray
    written: bool = False

    @property
    def type(self) -> Argument:
        return Argument(f"*{self.dtype}", 16)


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor that the host makes.

    Args:
        tensor: What it describes, all of it.
        block: Shape of the block that it copies.
    """

    tensor: Tensor
    block: tuple[int, ...]

    @property
    def type(self) -> Argument:
        return Argument(f"tensordesc<{self.tensor.dtype}[{','.join(map(str, self.block))}]>")


Arguments = Mapping[str, "Tensor | Descriptor | int | float"]


@dataclass(frozen=True)
class Tolerance:
    """How far a result may be from the reference: ``absolute + relative * |reference|``, for each element."""

    relative: float
    absolute: float

    def worst(self, got: np.ndarray, wanted: np.ndarray) -> float:
        """Return the largest difference as a multiple of what is allowed; infinite where a NaN is."""
        share = np.abs(got - wanted) / (self.absolute + self.relative * np.abs(wanted))
        return float(np.where(np.isnan(share), np.inf, share).max(initial=0))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel of plain Triton and everything needed to compile, run and judge it.

    Args:
        name: Unique name.
        fn: The kernel.
        make: Makes the arguments of a shape from random numbers. Names are those of the kernel's arguments.
        reference: Computes what the kernel writes, in float64, by the name of the argument.
        tolerance: Allowed distance, by the name of the argument.
        grid: Number of programs in each dimension, at most ``processors`` where the programs are persistent.
        shapes: Shapes to run; the first is also the one that types and divisibility come from.
        constants: Values of ``tl.constexpr`` arguments.
        options: Compile options.
    """

    name: str
    fn: JITFunction
    make: Callable[[np.random.Generator, Shape], Arguments]
    reference: Callable[[Arguments], Mapping[str, np.ndarray]]
    tolerance: Callable[[Arguments], Mapping[str, Tolerance]]
    grid: Callable[[Arguments, Mapping[str, Any], int], tuple[int, ...]]
    shapes: tuple[Shape, ...]
    constants: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def arguments(self, shape: Shape | None = None, seed: int | None = None) -> Arguments:
        """Return fresh arguments; of the first shape when none is given."""
        return self.make(np.random.default_rng(seed), self.shapes[0] if shape is None else shape)

    def specialization(self, shape: Shape | None = None) -> Specialization:
        """Return what Triton compiles for a shape. A size that 16 divides is known to be so, as in a launch."""
        signature = {name: _type(value) for name, value in self.arguments(shape, seed=0).items()}
        return Specialization(self.fn, signature, self.constants, self.options)


def _type(value: Tensor | Descriptor | int | float) -> Argument:
    if isinstance(value, Tensor | Descriptor):
        return value.type
    if isinstance(value, float):
        return Argument("fp32")
    return Argument("i32", 16 if value % 16 == 0 else 1)


def normal(random: np.random.Generator, dtype: str, *shape: int) -> Tensor:
    """Return a tensor of numbers from the standard normal distribution; small integers for an integer type."""
    if dtype == "i8":
        return Tensor(dtype, random.integers(-8, 8, shape))
    return Tensor(dtype, rounded(random.standard_normal(shape), dtype))


def output(dtype: str, *shape: int) -> Tensor:
    """Return a tensor to be written. It holds values that no result has, so that a missing write is seen."""
    # One number for all elements: benchmarks make tensors of hundreds of megabytes that they never look at.
    return Tensor(dtype, np.broadcast_to(rounded(np.array(-384.0), dtype), shape), written=True)


def within(dtype: str, absolute: float) -> Tolerance:
    """Return the tolerance of a result that is rounded once to ``dtype`` and was off by ``absolute`` before.

    Half a unit in the last place would do for an exact value; a value that is not may be rounded to the neighbour.
    """
    return Tolerance(epsilon(dtype), absolute)
