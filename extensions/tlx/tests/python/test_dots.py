"""Asynchronous dots: the machine code of each kind, the pipelined GEMM, and what is refused."""

import importlib.util
import pathlib
import re

import pytest
import triton
import triton.language as tl

from tritonext.offline import Specialization, parse_signature

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_pipelined.py"


@triton.jit
def product(
    a,
    b,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    REGISTERS: tl.constexpr,
    COLUMNS: tl.constexpr,
    USE: tl.constexpr,
    OUT: tl.constexpr,
):
    """C = A @ B, or A @ B.T where COLUMNS says that K is contiguous in both."""
    a_tile = tlx.local_alloc((M, K), a.dtype.element_ty)[0]
    left = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    tlx.local_store(a_tile, left)
    if COLUMNS:
        b_tile = tlx.local_alloc((N, K), b.dtype.element_ty)[0]
        tlx.local_store(b_tile, tl.load(b + tl.arange(0, N)[:, None] * K + tl.arange(0, K)[None, :]))
        b_tile = tlx.local_trans(b_tile)
    else:
        b_tile = tlx.local_alloc((K, N), b.dtype.element_ty)[0]
        tlx.local_store(b_tile, tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]))
    acc = tlx.async_dot(left if REGISTERS else a_tile, b_tile, use_acc=USE, out_dtype=OUT)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc.to(c.dtype.element_ty))


SHAPE = {"M": 64, "N": 64, "K": 64, "REGISTERS": False, "COLUMNS": False, "USE": None, "OUT": tl.float32}


def signature(kind: str, out: str = "fp32") -> str:
    return f"a=*{kind}:16, b=*{kind}:16, c=*{out}:16"


@pytest.mark.parametrize(
    ("kind", "out", "values", "instruction", "count"),
    [
        ("fp16", "fp32", {}, "m64n64k16.f32.f16.f16", 4),
        ("fp16", "fp16", {"OUT": tl.float16}, "m64n64k16.f16.f16.f16", 4),
        ("bf16", "fp32", {"N": 256}, "m64n256k16.f32.bf16.bf16", 4),
        ("fp32", "fp32", {"COLUMNS": True}, "m64n64k8.f32.tf32.tf32", 8),
        ("fp8e4nv", "fp32", {"COLUMNS": True}, "m64n64k32.f32.e4m3.e4m3", 2),
        ("fp8e5", "fp32", {"COLUMNS": True}, "m64n64k32.f32.e5m2.e5m2", 2),
        ("i8", "i32", {"COLUMNS": True, "OUT": tl.int32}, "m64n64k32.s32.s8.s8", 2),
        ("fp16", "fp32", {"M": 128}, "m64n64k16.f32.f16.f16", 8),
        ("fp16", "fp32", {"COLUMNS": True}, "m64n64k16.f32.f16.f16", 4),
        ("fp16", "fp32", {"REGISTERS": True}, "m64n64k16.f32.f16.f16", 4),
        ("bf16", "fp32", {"REGISTERS": True, "COLUMNS": True}, "m64n64k16.f32.bf16.bf16", 4),
    ],
)
def test_instruction_of_each_kind(compiled, kind, out, values, instruction, count):
    ptx = compiled(product, signature(kind, out), **SHAPE | values).asm["ptx"]
    found = re.findall(r"wgmma\.mma_async\.sync\.aligned\.(\S+) \{[^}]*\}, (\{|\S)", ptx)
    assert [name for name, _ in found] == [instruction] * count
    # The second operand is a descriptor of shared memory, or four registers.
    assert {first == "{" for _, first in found} == {values.get("REGISTERS", False)}
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned (\d+)", ptx) == ["0"]
    # What threads stored becomes visible to the tensor cores.
    assert ptx.index("fence.proxy.async") < ptx.index("wgmma.mma_async")


@pytest.mark.parametrize("use", [True, False])
def test_accumulator_can_be_left_out(compiled, use):
    text = compiled(product, signature("fp16"), **SHAPE | {"USE": use}).asm["ttgir"]
    flag = re.search(r"ttng.warp_group_dot %\w+, %\w+, %\w+, %(\w+)", text)[1]
    assert flag.startswith("true" if use else "false")


