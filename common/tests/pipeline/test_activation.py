"""Where pipelines are active: regions, kernels, the process, threads, tasks, processes, unmodified scripts."""

import asyncio
import contextvars
import itertools
import threading
from types import SimpleNamespace

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import Pipeline, activation, disable_pass, insert_after, loader, wrap_stage
from tritonext.errors import OptionError, PipelineError
from tritonext.manifest import Requirement
from tritonext.testing import install_copy, run_python

COALESCE = ("ttgir", "ttgpuir.coalesce")
ONE = Pipeline([insert_after(*COALESCE, "common.sccp")], name="one")
TWO = Pipeline([insert_after(*COALESCE, "ttir.triton_licm")], name="two")
FLAGS = {"one": "sccp", "two": "triton-licm"}


def names():
    return [pipeline.name for pipeline in tritonext.active()]


@pytest.fixture(autouse=True)
def nothing_left():
    assert names() == []
    yield
    assert names() == []
    assert activation.current() is None


def test_nothing_is_active_at_first():
    assert tritonext.active() == ()
    assert triton.knobs.runtime.add_stages_inspection_hook is None


def test_scopes_nest_outer_first():
    outer, inner = tritonext.use(ONE), tritonext.use(TWO)
    with outer:
        assert names() == ["one"]
        with inner:
            assert names() == ["one", "two"]
        assert names() == ["one"]
    with inner, outer:
        assert names() == ["two", "one"]
    with tritonext.use(TWO, ONE):
        assert names() == ["two", "one"]


def test_scope_is_left_on_an_exception():
    with pytest.raises(KeyError), tritonext.use(ONE):
        raise KeyError
    assert names() == []


def test_one_scope_object_can_be_entered_again_inside_itself():
    scope = tritonext.use(ONE)
    with scope, scope:
        assert names() == ["one"]
    assert names() == []


def test_pipeline_that_is_active_is_not_added_again():
    with tritonext.use(ONE), tritonext.use(TWO), tritonext.use(Pipeline(ONE.steps, name="copy")):
        assert names() == ["one", "two"]


def test_inner_pipeline_of_an_extension_holds_in_place_of_the_outer():
    outer = Pipeline([], name="outer", extension=None)
    first = Pipeline(ONE.steps, name="first")
    object.__setattr__(first, "extension", "x")
    second = Pipeline(TWO.steps, name="second")
    object.__setattr__(second, "extension", "x")
    for pipeline in (first, second):
        # The extension is not installed; its content does not matter here.
        object.__setattr__(pipeline, "_key", pipeline.name)
    assert [p.name for p in activation._compose((first, outer), (second,))] == ["second", "outer"]


def test_extensions_have_an_order_of_their_own(monkeypatch):
    def required_by(name, *requires):
        manifest = SimpleNamespace(requires=tuple(map(Requirement, requires)))
        return SimpleNamespace(extension=SimpleNamespace(manifest=manifest))

    # "a" comes behind "c", which it requires by way of "between".
    loaded = {"a": required_by("a", "between"), "between": required_by("between", "c"), "c": required_by("c")}
    monkeypatch.setattr(loader, "loaded", lambda: loaded)
    pipelines = {}
    for identifier in "abc":
        pipelines[identifier] = Pipeline(ONE.steps, name=identifier)
        object.__setattr__(pipelines[identifier], "extension", identifier)
        # They are not installed; their content does not matter here.
        object.__setattr__(pipelines[identifier], "_key", identifier)
    states = []
    for order in itertools.permutations("abc"):
        first, *others = (pipelines[identifier] for identifier in order)
        states.append(activation.state_of((first, TWO, *others)))
    assert {tuple(pipeline.name for pipeline in state.pipelines) for state in states} == {("c", "two", "a", "b")}
    assert len({state.key for state in states}) == 1


def test_scopes_left_in_another_order_are_refused():
    outer, inner = tritonext.use(ONE), tritonext.use(TWO)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(PipelineError, match="left in another order"):
        outer.__exit__(None, None, None)
    assert names() == ["two"]
    inner.__exit__(None, None, None)
    with pytest.raises(PipelineError, match="left in another order"):
        inner.__exit__(None, None, None)


def test_generator_closed_inside_another_scope_leaves_nothing_behind():
    def generate():
        with tritonext.use(ONE):
            yield names()

    generator = generate()
    assert next(generator) == ["one"]
    with tritonext.use(TWO), pytest.raises(PipelineError, match="left in another order"):
        generator.close()
    assert names() == []


