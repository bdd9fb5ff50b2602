"""Random small TLX programs, each with the NumPy program that computes the same; some have one mistake.

A program starts with a tile in registers and takes it through a few segments. Each segment appends lines to the kernel,
and lines to the reference that do the same to an array. Values are small integers, so that sums are exact in fp16.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["SLABS", "Program", "generate"]

SLABS = 4
"""Tiles in the input."""

_TYPES = {"float16": "fp16", "float32": "fp32", "int32": "i32"}
_HEADER = """\
import numpy as np
import triton
import triton.language as tl

import tritonext_tlx as tlx


@triton.jit
def program(x, d, out, n):
"""


@dataclass
class Program:
    """A program.

    Attributes:
        seed: What it was made from.
        dtype: NumPy's name of the type of its elements.
        rows: Rows of a tile of the input.
        columns: Columns of a tile.
        shape: Shape of the result.
        mistake: The mistake in it; empty when there is none.
        kernel: Lines of the kernel.
        reference: Lines of the reference.
    """

    seed: int
    dtype: str
    rows: int
    columns: int
    shape: tuple[int, int] = (0, 0)
    mistake: str = ""
    kernel: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)

    @property
    def signature(self) -> str:
        """Types of the arguments of the kernel."""
        kind = _TYPES[self.dtype]
        return f"x=*{kind}:16, d=tensordesc<{kind}[{self.rows}, {self.columns}]>, out=*{kind}:16, n=i32"

    @property
    def source(self) -> str:
        """Text of a module with the kernel ``program`` and the function ``reference``."""
        kernel = "".join(f"    {line}\n" for line in self.kernel)
        reference = "".join(f"    {line}\n" for line in self.reference)
        return f"{_HEADER}{kernel}\n\ndef reference(x, n):\n{reference}    return v\n"


class _Author:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        dtype = self.random.choice(list(_TYPES))
        rows, columns = self.random.choice((16, 32, 64, 128)), self.random.choice((16, 32, 64))
        self.program = Program(seed, dtype, rows, columns)
        self.shape = (rows, columns)
        self.names = 0
        self.budget = 0
        self.planned = self.random.choice(_MISTAKES) if self.random.random() < 0.6 else ""

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def write(self, *lines: str) -> None:
        self.program.kernel.extend(lines)

    def refer(self, *lines: str) -> None:
        self.program.reference.extend(lines)

    def mistaken(self, kind: str) -> bool:
        """Whether to make a mistake here; each program has at most one."""
        if self.planned != kind or self.program.mistake:
            return False
        self.program.mistake = kind
        return True

    @property
    def type(self) -> str:
        return f"tl.{self.program.dtype}"

    @property
    def original(self) -> bool:
        """Whether the tile has the shape of those of the input."""
        return self.shape == (self.program.rows, self.program.columns)

    def buffer(self, slots: int, shape: tuple[int, int] | None = None) -> str:
        """Allocate a buffer for the tile, or for another shape."""
        rows, columns = shape or self.shape
        held = self.name("b")
        if self.mistaken("no power of two"):
            rows += 16
        count = slots
        if self.mistaken("too much memory"):
            count = 4096
        self.write(f"{held} = tlx.local_alloc(({rows}, {columns}), {self.type}, {count})")
        return held

    def stored(self) -> str:
        """Store the tile to a slot, and return the slot."""
        slots = self.random.randint(1, 3)
        held = self.buffer(slots)
        slot = f"{held}[{self.random.randrange(slots)}]"
        if self.mistaken("slot out of range"):
            slot = f"{held}[{slots + 5000}]"
        value = "v"
        if self.mistaken("another type"):
            value = "v.to(tl.int8)"
        if self.mistaken("another shape"):
            value = "tl.reshape(v, (v.shape[0] * v.shape[1],))"
        self.write(f"tlx.local_store({slot}, {value})")
        return slot

    def program_of(self, segments: int) -> Program:
        rows, columns = self.shape
        self.write(
            f"at = tl.arange(0, {rows})[:, None] * {columns} + tl.arange(0, {columns})[None, :]", "v = tl.load(x + at)"
        )
        self.refer("v = x[0]")
        for _ in range(segments):
            self.random.choice(_SEGMENTS)(self)
        rows, columns = self.program.shape = self.shape
        self.write(
            f"to = tl.arange(0, {rows})[:, None] * {columns} + tl.arange(0, {columns})[None, :]",
            f"tl.store(out + to, v.to({self.type}))",
        )
        return self.program


def _round_trip(author: _Author) -> None:
    author.write(f"v = tlx.local_load({author.stored()})")


def _transpose(author: _Author) -> None:
    author.write(f"v = tlx.local_load(tlx.local_trans({author.stored()}))")
    author.refer("v = v.T")
    author.shape = author.shape[::-1]


def _half(author: _Author) -> None:
    rows, columns = author.shape
    if rows < 32:
        return
    start = author.random.choice((0, rows // 2))
    offset = rows if author.mistaken("slice out of range") else start
    offsets = f"[{offset}]" if author.mistaken("too few offsets") else f"[{offset}, 0]"
    author.write(f"v = tlx.local_load(tlx.local_slice({author.stored()}, {offsets}, [{rows // 2}, {columns}]))")
    author.refer(f"v = v[{start}:{start + rows // 2}]")
    author.shape = (rows // 2, columns)


def _gather(author: _Author) -> None:
    rows, columns = author.shape
    author.write(
        f"at_end = tl.broadcast_to({columns - 1} - tl.arange(0, {columns})[None, :], ({rows}, {columns}))",
        f"v = tlx.local_gather({author.stored()}, at_end, 1)",
    )
    author.refer("v = v[:, ::-1]")


def _arithmetic(author: _Author) -> None:
    kernel, reference = author.random.choice(
        (
            ("v + 1", "v + 1"),
            ("tl.maximum(v, 0)", "np.maximum(v, 0)"),
            ("-v", "-v"),
            ("tl.where(v > 1, v, -v)", "np.where(v > 1, v, -v)"),
            ("v - tl.max(v, 1)[:, None]", "v - v.max(1, keepdims=True)"),
        )
    )
    # A maximum of fp16 is fp32.
    author.write(f"v = ({kernel}).to({author.type})")
    author.refer(f"v = {reference}")


def _marks(author: _Author) -> None:
    """Write ops that change no value."""
    author.write(
        author.random.choice(
            (
                "tlx.fence_async_shared()",
                'tlx.fence("gpu")',
                "start = tlx.clock64()",
                "tlx.prefetch(x + at)",
                f"tlx.named_barrier_wait(14, {96 if author.mistaken('threads of a named barrier') else 128})",
            )
        )
    )


def _async_load(author: _Author) -> None:
    if not author.original:
        return
    rows, columns = author.shape
    slab = author.random.randrange(SLABS)
    held = author.buffer(1)
    author.write(f"tlx.async_load(x + {slab * rows * columns} + at, {held}[0])", "tlx.async_load_commit_group()")
    if not author.mistaken("a copy is not waited for"):
        author.write("tlx.async_load_wait_group(0)")
    author.write(f"v = v + tlx.local_load({held}[0])")
    author.refer(f"v = v + x[{slab}]")


def _ring(author: _Author) -> None:
    """Add up all tiles of the input, with copies ahead of the sum."""
    if not author.original:
        return
    size = author.shape[0] * author.shape[1]
    stages = author.random.randint(2, 3)
    held = author.buffer(stages)
    author.write(
        f"for i in tl.static_range({stages - 1}):",
        f"    tlx.async_load(x + i * {size} + at, {held}[i])",
        "    tlx.async_load_commit_group()",
        "for i in range(n):",
        f"    tlx.async_load_wait_group({stages - 1 if author.mistaken('a group too few') else stages - 2})",
        f"    v += tlx.local_load({held}[i % {stages}])",
        f"    ahead = i + {stages - 1}",
        f"    tlx.async_load(x + ahead * {size} + at, {held}[ahead % {stages}], mask=(at >= 0) & (ahead < n))",
        "    tlx.async_load_commit_group()",
    )
    author.refer("v = v + x[:n].sum(0)")


def _tile_load(author: _Author) -> None:
    if not author.original:
        return
    rows, columns = author.shape
    slab = author.random.randrange(SLABS)
    held, full = author.buffer(1), author.name("full")
    size = rows * columns * (2 if author.program.dtype == "float16" else 4)
    expected = size // 2 if author.mistaken("too few bytes") else size
    author.write(
        f"{full} = tlx.alloc_barriers(1)",
        f"tlx.barrier_expect_bytes({full}[0], {expected})",
        f"tlx.async_descriptor_load(d, {held}[0], [{slab * rows}, 0], {full}[0])",
    )
    if not author.mistaken("a barrier is not waited for"):
        author.write(f"tlx.barrier_wait({full}[0], {1 if author.mistaken('another phase') else 0})")
    author.write(f"v = v + tlx.local_load({held}[0])")
    author.refer(f"v = v + x[{slab}]")


def _product(author: _Author) -> None:
    rows, _ = author.shape
    if author.program.dtype != "float16" or rows % 64 or author.budget:
        return
    author.budget = 1
    slot = author.stored()
    if not author.mistaken("no fence"):
        author.write("tlx.fence_async_shared()")
    author.write(f"acc = tlx.async_dot({slot}, tlx.local_trans({slot}))")
    if not author.mistaken("a product is not waited for"):
        author.write("acc = tlx.async_dot_wait(0, acc)")
    author.write("v = (acc * 0.015625).to(tl.float16)")
    author.refer("v = (v @ v.T) * 0.015625")
    author.shape = (rows, rows)


def _tasks(author: _Author) -> None:
    """Let one task copy tiles and another add them up into a buffer."""
    if not author.original or author.budget > 1:
        return
    author.budget = 2
    rows, columns = author.shape
    slots = author.random.randint(1, 3)
    size = rows * columns * (2 if author.program.dtype == "float16" else 4)
    held, total = author.buffer(slots), author.buffer(1)
    initial = "v" if author.mistaken("a captured tensor") else f"tl.zeros(({rows}, {columns}), {author.type})"
    phase = "phase" if author.mistaken("a phase of the first round") else "phase ^ 1"
    arrival = "pass" if author.mistaken("nobody arrives") else "tlx.barrier_arrive(empty[slot])"
    registers = 100 if author.mistaken("registers in steps of 8") else 160
    author.write(
        f"full = tlx.alloc_barriers({slots})",
        f"empty = tlx.alloc_barriers({slots})",
        "with tlx.async_tasks():",
        '    with tlx.async_task("default"):',
        "        for i in range(n):",
        f"            slot, phase = tlx.get_bufidx_phase(i, {slots})",
        f"            tlx.barrier_wait(empty[slot], {phase})",
        f"            tlx.barrier_expect_bytes(full[slot], {size})",
        f"            tlx.async_descriptor_load(d, {held}[slot], [i * {rows}, 0], full[slot])",
        f"    with tlx.async_task(num_warps=4, num_regs={registers}):",
        f"        total = {initial}",
        "        for i in range(n):",
        f"            slot, phase = tlx.get_bufidx_phase(i, {slots})",
        "            tlx.barrier_wait(full[slot], phase)",
        f"            total += tlx.local_load({held}[slot])",
        f"            {arrival}",
        f"        tlx.local_store({total}[0], total)",
        f"v = v + tlx.local_load({total}[0])",
    )
    author.refer("v = v + x[:n].sum(0)")


_SEGMENTS: tuple[Callable[[_Author], None], ...] = (
    _round_trip,
    _transpose,
    _half,
    _gather,
    _arithmetic,
    _arithmetic,
    _marks,
    _async_load,
    _ring,
    _tile_load,
    _product,
    _tasks,
)
_MISTAKES = (
    "no power of two",
    "too much memory",
    "slot out of range",
    "another type",
    "another shape",
    "slice out of range",
    "too few offsets",
    "threads of a named barrier",
    "a copy is not waited for",
    "a group too few",
    "too few bytes",
    "a barrier is not waited for",
    "another phase",
    "no fence",
    "a product is not waited for",
    "a captured tensor",
    "a phase of the first round",
    "nobody arrives",
    "registers in steps of 8",
)


def generate(seed: int) -> Program:
    """Return the program of a seed."""
    author = _Author(seed)
    return author.program_of(author.random.randint(1, 6))
