"""Ops in Triton's interpreter against NumPy: types, forms, and what does not run there."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity import formats  # noqa: E402
from tritonext_sparsity.elements import ELEMENTS, element  # noqa: E402

KERNELS = """
import triton, triton.language as tl
import tritonext_sparsity as sparsity
from tritonext_sparsity.groups import compress24

@triton.jit
def product(v, m, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, COLUMNS: tl.constexpr, FORM: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    values = tl.load(v + rows * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + rows * (K // COLUMNS) + tl.arange(0, K // COLUMNS)[None, :])
    dense = tl.load(b + tl.arange(0, K)[:, None] * N + columns)
    acc = tl.load(c + rows * N + columns)
    if FORM == "left":
        acc = sparsity.sparse_dot(values, meta, dense, acc)
    elif FORM == "right":
        acc = tl.trans(sparsity.dot_sparse(tl.trans(dense), values, meta, tl.trans(acc)))
    elif FORM == "expanded":
        acc = tl.dot(sparsity.expand24(values, meta), dense, acc)
    else:
        acc += sparsity.sparse_dot(values, meta, dense, out_dtype=acc.dtype)
    tl.store(c + rows * N + columns, acc)

@triton.jit
def expansion(v, m, x, M: tl.constexpr, K: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    values = tl.load(v + rows * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + rows * (K // COLUMNS) + tl.arange(0, K // COLUMNS)[None, :])
    tl.store(x + rows * K + tl.arange(0, K)[None, :], sparsity.expand24(values, meta))

@triton.jit
def activations(x, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    values, meta = compress24(tl.load(x + rows * K + tl.arange(0, K)[None, :]))
    dense = tl.load(b + tl.arange(0, K)[:, None] * N + columns)
    tl.store(c + rows * N + columns, sparsity.sparse_dot(values, meta, dense))

@triton.jit
def buffers(v):
    sparsity.async_sparse_dot(v, v, v, v)
"""
M, N, K = 16, 32, 128
# Of values, the accumulator, and the names of both in Triton.
TYPES = {
    "float16": ("float32", "fp16", "fp32"),
    "bfloat16": ("float32", "bf16", "fp32"),
    "float32": ("float32", "fp32", "fp32"),
    "float8_e4m3fn": ("float32", "fp8e4nv", "fp32"),
    "float8_e5m2": ("float16", "fp8e5", "fp16"),
    "float8_e4m3fnuz": ("float32", "fp8e4b8", "fp32"),
    "float8_e5m2fnuz": ("float32", "fp8e5b16", "fp32"),
    "int8": ("int32", "int8", "int32"),
    "uint8": ("int32", "uint8", "int32"),
}


@pytest.fixture
def run(interpreter, tmp_path):
    (tmp_path / "interpreted_ops.py").write_text(KERNELS)
    return lambda jobs: interpreter([("interpreted_ops", *job) for job in jobs], (tmp_path,))


def operands(name):
    """Return a sparse matrix, B, an accumulator and their product with what tensor cores see; all as bits."""
    rng = np.random.default_rng(len(name))
    kind = ELEMENTS[name]
    total = element(TYPES[name][0] if kind.is_float else "s32")
    least = -128 if kind.signed else 0
    draw = rng.standard_normal if kind.is_float else lambda shape: rng.integers(least, least + 256, shape)
    matrix = formats.compress(kind.encode(draw((M, K))), name, pruned=True)
    b, c = kind.encode(draw((K, N))), total.encode(draw((M, N)))
    seen = kind.multiplied.decode(formats.decompress(matrix)) @ kind.multiplied.decode(b) + total.decode(c)
    return matrix, b, c, total.encode(seen), total


@pytest.mark.parametrize("name", TYPES)
def test_products(run, name):
    matrix, b, c, expected, total = operands(name)
    _, dtype, sum_type = TYPES[name]
    columns = ELEMENTS[name].columns_per_byte
    arguments = ((dtype, matrix.values, 0), ("uint8", matrix.meta, 0), (dtype, b, 0), (sum_type, c, 0))
    constants = {"M": M, "N": N, "K": K, "COLUMNS": columns}
    forms = ("left", "right")
    done = run([("product", (1,), arguments, constants | {"FORM": form}) for form in forms])
    for form, (*_, result) in zip(forms, done, strict=True):
        # The order of a sum in float64 moves at most the last bit of what it is rounded to.
        tolerance = 2.0**-9 if sum_type == "fp16" else 1e-6
        assert np.allclose(total.decode(result), total.decode(expected), rtol=tolerance, atol=1e-5), form


@pytest.mark.parametrize("name", TYPES)
def test_expansions(run, name):
    matrix = operands(name)[0]
    dtype = TYPES[name][1]
    dense = formats.decompress(matrix)
    arguments = ((dtype, matrix.values, 0), ("uint8", matrix.meta, 0), (dtype, np.full_like(dense, 0x33), 0))
    constants = {"M": M, "K": K, "COLUMNS": ELEMENTS[name].columns_per_byte}
    ((_, _, x),) = run([("expansion", (1,), arguments, constants)])
    assert np.array_equal(x, dense)


def test_dots_of_expansions_and_sums_of_their_own(run):
    matrix, b, c, expected, total = operands("float16")
    arguments = (("fp16", matrix.values, 0), ("uint8", matrix.meta, 0), ("fp16", b, 0), ("fp32", c, 0))
    constants = {"M": M, "N": N, "K": K, "COLUMNS": 8}
    for *_, result in run([("product", (1,), arguments, constants | {"FORM": form}) for form in ("expanded", "own")]):
        assert np.allclose(total.decode(result), total.decode(expected), rtol=1e-5, atol=1e-5)


def test_activations_are_compressed_and_multiplied(run):
    rng = np.random.default_rng(3)
    x, b = rng.standard_normal((M, K)).astype(np.float16), rng.standard_normal((K, N)).astype(np.float16)
    arguments = (("fp16", x, 0), ("fp16", b, 0), ("fp32", np.zeros((M, N), np.float32), 0))
    ((_, _, c),) = run([("activations", (1,), arguments, {"M": M, "N": N, "K": K})])
    pruned = formats.decompress(formats.compress(x, pruned=True)).astype(np.float64)
    assert np.allclose(c, pruned @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_illegal_metadata_is_found(run):
    matrix, b, c, *_ = operands("float16")
    meta = matrix.meta.copy()
    meta[5, 3] = 0x40
    arguments = (("fp16", matrix.values, 0), ("uint8", meta, 0), ("fp16", b, 0), ("fp32", c, 0))
    with pytest.raises(AssertionError, match=r"a code of metadata is illegal for float16\s+where: row 5, group 6"):
        run([("product", (1,), arguments, {"M": M, "N": N, "K": K, "COLUMNS": 8, "FORM": "left"})])


def test_products_of_shared_memory_do_not_run(run):
    with pytest.raises(
        AssertionError, match=r"does not run in Triton's interpreter\s+where: sparsity.async_sparse_dot"
    ):
        run([("buffers", (1,), (("fp16", np.zeros(4, np.float16), 0),), {})])
