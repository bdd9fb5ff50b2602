"""Waits that are limited: the code they compile to, who gets it, and the error on the host."""

import inspect
import os
import pathlib
import re

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext.errors import OptionError

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext_tlx import hangs  # noqa: E402

POINTERS = "x=*fp32:16, y=*fp32:16, n=i32"
LIMIT = 123_000_000


@triton.jit
def helper(bars, slot, phase):
    tlx.barrier_wait(bars[slot], phase)  # in a helper


@triton.jit
def handed_over(x, y, n):
    tile = tlx.local_alloc((128,), tl.float32, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                helper(empty, slot, phase ^ 1)  # call
                tlx.local_store(tile[slot], tl.load(x + i * 128 + at))
                tlx.barrier_arrive(full[slot])
        with tlx.async_task(num_warps=4, replicate=2):
            at = tl.arange(0, 128)
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(full[slot], phase, pred=n > 1)  # conditional
                tl.store(y + i * 128 + at, tlx.local_load(tile[slot]))
                tlx.barrier_arrive(empty[slot])


@triton.jit
def filled(desc, y, n):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    landed = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(landed[0], 8192)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], landed[0])
    tlx.barrier_wait(landed[0], 0)  # alone
    tl.store(y + o, tlx.local_load(tile[0]))


@triton.jit
def plain(x, y, n):
    at = tl.arange(0, 128)
    tl.store(y + at, tl.load(x + at, mask=at < n))


def line_of(function, text):
    """Return the only line of this file in a function that has a text."""
    lines, first = inspect.getsourcelines(function.fn)
    (line,) = (first + number for number, line in enumerate(lines) if text in line)
    return line


def messages(kernel):
    """Return the texts that a kernel can print, from the bytes in its PTX."""
    tables = re.findall(r"\.b8 tlx_wait_\d+\[(\d+)\] = \{([^}]*)\}", kernel.asm["ptx"])
    texts = [(int(size), bytes(map(int, table.split(",")))) for size, table in tables]
    # Zeros at the end are not written out.
    return sorted(text.ljust(size, b"\0").decode() for size, text in texts)


def limited(compile_kernel, limit=LIMIT):
    with tritonext.use(f"tlx:wait_limit={limit}"):
        return compile_kernel()


def test_waits_are_bounded_and_say_where_they_are(compiled):
    kernel = limited(lambda: compiled(handed_over, POINTERS))
    file = pathlib.Path(__file__).name
    outer, inner = line_of(handed_over, "# call"), line_of(helper, "# in a helper")
    waiting = line_of(handed_over, "# conditional")
    rest = "to complete a phase of parity %d; the barrier is in a phase of parity %d, of"
    end = "arrivals (kernel handed_over, block %d %d %d, warp %d)\n\0"
    assert messages(kernel) == [
        f"tlx: task 1 waits at {file}:{waiting} for full[%d] {rest} 1 {end}",
        f"tlx: task 2 waits at {file}:{waiting} for full[%d] {rest} 1 {end}",
        f"tlx: the default task waits at {file}:{inner}, called at {file}:{outer} for empty[%d] {rest} 2 {end}",
    ]
    ptx = kernel.asm["ptx"]
    waits = [line for line in ptx.splitlines() if "mbarrier.try_wait.parity" in line]
    # None is left that waits forever, and those with a condition ask it first.
    assert len(waits) == 3
    assert all(f"add.u64 end, end, {LIMIT}; again: mbarrier.try_wait" in line for line in waits)
    assert sum("bra over; mbarrier.try_wait" in line and "@!%p" in line for line in waits) == 2
    assert "trap;" in ptx
    assert "vprintf" in ptx


def test_wait_of_a_kernel_without_tasks(compiled):
    kernel = limited(lambda: compiled(filled, "desc=tensordesc<fp16[64, 64]>, y=*fp16:16, n=i32"))
    (message,) = messages(kernel)
    place = f"{pathlib.Path(__file__).name}:{line_of(filled, '# alone')}"
    assert message.startswith(f"tlx: the kernel waits at {place} for landed[%d] to complete a phase of parity %d; ")


def test_blackwell_has_limits_too(compiled):
    kernel = limited(lambda: compiled(handed_over, POINTERS, "cuda:100"))
    assert len(messages(kernel)) == 3
    assert kernel.asm["cubin"]


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_without_a_limit_code_is_the_same(compiled, target):
    before = compiled(handed_over, POINTERS, target)
    watched = limited(lambda: compiled(handed_over, POINTERS, target))
    with tritonext.use("tlx"):
        after = compiled(handed_over, POINTERS, target)
    assert before.asm["cubin"] == after.asm["cubin"] != watched.asm["cubin"]
    for text in ("globaltimer", "vprintf", "trap;", "tlx_"):
        assert text not in before.asm["ptx"]


