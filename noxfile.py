"""Entry points of the repository. Sessions install and call; what they call lives in ci/, benchmarks/ or the SDK."""

from __future__ import annotations

import pathlib
import sys

import nox

ROOT = pathlib.Path(__file__).parent
sys.path.insert(0, str(ROOT / "ci"))

import workspace  # noqa: E402

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True

# One environment serves every session that compiles, so Triton and the build tools are unpacked once.
BUILD_ENV = str(ROOT / ".nox" / "build")


def build(session: nox.Session, *projects: str) -> None:
    """Build the SDK wheel and the wheels of ``projects`` into dist/, skipping those that are up to date."""
    session.install(*workspace.requirements("build"))
    session.run("python", "ci/build.py", *projects, *session.posargs)


@nox.session(venv_location=BUILD_ENV)
def toolchain(session: nox.Session) -> None:
    """Find or download clang, the MLIR headers and mlir-tblgen, and print what is used."""
    build(session)
    session.run("tritonext", "toolchain")


@nox.session(name="build-sdk", venv_location=BUILD_ENV)
def build_sdk(session: nox.Session) -> None:
    """Build the SDK wheel `tritonext` into dist/."""
    build(session)


def _declare_build_session(extension: str) -> None:
    @nox.session(name=f"build-{extension}", venv_location=BUILD_ENV)
    def session_for_extension(session: nox.Session) -> None:
        build(session, extension)

    session_for_extension.__doc__ = f"Build the wheel of the extension `{extension}` into dist/."


for _extension in workspace.extensions():
    _declare_build_session(_extension)


@nox.session(venv_location=BUILD_ENV)
def demo(session: nox.Session) -> None:
    """Build SDK and `layout`, install them beside stock Triton in a fresh environment, and compare one GEMM."""
    build(session, "layout")
    session.run("python", "ci/fresh.py", "--wheels", "layout", "--", "ci/demo.py")


@nox.session(venv_location=BUILD_ENV)
def tests(session: nox.Session) -> None:
    """Build everything, install it, and run every test that the machine can run."""
    session.install(*workspace.requirements("build"), *workspace.requirements("test"))
    session.run("python", "ci/build.py", "--all", "--install")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, import rules, version copies, generated files and repository hygiene."""
    session.install(*workspace.requirements("lint"))
    session.run("python", "ci/lint.py", *session.posargs)


@nox.session(venv_location=BUILD_ENV)
def gpu(session: nox.Session) -> None:
    """Run the tests that need a GPU, against the torch that posargs or the environment provide."""
    session.install(*workspace.requirements("build"), *workspace.requirements("test"), "torch")
    session.run("python", "ci/build.py", "--all", "--install")
    session.run("python", "-m", "pytest", "-m", "gpu", *session.posargs)


@nox.session(venv_location=BUILD_ENV)
def bench(session: nox.Session) -> None:
    """Measure the benchmark suites named in posargs (all without) on this machine's GPU."""
    session.install(*workspace.requirements("build"), "torch")
    session.run("python", "ci/build.py", "--all", "--install")
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session(name="bench-report")
def bench_report(session: nox.Session) -> None:
    """Render the recorded benchmark results into docs/benchmarks/."""
    session.install(*workspace.requirements("report"))
    session.run("python", "benchmarks/report.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Write the generated parts of README.md and docs/reference/; `-- --check` only compares."""
    session.install(*workspace.requirements("docs"))
    session.run("python", "ci/docs.py", *session.posargs)
