"""Buffers that share memory: which of them may overlap, and where their slots lie."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from triton.language.core import base_type, base_value, builtin

from tritonext.errors import UserError

from . import tmem
from ._arguments import choice
from .definition import ALL, BLACKWELL, constant, integer, op, refuse, shown, target_of
from .types import alignment_of, buffered_tensor_type, require_buffer, storage_kind

__all__ = [
    "Extent",
    "Placement",
    "alias_spec",
    "alias_spec_type",
    "end_of",
    "group_of_buffers",
    "place",
    "reuse_group",
    "reuse_group_type",
    "storage_alias_spec",
]


class reuse_group_type(enum.Enum):
    """What the members of a group do to each other.

    Attributes:
        shared: Slots of the same number may overlap; no two of other numbers do.
        distinct: No slots overlap.
    """

    shared = "shared"
    distinct = "distinct"


@dataclass(frozen=True)
class Placement:
    """Where the slots of a buffer lie: slot ``i`` at ``offset + i // group * stride + i % group * size``.

    Offsets and sizes are in bytes of shared memory, or in columns of tensor memory.
    """

    offset: int
    stride: int
    group: int


@dataclass(frozen=True)
class Extent:
    """How much memory a buffer takes: the number of its slots, and size and alignment of each."""

    num: int
    size: int
    alignment: int


@dataclass(frozen=True)
class _Node:
    """A part of a group with the memory that one number of slots takes.

    Attributes:
        members: Buffers, how many of their slots go together, and where these start in the part.
    """

    members: list[tuple[Any, int, int]]
    size: int
    alignment: int


class alias_spec_type(base_type):
    """Type of a ``storage_alias_spec``."""

    def __init__(self, storage: storage_kind, buffer_size_bytes: int | None) -> None:
        self.storage = storage
        self.buffer_size_bytes = buffer_size_bytes

    def _key(self) -> tuple:
        return (self.storage, self.buffer_size_bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, alias_spec_type) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        size = "" if self.buffer_size_bytes is None else f", {self.buffer_size_bytes}"
        return f"storage_alias_spec<{self.storage.value}{size}>"

    def mangle(self) -> str:
        return f"TLXS{self.storage.value}{self.buffer_size_bytes or ''}S"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(builder.get_int32_ty())

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[alias_spec, int]:
        return alias_spec(handles[cursor], self), cursor + 1


class alias_spec(base_value):
    """Memory that buffers of ``local_alloc(reuse=spec)`` share, made by :func:`storage_alias_spec`."""

    def __init__(self, handle: Any, type: alias_spec_type) -> None:
        self.handle = handle
        self.type = type

    @property
    def storage(self) -> storage_kind:
        """Where the memory is."""
        return self.type.storage

    @property
    def buffer_size_bytes(self) -> int | None:
        """How much there is; None for as much as the buffers need."""
        return self.type.buffer_size_bytes

    def __str__(self) -> str:
        return str(self.type)

    @builtin
    def set_buffer_overlap(self, overlap_def: Any, _semantic: Any = None) -> None:
        """Say which of the buffers may overlap, once for all of them.

        Args:
            overlap_def: A :func:`reuse_group` of all buffers that reuse this.

        Raises:
            UserError: It is none, or no memory can be laid out so.
        """
        name = "storage_alias_spec.set_buffer_overlap"
        group = constant(overlap_def)
        if not isinstance(group, group_of_buffers):
            found = shown(group)
            raise refuse(name, "an argument is not a group", "overlap_def", expected="a tlx.reuse_group", found=found)
        builder = _semantic.builder
        placements = place(
            group,
            lambda message, **fields: refuse(name, message, "overlap_def", **fields),
            lambda buffer: _extent(buffer.type),
            lambda one, other: one.handle.id() == other.handle.id(),
        )
        for buffer, _ in placements:
            if buffer.type.storage is not self.storage:
                raise refuse(
                    name,
                    "a buffer of the group is in another memory",
                    "overlap_def",
                    expected=self.storage.value,
                    found=buffer,
                )
        if self.storage is storage_kind.tmem:
            tmem.require_columns(name, max(end_of(_extent(buffer.type), at) for buffer, at in placements))
        for buffer, at in placements:
            numbers = [builder.get_int32(value) for value in (at.offset, at.stride, at.group)]
            builder.create_tlx_alias_storage([self.handle, buffer.handle, *numbers])

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))


class group_of_buffers(base_value):
    """What :func:`reuse_group` returns. It has no value at run time."""

    def __init__(self, members: tuple[Any, ...], group_type: reuse_group_type, group_size: int) -> None:
        self.members = members
        self.group_type = group_type
        self.group_size = group_size

    @property
    def type(self) -> group_of_buffers:
        return self

    def __str__(self) -> str:
        return f"reuse_group of {len(self.members)} {self.group_type.value}"

    def _flatten_ir(self, handles: list[Any]) -> None:
        for member in self.members:
            member._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        pass


@op(targets=ALL, values={"storage": ("tlx.storage_kind.tmem", BLACKWELL)})
def storage_alias_spec(
    storage: Any = storage_kind.smem, buffer_size_bytes: Any = None, _semantic: Any = None
) -> alias_spec:
    """Name memory that several buffers share: those allocated with ``reuse=`` of what this returns.

    The buffers all start where the memory does, unless ``spec.set_buffer_overlap(tlx.reuse_group(…))`` says otherwise,
    once, after they were allocated. What is stored to one overwrites what overlaps it in the others; barriers keep them
    apart in time.

    Args:
        storage: ``tlx.storage_kind.smem`` or ``tlx.storage_kind.tmem``, where all of the buffers are.
        buffer_size_bytes: How much memory there is, a constant; as much as the buffers need when None. Each column of
            tensor memory has 4 bytes for each row of the buffers.

    Raises:
        UserError: An argument is of the wrong kind, or the target has no tensor memory.
    """
    name = "storage_alias_spec"
    kind = choice(name, "storage", storage, tuple(storage_kind))
    if kind is storage_kind.tmem:
        tmem.require_target(name, target_of(_semantic))
    size = constant(buffer_size_bytes)
    if size is not None:
        size = integer(name, "buffer_size_bytes", size, least=1)
    builder = _semantic.builder
    return alias_spec(builder.create_tlx_alias_spec([builder.get_int32(size or 0)]), alias_spec_type(kind, size))


@op(targets=ALL)
def reuse_group(
    *args: Any, group_type: Any = reuse_group_type.shared, group_size: Any = 1, _semantic: Any = None
) -> group_of_buffers:
    """Say how buffers of one :func:`storage_alias_spec` lie to each other, for its ``set_buffer_overlap``.

    All buffers of an overlap have as many slots, or as many groups of slots.

    Args:
        *args: Buffers with slots, and groups.
        group_type: ``tlx.reuse_group_type.shared`` for members whose slots of the same number may overlap, or
            ``tlx.reuse_group_type.distinct`` for members that are in use at the same time.
        group_size: How many slots in a row of each member count as one, a constant.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    return make_group("reuse_group", args, group_type, group_size, _require_member)


