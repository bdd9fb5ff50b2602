"""Debian's packages: the mirror, the suites and what is kept, with a stand-in for apt."""

from __future__ import annotations

import pathlib
import platform
import shutil
import subprocess

import pytest

from tritonext import toolchain
from tritonext.errors import ToolchainError

TOOLS = "/usr/bin:/bin"


@pytest.fixture(autouse=True)
def _compiler(fake_clang):
    fake_clang()


def refusal() -> str:
    with pytest.raises(ToolchainError) as caught:
        toolchain.provide()
    return caught.value.details[1].removeprefix("headers from Debian's LLVM 23 packages: ")


@pytest.fixture
def packages(tmp_path, isolated, llvm_files):
    """Build packages laid out as Debian's; their mlir-tblgen is a program of this machine with its own loader."""
    dpkg = shutil.which("dpkg-deb", path=TOOLS)
    libraries = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu")
    loader = next(libraries.glob("ld-linux*"), None)
    if dpkg is None or loader is None:
        pytest.skip("packages can be built on Debian and its derivatives only")
    files = llvm_files(version="23.1.4", revision=None)
    contents = {
        "llvm-23-dev": {
            f"usr/include/llvm-23/{name.removeprefix('include/')}": text
            for name, text in files.items()
            if name.startswith("include/llvm/")
        }
        | {"usr/include/llvm-c-23/llvm-c/Core.h": "", "usr/lib/llvm-23/lib/libLLVMCore.a": "large"},
        "libmlir-23-dev": {
            "usr/lib/llvm-23/include/mlir/IR/Operation.h": "",
            "usr/lib/llvm-23/include/mlir-c/IR.h": "",
            "usr/lib/llvm-23/lib/libMLIRIR.a": "large",
        },
        "mlir-23-tools": {
            "usr/lib/llvm-23/bin/mlir-tblgen": pathlib.Path(shutil.which("true", path=TOOLS)),
            "usr/lib/llvm-23/bin/mlir-opt": "large",
        },
        "libc6": {
            str(path.relative_to("/")): path.resolve()
            for path in (loader, libraries / "libc.so.6", libraries / "libm.so.6")
        }
        | {f"{str(libraries).removeprefix('/')}/libnss_dns.so.2": "not needed"},
        **{name: {} for name in ("libstdc++6", "libgcc-s1", "libz3-4", "libzstd1", "zlib1g")},
    }
    directory = tmp_path / "debs"
    directory.mkdir()
    for name, members in contents.items():
        root = tmp_path / "build" / name
        control = root / "DEBIAN" / "control"
        control.parent.mkdir(parents=True)
        control.write_text(f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: t\nDescription: t\n")
        for path, content in members.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, pathlib.Path):
                shutil.copy(content, file)
            else:
                file.write_text(content)
        if name == "zlib1g":
            libz = root / str(libraries).removeprefix("/") / "libz.so.1"
            libz.parent.mkdir(parents=True)
            libz.symlink_to("libz.so.1.3.1")
            libz.with_name("libz.so.1.3.1").write_text("a library")
        command = [dpkg, "--root-owner-group", "-Znone", "--build", root, directory / f"{name}.deb"]
        subprocess.run(command, check=True, capture_output=True, env={"PATH": TOOLS})
    for name in ("dpkg-deb", "cp", "tar", "cat", "rm"):
        (isolated / name).symlink_to(shutil.which(name, path=TOOLS))
    return directory


@pytest.fixture
def apt(script, tmp_path, packages):
    """A stand-in for apt-get that has ``suites`` and copies the packages."""

    def write(origin: str = "http://mirror.test/debian/|Debian", suites: str = "sid") -> pathlib.Path:
        log = tmp_path / "apt.log"
        script(
            "apt-get",
            f"""
echo "$@" >> {log}
for argument; do
  case "$argument" in
    -oDir::Etc::sourcelist=*) list=${{argument#*=}};;
    indextargets) echo '{origin}'; exit;;
    update) action=update;;
    download) action=download;;
  esac
done
case "$action" in
  update)
    while read -r _ rest; do
      for suite in {suites}; do case " $rest " in *" $suite "*) exit 0;; esac; done
      echo "E: The repository does not have a Release file." >&2; exit 100
    done < "$list";;
  download) echo "dlstatus:1:50.0:Retrieving" >/dev/null; cp {packages}/*.deb .;;
esac""",
        )
        return log

    return write


