"""Products of two blocks of a cluster: instructions for sm_100, simulated numbers, and what is refused and found."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
np = pytest.importorskip("numpy", reason="the simulator needs numpy")

from tritonext.errors import KernelError  # noqa: E402
from tritonext_tlx.cluster import launched_as  # noqa: E402
from tritonext_tlx.simulator import (  # noqa: E402
    Descriptor,
    MissingFence,
    Race,
    ReadBeforeCompletion,
    UninitializedRead,
    simulate,
)


@triton.jit
def gemm(
    a,
    b,
    c,
    steps,
    N: tl.constexpr,
    K: tl.constexpr,
    PAIR: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    MEMORY: tl.constexpr,
    COMMIT: tl.constexpr,
    FAULT: tl.constexpr,
    M: tl.constexpr,
):
    """C = A @ B with M rows for each block; A or B lie with K behind where ROWS or COLUMNS do not say so."""
    HALF: tl.constexpr = N // 2 if PAIR else N
    FOLDED: tl.constexpr = PAIR and M == 64
    kind: tl.constexpr = tlx.dtype_of(a)
    rank = tlx.cluster_cta_rank()
    a_tile = tlx.local_alloc((M, K) if ROWS else (K, M), kind, 1)[0]
    b_tile = tlx.local_alloc((HALF, K) if COLUMNS else (K, HALF), kind, 1)[0]
    acc = tlx.local_alloc((128, HALF) if FOLDED else (M, N), tl.float32, 1, tlx.storage_kind.tmem)[0]
    full = tlx.alloc_barriers(1)
    ready = tlx.alloc_barriers(1, 2)
    done = tlx.alloc_barriers(1)
    row = tl.program_id(0) * M
    for i in range(steps):
        tlx.barrier_expect_bytes(full[0], (M + HALF) * K * tlx.size_of(kind))
        tlx.async_descriptor_load(a, a_tile, [row, i * K] if ROWS else [i * K, row], full[0])
        column = (rank % 2) * HALF
        tlx.async_descriptor_load(b, b_tile, [column, i * K] if COLUMNS else [i * K, column], full[0])
        tlx.barrier_wait(full[0], i & 1)
        left = a_tile if ROWS else tlx.local_trans(a_tile)
        right = tlx.local_trans(b_tile) if COLUMNS else b_tile
        if MEMORY:
            in_memory = tlx.local_alloc((128, K), kind, 1, tlx.storage_kind.tmem)[0]
            tlx.local_store(in_memory, tlx.local_load(left))
            left = in_memory
        if PAIR and FAULT != "ready":
            tlx.barrier_arrive(ready[0], 1, remote_cta_rank=rank & ~1)
            tlx.barrier_wait(ready[0], i & 1, pred=rank % 2 == 0)
        if COMMIT:
            tlx.async_dot(left, right, acc, use_acc=i > 0, two_ctas=PAIR, force_async=True)
            tlx.tcgen05_commit(done[0], two_ctas=PAIR)
        else:
            tlx.async_dot(left, right, acc, use_acc=i > 0, mBarriers=[done[0]], two_ctas=PAIR)
        if FAULT != "done":
            tlx.barrier_wait(done[0], i & 1)
    at = (row + tl.arange(0, M))[:, None] * N + tl.arange(0, N)[None, :]
    total = tlx.local_load(acc)
    if FOLDED:
        total = total.reshape(2, 64, HALF).permute(1, 0, 2).reshape(64, N)
    tl.store(c + at, total)


RIGHT = {
    "N": 128,
    "K": 64,
    "PAIR": True,
    "ROWS": True,
    "COLUMNS": False,
    "MEMORY": False,
    "COMMIT": False,
    "FAULT": "",
    "M": 128,
}


def blocks(values):
    half = values["N"] // 2 if values["PAIR"] else values["N"]
    rows = values["M"]
    a = (rows, values["K"]) if values["ROWS"] else (values["K"], rows)
    return a, ((half, values["K"]) if values["COLUMNS"] else (values["K"], half))


@pytest.fixture
def paired(compiled):
    def compile_kernel(kind="fp16", **changes):
        values = RIGHT | changes
        a, b = (f"tensordesc<{kind}[{rows}, {columns}]>" for rows, columns in blocks(values))
        with launched_as(2):
            return compiled(gemm, f"a={a}, b={b}, c=*fp32:16, steps=i32", "cuda:100", **values)

    return compile_kernel


def constants(ptx):
    """Return the constants in registers of PTX by their names: sums of those that they are made of."""
    made = {}
    for register, text in re.findall(r"^\s*(?:mov|add|or)\.[bsu](?:32|64)\s+(%rd?\d+), (.*);", ptx, re.MULTILINE):
        made[register] = text

    def value(operand):
        if re.fullmatch(r"-?\d+", operand):
            return int(operand)
        text = made.get(operand, "")
        if low_high := re.fullmatch(r"\{(.*), (.*)\}", text):
            return value(low_high[1]) + (value(low_high[2]) << 32)
        return sum(value(item) for item in text.split(", ") if item)

    return value


def products(kernel):
    """Return the operands of all products, constants without the address of a buffer: (A, B, instruction)."""
    ptx = kernel.asm["ptx"]
    value = constants(ptx)
    found = re.findall(r"tcgen05\.mma\.cta_group::\d\.kind::\w+ \[[^]]*\], (\[[^]]*\]|\S+), (\S+), (\S+), ", ptx)
    return [
        (a.split("+")[-1].strip(" ]") if a.startswith("[") else value(a), value(b), value(instruction))
        for a, b, instruction in found
    ]


OPERANDS = [
    ("fp16", {}),
    ("fp16", {"COLUMNS": True}),
    ("fp16", {"ROWS": False}),
    ("bf16", {"ROWS": False, "COLUMNS": True, "N": 256}),
    ("fp16", {"K": 32}),
    ("fp16", {"K": 128, "COLUMNS": True}),
    ("fp16", {"MEMORY": True}),
    ("fp8e4nv", {"K": 128, "COLUMNS": True}),
    ("fp8e5", {"K": 64}),
    ("fp32", {"K": 64, "COLUMNS": True}),
    ("fp16", {"M": 64}),
    ("bf16", {"M": 64, "ROWS": False, "COLUMNS": True, "N": 256}),
    ("fp8e4nv", {"M": 64, "K": 128, "COLUMNS": True, "N": 64}),
]


@pytest.mark.parametrize(("kind", "changes"), OPERANDS)
def test_operands_are_described_as_for_one_block(paired, kind, changes):
    """Each block has its operands in the layout that stock Triton describes for a product of half the columns."""
    pair = products(paired(kind, **changes))
    columns = changes.get("N", 128)
    one = products(paired(kind, **changes | {"PAIR": False, "N": columns // 2}))
    assert len(pair) == changes.get("K", 64) * {"fp32": 4, "fp8e4nv": 1, "fp8e5": 1}.get(kind, 2) // 32
    # Relative to the first step, because addresses are what the compiler makes of them.
    mask = (1 << 16) - 1
    for index in range(2):
        if isinstance(pair[0][index], str):
            assert [item[index] for item in pair] == [item[index] for item in one]
            continue
        assert {item[index] & ~mask for item in pair} == {item[index] & ~mask for item in one}
        steps = [[item[index] - found[0][index] for item in found] for found in (pair, one)]
        assert steps[0] == steps[1]
    # PTX ISA, instruction descriptor: N / 8 from bit 17 on, M / 16 from bit 24 on.
    sizes = [(item[2] >> 17 & 63, item[2] >> 24 & 31) for item in (pair[0], one[0])]
    rows = changes.get("M", 128)
    assert sizes == [(columns // 8, rows // 8), (columns // 16, rows // 16)]
    assert pair[0][2] & ((1 << 17) - 1) == one[0][2] & ((1 << 17) - 1)


def test_instructions_of_two_blocks(paired):
    kernel = paired()
    ptx, sass = kernel.asm["ptx"], kernel.asm["sass"]
    assert sass.count("UTCHMMA.2CTA") == 4
    assert "UTCBAR.2CTA.MULTICAST" in sass
    # All of a kernel's are of pairs: PTX ISA, tcgen05.alloc.
    assert set(re.findall(r"tcgen05\.(\w+)\.cta_group::(\d)", ptx)) == {
        (name, "2") for name in ("alloc", "relinquish_alloc_permit", "mma", "commit", "dealloc")
    }
    names = ("tcgen05.alloc", "fence.mbarrier_init", "tcgen05.mma", "tcgen05.commit", "tcgen05.wait::ld", "dealloc")
    order = [ptx.index(name) for name in names]
    assert order == sorted(order)
    # The other block may still use what this one would give back.
    assert ptx.index("tcgen05.wait::ld") < ptx.rindex("barrier.cluster.wait") < ptx.index("tcgen05.dealloc")


def test_the_sums_of_64_rows_take_all_lanes(paired):
    kernel = paired(M=64)
    ptx, sass = kernel.asm["ptx"], kernel.asm["sass"]
    assert sass.count("UTCHMMA.2CTA") == 4
    # 64 columns of 32 bits, of which each of four warps reads its 32 lanes.
    assert re.search(r"tcgen05\.alloc\.cta_group::2\S* \[[^]]*\], 64;", ptx)
    assert set(re.findall(r"tcgen05\.ld\.sync\.aligned\.(\w+)\.", ptx)) == {"32x32b"}


def test_a_commit_tells_both_blocks(paired):
    ptx = paired(COMMIT=True).asm["ptx"]
    assert len(re.findall(r"tcgen05\.commit\.cta_group::2\S*\.multicast::cluster\.b64", ptx)) == 1
    assert ptx.index("tcgen05.mma") < ptx.index("tcgen05.commit")


@triton.jit
def leading_barrier(a, x):
    tile = tlx.local_alloc((128, 64), tl.float16, 1)[0]
    bars = tlx.alloc_barriers(1, 2)
    tlx.barrier_expect_bytes(tlx.remote_view(bars[0], tlx.cluster_cta_rank() & ~1), 128 * 64 * 2)
    tlx.async_descriptor_load(a, tile, [tl.program_id(0) * 128, 0], bars[0], two_ctas=True)
    if tlx.cluster_cta_rank() % 2 == 0:
        tlx.barrier_wait(bars[0], 0)
        total = tl.sum(tl.sum(tlx.local_load(tile).to(tl.float32), 1), 0)
        total += tl.sum(tl.sum(tlx.local_load(tlx.remote_view(tile, tlx.cluster_cta_rank() + 1)).to(tl.float32), 1), 0)
        tl.store(x, total)


def test_copies_tell_the_barrier_of_the_first_block(compiled):
    with launched_as(2):
        ptx = compiled(leading_barrier, "a=tensordesc<fp16[128, 64]>, x=*fp32", "cuda:100").asm["ptx"]
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [" in ptx
    assert ptx.count("mapa.shared::cluster") >= 2


def test_copies_for_the_first_block_are_simulated():
    a = np.random.default_rng().standard_normal((256, 64)).astype(np.float16)
    x = np.full(1, np.nan, np.float32)
    simulate(leading_barrier, (2,), Descriptor(a, [128, 64]), x, ctas_per_cga=(2, 1, 1))
    np.testing.assert_allclose(x, a.astype(np.float64).sum(), rtol=1e-3, atol=1e-2)


def simulated(seed=0, clusters=2, steps=3, **changes):
    """Run the kernel in the simulator, and return its result and the right one."""
    values = RIGHT | changes
    random = np.random.default_rng()
    rows, depth = clusters * 2 * values["M"], steps * values["K"]
    left = random.standard_normal((rows, depth)).astype(np.float16)
    right = random.standard_normal((depth, values["N"])).astype(np.float16)
    a = left if values["ROWS"] else np.ascontiguousarray(left.T)
    b = np.ascontiguousarray(right.T) if values["COLUMNS"] else right
    c = np.full((rows, values["N"]), np.nan, np.float32)
    a, b = (Descriptor(item, list(shape)) for item, shape in zip((a, b), blocks(values)))
    simulate(gemm, (2 * clusters,), a, b, c, steps, ctas_per_cga=(2, 1, 1), seed=seed, **values)
    return c, left.astype(np.float64) @ right


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ROWS": False, "COLUMNS": True},
        {"MEMORY": True, "N": 64},
        {"COMMIT": True, "N": 256},
        {"M": 64},
        {"M": 64, "N": 32, "COMMIT": True},
    ],
)
def test_simulated_numbers(changes):
    found, right = simulated(**changes)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_other_block_is_waited_for(seed):
    with pytest.raises((ReadBeforeCompletion, UninitializedRead)):
        simulated(seed, FAULT="ready")


@pytest.mark.parametrize("seed", range(4))
def test_a_product_that_is_not_waited_for(seed):
    with pytest.raises((Race, ReadBeforeCompletion, UninitializedRead)):
        simulated(seed, FAULT="done")


@triton.jit
def stored(x, c, FENCE: tl.constexpr):
    at = tl.arange(0, 64)
    a_tile = tlx.local_alloc((128, 64), tl.float16, 1)[0]
    b_tile = tlx.local_alloc((64, 64), tl.float16, 1)[0]
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)[0]
    done = tlx.alloc_barriers(1)
    tlx.local_store(a_tile, tl.load(x + tl.arange(0, 128)[:, None] * 64 + at[None, :]))
    tlx.local_store(b_tile, tl.load(x + at[:, None] * 64 + at[None, :]))
    if FENCE:
        tlx.fence_async_shared()
    tlx.cluster_barrier()
    tlx.async_dot(a_tile, b_tile, acc, use_acc=False, mBarriers=[done[0]], two_ctas=True)
    tlx.barrier_wait(done[0], 0)
    place = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(c + place, tlx.local_load(acc))


def test_stores_are_fenced():
    x = np.random.default_rng().standard_normal((128, 64)).astype(np.float16)
    c = np.full((128, 128), np.nan, np.float32)
    simulate(stored, (2,), x, c, ctas_per_cga=(2, 1, 1), FENCE=True)
    half = x.astype(np.float64) @ x[:64]
    np.testing.assert_allclose(c, np.concatenate([half, half], 1), rtol=1e-3, atol=1e-3)
    with pytest.raises(MissingFence):
        simulate(stored, (2,), x, c, ctas_per_cga=(2, 1, 1), FENCE=False)


@triton.jit
def wrong(c, CASE: tl.constexpr):
    rows: tl.constexpr = 64 if CASE == "rows" or CASE == "memory" else 128
    a_tile = tlx.local_alloc((rows, 64), tl.float16, 1)[0]
    b_tile = tlx.local_alloc((64, 128 if CASE == "whole" else 64), tl.float16, 1)[0]
    lanes: tl.constexpr = 128 if CASE == "memory" else rows
    acc = tlx.local_alloc((lanes, 128 * rows // lanes), tl.float32, 1, tlx.storage_kind.tmem)[0]
    done = tlx.alloc_barriers(1)
    if CASE == "memory":
        a_tile = tlx.local_alloc((rows, 64), tl.float16, 1, tlx.storage_kind.tmem)[0]
    if CASE == "waits itself":
        tlx.async_dot(a_tile, b_tile, acc, two_ctas=True)
    elif CASE == "commit":
        tlx.tcgen05_commit(done[0], two_ctas=True)
    elif CASE == "copy":
        tlx.async_descriptor_load(c, a_tile, [0, 0], done[0], two_ctas=True)
    else:
        tlx.async_dot(a_tile, b_tile, acc, mBarriers=[done[0]], two_ctas=True)
    if CASE == "mixed":
        tlx.tcgen05_commit(done[0])
    tlx.barrier_wait(done[0], 0)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (
            "rows",
            "argument acc\n  expected: (128, N / 2), whose rows from 64 on are the right half\n  found: (64, 128)",
        ),
        ("memory", "products of 64 rows in each of two blocks read shared memory\n  where: tlx.async_dot, argument A"),
        ("whole", "each block of a pair has half of the columns of B\n  where: tlx.async_dot, argument B"),
        ("waits itself", "the other block cannot be told when a product that this one waits for is over"),
    ],
)
def test_refused(refused, case, text):
    with launched_as(2):
        assert text in refused(wrong, "c=tensordesc<fp16[128, 64]>", "cuda:100", CASE=case)


@pytest.mark.parametrize(
    ("case", "name"), [("product", "async_dot"), ("commit", "tcgen05_commit"), ("copy", "async_descriptor_load")]
)
def test_a_kernel_without_clusters_has_no_pairs(refused, case, name):
    text = refused(wrong, "c=tensordesc<fp16[128, 64]>", "cuda:100", CASE=case)
    assert f"the kernel has no clusters\n  where: tlx.{name}" in text


def test_work_of_one_block_beside_that_of_two(compiled, capfd):
    with launched_as(2), pytest.raises(KernelError) as caught:
        compiled(wrong, "c=tensordesc<fp16[128, 64]>", "cuda:100", CASE="mixed")
    assert "expected tensor core work of two blocks, as elsewhere in the kernel, got that of one" in str(caught.value)
    assert "tlx.tcgen05_commit(done[0])" in str(caught.value)
    assert capfd.readouterr().err == ""


def test_other_targets(refused):
    with launched_as(2):
        text = refused(leading_barrier, "a=tensordesc<fp16[128, 64]>, x=*fp32", "cuda:90")
    assert "the target lacks this argument\n  where: tlx.async_descriptor_load, argument two_ctas" in text
