"""``profile`` around launches, on a GPU that is emulated: what is recorded, what is left alone, and what goes wrong."""

from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import re
import threading
import types
import warnings

import numpy as np
import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.runtime import _allocation
from triton.runtime.driver import driver

from tritonext._triton import observing
from tritonext.errors import UserError
from tritonext.pipeline import Pipeline, wrap_stage
from tritonext.testing import fake_driver
from tritonext_profiler import ProfileWarning, cli, format, profile, rings, runtime, storage
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


@pytest.mark.parametrize("when", ["in time", "late", "behind the last wait", "back late", "described late"])
def test_a_launch_of_another_thread_is_waited_for_or_told_of(world, monkeypatch, when):
    if when != "described late":
        launch()
    monkeypatch.setattr(runtime, "_PATIENCE", 60 if when == "in time" else 0.01)
    given, goes_on, run, pointers = threading.Event(), threading.Event(), world.run, []

    def hold(*arguments):
        given.set()
        assert goes_on.wait(60)

    def slow(pointer):
        pointers.append(pointer)
        if when == "back late":
            run(pointer)
        hold()
        if when != "back late":
            run(pointer)

    thread = threading.Thread(target=launch)
    p = profile("matmul", buffer=BUFFER)
    if when == "described late":
        monkeypatch.setattr(p, "_described", hold)
    else:
        monkeypatch.setattr(world, "run", slow)
    p.__enter__()
    thread.start()
    assert given.wait(60)
    if when == "in time":
        settle = p._settle

        def waits():
            threading.Timer(0.05, goes_on.set).start()
            return settle()

        monkeypatch.setattr(p, "_settle", waits)
        # A kernel that a thread has begun to describe.
        p._tables.append({**world.entry, "kernel_id": "1" * 16})
        p.__exit__(None, None, None)
        assert (len(p.data.launches), p.data.notices) == (1, ())
    elif when in {"back late", "described late"}:
        with pytest.warns(ProfileWarning, match=r"1 launch of the block \(matmul\) had not come .* all is recorded"):
            p.__exit__(None, None, None)
        assert len(p.data.launches) == 1
        assert p.data.kernels[0].resources == {}
        assert len(p.data.notices) == 1
        goes_on.set()
        thread.join()
    else:
        waits = iter((False, when == "behind the last wait"))

        def synchronize():
            if next(waits):
                goes_on.set()
                thread.join()

        monkeypatch.setattr(world.gpu, "synchronize", synchronize)
        with pytest.warns(ProfileWarning, match=r"1 launch of the block \(matmul\) had neither .* nothing is recorded"):
            p.__exit__(None, None, None)
        assert len(p.data.launches) == 0
        # Whoever records next has another slot, and what comes late changes nothing.
        assert pointers[0] & -format.SLOT.itemsize not in rings._slots[world.gpu]
        before = world.gpu.bytes.copy()
        goes_on.set()
        thread.join()
        assert np.array_equal(world.gpu.bytes, before)
    thread.join()


def test_a_launch_that_gets_no_memory_because_it_is_late_is_launched_plain(world, monkeypatch):
    monkeypatch.setattr(runtime, "_PATIENCE", 0.01)
    given, goes_on = threading.Event(), threading.Event()

    def hold(*arguments, **keywords):
        if not goes_on.is_set():
            given.set()
            assert goes_on.wait(60)

    matmul.add_pre_run_hook(hold)
    thread = threading.Thread(target=launch)
    settle = runtime.profile._settle
    try:
        p = profile("matmul", buffer=BUFFER)

        def late():
            result = settle(p)
            p._leave()
            goes_on.set()
            thread.join()
            return result

        monkeypatch.setattr(p, "_settle", late)
        p.__enter__()
        thread.start()
        assert given.wait(60)
        with pytest.warns(ProfileWarning, match="had neither come back nor ended on the GPU"):
            p.__exit__(None, None, None)
    finally:
        matmul.pre_run_hooks.clear()
    assert world.plain == ["matmul"]
    assert len(p.data.notices) == 1


