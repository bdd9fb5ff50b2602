"""Out-of-tree compiler extensions for the stock Triton wheel.

``import tritonext`` imports neither Triton nor any extension; each public name is resolved when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .activation import active, enable, use, use_stock
    from .errors import TritonextError
    from .loader import load, load_library, loaded
    from .pipeline import (
        Anchor,
        KernelOption,
        PassRef,
        Pipeline,
        Step,
        disable_pass,
        guard_resources,
        insert_after,
        insert_before,
        replace_pass,
        replace_pipeline,
        replace_stage,
        wrap_stage,
    )
    from .registry import extension, installed

__all__ = [
    "Anchor",
    "KernelOption",
    "PassRef",
    "Pipeline",
    "Step",
    "TritonextError",
    "__version__",
    "active",
    "disable_pass",
    "enable",
    "extension",
    "guard_resources",
    "insert_after",
    "insert_before",
    "installed",
    "load",
    "load_library",
    "loaded",
    "replace_pass",
    "replace_pipeline",
    "replace_stage",
    "use",
    "use_stock",
    "wrap_stage",
]

_HOMES = {
    "activation": ("active", "enable", "use", "use_stock"),
    "errors": ("TritonextError",),
    "loader": ("load", "load_library", "loaded"),
    "pipeline": (
        "Anchor",
        "KernelOption",
        "PassRef",
        "Pipeline",
        "Step",
        "disable_pass",
        "guard_resources",
        "insert_after",
        "insert_before",
        "replace_pass",
        "replace_pipeline",
        "replace_stage",
        "wrap_stage",
    ),
    "registry": ("extension", "installed"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_SUBMODULES = frozenset({"abi", "errors", "explain", "manifest", "remarks", "testing", "toolchain"})


def __getattr__(name: str) -> object:
    if name == "__version__":
        from .versions import load as versions

        return versions()["tritonext"]["version"]
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
