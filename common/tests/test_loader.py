"""The loader: every refusal in a fresh process with its exit code, and loading in threads and other processes."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest

from tritonext import loader, registry
from tritonext._triton import plugin, wheel
from tritonext.elf import Elf
from tritonext.errors import IncompatibleLibraryError, MissingLibraryError, UnknownExtensionError
from tritonext.testing import Finished, install_copy, run_python

REFUSED = 3

LOAD = """\
import sys, tritonext
try:
    for argument in sys.argv[1:]:
        function = tritonext.load_library if "/" in argument else tritonext.load
        function(argument)
except tritonext.TritonextError as error:
    print(type(error).__name__)
    print(error)
    sys.exit(3)
print("loaded")
"""


def load(*arguments: str | pathlib.Path, path: pathlib.Path | None = None) -> Finished:
    return run_python("-c", LOAD, *arguments, path=(path,) if path else ())


def assert_refused(done: Finished, error: str, *texts: str) -> None:
    """Check that the process ended by itself with this error, its place and a remedy."""
    assert done.returncode == REFUSED, done
    assert done.stdout.splitlines()[0] == error, done
    assert "where: " in done.stdout, done
    assert "hint: " in done.stdout, done
    for text in texts:
        assert text in done.stdout, done


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_loads(probe):
    done = load("probe", "probe")
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done


def test_missing_file(fake_extension, tmp_path):
    fake_extension(library=None)
    assert_refused(load("sample", path=tmp_path), "MissingLibraryError", "libtritonext_sample.so", "pip install")


def test_file_that_cannot_be_opened(fake_extension, tmp_path):
    library = fake_extension(library=None) / "libtritonext_sample.so"
    library.symlink_to(library)
    assert_refused(load("sample", path=tmp_path), "MissingLibraryError", "found: Too many levels of symbolic links")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take permissions away from the process it starts")
@pytest.mark.parametrize(("what", "error"), [("library", "MissingLibraryError"), ("directory", "ManifestError")])
def test_no_permission_as_another_user(fake_extension, what, error):
    # The usual temporary directory is closed to other users from its root on.
    with tempfile.TemporaryDirectory() as base:
        pathlib.Path(base).chmod(0o755)
        package = pathlib.Path(base) / "tritonext_sample"
        made = fake_extension()
        for entry in made.parent.iterdir():
            entry.rename(pathlib.Path(base) / entry.name)
        (package if what == "directory" else package / "libtritonext_sample.so").chmod(0)
        # The interpreter itself must not need files that only root can read any more.
        warm = "import os, tritonext.loader, tritonext.registry\ntritonext.registry.scan()\nos.seteuid(65534)\n"
        code = warm + LOAD
        done = run_python("-c", code, "sample", path=(base,))
        package.chmod(0o755)
    assert_refused(done, error, "found: Permission denied")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize(("what", "error"), [("library", "MissingLibraryError"), ("directory", "ManifestError")])
def test_no_permission(fake_extension, tmp_path, what, error):
    package = fake_extension()
    target = package if what == "directory" else package / "libtritonext_sample.so"
    target.chmod(0)
    done = load("sample", path=tmp_path)
    target.chmod(0o755)
    assert_refused(done, error, "found: Permission denied")


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n" * 20, b"\x7fELF" + bytes(100)])
def test_not_a_library(fake_extension, tmp_path, content):
    fake_extension(library=content)
    assert_refused(load("sample", path=tmp_path), "InvalidLibraryError", "expected: an ELF shared object")


@pytest.mark.parametrize("kept", [0.02, 0.5, 0.9])
def test_library_cut_short(probe, tmp_path, kept):
    package = install_copy(probe, tmp_path)
    library = package / probe.library.name
    content = library.read_bytes()
    library.write_bytes(content[: int(len(content) * kept)])
    done = load("probe", path=tmp_path)
    assert done.returncode == REFUSED, done
    # Cut late, the tables are whole and the checksum tells.
    assert done.stdout.splitlines()[0] in ("InvalidLibraryError", "StampError"), done


def system_library() -> bytes:
    """Return a shared object that is in every process and is no plugin."""
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return next(pathlib.Path(line.split()[-1]) for line in lines if line.endswith("/libc.so.6")).read_bytes()


def test_library_without_entry_point(fake_extension, tmp_path):
    fake_extension(library=system_library())
    done = load("sample", path=tmp_path)
    assert_refused(done, "InvalidLibraryError", "without tritonGetPluginInfo and tritonextGetExtensionInfo")


def test_library_of_another_machine(probe, tmp_path):
    package = install_copy(probe, tmp_path)
    library = package / probe.library.name
    content = bytearray(library.read_bytes())
    content[18:20] = (183).to_bytes(2, "little") if content[18] != 183 else (62).to_bytes(2, "little")
    library.write_bytes(content)
    assert_refused(load("probe", path=tmp_path), "InvalidLibraryError", "the shared object is for")


@pytest.mark.parametrize(
    ("stamp", "texts"),
    [
        ({"triton": "3.8.0"}, ("triton 3.8.0", "pip install triton==3.8.0")),
        ({"plugin_api": 99}, ("plugin interface 99",)),
        ({"llvm_commit": "0" * 40}, ("LLVM " + "0" * 40, "rebuild it against the installed triton")),
        ({"compiler": "gcc 12.2.0"}, ("found: gcc 12.2.0", "tritonext toolchain")),
        ({"compiler": "clang 19.1.7"}, ("clang 20 or newer", "found: clang 19.1.7")),
    ],
    ids=lambda value: next(iter(value.items()))[1] if isinstance(value, dict) else "",
)
def test_built_for_something_else(probe, tmp_path, stamp, texts):
    install_copy(probe, tmp_path, stamp=stamp)
    assert_refused(load("probe", path=tmp_path), "IncompatibleLibraryError", *texts)


def test_replaced_library(probe, tmp_path):
    package = install_copy(probe, tmp_path)
    with open(package / probe.library.name, "ab") as file:
        file.write(b"\0")
    assert_refused(load("probe", path=tmp_path), "StampError", "not the one the build stamp describes", "SHA-256")


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected: a JSON object"),
        ({"schema": 2}, "found: schema 2"),
        ({"plugin_api": "2"}, "_stamp.json: plugin_api"),
        ({"library_sha256": "abc"}, "64 hexadecimal digits"),
        ({"abi": {"compared": 1}}, "abi.mismatches"),
        ({"id": "other"}, "belongs to another extension"),
        ({"version": "9"}, "_stamp.json: version"),
    ],
)
def test_corrupt_stamp(fake_extension, tmp_path, stamp, text):
    fake_extension(stamp=stamp)
    assert_refused(load("sample", path=tmp_path), "StampError", text, "reinstall")


def test_missing_stamp(fake_extension, tmp_path):
    (fake_extension() / "_stamp.json").unlink()
    assert_refused(load("sample", path=tmp_path), "StampError", "no readable build stamp", "pip install")


def test_newer_manifest(fake_extension, tmp_path):
    fake_extension(manifest={"schema": 7})
    assert_refused(load("sample", path=tmp_path), "ManifestError", "found: schema 7", "pip install --upgrade")


def changed_symbol(library: pathlib.Path) -> str:
    """Change one letter in the name of a symbol the library takes from libtriton, and return the new name."""
    with Elf(library) as elf:
        wanted = [
            s.name for s in elf.symbols if not (s.defined or s.weak or s.versioned) and s.name.startswith("_ZN4mlir")
        ]
    content = library.read_bytes()
    name = next(name for name in wanted if content.count(b"\0" + name.encode() + b"\0") == 1)
    other = name.replace("mlir", "mlor", 1)
    library.write_bytes(content.replace(b"\0" + name.encode() + b"\0", b"\0" + other.encode() + b"\0"))
    return other


def test_missing_symbol(probe, tmp_path):
    package = install_copy(probe, tmp_path)
    library = package / probe.library.name
    changed_symbol(library)
    stamp = package / "_stamp.json"
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"library_sha256": digest(library)}))
    done = load("probe", path=tmp_path)
    assert_refused(done, "IncompatibleLibraryError", "found: 1 of ", "missing: ", "mlor")


# A pass, dialect and op of the fixture, claimed by another id under which the derived name is the same.
CLAIMS = {
    "pass": ("probe_lower", {"passes": [{"def": "TwicePass", "stage": "ttir"}]}, "pass 'probe_lower_twice'"),
    "dialect": (
        "other",
        {"dialects": [{"name": "probe", "class": "tritonext::other::D", "header": "tritonext_other/D.h"}]},
        "dialect 'probe'",
    ),
}
EMPTY = {"passes": [], "dialects": [], "ops": []}


@pytest.mark.parametrize("kind", CLAIMS)
def test_name_clash_with_a_loaded_extension(probe, tmp_path, kind):
    identifier, entries, text = CLAIMS[kind]
    install_copy(probe, tmp_path, manifest=EMPTY | {"id": identifier} | entries)
    done = load("probe", identifier, path=tmp_path)
    owner = f"found: {text} of the distribution {probe.distribution} {probe.version}"
    assert_refused(done, "NameClashError", owner, "rename it")


def test_op_clash_with_a_library_loaded_by_path(probe, tmp_path):
    # Ops start with the id of their extension, so two installed ones cannot clash; a library loaded by path can.
    code = (
        "import sys\nfrom triton._C.libtriton import ir\n"
        "ir.builder.create_probe_twice = lambda self, values: None\n" + LOAD
    )
    done = run_python("-c", code, "probe")
    assert_refused(done, "NameClashError", "op 'probe_twice' of triton, or of a plugin loaded without tritonext")


@pytest.mark.parametrize(
    ("identifier", "entries", "text"),
    [
        (
            "other",
            {"dialects": [{"name": "arith", "class": "tritonext::other::D", "header": "tritonext_other/D.h"}]},
            "dialect 'arith' of triton",
        ),
        (
            "make",
            {"ops": [{"name": "make_range", "function": "tritonext::make::b", "header": "tritonext_make/B.h"}]},
            "op 'make_range' of triton",
        ),
    ],
)
def test_name_clash_with_stock_triton(probe, tmp_path, identifier, entries, text):
    install_copy(probe, tmp_path, manifest=EMPTY | {"id": identifier} | entries)
    assert_refused(load(identifier, path=tmp_path), "NameClashError", text)


def test_pass_clash_with_a_plugin_loaded_without_tritonext(probe):
    code = f"from triton._C.libtriton import passes\npasses.plugin.extend_with({str(probe.library)!r})\n" + LOAD
    assert_refused(run_python("-c", code, "probe"), "NameClashError", "loaded without tritonext")


@pytest.mark.parametrize(
    ("requires", "text"),
    [
        ("absent", "requires 'absent', which is not installed"),
        ("sample>=2", "requires another version of 'sample'"),
        ("broken", "requires 'broken', which is broken"),
        ("circle", "form a circle"),
    ],
)
def test_unmet_requirement(probe, fake_extension, tmp_path, requires, text):
    fake_extension()
    fake_extension("broken", manifest="{")
    install_copy(probe, tmp_path, manifest=EMPTY | {"id": "circle", "requires": ["probe"]})
    install_copy(probe, tmp_path, manifest={"requires": [requires]})
    done = load("probe", path=tmp_path)
    assert done.returncode == REFUSED, done
    assert done.stdout.splitlines()[0] == "UnmetRequirementError", done
    assert text in done.stdout, done


def test_library_that_differs_from_its_manifest(probe, tmp_path):
    install_copy(probe, tmp_path, manifest={"dialects": []})
    done = load("probe", path=tmp_path)
    assert_refused(done, "InvalidLibraryError", "disagree about its dialects", "+ probe")


def test_another_plugin_interface_is_read_before_the_rest(probe):
    with pytest.raises(IncompatibleLibraryError, match="found: plugin interface 2"):
        plugin.open_library(probe.library, 3)


def test_refused_before_anything_is_loaded(probe, tmp_path):
    install_copy(probe, tmp_path, stamp={"triton": "3.8.0"})
    code = (
        "import sys, tritonext\n"
        "try:\n    tritonext.load('probe')\nexcept tritonext.TritonextError:\n    pass\n"
        "maps = open('/proc/self/maps').read()\n"
        "sys.exit('libtriton.so' in maps or 'libtritonext_probe.so' in maps)\n"
    )
    done = run_python("-c", code, path=(tmp_path,))
    assert done.returncode == 0, done


@pytest.mark.network
def test_published_library_of_triton_3_8(tmp_path):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "triton-utlx==3.8.0.post16", "-d"]
    done = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"triton-utlx cannot be downloaded: {done.stderr.strip().splitlines()[-1:]}")
    [archive] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(archive) as contents:
        [member] = [name for name in contents.namelist() if name.endswith(".so")]
        library = contents.extract(member, tmp_path)
    refused = load(library)
    assert_refused(refused, "IncompatibleLibraryError", "symbols are missing", "3.8.0")
    assert wheel.installed().version in refused.stdout


@pytest.mark.parametrize(
    ("name", "error"),
    [("absent.so", "MissingLibraryError"), ("text.so", "InvalidLibraryError"), ("module.so", "InvalidLibraryError")],
)
def test_path_that_is_no_plugin(tmp_path, name, error):
    (tmp_path / "text.so").write_text("text" * 50)
    (tmp_path / "module.so").write_bytes(system_library())
    assert_refused(load(tmp_path / name), error, name)


@pytest.mark.parametrize("value", [None, 7, b"x", [], "no\0path"])
def test_value_that_is_no_path(value):
    with pytest.raises(MissingLibraryError, match="that is no path of a library"):
        loader.load_library(value)


@pytest.mark.parametrize("value", [None, 7, [], {}])
def test_value_that_is_no_id(value):
    for function in (loader.load, registry.extension):
        with pytest.raises(UnknownExtensionError, match="no installed extension is called"):
            function(value)


def test_loads_a_library_by_path(probe, tmp_path):
    done = load(probe.library, probe.library)
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done


def test_library_by_path_whose_symbols_are_missing(probe, tmp_path):
    library = tmp_path / "changed.so"
    library.write_bytes(probe.library.read_bytes())
    changed_symbol(library)
    assert_refused(load(library), "IncompatibleLibraryError", "symbols are missing")


def test_library_that_crashes_when_opened_is_reported(probe, tmp_path, monkeypatch):
    # The trial runs in a child process, for which this one dies as a crashing initializer would make it.
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crashing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(crashing))
    copy = tmp_path / "copy.so"
    copy.write_bytes(probe.library.read_bytes())
    with pytest.raises(IncompatibleLibraryError, match="a trial process ended by signal 11"):
        loader.load_library(copy)


@pytest.mark.parametrize("upstream", ["passes.plugin.extend_with", "ir.builder.extend_with"])
def test_triton_with_other_binding_calls_is_refused(probe, upstream):
    module, _, name = upstream.rpartition(".")
    code = f"from triton._C import libtriton\ndelattr(libtriton.{module}, {name!r})\n{LOAD}"
    done = run_python("-c", code, "probe")
    assert done.returncode == REFUSED, done
    assert f"expected: a function libtriton.{upstream}" in done.stdout
    assert "found: triton" in done.stdout


def test_loads_once_from_many_threads(probe):
    code = """\
