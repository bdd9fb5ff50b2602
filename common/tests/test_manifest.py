"""Manifests: what is read, what is derived, and every refusal with its file and key."""

from __future__ import annotations

import json
import pathlib

import pytest

from tritonext import manifest
from tritonext.errors import ManifestError
from tritonext.manifest import Manifest

PROJECT = """\
[project]
name = "tritonext-loop-split"
version = "1.2.0"
description = "Splits loops"
dependencies = ["triton==3.9.0", "tritonext==0.1.*", "Tritonext_TLX>=0.1"]

[project.entry-points."tritonext.extensions"]
loop_split = "tritonext_loop_split"

[tool.tritonext]
schema = 1
id = "loop_split"
requires = ["tlx >= 0.1, < 2"]
targets = ["cuda:90", "hip:gfx942"]

[[tool.tritonext.passes]]
def = "SplitTMALoopsPass"
stage = "ttgir"
after = "ttgpuir.remove_layout_conversions#-1"
idempotent = true

[[tool.tritonext.passes]]
def = "MergeLoopsPass"
stage = "ttir"
before = {cuda = "nvidia.ttnvgpuir.tma_lowering"}

[[tool.tritonext.passes]]
def = "PrintPass"
stage = "llir"
languages = ["triton", "gluon"]

[[tool.tritonext.dialects]]
name = "ls"
class = "tritonext::loop_split::LoopSplitDialect"
header = "tritonext_loop_split/IR/Dialect.h"

[[tool.tritonext.ops]]
name = "loop_split_mark"
function = "tritonext::loop_split::buildMark"
header = "tritonext_loop_split/IR/Builders.h"
"""


SECOND_DIALECT = """\
[[tool.tritonext.dialects]]
name = "second"
class = "tritonext::loop_split::SecondDialect"
header = "tritonext_loop_split/IR/Second.h"

[[tool.tritonext.ops]]
"""


@pytest.fixture
def write(tmp_path: pathlib.Path):
    def write(text: str) -> pathlib.Path:
        path = tmp_path / "pyproject.toml"
        path.write_text(text)
        return path

    return write


def test_reads_everything(write):
    found = manifest.load(write(PROJECT))
    assert (found.id, found.version, found.description) == ("loop_split", "1.2.0", "Splits loops")
    assert [str(requirement) for requirement in found.requires] == ["tlx>=0.1,<2"]
    assert found.targets == ("cuda:90", "hip:gfx942")
    assert [entry.name for entry in found.dialects] == ["ls"]
    assert found.ops[0].function == "tritonext::loop_split::buildMark"
    assert found.passes[0].idempotent
    assert not found.passes[1].idempotent
    assert [entry.languages for entry in found.passes] == [("triton",), ("triton",), ("triton", "gluon")]


def test_derives_every_name_from_the_id(write):
    found = manifest.load(write(PROJECT).parent)
    assert found.distribution == "tritonext-loop-split"
    assert found.package == "tritonext_loop_split"
    assert found.library == "libtritonext_loop_split.so"
    assert found.namespace == "tritonext::loop_split"
    split = found.passes[0]
    assert split.stem == "SplitTMALoops"
    assert split.snake == "split_tma_loops"
    assert split.name == "loop_split_split_tma_loops"
    assert split.flag == "loop-split-split-tma-loops"
    assert split.factory == "tritonext::loop_split::createSplitTMALoopsPass"


def test_anchors_per_backend(write):
    split, merge, plain = manifest.load(write(PROJECT)).passes
    assert split.position == "after"
    assert split.anchor("cuda") == split.anchor("hip") == "ttgpuir.remove_layout_conversions#-1"
    assert (merge.position, merge.anchor("cuda")) == ("before", "nvidia.ttnvgpuir.tma_lowering")
    assert merge.anchor("hip") is None
    assert (plain.position, plain.anchor("cuda")) == (None, None)


