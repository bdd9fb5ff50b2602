"""Compares the layout tables of a plugin and of libtriton."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tritonext import versions

from .dwarf import Layout, is_local
from .table import Function, Table

__all__ = ["Mismatch", "Problem", "Report", "Uncovered", "compare"]

_STANDARD = re.compile(r"(std|__gnu_cxx)::")
# Names that C reserves for its implementation (C17 7.1.3). Such a type is private to the C library, which changes it
# between releases and keeps libraries working through symbol versions: `_IO_FILE` in glibc 2.40, for one.
_RESERVED = re.compile(r"_[A-Z_]\w*")
_BUILD_HINT = "compile and link with `-g -fstandalone-debug`"
_CLANG = re.compile(r"\bclang version (\d+)")


@dataclass(frozen=True)
class Mismatch:
    """A type on which the two sides disagree.

    Attributes:
        type: Qualified name.
        reasons: One sentence for each difference, naming the member, function or enumerator.
        plugin: The plugin's layout, as lines.
        host: The layout in libtriton, as lines.
    """

    type: str
    reasons: tuple[str, ...]
    plugin: tuple[str, ...]
    host: tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """A reason to refuse the plugin that is not a type: its compiler, its symbols, its identities."""

    kind: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Uncovered:
    """A type of the plugin that could not be compared.

    Attributes:
        type: Qualified name.
        reason: ``declared`` when libtriton's debug information only declares it, ``absent`` when it never mentions it,
            ``private`` when it is the C library's own and differs between two releases of that.
        functions: How many of its member functions both sides mention.
        moved: How many of those stand on another line of the source, a sign of another header.
    """

    type: str
    reason: str
    functions: int = 0
    moved: int = 0


@dataclass
class Report:
    """The outcome of a check.

    Attributes:
        compared: Types defined in both debug infos and compared.
        members, slots, enumerators: How many of each those comparisons covered. Virtual functions of classes that
            libtriton only declares count as well.
        mismatches: Types that differ.
        problems: Other reasons to refuse.
        standard: Standard-library types whose spelling differs between two libstdc++ releases while every scalar in
            them is at the same place; they are among those compared.
        extended: Enumerations to which one side adds enumerators, with values the other gives to none; all they share
            is equal. They are among those compared.
        uncovered: The plugin's types that could not be compared.
        local: Types private to one translation unit, which no other library can see.
        host_only: Types only libtriton defines.
        symbols: Undefined symbols of the plugin that were looked up.
        identity: What the native self-test answered, or None when it did not run.
        notes: What the check had to do differently, for the reader.
    """

    compared: int = 0
    members: int = 0
    slots: int = 0
    enumerators: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    standard: list[str] = field(default_factory=list)
    extended: list[str] = field(default_factory=list)
    uncovered: list[Uncovered] = field(default_factory=list)
    local: int = 0
    host_only: int = 0
    symbols: int = 0
    identity: dict | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against loading the plugin."""
        return not self.mismatches and not self.problems

    def stamp(self) -> dict[str, int]:
        """Return the counts that the build stamp of a wheel carries."""
        return {"compared": self.compared, "mismatches": len(self.mismatches), "uncovered": len(self.uncovered)}

    def identities(self) -> list[tuple[str, int | None, int]]:
        """Return what the self-test asked for, how many of them it recognised, and how many there are."""
        counts = self.identity or {}
        asked = [name.removesuffix("_expected") for name in counts if name.endswith("_expected")]
        return [(name, counts.get(name), counts[f"{name}_expected"]) for name in asked]

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values."""
        return {
            "ok": self.ok,
            **self.stamp(),
            "members": self.members,
            "slots": self.slots,
            "enumerators": self.enumerators,
            "standard": self.standard,
            "extended": self.extended,
            "local": self.local,
            "host_only": self.host_only,
            "symbols": self.symbols,
            "identity": self.identity,
            "notes": self.notes,
            "mismatched": [vars(mismatch) for mismatch in self.mismatches],
            "problems": [vars(problem) for problem in self.problems],
            "uncovered_types": [vars(uncovered) for uncovered in self.uncovered],
        }


def compare(plugin: Table, host: Table) -> Report:
    """Compare every type that both tables define, and list what only one has.

    A type with several definitions on one side agrees when each of the plugin's equals one of the host's.
    """
    report = Report()
    for producer in plugin.producers:
        problem = _compiler_problem(producer)
        if problem is not None and problem not in report.problems:
            report.problems.append(problem)
    for name in sorted(plugin.types):
        if is_local(name):
            report.local += 1
        elif name not in host.types:
            report.uncovered.append(_uncovered(report, name, plugin, host))
        elif _RESERVED.fullmatch(name) and set(plugin.types[name]) != set(host.types[name]):
            report.uncovered.append(Uncovered(name, "private"))
        else:
            _compare_type(report, name, plugin, host)
    if not plugin.producers:
        report.problems.append(Problem("debug information", "no C++ unit has debug information", _BUILD_HINT))
    elif not report.compared:
        report.problems.append(Problem("debug information", "no type is defined in both debug infos", _BUILD_HINT))
    variants = [name for name, layouts in plugin.types.items() if len(layouts) > 1 and not is_local(name)]
    if variants:
        report.notes.append(f"units of the plugin define these types differently: {', '.join(sorted(variants))}")
    report.host_only = len(host.types.keys() - plugin.types.keys())
    return report


def _compiler_problem(producer: str) -> Problem | None:
    minimum = versions.load()["clang"]["minimum"]
    found = _CLANG.search(producer)
    if found and int(found[1]) >= minimum:
        return None
    return Problem(
        "compiler",
        f"compiled by {producer.split(' -')[0]!r}: trait and interface identities come from the compiler's spelling "
        f"of type names, and only clang {minimum} or newer spells them as libtriton does",
        "build with the clang++ that `tritonext toolchain` names",
    )


def _compare_type(report: Report, name: str, plugin: Table, host: Table) -> None:
    theirs = host.types[name]
    report.compared += 1
    for mine in plugin.types[name]:
        report.members += len(mine.members) + len(mine.bases)
        report.slots += len(mine.vtable)
        report.enumerators += len(mine.enumerators)
        if mine in theirs:
            continue
        if _STANDARD.match(name) and mine.kind != "enum":
            flat = tuple(_flatten(name, mine, plugin, host))
            if any(
                mine.size == other.size and flat == tuple(_flatten(name, other, host, plugin))
                for other in theirs
                if other.kind == mine.kind
            ):
                if name not in report.standard:
                    report.standard.append(name)
                continue
        extension = next(filter(None, (_extension(mine, other) for other in theirs)), None)
        if extension is not None:
            report.extended.append(f"{name}: {extension}")
            continue
        reasons, other = min(
            ((tuple(_differences(mine, other)), other) for other in theirs), key=lambda each: len(each[0])
        )
        report.mismatches.append(Mismatch(name, reasons, tuple(_lines(mine)), tuple(_lines(other))))


def _extension(mine: Layout, other: Layout) -> str | None:
    """Say what one side adds when two enumerations give no name and no value two meanings, else return None."""
    left, right = dict(mine.enumerators), dict(other.enumerators)
    if mine._replace(enumerators=()) != other._replace(enumerators=()) or mine.kind != "enum":
        return None
    added = [{name: side[name] for name in side.keys() - rest.keys()} for side, rest in ((left, right), (right, left))]
    if any(left[name] != right[name] for name in left.keys() & right.keys()):
        return None
    if set(added[0].values()) & set(right.values()) or set(added[1].values()) & set(left.values()):
        return None
    sides = zip(added, ("the plugin", "libtriton"))
    return "; ".join(f"{', '.join(sorted(names))} in {where} only" for names, where in sides if names)


def _uncovered(report: Report, name: str, plugin: Table, host: Table) -> Uncovered:
    declared = host.functions.get(name)
    if declared is None:
        return Uncovered(name, "absent")
    mine: dict[str, Function] = plugin.functions.get(name, {})
    shared = sorted(mine.keys() & declared.keys())
    reasons = []
    for function in shared:
        slot, other = mine[function][0], declared[function][0]
        report.slots += max(slot, other) >= 0
        if slot != other:
            reasons.append(f"virtual function {function} has {_slot(slot)}, in libtriton {_slot(other)}")
    if reasons:
        lines = [tuple(f"{_slot(table[key][0])}: {key}" for key in shared) for table in (mine, declared)]
        report.mismatches.append(Mismatch(name, tuple(reasons), *lines))
    moved = sum(mine[function][1] != declared[function][1] for function in shared)
    return Uncovered(name, "declared", len(shared), moved)


def _slot(slot: int) -> str:
    return f"vtable slot {slot}" if slot >= 0 else "no vtable slot"


def _differences(mine: Layout, other: Layout) -> Iterator[str]:
    """Say each way in which the plugin's layout differs from libtriton's."""
    for label, left, right in (
        ("kind", mine.kind, other.kind),
        ("size", mine.size, other.size),
        ("alignment", mine.alignment, other.alignment),
        ("underlying type", mine.underlying, other.underlying),
    ):
        if left != right:
            yield f"{label} is {left}, in libtriton {right}"
    yield from _pairs("base class", mine.bases, other.bases, _offset)
    yield from _pairs("enumerator", mine.enumerators, other.enumerators, str)
    slots = [[(name, slot) for slot, name in side.vtable] for side in (mine, other)]
    yield from _pairs("virtual function", *slots, _slot)
    members = [[(name or "(unnamed)", rest) for name, *rest in side.members] for side in (mine, other)]
    yield from _pairs("member", *members, lambda rest: _place(*rest))


def _pairs(what: str, mine: Iterable[tuple], other: Iterable[tuple], show: Callable[..., str]) -> Iterator[str]:
    left, right = _keyed(mine), _keyed(other)
    for name in [*left, *(key for key in right if key not in left)]:
        if name not in right:
            yield f"{what} {name!r} ({show(left[name])}) is in the plugin only"
        elif name not in left:
            yield f"{what} {name!r} ({show(right[name])}) is in libtriton only"
        elif left[name] != right[name]:
            yield f"{what} {name!r} is {show(left[name])}, in libtriton {show(right[name])}"
    if left == right and list(left) != list(right):
        yield f"each {what} is the same, but in another order"


def _keyed(items: Iterable[tuple]) -> dict[str, object]:
    """Index ``items`` by name; names that repeat, as those of unnamed members do, get their number."""
    keyed: dict[str, object] = {}
    for name, value in items:
        key, count = name, 1
        while key in keyed:
            count += 1
            key = f"{name} #{count}"
        keyed[key] = value
    return keyed


def _offset(offset: int) -> str:
    return f"at byte {offset}" if offset >= 0 else "virtual"


def _place(position: int, width: int, spelling: str) -> str:
    byte, bit = divmod(position, 8)
    where = f"at byte {byte}" + (f" bit {bit}" if bit or width else "") + (f", {width} bits" if width else "")
    return f"{where}, {spelling}"


def _lines(layout: Layout) -> Iterable[str]:
    """Show a layout, one line for each part."""
    of = f"{layout.underlying}, " if layout.underlying else ""
    yield f"{layout.kind} of {of}{layout.size} bytes" + (f", alignment {layout.alignment}" if layout.alignment else "")
    for name, offset in layout.bases:
        yield f"  base {name} {_offset(offset)}"
    for name, position, width, spelling in layout.members:
        yield f"  {name or '(unnamed)'} {_place(position, width, spelling)}"
    for slot, name in layout.vtable:
        yield f"  virtual {name}" + (f" in {_slot(slot)}" if slot >= 0 else "")
    for name, value in layout.enumerators:
        yield f"  {name} = {value}"


_POINTER = re.compile(r"(\*|&)$")
_HELPER = re.compile(r"::_\w*$")
# What std::variant keeps an alternative in: raw bytes of its size in one release, the object in the next. The flag at
# the end says which.
_STORAGE = re.compile(r"(.*::_Uninitialized<.*), (true|false)>$")


def _flatten(
    name: str, layout: Layout, table: Table, other: Table, base: int = 0, active: tuple[str, ...] = ()
) -> Iterator[tuple]:
    """Yield place and type of each part of a standard-library class, whichever helper class holds it.

    Releases of libstdc++ move members between helper bases without moving a byte, and add ``const`` to pointees. An
    object of either release is the same object to both.
    """
    active = (*active, name)
    for parent, offset in layout.bases:
        if offset < 0:
            yield base, 0, f"virtual {parent}"
        else:
            yield from _expand(parent, base + 8 * offset, 0, table, other, active)
    for _, position, width, spelling in layout.members:
        yield from _expand(spelling, base + position, width, table, other, active)


def _expand(
    spelling: str, position: int, width: int, table: Table, other: Table, active: tuple[str, ...]
) -> Iterator[tuple]:
    spelling = spelling.removesuffix(" const").removesuffix(" volatile")
    if _POINTER.search(spelling):
        yield position, width, "pointer"
        return
    variants = table.types.get(spelling, ())
    storage = _STORAGE.match(spelling)
    if variants and storage:
        yield position, width, f"{storage[1]} of {variants[0].size} bytes"
        return
    # Helpers exist in one release and not in the other; a public class that one side only declares is known by name.
    inside = _STANDARD.match(spelling) and (spelling in other.types or _HELPER.search(spelling.split("<")[0]))
    if inside and len(variants) == 1 and variants[0].kind != "enum" and spelling not in active:
        yield from _flatten(spelling, variants[0], table, other, position, active)
    else:
        yield position, width, spelling
