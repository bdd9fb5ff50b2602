"""Indexes of published extensions: made from wheels, checked, and refused where something disagrees."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import pathlib
import zipfile

import pytest

from tritonext import index
from tritonext.errors import ExtensionError
from tritonext.testing import run_python

TAG = "py3-none-manylinux_2_28_x86_64"


@pytest.fixture
def wheel(fake_extension, tmp_path):
    """A function that makes a wheel of an extension whose metadata a test chooses."""

    def make(
        identifier: str = "sample",
        *,
        version: str = "0.1.0",
        manifest=None,
        stamp=None,
        requires=None,
        damage=None,
        **names,
    ) -> pathlib.Path:
        directory = tmp_path / "packages" / f"{identifier}-{version}"
        package = fake_extension(
            identifier,
            manifest={"version": version, **(manifest or {})},
            stamp={"version": version, **(stamp or {})},
            distribution=f"tritonext-{identifier}-{version}",
        )
        directory.parent.mkdir(exist_ok=True)
        package.rename(directory)
        files = {f"{package.name}/{path.name}": path.read_bytes() for path in directory.iterdir()}
        info = f"tritonext_{identifier}-{version}.dist-info"
        needs = requires or ["triton==3.9.0", "tritonext==0.1.*"]
        lines = ["Metadata-Version: 2.1", f"Name: tritonext-{identifier}", f"Version: {version}"]
        lines += [f"Requires-Dist: {need}" for need in needs]
        files[f"{info}/METADATA"] = "\n".join(lines).encode(errors="surrogateescape") + b"\n"
        files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nTag: {names.get('tag', TAG)}\n".encode()
        record = io.StringIO()
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            csv.writer(record).writerow([name, f"sha256={digest}", len(content)])
        csv.writer(record).writerow([f"{info}/RECORD", "", ""])
        files[f"{info}/RECORD"] = record.getvalue().encode()
        if damage:
            files[f"{package.name}/{damage}"] = b"something else"
        (tmp_path / "dist").mkdir(exist_ok=True)
        path = tmp_path / "dist" / names.get("file", f"tritonext_{identifier}-{version}-{TAG}.whl")
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path

    return make


def test_an_index_of_two_versions(wheel):
    new, old = wheel(version="0.10.0"), wheel(version="0.9.0", manifest={"targets": ["cuda:90"]})
    found = index.build([new, old], "https://example.org/wheels/")
    [(identifier, records)] = found["extensions"].items()
    assert (found["schema"], identifier) == (1, "sample")
    assert [record["version"] for record in records] == ["0.9.0", "0.10.0"]
    assert records[0]["targets"] == ["cuda:90"]
    assert records[1]["sha256"] == hashlib.sha256(new.read_bytes()).hexdigest()
    assert records[1]["url"] == f"https://example.org/wheels/{new.name}"
    assert records[1]["abi"] == {"compared": 1, "mismatches": 0, "uncovered": 0}
    index.check(json.loads(json.dumps(found)), "again")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stamp": {"library_sha256": "0" * 64}}, "the library of the wheel"),
        ({"stamp": {"version": "0.2.0"}}, "the version in the stamp"),
        ({"stamp": {"abi": {"compared": 9, "mismatches": 1, "uncovered": 0}}}, "the mismatches of layouts"),
        ({"requires": ["triton>=3.9", "tritonext"]}, "the requirement of triton"),
        ({"requires": ["tritonext"]}, "the requirement of triton"),
        ({"tag": "py3-none-linux_x86_64"}, "the tag of the wheel"),
        ({"file": f"tritonext_other-0.1.0-{TAG}.whl"}, "the name of the wheel"),
        ({"file": f"tritonext_sample-0.3.0-{TAG}.whl"}, "the version of the wheel"),
        ({"file": "sample.whl"}, "that is no name of a wheel"),
        ({"damage": "__init__.py"}, "is not the one that RECORD describes"),
        ({"damage": "more.py"}, "RECORD lists other files"),
        ({"requires": ["triton==3.9.0\nSummary: \udce9"]}, "no UTF-8"),
        ({"manifest": {"schema": 9}}, "the manifest is written for a newer tritonext"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unsound_wheel_is_refused(wheel, changes, message):
    with pytest.raises(ExtensionError, match=message):
        index.describe(wheel(**changes))


def test_what_is_no_wheel_of_an_extension(tmp_path):
    path = tmp_path / "other-1.0-py3-none-any.whl"
    path.write_bytes(b"PK")
    with pytest.raises(ExtensionError, match="the file cannot be read as a wheel"):
        index.describe(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other/__init__.py", "text " * 99)
    content = path.read_bytes()
    for place, byte in ((content.index(b".py") + 3, 0xFF), (content.index(b"PK\1\2") + 6, 0xFF)):
        path.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
        with pytest.raises(ExtensionError, match="the file cannot be read as a wheel"):
            index.describe(path)
    path.write_bytes(content)
    with pytest.raises(ExtensionError, match="that is no wheel of an extension"):
        index.describe(path)


def test_extensions_that_do_not_get_along(wheel):
    first = wheel()
    with pytest.raises(ExtensionError, match="no version of what an extension requires"):
        index.build([first, wheel("needy", manifest={"requires": ["sample>=2"]})])
    dialect = {"name": "shared", "class": "tritonext::{0}::D", "header": "tritonext_{0}/D.h"}
    pair = [
        wheel(name, manifest={"dialects": [{key: text.format(name) for key, text in dialect.items()}]})
        for name in ("one", "two")
    ]
    with pytest.raises(ExtensionError, match="two extensions define shared"):
        index.build(pair)


def older(found: dict) -> dict:
    """Return the record of the version before the only one of an index."""
    record = dict(found["extensions"]["sample"][0])
    return record | {key: record[key].replace("0.1.0", "0.0.9") for key in ("file", "version")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.update(schema=2), "that is no index"),
        (lambda found: found["extensions"].update(empty=[]), "an extension has no wheel"),
        (lambda found: found["extensions"]["sample"][0].pop("sha256"), "a value is missing"),
        (lambda found: found["extensions"]["sample"][0].update(sha256="abc"), "a hash is malformed"),
        (lambda found: found["extensions"]["sample"][0].update(version="new"), "a version is malformed"),
        (lambda found: found["extensions"]["sample"].append(found["extensions"]["sample"][0]), "is there twice"),
        (lambda found: found.update(schema=True), "that is no index"),
        (lambda found: found["extensions"].update({"A b": found["extensions"]["sample"]}), "that is no id"),
        (lambda found: found["extensions"]["sample"][0].update(requires=["sample>=x"]), "a requirement is malformed"),
        (lambda found: found["extensions"]["sample"][0].update(passes=[["a"]]), "expected: a list of strings"),
        (lambda found: found["extensions"]["sample"][0].update(abi={}), "layouts of types were not found"),
        (lambda found: found["extensions"]["sample"][0].update(file="../x.whl"), "not the name of the wheel"),
        (lambda found: found["extensions"]["sample"][0].update(url=1), "expected: str"),
        (lambda found: found["extensions"]["sample"].append(older(found)), "the versions are not in order"),
    ],
)
def test_a_malformed_index_is_refused(wheel, change, message):
    found = index.build([wheel()])
    change(found)
    with pytest.raises(ExtensionError, match=message):
        index.check(found, "index.json")


def test_the_command(wheel, tmp_path):
    wheel()
    dist, out = tmp_path / "dist", tmp_path / "index.json"
    assert run_python("-m", "tritonext", "index", dist, "-o", out).returncode == 0
    done = run_python("-m", "tritonext", "index", dist, "--check", out)
    assert (done.returncode, done.stdout) == (0, "1 wheels of 1 extensions: no problems\n"), done
    wheel(version="0.2.0")
    done = run_python("-m", "tritonext", "index", dist, "--check", out)
    assert (done.returncode, done.stderr) == (1, f"error: tritonext_sample-0.2.0-{TAG}.whl: not in the index\n")
    data = json.loads(out.read_text())
    data["extensions"]["sample"][0]["size"] += 1
    out.write_text(json.dumps(data))
    done = run_python("-m", "tritonext", "index", dist / f"tritonext_sample-0.1.0-{TAG}.whl", "--check", out)
    assert "the index has another size" in done.stderr
    done = run_python("-m", "tritonext", "index", tmp_path)
    assert done.stderr.startswith("error: there is no wheel\n")
