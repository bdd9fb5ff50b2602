"""An empty cache, a device that is not there, small kernels, and a view of the passes that ran."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import registry
from tritonext._triton import recording
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import fake_driver


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def triple(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 3, mask=at < n)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty Triton cache; gives its directory."""
    directory = tmp_path / "triton-cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(directory))
    # Left open, triton 3.9 warns about the default of the next release.
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    return directory


@pytest.fixture
def device():
    """Launch for cuda:90 on a device that is not there."""
    with fake_driver.active("cuda:90"):
        yield


@pytest.fixture
def x():
    return fake_driver.Array("fp32")


@pytest.fixture
def kernel():
    """A kernel that nothing has launched yet."""
    return triton.jit(double.fn)


@pytest.fixture
def other_kernel():
    return triton.jit(triple.fn)


@pytest.fixture
def compiled():
    """Compile ``kernel`` for a target, with Triton's cache in force."""

    def compile_kernel(kernel, target="cuda:90"):
        return Specialization(kernel, parse_signature("x=*fp32:16, n=i32"), {"BLOCK": 256}).compile(target)

    return compile_kernel


@pytest.fixture
def ran():
    """Return the flags of the MLIR passes that a compilation under the active pipelines runs in one stage."""

    def flags(stage, compile_kernel):
        with recording.record((stage,)) as recorded, tritonext.use(recorded.pipeline):
            compile_kernel()
        return [run.flag for run in recorded.passes]

    return flags


@pytest.fixture(scope="session")
def probe():
    """The fixture extension, loaded."""
    if "probe" not in registry.installed():
        pytest.skip("the fixture extension tritonext-probe is not installed")
    tritonext.load("probe")
    return registry.extension("probe")
