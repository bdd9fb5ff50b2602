"""Whether 2:4 sparsity helps a layer on a GPU, and which kernel runs it: from times that were measured there.

``tuned/<device>.json`` holds, for element types and shapes of weights, the times of the dense product of PyTorch and of
the kernels of this package at several numbers of tokens. ``python -m tritonext_sparsity.tune`` makes it. Between these
numbers times are interpolated for what is said, and bounded for what is chosen: fewer tokens never take a sparse kernel
longer, with the same tile. A shape that was not measured takes the times of the most similar one, and sparse kernels
only where these are much faster. Nothing is said of shapes unlike all measured ones, nor of fewer tokens.
"""

from __future__ import annotations

import enum
import functools
import itertools
import json
import math
import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import OperandError

if TYPE_CHECKING:
    import torch

    from .kernels import hopper

__all__ = ["Advice", "Kernel", "Table", "advise", "table_of"]

TUNED = pathlib.Path(__file__).parent / "tuned"

# What times may be wrong by, of a measured shape and of one like it: sparse kernels run where they are faster by more.
_MARGIN, _MARGIN_ALIKE = 0.05, 0.15
# How unlike a measured shape may be in features and columns together, as a factor, before nothing is said of it.
_REACH = 4.0
# Tensor cores multiply floats of one width at one rate.
_ALIKE = {"float16": "bfloat16", "float8_e5m2": "float8_e4m3fn"}
# GPUs whose sparse products of an element type the extension compiles.
_CUDA = ("cuda:80", "cuda:86", "cuda:89", "cuda:90", "cuda:100", "cuda:120")
_HIP = ("hip:gfx942", "hip:gfx950")
_TARGETS = {
    "float16": (*_CUDA, *_HIP),
    "bfloat16": (*_CUDA, *_HIP),
    "float32": _CUDA,
    "int8": (*_CUDA, *_HIP),
    "float8_e4m3fn": ("cuda:89", "cuda:90", "cuda:120", "hip:gfx950"),
    "float8_e5m2": ("cuda:89", "cuda:90", "cuda:120", "hip:gfx950"),
    "float8_e4m3fnuz": ("hip:gfx942",),
    "float8_e5m2fnuz": ("hip:gfx942",),
}


class Kernel(enum.Enum):
    """What can compute a layer."""

    DENSE = "dense"
    PORTABLE = "portable"
    HOPPER = "hopper"


@dataclass(frozen=True)
class Advice:
    """What is to be expected of 2:4 sparsity for a layer.

    Attributes:
        kernel: The fastest.
        speedup: Time of the dense product over that of the fastest sparse kernel; None when nothing like it was
            measured.
        basis: What this rests on.
    """

    kernel: Kernel
    speedup: float | None
    basis: str

    @property
    def helps(self) -> bool | None:
        """Whether a sparse kernel is faster; None when that is not known."""
        return None if self.speedup is None else self.speedup > 1

    def __str__(self) -> str:
        if self.speedup is None:
            return f"not known: {self.basis}"
        return f"{self.kernel.value}, sparse {self.speedup:.2f}x of dense ({self.basis})"


@dataclass(frozen=True)
class Shape:
    """Times of one shape of weights.

    Attributes:
        dtype: Name of the element type.
        features, depth: Rows and columns of the weight.
        times: For each number of tokens, ascending, microseconds by kernel.
        configs: For each number of tokens, the tile of a kernel by its name.
    """

    dtype: str
    features: int
    depth: int
    times: Mapping[int, Mapping[Kernel, float]]
    configs: Mapping[int, Mapping[Kernel, Mapping[str, int]]]

    def distance(self, features: int, depth: int) -> float:
        """Return how unlike another shape is, as a factor."""
        return math.exp(abs(math.log(features / self.features)) + abs(math.log(depth / self.depth)))

    def time(self, kernel: Kernel, tokens: int) -> float | None:
        """Return the microseconds of a kernel, interpolated between numbers of tokens on logarithmic scales.

        It is None for a kernel that was not measured, and for fewer tokens than it was measured with. More tokens are
        taken to cost in proportion.
        """
        known = [(count, by_kernel[kernel]) for count, by_kernel in self.times.items() if kernel in by_kernel]
        if not known or tokens < known[0][0]:
            return None
        if tokens == known[0][0]:
            return known[0][1]
        for (low, before), (high, after) in itertools.pairwise(known):
            if tokens <= high:
                share = math.log(tokens / low) / math.log(high / low)
                return before ** (1 - share) * after**share
        return known[-1][1] * tokens / known[-1][0]

    def bounds(self, kernel: Kernel, tokens: int) -> tuple[float, float] | None:
        """Return the least and the most of a kernel's times at the measured numbers of tokens around one."""
        known = [(count, by_kernel[kernel]) for count, by_kernel in self.times.items() if kernel in by_kernel]
        if not known or tokens < known[0][0]:
            return None
        if tokens >= known[-1][0]:
            beyond = known[-1][1] * tokens / known[-1][0]
            return beyond, beyond
        before = max((entry for entry in known if entry[0] <= tokens), key=lambda entry: entry[0])[1]
        after = next(us for count, us in known if count >= tokens)
        return min(before, after), max(before, after)

    def config(self, kernel: Kernel, tokens: int) -> Mapping[str, int] | None:
        """Return the tile that was the fastest for as many tokens, or for the next more that were measured."""
        known = {count: by_kernel[kernel] for count, by_kernel in self.configs.items() if kernel in by_kernel}
        if not known:
            return None
        return known[min((count for count in known if count >= tokens), default=max(known))]


