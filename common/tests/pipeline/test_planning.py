"""Every kind of step in every kind of stage, on both backends and both front ends."""

from dataclasses import replace

import pytest
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import tritonext
from tritonext import (
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
from tritonext._triton import pipeline as planning
from tritonext.errors import (
    AmbiguousAnchorError,
    PipelineConflictError,
    PipelineError,
    UnknownAnchorError,
    UnknownPassError,
)
from tritonext.offline import Specialization, parse_target
from tritonext.pipeline import assembler_log
from tritonext.testing import kernels

TARGETS = ["cuda:90", "hip:gfx942"]
BINARY = {"cuda:90": "cubin", "hip:gfx942": "hsaco"}
TEXT = {"cuda:90": "ptx", "hip:gfx942": "amdgcn"}
CHAIN = [("common.sccp", "sccp"), ("ttir.triton_licm", "triton-licm")]


@pytest.fixture
def flags(ran, compiled, kernel):
    """Return the flags of one stage of the kernel, under a pipeline."""

    def compile_under(steps, stage, target="cuda:90"):
        with tritonext.use(Pipeline(steps, name="test")):
            return ran(stage, lambda: compiled(kernel, target))

    return compile_under


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("stage", "anchor", "flag"),
    [
        ("ttir", "ttir.combine", "triton-combine"),
        ("ttgir", "ttgpuir.coalesce", "tritongpu-coalesce"),
        ("llir", "convert.scf_to_cf", "convert-scf-to-cf"),
    ],
)
def test_insert_replace_and_disable(flags, target, stage, anchor, flag):
    stock = flags([], stage, target)
    at = stock.index(flag)
    before = flags([insert_before(stage, anchor, *(name for name, _ in CHAIN))], stage, target)
    assert before == [*stock[:at], *(name for _, name in CHAIN), *stock[at:]]
    after = flags([insert_after(stage, anchor, *(name for name, _ in CHAIN))], stage, target)
    assert after == [*stock[: at + 1], *(name for _, name in CHAIN), *stock[at + 1 :]]
    if stage == "ttir":
        # The later stages do not survive without the passes named here.
        assert flags([disable_pass(stage, anchor)], stage, target) == [*stock[:at], *stock[at + 1 :]]
        replaced = flags([replace_pass(stage, anchor, "common.sccp")], stage, target)
        assert replaced == [*stock[:at], "sccp", *stock[at + 1 :]]


def test_disable_and_replace_in_ttgir(flags):
    stock = flags([], "ttgir")
    at = stock.index("tritongpu-reorder-instructions")
    anchor = "ttgpuir.reorder_instructions"
    assert flags([disable_pass("ttgir", anchor)], "ttgir") == [*stock[:at], *stock[at + 1 :]]
    assert flags([replace_pass("ttgir", anchor, "common.cse")], "ttgir") == [*stock[:at], "cse", *stock[at + 1 :]]


def test_disable_in_llir(flags):
    stock = flags([], "llir")
    assert stock.count("cse") == 2
    last = len(stock) - 1 - stock[::-1].index("cse")
    assert flags([disable_pass("llir", "common.cse#-1")], "llir") == [*stock[:last], *stock[last + 1 :]]


@pytest.mark.parametrize(("occurrence", "index"), [(1, 0), (2, 1), (4, 3), (-1, -1), (-4, 0)])
def test_occurrences_count_from_both_ends(flags, occurrence, index):
    flag = "tritongpu-remove-layout-conversions"
    found = flags([insert_after("ttgir", f"ttgpuir.remove_layout_conversions#{occurrence}", "common.sccp")], "ttgir")
    places = [position for position, name in enumerate(found) if name == flag]
    assert len(places) == 4
    assert found[places[index] + 1] == "sccp"


def test_occurrences_count_over_the_pass_managers_of_a_stage(flags):
    # gfx942 converts in a pass manager of its own and runs everything else in a second one.
    found = flags(
        [
            insert_after("ttgir", "ttir.convert_to_ttgpuir", "common.sccp"),
            insert_before("ttgir", "ttgpuir.coalesce", "ttir.triton_licm"),
        ],
        "ttgir",
        "hip:gfx942",
    )
    assert found[:4] == ["convert-triton-to-tritongpu", "sccp", "triton-licm", "tritongpu-coalesce"]


