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


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("backend", ["CUTLASS", "cuSPARSELt"])
def test_kernels_of_torch_make_the_same_metadata(name, backend):
    """PyTorch's own kernel writes the order that cuSPARSELt has on GPUs of compute capability 8.x, on any GPU."""
    from tritonext_sparsity import checkpoints
    from tritonext_sparsity.linear import SparseWeight24
    from tritonext_sparsity.prune import prune

    # That kernel prunes blocks of 4 x 4, and leaves alone what is sparse in both directions.
    dense = prune(torch.randn((256, 384), device="cuda").to(getattr(torch, name)), transposable=True)
    w = SparseWeight24.from_dense(dense)
    packed, meta, *_ = torch._sparse_semi_structured_tile(dense, "largest_abs_values_greedy", backend == "CUTLASS")
    if backend == "CUTLASS":
        ours, words = checkpoints.to_torch_cutlass(w)
        assert torch.equal(packed.view(torch.int16), ours.view(torch.int16))
        # Their tensor has strides of its own: what counts is memory.
        memory = meta.as_strided((meta.untyped_storage().nbytes() // 2,), (1,), 0)
        assert torch.equal(memory, words.flatten())
        read = checkpoints.from_torch_cutlass(packed, memory)
    else:
        ours = checkpoints.to_cusparselt(w, "sm80").flatten().view(torch.int16)
        assert torch.equal(packed.flatten().view(torch.int16)[: ours.numel()], ours)
        read = checkpoints.from_cusparselt(packed, tuple(dense.shape), "sm80")
    assert torch.equal(read.to_dense(), dense)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_torchao_makes_the_same_tensors(name):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("these kernels of torchao need a GPU of compute capability 9.0")
    ops = pytest.importorskip("torchao.ops", reason="torchao is not installed")
    from tritonext_sparsity import checkpoints
    from tritonext_sparsity.linear import SparseWeight24

    w = SparseWeight24.from_dense(torch.randn((384, 1152), device="cuda").to(getattr(torch, name)), prune="magnitude")
    theirs = ops.to_sparse_semi_structured_cutlass_sm9x_f8(w.to_dense())
    for mine, given in zip(checkpoints.to_cutlass_sm90(w), theirs, strict=True):
        assert torch.equal(mine.view(torch.uint8).flatten(), given.view(torch.uint8).flatten())
    read = checkpoints.from_cutlass_sm90(*theirs)
    assert torch.equal(read.meta, w.meta)
