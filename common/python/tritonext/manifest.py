"""The manifest of an extension: ``[tool.tritonext]`` in its ``pyproject.toml``, and its copy inside an installed wheel.

The manifest is the only place that says what an extension contains. The build generates the plugin table from it, the
wheel carries it as ``_manifest.json``, and the registry, loader, pipelines and documentation read it back. This module
uses the standard library only, because it also runs in builds where neither Triton nor the extension exists yet.
"""

from __future__ import annotations

import difflib
import json
import os
import pathlib
import re
import tomllib
from dataclasses import dataclass

from .errors import ManifestError

__all__ = [
    "BACKENDS",
    "ENTRY_POINT_GROUP",
    "SCHEMA",
    "STAGES",
    "DialectEntry",
    "Manifest",
    "OpEntry",
    "PassEntry",
    "Requirement",
    "is_id",
    "load",
    "snake_case",
]

SCHEMA = 1
"""The newest manifest schema this release reads."""

ENTRY_POINT_GROUP = "tritonext.extensions"

STAGES = ("ttir", "ttgir", "llir")
"""The stages of both backends that run MLIR passes."""

BACKENDS = ("cuda", "hip")

_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_PASS_DEF = re.compile(r"([A-Z][a-z0-9]*)+Pass")
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LANGUAGE = re.compile("triton|gluon")
_ANCHOR = re.compile(r"[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+(#(-?[1-9][0-9]*))?")
_TARGET = re.compile(r"cuda:[1-9][0-9]+|hip:gfx[0-9a-f]+")
_CXX_NAME = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", re.ASCII)
_HEADER = re.compile(r"[\w./-]+\.h(\.inc)?", re.ASCII)
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9.]+)?")
_CLAUSE = r"(===|==|!=|<=|>=|~=|<|>)\s*[0-9][0-9A-Za-z.*+!]*"
_REQUIREMENT = re.compile(rf"(?P<id>{_ID.pattern})\s*(?P<specifier>{_CLAUSE}(\s*,\s*{_CLAUSE})*)?")
_DEPENDENCY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# An id is also a C++ namespace within `tritonext`, and these lower-case words cannot be one: keywords, a macro, and
# namespaces that the sources of an extension then could not name any more.
_RESERVED_IDS = frozenset(
    re.findall(
        r"\w+",
        """
        alignas alignof and asm auto bool break case catch char class concept const constexpr continue decltype default
        delete do double else enum explicit export extern false float for friend goto if inline int long mutable
        namespace new noexcept not nullptr operator or private protected public register requires return short signed
        sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual
        void volatile while xor
        errno llvm mlir std triton tritonext
        """,
    )
)


@dataclass(frozen=True)
class Requirement:
    """Another extension that must be loaded first: its id and a version specifier, empty when any version does."""

    id: str
    specifier: str = ""

    def __str__(self) -> str:
        return self.id + self.specifier


@dataclass(frozen=True)
class PassEntry:
    """One pass of an extension.

    Attributes:
        extension: Id of the extension the pass belongs to.
        definition: Name of the TableGen def, ``<Verb><Object>Pass``.
        stage: Pipeline stage the pass is written for.
        position: ``"before"`` or ``"after"`` the anchor; None when the pass has no place in the default pipeline.
        anchors: Pairs of backend and anchor; a backend that is absent does not run the pass by default.
        idempotent: Whether a second run changes nothing.
        languages: Front ends, ``triton`` and ``gluon``, in whose kernels the pass runs by default.
    """

    extension: str
    definition: str
    stage: str
    position: str | None
    anchors: tuple[tuple[str, str], ...]
    idempotent: bool
    languages: tuple[str, ...] = ("triton",)

    def anchor(self, backend: str) -> str | None:
        """Return the default anchor on ``backend``, or None when the pass does not run there by default."""
        return dict(self.anchors).get(backend)

    @property
    def stem(self) -> str:
        """``LocalizeStores`` for the def ``LocalizeStoresPass``: the name of its file and in its C++ factory."""
        return self.definition.removesuffix("Pass")

    @property
    def snake(self) -> str:
        """``localize_stores``: the stem in the form used by test names."""
        return snake_case(self.stem)

    @property
    def flag(self) -> str:
        """``layout-localize-stores``: the name of the pass in MLIR and its debug type."""
        return self.name.replace("_", "-")

    @property
    def name(self) -> str:
        """``layout_localize_stores``: the name of the pass in the plugin table and in pipelines."""
        return f"{self.extension}_{self.snake}"

    @property
    def factory(self) -> str:
        """``tritonext::layout::createLocalizeStoresPass``: the function TableGen generates."""
        return f"tritonext::{self.extension}::create{self.definition}"


