"""Special registers and cluster ops."""

import re

import pytest
import triton
import triton.language as tl

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")


@triton.jit
def registers(x, t, AXIS: tl.constexpr):
    before = tlx.clock64()
    thread = tlx.thread_id(AXIS)
    tl.store(x + thread, thread)
    tl.store(t, tlx.clock64() - before)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
@pytest.mark.parametrize(("axis", "name"), [(0, "x"), (1, "y"), (2, "z")])
def test_registers_of_nvidia(compiled, target, axis, name):
    result = compiled(registers, "x=*i32, t=*i64", target, AXIS=axis)
    assert re.search(rf"mov\.u32 \t%r\d+, %tid\.{name};", result.asm["ptx"])
    # Both readings stay, and the stores between them.
    clocks = [match.start() for match in re.finditer("%clock64", result.asm["ptx"])]
    assert len(clocks) == 2
    store = re.search(r"st\.global\.b32", result.asm["ptx"]).start()
    assert clocks[0] < store < clocks[1]


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_registers_of_amd(compiled, target):
    result = compiled(registers, "x=*i32, t=*i64", target, AXIS=0)
    assert "@llvm.amdgcn.workitem.id.x()" in result.asm["llir"]
    assert result.asm["ttgir"].count("llvm.amdgcn.s.memtime") == 2
    assert "\ts_memtime" in result.asm["amdgcn"]


@triton.jit
def clusters(x):
    tlx.cluster_barrier()
    tl.store(x + tlx.cluster_cta_rank(), tlx.cluster_size_1d())


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_clusters(compiled, target):
    ptx = compiled(clusters, "x=*i32", target, {"num_ctas": 2}).asm["ptx"]
    assert re.search(r"%cluster_ctarank;", ptx)
    assert re.search(r"%cluster_nctarank;", ptx)
    assert ptx.index("barrier.cluster.arrive") < ptx.index("barrier.cluster.wait") < ptx.index("%cluster_nctarank")


@triton.jit
def votes(x, n):
    thread = tlx.thread_id(0)
    tl.store(x + thread, tlx.vote_ballot_sync(0xFFFFFFFF, thread > n))
    tl.store(x, tlx.vote_ballot_sync(3, n))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
def test_votes(compiled, target):
    result = compiled(votes, "x=*i32, n=i32", target)
    assert re.findall(r"vote\.sync\.ballot\.b32 \t%r\d+, %p\d+, (-?\d+);", result.asm["ptx"]) == ["-1", "3"]
    (attributes,) = re.findall(r"declare i32 @llvm\.nvvm\.vote\.ballot\.sync\(i32, i1\) #(\d+)", result.asm["llir"])
    assert re.search(rf"^attributes #{attributes} = {{ convergent ", result.asm["llir"], re.MULTILINE)


@triton.jit
def facts(x, desc, n):
    tile = tlx.local_alloc((64, 64), tlx.dtype_of(desc), 1)
    tl.static_assert(tlx.dtype_of(x) == tl.float32)
    tl.static_assert(tlx.dtype_of(tile[0]) == tl.bfloat16)
    tl.static_assert(tlx.dtype_of(tl.load(x + tl.arange(0, 4))) == tl.float32)
    tl.static_assert(tlx.dtype_of(n) == tl.int32)
    tl.store(x, tlx.size_of(tlx.dtype_of(x)) * 10 + tlx.size_of(tl.float8e5))


def test_facts_about_types_are_constants(compiled):
    text = compiled(facts, "x=*fp32, desc=tensordesc<bf16[64, 64]>, n=i32").asm["ttir"]
    assert "4.100000e+01 : f32" in text


@triton.jit
def axes(x, n, CASE: tl.constexpr):
    if CASE == "no type":
        tl.store(x, tlx.size_of(4))
    if CASE == "part of a byte":
        tl.store(x, tlx.size_of(tl.int1))
    if CASE == "no elements":
        tl.static_assert(tlx.dtype_of(CASE) == tl.int32)
    if CASE == "no voters":
        tl.store(x, tlx.vote_ballot_sync(0, n > 3))
    if CASE == "run-time voters":
        tl.store(x, tlx.vote_ballot_sync(n, n > 3))
    if CASE == "votes of a tensor":
        tl.store(x, tlx.vote_ballot_sync(1, tl.arange(0, 4) > 3))
    if CASE == "axis":
        tl.store(x, tlx.thread_id(3))
    if CASE == "run-time axis":
        tl.store(x, tlx.thread_id(n))
    if CASE == "rank":
        tl.store(x, tlx.cluster_cta_rank())
    if CASE == "size":
        tl.store(x, tlx.cluster_size_1d())
    if CASE == "barrier":
        tlx.cluster_barrier()


