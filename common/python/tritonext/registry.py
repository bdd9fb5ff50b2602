"""The extensions installed in this Python environment, known from their metadata alone.

Listing imports no extension and loads no library: it reads entry points, then the ``_manifest.json`` and
``_stamp.json`` that the build put into each wheel. One broken distribution never hides the others.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import traceback
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import manifest as manifests
from .errors import ExtensionError, ManifestError, StampError, TritonextError, UnknownExtensionError, install_command
from .manifest import Manifest

if TYPE_CHECKING:
    from .pipeline import Pipeline

__all__ = [
    "MANIFEST_FILE",
    "STAMP_FILE",
    "STAMP_SCHEMA",
    "InstalledExtension",
    "Scan",
    "Stamp",
    "extension",
    "installed",
    "points",
    "scan",
]

MANIFEST_FILE = "_manifest.json"
STAMP_FILE = "_stamp.json"

STAMP_SCHEMA = 1
"""The build stamp that this release writes and reads."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Stamp:
    """What the build recorded about an extension library.

    Attributes:
        id: Id of the extension.
        version: Its version.
        triton: Triton release the library was built for.
        plugin_api: Number of the plugin interface it was built for.
        llvm_commit: LLVM commit of the ``libtriton.so`` it was built against.
        headers: Release of the LLVM headers it was compiled with.
        compiler: Compiler, as ``clang 23.1.4``.
        library: File name of the library.
        library_sha256: SHA-256 of the library, in hexadecimal.
        abi: Result of the layout comparison: ``compared``, ``mismatches``, ``uncovered``.
    """

    id: str
    version: str
    triton: str
    plugin_api: int
    llvm_commit: str
    headers: str
    compiler: str
    library: str
    library_sha256: str
    abi: tuple[tuple[str, int], ...]

    @classmethod
    def from_json(cls, text: str | bytes, where: object = STAMP_FILE) -> Stamp:
        """Read the text of a ``_stamp.json``.

        Raises:
            StampError: The text is no JSON object, was written by a newer build, or lacks a value.
        """
        hint = "reinstall the extension, or rebuild it with `pip wheel`"
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise StampError("the build stamp is not valid JSON", where=where, found=str(error), hint=hint) from error
        if not isinstance(data, dict):
            raise StampError("the build stamp is malformed", where=where, expected="a JSON object", hint=hint)

        def value(key: str, kind: type) -> object:
            found = data.get(key)
            if type(found) is not kind:
                noun = {str: "a string", int: "an integer", dict: "an object"}[kind]
                raise StampError(
                    "the build stamp is malformed",
                    where=f"{where}: {key}",
                    expected=noun,
                    found="nothing" if key not in data else repr(found),
                    hint=hint,
                )
            return found

        schema = value("schema", int)
        if schema != STAMP_SCHEMA:
            raise StampError(
                "the build stamp is written for another tritonext",
                where=where,
                expected=f"schema {STAMP_SCHEMA}",
                found=f"schema {schema}",
                hint="upgrade with `pip install --upgrade dist/tritonext-*.whl`, or reinstall the extension",
            )
        strings = {
            key: value(key, str)
            for key in ("id", "version", "triton", "llvm_commit", "headers", "compiler", "library", "library_sha256")
        }
        if not _SHA256.fullmatch(str(strings["library_sha256"])):
            raise StampError(
                "the build stamp is malformed",
                where=f"{where}: library_sha256",
                expected="64 hexadecimal digits",
                found=repr(strings["library_sha256"]),
                hint=hint,
            )
        abi = value("abi", dict)
        for key in ("compared", "mismatches", "uncovered"):
            if type(abi.get(key)) is not int:
                raise StampError(
                    "the build stamp is malformed", where=f"{where}: abi.{key}", expected="an integer", hint=hint
                )
        counts = tuple((key, abi[key]) for key in ("compared", "mismatches", "uncovered"))
        return cls(plugin_api=value("plugin_api", int), abi=counts, **strings)


@dataclass(frozen=True)
class InstalledExtension:
    """One extension of this environment.

    Attributes:
        manifest: What it contains and needs.
        distribution: Name of the distribution that installed it.
        root: Directory of its Python package.
    """

    manifest: Manifest
    distribution: str
    root: pathlib.Path

    @property
    def id(self) -> str:
        """Id of the extension."""
        return self.manifest.id

    @property
    def version(self) -> str:
        """Version of the extension."""
        return self.manifest.version

    @property
    def library(self) -> pathlib.Path:
        """Where its shared library belongs; the file may be absent."""
        return self.root / self.manifest.library

    @functools.cached_property
    def stamp(self) -> Stamp:
        """What the build recorded.

        Raises:
            StampError: The stamp is missing, unreadable, malformed, or of another extension or version.
        """
        path = self.root / STAMP_FILE
        try:
            text = path.read_bytes()
        except OSError as error:
            raise StampError(
                f"the extension {self.id!r} has no readable build stamp",
                where=path,
                found=error.strerror,
                hint=f"reinstall it with `{install_command(self.distribution)}`",
            ) from error
        stamp = Stamp.from_json(text, path)
        for key, expected in (("id", self.id), ("version", self.version), ("library", self.manifest.library)):
            if getattr(stamp, key) != expected:
                raise StampError(
                    "the build stamp belongs to another extension",
                    where=f"{path}: {key}",
                    expected=expected,
                    found=getattr(stamp, key),
                    hint=f"reinstall it with `{install_command(self.distribution)}`",
                )
        return stamp

    def module(self) -> types.ModuleType:
        """Import the package.

        Raises:
            ExtensionError: Its code raises something, or asks the process to exit.
        """
        try:
            return importlib.import_module(self.manifest.package)
        except TritonextError:
            raise
        except (Exception, SystemExit) as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            raise ExtensionError(
                f"the package of the extension {self.id!r} cannot be imported",
                where=f"{frame.filename}:{frame.lineno}",
                found=f"{type(error).__name__}: {error}",
                hint=f"reinstall it with `{install_command(self.distribution)}`",
            ) from error

    def files(self) -> tuple[pathlib.Path, ...]:
        """Return the Python files of the package, sorted."""
        return tuple(sorted(self.root.rglob("*.py")))

    def pipeline(self, /, **options: object) -> Pipeline:
        """Return the pipeline that runs the extension's passes at their default anchors.

        Args:
            options: Values of pass options, or whatever the package's own ``pipeline`` function takes.
        """
        from . import pipeline

        return pipeline.of_extension(self, **options)


