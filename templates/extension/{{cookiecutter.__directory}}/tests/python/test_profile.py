"""The hook for profilers: marks in machine code, times of stages, and values that are refused."""

from __future__ import annotations

import pytest

import tritonext
import tritonext_{{cookiecutter.id}} as {{cookiecutter.id}}
from tritonext.errors import OptionError
from tritonext.inspect_code import disassemble
from tritonext.testing import kernels


def marks(kernel) -> list[str]:
    """Return the operands of the instructions that trigger events, which are masks of events."""
    return [instruction.operands for instruction in disassemble(kernel) if instruction.name == "PMTRIG"]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_kernels_mark_their_begin_and_end(target):
    assert marks(kernels.compile("softmax", target)) == []
    with tritonext.use("{{cookiecutter.id}}"):
        found = marks(kernels.compile("softmax", target))
    assert (found[0], set(found[1:])) == ("0x1", {"0x2"})


def test_compilations_are_timed_and_marks_are_a_choice():
    with tritonext.use("{{cookiecutter.id}}:marks=false"), {{cookiecutter.id}}.collect() as found:
        kernel = kernels.compile("softmax", "cuda:90")
        kernels.compile("softmax", "cuda:90")
    assert marks(kernel) == []
    assert found.kernels == ["softmax"], "the second is from the cache"
    assert list(found.seconds) == ["ttir", "ttgir", "llir", "ptx", "cubin"]
    assert all(seconds > 0 for seconds in found.seconds.values())


def test_another_choice_is_refused():
    with pytest.raises(OptionError, match="expected: marks=true or marks=false"):
        tritonext.use("{{cookiecutter.id}}:marks=some")
