"""Fixtures that compile kernels of the extension for any target, without a GPU."""

from __future__ import annotations

import base64
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

from tritonext.testing.fixtures import compiled, empty_cache, refused, refused_by_pass

__all__ = ["compiled", "empty_cache", "refused", "refused_by_pass"]


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
