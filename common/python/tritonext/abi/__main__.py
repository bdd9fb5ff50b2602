"""``python -m tritonext.abi`` is ``tritonext abi``."""

from __future__ import annotations

from tritonext.cli import guarded

from .cli import main

if __name__ == "__main__":
    raise SystemExit(guarded(main))
