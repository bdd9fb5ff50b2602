"""The hook of the backend: registers, and values that are refused."""

from __future__ import annotations

import pytest

import tritonext
from tritonext.errors import OptionError
from tritonext.inspect_code import stats
from tritonext.testing import kernels

# Registers of a multiprocessor of sm_80 to sm_100.
REGISTERS = 65_536


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_programs_get_by_with_their_share_of_registers(target):
    stock = kernels.compile("attention_forward", target)
    with tritonext.use("{{cookiecutter.id}}:ctas_per_sm=3"):
        ours = kernels.compile("attention_forward", target)
    share = REGISTERS // 3 // (32 * ours.metadata.num_warps)
    assert stats(stock).registers > share
    assert stats(ours).registers <= share
    assert ".minnctapersm 3" in ours.asm["ptx"]


@pytest.mark.parametrize("value", ["0", "33", "many", "-1"])
def test_a_number_out_of_range_is_refused(value):
    with pytest.raises(OptionError, match="expected: ctas_per_sm=1 to 32"):
        tritonext.use(f"{{cookiecutter.id}}:ctas_per_sm={value}")