@dataclass(frozen=True)
class Table:
    """What was measured on one kind of GPU.

    Attributes:
        device: Its name.
        shapes: The shapes of weights.
        commit: The state of the sources.
    """

    device: str
    shapes: tuple[Shape, ...]
    commit: str = ""

    @classmethod
    def read(cls, path: pathlib.Path) -> Table:
        """Read a table from a file."""
        data = json.loads(path.read_text())
        tiles = data["tiles"]
        shapes = []
        for entry in data["shapes"]:
            rows = sorted(entry["tokens"].items(), key=lambda item: int(item[0]))
            times = {int(count): {Kernel(name): us for name, us in row["us"].items()} for count, row in rows}
            configs = {
                int(count): {Kernel(name): tiles[number] for name, number in row.get("tiles", {}).items()}
                for count, row in rows
            }
            shapes.append(Shape(entry["dtype"], entry["features"], entry["depth"], times, configs))
        return cls(data["device"], tuple(shapes), data.get("commit", ""))

    def nearest(self, dtype: str, features: int, depth: int) -> Shape | None:
        """Return the most similar shape of an element type, unless all are unlike."""
        names = {dtype, _ALIKE.get(dtype, dtype)}
        same = [shape for shape in self.shapes if shape.dtype in names]
        if not same:
            return None
        found = min(same, key=lambda shape: (shape.distance(features, depth), shape.dtype != dtype))
        return found if found.distance(features, depth) <= _REACH else None

    def advise(self, dtype: str, tokens: int, features: int, depth: int, kernels: Iterable[Kernel]) -> Advice:
        """Return the advice for a layer that any of ``kernels`` can compute; see :func:`advise`."""
        shape = self.nearest(dtype, features, depth)
        usable = tuple(kernels)
        sparse = [kernel for kernel in usable if kernel is not Kernel.DENSE]
        # A dense copy is kept so that nothing becomes slower.
        unknown = Kernel.DENSE if Kernel.DENSE in usable else sparse[-1]
        if shape is None:
            return Advice(unknown, None, f"no such {dtype} weight was measured on {self.device}")
        bounds = {kernel: found for kernel in Kernel if (found := shape.bounds(kernel, tokens)) is not None}
        known = [kernel for kernel in sparse if kernel in bounds]
        if not known or Kernel.DENSE not in bounds:
            return Advice(unknown, None, f"no product of {tokens} tokens was measured on {self.device}")
        best = min(known, key=lambda kernel: bounds[kernel][1])
        dense, fastest = (shape.time(kernel, tokens) for kernel in (Kernel.DENSE, best))
        basis = f"{self.device}, {shape.dtype} {shape.features} x {shape.depth}"
        margin = _MARGIN if (shape.features, shape.depth) == (features, depth) else _MARGIN_ALIKE
        if Kernel.DENSE in usable and bounds[best][1] * (1 + margin) > bounds[Kernel.DENSE][0]:
            best = Kernel.DENSE
        return Advice(best, dense / fastest, basis)


@functools.cache
def table_of(device_name: str) -> Table | None:
    """Return the table of a kind of GPU by its name, such as ``"NVIDIA H200"``; None when there is none."""
    path = TUNED / f"{'-'.join(device_name.lower().split())}.json"
    return Table.read(path) if path.is_file() else None


