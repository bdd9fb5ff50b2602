"""An index of published extensions: what each wheel contains, what it was built for, and its hash.

The index is a JSON file, so that it can lie beside the wheels on any web server. Its schema, number 1::

    {
      "schema": 1,
      "extensions": {
        "layout": [
          {
            "version": "0.1.0", "file": "tritonext_layout-0.1.0-py3-none-….whl", "url": "https://…/…whl",
            "sha256": "…", "size": 103000, "tag": "py3-none-manylinux_2_28_x86_64",
            "description": "…", "requires": ["tlx>=0.1"], "dependencies": ["triton==3.9.0", "tritonext==0.1.*"],
            "triton": "3.9.0", "plugin_api": 2, "llvm_commit": "…", "compiler": "clang 23.1.4",
            "abi": {"compared": 4441, "mismatches": 0, "uncovered": 3},
            "targets": ["cuda:90"], "passes": ["layout-localize-stores"], "dialects": [], "ops": []
          }
        ]
      }
    }

``url`` is there when the index was made with a base address. Versions are sorted, the newest last. Everything but the
address is read from the wheel and checked, so two people who index the same wheels get the same file.
"""

from __future__ import annotations

import argparse
import base64
import csv
import email.parser
import hashlib
import io
import json
import pathlib
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from .errors import ExtensionError, TritonextError, UserError
from .manifest import Manifest, is_id
from .registry import MANIFEST_FILE, STAMP_FILE, Stamp

__all__ = ["SCHEMA", "build", "check", "describe", "main"]

SCHEMA = 1
"""The schema that this release writes and reads."""

# What reading a damaged archive ends in.
_DAMAGE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError)

_RECORD = {
    "version": str,
    "file": str,
    "sha256": str,
    "size": int,
    "tag": str,
    "description": str,
    "requires": list,
    "dependencies": list,
    "triton": str,
    "plugin_api": int,
    "llvm_commit": str,
    "compiler": str,
    "abi": dict,
    "targets": list,
    "passes": list,
    "dialects": list,
    "ops": list,
}


def describe(path: pathlib.Path) -> tuple[str, dict[str, Any]]:
    """Return the id of the extension in a wheel, and the wheel's record.

    Raises:
        ExtensionError: The file is no sound wheel of an extension; the message says what disagrees with what.
    """
    try:
        content = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    except _DAMAGE as error:
        raise _unsound(path, "the file cannot be read as a wheel", found=str(error)) from error
    _check_hashes(path, files)
    manifest = Manifest.from_json(_only(path, files, rf"[^/]+/{MANIFEST_FILE}"), f"{path}: {MANIFEST_FILE}")
    stamp = Stamp.from_json(_only(path, files, rf"{manifest.package}/{STAMP_FILE}"), f"{path}: {STAMP_FILE}")
    metadata = email.parser.Parser().parsestr(_text(path, files, r"[^/]+\.dist-info/METADATA"))
    tags = re.findall(r"^Tag: (\S+)$", _text(path, files, r"[^/]+\.dist-info/WHEEL"), re.MULTILINE)
    library = files.get(f"{manifest.package}/{manifest.library}")
    dependencies = metadata.get_all("Requires-Dist") or []

    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise _unsound(path, "that is no name of a wheel", found=str(error)) from error
    for what, expected, found in (
        ("name", manifest.distribution, str(name)),
        ("name in METADATA", manifest.distribution, canonicalize_name(metadata["Name"] or "")),
        ("version", manifest.version, str(version)),
        ("version in METADATA", manifest.version, str(metadata["Version"])),
        ("id in the stamp", manifest.id, stamp.id),
        ("version in the stamp", manifest.version, stamp.version),
        ("tag", path.stem.split("-", 2)[2], ",".join(tags)),
        ("library", stamp.library_sha256, hashlib.sha256(library).hexdigest() if library is not None else "none"),
        ("mismatches of layouts", 0, dict(stamp.abi)["mismatches"]),
        ("requirement of triton", f"=={stamp.triton}", _specifier(path, dependencies, "triton")),
    ):
        if expected != found:
            raise _unsound(path, f"the {what} of the wheel is not what it has to be", expected=expected, found=found)
    return manifest.id, {
        "version": manifest.version,
        "file": path.name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
        "tag": tags[0],
        "description": manifest.description,
        "requires": [str(requirement) for requirement in manifest.requires],
        "dependencies": sorted(dependencies),
        "triton": stamp.triton,
        "plugin_api": stamp.plugin_api,
        "llvm_commit": stamp.llvm_commit,
        "compiler": stamp.compiler,
        "abi": dict(stamp.abi),
        "targets": list(manifest.targets),
        "passes": [entry.flag for entry in manifest.passes],
        "dialects": [entry.name for entry in manifest.dialects],
        "ops": [entry.name for entry in manifest.ops],
    }


