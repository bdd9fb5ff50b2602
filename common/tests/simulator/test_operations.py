"""Single operations, in modules written by hand, against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tritonext.errors import DiagnosticError, UserError
from tritonext.testing.simulator import (
    AssertionFailure,
    BarrierMisuse,
    Deadlock,
    MissingFence,
    OutOfRange,
    ReadBeforeCompletion,
    UninitializedRead,
    UnsupportedOperation,
    decode,
    encode,
    load,
    simulate,
)

N = 128
HEADER = """\
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2 = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#b4 = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [1, 0]}>
#rows = #ttg.slice<{dim = 0, parent = #b4}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#n = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
"""  # noqa: E501


def module(arguments: str, body: str) -> str:
    """Return a module with one function."""
    return f"{HEADER}tt.func public @kernel({arguments}) {{\n{body}\ntt.return\n}}\n}}\n"


def elementwise(operation: str, source: str, result: str, operands: int) -> str:
    """Return a module that applies an operation, in which %a, %b, … are the operands, to tensors in memory."""
    lines = [f"%range = tt.make_range {{start = 0 : i32, end = {N} : i32}} : tensor<{N}xi32, #b>"]

    def pointers(name: str, of: str) -> str:
        lines.append(f"%{name}s = tt.splat %{name}p : !tt.ptr<{of}> -> tensor<{N}x!tt.ptr<{of}>, #b>")
        lines.append(f"%{name}at = tt.addptr %{name}s, %range : tensor<{N}x!tt.ptr<{of}>, #b>, tensor<{N}xi32, #b>")
        return f"tensor<{N}x!tt.ptr<{of}>, #b>"

    names = "abc"[:operands]
    for name in names:
        lines.append(f"%{name} = tt.load %{name}at : {pointers(name, source)}")
    # The load has to follow its addresses.
    lines = [lines[0], *sorted(lines[1:], key=lambda line: "tt.load" in line)]
    kind = pointers("r", result)
    lines += [operation.replace("TO", f"tensor<{N}x{result}, #b>").replace("T", f"tensor<{N}x{source}, #b>", 1)]
    lines += [f"tt.store %rat, %r : {kind}"]
    arguments = ", ".join([*(f"%{name}p: !tt.ptr<{source}>" for name in names), f"%rp: !tt.ptr<{result}>"])
    return module(arguments, "\n".join(lines))


def integers(bits: int) -> np.ndarray:
    info = np.iinfo(f"i{bits // 8}")
    values = np.random.default_rng().integers(info.min, info.max, N, f"i{bits // 8}", endpoint=True)
    values[:4] = info.min, info.max, -1, 1
    return values


def unsigned(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


INTEGERS = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: np.trunc(a / b.astype(np.float64)).astype(a.dtype),
    "remsi": np.fmod,
    "ceildivsi": lambda a, b: np.ceil(a / b.astype(np.float64)).astype(a.dtype),
    "floordivsi": lambda a, b: np.floor_divide(a, b),
    "divui": lambda a, b: (unsigned(a) // unsigned(b)).view(a.dtype),
    "remui": lambda a, b: (unsigned(a) % unsigned(b)).view(a.dtype),
    "ceildivui": lambda a, b: ((unsigned(a).astype(object) + unsigned(b) - 1) // unsigned(b)).astype("u4").view("i4"),
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
}


def test_integers():
    for name, function in INTEGERS.items():
        a, b, result = integers(32), integers(32), np.zeros(N, np.int32)
        b[b == 0] = 3
        b[0] = 7
        simulate(elementwise(f"%r = arith.{name} %a, %b : T", "i32", "i32", 2), (1,), [a, b, result])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(result, function(a, b), name)


def test_shifts():
    amounts = np.arange(N, dtype=np.int32) % 32
    for name, function in {
        "shli": np.left_shift,
        "shrsi": np.right_shift,
        "shrui": lambda a, b: (unsigned(a) >> unsigned(b)).view(a.dtype),
    }.items():
        a, result = integers(32), np.zeros(N, np.int32)
        simulate(elementwise(f"%r = arith.{name} %a, %b : T", "i32", "i32", 2), (1,), [a, amounts, result])
        np.testing.assert_array_equal(result, function(a, amounts), name)


def test_comparisons():
    a, b = integers(32), integers(32)
    b[::3] = a[::3]
    x = np.random.default_rng().standard_normal((2, N)).astype(np.float32)
    x[:, :4] = np.nan
    x[0, 8:16] = x[1, 8:16]
    signed = {"eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater}
    wide = {"ult": np.less, "ule": np.less_equal, "ugt": np.greater, "uge": np.greater_equal}
    text = "%c = arith.cmp{} {}, %a, %b : T\n%r = arith.extui %c : tensor<128xi1, #b> to TO"
    result = np.zeros(N, np.int32)
    for name, function in {**signed, **wide}.items():
        simulate(elementwise(text.format("i", name), "i32", "i32", 2), (1,), [a, b, result])
        expected = function(unsigned(a), unsigned(b)) if name in wide else function(a, b)
        np.testing.assert_array_equal(result, expected, name)
    ordered = ~np.isnan(x).any(0)
    for name, function in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "ge": np.greater_equal}.items():
        for prefix, expected in (("o", function(*x) & ordered), ("u", function(*x) | ~ordered)):
            arguments = [x[0].copy(), x[1].copy(), result]
            simulate(elementwise(text.format("f", prefix + name), "f32", "i32", 2), (1,), arguments)
            np.testing.assert_array_equal(result, expected, prefix + name)


def test_floats():
    draw = np.random.default_rng()
    for name, function in {
        "arith.addf": np.add,
        "arith.divf": np.divide,
        "arith.maxnumf": np.fmax,
        "arith.maximumf": np.maximum,
    }.items():
        for of in ("f16", "f32", "bf16"):
            a, b = (encode(draw.standard_normal(N), of) for _ in range(2))
            result = np.zeros_like(a)
            simulate(elementwise(f"%r = {name} %a, %b : T", of, of, 2), (1,), [a, b, result])
            exact = function(decode(a, of).astype(np.float64), decode(b, of).astype(np.float64))
            np.testing.assert_array_equal(result, encode(exact.astype(np.float32), of), name)
    x = np.abs(draw.standard_normal(N)).astype(np.float32)
    for name in ("exp", "exp2", "log2", "sqrt", "floor"):
        result = np.zeros_like(x)
        simulate(elementwise(f"%r = math.{name} %a : T", "f32", "f32", 1), (1,), [x, result])
        np.testing.assert_allclose(result, getattr(np, name)(x.astype(np.float64)), rtol=1e-6, atol=1e-6)


def test_conversions():
    x = np.random.default_rng().standard_normal(N).astype(np.float32) * 100
    x[:3] = 1e9, -1e9, 2**-10
    for of, largest in (("f8E4M3FN", 448), ("f8E5M2", 57344)):
        bits, back = np.zeros(N, np.uint8), np.zeros(N, np.float32)
        narrow = elementwise("%r = tt.fp_to_fp %a, rounding = rtne : T -> TO", "f32", of, 1)
        simulate(narrow, (1,), [x, bits])
        simulate(elementwise("%r = tt.fp_to_fp %a : T -> TO", of, "f32", 1), (1,), [bits, back])
        np.testing.assert_array_equal(back[:2], [largest, -largest])
        # Nothing that the type holds is nearer.
        known = decode(np.arange(256, dtype=np.uint8), of)
        known = known[np.isfinite(known)]
        np.testing.assert_array_equal(np.abs(back - x), np.abs(known[:, None] - x).min(0))
    result = np.zeros(N, np.int8)
    simulate(elementwise("%r = arith.trunci %a : T to TO", "i32", "i8", 1), (1,), [a := integers(32), result])
    np.testing.assert_array_equal(result, a.astype(np.int8))
    whole = np.arange(-128, 128, 2, dtype=np.float32) + np.float32(1)
    simulate(elementwise("%r = arith.fptosi %a : T to TO", "f32", "i8", 1), (1,), [whole, result])
    np.testing.assert_array_equal(result, whole.astype(np.int8))


def test_scan_and_reduce():
    text = elementwise(
        """\
