"""How long buffers and barriers have their memory: until asynchronous work is over, and not at all when unused."""

import importlib.util
import pathlib

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
from tritonext_tlx.cluster import launched_as  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SIGNATURE = "x=*fp16:16, y=*fp16:16, desc=tensordesc<fp16[64, 64]>"
SIZE = 64 * 64 * 2


@triton.jit
def tile():
    return tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]


@triton.jit
def use_another(x, y):
    """Fill and read a buffer that nothing else needs."""
    another = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(another, tl.load(x + tile()))
    tl.store(y + tile(), tlx.local_load(tlx.local_trans(another)))


@triton.jit
def store(x, y, desc, WAIT_FIRST: tl.constexpr):
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(source, tl.load(x + tile()))
    tlx.fence_async_shared()
    tlx.async_descriptor_store(desc, source, [0, 0])
    if WAIT_FIRST:
        tlx.async_descriptor_store_wait(0)
    use_another(x + 4096, y)
    tlx.async_descriptor_store_wait(0)
    use_another(x + 8192, y + 4096)


@triton.jit
def bulk_store(x, y, desc, WAIT_FIRST: tl.constexpr):
    row = tl.arange(0, 4096)
    source = tlx.local_alloc((4096,), tl.float16)[0]
    tlx.local_store(source, tl.load(x + row))
    tlx.fence_async_shared()
    tlx.async_store(y + 8192, source, 8192)
    if WAIT_FIRST:
        tlx.async_descriptor_store_wait(0)
    use_another(x + 4096, y)
    tlx.async_descriptor_store_wait(0)
    use_another(x + 8192, y + 4096)


@triton.jit
def dot(x, y, desc, WAIT_FIRST: tl.constexpr):
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(source, tl.load(x + tile()))
    tlx.fence_async_shared()
    acc = tlx.async_dot(source, source, tl.zeros((64, 64), tl.float32))
    if WAIT_FIRST:
        acc = tlx.async_dot_wait(0, acc)
    use_another(x + 4096, y)
    acc = tlx.async_dot_wait(0, acc)
    use_another(x + 8192, y + 4096)
    tl.store(y + 8192 + tile(), acc.to(tl.float16))


@triton.jit
def unread_copy(x, y, desc, WAIT_FIRST: tl.constexpr):
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.async_load(x + tile(), source)
    tlx.async_load_commit_group()
    if WAIT_FIRST:
        tlx.async_load_wait_group(0)
    use_another(x + 4096, y)
    tlx.async_load_wait_group(0)
    use_another(x + 8192, y + 4096)


@triton.jit
def unread_tile(x, y, desc, WAIT_FIRST: tl.constexpr):
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    barrier = tlx.alloc_barriers(1)[0]
    tlx.barrier_expect_bytes(barrier, 64 * 64 * 2)
    tlx.async_descriptor_load(desc, source, [0, 0], barrier)
    if WAIT_FIRST:
        tlx.barrier_wait(barrier, 0)
    use_another(x + 4096, y)
    tlx.barrier_wait(barrier, 0)
    use_another(x + 8192, y + 4096)


@triton.jit
def ring(x, y, desc, n):
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    landed = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(landed[0], 8192)
    tlx.async_descriptor_load(desc, source, [0, 0], landed[0])
    for i in range(n):
        tlx.barrier_wait(landed[0], i & 1)
        tl.store(y + 8192 + tile(), tlx.local_load(source))
        tlx.barrier_expect_bytes(landed[0], 8192)
        tlx.async_descriptor_load(desc, source, [i * 64, 0], landed[0])
    use_another(x + 4096, y)
    tlx.barrier_wait(landed[0], n & 1)
    use_another(x + 8192, y + 4096)


KERNELS = [store, bulk_store, dot, unread_copy, unread_tile]


