"""Dynamic launch on Blackwell (cluster launch control): running blocks take over the work of blocks not yet started."""

from __future__ import annotations

import math
from typing import Any

import triton.language as tl
from triton.language.core import base_type, base_value

from tritonext.language import typed_builder

from ._arguments import bounded, choice
from .barrier import (
    alloc_barriers,
    barrier_arrive,
    barrier_at,
    barrier_expect_bytes,
    barrier_wait,
    fence_async_shared,
    mbarrier,
    name_parts,
)
from .cluster import cluster_cta_rank, launched_shape
from .definition import BLACKWELL, constant, op, refuse, scalar, shown

__all__ = ["CLCPipelineContext", "CLCPipelineContextType", "clc_consumer", "clc_create_context", "clc_producer"]

# PTX ISA, clusterlaunchcontrol.try_cancel: a response has 16 bytes.
_RESPONSE_BYTES = 16


class CLCPipelineContextType(base_type):
    """Type of what :func:`clc_create_context` returns.

    Attributes:
        num: Number of stages.
        parts: Types of the two arrays of barriers.
    """

    def __init__(self, num: int, parts: tuple[Any, Any], ir_type: Any) -> None:
        self.num = num
        self.parts = parts
        self.ir_type = ir_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CLCPipelineContextType) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((CLCPipelineContextType, self.parts))

    def __str__(self) -> str:
        return f"CLCPipelineContext<{self.num}>"

    __repr__ = __str__

    def mangle(self) -> str:
        return "TLXC" + "".join(part.mangle() for part in self.parts)

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for part in self.parts:
            part._flatten_ir_types(builder, out)
        out.append(self.ir_type)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[CLCPipelineContext, int]:
        empty, cursor = self.parts[0]._unflatten_ir(handles, cursor)
        full, cursor = self.parts[1]._unflatten_ir(handles, cursor)
        return CLCPipelineContext(empty, full, handles[cursor], self.ir_type), cursor + 1


