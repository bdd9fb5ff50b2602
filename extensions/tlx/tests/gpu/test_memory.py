"""Numbers of buffers, asynchronous copies and asynchronous dots against torch."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import triton
import triton.language as tl

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_pipelined.py"


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the GPU has no warp-group MMA")


def random(*shape, dtype=torch.float16):
    return torch.randn(shape, device="cuda").to(dtype)


@triton.jit
def tile(ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]


@triton.jit
def ring(x, y, n, SLOTS: tl.constexpr, SIZE: tl.constexpr):
    """Rotate tiles through slots chosen at run time."""
    o = tile(SIZE, SIZE)
    slots = tlx.local_alloc((SIZE, SIZE), x.dtype.element_ty, SLOTS)
    for i in tl.static_range(SLOTS):
        tlx.local_store(slots[i], tl.load(x + i * SIZE * SIZE + o))
    for i in range(SLOTS):
        tl.store(y + i * SIZE * SIZE + o, tlx.local_load(slots[(i + n) % SLOTS]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8, torch.int64])
@pytest.mark.parametrize("size", [16, 64])
def test_slots(dtype, size):
    x = torch.randint(-100, 100, (3, size, size), device="cuda").to(dtype)
    y = torch.empty_like(x)
    ring[(1,)](x, y, 2, SLOTS=3, SIZE=size)
    assert torch.equal(y, x.roll(-2, 0))


@triton.jit
def views(x, turned, half, flat, words):
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(slot, tl.load(x + tile(64, 64)))
    tl.store(turned + tile(64, 64), tlx.local_load(tlx.local_trans(slot)))
    tl.store(half + tile(32, 32), tlx.local_load(tlx.local_slice(slot, (32, 0), (32, 32))))
    tl.store(flat + tl.arange(0, 4096), tlx.local_load(tlx.local_reshape(slot, (4096,))))
    same = tlx.local_load(tlx.local_reinterpret(slot, tl.int16))
    tl.store(words + tile(64, 64), same)


def test_views():
    x = random(64, 64)
    turned, half, flat = torch.empty_like(x), random(32, 32), random(4096)
    words = torch.empty((64, 64), device="cuda", dtype=torch.int16)
    views[(1,)](x, turned, half, flat, words)
    assert torch.equal(turned, x.T)
    assert torch.equal(half, x[32:, :32])
    assert torch.equal(flat, x.flatten())
    assert torch.equal(words, x.view(torch.int16))


@triton.jit
def store_through_views(x, y):
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    for i in tl.static_range(4):
        part = tlx.local_slice(slot, (32 * (i // 2), 32 * (i % 2)), (32, 32))
        tlx.local_store(tlx.local_trans(part), tl.load(x + i * 1024 + tile(32, 32)))
    tl.store(y + tile(64, 64), tlx.local_load(slot))


def test_stores_through_views():
    x, y = random(4, 32, 32), random(64, 64)
    store_through_views[(1,)](x, y)
    expected = torch.cat([torch.cat([x[0].T, x[1].T], 1), torch.cat([x[2].T, x[3].T], 1)])
    assert torch.equal(y, expected)


@triton.jit
def reused(x, y, z):
    ring = tlx.local_alloc((64, 64), tl.float16, 2)
    tlx.local_store(ring[0], tl.load(x + tile(64, 64)))
    first = tlx.local_load(ring[0])
    words = tlx.local_alloc((64, 64), tl.int16, reuse=ring)[0]
    tlx.local_store(words, first.to(tl.int16))
    tl.store(y + tile(64, 64), first)
    tl.store(z + tile(64, 64), tlx.local_load(ring[0]))


def test_reused_memory():
    x = torch.randint(-9, 9, (64, 64), device="cuda").half()
    y, z = torch.empty_like(x), torch.empty_like(x)
    reused[(1,)](x, y, z)
    assert torch.equal(y, x)
    assert torch.equal(z.view(torch.int16), x.to(torch.int16))


@triton.jit
def shared_by_slots(x, y, n):
    """Halves that lie apart, so that words of the same number lie over them."""
    spec = tlx.storage_alias_spec()
    row = tlx.local_alloc((64,), tl.float32, 2, reuse=spec)
    words = tlx.local_alloc((64, 64), tl.float32, 2, reuse=spec)
    halves = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    spec.set_buffer_overlap(
        tlx.reuse_group(words, tlx.reuse_group(row, halves, group_type=tlx.reuse_group_type.distinct))
    )
    for i in tl.static_range(2):
        tlx.local_store(row[i], tl.load(x + i * 4096 + tl.arange(0, 64)).to(tl.float32))
        tlx.local_store(halves[i], tl.load(x + i * 4096 + tile(64, 64)))
    value = tlx.local_load(halves[n]).to(tl.float32) + tlx.local_load(row[n])[None, :]
    tlx.local_store(words[1 - n], value)
    tl.store(y + tile(64, 64), tlx.local_load(words[1 - n]) + tlx.local_load(halves[n]))


@pytest.mark.parametrize("slot", [0, 1])
def test_slots_of_one_number_share_memory(slot):
    x, y = random(2, 64, 64), torch.full((64, 64), float("nan"), device="cuda")
    shared_by_slots[(1,)](x, y, slot)
    assert torch.equal(y, 2 * x[slot].float() + x[slot, 0].float())


@triton.jit
def indexed(x, index, gathered, scattered, AXIS: tl.constexpr):
    slots = tlx.local_alloc((64, 32), tl.float32, 2)
    at = tl.load(index + tile(64, 32))
    tlx.local_store(slots[0], tl.load(x + tile(64, 32)))
    tlx.local_store(slots[1], tl.zeros((64, 32), tl.float32))
    tl.store(gathered + tile(64, 32), tlx.local_gather(slots[0], at, AXIS))
    tlx.local_scatter(slots[1], tl.load(x + tile(64, 32)), at, AXIS)
    tl.store(scattered + tile(64, 32), tlx.local_load(slots[1]))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_and_scatter(axis):
    x = random(64, 32, dtype=torch.float32)
    index = torch.rand((64, 32), device="cuda").argsort(axis).to(torch.int32)
    gathered, scattered = torch.empty_like(x), torch.empty_like(x)
    indexed[(1,)](x, index, gathered, scattered, AXIS=axis)
    assert torch.equal(gathered, x.gather(axis, index.long()))
    assert torch.equal(scattered, torch.zeros_like(x).scatter(axis, index.long(), x))


@triton.jit
def load_before_loop(x, y, n):
    slot = tlx.local_alloc((64, 64), tl.float32)[0]
    tlx.local_store(slot, tl.load(x + tile(64, 64)))
    value = tlx.local_load(slot)
    total = tl.zeros((64, 64), tl.float32)
    for _ in range(n):
        total += value
        tlx.local_store(slot, total)
    tl.store(y + tile(64, 64), total)


def test_a_load_sees_the_stores_before_it_and_no_others():
    x = torch.randint(-9, 9, (64, 64), device="cuda").float()
    y = torch.empty_like(x)
    load_before_loop[(1,)](x, y, 5)
    assert torch.equal(y, 5 * x)


@triton.jit
def sum_tiles(x, y, n, limit, STAGES: tl.constexpr, POLICY: tl.constexpr):
    o = tile(64, 64)
    slots = tlx.local_alloc((64, 64), tl.float32, STAGES)
    for i in tl.static_range(STAGES - 1):
        tlx.async_load(x + i * 4096 + o, slots[i], mask=(o < limit) & (i < n), eviction_policy=POLICY)
        tlx.async_load_commit_group()
    total = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        tlx.async_load_wait_group(STAGES - 2)
        total += tlx.local_load(slots[i % STAGES])
        ahead = i + STAGES - 1
        tlx.async_load(x + ahead * 4096 + o, slots[ahead % STAGES], mask=(o < limit) & (ahead < n))
        tlx.async_load_commit_group()
    tl.store(y + o, total)


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 17])
@pytest.mark.parametrize("limit", [4096, 1000, 0])
def test_copies_in_a_ring(stages, n, limit):
    x = torch.randint(-9, 9, (n, 64, 64), device="cuda").float()
    y = torch.full((64, 64), float("nan"), device="cuda")
    policy = "evict_first" if torch.cuda.get_device_capability()[0] >= 9 else ""
    sum_tiles[(1,)](x, y, n, limit, STAGES=stages, POLICY=policy)
    expected = x.sum(0).flatten()
    expected[limit:] = 0
    assert torch.equal(y.flatten(), expected)


@triton.jit
def product(
    a,
    b,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    REGISTERS: tl.constexpr,
    COLUMNS: tl.constexpr,
    USE: tl.constexpr,
    OUT: tl.constexpr,
):
    a_tile = tlx.local_alloc((M, K), a.dtype.element_ty)[0]
    left = tl.load(a + tile(M, K))
    tlx.local_store(a_tile, left)
    if COLUMNS:
        b_tile = tlx.local_alloc((N, K), b.dtype.element_ty)[0]
        tlx.local_store(b_tile, tl.load(b + tile(N, K)))
        b_tile = tlx.local_trans(b_tile)
    else:
        b_tile = tlx.local_alloc((K, N), b.dtype.element_ty)[0]
        tlx.local_store(b_tile, tl.load(b + tile(K, N)))
    acc = tl.full((M, N), 3, OUT)
    acc = tlx.async_dot(left if REGISTERS else a_tile, b_tile, acc, use_acc=USE)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c + tile(M, N), acc)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("use", [False, True])
@pytest.mark.parametrize(
    ("dtype", "columns", "out"),
    [
        (torch.float16, False, torch.float32),
        (torch.float16, True, torch.float16),
        (torch.bfloat16, False, torch.float32),
        (torch.float32, True, torch.float32),
        (torch.float8_e4m3fn, True, torch.float32),
        (torch.float8_e5m2, True, torch.float32),
        (torch.int8, True, torch.int32),
    ],
)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (128, 256, 64)])
def test_products(hopper, dtype, columns, out, registers, use, warps, m, n, k):
    # Small integers, so that every type holds every sum exactly.
    a, b = (torch.randint(-3, 4, shape, device="cuda").to(dtype) for shape in ((m, k), (n, k) if columns else (k, n)))
    c = torch.empty((m, n), device="cuda", dtype=out)
    out_type = {torch.float32: tl.float32, torch.float16: tl.float16, torch.int32: tl.int32}[out]
    product[(1,)](a, b, c, M=m, N=n, K=k, REGISTERS=registers, COLUMNS=columns, USE=use, OUT=out_type, num_warps=warps)
    expected = a.double() @ (b.double().T if columns else b.double()) + (3 if use else 0)
    assert torch.equal(c.double(), expected)


@triton.jit
def chained(a, b, c, n):
    o = tile(64, 64)
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    tlx.local_store(tiles[0], tl.load(a + o))
    tlx.local_store(tiles[1], tl.load(b + o))
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        acc = tlx.async_dot(tiles[0], tiles[1], acc)
        if i > 1:
            acc = tlx.async_dot(tiles[1], tiles[0], acc)
        acc = tlx.async_dot_wait(0, acc)
        acc = acc * 0.5
    tl.store(c + o, acc)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_accumulator_through_loop_branch_and_arithmetic(hopper, n):
    a, b = (torch.randint(-3, 4, (64, 64), device="cuda").half() for _ in range(2))
    c = torch.empty((64, 64), device="cuda")
    chained[(1,)](a, b, c, n)
    expected = torch.zeros((64, 64), device="cuda", dtype=torch.float64)
    for i in range(n):
        expected = (expected + a.double() @ b.double() + (b.double() @ a.double() if i > 1 else 0)) / 2
    assert torch.equal(c.double(), expected)


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("gemm_pipelined", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(128, 256, 64), (128, 256, 80), (512, 512, 1024), (1001, 784, 528), (2048, 2048, 2048), (7, 16, 16)],
)
def test_pipelined_gemm(hopper, example, dtype, stages, m, n, k):
    a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
    c = example.matmul(a, b, STAGES=stages)
    expected = a.double() @ b.double()
    # One rounding to the type of the result, and the order of sums of 32-bit floats.
    tolerance = torch.finfo(dtype).eps
    torch.testing.assert_close(c.double(), expected, rtol=tolerance, atol=tolerance * k**0.5)


def test_pipelined_gemm_is_the_same_every_time(hopper, example):
    """A slot that is filled too early shows up as a difference between runs."""
    a, b = random(4096, 2048), random(2048, 4096)
    first = example.matmul(a, b)
    for _ in range(20):
        assert torch.equal(example.matmul(a, b), first)
