"""The guard over resources: what it compares, what it keeps, and that it compiles twice in doubt alone."""

from __future__ import annotations

import functools
import re
import threading
import time

import pytest
from triton import knobs
from triton._C.libtriton import passes

import tritonext
from tritonext import PassRef, Pipeline, guard_resources, insert_after, remarks, replace_pass, wrap_stage
from tritonext._triton import guarding, recording
from tritonext._triton.guarding import Parting, amd_usage
from tritonext.errors import PipelineError
from tritonext.occupancy import Usage, resident_programs
from tritonext.pipeline import ResourceGuard, assembler_log
from tritonext.testing import kernels, run_python


def staged(count: int, *more) -> Pipeline:
    """A pipeline that gives loops ``count`` stages, and so as many buffers in shared memory."""
    latencies = "ttgpuir.assign_latencies"
    step = replace_pass("ttgir", latencies, PassRef(latencies, args=(count,)))
    return Pipeline((step, *more), name="stages")


def compiled(*pipelines: Pipeline, target: str = "cuda:90", **options):
    """Return a product compiled with two stages, changed by the pipelines, and the remarks of the guard."""
    with tritonext.use(*pipelines), remarks.collect() as found:
        kernel = kernels.compile("gemm_fp16", target, num_stages=2, **options)
    return kernel, [remark for remark in found if remark.pass_name == "resource-guard"]


def nameless(ttgir: str) -> str:
    """Return a module without the names of its values, which arguments of blocks lose when it is parsed."""
    return re.sub(r"%\w+", "%", ttgir)


def test_a_kernel_that_leaves_less_room_is_kept_as_it_is_without_the_pipeline():
    stock = kernels.compile("gemm_fp16", "cuda:90", num_stages=2)
    more, _ = compiled(staged(5))
    assert more.metadata.shared > 2 * stock.metadata.shared
    kept, found = compiled(staged(5, guard_resources(shared_bytes=131072)))
    assert kept.asm["cubin"] == stock.asm["cubin"]
    assert nameless(kept.asm["ttgir"]) == nameless(stock.asm["ttgir"])
    assert kept.asm["ptx"] == stock.asm["ptx"]
    assert kept.metadata.shared == stock.metadata.shared
    assert kept.metadata.hash != stock.metadata.hash
    compared = kept.metadata.tritonext_guard
    assert compared["kept"] == "without"
    assert compared["with"]["shared_bytes"] == more.metadata.shared
    assert compared["without"]["shared_bytes"] == stock.metadata.shared
    [remark] = found
    assert remark.kind == "missed"
    assert remark.message == f"kept the kernel without stages: {compared['reason']}"
    assert compared["reason"] == "a multiprocessor holds 2 of its programs instead of 1"


def test_a_kernel_that_leaves_more_room_is_kept_with_the_pipeline():
    less, _ = compiled(staged(1))
    kept, found = compiled(staged(1, guard_resources(registers=200)))
    assert kept.asm["cubin"] == less.asm["cubin"]
    compared = kept.metadata.tritonext_guard
    assert (compared["kept"], compared["reason"]) == ("with", "")
    assert [remark.message for remark in found] == ["the kernel without stages takes no less of the machine"]


def test_a_kernel_whose_loops_take_longer_is_kept_as_it_is_without_the_pipeline():
    stock = kernels.compile("gemm_fp16", "cuda:90", num_stages=2)
    kept, _ = compiled(staged(1, guard_resources(loops=True)))
    assert kept.asm["cubin"] == stock.asm["cubin"]
    compared = kept.metadata.tritonext_guard
    assert compared["kept"] == "without"
    assert re.fullmatch(r"its loops take \d+ cycles instead of \d+ where a load takes \d+", compared["reason"])


@pytest.fixture
def threads(monkeypatch):
    """Names of the threads that compiled a kernel to its end, in order."""
    names = []
    real = guarding.Guard._finish

    def finish(self, *arguments):
        names.append(threading.current_thread().name)
        return real(self, *arguments)

    monkeypatch.setattr(guarding.Guard, "_finish", finish)
    return names


