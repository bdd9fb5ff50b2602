"""Sparse instructions on a GPU against the emulator, register by register."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest
from triton.backends.nvidia.compiler import get_ptxas

from tritonext_sparsity.elements import element
from tritonext_sparsity.emulator import MmaSp, WgmmaSp, mma_sp, wgmma_sp
from tritonext_sparsity.emulator.ptx import mma_kernel, module, wgmma_kernel
from tritonext_sparsity.testing import random_codes, shared_image, small_numbers

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu

MMA = [
    (MmaSp(k, a, b, acc), selector)
    for k, a, b, acc, selectors in [
        *((16, a, a, "f32", 4) for a in ("f16", "bf16")),
        *((32, a, a, "f32", 2) for a in ("f16", "bf16")),
        (16, "f16", "f16", "f16", 4),
        (32, "f16", "f16", "f16", 2),
        (8, "tf32", "tf32", "f32", 4),
        (16, "tf32", "tf32", "f32", 2),
        *((32, a, b, "s32", 2) for a in ("s8", "u8") for b in ("s8", "u8")),
        *((64, a, b, "s32", 1) for a in ("s8", "u8") for b in ("s8", "u8")),
        *((64, a, b, "f32", 1) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    ]
    for selector in range(selectors)
]
WGMMA_TYPES = [
    ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
    ("bf16", "bf16", "f32"),
    ("tf32", "tf32", "f32"),
    *((a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")),
    *((a, b, acc) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for acc in ("f32", "f16")),
]
# Where A is, its swizzle, that of B, whether both are K-major.
SOURCES = [("registers", 0, 64, True), ("shared", 32, 128, True), ("shared", 64, 64, True), ("shared", 0, 0, True)]
TRANSPOSED = [
    ("registers", 0, 32, False),
    ("shared", 128, 128, False),
    ("shared", 64, 32, False),
    ("shared", 0, 0, False),
]


def selectors(kind):
    """How many selectors an instruction of wgmma has."""
    return 1 if element(kind).bits == 8 else 2


def sources(kind):
    return SOURCES + (TRANSPOSED if element(kind).bits == 16 else [])


# Every type from every source, and every type, N and selector from one source or another.
WGMMA = [
    (WgmmaSp(48, *types), selector, source)
    for types in WGMMA_TYPES
    for selector in range(selectors(types[0]))
    for source in sources(types[0])
] + [
    (WgmmaSp(n, *types), selector, sources(types[0])[(n // 8 + selector) % len(sources(types[0]))])
    for types in WGMMA_TYPES
    for n in range(8, 257, 8)
    # Integers have N of 8, 24 and multiples of 16.
    if n != 48 and (types[2] != "s32" or n % 16 == 0 or n in (8, 24))
    for selector in range(selectors(types[0]))
]


class Device:
    """Loads cubins and launches kernels of them through the CUDA driver, in torch's context."""

    def __init__(self) -> None:
        torch.cuda.init()
        torch.empty(1, device="cuda")
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def check(self, status: int) -> None:
        assert status == 0, f"CUDA error {status}"

    def function(self, cubin: bytes, name: str, shared: int) -> ctypes.c_void_p:
        loaded, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoadData(ctypes.byref(loaded), cubin))
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), loaded, name.encode()))
        # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.check(self.cuda.cuFuncSetAttribute(function, 8, shared))
        return function

    def run(
        self, function, lanes: int, shared: int, arrays: list[np.ndarray], words: tuple[int, int], d: int
    ) -> np.ndarray:
        """Launch one block and return the registers of D, poisoned before."""
        tensors = [torch.from_numpy(np.ascontiguousarray(array).view(np.int32)).cuda() for array in arrays]
        out = torch.full((lanes, d), -1, dtype=torch.int32, device="cuda")
        values = [ctypes.c_uint64(t.data_ptr()) for t in (*tensors, out)] + [ctypes.c_uint64(w) for w in words]
        values.append(ctypes.c_uint32(arrays[-1].size))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.cuda.cuLaunchKernel(function, 1, 1, 1, lanes, 1, 1, shared, stream, pointers, None))
        torch.cuda.synchronize()
        return out.cpu().numpy().view(np.uint32)


@pytest.fixture(scope="module")
def device():
    return Device()


