"""The dynamic-linking view of an ELF file: what it needs, exports and leaves undefined.

The loader asks these questions of every extension library, and single symbols of ``libtriton.so``, each time a process
loads an extension. The file is therefore mapped rather than read, and a symbol is found through the GNU hash table the
way the dynamic linker finds it: a few microseconds a symbol in a library of half a gigabyte.
"""

from __future__ import annotations

import functools
import mmap
import os
import pathlib
import platform
import struct
from dataclasses import dataclass
from types import TracebackType

__all__ = ["Elf", "ElfError", "Symbol"]

_MACHINES = {62: "x86_64", 183: "aarch64"}

_ET_DYN = 3
_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 1, 4, 5, 6, 10
_DT_RPATH, _DT_RUNPATH = 15, 29
_DT_GNU_HASH, _DT_VERSYM = 0x6FFFFEF5, 0x6FFFFFF0
_STB_LOCAL, _STB_WEAK = 0, 2
_SYMBOL_SIZE = 24
_NT_GNU_BUILD_ID = 3

# What reading a table of wrong numbers ends in.
_DAMAGE = (struct.error, IndexError, KeyError, OverflowError, UnicodeDecodeError, ZeroDivisionError)


class ElfError(Exception):
    """The file is no 64-bit little-endian shared object, or its tables are damaged; the text says which."""


@dataclass(frozen=True)
class Symbol:
    """One entry of the dynamic symbol table.

    Attributes:
        name: The mangled name.
        defined: Whether this file defines it.
        weak: Whether it may stay undefined.
        versioned: Whether a symbol version binds it to one named library, such as ``GLIBC_2.17``.
    """

    name: str
    defined: bool
    weak: bool
    versioned: bool


