"""Copies of tiles by descriptors: the instructions and layouts they become, and what is refused."""

import inspect
import re

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout, SwizzledSharedLayout

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

TARGETS = ("cuda:90", "cuda:100")
TILE = "desc=tensordesc<fp16[64, 64]>, out=tensordesc<fp16[64, 64]>"

NARROW = tl.constexpr(NVMMASharedLayout(swizzle_byte_width=32, element_bitwidth=16, rank=2))
TRANSPOSED = tl.constexpr(NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2, transposed=True))
PLAIN = tl.constexpr(SwizzledSharedLayout(1, 1, 1, [1, 0]))


@triton.jit
def round_trip(desc, out, n, POLICY: tl.constexpr, REDUCE: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 64 * 64 * 2)
    tlx.async_descriptor_load(desc, tile[0], [n, 64], full[0], pred=n > 0, eviction_policy=POLICY)
    tlx.barrier_wait(full[0], 0)
    if REDUCE == "":
        tlx.async_descriptor_store(out, tile[0], [n, n + 1], eviction_policy=POLICY)
    else:
        tlx.async_descriptor_store(out, tile[0], [n, n + 1], store_reduce=REDUCE)
    tlx.async_descriptor_store_wait(2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("policy", ["", "evict_first", "evict_last"])
def test_tiles_are_copied_both_ways(compiled, target, policy):
    result = compiled(round_trip, f"{TILE}, n=i32", target, POLICY=policy, REDUCE="")
    ptx = result.asm["ptx"]
    hint = r"\.L2::cache_hint" if policy else ""
    bytes_to = r"cp\.async\.bulk\.tensor\.2d\.shared::cta\.global\.mbarrier::complete_tx::bytes"
    load = re.search(rf"@%p\d+ {bytes_to}{hint} ", ptx)
    store = re.search(rf"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta\.bulk_group{hint} ", ptx)
    waited = ptx.index("mbarrier.try_wait")
    assert load.start() < waited < store.start() < ptx.index("cp.async.bulk.wait_group.read")
    assert re.search(r"cp\.async\.bulk\.wait_group\.read \t?2;", ptx)
    assert (f"eviction_policy = {policy}" in result.asm["ttgir"]) == bool(policy)
    # What the host encodes: swizzle 3 is 128 bytes.
    assert [(meta["swizzle"], meta["block_size"]) for meta in result.metadata.tensordesc_meta] == [(3, [64, 64])] * 2


@triton.jit
def reduced(out, n, DTYPE: tl.constexpr, REDUCE: tl.constexpr):
    tile = tlx.local_alloc((64, 64), DTYPE, 1)
    tlx.async_descriptor_store(out, tile[0], [n, 0], store_reduce=REDUCE)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("reduce", "name", "dtype"),
    [
        ("add", "fp16", tl.float16),
        ("add", "fp32", tl.float32),
        ("min", "bf16", tl.bfloat16),
        ("min", "u32", tl.uint32),
        ("max", "i32", tl.int32),
        ("and", "i32", tl.int32),
        ("or", "i64", tl.int64),
        ("xor", "i32", tl.int32),
    ],
)
def test_tiles_are_reduced(compiled, target, reduce, name, dtype):
    signature = f"out=tensordesc<{name}[64, 64]>, n=i32"
    ptx = compiled(reduced, signature, target, DTYPE=dtype, REDUCE=reduce).asm["ptx"]
    assert re.search(rf"cp\.reduce\.async\.bulk\.tensor\.2d\.global\.shared::cta\.{reduce}\.bulk_group", ptx)


@triton.jit
def made_in_the_kernel(x, out, n, LAYOUT: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [64, 64])
    tile = tlx.local_alloc((64, 64), tl.float16, 2, layout=LAYOUT)
    full = tlx.alloc_barriers(2)
    for i in range(n):
        tlx.barrier_expect_bytes(full[i % 2], 64 * 64 * 2)
        tlx.async_descriptor_load(desc, tile[i % 2], [i * 64, 0], full[i % 2])
        tlx.barrier_wait(full[i % 2], i & 1)
        tlx.async_descriptor_store(out, tile[i % 2], [0, i * 64])
        tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("layout", "swizzle", "bytes_"), [(None, 3, 128), (NARROW, 1, 32)])
