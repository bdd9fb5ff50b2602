"""The pins of ``versions.toml``, as the installed package or the source tree carries them."""

from __future__ import annotations

import functools
import importlib.resources
import tomllib
from typing import Any

__all__ = ["load"]


@functools.cache
def load() -> dict[str, Any]:
    """Return the parsed ``versions.toml``; callers must not modify it."""
    return tomllib.loads(importlib.resources.files(__package__).joinpath("versions.toml").read_text("utf-8"))