class Elf:
    """A mapped ELF shared object; use as a context manager.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be opened.
        ElfError: It is not a shared object this machine could load.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < 64:
                raise ElfError("the file is too short for an ELF header")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._read_headers()
        except ElfError:
            self._data.close()
            raise
        except _DAMAGE as error:
            self._data.close()
            raise ElfError("the ELF headers are damaged or cut short") from error

    def __enter__(self) -> Elf:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._data.close()

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the libraries this one asks the dynamic linker to load."""
        return self._named(_DT_NEEDED)

    @property
    def search_paths(self) -> tuple[str, ...]:
        """Lists of directories in which this one asks the dynamic linker to look for them first."""
        return self._named(_DT_RPATH, _DT_RUNPATH)

    def _named(self, *tags: int) -> tuple[str, ...]:
        try:
            return tuple(self._string(value) for tag, value in self._dynamic if tag in tags)
        except _DAMAGE as error:
            raise ElfError("the dynamic section is damaged") from error

    @functools.cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """All global symbols of the dynamic table, in file order."""
        try:
            table = [self._symbol(index) for index in range(1, self._symbol_count())]
        except _DAMAGE as error:
            raise ElfError("the dynamic symbol table is damaged or cut short") from error
        return tuple(symbol for symbol in table if symbol)

    @functools.cached_property
    def build_id(self) -> str | None:
        """The GNU build id in hexadecimal, or None when the file carries none."""
        for kind, offset, _, size in self._segments:
            end = offset + size
            while kind == _PT_NOTE and offset + 12 <= end:
                name_size, size_of_note, note = self._unpack("<III", offset)
                body = offset + 12 + (name_size + 3 & ~3)
                if note == _NT_GNU_BUILD_ID and self._data[offset + 12 : offset + 16] == b"GNU\0":
                    return self._data[body : body + size_of_note].hex()
                offset = body + (size_of_note + 3 & ~3)
        return None

    def exports(self, name: str) -> bool:
        """Return whether the file defines the global symbol ``name``."""
        table = self._tags.get(_DT_GNU_HASH)
        if table is None:
            return any(symbol.name == name and symbol.defined for symbol in self.symbols)
        try:
            return self._hashed(name.encode(), table)
        except _DAMAGE as error:
            raise ElfError("the table of exported symbols is damaged or cut short") from error

    def _hashed(self, encoded: bytes, table: int) -> bool:
        """Look a symbol up as the dynamic linker does: Bloom filter, bucket, chain."""
        data = self._data
        hashed = 5381
        for byte in encoded:
            hashed = (hashed * 33 + byte) & 0xFFFFFFFF
        base = self._offset(table)
        bucket_count, first, bloom_size, bloom_shift = self._unpack("<IIII", base)
        word = self._unpack("<Q", base + 16 + 8 * ((hashed // 64) % bloom_size))[0]
        if not (word >> (hashed % 64)) & (word >> ((hashed >> bloom_shift) % 64)) & 1:
            return False
        buckets = base + 16 + 8 * bloom_size
        chains = buckets + 4 * bucket_count
        index = self._unpack("<I", buckets + 4 * (hashed % bucket_count))[0]
        while index >= first:
            chain = self._unpack("<I", chains + 4 * (index - first))[0]
            if chain | 1 == hashed | 1:
                offset, _, _, section = self._unpack("<IBBH", self._symbol_table + _SYMBOL_SIZE * index)
                start = self._strings + offset
                if section and data[start : start + len(encoded) + 1] == encoded + b"\0":
                    return True
            if chain & 1:
                return False
            index += 1
        return False

    def _read_headers(self) -> None:
        data = self._data
        if data[:4] != b"\x7fELF":
            raise ElfError("the file does not start like an ELF file")
        if data[4] != 2 or data[5] != 1:
            raise ElfError("the ELF file is not 64-bit little-endian")
        kind, machine = self._unpack("<HH", 16)
        if kind != _ET_DYN:
            raise ElfError("the ELF file is not a shared object")
        if _MACHINES.get(machine) != platform.machine():
            raise ElfError(
                f"the shared object is for {_MACHINES.get(machine, f'machine {machine}')}, not {platform.machine()}"
            )
        start = self._unpack("<Q", 32)[0]
        size, count = self._unpack("<HH", 54)
        self._segments = []
        for index in range(count):
            kind, _, offset, address, _, file_size = self._unpack("<IIQQQQ", start + index * size)
            if offset + file_size > len(data):
                raise ElfError("the ELF file is cut short")
            self._segments.append((kind, offset, address, file_size))
        dynamic = [segment for segment in self._segments if segment[0] == _PT_DYNAMIC]
        if not dynamic:
            raise ElfError("the ELF file has no dynamic section")
        self._dynamic: list[tuple[int, int]] = []
        for offset in range(dynamic[0][1], dynamic[0][1] + dynamic[0][3] - 15, 16):
            tag, value = self._unpack("<QQ", offset)
            if tag == 0:
                break
            self._dynamic.append((tag, value))
        self._tags = dict(self._dynamic)
        self._symbol_table = self._offset(self._tags[_DT_SYMTAB])
        self._strings = self._offset(self._tags[_DT_STRTAB])
        self._strings_end = self._strings + self._tags[_DT_STRSZ]

    def _unpack(self, layout: str, offset: int) -> tuple:
        return struct.unpack_from(layout, self._data, offset)

    def _offset(self, address: int) -> int:
        """Return where in the file the loaded ``address`` comes from."""
        for kind, offset, start, size in self._segments:
            if kind == _PT_LOAD and start <= address < start + size:
                return address - start + offset
        raise IndexError(address)

    def _string(self, offset: int) -> str:
        start = self._strings + offset
        end = self._data.find(b"\0", start, self._strings_end)
        if end < 0:
            raise IndexError(offset)
        return self._data[start:end].decode()

    def _symbol(self, index: int) -> Symbol | None:
        name, info, _, section = self._unpack("<IBBH", self._symbol_table + _SYMBOL_SIZE * index)
        if info >> 4 == _STB_LOCAL:
            return None
        versioned = False
        if _DT_VERSYM in self._tags:
            version = self._unpack("<H", self._offset(self._tags[_DT_VERSYM]) + 2 * index)[0]
            versioned = version & 0x7FFF > 1
        return Symbol(self._string(name), bool(section), info >> 4 == _STB_WEAK, versioned)

    def _symbol_count(self) -> int:
        """Return the length of the dynamic symbol table, which only the hash tables know."""
        if _DT_HASH in self._tags:
            return self._unpack("<II", self._offset(self._tags[_DT_HASH]))[1]
        base = self._offset(self._tags[_DT_GNU_HASH])
        bucket_count, first, bloom_size, _ = self._unpack("<IIII", base)
        buckets = base + 16 + 8 * bloom_size
        last = max(self._unpack(f"<{bucket_count}I", buckets), default=0)
        if last < first:
            return first
        chains = buckets + 4 * bucket_count
        while not self._unpack("<I", chains + 4 * (last - first))[0] & 1:
            last += 1
        return last + 1
