"""The doctor finds and explains planted faults, each with its remedy, and nothing in a sound installation."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import sys
import time

import pytest

from tritonext import doctor, gpu
from tritonext._triton import wheel
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import install_copy, run_python


def problems(check) -> list[doctor.Finding]:
    """Return the problems that a check finds."""
    return [finding for finding in check() if finding.level == "problem"]


def only(check, name: str) -> doctor.Finding:
    """Return the one problem that a check finds, which has a remedy."""
    [found] = [finding for finding in problems(check) if finding.check == name]
    assert found.remedy
    return found


@pytest.fixture
def unloaded(monkeypatch):
    """Leave out the processes that import each extension; they take seconds, and one test is about them."""
    monkeypatch.setattr(doctor, "_loads", lambda extension: doctor.Finding("loads", "ok", ""))


def distribution(directory: pathlib.Path, name: str, version: str) -> None:
    info = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def fake_triton(directory: pathlib.Path, version: str, library: bool = True) -> None:
    (directory / "triton" / "_C").mkdir(parents=True)
    (directory / "triton" / "__init__.py").write_text(f"__version__ = '{version}'\n")
    if library:
        (directory / "triton" / "_C" / "libtriton.so").write_bytes(b"\x7fELF")
    distribution(directory, "triton", version)


def test_a_triton_without_its_library(tmp_path, monkeypatch):
    fake_triton(tmp_path, "3.9.0", library=False)
    monkeypatch.setattr(wheel.importlib.util, "find_spec", lambda name: _Spec(tmp_path / name))
    found = only(doctor._triton, "triton")
    assert found.message == "the installed triton has no compiled library"
    assert "pip install --force-reinstall triton" in found.remedy


class _Spec:
    def __init__(self, root: pathlib.Path) -> None:
        self.submodule_search_locations = [str(root)]


def test_another_release_of_triton(tmp_path):
    fake_triton(tmp_path, "3.8.0")
    done = run_python("-m", "tritonext", "doctor", "--json", path=(tmp_path,))
    assert done.returncode == 1, done
    found = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["triton-version"]["message"].startswith("triton 3.8.0 is installed")
    assert "pip install triton==3.9.0" in found["triton-version"]["remedy"]
    assert found["two-versions"]["message"] == "triton is installed 2 times"
    assert any(line.startswith("3.8.0 in ") for line in found["two-versions"]["details"])


def test_another_build_of_triton(monkeypatch):
    host = wheel.installed()
    monkeypatch.setattr(wheel, "_llvm_commit", lambda library: "f" * 40)
    found = only(doctor._triton, "triton-build")
    assert f"triton {host.version}" in found.message
    assert any("f" * 40 in line for line in found.details)


def test_two_versions_of_the_sdk(tmp_path, monkeypatch):
    distribution(tmp_path, "tritonext", "0.0.1")
    monkeypatch.syspath_prepend(tmp_path)
    found = only(doctor._installed_twice, "two-versions")
    assert found.message == "tritonext is installed 2 times"
    assert "pip uninstall tritonext" in found.remedy


def test_another_distribution_that_brings_triton(tmp_path, monkeypatch):
    distribution(tmp_path, "pytorch-triton", "3.4.0")
    monkeypatch.syspath_prepend(tmp_path)
    assert "pip uninstall pytorch-triton triton" in only(doctor._installed_twice, "two-tritons").remedy


def test_a_torch_that_pins_another_triton(tmp_path, monkeypatch):
    distribution(tmp_path, "torch", "2.11.0")
    (info,) = tmp_path.glob("torch*")
    with (info / "METADATA").open("a") as metadata:
        metadata.write("Requires-Dist: triton==3.6.0; sys_platform == 'linux'\n")
    monkeypatch.syspath_prepend(tmp_path)
    [found] = [finding for finding in doctor._triton() if finding.check == "torch"]
    assert found.level == "note"
    assert "torch asks for triton==3.6.0" in found.message


def _truncated(package: pathlib.Path) -> None:
    library = next(package.glob("*.so"))
    library.write_bytes(library.read_bytes()[:1000])


def _missing(package: pathlib.Path) -> None:
    next(package.glob("*.so")).unlink()


def _longer(package: pathlib.Path) -> None:
    with next(package.glob("*.so")).open("ab") as library:
        library.write(b"more")


@pytest.mark.parametrize(
    ("damage", "stamp", "message"),
    [
        (_truncated, {}, "the file is no library that can be loaded here"),
        (_missing, {}, "the library does not exist"),
        (_longer, {}, "the library is not the one the build stamp describes"),
        (None, {"triton": "3.8.0"}, "the library was built for another triton"),
        (None, {"llvm_commit": "f" * 40}, "the library was built for another LLVM"),
        (None, {"compiler": "gcc 12.2"}, "the library was built by a compiler"),
    ],
    ids=["broken library", "missing library", "replaced library", "other triton", "other llvm", "other compiler"],
)
def test_a_library_that_cannot_be_used(damage, stamp, message, probe, tmp_path, monkeypatch, unloaded):
    package = install_copy(probe, tmp_path, manifest={"id": "other", "dialects": [], "ops": []}, stamp=stamp)
    if damage:
        damage(package)
    monkeypatch.syspath_prepend(tmp_path)
    assert only(doctor._extensions, "extension other").message.startswith(message)


def test_two_distributions_of_one_extension(probe, tmp_path, monkeypatch, unloaded):
    install_copy(probe, tmp_path, distribution="someone-elses")
    monkeypatch.syspath_prepend(tmp_path)
    found = only(doctor._extensions, "extension probe")
    assert "2 installed distributions define the extension 'probe'" in found.message
    assert "pip uninstall" in found.remedy


def test_an_extension_whose_requirement_is_missing(probe, tmp_path, monkeypatch, unloaded):
    install_copy(probe, tmp_path, manifest={"id": "other", "requires": ["absent>=2"], "dialects": [], "ops": []})
    monkeypatch.syspath_prepend(tmp_path)
    found = only(doctor._extensions, "extension other")
    assert found.message == "the extension 'other' requires 'absent', which is not installed"


def test_two_extensions_with_one_dialect(probe, tmp_path, monkeypatch, unloaded):
    dialect = {"name": "probe", "class": "tritonext::other::ProbeDialect", "header": "tritonext_other/IR/Dialect.h"}
    install_copy(probe, tmp_path, manifest={"id": "other", "ops": [], "dialects": [dialect]})
    monkeypatch.syspath_prepend(tmp_path)
    assert "dialect probe of probe" in only(doctor._extensions, "extension other").details


def test_an_extension_that_crashes(probe, tmp_path, monkeypatch):
    package = install_copy(probe, tmp_path, manifest={"id": "other", "dialects": [], "passes": [], "ops": []})
    (package / "__init__.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.syspath_prepend(tmp_path)
    [extension] = [found for found in doctor.registry.installed().values() if found.id == "other"]
    assert doctor._loads(extension).message == "a process that imports tritonext_other ends by signal 11"
    (package / "__init__.py").write_text("import sys\nsys.exit(0)\n")
    assert doctor._loads(extension).message == "a process that imports tritonext_other ends with status 0"


def test_a_distribution_that_cannot_be_read(tmp_path, monkeypatch):
    distribution(tmp_path, "other", "1.0")
    (info,) = tmp_path.glob("other*")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("METADATA", "entry_points.txt"):
        (info / name).write_bytes(b"[a]\nName = \xe9")
        assert str(tmp_path) in only(doctor._installed_twice, "metadata").message
    assert doctor.registry.installed()


def test_commands_that_are_taken(tmp_path, monkeypatch):
    for name in ("one", "two"):
        distribution(tmp_path, name, "1.0")
        (info,) = tmp_path.glob(f"{name}*")
        (info / "entry_points.txt").write_text(f"[tritonext.commands]\nlist = {name}:main\nshow = {name}:main\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert [finding.message for finding in doctor._commands()] == [
        "the command list of an extension is one of tritonext",
        "the command show of an extension is there twice",
    ]


@pytest.mark.parametrize(
    ("variables", "check", "message"),
    [
        ({"TRITON_PLUGIN_PATHS": "/plugins/a.so"}, "foreign-plugins", "TRITON_PLUGIN_PATHS names /plugins/a.so"),
        ({"TRITONEXT_ENABLE": "no_such"}, "enabled", "no installed extension is called 'no_such'"),
        ({"TRITONEXT_ENABLE": ":::"}, "enabled", ""),
        ({"TRITONEXT_ENABLE": "probe:no=1"}, "enabled", "a process that imports triton ends with status 1"),
        ({"TRITONEXT_CACHEDIR": "/x"}, "environment", "TRITONEXT_CACHEDIR is set, and nothing reads it"),
        ({"TRITON_PTXAS_PATH": "/no/ptxas"}, "assembler", "TRITON_PTXAS_PATH names no program: /no/ptxas"),
    ],
    ids=["foreign plugins", "unknown extension", "malformed", "option", "misspelt variable", "missing assembler"],
)
def test_a_variable_that_does_harm(variables, check, message, probe, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert only(doctor._variables, check).message.startswith(message)


def test_an_sdk_that_is_not_installed_reads_no_variable(probe, monkeypatch):
    monkeypatch.setenv("TRITONEXT_ENABLE", "probe")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if pathlib.Path(entry).name != "site-packages"])
    monkeypatch.setattr(doctor.registry, "extension", lambda identifier: probe)
    assert "tritonext_autoload.pth" in only(doctor._variables, "autoload").remedy


def test_a_missing_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITONEXT_CACHE_DIR", str(tmp_path))
    for name in ("TRITONEXT_LLVM_PREFIX", "MLIR_DIR"):
        monkeypatch.delenv(name, raising=False)
    found = only(doctor._toolchain, "toolchain")
    assert "run `tritonext toolchain` with a network" in found.remedy
    # Who has none of the build tools uses extensions and builds none.
    monkeypatch.setattr(doctor, "_BUILD_MODULES", ("no_such_module",))
    assert [finding.level for finding in doctor._toolchain()] == ["note"]


def test_a_compiler_that_is_none(monkeypatch):
    monkeypatch.setenv("TRITONEXT_CXX", sys.executable)
    assert "TRITONEXT_CXX" in str(only(doctor._toolchain, "toolchain"))


def pci(directory: pathlib.Path, vendor: str, class_: str = "0x030200") -> pathlib.Path:
    device = directory / "bus" / "pci" / "devices" / "0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text(vendor + "\n")
    (device / "class").write_text(class_ + "\n")
    return directory


def test_a_gpu_without_a_driver(tmp_path, monkeypatch):
    cards = gpu.cards(pci(tmp_path, "0x10de"))
    assert cards == ["NVIDIA"]
    monkeypatch.setattr(gpu, "cards", lambda: cards)
    missing = gpu.cuda_driver("libno_such_driver.so")
    monkeypatch.setattr(gpu, "cuda_driver", lambda: missing)
    found = only(doctor._gpu, "gpu-without-driver")
    assert "there is an NVIDIA GPU, and libno_such_driver.so cannot be opened" in found.message
    assert "install NVIDIA's driver" in found.remedy


def test_an_amd_gpu_without_its_runtime(tmp_path, monkeypatch):
    cards = gpu.cards(pci(tmp_path, "0x1002", "0x120000"))
    monkeypatch.setattr(gpu, "cards", lambda: cards)
    monkeypatch.setattr(gpu, "hip_missing", lambda: "libamdhip64.so cannot be opened")
    assert "install ROCm" in only(doctor._gpu, "gpu-without-driver").remedy


def test_a_driver_that_is_too_old(monkeypatch):
    monkeypatch.setattr(gpu, "cards", lambda: ["NVIDIA"])
    monkeypatch.setattr(gpu, "cuda_driver", lambda: gpu.Driver(None, (11, 8), (("NVIDIA H200", "cuda:90"),)))
    found = only(doctor._gpu, "driver")
    assert found.message.startswith("the driver is for CUDA 11.8, and Triton assembles for ")


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert "set TRITON_CACHE_DIR to a directory" in only(doctor._caches, "kernel-cache").remedy

    def refuse(*arguments):
        raise PermissionError

    # Below a directory that cannot be searched, and of a user who has no home directory.
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "exists", refuse)
        assert only(doctor._caches, "kernel-cache")
    monkeypatch.delenv("TRITON_CACHE_DIR")
    monkeypatch.setattr(pathlib.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    assert doctor._kernel_cache() == pathlib.Path("~/.triton/cache")


KERNEL = """
import sys, triton, triton.language as tl, tritonext
from tritonext.offline import Specialization, parse_signature

