"""Kernels that spell {{cookiecutter.id}}.{{cookiecutter.__op}} as a selection get one instruction for it."""

from __future__ import annotations

import re

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext.offline import Specialization, parse_signature

SELECTION = re.compile(r"\bselp\.")
MAXIMUM = re.compile(r"\bmax\.f")


@triton.jit
def select(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, tl.where(value > 0, value, 0))


def count(pattern: re.Pattern[str], kernel) -> int:
    return len(pattern.findall(kernel.asm["ptx"]))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
def test_a_selection_becomes_a_maximum(target):
    kernel = Specialization(select, parse_signature("x=*fp32:16, y=*fp32:16"), {"BLOCK": 1024})
    stock = kernel.compile(target)
    with tritonext.use("{{cookiecutter.id}}"):
        ours = kernel.compile(target)
    assert (count(SELECTION, stock) > 0, count(MAXIMUM, stock)) == (True, 0)
    assert (count(SELECTION, ours), count(MAXIMUM, ours) > 0) == (0, True)


def test_on_amd_a_selection_stays():
    kernel = Specialization(select, parse_signature("x=*fp32:16, y=*fp32:16"), {"BLOCK": 1024})
    with tritonext.use("{{cookiecutter.id}}"):
        assert "{{cookiecutter.id}}.{{cookiecutter.__op}}" not in kernel.compile("hip:gfx942").asm["ttir"]
        assert "v_cndmask" in kernel.compile("hip:gfx942").asm["amdgcn"]
