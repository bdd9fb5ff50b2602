"""Kernels that are right: their numbers on the CPU under many orders, without torch."""

import importlib.util
import inspect
import pathlib
import re

import pytest
import triton
import triton.language as tl

np = pytest.importorskip("numpy")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext.errors import UserError  # noqa: E402
from tritonext.testing import kernels, run_python  # noqa: E402
from tritonext_tlx.simulator import Descriptor, MissingFence, Typed, UnsupportedOperation, simulate  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SEEDS = range(10)


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random(*shape, seed=0, dtype=np.float16):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pipelined_gemm(seed):
    m, n, k = 72, 136, 104
    a, b, c = random(m, k, seed=seed), random(k, n, seed=seed + 100), np.full((m, n), np.nan, np.float16)
    tile = {"BM": 64, "BN": 128, "BK": 32, "GROUP_M": 2, "STAGES": 4}
    report = simulate(example("gemm_pipelined").gemm, (4,), a, b, c, m, n, k, **tile, num_warps=8, seed=seed)
    np.testing.assert_allclose(c.astype(np.float64), product(a, b), rtol=1e-3, atol=1e-3)
    assert report.programs == 4
    assert report.operations["async_dot"] == 4 * 4
    assert report.shared_bytes == 4 * 2 * 32 * (64 + 128)


@triton.jit
def mixed_mask(x, y, n, limit):
    at = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    for i in range(n):
        tl.store(y + at, tl.load(x + at, mask=(at >= 4) & (i < limit), other=-1.0), mask=(n > i) & (at < 60))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_comparison_of_scalars_masks_a_tensor(dtype):
    x, y = random(8, 8, dtype=dtype), np.zeros((8, 8), dtype)
    simulate(mixed_mask, (1,), x, y, 1, 1)
    expected = x.copy().reshape(-1)
    expected[:4], expected[60:] = -1, 0
    np.testing.assert_array_equal(y.reshape(-1), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gemm_of_tasks(seed):
    m, n, k = 136, 72, 72
    a, b, c = random(m, k, seed=seed), random(k, n, seed=seed + 100), np.full((m, n), np.nan, np.float16)
    tile = {"BM": 128, "BN": 64, "BK": 32, "STAGES": 2, "GROUPS": 2, "GROUP_M": 8}
    described = Descriptor(a, [64, 32]), Descriptor(b, [32, 64]), Descriptor(c, [64, 64])
    report = simulate(example("gemm_tasks").gemm, (3,), *described, m, n, k, **tile, seed=seed)
    np.testing.assert_allclose(c.astype(np.float64), product(a, b), rtol=1e-3, atol=1e-3)
    # Four tiles of three steps, each multiplied by both replicas.
    assert report.operations["async_dot"] == 4 * 3 * 2
    assert report.switches > 50


def test_a_seed_makes_the_same_run():
    def run(seed):
        a, b, c = random(64, 64), random(64, 64), np.zeros((64, 64), np.float16)
        tile = {"BM": 64, "BN": 64, "BK": 32, "STAGES": 2, "GROUPS": 1, "GROUP_M": 8}
        described = Descriptor(a, [64, 32]), Descriptor(b, [32, 64]), Descriptor(c, [64, 64])
        return simulate(example("gemm_tasks").gemm, (2,), *described, 64, 64, 64, **tile, seed=seed)

    assert run(3) == run(3)
    assert len({run(seed).switches for seed in range(6)}) > 1


@triton.jit
def multiplied(a, b, c, A_IN_REGISTERS: tl.constexpr, K: tl.constexpr, DTYPE: tl.constexpr):
    rows, inner = tl.arange(0, 64)[:, None], tl.arange(0, K)
    x = tl.load(a + rows * K + inner[None, :])
    a_tile = tlx.local_alloc((64, K), DTYPE, 1)
    b_tile = tlx.local_alloc((32, K), DTYPE, 1)
    tlx.local_store(a_tile[0], x)
    tlx.local_store(b_tile[0], tl.load(b + tl.arange(0, 32)[:, None] * K + inner[None, :]))
    left = x if A_IN_REGISTERS else a_tile[0]
    acc = tlx.async_dot(left, tlx.local_trans(b_tile[0]))
    acc = tlx.async_dot(left, tlx.local_trans(b_tile[0]), acc, use_acc=tl.program_id(0) == 0)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c + rows * 32 + tl.arange(0, 32)[None, :], acc)


@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float8e4nv", "float8e5"])
def test_products_of_each_type(kind, in_registers):
    a, b, c = random(64, 64, dtype=np.float32), random(32, 64, seed=1, dtype=np.float32), np.zeros((64, 32), np.float32)
    if kind == "bfloat16":
        x, y = Typed.bfloat16(a), Typed.bfloat16(b)
        a, b = x.numbers(), y.numbers()
    elif kind.startswith("float8"):
        # Numbers below 16, of both signs.
        codes = [np.random.default_rng(i).integers(0, 0x4C, shape.shape) for i, shape in enumerate((a, b))]
        x, y = (Typed((code | (code & 1) << 7).astype(np.uint8), getattr(tl, kind)) for code in codes)
        a, b = x.numbers(), y.numbers()
    else:
        x, y = a.astype(kind), b.astype(kind)
        a, b = x, y
    simulate(multiplied, (1,), x, y, c, A_IN_REGISTERS=in_registers, K=64, DTYPE=getattr(tl, kind))
    # TF32 has ten bits of mantissa.
    atol = 0.05 if kind == "float32" else 1e-4
    np.testing.assert_allclose(c, 2 * product(a, b.T), rtol=1e-5, atol=atol)
    if kind == "float32":
        assert np.abs(c - 2 * product(a, b.T)).max() > 1e-4


