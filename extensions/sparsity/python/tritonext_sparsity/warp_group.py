"""Sparse products of Hopper's warp groups, for kernels with explicit layouts."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon.language import DistributedLinearLayout, NVMMADistributedLayout, NVMMASharedLayout
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma_accumulator

from tritonext import language
from tritonext.errors import UserError
from tritonext.language import constant, target_of, typed_builder

__all__ = ["async_sparse_dot", "metadata_layout"]

_TARGET = "cuda:90"
# Types of the accumulator by types of the values.
_ACCUMULATORS = {
    tl.float16: (tl.float32, tl.float16),
    tl.bfloat16: (tl.float32,),
    tl.float32: (tl.float32,),
    tl.float8e4nv: (tl.float32, tl.float16),
    tl.float8e5: (tl.float32, tl.float16),
    tl.int8: (tl.int32,),
}


@gluon.constexpr_function
def metadata_layout(acc_layout: NVMMADistributedLayout, M: int, K: int, bits: int) -> DistributedLinearLayout:
    """Return the layout that the metadata of :func:`async_sparse_dot` has in registers.

    The first four bytes of a thread are the 32-bit operand of an instruction. They serve one instruction of 8-bit types
    and two, with the selectors 0 and 1, of others.

    Args:
        acc_layout: Layout of the accumulator.
        M: Rows of the accumulator.
        K: Columns of the sparse matrix, twice those of the values.
        bits: Bits of an element of the values.

    Source: PTX ISA, sparse matrix storage of wgmma.mma_async.sp; CUTLASS, ``ELayout_64x32``.
    """
    size = K // (4 if bits == 32 else 8)

    def column(byte: int) -> list[int]:
        return [0, byte if byte < size else 0]

    def powers(begin: int, end: int) -> list[int]:
        return [1 << bit for bit in range(begin.bit_length() - 1, end.bit_length() - 1)]

    down, across = acc_layout.warps_per_cta
    half = [8, 0]
    registers = [column(1), half if bits > 8 else column(2), *(column(byte) for byte in powers(8, size))]
    registers += [[row, 0] for row in powers(16 * down, M)]
    lanes = [column(2) if bits > 8 else half, column(4), [1, 0], [2, 0], [4, 0]]
    warps = [[row if row < M else 0, 0] for row in powers(16, 16 * down)] + [[0, 0]] * (across.bit_length() - 1)
    blocks = [[basis[0], 0] for basis in acc_layout.cga_layout]
    return DistributedLinearLayout(registers, lanes, warps, blocks, [M, size])


def _refuse(message: str, argument: str | None = None, **answers: Any) -> UserError:
    where = "async_sparse_dot" + (f", argument {argument}" if argument else "")
    return UserError(message, where=where, **answers)


@language.builtin(extension="sparsity")
def async_sparse_dot(
    values: Any,
    meta: Any,
    b: Any,
    acc: Any,
    use_acc: Any = None,
    max_num_imprecise_acc: Any = None,
    is_async: Any = True,
    _semantic: Any = None,
) -> Any:
    """Start ``expand(values, meta) @ b + acc`` on the tensor cores of a Hopper GPU.

    What is asynchronous goes on until a ``warpgroup_mma_wait`` covers it, and not beyond the loop's round or the branch
    that it stands in: until then the instructions read the metadata, and values that are a tensor, in registers.

    Args:
        values: The elements that are kept, of shape M x K / 2, M a multiple of 64: in shared memory, or a tensor in the
            layout of the first operand of the accumulator's.
        meta: Their positions, a tensor of uint8 or int8 of shape M x K / 8, or M x K / 4 for 32-bit floats, in the
            layout that :func:`metadata_layout` returns.
        b: The dense operand in shared memory, of shape K x N; N a multiple of 8. K is its contiguous dimension, and
            that of values in shared memory, unless the elements have 16 bits.
        acc: The accumulator, of shape M x N, in a layout of version 3.
        use_acc: Whether to add ``acc``; a scalar or a constant, true when left out.
        max_num_imprecise_acc: How many elements of K products of 8-bit floats may add up in the tensor cores before the
            sum is added as 32-bit floats; 0 for no limit. Below K the product is over when the call returns. Left out,
            it is 0 if the product is asynchronous, and otherwise the default of the compile options.
        is_async: Whether the kernel goes on while the product is computed.

    Returns:
        The accumulator: of an asynchronous product as ``warpgroup_mma`` returns it, and otherwise a tensor.

    Raises:
        UserError: The hardware has no such product.

    Source: PTX ISA, wgmma.mma_async.sp.
    """
    target = target_of(_semantic)
    if target != _TARGET:
        raise _refuse("the target has no sparse warp-group MMA", expected=_TARGET, found=target)
    kind = acc.type.tensor_type if isinstance(acc, warpgroup_mma_accumulator) else acc.type
    if not isinstance(kind, tl.block_type) or not isinstance(kind.layout, NVMMADistributedLayout):
        raise _refuse("the accumulator has no layout of MMA", "acc", expected="an NVMMADistributedLayout", found=kind)
    wait = not constant(is_async)
    dtype = values.dtype
    _check_types(dtype, meta, b, kind)
    m, n = (int(size) for size in kind.shape)
    k = 2 * int(values.shape[1])
    _check_shapes(dtype, values, meta, b, (m, n, k))
    for argument, operand, transposed in (("values", values, False), ("b", b, True)):
        if not isinstance(operand, tl.tensor):
            _check_memory(argument, operand, dtype, transposed)
    expected = metadata_layout.fn(kind.layout, m, k, dtype.primitive_bitwidth)
    if meta.type.layout != expected:
        hint = "convert it to tritonext_sparsity.metadata_layout(…), or load it in that layout"
        raise _refuse("the metadata has another layout", "meta", expected=expected, found=meta.type.layout, hint=hint)

    operands = [values.handle, meta.handle, b.handle, acc.handle]
    flag = constant(use_acc)
    if flag is not None:
        operands.append(_semantic.to_tensor(flag).handle)
    handle = _semantic.builder.create_sparsity_warp_group_dot(operands)
    builder = typed_builder(_semantic)
    limit = constant(max_num_imprecise_acc)
    if limit is None:
        limit = _semantic.builder.options.max_num_imprecise_acc_default if wait and dtype.is_fp8() else 0
    handle.set_attr("maxNumImpreciseAcc", builder.get_int32_attr(limit))
    if wait:
        return tl.tensor(handle, kind)
    handle.set_attr("isAsync", builder.get_unit_attr())
    return warpgroup_mma_accumulator(handle, kind)


def _check_types(dtype: tl.dtype, meta: Any, b: Any, acc: tl.block_type) -> None:
    if dtype not in _ACCUMULATORS:
        expected = ", ".join(map(str, _ACCUMULATORS))
        raise _refuse("the sparse tensor cores do not take this type", "values", expected=expected, found=dtype)
    if b.dtype != dtype and not (dtype.is_fp8() and b.dtype.is_fp8()):
        raise _refuse("the types of the operands differ", "b", expected=dtype, found=b.dtype)
    if not isinstance(meta, tl.tensor) or meta.dtype not in (tl.uint8, tl.int8):
        raise _refuse("the metadata is no tensor of bytes", "meta", expected="a tensor of uint8", found=meta.type)
    if acc.scalar not in _ACCUMULATORS[dtype]:
        expected = " or ".join(map(str, _ACCUMULATORS[dtype]))
        raise _refuse(f"no product of {dtype} has this type", "acc", expected=expected, found=acc.scalar)


def _check_shapes(dtype: tl.dtype, values: Any, meta: Any, b: Any, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    step = 512 // dtype.primitive_bitwidth
    bytes_ = k // (4 if dtype == tl.float32 else 8)
    for argument, operand, expected in (("values", values, (m, k // 2)), ("meta", meta, (m, bytes_)), ("b", b, (k, n))):
        found = tuple(int(size) for size in operand.shape)
        if found != expected:
            raise _refuse("an operand has another shape", argument, expected=expected, found=found)
    for argument, letter, size, unit in (("acc", "M", m, 64), ("acc", "N", n, 8), ("values", "K", k, step)):
        if size % unit:
            raise _refuse(
                f"the tensor cores have no such {letter}", argument, expected=f"a multiple of {unit}", found=size
            )


def _check_memory(argument: str, operand: Any, dtype: tl.dtype, transposed: bool) -> None:
    layout = operand.layout
    if not isinstance(layout, NVMMASharedLayout) or not layout.swizzle_byte_width:
        raise _refuse(
            "the operand is in no memory that MMA reads",
            argument,
            expected="a swizzled NVMMASharedLayout",
            found=layout,
        )
    if dtype.primitive_bitwidth != 16 and layout.transposed != transposed:
        raise _refuse(
            f"the tensor cores read {dtype} with K contiguous only",
            argument,
            expected="K as the contiguous dimension",
            found="the other dimension",
        )
