"""The layout table of a library: what its debug information says about every type, in a form that can be kept."""

from __future__ import annotations

import hashlib
import json
import logging
import lzma
import os
import pathlib
import struct
from dataclasses import dataclass, field

from tritonext import env
from tritonext.errors import AbiError
from tritonext.toolchain import cache

from .dwarf import DebugInfo, Layout
from .elf import open_library

__all__ = ["SCHEMA", "Function", "Table", "cached", "extract"]

_log = logging.getLogger("tritonext.abi")

SCHEMA = 2
"""Version of the stored form; a table of another version is extracted again."""

_CPLUSPLUS = frozenset({0x04, 0x1A, 0x21, 0x2B, 0x2C, 0x3A})

Function = tuple[int, int]
"""The vtable slot of a member function (-1 for none) and the line of its declaration."""


@dataclass
class Table:
    """Everything the comparison needs from one library.

    Attributes:
        build_id: GNU build id of the library, or an empty string.
        producers: The compilers of its C++ units, as they describe themselves.
        types: For each type, by qualified name, its definitions; more than one when units disagree.
        functions: For each class, its member functions by linkage name, as far as units mention them.
    """

    build_id: str
    producers: tuple[str, ...]
    types: dict[str, tuple[Layout, ...]] = field(default_factory=dict)
    functions: dict[str, dict[str, Function]] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to ``path`` (``.json.xz``) so that no reader sees half of it."""
        content = {
            "schema": SCHEMA,
            "build_id": self.build_id,
            "producers": self.producers,
            "types": self.types,
            "functions": self.functions,
        }
        text = json.dumps(content, separators=(",", ":"), sort_keys=True)
        cache.atomic_write(pathlib.Path(path), lzma.compress(text.encode(), preset=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Table:
        """Read a table written by :meth:`save`.

        Raises:
            AbiError: The file cannot be read, is damaged, or has another schema.
        """
        try:
            content = json.loads(lzma.decompress(pathlib.Path(path).read_bytes()))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']} instead of {SCHEMA}")
            return cls(
                content["build_id"],
                tuple(content["producers"]),
                {name: tuple(map(_layout, variants)) for name, variants in content["types"].items()},
                {
                    name: {key: tuple(value) for key, value in each.items()}
                    for name, each in content["functions"].items()
                },
            )
        except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
            raise AbiError(
                "the layout table cannot be read",
                where=path,
                expected=f"a table of schema {SCHEMA}",
                found=error,
                hint="rebuild the extension with this release of tritonext",
            ) from error


def _layout(value: list) -> Layout:
    kind, size, alignment, bases, members, vtable, enumerators, underlying = value
    return Layout(
        kind,
        size,
        alignment,
        tuple(map(tuple, bases)),
        tuple(map(tuple, members)),
        tuple(map(tuple, vtable)),
        tuple(map(tuple, enumerators)),
        underlying,
    )


def extract(path: str | os.PathLike[str], *, keep_functions: bool = True) -> Table:
    """Read the layout table out of the debug information of a library.

    Args:
        path: A library with debug information, a plugin or libtriton.
        keep_functions: Keep the member functions of classes that are defined, not only of those merely declared. The
            side that is compared with others needs them; for libtriton they would double the table.

    Raises:
        MissingLibraryError: The file does not exist or cannot be read.
        InvalidLibraryError: It is no shared library, or its debug information is missing, split or damaged.
    """
    with open_library(path) as elf:
        info = DebugInfo(elf, keep_functions)
        types: dict[str, dict[Layout, None]] = {}
        functions: dict[str, dict[str, Function]] = {}
        producers: dict[str, None] = {}
        for unit in info.units:
            try:
                for name, layout in unit.definitions():
                    types.setdefault(name, {})[layout] = None
                for name, linkage, slot, line in unit.functions():
                    functions.setdefault(name, {})[linkage] = (slot, line)
            except (struct.error, IndexError, KeyError, ValueError, RecursionError) as error:
                raise info.damaged(unit.start, error) from error
            if unit.language in _CPLUSPLUS:
                producers[unit.producer] = None
            unit.release()
        if not keep_functions:
            functions = {name: each for name, each in functions.items() if name not in types}
        layouts = {name: tuple(each) for name, each in types.items()}
        return Table(elf.build_id or "", tuple(producers), layouts, functions)


def cached(path: str | os.PathLike[str]) -> tuple[Table, str]:
    """Return the table of a large library, extracting it only the first time its build is seen.

    Args:
        path: The library, usually libtriton.

    Returns:
        The table, and a sentence on where it came from.

    Raises:
        MissingLibraryError, InvalidLibraryError: As :func:`extract`.
    """
    with open_library(path) as elf:
        key = elf.build_id
    if key is None:
        with open(path, "rb") as file:
            key = hashlib.file_digest(file, "sha256").hexdigest()
    stored = env.cache_dir() / "abi" / f"{key}.json.xz"
    if stored.is_file():
        try:
            return Table.load(stored), f"cached table {stored}"
        except AbiError as error:
            _log.info("the cached table is extracted again: %s", error.found)
    _log.info("reading the debug information of %s; this takes half a minute, once", pathlib.Path(path).name)
    table = extract(path, keep_functions=False)
    try:
        table.save(stored)
    except OSError as error:
        return table, f"read from the debug information, not cached: {error}"
    return table, f"read from the debug information, cached as {stored}"