import concurrent.futures, tritonext
from tritonext._triton import plugin
calls = []
bind = plugin.bind
plugin.bind = lambda path: (calls.append(path), bind(path))
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    found = set(map(id, pool.map(tritonext.load, ["probe"] * 32)))
assert len(found) == len(calls) == 1, (found, calls)
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
@pytest.mark.parametrize("before", [True, False], ids=["loaded-before", "loaded-in-worker"])
def test_works_in_worker_processes(probe, tmp_path, method, before):
    script = tmp_path / "script.py"
    script.write_text(f"""\
import multiprocessing
import tritonext


def work(_):
    tritonext.load("probe")
    from tritonext._triton import ir
    context = ir.context()
    module = ir.parse_text("module {{}}", context)
    manager = ir.pass_manager(context)
    ir.add_pass(manager, "probe-mark-module")
    ir.run(manager, module)
    return "probe.mark" in ir.text(module)


if __name__ == "__main__":
    if {before}:
        tritonext.load("probe")
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert all(pool.map(work, range(4)))
""")
    done = run_python(script)
    assert done.returncode == 0, done


def test_fork_while_another_thread_loads(probe):
    code = """\
import os, threading, tritonext
from tritonext import loader, registry
held, release = threading.Event(), threading.Event()

def hold():
    with loader._lock:
        held.set()
        release.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    tritonext.load("probe")
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
release.set()
thread.join()
raise SystemExit(status)
"""
    done = run_python("-W", "ignore::DeprecationWarning", "-c", code, timeout=60)
    assert done.returncode == 0, done


