"""What tlx.report says about compiled kernels."""

import importlib.util
import json
import pathlib

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext.errors import UserError  # noqa: E402

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_pipeline.py"


@pytest.fixture(scope="module")
def gemm():
    spec = importlib.util.spec_from_file_location("gemm_pipeline", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line_of(text):
    """Return the only line of the example that has a text."""
    (line,) = (number for number, line in enumerate(EXAMPLE.read_text().splitlines(), 1) if text in line)
    return line


def test_tasks_and_shared_memory_of_a_gemm(gemm):
    kernel = gemm.compile_for()
    found = tlx.report(kernel)
    assert (found.kernel, pathlib.Path(found.file), found.target) == ("gemm", EXAMPLE, "cuda:90")
    assert (found.warps, found.spills, found.mma) == (12, 0, 8)
    assert [(task.name, task.warps) for task in found.tasks] == [("default", 4), ("task 1", 4), ("task 2", 4)]
    default, *multiplying = found.tasks
    assert dict(default.operations) == {"tile loads": 2, "waits": 1, "arrivals": 1}
    assert default.line == line_of("stage = ring.acquire")
    for task in multiplying:
        assert task.registers == 232
        assert task.operations["MMA"] == 1
        assert task.operations["tile stores"] == 1
    # What the multiplying tasks leave of 64K registers, in steps of 8.
    assert default.registers == 40

    pieces = {piece.name: piece for piece in found.memory if piece.kind == "buffer"}
    assert {name: (piece.shape, piece.size) for name, piece in pieces.items()} == {
        "a_tiles": ("3x128x64 f16", 3 * 128 * 64 * 2),
        "b_tiles": ("3x64x256 f16", 3 * 64 * 256 * 2),
        "c_tiles": ("2x64x256 f16", 2 * 64 * 256 * 2),
    }
    assert pieces["a_tiles"].line == line_of("a_tiles = tlx.local_alloc")
    assert pieces["a_tiles"].first_use == line_of("tlx.async_descriptor_load(a,")
    assert pieces["a_tiles"].last_use == line_of("acc = tlx.async_dot(rows")
    assert pieces["c_tiles"].last_use == line_of("tlx.async_descriptor_store(c")
    barriers = {piece.name: piece for piece in found.memory if piece.kind == "barriers"}
    assert {name: piece.shape for name, piece in barriers.items()} == {
        "ring.full": "3 mbarrier",
        "ring.empty": "3 mbarrier",
    }
    # Waits and arrivals in tasks are uses of them.
    assert barriers["ring.empty"].first_use == line_of("stage = ring.acquire")
    assert barriers["ring.empty"].last_use > line_of("acc = tlx.async_dot(rows")
    ends = [piece.offset + piece.size for piece in found.memory]
    assert max(ends) <= found.shared_bytes == kernel.metadata.shared
    # None of them shares bytes with another.
    assert all(end <= piece.offset for end, piece in zip(ends, found.memory[1:]))


def test_it_is_text_and_json(gemm):
    found = tlx.report(gemm.compile_for())
    assert "232" in str(found)
    assert "c_tiles" in str(found)
    assert json.loads(json.dumps(found.to_json()))["tasks"][1]["registers"] == 232


@triton.jit
def reduce_and_share(x, y):
    at = tl.arange(0, 256)
    first = tlx.local_alloc((256,), tl.float32, 2)
    tlx.local_store(first[1], tl.load(x + at))
    second = tlx.local_alloc((128,), tl.float32, reuse=first)
    half = tl.arange(0, 128)
    tlx.local_store(second[0], tl.load(y + half))
    tl.store(x + at, tlx.local_load(first[1]) + tl.sum(tlx.local_load(second[0])))


def test_a_kernel_without_tasks(compiled):
    found = tlx.report(compiled(reduce_and_share, "x=*fp32:16, y=*fp32:16", "cuda:80"))
    (task,) = found.tasks
    assert (task.name, task.warps, task.registers) == ("kernel", 4, None)
    assert task.operations["buffer stores"] == 2
    # Views of reused memory are uses of it; the reduction brings memory of the compiler.
    (buffer,) = (piece for piece in found.memory if piece.kind == "buffer")
    assert (buffer.name, buffer.shape, buffer.size) == ("first", "2x256 f32", 2 * 256 * 4)
    assert buffer.last_use > buffer.line
    assert "tt.reduce" in {piece.name for piece in found.memory if piece.kind == "compiler"}


@triton.jit
def narrow_task(x, y, n):
    ring = tlx.local_alloc((1024,), tl.float32, 2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 1024)
            for i in range(n):
                tlx.async_load(x + i * 1024 + at, ring[i % 2])
                tlx.async_load_commit_group()
                tlx.async_load_wait_group(0)
                tl.store(x + i * 1024 + at, tlx.local_load(ring[i % 2]))
        with tlx.async_task(num_warps=1, num_regs=24):
            tl.store(y, n)


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_names_are_those_of_the_target_and_of_the_tasks(compiled, target):
    found = tlx.report(compiled(narrow_task, "x=*fp32:16, y=*i32, n=i32", target))
    # `:100:` is no emoji.
    assert f"for {target}: 8 warps" in str(found)
    # Three more warps make a group of four, in as many partitions as powers of two need.
    assert [(task.name, task.warps) for task in found.tasks] == [
        ("default", 4),
        ("task 1", 1),
        ("idle", 2),
        ("idle", 1),
    ]


@triton.jit
def stores_in_tasks(desc, other):
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            desc.store([0, 0], tl.full((64, 64), 1, tl.float16))
        with tlx.async_task(num_warps=4, num_regs=24):
            tlx.barrier_wait(full[0], 1)
            other.store([0, 0], tl.full((32, 64), 1, tl.float16))


def test_buffers_of_the_compiler_in_two_tasks(compiled):
    signature = "desc=tensordesc<fp16[64,64]>, other=tensordesc<fp16[32,64]>"
    found = tlx.report(compiled(stores_in_tasks, signature, "cuda:100"))
    first = stores_in_tasks.def_file_line_number + 4
    buffers = {piece.shape: piece for piece in found.memory if piece.kind == "buffer"}
    assert {shape: (piece.name, piece.first_use, piece.last_use) for shape, piece in buffers.items()} == {
        "64x64 f16": ("", first, first),
        "32x64 f16": ("", first + 3, first + 3),
    }
    # What is left of 64K for 128 threads is more than a thread can have.
    assert found.tasks[0].registers == 256


@triton.jit
def unawaited(x, n):
    at = tl.arange(0, 1024)
    ring = tlx.local_alloc((1024,), tl.float32, 2)
    tlx.async_load(x + at, ring[0])
    tlx.async_load_commit_group()
    for i in range(n):
        tlx.async_load(x + i * 1024 + at, ring[(i + 1) % 2])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(1)
        tl.store(x + i * 1024 + at, tlx.local_load(ring[i % 2]))


def test_a_buffer_without_a_last_wait_is_kept_to_the_end(compiled):
    found = tlx.report(compiled(unawaited, "x=*fp32:16, n=i32"))
    (ring,) = found.memory
    first = unawaited.def_file_line_number + 3
    assert (ring.kept, ring.first_use, ring.last_use) == (True, first, first + 6)
    assert f"{first} to the end" in str(found)


@triton.jit
def plain(x):
    tl.store(x + tl.arange(0, 32), 1.0)


def test_a_kernel_without_tlx(compiled):
    found = tlx.report(compiled(plain, "x=*fp32:16"))
    assert found.memory == ()
    assert found.tasks[0].operations == {"stores": 1}


def test_what_it_refuses(compiled):
    with pytest.raises(UserError, match="nothing to report on"):
        tlx.report(plain)
    with pytest.raises(UserError, match=r"NVIDIA GPUs only(.|\n)*found: hip:gfx942"):
        tlx.report(compiled(plain, "x=*fp32:16", "hip:gfx942"))