def _require_member(name: str, argument: str, value: Any, slots: bool) -> None:
    require_buffer(name, argument, value, slots=slots, storage=None)


def _extent(kind: buffered_tensor_type) -> Extent:
    if kind.storage is storage_kind.smem:
        return Extent(kind.num, kind.slot_bytes, max(kind.slot_bytes, alignment_of(kind.layout)))
    columns = tmem.width(kind.shape, kind.element_ty, kind.layout)
    return Extent(kind.num, columns, columns)


def end_of(extent: Extent, at: Placement) -> int:
    """Return where the last slot of a placed buffer ends."""
    return at.offset + (extent.num // at.group - 1) * at.stride + at.group * extent.size


def make_group(
    name: str, members: tuple[Any, ...], group_type: Any, group_size: Any, require: Callable[..., Any]
) -> group_of_buffers:
    """Return a group of checked members."""
    if not members:
        raise refuse(name, "a group is empty", expected="buffers or groups")
    for member in members:
        if not isinstance(member, group_of_buffers):
            require(name, "args", member, slots=True)
    kind = constant(group_type)
    if not isinstance(kind, reuse_group_type):
        expected = "tlx.reuse_group_type.shared or .distinct"
        raise refuse(name, "an argument is no type of groups", "group_type", expected=expected, found=repr(kind))
    return group_of_buffers(tuple(members), kind, integer(name, "group_size", group_size, least=1))


def place(
    group: group_of_buffers,
    error: Callable[..., UserError],
    extent_of: Callable[[Any], Extent],
    same: Callable[[Any, Any], bool],
) -> list[tuple[Any, Placement]]:
    """Return each buffer of a group with its place in the shared memory.

    A place is a multiple of the size of a slot, so that a view from the start of the memory has a slot there, and of
    what the layout of the buffer wants.

    Args:
        group: The outermost group.
        error: Makes the error of a message and its fields.
        extent_of: Returns how much memory a buffer takes.
        same: Whether two are one buffer.

    Raises:
        UserError: The numbers of slots do not fit together, or a buffer is there twice.
    """
    root = _part(group, 1, error, extent_of)
    seen: list[Any] = []
    for buffer, _, _ in root.members:
        if any(same(buffer, other) for other in seen):
            raise error("a buffer is in the group twice", expected="each buffer once", found=buffer)
        seen.append(buffer)
    counts = [extent_of(buffer).num // together for buffer, together, _ in root.members]
    if len(set(counts)) > 1:
        raise error(
            "the buffers have different numbers of slots",
            expected="as many of each, or a group_size that makes up for it",
            found=", ".join(map(str, counts)),
        )
    stride = -(-root.size // root.alignment) * root.alignment
    return [(buffer, Placement(start, stride, together)) for buffer, together, start in root.members]


def _part(group: Any, together: int, error: Callable[..., UserError], extent_of: Callable[[Any], Extent]) -> _Node:
    if not isinstance(group, group_of_buffers):
        extent = extent_of(group)
        if extent.num % together:
            raise error("the slots do not fill groups", expected=f"a multiple of {together} slots", found=extent.num)
        return _Node([(group, together, 0)], extent.size * together, extent.alignment)
    parts = [_part(member, together * group.group_size, error, extent_of) for member in group.members]
    alignment = max(part.alignment for part in parts)
    if group.group_type is reuse_group_type.shared:
        return _Node([member for part in parts for member in part.members], max(part.size for part in parts), alignment)
    members, end = [], 0
    # From the widest alignment down, so that little is lost between them.
    for part in sorted(parts, key=lambda part: -part.alignment):
        start = -(-end // part.alignment) * part.alignment
        members += [(buffer, slots, start + at) for buffer, slots, at in part.members]
        end = start + part.size
    return _Node(members, end, alignment)
