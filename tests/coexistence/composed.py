"""Kernels that several extensions change at once, compiled in processes that load them in a given order.

    python composed.py CASES RESULTS

Each case is compiled in a process of its own, forked from this one before any extension was loaded. With a Hopper GPU
and torch :func:`run` launches the same kernels.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys

import triton
import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout

import tritonext
from tritonext import remarks
from tritonext.inspect_code import disassemble, stats
from tritonext.offline import Specialization, parse_signature

# A process has the extensions that it loaded before this file, and no other.
tlx = sys.modules.get("tritonext_tlx")
sparsity = sys.modules.get("tritonext_sparsity")


@triton.jit
def loops(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZE: tl.constexpr
):  # fmt: skip
    """C = A @ B in a loop that may be specialized, with a store that data crosses warps for."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALIZE):
        acc = tl.dot(left.load([row, k]), right.load([k, column]), acc)
    at = (row + tl.arange(0, BM))[:, None] * N + (column + tl.arange(0, BN))[None, :]
    tl.store(c + at, acc.to(tl.bfloat16))


@triton.jit
def sparse(values, meta, b, c, N, K, ldm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = expand24(values, meta) @ B through pointers."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    values += rows[:, None] * (K // 2) + tl.arange(0, BK // 2)[None, :]
    meta += rows[:, None] * ldm + tl.arange(0, BK // 8)[None, :]
    b += tl.arange(0, BK)[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = sparsity.sparse_dot(tl.load(values), tl.load(meta), tl.load(b), acc)
        values += BK // 2
        meta += BK // 8
        b += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.bfloat16))


@triton.jit
def tasks(
    values, meta, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPARSE: tl.constexpr
):  # fmt: skip
    """C = A @ B, copied by one task and multiplied by another; A is 2:4 sparse where SPARSE says so, and else dense."""
    PART: tl.constexpr = BK // 2 if SPARSE else BK
    STAGES: tl.constexpr = 2
    a_tiles = tlx.local_alloc((BM, PART), tl.bfloat16, STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tl.bfloat16, STAGES)
    if SPARSE:
        meta_tiles = tlx.local_alloc((BM, BK // 8), tl.uint8, STAGES, layout=META_LAYOUT)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(K // BK):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], (BM * PART + BK * BN) * 2 + SPARSE * BM * BK // 8)
                tlx.async_descriptor_load(values, a_tiles[slot], [row, step * PART], full[slot])
                tlx.async_descriptor_load(b, b_tiles[slot], [step * BK, column], full[slot])
                if SPARSE:
                    tlx.async_descriptor_load(meta, meta_tiles[slot], [row, step * (BK // 8)], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((BM, BN), tl.float32)
            for step in range(K // BK):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(full[slot], phase)
                if SPARSE:
                    acc = sparsity.async_sparse_dot(a_tiles[slot], meta_tiles[slot], b_tiles[slot], acc)
                else:
                    acc = tlx.async_dot(a_tiles[slot], b_tiles[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            at = (row + tl.arange(0, BM))[:, None] * N + (column + tl.arange(0, BN))[None, :]
            tl.store(c + at, acc.to(tl.bfloat16))


# Rows of 16 bytes are shorter than a swizzle.
META_LAYOUT = tl.constexpr(NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=2))
BM, BN, BK = 64, 64, 128
TILE = {"BM": BM, "BN": BN, "BK": BK}
KERNELS = ("plain", "loops", "sparse", "tasks", "sparse_tasks")


def blocks_of(kernel: str) -> dict[str, tuple[str, list[int]]]:
    """Return type and block of the descriptors of a kernel."""
    if kernel == "tasks":
        return {"values": ("bf16", [BM, BK]), "b": ("bf16", [BK, BN])}
    return {"values": ("bf16", [BM, BK // 2]), "meta": ("u8", [BM, BK // 8]), "b": ("bf16", [BK, BN])}


def specialization(name: str) -> Specialization:
    """Return one of the :data:`KERNELS` as it is compiled."""
    constants = dict(TILE)
    if name in ("plain", "loops"):
        kernel, text = loops, "a=*bf16:16, b=*bf16:16, c=*bf16:16, M=i32:16, N=i32:16, K=i32:16"
        constants["SPECIALIZE"] = name == "loops"
    elif name == "sparse":
        kernel = sparse
        text = "values=*bf16:16, meta=*u8:16, b=*bf16:16, c=*bf16:16, N=i32:16, K=i32:16, ldm=i32:16"
    else:
        kernel = tasks
        text = ", ".join(f"{name}=tensordesc<{kind}{block}>" for name, (kind, block) in blocks_of(name).items())
        text += ", c=*bf16:16, N=i32:16, K=i32:16"
        constants |= {"SPARSE": True} if name == "sparse_tasks" else {"SPARSE": False, "meta": None}
    return Specialization(kernel, parse_signature(text), constants, {"num_warps": 4})


def compile_case(kernel: str, use: list[str], target: str = "cuda:90") -> dict:
    """Compile a kernel under extensions, and return what the tests look at."""
    with tritonext.use(*use), remarks.collect() as found:
        compiled = specialization(kernel).compile(target)
    code = disassemble(compiled)
    return {
        "key": compiled.hash,
        "ttgir": compiled.asm["ttgir"],
        "ptx": compiled.asm["ptx"],
        "warps": compiled.metadata.num_warps,
        "spills": stats(compiled).spills,
        "reads of the clock": sum(instruction.name == "CS2R.32" for instruction in code),
        "table": getattr(compiled.metadata, "tritonext_profiler", None),
        "remarks": sorted(f"{remark.pass_name} {remark.kind}" for remark in found),
    }


def run(kernel: str, use: list[str]):
    """Run a kernel under extensions on the GPU.

    Returns:
        What it computes and the product in 64-bit floats, tensors of torch, and its profile where one was taken.
    """
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    # Descriptors that a kernel makes lie there.
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    m, n, k = 512, 256, 384
    a, b = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (k, n)))
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    values = meta = None
    if kernel.startswith("sparse"):
        from tritonext_sparsity.compress import compress, decompress

        values, meta = compress(a, prune=True)
        a = decompress(values, meta)
    constants = {**specialization(kernel).constexprs, "num_warps": 4}
    grid = (m // BM, n // BN)
    with contextlib.ExitStack() as scopes:
        if others := [identifier for identifier in use if identifier != "profiler"]:
            scopes.enter_context(tritonext.use(*others))
        profile = None
        if "profiler" in use:
            import tritonext_profiler

            profile = scopes.enter_context(tritonext_profiler.profile(specialization(kernel).fn.__name__))
        if kernel in ("plain", "loops"):
            loops[grid](a, b, c, m, n, k, **constants)
        elif kernel == "sparse":
            sparse[grid](values, meta, b, c, n, k, meta.stride(0), **constants)
        else:
            tensors = {"values": a if meta is None else values, "meta": meta, "b": b}
            blocks = {name: block for name, (_, block) in blocks_of(kernel).items()}
            described = {name: TensorDescriptor.from_tensor(tensors[name], blocks[name]) for name in blocks}
            tasks[grid](**{**described, **constants}, c=c, N=n, K=k)
    return c.double(), a.double() @ b.double(), profile


def main(cases: str, results: str) -> None:
    for index, case in enumerate(json.loads(pathlib.Path(cases).read_text())):
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            if status:
                raise SystemExit(f"{case}: exit status {os.waitstatus_to_exitcode(status)}")
            continue
        for identifier in case["load"]:
            tritonext.extension(identifier).module()
        # Again, for the extensions that are there now.
        globals().update({name: sys.modules.get(f"tritonext_{name}") for name in ("tlx", "sparsity")})
        result = compile_case(case["kernel"], case["use"])
        pathlib.Path(results, f"{index}.json").write_text(json.dumps(result))
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
