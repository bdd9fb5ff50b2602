"""Ops of extensions that own a with statement of a kernel."""

import ast
import inspect

import pytest
import triton
import triton.language as tl
from triton.compiler import code_generator

from tritonext import language
from tritonext._triton import scopes
from tritonext.errors import InternalError, UserError
from tritonext.testing import run_python

tritonext_probe = pytest.importorskip("tritonext_probe", reason="the fixture extension is not installed")


@language.scope(extension="probe")
def repeat(count, _semantic=None, _body=None):
    """Build the body several times."""
    for _ in range(count.value):
        _body.emit()


@language.scope(extension="probe")
def only_assignments(_semantic=None, _body=None):
    """Refuse statements of any other kind, at the statement."""
    for statement in _body.statements:
        if not isinstance(statement, ast.Assign):
            raise _body.error("no assignment", statement)


@language.scope(extension="probe")
def fails(how, _semantic=None, _body=None):
    if how == "user":
        raise UserError("cannot open", where="probe.fails")
    if how == "unknown place":
        raise _body.error_at("somewhere", 0, 0)
    line = inspect.getsourcelines(misused.fn)[1]
    raise _body.error_at("in the second line", line + 1, 5)


@triton.jit
def repeated(x, n, BLOCK: tl.constexpr):
    value = 1.0
    for _ in range(n):
        with repeat(3):
            value = value + 1
            tl.store(x, value)
    tl.store(x + 1, value)


@triton.jit
def misused(x, n, BLOCK: tl.constexpr):
    with only_assignments():
        n = 1
        tl.store(x, n)


@triton.jit
def failing(x, n, BLOCK: tl.constexpr):
    with fails("user"):
        pass


@triton.jit
def failing_nowhere(x, n, BLOCK: tl.constexpr):
    with fails("unknown place"):
        pass


@triton.jit
def failing_elsewhere(x, n, BLOCK: tl.constexpr):
    with fails("place"):
        pass


@triton.jit
def bound(x, n, BLOCK: tl.constexpr):
    with repeat(1) as y:
        tl.store(x, y)


@triton.jit
def called(x, n, BLOCK: tl.constexpr):
    repeat(1)


@triton.jit
def returning(x, n, BLOCK: tl.constexpr):
    with repeat(1):
        return


def test_a_body_is_built_as_often_as_asked_and_keeps_its_names(compiled):
    text = compiled(repeated).asm["ttir"]
    # Each copy starts from the value before the statement, and what it assigns is gone after it.
    assert text.count("tt.store") == 4
    assert "iter_args" not in text
    assert text.count("2.000000e+00 : f32") == 1
    assert "3.000000e+00" not in text


@pytest.mark.parametrize(
    ("kernel", "message", "line"),
    [
        (misused, "no assignment", "        tl.store(x, n)"),
        (failing, "cannot open\n  where: probe.fails", '    with fails("user"):'),
        (failing_nowhere, "somewhere", '    with fails("unknown place"):'),
        (bound, "stands alone and binds no name", "    with repeat(1) as y:"),
        (called, "the op opens a block", "    repeat(1)"),
        (returning, "cannot return from inside", "    with repeat(1):"),
    ],
)
def test_errors_show_the_line(compiled, kernel, message, line):
    with pytest.raises(triton.CompilationError) as caught:
        compiled(kernel)
    text = str(caught.value)
    assert message in text
    # The excerpt ends with the line of the error, and a mark below it.
    assert f"\n{line}\n" in text


def test_a_place_in_the_file_becomes_a_line_of_the_kernel(compiled):
    with pytest.raises(triton.CompilationError, match="in the second line") as caught:
        compiled(failing_elsewhere)
    expected = inspect.getsourcelines(misused.fn)[1] + 1 - inspect.getsourcelines(failing_elsewhere.fn)[1]
    assert caught.value.node.lineno == expected
    assert caught.value.node.col_offset == 4


def test_other_with_statements_are_those_of_triton(compiled):
    # Whatever this triton does with one, the wrapper changes neither the text nor the kind of the error.
    @triton.jit
    def plain(x, n, BLOCK: tl.constexpr):
        with tl.arange(0, 4):
            pass

    with pytest.raises(triton.CompilationError) as ours:
        compiled(plain)
    original = code_generator.CodeGenerator.visit_With.__wrapped__
    wrapper = code_generator.CodeGenerator.visit_With
    code_generator.CodeGenerator.visit_With = original
    try:
        with pytest.raises(triton.CompilationError) as stock:
            compiled(plain)
    finally:
        code_generator.CodeGenerator.visit_With = wrapper
    assert str(ours.value) == str(stock.value)


def test_installing_again_wraps_nothing_twice():
    before = code_generator.CodeGenerator.visit_With
    scopes.install()
    assert code_generator.CodeGenerator.visit_With is before
    assert not hasattr(before.__wrapped__, "__wrapped__")


def test_a_wrapper_of_somebody_else_is_wrapped_too():
    code = (
        "import functools\n"
        "from triton.compiler import code_generator\n"
        "generator = code_generator.CodeGenerator\n"
        "foreign = functools.wraps(generator.visit_With)(lambda self, node: None)\n"
        "generator.visit_With = foreign\n"
        "from tritonext._triton import scopes\n"
        "scopes.install()\n"
        "print(generator.visit_With.__wrapped__ is foreign)\n"
    )
    done = run_python("-c", code)
    assert (done.returncode, done.stdout) == (0, "True\n"), done


def test_a_missing_part_of_the_front_end_is_named(monkeypatch):
    monkeypatch.setitem(scopes._NEEDED, code_generator, ("no_such_name",))
    with pytest.raises(InternalError, match="the front end of the installed triton lacks") as caught:
        scopes.install()
    assert (caught.value.expected, caught.value.where) == ("no_such_name", "triton.compiler.code_generator")
