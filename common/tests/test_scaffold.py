"""New extensions from the template: what is rendered, what is refused, and that nothing is left half-written."""

from __future__ import annotations

import json
import pathlib
import py_compile
import re
import shutil

import pytest

from tritonext import manifest, registry, scaffold
from tritonext.errors import InternalError, ManifestError, OptionError, TritonextError, UserError
from tritonext.testing import run_python

pytest.importorskip("cookiecutter", reason="there is no cookiecutter in this environment; `nox -s tests` installs it")

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYOUT = ROOT / "extensions" / "layout"

PASSES = {
    "pass": ["StreamStoresPass"],
    "dialect": ["RaiseReluPass", "LowerReluPass"],
    "op": ["LowerReluPass"],
    "backend": [],
    "profiler": [],
}


def files(directory: pathlib.Path) -> dict[str, str]:
    """Return the text of every file below a directory."""
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> pathlib.Path:
    """An extension of every kind; tests must not change it."""
    return scaffold.create("demo", list(scaffold.KINDS), tmp_path_factory.mktemp("whole") / "demo")


def test_the_template_asks_for_each_kind():
    questions = json.loads((scaffold.template_dir() / "cookiecutter.json").read_text())
    assert [name.removeprefix("with_") for name in questions if name.startswith("with_")] == list(scaffold.KINDS)


@pytest.mark.parametrize("kind", scaffold.KINDS)
def test_each_kind_is_complete(kind, tmp_path):
    made = scaffold.create("loop_split", [kind], tmp_path / "made")
    found = manifest.load(made)
    assert [entry.definition for entry in found.passes] == PASSES[kind]
    assert [entry.name for entry in found.ops] == (["loop_split_relu"] if kind == "op" else [])
    assert len(found.dialects) == (kind in ("dialect", "op"))
    for entry in found.passes:
        assert (made / "lib" / "Transforms" / f"{entry.stem}.cpp").is_file()
        for suffix in ("", "_invalid"):
            assert entry.flag in (made / "tests" / "lit" / f"{entry.snake}{suffix}.mlir").read_text()
    for name, text in files(made).items():
        assert not re.search(r"cookiecutter|\{%|\bdemo\b", text), name
        assert "cookiecutter" not in name
        assert re.search(r"\S\n\Z", text), name
        if name.endswith(".py") and name != "tests/lit/lit.cfg.py":
            py_compile.compile(str(made / name), cfile=str(tmp_path / "compiled"), doraise=True)


def test_the_first_pass_and_op_have_the_names_that_were_asked_for(tmp_path):
    made = scaffold.create(
        "demo", ["pass", "dialect"], tmp_path / "made", pass_name="UnrollKLoopsPass", op_name="fp8x2_gate"
    )
    found = manifest.load(made)
    assert [entry.stem for entry in found.passes] == ["UnrollKLoops", "RaiseFp8x2Gate", "LowerFp8x2Gate"]
    for entry in found.passes:
        assert f'DEBUG_TYPE "{entry.flag}"' in (made / "lib" / "Transforms" / f"{entry.stem}.cpp").read_text()
        assert entry.flag in (made / "tests" / "lit" / f"{entry.snake}_invalid.mlir").read_text()
    for name, text in files(made).items():
        assert not re.search(r"(?i)stream.?stores|relu", name + text), name


def test_a_name_of_another_kind_can_be_taken(tmp_path):
    made = scaffold.create("demo", ["pass"], tmp_path / "made", pass_name="RaiseRelu")
    assert "class RaiseReluPass" in (made / "lib" / "Transforms" / "RaiseRelu.cpp").read_text()
    assert (made / "tests" / "python" / "test_raise_relu.py").is_file()


def test_licenses_and_authors(tmp_path):
    heads = {}
    for license in scaffold.LICENSES:
        made = scaffold.create("demo", ["backend"], tmp_path / license, license=license, author="A. Name")
        heads[license] = (made / "LICENSE").read_text().split("\n\n")[0].split("\n")[-1].strip()
        assert f'license = "{license}"' in (made / "pyproject.toml").read_text()
        assert 'authors = [{ name = "A. Name" }]' in (made / "pyproject.toml").read_text()
        assert license == "Apache-2.0" or "A. Name" in (made / "LICENSE").read_text()
    assert heads == {
        "MIT": "MIT License",
        "Apache-2.0": "http://www.apache.org/licenses/",
        "BSD-3-Clause": "BSD 3-Clause License",
    }


