"""Modules as Python objects, read from the generic form of MLIR, which has one grammar for all operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tritonext.errors import InternalError

from .elements import Element, element

__all__ = ["Block", "Location", "Operation", "Region", "Type", "Value", "parse", "parse_type"]


@dataclass(frozen=True)
class Type:
    """A type.

    Attributes:
        text: As MLIR prints it, with the aliases of attributes.
        kind: ``scalar``, ``tensor``, ``memdesc``, ``descriptor`` or ``opaque``.
        shape: Sizes; of a descriptor those of its block.
        element: Type of the elements.
        layout: The encoding, as it is printed.
    """

    text: str
    kind: str = "opaque"
    shape: tuple[int, ...] = ()
    element: Element | None = None
    layout: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Location:
    """A line of a source file; ``name`` is that of the variable, where the front end knew one."""

    file: str = ""
    line: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file or "an unknown line"


@dataclass(eq=False)
class Value:
    """A result of an operation or an argument of a block. ``name`` is without the percent sign."""

    name: str
    type: Type = field(default_factory=lambda: Type(""))
    location: Location = field(default_factory=Location)


@dataclass(eq=False)
class Block:
    """Operations behind each other, and the values that whoever goes there passes."""

    label: str = ""
    arguments: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


@dataclass(eq=False)
class Region:
    """Blocks; control starts at the first."""

    blocks: list[Block] = field(default_factory=list)

    def walk(self) -> Iterator[Operation]:
        """Yield all operations in it, those around before those inside."""
        for block in self.blocks:
            for operation in block.operations:
                yield operation
                for region in operation.regions:
                    yield from region.walk()


@dataclass(eq=False)
class Operation:
    """An operation.

    Attributes:
        name: With its dialect, such as ``ttng.wait_barrier``.
        attributes: Inherent ones and others. Integers, floats, strings and arrays are Python values, dense ones NumPy
            arrays, others text.
        successors: Labels of blocks that a branch may go to.
    """

    name: str
    operands: list[Value]
    attributes: dict[str, Any]
    regions: list[Region]
    results: list[Value]
    location: Location
    successors: list[str] = field(default_factory=list)

    def segments(self) -> list[list[Value]]:
        """Return the operands in the groups of ``operandSegmentSizes``."""
        groups, start = [], 0
        for size in self.attributes["operandSegmentSizes"]:
            groups.append(self.operands[start : start + size])
            start += size
        return groups

    def __str__(self) -> str:
        operands = ", ".join(f"%{operand.name}" for operand in self.operands[:4])
        more = ", …" if len(self.operands) > 4 else ""
        return f"{self.name}{' ' if operands else ''}{operands}{more} at {self.location}"


_PLAIN = re.compile(r'[^"<>()\[\]{},]*')
_RESULTS = re.compile(r"\s*((?:%[\w$.-]+(?::\d+)?(?:,\s*)?)+)\s*=\s*")
_RESULT = re.compile(r"%([\w$.-]+)(?::(\d+))?")
_NAME = re.compile(r'\s*"([\w.$-]+)"\s*')
_OPERAND = re.compile(r"\s*%([\w$.-]+(?:#\d+)?)\s*,?")
_BLOCK = re.compile(r"\s*\^([\w$.-]+)\s*")
_ARGUMENT = re.compile(r"\s*%([\w$.-]+)\s*:\s*")
_SPACE = re.compile(r"\s*")
_ALIAS = re.compile(r"^#([\w$.-]+) = (.*)$", re.MULTILINE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_FILE = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_NAMED = re.compile(r'^"((?:[^"\\]|\\.)*)"\((.*)\)$', re.DOTALL)
_INT = re.compile(r"(-?\d+)(?: : \w+)?")
_FLOAT = re.compile(r"(-?\d+\.\d*(?:[eE][+-]?\d+)?)(?: : \w+)?")
_HEX = re.compile(r"0x([0-9A-Fa-f]+) : (\w+)")
_DENSE = re.compile(r"dense<(.*)> : (tensor<.*>)", re.DOTALL)
_SHAPED = re.compile(r"((?:\d+x)*)(.*)", re.DOTALL)
_TYPES = {"tensor": "tensor", "!ttg.memdesc": "memdesc", "!tt.tensordesc": "descriptor"}


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and strings."""
    parts, depth, start, position = [], 0, 0, 0
    while position < len(text):
        position = _PLAIN.match(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            break
        character = text[position]
        if character == '"':
            position = _STRING.match(text, position).end()  # type: ignore[union-attr]
            continue
        if character == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
        elif character in "<([{":
            depth += 1
        elif character in ")]}" or (character == ">" and text[position - 1] != "-"):
            depth -= 1
        position += 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


@cache
def parse_type(text: str) -> Type:
    """Read a type.

    Raises:
        UnsupportedOperation: Numbers of its element type are not simulated.
    """
    head, _, body = text.partition("<")
    if head == "!tt.ptr":
        inner = parse_type(_split(body[:-1])[0])
        return Type(text, "scalar", (), element("ptr", inner.element))
    if kind := _TYPES.get(head):
        parts = _split(body[:-1])
        if parts[0].startswith("tensor<"):
            inner = parse_type(parts[0])
            return Type(text, kind, inner.shape, inner.element, inner.layout)
        sizes, inside = _SHAPED.fullmatch(parts[0]).groups()  # type: ignore[union-attr]
        shape = tuple(int(size) for size in sizes.split("x")[:-1])
        return Type(text, kind, shape, parse_type(inside).element, parts[1] if len(parts) > 1 else "")
    if text.startswith("!") or "<" in text or "(" in text:
        return Type(text)
    return Type(text, "scalar", (), element(text))


@cache
def _attribute(text: str) -> Any:
    """Read the value of an attribute; what is not known is its text."""
    if text in ("true", "false"):
        return text == "true"
    if match := _INT.fullmatch(text):
        return int(match[1])
    if match := _FLOAT.fullmatch(text):
        return float(match[1])
    if match := _HEX.fullmatch(text):
        return _number(f"0x{match[1]}", element(match[2]))
    if match := _DENSE.fullmatch(text):
        return _dense(match[1], parse_type(match[2]))
    if text.startswith("array<"):
        return tuple(_attribute(item) for item in _split(text[6:-1].partition(":")[2]))
    if text.startswith("["):
        return tuple(_attribute(item) for item in _split(text[1:-1]))
    if text.startswith('"'):
        return text[1:-1]
    return text.removeprefix("@")


def _number(text: str, of: Element) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if not text.startswith("0x"):
        return float(text) if of.is_float else int(text)
    bits = int(text, 16)
    return of.decode(np.array(bits, f"u{of.bytes}").view(of.stored))[()] if of.is_float else bits


def _dense(text: str, type_: Type) -> np.ndarray:
    assert type_.element is not None
    if text.startswith('"0x'):
        data = np.frombuffer(bytes.fromhex(text[3:-1]), type_.element.stored)
        return (
            np.broadcast_to(type_.element.decode(data), type_.shape)
            if data.size == 1
            else type_.element.decode(data).reshape(type_.shape)
        )

    def read(part: str) -> Any:
        return [read(item) for item in _split(part[1:-1])] if part.startswith("[") else _number(part, type_.element)

    values = np.array(read(text), type_.element.computed)
    return np.broadcast_to(values, type_.shape)


class _Parser:
    """Reads the text of one module from its start to its end."""

    def __init__(self, text: str, rename: Any) -> None:
        self.text = text
        self.position = 0
        self.rename = rename
        self.scopes: list[dict[str, Value]] = [{}]
        self.aliases = {match[1]: match[2] for match in _ALIAS.finditer(text)}
        self.locations: dict[str, Location] = {}
        start = re.search(r'^"builtin.module"', text, re.MULTILINE)
        if start is None:
            raise self.error("a module")
        self.position = start.start()

    def error(self, expected: str) -> InternalError:
        line = self.text.count("\n", 0, self.position) + 1
        return InternalError(
            "the generic form of a module was not understood",
            where=f"line {line}",
            expected=expected,
            found=self.text[self.position : self.position + 60],
        )

    # Pieces of text.

    def peek(self) -> str:
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        return self.text[self.position : self.position + 2]

    def take(self, literal: str) -> bool:
        found = self.peek() is not None and self.text.startswith(literal, self.position)
        if found:
            self.position += len(literal)
        return found

    def expect(self, literal: str) -> None:
        if not self.take(literal):
            raise self.error(literal)

    def balanced(self) -> str:
        """Take the inside of a bracket that was opened, and its end."""
        start, depth = self.position, 1
        while True:
            self.position = _PLAIN.match(self.text, self.position).end()  # type: ignore[union-attr]
            if self.position >= len(self.text):
                raise self.error("the end of a bracket")
            character = self.text[self.position]
            if character == '"':
                self.position = _STRING.match(self.text, self.position).end()  # type: ignore[union-attr]
                continue
            self.position += 1
            if character in "<([{":
                depth += 1
            elif character in ")]}" or (character == ">" and self.text[self.position - 2] != "-"):
                depth -= 1
                if not depth:
                    return self.text[start : self.position - 1]

    def bare(self) -> str:
        """Take a type that is not in brackets of its own."""
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in " \n,)":
            if self.text[self.position] in "<(":
                self.position += 1
                self.balanced()
            else:
                self.position += 1
        return self.text[start : self.position]

    # Values.

    def lookup(self, name: str) -> Value:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        # Blocks may be printed before those that dominate them.
        return self.scopes[-1].setdefault(name, Value(name))

    def define(self, name: str) -> Value:
        return self.scopes[-1].setdefault(name, Value(name))

    # Locations.

    def location(self) -> Location:
        if not self.take("loc("):
            return Location()
        return self._resolve(self.balanced())

    def _resolve(self, text: str) -> Location:
        if text not in self.locations:
            self.locations[text] = self._read_location(text.strip())
        return self.locations[text]

    def _read_location(self, text: str) -> Location:
        if text.startswith("#"):
            alias = self.aliases.get(text[1:], "loc(unknown)")
            return self._resolve(alias[len("loc(") : -1])
        if match := _FILE.match(text):
            return Location(self.rename(match[1]), int(match[2]))
        if match := _NAMED.match(text):
            inner = self._resolve(match[2])
            return Location(inner.file, inner.line, inner.name or match[1])
        if text.startswith(("callsite(", "fused")):
            inside = text[text.find("(") + 1 : -1] if text.startswith("callsite(") else text[text.find("[") + 1 : -1]
            return self._resolve((inside.split(" at ") if text.startswith("callsite(") else _split(inside))[0])
        if match := _STRING.match(text):
            return Location(name=match[0][1:-1])
        return Location()

    # Structure.

    def operation(self) -> Operation:
        names: list[tuple[str, int]] = []
        if match := _RESULTS.match(self.text, self.position):
            self.position = match.end()
            names = [(name, int(count or 0)) for name, count in _RESULT.findall(match[1])]
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self.error("an operation")
        name, self.position = match[1], match.end()
        self.expect("(")
        operands = [self.lookup(operand) for operand in _OPERAND.findall(self.balanced())]
        successors = re.findall(r"\^([\w$.-]+)", self.balanced()) if self.take("[") else []
        attributes = {}
        if self.take("<{"):
            attributes |= self._dictionary(self.balanced())
            self.expect(">")
        regions = []
        if self.take("("):
            while not self.take(")"):
                regions.append(self.region())
                self.take(",")
        if self.take("{"):
            attributes |= self._dictionary(self.balanced())
        self.expect(":")
        self.expect("(")
        self.balanced()
        self.expect("->")
        self.peek()
        types = _split(self.balanced()) if self.take("(") else [self.bare()]
        location = self.location()
        results = []
        for base, count in names:
            results += [self.define(f"{base}#{i}") for i in range(count)] if count else [self.define(base)]
        for result, type_ in zip(results, types):
            result.type, result.location = parse_type(type_), location
        return Operation(name, operands, attributes, regions, results, location, successors)

    @staticmethod
    def _dictionary(text: str) -> dict[str, Any]:
        entries = {}
        for item in _split(text):
            key, equals, value = item.partition(" = ")
            entries[key.strip('"')] = _attribute(value) if equals else True
        return entries

    def region(self) -> Region:
        self.expect("{")
        self.scopes.append({})
        region = Region([Block()])
        while not self.take("}"):
            if match := _BLOCK.match(self.text, self.position):
                self.position = match.end()
                block = Block(match[1])
                if self.take("("):
                    while not self.take(")"):
                        self._argument(block)
                self.expect(":")
                if not region.blocks[0].label and not region.blocks[0].operations:
                    region.blocks = []
                region.blocks.append(block)
            else:
                region.blocks[-1].operations.append(self.operation())
        self.scopes.pop()
        return region

    def _argument(self, block: Block) -> None:
        match = _ARGUMENT.match(self.text, self.position)
        if match is None:
            raise self.error("an argument of a block")
        self.position = match.end()
        value = self.define(match[1])
        value.type = parse_type(self.bare())
        value.location = self.location()
        block.arguments.append(value)
        self.take(",")


def _take_names(module: Operation, printed: str) -> None:
    """Call results what the usual form of the module calls them, which names constants by their values."""
    lines = [match[1] for line in printed.splitlines() if (match := _RESULTS.match(line))]
    operations = [operation for operation in module.regions[0].walk() if operation.results]
    for operation, line in zip(operations, lines, strict=True):
        names = []
        for base, count in _RESULT.findall(line):
            names += [f"{base}#{i}" for i in range(int(count))] if count else [base]
        for result, name in zip(operation.results, names, strict=True):
            result.name = name


def parse(text: str, printed: str, rename: Any = lambda file: file) -> Operation:
    """Read a module in generic form, with locations.

    Args:
        text: What MLIR prints in that form.
        printed: What it prints otherwise, which gives results their names.
        rename: Returns what messages call a file of a location.

    Raises:
        UnsupportedOperation: It has an element type that is not simulated.
        InternalError: The text is malformed.
    """
    module = _Parser(text, rename).operation()
    _take_names(module, printed)
    return module
