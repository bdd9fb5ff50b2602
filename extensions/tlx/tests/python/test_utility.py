"""Special registers and cluster ops."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")


@triton.jit
def registers(x, t, AXIS: tl.constexpr):
    before = tlx.clock64()
    thread = tlx.thread_id(AXIS)
    tl.store(x + thread, thread)
    tl.store(t, tlx.clock64() - before)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
@pytest.mark.parametrize(("axis", "name"), [(0, "x"), (1, "y"), (2, "z")])
def test_registers_of_nvidia(compiled, target, axis, name):
    result = compiled(registers, "x=*i32, t=*i64", target, AXIS=axis)
    assert re.search(rf"mov\.u32 \t%r\d+, %tid\.{name};", result.asm["ptx"])
    # Both readings stay, and the stores between them.
    clocks = [match.start() for match in re.finditer("%clock64", result.asm["ptx"])]
    assert len(clocks) == 2
    store = re.search(r"st\.global\.b32", result.asm["ptx"]).start()
    assert clocks[0] < store < clocks[1]


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_registers_of_amd(compiled, target):
    result = compiled(registers, "x=*i32, t=*i64", target, AXIS=0)
    assert "@llvm.amdgcn.workitem.id.x()" in result.asm["llir"]
    assert result.asm["ttgir"].count("llvm.amdgcn.s.memtime") == 2
    assert "\ts_memtime" in result.asm["amdgcn"]


@triton.jit
def clusters(x):
    tlx.cluster_barrier()
    tl.store(x + tlx.cluster_cta_rank(), tlx.cluster_size_1d())


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_clusters(compiled, target):
    ptx = compiled(clusters, "x=*i32", target, {"num_ctas": 2}).asm["ptx"]
    assert re.search(r"%cluster_ctarank;", ptx)
    assert re.search(r"%cluster_nctarank;", ptx)
    assert ptx.index("barrier.cluster.arrive") < ptx.index("barrier.cluster.wait") < ptx.index("%cluster_nctarank")


@triton.jit
def axes(x, n, CASE: tl.constexpr):
    if CASE == "axis":
        tl.store(x, tlx.thread_id(3))
    if CASE == "run-time axis":
        tl.store(x, tlx.thread_id(n))
    if CASE == "rank":
        tl.store(x, tlx.cluster_cta_rank())
    if CASE == "size":
        tl.store(x, tlx.cluster_size_1d())
    if CASE == "barrier":
        tlx.cluster_barrier()


@pytest.mark.parametrize(
    ("case", "target", "message", "where", "expected", "found"),
    [
        ("axis", "cuda:90", "no such value", "thread_id, argument axis", "0, 1, 2", "3"),
        ("run-time axis", "cuda:90", "no such value", "thread_id, argument axis", "0, 1, 2", "a value of type int32"),
        ("rank", "cuda:80", "the target lacks", "cluster_cta_rank", "cuda:90, cuda:100", "cuda:80"),
        ("size", "hip:gfx942", "the target lacks", "cluster_size_1d", "cuda:90, cuda:100", "hip:gfx942"),
        ("barrier", "cuda:90", "the kernel has no clusters", "cluster_barrier", "num_ctas of 2 or more", "1"),
        ("barrier", "cuda:80", "the target lacks", "cluster_barrier", "cuda:90, cuda:100", "cuda:80"),
    ],
)
def test_mistakes_are_errors_at_their_line(refused, case, target, message, where, expected, found):
    text = refused(axes, "x=*i32, n=i32", target, CASE=case)
    assert message in text
    assert f"where: tlx.{where}\n" in text
    assert f"expected: {expected}\n" in text
    assert f"found: {found}" in text
