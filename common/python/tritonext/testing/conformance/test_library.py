"""An installed extension imports, exports what is allowed, contains what it says, and is refused when it must be."""

from __future__ import annotations

import json

import pytest

from tritonext import loader, registry
from tritonext._triton import plugin, wheel
from tritonext.elf import Elf
from tritonext.testing import install_copy, run_python

ALLOWED_EXPORTS = {plugin.PLUGIN_ENTRY, plugin.EXTENSION_ENTRY}

LOAD = """\
import sys, tritonext
try:
    tritonext.load(sys.argv[1])
except tritonext.TritonextError as error:
    print(type(error).__name__)
    print(error)
    sys.exit(3)
"""


def test_no_installed_extension_is_broken():
    assert {name: str(error) for name, error in registry.scan().broken.items()} == {}


def test_imports_in_a_fresh_process(extension):
    done = run_python("-c", f"import {extension.manifest.package}")
    assert done.returncode == 0, done
    assert (done.stdout, done.stderr) == ("", ""), done


def test_importing_activates_nothing(extension):
    code = f"import tritonext, {extension.manifest.package}\nassert tritonext.active() == ()"
    done = run_python("-c", code)
    assert done.returncode == 0, done


def test_exports_the_two_entry_points_only(extension):
    with Elf(extension.library) as elf:
        exported = {symbol.name for symbol in elf.symbols if symbol.defined}
    assert exported == ALLOWED_EXPORTS


def test_links_libtriton_and_the_system_only(extension):
    with Elf(extension.library) as elf:
        needed = set(elf.needed)
        # Libraries of the build machine would take the place of those of the system, or of libtriton.
        assert elf.search_paths == ()
    system = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0"}
    assert "libtriton.so" in needed
    assert needed <= system | {"libtriton.so"}


def test_contains_what_its_manifest_says(extension):
    native = loader.load(extension.id).native
    described = native.description
    assert [(entry["name"], entry["flag"]) for entry in described["passes"]] == [
        (entry.name, entry.flag) for entry in extension.manifest.passes
    ]
    assert described["dialects"] == [entry.name for entry in extension.manifest.dialects]
    assert described["ops"] == [entry.name for entry in extension.manifest.ops]
    assert native.plugin.passes == tuple(entry.name for entry in extension.manifest.passes)


def test_agrees_with_its_stamp(extension):
    facts = loader.load(extension.id).native.extension
    stamp = extension.stamp
    assert (facts.id, facts.version, facts.triton) == (stamp.id, stamp.version, stamp.triton)
    assert (facts.llvm_commit, facts.compiler) == (stamp.llvm_commit, stamp.compiler)
    assert stamp.triton == wheel.installed().version


def test_shares_trait_and_interface_identities_with_libtriton(extension):
    report = loader.load(extension.id).native.self_test()
    assert report["wrong"] == []
    for kind in ("terminators", "traits", "interfaces"):
        assert report[kind] == report[f"{kind}_expected"]
        assert report[kind] > 0


def test_layouts_were_compared_without_a_mismatch(extension):
    abi = dict(extension.stamp.abi)
    assert abi["compared"] > 0
    assert abi["mismatches"] == 0


@pytest.mark.parametrize(
    ("stamp", "error", "remedy"),
    [
        ({"triton": "3.8.0"}, "IncompatibleLibraryError", "pip install triton==3.8.0"),
        ({"plugin_api": 1}, "IncompatibleLibraryError", "rebuild it against the installed triton"),
        ({"llvm_commit": "f" * 40}, "IncompatibleLibraryError", "rebuild it against the installed triton"),
        ({"library_sha256": "0" * 64}, "StampError", "pip install --force-reinstall"),
    ],
    ids=["triton", "plugin-api", "llvm", "library"],
)
def test_is_refused_when_built_for_something_else(extension, tmp_path, stamp, error, remedy):
    install_copy(extension, tmp_path, stamp=stamp)
    done = run_python("-c", LOAD, extension.id, path=(tmp_path,))
    assert done.returncode == 3, done
    assert done.stdout.splitlines()[0] == error, done
    assert remedy in done.stdout, done


def test_is_refused_without_its_library(extension, tmp_path):
    (install_copy(extension, tmp_path) / extension.library.name).unlink()
    done = run_python("-c", LOAD, extension.id, path=(tmp_path,))
    assert done.returncode == 3, done
    assert done.stdout.splitlines()[0] == "MissingLibraryError", done
    assert "pip install --force-reinstall" in done.stdout, done


def test_is_refused_when_two_distributions_bring_it(extension, tmp_path):
    install_copy(extension, tmp_path, distribution="someone-elses")
    done = run_python("-c", LOAD, extension.id, path=(tmp_path,))
    assert done.returncode == 3, done
    assert "someone-elses" in done.stdout, done
    assert extension.distribution in done.stdout, done


def test_its_names_cannot_be_taken_twice(extension):
    """Loading it where another plugin already bound one of its names is a clash, for every kind of name it has."""
    entries = extension.manifest
    taken = [f"libtriton.passes.plugin.add_{entry.name} = print" for entry in entries.passes[:1]]
    taken += [f"libtriton.ir.builder.create_{entry.name} = print" for entry in entries.ops[:1]]
    if not taken:
        pytest.skip("the extension has no pass and no op")
    for statement in taken:
        done = run_python("-c", f"from triton._C import libtriton\n{statement}\n{LOAD}", extension.id)
        assert done.returncode == 3, done
        assert done.stdout.splitlines()[0] == "NameClashError", done


def test_metadata_is_readable_json(extension):
    for name in (registry.MANIFEST_FILE, registry.STAMP_FILE):
        assert json.loads((extension.root / name).read_text())["id"] == extension.id
