"""Clusters launched by the option of published TLX."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def compat():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters need a GPU of compute capability 9.0")
    with tlx.install_compat():
        yield


@triton.jit
def places(program, rank, size):
    block = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    tl.store(program + block, tl.program_id(0))
    tl.store(rank + block, tlx.cluster_cta_rank())
    tl.store(size + block, tlx.cluster_size_1d())


@pytest.mark.parametrize("blocks", [1, 2, 4, 8])
def test_each_block_is_a_program_of_its_own(blocks):
    program, rank, size = (torch.full((3, 16), -1, dtype=torch.int32, device="cuda") for _ in range(3))
    places[(16, 3)](program, rank, size, ctas_per_cga=(blocks, 1, 1))
    expected = torch.arange(16, dtype=torch.int32).expand(3, 16)
    assert torch.equal(program.cpu(), expected)
    assert torch.equal(rank.cpu(), expected % blocks)
    assert torch.equal(size.cpu(), torch.full_like(expected, blocks))