def test_stock_pass_takes_arguments(flags):
    ref = PassRef("ttgpuir.assign_latencies", args=(7,))
    found = flags([insert_before("ttgir", "ttgpuir.schedule_loops", ref)], "ttgir")
    at = found.index("tritongpu-schedule-loops")
    assert found[at - 2 : at] == ["tritongpu-assign-latencies"] * 2


def test_conditional_pass_exists_only_where_it_runs(compiled, kernel):
    steps = Pipeline([disable_pass("ttgir", "ttgpuir.prefetch")])
    with tritonext.use(steps):
        compiled(kernel, "cuda:80")
        with pytest.raises(UnknownAnchorError, match=r"the stage runs no pass 'ttgpuir\.prefetch'"):
            compiled(kernel, "cuda:90")


def test_optional_anchor_changes_nothing_where_the_pass_does_not_run(flags, compiled, kernel):
    step = [insert_before("ttgir", "ttgpuir.prefetch?", "common.sccp")]
    assert flags(step, "ttgir", "cuda:90") == flags([], "ttgir", "cuda:90")
    assert len(flags(step, "ttgir", "cuda:80")) == len(flags([], "ttgir", "cuda:80")) + 1
    misspelt = Pipeline([disable_pass("ttgir", "ttgpuir.prefetsh?")])
    with tritonext.use(misspelt), pytest.raises(UnknownPassError, match=r"triton has no pass 'ttgpuir\.prefetsh'"):
        compiled(kernel)
    often = Pipeline([disable_pass("ttgir", "common.canonicalizer?")])
    with tritonext.use(often), pytest.raises(AmbiguousAnchorError):
        compiled(kernel)


def test_absent_anchor_lists_what_exists(compiled, kernel, cache):
    with (
        tritonext.use(Pipeline([disable_pass("ttgir", "ttgpuir.coalesc")], name="mine")),
        pytest.raises(UnknownAnchorError) as caught,
    ):
        compiled(kernel)
    error = caught.value
    assert error.where == "pipeline mine, disable ttgir ttgpuir.coalesc, target cuda:90"
    assert error.details == tuple(planning.stock(parse_target("cuda:90"), {}).anchors["ttgir"])
    assert "ttgpuir.coalesce" in error.hint
    assert not list(cache.rglob("*.ttir"))


def test_ambiguous_anchor_lists_its_occurrences(compiled, kernel, cache):
    with tritonext.use(Pipeline([disable_pass("ttir", "common.canonicalizer")])):
        compiled(kernel)
    with (
        tritonext.use(Pipeline([disable_pass("ttgir", "common.canonicalizer")])),
        pytest.raises(AmbiguousAnchorError, match=r"'common\.canonicalizer' 4 times") as caught,
    ):
        compiled(kernel)
    assert caught.value.expected == ", ".join(f"common.canonicalizer#{index}" for index in range(1, 5))


@pytest.mark.parametrize("occurrence", [5, -5])
def test_occurrence_beyond_the_stage(compiled, kernel, occurrence):
    anchor = f"ttgpuir.remove_layout_conversions#{occurrence}"
    with (
        tritonext.use(Pipeline([disable_pass("ttgir", anchor)])),
        pytest.raises(UnknownAnchorError, match="4 times") as caught,
    ):
        compiled(kernel)
    assert caught.value.expected == "an occurrence up to 4"


def test_unknown_stock_pass_names_near_ones(compiled, kernel):
    with (
        tritonext.use(Pipeline([insert_after("ttgir", "ttgpuir.coalesce", "ttgpuir.prefetchh")])),
        pytest.raises(UnknownPassError, match=r"no pass 'ttgpuir\.prefetchh'") as caught,
    ):
        compiled(kernel)
    assert "ttgpuir.prefetch" in caught.value.hint


@pytest.mark.parametrize("arguments", [(), ("two",), (1, 2)])
def test_wrong_arguments_of_a_stock_pass(compiled, kernel, cache, arguments):
    ref = PassRef("ttgpuir.assign_latencies", args=arguments)
    with (
        tritonext.use(Pipeline([insert_before("ttgir", "ttgpuir.schedule_loops", ref)])),
        pytest.raises(PipelineError, match="does not take these arguments") as caught,
    ):
        compiled(kernel)
    assert caught.value.found == repr(arguments)
    assert "add_assign_latencies" in caught.value.details[0]
    assert not list(cache.rglob("*.ttir"))


