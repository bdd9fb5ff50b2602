"""Layouts of tensors in registers that a kernel requires."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._layouts import AutoLayout, CoalescedLayout, DistributedLayout

from tritonext.language import typed_builder

from .definition import constant, integers, op, refuse, target_of, tensor
from .tasks import warps_here
from .types import buffered_tensor, require_buffer

__all__ = ["assert_same_layout", "dump_layout", "release_layout", "require_layout", "required", "zeros"]


def required(name: str, value: tl.tensor, layout: Any, semantic: Any) -> tl.tensor:
    """Return a tensor that is in a layout of registers at this place.

    Raises:
        UserError: There is no such layout for the tensor, the warps or the target.
    """
    attribute = _layout(name, "layout", value, layout, semantic)
    handle = semantic.builder.create_tlx_require_layout([value.handle])
    handle.set_attr("layout", attribute)
    return tl.tensor(handle, value.type)


def _layout(name: str, argument: str, value: tl.tensor, layout: Any, semantic: Any) -> Any:
    """Return a layout of registers for a tensor as an attribute."""
    chosen = constant(layout)
    if not isinstance(chosen, DistributedLayout) or isinstance(chosen, AutoLayout | CoalescedLayout):
        raise refuse(
            name,
            "an argument is not a layout of registers",
            argument,
            expected="such as BlockedLayout of triton.experimental.gluon.language",
            found=repr(chosen),
        )
    rank = len(value.shape)
    if chosen.rank != rank:
        raise refuse(name, "the layout has another rank than the tensor", argument, expected=rank, found=chosen.rank)
    builder = typed_builder(semantic)
    attribute = chosen._to_ir(builder)
    linear = builder.to_linear_layout(attribute, [int(size) for size in value.shape])
    lanes = 32 if target_of(semantic).startswith("cuda") else 64
    for thing, bases, expected in (
        ("warps", linear.warp_bases, warps_here(semantic)),
        ("lanes", linear.lane_bases, lanes),
    ):
        if 1 << len(bases) != expected:
            found = 1 << len(bases)
            raise refuse(name, f"the layout is for another number of {thing}", argument, expected=expected, found=found)
    return attribute


def _inspected(name: str, argument: str, value: Any) -> Any:
    if isinstance(value, buffered_tensor):
        return require_buffer(name, argument, value, slots=False)
    return tensor(name, argument, value)


@op()
def dump_layout(x: Any, _semantic: Any = None) -> None:
    """Print the layout that a tensor or a buffer has in the end, to the standard error of the compilation.

    It is printed as the compiler names it, and as what it is: which bits of register, lane and warp, or of the offset
    in shared memory, choose which element. A kernel from the cache is not compiled and prints nothing.

    Args:
        x: A tensor, or one slot.

    Raises:
        UserError: It is something else.
    """
    _semantic.builder.create_tlx_inspect_layout([_inspected("dump_layout", "x", x).handle])


@op()
def assert_same_layout(a: Any, b: Any, _semantic: Any = None) -> None:
    """Have the compilation fail when two tensors or buffers do not have the same layout in the end.

    Layouts are the same when they place the elements the same, whatever the compiler calls them.

    Args:
        a: A tensor, or one slot.
        b: Another one of the same shape, or for a tensor a layout of registers, as of :func:`require_layout`.

    Raises:
        UserError: An argument is of the wrong kind, or the shapes differ.
    """
    name = "assert_same_layout"
    first = _inspected(name, "a", a)
    builder = _semantic.builder
    if not isinstance(b, tl.core.base_value) or isinstance(b, tl.constexpr):
        attribute = _layout(name, "b", tensor(name, "a", a), b, _semantic)
        holder = builder.create_tlx_require_layout([first.handle])
        holder.set_attr("layout", attribute)
        builder.create_tlx_inspect_layout([first.handle, first.handle, holder])
        return
    second = _inspected(name, "b", b)
    shapes = [tuple(int(constant(size)) for size in value.shape) for value in (first, second)]
    if type(first) is not type(second) or shapes[0] != shapes[1]:
        kinds = [f"a {type(value).__name__} of shape {shape}" for value, shape in zip((first, second), shapes)]
        raise refuse(name, "the two are unlike each other", "b", expected=kinds[0], found=kinds[1])
    builder.create_tlx_inspect_layout([first.handle, second.handle])


@op()
def require_layout(src: Any, layout: Any, pin: Any = True, _semantic: Any = None) -> tl.tensor:
    """Have a tensor in a layout of registers, at this place: behind it, the compiler chooses again.

    A load of a buffer for this alone loads in the layout.

    Args:
        src: A tensor.
        layout: A layout of registers of ``triton.experimental.gluon.language``, for the warps that run the code.
        pin: Only True: a layout that the compiler may replace is not required.

    Raises:
        UserError: There is no such layout for the tensor, the warps or the target.
    """
    name = "require_layout"
    if constant(pin) is not True:
        raise refuse(
            name,
            "a layout that the compiler may replace is not required",
            "pin",
            expected=True,
            found=constant(pin),
            hint="leave the call out",
        )
    return required(name, tensor(name, "src", src), layout, _semantic)


@op()
def release_layout(src: Any, _semantic: Any = None) -> Any:
    """Return a value whose layout the compiler may choose.

    That is ``src``: a layout holds where :func:`require_layout` stands and not behind it, so nothing has to be undone.

    Args:
        src: A tensor, or what has no layout.
    """
    return src


@op()
def zeros(shape: Any, dtype: Any, layout: Any = None, _semantic: Any = None) -> tl.tensor:
    """Return a tensor of zeros, in a layout of registers when one is given.

    Args:
        shape: Its shape, a tuple of constants.
        dtype: Type of its elements.
        layout: As of :func:`require_layout`.

    Raises:
        UserError: There is no such layout or type.
    """
    name = "zeros"
    kind = constant(dtype)
    if not isinstance(kind, tl.dtype):
        raise refuse(name, "an argument is no type", "dtype", expected="such as tl.float32", found=repr(kind))
    value = _semantic.full(integers(name, "shape", shape), 0, kind)
    return value if constant(layout) is None else required(name, value, layout, _semantic)
