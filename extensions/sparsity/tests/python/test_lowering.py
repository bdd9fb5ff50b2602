"""Sparse products in registers, as passes lower them, run lane by lane with the emulator and compared with dense ones.

What the passes leave is a few ops of the LLVM dialect on structs of registers. They are interpreted for all lanes of
all warps at once. Which element a register holds, the stock layouts say, so the layouts that the passes chose are
compared with the maps of the emulator too.
"""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
import triton.experimental.gluon.language as ttgl
from triton._C.libtriton import gluon_ir, ir

from tritonext_sparsity import formats
from tritonext_sparsity.elements import Element, element
from tritonext_sparsity.emulator import MmaSp, Smfmac, mma_sp, smfmac
from tritonext_sparsity.testing import small_numbers, sparse_matrix

MLIR_TYPES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "int8": "i8",
    "uint8": "i8",
    "int32": "i32",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "i32": 32, "i16": 16, "i8": 8}


def source_of(target, warps, kinds, m, n, k):
    """Return a module with a product of tensors."""
    left, right, total = (MLIR_TYPES[kind] for kind in kinds)
    lanes = 64 if target.startswith("hip") else 32
    per_byte = element(kinds[0]).columns_per_byte
    types = [
        f"tensor<{m}x{k // 2}x{left}, #blocked>",
        f"tensor<{m}x{k // per_byte}xi8, #blocked>",
        f"tensor<{k}x{n}x{right}, #blocked>",
        f"tensor<{m}x{n}x{total}, #blocked>",
    ]
    layout = f"sizePerThread = [1, 1], threadsPerWarp = [{lanes // 8}, 8], warpsPerCTA = [{warps}, 1], order = [1, 0]"
    attributes = f'"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, "ttg.threads-per-warp" = {lanes} : i32'
    unsigned = [name for name, kind in (("unsignedValues", kinds[0]), ("unsignedB", kinds[1])) if kind == "uint8"]
    flags = "{" + ", ".join(unsigned) + "}"
    return f"""
#blocked = #ttg.blocked<{{{layout}}}>
module attributes {{{attributes}, ttg.target = "{target}"}} {{
tt.func @product(%arg0: {types[0]}, %arg1: {types[1]}, %arg2: {types[2]}, %arg3: {types[3]}) -> {types[3]} {{
  %0 = sparsity.dot %arg0, %arg1, %arg2, %arg3 {flags} : {types[0]}, {types[1]} * {types[2]} -> {types[3]}
  tt.return %0 : {types[3]}
}}
}}
"""


