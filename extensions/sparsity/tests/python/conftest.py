"""Fixtures that compile kernels of the extension for any target, without a GPU."""

from __future__ import annotations

import base64
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
import types
from typing import Any

import pytest
import triton
import triton.language as tl

from tritonext.testing.fixtures import compiled, empty_cache, refused, refused_by_pass

__all__ = ["compiled", "empty_cache", "refused", "refused_by_pass"]

try:
    import tritonext_sparsity as sparsity
except ImportError:
    sparsity = None


@triton.jit
def product(
    v, m, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr = 8, OUT: tl.constexpr = None
):
    """C = expand24(values, meta) @ B of one tile."""
    values = tl.load(v + tl.arange(0, M)[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + tl.arange(0, M)[:, None] * (K // GROUP) + tl.arange(0, K // GROUP)[None, :])
    right = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    d = sparsity.sparse_dot(values, meta, right, out_dtype=OUT)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], d)


@triton.jit
def gemm(v, m, b, c, ldv, ldm, ldb, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of C = expand24(values, meta) @ B, in a loop along K."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    vs = v + rows[:, None] * ldv + tl.arange(0, BK // 2)[None, :]
    ms = m + rows[:, None] * ldm + tl.arange(0, BK // 8)[None, :]
    bs = b + tl.arange(0, BK)[:, None] * ldb + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = sparsity.sparse_dot(tl.load(vs), tl.load(ms), tl.load(bs), acc)
        vs += BK // 2
        ms += BK // 8
        bs += BK * ldb
    tl.store(c + rows[:, None] * BN + columns[None, :], acc)


@triton.jit
def gemm_of_right(a, v, m, c, lda, ldv, ldm, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of C = A @ expand24(values, meta).T, in a loop along K."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    xs = a + rows[:, None] * lda + tl.arange(0, BK)[None, :]
    vs = v + columns[:, None] * ldv + tl.arange(0, BK // 2)[None, :]
    ms = m + columns[:, None] * ldm + tl.arange(0, BK // 8)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = sparsity.dot_sparse(tl.load(xs), tl.load(vs), tl.load(ms), acc)
        xs += BK
        vs += BK // 2
        ms += BK // 8
    tl.store(c + rows[:, None] * BN + columns[None, :], acc)


@pytest.fixture(scope="session")
def kernels() -> types.SimpleNamespace:
    """Kernels of sparse products that several modules compile."""
    return types.SimpleNamespace(product=product, gemm=gemm, gemm_of_right=gemm_of_right)


@pytest.fixture(scope="session", autouse=True)
def extension_installed():
    if importlib.util.find_spec("tritonext_sparsity") is None:
        pytest.skip("the extension sparsity is not installed")


@pytest.fixture(scope="session")
def interpreter():
    """Run jobs of ``interpret.py`` in one process: ``interpreter(jobs)``, or with directories to import from."""
    script = pathlib.Path(__file__).with_name("interpret.py")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1"}
    process = subprocess.Popen(
        [sys.executable, os.fspath(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def run(jobs: list[tuple], directories: tuple[os.PathLike[str], ...] = ()) -> Any:
        request = (list(map(os.fspath, directories)), jobs)
        print(base64.b64encode(pickle.dumps(request)).decode(), file=process.stdin, flush=True)
        for line in process.stdout:
            if line.startswith("answer "):
                answer = pickle.loads(base64.b64decode(line.removeprefix("answer ")))
                assert not isinstance(answer, str), answer
                return answer
        raise AssertionError(f"the interpreter ended with status {process.wait()}")

    yield run
    process.stdin.close()
    process.wait(60)
