"""Linear layers with 2:4 sparse weights for PyTorch: weights, products in one kernel, and the swap of ``nn.Linear``.

Products are opaque operators of ``torch.library``, so that ``torch.compile`` takes them whole (``fullgraph=True``) and
CUDA graphs capture them: nothing in them waits for the GPU. There is no backward pass: asking for it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from . import advisor
from .advisor import Kernel
from .compress import check_compressed, compress, decompress, element_of_dtype, validate_metadata
from .errors import OperandError
from .formats import FORMAT_VERSION, FormatError
from .kernels.portable import ACTIVATIONS, sparse_linear_portable
from .prune import prune as pruned

__all__ = [
    "ACTIVATIONS",
    "MemoryReport",
    "SparseLinear24",
    "SparseWeight24",
    "grouped_sparse_linear",
    "sparse_linear",
    "sparsified",
    "sparsify_",
]

Pruning = Literal["magnitude", "transposable"]
_FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
_FNUZ = (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
_SCALED = (*_FP8, *_FNUZ, torch.int8)
_ACCEPTED = (torch.float16, torch.bfloat16, torch.float32, *_SCALED)
_OUT = (torch.float16, torch.bfloat16, torch.float32)
# Types whose dense products PyTorch computes for any number of tokens.
_DENSE = (*_OUT, torch.float8_e4m3fn)


@dataclass(frozen=True)
class MemoryReport:
    """Bytes that a weight takes.

    Attributes:
        dense: Of the dense weight that it stands for.
        values: Of the kept elements.
        meta: Of their positions.
        packed: Of the positions in the order of the GPU's registers.
        scale: Of the factors of features.
        kept_dense: Of the dense copy that lets the advisor choose, where the user asked for one.
    """

    dense: int
    values: int
    meta: int
    packed: int = 0
    scale: int = 0
    kept_dense: int = 0

    @property
    def total(self) -> int:
        """Bytes of everything that is held."""
        return self.values + self.meta + self.packed + self.scale + self.kept_dense

    def __add__(self, other: MemoryReport) -> MemoryReport:
        return MemoryReport(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def __str__(self) -> str:
        parts = {name: getattr(self, name) for name in ("values", "meta", "packed", "scale", "kept_dense")}
        listed = ", ".join(f"{name} {size:,}" for name, size in parts.items() if size)
        share = self.total / self.dense if self.dense else 0.0
        return f"{self.total:,} bytes ({listed}), {share:.1%} of the dense {self.dense:,}"


class SparseWeight24(nn.Module):
    """A weight [features, K] of 2:4 structure in canonical form, or those of several groups [groups, features, K].

    It is a module for its state: buffers move with the module that holds it, and ``state_dict`` has the canonical form
    with its version and nothing that depends on a GPU. What a GPU reads in an order of its own is derived when the
    weight comes to it.

    Args:
        values: The kept elements [features, K/2], or [groups, features, K/2]; held, and copied only to close gaps.
        meta: Their positions, uint8 [features, K/8], of float32 [features, K/4].
        scale: Factors of the features, float32 [features], such as those of quantization to 8 bits.
        keep_dense: Keep a dense copy too, so that products run dense unless the advisor's table says sparse is faster.
            Of float16, bfloat16, float32 and e4m3.
        check: Read from the GPU whether all codes are legal, and wait for it. Without the check products of illegal
            codes are undefined.

    Raises:
        OperandError: The tensors do not fit together, or there is no dense product to keep a copy for.
        FormatError: There is an illegal code.
    """

    def __init__(
        self,
        values: Tensor,
        meta: Tensor,
        scale: Tensor | None = None,
        *,
        keep_dense: bool = False,
        check: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(values, Tensor) or values.dim() not in (2, 3):
            raise OperandError(
                "values are no matrix",
                expected="a tensor of 2 dimensions, or of 3 for groups",
                found=tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__,
            )
        if not isinstance(meta, Tensor) or meta.dim() != values.dim() or meta.shape[:-2] != values.shape[:-2]:
            raise OperandError(
                "meta does not fit to values",
                expected=f"a tensor of {values.dim()} dimensions and as many groups",
                found=tuple(meta.shape) if isinstance(meta, Tensor) else type(meta).__name__,
            )
        check_compressed("values", values.flatten(0, -2), "meta", meta.flatten(0, -2), on_gpu=False)
        if values.dtype not in _ACCEPTED:
            raise OperandError("values have no product", expected=", ".join(map(str, _ACCEPTED)), found=values.dtype)
        if scale is not None and (scale.shape != values.shape[:-1] or scale.dtype != torch.float32):
            raise OperandError(
                "scale does not fit to values",
                expected=f"float32 {tuple(values.shape[:-1])}, a factor for each feature",
                found=f"{scale.dtype} {tuple(scale.shape)}",
            )
        if keep_dense and values.dtype not in _DENSE:
            raise OperandError(
                "PyTorch has no dense product to choose", expected=", ".join(map(str, _DENSE)), found=values.dtype
            )
        self.keep_dense = keep_dense
        self.register_buffer("values", values.contiguous())
        self.register_buffer("meta", meta.contiguous())
        self.register_buffer("scale", scale)
        self.register_buffer("packed", None, persistent=False)
        self.register_buffer("dense", None, persistent=False)
        if check and values.device.type == "cuda":
            validate_metadata(self.meta.flatten(0, -2), values.dtype)
        self._derive()

    @classmethod
    def from_dense(
        cls,
        weight: Tensor,
        *,
        prune: Pruning | None = None,
        scores: Tensor | None = None,
        scale: Tensor | None = None,
        keep_dense: bool = False,
    ) -> SparseWeight24:
        """Compress a weight on a GPU, which is not changed.

        Args:
            weight: [features, K], or [groups, features, K].
            prune: How to choose what is kept where a group of four has more than two non-zero elements: by magnitude,
                or by the best mask that is 2:4 along both dimensions. Without it such a group is an error.
            scores: Scores of the shape of ``weight`` to choose by instead of magnitudes.
            scale: As of the class.
            keep_dense: As of the class.

        Raises:
            OperandError: A tensor has another shape or type, or is not on a GPU.
            FormatError: A group has too many non-zero elements and no pruning was asked for.
        """
        if not isinstance(weight, Tensor) or weight.dim() not in (2, 3):
            raise OperandError(
                "weight is no matrix",
                expected="a tensor of 2 dimensions, or of 3 for groups",
                found=tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__,
            )
        if prune not in (None, "magnitude", "transposable"):
            raise OperandError("prune is unknown", expected="None, 'magnitude' or 'transposable'", found=repr(prune))
        if scores is not None and scores.shape != weight.shape:
            raise OperandError("scores do not fit to weight", expected=tuple(weight.shape), found=tuple(scores.shape))
        flat = weight.detach().reshape(-1, weight.shape[-1])
        flat_scores = None if scores is None else scores.detach().reshape(flat.shape)
        if prune == "transposable":
            if weight.shape[-2] % 4:
                raise OperandError(
                    "weight has no transposable masks", expected="a multiple of 4 features", found=tuple(weight.shape)
                )
            flat, flat_scores = pruned(flat, scores=flat_scores, transposable=True, name="weight"), None
        values, meta = compress(flat, prune=prune == "magnitude", scores=flat_scores, name="weight")
        lead = weight.shape[:-1]
        return cls(values.view(*lead, -1), meta.view(*lead, -1), scale, keep_dense=keep_dense, check=False)

    def to_dense(self) -> Tensor:
        """Return the dense weight, without ``scale`` applied."""
        dense = decompress(self.values.flatten(0, -2), self.meta.flatten(0, -2))
        return dense.view(self.shape)

    @property
    def shape(self) -> torch.Size:
        """Shape of the dense weight."""
        return torch.Size((*self.values.shape[:-1], 2 * self.values.shape[-1]))

    @property
    def dtype(self) -> torch.dtype:
        """Type of the elements."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.values.device

    def memory(self) -> MemoryReport:
        """Return the bytes that it takes."""

        def size(tensor: Tensor | None) -> int:
            return 0 if tensor is None else tensor.nbytes

        return MemoryReport(
            2 * self.values.nbytes,
            self.values.nbytes,
            self.meta.nbytes,
            size(self.packed),
            size(self.scale),
            size(self.dense),
        )

    def extra_repr(self) -> str:
        return f"shape={tuple(self.shape)}, dtype={self.dtype}, device={self.device}"

    def _derive(self) -> None:
        """Derive what depends on the GPU."""
        self.packed = self.dense = None
        if self.device.type != "cuda":
            return
        if self.values.dim() == 2 and advisor.has_packed_kernel(self.device, self.dtype):
            from .kernels.hopper import reserve

            self.packed = packed_metadata(self.meta, self.dtype)
            reserve(self.device)
        if self.keep_dense:
            self.dense = self.to_dense()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> SparseWeight24:
        dtype = fn(torch.empty(0, dtype=self.dtype, device=self.device)).dtype
        if dtype not in _ACCEPTED or (dtype == torch.float32) != (self.dtype == torch.float32):
            raise OperandError(
                f"a sparse weight of {self.dtype} does not become one of {dtype}",
                expected="types of 8 and 16 bits are 2:4 sparse, torch.float32 is 1:2",
                found=dtype,
                hint="convert the dense weight, and compress it then",
            )
        # Neither would follow a change of the type, and both are derived anew.
        self.packed = self.dense = None
        # Factors stay float32: changes of the type leave integers alone.
        scale = None if self.scale is None else fn(self.scale.view(torch.int32)).view(torch.float32)
        super()._apply(fn, recurse)
        self.scale = scale
        self._derive()
        return self

    def get_extra_state(self) -> dict[str, int]:
        return {"format": FORMAT_VERSION}

    def set_extra_state(self, state: dict[str, int]) -> None:
        if state.get("format") != FORMAT_VERSION:
            raise FormatError(
                "the state of a sparse weight is of another version of the format",
                expected=FORMAT_VERSION,
                found=state.get("format"),
            )

    def _load_from_state_dict(self, *args: Any, **keywords: Any) -> None:
        super()._load_from_state_dict(*args, **keywords)
        if self.device.type == "cuda":
            validate_metadata(self.meta.flatten(0, -2), self.dtype)
        self._derive()