@dataclass(frozen=True)
class Scan:
    """Result of looking for extensions: those that can be described, and why the others cannot."""

    extensions: dict[str, InstalledExtension] = field(default_factory=dict)
    broken: dict[str, ExtensionError] = field(default_factory=dict)


def scan() -> Scan:
    """Find every extension of this environment, sorted by id, without importing any.

    Returns:
        The extensions whose metadata is sound, and for every other id the error that says what is wrong with it.
    """
    found: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in points(manifests.ENTRY_POINT_GROUP):
        found.setdefault(point.name, []).append(point)
    result = Scan()
    for identifier, entries in sorted(found.items()):
        try:
            if len(entries) > 1:
                names = sorted(_distribution(point) for point in entries)
                raise ExtensionError(
                    f"{len(entries)} installed distributions define the extension {identifier!r}",
                    expected="one",
                    found=", ".join(names),
                    hint=f"uninstall one, for example with `pip uninstall {names[-1]}`",
                )
            result.extensions[identifier] = _describe(entries[0])
        except ExtensionError as error:
            result.broken[identifier] = error
    return result


def points(group: str) -> list[importlib.metadata.EntryPoint]:
    """Return the entry points of a group; those of a distribution whose metadata cannot be read are left out."""
    try:
        return list(importlib.metadata.entry_points(group=group))
    except UnicodeDecodeError:
        found = {}
        for distribution in importlib.metadata.distributions():
            with contextlib.suppress(UnicodeDecodeError):
                # The first on the path is the one that is imported.
                found.setdefault(distribution.name, list(distribution.entry_points.select(group=group)))
        return [point for each in found.values() for point in each]


def installed() -> dict[str, InstalledExtension]:
    """Return the extensions of this environment whose metadata is sound, by id."""
    return scan().extensions


def extension(identifier: str) -> InstalledExtension:
    """Return the installed extension with the given id.

    Raises:
        UnknownExtensionError: No distribution of this environment defines it.
        ExtensionError: It is installed and broken, or defined twice.
    """
    found = scan()
    if not isinstance(identifier, str):
        identifier = repr(identifier)
    if identifier in found.extensions:
        return found.extensions[identifier]
    if identifier in found.broken:
        raise found.broken[identifier]
    names = [*found.extensions, *found.broken]
    raise UnknownExtensionError(
        f"no installed extension is called {identifier!r}",
        expected=", ".join(sorted(names)) or "an installed extension; there is none in this environment",
        found=identifier,
        hint="install it, for example with `pip install dist/tritonext_*.whl`, and see `tritonext list`",
    )


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    """Return the name of the distribution of an entry point, or where its metadata is lost the name it has to have."""
    name = None
    with contextlib.suppress(UnicodeDecodeError, KeyError):
        name = point.dist.name if point.dist else None
    return name or f"tritonext-{point.name.replace('_', '-')}"


def _describe(point: importlib.metadata.EntryPoint) -> InstalledExtension:
    """Read the metadata behind one entry point."""
    distribution = _distribution(point)
    hint = f"reinstall it with `{install_command(distribution)}`"
    package = point.value
    try:
        # For a top-level name this consults the path finders only and runs no code of the package.
        spec = importlib.util.find_spec(package) if "." not in package else None
    except (ImportError, ValueError):
        spec = None
    roots = [pathlib.Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    if not roots:
        raise ExtensionError(
            f"the package of the extension {point.name!r} cannot be found",
            expected=f"an importable package {package}",
            where=f"distribution {distribution}",
            hint=hint,
        )
    reason = None
    for root in roots:
        try:
            text = (root / MANIFEST_FILE).read_bytes()
        except OSError as error:
            reason = reason or (root / MANIFEST_FILE, error.strerror)
            continue
        manifest = Manifest.from_json(text, root / MANIFEST_FILE)
        if (manifest.id, manifest.package) != (point.name, package):
            raise ManifestError(
                "the entry point disagrees with the manifest",
                where=root / MANIFEST_FILE,
                expected=f"{point.name} = {package}",
                found=f"{manifest.id} = {manifest.package}",
                hint=hint,
            )
        return InstalledExtension(manifest, distribution, root)
    assert reason
    raise ManifestError(
        f"the extension {point.name!r} has no readable manifest",
        where=reason[0],
        found=reason[1],
        hint=hint,
    )