def test_headers_and_tblgen_are_kept_with_what_they_run_with(apt):
    apt()
    result = toolchain.provide()
    root = result.mlir_tblgen.parents[1]
    kept = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    loader = next((root / "libexec").glob("ld-linux*")).name
    assert (root / "libexec" / "libz.so.1").readlink().name == "libz.so.1.3.1"
    assert kept == {
        "piece.json",
        "bin/mlir-tblgen",
        f"libexec/{loader}",
        "libexec/libc.so.6",
        "libexec/libm.so.6",
        "libexec/libz.so.1",
        "libexec/libz.so.1.3.1",
        "libexec/mlir-tblgen",
        "include/llvm/Config/abi-breaking.h",
        "include/llvm/Config/llvm-config.h",
        "include/llvm/Support/VCSRevision.h",
        "include/llvm-c/Core.h",
        "include/mlir/IR/Operation.h",
        "include/mlir-c/IR.h",
    }
    assert result.headers_version == "23.1.4"
    assert result.sources["headers"] == "Debian sid, http://mirror.test/debian"


def test_the_next_suite_is_tried_when_one_has_gone(apt):
    log = apt(suites="forky")
    assert toolchain.provide().sources["headers"] == "Debian forky, http://mirror.test/debian"
    assert log.read_text().count(" update ") == 2


def test_every_suite_that_was_tried_is_listed(apt):
    apt(suites="none")
    reason = refusal()
    for suite in ("sid", "forky", "testing"):
        assert f"http://mirror.test/debian {suite}: The repository does not have a Release file." in reason


def test_apt_works_in_a_root_of_its_own(apt, tmp_path, left):
    log = apt()
    toolchain.provide()
    calls = [line for line in log.read_text().splitlines() if "indextargets" not in line]
    assert len(calls) == 2
    for call in calls:
        for setting in ("Dir::State=", "Dir::Cache=", "Dir::Etc::sourcelist="):
            assert f"-o{setting}{tmp_path}/cache/toolchain/." in call
        assert "-oDir::Etc::sourceparts=/dev/null" in call
    assert not [name for name in left() if name.startswith(".")]


def test_a_machine_without_debian_is_told_whose_mirrors_it_has(packages, script):
    script("apt-get", "case \"$*\" in *indextargets*) echo 'http://archive.test/ubuntu/|Ubuntu';; esac")
    assert refusal() == "apt has no Debian mirror configured (origins: Ubuntu)"


def test_lists_are_fetched_where_apt_never_was_updated(script, packages):
    # Without lists apt does not know the origin of its mirrors; after `update` into the private root it does.
    script(
        "apt-get",
        f"""
for argument; do
  case "$argument" in
    -oDir::State=*) state=${{argument#*=}};;
    -oDir::Etc::sourcelist=*) chosen=1;;
    indextargets | update | download) action=$argument;;
  esac
done
case "$action" in
  indextargets) [ -e "$state/fetched" ] && echo 'http://mirror.test/debian/|Debian';;
  update) [ -n "$chosen" ] || : > "$state/fetched";;
  download) cp {packages}/*.deb .;;
esac""",
    )
    assert toolchain.provide().sources["headers"] == "Debian sid, http://mirror.test/debian"


def test_a_package_that_cannot_be_unpacked_leaves_nothing(apt, packages, left):
    apt()
    (packages / "llvm-23-dev.deb").write_bytes(b"not a package")
    assert "llvm-23-dev.deb cannot be unpacked" in refusal()
    assert left() == []
