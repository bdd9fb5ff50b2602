"""Expanded sparse matrices: which products multiply the sparse matrix itself, and what is refused."""

import re

import pytest
import triton
import triton.language as tl

sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")


@triton.jit
def product(
    v,
    m,
    b,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUP: tl.constexpr,
    RIGHT: tl.constexpr,
    EXTRA: tl.constexpr,
):
    """C = expand24(values, meta) @ B, or B.T @ expand24(values, meta).T, of one tile."""
    values = tl.load(v + tl.arange(0, M)[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + tl.arange(0, M)[:, None] * (K // GROUP) + tl.arange(0, K // GROUP)[None, :])
    matrix = sparsity.expand24(values, meta)
    if EXTRA:
        matrix += matrix
    other = tl.load(b + tl.arange(0, N)[:, None] * K + tl.arange(0, K)[None, :])
    d = tl.dot(other, matrix.T).T if RIGHT else tl.dot(matrix, other.T)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], d)


SHAPE = {"M": 64, "N": 32, "K": 64, "GROUP": 8, "RIGHT": False, "EXTRA": False}


def signature(kind: str, out: str = "fp32") -> str:
    return f"v=*{kind}:16, m=*u8:16, b=*{kind}:16, c=*{out}:16"


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    ("target", "kind", "out", "values"),
    [
        ("cuda:80", "fp16", "fp32", {}),
        ("cuda:86", "bf16", "fp32", {}),
        ("cuda:80", "fp32", "fp32", {"GROUP": 4}),
        ("cuda:80", "i8", "i32", {}),
        ("cuda:89", "fp8e4nv", "fp32", {}),
        ("cuda:100", "fp16", "fp32", {}),
        ("cuda:120", "fp8e5", "fp32", {}),
    ],
)
def test_product_of_expansion_is_sparse(compiled, target, kind, out, values, right):
    asm = compiled(product, signature(kind, out), target, **SHAPE | values | {"RIGHT": right}).asm
    assert "mma.sp::ordered_metadata" in asm["ptx"]
    assert not re.search(r"mma\.sync|tcgen05.mma", asm["ptx"])
    # Nothing of the expansion is left.
    assert not re.search(r"tt.join|arith.select|sparsity.expand", asm["ttgir"])


@triton.jit
def linear(a, v, m, c, lda, ldv, ldm, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of C = A @ expand24(values, meta).T, in a loop along K."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    xs = a + rows[:, None] * lda + tl.arange(0, BK)[None, :]
    vs = v + columns[:, None] * ldv + tl.arange(0, BK // 2)[None, :]
    ms = m + columns[:, None] * ldm + tl.arange(0, BK // 8)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(xs), sparsity.expand24(tl.load(vs), tl.load(ms)).T, acc)
        xs += BK
        vs += BK // 2
        ms += BK // 8
    tl.store(c + rows[:, None] * BN + columns[None, :], acc)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:120"])
def test_loop_with_expansion_is_that_of_a_sparse_product(compiled, target):
    text = "a=*fp16:16, v=*fp16:16, m=*u8:16, c=*fp32:16, lda=i32:16, ldv=i32:16, ldm=i32:16, K=i32:16"
    ttgir = compiled(linear, text, target, {"num_stages": 3}, BM=128, BN=128, BK=64).asm["ttgir"]
    loop = ttgir[ttgir.index("scf.for") : ttgir.index("scf.yield")]
    assert loop.count("ttg.async_copy_global_to_local") == 3
    assert not re.search(r"ttg\.convert_layout|tt\.load|tt\.join|arith\.select .* tensor", loop)
    # The accumulator goes around as it is; on cuda:80 the operand from shared memory is another view of registers.
    assert not re.search(r"tt\.trans .*f32", loop)


@pytest.mark.parametrize(
    ("target", "kind", "values"),
    [
        # Other uses, and products that the target does not have, get the matrix with its zeros.
        ("cuda:80", "fp16", {"EXTRA": True}),
        ("cuda:80", "fp16", {"K": 16}),
        ("cuda:80", "fp32", {"GROUP": 4, "EXTRA": True}),
        ("cuda:100", "fp8e5", {}),
    ],
)
def test_other_uses_are_expanded(compiled, target, kind, values):
    kernel = compiled(product, signature(kind), target, **SHAPE | values)
    assert "mma.sp" not in kernel.asm["ptx"]
    assert "tt.join" in kernel.asm["ttgir"]
    assert "sparsity." not in kernel.asm["ttgir"]


def test_product_of_a_cluster_is_dense(compiled):
    kernel = compiled(product, signature("fp16"), "cuda:90", {"num_ctas": 2}, **SHAPE | {"M": 128})
    assert "wgmma.mma_async.sync" in kernel.asm["ptx"]
    assert ".sp" not in re.sub(r"\.sp\w", "", kernel.asm["ptx"].partition("// -- End function")[0])


def test_refusal_of_values(refused):
    text = refused(product, signature("fp64", "fp64"), "cuda:80", **SHAPE)
    assert re.search(r"values have another type.*expand24, argument values.*found: fp64", text, re.DOTALL), text
    assert "matrix = sparsity.expand24(values, meta)" in text


def test_refusal_of_metadata(refused):
    text = refused(product, signature("fp16"), "cuda:80", **SHAPE | {"GROUP": 4})
    assert re.search(r"metadata has another shape.*expected: \(64, 8\).*found: \(64, 16\)", text, re.DOTALL), text
    text = refused(product, signature("fp16").replace("u8", "i8"), "cuda:80", **SHAPE)
    assert re.search(r"metadata has another type.*expected: uint8.*found: int8", text, re.DOTALL), text
