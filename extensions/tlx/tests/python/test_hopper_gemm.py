"""The tuned Hopper GEMM: machine code of its configurations, and its numbers in the simulator."""

import importlib.util
import pathlib
import re
import sys

import pytest
import triton
import triton.language as tl

from tritonext.inspect_code import stats
from tritonext.testing import run_python

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
np = pytest.importorskip("numpy")

from tritonext_tlx.simulator import (  # noqa: E402
    BarrierMisuse,
    ByteCountMismatch,
    Descriptor,
    Race,
    ReadBeforeCompletion,
    Typed,
)

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "hopper_gemm.py"


def load():
    spec = importlib.util.spec_from_file_location("hopper_gemm", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks the module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


example = load()

# Of a block, in bytes, on an H100 or H200.
SHARED_LIMIT = 232448
EIGHT = {"operands": "fp8e4nv", "out": "bf16", "trans_b": True, "epilogue": example.scale, "auxiliary": "fp32"}


def check_code(kernel, config):
    code, ptx, sass = stats(kernel), kernel.asm["ptx"], kernel.asm["sass"]
    assert code.spills == 0
    assert code.stack_bytes == 0
    assert kernel.metadata.shared <= SHARED_LIMIT
    # ptxas waits for everything behind each product when it cannot tell that the accumulator is left alone.
    assert (
        sorted(re.findall(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d)", sass)) == ["0"] * config.GROUPS + ["1"] * config.GROUPS
    )
    assert sass.count("WARPGROUP.ARRIVE") == config.GROUPS
    # The parts of an accumulator are stored from the registers that hold them.
    assert code.shuffles == 0
    assert ptx.count("cp.async.bulk.tensor.2d.global.shared") == config.SUBTILE * config.GROUPS
    budgets = set(re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32 \t?(\d+)", ptx))
    if config.CONSUMER_REGISTERS is None:
        assert not budgets
    else:
        assert {"232", "40"} <= budgets


def different(configs):
    """Return the configurations without those of which another one differs in the order of tiles alone."""
    return list({example.replace(config, GROUP_M=8): config for config in configs}.values())


@pytest.mark.parametrize("config", different(example.CONFIGS), ids=str)
def test_products_overlap_and_nothing_spills(config):
    check_code(example.compile_for(config=config), config)


@pytest.mark.parametrize("config", different(example.CONFIGS_8), ids=str)
def test_products_of_8_bits(config):
    kernel = example.compile_for(config=config, **EIGHT)
    check_code(kernel, config)
    assert "wgmma.mma_async.sync.aligned.m64n" in kernel.asm["ptx"]
    assert re.search(r"wgmma\S+f32\.e4m3\.e4m3", kernel.asm["ptx"])


@pytest.mark.parametrize(
    ("epilogue", "config"), [(example.add_bias, example.TURNS), (example.silu, example.WIDE)], ids=["bias", "silu"]
)
def test_epilogues_fit_into_the_registers(epilogue, config):
    check_code(example.compile_for(config=config, epilogue=epilogue, auxiliary="fp16"), config)


@pytest.mark.parametrize("config", [example.WIDE, example.TURNS], ids=str)
def test_a_transposed_operand_is_read_in_place(config):
    kernel = example.compile_for(config=config, trans_b=True, operands="bf16", out="bf16")
    check_code(kernel, config)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1024, 1024, 1024), example.SMALL),
        ((2048, 2048, 2048), example.WIDE),
        ((4096, 4096, 4096), example.SHARED),
        ((8192, 1024, 8192), example.WIDE),
        ((8192, 8192, 8192), example.TURNS),
        ((8192, 8192, 512), example.TURNS),
    ],
)
def test_configurations_are_chosen_by_shape(shape, expected):
    assert example.choose(*shape, 132) == expected


@pytest.mark.parametrize(("shape", "rows"), [((4096, 4096, 4096), 8), ((8192, 8192, 4096), 16)])
def test_products_of_8_bits_finish_more_rows_together_when_they_are_large(shape, rows):
    assert example.choose(*shape, 132, bits=8) == example.replace(example.TURNS, BK=128, GROUP_M=rows)


COOPERATIVE = example.Config(128, 64, 32, STAGES=3, SUBTILE=2, STAGING=2, SKEW=1, GROUP_M=2)
PING_PONG = example.Config(64, 64, 32, STAGES=3, SUBTILE=2, STAGING=1, PINGPONG=True)
SINGLE = example.Config(64, 64, 32, STAGES=2, SUBTILE=1, STAGING=1, GROUPS=1, PRODUCER_WARPS=4)