def test_descriptors_take_the_layout_of_the_buffer(compiled, target, layout, swizzle, bytes_):
    signature = "x=*fp16:16, out=tensordesc<fp16[64, 64]>, n=i32"
    result = compiled(made_in_the_kernel, signature, target, LAYOUT=layout)
    assert [meta["swizzle"] for meta in result.metadata.tensordesc_meta] == [swizzle]
    text = result.asm["ttgir"]
    assert set(re.findall(r"swizzlingByteWidth = (\d+)", text)) == {str(bytes_)}
    assert "tensormap.replace.tile.swizzle_mode" in result.asm["ptx"]


@triton.jit
def beside_stock(desc, out, x):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    values = desc.load([0, 0])
    tlx.local_store(tile[0], values + 1)
    tlx.fence_async_shared()
    tlx.async_descriptor_store(out, tile[0], [0, 0])
    tlx.async_descriptor_store_wait(0)
    out.store([64, 0], values)


def test_stock_and_tlx_copies_share_a_descriptor(compiled):
    ptx = compiled(beside_stock, f"{TILE}, x=*fp16").asm["ptx"]
    assert len(re.findall(r"cp\.async\.bulk\.tensor\.2d\.global\.shared", ptx)) == 2
    fence = ptx.index("fence.proxy.async")
    assert ptx.index("st.shared") < fence < ptx.index("cp.async.bulk.tensor.2d.global")


@triton.jit
def vector(desc, n):
    line = tlx.local_alloc((256,), tl.float32, 1, layout=NVMMA_1D)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 1024)
    tlx.async_descriptor_load(desc, line[0], [n], full[0])
    tlx.barrier_wait(full[0], 0)


NVMMA_1D = tl.constexpr(NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1))


def test_vectors_are_tiles_too(compiled):
    ptx = compiled(vector, "desc=tensordesc<fp32[256]>, n=i32").asm["ptx"]
    assert "cp.async.bulk.tensor.1d.shared::cta.global" in ptx


@triton.jit
def ahead(desc, x, n):
    made = tlx.make_tensor_descriptor(None, x, [n, 64], [64, 1], [64, 64])
    tlx.async_descriptor_prefetch_tensor(desc, [n, 64])
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=1):
            tlx.async_descriptor_prefetch_tensor(made, [0, n + 1], pred=n > 3)


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_are_prefetched(compiled, target):
    ptx = compiled(ahead, "desc=tensordesc<fp16[64, 64]>, x=*fp16:16, n=i32", target).asm["ptx"]
    pattern = r"@p cp\.async\.bulk\.prefetch\.tensor\.2d\.L2\.global\.tile \[(%rd\d+), \{%r\d+, %r\d+\}\]"
    given, made = re.findall(pattern, ptx)
    assert re.search(rf"cvta\.param\.u64 \t{given},", ptx)
    # The descriptor that the kernel makes reaches the task through shared memory.
    assert re.search(rf"ld\.shared\.b64 \t{made},", ptx)


@triton.jit
def kept_ahead(desc, POLICY: tl.constexpr):
    tlx.async_descriptor_prefetch_tensor(desc, [0, 64], eviction_policy=POLICY)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("policy", ["evict_first", "evict_last"])
def test_eviction_policy_reaches_the_prefetch(compiled, target, policy):
    ptx = compiled(kept_ahead, "desc=tensordesc<fp16[64, 64]>", target, POLICY=policy).asm["ptx"]
    assert f"createpolicy.fractional.L2::{policy}.b64 c, 1.0; @p cp.async.bulk.prefetch.tensor.2d.L2.global.tile" in ptx
    assert re.search(r"tile\.L2::cache_hint \[%rd\d+, \{%r\d+, %r\d+\}\], c; }", ptx)


