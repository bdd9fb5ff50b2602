"""The portable kernel of linear layers: numbers in Triton's interpreter, and code."""

from __future__ import annotations

import itertools
import math

import pytest

from tritonext.inspect_code import stats
from tritonext.offline import Specialization, parse_signature

np = pytest.importorskip("numpy")
pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity import formats  # noqa: E402
from tritonext_sparsity.kernels import portable  # noqa: E402


def apply(activation: str, value: np.ndarray) -> np.ndarray:
    if activation in ("relu", "relu2"):
        return np.maximum(value, 0) ** (2 if activation == "relu2" else 1)
    if activation == "silu":
        return value / (1 + np.exp(-value))
    if activation == "gelu":
        return value * 0.5 * (1 + np.vectorize(math.erf)(value / math.sqrt(2)))
    return value


def job(x, weight, form: dict, activation: str, offsets=None) -> tuple:
    """Return the job of a layer of float16 with these factors; its last tensor before them is the result."""
    groups = weight.shape[0] if weight.ndim == 3 else 1
    tokens, depth = x.shape[-2:]
    features = weight.shape[-2]
    compressed = formats.compress(weight.reshape(-1, depth))
    config = portable.Config(16, 32, 32, 4, 1)
    tiles = -(-tokens // config.block_m) + (groups if offsets is not None else 0)
    grid = (tiles * -(-features // config.block_n), groups if x.ndim == 3 else 1)
    out = np.full((*x.shape[:-1], features), np.nan, np.float32)
    types = {"scale_x": "float32", "scale_w": "float32", "bias": "float16", "residual": "float16"}
    arguments = (
        ("float16", x, 0),
        ("float16", compressed.values, 0),
        ("uint8", compressed.meta, 0),
        ("float32", out, 0),
        *((types[name], form[name], 0) if name in form else None for name in types),
        None if offsets is None else ("int32", offsets, 0),
        tokens,
        features,
        depth,
        groups,
        depth,
        depth // 2,
        depth // 8,
        features,
    )
    constants = {"ACTIVATION": activation, "BATCHED": x.ndim == 3, "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32}
    constants |= {"SWIZZLE": 2, "GROUPS": 1 << (groups - 1).bit_length()}
    return ("tritonext_sparsity.kernels.portable", "linear_kernel", grid, arguments, constants)


def expected(x, weight, form: dict, activation: str) -> np.ndarray:
    result = x.astype(np.float64) @ np.swapaxes(weight.astype(np.float64), -1, -2)
    result *= form["scale_x"][..., None] if "scale_x" in form else 1
    result *= form["scale_w"][..., None, :] if "scale_w" in form else 1
    result += form["bias"].astype(np.float64)[..., None, :] if "bias" in form else 0
    return apply(activation, result) + (form["residual"].astype(np.float64) if "residual" in form else 0)


def factors(rng, lead: tuple[int, ...], weight, names) -> dict[str, np.ndarray]:
    shapes = {
        "scale_x": (lead, np.float32),
        "scale_w": (weight.shape[:-1], np.float32),
        "bias": (weight.shape[:-1], np.float16),
        "residual": ((*lead, weight.shape[-2]), np.float16),
    }
    return {name: rng.standard_normal(shapes[name][0]).astype(shapes[name][1]) for name in names}


def sparse(rng, *shape) -> np.ndarray:
    dense = rng.standard_normal(shape).astype(np.float16)
    return formats.prune(dense.reshape(-1, shape[-1])).reshape(shape)


def test_tails_and_factors(interpreter):
    rng = np.random.default_rng(0)
    names = ("scale_x", "scale_w", "bias", "residual")
    cases = []
    for (tokens, features, depth), count in itertools.product([(1, 5, 8), (17, 33, 72), (40, 64, 64)], (0, 4)):
        weight, x = sparse(rng, features, depth), rng.standard_normal((tokens, depth)).astype(np.float16)
        for activation in portable.ACTIVATIONS if tokens == 17 else ("none",):
            cases.append((x, weight, factors(rng, (tokens,), weight, names[:count]), activation))
    for case, results in zip(cases, interpreter([job(*case) for case in cases]), strict=True):
        assert np.allclose(results[3], expected(*case), rtol=2e-3, atol=2e-3), case[-1]


def test_random_cases(interpreter):
    rng = np.random.default_rng(7)
    names = np.array(("scale_x", "scale_w", "bias", "residual"))
    cases = []
    for _ in range(40):
        tokens, features, depth = rng.integers(1, 50), rng.integers(1, 80), 8 * rng.integers(1, 20)
        weight, x = sparse(rng, features, depth), rng.standard_normal((tokens, depth)).astype(np.float16)
        form = factors(rng, (tokens,), weight, names[rng.random(4) < 0.5])
        cases.append((x, weight, form, str(rng.choice(portable.ACTIVATIONS))))
    for case, results in zip(cases, interpreter([job(*case) for case in cases]), strict=True):
        assert np.allclose(results[3], expected(*case), rtol=2e-3, atol=4e-3), case[0].shape


def test_batches(interpreter):
    rng = np.random.default_rng(1)
    weight, x = sparse(rng, 3, 40, 48), rng.standard_normal((3, 21, 48)).astype(np.float16)
    form = factors(rng, (3, 21), weight, ("scale_x", "scale_w", "bias", "residual"))
    (results,) = interpreter([job(x, weight, form, "relu")])
    assert np.allclose(results[3], expected(x, weight, form, "relu"), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("ends", [(10, 10, 35, 52, 60), (0, 0, 0, 0, 64), (64, 64, 64, 64, 64), (16, 32, 33, 34, 50)])
def test_groups(interpreter, ends):
    rng = np.random.default_rng(2)
    weight, x = sparse(rng, 5, 40, 48), rng.standard_normal((64, 48)).astype(np.float16)
    form = factors(rng, (64,), weight, ("scale_x", "scale_w", "bias", "residual"))
    (results,) = interpreter([job(x, weight, form, "silu", np.array(ends, np.int32))])
    start = 0
    for group, end in enumerate(ends):
        rows = slice(start, end)
        own = {name: form[name][rows] for name in ("scale_x", "residual")}
        own |= {name: form[name][group] for name in ("scale_w", "bias")}
        wanted = expected(x[rows], weight[group], own, "silu")
        assert np.allclose(results[3][rows], wanted, rtol=2e-3, atol=2e-3)
        start = end
    # Rows behind the last group are left alone.
    assert np.isnan(results[3][ends[-1] :]).all()


@pytest.mark.parametrize(
    ("target", "kind", "name"),
    [
        ("cuda:80", "bf16", "HMMA.SP.16832.F32.BF16"),
        ("cuda:80", "i8", "IMMA.SP.16864.S8.S8"),
        ("cuda:120", "fp16", "HMMA.SP.16832.F32"),
        ("cuda:89", "fp8e4nv", "QMMA.SP.16864.F32.E4M3.E4M3"),
        ("cuda:90", "bf16", "HGMMA.SP.64x{}x32.F32.BF16"),
        ("cuda:90", "fp8e4nv", "QGMMA.SP.64x{}x64.F32.E4M3.E4M3"),
        ("cuda:90", "i8", "IGMMA.SP.64x{}x64.S8.S8"),
        ("hip:gfx942", "bf16", "v_smfmac_f32_16x16x32_bf16"),
        ("hip:gfx950", "i8", "v_smfmac_i32_16x16x128_i8"),
    ],
)
@pytest.mark.parametrize("tokens", [16, 4096])
def test_code(target, kind, name, tokens):
    config = portable.choose(tokens, 8 if "8" in kind else 16, target.partition(":")[0])
    types = f"x=*{kind}:16, values=*{kind}:16, meta=*u8:16, out=*bf16:16, bias=*bf16:16, tokens=i32, features=i32:16"
    types += ", K=i32:16, groups=i32, stride_x=i32:16, stride_values=i32:16, stride_meta=i32:16, stride_residual=i32"
    constants = {"ACTIVATION": "gelu", "BATCHED": False, "SWIZZLE": 8, "GROUPS": 1}
    constants |= {"BLOCK_M": config.block_m, "BLOCK_N": config.block_n, "BLOCK_K": config.block_k}
    constants |= dict.fromkeys(("scale_x", "scale_w", "residual", "offsets"))
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    code = stats(Specialization(portable.linear_kernel, parse_signature(types), constants, options).compile(target))
    found = {mma for mma in code.histogram if "MMA" in mma or "mfma" in mma or "smfmac" in mma}
    assert found == {name.format(config.block_m)}
    assert code.spills == 0
    # What a program may have, without asking for more.
    assert code.shared_bytes <= {"cuda:90": 227, "hip:gfx942": 64, "hip:gfx950": 160}.get(target, 99) * 1024
