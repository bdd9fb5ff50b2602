"""New extensions, and new passes and ops in one, from the template in ``templates/extension``.

Everything is rendered into a directory of its own first. What the user named appears there whole, or not at all.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import keyword
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import manifest as manifests
from . import registry, versions
from .build.paths import sdk_root
from .errors import InternalError, ManifestError, OptionError, UserError
from .manifest import Manifest

__all__ = ["KINDS", "LICENSES", "create", "create_op", "create_pass", "render", "template_dir"]

KINDS = {
    "pass": "a pass over the IR of kernels",
    "dialect": "a dialect with an op, a pass that finds it in kernels and one that lowers it",
    "op": "an op that kernels call, with its dialect and lowering",
    "backend": "a hook that changes what a stage of the backend makes",
    "profiler": "a hook that marks kernels for a profiler and times their compilation",
}
"""What an extension can start from."""

LICENSES = ("MIT", "Apache-2.0", "BSD-3-Clause")

_DESCRIPTION = "Compiler extension for stock Triton"
_PASS_NAME = re.compile(r"[A-Z][a-z0-9]*([A-Z][a-z0-9]*)+")
_OP_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# Of a text that stands in TOML, in C++ and in Python strings.
_PLAIN = re.compile(r'[^"\\{}\x00-\x1f\x7f]+')
# Longer ones do not fit into a line of the generated files.
_LONGEST_ID = 24
_LONGEST_DESCRIPTION = 100
_LINE = 120


def template_dir() -> pathlib.Path:
    """Return the directory of the cookiecutter template of extensions."""
    root = sdk_root()
    inside = root / "templates" / "extension"
    return inside if inside.is_dir() else root.parent / "templates" / "extension"


def render(out: pathlib.Path, identifier: str, kinds: Sequence[str], **answers: Any) -> pathlib.Path:
    """Render the template.

    Args:
        out: An existing directory, in which the extension's is made.
        identifier: Id of the extension.
        kinds: Some of :data:`KINDS`.
        answers: Other variables of the template's ``cookiecutter.json``.

    Returns:
        The directory of the extension.

    Raises:
        UserError: cookiecutter is not installed.
        InternalError: The template cannot be rendered.
    """
    try:
        from cookiecutter.exceptions import CookiecutterException
        from cookiecutter.main import cookiecutter
    except ImportError as error:
        raise UserError(
            "cookiecutter is not installed, which renders the template of extensions",
            expected="cookiecutter 2",
            found=str(error),
            hint="install the SDK with what develops an extension: "
            '`wheel=$(ls dist/tritonext-*.whl); pip install "$wheel[build,develop]"`',
        ) from error
    pins = versions.load()
    context = {
        "id": identifier,
        "__triton": pins["triton"]["version"],
        "__series": ".".join(pins["tritonext"]["version"].split(".")[:2]),
        **{f"with_{kind}": kind in kinds for kind in KINDS},
        **answers,
    }
    with tempfile.TemporaryDirectory(prefix="tritonext-") as scratch:
        # Without a configuration of its own it reads the user's, and keeps the answers in the home directory.
        config = pathlib.Path(scratch, "config.yaml")
        config.write_text(f'cookiecutters_dir: "{scratch}/templates"\nreplay_dir: "{scratch}/replay"\n')
        # pip compiles what looks like Python in a wheel, and the template is to have its own files alone.
        template = shutil.copytree(
            template_dir(), pathlib.Path(scratch, "template"), ignore=shutil.ignore_patterns("__pycache__")
        )
        try:
            made = cookiecutter(
                str(template),
                no_input=True,
                extra_context=context,
                output_dir=str(out),
                config_file=str(config),
            )
        except CookiecutterException as error:
            raise InternalError(
                "the template of extensions cannot be rendered", where=template_dir(), found=str(error)
            ) from error
    return pathlib.Path(made)


def create(
    identifier: str,
    kinds: Sequence[str],
    target: pathlib.Path | None = None,
    *,
    in_tree: bool = False,
    description: str = _DESCRIPTION,
    author: str = "",
    license: str = LICENSES[0],
    pass_name: str | None = None,
    op_name: str | None = None,
) -> pathlib.Path:
    """Make a new extension.

    Args:
        identifier: Its id.
        kinds: What it starts from, some of :data:`KINDS`.
        target: Its directory, which must be absent or empty; ``tritonext-<id>`` below the current one when None.
        in_tree: Whether it becomes a directory ``extensions/<id>`` of the tritonext repository that the current
            directory is in.
        description: What it does, in one line.
        author: Who holds the copyright; the authors of the extension when empty.
        license: One of :data:`LICENSES`.
        pass_name: Name of the pass of kind ``pass``, ``<Verb><Object>``; the template's when None.
        op_name: Name of the op of the kinds ``op`` and ``dialect``, in snake case; the template's when None.

    Returns:
        Its directory.

    Raises:
        OptionError: An answer is missing or cannot be used.
        UserError: The name is taken, the directory is not empty, or cookiecutter is not installed.
    """
    _check_answers(identifier, kinds, description, author, license)
    names: dict[str, str] = {}
    if pass_name is not None:
        _check_named(pass_name, "pass", {"pass"}, kinds)
        names |= _named_pass(pass_name)
    if op_name is not None:
        _check_named(op_name, "op", {"op", "dialect"}, kinds)
        names |= _named_op(op_name)
    names = _names(kinds, names)
    if in_tree:
        if target is not None:
            raise OptionError("an extension of the tree has its place there", found=f"--output {target}")
        target = _tree() / "extensions" / identifier
    else:
        target = (target or pathlib.Path(f"tritonext-{identifier.replace('_', '-')}")).absolute()
    _check_target(target)
    _check_taken(identifier, "dialect" in kinds or "op" in kinds)
    with _beside(target) as scratch:
        answers = {"description": description, "author": author, "license": license, "standalone": not in_tree}
        answers |= names
        made = render(scratch, identifier, kinds, **answers)
        manifest = manifests.load(made)
        _check_alias(manifest, (path.read_text(encoding="utf-8") for path in made.rglob("*.py")))
        if "op" in kinds:
            modules = {
                path.stem: path.read_text(encoding="utf-8") for path in made.glob(f"python/{manifest.package}/*.py")
            }
            _check_exported(names["__op"], modules, modules["ops"], modules["__init__"])
        if in_tree:
            # Its wheel brings the license of the repository.
            (made / "LICENSE").symlink_to("../../LICENSE")
        if target.is_dir():
            # It may be where the shell is, and so is kept.
            for child in made.iterdir():
                child.replace(target / child.name)
        else:
            made.replace(target)
    return target


def create_pass(name: str, directory: pathlib.Path) -> list[pathlib.Path]:
    """Add a pass that works, with its tests, to the extension in ``directory``.

    Args:
        name: Its name, ``<Verb><Object>``.
        directory: Where the extension's ``pyproject.toml`` is.

    Returns:
        The files that were made or changed, relative to ``directory``.

    Raises:
        OptionError: The name cannot be used.
        ManifestError: There is no extension in ``directory``.
        UserError: The name is taken, or a file is in the way.
    """
    manifest = manifests.load(directory)
    answers = {"standalone": False, **_names(["pass"], _named_pass(name))}
    name, snake = answers["__pass"], answers["__pass_snake"]
    _check_new_pass(manifest, f"{name}Pass")
    with tempfile.TemporaryDirectory(prefix="tritonext-") as scratch:
        made = render(pathlib.Path(scratch), manifest.id, ["pass"], **answers)
        edit = _Edit(directory, made, manifest)
        edit.add(f"lib/Transforms/{name}.cpp", f"tests/python/test_{snake}.py")
        edit.add(f"tests/lit/{snake}.mlir", f"tests/lit/{snake}_invalid.mlir")
        edit.add_missing("tests/lit/lit.cfg.py", "tests/python/conftest.py")
        edit.define_passes()
        edit.append_manifest()
        return edit.commit()


def create_op(name: str, directory: pathlib.Path) -> list[pathlib.Path]:
    """Add an op that kernels call, with its lowering and tests, to the extension in ``directory``.

    Args:
        name: Its name, in snake case.
        directory: Where the extension's ``pyproject.toml`` is.

    Returns:
        The files that were made or changed, relative to ``directory``.

    Raises:
        OptionError: The name cannot be used.
        ManifestError: There is no extension in ``directory``.
        UserError: The name is taken, a file is in the way, or the extension is laid out in another way.
    """
    manifest = manifests.load(directory)
    answers = {"standalone": False, **_names(["op"], _named_op(name))}
    stem = answers["__op_stem"]
    if f"{manifest.id}_{name}" in [entry.name for entry in manifest.ops]:
        raise UserError(
            f"the extension {manifest.id!r} has an op {name!r}", where=directory, hint="choose another name"
        )
    _check_new_pass(manifest, f"Lower{stem}Pass")
    if [entry.name for entry in manifest.dialects] not in ([], [manifest.id]):
        raise UserError(
            "the dialect is laid out in another way than the template's",
            where=directory / "pyproject.toml",
            expected=f"a dialect {manifest.id}",
            found=manifest.dialects[0].name,
        )
    with tempfile.TemporaryDirectory(prefix="tritonext-") as scratch:
        made = render(pathlib.Path(scratch), manifest.id, ["op"], **answers)
        edit = _Edit(directory, made, manifest)
        edit.add(f"lib/Transforms/Lower{stem}.cpp", f"tests/python/test_{name}.py")
        edit.add(f"tests/lit/lower_{name}.mlir", f"tests/lit/lower_{name}_invalid.mlir")
        edit.add_missing("tests/lit/lit.cfg.py", "tests/python/conftest.py")
        edit.define_passes()
        edit.define_op()
        edit.export(name)
        _check_alias(manifest, [edit.texts[f"tests/python/test_{name}.py"]])
        edit.append_manifest(*(["dialects"] if manifest.dialects else []))
        return edit.commit()


class _Edit:
    """Changes to the files of an extension, all written together.

    Args:
        directory: The extension.
        made: An extension of the same id that holds nothing but what is to be added.
        manifest: The manifest of the extension.
    """

    def __init__(self, directory: pathlib.Path, made: pathlib.Path, manifest: Manifest) -> None:
        self.directory = directory
        self.made = made
        self.manifest = manifest
        self.include = f"include/{manifest.package}"
        self.package = f"python/{manifest.package}"
        self.texts: dict[str, str] = {}
        self.newlines: dict[str, str] = {}

    def exists(self, name: str) -> bool:
        return (self.directory / name).exists()

    def add(self, *names: str) -> None:
        """Take new files over, which must not exist."""
        for name in names:
            if self.exists(name):
                raise UserError("a file is in the way", where=self.directory / name, hint="move it, or choose a name")
            self.texts[name] = self.rendered(name)

    def rendered(self, name: str) -> str:
        return (self.made / name).read_text(encoding="utf-8")

    def add_missing(self, *names: str) -> None:
        """Take files over that do not exist."""
        self.add(*(name for name in names if not self.exists(name)))

    def read(self, name: str) -> str:
        """Return the text of a file of the extension, whose lines will keep their ends."""
        path = self.directory / name
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError("a file is no text", where=path, expected="UTF-8", found=str(error)) from error
        self.newlines[name] = "\r\n" if "\r\n" in text else "\n"
        return text.replace("\r\n", "\n")

    def insert(self, name: str, before: str, text: str) -> None:
        """Put ``text`` before the last line of a file that starts with ``before``."""
        found = self.read(name)
        place = found.rfind(f"\n{before}")
        if place < 0:
            raise UserError(
                "a file is laid out in another way than the template's",
                where=self.directory / name,
                expected=f"a line that starts with {before}",
            )
        self.texts[name] = f"{found[:place].rstrip()}\n\n{text.strip()}\n{found[place:]}"

    def definition(self, name: str) -> str:
        """Return the definitions of a TableGen file of ``made``."""
        text = self.rendered(name)
        return text[text.index("\ndef ") : text.rindex("\n#endif")]

    def define_passes(self) -> None:
        name = f"{self.include}/Transforms/Passes.td"
        if self.exists(name):
            self.insert(name, "#endif", self.definition(name))
        else:
            self.add(name)
        self.add_missing(f"{self.include}/Transforms/Passes.h")

    def define_op(self) -> None:
        dialect, ops, header = (f"{self.include}/IR/{name}" for name in ("Dialect.td", "Ops.td", "Builders.h"))
        builders = "lib/IR/Builders.cpp"
        if not self.exists(dialect):
            self.add(dialect, ops, f"{self.include}/IR/Dialect.h", "lib/IR/Dialect.cpp")
        else:
            names = re.findall(r"^def (\w+) : Dialect\b", self.read(dialect), re.MULTILINE)
            if len(names) != 1 or not self.exists(ops):
                raise UserError(
                    "the dialect is laid out in another way than the template's",
                    where=self.directory / dialect,
                    expected="one `def … : Dialect`, and Ops.td beside it",
                )
            text = re.sub(r"\bdef (\w+?)_(\w+Op) : Op<\w+", rf"def \1_\2 : Op<{names[0]}", self.definition(ops))
            self.insert(ops, "#endif", text)
        if not self.exists(header):
            self.add(header)
        else:
            [declaration] = re.findall(r"^void [^;]+;", self.rendered(header), re.MULTILINE)
            self.insert(header, "} // namespace", declaration)
        if not self.exists(builders):
            self.add(builders)
        else:
            made = self.rendered(builders)
            self.texts[builders] = f"{self.read(builders).rstrip()}\n\n{made[made.index('void ') :]}"

    def export(self, name: str) -> None:
        """Add the Python function of an op and make the package export it."""
        ops, package = f"{self.package}/ops.py", f"{self.package}/__init__.py"
        if not self.exists(ops):
            self.add(ops)
        else:
            made = self.rendered(ops)
            found = self.read(ops)
            for line in re.findall(r"^(?:import|from) (?!__future__).*$", made, re.MULTILINE):
                if line not in found:
                    raise UserError(
                        "the module of ops is laid out in another way than the template's",
                        where=self.directory / ops,
                        expected=f"a line `{line}`",
                    )
            found = _extend_all(found, name, self.directory / ops)
            self.texts[ops] = f"{found.rstrip()}\n\n\n{made[made.index('@language') :]}"
        text = self.read(package)
        lines = text.split("\n")
        body = _parsed(text, self.directory / package).body
        relative = [node for node in body if isinstance(node, ast.ImportFrom) and node.level == 1]
        imported = [node for node in relative if node.module == "ops"]
        if len(imported) > 1 or any(alias.asname or alias.name == "*" for node in imported for alias in node.names):
            raise UserError(
                "the package is laid out in another way than the template's",
                where=self.directory / package,
                expected="one line `from .ops import`, of names that are not renamed",
            )
        if imported:
            [node] = imported
            names = sorted({*(alias.name for alias in node.names), name})
            lines[node.lineno - 1 : node.end_lineno] = _folded(
                f"from .ops import {', '.join(names)}", "from .ops import (", names, ")"
            )
        elif relative:
            # In their order, which is that of their names.
            later = [node.lineno - 1 for node in relative if (node.module or "") > "ops"]
            lines.insert(later[0] if later else relative[-1].end_lineno, f"from .ops import {name}")
        elif "import tritonext" in lines:
            at = lines.index("import tritonext") + 1
            lines[at:at] = ["", f"from .ops import {name}"]
        else:
            raise UserError(
                "the package is laid out in another way than the template's",
                where=self.directory / package,
                expected="a line `import tritonext`",
            )
        self.texts[package] = _extend_all("\n".join(lines), name, self.directory / package)
        modules = [path.stem for path in (self.directory / self.package).glob("*.py")]
        _check_exported(name, modules, self.texts[ops], self.texts[package])

    def append_manifest(self, *skipped: str) -> None:
        """Append the entries of the manifest of ``made``, but for those of the arrays that are named."""
        made = self.rendered("pyproject.toml")
        entries = re.split(r"(?m)^(?=\[\[tool\.tritonext\.)", made)[1:]
        kept = [
            entry for entry in entries if not entry.startswith(tuple(f"[[tool.tritonext.{key}]]" for key in skipped))
        ]
        self.texts["pyproject.toml"] = "\n".join([self.read("pyproject.toml"), "".join(kept).rstrip() + "\n"])

    def commit(self) -> list[pathlib.Path]:
        """Check the manifest that comes out, and write every file, or where that fails none."""
        text = self.texts["pyproject.toml"]
        try:
            tomllib.loads(text)
        except ValueError as error:
            raise UserError(
                "the manifest is laid out in another way than the template's",
                where=self.directory / "pyproject.toml",
                expected="for each pass and op a table `[[tool.tritonext.passes]]` or `[[tool.tritonext.ops]]`",
                found=str(error),
            ) from error
        with tempfile.TemporaryDirectory(prefix="tritonext-") as scratch:
            pathlib.Path(scratch, "pyproject.toml").write_text(text, encoding="utf-8")
            try:
                manifests.load(scratch)
            except ManifestError as error:
                error.where = str(error.where).replace(scratch, str(self.directory))
                raise
        written: list[tuple[pathlib.Path, bytes | None]] = []
        made: list[pathlib.Path] = []
        try:
            for name, text in self.texts.items():
                path = self.directory / name
                for parent in reversed([parent for parent in path.parents if not parent.exists()]):
                    parent.mkdir()
                    made.append(parent)
                written.append((path, path.read_bytes() if path.exists() else None))
                # In place: a file may be a link, and keeps its mode.
                path.write_bytes(text.replace("\n", self.newlines.get(name, "\n")).encode())
        except BaseException:
            for path, content in written:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True) if content is None else path.write_bytes(content)
            for parent in reversed(made):
                with contextlib.suppress(OSError):
                    parent.rmdir()
            raise
        return sorted(map(pathlib.Path, self.texts))


def _parsed(text: str, where: pathlib.Path) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise UserError("a module is no Python", where=f"{where}:{error.lineno}", found=error.msg) from error


def _folded(line: str, head: str, names: Sequence[str], end: str) -> list[str]:
    """Return a statement that lists names: one line, or where that is too long a name on each."""
    return [line] if len(line) <= _LINE else [head, *(f"    {name}," for name in names), end]


def _extend_all(text: str, name: str, where: pathlib.Path) -> str:
    """Return the text of a module with ``name`` added to its ``__all__``."""
    for node in _parsed(text, where).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if [target.id for target in targets if isinstance(target, ast.Name)] == ["__all__"]:
            try:
                names = sorted({*ast.literal_eval(node.value), name})
            except (ValueError, TypeError) as error:
                raise UserError(
                    "what a module exports is not written out",
                    where=f"{where}:{node.lineno}",
                    expected="a list __all__",
                ) from error
            shown = [f'"{each}"' for each in names]
            lines = text.split("\n")
            lines[node.lineno - 1 : node.end_lineno] = _folded(
                f"__all__ = [{', '.join(shown)}]", "__all__ = [", shown, "]"
            )
            return "\n".join(lines).rstrip("\n") + "\n"
    raise UserError("a module says nowhere what it exports", where=where, expected="a list __all__")


def _bound(text: str) -> list[str]:
    """Return each name of a module as often as something gets it: a function, a parameter, a variable, an import."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.alias):
            found.append(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.arg):
            found.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
    return found


