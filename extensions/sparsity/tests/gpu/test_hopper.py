"""Sparse products of warp groups on a Hopper GPU, by themselves and in a linear layer, against float64."""

from __future__ import annotations

import importlib.util
import pathlib
import random
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity.formats import wgmma_orders  # noqa: E402
from tritonext_sparsity.kernels.hopper import ACTIVATIONS, Config, fitted, sparse_linear_hopper  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9, reason="needs a Hopper GPU"
    ),
]

DEVICE = "cuda"
CODES = torch.tensor([[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]])
TYPES = {
    "f16": (torch.float16, torch.float16, torch.float32, 64),
    "f16 in f16": (torch.float16, torch.float16, torch.float16, 64),
    "bf16": (torch.bfloat16, torch.bfloat16, torch.float32, 128),
    "tf32": (torch.float32, torch.float32, torch.float32, 32),
    "e4m3": (torch.float8_e4m3fn, torch.float8_e4m3fn, torch.float32, 128),
    "e5m2": (torch.float8_e5m2, torch.float8_e5m2, torch.float32, 128),
    "mixed": (torch.float8_e4m3fn, torch.float8_e5m2, torch.float32, 128),
    "e5m2 in f16": (torch.float8_e5m2, torch.float8_e4m3fn, torch.float16, 64),
    "s8": (torch.int8, torch.int8, torch.int32, 128),
}


def numbers(shape, dtype, generator):
    """Return random numbers; small integers where sums of them are to be exact."""
    if dtype in (torch.int8, torch.float32):
        return torch.randint(-8, 9, shape, device=DEVICE, generator=generator).to(dtype)
    return torch.randn(shape, device=DEVICE, generator=generator).to(dtype)


