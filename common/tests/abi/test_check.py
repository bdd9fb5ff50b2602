"""The check of whole libraries against the installed libtriton: what passes, and why each forged plugin does not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest

from tritonext import abi
from tritonext.abi import table as tables
from tritonext.errors import AbiError, InvalidLibraryError

UPSTREAM = ("libMLIRDialectPlugin.so", "libTritonPluginsTestLib.so")


@pytest.mark.parametrize("name", UPSTREAM)
def test_the_plugins_in_the_triton_wheel_suit_it(triton, name):
    report = abi.check_plugin(triton.root / "plugins" / name)
    assert report.mismatches == []
    assert report.problems == []
    assert report.compared > 500
    assert report.members > 500
    assert report.symbols > 50
    assert report.standard == []
    assert report.uncovered
    assert all(each.reason in ("absent", "declared") for each in report.uncovered)


def test_a_plugin_built_with_the_toolchain_suits_libtriton(plugin):
    start = time.monotonic()
    report = abi.check_plugin(plugin)
    assert time.monotonic() - start < 20
    assert report.mismatches == []
    assert report.compared > 1000
    assert report.slots > 20
    assert report.identity == {"terminators": 2, "terminators_expected": 2, "wrong": []}
    assert {"mlir::Operation", "mlir::MLIRContext"} <= {
        each.type for each in report.uncovered if each.reason == "declared" and each.functions
    }


HEADERS = (
    *("mlir/Analysis", "mlir/IR", "mlir/Interfaces", "mlir/Pass", "mlir/Rewrite", "mlir/Support", "mlir/Transforms"),
    *(f"mlir/Dialect/{name}/IR" for name in ("Arith", "ControlFlow", "Func", "Math", "SCF", "UB")),
)
# Classes of LLVM's own objects, which libtriton's debug info only declares: their functions must stand where they do in
# the headers libtriton was compiled with.
DECLARED = ("Dialect", "Operation", "OperationState", "Pass", "Pattern", "RewriterBase", "detail::IROperandBase")
# Differences that the headers of the release have to libtriton's commit, in parts of LLVM that passes on MLIR do not
# use. A plugin that does use them is refused.
KNOWN = {"llvm::LLVMContext::(anonymous enum MD_dbg)"}


def test_the_types_in_the_headers_of_the_toolchain_are_those_of_libtriton(tools, triton, clang, host, tmp_path):
    names = [f"{folder}/{path.name}" for folder in HEADERS for path in (tools.include_dirs[-1] / folder).glob("*.h")]
    names += [str(path.relative_to(triton.include)) for path in (triton.include / "triton" / "Dialect").rglob("*.h")]
    source = tmp_path / "all.cpp"
    # The declarations of passes need definitions of other libraries' dialects.
    source.write_text("".join(f'#include "{name}"\n' for name in sorted(names) if not name.endswith("Passes.h")))
    library = clang.build(
        tmp_path / "liball.so",
        *("-g", "-fstandalone-debug", "-fno-eliminate-unused-debug-types", "-std=c++20", "-O0", "-fno-rtti", "-w"),
        *(f"-I{directory}" for directory in (*tools.include_dirs, triton.include)),
        source,
    )
    report = abi.compare(abi.extract(library), host)
    assert report.compared > 10_000
    assert {mismatch.type for mismatch in report.mismatches} <= KNOWN
    assert report.problems == []
    declared = {each.type: each for each in report.uncovered if each.reason == "declared"}
    for name in DECLARED:
        assert declared[f"mlir::{name}"].functions >= 4
        assert declared[f"mlir::{name}"].moved == 0


def test_a_header_with_one_more_member_is_refused(build_plugin, clang, tools, tmp_path):
    header = next(found for each in tools.include_dirs if (found := each / "mlir" / "IR" / "Block.h").is_file())
    text, count = re.subn(r"^(  OpListType operations;)$", r"\1\n  int forged = 0;", header.read_text(), flags=re.M)
    assert count == 1
    forged = tmp_path / "include" / "mlir" / "IR" / "Block.h"
    forged.parent.mkdir(parents=True)
    forged.write_text(text)
    library = build_plugin(clang, tmp_path / "libforged.so", tmp_path / "include")
    with pytest.raises(AbiError) as caught:
        abi.check_plugin(library, identity=False)
    details = "\n".join(caught.value.details)
    assert "mlir::Block: size is 88, in libtriton 80" in details
    assert "member 'forged' (at byte 56, int) is in the plugin only" in details
    assert re.search(r"plugin: +forged at byte 56, int", details)
    assert not re.search(r"libtriton: +forged", details)
    assert caught.value.found.startswith("1 of ")


def test_another_compiler_is_refused(build_plugin, gcc, tmp_path):
    report = abi.examine(build_plugin(gcc, tmp_path / "libgcc_made.so"))
    problems = {problem.kind: problem.message for problem in report.problems}
    assert problems.keys() == {"compiler", "identity"}
    assert "compiled by 'GNU C++" in problems["compiler"]
    assert "recognises 0 of 2 terminators of ops that libtriton registered: tt.return lacks" in problems["identity"]


def test_other_abi_breaking_checks_are_refused(build_plugin, clang, tools, tmp_path):
    settings = tmp_path / "include" / "llvm" / "Config" / "abi-breaking.h"
    settings.parent.mkdir(parents=True)
    text = (tools.include_dirs[0] / "llvm" / "Config" / "abi-breaking.h").read_text()
    settings.write_text(text.replace("ABI_BREAKING_CHECKS 1\n", "ABI_BREAKING_CHECKS 0\n"))
    report = abi.examine(build_plugin(clang, tmp_path / "libforged.so", tmp_path / "include"))
    problems = {problem.kind: problem.message for problem in report.problems}
    assert "compiled with LLVM_ENABLE_ABI_BREAKING_CHECKS 0, libtriton with 1" in problems["abi-breaking checks"]
    assert "DisableABIBreakingChecks" in problems["identity"]


def test_an_undefined_symbol_that_nothing_exports_is_named(clang, triton, tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text("extern int absent(); struct Mine { int a; }; int use(Mine mine) { return absent() + mine.a; }")
    library = clang.build(tmp_path / "liba.so", *clang.debug, source)
    (problem,) = [problem for problem in abi.examine(library).problems if problem.kind == "symbol"]
    assert "undefined symbol _Z6absentv is exported neither by libtriton.so nor" in problem.message


def test_an_entry_point_that_describes_nothing_is_a_finding(clang, tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text(
        'extern "C" void *tritonGetPluginInfo() { static unsigned info[32] = {2}; return info; }\n'
        'extern "C" void *tritonextGetExtensionInfo() { return nullptr; }\n'
    )
    report = abi.examine(clang.build(tmp_path / "liba.so", *clang.debug, source))
    (problem,) = [problem for problem in report.problems if problem.kind == "identity"]
    assert problem.message.endswith("the extension entry point returns no usable description: nothing")


def test_a_crash_of_the_self_test_is_a_finding(clang, tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text(
        "#include <cstdlib>\n"
        'extern "C" void *tritonGetPluginInfo() { abort(); }\n'
        'extern "C" void *tritonextGetExtensionInfo() { return nullptr; }\n'
    )
    report = abi.examine(clang.build(tmp_path / "liba.so", *clang.debug, source))
    (problem,) = [problem for problem in report.problems if problem.kind == "identity"]
    assert "exit status -6" in problem.message


@pytest.fixture
def installed(plugin, tools, tmp_path):
    """The plugin as a wheel installs it: stripped, with its table beside it."""
    library = tmp_path / plugin.name
    subprocess.run([tools.strip, "--strip-debug", "-o", library, plugin], check=True)
    abi.extract(plugin).save(tmp_path / abi.TABLE_NAME)
    return library


def test_a_stripped_library_is_checked_by_the_table_of_its_wheel(installed, plugin):
    report = abi.check_plugin(installed)
    assert any(f"stripped, layouts taken from {abi.TABLE_NAME}" in note for note in report.notes)
    assert report.identity == {"terminators": 2, "terminators_expected": 2, "wrong": []}
    assert report.stamp() == abi.check_plugin(plugin, identity=False).stamp()


def test_a_stripped_library_without_its_table(installed):
    (installed.parent / abi.TABLE_NAME).unlink()
    with pytest.raises(InvalidLibraryError, match="no layout table lies beside it"):
        abi.check_plugin(installed)


def test_a_stripped_library_with_the_table_of_another_build(installed, triton):
    abi.extract(triton.root / "plugins" / UPSTREAM[1]).save(installed.parent / abi.TABLE_NAME)
    with pytest.raises(AbiError, match="belongs to another build"):
        abi.check_plugin(installed)


def test_a_damaged_table(installed):
    (installed.parent / abi.TABLE_NAME).write_bytes(b"damaged")
    with pytest.raises(AbiError, match="the layout table cannot be read"):
        abi.check_plugin(installed)


def test_a_table_survives_being_stored(plugin, tmp_path):
    table = abi.extract(plugin)
    table.save(tmp_path / "table.json.xz")
    assert abi.Table.load(tmp_path / "table.json.xz") == table
    assert [file.name for file in tmp_path.iterdir()] == ["table.json.xz"]


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """An empty cache; gives the list of libraries whose debug information was read."""
    monkeypatch.setenv("TRITONEXT_CACHE_DIR", str(tmp_path / "cache"))
    read = []
    original = tables.extract
    monkeypatch.setattr(tables, "extract", lambda path, **rest: (read.append(path), original(path, **rest))[1])
    return read


def test_the_debug_information_of_a_build_is_read_once(counted, plugin, tmp_path):
    first, origin = tables.cached(plugin)
    assert "cached as" in origin
    again, origin = tables.cached(plugin)
    assert "cached table" in origin
    assert counted == [plugin]
    assert again == first
    (stored,) = (tmp_path / "cache" / "abi").iterdir()
    stored.write_bytes(stored.read_bytes()[:100])
    assert tables.cached(plugin)[0] == first
    assert counted == [plugin, plugin]
    other = tmp_path / "libother.so"
    data = plugin.read_bytes()
    other.write_bytes(data.replace(bytes.fromhex(first.build_id), bytes(20)))
    assert tables.cached(other)[0].build_id == "00" * 20
    assert len(counted) == 3


def test_a_cache_that_cannot_be_written_is_mentioned(counted, plugin, tmp_path):
    (tmp_path / "cache").write_text("a file where the directory would be")
    table, origin = tables.cached(plugin)
    assert table.types
    assert "not cached" in origin


def run(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "tritonext.abi", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_command_passes_and_lists_what_it_did_not_compare(plugin):
    done = run(plugin, "--list-uncovered")
    assert done.returncode == 0, done.stderr
    assert re.search(r"compared +\d+ types .*, 0 mismatches", done.stdout)
    assert "identities  2 of 2 terminators" in done.stdout
    assert re.search(r"uncovered: mlir::Operation \(declared, \d+ of \d+ functions on the same line\)", done.stdout)


def test_command_refuses_with_status_one_and_json(plugin, triton, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITONEXT_CACHE_DIR", str(tmp_path))
    done = run(triton.root / "plugins" / UPSTREAM[0], "--against", plugin, "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["ok"] is False
    assert report["compared"] > 100
    assert {problem["kind"] for problem in report["problems"]} == {"symbol"}


def test_command_that_cannot_check_ends_with_status_two(tmp_path):
    done = run(tmp_path / "absent.so")
    assert done.returncode == 2
    assert "the library cannot be opened" in done.stderr


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit) as caught:
        abi.main(["--help"])
    assert caught.value.code == 0
    assert "tritonext abi plugin.so --json" in capsys.readouterr().out