def _check_alias(manifest: Manifest, texts: Iterable[str]) -> None:
    """Refuse an id as which tests and examples import the package, and which they need for something else."""
    statement = f"import {manifest.package} as {manifest.id}\n"
    if any(statement in text and _bound(text).count(manifest.id) > 1 for text in texts):
        raise OptionError(
            "the tests of ops import the package by its id, and this one means something else in them",
            expected="another id",
            found=repr(manifest.id),
        )


def _check_exported(name: str, modules: Iterable[str], ops: str, package: str) -> None:
    """Refuse the name of an op that the modules of the package need for something else."""
    used = {node.id for node in ast.walk(ast.parse(ops)) if isinstance(node, ast.Name)}
    twice = any(_bound(text).count(name) > 1 for text in (ops, package))
    # A function `pipeline` of the package is what makes the extension's pipeline.
    if twice or name in used or name in modules or name == "pipeline":
        raise OptionError(
            "the package needs that name for something else", expected="another name of the op", found=repr(name)
        )


def _check_apart(names: Mapping[str, str]) -> None:
    """Refuse names that would give two files of the template one name."""
    found = ["test_compare", "test_profile", "test_residency"]
    found += [names["__pass"], f"test_{names['__pass_snake']}"]
    found += [f"{verb}{names['__op_stem']}" for verb in ("Raise", "Lower")]
    found += [f"test_{names['__op']}", f"test_raise_{names['__op']}"]
    # The macro that guards the class of a pass is all capitals.
    upper = [name.upper() for name in found]
    if twice := [name for name in found if upper.count(name.upper()) > 1]:
        raise OptionError(
            "an extension would have two passes or two tests of one name",
            found=", ".join(dict.fromkeys(twice)),
            hint="choose another name",
        )


