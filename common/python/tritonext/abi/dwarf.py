"""Reads type definitions out of DWARF 4 and 5 debug information.

Only what decides a layout is decoded. Each abbreviation is compiled once into a fixed-size ``struct`` format where its
forms allow it, so a debugging entry costs one unpack call and function bodies, which are most of the data, are stepped
over by adding sizes.
"""

from __future__ import annotations

import bisect
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from tritonext.errors import InvalidLibraryError

from .elf import SectionedElf

__all__ = ["DebugInfo", "Layout", "Unit", "is_local", "normalize"]


class Layout(NamedTuple):
    """What one definition says about a type; hashable, so equal definitions of many units collapse.

    Attributes:
        kind: ``class`` (structs too: the keyword does not change a layout), ``union`` or ``enum``.
        size: Size in bytes.
        alignment: Alignment in bytes where the source asked for one, else 0.
        bases: ``(name, offset)`` of each base class, the offset being -1 for a virtual base.
        members: ``(name, bit offset, bit-field width or 0, type)`` of each non-static data member.
        vtable: ``(slot, function)`` of each virtual function declared; a destructor has slot -1.
        enumerators: ``(name, value)`` in order of value; values modulo the size of the type.
        underlying: The underlying type of an enumeration.
    """

    kind: str
    size: int
    alignment: int = 0
    bases: tuple[tuple[str, int], ...] = ()
    members: tuple[tuple[str, int, int, str], ...] = ()
    vtable: tuple[tuple[int, str], ...] = ()
    enumerators: tuple[tuple[str, int], ...] = ()
    underlying: str = ""


class _Tag:
    """Kinds of entries: DWARF 5, table 7.3."""

    ARRAY = 0x01
    CLASS = 0x02
    ENUM = 0x04
    PARAMETER = 0x05
    MEMBER = 0x0D
    POINTER = 0x0F
    REFERENCE = 0x10
    STRUCT = 0x13
    SUBROUTINE = 0x15
    TYPEDEF = 0x16
    UNION = 0x17
    VARIADIC = 0x18
    INHERITANCE = 0x1C
    MEMBER_POINTER = 0x1F
    SUBRANGE = 0x21
    BASE_TYPE = 0x24
    CONST = 0x26
    ENUMERATOR = 0x28
    SUBPROGRAM = 0x2E
    TEMPLATE_TYPE = 0x2F
    TEMPLATE_VALUE = 0x30
    VOLATILE = 0x35
    RESTRICT = 0x37
    NAMESPACE = 0x39
    UNSPECIFIED = 0x3B
    RVALUE = 0x42
    ALIAS = 0x43
    ATOMIC = 0x47


class _At:
    """Attributes: DWARF 5, table 7.5, and one of GNU."""

    SIBLING = 0x01
    NAME = 0x03
    BYTE_SIZE = 0x0B
    BIT_OFFSET = 0x0C
    BIT_SIZE = 0x0D
    LANGUAGE = 0x13
    CONST_VALUE = 0x1C
    CONTAINING = 0x1D
    PRODUCER = 0x25
    UPPER_BOUND = 0x2F
    ARTIFICIAL = 0x34
    COUNT = 0x37
    LOCATION = 0x38
    DECL_LINE = 0x3B
    DECLARATION = 0x3C
    EXTERNAL = 0x3F
    SPECIFICATION = 0x47
    TYPE = 0x49
    VIRTUALITY = 0x4C
    VTABLE_SLOT = 0x4D
    SIGNATURE = 0x69
    DATA_BIT_OFFSET = 0x6B
    LINKAGE_NAME = 0x6E
    STR_OFFSETS = 0x72
    DWO_NAME = 0x76
    ALIGNMENT = 0x88
    GNU_DWO_NAME = 0x2130


class _Form:
    """Encodings that need more than a fixed number of bytes or a plain number: DWARF 5, table 7.6."""

    BLOCK2 = 0x03
    BLOCK4 = 0x04
    STRING = 0x08
    BLOCK = 0x09
    BLOCK1 = 0x0A
    SDATA = 0x0D
    STRP = 0x0E
    UDATA = 0x0F
    REF_ADDR = 0x10
    REF4 = 0x13
    REF_UDATA = 0x15
    SEC_OFFSET = 0x17
    EXPRLOC = 0x18
    FLAG_PRESENT = 0x19
    STRX = 0x1A
    ADDRX = 0x1B
    LINE_STRP = 0x1F
    REF_SIG8 = 0x20
    IMPLICIT_CONST = 0x21
    LOCLISTX = 0x22
    RNGLISTX = 0x23
    STRX1 = 0x25
    STRX2 = 0x26
    STRX3 = 0x27
    STRX4 = 0x28


