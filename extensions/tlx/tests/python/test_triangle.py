"""The triangle multiplicative update: its machine code, and its numbers in the simulator against float64."""

import dataclasses
import importlib
import pathlib
import re

import pytest

from tritonext.inspect_code import stats
from tritonext.testing import run_python

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
np = pytest.importorskip("numpy")

from tritonext_tlx.simulator import Descriptor  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("triangle")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normalized(x, scale, shift):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale + shift


def reference(x, w, incoming, mask):
    """Return the update in float64."""
    x = normalized(x.astype(np.float64), w["norm_in"], w["norm_in_bias"])
    ab = x @ w["p_in"].T * sigmoid(x @ w["g_in"].T)
    if mask is not None:
        ab = ab * mask[..., None]
    a, b = np.split(ab, 2, axis=-1)
    t = np.einsum("bkid,bkjd->bijd" if incoming else "bikd,bjkd->bijd", a, b)
    t = normalized(t, w["norm_out"], w["norm_out_bias"])
    return t @ w["p_out"].T * sigmoid(x @ w["g_out"].T)


class Problem:
    """Random pairs and weights."""

    def __init__(self, batches, n, channels, masked, seed):
        rng = np.random.default_rng(seed)
        self.x = (rng.standard_normal((batches, n, n, channels)) * 2 + 0.5).astype(np.float16)
        self.mask = rng.random((batches, n, n)).astype(np.float32) if masked else None
        shapes = {"p_in": 2, "g_in": 2, "p_out": 1, "g_out": 1}
        self.weights = {
            name: (rng.standard_normal((rows * channels, channels)) * channels**-0.5).astype(np.float16)
            for name, rows in shapes.items()
        }
        for name in ("norm_in", "norm_in_bias", "norm_out", "norm_out_bias"):
            self.weights[name] = (rng.standard_normal(channels) * 0.1 + (not name.endswith("bias"))).astype(np.float32)

    def reference(self, incoming):
        return reference(self.x, {name: w.astype(np.float64) for name, w in self.weights.items()}, incoming, self.mask)

    def simulate(self, example, config, incoming, epilogue, programs, seed):
        batches, n, _, channels = self.x.shape
        pitch = -(-n // 8) * 8
        # What no kernel writes stays NaN, and has to stay without effect.
        ab = np.full((2 * channels, batches * n, pitch), np.nan, np.float16)
        t = np.full((channels, batches * n, pitch), np.nan, np.float16)
        out = np.full_like(self.x, np.nan)
        seen, blocks, w = example.views(self.x, ab, t, out), config.blocks(channels), self.weights

        def run(kernel, tensors, *numbers, **constants):
            described = [Descriptor(tensors[name], blocks[kernel][name]) for name in blocks[kernel]]
            constants |= config.constants(kernel) | {"num_warps": 4}
            function = getattr(example, kernel)
            return tlx.simulate(function, (programs,), *described, *numbers, seed=seed, **constants)

        run(
            "project",
            seen["project"] | w | {"x": seen["project"]["incoming" if incoming else "outgoing"]},
            *(self.mask, w["norm_in"], w["norm_in_bias"], n, batches * n, 1e-5),
            C=channels,
            INCOMING=incoming,
            MASKED=self.mask is not None,
        )
        assert np.isnan(ab[:, :, n:]).all()
        run("multiply", seen["multiply"] | {"b": seen["multiply"]["a"]}, n, channels * batches)
        assert np.isnan(t[:, :, n:]).all()
        other = None
        if epilogue is example.add:
            other = Descriptor(self.x.reshape(batches * n, n, channels), blocks["finish"]["out"])
        run(
            "finish",
            seen["finish"] | w,
            other,
            *(w["norm_in"], w["norm_in_bias"], w["norm_out"], w["norm_out_bias"], n, pitch, batches * n, 1e-5),
            C=channels,
            EPILOGUE=epilogue,
        )
        return out


@pytest.mark.parametrize(("dtype", "incoming"), [("fp16", False), ("bf16", True)], ids=["outgoing", "incoming"])
def test_projections_stay_in_registers(example, dtype, incoming):
    kernel = example.compile_for("project", dtype=dtype, incoming=incoming)
    code, sass = stats(kernel), kernel.asm["sass"]
    assert code.spills == 0
    assert kernel.metadata.shared <= 232448
    # Two consumers, two parts of 64 channels, a product and its gate, eight steps of 16 channels.
    assert sass.count("HGMMA") == 2 * 2 * 2 * 8
    assert sass.count("MUFU.TANH") == 2 * 2 * 64
    # Tiles are read 16 bytes at a time, normalized without another layout in between, and results leave by matrices.
    assert len(re.findall(r"LDS\.128", sass)) >= 16
    assert not re.search(r"ttg\.convert_layout.*64x", kernel.asm["ttgir"])
    assert len(re.findall(r"cp\.async\.bulk\.tensor\.3d\.global\.shared::cta", kernel.asm["ptx"])) == 4


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_products_overlap_and_nothing_spills(example, dtype):
    kernel = example.compile_for("multiply", dtype=dtype)
    assert stats(kernel).spills == 0
    assert kernel.metadata.shared <= 232448
    assert sorted(re.findall(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d)", kernel.asm["sass"])) == ["0", "0", "1", "1"]


@pytest.mark.parametrize(("dtype", "epilogue"), [("fp16", "plain"), ("bf16", "add")])
def test_the_result_stays_in_registers(example, dtype, epilogue):
    kernel = example.compile_for("finish", dtype=dtype, epilogue=getattr(example, epilogue))
    assert stats(kernel).spills == 0
    assert kernel.metadata.shared <= 232448
    assert kernel.asm["sass"].count("HGMMA") == 2 * 2 * 8
    # Tiles are normalized, and the transposed operand is read, as they lie.
    assert not re.search(r"ttg\.convert_layout.*64x", kernel.asm["ttgir"])
    waits = re.findall(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d)", kernel.asm["sass"])
    assert sorted(waits) == ["0", "0", "1", "1"]
    loads = re.findall(r"cp\.async\.bulk\.tensor\.3d\.shared::cta\.global", kernel.asm["ptx"])
    assert len(loads) == (2 if epilogue == "add" else 0)


# Small: the sanitizer's code grows with the number of buffers and barriers.
@pytest.mark.parametrize("kernel", ["project", "multiply", "finish"])
def test_sanitized(example, kernel):
    config = example.Config(BM=64, TILE_M=64, TILE_N=32, MULTIPLY_STAGES=2, PROJECT_STAGES=1, FINISH_STAGES=1)
    checked = example.compile_for(kernel, config=config, channels=64, options={"instrumentation_mode": "consan"})
    assert "__assertfail" in checked.asm["ptx"]


# fp16 rounds normalized pairs, a, b, t and normalized t, each to 2**-11 of numbers up to about four.
TOLERANCE = {"rtol": 4e-3, "atol": 1e-2}


@pytest.fixture
def small(example):
    return example.Config(BM=64, TILE_M=64, TILE_N=32, TILE_K=32, MULTIPLY_STAGES=3, GATE=example.sigmoid)


@pytest.mark.parametrize("incoming", [False, True], ids=["outgoing", "incoming"])
@pytest.mark.parametrize(("batches", "n", "masked"), [(1, 64, False), (1, 37, True), (2, 13, True), (1, 1, False)])
def test_simulated(example, small, batches, n, masked, incoming):
    problem = Problem(batches, n, 64, masked, seed=n)
    out = problem.simulate(example, small, incoming, example.plain, 3, seed=n + incoming)
    np.testing.assert_allclose(out, problem.reference(incoming), **TOLERANCE)


@pytest.mark.parametrize("stages", [1, 3])
def test_simulated_with_other_slots_and_a_residual(example, small, stages):
    config = dataclasses.replace(small, BM=128, PROJECT_STAGES=stages, FINISH_STAGES=stages, MULTIPLY_STAGES=stages + 1)
    problem = Problem(1, 33, 64, True, seed=stages)
    out = problem.simulate(example, config, False, example.add, 2, seed=stages)
    np.testing.assert_allclose(out, problem.x + problem.reference(False), **TOLERANCE)


def test_simulated_with_the_channels_of_alphafold(example, small):
    config = dataclasses.replace(small, BM=128)
    problem = Problem(1, 21, 128, True, seed=128)
    out = problem.simulate(example, config, True, example.plain, 2, seed=128)
    np.testing.assert_allclose(out, problem.reference(True), **TOLERANCE)


def test_the_script_runs_without_a_gpu():
    done = run_python(EXAMPLES / "triangle.py")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^  spilled registers +(\d+)$", done.stdout, re.MULTILINE) == ["0"] * 3
