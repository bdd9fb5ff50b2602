"""Numbers of every kernel of the corpus with the extension: close to float64, and those of stock to the bit."""

from __future__ import annotations

import pytest
from corpus import KERNELS

import tritonext
from tritonext.testing.cases import running

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def allocator():
    """Give descriptors that kernels make their memory."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


@pytest.mark.parametrize("case", KERNELS.values(), ids=str)
def test_results_are_close_to_float64(case):
    capability = "cuda:{}{}".format(*torch.cuda.get_device_capability())
    if capability not in case.targets:
        pytest.skip(f"the kernel {case} is not meant for {capability}")
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    seed = torch.seed() % 2**32
    arguments = case.arguments(seed=seed)
    tensors = running.launch(case, tritonext.use("layout:guard=false")(case.fn), arguments, processors)
    assert running.worst(case, arguments, running.results(case, arguments, tensors)) <= 1, seed
