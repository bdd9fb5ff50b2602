"""Fixtures of the SDK's tests."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from tritonext import registry
from tritonext._triton import wheel
from tritonext.registry import InstalledExtension

MANIFEST = {
    "schema": 1,
    "id": "sample",
    "version": "0.1.0",
    "description": "an extension of the tests",
    "requires": [],
    "targets": [],
    "passes": [],
    "dialects": [],
    "ops": [],
}


@pytest.fixture(scope="session")
def probe() -> InstalledExtension:
    """The fixture extension, built and installed."""
    found = registry.installed().get("probe")
    if found is None:
        pytest.skip("the extension of tests/extensions/probe is not installed; `nox -s tests` does it")
    return found


@pytest.fixture
def fake_extension(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """A function that installs an extension with any metadata and any file as its library into ``tmp_path``."""

    def install(
        identifier: str = "sample",
        *,
        manifest: dict[str, Any] | str | None = None,
        stamp: dict[str, Any] | str | None = None,
        library: bytes | None = b"not a library",
        distribution: str | None = None,
    ) -> pathlib.Path:
        package = tmp_path / f"tritonext_{identifier}"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("raise AssertionError('listing must not import an extension')\n")
        name = f"libtritonext_{identifier}.so"
        if library is not None:
            (package / name).write_bytes(library)
        host = wheel.installed()
        marks = {
            "schema": 1,
            "id": identifier,
            "version": "0.1.0",
            "triton": host.version,
            "plugin_api": host.plugin_api,
            "llvm_commit": host.llvm_commit,
            "headers": "23.1.4",
            "compiler": "clang 23.1.4",
            "library": name,
            "library_sha256": hashlib.sha256(library or b"").hexdigest(),
            "abi": {"compared": 1, "mismatches": 0, "uncovered": 0},
        }
        for file, base, changes in (
            (registry.MANIFEST_FILE, MANIFEST | {"id": identifier}, manifest),
            (registry.STAMP_FILE, marks, stamp),
        ):
            text = changes if isinstance(changes, str) else json.dumps(base | (changes or {}))
            (package / file).write_text(text)
        distribution = distribution or f"tritonext-{identifier.replace('_', '-')}"
        info = tmp_path / f"{distribution.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text(f"[tritonext.extensions]\n{identifier} = {package.name}\n")
        return package

    return install
