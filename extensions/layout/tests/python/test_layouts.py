"""Properties of the chosen layouts, over random tiles, element types, warp counts and source layouts."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from dataclasses import dataclass

import pytest

from tritonext.testing import run_python

BITS = {"i1": 8, "i8": 8, "f8E4M3FN": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
LANES = 32
Bases = dict[str, list[list[int]]]


@dataclass(frozen=True)
class Case:
    """A store of a tile whose elements lie in `source`, by way of a blocked layout."""

    name: str
    shape: tuple[int, int]
    element: str
    order: tuple[int, int]
    source: str
    bases: Bases
    blocked: str

    def text(self) -> str:
        rows, columns = self.shape
        layout = f"#blocked_{self.name}"
        row_slice, column_slice = (f"#ttg.slice<{{dim = {dim}, parent = {layout}}}>" for dim in (1, 0))
        tile, pointers = f"{rows}x{columns}x{self.element}", f"{rows}x{columns}x!tt.ptr<{self.element}>"
        index = f"tensor<{rows}x{columns}xi32, {layout}>"
        far, near = (("r", f"{rows}x1"), ("c", f"1x{columns}"))[:: 1 if self.order == (1, 0) else -1]
        arguments = (
            f"%base: !tt.ptr<{self.element}> {{tt.divisibility = 16 : i32}}, "
            f"%stride: i32 {{tt.divisibility = 16 : i32}}, %x: tensor<{tile}, #source_{self.name}>"
        )
        lines = (
            f"tt.func public @{self.name}({arguments}) {{",
            f"%r0 = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, {row_slice}>",
            f"%c0 = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, {column_slice}>",
            (
                f"%r = tt.expand_dims %r0 {{axis = 1 : i32}} : "
                f"tensor<{rows}xi32, {row_slice}> -> tensor<{rows}x1xi32, {layout}>"
            ),
            (
                f"%c = tt.expand_dims %c0 {{axis = 0 : i32}} : "
                f"tensor<{columns}xi32, {column_slice}> -> tensor<1x{columns}xi32, {layout}>"
            ),
            f"%s = tt.splat %stride : i32 -> tensor<{far[1]}xi32, {layout}>",
            f"%far = arith.muli %{far[0]}, %s : tensor<{far[1]}xi32, {layout}>",
            f"%wide = tt.broadcast %far : tensor<{far[1]}xi32, {layout}> -> {index}",
            f"%near = tt.broadcast %{near[0]} : tensor<{near[1]}xi32, {layout}> -> {index}",
            f"%offset = arith.addi %wide, %near : {index}",
            f"%start = tt.splat %base : !tt.ptr<{self.element}> -> tensor<{pointers}, {layout}>",
            f"%at = tt.addptr %start, %offset : tensor<{pointers}, {layout}>, {index}",
            f"%y = ttg.convert_layout %x : tensor<{tile}, #source_{self.name}> -> tensor<{tile}, {layout}>",
            f"tt.store %at, %y : tensor<{pointers}, {layout}>",
            "tt.return",
            "}",
        )
        return "\n".join(lines) + "\n"


def unit_bases(shape: tuple[int, int]) -> list[list[int]]:
    return [
        [1 << bit if dim == at else 0 for dim in range(2)]
        for at, size in enumerate(shape)
        for bit in range(size.bit_length() - 1)
    ]


def linear_source(generator: random.Random, shape: tuple[int, int], warps: int) -> tuple[str, Bases] | None:
    """Any distribution of a tile over registers, lanes and warps."""
    units = unit_bases(shape)
    generator.shuffle(units)
    warp_bits, lane_bits = warps.bit_length() - 1, LANES.bit_length() - 1
    if len(units) < warp_bits + lane_bits:
        return None
    bases = {
        "warp": units[:warp_bits],
        "lane": units[warp_bits : warp_bits + lane_bits],
        "register": units[warp_bits + lane_bits :],
        "block": [],
    }
    return print_layout(bases), bases


def hopper_source(generator: random.Random, shape: tuple[int, int], warps: int) -> tuple[str, Bases] | None:
    """The accumulator of wgmma: PTX ISA, "Register fragments for wgmma.mma_async.m64nNk16", D."""
    rows, columns = shape
    if warps < 4 or rows < 16 * warps or columns < 8:
        return None
    text = (
        "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, "
        f"warpsPerCTA = [{warps}, 1], instrShape = [16, {columns}, 16]}}>"
    )
    column_bits = [[0, 1 << bit] for bit in range(3, columns.bit_length() - 1)]
    row_bits = [[1 << bit, 0] for bit in range(4, rows.bit_length() - 1)]
    warp_bits = warps.bit_length() - 1
    bases = {
        "register": [[0, 1], [8, 0], *column_bits, *row_bits[warp_bits:]],
        "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
        "warp": row_bits[:warp_bits],
        "block": [],
    }
    return text, bases


def print_layout(bases: Bases) -> str:
    return (
        "#ttg.linear<{" + ", ".join(f"{name} = {bases[name]}" for name in ("register", "lane", "warp", "block")) + "}>"
    )


def parse_layout(text: str) -> Bases:
    return {
        name: [[int(number) for number in basis.split(",")] for basis in re.findall(r"\[([\d, ]+)\]", inner)]
        for name, inner in re.findall(r"(register|lane|warp|block) = \[((?:\[[\d, ]+\](?:, )?)*)\]", text)
    }


def blocked_layout(shape: tuple[int, int], element: str, order: tuple[int, int], warps: int) -> str:
    """The layout stock's coalescing gives a store of contiguous, aligned rows (columns when `order` is (0, 1))."""
    near, far = shape[order[0]], shape[order[1]]
    vector = max(1, min(128 // BITS[element], near, near * far // (LANES * warps)))
    lanes_near = min(LANES, near // vector)
    lanes_far = LANES // lanes_near
    warps_far = min(warps, max(1, far // lanes_far))

    def place(along_near: int, along_far: int) -> list[int]:
        return [along_near, along_far] if order[0] == 0 else [along_far, along_near]

    return (
        f"#ttg.blocked<{{sizePerThread = {place(vector, 1)}, threadsPerWarp = {place(lanes_near, lanes_far)}, "
        f"warpsPerCTA = {place(warps // warps_far, warps_far)}, order = {list(order)}}}>"
    )


def random_cases(seed: int, warps: int, count: int) -> list[Case]:
    generator = random.Random(seed)
    cases: list[Case] = []
    while len(cases) < count:
        shape = (generator.choice((16, 32, 64, 128, 256)), generator.choice((8, 16, 32, 64, 128, 256)))
        element, order = generator.choice(list(BITS)), generator.choice(((1, 0), (1, 0), (0, 1)))
        made = generator.choice((linear_source, hopper_source))(generator, shape, warps)
        if made is not None:
            blocked = blocked_layout(shape, element, order, warps)
            cases.append(Case(f"case{len(cases)}", shape, element, order, *made, blocked))
    return cases


def run(cases: list[Case], warps: int) -> dict[str, Bases]:
    """Return the layout of the store of each case that the pass changed."""
    aliases = "".join(f"#source_{case.name} = {case.source}\n#blocked_{case.name} = {case.blocked}\n" for case in cases)
    attributes = (
        f'"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:90", '
        f'"ttg.threads-per-warp" = {LANES} : i32'
    )
    module = aliases + f"module attributes {{{attributes}}} {{\n" + "".join(case.text() for case in cases) + "}\n"
    command = ("-m", "tritonext.opt", "--load", "layout", "-", "--pass", "layout-localize-stores")
    done = run_python(*command, text=module)
    assert done.returncode == 0, done
    layouts = {
        alias: parse_layout(text) for alias, text in re.findall(r"^(#\w+) = (#ttg\.linear<.*>)$", done.stdout, re.M)
    }
    changed = {}
    for name, body in re.findall(r"tt\.func public @(\w+)\((.*?)\n  }", done.stdout, re.S):
        [alias] = re.findall(r"tt\.store .*, (#\w+)>", body)
        if alias.startswith("#linear"):
            changed[name] = layouts[alias]
    return changed


def span(vectors: list[list[int]]) -> set[tuple[int, int]]:
    points = {(0, 0)}
    for row, column in vectors:
        points |= {(r ^ row, c ^ column) for r, c in points}
    return points


@pytest.mark.parametrize(("seed", "warps"), list(itertools.product((0, 1), (1, 2, 4, 8))))
def test_chosen_layout_is_a_bijection_that_keeps_each_warps_elements(seed, warps):
    cases = random_cases(seed, warps, 40)
    changed = run(cases, warps)
    if warps > 1:
        assert len(changed) >= 5
    for case in cases:
        if case.name not in changed:
            continue
        new, old = changed[case.name], case.bases
        assert new["warp"] == old["warp"], case
        assert span(new["register"] + new["lane"]) == span(old["register"] + old["lane"]), case
        vectors = new["register"] + new["lane"] + new["warp"]
        assert len(vectors) - vectors.count([0, 0]) == len(unit_bases(case.shape)), case
        assert span(vectors) == set(itertools.product(*map(range, case.shape))), case


@pytest.mark.parametrize("warps", [4, 8])
def test_each_element_goes_to_its_address_once(warps):
    cases = random_cases(2, warps, 40)
    changed = run(cases, warps)
    assert changed
    for case in cases:
        if case.name not in changed:
            continue
        layout, stride = changed[case.name], 4096
        written: Counter[tuple[int, tuple[int, int]]] = Counter()
        per_thread = [basis for basis in layout["register"] if basis != [0, 0]]
        # A thread whose lane or warp number has a bit that moves along no dimension holds a copy and does not store.
        threads = [basis for basis in layout["lane"] + layout["warp"] if basis != [0, 0]]
        for thread in itertools.product((0, 1), repeat=len(threads)):
            start = combine(threads, thread)
            for register in itertools.product((0, 1), repeat=len(per_thread)):
                offset = combine(per_thread, register)
                point = (start[0] ^ offset[0], start[1] ^ offset[1])
                written[point[case.order[1]] * stride + point[case.order[0]], point] += 1
        expected = {
            (point[case.order[1]] * stride + point[case.order[0]], point): 1
            for point in itertools.product(*map(range, case.shape))
        }
        assert written == expected, case


def combine(bases: list[list[int]], bits: tuple[int, ...]) -> tuple[int, int]:
    row = column = 0
    for (r, c), bit in zip(bases, bits, strict=True):
        if bit:
            row, column = row ^ r, column ^ c
    return row, column
