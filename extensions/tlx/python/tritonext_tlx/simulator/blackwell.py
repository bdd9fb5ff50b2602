"""What a simulation does on Blackwell: tensor memory, products that accumulate in it, and dynamic launch."""

from __future__ import annotations

import functools
import math
from collections import Counter
from typing import Any

import numpy as np
import triton.language as tl
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryScalesLayout
from triton.language.core import base_value

from tritonext.interpret import TensorHandle, numpy_dtype, round_to_tf32, scalar, widen

from .. import tmem
from ..aliasing import Extent
from ..types import storage_kind
from .errors import LaunchMisuse, OutOfRange, UnsupportedOperation
from .machine import AsyncOp, Machine, Mbarrier
from .values import COLUMN_BYTES, AliasSpec, Barriers, Buffer, dense, to_int

__all__ = ["Blackwell", "Context", "TensorBuffer"]

# Values of the 4-bit float e2m1 by their bits: OCP Microscaling Formats 1.0.
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
_SCALE_BLOCK = 32
_BIAS = 127
_RESPONSE_BYTES = 16
# PTX ISA, tensor memory: 512 columns.
_ROW_BYTES = 512 * COLUMN_BYTES


class TensorBuffer(Buffer):
    """Buffers in tensor memory, ``num`` slots of one number of columns."""

    slot_stride: int

    @property
    def extent(self) -> Extent:
        columns = self.slot_stride // COLUMN_BYTES
        return Extent(self.num, columns, columns)

    def __getitem__(self, index: Any) -> Buffer:
        at = to_int(index)
        if not 0 <= at < self.num:
            raise OutOfRange(
                "a slot is out of range",
                where=self.machine.here(),
                expected=f"0 to {self.num - 1} of {self}, of {self.allocation.place}",
                found=at,
            )
        self.used = True
        offset = self.offset + at * self.slot_stride
        if (place := self.placement) is not None:
            column = place.offset + at // place.group * place.stride
            offset = column * COLUMN_BYTES + at % place.group * self.slot_stride
        return self.view(self.dtype, self.sizes, self.strides, offset, f"{self}[{at}]")


class Context(base_value):
    """What ``clc_create_context`` returns."""

    def __init__(self, empty: Barriers, full: Barriers, responses: Buffer) -> None:
        self.empty = empty
        self.full = full
        self.responses = responses
        # How often more work was asked for, by stage.
        self.requests: Counter[int] = Counter()

    @property
    def type(self) -> Context:
        return self

    def rename(self, name: str) -> None:
        self.empty.rename(f"{name}.empty")
        self.full.rename(f"{name}.full")
        self.responses.label = name


class _Issuer:
    """Who arrives when products are over: the task that started them, with what it knew then."""

    def __init__(self, op: AsyncOp, clock: np.ndarray) -> None:
        self.name = str(op.actor)
        self.block = op.actor.block
        self.tid = op.actor.tid
        self.clock = clock

    def __str__(self) -> str:
        return self.name