def test_stock_dialects_are_those_of_the_wheel():
    """Every name in the list is registered, and so is no other dialect that libtriton names an op of."""
    from tritonext._triton import ir
    from tritonext.errors import DiagnosticError

    with Elf(wheel.installed().library) as elf, open(elf.path, "rb") as file:
        # Debug information follows what is loaded, and is most of the file.
        content = file.read(max(offset + size for kind, offset, _, size in elf._segments if kind == 1))
    names = re.findall(rb"(?<=\0)([a-z][a-z0-9_]{1,15})\.[a-z][a-z0-9_.]{1,60}(?=\0)", content)
    context = ir.context()
    registered = set()
    for name in {match.decode() for match in names} | plugin.STOCK_DIALECTS:
        try:
            ir.parse_text(f'"{name}.no_such_op"() : () -> ()', context)
        except DiagnosticError as error:
            if "unregistered dialect" in str(error):
                continue
        registered.add(name)
    loaded = {name for library in loader.loaded().values() for name in library.native.plugin.dialects}
    assert registered - loaded == plugin.STOCK_DIALECTS


def test_symbols_are_shown_readable_where_a_demangler_is(monkeypatch):
    names = ["_ZN4mlir9Operation5eraseEv", "plain"]
    monkeypatch.setenv("PATH", "")
    assert plugin.demangle(names) == names
    monkeypatch.undo()
    if shutil.which("c++filt") is None and shutil.which("llvm-cxxfilt") is None:
        pytest.skip("no demangler on this machine")
    assert plugin.demangle(names) == ["mlir::Operation::erase()", "plain"]
