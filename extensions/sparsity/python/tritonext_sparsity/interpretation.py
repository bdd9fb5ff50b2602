"""Sparse products in Triton's interpreter: those of the emulator, on the arrays that its tensors hold."""

from __future__ import annotations

import numpy as np
import triton.language as tl

from tritonext.interpret import TensorHandle

from .elements import ELEMENTS, Element, element
from .emulator.product import accumulate, check_codes

__all__ = ["multiply"]

_ELEMENTS = {
    tl.float16: ELEMENTS["float16"],
    tl.bfloat16: ELEMENTS["bfloat16"],
    tl.float32: ELEMENTS["float32"],
    tl.float8e4nv: ELEMENTS["float8_e4m3fn"],
    tl.float8e5: ELEMENTS["float8_e5m2"],
    tl.float8e4b8: ELEMENTS["float8_e4m3fnuz"],
    tl.float8e5b16: ELEMENTS["float8_e5m2fnuz"],
    tl.int8: ELEMENTS["int8"],
    tl.uint8: ELEMENTS["uint8"],
    tl.int32: element("s32"),
}


def multiply(values: tl.tensor, meta: tl.tensor, b: tl.tensor, acc: tl.tensor) -> tl.tensor:
    """Return ``expand24(values, meta) @ b + acc``, summed in float64 and rounded once; 32-bit floats are cut to tf32.

    Raises:
        InstructionError: A code of the metadata is none that an instruction accepts. Hardware does not check them.
    """
    types = tuple(_ELEMENTS[tensor.dtype] for tensor in (values, b, acc))
    codes = np.stack([meta.handle.data & 15, meta.handle.data >> 4], axis=2).reshape(meta.handle.data.shape[0], -1)
    kept, dense, total = (_bits(tensor, kind) for tensor, kind in zip((values, b, acc), types, strict=True))
    bits = accumulate(kept, check_codes(codes, types[0]), dense, total, types)
    return tl.tensor(TensorHandle(bits.view(acc.handle.data.dtype), acc.dtype), acc.type)


def _bits(tensor: tl.tensor, kind: Element) -> np.ndarray:
    return kind.bits_of(np.broadcast_to(tensor.handle.data, [int(size) for size in tensor.shape]))
