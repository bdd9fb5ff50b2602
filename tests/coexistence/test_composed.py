"""Extensions in pairs and all together, loaded and activated in both orders: each has its effect, on one kernel.

What a kernel computes under them is checked where its TTGIR can be simulated, and on a GPU.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import pathlib
import re

import pytest

from tritonext import registry
from tritonext.testing import run_python, simulator

SCRIPT = pathlib.Path(__file__).with_name("composed.py")
EXTENSIONS = ("layout", "profiler", "sparsity", "tlx", "warpspec")
# Kernels in which both of a pair have something to do; one with ops of an extension where it has ops.
KERNELS = {
    pair: {0: "loops", 1: "sparse", 2: "tasks", 3: "sparse_tasks"}[("sparsity" in pair) + 2 * ("tlx" in pair)]
    for pair in itertools.combinations(EXTENSIONS, 2)
}
# Stock Triton would specialize a loop that asks for it.
GROUPS = {
    **KERNELS,
    ("layout", "profiler"): "plain",
    ("layout", "profiler", "warpspec"): "loops",
    EXTENSIONS: "sparse_tasks",
}

pytestmark = pytest.mark.skipif(
    not set(EXTENSIONS) <= registry.installed().keys(), reason="not every extension is installed"
)


def name_of(group):
    return "all" if group == EXTENSIONS else "+".join(group)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What each group makes of its kernel, loaded and activated in alphabetical and in the opposite order."""
    place = tmp_path_factory.mktemp("composed")
    orders = [(group, order) for group in GROUPS for order in (group, group[::-1])]
    # The guard may prefer the kernel without, which says nothing of how the passes get on.
    used = {"layout": "layout:guard=false:min-barriers=1"}
    cases = [
        {"load": order, "use": [used.get(name, name) for name in order], "kernel": GROUPS[group]}
        for group, order in orders
    ]
    (place / "cases.json").write_text(json.dumps(cases))
    # A kernel from the cache of another order would be no other compilation.
    environment = {"TRITON_CACHE_DIR": str(place / "cache"), "TRITON_ALWAYS_COMPILE": "1"}
    done = run_python(SCRIPT, str(place / "cases.json"), str(place), environment=environment, timeout=600)
    assert done.returncode == 0, done
    found = {group: [] for group in GROUPS}
    for index, (group, _) in enumerate(orders):
        found[group].append(json.loads((place / f"{index}.json").read_text()))
    return found


@pytest.mark.parametrize("group", GROUPS, ids=name_of)
def test_each_extension_has_its_effect_in_either_order(results, group):
    one, other = results[group]
    assert one == other
    ttgir, ptx = one["ttgir"], one["ptx"]
    stores = re.findall(r"tt\.store .*(#\w+)> loc", ttgir)
    assert len(stores) == 1
    # The layout that the store has, which is linear where the pass chose it.
    chosen = re.search(rf"^{stores[0]} = #ttg\.(\w+)", ttgir, re.MULTILINE)[1]
    assert chosen == ("linear" if "layout" in group else "blocked")
    has_tasks = "tlx" in group or GROUPS[group] == "loops"
    assert ttgir.count("partition0(") == has_tasks
    assert one["warps"] == (8 if has_tasks else 4)
    assert ("wgmma.mma_async.sp" in ptx) == ("sparsity" in group)
    assert "wgmma.mma_async" in ptx
    assert (one["reads of the clock"] > 0) == (one["table"] is not None) == ("profiler" in group)
    assert one["spills"] == 0
    if "warpspec" in group:
        assert ("warpspec-specialize-loops applied" in one["remarks"]) == (GROUPS[group] == "loops")


@pytest.mark.parametrize("group", [group for group in GROUPS if "profiler" in group], ids=name_of)
def test_records_name_what_other_extensions_made(results, group):
    table = results[group][0]["table"]
    found = {}
    for region in table["regions"]:
        found.setdefault(region["category"], []).append(region)
    # A product is one region: of a sparse one not each instruction, which it is lowered to behind the records.
    inside = [region for region in found["mma_issue"] if region["loop"] >= 0]
    assert len(inside) == 1
    assert {"global_store", "mma_wait"} <= found.keys()
    names = {role["name"] for role in table["roles"]}
    assert ("partition0" in names) == (GROUPS[group] not in ("plain", "sparse"))
    if "partition0" in names:
        assert {"copy_issue", "mbarrier_wait"} <= found.keys()


@pytest.mark.parametrize("group", [group for group in GROUPS if not GROUPS[group].startswith("sparse")], ids=name_of)
def test_what_can_be_simulated_computes_the_product(results, group):
    np = pytest.importorskip("numpy")
    random = np.random.default_rng()
    m, n, k = 128, 64, 384
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    left, right = (simulator.encode(value, "bf16") for value in (a, b))
    c = simulator.encode(np.full((m, n), np.nan, np.float32), "bf16")
    shape = {"N": n, "K": k}
    if GROUPS[group] in ("plain", "loops"):
        arguments = {"a": left, "b": right, "c": c, "M": m, **shape}
    else:
        arguments = {"values": left, "b": right, "c": c, **shape}
    simulator.simulate(results[group][0]["ttgir"], (m // 64, n // 64, 1), arguments)
    # Small whole numbers: each sum is exact until it is rounded.
    wanted = simulator.decode(simulator.encode(a @ b, "bf16"), "bf16")
    assert np.array_equal(simulator.decode(c, "bf16"), wanted)


@pytest.fixture(scope="module")
def composed():
    """The module of the kernels, with every extension imported."""
    for identifier in EXTENSIONS:
        registry.extension(identifier).module()
    spec = importlib.util.spec_from_file_location("composed", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.gpu
@pytest.mark.parametrize("group", GROUPS, ids=name_of)
def test_numbers_and_records_on_a_gpu(composed, group):
    got, wanted, profile = composed.run(GROUPS[group], list(group))
    # Sums in 32 bits, rounded to bfloat16.
    assert ((got - wanted).abs() <= 0.01 * wanted.abs() + 1e-3 * wanted.abs().max()).all()
    if profile is not None:
        from tritonext_profiler.analysis import analyze

        assert not profile.data.loss
        [analysis] = analyze(profile.data)
        assert analysis.waves.grid == 512 * 256 // (composed.BM * composed.BN)
        assert {"mma_wait", "global_store"} <= {row.name for row in analysis.categories}