def test_imprecise_accumulation_is_the_options(compiled):
    text = compiled(product, signature("fp8e4nv"), **SHAPE | {"COLUMNS": True, "K": 128}).asm["ttgir"]
    assert f"maxNumImpreciseAcc = {2**30} : i32" in text


def test_fp8_product_without_accumulator_adds_nothing(compiled):
    # Partial sums would be added to the accumulator that is to be left out.
    values = SHAPE | {"COLUMNS": True, "K": 128, "USE": False}
    assert "add.f32" not in compiled(product, signature("fp8e4nv"), **values).asm["ptx"]


@triton.jit
def chained(a, b, c, n):
    """Two dots on one accumulator in a loop, arithmetic on it between, and a branch."""
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    tlx.local_store(tiles[0], tl.load(a + o))
    tlx.local_store(tiles[1], tl.load(b + o))
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        acc = tlx.async_dot(tiles[0], tiles[1], acc)
        if i > 3:
            acc = tlx.async_dot(tiles[1], tiles[0], acc)
        acc = tlx.async_dot_wait(0, acc)
        acc = acc * 0.5
    tl.store(c + o, acc)


def test_accumulator_stays_in_its_registers(compiled):
    """In a loop nothing is converted: arithmetic takes the layout of the accumulator."""
    text = compiled(chained, "a=*fp16:16, b=*fp16:16, c=*fp32:16, n=i32").asm["ttgir"]
    loop = text[text.index("scf.for") : text.index("tt.store")]
    inside = loop[: loop.rindex("scf.yield")]
    assert inside.count("ttng.warp_group_dot ") == 2
    assert "ttg.convert_layout" not in inside
    assert re.search(r"arith.mulf .* tensor<64x64xf32, #mma", inside)


@triton.jit
def dot_of_buffers(a, b, c, n):
    """tl.dot on values from buffers that loops carry, and a reduction of its result."""
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    left, right = tlx.local_alloc((64, 64), tl.float16, 2), tlx.local_alloc((64, 64), tl.float16, 2)
    tlx.local_store(left[0], tl.load(a + o))
    tlx.local_store(right[0], tl.load(b + o))
    acc = tl.zeros((64, 64), tl.float32)
    x, y = left[0], right[0]
    for i in range(n):
        acc = tl.dot(tlx.local_load(x), tlx.local_load(tlx.local_trans(y)), acc)
        x, y = left[(i + 1) % 2], right[(i + 1) % 2]
        tlx.local_store(x, tl.load(a + i * 4096 + o))
        tlx.local_store(y, tl.load(b + i * 4096 + o))
    tl.store(c + o, tl.exp(acc - tl.max(acc, 1)[:, None]))


@pytest.mark.parametrize(
    ("target", "kind", "instruction"),
    [
        ("cuda:80", "ptx", "mma.sync.aligned.m16n8k16"),
        ("cuda:90", "ptx", "wgmma.mma_async.sync.aligned.m64n64k16"),
        ("cuda:100", "ptx", "tcgen05.mma"),
        ("hip:gfx942", "amdgcn", "v_mfma_f32_"),
        ("hip:gfx950", "amdgcn", "v_mfma_f32_"),
    ],
)
def test_dot_of_the_language_on_buffers(compiled, target, kind, instruction):
    code = compiled(dot_of_buffers, "a=*fp16:16, b=*fp16:16, c=*fp32:16, n=i32", target, {"num_stages": 3}).asm
    assert instruction in code[kind]
    # The prefetching of stock would read the buffer of the next step before it is written.
    loop = code["ttgir"].split("scf.for")[1]
    assert loop.index("ttg.local_load") < loop.index("ttg.local_store")


def load_example():
    spec = importlib.util.spec_from_file_location("gemm_pipelined", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_pipelined_gemm_overlaps_as_written(kind, stages):
    example = load_example()
    names = parse_signature(f"a=*{kind}:16, b=*{kind}:16, c=*{kind}:16, M=i32:16, N=i32:16, K=i32:16")
    kernel = Specialization(example.gemm, names, example.TILE | {"STAGES": stages}, example.OPTIONS)
    result = kernel.compile("cuda:90")
    text, ptx = result.asm["ttgir"], result.asm["ptx"]
    assert re.findall(r"ttg.async_wait \{num = (\d+)", text) == [str(stages - 2), "0"]
    assert re.findall(r"warp_group_dot_wait .*pendings = (\d+)", text) == ["1", "0"]
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx) == [str(stages - 2), "0"]
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned (\d+)", ptx) == ["1", "0"]
    assert set(re.findall(r"cp\.async\.\w+\.shared\.global \[[^]]+\], \[[^]]+\], (\w+)", ptx)) == {"0x10"}
    # One ring for each operand, and none of the stock pipeliner.
    assert (
        len(re.findall(rf"ttg.local_alloc : \(\) -> !ttg.memdesc<{stages}x", text))
        == text.count("ttg.local_alloc")
        == 2
    )
    assert result.metadata.shared == stages * (128 * 64 + 64 * 256) * 2


