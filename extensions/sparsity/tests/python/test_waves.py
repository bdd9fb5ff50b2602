"""Sparse products on AMD: the instruction of each kind on each target, and what is refused."""

import re

import pytest
import triton
import triton.language as tl

sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")


@triton.jit
def expanded(v, m, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """C = tl.dot(expand24(values, meta), B) of one tile."""
    values = tl.load(v + tl.arange(0, M)[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + tl.arange(0, M)[:, None] * (K // 8) + tl.arange(0, K // 8)[None, :])
    right = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    d = tl.dot(sparsity.expand24(values, meta), right)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], d)


CASES = [
    # Target, types of values, b and accumulator, K, instruction, and how many of 32 x 32 in one warp.
    ("hip:gfx942", "fp16", "fp16", "fp32", 128, "f32_16x16x32_f16", 16),
    ("hip:gfx942", "bf16", "bf16", "fp32", 64, "f32_16x16x32_bf16", 8),
    ("hip:gfx942", "i8", "i8", "i32", 128, "i32_16x16x64_i8", 8),
    ("hip:gfx942", "fp8e4b8", "fp8e4b8", "fp32", 128, "f32_16x16x64_fp8_fp8", 8),
    ("hip:gfx942", "fp8e5b16", "fp8e4b8", "fp32", 128, "f32_16x16x64_bf8_fp8", 8),
    ("hip:gfx950", "fp16", "fp16", "fp32", 128, "f32_16x16x64_f16", 8),
    ("hip:gfx950", "bf16", "bf16", "fp32", 64, "f32_16x16x64_bf16", 4),
    ("hip:gfx950", "fp16", "fp16", "fp32", 32, "f32_16x16x32_f16", 4),
    ("hip:gfx950", "i8", "i8", "i32", 128, "i32_16x16x128_i8", 4),
    ("hip:gfx950", "i8", "i8", "i32", 64, "i32_16x16x64_i8", 4),
    ("hip:gfx950", "fp8e4nv", "fp8e5", "fp32", 128, "f32_16x16x128_fp8_bf8", 4),
    ("hip:gfx950", "fp8e5", "fp8e5", "fp32", 256, "f32_16x16x128_bf8_bf8", 8),
]


@pytest.mark.parametrize(("target", "left", "right", "out", "k", "instruction", "count"), CASES)
def test_instruction_of_each_kind(compiled, kernels, target, left, right, out, k, instruction, count):
    text = f"v=*{left}:16, m=*u8:16, b=*{right}:16, c=*{out}:16"
    kernel = compiled(kernels.product, text, target, {"num_warps": 1}, M=32, N=32, K=k)
    found = re.findall(r"v_(?:smfmac|mfma)_(\S+) [^\n]*", kernel.asm["amdgcn"])
    assert found == [instruction] * count
    used = {int(abid or 0) for abid in re.findall(r"v_smfmac_[^\n]*?(?: abid:(\d))?\n", kernel.asm["amdgcn"])}
    step = int(instruction.split("_")[1].split("x")[2])
    assert used == set(range(min(128 // step, k // step)))


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_sparse_weight_on_the_right_in_a_loop(compiled, kernels, target):
    text = "a=*fp16:16, v=*fp16:16, m=*u8:16, c=*fp32:16, lda=i32:16, ldv=i32:16, ldm=i32:16, K=i32:16"
    kernel = compiled(kernels.gemm_of_right, text, target, {"num_warps": 4}, BM=64, BN=64, BK=128)
    ttgir = kernel.asm["ttgir"]
    loop = ttgir[ttgir.index("scf.for") :]
    assert "sparsity.dot" in loop
    yielded = re.findall(r"sparsity\.dot .* -> (tensor<\S+ #\w+>)", ttgir)
    # The accumulator stays in the layout of the instruction.
    assert len(set(yielded)) == 1
    assert kernel.asm["amdgcn"].count("v_smfmac_f32") > 0
    assert "v_mfma" not in kernel.asm["amdgcn"]


@pytest.mark.parametrize(
    ("target", "kind", "n", "sparse"),
    [
        ("hip:gfx942", "fp16", 32, True),
        ("hip:gfx942", "fp8e4b8", 32, True),
        ("hip:gfx950", "fp8e5", 32, True),
        # Of gfx942 the matrix cores multiply the other kind of 8-bit floats, and tiles are of 16 columns.
        ("hip:gfx942", "fp8e5", 32, False),
        ("hip:gfx950", "fp16", 8, False),
    ],
)
def test_expansions_are_fused_where_the_target_multiplies_them(compiled, target, kind, n, sparse):
    text = f"v=*{kind}:16, m=*u8:16, b=*{kind}:16, c=*fp32:16"
    kernel = compiled(expanded, text, target, {"num_warps": 1}, M=32, N=n, K=64)
    assert ("v_smfmac" in kernel.asm["amdgcn"]) == sparse
    assert ("sparsity.dot" in kernel.asm["ttgir"]) == sparse


@pytest.mark.parametrize(
    ("left", "out", "target", "arguments", "message"),
    [
        ("fp32", "fp32", "hip:gfx942", {}, r"do not take this type.*expected: fp16, bf16, int8, fp8e4b8, fp8e5b16"),
        ("fp8e4nv", "fp32", "hip:gfx942", {}, r"do not take this type.*found: fp8e4nv"),
        ("fp8e4b8", "fp32", "hip:gfx950", {}, r"do not take this type.*expected: fp16, bf16, int8, fp8e4nv, fp8e5"),
        ("fp16", "fp16", "hip:gfx950", {"OUT": tl.float16}, r"no product of fp16 has this type.*expected: fp32"),
        ("fp16", "fp32", "hip:gfx942", {"N": 8}, r"no such N.*argument b.*expected: at least 16.*found: 8"),
        ("i8", "i32", "hip:gfx942", {"K": 32}, r"no such K.*argument values.*expected: at least 64.*found: 32"),
    ],
)
def test_refusals(refused, kernels, left, out, target, arguments, message):
    text = f"v=*{left}:16, m=*u8:16, b=*{left}:16, c=*{out}:16"
    error = refused(kernels.product, text, target, **{"M": 32, "N": 32, "K": 64} | arguments)
    assert re.search(message, error, re.DOTALL), error
