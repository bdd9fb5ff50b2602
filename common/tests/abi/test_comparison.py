"""What the comparison reports, and that a single changed fact in a real table is found and named."""

from __future__ import annotations

import dataclasses

import pytest

from tritonext.abi import Mismatch, Table, compare
from tritonext.abi.dwarf import Layout

CLANG = "clang version 23.1.4"
POINT = Layout("class", 8, members=(("x", 0, 0, "int"), ("y", 32, 0, "int")))
COLOR = Layout("enum", 4, enumerators=(("Red", 0), ("Blue", 1)), underlying="unsigned int")
SHAPE = Layout("class", 8, members=(("_vptr", 0, 0, "int () * *"),), vtable=((0, "_Z4areav"), (1, "_Z4drawv")))


def table(types: dict[str, Layout], *, functions: dict | None = None, producers: tuple[str, ...] = (CLANG,)) -> Table:
    variants = {name: layout if isinstance(layout, list) else [layout] for name, layout in types.items()}
    return Table("", producers, {name: tuple(each) for name, each in variants.items()}, functions or {})


def reasons(mine: Layout, other: Layout) -> tuple[str, ...]:
    report = compare(table({"T": mine}), table({"T": other}))
    (mismatch,) = report.mismatches
    assert mismatch.type == "T"
    assert mismatch.plugin != mismatch.host
    return mismatch.reasons


def test_equal_tables_have_no_mismatch():
    types = {"Point": POINT, "Color": COLOR, "Shape": SHAPE}
    report = compare(table(types), table(types))
    assert report.ok
    assert (report.compared, report.members, report.slots, report.enumerators) == (3, 3, 2, 2)
    assert report.stamp() == {"compared": 3, "mismatches": 0, "uncovered": 0}


@pytest.mark.parametrize(
    ("mine", "other", "reason"),
    [
        (POINT._replace(size=16), POINT, "size is 16, in libtriton 8"),
        (POINT._replace(alignment=16), POINT, "alignment is 16, in libtriton 0"),
        (POINT._replace(kind="union"), POINT, "kind is union, in libtriton class"),
        (
            POINT._replace(members=(*POINT.members, ("z", 64, 0, "int"))),
            POINT,
            "member 'z' (at byte 8, int) is in the plugin only",
        ),
        (
            POINT._replace(members=POINT.members[:1]),
            POINT,
            "member 'y' (at byte 4, int) is in libtriton only",
        ),
        (
            POINT._replace(members=(POINT.members[0], ("y", 64, 0, "int"))),
            POINT,
            "member 'y' is at byte 8, int, in libtriton at byte 4, int",
        ),
        (
            POINT._replace(members=(POINT.members[0], ("y", 32, 0, "float"))),
            POINT,
            "member 'y' is at byte 4, float, in libtriton at byte 4, int",
        ),
        (
            POINT._replace(members=(POINT.members[0], ("y", 35, 5, "int"))),
            POINT,
            "member 'y' is at byte 4 bit 3, 5 bits, int, in libtriton at byte 4, int",
        ),
        (
            POINT._replace(members=(("", 0, 0, "int"), ("", 32, 0, "int"))),
            POINT._replace(members=(("", 0, 0, "int"), ("", 32, 0, "long"))),
            "member '(unnamed) #2' is at byte 4, int, in libtriton at byte 4, long",
        ),
        (
            POINT._replace(bases=(("Base", 0),)),
            POINT._replace(bases=(("Base", -1),)),
            "base class 'Base' is at byte 0, in libtriton virtual",
        ),
        (
            COLOR._replace(enumerators=(("Red", 0), ("Blue", 2))),
            COLOR,
            "enumerator 'Blue' is 2, in libtriton 1",
        ),
        (COLOR._replace(underlying="int"), COLOR, "underlying type is int, in libtriton unsigned int"),
        (
            SHAPE._replace(vtable=((0, "_Z4drawv"), (1, "_Z4areav"))),
            SHAPE,
            "virtual function '_Z4drawv' is vtable slot 0, in libtriton vtable slot 1",
        ),
        (
            SHAPE._replace(vtable=(*SHAPE.vtable, (2, "_Z5printv"))),
            SHAPE,
            "virtual function '_Z5printv' (vtable slot 2) is in the plugin only",
        ),
    ],
)
def test_each_difference_is_named(mine, other, reason):
    assert reason in reasons(mine, other)


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        ((("Red", 0), ("Blue", 1), ("Green", 2)), (("Red", 0), ("Blue", 1)), "T: Green in the plugin only"),
        (
            (("Red", 0), ("Blue", 1)),
            (("Red", 0), ("Blue", 1), ("Grey", 7), ("Green", 2)),
            "T: Green, Grey in libtriton only",
        ),
    ],
)
def test_enumerators_with_values_of_their_own_are_listed(mine, other, said):
    report = compare(table({"T": COLOR._replace(enumerators=mine)}), table({"T": COLOR._replace(enumerators=other)}))
    assert report.ok
    assert report.extended == [said]


