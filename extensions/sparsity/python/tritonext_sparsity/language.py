"""Ops that kernels call: products with a 2:4 sparse operand.

Everything a kernel author can get wrong is a :class:`tritonext.errors.UserError` that names the op and the argument.
Triton shows it below the line of the kernel.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import distributed_type

from tritonext import language
from tritonext.language import INTERPRETER, constant, shown, target_of, typed_builder

__all__ = ["dot_sparse", "expand24", "sparse_dot"]

# Targets whose warps multiply 8-bit floats; elsewhere hardware converts them to f16 first.
_WARP_FP8 = ("cuda:89", "cuda:120")
_WARP_GROUPS = ("cuda:90",)
INTEGERS = frozenset((tl.int8, tl.uint8))
"""Types of operands that NVIDIA multiplies with each other."""


_refuse = functools.partial(language.refuse, "sparsity")


@dataclass(frozen=True)
class _Kind:
    """What the tensor cores have for a type of operands.

    Attributes:
        accumulators: Types of the accumulator, the default first.
        step: Columns of the sparse matrix that one instruction multiplies.
        columns: Columns that a byte of metadata describes.
        width: Columns of the dense matrix that one instruction multiplies.
    """

    accumulators: tuple[tl.dtype, ...]
    step: int
    columns: int = 8
    width: int = 8


_KINDS = {
    tl.float16: _Kind((tl.float32, tl.float16), 32),
    tl.bfloat16: _Kind((tl.float32,), 32),
    tl.float32: _Kind((tl.float32,), 16, columns=4),
    tl.int8: _Kind((tl.int32,), 64),
    tl.uint8: _Kind((tl.int32,), 64),
    tl.float8e4nv: _Kind((tl.float32, tl.float16), 64),
    tl.float8e5: _Kind((tl.float32, tl.float16), 64),
}
# What the matrix cores of AMD have; types of 8-bit floats depend on the target.
_WAVE_KINDS = {
    tl.float16: _Kind((tl.float32,), 32, width=16),
    tl.bfloat16: _Kind((tl.float32,), 32, width=16),
    tl.int8: _Kind((tl.int32,), 64, width=16),
}
_WAVE_FP8 = {"hip:gfx942": (tl.float8e4b8, tl.float8e5b16), "hip:gfx950": (tl.float8e4nv, tl.float8e5)}


def _kinds_of(target: str) -> dict[tl.dtype, _Kind]:
    """Return what a target multiplies."""
    if target == INTERPRETER:
        return _KINDS | dict.fromkeys((tl.float8e4b8, tl.float8e5b16), _KINDS[tl.float8e5])
    if target in _WAVE_FP8:
        return _WAVE_KINDS | dict.fromkeys(_WAVE_FP8[target], _Kind((tl.float32,), 64, width=16))
    return _KINDS


@language.builtin(extension="sparsity", interpreted=True)
def sparse_dot(
    values: Any,
    meta: Any,
    b: Any,
    acc: Any = None,
    out_dtype: Any = None,
    max_num_imprecise_acc: Any = None,
    _semantic: Any = None,
) -> tl.tensor:
    """Return the product of a 2:4 sparse matrix with a dense one, ``expand24(values, meta) @ b + acc``.

    Args:
        values: What the sparse matrix keeps, of shape (M, K / 2). Of each group of four elements along K these are two,
            in order; of ``float32``, which the tensor cores read as tf32, one of each group of two.
        meta: Where they stand: ``uint8`` of shape (M, K / 8), or (M, K / 4) for ``float32``. Each group has a nibble,
            ``i | j << 2`` with the positions ``i < j`` of what is kept, the lower group in the lower one. Of
            ``float32`` it is 4 where the first of two elements is kept, 14 where the second is.
        b: The dense matrix, of shape (K, N) and of the type of ``values``. Two types of 8-bit floats, and on
            NVIDIA of 8-bit integers, may be mixed.
        acc: What to add, of shape (M, N): ``float32``, ``int32`` for 8-bit integers, or ``float16`` for ``float16``
            and, on cuda:90, 8-bit floats. Zeros when None.
        out_dtype: The type of the result where ``acc`` is None; ``float32`` or ``int32`` when this is None too.
        max_num_imprecise_acc: Of 8-bit floats on cuda:90, after how many elements along K sums are added in full
            precision, as in ``tl.dot``.

    Raises:
        UserError: A shape, a type, the target or ``num_ctas`` has no such product. 8-bit floats need cuda:89, cuda:120,
            AMD, or cuda:90 with M a multiple of 64 and whole warp groups.

    Source: PTX ISA, mma.sp and wgmma.mma_async.sp.
    """
    return _product(
        "sparse_dot", ("values", "meta", "b"), values, meta, b, acc, out_dtype, max_num_imprecise_acc, _semantic
    )


@language.builtin(extension="sparsity", interpreted=True)
def dot_sparse(
    a: Any,
    values: Any,
    meta: Any,
    acc: Any = None,
    out_dtype: Any = None,
    max_num_imprecise_acc: Any = None,
    _semantic: Any = None,
) -> tl.tensor:
    """Return the product of a dense matrix with a transposed 2:4 sparse one, ``a @ expand24(values, meta).T + acc``.

    That is what a linear layer computes with a weight that is sparse along its inputs. The hardware has the sparse
    operand on the left, so this is the transposed product, on views of the operands.

    Args:
        a: The dense matrix, of shape (M, K).
        values: What the sparse matrix keeps, of shape (N, K / 2); see :func:`sparse_dot`.
        meta: Where it stands, of shape (N, K / 8), or (N, K / 4) for ``float32``.
        acc: What to add, of shape (M, N). Zeros when None.
        out_dtype: The type of the result where ``acc`` is None.
        max_num_imprecise_acc: As of :func:`sparse_dot`.

    Raises:
        UserError: A shape, a type or the target has no such product.
    """
    name, names = "dot_sparse", ("values", "meta", "a")
    dense = _matrix(name, "a", a)
    total = None if constant(acc) is None else _semantic.permute(_matrix(name, "acc", acc), (1, 0))
    columns = _semantic.permute(dense, (1, 0))
    product = _product(name, names, values, meta, columns, total, out_dtype, max_num_imprecise_acc, _semantic)
    return _semantic.permute(product, (1, 0))


@language.builtin(extension="sparsity", interpreted=True)
def expand24(values: Any, meta: Any, _semantic: Any = None) -> tl.tensor:
    """Return a 2:4 sparse matrix with its zeros.

    ``tl.dot(expand24(values, meta), b)``, and ``tl.dot(a, expand24(values, meta).T)``, compile to a product of the
    sparse matrix itself where the target has one. Everything else expands it in registers, and ``tritonext explain``
    says so and why.

    Args:
        values: What the matrix keeps, of shape (M, K / 2); see :func:`sparse_dot`. Types that the sparse tensor cores
            do not multiply are expanded too; those of 32 bits are 1:2 sparse.
        meta: Where it stands, ``uint8`` of shape (M, K / 8), or (M, K / 4) for 32 bits.

    Returns:
        The matrix, of shape (M, K). The result is undefined where ``meta`` has a code that is none of the six.

    Raises:
        UserError: A shape or a type is wrong.
    """
    name = "expand24"
    left, where = _matrix(name, "values", values), _matrix(name, "meta", meta)
    width = left.dtype.primitive_bitwidth
    if left.dtype.is_ptr() or width not in (8, 16, 32):
        raise _refuse(name, "values have another type", "values", expected="8, 16 or 32 bits", found=left.dtype)
    rows, kept = _shape(left)
    columns = 4 if width == 32 else 8
    _check_meta(name, "meta", where, (rows, 2 * kept // columns), columns)
    semantic = _semantic
    nibbles = semantic.join(
        semantic.and_(where, _constant(where, 15, semantic)), semantic.lshr(where, _constant(where, 4, semantic))
    )
    groups = semantic.reshape(nibbles, [rows, 4 * kept // columns], can_reorder=False)
    zero = semantic.full([rows, 4 * kept // columns], 0, left.dtype)
    if width == 32:
        is_first = semantic.equal(groups, _constant(groups, 4, semantic))
        dense = semantic.join(semantic.where(is_first, left, zero), semantic.where(is_first, zero, left))
    else:
        first, second = semantic.split(semantic.reshape(left, [rows, kept // 2, 2], can_reorder=False))
        i = semantic.and_(groups, _constant(groups, 3, semantic))
        j = semantic.lshr(groups, _constant(groups, 2, semantic))

        def element(position: int) -> tl.tensor:
            at = _constant(groups, position, semantic)
            rest = semantic.where(semantic.equal(j, at), second, zero)
            return semantic.where(semantic.equal(i, at), first, rest)

        dense = semantic.join(semantic.join(element(0), element(2)), semantic.join(element(1), element(3)))
    dense = semantic.reshape(dense, [rows, 2 * kept], can_reorder=False)
    if target_of(semantic) == INTERPRETER:
        return dense
    handle = semantic.builder.create_sparsity_expand([dense.handle, left.handle, where.handle])
    return tl.tensor(handle, dense.type)


def _constant(like: tl.tensor, value: int, semantic: Any) -> tl.tensor:
    return semantic.full([int(size) for size in like.shape], value, like.dtype)


def _check_meta(name: str, argument: str, meta: tl.tensor, shape: tuple[int, int], columns: int) -> None:
    if meta.dtype != tl.uint8:
        raise _refuse(name, "metadata has another type", argument, expected="uint8", found=meta.dtype)
    if _shape(meta) != shape:
        expected = f"{shape}, a byte for {columns} columns of the matrix"
        raise _refuse(name, "metadata has another shape", argument, expected=expected, found=_shape(meta))


def _product(
    name: str,
    names: tuple[str, str, str],
    values: Any,
    meta: Any,
    b: Any,
    acc: Any,
    out_dtype: Any,
    max_num_imprecise_acc: Any,
    semantic: Any,
) -> tl.tensor:
    """Check a product and build it. In messages ``names`` stand for values, meta and b; a is b transposed."""
    left, where, right = (
        _matrix(name, argument, value) for argument, value in zip(names, (values, meta, b), strict=True)
    )
    is_transposed = names[2] == "a"
    target = target_of(semantic)
    if target != INTERPRETER and (blocks := semantic.builder.options.num_ctas) != 1:
        raise _refuse(name, "a sparse product belongs to one block", expected="num_ctas=1", found=blocks)
    default = getattr(semantic.builder.options, "max_num_imprecise_acc_default", 0)
    limit = imprecise_limit(name, max_num_imprecise_acc, default)
    kind = _kind(name, names, left.dtype, right.dtype, target)
    rows, depth = _shape(left)[0], 2 * _shape(left)[1]
    if _shape(right)[0] != depth:
        raise _refuse(
            name,
            "the inner sizes differ",
            names[2],
            expected=f"K = {depth}, two for each column of values",
            found=f"K = {_shape(right)[0]}",
        )
    _check_meta(name, names[1], where, (rows, depth // kind.columns), kind.columns)
    columns = _shape(right)[1]
    for letter, size, step in (("M", rows, 16), ("N", columns, kind.width), ("K", depth, kind.step)):
        if size < step:
            shown_letter = {"M": "N", "N": "M"}.get(letter, letter) if is_transposed else letter
            raise _refuse(
                name,
                f"the sparse tensor cores have no such {shown_letter}",
                names[2] if letter == "N" else names[0],
                expected=f"at least {step}",
                found=size,
            )
    total = _accumulator(name, kind, left.dtype, (rows, columns), acc, out_dtype, is_transposed, semantic)
    if target == INTERPRETER:
        from .interpretation import multiply

        return multiply(left, where, right, total)
    _check_fp8(name, left.dtype, rows, total.dtype, semantic)
    handle = semantic.builder.create_sparsity_dot([left.handle, where.handle, right.handle, total.handle])
    mark_unsigned(handle, left.dtype, right.dtype, semantic)
    if left.dtype.is_fp8():
        handle.set_attr("maxNumImpreciseAcc", typed_builder(semantic).get_int32_attr(limit))
    return tl.tensor(handle, total.type)


def mark_unsigned(product: Any, values: tl.dtype, b: tl.dtype, semantic: Any) -> None:
    """Say of a product which operands are unsigned, because types of MLIR do not."""
    for name, dtype in (("unsignedValues", values), ("unsignedB", b)):
        if dtype == tl.uint8:
            product.set_attr(name, typed_builder(semantic).get_unit_attr())


def imprecise_limit(name: str, value: Any, default: int) -> int:
    """Return what the argument ``max_num_imprecise_acc`` of an op says, or the default where it is left out."""
    limit = constant(value)
    if limit is None:
        return default
    if not isinstance(limit, int) or not 0 <= limit < 1 << 31:
        raise _refuse(
            name,
            "an argument is not a number of elements",
            "max_num_imprecise_acc",
            expected="0 or more, in 31 bits",
            found=shown(limit),
        )
    return limit


def _matrix(name: str, argument: str, value: Any) -> tl.tensor:
    value = constant(value)
    if not isinstance(value, tl.tensor) or not value.type.is_block() or len(value.shape) != 2:
        raise _refuse(
            name, "an argument is not a matrix", argument, expected="a tensor of two dimensions", found=shown(value)
        )
    if isinstance(value.type, distributed_type):
        raise _refuse(
            name,
            "the op chooses layouts itself",
            argument,
            expected="a tensor of a @triton.jit kernel, without a layout",
            found=shown(value),
            hint="in @gluon.jit kernels async_sparse_dot multiplies",
        )
    return value


def _shape(value: tl.tensor) -> tuple[int, int]:
    rows, columns = (int(size) for size in value.shape)
    return rows, columns


def _kind(name: str, names: tuple[str, str, str], left: tl.dtype, right: tl.dtype, target: str) -> _Kind:
    kinds = _kinds_of(target)
    if left.is_ptr() or left not in kinds:
        raise _refuse(
            name,
            "the sparse tensor cores do not take this type",
            names[0],
            expected=", ".join(map(str, kinds)),
            found=left,
        )
    are_mixed = (left.is_fp8() and right.is_fp8()) or {left, right} <= INTEGERS
    if right != left and not (are_mixed and right in kinds):
        raise _refuse(name, "the types of the operands differ", names[2], expected=left, found=right)
    return kinds[left]


def _accumulator(
    name: str,
    kind: _Kind,
    dtype: tl.dtype,
    shape: tuple[int, int],
    acc: Any,
    out_dtype: Any,
    is_transposed: bool,
    semantic: Any,
) -> tl.tensor:
    """Return what to add, in the shape of the product."""
    wanted = constant(out_dtype)
    if constant(acc) is None:
        wanted = kind.accumulators[0] if wanted is None else wanted
        if wanted not in kind.accumulators:
            raise _refuse(
                name,
                f"no product of {dtype} has this type",
                "out_dtype",
                expected=" or ".join(map(str, kind.accumulators)),
                found=wanted,
            )
        return semantic.full(list(shape), 0, wanted)
    total = _matrix(name, "acc", acc)
    if _shape(total) != shape:
        expected, found = (item[::-1] if is_transposed else item for item in (shape, _shape(total)))
        raise _refuse(name, "the accumulator has another shape", "acc", expected=expected, found=found)
    if total.dtype not in kind.accumulators:
        raise _refuse(
            name,
            f"no product of {dtype} has this type",
            "acc",
            expected=" or ".join(map(str, kind.accumulators)),
            found=total.dtype,
        )
    if wanted is not None and wanted != total.dtype:
        raise _refuse(name, "the accumulator has another type", "out_dtype", expected=total.dtype, found=wanted)
    return total


def _check_fp8(name: str, dtype: tl.dtype, rows: int, total: tl.dtype, semantic: Any) -> None:
    """Refuse 8-bit floats where no hardware multiplies them as they are."""
    if not dtype.is_fp8() or target_of(semantic) in _WAVE_FP8:
        return
    target, warps = target_of(semantic), semantic.builder.options.num_warps
    if target in _WARP_GROUPS and rows % 64 == 0 and warps % 4 == 0:
        return
    if target not in _WARP_FP8:
        hint = None
        if target in _WARP_GROUPS:
            hint = "give the sparse matrix a multiple of 64 rows in a tile, and num_warps a multiple of 4"
        raise _refuse(
            name,
            "the target has no sparse product of 8-bit floats like this",
            expected=", ".join((*_WARP_FP8, "warp groups of cuda:90")),
            found=f"{target}, {rows} rows of the sparse matrix and {warps} warps",
            hint=hint,
        )
    if total != tl.float32:
        raise _refuse(name, "products of 8-bit floats by warps have another type", expected="float32", found=total)
