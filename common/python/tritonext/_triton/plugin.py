"""Triton's plugin interface: opening a library, asking what it contains, and binding it.

``bind`` holds the only calls that make Triton know a library. They changed between the last releases and are about to
change again (triton-lang/triton#11167), so a Triton whose calls differ is refused by name instead of half-bound.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

from tritonext.errors import ExtensionError, IncompatibleLibraryError, InvalidLibraryError, OptionError

__all__ = [
    "EXTENSION_ENTRY",
    "PLUGIN_ENTRY",
    "STOCK_DIALECTS",
    "ExtensionFacts",
    "Native",
    "PluginFacts",
    "bind",
    "demangle",
    "open_library",
    "taken_names",
]

PLUGIN_ENTRY = "tritonGetPluginInfo"
EXTENSION_ENTRY = "tritonextGetExtensionInfo"

_INFO_VERSION = 2

STOCK_DIALECTS = frozenset(
    {
        *("amdg", "arith", "builtin", "cf", "gluon", "gpu", "llvm", "math", "nvg", "nvvm", "nvws", "proton"),
        *("proton_gpu", "rocdl", "scf", "tt", "ttg", "tti", "ttng", "ub"),
    }
)
"""Dialects the stock wheel registers. MLIR aborts the process when a second dialect takes one of these names."""

_CALLS = ("passes.plugin.extend_with", "ir.extend_dialects_with", "ir.builder.extend_with")


class _PassInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("add", ctypes.c_void_p),
        ("register", ctypes.c_void_p),
    ]


class _DialectInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("version", ctypes.c_char_p), ("register", ctypes.c_void_p)]


class _OpInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("add", ctypes.c_void_p)]


class _PluginInfo(ctypes.Structure):
    _fields_ = [
        ("api", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("passes", ctypes.POINTER(_PassInfo)),
        ("pass_count", ctypes.c_size_t),
        ("dialects", ctypes.POINTER(_DialectInfo)),
        ("dialect_count", ctypes.c_size_t),
        ("ops", ctypes.POINTER(_OpInfo)),
        ("op_count", ctypes.c_size_t),
        ("triton", ctypes.c_char_p),
    ]


class _ExtensionInfo(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("id", ctypes.c_char_p),
        ("extension_version", ctypes.c_char_p),
        ("triton", ctypes.c_char_p),
        ("llvm_commit", ctypes.c_char_p),
        ("compiler", ctypes.c_char_p),
        ("describe", ctypes.CFUNCTYPE(ctypes.c_char_p)),
        ("check_pass_options", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p)),
        ("self_test", ctypes.CFUNCTYPE(ctypes.c_char_p)),
        ("begin_remarks", ctypes.CFUNCTYPE(None)),
        ("end_remarks", ctypes.CFUNCTYPE(ctypes.c_char_p)),
        ("begin_diagnostics", ctypes.CFUNCTYPE(None)),
        ("end_diagnostics", ctypes.CFUNCTYPE(ctypes.c_char_p)),
    ]


@dataclass(frozen=True)
class PluginFacts:
    """What a library tells Triton about itself."""

    api: int
    name: str
    version: str
    triton: str
    passes: tuple[str, ...]
    dialects: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class ExtensionFacts:
    """What an extension library additionally tells tritonext about its build."""

    id: str
    version: str
    triton: str
    llvm_commit: str
    compiler: str


class Native:
    """An opened library: its self-description, and the functions of its extension interface.

    Args:
        path: The library.
        library: Its handle.
        plugin_api: Number of the plugin interface of the installed Triton; None when the wheel does not say.
    """

    def __init__(self, path: pathlib.Path, library: ctypes.CDLL, plugin_api: int | None) -> None:
        self.path = path
        self._library = library
        self.plugin = self._plugin_facts(plugin_api)
        self._info = self._extension_info()

    @functools.cached_property
    def extension(self) -> ExtensionFacts | None:
        """Build facts, or None when the library is a plain Triton plugin."""
        if self._info is None:
            return None
        info = self._info
        return ExtensionFacts(
            id=_text(info.id),
            version=_text(info.extension_version),
            triton=_text(info.triton),
            llvm_commit=_text(info.llvm_commit),
            compiler=_text(info.compiler),
        )

    @functools.cached_property
    def description(self) -> dict:
        """The passes (flag, name, default options), dialects and ops that are compiled in."""
        return self._json("describe")

    def check_pass_options(self, name: str, options: str) -> None:
        """Parse the text ``options`` (``k=v k=v``) with the option parser of the pass ``name``.

        Raises:
            OptionError: The parser refuses it; the message is the parser's.
        """
        message = self._require().check_pass_options(name.encode(), options.encode())
        if message is not None:
            raise OptionError(
                f"the pass {name} does not accept its options",
                found=options,
                where=self.path.name,
                details=message.decode(errors="replace").strip().splitlines(),
            )

    def self_test(self) -> dict:
        """Return the library's own check that it and libtriton agree on trait and interface identities."""
        return self._json("self_test")

    def begin_remarks(self) -> None:
        """Start to collect the remarks of passes that run on this thread; calls nest."""
        self._require().begin_remarks()

    def end_remarks(self) -> list[dict]:
        """Return the remarks collected on this thread since the matching :meth:`begin_remarks`."""
        return _lines(self._require().end_remarks())

    def begin_diagnostics(self) -> None:
        """Start to collect the errors of passes that run on this thread; calls nest."""
        self._require().begin_diagnostics()

    def end_diagnostics(self) -> list[dict]:
        """Return the passes that failed since the matching :meth:`begin_diagnostics`, with their errors."""
        return _lines(self._require().end_diagnostics())

    def _require(self) -> _ExtensionInfo:
        if self._info is None:
            raise InvalidLibraryError(
                "the library is a plain Triton plugin without the interface of an extension",
                where=self.path,
                expected=f"an exported function {EXTENSION_ENTRY}",
            )
        return self._info

    def _json(self, function: str) -> dict:
        text = getattr(self._require(), function)()
        try:
            return json.loads(text)
        except (TypeError, ValueError) as error:
            raise InvalidLibraryError(
                "the library describes itself with malformed JSON", where=f"{self.path}: {function}", found=repr(text)
            ) from error

    def _plugin_facts(self, plugin_api: int | None) -> PluginFacts:
        function = getattr(self._library, PLUGIN_ENTRY)
        function.restype = ctypes.POINTER(ctypes.c_uint32)
        pointer = function()
        if not pointer:
            raise InvalidLibraryError(
                "the plugin entry point returns nothing",
                where=self.path,
                expected="a description of the plugin",
                hint="build it with `tritonext_add_extension()`",
            )
        # The layout of everything behind the number depends on the number.
        if plugin_api is not None and pointer[0] != plugin_api:
            raise IncompatibleLibraryError(
                "the library was built for another plugin interface",
                where=self.path,
                expected=f"plugin interface {plugin_api}",
                found=f"plugin interface {pointer[0]}",
                hint="rebuild it against the installed triton",
            )
        info = ctypes.cast(pointer, ctypes.POINTER(_PluginInfo)).contents
        return PluginFacts(
            api=info.api,
            name=_text(info.name),
            version=_text(info.version),
            triton=_text(info.triton),
            passes=tuple(_text(info.passes[index].name) for index in range(info.pass_count)),
            dialects=tuple(_text(info.dialects[index].name) for index in range(info.dialect_count)),
            ops=tuple(_text(info.ops[index].name) for index in range(info.op_count)),
        )

    def _extension_info(self) -> _ExtensionInfo | None:
        try:
            function = getattr(self._library, EXTENSION_ENTRY)
        except AttributeError:
            return None
        function.restype = ctypes.POINTER(_ExtensionInfo)
        pointer = function()
        if not pointer or pointer.contents.version < _INFO_VERSION:
            raise InvalidLibraryError(
                "the extension entry point returns no usable description",
                where=self.path,
                expected=f"version {_INFO_VERSION} or newer",
                found=f"version {pointer.contents.version}" if pointer else "nothing",
                hint="rebuild it with this release of tritonext",
            )
        return pointer.contents