@triton.jit
def copy(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at))

kernel = Specialization(copy, parse_signature("x=*fp32:16, y=*fp32:16"), {"BLOCK": 128})
kernel.compile("cuda:90")
with tritonext.use("probe"):
    print(kernel.compile("cuda:90").metadata.tritonext)
"""


def test_stale_cache_entries_of_a_removed_extension(probe, tmp_path, monkeypatch):
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    cache = tmp_path / "cache"
    done = run_python(script, environment={"TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1"})
    assert (done.returncode, done.stdout) == (0, f"['probe=={probe.version}']\n"), done
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache))

    def stale() -> list[doctor.Finding]:
        return [finding for finding in doctor._caches() if finding.check == "stale-cache"]

    odd = '["tritonext"]', '{"tritonext": null}', '{"tritonext": [[]]}', '{"tritonext": 3}', '"tritonext"' + "[" * 99999
    for number, text in enumerate(odd):
        (cache / f"odd{number}").mkdir()
        (cache / f"odd{number}" / "x.json").write_text(text)
    assert stale() == []
    monkeypatch.setattr(doctor.registry, "installed", dict)
    [found] = stale()
    assert "`tritonext doctor --clean` removes them" in found.remedy
    assert found.message.startswith("1 cached kernels")
    assert found.details == (f"1 with probe=={probe.version}",)
    before = set(cache.iterdir())
    assert doctor.clean([found]) == list(found.removes)
    assert before - set(cache.iterdir()) == set(found.removes)
    assert stale() == []
    assert len(list(cache.glob("*/copy.json"))) == 1, "the kernel of stock Triton stays"


def test_leftovers_of_removals(probe, tmp_path, monkeypatch):
    packages = tmp_path / "site-packages"
    install_copy(probe, packages, manifest={"id": "gone", "dialects": [], "ops": []})
    (info,) = packages.glob("*.dist-info")
    for path in info.iterdir():
        path.unlink()
    info.rmdir()
    (packages / "~ritonext").mkdir()
    (packages / "tritonext_kept-0.1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(packages)
    found = problems(doctor._leftovers)
    assert sorted(path.name for finding in found for path in finding.removes) == ["tritonext_gone", "~ritonext"]
    doctor.clean(found)
    assert [path.name for path in packages.iterdir()] == ["tritonext_kept-0.1.0.dist-info"]


def test_downloads_that_did_not_end(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITONEXT_CACHE_DIR", str(tmp_path))
    for name, age in (("old", 7200), ("new", 0)):
        path = tmp_path / "toolchain" / f".{name}.tmp-1"
        path.mkdir(parents=True)
        os.utime(path, (time.time() - age,) * 2)
    [found] = problems(doctor._leftovers)
    assert [path.name for path in found.removes] == [".old.tmp-1"]


def test_a_check_that_fails_does_not_hide_the_others(monkeypatch):
    def fails():
        raise RuntimeError("why")

    monkeypatch.setattr(doctor, "CHECKS", (("odd", fails), ("python", doctor._python)))
    first, second = doctor.examine()
    assert (first.level, first.message) == ("problem", "the check of odd fails: RuntimeError: why")
    assert second.level == "ok"


def test_a_sound_installation_has_no_problem():
    done = run_python("-m", "tritonext", "doctor", environment={"TRITON_PLUGIN_PATHS": ""})
    assert done.returncode == 0, done
    assert done.stdout.endswith("\nno problems\n")
    assert f"triton {importlib.metadata.version('triton')}" in done.stdout


def test_entries_of_stock_kernels_say_nothing(tmp_path, monkeypatch):
    """What is recorded about extensions is recorded for kernels under a pipeline alone."""
    import triton
    import triton.language as tl

    @triton.jit
    def empty(x):
        tl.store(x, 0)

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel = Specialization(empty, parse_signature("x=*fp32:16")).compile("cuda:90")
    assert not hasattr(kernel.metadata, "tritonext")
