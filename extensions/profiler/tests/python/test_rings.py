"""Rings, the bytes in them, and what of them is trusted."""

from __future__ import annotations

import types

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext
import tritonext_profiler
from tritonext.errors import UserError
from tritonext.testing import fake_driver
from tritonext_profiler import decode, format, gpu, integrity, rings
from tritonext_profiler.assemble import assemble
from tritonext_profiler.model import Kernel, Loop, Region
from tritonext_profiler.table import iterations, kernel_of, table_of
from tritonext_profiler.testing import (
    FakeMemory,
    emulate,
    gemm_kernel,
    gemm_plan,
    record,
    specialized_kernel,
    specialized_team,
    table,
)

ENTRY = table(gemm_kernel())


@pytest.fixture(scope="module")
def recording():
    return record(gemm_plan(20), seed=31, ctas=12, launches=8)


def made(memory, entry=ENTRY, size=1 << 21, keep=1 << 30, sample=1):
    return rings.Rings(memory, size, keep, sample)


def ring_of(group, entry=ENTRY, grid=(12,), stream=7, captured=False, overlaps=False):
    return group.ring(0, entry, grid, stream, captured, overlaps)


def decoded(group, entry=ENTRY, kernel=None):
    kernel = kernel or kernel_of(entry)
    return decode.decode(group.chunks, [kernel], [entry])


def test_all_of_it_comes_back_in_pieces(recording, monkeypatch):
    memory = FakeMemory()
    group = made(memory)
    ring = ring_of(group)
    # Less than the heads, and much less than the records, of a launch.
    monkeypatch.setattr(rings, "PIECE", 3_000)
    read_rows, sizes = memory.read_rows, []

    def counted(address, pitch, width, count):
        sizes.append(width * count)
        return read_rows(address, pitch, width, count)

    memory.read_rows = counted
    for launch in range(8):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
        group.drain()
    group.drain(final=True)
    back, true = decoded(group), assemble(*recording.columns)
    assert ring.lost == 0
    assert max(sizes) <= 3_000
    assert np.array_equal(back.spans, true.spans), "also the iterations, which are not recorded"
    for name in ("launch", "cta", "warp", "sm", "start", "end", "cycles", "closed"):
        assert np.array_equal(back.warps[name], true.warps[name]), name
    assert back.launches["ticket"].tolist() == list(range(8))
    assert set(back.launches["stream"].tolist()) == {7}


def test_a_ring_goes_around_and_segments_that_are_not_whole_wait(recording):
    memory = FakeMemory()
    group = made(memory, size=ENTRY["segment_bytes"] * 64)
    ring = ring_of(group)
    assert ring.count == 64
    for launch in range(8):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
        place = memory.at(ring.segments + (launch * 48 + 30) % 64 * ring.bytes, ring.bytes)
        done = place[: format.SEGMENT.itemsize].view(format.SEGMENT)["done"]
        kept = int(done[0])
        done[:] = 0
        group.drain()
        assert ring.tail == launch * 48 + 30
        done[:] = kept
        group.drain()
    assert ring.lost == 0
    assert np.array_equal(decoded(group).spans, assemble(*recording.columns).spans)


def test_what_is_overwritten_is_counted_and_the_rest_is_right(recording):
    memory = FakeMemory()
    group = made(memory, size=ENTRY["segment_bytes"] * 64)
    ring = ring_of(group)
    for launch in range(4):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
    group.drain(final=True)
    assert ring.lost == 4 * 48 - 64
    back, true = decoded(group), assemble(*recording.columns)
    assert len(back.warps) == 64
    assert np.array_equal(back.warps["cycles"], true.warps["cycles"][4 * 48 - 64 : 4 * 48])


def test_what_becomes_whole_while_it_is_read_waits(recording):
    memory = FakeMemory()
    group = made(memory)
    ring = ring_of(group)
    emulate(memory, ring.data_ptr(), ENTRY, recording, 0)
    heads = memory.at(ring.segments, 48 * ring.bytes).reshape(48, ring.bytes)[:, : format.SEGMENT.itemsize]
    heads = [row.view(format.SEGMENT) for row in heads]
    for number, head in enumerate(heads):
        if number != 30:
            head["attempted"] = 1
    done, heads[30]["done"] = heads[30]["done"].copy(), 0
    read_rows, widths = memory.read_rows, []

    def slow(address, pitch, width, count):
        widths.append(width)
        if width > format.SEGMENT.itemsize:
            heads[30]["done"] = done
        return read_rows(address, pitch, width, count)

    memory.read_rows = slow
    group.drain()
    assert ring.tail == 30
    group.drain()
    assert ring.tail == 48
    assert len(set(widths)) == 3
    assert not decoded(group).warps["dropped"].any()