def build(wheels: Iterable[pathlib.Path], url: str | None = None) -> dict[str, Any]:
    """Return the index of some wheels.

    Args:
        wheels: The files.
        url: Base address of the wheels.

    Raises:
        ExtensionError: A wheel is unsound, or two of them cannot be published together.
    """
    extensions: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(wheels):
        identifier, record = describe(path)
        if url:
            record["url"] = f"{url.rstrip('/')}/{path.name}"
        extensions.setdefault(identifier, []).append(record)
    for records in extensions.values():
        records.sort(key=lambda record: Version(record["version"]))
    result = {"schema": SCHEMA, "extensions": dict(sorted(extensions.items()))}
    check(result, "the index")
    return result


def check(index: Any, where: object) -> None:
    """Check the schema of an index, and that its extensions get along.

    Raises:
        ExtensionError: A value is missing or malformed, a version is there twice, a requirement cannot be met within
            the index, or two extensions define one name.
    """

    def refuse(place: str, message: str, **fields: object) -> ExtensionError:
        return ExtensionError(message, where=f"{where}: {place}".rstrip(": "), **fields)

    found = index if isinstance(index, dict) else {}
    schema, extensions = found.get("schema"), found.get("extensions")
    if type(schema) is not int or schema != SCHEMA or not isinstance(extensions, dict):
        raise refuse("", "that is no index of extensions", expected=f'an object with "schema": {SCHEMA}, "extensions"')
    for identifier, records in extensions.items():
        if not is_id(identifier):
            raise refuse("", "that is no id of an extension", found=repr(identifier))
        if not isinstance(records, list) or not records:
            raise refuse(identifier, "an extension has no wheel", hint="remove it")
        for number, record in enumerate(records):
            place = f"{identifier}[{number}]"
            for key, kind in _RECORD.items():
                if not isinstance(record, dict) or type(record.get(key)) is not kind:
                    raise refuse(f"{place}.{key}", "a value is missing or has the wrong type", expected=kind.__name__)
                if kind is list and not all(isinstance(item, str) for item in record[key]):
                    raise refuse(f"{place}.{key}", "a value has the wrong type", expected="a list of strings")
            if not re.fullmatch(r"[0-9a-f]{64}", record["sha256"]):
                raise refuse(f"{place}.sha256", "a hash is malformed", found=record["sha256"])
            if not isinstance(record.get("url", ""), str):
                raise refuse(f"{place}.url", "a value has the wrong type", expected="str")
            if record["abi"].get("mismatches") != 0:
                raise refuse(f"{place}.abi", "the layouts of types were not found to be equal", found=record["abi"])
            try:
                Version(record["version"])
            except InvalidVersion as error:
                raise refuse(f"{place}.version", "a version is malformed", found=str(error)) from error
            name = f"tritonext_{identifier}-{record['version']}-{record['tag']}.whl"
            if record["file"] != name:
                raise refuse(f"{place}.file", "that is not the name of the wheel", expected=name, found=record["file"])
        versions = [(Version(record["version"]), record["tag"]) for record in records]
        if twice := sorted({f"{version} for {tag}" for version, tag in versions if versions.count((version, tag)) > 1}):
            raise refuse(identifier, "a version is there twice", found=", ".join(twice), hint="publish a new version")
        if [version for version, _ in versions] != sorted(version for version, _ in versions):
            raise refuse(identifier, "the versions are not in order", expected="the newest last")
    _check_requirements(extensions, refuse)
    _check_names(extensions, refuse)


def _check_requirements(extensions: Mapping[str, list[dict[str, Any]]], refuse: Any) -> None:
    for identifier, records in extensions.items():
        for record in records:
            for text in record["requires"]:
                other = re.match(r"\w*", text)[0]
                known = [candidate["version"] for candidate in extensions.get(other, ())]
                try:
                    specifier = SpecifierSet(text[len(other) :])
                except InvalidSpecifier as error:
                    place = f"{identifier} {record['version']}"
                    raise refuse(place, "a requirement is malformed", found=text) from error
                if not any(specifier.contains(version, prereleases=True) for version in known):
                    raise refuse(
                        f"{identifier} {record['version']}",
                        "the index has no version of what an extension requires",
                        expected=text,
                        found=", ".join(known) or "none",
                    )


