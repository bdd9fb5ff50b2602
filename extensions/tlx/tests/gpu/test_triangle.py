"""Numbers of the triangle multiplicative update against float64."""

from __future__ import annotations

import importlib
import pathlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("triangle")


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 2e-3), (torch.bfloat16, 1.6e-2)], ids=str)
@pytest.mark.parametrize("incoming", [False, True], ids=["outgoing", "incoming"])
@pytest.mark.parametrize(
    ("batches", "n", "channels", "masked", "residual"),
    [(1, 256, 128, True, False), (2, 131, 128, True, True), (1, 300, 128, False, False), (3, 65, 64, True, False)],
)
def test_update(example, batches, n, channels, masked, residual, incoming, dtype, tolerance):
    generator = torch.Generator("cuda").manual_seed(n)
    shape = (batches, n, n, channels)
    x = (2 * torch.randn(shape, generator=generator, device="cuda") + 0.5).to(dtype)
    mask = torch.rand(shape[:3], generator=generator, device="cuda").to(dtype) if masked else None
    weights = example.random_weights(channels, dtype, generator)
    wide = example.Weights(**{name: value.double() for name, value in vars(weights).items()})
    reference = example.in_torch(x.double(), wide, incoming, None if mask is None else mask.double())
    if residual:
        reference += x.double()
    # Pairs behind the end show what is written there.
    memory = torch.empty((x.numel() + 512 * channels,), device="cuda", dtype=dtype)
    out = memory[: x.numel()].view(shape)
    epilogue, other = (example.add, x) if residual else (example.plain, None)
    launch = example.prepare(x, weights, out, incoming, mask, epilogue=epilogue, other=other)
    for _ in range(3):
        memory.fill_(float("nan"))
        launch()
        error = (out.double() - reference).abs().max() / reference.abs().max()
        assert error.item() <= tolerance
        assert bool(memory[x.numel() :].isnan().all())


def test_what_does_not_fit_is_refused(example):
    weights = example.random_weights(128, torch.float16)
    x = torch.empty((1, 8, 8, 128), device="cuda", dtype=torch.float16)
    with pytest.raises(ValueError, match=r"expected shapes B x N x N x C with C of 64 or 128, got \(1, 8, 7, 128\)"):
        example.prepare(x[:, :, :7], weights, x)
    with pytest.raises(ValueError, match="expected p_in of 128 x 64, got"):
        example.prepare(x[..., :64], weights, x[..., :64])
    with pytest.raises(ValueError, match="expected a mask of"):
        example.prepare(x, weights, x, mask=x)
    with pytest.raises(ValueError, match="expected another tensor of"):
        example.prepare(x, weights, x, epilogue=example.add, other=x[:, :4])
