"""Tensor memory and the products that accumulate in it: instructions for sm_100, and what is refused."""

import re

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout

from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

HALVES = TensorMemoryLayout((128, 64), 2)


def found(kernel, pattern: str) -> list[str]:
    """Return the instructions of compiled code, in order."""
    return re.findall(pattern, kernel.asm["ptx"])


@triton.jit
def round_trip(a, c, M: tl.constexpr, N: tl.constexpr):
    tiles = tlx.local_alloc((M, N), a.dtype.element_ty, 2, tlx.storage_kind.tmem)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    half = tl.arange(0, M)[:, None] * N + tl.arange(0, N // 2)[None, :]
    tlx.local_store(tiles[1], tl.load(a + at))
    tl.store(c + at, tlx.local_load(tiles[1]))
    tl.store(c + half, tlx.local_load(tlx.subslice(tiles[1], N // 2, N // 2)))
    tl.store(c + half, tlx.local_load(tlx.local_slice(tiles[1], (0, N // 2), (M, N // 2))))


@pytest.mark.parametrize(
    ("kind", "shape", "warps", "repeats"),
    [
        ("fp32", (128, 64), 4, (64, 32)),
        ("fp16", (128, 64), 4, (32, 16)),
        ("fp32", (128, 64), 8, (32, 16)),
        ("fp32", (64, 64), 4, (32, 16)),
        ("fp8e5", (128, 64), 4, (16, 8)),
    ],
)
def test_loads_and_stores(compiled, kind, shape, warps, repeats):
    options = {"num_warps": warps}
    kernel = compiled(round_trip, f"a=*{kind}:16, c=*{kind}:16", "cuda:100", options, M=shape[0], N=shape[1])
    whole, half = repeats
    assert found(kernel, r"tcgen05\.st\.sync\.aligned\.\w+\.x(\d+)") == [str(whole)]
    # The two views of one part are one.
    assert found(kernel, r"tcgen05\.ld\.sync\.aligned\.\w+\.x(\d+)") == [str(whole), str(half)]
    # What is stored is there before it is loaded, and what is loaded before it is used.
    order = found(kernel, r"tcgen05\.(?:wait::)?(?:ld|st)\b")
    assert order[:2] == ["tcgen05.st", "tcgen05.wait::st"]
    assert order.index("tcgen05.ld") < order.index("tcgen05.wait::ld")


def test_a_view_of_columns_is_an_offset(compiled):
    text = compiled(round_trip, "a=*fp32:16, c=*fp32:16", "cuda:100", M=128, N=64).asm["ttgir"]
    assert set(re.findall(r"ttng.tmem_subslice %\w+ \{offset = (\d+)", text)) == {"32"}
    assert text.count("ttng.tmem_alloc") == 1


@triton.jit
def reused(a, c):
    scores = tlx.local_alloc((128, 64), tl.float32, 2, tlx.storage_kind.tmem)
    weights = tlx.local_alloc((128, 64), tl.float16, 2, tlx.storage_kind.tmem, reuse=scores)
    at = tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.local_store(weights[0], tl.load(a + at))
    view = tlx.local_reinterpret(scores[0], tl.float16, (128, 128))
    tl.store(c + at, tlx.local_load(tlx.subslice(view, 0, 64)))


def test_memory_is_reused(compiled):
    kernel = compiled(reused, "a=*fp16:16, c=*fp16:16", "cuda:100")
    assert kernel.asm["ttgir"].count("ttng.tmem_alloc") == 1
    assert kernel.asm["ttgir"].count("ttg.memdesc_reinterpret") == 2
    assert kernel.metadata.tmem_size == 128


@triton.jit
def product(
    a,
    b,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    COLUMNS: tl.constexpr,
    MEMORY: tl.constexpr,
    HOW: tl.constexpr,
    TOTAL: tl.constexpr,
    LAYOUT: tl.constexpr,
):
    """C = A @ B in tensor memory, A there too where MEMORY says so, waited for as HOW says."""
    kind: tl.constexpr = a.dtype.element_ty
    acc = tlx.local_alloc((M, N), TOTAL, 1, tlx.storage_kind.tmem, LAYOUT)[0]
    left = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    a_tile = tlx.local_alloc((M, K), kind, 1, tlx.storage_kind.tmem if MEMORY else tlx.storage_kind.smem)[0]
    tlx.local_store(a_tile, left)
    if COLUMNS:
        b_tile = tlx.local_alloc((N, K), kind)[0]
        tlx.local_store(b_tile, tl.load(b + tl.arange(0, N)[:, None] * K + tl.arange(0, K)[None, :]))
        b_tile = tlx.local_trans(b_tile)
    else:
        b_tile = tlx.local_alloc((K, N), kind)[0]
        tlx.local_store(b_tile, tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]))
    bars = tlx.alloc_barriers(2)
    if HOW == "barriers":
        tlx.async_dot(a_tile, b_tile, acc, use_acc=False, mBarriers=[bars[0], bars[1]])
        tlx.barrier_wait(bars[1], 0)
    elif HOW == "commit":
        tlx.async_dot(a_tile, b_tile, acc, use_acc=False, force_async=True)
        tlx.tcgen05_commit(bars[0])
        tlx.barrier_wait(bars[0], 0)
    else:
        tlx.async_dot(a_tile, b_tile, acc, use_acc=False)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c + at, tlx.local_load(acc).to(c.dtype.element_ty))


PRODUCT = {
    "M": 128,
    "N": 64,
    "K": 64,
    "COLUMNS": False,
    "MEMORY": False,
    "HOW": "barriers",
    "TOTAL": tl.float32,
    "LAYOUT": None,
}


@pytest.mark.parametrize(
    ("kind", "values", "name", "count"),
    [
        ("fp16", {}, "f16", 4),
        ("bf16", {"N": 256, "COLUMNS": True}, "f16", 4),
        ("fp16", {"M": 64}, "f16", 4),
        ("fp16", {"MEMORY": True}, "f16", 4),
        ("fp16", {"TOTAL": tl.float16, "LAYOUT": HALVES}, "f16", 4),
        ("fp32", {"COLUMNS": True}, "tf32", 8),
        ("fp8e4nv", {"COLUMNS": True}, "f8f6f4", 2),
        ("fp8e5", {}, "f8f6f4", 2),
        ("i8", {"COLUMNS": True, "TOTAL": tl.int32}, "i8", 2),
    ],
)
def test_instruction_of_each_kind(compiled, kind, values, name, count):
    total = "i32" if kind == "i8" else "fp32"
    kernel = compiled(product, f"a=*{kind}:16, b=*{kind}:16, c=*{total}:16", "cuda:100", **PRODUCT | values)
    assert found(kernel, r"tcgen05\.mma\.cta_group::1\.kind::(\w+)") == [name] * count
    # A in shared memory is a descriptor of 64 bits, in tensor memory an address in brackets.
    first = found(kernel, r"tcgen05\.mma\.cta_group::1\.kind::\w+ \[[^]]*\], (\[?)")
    assert {item == "[" for item in first} == {values.get("MEMORY", False)}
    # What threads stored becomes visible to the tensor cores.
    text = kernel.asm["ptx"]
    assert text.index("fence.proxy.async") < text.index("tcgen05.mma")
    assert len(kernel.asm["cubin"]) > 0


@pytest.mark.parametrize(("how", "commits", "waits"), [("barriers", 2, 1), ("commit", 1, 1), ("nothing", 1, 1)])
def test_ways_to_wait(compiled, how, commits, waits):
    kernel = compiled(product, "a=*fp16:16, b=*fp16:16, c=*fp32:16", "cuda:100", **PRODUCT | {"HOW": how})
    order = found(kernel, r"tcgen05\.mma|tcgen05\.commit|mbarrier\.try_wait|tcgen05\.ld\b")
    assert order == ["tcgen05.mma"] * 4 + ["tcgen05.commit"] * commits + ["mbarrier.try_wait"] * waits + ["tcgen05.ld"]


@triton.jit
def accumulated(a, b, c, n):
    """Products that go on around a loop, over two slots, with a predicate."""
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)[0]
    a_tiles = tlx.local_alloc((128, 64), tl.float16, 2)
    b_tiles = tlx.local_alloc((64, 128), tl.float16, 2)
    free = tlx.alloc_barriers(2)
    a_at = a + tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]
    b_at = b + tl.arange(0, 64)[:, None] * 128 + tl.arange(0, 128)[None, :]
    for i in tl.range(n):
        slot, phase = tlx.get_bufidx_phase(i, 2)
        tlx.barrier_wait(free[slot], phase ^ 1)
        tlx.local_store(a_tiles[slot], tl.load(a_at + i * 8192))
        tlx.local_store(b_tiles[slot], tl.load(b_at + i * 8192))
        tlx.async_dot(a_tiles[slot], b_tiles[slot], acc, use_acc=i > 0, pred=i >= 0, mBarriers=[free[slot]])
    slot, phase = tlx.get_bufidx_phase(n - 1, 2)
    tlx.barrier_wait(free[slot], phase)
    tl.store(c + tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :], tlx.local_load(acc))


@pytest.mark.parametrize("stages", [1, 3])
def test_stock_leaves_products_by_hand_alone(compiled, stages):
    options = {"num_stages": stages}
    text = compiled(accumulated, "a=*fp16:16, b=*fp16:16, c=*fp32:16, n=i32", "cuda:100", options).asm["ttgir"]
    loop = text[text.index("scf.for") : text.index("tt.store")]
    inside = loop[: loop.index("tt.num_stages")]
    ops = re.findall(r"^ *(?:%\w+ = )?ttng\.(\w+)", inside, re.MULTILINE)
    assert ops == ["wait_barrier", "tc_gen5_mma"]
    # Loaded behind the wait for the last product, not before.
    behind = text[text.index("tt.num_stages") :]
    assert behind.index("ttng.wait_barrier") < behind.index("ttng.tmem_load")
    assert text.count("ttng.tmem_alloc") == text.count("ttng.tmem_load") == 1


@triton.jit
def shared_by_tasks(a, b, c):
    """One task multiplies, another one reads the accumulator."""
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    a_tile = tlx.local_alloc((128, 64), tl.float16)
    b_tile = tlx.local_alloc((64, 64), tl.float16)
    filled = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            at = tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]
            tl.store(c + at, tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=1):
            tlx.barrier_wait(filled[0], 0)
            tlx.async_dot(a_tile[0], b_tile[0], acc[0], use_acc=False, mBarriers=[done[0]])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]
            bt = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            tlx.local_store(a_tile[0], tl.load(a + at))
            tlx.local_store(b_tile[0], tl.load(b + bt))
            tlx.fence_async_shared()
            tlx.barrier_arrive(filled[0])


