"""Sparse products of warp groups in kernels with explicit layouts: instructions, registers, and what is refused."""

import re
import subprocess

import pytest
from triton.backends.nvidia.compiler import get_ptxas
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma_wait

sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity.warp_group import async_sparse_dot, metadata_layout  # noqa: E402


@gluon.jit
def product(
    v,
    m,
    b,
    c,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    COLUMNS: gl.constexpr = 8,
    REGISTERS: gl.constexpr = False,
    ASYNC: gl.constexpr = False,
    OUT: gl.constexpr = gl.float32,
    VALUES_LAYOUT: gl.constexpr = None,
    B_LAYOUT: gl.constexpr = None,
    LIMIT: gl.constexpr = None,
):
    """C = expand(values, meta) @ B.T, in four steps along K."""
    dtype: gl.constexpr = v.dtype.element_ty
    bits: gl.constexpr = dtype.primitive_bitwidth
    warps: gl.constexpr = gl.num_warps()
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, N, 256 // bits])
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [warps, 1], [1, 0])
    memory: gl.constexpr = VALUES_LAYOUT or gl.NVMMASharedLayout.get_default_for([M, K // 2], dtype)
    other: gl.constexpr = B_LAYOUT or gl.NVMMASharedLayout.get_default_for([N, K], b.dtype.element_ty)
    words: gl.constexpr = metadata_layout(layout, M, K, bits)
    rows = gl.arange(0, M, gl.SliceLayout(1, blocked))[:, None]
    columns = gl.arange(0, N, gl.SliceLayout(1, blocked))[:, None]
    acc = gl.zeros([M, N], OUT, layout)
    for step in range(4):
        meta = gl.load(
            m
            + gl.arange(0, M, gl.SliceLayout(1, words))[:, None] * (4 * K // COLUMNS)
            + (step * (K // COLUMNS) + gl.arange(0, K // COLUMNS, gl.SliceLayout(0, words)))[None, :]
        )
        at = step * (K // 2) + gl.arange(0, K // 2, gl.SliceLayout(0, blocked))[None, :]
        left = gl.load(v + rows * (2 * K) + at)
        right = gl.load(b + columns * (4 * K) + step * K + gl.arange(0, K, gl.SliceLayout(0, blocked))[None, :])
        if REGISTERS:
            values = gl.convert_layout(left, gl.DotOperandLayout(0, layout, 32 // bits))
        else:
            values = gl.allocate_shared_memory(dtype, [M, K // 2], memory, left)
        dense = gl.allocate_shared_memory(b.dtype.element_ty, [N, K], other, right).permute([1, 0])
        fence_async_shared()
        if ASYNC:
            acc = warpgroup_mma_wait(0, [async_sparse_dot(values, meta, dense, acc, use_acc=step > 0)])
        else:
            acc = async_sparse_dot(values, meta, dense, acc, is_async=False, max_num_imprecise_acc=LIMIT)
    out = gl.convert_layout(acc, blocked)
    gl.store(c + rows * N + gl.arange(0, N, gl.SliceLayout(0, blocked))[None, :], out)


def assembled(ptx, tmp_path):
    """Return what the assembler says of a kernel, and its machine code."""
    source, binary = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_text(ptx)
    command = [get_ptxas(90).path, "-arch=sm_90a", "-v", str(source), "-o", str(binary)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


KINDS = {
    # Types of values and b, of the accumulator, logical columns of a tile, instruction and opcode.
    "f16": ("fp16", "fp16", gl.float32, 64, "k32.f32.f16.f16", "HGMMA.SP"),
    "f16 in f16": ("fp16", "fp16", gl.float16, 64, "k32.f16.f16.f16", "HGMMA.SP"),
    "bf16": ("bf16", "bf16", gl.float32, 128, "k32.f32.bf16.bf16", "HGMMA.SP"),
    "tf32": ("fp32", "fp32", gl.float32, 32, "k16.f32.tf32.tf32", "HGMMA.SP"),
    "e4m3": ("fp8e4nv", "fp8e4nv", gl.float32, 128, "k64.f32.e4m3.e4m3", "QGMMA.SP"),
    "e5m2": ("fp8e5", "fp8e5", gl.float32, 128, "k64.f32.e5m2.e5m2", "QGMMA.SP"),
    "mixed": ("fp8e4nv", "fp8e5", gl.float32, 128, "k64.f32.e4m3.e5m2", "QGMMA.SP"),
    "e5m2 in f16": ("fp8e5", "fp8e4nv", gl.float16, 64, "k64.f16.e5m2.e4m3", "QGMMA.SP"),
    "s8": ("i8", "i8", gl.int32, 128, "k64.s32.s8.s8", "IGMMA.SP"),
    "u8": ("u8", "i8", gl.int32, 128, "k64.s32.u8.s8", "IGMMA.SP"),
}
NAMES = {gl.float32: "fp32", gl.float16: "fp16", gl.int32: "i32"}


def arguments(kind, **constants):
    values, b, out, k, _, _ = KINDS[kind]
    signature = f"v=*{values}:16, m=*u8:16, b=*{b}:16, c=*{NAMES[out]}:16"
    constants = {"M": 64, "N": 32, "K": k, "OUT": out, "COLUMNS": 4 if kind == "tf32" else 8} | constants
    # Of 8-bit floats there is a limit by default, which the instructions of one tile do not reach.
    return signature, constants


# Where operands lie and whether the product waits do not depend on the type: all four of one type of each width.
@pytest.mark.parametrize(
    ("kind", "registers", "is_async"),
    [
        (kind, registers, is_async)
        for kind in KINDS
        for registers in (False, True)
        for is_async in (False, True)
        if registers == is_async or kind in ("bf16", "tf32", "e4m3")
    ],
)
def test_instructions_of_each_kind(compiled, tmp_path, kind, registers, is_async):
    signature, constants = arguments(kind, REGISTERS=registers, ASYNC=is_async, LIMIT=0)
    kernel = compiled(product, signature, **constants)
    _, _, _, k, instruction, opcode = KINDS[kind]
    found = re.findall(r"wgmma\.mma_async\.sp\.sync\.aligned\.(m64n32\S+)([^;]*);", kernel.asm["ptx"])
    bits = {"k32": 16, "k16": 32, "k64": 8}[instruction.partition(".")[0]]
    per_tile = k // (512 // bits)
    assert {name for name, _ in found} == {"m64n32" + instruction}
    assert len(found) % per_tile == 0
    # Selectors alternate where a word of metadata serves two steps.
    operands = [re.sub(r"\{[^}]*\}", "", text) for _, text in found]
    selectors = [int(re.findall(r", (\d), p", text)[0]) for text in operands]
    assert selectors[:per_tile] == [step % 2 if bits > 8 else 0 for step in range(per_tile)]
    assert all((text.count("%rd") == (1 if registers else 2)) for text in operands)
    log = assembled(kernel.asm["ptx"], tmp_path)
    assert "wgmma" not in log
    assert "0 bytes spill stores" in log
    # The assembler may unroll the loop.
    opcodes = re.findall(r"\b([HQI]GMMA\S*)\.64x32", kernel.asm["sass"])
    assert set(opcodes) == {opcode}
    assert len(opcodes) % len(found) == 0


@pytest.mark.parametrize("n", [8, 16, 32, 64, 128, 256])
@pytest.mark.parametrize("kind", ["bf16", "s8"])
def test_columns(compiled, kind, n):
    signature, constants = arguments(kind, N=n)
    assert f"m64n{n}k" in compiled(product, signature, **constants).asm["ptx"]


@pytest.mark.parametrize("warps", [4, 8])
def test_rows_go_to_warp_groups_and_then_to_more_instructions(compiled, tmp_path, warps):
    signature, constants = arguments("bf16", M=256, K=64, ASYNC=True)
    kernel = compiled(product, signature, options={"num_warps": warps}, **constants)
    loop = kernel.asm["ptx"].count("wgmma.mma_async.sp")
    steps = kernel.asm["ptx"].count("wgmma.commit_group")
    assert loop == steps * 2 * 256 // (16 * warps)
    assert "wgmma" not in assembled(kernel.asm["ptx"], tmp_path)


def test_partial_sums_of_8_bit_floats(compiled):
    signature, constants = arguments("e4m3")
    limited = compiled(product, signature, LIMIT=64, **constants).asm["ptx"]
    free = compiled(product, signature, LIMIT=0, **constants).asm["ptx"]
    assert limited.count("wgmma.commit_group") == 2 * free.count("wgmma.commit_group")
    assert "add.f32" in limited or "add.rn.f32" in limited
    assert not re.search(r"add(\.rn)?\.f32", free)


REFUSALS = [
    ({"M": 32}, "the tensor cores have no such M"),
    ({"K": 16}, "the tensor cores have no such K"),
    ({"VALUES_LAYOUT": gl.SwizzledSharedLayout(1, 1, 1, [1, 0])}, "the operand is in no memory that MMA reads"),
    ({"COLUMNS": 16}, "an operand has another shape"),
    ({"OUT": gl.float16}, "no product of bf16 has this type"),
]


@pytest.mark.parametrize(("constants", "message"), REFUSALS)
def test_refusals(refused, constants, message):
    signature, given = arguments("bf16", **constants)
    text = refused(product, signature, **given)
    assert message in text


def test_other_targets_are_refused(refused):
    signature, constants = arguments("bf16")
    assert "the target has no sparse warp-group MMA" in refused(product, signature, "cuda:100", **constants)


def test_other_types_are_refused(refused):
    _, constants = arguments("bf16")
    text = refused(product, "v=*bf16:16, m=*u8:16, b=*fp16:16, c=*fp32:16", **constants)
    assert "the types of the operands differ" in text
    text = refused(product, "v=*bf16:16, m=*i32:16, b=*bf16:16, c=*fp32:16", **constants)
    assert "the metadata are no bytes" in text
    text = refused(product, "v=*i16:16, m=*u8:16, b=*i16:16, c=*fp32:16", **constants)
    assert "the sparse tensor cores do not take this type" in text


def test_8_bit_types_need_k_contiguous(refused):
    signature, constants = arguments("e4m3", B_LAYOUT=gl.NVMMASharedLayout(32, 8, 2, transposed=True))
    text = refused(product, signature, **constants)
    assert "the tensor cores read fp8e4nv with K contiguous only" in text


@gluon.jit
def other_layouts(m, CASE: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 16, 16])
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [16, 2], [4, 1], [1, 0])
    at = (
        gl.arange(0, 64, gl.SliceLayout(1, blocked))[:, None] * 8 + gl.arange(0, 8, gl.SliceLayout(0, blocked))[None, :]
    )
    meta = gl.load(m + at)
    memory: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 32], gl.bfloat16)
    values = gl.allocate_shared_memory(gl.bfloat16, [64, 32], memory)
    b = gl.allocate_shared_memory(gl.bfloat16, [16, 64], gl.NVMMASharedLayout.get_default_for([16, 64], gl.bfloat16))
    acc = gl.zeros([64, 16], gl.float32, layout if CASE == "meta" else blocked)
    async_sparse_dot(values, meta, b.permute([1, 0]), acc)


def test_other_layouts_are_refused(refused):
    assert "the metadata has another layout" in refused(other_layouts, "m=*u8:16", CASE="meta")
    assert "the accumulator has no layout of MMA" in refused(other_layouts, "m=*u8:16", CASE="acc")


@gluon.jit
def wrong(m, CASE: gl.constexpr):
    version: gl.constexpr = [2, 0] if CASE == "version" else [3, 0]
    shape: gl.constexpr = [16, 8] if CASE == "version" else [16, 32 if CASE == "columns" else 16, 16]
    layout: gl.constexpr = gl.NVMMADistributedLayout(version, [2, 2] if CASE == "warps" else [4, 1], shape)
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [16, 2], [4, 1], [1, 0])
    memory: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 32], gl.bfloat16)
    values = gl.allocate_shared_memory(gl.bfloat16, [64, 32], memory)
    b = gl.allocate_shared_memory(gl.bfloat16, [16, 64], gl.NVMMASharedLayout.get_default_for([16, 64], gl.bfloat16))
    b = b.permute([1, 0])
    meta = gl.zeros([64, 8], gl.uint8, blocked)
    acc = gl.zeros([64, 16], gl.float32, layout)
    flag = gl.load(m) > 0
    if CASE == "values":
        async_sparse_dot(gl.zeros([64, 32], gl.bfloat16, blocked), meta, b, acc)
    elif CASE == "limit":
        async_sparse_dot(values, gl.zeros([64, 8], gl.uint8, metadata_layout(layout, 64, 64, 16)), b, acc, True, -4)
    elif CASE == "use_acc":
        async_sparse_dot(values, gl.zeros([64, 8], gl.uint8, metadata_layout(layout, 64, 64, 16)), b, acc, acc > 0)
    elif CASE == "is_async":
        where = gl.zeros([64, 8], gl.uint8, metadata_layout(layout, 64, 64, 16))
        async_sparse_dot(values, where, b, acc, is_async=flag)
    elif CASE == "metadata of blocks":
        gl.zeros([64, 8], gl.uint8, metadata_layout(blocked, 64, 64, 16))
    elif CASE == "metadata of rows":
        gl.zeros([64, 8], gl.uint8, metadata_layout(layout, 60, 64, 16))
    elif CASE == "metadata of columns":
        gl.zeros([64, 8], gl.uint8, metadata_layout(layout, 64, 3, 16))
    elif CASE == "metadata of bits":
        gl.zeros([64, 8], gl.uint8, metadata_layout(layout, 64, 64, 4))
    elif CASE == "sparse_dot":
        sparsity.sparse_dot(gl.zeros([64, 32], gl.bfloat16, blocked), meta, gl.zeros([64, 16], gl.bfloat16, blocked))
    elif CASE == "expand24":
        sparsity.expand24(gl.zeros([64, 32], gl.bfloat16, blocked), meta)
    else:
        async_sparse_dot(values, meta, b, acc)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("version", r"no layout of warp-group MMA.*argument acc.*version 3.*version=\(2, 0\)"),
        ("warps", r"no layout of warp-group MMA.*a multiple of 4 warps.*warps_per_cta=\(2, 2\)"),
        (
            "columns",
            r"fewer columns than the instruction.*argument acc.*at most 16 columns.*instr_shape=\(16, 32, 16\)",
        ),
        ("values", r"the values have another layout.*expected: DotOperandLayout.*found: BlockedLayout"),
        ("limit", r"not a number of elements.*expected: 0 or more.*found: -4"),
        ("use_acc", r"no condition.*argument use_acc.*expected: a scalar or a constant.*found: a value of type"),
        ("is_async", r"no constant.*argument is_async.*expected: True or False"),
        ("metadata of blocks", r"no layout of warp-group MMA.*argument acc_layout.*found: BlockedLayout"),
        ("metadata of rows", r"no such M.*power of two of at least 64.*found: 60"),
        ("metadata of columns", r"no such K.*power of two of at least 32.*found: 3"),
        ("metadata of bits", r"no such elements.*expected: 8, 16 or 32.*found: 4"),
        ("sparse_dot", r"chooses layouts itself.*sparse_dot, argument values.*hint: in @gluon.jit kernels"),
        ("expand24", r"chooses layouts itself.*expand24, argument values"),
    ],
)
def test_wrong_arguments_are_refused_at_their_line(refused, case, message):
    text = refused(wrong, "m=*u8:16", CASE=case)
    assert re.search(message, text, re.DOTALL), text


@pytest.mark.parametrize("stages", [1, 3])
def test_products_in_loops_of_the_language(compiled, kernels, tmp_path, stages):
    signature = "v=*bf16:16, m=*u8:16, b=*bf16:16, c=*fp32:16, ldv=i32:16, ldm=i32:16, ldb=i32:16, K=i32:16"
    ptx = compiled(kernels.gemm, signature, options={"num_stages": stages}, BM=128, BN=128, BK=64).asm["ptx"]
    log = assembled(ptx, tmp_path)
    assert "wgmma" not in log
    # From the writes of all warps to the product, and on to the next write.
    order = (r"fence\.proxy\.async", r"bar\.sync", r"cp\.async\.\w+\.shared", r"st\.shared", r"wgmma\.mma")
    events = re.findall("|".join((*order, r"wgmma\.wait_group\S* \d", "// the reg")), ptx)
    product = events.index("wgmma.mma")
    before = events[:product]
    written = max(i for i, event in enumerate(before) if "shared" in event)
    assert {"fence.proxy.async", "bar.sync"} <= set(before[written:])
    # Metadata is in registers until the product is over, within the round.
    kept = events.index("// the reg")
    assert events[kept - 1] == "wgmma.wait_group.sync.aligned 0"
    assert events.count("// the reg") == 1
