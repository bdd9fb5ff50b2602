"""Kernels of compression and pruning in Triton's interpreter against the reference of the format, and their code."""

from __future__ import annotations

import itertools
import re

import pytest
import triton
import triton.language as tl

from tritonext.inspect_code import stats
from tritonext.offline import Specialization, parse_signature

np = pytest.importorskip("numpy")
sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity import compress as host  # noqa: E402
from tritonext_sparsity import formats  # noqa: E402
from tritonext_sparsity.elements import ELEMENTS  # noqa: E402
from tritonext_sparsity.groups import compress24  # noqa: E402

# What Triton calls them.
TYPES = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float8_e4m3fn": "float8e4nv",
    "float8_e5m2": "float8e5",
    "float8_e4m3fnuz": "float8e4b8",
    "int8": "int8",
    "uint8": "uint8",
}
LAYOUTS = ("plain", "rows", "odd rows", "columns", "transposed")


def layouts_of(name: str) -> tuple[str, ...]:
    """Return the layouts to try with a type: where elements lie depends on their size alone."""
    return LAYOUTS if name in ("bfloat16", "float32", "int8") else ("rows", "transposed")


def matrix(rng, element, rows: int, columns: int, share: float) -> np.ndarray:
    """Return bits of a matrix with about this share of zeros, of both signs, and with infinities and NaN."""
    bits = rng.integers(0, 1 << min(element.bits, 16), (rows, columns)).astype(element.storage)
    bits <<= max(element.bits - 16, 0)
    kind = rng.random((rows, columns))
    bits[kind < share] = 0
    bits[kind < share / 2] = (1 << (element.bits - 1)) if element.is_float and element.special != "fnuz" else 0
    return bits


def placed(dense: np.ndarray, layout: str) -> tuple[np.ndarray, int, tuple[int, int]]:
    """Return memory that holds a matrix in a layout, and its offset and strides."""
    rows, columns = dense.shape
    if layout == "transposed":
        return np.ascontiguousarray(dense.T), 0, (1, rows)
    step = 3 if layout == "columns" else 1
    width = columns * step + {"rows": 8, "odd rows": 5}.get(layout, 0)
    offset = 1 if layout == "odd rows" else 0
    memory = np.full(offset + rows * width, 0x55, dense.dtype)
    body = memory[offset:].reshape(rows, width)
    body[:, : columns * step : step] = dense
    return memory, offset, (width, step)


def plan_of(dense, element, offset, strides):
    return host.Plan.of(dense.shape, strides, 4096 + offset * dense.itemsize, element)


def compression(dense, name, layout="plain", pruned=False) -> tuple:
    """Return the job that compresses a matrix; its results are x, values, meta and, without pruning, violations."""
    element = ELEMENTS[name]
    memory, offset, strides = placed(dense, layout)
    plan = plan_of(dense, element, offset, strides)
    shapes = host.compressed_shapes(dense.shape, element)
    arguments = (
        (TYPES[name], memory, offset),
        (TYPES[name], np.full(shapes[0], 0x33, dense.dtype), 0),
        ("uint8", np.full(shapes[1], 0x33, np.uint8), 0),
        None if pruned else ("int64", np.full(host.SLOTS, -1), 0),
        *plan.arguments,
    )
    constants = {"BITS": element.bits, "KIND": host.kind_of_element(element), "PRUNE": pruned, **plan.constants}
    return ("tritonext_sparsity.compress", "compress_kernel", plan.grid, arguments, constants)


def sparse(rng, name, rows, columns) -> np.ndarray:
    """Return bits of a matrix that is sparse, with groups of fewer non-zeros too."""
    return formats.prune(matrix(rng, ELEMENTS[name], rows, columns, 0.4), name)