@pytest.mark.parametrize("target", TARGETS)
def test_wrap_text_and_binary_stages(compiled, kernel, target):
    seen = []

    def watch(inner, source, metadata, info):
        result = inner(source, metadata)
        seen.append((info.stage, info.target, info.language, type(source).__name__, type(result).__name__))
        return result

    stages = ["ttir", "ttgir", "llir", TEXT[target], BINARY[target]]
    with tritonext.use(Pipeline([wrap_stage(stage, watch, key="watch") for stage in stages])):
        result = compiled(kernel, target)
    kinds = ["module", "module", "module", "str", "str", "bytes"]
    assert seen == [(stage, target, "triton", *kinds[at : at + 2]) for at, stage in enumerate(stages)]
    assert result.asm[BINARY[target]] == compiled(kernel, target).asm[BINARY[target]]


@pytest.mark.parametrize("target", TARGETS)
def test_replace_text_and_binary_stages(compiled, kernel, target):
    text, binary = TEXT[target], BINARY[target]
    stock = compiled(kernel, target)

    def stored_text(source, metadata, info):
        metadata["name"] = stock.name
        return stock.asm[text] + "\n// replaced\n"

    def stored_binary(source, metadata, info):
        assert source.endswith("// replaced\n")
        return stock.asm[binary] + b"replaced"

    steps = [replace_stage(text, stored_text, key="text"), replace_stage(binary, stored_binary, key="binary")]
    with tritonext.use(Pipeline(steps)):
        result = compiled(kernel, target)
    assert result.asm[text] == stock.asm[text] + "\n// replaced\n"
    assert result.asm[binary] == stock.asm[binary] + b"replaced"


def test_later_wrappers_are_outer(compiled, kernel):
    order = []

    def named(name):
        def wrapper(inner, source, metadata, info):
            order.append(name)
            return inner(source, metadata)

        return wrap_stage("ptx", wrapper, key=name)

    with tritonext.use(Pipeline([named("a"), named("b")])), tritonext.use(Pipeline([named("c")])):
        compiled(kernel)
    assert order == ["c", "b", "a"]


@pytest.mark.parametrize("target", TARGETS)
def test_replace_the_pipeline(compiled, kernel, target):
    names = []

    def rebuilt(stages, info):
        names.extend(stages)
        *front, last = stages.items()
        return dict([*front, ("note", lambda source, metadata: metadata.update(noted=True) or source), last])

    with tritonext.use(Pipeline([replace_pipeline(rebuilt, key="rebuilt")])):
        result = compiled(kernel, target)
    assert names == ["ttir", "ttgir", "llir", TEXT[target], BINARY[target]]
    assert result.metadata.noted
    assert result.asm[BINARY[target]] == compiled(kernel, target).asm[BINARY[target]]


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (lambda stages, info: None, "None"),
        (lambda stages, info: {}, "no stage"),
        (lambda stages, info: {"ttir": stages["ttir"]}, "ttir"),
        (lambda stages, info: {name: stages[name] for name in list(stages)[1:]}, "ttgir, llir, ptx, cubin"),
    ],
)
def test_unusable_replacement_of_the_pipeline(compiled, kernel, table, found):
    with (
        tritonext.use(Pipeline([replace_pipeline(table, key=found)])),
        pytest.raises(PipelineError, match="not a usable table of stages") as caught,
    ):
        compiled(kernel)
    assert caught.value.found == found


def test_unknown_stage_lists_the_stages(compiled, kernel):
    with (
        tritonext.use(Pipeline([wrap_stage("hsaco", _same)])),
        pytest.raises(PipelineError, match="the backend has no stage 'hsaco' here") as caught,
    ):
        compiled(kernel)
    assert caught.value.expected == "ttir, ttgir, llir, ptx, cubin"
    with tritonext.use(Pipeline([wrap_stage("hsaco", _same, targets=("hip",))])):
        compiled(kernel)


def _same(inner, source, metadata, info):
    return inner(source, metadata)


def _instead(source, metadata, info):
    return source


def _table(stages, info):
    return dict(stages)