%scan = "tt.scan"(%a) <{axis = 0 : i32, reverse = true}> ({
^bb0(%x: i32, %y: i32):
  %sum = arith.addi %x, %y : i32
  tt.scan.return %sum : i32
}) : (T) -> tensor<128xi32, #b>
%least = "tt.reduce"(%a) <{axis = 0 : i32}> ({
^bb0(%x: i32, %y: i32):
  %min = arith.minsi %x, %y : i32
  tt.reduce.return %min : i32
}) : (tensor<128xi32, #b>) -> i32
%all = tt.splat %least : i32 -> tensor<128xi32, #b>
%r = arith.subi %scan, %all : TO""",
        "i32",
        "i32",
        1,
    )
    a, result = np.arange(N, dtype=np.int32)[::-1].copy() - 5, np.zeros(N, np.int32)
    simulate(text, (1,), [a, result])
    np.testing.assert_array_equal(result, np.cumsum(a[::-1])[::-1] + 5)


def test_programs_share_a_lock():
    body = """\
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%at = tt.addptr %x, %one : !tt.ptr<i32>, i32
scf.while : () -> () {
  %old = tt.atomic_cas acq_rel, gpu, %x, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32
  %taken = arith.cmpi ne, %old, %zero : i32
  scf.condition(%taken)
} do {
  scf.yield
}
%value = tt.load %at : !tt.ptr<i32>
%more = arith.addi %value, %one : i32
tt.store %at, %more : !tt.ptr<i32>
%freed = tt.atomic_rmw exch, acq_rel, gpu, %x, %zero : (!tt.ptr<i32>, i32) -> i32"""
    text = module("%x: !tt.ptr<i32>", body)
    x = np.zeros(2, np.int32)
    report = simulate(text, (10, 3, 3), [x])
    assert (x == [0, 90]).all()
    assert report.programs == 90
    with pytest.raises(Deadlock, match="does not come to an end"):
        simulate(text, (1,), [np.ones(2, np.int32)], limit=1000)


def test_refused():
    x = np.zeros(1, np.int32)
    with pytest.raises(UnsupportedOperation, match="does not know an operation") as caught:
        simulate(load(module("%x: !tt.ptr<i32>", "%i = ttg.warp_id"), "kernel.ttgir"), (1,), [x])
    assert str(caught.value.where) == f"ttg.warp_id at kernel.ttgir:{len(HEADER.splitlines()) + 2}"
    with pytest.raises(UnsupportedOperation, match="element type"):
        load(module("%x: !tt.ptr<f8E4M3FNUZ>", ""))
    with pytest.raises(UserError, match="clusters"):
        simulate(module("", "").replace('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2'), (1,), [])
    with pytest.raises(DiagnosticError):
        load("module {")
    with pytest.raises(OutOfRange, match="do not fit into shared memory"):
        simulate(module("", "%x = ttg.local_alloc : () -> !ttg.memdesc<65536xf32, #s, #smem, mutable>"), (1,), [])
    assert_ = module("%x: i1", '%t = tt.splat %x : i1 -> tensor<128xi1, #b>\ntt.assert %t, "no" : tensor<128xi1, #b>')
    simulate(assert_, (1,), [True])
    with pytest.raises(AssertionFailure, match="assertion"):
        simulate(assert_, (1,), [False])


def test_arguments():
    text = module('%x: !tt.ptr<i32> loc("x"), %n: i32 loc("n")', "tt.store %x, %n : !tt.ptr<i32>")
    x = np.zeros(1, np.int32)
    simulate(text, (1,), {"n": 7, "x": x})
    assert x[0] == 7
    for wrong in (
        [x],
        {"x": x},
        {"x": x, "n": 7, "m": 8},
        [7, x],
        [x.astype(np.int64), 7],
        [np.zeros((4, 4), "i4")[:, :2], 7],
    ):
        with pytest.raises(UserError):
            simulate(text, (1,), wrong)
    with pytest.raises(UserError, match="order"):
        simulate(text, (1,), [x, 7], order="late")
    with pytest.raises(OutOfRange, match="leaves its array"):
        simulate(text, (1,), [np.zeros(0, np.int32), 7])


def test_descriptors_of_integers_with_a_sign():
    text = """\
%zero = arith.constant 0 : i32
%tile = tt.descriptor_load %d[%zero, %zero] : !tt.tensordesc<1x128xsi8, #n> -> tensor<1x128xi8, #b2>
%next = arith.addi %tile, %tile : tensor<1x128xi8, #b2>
tt.descriptor_store %d[%zero, %zero], %next : !tt.tensordesc<1x128xsi8, #n>, tensor<1x128xi8, #b2>"""
    text = module('%d: !tt.tensordesc<1x128xsi8, #n> loc("d")', text)
    text = text.replace("elementBitWidth = 16", "elementBitWidth = 8")
    values = np.arange(-64, 64, dtype=np.int8)[None]
    found = values.copy()
    simulate(text, (1,), {"d": found})
    assert (found == values + values).all()


COPIES = """\
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%two = arith.constant 2 : i32
%ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #s, #smem, mutable>
%full = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #s, #smem, mutable>
scf.for %i = %zero to %two step %one : i32 {
  %b = ttg.memdesc_index %full[%i] : !ttg.memdesc<2x1xi64, #s, #smem, mutable> -> !ttg.memdesc<1xi64, #s, #smem, mutable>
  ttng.init_barrier %b, 128 : !ttg.memdesc<1xi64, #s, #smem, mutable>
}
ttg.warp_specialize(%ring, %full, %x)
default {
  scf.for %i = %zero to %two step %one : i32 {
    %f = ttg.memdesc_index %full[%i] : !ttg.memdesc<2x1xi64, #s, #smem, mutable> -> !ttg.memdesc<1xi64, #s, #smem, mutable>
    ttng.wait_barrier %f, %zero : !ttg.memdesc<1xi64, #s, #smem, mutable>
    %m = ttg.memdesc_index %ring[%i] : !ttg.memdesc<2x128xf32, #s, #smem, mutable> -> !ttg.memdesc<128xf32, #s, #smem, mutable>
    %v = ttg.local_load %m : !ttg.memdesc<128xf32, #s, #smem, mutable> -> tensor<128xf32, #b>
    AT(%y)
    tt.store %at, %v : tensor<128x!tt.ptr<f32>, #b>
  }
  ttg.warp_yield
}
partition0(%r: !ttg.memdesc<2x128xf32, #s, #smem, mutable>, %fs: !ttg.memdesc<2x1xi64, #s, #smem, mutable>, \
%p: !tt.ptr<f32>) num_warps(4) {
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  scf.for %i = %0 to %2 step %1 : i32 {
    %m = ttg.memdesc_index %r[%i] : !ttg.memdesc<2x128xf32, #s, #smem, mutable> -> !ttg.memdesc<128xf32, #s, #smem, mutable>
    AT(%p)
    %t = ttg.async_copy_global_to_local %at, %m : tensor<128x!tt.ptr<f32>, #b> -> <128xf32, #s, #smem, mutable>
    %f = ttg.memdesc_index %fs[%i] : !ttg.memdesc<2x1xi64, #s, #smem, mutable> -> !ttg.memdesc<1xi64, #s, #smem, mutable>
    ttng.async_copy_mbarrier_arrive %f {noIncrement} : !ttg.memdesc<1xi64, #s, #smem, mutable>
  }
  ttg.warp_return
} : (!ttg.memdesc<2x128xf32, #s, #smem, mutable>, !ttg.memdesc<2x1xi64, #s, #smem, mutable>, !tt.ptr<f32>) -> ()
"""  # noqa: E501

ADDRESS = """\
%size = arith.constant 128 : i32
%start = arith.muli %i, %size : i32
%first = tt.addptr POINTER, %start : !tt.ptr<f32>, i32
%range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #b>
%all = tt.splat %first : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #b>
%at = tt.addptr %all, %range : tensor<128x!tt.ptr<f32>, #b>, tensor<128xi32, #b>"""


def test_copies_by_threads_arrive_at_a_barrier():
    body = re.sub(r"AT\((%\w+)\)", lambda match: ADDRESS.replace("POINTER", match[1]), COPIES)
    text = module("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>", body)
    for order in ("random", "eager", "lazy"):
        x, y = np.random.default_rng().standard_normal(2 * N).astype(np.float32), np.zeros(2 * N, np.float32)
        simulate(text, (1,), [x, y], order=order)
        np.testing.assert_array_equal(x, y)
        for broken, replacement, finding in (
            # The first copy is behind the barrier that is waited for twice, the second one is not.
            ("%f = ttg.memdesc_index %full[%i]", "%f = ttg.memdesc_index %full[%zero]", ReadBeforeCompletion),
            ("init_barrier %b, 128", "init_barrier %b, 256", Deadlock),
            ("init_barrier %b, 128", "init_barrier %b, 64", BarrierMisuse),
        ):
            assert broken in text
            with pytest.raises((finding, UninitializedRead)):
                simulate(text.replace(broken, replacement), (1,), [x, y], order=order)


def descriptor(name: str, shape: str) -> str:
    sizes = f"%{name}s0: i32, %{name}s1: i32, %{name}t0: i64, %{name}t1: i64"
    return f"%{name}: !tt.tensordesc<{shape}xf16, #n>, {sizes}"


DESCRIPTORS = """\
%i = arith.constant 40 : i32
%j = arith.constant 64 : i32
%zero = arith.constant 0 : i32
%true = arith.constant true
%rows = tt.make_range {start = 30 : i32, end = 62 : i32} : tensor<32xi32, #rows>
%slot = ttg.local_alloc : () -> !ttg.memdesc<32x64xf16, #n, #smem, mutable>
%full = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #s, #smem, mutable>
ttng.init_barrier %full, 1 : !ttg.memdesc<1xi64, #s, #smem, mutable>
ttng.barrier_expect %full, 4096, %true : !ttg.memdesc<1xi64, #s, #smem, mutable>
ttng.async_tma_gather %g[%rows, %j] %slot, %full, %true : !tt.tensordesc<1x64xf16, #n>, \
tensor<32xi32, #rows>, i32, !ttg.memdesc<1xi64, #s, #smem, mutable>, \
!ttg.memdesc<32x64xf16, #n, #smem, mutable>, i1
ttng.wait_barrier %full, %zero : !ttg.memdesc<1xi64, #s, #smem, mutable>
%v = ttg.local_load %slot : !ttg.memdesc<32x64xf16, #n, #smem, mutable> -> tensor<32x64xf16, #b2>
%w = tt.descriptor_load %x[%i, %j] : !tt.tensordesc<32x64xf16, #n> -> tensor<32x64xf16, #b2>
%sum = arith.addf %v, %w : tensor<32x64xf16, #b2>
ttg.local_store %sum, %slot : tensor<32x64xf16, #b2> -> !ttg.memdesc<32x64xf16, #n, #smem, mutable>
ttng.fence_async_shared {bCluster = false}
ttng.async_tma_reduce add, %x[%zero, %zero] %slot : !tt.tensordesc<32x64xf16, #n>, \
!ttg.memdesc<32x64xf16, #n, #smem, mutable>
ttng.async_tma_scatter %g[%rows, %zero] %slot : !tt.tensordesc<1x64xf16, #n>, \
tensor<32xi32, #rows>, i32, !ttg.memdesc<32x64xf16, #n, #smem, mutable>
ttng.async_tma_store_wait {pendings = 0 : i32}"""


def test_descriptors():
    text = module(f"{descriptor('x', '32x64')}, {descriptor('g', '1x64')}", DESCRIPTORS)
    for order in ("random", "eager", "lazy"):
        x = np.random.default_rng().standard_normal((50, 100)).astype(np.float16)
        y = np.random.default_rng().standard_normal((60, 100)).astype(np.float16)
        expected_x, expected_y = x.copy(), y.copy()
        # What lies outside of a tensor is read as zero and not written.
        total = np.zeros((32, 64), np.float16)
        total[:30, :36] += y[30:, 64:]
        total[:10, :36] += x[40:, 64:]
        expected_x[:32, :64] += total
        expected_y[30:, :64] = total[:30]
        simulate(text, (1,), [x, y], order=order)
        np.testing.assert_array_equal(x, expected_x)
        np.testing.assert_array_equal(y, expected_y)
    unfenced = re.sub(r"ttng\.fence.*\n", "", text)
    simulate(unfenced, (1,), [x, y], fences=False)
    with pytest.raises(MissingFence):
        simulate(unfenced, (1,), [x, y])
