"""``tritonext doctor``: examine the whole installation, and say of each problem what to do about it.

A check yields findings: facts, notes about what may surprise, and problems. No check imports an extension into this
process, and a check that fails unexpectedly is a problem by itself, so that the others are still made.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from packaging.requirements import InvalidRequirement, Requirement

from . import activation, env, gpu, loader, registry, versions
from . import toolchain as toolchains
from ._triton import wheel
from .cli import OWN_COMMANDS
from .errors import TritonextError, UserError
from .registry import InstalledExtension

__all__ = ["CHECKS", "Finding", "clean", "conflicts", "enabled", "examine", "main"]

# Distributions that bring a package `triton` too.
_OTHER_TRITONS = ("pytorch-triton", "pytorch-triton-rocm", "triton-nightly", "triton-windows")
# What a build needs of the extra `tritonext[build]`, by module.
_BUILD_MODULES = ("cmake", "ninja", "scikit_build_core")
# A directory that a running build made is younger than this.
_DEAD_AFTER = 3600
# Seconds.
_LONGEST_IMPORT = 120
# An exit status that nothing else has.
_IMPORTED = 86


@dataclass(frozen=True)
class Finding:
    """One thing that a check found.

    Attributes:
        check: Name of what was looked at, such as ``two-versions``.
        level: ``ok``, ``note`` or ``problem``.
        message: What was found.
        remedy: What to do; empty for what is in order.
        details: Further lines.
        removes: Directories that :func:`clean` removes to mend it.
    """

    check: str
    level: str
    message: str
    remedy: str = ""
    details: tuple[str, ...] = ()
    removes: tuple[pathlib.Path, ...] = field(default=(), repr=False)

    def to_json(self) -> dict:
        """Return the finding as plain data for ``json.dumps``."""
        return {
            "check": self.check,
            "level": self.level,
            "message": self.message,
            "remedy": self.remedy,
            "details": list(self.details),
        }


def _ok(check: str, message: str) -> Finding:
    return Finding(check, "ok", message)


def _note(check: str, message: str, remedy: str = "", details: Iterable[str] = ()) -> Finding:
    return Finding(check, "note", message, remedy, tuple(details))


def _problem(check: str, message: str, remedy: str, details: Iterable[str] = ()) -> Finding:
    return Finding(check, "problem", message, remedy, tuple(details))


def _refused(check: str, error: TritonextError, remedy: str = "see the lines above") -> Finding:
    """Return an error of ours as a problem."""
    lines = [
        f"{label}: {value}"
        for label, value in (("where", error.where), ("expected", error.expected), ("found", error.found))
        if value is not None
    ]
    return _problem(check, error.message, error.hint or remedy, [*lines, *error.details])


def _python() -> Iterator[Finding]:
    libc = " ".join(platform.libc_ver()) or "an unknown C library"
    yield _ok("python", f"Python {platform.python_version()} ({sys.executable}), {libc}, {platform.machine()}")


def _triton() -> Iterator[Finding]:
    pin = versions.load()["triton"]
    try:
        found = wheel.installed()
    except TritonextError as error:
        yield _refused("triton", error)
        return
    if found.version.split("+")[0] != pin["version"]:
        yield _problem(
            "triton-version",
            f"triton {found.version} is installed, and this tritonext is for {pin['version']}",
            f"pip install triton=={pin['version']}; where torch pins another, docs/torch.md says how both get along",
            [f"where: {found.root}"],
        )
    elif found.llvm_commit != versions.load()["llvm"]["commit"] or found.plugin_api != pin["plugin-api"]:
        yield _problem(
            "triton-build",
            f"this is not the triton {found.version} that was published",
            f"pip install --force-reinstall triton=={pin['version']}",
            [
                f"expected: LLVM {versions.load()['llvm']['commit']}, plugin interface {pin['plugin-api']}",
                f"found: LLVM {found.llvm_commit}, plugin interface {found.plugin_api}",
            ],
        )
    else:
        yield _ok("triton", f"triton {found.version} ({found.root})")
    yield from _torch(found.version)


def _torch(version: str) -> Iterator[Finding]:
    try:
        requires = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        applies = requirement.marker is None or requirement.marker.evaluate()
        if requirement.name == "triton" and applies and not requirement.specifier.contains(version, prereleases=True):
            yield _note(
                "torch",
                f"torch asks for triton{requirement.specifier}, and {version} is installed; both work together",
                "nothing; after another installation of torch, `pip install --no-deps triton=="
                f"{versions.load()['triton']['version']}` puts this one back",
            )


def _installed_twice() -> Iterator[Finding]:
    """Find distributions that are on the path more than once: which one is imported is then an accident."""
    found: dict[str, dict[pathlib.Path, str]] = {}
    for distribution in importlib.metadata.distributions():
        try:
            # The directory of a failed removal has no name.
            name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"] or "").lower()
            _ = distribution.entry_points
        except UnicodeDecodeError as error:
            yield _problem(
                "metadata",
                f"the metadata of a distribution in {distribution.locate_file('')} cannot be read",
                "reinstall it; pip and every search for entry points stumble over it too",
                [f"begins with: {error.object[:60]!r}"],
            )
            continue
        if name in ("triton", *_OTHER_TRITONS) or name.startswith("tritonext"):
            place = pathlib.Path(str(distribution.locate_file(""))).resolve()
            found.setdefault(name, {})[place] = distribution.version
    for name, places in sorted(found.items()):
        if len(places) > 1:
            yield _problem(
                "two-versions",
                f"{name} is installed {len(places)} times",
                f"run `pip uninstall {name}` for one of them, or take its directory off PYTHONPATH",
                [f"{version} in {place}" for place, version in places.items()],
            )
    if "triton" in found:
        for name in _OTHER_TRITONS:
            if name in found:
                yield _problem(
                    "two-tritons",
                    f"{name} has overwritten the files of triton, or the other way round",
                    f"pip uninstall {name} triton && pip install triton=={versions.load()['triton']['version']}",
                )
    here = importlib.util.find_spec(__package__)
    for version in found.get("tritonext", {}).values():
        running = versions.load()["tritonext"]["version"]
        if len(found["tritonext"]) == 1 and version != running:
            yield _problem(
                "sdk-shadowed",
                f"tritonext {version} is installed, and {running} is imported",
                "take the other one off PYTHONPATH, or install it anew",
                [f"imported from {here.origin}"] if here else [],
            )


def conflicts(extensions: Iterable[InstalledExtension]) -> dict[str, list[str]]:
    """Return for each extension, by id, what it defines that another one defines too."""
    extensions = list(extensions)
    result: dict[str, list[str]] = {extension.id: [] for extension in extensions}
    for kind, noun in (("passes", "pass"), ("dialects", "dialect"), ("ops", "op")):
        owners: dict[str, list[str]] = {}
        for extension in extensions:
            for entry in getattr(extension.manifest, kind):
                owners.setdefault(entry.name, []).append(extension.id)
        for name, ids in owners.items():
            for identifier in ids if len(ids) > 1 else ():
                others = ", ".join(other for other in ids if other != identifier)
                result[identifier].append(f"{noun} {name} of {others}")
    return result


def enabled() -> tuple[str, ...]:
    """Return the ids that ``TRITONEXT_ENABLE`` names; none where it is malformed, which :func:`examine` reports."""
    try:
        return tuple(activation.parse_spec(spec)[0] for spec in activation.parse_specs(env.get("TRITONEXT_ENABLE")))
    except TritonextError:
        return ()


def _extensions() -> Iterator[Finding]:
    found = registry.scan()
    for identifier, error in found.broken.items():
        yield _refused(f"extension {identifier}", error)
    if not found.extensions and not found.broken:
        yield _note("extensions", "no extension is installed", "build one, for example with `nox -s build-layout`")
    yield from _commands()
    clashes = conflicts(found.extensions.values())
    for extension in found.extensions.values():
        check = f"extension {extension.id}"
        if clashes[extension.id]:
            yield _problem(
                check,
                f"{extension.id} defines what another extension defines too",
                "use one of the two in a process, or uninstall one",
                clashes[extension.id],
            )
        try:
            loader.check(extension)
            loader.check_host(extension)
        except TritonextError as error:
            yield _refused(check, error)
            continue
        yield _loads(extension)


def _commands() -> Iterator[Finding]:
    """Find commands that two distributions add, or that have a name of ours."""
    found: dict[str, list[str]] = {}
    for point in registry.points("tritonext.commands"):
        found.setdefault(point.name, []).append(point.value)
    for name, values in sorted(found.items()):
        if name in OWN_COMMANDS or len(values) > 1:
            yield _problem(
                "commands",
                f"the command {name} of an extension is "
                + ("one of tritonext" if name in OWN_COMMANDS else "there twice"),
                "rename it in the extension, or uninstall one of them",
                values,
            )


def _imports(package: str, enable: str) -> tuple[str, list[str]]:
    """Import a package in a process of its own, where a crash is an exit status.

    Returns:
        How the process ended, empty when it was well, and the last lines of what it said.
    """
    # A package may end the process without an error.
    command = [sys.executable, "-c", f"import {package}, os; os._exit({_IMPORTED})"]
    search = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": search, "TRITONEXT_ENABLE": enable}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            timeout=_LONGEST_IMPORT,
        )
    except subprocess.TimeoutExpired:
        return f"not within {_LONGEST_IMPORT} s", []
    if done.returncode == _IMPORTED:
        return "", []
    lines = done.stderr.strip().splitlines()
    # One of our errors is the whole message.
    ours = [number for number, line in enumerate(lines) if re.match(r"tritonext\.errors\.\w+: ", line)]
    ended = f"by signal {-done.returncode}" if done.returncode < 0 else f"with status {done.returncode}"
    return ended, lines[ours[-1] if ours else -3 :]


def _loads(extension: InstalledExtension) -> Finding:
    """Import the package of an extension."""
    ended, lines = _imports(extension.manifest.package, "")
    check = f"extension {extension.id}"
    if not ended:
        return _ok(check, f"{extension.id} {extension.version}: {', '.join(extension.manifest.targets)}")
    return _problem(
        check,
        f"a process that imports {extension.manifest.package} ends {ended}",
        f"reinstall the extension, or report it with the output of `python -c 'import {extension.manifest.package}'`",
        lines,
    )


def _variables() -> Iterator[Finding]:
    ours = [name for name in env.VARIABLES if name.startswith("TRITONEXT_")]
    for name in sorted(os.environ):
        near = difflib.get_close_matches(name, ours, 1, 0.85)
        if name.startswith("TRITONEXT_") and name not in env.VARIABLES and near:
            yield _problem("environment", f"{name} is set, and nothing reads it", f"write {near[0]}, or unset it")
    yield from _enabled()
    if plugins := os.environ.get("TRITON_PLUGIN_PATHS"):
        yield _problem(
            "foreign-plugins",
            f"TRITON_PLUGIN_PATHS names {plugins}",
            "unset TRITON_PLUGIN_PATHS; load such a library with `tritonext.load_library`, which checks it first",
            ["Triton 3.9 ignores the variable, and a process with another release would load the library unchecked"],
        )
    if os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "on", "yes", "y"):
        yield _note(
            "interpreter",
            "TRITON_INTERPRET is set: kernels are interpreted, and no pass runs",
            "unset TRITON_INTERPRET to compile them",
        )
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        path = os.environ.get(name)
        if path and not os.access(path, os.X_OK):
            yield _problem("assembler", f"{name} names no program: {path}", f"unset {name}; the wheel brings one")


def _enabled() -> Iterator[Finding]:
    value = env.get("TRITONEXT_ENABLE")
    if not value:
        return
    try:
        specs = [activation.parse_spec(spec) for spec in activation.parse_specs(value)]
        for identifier, _ in specs:
            registry.extension(identifier)
    except TritonextError as error:
        yield _refused("enabled", error, "correct TRITONEXT_ENABLE")
        return
    places = [pathlib.Path(entry) for entry in sys.path if entry]
    if not any((place / "tritonext_autoload.pth").is_file() for place in places):
        yield _problem(
            "autoload",
            "TRITONEXT_ENABLE is set, and nothing reads it at the start of Python",
            "install the wheel of tritonext, which brings tritonext_autoload.pth; a path in PYTHONPATH does not",
        )
        return
    # Options, and whether the extensions get along, show when they are activated.
    ended, lines = _imports("triton", value)
    if ended:
        yield _problem("enabled", f"a process that imports triton ends {ended}", "correct TRITONEXT_ENABLE", lines)
        return
    yield _ok("enabled", f"TRITONEXT_ENABLE activates {', '.join(identifier for identifier, _ in specs)}")


def _toolchain() -> Iterator[Finding]:
    builds = all(importlib.util.find_spec(module) for module in _BUILD_MODULES)
    try:
        found = toolchains.find()
    except TritonextError as error:
        finding = _refused("toolchain", error)
        # Who only uses extensions needs no compiler.
        yield finding if builds else _note(finding.check, finding.message, finding.remedy, finding.details)
        return
    if found.strip is None:
        yield _problem("toolchain", "there is no program strip", "install binutils")
    tail = "" if builds else "; the build tools are not installed"
    yield _ok("toolchain", f"clang {found.cxx_version}, headers of LLVM {found.headers_version}{tail}")


def _gpu() -> Iterator[Finding]:
    cards, driver = gpu.cards(), gpu.cuda_driver()
    if driver.devices:
        shown = ", ".join(f"{name} ({target})" for name, target in driver.devices)
        version = ".".join(map(str, driver.version)) if driver.version else "unknown"
        yield _ok("gpu", f"{shown}; the driver is for CUDA {version}")
        assembler = _assembler_version()
        if driver.version and assembler and driver.version[0] < assembler[0]:
            yield _problem(
                "driver",
                f"the driver is for CUDA {version}, and Triton assembles for {assembler[0]}.{assembler[1]}",
                f"install a driver for CUDA {assembler[0]} or later",
            )
    elif "NVIDIA" in cards:
        yield _problem(
            "gpu-without-driver",
            f"there is an NVIDIA GPU, and {driver.problem or 'its driver names no device'}",
            "install NVIDIA's driver; in a container, start it with the GPUs (--gpus all)",
        )
    if "AMD" in cards and (reason := gpu.hip_missing()):
        remedy = "install ROCm, or put its libraries on LD_LIBRARY_PATH"
        yield _problem("gpu-without-driver", f"there is an AMD GPU, and {reason}", remedy)
    if not cards and not driver.devices:
        yield _note("gpu", "no GPU: kernels compile for targets by name, and do not run")


def _assembler_version() -> tuple[int, int] | None:
    """Return the CUDA version of the assembler that the wheel brings."""
    program = wheel.installed().root / "backends" / "nvidia" / "bin" / "ptxas"
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"release (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _kernel_cache() -> pathlib.Path:
    """Return where Triton keeps compiled kernels."""
    try:
        home = os.environ.get("TRITON_HOME") or pathlib.Path.home()
    except RuntimeError:
        # Triton takes the name literally where there is no home directory.
        home = "~"
    return pathlib.Path(os.environ.get("TRITON_CACHE_DIR") or pathlib.Path(home, ".triton", "cache"))


def _caches() -> Iterator[Finding]:
    for name, path, variable in (
        ("kernel-cache", _kernel_cache(), "TRITON_CACHE_DIR"),
        ("sdk-cache", env.cache_dir(), "TRITONEXT_CACHE_DIR"),
    ):
        try:
            existing = next(place for place in (path, *path.parents) if place.exists())
            writable = existing.is_dir() and os.access(existing, os.W_OK)
        except PermissionError:
            writable = False
        if not writable:
            yield _problem(name, f"{path} cannot be written", f"set {variable} to a directory you can write")
        elif existing == path:
            yield _ok(name, str(path))
    yield from _stale_entries()


def _stale_entries() -> Iterator[Finding]:
    """Find kernels that were compiled with an extension that is gone, or was another version."""
    installed = {f"{extension.id}=={extension.version}" for extension in registry.installed().values()}
    stale: dict[str, list[pathlib.Path]] = {}
    for path in _kernel_cache().glob("*/*.json"):
        try:
            text = path.read_bytes()
            # Every entry has metadata, and most were compiled without an extension.
            entry = json.loads(text) if b'"tritonext"' in text else None
        except (OSError, ValueError, RecursionError):
            continue
        # Whatever else lies in that directory is not ours.
        made_with = entry.get("tritonext") if isinstance(entry, dict) else None
        for name in made_with if isinstance(made_with, list) else ():
            if isinstance(name, str) and name not in installed:
                stale.setdefault(name, []).append(path.parent)
    if not stale:
        return
    directories = tuple(sorted({directory for found in stale.values() for directory in found}))
    files = (file for directory in directories for file in directory.glob("*") if file.is_file())
    size = sum(file.stat().st_size for file in files)
    yield Finding(
        "stale-cache",
        # Another environment may share the cache and have them.
        "note",
        f"{len(directories)} cached kernels, {size / 1e6:.1f} MB, were compiled with extensions that are not installed",
        "nothing here uses them; if no other environment does, `tritonext doctor --clean` removes them",
        tuple(f"{len(found)} with {name}" for name, found in sorted(stale.items())),
        directories,
    )


def _leftovers() -> Iterator[Finding]:
    """Find what removals and builds that did not end have left."""
    remedy = "`tritonext doctor --clean` removes it"
    owned = importlib.metadata.packages_distributions()
    for place in map(pathlib.Path, sys.path):
        if place.name not in ("site-packages", "dist-packages"):
            continue
        for path in sorted(place.glob("~riton*")):
            yield Finding("leftover", "problem", f"pip did not finish to remove something: {path}", remedy, (), (path,))
        for manifest in sorted(place.glob(f"tritonext_*/{registry.MANIFEST_FILE}")):
            if manifest.parent.name not in owned:
                message = f"a package of an extension has no distribution any more: {manifest.parent}"
                yield Finding("leftover", "problem", message, remedy, (), (manifest.parent,))
    pieces = toolchains.cache.root()
    dead = [
        path for path in pieces.glob(".*.tmp-*") if path.is_dir() and time.time() - path.stat().st_mtime > _DEAD_AFTER
    ]
    if dead:
        message = f"{len(dead)} downloads of the toolchain did not end, in {pieces}"
        yield Finding("leftover", "problem", message, remedy, tuple(path.name for path in dead), tuple(dead))


CHECKS: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
    ("python", _python),
    ("triton", _triton),
    ("distributions", _installed_twice),
    ("extensions", _extensions),
    ("environment", _variables),
    ("toolchain", _toolchain),
    ("gpu", _gpu),
    ("caches", _caches),
    ("leftovers", _leftovers),
)
"""Every check by name, in the order they are made."""


def examine() -> list[Finding]:
    """Make every check and return what was found."""
    findings = []
    for name, check in CHECKS:
        try:
            findings += check()
        except TritonextError as error:
            findings.append(_refused(name, error))
        except Exception as error:
            text = f"the check of {name} fails: {type(error).__name__}: {error}"
            findings.append(_problem(name, text, "report it; the other checks were made"))
    return findings


def clean(findings: Iterable[Finding]) -> list[pathlib.Path]:
    """Remove the leftovers that ``findings`` name, and return them.

    Raises:
        UserError: One cannot be removed.
    """
    removed = []
    for path in (path for finding in findings for path in finding.removes):
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError as error:
            raise UserError("a leftover cannot be removed", where=path, found=error.strerror) from error
        removed.append(path)
    return removed


_MARKS = {"ok": "ok      ", "note": "note    ", "problem": "PROBLEM "}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tritonext doctor``; the exit status is 1 when there is a problem."""
    parser = argparse.ArgumentParser(
        prog="tritonext doctor",
        description="Examine the installation: Triton, extensions, environment, toolchain, GPU and driver, caches,\n"
        "leftovers. Each problem comes with its remedy; the exit status is 1 when there is one.",
        epilog="examples:\n  tritonext doctor\n  tritonext doctor --json\n  tritonext doctor --clean\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print machine-readable JSON")
    parser.add_argument("--clean", action="store_true", help="remove stale cached kernels and leftovers")
    options = parser.parse_args(arguments)
    findings = examine()
    if options.clean:
        for path in clean(findings):
            print(f"removed {path}", file=sys.stderr)
        findings = [finding for finding in findings if not finding.removes]
    problems = sum(finding.level == "problem" for finding in findings)
    if options.json:
        print(json.dumps({"problems": problems, "findings": [finding.to_json() for finding in findings]}, indent=2))
        return int(problems > 0)
    for finding in findings:
        print(f"{_MARKS[finding.level]}{finding.check}: {finding.message}")
        for line in finding.details:
            print(f"            {line}")
        if finding.remedy:
            print(f"          > {finding.remedy}")
    print(f"\n{problems or 'no'} problem{'' if problems == 1 else 's'}")
    return int(problems > 0)
