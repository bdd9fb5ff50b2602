"""Cluster launch control: instructions for sm_100, and what is refused."""

import math
import re

import pytest
import triton
import triton.language as tl

from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
from tritonext_tlx.cluster import launched_as  # noqa: E402


@triton.jit
def ask(context, phase):
    tlx.clc_producer(context, phase)


@triton.jit
def by_tasks(x, BLOCKS: tl.constexpr):
    """Two tasks work on a tile, and one of them asks for the next."""
    context = tlx.clc_create_context(2 * BLOCKS, 2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile = tl.program_id(0)
            round = 0
            while tile != -1:
                slot, phase = tlx.get_bufidx_phase(round, 2)
                tlx.clc_producer(context, phase ^ 1, BLOCKS > 1, k=slot)
                tl.store(x + tile * 256 + tl.arange(0, 128), tile)
                tile = tlx.clc_consumer(context, phase, BLOCKS > 1, k=slot)
                round += 1
        with tlx.async_task(num_warps=4):
            tile = tl.program_id(0)
            round = 0
            while tile != -1:
                slot, phase = tlx.get_bufidx_phase(round, 2)
                tl.store(x + tile * 256 + 128 + tl.arange(0, 128), tile)
                tile = tlx.clc_consumer(context, phase, BLOCKS > 1, k=slot)
                round += 1


@triton.jit
def alone(x, MULTI: tl.constexpr):
    context = tlx.clc_create_context(1)
    phase = 0
    tile = tl.program_id(0)
    row = tl.program_id(1)
    while tile != -1:
        ask(context, phase ^ 1)
        tl.store(x + row * 65536 + tile * 128 + tl.arange(0, 128), tile)
        tile, row, _ = tlx.clc_consumer(context, phase, MULTI, return_3d=True)
        phase ^= 1


def order(kernel):
    pattern = r"clusterlaunchcontrol\.(\w+\.\w+)|mbarrier\.(try_wait|arrive\.expect_tx|arrive)\b"
    return [first or second for first, second in re.findall(pattern, kernel.asm["ptx"])]


@pytest.mark.parametrize("multi", [False, True])
def test_one_task(compiled, multi):
    kernel = compiled(alone, "x=*i32:16", "cuda:100", MULTI=multi)
    found = order(kernel)
    # The hardware may write where readers have been, and may be read when it has written.
    assert found[:4] == ["try_wait", "arrive.expect_tx", "try_cancel.async", "try_wait"]
    assert (found[4], found[-1]) == ("query_cancel.is_canceled", "arrive")
    assert "get_first_ctaid::z" in kernel.asm["ptx"] or "get_first_ctaid::y" in kernel.asm["ptx"]
    assert ", 16;" in re.search(r"mbarrier\.arrive\.expect_tx\S* .*", kernel.asm["ptx"])[0]
    assert len(kernel.asm["cubin"]) > 0


def test_tasks(compiled):
    kernel = compiled(by_tasks, "x=*i32:16", "cuda:100", BLOCKS=1)
    found = order(kernel)
    assert found.count("try_cancel.async") == 1
    assert found.count("query_cancel.is_canceled") == 2
    assert sorted(re.findall(r"ttng.init_barrier %\w+, (\d+)", kernel.asm["ttgir"])) == ["1", "1", "2", "2"]


def test_responses_are_aligned(compiled):
    text = compiled(by_tasks, "x=*i32:16", "cuda:100", BLOCKS=1).asm["ptx"]
    assert re.search(r"\.extern \.shared \.align (16|32|64|128)", text)


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "cuda:100"])
def test_other_targets(refused, target):
    text = refused(alone, "x=*i32:16", target, MULTI=False)
    assert f"lacks this operation\n  where: tlx.clc_create_context\n  expected: cuda:100\n  found: {target}" in text


@triton.jit
def called(WHAT: tl.constexpr):
    if WHAT == "clc_producer":
        tlx.clc_producer(0, 0)
    else:
        tlx.clc_consumer(0, 0)


@pytest.mark.parametrize("what", ["clc_producer", "clc_consumer"])
def test_ops_on_other_targets(refused, what):
    assert f"the target lacks this operation\n  where: tlx.{what}" in refused(called, "", "cuda:90", WHAT=what)


