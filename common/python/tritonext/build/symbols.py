"""Check what a plugin exports and which libraries it names, and find the objects that a symbol comes from."""

from __future__ import annotations

import pathlib
from collections import defaultdict

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from .._triton import plugin
from ..elf import Elf
from ..errors import AbiError

__all__ = ["EXPORTS", "check", "compiler", "describe_users", "imported_versions"]

EXPORTS = frozenset({plugin.PLUGIN_ENTRY, plugin.EXTENSION_ENTRY})
"""The symbols an extension library exports, and no others."""

_LIBRARIES = frozenset({"libtriton.so", "libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6"})
# Each libc names its dynamic linker; both spellings belong to the machines Triton publishes wheels for.
_LINKERS = frozenset({"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})

_SHOWN = 12


def check(library: pathlib.Path, objects: pathlib.Path) -> None:
    """Check that ``library`` exports the two entry points alone and is linked to what a Triton wheel brings.

    Args:
        library: The plugin.
        objects: Directory of the object files it was linked from, to name where a symbol comes from.

    Raises:
        AbiError: A symbol or library is not on its list; the details name each, and the objects behind it.
    """
    with Elf(library) as elf:
        exported = {symbol.name for symbol in elf.symbols if symbol.defined}
        foreign = set(elf.needed) - _LIBRARIES - _LINKERS
    if extra := exported - EXPORTS:
        raise AbiError(
            "the library exports symbols of its own, which could clash with another extension's",
            where=library.name,
            expected=", ".join(sorted(EXPORTS)),
            found=f"{len(extra)} more",
            details=describe_users(extra, objects, defined=True),
            hint="remove the visibility attribute, or make the symbol static",
        )
    if absent := EXPORTS - exported:
        raise AbiError(
            "the library lacks an entry point",
            where=library.name,
            expected=", ".join(sorted(EXPORTS)),
            found=f"no {', '.join(sorted(absent))}",
            hint="build it with tritonext_add_extension()",
        )
    if foreign:
        raise AbiError(
            "the library is linked to libraries that a Triton wheel does not bring",
            where=library.name,
            expected=", ".join(sorted(_LIBRARIES)),
            found=", ".join(sorted(foreign)),
            hint="link nothing but what tritonext_add_extension() links",
        )


def describe_users(names: set[str], objects: pathlib.Path, *, defined: bool) -> list[str]:
    """Return one line for each symbol: its readable name and the object files that define or need it."""
    users = defaultdict(list)
    for path in sorted(objects.rglob("*.o")):
        with open(path, "rb") as file:
            try:
                sections = [s for s in ELFFile(file).iter_sections() if isinstance(s, SymbolTableSection)]
            except ELFError:
                continue
            for section in sections:
                for symbol in section.iter_symbols():
                    if symbol.name in names and (symbol["st_shndx"] != "SHN_UNDEF") == defined:
                        users[symbol.name].append(path.name)
    shown = sorted(names)[:_SHOWN]
    lines = [
        text + (f" in {', '.join(users[name])}" if users[name] else "")
        for name, text in zip(shown, plugin.demangle(shown), strict=True)
    ]
    if len(names) > len(shown):
        lines.append(f"and {len(names) - len(shown)} more")
    return lines


def imported_versions(library: pathlib.Path) -> dict[str, set[str]]:
    """Return the symbols ``library`` imports, by the version each asks for, such as ``GLIBC_2.17``."""
    imports = defaultdict(set)
    with open(library, "rb") as file:
        elf = ELFFile(file)
        needed = elf.get_section_by_name(".gnu.version_r")
        versions = elf.get_section_by_name(".gnu.version")
        symbols = elf.get_section_by_name(".dynsym")
        if needed is None or versions is None or symbols is None:
            return {}
        names = {auxiliary["vna_other"]: auxiliary.name for _, group in needed.iter_versions() for auxiliary in group}
        for symbol, version in zip(symbols.iter_symbols(), versions.iter_symbols(), strict=True):
            if symbol["st_shndx"] == "SHN_UNDEF" and version["ndx"] in names:
                imports[names[version["ndx"]]].add(symbol.name)
    return dict(imports)


def compiler(library: pathlib.Path) -> str:
    """Return the compiler of an unstripped library, as ``clang 23.1.4``, from the comment each object carries.

    Raises:
        AbiError: The comment names no clang.
    """
    with open(library, "rb") as file:
        section = ELFFile(file).get_section_by_name(".comment")
        comments = section.data().decode(errors="replace").split("\0") if section else []
    for comment in comments:
        words = comment.split()
        if "clang" in words and "version" in words:
            return f"clang {words[words.index('version') + 1]}"
    raise AbiError(
        "the library does not say which clang compiled it",
        where=library.name,
        found="; ".join(filter(None, comments)) or "no comment section",
        hint="build it with the toolchain of `tritonext toolchain`",
    )
