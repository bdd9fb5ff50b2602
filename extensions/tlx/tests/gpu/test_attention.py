"""Numbers of the example of attention, forward and backward, against float64."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import itertools
import os
import pathlib
import sys

import pytest

from tritonext.testing import run_python

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "attention.py"
# Of the largest value: the rounding of probabilities and of results.
TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")


# Arguments: the example, a type, a size of heads, and whether to mask and to pack.
RUN = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("attention", sys.argv[1])
sys.modules["attention"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
dtype, dim, causal, packed = getattr(torch, sys.argv[2]), int(sys.argv[3]), *(x == "True" for x in sys.argv[4:])
starts = torch.tensor([0, 64], device="cuda", dtype=torch.int32)
q, k, v, do = (torch.randn((64, 1, dim) if packed else (1, 1, 64, dim), device="cuda", dtype=dtype) for _ in range(4))
packed = module.Packed(starts, starts, 64, 64) if packed else None
out, lse = module.attention(q, k, v, causal, packed=packed)
module.attention_backward(do, q, k, v, out, lse, causal, packed=packed)
torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def example():
    # Each kernel takes some 5 s to compile, which for 32 one after another is most of the time of these tests.
    variants = itertools.product(TOLERANCES, (64, 128), (False, True), (False, True))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(lambda variant: run_python("-c", RUN, EXAMPLE, *map(str, variant)), variants):
            assert done.returncode == 0, done
    spec = importlib.util.spec_from_file_location("attention", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["attention"] = module
    spec.loader.exec_module(module)
    return module


def random(*shape, dtype):
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(getattr(torch, dtype))


def references(q, k, v, do, causal):
    """Return result, logarithms and gradients in float64."""
    q, k, v = (x.double().requires_grad_() for x in (q, k, v))
    shared = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(shared, 1).mT * q.shape[-1] ** -0.5
    if causal:
        n, m = scores.shape[-2:]
        hidden = torch.ones(n, m, device="cuda", dtype=torch.bool).triu(m - n + 1)
        scores = scores.masked_fill(hidden, float("-inf"))
    lse = scores.logsumexp(-1)
    # Rows without keys have no softmax, and give zeros.
    out = torch.nan_to_num(scores.softmax(-1)) @ v.repeat_interleave(shared, 1)
    out.backward(do.double())
    return out.detach(), lse.detach(), q.grad, k.grad, v.grad


def compare(found, wanted, dtype):
    assert bool(found.isfinite().all())
    # Gradients through the softmax of a single key are zero.
    scale = max(wanted.abs().max().item(), 0.1)
    assert (found.double() - wanted).abs().max().item() <= TOLERANCES[dtype] * scale


@pytest.mark.parametrize(
    ("batches", "heads", "heads_kv", "queries", "keys"),
    [
        (2, 4, 4, 512, 512),
        # Edges inside of tiles, rows without keys, and more tiles than processors.
        (1, 4, 2, 300, 1000),
        (2, 2, 1, 1000, 300),
        (1, 2, 2, 1, 77),
        (1, 40, 8, 1024, 1024),
    ],
)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_attention(example, dtype, dim, causal, batches, heads, heads_kv, queries, keys):
    q, do = (random(batches, heads, queries, dim, dtype=dtype) for _ in range(2))
    k, v = (random(batches, heads_kv, keys, dim, dtype=dtype) for _ in range(2))
    expected, logarithms, *gradients = references(q, k, v, do, causal)
    for _ in range(3):
        out, lse = example.attention(q, k, v, causal)
        compare(out, expected, dtype)
        torch.testing.assert_close(lse.double(), logarithms, rtol=1e-4, atol=1e-3)
        found = example.attention_backward(do, q, k, v, out, lse, causal)
        for one, wanted in zip(found, gradients, strict=True):
            compare(one, wanted, dtype)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_packed_sequences(example, dtype, dim, causal):
    lengths = [0, 100, 513, 1, 260]
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], device="cuda", dtype=torch.int32)
    packed = example.Packed(starts, starts, max(lengths), max(lengths))
    q, do = (random(sum(lengths), 4, dim, dtype=dtype) for _ in range(2))
    k, v = (random(sum(lengths), 2, dim, dtype=dtype) for _ in range(2))
    out, lse = example.attention(q, k, v, causal, packed=packed)
    found = [out, *example.attention_backward(do, q, k, v, out, lse, causal, packed=packed)]
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if first == last:
            continue
        one = [x[first:last].transpose(0, 1)[None] for x in (q, k, v, do)]
        expected, logarithms, *gradients = references(*one, causal)
        torch.testing.assert_close(lse[None, :, first:last].double(), logarithms, rtol=1e-4, atol=1e-3)
        for tensor, wanted in zip(found, [expected, *gradients], strict=True):
            compare(tensor[first:last].transpose(0, 1)[None], wanted, dtype)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": (1, 3, 64, 64)}, "expected k and v|expected q, k and v"),
        ({"q": (1, 4, 64, 32)}, "expected a head size"),
        ({"scale": 0.0}, "expected a positive scale"),
    ],
)
def test_what_the_kernels_cannot_do_is_refused(example, change, message):
    shapes = {name: change.get(name, (1, 4, 64, 64)) for name in "qkv"}
    tensors = {name: random(*shape, dtype="float16") for name, shape in shapes.items()}
    with pytest.raises(ValueError, match=message):
        example.attention(*tensors.values(), scale=change.get("scale"))
