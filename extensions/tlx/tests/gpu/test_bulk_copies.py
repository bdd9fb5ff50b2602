"""Numbers of bulk copies, required layouts and descriptors in memory, against exact references."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import BlockedLayout

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

COLUMNS = tl.constexpr(BlockedLayout([4, 1], [32, 1], [1, 4], [0, 1]))


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("bulk copies need a GPU of compute capability 9.0 or later")


@triton.jit
def ring(x, y, rows, SIZE: tl.constexpr, BYTES: tl.constexpr, POLICY: tl.constexpr):
    """A task brings rows, the other one doubles them and takes them away."""
    slots = tlx.local_alloc((SIZE,), x.dtype.element_ty, 3)
    full = tlx.alloc_barriers(3)
    empty = tlx.alloc_barriers(3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(rows):
                slot, phase = tlx.get_bufidx_phase(i, 3)
                tlx.barrier_wait(full[slot], phase)
                tlx.local_store(slots[slot], tlx.local_load(slots[slot]) * 2)
                tlx.fence_async_shared()
                tlx.async_store(y + i * SIZE, slots[slot], BYTES)
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty[slot])
        with tlx.async_task(num_warps=1):
            for i in range(rows):
                slot, phase = tlx.get_bufidx_phase(i, 3)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], BYTES)
                tlx.async_load(
                    x + i * SIZE,
                    slots[slot],
                    bulk=True,
                    bulk_size=BYTES,
                    barrier=full[slot],
                    eviction_policy=POLICY,
                )


@pytest.mark.parametrize("policy", ["", "evict_first", "evict_last"])
@pytest.mark.parametrize("part", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float16, torch.int32])
def test_rows(dtype, part, policy):
    x = torch.randint(-1000, 1000, (37, 512), device="cuda").to(dtype)
    y = torch.full_like(x, 7)
    size = 512 * x.element_size() // part
    ring[(1,)](x, y, 37, SIZE=512, BYTES=size, POLICY=policy)
    half = 512 // part
    assert torch.equal(y[:, :half], 2 * x[:, :half])
    assert bool((y[:, half:] == 7).all())


@triton.jit
def by_threads(x, y, SIZE: tl.constexpr):
    """Without tasks: each copy follows loads of the slot by all threads."""
    slot = tlx.local_alloc((SIZE,), tl.float32)[0]
    full = tlx.alloc_barriers(1)
    for i in range(32):
        tlx.barrier_expect_bytes(full[0], SIZE * 4)
        tlx.async_load(x + i * SIZE, slot, bulk=True, barrier=full[0])
        tlx.barrier_wait(full[0], i & 1)
        # In another order than that of the bytes.
        at = SIZE - 1 - tl.arange(0, SIZE)
        tl.store(y + i * SIZE + at, tlx.local_load(slot))


def test_rows_of_all_threads():
    x = torch.randn(32, 2048, device="cuda")
    y = torch.full_like(x, float("nan"))
    by_threads[(1,)](x, y, SIZE=2048)
    assert torch.equal(y, x.flip(1))


@triton.jit
def required(x, y, z):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    slot = tlx.local_alloc((64, 64), tl.float32)[0]
    tlx.local_store(slot, tl.load(x + at))
    tl.store(y + at, tlx.local_load(slot, layout=COLUMNS))
    value = tlx.require_layout(tl.load(x + at) + 1, COLUMNS)
    tl.store(z + at, tlx.release_layout(value) + tlx.zeros((64, 64), tl.float32, COLUMNS))


def test_layouts_change_no_value():
    x = torch.randn(64, 64, device="cuda")
    y, z = torch.full_like(x, float("nan")), torch.full_like(x, float("nan"))
    required[(1,)](x, y, z)
    assert torch.equal(y, x)
    assert torch.equal(z, x + 1)


@triton.jit
def in_memory(x, y, SLOTS: tl.constexpr):
    """One task makes descriptors, another one copies by them."""
    memory = tlx.allocate_tensor_descriptor(SLOTS)
    tile = tlx.local_alloc((64, 64), tl.float16)[0]
    made = tlx.alloc_barriers(SLOTS)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(SLOTS):
                tlx.make_tensor_descriptor(memory[i], x + i * 4096, [64, 64], [64, 1], [64, 64])
                tlx.barrier_arrive(made[i])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            for i in range(SLOTS):
                tlx.barrier_wait(made[i], 0)
                desc = tlx.reinterpret_tensor_descriptor(memory[i], [64, 64], tl.float16)
                tlx.prefetch(desc, tensormap=True)
                tlx.barrier_expect_bytes(full[0], 8192)
                tlx.async_descriptor_load(desc, tile, [0, 0], full[0])
                tlx.barrier_wait(full[0], i & 1)
                tl.store(y + i * 4096 + at, tlx.local_load(tile))


def test_descriptors_in_memory():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x = torch.randn(5, 64, 64, device="cuda").half()
    y = torch.full_like(x, float("nan"))
    in_memory[(1,)](x, y, SLOTS=5)
    assert torch.equal(y, x)


@triton.jit
def rounded(x, bits, y):
    at = tl.arange(0, 1024)
    tl.store(y + at, tlx.stoch_round(tl.load(x + at), y.dtype.element_ty, tl.load(bits + at)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounding_at_random(dtype):
    if torch.cuda.get_device_capability() < (10, 0):
        pytest.skip("the GPU does not round at random")
    x = torch.randn(1024, device="cuda")
    total = torch.zeros(1024, device="cuda", dtype=torch.float64)
    for _ in range(200):
        y = torch.empty(1024, device="cuda", dtype=dtype)
        rounded[(1,)](x, torch.randint(-(2**31), 2**31, (1024,), device="cuda", dtype=torch.int32), y)
        step = torch.finfo(dtype).eps * x.abs().double() * 2
        assert bool(((y.double() - x.double()).abs() <= step).all())
        total += y.double()
    # The mean of 200 is within a tenth or so of a step.
    assert float((total / 200 - x.double()).abs().mean()) < float(step.mean()) / 8