def assembled(kernel: str, tmp_path) -> bytes:
    """Return the cubin of a kernel for this GPU."""
    major, minor = torch.cuda.get_device_capability()
    target = f"sm_{major}{minor}{'a' if major >= 9 else ''}"
    source, cubin = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_text(module([kernel], target))
    command = [get_ptxas(10 * major + minor).path, "-arch", target, source, "-o", cubin]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return cubin.read_bytes()


def name(instruction, *rest):
    return "_".join(str(v) for v in (*vars(instruction).values(), *rest))


def supported(instruction):
    return instruction.a not in ("e4m3", "e5m2") or torch.cuda.get_device_capability() >= (8, 9)


def with_garbage(rng, fragment, matrix):
    unread = fragment.pack(np.full(fragment.shape, 15, np.uint32))
    registers = fragment.pack(matrix)
    return registers | (rng.integers(0, 1 << 32, registers.shape).astype(np.uint32) & ~unread)


NOTHING = np.zeros(1, np.uint32)


@pytest.mark.parametrize(("instruction", "selector"), MMA, ids=lambda v: name(v) if isinstance(v, MmaSp) else str(v))
def test_mma(device, tmp_path, instruction, selector):
    if not supported(instruction):
        pytest.skip("8-bit floats need a GPU of compute capability 8.9 or later")
    rng = np.random.default_rng()
    kinds = tuple(map(element, (instruction.a, instruction.b, instruction.acc)))
    meta = instruction.fragment_meta(selector)
    operands = [
        instruction.fragment_a().pack(small_numbers(rng, kinds[0], (16, instruction.k // 2))),
        instruction.fragment_b().pack(small_numbers(rng, kinds[1], (instruction.k, 8))),
        instruction.fragment_d().pack(small_numbers(rng, kinds[2], (16, 8))),
        with_garbage(rng, meta, random_codes(rng, kinds[0], meta.shape)),
    ]
    function = device.function(assembled(mma_kernel("kernel", instruction, selector), tmp_path), "kernel", 0)
    got = device.run(function, 32, 0, [*operands, NOTHING], (0, 0), instruction.fragment_d().registers)
    np.testing.assert_array_equal(got, mma_sp(instruction, *operands, selector))


@pytest.mark.parametrize(
    ("instruction", "selector", "source"), WGMMA, ids=lambda v: name(v) if isinstance(v, WgmmaSp) else str(v)
)
def test_wgmma(device, tmp_path, instruction, selector, source):
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("wgmma needs a GPU of compute capability 9.0")
    where, a_width, b_width, k_major = source
    scale_a = -1 if instruction.acc != "s32" and b_width == 64 else 1
    flags = {
        "scale_d": a_width != 64,
        "scale_a": scale_a,
        "trans_a": where == "shared" and not k_major,
        "trans_b": not k_major,
    }
    rng = np.random.default_rng()
    kinds = tuple(map(element, (instruction.a, instruction.b, instruction.acc)))
    meta = instruction.fragment_meta(selector)
    values = small_numbers(rng, kinds[0], (64, instruction.k // 2))
    shared, b_word = shared_image(
        small_numbers(rng, kinds[1], (instruction.n, instruction.k)), kinds[1], k_major, b_width, 0, rng
    )
    a = instruction.fragment_a().pack(values)
    if where == "shared":
        more, a = shared_image(values, kinds[0], k_major, a_width, -(-shared.size // 1024) * 1024, rng)
        more[: shared.size] = shared
        shared = more
    c = instruction.fragment_d().pack(small_numbers(rng, kinds[2], (64, instruction.n)))
    word = with_garbage(rng, meta, random_codes(rng, kinds[0], meta.shape))
    kernel = wgmma_kernel("kernel", instruction, selector, a_in_registers=where == "registers", **flags)
    function = device.function(assembled(kernel, tmp_path), "kernel", shared.size)
    arrays = [NOTHING if where == "shared" else a, NOTHING, c, word, shared.view(np.uint32)]
    words = (a if where == "shared" else 0, b_word)
    got = device.run(function, 128, shared.size, arrays, words, instruction.fragment_d().registers)
    expected = wgmma_sp(instruction, a, b_word, c, word, selector, shared=shared, **flags)
    np.testing.assert_array_equal(got, expected)