def test_of_launches_that_are_late_each_is_told_of_for_itself(world, monkeypatch):
    launch()
    monkeypatch.setattr(runtime, "_PATIENCE", 0.01)
    given, goes_on, run = threading.Semaphore(0), threading.Event(), world.run

    def slow(pointer):
        first = not world.runs
        if first:
            run(pointer)
        given.release()
        assert goes_on.wait(60)

    monkeypatch.setattr(world, "run", slow)
    threads = [threading.Thread(target=launch) for _ in range(3)]
    p = profile("matmul", buffer=BUFFER)
    p.__enter__()
    for thread in threads:
        thread.start()
        assert given.acquire(timeout=60)
    with pytest.warns(ProfileWarning) as told:
        p.__exit__(None, None, None)
    goes_on.set()
    for thread in threads:
        thread.join()
    texts = [str(entry.message) for entry in told]
    assert [text[: text.index(" of the block")] for text in texts] == ["2 launches", "1 launch"]
    assert len(p.data.launches) == 1


def test_a_launch_that_comes_between_the_last_wait_and_the_check_leaves_others_in(world, monkeypatch):
    launch()
    monkeypatch.setattr(runtime, "_PATIENCE", 0.01)
    given, goes_on, run = threading.Event(), threading.Event(), world.run

    def slow(pointer):
        given.set()
        assert goes_on.wait(60)
        # It runs: some of its warps have ended.
        slot = world.gpu.at(pointer & -format.SLOT.itemsize, format.SLOT.itemsize).view(format.SLOT)
        slot["ended"][0][0, 0] += 1

    thread = threading.Thread(target=launch)
    p = profile("matmul", buffer=BUFFER)
    p.__enter__()
    launch()
    monkeypatch.setattr(world, "run", slow)
    thread.start()
    assert given.wait(60)
    drain = p._rings[0].drain

    def last(final=False):
        result = drain(final)
        if final:
            goes_on.set()
            thread.join()
        return result

    monkeypatch.setattr(p._rings[0], "drain", last)
    with pytest.warns(ProfileWarning, match="nothing is recorded of that"):
        p.__exit__(None, None, None)
    assert len(p.data.launches) == 1
    monkeypatch.setattr(world, "run", run)


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


def test_launches_that_are_left_alone_are_not_called_unmatched(world):
    paused = profile("mat")

    def block():
        with paused:
            matmul.warmup(fake_driver.Array("fp32"), grid=(BLOCKS,))
            with paused.pause():
                launch()

    with pytest.warns(ProfileWarning, match="all launches of matmul were warm-ups, .* in a pause"):
        block()
    with profile("mat"):
        compiled = launch()
    # One that is launched by itself has no name that a pattern could be compared with.
    with profile("mat") as p:
        compiled[(BLOCKS, 1, 1)](fake_driver.Array("fp32"))
    assert (len(p.data.launches), p.data.notices) == (1, ())


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


def refuse(monkeypatch, name="matmul"):
    """Have a kernel compile with records no more."""

    def wrap(inner, source, metadata, info):
        if f"@{name}(" in str(source):
            raise UserError("the op is not known", where="kernel.py:3")
        return keep(inner, source, metadata, info)

    [step] = runtime.pipeline().steps
    keep = step.function
    stub = Pipeline((wrap_stage("llir", wrap, key=f"refuse {name}"),))
    monkeypatch.setattr(runtime, "pipeline", lambda **options: stub)


def test_a_kernel_that_cannot_be_recorded_is_launched_plain(world, monkeypatch):
    refuse(monkeypatch)
    p = profile()
    with pytest.warns(ProfileWarning, match="matmul is not recorded: the op is not known"), p:
        launch()
    with pytest.warns(ProfileWarning, match="matmul is not recorded: the op is not known"), profile() as p:
        launch()
    assert world.plain == ["matmul", "matmul"]
    assert len(p.data.launches) == 0


def test_a_machine_without_a_gpu_is_said_to_have_none(world, monkeypatch):
    class NoDriver:
        @property
        def active(self):
            raise RuntimeError("0 active drivers ([]). There should only be one.")

    message = "nothing is recorded: recording needs an NVIDIA GPU; found RuntimeError: 0 active drivers .* nvidia-smi"
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "driver", NoDriver())
        with pytest.warns(ProfileWarning, match=message), profile():
            launch()
    assert world.plain == ["matmul"]


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
    with pytest.warns(ProfileWarning, match="GPU 0 are read at the end of the block only.*RuntimeError: broken"):
        p = recorded()
    assert len(p.data.launches) == 1


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"kernels": "("}, "no regular expression"),
        ({"kernels": matmul}, "no regular expression"),
        ({"kernels": b"matmul"}, "kernels is no text"),
        ({"mode": "most"}, "the mode is unknown"),
        ({"sample": 0}, "sample is unusable"),
        ({"buffer": 1.5}, "buffer is unusable"),
        ({"buffer": None}, "buffer is unusable"),
        ({"memory": None}, "memory is unusable"),
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