def packed_metadata(meta: Tensor, dtype: torch.dtype) -> Tensor:
    """Return metadata in the order of Hopper's registers, of rows and columns filled up to whole tiles.

    Args:
        meta: uint8 matrix in canonical form.
        dtype: Type of the values.
    """
    from .formats import wgmma_orders

    order = wgmma_orders(element_of_dtype(dtype, "dtype").name).meta
    rows, columns = (
        -(-size // step) * step for size, step in zip(meta.shape, (order.rows, order.columns), strict=True)
    )
    # A legal code: what it belongs to is zero.
    whole = torch.nn.functional.pad(meta, (0, columns - meta.shape[1], 0, rows - meta.shape[0]), value=0x44)
    shape, axes = order.packing(rows, columns)
    return whole.reshape(shape).permute(axes).contiguous().view(-1)


def _check(
    x: Tensor,
    values: Tensor,
    scale_w: Tensor | None,
    bias: Tensor | None,
    scale_x: Tensor | None,
    residual: Tensor | None,
    offsets: Tensor | None,
    activation: str,
    out_dtype: torch.dtype,
) -> None:
    """Refuse operands that do not fit together; nothing here reads memory of the GPU."""
    if x.dtype not in _ACCEPTED:
        raise OperandError(
            "x has a type without sparse products", expected=", ".join(map(str, _ACCEPTED)), found=x.dtype
        )
    mixed = any(x.dtype in pair and values.dtype in pair for pair in (_FP8, _FNUZ))
    if x.dtype != values.dtype and not mixed:
        raise OperandError("x has another type than the weight", expected=values.dtype, found=x.dtype)
    if x.dim() < 1 or x.shape[-1] != 2 * values.shape[-1]:
        raise OperandError(
            "x has other columns than the weight", expected=f"K = {2 * values.shape[-1]}", found=tuple(x.shape)
        )
    features = values.shape[-2]
    if values.dim() == 3:
        wanted = (x.dim() == 2) if offsets is not None else (x.dim() == 3 and x.shape[0] == values.shape[0])
        if not wanted:
            raise OperandError(
                "x does not fit to a weight of groups",
                expected="[tokens, K] with offsets" if offsets is not None else f"[{values.shape[0]}, tokens, K]",
                found=tuple(x.shape),
            )
    elif offsets is not None:
        raise OperandError("the weight has no groups", expected="[groups, features, K]", found="[features, K]")
    out_shape = (*x.shape[:-1], features)
    if activation not in ACTIVATIONS:
        raise OperandError("activation is unknown", expected=", ".join(ACTIVATIONS), found=repr(activation))
    if out_dtype not in _OUT:
        raise OperandError("out_dtype is no type of a result", expected=", ".join(map(str, _OUT)), found=out_dtype)
    rules = (
        ("bias", bias, tuple(values.shape[:-1]), _OUT),
        ("scale", scale_x, tuple(x.shape[:-1]), (torch.float32,)),
        ("residual", residual, out_shape, _OUT),
        ("offsets", offsets, (values.shape[0],), (torch.int32,)),
    )
    for name, tensor, shape, dtypes in rules:
        if tensor is None:
            continue
        if tuple(tensor.shape) != shape:
            raise OperandError(f"{name} has another shape", expected=shape, found=tuple(tensor.shape))
        if tensor.dtype not in dtypes:
            raise OperandError(f"{name} has another type", expected=", ".join(map(str, dtypes)), found=tensor.dtype)
    for name, tensor in (("x", x), *((name, tensor) for name, tensor, _, _ in rules)):
        if tensor is not None and tensor.device != values.device:
            raise OperandError(
                f"{name} is on another device than the weight", expected=values.device, found=tensor.device
            )
    advisor.check_device(values.device, values.dtype)


def _rows(x: Tensor) -> Tensor:
    """Return ``x`` with rows equally far from each other and adjacent columns, without a copy if it has them."""
    whole = x.stride(-1) == 1 or x.shape[-1] == 1
    for axis in range(x.dim() - 2):
        whole = whole and (x.shape[axis] == 1 or x.stride(axis) == x.stride(axis + 1) * x.shape[axis + 1])
    return x if whole else x.contiguous()


def _compute(
    x: Tensor,
    values: Tensor,
    meta: Tensor,
    packed: Tensor | None,
    dense: Tensor | None,
    scale_w: Tensor | None,
    bias: Tensor | None,
    scale_x: Tensor | None,
    residual: Tensor | None,
    offsets: Tensor | None,
    activation: str,
    out_dtype: torch.dtype,
) -> Tensor:
    _check(x, values, scale_w, bias, scale_x, residual, offsets, activation, out_dtype)
    features, depth = values.shape[-2], x.shape[-1]
    grouped = values.dim() == 3
    rows = _rows(x) if grouped else _rows(x).reshape(-1, depth)
    out = torch.empty((*x.shape[:-1], features), dtype=out_dtype, device=x.device)
    if not out.numel():
        return out
    factors = {
        "scale_w": scale_w,
        "scale_x": None if scale_x is None else scale_x.contiguous(),
        "bias": None if bias is None else bias.contiguous(),
    }
    flat = out if grouped else out.view(-1, features)
    if residual is not None:
        residual = _rows(residual) if grouped else residual.reshape(-1, features).contiguous()
    kernels = [Kernel.PORTABLE]
    if packed is not None and advisor.hopper_takes(rows, values, flat):
        kernels.append(Kernel.HOPPER)
    # PyTorch's product of 8-bit floats takes rows of 16 bytes.
    if dense is not None and (dense.element_size() > 1 or (features % 16 == 0 and depth % 16 == 0)):
        kernels.append(Kernel.DENSE)
    kernel, tuned = Kernel.PORTABLE, None
    if len(kernels) > 1:
        kernel, tuned = advisor.choose(x.device, values.dtype, rows.shape[0], features, depth, kernels)
    with torch.cuda.device_of(x):
        if kernel is Kernel.DENSE:
            return dense_linear(rows, dense, out_dtype, activation, residual=residual, **factors).view(out.shape)
        if kernel is Kernel.HOPPER:
            from .kernels.hopper import sparse_linear_hopper

            config = advisor.hopper_config(tuned, rows, features, out_dtype)
            sparse_linear_hopper(
                values, packed, rows, flat, residual=residual, activation=activation, config=config, **factors
            )
        else:
            sparse_linear_portable(
                rows, values, meta, flat, residual=residual, offsets=offsets, activation=activation, **factors
            )
    return out


def _describe(x, values, meta, packed, dense, scale_w, bias, scale_x, residual, offsets, activation, out_dtype):
    _check(x, values, scale_w, bias, scale_x, residual, offsets, activation, out_dtype)
    return x.new_empty((*x.shape[:-1], values.shape[-2]), dtype=out_dtype)


def _refuse_gradients(context: Any, gradient: Tensor) -> None:
    raise OperandError(
        "a product with a sparse weight has no backward pass",
        expected="inference",
        found="backward through sparse_linear",
        hint="compute under torch.no_grad(), or train with the dense weight and its mask",
    )


# The operator is defined by parts, because torch.library.custom_op adds checks of aliases, 12 us to each call.
_LIBRARY = torch.library.Library("tritonext_sparsity", "DEF")
_LIBRARY.define("linear" + torch.library.infer_schema(_compute, mutates_args=()))
_LIBRARY.impl("linear", _compute, "CompositeExplicitAutograd")
torch.library.register_fake("tritonext_sparsity::linear", _describe, lib=_LIBRARY)
torch.library.register_autograd("tritonext_sparsity::linear", _refuse_gradients, lib=_LIBRARY)
_linear = torch.ops.tritonext_sparsity.linear.default


def dense_linear(
    x: Tensor,
    weight: Tensor,
    out_dtype: torch.dtype,
    activation: str,
    *,
    scale_w: Tensor | None,
    scale_x: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
) -> Tensor:
    """Compute the layer with what PyTorch calls for dense matrices."""
    tokens, features = x.shape[0], weight.shape[0]
    if x.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        one = torch.ones((), device=x.device)
        left = (one if scale_x is None else scale_x).reshape(-1, 1).expand(tokens, 1).contiguous()
        right = (one if scale_w is None else scale_w).reshape(1, -1).expand(1, features).contiguous()
        result = torch._scaled_mm(x, weight.T, left, right, out_dtype=torch.bfloat16, use_fast_accum=True)
        scale_x = scale_w = None
    elif bias is not None and scale_x is None and scale_w is None and bias.dtype == x.dtype:
        result, bias = torch.addmm(bias, x, weight.T), None
    else:
        result = x @ weight.T
    if scale_x is not None:
        result = result * scale_x.reshape(-1, 1)
    if scale_w is not None:
        result = result * scale_w
    if bias is not None:
        result = result + bias
    if activation == "relu2":
        result = torch.relu(result).square()
    elif activation != "none":
        result = getattr(nn.functional, activation)(result)
    if residual is not None:
        result = result + residual
    return result.to(out_dtype)


def _defaulted(x: Tensor, out_dtype: torch.dtype | None) -> torch.dtype:
    if out_dtype is not None:
        return out_dtype
    return torch.bfloat16 if x.dtype in _SCALED else x.dtype


def sparse_linear(
    x: Tensor,
    w: SparseWeight24,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    activation: str | None = None,
    residual: Tensor | None = None,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """Return ``activation(scale * w.scale * (x @ w.T) + bias) + residual`` of a sparse weight, computed in one kernel.

    A backward pass through the result is an ``OperandError``.

    Args:
        x: [..., K] of the type of the weight; two types of 8-bit floats may be mixed. With a weight of groups
            [groups, tokens, K], each group by its own.
        w: The weight.
        bias: [features], of groups [groups, features]; float16, bfloat16 or float32.
        scale: Factors of the rows of ``x``, float32 [...], such as those of quantization to 8 bits.
        activation: One of :data:`ACTIVATIONS`.
        residual: What to add behind the activation, [..., features].
        out_dtype: Type of the result: that of ``x``, and bfloat16 of 8-bit types, when None.

    Raises:
        OperandError: An operand has another shape, type or device, or the GPU has no such product.
    """
    _check_weight(w)
    return _linear(
        x,
        w.values,
        w.meta,
        w.packed,
        w.dense,
        w.scale,
        bias,
        scale,
        residual,
        None,
        activation or "none",
        _defaulted(x, out_dtype),
    )


def grouped_sparse_linear(
    x: Tensor,
    w: SparseWeight24,
    offsets: Tensor,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    activation: str | None = None,
    residual: Tensor | None = None,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """Return what :func:`sparse_linear` does of tokens that lie behind each other by groups: a mixture of experts.

    Nothing waits for the GPU, so that ``offsets`` may be computed there.

    Args:
        x: [tokens, K]. Rows behind the last group give rows that are not written.
        w: A weight of groups.
        offsets: Where the rows of each group end, int32 [groups], ascending, as ``torch._grouped_mm`` takes them.
        bias: [groups, features].
        scale: Factors of the rows of ``x``, float32 [tokens].
        activation: One of :data:`ACTIVATIONS`.
        residual: [tokens, features].
        out_dtype: As of :func:`sparse_linear`.

    Raises:
        OperandError: An operand has another shape, type or device, or the GPU has no such product.
    """
    _check_weight(w)
    return _linear(
        x,
        w.values,
        w.meta,
        None,
        None,
        w.scale,
        bias,
        scale,
        residual,
        offsets,
        activation or "none",
        _defaulted(x, out_dtype),
    )


def _check_weight(w: Any) -> None:
    if not isinstance(w, SparseWeight24):
        raise OperandError(
            "w is no sparse weight",
            expected="a SparseWeight24",
            found=type(w).__name__,
            hint="make one with SparseWeight24.from_dense",
        )


class SparseLinear24(nn.Module):
    """A linear layer with a sparse weight, in the place of an ``nn.Linear``.

    Args:
        weight: The weight.
        bias: [features], or None; held as a buffer.
        activation: Applied to the result, as of :func:`sparse_linear`.
    """

    def __init__(self, weight: SparseWeight24, bias: Tensor | None = None, activation: str | None = None) -> None:
        super().__init__()
        self.weight = weight
        self.register_buffer("bias", None if bias is None else bias.detach().clone())
        self.activation = activation

    @classmethod
    def from_linear(
        cls, linear: nn.Linear, *, prune: Pruning | None = None, scores: Tensor | None = None, keep_dense: bool = False
    ) -> SparseLinear24:
        """Return the layer of an ``nn.Linear``, which is not changed.

        Arguments as of :meth:`SparseWeight24.from_dense`.
        """
        weight = SparseWeight24.from_dense(linear.weight, prune=prune, scores=scores, keep_dense=keep_dense)
        return cls(weight, linear.bias)

    @property
    def in_features(self) -> int:
        """Columns of the input."""
        return self.weight.shape[-1]

    @property
    def out_features(self) -> int:
        """Columns of the result."""
        return self.weight.shape[-2]

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's result for ``x`` [..., K]."""
        return sparse_linear(x, self.weight, self.bias, activation=self.activation)


def _chosen(
    module: nn.Module, choose: Callable[[str, nn.Linear], bool] | None
) -> Iterator[tuple[str, nn.Module, str, nn.Linear]]:
    for parent_name, parent in module.named_modules():
        for name, child in parent.named_children():
            path = f"{parent_name}.{name}" if parent_name else name
            if type(child) is nn.Linear and (choose is None or choose(path, child)):
                yield path, parent, name, child


def sparsify_(
    module: nn.Module,
    choose: Callable[[str, nn.Linear], bool] | None = None,
    *,
    prune: Pruning | None = None,
    keep_dense: bool = False,
) -> MemoryReport:
    """Replace layers of a module by sparse ones, in the module itself; the dense weights are released with the layers.

    All weights are compressed before any layer is replaced: an error leaves the module as it was.

    Args:
        module: On a GPU.
        choose: Gets the path and the layer of each ``nn.Linear`` and says whether to replace it; all when None.
        prune: As of :meth:`SparseWeight24.from_dense`. Without it a weight that is not 2:4 sparse is an error.
        keep_dense: As of :class:`SparseWeight24`.

    Returns:
        The bytes of all sparse weights together.

    Raises:
        OperandError: No layer was chosen, or one has no compressed form; the error names it.
        FormatError: A weight is not 2:4 sparse and no pruning was asked for.
    """
    found = list(_chosen(module, choose))
    if not found:
        raise OperandError("no layer was chosen", expected="an nn.Linear in the module", found=type(module).__name__)
    # A layer that stands at several places is compressed once.
    sparse: dict[nn.Linear, SparseLinear24] = {}
    for path, _, _, linear in found:
        if linear in sparse:
            continue
        try:
            sparse[linear] = SparseLinear24.from_linear(linear, prune=prune, keep_dense=keep_dense)
        except (OperandError, FormatError) as error:
            error.where = f"layer {path}" + (f", {error.where}" if error.where else "")
            raise
    for _, parent, name, linear in found:
        setattr(parent, name, sparse[linear].train(linear.training))
    report = MemoryReport(0, 0, 0)
    for layer in sparse.values():
        report += layer.weight.memory()
    return report


def sparsified(
    module: nn.Module,
    choose: Callable[[str, nn.Linear], bool] | None = None,
    *,
    prune: Pruning | None = None,
    keep_dense: bool = False,
) -> nn.Module:
    """Return a copy of a module with sparse layers; arguments and errors as of :func:`sparsify_`.

    What is not replaced is copied too, and the module is not changed.
    """
    import copy

    # Weights that are replaced are not copied.
    memo = {id(linear): linear for _, _, _, linear in _chosen(module, choose)}
    result = copy.deepcopy(module, memo)
    sparsify_(result, choose, prune=prune, keep_dense=keep_dense)
    return result
