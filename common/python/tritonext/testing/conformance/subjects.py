"""The extensions that the conformance suite is about, and their sources."""

from __future__ import annotations

import functools
import pathlib
import tomllib
from dataclasses import dataclass

import pytest

from tritonext import manifest, registry
from tritonext.errors import ManifestError
from tritonext.manifest import Manifest, PassEntry
from tritonext.registry import InstalledExtension

__all__ = ["Source", "check", "chosen", "parametrize", "source", "sources"]

# How far below the root of a repository an extension may be.
_PLACES = ("pyproject.toml", "*/pyproject.toml", "*/*/pyproject.toml", "*/*/*/pyproject.toml")
_BUILT = {"build", "dist"}


@dataclass(frozen=True)
class Source:
    """The source tree of an extension."""

    directory: pathlib.Path
    manifest: Manifest

    def files(self, *patterns: str) -> list[pathlib.Path]:
        """Return the files below the tree that match, without those that a build made."""
        found = {path for pattern in patterns for path in self.directory.glob(pattern)}
        return sorted(path for path in found if "build" not in path.relative_to(self.directory).parts)

    def lit(self, entry: PassEntry, suffix: str = "") -> pathlib.Path:
        """Return where the lit test of a pass belongs."""
        return self.directory / "tests" / "lit" / f"{entry.snake}{suffix}.mlir"


@functools.cache
def sources(root: pathlib.Path) -> dict[str, Source]:
    """Return the source tree of every extension of the repository at ``root``, by id.

    Raises:
        ManifestError: One of the manifests is malformed.
    """
    found = {}
    for path in (path for place in _PLACES for path in sorted(root.glob(place))):
        above = path.relative_to(root).parts[:-1]
        if any(part in _BUILT or part.startswith(".") for part in above):
            continue
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            # Some other project's, or a template's.
            continue
        if "tritonext" in data.get("tool", {}):
            loaded = manifest.load(path)
            found[loaded.id] = Source(path.parent, loaded)
    return found


@functools.cache
def _scan() -> registry.Scan:
    return registry.scan()


def chosen(config: pytest.Config) -> list[InstalledExtension]:
    """Return the installed extensions that the suite is about."""
    installed = _scan().extensions
    named = config.getoption("--tritonext-extension") or list(sources(config.rootpath)) or list(installed)
    return [installed[identifier] for identifier in sorted(named) if identifier in installed]


def check(config: pytest.Config) -> None:
    """Refuse to start where the suite would be about nothing.

    Raises:
        UsageError: A manifest is malformed, an extension that is named is not installed, or none is.
    """
    try:
        found = {extension.id for extension in chosen(config)}
        named = set(config.getoption("--tritonext-extension"))
        if missing := sorted(named - found) or (not found and sorted(sources(config.rootpath))):
            raise pytest.UsageError(
                f"the extension {', '.join(missing)} is not soundly installed; build and install it, and see"
                " `tritonext list`"
            )
        if not found:
            raise pytest.UsageError("no extension is installed, and there are no sources of one below the root")
    except ManifestError as error:
        raise pytest.UsageError(str(error)) from error


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test of the suite for each extension, or for each pass of each."""
    extensions = chosen(metafunc.config)
    if "entry" in metafunc.fixturenames:
        pairs = [
            pytest.param(extension, entry, id=entry.flag)
            for extension in extensions
            for entry in extension.manifest.passes
        ]
        nothing = pytest.param(None, None, id="none", marks=pytest.mark.skip(reason="no extension with a pass"))
        metafunc.parametrize(("extension", "entry"), pairs or [nothing])
    elif "extension" in metafunc.fixturenames:
        nothing = pytest.param(None, id="none", marks=pytest.mark.skip(reason="no extension is installed"))
        metafunc.parametrize("extension", [pytest.param(e, id=e.id) for e in extensions] or [nothing])


@pytest.fixture
def source(extension: InstalledExtension, request: pytest.FixtureRequest) -> Source:
    """The source tree of the extension under test."""
    found = sources(request.config.rootpath)
    if extension.id not in found:
        pytest.skip("the sources of this extension are not in the repository")
    return found[extension.id]
