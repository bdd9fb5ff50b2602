"""Sessions of the repository. The SDK is not published: TRITONEXT_WHEEL names its wheel, a file or a URL."""

from __future__ import annotations

import os
import pathlib

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True

DIST = pathlib.Path("dist")


def install_sdk(session: nox.Session) -> None:
    """Install the SDK with what builds and tests an extension."""
    wheel = os.environ.get("TRITONEXT_WHEEL")
    if not wheel:
        session.error("expected TRITONEXT_WHEEL to name the wheel of tritonext, a file or a URL")
    if "://" not in wheel:
        wheel = pathlib.Path(wheel).resolve(strict=True).as_uri()
    session.install(f"tritonext[build,develop] @ {wheel}")


@nox.session
def tests(session: nox.Session) -> None:
    """Build the wheel into dist/, install it, and run its tests and the conformance suite."""
    install_sdk(session)
    for stale in DIST.glob("tritonext_{{cookiecutter.id}}-*.whl"):
        stale.unlink()
    session.run("tritonext", "toolchain")
    session.run("python", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "dist", ".")
    (wheel,) = DIST.glob("tritonext_{{cookiecutter.id}}-*.whl")
    session.install("--no-deps", "--force-reinstall", str(wheel))
    session.run("python", "-m", "pytest", "--tritonext-conformance", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style of Python and C++; `-- --fix` mends what tools can mend."""
    fix = "--fix" in session.posargs
    session.install("ruff", "clang-format")
    session.run("ruff", "check", *(["--fix"] if fix else []), ".")
    session.run("ruff", "format", *([] if fix else ["--check"]), ".")
    files = [path for root in ("include", "lib") for path in pathlib.Path(root).rglob("*")]
    sources = [str(path) for path in files if path.suffix in (".h", ".cpp")]
    if sources:
        style = "--style={BasedOnStyle: LLVM, ColumnLimit: 100}"
        session.run("clang-format", style, *(["-i"] if fix else ["--dry-run", "--Werror"]), *sources)