@pytest.mark.parametrize("name", TYPES)
def test_compression_and_back(interpreter, name):
    rng = np.random.default_rng(len(name))
    step = ELEMENTS[name].columns_per_byte
    shapes = itertools.product(layouts_of(name), [(1, 1), (5, 3), (33, 40)])
    cases = [(layout, sparse(rng, name, rows, columns * step)) for layout, (rows, columns) in shapes]
    done = interpreter([compression(dense, name, layout) for layout, dense in cases])
    back = []
    for (layout, dense), (x, values, meta, violations) in zip(cases, done, strict=True):
        expected = formats.compress(dense, name)
        assert np.array_equal(meta, expected.meta), layout
        assert np.array_equal(values, expected.values), layout
        assert (violations == -1).all()
        assert np.array_equal(x.reshape(-1), placed(dense, layout)[0].reshape(-1))
        plan = plan_of(dense, ELEMENTS[name], 0, (dense.shape[1], 1))
        arguments = ((TYPES[name], values, 0), ("uint8", meta, 0), (TYPES[name], np.full_like(dense, 0x33), 0))
        constants = {"BITS": ELEMENTS[name].bits, "BLOCK": plan.tile[1]}
        back.append(("tritonext_sparsity.compress", "decompress_kernel", plan.grid,
                     (*arguments, plan.rows, plan.groups, plan.blocks), constants))  # fmt: skip
    for (_, dense), (_, _, x) in zip(cases, interpreter(back), strict=True):
        assert np.array_equal(x, formats.decompress(formats.compress(dense, name)))


@pytest.mark.parametrize("name", TYPES)
def test_pruning_at_once(interpreter, name):
    rng = np.random.default_rng(len(name))
    step = ELEMENTS[name].columns_per_byte
    shapes = [(7, 5 * step), (64, 16 * step)]
    cases = [
        (layout, matrix(rng, ELEMENTS[name], rows, columns, share))
        for layout, (rows, columns), share in itertools.product(("plain", "transposed"), shapes, (0.0, 0.5))
    ]
    jobs = [compression(dense, name, layout, pruned=True) for layout, dense in cases]
    for (layout, dense), (_, values, meta) in zip(cases, interpreter(jobs), strict=True):
        expected = formats.compress(dense, name, pruned=True)
        assert np.array_equal(meta, expected.meta), layout
        # What fills up a group is a zero of either sign.
        element = ELEMENTS[name]
        kept = element.is_nonzero(expected.values)
        assert np.array_equal(values[kept], expected.values[kept])
        assert not element.is_nonzero(values[~kept]).any()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("layout", ["plain", "rows", "transposed"])