def buffers(kernel):
    """Return where each buffer lies, by the first line that uses it."""
    pieces = [piece for piece in tlx.report(kernel).memory if piece.kind == "buffer" and piece.size == SIZE]
    source, *others = sorted(pieces, key=lambda piece: piece.name != "source")
    assert source.name == "source"
    assert len(others) == 2
    return source, others


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_a_buffer_lives_until_the_wait(compiled, kernel):
    source, others = buffers(compiled(kernel, SIGNATURE, WAIT_FIRST=False))
    # One of them is used in front of the wait, and the other one behind it.
    assert sorted(piece.offset == source.offset for piece in others) == [False, True]


def test_a_wait_for_the_iteration_before_leaves_the_last_one(compiled):
    source, others = buffers(compiled(ring, SIGNATURE + ", n=i32"))
    assert sorted(piece.offset == source.offset for piece in others) == [False, True]


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=lambda kernel: kernel.__name__)
def test_a_buffer_gives_its_memory_back_behind_the_wait(compiled, kernel):
    source, others = buffers(compiled(kernel, SIGNATURE, WAIT_FIRST=True))
    assert [piece.offset for piece in others] == [source.offset] * 2


def from_ttgir(text, path):
    path.write_text(text)
    return triton.compile(str(path), target=triton.backends.compiler.GPUTarget("cuda", 90, 32))


@pytest.fixture
def with_and_without(tmp_path):
    """Compile the TTGIR of a kernel as it is, and without the ends of lives."""

    def compile_both(kernel):
        text = kernel.asm["ttgir"]
        plain = "".join(line for line in text.splitlines(keepends=True) if "ttg.local_dealloc" not in line)
        return from_ttgir(text, tmp_path / "ours.ttgir"), from_ttgir(plain, tmp_path / "plain.ttgir")

    return compile_both


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=lambda kernel: kernel.__name__)
def test_the_end_of_a_life_generates_no_code(compiled, kernel, with_and_without):
    result = compiled(kernel, SIGNATURE, WAIT_FIRST=True)
    assert "ttg.local_dealloc" in result.asm["ttgir"]
    ours, plain = with_and_without(result)
    assert "wait" in ours.asm["ptx"]
    assert ours.asm["ptx"].replace("ours.ttgir", "plain.ttgir") == plain.asm["ptx"]
    assert ours.metadata.shared == plain.metadata.shared


@pytest.mark.parametrize("name", ["gemm_tasks", "gemm_pipeline"])
def test_a_kernel_that_waits_needs_no_more_memory(name, with_and_without):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    ours, plain = with_and_without(example.compile_for())
    assert ours.metadata.shared == plain.metadata.shared > 100_000


@triton.jit(noinline=True)
def store_and_return(y):
    own = tlx.local_alloc((64,), tl.float16)[0]
    tlx.local_store(own, tl.full((64,), 1, tl.float16))
    tlx.fence_async_shared()
    tlx.async_store(y, own, 128)


@triton.jit
def calls(x, y, desc):
    store_and_return(y)


def test_a_function_that_is_not_inlined_has_to_wait(refused_by_pass):
    text = refused_by_pass(calls, SIGNATURE)
    assert "expected a wait before the function that allocates the buffer returns, got none" in text
    assert "tlx.async_store(y, own, 128)" in text


@triton.jit
def optional_barriers(x, y, TASKS: tl.constexpr, SIGNAL: tl.constexpr):
    barriers = tlx.alloc_barriers(4)
    if TASKS:
        with tlx.async_tasks():
            with tlx.async_task("default"):
                at = tl.arange(0, 128)
                tl.store(y + at, tl.load(x + at))
                if SIGNAL:
                    tlx.barrier_arrive(barriers[0])
            with tlx.async_task(num_warps=4):
                if SIGNAL:
                    tlx.barrier_wait(barriers[0], 0)
                again = tl.arange(0, 128)
                tl.store(y + 128 + again, tl.load(x + again) + 1)
    else:
        at = tl.arange(0, 128)
        tl.store(y + at, tl.load(x + at))
        if SIGNAL:
            tlx.barrier_arrive(barriers[0])
            tlx.barrier_wait(barriers[0], 0)


