"""Fixtures that compile kernels for any target, without a GPU. A ``conftest.py`` imports those that its tests use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import triton

from tritonext.errors import KernelError
from tritonext.offline import Specialization, parse_signature

__all__ = ["compiled", "empty_cache", "refused", "refused_by_pass"]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for real: a kernel from the cache runs no pass."""
    # Left open, triton 3.9 warns about the default of the next release.
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def compiled() -> Callable[..., Any]:
    """Compile a kernel: ``compiled(kernel, "x=*fp32:16", "cuda:90", {"num_warps": 8}, BLOCK=64)``."""

    def compile_kernel(kernel, signature, target="cuda:90", options=None, **constants):
        return Specialization(kernel, parse_signature(signature), constants, options or {}).compile(target)

    return compile_kernel


@pytest.fixture
def refused(compiled: Callable[..., Any]) -> Callable[..., str]:
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
def refused_by_pass(compiled: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Compile a kernel in which a pass finds a mistake, and return the text of the error."""

    def compile_kernel(*args, **constants):
        with pytest.raises(KernelError) as caught:
            compiled(*args, **constants)
        assert capfd.readouterr().err == ""
        return str(caught.value)

    return compile_kernel
