"""Values of TLX that kernels hold: buffers in shared memory, and tokens that order asynchronous work."""

from __future__ import annotations

import enum
import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout, SwizzledSharedLayout
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout, TensorMemoryScalesLayout
from triton.language.core import base_type, base_value, builtin

from tritonext.errors import UserError
from tritonext.language import Buffer

from .definition import refuse, shown

__all__ = [
    "alignment_of",
    "async_token",
    "buffered_tensor",
    "buffered_tensor_type",
    "default_layout",
    "no_tensor",
    "no_tensor_error",
    "remote_buffer",
    "storage_kind",
]


class storage_kind(enum.Enum):
    """Where a buffer lives."""

    smem = "smem"
    tmem = "tmem"


def no_tensor_error(found: Any, **fields: Any) -> UserError:
    """Return the error to raise where a buffer is used as a tensor."""
    return UserError(
        "a buffer is no tensor",
        expected="a tensor",
        found=found,
        hint="load it with tlx.local_load, or multiply buffers with tlx.async_dot",
        **fields,
    )


class no_tensor:
    """What Python's arithmetic, and the methods of tensors, are an error with."""

    def _misuse(self) -> UserError:
        return no_tensor_error(self)

    def _refuse_arithmetic(self, *_: Any, **__: Any) -> Any:
        raise self._misuse()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __matmul__ = __rmatmul__ = __neg__ = _refuse_arithmetic
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = _refuse_arithmetic
    __lt__ = __le__ = __gt__ = __ge__ = __pow__ = __rpow__ = __pos__ = __invert__ = __not__ = _refuse_arithmetic
    logical_and = logical_or = logical_not = _refuse_arithmetic

    def __eq__(self, other: object) -> bool:
        # Python's own comparisons, as of members of a list, are of identity.
        if isinstance(other, bool | int | float | tl.constexpr | tl.tensor):
            raise self._misuse()
        return self is other

    __hash__ = object.__hash__


def _refuse_methods() -> None:
    for name, method in vars(tl.tensor).items():
        if callable(method) and not name.startswith("_") and not hasattr(base_value, name):
            setattr(no_tensor, name, no_tensor._refuse_arithmetic)


_refuse_methods()


class buffered_tensor_type(base_type):
    """Type of a buffer: ``num`` slots of one shape, or a single slot when ``num`` is 0.

    Attributes:
        element_ty: Type of the elements.
        shape: Shape of one slot.
        num: Number of slots; 0 for one slot and for views of one.
        layout: Layout in shared memory, as a shared layout of ``triton.experimental.gluon.language``, or in tensor
            memory, as one of ``triton.experimental.gluon.language.nvidia.blackwell``.
        alloc_shape: Shape of the allocation that a slice is part of.
    """

    def __init__(
        self, element_ty: tl.dtype, shape: list[int], num: int, layout: Any, alloc_shape: list[int], ir_type: Any
    ) -> None:
        self.element_ty = element_ty
        self.shape = shape
        self.num = num
        self.layout = layout
        self.alloc_shape = alloc_shape
        # A plain builder cannot make it again, and functions that take a buffer ask for it.
        self.ir_type = ir_type

    @property
    def slot_bytes(self) -> int:
        """Number of bytes of one slot."""
        return math.prod(self.shape) * self.element_ty.primitive_bitwidth // 8

    def is_block(self) -> bool:
        """Refuse a buffer as an operand of ``tl``, whose ops ask this of everything that they take for a tensor."""
        raise no_tensor_error(self)

    @property
    def scalar(self) -> tl.dtype:
        """Do what :meth:`is_block` does."""
        raise no_tensor_error(self)

    @property
    def storage(self) -> storage_kind:
        """Where the buffer lives."""
        in_tensor_memory = isinstance(self.layout, TensorMemoryLayout | TensorMemoryScalesLayout)
        return storage_kind.tmem if in_tensor_memory else storage_kind.smem

    def _key(self) -> tuple:
        return (self.element_ty, tuple(self.shape), self.num, self.layout, tuple(self.alloc_shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, buffered_tensor_type) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        slots = f"{self.num} x " if self.num else ""
        return f"buffered_tensor<{slots}{'x'.join(map(str, self.shape))}x{self.element_ty}>"

    __repr__ = __str__

    def mangle(self) -> str:
        shape = "_".join(map(str, (self.num, *self.shape, *self.alloc_shape)))
        return f"TLXB{self.element_ty.mangle()}S{shape}L{self.layout.mangle()}B"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.ir_type)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[buffered_tensor, int]:
        return buffered_tensor(handles[cursor], self), cursor + 1


class buffered_tensor(no_tensor, base_value):
    """A buffer, made by :func:`local_alloc`, or a view of one. ``buffer[i]`` is :func:`local_view`."""

    def __init__(self, handle: Any, type: buffered_tensor_type) -> None:
        self.handle = handle
        self.type = type

    @property
    def dtype(self) -> tl.dtype:
        """Type of the elements."""
        return self.type.element_ty

    @property
    def shape(self) -> list[tl.constexpr]:
        """Shape of one slot."""
        return [tl.constexpr(size) for size in self.type.shape]

    def __str__(self) -> str:
        return str(self.type)

    def __tritonext_buffer__(self) -> Buffer:
        slots = (self.type.num,) if self.type.num else ()
        return Buffer(self.handle, self.dtype, (*slots, *self.type.shape), self.type.layout)

    @builtin
    def __getitem__(self, index: Any, _semantic: Any = None) -> buffered_tensor:
        from .memory import local_view

        return local_view(self, index, _semantic=_semantic)

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))