def watch(inner, source, metadata, info):
    return inner(source, metadata)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "limits", [{"loops": True}, {"registers": 200, "shared_bytes": 200000}], ids=["certain", "likely"]
)
@pytest.mark.parametrize(
    "in_turn", ["a stage is wrapped", "another hook wraps a stage", "passes are timed", "no thread starts"]
)
def test_both_kernels_compile_at_once(count, limits, in_turn, threads, monkeypatch, capfd):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setattr(guarding, "_is_idle", lambda: True)
    guarded = staged(count, guard_resources(**limits))
    at_once, found = compiled(guarded)
    assert len(set(threads)) == 2
    threads.clear()
    more = ()
    if in_turn == "a stage is wrapped":
        more = (Pipeline((wrap_stage("ptx", watch, key="watch"),), name="watch"),)
    elif in_turn == "another hook wraps a stage":
        monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", wrap_ptx)
    elif in_turn == "passes are timed":
        monkeypatch.setenv("MLIR_ENABLE_TIMING", "1")
    else:
        monkeypatch.setattr(guarding.ThreadPoolExecutor, "submit", refuse)
    one_by_one, others = compiled(*more, guarded)
    assert len(threads) == 2
    assert len(set(threads)) == 1
    assert {name: text for name, text in at_once.asm.items() if name != "source"} == {
        name: text for name, text in one_by_one.asm.items() if name != "source"
    }
    assert at_once.metadata.tritonext_guard == one_by_one.metadata.tritonext_guard
    assert at_once.metadata.shared == one_by_one.metadata.shared
    assert [remark.message for remark in found] == [remark.message for remark in others] != []


def wrap_ptx(*arguments):
    """A stage hook of somebody else."""
    if arguments:
        stages = arguments[1]
        stages["ptx"] = functools.partial(lambda inner, source, metadata: inner(source, metadata), stages["ptx"])
    return "wrap-ptx", "wrap-ptx"


def refuse(self, function, *arguments):
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("name", "target", "idle"),
    [("transpose", "cuda:90", True), ("gemm_fp16", "hip:gfx942", True), ("gemm_fp16", "cuda:90", False)],
)
def test_what_is_not_likely_or_would_take_a_busy_processor_compiles_in_turn(name, target, idle, threads, monkeypatch):
    monkeypatch.setattr(guarding, "_is_idle", lambda: idle)
    step = insert_after("ttgir", "ttgpuir.coalesce", "common.cse")
    with tritonext.use(Pipeline((step, guard_resources(registers=200)), name="again")):
        kernels.compile(name, target)
    assert len(set(threads)) == 1


def test_where_the_load_of_the_machine_is_not_known_likely_doubt_is_not_followed(threads, monkeypatch):
    def unknown():
        raise OSError("Load averages are unobtainable")

    monkeypatch.setattr(guarding.os, "getloadavg", unknown)
    compiled(staged(1, guard_resources(registers=200)))
    assert len(threads) == 2
    assert len(set(threads)) == 1


@pytest.mark.parametrize(
    "variable",
    [
        "AMDGCN_ENABLE_DUMP",
        "LLVM_ENABLE_TIMING",
        "LLVM_IR_ENABLE_DUMP",
        "MLIR_ENABLE_DIAGNOSTICS",
        "MLIR_ENABLE_DUMP",
        "MLIR_ENABLE_TIMING",
        "NVPTX_ENABLE_DUMP",
        "TRITON_DUMP_MIR",
        "TRITON_DUMP_PTXAS_LOG",
        "TRITON_ENABLE_LLVM_DEBUG",
        "TRITON_LLVM_DEBUG_ONLY",
        "TRITON_REPRODUCER_PATH",
    ],
)
def test_what_is_printed_or_written_is_not_mixed(variable, threads, monkeypatch):
    real, named = guarding._dumps, []

    def dumps():
        # Set for the decision alone, since some print megabytes.
        with monkeypatch.context() as patch:
            patch.setenv(variable, named[-1])
            return real()

    monkeypatch.setattr(guarding, "_dumps", dumps)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    for value, count in (("0", 2), ("1", 1)):
        named.append(value)
        compiled(staged(1, guard_resources(loops=True)))
        assert len(set(threads)) == count
        threads.clear()