@dataclass(frozen=True)
class DialectEntry:
    """One dialect of an extension: its mnemonic, C++ class and the header that declares the class."""

    name: str
    cxx_class: str
    header: str


@dataclass(frozen=True)
class OpEntry:
    """One op builder of an extension, bound as ``builder.create_<name>``; ``function`` is declared in ``header``."""

    name: str
    function: str
    header: str


@dataclass(frozen=True)
class Manifest:
    """What one extension contains and needs. Build it with :func:`load` or :meth:`from_json`, which validate."""

    schema: int
    id: str
    version: str
    description: str
    requires: tuple[Requirement, ...] = ()
    targets: tuple[str, ...] = ()
    passes: tuple[PassEntry, ...] = ()
    dialects: tuple[DialectEntry, ...] = ()
    ops: tuple[OpEntry, ...] = ()

    @property
    def distribution(self) -> str:
        """``tritonext-layout``."""
        return _distribution(self.id)

    @property
    def package(self) -> str:
        """``tritonext_layout``."""
        return f"tritonext_{self.id}"

    @property
    def library(self) -> str:
        """``libtritonext_layout.so``."""
        return f"lib{self.package}.so"

    @property
    def namespace(self) -> str:
        """``tritonext::layout``."""
        return f"tritonext::{self.id}"

    def to_json(self) -> str:
        """Return the text of ``_manifest.json``, which :meth:`from_json` reads back to an equal manifest."""
        data = {
            "schema": self.schema,
            "id": self.id,
            "version": self.version,
            "description": self.description,
            "requires": [str(requirement) for requirement in self.requires],
            "targets": list(self.targets),
            "passes": [_pass_to_data(entry) for entry in self.passes],
            "dialects": [{"name": e.name, "class": e.cxx_class, "header": e.header} for e in self.dialects],
            "ops": [{"name": e.name, "function": e.function, "header": e.header} for e in self.ops],
        }
        return json.dumps(data, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, where: object = "_manifest.json") -> Manifest:
        """Read the text of a ``_manifest.json``.

        Args:
            text: The file's content.
            where: The file, for error messages.

        Raises:
            ManifestError: The text is no JSON object or breaks the schema.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError(
                "the manifest is not valid JSON", where=where, found=str(error), hint="reinstall the extension"
            ) from error
        table = _Table(data, where, "")
        _check_schema(table)
        version = table.string("version", _VERSION, "a version such as 0.1.0")
        return _parse(table, version, table.string("description"))


def load(path: str | os.PathLike[str]) -> Manifest:
    """Read and validate the manifest in a ``pyproject.toml``.

    Args:
        path: The file, or the directory that holds it.

    Raises:
        ManifestError: The file cannot be read, is no TOML, has no manifest, breaks the schema, or its ``[project]``
            table disagrees with the id. The message names the file and the key.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        path /= "pyproject.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(
            "the manifest cannot be read", where=path, found=error.strerror, hint="give the path of a pyproject.toml"
        ) from error
    except ValueError as error:
        raise ManifestError("the file is not valid TOML", where=path, found=str(error)) from error
    tool = data.get("tool", {})
    if not isinstance(tool, dict) or "tritonext" not in tool:
        raise ManifestError(
            "the file has no manifest",
            where=path,
            expected="a table [tool.tritonext]",
            hint=f"add it with at least `schema = {SCHEMA}` and `id`",
        )
    table = _Table(tool["tritonext"], path, "tool.tritonext")
    _check_schema(table)
    project = _Table(data.get("project", {}), path, "project")
    version = project.string("version", _VERSION, "a literal version such as 0.1.0")
    manifest = _parse(table, version, project.string("description"))
    _check_project(manifest, project)
    return manifest


