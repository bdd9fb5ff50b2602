"""The Python of guides and READMEs runs; that of tutorials runs in tests/packaging.

A page is one program: its blocks in order, without those that launch kernels or only show a form.
"""

from __future__ import annotations

import pathlib
import re
import textwrap

import pytest

from tritonext import registry
from tritonext.testing import run_python

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# Pages, the extensions that they need, and how many of their blocks run.
PAGES = [
    ("docs/pipelines.md", (), 1),
    ("docs/explain.md", (), 2),
    ("docs/ttgir-simulator.md", (), 1),
    ("extensions/sparsity/README.md", ("sparsity", "tlx"), 6),
    ("extensions/tlx/README.md", ("tlx",), 1),
]
# Launches, tensors on a GPU, signatures, and blocks about a kernel that the reader has.
SHOWN = re.compile(r"\[grid\]|device=\"cuda\"|\.cuda\(\)|\) -> Report|\.\.\.\)|Specialization\(matmul|matmul\.warmup")


@pytest.mark.parametrize(("page", "needs", "count"), PAGES, ids=[page for page, _, _ in PAGES])
def test_snippets_of_a_page_run(page, needs, count, tmp_path):
    pytest.importorskip("numpy")
    if missing := set(needs) - registry.installed().keys():
        pytest.skip(f"the extension {', '.join(missing)} is not installed")
    blocks = [textwrap.dedent(text) for _, text in BLOCK.findall((ROOT / page).read_text())]
    blocks = [text for text in blocks if not SHOWN.search(text)]
    assert len(blocks) == count
    program = tmp_path / "snippets.py"
    program.write_text("\n".join(blocks))
    done = run_python(program, environment={"TRITON_CACHE_DIR": str(tmp_path / "cache")})
    assert done.returncode == 0, done
