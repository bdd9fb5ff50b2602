"""The ELF reader against the C library, libtriton and damaged files."""

from __future__ import annotations

import ctypes
import pathlib
import random
import struct
import time

import pytest

from tritonext._triton import wheel
from tritonext.elf import Elf, ElfError


@pytest.fixture(scope="module")
def libc() -> pathlib.Path:
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return next(pathlib.Path(line.split()[-1]) for line in lines if line.endswith("/libc.so.6"))


@pytest.mark.parametrize("name", ["malloc", "qsort", "fopen", "getenv", "environ", "malloc_", "no_such_function", ""])
def test_agrees_with_the_dynamic_linker(libc, name):
    with Elf(libc) as elf:
        assert elf.exports(name) == (bool(name) and hasattr(ctypes.CDLL(str(libc)), name))
        assert elf.exports(name) == any(symbol.name == name and symbol.defined for symbol in elf.symbols)


def test_finds_every_symbol_of_libtriton_by_hash():
    with Elf(wheel.installed().library) as elf:
        names = [symbol.name for symbol in elf.symbols if symbol.defined]
        assert len(names) > 50_000
        sample = random.Random(0).sample(names, 2000)
        assert all(elf.exports(name) for name in sample)
        assert not any(elf.exports(name + "_") for name in sample)
        assert "libstdc++.so.6" in elf.needed


def test_is_fast_enough_to_ask_at_every_load():
    with Elf(wheel.installed().library) as elf:
        start = time.perf_counter()
        for index in range(1000):
            elf.exports(f"_ZN4mlir9Operation{index}Ev")
        assert time.perf_counter() - start < 0.5


def test_tells_versioned_from_unversioned(libc, probe):
    with Elf(probe.library) as elf:
        wanted = {symbol.name: symbol for symbol in elf.symbols if not symbol.defined}
        assert not any(symbol.versioned for name, symbol in wanted.items() if name.startswith("_ZN4mlir"))
        assert any(symbol.versioned for symbol in wanted.values())
        assert "libtriton.so" in elf.needed
        assert elf.search_paths == ()


def test_finds_where_libraries_are_looked_for(probe, tmp_path):
    content = probe.library.read_bytes()
    path = tmp_path / "file"
    for tag in (15, 29):
        # In place of the number of relative relocations, which the dynamic linker can do without.
        path.write_bytes(content.replace(struct.pack("<Q", 0x6FFFFFF9), struct.pack("<Q", tag), 1))
        with Elf(path) as elf:
            assert len(elf.search_paths) == 1


def test_build_id_is_that_of_the_note():
    path = wheel.installed().library
    with Elf(path) as elf, open(path, "rb") as file:
        assert elf.build_id
        assert len(elf.build_id) in (16, 40)
        assert bytes.fromhex(elf.build_id) in file.read(4096)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "too short"),
        (b"\x7fELF", "too short"),
        (b"x" * 64, "does not start"),
        (b"\x7fELF\x01\x01" + bytes(64), "not 64-bit"),
        (b"\x7fELF\x02\x01" + bytes(64), "not a shared object"),
    ],
)
def test_refuses_what_is_no_shared_object(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=message):
        Elf(path)


def _hash_table(content: bytes) -> int:
    """Return the position of the GNU hash table by the section table: `.gnu.hash` has the type 0x6ffffff6."""
    start, size, count = *struct.unpack_from("<Q", content, 40), *struct.unpack_from("<HH", content, 58)
    sections = (struct.unpack_from("<IIQQQ", content, start + index * size) for index in range(count))
    return next(offset for _, kind, _, _, offset in sections if kind == 0x6FFFFFF6)


@pytest.mark.parametrize("word", [0, 2], ids=["buckets", "filter"])
@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_damaged_hash_table_is_refused(tmp_path, libc, word, size):
    content = bytearray(libc.read_bytes())
    struct.pack_into("<I", content, _hash_table(content) + 4 * word, size)
    path = tmp_path / "file"
    path.write_bytes(content)
    with Elf(path) as elf, pytest.raises(ElfError, match="table of exported symbols is damaged"):
        elf.exports("malloc")


def test_damaged_files_never_raise_anything_else(tmp_path, libc):
    content = bytearray(libc.read_bytes())
    path = tmp_path / "file"
    chance = random.Random(1)
    outcomes = set()
    for _ in range(200):
        damaged = content.copy()
        for _ in range(8):
            damaged[chance.randrange(1200)] = chance.randrange(256)
        path.write_bytes(damaged[: chance.randrange(64, len(damaged))] if chance.random() < 0.3 else damaged)
        try:
            with Elf(path) as elf:
                elf.exports("malloc")
                assert elf.symbols is not None
            outcomes.add("read")
        except ElfError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
