"""Makes the package of kernels and the tools beside it importable: tests compile, simulate and run the same ones."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