def test_json_gives_an_equal_manifest(write):
    found = manifest.load(write(PROJECT))
    assert Manifest.from_json(found.to_json()) == found
    assert hash(Manifest.from_json(found.to_json())) == hash(found)


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("schema = 1", "schema = 2", "tool.tritonext.schema", "newer tritonext"),
        ("schema = 1", "schema = true", "tool.tritonext.schema", "an integer|the integer"),
        ("schema = 1", "", "tool.tritonext.schema", "required key is missing"),
        ("schema = 1", "schema = 0", "tool.tritonext.schema", "malformed"),
        ('id = "loop_split"', 'id = "LoopSplit"', "tool.tritonext.id", "lower_snake"),
        ('id = "loop_split"', 'id = "namespace"', "tool.tritonext.id", "C\\+\\+ needs"),
        ('id = "loop_split"', "id = 3", "tool.tritonext.id", "wrong type"),
        ("targets =", "target =", "tool.tritonext.target", "did you mean `targets`"),
        ("cuda:90", "cuda:sm_90", r"tool.tritonext.targets\[0\]", "cuda:90"),
        ('"hip:gfx942"', '"cuda:90"', r"tool.tritonext.targets\[1\]", "listed twice"),
        ("tlx >= 0.1, < 2", "tlx >> 1", r"tool.tritonext.requires\[0\]", "tlx>=0.1"),
        ("tlx >= 0.1, < 2", "loop_split", r"tool.tritonext.requires\[0\]", "require itself"),
        ("tlx >= 0.1, < 2", "sparsity", "project.dependencies", "tritonext-sparsity"),
        ("SplitTMALoopsPass", "SplitTMALoops", r"tool.tritonext.passes\[0\].def", "<Verb><Object>Pass"),
        ("MergeLoopsPass", "SplitTMALoopsPass", r"tool.tritonext.passes\[1\]", "same name"),
        ('def = "Print', 'definition = "Print', r"tool.tritonext.passes\[2\].def", "required key is missing"),
        ('stage = "ttgir"', 'stage = "ptx"', r"tool.tritonext.passes\[0\].stage", "one of ttir, ttgir, llir"),
        ("#-1", "#0", r"tool.tritonext.passes\[0\].after", "occurrence"),
        ("ttgpuir.remove", "passes.ttgpuir.add remove", r"tool.tritonext.passes\[0\].after", "anchor such as"),
        ('"gluon"]', '"helion"]', r"tool.tritonext.passes\[2\].languages\[1\]", "triton or gluon"),
        ("idempotent", "idempotant", r"tool.tritonext.passes\[0\].idempotant", "did you mean `idempotent`"),
        ("idempotent = true", 'before = "ttir.combine"', r"tool.tritonext.passes\[0\].after", "found: both"),
        ("{cuda =", "{rocm =", r"tool.tritonext.passes\[1\].before.rocm", "unknown key"),
        ('{cuda = "nvidia.ttnvgpuir.tma_lowering"}', "{}", r"tool.tritonext.passes\[1\].before", "empty"),
        ('name = "ls"', 'name = "l.s"', r"tool.tritonext.dialects\[0\].name", "mnemonic"),
        ("[[tool.tritonext.ops]]", SECOND_DIALECT, r"tool.tritonext.dialects\[1\]", "one dialect at most"),
        ("tritonext::loop_split::Loop", "mlir::Loop", r"tool.tritonext.dialects\[0\].class", "in the namespace"),
        ("tritonext_loop_split/IR/Dia", "../Dia", r"tool.tritonext.dialects\[0\].header", "header of the extension"),
        ('name = "loop_split_mark"', 'name = "mark"', r"tool.tritonext.ops\[0\].name", "start with the id"),
        ('name = "tritonext-loop-split"', 'name = "loop-split"', "project.name", "tritonext-loop-split"),
        ('"tritonext_loop_split"\n', '"loop_split"\n', "tritonext.extensions", "tritonext_loop_split"),
        ('version = "1.2.0"', "", "project.version", "required key is missing"),
        ('version = "1.2.0"', 'version = "new"', "project.version", "malformed"),
        ('description = "Splits loops"', 'description = " "', "project.description", "malformed"),
    ],
)
def test_refuses_with_file_and_key(write, old, new, key, message):
    assert old in PROJECT
    path = write(PROJECT.replace(old, new, 1))
    with pytest.raises(ManifestError, match=message) as raised:
        manifest.load(path)
    assert str(raised.value.where).startswith(str(path))
    assert raised.match(key)


@pytest.mark.parametrize(
    ("text", "message"),
    [("[project", "not valid TOML"), ("[project]\nname = 'x'\n", r"a table \[tool.tritonext\]")],
)
def test_refuses_files_without_a_manifest(write, text, message):
    with pytest.raises(ManifestError, match=message):
        manifest.load(write(text))


def test_names_a_missing_file(tmp_path):
    with pytest.raises(ManifestError, match="No such file") as raised:
        manifest.load(tmp_path)
    assert raised.value.where == tmp_path / "pyproject.toml"


def test_suggests_the_misspelt_required_key(write):
    with pytest.raises(ManifestError, match="rename `stag` to `stage`"):
        manifest.load(write(PROJECT.replace("stage =", "stag =", 1)))


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}'])
def test_json_refuses_malformed_text(text):
    with pytest.raises(ManifestError) as raised:
        Manifest.from_json(text, "somewhere/_manifest.json")
    assert "somewhere/_manifest.json" in str(raised.value)


def test_json_reads_a_newer_schema_number_before_anything_else():
    with pytest.raises(ManifestError, match="upgrade"):
        Manifest.from_json(json.dumps({"schema": 99, "surprise": {}}))
