"""The GEMM that is one source for all targets: what each makes of it, and its numbers in the simulator."""

import importlib.util
import pathlib
import re

import pytest

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_portable.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("gemm_portable", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("target", "copy", "product", "count"),
    [
        ("cuda:80", "cp.async.cg", "mma.sync.aligned.m16n8k16", 64),
        ("cuda:90", "cp.async.cg", "wgmma.mma_async", 4),
        ("cuda:100", "cp.async.cg", "tcgen05.mma", 4),
        ("hip:gfx942", "global_load_dwordx4", "v_mfma_f32_32x32x8_f16", 8),
        ("hip:gfx950", "global_load_lds_dwordx4", "v_mfma_f32_32x32x16_f16", 8),
    ],
)
def test_instructions(example, target, copy, product, count):
    found = example.instructions(target, example.compile_for(target))
    assert found[copy] >= 4
    # The loop may be unrolled, so that its products are there more than once.
    assert found[product] in (count, 2 * count, 3 * count)
    others = {"ds_write_b128"} if target == "hip:gfx942" else set()
    assert set(found) == {copy, product} | others


def test_hopper_leaves_one_product_and_two_groups_under_way(example):
    ptx = example.compile_for("cuda:90").asm["ptx"]
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx) == ["2", "0"]
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned (\d+)", ptx) == ["1", "0"]


def test_blackwell_keeps_the_accumulator_in_tensor_memory(example):
    """The product reads the slots themselves, and nothing but its start and its end touches the accumulator."""
    text = example.compile_for("cuda:100").asm["ttgir"]
    loop = text[text.index("scf.for") : text.index("tt.num_stages")]
    assert re.findall(r"ttng\.(tmem\w+|tc_gen5_mma) ", loop) == ["tc_gen5_mma"]
    assert "ttg.local_load" not in loop
    assert text.count("ttng.tmem_alloc") == text.count("ttng.tmem_load") == 1


def test_gfx950_leaves_two_groups_under_way(example):
    text = example.compile_for("hip:gfx950").asm["amdgcn"]
    # A thread copies 16 bytes of A and of B in each of two instructions.
    assert set(re.findall(r"s_waitcnt vmcnt\((\d+)\)", text)) == {"8", "0"}


def test_numbers(example):
    np = pytest.importorskip("numpy", reason="the simulator needs numpy")
    random = np.random.default_rng(0)
    tile = example.TILE | {"BM": 64, "BN": 64, "BK": 32}
    m, n, k = 96, 80, 128
    a, b = (random.standard_normal((size, k)).astype(np.float16) for size in (m, n))
    c = np.full((m, n), np.nan, np.float16)
    grid = (-(-m // tile["BM"]) * -(-n // tile["BN"]),)
    report = tlx.simulate(example.gemm, grid, a, b, c, m, n, k, **tile, num_warps=8)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-2, atol=1e-2)
    assert report.operations["async_dot"] == 4 * k // tile["BK"]


def test_example_runs_without_a_gpu(example, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gemm_portable.py", "cuda:100"])
    example.main()
    assert re.search(
        r"cuda:100 +\d+ bytes of shared memory: cp.async.cg x \d+, tcgen05.mma x \d+", capsys.readouterr().out
    )