def test_too_many_are_reported(interpreter, name, layout):
    rng = np.random.default_rng(1)
    element = ELEMENTS[name]
    step = element.columns_per_byte
    dense = sparse(rng, name, 9, 24 * step)
    jobs, places = [], [(0, 0), (8, 24 * step - element.group), (4, 5 * step)]
    for row, column in places:
        bad = dense.copy()
        bad[row, column : column + element.group // 2 + 1] = element.encode(np.array(1.0))
        jobs.append(compression(bad, name, layout))
    for (row, column), (_, _, meta, violations) in zip(places, interpreter(jobs), strict=True):
        assert int(violations.max()) == row * 24 + column // step
        assert (violations >= 0).sum() == 1
        # The code of the group is one that no instruction accepts.
        assert meta[row, column // step] >> (0 if column % step == 0 else 4) & 0xF == 0


def scored(dense, name, scores, layout="plain") -> tuple:
    element = ELEMENTS[name]
    memory, offset, strides = placed(dense, layout)
    plan = plan_of(dense, element, offset, strides)
    if scores is not None and plan.tile[0] == 0:
        plan = host.Plan.by_rows(dense.shape, strides, element, True)
    arguments = (
        (TYPES[name], memory, offset),
        None if scores is None else ("float32", np.ascontiguousarray(scores), 0),
        (TYPES[name], np.full_like(dense, 0x33), 0),
        *plan.arguments,
        *((0, 0) if scores is None else (scores.shape[1], 1)),
    )
    constants = {"BITS": element.bits, "KIND": host.kind_of_element(element), **plan.constants}
    return ("tritonext_sparsity.prune", "prune_kernel", plan.grid, arguments, constants)


@pytest.mark.parametrize("name", TYPES)
def test_pruning(interpreter, name):
    rng = np.random.default_rng(len(name))
    step = ELEMENTS[name].columns_per_byte
    jobs, expected = [], []
    for layout, (rows, columns) in itertools.product(layouts_of(name), [(3, 2 * step), (40, 33 * step)]):
        dense = matrix(rng, ELEMENTS[name], rows, columns, 0.2)
        scores = rng.integers(-3, 3, dense.shape).astype(np.float32)
        scores[scores == 2] = np.inf
        scores[scores == 1] = -0.0
        for given in (None, scores):
            jobs.append(scored(dense, name, given, layout))
            expected.append(formats.prune(dense, name, None if given is None else np.abs(given) * np.sign(given)))
    for (*_, out), dense in zip(interpreter(jobs), expected, strict=True):
        # A zero that takes the place of a kept element may be of either sign.
        nonzero = ELEMENTS[name].is_nonzero(dense)
        assert np.array_equal(ELEMENTS[name].is_nonzero(out), nonzero)
        assert np.array_equal(out[nonzero], dense[nonzero])


BLOCKS = [
    np.array(rows)
    for rows in itertools.product(*[list(itertools.combinations(range(4), 2))] * 4)
    if all(sum(column in row for row in rows) == 2 for column in range(4))
]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "int8"])
def test_transposable_masks_are_the_best(interpreter, name):
    assert len(BLOCKS) == 90
    rng = np.random.default_rng(3)
    element = ELEMENTS[name]
    values = rng.integers(-100, 100, (12, 40)) if name == "int8" else rng.standard_normal((12, 40))
    dense = element.encode(values)
    arguments = (
        (TYPES[name], dense, 0), None, (TYPES[name], np.full_like(dense, 0x33), 0), 10, 1, 10, 1, 0, 0,
    )  # fmt: skip
    constants = {"BITS": element.bits, "PACKED": True, "BLOCK": 256}
    ((_, out),) = interpreter([("tritonext_sparsity.prune", "prune_blocks_kernel", (3,), arguments, constants)])
    kept = out != 0
    assert np.array_equal(out[kept], dense[kept])
    weights = np.abs(element.decode(dense).astype(np.float64))
    for row, column in itertools.product(range(0, 12, 4), range(0, 40, 4)):
        block = np.s_[row : row + 4, column : column + 4]
        # Elements that are zero do not show in the result.
        assert (kept[block].sum(0) <= 2).all()
        assert (kept[block].sum(1) <= 2).all()
        best = max(np.take_along_axis(weights[block], rows, 1).sum() for rows in BLOCKS)
        assert weights[block][kept[block]].sum() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_illegal_codes_are_reported(interpreter, name):
    element = ELEMENTS[name]
    codes = np.arange(256, dtype=np.uint8)
    legal = {byte for byte in range(256) if {byte & 15, byte >> 4} <= set(element.legal_codes)}
    jobs = []
    for byte in codes:
        meta = np.full((3, 11), 0xE4, np.uint8)
        meta[1, 7] = byte
        arguments = (("uint8", meta, 0), ("int64", np.full(host.SLOTS, -1), 0), 1, meta.size, 0)
        jobs.append(("tritonext_sparsity.compress", "validate_metadata_kernel", (1,), arguments,
                     {"BITS": element.bits, "BLOCK": host.SLOTS}))  # fmt: skip
    for byte, (_, violations) in zip(codes, interpreter(jobs), strict=True):
        assert int(violations.max()) == (-1 if int(byte) in legal else 18)


