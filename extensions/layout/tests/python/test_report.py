"""What `tritonext explain` says about the conversions of a kernel, and the guard of the extension's pipeline."""

from __future__ import annotations

import dataclasses
import json

import pytest

import tritonext
from tritonext import explain
from tritonext.errors import OptionError
from tritonext.testing import kernels
from tritonext_layout import conversions


def test_explain_lists_what_is_left_where_it_comes_from_and_why(capsys):
    place = "tritonext.testing.kernels::gemm_residual"
    explain.main([place, "--target", "cuda:80", "--enable", "layout", "--stage", "ttgir", "--json"])
    data = json.loads(capsys.readouterr().out)
    [section] = [section for section in data["sections"] if section["title"] == "layout conversions"]
    missed = [remark["message"] for remark in data["remarks"] if remark["kind"] == "missed"]
    assert section["columns"][0] == "line"
    assert section["columns"][-1] == "why it stays"
    [row] = section["rows"]
    entry = dict(zip(section["columns"], row, strict=True))
    assert entry["line"].startswith("kernels.py:")
    assert entry["tensor"].startswith("128x128x")
    assert entry["from"].startswith("mma v2 16x8, warps ")
    assert entry["to"].startswith("blocked ")
    assert entry["path"] == "shared memory of a CTA"
    assert int(entry["bytes"]) >= 8192
    assert int(entry["cycles"]) > 128
    assert entry["between"].endswith("and store")
    assert entry["why it stays"] in missed
    assert section["text"].startswith("stock: 2 conversions, 0 of them in loops; ")


def test_conversions_of_loops_are_told_from_others():
    kernel = kernels.compile("attention_forward", "cuda:90")
    depths = [entry.depth for entry in conversions(kernel.asm["ttgir"])]
    assert depths[0] == 1
    assert depths[-1] == 0
    assert all(entry.source_line for entry in conversions(kernel.asm["ttgir"]))


def test_a_lowering_is_cheaper_only_where_it_wins_alone_and_beside_others():
    entry = conversions(kernels.compile("attention_forward", "cuda:90").asm["ttgir"])[-1]
    dear = dataclasses.replace(entry, cycles=1000, busy_cycles=800)
    assert dataclasses.replace(entry, cycles=900, busy_cycles=700).cheaper(dear)
    assert not dataclasses.replace(entry, cycles=950, busy_cycles=700).cheaper(dear)
    assert not dataclasses.replace(entry, cycles=900, busy_cycles=790).cheaper(dear)


def test_pipeline_ends_with_a_guard_unless_it_is_switched_off():
    extension = tritonext.extension("layout")
    assert extension.pipeline().steps[-1].kind == "guard"
    assert all(step.kind != "guard" for step in extension.pipeline(guard="false").steps)
    with pytest.raises(OptionError, match="is no truth value"):
        extension.pipeline(guard="perhaps")
