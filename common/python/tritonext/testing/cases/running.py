"""Running kernels of a corpus on the simulator and on a GPU, and judging what they write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tritonext.testing import simulator

from .case import Arguments, Case, Descriptor, Shape, Tensor
from .formats import decode, encode

__all__ = ["launch", "results", "simulate", "worst"]

_TORCH = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8e5": "float8_e5m2",
    "fp8e4nv": "float8_e4m3fn",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}


def worst(case: Case, arguments: Arguments, found: Mapping[str, np.ndarray]) -> float:
    """Return the largest error of all results as a multiple of what is allowed."""
    allowed, wanted = case.tolerance(arguments), case.reference(arguments)
    return max(allowed[name].worst(found[name], wanted[name]) for name in wanted)


def simulate(case: Case, kernel: Any, shape: Shape, processors: int, **options: Any) -> float:
    """Run what a kernel compiled to on the simulator and return the largest error as a multiple of what is allowed.

    Args:
        case: The kernel.
        kernel: What it compiled to.
        shape: One of its shapes.
        processors: Programs of a persistent kernel.
        options: Of the simulator.

    Raises:
        Finding: The kernel does something wrong.
    """
    arguments = case.arguments(shape)
    memory = {id(_tensor(value)): _array(value) for value in arguments.values() if _tensor(value)}
    values = {name: memory[id(_tensor(value))] if _tensor(value) else value for name, value in arguments.items()}
    simulator.simulate(kernel, case.grid(arguments, case.constants, processors), values, **options)
    found = {name: decode(values[name], _tensor(arguments[name]).dtype) for name in case.tolerance(arguments)}
    return worst(case, arguments, found)


def _tensor(value: Any) -> Tensor | None:
    if isinstance(value, Descriptor):
        return value.tensor
    return value if isinstance(value, Tensor) else None


def _array(value: Any) -> np.ndarray:
    return encode(_tensor(value).values, _tensor(value).dtype)


def launch(case: Case, fn: Any, arguments: Arguments, processors: int, **constants: Any) -> dict[str, Any]:
    """Launch a kernel on the GPU and return its arguments as tensors of torch; ``fn`` may be decorated.

    Args:
        case: The kernel.
        fn: Its function, which compiles as is wanted.
        arguments: Its arguments.
        processors: Programs of a persistent kernel.
        constants: Replace those of the case.
    """
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    made: dict[int, Any] = {}

    def on_device(tensor: Tensor) -> Any:
        if id(tensor) not in made:
            bits = _array(tensor)
            # An empty tensor has no address.
            flat = np.append(bits.ravel(), np.zeros(16 if bits.size == 0 else 0, bits.dtype))
            flat = torch.from_numpy(flat.view(f"i{bits.itemsize}")).cuda()
            flat = flat.view(getattr(torch, _TORCH[tensor.dtype]))
            made[id(tensor)] = flat.view(bits.shape) if bits.size else flat
        return made[id(tensor)]

    def passed(value: Any) -> Any:
        if isinstance(value, Descriptor):
            return TensorDescriptor.from_tensor(on_device(value.tensor), list(value.block))
        return on_device(value) if isinstance(value, Tensor) else value

    values = {name: passed(value) for name, value in arguments.items()}
    constants = {**case.constants, **constants}
    fn[case.grid(arguments, constants, processors)](**values, **constants, **case.options)
    return {name: made[id(_tensor(value))] for name, value in arguments.items() if _tensor(value)}


def results(case: Case, arguments: Arguments, tensors: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return what a launch wrote, as the reference gives it."""
    import torch

    found = {}
    for name in case.tolerance(arguments):
        dtype = _tensor(arguments[name]).dtype
        bits = tensors[name].view(getattr(torch, f"int{8 * tensors[name].element_size()}")).cpu().numpy()
        found[name] = decode(bits.view(encode(np.zeros(1), dtype).dtype), dtype)
    return found