def lowered(cases, lower):
    """Return what the passes make of the products of ``cases``, in one run of theirs."""
    command = [sys.executable, "-m", "tritonext.opt", "-", "--load", "sparsity"]
    done = subprocess.run(
        [*command, "--pass", "sparsity-accelerate-dots", "--pass", lower],
        input="// -----\n".join(source_of(*case) for case in cases),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    modules = done.stdout.split("// -----\n")
    assert len(modules) == len(cases)
    return dict(zip(cases, modules))


class Layouts:
    """Which element each register of each thread holds, as stock Triton has it."""

    def __init__(self, aliases, lanes):
        self.aliases, self.lanes = aliases, lanes
        self.context = ir.context()
        ir.load_dialects(self.context)
        self.builder = gluon_ir.GluonOpBuilder(self.context)

    def parse(self, text):
        text = self.aliases.get(text, text)

        def numbers(name):
            return [int(v) for v in re.findall(r"\d+", re.search(name + r" = \[([^\]]*)\]", text)[1])]

        if text.startswith("#ttg.dot_op"):
            index, parent, width = re.search(r"opIdx = (\d), parent = (#\w+), kWidth = (\d+)", text).groups()
            return ttgl.DotOperandLayout(int(index), self.parse(parent), int(width))
        if text.startswith("#ttg.amd_mfma"):
            version = int(re.search(r"version = (\d)", text)[1])
            assert "isTransposed = false" in text
            return ttgl.amd.AMDMFMALayout(version, numbers("instrShape"), False, numbers("warpsPerCTA"))
        assert text.startswith("#ttg.nvidia_mma")
        return ttgl.NVMMADistributedLayout([2, 0], numbers("warpsPerCTA"), numbers("instrShape"))

    def bases(self, text, shape):
        text = self.aliases.get(text, text)
        if text.startswith("#ttg.linear"):
            found = {}
            for name in ("register", "lane", "warp"):
                pairs = re.search(name + r" = \[(.*?)\](?:, \w+ =|\}>)", text)[1]
                found[name] = [[int(a), int(b)] for a, b in re.findall(r"\[(\d+), (\d+)\]", pairs)]
            return found["register"], found["lane"], found["warp"]
        layout = self.builder.to_linear_layout(self.parse(text)._to_ir(self.builder), list(shape))
        return layout.reg_bases, layout.lane_bases, layout.warp_bases

    def places(self, text, shape):
        """Return rows and columns, [threads, registers]."""
        registers, lanes, warps = self.bases(text, shape)
        thread = np.arange(1 << len(lanes) + len(warps))[:, None]
        index = np.arange(1 << len(registers))
        place = np.zeros((2, thread.size, index.size), np.int64)
        for bit, basis in enumerate([*lanes, *warps]):
            place ^= np.where(thread >> bit & 1, np.array(basis)[:, None, None], 0)
        for bit, basis in enumerate(registers):
            place ^= np.where(index >> bit & 1, np.array(basis)[:, None, None], 0)
        return place


def words_of(bits, width):
    """Pack elements [threads, n] of ``width`` bits into words."""
    shifts = np.arange(32 // width, dtype=np.uint32) * np.uint32(width)
    return np.bitwise_or.reduce(bits.reshape(bits.shape[0], -1, 32 // width).astype(np.uint32) << shifts, axis=2)


def elements_of(words, width):
    shifts = np.arange(32 // width, dtype=np.uint32) * np.uint32(width)
    return (words[:, :, None] >> shifts & np.uint32((1 << width) - 1)).reshape(words.shape[0], -1)


def width_of(text):
    """Width of the elements of a type of the LLVM dialect."""
    return WIDTHS[re.search(r"(bf16|[fi]\d+)>?$", text)[1]]


class Machine:
    """Interprets a function; a value is a matrix, or bits [threads, elements] of scalars, vectors and structs."""

    def __init__(self, text, layouts, threads, target):
        self.text, self.layouts, self.threads, self.target = text, layouts, threads, target
        self.calls = []

    def run(self, arguments):
        values = dict(arguments)
        for line in self.text.splitlines():
            line = line.strip()
            if line.startswith("tt.return"):
                return values[re.search(r"%\w+", line)[0]]
            if match := re.match(r"(%\w+) = ([\w.]+)(.*)", line):
                values[match[1]] = self.op(match[2], match[3], values)
        raise AssertionError("nothing was returned")

    def op(self, name, rest, values):
        used = [values[v] for v in re.findall(r"%\w+(?!\w)", rest.partition(" : ")[0])]
        if name in ("ttg.convert_layout", "tt.bitcast"):
            return used[0]
        if name == "builtin.unrealized_conversion_cast":
            source, result = re.search(r": (.*) to (.*)$", rest).groups()
            if source.startswith("tensor"):
                rows, columns = self.places(source)
                return used[0][rows, columns].astype(np.uint32)
            rows, columns = self.places(result)
            shape = self.shape(result)
            matrix = np.full(shape, 0xDEADBEEF, np.uint32)
            matrix[rows, columns] = used[0]
            np.testing.assert_array_equal(matrix[rows, columns], used[0], "copies of an element differ")
            return matrix
        if name == "llvm.extractvalue":
            return used[0][:, [int(re.search(r"\[(\d+)\]", rest)[1])]]
        if name == "llvm.insertvalue":
            result = used[1].copy()
            result[:, [int(re.search(r"\[(\d+)\]", rest)[1])]] = used[0]
            return result
        if name == "llvm.mlir.undef":
            count = re.search(r"vector<(\d+)x", rest)
            return np.full((self.threads, int(count[1]) if count else rest.count(",") + 1), 0xBAD, np.uint32)
        if name == "llvm.mlir.constant":
            number = int(re.search(r"\((-?\d+) : ", rest)[1])
            return np.full((self.threads, 1), number & 0xFFFFFFFF, np.uint32)
        if name == "llvm.insertelement":
            result = used[1].copy()
            result[:, used[2][0, 0]] = used[0][:, 0]
            return result
        if name == "llvm.extractelement":
            return used[0][:, [used[1][0, 0]]]
        if name == "llvm.bitcast":
            source, result = re.search(r": (.*) to (.*)$", rest).groups()
            return elements_of(words_of(used[0], width_of(source)), width_of(result))
        if name == "llvm.call_intrinsic":
            return self.smfmac(re.search(r'"llvm\.amdgcn\.smfmac\.(\S+)"', rest)[1], rest, used)
        assert name == "llvm.inline_asm", name
        return self.mma(rest, used)

    def shape(self, text):
        return tuple(int(v) for v in re.match(r"tensor<(\d+)x(\d+)x", text).groups())

    def places(self, text):
        return self.layouts.places(re.search(r", (#.*)>$", text)[1], self.shape(text))

    def by_warp(self, lanes, run, *registers):
        parts = [run(*(r[i : i + lanes] for r in registers)) for i in range(0, self.threads, lanes)]
        return np.concatenate(parts)

    def smfmac(self, name, rest, used):
        _, shape, *types = name.split(".")
        m, _, k = (int(v) for v in shape.split("x"))
        widths = [width_of(t) for t in re.search(r" : \((.*)\) -> ", rest)[1].split(", ")[:2]]
        instruction = Smfmac(m, k, types[0], types[-1], self.target.partition(":")[2])
        cbsz, abid = (int(v[0, 0]) for v in used[4:])
        self.calls.append((instruction, abid))
        a, b = (words_of(v, width) for v, width in zip(used, widths))
        return self.by_warp(64, lambda *r: smfmac(instruction, *r, cbsz=cbsz, abid=abid), a, b, used[2], used[3])

    def mma(self, rest, used):
        text = re.search(r'"(mma\.sp::ordered_metadata[^"]*)"', rest)[1]
        k, acc, a, b = re.search(r"m16n8k(\d+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.", text).groups()
        instruction = MmaSp(int(k), a, b, acc)
        groups = [[int(v) for v in re.findall(r"\$(\d+)", part)] for part in re.findall(r"\{([^}]*)\}", text)]
        meta, selector = (int(v) for v in re.search(r"\$(\d+), (\d);", text).groups())
        sums = len(groups[0])
        # Behind the results come the operands; the first are tied to the results.
        operands = np.concatenate(used, axis=1)
        d, a_words, b_words = operands[:, :sums], *(operands[:, [i - sums for i in g]] for g in groups[1:3])
        assert groups[3] == groups[0]
        self.calls.append((instruction, selector))
        return self.by_warp(
            32,
            lambda a, b, c, m: mma_sp(instruction, a, b, c, m, selector),
            a_words,
            b_words,
            d,
            operands[:, [meta - sums]],
        )


def check(module, target, warps, kinds, m, n, k):
    """Run a product and return the instructions it used."""
    left, right, total = map(element_of_name, kinds)
    lanes = 64 if target.startswith("hip") else 32
    rng = np.random.default_rng(k)
    dense = sparse_matrix(kinds[0], m, k, k)
    matrix = formats.compress(dense, kinds[0])
    b, c = small_numbers(rng, right, (k, n)), small_numbers(rng, total, (m, n))
    aliases = dict(re.findall(r"^(#\w+) = (#ttg\..*)$", module, re.MULTILINE))
    function = module[module.index("tt.func") :]
    machine = Machine(function, Layouts(aliases, lanes), lanes * warps, target)
    got = machine.run({"%arg0": matrix.values, "%arg1": matrix.meta, "%arg2": b, "%arg3": c})
    exact = left.multiplied.decode(dense) @ right.multiplied.decode(b) + total.decode(c)
    np.testing.assert_array_equal(got.astype(total.storage), total.encode(exact))
    return machine.calls


def element_of_name(name) -> Element:
    return element({"int32": "s32"}.get(name, name))


def name(case):
    target, warps, kinds, m, n, k = case
    return f"{target}-{'-'.join(kinds)}-{m}x{n}x{k}-{warps}"


WAVES = {
    "hip:gfx942": [
        ("float16", "float16", "float32"),
        ("bfloat16", "bfloat16", "float32"),
        ("int8", "int8", "int32"),
        ("float8_e4m3fnuz", "float8_e4m3fnuz", "float32"),
        ("float8_e4m3fnuz", "float8_e5m2fnuz", "float32"),
        ("float8_e5m2fnuz", "float8_e4m3fnuz", "float32"),
    ],
    "hip:gfx950": [
        ("float16", "float16", "float32"),
        ("bfloat16", "bfloat16", "float32"),
        ("int8", "int8", "int32"),
        ("float8_e4m3fn", "float8_e4m3fn", "float32"),
        ("float8_e5m2", "float8_e4m3fn", "float32"),
        ("float8_e5m2", "float8_e5m2", "float32"),
    ],
}
WAVE_CASES = [
    (target, warps, kinds, m, n, steps * 512 // element(kinds[0]).bits)
    for target, several in WAVES.items()
    for kinds in several
    for warps, m, n, steps in [(1, 16, 16, 1), (1, 32, 16, 2), (4, 64, 64, 4), (2, 16, 32, 8)]
]
WARPS = [
    ("float16", "float16", "float32"),
    ("float16", "float16", "float16"),
    ("bfloat16", "bfloat16", "float32"),
    ("float32", "float32", "float32"),
    ("int8", "int8", "int32"),
    ("uint8", "int8", "int32"),
    ("int8", "uint8", "int32"),
    ("float8_e4m3fn", "float8_e5m2", "float32"),
    ("float8_e5m2", "float8_e4m3fn", "float32"),
]
WARP_CASES = [
    ("cuda:89", warps, kinds, m, n, steps * 512 // element(kinds[0]).bits)
    for kinds in WARPS
    for warps, m, n, steps in [(1, 16, 8, 1), (1, 32, 16, 2), (4, 64, 64, 4), (2, 16, 32, 8)]
]


@pytest.fixture(scope="module")
def waves():
    return lowered(WAVE_CASES, "sparsity-lower-wave-dots")


@pytest.fixture(scope="module")
def warps():
    return lowered(WARP_CASES, "sparsity-lower-dots")


@pytest.mark.parametrize("case", WAVE_CASES, ids=name)
def test_products_of_waves(waves, case):
    calls = check(waves[case], *case)
    target, _, kinds, _, _, k = case
    step = 512 // element(kinds[0]).bits
    doubled = target == "hip:gfx950" and k % (2 * step) == 0
    assert {instruction.k for instruction, _ in calls} == {2 * step if doubled else step}
    step = calls[0][0].k
    # ABID takes turns where an index register has the codes of several steps.
    assert {abid for _, abid in calls} == set(range(min(128 // step, k // step)))


@pytest.mark.parametrize("case", WARP_CASES, ids=name)
def test_products_of_warps(warps, case):
    calls = check(warps[case], *case)
    width = element(case[2][0]).bits
    assert {selector for _, selector in calls} == ({0} if width == 8 or case[5] == 512 // width else {0, 1})