@pytest.mark.parametrize("tasks", [False, True])
def test_barriers_that_nobody_uses_are_left_out(compiled, tasks):
    signature = "x=*fp16:16, y=*fp16:16"
    used = compiled(optional_barriers, signature, TASKS=tasks, SIGNAL=True)
    assert used.asm["ptx"].count("mbarrier.init") == 4
    unused = compiled(optional_barriers, signature, TASKS=tasks, SIGNAL=False)
    assert "mbarrier" not in unused.asm["ptx"]
    assert "ttg.local_alloc" not in unused.asm["ttgir"]
    assert unused.metadata.shared + 4 * 8 <= used.metadata.shared


@triton.jit
def arrives(x):
    tlx.barrier_arrive(tlx.alloc_barriers(1)[0])
    tl.store(x, 1.0)


def test_a_barrier_that_something_arrives_at_stays(compiled):
    ptx = compiled(arrives, "x=*fp16:16").asm["ptx"]
    assert ptx.count("mbarrier.init") == ptx.count("mbarrier.arrive") == 1


@triton.jit
def lend(x, y, desc, MEET: tl.constexpr):
    use_another(x, y)
    tlx.cluster_barrier()
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.local_store(source, tl.load(x + tile()))
    tlx.cluster_barrier()
    other = tlx.remote_view(source, tlx.cluster_cta_rank() ^ 1)
    tl.store(y + 8192 + tile(), tlx.local_load(other))
    if MEET:
        tlx.cluster_barrier()
    use_another(x + 4096, y + 4096)


@triton.jit
def take(x, y, desc, MEET: tl.constexpr):
    use_another(x, y)
    if MEET:
        tlx.cluster_barrier()
    source = tlx.local_alloc((64, 64), tl.float16)[0]
    bars = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank() ^ 1
    tlx.barrier_expect_bytes(bars[0], 8192)
    tlx.async_remote_shmem_store(source, tl.load(x + tile()), rank, bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(y + 8192 + tile(), tlx.local_load(source))
    tlx.cluster_barrier()
    use_another(x + 4096, y + 4096)


@pytest.mark.parametrize("meet", [False, True])
def test_a_buffer_that_another_block_reads_lives_until_the_blocks_meet(compiled, meet):
    with launched_as(2):
        source, others = buffers(compiled(lend, SIGNATURE, MEET=meet))
    assert sorted(piece.offset == source.offset for piece in others) == [meet, True]


@pytest.mark.parametrize("meet", [False, True])
def test_a_buffer_that_another_block_fills_lives_from_where_the_blocks_met(compiled, meet):
    with launched_as(2):
        source, others = buffers(compiled(take, SIGNATURE, MEET=meet))
    assert sorted(piece.offset == source.offset for piece in others) == [meet, True]


@triton.jit
def pair(x, y, WHO: tl.constexpr):
    left = tlx.local_alloc((128, 64), tl.float16)[0]
    right = tlx.local_alloc((64, 64), tl.float16)[0]
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)[0]
    done = tlx.alloc_barriers(1)
    rows = tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.local_store(left, tl.load(x + rows))
    tlx.local_store(right, tl.load(x + tile()))
    tlx.fence_async_shared()
    tlx.cluster_barrier()
    tlx.async_dot(left, right, acc, use_acc=False, mBarriers=[done[0]], two_ctas=True)
    leads = tlx.cluster_cta_rank() % 2 == 0
    if WHO == "both":
        tlx.barrier_wait(done[0], 0)
    elif WHO == "predicate":
        tlx.barrier_wait(done[0], 0, pred=leads)
    elif leads:
        tlx.barrier_wait(done[0], 0)
    use_another(x + 4096, y)


@pytest.mark.parametrize("who", ["both", "predicate", "branch"])
def test_a_product_of_two_blocks_keeps_the_buffers_of_both(compiled, who):
    """The block that does not wait would overwrite what the product of the other one still reads."""
    with launched_as(2):
        report = tlx.report(compiled(pair, "x=*fp16:16, y=*fp16:16", "cuda:100", WHO=who))
    pieces = {piece.name: range(piece.offset, piece.offset + piece.size) for piece in report.memory}
    own = {*pieces["left"], *pieces["right"]}
    assert own.isdisjoint(pieces["another"]) == (who != "both")
