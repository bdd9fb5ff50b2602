"""Counts of machine code. Those of stock GEMM epilogues are facts of the 3.9.0 wheel that other tests build on."""

from __future__ import annotations

import dataclasses

import pytest

from tritonext import inspect_code
from tritonext.errors import UserError
from tritonext.inspect_code import Instruction, describe_widths, regressions, stats
from tritonext.testing import kernels


@pytest.mark.parametrize(
    ("kernel", "columns", "warps", "epilogue"),
    [
        ("gemm_fp16", 128, 4, 8),
        ("gemm_fp32_out", 128, 4, 4),
        ("gemm_fp16", 128, 8, 2),
        ("gemm_fp32_out", 128, 8, 2),
        ("gemm_fp16", 256, 8, 4),
        ("gemm_fp32_out", 256, 8, 2),
    ],
)
def test_barriers_after_the_last_wgmma_of_a_stock_gemm(kernel, columns, warps, epilogue):
    compiled = kernels.compile(kernel, "cuda:90", BN=columns, num_warps=warps)
    found = stats(compiled)
    assert found.epilogue_barriers == epilogue
    # The two others are in the main loop.
    assert found.barriers == epilogue + 2
    ptx = compiled.asm["ptx"]
    assert epilogue == ptx[ptx.rindex("wgmma.wait_group") :].count("bar.sync")


def test_barriers_of_a_cluster_count():
    compiled = kernels.compile("gemm_residual", "cuda:90", num_ctas=2)
    ptx = compiled.asm["ptx"]
    waits = ptx.count("barrier.cluster.wait")
    assert waits > 1
    assert stats(compiled).barriers == ptx.count("bar.sync") - ptx.count("bar.warp.sync") + waits


def test_a_hopper_gemm():
    found = stats(kernels.compile("gemm_fp16", "cuda:90"))
    assert found.target == "cuda:90"
    assert found.shared_bytes == 3 * 2 * 128 * 64 * 2
    assert found.global_loads == {128: 24}
    assert found.global_stores == {128: 128 * 128 * 2 // 16 // 256}
    assert found.mean_store_bits == 128
    assert found.mma == found.classes["mma"] == 4
    assert 0 < found.registers <= 255
    assert (found.spills, found.stack_bytes, found.shuffles, found.bulk_copies) == (0, 0, 0, 0)
    assert found.instructions == sum(found.classes.values()) == sum(found.histogram.values())
    assert "NOP" not in found.histogram
    assert "other" not in found.classes


def test_spills_are_seen():
    found = stats(kernels.compile("gemm_fp32_out", "cuda:80", maxnreg=96))
    assert found.registers <= 96
    assert found.spills > 0
    assert found.stack_bytes > 0


def test_bulk_copies_and_warp_barriers_of_a_descriptor_gemm():
    found = stats(kernels.compile("gemm_persistent", "cuda:90"))
    assert found.bulk_copies >= 7
    assert found.global_stores == {}
    assert found.mean_store_bits == 0
    assert found.warp_barriers > 0


@pytest.mark.parametrize(("target", "mma"), [("cuda:80", "HMMA.16816.F32"), ("cuda:100", "UTCHMMA")])
def test_other_nvidia_targets(target, mma):
    found = stats(kernels.compile("gemm_fp16", target))
    assert mma in found.histogram
    assert found.epilogue_barriers > 0
    assert found.global_stores == {128: 8}
    assert "other" not in found.classes


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_amd_targets(target):
    compiled = kernels.compile("gemm_residual", target)
    found = stats(compiled)
    assert found.target == target
    assert found.mma == compiled.asm["amdgcn"].count("\tv_mfma_")
    assert found.barriers == compiled.asm["amdgcn"].count("\ts_barrier\n")
    assert found.epilogue_barriers == 2
    assert set(found.global_stores) <= {64, 128}
    assert found.registers > 0
    assert (found.spills, found.stack_bytes) == (0, 0)
    assert "other" not in found.classes


def test_lanes_exchanged_by_a_scan_are_shuffles_on_both_vendors():
    for target in ("cuda:90", "hip:gfx942"):
        assert stats(kernels.compile("sort_rows", target)).shuffles >= 40


def code(*instructions: Instruction) -> list[Instruction]:
    return list(instructions)


def test_the_epilogue_begins_behind_the_loop_around_the_last_tensor_core_instruction():
    program = code(
        Instruction(0, "BAR.SYNC"),
        Instruction(16, "HGMMA.64"),
        Instruction(32, "BAR.SYNC"),
        Instruction(48, "BRA", jump=16),
        Instruction(64, "BAR.SYNC"),
        Instruction(80, "BRA", jump=0),
        Instruction(96, "BAR.SYNC"),
        Instruction(112, "EXIT", ends=True),
    )
    assert inspect_code._epilogue(program, inspect_code._NVIDIA) == program[6:]


def test_blocks_behind_the_end_that_jump_back_close_no_loop():
    program = code(
        Instruction(0, "HGMMA.64"),
        Instruction(16, "BAR.SYNC"),
        Instruction(32, "EXIT", ends=True),
        Instruction(48, "BRA", jump=0),
    )
    assert inspect_code._epilogue(program, inspect_code._NVIDIA) == program[1:]


def test_regressions_name_what_grew():
    before = stats(kernels.compile("gemm_fp16", "cuda:90"))
    assert regressions(before, before) == []
    better = dataclasses.replace(before, barriers=1, shared_bytes=0, registers=255, instructions=10**6)
    assert regressions(before, better) == []
    worse = dataclasses.replace(before, barriers=9, shared_bytes=10**6, spills=3, stack_bytes=8, global_stores={64: 16})
    assert regressions(before, worse) == [
        f"barriers grew from {before.barriers} to 9",
        f"shared memory bytes grew from {before.shared_bytes} to 1000000",
        "spill instructions grew from 0 to 3",
        "spill bytes grew from 0 to 8",
        "mean store width fell from 128 to 64 bits",
    ]


def test_widths_as_text():
    assert describe_widths({32: 1, 128: 16}) == "16 x 128 bit, 1 x 32 bit"
    assert describe_widths({}) == "none"


def test_json_has_every_field_with_text_keys():
    data = stats(kernels.compile("gemm_fp16", "cuda:90")).to_json()
    assert data["global_stores"] == {"128": 8}
    assert set(data) == {field.name for field in dataclasses.fields(inspect_code.CodeStats)}


def test_a_kernel_without_machine_code_is_refused():
    compiled = kernels.compile("gemm_fp16", "cuda:90")

    class Empty:
        asm = {"ptx": ""}
        metadata = compiled.metadata

    with pytest.raises(UserError, match="the kernel has no machine code"):
        stats(Empty())