def _check_names(extensions: Mapping[str, list[dict[str, Any]]], refuse: Any) -> None:
    for kind in ("passes", "dialects", "ops"):
        owners: dict[str, str] = {}
        for identifier, records in extensions.items():
            for name in {name for record in records for name in record[kind]}:
                if owners.setdefault(name, identifier) != identifier:
                    raise refuse(
                        identifier,
                        f"two extensions define {name}, so that no process can have both",
                        found=f"{owners[name]}, {identifier}",
                        hint="rename it in one of them",
                    )


def _check_hashes(path: pathlib.Path, files: Mapping[str, bytes]) -> None:
    """Compare every file with the wheel's RECORD."""
    record = _text(path, files, r"[^/]+\.dist-info/RECORD")
    wanted = {row[0]: row[1] if len(row) == 3 else "" for row in csv.reader(io.StringIO(record)) if row}
    if wanted.keys() != files.keys():
        raise _unsound(
            path, "RECORD lists other files than the wheel has", found=", ".join(sorted(wanted.keys() ^ files.keys()))
        )
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if wanted[name] not in (f"sha256={digest}", "") or (not wanted[name] and not name.endswith("/RECORD")):
            raise _unsound(path, f"the file {name} is not the one that RECORD describes")


def _specifier(path: pathlib.Path, dependencies: Iterable[str], name: str) -> str:
    for text in dependencies:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise _unsound(path, "a dependency is malformed", found=text) from error
        if canonicalize_name(requirement.name) == name:
            return str(requirement.specifier)
    return "none"


def _only(path: pathlib.Path, files: Mapping[str, bytes], pattern: str) -> bytes:
    names = [name for name in files if re.fullmatch(pattern, name)]
    if len(names) != 1:
        raise _unsound(
            path,
            "that is no wheel of an extension",
            expected=f"one file {pattern.replace('[^/]+', '*')}".replace("\\", ""),
            found=", ".join(names) or "none",
        )
    return files[names[0]]


def _text(path: pathlib.Path, files: Mapping[str, bytes], pattern: str) -> str:
    try:
        return _only(path, files, pattern).decode()
    except UnicodeDecodeError as error:
        raise _unsound(path, "a file of the metadata is no UTF-8", found=str(error)) from error


def _unsound(path: pathlib.Path, message: str, **fields: object) -> ExtensionError:
    return ExtensionError(message, where=path, hint="build the wheel anew with `pip wheel`", **fields)


def _wheels(paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """Return the files, and of directories the wheels of extensions in them."""
    found = []
    for path in paths:
        if path.is_dir():
            found += sorted(path.glob("tritonext_*.whl"))
        else:
            found.append(path)
    if not found:
        raise UserError("there is no wheel", expected="wheels, or directories that hold some")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tritonext index``; the exit status is 1 when a wheel or an index is refused."""
    parser = argparse.ArgumentParser(
        prog="tritonext index",
        description="Make an index of extensions from their wheels, each checked, or with --check check one.",
        epilog="examples:\n"
        "  tritonext index dist -o dist/index.json\n"
        "  tritonext index dist --url https://example.org/wheels\n"
        "  tritonext index dist --check dist/index.json\n"
        "  tritonext index --check index.json\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("wheels", nargs="*", type=pathlib.Path, help="wheels, or directories that hold some")
    parser.add_argument(
        "-o", "--output", type=pathlib.Path, help="write the index there; standard output when not given"
    )
    parser.add_argument("--url", help="base address that the wheels have")
    parser.add_argument("--check", type=pathlib.Path, metavar="INDEX", help="check an index, against wheels if given")
    options = parser.parse_args(arguments)
    if options.check:
        return _compare(options.check, options.wheels)
    text = json.dumps(build(_wheels(options.wheels), options.url), indent=2) + "\n"
    if options.output:
        options.output.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


def _compare(path: pathlib.Path, wheels: Sequence[pathlib.Path]) -> int:
    try:
        index = json.loads(path.read_text())
    except ValueError as error:
        raise UserError("the index is no JSON", where=path, found=str(error)) from error
    check(index, path)
    records = {record["file"]: (key, record) for key, found in index["extensions"].items() for record in found}
    problems = []
    for wheel in _wheels(wheels) if wheels else ():
        try:
            identifier, record = describe(wheel)
        except TritonextError as error:
            problems.append(str(error))
            continue
        known, listed = records.get(wheel.name, (None, {}))
        differs = [key for key in _RECORD if listed.get(key) != record[key]]
        if known is None:
            problems.append(f"{wheel.name}: not in the index")
        elif known != identifier or differs:
            problems.append(f"{wheel.name}: the index has another {', '.join(differs) or 'id'}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"{len(records)} wheels of {len(index['extensions'])} extensions: {len(problems) or 'no'} problems")
    return int(bool(problems))
