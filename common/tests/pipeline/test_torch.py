"""Kernels under a pipeline in functions of torch.compile: operators stay whole, and others are refused."""

from __future__ import annotations

import pathlib
import re
import runpy
import types

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import Pipeline, _torch, registry, wrap_stage
from tritonext.errors import PipelineError

tritonext_probe = pytest.importorskip("tritonext_probe", reason="the fixture extension is not installed")

seen: list[str] = []


def note(inner, source, metadata, info):
    seen.append(info.stage)
    return inner(source, metadata)


NOTED = Pipeline([wrap_stage("ttgir", note, key="note")], name="noted")


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def with_op(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tritonext_probe.twice(tl.load(x + at)))


def tuned(kernel):
    return triton.autotune([triton.Config({"BLOCK": 128})], key=["n"])(kernel)


class Hopifier:
    """What torch calls with each kernel that it would take apart."""

    def init_variable(self, variable, kernel, kernel_idx, grid):
        return kernel


def test_kernels_that_would_lose_their_pipeline_are_refused():
    module = types.SimpleNamespace(TritonHOPifier=type("Hopifier", (Hopifier,), {}))
    _torch._guard(module)
    ask = module.TritonHOPifier().init_variable
    for kernel in (double, tuned(double)):
        assert ask(None, kernel, None, None) is kernel
    decorated = tritonext.use(NOTED)(double)
    for kernel, name in [
        (decorated, "noted"),
        (tuned(decorated), "noted"),
        (tritonext.use(NOTED)(tuned(double)), "noted"),
        (with_op, "probe"),
        (tuned(with_op), "probe"),
    ]:
        with pytest.raises(PipelineError, match="would take a kernel apart") as caught:
            ask(None, kernel, None, None)
        assert caught.value.found == name
        assert "torch.library.custom_op" in caught.value.hint
    with tritonext.use(NOTED), pytest.raises(PipelineError, match="found: noted"):
        ask(None, double, None, None)


def test_another_torch_is_told_of():
    with pytest.warns(UserWarning, match="takes kernels apart in another way"):
        _torch._guard(types.SimpleNamespace())


@pytest.mark.gpu
@pytest.mark.parametrize("case", ["elementwise", "softmax", "matmul", "dynamic"])
def test_torch_compile_works_beside_this_triton(case):
    """What docs/torch.md says of functions without kernels of ours."""
    torch = pytest.importorskip("torch")
    options = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"} if case == "matmul" else None
    functions = {
        "elementwise": lambda x: torch.nn.functional.gelu(x * 2 + 1),
        "softmax": lambda x: torch.softmax(x, -1).sum(0),
        "matmul": lambda x: x @ x.T,
        "dynamic": lambda x: (x.sin() + 1).sum(-1),
    }
    compiled = torch.compile(functions[case], fullgraph=True, options=options, dynamic=case == "dynamic")
    for size in (256, 320) if case == "dynamic" else (256,):
        x = torch.randn(size, size, device="cuda", dtype=torch.float16 if case == "matmul" else torch.float32)
        torch.testing.assert_close(compiled(x), functions[case](x), rtol=2e-2 if case == "matmul" else 1e-4, atol=1e-2)


def operator(torch, kernel, name):
    """Return an operator that doubles a tensor by a launch of ``kernel``."""

    @torch.library.custom_op(f"tritonext_tests::{name}", mutates_args=(), schema="(Tensor x) -> Tensor")
    def double_it(x):
        y = x.clone()
        kernel[(triton.cdiv(y.numel(), 128),)](y, y.numel(), BLOCK=128)
        return y

    double_it.register_fake(torch.empty_like)
    return double_it


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("how", ["decorated", "region"])
def test_an_operator_keeps_its_pipeline(how, mode):
    torch = pytest.importorskip("torch")
    fresh = triton.jit(double.fn)
    kernel = tritonext.use(NOTED)(fresh) if how == "decorated" else fresh
    double_it = operator(torch, kernel, f"{how}_{mode.replace('-', '_')}")
    compiled = torch.compile(lambda x: double_it(x.sin()) + 1, fullgraph=True, mode=mode)
    seen.clear()
    region = tritonext.use_stock() if how == "decorated" else tritonext.use(NOTED)
    with region:
        for _ in range(3):
            x = torch.randn(1000, device="cuda")
            torch.testing.assert_close(compiled(x).clone(), x.sin() * 2 + 1)
    assert seen


@pytest.mark.gpu
def test_the_snippet_of_the_guide_runs(tmp_path):
    torch = pytest.importorskip("torch")
    if "layout" not in registry.installed():
        pytest.skip("the extension layout is not installed")
    guide = pathlib.Path(__file__).resolve().parents[3] / "docs" / "torch.md"
    [snippet] = re.findall(r"^```python\n(.*?)^```$", guide.read_text(), re.MULTILINE | re.DOTALL)
    # Triton reads the source of kernels from their file.
    file = tmp_path / "snippet.py"
    file.write_text(snippet)
    names = runpy.run_path(str(file))
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(names["compiled"](x), x.sin() * 2 + 1)


@pytest.mark.gpu
@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_kernel_in_a_compiled_function_is_refused(fullgraph):
    torch = pytest.importorskip("torch")
    kernel = tritonext.use(NOTED)(triton.jit(double.fn))

    def launch(x):
        y = x.clone()
        kernel[(8,)](y, y.numel(), BLOCK=128)
        return y

    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(launch(x), x * 2)
    with pytest.raises(Exception, match="would take a kernel apart") as caught:
        torch.compile(launch, fullgraph=fullgraph)(x)
    assert "launch it in an operator of torch.library.custom_op" in str(caught.value)


@pytest.mark.gpu
def test_a_kernel_under_no_pipeline_is_taken_apart_as_ever():
    torch = pytest.importorskip("torch")

    def launch(x):
        y = x.clone()
        double[(8,)](y, y.numel(), BLOCK=128)
        return y + 1

    tritonext.use(NOTED)(double)
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(torch.compile(launch, fullgraph=True)(x), x * 2 + 1)
