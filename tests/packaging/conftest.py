"""An environment that holds the SDK as a wheel, and the fixture extension built in it the way a user builds one."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from tritonext import toolchain
from tritonext.errors import ToolchainError

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = ROOT / "tests" / "extensions" / "probe"


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    python: pathlib.Path

    def run(
        self, *arguments: object, cwd: pathlib.Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python with ``arguments`` and without the source tree on the path."""
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | dict(env or {})
        return subprocess.run(
            [self.python, *map(str, arguments)],
            cwd=cwd,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def check(self, *arguments: object, cwd: pathlib.Path | None = None) -> str:
        """Run its Python, which must succeed, and return what it printed."""
        done = self.run(*arguments, cwd=cwd)
        assert done.returncode == 0, done.stdout
        return done.stdout


@dataclass(frozen=True)
class Project:
    """A copy of the fixture extension that a test may change."""

    directory: pathlib.Path
    environment: Environment

    def add_source(self, name: str, text: str) -> None:
        """Add a C++ file."""
        (self.directory / "lib" / name).write_text(text)

    def build(self, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Build a wheel into ``dist`` through the hook that pip calls; CMake's tree is kept in ``build``."""
        code = "import sys, tritonext.build as b; print(b.build_wheel('dist', {'build-dir': 'build'}))"
        return self.environment.run("-c", code, cwd=self.directory, env=env)

    def built(self) -> pathlib.Path:
        """Build a wheel, which must succeed, and return it."""
        done = self.build()
        assert done.returncode == 0, done.stdout
        return self.directory / "dist" / done.stdout.splitlines()[-1]


def make_environment(directory: pathlib.Path, python: str, wheels: Sequence[pathlib.Path]) -> Environment:
    """Create an environment with ``wheels``; everything else comes from the environment that runs the tests."""
    subprocess.run([python, "-m", "venv", "--without-pip", directory], check=True)
    environment = Environment(directory / "bin" / "python")
    (packages,) = (directory / "lib").glob("python*/site-packages")
    # Only directories of installed packages: the sources of the SDK may be on the path of this process.
    others = [path for path in sys.path if pathlib.Path(path).name in ("site-packages", "dist-packages")]
    (packages / "others.pth").write_text("".join(f"{path}\n" for path in others))
    for wheel in wheels:
        environment.check("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--ignore-installed", wheel)
    return environment


@pytest.fixture(scope="session")
def tools() -> toolchain.Toolchain:
    try:
        return toolchain.find()
    except ToolchainError as error:
        pytest.skip(f"there is no toolchain; `tritonext toolchain` fetches one: {error.message}")


@pytest.fixture(scope="session")
def sdk_wheel(tmp_path_factory) -> pathlib.Path:
    """The wheel of the SDK."""
    for module in ("auditwheel", "cmake", "ninja", "scikit_build_core", "wheel"):
        pytest.importorskip(module, reason=f"there is no {module} in this environment; `nox -s tests` installs it")
    out = tmp_path_factory.mktemp("sdk")
    command = [
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        out,
        ROOT / "common",
    ]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("tritonext-*.whl")
    return wheel


@pytest.fixture(scope="session")
def environment(sdk_wheel, tmp_path_factory) -> Environment:
    """An environment with the SDK installed from its wheel."""
    return make_environment(tmp_path_factory.mktemp("environment"), sys.executable, [sdk_wheel])


def copy_probe(directory: pathlib.Path) -> pathlib.Path:
    """Copy the sources of the fixture extension, without anything a build left there."""
    left = shutil.ignore_patterns("build", "dist", "*.so", "_*.json*", "__pycache__")
    return shutil.copytree(PROBE, directory, ignore=left)


@pytest.fixture(scope="session")
def probe(environment, tools, tmp_path_factory) -> Project:
    """The fixture extension as it is; tests must not change it."""
    return Project(copy_probe(tmp_path_factory.mktemp("first") / "probe"), environment)


@pytest.fixture(scope="session")
def probe_wheel(probe) -> pathlib.Path:
    """The wheel of the fixture extension."""
    return probe.built()


@pytest.fixture(scope="session")
def second_build(environment, tools, tmp_path_factory) -> tuple[Project, pathlib.Path]:
    """The same sources, built again in another directory."""
    project = Project(copy_probe(tmp_path_factory.mktemp("second") / "elsewhere" / "probe"), environment)
    return project, project.built()


@pytest.fixture
def changed(second_build) -> Project:
    """A project whose sources a test changes; its build tree compiles only what changed, and it is put right after."""
    project, _ = second_build
    yield project
    build = project.directory / "build"
    kept = project.directory.parent / "kept"
    build.rename(kept)
    shutil.rmtree(project.directory)
    copy_probe(project.directory)
    kept.rename(build)
