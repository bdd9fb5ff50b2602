"""Entry points of the repository. Sessions install and call; what they call lives in ci/, benchmarks/ or the SDK."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable

import nox

if sys.version_info < (3, 11):  # noqa: UP036
    # What is imported below would fail on a module of the standard library, before nox or pip could say why.
    sys.exit(
        f"expected Python 3.11 or later, got {'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})\n"
        "  hint: make the environment anew with such a Python: python3.11 -m venv --clear .venv"
    )

ROOT = pathlib.Path(__file__).parent
sys.path.insert(0, str(ROOT / "ci"))

import environment  # noqa: E402
import workspace  # noqa: E402

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "tidy", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True


def shared(session: nox.Session, *groups: str) -> Callable[..., None]:
    """Return a function that runs Python in the one environment that every session which compiles shares.

    Triton and the build tools are unpacked once there, instead of once for each session.
    """
    python = environment.ensure("build", *groups)
    # As in an activated environment: CMake looks for Ninja on PATH.
    env = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    return lambda *arguments: session.run(str(python), *arguments, env=env, external=True)


def compiling_session(**options: str) -> Callable:
    """Declare a session that runs in the shared environment."""
    return nox.session(venv_backend="none", **options)


@compiling_session()
def toolchain(session: nox.Session) -> None:
    """Find or download clang, the MLIR headers and mlir-tblgen, and print what is used."""
    python = shared(session)
    python("ci/build.py")
    python("-m", "tritonext", "toolchain", *session.posargs)


@compiling_session(name="build-sdk")
def build_sdk(session: nox.Session) -> None:
    """Build the SDK wheel `tritonext` into dist/."""
    shared(session)("ci/build.py")


def _declare_build_session(extension: str) -> None:
    @compiling_session(name=f"build-{extension}")
    def build_extension(session: nox.Session) -> None:
        shared(session)("ci/build.py", extension)

    build_extension.__doc__ = f"Build the wheel of the extension `{extension}` into dist/."


for _extension in workspace.extensions():
    _declare_build_session(_extension)


@compiling_session()
def demo(session: nox.Session) -> None:
    """Build SDK and `layout`, install them beside stock Triton in a fresh environment, and compare one GEMM."""
    python = shared(session)
    python("ci/build.py", "layout")
    python("ci/fresh.py", "--wheels", "layout", "--", "ci/demo.py", *session.posargs)


@compiling_session()
def tests(session: nox.Session) -> None:
    """Build everything, install it, and run every test that the machine can run."""
    python = shared(session, "develop", "test")
    python("ci/build.py", "--all", "--install")
    spread = ["-n", "logical", "--dist", "loadgroup", "--no-loadscope-reorder"]
    python("-m", "pytest", *(session.posargs or ["--check-counts", *spread]))


@compiling_session()
def template(session: nox.Session) -> None:
    """Make, build, install and test an extension of each kind apart, as a newcomer would, and print the times."""
    python = shared(session)
    python("ci/build.py")
    python("-m", "tritonext", "toolchain")
    python("ci/template.py", *session.posargs)


@compiling_session()
def bump(session: nox.Session) -> None:
    """Try the move to the release of Triton named in posargs, in a copy of the tree, and say what breaks and where."""
    shared(session)("ci/bump.py", *session.posargs)


@compiling_session(name="tlx-published")
def tlx_published(session: nox.Session) -> None:
    """Download published TLX wheels, compile their Hopper kernels unchanged with our package, and print a table."""
    python = shared(session, "develop", "test")
    python("ci/build.py", "tlx", "--install")
    python("ci/published_tlx.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, import rules, version copies, generated files and repository hygiene."""
    session.install(*workspace.requirements("lint"), *workspace.requirements("docs"))
    session.run("python", "ci/lint.py", *session.posargs)


@compiling_session()
def tidy(session: nox.Session) -> None:
    """Build everything and run clang-tidy over the C++ of the SDK and the extensions named in posargs, or all."""
    python = shared(session, "tidy")
    python("ci/build.py", "--all")
    python("ci/tidy.py", *session.posargs)


@compiling_session()
def gpu(session: nox.Session) -> None:
    """Run the tests that need an NVIDIA GPU."""
    python = shared(session, "develop", "test", "gpu")
    python("ci/build.py", "--all", "--install")
    python("-m", "pytest", "-m", "gpu", *session.posargs)


@compiling_session()
def bench(session: nox.Session) -> None:
    """Measure the benchmark suites named in posargs, or all, on this machine's GPU."""
    python = shared(session, "gpu")
    python("ci/build.py", "--all", "--install")
    python("benchmarks/run.py", *session.posargs)


@nox.session(name="bench-report")
def bench_report(session: nox.Session) -> None:
    """Render the recorded benchmark results into docs/benchmarks/."""
    session.install(*workspace.requirements("report"))
    session.run("python", "benchmarks/report.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Write the generated parts of README.md and docs/reference/, and build the site; `-- --serve` shows it.

    `-- --check` only compares the generated parts.
    """
    session.install(*workspace.requirements("docs"))
    session.run("python", "ci/docs.py", *(["--check"] if "--check" in session.posargs else []))
    if "--check" not in session.posargs:
        session.run("python", "ci/site.py", *session.posargs)


@compiling_session(name="tlx-fuzz")
def tlx_fuzz(session: nox.Session) -> None:
    """Compile and simulate 2,000 random TLX programs; takes some minutes."""
    python = shared(session, "develop", "test")
    python("ci/build.py", "tlx", "--install")
    python("extensions/tlx/tests/fuzz/run.py", *session.posargs)


@compiling_session(name="sparsity-fuzz")
def sparsity_fuzz(session: nox.Session) -> None:
    """Compare 300 random sparse products with float64 on a GPU; `-- --compile` only compiles them."""
    python = shared(session, "develop", "test", *([] if "--compile" in session.posargs else ["gpu"]))
    python("ci/build.py", "sparsity", "--install")
    python("extensions/sparsity/tests/fuzz/run.py", *session.posargs)


@compiling_session(name="layout-gate")
def layout_gate(session: nox.Session) -> None:
    """Compile the corpus of `layout` with and without it for every target, and compare what comes out."""
    python = shared(session, "develop", "test")
    python("ci/build.py", "layout", "--install")
    python("extensions/layout/tests/gate.py", *session.posargs)


@compiling_session(name="layout-fuzz")
def layout_fuzz(session: nox.Session) -> None:
    """Run 500 random kernels on a GPU with `layout` and without; `-- --simulate` runs them on the simulator."""
    python = shared(session, "develop", "test", *([] if "--simulate" in session.posargs else ["gpu"]))
    python("ci/build.py", "layout", "--install")
    python("extensions/layout/tests/fuzz/run.py", *session.posargs)