@triton.jit
def wrong(desc, out, x, n, CASE: tl.constexpr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    small = tlx.local_alloc((32, 64), tl.float16, 1)
    wide = tlx.local_alloc((64, 64), tl.float32, 1)
    full = tlx.alloc_barriers(2)
    values = tl.zeros((64, 64), tl.float16)
    if CASE == "no descriptor":
        tlx.async_descriptor_load(x, tiles[0], [0, 0], full[0])
    if CASE == "no buffer":
        tlx.async_descriptor_load(desc, values, [0, 0], full[0])
    if CASE == "slots":
        tlx.async_descriptor_load(desc, tiles, [0, 0], full[0])
    if CASE == "shape":
        tlx.async_descriptor_load(desc, small[0], [0, 0], full[0])
    if CASE == "type":
        tlx.async_descriptor_store(desc, wide[0], [0, 0])
    if CASE == "offsets":
        tlx.async_descriptor_load(desc, tiles[0], [0], full[0])
    if CASE == "no offset":
        tlx.async_descriptor_store(desc, tiles[0], [0, 1.5])
    if CASE == "barriers":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], full)
    if CASE == "no barrier":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], n)
    if CASE == "condition":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0], pred=values > 0)
    if CASE == "modifier":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0], cache_modifier=".cg")
    if CASE == "policy":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0], eviction_policy="evict_normal")
    if CASE == "multicast":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0], multicast_targets=[0, 1])
    if CASE == "pair":
        tlx.async_descriptor_load(desc, tiles[0], [0, 0], full[0], two_ctas=True)
    if CASE == "reduction":
        tlx.async_descriptor_store(desc, tiles[0], [0, 0], store_reduce="mul")
    if CASE == "reduction of type":
        tlx.async_descriptor_store(desc, tiles[0], [0, 0], store_reduce="xor")
    if CASE == "policy of reduction":
        tlx.async_descriptor_store(desc, tiles[0], [0, 0], "evict_last", "add")
    if CASE == "prefetch of no descriptor":
        tlx.async_descriptor_prefetch_tensor(x, [0, 0])
    if CASE == "prefetch of no tile":
        tlx.async_descriptor_prefetch_tensor(desc, [0, 0, 0])
    if CASE == "policy of prefetch":
        tlx.async_descriptor_prefetch_tensor(desc, [0, 0], eviction_policy="evict_normal")
    if CASE == "place":
        tlx.make_tensor_descriptor(x, x, [n, 64], [64, 1], [64, 64])
    if CASE == "pendings":
        tlx.async_descriptor_store_wait(-1)
    if CASE == "run-time pendings":
        tlx.async_descriptor_store_wait(n)


LOAD, STORE, WAIT = "async_descriptor_load", "async_descriptor_store", "async_descriptor_store_wait"
PREFETCH, MAKE = "async_descriptor_prefetch_tensor", "make_tensor_descriptor"


