"""The layouts of metadata, against what the emulator knows of the instructions."""

import ast
import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext_sparsity as sparsity
from tritonext_sparsity.elements import element
from tritonext_sparsity.emulator.fragments import mma_meta


@triton.jit
def product(v, m, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    values = tl.load(v + tl.arange(0, M)[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    meta = tl.load(m + tl.arange(0, M)[:, None] * (K // GROUP) + tl.arange(0, K // GROUP)[None, :])
    right = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    d = sparsity.sparse_dot(values, meta, right)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], d)


def layout_of_metadata(ttgir: str) -> dict[str, list[list[int]]]:
    """Return the bases of the layout of the metadata of the only product, by register, lane and warp."""
    [name] = re.findall(r"sparsity\.\w*dot .*, tensor<\d+x\d+xi8, (#\w+)> \*", ttgir)
    text = re.search(rf"^{name} = #ttg.linear<\{{(.*)\}}>$", ttgir, re.MULTILINE)[1]
    return {key: ast.literal_eval(bases) for key, bases in re.findall(r"(\w+) = (\[(?:\[.*?\](?:, )?)*\])", text)}


def place(bases: list[list[int]], number: int) -> np.ndarray:
    """Return the row and the column that the set bits of a number contribute."""
    chosen = [basis for bit, basis in enumerate(bases) if number >> bit & 1]
    return np.bitwise_xor.reduce(np.array([[0, 0], *chosen]), axis=0)


KINDS = [("fp16", "fp32", "f16"), ("bf16", "fp32", "bf16"), ("fp32", "fp32", "tf32"), ("i8", "i32", "s8")]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:100", "cuda:120"])
@pytest.mark.parametrize(("dtype", "out", "name"), KINDS)
def test_each_lane_has_what_its_instruction_reads(compiled, target, dtype, out, name):
    kind = element(name)
    step = 512 // kind.bits
    columns = 4 * step
    signature = f"v=*{dtype}:16, m=*u8:16, b=*{dtype}:16, c=*{out}:16"
    arguments = {"M": 64, "N": 64, "K": columns, "GROUP": 4 if kind.bits == 32 else 8}
    bases = layout_of_metadata(compiled(product, signature, target, {"num_warps": 4}, **arguments).asm["ttgir"])
    registers = 1 << len(bases["register"])
    selectors = 1 if kind.bits == 8 else 2
    seen = set()
    for warp in range(1 << len(bases["warp"])):
        first_row = place(bases["warp"], warp)[0]
        for first in range(0, registers, 4):
            row, column = place(bases["register"], first)
            for selector in range(selectors):
                fragment = mma_meta(kind, step, selector)
                groups_before = 2 * column + selector * step // kind.group
                for lane, nibble in np.argwhere(fragment.rows >= 0):
                    found = place(bases["register"], first + nibble // 2) + place(bases["lane"], lane)
                    code = first_row + found[0], 2 * found[1] + nibble % 2
                    wanted = fragment.rows[lane, nibble], fragment.columns[lane, nibble]
                    assert code == (first_row + row + wanted[0], groups_before + wanted[1])
                    seen.add(code)
    # All codes of the matrix reach some lane.
    assert seen == {(row, group) for row in range(64) for group in range(columns // kind.group)}