def test_stock_scope_hides_everything_outside():
    handle = tritonext.enable(ONE)
    try:
        with tritonext.use(TWO):
            assert names() == ["one", "two"]
            with tritonext.use_stock():
                assert names() == []
                assert triton.knobs.runtime.add_stages_inspection_hook is None
                with tritonext.use(TWO):
                    assert names() == ["two"]
            assert names() == ["one", "two"]
    finally:
        handle.disable()


def test_process_wide_activation_reaches_other_threads_and_open_scopes():
    seen = []

    def look():
        seen.append(names())

    with tritonext.use(TWO):
        handle = tritonext.enable(ONE)
        assert names() == ["one", "two"]
        run_in_thread(look)
        handle.disable()
        assert names() == ["two"]
        handle.disable()
        run_in_thread(look)
    assert seen == [["one"], []]


def run_in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()


def test_process_wide_activations_end_independently():
    first, second = tritonext.enable(ONE), tritonext.enable(TWO)
    assert names() == ["one", "two"]
    first.disable()
    assert names() == ["two"]
    second.disable()
    assert names() == []


def test_thread_starts_without_scopes_unless_it_copies_the_context():
    seen = []
    with tritonext.use(ONE):
        run_in_thread(lambda: seen.append(names()))
        context = contextvars.copy_context()
        run_in_thread(lambda: context.run(lambda: seen.append(names())))
    assert seen == [[], ["one"]]


def test_tasks_do_not_see_each_other():
    async def worker(pipeline, barrier):
        assert names() == ["outer"]
        with tritonext.use(pipeline):
            await barrier.wait()
            first = names()
            await asyncio.sleep(0)
            return first, names()

    async def main():
        barrier = asyncio.Event()
        tasks = [asyncio.create_task(worker(pipeline, barrier)) for pipeline in (ONE, TWO)]
        await asyncio.sleep(0)
        barrier.set()
        return await asyncio.gather(*tasks)

    with tritonext.use(Pipeline([disable_pass("ttir", "ttir.combine")], name="outer")):
        found = asyncio.run(main())
    assert found == [(["outer", "one"],) * 2, (["outer", "two"],) * 2]