@pytest.mark.parametrize(
    ("case", "message", "where", "expected", "found"),
    [
        ("no descriptor", "not a descriptor", f"{LOAD}, argument desc", "a tensor descriptor", "pointer<fp16>"),
        ("no buffer", "not a buffer", f"{LOAD}, argument result", "a buffer of tlx.local_alloc", ""),
        ("slots", "the buffer has slots", f"{LOAD}, argument result", "one slot", "buffered_tensor<2 x 64x64xfp16>"),
        ("shape", "not like a block", f"{LOAD}, argument result", "(64, 64) of fp16", "(32, 64) of fp16"),
        ("type", "not like a block", f"{STORE}, argument source", "(64, 64) of fp16", "(64, 64) of fp32"),
        ("offsets", "another number of offsets", f"{LOAD}, argument offsets", "2", "1"),
        ("no offset", "not an integer", f"{STORE}, argument offsets", "a scalar", "1.5"),
        ("barriers", "is an array", f"{LOAD}, argument barrier", "one barrier", "mbarrier<2 x 1>"),
        ("no barrier", "not a barrier", f"{LOAD}, argument barrier", "a barrier", "int32"),
        ("condition", "not a scalar", f"{LOAD}, argument pred", "a scalar", "int1"),
        ("modifier", "no such value", f"{LOAD}, argument cache_modifier", "''", "'.cg'"),
        ("policy", "no such value", f"{LOAD}, argument eviction_policy", "'evict_last'", "'evict_normal'"),
        ("multicast", "has no clusters", LOAD, "ctas_per_cga=(n, 1, 1)", "a cluster of 1"),
        ("pair", "lacks this argument", f"{LOAD}, argument two_ctas", "cuda:100", "True for cuda:90"),
        ("reduction", "no such value", f"{STORE}, argument store_reduce", "'xor'", "'mul'"),
        ("reduction of type", "no atomic 'xor'", f"{STORE}, argument store_reduce", "int32", "fp16"),
        ("policy of reduction", "no such value", f"{STORE}, argument eviction_policy", "''", "'evict_last'"),
        (
            "prefetch of no descriptor",
            "not a descriptor",
            f"{PREFETCH}, argument desc",
            "a tensor descriptor",
            "pointer",
        ),
        ("prefetch of no tile", "another number of offsets", f"{PREFETCH}, argument offsets", "2", "3"),
        (
            "policy of prefetch",
            "no such value",
            f"{PREFETCH}, argument eviction_policy",
            "'evict_last'",
            "'evict_normal'",
        ),
        ("place", "no memory of a descriptor", f"{MAKE}, argument desc_ptr", "what tlx.allocate", "pointer"),
        ("pendings", "out of range", f"{WAIT}, argument pendings", "0 to 63", "-1"),
        ("run-time pendings", "not a constant integer", f"{WAIT}, argument pendings", "", "int32"),
    ],
)
def test_mistakes_are_errors_at_their_line(refused, case, message, where, expected, found):
    text = refused(wrong, f"{TILE}, x=*fp16, n=i32", CASE=case)
    assert f'if CASE == "{case}":\n' in text.partition("^")[0].splitlines(keepends=True)[-3]
    assert message in text
    assert f"where: tlx.{where}\n" in text
    assert re.search(rf"expected: .*{re.escape(expected)}", text)
    assert re.search(rf"found: .*{re.escape(found)}", text)


@triton.jit
def badly_laid_out(desc, LAYOUT: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float16, 1, layout=LAYOUT)
    tlx.async_descriptor_store(desc, tile[0], [0, 0])


