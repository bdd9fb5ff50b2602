"""Try the move to another release of Triton, as far as it goes, and say what breaks and where.

    nox -s bump -- 3.10.0            # in a copy of the tree; this one stays as it is
    nox -s bump -- 3.10.0 --apply    # also write the new pins and pipelines here, to work on what broke

The road: an environment with that release, its facts, the pins, the private interfaces that the SDK uses, the recorded
pipelines, the toolchain, every wheel with its comparison of layouts, and the tests. A step that needs one that failed
is not taken. The exit status is 1 when something broke. The whole output of each step is kept in build/bump/<release>/.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import build
import workspace

ROOT = workspace.ROOT
# What is printed of a failed step; the rest is in its file.
SHOWN_LINES = 12
# Of failed tests, the most frequent ones.
SHOWN_REASONS = 5
# Lines that say where something broke, before others.
TELLING = re.compile(r"\berror\b|Error\b|^FAILED|^E  |where:|expected:|found:|hint:|no such file", re.IGNORECASE)

FACTS = """
import json
from tritonext._triton import wheel
found = wheel.installed()
print(json.dumps({
    "version": found.version, "commit": found.llvm_commit, "plugin_api": found.plugin_api,
    "headers": found.include.is_dir(), "filecheck": found.filecheck.is_file(),
}))
"""

INTERFACES = """
import importlib, pkgutil, traceback
import tritonext._triton as package
failed = 0
for module in pkgutil.iter_modules(package.__path__):
    try:
        importlib.import_module(f"tritonext._triton.{module.name}")
    except Exception as error:
        failed += 1
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename}:{frame.lineno}"
        print(f"error: tritonext/_triton/{module.name}.py: {type(error).__name__}: {error} ({place})")
raise SystemExit(failed)
"""


@dataclass
class Step:
    """One step of the road and how it ended.

    Attributes:
        name: What it does.
        state: ``ok``, ``broke`` or ``not taken``.
        lines: What to know: of a failure, where.
    """

    name: str
    state: str = "ok"
    lines: list[str] = field(default_factory=list)


class Road:
    """The steps taken so far.

    Args:
        release: Release of Triton to move to.
    """

    def __init__(self, release: str) -> None:
        self.release = release
        self.place = ROOT / "build" / "bump" / release
        self.tree = self.place / "tree"
        self.python = self.place / "environment" / "bin" / "python"
        self.steps: list[Step] = []

    def take(self, name: str, action: Callable[[], Iterable[str]], *needs: str) -> None:
        """Take a step unless one that it needs broke; ``action`` returns lines to report, or raises :class:`Broken`."""
        states = {step.name: step.state for step in self.steps}
        step = Step(name)
        self.steps.append(step)
        if missing := [need for need in needs if states[need] != "ok"]:
            step.state, step.lines = "not taken", [f"it needs: {', '.join(missing)}"]
        else:
            print(f"{name} …", flush=True)
            try:
                step.lines = list(action())
            except Broken as error:
                step.state, step.lines = "broke", error.lines
        print(f"{name}: {step.state}", flush=True)
        for line in step.lines:
            print(f"    {line}", flush=True)

    def run(self, log: str, *arguments: object) -> str:
        """Run the environment's Python in the copy of the tree, and return what it printed.

        Raises:
            Broken: Its exit status is not 0; the lines are the telling ones.
        """
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [self.python, *map(str, arguments)],
            cwd=self.tree if self.tree.is_dir() else self.place,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(self.tree / "common" / "python")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        (self.place / f"{log}.log").write_text(done.stdout)
        if done.returncode:
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            telling = [line for line in lines if TELLING.search(line)] or lines[-SHOWN_LINES:]
            more = len(telling) - SHOWN_LINES
            tail = [f"and {more} lines more in {log}.log"] if more > 0 else []
            raise Broken([f"exit status {done.returncode}", *telling[:SHOWN_LINES], *tail])
        return done.stdout


class Broken(Exception):
    """A step failed; the lines say what and where."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines)
        self.lines = lines


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", help="a published release of Triton")
    parser.add_argument("--apply", action="store_true", help="write the new pins and pipelines into this tree")
    parser.add_argument("--no-tests", action="store_true", help="stop before the tests, which take longest")
    options = parser.parse_args(argv)
    if not re.fullmatch(r"\d+\.\d+\.\d+", options.release):
        parser.error(f"expected a release such as 3.10.0, got {options.release!r}")
    road = Road(options.release)
    facts: dict[str, object] = {}

    road.take("environment", lambda: environment(road))
    road.take("facts", lambda: read_facts(road, facts), "environment")
    road.take("headers of Triton", lambda: headers(facts), "facts")
    road.take("pins", lambda: write_pins(road.tree, facts), "facts")
    road.take("private interfaces", lambda: road.run("interfaces", "-c", INTERFACES).splitlines(), "pins")
    road.take("recorded pipelines", lambda: pipelines(road), "pins")
    road.take("toolchain", lambda: toolchain(road), "pins")
    road.take("sdk", lambda: sdk(road), "pins")
    for name in workspace.extensions(fixtures=True):
        road.take(f"build {name}", lambda name=name: wheel(road, name), "toolchain", "sdk", "headers of Triton")
    builds = [step.name for step in road.steps if step.name.startswith("build ")]
    if not options.no_tests:
        road.take("tests of the SDK", lambda: tests(road, "sdk", "common/tests"), "sdk")
        road.take("tests of extensions", lambda: tests(road, "extensions", "tests/conformance", "extensions"), *builds)
    if options.apply:
        road.take("apply", lambda: apply(road, facts), "pins")
    raise SystemExit(report(road))