def test_threads_compile_under_their_own_pipelines(compiled):
    """Two threads, held together at every stage, give what each gives alone."""
    meeting = threading.Barrier(2, timeout=120)

    def meet(inner, source, metadata, info):
        meeting.wait()
        result = inner(source, metadata)
        meeting.wait()
        return result

    def edits(name):
        steps = [
            disable_pass("ttgir", name),
            wrap_stage("ttgir", meet, key="meet"),
            wrap_stage("llir", meet, key="meet"),
        ]
        return Pipeline(steps, name=name)

    pipelines = {name: edits(name) for name in ("ttgpuir.coalesce", "ttgpuir.reorder_instructions")}
    alone = {}
    for name in pipelines:
        with tritonext.use(Pipeline([disable_pass("ttgir", name)])):
            alone[name] = compiled(triton.jit(scaled.fn)).asm
    assert alone["ttgpuir.coalesce"]["ttgir"] != alone["ttgpuir.reorder_instructions"]["ttgir"]
    together = {}

    def work(name):
        with tritonext.use(pipelines[name]):
            together[name] = compiled(triton.jit(scaled.fn)).asm

    threads = [threading.Thread(target=work, args=(name,)) for name in pipelines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in pipelines:
        assert together[name]["ttgir"] == alone[name]["ttgir"]
        assert together[name]["cubin"] == alone[name]["cubin"]


@triton.jit
def scaled(x, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK // 16)
    columns = tl.arange(0, 16)
    at = rows[:, None] + columns[None, :] * (BLOCK // 16)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


# --- decorated kernels -----------------------------------------------------------------------------------------------

CONFIGS = [triton.Config({"BLOCK": 128}, num_warps=1), triton.Config({"BLOCK": 256}, num_warps=2)]


def autotuned(kernel):
    return triton.autotune(CONFIGS, key=["n"])(kernel)


def heuristic(kernel):
    return triton.heuristics({"BLOCK": lambda arguments: 128})(kernel)


def plain(kernel):
    return kernel


@pytest.mark.parametrize(
    ("wrap", "block"),
    [(plain, {"BLOCK": 128}), (autotuned, {}), (heuristic, {})],
    ids=["jit", "autotune", "heuristics"],
)
@pytest.mark.parametrize("place", ["outside", "inside"])
@pytest.mark.parametrize("call", ["launch", "warmup"])
def test_decorated_kernel_compiles_under_its_pipeline(ran, device, kernel, x, wrap, block, place, call):
    use = tritonext.use(ONE)
    decorated = use(wrap(kernel)) if place == "outside" else wrap(use(kernel))

    def launch(kernel):
        if call == "launch":
            return lambda: kernel[(1,)](x, 100, **block)
        return lambda: kernel.warmup(x, 100, grid=(1,), **block)

    assert "sccp" in first_stage(ran("ttgir", launch(decorated)))
    assert "sccp" not in first_stage(ran("ttgir", launch(wrap(kernel))))
    assert names() == []


def first_stage(flags):
    """Return the passes of the first of several compilations, without what the stock pipeline ends with."""
    end = flags.index("tritongpu-F32DotTC")
    return flags[:end]


def test_decorating_leaves_the_kernel_as_it_is(device, kernel, x):
    kernel[(1,)](x, 100, BLOCK=128)
    stock = kernel.warmup(x, 100, grid=(1,), BLOCK=128)
    decorated = tritonext.use(ONE)(kernel)
    assert type(decorated) is type(kernel)
    changed = decorated.warmup(x, 100, grid=(1,), BLOCK=128)
    assert changed.hash != stock.hash
    assert decorated.warmup(x, 100, grid=(1,), BLOCK=128) is changed
    assert kernel.warmup(x, 100, grid=(1,), BLOCK=128) is stock
    assert decorated.cache_key == kernel.cache_key


def test_decorators_add_up(ran, device, kernel, x):
    decorated = tritonext.use(ONE)(tritonext.use(TWO)(kernel))
    assert [pipeline.name for pipeline in decorated.tritonext_pipelines] == ["one", "two"]
    flags = ran("ttgir", lambda: decorated.warmup(x, 100, grid=(1,), BLOCK=128))
    at = flags.index("tritongpu-coalesce")
    assert flags[at + 1 : at + 3] == ["sccp", "triton-licm"]
    compiled = decorated.warmup(x, 100, grid=(1,), BLOCK=128)
    assert decorated.warmup(x, 100, grid=(1,), BLOCK=128) is compiled


def test_decorated_kernel_adds_to_the_region_around_it(ran, device, kernel, x):
    decorated = tritonext.use(TWO)(kernel)
    with tritonext.use(ONE):
        flags = ran("ttgir", lambda: decorated.warmup(x, 100, grid=(1,), BLOCK=128))
    at = flags.index("tritongpu-coalesce")
    assert flags[at + 1 : at + 3] == ["sccp", "triton-licm"]
    with tritonext.use_stock():
        assert "triton-licm" in first_stage(ran("ttgir", lambda: decorated.warmup(x, 100, grid=(1,), BLOCK=128)))


def test_decorated_kernel_compiles_under_its_pipeline_without_a_launch(compiled, kernel):
    decorated = tritonext.use(ONE)(kernel)
    with tritonext.use(ONE):
        expected = compiled(kernel).hash
    assert compiled(decorated).hash == expected
    assert compiled(kernel).hash != expected


@triton.jit
def helper(value):
    return value * 2


decorated_helper = tritonext.use(ONE)(helper)


@triton.jit
def calls_stock(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, helper(tl.load(x + at)))


@triton.jit
def calls_decorated(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, decorated_helper(tl.load(x + at)))


def test_decorated_kernel_can_be_called_by_another(ran, compiled):
    stock = compiled(calls_stock)
    assert "sccp" not in first_stage(ran("ttgir", lambda: compiled(calls_decorated)))
    lines = [line for line in stock.asm["ptx"].splitlines() if line.startswith("\t") and ".loc" not in line]
    found = compiled(calls_decorated).asm["ptx"]
    assert lines
    assert all(line in found for line in lines if "calls_stock" not in line and "$L__" not in line)


@pytest.mark.parametrize("value", [print, 7, "kernel"])
def test_only_kernels_can_be_decorated(value):
    with pytest.raises(PipelineError, match="use decorates kernels") as caught:
        tritonext.use(ONE)(value)
    assert caught.value.found == repr(value)


def test_interpreted_kernel_is_left_alone():
    done = run_python("-c", INTERPRETED, environment={"TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done
    assert done.stdout == "InterpretedFunction True\n"


INTERPRETED = """
import triton, tritonext
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import jit
import linecache
source = "def kernel(x):\\n    pass\\n"
linecache.cache["kernel.py"] = (len(source), None, source.splitlines(True), "kernel.py")
exec(compile(source, "kernel.py", "exec"))
stock = jit(kernel)
print(type(stock).__name__, tritonext.use(tritonext.Pipeline([]))(stock) is stock)
"""


# --- descriptions and the environment variable ------------------------------------------------------------------------


def test_descriptions():
    assert activation.parse_specs(" layout , warpspec:option=value:other=1,, ") == [
        "layout",
        "warpspec:option=value:other=1",
    ]
    assert activation.parse_spec("warpspec:option=value:other=a=b") == ("warpspec", {"option": "value", "other": "a=b"})


def test_described_extension_is_looked_for_once(probe, monkeypatch):
    with tritonext.use("probe:mark=once"):
        (first,) = tritonext.active()
    monkeypatch.setattr("tritonext.registry.scan", pytest.fail)
    with tritonext.use("probe:mark=once"):
        assert tritonext.active() == (first,)


@pytest.mark.parametrize("text", ["", ":a=b", "layout:", "layout:a", "layout:=b", "lay out", "layout;x"])
def test_malformed_description(text):
    with pytest.raises(OptionError, match="the description of a pipeline is malformed"):
        activation.parse_spec(text)


AUTOLOAD = "import sys, tritonext._autoload\nassert 'triton' not in sys.modules\n"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("nosuch", "tritonext.errors.UnknownExtensionError: no installed extension is called 'nosuch'"),
        ("layout:", "tritonext.errors.OptionError: the description of a pipeline is malformed"),
    ],
)
def test_mistake_in_the_variable_is_an_error_of_the_import(value, error):
    code = f"{AUTOLOAD}import triton\nprint('imported')"
    done = run_python("-c", code, environment={"TRITONEXT_ENABLE": value})
    assert done.returncode == 1
    assert "imported" not in done.stdout
    assert error in done.stderr
    assert f"from the environment: TRITONEXT_ENABLE={value}" in done.stderr


OWN_PIPELINE = """
def pipeline():
    from dataclasses import replace
    from tritonext.pipeline import of_passes
    return replace(of_passes(tritonext.extension("probe")), name="own")
"""


def test_a_package_that_imports_triton_is_completed_first(probe, tmp_path):
    """Its own function `pipeline` is not there yet when triton is."""
    with (install_copy(probe, tmp_path) / "__init__.py").open("a") as package:
        package.write(OWN_PIPELINE)
    code = f"{AUTOLOAD}import tritonext_probe, tritonext\nprint([pipeline.name for pipeline in tritonext.active()])\n"
    code += "print(type(tritonext_probe.__spec__).__name__)"
    done = run_python("-c", code, path=(tmp_path,), environment={"TRITONEXT_ENABLE": "probe"})
    assert done.returncode == 0, done
    assert done.stdout == "['own']\nModuleSpec\n"


def test_empty_variable_activates_nothing():
    code = f"{AUTOLOAD}import triton, tritonext\nprint(tritonext.active(), triton.knobs.runtime_knobs.__dict__.get(\n"
    code += "    'add_stages_inspection_hook'))"
    done = run_python("-c", code, environment={"TRITONEXT_ENABLE": " "})
    assert done.returncode == 0, done
    assert done.stdout == "() None\n"


CHILD = """
import multiprocessing, sys

def look(_):
    import triton, tritonext
    return [(p.name, [str(s) for s in p.steps]) for p in tritonext.active()]

if __name__ == "__main__":
    import triton
    spec = triton.__spec__
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(look, [0])[0]
    print(look(0) == there, [name for name, _ in there], type(spec.loader).__name__, len(there[0][1]) > 0)
"""


def test_variable_activates_in_scripts_and_their_workers(probe, tmp_path):
    """The wheel's .pth file is put where the interpreter looks at start; the script knows nothing of tritonext."""
    script = tmp_path / "script.py"
    script.write_text(CHILD)
    site = tmp_path / "site"
    site.mkdir()
    # sitecustomize stands in for the .pth file, which only counts in a site directory.
    (site / "sitecustomize.py").write_text(
        'import os; os.environ.get("TRITONEXT_ENABLE") and __import__("tritonext._autoload")\n'
    )
    done = run_python(script, path=(site,), environment={"TRITONEXT_ENABLE": "probe:mark=worker"})
    assert done.returncode == 0, done
    assert done.stdout == "True ['probe'] SourceFileLoader True\n"