class _UnitType:
    """Kinds of units with more in their header: DWARF 5, table 7.2."""

    TYPE = 0x02
    SKELETON = 0x04
    SPLIT_COMPILE = 0x05


_RECORDS = {_Tag.CLASS: "class", _Tag.STRUCT: "class", _Tag.UNION: "union", _Tag.ENUM: "enum"}
_PARTS = frozenset({_Tag.MEMBER, _Tag.INHERITANCE, _Tag.SUBPROGRAM})
_TEMPLATE_ARGUMENTS = frozenset({_Tag.TEMPLATE_TYPE, _Tag.TEMPLATE_VALUE})
_NAMED = frozenset({*_RECORDS, _Tag.TYPEDEF, _Tag.BASE_TYPE, _Tag.UNSPECIFIED, _Tag.ALIAS})
_SUFFIXES = {
    _Tag.POINTER: "*",
    _Tag.REFERENCE: "&",
    _Tag.RVALUE: "&&",
    _Tag.CONST: "const",
    _Tag.VOLATILE: "volatile",
    _Tag.RESTRICT: "restrict",
    _Tag.ATOMIC: "_Atomic",
}
_WANTED = frozenset(value for name, value in vars(_At).items() if name.isupper())

# Offsets at or above this are positions in the whole file, not in the unit that refers to them.
_FOREIGN = 1 << 48
# Where positions in .debug_types begin, so that one number names an entry of either section.
_TYPES_BASE = 1 << 40

# The remaining forms by their fixed size: addresses, numbers, references within the unit, indices.
_FIXED = {
    0x01: "Q", 0x05: "H", 0x06: "I", 0x07: "Q", 0x0B: "B", 0x0C: "B", 0x11: "B", 0x12: "H", 0x13: "I", 0x14: "Q",
    0x1E: "16s", 0x20: "Q", 0x25: "B", 0x26: "H", 0x27: "3s", 0x28: "I", 0x29: "B", 0x2A: "H", 0x2B: "3s", 0x2C: "I",
}  # fmt: skip
_OFFSET_SIZED = frozenset({_Form.STRP, _Form.REF_ADDR, _Form.SEC_OFFSET, _Form.LINE_STRP})
_LEB = frozenset({_Form.UDATA, _Form.REF_UDATA, _Form.STRX, _Form.ADDRX, _Form.LOCLISTX, _Form.RNGLISTX})
_BLOCKS = {_Form.BLOCK2: "<H", _Form.BLOCK4: "<I", _Form.BLOCK1: "<B"}
_STRX = frozenset({_Form.STRX, _Form.STRX1, _Form.STRX2, _Form.STRX3, _Form.STRX4})


def _uleb(data: bytes, offset: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, offset
        shift += 7


def _sleb(data: bytes, offset: int) -> tuple[int, int]:
    start = offset
    value, offset = _uleb(data, offset)
    bits = 7 * (offset - start)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), offset


class _Abbreviation:
    """The shape of one kind of entry: its tag and how to decode or step over its attributes."""

    __slots__ = ("attributes", "children", "constants", "size", "steps", "tag")

    def __init__(self, tag: int, children: bool, fields: list[tuple[int, int, int]], offset_size: int):
        self.tag, self.children = tag, children
        self.attributes = frozenset(attribute for attribute, _, _ in fields)
        self.constants: dict[int, int] = {}
        # A step is (format, [(attribute, form)]) for a run of fixed-size forms, or (None, attribute, form).
        self.steps: list[tuple] = []
        run, names = "<", []
        for attribute, form, constant in fields:
            if form in (_Form.FLAG_PRESENT, _Form.IMPLICIT_CONST):
                if attribute in _WANTED:
                    self.constants[attribute] = constant if form == _Form.IMPLICIT_CONST else 1
                continue
            code = _FIXED.get(form) or (("I" if offset_size == 4 else "Q") if form in _OFFSET_SIZED else None)
            if code is None:
                if run != "<":
                    self.steps.append((struct.Struct(run), names))
                    run, names = "<", []
                self.steps.append((None, attribute, form))
            elif attribute in _WANTED:
                run += code
                names.append((attribute, form))
            else:
                run += f"{struct.calcsize('<' + code)}x"
        if run != "<":
            self.steps.append((struct.Struct(run), names))
        fixed = all(step[0] is not None for step in self.steps)
        self.size = sum(step[0].size for step in self.steps) if fixed else -1