class remote_type(base_type):
    """Type of what a cluster's other block has at a place of the own one.

    Attributes:
        value_class: Class of its values, made of the local value and a rank.
        local: Type of what is at the same place of the own block.
    """

    def __init__(self, value_class: type[remote_value], local: base_type) -> None:
        self.value_class = value_class
        self.local = local

    def __eq__(self, other: object) -> bool:
        return isinstance(other, remote_type) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return (self.value_class, self.local)

    def __str__(self) -> str:
        return f"remote_{self.local}"

    __repr__ = __str__

    def mangle(self) -> str:
        return f"TLXR{self.local.mangle()}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        self.local._flatten_ir_types(builder, out)
        out.append(builder.get_int32_ty())

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[remote_value, int]:
        local, cursor = self.local._unflatten_ir(handles, cursor)
        return self.value_class(local, tl.tensor(handles[cursor], tl.int32)), cursor + 1


class remote_value(base_value):
    """What another block of the cluster has at a place of the own one, made by :func:`remote_view`.

    Attributes:
        local: What is at the same place of the own block.
        rank: The other block.
    """

    def __init__(self, local: Any, rank: tl.tensor) -> None:
        self.local = local
        self.rank = rank
        self.type = remote_type(type(self), local.type)

    def __str__(self) -> str:
        return str(self.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.extend((self.local.handle, self.rank.handle))

    def _set_name(self, builder: Any, name: str) -> None:
        self.local._set_name(builder, name)


class remote_buffer(remote_value):
    """A slot of another block of the cluster."""

    @property
    def dtype(self) -> tl.dtype:
        """Type of the elements."""
        return self.local.dtype

    @property
    def shape(self) -> list[tl.constexpr]:
        """Shape of the slot."""
        return self.local.shape


class async_token_type(base_type):
    """Type of a token. It has no value at run time: groups are counted by the hardware, not by tokens."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, async_token_type)

    def __hash__(self) -> int:
        return hash(async_token_type)

    def __str__(self) -> str:
        return "async_token"

    def mangle(self) -> str:
        return "TLXT"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        pass

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[async_token, int]:
        return async_token(), cursor


class async_token(base_value):
    """What asynchronous copies and their groups return, to say in the kernel which work a wait is about."""

    def __init__(self) -> None:
        self.type = async_token_type()

    def _flatten_ir(self, handles: list[Any]) -> None:
        pass

    def _set_name(self, builder: Any, name: str) -> None:
        pass


def default_layout(shape: list[int], dtype: tl.dtype, target: str) -> Any:
    """Return the layout of a buffer that names none.

    On NVIDIA that is the widest swizzle that MMA and TMA read and the shape has room for, on AMD rows without swizzle.
    A vector, and a tile too small for a swizzle of 32 bytes in eight rows, are plain everywhere.
    """
    rank = len(shape)
    width = dtype.primitive_bitwidth
    if target == "cuda:100" and rank > 3 and width == 8:
        # Scales of products, which are read without a swizzle.
        return NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=rank)
    if target.startswith("cuda") and rank > 1 and width in (8, 16, 32, 64):
        layout = NVMMASharedLayout.get_default_for(shape, dtype)
        if layout.swizzle_byte_width:
            return layout
    return SwizzledSharedLayout(1, 1, 1, list(reversed(range(rank))))


def alignment_of(layout: Any) -> int:
    """Return the alignment of a buffer with a layout in bytes; a swizzle repeats after eight rows."""
    return 8 * layout.swizzle_byte_width if isinstance(layout, NVMMASharedLayout) else getattr(layout, "alignment", 16)


def require_buffer(
    name: str,
    argument: str,
    value: Any,
    *,
    slots: bool | None = None,
    storage: storage_kind | None = storage_kind.smem,
) -> buffered_tensor:
    """Return an argument that is a buffer.

    Args:
        name: The op.
        argument: The argument.
        value: Its value.
        slots: True when it must have slots, False when it must be one slot, None when either will do.
        storage: Where it must live, None when anywhere will do.

    Raises:
        UserError: It is none of that kind.
    """
    if not isinstance(value, buffered_tensor):
        found = shown(value)
        raise refuse(name, "an argument is not a buffer", argument, expected="a buffer of tlx.local_alloc", found=found)
    if storage not in (None, value.type.storage):
        expected = f"a buffer of tlx.local_alloc in {storage}"
        raise refuse(name, "the buffer is in another memory", argument, expected=expected, found=value.type.storage)
    if slots is True and not value.type.num:
        raise refuse(name, "the buffer is one slot already", argument, expected="a buffer with slots", found=value)
    if slots is False and value.type.num:
        raise refuse(
            name, "the buffer has slots", argument, expected="one slot", found=value, hint="choose one, as in buffer[0]"
        )
    return value