def test_what_is_overwritten_while_it_is_read_is_left_out(recording):
    memory = FakeMemory()
    group = made(memory, size=ENTRY["segment_bytes"] * 64)
    ring = ring_of(group)
    emulate(memory, ring.data_ptr(), ENTRY, recording, 0)
    read = memory.read

    def slow(address, size):
        data = read(address, size)
        if address == ring.segments:
            memory.read = read
            emulate(memory, ring.data_ptr(), ENTRY, recording, 1)
        return data

    memory.read = slow
    group.drain()
    assert ring.lost == 96 - 64
    group.drain(final=True)
    assert sum(len(chunk.data) for chunk in group.chunks) == 64


def test_each_captured_launch_has_a_ring_and_streams_do_too(recording):
    memory = FakeMemory()
    group = made(memory, size=1 << 21)
    same = {id(ring_of(group, stream=stream)) for stream in (1, 1, 2)}
    grids = {id(ring_of(group, grid=(12, 1))), id(ring_of(group, grid=(6, 2)))}
    captured = {id(ring_of(group, captured=True)) for _ in range(3)}
    turns = [ring_of(group, overlaps=True) for _ in range(5)]
    assert (len(same), len(grids), len(captured), len({id(ring) for ring in turns})) == (2, 2, 3, 4)
    assert turns[0] is turns[4]
    kept = [ring for ring in group.rings if ring.captured]
    group.close()
    emulate(memory, kept[0].data_ptr(), ENTRY, recording)
    assert not memory.at(kept[0].segments, 64).any()
    group.free()
    assert len(memory.taken) == 1, "the slots, which graphs may use"
    taken = {ring_of(group, stream=stream).slot for stream in range(4)}
    assert not taken & {ring.slot for ring in kept}


def test_a_launch_takes_only_what_there_is_room_for(recording, monkeypatch):
    memory = FakeMemory()
    # Room for two launches of all blocks, and then for two of one block in each launch.
    group = made(memory, size=ENTRY["segment_bytes"] * 128, sample=None)
    monkeypatch.setattr(rings, "_SHARES", (2, 24))
    given = [ring_of(group) for _ in range(40)]
    full, sparse = given[0], given[2]
    assert [ring is full for ring in given[:3]] == [True, True, False]
    assert full.per_launch == 48 > sparse.per_launch
    assert sparse.count // sparse.per_launch == sum(ring is sparse for ring in given)
    blank = given[-1]
    skipped = sum(ring is blank for ring in given)
    assert group.skipped == {0: [skipped, skipped * full.per_launch]}
    emulate(memory, blank.data_ptr(), ENTRY, recording)
    # What was read makes room again.
    for launch in range(2):
        emulate(memory, full.data_ptr(), ENTRY, recording, launch)
    group.drain()
    assert ring_of(group) is full
    assert len(decoded(group).launches) == 2


def test_rings_do_not_cross_four_gigabytes():
    memory = FakeMemory(base=(1 << 40) - (1 << 17))
    group = made(memory, size=1 << 16)
    for stream in range(6):
        ring = ring_of(group, stream=stream)
        assert ring.segments >> 32 == (ring.segments + ring.count * ring.bytes - 1) >> 32


@pytest.mark.parametrize(
    ("blocks", "sample", "budget", "chosen"),
    [
        (100, None, 1000, (1 << 31, 0)),
        (1000, None, 1000, (32, 16)),
        (1000, 1, 10, (1 << 31, 0)),
        (1000, 16, 1 << 30, (1, 16)),
        (1000, 1 << 40, 1 << 30, (1, 1 << 31)),
    ],
)
def test_sampling(blocks, sample, budget, chosen):
    first, every = rings.sampling(blocks, 10, sample, budget)
    assert (first, every) == chosen
    recorded = [block for block in range(blocks) if block < first or (every and block % every == 0)]
    assert format.recorded(blocks, first, every) == len(recorded)
    filled = format.slot(0, 1, first, every, blocks)[0]
    assert format.tagged(1 << 20, filled) >> 11 == 1 << 9, "nothing of it is in the address itself"
    assert [format.rank(filled, block) for block in recorded] == list(range(len(recorded)))
    assert sample is not None or len(recorded) * 10 <= budget