class CLCPipelineContext(base_value):
    """Responses of the hardware and the barriers that guard them, made by :func:`clc_create_context`."""

    def __init__(self, empty: mbarrier, full: mbarrier, responses: Any, ir_type: Any) -> None:
        self.empty = empty
        self.full = full
        self.responses = responses
        self.type = CLCPipelineContextType(full.type.num, (empty.type, full.type), ir_type)

    def __str__(self) -> str:
        return str(self.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        self.empty._flatten_ir(handles)
        self.full._flatten_ir(handles)
        handles.append(self.responses)

    def _set_name(self, builder: Any, name: str) -> None:
        self.empty._set_name(builder, f"{name}.empty")
        self.full._set_name(builder, f"{name}.full")
        self.responses.set_loc(builder.create_name_loc(name, self.responses.get_loc()))


def _response_type(builder: Any, shape: list[int]) -> Any:
    layout = builder.get_swizzled_shared_layout(1, 1, 1, [0], [])
    return builder.get_shared_mem_desc_ty(builder.get_int64_ty(), shape, layout, shape)


@op(targets=BLACKWELL)
def clc_create_context(num_consumers: Any, num_stages: Any = 1, _semantic: Any = None) -> CLCPipelineContext:
    """Make what blocks need to ask for more work: room for responses, and two barriers for each.

    One task asks with :func:`clc_producer`; all tasks that work on tiles read the answer with :func:`clc_consumer`.
    Outside of tasks one call of each, in this order, does as well.

    Args:
        num_consumers: How many calls of :func:`clc_consumer` read each response: one for each task and each of its
            replicas, in all blocks of the cluster; a constant.
        num_stages: How many responses may be under way, a constant.

    Raises:
        UserError: An argument is no constant or out of range.
    """
    name = "clc_create_context"
    consumers, stages = (
        bounded(name, "num_consumers", num_consumers, 1, 32),
        bounded(name, "num_stages", num_stages, 1, 64),
    )
    builder = typed_builder(_semantic)
    type_ = _response_type(builder, [stages, 2])
    responses = builder.create_local_alloc(type_)
    empty = alloc_barriers(stages, consumers, _semantic=_semantic)
    full = alloc_barriers(stages, 1, _semantic=_semantic)
    name_parts(_semantic, empty=empty, full=full)
    return CLCPipelineContext(empty, full, responses, type_)


def _stage(name: str, context: Any, k: Any, semantic: Any) -> tuple[mbarrier, mbarrier, Any]:
    """Return the barriers and the response of a stage.

    Raises:
        UserError: There is no context, or no such stage.
    """
    if not isinstance(context, CLCPipelineContext):
        found = shown(context)
        expected = "what tlx.clc_create_context returned"
        raise refuse(name, "an argument is no context", "context", expected=expected, found=found)
    number = constant(k)
    if isinstance(number, int) and not 0 <= number < context.type.num:
        raise refuse(name, "the stage is out of range", "k", expected=f"0 to {context.type.num - 1}", found=number)
    index = scalar(name, "k", k, semantic)
    empty, full = barrier_at(context.empty, index, semantic), barrier_at(context.full, index, semantic)
    builder = typed_builder(semantic)
    return empty, full, builder.create_memdesc_index(_response_type(builder, [2]), context.responses, index.handle)


def _cluster(name: str, multi_ctas: Any) -> tuple[int, int, int] | None:
    """Return the shape of the clusters, of which the first block asks for all; None without clusters.

    Raises:
        UserError: The argument is not true or false, or not true in a kernel with clusters.
    """
    shape = launched_shape()
    several = math.prod(shape) > 1
    if not choice(name, "multi_ctas", multi_ctas, (False, True)) and several:
        raise refuse(
            name,
            "each block of a cluster would ask for work of its own, and get that of a whole cluster",
            "multi_ctas",
            expected=f"True, for clusters of {' x '.join(map(str, shape))}",
            found=False,
            hint="count the consumers of all blocks in tlx.clc_create_context",
        )
    return shape if several else None


@op(targets=BLACKWELL)
def clc_producer(context: Any, p_producer: Any, multi_ctas: Any = False, k: Any = 0, _semantic: Any = None) -> None:
    """Ask for the work of a block that has not started, once all consumers have read the response before.

    In a kernel with clusters it is that of a cluster. All blocks call this, each as often as it reads responses: the
    first one asks, and the others get ready for the response, which comes to each.

    Args:
        context: What :func:`clc_create_context` returned.
        p_producer: Parity of the phase of the consumers to wait for: 1 at first, and the other one each time that a
            stage is used again.
        multi_ctas: Whether one block of a cluster asks for all; True in a kernel with clusters. Without clusters both
            values mean the same.
        k: The stage, a constant or a scalar.

    Raises:
        UserError: An argument is of the wrong kind or out of range.

    Source: PTX ISA, clusterlaunchcontrol.try_cancel.
    """
    name = "clc_producer"
    empty, full, response = _stage(name, context, k, _semantic)
    builder = typed_builder(_semantic)
    if _cluster(name, multi_ctas) is None:
        barrier_wait(empty, p_producer, _semantic=_semantic)
        barrier_expect_bytes(full, _RESPONSE_BYTES, _semantic=_semantic)
        builder.create_clc_try_cancel(response, full.handle)
        return
    asks = _semantic.equal(cluster_cta_rank(_semantic=_semantic), _semantic.to_tensor(0))
    barrier_wait(empty, p_producer, asks, _semantic=_semantic)
    barrier_expect_bytes(full, _RESPONSE_BYTES, _semantic=_semantic)
    place, location = builder.get_insertion_point(), builder.get_loc()
    branch = builder.create_if_op([], asks.handle, False)
    builder.set_insertion_point_to_start(branch.get_then_block())
    builder.set_loc(location)
    builder.create_clc_try_cancel(response, full.handle)
    builder.restore_insertion_point(place)
    builder.set_loc(location)


@op(targets=BLACKWELL)
def clc_consumer(
    context: Any,
    p_consumer: Any,
    multi_ctas: Any = False,
    k: Any = 0,
    return_3d: Any = False,
    _semantic: Any = None,
) -> tl.tensor | tl.tuple:
    """Wait for a response and return the block whose work it gives to this one, or -1 when none was left.

    No further response may be asked for behind one that is -1.

    Args:
        context: What :func:`clc_create_context` returned.
        p_consumer: Parity of the phase of the response: 0 at first, and the other one each time that a stage is used
            again.
        multi_ctas: Whether one block of a cluster asks for all; True in a kernel with clusters. Without clusters both
            values mean the same.
        k: The stage, a constant or a scalar.
        return_3d: Whether to return the three coordinates of the block in the grid, and not only the first.

    Raises:
        UserError: An argument is of the wrong kind or out of range.

    Source: PTX ISA, clusterlaunchcontrol.query_cancel.
    """
    name = "clc_consumer"
    empty, full, response = _stage(name, context, k, _semantic)
    shape = _cluster(name, multi_ctas)
    axes = 3 if choice(name, "return_3d", return_3d, (False, True)) else 1
    barrier_wait(full, p_consumer, _semantic=_semantic)
    builder = typed_builder(_semantic)
    result = builder.create_clc_load_result(response)
    taken = tl.tensor(builder.create_clc_is_canceled(result), tl.int1)
    none = _semantic.to_tensor(-1)
    blocks = []
    for axis in range(axes):
        block = tl.tensor(builder.create_clc_get_program_id(result, axis), tl.int32)
        if shape is not None and shape[axis] > 1:
            # A response names the first block of a cluster. Each takes over the work of the one in its own place.
            own = _semantic.mod(_semantic.program_id(axis), _semantic.to_tensor(shape[axis]))
            block = _semantic.add(block, own, True)
        blocks.append(_semantic.where(taken, block, none))
    if shape is not None:
        # The next response comes past the fence of the block that asks, which is about its own memory.
        fence_async_shared(_semantic=_semantic)
    barrier_arrive(empty, remote_cta_rank=None if shape is None else 0, _semantic=_semantic)
    return tl.tuple(blocks) if axes > 1 else blocks[0]
