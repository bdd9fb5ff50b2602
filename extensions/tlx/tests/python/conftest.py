"""Fixtures that compile TLX kernels for any target, without a GPU."""

from __future__ import annotations

import importlib.util

import pytest
import triton

from tritonext.errors import KernelError
from tritonext.offline import Specialization, parse_signature


@pytest.fixture(scope="session", autouse=True)
def extension_installed():
    if importlib.util.find_spec("tritonext_tlx") is None:
        pytest.skip("the extension tlx is not installed")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """Compile for real: a kernel from the cache runs no pass."""
    # Left open, triton 3.9 warns about the default of the next release.
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        yield


@pytest.fixture
def compiled():
    """Compile a kernel: ``compiled(kernel, "x=*fp32:16", "cuda:90", {"num_warps": 8}, BLOCK=64)``."""

    def compile_kernel(kernel, signature, target="cuda:90", options=None, **constants):
        return Specialization(kernel, parse_signature(signature), constants, options or {}).compile(target)

    return compile_kernel


@pytest.fixture
def refused(compiled):
    """Compile a kernel that must not, and return the text of the error, those in functions it calls behind it."""

    def compile_kernel(*args, **constants):
        with pytest.raises(triton.CompilationError) as caught:
            compiled(*args, **constants)
        errors = [caught.value]
        while isinstance(errors[-1].__cause__, triton.CompilationError):
            errors.append(errors[-1].__cause__)
        return "\n".join(map(str, errors))

    return compile_kernel


@pytest.fixture
def refused_by_pass(compiled, capfd):
    """Compile a kernel in which a pass finds a mistake, and return the text of the error."""

    def compile_kernel(*args, **constants):
        with pytest.raises(KernelError) as caught:
            compiled(*args, **constants)
        assert capfd.readouterr().err == ""
        return str(caught.value)

    return compile_kernel
