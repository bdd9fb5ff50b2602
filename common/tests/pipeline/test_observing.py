"""Watching launches, and memory for measurements."""

from __future__ import annotations

import functools
import threading

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.compiler import compiler
from triton.runtime import _allocation, autotuner, jit

import tritonext
from tritonext import launch
from tritonext._triton import observing
from tritonext.errors import InternalError, PipelineError
from tritonext.testing import fake_driver


@pytest.fixture(autouse=True)
def triton_as_it_was():
    run, bench = jit.JITFunction.run, autotuner.Autotuner._bench
    metadata = compiler.CompiledKernel.launch_metadata
    yield
    assert compiler.CompiledKernel.launch_metadata is metadata
    assert jit.JITFunction.run is run
    assert autotuner.Autotuner._bench is bench
    assert not _allocation.has_profile_allocator()


@triton.jit
def plain(x, SIZE: tl.constexpr = 1):
    tl.store(x, SIZE)


@pytest.fixture
def seen():
    """Watch the test's launches: names with whether they warm up and whether they tune."""
    found = []

    def observer(launched):
        compiled = launched.proceed()
        assert launched.compile() is compiled
        found.append((launched.kernel.__name__, compiled.name, launched.warmup, launched.tuning))
        return compiled

    handle = launch.observe(observer)
    yield found
    handle.remove()
    handle.remove()


def test_every_launch_is_seen_with_what_it_is_for(seen):
    tuned = autotuner.autotune([triton.Config({"SIZE": size}) for size in (1, 2)], key=[])(plain)
    with fake_driver.active():
        array = fake_driver.Array("fp32")
        assert plain[(1,)](array).name == "plain"
        plain.warmup(array, grid=(1,))
        tuned[(1,)](array)
        thread = threading.Thread(target=lambda: plain[(1,)](array))
        thread.start()
        thread.join()
    once, warm, tuning = (("plain", "plain", *flags) for flags in ((False, False), (True, False), (False, True)))
    assert seen == [once, warm, tuning, tuning, once, once]


def test_observers_nest_and_leave_in_any_order():
    order = []

    def observer(name):
        def observe(launched):
            order.append(name)
            return launched.proceed()

        return observe

    first, second = launch.observe(observer("first")), launch.observe(observer("second"))
    with fake_driver.active():
        plain[(1,)](fake_driver.Array("fp32"))
        first.remove()
        plain[(1,)](fake_driver.Array("fp32"))
        second.remove()
        plain[(1,)](fake_driver.Array("fp32"))
    assert order == ["second", "first", "second"]


@pytest.mark.parametrize("said", [True, False], ids=["said", "unsaid"])
def test_other_tools_come_and_go_in_any_order(said):
    """Each launch is seen once, wherever another tool's function is."""
    stock, order = jit.JITFunction.run, []

    def tool(inner):
        def run(self, *args, **kwargs):
            order.append("tool")
            return inner(self, *args, **kwargs)

        return functools.wraps(inner)(run) if said else run

    def observe(launched):
        order.append("seen")
        return launched.proceed()

    def launched():
        order.clear()
        plain[(1,)](fake_driver.Array("fp32"))
        return sorted(order)

    with pytest.MonkeyPatch.context() as patch, fake_driver.active():
        patch.setattr(jit.JITFunction, "run", tool(stock))
        below = launch.observe(observe)
        assert launched() == ["seen", "tool"]
        ours = jit.JITFunction.run
        jit.JITFunction.run = tool(ours)
        below.remove()
        assert launched() == ["tool", "tool"]
        again = launch.observe(observe)
        assert launched() == ["seen", "tool", "tool"]
        # The tool puts back what it found, ours of the first time, and then what was there before all of us.
        jit.JITFunction.run = ours
        assert launched() == ["seen", "tool"]
        again.remove()
        jit.JITFunction.run = stock
        assert launched() == []
        once_more = launch.observe(observe)
        assert launched() == ["seen"]
        once_more.remove()
        assert jit.JITFunction.run is stock


def test_another_kernel_may_be_launched_instead():
    copy = tritonext.use(tritonext.Pipeline(name="empty"))(plain)
    handle = launch.observe(lambda launched: launched.launch_as(copy))
    with fake_driver.active():
        compiled = plain[(1,)](fake_driver.Array("fp32"))
        handle.remove()
        assert plain[(1,)](fake_driver.Array("fp32")) is not compiled
        assert copy[(1,)](fake_driver.Array("fp32")) is compiled


def test_profile_memory_has_one_provider():
    handle = launch.provide_profile_memory(lambda *request: None)
    with pytest.raises(PipelineError, match="another profiler provides"):
        launch.provide_profile_memory(lambda *request: None)
    handle.remove()
    later = launch.provide_profile_memory(lambda *request: None)
    handle.remove()
    assert _allocation.has_profile_allocator()
    later.remove()


def test_profile_memory_is_asked_for_with_the_kernel_it_is_for():
    requests = []
    handle = launch.provide_profile_memory(lambda *request: requests.append(request))
    with fake_driver.active():
        compiled = plain[(7, 2)](fake_driver.Array("fp32"))
        # What Triton's launcher does for a kernel with such memory, with the grid as it was given.
        _allocation._profile_allocator(128, 16, None)
    handle.remove()
    assert requests == [(compiled, (7, 2), 128, 0)]


def test_compilations_are_heard_of_by_all_who_listen(monkeypatch):
    heard = []

    def first(**found):
        heard.append(("first", found["metadata"]["name"]))

    monkeypatch.setattr(knobs.compilation, "listener", first)
    handle = launch.listen(lambda **found: heard.append(("second", found["cache_hit"])))
    with fake_driver.active():
        plain.warmup(fake_driver.Array("fp32"), grid=(1,), num_warps=2)
    handle.remove()
    assert knobs.compilation.listener is first
    assert heard == [("first", "plain"), ("second", False)]


def test_listeners_leave_in_any_order(monkeypatch):
    monkeypatch.setattr(knobs.compilation, "listener", None)
    heard = []
    handles = [launch.listen(lambda name=name, **found: heard.append(name)) for name in ("first", "second", "third")]
    for left, handle in zip((["second", "third"], ["third"]), handles):
        handle.remove()
        knobs.compilation.listener()
        assert heard == left
        heard.clear()
    handles[2].remove()
    assert knobs.compilation.listener is None


def test_choices_of_autotuners_are_heard_of():
    heard = []
    handle = launch.listen_to_tuning(lambda **found: heard.append((found["fn"], found["best_config"].kwargs)))
    tuned = autotuner.autotune([triton.Config({"SIZE": size}) for size in (1, 2)], key=[])(plain)
    with fake_driver.active():
        for _ in range(2):
            tuned[(1,)](fake_driver.Array("fp32"))
    handle.remove()
    assert knobs.autotuning.listener is None
    assert heard == [(plain, tuned.best_config.kwargs)]


def test_another_launcher_is_refused():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit.JITFunction, "run", lambda self, *args: None)
        with pytest.raises(InternalError, match="watching launches needs"):
            launch.observe(lambda launched: None)
    assert not observing._observers
