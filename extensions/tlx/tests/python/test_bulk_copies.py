"""Copies of bytes that no thread takes part in: code for the targets that have them, and what is refused."""

import re

import pytest
import triton
import triton.language as tl

from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

TMA = ("cuda:90", "cuda:100")
SIGNATURE = "x=*fp16:16, y=*fp16:16, n=i32:16"


@triton.jit
def row(x, y, n, POLICY: tl.constexpr, SIZE: tl.constexpr):
    """Bring a row by one copy, and take it away by another."""
    slot = tlx.local_alloc((1024,), tl.float16)[0]
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 2048)
    tlx.async_load(x, slot, bulk=True, barrier=full[0], bulk_size=SIZE, eviction_policy=POLICY)
    tlx.barrier_wait(full[0], 0)
    tlx.local_store(slot, tlx.local_load(slot) * 2)
    tlx.fence_async_shared()
    tlx.async_store(y, slot, 2048)
    tlx.async_descriptor_store_wait(0, read_only=False)


@pytest.mark.parametrize("target", TMA)
def test_one_thread_copies_bytes(compiled, target):
    ptx = compiled(row, SIGNATURE, target, POLICY="", SIZE=None).asm["ptx"]
    (load,) = re.findall(
        r"elect\.sync _\|p, -1; setp\.eq\.and\.u32 p, (%r\d+), 0, p; @p cp\.async\.bulk\.shared::cluster\.global"
        r"\.mbarrier::complete_tx::bytes \[%r\d+\], \[%rd\d+\], (%r\d+), \[%r\d+\]; }",
        ptx,
    )
    assert re.search(rf"mov\.b32\s+{load[1]}, 2048;", ptx)
    assert (
        len(re.findall(r"@p cp\.async\.bulk\.global\.shared::cta\.bulk_group \[%rd\d+\], \[%r\d+\], %r\d+; ", ptx)) == 1
    )
    assert ptx.count("@p cp.async.bulk.commit_group;") == 1
    # Not .read: until the writes can be seen.
    assert re.search(r"cp\.async\.bulk\.wait_group\s+0;", ptx)
    # Before the copy: what others read, and the barrier.
    assert re.search(
        r"bar\.sync[^;]*;[^@]*elect\.sync _\|p, -1; setp\.eq\.and\.u32 p, \S+ 0, p; @p cp\.async\.bulk\.sh", ptx
    )


@pytest.mark.parametrize("target", TMA)
@pytest.mark.parametrize("policy", ["evict_first", "evict_last"])
def test_eviction_policy_reaches_the_copy(compiled, target, policy):
    ptx = compiled(row, SIGNATURE, target, POLICY=policy, SIZE=1024).asm["ptx"]
    assert f"createpolicy.fractional.L2::{policy}.b64 c, 1.0;" in ptx
    assert re.search(r"complete_tx::bytes\.L2::cache_hint \[%r\d+\], \[%rd\d+\], %r\d+, \[%r\d+\], c; }", ptx)


