"""What each op of TLX does in a simulation. A method is the op of its name, with its arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.core import base_value

from tritonext.errors import UserError
from tritonext.interpret import (
    PAD_NAN,
    TensorHandle,
    bfloat16_bits,
    numpy_dtype,
    round_to_tf32,
    scalar,
    widen,
)

from ..aliasing import make_group, reuse_group_type
from ..types import storage_kind
from .amd import Amd
from .blackwell import Blackwell
from .errors import OutOfRange, UnsupportedOperation
from .machine import AsyncOp, Machine, Mbarrier
from .scheduler import Waiting
from .values import AliasSpec, Barriers, Buffer, DescriptorMemory, PendingHandle, Token, dense, plain, to_int

__all__ = ["Operations", "Pipeline"]

_REDUCE = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _tensor(data: np.ndarray, dtype: tl.dtype) -> tl.tensor:
    return tl.tensor(TensorHandle(data, dtype), tl.block_type(dtype, list(data.shape)))


class Stage(base_value):
    """The buffers of one step of a pipeline, and the barrier of their copies."""

    def __init__(self, buffers: tuple[Buffer, ...], full: Mbarrier) -> None:
        self.buffers = buffers
        self.full = full

    @property
    def type(self) -> Stage:
        return self

    def __getitem__(self, index: Any) -> Buffer:
        return self.buffers[to_int(index)]


class Pipeline(base_value):
    """A ring of buffers with its barriers; its methods are those that kernels call."""

    def __init__(self, operations: Operations, buffers: tuple[Buffer, ...], full: Barriers, empty: Barriers) -> None:
        self._operations = operations
        self._buffers = buffers
        self._full = full
        self._empty = empty
        for barrier in (*full.barriers, *empty.barriers):
            barrier.in_ring = True

    @property
    def type(self) -> Pipeline:
        return self

    def rename(self, name: str) -> None:
        self._full.rename(f"{name}.full")
        self._empty.rename(f"{name}.empty")

    def acquire(self, step: Any) -> Stage:
        slot, parity = self._place(step)
        self._operations.barrier_wait(self._empty[slot], parity ^ 1)
        stage = self._stage(slot)
        size = sum(buffer.slot_bytes for buffer in stage.buffers)
        self._operations.barrier_expect_bytes(stage.full, size)
        return stage

    def wait(self, step: Any) -> Stage:
        slot, parity = self._place(step)
        stage = self._stage(slot)
        self._operations.barrier_wait(stage.full, parity)
        return stage

    def release(self, step: Any) -> None:
        slot, _ = self._place(step)
        self._operations.barrier_arrive(self._empty[slot])

    def _place(self, step: Any) -> tuple[int, int]:
        self._operations.machine.scheduler.switch()
        number, slots = to_int(step), self._buffers[0].num
        return number % slots, number // slots & 1

    def _stage(self, slot: int) -> Stage:
        return Stage(tuple(buffer[slot] for buffer in self._buffers), self._full[slot])


class Operations(Blackwell, Amd):
    """The ops, on the machine of the program that runs.

    Args:
        memory: Global memory.
        semantic: The semantics of ``triton.language``.
    """

    machine: Machine

    def __init__(self, memory: Any, semantic: Any) -> None:
        self.memory = memory
        self.semantic = semantic

    # Checks.

    def _refuse(self, message: str, **fields: Any) -> UserError:
        return UserError(message, where=self.machine.here(), **fields)

    def _unsupported(self, name: str, **arguments: Any) -> None:
        for argument, value in arguments.items():
            if value not in (None, False, (), []):
                raise UnsupportedOperation(
                    f"the simulator does not know this argument of tlx.{name}",
                    where=self.machine.here(),
                    found=f"{argument}={value!r}",
                )

    def _slot(self, name: str, value: Any) -> Buffer:
        if not isinstance(value, Buffer) or value.num:
            raise self._refuse(f"tlx.{name} takes one slot of a buffer", found=value)
        return value

    def _barrier(self, name: str, value: Any) -> Mbarrier:
        if not isinstance(value, Mbarrier):
            raise self._refuse(f"tlx.{name} takes one barrier", found=value)
        return value

    def _like(self, name: str, buffer: Buffer, shape: Any, dtype: tl.dtype) -> None:
        found = tuple(plain(size) for size in shape)
        if found != buffer.sizes or dtype != buffer.dtype:
            raise self._refuse(
                f"tlx.{name} gets something unlike its buffer",
                expected=f"{buffer.sizes} of {buffer.dtype}",
                found=f"{found} of {dtype}",
            )

    @staticmethod
    def _true(pred: Any) -> bool:
        return pred is None or bool(to_int(pred))

    # Buffers.

    def local_alloc(self, shape, dtype, num=1, storage=None, layout=None, reuse=None):
        sizes = tuple(to_int(size) for size in shape)
        if storage is storage_kind.tmem:
            return self._tensor_memory(sizes, dtype, to_int(num), layout, reuse)
        item = dtype.primitive_bitwidth // 8
        count = to_int(num)
        size = math.prod(sizes) * item * count
        owner = 0
        if reuse is None:
            allocation, offset = self.machine.allocate(size, self.machine.here()), 0
        elif isinstance(reuse, AliasSpec):
            self._check_storage(reuse, storage_kind.smem)
            reuse.require(size)
            return reuse.add(Buffer(self.machine, reuse.allocation, dtype, sizes, dense(sizes, item), 0, count))
        elif not isinstance(reuse, Buffer) or not reuse.contiguous or reuse.placement:
            raise UnsupportedOperation(
                "the simulator reuses the memory of whole buffers only",
                where=self.machine.here(),
                found=f"tlx.local_alloc of reuse={reuse}",
            )
        else:
            allocation, offset, owner = reuse.allocation, reuse.offset, reuse.owner
            if size > (there := reuse.slot_bytes * max(reuse.num, 1)):
                raise self._refuse("the buffer is too small to be reused", expected=f"{size} bytes", found=there)
        return Buffer(self.machine, allocation, dtype, sizes, dense(sizes, item), offset, count, owner=owner)

    def storage_alias_spec(self, storage=storage_kind.smem, buffer_size_bytes=None):
        if storage is storage_kind.tmem:
            # Its buffers say how many rows it has.
            allocation = self.machine.allocate_columns(0, 0)
        else:
            allocation = self.machine.allocate(buffer_size_bytes or 0, self.machine.here())
        return AliasSpec(self.machine, allocation, storage, buffer_size_bytes)

    def _check_storage(self, spec: AliasSpec, storage: storage_kind) -> None:
        if spec.storage is not storage:
            raise self._refuse("the memory to reuse is another one", expected=storage.value, found=spec.storage.value)

    def reuse_group(self, args, group_type=reuse_group_type.shared, group_size=1):
        def require(name: str, argument: str, value: Any, slots: bool) -> None:
            if not isinstance(value, Buffer) or not value.num:
                raise self._refuse("tlx.reuse_group takes buffers with slots, and groups", found=value)

        return make_group("reuse_group", args, group_type, group_size, require)

    def local_view(self, local_allocated_buffers, buffer_idx):
        return local_allocated_buffers[buffer_idx]

    def local_slice(self, buffer, offset, shape):
        view = self._slot("local_slice", buffer)
        sizes = tuple(map(to_int, shape))
        starts = tuple(map(to_int, offset))
        for start, size, whole in zip(starts, sizes, view.sizes, strict=True):
            if start < 0 or start + size > whole:
                raise OutOfRange(
                    "a slice leaves its slot",
                    where=self.machine.here(),
                    expected=f"inside of {view.sizes}",
                    found=f"{sizes} at {starts}",
                )
        moved = view.offset + sum(start * stride for start, stride in zip(starts, view.strides))
        return view.view(view.dtype, sizes, view.strides, moved)

    def local_trans(self, input, dims=(1, 0)):
        view = self._slot("local_trans", input)
        order = [to_int(dim) for dim in dims]
        sizes = tuple(view.sizes[dim] for dim in order)
        strides = tuple(view.strides[dim] for dim in order)
        return view.view(view.dtype, sizes, strides, view.offset)

    def local_reshape(self, buffer, shape):
        return self._retyped("local_reshape", buffer, buffer.dtype, tuple(map(to_int, shape)))

    def local_reinterpret(self, src, dtype, shape=None, layout=None, pin=True):
        sizes = src.sizes if shape is None else tuple(map(to_int, shape))
        return self._retyped("local_reinterpret", src, dtype, sizes)

    def _retyped(self, name, buffer, dtype, sizes):
        view = self._slot(name, buffer)
        if view.allocation.columns:
            return self._retyped_columns(view, dtype, sizes)
        item = dtype.primitive_bitwidth // 8
        if not view.contiguous:
            raise UnsupportedOperation(
                f"the simulator knows tlx.{name} of whole slots only", where=self.machine.here(), found=view
            )
        if math.prod(sizes) * item != view.slot_bytes:
            raise self._refuse(
                f"tlx.{name} changes the number of bytes", expected=view.slot_bytes, found=math.prod(sizes) * item
            )
        return view.view(dtype, sizes, dense(sizes, item), view.offset)

    def local_load(
        self,
        src,
        token=None,
        layout=None,
        relaxed=False,
        rematerialize_coordinates=False,
        rematerialize_coordinates_group=None,
    ):
        self._unsupported(
            "local_load",
            rematerialize_coordinates=rematerialize_coordinates,
            rematerialize_coordinates_group=rematerialize_coordinates_group,
        )
        view = self._slot("local_load", src)
        op = self.machine.new_op("local_load")
        self.machine.read(view, op)
        self.machine.note_remote(op, view.block)
        return _tensor(view.fetch(), view.dtype)

    def local_store(self, dst, src):
        view = self._slot("local_store", dst)
        self._like("local_store", view, src.shape, src.dtype)
        data = src.handle.data
        op = self.machine.new_op("local_store")
        self.machine.write(view, op)
        self.machine.note_remote(op, view.block)
        view.put(data)

    def _chosen(self, name: str, view: Buffer, index: Any, axis: int) -> tuple[list[Buffer], np.ndarray]:
        """Return a view of each element, and the index."""
        at = index.handle.data
        if (at < 0).any() or (at >= view.sizes[axis]).any():
            raise OutOfRange(
                f"tlx.{name} leaves its slot",
                where=self.machine.here(),
                expected=f"0 to {view.sizes[axis] - 1} in dimension {axis}",
                found=f"{int(at.min())} to {int(at.max())}",
            )
        places = list(np.indices(at.shape))
        places[axis] = at
        offsets = view.offset + sum(place.astype(np.int64) * stride for place, stride in zip(places, view.strides))
        part = view.view(view.dtype, at.shape, (0,) * at.ndim, view.offset)
        part._selector = (offsets[..., None] + np.arange(view.item_bytes)).reshape(-1)
        return part

    def local_gather(self, buffer, index, axis):
        part = self._chosen("local_gather", self._slot("local_gather", buffer), index, to_int(axis))
        self.machine.read(part, self.machine.new_op("local_gather"))
        return _tensor(part.fetch(), part.dtype)

    def local_scatter(self, buffer, value, index, axis):
        part = self._chosen("local_scatter", self._slot("local_scatter", buffer), index, to_int(axis))
        self._like("local_scatter", part, value.shape, value.dtype)
        data = value.handle.data
        self.machine.write(part, self.machine.new_op("local_scatter"))
        part.put(data)

    # Copies of threads.

    def async_load(
        self,
        src,
        result,
        mask=None,
        other=None,
        cache_modifier="",
        eviction_policy="",
        is_volatile=False,
        bulk=False,
        bulk_size=None,
        barrier=None,
    ):
        name = "async_load"
        view = self._slot(name, result)
        if bulk:
            self._unsupported(name, mask=mask, other=other, is_volatile=is_volatile)
            addresses, part = self._bulk(name, src, view, bulk_size)
            chosen = np.ones(addresses.shape, bool)
            kind = numpy_dtype(part.dtype)
            signalled = self._barrier(name, barrier)
            self._bring(name, part, signalled, lambda: self.memory.load(addresses, chosen, None, kind))
            return Token()
        self._unsupported(name, is_volatile=is_volatile)
        if mask is not None:
            src, mask = self.semantic.broadcast_impl_value(src, self.semantic.to_tensor(mask))
        self._like(name, view, src.shape, src.dtype.element_ty)
        addresses = src.handle.data
        chosen = np.ones(addresses.shape, bool) if mask is None else np.array(mask.handle.data)
        dtype = numpy_dtype(view.dtype)
        fill = None
        if other is not None:
            value = self.semantic.cast(self.semantic.to_tensor(other), view.dtype)
            fill = np.broadcast_to(value.handle.data, addresses.shape)
        self.memory.check(addresses, chosen, dtype, "copy")
        queue = self.machine.actor.copies
        op = self.machine.new_op(name, queue, epoch=queue.issued + 1)
        # A copy that the mask leaves nothing of brings nothing anyone could wait for.
        op.size = int(chosen.sum()) * view.item_bytes
        self.machine.write(view, op)
        early = self.memory.load(addresses, chosen, fill, dtype) if self.machine.random.random() < 0.5 else None
        view.allocation.data[view.selector] = 0xFF

        def arrive() -> None:
            view.put(self.memory.load(addresses, chosen, fill, dtype) if early is None else early)

        op.effect = arrive
        return Token()

    def _bulk(self, name: str, pointer: Any, view: Buffer, size: Any) -> tuple[np.ndarray, Buffer]:
        """Return the addresses of a copy of bytes, and the part of the buffer it is about."""
        if pointer.dtype.element_ty != view.dtype:
            raise self._refuse(f"tlx.{name} gets a pointer to another type", expected=view.dtype, found=pointer.dtype)
        count = view.slot_bytes if size is None else to_int(size)
        if not 0 < count <= view.slot_bytes or count % 16:
            raise self._refuse(
                f"tlx.{name} copies a multiple of 16 bytes",
                expected=f"16 to {view.slot_bytes}, the bytes of {view}",
                found=count,
            )
        if not view.contiguous:
            raise self._refuse(f"tlx.{name} takes a whole slot", found=view)
        start = int(pointer.handle.data.item())
        if start % 16:
            raise OutOfRange(
                f"tlx.{name} is not aligned", where=self.machine.here(), expected="a pointer divisible by 16"
            )
        addresses = (start + np.arange(0, count, view.item_bytes)).astype(np.uint64)
        self.memory.check(addresses, np.ones(addresses.shape, bool), numpy_dtype(view.dtype), "bulk copy")
        return addresses, view.view(view.dtype, addresses.shape, (view.item_bytes,), view.offset)

    def async_store(self, dst_global_ptr, src_smem, size):
        name = "async_store"
        addresses, part = self._bulk(name, dst_global_ptr, self._slot(name, src_smem), size)
        self._send(name, part, lambda data: self.memory.store(addresses, data, np.ones(addresses.shape, bool)))

    def _send(self, name: str, view: Buffer, land: Any) -> None:
        """Start a copy to global memory, which ``land`` does with the elements."""
        machine = self.machine
        op = machine.new_op(name, machine.actor.stores)
        op.size = view.slot_bytes
        machine.read(view, op, fenced=True)

        def leave() -> None:
            # The buffer has been read; the bytes are on their way.
            data = view.fetch()
            landing = AsyncOp(machine, len(machine.ops), name, op.actor, op.place, op.tid, op.epoch)
            landing.effect = lambda: land(data)
            machine.in_flight.append(landing)

        op.effect = leave

    def async_load_commit_group(self, tokens=None):
        self.machine.actor.copies.issued += 1
        return Token()

    def async_load_wait_group(self, pendings, tokens=None):
        self.machine.drain(self.machine.actor.copies, to_int(pendings))
        return Token()

    def prefetch(self, pointer, level="L2", mask=None, tensormap=False):
        """A hint, which changes no value."""

    # Products.

    def async_dot(
        self,
        A,
        B,
        acc=None,
        use_acc=None,
        pred=None,
        mBarriers=(),
        two_ctas=False,
        force_async=False,
        input_precision=None,
        out_dtype=tl.float32,
    ):
        name = "async_dot"
        if isinstance(acc, Buffer):
            return self._dot_in_tensor_memory(A, B, acc, use_acc, pred, mBarriers, two_ctas, force_async)
        self._unsupported(name, pred=pred, mBarriers=mBarriers, two_ctas=two_ctas)
        machine = self.machine
        right = self._slot(name, B)
        left = self._slot(name, A) if isinstance(A, Buffer) else None
        rows, inner = left.sizes if left else (plain(size) for size in A.shape)
        kind = left.dtype if left else A.dtype
        if inner != right.sizes[0]:
            raise self._refuse("the inner sizes of tlx.async_dot differ", expected=inner, found=right.sizes[0])
        shape = (rows, right.sizes[1])
        if acc is not None and tuple(plain(size) for size in acc.shape) != shape:
            raise self._refuse(
                "the accumulator of tlx.async_dot has another shape", expected=shape, found=tuple(map(plain, acc.shape))
            )
        add = acc is not None and self._true(use_acc)
        dtype = out_dtype if acc is None else acc.dtype
        registers = None if left else np.array(A.handle.data)
        op = machine.new_op(name, machine.actor.dots)
        op.size = 1
        for view in (left, right):
            if view is not None:
                machine.read(view, op)
        before = acc.handle if add else None
        if isinstance(before, PendingHandle) and before.op.actor is not machine.actor:
            machine.result_of(before.op)
        start = None if before is None or isinstance(before, PendingHandle) else np.array(before.data)

        def multiply() -> None:
            a = widen(left.fetch() if left else registers, kind)
            b = widen(right.fetch(), right.dtype)
            if kind == tl.float32:
                a, b = round_to_tf32(a), round_to_tf32(b)
            total = np.int32 if kind.is_int() else np.float32
            product = np.matmul(a.astype(total), b.astype(total))
            if start is not None:
                product = product + start
            elif before is not None:
                product = product + before.op.result
            op.result = product.astype(numpy_dtype(dtype))

        op.effect = multiply
        return tl.tensor(PendingHandle(op, dtype), tl.block_type(dtype, list(shape)))

    def async_dot_wait(self, pendings, inp):
        self.machine.drain(self.machine.actor.dots, to_int(pendings))
        return inp

    # Barriers.

    def alloc_barriers(self, num_barriers, arrive_count=1):
        return self._barriers(num_barriers, arrive_count, False)

    def alloc_warp_barrier(self, num_barriers, num_warps=1, num_arrivals=1):
        return self._barriers(num_barriers, 32 * to_int(num_warps) * to_int(num_arrivals), True)

    def _barriers(self, num_barriers, arrive_count, per_thread):
        machine = self.machine
        count = to_int(num_barriers)
        machine.actor.block.shared_bytes += 8 * count
        made = [Mbarrier(machine, to_int(arrive_count), machine.here()) for _ in range(count)]
        for barrier in made:
            barrier.per_thread = per_thread
        machine.actor.block.barriers.extend(made)
        barriers = Barriers(machine, made)
        barriers.rename("barrier")
        return barriers

    def barrier_expect_bytes(self, bar, size, pred=None):
        if self._true(pred):
            barrier = self._barrier("barrier_expect_bytes", bar)
            barrier.bytes += to_int(size)
            self._arrive(barrier, 1, "barrier_expect_bytes")

    def barrier_wait(self, bar, phase, pred=None):
        if self._true(pred):
            parity = to_int(phase)
            if parity not in (0, 1):
                raise self._refuse("a phase is a parity", expected="0 or 1", found=parity)
            barrier = self._barrier("barrier_wait", bar)
            if barrier.block is not self.machine.actor.block:
                raise self._refuse("a block waits for the barriers of its own", found=barrier)
            self.machine.wait(barrier, parity, self.machine.here())

    def barrier_arrive(self, bar, arrive_count=1, remote_cta_rank=None, pred=None):
        if self._true(pred):
            barrier = self._barrier("barrier_arrive", bar)
            if remote_cta_rank is not None:
                barrier = self._peer_barrier(barrier, to_int(remote_cta_rank))
            threads = 32 * self.machine.actor.num_warps if barrier.per_thread else 1
            self._arrive(barrier, to_int(arrive_count) * threads, "barrier_arrive")

    def _arrive(self, barrier: Mbarrier, count: int, name: str) -> None:
        machine = self.machine
        if barrier.block.ended:
            machine.peer(barrier.block.rank)
        if barrier.block is not machine.actor.block:
            machine.note_remote(machine.new_op(name), barrier.block)
        barrier.arrive(machine.actor, count, machine.here(), name)

    # Other blocks of the cluster.

    def _peer_barrier(self, barrier: Mbarrier, rank: int) -> Mbarrier:
        peer = self.machine.peer(rank)
        return self._same(barrier, barrier.block.barriers, peer.barriers)

    def _peer_buffer(self, view: Buffer, rank: int) -> Buffer:
        peer = self.machine.peer(rank)
        if peer is view.block:
            return view
        index = self._index(view.allocation, view.block.allocations)
        if index >= len(peer.allocations):
            # On a GPU it has its place from the last cluster barrier on. Here it begins when its block comes to it.
            self.machine.scheduler.switch(
                Waiting(
                    lambda: index < len(peer.allocations) or peer.ended,
                    lambda: f"block {rank} to come to the allocation at {view.allocation.place}",
                    self.machine.here(),
                )
            )
        allocation = self._same(view.allocation, view.block.allocations, peer.allocations)
        label = f"{view} of block {rank}"
        moved = Buffer(
            self.machine, allocation, view.dtype, view.sizes, view.strides, view.offset, 0, label, owner=view.owner
        )
        moved.block = peer
        return moved

    @staticmethod
    def _index(own: Any, here: list[Any]) -> int:
        return next(number for number, item in enumerate(here) if item is own)

    def _same(self, own: Any, here: list[Any], there: list[Any]) -> Any:
        """Return what another block has at the place of something of a block."""
        index = self._index(own, here)
        if index >= len(there) or there[index].place != own.place:
            raise OutOfRange(
                "another block has nothing at this place yet",
                where=self.machine.here(),
                expected=f"the allocation of {own.place} in both blocks, before the first remote access",
                found=there[index].place if index < len(there) else "none",
            )
        return there[index]

    def remote_view(self, local_allocated_buffer, remote_cta_rank):
        rank = to_int(remote_cta_rank)
        if isinstance(local_allocated_buffer, Mbarrier):
            return self._peer_barrier(local_allocated_buffer, rank)
        return self._peer_buffer(self._slot("remote_view", local_allocated_buffer), rank)

    def remote_shmem_store(self, dst, src, remote_cta_rank):
        name = "remote_shmem_store"
        view = self._peer_buffer(self._slot(name, dst), to_int(remote_cta_rank))
        self._like(name, view, src.shape, src.dtype)
        op = self.machine.new_op(name)
        self.machine.write(view, op)
        self.machine.note_remote(op, view.block)
        view.put(src.handle.data)

    def async_remote_shmem_store(self, dst, src, remote_cta_rank, barrier):
        name = "async_remote_shmem_store"
        rank = to_int(remote_cta_rank)
        view = self._peer_buffer(self._slot(name, dst), rank)
        self._like(name, view, src.shape, src.dtype)
        data = np.array(src.handle.data)
        self._bring(name, view, self._peer_barrier(self._barrier(name, barrier), rank), lambda: data)

    def _bring(self, name: str, view: Buffer, barrier: Mbarrier, data: Any) -> None:
        """Let data come into a slot, and its bytes to a barrier, some time from now."""
        machine = self.machine
        barrier.check_made(machine.actor, machine.here())
        op = machine.new_op(name)
        op.tid, op.epoch, op.barrier, op.size = barrier.tid, barrier.phase + 1, barrier, view.slot_bytes
        machine.write(view, op)
        for block in {view.block, barrier.block}:
            machine.note_remote(op, block)
        view.allocation.data[view.selector] = 0xFF

        def arrive() -> None:
            view.put(data())
            barrier.bytes -= view.slot_bytes
            barrier.advance(op.place)

        op.effect = arrive
        barrier.arrivals[f"tlx.{name} in {op.actor}", op.place] += 1
        machine.in_flight.append(op)
        machine.loads.append(op)

    def cluster_barrier(self):
        self.machine.meet(self.machine.here())

    def fence_mbarrier_init_cluster(self):
        """Orders what a barrier of the cluster orders here."""

    def alloc_pipeline(self, buffers, consumers=1):
        members = (buffers,) if isinstance(buffers, Buffer) else tuple(buffers)
        slots = [buffer.num if isinstance(buffer, Buffer) else 0 for buffer in members]
        if not slots or not slots[0] or len(set(slots)) > 1:
            raise self._refuse(
                "tlx.alloc_pipeline takes buffers with as many slots each", found=", ".join(map(str, members)) or "none"
            )
        count = slots[0]
        return Pipeline(self, members, self.alloc_barriers(count), self.alloc_barriers(count, consumers))

    def named_barrier_wait(self, bar, arrive_count):
        self._named_barrier("named_barrier_wait", to_int(bar), to_int(arrive_count), waits=True)

    def named_barrier_arrive(self, bar, arrive_count):
        self._named_barrier("named_barrier_arrive", to_int(bar), to_int(arrive_count), waits=False)

    def _named_barrier(self, name: str, number: int, threads: int, *, waits: bool) -> None:
        if not 0 <= number <= 15:
            raise self._refuse(f"tlx.{name} names no barrier", expected="0 to 15", found=number)
        if threads % 32 or not 32 <= threads <= 1024:
            raise self._refuse(
                f"tlx.{name} has no such number of threads", expected="32 to 1024 in steps of 32", found=threads
            )
        self.machine.named_barrier(number, threads, waits, self.machine.here())

    def fence(self, scope):
        if scope == "async_shared":
            self.machine.fence()

    def fence_async_shared(self):
        self.machine.fence()

    # Descriptor copies.

    def _tile(self, desc: Any, offsets: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the addresses of a tile, and which of them lie in the tensor."""
        handle = desc.handle
        shape = tuple(map(to_int, handle.block_shape))
        starts = [to_int(start) for start in offsets]
        if len(starts) != len(shape):
            raise self._refuse("a tile has another number of offsets", expected=len(shape), found=len(starts))
        item = desc.dtype.primitive_bitwidth // 8
        addresses = np.full(shape, int(handle.base.data.item()), np.int64)
        inside = np.ones(shape, bool)
        for dim, (start, size) in enumerate(zip(starts, shape)):
            at = (start + np.arange(size, dtype=np.int64)).reshape([-1 if d == dim else 1 for d in range(len(shape))])
            addresses = addresses + at * int(handle.strides[dim].data.item()) * item
            inside = inside & (at >= 0) & (at < int(handle.shape[dim].data.item()))
        return addresses.astype(np.uint64), inside

    def async_descriptor_load(
        self,
        desc,
        result,
        offsets,
        barrier,
        pred=None,
        cache_modifier="",
        eviction_policy="",
        multicast_targets=(),
        two_ctas=False,
    ):
        name = "async_descriptor_load"
        if not self._true(pred):
            return
        view = self._slot(name, result)
        signalled = self._barrier(name, barrier)
        self._like(name, view, desc.block_shape, desc.dtype)
        addresses, inside = self._tile(desc, offsets)
        dtype = numpy_dtype(view.dtype)
        fill = None
        if desc.handle.padding == PAD_NAN:
            nan = bfloat16_bits(np.array(np.nan)) if view.dtype == tl.bfloat16 else np.nan
            fill = np.full(view.sizes, nan, dtype)
        self.memory.check(addresses, inside, dtype, "descriptor load")
        ranks = [to_int(rank) for rank in multicast_targets or ()]
        if len(set(ranks)) < len(ranks):
            raise self._refuse("a tile goes to a block twice", found=ranks)
        if ranks or two_ctas:
            leader = ~1 if two_ctas else ~0
            places = [
                (self._peer_buffer(view, rank), self._peer_barrier(signalled, rank & leader))
                for rank in ranks or [self.machine.actor.block.rank]
            ]
        else:
            places = [(view, signalled)]
        for slot, bar in places:
            self._bring(name, slot, bar, lambda: self.memory.load(addresses, inside, fill, dtype))

    def async_descriptor_store(self, desc, source, offsets, eviction_policy="", store_reduce=""):
        name = "async_descriptor_store"
        view = self._slot(name, source)
        self._like(name, view, desc.block_shape, desc.dtype)
        if store_reduce not in ("", *_REDUCE):
            raise self._refuse("there is no such reduction", expected=", ".join(_REDUCE), found=repr(store_reduce))
        addresses, inside = self._tile(desc, offsets)
        self.memory.check(addresses, inside, numpy_dtype(view.dtype), "descriptor store")
        self._send(name, view, lambda data: self._land(addresses, inside, data, view.dtype, store_reduce))

    def _land(self, addresses: Any, inside: Any, data: np.ndarray, dtype: tl.dtype, reduction: str) -> None:
        if reduction:
            old = self.memory.load(addresses, inside, None, data.dtype)
            result = _REDUCE[reduction](widen(old, dtype), widen(data, dtype))
            data = bfloat16_bits(result) if dtype == tl.bfloat16 else result
        self.memory.store(addresses, data, inside)

    def async_descriptor_prefetch_tensor(self, desc, offsets, pred=None, eviction_policy=""):
        """A hint, which changes no value."""

    def make_tensor_descriptor(self, desc_ptr, base, shape, strides, block_shape, padding_option="zero"):
        made = tl.make_tensor_descriptor(base, shape, strides, block_shape, padding_option)
        if desc_ptr is not None:
            desc_ptr.put(made, self.machine)
        return made

    def allocate_tensor_descriptor(self, num):
        return DescriptorMemory(self.machine, to_int(num))

    def reinterpret_tensor_descriptor(self, desc_ptr, block_shape, dtype):
        made = desc_ptr.get(self.machine)
        sizes, kept = tuple(map(to_int, block_shape)), tuple(map(to_int, made.block_shape))
        if sizes != kept or dtype != made.dtype:
            raise self._refuse(
                "a descriptor is used as another one than was made",
                expected=f"{kept} of {made.dtype}",
                found=f"{sizes} of {dtype}",
            )
        return made

    def async_descriptor_store_wait(self, pendings, read_only=True):
        machine = self.machine
        stores = machine.actor.stores
        machine.drain(stores, to_int(pendings))
        if not read_only:
            machine.complete(stores.tid, int(machine.actor.clock[stores.tid]))

    # Registers.

    def require_layout(self, src, layout, pin=True):
        return src

    def dump_layout(self, x):
        """Of the compiler alone."""

    def assert_same_layout(self, a, b):
        """Of the compiler alone."""

    def release_layout(self, src):
        return src

    def zeros(self, shape, dtype, layout=None):
        return self.semantic.full([to_int(size) for size in shape], 0, dtype)

    def get_fp8_format_name(self, dtype):
        return {tl.float8e5: "e5m2", tl.float8e4nv: "e4m3"}[dtype]

    def async_task_replica_id(self):
        replica = self.machine.actor.replica
        if replica is None:
            raise self._refuse("tlx.async_task_replica_id stands outside of a task", expected="a call in a task")
        return replica

    def thread_id(self, axis=0):
        return scalar(self.machine.actor.first_thread if to_int(axis) == 0 else 0, tl.int32)

    def dtype_of(self, v):
        return v.dtype.element_ty if v.dtype.is_ptr() else v.dtype

    def size_of(self, dtype):
        return dtype.primitive_bitwidth // 8

    def clock64(self):
        return scalar(self.machine.steps, tl.int64)

    def cluster_cta_rank(self):
        return scalar(self.machine.actor.block.rank, tl.int32)

    def cluster_size_1d(self):
        return scalar(len(self.machine.blocks), tl.int32)
