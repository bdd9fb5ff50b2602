"""Makes the modules of benchmarks/ importable, as they are when a script there runs."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
