"""Checkpoints of other projects as sparse weights: bit-exact round trips on a CPU, and what is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity import checkpoints, formats  # noqa: E402
from tritonext_sparsity.errors import OperandError  # noqa: E402
from tritonext_sparsity.formats import FormatError  # noqa: E402
from tritonext_sparsity.linear import SparseWeight24  # noqa: E402
from tritonext_sparsity.testing import sparse_matrix  # noqa: E402

ROUND_TRIPS = {
    "torch-cutlass": (
        checkpoints.to_torch_cutlass,
        lambda saved, shape: checkpoints.from_torch_cutlass(*saved),
        ("float16", "bfloat16", "float32", "int8"),
    ),
    "cusparselt-sm80": (
        lambda w: (checkpoints.to_cusparselt(w, "sm80"),),
        lambda saved, shape: checkpoints.from_cusparselt(*saved, shape, "sm80"),
        ("float16", "bfloat16"),
    ),
    "cusparselt-sm90": (
        lambda w: (checkpoints.to_cusparselt(w, "sm90"),),
        lambda saved, shape: checkpoints.from_cusparselt(*saved, shape, "sm90"),
        ("float16", "bfloat16", "int8"),
    ),
    "cutlass-sm90": (
        lambda w: checkpoints.to_cutlass_sm90(w, tile_k=64),
        lambda saved, shape: checkpoints.from_cutlass_sm90(*saved, tile_k=64),
        ("float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8"),
    ),
    "sparse-24-bitmask": (
        lambda w: tuple(checkpoints.to_bitmask(w, "up.weight").items()),
        lambda saved, shape: checkpoints.from_bitmask(dict(saved), "up.weight"),
        ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8"),
    ),
}


def tensor(bits, name):
    return torch.from_numpy(bits.view(f"int{8 * bits.itemsize}")).view(getattr(torch, name))


def weight(name, rows=128, columns=128):
    matrix = formats.compress(sparse_matrix(name, rows, columns, 3), name)
    return SparseWeight24(tensor(matrix.values, name), torch.from_numpy(matrix.meta))


def raw(value):
    return value.contiguous().flatten().view(torch.uint8)


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form, (_, _, names) in ROUND_TRIPS.items() for name in names]
)
def test_round_trips_are_exact_and_change_nothing(form, name):
    to, back, _ = ROUND_TRIPS[form]
    w = weight(name)
    saved = to(w)
    tensors = [part[1] if isinstance(part, tuple) else part for part in saved]
    before = [raw(part).clone() for part in tensors]
    read = back(saved, tuple(w.shape))
    assert (read.dtype, read.shape) == (w.dtype, w.shape)
    assert torch.equal(raw(read.values), raw(w.values))
    assert torch.equal(read.meta, w.meta)
    # The weight has memory of its own: what is loaded into it later does not reach the checkpoint.
    read.load_state_dict(weight(name).state_dict())
    raw(read.values).zero_()
    assert all(torch.equal(raw(now), then) for now, then in zip(tensors, before, strict=True))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int8"])
def test_semi_structured_tensors_of_torch(name):
    from torch.sparse import SparseSemiStructuredTensorCUSPARSELT, SparseSemiStructuredTensorCUTLASS
    from torch.sparse._semi_structured_conversions import sparse_semi_structured_from_dense_cutlass

    w = weight(name)
    dense = tensor(sparse_matrix(name, 128, 128, 3), name)
    parts = sparse_semi_structured_from_dense_cutlass(dense)
    assert all(torch.equal(raw(mine), raw(theirs)) for mine, theirs in zip(checkpoints.to_torch_cutlass(w), parts))
    theirs = SparseSemiStructuredTensorCUTLASS(dense.shape, *parts, None, None, None)
    blob = SparseSemiStructuredTensorCUSPARSELT(
        dense.shape, checkpoints.to_cusparselt(w, "sm90"), None, None, None, None
    )
    for read in (checkpoints.from_semi_structured(theirs), checkpoints.from_semi_structured(blob, "sm90")):
        assert torch.equal(raw(read.values), raw(w.values))
        assert torch.equal(read.meta, w.meta)
    with pytest.raises(OperandError, match=r"tensor is of the cuSPARSELt backend\n  expected: arch"):
        checkpoints.from_semi_structured(blob)


def test_bitmask_checkpoints_have_names_and_scales():
    w = weight("int8", 40, 64)
    state = checkpoints.to_bitmask(w, "mlp.up.weight")
    assert checkpoints.bitmask_names(state) == ["mlp.up.weight"]
    assert {key: tuple(value.shape) for key, value in state.items()} == {
        "mlp.up.weight.compressed": (40, 32),
        "mlp.up.weight.bitmask": (40, 8),
        "mlp.up.weight.shape": (2,),
    }
    factors = torch.arange(40, dtype=torch.bfloat16)
    state["mlp.up.weight_scale"] = factors[:, None]
    read = checkpoints.from_bitmask(state, "mlp.up.weight")
    assert torch.equal(read.scale, factors.float())
    assert torch.equal(checkpoints.to_bitmask(read, "up")["up_scale"], factors.float()[:, None])
    state["mlp.up.weight_scale"] = torch.tensor([0.5])
    assert torch.equal(checkpoints.from_bitmask(state, "mlp.up.weight").scale, torch.full((40,), 0.5))
    state["mlp.up.weight_scale"] = torch.ones(40, 2)
    with pytest.raises(OperandError, match=r"mlp\.up\.weight_scale is of no kind that a product has"):
        checkpoints.from_bitmask(state, "mlp.up.weight")


def test_what_does_not_fit_is_refused():
    w = weight("float16")
    packed, meta = checkpoints.to_torch_cutlass(w)
    blob = checkpoints.to_cusparselt(w, "sm90")
    values, tiles = checkpoints.to_cutlass_sm90(w)
    state = checkpoints.to_bitmask(w, "w")
    groups = SparseWeight24(w.values.view(2, 64, 64), w.meta.view(2, 64, 16))
    refusals = [
        (OperandError, lambda: checkpoints.from_torch_cutlass([1], meta), "packed is no tensor"),
        (OperandError, lambda: checkpoints.from_torch_cutlass(packed.double(), meta), "packed has a type without"),
        (OperandError, lambda: checkpoints.from_torch_cutlass(packed, None), "meta is no tensor"),
        (FormatError, lambda: checkpoints.from_torch_cutlass(packed, meta[:64]), "does not belong[^$]*where: packed"),
        (FormatError, lambda: checkpoints.from_torch_cutlass(packed, meta * 0), "code of metadata is illegal"),
        (FormatError, lambda: checkpoints.from_torch_cutlass(packed.view(torch.float8_e5m2), meta), "no such elements"),
        (FormatError, lambda: checkpoints.from_cusparselt(blob, (256, 128), "sm90"), "does not hold[^$]*where: blob"),
        (FormatError, lambda: checkpoints.from_cusparselt(blob, (128, 128), "sm75"), "cuSPARSELt's format is unknown"),
        (FormatError, lambda: checkpoints.from_cutlass_sm90(values, tiles[:-1]), "does not belong to the values"),
        (FormatError, lambda: checkpoints.from_cutlass_sm90(values, tiles, tile_k=96), "no such tile"),
        (OperandError, lambda: checkpoints.from_semi_structured(packed), "tensor is not of semi-structured sparsity"),
        (OperandError, lambda: checkpoints.from_bitmask(state, "v"), "the checkpoint has no v.compressed[^$]*found: w"),
        (FormatError, lambda: checkpoints.from_bitmask(state | {"w.bitmask": state["w.bitmask"] | 7}, "w"), "not 2:4"),
        (FormatError, lambda: checkpoints.from_bitmask(state | {"w.bitmask": meta}, "w"), "a bitmask does not belong"),
        (FormatError, lambda: checkpoints.from_bitmask(state | {"w.shape": torch.ones(2)}, "w"), "shape differs"),
        (OperandError, lambda: checkpoints.to_bitmask(groups, "w"), "checkpoints hold no weight of groups"),
        (OperandError, lambda: checkpoints.to_torch_cutlass(packed), "w is no sparse weight"),
        (FormatError, lambda: checkpoints.to_torch_cutlass(weight("float16", 40, 64)), "does not fill the blocks"),
    ]
    for kind, call, match in refusals:
        with pytest.raises(kind, match=match):
            call()
