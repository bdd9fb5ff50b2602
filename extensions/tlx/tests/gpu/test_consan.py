"""The concurrency sanitizer of stock Triton is content with the examples, and finds a slot released too early."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
# What is run, in a process of its own: a finding is an assertion of the device, which ends the context.
CASES = [
    "gemm_pipelined",
    "gemm_tasks",
    "gemm_pipeline",
    "hopper_gemm",
    "hopper_gemm_grouped",
    "attention",
    "attention-causal",
    "attention_backward",
    "attention_backward-causal",
]
RELEASE = "tlx.barrier_arrive(empty[(step - 1) % STAGES])"


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")


def load(path):
    # Examples import each other, and dataclasses look their module up.
    sys.path.insert(0, str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def random(*shape):
    return torch.randn(shape, device="cuda").half()


def compare(found, wanted):
    error = (found.double() - wanted).abs().max() / wanted.abs().max()
    assert error.item() <= 2e-3, f"largest error, of the largest value: {error.item():.3g}"


def multiply(example):
    a, b = random(700, 336), random(336, 528)
    for _ in range(2):
        compare(example.matmul(a, b), a.double() @ b.double())


def multiply_groups(example):
    sizes = [300, 0, 33, 500]
    a, b = random(sum(sizes), 320), random(len(sizes), 320, 264)
    offsets = torch.tensor([0, *sizes], device="cuda").cumsum(0).int()
    ends = itertools.pairwise(offsets.tolist())
    products = [a[i:j].double() @ b[group].double() for group, (i, j) in enumerate(ends)]
    compare(example.grouped_matmul(a, b, offsets), torch.cat(products))


def attend(example, causal, backward):
    q, do = (random(1, 4, 400, 128) for _ in range(2))
    k, v = (random(1, 2, 400, 128) for _ in range(2))
    inputs = [x.double().requires_grad_() for x in (q, k, v)]
    scores = inputs[0] @ inputs[1].repeat_interleave(2, 1).mT * 128**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones(400, 400, device="cuda", dtype=torch.bool).triu(1), float("-inf"))
    reference = scores.softmax(-1) @ inputs[2].repeat_interleave(2, 1)
    if not backward:
        compare(example.attention(q, k, v, causal)[0], reference)
        return
    reference.backward(do.double())
    out, lse = reference.detach().half(), scores.detach().logsumexp(-1).float()
    gradients = example.attention_backward(do, q, k, v, out, lse, causal)
    for found, one in zip(gradients, inputs, strict=True):
        compare(found, one.grad)


def run(case: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, case]
    environment = {**os.environ, "TRITON_INSTRUMENTATION_MODE": "consan"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)


@pytest.mark.parametrize("case", CASES)
def test_example_is_clean(case):
    done = run(case)
    assert done.returncode == 0, done.stdout + done.stderr


def test_slot_that_is_released_too_early_is_found(tmp_path):
    source = (EXAMPLES / "gemm_tasks.py").read_text()
    assert RELEASE in source
    broken = tmp_path / "gemm_tasks.py"
    broken.write_text(source.replace(RELEASE, "tlx.barrier_arrive(empty[step % STAGES])", 1))
    done = run(str(broken))
    assert done.returncode != 0
    assert "Assertion" in done.stderr + done.stdout


def main(case: str) -> None:
    if case.endswith(".py"):
        multiply(load(pathlib.Path(case)))
        return
    name, _, option = case.partition("-")
    example = load(EXAMPLES / f"{name.removesuffix('_backward')}.py")
    if name.startswith("attention"):
        attend(example, option == "causal", name.endswith("_backward"))
    elif name.endswith("grouped"):
        multiply_groups(example)
    else:
        multiply(example)


if __name__ == "__main__":
    main(sys.argv[1])