def is_id(text: str) -> bool:
    """Say whether ``text`` can be the id of an extension: lower snake case, and no word that C++ needs otherwise."""
    return bool(_ID.fullmatch(text)) and text not in _RESERVED_IDS


def snake_case(name: str) -> str:
    """Return a name in camel case in the form that passes have in tables and test names: ``fold_abi`` for FoldABI."""
    return _WORD_BOUNDARY.sub("_", name).lower()


def _pass_to_data(entry: PassEntry) -> dict[str, object]:
    data: dict[str, object] = {"def": entry.definition, "stage": entry.stage, "idempotent": entry.idempotent}
    if entry.position:
        data[entry.position] = dict(entry.anchors)
    if entry.languages != ("triton",):
        data["languages"] = list(entry.languages)
    return data


def _distribution(identifier: str) -> str:
    return "tritonext-" + identifier.replace("_", "-")


class _Table:
    """A table of the manifest that knows its file and key, so that every complaint can name both."""

    def __init__(self, data: object, where: object, key: str) -> None:
        self.where = where
        self.key = key
        if not isinstance(data, dict):
            raise self.error("", "expected a table", expected="a table", found=_kind(data))
        self.data = data
        self.used: set[str] = set()

    def error(self, key: str, message: str, **fields: object) -> ManifestError:
        """Return the error to raise about ``key`` of this table."""
        return ManifestError(message, where=f"{self.where}: {self.path(key)}".rstrip(": "), **fields)

    def path(self, key: str) -> str:
        """Return the dotted path of ``key`` from the root of the file."""
        return ".".join(part for part in (self.key, key) if part)

    def get(self, key: str, kind: type, noun: str, default: object = None) -> object:
        """Return the value of ``key``, checked to be a ``kind``; ``default`` when absent, unless that is None."""
        self.used.add(key)
        if key not in self.data:
            if default is None:
                # A misspelt key is the likely reason that a required one is absent, so both are shown.
                others = [name for name in self.data if name not in self.used]
                near = difflib.get_close_matches(key, others, 1)
                hint = f"rename `{near[0]}` to `{key}`" if near else None
                raise self.error(key, "a required key is missing", expected=noun, hint=hint)
            return default
        value = self.data[key]
        # bool is a subclass of int, and `schema = true` must not pass for a number.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, "a key has the wrong type", expected=noun, found=_kind(value))
        return value

    def string(self, key: str, pattern: re.Pattern[str] | None = None, noun: str = "a string") -> str:
        """Return the non-empty string at ``key``, which must match ``pattern`` as a whole."""
        value = self.get(key, str, noun)
        assert isinstance(value, str)
        if not value.strip() or (pattern and not pattern.fullmatch(value)):
            raise self.error(key, "a key has a malformed value", expected=noun, found=repr(value))
        return value

    def strings(self, key: str, pattern: re.Pattern[str], noun: str) -> tuple[str, ...]:
        """Return the list of distinct strings at ``key``, each matching ``pattern``; empty when absent."""
        values = self.get(key, list, f"a list of {noun}", [])
        assert isinstance(values, list)
        for index, value in enumerate(values):
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise self.error(f"{key}[{index}]", "a key has a malformed value", expected=noun, found=repr(value))
        self._check_distinct(key, values)
        return tuple(values)

    def choice(self, key: str, values: tuple[str, ...]) -> str:
        """Return the string at ``key``, which must be one of ``values``."""
        value = self.get(key, str, "one of " + ", ".join(values))
        assert isinstance(value, str)
        if value not in values:
            raise self.error(
                key, "a key has an unknown value", expected="one of " + ", ".join(values), found=repr(value)
            )
        return value

    def tables(self, key: str) -> list[_Table]:
        """Return the array of tables at ``key``; empty when absent."""
        values = self.get(key, list, "an array of tables", [])
        assert isinstance(values, list)
        return [_Table(value, self.where, self.path(f"{key}[{index}]")) for index, value in enumerate(values)]

    def close(self) -> None:
        """Refuse keys that nothing asked for."""
        for key in self.data:
            if key not in self.used:
                near = difflib.get_close_matches(key, sorted(self.used), 1)
                hint = f"did you mean `{near[0]}`" if near else "remove it"
                raise self.error(key, "unknown key", expected="one of " + ", ".join(sorted(self.used)), hint=hint)

    def _check_distinct(self, key: str, values: list[str]) -> None:
        for index, value in enumerate(values):
            if value in values[:index]:
                raise self.error(f"{key}[{index}]", "a value is listed twice", found=repr(value), hint="remove one")


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)


