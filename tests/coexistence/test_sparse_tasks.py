"""Kernels that use ops of tlx and of sparsity: sparse products of tasks, on buffers that another extension made."""

import importlib.util
import pathlib
import re
import subprocess
import warnings

import pytest
import triton
import triton.language as tl
from triton.backends.nvidia.compiler import get_ptxas

sparsity = pytest.importorskip("tritonext_sparsity", reason="the extension sparsity is not installed")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
from tritonext.testing.fixtures import compiled, empty_cache, refused, refused_by_pass  # noqa: E402, F401

EXAMPLE = pathlib.Path(__file__).with_name("sparse_tasks.py")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("sparse_tasks", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tasks_multiply_what_another_task_copies(example, tmp_path):
    asm = example.compile_for().asm
    (tmp_path / "kernel.ptx").write_text(asm["ptx"])
    command = [get_ptxas(90).path, "-arch=sm_90a", "-v", tmp_path / "kernel.ptx", "-o", tmp_path / "kernel.cubin"]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    # The assembler warns, by C7510 and its kin, where it makes products wait for each other.
    assert "wgmma" not in log
    assert "0 bytes spill stores" in log
    # Values and metadata of both halves, and B: five copies of the ring.
    assert asm["ptx"].count("cp.async.bulk.tensor.2d.shared::cta.global") == 5
    # Metadata is loaded in the layout of the instruction, and the accumulator stays in its own.
    loop = asm["ttgir"].partition("partition0")[2].partition("scf.yield")[0]
    assert "ttg.local_load" in loop
    assert "convert_layout" not in loop
    steps = re.findall(r"wgmma\.(mma_async\.sp\S*m64n128k32|wait_group\S* 0)", asm["ptx"])
    # Of each of two tasks 2 x 4 instructions, the four steps along K in one piece of assembly.
    assert [step.partition(".")[0] for step in steps] == (["mma_async"] * 8 + ["wait_group"]) * 2


@triton.jit
def products(v, m, b, c, CASE: tl.constexpr):
    values = tlx.local_alloc((64, 64), tl.bfloat16, 2)
    dense = tlx.local_alloc((32, 128), tl.bfloat16, 1)
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    meta = tl.load(m + rows * 16 + tl.arange(0, 16)[None, :])
    tlx.local_store(values[0], tl.load(v + rows * 64 + columns))
    tlx.local_store(dense[0], tl.load(b + tl.arange(0, 32)[:, None] * 128 + tl.arange(0, 128)[None, :]))
    tlx.fence_async_shared()
    acc = tl.zeros((64, 32), tl.float32)
    right = tlx.local_trans(dense[0])
    if CASE == "slots":
        acc = sparsity.async_sparse_dot(values, meta, right, acc)
    elif CASE == "transposed":
        acc = sparsity.async_sparse_dot(values[0], meta, dense[0], acc)
    elif CASE == "tensor":
        acc = sparsity.async_sparse_dot(values[0], meta, tl.load(b + rows * 64 + columns), acc)
    elif CASE == "sync":
        acc = sparsity.async_sparse_dot(values[0], meta, right, acc, is_async=False)
    elif CASE == "registers":
        acc = sparsity.async_sparse_dot(tlx.local_load(values[0]), meta, right, acc, use_acc=CASE == "sync")
        acc = tlx.async_dot_wait(0, acc)
    else:
        acc = sparsity.async_sparse_dot(values[0], meta, right, acc)
        if CASE == "lifetime":
            other = tlx.local_alloc((64, 64), tl.bfloat16, 1)
            tlx.local_store(other[0], tl.load(v + rows * 64 + columns) * 2)
            acc = tlx.async_dot_wait(0, acc)
            twice = tlx.local_load(other[0])
            tl.store(v + rows * 64 + columns, twice)
        elif CASE == "call":
            tl.device_print("between", tl.program_id(0))
            acc = tlx.async_dot_wait(0, acc)
        elif CASE == "pending":
            acc = tlx.async_dot_wait(1, acc)
    tl.store(c + rows * 32 + tl.arange(0, 32)[None, :], acc)


SIGNATURE = "v=*bf16:16, m=*u8:16, b=*bf16:16, c=*fp32:16"


def test_products_without_tasks(compiled):  # noqa: F811
    ptx = {case: compiled(products, SIGNATURE, CASE=case).asm["ptx"] for case in ("sync", "registers")}
    assert {case: text.count("wgmma.wait_group") for case, text in ptx.items()} == {"sync": 1, "registers": 1}
    assert all(text.count("wgmma.mma_async.sp") == 4 for text in ptx.values())


def test_memory_of_an_unfinished_product_is_not_given_away(compiled):  # noqa: F811
    asm = compiled(products, SIGNATURE, CASE="lifetime").asm
    assert asm["ttgir"].count("ttg.local_alloc") == 3
    assert compiled(products, SIGNATURE, CASE="lifetime").metadata.shared >= (2 * 64 * 64 + 32 * 128 + 64 * 64) * 2


def test_products_that_wait_for_each_other_are_told(compiled):  # noqa: F811
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for case in ("lifetime", "call"):
            compiled(products, SIGNATURE, CASE=case)
    (warning,) = (entry for entry in caught if entry.category is sparsity.SerializationWarning)
    assert "the asynchronous products of products wait for each other: " in str(warning.message)
    assert "C75" in str(warning.message)


@pytest.mark.parametrize(
    ("case", "messages"),
    [
        ("slots", ("an operand is no such matrix", "argument values", "choose one slot")),
        ("transposed", ("an operand has another shape", "argument b")),
        ("tensor", ("an operand is no such matrix", "argument b", "a matrix in shared memory")),
    ],
)
def test_operands_are_refused(refused, case, messages):  # noqa: F811
    text = refused(products, SIGNATURE, CASE=case)
    assert all(message in text for message in messages)


@pytest.mark.parametrize(
    ("case", "message"), [("none", "before its result is used"), ("pending", "with at most 0 pending behind it, got 1")]
)
def test_missing_waits_are_refused_at_their_lines(refused_by_pass, case, message):  # noqa: F811
    text = refused_by_pass(products, SIGNATURE, CASE=case)
    assert message in text
    assert "test_sparse_tasks.py" in text
    assert "the product starts here" in text


@triton.jit
def in_buffers(v, m, b, c, ASYNC: tl.constexpr):
    buffer = tlx.local_alloc((64, 32), tl.float16, 1)
    rows = tl.arange(0, 64)[:, None]
    meta = tl.load(m + rows * 8 + tl.arange(0, 8)[None, :])
    tlx.local_store(buffer[0], tl.load(v + rows * 32 + tl.arange(0, 32)[None, :]))
    acc = tl.zeros((64, 16), tl.float32)
    if ASYNC:
        acc = sparsity.async_sparse_dot(buffer[0], meta, buffer[0], acc)
    else:
        dense = tl.load(b + rows * 16 + tl.arange(0, 16)[None, :])
        acc = sparsity.sparse_dot(tlx.local_load(buffer[0]), meta, dense, acc)
    tl.store(c + rows * 16 + tl.arange(0, 16)[None, :], acc)


def test_the_simulator_multiplies_tensors_and_names_what_it_cannot():
    np = pytest.importorskip("numpy")
    from tritonext_sparsity import formats
    from tritonext_tlx.simulator import UnsupportedOperation, simulate

    rng = np.random.default_rng(7)
    dense = rng.integers(-8, 9, (64, 64)).astype(np.float16)
    matrix = formats.compress(dense, pruned=True)
    b = rng.integers(-8, 9, (64, 16)).astype(np.float16)
    c = np.full((64, 16), np.nan, np.float32)
    simulate(in_buffers, (1,), matrix.values, matrix.meta, b, c, ASYNC=False)
    assert np.array_equal(c, formats.decompress(matrix).astype(np.float32) @ b.astype(np.float32))
    with pytest.raises(UnsupportedOperation, match="async_sparse_dot"):
        simulate(in_buffers, (1,), matrix.values, matrix.meta, b, c, ASYNC=True)
