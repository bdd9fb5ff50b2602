"""Launch options of extensions."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import sys
import types

import pytest
import triton
import triton.language as tl
from triton.runtime import _allocation, autotuner, driver, jit

from tritonext import launch
from tritonext._triton import launching
from tritonext.errors import InternalError, PipelineError

# What stands in for it, where an extension is loaded already, wraps it.
_STOCK_ALLOCATE = inspect.unwrap(_allocation.NullAllocator.__call__)


@pytest.fixture(autouse=True)
def triton_as_it_was():
    run, init = jit.JITFunction.run, autotuner.Config.__init__
    yield
    assert launching._options == {}
    assert jit.JITFunction.run is run
    assert autotuner.Config.__init__ is init


@pytest.fixture
def runs():
    """Record what reaches Triton's launcher."""
    seen = []

    def run(self, *args, grid, warmup, **kwargs):
        seen.append((args, grid, warmup, kwargs))

    # Undone before the check above, which the shared monkeypatch is not.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit.JITFunction, "run", run)
        yield seen


@triton.jit
def plain(x):
    tl.store(x, 0)


@triton.jit
def named(x, halves):
    tl.store(x, halves)


def halves(value, grid, keywords):
    keywords["seen"] = value
    return (grid[0] // value,), None


def test_an_option_changes_its_launch_and_no_other(runs):
    option = launch.add_option("halves", halves, int)
    plain[(8,)](1, halves=2)
    plain[(8,)](1, num_warps=8)
    plain[(8,)](1, halves=None)
    named[(8,)](1, halves=2)
    option.remove()
    plain[(8,)](1, halves=2)
    assert runs == [
        ((1,), (4,), False, {"seen": 2}),
        ((1,), (8,), False, {"num_warps": 8}),
        ((1,), (8,), False, {}),
        ((1,), (8,), False, {"halves": 2}),
        ((1,), (8,), False, {"halves": 2}),
    ]


def test_a_scope_lasts_for_the_launch(runs):
    inside = []

    class Scope:
        def __enter__(self):
            inside.append(len(runs))

        def __exit__(self, *exception):
            inside.append(len(runs))

    option = launch.add_option("scoped", lambda value, grid, keywords: (grid, Scope()), int)
    plain[(8,)](1, scoped=1)
    option.remove()
    assert inside == [0, 1]


def test_a_compilation_for_a_named_target_is_like_a_launch():
    active = []

    @contextlib.contextmanager
    def scope():
        active.append(1)
        yield
        active.pop()

    def apply(value, grid, keywords):
        keywords["num_warps"] *= value
        assert callable(grid)
        return grid, scope()

    given = {"factor": 2, "num_warps": 4}
    option = launch.add_option("factor", apply, int)
    with launching.applied(given) as options:
        assert (options, active) == ({"num_warps": 8}, [1])
    assert active == []
    # A kernel's argument of that name is none, and neither is None.
    with launching.applied(given, ["factor"]) as options:
        assert (options, active) == (given, [])
    with launching.applied({**given, "factor": None}) as options:
        assert (options, active) == ({"num_warps": 4}, [])
    option.remove()
    with launching.applied(given) as options:
        assert options == given


def test_a_configuration_keeps_the_option_frozen():
    option = launch.add_option("shape", halves, tuple)
    config = triton.Config({"BLOCK": 64}, shape=[1, 2])
    plain_config = triton.Config({"BLOCK": 64})
    option.remove()
    assert config.all_kwargs() == {**plain_config.all_kwargs(), "shape": (1, 2)}
    assert plain_config.kwargs == {"BLOCK": 64}
    with pytest.raises(TypeError):
        triton.Config({"BLOCK": 64}, shape=[1, 2])


def test_options_are_taken_away_one_by_one(runs):
    first = launch.add_option("halves", halves, int)
    second = launch.add_option("thirds", lambda value, grid, keywords: ((grid[0] // 3,), None), int)
    first.remove()
    first.remove()
    plain[(9,)](1, thirds=1)
    second.remove()
    assert runs == [((1,), (3,), False, {})]


def test_a_function_put_on_top_stays(runs):
    option = launch.add_option("halves", halves, int)
    ours = jit.JITFunction.run

    def outer(self, *args, **kwargs):
        return ours(self, *args, **kwargs)

    jit.JITFunction.run = outer
    option.remove()
    assert jit.JITFunction.run is outer
    plain[(8,)](1)
    # Added again, the option is back although the functions of the first time are still in place.
    option = launch.add_option("halves", halves, int)
    plain[(8,)](1, halves=2)
    jit.JITFunction.run = ours
    option.remove()
    assert runs == [((1,), (8,), False, {}), ((1,), (4,), False, {"seen": 2})]


def test_a_name_is_taken_once():
    option = launch.add_option("halves", halves, int)
    with pytest.raises(PipelineError, match="added already"):
        launch.add_option("halves", halves, int)
    option.remove()


@pytest.mark.parametrize("name", ["num_ctas", "grid", "warmup"])
def test_an_option_of_triton_is_refused(name):
    with pytest.raises(PipelineError, match="has the launch option itself"):
        launch.add_option(name, halves, int)


def test_another_launcher_is_refused():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit.JITFunction, "run", lambda self: 0)
        with pytest.raises(InternalError, match=r"launch options need[\s\S]*grid, warmup"):
            launch.add_option("halves", halves, int)


def test_scratch_comes_from_torch_where_no_allocator_is_set(monkeypatch):
    monkeypatch.setattr(_allocation.NullAllocator, "__call__", _STOCK_ALLOCATE)
    torch = types.SimpleNamespace(int8="int8", empty=lambda *size, dtype, device: (*size, dtype, device))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(driver, "_active", types.SimpleNamespace(get_active_torch_device=lambda: "cuda:0"))
    allocator = _allocation._allocator.get()
    with pytest.raises(RuntimeError, match="no allocator was set"):
        allocator(256, 128, None)
    launch.provide_scratch()
    launch.provide_scratch()
    assert allocator(256, 128, None) == (256, "int8", "cuda:0")
    own = contextvars.copy_context()
    own.run(triton.set_allocator, lambda size, alignment, stream: "own")
    assert own.run(lambda: _allocation._allocator.get()(256, 128, None)) == "own"
