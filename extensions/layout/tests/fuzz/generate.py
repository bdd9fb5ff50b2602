"""Random kernels of plain Triton: elementwise work, reductions, products, reshapes, joins, gathers, scans and more.

Every number is a small integer, kept small by clamps, so that each sum is exact in every order and in every type that a
value passes through. Two compilations of a kernel must then agree to the bit, whatever layouts they choose.
"""

from __future__ import annotations

import importlib.util
import pathlib
import random
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from tritonext.offline import Argument, Specialization

__all__ = ["SLAB", "Program", "generate"]

SLAB = 16384
"""Elements of a region of memory that a load or store of one tile may touch."""

_LOADS = 6
_STORES = 6
_LIMIT = 8
_DIMENSIONS = (16, 32, 64, 128)


@dataclass(frozen=True)
class Program:
    """A kernel ``program(x, narrow, index, out, total, steps)``.

    Args:
        seed: What it was made from.
        source: Text of its module.
        warps: Warps that run it.
        stages: Stages of the software pipeline.
        features: What it has in it, for counts.
    """

    seed: int
    source: str
    warps: int
    stages: int
    features: frozenset[str]

    def load(self, directory: pathlib.Path) -> ModuleType:
        """Write the module to a directory, which Triton reads it from, and import it."""
        path = directory / f"layout_program_{self.seed}.py"
        path.write_text(self.source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def specialization(self, module: ModuleType) -> Specialization:
        """Return what to compile."""
        pointers = {"x": "fp32", "narrow": "fp16", "index": "i32", "out": "fp32", "total": "fp32"}
        signature = {name: Argument(f"*{dtype}", 16) for name, dtype in pointers.items()}
        options = {"num_warps": self.warps, "num_stages": self.stages}
        return Specialization(module.program, signature | {"steps": Argument("i32")}, {}, options)

    def arguments(self) -> dict[str, Any]:
        """Return fresh arguments; ``out`` and ``total`` are written."""
        rng = np.random.default_rng(self.seed)
        return {
            "x": rng.integers(-_LIMIT, _LIMIT + 1, _LOADS * SLAB).astype(np.float32),
            "narrow": rng.integers(-_LIMIT, _LIMIT + 1, _LOADS * SLAB).astype(np.float16),
            "index": rng.integers(0, 128, _LOADS * SLAB).astype(np.int32),
            "out": np.full(_STORES * SLAB, -384, np.float32),
            "total": np.zeros(SLAB, np.float32),
            "steps": 3,
        }


@dataclass(frozen=True)
class _Value:
    name: str
    shape: tuple[int, ...]
    integer: bool = False


class _Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.indent = 1
        self.values: list[_Value] = []
        self.count = 0
        self.stores = 0
        self.features: set[str] = set()

    # --- writing ---

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def make(self, expression: str, shape: tuple[int, ...], integer: bool = False, grows: bool = True) -> _Value:
        """Assign an expression to a new value, clamped where it may have grown."""
        name = self.fresh()
        if grows:
            expression = f"clamp({expression})"
        self.write(f"{name} = {expression}")
        value = _Value(name, shape, integer)
        self.values.append(value)
        return value

    def pick(self, rank: int | None = None, integer: bool | None = None) -> _Value:
        """Return a value, loaded when there is none of the kind."""
        known = [
            value
            for value in self.values
            if (rank is None or len(value.shape) == rank) and (integer is None or value.integer == integer)
        ]
        return self.random.choice(known) if known else self.load(rank or 2, bool(integer))

    def like(self, value: _Value) -> _Value:
        """Return a value of the same shape and type."""
        known = [other for other in self.values if (other.shape, other.integer) == (value.shape, value.integer)]
        if len(known) > 1 or self.random.random() < 0.3:
            return self.random.choice(known or [value])
        return self.load(len(value.shape), value.integer, value.shape)

    # --- operations ---

    def load(self, rank: int = 2, integer: bool = False, shape: tuple[int, ...] | None = None) -> _Value:
        """Load a tile, contiguous along either dimension, of one of three types."""
        if shape is None:
            shape = tuple(self.random.choice(_DIMENSIONS) for _ in range(rank))
        slab = self.random.randrange(_LOADS)
        place = self.place(shape, self.random.random() < 0.7)
        if integer:
            return self.make(f"tl.load(index + {slab * SLAB} + {place})", shape, True, grows=False)
        if self.random.random() < 0.4:
            return self.make(f"tl.load(narrow + {slab * SLAB} + {place}).to(tl.float32)", shape, grows=False)
        return self.make(f"tl.load(x + {slab * SLAB} + {place})", shape, grows=False)

    def place(self, shape: tuple[int, ...], by_row: bool) -> str:
        if len(shape) == 1:
            return f"tl.arange(0, {shape[0]})"
        row, column = f"tl.arange(0, {shape[0]})[:, None]", f"tl.arange(0, {shape[1]})[None, :]"
        return f"{row} * {shape[1]} + {column}" if by_row else f"{row} + {column} * {shape[0]}"

    def elementwise(self) -> None:
        value = self.pick()
        kind = self.random.randrange(6)
        if kind == 0:
            self.make(f"{value.name} {self.random.choice('+-*')} {self.like(value).name}", value.shape, value.integer)
        elif kind == 1:
            other, third = self.like(value), self.like(value)
            chosen = f"tl.where({value.name} > {other.name}, {value.name}, {third.name})"
            self.make(chosen, value.shape, value.integer, False)
        elif kind == 2:
            self.make(f"tl.abs({value.name}) * {self.random.randint(1, 3)} - 4", value.shape, value.integer)
        elif kind == 3:
            function = self.random.choice(["minimum", "maximum"])
            self.make(f"tl.{function}({value.name}, {self.like(value).name})", value.shape, value.integer, False)
        elif kind == 4:
            narrow = self.random.choice(["tl.int32", "tl.int8"] if value.integer else ["tl.float16", "tl.bfloat16"])
            wide = "tl.int32" if value.integer else "tl.float32"
            self.make(f"{value.name}.to({narrow}).to({wide})", value.shape, value.integer, False)
        else:
            wide = "tl.float32" if value.integer else "tl.int32"
            self.make(f"{value.name}.to({wide})", value.shape, not value.integer, value.integer)

    def broadcast(self) -> None:
        value = self.pick(2)
        axis = self.random.randrange(2)
        known = [
            other for other in self.values if other.shape == (value.shape[axis],) and other.integer == value.integer
        ]
        vector = self.random.choice(known) if known else self.load(1, value.integer, (value.shape[axis],))
        index = "[:, None]" if axis == 0 else "[None, :]"
        self.make(f"{value.name} {self.random.choice('+*')} {vector.name}{index}", value.shape, value.integer)

    def reduce(self) -> None:
        value = self.pick(2)
        axis = self.random.randrange(2)
        function = self.random.choice(["sum", "max", "min"])
        shape = (value.shape[1 - axis],)
        self.features.add("reduce")
        self.make(f"tl.{function}({value.name}, {axis})", shape, value.integer)

    def scan(self) -> None:
        value = self.pick()
        axis = self.random.randrange(len(value.shape))
        reverse = self.random.random() < 0.3
        self.features.add("scan")
        self.make(f"tl.cumsum({value.name}, {axis}, reverse={reverse})", value.shape, value.integer)

    def transpose(self) -> None:
        value = self.pick(2)
        self.features.add("trans")
        self.make(f"{value.name}.T", value.shape[::-1], value.integer, False)

    def reshape(self) -> None:
        value = self.pick(2)
        rows, columns = value.shape
        if self.random.random() < 0.5 and columns >= 32:
            shape = (rows * 2, columns // 2)
        elif rows >= 32:
            shape = (rows // 2, columns * 2)
        else:
            shape = (rows * columns,)
        if max(shape) > 4096:
            return
        self.features.add("reshape")
        self.make(f"{value.name}.reshape({', '.join(map(str, shape))})", shape, value.integer, False)

    def join(self) -> None:
        value = self.pick(2)
        rows, columns = value.shape
        self.features.add("join")
        if self.random.random() < 0.5 and rows * columns <= SLAB // 4:
            joined = f"tl.join({value.name}, {self.like(value).name})"
            if self.random.random() < 0.5:
                self.make(f"{joined}.reshape({rows}, {2 * columns})", (rows, 2 * columns), value.integer, False)
            else:
                turned = f"{joined}.permute(2, 0, 1).reshape({2 * rows}, {columns})"
                self.make(turned, (2 * rows, columns), value.integer, False)
        elif columns >= 32:
            first, second = self.fresh(), self.fresh()
            self.write(f"{first}, {second} = tl.split({value.name}.reshape({rows}, {columns // 2}, 2))")
            self.values += [_Value(name, (rows, columns // 2), value.integer) for name in (first, second)]

    def dot(self) -> None:
        value = self.pick(2, False)
        rows, depth = value.shape
        if depth > 128 or rows > 128:
            return
        known = [other for other in self.values if len(other.shape) == 2 and not other.integer]
        known = [other for other in known if other.shape[0] == depth and other.shape[1] <= 128]
        right = (
            self.random.choice(known) if known else self.load(2, False, (depth, self.random.choice(_DIMENSIONS[:3])))
        )
        shape = (rows, right.shape[1])
        narrow = self.random.choice(["tl.float16", "tl.bfloat16"])
        product = f"tl.dot({value.name}.to({narrow}), {right.name}.to({narrow}))"
        if self.random.random() < 0.4:
            acc = [other for other in self.values if other.shape == shape and not other.integer]
            if acc:
                product = product[:-1] + f", {self.random.choice(acc).name})"
        self.features.add("dot")
        self.make(product, shape)

    def gather(self) -> None:
        value = self.pick(2)
        if value.shape[0] * value.shape[1] > 4096:
            return
        axis = self.random.randrange(2)
        index = self.load(2, True, value.shape)
        self.features.add("gather")
        wide = ".to(tl.int64)" if self.random.random() < 0.3 else ""
        size = value.shape[axis]
        self.make(f"tl.gather({value.name}, ({index.name} % {size}){wide}, {axis})", value.shape, value.integer, False)

    def atomic(self) -> None:
        value = self.pick(None, False)
        self.features.add("atomic")
        self.write(f"tl.atomic_add(total + {self.place(value.shape, self.random.random() < 0.7)}, {value.name})")

    def store(self, value: _Value | None = None) -> None:
        if self.stores == _STORES:
            return
        value = value or self.pick()
        place = self.place(value.shape, self.random.random() < 0.7)
        mask = ""
        if self.random.random() < 0.3:
            mask = f", mask=({place}) < {self.random.randrange(value.shape[0], int(np.prod(value.shape)) + 1)}"
        self.write(f"tl.store(out + {self.stores * SLAB} + {place}, {value.name}.to(tl.float32){mask})")
        self.stores += 1

    # --- regions ---

    def loop(self) -> None:
        """A loop that carries one to three values."""
        carried = self.random.sample(self.values, min(len(self.values), self.random.randint(1, 3)))
        self.features.add("loop")
        bound = self.random.choice(["steps", "3"])
        names = [self.fresh() for _ in carried]
        for name, value in zip(names, carried):
            self.write(f"{name} = {value.name}")
        own = [_Value(name, value.shape, value.integer) for name, value in zip(names, carried)]
        before = list(self.values)
        self.values = [*before, *own]
        self.write(f"for step in range({bound}):")
        self.indent += 1
        self.some(self.random.randint(2, 5), nested=True)
        for value in own:
            self.write(f"{value.name} = clamp({value.name} + {self.like(value).name})")
        self.indent -= 1
        self.values = [*before, *own]

    def branch(self) -> None:
        """A value that one or the other branch changes."""
        value = self.pick()
        self.features.add("if")
        result = self.fresh()
        before = list(self.values)
        self.write(f"if steps > {self.random.randint(1, 4)}:")
        for number in range(2):
            self.indent += 1
            self.some(self.random.randint(1, 3), nested=True)
            self.write(f"{result} = {self.like(value).name}")
            self.indent -= 1
            self.values = list(before)
            if number == 0:
                self.write("else:")
        self.values.append(_Value(result, value.shape, value.integer))

    def some(self, count: int, nested: bool = False) -> None:
        plain = [
            (self.elementwise, 5),
            (self.broadcast, 3),
            (self.reduce, 3),
            (self.transpose, 2),
            (self.reshape, 2),
            (self.join, 2),
            (self.dot, 3),
            (self.scan, 1),
            (self.gather, 1),
            (self.load, 1),
        ]
        regions = [] if nested else [(self.loop, 2), (self.branch, 1), (self.atomic, 1), (self.store, 2)]
        for _ in range(count):
            actions, weights = zip(*plain, *regions)
            self.random.choices(actions, weights)[0]()

    def program(self) -> str:
        for _ in range(self.random.randint(2, 3)):
            self.load()
        self.some(self.random.randint(6, 12))
        # What comes last would be dead otherwise.
        for value in self.values[-2:]:
            self.store(value)
        if not self.stores:
            self.store()
        return "\n".join(self.lines)


_HEADER = '''"""A random kernel."""

import triton
import triton.language as tl


@triton.jit
def clamp(value):
    return tl.minimum(tl.maximum(value, -8), 8)


@triton.jit
def program(x, narrow, index, out, total, steps):
'''


def generate(seed: int) -> Program:
    """Return the kernel of a seed."""
    generator = _Generator(seed)
    body = generator.program()
    warps = generator.random.choice([1, 2, 4, 4, 8])
    stages = generator.random.choice([1, 2, 3])
    return Program(seed, _HEADER + body + "\n", warps, stages, frozenset(generator.features))