TILE = """
import triton, triton.language as tl
from tritonext_sparsity.groups import compress24

@triton.jit
def compress_tile(x, values, meta, M: tl.constexpr, K: tl.constexpr, PER: tl.constexpr):
    row = tl.arange(0, M)[:, None]
    tile = tl.load(x + row * K + tl.arange(0, K)[None, :])
    v, m = compress24(tile)
    tl.store(values + row * (K // 2) + tl.arange(0, K // 2)[None, :], v)
    tl.store(meta + row * (K // PER) + tl.arange(0, K // PER)[None, :], m)
"""


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float8_e4m3fn", "int8"])
def test_tile_in_a_kernel(interpreter, name, tmp_path):
    (tmp_path / "compress_tile_kernel.py").write_text(TILE)
    element = ELEMENTS[name]
    rng = np.random.default_rng(5)
    jobs, tiles = [], [matrix(rng, element, 16, 32, share) for share in (0.0, 0.5)]
    for dense in tiles:
        meta = np.zeros((16, 32 // element.columns_per_byte), np.uint8)
        arguments = ((TYPES[name], dense, 0), (TYPES[name], np.zeros((16, 16), dense.dtype), 0), ("uint8", meta, 0))
        constants = {"M": 16, "K": 32, "PER": element.columns_per_byte}
        jobs.append(("compress_tile_kernel", "compress_tile", (1,), arguments, constants))
    for dense, (_, values, meta) in zip(tiles, interpreter(jobs, (tmp_path,)), strict=True):
        expected = formats.compress(dense, name, pruned=True)
        assert np.array_equal(meta, expected.meta)
        kept = element.is_nonzero(expected.values)
        assert np.array_equal(values[kept], expected.values[kept])
        assert not element.is_nonzero(values[~kept]).any()


@triton.jit
def wrong_tile(x, CASE: tl.constexpr):
    if CASE == "constant":
        compress24(3)
    elif CASE == "scalar":
        compress24(tl.load(x))
    elif CASE == "rank":
        compress24(tl.zeros((2, 16, 32), tl.float16))
    elif CASE == "columns":
        compress24(tl.zeros((16, 4), tl.float16))
    elif CASE == "columns of 32 bits":
        compress24(tl.zeros((16, 2), tl.float32))
    elif CASE == "integers of 32 bits":
        compress24(tl.zeros((16, 32), tl.int32))
    elif CASE == "64 bits":
        compress24(tl.zeros((16, 32), tl.float64))
    elif CASE == "pointers":
        compress24(x + tl.arange(0, 16)[:, None] + tl.arange(0, 32)[None, :])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("constant", r"not a matrix.*found: 3"),
        ("scalar", r"not a matrix.*found: fp16"),
        ("rank", r"not a matrix.*expected: a tensor of two dimensions"),
        ("columns", r"whole bytes of metadata.*K a multiple of 8.*found: 4"),
        ("columns of 32 bits", r"whole bytes of metadata.*K a multiple of 4.*found: 2"),
        ("integers of 32 bits", r"another type.*expected: float32, or 8 or 16 bits.*found: int32"),
        ("64 bits", r"another type.*found: fp64"),
        ("pointers", r"another type.*found: pointer<fp16>"),
    ],
)
def test_tiles_that_are_refused(refused, case, message):
    text = refused(wrong_tile, "x=*fp16:16", CASE=case)
    assert re.search("compress24, argument tile", text), text
    assert re.search(message, text, re.DOTALL), text


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:120", "hip:gfx942"])
@pytest.mark.parametrize("pruned", [False, True])
def test_code_is_short_and_wide(target, pruned):
    """An H200 has time for about 60 instructions for each group of 16-bit elements that it copies."""
    types = "x=*bf16:16, values=*bf16:16, meta=*u8:16, rows=i32, groups=i32:16, blocks=i32"
    types += ", stride_row=i32:16, stride_column=i32" + ("" if pruned else ", violations=*i64:16")
    plan = host.Plan.of((8192, 8192), (8192, 1), 4096, ELEMENTS["bfloat16"])
    constants = {"BITS": 16, "KIND": "float", "PRUNE": pruned} | plan.constants
    constants |= {"violations": None} if pruned else {}
    warps = constants.pop("num_warps")
    kernel = Specialization(host.compress_kernel, parse_signature(types), constants, {"num_warps": warps})
    code = stats(kernel.compile(target))
    assert set(code.global_loads) == {128}
    assert code.spills == 0
    if target.startswith("cuda"):
        assert code.global_stores[128] == 1
        assert code.shared_bytes == 0
        assert code.shuffles == 0
        assert code.instructions <= 45 * plan.tile[1] // (32 * warps)


@triton.jit
def squared_relu_product(x, b, out, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x += rows[:, None] * K + inner[None, :]
    b += inner[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        active = tl.maximum(tl.load(x), 0.0)
        values, meta = compress24(active * active)
        acc = sparsity.sparse_dot(values, meta, tl.load(b), acc)
        x += BK
        b += BK * N
    tl.store(out + rows[:, None] * BN + columns[None, :], acc)


@pytest.mark.parametrize(
    ("target", "kind", "instruction"),
    [
        ("cuda:80", "bf16", "HMMA.SP.16832.F32.BF16"),
        ("cuda:120", "fp32", "HMMA.SP.16816.F32.TF32"),
        ("cuda:90", "bf16", "HGMMA.SP.64x128x32.F32.BF16"),
    ],
)
def test_activations_are_compressed_in_the_kernel_of_their_product(target, kind, instruction):
    types = parse_signature(f"x=*{kind}:16, b=*{kind}:16, out=*fp32:16, K=i32:16, N=i32:16")
    options = {"num_warps": 8, "num_stages": 3}
    kernel = Specialization(squared_relu_product, types, {"BM": 128, "BN": 128, "BK": 64}, options)
    code = stats(kernel.compile(target))
    assert {name for name in code.histogram if "MMA" in name} == {instruction}
    assert code.spills == 0
