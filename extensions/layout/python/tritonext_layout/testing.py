"""Micro-kernels of one layout conversion each, for tests and benchmarks.

A :class:`Conversion` is a tensor type and two layouts. Its text is TTGIR that loads a tile in the first layout,
converts it once or in a loop of dependent conversions, and stores it in the second.
"""

from __future__ import annotations

import dataclasses
import pathlib
from dataclasses import dataclass

import triton
from triton.compiler import CompiledKernel

from tritonext.offline import parse_target

__all__ = ["AMD_CONVERSIONS", "CONVERSIONS", "ELEMENTS", "Conversion"]

ELEMENTS = {"f32": 32, "f16": 16, "i8": 8}
"""Element types of the conversions, with their size in bits."""


@dataclass(frozen=True)
class Conversion:
    """One conversion of a tile from a layout to another.

    Args:
        name: What the layouts are, without the element type.
        shape: Shape of the tile; two dimensions.
        source: Layout of the operand, as TTGIR writes it.
        target: Layout of the result.
        element: Element type of :data:`ELEMENTS`.
        warps: Warps of the program.
    """

    name: str
    shape: tuple[int, int]
    source: str
    target: str
    element: str = "f32"
    warps: int = 4

    def __str__(self) -> str:
        return f"{self.name}-{self.element}"

    def of(self, element: str) -> Conversion:
        """Return the same conversion of another element type."""
        return dataclasses.replace(self, element=element)

    def module(self, target: str, *, forced: bool = False, repeated: bool = False) -> str:
        """Return the TTGIR of a kernel ``convert(x, y, n)``.

        It converts a row-major tile from ``x`` to ``y``, which is what it was: a conversion moves elements between
        threads, not in the tile. When ``repeated``, what the first conversion gives is taken for a tile in the first
        layout again, without a move, ``n`` times; the result is then some permutation of the tile.

        Args:
            target: Such as ``cuda:90``.
            forced: Whether the conversion must use warp shuffles.
            repeated: Whether there is a loop.
        """
        rows, columns = self.shape
        tile = f"{rows}x{columns}x"
        lanes = 64 if target.startswith("hip:") else 32
        attributes = " {force_warp_shuffle}" if forced else ""
        source, result = (f"tensor<{tile}{self.element}, #{layout}>" for layout in ("source", "target"))
        convert = f"ttg.convert_layout %{'carried' if repeated else 'start'}{attributes} : {source} -> {result}"
        if repeated:
            body = [
                f"%end = scf.for %i = %zero to %n step %one iter_args(%carried = %start) -> ({source}) : i32 {{",
                f"  %moved = {convert}",
                f"  %again = builtin.unrealized_conversion_cast %moved : {result} to {source}",
                f"  scf.yield %again : {source}",
                "}",
                f"%value = builtin.unrealized_conversion_cast %end : {source} to {result}",
            ]
        else:
            body = [f"%value = {convert}"]
        lines = [
            f"#source = {self.source}",
            f"#target = {self.target}",
            (
                f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {self.warps} : i32, '
                f'ttg.target = "{target}", "ttg.threads-per-warp" = {lanes} : i32}} {{'
            ),
            (
                f"tt.func public @convert(%x: !tt.ptr<{self.element}> {{tt.divisibility = 16 : i32}}, "
                f"%y: !tt.ptr<{self.element}> {{tt.divisibility = 16 : i32}}, %n: i32) {{"
            ),
            "%zero = arith.constant 0 : i32",
            "%one = arith.constant 1 : i32",
            *self._pointers("x", "source"),
            f"%start = tt.load %x_at : tensor<{tile}!tt.ptr<{self.element}>, #source>",
            *body,
            *self._pointers("y", "target"),
            f"tt.store %y_at, %value : tensor<{tile}!tt.ptr<{self.element}>, #target>",
            "tt.return",
            "}",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _pointers(self, base: str, layout: str) -> list[str]:
        rows, columns = self.shape
        at = f"%{base}"
        row = f"tensor<{rows}xi32, #ttg.slice<{{dim = 1, parent = #{layout}}}>>"
        column = f"tensor<{columns}xi32, #ttg.slice<{{dim = 0, parent = #{layout}}}>>"
        tall, wide = f"tensor<{rows}x1xi32, #{layout}>", f"tensor<1x{columns}xi32, #{layout}>"
        index = f"tensor<{rows}x{columns}xi32, #{layout}>"
        pointers = f"tensor<{rows}x{columns}x!tt.ptr<{self.element}>, #{layout}>"
        return [
            f"{at}_r = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : {row}",
            f"{at}_c = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : {column}",
            f"{at}_r1 = tt.expand_dims {at}_r {{axis = 1 : i32}} : {row} -> {tall}",
            f"{at}_c1 = tt.expand_dims {at}_c {{axis = 0 : i32}} : {column} -> {wide}",
            f"{at}_w = arith.constant dense<{columns}> : {tall}",
            f"{at}_r2 = arith.muli {at}_r1, {at}_w : {tall}",
            f"{at}_r3 = tt.broadcast {at}_r2 : {tall} -> {index}",
            f"{at}_c3 = tt.broadcast {at}_c1 : {wide} -> {index}",
            f"{at}_o = arith.addi {at}_r3, {at}_c3 : {index}",
            f"{at}_p = tt.splat {at} : !tt.ptr<{self.element}> -> {pointers}",
            f"{at}_at = tt.addptr {at}_p, {at}_o : {pointers}, {index}",
        ]

    def compile(
        self, directory: pathlib.Path, target: str, *, forced: bool = False, repeated: bool = False
    ) -> CompiledKernel:
        """Compile the kernel of :meth:`module` from a file in ``directory``."""
        path = directory / f"{self}{'-forced' if forced else ''}{'-repeated' if repeated else ''}.ttgir"
        path.write_text(self.module(target, forced=forced, repeated=repeated))
        return triton.compile(str(path), target=parse_target(target))


def _linear(register: list, lane: list, warp: list) -> str:
    return f"#ttg.linear<{{register = {register}, lane = {lane}, warp = {warp}, block = []}}>"


def _blocked(size: list[int], threads: list[int], warps: list[int], order: tuple[int, int] = (1, 0)) -> str:
    return (
        f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {threads}, warpsPerCTA = {warps}, "
        f"order = {list(order)}}}>"
    )


def _mma(version: int, warps: list[int], instruction: list[int]) -> str:
    return (
        f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {warps}, "
        f"instrShape = {instruction}}}>"
    )


_BASES = (
    # The accumulator of wgmma, to rows, and the way back; the first is stock's epilogue.
    Conversion("mma-rows", (64, 128), _mma(3, [4, 1], [16, 128, 16]), _blocked([1, 8], [2, 16], [4, 1])),
    Conversion("rows-mma", (64, 128), _blocked([1, 8], [2, 16], [4, 1]), _mma(3, [4, 1], [16, 128, 16])),
    Conversion("mma-rows-w8", (128, 128), _mma(3, [8, 1], [16, 128, 16]), _blocked([1, 8], [2, 16], [8, 1]), warps=8),
    # The same rows, but each warp keeps its own sixteen.
    Conversion(
        "mma-local",
        (64, 128),
        _mma(3, [4, 1], [16, 128, 16]),
        _linear(
            [[0, 1], [0, 2], [0, 4], [2, 0], [4, 0], [8, 0]],
            [[0, 8], [0, 16], [0, 32], [0, 64], [1, 0]],
            [[16, 0], [32, 0]],
        ),
    ),
    Conversion(
        "mma-local-w8",
        (128, 128),
        _mma(3, [8, 1], [16, 128, 16]),
        _linear(
            [[0, 1], [0, 2], [0, 4], [2, 0], [4, 0], [8, 0]],
            [[0, 8], [0, 16], [0, 32], [0, 64], [1, 0]],
            [[16, 0], [32, 0], [64, 0]],
        ),
        warps=8,
    ),
    Conversion(
        "mma2-local",
        (64, 64),
        _mma(2, [4, 1], [16, 8]),
        _linear(
            [[0, 1], [0, 2], [0, 4], [4, 0], [8, 0]], [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], [[16, 0], [32, 0]]
        ),
    ),
    Conversion("mma2-rows", (64, 64), _mma(2, [2, 2], [16, 8]), _blocked([1, 8], [4, 8], [4, 1])),
    # Exchanges of one, two and three bits between register and lane.
    Conversion("swap-2", (64, 64), _blocked([1, 2], [8, 4], [4, 1]), _blocked([2, 1], [4, 8], [4, 1])),
    Conversion("swap-4", (64, 64), _blocked([1, 4], [8, 4], [4, 1]), _blocked([4, 1], [2, 16], [4, 1])),
    Conversion("swap-8", (64, 64), _blocked([1, 8], [8, 4], [4, 1]), _blocked([8, 1], [1, 32], [4, 1])),
    Conversion("swap-16", (64, 32), _blocked([1, 16], [16, 2], [4, 1]), _blocked([16, 1], [1, 32], [4, 1])),
    # As few elements as a thread can exchange.
    Conversion("swap-4-small", (32, 16), _blocked([1, 4], [8, 4], [4, 1]), _blocked([4, 1], [2, 16], [4, 1])),
    # Lanes only, and with an exchange of one and of two bits.
    Conversion(
        "lanes",
        (64, 64),
        _blocked([1, 4], [8, 4], [4, 1]),
        _linear(
            [[0, 1], [0, 2], [0, 16], [0, 32], [32, 0]], [[1, 0], [2, 0], [4, 0], [0, 4], [0, 8]], [[8, 0], [16, 0]]
        ),
    ),
    Conversion(
        "lanes-swap-2",
        (64, 64),
        _blocked([1, 4], [8, 4], [4, 1]),
        _linear(
            [[0, 1], [1, 0], [0, 16], [0, 32], [32, 0]], [[0, 2], [2, 0], [4, 0], [0, 4], [0, 8]], [[8, 0], [16, 0]]
        ),
    ),
    Conversion(
        "lanes-swap-4",
        (64, 64),
        _blocked([1, 4], [8, 4], [4, 1]),
        _linear(
            [[1, 0], [2, 0], [0, 16], [0, 32], [32, 0]], [[0, 8], [4, 0], [0, 1], [0, 2], [0, 4]], [[8, 0], [16, 0]]
        ),
    ),
    # Registers only.
    Conversion(
        "registers",
        (64, 64),
        _blocked([1, 4], [8, 4], [4, 1]),
        _linear(
            [[32, 0], [0, 32], [0, 16], [0, 2], [0, 1]], [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], [[8, 0], [16, 0]]
        ),
    ),
    # Between warps alone.
    Conversion("warps", (64, 64), _blocked([1, 4], [16, 2], [4, 1]), _blocked([1, 4], [16, 2], [1, 4])),
    # Rows to columns, over all warps.
    Conversion(
        "transpose",
        (64, 64),
        _blocked([1, 4], [2, 16], [4, 1]),
        _blocked([4, 1], [16, 2], [1, 4], (0, 1)),
    ),
    Conversion(
        "transpose-wide",
        (32, 256),
        _blocked([1, 8], [1, 32], [4, 1]),
        _blocked([8, 1], [4, 8], [1, 4], (0, 1)),
    ),
    Conversion(
        "transpose-w8",
        (64, 128),
        _blocked([1, 8], [2, 16], [8, 1]),
        _blocked([8, 1], [8, 4], [1, 8], (0, 1)),
        warps=8,
    ),
)

CONVERSIONS = tuple(base.of(element) for base in _BASES for element in ELEMENTS)
"""The conversions that tests and benchmarks share."""

_MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [32, 32, 8], isTransposed = true}>"

AMD_CONVERSIONS = (
    Conversion("mfma-rows", (128, 64), _MFMA, _blocked([1, 8], [8, 8], [4, 1]), "f16"),
    Conversion("swap-4", (64, 64), _blocked([1, 4], [16, 4], [4, 1]), _blocked([4, 1], [4, 16], [4, 1])),
    Conversion("transpose", (64, 64), _blocked([1, 4], [4, 16], [4, 1]), _blocked([4, 1], [16, 4], [1, 4], (0, 1))),
)
"""Conversions of warps of 64 lanes."""