def test_keys_differ(compiled):
    kernels = [
        compiled(handed_over, POINTERS),
        *(limited(lambda: compiled(handed_over, POINTERS), n) for n in (10**6, 10**9)),
    ]
    assert len({kernel.hash for kernel in kernels}) == 3
    assert len({tlx.pipeline(wait_limit=limit).key() for limit in (None, 10**6, 10**9)}) == 3
    # The same limit is the same pipeline, however it is spelt.
    assert tlx.pipeline(wait_limit="1000000").key() == tlx.pipeline(wait_limit=10**6).key()


def test_kernel_without_waits_keeps_its_code(compiled):
    assert limited(lambda: compiled(plain, POINTERS)).asm["cubin"] == compiled(plain, POINTERS).asm["cubin"]


@pytest.mark.parametrize("limit", [0, 999_999, "soon", "1e9", -1, 2**63, True, 1.5e9])
def test_limits_out_of_range_are_refused(limit):
    with pytest.raises(OptionError) as caught:
        tlx.pipeline(wait_limit=limit)
    assert "the limit of waits is out of range" in str(caught.value)
    assert "whole nanoseconds from 1000000" in str(caught.value)


# --- the host --------------------------------------------------------------------------------------------------------


def report(task="task 1", line=21, barrier="full[0]", parity=0, of=", of 1 arrivals", block=0, warp=4):
    """Return what a kernel prints, whose text the tests above compare."""
    return (
        f"tlx: {task} waits at kernel.py:{line} for {barrier} to complete a phase of parity {parity}; the barrier is "
        f"in a phase of parity {parity}{of} (kernel gemm, block {block} 0 0, warp {warp})\n"
    )


FAILURE = RuntimeError("unspecified launch failure")


@pytest.fixture
def device(monkeypatch):
    """A device that prints a text when it is synchronized, and then fails."""

    def set_up(text, error=FAILURE):
        def synchronize():
            nonlocal text
            os.write(1, text.encode())
            text = ""
            if error is not None:
                raise error

        monkeypatch.setattr(hangs, "_synchronize", synchronize)

    return set_up


def test_reports_become_an_error(device, capfd):
    lines = [
        report("the default task", 15, "empty[0]", of=", of 2 arrivals", block=block, warp=0) for block in range(3)
    ]
    lines += [report(warp=warp) for warp in (4, 5)]
    lines += [report("task 2", 22, "one of landed", 1, block=1), report("task 3", 23, "a barrier", 1, "")]
    device("before\n" + "".join(lines) + "behind\n")
    with pytest.raises(tlx.HangError) as caught, tlx.watch(wait_limit=2_000_000):
        print("from Python", flush=True)
    waits, is_in = "to complete a phase of parity", "it is in a phase of parity"
    assert str(caught.value).splitlines() == [
        "a wait lasted longer than 2 ms",
        "  where: kernel gemm",
        "  found: 4 waiting",
        (
            f"  the default task waits at kernel.py:15 for empty[0] {waits} 0; {is_in} 0 of 2 arrivals; "
            "3 blocks, block (0, 0, 0) among them"
        ),
        (f"  task 1 waits at kernel.py:21 for full[0] {waits} 0; {is_in} 0 of 1 arrivals; block (0, 0, 0)"),
        (f"  task 2 waits at kernel.py:22 for one of landed {waits} 1; {is_in} 1 of 1 arrivals; block (1, 0, 0)"),
        f"  task 3 waits at kernel.py:23 for a barrier {waits} 1; {is_in} 1; block (0, 0, 0)",
        "  hint: compare the phases, and count arrivals and bytes; tlx.simulate says who could have arrived",
    ]
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.waits[3] == tlx.StuckWait("task 1", "kernel.py:21", "full[0]", 0, 0, 1, "gemm", (0, 0, 0), 4)
    # What others print goes where it went.
    assert capfd.readouterr().out == "from Python\nbefore\nbehind\n"


def test_error_of_a_launch_behind_the_hang_is_reported_as_the_hang(device):
    device(report())
    with pytest.raises(tlx.HangError), tlx.watch():
        raise RuntimeError("Triton Error [CUDA]: unspecified launch failure")


def test_other_errors_and_outputs_pass(device, capfd):
    device("printed by a kernel\n", error=None)
    with tlx.watch():
        pass
    device("", error=RuntimeError("out of memory"))
    with pytest.raises(RuntimeError, match="out of memory"), tlx.watch():
        pass
    device("", error=None)
    with pytest.raises(ZeroDivisionError), tlx.watch():
        _ = 1 / 0
    assert capfd.readouterr().out == "printed by a kernel\n"
    assert tritonext.active() == ()


def test_kernels_in_the_block_compile_with_the_limit(compiled, device):
    device("", error=None)
    with tlx.watch(wait_limit=LIMIT):
        kernel = compiled(handed_over, POINTERS)
    assert f"add.u64 end, end, {LIMIT};" in kernel.asm["ptx"]
