"""The examples with one synchronization taken out: whatever the line and the seed, the simulator finds something."""

import importlib.util
import itertools
import pathlib
import re

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext_tlx import simulator  # noqa: E402
from tritonext_tlx.simulator import Descriptor, simulate  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
# The wait for all copies behind a loop only gives their memory back early: without it the compiler keeps the buffers.
SYNCHRONIZATION = re.compile(
    r"^(\s*)(?:\w+ = )?tlx\."
    r"(barrier_\w+|async_dot_wait|async_descriptor_store_wait|fence_\w+|async_load_\w+_group(?!\(0\)))\("
)


def sources(name):
    """Yield the op that is missing, and the lines without it."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines(keepends=True)
    start = next(index for index, line in enumerate(lines) if line.startswith("def gemm("))
    end = next(index for index, line in enumerate(lines) if index > start and re.match(r"\w", line))
    for index in range(start, end):
        if match := SYNCHRONIZATION.match(lines[index]):
            yield index + 1, match[2], [*lines[:index], f"{match[1]}pass\n", *lines[index + 1 :]]


CASES = [(name, *case) for name in ("gemm_tasks", "gemm_pipelined") for case in sources(name)]


def run(name, kernel, seed):
    generator = np.random.default_rng(seed)
    m = n = k = 136
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)
    if name == "gemm_tasks":
        tile = {"BM": 128, "BN": 64, "BK": 32, "STAGES": 2, "GROUPS": 2, "GROUP_M": 8}
        described = Descriptor(a, [64, 32]), Descriptor(b, [32, 64]), Descriptor(c, [64, 64])
        simulate(kernel, (3,), *described, m, n, k, **tile, seed=seed)
    else:
        tile = {"BM": 64, "BN": 128, "BK": 32, "GROUP_M": 2, "STAGES": 4}
        simulate(kernel, (6,), a, b, c, m, n, k, **tile, num_warps=8, seed=seed)


def test_all_kinds_of_synchronization_are_taken_out():
    assert {op for _, _, op, _ in CASES} == {
        "async_descriptor_store_wait",
        "async_dot_wait",
        "async_load_commit_group",
        "async_load_wait_group",
        "barrier_arrive",
        "barrier_expect_bytes",
        "barrier_wait",
        "fence_async_shared",
    }


@pytest.mark.parametrize(("name", "line", "op", "lines"), CASES, ids=[f"{name}-{line}" for name, line, _, _ in CASES])
def test_a_missing_synchronization_is_found(tmp_path, name, line, op, lines):
    path = tmp_path / f"{name}_without_{line}.py"
    path.write_text("".join(lines))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    expected = {
        "async_descriptor_store_wait": (simulator.Race, simulator.Leak),
        "async_dot_wait": (simulator.Race, simulator.ReadBeforeCompletion),
        "barrier_arrive": (simulator.Deadlock,),
        "barrier_expect_bytes": (simulator.Deadlock,),
        # A task that does not wait comes before the other one, or after it in the order of this seed.
        "barrier_wait": (simulator.Race, simulator.ReadBeforeCompletion, simulator.UninitializedRead),
        "fence_async_shared": (simulator.MissingFence,),
    }.get(op, (simulator.ReadBeforeCompletion,))
    for seed in range(2):
        with pytest.raises(expected) as caught:
            run(name, module.gemm, seed)
        assert re.search(rf"{path.name}:\d+", str(caught.value))


def test_the_examples_themselves_are_clean():
    for name, seed in itertools.product(("gemm_tasks", "gemm_pipelined"), range(3)):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        run(name, module.gemm, seed)
