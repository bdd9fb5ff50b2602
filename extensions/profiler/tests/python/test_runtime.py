"""``profile`` around launches, on a GPU that is emulated: what is recorded, what is left alone, and what goes wrong."""

from __future__ import annotations

import contextlib
import threading
import types
import warnings

import numpy as np
import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.runtime.driver import driver

from tritonext.errors import UserError
from tritonext.pipeline import Pipeline, wrap_stage
from tritonext.testing import fake_driver
from tritonext_profiler import ProfileWarning, format, profile, rings, runtime
from tritonext_profiler.testing import H200, FakeMemory, emulate, gemm_kernel, gemm_plan, record, table

BLOCKS = 6
# Small enough for many rings.
BUFFER = 1 << 22
RECORDING = record(gemm_plan(6), seed=41, ctas=BLOCKS, launches=48)


@triton.jit
def matmul(x, SIZE: tl.constexpr = 1):
    tl.store(x, SIZE)


@triton.jit
def softmax(x):
    tl.store(x, 2)


class FakeGpu(FakeMemory):
    """A GPU whose kernels only write records."""

    graph: list | None = None

    def capturing(self, stream):
        return self.graph is not None

    def synchronize(self):
        return None

    def relaxed(self):
        return contextlib.nullcontext()

    def describe(self):
        return H200

    def ctas_per_sm(self, function, threads, shared):
        return 2


class World:
    """What the launches of a test do."""

    def __init__(self, gpu):
        self.gpu = gpu
        self.entry = table(gemm_kernel())
        self.recording = RECORDING
        self.runs = {}
        self.plain = []
        self.lock = threading.Lock()

    def run(self, pointer):
        with self.lock:
            launch = sum(self.runs.values())
            self.runs[pointer] = self.runs.get(pointer, 0) + 1
            emulate(self.gpu, pointer, self.entry, self.recording, launch)

    def launcher(self, source, metadata):
        def launch(x, y, z, stream, *rest):
            if getattr(metadata, "tritonext_profiler", None) is None:
                self.plain.append(metadata.name)
                return
            from triton.runtime import _allocation

            memory = _allocation._profile_allocator(1, 128, stream)
            if self.gpu.graph is None:
                self.run(memory.data_ptr())
            else:
                self.gpu.graph.append(memory.data_ptr())

        return launch


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Compiled kernels, for all tests; the key of a pipeline says what is in its tables."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def world(monkeypatch, cache):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache))
    gpu = FakeGpu()
    made = World(gpu)

    def keep_table(inner, source, metadata, info):
        result = inner(source, metadata)
        metadata["tritonext_profiler"] = made.entry
        return result

    stub = Pipeline((wrap_stage("llir", keep_table, key="table"),))
    monkeypatch.setattr(runtime, "pipeline", lambda **options: stub)
    monkeypatch.setattr(runtime, "gpu", lambda index: gpu)
    monkeypatch.setattr(runtime.clock, "offset", lambda index: 0)
    # A kernel keeps the launcher that it was first launched with.
    for kernel in (matmul, softmax):
        kernel.device_caches.clear()
    with fake_driver.active():
        driver.active.launcher_cls = made.launcher
        yield made
    assert runtime._active is None
    assert knobs.compilation.listener is None


def launch(kernel=matmul, **keywords):
    return kernel[(BLOCKS,)](fake_driver.Array("fp32"), **keywords)


def test_matching_launches_are_recorded_and_no_other(world):
    with profile("mat") as p:
        for _ in range(3):
            launch()
        launch(softmax)
    launch()
    assert world.plain == ["softmax", "matmul"]
    assert p.data.launches["ticket"].tolist() == [0, 1, 2]
    assert p.data.launches["grid"].tolist() == [BLOCKS] * 3
    assert len(p.data.warps) == 3 * BLOCKS * 4
    assert [entry.name for entry in p.data.kernels] == ["gemm"]
    assert p.data.kernels[0].resources["plain_ctas_per_sm"] == 2
    assert "tt.func public @matmul" in p.data.kernels[0].ir
    assert "loc(" not in p.data.kernels[0].ir
    assert p.data.kernels[0].opcodes["STG"] == 1
    kinds = [(event.kind, event.name) for event in p.data.events if event.kind == "launch"]
    assert kinds == [("launch", "matmul")] * 3
    assert any(event.kind == "compile" for event in p.data.events)
    assert (p.data.notices, bool(p.data.loss)) == ((), False)
    [analysis] = p.analyses
    assert analysis.closure == 0
    assert len(world.gpu.taken) == 1, "only the slots stay"


