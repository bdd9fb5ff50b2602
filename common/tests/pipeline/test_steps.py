"""Steps, references to passes and pipelines as data: what is refused, and what the key covers."""

import functools
import math
import pickle
from types import SimpleNamespace

import pytest

import tritonext
from tritonext import (
    Anchor,
    KernelOption,
    PassRef,
    Pipeline,
    disable_pass,
    insert_after,
    insert_before,
    replace_pass,
    replace_pipeline,
    replace_stage,
    wrap_stage,
)
from tritonext.errors import PipelineError, UnknownPassError

COALESCE = "ttgpuir.coalesce"


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("ttgpuir.coalesce", Anchor("ttgpuir.coalesce")),
        ("common.cse#2", Anchor("common.cse", 2)),
        ("nvidia.ttnvgpuir.tma_lowering#-1", Anchor("nvidia.ttnvgpuir.tma_lowering", -1)),
        ("ttgpuir.prefetch?", Anchor("ttgpuir.prefetch", optional=True)),
        ("common.cse#2?", Anchor("common.cse", 2, optional=True)),
    ],
)
def test_anchor_reads_what_it_prints(text, anchor):
    assert Anchor.parse(text) == anchor
    assert str(anchor) == text


@pytest.mark.parametrize(
    "text", ["", "coalesce", "ttgpuir.coalesce#", "ttgpuir.coalesce#0", "Ttgpuir.x", "a.b#1#2", "a.b?#1", "a.b??", 7]
)
def test_malformed_anchor_is_refused(text):
    with pytest.raises(PipelineError, match="an anchor is malformed") as caught:
        Anchor.parse(text)
    assert caught.value.found == repr(text)


def test_options_become_text_in_one_order():
    ref = PassRef("layout_localize_stores", {"b": True, "a": [1, 2], "c": "x"})
    assert str(ref) == "layout_localize_stores{a=1,2 b=true c=x}"
    assert ref == PassRef("layout_localize_stores", {"c": "x", "a": (1, 2), "b": True})


def test_options_take_values_of_the_kernel():
    ref = PassRef("layout_localize_stores", {"warps": KernelOption("num_warps"), "fast": KernelOption("fast"), "b": 1})
    assert str(ref) == "layout_localize_stores{b=1 fast=<fast> warps=<num_warps>}"
    assert ref.fixed_options == ["b=1"]
    assert ref.options_of(SimpleNamespace(num_warps=8, fast=True)) == ["b=1", "fast=true", "warps=8"]
    with pytest.raises(PipelineError, match="an option that kernels do not have") as caught:
        ref.options_of(SimpleNamespace(num_warps=8))
    assert caught.value.found == "fast"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "layout-localize-stores"}, "the name of a pass is malformed"),
        ({"name": "ttgpuir.coalesce#1"}, "the name of a pass is malformed"),
        ({"name": "ttgpuir.coalesce?"}, "the name of a pass is malformed"),
        ({"name": "ttgpuir.prefetch", "options": {"a": 1}}, "a stock pass takes positional arguments"),
        ({"name": "layout_localize_stores", "args": (1,)}, "a pass of an extension takes options"),
        ({"name": "ttgpuir.prefetch", "args": 4}, "a sequence is expected"),
        ({"name": "ttgpuir.prefetch", "args": "4"}, "a sequence is expected"),
        ({"name": "layout_localize_stores", "options": "loads=true"}, "the options of a pass are malformed"),
        ({"name": "layout_localize_stores", "options": None}, "the options of a pass are malformed"),
        ({"name": None}, "the name of a pass is malformed"),
        ({"name": 7}, "the name of a pass is malformed"),
    ],
)
def test_malformed_pass_is_refused(arguments, message):
    with pytest.raises(PipelineError, match=message):
        PassRef(**arguments)


def test_the_flag_of_a_pass_is_no_name_but_hints_at_it():
    with pytest.raises(PipelineError, match="the name of a pass is malformed") as caught:
        PassRef("layout-localize-stores")
    assert caught.value.hint == "write 'layout_localize_stores'"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: insert_after("ptx", COALESCE, "common.cse"), "only some stages run passes"),
        (lambda: insert_before("ttgir", COALESCE), "a step adds no pass"),
        (lambda: disable_pass("ttgir", COALESCE, targets="cuda"), "a sequence is expected"),
        (lambda: disable_pass("ttgir", COALESCE, targets=None), "a sequence is expected"),
        (lambda: disable_pass("ttgir", COALESCE, targets=("nvidia",)), "a value is malformed"),
        (lambda: Pipeline([], targets=("cuda",)), "a value is malformed"),
        (lambda: Pipeline([], languages=("c",)), "a value is malformed"),
        (lambda: Pipeline([], languages=()), "a pipeline for no language changes nothing"),
        (lambda: Pipeline(disable_pass("ttgir", COALESCE)), "a sequence is expected"),
        (lambda: insert_after("ttgir", COALESCE, None), "the name of a pass is malformed"),
        (lambda: wrap_stage("ptx", "not callable"), "a step needs a callable"),
        (lambda: Pipeline(["ttgpuir.coalesce"]), "a pipeline is made of steps"),
        (lambda: tritonext.use(), "use needs at least one pipeline"),
        (lambda: tritonext.enable(), "enable needs at least one pipeline"),
        (lambda: tritonext.use(7), "use takes extension ids and pipelines"),
    ],
)
def test_malformed_step_is_refused(make, message):
    with pytest.raises(PipelineError, match=message):
        make()


