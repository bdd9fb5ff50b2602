"""Numbers of kernels with tasks, barriers and descriptor copies, against float64 or exact references."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import triton
import triton.language as tl

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_tasks.py"


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")


@pytest.fixture(scope="module")
def matmul():
    spec = importlib.util.spec_from_file_location("gemm_tasks", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.matmul


def random(*shape, dtype=torch.float16, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)


@pytest.mark.parametrize(
    "shape",
    [
        (128, 256, 64),
        (256, 512, 192),
        (4096, 4096, 1024),
        # Edges inside of tiles, more tiles than processors, and a K shorter than the ring and than a slot.
        (1000, 776, 328),
        (8192, 4096, 256),
        (256, 256, 24),
        (72, 8, 8),
    ],
)
@pytest.mark.parametrize("tile", [{}, {"BN": 128, "STAGES": 4}, {"BM": 64, "GROUPS": 1, "STAGES": 2}])
def test_gemm(matmul, shape, tile):
    m, n, k = shape
    x, y = random(m, k, seed=m + k), random(k, n, seed=n + k)
    reference = x.double() @ y.double()
    for _ in range(3):
        out = matmul(x, y, **tile)
        # Products and sums are exact to fp32, so the error is that of the last rounding.
        torch.testing.assert_close(out.double(), reference, rtol=1e-3, atol=2e-3 * k**0.5)


@triton.jit
def handed_over(x, y, n, M: tl.constexpr, SLOTS: tl.constexpr, WARPS: tl.constexpr):
    tile = tlx.local_alloc((M, M), tl.float32, SLOTS)
    full = tlx.alloc_barriers(SLOTS)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=2)
    start = tl.program_id(0) * n
    with tlx.async_tasks():
        with tlx.async_task("default"):
            cells = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, SLOTS)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.local_store(tile[slot], tl.load(x + (start + i) * M * M + cells))
                tlx.barrier_arrive(full[slot])
        with tlx.async_task(num_warps=WARPS, replicate=2):
            replica: tl.constexpr = tlx.async_task_replica_id()
            cells = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
            total = tl.zeros((M,), tl.float32)
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, SLOTS)
                tlx.barrier_wait(full[slot], phase)
                value = tlx.local_load(tile[slot])
                tlx.barrier_arrive(empty[slot])
                total += tl.sum(value, 1 - replica)
                if replica == 0:
                    tl.store(y + (start + i) * M * M + cells, tl.trans(value) * 2)
            sums = y + tl.num_programs(0) * n * M * M
            tl.store(sums + (tl.program_id(0) * 2 + replica) * M + tl.arange(0, M), total)


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_tensors_pass_between_tasks_of_any_warps(slots, warps):
    programs, n, m = 5, 7, 32
    x = random(programs, n, m, m, dtype=torch.float32, seed=slots + 10 * warps)
    y = torch.full((programs * n * m * m + programs * 2 * m,), float("nan"), device="cuda")
    handed_over[(programs,)](x, y, n, M=m, SLOTS=slots, WARPS=warps)
    tiles, sums = y[: x.numel()].view_as(x), y[x.numel() :].view(programs, 2, m)
    assert torch.equal(tiles, x.mT * 2)
    torch.testing.assert_close(sums[:, 0].double(), x.double().sum((1, 3)), rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(sums[:, 1].double(), x.double().sum((1, 2)), rtol=1e-5, atol=1e-4)


@triton.jit
def copied(source, target, n, REDUCE: tl.constexpr, DTYPE: tl.constexpr, STEP: tl.constexpr):
    tile = tlx.local_alloc((64, 64), DTYPE, 2)
    full = tlx.alloc_barriers(2)
    for i in range(n):
        slot, phase = tlx.get_bufidx_phase(i, 2)
        tlx.barrier_expect_bytes(full[slot], 64 * 64 * tl.constexpr(DTYPE.primitive_bitwidth // 8))
        # The slot is free when at most the store before this one still reads.
        tlx.async_descriptor_store_wait(1)
        tlx.async_descriptor_load(source, tile[slot], [i * 64, 0], full[slot])
        tlx.barrier_wait(full[slot], phase)
        tlx.async_descriptor_store(target, tile[slot], [i * STEP, 0], store_reduce=REDUCE)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize(("rows", "columns"), [(256, 64), (200, 40)])
def test_tiles_are_copied_and_edges_respected(rows, columns):
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = random(rows, columns)
    y = torch.full((rows + 64, columns + 24), -7.0, device="cuda", dtype=torch.float16)
    inner = y[:rows, :columns]
    described = [TensorDescriptor(t, list(inner.shape), list(t.stride()), [64, 64]) for t in (x, y)]
    copied[(1,)](*described, triton.cdiv(rows, 64), REDUCE="", DTYPE=tl.float16, STEP=64)
    assert torch.equal(inner, x)
    # Nothing outside of the tensor that the descriptor names is touched.
    inner.fill_(-7.0)
    assert bool((y == -7.0).all())


@pytest.mark.parametrize(
    ("reduce", "dtype", "triton_dtype"),
    [("add", torch.float32, tl.float32), ("add", torch.int32, tl.int32), ("max", torch.int32, tl.int32)],
)
def test_tiles_are_reduced(reduce, dtype, triton_dtype):
    from triton.tools.tensor_descriptor import TensorDescriptor

    n = 9
    x = (random(n * 64, 64, dtype=torch.float32) * 100).to(dtype)
    y = torch.zeros((64, 64), device="cuda", dtype=dtype)
    source, target = (TensorDescriptor.from_tensor(t, [64, 64]) for t in (x, y))
    copied[(1,)](source, target, n, REDUCE=reduce, DTYPE=triton_dtype, STEP=0)
    tiles = x.view(n, 64, 64)
    if reduce == "max":
        assert torch.equal(y, tiles.amax(0).clamp(min=0))
    elif dtype == torch.int32:
        assert torch.equal(y, tiles.sum(0).to(dtype))
    else:
        torch.testing.assert_close(y.double(), tiles.double().sum(0), rtol=1e-5, atol=1e-3)


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


@pytest.mark.parametrize("n", [0, 1, 9])
def test_named_barriers_order_two_tasks(n):
    out = torch.full((128,), -1, device="cuda", dtype=torch.int32)
    alternating[(1,)](out, n)
    expected = 0
    for _ in range(n):
        expected = (expected * 2 + 1) * 3
    assert torch.equal(out, torch.full_like(out, expected))


@triton.jit
def by_threads(out, n):
    cell = tlx.local_alloc((128,), tl.int32, 1)
    full = tlx.alloc_warp_barrier(1, num_warps=4)
    empty = tlx.alloc_warp_barrier(1, num_warps=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                tlx.barrier_wait(empty[0], (i & 1) ^ 1)
                tlx.local_store(cell[0], tl.arange(0, 128) * i)
                tlx.barrier_arrive(full[0])
        with tlx.async_task(num_warps=2):
            sums = tl.zeros((128,), tl.int32)
            for i in range(n):
                tlx.barrier_wait(full[0], i & 1)
                sums += tlx.local_load(cell[0])
                tlx.barrier_arrive(empty[0])
            tl.store(out + tl.arange(0, 128), sums)


@pytest.mark.parametrize("n", [0, 1, 2, 101])
def test_threads_arrive_one_by_one(n):
    out = torch.full((128,), -1, device="cuda", dtype=torch.int32)
    by_threads[(1,)](out, n)
    assert torch.equal(out, torch.arange(128, device="cuda", dtype=torch.int32) * (n * (n - 1) // 2))


@triton.jit
def voted(out, n):
    thread = tlx.thread_id(0)
    tl.store(out, tlx.vote_ballot_sync(0xFFFFFFFF, thread > n))


def test_votes():
    out = torch.zeros((1,), device="cuda", dtype=torch.int32)
    voted[(1,)](out, 3)
    # Of the first warp, threads 4 to 31.
    assert out.item() == -16


@triton.jit
def registers(threads, clocks):
    before = tlx.clock64()
    thread = tlx.thread_id(0)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.atomic_max(threads, thread)
        with tlx.async_task(num_warps=1):
            tl.atomic_max(threads + 1, tlx.thread_id(0))
    tl.store(threads + 2, tlx.cluster_cta_rank())
    tl.store(threads + 3, tlx.cluster_size_1d())
    tl.store(clocks, tlx.clock64() - before)


def test_registers():
    threads = torch.full((4,), -1, device="cuda", dtype=torch.int32)
    clocks = torch.full((1,), -1, device="cuda", dtype=torch.int64)
    registers[(1,)](threads, clocks)
    first, second, rank, size = threads.tolist()
    # One thread of each task does what a scalar program does; that of the other task is behind the kernel's warps.
    assert 0 <= first < 128 <= second < 256
    assert (rank, size) == (0, 1)
    assert 0 < clocks.item() < 10**8
