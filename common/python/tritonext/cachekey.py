"""Content digests: what a compiled kernel's cache key must change with when a pipeline is active.

Everything here is computed once per process. A loaded library cannot be unloaded, so a file that changes afterwards
describes code this process does not run; the next process sees it.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import pathlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping

from .errors import PipelineError

__all__ = ["callable_key", "digest", "extension_digest", "files_digest"]

_SCALARS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))


def digest(*parts: str) -> str:
    """Return the sha256 of ``parts``, kept apart so that moving text between neighbours changes it."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@functools.cache
def _file_digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_digest(files: Mapping[str, pathlib.Path]) -> str:
    """Return a digest of names and contents.

    Args:
        files: Files by the name they are known under, so that moving an installation changes nothing.
    """
    return digest(*(f"{name} {_file_digest(path)}" for name, path in sorted(files.items())))


@functools.cache
def extension_digest(identifier: str) -> str:
    """Return a digest of an extension: its id, version, library, Python files, and what it requires.

    Of a library that was loaded by path there is only the library.

    Raises:
        ExtensionError: It is neither loaded nor soundly installed.
    """
    from . import loader, registry

    library = loader.loaded().get(identifier)
    if library is not None and library.extension is None:
        return digest(identifier, files_digest({library.path.name: library.path}))
    extension = registry.extension(identifier)
    files = {path.relative_to(extension.root).as_posix(): path for path in extension.files()}
    if extension.library.exists():
        files[extension.library.name] = extension.library
    required = [extension_digest(requirement.id) for requirement in extension.manifest.requires]
    return digest(extension.id, extension.version, files_digest(files), *required)


def callable_key(function: Callable, where: str) -> str:
    """Return a key that changes with the code of ``function`` and with what that code refers to.

    The source text and the code of the function are followed through the functions and constants it captures or reads
    from its module, so that an edited helper counts as well.

    Args:
        function: The callable of a step.
        where: Step it belongs to, for the message.

    Raises:
        PipelineError: The source is not available, or something the function refers to has no stable content.
    """
    seen: set[int] = set()
    return digest(*_callable_parts(function, where, seen))


def _callable_parts(function: object, where: str, seen: set[int]) -> Iterable[str]:
    if isinstance(function, functools.partial):
        yield from _callable_parts(function.func, where, seen)
        for value in (*function.args, *(item for pair in sorted(function.keywords.items()) for item in pair)):
            yield from _value_parts(value, where, seen)
        return
    if isinstance(function, types.MethodType):
        raise _no_content(where, f"a method bound to an instance of {type(function.__self__).__name__}")
    if not isinstance(function, types.FunctionType):
        raise _no_content(where, f"an object of type {type(function).__name__}")
    if id(function) in seen:
        return
    seen.add(id(function))
    try:
        yield inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise _no_content(where, f"{function.__qualname__}, whose source is not available") from error
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield from _value_parts(value, where, seen)
    # The functions and comprehensions inside it refer to things too.
    codes = list(_codes(function.__code__))
    for code in codes:
        # Two lambdas of one line have one source text.
        yield code.co_code.hex()
        yield from (repr(constant) for constant in code.co_consts if isinstance(constant, _SCALARS))
    names = {name for code in codes for name in code.co_names if name in function.__globals__}
    captured = {name: function.__globals__[name] for name in names} | inspect.getclosurevars(function).nonlocals
    for name, value in sorted(captured.items()):
        yield name
        yield from _value_parts(value, where, seen)


def _codes(code: types.CodeType) -> Iterable[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _value_parts(value: object, where: str, seen: set[int]) -> Iterable[str]:
    if isinstance(value, _SCALARS):
        yield repr(value)
    elif isinstance(value, list | tuple | dict):
        yield type(value).__name__
        if not isinstance(value, tuple):
            # A tuple cannot hold itself but through one of these.
            if id(value) in seen:
                return
            seen.add(id(value))
        for item in value:
            yield from _value_parts(item, where, seen)
            if isinstance(value, dict):
                yield from _value_parts(value[item], where, seen)
    elif isinstance(value, types.ModuleType):
        yield _module_part(value)
    elif isinstance(value, types.BuiltinFunctionType):
        yield f"{value.__module__}.{value.__qualname__}"
    elif isinstance(value, type):
        yield f"{value.__module__}.{value.__qualname__}"
        module = sys.modules.get(value.__module__)
        if module is not None:
            yield _module_part(module)
    else:
        yield from _callable_parts(value, where, seen)


def _module_part(module: types.ModuleType) -> str:
    """Identify a module by its content, or by name where the interpreter or Triton's own key already covers it."""
    top = module.__name__.partition(".")[0]
    file = getattr(module, "__file__", None)
    if top in sys.stdlib_module_names or top == "triton" or not file or not file.endswith(".py"):
        return module.__name__
    return f"{module.__name__} {_file_digest(pathlib.Path(file))}"


def _no_content(where: str, found: str) -> PipelineError:
    return PipelineError(
        "the callable of a step has no content that a cache key could cover",
        where=where,
        expected="a Python function that refers to functions, modules and constants",
        found=found,
        hint="pass key=… with a text that changes whenever the behaviour does",
    )