# --- warnings that filters turn into exceptions ----------------------------------------------------------------------


@contextlib.contextmanager
def warnings_end(*messages):
    """Turn our warnings into exceptions; the block has to end with the first message, and the others as its notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProfileWarning)
        with pytest.raises(ProfileWarning) as raised:
            yield
    told = [str(raised.value), *getattr(raised.value, "__notes__", [])]
    assert len(told) == len(messages), told
    for message, text in zip(messages, told):
        assert re.search(message, text), told


def check_put_back(world):
    """Check that a profile that has ended left nothing behind."""
    assert runtime._active is None
    assert not observing._observers
    assert not _allocation.has_profile_allocator()
    assert knobs.compilation.listener is None
    assert knobs.autotuning.listener is None
    assert not [thread for thread in threading.enumerate() if thread.name == "tritonext-profiler"]
    assert len(world.gpu.taken) <= 1, "only the slots stay"
    plain = len(world.plain)
    launch()
    assert len(world.plain) == plain + 1
    with profile("matmul") as p:
        launch()
    assert (len(p.data.launches), p.data.notices) == (1, ())


def test_warnings_at_the_end_cost_nothing_that_was_recorded(world, monkeypatch):
    launch()
    # Only six of its blocks end.
    torn = lambda: matmul[(BLOCKS + 1,)](fake_driver.Array("fp32"))  # noqa: E731
    p = profile("matmul", buffer=BUFFER)
    with warnings_end("over 7 x 1 x 1 blocks are left out: other blocks ended"), p:
        launch()
        torn()
        launch()
    assert p.data.launches["grid"].tolist() == [BLOCKS] * 2
    assert p.data.warps["closed"].all()
    assert sum(event.kind == "launch" for event in p.data.events) == 3
    assert [analysis.kernel.name for analysis in p.analyses] == ["gemm"]
    assert len(p.data.notices) == 1
    check_put_back(world)


def test_a_launch_that_is_late_costs_nothing_where_warnings_are_exceptions(world, monkeypatch):
    launch()
    monkeypatch.setattr(runtime, "_PATIENCE", 0.01)
    given, goes_on, run = threading.Event(), threading.Event(), world.run

    def slow(pointer):
        given.set()
        assert goes_on.wait(60)

    p = profile("matmul", buffer=BUFFER)
    thread = threading.Thread(target=launch)
    with warnings_end("nothing is recorded of that"), p:
        launch()
        monkeypatch.setattr(world, "run", slow)
        thread.start()
        assert given.wait(60)
    goes_on.set()
    thread.join()
    monkeypatch.setattr(world, "run", run)
    assert len(p.data.launches) == 1
    check_put_back(world)


def test_a_gpu_that_breaks_leaves_what_was_read_where_warnings_are_exceptions(world, monkeypatch):
    p = profile("matmul", interval=60)

    def broken():
        raise UserError("the GPU's driver refuses", found="CUDA_ERROR_ILLEGAL_ADDRESS")

    with warnings_end("still holds is not read", "buffers on GPU 0 stay allocated"), p:
        launch()
        p._rings[0].drain()
        launch()
        monkeypatch.setattr(world.gpu, "synchronize", broken)
    monkeypatch.undo()
    assert p.data.launches["ticket"].tolist() == [0]
    assert runtime._active is None
    assert not observing._observers


def test_the_profile_of_a_gpu_that_cannot_be_described_is_kept(world, monkeypatch):
    def broken():
        raise UserError("the GPU's driver refuses", found="CUDA_ERROR_UNKNOWN")

    monkeypatch.setattr(world.gpu, "describe", broken)
    with pytest.warns(ProfileWarning, match="what GPU 0 is, is not known: the GPU's driver refuses"), profile() as p:
        launch()
    assert len(p.data.launches) == 1
    assert len(p.analyses) == 1


def test_a_profile_that_is_incomplete_is_put_back_where_warnings_are_exceptions(world, monkeypatch):
    def broken(*arguments):
        raise ValueError("broken")

    p = profile("matmul")
    with monkeypatch.context() as patch, warnings_end("the profile is incomplete: ValueError: broken"), p:
        launch()
        patch.setattr(runtime, "decode", broken)
    assert len(p.data.notices) == 1
    check_put_back(world)


@pytest.mark.parametrize("thread", [False, True])
def test_a_kernel_that_is_refused_is_launched_where_warnings_are_exceptions(world, monkeypatch, thread):
    with monkeypatch.context() as patch:
        refuse(patch, "softmax")
        p = profile()

    def softmax_in_block():
        compiled = launch(softmax)
        assert compiled.metadata.name == "softmax"

    with warnings_end("softmax is not recorded: the op is not known"), p:
        launch()
        if thread:
            other = threading.Thread(target=softmax_in_block)
            other.start()
            other.join()
        else:
            softmax_in_block()
        launch()
    assert world.plain == ["softmax"]
    assert len(p.data.launches) == 2
    check_put_back(world)


def test_a_warning_that_cannot_be_shown_ends_no_launch(world, monkeypatch):
    with monkeypatch.context() as patch:
        refuse(patch)
        p = profile(buffer=BUFFER)

    def show(*arguments):
        raise ValueError("I/O operation on closed file")

    def block():
        with p:
            launch()
            launch(softmax)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        with pytest.raises(ValueError, match="closed file"):
            block()
    assert world.plain == ["matmul"]
    assert len(p.data.launches) == 1
    check_put_back(world)


def test_a_kernel_is_told_of_at_its_launch_and_at_the_line_of_the_program(world, monkeypatch):
    refuse(monkeypatch)
    with profile() as p:
        with pytest.warns(ProfileWarning, match="matmul is not recorded") as told:
            launch()
    assert [pathlib.Path(entry.filename).name for entry in told] == ["test_runtime.py"]
    assert len(p.data.notices) == 1
    with pytest.warns(ProfileWarning, match="no kernel was launched") as told, profile():
        pass
    assert [pathlib.Path(entry.filename).name for entry in told] == ["test_runtime.py"]


def test_a_reader_that_fails_ends_nothing_where_warnings_are_exceptions(world, monkeypatch):
    drain, reached = runtime.Rings.drain, threading.Event()

    def broken(self, final=False):
        if final:
            return drain(self, final)
        reached.set()
        raise RuntimeError("broken")

    p = profile("matmul")
    with monkeypatch.context() as patch, warnings_end("read at the end of the block only"), p:
        patch.setattr(runtime.Rings, "drain", broken)
        launch()
        assert reached.wait(60)
    assert len(p.data.launches) == 1
    check_put_back(world)


def test_a_launch_of_another_thread_where_the_block_begins_does_not_keep_it_from_running(world, monkeypatch):
    with monkeypatch.context() as patch:
        refuse(patch, "softmax")
        p = profile()
    start, ran = p._start, []

    def launches():
        start()
        launch(softmax)

    monkeypatch.setattr(p, "_start", launches)
    with warnings_end("softmax is not recorded"), p:
        ran.append(launch())
    assert len(ran) == len(p.data.launches) == 1
    check_put_back(world)


def test_blocks_that_record_nothing_are_not_entered_where_warnings_are_exceptions(world):
    p = profile("matmul")
    with p:
        launch()
        inner = profile()
        with warnings_end("inside another profile"), inner:
            pytest.fail("the block runs")
        with warnings_end("records one block"), p:
            pytest.fail("the block runs")
        launch()
    assert (len(p.data.launches), len(inner.data.launches)) == (2, 0)
    assert "inside another profile" in inner.data.notices[0]
    check_put_back(world)


def test_nothing_stays_where_nothing_can_be_recorded_and_warnings_are_exceptions(world, monkeypatch):
    def broken(index):
        raise UserError("the GPU's driver refuses", found="CUDA_ERROR_OUT_OF_MEMORY")

    with monkeypatch.context() as patch:
        patch.setattr(runtime, "gpu", broken)
        p = profile()
        with warnings_end("nothing is recorded on GPU 0"), p:
            pytest.fail("the block runs")
    assert len(p.data.notices) == 1
    launch()
    assert world.plain == ["matmul"]
    assert runtime._active is None


@pytest.mark.parametrize("ending", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_the_exception_of_the_block_passes_with_the_warnings_as_notes(world, ending):
    p = profile("absent")

    def block():
        with p:
            launch()
            raise ending

    with warnings.catch_warnings():
        warnings.simplefilter("error", ProfileWarning)
        with pytest.raises(ending) as raised:
            block()
    assert raised.value.__notes__ == ["ProfileWarning: no launched kernel matches 'absent'; launched were matmul"]
    check_put_back(world)


def test_several_warnings_are_one_exception(world, monkeypatch):
    with monkeypatch.context() as patch:
        refuse(patch)
        p = profile(buffer=BUFFER)
    torn = lambda: softmax[(BLOCKS + 1,)](fake_driver.Array("fp32"))  # noqa: E731
    with warnings_end("matmul is not recorded", "ProfileWarning: launches of gemm over 7 x 1 x 1"), p:
        launch()
        launch(softmax)
        torn()
    assert len(p.data.launches) == 1
    assert len(p.data.notices) == 2
    check_put_back(world)


def test_files_of_a_script_are_written_where_warnings_are_exceptions(world, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text("print('it runs')\n")
    with warnings_end("no kernel was launched"):
        cli.main(["-o", str(tmp_path / "p.npz"), str(script)])
    printed = capsys.readouterr()
    assert printed.out == "it runs\n"
    assert "No kernel was launched in the block" in printed.err
    assert storage.load(tmp_path / "p.npz").notices == ("no kernel was launched in the block",)


def test_a_generator_that_is_closed_ends_the_block(world):
    def launches(pattern):
        with profile(pattern) as p:
            while True:
                launch()
                yield p

    steps = launches("matmul")
    p = next(steps)
    assert next(steps) is p
    steps.close()
    assert len(p.data.launches) == 2
    steps = launches("absent")
    next(steps)
    with warnings_end("no launched kernel matches"):
        steps.close()
    check_put_back(world)


# --- trouble in the middle -------------------------------------------------------------------------------------------


def test_an_interruption_of_a_launch_leaves_the_others(world, monkeypatch):
    run = world.run

    def interrupted(pointer):
        raise KeyboardInterrupt

    p = profile("matmul", buffer=BUFFER)
    p.__enter__()
    launch()
    monkeypatch.setattr(world, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        launch()
    monkeypatch.setattr(world, "run", run)
    launch()
    p.__exit__(None, None, None)
    assert (len(p.data.launches), p.data.notices) == (2, ())
    assert world.plain == []
    check_put_back(world)


def test_an_interruption_of_the_last_wait_leaves_what_is_recorded(world, monkeypatch):
    launch()
    given, goes_on, run = threading.Event(), threading.Event(), world.run

    def slow(pointer):
        given.set()
        assert goes_on.wait(60)

    def interrupted(timeout):
        raise KeyboardInterrupt

    p = profile("matmul", buffer=BUFFER)
    thread = threading.Thread(target=launch)

    def block():
        with p:
            launch()
            monkeypatch.setattr(world, "run", slow)
            thread.start()
            assert given.wait(60)
            monkeypatch.setattr(p._returned, "wait", interrupted)

    with pytest.warns(ProfileWarning, match="nothing is recorded of that"), pytest.raises(KeyboardInterrupt):
        block()
    goes_on.set()
    thread.join()
    monkeypatch.setattr(world, "run", run)
    assert len(p.data.launches) == 1
    check_put_back(world)


def test_an_interruption_where_the_block_begins_leaves_nothing(world, monkeypatch):
    def interrupted(listener):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runtime.launches, "listen", interrupted)
        with pytest.raises(KeyboardInterrupt), profile():
            pytest.fail("the block runs")
    check_put_back(world)


def test_nothing_is_recorded_where_no_thread_can_be_started(world, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        with pytest.warns(ProfileWarning, match="nothing is recorded: RuntimeError: can't"), profile():
            launch()
    assert world.plain == ["matmul"]
    check_put_back(world)


def test_a_hook_that_fails_behind_a_launch_has_it_launched_once(world, monkeypatch):
    run, ran = world.run, []

    def hooked(pointer):
        run(pointer)
        ran.append(pointer)
        raise ValueError("the hook fails")

    with profile("matmul", buffer=BUFFER) as p:
        launch()
        with monkeypatch.context() as patch:
            patch.setattr(world, "run", hooked)
            with pytest.raises(ValueError, match="the hook fails"):
                launch()
        launch()
    assert len(ran) == 1
    assert world.plain == []
    assert (len(p.data.launches), p.data.notices) == (3, ())


def test_a_launch_that_the_driver_refuses_takes_no_room(world, monkeypatch):
    kernels = []

    def refused(pointer):
        raise RuntimeError("Triton Error [CUDA]: invalid argument")

    with profile("matmul", sample=1, buffer=64 * world.entry["segment_bytes"], interval=60) as p:
        launch()
        [ring] = p._rings[0].rings
        issued = ring.issued
        with monkeypatch.context() as patch:
            patch.setattr(world, "run", refused)
            with pytest.warns(
                ProfileWarning, match="further launches of matmul are not recorded: RuntimeError: Triton"
            ):
                kernels.append(launch())
    assert kernels[0] is not None
    assert world.plain == ["matmul"]
    assert ring.issued == issued
    assert (len(p.data.launches), p.data.loss.launches) == (1, 0)


def test_a_hook_may_launch_too(world):
    def hook(*arguments, **keywords):
        launch(softmax)

    matmul.add_pre_run_hook(hook)
    try:
        with profile(buffer=BUFFER) as p:
            launch()
            launched = [ring.lasting for ring in p._rings[0].rings]
    finally:
        matmul.pre_run_hooks.clear()
    assert launched == [False]
    assert len(p.data.launches) == 2


def test_a_kernel_that_cannot_be_compared_is_recorded(world, monkeypatch):
    def broken(*arguments):
        raise UserError("the GPU's driver refuses", found="CUDA_ERROR_INVALID_HANDLE")

    monkeypatch.setattr(world.gpu, "ctas_per_sm", broken)
    with profile("matmul") as p:
        with pytest.warns(ProfileWarning, match="matmul is recorded, but .* not known: the GPU's driver refuses"):
            launch()
        launch()
    assert len(p.data.notices) == 1
    assert len(p.data.launches) == 2
    assert world.plain == []


def test_a_launch_by_itself_goes_on_where_there_is_no_memory(world, monkeypatch):
    def broken(*arguments, **keywords):
        raise UserError("the GPU's driver refuses", found="CUDA_ERROR_OUT_OF_MEMORY")

    with profile("matmul") as p:
        compiled = launch()
        with monkeypatch.context() as patch:
            patch.setattr(p._rings[0], "ring", broken)
            with pytest.warns(ProfileWarning, match="launches of gemm by itself are not recorded: the GPU's driver"):
                compiled[(BLOCKS, 1, 1)](fake_driver.Array("fp32"))
        with monkeypatch.context() as patch:
            patch.setitem(p._rings, 0, None)
            compiled[(BLOCKS, 1, 1)](fake_driver.Array("fp32"))
    assert len(p.data.launches) == 1


def test_what_was_looked_at_in_the_block_is_looked_at_anew(world):
    with profile("matmul") as p:
        launch()
        assert p.analyses == ()
    assert len(p.analyses) == 1


def test_a_profile_may_end_with_the_interpreter(world, monkeypatch):
    def refused(*arguments):
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    with profile("matmul") as p:
        launch()
        monkeypatch.setattr(concurrent.futures.ThreadPoolExecutor, "submit", refused)
    assert (len(p.data.launches), p.data.notices) == (1, ())


def test_very_long_times_and_samples_are_taken(world):
    with profile("matmul", interval=float("inf"), sample=1 << 40) as p:
        launch()
        p._thread.join(0.1)
        assert p._thread.is_alive()
    assert p.data.launches["ctas"].tolist() == [1]


def test_long_names_are_cut_in_messages(world):
    long = "m" * 5_000
    p = profile("absent")
    p._wanted[long] = False
    assert len(p._nothing()) < 200
    p._leave_out(long, ValueError("wrong"))
    assert p._notices == ["m" * 79 + "… is not recorded: ValueError: wrong"]


def test_a_profile_that_outlives_the_one_around_it_does_not_claim_to_be_recorded(world):
    outer, inner = profile(), profile()
    outer.__enter__()
    with pytest.warns(ProfileWarning, match="records it as long as that one lasts; .* end that one first"):
        inner.__enter__()
    launch()
    outer.__exit__()
    launch()
    inner.__exit__()
    assert (len(outer.data.launches), len(inner.data.launches)) == (1, 0)
    assert world.plain == ["matmul"]


def test_a_warning_of_the_program_in_a_launch_is_what_it_is_without_a_profile(world):
    class OnceWarning(UserWarning):
        pass

    waiting = ["once"]

    def hook(*arguments, **keywords):
        if waiting:
            warnings.warn(waiting.pop(), OnceWarning, stacklevel=1)

    matmul.add_pre_run_hook(hook)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", OnceWarning)
            with profile("matmul") as p:
                with pytest.raises(OnceWarning):
                    launch()
                launch()
    finally:
        matmul.pre_run_hooks.clear()
    assert world.plain == []
    assert (len(p.data.launches), p.data.notices) == (1, ())