def test_every_replay_of_a_graph_is_recorded_until_the_block_ends(world):
    with profile(buffer=BUFFER) as p:
        launch()
        world.gpu.graph = graph = []
        launch()
        launch()
        world.gpu.graph = None
        for _ in range(10):
            for pointer in graph:
                world.run(pointer)
    assert len(set(graph)) == 2
    assert np.bincount(p.data.launches["replay"]).tolist() == [1, 20]
    assert [event.label for event in p.data.events if event.kind == "launch"] == ["", "capture", "capture"]
    before = world.gpu.bytes.copy()
    for pointer in graph:
        world.run(pointer)
    assert np.array_equal(world.gpu.bytes, before)
    with profile(buffer=BUFFER) as later:
        launch()
        for pointer in graph:
            world.run(pointer)
    assert len(later.data.launches) == 1


def test_threads_have_complete_data_of_their_own(world, monkeypatch):
    streams = threading.local()
    monkeypatch.setattr(type(driver.active), "get_current_stream", lambda self, device: getattr(streams, "number", 0))

    def work(number):
        streams.number = number
        # No more than a buffer holds: the reader may come late.
        for _ in range(10):
            launch()

    with profile(buffer=BUFFER, interval=60) as p:
        threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    streams, counts = np.unique(p.data.launches["stream"], return_counts=True)
    assert dict(zip(streams.tolist(), counts.tolist())) == {1: 10, 2: 10}
    assert set(p.data.launches["ctas"]) == {BLOCKS}
    assert p.data.warps["closed"].all()


@pytest.mark.parametrize("when", ["in time", "late", "behind the last wait"])
def test_a_launch_of_another_thread_is_waited_for_or_told_of(world, monkeypatch, when):
    launch()
    monkeypatch.setattr(runtime, "_PATIENCE", 60 if when == "in time" else 0.01)
    given, goes_on, run, pointers = threading.Event(), threading.Event(), world.run, []

    def slow(pointer):
        pointers.append(pointer)
        given.set()
        assert goes_on.wait(60)
        run(pointer)

    monkeypatch.setattr(world, "run", slow)
    thread = threading.Thread(target=launch)
    p = profile("matmul", buffer=BUFFER)
    p.__enter__()
    thread.start()
    assert given.wait(60)
    if when == "in time":
        settle = p._settle

        def waits():
            threading.Timer(0.05, goes_on.set).start()
            settle()

        monkeypatch.setattr(p, "_settle", waits)
        # A kernel that a thread has begun to describe.
        p._tables.append({**world.entry, "kernel_id": "1" * 16})
        p.__exit__(None, None, None)
        assert (len(p.data.launches), p.data.notices) == (1, ())
    else:
        waits = iter((False, when == "behind the last wait"))

        def synchronize():
            if next(waits):
                goes_on.set()
                thread.join()

        monkeypatch.setattr(world.gpu, "synchronize", synchronize)
        with pytest.warns(ProfileWarning, match="1 launches of other threads were still under way"):
            p.__exit__(None, None, None)
        assert len(p.data.launches) == 0
        # Whoever records next has another slot, and what comes late changes nothing.
        assert pointers[0] & -format.SLOT.itemsize not in rings._slots[world.gpu]
        before = world.gpu.bytes.copy()
        goes_on.set()
        thread.join()
        assert np.array_equal(world.gpu.bytes, before)
    thread.join()


def test_autotuning_measures_plain_kernels(world):
    tuned = triton.autotune([triton.Config({"SIZE": size}) for size in (1, 2)], key=[])(matmul)
    with profile() as p:
        tuned[(BLOCKS,)](fake_driver.Array("fp32"))
    assert world.plain == ["matmul", "matmul"]
    assert len(p.data.launches) == 1
    [choice] = [event for event in p.data.events if event.kind == "tune"]
    assert choice.name == "matmul"
    assert len(choice.detail) == 2
    assert next(iter(choice.detail)).startswith(f"SIZE: {tuned.best_config.kwargs['SIZE']}")
    assert next(event.kind for event in p.data.events if event.start >= choice.end) == "launch"