COALESCE = ("ttgir", "ttgpuir.coalesce")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            replace_pass(*COALESCE, "common.cse"),
            replace_pass(*COALESCE, "common.sccp"),
            "a pass is replaced or disabled",
        ),
        (replace_pass(*COALESCE, "common.cse"), disable_pass("ttgir", "ttgpuir.coalesce#-1"), "a pass is replaced or"),
        (disable_pass(*COALESCE), replace_pass(*COALESCE, "common.cse"), "a pass is replaced or disabled twice"),
        (replace_stage("ptx", _instead), replace_stage("ptx", _instead), "a stage is replaced twice"),
        (replace_stage("ttgir", _instead), disable_pass(*COALESCE), "a replaced stage has steps inside it"),
        (disable_pass(*COALESCE), replace_stage("ttgir", _instead), "a replaced stage has steps inside it"),
        (replace_pipeline(_table), replace_pipeline(_table), "the whole pipeline is replaced twice"),
        (disable_pass(*COALESCE), replace_pipeline(_table), "a replaced pipeline has steps inside it"),
        (replace_pipeline(_table), replace_stage("ptx", _instead), "a replaced pipeline has steps inside it"),
    ],
)
def test_conflicts_name_both_pipelines(compiled, kernel, first, second, message):
    with (
        tritonext.use(Pipeline([first], name="first")),
        tritonext.use(Pipeline([second, disable_pass("ttir", "ttir.combine", targets=("hip",))], name="second")),
        pytest.raises(PipelineConflictError, match=message) as caught,
    ):
        compiled(kernel)
    text = str(caught.value)
    assert "first" in text
    assert "second" in text


@pytest.mark.parametrize("order", [1, -1])
def test_stage_of_a_replaced_pipeline_can_be_wrapped(compiled, kernel, order):
    def with_note(stages, info):
        *front, last = stages.items()
        return dict([*front, ("note", lambda source, metadata: source), last])

    def mark(inner, source, metadata, info):
        metadata["noted"] = True
        return inner(source, metadata)

    with tritonext.use(Pipeline([replace_pipeline(with_note), wrap_stage("note", mark)][::order])):
        assert compiled(kernel).metadata.noted
    with (
        tritonext.use(Pipeline([replace_pipeline(_table), wrap_stage("note", mark)][::order])),
        pytest.raises(PipelineError, match="no stage 'note' here") as caught,
    ):
        compiled(kernel)
    assert caught.value.expected == "ttir, ttgir, llir, ptx, cubin"


def test_what_may_share_a_place(ran, compiled, kernel):
    combine = ("ttir", "ttir.combine")
    outer = Pipeline([disable_pass(*combine), insert_before(*combine, "common.sccp")], name="outer")
    inner = Pipeline(
        [disable_pass("ttir", "ttir.combine#1"), insert_before(*combine, "ttir.triton_licm")], name="inner"
    )
    replaced = Pipeline([replace_pipeline(_table), wrap_stage("ttgir", _same)])
    stock = ran("ttir", lambda: compiled(kernel))
    at = stock.index("triton-combine")
    with tritonext.use(outer, inner):
        found = ran("ttir", lambda: compiled(kernel))
    assert found == [*stock[:at], "sccp", "triton-licm", *stock[at + 1 :]]
    with tritonext.use(replaced):
        assert compiled(kernel).asm["cubin"]


def test_steps_for_other_targets_are_left_out(flags):
    steps = [
        insert_after(*COALESCE, "common.sccp", targets=("hip",)),
        insert_after(*COALESCE, "ttir.triton_licm", targets=("cuda:100", "hip:gfx942")),
    ]
    assert flags(steps, "ttgir") == flags([], "ttgir")
    found = flags(steps, "ttgir", "hip:gfx942")
    assert found[found.index("tritongpu-coalesce") :][1:3] == ["sccp", "triton-licm"]


def test_pipeline_made_for_other_targets_says_so_once(compiled, kernel, recwarn):
    pipeline = Pipeline([disable_pass("ttgir", "ttgpuir.nosuch")], name="mine", targets=("cuda:100",))
    with tritonext.use(pipeline):
        with pytest.warns(UserWarning, match="the pipeline 'mine' is active but not made for cuda:90"):
            changed = compiled(kernel)
        recwarn.clear()
        compiled(triton.jit(kernel.fn), "cuda:90")
    assert not recwarn.list
    assert changed.asm["cubin"] == compiled(kernel).asm["cubin"]


