"""The caches around the compiler: every way to a kernel gives the one of the active pipelines."""

import concurrent.futures
import json
import threading

import pytest
import triton
from triton import knobs
from triton.runtime.jit import JITFunction

import tritonext
from tritonext import Pipeline, activation, disable_pass, insert_after, wrap_stage
from tritonext.errors import PipelineError

SLOT = "add_stages_inspection_hook"
ONE = Pipeline([disable_pass("ttgir", "ttgpuir.coalesce")], name="one")
TWO = Pipeline([insert_after("ttgir", "ttgpuir.coalesce", "common.sccp")], name="two")
ARGUMENTS = {"grid": (1,), "BLOCK": 1024}


@pytest.fixture
def warm(device, x):
    """Compile the way a launch does, in a kernel object that nothing has launched before."""

    def compile_kernel(kernel, **options):
        return triton.jit(kernel.fn).warmup(x, 100, **ARGUMENTS, **options)

    return compile_kernel


@pytest.fixture
def hits(monkeypatch):
    """Whether each compilation was found in Triton's disk cache, in order."""
    found = []
    monkeypatch.setattr(knobs.compilation, "listener", lambda *, cache_hit, **_: found.append(cache_hit))
    return found


# --- the hook slot ---------------------------------------------------------------------------------------------------


def test_plain_kernels_keep_their_entries(warm, kernel, other_kernel, hits):
    before = [warm(kernel).hash, warm(other_kernel).hash]
    with tritonext.use(ONE):
        assert warm(kernel).hash != before[0]
    assert [warm(kernel).hash, warm(other_kernel).hash] == before
    handle = tritonext.enable(TWO)
    handle.disable()
    assert [warm(kernel).hash, warm(other_kernel).hash] == before
    assert hits == [False, False, False, True, True, True, True]


def test_active_for_one_kernel_leaves_the_others_alone(device, x, kernel, other_kernel, warm):
    expected = warm(other_kernel).hash
    decorated = tritonext.use(ONE)(kernel)
    changed = decorated.warmup(x, 100, **ARGUMENTS)
    assert other_kernel.warmup(x, 100, **ARGUMENTS).hash == expected
    assert changed.hash != kernel.warmup(x, 100, **ARGUMENTS).hash


def test_each_pipeline_and_order_has_its_own_entry(device, x, kernel, hits):
    scopes = [
        (ONE,),
        (TWO,),
        (ONE, TWO),
        (TWO, ONE),
        (Pipeline([]),),
        (Pipeline([insert_after("ttgir", "ttgpuir.coalesce", "common.cse")]),),
    ]
    compiled = {}
    for index, pipelines in enumerate(scopes):
        with tritonext.use(*pipelines):
            compiled[index] = kernel.warmup(x, 100, **ARGUMENTS)
    compiled["stock"] = kernel.warmup(x, 100, **ARGUMENTS)
    assert len({result.hash for result in compiled.values()}) == len(compiled)
    assert hits == [False] * len(compiled)
    for index, pipelines in enumerate(scopes):
        # The in-process entry, from the same object.
        with tritonext.use(*pipelines):
            assert kernel.warmup(x, 100, **ARGUMENTS) is compiled[index]
    assert len(hits) == len(compiled)


class Foreign:
    """A stage hook of someone else, which counts its calls and marks the text of a stage."""

    def __init__(self, key="foreign"):
        self.key = key
        self.edits = 0

    def __call__(self, *arguments):
        if not arguments:
            return self.key, self.key
        self.edits += 1
        _, stages, *_ = arguments
        inner = stages["ptx"]
        stages["ptx"] = lambda source, metadata: inner(source, metadata) + f"\n// {self.key}\n"
        return None


def test_foreign_hook_keeps_working(warm, kernel, monkeypatch):
    stock = warm(kernel)
    foreign = Foreign()
    with monkeypatch.context() as patch:
        patch.setattr(knobs.runtime, SLOT, foreign)
        alone = warm(kernel)
        with tritonext.use(ONE):
            both = warm(kernel)
            with tritonext.use_stock():
                assert warm(kernel).hash == alone.hash
        assert warm(kernel).hash == alone.hash
        assert knobs.runtime.add_stages_inspection_hook is foreign
    with tritonext.use(ONE):
        ours = warm(kernel)
    assert len({stock.hash, alone.hash, both.hash, ours.hash}) == 4
    assert both.asm["ttgir"] == ours.asm["ttgir"] != stock.asm["ttgir"] == alone.asm["ttgir"]
    assert ["// foreign" in result.asm["ptx"] for result in (stock, alone, both, ours)] == [False, True, True, False]
    assert foreign.edits == 2