def _check_schema(table: _Table) -> None:
    """Check the schema number before anything else, since a newer one may have any other content."""
    schema = table.get("schema", int, f"the integer {SCHEMA}")
    assert isinstance(schema, int)
    if schema > SCHEMA:
        raise table.error(
            "schema",
            "the manifest is written for a newer tritonext",
            expected=f"schema {SCHEMA} or older",
            found=f"schema {schema}",
            hint="upgrade with `pip install --upgrade dist/tritonext-*.whl`",
        )
    if schema < 1:
        raise table.error("schema", "a key has a malformed value", expected=f"the integer {SCHEMA}", found=schema)


def _parse(table: _Table, version: str, description: str) -> Manifest:
    noun = "a lower_snake id such as loop_split, and no word that C++ needs otherwise"
    identifier = table.string("id", _ID, noun)
    if not is_id(identifier):
        raise table.error("id", "a key has a malformed value", expected=noun, found=repr(identifier))
    passes = tuple(_parse_pass(entry, identifier) for entry in table.tables("passes"))
    dialects = tuple(_parse_dialect(entry, identifier) for entry in table.tables("dialects"))
    ops = tuple(_parse_op(entry, identifier) for entry in table.tables("ops"))
    if len(dialects) > 1:
        # TableGen is told by the dialect which of the definitions it reads are the extension's own.
        raise table.error(
            "dialects[1]",
            "an extension has one dialect at most",
            expected="one table",
            found=", ".join(entry.name for entry in dialects),
            hint="move the second one into an extension of its own",
        )
    for key, names in (("passes", [entry.name for entry in passes]), ("ops", [entry.name for entry in ops])):
        for index, name in enumerate(names):
            if name in names[:index]:
                raise table.error(
                    f"{key}[{index}]", "two entries have the same name", found=name, hint="rename or remove one"
                )
    manifest = Manifest(
        schema=SCHEMA,
        id=identifier,
        version=version,
        description=description,
        requires=_parse_requires(table, identifier),
        targets=table.strings("targets", _TARGET, "a target such as cuda:90 or hip:gfx942"),
        passes=passes,
        dialects=dialects,
        ops=ops,
    )
    table.close()
    return manifest


def _parse_requires(table: _Table, identifier: str) -> tuple[Requirement, ...]:
    requires = []
    for index, text in enumerate(
        table.strings("requires", _REQUIREMENT, "an extension id with an optional version, such as tlx>=0.1")
    ):
        match = _REQUIREMENT.fullmatch(text)
        assert match
        requirement = Requirement(match["id"], re.sub(r"\s+", "", match["specifier"] or ""))
        if requirement.id == identifier:
            raise table.error(f"requires[{index}]", "an extension cannot require itself", found=text)
        if requirement.id in (other.id for other in requires):
            raise table.error(f"requires[{index}]", "a value is listed twice", found=text, hint="merge the versions")
        requires.append(requirement)
    return tuple(requires)


def _parse_pass(table: _Table, identifier: str) -> PassEntry:
    definition = table.string("def", _PASS_DEF, "the name of a TableGen def, <Verb><Object>Pass")
    stage = table.choice("stage", STAGES)
    positions = [position for position in ("before", "after") if position in table.data]
    table.used.update(("before", "after"))
    if len(positions) == 2:
        raise table.error("after", "a pass has one default place", expected="before or after", found="both")
    anchors = _parse_anchors(table, positions[0]) if positions else {}
    idempotent = table.get("idempotent", bool, "a boolean", False)
    languages = table.strings("languages", _LANGUAGE, "triton or gluon")
    table.close()
    return PassEntry(
        extension=identifier,
        definition=definition,
        stage=stage,
        position=positions[0] if positions else None,
        anchors=tuple(anchors.items()),
        idempotent=bool(idempotent),
        languages=languages or ("triton",),
    )