def test_products_of_tasks(compiled):
    kernel = compiled(shared_by_tasks, "a=*fp16:16, b=*fp16:16, c=*fp32:16", "cuda:100")
    assert len(found(kernel, r"tcgen05\.mma\b")) == 4
    assert len(found(kernel, r"tcgen05\.ld\b")) == 1
    assert kernel.asm["ttgir"].count("ttng.tmem_alloc") == 1


@triton.jit
def scaled(a, b, a_scale, b_scale, c, AF: tl.constexpr, BF: tl.constexpr, N: tl.constexpr, WHERE: tl.constexpr):
    """C = A @ B of 128 x 128 elements and their scales, which are copied to tensor memory by hand or not."""
    KA: tl.constexpr = 64 if AF == "e2m1" else 128
    KB: tl.constexpr = 64 if BF == "e2m1" else 128
    acc = tlx.local_alloc((128, N), tl.float32, 1, tlx.storage_kind.tmem)[0]
    a_tile = tlx.local_alloc((128, KA), a.dtype.element_ty)[0]
    b_tile = tlx.local_alloc((N, KB), b.dtype.element_ty)[0]
    tlx.local_store(a_tile, tl.load(a + tl.arange(0, 128)[:, None] * KA + tl.arange(0, KA)[None, :]))
    tlx.local_store(b_tile, tl.load(b + tl.arange(0, N)[:, None] * KB + tl.arange(0, KB)[None, :]))
    a_scales = tlx.local_alloc((1, 1, 32, 16), tl.uint8)[0]
    b_scales = tlx.local_alloc((N // 128, 1, 32, 16), tl.uint8)[0]
    at = tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tlx.local_store(a_scales, tl.load(a_scale + at)[None, None, :, :])
    tile = tl.arange(0, N // 128)[:, None, None, None] * 512
    tlx.local_store(b_scales, tl.load(b_scale + tile + at[None, None, :, :]))
    bar = tlx.alloc_barriers(1)
    if WHERE == "smem":
        tlx.async_dot_scaled(
            a_tile, tlx.local_trans(b_tile), acc, a_scales, AF, b_scales, BF, use_acc=False, mBarriers=[bar[0]]
        )
    else:
        a_there = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)[0]
        b_there = tlx.local_alloc((N, 4), tl.uint8, 1, tlx.storage_kind.tmem)[0]
        tlx.fence_async_shared()
        tlx.tmem_copy(a_scales, a_there)
        tlx.tmem_copy(b_scales, b_there)
        tlx.async_dot_scaled(
            a_tile, tlx.local_trans(b_tile), acc, a_there, AF, b_there, BF, use_acc=False, force_async=True
        )
        tlx.tcgen05_commit(bar[0])
    tlx.barrier_wait(bar[0], 0)
    tl.store(c + tl.arange(0, 128)[:, None] * N + tl.arange(0, N)[None, :], tlx.local_load(acc))


SCALED = "a=*{}:16, b=*{}:16, a_scale=*u8:16, b_scale=*u8:16, c=*fp32:16"
TYPES = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "e2m1": "u8"}


@pytest.mark.parametrize("where", ["smem", "tmem"])
@pytest.mark.parametrize(
    ("formats", "columns", "name", "count"),
    [
        (("e4m3", "e4m3"), 128, "mxf8f6f4.block_scale.block32", 4),
        (("e5m2", "e4m3"), 256, "mxf8f6f4.block_scale.block32", 4),
        (("e2m1", "e2m1"), 128, "mxf4.block_scale.block32", 2),
    ],
)
def test_scaled_products(compiled, where, formats, columns, name, count):
    signature = SCALED.format(*(TYPES[item] for item in formats))
    kernel = compiled(scaled, signature, "cuda:100", AF=formats[0], BF=formats[1], N=columns, WHERE=where)
    assert found(kernel, r"tcgen05\.mma\.cta_group::1\.kind::(\S+)") == [name] * count
    # One copy for each tile of 128 rows of scales, four 32-bit words wide.
    assert found(kernel, r"tcgen05\.cp\.cta_group::1\.(\S+)") == ["warpx4.32x128b"] * (1 + columns // 128)
    order = found(kernel, r"tcgen05\.cp|tcgen05\.mma|tcgen05\.commit|mbarrier\.try_wait|tcgen05\.ld\b")
    assert [item for index, item in enumerate(order) if order.index(item) == index] == [
        "tcgen05.cp",
        "tcgen05.mma",
        "tcgen05.commit",
        "mbarrier.try_wait",
        "tcgen05.ld",
    ]


@triton.jit
def copied(a, c):
    tile = tlx.local_alloc((128, 64), tl.float32)[0]
    there = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)[0]
    at = tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.local_store(tile, tl.load(a + at))
    tlx.fence_async_shared()
    bar = tlx.alloc_barriers(1)
    tlx.tmem_copy(tile, there)
    tlx.tcgen05_commit(bar[0])
    tlx.barrier_wait(bar[0], 0)
    tl.store(c + at, tlx.local_load(there))


def test_tiles_are_copied(compiled):
    kernel = compiled(copied, "a=*fp32:16, c=*fp32:16", "cuda:100")
    assert set(found(kernel, r"tcgen05\.cp\.cta_group::1\.(\S+)")) <= {"128x256b", "128x128b"}
    order = found(kernel, r"fence\.proxy\.async|tcgen05\.cp|tcgen05\.commit|mbarrier\.try_wait|tcgen05\.ld\b")
    assert order[0] == "fence.proxy.async"
    assert order[-3:] == ["tcgen05.commit", "mbarrier.try_wait", "tcgen05.ld"]


@triton.jit
def called(WHAT: tl.constexpr):
    """Ops that only Blackwell has, each with arguments that another target never looks at."""
    if WHAT == "local_alloc":
        tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    if WHAT == "subslice":
        tlx.subslice(0, 0, 64)
    if WHAT == "tmem_copy":
        tlx.tmem_copy(0, 0)
    if WHAT == "async_dot_scaled":
        tlx.async_dot_scaled(0, 0, 0, 0, "e4m3", 0, "e4m3")
    if WHAT == "tcgen05_commit":
        tlx.tcgen05_commit(0)


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "cuda:100"])
@pytest.mark.parametrize("what", ["local_alloc", "subslice", "tmem_copy", "async_dot_scaled", "tcgen05_commit"])
def test_targets_without_tensor_memory(refused, target, what):
    text = refused(called, "", target, WHAT=what)
    message = "the target has no tensor memory" if what == "local_alloc" else "the target lacks this operation"
    assert f"{message}\n  where: tlx.{what}" in text
    assert f"expected: cuda:100\n  found: {target}" in text


