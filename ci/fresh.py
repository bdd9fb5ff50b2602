"""Run a script in a fresh environment that holds stock Triton and the named wheels of dist/, as a user would have it.

    python ci/fresh.py --wheels layout -- ci/demo.py

The environment is made anew each time. Where the system's Python, of which all environments are made, has torch, the
environment sees the packages of that one, because the script may use torch where there is a GPU.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys

import build
import workspace

ENVIRONMENT = workspace.ROOT / "build" / "fresh"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", nargs="+", required=True, metavar="ID", help="extensions to install")
    parser.add_argument("command", nargs="+", help="script to run in the environment, and its arguments")
    arguments = parser.parse_args(argv)

    wheels = [next(build.DIST.glob("tritonext-*.whl"))]
    wheels += [next(build.DIST.glob(f"tritonext_{name}-*.whl")) for name in arguments.wheels]
    options = ["--system-site-packages"] if system_has("torch") else []
    build.run(sys.executable, "-m", "venv", "--clear", *options, ENVIRONMENT)
    python = ENVIRONMENT / "bin" / "python"
    build.run(python, "-m", "pip", "install", "-q", *wheels)
    raise SystemExit(subprocess.run([python, *arguments.command], check=False).returncode)


def system_has(module: str) -> bool:
    """Say whether the Python of which this environment was made has ``module``; this environment may not see it."""
    python = pathlib.Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


if __name__ == "__main__":
    main()