def advise(device_name: str, dtype: str, tokens: int, features: int, depth: int) -> Advice:
    """Say whether 2:4 sparsity makes a layer faster, before anything is pruned. Neither torch nor a GPU is needed.

    Args:
        device_name: As ``torch.cuda.get_device_name`` returns it.
        dtype: Name of the element type, such as ``"bfloat16"``.
        tokens: Rows of the input.
        features, depth: Rows and columns of the weight.

    Raises:
        OperandError: A size is no positive number.
    """
    for name, size in (("tokens", tokens), ("features", features), ("depth", depth)):
        if not isinstance(size, int) or size < 1:
            raise OperandError("a layer has no such size", where=f"argument {name}", expected="1 or more", found=size)
    table = table_of(device_name)
    if table is None:
        return Advice(Kernel.DENSE, None, f"no table for {device_name}")
    return table.advise(dtype, tokens, features, depth, Kernel)


@functools.lru_cache(maxsize=4096)
def _chosen(
    device: int, dtype: str, tokens: int, features: int, depth: int, kernels: tuple[Kernel, ...]
) -> tuple[Kernel, Mapping[str, int] | None]:
    import torch

    table = table_of(torch.cuda.get_device_name(device))
    if table is None:
        return Kernel.DENSE if Kernel.DENSE in kernels else kernels[-1], None
    kernel = table.advise(dtype, tokens, features, depth, kernels).kernel
    shape = table.nearest(dtype, features, depth)
    # How tiles fill waves depends on the shape.
    measured = shape is not None and (shape.features, shape.depth) == (features, depth)
    return kernel, shape.config(kernel, tokens) if measured else None


def choose(
    device: torch.device, dtype: torch.dtype, tokens: int, features: int, depth: int, kernels: Iterable[Kernel]
) -> tuple[Kernel, Mapping[str, int] | None]:
    """Return the kernel for a layer, and its tile where one was tuned.

    Args:
        device: The GPU.
        dtype: Type of the weight.
        tokens: Rows of the input.
        features, depth: Rows and columns of the weight.
        kernels: What can compute it. Without a measurement the dense product does, or else the last one.
    """
    import torch

    index = torch.cuda.current_device() if device.index is None else device.index
    return _chosen(index, str(dtype).removeprefix("torch."), tokens, features, depth, tuple(kernels))


@functools.cache
def _target(index: int) -> str:
    """Return the target that kernels of a device are compiled for."""
    import torch

    if torch.version.hip is not None:
        return "hip:" + torch.cuda.get_device_properties(index).gcnArchName.partition(":")[0]
    major, minor = torch.cuda.get_device_capability(index)
    return f"cuda:{10 * major + minor}"


def target_of(device: torch.device) -> str:
    """Return the target of a GPU, such as ``cuda:90``."""
    import torch

    return _target(torch.cuda.current_device() if device.index is None else device.index)


def check_device(device: torch.device, dtype: torch.dtype) -> None:
    """Refuse a device without sparse products of an element type.

    Raises:
        OperandError: It has none.
    """
    if device.type != "cuda":
        raise OperandError("the weight is not on a GPU", expected="a device of type cuda", found=device)
    target, supported = target_of(device), _TARGETS[str(dtype).removeprefix("torch.")]
    if target not in supported:
        raise OperandError(
            f"the GPU has no sparse products of {dtype}", expected=", ".join(supported), found=f"{device}, {target}"
        )


def has_packed_kernel(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether the GPU has a kernel that reads metadata in the order of its registers."""
    import torch

    return dtype not in (torch.float32, torch.int8) and target_of(device) == "cuda:90"


def hopper_takes(x: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> bool:
    """Return whether bulk copies reach these matrices: addresses and rows are multiples of 16 bytes."""

    def aligned(tensor: torch.Tensor) -> bool:
        return tensor.data_ptr() % 16 == 0 and tensor.stride(0) * tensor.element_size() % 16 == 0

    return all(map(aligned, (x, values, out)))


def hopper_config(
    tuned: Mapping[str, int] | None, x: torch.Tensor, features: int, out_dtype: torch.dtype
) -> hopper.Config:
    """Return the tile of the Hopper kernel: a tuned one, or the one that its own table says is best."""
    from .kernels import hopper

    if tuned is not None:
        return hopper.fitted(hopper.Config(**tuned), x.dtype, out_dtype)
    return hopper.choose(x, features, out_dtype)
