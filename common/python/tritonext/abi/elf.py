"""ELF sections by name, and the libraries that symbol versions are required of.

The rest of the SDK needs only the dynamic-linking view of :mod:`tritonext.elf`; debug information is found through the
section table, which this class adds.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from tritonext.elf import Elf, ElfError
from tritonext.errors import InvalidLibraryError, MissingLibraryError

__all__ = ["SectionedElf", "open_library"]

_SHF_COMPRESSED = 0x800
_SHT_NOBITS = 8
_COMPRESS_ZLIB = 1
_COMPRESSION_HEADER = 24


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


class SectionedElf(Elf):
    """A mapped shared object whose sections can be read by name."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        try:
            self._sections = self._read_sections()
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            self._data.close()
            raise ElfError("the section table is damaged or cut short") from error

    def _read_sections(self) -> dict[str, _Section]:
        (table,) = self._unpack("<Q", 40)
        entry_size, count, names = self._unpack("<HHH", 58)
        self._section_list = [
            (header[0], _Section(header[1], header[2], *header[4:8]))
            for header in (self._unpack("<IIQQQQIIQQ", table + index * entry_size) for index in range(count))
        ]
        if not self._section_list:
            return {}
        strings = self._section_list[names][1].offset
        sections: dict[str, _Section] = {}
        for name, section in self._section_list:
            sections.setdefault(self._text(strings + name), section)
        return sections

    def _text(self, start: int) -> str:
        end = self._data.find(b"\0", start)
        if end < 0:
            raise IndexError(start)
        return self._data[start:end].decode()

    def has(self, name: str) -> bool:
        """Return whether the file has a section ``name`` with content."""
        section = self._sections.get(name)
        return section is not None and section.kind != _SHT_NOBITS

    def section(self, name: str) -> bytes:
        """Return the content of section ``name``, decompressed; empty when the file has none.

        Raises:
            InvalidLibraryError: The section is compressed with anything but zlib, or is damaged.
        """
        if not self.has(name):
            return b""
        section = self._sections[name]
        content = self._data[section.offset : section.offset + section.size]
        if len(content) != section.size:
            raise InvalidLibraryError(f"section {name} is cut short", where=self.path)
        if not section.flags & _SHF_COMPRESSED:
            return content
        try:
            (kind,) = struct.unpack_from("<I", content)
            if kind != _COMPRESS_ZLIB:
                raise InvalidLibraryError(
                    f"section {name} is compressed with a method this check cannot undo",
                    where=self.path,
                    expected="no compression, or zlib",
                    found=f"ELF compression type {kind}",
                    hint="link with `-gz=none`",
                )
            return zlib.decompress(content[_COMPRESSION_HEADER:])
        except (struct.error, zlib.error) as error:
            raise InvalidLibraryError(f"section {name} cannot be decompressed", where=self.path, found=error) from error

    def providers(self) -> dict[str, str]:
        """Map each undefined symbol that carries a version to the library the version is required of.

        Raises:
            ElfError: The tables of versions are damaged.
        """
        if not (self.has(".gnu.version_r") and self.has(".dynsym")):
            return {}
        try:
            return self._providers()
        except (struct.error, IndexError, TypeError, UnicodeDecodeError) as error:
            raise ElfError("the tables of symbol versions are damaged or cut short") from error

    def _providers(self) -> dict[str, str]:
        libraries = self._required_versions()
        versions = memoryview(self.section(".gnu.version")).cast("H")
        strings = self._section_list[self._sections[".dynsym"].link][1].offset
        found = {}
        for index, (name, _, _, section, _, _) in enumerate(struct.iter_unpack("<IBBHQQ", self.section(".dynsym"))):
            library = libraries.get(versions[index] & 0x7FFF)
            if library and name and not section:
                found[self._text(strings + name)] = library
        return found

    def _required_versions(self) -> dict[int, str]:
        section = self._sections[".gnu.version_r"]
        strings = self._section_list[section.link][1].offset
        libraries, base = {}, section.offset
        for _ in range(section.info):
            _, count, file, auxiliary, following = self._unpack("<HHIII", base)
            entry = base + auxiliary
            for _ in range(count):
                _, _, index, _, step = self._unpack("<IHHII", entry)
                libraries[index] = self._text(strings + file)
                entry += step
            base += following
        return libraries


@contextlib.contextmanager
def open_library(path: str | os.PathLike[str]) -> Iterator[SectionedElf]:
    """Open a shared library for the duration of the block.

    Raises:
        MissingLibraryError: The file does not exist or cannot be read.
        InvalidLibraryError: It is no shared library for this machine, or a table that the block reads is damaged.
    """
    try:
        elf = SectionedElf(path)
    except OSError as error:
        raise MissingLibraryError("the library cannot be opened", where=path, found=error) from error
    except ElfError as error:
        raise _unreadable(path, error) from error
    with elf:
        try:
            yield elf
        except ElfError as error:
            raise _unreadable(path, error) from error


def _unreadable(path: str | os.PathLike[str], error: ElfError) -> InvalidLibraryError:
    return InvalidLibraryError(
        "the file is not a shared library", where=path, expected="an ELF shared object for this machine", found=error
    )
