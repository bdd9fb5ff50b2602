"""What the tests of extensions share: fresh processes, lit configuration, altered installations.

``tritonext.testing.pytest_plugin`` adds the ``gpu`` marker and collects lit tests.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tritonext import env, registry
from tritonext._triton import wheel
from tritonext.errors import TritonextError
from tritonext.registry import InstalledExtension

__all__ = ["Finished", "browser", "gpu_missing", "install_copy", "lit_config", "quiet", "run_python"]

_FILECHECK_OPTIONS = "--enable-var-scope --allow-unused-prefixes=false"


@dataclasses.dataclass(frozen=True)
class Finished:
    """A process that ended: its exit code, negative for a signal, and its output."""

    returncode: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return f"exit code {self.returncode}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what this process writes to its error stream: passes print a whole module there where one fails."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def run_python(
    *arguments: str | os.PathLike[str],
    path: tuple[str | os.PathLike[str], ...] = (),
    environment: Mapping[str, str] | None = None,
    text: str | None = None,
    timeout: float = 300,
) -> Finished:
    """Run this interpreter in a fresh process with the modules this one can import.

    Args:
        arguments: Its arguments, such as ``"-c", code`` or ``"-m", module``.
        path: Directories to put before this process's own ``sys.path``.
        environment: Variables to add to this process's.
        text: Standard input; empty when None.
        timeout: Seconds after which the process is killed and ``subprocess.TimeoutExpired`` is raised.
    """
    search = os.pathsep.join([*map(os.fspath, path), *(entry for entry in sys.path if entry)])
    done = subprocess.run(
        [sys.executable, *arguments],
        input=text or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "PYTHONPATH": search, **(environment or {})},
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def install_copy(
    extension: InstalledExtension,
    directory: pathlib.Path,
    *,
    manifest: Mapping[str, Any] | None = None,
    stamp: Mapping[str, Any] | None = None,
    distribution: str | None = None,
) -> pathlib.Path:
    """Install a changed copy of an extension into ``directory``, for a process that has it first on its path.

    A changed id changes the names of the distribution, the package and the library with it.

    Args:
        extension: The extension to copy.
        directory: Where to install it; made when absent.
        manifest: Values that replace those of its ``_manifest.json``.
        stamp: Values that replace those of its ``_stamp.json``.
        distribution: Name of the distribution; the usual one of the id when None.

    Returns:
        The directory of the copied package.
    """
    contents = json.loads(extension.manifest.to_json()) | dict(manifest or {})
    identifier, version = contents["id"], contents["version"]
    distribution = distribution or f"tritonext-{identifier.replace('_', '-')}"
    package = directory / f"tritonext_{identifier}"
    shutil.copytree(extension.root, package, ignore=shutil.ignore_patterns("__pycache__"))
    library = package / f"libtritonext_{identifier}.so"
    (package / extension.manifest.library).rename(library)
    marks = json.loads((package / registry.STAMP_FILE).read_text())
    marks |= {"id": identifier, "version": version, "library": library.name} | dict(stamp or {})
    (package / registry.MANIFEST_FILE).write_text(json.dumps(contents))
    (package / registry.STAMP_FILE).write_text(json.dumps(marks))
    info = directory / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[tritonext.extensions]\n{identifier} = {package.name}\n")
    return package


def browser() -> str | None:
    """Return the distribution's Chromium: the file that TRITONEXT_CHROMIUM names, or the one on PATH; None without."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return env.get("TRITONEXT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def gpu_missing() -> str | None:
    """Return why tests that need an NVIDIA GPU cannot run here, or None when they can."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return None if torch.cuda.is_available() else "no NVIDIA GPU"


def lit_config(config: Any, settings: Any, extension: str) -> None:
    """Configure a lit suite for an extension; the whole of its ``lit.cfg.py``::

        from tritonext.testing import lit_config as configure
        configure(config, lit_config, extension="layout")

    Tests may use ``%opt``, which has the extension loaded, ``%python``, ``FileCheck`` and ``not``. Output goes to the
    user's cache, or to the directory that ``--param exec_root=DIR`` names. Where the extension is not installed, every
    test of the suite is unsupported.

    Args:
        config: ``config`` of the ``lit.cfg.py``.
        settings: ``lit_config`` of the ``lit.cfg.py``.
        extension: Id of the extension.
    """
    import lit.formats

    config.name = f"tritonext-{extension}"
    config.test_format = lit.formats.ShTest(execute_external=False)
    config.suffixes = [".mlir", ".py"]
    config.excludes = ["lit.cfg.py"]
    config.test_exec_root = settings.params.get("exec_root", os.fspath(env.cache_dir() / "lit" / extension))
    with contextlib.suppress(TritonextError):
        if registry.extension(extension).library.is_file():
            config.available_features.add("plugin-built")
    config.unsupported = "plugin-built" not in config.available_features
    config.substitutions += [
        # Their paths, which lit puts in afterwards, may have spaces.
        *((rf'(?<!"){name}\b', f'"{name}"') for name in ("%s", "%S", "%t")),
        ("%opt", f'"{sys.executable}" -m tritonext.opt --load {extension}'),
        ("%python", f'"{sys.executable}"'),
    ]
    # The wheel's FileCheck comes first, so every machine runs the same one.
    search = [os.fspath(wheel.installed().filecheck.parent), config.environment.get("PATH", "")]
    config.environment["PATH"] = os.pathsep.join(search)
    config.environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    config.environment["FILECHECK_OPTS"] = _FILECHECK_OPTIONS
