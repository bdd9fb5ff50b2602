"""The command line: help, exit codes, rendering of errors, and the list of extensions."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time

import pytest

from tritonext import __version__, cli
from tritonext.testing import install_copy, run_python

COMMANDS = ["new", "new-pass", "new-op", "list", "doctor", "index", "pipeline", "explain", "opt", "abi", "toolchain"]


def run(*arguments: str, **keywords):
    return run_python("-m", "tritonext", *arguments, **keywords)


@pytest.mark.parametrize(
    "command", [[], *([command] for command in COMMANDS)], ids=lambda value: " ".join(value) or "all"
)
def test_help_has_examples(command):
    done = run(*command, "--help")
    assert done.returncode == 0, done
    assert done.stderr == ""
    _, found, last = done.stdout.partition("\nexamples:\n")
    assert found, done
    assert f"tritonext {' '.join(command)}".strip() in last or f"tritonext.{' '.join(command)}" in last


def test_help_names_every_command():
    done = run("--help")
    assert all(f"    {command} " in done.stdout or f"    {command}\n" in done.stdout for command in COMMANDS)


def test_help_is_fast():
    # The best of three: the limit is about what the command imports, not about a busy machine.
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "tritonext", "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"tritonext {__version__}\n")


@pytest.mark.parametrize(
    "arguments", [[], ["no-such-command"], ["list", "--no-such-option"], ["opt", "--no-such-option"]]
)
def test_wrong_command_lines_end_with_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2, done
    assert "usage: " in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_are_rendered_and_end_with_1():
    done = run("opt", "/no/such/file.mlir")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("error: the input cannot be read\n  where: /no/such/file.mlir\n")


def test_a_missing_toolchain_is_an_error_like_the_others(tmp_path):
    environment = {"TRITONEXT_CACHE_DIR": str(tmp_path), "TRITONEXT_LLVM_PREFIX": "", "MLIR_DIR": ""}
    done = run("toolchain", "--offline", environment=environment)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("error: no usable LLVM headers and mlir-tblgen")
    assert "hint: run `tritonext toolchain` with a network" in done.stderr


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("full", ["tritonext", "list", "--json"]),
        ("closed", ["tritonext", "pipeline", "--target", "cuda:90"]),
        ("gone", ["tritonext", "list", "--json"]),
        ("full", ["tritonext.opt", "--list-passes"]),
        ("gone", ["tritonext.opt", "--list-passes"]),
        ("closed", ["tritonext.toolchain", "--help"]),
    ],
)
def test_output_that_cannot_be_written(arguments, place):
    command = [sys.executable, "-m", *arguments]
    with contextlib.ExitStack() as stack:
        if place == "full":
            output = stack.enter_context(open("/dev/full", "w"))
        elif place == "closed":
            command, output = ["sh", "-c", 'exec "$@" >&-', "sh", *command], None
        else:
            reader, output = os.pipe()
            os.close(reader)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, env=environment, check=False)
        if place == "gone":
            os.close(output)
    expected = {
        "full": (1, "error: a file cannot be read or written\n  where: the output\n  found: No space left on device\n"),
        "closed": (0, ""),
        "gone": (1, ""),
    }
    if "--help" not in arguments:
        assert (done.returncode, done.stderr) == expected[place]
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_in_a_locale_without_unicode(command):
    done = run(command, "--help", environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, "")


def test_interruption_ends_with_130(monkeypatch, capsys):
    def interrupted(found):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_list", interrupted)
    assert cli.main(["list"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_file_that_cannot_be_written_is_named(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    done = run("pipeline", "golden", "--write", str(place))
    assert done.returncode == 1
    assert done.stderr == f"error: a file cannot be read or written\n  where: {place}\n  found: File exists\n"


@pytest.mark.parametrize("name", ["self", "extension"])
def test_option_named_like_a_parameter_of_ours(probe, name):
    done = run("pipeline", "--target", "cuda:90", "--enable", f"probe:{name}=1")
    assert done.returncode == 1
    assert f"error: no pass of the extension 'probe' accepts the option {name}=1" in done.stderr


def test_a_missing_module_is_an_error_of_its_command_only(monkeypatch, capsys):
    monkeypatch.setitem(cli._COMMANDS, "abi", ("no_such_module", "…"))
    assert cli.main(["abi"]) == 1
    assert "expected: an importable module tritonext.no_such_module" in capsys.readouterr().err
    assert cli.main(["--version"]) == 0


def table(text: str) -> dict[str, dict[str, str]]:
    """Return the cells of the list by id and column."""
    head, *rows = text.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", head)]
    ends = [*starts[1:], None]
    cells = [[row[start:end].strip() for start, end in zip(starts, ends)] for row in rows]
    return {row[0]: dict(zip(head.split(), row)) for row in cells}


def test_list_shows_extensions_and_their_state(probe, tmp_path):
    package = install_copy(probe, tmp_path, manifest={"id": "other", "passes": [], "dialects": [], "ops": []})
    (package / "libtritonext_other.so").unlink()
    done = run("list", path=(tmp_path,))
    assert done.returncode == 0, done
    rows = table(done.stdout)
    assert rows["probe"]["version"] == probe.version
    assert rows["probe"]["state"] == "ok"
    assert rows["probe"]["targets"] == "cuda:80,90,100 hip:gfx942,gfx950"
    assert rows["probe"]["abi"].startswith("0 of ")
    assert rows["other"]["state"] == "the library does not exist"


def test_list_says_what_is_active_and_what_collides(probe, tmp_path):
    dialect = {"name": "probe", "class": "tritonext::other::ProbeDialect", "header": "tritonext_other/IR/Dialect.h"}
    install_copy(probe, tmp_path, manifest={"id": "other", "ops": [], "dialects": [dialect]})
    done = run("list", path=(tmp_path,), environment={"TRITONEXT_ENABLE": "probe:mark=x,absent"})
    rows = table(done.stdout)
    assert (rows["probe"]["active"], rows["other"]["active"]) == ("yes", "no")
    assert rows["probe"]["state"] == "ok; conflict: dialect probe of other"
    assert rows["other"]["state"].endswith("conflict: dialect probe of probe")
    records = {record["id"]: record for record in json.loads(run("list", "--json", path=(tmp_path,)).stdout)}
    assert (records["probe"]["active"], records["probe"]["conflicts"]) == (False, ["dialect probe of other"])
    assert records["probe"]["abi"]["mismatches"] == 0


def test_list_says_what_would_be_refused(probe, tmp_path):
    install_copy(probe, tmp_path, stamp={"triton": "3.8.0"})
    done = run("list", path=(tmp_path,))
    row = table(done.stdout)["probe"]
    assert (row["triton"], row["state"]) == ("3.8.0", "the library was built for another triton")
    package = install_copy(probe, tmp_path / "other")
    with (package / probe.library.name).open("ab") as library:
        library.write(b"more")
    records = {record["id"]: record for record in json.loads(run("list", "--json", path=(tmp_path / "other",)).stdout)}
    assert records["probe"]["state"] == "the library is not the one the build stamp describes"


def test_list_as_json(probe):
    done = run("list", "--json")
    [record] = [record for record in json.loads(done.stdout) if record["id"] == "probe"]
    assert record["passes"] == [entry.flag for entry in probe.manifest.passes]
    assert (record["dialects"], record["ops"], record["state"]) == (["probe"], ["twice"], "ok")
    assert record["builder_ops"] == ["probe_twice"]
    [row] = [line.split() for line in run("list").stdout.splitlines() if line.startswith("probe ")]
    assert row[4] == "1"


def test_list_counts_ops_that_kernels_call(probe, tmp_path):
    """However many the builder has: those of the package's ``__all__``, and none where it cannot be imported."""
    package = install_copy(probe, tmp_path)
    source = (package / "__init__.py").read_text()
    more = """

@language.builtin(extension="probe")
def thrice(x, _semantic=None):
    return x


print("a package that prints")
__all__ = ["thrice", "twice", "tritonext"]
"""
    (package / "__init__.py").write_text(source + more)
    done = run("list", "--json", path=(tmp_path,))
    [record] = [record for record in json.loads(done.stdout) if record["id"] == "probe"]
    assert (record["ops"], record["builder_ops"]) == (["thrice", "twice"], ["probe_twice"])
    for source, state in (
        ("raise SystemExit(0)", "the package of the extension 'probe' cannot be imported"),
        ("import os\nos.abort()", "the package of the extension 'probe' crashes the process that imports it"),
    ):
        (package / "__init__.py").write_text(source)
        done = run("list", path=(tmp_path,))
        row = table(done.stdout)["probe"]
        assert (row["ops"], row["triton"]) == ("-", "3.9.0")
        assert row["state"] == state
        assert done.returncode == 0


