"""Numbers of kernels whose stores `layout-localize-stores` rewrites: bit-equal to stock, and right against float64."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import remarks

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@triton.jit
def gemm(
    a,
    b,
    c,
    d,
    bias,
    residual,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    MASK: tl.constexpr,
    BIAS: tl.constexpr,
    RESIDUAL: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    SECOND: tl.constexpr,
    PERSISTENT: tl.constexpr,
):
    """C = A @ B + bias + residual; D = 2 C if SECOND; C is stored as its transpose if TRANSPOSED."""
    columns = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * columns
    step = tl.num_programs(0) if PERSISTENT else tiles
    for tile in range(tl.program_id(0), tiles, step):
        rm = tile // columns * BM + tl.arange(0, BM)
        rn = tile % columns * BN + tl.arange(0, BN)
        inside = (rm[:, None] < M) & (rn[None, :] < N)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            rk = start + tl.arange(0, BK)
            x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0)
            y = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0)
            acc = tl.dot(x, y, acc)
        at = rm[:, None] * N + rn[None, :]
        if BIAS:
            acc += tl.load(bias + rn, mask=rn < N, other=0).to(tl.float32)[None, :]
        if RESIDUAL:
            if MASK:
                acc += tl.load(residual + at, mask=inside, other=0).to(tl.float32)
            else:
                acc += tl.load(residual + at).to(tl.float32)
        out = c + (rn[None, :] * M + rm[:, None] if TRANSPOSED else at)
        if MASK:
            tl.store(out, acc.to(c.dtype.element_ty), mask=inside)
        else:
            tl.store(out, acc.to(c.dtype.element_ty))
        if SECOND:
            tl.store(d + at, (2 * acc).to(d.dtype.element_ty), mask=inside)


@dataclass(frozen=True)
class Case:
    shape: tuple[int, int, int]
    tile: tuple[int, int, int] = (128, 128, 64)
    warps: int = 4
    operand: torch.dtype = torch.float16
    out: torch.dtype = torch.float16
    mask: bool = False
    bias: bool = False
    residual: bool = False
    transposed: bool = False
    second: bool = False
    persistent: bool = False
    ctas: int = 1
    # Whether a warp's elements can stay with it at no cost, as the accumulator of wgmma has rows of whole tiles; or the
    # exchange takes fewer rounds.
    changes: bool = True

    def __str__(self) -> str:
        flags = [
            name for name in ("mask", "bias", "residual", "transposed", "second", "persistent") if getattr(self, name)
        ]
        types = [str(kind).removeprefix("torch.") for kind in (self.operand, self.out)]
        sizes = ["x".join(map(str, numbers)) for numbers in (self.shape, self.tile)]
        return "-".join([*sizes, f"w{self.warps}", f"c{self.ctas}", *types, *flags])


EVEN, ODD = (512, 768, 256), (500, 712, 200)
CASES = [
    *(
        Case(EVEN, (128, columns, 64), warps, out=out)
        for columns in (64, 128, 256)
        for warps in (4, 8)
        for out in (torch.float16, torch.float32)
    ),
    *(Case(ODD, warps=warps, out=out, mask=True) for warps in (4, 8) for out in (torch.float16, torch.float32)),
    Case((500, 713, 200), mask=True, changes=False),
    Case((500, 713, 200), mask=True, out=torch.float32, bias=True),
    Case(EVEN, (64, 128, 64)),
    Case(EVEN, (64, 64, 64), out=torch.float32),
    Case(EVEN, (64, 256, 64), operand=torch.bfloat16, out=torch.bfloat16),
    Case(EVEN, operand=torch.bfloat16, out=torch.float32, bias=True),
    Case(EVEN, warps=8, operand=torch.bfloat16, out=torch.bfloat16, bias=True, residual=True),
    Case(EVEN, out=torch.float8_e4m3fn),
    Case(EVEN, warps=8, out=torch.float8_e5m2, bias=True),
    Case(EVEN, out=torch.float64),
    Case(EVEN, operand=torch.float32, tile=(128, 128, 32), out=torch.float32),
    Case(EVEN, residual=True),
    Case(EVEN, warps=8, residual=True, out=torch.float32),
    Case(ODD, residual=True, mask=True, bias=True),
    Case(EVEN, second=True),
    Case(ODD, second=True, mask=True, warps=8),
    Case(EVEN, persistent=True),
    Case(ODD, persistent=True, mask=True, residual=True, warps=8),
    Case(EVEN, persistent=True, second=True, out=torch.float32),
    Case(EVEN, ctas=2),
    Case(EVEN, warps=8, ctas=2, residual=True, bias=True),
    Case(EVEN, transposed=True),
    Case(EVEN, transposed=True, out=torch.float32, warps=8),
    Case(ODD, transposed=True, mask=True),
]


def launch(case: Case, inputs: tuple[torch.Tensor, ...], generator: torch.Generator) -> list[torch.Tensor]:
    """Run the kernel on outputs filled with noise, between guards of noise, and return outputs with their guards."""
    rows, columns, depth = case.shape
    a, b, bias, residual = inputs
    outputs = []
    for _ in range(2):
        noise = torch.randint(0, 256, (rows * columns * case.out.itemsize + 2048,), generator=generator, device="cuda")
        outputs.append(noise.to(torch.uint8))
    c, d = (output[1024:-1024].view(case.out) for output in outputs)
    tiles = triton.cdiv(rows, case.tile[0]) * triton.cdiv(columns, case.tile[1])
    flags = (case.mask, case.bias, case.residual, case.transposed, case.second, case.persistent)
    grid = (5 if case.persistent else tiles,)
    gemm[grid](
        a,
        b,
        c,
        d,
        bias,
        residual,
        rows,
        columns,
        depth,
        *case.tile,
        *flags,
        num_warps=case.warps,
        num_stages=3,
        num_ctas=case.ctas,
    )
    torch.cuda.synchronize()
    return outputs


def reference(case: Case, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    a, b, bias, residual = (value.double() for value in inputs)
    result = a @ b
    if case.bias:
        result += bias
    if case.residual:
        result += residual
    return result


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_stock_bit_by_bit_and_float64_closely(case, tmp_path):
    rows, columns, depth = case.shape
    seed = torch.seed()
    make = torch.Generator("cuda").manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=make, device="cuda").to(case.operand)

    inputs = random(rows, depth), random(depth, columns), random(columns), random(rows, columns)
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        stock = launch(case, inputs, torch.Generator("cuda").manual_seed(seed + 1))
        with tritonext.use("layout"), remarks.collect() as found:
            ours = launch(case, inputs, torch.Generator("cuda").manual_seed(seed + 1))
    applied = [remark for remark in found if remark.kind == "applied"]
    assert bool(applied) == case.changes, (seed, found)
    for mine, theirs in zip(ours, stock, strict=True):
        assert torch.equal(mine, theirs), seed

    result = ours[0][1024:-1024].view(case.out)
    result = (result.view(columns, rows).T if case.transposed else result.view(rows, columns)).double()
    wanted = reference(case, inputs)
    # The output type rounds once. Tensor cores add with fewer bits than float32 has (a relative error of 2^-18 was seen
    # at this depth), and take float32 operands as tf32, with 10 bits.
    step = max(torch.finfo(case.out).eps, 2.0**-8 if case.operand == torch.float32 else 2.0**-17)
    torch.testing.assert_close(result, wanted, rtol=step, atol=step * depth**0.5)
    if case.second:
        twice = ours[1][1024:-1024].view(case.out).view(rows, columns).double()
        torch.testing.assert_close(twice, 2 * wanted, rtol=step, atol=2 * step * depth**0.5)
