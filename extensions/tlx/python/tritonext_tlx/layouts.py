"""Layouts of tensors in registers that a kernel requires."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._layouts import AutoLayout, CoalescedLayout, DistributedLayout

from tritonext.language import typed_builder

from .definition import constant, integers, op, refuse, target_of, tensor
from .tasks import warps_here

__all__ = ["release_layout", "require_layout", "required", "zeros"]


def required(name: str, value: tl.tensor, layout: Any, semantic: Any) -> tl.tensor:
    """Return a tensor that is in a layout of registers at this place.

    Raises:
        UserError: There is no such layout for the tensor, the warps or the target.
    """
    chosen = constant(layout)
    if not isinstance(chosen, DistributedLayout) or isinstance(chosen, AutoLayout | CoalescedLayout):
        raise refuse(
            name,
            "an argument is not a layout of registers",
            "layout",
            expected="such as BlockedLayout of triton.experimental.gluon.language",
            found=repr(chosen),
        )
    if chosen.rank != len(value.shape):
        raise refuse(
            name, "the layout has another rank than the tensor", "layout", expected=len(value.shape), found=chosen.rank
        )
    builder = typed_builder(semantic)
    attribute = chosen._to_ir(builder)
    linear = builder.to_linear_layout(attribute, [int(size) for size in value.shape])
    lanes = 32 if target_of(semantic).startswith("cuda") else 64
    for thing, bases, expected in (
        ("warps", linear.warp_bases, warps_here(semantic)),
        ("lanes", linear.lane_bases, lanes),
    ):
        if 1 << len(bases) != expected:
            raise refuse(
                name, f"the layout is for another number of {thing}", "layout", expected=expected, found=1 << len(bases)
            )
    handle = semantic.builder.create_tlx_require_layout([value.handle])
    handle.set_attr("layout", attribute)
    return tl.tensor(handle, value.type)


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
