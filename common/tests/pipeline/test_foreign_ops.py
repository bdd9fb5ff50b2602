"""An op of an extension reaches the GPU dialects through the stock conversion to layouts."""

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import SwizzledSharedLayout

import tritonext
from tritonext import PassRef, Pipeline, insert_after, language
from tritonext.offline import TARGETS

tritonext_probe = pytest.importorskip("tritonext_probe", reason="the fixture extension is not installed")

# Where the op is lowered when it is not before the conversion.
LATE = Pipeline([insert_after("ttgir", "ttgpuir.coalesce", PassRef("probe_lower_twice"))])


@language.builtin(extension="probe")
def through_shared(x, _semantic=None):
    """Store a tensor to shared memory and load it back, in stock ops that only Gluon has a spelling for."""
    builder = language.typed_builder(_semantic)
    shape = [int(size) for size in x.shape]
    layout = SwizzledSharedLayout(1, 1, 1, [0])._to_ir(builder)
    kind = builder.get_shared_mem_desc_ty(x.dtype.to_ir(builder), shape, layout, shape)
    buffer = builder.create_local_alloc(kind)
    builder.create_local_store(buffer, x.handle)
    return tl.tensor(builder.create_local_load(x.type.to_ir(builder), buffer), x.type)


@triton.jit
def in_a_loop(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(n):
        total += tritonext_probe.twice(tl.load(x + step * BLOCK + at))
        if step > 2:
            total = tritonext_probe.twice(total)
    tl.store(x + at, total)


@triton.jit
def shared(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, through_shared(tl.load(x + at)))


@pytest.mark.parametrize("target", TARGETS)
def test_op_of_an_extension_gets_layouts(compiled, target):
    with tritonext.use("probe:late=true", LATE):
        late = compiled(in_a_loop, target)
    assert late.asm["ttir"].count("probe.twice") == 2
    assert "probe.twice" not in late.asm["ttgir"]
    assert "tritonext." not in late.asm["ttgir"]
    assert "tt.call" not in late.asm["ttgir"]
    early = compiled(in_a_loop, target)
    assert "probe.twice" not in early.asm["ttir"]
    # Same arithmetic on both ways.
    assert late.asm["ttgir"].count("arith.addf") == early.asm["ttgir"].count("arith.addf") == 3


@pytest.mark.parametrize("target", TARGETS)
def test_stock_op_of_the_gpu_dialects_gets_layouts(compiled, target):
    text = compiled(shared, target).asm["ttgir"]
    assert "ttg.local_store" in text
    assert "ttg.local_load" in text
    assert "tt.call" not in text
