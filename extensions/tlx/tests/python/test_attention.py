"""The example of attention: simulated numbers against float64, and its machine code."""

import importlib.util
import math
import pathlib
import re
import sys

import pytest

from tritonext.inspect_code import stats
from tritonext.testing import run_python

np = pytest.importorskip("numpy")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext_tlx.simulator import Descriptor  # noqa: E402

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "attention.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("attention", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["attention"] = module
    spec.loader.exec_module(module)
    return module


def reference(q, k, v, do, causal):
    """Return result, logarithms and gradients in float64 of one head each."""
    q, k, v, do = (x.astype(np.float64) for x in (q, k, v, do))
    n, m, scale = len(q), len(k), q.shape[1] ** -0.5
    scores = q @ k.T * scale
    if causal:
        scores = np.where(np.arange(m)[None] <= np.arange(n)[:, None] + m - n, scores, -np.inf)
    top = scores.max(1, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), 0, top)
    powers = np.exp(scores - top)
    total = powers.sum(1, keepdims=True)
    p = powers / np.where(total == 0, 1, total)
    out = p @ v
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[:, 0]
    delta = (do * out).sum(1)
    ds = p * (do @ v.T - delta[:, None])
    return out, lse, ds @ k * scale, ds.T @ q * scale, p.T @ do, delta


