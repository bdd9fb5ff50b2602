"""The op `{{cookiecutter.__op}}` in kernels: code on every target, and refusals."""

from __future__ import annotations

import re

import pytest
import triton
import triton.language as tl

import tritonext
import tritonext_{{cookiecutter.id}} as {{cookiecutter.id}}
from tritonext import offline
from tritonext.offline import Specialization, parse_signature

TARGETS = tritonext.extension("{{cookiecutter.id}}").manifest.targets or offline.TARGETS
MAXIMUM = re.compile(r"\b(?:max\.f|v_max_f)")


@triton.jit
def apply(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, {{cookiecutter.id}}.{{cookiecutter.__op}}(tl.load(x + at)))


def specialize(dtype: str) -> Specialization:
    return Specialization(apply, parse_signature(f"x=*{dtype}:16, y=*{dtype}:16"), {"BLOCK": 1024})


@pytest.mark.parametrize("target", TARGETS)
def test_is_a_maximum(target):
    kernel = specialize("fp32").compile(target)
    text = kernel.asm.get("ptx") or kernel.asm["amdgcn"]
    lanes, each = (32, 1) if target.startswith("cuda") else (64, 2)
    assert len(MAXIMUM.findall(text)) == 1024 // (4 * lanes) * each
    assert "{{cookiecutter.id}}.{{cookiecutter.__op}}" in kernel.asm["source"]


def test_integers_are_refused_at_the_line_of_the_kernel():
    with pytest.raises(triton.CompilationError, match=r"{{cookiecutter.id}}\.{{cookiecutter.__op}}, argument x") as caught:
        specialize("i32").compile("cuda:90")
    assert "a block of fp16, bf16, fp32 or fp64" in str(caught.value)
