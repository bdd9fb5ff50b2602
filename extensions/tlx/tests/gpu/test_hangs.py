"""Kernels that hang: each is stopped, in a process of its own, and says which task waits where and for what."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
pytestmark = pytest.mark.gpu

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_tasks.py"
LIMIT = 200_000_000
BLOCKS = 3


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("tasks with asynchronous dots need a GPU of compute capability 9.0")


@triton.jit
def swapped(x, y, n):
    """The filling task waits for the wrong parity, so that nobody ever starts."""
    tile = tlx.local_alloc((128,), tl.float32, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, 128)
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(empty[slot], phase)  # phase ^ 1
                tlx.local_store(tile[slot], tl.load(x + i * 128 + at))
                tlx.barrier_arrive(full[slot])
        with tlx.async_task(num_warps=1):
            at = tl.arange(0, 128)
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(full[slot], phase)  # filled
                tl.store(y + i * 128 + at, tlx.local_load(tile[slot]))
                tlx.barrier_arrive(empty[slot])


@triton.jit
def unfilled(desc, y, n):
    """Bytes are announced, and a condition keeps their copy from starting."""
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    landed = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(landed[0], 8192)
    if n > 1:
        tlx.async_descriptor_load(desc, tile[0], [0, 0], landed[0])
    tlx.barrier_wait(landed[0], 0)  # bytes
    tl.store(y + o, tlx.local_load(tile[0]))


@triton.jit
def uneven(x, y, n):
    """A task arrives for the first rounds only: the others hang in the fourth, at its second slot."""
    done = tlx.alloc_barriers(2, arrive_count=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_arrive(done[slot])
                tlx.barrier_wait(done[slot], phase)  # default
            tl.store(y, 1.0)
        with tlx.async_task(num_warps=2):
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_arrive(done[slot])
                tlx.barrier_wait(done[slot], phase)  # other
        with tlx.async_task(num_warps=1):
            for i in range(min(n, 3)):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_arrive(done[slot])
                tlx.barrier_wait(done[slot], phase)


def launch(case: str) -> None:
    """Launch a kernel that hangs."""
    y = torch.zeros(64 * 64, device="cuda", dtype=torch.float16 if case == "unfilled" else torch.float32)
    if case == "unfilled":
        unfilled[(BLOCKS,)](TensorDescriptor.from_tensor(torch.ones(64, 64, device="cuda").half(), [64, 64]), y, 0)
    else:
        {"swapped": swapped, "uneven": uneven}[case][(BLOCKS,)](torch.ones_like(y), y, 8)


def line_of(kernel, comment):
    """Return the line of a kernel that ends in a comment."""
    lines, first = inspect.getsourcelines(kernel.fn)
    (line,) = (first + number for number, line in enumerate(lines) if line.endswith(f"# {comment}\n"))
    return f"{pathlib.Path(__file__).name}:{line}"


def run(*arguments, **environment):
    """Run this file as a script; a hang that is not stopped fails the test."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def watched(case):
    """Return what each warp of a kernel that hangs reported."""
    done = run(case)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # All waits get their time before the kernel is stopped.
    assert found["seconds"] >= 2 * LIMIT / 1e9
    assert found["cause"].startswith(("CUDA error", "Triton Error"))
    return found["waits"], found["text"]


def told(waits):
    """Return the reports less what says who made them, and the blocks and warps that made each."""
    result: dict = {}
    for wait in waits:
        key = tuple(wait[name] for name in ("task", "place", "barrier", "parity", "seen", "count"))
        result.setdefault(key, set()).add((wait["block"][0], wait["warp"]))
    return result


def everywhere(*warps):
    return {(block, warp) for block in range(BLOCKS) for warp in warps}


def test_both_sides_of_a_deadlock_are_reported():
    waits, text = watched("swapped")
    filling, using = line_of(swapped, "phase ^ 1"), line_of(swapped, "filled")
    # Stock fills a group of four warps up with idle ones, in front of smaller tasks.
    assert told(waits) == {
        ("the default task", filling, "empty[0]", 0, 0, 1): everywhere(0, 1, 2, 3),
        ("task 1", using, "full[0]", 0, 0, 1): everywhere(6),
    }
    assert f"the default task waits at {filling} for empty[0]" in text
    assert "2 waiting" in text


def test_bytes_that_do_not_come_are_a_hang_too():
    waits, _ = watched("unfilled")
    assert told(waits) == {("the kernel", line_of(unfilled, "bytes"), "landed[0]", 0, 0, 1): everywhere(0, 1, 2, 3)}


def test_later_phases_and_other_slots_are_told():
    waits, _ = watched("uneven")
    assert told(waits) == {
        ("the default task", line_of(uneven, "default"), "done[1]", 1, 1, 3): everywhere(0, 1, 2, 3),
        ("task 1", line_of(uneven, "other"), "done[1]", 1, 1, 3): everywhere(4, 5),
    }


def test_environment_variable_serves_scripts_that_are_not_edited():
    done = run("swapped", "--plain", TRITONEXT_ENABLE=f"tlx:wait_limit={LIMIT}")
    assert done.returncode != 0
    assert (
        f"tlx: task 1 waits at {line_of(swapped, 'filled')} for full[0] to complete a phase of parity 0" in done.stdout
    )
    assert "CUDA error" in done.stderr


def test_kernel_that_works_is_left_alone():
    spec = importlib.util.spec_from_file_location("gemm_tasks", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = torch.Generator("cuda").manual_seed(7)
    x, y = (torch.randn(1024, 1024, generator=generator, device="cuda").half() for _ in range(2))
    with tlx.watch():
        out = module.matmul(x, y)
    torch.testing.assert_close(out.double(), x.double() @ y.double(), rtol=1e-3, atol=2e-3 * 32)


def main(case: str, *options: str) -> None:
    if options:
        launch(case)
        torch.cuda.synchronize()
        return
    started = time.perf_counter()
    try:
        with tlx.watch(wait_limit=LIMIT):
            launch(case)
    except tlx.HangError as error:
        waits = [dataclasses.asdict(wait) for wait in error.waits]
        seconds = time.perf_counter() - started
        print(json.dumps({"waits": waits, "text": str(error), "seconds": seconds, "cause": str(error.__cause__)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
