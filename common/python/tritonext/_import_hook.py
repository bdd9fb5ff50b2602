"""Calling a function right after a module was imported, without importing it, or when imports under way are done.

Uses the standard library only: it runs at interpreter start when ``TRITONEXT_ENABLE`` is set.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType

__all__ = ["when_complete", "when_imported"]


def when_imported(name: str, function: Callable[[ModuleType], None]) -> None:
    """Call ``function`` with the module ``name`` once it is imported, at once when it is already.

    An exception of ``function`` is an exception of the import.
    """
    module = sys.modules.get(name)
    if module is not None:
        function(module)
    else:
        sys.meta_path.insert(0, _Finder(name, function))


def when_complete(prefix: str, function: Callable[[], None]) -> None:
    """Call ``function`` once the import under way of modules whose names begin with ``prefix`` is over.

    Calls it at once when there is none. An exception of ``function`` is one of the import of the outermost of them.
    """
    for name, module in tuple(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        # Modules are in the order in which their imports began. Any other module lacks the attribute, or is complete.
        if name.startswith(prefix) and getattr(spec, "_initializing", False) and type(spec) in _SPECS:
            if type(spec) is importlib.machinery.ModuleSpec:
                spec.__class__ = _Spec
                spec._calls = []
            spec._calls.append(function)
            return
    function()


class _Spec(importlib.machinery.ModuleSpec):
    """The specification of a module in an import under way, with what is to be called at its end."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            self.__class__ = importlib.machinery.ModuleSpec
            for function in self.__dict__.pop("_calls"):
                function()


_SPECS = (importlib.machinery.ModuleSpec, _Spec)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders would, once, with a loader that calls back."""

    def __init__(self, name: str, function: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._function = function
        # By thread: a search that merely asks where the module is must not hide it from another thread's import.
        self._local = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name or getattr(self._local, "searching", False):
            return None
        self._local.searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._local.searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self, self._function)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, finder: _Finder, function: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._finder = finder
        self._function = function

    def __getattr__(self, name: str) -> object:
        # Resource readers and source views are reached through the loader.
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # What runs from here on sees the module as if the hook had never been there.
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._function(module)
