"""What kernels compile to: tasks, waits, registers and shared memory, and kernels that are left alone."""

from __future__ import annotations

import re

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import inspect_code, remarks
from tritonext.errors import OptionError
from tritonext.offline import Specialization, parse_signature

POINTERS = "a=*bf16:16, b=*bf16:16, c=*bf16:16, M=i32:16, N=i32:16, K=i32:16"
HOST = "a=tensordesc<bf16[{BM}, {BK}]>, b=tensordesc<bf16[{BK}, {BN}]>, c=tensordesc<bf16[{BM}, {BN}]>"


@triton.jit
def one_tile(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZE: tl.constexpr = True
):  # fmt: skip
    """Compute one tile with descriptors that the kernel makes."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALIZE):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, column]), acc)
    c_desc.store([row, column], acc.to(c_desc.dtype))


@triton.jit
def many_tiles(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr):
    """Compute tiles one after another with descriptors of the host."""
    columns = tl.cdiv(N, BN)
    for tile in tl.range(
        tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten=FLATTEN, warp_specialize=True
    ):
        row, column = tile // columns * BM, tile % columns * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row, k * BK]), b.load([k * BK, column]), acc)
        c.store([row, column], acc.to(c.dtype))


@triton.jit
def by_pointers(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZE: tl.constexpr = True
):  # fmt: skip
    """Load operands through pointers, which stock cannot specialize and fails on."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALIZE):
        acc = tl.dot(
            tl.load(a + rows[:, None] * K + k + ks[None, :]), tl.load(b + (k + ks)[:, None] * N + columns[None, :]), acc
        )
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.bfloat16))


def build(kernel, signature, num_warps, spec="warpspec", target="cuda:90", options=None, **constants):
    options = {"num_warps": num_warps} | (options or {})
    with tritonext.use(spec), remarks.collect() as found:
        compiled = Specialization(kernel, parse_signature(signature), constants, options).compile(target)
    return compiled, [remark for remark in found if remark.pass_name == "warpspec-specialize-loops"]


def loop_of(ptx, instruction):
    """Return the text of the innermost loop around an instruction: from its label to the branch back."""
    lines = ptx.splitlines()
    place = next(number for number, line in enumerate(lines) if instruction in line)
    start = max(number for number in range(place) if re.match(r"\$L__BB\w+:", lines[number]))
    label = lines[start].partition(":")[0]
    end = next(number for number in range(place, len(lines)) if re.search(rf"bra.*{re.escape(label)};", lines[number]))
    return "\n".join(lines[start:end])


@pytest.mark.parametrize(("num_warps", "columns"), [(4, 128), (8, 256)])
@pytest.mark.parametrize("kernel", ["one_tile", "many_tiles", "flattened"])
def test_consumers_keep_a_product_in_flight(kernel, num_warps, columns):
    sizes = {"BM": 128, "BN": columns, "BK": 64}
    if kernel == "one_tile":
        compiled, found = build(one_tile, POINTERS, num_warps, **sizes)
    else:
        signature = HOST.format(**sizes) + ", M=i32:16, N=i32:16, K=i32:16"
        compiled, found = build(many_tiles, signature, num_warps, FLATTEN=kernel == "flattened", **sizes)
    assert [remark.kind for remark in found] == ["applied"]
    # Tiles one after another are shared by two warp groups, or dealt out to them.
    many = kernel != "one_tile"
    assert compiled.metadata.num_warps == (8 if many else num_warps) + 4
    assert inspect_code.stats(compiled).spills == 0
    assert compiled.metadata.shared <= 227 * 1024

    consumer = loop_of(compiled.asm["ptx"], "wgmma.mma_async")
    assert re.findall(r"wgmma.wait_group.sync.aligned (\d)", consumer) == ["1"]
    assert consumer.count("mbarrier.try_wait") == consumer.count("mbarrier.arrive") == 1
    assert "fence.proxy" not in consumer
    producer = loop_of(compiled.asm["ptx"], "cp.async.bulk.tensor.2d.shared")
    assert producer.count("mbarrier.arrive.expect_tx") == producer.count("mbarrier.try_wait") == 1
    assert not re.search(r"bar\.sync|fence\.proxy", producer)
    if many:
        # The store of a tile reads shared memory still when the next tile starts.
        assert "cp.async.bulk.wait_group.read" in compiled.asm["ptx"]


def test_registers_move_to_consumers():
    compiled, _ = build(one_tile, POINTERS, 4, BM=128, BN=128, BK=64)
    # Two blocks run on an SM, each with 256 threads that start with 128 registers; 128 of a consumer's are sums.
    assert ".maxnreg 128" in compiled.asm["ptx"]
    assert re.search(r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32 \t40;", compiled.asm["ptx"])
    assert inspect_code.stats(compiled).spills == 0


def test_options_of_the_kernel_hold():
    sizes = {"BM": 128, "BN": 128, "BK": 64}
    compiled, found = build(one_tile, POINTERS, 4, options={"num_stages": 6, "maxnreg": 200}, **sizes)
    assert "a ring of 6 slots" in found[0].message
    assert ".maxnreg 200" in compiled.asm["ptx"]
    # Blocks of 12 warps cannot have 232 registers each.
    compiled, _ = build(one_tile, POINTERS, 8, options={"maxnreg": 232}, **sizes)
    assert ".maxnreg 168" in compiled.asm["ptx"]


def test_loop_that_is_left_alone_compiles_as_if_not_annotated():
    sizes = {"BM": 128, "BN": 128, "BK": 64}
    compiled, found = build(by_pointers, POINTERS, 4, **sizes)
    reason = "an operand is loaded through pointers, which the stock schedule does as fast in a kernel without a loop"
    assert [(remark.kind, remark.message) for remark in found] == [
        ("missed", f"left to the stock schedule: {reason} over tiles")
    ]
    assert found[0].file == __file__
    plain = Specialization(
        by_pointers, parse_signature(POINTERS), sizes | {"SPECIALIZE": False}, {"num_warps": 4}
    ).compile("cuda:90")
    assert compiled.asm["cubin"] == plain.asm["cubin"]


def test_all_loops_are_specialized_on_request():
    sizes = {"BM": 64, "BN": 128, "BK": 64, "SPECIALIZE": False}
    _, found = build(one_tile, POINTERS, 4, **sizes)
    assert found == []
    compiled, found = build(one_tile, POINTERS, 4, "warpspec:loops=all:slots=3", **sizes)
    assert [remark.kind for remark in found] == ["applied"]
    assert "a ring of 3 slots of 24576 bytes" in found[0].message
    again, _ = build(one_tile, POINTERS, 4, "warpspec:loops=all:slots=3", **sizes)
    assert again.asm["ttgir"] == compiled.asm["ttgir"]


def test_blackwell_keeps_the_stock_pass():
    compiled, found = build(one_tile, POINTERS, 4, target="cuda:100", BM=128, BN=128, BK=64)
    assert found == []
    assert "tcgen05.mma" in compiled.asm["ptx"]
    assert compiled.metadata.num_warps > 4


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("loops=some", "loops=annotated or loops=all"),
        ("slots=1", "slots=0, or 2 to 8"),
        ("slots=9", "slots=0, or 2 to 8"),
        ("slots=-2", "slots=0, or 2 to 8"),
        ("schedule=both", "schedule=auto, single, cooperative, pingpong"),
        ("pointers=none", "pointers=auto, describe, copy"),
    ],
)
def test_wrong_option_is_refused(spec, expected):
    with pytest.raises(OptionError, match=f"expected: {expected}"):
        tritonext.use(f"warpspec:{spec}")