_HEADER_FIELDS = frozenset(
    {"_abbreviations_at", "_first", "_info", "_offset_size", "end", "position", "signature", "start", "type_offset"}
)


class Unit:
    """One unit of debug information: its named types and the definitions in it.

    Positions are relative to the start of the unit, which is what most references are.
    """

    def __init__(self, info: DebugInfo, section: str, start: int, base: int) -> None:
        self._info = info
        content = info.section(section)
        (length,) = struct.unpack_from("<I", content, start)
        offset_size, header = (8, 12) if length == 0xFFFFFFFF else (4, 4)
        if offset_size == 8:
            (length,) = struct.unpack_from("<Q", content, start + 4)
        self.start, self.end, self.position = start, start + header + length, base + start
        (version,) = struct.unpack_from("<H", content, start + header)
        if version not in (4, 5):
            raise info.unsupported(f"DWARF version {version}", "DWARF 4 or 5", "compile with `-gdwarf-5`")
        offset_format = "<I" if offset_size == 4 else "<Q"
        cursor = start + header + 2
        kind = _UnitType.TYPE if section == ".debug_types" else 0
        if version == 5:
            kind = content[cursor]
            (abbreviations,) = struct.unpack_from(offset_format, content, cursor + 2)
            cursor += 2 + offset_size
        else:
            (abbreviations,) = struct.unpack_from(offset_format, content, cursor)
            cursor += offset_size + 1
        self.signature, self.type_offset = None, 0
        if kind == _UnitType.TYPE:
            (self.signature,) = struct.unpack_from("<Q", content, cursor)
            (self.type_offset,) = struct.unpack_from(offset_format, content, cursor + 8)
            cursor += 8 + offset_size
        elif kind in (_UnitType.SKELETON, _UnitType.SPLIT_COMPILE):
            raise info.split()
        self._first = cursor - start
        self._offset_size = offset_size
        self._abbreviations_at = abbreviations
        self._loaded = False

    def load(self) -> None:
        """Decode the unit: afterwards its types have names and its definitions can be listed."""
        if self._loaded:
            return
        self._loaded = True
        content = self._info.section(".debug_types" if self.position >= _TYPES_BASE else ".debug_info")
        self._data = content[self.start : self.end]
        self._abbreviations = self._info.abbreviations(self._abbreviations_at, self._offset_size)
        self._strings = self._info.strings(".debug_str")
        self._line_strings = self._info.strings(".debug_line_str")
        self._str_offsets_base = 8 if self._offset_size == 4 else 16
        self._names: dict[int, tuple[int, str]] = {}
        self._spellings: dict[int, str] = {}
        self._definitions: list[tuple[str, str, dict, list]] = []
        self._unnamed: dict[int, tuple[str, dict, list]] = {}
        self._scopes: list[tuple[str, list]] = []
        self._typedefs: list[tuple[int, str]] = []
        self._expanding: set[int] = set()
        abbreviation, offset = self._abbreviation(self._first)
        # The base of the string offsets comes after strings that need it, so the root is decoded twice.
        values, _ = self._decode(abbreviation, offset, strings=False)
        self._str_offsets_base = values.get(_At.STR_OFFSETS, self._str_offsets_base)
        values, offset = self._decode(abbreviation, offset)
        if _At.DWO_NAME in values or _At.GNU_DWO_NAME in values:
            raise self._info.split()
        self.producer, self.language = values.get(_At.PRODUCER, ""), values.get(_At.LANGUAGE, 0)
        if abbreviation.children:
            self._scope(offset, "")
        # An unnamed class takes the name of the first typedef that names it, as it does for linkage.
        for target, name in self._typedefs:
            if target in self._unnamed:
                record = self._unnamed.pop(target)
                self._names[target] = (_Tag.STRUCT, name)
                self._definitions.append((name, *record))

    def _abbreviation(self, offset: int) -> tuple[_Abbreviation, int]:
        code, offset = _uleb(self._data, offset)
        return self._abbreviations[code], offset

    def _decode(self, abbreviation: _Abbreviation, offset: int, strings: bool = True) -> tuple[dict, int]:
        """Return the wanted attributes of the entry whose attributes begin at ``offset``, and where they end."""
        values = dict(abbreviation.constants)
        for step in abbreviation.steps:
            if step[0] is not None:
                fields = step[0].unpack_from(self._data, offset)
                offset += step[0].size
                for (attribute, form), value in zip(step[1], fields, strict=True):
                    values[attribute] = self._value(form, value, strings)
            else:
                _, attribute, form = step
                value, offset = self._variable(form, offset)
                if attribute in _WANTED:
                    values[attribute] = self._value(form, value, strings)
        return values, offset

    def _value(self, form: int, value, strings: bool):
        if form == _Form.REF4:
            return value
        if form == _Form.STRP:
            return self._strings[value]
        if form in _STRX:
            if not strings:
                return ""
            index = int.from_bytes(value, "little") if form == _Form.STRX3 else value
            return self._strings[self._info.string_offset(self._str_offsets_base, index, self._offset_size)]
        if form == _Form.LINE_STRP:
            return self._line_strings[value]
        if form == _Form.REF_ADDR:
            return value - self.start if self.start <= value < self.end else _FOREIGN + value
        if form == _Form.REF_SIG8:
            return self._info.by_signature(value)
        return value

    def _variable(self, form: int, offset: int):
        data = self._data
        if form in (_Form.EXPRLOC, _Form.BLOCK):
            size, offset = _uleb(data, offset)
            return data[offset : offset + size], offset + size
        if form == _Form.SDATA:
            return _sleb(data, offset)
        if form in _LEB:
            return _uleb(data, offset)
        if form == _Form.STRING:
            end = data.index(b"\0", offset)
            return data[offset:end].decode("utf-8", "replace"), end + 1
        if form in _BLOCKS:
            (size,) = struct.unpack_from(_BLOCKS[form], data, offset)
            offset += struct.calcsize(_BLOCKS[form])
            return data[offset : offset + size], offset + size
        raise self._info.unsupported(
            f"attribute form {form:#x}",
            "debug information that is complete in this file",
            "do not run dwz on the library",
        )

    def _step_over(self, abbreviation: _Abbreviation, offset: int) -> int:
        if abbreviation.size >= 0:
            return offset + abbreviation.size
        for step in abbreviation.steps:
            offset = offset + step[0].size if step[0] is not None else self._variable(step[2], offset)[1]
        return offset

    def _skip_children(self, offset: int) -> int:
        data, abbreviations, depth = self._data, self._abbreviations, 1
        while depth:
            code = data[offset]
            offset += 1
            if code >= 0x80:
                code, offset = _uleb(data, offset - 1)
            if not code:
                depth -= 1
                continue
            abbreviation = abbreviations[code]
            offset = offset + abbreviation.size if abbreviation.size >= 0 else self._step_over(abbreviation, offset)
            depth += abbreviation.children
        return offset

    def _after(self, abbreviation: _Abbreviation, values: dict, offset: int) -> int:
        if not abbreviation.children:
            return offset
        return values.get(_At.SIBLING) or self._skip_children(offset)

    def _scope(self, offset: int, prefix: str, children: list | None = None, every: bool = True) -> int:
        """Index the entries from ``offset`` to the end of the scope; collect a class's own entries in ``children``.

        Functions that are not virtual are collected only on ``every``.
        """
        data, abbreviations = self._data, self._abbreviations
        while True:
            entry = offset
            code = data[offset]
            offset += 1
            if code >= 0x80:
                code, offset = _uleb(data, offset - 1)
            if not code:
                return offset
            abbreviation = abbreviations[code]
            tag = abbreviation.tag
            if tag in _NAMED:
                values, offset = self._decode(abbreviation, offset)
                offset = self._type(entry, abbreviation, values, offset, prefix)
            elif tag == _Tag.NAMESPACE:
                values, offset = self._decode(abbreviation, offset)
                if abbreviation.children:
                    # Inline namespaces stay in the name: compilers write them in template arguments, too.
                    name = values.get(_At.NAME, "(anonymous namespace)")
                    offset = self._scope(offset, f"{prefix}{name}::")
            elif (
                children is not None
                and tag in _PARTS
                and (every or tag != _Tag.SUBPROGRAM or _At.VIRTUALITY in abbreviation.attributes)
            ):
                values, offset = self._decode(abbreviation, offset)
                children.append((tag, values))
                offset = self._after(abbreviation, values, offset)
            elif abbreviation.children and _At.SIBLING in abbreviation.attributes:
                values, offset = self._decode(abbreviation, offset)
                offset = self._after(abbreviation, values, offset)
            else:
                if tag in _TEMPLATE_ARGUMENTS and children is not None and not prefix.endswith(">::"):
                    raise self._info.unsupported(
                        f"the template {prefix[:-2]} named without its arguments",
                        "names with template arguments",
                        "compile without `-gsimple-template-names`",
                    )
                offset = self._step_over(abbreviation, offset)
                if abbreviation.children:
                    offset = self._skip_children(offset)

    def _type(self, entry: int, abbreviation: _Abbreviation, values: dict, offset: int, prefix: str) -> int:
        tag = abbreviation.tag
        bare = values.get(_At.NAME)
        name = normalize(prefix + bare) if bare is not None else None
        if values.get(_At.SIGNATURE) is not None:
            # The definition is in a type unit; what is here only gives nested types their place.
            name = self._info.spell(values[_At.SIGNATURE])
        elif values.get(_At.SPECIFICATION) in self._names:
            # GCC defines a nested class, and the class of a type unit, away from its scope.
            name = self._names[values[_At.SPECIFICATION]][1]
        if name is not None:
            self._names[entry] = (tag, name)
            if tag == _Tag.TYPEDEF and _At.TYPE in values:
                self._typedefs.append((values[_At.TYPE], name))
        if tag not in _RECORDS:
            return self._after(abbreviation, values, offset)
        collected: list = []
        if abbreviation.children:
            if tag == _Tag.ENUM:
                offset = self._enumerators(offset, collected)
            else:
                every = self._info.every_function or _At.DECLARATION in values
                offset = self._scope(offset, f"{name or prefix + '(anonymous)'}::", collected, every)
        if name is not None and tag != _Tag.ENUM and collected:
            self._scopes.append((name, collected))
        if _At.DECLARATION in values or _At.SIGNATURE in values:
            return offset
        if name is None and tag == _Tag.ENUM and collected:
            name = normalize(f"{prefix}(anonymous enum {collected[0][0]})")
            self._names[entry] = (tag, name)
        if name is not None:
            self._definitions.append((name, _RECORDS[tag], values, collected))
        else:
            self._unnamed[entry] = (_RECORDS[tag], values, collected)
        return offset

    def _enumerators(self, offset: int, collected: list) -> int:
        while True:
            code, offset = _uleb(self._data, offset)
            if not code:
                return offset
            abbreviation = self._abbreviations[code]
            values, offset = self._decode(abbreviation, offset)
            if abbreviation.tag == _Tag.ENUMERATOR:
                collected.append((values.get(_At.NAME, ""), values.get(_At.CONST_VALUE, 0)))
            offset = self._after(abbreviation, values, offset)

    def definitions(self) -> Iterator[tuple[str, Layout]]:
        """Yield the qualified name and layout of each type the unit defines."""
        self.load()
        for name, kind, values, children in self._definitions:
            yield name, self._layout(kind, values, children)

    def release(self) -> None:
        """Forget what :meth:`load` decoded; a library as large as libtriton would not fit otherwise."""
        if self.signature is None:
            for name in [name for name in self.__dict__ if name not in _HEADER_FIELDS]:
                del self.__dict__[name]
            self._loaded = False

    def functions(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield class, linkage name, vtable slot (-1 for none) and line of each member function declared in a class.

        Classes the unit only declares are included: their functions appear where the unit calls them.
        """
        self.load()
        for name, children in self._scopes:
            for tag, child in children:
                if tag == _Tag.SUBPROGRAM and _At.LINKAGE_NAME in child and _At.ARTIFICIAL not in child:
                    slot = self._expression(child[_At.VTABLE_SLOT]) if _At.VTABLE_SLOT in child else -1
                    yield name, child[_At.LINKAGE_NAME], slot, child.get(_At.DECL_LINE, 0)

    def _layout(self, kind: str, values: dict, children: list) -> Layout:
        size = values.get(_At.BYTE_SIZE, 0)
        alignment = values.get(_At.ALIGNMENT, 0)
        if kind == "enum":
            mask = (1 << 8 * size) - 1
            values_by_name = ((name, self._constant(value) & mask) for name, value in children)
            enumerators = tuple(sorted(values_by_name, key=lambda item: item[1]))
            underlying = self.spell(values[_At.TYPE]) if _At.TYPE in values else ""
            return Layout(kind, size, alignment, enumerators=enumerators, underlying=underlying)
        bases, members, vtable = [], [], []
        for tag, child in children:
            if tag == _Tag.INHERITANCE:
                virtual = child.get(_At.VIRTUALITY, 0)
                bases.append((self.spell(child.get(_At.TYPE)), -1 if virtual else self._location(child)))
            elif tag == _Tag.MEMBER:
                if _At.EXTERNAL not in child and _At.DECLARATION not in child:
                    members.append(self._member(child))
            elif child.get(_At.VIRTUALITY) and _At.ARTIFICIAL not in child:
                name = child.get(_At.LINKAGE_NAME) or child.get(_At.NAME, "")
                if child.get(_At.NAME, "").startswith("~"):
                    vtable.append((-1, child[_At.NAME].split("<")[0]))
                elif _At.VTABLE_SLOT in child:
                    vtable.append((self._expression(child[_At.VTABLE_SLOT]), name))
        return Layout(kind, size, alignment, tuple(bases), tuple(members), tuple(sorted(vtable)))

    def _member(self, values: dict) -> tuple[str, int, int, str]:
        width = values.get(_At.BIT_SIZE, 0)
        if _At.DATA_BIT_OFFSET in values:
            position = values[_At.DATA_BIT_OFFSET]
        else:
            position = 8 * self._location(values)
            if _At.BIT_OFFSET in values:
                storage = 8 * (values.get(_At.BYTE_SIZE) or self._size_of(values.get(_At.TYPE)))
                position += storage - values[_At.BIT_OFFSET] - width
        name = values.get(_At.NAME, "")
        return "_vptr" if name.startswith("_vptr") else name, position, width, self.spell(values.get(_At.TYPE))

    def _location(self, values: dict) -> int:
        location = values.get(_At.LOCATION, 0)
        return location if isinstance(location, int) else self._expression(location)

    @staticmethod
    def _expression(code: bytes | int) -> int:
        """Return the constant of an expression that is one operation: DWARF 5, 2.5.1.1."""
        if isinstance(code, int):
            return code
        if code and code[0] in (0x10, 0x23):
            return _uleb(code, 1)[0]
        if code and 0x30 <= code[0] <= 0x4F:
            return code[0] - 0x30
        if code and code[0] in (0x08, 0x0A, 0x0C):
            return int.from_bytes(code[1:], "little")
        raise ValueError(f"location expression {code.hex()}")

    @staticmethod
    def _constant(value: int | bytes | str) -> int:
        return int.from_bytes(value, "little") if isinstance(value, bytes) else int(value)

    def _size_of(self, offset: int | None) -> int:
        while offset is not None and offset < _FOREIGN:
            abbreviation, cursor = self._abbreviation(offset)
            values, _ = self._decode(abbreviation, cursor)
            if _At.BYTE_SIZE in values:
                return values[_At.BYTE_SIZE]
            offset = values.get(_At.TYPE)
        return 0

    def spell(self, offset: int | None) -> str:
        """Return the canonical spelling of the type at ``offset``, with typedefs resolved."""
        if offset is None:
            return "void"
        if offset >= _FOREIGN:
            return self._info.spell(offset)
        known = self._spellings.get(offset)
        if known is None:
            known = self._spellings[offset] = self._spell(offset)
        return known

    def _spell(self, offset: int) -> str:
        named = self._names.get(offset)
        if named is not None and named[0] not in (_Tag.TYPEDEF, _Tag.ALIAS):
            return named[1]
        abbreviation, cursor = self._abbreviation(offset)
        values, cursor = self._decode(abbreviation, cursor)
        tag, target = abbreviation.tag, values.get(_At.TYPE)
        if tag in (_Tag.TYPEDEF, _Tag.ALIAS):
            return self.spell(target)
        if tag in _SUFFIXES:
            return _suffixed(self.spell(target), _SUFFIXES[tag])
        if tag == _Tag.ARRAY:
            return self.spell(target) + self._extent(abbreviation, cursor)
        if tag == _Tag.SUBROUTINE:
            return f"{self.spell(target)} ({', '.join(self._parameters(abbreviation, cursor))})"
        if tag == _Tag.MEMBER_POINTER:
            return f"{self.spell(target)} {self.spell(values.get(_At.CONTAINING))}::*"
        record = self._unnamed.get(offset)
        if record is not None and offset not in self._expanding:
            self._expanding.add(offset)
            layout = self._layout(*record)
            self._expanding.discard(offset)
            fields = "; ".join(
                f"{name}@{position}{f':{width}' if width else ''} {spelling}"
                for name, position, width, spelling in layout.members
            )
            return f"(anonymous {layout.kind} of {layout.size}: {fields})"
        return normalize(values.get(_At.NAME, "(anonymous)"))

    def _children(self, abbreviation: _Abbreviation, cursor: int) -> Iterator[tuple[int, dict]]:
        while abbreviation.children:
            code, cursor = _uleb(self._data, cursor)
            if not code:
                return
            child = self._abbreviations[code]
            values, cursor = self._decode(child, cursor)
            yield child.tag, values
            cursor = self._after(child, values, cursor)

    def _extent(self, abbreviation: _Abbreviation, cursor: int) -> str:
        extents = []
        for tag, values in self._children(abbreviation, cursor):
            if tag == _Tag.SUBRANGE:
                bound = values.get(_At.UPPER_BOUND)
                count = values.get(_At.COUNT, bound + 1 if isinstance(bound, int) else "")
                extents.append(f"[{count}]")
        return "".join(extents) or "[]"

    def _parameters(self, abbreviation: _Abbreviation, cursor: int) -> Iterator[str]:
        for tag, values in self._children(abbreviation, cursor):
            if tag == _Tag.PARAMETER:
                yield self.spell(values.get(_At.TYPE))
            elif tag == _Tag.VARIADIC:
                yield "..."


class _Strings(dict):
    """Strings of one section by offset, decoded on first use."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._content = content

    def __missing__(self, offset: int) -> str:
        text = self._content[offset : self._content.index(b"\0", offset)].decode("utf-8", "replace")
        self[offset] = text
        return text


class DebugInfo:
    """The debug information of a library.

    Type units are read, too; an unnamed type that has one is not covered, because its name is in another unit.

    Args:
        elf: The library.
        every_function: Read the functions that are not virtual of every class, not only of those merely declared.

    Raises:
        InvalidLibraryError: The file has no debug information, keeps it in other files, or it is damaged.
    """

    def __init__(self, elf: SectionedElf, every_function: bool = True) -> None:
        self._elf = elf
        self.every_function = every_function
        if not elf.has(".debug_info"):
            raise InvalidLibraryError(
                "the library has no debug information",
                where=elf.path,
                expected="a .debug_info section",
                found="none",
                hint="compile and link with `-g`, and check the library before it is stripped",
            )
        self._tables: dict[tuple[int, int], dict[int, _Abbreviation]] = {}
        self._sections: dict[str, bytes] = {}
        self._strings: dict[str, _Strings] = {}
        self.units = [*self._headers(".debug_types", _TYPES_BASE), *self._headers(".debug_info", 0)]
        self.units.sort(key=lambda unit: unit.position)
        self._positions = [unit.position for unit in self.units]
        self._signatures = {unit.signature: unit for unit in self.units if unit.signature is not None}

    def _headers(self, section: str, base: int) -> Iterator[Unit]:
        start, size = 0, len(self.section(section))
        while start < size:
            try:
                unit = Unit(self, section, start, base)
            except (struct.error, IndexError) as error:
                raise self.damaged(start, error) from error
            yield unit
            start = unit.end

    def section(self, name: str) -> bytes:
        """Return a section of the file."""
        if name not in self._sections:
            self._sections[name] = self._elf.section(name)
        return self._sections[name]

    def strings(self, section: str) -> _Strings:
        """Return the string table ``section``."""
        if section not in self._strings:
            self._strings[section] = _Strings(self.section(section))
        return self._strings[section]

    def string_offset(self, base: int, index: int, size: int) -> int:
        """Return the entry ``index`` of the string offsets that begin at ``base``."""
        return struct.unpack_from("<I" if size == 4 else "<Q", self.section(".debug_str_offsets"), base + index * size)[
            0
        ]

    def abbreviations(self, offset: int, offset_size: int) -> dict[int, _Abbreviation]:
        """Return the abbreviation table at ``offset``, compiled."""
        key = (offset, offset_size)
        if key not in self._tables:
            self._tables[key] = self._read_abbreviations(offset, offset_size)
        return self._tables[key]

    def _read_abbreviations(self, offset: int, offset_size: int) -> dict[int, _Abbreviation]:
        data, table = self.section(".debug_abbrev"), {}
        while True:
            code, offset = _uleb(data, offset)
            if not code:
                return table
            tag, offset = _uleb(data, offset)
            children = bool(data[offset])
            offset += 1
            fields = []
            while True:
                attribute, offset = _uleb(data, offset)
                form, offset = _uleb(data, offset)
                constant = 0
                if form == _Form.IMPLICIT_CONST:
                    constant, offset = _sleb(data, offset)
                if not attribute and not form:
                    break
                fields.append((attribute, form, constant))
            table[code] = _Abbreviation(tag, children, fields, offset_size)

    def by_signature(self, signature: int) -> int | None:
        """Return the position of the type with ``signature``, or None when its unit is not in the file."""
        unit = self._signatures.get(signature)
        return None if unit is None else _FOREIGN + unit.position + unit.type_offset

    def spell(self, position: int) -> str:
        """Return the spelling of the type at a position in the whole file."""
        position -= _FOREIGN
        unit = self.units[bisect.bisect_right(self._positions, position) - 1]
        unit.load()
        return unit.spell(position - unit.position)

    def unsupported(self, found: str, expected: str, hint: str) -> InvalidLibraryError:
        """Return the error for debug information this reader cannot decode."""
        return InvalidLibraryError(
            "the debug information cannot be read", where=self._elf.path, expected=expected, found=found, hint=hint
        )

    def damaged(self, start: int, error: Exception) -> InvalidLibraryError:
        """Return the error for a unit, by where it starts, that cannot be decoded."""
        return InvalidLibraryError(
            "the debug information is damaged",
            where=f"{self._elf.path}, unit at {start:#x}",
            found=repr(error),
            hint="rebuild the library",
        )

    def split(self) -> InvalidLibraryError:
        """Return the error for debug information kept in other files."""
        return self.unsupported(
            "split debug information", "debug information in the library itself", "compile without `-gsplit-dwarf`"
        )


def _suffixed(spelling: str, suffix: str) -> str:
    """Append a pointer, reference or qualifier; a qualified array is an array of qualified elements."""
    array = _ARRAY.match(spelling) if suffix in ("const", "volatile") else None
    if array is None:
        return f"{spelling} {suffix}"
    element = array[1] if array[1].endswith(f" {suffix}") else f"{array[1]} {suffix}"
    return element + array[2]


_ARRAY = re.compile(r"(.*?)((?:\[\d*\])+)$")
_GCC_INTEGER = re.compile(r"\b(long long|long|short)( unsigned)? int\b")
_SPACED = re.compile(r"(?<=>) (?=>)")
# In clang's words and in GCC's.
_LOCAL = re.compile(r"\(anonymous (namespace|class)\)|\{anonymous\}|[({<]'?lambda")


def normalize(name: str) -> str:
    """Return ``name`` in the one spelling this package uses, whichever compiler wrote it."""
    if "> >" in name:
        name = _SPACED.sub("", name)
    if " int" in name:
        name = _GCC_INTEGER.sub(lambda match: f"unsigned {match[1]}" if match[2] else match[1], name)
    return name


def is_local(name: str) -> bool:
    """Return whether ``name`` is private to one translation unit, so that equal names say nothing."""
    return _LOCAL.search(name) is not None
