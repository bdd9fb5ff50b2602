"""Check style, import rules, copies of pins, generated files and what must not be in the tree.

    python ci/lint.py          # report
    python ci/lint.py --fix    # repair what a tool can repair, report the rest

Each check prints what is wrong, where, and how to mend it; the exit status is the number of checks that failed.
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable

from cookiecutter.main import cookiecutter

import workspace

ROOT = workspace.ROOT
# Terms of the field, and mistakes that tests make on purpose.
NO_MISSPELLINGS = "subtile,maped,blokc,coalesc"
# Scripts that sessions run where Triton and extensions are installed.
WITH_TRITON = {"ci/demo.py", "ci/published_tlx.py"}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="repair what ruff, clang-format and codespell can repair")
    fix = parser.parse_args(argv).fix
    checks: dict[str, Callable[[], Iterable[str]]] = {
        "ruff check": lambda: tool("ruff", "check", "-q", "--output-format=concise", *(["--fix"] if fix else []), "."),
        "ruff format": lambda: tool("ruff", "format", "-q", *([] if fix else ["--check"]), "."),
        "clang-format": lambda: clang_format(fix),
        "codespell": lambda: tool(
            "codespell",
            "-L",
            NO_MISSPELLINGS,
            *(["-w"] if fix else []),
            *tracked("*.py", "*.md", "*.cpp", "*.h", "*.td"),
        ),
        "import rules": import_rules,
        "version copies": version_copies,
        "hygiene": hygiene,
        "template": template,
        "generated files": lambda: tool("python", "ci/docs.py", *([] if fix else ["--check"])),
        "site": lambda: tool("python", "ci/site.py"),
    }
    failed = 0
    for name, check in checks.items():
        problems = list(check())
        failed += bool(problems)
        print(f"{name}: {'ok' if not problems else f'{len(problems)} to mend'}")
        for problem in problems:
            print(f"  {problem}")
    raise SystemExit(failed)


def tracked(*patterns: str) -> list[str]:
    """Return the tracked and new files that match ``patterns``, relative to the root."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    files = [name for name in listed if name and (ROOT / name).is_file()]
    # A template is no source until it is rendered; only its text is looked at.
    return files if patterns == () else [name for name in files if not name.startswith("templates/")]


