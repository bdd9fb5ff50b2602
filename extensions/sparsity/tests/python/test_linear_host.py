"""Sparse weights of the host API on a CPU: state, memory, orders of registers, and what is refused without a GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from torch import nn  # noqa: E402

from tritonext_sparsity import formats  # noqa: E402
from tritonext_sparsity.errors import OperandError  # noqa: E402
from tritonext_sparsity.formats import FormatError  # noqa: E402
from tritonext_sparsity.linear import (  # noqa: E402
    MemoryReport,
    SparseLinear24,
    SparseWeight24,
    packed_metadata,
    sparse_linear,
    sparsified,
    sparsify_,
)


def weight(rows: int, columns: int, seed: int = 0, **keywords) -> SparseWeight24:
    dense = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float16)
    matrix = formats.compress(dense, pruned=True)
    return SparseWeight24(torch.from_numpy(matrix.values), torch.from_numpy(matrix.meta), **keywords)


def test_state_has_the_canonical_form_and_its_version():
    first, second = weight(40, 64, scale=torch.ones(40), keep_dense=True), weight(40, 64, 1, scale=torch.zeros(40))
    state = first.state_dict()
    assert set(state) == {"values", "meta", "scale", "_extra_state"}
    assert state["_extra_state"] == {"format": formats.FORMAT_VERSION}
    second.load_state_dict(state)
    assert all(torch.equal(getattr(first, name), getattr(second, name)) for name in ("values", "meta", "scale"))
    state["_extra_state"] = {"format": 2}
    with pytest.raises(FormatError, match="another version of the format\n  expected: 1\n  found: 2"):
        second.load_state_dict(state)


def test_description_and_memory():
    w = weight(40, 64, scale=torch.ones(40))
    assert (w.shape, w.dtype, w.device.type) == ((40, 64), torch.float16, "cpu")
    assert w.memory() == MemoryReport(dense=5120, values=2560, meta=320, scale=160)
    assert str(w.memory()) == "3,040 bytes (values 2,560, meta 320, scale 160), 59.4% of the dense 5,120"
    assert (w.memory() + w.memory()).total == 6080
    assert "shape=(40, 64), dtype=torch.float16" in repr(w)


def test_changes_of_the_type_keep_the_form():
    w = weight(40, 64, scale=torch.full((40,), 1 / 3))
    moved = nn.Sequential(w).to(torch.bfloat16)[0]
    assert (moved.dtype, moved.meta.dtype) == (torch.bfloat16, torch.uint8)
    assert torch.equal(moved.scale, torch.full((40,), 1 / 3))
    for dtype in (torch.float32, torch.float64):
        with pytest.raises(OperandError, match=f"a sparse weight of torch.bfloat16 does not become one of {dtype}"):
            moved.to(dtype)
    assert moved.values.dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", ["float16", "float8_e4m3fn", "int8"])
@pytest.mark.parametrize("shape", [(64, 64), (40, 72), (200, 136)])
def test_metadata_in_the_order_of_registers(dtype, shape):
    rows, columns = shape
    rng = np.random.default_rng(0)
    meta = rng.choice(np.array([0x44, 0x8C, 0xE9, 0xD4], np.uint8), (rows, columns // 8))
    whole = np.full((-(-rows // 64) * 64, -(-columns // 64) * 8), 0x44, np.uint8)
    whole[:rows, : columns // 8] = meta
    packed = packed_metadata(torch.from_numpy(meta), getattr(torch, dtype))
    assert np.array_equal(packed.numpy(), formats.wgmma_orders(dtype).meta.pack(whole))


def test_what_does_not_fit_is_refused():
    w = weight(32, 64)
    values, meta = w.values, w.meta
    refusals = [
        (lambda: SparseWeight24(values[0], meta), "values are no matrix"),
        (lambda: SparseWeight24(values.double(), meta), "values has a type without a compressed form"),
        (lambda: SparseWeight24(values, meta[0]), "meta does not fit to values"),
        (lambda: SparseWeight24(values, meta[:, :4]), "meta does not fit to values"),
        (lambda: SparseWeight24(values, meta.int()), "meta has the wrong type"),
        (lambda: SparseWeight24(values, meta, torch.ones(31)), "scale does not fit to values"),
        (lambda: SparseWeight24(values.char(), meta, keep_dense=True), "PyTorch has no dense product to choose"),
        (lambda: SparseWeight24.from_dense(torch.zeros(8)), "weight is no matrix"),
        (lambda: SparseWeight24.from_dense(torch.zeros(8, 8), prune="some"), "prune is unknown"),
        (lambda: SparseWeight24.from_dense(torch.zeros(8, 8)), "weight is not on a GPU"),
        (lambda: sparse_linear(torch.zeros(4, 64).half(), w), "the weight is not on a GPU"),
        (lambda: sparse_linear(torch.zeros(4, 64).half(), values), "w is no sparse weight"),
        (lambda: sparse_linear(torch.zeros(4, 32).half(), w), "x has other columns than the weight"),
        (lambda: sparse_linear(torch.zeros(4, 64), w), "x has another type than the weight"),
        (lambda: sparse_linear(torch.zeros(4, 64).half(), w, activation="tanh"), "activation is unknown"),
        (lambda: sparsify_(nn.Sequential(nn.ReLU())), "no layer was chosen"),
        (lambda: sparsify_(nn.Sequential(nn.Linear(8, 8))), "weight is not on a GPU\n  where: layer 0"),
    ]
    for call, match in refusals:
        with pytest.raises(OperandError, match=match):
            call()


def test_a_backward_pass_is_refused(monkeypatch):
    monkeypatch.setattr("tritonext_sparsity.advisor.check_device", lambda device, dtype: None)
    w = weight(32, 64).to("meta")
    x = torch.zeros(4, 64, dtype=torch.float16, device="meta", requires_grad=True)
    bias = torch.zeros(32, device="meta", requires_grad=True)
    for result in (sparse_linear(x, w), sparse_linear(x.detach(), w, bias)):
        with pytest.raises(OperandError, match="a product with a sparse weight has no backward pass"):
            result.sum().backward()


def test_an_error_leaves_the_module_as_it_was():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    layers = list(model)
    with pytest.raises(OperandError):
        sparsify_(model)
    with pytest.raises(OperandError):
        sparsified(model)
    assert list(model) == layers


def test_layer_in_the_place_of_a_dense_one():
    bias = torch.ones(32)
    layer = SparseLinear24(weight(32, 64), bias)
    assert (layer.in_features, layer.out_features) == (64, 32)
    bias.zero_()
    assert layer.bias.sum() == 32
    assert set(layer.state_dict()) == {"bias", "weight.values", "weight.meta", "weight._extra_state"}
