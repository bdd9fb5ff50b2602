"""Formats of libraries that only run on a GPU, against what they make."""

from __future__ import annotations

import numpy as np
import pytest

from tritonext_sparsity import formats
from tritonext_sparsity.elements import element
from tritonext_sparsity.testing import sparse_matrix

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int8"])
@pytest.mark.parametrize("shape", [(128, 128), (256, 384), (1024, 512)])
def test_cusparselt_makes_the_same_blob(name, shape):
    """Bytes of ``torch._cslt_compress``; groups with fewer than two non-zeros may have codes of its choice."""
    if not torch.backends.cusparselt.is_available():
        pytest.skip("this torch has no cuSPARSELt")
    arch = {8: "sm80", 9: "sm90"}.get(torch.cuda.get_device_capability()[0])
    if arch is None:
        pytest.skip("the order of cuSPARSELt's metadata is known for compute capability 8.x and 9.0")
    if name == "int8" and arch == "sm80":
        pytest.skip("the order of cuSPARSELt's metadata of int8 is known for compute capability 9.0")
    for full in (True, False):
        dense = sparse_matrix(name, *shape, seed=int(np.random.default_rng().integers(1 << 31)), full=full)
        kind = element(name)
        bits = torch.from_numpy(dense.view(f"int{kind.bits}"))
        blob = torch._cslt_compress(bits.cuda().view(getattr(torch, name))).view(bits.dtype).cpu().numpy()
        blob = blob.view(kind.storage).reshape(-1)
        matrix = formats.from_cusparselt(blob, shape, arch, name)
        np.testing.assert_array_equal(kind.decode(formats.decompress(matrix)), kind.decode(dense))
        if full:
            ours = formats.to_cusparselt(formats.compress(dense, name), arch)
            np.testing.assert_array_equal(blob[: ours.size], ours)