class Blackwell:
    """The ops; part of :class:`.operations.Operations`."""

    machine: Machine

    # Tensor memory.

    def _tensor_memory(self, sizes: tuple[int, ...], dtype: tl.dtype, num: int, layout: Any, reuse: Any) -> Buffer:
        chosen = tmem.layout_of("local_alloc", list(sizes), dtype, num, layout, "cuda:100")
        width = tmem.width(list(sizes), dtype, chosen)
        item = dtype.primitive_bitwidth // 8
        scales = isinstance(chosen, TensorMemoryScalesLayout)
        if isinstance(reuse, AliasSpec):
            return self._sharing_columns(reuse, (sizes, dtype, num, chosen), width)
        if reuse is None:
            size = math.prod(sizes) if scales else sizes[0] * num * width * COLUMN_BYTES
            allocation, offset = self.machine.allocate_columns(num * width, size), 0
            owner, row = 0, sizes[1] if scales else num * width * COLUMN_BYTES
        else:
            base = self._place(reuse)
            if scales or base.sizes[0] != sizes[0] or base.placement:
                raise UnsupportedOperation(
                    "the simulator reuses tensor memory of whole buffers, for buffers of as many rows, only",
                    where=self.machine.here(),
                    found=f"tlx.local_alloc of reuse={reuse}",
                )
            room = base.slot_stride * base.num if isinstance(base, TensorBuffer) else base.sizes[1] * base.strides[1]
            if num * width * COLUMN_BYTES > room:
                raise self._refuse(
                    "the buffer is too small to be reused",
                    expected=f"{num * width} columns",
                    found=room // COLUMN_BYTES,
                )
            allocation, offset, row, owner = base.allocation, base.offset, base.strides[0], base.owner
        strides = (row, item if scales else item * chosen.col_stride)
        result = TensorBuffer(self.machine, allocation, dtype, sizes, strides, offset, num, owner=owner)
        result.slot_stride = width * COLUMN_BYTES
        return result

    def _sharing_columns(
        self, spec: AliasSpec, buffer: tuple[tuple[int, ...], tl.dtype, int, Any], width: int
    ) -> Buffer:
        sizes, dtype, num, layout = buffer
        self._check_storage(spec, storage_kind.tmem)
        if isinstance(layout, TensorMemoryScalesLayout):
            raise self._refuse("scales in tensor memory have no slots to place", found=f"{sizes} of {dtype}")
        if spec.rows not in (None, sizes[0]):
            raise self._refuse(
                "a buffer of a storage_alias_spec has another number of rows", expected=spec.rows, found=sizes[0]
            )
        if spec.rows is None:
            # Rows of all columns, because how many the buffers need shows later.
            spec.rows = sizes[0]
            spec.allocation.grow(sizes[0] * _ROW_BYTES)
        spec.require(num * width)
        strides = (_ROW_BYTES, dtype.primitive_bitwidth // 8 * layout.col_stride)
        result = TensorBuffer(self.machine, spec.allocation, dtype, sizes, strides, 0, num)
        result.slot_stride = width * COLUMN_BYTES
        return spec.add(result)

    def _place(self, value: Any) -> Buffer:
        if not isinstance(value, Buffer) or not value.allocation.columns:
            raise self._refuse("the buffer is not in tensor memory", found=value)
        return value

    def _retyped_columns(self, view: Buffer, dtype: tl.dtype, sizes: tuple[int, ...]) -> Buffer:
        """Return a view of a slot in tensor memory as elements of another type, with the same rows."""
        item = dtype.primitive_bitwidth // 8
        if sizes[0] != view.sizes[0] or sizes[1] * item > view.sizes[1] * view.strides[1]:
            raise UnsupportedOperation(
                "the simulator reinterprets the rows of tensor memory only", where=self.machine.here(), found=view
            )
        return view.view(dtype, sizes, (view.strides[0], item), view.offset)

    def subslice(self, local_allocated_buffer, offset, size):
        view = self._place(self._slot("subslice", local_allocated_buffer))
        return self.local_slice(view, (0, offset), (view.sizes[0], size))

    # What ends in order, and tells barriers.

    def _start(self, op: AsyncOp, reads: list[Buffer], writes: list[Buffer], fenced: bool = False) -> None:
        """Note what an operation of the tensor cores accesses, behind those that its task started before."""
        machine = self.machine
        # They come in order, so they know of one another.
        clock = machine.actor.clock.copy()
        clock[op.tid] = op.epoch
        for view in reads:
            machine.read(view, op, clock=clock, fenced=fenced and not view.allocation.columns)
        for view in writes:
            machine.write(view, op, clock=clock)
        for view in (*reads, *writes):
            machine.note_remote(op, view.block)
        op.size = 1
        machine.products.append(op)
        machine.follow(machine.actor.products)

    def _signal(self, barrier: Mbarrier, name: str) -> None:
        """Arrive at a barrier when all products that the task started are over."""
        machine = self.machine
        queue = machine.actor.products
        op = machine.new_op(name, queue)
        known = machine.actor.clock.copy()
        known[queue.tid] = op.epoch
        issuer = _Issuer(op, known)
        machine.note_remote(op, barrier.block)
        op.effect = lambda: barrier.arrive(issuer, 1, op.place, name)
        machine.follow(queue)

    def _finish(self, name: str, barriers: Any, force_async: Any) -> None:
        signalled = [self._barrier(name, barrier) for barrier in barriers or ()]
        for barrier in signalled:
            self._signal(barrier, name)
        if not signalled and not force_async:
            self.machine.drain(self.machine.actor.products, 0)

    def tcgen05_commit(self, mBarrier, two_ctas=False):
        name = "tcgen05_commit"
        barrier = self._barrier(name, mBarrier)
        if not two_ctas:
            self._signal(barrier, name)
        elif self._leads():
            self._signal_both(barrier, name)

    # Products of two blocks.

    def _leads(self) -> bool:
        """Return whether the own block is the one of its pair that starts products for both."""
        rank = self.machine.actor.block.rank
        self.machine.peer(rank ^ 1)
        return rank % 2 == 0

    def _of_peer(self, view: Buffer) -> Buffer:
        return self._peer_buffer(view, self.machine.actor.block.rank ^ 1)

    def _signal_both(self, barrier: Mbarrier, name: str) -> None:
        self._signal(barrier, name)
        self._signal(self._peer_barrier(barrier, self.machine.actor.block.rank ^ 1), name)

    def _multiply_in_pair(self, name, A, B, acc, use_acc, pred, barriers, scales, decode) -> Buffer:
        """Start a product of the rows of A and the columns of B of two blocks, into the accumulators of both.

        ``decode`` makes the operands of one block of its A, the B of both, and its scales.
        """
        machine = self.machine
        left, right = self._slot(name, A), self._slot(name, B)
        total = self._place(self._slot(name, acc))
        signalled = [self._barrier(name, barrier) for barrier in barriers or ()]
        if not self._leads() or not self._true(pred):
            return acc
        add = use_acc is None or self._true(use_acc)
        rows, columns, totals, *factors = ([view, self._of_peer(view)] for view in (left, right, total, *scales))
        op = machine.new_op(f"{name} to tensor memory", machine.actor.products)
        reads = [*rows, *columns, *(view for pair in factors for view in pair), *(totals if add else [])]
        self._start(op, reads, totals, fenced=True)

        def multiply() -> None:
            for a, place, *own in zip(rows, totals, *factors):
                place.put(self._sum(*decode(a, columns, own), place, add))

        op.effect = multiply
        for barrier in signalled:
            self._signal_both(barrier, name)
        return acc

    # Products.

    def _multiply(self, name, A, B, acc, use_acc, pred, barriers, two_ctas, force_async, scales, decode) -> Buffer:
        """Start a product; ``decode`` makes its operands of A, the parts of B, and the scales."""
        if two_ctas:
            return self._multiply_in_pair(name, A, B, acc, use_acc, pred, barriers, scales, decode)
        machine = self.machine
        left, right = self._slot(name, A), self._slot(name, B)
        total = self._place(self._slot(name, acc))
        if not self._true(pred):
            return acc
        add = use_acc is None or self._true(use_acc)
        op = machine.new_op(f"{name} to tensor memory", machine.actor.products)
        self._start(op, [left, right, *scales, *([total] if add else [])], [total])

        def multiply() -> None:
            total.put(self._sum(*decode(left, [right], scales), total, add))

        op.effect = multiply
        self._finish(name, barriers, force_async)
        return acc

    @staticmethod
    def _sum(a: np.ndarray, b: np.ndarray, total: Buffer, add: bool) -> np.ndarray:
        kind = np.int32 if total.dtype.is_int() else np.float32
        result = np.matmul(a.astype(kind), b.astype(kind))
        if result.shape != total.sizes:
            result = np.concatenate(np.split(result, 2, 1))
        return (result + total.fetch() if add else result).astype(numpy_dtype(total.dtype))

    def _dot_in_tensor_memory(self, A, B, acc, use_acc, pred, mBarriers, two_ctas, force_async):
        name = "async_dot"
        sizes = self._slot(name, A).sizes, self._slot(name, B).sizes, self._slot(name, acc).sizes
        rows, columns = sizes[0][0], (2 if two_ctas else 1) * sizes[1][1]
        # PTX ISA, data path layout B: the right half of 64 rows of two blocks lies in the upper lanes.
        total = (2 * rows, columns // 2) if two_ctas and rows == 64 else (rows, columns)
        if sizes[0][1] != sizes[1][0] or sizes[2] != total:
            raise self._refuse("the sizes of tlx.async_dot do not fit", found=" and ".join(map(str, sizes)))

        def decode(left: Buffer, right: list[Buffer], _: list[Buffer]) -> tuple[np.ndarray, np.ndarray]:
            a = widen(left.fetch(), left.dtype)
            b = np.concatenate([widen(part.fetch(), part.dtype) for part in right], 1)
            return (round_to_tf32(a), round_to_tf32(b)) if left.dtype == tl.float32 else (a, b)

        return self._multiply(name, A, B, acc, use_acc, pred, mBarriers, two_ctas, force_async, [], decode)

    def async_dot_scaled(
        self,
        A,
        B,
        acc,
        A_scale,
        A_format,
        B_scale,
        B_format,
        use_acc=None,
        pred=None,
        mBarriers=(),
        two_ctas=False,
        force_async=False,
        out_dtype=tl.float32,
    ):
        name = "async_dot_scaled"
        scales = [self._slot(name, item) for item in (A_scale, B_scale)]
        rows = self._slot(name, A).sizes[0], self._slot(name, acc).sizes[1]

        def decode(left: Buffer, right: list[Buffer], factors: list[Buffer]) -> tuple[np.ndarray, np.ndarray]:
            a = self._numbers(left, A_format)
            b = np.concatenate([self._numbers(part, B_format, axis=0) for part in right], 1)
            blocks = a.shape[1] // _SCALE_BLOCK
            by_row = [self._scales(view, (size, blocks)) for view, size in zip(factors, rows)]
            return a * np.repeat(by_row[0], _SCALE_BLOCK, 1), b * np.repeat(by_row[1], _SCALE_BLOCK, 1).T

        return self._multiply(name, A, B, acc, use_acc, pred, mBarriers, two_ctas, force_async, scales, decode)

    @staticmethod
    def _numbers(view: Buffer, format_: str, axis: int = 1) -> np.ndarray:
        data = view.fetch()
        if format_ != "e2m1":
            return widen(data, tl.float8e4nv if format_ == "e4m3" else tl.float8e5)
        bits = data.view(np.uint8)
        pair = np.stack([_FP4[bits & 15], _FP4[bits >> 4]], axis + 1)
        return pair.reshape([size * (2 if dim == axis else 1) for dim, size in enumerate(bits.shape)])

    def _scales(self, view: Buffer, shape: tuple[int, int]) -> np.ndarray:
        data = view.fetch().view(np.uint8)
        if not view.allocation.columns:
            data = _matrix_of_tiles(data, shape)
        return np.exp2(data.astype(np.float32) - _BIAS)

    def tmem_copy(self, src, dst, two_ctas=False):
        name = "tmem_copy"
        machine = self.machine
        source, target = self._slot(name, src), self._place(self._slot(name, dst))
        if math.prod(source.sizes) != math.prod(target.sizes):
            raise self._refuse("tlx.tmem_copy gets another size", expected=target.sizes, found=source.sizes)
        copies = [(source, target)]
        if two_ctas:
            if not self._leads():
                return
            copies.append((self._of_peer(source), self._of_peer(target)))
        op = machine.new_op(f"{name} to tensor memory", machine.actor.products)
        sources, targets = map(list, zip(*copies))
        self._start(op, sources, targets, fenced=bool(two_ctas))

        def copy() -> None:
            for origin, place in copies:
                data = origin.fetch()
                place.put(data if data.shape == place.sizes else _matrix_of_tiles(data, place.sizes))

        op.effect = copy

    def stoch_round(self, src, dst_ty, rand_bits):
        """Round to the farther neighbour where the random bits, added behind the last bit that is kept, carry."""
        bits = dst_ty.primitive_bitwidth
        codes = np.arange(2 ** (bits - 1), dtype=f"uint{bits}")
        known = widen(codes.view(numpy_dtype(dst_ty)), dst_ty).astype(np.float64)
        codes, known = codes[np.isfinite(known)], known[np.isfinite(known)]
        x = src.handle.data.astype(np.float64)
        if np.isnan(x).any():
            raise UnsupportedOperation("the simulator rounds numbers only at random", where=self.machine.here())
        below = np.clip(np.searchsorted(known, np.abs(x), "right") - 1, 0, len(known) - 2)
        part = (np.abs(x) - known[below]) / (known[below + 1] - known[below])
        width = 16 if bits == 16 else 8
        carry = part + (rand_bits.handle.data.astype(np.int64) & (2**width - 1)) / 2**width >= 1
        sign = np.signbit(x).astype(codes.dtype) << (bits - 1)
        data = (codes[below + carry] | sign).astype(codes.dtype).view(numpy_dtype(dst_ty))
        return tl.tensor(TensorHandle(data, dst_ty), tl.block_type(dst_ty, list(data.shape)))

    # Dynamic launch.

    def clc_create_context(self, num_consumers, num_stages=1):
        stages = to_int(num_stages)
        empty = self._barriers(stages, num_consumers, False)
        full = self._barriers(stages, 1, False)
        allocation = self.machine.allocate(_RESPONSE_BYTES * stages, self.machine.here())
        responses = Buffer(self.machine, allocation, tl.int32, (4,), dense((4,), 4), 0, stages)
        context = Context(empty, full, responses)
        context.rename("context")
        return context

    def _in_cluster(self, name: str, multi_ctas: Any) -> bool:
        several = len(self.machine.blocks) > 1
        if several and not multi_ctas:
            raise LaunchMisuse(
                "each block of a cluster would ask for work of its own, and get that of a whole cluster",
                where=self.machine.here(),
                expected=f"multi_ctas=True for tlx.{name}",
            )
        return several

    def clc_producer(self, context, p_producer, multi_ctas=False, k=0):
        name = "clc_producer"
        machine, stage = self.machine, to_int(k)
        empty, full, response = context.empty[stage], context.full[stage], context.responses[stage]
        several = self._in_cluster(name, multi_ctas)
        asks = machine.actor.block.rank == 0
        if asks and machine.dismissed is not None:
            raise LaunchMisuse(
                "more work is asked for after a response said that none is left",
                where=machine.here(),
                found=f"-1 from tlx.clc_consumer at {machine.dismissed}",
                hint="end the loop there, in the task that asks too",
            )
        if asks:
            # Once for each phase of the readers: a wait for one that is over would let a response be overwritten.
            parity, right = to_int(p_producer), context.requests[stage] + 1 & 1
            if parity != right:
                raise LaunchMisuse(
                    "more work is asked for with the parity of another request",
                    where=machine.here(),
                    expected=f"p_producer={right} in request {context.requests[stage] + 1} of stage {stage}",
                    found=parity,
                    hint="call tlx.clc_producer once for each response, with the other parity when a stage comes again",
                )
            context.requests[stage] += 1
            machine.wait(empty, parity, machine.here())
        full.bytes += _RESPONSE_BYTES
        full.arrive(machine.actor, 1, machine.here(), name)
        if not asks:
            return

        @functools.cache
        def answer() -> np.ndarray:
            taken = machine.take_work()
            return np.array([taken is not None, *(taken or (0, 0, 0))], np.int32)

        ranks = range(len(machine.blocks))
        places = (
            [(self._peer_buffer(response, rank), self._peer_barrier(full, rank)) for rank in ranks]
            if several
            else [(response, full)]
        )
        for slot, barrier in places:
            self._bring(name, slot, barrier, answer)

    def clc_consumer(self, context, p_consumer, multi_ctas=False, k=0, return_3d=False):
        name = "clc_consumer"
        machine, stage = self.machine, to_int(k)
        response, empty = context.responses[stage], context.empty[stage]
        several = self._in_cluster(name, multi_ctas)
        machine.wait(context.full[stage], to_int(p_consumer), machine.here())
        machine.read(response, machine.new_op(name))
        taken, *block = (int(item) for item in response.fetch())
        if taken:
            program = machine.actor.block.program
            block = [first + at % part for first, at, part in zip(block, program, machine.cluster_shape)]
        else:
            machine.dismissed = machine.here()
            block = [-1, -1, -1]
        self._arrive(self._peer_barrier(empty, 0) if several else empty, 1, name)
        values = [scalar(item, tl.int32) for item in block]
        return tuple(values) if return_3d else values[0]


def _matrix_of_tiles(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return scales in tiles of 128 x 4, as they lie in shared memory, as a matrix."""
    tiles = data.reshape(shape[0] // 128, shape[1] // 4, 32, 4, 4)
    return tiles.transpose(0, 3, 2, 1, 4).reshape(shape)