def test_layout_is_what_the_template_makes(tmp_path, monkeypatch):
    """The files of a real extension that belong to the template are as it renders them, byte for byte."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "versions.toml").touch()
    (tmp_path / "extensions").mkdir()
    monkeypatch.setattr(registry, "scan", registry.Scan)
    made = scaffold.create("layout", ["pass"], in_tree=True, description=manifest.load(LAYOUT).description)
    assert made == tmp_path / "extensions" / "layout"
    assert (made / "LICENSE").readlink() == (LAYOUT / "LICENSE").readlink()
    # Others are a start, which their authors go on from.
    for name in ("CMakeLists.txt", "tests/lit/lit.cfg.py", "tests/python/conftest.py"):
        assert (made / name).read_bytes() == (LAYOUT / name).read_bytes(), name
    # Its targets are the author's choice.
    texts = (path.joinpath("pyproject.toml").read_bytes().split(b"\n[[tool.")[0] for path in (made, LAYOUT))
    ours, real = (re.sub(rb"(?m)^targets = .*$", b"", text) for text in texts)
    assert ours == real
    kept = {"noxfile.py", "LICENSE", ".gitignore", "conftest.py", ".github/workflows/test.yml"}
    assert not kept & files(made).keys()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"identifier": "Bad"}, "that is no id of an extension"),
        ({"identifier": "lambda"}, "that is no id of an extension"),
        ({"identifier": "namespace"}, "that is no id of an extension"),
        ({"identifier": "a" * 40}, "that is no id of an extension"),
        ({"identifier": "arith", "kinds": ["op"]}, "stock Triton has a dialect 'arith'"),
        ({"identifier": "mlir"}, "that is no id of an extension"),
        ({"identifier": "re", "kinds": ["op"]}, "this one means something else in them"),
        ({"kinds": []}, "it is not said what the extension starts from"),
        ({"kinds": ["pass", "frontend"]}, "it is not said what the extension starts from"),
        ({"description": 'so "called"'}, "that is no description"),
        ({"description": "two\nlines"}, "that is no description"),
        ({"description": "two\u2028lines"}, "that is no description"),
        ({"description": " "}, "that is no description"),
        ({"author": "a}b"}, "that is no name"),
        ({"license": "Beerware"}, "there is no text of that license"),
        ({"pass_name": "divide"}, "that is no name of a pass"),
        ({"op_name": "row_sum"}, "there is no op to name"),
        ({"kinds": ["op"], "op_name": "Row"}, "that is no name of an op"),
        ({"kinds": ["op"], "op_name": "a_b"}, "expected: words that stay apart"),
        ({"kinds": ["op"], "op_name": "pipeline"}, "the package needs that name for something else"),
        ({"kinds": ["op"], "op_name": "isinstance"}, "the package needs that name for something else"),
        ({"kinds": ["op"], "op_name": "residency"}, "two tests of one name"),
        ({"kinds": ["pass", "op"], "pass_name": "RowSum", "op_name": "row_sum"}, "found: test_row_sum"),
        ({"kinds": ["pass", "dialect"], "pass_name": "LowerRelu"}, "found: LowerRelu"),
        ({"in_tree": True}, "an extension of the tree has its place there"),
        ({"target": "absent/below"}, "a directory does not exist"),
    ],
)
def test_answers_that_cannot_be_used(answers, message, tmp_path):
    chosen = {"identifier": "demo", "kinds": ["pass"], "target": "made", **answers}
    with pytest.raises(UserError, match=message):
        scaffold.create(target=tmp_path / chosen.pop("target"), **chosen)
    assert list(tmp_path.iterdir()) == []


def test_an_installed_extension_keeps_its_name(tmp_path):
    installed = next(iter(registry.installed()), None)
    if installed is None:
        pytest.skip("no extension is installed")
    with pytest.raises(UserError, match=f"an installed extension is called '{installed}'"):
        scaffold.create(installed, ["backend"], tmp_path / "made")


def test_a_dirty_directory_is_left_as_it_is(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UserError, match="the directory is not empty"):
        scaffold.create("demo", ["pass"], tmp_path)
    with pytest.raises(UserError, match="something is in the way"):
        scaffold.create("demo", ["pass"], tmp_path / "notes")
    assert files(tmp_path) == {"notes": "mine"}


def test_an_empty_directory_is_used(tmp_path):
    target = tmp_path / "empty"
    target.mkdir()
    assert manifest.load(scaffold.create("demo", ["backend"], target)).id == "demo"


@pytest.mark.parametrize("fails", ["manifest", "template"])
def test_nothing_is_half_written(fails, tmp_path, monkeypatch):
    if fails == "manifest":

        def refuse(path):
            raise ManifestError("refused")

        monkeypatch.setattr(manifest, "load", refuse)
    else:
        template = tmp_path / "template"
        template.mkdir()
        answers = json.loads((scaffold.template_dir() / "cookiecutter.json").read_text())
        (template / "cookiecutter.json").write_text(json.dumps(answers))
        (template / "{{cookiecutter.id}}").mkdir()
        (template / "{{cookiecutter.id}}" / "file").write_text("{{cookiecutter.absent}}")
        monkeypatch.setattr(scaffold, "template_dir", lambda: template)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises((ManifestError, InternalError)):
        scaffold.create("demo", ["pass"], out / "made")
    assert list(out.iterdir()) == []


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
QUOTED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_quote_what_the_template_makes(page, whole):
    quoted = QUOTED.findall(page.read_text())
    if page.stem in ("pass", "dialect", "op"):
        assert len(quoted) >= 3
    for name, text in quoted:
        assert text in (whole / name).read_text(), f"{page.name} quotes {name}"


INLINE = '{ name = "demo_relu", function = "tritonext::demo::buildRelu", header = "tritonext_demo/IR/Builders.h" }'


def copied(whole: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    return shutil.copytree(whole, tmp_path / "copy")


def test_a_pass_is_added(whole, tmp_path):
    extension = copied(whole, tmp_path)
    before = files(extension)
    changed = scaffold.create_pass("CountLoads", extension)
    after = files(extension)
    assert {name for name in after if after[name] != before.get(name)} == set(map(str, changed))
    assert manifest.load(extension).passes[-1].flag == "demo-count-loads"
    definitions = after["include/tritonext_demo/Transforms/Passes.td"]
    assert re.findall(r"^def (\w+)", definitions, re.MULTILINE)[-1] == "CountLoadsPass"
    for taken in ("CountLoadsPass", "CountloadS"):
        with pytest.raises(UserError, match="has a pass 'CountLoads'"):
            scaffold.create_pass(taken, extension)
    assert files(extension) == after


def test_files_stay_what_they_are(whole, tmp_path):
    """The ends of lines, links and modes."""
    extension = copied(whole, tmp_path)
    for path in filter(pathlib.Path.is_file, extension.rglob("*")):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    elsewhere = (extension / "pyproject.toml").rename(tmp_path / "elsewhere.toml")
    (extension / "pyproject.toml").symlink_to(elsewhere)
    package = extension / "python/tritonext_demo/__init__.py"
    package.chmod(0o755)
    changed = [extension / path for path in scaffold.create_op("row_gate", extension)]
    old = [path for path in changed if path.read_bytes().count(b"\r\n")]
    names = {"Builders.cpp", "Builders.h", "Ops.td", "Passes.td", "__init__.py", "ops.py", "pyproject.toml"}
    assert {path.name for path in old} == names
    assert all(path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") for path in old)
    assert (extension / "pyproject.toml").is_symlink()
    assert package.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("start", ["whole", "pass", "backend"])
def test_an_op_is_added(start, whole, tmp_path):
    extension = copied(whole, tmp_path) if start == "whole" else scaffold.create("demo", [start], tmp_path / "demo")
    if start == "backend":
        package = extension / "python/tritonext_demo/__init__.py"
        package.write_text(package.read_text().replace("import pipeline\n", "import (\n    pipeline,\n)\n"))
    scaffold.create_op("row_gate", extension)
    found = manifest.load(extension)
    assert found.ops[-1].name == "demo_row_gate"
    assert len(found.dialects) == 1
    texts = files(extension)
    assert 'def Demo_RowGateOp : Op<Demo_Dialect, "row_gate"' in texts["include/tritonext_demo/IR/Ops.td"]
    package = texts["python/tritonext_demo/__init__.py"]
    assert "row_gate" in re.search(r"^from \.ops import (.+)$", package, re.MULTILINE)[1]
    assert '"row_gate"' in re.search(r"^__all__ = (.+)$", package, re.MULTILINE)[1]
    compile(package, "__init__.py", "exec")
    with pytest.raises(UserError, match="has an op 'row_gate'"):
        scaffold.create_op("row_gate", extension)
    assert files(extension) == texts


@pytest.mark.parametrize(
    "line",
    ["from .ops import demo_sum  # noqa: F401", "from .ops import (\n    demo_sum,\n)"],
    ids=["comment", "lines"],
)
def test_imports_of_any_layout_are_extended(line, whole, tmp_path):
    extension = copied(whole, tmp_path)
    package = extension / "python/tritonext_demo/__init__.py"
    old = re.search(r"^from \.ops import (.+)$", package.read_text(), re.MULTILINE)
    package.write_text(package.read_text().replace(old[0], line.replace("demo_sum", old[1])))
    scaffold.create_op("row_gate", extension)
    assert f"from .ops import {', '.join(sorted([old[1], 'row_gate']))}\n" in package.read_text()
    compile(package.read_text(), package, "exec")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("python/tritonext_demo/__init__.py", r"\Z", "from .ops import ops as other\n", "laid out in another way"),
        ("python/tritonext_demo/__init__.py", r"__all__ = \[", "__all__ = [*(), ", "is not written out"),
        ("pyproject.toml", r"\[\[tool.tritonext.ops\]\]\n(name.*)\n(.*)\n(.*)", r"", "laid out in another way"),
        ("pyproject.toml", r"(dialects\]\]\nname = )\"demo\"", r'\1"other"', "expected: a dialect demo"),
    ],
    ids=["renamed import", "computed exports", "inline table", "other dialect"],
)
def test_what_is_laid_out_otherwise_is_left_alone(name, old, new, message, whole, tmp_path):
    extension = copied(whole, tmp_path)
    text, count = re.subn(old, new, (extension / name).read_text(), count=1)
    assert count
    if not new:
        # Before the first table of an array.
        text = text.replace("\n[[", f"\nops = [{INLINE}]\n\n[[", 1)
    (extension / name).write_text(text)
    before = files(extension)
    with pytest.raises(UserError, match=message):
        scaffold.create_op("row_gate", extension)
    assert files(extension) == before


def test_an_empty_directory_is_filled_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    assert scaffold.new(["demo", "--kind", "backend", "--output", "."]) == 0
    assert tmp_path.stat().st_ino == before
    assert manifest.load(tmp_path).id == "demo"


def test_a_file_in_the_way_stops_everything(whole, tmp_path):
    extension = copied(whole, tmp_path)
    (extension / "tests" / "python" / "test_count_loads.py").write_text("mine")
    before = files(extension)
    with pytest.raises(UserError, match="a file is in the way"):
        scaffold.create_pass("CountLoads", extension)
    assert files(extension) == before
    # What comes to light while files are written takes back those that were.
    (extension / "tests" / "python" / "test_count_loads.py").unlink()
    shutil.rmtree(extension / "tests" / "lit")
    (extension / "tests" / "lit").write_text("mine")
    before = files(extension)
    with pytest.raises(OSError, match="lit"):
        scaffold.create_pass("CountLoads", extension)
    assert files(extension) == before


@pytest.mark.parametrize(
    ("function", "name"),
    [("create_pass", "count_loads"), ("create_pass", "Count"), ("create_op", "Bad"), ("create_op", "if")],
)
def test_names_that_cannot_be_used(function, name, whole):
    with pytest.raises(OptionError, match="that is no name of"):
        getattr(scaffold, function)(name, whole)


def test_no_extension_to_add_to(tmp_path):
    with pytest.raises(TritonextError, match="the manifest cannot be read"):
        scaffold.create_pass("CountLoads", tmp_path)


def test_the_command_says_what_comes_next(tmp_path):
    made = tmp_path / "a place"
    done = run_python("-m", "tritonext", "new", "demo", "--kind", "op,backend", "--kind=profiler", "--output", made)
    assert done.returncode == 0, done
    assert "a place'\n" in done.stdout
    assert "pytest --tritonext-conformance" in done.stdout
    assert manifest.load(made).ops


def test_what_pip_compiled_is_no_part_of_the_template(tmp_path, monkeypatch):
    template = shutil.copytree(scaffold.template_dir(), tmp_path / "template")
    for directory in ("hooks", "{{cookiecutter.__directory}}/tests/python"):
        (template / directory / "__pycache__").mkdir(exist_ok=True)
        (template / directory / "__pycache__" / "conftest.cpython-311.pyc").write_bytes(b"\0")
    monkeypatch.setattr(scaffold, "template_dir", lambda: template)
    made = scaffold.create("demo", ["pass"], tmp_path / "made")
    assert not list(made.rglob("__pycache__"))