def environment(road: Road) -> Iterable[str]:
    """Make the copy of the tree, and an environment with that release and the tools of builds and tests."""
    shutil.rmtree(road.tree, ignore_errors=True)
    road.place.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        target = road.tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    if not (road.python.parent / "pip").exists():
        build.run(sys.executable, "-m", "venv", "--clear", road.python.parents[1])
    pinned = [item for group in ("build", "develop", "test") for item in workspace.requirements(group)]
    needed = ["filelock>=3.12", "packaging>=23", "platformdirs>=4", "rich>=13"]
    road.run("environment", "-m", "pip", "install", "-q", f"triton=={road.release}", *pinned, *needed)
    return [f"triton {road.release}"]


def read_facts(road: Road, facts: dict[str, object]) -> Iterable[str]:
    """Read what the pins say of a release from its wheel."""
    facts |= json.loads(road.run("facts", "-c", FACTS).splitlines()[-1])
    return [f"{name}: {value}" for name, value in facts.items()]


def headers(facts: dict[str, object]) -> Iterable[str]:
    """Check that the wheel has what extensions are compiled and tested with."""
    missing = {
        "headers": "the wheel ships no headers, so that nothing can be compiled against it",
        "plugin_api": "its headers state no number of the plugin interface",
        "filecheck": "the wheel ships no FileCheck, which lit tests take from it",
    }
    if lines := [text for name, text in missing.items() if not facts[name]]:
        raise Broken(lines)
    return ["headers and FileCheck are there"]


def write_pins(tree: pathlib.Path, facts: dict[str, object]) -> Iterable[str]:
    """Write the pins of a release into ``tree``, with the copies that file formats force on us."""
    old = workspace.pins()
    triton, llvm = old["triton"], old["llvm"]
    release = str(facts["version"])
    major, minor, _ = release.split("+")[0].split(".")
    upper = f"{major}.{int(minor) + 1}"
    replacements = {"versions.toml": [(f'version = "{triton["version"]}"', f'version = "{release}"')]}
    if facts["commit"]:
        replacements["versions.toml"].append((llvm["commit"], str(facts["commit"])))
    if facts["plugin_api"] is not None:
        pair = (f"plugin-api = {triton['plugin-api']}", f"plugin-api = {facts['plugin_api']}")
        replacements["versions.toml"].append(pair)
    replacements["common/pyproject.toml"] = [(r'"triton>=[^"]*"', f'"triton>={release},<{upper}"')]
    replacements["templates/extension/cookiecutter.json"] = [(r'"__triton": "[^"]*"', f'"__triton": "{release}"')]
    for directory in workspace.extensions(fixtures=True).values():
        name = str((directory / "pyproject.toml").relative_to(ROOT))
        replacements[name] = [(f"triton=={triton['version']}", f"triton=={release}")]
    for name, pairs in replacements.items():
        path = tree / name
        text = path.read_text()
        for pattern, new in pairs:
            text, count = re.subn(pattern, new, text)
            if not count:
                raise Broken([f"where: {name}", f"expected: {pattern}", "found: nothing like it"])
        path.write_text(text)
        yield name
    texts = ["*.md", "*.py", "*.cpp", "*.h", "*.td", ":!docs/benchmarks"]
    command = ["git", "grep", "-lF", triton["version"], "--", *texts]
    found = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.split()
    left = [name for name in found if name not in replacements]
    yield f"{len(left)} files name {triton['version']} in their text, to be read by a person: {', '.join(left[:6])}, …"