def test_example_runs_without_a_gpu(capsys):
    load_example().show_code()
    out = capsys.readouterr().out
    assert re.search(r"waits for MMA in the loop +1, leaving 1", out)
    assert re.search(r"MMA in the loop +4\n", out)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("cuda:80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("cuda:100", "tcgen05.mma.cta_group::1.kind::f16"),
        ("hip:gfx942", "v_mfma_f32_32x32x8_f16"),
        ("hip:gfx950", "v_mfma_f32_32x32x16_f16"),
    ],
)
@pytest.mark.parametrize("registers", [False, True])
def test_products_of_other_targets(compiled, target, instruction, registers):
    """They are over when they are started, so that nothing is waited for."""
    kernel = compiled(product, signature("fp16"), target, **SHAPE | {"REGISTERS": registers})
    assert instruction in kernel.asm["ptx" if target.startswith("cuda") else "amdgcn"]
    assert "warp_group_dot" not in kernel.asm["ttgir"]


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942", "hip:gfx950"])
def test_the_accumulator_is_left_out_on_other_targets(compiled, target):
    text = compiled(product, signature("fp16"), target, **SHAPE | {"USE": False}).asm["ttgir"]
    assert text.count("tt.dot") == 1


def test_blackwell_reads_slots_as_they_are(compiled):
    text = compiled(product, signature("fp16"), "cuda:100", **SHAPE).asm["ttgir"]
    assert "ttg.local_load" not in text
    assert text.count("ttng.tmem_alloc") == text.count("ttng.tmem_load") == 1


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        (
            "fp16",
            {"M": 32},
            "the tensor cores have no such M\n  where: tlx.async_dot, argument A\n  expected: a multiple of 64",
        ),
        (
            "fp16",
            {"K": 8, "N": 16, "M": 64},
            "the buffer has no layout that MMA reads\n  where: tlx.async_dot, argument A",
        ),
        ("fp8e5", {"K": 16, "COLUMNS": True, "REGISTERS": True}, "the buffer has no layout that MMA reads"),
        ("fp64", {}, "the tensor cores do not take this type\n  where: tlx.async_dot, argument A"),
        ("fp32", {}, "the tensor cores read fp32 with K contiguous only\n  where: tlx.async_dot, argument B"),
        ("fp8e4nv", {}, "the tensor cores read fp8e4nv with K contiguous only"),
        ("fp16", {"OUT": tl.int32}, "no product of fp16 has this type\n  where: tlx.async_dot, argument out_dtype"),
        ("bf16", {"OUT": tl.float16}, "no product of bf16 has this type"),
    ],
)
def test_products_that_the_hardware_lacks(refused, kind, values, text):
    assert text in refused(product, signature(kind), **SHAPE | values)


def test_a_warp_group_has_four_warps(refused):
    text = refused(product, signature("fp16"), "cuda:90", {"num_warps": 2}, **SHAPE)
    assert "a warp group has 4 warps\n  where: tlx.async_dot\n  expected: num_warps a multiple of 4\n  found: 2" in text