def tool(*command: str) -> list[str]:
    """Run a tool and return its output lines as problems when it fails."""
    run = subprocess.run(
        [workspace.program(command[0]), *command[1:]], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return (run.stdout + run.stderr).splitlines() or [f"{command[0]} failed"] if run.returncode else []


def clang_format(fix: bool) -> list[str]:
    """Check C++ against .clang-format."""
    files = tracked("*.cpp", "*.h")
    return tool("clang-format", *(["-i"] if fix else ["--dry-run", "--Werror"]), *files) if files else []


def template() -> Iterable[str]:
    """Render the template of extensions for each kind and for all of them, and check what comes out as our own."""
    known = workspace.kinds()
    with tempfile.TemporaryDirectory() as scratch:
        for kinds in (*([kind] for kind in known), known):
            place = pathlib.Path(scratch, "-".join(kinds))
            answers = {f"with_{kind}": kind in kinds for kind in known} | {"id": "demo"}
            made = pathlib.Path(
                cookiecutter(
                    str(ROOT / "templates" / "extension"),
                    no_input=True,
                    extra_context=answers,
                    output_dir=str(place),
                    default_config={"replay_dir": scratch, "cookiecutters_dir": scratch},
                )
            )
            commands = [["ruff", "check", "-q", "--output-format=concise"], ["ruff", "format", "-q", "--diff"]]
            commands = [[*command, "--no-cache", str(made)] for command in commands]
            sources = [str(path) for path in made.rglob("*") if path.suffix in (".h", ".cpp")]
            if sources:
                style = f"--style=file:{ROOT / '.clang-format'}"
                commands.append(["clang-format", style, "--dry-run", "--Werror", *sources])
            for command in commands:
                yield from (f"{'+'.join(kinds)}: {line.replace(scratch, '')}" for line in tool(*command))


def imports(path: pathlib.Path) -> Iterable[tuple[int, str]]:
    """Yield line and absolute module name of every import in a Python file."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def pyproject(directory: pathlib.Path) -> dict:
    """Return the contents of the pyproject.toml of ``directory``."""
    return tomllib.loads((directory / "pyproject.toml").read_text())


def import_rules() -> Iterable[str]:
    """Hold the import rules of ARCHITECTURE.md that ruff cannot express."""
    packages = {f"tritonext_{name}": pyproject(path) for name, path in workspace.extensions(fixtures=True).items()}
    for name in tracked("*.py"):
        if "/tests/" in f"/{name}" and not name.startswith("tests/extensions"):
            continue
        for line, module in imports(ROOT / name):
            top = module.split(".")[0]
            if name.startswith("common/python/") and top in packages:
                yield f"{name}:{line}: the SDK imports the extension {top}; let the extension register itself"
            if name == "common/python/tritonext/manifest.py" and top not in sys.stdlib_module_names | {"__future__"}:
                yield f"{name}:{line}: the manifest module imports {top}; builds need it to be stdlib-only"
            before_builds = name == "noxfile.py" or (name.startswith("ci/") and name not in WITH_TRITON)
            if before_builds and top in {"triton", *packages}:
                yield f"{name}:{line}: imports {top}, which is not there before anything is built"
            if re.match(r"(tests/)?extensions/", name):
                own = name.split("extensions/")[1].split("/")[0]
                manifest = packages[f"tritonext_{own}"]["tool"]["tritonext"]
                required = {re.match(r"\w+", text)[0] for text in manifest["requires"]}
                if top in packages.keys() - {f"tritonext_{other}" for other in {own, *required}}:
                    yield f"{name}:{line}: extension {own} imports {top}; state it in `requires` and use its public API"
                if module.startswith("tritonext._"):
                    yield f"{name}:{line}: extension {own} imports the private module {module}"
    for name in tracked("extensions/*.cpp", "extensions/*.h"):
        own = name.split("/")[1]
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            match = re.match(r'#include ["<]tritonext_(\w+)/', line)
            if match and match[1] != own:
                yield f"{name}:{number}: extension {own} includes a header of {match[1]}"


def version_copies() -> Iterable[str]:
    """Compare the copies of a pin that a file format forces on us with versions.toml."""
    pins = workspace.pins()
    triton = pins["triton"]["version"]
    series = ".".join(pins["tritonext"]["version"].split(".")[:2])
    for extra in ("build", "develop"):
        wanted = sorted(workspace.requirements(extra))
        stated = sorted(pyproject(ROOT / "common")["project"]["optional-dependencies"][extra])
        if stated != wanted:
            yield f"common/pyproject.toml: extra `{extra}` is {stated}, versions.toml says {wanted}"
    answers = json.loads((ROOT / "templates" / "extension" / "cookiecutter.json").read_text())
    for key, wanted in (("__triton", triton), ("__series", series)):
        if answers[key] != wanted:
            yield f"templates/extension/cookiecutter.json: {key} is {answers[key]}, versions.toml says {wanted}"
    for name, directory in workspace.extensions(fixtures=True).items():
        data = pyproject(directory)
        where = directory.relative_to(ROOT) / "pyproject.toml"
        for requirement in (f"triton=={triton}", f"tritonext=={series}.*"):
            if requirement not in data["project"]["dependencies"]:
                yield f"{where}: project.dependencies lacks {requirement!r}"
        for requirement in (f"triton=={triton}", f"tritonext[build]=={series}.*"):
            if requirement not in data["build-system"]["requires"]:
                yield f"{where}: build-system.requires lacks {requirement!r}"
        if data["tool"]["tritonext"]["id"] != name or data["project"]["name"] != f"tritonext-{name}":
            yield f"{where}: the id, the distribution and the directory name differ"


FORBIDDEN = {
    r"(^|[^A-Za-z0-9_.])/(home|mnt|opt|root|work|Users)/": "a path of one machine",
    r"deb\.debian\.org|pypi\.org|files\.pythonhosted|registry\.npmjs": "the host of a package registry",
    r"\b(TODO|FIXME|XXX)\b": "unfinished work",
}


def hygiene() -> Iterable[str]:
    """Report machine paths, registry hosts, unfinished marks and large files."""
    for name in tracked():
        path = ROOT / name
        if path.is_symlink():
            continue
        if path.stat().st_size > 2**20:
            yield f"{name}: larger than 1 MiB"
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if name == "ci/lint.py":
            continue
        for pattern, what in FORBIDDEN.items():
            for match in re.finditer(pattern, text, re.MULTILINE):
                yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match[0].strip()}"


if __name__ == "__main__":
    main()
