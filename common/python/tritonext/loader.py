"""Loading extension libraries into this process: every reason to refuse is looked for before the library runs.

A library built for another Triton can crash the process in its static initializers, before any version check of its
own. So the order is: metadata, then the file's ELF tables, then the names, and only then the dynamic linker.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import threading
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from . import registry, remarks, versions
from ._triton import diagnostics, plugin, wheel
from .elf import Elf, ElfError
from .errors import (
    ExtensionError,
    IncompatibleLibraryError,
    InvalidLibraryError,
    MissingLibraryError,
    NameClashError,
    StampError,
    TritonextError,
    UnmetRequirementError,
    install_command,
)
from .registry import InstalledExtension

__all__ = ["Loaded", "check", "check_host", "load", "load_library", "loaded"]

_VERSION_TEXT = re.compile(rb"(?<=\0)[0-9]+\.[0-9]+\.[0-9]+(?:\+git[0-9a-f]+)?(?=\0)")
_RELEASE = re.compile(r"[0-9]+(\.[0-9]+)*")

_lock = threading.RLock()
_loaded: dict[str, Loaded] = {}


@dataclass(frozen=True)
class Loaded:
    """A library that Triton knows.

    Attributes:
        id: Id of the extension, or the plugin name of a plain Triton plugin.
        path: The library.
        native: Its functions.
        extension: The installed extension it belongs to; None when it was loaded by path.
    """

    id: str
    path: pathlib.Path
    native: plugin.Native
    extension: InstalledExtension | None


def load(identifier: str) -> Loaded:
    """Load the library of an installed extension, and before it those it requires.

    Loading registers passes, dialects and ops and changes the output of no kernel. A second call returns the first
    one's result. MLIR contexts made earlier do not know the dialects.

    Args:
        identifier: Id of the extension.

    Raises:
        UnknownExtensionError: It is not installed.
        ManifestError, StampError: Its metadata is missing, malformed, or of a newer format.
        MissingLibraryError, InvalidLibraryError, IncompatibleLibraryError: Its library cannot be used here.
        UnmetRequirementError: An extension it requires is absent or has another version.
        NameClashError: It defines a pass, dialect or op that exists already.
    """
    with _lock:
        return _load(identifier, ())


def load_library(path: str | os.PathLike[str]) -> Loaded:
    """Load a plugin library by path: one that is being developed, or a plain Triton plugin.

    Such a library has no stamp that could be checked, so it is first tried in a child process.

    Args:
        path: The library.

    Raises:
        MissingLibraryError, InvalidLibraryError, IncompatibleLibraryError: It cannot be used here.
        NameClashError: It defines a pass, dialect or op that exists already.
    """
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise MissingLibraryError(
            "that is no path of a library",
            expected="a text or a path",
            found=repr(path),
            hint="call tritonext.load with the id of an installed extension instead, or give the path of its library",
        )
    path = pathlib.Path(path).absolute()
    with _lock:
        for known in _loaded.values():
            if known.path == path:
                return known
        _check_file(path, (plugin.PLUGIN_ENTRY,), "check the path")
        _check_symbols(path)
        _try_in_child(path)
        native = _open(path)
        if native.extension:
            _check_build(native.extension.triton, native.extension.llvm_commit, native.extension.compiler, path)
            identifier = native.extension.id
        else:
            _check_release(native.plugin.triton, path)
            identifier = native.plugin.name
        if identifier in _loaded:
            raise NameClashError(
                f"an extension called {identifier!r} is loaded already",
                where=path,
                found=_loaded[identifier].path,
                hint="load one of them only",
            )
        facts = native.plugin
        _check_names(identifier, path, facts.passes, facts.dialects, facts.ops)
        return _bind(Loaded(identifier, path, native, None))


def loaded() -> dict[str, Loaded]:
    """Return the libraries loaded so far, by id, in the order they were loaded."""
    with _lock:
        return dict(_loaded)


def _load(identifier: str, requested_by: tuple[str, ...]) -> Loaded:
    if isinstance(identifier, str) and identifier in _loaded:
        return _loaded[identifier]
    extension = registry.extension(identifier)
    manifest = extension.manifest
    check(extension)
    _check_symbols(extension.library)
    names = (
        tuple(entry.name for entry in manifest.passes),
        tuple(entry.name for entry in manifest.dialects),
        tuple(entry.name for entry in manifest.ops),
    )
    _check_names(identifier, extension.library, *names)
    _check_requirements(extension, requested_by)
    for requirement in manifest.requires:
        _load(requirement.id, (*requested_by, identifier))
        # What was loaded just now may have taken a name.
        _check_names(identifier, extension.library, *names)
    native = _open(extension.library)
    _check_description(extension, native, names)
    return _bind(Loaded(identifier, extension.library, native, extension))


def check(extension: InstalledExtension) -> None:
    """Compare the files of an extension with its stamp and with the installed Triton, without loading anything.

    Raises:
        StampError: Its stamp is missing, malformed, or of another library.
        MissingLibraryError, InvalidLibraryError, IncompatibleLibraryError: Its library cannot be used here.
    """
    stamp = extension.stamp
    reinstall = f"reinstall it with `{install_command(extension.distribution)}`"
    _check_file(extension.library, (plugin.PLUGIN_ENTRY, plugin.EXTENSION_ENTRY), reinstall)
    _check_build(stamp.triton, stamp.llvm_commit, stamp.compiler, extension.library, stamp.plugin_api)
    with open(extension.library, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != stamp.library_sha256:
        raise StampError(
            "the library is not the one the build stamp describes",
            where=extension.library,
            expected=f"SHA-256 {stamp.library_sha256}",
            found=f"SHA-256 {digest}",
            hint=reinstall,
        )


def check_host(extension: InstalledExtension) -> None:
    """Check, without loading anything, what the installed Triton and the other extensions have to have for this one.

    Raises:
        IncompatibleLibraryError: libtriton lacks symbols that the library wants.
        UnmetRequirementError: An extension it requires is absent or has another version.
    """
    _check_symbols(extension.library)
    _check_requirements(extension, ())


def _bind(library: Loaded) -> Loaded:
    plugin.bind(library.path)
    _loaded[library.id] = library
    if library.native.extension:
        remarks.attach(library.native)
        diagnostics.attach(library.native)
    return library


def _open(path: pathlib.Path) -> plugin.Native:
    return plugin.open_library(path, wheel.installed().plugin_api)


def _check_file(path: pathlib.Path, entries: tuple[str, ...], hint: str) -> None:
    """Check that ``path`` is a shared object for this machine that exports ``entries``."""
    try:
        with Elf(path) as elf:
            missing = [name for name in entries if not elf.exports(name)]
    except FileNotFoundError as error:
        raise MissingLibraryError("the library does not exist", where=path, hint=hint) from error
    except OSError as error:
        raise MissingLibraryError(
            "the library cannot be read",
            where=path,
            found=error.strerror,
            hint="check the permissions of the file and of its directories",
        ) from error
    except ElfError as error:
        raise InvalidLibraryError(
            "the file is no library that can be loaded here",
            where=path,
            expected="an ELF shared object for this machine",
            found=str(error),
            hint=hint,
        ) from error
    if missing:
        raise InvalidLibraryError(
            "the library has no plugin entry point",
            where=path,
            expected="the exported functions " + " and ".join(entries),
            found="without " + " and ".join(missing),
            hint="build it with `tritonext_add_extension()`",
        )


def _check_symbols(path: pathlib.Path) -> None:
    """Check that every symbol the library takes from libtriton is there, without running any of its code."""
    host = wheel.installed()
    try:
        with Elf(path) as elf, Elf(host.library) as libtriton:
            # A versioned symbol belongs to a named system library, and the dynamic linker checks those before it
            # runs anything.
            wanted = [s.name for s in elf.symbols if not (s.defined or s.weak or s.versioned)]
            missing = [name for name in wanted if not libtriton.exports(name)]
    except ElfError as error:
        raise InvalidLibraryError("the symbol table cannot be read", where=path, found=str(error)) from error
    if not missing:
        return
    shown = plugin.demangle(missing[:10])
    details = [f"missing: {name}" for name in shown]
    if len(missing) > len(shown):
        details.append(f"and {len(missing) - len(shown)} more")
    versions = sorted({match.decode() for match in _VERSION_TEXT.findall(path.read_bytes())})
    if versions and host.version not in versions:
        details.append("version strings in the library: " + ", ".join(versions))
    raise IncompatibleLibraryError(
        "the library was built for another triton",
        where=path,
        expected=f"symbols that libtriton {host.version} exports",
        found=f"{len(missing)} of {len(wanted)} symbols are missing",
        details=details,
        hint=f"install or build the library for triton {host.version}",
    )


def _check_release(release: str, path: pathlib.Path) -> None:
    """Check the Triton release a library was built for, by its release part, as Triton itself does."""
    host = wheel.installed()
    theirs, ours = _RELEASE.match(release), _RELEASE.match(host.version)
    if not theirs or not ours or theirs[0] != ours[0]:
        raise IncompatibleLibraryError(
            "the library was built for another triton",
            where=path,
            expected=f"triton {host.version}, which is installed",
            found=f"triton {release or 'unknown'}",
            hint=f"install the library built for triton {host.version}, or `pip install triton=={release}`",
        )


def _check_build(
    release: str, llvm_commit: str, compiler: str, path: pathlib.Path, plugin_api: int | None = None
) -> None:
    """Check what a library or its stamp says about its build against the installed Triton."""
    _check_release(release, path)
    host = wheel.installed()
    # A wheel without headers states no number; Triton then compares its own with the library's.
    if None not in (plugin_api, host.plugin_api) and plugin_api != host.plugin_api:
        raise IncompatibleLibraryError(
            "the library was built for another plugin interface",
            where=path,
            expected=f"plugin interface {host.plugin_api}",
            found=f"plugin interface {plugin_api}",
            hint="rebuild it against the installed triton",
        )
    if llvm_commit != host.llvm_commit:
        raise IncompatibleLibraryError(
            "the library was built for another LLVM",
            where=path,
            expected=f"LLVM {host.llvm_commit}",
            found=f"LLVM {llvm_commit}",
            hint="rebuild it against the installed triton",
        )
    minimum = versions.load()["clang"]["minimum"]
    name, _, version = compiler.partition(" ")
    major = version.partition(".")[0]
    if name != "clang" or not major.isdecimal() or int(major) < minimum:
        raise IncompatibleLibraryError(
            "the library was built by a compiler whose type identities differ from libtriton's",
            where=path,
            expected=f"clang {minimum} or newer",
            found=compiler,
            hint="rebuild it with the compiler that `tritonext toolchain` finds",
        )


def _check_requirements(extension: InstalledExtension, requested_by: tuple[str, ...]) -> None:
    """Check that every required extension is installed in a version that satisfies the manifest."""
    chain = (*requested_by, extension.id)
    for requirement in extension.manifest.requires:
        if requirement.id in chain:
            raise UnmetRequirementError(
                "the requirements of extensions form a circle",
                where=extension.distribution,
                found=" -> ".join((*chain, requirement.id)),
                hint="remove one of them from `requires` in its manifest",
            )
        try:
            other = registry.extension(requirement.id)
        except ExtensionError as error:
            raise UnmetRequirementError(
                f"the extension {extension.id!r} requires {requirement.id!r}, which is broken",
                where=extension.distribution,
                details=str(error).splitlines(),
            ) from error
        except TritonextError as error:
            raise UnmetRequirementError(
                f"the extension {extension.id!r} requires {requirement.id!r}, which is not installed",
                where=extension.distribution,
                expected=str(requirement),
                hint=f"install it with `{install_command(f'tritonext_{requirement.id}')}`",
            ) from error
        try:
            satisfied = SpecifierSet(requirement.specifier).contains(Version(other.version), prereleases=True)
        except (InvalidSpecifier, InvalidVersion) as error:
            raise UnmetRequirementError(
                "a required version cannot be compared", where=extension.distribution, found=str(error)
            ) from error
        if not satisfied:
            raise UnmetRequirementError(
                f"the extension {extension.id!r} requires another version of {requirement.id!r}",
                where=extension.distribution,
                expected=str(requirement),
                found=f"{other.distribution} {other.version}",
                hint=f"install that version with `{install_command(other.distribution)}`",
            )


def _check_names(
    identifier: str, path: pathlib.Path, passes: tuple[str, ...], dialects: tuple[str, ...], ops: tuple[str, ...]
) -> None:
    """Check that no name is taken, by stock Triton or by a library loaded before."""
    taken_passes, taken_dialects, taken_ops = plugin.taken_names()
    owners = {}
    for known in _loaded.values():
        for kind in ("passes", "dialects", "ops"):
            owners.update({(kind, name): known for name in getattr(known.native.plugin, kind)})
    for kind, noun, names, taken in (
        ("passes", "pass", passes, taken_passes),
        ("dialects", "dialect", dialects, taken_dialects),
        ("ops", "op", ops, taken_ops),
    ):
        for name in names:
            owner = owners.get((kind, name))
            if owner or name in taken:
                raise NameClashError(
                    f"the {noun} {name!r} of {identifier!r} exists already",
                    where=path,
                    expected="a name nothing else in this process defines",
                    found=f"{noun} {name!r} of {_origin(owner)}",
                    hint="use one of the two extensions in a process, or rename it in one of them",
                )


def _origin(owner: Loaded | None) -> str:
    if owner is None:
        return "triton, or of a plugin loaded without tritonext"
    if owner.extension:
        return f"the distribution {owner.extension.distribution} {owner.extension.version}"
    return f"the library {owner.path}"


def _check_description(
    extension: InstalledExtension, native: plugin.Native, names: tuple[tuple[str, ...], ...]
) -> None:
    """Check what the library says about itself against the metadata it was installed with."""
    facts = native.extension
    assert facts is not None
    described = (
        tuple(entry["name"] for entry in native.description["passes"]),
        tuple(native.description["dialects"]),
        tuple(native.description["ops"]),
    )
    tables = (native.plugin.passes, native.plugin.dialects, native.plugin.ops)
    comparisons = [("id", extension.id, facts.id), ("version", extension.version, facts.version)]
    for index, kind in enumerate(("passes", "dialects", "ops")):
        comparisons.append((kind, sorted(names[index]), sorted(described[index])))
        comparisons.append((kind, sorted(names[index]), sorted(tables[index])))
    for kind, expected, found in comparisons:
        if expected != found:
            raise InvalidLibraryError(
                f"the library and the manifest of {extension.id!r} disagree about its {kind}",
                where=extension.library,
                expected=", ".join(expected) if isinstance(expected, list) else expected,
                found=", ".join(found) if isinstance(found, list) else found,
                details=_difference(expected, found) if isinstance(expected, list) else (),
                hint=f"reinstall it with `{install_command(extension.distribution)}`",
            )


def _difference(expected: list[str], found: list[str]) -> list[str]:
    return [line for line in difflib.ndiff(expected, found) if line[0] in "+-"]


def _try_in_child(path: pathlib.Path) -> None:
    """Open the library in a process of its own, where a crash of its static initializers is an exit status."""
    code = (
        "import ctypes, os, sys\n"
        "from triton._C import libtriton\n"
        f"ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_LOCAL).{plugin.PLUGIN_ENTRY}()\n"
    )
    command = [sys.executable, "-c", code, os.fspath(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment)
    if done.returncode == 0:
        return
    last = done.stderr.strip().splitlines()[-1:]
    raise IncompatibleLibraryError(
        "the library cannot be loaded beside the installed triton",
        where=path,
        found=f"a trial process ended by signal {-done.returncode}" if done.returncode < 0 else "an error",
        details=last,
        hint=f"install or build the library for triton {wheel.installed().version}",
    )


def _reset_lock() -> None:
    # Another thread may hold the lock at the moment of a fork, and that thread does not exist in the child.
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_reset_lock)
