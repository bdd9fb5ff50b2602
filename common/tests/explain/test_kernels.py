"""The corpus: what it covers, and that its kernels compile. Conformance compiles all of it."""

from __future__ import annotations

import pytest

from tritonext.errors import UserError
from tritonext.offline import TARGETS
from tritonext.testing import kernels


def test_the_corpus_covers_every_target():
    assert len(kernels.CORPUS) >= 20
    for target in TARGETS:
        assert len(kernels.select(target)) >= 20
    assert all(kernel.name == name and set(kernel.targets) <= set(TARGETS) for name, kernel in kernels.CORPUS.items())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["attention_forward", "histogram", "gemm_masked"])
def test_kernels_compile(name, target):
    compiled = kernels.compile(name, target)
    binary = compiled.asm["cubin" if target.startswith("cuda") else "hsaco"]
    assert binary[:4] == b"\x7fELF"
    assert compiled.metadata.name == kernels.get(name).fn.__name__


def test_unknown_kernels_and_unsuitable_targets_are_refused():
    with pytest.raises(UserError, match="no such kernel") as error:
        kernels.get("gem")
    assert "gemm_fp16" in error.value.expected
    with pytest.raises(UserError, match="not meant for this target") as error:
        kernels.compile("gemm_persistent", "cuda:80")
    assert error.value.expected == "cuda:90, cuda:100"