@triton.jit
def wrong(WHAT: tl.constexpr, LAYOUT: tl.constexpr):
    tmem: tl.constexpr = tlx.storage_kind.tmem
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tmem)[0]
    a = tlx.local_alloc((128, 64), tl.float16)[0]
    b = tlx.local_alloc((64, 64), tl.float16)[0]
    bytes_ = tlx.local_alloc((128, 64), tl.uint8)[0]
    scales = tlx.local_alloc((128, 4), tl.uint8, 1, tmem)[0]
    eights = tlx.local_alloc((128, 128), tl.float8e4nv)[0]
    bars = tlx.alloc_barriers(1)
    threads = tlx.alloc_warp_barrier(1)
    if WHAT == "rows":
        tlx.local_alloc((32, 64), tl.float32, 1, tmem)
    if WHAT == "rank":
        tlx.local_alloc((64,), tl.float32, 1, tmem)
    if WHAT == "type":
        tlx.local_alloc((128, 64), tl.int64, 1, tmem)
    if WHAT == "size":
        tlx.local_alloc((128, 256), tl.float32, 4, tmem)
    if WHAT == "layout":
        tlx.local_alloc((128, 64), tl.float32, 1, tmem, 5)
    if WHAT == "slots of scales":
        tlx.local_alloc((128, 4), tl.uint8, 2, tmem)
    if WHAT == "storage":
        tlx.local_alloc((128, 64), tl.float32, 1, "tmem")
    if WHAT == "reuse of shared memory":
        tlx.local_alloc((128, 64), tl.float32, 1, tmem, None, a)
    if WHAT == "reuse of too little":
        tlx.local_alloc((128, 128), tl.float32, 1, tmem, None, acc)
    if WHAT == "slice of rows":
        tlx.local_slice(acc, (0, 0), (64, 64))
    if WHAT == "columns":
        tlx.subslice(acc, 16, 32)
    if WHAT == "transposed":
        tlx.local_trans(acc)
    if WHAT == "load of scales":
        tlx.local_load(scales)
    if WHAT == "acc in shared memory":
        tlx.async_dot(a, b, b)
    if WHAT == "acc":
        tlx.async_dot(a, a, acc)
    if WHAT == "shape of acc":
        tlx.async_dot(b, b, acc)
    if WHAT == "type of acc":
        tlx.async_dot(a, b, tlx.local_alloc((128, 64), tl.float16, 1, tmem)[0])
    if WHAT == "type of B":
        tlx.async_dot(a, tlx.local_alloc((64, 64), tl.bfloat16)[0], acc)
    if WHAT == "operands":
        tlx.async_dot(tlx.local_alloc((128, 64), tl.float64)[0], b, acc)
    if WHAT == "A in registers":
        tlx.async_dot(tl.zeros((128, 64), tl.float16), b, acc)
    if WHAT == "barriers":
        tlx.async_dot(a, b, acc, mBarriers=bars[0])
    if WHAT == "warp barriers":
        tlx.async_dot(a, b, acc, mBarriers=[threads[0]])
    if WHAT == "pairs":
        tlx.async_dot(a, b, acc, two_ctas=True)
    if WHAT == "precision":
        tlx.async_dot(a, b, acc, input_precision="tf32x3")
    if WHAT == "wait":
        tlx.async_dot_wait(0, acc)
    if WHAT == "barriers of a tensor":
        tlx.async_dot(a, b, mBarriers=[bars[0]])
    if WHAT == "commit":
        tlx.tcgen05_commit(threads[0])
    if WHAT == "copy":
        tlx.tmem_copy(a, acc)
    if WHAT == "copy of scales":
        tlx.tmem_copy(bytes_, scales)
    if WHAT == "format":
        tlx.async_dot_scaled(eights, eights, acc, scales, "e3m2", scales, "e4m3")
    if WHAT == "type of a format":
        tlx.async_dot_scaled(a, eights, acc, scales, "e4m3", scales, "e4m3")
    if WHAT == "mixed":
        tlx.async_dot_scaled(bytes_, tlx.local_trans(eights), acc, scales, "e2m1", scales, "e4m3")
    if WHAT == "shape of scales":
        total = tlx.local_alloc((128, 128), tl.float32, 1, tmem)[0]
        few = tlx.local_alloc((64, 4), tl.uint8, 1, tmem)[0]
        tlx.async_dot_scaled(eights, tlx.local_trans(eights), total, few, "e4m3", scales, "e4m3")
    if WHAT == "major":
        total = tlx.local_alloc((128, 128), tl.float32, 1, tmem)[0]
        tlx.async_dot_scaled(eights, eights, total, scales, "e4m3", scales, "e4m3")


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("rows", "tensor memory has no such number of rows\n  where: tlx.local_alloc, argument shape"),
        ("rank", "tensor memory holds matrices\n  where: tlx.local_alloc, argument shape"),
        ("type", "tensor memory has no buffers of this type\n  where: tlx.local_alloc, argument dtype"),
        (
            "size",
            "the buffers do not fit into tensor memory\n  where: tlx.local_alloc\n  expected: at most 512 columns",
        ),
        ("layout", "an argument is not a layout of tensor memory\n  where: tlx.local_alloc, argument layout"),
        ("slots of scales", "scales in tensor memory have no slots\n  where: tlx.local_alloc, argument num"),
        ("storage", "an argument has no such value\n  where: tlx.local_alloc, argument storage"),
        ("reuse of shared memory", "the buffer is in another memory\n  where: tlx.local_alloc, argument reuse"),
        ("reuse of too little", "the buffer is too small to be reused\n  where: tlx.local_alloc, argument reuse"),
        ("slice of rows", "tensor memory is sliced along its columns only\n  where: tlx.local_slice, argument shape"),
        ("columns", "an argument is out of range\n  where: tlx.subslice, argument offset"),
        ("transposed", "the buffer is in another memory\n  where: tlx.local_trans, argument input"),
        ("load of scales", "scales in tensor memory are read by products only\n  where: tlx.local_load, argument src"),
        ("acc in shared memory", "an argument is not a tensor\n  where: tlx.async_dot, argument acc"),
        ("acc", "the inner sizes differ\n  where: tlx.async_dot, argument B\n  expected: 64 x N\n  found: 128 x 64"),
        ("shape of acc", "the accumulator has another shape\n  where: tlx.async_dot, argument acc"),
        ("type of acc", "products write one element into each column of 32 bits\n  where: tlx.async_dot, argument acc"),
        ("type of B", "the types of the operands differ\n  where: tlx.async_dot, argument B"),
        ("operands", "the tensor cores do not take this type\n  where: tlx.async_dot, argument A"),
        ("A in registers", "an argument is not a buffer\n  where: tlx.async_dot, argument A"),
        ("barriers", "an argument is not a list of barriers\n  where: tlx.async_dot, argument mBarriers"),
        ("warp barriers", "a product arrives once\n  where: tlx.async_dot, argument mBarriers"),
        ("pairs", "the kernel has no clusters\n  where: tlx.async_dot"),
        ("precision", "an argument has no such value\n  where: tlx.async_dot, argument input_precision"),
        ("wait", "barriers tell of the end of this product\n  where: tlx.async_dot_wait, argument inp"),
        ("barriers of a tensor", "an argument is not supported\n  where: tlx.async_dot, argument mBarriers"),
        ("commit", "a commit arrives once\n  where: tlx.tcgen05_commit, argument mBarrier"),
        ("copy", "the types of the elements differ\n  where: tlx.tmem_copy, argument dst"),
        ("copy of scales", "the scales have another shape\n  where: tlx.tmem_copy, argument src"),
        ("format", "an argument has no such value\n  where: tlx.async_dot_scaled, argument A_format"),
        ("type of a format", "elements of e4m3 have another type\n  where: tlx.async_dot_scaled, argument A"),
        ("mixed", "elements of e2m1 lie otherwise beside those of e4m3\n  where: tlx.async_dot_scaled, argument A"),
        ("shape of scales", "the scales have another shape\n  where: tlx.async_dot_scaled, argument A_scale"),
        ("major", "read fp8e4nv with K contiguous only\n  where: tlx.async_dot_scaled, argument B"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, "", "cuda:100", WHAT=what, LAYOUT=None)


@triton.jit
def few_warps(c):
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)[0]
    tl.store(c + tl.arange(0, 64), tl.sum(tlx.local_load(acc), 0))


def test_warps_that_reach_all_rows(refused):
    text = refused(few_warps, "c=*fp32:16", "cuda:100", {"num_warps": 2})
    assert "a warp reaches one quarter of the rows of tensor memory\n  where: tlx.local_load" in text
