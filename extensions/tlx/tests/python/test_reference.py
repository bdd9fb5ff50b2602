"""The generated reference of ops says what the definitions say."""

import inspect
import pathlib
import re

import pytest

from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

PAGE = pathlib.Path(__file__).parents[4] / "docs" / "reference" / "tlx-ops.md"


def rows():
    """Return the cells of each row of the table."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_is_that_of_the_definitions():
    (_, *targets), *table = rows()
    assert targets == list(TARGETS)
    found = {target: {} for target in targets}
    for name, *cells in table:
        op = re.search(r"`(\w+)`", name)[1]
        what = re.fullmatch(r"`\w+`, (?:argument `(\w+)`|`(\w+)` (.*))", name)
        for target, cell in zip(targets, cells, strict=True):
            if what is None:
                if cell:
                    found[target][op] = []
            elif not cell and op in found[target]:
                found[target][op].append(what[1] or f"{what[2]}: {what[3]}")
    for target in targets:
        assert {op: tuple(lacks) for op, lacks in found[target].items()} == tlx.supported_ops(target)


def test_every_op_is_described_with_its_arguments():
    text = PAGE.read_text()
    for target in TARGETS:
        for name in tlx.supported_ops(target):
            signature = re.search(rf"### `{name}`\n\n```text\n{name}\((.*)\)\n```\n", text)[1]
            parameters = inspect.signature(getattr(tlx, name).fn).parameters
            for argument in parameters:
                assert argument.startswith("_") or re.search(rf"\b{argument}\b", signature), (name, argument)