@gluon.jit
def gluon_double(x, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.arange(0, BLOCK, layout=layout)
    gl.store(x + at, gl.load(x + at) * 2)


def _compile_gluon():
    from triton.experimental.gluon._runtime import GluonASTSource

    source = GluonASTSource(gluon_double, {"x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 128})
    return triton.compile(source, target=parse_target("cuda:90"))


def test_gluon_kernels(ran):
    with tritonext.use(Pipeline([insert_after("ttgir", "gluon.inliner", "ttir.triton_licm")])):
        assert ran("ttgir", _compile_gluon)[:2] == ["gluon-inline", "triton-licm"]
    with tritonext.use(Pipeline([disable_pass(*COALESCE)])), pytest.raises(UnknownAnchorError) as caught:
        _compile_gluon()
    assert caught.value.details[0] == "gluon.inliner"
    with tritonext.use(Pipeline([disable_pass(*COALESCE)], languages=("triton",))):
        assert _compile_gluon().asm["cubin"]


def test_steps_of_one_language(ran):
    licm = insert_after("ttgir", "gluon.inliner", "ttir.triton_licm")
    coalesce = disable_pass(*COALESCE)
    pipeline = Pipeline([replace(licm, languages=("gluon",)), replace(coalesce, languages=("triton",))])
    with tritonext.use(pipeline):
        assert ran("ttgir", _compile_gluon)[:2] == ["gluon-inline", "triton-licm"]
    assert pipeline.key() != Pipeline([licm, coalesce]).key()


def test_ir_file_warns_about_the_stages_it_skips(compiled, kernel, tmp_path):
    path = tmp_path / "kernel.ttgir"
    path.write_text(compiled(kernel).asm["ttgir"])
    with (
        tritonext.use(Pipeline([disable_pass(*COALESCE), disable_pass("llir", "common.cse#1")], name="mine")),
        pytest.warns(UserWarning, match="the steps of the pipeline 'mine' in ttgir have no effect"),
    ):
        result = triton.compile(str(path), target=parse_target("cuda:90"))
    assert result.asm["cubin"]


def test_stage_that_another_hook_replaces_is_refused(compiled, kernel, monkeypatch):
    def foreign(*arguments):
        if not arguments:
            return "foreign", "foreign"
        stages = arguments[1]
        stages["ttgir"] = lambda source, metadata: source
        return None

    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", foreign)
    with (
        tritonext.use(Pipeline([insert_after(*COALESCE, "common.cse")])),
        pytest.raises(PipelineError, match="does not run the passes it ran when the pipeline was planned") as caught,
    ):
        compiled(kernel)
    assert caught.value.expected == "ttir.convert_to_ttgpuir"
    assert caught.value.found == "the end of the stage"


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"])
def test_every_listed_anchor_can_be_used(compiled, kernel, target):
    """Insert a pass that changes nothing around every anchor of every stage; the binary stays what it was."""
    anchors = planning.stock(parse_target(target), {}).anchors
    steps = [
        insert_before(stage, anchor, "common.symbol_dce") for stage in ("ttir", "ttgir") for anchor in anchors[stage]
    ]
    with tritonext.use(Pipeline(steps)):
        changed = compiled(kernel, target)
    binary = "cubin" if target.startswith("cuda") else "hsaco"
    assert changed.asm[binary] == compiled(kernel, target).asm[binary]


@pytest.mark.parametrize("target", TARGETS)
def test_step_that_returns_no_result_of_its_stage(compiled, kernel, target):
    for stage in ("ttir", "ttgir", "llir", TEXT[target], BINARY[target]):
        for make in (wrap_stage, replace_stage):
            for value in (None, 5):
                pipeline = Pipeline([make(stage, lambda *arguments, value=value: value)])
                with tritonext.use(pipeline), pytest.raises(PipelineError, match="returned no result") as caught:
                    compiled(kernel, target)
                assert caught.value.where == f"step {make.__name__} at {stage}, target {target}"
                assert caught.value.found == repr(value)


def test_wrappers_read_what_the_assembler_says():
    texts = []

    def listen(inner, source, metadata, info):
        with assembler_log() as found:
            result = inner(source, metadata)
        texts.extend(found)
        return result

    kernel = kernels.get("dropout")
    specialization = Specialization(kernel.fn, kernel.signature, kernel.constexprs, kernel.options)
    # Two that listen to one assembler both hear it.
    with tritonext.use(Pipeline([wrap_stage("cubin", listen, key=key) for key in ("inner", "outer")])):
        specialization.compile("cuda:90")
    specialization.compile("cuda:80")
    text, same = texts
    assert text == same
    assert "Compiling entry function 'dropout' for 'sm_90a'" in text