class Problem:
    """Random tensors of sequences, packed behind each other or of one length, and their references."""

    def __init__(self, lengths, heads, shared, dim, causal, packed):
        rng = np.random.default_rng()
        self.heads, self.shared, self.dim, self.causal, self.packed = heads, shared, dim, causal, packed
        self.lengths = lengths
        self.q_starts, self.k_starts = (np.cumsum([0, *sizes], dtype=np.int32) for sizes in zip(*lengths, strict=True))
        if packed:
            shapes = [(int(starts[-1]), count, dim) for starts, count in self._each(heads, shared)]
        else:
            (n, m), batches = lengths[0], len(lengths)
            shapes = [(batches, heads, n, dim), (batches, heads // shared, m, dim)]
        self.q, self.do = (rng.standard_normal(shapes[0]).astype(np.float16) for _ in range(2))
        self.k, self.v = (rng.standard_normal(shapes[1]).astype(np.float16) for _ in range(2))
        self.q_size, self.k_size = (shape[0] if packed else shape[2] for shape in shapes)
        self.q_longest, self.k_longest = (max(sizes) for sizes in zip(*lengths, strict=True))

    def _each(self, heads, shared):
        return (self.q_starts, heads), (self.k_starts, heads // shared)

    def rows(self, tensor, batch, head, of_keys=False):
        """Return the rows of one head of one sequence, as a view."""
        if not self.packed:
            return tensor[batch, head]
        starts = self.k_starts if of_keys else self.q_starts
        return tensor[starts[batch] : starts[batch + 1], head]

    def logarithms(self, tensor, batch, head):
        if not self.packed:
            return tensor[batch, head]
        return tensor[head, self.q_starts[batch] : self.q_starts[batch + 1]]

    def pairs(self):
        for batch in range(len(self.lengths)):
            for head in range(self.heads):
                q, do = self.rows(self.q, batch, head), self.rows(self.do, batch, head)
                k, v = (self.rows(x, batch, head // self.shared, True) for x in (self.k, self.v))
                yield batch, head, reference(q, k, v, do, self.causal)

    def empty_logarithms(self):
        shape = (self.heads, self.q_size) if self.packed else self.q.shape[:3]
        return np.full(shape, np.nan, np.float32)

    def describe(self, tensor, rows, columns=None):
        flat = tensor.reshape(tensor.shape[0], -1) if self.packed else tensor.reshape(-1, self.dim)
        return Descriptor(flat, [rows, columns or self.dim])

    def simulate_forward(self, example, programs, seed, **config):
        tile = {**example.FORWARD[self.dim][0], **config}
        out, lse = np.full_like(self.q, np.nan), self.empty_logarithms()
        rows = tile["BM"] // example.GROUPS.value
        described = [self.describe(x, n) for x, n in ((self.q, rows), (self.k, tile["BN"]), (self.v, tile["BN"]))]
        blocks = -(-self.q_longest // tile["BM"])
        tiles = blocks * len(self.lengths) * self.heads
        counter = np.zeros(1, np.int32)
        tlx.simulate(
            example.forward,
            (min(programs, tiles),),
            *(*described, self.describe(out, rows), out, lse, self.q_starts, self.k_starts, self.q_size, self.k_size),
            *(blocks, tiles, self.heads, self.shared, 2, self.dim**-0.5 * math.log2(math.e), counter),
            **{**tile, "D": self.dim, "CAUSAL": self.causal, "PACKED": self.packed, "num_warps": 4, "seed": seed},
        )
        assert counter[0] == 0
        return out, lse

    def simulate_backward(self, example, seed):
        tile = example.BACKWARD[self.dim][0]
        lse2, delta = self.empty_logarithms(), self.empty_logarithms()
        for batch, head, (_, lse, *_, sums) in self.pairs():
            self.logarithms(lse2, batch, head)[:] = np.where(np.isinf(lse), np.inf, lse * math.log2(math.e))
            self.logarithms(delta, batch, head)[:] = sums
        dq = np.zeros(self.q.shape, np.float32)
        dk, dv = np.full_like(self.k, np.nan), np.full_like(self.v, np.nan)
        rows = tile["BN"] // 2
        described = [
            self.describe(x, n)
            for x, n in ((self.q, tile["BM"]), (self.k, rows), (self.v, rows), (self.do, tile["BM"]))
        ]
        described += [self.describe(dq, tile["BM"], self.dim // 2), self.describe(dk, rows), self.describe(dv, rows)]
        blocks = -(-self.k_longest // tile["BN"])
        tiles = blocks * len(self.lengths) * self.heads // self.shared
        scale = self.dim**-0.5
        tlx.simulate(
            example.backward,
            (tiles,),
            *(*described, dk, dv, lse2, delta, self.q_starts, self.k_starts, self.q_size, self.k_size),
            *(blocks, tiles, self.heads, self.shared, 2, scale * math.log2(math.e), scale),
            **{**tile, "D": self.dim, "CAUSAL": self.causal, "PACKED": self.packed, "num_warps": 4, "seed": seed},
        )
        # The kernel leaves the columns of this gradient in an order of its own.
        digits = dq.reshape(-1, self.dim // 32, 4, 4, 2)
        return digits.swapaxes(2, 3).reshape(dq.shape) * scale, dk, dv


PROBLEMS = [
    # lengths of queries and keys by sequence, heads, heads that share keys, causal, packed
    ([(256, 256)], 2, 1, False, False),
    ([(256, 256)], 2, 2, True, False),
    ([(72, 200)] * 2, 1, 1, False, False),
    ([(200, 72)], 1, 1, True, False),
    ([(100, 200)], 1, 1, True, False),
    ([(130, 130), (0, 0), (1, 1), (70, 200)], 2, 2, True, True),
]
# fp16 rounds probabilities, and results of about one, to 2**-11.
TOLERANCE = {"rtol": 2e-3, "atol": 4e-3}


# The logarithm of an empty sum is what the kernel wants.
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("config", [{}, {"BN": 64, "STAGES": 3, "Q_SLOTS": 1}])
@pytest.mark.parametrize(("lengths", "heads", "shared", "causal", "packed"), PROBLEMS)
def test_forward(example, lengths, heads, shared, causal, packed, config):
    problem = Problem(lengths, heads, shared, 64, causal, packed)
    out, lse = problem.simulate_forward(example, 3, seed=len(lengths) + heads, **config)
    for batch, head, (expected, logarithms, *_) in problem.pairs():
        np.testing.assert_allclose(problem.rows(out, batch, head), expected, **TOLERANCE)
        np.testing.assert_allclose(problem.logarithms(lse, batch, head), logarithms, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("lengths", "heads", "shared", "causal", "packed"), PROBLEMS)
def test_backward(example, lengths, heads, shared, causal, packed):
    problem = Problem(lengths, heads, shared, 64, causal, packed)
    dq, dk, dv = problem.simulate_backward(example, seed=heads)
    wanted = {}
    for batch, head, (_, _, *gradients, _) in problem.pairs():
        np.testing.assert_allclose(problem.rows(dq, batch, head), gradients[0], **TOLERANCE)
        for tensor, gradient in zip((dk, dv), gradients[1:], strict=True):
            key = (batch, head // shared, id(tensor))
            wanted[key] = (tensor, wanted[key][1] + gradient if key in wanted else gradient)
    for (batch, head, _), (tensor, gradient) in wanted.items():
        np.testing.assert_allclose(problem.rows(tensor, batch, head, True), gradient, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize("dim", [64, 128])
def test_forward_code(example, dim):
    kernel = example.compile_forward(dim)
    ptx = kernel.asm["ptx"]
    assert len(re.findall(r"setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32\s+240;", ptx)) == 2
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx
    sass = kernel.asm["sass"]
    # Serialized products wait for all before them, each.
    waits = re.findall(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d)", sass)
    assert waits.count("1") == 6
    assert len(waits) < sass.count("HGMMA") / 4
    # The probabilities stay in the registers of the products that made them: all stores are those of results.
    assert sass.count("STSM") == 2 * (dim // 16)
    if dim == 64:
        assert stats(kernel).spills == 0


@pytest.mark.parametrize("dim", [64, 128])
def test_backward_code(example, dim):
    kernel = example.compile_backward(dim)
    ptx, sass = kernel.asm["ptx"], kernel.asm["sass"]
    assert len(re.findall(r"cp\.reduce\.async\.bulk\.tensor\.2d\.global\S*add", ptx)) >= 4
    assert len(re.findall(r"WARPGROUP\.DEPBAR", sass)) < sass.count("HGMMA") / 4
    # Each gradient of queries is stored by 16 bytes: four times by each thread for D 64, and eight times for D 128, in
    # two loops and behind them, by two tasks.
    assert sass.count("STS.128") - 1 == 3 * 2 * dim // 16
    # What is spilled are places of tiles; accumulators would be thousands.
    assert stats(kernel).spills < (1 if dim == 64 else 64)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["forward", "backward"])
def test_instrumented_code(example, way):
    # The concurrency sanitizer of stock Triton says by an assertion what it finds.
    compiled = getattr(example, f"compile_{way}")
    assert "__assertfail" not in compiled(64).asm["ptx"]
    checked = compiled(64, options={"instrumentation_mode": "consan"})
    assert "__assertfail" in checked.asm["ptx"]
    assert checked.metadata.profile_scratch_size > 0


def test_the_script_runs_without_a_gpu():
    done = run_python(EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^backward, tile sums +6$", done.stdout, re.MULTILINE)
