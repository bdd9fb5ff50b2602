"""Numbers of the tuned Hopper GEMM against float64."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "hopper_gemm.py"


def load():
    spec = importlib.util.spec_from_file_location("hopper_gemm", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks the module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


example = load()

SHAPES = [
    (512, 768, 256),
    # Several tiles for each program, some with one more than others.
    (2048, 2304, 832),
    # Edges inside of tiles, and a K shorter than the ring and than a slot.
    (1000, 776, 328),
    (72, 8, 16),
    # A K whose pieces differ, and pieces that are all zeros.
    (256, 384, 4160),
    (128, 128, 80),
]
TOLERANCES = {torch.float16: 1e-3, torch.bfloat16: 8e-3}


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")


def random(*shape, dtype, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)


def check(out, reference, tolerance):
    # A NaN, which is what was not written, is no small error.
    assert ((out.double() - reference).abs().max() / reference.abs().max()).item() <= tolerance


def run(a, b, reference, tolerance, dtype, **arguments):
    out = torch.empty((a.shape[0], b.shape[1]), device="cuda", dtype=dtype)
    launch = example.prepare(a, b, out, **arguments)
    # What a launch leaves behind must not change the next one.
    for _ in range(3):
        out.fill_(float("nan"))
        launch()
        check(out, reference, tolerance)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("config", example.CONFIGS, ids=str)
def test_configurations(config, shape):
    m, n, k = shape
    a, b = random(m, k, dtype=torch.float16, seed=m), random(k, n, dtype=torch.float16, seed=n)
    run(a, b, a.double() @ b.double(), 1e-3, torch.float16, config=config)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("config", [example.WIDE, example.TURNS, example.DEEP, example.SHARED], ids=str)
def test_types_and_orders(config, dtype, trans_b):
    m, n, k = 1160, 968, 520
    a, b = random(m, k, dtype=dtype, seed=1), random(k, n, dtype=dtype, seed=2)
    if trans_b:
        b = b.T.contiguous().T
    run(a, b, a.double() @ b.double(), TOLERANCES[dtype], dtype, config=config)


@pytest.mark.parametrize("config", [example.WIDE, example.TURNS, example.SMALL, example.DEEP], ids=str)
def test_epilogues(config):
    m, n, k = 1160, 968, 520
    a, b = random(m, k, dtype=torch.float16, seed=3), random(k, n, dtype=torch.float16, seed=4)
    bias = random(n, dtype=torch.float16, seed=5)
    product = a.double() @ b.double()
    run(a, b, product + bias.double(), 1e-3, torch.float16, config=config, epilogue=example.add_bias, x=bias)
    run(a, b, torch.nn.functional.silu(product), 1e-3, torch.float16, config=config, epilogue=example.silu)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("shape", [(512, 768, 256), (2048, 2304, 832), (1000, 776, 336)], ids=str)
@pytest.mark.parametrize("config", example.CONFIGS_8, ids=str)
def test_scaled_operands_of_8_bits(config, shape, dtype):
    m, n, k = shape
    a, b = random(m, k, dtype=dtype, seed=m), random(n, k, dtype=dtype, seed=n).T
    x, y = random(m, dtype=torch.float32, seed=6).exp(), random(n, dtype=torch.float32, seed=7).exp()
    reference = (a.double() @ b.double()) * x.double()[:, None] * y.double()[None, :]
    run(a, b, reference, 1e-2, torch.bfloat16, config=config, epilogue=example.scale, x=x, y=y)


@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (4096, 2048, 512), (128, 256, 16384)], ids=str)
def test_the_chosen_configuration(shape):
    m, n, k = shape
    a, b = random(m, k, dtype=torch.bfloat16, seed=8), random(k, n, dtype=torch.bfloat16, seed=9)
    check(example.matmul(a, b), a.double() @ b.double(), 8e-3)


def test_sizes_that_do_not_fit_are_named():
    a, b = torch.empty((64, 32), device="cuda"), torch.empty((64, 64), device="cuda")
    with pytest.raises(ValueError, match=r"expected shapes M x K, K x N and M x N, got 64 x 32, 64 x 64"):
        example.prepare(a, b, a)
