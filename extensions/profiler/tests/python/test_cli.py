"""The commands."""

from __future__ import annotations

import json
import pathlib

import pytest

from tritonext.errors import UserError
from tritonext.testing import run_python
from tritonext_profiler import ProfileWarning, cli, saving, storage
from tritonext_profiler.assemble import assemble
from tritonext_profiler.testing import H200, gemm_kernel, gemm_plan, record


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two stored profiles, the later one slower."""
    directory = tmp_path_factory.mktemp("profiles")
    for name, wait in (("before", 300), ("after", 400)):
        made = assemble(*record(gemm_plan(12, wait), seed=5, ctas=40, launches=5).columns)
        storage.save(made.profile([gemm_kernel()], [H200]), directory / f"{name}.npz")
    return directory


def test_a_script_runs_as_it_would_and_its_status_is_kept(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(__name__, sys.argv[1:], sys.path[0])\nsys.exit(5)\n")
    done = run_python("-m", "tritonext", "profile", "-o", str(tmp_path / "p.npz"), str(script), "-k", "x")
    assert done.returncode == 5, done
    assert done.stdout.splitlines()[0] == f"__main__ ['-k', 'x'] {tmp_path}"
    # Nothing was launched, or nothing can be.
    assert "no kernel was launched" in done.stderr or "nothing is recorded" in done.stderr
    assert len(storage.load(tmp_path / "p.npz").launches) == 0


def test_a_script_that_fails_leaves_what_came_before(tmp_path):
    (tmp_path / "failing.py").write_text("raise ValueError('wrong')\n")
    done = run_python("-m", "tritonext", "profile", "-q", "-m", "failing", path=(tmp_path,))
    assert done.returncode == 1
    assert "ValueError: wrong" in done.stderr


def test_an_interrupted_script_leaves_what_came_before_in_every_file(tmp_path, monkeypatch):
    lines = ["import os", "os.makedirs('p.html', exist_ok=True)", "os.chdir('elsewhere')", "raise KeyboardInterrupt"]
    (tmp_path / "script.py").write_text("\n".join(lines))
    (tmp_path / "elsewhere").mkdir()

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        try:
            return cli.main(["-q", *arguments, "script.py"])
        except KeyboardInterrupt:
            pytest.fail("the interruption passes")

    with pytest.warns(ProfileWarning):
        assert run("-o", "p.json") == 130
    assert (tmp_path / "p.json").is_file()
    (tmp_path / "p.html").rmdir()
    # The page cannot be written.
    with pytest.warns(ProfileWarning), pytest.raises(IsADirectoryError):
        run("-o", "p.html", "-o", "p.npz")
    assert len(storage.load(tmp_path / "p.npz").launches) == 0


def test_comparison_ends_with_a_status(stored, capsys):
    before, after = str(stored / "before.npz"), str(stored / "after.npz")
    assert cli.main(["compare", before, before]) == 0
    assert cli.main(["compare", before, after]) == cli.SLOWER
    assert "copy_wait +" in capsys.readouterr().out
    assert cli.main(["compare", before, after, "--band", "50"]) == 0
    assert cli.main(["compare", after, before]) == 0


def test_a_stored_profile_is_shown_and_written_anew(stored, tmp_path, capsys):
    assert cli.main(["show", str(stored / "before.npz")]) == 0
    assert "copies at gemm.py:15" in capsys.readouterr().out
    paths = [tmp_path / f"p{suffix}" for suffix in saving.FORMATS]
    arguments = [part for path in paths for part in ("-o", str(path))]
    assert cli.main(["show", str(stored / "before.npz"), *arguments]) == 0
    assert all(path.stat().st_size for path in paths)
    assert json.loads((tmp_path / "p.json").read_text())["format"] == "tritonext-profile"
    assert cli.main(["show", str(tmp_path / "p.hatchet")]) == 0
    assert "  copy_wait" in capsys.readouterr().out
    assert cli.main(["compare", str(tmp_path / "p.json"), str(stored / "after.npz")]) == cli.SLOWER


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "no such script"),
        (["-o", "p.xml", __file__], "the suffix of the file says no format"),
        (["-o", "absent/p.npz", __file__], "there is no such directory"),
        (["compare", __file__, __file__], "the file is no profile"),
        (["show", __file__], "the file is no JSON"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(arguments, message):
    with pytest.raises(UserError, match=message):
        cli.main(arguments)


def test_where_nothing_can_be_written_is_said_before_the_script_runs(tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text("raise ValueError('it runs')\n")
    (tmp_path / "p.npz").mkdir()
    with pytest.raises(UserError, match="the output is a directory"):
        cli.main(["-o", str(tmp_path / "p.npz"), str(script)])
    # Whoever runs the tests may be allowed everything.
    monkeypatch.setattr(cli.os, "access", lambda path, mode: pathlib.Path(path) not in {tmp_path, tmp_path / "p.html"})
    (tmp_path / "p.html").touch()
    for name in ("p.json", "p.html"):
        with pytest.raises(UserError, match="the output may not be written"):
            cli.main(["-o", str(tmp_path / name), str(script)])


def test_every_file_that_cannot_be_written_is_told_of(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(f"import os\nos.chdir({str(tmp_path)!r})\nos.mkdir('p.html')\nos.mkdir('p.json')\n")
    outputs = [part for name in ("p.html", "p.json", "p.npz") for part in ("-o", str(tmp_path / name))]
    with pytest.warns(ProfileWarning), pytest.raises(IsADirectoryError, match=r"p\.html"):
        cli.main(["-q", *outputs, str(script)])
    assert "p.json" in capsys.readouterr().err
    assert (tmp_path / "p.npz").is_file()