@pytest.fixture
def overtaking(monkeypatch):
    """The other kernel is compiled before the one of the pipeline."""
    real = guarding._started

    def started(*arguments):
        future = real(*arguments)
        guarding.settle()
        return future

    monkeypatch.setattr(guarding, "_is_idle", lambda: True)
    monkeypatch.setattr(guarding, "_started", started)


def test_a_log_of_the_assembler_is_in_the_order_of_doubt(overtaking):
    with assembler_log() as log:
        kept, _ = compiled(staged(3, guard_resources(loops=True)))
    compared = kept.metadata.tritonext_guard
    registers = [int(re.search(r"Used (\d+) registers", text)[1]) for text in log]
    assert registers == [compared[name]["registers"] for name in ("with", "without")]
    assert registers[0] != registers[1]


def test_a_log_of_the_assembler_leaves_out_what_is_not_needed(overtaking, threads, monkeypatch):
    monkeypatch.setattr(ResourceGuard, "doubts", lambda *arguments: False)
    with assembler_log() as log:
        compiled(staged(3, guard_resources()))
    assert len(threads) == 2
    assert len(log) == 1


def test_a_failure_of_the_assembler_is_reported_for_the_kernel_of_the_program_alone(overtaking, threads, capfd):
    with pytest.raises(Exception, match="PTXAS error"):
        compiled(staged(1, guard_resources(loops=True)), ptx_options="--no-such-option")
    assert len(threads) == 2
    assert capfd.readouterr().out.count("please share the reproducer") == 1
    kept, _ = compiled(staged(1, guard_resources(loops=True)))
    assert kept.metadata.tritonext_guard["kept"] == "without"


def test_a_recording_waits_for_what_is_not_needed(monkeypatch):
    done = []

    def without(self, *arguments):
        time.sleep(1)
        done.append(True)

    def look(inner, source, metadata, info):
        seen.append(bool(done))
        return inner(source, metadata)

    seen = []
    monkeypatch.setattr(guarding.Guard, "_without", without)
    monkeypatch.setattr(guarding, "_is_idle", lambda: True)
    monkeypatch.setattr(ResourceGuard, "doubts", lambda *arguments: False)
    compiled(staged(1, guard_resources()))
    looking = Pipeline((wrap_stage("ttir", look, key="look"),), name="looking")
    with recording.record(("ttir",)) as recorded, tritonext.use(looking, recorded.pipeline):
        kernels.compile("softmax", "cuda:90")
    assert seen == [True]


def test_a_child_process_does_not_wait_for_threads_that_it_does_not_have():
    code = """
import os, threading
from tritonext._triton import guarding, recording
waiting = threading.Event()
guarding._started(waiting.wait)
child = os.fork()
if not child:
    guarding.settle()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
waiting.set()
"""
    finished = run_python("-c", code, timeout=60)
    assert finished.returncode == 0, finished
    assert finished.stdout == "7\n"


def test_a_kernel_without_doubt_does_not_wait_for_the_other(threads, monkeypatch):
    begun, waiting = threading.Event(), threading.Event()
    real = guarding.Guard._without

    def without(self, *arguments):
        begun.set()
        assert waiting.wait(60)
        return real(self, *arguments)

    monkeypatch.setattr(guarding.Guard, "_without", without)
    monkeypatch.setattr(guarding, "_is_idle", lambda: True)
    unguarded, _ = compiled(staged(1))
    monkeypatch.setattr(ResourceGuard, "doubts", lambda *arguments: not begun.wait(60))
    kept, found = compiled(staged(1, guard_resources()))
    assert len(threads) == 1
    assert found == []
    waiting.set()
    assert kept.asm["cubin"] == unguarded.asm["cubin"]
    assert not hasattr(kept.metadata, "tritonext_guard")


