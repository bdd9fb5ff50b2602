"""The example of a warp-specialized GEMM: its machine code."""

import importlib.util
import pathlib
import re

import pytest

from tritonext.inspect_code import stats
from tritonext.testing import run_python

pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_tasks.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("gemm_tasks", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("tile", [{}, {"BM": 128, "BN": 128, "STAGES": 4}, {"BM": 64, "GROUPS": 1, "STAGES": 2}])
def test_copies_barriers_and_products_overlap(example, tile):
    result = example.compile_for(**tile)
    groups = tile.get("GROUPS", 2)
    ptx = result.asm["ptx"]
    producer, *consumers = re.split(r"setmaxnreg\.\w+\.sync\.aligned\.u32 \t?232;", ptx)
    assert len(consumers) == groups
    assert producer.count("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier") == 1 + groups
    assert producer.count("mbarrier.arrive.expect_tx") == 1 + groups
    for consumer in consumers:
        # One product goes on while the next one is started.
        assert re.search(r"wgmma\.wait_group\.sync\.aligned \t?1;", consumer)
        assert re.search(r"wgmma\.wait_group\.sync\.aligned \t?0;", consumer)
        assert consumer.count("mbarrier.try_wait") == 2
        assert len(re.findall(r"mbarrier\.arrive\.shared", consumer)) == 2
        assert consumer.count("cp.async.bulk.tensor.2d.global.shared") == 1
    assert result.metadata.num_warps == 4 + 4 * groups
    assert stats(result).spills == 0


def test_products_are_not_made_synchronous(example):
    sass = example.compile_for().asm["sass"]
    # ptxas puts a wait for everything behind each product whose accumulator it sees touched in between.
    assert re.findall(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x([1-9])", sass) == ["1", "1"]
    assert sass.count("WARPGROUP.ARRIVE") == 2
    assert sass.count("HGMMA.64x256x16.F32") == 8


def test_the_script_runs_without_a_gpu():
    done = run_python(EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^tile copies +3$", done.stdout, re.MULTILINE)
    assert re.search(r"^MMA instructions +8$", done.stdout, re.MULTILINE)
