"""How a kernel of the corpus is written down: the function, then :func:`define` with all that runs and judges it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tritonext.offline import TARGETS
from tritonext.testing import cases
from tritonext.testing.cases import Arguments, Shape, Tensor, Tolerance, epsilon, output, rounded

__all__ = ["FLOAT8", "Case", "Draw", "Tensor", "cdiv", "define", "output", "zeros"]

FLOAT8 = ("cuda:90", "cuda:100", "hip:gfx950")
"""Targets with the 8-bit floats of the Open Compute Project; those of gfx942 have another bias."""

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_FLOATS = ("fp64", "fp32", "fp16", "bf16", "fp8e5", "fp8e4nv")


@dataclass(frozen=True, kw_only=True)
class Case(cases.Case):
    """A kernel of plain Triton and everything needed to compile, run and judge it.

    Args:
        family: Kind of kernel, for tables.
        targets: What it compiles for.
        ordered: Whether the result is the same in every run; sums of atomics are not.
    """

    family: str
    targets: tuple[str, ...] = TARGETS
    ordered: bool = True

    def __str__(self) -> str:
        return self.name


class Draw:
    """Random tensors."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def normal(self, dtype: str, *shape: int, scale: float = 1.0) -> Tensor:
        """Return numbers from a normal distribution."""
        return Tensor(dtype, rounded(self.random.standard_normal(shape) * scale, dtype))

    def uniform(self, dtype: str, low: float, high: float, *shape: int) -> Tensor:
        """Return numbers between two others."""
        return Tensor(dtype, rounded(self.random.uniform(low, high, shape), dtype))

    def integers(self, dtype: str, low: int, high: int, *shape: int) -> Tensor:
        """Return integers from ``low`` to below ``high``."""
        return Tensor(dtype, self.random.integers(low, high, shape))

    def permutation(self, dtype: str, size: int) -> Tensor:
        """Return the integers below ``size`` in random order."""
        return Tensor(dtype, self.random.permutation(size))

    def distinct(self, dtype: str, *shape: int) -> Tensor:
        """Return numbers of which no two in a row are equal, so that orders are unique; exact below 2048 columns."""
        rows = [self.random.permutation(shape[-1]) for _ in range(int(np.prod(shape[:-1])))]
        return Tensor(dtype, np.array(rows, np.float64).reshape(shape) / 8)


def zeros(dtype: str, *shape: int) -> Tensor:
    """Return a tensor of zeros, for atomics to add to."""
    return Tensor(dtype, np.zeros(shape))