@triton.jit
def converted(x, codes, rounded, decoded, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at).to(codes.dtype.element_ty)
    tl.store(rounded + at, value.to(tl.float32))
    all_codes = tl.arange(0, 256)
    tl.store(decoded + all_codes, tl.load(codes + all_codes).to(tl.float32))


@pytest.mark.parametrize(
    ("kind", "known", "largest", "ties"),
    [
        (tl.float8e4nv, {0x38: 1, 0x01: 2**-9, 0x7E: 448, 0xB9: -1.125}, 448, {1.0625: 1, 1.1875: 1.25}),
        (tl.float8e5, {0x3C: 1, 0x01: 2**-16, 0x7B: 57344, 0xBD: -1.25}, 57344, {1.125: 1, 1.375: 1.5}),
    ],
)
def test_8_bit_floats(kind, known, largest, ties):
    generator = np.random.default_rng(7)
    x = (generator.standard_normal(1024) * np.exp2(generator.uniform(-14, 6, 1024))).astype(np.float32)
    x[:4] = [1e6, -1e6, *ties]
    rounded, decoded = np.zeros(1024, np.float32), np.zeros(256, np.float32)
    simulate(converted, (1,), x, Typed(np.arange(256, dtype=np.uint8), kind), rounded, decoded, N=1024)
    assert {code: decoded[code] for code in known} == known
    assert rounded[:4].tolist() == [largest, -largest, *ties.values()]
    finite = decoded[np.isfinite(decoded)]
    nearest = np.abs(x[4:, None] - finite).min(1)
    np.testing.assert_array_equal(np.abs(x[4:] - rounded[4:]), nearest)


