"""What of an extension the key of its pipeline covers: everything that decides the result, and nothing else."""

import json
import shutil

import pytest

from tritonext.testing import run_python

EXTENSION = {
    "schema": 1,
    "id": "left",
    "version": "0.1.0",
    "description": "an extension that is only looked at",
    "requires": [],
    "targets": ["cuda:90"],
    "passes": [{"def": "MovePartsPass", "stage": "ttgir", "idempotent": True, "after": {"cuda": "ttgpuir.coalesce"}}],
    "dialects": [],
    "ops": [],
}

# The keys alone: nothing is loaded, so the libraries can be any bytes.
KEYS = """
import json
from tritonext import activation, registry
from tritonext.pipeline import PassRef, Pipeline, from_manifest, insert_after
left = from_manifest(registry.extension("left").manifest)
right = from_manifest(registry.extension("right").manifest)
other = from_manifest(registry.extension("left").manifest, {"left_move_parts": {"count": 3}})
own = Pipeline([insert_after("ttgir", "ttgpuir.coalesce", PassRef("left_move_parts"))])
plain = Pipeline([insert_after("ttgir", "ttgpuir.coalesce", "common.cse")])
key = lambda *pipelines: activation.state_of(pipelines).key
print(json.dumps({"left": key(left), "right": key(right), "options": key(other), "own": key(own), "plain": key(plain),
                  "both": key(left, right), "swapped": key(right, left)}))
"""


@pytest.fixture
def site(tmp_path):
    directory = tmp_path / "site"
    for identifier in ("left", "right"):
        package = directory / f"tritonext_{identifier}"
        (package / "nested").mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "nested" / "code.py").write_text("VALUE = 1\n")
        (package / "README.md").write_text("text\n")
        (package / f"libtritonext_{identifier}.so").write_bytes(b"library")
        (package / "_manifest.json").write_text(json.dumps(EXTENSION | {"id": identifier}))
        info = directory / f"tritonext_{identifier}-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tritonext-{identifier}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text(f"[tritonext.extensions]\n{identifier} = tritonext_{identifier}\n")
    return directory


def keys(site):
    done = run_python("-c", KEYS, path=(site,))
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def change_library(package):
    (package / "libtritonext_left.so").write_bytes(b"library, rebuilt")


def change_python(package):
    (package / "nested" / "code.py").write_text("VALUE = 2\n")


def add_python(package):
    (package / "added.py").write_text("")


def rename_python(package):
    (package / "nested" / "code.py").rename(package / "nested" / "other.py")


def change_version(package):
    manifest = json.loads((package / "_manifest.json").read_text()) | {"version": "0.1.1"}
    (package / "_manifest.json").write_text(json.dumps(manifest))


def require_right(package):
    manifest = json.loads((package / "_manifest.json").read_text()) | {"requires": ["right"]}
    (package / "_manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "change", [change_library, change_python, add_python, rename_python, change_version, require_right]
)
def test_content_changes_the_keys_of_the_extension_alone(site, change):
    before = keys(site)
    change(site / "tritonext_left")
    after = keys(site)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"left", "options", "own", "both", "swapped"}


def test_what_decides_nothing_changes_nothing(site, tmp_path):
    before = keys(site)
    package = site / "tritonext_left"
    (package / "README.md").write_text("other text\n")
    (package / "nested" / "data.bin").write_bytes(b"data")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "code.cpython-311.pyc").write_bytes(b"bytecode")
    for path in package.rglob("*"):
        path.touch()
    assert keys(site) == before
    moved = tmp_path / "elsewhere"
    shutil.move(site, moved)
    assert keys(moved) == before


def test_options_have_keys_of_their_own_and_orders_share_one(site):
    found = keys(site)
    assert found.pop("swapped") == found["both"]
    assert len(set(found.values())) == len(found)


def test_required_extension_counts_as_content(site):
    require_right(site / "tritonext_left")
    before = keys(site)
    (site / "tritonext_right" / "libtritonext_right.so").write_bytes(b"library, rebuilt")
    after = keys(site)
    assert {name for name in before if before[name] == after[name]} == {"plain"}