def _parse_anchors(table: _Table, key: str) -> dict[str, str]:
    noun = "an anchor such as ttgpuir.coalesce#1: name, then # and a 1-based or negative occurrence if it repeats"
    value = table.data[key]
    if isinstance(value, str):
        anchor = table.string(key, _ANCHOR, noun)
        return dict.fromkeys(BACKENDS, anchor)
    if not isinstance(value, dict):
        raise table.error(
            key, "a key has the wrong type", expected="a string, or a table per backend", found=_kind(value)
        )
    anchors = _Table(value, table.where, table.path(key))
    parsed = {backend: anchors.string(backend, _ANCHOR, noun) for backend in BACKENDS if backend in value}
    anchors.used.update(BACKENDS)
    anchors.close()
    if not parsed:
        raise table.error(key, "a table of anchors is empty", expected="an anchor for cuda, hip or both")
    return parsed


def _parse_dialect(table: _Table, identifier: str) -> DialectEntry:
    name = table.string("name", _ID, "a lower_snake dialect mnemonic")
    cxx_class = _cxx_name(table, "class", identifier)
    header = _header(table, identifier)
    table.close()
    return DialectEntry(name, cxx_class, header)


def _parse_op(table: _Table, identifier: str) -> OpEntry:
    name = table.string("name", _ID, f"a lower_snake name starting with {identifier}_")
    if not name.startswith(identifier + "_"):
        raise table.error(
            "name",
            "the name of an op must start with the id of its extension",
            expected=f"a name starting with {identifier}_",
            found=name,
            hint="all extensions share one builder, so an unprefixed name can clash",
        )
    function = _cxx_name(table, "function", identifier)
    header = _header(table, identifier)
    table.close()
    return OpEntry(name, function, header)


def _cxx_name(table: _Table, key: str, identifier: str) -> str:
    noun = f"a qualified name in the namespace tritonext::{identifier}"
    name = table.string(key, _CXX_NAME, noun)
    if not name.startswith(f"tritonext::{identifier}::"):
        raise table.error(key, "a key has a malformed value", expected=noun, found=repr(name))
    return name


def _header(table: _Table, identifier: str) -> str:
    noun = f"a header of the extension, tritonext_{identifier}/….h"
    header = table.string("header", _HEADER, noun)
    if not header.startswith(f"tritonext_{identifier}/") or ".." in header.split("/"):
        raise table.error("header", "a key has a malformed value", expected=noun, found=repr(header))
    return header


def _check_project(manifest: Manifest, project: _Table) -> None:
    """Check the names that packaging derives from ``[project]`` against the id."""
    name = project.string("name")
    if re.sub(r"[-_.]+", "-", name).lower() != manifest.distribution:
        raise project.error(
            "name", "the distribution name disagrees with the id", expected=manifest.distribution, found=name
        )
    groups = _Table(project.get("entry-points", dict, "a table", {}), project.where, "project.entry-points")
    group = _Table(groups.data.get(ENTRY_POINT_GROUP, {}), project.where, f'{groups.key}."{ENTRY_POINT_GROUP}"')
    if group.data != {manifest.id: manifest.package}:
        raise group.error(
            "",
            "the entry point disagrees with the id",
            expected=f'{manifest.id} = "{manifest.package}"',
            found=", ".join(f"{key} = {json.dumps(value)}" for key, value in group.data.items()) or "none",
        )
    dependencies = project.get("dependencies", list, "a list of requirements", [])
    assert isinstance(dependencies, list)
    names = set()
    for dependency in dependencies:
        match = _DEPENDENCY_NAME.match(dependency) if isinstance(dependency, str) else None
        if match:
            names.add(re.sub(r"[-_.]+", "-", match[0]).lower())
    for requirement in manifest.requires:
        if _distribution(requirement.id) not in names:
            raise project.error(
                "dependencies",
                "a required extension is not a dependency, so pip would not install it",
                expected=f'"{_distribution(requirement.id)}{requirement.specifier}"',
                found=", ".join(sorted(names)) or "none",
            )