def test_a_pause_launches_plain_kernels(world):
    with profile() as p:
        launch()
        with p.pause():
            launch()
    assert world.plain == ["matmul"]
    assert len(p.data.launches) == 1


def test_a_pattern_that_matches_nothing_offers_names(world):
    with (
        pytest.warns(ProfileWarning, match="no launched kernel matches 'matmu1'; launched were matmul$"),
        profile("matmu1"),
    ):
        launch()
    with pytest.warns(ProfileWarning, match="no kernel was launched in the block"), profile():
        pass


def test_a_profile_within_a_profile_stays_empty(world):
    with profile() as outer:
        with pytest.warns(ProfileWarning, match="inside another profile"), profile() as inner:
            launch()
    assert len(outer.data.launches) == 1
    assert len(inner.data.launches) == 0
    assert "inside another profile" in inner.data.notices[0]


def test_a_profile_that_is_used_again_keeps_its_block(world):
    p = profile("matmul")
    with p:
        launch()
        with pytest.warns(ProfileWarning, match="records one block"), p:
            launch()
        launch()
    with pytest.warns(ProfileWarning, match="make another"), p:
        launch()
    assert p.data.launches["ticket"].tolist() == [0, 1, 2]
    assert world.plain == ["matmul"]


def test_hooks_run_once_for_each_launch(world):
    ran = []
    hook = lambda *arguments, **keywords: ran.append(len(arguments))  # noqa: E731
    matmul.add_pre_run_hook(hook)
    try:
        with profile("matmul") as p:
            launch()
            later = lambda *arguments, **keywords: ran.append("later")  # noqa: E731
            matmul.add_pre_run_hook(later)
            launch()
    finally:
        matmul.pre_run_hooks.clear()
    assert len(p.data.launches) == 2
    assert ran == [1, 1, "later"]


def test_a_warm_up_gives_the_plain_kernel(world):
    with profile("matmul") as p:
        compiled = matmul.warmup(fake_driver.Array("fp32"), grid=(BLOCKS,))
        launch()
    assert getattr(compiled.metadata, "tritonext_profiler", None) is None
    assert len(p.data.launches) == 1


def test_an_empty_grid_records_nothing_and_ends_nothing(world, monkeypatch):
    with profile("matmul") as p:
        handle = runtime._active
        launch()
        [compiled] = [compiled for compiled, _, _ in handle._compiled.values()]
        blank = handle._provide(compiled, (0, 1, 1), 0, 0)
        assert not world.gpu.at(blank.data_ptr(), 8).any()
        launch()
    assert len(p.data.launches) == 2


def test_a_launch_by_itself_is_asked_whether_it_is_captured(world):
    with profile("matmul") as p:
        compiled = launch()
        world.gpu.graph = []
        compiled[(BLOCKS, 1, 1)](fake_driver.Array("fp32"))
        [captured] = world.gpu.graph
        world.gpu.graph = None
        own = [ring for ring in runtime._active._rings[0].rings if ring.pointer == captured]
        assert [ring.captured for ring in own] == [True]
    assert len(p.data.launches) == 1


def test_an_exception_passes_and_what_came_before_is_kept(world):
    p = profile()

    def block():
        with p:
            launch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert len(p.data.launches) == 1
    launch()
    assert world.plain == ["matmul"]


def test_a_kernel_that_cannot_be_recorded_is_launched_plain(world, monkeypatch):
    def refuse(inner, source, metadata, info):
        raise UserError("the op is not known", where="kernel.py:3")

    stub = Pipeline((wrap_stage("llir", refuse, key="refuse"),))
    monkeypatch.setattr(runtime, "pipeline", lambda **options: stub)
    p = profile()
    with pytest.warns(ProfileWarning, match="matmul is not recorded: the op is not known"), p:
        launch()
    with pytest.warns(ProfileWarning, match="matmul is not recorded: the op is not known"), profile() as p:
        launch()
    assert world.plain == ["matmul", "matmul"]
    assert len(p.data.launches) == 0