@triton.jit
def wrong(a, b, c, WHAT: tl.constexpr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    other = tlx.local_alloc((64, 64), tl.bfloat16)[0]
    half = tlx.local_alloc((32, 64), tl.float16)[0]
    vector = tlx.local_alloc((64,), tl.float16)[0]
    singles = tlx.local_alloc((64, 64), tl.float32)[0]
    acc = tl.zeros((64, 64), tl.float32)
    if WHAT == "slots":
        tlx.async_dot(tiles, tiles[0], acc)
    if WHAT == "types":
        tlx.async_dot(tiles[0], other, acc)
    if WHAT == "inner":
        tlx.async_dot(tiles[0], half, acc)
    if WHAT == "layout":
        tlx.async_dot(tiles[0], vector, acc)
    if WHAT == "shape of acc":
        tlx.async_dot(tiles[0], tiles[1], tl.zeros((64, 32), tl.float32))
    if WHAT == "type of acc":
        tlx.async_dot(tiles[0], tiles[1], tl.zeros((64, 64), tl.int32))
    if WHAT == "acc":
        tlx.async_dot(tiles[0], tiles[1], 0)
    if WHAT == "precision":
        tlx.async_dot(singles, tlx.local_trans(singles), acc, input_precision="ieee")
    if WHAT == "unknown precision":
        tlx.async_dot(tiles[0], tiles[1], acc, input_precision="exact")
    if WHAT == "pred":
        tlx.async_dot(tiles[0], tiles[1], acc, pred=False)
    if WHAT == "barriers":
        tlx.async_dot(tiles[0], tiles[1], acc, mBarriers=[tlx.alloc_barriers(1)[0]])
    if WHAT == "two blocks":
        tlx.async_dot(tiles[0], tiles[1], acc, two_ctas=True)
    if WHAT == "asynchronous":
        tlx.async_dot(tiles[0], tiles[1], acc, force_async=2)
    if WHAT == "pendings":
        tlx.async_dot_wait(acc, acc)
    if WHAT == "wait for a buffer":
        tlx.async_dot_wait(0, tiles[0])


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("slots", "the buffer has slots\n  where: tlx.async_dot, argument A"),
        (
            "types",
            "the types of the operands differ\n  where: tlx.async_dot, argument B\n  expected: fp16\n  found: bf16",
        ),
        ("inner", "the inner sizes differ\n  where: tlx.async_dot, argument B\n  expected: 64 x N\n  found: 32 x 64"),
        ("layout", "the buffer has no layout that MMA reads\n  where: tlx.async_dot, argument B"),
        ("shape of acc", "the accumulator has another shape\n  where: tlx.async_dot, argument acc"),
        ("type of acc", "no product of fp16 has this type\n  where: tlx.async_dot, argument acc"),
        ("acc", "an argument is not a tensor\n  where: tlx.async_dot, argument acc"),
        (
            "precision",
            "asynchronous products of 32-bit floats round to tf32\n  where: tlx.async_dot, argument input_pre",
        ),
        ("unknown precision", "an argument has an unknown value\n  where: tlx.async_dot, argument input_precision"),
        ("pred", "an argument is not supported\n  where: tlx.async_dot, argument pred"),
        ("pred", "hint: warp-group MMA has no predicate"),
        ("barriers", "an argument is not supported\n  where: tlx.async_dot, argument mBarriers"),
        ("barriers", "hint: warp-group MMA signals no barrier; arrive at it behind tlx.async_dot_wait"),
        ("two blocks", "an argument is not supported\n  where: tlx.async_dot, argument two_ctas"),
        ("asynchronous", "an argument has no such value\n  where: tlx.async_dot, argument force_async"),
        ("pendings", "an argument is not a constant integer\n  where: tlx.async_dot_wait, argument pendings"),
        ("wait for a buffer", "an argument is not a tensor\n  where: tlx.async_dot_wait, argument inp"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, signature("fp16"), WHAT=what)


@triton.jit
def unfinished(a, b, c):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    acc = tlx.async_dot(tiles[0], tiles[1])
    tl.store(c + o, acc)


def test_result_without_a_wait(refused_by_pass):
    error = refused_by_pass(unfinished, signature("fp16"))
    assert "expected a wait before the result of an asynchronous dot is used, got none" in error
    assert "tl.store(c + o, acc)" in error


@triton.jit
def with_neutral_arguments(a, b, c, FORCE: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    acc = tlx.async_dot(tiles[0], tiles[1], None, None, None, [], False, FORCE)
    tl.store(c + o, tlx.async_dot_wait(0, acc))


def test_arguments_in_the_published_order(compiled):
    """Products of warp groups are asynchronous whether forced or not."""
    plain, forced = (compiled(with_neutral_arguments, signature("fp16"), FORCE=value).asm for value in (False, True))
    assert plain["ptx"] == forced["ptx"]
    assert "wgmma.mma_async" in plain["ptx"]