@triton.jit
def plain(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at < n) and (at >= 0)
    value = tl.load(x + at, mask=inside, other=0.0) * 2 + tl.load(y + at, mask=inside)
    tl.store(z + at, tl.maximum(value, 0.0), mask=inside)
    tl.atomic_add(z + n, tl.sum(value))
    tl.atomic_max(z + n + 1, tl.max(value, axis=0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kernel_without_tlx(seed):
    n = 1000
    x, y = random(n, seed=seed, dtype=np.float32), random(n, seed=seed + 1, dtype=np.float32)
    z = np.zeros(n + 2, np.float32)
    simulate(plain, lambda given: (triton.cdiv(given["n"], given["BLOCK"]),), x, y, z, n, BLOCK=128, seed=seed)
    value = 2 * x.astype(np.float64) + y
    np.testing.assert_allclose(z[:n], np.maximum(value, 0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(z[n:], [value.sum(), value.max()], rtol=1e-3, atol=1e-4)


@triton.jit
def attention(q, k, v, out, scale, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr):
    """One task loads keys and values, two compute a block of queries each."""
    q_tile = tlx.local_alloc((BM, D), tl.bfloat16, 2)
    k_tiles = tlx.local_alloc((BN, D), tl.bfloat16, STAGES)
    v_tiles = tlx.local_alloc((BN, D), tl.bfloat16, STAGES)
    q_full = tlx.alloc_barriers(2)
    k_full, v_full = tlx.alloc_barriers(STAGES), tlx.alloc_barriers(STAGES)
    k_empty, v_empty = tlx.alloc_barriers(STAGES, arrive_count=2), tlx.alloc_barriers(STAGES, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in tl.static_range(2):
                tlx.barrier_expect_bytes(q_full[i], BM * D * 2)
                tlx.async_descriptor_load(q, q_tile[i], [(tl.program_id(0) * 2 + i) * BM, 0], q_full[i])
            for start in tl.range(0, n, BN):
                slot, phase = tlx.get_bufidx_phase(start // BN, STAGES)
                tlx.barrier_wait(k_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(k_full[slot], BN * D * 2)
                tlx.async_descriptor_load(k, k_tiles[slot], [start, 0], k_full[slot])
                tlx.barrier_wait(v_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(v_full[slot], BN * D * 2)
                tlx.async_descriptor_load(v, v_tiles[slot], [start, 0], v_full[slot])
        with tlx.async_task(num_warps=4, replicate=2):
            block: tl.constexpr = tlx.async_task_replica_id()
            top = tl.full((BM,), float("-inf"), tl.float32)
            total = tl.zeros((BM,), tl.float32)
            acc = tl.zeros((BM, D), tl.float32)
            tlx.barrier_wait(q_full[block], 0)
            for start in tl.range(0, n, BN):
                slot, phase = tlx.get_bufidx_phase(start // BN, STAGES)
                tlx.barrier_wait(k_full[slot], phase)
                scores = tlx.async_dot(q_tile[block], tlx.local_trans(k_tiles[slot]))
                scores = tlx.async_dot_wait(0, scores) * (scale * 1.4426950408889634)
                tlx.barrier_arrive(k_empty[slot])
                higher = tl.maximum(top, tl.max(scores, 1))
                weights = tl.math.exp2(scores - higher[:, None])
                shrink = tl.math.exp2(top - higher)
                total = total * shrink + tl.sum(weights, 1)
                acc *= shrink[:, None]
                top = higher
                tlx.barrier_wait(v_full[slot], phase)
                acc = tlx.async_dot(weights.to(tl.bfloat16), v_tiles[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(v_empty[slot])
            at = (tl.program_id(0) * 2 + block) * BM + tl.arange(0, BM)
            tl.store(out + at[:, None] * D + tl.arange(0, D)[None, :], acc / total[:, None])


@pytest.mark.parametrize("seed", SEEDS)
def test_attention_of_tasks(seed):
    n, d = 128, 32
    q, k, v = (Typed.bfloat16(random(n, d, seed=3 * seed + i, dtype=np.float32)) for i in range(3))
    out = np.full((n, d), np.nan, np.float32)
    tiles = [Descriptor(array, [32, d]) for array in (q, k, v)]
    simulate(attention, (2,), *tiles, out, 0.2, n, BM=32, BN=32, D=d, STAGES=2, seed=seed)
    x, y, z = (array.numbers().astype(np.float64) for array in (q, k, v))
    weights = np.exp(0.2 * x @ y.T)
    np.testing.assert_allclose(out, weights @ z / weights.sum(1, keepdims=True), rtol=2e-2, atol=4e-3)


def softmax():
    x, y = random(5, 100), np.zeros((5, 100), np.float16)
    simulate(kernels.softmax, (5,), x, y, 100, BLOCK=128)
    weights = np.exp(x.astype(np.float64))
    return y, weights / weights.sum(1, keepdims=True)


def layer_norm():
    x, y = Typed.bfloat16(random(4, 100)), Typed.bfloat16(np.zeros((4, 100)))
    weight, bias, mean, scale = (random(size, seed=size, dtype=np.float32) for size in (100, 100, 4, 4))
    simulate(kernels.layer_norm, (4,), x, y, weight, bias, mean, scale, 100, 1e-5, BLOCK=128)
    given = x.numbers().astype(np.float64)
    centered = given - given.mean(1, keepdims=True)
    return y.numbers(), centered / np.sqrt(given.var(1, keepdims=True) + 1e-5) * weight + bias


def gemm_silu():
    a, b, bias = (Typed.bfloat16(random(*shape)) for shape in ((128, 64), (64, 128), (128,)))
    c = Typed.bfloat16(np.zeros((128, 128)))
    simulate(kernels.gemm, (4,), a, b, c, bias, 128, 128, 64, BM=64, BN=64, BK=32, EPILOGUE="silu")
    given = product(a.numbers(), b.numbers()) + bias.numbers()
    return c.numbers(), given / (1 + np.exp(-given))


def gemm_persistent():
    a, b, c = random(128, 64), random(64, 128, seed=1), np.zeros((128, 128), np.float16)
    simulate(kernels.gemm_persistent, (2,), a, b, c, 128, 128, 64, BM=64, BN=64, BK=32, PROGRAMS=2)
    return c, product(a, b)


def sort_rows():
    x, y = random(4, 64, dtype=np.float32), np.zeros((4, 64), np.float32)
    simulate(kernels.sort_rows, (2,), x, y, 64, BM=2, BLOCK=64)
    return y, np.sort(x, 1)


def cumulative_sum():
    x, y = random(32, 64, dtype=np.float32), np.zeros((32, 64), np.float32)
    simulate(kernels.cumulative_sum, (1, 1), x, y, 64, BM=32, BN=64, AXIS=1)
    return y, np.cumsum(x.astype(np.float64), 1)


@pytest.mark.parametrize("run", [softmax, layer_norm, gemm_silu, gemm_persistent, sort_rows, cumulative_sum])
def test_kernels_of_the_corpus(run):
    out, reference = run()
    # Half a unit in the last place of bfloat16 is 2**-9.
    tolerance = 1e-2 if run in (layer_norm, gemm_silu) else 1e-3
    np.testing.assert_allclose(out.astype(np.float64), reference, rtol=tolerance, atol=tolerance)


@triton.jit
def viewed(x, y, index):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    tile = tlx.local_alloc((32, 32), tl.int32, 2)
    tlx.local_store(tile[1], tl.load(x + rows * 32 + columns))
    low = tlx.local_slice(tile[1], (16, 0), (16, 32))
    tl.store(y + tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :], tlx.local_load(tlx.local_trans(low)))
    flat = tlx.local_reshape(tile[1], (1024,))
    tl.store(y + 512 + tl.arange(0, 1024), tlx.local_load(flat))
    bits = tlx.local_reinterpret(tile[1], tl.float32)
    tl.store(y + 1536 + rows * 32 + columns, tlx.local_load(bits).to(tl.int32, bitcast=True))
    at = tl.load(index + rows * 32 + columns)
    tl.store(y + 2560 + rows * 32 + columns, tlx.local_gather(tile[1], at, 0))
    tlx.local_scatter(tile[0], tl.load(x + rows * 32 + columns), at, 0)
    tl.store(y + 3584 + rows * 32 + columns, tlx.local_load(tile[0]))


def test_views():
    generator = np.random.default_rng(5)
    x = generator.integers(-(2**31), 2**31, (32, 32), np.int32)
    index = generator.permuted(np.tile(np.arange(32, dtype=np.int32)[:, None], 32), axis=0)
    y = np.zeros(4608, np.int32)
    simulate(viewed, (1,), x, y, index)
    scattered = np.zeros_like(x)
    np.put_along_axis(scattered, index, x, 0)
    expected = [x[16:].T, x, x, np.take_along_axis(x, index, 0), scattered]
    np.testing.assert_array_equal(y, np.concatenate([part.reshape(-1) for part in expected]))


@triton.jit
def handed_over(x, y, n, M: tl.constexpr, SLOTS: tl.constexpr):
    tile = tlx.local_alloc((M,), tl.float32, SLOTS)
    full = tlx.alloc_barriers(SLOTS)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, SLOTS)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.local_store(tile[slot], tl.load(x + i * M + tl.arange(0, M)))
                tlx.barrier_arrive(full[slot])
        with tlx.async_task(num_warps=1, replicate=2):
            replica: tl.constexpr = tlx.async_task_replica_id()
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, SLOTS)
                tlx.barrier_wait(full[slot], phase)
                value = tlx.local_load(tile[slot])
                tlx.barrier_arrive(empty[slot])
                tl.store(y + (i * 2 + replica) * M + tl.arange(0, M), value * (replica + 1))


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_tensors_pass_between_tasks(seed, slots):
    x, y = random(7, 32, seed=seed, dtype=np.float32), np.full((7, 2, 32), np.nan, np.float32)
    simulate(handed_over, (1,), x, y, 7, M=32, SLOTS=slots, seed=seed)
    np.testing.assert_array_equal(y, np.stack([x, 2 * x], axis=1))


@triton.jit
def copied(source, target, n, REDUCE: tl.constexpr, STEP: tl.constexpr):
    tile = tlx.local_alloc((64, 64), source.dtype, 2)
    full = tlx.alloc_barriers(2)
    for i in range(n):
        slot, phase = tlx.get_bufidx_phase(i, 2)
        tlx.barrier_expect_bytes(full[slot], 64 * 64 * (source.dtype.primitive_bitwidth // 8))
        tlx.async_descriptor_store_wait(1)
        tlx.async_descriptor_load(source, tile[slot], [i * 64, 0], full[slot])
        tlx.barrier_wait(full[slot], phase)
        tlx.async_descriptor_store(target, tile[slot], [i * STEP, 0], store_reduce=REDUCE)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("seed", SEEDS)
def test_descriptor_copies_respect_edges_and_reduce(seed):
    x, y = random(200, 40, seed=seed, dtype=np.float32), np.full((200, 40), np.nan, np.float32)
    simulate(copied, (1,), Descriptor(x, [64, 64]), Descriptor(y, [64, 64]), 4, REDUCE="", STEP=64, seed=seed)
    np.testing.assert_array_equal(y, x)
    total = np.zeros((64, 64), np.float32)
    padded = random(192, 64, seed=seed, dtype=np.float32)
    simulate(
        copied, (1,), Descriptor(padded, [64, 64]), Descriptor(total, [64, 64]), 3, REDUCE="add", STEP=0, seed=seed
    )
    np.testing.assert_allclose(total, padded.reshape(3, 64, 64).astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)


def test_descriptors_of_views_leave_what_lies_between():
    x, memory = random(130, 40, seed=1, dtype=np.float32), np.full((200, 3, 40), np.nan, np.float32)
    simulate(copied, (1,), Descriptor(x, [64, 64]), Descriptor(memory[:130, 1, :36], [64, 64]), 3, REDUCE="", STEP=64)
    np.testing.assert_array_equal(memory[:130, 1, :36], x[:, :36])
    memory[:130, 1, :36] = np.nan
    assert np.isnan(memory).all()


@pytest.mark.parametrize("reduce", ["add", "max", "min"])
def test_descriptor_stores_reduce_bfloat16(reduce):
    # Few bits, so that sums are exact in any order.
    x = Typed.bfloat16(np.random.default_rng(3).integers(-20, 20, (192, 64)))
    out = Typed.bfloat16(np.zeros((64, 64)))
    simulate(copied, (1,), Descriptor(x, [64, 64]), Descriptor(out, [64, 64]), 3, REDUCE=reduce, STEP=0)
    parts = np.concatenate([np.zeros((1, 64, 64)), x.numbers().reshape(3, 64, 64)])
    np.testing.assert_array_equal(out.numbers(), {"add": np.sum, "max": np.max, "min": np.min}[reduce](parts, axis=0))


@triton.jit
def taking_turns(out, n):
    cell = tlx.local_alloc((32,), tl.int32, 1)
    turn = tlx.alloc_barriers(1)
    tlx.local_store(cell[0], tl.full((32,), 1, tl.int32))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            pass
        with tlx.async_task(num_warps=1, replicate=2):
            replica: tl.constexpr = tlx.async_task_replica_id()
            for _ in range(n):
                # Each arrival ends a phase, so even phases are the turns of one replica and odd ones of the other.
                tlx.barrier_wait(turn[0], 1 - replica)
                tlx.local_store(cell[0], tlx.local_load(cell[0]) * 2 + replica)
                tlx.barrier_arrive(turn[0])
    tl.store(out + tl.arange(0, 32), tlx.local_load(cell[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_two_tasks_take_turns_by_the_parity_of_one_barrier(seed):
    out = np.zeros(32, np.int32)
    simulate(taking_turns, (1,), out, 3, seed=seed)
    assert (out == 0b1010101).all()


@triton.jit
def alternating(out, n):
    cell = tlx.local_alloc((128,), tl.int32, 1)
    tlx.local_store(cell[0], tl.zeros((128,), tl.int32))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for _ in range(n):
                tlx.local_store(cell[0], tlx.local_load(cell[0]) * 2 + 1)
                tlx.named_barrier_arrive(14, 256)
                tlx.named_barrier_wait(15, 256)
        with tlx.async_task(num_warps=4):
            for _ in range(n):
                tlx.named_barrier_wait(14, 256)
                tlx.local_store(cell[0], tlx.local_load(cell[0]) * 3)
                tlx.named_barrier_arrive(15, 256)
    tl.store(out + tl.arange(0, 128), tlx.local_load(cell[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_named_barriers_order_two_tasks(seed):
    out = np.full(128, -1, np.int32)
    simulate(alternating, (1,), out, 5, seed=seed)
    expected = 0
    for _ in range(5):
        expected = (expected * 2 + 1) * 3
    assert (out == expected).all()


@triton.jit
def of_threads(x, out, REPLICAS: tl.constexpr):
    tile = tlx.local_alloc((32,), tlx.dtype_of(x), REPLICAS)
    full = tlx.alloc_warp_barrier(1, num_warps=4 * REPLICAS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            for i in tl.static_range(REPLICAS):
                tl.store(out + i * 32 + tl.arange(0, 32), tlx.local_load(tile[i]) * tlx.size_of(tlx.dtype_of(tile)))
        with tlx.async_task(num_warps=4, replicate=REPLICAS):
            replica: tl.constexpr = tlx.async_task_replica_id()
            tlx.local_store(tile[replica], tl.load(x + replica * 32 + tl.arange(0, 32)))
            tlx.barrier_arrive(full[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_arrive_at_warp_barriers(seed):
    x, out = random(2, 32, seed=seed), np.zeros((2, 32), np.float16)
    simulate(of_threads, (1,), x, out, REPLICAS=2, seed=seed)
    np.testing.assert_array_equal(out, x * 2)


@triton.jit
def reused(x, out):
    wide = tlx.local_alloc((32, 32), tl.float32, 1)
    narrow = tlx.local_alloc((32, 32), tl.float16, 2, reuse=wide)
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tlx.local_store(wide[0], tl.load(x + at))
    bits = tlx.local_load(narrow[1]).to(tl.int16, bitcast=True)
    tlx.local_store(narrow[0], bits.to(tl.float16, bitcast=True))
    tl.store(out + at, tlx.local_load(wide[0]))


def test_memory_of_a_buffer_is_reused():
    x, out = random(32, 32, dtype=np.float32), np.zeros((32, 32), np.float32)
    report = simulate(reused, (1,), x, out)
    # The lower half of the rows was copied over the upper one.
    np.testing.assert_array_equal(out, np.concatenate([x[16:], x[16:]]))
    assert report.shared_bytes == 4096


@triton.jit
def own_names(out):
    value = 5
    with tlx.async_tasks():
        with tlx.async_task("default"):
            value += 1
            tl.store(out, value)
        with tlx.async_task(num_warps=1):
            value = value * 10
            tl.store(out + 1, value)
    tl.store(out + 2, value)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_task_assigns_is_gone_after_it(seed):
    out = np.zeros(3, np.int32)
    simulate(own_names, (1,), out, seed=seed)
    assert out.tolist() == [6, 50, 5]


def kernel_of(factor, addend):
    @triton.jit
    def scale(value, BY: tl.constexpr = factor):
        return value * BY

    @triton.jit
    def closed_over(out, wide: tl.int64, ratio: tl.float64, UNIT: tl.constexpr = addend):
        tl.static_assert(wide.dtype == tl.int64)
        tl.static_assert(ratio.dtype == tl.float64)
        tl.store(out, scale(wide) + UNIT)
        tl.store(out + 1, scale((ratio * 8).to(tl.int64), BY=factor + 1))
        if not (wide > 2 and addend >= 0):
            tl.store(out, 0)

    return closed_over


def test_closures_defaults_and_annotations():
    out = np.zeros(2, np.int64)
    simulate(kernel_of(5, 100), (1,), out, 3, 0.5)
    assert out.tolist() == [115, 24]
    simulate(kernel_of(5, -1), (1,), out, 3, 0.5)
    assert out.tolist() == [0, 24]


@triton.jit
def misspelt(out):
    tlx.alloc_barriers(1, arrivals=2)


@triton.jit
def with_a_vote(out):
    tl.store(out, tlx.vote_ballot_sync(0xFFFFFFFF, True))


@triton.jit
def with_assembly(out):
    value = tl.inline_asm_elementwise("mov.u32 $0, 1;", "=r", [], tl.int32, is_pure=True, pack=1)
    tl.store(out, value)


@pytest.mark.parametrize(("kernel", "name"), [(with_a_vote, "tlx.vote_ballot_sync"), (with_assembly, "inline_asm")])
def test_unknown_operations_are_errors(kernel, name):
    with pytest.raises(UnsupportedOperation, match=name) as caught:
        simulate(kernel, (1,), np.zeros(1, np.int32))
    first = kernel.def_file_line_number
    assert f"test_simulator.py:{first + 1}" in str(caught.value)


@triton.jit
def instruction(x, out, TEXT: tl.constexpr, KIND: tl.constexpr, PACK: tl.constexpr):
    at = tl.arange(0, 64)
    value = tl.load(x + at).to(KIND)
    tl.store(out + at, tl.inline_asm_elementwise(TEXT, "=f,f", [value], tl.float32, is_pure=True, pack=PACK))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("cos.approx.ftz", np.cos),
        ("ex2.approx.ftz", np.exp2),
        ("lg2.approx", np.log2),
        ("rcp.approx.ftz", lambda x: 1 / x),
        ("rsqrt.approx", lambda x: x**-0.5),
        ("sin.approx", np.sin),
        ("sqrt.approx", np.sqrt),
        ("tanh.approx", np.tanh),
    ],
)
def test_known_instructions_are_simulated(name, function):
    x = np.random.default_rng().uniform(0.1, 3, 64).astype(np.float32)
    out = np.full(64, np.nan, np.float32)
    simulate(instruction, (1,), x, out, TEXT=f"{name}.f32  $0, $1;", KIND=tl.float32, PACK=1)
    np.testing.assert_allclose(out, function(x.astype(np.float64)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "kind", "pack", "found"),
    [
        ("tanh.approx.f32 $0, $1; ex2.approx.f32 $0, $0;", tl.float32, 1, "'tanh.approx.f32 $0, $1; ex2"),
        ("tanh.approx.f32 $0, $1;", tl.float16, 1, "on fp16"),
        ("tanh.approx.f32 $0, $1;", tl.float32, 2, "'tanh.approx.f32 $0, $1;'"),
    ],
)
def test_other_assembly_is_an_error_that_says_what_to_do(text, kind, pack, found):
    x = np.ones(64, np.float32)
    with pytest.raises(UnsupportedOperation, match="inline_asm_elementwise of ") as caught:
        simulate(instruction, (1,), x, x.copy(), TEXT=text, KIND=kind, PACK=pack)
    assert f"test_simulator.py:{instruction.def_file_line_number + 3}" in str(caught.value)
    assert found in str(caught.value)
    assert "hint: call a function that is a tl.constexpr argument of the kernel" in str(caught.value)


def test_ops_of_hopper_are_known():
    from tritonext_tlx.simulator.operations import Operations

    blocks, refused = (
        {"async_task", "async_tasks"},
        {"vote_ballot_sync"},
    )
    known = {name for name in vars(Operations) if not name.startswith("_")}
    assert not refused & known
    assert set(tlx.supported_ops("cuda:90")) - known <= blocks | refused


def test_simulated_ops_take_the_arguments_of_the_ops():
    from tritonext_tlx.simulator.operations import Operations
    from tritonext_tlx.simulator.runner import Runtime, _Tasks

    def defaults(function, *others):
        signature = inspect.signature(function)
        # The kinds of storage are not imported to be defaults.
        left_out = ("self", "storage", "args", "_semantic", "_body", *others)
        return {name: item.default for name, item in signature.parameters.items() if name not in left_out}

    for name in tlx.supported_ops("cuda:90"):
        if (method := vars(Operations).get(name)) is not None:
            found, expected = defaults(method), defaults(getattr(tlx, name).fn)
            assert len(found) <= len(expected), name
            assert all(found[argument] == expected[argument] for argument in found.keys() & expected.keys()), name
    assert defaults(_Tasks.add, "label", "body", "place", "reads") == defaults(tlx.async_task.fn)
    assert defaults(Runtime.tasks, "names") == defaults(tlx.async_tasks.fn)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(plain.fn, (1,)), "takes a kernel"),
        (lambda: simulate(plain, (1,), 1), "do not fit"),
        (lambda: simulate(own_names, (1,), [1]), "argument out"),
        (lambda: simulate(own_names, (1,), np.zeros((8, 8), np.int32)[:, ::2]), "gaps"),
        (lambda: simulate(own_names, (1,), np.zeros(3, np.complex64)), "complex64"),
        (lambda: simulate(own_names, (1,), np.zeros(3, np.int32), num_ctas=2), "clusters"),
        (lambda: simulate(misspelt, (1,), np.zeros(3, np.int32)), "do not fit tlx.alloc_barriers"),
    ],
)
def test_arguments_are_checked(call, message):
    with pytest.raises(UserError, match=message):
        call()


def test_triton_is_left_as_it_was(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, sys, triton, triton.language as tl\n"
        "import tritonext_tlx as tlx\n"
        "assert 'tritonext_tlx.simulator.runner' not in sys.modules\n"
        "before = {name: getattr(tl, name) for name in dir(tl)}\n"
        "owners = [tl.tensor, tl.dtype, tl.condition, tl.core.tensor_descriptor_base, tl.math]\n"
        "state = lambda: [{k: v for k, v in vars(o).items() if k != '__annotations__'} for o in owners]\n"
        "members = state()\n"
        "@triton.jit\n"
        "def kernel(x):\n"
        "    tl.store(x, tl.load(x) + 1)\n"
        "x = np.zeros(1, np.float32)\n"
        "tlx.simulate(kernel, (3,), x)\n"
        "assert x[0] == 3\n"
        "assert before == {name: getattr(tl, name) for name in dir(tl)}\n"
        "assert members == state()\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = run_python(script)
    assert done.returncode == 0, done.stderr


def test_the_guide_shows_what_happens(tmp_path):
    guide = (pathlib.Path(__file__).parents[4] / "docs" / "tlx-simulator.md").read_text()
    code, message = (re.search(rf"```{kind}\n(.*?)```", guide, re.DOTALL)[1] for kind in ("python", "text"))
    script = tmp_path / "kernel.py"
    script.write_text(code)
    done = run_python(script)
    assert done.returncode == 1
    assert done.stderr.endswith(f"Deadlock: {message}")
    script.write_text(code.replace("barrier_wait(empty[slot], phase)", "barrier_wait(empty[slot], phase ^ 1)"))
    done = run_python(script)
    assert done.returncode == 0, done.stderr


@triton.jit
def shares_memory(x, out, n, WHAT: tl.constexpr):
    """Words and halves of one memory, used one after the other."""
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    spec = tlx.storage_alias_spec()
    words = tlx.local_alloc((32, 32), tl.float32, 2, reuse=spec)
    halves = tlx.local_alloc((32, 32), tl.float16, 4, reuse=spec)
    row = tlx.local_alloc((32,), tl.float32, 2, reuse=spec)
    if WHAT == "groups":
        inner = tlx.reuse_group(row, tlx.reuse_group(halves, group_size=2), group_type=tlx.reuse_group_type.distinct)
        spec.set_buffer_overlap(tlx.reuse_group(words, inner))
    if WHAT == "groups":
        # In use at the same time.
        tlx.local_store(row[n], tl.load(x + tl.arange(0, 32)))
    tlx.local_store(halves[2 + n], tl.load(x + at).to(tl.float16))
    value = tlx.local_load(halves[2 + n]).to(tl.float32)
    if WHAT == "groups":
        value += tlx.local_load(row[n])[None, :]
    if WHAT == "too late":
        tlx.local_store(words[1], value)
        value += tlx.local_load(halves[2 + n])
    tlx.local_store(words[1], value)
    tl.store(out + at, tlx.local_load(words[1]))


@pytest.mark.parametrize("what", ["from the start", "groups"])
@pytest.mark.parametrize("seed", SEEDS)
def test_buffers_share_memory(what, seed):
    x, out = random(32, 32, dtype=np.float32, seed=seed), np.zeros((32, 32), np.float32)
    report = simulate(shares_memory, (1,), x, out, 1, WHAT=what, seed=seed)
    np.testing.assert_array_equal(out, x.astype(np.float16).astype(np.float32) + (x[0] if what == "groups" else 0))
    # In groups a row lies behind two halves, and the group of it and them is a multiple of the words.
    assert report.shared_bytes == (2 * 4096 if what == "from the start" else 8192 + 4096 + 128)


@triton.jit
def rows_in_bulk(x, out, n, SIZE: tl.constexpr, READ_ONLY: tl.constexpr):
    """Rows come and go by one copy each."""
    slots = tlx.local_alloc((64,), tl.float32, 2)
    full = tlx.alloc_barriers(2)
    for i in range(n):
        slot, phase = tlx.get_bufidx_phase(i, 2)
        tlx.async_descriptor_store_wait(1, READ_ONLY)
        tlx.barrier_expect_bytes(full[slot], SIZE)
        tlx.async_load(x + i * 64, slots[slot], bulk=True, barrier=full[slot], bulk_size=SIZE)
        tlx.barrier_wait(full[slot], phase)
        tlx.async_store(out + i * 64, slots[slot], SIZE)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [256, 64])
def test_rows_are_copied_in_bulk(size, seed):
    x, out = random(5, 64, dtype=np.float32, seed=seed), np.zeros((5, 64), np.float32)
    simulate(rows_in_bulk, (1,), x, out, 5, SIZE=size, READ_ONLY=True, seed=seed)
    expected = np.zeros_like(x)
    expected[:, : size // 4] = x[:, : size // 4]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def stores_and_reads_back(x, out, READ_ONLY: tl.constexpr):
    row = tlx.local_alloc((64,), tl.float32)[0]
    tlx.local_store(row, tl.load(x + tl.arange(0, 64)))
    tlx.fence_async_shared()
    tlx.async_store(out, row, 256)
    tlx.async_descriptor_store_wait(0, READ_ONLY)
    tl.store(out + 64 + tl.arange(0, 64), tl.load(out + tl.arange(0, 64)))


def test_waits_for_writes_and_for_reads():
    """Who waits until buffers are read may find the memory as it was; who waits for the writes does not."""
    x = random(64, dtype=np.float32)

    def run(read_only, seed):
        out = np.zeros(128, np.float32)
        simulate(stores_and_reads_back, (1,), x, out, READ_ONLY=read_only, seed=seed)
        np.testing.assert_array_equal(out[:64], x)
        return bool((out[64:] == x).all())

    assert all(run(False, seed) for seed in range(20))
    assert not all(run(True, seed) for seed in range(20))


@triton.jit
def arguments_without_effect(x, out, LAYOUT: tl.constexpr):
    row = tlx.local_alloc((64,), tl.float32)[0]
    tlx.prefetch(x + tl.arange(0, 64), "L1")
    tlx.local_store(row, tl.load(x + tl.arange(0, 64)))
    value = tlx.require_layout(tlx.local_load(row, layout=LAYOUT), LAYOUT) + tlx.zeros((64,), tl.float32, LAYOUT)
    tlx.dump_layout(value)
    tlx.assert_same_layout(value, LAYOUT)
    tl.store(out + tl.arange(0, 64), tlx.release_layout(value))
    if tlx.get_fp8_format_name(tl.float8e5) == "e5m2":
        tl.store(out, 7.0)


def test_layouts_change_no_value():
    from triton.experimental.gluon.language import BlockedLayout

    x, out = random(64, dtype=np.float32), np.zeros(64, np.float32)
    simulate(arguments_without_effect, (1,), x, out, LAYOUT=BlockedLayout([1], [32], [4], [0]))
    np.testing.assert_array_equal(out, np.concatenate([[np.float32(7)], x[1:]]))


@triton.jit
def descriptors_in_memory(x, out, SLOTS: tl.constexpr):
    memory = tlx.allocate_tensor_descriptor(SLOTS)
    tile = tlx.local_alloc((16, 32), tl.float16)[0]
    made = tlx.alloc_barriers(SLOTS)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(SLOTS):
                tlx.make_tensor_descriptor(memory[i], x + i * 512, [16, 32], [32, 1], [16, 32])
                tlx.barrier_arrive(made[i])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
            for i in range(SLOTS):
                tlx.barrier_wait(made[i], 0)
                desc = tlx.reinterpret_tensor_descriptor(memory[i], [16, 32], tl.float16)
                tlx.barrier_expect_bytes(full[0], 1024)
                tlx.async_descriptor_load(desc, tile, [0, 0], full[0])
                tlx.barrier_wait(full[0], i & 1)
                tl.store(out + i * 512 + at, tlx.local_load(tile))


@pytest.mark.parametrize("seed", SEEDS)
def test_descriptors_are_kept_in_memory(seed):
    x, out = random(3, 16, 32, seed=seed), np.zeros((3, 16, 32), np.float16)
    simulate(descriptors_in_memory, (1,), x, out, SLOTS=3, seed=seed)
    np.testing.assert_array_equal(out, x)


@triton.jit
def small_ops(source, target, facts, HOW: tl.constexpr):
    tiles = tlx.local_alloc((16, 64), tl.float16, 2)
    full = tlx.alloc_barriers(1)
    started = tlx.clock64()
    tlx.async_descriptor_prefetch_tensor(source, [0, 0])
    tlx.barrier_expect_bytes(full[0], 2048)
    tlx.async_descriptor_load(source, tlx.local_view(tiles, 0), [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    tlx.local_store(tlx.local_view(tiles, 1), tlx.local_load(tlx.local_view(tiles, 0)) * 2)
    tlx.fence("gpu")
    if HOW == "fence":
        tlx.fence("async_shared")
    tlx.async_descriptor_store(target, tlx.local_view(tiles, 1), [0, 0])
    tlx.async_descriptor_store_wait(0)
    tl.store(facts, (tlx.clock64() > started).to(tl.int32))
    tl.store(facts + 1, tlx.thread_id(0))
    tl.store(facts + 2, tlx.thread_id(1))


def test_small_ops():
    """Clocks go on, the program is its first thread, and only a fence for it makes a store visible to a copy."""
    x = np.random.default_rng().standard_normal((16, 64)).astype(np.float16)
    y, facts = np.full_like(x, np.nan), np.full(3, -1, np.int32)
    tiles = [Descriptor(item, [16, 64]) for item in (x, y)]
    simulate(small_ops, (1,), *tiles, facts, HOW="fence")
    np.testing.assert_array_equal(y, x * 2)
    assert facts.tolist() == [1, 0, 0]
    with pytest.raises(MissingFence):
        simulate(small_ops, (1,), *tiles, facts, HOW="none")


@triton.jit
def shown_to_the_cluster(x):
    bars = tlx.alloc_barriers(1)
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    tlx.barrier_arrive(bars[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)
    tlx.barrier_wait(bars[0], 0)
    tl.store(x + tl.program_id(0), tl.program_id(0))


def test_barriers_are_shown_to_the_cluster():
    x = np.full(8, -1, np.int32)
    simulate(shown_to_the_cluster, (8,), x, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(x, np.arange(8))