def test_foreign_hook_that_arrives_and_leaves_inside_a_scope(warm, kernel):
    with tritonext.use(ONE):
        ours = warm(kernel)
        previous = getattr(knobs.runtime, SLOT)
        knobs.runtime.add_stages_inspection_hook = Foreign()
        both = warm(kernel)
        knobs.runtime.add_stages_inspection_hook = previous
        assert warm(kernel).hash == ours.hash
    assert "// foreign" in both.asm["ptx"]
    assert both.asm["ttgir"] == ours.asm["ttgir"]
    assert getattr(knobs.runtime, SLOT) is None


def test_slot_saved_and_restored_inside_a_scope_holds_the_foreign_hook(monkeypatch):
    foreign = Foreign()
    monkeypatch.setattr(knobs.runtime, SLOT, foreign)
    with tritonext.use(ONE):
        with monkeypatch.context() as patch:
            patch.setattr(knobs.runtime, SLOT, None)
        assert getattr(knobs.runtime, SLOT) is not foreign
    assert getattr(knobs.runtime, SLOT) is foreign


def test_foreign_hook_that_calls_the_one_it_found(warm, kernel, monkeypatch):
    """A chain that stored our hook applies it once while it is active, and not at all afterwards."""
    stock = warm(kernel)
    with tritonext.use(TWO):
        ours = warm(kernel)
        found = getattr(knobs.runtime, SLOT)

        def chain(*arguments):
            answer = found(*arguments)
            return answer if arguments else (answer[0] + "chain", answer[1] + "chain")

        monkeypatch.setattr(knobs.runtime, SLOT, chain)
        chained = warm(kernel)
    after = warm(kernel)
    assert chained.asm["ttgir"] == ours.asm["ttgir"]
    assert after.asm["ttgir"] == stock.asm["ttgir"]
    assert len({result.hash for result in (stock, ours, chained, after)}) == 4


def test_slot_survives_the_knobs_own_operations(warm, kernel):
    stock = warm(kernel).hash
    foreign = Foreign()
    with tritonext.use(ONE):
        ours = warm(kernel).hash
        with knobs.runtime.scope():
            assert warm(kernel).hash == ours
            knobs.runtime.add_stages_inspection_hook = foreign
            copied = knobs.runtime.copy()
        assert warm(kernel).hash == ours
        knobs.runtime.reset()
        assert warm(kernel).hash == ours
    assert copied.add_stages_inspection_hook is foreign
    knobs.runtime.add_stages_inspection_hook = foreign
    del knobs.runtime.add_stages_inspection_hook
    assert warm(kernel).hash == stock


# --- executor threads ------------------------------------------------------------------------------------------------


def test_async_compilation_uses_the_submitting_context(device, x, kernel, warm):
    with tritonext.use(ONE):
        one = warm(kernel)
    with tritonext.use(TWO):
        two = warm(kernel)
    stock = warm(kernel)
    decorated = tritonext.use(ONE)(kernel)
    with knobs.compilation.scope():
        knobs.compilation.always_compile = True
        with concurrent.futures.ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
            with tritonext.use(ONE):
                first = kernel.warmup(x, 100, **ARGUMENTS)
            with tritonext.use(TWO):
                second = kernel.warmup(x, 100, **ARGUMENTS)
            third = kernel.warmup(x, 100, **ARGUMENTS)
            fourth = decorated.warmup(x, 100, **ARGUMENTS)
    for found, expected in ((first, one), (second, two), (third, stock)):
        assert found.result().hash == expected.hash
        assert found.result().asm["ttgir"] == expected.asm["ttgir"]
    assert fourth.result().asm["ttgir"] == one.asm["ttgir"] != stock.asm["ttgir"]
    with tritonext.use(ONE):
        assert kernel.warmup(x, 100, **ARGUMENTS).hash == one.hash
    assert kernel.warmup(x, 100, **ARGUMENTS).hash == stock.hash