def sparse(rows, columns, dtype, generator):
    """Return values, metadata, and the matrix in float64."""
    if dtype == torch.float32:
        kept = torch.randint(0, 2, (rows, columns // 2, 1), device=DEVICE, generator=generator)
        nibbles = torch.where(kept[..., 0] == 0, 4, 14).to(torch.uint8)
        group = 2
    else:
        chosen = torch.randint(0, 6, (rows, columns // 4), device=DEVICE, generator=generator)
        kept = CODES.to(DEVICE)[chosen]
        nibbles = (kept[..., 0] | kept[..., 1] << 2).to(torch.uint8)
        group = 4
    values = numbers(kept.shape, dtype, generator)
    dense = torch.zeros((rows, columns // group, group), dtype=torch.float64, device=DEVICE)
    dense.scatter_(2, kept, values.double())
    meta = nibbles[:, ::2] | nibbles[:, 1::2] << 4
    return values.reshape(rows, -1), meta.contiguous(), dense.reshape(rows, columns)


def difference(found, expected):
    assert not found.isnan().any()
    return ((found.double() - expected).norm() / expected.norm()).item()


@pytest.fixture(scope="module")
def product():
    """The kernel of the tests that look at its code."""
    path = pathlib.Path(__file__).parents[1] / "python" / "test_warp_group_dots.py"
    spec = importlib.util.spec_from_file_location("warp_group_dots", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def generator():
    return torch.Generator(device=DEVICE).manual_seed(torch.seed() % 2**31)


@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize("columns", [8, 64])
@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_products(product, generator, kind, registers, columns, rows):
    left, right, total, depth = TYPES[kind]
    values, meta, dense = sparse(rows, 4 * depth, left, generator)
    b = numbers((columns, 4 * depth), right, generator)
    found = torch.full((rows, columns), -1, dtype=total, device=DEVICE)
    _, constants = product.arguments(kind, M=rows, N=columns, K=depth, REGISTERS=registers, ASYNC=kind != "e4m3")
    product.product[(1,)](values, meta, b, found, **constants)
    expected = dense @ b.double().T
    if left in (torch.int8, torch.float32):
        assert (found.double() == expected).all()
    else:
        # The tensor cores keep about 14 bits of sums of 8-bit floats.
        assert difference(found, expected) < (2e-3 if total == torch.float16 or left.itemsize == 1 else 1e-5)


@pytest.mark.parametrize("stages", [1, 3])
def test_products_in_loops_of_the_language(product, generator, stages):
    values, meta, dense = sparse(128, 640, torch.bfloat16, generator)
    b = numbers((640, 128), torch.bfloat16, generator)
    found = torch.full((128, 128), float("nan"), device=DEVICE)
    product.pipelined[(1,)](values, meta, b, found, 320, 80, 128, 640, M=128, N=128, BK=64, num_stages=stages)
    assert difference(found, dense @ b.double()) < 1e-5


def prepacked(meta, dtype):
    order = wgmma_orders("int8" if dtype.itemsize == 1 else "float16").meta
    rows, columns = (
        -(-size // unit) * unit for size, unit in zip(meta.shape, (order.rows, order.columns), strict=True)
    )
    full = torch.full((rows, columns), 0x44, dtype=torch.uint8, device=DEVICE)
    full[: meta.shape[0], : meta.shape[1]] = meta
    shape, axes = order.packing(rows, columns)
    return full.reshape(shape).permute(axes).contiguous().view(-1)


APPLIED = {
    "none": lambda x: x,
    "relu": torch.relu,
    "relu2": lambda x: torch.relu(x) ** 2,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
}


def check_linear(
    tokens, features, depth, dtype, generator, config, out_dtype=torch.bfloat16, activation="none", extra=()
):
    values, meta, dense = sparse(features, depth, dtype, generator)
    x = numbers((tokens, depth), dtype, generator)
    expected = x.double() @ dense.T
    given = {}
    if "scale_w" in extra:
        given["scale_w"] = torch.rand(features, device=DEVICE, generator=generator) + 0.5
        expected *= given["scale_w"].double()
    if "scale_x" in extra:
        given["scale_x"] = torch.rand(tokens, device=DEVICE, generator=generator) + 0.5
        expected *= given["scale_x"].double()[:, None]
    if "bias" in extra:
        given["bias"] = numbers(features, torch.bfloat16, generator)
        expected += given["bias"].double()
    expected = APPLIED[activation](expected)
    if "residual" in extra:
        given["residual"] = numbers((tokens, features), out_dtype, generator)
        expected += given["residual"].double()
    found = torch.full((tokens, features), float("nan"), dtype=out_dtype, device=DEVICE)
    sparse_linear_hopper(values, prepacked(meta, dtype), x, found, activation=activation, config=config, **given)
    limit = {torch.bfloat16: 4e-3, torch.float16: 5e-4, torch.float32: 2e-3 if dtype.itemsize == 1 else 1e-5}
    assert difference(found, expected) < limit[out_dtype]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues(generator, activation):
    extra = ("scale_w", "scale_x", "bias", "residual")
    check_linear(200, 304, 512, torch.bfloat16, generator, Config(), activation=activation, extra=extra)


# Tiles, the type of the output, and what the epilogue has: few kernels for many shapes.
KERNELS = [
    (Config(), torch.bfloat16, ()),
    (Config(256, 64, 128, 4, 4, 1), torch.float16, ("scale_w", "scale_x", "bias")),
    (Config(128, 256, 64, 4, 8, 2), torch.bfloat16, ("bias",)),
    (Config(128, 128, 128, 4, 8, 1), torch.bfloat16, ("scale_w",)),
    (Config(128, 64, 128, 3, 8, 2), torch.float32, ("scale_x",)),
    (Config(128, 32, 128, 4, 1, 1), torch.bfloat16, ("scale_w", "bias")),
    (Config(128, 16, 64, 6, 8, 1), torch.float16, ()),
    (Config(128, 64, 64, 4, 8, 1, True), torch.bfloat16, ("scale_w", "scale_x")),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_random_shapes(dtype):
    draw = random.Random()
    seed = draw.randrange(2**31)
    draw.seed(seed)
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    for _ in range(75):
        tokens, features = draw.randint(1, 700), 8 * draw.randint(1, 80)
        depth = draw.randint(1, 40) * (16 if dtype.itemsize == 2 else 32)
        config, out_dtype, extra = draw.choice(KERNELS)
        print("seed", seed, (tokens, features, depth), dtype, out_dtype, config, extra)
        check_linear(tokens, features, depth, dtype, generator, config, out_dtype, extra=extra)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn])
@pytest.mark.parametrize(
    ("config", "shapes"),
    [
        # Fewer tiles than multiprocessors, more of them than a wave, and tiles that many blocks share.
        (Config(256, 128, 128, 3, 8, 2, True), [(512, 4096, 7168), (300, 14336, 1024), (130, 520, 4096)]),
        (Config(128, 256, 128, 2, 8, 2, True), [(512, 14336, 2048), (100, 1000, 8192)]),
        (Config(128, 16, 128, 8, 8, 1, True), [(1, 4096, 4096), (16, 28672, 1024), (7, 136, 14336)]),
    ],
)
def test_divided_tiles_are_the_same_each_time(generator, config, shapes, dtype):
    config = replace(config, block_k=config.block_k * 2 // dtype.itemsize)
    for tokens, features, depth in shapes:
        values, meta, dense = sparse(features, depth, dtype, generator)
        x = numbers((tokens, depth), dtype, generator)
        outs = [torch.full((tokens, features), float("nan"), dtype=torch.float32, device=DEVICE) for _ in range(2)]
        packed = prepacked(meta, dtype)

        def run(out, values=values, packed=packed, x=x):
            sparse_linear_hopper(values, packed, x, out, config=fitted(config, dtype, out.dtype))

        run(outs[0])
        assert difference(outs[0], x.double() @ dense.T) < (2e-3 if dtype.itemsize == 1 else 1e-5)
        graphs = [torch.cuda.CUDAGraph() for _ in range(2)]
        for graph in graphs:
            with torch.cuda.graph(graph):
                run(outs[1])
        for graph in graphs * 10:
            outs[1].fill_(float("nan"))
            graph.replay()
            assert torch.equal(*outs)


def test_divided_tiles_of_two_streams(generator):
    config = Config(128, 16, 128, 8, 8, 1, True)
    values, meta, _ = sparse(4096, 4096, torch.bfloat16, generator)
    packed = prepacked(meta, torch.bfloat16)
    inputs = [numbers((16, 4096), torch.bfloat16, generator) for _ in range(2)]
    outs = [torch.empty((16, 4096), dtype=torch.bfloat16, device=DEVICE) for _ in range(2)]
    expected = [sparse_linear_hopper(values, packed, x, torch.empty_like(outs[0]), config=config) for x in inputs]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(2)]
    for _ in range(200):
        for stream, x, out in zip(streams, inputs, outs, strict=True):
            with torch.cuda.stream(stream):
                sparse_linear_hopper(values, packed, x, out, config=config)
    torch.cuda.synchronize()
    assert all(map(torch.equal, outs, expected))
