"""Stock TritonGPU ops inside a ``@triton.jit`` kernel, through the builder that Triton keeps for Gluon.

The front end of ``tl`` kernels has a plain builder, which makes no layouts and no shared memory. Gluon's derives
from it and does; on the same MLIR context, at the same insertion point, its ops land in the kernel like any other.
"""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import gluon_ir, ir

from tritonext.errors import InternalError

__all__ = ["typed_builder"]

_NEEDED = {
    ir.builder: ("new_block", "get_insertion_block", "get_insertion_point", "restore_insertion_point", "get_loc"),
    ir.block: ("add_argument", "insert_before", "get_argument", "erase"),
    ir.value: ("get_context",),
    gluon_ir.GluonOpBuilder: ("set_loc", "create_local_alloc", "get_shared_mem_desc_ty"),
}


def typed_builder(semantic: Any) -> Any:
    """Return Gluon's builder, at the place and source location where the kernel's own builder is.

    Args:
        semantic: The ``_semantic`` an op of an extension is called with.

    Raises:
        InternalError: The installed Triton lacks a method this is made of.
    """
    builder = semantic.builder
    typed = getattr(builder, "tritonext_typed", None)
    if typed is None:
        for owner, names in _NEEDED.items():
            if missing := [name for name in names if not hasattr(owner, name)]:
                raise InternalError(
                    "the builder of the installed triton lacks methods",
                    where=f"triton._C.libtriton.{owner.__name__}",
                    expected=", ".join(missing),
                    hint="use the triton release this tritonext was made for",
                )
        typed = gluon_ir.GluonOpBuilder(_context(builder), str(builder.options.arch))
        typed.options = builder.options
        typed.no_value = ir.value()
        typed.atomic_op = ir.ATOMIC_OP
        builder.tritonext_typed = typed
    typed.restore_insertion_point(builder.get_insertion_point())
    typed.set_loc(builder.get_loc())
    return typed


def _context(builder: Any) -> Any:
    """Return the MLIR context of a builder, which only values of it tell: here the argument of a passing block."""
    block = builder.new_block()
    block.add_argument(builder.get_int1_ty())
    # Only a block inside of a region can be erased.
    block.insert_before(builder.get_insertion_block())
    context = block.get_argument(0).get_context()
    block.erase()
    return context
