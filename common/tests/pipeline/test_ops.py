"""A kernel that uses an op of an extension opts itself in, and only itself."""

import concurrent.futures

import pytest
import triton
import triton.language as tl
from triton.compiler import ASTSource
from triton.experimental.gluon import language as gl

import tritonext
from tritonext import PassRef, Pipeline, activation, cachekey, insert_after, language
from tritonext._triton import caching
from tritonext.errors import OptionError, PipelineError, UnknownPassError
from tritonext.offline import parse_target
from tritonext.testing import install_copy, run_python

tritonext_probe = pytest.importorskip("tritonext_probe", reason="the fixture extension is not installed")
twice = tritonext_probe.twice


@triton.jit
def by_name(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, twice(tl.load(x + at)))


@triton.jit
def by_attribute(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tritonext_probe.twice(tl.load(x + at)))


@triton.jit
def helper(value):
    return inner_helper(value)


@triton.jit
def inner_helper(value):
    return tritonext_probe.twice(value)


@triton.jit
def through_helpers(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, helper(tl.load(x + at)))


@triton.jit
def applies(x, n, f: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, f(tl.load(x + at)))


@triton.jit
def stock_helper(value):
    return value + value


@triton.jit
def without(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, stock_helper(tl.load(x + at)))


KERNELS = [by_name, by_attribute, through_helpers]


def marked(result):
    return "probe.mark" in result.asm["ttgir"]


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_kernel_with_an_op_compiles_under_the_extension(compiled, kernel, target):
    assert caching.extensions_used(kernel) == {"probe"}
    result = compiled(kernel, target)
    assert marked(result)
    assert "arith.addf" in result.asm["ttir"]
    assert "probe.twice" not in result.asm["ttir"]
    assert tritonext.active() == ()


def test_kernel_without_an_op_is_left_alone(compiled, device, x):
    assert caching.extensions_used(without) == set()
    assert not marked(compiled(without))
    assert not marked(without.warmup(x, 100, grid=(1,), BLOCK=256))


def test_op_in_a_constant(device, x):
    with_op = applies.warmup(x, 100, helper, grid=(1,), BLOCK=256)
    stock = applies.warmup(x, 100, stock_helper, grid=(1,), BLOCK=256)
    assert (marked(with_op), marked(stock)) == (True, False)
    assert marked(applies.warmup(x, 100, twice, grid=(1,), BLOCK=256))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_content_of_the_extension_reaches_the_key(monkeypatch, kernel):
    def key():
        for function in (kernel, helper, inner_helper, without, stock_helper):
            function.hash = None
        return kernel.cache_key, without.cache_key

    before = key()
    with monkeypatch.context() as patch:
        patch.setattr(cachekey, "extension_digest", lambda identifier: "other content")
        after = key()
    assert key() == before
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_launch_and_async_compilation(device, x):
    launched = triton.jit(by_name.fn).warmup(x, 100, grid=(1,), BLOCK=256)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, triton.AsyncCompileMode(pool):
        submitted = triton.jit(through_helpers.fn).warmup(x, 100, grid=(1,), BLOCK=256)
    assert marked(launched)
    assert marked(submitted.result())


def test_options_of_the_region_hold_over_the_defaults(compiled):
    with tritonext.use("probe:mark=chosen"):
        assert 'probe.mark = "chosen"' in compiled(by_name).asm["ttgir"]
    with tritonext.use_stock():
        assert 'probe.mark = "seen"' in compiled(by_name).asm["ttgir"]


def test_region_of_other_pipelines_adds_up(ran, compiled):
    with tritonext.use(Pipeline([insert_after("ttgir", "ttgpuir.coalesce", "common.sccp")])):
        flags = ran("ttgir", lambda: compiled(by_name))
    at = flags.index("tritongpu-coalesce")
    assert flags[at + 1 : at + 3] == ["sccp", "probe-mark-module"]


def test_op_outside_a_kernel():
    with pytest.raises(PipelineError, match="an op of an extension is called outside a kernel") as caught:
        twice(1)
    assert caught.value.where == "op twice"


def test_compile_function_from_before_the_import_is_refused():
    source = ASTSource(by_name, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128})
    with pytest.raises(
        triton.CompilationError, match="uses an op of the extension 'probe' but compiles without"
    ) as caught:
        triton.compile.__wrapped__(source, target=parse_target("cuda:90"))
    assert isinstance(caught.value.__cause__, PipelineError)


def test_op_on_a_target_the_extension_is_not_made_for(compiled):
    with pytest.warns(UserWarning, match="not made for cuda:89"), pytest.raises(triton.CompilationError) as caught:
        compiled(by_name, "cuda:89")
    error = caught.value.__cause__
    assert isinstance(error, PipelineError)
    assert error.message == "the extension 'probe' cannot lower its ops for this target"
    assert (error.found, error.expected.split(", ")[0]) == ("cuda:89", "cuda:80")


def test_kernel_launched_before_compiles_through_the_wrapper(device, x):
    """Such a kernel holds Triton's own compile function."""
    kernel = triton.jit(applies.fn)
    kernel.warmup(x, 100, stock_helper, grid=(1,), BLOCK=256)
    kernel.__dict__["compile"] = triton.compile.__wrapped__
    assert marked(kernel.warmup(x, 100, helper, grid=(1,), BLOCK=256))
    kernel.compile = len
    assert kernel.compile is len
    assert not hasattr(triton.jit(applies.fn), "compile")


