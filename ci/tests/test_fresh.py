"""Which packages of the machine a fresh environment sees."""

from __future__ import annotations

import pathlib
import subprocess
import sys

CI = pathlib.Path(__file__).resolve().parents[1]
ASK = """
import sys
sys.path.insert(0, sys.argv[1])
import fresh
print(fresh.system_has("json"), fresh.system_has("own"))
"""


def test_packages_of_the_system_are_told_from_those_of_the_environment(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    (packages,) = (tmp_path / "lib").glob("python*/site-packages")
    (packages / "own.py").write_text("")
    done = subprocess.run([tmp_path / "bin" / "python", "-c", ASK, CI], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
