"""Build the wheels of the SDK and of extensions into dist/, skipping those whose inputs have not changed.

    python ci/build.py                  # the SDK alone
    python ci/build.py layout           # the SDK and one extension
    python ci/build.py --all --install  # everything, the test fixtures too, installed into this environment

It runs inside an environment that has the build requirements of versions.toml. Extensions are built without build
isolation, so the one Triton of this environment serves all of them; `pip wheel ./extensions/<id>` builds the same
wheel in an isolated environment.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable

import workspace

DIST = workspace.ROOT / "dist"
DIGESTS = DIST / ".digests.json"
# Directories of a project whose change gives the same wheel.
NO_INPUT = {"tests", "examples", "build"}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extensions", nargs="*", help="ids; the SDK is always built first")
    parser.add_argument("--all", action="store_true", help="build every extension, the fixtures of the tests included")
    parser.add_argument("--install", action="store_true", help="install the built extensions into this environment")
    arguments = parser.parse_args(argv)
    names = list(workspace.extensions(fixtures=True)) if arguments.all else arguments.extensions
    directories = {name: workspace.extension_directory(name) for name in names}

    DIST.mkdir(exist_ok=True)
    sdk_digest = digest(*(workspace.ROOT / name for name in ("common", "templates", "versions.toml")))
    sdk = build("tritonext", workspace.ROOT / "common", sdk_digest)
    install(sdk, with_dependencies=True)
    if not directories:
        return
    run(sys.executable, "-m", "tritonext.toolchain")
    for name, directory in directories.items():
        wheel = build(f"tritonext_{name}", directory, digest(directory) + sdk_digest, f"build-dir={build_tree(name)}")
        if arguments.install:
            install(wheel)


def build_tree(name: str) -> pathlib.Path:
    """Return the CMake build tree of an extension; kept, so that a rebuild compiles only what changed."""
    return workspace.ROOT / "build" / name


def digest(*inputs: pathlib.Path) -> str:
    """Return a hash of the files below ``inputs`` that decide what a wheel contains."""
    hasher = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for path in sorted(file for project in inputs for file in _files(project)):
        hasher.update(str(path.relative_to(workspace.ROOT)).encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


def _files(project: pathlib.Path) -> Iterable[pathlib.Path]:
    if project.is_file():
        return [project]
    skipped = {project / name for name in NO_INPUT}
    return (
        path
        for path in project.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and skipped.isdisjoint(path.parents)
    )


def build(stem: str, directory: pathlib.Path, inputs: str, *config: str) -> pathlib.Path:
    """Build the project in ``directory`` unless dist/ holds a wheel of the same ``inputs``; return the wheel."""
    digests = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    wheels = list(DIST.glob(f"{stem}-*.whl"))
    if digests.get(stem) == inputs and len(wheels) == 1:
        print(f"{wheels[0].name}: up to date", flush=True)
        return wheels[0]
    for stale in wheels:
        stale.unlink()
    print(f"{stem}: building, which takes minutes the first time", flush=True)
    started = time.monotonic()
    settings = [f"--config-settings={setting}" for setting in config]
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        *settings,
        "-w",
        DIST,
        directory,
    )
    (wheel,) = DIST.glob(f"{stem}-*.whl")
    print(f"{wheel.name}: built in {time.monotonic() - started:.0f} s", flush=True)
    # Read again: another build may have finished in the meantime.
    digests = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    DIGESTS.write_text(json.dumps(digests | {stem: inputs}, indent=1))
    return wheel


def install(wheel: pathlib.Path, with_dependencies: bool = False) -> None:
    """Install ``wheel`` into this environment, replacing an equal version whose contents differ.

    One that is there stays: headers with a new time of change would make each extension compile anew.
    """
    if installed(wheel):
        return
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    if with_dependencies:
        run(*pip, f"{wheel}[build]")
    run(*pip, "--force-reinstall", "--no-deps", wheel)


def installed(wheel: pathlib.Path) -> bool:
    """Say whether this environment has what ``wheel`` holds, by the hash that pip keeps of what it installed."""
    try:
        distribution = importlib.metadata.distribution(wheel.name.split("-")[0])
    except importlib.metadata.PackageNotFoundError:
        return False
    # PEP 610.
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    found = origin.get("archive_info", {}).get("hashes", {}).get("sha256")
    return found == hashlib.sha256(wheel.read_bytes()).hexdigest()


def run(*command: object) -> None:
    """Run ``command`` and exit with its status when it fails."""
    status = subprocess.run([str(part) for part in command], check=False).returncode
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    main()