def test_state_of_an_op_names_the_extension():
    (pipeline,) = activation.prepare(["probe"], "a test")
    assert pipeline.extension == "probe"
    assert pipeline.extensions == ("probe",)


def test_wrong_options_are_refused_before_anything_compiles():
    with pytest.raises(OptionError, match="no pass of the extension 'probe' accepts the option nosuch=1") as caught:
        tritonext.use("probe:nosuch=1")
    assert caught.value.found == "nosuch=1"
    with pytest.raises(OptionError, match="accepts the option count=many"):
        tritonext.use("probe:count=many")
    ref = PassRef("probe_mark_module", {"nosuch": 1})
    with pytest.raises(OptionError, match="the pass probe_mark_module does not accept its options") as caught:
        tritonext.use(Pipeline([insert_after("ttgir", "ttgpuir.coalesce", ref)]))
    assert caught.value.found == "nosuch=1"


def test_each_option_goes_to_the_passes_that_have_it():
    pipeline = tritonext.extension("probe").pipeline(mark="x", count=3)
    assert {str(ref) for step in pipeline.steps for ref in step.passes} == {
        "probe_lower_twice{count=3}",
        "probe_carry_foreign_ops",
        "probe_restore_foreign_ops",
        "probe_mark_module{mark=x}",
    }


def test_pass_of_another_extension_is_refused(probe):
    ref = PassRef("layout_localize_stores", extension="probe")
    with pytest.raises(UnknownPassError, match="the extension 'probe' has no pass 'layout_localize_stores'") as caught:
        tritonext.use(Pipeline([insert_after("ttgir", "ttgpuir.coalesce", ref)]))
    names = [entry.name for entry in probe.manifest.passes]
    assert caught.value.expected == ", ".join(names)


BROKEN = """
import tritonext
try:
    tritonext.use("probe:level=1")
except tritonext.TritonextError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_module", "ExtensionError: the package of the extension 'probe' cannot be imported"),
        ("def pipeline(depth=1): pass", "OptionError: the extension 'probe' does not take these options"),
        ("def pipeline(level): pass", "ExtensionError: the function pipeline of the extension 'probe' returned"),
    ],
)
def test_package_that_cannot_give_its_pipeline(probe, tmp_path, code, message):
    package = install_copy(probe, tmp_path)
    (package / "__init__.py").write_text(f"{code}\n")
    done = run_python("-c", BROKEN, path=(tmp_path,))
    assert done.returncode == 0, done
    assert done.stdout.startswith(message), done


def test_buffers_are_known_by_what_they_say_and_not_by_their_class():
    class Own:
        def __tritonext_buffer__(self):
            return language.Buffer("handle", tl.float16, (64, 32), "layout")

    class Lying:
        handle, dtype, shape, layout = "handle", tl.float16, (64, 32), "layout"

    assert language.buffer_of(Own()) == language.Buffer("handle", tl.float16, (64, 32), "layout")
    assert language.buffer_of(Lying()) is None
    kind = gl.shared_memory_descriptor_type(tl.int8, [8, 16], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]), [8, 16])
    buffer = language.buffer_of(gl.shared_memory_descriptor("handle", *vars(kind).values()))
    assert (buffer.handle, buffer.dtype, buffer.shape, buffer.layout) == ("handle", tl.int8, (8, 16), kind.layout)


def test_errors_of_ops_name_op_and_argument():
    error = language.refuse("probe", "twice", "an argument is odd", "x", expected="even", found=3)
    assert str(error) == "an argument is odd\n  where: probe.twice, argument x\n  expected: even\n  found: 3"
    assert language.refuse("probe", "twice", "no").where == "probe.twice"


def test_ops_run_in_the_interpreter_if_they_say_so(tmp_path):
    pytest.importorskip("numpy")
    script = tmp_path / "interpreted.py"
    script.write_text("""
import triton, triton.language as tl
from tritonext import errors, language

@language.builtin(extension="probe", interpreted=True)
def thrice(x, _semantic=None):
    assert language.target_of(_semantic) == language.INTERPRETER
    return tl.tensor(_semantic.mul(x, _semantic.full(x.shape, 3, x.dtype), True).handle, x.type)

@language.builtin(extension="probe")
def four_times(x, _semantic=None):
    return x

@triton.jit
def kernel(OP: tl.constexpr):
    result = OP(tl.arange(0, 4))
    tl.static_assert((result.handle.data == [0, 3, 6, 9]).all())

assert language.interpretation(thrice) is thrice.fn and language.interpretation(four_times) is None
kernel[(1,)](thrice)
try:
    kernel[(1,)](four_times)
except triton.runtime.errors.InterpreterError as error:
    assert isinstance(error.__cause__, errors.UserError)
    assert str(error.__cause__) == (
        "the op does not run in Triton's interpreter\\n  where: probe.four_times\\n  hint: unset TRITON_INTERPRET"
    )
else:
    raise AssertionError
""")
    done = run_python(script, environment={"TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stderr
