"""The road to another release of Triton: its pins, its steps, and its report. Taking it is `nox -s bump`."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import bump
import workspace
from tritonext import manifest

FACTS = {"version": "3.10.0", "commit": "c" * 40, "plugin_api": 3, "headers": True, "filecheck": True}


@pytest.fixture
def road(tmp_path, monkeypatch) -> bump.Road:
    monkeypatch.setattr(bump, "ROOT", tmp_path)
    made = bump.Road("3.10.0")
    made.place.mkdir(parents=True)
    return made


def test_pins_and_their_copies_move_together(tmp_path):
    names = ["versions.toml", "common/pyproject.toml", "templates/extension/cookiecutter.json"]
    extensions = [path.relative_to(workspace.ROOT) for path in workspace.extensions(fixtures=True).values()]
    names += [str(path / "pyproject.toml") for path in extensions]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((workspace.ROOT / name).read_bytes())
    written = list(bump.write_pins(tmp_path, FACTS))
    assert written[:-1] == names
    assert "to be read by a person" in written[-1]
    pins = (tmp_path / "versions.toml").read_text()
    for text in ('version = "3.10.0"', "plugin-api = 3", f'commit = "{"c" * 40}"', 'version = "0.1.0"'):
        assert text in pins
    assert '"triton>=3.10.0,<3.11"' in (tmp_path / "common" / "pyproject.toml").read_text()
    assert '"__triton": "3.10.0"' in (tmp_path / names[2]).read_text()
    old = workspace.pins()["triton"]["version"]
    for path in extensions:
        manifest.load(tmp_path / path)
        text = (tmp_path / path / "pyproject.toml").read_text()
        assert text.count("triton==3.10.0") == 2
        assert f"triton=={old}" not in text


def test_a_pin_that_is_gone_is_said_with_its_file(tmp_path):
    (tmp_path / "versions.toml").write_text("")
    with pytest.raises(bump.Broken) as caught:
        list(bump.write_pins(tmp_path, FACTS))
    assert caught.value.lines[0] == "where: versions.toml"


def test_headers_that_are_missing():
    with pytest.raises(bump.Broken) as caught:
        bump.headers({**FACTS, "headers": False, "plugin_api": None})
    assert [line.split(",")[0] for line in caught.value.lines] == [
        "the wheel ships no headers",
        "its headers state no number of the plugin interface",
    ]


def test_a_step_is_not_taken_where_one_that_it_needs_broke(road, capsys):
    def breaks():
        raise bump.Broken(["where: there"])

    road.take("first", lambda: ["fine"])
    road.take("second", breaks, "first")
    road.take("third", lambda: pytest.fail("it must not be taken"), "second")
    road.take("fourth", list, "first")
    assert [step.state for step in road.steps] == ["ok", "broke", "not taken", "ok"]
    assert bump.report(road) == 1
    report = (road.place / "report.md").read_text()
    assert "| third | not taken |" in report
    assert "- it needs: second" in report
    assert "- where: there" in report
    assert "4 steps, 1 broke, 1 not taken" in capsys.readouterr().out


def test_a_failure_keeps_its_output_and_shows_what_tells(road, monkeypatch):
    road.python = pathlib.Path(sys.executable)
    code = "print('noise'); print('a.cpp:3: error: no member x'); print('more noise'); raise SystemExit(3)"
    with pytest.raises(bump.Broken) as caught:
        road.run("step", "-c", code)
    assert caught.value.lines == ["exit status 3", "a.cpp:3: error: no member x"]
    assert "more noise" in (road.place / "step.log").read_text()
    assert road.run("other", "-c", "print(1)") == "1\n"


def test_failed_tests_are_counted_by_file(road):
    road.python = pathlib.Path(sys.executable)
    (road.tree / "there").mkdir(parents=True)
    (road.tree / "there" / "test_one.py").write_text("def test_a():\n    assert False\n\n\ndef test_b():\n    pass\n")
    with pytest.raises(bump.Broken) as caught:
        list(bump.tests(road, "some", "there"))
    assert caught.value.lines[:2] == ["there/test_one.py: 1 failed", "1 times: assert False"]
    assert "1 failed, 1 passed" in caught.value.lines[-1]
    (road.tree / "there" / "test_one.py").write_text("def test_b():\n    pass\n")
    assert "1 passed" in "".join(bump.tests(road, "some", "there"))


def test_a_release_has_three_numbers(capsys):
    with pytest.raises(SystemExit):
        bump.main(["3.10"])
    assert "expected a release such as 3.10.0, got '3.10'" in capsys.readouterr().err
