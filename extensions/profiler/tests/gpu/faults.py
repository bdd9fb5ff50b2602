"""Kernels with a fault that a sanitizer finds: ``faults.py TOOL``; with ``--sound``, the same without it."""

from __future__ import annotations

import sys

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

SIZE = gl.constexpr(64)


@gluon.jit
def copy_through_shared(x, y, SOUND: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    row = gl.arange(0, SIZE, gl.SliceLayout(1, layout))[:, None]
    place = row * SIZE + gl.arange(0, SIZE, gl.SliceLayout(0, layout))[None, :]
    buffer = gl.allocate_shared_memory(gl.float16, [SIZE, SIZE], shared)
    async_copy.async_load(buffer, x + place)
    async_copy.commit_group()
    if SOUND:
        async_copy.wait_group(0)
    gl.store(y + place, buffer.load(layout))  # fault: consan


@triton.jit
def count(total, SOUND: tl.constexpr):
    if SOUND:
        tl.atomic_add(total, 1)
    else:
        tl.store(total, tl.load(total) + 1)  # fault: gsan


@triton.jit
def copy_tile(x, y, stride):
    tile = tl.make_tensor_descriptor(x, [16, 64], [stride, 1], [16, 64])  # fault: iisan
    place = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(y + place, tile.load([0, 0]))


@triton.jit
def inner_product(x, y, out, length, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, length, BLOCK):
        total += tl.load(x + start + column) * tl.load(y + start + column)
    tl.store(out, tl.sum(total, 0))


def consan(sound: bool) -> None:
    x = torch.randn(SIZE.value, SIZE.value, device="cuda", dtype=torch.float16)
    copy_through_shared[(1,)](x, torch.empty_like(x), sound, num_warps=4)


def gsan(sound: bool) -> None:
    count[(64,)](torch.zeros(1, device="cuda", dtype=torch.int32), sound)


def iisan(sound: bool) -> None:
    stride = 72 if sound else 65
    x = torch.randn(16 * stride, device="cuda", dtype=torch.float16)
    copy_tile[(1,)](x, torch.empty(16, 64, device="cuda", dtype=torch.float16), stride)


def fpsan(sound: bool) -> None:
    """Lose an element so small that a tolerance would hide it; another order of the sum is no fault."""
    x, y = (torch.randn(4096, device="cuda") for _ in range(2))
    x[-1] = 1e-6
    first, second = torch.empty(1, device="cuda"), torch.empty(1, device="cuda")
    inner_product[(1,)](x, y, first, 4096, 1024)
    if not sound:
        x[-1] = 0
    inner_product[(1,)](x, y, second, 4096, 256)
    assert first.view(torch.int32).item() == second.view(torch.int32).item(), "the two orders of the sum differ"


if __name__ == "__main__":
    globals()[sys.argv[1]]("--sound" in sys.argv)
    torch.cuda.synchronize()
