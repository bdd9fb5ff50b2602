"""Compression, pruning and their inverses on a GPU against the reference of the format."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity import formats  # noqa: E402
from tritonext_sparsity.compress import compress, decompress, validate, validate_metadata  # noqa: E402
from tritonext_sparsity.elements import ELEMENTS  # noqa: E402
from tritonext_sparsity.errors import OperandError  # noqa: E402
from tritonext_sparsity.formats import FormatError  # noqa: E402
from tritonext_sparsity.prune import prune  # noqa: E402

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
NAMES = ("float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")
SHAPES = ((1, 1), (3, 5), (129, 40), (64, 512), (1000, 33))
LAYOUTS = ("plain", "transposed", "row slice", "offset", "every other column")
INTEGERS = {8: torch.uint8, 16: torch.int16, 32: torch.int32}


def bits(tensor):
    """The bits of a tensor as an array."""
    element = ELEMENTS[str(tensor.dtype).removeprefix("torch.")]
    return tensor.contiguous().view(INTEGERS[element.bits]).cpu().numpy().view(element.storage)


def laid_out(dense: torch.Tensor, layout: str) -> torch.Tensor:
    """Return an equal tensor of a layout in memory."""
    rows, columns = dense.shape
    if layout == "plain":
        return dense.clone()
    if layout == "transposed":
        return dense.T.contiguous().T
    offset, width, step = {
        "row slice": (0, columns + 8, 1),
        "offset": (1, columns + 3, 1),
        "every other column": (0, 2 * columns, 2),
    }[layout]
    memory = torch.zeros(offset + rows * width, dtype=dense.dtype, device=dense.device)
    result = memory.as_strided((rows, columns), (width, step), offset)
    result.copy_(dense)
    return result


def random(name: str, rows: int, columns: int, share: float, generator: torch.Generator) -> torch.Tensor:
    """Return a matrix of random bits with about this share of zeros, of both signs."""
    element = ELEMENTS[name]
    raw = torch.randint(
        0, 256, (rows, columns, element.bits // 8), dtype=torch.uint8, device=DEVICE, generator=generator
    )
    raw = raw.view(INTEGERS[element.bits])[..., 0]
    kind = torch.rand((rows, columns), device=DEVICE, generator=generator)
    raw[kind < share] = 0
    if element.is_float:
        raw[kind < share / 2] = torch.iinfo(raw.dtype).min if element.bits > 8 else 128
    return raw.contiguous().view(getattr(torch, name))


@pytest.mark.parametrize("name", NAMES)
def test_against_the_reference(name):
    generator = torch.Generator(DEVICE).manual_seed(1)
    element = ELEMENTS[name]
    for (rows, groups), layout in itertools.product(SHAPES, LAYOUTS):
        columns = groups * element.columns_per_byte
        full = random(name, rows, columns, 0.3, generator)
        x = laid_out(full, layout)
        before = bits(x).copy()
        expected = formats.compress(before, name, pruned=True)
        kept = element.is_nonzero(expected.values)
        for values, meta in (compress(x, prune=True), compress(prune(x)), compress(prune(x), check=False)):
            assert np.array_equal(meta.cpu().numpy(), expected.meta), (rows, groups, layout)
            assert np.array_equal(bits(values)[kept], expected.values[kept]), (rows, groups, layout)
            assert not element.is_nonzero(bits(values)[~kept]).any()
        assert np.array_equal(bits(x), before)
        validate_metadata(meta, x.dtype)
        dense = decompress(values, meta)
        validate(dense)
        assert np.array_equal(
            bits(dense), formats.decompress(formats.CompressedMatrix(bits(values), expected.meta, name))
        )


@pytest.mark.parametrize("name", NAMES)
def test_scores(name):
    generator = torch.Generator(DEVICE).manual_seed(2)
    element = ELEMENTS[name]
    for (rows, groups), layout, dtype in itertools.product(SHAPES, LAYOUTS[:2], (torch.float32, torch.bfloat16)):
        columns = groups * element.columns_per_byte
        x = laid_out(random(name, rows, columns, 0.1, generator), layout)
        scores = torch.randn((rows, columns), device=DEVICE, generator=generator).to(dtype)
        expected = formats.prune(bits(x), name, scores.float().cpu().numpy())
        nonzero = element.is_nonzero(expected)
        for given in (scores, scores.T.contiguous().T):
            pruned = bits(prune(x, scores=given))
            assert np.array_equal(element.is_nonzero(pruned), nonzero)
            assert np.array_equal(pruned[nonzero], expected[nonzero])
        values, meta = compress(x, scores=scores)
        again = bits(decompress(values, meta))
        assert np.array_equal(element.is_nonzero(again), nonzero)
        assert np.array_equal(again[nonzero], expected[nonzero])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "int8"])
def test_transposable(name):
    generator = torch.Generator(DEVICE).manual_seed(3)
    x = random(name, 1028, 1032, 0.1, generator)
    for given in (None, torch.randn(x.shape, device=DEVICE, generator=generator)):
        pruned = prune(x, scores=given, transposable=True)
        validate(pruned)
        validate(pruned.T[:, :1024])
        raw, kept = bits(x), bits(pruned)
        nonzero = ELEMENTS[name].is_nonzero(kept)
        assert np.array_equal(raw[nonzero], kept[nonzero])
        # A tenth is zero, and a half of the rest stays when scores ignore that.
        assert nonzero.mean() > 0.42


@pytest.mark.parametrize("name", NAMES)
def test_too_many_are_an_error(name):
    element = ELEMENTS[name]
    x = torch.zeros((40, 64), device=DEVICE).to(getattr(torch, name))
    x[17, 40 : 41 + element.group // 2] = 1
    match = (
        rf"x is not {element.group // 2}:{element.group} sparse\n  where: x\[17, 40:{40 + element.columns_per_byte}\]"
    )
    for given in (x, x.T.contiguous().T):
        with pytest.raises(FormatError, match=match):
            compress(given)
        with pytest.raises(FormatError, match=match):
            validate(given)
    _, meta = compress(x, check=False)
    with pytest.raises(FormatError, match=r"meta holds a code that no instruction accepts\n  where: meta\[17, "):
        validate_metadata(meta, x.dtype)


def test_what_does_not_fit_is_refused():
    x = torch.zeros((8, 16), device=DEVICE, dtype=torch.float16)
    values, meta = compress(x)
    refusals = [
        (lambda: compress(x[:, :12]), "the columns of x do not fill the metadata\n  expected: a multiple of 8 columns"),
        (lambda: compress(x[0]), "x has the wrong number of dimensions\n  expected: 2"),
        (lambda: compress(x.double()), "x has a type without a compressed form"),
        (lambda: compress(x.tolist()), "x is no tensor"),
        (lambda: compress(x, scores=x[:4]), r"scores do not fit to x\n  expected: shape \(8, 16\)"),
        (lambda: prune(x, scores=x.double()), "scores has the wrong type"),
        (lambda: prune(x[:6], transposable=True), "x has no transposable masks"),
        (lambda: prune(x.float(), transposable=True), "x has no transposable masks"),
        (lambda: decompress(values, meta[:4]), "meta does not fit to values"),
        (lambda: decompress(values, meta.int()), "meta has the wrong type"),
        (lambda: decompress(values[:, :6], meta), "meta does not fit to values"),
        (lambda: validate_metadata(values, x.dtype), "meta has the wrong type"),
        (lambda: validate_metadata(meta, torch.int64), "dtype has a type without a compressed form"),
    ]
    for call, match in refusals:
        with pytest.raises(OperandError, match=match):
            call()
    if DEVICE != "cpu":
        with pytest.raises(OperandError, match="x is not on a GPU"):
            compress(x.cpu())
        with pytest.raises(OperandError, match="scores is not on a GPU"):
            prune(x, scores=x.cpu())


def test_empty():
    x = torch.zeros((0, 16), device=DEVICE, dtype=torch.bfloat16)
    values, meta = compress(x)
    assert (values.shape, meta.shape, decompress(values, meta).shape) == ((0, 8), (0, 2), (0, 16))
    assert prune(x).shape == x.shape
    validate(x)
    validate_metadata(meta, x.dtype)
