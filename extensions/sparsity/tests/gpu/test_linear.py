"""Linear layers with sparse weights against float64: types, odd sizes, factors, groups, compiled and captured."""

from __future__ import annotations

import itertools
import random as random_numbers

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from torch import nn  # noqa: E402

from tritonext_sparsity import advisor  # noqa: E402
from tritonext_sparsity.errors import OperandError  # noqa: E402
from tritonext_sparsity.formats import FormatError  # noqa: E402
from tritonext_sparsity.linear import (  # noqa: E402
    ACTIVATIONS,
    SparseLinear24,
    SparseWeight24,
    grouped_sparse_linear,
    sparse_linear,
    sparsified,
    sparsify_,
)

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
# The relative error of rounding operands to tf32 and results to their type.
TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1e-2, torch.float32: 3e-3}
FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def has_fp8() -> bool:
    return torch.cuda.get_device_capability() in ((8, 9), (9, 0), (12, 0))


def close(result, expected) -> None:
    """Compare with float64, by the largest magnitude."""
    error = (result.double() - expected).abs().max() / expected.abs().max().clamp(min=1e-6)
    assert error.item() <= TOLERANCES[result.dtype], error.item()


def random(*shape, dtype=torch.float16):
    value = torch.randn(shape, device=DEVICE)
    return (4 * value).round().to(dtype) if dtype == torch.int8 else value.to(dtype)


def reference(x, w, bias=None, scale=None, activation=None, residual=None):
    result = x.double() @ w.to_dense().double().transpose(-1, -2)
    if scale is not None:
        result = result * scale.double()[..., None]
    if w.scale is not None:
        result = result * w.scale.double()[..., None, :]
    if bias is not None:
        result = result + bias.double()[..., None, :]
    if activation == "relu2":
        result = result.relu().square()
    elif activation not in (None, "none"):
        result = getattr(nn.functional, activation)(result)
    return result if residual is None else result + residual.double()


SHAPES = ((1, 8, 16), (3, 40, 24), (17, 200, 136), (130, 264, 512), (700, 1000, 1048), (256, 512, 4096))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, *FP8, torch.int8], ids=str)
def test_types_and_sizes(dtype):
    if dtype in FP8 and not has_fp8():
        pytest.skip("the GPU has no sparse products of 8-bit floats")
    torch.manual_seed(0)
    for tokens, features, depth in SHAPES:
        weight = random(features, depth, dtype=dtype)
        scale = torch.rand(features, device=DEVICE) / depth if dtype.itemsize == 1 else None
        w = SparseWeight24.from_dense(weight, prune="magnitude", scale=scale)
        x = random(tokens, depth, dtype=dtype)
        close(sparse_linear(x, w), reference(x, w))
        w.packed = None
        close(sparse_linear(x, w), reference(x, w))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn], ids=str)
def test_random_cases(dtype):
    """A hundred of each type: odd sizes, tails in all dimensions, any factors, both kernels."""
    if dtype in FP8 and not has_fp8():
        pytest.skip("the GPU has no sparse products of 8-bit floats")
    chance = random_numbers.Random(0)
    torch.manual_seed(5)
    for _ in range(100):
        tokens, features = (chance.choice((chance.randint(1, 40), chance.randint(1, 600))) for _ in range(2))
        depth = 8 * chance.choice((chance.randint(1, 30), chance.randint(1, 150)))
        activation = chance.choice(ACTIVATIONS)
        scale_w = torch.rand(features, device=DEVICE) / depth**0.5 if chance.random() < 0.5 else None
        w = SparseWeight24.from_dense(random(features, depth, dtype=dtype), prune="magnitude", scale=scale_w)
        if chance.random() < 0.5:
            w.packed = None
        x = random(tokens, depth, dtype=dtype)
        bias = random(features) if chance.random() < 0.5 else None
        scale = torch.rand(tokens, device=DEVICE) if chance.random() < 0.5 else None
        residual = random(tokens, features) if chance.random() < 0.5 else None
        result = sparse_linear(x, w, bias, scale, activation, residual, out_dtype=torch.bfloat16)
        close(result, reference(x, w, bias, scale, activation, residual))


