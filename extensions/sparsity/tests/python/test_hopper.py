"""The kernel of linear layers for Hopper: its code in all configurations, and which of these is chosen."""

import dataclasses
import itertools
import re
import subprocess
import types

import numpy as np
import pytest
import triton
from triton.backends.nvidia.compiler import get_ptxas
from triton.experimental.gluon._runtime import GluonASTSource

pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
from tritonext.offline import parse_target
from tritonext_sparsity.formats import wgmma_orders
from tritonext_sparsity.kernels import hopper, portable

BF16, FP8, FP32 = (types.SimpleNamespace(itemsize=size) for size in (2, 1, 4))
OPTIONAL = ("scale_w", "scale_x", "bias", "residual")
DIVIDED = ("partials", "arrivals")
SIZES = {"fp16": 2, "bf16": 2, "fp8e4nv": 1, "fp8e5": 1, "fp32": 4}


def compile_kernel(config, dtype="bf16", out="bf16", activation="none", given=()):
    def descriptor(kind, block):
        return f"tensordesc<{kind}[{block[0]},{block[1]}],{hopper.shared_layout(tuple(block), 8 * SIZES[kind])!r}>"

    signature = {
        "values_desc": descriptor(dtype, [config.block_m, config.block_k // 2]),
        "x_desc": descriptor(dtype, [config.block_n, config.block_k]),
        "out_desc": descriptor(out, [config.block_n // config.split, config.block_m // 2]),
        "meta": "*i32",
        "parts": "i32",
        "tokens": "i32",
        "features": "i32",
        "K": "i32",
    }
    signature |= {name: "*fp32" if name.startswith("scale") else f"*{out}" for name in given}
    sizes = dataclasses.asdict(config)
    if sizes.pop("divided"):
        signature |= {"partials": "*fp32", "arrivals": "*i32"}
    constants = {name: None for name in (*OPTIONAL, *DIVIDED) if name not in signature}
    constants |= {name.upper(): value for name, value in sizes.items()}
    constants["ACTIVATION"] = activation
    names = hopper.sparse_gemm.arg_names
    signature = {name: signature.get(name, "constexpr") for name in names}
    attributes = {(names.index("meta"),): [["tt.divisibility", 16]]}
    source = GluonASTSource(hopper.sparse_gemm, signature, constants, attributes)
    return triton.compile(source, target=parse_target("cuda:90"), options={"num_warps": 4})


def assembled(kernel, tmp_path):
    """Return what the assembler says of a kernel."""
    source = tmp_path / "kernel.ptx"
    source.write_text(kernel.asm["ptx"])
    command = [get_ptxas(90).path, "-arch=sm_90a", "-v", str(source), "-o", str(tmp_path / "kernel.cubin")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


# With 8 bits not each of those that differ in their columns alone.
CODES = [(number, dtype) for dtype in ("bf16", "fp8e4nv") for number in range(len(hopper.TILES))]


@pytest.mark.parametrize(("number", "dtype"), [code for code in CODES if code not in ((4, "fp8e4nv"), (5, "fp8e4nv"))])
def test_code_of_each_tile(tmp_path, number, dtype):
    kind = BF16 if dtype == "bf16" else FP8
    config = hopper.TILES[number][0]
    config = hopper.fitted(dataclasses.replace(config, block_k=config.block_k * 2 // kind.itemsize), kind, BF16)
    # Each tile with either type, and with either kind of sharing.
    config = dataclasses.replace(config, divided=(number % 2 == 0) == (dtype == "bf16"))
    kernel = compile_kernel(config, dtype, given=("scale_w", "scale_x") if dtype != "bf16" else ())
    assert kernel.metadata.shared <= config.memory(kind.itemsize, 2) <= hopper.MEMORY
    log = assembled(kernel, tmp_path)
    assert "wgmma" not in log
    assert "0 bytes spill stores" in log
    ptx = kernel.asm["ptx"]
    # Words of metadata go from memory to the instruction as they are, and are loaded behind the wait for it.
    found = re.findall(rf"wgmma\.mma_async\.sp\S*m64n{config.block_n}k\S+ [^;]*?, %rd\d+, %rd\d+, (%r\d+), \d, p", ptx)
    loaded = re.findall(r"ld\.global\.b32 \{ (%r\d+) \}", ptx)
    assert len(found) >= 8
    assert set(found) <= set(loaded)
    assert "prmt" not in ptx[ptx.index("wgmma.fence") : ptx.index("wgmma.commit_group")]
    assert ("HGMMA.SP" if dtype == "bf16" else "QGMMA.SP") in kernel.asm["sass"]
    # Registers of warp groups and of the warp that copies.
    registers = {232, 40} if config.divided else {240, 24}
    assert {int(count) for count in re.findall(r"setmaxnreg\S+\s+(\d+)", ptx)} >= registers
    # A piece is counted behind a barrier of the warp group that wrote its sums.
    counted = re.findall(r"bar\.sync \s*\d+, 128;(?:(?!bar\.sync).)*?atom\.global\.gpu\.acq_rel\.add", ptx, re.DOTALL)
    assert len(counted) == (2 if config.divided else 0)


@pytest.mark.parametrize("out", ["bf16", "fp32"])
def test_epilogue(out):
    config = hopper.fitted(hopper.DEFAULT, BF16, FP32 if out == "fp32" else BF16)
    ptx = compile_kernel(config, out=out, given=OPTIONAL, activation="silu").asm["ptx"]
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx
    # Rows of the accumulator become rows of memory on the way through shared memory.
    assert ("stmatrix.sync.aligned.m8n8.x4.trans" in ptx) == (out != "fp32")
    plain = compile_kernel(config, out=out).asm["ptx"]
    assert plain.count("ld.global") < ptx.count("ld.global")
    assert "ex2" in ptx
    assert "ex2" not in plain


def test_activations_are_those_of_the_other_kernel():
    assert hopper.ACTIVATIONS == portable.ACTIVATIONS


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize(("rows", "columns"), [(64, 64), (128, 128), (128, 256)])
def test_metadata_is_read_in_the_order_of_the_format(name, rows, columns):
    order = wgmma_orders(name).meta
    meta = np.arange(rows * columns // 8, dtype=np.uint16).reshape(rows, columns // 8)
    digits, axes = hopper.unpacking.fn(rows, columns, 8 if "float8" in name else 16)
    assert (order.pack(meta).reshape(digits).transpose(axes).reshape(meta.shape) == meta).all()


def test_tiles_fit_the_problem():
    few = hopper.candidates(16, 4096, 4096, BF16, BF16, 132)[0]
    assert (few.block_m, few.block_n, few.divided) == (128, 16, True)
    many = hopper.candidates(8192, 8192, 8192, BF16, BF16, 132)[0]
    assert (many.block_m, many.block_n, many.block_k) == (256, 128, 128)
    bytes_ = hopper.candidates(8192, 8192, 8192, FP8, BF16, 132)[0]
    assert (bytes_.block_m, bytes_.block_n, bytes_.block_k) == (256, 128, 256)
    # 64 tiles of 256 x 128 would leave half of the processors idle, and dividing them costs more than smaller ones.
    half = hopper.candidates(512, 4096, 14336, BF16, BF16, 132)[0]
    assert (half.block_m, half.block_n, half.divided) == (128, 128, False)
    # Whole waves have nothing to divide, nor have those that are more than half full.
    for features in (33, 50, 66):
        tried = hopper.candidates(512, features * 256, 4096, BF16, BF16, 132)
        assert not any(config.divided for config in tried if (config.block_m, config.block_n) == (256, 128))


def test_all_choices_fit_the_memory():
    kinds = (BF16, FP8)
    for tokens, features, kind, out in itertools.product((1, 100, 5000), (64, 4096, 30000), kinds, (BF16, FP32)):
        for config in hopper.candidates(tokens, features, 4096, kind, out, 132):
            assert config.stages >= 2
            assert config.memory(kind.itemsize, out.itemsize) <= hopper.MEMORY
