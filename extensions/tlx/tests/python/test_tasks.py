"""Tasks: what becomes of them, what they see, and what is refused."""

import inspect
import re

import pytest
import triton
import triton.language as tl

from tritonext.errors import KernelError

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

TARGETS = ("cuda:90", "cuda:100")


def partitions(text):
    """Return the code of each task of TTGIR, the default one first."""
    parts = re.split(r"^ +(?:default|partition\d+\(.*\) num_warps\(\d+\)) \{", text, flags=re.MULTILINE)[1:]
    return [part.partition("ttg.warp_")[0] for part in parts]


@triton.jit
def load_row(x, row, BLOCK: tl.constexpr):
    return tl.load(x + row * BLOCK + tl.arange(0, BLOCK))


@triton.jit
def split(x, y, n, BLOCK: tl.constexpr):
    offset = n * 2
    step = 3.0
    with tlx.async_tasks():
        with tlx.async_task("default"):
            step = 5.0
            tl.store(y + tl.arange(0, BLOCK), load_row(x, offset, BLOCK) + step)
        with tlx.async_task(num_warps=8, replicate=2):
            step = step + 1
            for i in range(n):
                row = load_row(x, i + offset, BLOCK)
                row = tl.reshape(tl.trans(tl.reshape(row, (BLOCK // 32, 32))), (BLOCK,))
                total = tl.sum(row) + step + (tlx.async_task_replica_id() * 8.0 + 7.0)
                tl.store(y + (i + 1) * BLOCK + tl.arange(0, BLOCK), row + total)
        with tlx.async_task(1):
            tl.store(y - 1, step)
    tl.store(y - 2, step)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", [4, 8])
def test_each_task_has_layouts_of_its_own_warps(compiled, target, num_warps):
    result = compiled(split, "x=*fp32:16, y=*fp32:16, n=i32", target, {"num_warps": num_warps}, BLOCK=1024)
    text = result.asm["ttgir"]
    assert re.findall(r"num_warps\((\d+)\)", text) == ["8", "8", "1"]
    layouts = dict(re.findall(r"^(#\w+) = #ttg\.(?:blocked|linear)<\{(.*)\}>", text, re.MULTILINE))
    default, first, second, last = partitions(text)
    for part, warps in ((default, num_warps), (first, 8), (second, 8)):
        used = set(re.findall(r"tensor<[\w!.<>]*, (#\w+)>", part))
        assert used
        for name in used:
            shape = re.search(r"warpsPerCTA = \[([\d, ]*)\]", layouts[name])
            if shape:
                assert eval("*".join(shape[1].split(","))) == warps
    assert "tensor<" not in last
    # Replicas differ by their number.
    assert ("7.000000e+00" in first, "1.500000e+01" in first) == (True, False)
    assert ("7.000000e+00" in second, "1.500000e+01" in second) == (False, True)
    # What a task assigns is gone after it; what was assigned before is seen in it.
    assert "dense<5.000000e+00>" in text
    assert re.search(r"3\.000000e\+00 : f32", text)
    assert "tlx." not in text
    assert "tt.call" not in text


@triton.jit
def budgeted(x, n, REGISTERS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=4, num_regs=REGISTERS):
            tl.store(x + 1, 1.0)
        with tlx.async_task(num_warps=4, registers=24):
            tl.store(x + 2, 1.0)


@pytest.mark.parametrize("target", TARGETS)
def test_registers_are_set(compiled, target):
    result = compiled(budgeted, "x=*fp32, n=i32", target, REGISTERS=160)
    assert "requestedRegisters = array<i32: 160, 24>" in result.asm["ttgir"]
    ptx = result.asm["ptx"]
    assert re.search(r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32 \t?160;", ptx)
    assert re.search(r"setmaxnreg\.dec\.sync\.aligned\.u32 \t?24;", ptx)


@triton.jit
def handed_over(x, y, n, M: tl.constexpr):
    tile = tlx.local_alloc((M, M), tl.float32, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(y + at, 0.0)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            cells = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.local_store(tile[slot], tl.load(x + i * M * M + cells))
                tlx.barrier_arrive(full[slot])
        with tlx.async_task(num_warps=2):
            cells = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(full[slot], phase)
                value = tlx.local_load(tile[slot])
                tlx.barrier_arrive(empty[slot])
                tl.store(y + i * M * M + cells, value * 2)


@pytest.mark.parametrize("target", TARGETS)
def test_tensors_pass_through_buffers(compiled, target):
    result = compiled(handed_over, "x=*fp32:16, y=*fp32:16, n=i32", target, M=64)
    producer, consumer = partitions(result.asm["ttgir"])
    order = [producer.index(op) for op in ("ttng.wait_barrier", "ttg.local_store", "ttng.arrive_barrier")]
    assert order == sorted(order)
    order = [consumer.index(op) for op in ("ttng.wait_barrier", "ttg.local_load", "ttng.arrive_barrier", "tt.store")]
    assert order == sorted(order)
    # The leader arrives when all warps of the task have read.
    ptx = result.asm["ptx"]
    assert re.search(r"bar\.sync \t?2, 64;[^@]*@%p\d+ mbarrier\.arrive", ptx)


@triton.jit
def chosen(x, n, SECOND: tl.constexpr, ONLY: tl.constexpr):
    for i in range(n):
        with tlx.async_tasks():
            """Documentation may stand here, and nothing too."""
            with tlx.async_task("default"):
                tl.store(x + i, 1.0)
            if not ONLY:
                if SECOND:
                    with tlx.async_task(num_warps=2):
                        tl.store(x + i + n, 2.0)
                else:
                    with tlx.async_task(num_warps=1):
                        tl.store(x + i + n, 3.0)


def test_conditions_on_constants_choose_tasks(compiled):
    for second, warps, value in ((True, "2", "2.0"), (False, "1", "3.0")):
        text = compiled(chosen, "x=*fp32, n=i32", SECOND=second, ONLY=False).asm["ttgir"]
        assert re.findall(r"num_warps\((\d+)\)", text) == [warps]
        assert f"{value}00000e+00 : f32" in partitions(text)[1]
        assert text.index("scf.for") < text.index("ttg.warp_specialize")


def test_a_default_task_alone_is_plain_code(compiled):
    @triton.jit
    def plain(x, n):
        for i in range(n):
            tl.store(x + i, 1.0)

    result = compiled(chosen, "x=*fp32, n=i32", SECOND=False, ONLY=True)
    assert "ttg.warp_specialize" not in result.asm["ttir"]
    assert instructions(result) == instructions(compiled(plain, "x=*fp32, n=i32"))


def instructions(result):
    """Return the PTX instructions of a kernel, without names and places of the source."""
    text = result.asm["ptx"].replace(result.metadata.name, "kernel")
    return re.findall(r"^\t(?:@!?%p\d+ )?[a-z][\w.:]+ .*;", text, re.MULTILINE)


@triton.jit
def replicated_default(x):
    with tlx.async_tasks():
        with tlx.async_task("default", replicate=2):
            tl.store(x + tlx.async_task_replica_id(), 1.0)


def test_copies_of_the_default_task_have_warps_of_their_own(compiled):
    text = compiled(replicated_default, "x=*fp32", "cuda:90", {"num_warps": 8}).asm["ttgir"]
    assert re.findall(r"num_warps\((\d+)\)", text) == ["8"]
    assert "tt.addptr" in partitions(text)[1]


@triton.jit
def constants(x, y):
    ones = tl.full((128,), 1.0, tl.float32)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x + tl.arange(0, 128), ones)
        with tlx.async_task(num_warps=1):
            tl.store(y + tl.arange(0, 128), ones)


def test_constant_tensors_are_made_anew(compiled):
    text = compiled(constants, "x=*fp32, y=*fp32").asm["ttgir"]
    assert "dense<1.000000e+00>" in partitions(text)[1]
    assert re.search(r"ttg\.warp_specialize\((%\w+)(, %\w+)?\)", text)


@triton.jit
def captures(x, n):
    outside = tl.load(x + tl.arange(0, 128))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, n)
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 128)
            tl.store(x + at, outside + 1)
            tl.store(x + at, outside + 2)


def test_a_tensor_from_outside_is_an_error_where_it_is_used(refused):
    text = refused(captures, "x=*fp32, n=i32")
    line = next(line for line in inspect.getsourcelines(captures.fn)[0] if "outside + 1" in line)
    assert f"\n{line.rstrip()}\n" in text
    assert "the tensor 'outside' was made outside of the task, in registers of other warps" in text
    # What is shown ends at the first of two uses.
    assert "outside + 2" not in text


@triton.jit
def uses_default(x, n):
    outside = tl.load(x + tl.arange(0, 128))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x + tl.arange(0, 128), outside)
        with tlx.async_task(num_warps=1):
            tl.store(x, n)


def test_the_default_task_sees_tensors(compiled):
    # It runs on the warps that made them.
    assert "tt.store" in partitions(compiled(uses_default, "x=*fp32, n=i32").asm["ttgir"])[0]


@triton.jit
def replica():
    return tlx.async_task_replica_id()


@triton.jit
def wrong(x, n, CASE: tl.constexpr):
    if CASE == "outside":
        with tlx.async_task("default"):
            tl.store(x, 1.0)
    if CASE == "called":
        tlx.async_tasks()
    if CASE == "replica outside":
        tl.store(x, tlx.async_task_replica_id())
    if CASE == "exclusive":
        with tlx.async_tasks(exclusive=2):
            pass
    if CASE == "sync":
        with tlx.async_tasks(no_ending_cluster_sync=3):
            pass
    if CASE == "suspend":
        with tlx.async_tasks(mbarrier_try_wait_suspend_ns=100):
            pass
    if CASE == "no default":
        with tlx.async_tasks():
            with tlx.async_task(num_warps=1):
                tl.store(x, 1.0)
    if CASE == "two defaults":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(x, 1.0)
            with tlx.async_task("default"):
                tl.store(x, 1.0)
    if CASE == "too many warps":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(x, 1.0)
            with tlx.async_task(num_warps=16, replicate=2):
                tl.store(x, 1.0)
    if CASE == "some registers":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(x, 1.0)
            with tlx.async_task(num_warps=1, num_regs=24):
                tl.store(x, 1.0)
            with tlx.async_task(num_warps=1):
                tl.store(x, 1.0)
    if CASE == "statement":
        with tlx.async_tasks():
            y = x + 1
            with tlx.async_task("default"):
                tl.store(y, 1.0)


@triton.jit
def wrong_task(x, n, CASE: tl.constexpr):
    with tlx.async_tasks():
        if CASE == "run-time condition" and n > 3:
            with tlx.async_task("default"):
                tl.store(x, 1.0)
        if CASE == "nested":
            with tlx.async_task("default"):
                with tlx.async_task(num_warps=1):
                    tl.store(x, 1.0)
        if CASE == "nested block":
            with tlx.async_task("default"):
                with tlx.async_tasks():
                    pass
        if CASE == "replica in a function":
            with tlx.async_task("default"):
                tl.store(x, replica())
        if CASE == "warps":
            with tlx.async_task(num_warps=3):
                tl.store(x, 1.0)
        if CASE == "no warps":
            with tlx.async_task():
                tl.store(x, 1.0)
        if CASE == "run-time warps":
            with tlx.async_task(num_warps=n):
                tl.store(x, 1.0)
        if CASE == "kind":
            with tlx.async_task("producer", num_warps=4):
                tl.store(x, 1.0)
        if CASE == "warps of the default":
            with tlx.async_task("default", num_warps=4):
                tl.store(x, 1.0)
        if CASE == "registers of the default":
            with tlx.async_task("default", registers=40):
                tl.store(x, 1.0)
        if CASE == "registers":
            with tlx.async_task(num_warps=4, num_regs=100):
                tl.store(x, 1.0)
        if CASE == "registers twice":
            with tlx.async_task(num_warps=4, num_regs=104, registers=104):
                tl.store(x, 1.0)
        if CASE == "replicas":
            with tlx.async_task(num_warps=4, replicate=0):
                tl.store(x, 1.0)
        if CASE == "place":
            with tlx.async_task(num_warps=4, warp_group_start_id=4):
                tl.store(x, 1.0)


TASK, TASKS = "async_task", "async_tasks"


@pytest.mark.parametrize(
    ("kernel", "case", "line", "message"),
    [
        (wrong, "outside", 'with tlx.async_task("default"):', f"outside of a block of tasks\n  where: tlx.{TASK}\n"),
        (wrong, "called", "tlx.async_tasks()", "the op opens a block\n  where: op async_tasks\n"),
        (wrong, "replica outside", "tl.store(x, tlx", "no task is around\n  where: tlx.async_task_replica_id\n"),
        (wrong, "exclusive", "with tlx.async_tasks(exc", f"no such value\n  where: tlx.{TASKS}, argument exclusive\n"),
        (wrong, "sync", "with tlx.async_tasks(no", f"tlx.{TASKS}, argument no_ending_cluster_sync\n"),
        (wrong, "suspend", "with tlx.async_tasks(mb", f"tlx.{TASKS}, argument mbarrier_try_wait_suspend_ns\n"),
        (wrong, "no default", "with tlx.async_tasks():", "a block of tasks has one default task"),
        (wrong, "two defaults", "with tlx.async_tasks():", "found: 2 of them"),
        (
            wrong,
            "too many warps",
            "with tlx.async_tasks():",
            "at most 32, with those of the kernel\n  found: 36",
        ),
        (wrong, "some registers", "with tlx.async_tasks():", "registers are given for some tasks"),
        (wrong, "statement", "y = x + 1", "only tasks, and conditions on constants around them"),
        (wrong_task, "run-time condition", 'task("default"):', "a task depends on a value of the kernel"),
        (wrong_task, "nested", "with tlx.async_task(num_warps=1):", "a task stands outside of a block of tasks"),
        (wrong_task, "nested block", "with tlx.async_tasks():", "a block of tasks stands in another one"),
        (wrong_task, "replica in a function", "return tlx.async_task_replica_id()", "hint: pass it to functions"),
        (wrong_task, "warps", "num_warps=3", f"tlx.{TASK}, argument num_warps\n  expected: 1, 2, 4, 8, 16\n  found: 3"),
        (wrong_task, "no warps", "with tlx.async_task():", f"tlx.{TASK}, argument num_warps\n"),
        (wrong_task, "run-time warps", "num_warps=n", f"tlx.{TASK}, argument num_warps\n"),
        (wrong_task, "kind", '"producer"', f"tlx.{TASK}, argument kind\n  expected: 'default'\n  found: 'producer'"),
        (wrong_task, "warps of the default", "num_warps=4", "hint: the default task has the warps of the kernel"),
        (wrong_task, "registers of the default", "registers=40", "hint: the default task has the registers that"),
        (wrong_task, "registers", "num_regs=100", "expected: 24 to 256 in steps of 8\n  found: 100"),
        (wrong_task, "registers twice", "num_regs=104", "registers are given twice"),
        (wrong_task, "replicas", "replicate=0", f"tlx.{TASK}, argument replicate\n  expected: 1 to 32\n  found: 0"),
        (wrong_task, "place", "start_id=4", f"not supported\n  where: tlx.{TASK}, argument warp_group_start_id\n"),
    ],
)
def test_mistakes_are_errors_at_their_line(refused, kernel, case, line, message):
    text = refused(kernel, "x=*fp32, n=i32", CASE=case)
    excerpt = text[: text.rindex("^")].rstrip().splitlines()[-1]
    assert line in excerpt
    assert message in text


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942", "hip:gfx950"])
@pytest.mark.parametrize("op", [TASK, TASKS, "async_task_replica_id"])
def test_a_target_without_tasks_is_named(refused, op, target):
    case = {TASK: "outside", TASKS: "no default", "async_task_replica_id": "replica outside"}[op]
    text = refused(wrong, "x=*fp32, n=i32", target, CASE=case)
    assert f"where: tlx.{op}\n  expected: cuda:90, cuda:100\n  found: {target}" in text
    assert op not in tlx.supported_ops(target)


@triton.jit
def product(a_tile, b_tile, acc):
    return tlx.async_dot_wait(0, tlx.async_dot(a_tile, b_tile, acc))


@triton.jit
def copy_and_multiply(a, b, tiles, full, out):
    tlx.barrier_expect_bytes(full[0], 2 * 64 * 64 * 2)
    tlx.async_descriptor_load(a, tiles[0], [0, 0], full[0])
    tlx.async_descriptor_load(b, tiles[1], [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    acc = product(tiles[0], tiles[1], tl.zeros((64, 64), tl.float32))
    tl.store(out + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], acc)


@triton.jit
def in_functions(a, b, out):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            pass
        with tlx.async_task(num_warps=4):
            copy_and_multiply(a, b, tiles, full, out)


def test_functions_with_ops_are_inlined_into_tasks(compiled):
    signature = "a=tensordesc<fp16[64, 64]>, b=tensordesc<fp16[64, 64]>, out=*fp32:16"
    text = compiled(in_functions, signature).asm["ttgir"]
    assert "tt.call" not in text
    _, task = partitions(text)
    assert task.count("ttng.async_tma_copy_global_to_local") == 2
    assert task.count("ttng.warp_group_dot ") == 1


@triton.jit
def with_descriptors_of_their_own(a, b, c):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            tlx.barrier_wait(full[1], 0)
            tlx.async_descriptor_store(c, tiles[0], [0, 0])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):
            tlx.barrier_expect_bytes(full[0], 64 * 64 * 2)
            tlx.async_descriptor_load(a, tiles[0], [0, 0], full[0])
        with tlx.async_task(num_warps=2):
            tlx.barrier_expect_bytes(full[1], 64 * 64 * 2)
            tlx.async_descriptor_load(b, tiles[1], [0, 0], full[1])


@pytest.mark.parametrize("target", TARGETS)
def test_tasks_need_not_share_descriptors(compiled, target):
    signature = ", ".join(f"{name}=tensordesc<fp16[64, 64]>" for name in "abc")
    result = compiled(with_descriptors_of_their_own, signature, target)
    text = result.asm["ttgir"]
    for task, op in zip(partitions(text), ("local_to_global", "global_to_local", "global_to_local"), strict=True):
        assert re.findall(r"ttng\.async_tma_copy_(\w+)", task) == [op]
    # What makes a task mention the descriptor of another one is gone.
    assert "prefetch" not in result.asm["ptx"]


@triton.jit(noinline=True)
def kept_apart(x):
    tl.store(x, 1.0)


@triton.jit
def calls(x, n):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x, n)
        with tlx.async_task(num_warps=1):
            kept_apart(x)


def test_a_function_that_is_not_inlined_is_an_error_in_a_task(refused_by_pass):
    error = refused_by_pass(calls, "x=*fp32, n=i32")
    assert "expected a function that is inlined into the task, got a call of" in error


@triton.jit
def alone(x, BLOCKS: tl.constexpr):
    with tlx.async_tasks(exclusive=True):
        with tlx.async_task("default"):
            tl.store(x, 1.0)
        with tlx.async_task(num_warps=4):
            tl.store(x + 1, 1.0)
    if BLOCKS == 2:
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(x, 2.0)
            with tlx.async_task(num_warps=4):
                tl.store(x + 1, 2.0)


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_an_exclusive_block_of_tasks(compiled, target):
    text = compiled(alone, "x=*fp32:16", target, BLOCKS=1).asm["ttgir"]
    assert text.count("ttg.warp_specialize(") == 1
    assert "tlx." not in text


def test_a_block_of_tasks_beside_an_exclusive_one(compiled):
    with pytest.raises(KernelError) as caught:
        compiled(alone, "x=*fp32:16", BLOCKS=2)
    message = str(caught.value)
    assert "expected no other block of tasks beside an exclusive one, got 1" in message
    assert "another one is here" in message
    assert message.count('with tlx.async_task("default"):') == 2