def test_async_compilation_ignores_what_changes_after_the_submission(device, x, kernel, warm):
    stock = warm(kernel)
    gate = threading.Event()
    with knobs.compilation.scope():
        knobs.compilation.always_compile = True
        with concurrent.futures.ThreadPoolExecutor(1) as pool, triton.AsyncCompileMode(pool):
            pool.submit(gate.wait, 60)
            submitted = kernel.warmup(x, 100, **ARGUMENTS)
            handle = tritonext.enable(ONE)
            gate.set()
            result = submitted.result()
            handle.disable()
    assert result.hash == stock.hash
    assert result.asm["ttgir"] == stock.asm["ttgir"]


# --- autotuning ------------------------------------------------------------------------------------------------------

CONFIGS = [triton.Config({"BLOCK": 512}, num_warps=2), triton.Config({"BLOCK": 1024}, num_warps=4)]


class Bench:
    """A benchmark that runs each configuration once and prefers one by its position."""

    def __init__(self, best):
        self.best = best
        self.calls = 0

    def __call__(self, run, quantiles):
        run()
        self.calls += 1
        return [0.0 if self.calls % len(CONFIGS) == self.best else 1.0] * 3


def tuner(kernel, bench, **options):
    return triton.autotune(CONFIGS, key=["n"], do_bench=bench, **options)(kernel)


def test_tuning_under_one_pipeline_says_nothing_about_another(device, x, kernel):
    bench = Bench(1)
    tuned = tuner(kernel, bench)
    tuned[(1,)](x, 100)
    assert (bench.calls, tuned.best_config) == (2, CONFIGS[0])
    bench.best = 0
    with tritonext.use(ONE):
        tuned[(1,)](x, 100)
        assert (bench.calls, tuned.best_config) == (4, CONFIGS[1])
        tuned[(1,)](x, 100)
        assert bench.calls == 4
    tuned[(1,)](x, 100)
    assert (bench.calls, tuned.best_config) == (4, CONFIGS[0])
    assert list(tuned.cache.values()) == [CONFIGS[0]]


def test_tuning_compiles_every_configuration_under_the_pipeline(ran, device, x, kernel):
    tuned = tuner(kernel, Bench(0))
    with tritonext.use(TWO):
        flags = ran("ttgir", lambda: tuned[(1,)](x, 100))
    assert flags.count("tritongpu-coalesce") == len(CONFIGS)
    after = [flags[at + 1] for at, flag in enumerate(flags) if flag == "tritongpu-coalesce"]
    assert after == ["sccp"] * len(CONFIGS)


def test_tuning_results_on_disk_are_kept_apart(device, x, kernel, cache):
    def tune(wrap=lambda tuned: tuned):
        bench = Bench(0)
        tuned = wrap(tuner(triton.jit(kernel.fn), bench, cache_results=True))
        tuned[(1,)](x, 100)
        return bench.calls

    assert (tune(), tune()) == (2, 0)
    with tritonext.use(ONE):
        assert (tune(), tune()) == (2, 0)
        assert (tune(tritonext.use(TWO)), tune(tritonext.use(TWO))) == (2, 0)
    assert (tune(tritonext.use(TWO)), tune(tritonext.use(TWO))) == (2, 0)
    # A decorated kernel and one in a region of the same pipeline share what is known about it.
    assert tune(tritonext.use(ONE)) == 0
    inside = triton.autotune(CONFIGS, key=["n"], do_bench=Bench(0), cache_results=True)(tritonext.use(ONE)(kernel))
    inside[(1,)](x, 100)
    assert inside._do_bench.calls == 0
    assert tune() == 0
    assert len(list(cache.rglob("*.autotune.json"))) == 4


# --- recorded specializations ----------------------------------------------------------------------------------------


@pytest.fixture
def recorded(device, x, monkeypatch):
    """Return the specialization data of a warm-up."""

    def record(kernel):
        data = []
        with monkeypatch.context() as patch:
            patch.setattr(
                knobs.runtime, "jit_cache_hook", lambda *, compile, **_: data.append(compile["specialization_data"])
            )
            result = kernel.warmup(x, 100, **ARGUMENTS)
        return data[0], result

    return record


