"""Checkpoints of other projects as sparse weights, and back, bit by bit.

Functions read tensors of torch on any device, change none of them, and return a :class:`~.linear.SparseWeight24` with
memory of its own on the device of what they read. :mod:`tritonext_sparsity.formats` describes the formats, and has the
same conversions for arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from . import formats
from .compress import element_of_dtype
from .errors import OperandError
from .formats import CompressedMatrix, FormatError
from .linear import SparseWeight24

__all__ = [
    "bitmask_names",
    "from_bitmask",
    "from_cusparselt",
    "from_cutlass_sm90",
    "from_semi_structured",
    "from_torch_cutlass",
    "to_bitmask",
    "to_cusparselt",
    "to_cutlass_sm90",
    "to_torch_cutlass",
]

_COMPRESSED = ".compressed"
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def _array(name: str, tensor: Any) -> np.ndarray:
    """Return a copy of the bits of a tensor, as unsigned integers."""
    if not isinstance(tensor, Tensor):
        raise OperandError(f"{name} is no tensor", expected="a tensor of torch", found=type(tensor).__name__)
    if tensor.element_size() not in _INTEGERS:
        raise OperandError(f"{name} has a type without a compressed form", found=tensor.dtype)
    bits = tensor.detach().contiguous().view(_INTEGERS[tensor.element_size()]).cpu().numpy()
    return bits.view(f"uint{8 * bits.itemsize}").copy()


def _element(name: str, values: Any) -> str:
    if not isinstance(values, Tensor):
        raise OperandError(f"{name} is no tensor", expected="a tensor of torch", found=type(values).__name__)
    return element_of_dtype(values.dtype, name).name


def _tensor(array: np.ndarray, dtype: torch.dtype, device: torch.device) -> Tensor:
    bits = torch.from_numpy(np.ascontiguousarray(array).view(f"int{8 * array.itemsize}"))
    return bits.to(device).view(dtype)


def _weight(
    name: str, values: Tensor, read: Callable[[str], CompressedMatrix], scale: Tensor | None, keep_dense: bool
) -> SparseWeight24:
    element = _element(name, values)
    try:
        matrix = read(element)
    except FormatError as error:
        error.where = name + (f", {error.where}" if error.where else "")
        raise
    kept, meta = (
        _tensor(matrix.values, values.dtype, values.device),
        _tensor(matrix.meta, torch.uint8, values.device),
    )
    if scale is not None:
        scale = scale.detach().to(values.device, torch.float32, copy=True)
    # Reading has looked at all codes.
    return SparseWeight24(kept, meta, scale, keep_dense=keep_dense, check=False)


def _matrix(w: SparseWeight24) -> CompressedMatrix:
    if not isinstance(w, SparseWeight24):
        raise OperandError("w is no sparse weight", expected="a SparseWeight24", found=type(w).__name__)
    if w.values.dim() != 2:
        raise OperandError("checkpoints hold no weight of groups", expected="[features, K]", found=tuple(w.shape))
    return CompressedMatrix(_array("values", w.values), _array("meta", w.meta), _element("values", w.values))


def from_torch_cutlass(
    packed: Tensor, meta: Tensor, *, scale: Tensor | None = None, keep_dense: bool = False
) -> SparseWeight24:
    """Return the weight of ``packed`` and ``meta`` of PyTorch's CUTLASS backend.

    Args:
        packed: [features, K/2] of float16, bfloat16, float32 or int8.
        meta: int16, for int8 int32, as many as the format has.
        scale, keep_dense: As of :class:`~.linear.SparseWeight24`.

    Raises:
        OperandError: A tensor has another type.
        FormatError: The tensors do not belong together, or a code is illegal.
    """

    def read(element: str) -> CompressedMatrix:
        words = _array("meta", meta)
        return formats.from_torch_cutlass(_array("packed", packed), words.view(f"int{8 * words.itemsize}"), element)

    return _weight("packed", packed, read, scale, keep_dense)


def to_torch_cutlass(w: SparseWeight24) -> tuple[Tensor, Tensor]:
    """Return ``packed`` and ``meta`` of PyTorch's CUTLASS backend.

    Raises:
        OperandError: ``w`` is no weight, or one of groups.
        FormatError: The format has no such type, or ``w`` does not fill its blocks.
    """
    packed, meta = formats.to_torch_cutlass(_matrix(w))
    words = torch.int32 if meta.itemsize == 4 else torch.int16
    return _tensor(packed, w.dtype, w.device), _tensor(meta, words, w.device)


def from_cusparselt(
    blob: Tensor,
    shape: tuple[int, int],
    arch: Literal["sm80", "sm90"],
    *,
    scale: Tensor | None = None,
    keep_dense: bool = False,
) -> SparseWeight24:
    """Return the weight of what ``torch._cslt_compress`` made.

    Args:
        blob: Of float16 or bfloat16, on ``sm90`` of int8 too.
        shape: Rows and columns of the dense weight.
        arch: The GPUs that it was made on: 8.x or 9.0.
        scale, keep_dense: As of :class:`~.linear.SparseWeight24`.

    Raises:
        OperandError: ``blob`` has another type.
        FormatError: The blob does not hold such a matrix, or a code is illegal.
    """
    return _weight(
        "blob",
        blob,
        lambda element: formats.from_cusparselt(_array("blob", blob), tuple(shape), arch, element),
        scale,
        keep_dense,
    )


def to_cusparselt(w: SparseWeight24, arch: Literal["sm80", "sm90"]) -> Tensor:
    """Return what ``torch._cslt_compress`` makes, [features, ...].

    Raises:
        OperandError: ``w`` is no weight, or one of groups.
        FormatError: The format has no such type, or ``w`` does not fill its blocks.
    """
    return _tensor(formats.to_cusparselt(_matrix(w), arch), w.dtype, w.device).view(w.shape[0], -1)


def from_semi_structured(tensor: Tensor, arch: Literal["sm80", "sm90"] | None = None) -> SparseWeight24:
    """Return the weight of a ``torch.sparse.SparseSemiStructuredTensor``, of either backend.

    Args:
        tensor: What ``torch.sparse.to_sparse_semi_structured`` returns.
        arch: The GPUs that a tensor of the cuSPARSELt backend was made on.

    Raises:
        OperandError: It is no such tensor, or ``arch`` is needed.
        FormatError: As of :func:`from_torch_cutlass` and :func:`from_cusparselt`.
    """
    if not isinstance(tensor, torch.sparse.SparseSemiStructuredTensor) or tensor.packed is None:
        raise OperandError(
            "tensor is not of semi-structured sparsity",
            expected="what torch.sparse.to_sparse_semi_structured returns",
            found=type(tensor).__name__,
        )
    if tensor.meta is not None:
        return from_torch_cutlass(tensor.packed, tensor.meta)
    if arch is None:
        raise OperandError("tensor is of the cuSPARSELt backend", expected="arch", found=None)
    return from_cusparselt(tensor.packed, tuple(tensor.shape), arch)


def from_cutlass_sm90(
    values: Tensor, meta: Tensor, *, tile_k: int = 128, scale: Tensor | None = None, keep_dense: bool = False
) -> SparseWeight24:
    """Return the weight of tensors A and E of CUTLASS's kernels for Hopper, which torchao and vLLM use of 8-bit floats.

    Args:
        values: [features, K/2].
        meta: uint8, of any shape.
        tile_k: Columns of the dense weight that a tile of E describes.
        scale, keep_dense: As of :class:`~.linear.SparseWeight24`.

    Raises:
        OperandError: A tensor has another type.
        FormatError: The tensors do not belong together, or a code is illegal.
    """
    return _weight(
        "values",
        values,
        lambda element: formats.from_cutlass_sm90(_array("values", values), _array("meta", meta), element, tile_k),
        scale,
        keep_dense,
    )


def to_cutlass_sm90(w: SparseWeight24, *, tile_k: int = 128) -> tuple[Tensor, Tensor]:
    """Return tensors A and E of CUTLASS's kernels for Hopper, E as bytes.

    Raises:
        OperandError: ``w`` is no weight, or one of groups.
        FormatError: There is no such tile, or ``w`` does not fill its tiles.
    """
    values, meta = formats.to_cutlass_sm90(_matrix(w), tile_k)
    return _tensor(values, w.dtype, w.device), _tensor(meta, torch.uint8, w.device)


def bitmask_names(state: Iterable[str]) -> list[str]:
    """Return the names of the weights in a ``sparse-24-bitmask`` checkpoint, such as ``layers.0.mlp.up.weight``."""
    return [key.removesuffix(_COMPRESSED) for key in state if key.endswith(_COMPRESSED)]


def from_bitmask(state: Mapping[str, Tensor], name: str, *, keep_dense: bool = False) -> SparseWeight24:
    """Return a weight of a ``sparse-24-bitmask`` checkpoint of compressed-tensors.

    Args:
        state: What ``safetensors.torch.load_file`` returns: ``<name>.compressed``, ``<name>.bitmask`` and, if there,
            ``<name>.shape``, and ``<name>_scale`` with one factor or one for each feature.
        name: The name of the weight.
        keep_dense: As of :class:`~.linear.SparseWeight24`.

    Raises:
        OperandError: An entry is missing or has another type or shape.
        FormatError: The entries do not belong together, or a group keeps another number of elements than two.
    """
    entries = [name + _COMPRESSED, f"{name}.bitmask"]
    for key in entries:
        if key not in state:
            raise OperandError(
                f"the checkpoint has no {key}",
                expected=", ".join(entries),
                found=", ".join(bitmask_names(state)[:3]) or "no compressed weight",
            )
    compressed, bitmask = (state[key] for key in entries)
    shape, scale = state.get(f"{name}.shape"), state.get(f"{name}_scale")

    def read(element: str) -> CompressedMatrix:
        mask = _array(entries[1], bitmask)
        matrix = formats.from_bitmask(_array(entries[0], compressed), mask, element)
        if shape is not None and tuple(shape.tolist()) != matrix.shape:
            raise FormatError("shape differs from that of the entries", expected=matrix.shape, found=shape.tolist())
        return matrix

    if scale is not None and isinstance(bitmask, Tensor) and bitmask.dim() == 2:
        features = bitmask.shape[0]
        if scale.numel() not in (1, features):
            raise OperandError(
                f"{name}_scale is of no kind that a product has",
                expected=f"1 or {features} factors",
                found=tuple(scale.shape),
            )
        scale = scale.reshape(-1).expand(features)
    return _weight(entries[0], compressed, read, scale, keep_dense)


def to_bitmask(w: SparseWeight24, name: str) -> dict[str, Tensor]:
    """Return the entries of a weight in a ``sparse-24-bitmask`` checkpoint; what :func:`from_bitmask` reads.

    Raises:
        OperandError: ``w`` is no weight, or one of groups.
        FormatError: ``w`` is of float32.
    """
    compressed, bitmask = formats.to_bitmask(_matrix(w))
    state = {
        name + _COMPRESSED: _tensor(compressed, w.dtype, w.device),
        f"{name}.bitmask": _tensor(bitmask, torch.uint8, w.device),
        f"{name}.shape": torch.tensor(tuple(w.shape)),
    }
    if w.scale is not None:
        state[f"{name}_scale"] = w.scale.detach().clone()[:, None]
    return state