def test_pass_of_no_extension_is_named():
    with pytest.raises(UnknownPassError, match="no extension has a pass 'nosuch_pass'"):
        tritonext.use(Pipeline([insert_after("ttgir", COALESCE, "nosuch_pass")]))


def _wrapper(inner, source, metadata, info):
    return inner(source, metadata)


def _other_wrapper(inner, source, metadata, info):
    metadata["other"] = True
    return inner(source, metadata)


def _scaled(factor):
    def wrapper(inner, source, metadata, info):
        metadata["factor"] = math.sqrt(factor)
        return inner(source, metadata)

    return wrapper


def _uses_helper(inner, source, metadata, info):
    return _wrapper(inner, source, metadata, info)


DIFFERENT = [
    [],
    [disable_pass("ttgir", COALESCE)],
    [disable_pass("ttgir", COALESCE, targets=("cuda",))],
    [disable_pass("ttgir", "ttgpuir.coalesce#1")],
    [insert_before("ttgir", COALESCE, "common.cse")],
    [insert_after("ttgir", COALESCE, "common.cse")],
    [replace_pass("ttgir", COALESCE, "common.cse")],
    [insert_after("ttgir", COALESCE, "common.cse", "common.canonicalizer")],
    [insert_after("ttgir", COALESCE, "common.canonicalizer", "common.cse")],
    [insert_after("ttgir", COALESCE, PassRef("ttgpuir.assign_latencies", args=(2,)))],
    [insert_after("ttgir", COALESCE, PassRef("ttgpuir.assign_latencies", args=(3,)))],
    [wrap_stage("ptx", _wrapper)],
    [wrap_stage("cubin", _wrapper)],
    [wrap_stage("ptx", _other_wrapper)],
    [wrap_stage("ptx", _uses_helper)],
    [wrap_stage("ptx", _scaled(2))],
    [wrap_stage("ptx", _scaled(3))],
    [wrap_stage("ptx", functools.partial(_wrapper))],
    [wrap_stage("ptx", _wrapper, key="1")],
    [wrap_stage("ptx", _wrapper, key="2")],
    [replace_stage("ptx", _wrapper)],
    [replace_pipeline(_wrapper)],
]


def test_every_difference_changes_the_key():
    keys = [Pipeline(steps).key() for steps in DIFFERENT]
    keys.append(Pipeline([], targets=("cuda:90",)).key())
    keys.append(Pipeline([], languages=("gluon",)).key())
    # functools.partial without arguments calls the same code.
    assert len(set(keys)) == len(keys) - 1


def test_equal_pipelines_have_equal_keys():
    for steps in DIFFERENT:
        assert Pipeline(steps).key() == Pipeline(list(steps)).key()
    assert Pipeline([], name="a").key() == Pipeline([], name="b").key()
    assert Pipeline([wrap_stage("ptx", _scaled(2))]).key() == Pipeline([wrap_stage("ptx", _scaled(2))]).key()


def _helper(marks):
    return {**marks, "helped": 1}


def _uses_helper_inside(inner, source, metadata, info):
    return [(lambda: _helper(metadata))() for _ in range(1)]


def test_what_inner_functions_refer_to_reaches_the_key(monkeypatch):
    before = wrap_stage("ptx", _uses_helper_inside).function_key
    monkeypatch.setitem(globals(), "_helper", _wrapper)
    assert wrap_stage("ptx", _uses_helper_inside).function_key != before


def test_functions_of_one_line_have_keys_of_their_own():
    one, two = (lambda inner, source, metadata, info: "1"), (lambda inner, source, metadata, info: "2")  # fmt: skip
    assert wrap_stage("ptx", one).function_key != wrap_stage("ptx", two).function_key


def test_values_that_hold_themselves_have_a_key():
    many, named = [1], {"a": 1}
    many.append(many)
    named["self"] = named
    keys = {wrap_stage("ptx", _refers_to(value)).function_key for value in (many, named, [1, [1]], [2, [1]], {"a": 2})}
    assert len(keys) == 5


def test_pickling_keeps_a_pipeline_and_computes_its_key_again():
    pipeline = Pipeline([insert_after("ttgir", COALESCE, "common.cse"), wrap_stage("ptx", _wrapper, key="1")], name="p")
    key = pipeline.key()
    copy = pickle.loads(pickle.dumps(pipeline))
    assert "_key" not in vars(copy)
    assert (copy, copy.key()) == (pipeline, key)


class _Callable:
    def __call__(self, inner, source, metadata, info):
        return inner(source, metadata)

    def method(self, inner, source, metadata, info):
        return inner(source, metadata)


def _refers_to(value):
    def wrapper(inner, source, metadata, info):
        return value

    return wrapper


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (_Callable(), "an object of type _Callable"),
        (_Callable().method, "a method bound to an instance of _Callable"),
        (_refers_to(object()), "an object of type object"),
        (eval("lambda inner, source, metadata, info: None"), "<lambda>, whose source is not available"),
    ],
)
def test_callable_without_content_needs_a_key(function, found):
    with pytest.raises(PipelineError, match="no content that a cache key could cover") as caught:
        wrap_stage("ptx", function)
    assert caught.value.found == found
    assert wrap_stage("ptx", function, key="v1").function is function