def test_a_sample_is_told_apart_into_launches(recording):
    memory = FakeMemory()
    group = made(memory, sample=4)
    ring = ring_of(group)
    for launch in range(3):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
    group.drain(final=True)
    launches = decoded(group).launches
    assert launches["ctas"].tolist() == [3, 3, 3]
    assert launches["grid"].tolist() == [12, 12, 12]


def test_no_memory_is_held_where_there_is_too_little(monkeypatch):
    # The first of it would cross a multiple of 4 GiB.
    memory = FakeMemory(base=(1 << 40) - 512)
    allocate = memory.allocate

    def once(size):
        if memory.taken:
            raise UserError("the GPU's driver refuses", found="CUDA_ERROR_OUT_OF_MEMORY")
        return allocate(size)

    monkeypatch.setattr(memory, "allocate", once)
    with pytest.raises(UserError, match="driver refuses"):
        ring_of(made(memory))
    assert memory.taken == {}


@pytest.mark.parametrize("count", [1, 3])
def test_rows_wider_than_the_pinned_memory_are_read_one_by_one(monkeypatch, count):
    memory = np.arange(120, dtype=np.uint8)
    here = object.__new__(gpu.Gpu)
    monkeypatch.setattr(gpu, "_CHUNK", 16)
    monkeypatch.setattr(here, "read", lambda address, size: memory[address : address + size], raising=False)
    assert np.array_equal(here.read_rows(0, 40, 20, count), memory.reshape(3, 40)[:count, :20])


def test_beyond_the_memory_only_times_are_kept(recording):
    memory = FakeMemory()
    group = made(memory, keep=100_000)
    ring = ring_of(group)
    for launch in range(8):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
        group.drain()
    true, back, times = assemble(*recording.columns).launches, decoded(group), group.times()
    assert 0 < len(back.launches) < 8
    assert len(back.launches) + len(times) == 8
    assert np.abs(np.sort(times["start"]) - np.sort(true["start"])[len(back.launches) :]).max() < 64
    assert set(times["ctas"]) == {12}
    assert group.untold == 0


def test_beyond_all_of_the_memory_launches_are_counted(recording):
    memory = FakeMemory()
    # Nothing for records, and begin and end of two launches.
    group = made(memory, keep=3 * 40 * 8 - 8)
    ring = ring_of(group)
    for launch in range(8):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
        group.drain()
    assert (len(group.chunks), len(group.times()), group.untold) == (0, 2, 6)
    assert group.times()["ctas"].tolist() == [12, 12]


