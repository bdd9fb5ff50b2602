"""Stock TritonGPU ops built inside a plain kernel."""

import inspect
import re

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import SwizzledSharedLayout

from tritonext import language
from tritonext._triton import typed
from tritonext.errors import InternalError

tritonext_probe = pytest.importorskip("tritonext_probe", reason="the fixture extension is not installed")


@language.builtin(extension="probe")
def barrier_storage(_semantic=None):
    """Build two ops that no plain builder makes and that have no tensors."""
    first, second = language.typed_builder(_semantic), language.typed_builder(_semantic)
    assert first is second
    layout = SwizzledSharedLayout(1, 1, 1, [0])._to_ir(first)
    kind = first.get_shared_mem_desc_ty(tl.int64.to_ir(_semantic.builder), [1], layout, [1])
    first.create_mbarrier_init(first.create_local_alloc(kind), 1)


@triton.jit
def in_order(x, n, BLOCK: tl.constexpr):
    tl.store(x, 0.0)
    if n > 3:
        barrier_storage()
        tl.store(x, 1.0)


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_ops_land_where_they_are_called(compiled, target):
    result = compiled(in_order, target)
    text = result.asm["ttir"]
    order = [text.index(name) for name in ("tt.store", "scf.if", "ttg.local_alloc", "ttng.init_barrier")]
    assert order == sorted(order)
    assert "mbarrier.init" in result.asm["ptx"]
    # An error about the op points at the line of the kernel that called it.
    location = re.search(r"ttg.local_alloc .*loc\((#loc\d+)\)", text)[1]
    source, first = inspect.getsourcelines(in_order.fn)
    line = first + next(at for at, code in enumerate(source) if "barrier_storage()" in code)
    assert re.search(rf"^{location} = loc\(.*test_typed.py\":{line}:", text, re.MULTILINE)


def test_a_missing_method_of_triton_is_named(monkeypatch, compiled):
    monkeypatch.setitem(typed._NEEDED, typed.ir.block, ("no_such_method",))
    with pytest.raises(triton.CompilationError) as caught:
        compiled(in_order)
    error = caught.value.__cause__
    assert isinstance(error, InternalError)
    assert (error.expected, error.where) == ("no_such_method", "triton._C.libtriton.block")