@triton.jit
def wrong(WHAT: tl.constexpr):
    context = tlx.clc_create_context(1, 2)
    if WHAT == "consumers":
        tlx.clc_create_context(0)
    if WHAT == "stages":
        tlx.clc_create_context(1, 65)
    if WHAT == "context":
        tlx.clc_producer(tlx.alloc_barriers(1), 1)
    if WHAT == "stage":
        tlx.clc_consumer(context, 0, k=2)
    if WHAT == "phase":
        tlx.clc_producer(context, 2)
    if WHAT == "3d":
        tlx.clc_consumer(context, 0, return_3d=3)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("consumers", "an argument is out of range\n  where: tlx.clc_create_context, argument num_consumers"),
        ("stages", "an argument is out of range\n  where: tlx.clc_create_context, argument num_stages"),
        ("context", "an argument is no context\n  where: tlx.clc_producer, argument context"),
        ("stage", "the stage is out of range\n  where: tlx.clc_consumer, argument k\n  expected: 0 to 1\n  found: 2"),
        ("phase", "an argument has no such value\n  where: tlx.barrier_wait, argument phase"),
        ("3d", "an argument has no such value\n  where: tlx.clc_consumer, argument return_3d"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, "", "cuda:100", WHAT=what)


@triton.jit
def in_clusters(x, BLOCKS: tl.constexpr, MULTI: tl.constexpr):
    context = tlx.clc_create_context(BLOCKS)
    phase = 0
    tile = tl.program_id(0)
    row = tl.program_id(1)
    while tile != -1:
        tlx.clc_producer(context, phase ^ 1, MULTI)
        tl.store(x + row * 65536 + tile * 128 + tl.arange(0, 128), tile)
        tile, row, _ = tlx.clc_consumer(context, phase, MULTI, return_3d=True)
        phase ^= 1


@triton.jit
def ask_ahead(x):
    context = tlx.clc_create_context(2)
    tlx.clc_producer(context, 1, True)
    tl.store(x, tlx.clc_consumer(context, 0, True))


REQUEST = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"


@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_one_block_of_a_cluster_asks_for_all(compiled, shape):
    blocks = math.prod(shape)
    with launched_as(*shape):
        kernel = compiled(in_clusters, "x=*i32:16", "cuda:100", BLOCKS=blocks, MULTI=True)
    ptx = kernel.asm["ptx"]
    assert ptx.count("try_cancel") == ptx.count(REQUEST) == 1
    # All blocks wait for bytes of their own, and tell the one that asks when they have read them.
    found = order(kernel)
    assert found.index("try_cancel.async") == found.index("arrive.expect_tx") + 1
    assert found.index("arrive") > found.index("query_cancel.is_canceled")
    assert len(re.findall(r"mbarrier\.arrive\S*\.shared::cluster", ptx)) == 1
    read = ptx.index("query_cancel.get_first_ctaid::x")
    assert read < ptx.index("fence.proxy.async", read) < ptx.index("mbarrier.arrive.shared::cluster")
    assert ("reqnctapercluster 2, 2, 1" in ptx) == (len(shape) > 1)
    assert sorted(re.findall(r"ttng.init_barrier %\S+, (\d+)", kernel.asm["ttgir"])) == ["1", str(blocks)]
    assert len(kernel.asm["cubin"]) > 0


def test_tasks_of_all_blocks_read_the_response(compiled):
    with launched_as(2):
        kernel = compiled(by_tasks, "x=*i32:16", "cuda:100", BLOCKS=2)
    ptx = kernel.asm["ptx"]
    assert ptx.count("try_cancel") == ptx.count(REQUEST) == 1
    assert len(re.findall(r"mbarrier\.arrive\S*\.shared::cluster", ptx)) == 2
    assert sorted(re.findall(r"ttng.init_barrier %\S+, (\d+)", kernel.asm["ttgir"])) == ["1", "1", "4", "4"]
    assert ptx.index("barrier.cluster.wait") < ptx.index(REQUEST)
    assert len(kernel.asm["cubin"]) > 0


def test_a_cluster_meets_before_the_first_response(compiled):
    with launched_as(2):
        ptx = compiled(ask_ahead, "x=*i32:16", "cuda:100").asm["ptx"]
    places = [ptx.index(text) for text in ("mbarrier.init", "barrier.cluster.wait", REQUEST, "query_cancel")]
    assert places == sorted(places)
    assert ptx.rindex("barrier.cluster.wait") > ptx.rindex("query_cancel")


def test_a_cluster_would_lose_work(refused):
    """Each of its blocks would take over a cluster, and work as one block of that."""
    with launched_as(2):
        text = refused(in_clusters, "x=*i32:16", "cuda:100", BLOCKS=2, MULTI=False)
    assert "get that of a whole cluster\n  where: tlx.clc_producer, argument multi_ctas\n  expected: True" in text