def pipelines(road: Road) -> Iterable[str]:
    """Record the stock pipelines of the release, and say how they differ from the recorded ones."""
    golden = pathlib.Path("common", "tests", "pipeline", "golden")
    road.run("pipelines", "-m", "tritonext.pipeline", "golden", "--write", golden)
    lines = []
    for path in sorted((ROOT / golden).glob("*.txt")):
        before, after = path.read_text().splitlines(), (road.tree / golden / path.name).read_text().splitlines()
        changed = [
            line for line in difflib.unified_diff(before, after, n=0, lineterm="") if re.match(r"[+-](?![+-]|#)", line)
        ]
        if changed:
            shown = ", ".join(changed[:4])
            lines.append(f"{path.stem}: {len(changed)} lines differ: {shown}{', …' if len(changed) > 4 else ''}")
    return lines or ["no pipeline differs"]


def toolchain(road: Road) -> Iterable[str]:
    """Find or fetch the compiler and the headers for the release's LLVM."""
    printed = road.run("toolchain", "-m", "tritonext.toolchain", "--json")
    found = json.loads(printed[printed.index("{\n") :])
    return [f"clang {found['cxx_version']}, headers of LLVM {found['headers_version']}"]


def sdk(road: Road) -> Iterable[str]:
    """Build and install the SDK."""
    shutil.rmtree(road.tree / "dist", ignore_errors=True)
    road.run("sdk", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "dist", "./common")
    (made,) = (road.tree / "dist").glob("tritonext-*.whl")
    road.run("sdk-install", "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", made)
    return [made.name]


def wheel(road: Road, name: str) -> Iterable[str]:
    """Build and install an extension; the build compares its layouts with those of libtriton."""
    directory = workspace.extension_directory(name).relative_to(ROOT)
    road.run(f"build-{name}", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", f"./{directory}")
    (made,) = (road.tree / "dist").glob(f"tritonext_{name}-*.whl")
    road.run(f"install-{name}", "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", made)
    code = f"import tritonext; print(dict(tritonext.extension({name!r}).stamp.abi))"
    return [f"layouts: {road.run(f'abi-{name}', '-c', code).strip()}"]


def tests(road: Road, log: str, *places: str) -> Iterable[str]:
    """Run tests, name the files of those that fail, and the reasons that most of them have."""
    arguments = ["-q", "-p", "no:cacheprovider", "--tb=line", "-n", "logical", "--dist", "loadgroup"]
    try:
        return road.run(f"tests-{log}", "-m", "pytest", *arguments, *places).splitlines()[-1:]
    except Broken as error:
        lines = (road.place / f"tests-{log}.log").read_text().splitlines()
        ended = re.findall(r"^(FAILED|ERROR) ([^:\s]+)", "\n".join(lines), re.MULTILINE)
        counts = collections.Counter(file for _, file in ended)
        if not counts:
            raise
        files = [f"{file}: {count} failed" for file, count in counts.most_common()]
        reasons = collections.Counter(line.removeprefix("E   ") for line in lines if line.startswith("E   "))
        often = [f"{count} times: {reason}" for reason, count in reasons.most_common(SHOWN_REASONS)]
        raise Broken([*files, *often, lines[-1].strip("= ")]) from error


def apply(road: Road, facts: dict[str, object]) -> Iterable[str]:
    """Write the pins into this tree, and the recorded pipelines where they could be recorded."""
    yield from write_pins(ROOT, facts)
    if {step.name: step.state for step in road.steps}["recorded pipelines"] == "ok":
        golden = pathlib.Path("common", "tests", "pipeline", "golden")
        for path in sorted((road.tree / golden).glob("*.txt")):
            shutil.copy2(path, ROOT / golden / path.name)
        yield str(golden)


def report(road: Road) -> int:
    """Print the report, keep it, and return the exit status."""
    lines = [f"# Triton {workspace.pins()['triton']['version']} to {road.release}", "", "| step | state |", "|---|---|"]
    lines += [f"| {step.name} | {step.state} |" for step in road.steps]
    for step in road.steps:
        if step.lines:
            lines += ["", f"## {step.name}: {step.state}", "", *(f"- {line}" for line in step.lines)]
    (road.place / "report.md").write_text("\n".join(lines) + "\n")
    broken = [step.name for step in road.steps if step.state == "broke"]
    skipped = sum(step.state == "not taken" for step in road.steps)
    where = (road.place / "report.md").relative_to(ROOT)
    print(f"\n{len(road.steps)} steps, {len(broken)} broke, {skipped} not taken; {where}")
    if broken:
        print(f"broken: {', '.join(broken)}")
    return int(bool(broken))


if __name__ == "__main__":
    main()
