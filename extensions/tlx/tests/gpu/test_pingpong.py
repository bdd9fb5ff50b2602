"""Numbers of kernels whose tasks take turns, also where the turns do not match; see python/test_pingpong.py."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
from triton.tools.tensor_descriptor import TensorDescriptor

import tritonext

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

KERNELS = pathlib.Path(__file__).parents[1] / "python" / "test_pingpong.py"


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("pingpong_kernels", KERNELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(tensor, rows, columns):
    return TensorDescriptor.from_tensor(tensor, [rows, columns])


@pytest.mark.parametrize("unequal", [0, 3, 15])
def test_attention(kernels, unequal):
    heads, size, width = 8, 1024, 64
    q, k, v = (torch.randn(heads * size, width, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.full_like(q, float("nan"))
    with tritonext.use("tlx:pingpong=true"):
        kernels.attend[(size // 128, heads)](
            *(described(tensor, 64, width) for tensor in (q, k, v)),
            out,
            0.18,
            size // 64,
            BM=64,
            BN=64,
            D=width,
            STAGES=2,
            UNEQUAL=unequal,
        )
    q, k, v = (tensor.view(heads, size, width).double() for tensor in (q, k, v))
    scores = q @ k.mT * 0.18
    second = torch.arange(size, device="cuda") // 64 % 2 == 1
    left = torch.arange(size, device="cuda") >= size - 64 * unequal
    scores.masked_fill_(second[:, None] & left[None, :], float("-inf"))
    weights = torch.softmax(scores * torch.log(torch.tensor(2.0, dtype=torch.float64)), -1)
    torch.testing.assert_close(out.view(heads, size, width).double(), weights @ v, rtol=0, atol=4e-3)


# Whole tiles by one ring: more steps than slots, and tiles that are not the same number for both.
@pytest.mark.parametrize(("m", "n", "k"), [(2048, 2048, 512), (128, 128, 64), (640, 128 * 7, 1024)])
def test_product(kernels, m, n, k):
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    out = torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)
    with tritonext.use("tlx:pingpong=true"):
        kernels.multiply[(3,)](
            described(a, 64, 64), described(b, 64, 128), out, m, n, k, BM=64, BN=128, BK=64, STAGES=3
        )
    torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-3, atol=2e-3 * k**0.5)