@triton.jit
def narrow_slice(desc):
    tile = tlx.local_alloc((8, 64), tl.float16)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 8 * 32 * 2)
    tlx.async_descriptor_load(desc, tlx.local_slice(tile[0], [0, 32], [8, 32]), [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)


def test_a_slice_narrower_than_the_swizzle_is_an_error(refused):
    text = refused(narrow_slice, "desc=tensordesc<fp16[8, 32]>")
    assert "a row of the slice is narrower than the swizzle of its buffer" in text
    assert "expected: rows of at least 128 bytes" in text
    assert "found: 64 bytes" in text


@pytest.mark.parametrize(("layout", "found"), [(PLAIN, "SwizzledSharedLayout("), (TRANSPOSED, "transposed=True")])
def test_layouts_that_the_copy_engine_lacks_are_errors(refused, layout, found):
    text = refused(badly_laid_out, "desc=tensordesc<fp16[64, 64]>", LAYOUT=layout)
    assert "the buffer has no layout that TMA writes\n  where: tlx.async_descriptor_store, argument source\n" in text
    assert re.search(rf"found: .*{re.escape(found)}", text)


@triton.jit
def two_layouts(desc):
    wide = tlx.local_alloc((64, 64), tl.float16, 1)
    narrow = tlx.local_alloc((64, 64), tl.float16, 1, layout=NARROW)
    tlx.async_descriptor_store(desc, wide[0], [0, 0])
    tlx.async_descriptor_store(desc, narrow[0], [0, 64])


def test_buffers_of_two_layouts_on_one_descriptor_are_an_error(refused_by_pass):
    error = refused_by_pass(two_layouts, "desc=tensordesc<fp16[64, 64]>")
    assert "expected buffers of one layout for a descriptor" in error
    line = next(at for at, text in enumerate(inspect.getsourcelines(two_layouts.fn)[0]) if "narrow[0]" in text)
    assert f"test_tma.py:{inspect.getsourcelines(two_layouts.fn)[1] + line}:" in error


@triton.jit
def in_memory(x, out, n, SLOTS: tl.constexpr):
    """One task makes descriptors in memory, another one uses them."""
    memory = tlx.allocate_tensor_descriptor(SLOTS)
    tile = tlx.local_alloc((64, 64), tl.float16)[0]
    made = tlx.alloc_barriers(1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(SLOTS):
                tlx.make_tensor_descriptor(memory[i], x + i * 4096, [64, 64], [64, 1], [64, 64])
            tlx.barrier_arrive(made[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(made[0], 0)
            desc = tlx.reinterpret_tensor_descriptor(memory[n], [64, 64], tl.float16)
            tlx.barrier_expect_bytes(full[0], 8192)
            tlx.async_descriptor_load(desc, tile, [0, 0], full[0])
            tlx.barrier_wait(full[0], 0)
            tlx.async_descriptor_store(out, tile, [0, 0])
            tlx.async_descriptor_store_wait(0)


MEMORY = "x=*fp16:16, out=tensordesc<fp16[64, 64]>, n=i32"


@pytest.mark.parametrize("target", TARGETS)
def test_descriptors_are_made_in_memory(compiled, target):
    result = compiled(in_memory, MEMORY, target, SLOTS=4)
    text, ptx = result.asm["ttgir"], result.asm["ptx"]
    assert "tlx." not in text
    (memory,) = re.findall(r"(%\w+) = ttg.global_scratch_alloc \{alignment = 128 : i32, nbytes = 512 : i32\}", text)
    assert text.count("ttg.global_scratch_alloc") == 1
    assert len(re.findall(r"ttng.tensormap_create", text)) == 1
    assert len(re.findall(r"ttng.reinterpret_tensor_descriptor", text)) == 1
    # Who writes it in the memory of the kernel, and who uses it, in both tasks.
    assert text.count("ttng.tensormap_fenceproxy_acquire") == 2
    assert memory in re.search(r"ttg.warp_specialize\(.*\)", text)[0]
    # The swizzle of the buffer.
    assert "swizzle_mode = 3" in text
    assert "fence.proxy.tensormap::generic.acquire.gpu" in ptx
    assert "cp.async.bulk.tensor.2d.shared::cta.global" in ptx


@triton.jit
def wrong_memory(x, out, n, CASE: tl.constexpr):
    memory = tlx.allocate_tensor_descriptor(-1 if CASE == "number" else 2)
    if CASE == "slot":
        memory[2]
    if CASE == "slot of a slot":
        memory[0][0]
    if CASE == "several":
        tlx.make_tensor_descriptor(memory, x, [64, 64], [64, 1], [64, 64])
    if CASE == "no memory":
        tlx.reinterpret_tensor_descriptor(x, [64, 64], tl.float16)
    if CASE == "dtype":
        tlx.reinterpret_tensor_descriptor(memory[0], [64, 64], 16)
    if CASE == "block":
        tlx.reinterpret_tensor_descriptor(memory[0], 64, tl.float16)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("number", "an argument is out of range\n  where: tlx.allocate_tensor_descriptor, argument num"),
        ("slot", "the descriptor is out of range\n  where: tlx.tensor_descriptor_ptr, argument index"),
        ("slot of a slot", "the argument is memory of one descriptor already"),
        ("several", "an argument is memory of several descriptors\n  where: tlx.make_tensor_descriptor"),
        ("no memory", "an argument is no memory of a descriptor\n  where: tlx.reinterpret_tensor_descriptor"),
        ("dtype", "an argument is no type\n  where: tlx.reinterpret_tensor_descriptor, argument dtype"),
        ("block", "an argument is not a tuple of constants\n  where: tlx.reinterpret_tensor_descriptor"),
    ],
)
def test_memory_that_is_none_of_descriptors(refused, case, text):
    assert text in refused(wrong_memory, MEMORY, CASE=case)


@triton.jit
def on_any_target(desc, out, OP: tl.constexpr):
    if OP == "async_descriptor_load":
        tlx.async_descriptor_load(desc, desc, [0, 0], desc)
    if OP == "async_descriptor_store":
        tlx.async_descriptor_store(desc, desc, [0, 0])
    if OP == "async_descriptor_store_wait":
        tlx.async_descriptor_store_wait(0)
    if OP == "async_descriptor_prefetch_tensor":
        tlx.async_descriptor_prefetch_tensor(desc, [0, 0])
    if OP == "make_tensor_descriptor":
        tlx.make_tensor_descriptor(None, desc, [64], [1], [64])
    if OP == "allocate_tensor_descriptor":
        tlx.allocate_tensor_descriptor(1)
    if OP == "reinterpret_tensor_descriptor":
        tlx.reinterpret_tensor_descriptor(desc, [64], tl.float16)


MEMORY_OPS = ["allocate_tensor_descriptor", "reinterpret_tensor_descriptor"]


@pytest.mark.parametrize("op", [LOAD, STORE, WAIT, PREFETCH, MAKE, *MEMORY_OPS])
@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942", "hip:gfx950"])
def test_a_target_without_the_operation_is_named(refused, op, target):
    text = refused(on_any_target, TILE, target, OP=op)
    assert f"where: tlx.{op}\n  expected: cuda:90, cuda:100\n  found: {target}" in text
    assert op not in tlx.supported_ops(target)


@triton.jit
def wrong_tile(x, n, CASE: tl.constexpr):
    memory = tlx.allocate_tensor_descriptor(1)
    if CASE == "empty":
        tlx.make_tensor_descriptor(None, x, [64, 64], [64, 1], [])
    if CASE == "empty in memory":
        tlx.reinterpret_tensor_descriptor(memory[0], (), tl.float16)
    if CASE == "many":
        tlx.reinterpret_tensor_descriptor(memory[0], (1, 1, 1, 1, 1, 64), tl.float16)
    if CASE == "size":
        tlx.make_tensor_descriptor(memory[0], x, [64, 64], [64, 1], [48, 64])
    if CASE == "zero":
        tlx.make_tensor_descriptor(None, x, [64, 64], [64, 1], [0, 64])
    if CASE == "run time":
        tlx.make_tensor_descriptor(None, x, [64, 64], [64, 1], [n, 64])
    if CASE == "row":
        tlx.make_tensor_descriptor(None, x, [64, 64], [64, 1], [64, 4])
    if CASE == "shape":
        tlx.make_tensor_descriptor(None, x, [64], [64, 1], [64, 64])
    if CASE == "strides":
        tlx.make_tensor_descriptor(None, x, [64, 64], [], [64, 64])
    if CASE == "stride":
        tlx.make_tensor_descriptor(None, x, [64, 64], [1, n], [64, 64])


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (
            "empty",
            "tlx.make_tensor_descriptor, argument block_shape\n  expected: 1 to 5 sizes, such as (64, 64)\n  found: ()",
        ),
        ("empty in memory", "no such number of dimensions\n  where: tlx.reinterpret_tensor_descriptor, argument block"),
        ("many", "a descriptor has no such number of dimensions\n  where: tlx.reinterpret_tensor_descriptor"),
        ("size", "a size is no power of two\n  where: tlx.make_tensor_descriptor, argument block_shape"),
        ("zero", "a size is no power of two\n  where: tlx.make_tensor_descriptor, argument block_shape"),
        (
            "run time",
            "an argument is not a constant integer\n  where: tlx.make_tensor_descriptor, argument block_shape",
        ),
        ("row", "the rows of a tile are too short\n  where: tlx.make_tensor_descriptor, argument block_shape"),
        ("shape", "another number of dimensions than its tiles\n  where: tlx.make_tensor_descriptor, argument shape"),
        (
            "strides",
            "another number of dimensions than its tiles\n  where: tlx.make_tensor_descriptor, argument strides",
        ),
        ("stride", "the last dimension is not contiguous\n  where: tlx.make_tensor_descriptor, argument strides"),
    ],
)
def test_tiles_that_no_descriptor_has(refused, case, text):
    message = refused(wrong_tile, "x=*fp16:16, n=i32", CASE=case)
    assert text in message
    assert "_tensor_descriptor(" in message.split("^")[0].splitlines()[-2]
