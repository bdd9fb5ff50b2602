"""Turn the wheel of a plain CMake build into a checked, stamped and tagged extension wheel."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess

from .. import abi, registry, toolchain, versions
from .._triton import wheel as triton_wheel
from ..errors import ExtensionError, ToolchainError
from ..manifest import Manifest
from . import audit, symbols

__all__ = ["finish", "pack", "unpack"]

# The earliest time a zip archive can hold; a fixed one makes equal builds equal files.
_EPOCH = "315532800"


def finish(wheel: pathlib.Path, manifest: Manifest, objects: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """Check the library of ``wheel``, add its metadata, and write the finished wheel.

    Args:
        wheel: The wheel as scikit-build-core made it, its library with debug information.
        manifest: The extension's manifest.
        objects: CMake's build directory, to name the object files a symbol comes from.
        out: Directory of the finished wheel.

    Returns:
        The finished wheel.

    Raises:
        AbiError: The library disagrees with libtriton, or its symbols break a rule.
        ToolchainError: There is no tool to remove debug information with.
        ExtensionError: The wheel has no library, or is larger than allowed.
    """
    pins = versions.load()["wheel"]
    tools = toolchain.find()
    host = triton_wheel.installed()
    tree = unpack(wheel)
    package = tree / manifest.package
    library = package / manifest.library
    if not library.is_file():
        raise ExtensionError(
            "the build installed no library",
            where=wheel.name,
            expected=f"{manifest.package}/{manifest.library}",
            hint="call tritonext_add_extension() in CMakeLists.txt",
        )
    built = wheel.parent / manifest.library
    library.rename(built)
    symbols.check(built, objects)
    table = abi.extract(built)
    report = abi.check_plugin(built, table=table)
    _strip(tools.strip, built, library)

    (package / registry.MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
    stamp = {
        "schema": registry.STAMP_SCHEMA,
        "id": manifest.id,
        "version": manifest.version,
        "triton": host.version,
        "plugin_api": host.plugin_api,
        "llvm_commit": tools.llvm_commit,
        "headers": tools.headers_version,
        "compiler": symbols.compiler(built),
        "library": manifest.library,
        "library_sha256": hashlib.sha256(library.read_bytes()).hexdigest(),
        "abi": report.stamp(),
    }
    (package / registry.STAMP_FILE).write_text(json.dumps(stamp, indent=2) + "\n", encoding="utf-8")
    table.save(package / abi.TABLE_NAME)

    tag = audit.platform_tag(pack(tree, wheel), library, pins["platform"], objects)
    _retag(tree, tag)
    finished = pack(tree, out / re.sub(r"linux_\w+(?=\.whl$)", tag, wheel.name))
    size, limit = finished.stat().st_size, pins["size-limit"]
    if size > limit:
        finished.unlink()
        raise ExtensionError(
            "the wheel is larger than an extension may be",
            where=finished.name,
            expected=f"at most {limit:,} bytes",
            found=f"{size:,} bytes, of which {library.stat().st_size:,} are the library before compression",
            hint="look for large templates and data; `size-limit` in versions.toml holds the limit",
        )
    return finished


def unpack(wheel: pathlib.Path) -> pathlib.Path:
    """Unpack ``wheel`` into a new directory beside it, checking its hashes, and return the directory."""
    from wheel.wheelfile import WheelFile

    tree = wheel.with_suffix(".tree")
    with WheelFile(wheel) as archive:
        archive.extractall(tree)
    return tree


def pack(tree: pathlib.Path, wheel: pathlib.Path) -> pathlib.Path:
    """Pack ``tree`` into ``wheel`` with a fresh RECORD; equal trees give equal files."""
    from wheel.wheelfile import WheelFile

    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)
    wheel.parent.mkdir(parents=True, exist_ok=True)
    # The library dates the members it writes by this variable, and RECORD by nothing else.
    given = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = given or _EPOCH
    try:
        with WheelFile(wheel, "w") as archive:
            archive.write_files(str(tree))
    finally:
        if given is None:
            del os.environ["SOURCE_DATE_EPOCH"]
    return wheel


def _retag(tree: pathlib.Path, platform: str) -> None:
    """Replace the platform of the tags in the WHEEL file."""
    (path,) = tree.glob("*.dist-info/WHEEL")
    path.write_text(re.sub(r"(?m)^(Tag: \S+-\S+-)\S+$", rf"\g<1>{platform}", path.read_text("utf-8")), encoding="utf-8")


def _strip(tool: pathlib.Path | None, source: pathlib.Path, target: pathlib.Path) -> None:
    if tool is None:
        raise ToolchainError(
            "debug information cannot be removed from the library",
            expected="a program strip or llvm-strip",
            hint="install binutils",
        )
    done = subprocess.run(
        [tool, "--strip-all", "-o", target, source], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise ToolchainError(
            "debug information could not be removed from the library",
            where=source.name,
            found=done.stderr.strip() or f"exit status {done.returncode}",
            hint=f"check that {tool} works",
        )
