"""Layouts as read from small libraries, against what the Itanium C++ ABI says they are."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

from tritonext._triton import wheel
from tritonext.abi import extract
from tritonext.abi.dwarf import Layout, is_local, normalize
from tritonext.abi.elf import open_library
from tritonext.errors import InvalidLibraryError, MissingLibraryError

INPUTS = pathlib.Path(__file__).parent / "inputs"

DWARF = {
    "4": ["-gdwarf-4"],
    "5": ["-gdwarf-5"],
    "4-type-units": ["-gdwarf-4", "-fdebug-types-section"],
    "5-type-units": ["-gdwarf-5", "-fdebug-types-section"],
    "compressed": ["-gdwarf-5", "-gz=zlib"],
    "64-bit": ["-gdwarf-5", "-gdwarf64"],
    "standalone": ["-gdwarf-5", "-fno-eliminate-unused-debug-types"],
}

BASE = Layout(
    "class",
    16,
    members=(("_vptr", 0, 0, ""), ("stored", 64, 0, "long")),
    vtable=((-1, "~Base"), (2, "_ZN6shapes4Base5firstEv"), (3, "_ZNK6shapes4Base6secondEi")),
)
EXPECTED = {
    "shapes::Plain": Layout(
        "class",
        32,
        members=(
            ("c", 0, 0, "char"),
            ("d", 64, 0, "double"),
            ("p", 128, 0, "int *"),
            ("text", 192, 0, "char const * const"),
        ),
    ),
    "shapes::Bits": Layout(
        "class",
        8,
        members=(("a", 0, 3, "unsigned int"), ("b", 3, 7, "unsigned int"), ("c", 10, 40, "long"), ("d", 50, 1, "bool")),
    ),
    "shapes::Aligned": Layout("class", 32, 32, members=(("x", 0, 0, "int"),)),
    "shapes::Either": Layout(
        "union", 16, members=(("i", 0, 0, "int"), ("d", 0, 0, "double"), ("bytes", 0, 0, "char[12]"))
    ),
    "shapes::Base": BASE,
    "shapes::Other": Layout(
        "class",
        16,
        members=(("_vptr", 0, 0, ""), ("other", 64, 0, "int")),
        vtable=((0, "_ZN6shapes5Other5thirdEv"),),
    ),
    "shapes::Derived": Layout(
        "class",
        32,
        bases=(("shapes::Base", 0), ("shapes::Other", 16)),
        members=(("tail", 224, 0, "char"),),
        vtable=((3, "_ZNK6shapes7Derived6secondEi"), (4, "_ZN6shapes7Derived6fourthEv")),
    ),
    "shapes::Left": Layout(
        "class", 32, bases=(("shapes::Base", -1),), members=(("_vptr", 0, 0, ""), ("left", 64, 0, "int"))
    ),
    "shapes::Small": Layout("enum", 1, enumerators=(("Zero", 0), ("One", 1), ("Minus", 255)), underlying="signed char"),
    "shapes::Plural": Layout("enum", 4, enumerators=(("Few", 3), ("Many", 1000000)), underlying="unsigned int"),
    "shapes::Box<long, 4, true>": Layout(
        "class", 40, members=(("value", 0, 0, "long[4]"), ("inner", 256, 0, "shapes::Box<long, 4, true>::Inner"))
    ),
    "shapes::Box<long, 4, true>::Inner": Layout("class", 8, members=(("back", 0, 0, "long *"),)),
    "shapes::Box<long, 4, true>::(anonymous enum Count)": Layout(
        "enum", 4, enumerators=(("IsFlag", 1), ("Count", 4)), underlying="unsigned int"
    ),
    "shapes::Box<shapes::Box<char, 1, false>, 2, true>": Layout(
        "class",
        40,
        members=(
            ("value", 0, 0, "shapes::Box<char, 1, false>[2]"),
            ("inner", 256, 0, "shapes::Box<shapes::Box<char, 1, false>, 2, true>::Inner"),
        ),
    ),
    "shapes::Mixed": Layout(
        "class",
        72,
        members=(
            ("", 0, 0, "(anonymous class of 8: x@0 int; y@32 int)"),
            ("number", 64, 0, "(anonymous union of 4: f@0 float; u@0 unsigned int)"),
            ("callback", 128, 0, "int (shapes::Plain const &, char) *"),
            ("memberPointer", 192, 0, "int shapes::Plain::*"),
            ("reference", 256, 0, "shapes::Plain &"),
            ("small", 320, 0, "shapes::Small"),
            ("matrix", 352, 0, "int volatile[2][3]"),
        ),
    ),
    "shapes::OnlyTypedef": Layout("class", 4, members=(("a", 0, 0, "int"),)),
    "shapes::v2::InInline": Layout("class", 4, members=(("i", 0, 0, "int"),)),
    "(anonymous namespace)::Hidden": Layout("class", 4, members=(("h", 0, 0, "int"),)),
}


UNNAMED = ("shapes::OnlyTypedef", "shapes::Box<long, 4, true>::(anonymous enum Count)")


def canonical(layout: Layout) -> Layout:
    """Drop the type of the pointer to a virtual table, which each compiler describes in its own way."""
    members = tuple(member if member[0] != "_vptr" else (*member[:3], "") for member in layout.members)
    return layout._replace(members=members)


@pytest.fixture(scope="module", params=DWARF)
def form(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def table(form, compiler, tmp_path_factory):
    out = tmp_path_factory.mktemp("shapes") / "libshapes.so"
    return extract(compiler.build(out, *compiler.debug, *DWARF[form], INPUTS / "shapes.cpp"))


@pytest.mark.parametrize("name", EXPECTED)
def test_layout(table, form, name):
    found = {canonical(layout) for layout in table.types.get(name, ())}
    # A type unit of an unnamed type does not say its name; nothing else may take that name.
    assert found == {EXPECTED[name]} or (found == set() and "type-units" in form and name in UNNAMED)


def test_member_functions(table, compiler):
    functions = table.functions["shapes::Base"]
    assert functions["_ZNK6shapes4Base6secondEi"][0] == 3
    assert functions["_ZN6shapes4Base10notVirtualEv"] == (-1, line_of("void notVirtual"))
    if compiler.name == "clang":
        # GCC gives the line of the definition to a function that is defined in the same unit.
        assert functions["_ZNK6shapes4Base6secondEi"][1] == line_of("virtual int second")


def line_of(text: str) -> int:
    lines = (INPUTS / "shapes.cpp").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_definitions_that_differ_between_units_are_all_kept(compiler, tmp_path):
    units = []
    for name, members in ("one", "int a;"), ("two", "int a; long b;"):
        units.append(tmp_path / f"{name}.cpp")
        units[-1].write_text(
            f"struct Odr {{ {members} }}; namespace {{ struct Mine {{ {members} }}; }}"
            f"int {name}(Odr *odr) {{ Mine mine{{1}}; return Odr{{1}}.a + mine.a; }}"
        )
    table = extract(compiler.build(tmp_path / "libodr.so", *compiler.debug, *units))
    for name in "Odr", "(anonymous namespace)::Mine":
        assert sorted(layout.size for layout in table.types[name]) == [4, 16]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["-g", "-gdwarf-3"], "DWARF version 3"),
        (["-g", "-gdwarf-4", "-gsplit-dwarf"], "split debug information"),
        (["-g", "-gdwarf-5", "-gsplit-dwarf"], "split debug information"),
    ],
)
def test_debug_information_that_cannot_be_read(compiler, tmp_path, flags, found):
    library = compiler.build(tmp_path / "lib.so", *flags, INPUTS / "shapes.cpp")
    with pytest.raises(InvalidLibraryError, match="cannot be read") as caught:
        extract(library)
    assert caught.value.found == found


def test_names_without_template_arguments_cannot_be_matched(clang, tmp_path):
    library = clang.build(tmp_path / "lib.so", *clang.debug, "-gsimple-template-names", INPUTS / "shapes.cpp")
    with pytest.raises(InvalidLibraryError, match="cannot be read") as caught:
        extract(library)
    assert caught.value.found == "the template shapes::Box named without its arguments"


def test_library_without_debug_information(compiler, tmp_path):
    library = compiler.build(tmp_path / "lib.so", INPUTS / "shapes.cpp")
    with pytest.raises(InvalidLibraryError, match="has no debug information"):
        extract(library)


@pytest.mark.parametrize("part", ["header", "entries"])
def test_damaged_debug_information(compiler, tmp_path, part):
    library = compiler.build(tmp_path / "lib.so", *compiler.debug, "-Wl,--build-id=none", INPUTS / "shapes.cpp")
    section = next(
        line.split() for line in readelf("-SW", library).replace("[ ", "[").splitlines() if ".debug_info " in line
    )
    offset, size = int(section[4], 16), int(section[5], 16)
    data = bytearray(library.read_bytes())
    if part == "header":
        # The unit then ends two bytes before the section does, which hold no header of another.
        data[offset : offset + 4] = (size - 6).to_bytes(4, "little")
    else:
        data[offset + size // 2 : offset + size] = b"\xff" * (size - size // 2)
    library.write_bytes(data)
    with pytest.raises(InvalidLibraryError, match="the debug information is damaged") as caught:
        extract(library)
    assert "unit at 0x" in caught.value.where


def test_damaged_symbol_versions(tmp_path):
    source = wheel.installed().root / "plugins" / "libMLIRDialectPlugin.so"
    with open_library(source) as elf:
        section = elf._sections[".gnu.version_r"]
        assert elf.providers()
    data = bytearray(source.read_bytes())
    data[section.offset : section.offset + section.size] = b"\xff" * section.size
    library = tmp_path / "lib.so"
    library.write_bytes(data)
    with pytest.raises(InvalidLibraryError, match="not a shared library") as caught, open_library(library) as elf:
        elf.providers()
    assert "symbol versions are damaged" in str(caught.value.found)
    assert caught.value.where == library


def readelf(*arguments: object) -> str:
    tool = shutil.which("readelf") or pytest.skip("there is no readelf on this machine")
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def test_files_that_are_no_library(tmp_path):
    with pytest.raises(MissingLibraryError):
        extract(tmp_path / "absent.so")
    (tmp_path / "text.so").write_text("text " * 100)
    with pytest.raises(InvalidLibraryError, match="not a shared library"):
        extract(tmp_path / "text.so")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("std::vector<std::vector<int> >", "std::vector<std::vector<int>>"),
        ("Box<long int, 4>", "Box<long, 4>"),
        ("Box<long unsigned int, short unsigned int, long long int>", "Box<unsigned long, unsigned short, long long>"),
        ("Box<unsigned int>", "Box<unsigned int>"),
    ],
)
def test_spellings_of_compilers_become_one(written, name):
    assert normalize(written) == name


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("(anonymous namespace)::Pass", True),
        ("std::unique_ptr<(anonymous namespace)::Pass>", True),
        ("std::_Function_base::_Base_manager<(lambda at llvm/mlir/IR/Dialect.h:1:2)>", True),
        ("{anonymous}::Pass", True),
        ("mlir::Pass", False),
        ("mlir::Op::(anonymous enum Count)", False),
    ],
)
def test_types_private_to_a_unit(name, local):
    assert is_local(name) is local
