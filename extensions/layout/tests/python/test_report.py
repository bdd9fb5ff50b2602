"""What `tritonext explain` says about the conversions of a kernel, and the guard of the extension's pipeline."""

from __future__ import annotations

import dataclasses
import json

import pytest

import tritonext
from tritonext import explain
from tritonext.errors import OptionError
from tritonext.testing import kernels
from tritonext_layout import conversions, explain_sections


def test_explain_lists_what_is_left_where_it_comes_from_and_why(capsys):
    place = "tritonext.testing.kernels::attention_forward"
    explain.main([place, "--target", "cuda:90", "--enable", "layout:guard=false", "--stage", "ttgir", "--json"])
    data = json.loads(capsys.readouterr().out)
    [section] = [section for section in data["sections"] if section["title"] == "layout conversions"]
    looped, stored = (dict(zip(section["columns"], row, strict=True)) for row in section["rows"])
    assert looped["line"].endswith(" in a loop")
    assert looped["path"] == "nothing"
    assert looped["why it stays"] == "costs nothing"
    assert stored["line"].startswith("kernels.py:")
    assert stored["tensor"] == "128x64xf16"
    assert stored["from"] == "mma v3 16x64x16, warps 4x1"
    assert (stored["path"], stored["barriers"]) == ("shared memory of a warp", "0")
    assert int(stored["bytes"]) >= 4096
    assert int(stored["cycles"]) > 128
    assert stored["between"] == "warp_group_dot_wait and store"
    assert stored["why it stays"] in [remark["message"] for remark in data["remarks"] if remark["kind"] == "missed"]
    before, after = section["text"].splitlines()
    assert before.startswith("stock: 3 conversions, 1 of them in loops; ")
    assert after.startswith("with layout: 2 conversions, 1 of them in loops; 0 barriers, ")


def test_explain_counts_exchanges_through_buffers_apart():
    kernel = kernels.compile("gemm_residual", "cuda:80")
    with tritonext.use("layout:guard=false"):
        changed = kernels.compile("gemm_residual", "cuda:80")
    [section] = explain_sections(kernel, changed, ())
    before, after = section.text.splitlines()
    assert "through buffers" not in before
    assert after.endswith("; 1 more through buffers, with a barrier each")


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