def test_a_launch_that_is_read_in_parts_has_one_begin_and_end(recording):
    memory = FakeMemory()
    group = made(memory, keep=10_000)
    ring = ring_of(group)
    for launch in range(2):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
        middle = memory.at(ring.segments + (launch * 48 + 30) * ring.bytes, ring.bytes)[: format.SEGMENT.itemsize]
        done = middle.view(format.SEGMENT)["done"]
        kept, done[:] = int(done[0]), 0
        group.drain()
        done[:] = kept
        group.drain()
    times, true = group.times(), assemble(*recording.columns).launches
    assert times["ctas"].tolist() == [12, 12]
    assert np.array_equal(times["start"], true["start"][:2] // 32 * 32)
    assert np.array_equal(times["end"], true["end"][:2] // 32 * 32)


def test_batches_are_written_whole_or_not_at_all():
    entry = table(gemm_kernel(), capacity=16)
    entry["batch_limit"] = 12
    entry["regions"][5]["batch"] = [1, 3]
    units = np.zeros((3, 16), format.UNIT)
    units["region"] = 5
    counts = decode.written(np.array([4, 12, 40]), units, entry)
    assert counts.tolist() == [4, 12, 14]
    assert counts.tolist() == [format.written(n, units["region"][0], entry) for n in (4, 12, 40)]


def test_roles_follow_from_warps():
    kernel = specialized_kernel()
    entry = table(kernel, first_warps=(0, 8))
    memory = FakeMemory()
    group = made(memory)
    emulate(
        memory,
        ring_of(group, entry, grid=(4,)).data_ptr(),
        entry,
        record([], seed=1, ctas=4, roles=specialized_team(5)),
    )
    group.drain(final=True)
    back = decoded(group, entry)
    assert np.array_equal(back.warps["role"], back.warps["warp"] >= 8)


@triton.jit
def matmul(a, b, c, K, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        left = tl.load(a + rows * K + columns + k)
        right = tl.load(b + (rows + k) * BLOCK + columns)
        total = tl.dot(left, right, total)
    tl.store(c + rows * BLOCK + columns, total.to(tl.float16))


def test_what_the_compiler_says_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    array = fake_driver.Array("fp16")
    with fake_driver.active("cuda:90"), tritonext.use(tritonext_profiler.pipeline(mode="auto")):
        compiled = matmul.warmup(array, array, array, 1024, 64, grid=(1,), num_stages=3)
    kernel = kernel_of(table_of(compiled), num_stages=3)
    assert (kernel.name, kernel.mode, kernel.num_warps) == ("matmul", "auto", 4)
    assert [region.category for region in kernel.regions if region.flops and region.depth] == ["mma_issue"]
    loaded = {
        kernel.source[f"{region.file}:{region.line}"] for region in kernel.regions if region.category == "copy_issue"
    }
    assert all("tl.load" in line or "tl.dot" in line for line in loaded)
    # Each region once and the loop's five times, as the kernel would: every iteration is counted, none twice.
    inner = [region.id for region in kernel.regions if region.depth]
    before = [region.id for region in kernel.regions[1 : inner[0]]]
    after = [region.id for region in kernel.regions[inner[-1] + 1 :]]
    warp = [*before, *inner * 5, *after]
    assert integrity.check(compiled) == []
    numbers = iterations(kernel, np.array([len(warp)] * 2), np.array(warp * 2))
    expected = [0] * len(before) + [number for number in range(5) for _ in inner] + [0] * len(after)
    assert numbers.tolist() == expected * 2


def test_a_kernel_without_records_is_said_to_have_none():
    with pytest.raises(UserError, match="compiled without records"):
        table_of(types.SimpleNamespace(metadata=types.SimpleNamespace(name="plain")))
    later = types.SimpleNamespace(name="plain", tritonext_profiler={"version": 99})
    with pytest.raises(UserError, match="another release of the profiler"):
        table_of(types.SimpleNamespace(metadata=later))


def test_clusters_of_programs_have_as_many_blocks_as_the_launcher_starts(recording):
    memory = FakeMemory()
    # Compiled for one block, as the table says, and launched as two for each of the grid.
    metadata = types.SimpleNamespace(name="clustered", tritonext_profiler=ENTRY, num_ctas=2)
    entry = table_of(types.SimpleNamespace(metadata=metadata, asm={"ptx": ""}))
    with pytest.raises(UserError, match="cannot be told apart"):
        table_of(types.SimpleNamespace(metadata=metadata, asm={"ptx": "clusterlaunchcontrol.try_cancel.async"}))
    group = made(memory)
    ring = ring_of(group, entry, grid=(6,))
    ring.issued = 8 * ring.per_launch
    for launch in range(8):
        emulate(memory, ring.data_ptr(), entry, recording, launch)
        group.drain()
    assert (ring.grid, ring.lost) == ((12, 1, 1), 0)
    back = decoded(group)
    assert np.array_equal(back.spans, assemble(*recording.columns).spans)
    assert set(back.launches["grid"]) == {12}
    assert group.leave_out_torn() == []
    # Whoever does not know of the clusters is not given launches that are mixed up.
    unaware = made(memory)
    ring = ring_of(unaware, grid=(6,))
    ring.issued = 8 * ring.per_launch
    for launch in range(8):
        emulate(memory, ring.data_ptr(), ENTRY, recording, launch)
    unaware.drain(final=True)
    assert unaware.leave_out_torn() == [ring]
    assert (unaware.chunks, ring.lost) == ([], 0)


def test_iterations_of_nested_loops():
    regions = [Region(0, "entry")]
    regions += [Region(number, "other", loop=loop) for number, loop in enumerate((0, 1, 1, 1, 0, -1), 1)]
    # The inner loop's pace is its second region.
    kernel = Kernel("k", regions=tuple(regions), loops=(Loop(pace=1), Loop(parent=0, pace=3)))
    inner, warp = [2, 3, 4, 2, 3, 4], []
    for _ in range(2):
        warp += [1, *inner, 5]
    warp.append(6)
    expected = [0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0]
    numbers = iterations(kernel, np.array([len(warp), 0, len(warp)]), np.array(warp * 2))
    assert numbers.tolist() == expected * 2