def test_what_fails_on_the_other_thread_is_no_alternative(monkeypatch):
    real = guarding.Guard._finish

    def finish(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("no buffers")
        return real(self, *arguments)

    monkeypatch.setattr(guarding.Guard, "_finish", finish)
    kept, found = compiled(staged(1, guard_resources(loops=True)))
    assert (kept.metadata.tritonext_guard["kept"], kept.metadata.tritonext_guard["without"]) == ("with", None)
    assert [remark.message for remark in found] == [
        "the kernel does not compile without stages: ValueError: no buffers"
    ]
    assert kept.asm["cubin"] == compiled(staged(1))[0].asm["cubin"]


def test_other_pipelines_stay():
    lines = []

    def count(inner, source, metadata, info):
        lines.append(info.stage)
        remarks.record("analysis", "resource-guard", "watched")
        return inner(source, metadata)

    def assemble(inner, source, metadata, info):
        with assembler_log() as log:
            result = inner(source, metadata)
            inner(re.sub(r"(\.reqntid [^\n]*)", r"\1\n.maxnreg 96", source), dict(metadata))
        used.append([int(re.search(r"Used (\d+) registers", text)[1]) for text in log])
        return result

    used = []
    steps = wrap_stage("ptx", count, key="count"), wrap_stage("cubin", assemble, key="assemble")
    watched = Pipeline(steps, name="watch")
    kept, found = compiled(watched, staged(5, guard_resources(shared_bytes=131072)))
    assert kept.metadata.tritonext_guard["kept"] == "without"
    for name, (first, last) in zip(("with", "without"), used, strict=True):
        assert first > last
        assert kept.metadata.tritonext_guard[name]["registers"] == last
    # Once with the pipeline, and once for what is kept.
    assert lines == ["ptx", "ptx"]
    assert [remark.message for remark in found if remark.kind == "analysis"] == ["watched"]


def test_a_kernel_that_compiles_with_the_pipeline_alone_is_kept():
    def fail(inner, source, metadata, info):
        if "5x128x64" not in str(source):
            raise ValueError("no buffers")
        return inner(source, metadata)

    picky = Pipeline((wrap_stage("llir", fail, key="fail"),), name="picky")
    kept, found = compiled(picky, staged(5, guard_resources(shared_bytes=131072)))
    assert kept.metadata.tritonext_guard["kept"] == "with"
    assert kept.metadata.tritonext_guard["without"] is None
    assert [remark.message for remark in found] == [
        "the kernel does not compile without stages: ValueError: no buffers"
    ]


def test_without_doubt_a_kernel_is_compiled_once():
    runs = []

    def count(inner, source, metadata, info):
        runs.append(info.stage)
        return inner(source, metadata)

    counting = [wrap_stage(stage, count, key="count") for stage in ("ttgir", "llir", "ptx", "cubin")]
    step = insert_after("ttgir", "ttgpuir.coalesce", "common.cse")
    with tritonext.use(Pipeline((step, *counting, guard_resources()), name="again")):
        kernel = kernels.compile("softmax", "cuda:90")
    assert runs == ["ttgir", "llir", "ptx", "cubin"]
    assert not hasattr(kernel.metadata, "tritonext_guard")
    with tritonext.use(Pipeline((step, *counting), name="again")):
        unguarded = kernels.compile("softmax", "cuda:90")
    assert kernel.asm["cubin"] == unguarded.asm["cubin"]


@pytest.mark.parametrize("wrapped", [False, True], ids=["by the passes", "by the stage"])
def test_a_kernel_that_the_pipeline_leaves_alone_is_not_compared_to_its_end(wrapped):
    step = insert_after("ttgir", "common.canonicalizer#-1", "common.canonicalizer")
    wrapper = wrap_stage("ttgir", lambda inner, source, metadata, info: inner(source, metadata), key="same")
    steps = (step, *([wrapper] if wrapped else []), guard_resources(registers=1000))
    with assembler_log() as log:
        kernel, found = compiled(Pipeline(steps, name="idle"))
    assert len(log) == 1
    assert found == []
    assert not hasattr(kernel.metadata, "tritonext_guard")


@pytest.mark.parametrize("first", ["ttgir", "llir"])
def test_a_later_stage_counts_where_the_first_one_changes_nothing(first):
    def squeeze(inner, source, metadata, info):
        return re.sub(r"(\.reqntid [^\n]*)", r"\1\n.maxnreg 24", inner(source, metadata))

    idle = insert_after(first, "common.canonicalizer#-1", "common.canonicalizer")
    squeezing = wrap_stage("ptx", squeeze, key="squeeze")
    with tritonext.use(Pipeline((idle, squeezing, guard_resources()), name="squeezed")):
        kept = kernels.compile("softmax", "cuda:90")
    assert kept.metadata.tritonext_guard["kept"] == "without"
    assert kept.metadata.tritonext_guard["reason"].startswith("it spills 0 bytes instead of")
    assert ".maxnreg" not in kept.asm["ptx"]


def test_the_second_compilation_begins_where_the_pipeline_changes_the_module(monkeypatch):
    runs = []
    for name in ("add_coalesce", "add_schedule_loops", "add_reorder_instructions"):
        real = getattr(passes.ttgpuir, name)
        counted = functools.partial(lambda real, name, *args: (runs.append(name), real(*args)), real, name)
        monkeypatch.setattr(passes.ttgpuir, name, counted)
    idle = insert_after("ttgir", "ttgpuir.coalesce", "common.cse")
    kept, _ = compiled(staged(5, idle, guard_resources(shared_bytes=131072)))
    assert kept.metadata.tritonext_guard["kept"] == "without"
    assert runs == ["add_coalesce", *2 * ["add_schedule_loops", "add_reorder_instructions"]]


def test_amd_binaries_are_compared_too():
    kept, _ = compiled(staged_amd(), target="hip:gfx942", num_warps=4)
    compared = kept.metadata.tritonext_guard
    assert compared["with"]["registers"] > 32
    assert compared["without"]["threads"] == compared["with"]["threads"] == 256


def test_spills_of_amd_are_counted_by_instruction():
    lines = (
        "\tscratch_store_dwordx4 off, v[0:3], off ; 16-byte Folded Spill",
        "\tscratch_load_dword v1, off, off offset:16",
        "\tscratch_load_ushort v1, off, off",
        "    .private_segment_fixed_size: 20",
        "    .vgpr_count:     96",
    )
    assert amd_usage("\n".join(lines)) == (96, 24)


def staged_amd() -> Pipeline:
    """A pipeline that leaves the loops of AMD kernels as they are, and is always compared."""
    step = tritonext.disable_pass("ttgir", "amd.ttgpuir.pipeline", targets=("hip",))
    return Pipeline((step, guard_resources(registers=400, shared_bytes=65536)), name="flat")


class Text:
    """A module that is nothing but its text."""

    context = None

    def __init__(self, *ops: str, looped: str) -> None:
        body = "  scf.for %i = %a to %b step %c  : i32 {\n" + looped + "\n    scf.yield\n  } loc(#loc3)"
        self.text = "\n".join(("#blocked1 = #ttg.blocked<{order = [0]}>", *ops, body, "tt.return"))

    def str(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("ops", "looped", "expected"),
    [
        (("%x = arith.addi %a, %b : i32",), "%y = tt.load %p : tensor<4x!tt.ptr<f32>, #blocked1> loc(#loc1)", False),
        ((), "%other = tt.load %q : tensor<4x!tt.ptr<f32>, #blocked1> loc(#loc9)", False),
        ((), "%y = tt.load %p : tensor<4x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #blocked1}>>", True),
    ],
)
def test_a_change_in_a_loop_is_told_from_one_outside(ops, looped, expected):
    parting = Parting()
    parting.arrive(4, Text(looped="%y = tt.load %p : tensor<4x!tt.ptr<f32>, #blocked1> loc(#loc1)"))
    parting.leave(False, Text(*ops, looped=looped))
    assert (parting.found, parting.looped) == (True, expected)


def test_limits_are_part_of_the_key():
    keys = {
        staged(5, *guard).key()
        for guard in ((), (guard_resources(),), (guard_resources(registers=16),), (guard_resources(loops=True),))
    }
    assert len(keys) == 4


def test_a_negative_limit_is_refused():
    with pytest.raises(PipelineError, match="a limit is negative"):
        guard_resources(shared_bytes=-1)


def test_a_pipeline_without_modules_cannot_be_guarded():
    step = wrap_stage("ptx", lambda inner, source, metadata, info: inner(source, metadata), key="ptx")
    with pytest.raises(PipelineError, match="changes no stage that can be compiled from again"):
        compiled(Pipeline((step, guard_resources()), name="text"))


@pytest.mark.parametrize(
    ("usage", "target", "programs"),
    [
        # Of the occupancy calculator that Nsight Compute has.
        (Usage(255, 0, 0, 128), "cuda:90", 2),
        (Usage(168, 0, 0, 384), "cuda:90", 1),
        (Usage(32, 0, 0, 1024), "cuda:90", 2),
        (Usage(32, 0, 0, 32), "cuda:90", 32),
        (Usage(64, 0, 100 * 1024, 128), "cuda:90", 2),
        (Usage(64, 0, 100 * 1024, 128), "cuda:80", 1),
        (Usage(64, 0, 0, 512), "cuda:89", 2),
        (Usage(16, 0, 228 * 1024, 128), "cuda:90", 0),
        (Usage(128, 0, 0, 256), "hip:gfx942", 4),
        (Usage(64, 0, 40 * 1024, 256), "hip:gfx942", 1),
        (Usage(64, 0, 40 * 1024, 256), "hip:gfx950", 4),
        (Usage(64, 0, 0, 256), "hip:gfx1100", None),
    ],
)
def test_programs_of_a_multiprocessor(usage, target, programs):
    assert resident_programs(usage, target) == programs


def test_what_raises_doubt():
    guard = ResourceGuard(registers=16, shared_bytes=16384)
    assert guard.doubts(Usage(40, 8, 0, 128), "cuda:90")
    # Programs of 8 warps fit twice up to 128 registers of a thread. Four fill half of the warps, up to 64.
    assert guard.doubts(Usage(136, 0, 0, 256), "cuda:90")
    assert guard.doubts(Usage(144, 0, 0, 256), "cuda:90")
    assert not guard.doubts(Usage(152, 0, 0, 256), "cuda:90")
    # A fifth needs 48.
    assert guard.doubts(Usage(56, 0, 0, 256), "cuda:90")
    assert not guard.doubts(Usage(64, 0, 0, 256), "cuda:90")
    assert not guard.doubts(Usage(32, 0, 0, 256), "cuda:90")
    assert guard.doubts(Usage(32, 0, 120 * 1024, 128), "cuda:90")
    assert not guard.doubts(Usage(32, 0, 200 * 1024, 256), "cuda:90")
    assert guard.reason(Usage(32, 8, 0, 128), Usage(32, 4, 0, 128), "cuda:90") == "it spills 4 bytes instead of 8"
    assert guard.reason(Usage(32, 4, 0, 128), Usage(32, 8, 0, 128), "cuda:90") == ""
    assert "holds 4 of its programs instead of 3" in guard.reason(Usage(72, 0, 0, 256), Usage(64, 0, 0, 256), "cuda:90")
    assert "holds 5 of its programs instead of 4" in guard.reason(Usage(64, 0, 0, 256), Usage(48, 0, 0, 256), "cuda:90")
