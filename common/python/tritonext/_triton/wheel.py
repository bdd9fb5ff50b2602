"""Facts about the installed Triton wheel, read from its files without importing it."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import mmap
import pathlib
import re
from dataclasses import dataclass

from tritonext.errors import ExtensionError

__all__ = ["Wheel", "installed"]

# LLVM embeds the full commit in the version string of its bundled lld and of the compiler driver. Each prefix is
# searched for by itself because a plain search of this large file is ten times as fast as a pattern of alternatives.
_COMMIT = re.compile(rb"(?:LLVM version [0-9.a-z]+ ?\(|llvm-project )([0-9a-f]{40})\)")
_COMMIT_PREFIXES = (b"llvm-project ", b"LLVM version ")
_PLUGIN_API = re.compile(r"^#define TRITON_PLUGIN_API_VERSION (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Wheel:
    """An installed Triton distribution."""

    root: pathlib.Path
    version: str

    @property
    def library(self) -> pathlib.Path:
        """``libtriton.so``, the library every plugin links."""
        return self.root / "_C" / "libtriton.so"

    @property
    def include(self) -> pathlib.Path:
        """Triton's own headers, ``.td`` files and generated ``.inc`` files."""
        return self.root / "include"

    @property
    def filecheck(self) -> pathlib.Path:
        """The ``FileCheck`` binary the wheel ships."""
        return self.root / "FileCheck"

    @property
    def llvm_commit(self) -> str | None:
        """The LLVM commit ``libtriton.so`` was built from, or None when the library does not say."""
        return _llvm_commit(self.library)

    @functools.cached_property
    def plugin_api(self) -> int | None:
        """The number of the plugin interface, or None when the wheel ships no header that states it."""
        try:
            text = (self.include / "triton" / "Tools" / "PluginUtils.h").read_text(encoding="utf-8")
        except OSError:
            return None
        match = _PLUGIN_API.search(text)
        return int(match[1]) if match else None


def installed() -> Wheel:
    """Return the Triton wheel of the running interpreter.

    Raises:
        ExtensionError: Triton is not installed, or is installed without its library.
    """
    spec = importlib.util.find_spec("triton")
    if spec is None or not spec.submodule_search_locations:
        raise ExtensionError(
            "triton is not installed in this Python environment",
            expected="the stock triton wheel",
            hint="run `pip install triton` in the environment that runs tritonext",
        )
    root = pathlib.Path(spec.submodule_search_locations[0])
    try:
        version = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        version = _version_of_source(root)
    wheel = Wheel(root, version)
    if not wheel.library.is_file():
        raise ExtensionError(
            "the installed triton has no compiled library",
            expected=f"a file {wheel.library}",
            hint="reinstall it with `pip install --force-reinstall triton`",
        )
    return wheel


@functools.cache
def _llvm_commit(library: pathlib.Path) -> str | None:
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for prefix in _COMMIT_PREFIXES:
            position = data.find(prefix)
            while position >= 0:
                if match := _COMMIT.match(data, position):
                    return match[1].decode()
                position = data.find(prefix, position + 1)
    return None


def _version_of_source(root: pathlib.Path) -> str:
    """Read ``__version__`` from the package when it was put on the path without its metadata."""
    match = re.search(r"__version__ = ['\"]([^'\"]+)['\"]", (root / "__init__.py").read_text())
    return match.group(1) if match else "unknown"
