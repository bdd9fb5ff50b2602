"""The hooks of the build backend, on top of scikit-build-core's."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping

from .. import manifest as manifests
from .. import toolchain
from ..errors import TritonextError, render
from ..manifest import Manifest
from .paths import sdk_root

__all__ = [
    "build_editable",
    "build_inplace",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = Mapping[str, str | list[str]]


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    """Return what a wheel build needs beyond ``build-system.requires``."""
    return _delegate().get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: Settings | None = None) -> list[str]:
    """Return what an editable build needs beyond ``build-system.requires``."""
    return _delegate().get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings: Settings | None = None) -> list[str]:
    """Return what a source distribution needs beyond ``build-system.requires``."""
    return _delegate().get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings | None = None) -> str:
    """Write the metadata of the wheel without building it."""
    with _reported():
        settings = _settings(manifests.load("pyproject.toml"), config_settings)
        return _delegate().prepare_metadata_for_build_wheel(metadata_directory, settings)


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Settings | None = None) -> str:
    """Write the metadata of the editable wheel without building it."""
    with _reported():
        settings = _settings(manifests.load("pyproject.toml"), config_settings)
        return _delegate().prepare_metadata_for_build_editable(metadata_directory, settings)


def build_sdist(sdist_directory: str, config_settings: Settings | None = None) -> str:
    """Write a source distribution."""
    with _reported():
        manifest = manifests.load("pyproject.toml")
        # What builds leave in the source directory; the ignore file that says so is that of the repository.
        left = ["/build/", "/dist/", *(f"/python/{manifest.package}/{name}" for name in _native_files(manifest))]
        return _delegate().build_sdist(sdist_directory, {"sdist.exclude": left, **(config_settings or {})})


def build_wheel(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build, check and stamp a wheel of the extension in the current directory."""
    with _reported(), tempfile.TemporaryDirectory() as scratch:
        return _build(pathlib.Path(scratch), config_settings, pathlib.Path(wheel_directory)).name


def build_editable(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that points at the Python sources, and put the library beside them."""
    from .finish import pack, unpack

    with _reported(), tempfile.TemporaryDirectory() as scratch:
        manifest = manifests.load("pyproject.toml")
        tree = unpack(_build(pathlib.Path(scratch), config_settings, pathlib.Path(scratch, "finished")))
        _place(tree, manifest, pathlib.Path())
        shutil.rmtree(tree / manifest.package)
        (tree / f"_{manifest.package}.pth").write_text(f"{pathlib.Path('python').resolve()}\n", encoding="utf-8")
        return pack(tree, pathlib.Path(wheel_directory, f"{tree.stem}.whl")).name


def build_inplace(directory: pathlib.Path) -> pathlib.Path:
    """Build the extension in ``directory`` and put library and metadata into its Python source package.

    The CMake build directory is kept in ``directory/build``, so a second build compiles only what changed.

    Returns:
        The library.

    Raises:
        ManifestError, ToolchainError, AbiError, ExtensionError: As the wheel build.
    """
    from .finish import unpack

    directory = directory.resolve()
    manifest = manifests.load(directory)
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(directory):
        settings = {"build-dir": str(directory / "build")}
        tree = unpack(_build(pathlib.Path(scratch), settings, pathlib.Path(scratch, "finished")))
        return _place(tree, manifest, directory)


def _build(scratch: pathlib.Path, config_settings: Settings | None, out: pathlib.Path) -> pathlib.Path:
    """Build the extension in the current directory into a finished wheel in ``out``."""
    # Imported late: CMake runs this package for its small commands, which need none of what this brings.
    from .finish import finish

    manifest = manifests.load("pyproject.toml")
    # Asked before CMake starts, so that a missing toolchain is the first thing said rather than the last.
    toolchain.find()
    settings = _settings(manifest, {"build-dir": str(scratch / "build"), **(config_settings or {})})
    plain = _delegate().build_wheel(str(scratch), settings)
    return finish(scratch / plain, manifest, pathlib.Path(str(settings["build-dir"])), out)


def _settings(manifest: Manifest, config_settings: Settings | None) -> dict[str, str | list[str]]:
    """Return scikit-build-core's settings; what the caller gave wins over what the layout of extensions implies."""
    return {
        "wheel.py-api": "py3",
        "wheel.packages": f"python/{manifest.package}",
        "wheel.install-dir": manifest.package,
        "cmake.build-type": "Release",
        "cmake.define.Tritonext_ROOT": str(sdk_root()),
        "cmake.define.Python_EXECUTABLE": sys.executable,
        # The layout check reads the debug information, so the library is stripped after it.
        "install.strip": "false",
        **(config_settings or {}),
    }


def _place(tree: pathlib.Path, manifest: Manifest, directory: pathlib.Path) -> pathlib.Path:
    """Copy what the build made from an unpacked wheel into the source package, and return the library."""
    package = directory / "python" / manifest.package
    for name in _native_files(manifest):
        # A running process may have the old library mapped; replacing the name leaves its copy intact.
        temporary = package / f"{name}.new"
        shutil.copyfile(tree / manifest.package / name, temporary)
        temporary.replace(package / name)
    return package / manifest.library


def _native_files(manifest: Manifest) -> tuple[str, ...]:
    """Return the names of the files that a build adds to the Python package."""
    from .. import abi, registry

    return (manifest.library, registry.MANIFEST_FILE, registry.STAMP_FILE, abi.TABLE_NAME)


def _delegate():
    """Return scikit-build-core's backend, imported late because its import reads the current directory."""
    from scikit_build_core import build

    return build


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """End with a rendered message instead of a traceback, which build frontends would print in full."""
    try:
        yield
    except TritonextError as error:
        sys.stdout.flush()
        print(render(error), file=sys.stderr)
        raise SystemExit(1) from None