@pytest.mark.parametrize("keep_dense", [False, True])
def test_factors(keep_dense):
    torch.manual_seed(1)
    for (tokens, features, depth), activation in itertools.product(((33, 136, 264), (300, 512, 512)), ACTIVATIONS):
        scale_w = torch.rand(features, device=DEVICE) + 0.5
        w = SparseWeight24.from_dense(random(features, depth), prune="magnitude", scale=scale_w, keep_dense=keep_dense)
        x = random(tokens, depth) / depth**0.5
        scale = torch.rand(tokens, device=DEVICE) + 0.5
        bias, residual = random(features), random(tokens, features)
        result = sparse_linear(x, w, bias, scale, activation, residual)
        close(result, reference(x, w, bias, scale, activation, residual))
        wide = sparse_linear(x, w, bias.float(), out_dtype=torch.float32, activation=activation)
        assert wide.dtype == torch.float32
        close(wide, reference(x, w, bias, None, activation))


def test_shapes_of_inputs():
    torch.manual_seed(2)
    w = SparseWeight24.from_dense(random(96, 64), prune="magnitude")
    for x in (
        random(64),
        random(5, 64),
        random(2, 3, 64),
        random(64, 5).T,
        random(5, 128)[:, :64],
        random(5, 2, 64)[:, 1],
        random(3, 2, 64).transpose(0, 1),
        random(5, 65)[:, 1:],
        random(0, 64),
    ):
        result = sparse_linear(x, w)
        assert result.shape == (*x.shape[:-1], 96)
        if x.numel():
            close(result, reference(x, w))


def test_batches_and_groups():
    torch.manual_seed(3)
    dense = random(4, 200, 136)
    w = SparseWeight24.from_dense(dense, prune="magnitude")
    assert w.shape == dense.shape
    bias = random(4, 200)
    x = random(4, 77, 136)
    close(sparse_linear(x, w, bias, activation="silu"), reference(x, w, bias, activation="silu"))
    for ends in ((10, 10, 150, 300), (0, 0, 0, 300), (300, 300, 300, 300), (75, 150, 225, 290)):
        x, residual = random(300, 136), random(300, 200)
        scale = torch.rand(300, device=DEVICE)
        offsets = torch.tensor(ends, dtype=torch.int32, device=DEVICE)
        result = grouped_sparse_linear(x, w, offsets, bias, scale, "relu", residual)
        start = 0
        for group, end in enumerate(ends):
            rows = slice(start, end)
            one = SparseWeight24(w.values[group], w.meta[group])
            if end > start:
                wanted = reference(x[rows], one, bias[group], scale[rows], "relu", residual[rows])
                close(result[rows], wanted)
            start = end


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


@pytest.fixture
def model():
    torch.manual_seed(4)
    return nn.Sequential(Block(128), nn.LayerNorm(128), Block(128)).to(DEVICE, torch.float16).eval()


