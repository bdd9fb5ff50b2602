{% set flag = cookiecutter.__flag ~ "-" ~ cookiecutter.__pass_snake.replace("_", "-") %}
"""What `{{flag}}` does to machine code, against stock in the same process."""

from __future__ import annotations

import re

import pytest

import tritonext
from tritonext import Pipeline, insert_after, remarks
from tritonext.offline import TARGETS
from tritonext.testing import kernels

PIPELINE = Pipeline([insert_after("ttgir", "ttgpuir.coalesce", "{{cookiecutter.id}}_{{cookiecutter.__pass_snake}}")])
STORE = re.compile(r"\b(?:st\.global|global_store|buffer_store)\S*.*")
STREAMING = re.compile(r"\.cs\b| nt\b")


def stores(kernel) -> tuple[int, int]:
    """Return how many stores to global memory a kernel has, and how many of them stream."""
    text = kernel.asm.get("ptx") or kernel.asm["amdgcn"]
    found = STORE.findall(text)
    return len(found), sum(bool(STREAMING.search(store)) for store in found)


@pytest.mark.parametrize("target", TARGETS)
def test_all_stores_stream(target):
    stock = kernels.compile("softmax", target)
    with tritonext.use(PIPELINE), remarks.collect() as found:
        ours = kernels.compile("softmax", target)
    count, _ = stores(ours)
    assert count > 0
    assert stores(stock) == (count, 0)
    assert stores(ours) == (count, count)
    assert [remark.message for remark in found if remark.pass_name == "{{flag}}"] == [
        "the store streams through the caches"
    ]


def test_small_stores_stay():
    stock = kernels.compile("softmax", "cuda:90")
    pipeline = Pipeline(
        [
            insert_after(
                "ttgir",
                "ttgpuir.coalesce",
                tritonext.PassRef("{{cookiecutter.id}}_{{cookiecutter.__pass_snake}}", {"min-bytes": 1 << 20}),
            )
        ]
    )
    with tritonext.use(pipeline):
        ours = kernels.compile("softmax", "cuda:90")
    assert ours.asm["cubin"] == stock.asm["cubin"]