def test_list_reports_broken_extensions(fake_extension, tmp_path):
    fake_extension("bad", manifest="{")
    done = run("list", path=(tmp_path,))
    assert done.returncode == 1
    assert "error: the extension 'bad' is broken: the manifest is not valid JSON" in done.stderr


def test_extensions_add_commands(tmp_path):
    info = tmp_path / "fixture_commands-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fixture-commands\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tritonext.commands]\necho = fixture_commands:main\nlost = fixture_commands:no\nopt = fixture_commands:main\n"
    )
    (tmp_path / "fixture_commands.py").write_text("def main(arguments):\n    print(arguments)\n    return 7\n")
    done = run("echo", "--help", "x", path=(tmp_path,))
    assert (done.returncode, done.stdout) == (7, "['--help', 'x']\n")
    assert "of fixture-commands" in run("--help", path=(tmp_path,)).stdout
    done = run("lost", path=(tmp_path,))
    assert done.returncode == 1
    assert "`tritonext lost` cannot be imported" in done.stderr
    (tmp_path / "fixture_commands.py").write_text("def (:\n")
    done = run("echo", path=(tmp_path,))
    assert "`tritonext echo` cannot be imported" in done.stderr
    assert "found: SyntaxError: invalid syntax" in done.stderr
    assert "--pass" in run("opt", "--help", path=(tmp_path,)).stdout
