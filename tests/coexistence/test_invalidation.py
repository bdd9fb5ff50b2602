"""What makes a cached kernel stale, through real compilations: content and options of extensions, not their order."""

import hashlib
import json

import pytest

from tritonext import registry
from tritonext.testing import install_copy, run_python

COMPILE = """
import json, sys
import triton, triton.language as tl
import tritonext
from tritonext.testing import fake_driver, kernels

hits = []
triton.knobs.compilation.listener = lambda *, cache_hit, **_: hits.append(cache_hit)
dropout = kernels.get("dropout").fn

def compile_kernel():
    x = fake_driver.Array("fp16")
    arguments = {"size": 160, "probability": 0.5, "seed": 17, "BLOCK": 256}
    return triton.jit(dropout.fn).warmup(x, x, grid=(1,), **arguments)

with fake_driver.active("cuda:90"):
    compile_kernel()
    for specs in json.loads(sys.argv[1]):
        with tritonext.use(*specs):
            result = compile_kernel()
print(json.dumps(hits))
"""

pytestmark = pytest.mark.skipif("probe" not in registry.installed(), reason="tritonext-probe is not installed")


@pytest.fixture
def hits(tmp_path):
    """Return whether the plain kernel, then the kernel under each list of pipelines, was in the cache."""
    environment = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_DEFAULT_FP_FUSION": "1"}

    def compile_under(*scopes, path=()):
        done = run_python("-c", COMPILE, json.dumps(scopes), path=path, environment=environment)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    return compile_under


@pytest.fixture
def site(tmp_path):
    """Install a copy of the fixture extension that may be changed; gives its directory and package."""
    directory = tmp_path / "site"
    return directory, install_copy(registry.extension("probe"), directory)


def test_content_of_the_library(hits, site):
    directory, package = site
    assert hits(["probe"], path=(directory,)) == [False, False]
    assert hits(["probe"], path=(directory,)) == [True, True]
    library, stamp = package / "libtritonext_probe.so", package / registry.STAMP_FILE
    content = library.read_bytes()

    def write(data):
        library.write_bytes(data)
        marks = json.loads(stamp.read_text()) | {"library_sha256": hashlib.sha256(data).hexdigest()}
        stamp.write_text(json.dumps(marks))

    # Bytes behind the last section change the file and nothing that runs.
    write(content + b"\0")
    assert hits(["probe"], path=(directory,)) == [True, False]
    write(content)
    assert hits(["probe"], path=(directory,)) == [True, True]


def test_content_of_the_python_files(hits, site):
    directory, package = site
    assert hits(["probe"], path=(directory,)) == [False, False]
    source = package / "__init__.py"
    text = source.read_text()
    source.write_text(text + "\n# changed\n")
    assert hits(["probe"], path=(directory,)) == [True, False]
    source.write_text(text)
    (package / "notes.txt").write_text("not part of what runs")
    assert hits(["probe"], path=(directory,)) == [True, True]


def test_options(hits):
    scopes = [["probe"], ["probe:mark=other"], ["probe:mark=seen"]]
    assert hits(*scopes) == [False] * 4
    assert hits(*reversed(scopes)) == [True] * 4
    # An extension that is active twice is active once.
    assert hits(["probe", "probe"]) == [True, True]


@pytest.mark.skipif("layout" not in registry.installed(), reason="tritonext-layout is not installed")
def test_order_of_activation_is_no_reason(hits):
    scopes = [["layout"], ["probe", "layout"], ["layout", "probe"]]
    assert hits(*scopes) == [False, False, False, True]