@pytest.mark.parametrize(
    ("case", "target", "message", "where", "expected", "found"),
    [
        ("no type", "cuda:90", "not a type of whole bytes", "size_of, argument dtype", "a type", "4"),
        ("part of a byte", "cuda:80", "not a type of whole bytes", "size_of, argument dtype", "a type", "int1"),
        ("no elements", "hip:gfx942", "has no elements", "dtype_of, argument v", "a value", "constexpr"),
        ("no voters", "cuda:90", "out of range", "vote_ballot_sync, argument mask", "1 to 4294967295", "0"),
        ("run-time voters", "cuda:90", "not a constant", "vote_ballot_sync, argument mask", "a number known", ""),
        ("votes of a tensor", "cuda:90", "not a scalar", "vote_ballot_sync, argument pred", "a scalar", ""),
        ("no voters", "hip:gfx950", "the target lacks", "vote_ballot_sync", "cuda:80, cuda:90, cuda:100", "hip:gfx950"),
        ("axis", "cuda:90", "no such value", "thread_id, argument axis", "0, 1, 2", "3"),
        ("run-time axis", "cuda:90", "no such value", "thread_id, argument axis", "0, 1, 2", "a value of type int32"),
        ("rank", "cuda:80", "the target lacks", "cluster_cta_rank", "cuda:90, cuda:100", "cuda:80"),
        ("size", "hip:gfx942", "the target lacks", "cluster_size_1d", "cuda:90, cuda:100", "hip:gfx942"),
        (
            "barrier",
            "cuda:90",
            "the kernel has no clusters",
            "cluster_barrier",
            "ctas_per_cga=(n, 1, 1), or num_ctas of",
            "",
        ),
        ("barrier", "cuda:80", "the target lacks", "cluster_barrier", "cuda:90, cuda:100", "cuda:80"),
    ],
)
def test_mistakes_are_errors_at_their_line(refused, case, target, message, where, expected, found):
    text = refused(axes, "x=*i32, n=i32", target, CASE=case)
    assert message in text
    assert f"where: tlx.{where}\n" in text
    assert f"expected: {expected}" in text
    assert f"found: {found}" in text


@triton.jit
def names(x, DTYPE: tl.constexpr):
    if tlx.get_fp8_format_name(DTYPE) == "e5m2":
        tl.store(x, 5)
    if tlx.get_fp8_format_name(DTYPE) == "e4m3":
        tl.store(x, 4)


@pytest.mark.parametrize(("dtype", "number"), [(tl.float8e5, 5), (tl.float8e4nv, 4)])
@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"])
def test_names_of_eight_bit_floats(compiled, target, dtype, number):
    assert re.findall(r"tt.store %x, %c(\d)_i32", compiled(names, "x=*i32:16", target, DTYPE=dtype).asm["ttir"]) == [
        str(number)
    ]


def test_types_without_a_name(refused):
    text = refused(names, "x=*i32:16", DTYPE=tl.float16)
    assert "the type has no such name\n  where: tlx.get_fp8_format_name, argument dtype" in text


@triton.jit
def rounds(x, bits, y, DTYPE: tl.constexpr, SOURCE: tl.constexpr, RANDOM: tl.constexpr):
    at = tl.arange(0, 1024)
    tl.store(y + at, tlx.stoch_round(tl.load(x + at).to(SOURCE), DTYPE, tl.load(bits + tl.arange(0, RANDOM))))


@pytest.mark.parametrize(
    ("dtype", "pointer", "instruction", "count"),
    [
        (tl.float16, "fp16", "cvt.rs.f16x2.f32", 4),
        (tl.bfloat16, "bf16", "cvt.rs.bf16x2.f32", 4),
        (tl.float8e4nv, "fp8e4nv", "cvt.rs.satfinite.e4m3x4.f32", 2),
        (tl.float8e5, "fp8e5", "cvt.rs.satfinite.e5m2x4.f32", 2),
    ],
)
def test_rounding_at_random(compiled, dtype, pointer, instruction, count):
    result = compiled(
        rounds, f"x=*fp32:16, bits=*i32:16, y=*{pointer}:16", "cuda:100", DTYPE=dtype, SOURCE=tl.float32, RANDOM=1024
    )
    # Eight elements a thread; the assembler takes it.
    assert result.asm["ptx"].count(instruction) == count
    assert result.asm["cubin"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"SOURCE": tl.float16}, "the types of the elements differ\n  where: tlx.stoch_round, argument src"),
        ({"DTYPE": tl.float32}, "the target rounds to no such type\n  where: tlx.stoch_round, argument dst_ty"),
        ({"RANDOM": 512}, "the shapes differ\n  where: tlx.stoch_round, argument rand_bits"),
    ],
)
def test_what_cannot_be_rounded(refused, values, text):
    fine = {"DTYPE": tl.float16, "SOURCE": tl.float32, "RANDOM": 1024}
    assert text in refused(rounds, "x=*fp32:16, bits=*i32:16, y=*fp16:16", "cuda:100", **fine | values)


def test_random_bits_of_another_type(refused):
    fine = {"DTYPE": tl.float16, "SOURCE": tl.float32, "RANDOM": 1024}
    text = refused(rounds, "x=*fp32:16, bits=*i16:16, y=*fp16:16", "cuda:100", **fine)
    assert "the random bits are no tensor of 32-bit integers\n  where: tlx.stoch_round, argument rand_bits" in text


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx942", "hip:gfx950"])
def test_targets_that_do_not_round_at_random(refused, target):
    fine = {"DTYPE": tl.float16, "SOURCE": tl.float32, "RANDOM": 1024}
    text = refused(rounds, "x=*fp32:16, bits=*i32:16, y=*fp16:16", target, **fine)
    assert f"the target lacks this operation\n  where: tlx.stoch_round\n  expected: cuda:100\n  found: {target}" in text


@triton.jit
def asked_wrongly(WHAT: tl.constexpr):
    if WHAT == "axis":
        tlx.thread_id(3)
    elif WHAT == "size":
        tlx.size_of(8)
    elif WHAT == "bits":
        tlx.size_of(tl.int1)
    elif WHAT == "elements":
        tlx.dtype_of("x")


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx950"])
@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("axis", "an argument has no such value\n  where: tlx.thread_id, argument axis\n  expected: 0, 1, 2"),
        ("size", "an argument is not a type of whole bytes\n  where: tlx.size_of, argument dtype"),
        ("bits", "an argument is not a type of whole bytes\n  where: tlx.size_of, argument dtype"),
        ("elements", "an argument has no elements\n  where: tlx.dtype_of, argument v"),
    ],
)
def test_questions_that_have_no_answer(refused, target, what, text):
    assert text in refused(asked_wrongly, "", target, WHAT=what)