def open_library(path: pathlib.Path, plugin_api: int | None) -> Native:
    """Open a library with every symbol bound at once, and read what it says about itself.

    Args:
        path: The library; the caller has checked that it is a shared object with Triton's entry point.
        plugin_api: Number of the plugin interface of the installed Triton.

    Raises:
        IncompatibleLibraryError: A symbol or library it needs is absent, or its plugin interface differs.
        InvalidLibraryError: Its entry points return nothing usable.
    """
    # The library's only link to LLVM is libtriton by name, which the dynamic linker finds because it is in memory.
    _libtriton()
    try:
        library = ctypes.CDLL(os.fspath(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        match = re.search(r"undefined symbol: (\S+?)(,|$)", str(error))
        details = [f"missing: {name}" for name in demangle([match[1]])] if match else []
        raise IncompatibleLibraryError(
            "the library cannot be loaded into this process",
            where=path,
            found=str(error).removeprefix(f"{path}: "),
            details=details,
            hint="rebuild it against the installed triton on this system",
        ) from error
    return Native(path, library, plugin_api)


def bind(path: pathlib.Path) -> None:
    """Make Triton know the passes, dialects and ops of an opened library.

    Raises:
        ExtensionError: The installed Triton binds plugins by other calls than this release knows.
        IncompatibleLibraryError: Triton itself refuses the library.
    """
    for name, function in [(call, _resolve(call)) for call in _CALLS]:
        try:
            function(os.fspath(path))
        except RuntimeError as error:
            raise IncompatibleLibraryError(
                "triton refuses the library", where=path, found=f"{name}: {error}", hint="rebuild the extension"
            ) from error


def taken_names() -> tuple[set[str], set[str], set[str]]:
    """Return the names of passes, dialects and ops that a new library must not use, loaded or stock."""
    libtriton = _libtriton()
    passes = {name.removeprefix("add_") for name in dir(libtriton.passes.plugin) if name.startswith("add_")}
    ops = {name.removeprefix("create_") for name in dir(libtriton.ir.builder) if name.startswith("create_")}
    return passes, set(STOCK_DIALECTS), ops


def demangle(names: list[str]) -> list[str]:
    """Return C++ symbol names in readable form, or unchanged when the system has no demangler."""
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if tool is None:
        return names
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        text = "\n".join(names)
        done = subprocess.run([tool], input=text, capture_output=True, text=True, timeout=10, check=True)
        lines = done.stdout.splitlines()
        if len(lines) == len(names):
            return lines
    return names


def _resolve(call: str) -> Any:
    """Return the function behind the dotted name of one of the binding calls."""
    value = _libtriton()
    for part in call.split("."):
        value = getattr(value, part, None)
    if value is None:
        import triton

        raise ExtensionError(
            "the installed triton loads plugins in a way this tritonext does not know",
            expected=f"a function libtriton.{call}",
            found=f"triton {triton.__version__}",
            hint="install the triton release the extension was built for, or upgrade tritonext",
        )
    return value


def _libtriton() -> Any:
    try:
        from triton._C import libtriton
    except ImportError as error:
        raise ExtensionError(
            "the installed triton cannot be imported",
            found=str(error),
            hint="reinstall it with `pip install --force-reinstall triton`",
        ) from error
    return libtriton


def _lines(text: bytes | None) -> list[dict]:
    return [json.loads(line) for line in (text or b"").decode().splitlines() if line]


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")
