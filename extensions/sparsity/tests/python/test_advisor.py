"""The advisor's choices from tables, and the tables that are shipped."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext_sparsity import advisor, tune
from tritonext_sparsity.advisor import Kernel, Table
from tritonext_sparsity.errors import OperandError

DATA = {
    "device": "Test GPU",
    "commit": "abc",
    "shapes": [
        {
            "dtype": "bfloat16",
            "features": 4096,
            "depth": 4096,
            "tokens": {
                "1024": {"us": {"dense": 100, "portable": 120, "hopper": 80}, "tiles": {"hopper": {"block_n": 128}}},
                "16": {"us": {"dense": 10, "portable": 9, "hopper": 20}, "tiles": {"hopper": {"block_n": 16}}},
                "4096": {"us": {"dense": 400, "portable": 480, "hopper": 260}, "tiles": {"hopper": {"block_n": 128}}},
            },
        }
    ],
}


@pytest.fixture
def table(tmp_path):
    tune.write(DATA, tmp_path)
    path = tmp_path / "test-gpu.json"
    assert len(json.loads(path.read_text())["tiles"]) == 2
    return Table.read(path)


def test_times_between_and_beyond(table):
    (shape,) = table.shapes
    assert shape.time(Kernel.DENSE, 16) == 10
    assert shape.time(Kernel.DENSE, 15) is None
    assert shape.time(Kernel.DENSE, 1024) == 100
    assert shape.time(Kernel.DENSE, 2048) == pytest.approx(200)
    assert shape.time(Kernel.DENSE, 8192) == pytest.approx(800)
    assert shape.config(Kernel.HOPPER, 16) == {"block_n": 16}
    assert shape.config(Kernel.HOPPER, 17) == {"block_n": 128}
    assert shape.config(Kernel.HOPPER, 10**6) == {"block_n": 128}
    assert shape.config(Kernel.PORTABLE, 16) is None
    assert shape.bounds(Kernel.HOPPER, 15) is None
    assert shape.bounds(Kernel.HOPPER, 16) == (20, 20)
    assert shape.bounds(Kernel.HOPPER, 17) == (20, 80)
    assert shape.bounds(Kernel.HOPPER, 8192) == (520, 520)


@pytest.mark.parametrize(
    ("tokens", "kernels", "kernel", "speedup"),
    [
        (16, tuple(Kernel), Kernel.PORTABLE, 10 / 9),
        (1024, tuple(Kernel), Kernel.HOPPER, 1.25),
        (1024, (Kernel.DENSE, Kernel.PORTABLE), Kernel.DENSE, 100 / 120),
        (1024, (Kernel.PORTABLE,), Kernel.PORTABLE, 100 / 120),
        (4096, (Kernel.PORTABLE, Kernel.HOPPER), Kernel.HOPPER, 400 / 260),
    ],
)
def test_choice(table, tokens, kernels, kernel, speedup):
    advice = table.advise("bfloat16", tokens, 4096, 4096, kernels)
    assert advice.kernel is kernel
    assert advice.speedup == pytest.approx(speedup)
    assert advice.helps is (speedup > 1)
    assert str(advice) == f"{kernel.value}, sparse {speedup:.2f}x of dense (Test GPU, bfloat16 4096 x 4096)"
    assert table.advise("float16", tokens, 4096, 4096, kernels) == advice


def test_dense_where_bounds_or_likeness_leave_it_open(table):
    # Between 100 and 400 us, against 80 to 260.
    assert table.advise("bfloat16", 2048, 4096, 4096, Kernel).kernel is Kernel.DENSE
    assert table.advise("bfloat16", 2048, 4096, 4096, Kernel).speedup == pytest.approx((100 * 400 / 80 / 260) ** 0.5)
    assert table.advise("bfloat16", 16, 4096, 5120, Kernel).kernel is Kernel.DENSE
    assert table.advise("bfloat16", 1024, 4096, 5120, Kernel).kernel is Kernel.HOPPER


@pytest.mark.parametrize(
    ("dtype", "features", "depth"), [("int8", 4096, 4096), ("bfloat16", 64, 4096), ("bfloat16", 1024, 16384)]
)
def test_unlike_shapes_are_not_known(table, dtype, features, depth):
    advice = table.advise(dtype, 1024, features, depth, Kernel)
    assert advice.speedup is None
    assert advice.helps is None
    assert advice.kernel is Kernel.DENSE
    assert str(advice) == f"not known: no such {dtype} weight was measured on Test GPU"
    assert table.advise(dtype, 1024, features, depth, [Kernel.PORTABLE, Kernel.HOPPER]).kernel is Kernel.HOPPER


def test_fewer_tokens_are_not_known(table):
    advice = table.advise("bfloat16", 2, 4096, 4096, Kernel)
    assert advice.kernel is Kernel.DENSE
    assert str(advice) == "not known: no product of 2 tokens was measured on Test GPU"


def test_unknown_device():
    advice = advisor.advise("No Such GPU", "bfloat16", 1, 4096, 4096)
    assert (advice.kernel, advice.speedup, advice.basis) == (Kernel.DENSE, None, "no table for No Such GPU")


@pytest.mark.parametrize("argument", ["tokens", "features", "depth"])
def test_layers_of_no_size_are_refused(argument):
    sizes = {"tokens": 512, "features": 4096, "depth": 4096, argument: 0}
    with pytest.raises(OperandError, match=f"no such size\n.*argument {argument}"):
        advisor.advise("NVIDIA H200", "bfloat16", **sizes)


def test_shipped_tables():
    paths = list(advisor.TUNED.glob("*.json"))
    if not paths:
        pytest.skip("no table is shipped")
    for path in paths:
        table = Table.read(path)
        assert advisor.table_of(table.device) == table
        for shape in table.shapes:
            assert list(shape.times) == sorted(shape.times)
            for tokens, times in shape.times.items():
                assert Kernel.DENSE in times
                assert all(us > 0 for us in times.values())
                chosen = table.advise(shape.dtype, tokens, shape.features, shape.depth, Kernel).kernel
                # What is chosen is at most two percent slower than dense.
                assert times[chosen] <= 1.02 * times[Kernel.DENSE]
