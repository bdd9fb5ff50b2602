"""The emulator and the assembler agree on which instructions exist."""

from __future__ import annotations

import concurrent.futures
import itertools
import re
import subprocess

import pytest
from triton.backends.nvidia.compiler import get_ptxas

from tritonext_sparsity.elements import element
from tritonext_sparsity.emulator import InstructionError, MmaSp, WgmmaSp
from tritonext_sparsity.emulator.ptx import mma_kernel, module, wgmma_kernel

TYPES = ["f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"]
ACCUMULATORS = ["f32", "f16", "s32"]


def assembles(kernels, target, tmp_path):
    """Return whether ptxas accepts kernels, and what it said."""
    source = tmp_path / f"{abs(hash(kernels[0]))}.ptx"
    source.write_text(module(kernels, target))
    ptxas = get_ptxas(int(re.sub(r"\D", "", target))).path
    command = [ptxas, "-arch", target, source, "-o", source.with_suffix(".cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def unchecked(cls, **fields):
    """Return an instruction that its class refuses."""
    instruction = object.__new__(cls)
    vars(instruction).update(fields)
    return instruction


def exists(cls, **fields):
    try:
        cls(**fields)
    except InstructionError:
        return False
    return True


def all_agree(cases, tmp_path):
    """Check that ptxas accepts each kernel for its target just if it should."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: assembles([case[1]], case[2], tmp_path), cases))
    wrong = [(what, legal, said) for (what, _, _, legal), (accepted, said) in zip(cases, results) if accepted != legal]
    assert not wrong
    assert {case[3] for case in cases} == {True, False}


def test_mma_exists_where_the_assembler_knows_it(tmp_path):
    """Types, K and selectors, for sm_90a; a sum of 8-bit floats in f16 needs the kind of sm_120a."""
    cases = []
    for a, b, acc in itertools.product(TYPES, TYPES, ACCUMULATORS):
        if a != b and (a, b) not in (("s8", "u8"), ("e5m2", "e4m3"), ("f16", "bf16")):
            continue
        if acc == "f16" and a in ("e4m3", "e5m2"):
            continue
        for k in (256 // element(a).bits, 512 // element(a).bits, 1024 // element(a).bits):
            fields = {"k": k, "a": a, "b": b, "acc": acc}
            # Of m16n8k32 of f16 into f32, ptxas 12.9 and 13.4 take selectors 2 and 3 too, which PTX rules out.
            loose = (k, a, acc) == (32, "f16", "f32")
            for selector in ((0, 1, 4) if loose else range(5)) if exists(MmaSp, **fields) else (0,):
                instruction = unchecked(MmaSp, **fields)
                legal = exists(MmaSp, **fields)
                if legal:
                    try:
                        instruction.fragment_meta(selector)
                    except InstructionError:
                        legal = False
                kernel = mma_kernel("kernel", instruction, selector)
                cases.append((f"{instruction} {selector}", kernel, "sm_90a", legal))
    all_agree(cases, tmp_path)


def test_wgmma_exists_where_the_assembler_knows_it(tmp_path):
    """All columns of B, and types, selectors, transposes and scales of one of them."""
    cases = []

    def add(fields, legal, **options):
        instruction = unchecked(WgmmaSp, **fields)
        kernel = wgmma_kernel("kernel", instruction, options.pop("selector", 0), **options)
        cases.append((f"{fields} {options}", kernel, "sm_90a", legal))

    for a, acc in (("f16", "f32"), ("s8", "s32")):
        for n in (4, 12, *range(8, 265, 8)):
            fields = {"n": n, "a": a, "b": a, "acc": acc}
            add(fields, exists(WgmmaSp, **fields), a_in_registers=True)
    for a, b, acc in itertools.product(TYPES, TYPES, ACCUMULATORS):
        if a == b or (a, b) in (("s8", "u8"), ("e5m2", "e4m3"), ("f16", "bf16")):
            fields = {"n": 16, "a": a, "b": b, "acc": acc}
            legal = exists(WgmmaSp, **fields)
            add(fields, legal, a_in_registers=False)
            if legal:
                selectors = 1 if element(a).bits == 8 else 2
                for selector in range(3):
                    add(fields, selector < selectors, a_in_registers=True, selector=selector)
    f16 = {"n": 8, "a": "f16", "b": "f16", "acc": "f32"}
    add(f16, True, a_in_registers=False, trans_a=True, trans_b=True, scale_a=-1, scale_b=-1)
    add(f16, False, a_in_registers=False, scale_a=2)
    add({"n": 8, "a": "u8", "b": "u8", "acc": "s32"}, True, a_in_registers=False, satfinite=True)
    all_agree(cases, tmp_path)


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_warp_instructions_exist_on_all_targets(target, tmp_path):
    types = [(32, "f16", "f32"), (32, "f16", "f16"), (32, "bf16", "f32"), (16, "tf32", "f32"), (64, "s8", "s32")]
    if target != "sm_80":
        types += [(64, "e4m3", "f32"), (64, "e5m2", "f32")]
    kernels = [mma_kernel(f"kernel{i}", MmaSp(k, a, a, acc), 0) for i, (k, a, acc) in enumerate(types)]
    accepted, said = assembles(kernels, target, tmp_path)
    assert accepted, said
    fp8 = [mma_kernel("kernel", MmaSp(64, "e4m3", "e4m3", "f32"), 0)]
    assert assembles(fp8, target, tmp_path)[0] == (target != "sm_80")
