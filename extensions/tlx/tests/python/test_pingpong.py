"""Two tasks that take turns with the tensor cores, by the option ``tlx:pingpong=true``."""

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext
from tritonext.errors import OptionError

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")


@triton.jit
def attend(
    q,
    k,
    v,
    out,
    scale,
    steps,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    STAGES: tl.constexpr,
    UNEQUAL: tl.constexpr = 0,
):
    """Attention of 2 * BM queries for each program, of one head, without a mask.

    The second consumer stops UNEQUAL blocks before the first.
    """
    DTYPE: tl.constexpr = tlx.dtype_of(q)
    BYTES: tl.constexpr = tlx.size_of(DTYPE)
    q_tiles = tlx.local_alloc((BM, D), DTYPE, 2)
    k_tiles = tlx.local_alloc((BN, D), DTYPE, STAGES)
    v_tiles = tlx.local_alloc((BN, D), DTYPE, STAGES)
    q_full = tlx.alloc_barriers(2)
    k_full = tlx.alloc_barriers(STAGES)
    v_full = tlx.alloc_barriers(STAGES)
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=2)
    v_empty = tlx.alloc_barriers(STAGES, arrive_count=2)
    row = tl.program_id(0) * 2 * BM
    first = tl.program_id(1) * steps * BN
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for part in tl.static_range(2):
                tlx.barrier_expect_bytes(q_full[part], BM * D * BYTES)
                place = tl.program_id(1) * tl.num_programs(0) * 2 * BM + row + part * BM
                tlx.async_descriptor_load(q, q_tiles[part], [place, 0], q_full[part])
            for step in range(steps):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(k_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(k_full[slot], BN * D * BYTES)
                tlx.async_descriptor_load(k, k_tiles[slot], [first + step * BN, 0], k_full[slot])
                tlx.barrier_wait(v_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(v_full[slot], BN * D * BYTES)
                tlx.async_descriptor_load(v, v_tiles[slot], [first + step * BN, 0], v_full[slot])
        with tlx.async_task(num_warps=4, num_regs=240, replicate=2):
            part: tl.constexpr = tlx.async_task_replica_id()
            total = tl.zeros((BM,), tl.float32)
            most = tl.full((BM,), float("-inf"), tl.float32)
            acc = tl.zeros((BM, D), tl.float32)
            mine = steps - UNEQUAL if part == 1 else steps
            tlx.barrier_wait(q_full[part], 0)
            for step in range(mine):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(k_full[slot], phase)
                scores = tlx.async_dot(q_tiles[part], tlx.local_trans(k_tiles[slot]))
                scores = tlx.async_dot_wait(0, scores)
                tlx.barrier_arrive(k_empty[slot])
                highest = tl.maximum(most, tl.max(scores, 1) * scale)
                weights = tl.exp2(scores * scale - highest[:, None])
                shrink = tl.exp2(most - highest)
                total = total * shrink + tl.sum(weights, 1)
                acc = acc * shrink[:, None]
                most = highest
                tlx.barrier_wait(v_full[slot], phase)
                acc = tlx.async_dot(weights.to(DTYPE), v_tiles[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(v_empty[slot])
            for step in range(mine, steps):
                # A slot is released once for each tile: earlier, and the arrival would count for the tile before.
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(k_full[slot], phase)
                tlx.barrier_arrive(k_empty[slot])
                tlx.barrier_wait(v_full[slot], phase)
                tlx.barrier_arrive(v_empty[slot])
            rows = tl.program_id(1) * tl.num_programs(0) * 2 * BM + row + part * BM + tl.arange(0, BM)
            at = rows[:, None] * D + tl.arange(0, D)[None, :]
            tl.store(out + at, (acc / total[:, None]).to(DTYPE))


@triton.jit
def multiply(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    """A persistent product whose two consumers compute tiles of their own, each by a ring of its own."""
    a_tiles = tlx.local_alloc((BM, BK), tl.float16, 2 * STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tl.float16, 2 * STAGES)
    full = tlx.alloc_barriers(2 * STAGES)
    empty = tlx.alloc_barriers(2 * STAGES)
    columns = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * columns
    steps = tl.cdiv(K, BK)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            first = tl.program_id(0)
            stride = tl.num_programs(0)
            for tile in range(first, tiles, stride):
                number = (tile - first) // stride
                for step in range(steps):
                    slot, phase = tlx.get_bufidx_phase(number // 2 * steps + step, STAGES)
                    slot += number % 2 * STAGES
                    tlx.barrier_wait(empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(full[slot], (BM + BN) * BK * 2)
                    tlx.async_descriptor_load(a, a_tiles[slot], [tile // columns * BM, step * BK], full[slot])
                    tlx.async_descriptor_load(b, b_tiles[slot], [step * BK, tile % columns * BN], full[slot])
        with tlx.async_task(num_warps=4, num_regs=240, replicate=2):
            part: tl.constexpr = tlx.async_task_replica_id()
            stride = tl.num_programs(0)
            count = 0
            for tile in range(tl.program_id(0) + part * stride, tiles, 2 * stride):
                acc = tl.zeros((BM, BN), tl.float32)
                for _ in range(steps):
                    slot, phase = tlx.get_bufidx_phase(count, STAGES)
                    slot += part * STAGES
                    tlx.barrier_wait(full[slot], phase)
                    acc = tlx.async_dot(a_tiles[slot], b_tiles[slot], acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty[slot])
                    count += 1
                rows = tile // columns * BM + tl.arange(0, BM)
                at = rows[:, None] * N + tile % columns * BN + tl.arange(0, BN)[None, :]
                tl.store(out + at, acc.to(tl.float16))


@triton.jit
def once(desc, out):
    """Two tasks that multiply, but not in a loop with something else."""
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for part in tl.static_range(2):
                tlx.barrier_expect_bytes(full[part], 8192)
                tlx.async_descriptor_load(desc, tiles[part], [part * 64, 0], full[part])
        with tlx.async_task(num_warps=4, replicate=2):
            part: tl.constexpr = tlx.async_task_replica_id()
            tlx.barrier_wait(full[part], 0)
            acc = tlx.async_dot_wait(0, tlx.async_dot(tiles[part], tiles[part]))
            at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            tl.store(out + part * 4096 + at, acc.to(tl.float16))


ATTEND = (
    "q=tensordesc<fp16[64, 64]>, k=tensordesc<fp16[64, 64]>, v=tensordesc<fp16[64, 64]>, out=*fp16:16, scale=fp32, "
    "steps=i32"
)
MULTIPLY = "a=tensordesc<fp16[64, 64]>, b=tensordesc<fp16[64, 128]>, out=*fp16:16, M=i32:16, N=i32:16, K=i32:16"
ONCE = "desc=tensordesc<fp16[64, 64]>, out=*fp16:16"
KERNELS = [
    (attend, ATTEND, {"BM": 64, "BN": 64, "D": 64, "STAGES": 2}),
    (multiply, MULTIPLY, {"BM": 64, "BN": 128, "BK": 64, "STAGES": 3}),
]
TAKE = re.compile(r"mov\.u32 %begin, %clock;")
PASS = re.compile(r"add\.s32 %mine, %mine, 1;")


@pytest.fixture
def both(compiled):
    """Compile a kernel without the option and with it."""

    def compile_both(kernel, signature, target="cuda:90", **constants):
        plain = compiled(kernel, signature, target, **constants)
        with tritonext.use("tlx:pingpong=true"):
            return plain, compiled(kernel, signature, target, **constants)

    return compile_both


@pytest.mark.parametrize(("kernel", "signature", "constants", "turns"), [(*KERNELS[0], 2), (*KERNELS[1], 1)])
def test_both_tasks_take_turns(both, kernel, signature, constants, turns):
    plain, ordered = (result.asm["ptx"] for result in both(kernel, signature, **constants))
    assert not TAKE.search(plain)
    assert len(TAKE.findall(ordered)) == len(PASS.findall(ordered)) == 2 * turns
    # One has to have had as many turns as the other, and the other more.
    assert len(re.findall(r"setp\.ge\.s32 %over, %theirs, %mine;", ordered)) == turns
    assert len(re.findall(r"setp\.gt\.s32 %over, %theirs, %mine;", ordered)) == turns
    assert ordered.count("wgmma.mma_async") == plain.count("wgmma.mma_async")
    # A task that ends leaves the turns to the other, and so does one whose time is over.
    assert len(re.findall(r", 0x7fffffff;\s+done:", ordered)) == 2 * turns
    # The ends of the tasks may be one piece of code.
    assert len(re.findall(r"st\.volatile\.shared\.b32 \[%r\d+\], 0x7fffffff;", ordered)) > 2 * turns


def test_a_turn_of_attention_is_a_product(both):
    _, ordered = both(*KERNELS[0][:2], **KERNELS[0][2])
    events = re.findall(r"%begin, %clock|wgmma\.mma_async|%mine, %mine, 1|ex2\.approx", ordered.asm["ptx"])
    runs = [event for at, event in enumerate(events) if at == 0 or events[at - 1] != event]
    scores = ["%begin, %clock", "wgmma.mma_async", "%mine, %mine, 1", "ex2.approx"]
    assert runs == 2 * [*scores, *scores[:3]]


def test_a_turn_of_a_product_is_its_loop(both):
    _, ordered = both(*KERNELS[1][:2], **KERNELS[1][2])
    text = ordered.asm["ttgir"]
    assert len(re.findall(r"%begin, %clock(?:(?!\n\s*}).)*?\n[^\n]*= scf\.for", text, re.S)) == 2


@pytest.mark.parametrize(
    ("kernel", "signature", "constants", "target"),
    [
        (once, ONCE, {}, "cuda:90"),
        (*KERNELS[1], "cuda:100"),
    ],
)
def test_other_kernels_keep_their_code(both, kernel, signature, constants, target):
    plain, ordered = both(kernel, signature, target, **constants)
    assert plain.asm["cubin"] == ordered.asm["cubin"]


@pytest.mark.parametrize(("kernel", "signature", "constants"), KERNELS)
def test_the_same_tasks_multiply_on_blackwell(compiled, kernel, signature, constants):
    ptx = compiled(kernel, signature, "cuda:100", **constants).asm["ptx"]
    assert "tcgen05.mma.cta_group::1.kind::f16" in ptx


def test_the_option_is_a_switch():
    assert tlx.pipeline(pingpong="false").key() == tlx.pipeline().key() != tlx.pipeline(pingpong="1").key()
    assert tlx.pipeline(pingpong="True").key() == tlx.pipeline(pingpong=True).key()
    with pytest.raises(OptionError, match="a switch has two positions"):
        tlx.pipeline(pingpong="often")


@pytest.mark.parametrize("option", ["tlx", "tlx:pingpong=true"])
@pytest.mark.parametrize("unequal", [0, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_simulation_does_not_depend_on_turns(option, unequal, seed):
    generator = np.random.default_rng(seed)
    rows, keys, width = 256, 320, 64
    q, k, v = (generator.standard_normal((size, width)).astype(np.float16) for size in (rows, keys, keys))
    out = np.full((rows, width), np.nan, np.float16)
    tile = [64, 64]
    described = [tlx.simulator.Descriptor(array, tile) for array in (q, k, v)]
    with tritonext.use(option):
        tlx.simulate(attend, (2, 1), *described, out, 0.18, 5, BM=64, BN=64, D=64, STAGES=2, UNEQUAL=unequal, seed=seed)
    for part in range(4):
        seen = keys - 64 * unequal * (part % 2)
        mine = slice(part * 64, part * 64 + 64)
        weights = np.exp2(q[mine].astype(np.float64) @ k[:seen].T.astype(np.float64) * 0.18)
        reference = weights @ v[:seen].astype(np.float64) / weights.sum(1, keepdims=True)
        np.testing.assert_allclose(out[mine], reference, atol=4e-3)


@pytest.mark.parametrize("option", ["tlx", "tlx:pingpong=true"])
@pytest.mark.parametrize("seed", range(3))
def test_a_simulated_product_does_not_depend_on_turns(option, seed):
    generator = np.random.default_rng(seed)
    m, n, k = 192, 384, 320
    a = generator.standard_normal((m, k)).astype(np.float16)
    b = generator.standard_normal((k, n)).astype(np.float16)
    out = np.full((m, n), np.nan, np.float16)
    described = tlx.simulator.Descriptor(a, [64, 64]), tlx.simulator.Descriptor(b, [64, 128])
    with tritonext.use(option):
        tlx.simulate(multiply, (2,), *described, out, m, n, k, BM=64, BN=128, BK=64, STAGES=2, seed=seed)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=2e-3 * k**0.5)
