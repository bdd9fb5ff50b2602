"""Extensions that are installed, imported and inactive change neither a binary nor a cache entry.

The corpus is compiled in processes of their own: by stock Triton, and with every extension under test imported, used
once and left. Then a cache that stock Triton filled is used by a process in which an extension is active for one
kernel.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tritonext.testing import run_python
from tritonext.testing.conformance import ENVIRONMENT
from tritonext.testing.conformance.subjects import chosen

SCRIPT = pathlib.Path(__file__).with_name("corpus.py")
DECORATED = "softmax"


def start(directory: pathlib.Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the script; its cache and result are in ``directory``."""
    directory.mkdir(exist_ok=True)
    environment = {
        **ENVIRONMENT,
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "TRITON_CACHE_DIR": str(directory / "cache"),
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    command = [sys.executable, SCRIPT, directory / "result.json", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: subprocess.Popen[str], directory: pathlib.Path) -> dict:
    """Wait for the script and return its result."""
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output
    return json.loads((directory / "result.json").read_text())


@pytest.fixture(scope="module")
def identifiers(request):
    """The extensions under test."""
    found = [extension.id for extension in chosen(request.config)]
    if not found:
        pytest.skip("no extension is installed")
    return found


@pytest.fixture(scope="module")
def runs(identifiers, tmp_path_factory):
    """Stock Triton, and every extension inactive, each from an empty cache."""
    root = tmp_path_factory.mktemp("identity")
    stock = start(root / "stock")
    inactive = start(root / "inactive", "--load", *identifiers, "--leave")
    return root, finish(stock, root / "stock"), finish(inactive, root / "inactive")


def test_the_processes_are_what_they_stand_for(runs, identifiers):
    _, stock, inactive = runs
    assert (stock["loaded"], stock["installed"]) == ([], False)
    assert (inactive["loaded"], inactive["installed"]) == (identifiers, True)
    for run in (stock, inactive):
        targets = {name.partition(" ")[0] for name in run["found"]}
        kernels = {name.partition(" ")[2] for name in run["found"]}
        assert len(targets) == 5
        assert len(kernels) >= 12
        # Two compilations that "dropout" was left with belong to other entries.
        assert not any(entry["hit"] for entry in run["found"].values())


def test_binaries_are_identical(runs):
    _, stock, inactive = runs
    different = [name for name in stock["found"] if stock["found"][name]["binary"] != inactive["found"][name]["binary"]]
    assert different == []
    assert stock["found"].keys() == inactive["found"].keys()


def test_cache_entries_are_identical(runs):
    _, stock, inactive = runs
    different = [name for name in stock["found"] if stock["found"][name]["key"] != inactive["found"][name]["key"]]
    assert different == []


def test_active_for_one_kernel_the_others_hit_the_cache_of_stock(runs, identifiers, extension):
    root, stock, _ = runs
    # The other order of loading, too.
    arguments = ("--load", *reversed(identifiers), "--decorate", extension.id, DECORATED)
    used = finish(start(root / "stock", *arguments), root / "stock")["found"]
    missed = {name for name, entry in used.items() if not entry["hit"]}
    assert missed == {name for name in used if name.endswith(f" {DECORATED}")}
    for name in used.keys() - missed:
        assert used[name]["key"] == stock["found"][name]["key"]
        assert used[name]["binary"] == stock["found"][name]["binary"]
    again = finish(start(root / "stock", *arguments), root / "stock")["found"]
    assert all(entry["hit"] for entry in again.values())


def test_importing_an_extension_leaves_triton_untouched(identifiers):
    code = (
        "import sys\n"
        + "".join(f"import tritonext_{identifier}\n" for identifier in identifiers)
        + "import tritonext, triton\n"
        "from triton.backends.nvidia import compiler\n"
        "print(tritonext.active(), vars(triton.knobs.runtime_knobs)['add_stages_inspection_hook'],\n"
        "      type(compiler.passes).__name__, 'tritonext._triton.pipeline' in sys.modules)\n"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done
    assert done.stdout == "() None module False\n"