@triton.jit
def by_a_task(x, y, n):
    slots = tlx.local_alloc((256,), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(2):
                tlx.barrier_wait(full[i], 0)
                tl.store(y + i * 256 + tl.arange(0, 256), tlx.local_load(slots[i]))
        with tlx.async_task(num_warps=1):
            for i in range(2):
                tlx.barrier_expect_bytes(full[i], 512)
                tlx.async_load(x + i * 256, slots[i], bulk=True, barrier=full[i], bulk_size=n)


@pytest.mark.parametrize("target", TMA)
def test_a_thread_of_the_task_copies(compiled, target):
    """The warp is counted from the first one of the task."""
    result = compiled(by_a_task, SIGNATURE.replace("n=i32:16", "n=i32"), target)
    assert "cp.async.bulk.shared::cluster.global" in result.asm["ptx"]
    body = result.asm["llir"]
    asm = body.index("cp.async.bulk.shared::cluster")
    # Nothing is left of the warps before it: the task has one.
    assert re.search(r"(sub|add) i32 %\d+, -?4|i32 0", body[max(0, asm - 4000) : asm])


@triton.jit
def warms(desc, x):
    tlx.prefetch(desc, tensormap=True)
    tile = tlx.local_alloc((64, 64), tl.float16)[0]
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 8192)
    tlx.async_descriptor_load(desc, tile, [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)


@pytest.mark.parametrize("target", TMA)
def test_a_descriptor_is_fetched(compiled, target):
    ptx = compiled(warms, "desc=tensordesc<fp16[64, 64]>, x=*fp16:16", target).asm["ptx"]
    assert re.search(r"elect\.sync _\|p, -1; @p prefetch\.tensormap \[%rd\d+\];", ptx)


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx950"])
@pytest.mark.parametrize("argument", ["bulk", "bulk_size", "barrier"])
def test_targets_without_bulk_copies(refused, target, argument):
    @triton.jit
    def kernel(x, ARGUMENT: tl.constexpr):
        slot = tlx.local_alloc((64,), tl.float16)[0]
        if ARGUMENT == "bulk":
            tlx.async_load(x, slot, bulk=True)
        if ARGUMENT == "bulk_size":
            tlx.async_load(x + tl.arange(0, 64), slot, bulk_size=16)
        if ARGUMENT == "barrier":
            tlx.async_load(x + tl.arange(0, 64), slot, barrier=slot)

    text = refused(kernel, "x=*fp16:16", target, ARGUMENT=argument)
    assert f"the target lacks this argument\n  where: tlx.async_load, argument {argument}" in text
    assert "expected: cuda:90, cuda:100\n  found: " in text
    assert f"for {target}" in text
    assert argument in tlx.supported_ops(target)["async_load"]


@pytest.mark.parametrize("target", [target for target in TARGETS if target not in TMA])
def test_targets_without_bulk_stores(refused, target):
    @triton.jit
    def kernel(x):
        tlx.async_store(x, tlx.local_alloc((64,), tl.float16)[0], 128)

    assert "the target lacks this operation\n  where: tlx.async_store" in refused(kernel, "x=*fp16:16", target)
    assert "async_store" not in tlx.supported_ops(target)


def test_targets_without_descriptors(refused):
    @triton.jit
    def kernel(x):
        tlx.prefetch(x + tl.arange(0, 64), tensormap=True)

    text = refused(kernel, "x=*fp16:16", "cuda:80")
    assert "the target has no descriptors\n  where: tlx.prefetch, argument tensormap" in text
    assert tlx.supported_ops("cuda:80")["prefetch"] == ("tensormap: True",)


@triton.jit
def wrong(x, y, n, WHAT: tl.constexpr):
    row = tlx.local_alloc((64,), tl.float16)[0]
    tile = tlx.local_alloc((64, 64), tl.float16)[0]
    full = tlx.alloc_barriers(2)
    if WHAT == "no barrier":
        tlx.async_load(x, row, bulk=True)
    if WHAT == "barriers":
        tlx.async_load(x, row, bulk=True, barrier=full)
    if WHAT == "mask":
        tlx.async_load(x, row, bulk=True, barrier=full[0], mask=True)
    if WHAT == "modifier":
        tlx.async_load(x, row, bulk=True, barrier=full[0], cache_modifier=".cg")
    if WHAT == "policy":
        tlx.async_load(x, row, bulk=True, barrier=full[0], eviction_policy="evict_normal")
    if WHAT == "rank":
        tlx.async_load(x, tile, bulk=True, barrier=full[0])
    if WHAT == "pointers":
        tlx.async_load(x + tl.arange(0, 64), row, bulk=True, barrier=full[0])
    if WHAT == "type":
        tlx.async_load(x.to(tl.pointer_type(tl.int16)), row, bulk=True, barrier=full[0])
    if WHAT == "size":
        tlx.async_load(x, row, bulk=True, barrier=full[0], bulk_size=144)
    if WHAT == "step":
        tlx.async_load(x, row, bulk=True, barrier=full[0], bulk_size=24)
    if WHAT == "size alone":
        tlx.async_load(x + tl.arange(0, 64), row, bulk_size=16)
    if WHAT == "volatile":
        tlx.async_load(x, row, bulk=True, barrier=full[0], is_volatile=True)
    if WHAT == "store layout":
        tlx.async_store(x, tile, 128)
    if WHAT == "store slice":
        tlx.async_store(x, tlx.local_slice(row, (0,), (32,)), 64)
    if WHAT == "store size":
        tlx.async_store(x, row, None)
    if WHAT == "descriptor":
        tlx.prefetch(x, tensormap=True)
    if WHAT == "read only":
        tlx.async_descriptor_store_wait(0, read_only=n)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("no barrier", "an argument is not a barrier\n  where: tlx.async_load, argument barrier"),
        ("barriers", "an argument is an array\n  where: tlx.async_load, argument barrier"),
        ("mask", "an argument is not supported\n  where: tlx.async_load, argument mask"),
        ("modifier", "an argument has no such value\n  where: tlx.async_load, argument cache_modifier"),
        ("policy", "an argument has no such value\n  where: tlx.async_load, argument eviction_policy"),
        ("rank", "a bulk copy fills a row\n  where: tlx.async_load, argument result"),
        ("pointers", "an argument is not one pointer\n  where: tlx.async_load, argument src"),
        ("type", "the types of the elements differ\n  where: tlx.async_load, argument src"),
        ("size", "an argument is out of range\n  where: tlx.async_load, argument bulk_size\n  expected: 16 to 128"),
        ("step", "an argument is out of range\n  where: tlx.async_load, argument bulk_size"),
        ("size alone", "an argument is not supported\n  where: tlx.async_load, argument bulk_size"),
        ("volatile", "no target has a volatile asynchronous copy"),
        ("store layout", "a bulk copy keeps the order of the bytes, and the layout of the buffer does not"),
        ("store slice", "a bulk copy takes a whole slot\n  where: tlx.async_store, argument src_smem"),
        ("store size", "an argument is not an integer\n  where: tlx.async_store, argument size"),
        ("descriptor", "an argument is not a descriptor\n  where: tlx.prefetch, argument pointer"),
        ("read only", "an argument has no such value\n  where: tlx.async_descriptor_store_wait, argument read_only"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, SIGNATURE, WHAT=what)
