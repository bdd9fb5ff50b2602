"""Sparse products: the instruction of each kind on each target, the layouts of its operands, and what is refused."""

import re
import subprocess

import pytest
import triton
import triton.language as tl
from triton.backends.nvidia.compiler import get_ptxas

sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")


@triton.jit
def product_of_right(
    a, v, m, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr = 8, OUT: tl.constexpr = None
):
    """C = A @ expand24(values, meta).T of one tile."""
    left = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    values = tl.load(v + tl.arange(0, N)[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + tl.arange(0, N)[:, None] * (K // GROUP) + tl.arange(0, K // GROUP)[None, :])
    d = sparsity.dot_sparse(left, values, meta, out_dtype=OUT)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], d)


KINDS = {
    # Type, accumulator, arguments of the kernel, instruction, and how many for 32 x 32 of four warps.
    "f16": ("fp16", "fp32", {"K": 64}, "m16n8k32.row.col.f32.f16.f16.f32", 4),
    "f16 in f16": ("fp16", "fp16", {"K": 64, "OUT": tl.float16}, "m16n8k32.row.col.f16.f16.f16.f16", 4),
    "bf16": ("bf16", "fp32", {"K": 64}, "m16n8k32.row.col.f32.bf16.bf16.f32", 4),
    "tf32": ("fp32", "fp32", {"K": 32, "GROUP": 4}, "m16n8k16.row.col.f32.tf32.tf32.f32", 4),
    "s8": ("i8", "i32", {"K": 128}, "m16n8k64.row.col.s32.s8.s8.s32", 4),
}
FP8 = {
    "e4m3": ("fp8e4nv", "fp32", {"K": 128}, "m16n8k64.row.col.f32.e4m3.e4m3.f32", 4),
    "e5m2": ("fp8e5", "fp32", {"K": 128}, "m16n8k64.row.col.f32.e5m2.e5m2.f32", 4),
}
CASES = [
    *((target, kind) for target in ("cuda:80", "cuda:86", "cuda:90", "cuda:100") for kind in KINDS),
    *((target, kind) for target in ("cuda:89", "cuda:120") for kind in KINDS | FP8),
]


def signature(kind: str, out: str) -> str:
    return f"v=*{kind}:16, m=*u8:16, b=*{kind}:16, c=*{out}:16"


@pytest.mark.parametrize(("target", "kind"), CASES)
def test_instruction_of_each_kind(compiled, kernels, target, kind):
    dtype, out, arguments, instruction, count = (KINDS | FP8)[kind]
    kernel = compiled(kernels.product, signature(dtype, out), target, M=32, N=32, **arguments)
    ptx = kernel.asm["ptx"]
    found = re.findall(r"mma\.sp::ordered_metadata\.sync\.aligned\.(\S+) [^;]*, (\d);", ptx)
    assert [name for name, _ in found] == [instruction] * count
    assert len(re.findall(r"mma[._]", ptx)) == count
    # Of 16 bits and more the second step along K takes the other half of the same metadata.
    selectors = {"0"} if dtype in ("i8", "fp8e4nv", "fp8e5") else {"0", "1"}
    assert {selector for _, selector in found} == selectors
    # Each is one instruction of the machine, which multiplies the type itself.
    opcode = {"i8": "IMMA", "fp8e4nv": "QMMA", "fp8e5": "QMMA"}.get(dtype, "HMMA")
    assert re.findall(r"\b(\w+MMA\.\w+)\.", kernel.asm["sass"]) == [f"{opcode}.SP"] * count


@pytest.mark.parametrize(
    ("target", "left", "right", "out", "instruction"),
    [
        ("cuda:89", "fp8e4nv", "fp8e5", "fp32", "f32.e4m3.e5m2.f32"),
        ("cuda:120", "fp8e4nv", "fp8e5", "fp32", "f32.e4m3.e5m2.f32"),
        ("cuda:80", "u8", "i8", "i32", "s32.u8.s8.s32"),
        ("cuda:90", "i8", "u8", "i32", "s32.s8.u8.s32"),
        ("cuda:120", "u8", "u8", "i32", "s32.u8.u8.s32"),
    ],
)
def test_types_mix(compiled, kernels, target, left, right, out, instruction):
    text = signature(left, out).replace(f"b=*{left}", f"b=*{right}")
    kernel = compiled(kernels.product, text, target, M=32, N=32, K=64)
    assert f"m16n8k64.row.col.{instruction}" in kernel.asm["ptx"]
    if out == "i32":
        types = "".join(f".{kind.upper()}" for kind in instruction.split(".")[1:3])
        assert f"IMMA.SP.16864{types}" in kernel.asm["sass"]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:89", "cuda:90", "cuda:100", "cuda:120"])
def test_sparse_operand_on_the_right(compiled, target):
    text = "a=*fp16:16, v=*fp16:16, m=*u8:16, c=*fp32:16"
    ptx = compiled(product_of_right, text, target, M=32, N=32, K=64).asm["ptx"]
    assert ptx.count("mma.sp::ordered_metadata") == 4


PIPELINED = "v=*fp16:16, m=*u8:16, b=*fp16:16, c=*fp32:16, ldv=i32:16, ldm=i32:16, ldb=i32:16, K=i32:16"


def test_loop_of_warp_groups_copies_while_it_multiplies(compiled, kernels):
    kernel = compiled(kernels.gemm, PIPELINED, "cuda:90", {"num_stages": 3}, BM=128, BN=128, BK=128)
    ttgir = kernel.asm["ttgir"]
    loop = ttgir[ttgir.index("scf.for") : ttgir.index("scf.yield")]
    assert "tt.load" not in loop
    # Operands have one buffer more than stages that are copied ahead, metadata has not.
    assert {shape: int(count) for count, shape in re.findall(r"memdesc<(\d)x(\d+x\d+x\w+), #shared", loop)} == {
        "128x64xf16": 3,
        "128x128xf16": 3,
        "128x16xi8": 2,
    }
    product_at, wait_at = loop.index("sparsity.warp_group_dot"), loop.index("ttng.warp_group_dot_wait")
    copies = [match.start() for match in re.finditer("ttg.async_copy_global_to_local", loop)]
    assert len(copies) == 3
    assert all(product_at < copy < wait_at for copy in copies)
    assert "isAsync" in loop
    assert re.findall(r"wgmma.wait_group.sync.aligned (\d)", kernel.asm["ptx"]) == ["0", "0"]
    assert kernel.asm["ptx"].count("wgmma.mma_async.sp") == 2 * 4


@triton.jit
def gemm_of_descriptors(v, m, b, c, ldm, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same with values and b, transposed in memory, by descriptors."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    ms = m + rows[:, None] * ldm + tl.arange(0, BK // 8)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = sparsity.sparse_dot(v.load([0, k // 2]), tl.load(ms), b.load([0, k]).T, acc)
        ms += BK // 8
    tl.store(c + rows[:, None] * BN + columns[None, :], acc)


def test_loop_of_warp_groups_copies_by_descriptors(compiled):
    text = "v=tensordesc<fp16[128,64]>, m=*u8:16, b=tensordesc<fp16[128,128]>, c=*fp32:16, ldm=i32, K=i32:16"
    kernel = compiled(gemm_of_descriptors, text, "cuda:90", {"num_warps": 8, "num_stages": 3}, BM=128, BN=128, BK=128)
    ttgir, ptx = kernel.asm["ttgir"], kernel.asm["ptx"]
    loop = ttgir[ttgir.index("scf.for") : ttgir.index("scf.yield")]
    assert loop.count("ttng.async_tma_copy_global_to_local") == 2
    assert "ttg.local_alloc" not in loop
    # All warp groups have read a buffer before it is written again.
    steps = re.findall(r"bar\.sync|cp\.async\.bulk\.tensor|wgmma\.mma_async|wgmma\.wait_group", ptx)
    first = steps.index("wgmma.mma_async")
    last = steps.index("wgmma.wait_group")
    inside = steps[first:last]
    assert inside.index("bar.sync") < inside.index("cp.async.bulk.tensor")


@pytest.mark.parametrize("columns", [64, 128, 256])
@pytest.mark.parametrize("warps", [4, 8])
def test_assembler_keeps_products_asynchronous(compiled, kernels, tmp_path, columns, warps):
    options = {"num_warps": warps, "num_stages": 3}
    ptx = compiled(kernels.gemm, PIPELINED, "cuda:90", options, BM=64 * warps // 4, BN=columns, BK=64).asm["ptx"]
    (tmp_path / "kernel.ptx").write_text(ptx)
    command = [get_ptxas(90).path, "-arch=sm_90a", "-v", "kernel.ptx", "-o", "kernel.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    # It warns, by C7510 and its kin, where it makes products wait for each other.
    assert "C75" not in done.stderr, done.stderr
    assert " 0 bytes spill stores" in done.stderr


def test_loop_with_sparse_operand_on_the_right_transposes_no_accumulator(compiled, kernels):
    text = "a=*fp16:16, v=*fp16:16, m=*u8:16, c=*fp32:16, lda=i32:16, ldv=i32:16, ldm=i32:16, K=i32:16"
    ttgir = compiled(kernels.gemm_of_right, text, "cuda:90", {"num_stages": 3}, BM=128, BN=128, BK=64).asm["ttgir"]
    loop = ttgir[ttgir.index("scf.for") : ttgir.index("scf.yield")]
    assert "isAsync" in loop
    assert not re.search(r"tt\.trans|ttg\.convert_layout|tt\.load", loop)
    # The dense operand is another view of what was copied.
    assert "ttg.memdesc_trans" in loop


@pytest.mark.parametrize("target", ["cuda:80", "cuda:89", "cuda:120"])
def test_loop_is_pipelined_and_converts_no_accumulator(compiled, kernels, target):
    ttgir = compiled(kernels.gemm, PIPELINED, target, {"num_stages": 3}, BM=128, BN=128, BK=128).asm["ttgir"]
    loop = ttgir[ttgir.index("scf.for") : ttgir.index("scf.yield")]
    # Values, metadata and b come by asynchronous copies of their own.
    assert loop.count("ttg.async_copy_global_to_local") == 3
    assert "tt.load" not in loop
    assert "ttg.convert_layout" not in loop
    assert loop.count("sparsity.dot") == 1


SHAPE = {"M": 32, "N": 32, "K": 64}
HALF = signature("fp16", "fp32")


@pytest.mark.parametrize(
    ("text", "target", "arguments", "message"),
    [
        (HALF, "cuda:75", {}, r"cannot lower its ops for this target.*expected: cuda:80, .*found: cuda:75"),
        (HALF, "hip:gfx90a", {}, r"cannot lower its ops for this target.*found: hip:gfx90a"),
        (signature("u8", "i32"), "hip:gfx942", {}, r"do not take this type.*argument values.*found: uint8"),
        (signature("fp64", "fp64"), "cuda:80", {}, r"do not take this type.*argument values.*found: fp64"),
        (HALF.replace("b=*fp16", "b=*bf16"), "cuda:80", {}, r"types of the operands differ.*argument b.*found: bf16"),
        (HALF.replace("m=*u8", "m=*i16"), "cuda:80", {}, r"another type.*argument meta.*expected: uint8.*found: int16"),
        (HALF, "cuda:80", {"GROUP": 4}, r"another shape.*argument meta.*expected: \(32, 8\).*found: \(32, 16\)"),
        (HALF, "cuda:80", {"M": 8}, r"no such M.*argument values.*expected: at least 16.*found: 8"),
        (HALF, "cuda:80", {"N": 4}, r"no such N.*argument b.*expected: at least 8.*found: 4"),
        (HALF, "cuda:80", {"K": 16}, r"no such K.*argument values.*expected: at least 32.*found: 16"),
        (HALF, "cuda:80", {"OUT": tl.int32}, r"no product of fp16 has this type.*expected: fp32 or fp16.*found: int32"),
        (signature("fp8e4nv", "fp32"), "cuda:90", {}, r"no sparse product of 8-bit floats.*hint.*multiple of 64 rows"),
        (signature("fp8e4nv", "fp32"), "cuda:100", {"M": 64}, r"no sparse product of 8-bit floats.*found: cuda:100"),
        (signature("fp8e5", "fp32"), "cuda:80", {}, r"no sparse product of 8-bit floats like this"),
        (signature("fp8e4nv", "fp16"), "cuda:89", {"OUT": tl.float16}, r"by warps have another type.*found: fp16"),
    ],
)
def test_refusals(refused, kernels, text, target, arguments, message):
    error = refused(kernels.product, text, target, **SHAPE | arguments)
    assert re.search(message, error, re.DOTALL), error
    assert "sparsity.sparse_dot(values, meta, right" in error


def test_refusal_of_clusters(compiled, kernels):
    with pytest.raises(
        triton.CompilationError, match=r"belongs to one block(.|\n)*expected: num_ctas=1(.|\n)*found: 2"
    ):
        compiled(kernels.product, HALF, "cuda:90", {"num_ctas": 2}, **SHAPE)


@triton.jit
def wrong(v, m, b, c, WHICH: tl.constexpr):
    values = tl.zeros((32, 32), v.dtype.element_ty)
    meta = tl.zeros((32, 8), tl.uint8)
    right = tl.zeros((64, 32), v.dtype.element_ty)
    acc = tl.zeros((32, 32), tl.float32)
    if WHICH == "scalar":
        sparsity.sparse_dot(1.0, meta, right)
    if WHICH == "inner":
        sparsity.sparse_dot(values, meta, tl.zeros((32, 32), v.dtype.element_ty))
    if WHICH == "inner of right":
        sparsity.dot_sparse(values, values, meta)
    if WHICH == "acc shape":
        sparsity.sparse_dot(values, meta, right, tl.zeros((32, 16), tl.float32))
    if WHICH == "acc shape of right":
        sparsity.dot_sparse(tl.zeros((16, 64), v.dtype.element_ty), values, meta, acc)
    if WHICH == "acc type":
        sparsity.sparse_dot(values, meta, right, acc.to(tl.int32))
    if WHICH == "out type":
        sparsity.sparse_dot(values, meta, right, acc, out_dtype=tl.float16)
    if WHICH == "limit":
        sparsity.sparse_dot(values.to(tl.float8e5), meta, right.to(tl.float8e5), max_num_imprecise_acc=-1)
    if WHICH == "large limit":
        sparsity.sparse_dot(values, meta, right, max_num_imprecise_acc=1 << 31)


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("scalar", r"not a matrix.*sparse_dot, argument values.*found: 1.0"),
        ("inner", r"inner sizes differ.*sparse_dot, argument b.*expected: K = 64.*found: K = 32"),
        ("inner of right", r"inner sizes differ.*dot_sparse, argument a.*expected: K = 64.*found: K = 32"),
        ("acc shape", r"another shape.*argument acc.*expected: \(32, 32\).*found: \(32, 16\)"),
        ("acc shape of right", r"another shape.*dot_sparse, argument acc.*expected: \(16, 32\).*found: \(32, 32\)"),
        ("acc type", r"no product of fp16 has this type.*argument acc.*found: int32"),
        ("out type", r"another type.*argument out_dtype.*expected: fp32.*found: fp16"),
    ],
)
def test_refusals_of_arguments(refused, which, message):
    error = refused(wrong, HALF, "cuda:80", WHICH=which)
    assert re.search(message, error, re.DOTALL), error


@pytest.mark.parametrize("which", ["limit", "large limit"])
def test_refusal_of_limits(refused, which):
    assert re.search(r"argument max_num_imprecise_acc\n.*31 bits", refused(wrong, HALF, "cuda:89", WHICH=which))
