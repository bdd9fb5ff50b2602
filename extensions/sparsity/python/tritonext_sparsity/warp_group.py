"""Sparse products of Hopper's warp groups on shared memory, for kernels that order copies and products themselves."""

from __future__ import annotations

import functools
from typing import Any

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon.language import (
    DistributedLinearLayout,
    DotOperandLayout,
    NVMMADistributedLayout,
    NVMMASharedLayout,
    distributed_type,
)
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma_accumulator

from tritonext import language
from tritonext.errors import UserError
from tritonext.language import Buffer, buffer_of, constant, shown, target_of, typed_builder

from .language import INTEGERS, imprecise_limit, mark_unsigned

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
    tl.uint8: (tl.int32,),
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

    Raises:
        UserError: The layout is not one of MMA version 3 with the rows over whole warp groups, or there is no such
            matrix: M is a power of two and at least 64, K one and at least 512 / ``bits``, which are 8, 16 or 32.

    Source: PTX ISA, sparse matrix storage of wgmma.mma_async.sp; CUTLASS, ``ELayout_64x32``.
    """
    is_mma = isinstance(acc_layout, NVMMADistributedLayout)
    if not is_mma or acc_layout.version[0] != 3 or acc_layout.warps_per_cta[0] % 4:
        raise UserError(
            "the accumulator has no layout of warp-group MMA",
            where="sparsity.metadata_layout, argument acc_layout",
            expected="an NVMMADistributedLayout of version 3, the rows over a multiple of 4 warps",
            found=acc_layout,
        )
    if bits not in (8, 16, 32):
        raise UserError(
            "values have no such elements",
            where="sparsity.metadata_layout, argument bits",
            expected="8, 16 or 32",
            found=bits,
        )
    for name, extent, least in (("M", M, 64), ("K", K, 512 // bits)):
        if not isinstance(extent, int) or extent < least or extent & (extent - 1):
            raise UserError(
                f"the tensor cores have no such {name}",
                where=f"sparsity.metadata_layout, argument {name}",
                expected=f"a power of two of at least {least}",
                found=extent,
            )
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


_refuse = functools.partial(language.refuse, "sparsity", "async_sparse_dot")


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

    What is asynchronous goes on until a wait covers it: ``warpgroup_mma_wait`` in kernels with explicit layouts, and in
    ``@triton.jit`` kernels a wait for all warp-group MMA, such as ``tlx.async_dot_wait``. The instructions read the
    metadata, and values that are a tensor, in registers until then. So a product is over at the end of the loop's round
    or the branch that it stands in; in ``@triton.jit`` kernels the wait has to stand there, before anything but another
    product uses the result.

    Args:
        values: The elements that are kept, of shape M x K / 2, M a multiple of 64: in shared memory, or a tensor. In
            kernels with explicit layouts that has the layout of the first operand of the accumulator's.
        meta: Their positions, of uint8 or int8 and of shape M x K / 8, or M x K / 4 for 32-bit floats: in shared
            memory, from where the call loads them, or a tensor. In kernels with explicit layouts that has the
            layout that :func:`metadata_layout` returns.
        b: The dense operand in shared memory, of shape K x N; N a multiple of 8. K is its contiguous dimension, and
            that of values in shared memory, unless the elements have 16 bits.
        acc: The accumulator, of shape M x N; in kernels with explicit layouts, in one of MMA version 3.
        use_acc: Whether to add ``acc``; a scalar or a constant, true when left out.
        max_num_imprecise_acc: How many elements of K products of 8-bit floats may add up in the tensor cores before the
            sum is added as 32-bit floats; 0 for no limit. Below K the product is over when the call returns. Left out,
            it is 0 if the product is asynchronous, and otherwise the default of the compile options.
        is_async: Whether the kernel goes on while the product is computed.

    Shared memory is Gluon's, or a buffer of an extension: :func:`tritonext.language.buffer_of` knows which.

    Returns:
        The accumulator: in kernels with explicit layouts, of an asynchronous product as ``warpgroup_mma`` returns it,
        and otherwise a tensor.

    Raises:
        UserError: The hardware has no such product.

    Source: PTX ISA, wgmma.mma_async.sp.
    """
    target = target_of(_semantic)
    if target != _TARGET:
        raise _refuse("the target has no sparse warp-group MMA", expected=_TARGET, found=target)
    if (blocks := _semantic.builder.options.num_ctas) != 1:
        raise _refuse("a sparse product belongs to one block", expected="num_ctas=1", found=blocks)
    kind = acc.type.tensor_type if isinstance(acc, warpgroup_mma_accumulator) else getattr(acc, "type", None)
    if not isinstance(kind, tl.block_type) or len(kind.shape) != 2:
        raise _refuse("the accumulator is no matrix", "acc", expected="a tensor of two dimensions", found=shown(acc))
    has_layouts = isinstance(kind, distributed_type)
    if has_layouts and not isinstance(kind.layout, NVMMADistributedLayout):
        raise _refuse("the accumulator has no layout of MMA", "acc", expected="an NVMMADistributedLayout", found=kind)
    if has_layouts and (kind.layout.version[0] != 3 or kind.layout.warps_per_cta[0] % 4):
        raise _refuse(
            "the accumulator has no layout of warp-group MMA",
            "acc",
            expected="an NVMMADistributedLayout of version 3, the rows over a multiple of 4 warps",
            found=kind.layout,
        )
    left, right = _operand("values", values, in_registers=True), _operand("b", b)
    where = _operand("meta", meta, in_registers=True)
    dtype = left.dtype
    _check_types(dtype, where, right, kind)
    m, n = (int(size) for size in kind.shape)
    k = 2 * int(left.shape[1])
    _check_shapes(dtype, left, where, right, (m, n, k))
    if has_layouts and kind.layout.instr_shape[1] > n:
        raise _refuse(
            "the accumulator has fewer columns than the instruction of its layout",
            "acc",
            expected=f"instr_shape with at most {n} columns",
            found=kind.layout,
        )
    for argument, operand, transposed in (("values", left, False), ("b", right, True)):
        if isinstance(operand, Buffer):
            _check_memory(argument, operand, dtype, transposed)
    if has_layouts and isinstance(left, tl.tensor):
        needed = DotOperandLayout(0, kind.layout, 32 // dtype.primitive_bitwidth)
        if left.type.layout != needed:
            raise _refuse("the values have another layout", "values", expected=needed, found=left.type.layout)
    builder = typed_builder(_semantic)
    expected = metadata_layout.fn(kind.layout, m, k, dtype.primitive_bitwidth) if has_layouts else None
    if isinstance(where, Buffer):
        shape = list(where.shape)
        loaded = distributed_type(where.dtype, shape, expected) if has_layouts else tl.block_type(where.dtype, shape)
        handle = builder.create_local_load(loaded.to_ir(builder), where.handle)
    elif has_layouts and where.type.layout != expected:
        hint = "convert it to tritonext_sparsity.metadata_layout(…), or load it in that layout"
        found = where.type.layout
        raise _refuse("the metadata has another layout", "meta", expected=expected, found=found, hint=hint)
    else:
        handle = where.handle

    operands = [left.handle, handle, right.handle, acc.handle]
    flag = constant(use_acc)
    if flag is not None:
        if not isinstance(flag, int) and not (isinstance(flag, tl.tensor) and flag.type.is_int()):
            raise _refuse(
                "an argument is no condition", "use_acc", expected="a scalar or a constant", found=shown(flag)
            )
        operands.append(_semantic.cast(_semantic.to_tensor(flag), tl.int1).handle)
    if not isinstance(constant(is_async), int):
        raise _refuse("an argument is no constant", "is_async", expected="True or False", found=shown(is_async))
    wait = not constant(is_async)
    default = _semantic.builder.options.max_num_imprecise_acc_default if wait and dtype.is_fp8() else 0
    limit = imprecise_limit("async_sparse_dot", max_num_imprecise_acc, default)
    create = _semantic.builder
    build = create.create_sparsity_warp_group_dot if has_layouts else create.create_sparsity_async_dot
    product = build(operands)
    product.set_attr("maxNumImpreciseAcc", builder.get_int32_attr(limit))
    mark_unsigned(product, dtype, right.dtype, _semantic)
    if has_layouts and not wait:
        product.set_attr("isAsync", builder.get_unit_attr())
        return warpgroup_mma_accumulator(product, kind)
    if wait and not has_layouts:
        (product,) = typed_builder(_semantic).create_warpgroup_mma_wait([product], 0)
    return tl.tensor(product, kind)


def _operand(argument: str, value: Any, *, in_registers: bool = False) -> tl.tensor | Buffer:
    """Return a matrix in shared memory, or also in registers."""
    operand = value if isinstance(value, tl.tensor) and in_registers and value.type.is_block() else buffer_of(value)
    if operand is None or len(operand.shape) != 2:
        expected = "a matrix in shared memory" + (" or a tensor of two dimensions" if in_registers else "")
        hint = None
        if operand is not None and len(operand.shape) == 3:
            hint = "choose one slot, as in buffer[0]"
        raise _refuse("an operand is no such matrix", argument, expected=expected, found=shown(value), hint=hint)
    return operand


def _check_types(dtype: tl.dtype, meta: Any, b: Any, acc: tl.block_type) -> None:
    if dtype.is_ptr() or dtype not in _ACCUMULATORS:
        expected = ", ".join(map(str, _ACCUMULATORS))
        raise _refuse("the sparse tensor cores do not take this type", "values", expected=expected, found=dtype)
    if b.dtype != dtype and not (dtype.is_fp8() and b.dtype.is_fp8()) and not {dtype, b.dtype} <= INTEGERS:
        raise _refuse("the types of the operands differ", "b", expected=dtype, found=b.dtype)
    if meta.dtype not in (tl.uint8, tl.int8):
        raise _refuse("the metadata are no bytes", "meta", expected="uint8", found=meta.dtype)
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