def test_swap(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = random(40, 128)
    copy = sparsified(model, prune="magnitude")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert copy[0].up.weight.to_dense().count_nonzero() <= model[0].up.weight.numel() // 2
    only = sparsified(model, lambda path, layer: path.endswith("down"), prune="magnitude")
    assert type(only[0].up) is nn.Linear
    assert type(only[0].down) is SparseLinear24
    report = sparsify_(model, prune="magnitude")
    assert type(model[2].down) is SparseLinear24
    assert report.dense == 4 * 4 * 128 * 128 * 2
    assert report.values * 2 == report.dense
    assert report.meta * 16 == report.dense
    assert f"{report.total:,} bytes" in str(report)
    with torch.no_grad():
        assert torch.equal(model(x), copy(x))


def test_an_error_leaves_the_module(model):
    layers = [model[0].up, model[2].down]
    with pytest.raises(FormatError, match=r"weight is not 2:4 sparse\n  where: layer 0.up, weight\["):
        sparsify_(model)
    with pytest.raises(OperandError, match="no layer was chosen"):
        sparsify_(model, lambda path, layer: False)
    assert [model[0].up, model[2].down] == layers


def test_state(model):
    state = sparsified(model, prune="magnitude", keep_dense=True).state_dict()
    assert not any("packed" in name or "dense" in name for name in state)
    # Without a dense copy, which might be multiplied in its place.
    sparse = sparsified(model, prune="magnitude")
    other = sparsified(model, prune="magnitude")
    for parameter in other.buffers():
        parameter.view(torch.uint8).zero_() if parameter.dtype == torch.float16 else None
    other.load_state_dict(state)
    x = random(9, 128)
    with torch.no_grad():
        assert torch.equal(other(x), sparse(x))
        moved = other.cpu().to(DEVICE)
        assert torch.equal(moved(x), sparse(x))
    state["0.up.weight._extra_state"] = {"format": 99}
    with pytest.raises(FormatError, match="of another version of the format\n  expected: 1\n  found: 99"):
        other.load_state_dict(state)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_whole(model, mode):
    sparse = sparsified(model, prune="magnitude")
    torch._dynamo.reset()
    compiled = torch.compile(sparse, fullgraph=True, mode=mode)
    with torch.no_grad():
        for tokens in (64, 64, 96):
            x = random(tokens, 128)
            # Inductor rounds the elementwise operations around the products less often.
            assert torch.allclose(compiled(x), sparse(x), rtol=2e-2, atol=2e-2)


def test_divided_tiles_in_a_graph_of_the_compiler():
    """Pieces of tiles meet at counters, which must not lie in the memory pool of a graph."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tiles are divided by the kernel for Hopper")
    from tritonext_sparsity.kernels import hopper

    hopper._arrivals_of.cache_clear()
    weight = random(4096, 14336, dtype=torch.bfloat16)
    layer = SparseLinear24(SparseWeight24.from_dense(weight, prune="magnitude"))
    compiled = torch.compile(layer, fullgraph=True, mode="reduce-overhead")
    with torch.no_grad(), torch._inductor.config.patch({"triton.slow_path_cudagraph_asserts": True}):
        for _ in range(4):
            x = random(512, 14336, dtype=torch.bfloat16)
            close(compiled(x).clone(), reference(x, layer.weight))


def test_captured(model):
    sparse = sparsified(model, prune="magnitude")
    x = random(64, 128)
    with torch.no_grad():
        sparse(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = sparse(x)
        x.copy_(random(64, 128))
        graph.replay()
        assert torch.equal(out, sparse(x))


def test_operator():
    w = SparseWeight24.from_dense(random(96, 64), prune="magnitude")
    operands = (random(5, 64), w.values, w.meta, w.packed, None, None, random(96), None, None, None)
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(torch.ops.tritonext_sparsity.linear, (*operands, "relu", torch.float16), test_utils=tests)


def test_dense_copy_follows_the_advisor(monkeypatch):
    w = SparseWeight24.from_dense(random(256, 128), prune="magnitude", keep_dense=True)
    assert w.memory().kept_dense == 256 * 128 * 2
    x = random(8, 128)
    seen = []

    def choose(device, dtype, tokens, features, depth, kernels):
        seen.append((tokens, features, depth, tuple(kernels)))
        return advisor.Kernel.DENSE, None

    monkeypatch.setattr(advisor, "choose", choose)
    assert torch.equal(sparse_linear(x, w), x @ w.dense.T)
    assert seen[0][:3] == (8, 256, 128)
    assert {advisor.Kernel.DENSE, advisor.Kernel.PORTABLE} <= set(seen[0][3])


def test_what_does_not_fit_is_refused():
    w = SparseWeight24.from_dense(random(32, 64), prune="magnitude")
    groups = SparseWeight24.from_dense(random(2, 32, 64), prune="magnitude")
    x, offsets = random(4, 64), torch.tensor([2, 4], dtype=torch.int32, device=DEVICE)
    half = w.values
    refusals = [
        (lambda: sparse_linear(x, w.values), "w is no sparse weight"),
        (lambda: sparse_linear(x[:, :32], w), "x has other columns than the weight\n  expected: K = 64"),
        (lambda: sparse_linear(x.bfloat16(), w), "x has another type than the weight"),
        (lambda: sparse_linear(x.double(), w), "x has a type without sparse products"),
        (lambda: sparse_linear(x.cpu(), w), "x is on another device than the weight"),
        (lambda: sparse_linear(x, w, bias=random(31)), r"bias has another shape\n  expected: \(32,\)"),
        (lambda: sparse_linear(x, w, bias=random(32).double()), "bias has another type"),
        (lambda: sparse_linear(x, w, bias=random(32).cpu()), "bias is on another device"),
        (lambda: sparse_linear(x, w, scale=random(4)), "scale has another type\n  expected: torch.float32"),
        (lambda: sparse_linear(x, w, scale=random(5).float()), "scale has another shape"),
        (lambda: sparse_linear(x, w, activation="tanh"), "activation is unknown\n  expected: none, relu"),
        (lambda: sparse_linear(x, w, residual=random(4, 31)), "residual has another shape"),
        (lambda: sparse_linear(x, w, out_dtype=torch.int8), "out_dtype is no type of a result"),
        (lambda: sparse_linear(x, groups), "x does not fit to a weight of groups"),
        (lambda: grouped_sparse_linear(x, w, offsets), "the weight has no groups"),
        (lambda: grouped_sparse_linear(x, groups, offsets[:1]), "offsets has another shape"),
        (lambda: grouped_sparse_linear(x, groups, offsets.long()), "offsets has another type"),
        (lambda: SparseWeight24(half[0], w.meta), "values are no matrix"),
        (lambda: SparseWeight24(half, w.meta[0]), "meta does not fit to values"),
        (lambda: SparseWeight24(half, w.meta[:, :4]), "meta does not fit to values"),
        (lambda: SparseWeight24(half.view(torch.uint8), w.meta), "values have no product|meta does not fit"),
        (lambda: SparseWeight24(half, w.meta, scale=random(32)), "scale does not fit to values"),
        (lambda: SparseWeight24.from_dense(random(32)), "weight is no matrix"),
        (lambda: SparseWeight24.from_dense(random(32, 12)), "the columns of weight do not fill the metadata"),
        (lambda: SparseWeight24.from_dense(random(32, 16), prune="best"), "prune is unknown"),
        (lambda: SparseWeight24.from_dense(random(32, 16), scores=random(32, 8)), "scores do not fit to weight"),
        (lambda: SparseWeight24.from_dense(random(2, 6, 16), prune="transposable"), "no transposable masks"),
    ]
    for call, match in refusals:
        with pytest.raises(OperandError, match=match):
            call()
    with pytest.raises(FormatError, match="meta holds a code that no instruction accepts"):
        SparseWeight24(half, torch.zeros_like(w.meta))
    with pytest.raises(FormatError, match="is not 2:4 sparse"):
        SparseWeight24.from_dense(random(32, 16))


def test_a_backward_pass_is_refused():
    w = SparseWeight24.from_dense(random(32, 64), prune="magnitude")
    with pytest.raises(OperandError, match="a product with a sparse weight has no backward pass"):
        sparse_linear(random(4, 64).requires_grad_(), w).sum().backward()


def test_unsupported_gpu(monkeypatch):
    w = SparseWeight24.from_dense(random(32, 64), prune="magnitude")
    monkeypatch.setattr(advisor, "_target", lambda index: "cuda:75")
    match = r"the GPU has no sparse products of torch.float16\n  expected: cuda:80, .*\n  found: cuda:0, cuda:75"
    with pytest.raises(OperandError, match=match):
        sparse_linear(random(4, 64), w)