@contextlib.contextmanager
def _beside(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a directory from which files can be moved to ``target`` in one step, and remove it."""
    parent = target.parent
    if not parent.is_dir():
        raise UserError("a directory does not exist", where=parent, hint=f"make it with `mkdir -p {parent}`")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=".tritonext-", dir=parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _check_answers(identifier: str, kinds: Sequence[str], description: str, author: str, license: str) -> None:
    if not manifests.is_id(identifier) or keyword.iskeyword(identifier) or len(identifier) > _LONGEST_ID:
        raise OptionError(
            "that is no id of an extension",
            expected=f"lower snake case such as loop_split, no word of Python or C++, at most {_LONGEST_ID} characters",
            found=repr(identifier),
        )
    if not kinds or not set(kinds) <= KINDS.keys():
        raise OptionError(
            "it is not said what the extension starts from",
            expected="--kind with some of " + ", ".join(KINDS),
            found=", ".join(map(repr, sorted(set(kinds) - KINDS.keys()))) or "none",
            details=[f"{name}: {summary}" for name, summary in KINDS.items()],
        )
    if len(description) > _LONGEST_DESCRIPTION or description.endswith(".") or not _is_plain(description):
        raise OptionError(
            "that is no description",
            expected=f"one line of at most {_LONGEST_DESCRIPTION} characters without quotes, braces and a full stop",
            found=repr(description),
        )
    if author and not _is_plain(author):
        raise OptionError("that is no name", expected="one line without quotes and braces", found=repr(author))
    if license not in LICENSES:
        raise OptionError("there is no text of that license", expected=", ".join(LICENSES), found=repr(license))


def _is_plain(text: str) -> bool:
    # Some characters that are not printed end a line for the readers of metadata.
    return bool(_PLAIN.fullmatch(text)) and text.isprintable() and text == text.strip()


def _check_named(name: str, what: str, possible: set[str], kinds: Sequence[str]) -> None:
    if not possible & set(kinds):
        raise OptionError(
            f"there is no {what} to name",
            expected=f"--kind with {' or '.join(sorted(possible))}",
            found=f"--{what} {name} and --kind {','.join(kinds)}",
        )


def _named_pass(name: str) -> dict[str, str]:
    """Return the answers of the template that name its pass.

    Raises:
        OptionError: The name cannot be used.
    """
    name = name.removesuffix("Pass")
    if not _PASS_NAME.fullmatch(name):
        raise OptionError(
            "that is no name of a pass", expected="<Verb><Object> in camel case, such as CountStores", found=repr(name)
        )
    return {"__pass": name, "__pass_snake": manifests.snake_case(name)}


def _named_op(name: str) -> dict[str, str]:
    """Return the answers of the template that name its op.

    Raises:
        OptionError: The name cannot be used.
    """
    if not _OP_NAME.fullmatch(name) or keyword.iskeyword(name):
        raise OptionError(
            "that is no name of an op", expected="snake case and no keyword, such as row_sum", found=repr(name)
        )
    stem = "".join(word.capitalize() for word in name.split("_"))
    # The tests of its lowering have the name that the manifest gives the pass.
    if manifests.snake_case(f"Lower{stem}") != f"lower_{name}":
        raise OptionError(
            "that is no name of an op",
            expected=f"words that stay apart in the class name {stem}Op",
            found=repr(name),
            hint="write out words of one letter, and begin none with a digit",
        )
    return {"__op": name, "__op_stem": stem}


def _names(kinds: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the template's pass and op.

    Raises:
        OptionError: Two of its files would have one name.
    """
    defaults = json.loads((template_dir() / "cookiecutter.json").read_text(encoding="utf-8"))
    names = {key: defaults[key] for key in ("__pass", "__pass_snake", "__op", "__op_stem")} | dict(chosen)
    # What belongs to kinds that are not asked for is rendered and removed, and must not be in the way until then.
    if "pass" not in kinds:
        names |= _named_pass("OmitPasses")
    if not {"dialect", "op"} & set(kinds):
        names |= _named_op("omitted")
    _check_apart(names)
    return names


def _check_target(target: pathlib.Path) -> None:
    if target.is_dir() and not target.is_symlink():
        if any(target.iterdir()):
            raise UserError(
                "the directory is not empty", where=target, hint="choose another with --output, or empty it"
            )
    elif os.path.lexists(target):
        raise UserError("something is in the way", where=target, expected="no file, or an empty directory")


def _check_taken(identifier: str, with_dialect: bool) -> None:
    found = registry.scan()
    known: Mapping[str, object] = {**found.extensions, **found.broken}
    if identifier in known:
        raise UserError(
            f"an installed extension is called {identifier!r}",
            where=found.extensions[identifier].root if identifier in found.extensions else None,
            hint="choose another id, or uninstall that one",
        )
    if with_dialect:
        from ._triton import plugin

        _, dialects, _ = plugin.taken_names()
        if identifier in dialects:
            raise UserError(
                f"stock Triton has a dialect {identifier!r}", hint="choose another id, which is the dialect's name too"
            )


def _check_new_pass(manifest: Manifest, definition: str) -> None:
    for entry in manifest.passes:
        # TableGen guards the class of a pass with a macro, whose name is all capitals.
        if definition.upper() == entry.definition.upper():
            raise UserError(f"the extension {manifest.id!r} has a pass {entry.stem!r}", hint="choose another name")


def _tree() -> pathlib.Path:
    """Return the root of the tritonext repository that the current directory is in."""
    here = pathlib.Path.cwd()
    for directory in (here, *here.parents):
        if (directory / "versions.toml").is_file() and (directory / "extensions").is_dir():
            return directory
    raise UserError(
        "the current directory is in no clone of tritonext",
        where=here,
        hint="leave out --in-tree to make a repository of its own",
    )


def new(arguments: Sequence[str]) -> int:
    """Run ``tritonext new``."""
    parser = _parser(
        "new",
        "Make a new extension: a repository of its own, or a directory of the tritonext tree.",
        [
            "new demo --kind pass --pass CountStores",
            "new demo --kind op,backend --license Apache-2.0 --author 'A. Name'",
        ],
        "kinds:\n" + "\n".join(f"  {name:<10}{summary}" for name, summary in KINDS.items()),
    )
    parser.add_argument("id", help="id, a lower-case noun such as layout")
    parser.add_argument("--kind", action="append", default=[], help="what it starts from; several with commas")
    parser.add_argument("--pass", dest="pass_name", metavar="NAME", help="its pass, <Verb><Object> in camel case")
    parser.add_argument("--op", dest="op_name", metavar="NAME", help="its op, in snake case")
    parser.add_argument("--description", default=_DESCRIPTION, help="what it does, in one line")
    parser.add_argument("--author", default="", help="who holds the copyright")
    parser.add_argument("--license", default=LICENSES[0], help=f"{', '.join(LICENSES)}; the first when not given")
    parser.add_argument("--output", type=pathlib.Path, help="its directory; tritonext-<id> when not given")
    parser.add_argument("--in-tree", action="store_true", help="make extensions/<id> of the clone of tritonext")
    options = parser.parse_args(arguments)
    kinds = [kind for text in options.kind for kind in text.split(",") if kind]
    made = create(
        options.id,
        kinds,
        options.output,
        in_tree=options.in_tree,
        description=options.description,
        author=options.author,
        license=options.license,
        pass_name=options.pass_name,
        op_name=options.op_name,
    )
    shown = shlex.quote(os.path.relpath(made))
    print(f"made {shown}\n")
    if options.in_tree:
        print(f"next:\n  nox -s build-{options.id}")
        return 0
    print(
        "next:\n"
        f"  cd {shown}\n"
        "  pip wheel --no-deps --no-build-isolation -w dist .\n"
        f"  pip install --no-deps --force-reinstall dist/tritonext_{options.id}-*.whl\n"
        "  pytest --tritonext-conformance"
    )
    return 0


def new_pass(arguments: Sequence[str]) -> int:
    """Run ``tritonext new-pass``."""
    parser = _parser(
        "new-pass",
        "Add a pass that works, with its tests, to an extension: a start to edit.",
        ["new-pass CountStores", "new-pass CountStores --directory extensions/layout"],
    )
    parser.add_argument("name", help="<Verb><Object> in camel case")
    return _added(parser, arguments, create_pass)


def new_op(arguments: Sequence[str]) -> int:
    """Run ``tritonext new-op``."""
    parser = _parser(
        "new-op",
        "Add an op that kernels call, with its lowering and tests, to an extension: a start to edit.",
        ["new-op row_sum", "new-op row_sum --directory extensions/layout"],
    )
    parser.add_argument("name", help="name in snake case, as kernels call it")
    return _added(parser, arguments, create_op)


def _added(parser: argparse.ArgumentParser, arguments: Sequence[str], function: Any) -> int:
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path(), help="of the extension; this one")
    options = parser.parse_args(arguments)
    for path in function(options.name, options.directory):
        print(path)
    return 0


def _parser(name: str, description: str, examples: Sequence[str], epilog: str = "") -> argparse.ArgumentParser:
    lines = "\n".join(f"  tritonext {example}" for example in examples)
    return argparse.ArgumentParser(
        prog=f"tritonext {name}",
        description=description,
        epilog=f"{epilog}\n\nexamples:\n{lines}\n".lstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