def cdiv(size: int, block: int) -> int:
    """Return how many blocks cover a size."""
    return -(-size // block)


def define(
    fn: Any,
    *,
    make: Callable[..., Mapping[str, Any]],
    reference: Callable[..., Mapping[str, np.ndarray]],
    grid: Callable[..., Any],
    sizes: Mapping[str, Any],
    variants: Mapping[str, Mapping[str, Any]],
    absolute: float | Mapping[str, float] = 2.0**-18,
    targets: tuple[str, ...] = TARGETS,
    ordered: bool = True,
) -> list[Case]:
    """Return the cases of a kernel, one for each variant.

    ``make``, ``reference`` and ``grid`` take by name whatever they need of the sizes and the variant; the last two also
    of the arguments, of tensors the values.

    Args:
        fn: The kernel.
        make: Makes the tensors by name; takes a :class:`Draw` first.
        reference: Computes what the kernel writes, in float64.
        grid: Number of programs, or of programs in each dimension.
        sizes: Sizes by name; those that the kernel takes are passed to it.
        variants: By suffix of the name: constants of the kernel, compile options, other sizes, types that ``make``
            takes, and ``absolute``, ``targets`` and ``ordered`` where they differ.
        absolute: How far a result may be off before it is rounded, for all results or by name. Integers may be off by
            less than half, unless said otherwise.
        targets: What the kernel compiles for.
        ordered: Whether the result is the same in every run.
    """
    parameters = {name: parameter.is_constexpr for name, parameter in _parameters(fn).items()}
    found = []
    for suffix, given in variants.items():
        variant = {"absolute": absolute, "targets": targets, "ordered": ordered, **sizes, **given}
        constants = {name: value for name, value in variant.items() if parameters.get(name)}
        found.append(
            Case(
                name=fn.__name__ + (f"_{suffix}" if suffix else ""),
                fn=fn,
                family=fn.fn.__module__.rpartition(".")[2],
                make=_maker(make, variant, [name for name, constant in parameters.items() if not constant]),
                reference=_taking(reference, variant),
                tolerance=_judge(variant["absolute"], _taking(reference, variant)),
                grid=_grid(grid, variant),
                shapes=({},),
                constants=constants,
                options={name: variant[name] for name in _OPTIONS if name in variant},
                targets=variant["targets"],
                ordered=variant["ordered"],
            )
        )
    return found


def _parameters(fn: Any) -> dict[str, Any]:
    """Return the parameters of a kernel, of Triton's interpreter too, which has no list of them."""
    if hasattr(fn, "params"):
        return {parameter.name: parameter for parameter in fn.params}
    annotations = inspect.get_annotations(fn.fn)
    return {name: _Parameter("constexpr" in str(annotations.get(name))) for name in inspect.signature(fn.fn).parameters}


@dataclass(frozen=True)
class _Parameter:
    is_constexpr: bool


def _maker(
    make: Callable[..., Mapping[str, Any]], variant: Mapping[str, Any], names: list[str]
) -> Callable[[np.random.Generator, Shape], Arguments]:
    def made(random: np.random.Generator | Any, shape: Shape) -> Arguments:
        # A benchmark brings what draws tensors elsewhere.
        draw = Draw(random) if isinstance(random, np.random.Generator) else random
        tensors = make(draw, **_wanted(make, {**variant, **shape}, skip=1))
        return {name: tensors[name] if name in tensors else {**variant, **shape}[name] for name in names}

    return made


def _taking(
    function: Callable[..., Mapping[str, np.ndarray]], variant: Mapping[str, Any]
) -> Callable[[Arguments], Mapping[str, np.ndarray]]:
    def taken(arguments: Arguments) -> Mapping[str, np.ndarray]:
        return function(**_wanted(function, {**variant, **_values(arguments)}))

    return taken


def _grid(
    grid: Callable[..., Any], variant: Mapping[str, Any]
) -> Callable[[Arguments, Mapping[str, Any], int], tuple[int, ...]]:
    def programs(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
        known = {**variant, **constants, **_values(arguments), "processors": processors}
        made = grid(**_wanted(grid, known))
        return tuple(map(int, made)) if isinstance(made, tuple) else (int(made),)

    return programs


def _judge(
    absolute: float | Mapping[str, float], reference: Callable[[Arguments], Mapping[str, np.ndarray]]
) -> Callable[[Arguments], Mapping[str, Tolerance]]:
    def allowed(arguments: Arguments) -> Mapping[str, Tolerance]:
        found = {}
        for name in reference(arguments):
            value = arguments[name]
            dtype = (value.tensor if isinstance(value, cases.Descriptor) else value).dtype
            if dtype in _FLOATS:
                off = absolute[name] if isinstance(absolute, Mapping) else absolute
                # Results that are rounded twice may be a unit in the last place away.
                found[name] = Tolerance(2 * epsilon(dtype) if dtype == "fp32" else epsilon(dtype), off)
            else:
                off = absolute.get(name, 0) if isinstance(absolute, Mapping) else 0
                found[name] = Tolerance(0, max(off, 0.5))
        return found

    return allowed


def _wanted(function: Callable[..., Any], known: Mapping[str, Any], skip: int = 0) -> dict[str, Any]:
    """Return those of the known values that a function takes."""
    return {name: known[name] for name in list(inspect.signature(function).parameters)[skip:]}


def _values(arguments: Arguments) -> dict[str, Any]:
    tensors = {
        name: value.tensor if isinstance(value, cases.Descriptor) else value for name, value in arguments.items()
    }
    return {name: value.values if isinstance(value, Tensor) else value for name, value in tensors.items()}
