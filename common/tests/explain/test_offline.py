"""Signatures, targets and overrides of kernels that are compiled without a device."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

from tritonext.errors import OptionError, UserError
from tritonext.offline import Argument, Specialization, parse_signature, parse_target


@triton.jit
def scale(x, factor, n, BLOCK: tl.constexpr, TWICE: tl.constexpr = False):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) * factor
    tl.store(x + at, value * 2 if TWICE else value, mask=at < n)


KERNEL = Specialization(scale, parse_signature("x=*fp32:16, factor=fp32, n=i32:16"), {"BLOCK": 1024}, {"num_warps": 2})


def test_a_signature_gives_types_and_divisibility():
    assert parse_signature(" a = *fp16:16, d=tensordesc<fp16[64,32]>,n=i32 ,") == {
        "a": Argument("*fp16", 16),
        "d": Argument("tensordesc<fp16[64,32]>"),
        "n": Argument("i32"),
    }
    assert ", ".join(f"{name}={type_}" for name, type_ in parse_signature("a=*fp16:16, n=i32").items()) == (
        "a=*fp16:16, n=i32"
    )


@pytest.mark.parametrize("text", ["a", "a=", "=i32", "a b=i32"])
def test_a_malformed_argument_is_named(text):
    with pytest.raises(OptionError, match="an argument type is malformed") as error:
        parse_signature(f"n=i32, {text}")
    assert error.value.found == repr(text)


@pytest.mark.parametrize("divisible", ["", "0", "12", "-4", "x"])
def test_divisibility_is_a_power_of_two(divisible):
    with pytest.raises(OptionError, match="not a power of two"):
        parse_signature(f"a=*fp16:{divisible}")


@pytest.mark.parametrize(
    ("text", "backend", "arch", "warp"),
    [("cuda:90", "cuda", 90, 32), ("hip:gfx942", "hip", "gfx942", 64), ("hip:gfx1250", "hip", "gfx1250", 32)],
)
def test_targets(text, backend, arch, warp):
    target = parse_target(text)
    assert (target.backend, target.arch, target.warp_size) == (backend, arch, warp)


@pytest.mark.parametrize("text", ["", "cuda", "cuda:sm_90", "hip:90", "metal:1"])
def test_an_unknown_target_lists_the_known_ones(text):
    with pytest.raises(OptionError, match="unknown target") as error:
        parse_target(text)
    assert "cuda:100" in error.value.hint


def test_compilation_uses_types_constants_options_and_divisibility():
    wide = KERNEL.compile("cuda:90")
    assert wide.metadata.num_warps == 2
    assert "tensor<1024xf32" in wide.asm["ttir"]
    assert "st.global.v4.b32" in wide.asm["ptx"].replace("{", "")
    unknown = Specialization(scale, parse_signature("x=*fp32, factor=fp32, n=i32"), {"BLOCK": 1024})
    assert "v4" not in unknown.compile("cuda:90").asm["ptx"]


def test_overrides_tell_constants_from_options():
    changed = KERNEL.override(BLOCK=256, TWICE=True, num_warps=8, factor=3.0)
    assert changed.constexprs == {"BLOCK": 256, "TWICE": True, "factor": 3.0}
    assert changed.options == {"num_warps": 8}
    assert list(changed.signature) == ["x", "n"]
    assert KERNEL.constexprs == {"BLOCK": 1024}


def test_missing_and_unknown_arguments_are_named():
    incomplete = Specialization(scale, parse_signature("x=*fp32"))
    assert incomplete.missing() == ["factor", "n", "BLOCK"]
    with pytest.raises(UserError, match="neither a type nor a value") as error:
        incomplete.source()
    assert error.value.found == "factor, n, BLOCK"
    with pytest.raises(UserError, match="no argument named 'facto'") as error:
        Specialization(scale, parse_signature("x=*fp32, facto=fp32")).source()
    assert error.value.hint == "write 'factor'"


@pytest.mark.parametrize(
    "text", ["*f16", "fp16*", "int32", "*", "**fp16", "*k*fp16", "tensordesc<fp16>", "*fp16;n=i32"]
)
def test_an_unknown_type_is_refused(text):
    kernel = Specialization(scale, {**KERNEL.signature, "x": Argument(text)}, KERNEL.constexprs)
    with pytest.raises(UserError, match="an argument has an unknown type") as error:
        kernel.compile("cuda:90")
    assert error.value.where == "kernel scale, argument x"
    assert error.value.found == repr(text)


def test_the_type_of_a_constant_is_not_looked_at():
    kernel = Specialization(scale, {**KERNEL.signature, "factor": Argument("any")}, {"BLOCK": 1024, "factor": 2.0})
    assert "tensor<1024xf32" in kernel.compile("cuda:90").asm["ttir"]


def test_an_unusable_compile_option_is_refused():
    with pytest.raises(OptionError, match="a compile option has an unusable value") as error:
        KERNEL.compile("cuda:90", num_warps=3)
    assert error.value.found == "num_warps=3"
    assert error.value.details == ("AssertionError: num_warps must be a power of 2",)


def test_an_unknown_compile_option_is_refused():
    with pytest.raises(OptionError, match="'num_warp' is neither a compile option nor an argument") as error:
        KERNEL.compile("cuda:90", num_warp=8)
    assert error.value.hint == "write 'num_warps'"
    with pytest.raises(OptionError, match="'BLOKC' is neither") as error:
        KERNEL.compile("hip:gfx942", BLOKC=8)
    assert error.value.hint == "write 'BLOCK'"
    with pytest.raises(OptionError, match="'maxnreg' is neither") as error:
        KERNEL.compile("hip:gfx942", maxnreg=64)
    assert "waves_per_eu" in error.value.expected