@pytest.mark.parametrize("trouble", ["target", "allocator", "memory"])
def test_where_nothing_can_be_recorded_the_program_goes_on(world, monkeypatch, trouble):
    with contextlib.ExitStack() as stack:
        if trouble == "target":
            target = driver.active.get_current_target()
            monkeypatch.setattr(driver.active, "_target", types.SimpleNamespace(backend="hip", arch="gfx942"))
            message = "nothing is recorded: recording needs an NVIDIA GPU; found hip:gfx942"
        elif trouble == "allocator":
            from tritonext import launch as launches

            stack.callback(launches.provide_profile_memory(lambda *request: None).remove)
            message = "nothing is recorded: another profiler provides the profile memory"
        else:

            def broken(index):
                raise UserError("the GPU's driver refuses", found="CUDA_ERROR_OUT_OF_MEMORY")

            monkeypatch.setattr(runtime, "gpu", broken)
            message = "nothing is recorded on GPU 0: the GPU's driver refuses"
        p = profile()
        with pytest.warns(ProfileWarning, match=message):
            p.__enter__()
        if trouble == "target":
            monkeypatch.setattr(driver.active, "_target", target)
        launch()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            p.__exit__(None, None, None)
    assert world.plain == ["matmul"]
    assert len(p.data.launches) == 0
    assert any(message in notice for notice in p.data.notices)


def test_a_small_buffer_says_what_would_fit(world):
    with profile(sample=1, buffer=10 * world.entry["segment_bytes"], interval=60) as p:
        launch()
    assert p.data.loss.segments == 4 * BLOCKS - 8
    # The next power of two.
    assert p.data.loss.needed == 32 * world.entry["segment_bytes"]
    with profile(sample=1, buffer=p.data.loss.needed, interval=60) as again:
        launch()
    assert not again.data.loss


def test_launches_for_which_there_is_no_room_are_counted(world):
    with profile(sample=1, buffer=64 * world.entry["segment_bytes"], interval=60) as p:
        for _ in range(10):
            launch()
    # Two fit the first ring and two the second.
    assert len(p.data.launches) == 4
    assert (p.data.loss.launches, p.data.loss.segments) == (6, 0)
    with profile(sample=1, buffer=p.data.loss.needed, interval=60) as again:
        for _ in range(10):
            launch()
    assert len(again.data.launches) == 10
    assert not again.data.loss


def test_a_gpu_that_breaks_leaves_what_was_read(world, monkeypatch):
    errors = [UserError("the GPU's driver refuses", found="CUDA_ERROR_ILLEGAL_ADDRESS")]

    def broken():
        if errors:
            raise errors.pop()

    p = profile(interval=60)
    p.__enter__()
    launch()
    p._rings[0].drain()
    launch()
    monkeypatch.setattr(world.gpu, "synchronize", broken)
    with pytest.warns(ProfileWarning, match="GPU 0 still holds is not read: the GPU's driver"):
        p.__exit__(None, None, None)
    assert p.data.launches["ticket"].tolist() == [0]
    assert any("not read" in notice for notice in p.data.notices)


def test_a_reader_that_fails_is_told_of(world, monkeypatch):
    drain, reached = runtime.Rings.drain, threading.Event()

    def broken(self, final=False):
        if final:
            return drain(self, final)
        reached.set()
        raise RuntimeError("broken")

    def recorded():
        with profile() as p:
            launch()
            assert reached.wait(60)
        return p

    monkeypatch.setattr(runtime.Rings, "drain", broken)
    with pytest.warns(ProfileWarning, match="cannot be read: RuntimeError: broken"):
        p = recorded()
    assert len(p.data.launches) == 1


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"kernels": "("}, "no regular expression"),
        ({"kernels": matmul}, "no regular expression"),
        ({"mode": "most"}, "the mode is unknown"),
        ({"sample": 0}, "sample is unusable"),
        ({"buffer": 1.5}, "buffer is unusable"),
        ({"interval": "often"}, "interval is unusable"),
    ],
)
def test_arguments_that_cannot_be_used(keywords, message):
    with pytest.raises(UserError, match=message):
        profile(**keywords)


def test_a_listener_that_was_there_hears_on(world):
    heard = []
    knobs.compilation.listener = lambda **found: heard.append(found["metadata"]["name"])
    mine = knobs.compilation.listener
    try:
        with profile():
            launch()
        assert knobs.compilation.listener is mine
    finally:
        knobs.compilation.listener = None
    assert "matmul" in heard


def test_nothing_warns_where_nothing_is_wrong(world):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with profile("matmul"):
            launch()