def test_preload_compiles_under_the_pipeline_it_was_recorded_under(recorded, kernel, hits):
    with tritonext.use(ONE):
        data, expected = recorded(kernel)
        assert triton.jit(kernel.fn).preload(data).hash == expected.hash
    stock_data, stock = recorded(kernel)
    assert triton.jit(kernel.fn).preload(stock_data).hash == stock.hash
    assert hits == [False, True, False, True]
    for scope, other in ((tritonext.use(ONE), stock_data), (tritonext.use(TWO), data), (tritonext.use_stock(), data)):
        with scope, pytest.raises(PipelineError, match="recorded under other pipelines") as caught:
            triton.jit(kernel.fn).preload(other)
        assert caught.value.found != caught.value.expected


def test_decorated_kernel_preloads_what_it_recorded(recorded, kernel, hits):
    decorated = tritonext.use(ONE)(kernel)
    data, expected = recorded(decorated)
    again = tritonext.use(ONE)(triton.jit(kernel.fn))
    loaded = again.preload(data)
    assert loaded.hash == expected.hash
    assert hits == [False, True]
    (_, kernels), *_ = [(device, entry[0]) for device, entry in again.device_caches.items()]
    assert list(kernels) == [json.loads(data)["key"]]


# --- the warm-up pool ------------------------------------------------------------------------------------------------


@pytest.fixture
def pool(cache, monkeypatch):
    pytest.importorskip("cloudpickle", reason="triton's warm-up pool needs cloudpickle")
    from triton import _compile_warmup_pool

    dispatcher = _compile_warmup_pool.ProcessPoolWarmupDispatcher(max_workers=1, trace_directory=None, phase="test")
    yield dispatcher
    dispatcher.finish()


def note(inner, source, metadata, info):
    return inner(source, metadata) + "\n// noted\n"


def test_warm_up_pool_compiles_under_the_pipelines_of_the_capture(pool, device, x, kernel, other_kernel, hits):
    """Workers fill the cache; the launches that follow find every kernel, under each pipeline its own."""
    noted = tritonext.use(Pipeline([wrap_stage("ptx", note)], name="note"))
    decorated = noted(other_kernel)
    tuned = tritonext.use(TWO)(tuner(triton.jit(kernel.fn), Bench(0)))

    def dispatch(kernel, **options):
        pool.dispatch(x, 100, kernel=kernel, grid=(1,), test=None, **options)

    dispatch(kernel, BLOCK=1024)
    with tritonext.use(ONE), noted:
        dispatch(kernel, BLOCK=1024)
    dispatch(decorated, BLOCK=1024)
    dispatch(tuned)
    for future in pool._pending:
        future.result()
    assert len(pool._pending) == 5
    assert hits == []
    stock = kernel.warmup(x, 100, **ARGUMENTS)
    with tritonext.use(ONE), noted:
        changed = kernel.warmup(x, 100, **ARGUMENTS)
    again = decorated.warmup(x, 100, **ARGUMENTS)
    tuned.warmup(x, 100, grid=(1,))
    assert hits == [True] * 5
    assert changed.asm["ttgir"] != stock.asm["ttgir"]
    assert ["// noted" in result.asm["ptx"] for result in (stock, changed, again)] == [False, True, True]


def test_warm_up_pool_refuses_what_it_cannot_send(pool, device, x, kernel, monkeypatch):
    lock = threading.Lock()

    def held(inner, source, metadata, info):
        with lock:
            return inner(source, metadata)

    pipeline = Pipeline([wrap_stage("ptx", held, key="held")])
    with tritonext.use(pipeline), pytest.raises(PipelineError, match="cannot be sent to a warm-up worker") as caught:
        pool.dispatch(x, 100, kernel=kernel, grid=(1,), test=None, BLOCK=1024)
    assert "cannot pickle" in caught.value.found
    with monkeypatch.context() as patch:
        patch.setattr(pool, "_executor", None)
        with tritonext.use(ONE), pytest.raises(PipelineError, match="a shared warm-up coordinator"):
            pool.dispatch(x, 100, kernel=kernel, grid=(1,), test=None, BLOCK=1024)
    assert not pool._pending


def test_kernels_stay_kernels(kernel):
    assert isinstance(tritonext.use(ONE)(kernel), JITFunction)
    assert activation.known_state("nosuch") is None
