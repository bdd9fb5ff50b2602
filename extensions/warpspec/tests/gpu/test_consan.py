"""The concurrency sanitizer of stock Triton is content with every kernel of the corpus that is specialized."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from kernels import KERNELS, SPECIALIZED

import tritonext
from tritonext.testing.cases import running

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
pytestmark = pytest.mark.gpu

PROCESSORS = 2


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous products need a GPU of compute capability 9.0")


@pytest.mark.parametrize("name", [name for name, case in KERNELS.items() if case.expected == SPECIALIZED])
def test_kernel_is_clean(name):
    """Each runs in a process of its own: a finding is an assertion of the device, which ends the context."""
    environment = {
        **os.environ,
        "TRITON_INSTRUMENTATION_MODE": "consan",
        "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, __file__, name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def main(name: str) -> None:
    case = KERNELS[name]
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    # Several tiles for each of a few programs, and sizes that tiles do not divide.
    arguments = case.arguments(case.shapes[1], seed=1)
    tensors = running.launch(case, tritonext.use("warpspec")(case.fn), arguments, PROCESSORS)
    torch.cuda.synchronize()
    error = running.worst(case, arguments, running.results(case, arguments, tensors))
    assert error <= 1, f"{error} times what is allowed"


if __name__ == "__main__":
    main(sys.argv[1])
