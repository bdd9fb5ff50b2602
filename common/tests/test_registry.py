"""The registry: what it finds, how it reports broken distributions, and that it imports nothing."""

from __future__ import annotations

import json

import pytest

from tritonext.testing import run_python

LIST = "import json, tritonext.registry as r; s = r.scan(); print(json.dumps([sorted(s.extensions), sorted(s.broken)]))"


def scan(path) -> list[list[str]]:
    done = run_python("-c", LIST, path=(path,))
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def find(path, identifier: str):
    code = (
        "import sys, tritonext\n"
        "try:\n    print(tritonext.extension(sys.argv[1]).root)\n"
        "except tritonext.TritonextError as error:\n    print(type(error).__name__, error)\n    sys.exit(3)\n"
    )
    return run_python("-c", code, identifier, path=(path,))


def test_lists_without_importing(fake_extension, tmp_path):
    package = fake_extension()
    found, broken = scan(tmp_path)
    assert "sample" in found
    assert "sample" not in broken
    done = find(tmp_path, "sample")
    assert (done.returncode, done.stdout.strip()) == (0, str(package))


def test_one_broken_extension_does_not_hide_others(fake_extension, tmp_path):
    fake_extension("good")
    fake_extension("bad", manifest="{")
    fake_extension("deep", manifest="[" * 99999)
    fake_extension("lost", manifest="{")
    (tmp_path / "tritonext_lost-0.1.0.dist-info" / "METADATA").unlink()
    found, broken = scan(tmp_path)
    assert "good" in found
    assert {"bad", "deep", "lost"} <= set(broken)
    done = find(tmp_path, "bad")
    assert done.returncode == 3
    assert "ManifestError the manifest is not valid JSON" in done.stdout


def test_two_distributions_with_one_id_name_both(fake_extension, tmp_path):
    fake_extension()
    fake_extension(distribution="other-sample")
    done = find(tmp_path, "sample")
    assert done.returncode == 3
    assert "found: other-sample, tritonext-sample" in done.stdout
    assert "pip uninstall tritonext-sample" in done.stdout


def test_newer_manifest_schema_asks_for_an_upgrade(fake_extension, tmp_path):
    fake_extension(manifest={"schema": 2})
    done = find(tmp_path, "sample")
    assert done.returncode == 3
    assert "ManifestError the manifest is written for a newer tritonext" in done.stdout
    assert "pip install --upgrade dist/tritonext-*.whl" in done.stdout


def test_manifest_of_another_id_is_an_error(fake_extension, tmp_path):
    fake_extension(manifest={"id": "other"})
    done = find(tmp_path, "sample")
    assert done.returncode == 3
    assert "the entry point disagrees with the manifest" in done.stdout


@pytest.mark.parametrize(
    ("file", "message"), [(None, "package of the extension 'sample' cannot be found"), ("_manifest.json", "readable")]
)
def test_incomplete_installations_are_named(fake_extension, tmp_path, file, message):
    package = fake_extension()
    if file is None:
        package.rename(tmp_path / "elsewhere")
    else:
        (package / file).unlink()
    done = find(tmp_path, "sample")
    assert done.returncode == 3
    assert message in done.stdout
    assert "pip install --force-reinstall --no-deps dist/tritonext_sample-*.whl" in done.stdout


def test_unknown_extension_lists_those_installed(fake_extension, tmp_path):
    fake_extension()
    done = find(tmp_path, "nothing")
    assert done.returncode == 3
    assert "UnknownExtensionError no installed extension is called 'nothing'" in done.stdout
    assert "sample" in done.stdout


def test_files_are_the_python_files_of_the_package(probe):
    names = [path.relative_to(probe.root).as_posix() for path in probe.files()]
    assert "__init__.py" in names
    assert all(name.endswith(".py") for name in names)
    assert names == sorted(names)