@pytest.mark.parametrize(
    "mine",
    [
        (("Red", 0), ("Green", 1)),
        (("Red", 0), ("Green", 1), ("Blue", 2)),
        (("Red", 0), ("Blue", 1), ("Last", 1)),
    ],
)
def test_a_name_or_value_with_two_meanings_is_a_mismatch(mine):
    assert reasons(COLOR._replace(enumerators=mine), COLOR)


def test_a_type_agrees_with_any_variant_of_the_other_side():
    wide = POINT._replace(size=16)
    assert compare(table({"T": POINT}), table({"T": [wide, POINT]})).ok
    report = compare(table({"T": [POINT, wide]}), table({"T": POINT}))
    assert [mismatch.reasons for mismatch in report.mismatches] == [("size is 16, in libtriton 8",)]
    assert report.notes == ["units of the plugin define these types differently: T"]


def test_the_closest_variant_is_shown():
    far = Layout("class", 64, members=(("a", 0, 0, "int"),))
    (mismatch,) = compare(table({"T": POINT}), table({"T": [far, POINT._replace(size=12)]})).mismatches
    assert mismatch == Mismatch(
        "T",
        ("size is 8, in libtriton 12",),
        ("class of 8 bytes", "  x at byte 0, int", "  y at byte 4, int"),
        ("class of 12 bytes", "  x at byte 0, int", "  y at byte 4, int"),
    )


def test_types_of_one_side_are_listed_and_not_compared():
    host = table({"Point": POINT, "Other": POINT}, functions={"Declared": {"_Z1f": (-1, 10), "_Z1g": (-1, 20)}})
    plugin = table(
        {"Point": POINT, "Mine": POINT, "Declared": POINT, "(anonymous namespace)::Local": POINT},
        functions={"Declared": {"_Z1f": (-1, 10), "_Z1g": (-1, 21), "_Z1h": (-1, 30)}},
    )
    report = compare(plugin, host)
    assert report.ok
    assert (report.compared, report.local, report.host_only) == (1, 1, 1)
    assert [(each.type, each.reason, each.functions, each.moved) for each in report.uncovered] == [
        ("Declared", "declared", 2, 1),
        ("Mine", "absent", 0, 0),
    ]


def test_private_types_of_the_c_library_may_differ():
    mine, theirs = POINT._replace(size=16), POINT
    report = compare(table({"_IO_FILE": mine, "Point": POINT}), table({"_IO_FILE": theirs, "Point": POINT}))
    assert report.ok
    assert report.compared == 1
    assert [(each.type, each.reason) for each in report.uncovered] == [("_IO_FILE", "private")]
    assert not compare(table({"ns::_Private": mine}), table({"ns::_Private": theirs})).ok


def test_virtual_functions_of_a_class_that_libtriton_only_declares_are_compared():
    plugin = table({"Point": POINT, "Pass": SHAPE}, functions={"Pass": {"_Z4areav": (0, 1), "_Z4drawv": (1, 2)}})
    host = table({"Point": POINT}, functions={"Pass": {"_Z4drawv": (2, 2)}})
    (mismatch,) = compare(plugin, host).mismatches
    assert mismatch.type == "Pass"
    assert mismatch.reasons == ("virtual function _Z4drawv has vtable slot 1, in libtriton vtable slot 2",)