def simulate(config, shape, programs, seed, epilogue=example.plain, trans_b=False, dtype=np.float16, x=None, y=None):
    m, n, k = shape
    generator = np.random.default_rng(seed)
    a, b = (generator.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    if dtype is None:
        operands = [Typed.bfloat16(value) for value in (a, b.T.copy() if trans_b else b, c)]
        a, b = (value.numbers().astype(np.float64) for value in operands[:2])
        b = b.T if trans_b else b
    else:
        a, b = a.astype(dtype), b.astype(dtype)
        operands = [a, b.T.copy() if trans_b else b, c.astype(dtype)]
    blocks = config.blocks(trans_b)
    described = [Descriptor(value, blocks[name]) for name, value in zip("abc", operands, strict=True)]
    constants = example.asdict(config) | {"TRANS_B": trans_b, "EPILOGUE": epilogue}
    options = {"num_warps": 4, "ctas_per_cga": (config.cluster, 1, 1)}
    tlx.simulate(example.gemm, (programs,), *described, m, n, k, x, y, None, None, seed=seed, **options, **constants)
    result = operands[2] if dtype is not None else operands[2].numbers()
    return result.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("shape", "programs"),
    [
        ((256, 128, 96), 1),
        ((256, 192, 64), 3),
        # Edges inside of tiles, and a K shorter than the ring and than a slot.
        ((200, 104, 40), 2),
        ((72, 8, 16), 1),
    ],
)
@pytest.mark.parametrize(
    "config", [COOPERATIVE, PING_PONG, SINGLE, example.replace(COOPERATIVE, PRODUCER_WARPS=4)], ids=str
)
def test_simulated(config, shape, programs, seed):
    result, reference = simulate(config, shape, programs, seed)
    np.testing.assert_allclose(result, reference, rtol=1e-3, atol=2e-3 * shape[2] ** 0.5)


CLUSTERS = [
    example.replace(COOPERATIVE, BN=128, CLUSTER_M=2),
    example.replace(COOPERATIVE, CLUSTER_N=2),
    example.replace(PING_PONG, BN=128, CLUSTER_M=2),
    example.replace(PING_PONG, CLUSTER_N=2),
    example.replace(SINGLE, BN=128, CLUSTER_M=2, CLUSTER_N=2),
]


@pytest.mark.parametrize(("trans_b", "seed"), [(False, 0), (True, 1), (False, 2)])
@pytest.mark.parametrize(
    ("shape", "clusters"),
    [
        ((256, 256, 96), 1),
        # Another number of tiles for each cluster, and blocks whose tile is outside, or has an edge.
        ((136, 328, 40), 2),
    ],
)
@pytest.mark.parametrize("config", CLUSTERS, ids=str)
def test_simulated_clusters(config, shape, clusters, trans_b, seed):
    result, reference = simulate(config, shape, clusters * config.cluster, seed, trans_b=trans_b)
    np.testing.assert_allclose(result, reference, rtol=1e-3, atol=2e-3 * shape[2] ** 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_slots_are_not_filled_before_both_blocks_have_read_them(seed, monkeypatch):
    @triton.jit
    def release_own(empty, down, across, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr):
        tlx.barrier_arrive(empty, 2)

    monkeypatch.setattr(example, "release", release_own)
    with pytest.raises((Race, BarrierMisuse, ByteCountMismatch, ReadBeforeCompletion)):
        simulate(CLUSTERS[2], (256, 256, 320), 4, seed)


@pytest.mark.parametrize("config", [COOPERATIVE, PING_PONG], ids=str)
@pytest.mark.parametrize("trans_b", [False, True])
def test_simulated_with_bfloat16(config, trans_b):
    result, reference = simulate(config, (192, 128, 64), 2, 7, trans_b=trans_b, dtype=None)
    np.testing.assert_allclose(result, reference, rtol=8e-3, atol=0.1)


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


@pytest.mark.parametrize(
    ("epilogue", "expected"),
    [
        (example.add_bias, lambda product, x, y: product + x[: product.shape[1]]),
        (example.silu, lambda product, x, y: product * sigmoid(product)),
        (example.scale, lambda product, x, y: product * x[: product.shape[0], None] * y[: product.shape[1]]),
    ],
    ids=["bias", "silu", "scale"],
)
@pytest.mark.parametrize("config", [COOPERATIVE, PING_PONG], ids=str)
def test_simulated_epilogues(config, epilogue, expected):
    generator = np.random.default_rng(5)
    x, y = (generator.uniform(0.5, 1.5, 256).astype(np.float32) for _ in range(2))
    shape = (200, 104, 64)
    result, product = simulate(config, shape, 2, 3, epilogue, x=x, y=y)
    np.testing.assert_allclose(result, expected(product, x, y), rtol=2e-3, atol=2e-2)


def test_the_script_runs_without_a_gpu():
    done = run_python(EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^cooperative: 128x256x64", done.stdout, re.MULTILINE)
    assert re.findall(r"^  spilled registers +(\d+)$", done.stdout, re.MULTILINE) == ["0", "0"]