@pytest.mark.parametrize(
    ("producer", "accepted"),
    [
        ("clang version 21.1.8 ( 21.1.8-1.module_el8.10.0)", True),
        ("Vendor v23.1.4 clang version 23.1.4 (https://example.org 7a94)", True),
        ("Debian clang version 20.1.0", True),
        ("Debian clang version 19.1.7", False),
        ("GNU C++17 12.2.0 -mtune=generic -g", False),
    ],
)
def test_only_a_recent_clang_is_accepted(producer, accepted):
    report = compare(table({"T": POINT}, producers=(CLANG, producer)), table({"T": POINT}))
    assert report.ok is accepted
    assert [problem.kind for problem in report.problems] == ([] if accepted else ["compiler"])


def test_nothing_to_compare_is_a_problem():
    assert compare(table({"Mine": POINT}), table({"T": POINT})).problems[0].kind == "debug information"
    assert compare(table({"T": POINT}, producers=()), table({"T": POINT})).problems[0].kind == "debug information"


def standard(*members: tuple, bases: tuple = (), size: int = 16) -> Layout:
    return Layout("class", size, bases=bases, members=members)


def test_helper_classes_of_another_libstdcxx_release_are_seen_through():
    flat = {
        "std::optional<int>": standard(("_M_value", 0, 0, "int"), ("_M_next", 64, 0, "std::_Node *")),
    }
    nested = {
        "std::optional<int>": standard(bases=(("std::_Optional_base<int>", 0),)),
        "std::_Optional_base<int>": standard(
            ("_M_payload", 0, 0, "std::_Payload<int>"), ("_M_next", 64, 0, "std::_Node const *")
        ),
        "std::_Payload<int>": standard(("_M_value", 0, 0, "int"), bases=(("std::_Empty", 0),), size=4),
        "std::_Empty": standard(size=1),
    }
    report = compare(table(nested), table(flat))
    assert report.ok
    assert report.standard == ["std::optional<int>"]
    moved = {"std::optional<int>": standard(("_M_value", 32, 0, "int"), ("_M_next", 64, 0, "std::_Node *"))}
    assert [mismatch.type for mismatch in compare(table(nested), table(moved)).mismatches] == ["std::optional<int>"]
    smaller = {"std::optional<int>": standard(*flat["std::optional<int>"].members, size=12)}
    assert [mismatch.type for mismatch in compare(table(nested), table(smaller)).mismatches] == ["std::optional<int>"]
    # What holds for the standard library does not hold for a class of LLVM.
    llvm = [{name.replace("std::", "llvm::"): layout for name, layout in each.items()} for each in (nested, flat)]
    assert not compare(table(llvm[0]), table(llvm[1])).ok


def copy(source: Table) -> Table:
    return dataclasses.replace(source, types=dict(source.types), producers=(CLANG,))


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        (
            "mlir::Block",
            lambda layout: layout._replace(
                members=tuple((name, at + 64 * (name == "operations"), *rest) for name, at, *rest in layout.members)
            ),
            "member 'operations' is at byte",
        ),
        (
            "mlir::triton::MemSemantic",
            lambda layout: layout._replace(
                enumerators=tuple((name, value + (name == "RELAXED")) for name, value in layout.enumerators)
            ),
            "enumerator 'RELAXED' is 2, in libtriton 1",
        ),
        (
            "mlir::RegisteredOperationName::Model<mlir::triton::LoadOp>",
            lambda layout: layout._replace(vtable=tuple((slot + (slot > 5), name) for slot, name in layout.vtable)),
            "virtual function '_ZN4mlir23RegisteredOperationName5ModelINS_6triton6LoadOpEE",
        ),
        ("llvm::StringRef", lambda layout: layout._replace(size=24), "size is 24, in libtriton 16"),
    ],
)
def test_one_changed_fact_in_the_table_of_libtriton_is_found(host, name, change, reason):
    changed = copy(host)
    (layout,) = host.types[name]
    changed.types[name] = (change(layout),)
    (mismatch,) = compare(changed, host).mismatches
    assert mismatch.type == name
    assert any(reason in each for each in mismatch.reasons), mismatch.reasons


def test_the_table_of_libtriton_agrees_with_itself(host):
    report = compare(copy(host), host)
    assert report.ok
    assert report.compared + report.local == len(host.types)
    assert report.compared > 40_000
    assert report.uncovered == []
