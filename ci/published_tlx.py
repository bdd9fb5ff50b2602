"""Compile the kernels that published TLX wheels carry, unchanged but for one call, and say what is missing.

    python ci/published_tlx.py                       # the pinned wheels, downloaded into a temporary directory
    python ci/published_tlx.py --only attention
    python ci/published_tlx.py path/to/published.whl
    python ci/published_tlx.py --record              # also into docs/tlx-porting.md

Each kernel is compiled for its target through its own launch path, with its own configuration and pre-hook, in a
process of its own, and run in the simulator on a small problem. Where Triton itself does not compile a file, its case
says what is changed. No GPU and no torch is needed: a stand-in serves what the files use of torch while they are
imported. Then the ops the wheel exports are compared with ours by name and arguments. None of the files is kept. The
exit status is the number of kernels with another outcome than the one expected here, or 77 when nothing could be
downloaded.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib.machinery
import importlib.util
import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import types
import zipfile
from collections.abc import Iterator
from typing import Any

import workspace

__all__ = ["CASES", "Case", "Outcome", "compile_case", "main", "missing_ops"]

PAGE = workspace.ROOT / "docs" / "tlx-porting.md"
UNAVAILABLE = 77
TIMEOUT_S = 300
SEEDS = (0, 1)
# Of the largest value, of results in fp16.
TOLERANCE = 2e-3

# What the tables count in the code, by target.
SEEN = {
    "cuda:90": {"wgmma": r"wgmma\.mma_async", "tma": r"cp\.async\.bulk\.tensor", "setmaxnreg": r"setmaxnreg"},
    "cuda:100": {
        "tcgen05.mma": r"tcgen05\.mma\.",
        "of two blocks": r"tcgen05\.mma\.cta_group::2",
        "tma": r"cp\.async\.bulk\.tensor",
        "setmaxnreg": r"setmaxnreg",
    },
    "hip:gfx942": {"mfma": r"v_mfma_\w+", "LDS stores": r"ds_write_\w+"},
    "hip:gfx950": {"mfma": r"v_mfma_\w+", "LDS stores": r"ds_write_\w+"},
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel and the configuration it is compiled with.

    Args:
        name: Shown in the table.
        file: Its file, below the directory of tutorials.
        kernel: Name of the kernel there.
        family: Key of the arguments in :func:`arguments`.
        wanted: Values that choose one of the configurations of its autotuner.
        gap: What the error says where the outcome is known to be one; empty for the others.
        target: What it is compiled for.
        options: Those of the launch, of a kernel without an autotuner.
        amended: Text of the file that Triton itself does not compile, with or without TLX, and what replaces it.
    """

    name: str
    file: str
    kernel: str
    family: str
    wanted: dict[str, Any]
    gap: str = ""
    target: str = "cuda:90"
    options: dict[str, Any] | None = None
    amended: tuple[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Args:
        error: Why it does not compile, or what the simulator says of it.
        counts: How often the code has each instruction of ``SEEN``; empty when there is none.
        difference: The largest difference of the simulated numbers, relative to the largest number.
    """

    error: str | None
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    difference: float | None = None


# What the simulator finds in them: a tile that TMA stores without a fence behind the plain store, and accumulators that
# are loaded and scaled before the first product has written them. And what it does not run: inline assembly.
_UNFENCED = "behind a store without a fence"
_UNWRITTEN = "shared memory is read that nothing has written"
_ASSEMBLY = "found: inline_asm_elementwise"
_TUTORIAL_2CTA = {"num_stages": 1, "ctas_per_cga": (4, 2, 1)}
_WS = {"BM": 128, "BN": 256, "NUM_STAGES": 3, "EPILOGUE_SUBTILE": True, "GROUP_SIZE_M": 8}
CASES = (
    Case("gemm pipelined", "hopper_gemm_pipelined.py", "matmul_kernel_pipelined_hopper", "gemm", {}),
    Case(
        "gemm warp-specialized",
        "hopper_gemm_ws.py",
        "matmul_kernel_tlx_ws",
        "gemm",
        {**_WS, "NUM_CTAS": 1, "USE_WARP_BARRIER": False},
    ),
    Case(
        "gemm warp-specialized, warp barriers",
        "hopper_gemm_ws.py",
        "matmul_kernel_tlx_ws",
        "gemm",
        {**_WS, "NUM_CTAS": 1, "USE_WARP_BARRIER": True},
    ),
    Case(
        "gemm warp-specialized, clusters of 2",
        "hopper_gemm_ws.py",
        "matmul_kernel_tlx_ws",
        "gemm",
        {**_WS, "NUM_CTAS": 2, "USE_WARP_BARRIER": False},
    ),
    Case(
        "gemm persistent cooperative",
        "hopper-persistent-gemm-ws-cooperative.py",
        "matmul_kernel_tlx_ws_persistent",
        "gemm",
        {"BM": 128, "NUM_STAGES": 4},
    ),
    Case(
        "gemm persistent ping-pong, named barriers",
        "hopper-persistent-gemm-ws-pingpong.py",
        "matmul_kernel_tlx_ws_persistent",
        "gemm",
        {"USE_NAMED_BARRIER": True},
    ),
    Case(
        "gemm persistent ping-pong, mbarriers",
        "hopper-persistent-gemm-ws-pingpong.py",
        "matmul_kernel_tlx_ws_persistent",
        "gemm",
        {"USE_NAMED_BARRIER": False},
    ),
    Case("attention warp-specialized", "hopper_fa_ws.py", "_attn_fwd_ws", "attention", {"NUM_MMA_GROUPS": 2}),
    Case(
        "attention pipelined",
        "hopper_fa_ws_pipelined.py",
        "_attn_fwd_ws_pipelined",
        "attention",
        {"NUM_MMA_GROUPS": 2},
    ),
    Case(
        "attention ping-pong",
        "hopper_fa_ws_pipelined_pingpong.py",
        "_attn_fwd_ws_pipelined_pingpong",
        "attention",
        {"NUM_MMA_GROUPS": 2},
    ),
    Case(
        "attention ping-pong persistent",
        "hopper_fa_ws_pipelined_pingpong_persistent.py",
        "_attn_fwd_ws_pipelined_pingpong_persistent",
        "attention",
        {"NUM_MMA_GROUPS": 2},
    ),
    *(
        Case(name, f"{file}.py", kernel, family, wanted, gap, "cuda:100", options)
        for name, file, kernel, family, wanted, gap, options in (
            (
                "gemm pipelined (Blackwell)",
                "blackwell_gemm_pipelined",
                "matmul_kernel_tma_pipelined_blackwell",
                "gemm",
                {},
                _UNFENCED,
                None,
            ),
            (
                "gemm dynamic launch",
                "blackwell_gemm_clc",
                "matmul_kernel_tma_ws_blackwell_clc",
                "gemm",
                {"USE_WARP_BARRIER": False},
                "",
                None,
            ),
            (
                "gemm warp-specialized (Blackwell)",
                "blackwell_gemm_ws",
                "matmul_kernel_tma_ws_blackwell",
                "gemm",
                {"NUM_CTAS": 1, "SPLIT_K": 1, "GROUP_SIZE_M": 8},
                "",
                None,
            ),
            (
                "gemm warp-specialized, two blocks",
                "blackwell_gemm_ws",
                "matmul_kernel_tma_ws_blackwell",
                "gemm",
                {"NUM_CTAS": 2, "SPLIT_K": 1, "GROUP_SIZE_M": 8},
                "",
                None,
            ),
            ("gemm of two blocks", "blackwell_gemm_2cta", "tcgen5_dot_kernel2cta_tma", "gemm", {}, "", _TUTORIAL_2CTA),
            ("attention (Blackwell)", "blackwell_fa_ws", "_attn_fwd_ws", "attention", {}, _UNWRITTEN, None),
            (
                "attention pipelined (Blackwell)",
                "blackwell_fa_ws_pipelined",
                "_attn_fwd_ws",
                "attention",
                {},
                _UNWRITTEN,
                None,
            ),
            (
                "attention persistent",
                "blackwell_fa_ws_persistent",
                "_attn_fwd_ws",
                "attention",
                {},
                _UNWRITTEN,
                None,
            ),
        )
    ),
    Case(
        "attention pipelined persistent",
        "blackwell_fa_ws_pipelined_persistent.py",
        "_attn_fwd_ws",
        "attention",
        {},
        _ASSEMBLY,
        "cuda:100",
        amended=("ps: tuple = ()", "ps = ()"),
    ),
    Case(
        "gemm pipelined (MI300)",
        "amd-gemm-pipelined_test.py",
        "matmul_kernel_pipelined_mi300",
        "gemm",
        {},
        target="hip:gfx942",
    ),
    Case(
        "gemm pipelined (MI350)",
        "amd-gemm-pipelined_test.py",
        "matmul_kernel_pipelined_mi300",
        "gemm",
        {},
        target="hip:gfx950",
    ),
)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="*", type=pathlib.Path, help="wheels or unpacked directories, not to download")
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases whose name contains it")
    parser.add_argument("--record", action="store_true", help=f"write the result into {PAGE.name} too")
    parser.add_argument("--child", nargs=2, metavar=("FILE", "INDEX"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        file, index = arguments.child
        print(json.dumps(dataclasses.asdict(compile_case(pathlib.Path(file), CASES[int(index)]))))
        return
    if arguments.record and arguments.only:
        parser.error("--record writes about every case; leave --only out")
    if not any(arguments.only in case.name for case in CASES):
        parser.error(f"no case has {arguments.only!r} in its name; there are {', '.join(case.name for case in CASES)}")
    failed, page, absent = 0, "", []
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        sources = [unpack(wheel, root / wheel.name) for wheel in arguments.wheels]
        for wheel in () if sources else workspace.pins()["published"]["tlx"]:
            unpacked = download(wheel, root / wheel)
            if unpacked is None:
                absent.append(wheel)
            else:
                sources.append(unpacked)
        if not sources:
            raise SystemExit(UNAVAILABLE)
        for source in sources:
            outcomes = {case.name: outcome for case, outcome in compile_cases(source, arguments.only)}
            failed += sum(unexpected(case, outcomes[case.name]) for case in CASES if case.name in outcomes)
            page += report(source, outcomes)
    page += "".join(f"\n`{wheel}` could not be downloaded.\n" for wheel in absent)
    print(page)
    if arguments.record:
        text = PAGE.read_text()
        before, start, rest = text.partition("<!-- published -->\n")
        _, end, after = rest.partition("<!-- /published -->")
        PAGE.write_text(f"{before}{start}{page}{end}{after}")
    raise SystemExit(failed)


def download(requirement: str, directory: pathlib.Path) -> pathlib.Path | None:
    """Download and unpack a published wheel; None, with pip's reason printed, when that cannot be done."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", directory]
    run = subprocess.run([*command, requirement], check=False, capture_output=True, text=True)
    if run.returncode:
        reason = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        print(f"{requirement}: not downloaded: {(reason or ['no reason given'])[0]}\n", flush=True)
        return None
    (wheel,) = directory.glob("*.whl")
    return unpack(wheel, directory / "unpacked")


def unpack(wheel: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """Return the directory with the contents of a wheel, or ``wheel`` when it is one already."""
    if wheel.is_dir():
        return wheel
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


def compile_cases(source: pathlib.Path, only: str) -> Iterator[tuple[Case, Outcome]]:
    """Compile the cases of an unpacked wheel."""
    for index, case in enumerate(CASES):
        if only not in case.name:
            continue
        found = sorted(source.rglob(f"tutorials/{case.file}"))
        outcome = in_process(found[0], index) if found else Outcome(f"the wheel has no {case.file}")
        print(f"{case.name}: {'a gap' if outcome.error else 'works'}", file=sys.stderr, flush=True)
        yield case, outcome


def unexpected(case: Case, outcome: Outcome) -> bool:
    """Say on stderr when an outcome is not the expected one, and return whether it is not."""
    if case.gap and outcome.error is None:
        print(f"{case.name}: works now; take `gap` out of its case", file=sys.stderr)
        return True
    if outcome.error is not None and not (case.gap and case.gap in outcome.error):
        print(f"{case.name}: {outcome.error}", file=sys.stderr)
        return True
    return False


def report(source: pathlib.Path, outcomes: dict[str, Outcome]) -> str:
    """Return the tables of an unpacked wheel."""
    (info,) = source.glob("*.dist-info")
    wheel = info.name.removesuffix(".dist-info").replace("_", "-")
    lines = []
    for target, seen in SEEN.items():
        cases = [case.name for case in CASES if case.target == target and case.name in outcomes]
        if not cases:
            continue
        lines += ["", f"Kernels of `{wheel}`, for {target}, and how far their simulated numbers are from float64:", ""]
        lines += [f"| kernel | compiles | {' | '.join(seen)} | simulated |", f"|{'---|' * (len(seen) + 3)}"]
        for name in cases:
            outcome = outcomes[name]
            counts = " | ".join(str(outcome.counts.get(instruction, "-")) for instruction in seen)
            simulated = "-" if outcome.difference is None else f"{outcome.difference:.1e}"
            lines.append(f"| {name} | {'yes' if outcome.counts else 'no'} | {counts} | {simulated} |")
    lines = lines[1:]
    for name, outcome in outcomes.items():
        if outcome.error:
            lines += ["", f"{name}:", "", "```", *outcome.error.splitlines(), "```"]
    if missing := missing_ops(source):
        lines += ["", "What its ops have and ours lack, whatever kernels use:", "", "| op | lacks |", "|---|---|"]
        lines += [f"| `{name}` | {lacks} |" for name, lacks in missing.items()]
    else:
        lines += ["", "Ours have all of its ops and of their arguments, whatever kernels use."]
    return "\n".join(lines) + "\n"


def missing_ops(source: pathlib.Path) -> dict[str, str]:
    """Return what the ops exported by an unpacked wheel have and ours lack: arguments, or the op itself."""
    import tritonext_tlx

    exported = ast.parse((source / "tlx" / "__init__.py").read_text())
    names = {
        alias.name
        for node in ast.walk(exported)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if not alias.name.startswith("_")
    }
    lacking = {}
    for path in sorted(source.glob("utlx_plugin/*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name not in names:
                continue
            theirs = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            if (own := getattr(tritonext_tlx, node.name, None)) is None:
                lacking[node.name] = "all of it"
                continue
            ours = [name for name in inspect.signature(getattr(own, "fn", own)).parameters if not name.startswith("_")]
            theirs = [name for name in theirs if not name.startswith("_")]
            # At one place under another name, an argument is there for positional calls only.
            renamed = {one: other for one, other in zip(theirs, ours) if one not in ours and other not in theirs}
            absent = [
                f"`{name}`" + (f" (`{renamed[name]}` here)" if name in renamed else "")
                for name in theirs
                if name not in ours
            ]
            if [name for name in theirs if name in ours] != [name for name in ours if name in theirs]:
                absent.append("the order of its arguments")
            if absent:
                lacking[node.name] = ", ".join(absent)
    return dict(sorted(lacking.items()))


def in_process(file: pathlib.Path, index: int) -> Outcome:
    """Compile a case in a process of its own, so that a crash is an outcome as well."""
    command = [sys.executable, __file__, "--child", file, str(index)]
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "TRITON_CACHE_DIR": cache}
        try:
            run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S, env=env)
        except subprocess.TimeoutExpired:
            return Outcome(f"not done after {TIMEOUT_S} s")
    if run.returncode == 0:
        return Outcome(**json.loads(run.stdout.splitlines()[-1]))
    if run.returncode < 0:
        return Outcome(f"ended by {signal.Signals(-run.returncode).name}\n{last_line(run.stderr)}")
    return Outcome(last_line(run.stderr))


def last_line(text: str) -> str:
    """Return the last line of ``text`` that is not blank."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no message")


# --- in the process of one case --------------------------------------------------------------------------------------


def compile_case(file: pathlib.Path, case: Case) -> Outcome:
    """Import ``file`` with the compatibility installed, and compile the kernel of ``case`` as its launch would."""
    from triton.runtime import driver

    import tritonext_tlx
    from tritonext.testing import fake_driver

    stand_in_for_torch()
    tritonext_tlx.install_compat()
    with fake_driver.active(case.target), tempfile.TemporaryDirectory() as directory:
        driver.active.get_active_torch_device = lambda: "cuda"
        if case.amended:
            text, (old, new) = file.read_text(), case.amended
            if old not in text:
                return Outcome(f"the file has no {old!r} to replace")
            file = pathlib.Path(directory, file.name)
            file.write_text(text.replace(old, new))
        return compile_for_active(load(file), file, case)


def compile_for_active(module: types.ModuleType, file: pathlib.Path, case: Case) -> Outcome:
    """Compile the kernel of ``case`` in ``module``, which came from ``file``, for the active driver."""
    import triton

    tuned = getattr(module, case.kernel)
    if case.options is None:
        config = next(
            config
            for config in tuned.configs
            if all(config.kwargs.get(name) == value for name, value in case.wanted.items())
        )
        kernel = tuned.fn
    else:
        config, kernel = triton.Config({}, **case.options), tuned
    values = {**arguments(case.family), **config.kwargs}
    if config.pre_hook:
        config.pre_hook(values)
    options = {name: value for name, value in config.all_kwargs().items() if name not in kernel.arg_names}
    given = {name: values[name] for name in kernel.arg_names if name in values}
    try:
        asm = kernel.warmup(grid=(132, 132, 1), **given, **options).asm
    except Exception as error:
        return Outcome(describe(error, file))
    code = asm["ptx" if case.target.startswith("cuda") else "amdgcn"]
    counts = {name: len(re.findall(pattern, code)) for name, pattern in SEEN[case.target].items()}
    try:
        difference = max(simulated_difference(kernel, config, case.family, seed) for seed in SEEDS)
    except Exception as error:
        return Outcome(f"simulated: {describe(error, file)}", counts)
    wrong = f"simulated: the numbers differ by {difference:.1e}" if difference > TOLERANCE else None
    return Outcome(wrong, counts, difference)


def simulated_difference(kernel: Any, config: Any, family: str, seed: int) -> float:
    """Run a kernel in the simulator, and return the largest difference relative to the largest number."""
    import numpy as np
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    from tritonext_tlx.simulator import Descriptor, simulate

    random = np.random.default_rng(seed)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float16)

    if family == "attention":
        # One head.
        rows, columns = 512, 128
        q, k, v = (normal(rows, columns) for _ in range(3))
        out = np.zeros((rows, columns), np.float16)
        scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.1
        weights = np.exp(scores - scores.max(1, keepdims=True))
        wanted = weights / weights.sum(1, keepdims=True) @ v
        arrays = {"desc_q": q, "desc_k": k, "desc_v": v, "desc_o": out, "M": np.zeros(rows, np.float32)}
        numbers = {"sm_scale": 0.1, "Z": 1, "H": 1, "N_CTX": rows, "HEAD_DIM": columns, "FP8_OUTPUT": False}
        numbers["STAGE"] = 1
        grid: tuple[int, ...] = (rows // config.kwargs["BLOCK_M"],)
    else:
        size = 512
        a, b, out = normal(size, size), normal(size, size), np.zeros((size, size), np.float16)
        wanted = a.astype(np.float64) @ b
        arrays = {"a_ptr": a, "b_ptr": b, "c_ptr": out, "a_desc": a, "b_desc": b, "c_desc": out}
        arrays["workspace_desc"] = np.zeros_like(out)
        numbers = {
            **_TILES,
            "OUT_DTYPE": tl.float32,
            **dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), size),
            **dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1),
            "NUM_SMS": 2,
        }
        sizes = {**_TILES, **config.kwargs}
        rows, columns = (
            next((sizes[name] for name in names if name in kernel.arg_names), default)
            for names, default in ((("BLOCK_SIZE_M", "BLOCK_M"), 128), (("BLOCK_SIZE_N", "BLOCK_N"), 256))
        )
        tiles = size // rows, size // columns
        grid = tiles if "BLOCK_M" in kernel.arg_names else (tiles[0] * tiles[1],)
    # Blocks of a persistent kernel take several tiles each.
    persistent = "NUM_SMS" in kernel.arg_names or "persistent" in kernel.__name__
    if persistent and "NUM_CLC_STAGES" not in kernel.arg_names:
        grid = (2,)
    values = {**arrays, **numbers, **config.kwargs}
    # The pre-hook sets the tiles of descriptors that are told apart by their class.
    described = {
        name: TensorDescriptor.__new__(TensorDescriptor)
        for name in arrays
        if "desc" in name and name in kernel.arg_names
    }
    for name, descriptor in described.items():
        descriptor.base = arrays[name]
    if config.pre_hook:
        config.pre_hook(filled := {**values, **described})
        values |= {name: Descriptor(arrays[name], filled[name].block_shape) for name in described}
    given = {name: values[name] for name in kernel.arg_names if name in values}
    clusters = {name: config.kwargs[name] for name in ("ctas_per_cga",) if name in config.kwargs}
    simulate(kernel, grid, seed=seed, num_warps=config.num_warps, **clusters, **given)
    return float(np.abs(out - wanted).max() / np.abs(wanted).max())


def load(file: pathlib.Path) -> types.ModuleType:
    """Import a file, whose name need not be one of a module."""
    name = file.stem.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(error: BaseException, file: pathlib.Path) -> str:
    """Return the innermost error, and the lines of the kernel that led to it."""
    lines = []
    while True:
        node = getattr(error, "node", None)
        if node is not None and getattr(error, "src", None):
            lines.append(error.src.splitlines()[node.lineno - 1].strip())
        if error.__cause__ is None:
            break
        error = error.__cause__
    message = getattr(error, "error_message", None) or str(error) or type(error).__name__
    return "\n".join([*(f"in: {line}" for line in lines), *message.splitlines()[:6]]).replace(str(file), file.name)


class DType:
    """What Triton reads of a dtype of torch."""

    def __init__(self, name: str, itemsize: int) -> None:
        self.name = name
        self.itemsize = itemsize
        self.is_floating_point = True

    def __str__(self) -> str:
        return f"torch.{self.name}"


# What the host function of a kernel without an autotuner passes.
_TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128, "NUM_CLC_STAGES": 1}
FLOAT16, FLOAT32, FLOAT8 = DType("float16", 2), DType("float32", 4), DType("float8_e5m2", 1)
BFLOAT16 = DType("bfloat16", 2)


class Tensor:
    """A tensor that nobody reads."""

    def __init__(self, dtype: DType, shape: tuple[int, ...]) -> None:
        self.dtype = dtype
        self.shape = shape

    def data_ptr(self) -> int:
        return 0

    def ptr_range(self) -> int:
        return 0


def arguments(family: str) -> dict[str, Any]:
    """Return arguments by name: a GEMM of 4096, or attention of B4 H32 N4096 D128."""
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    def descriptor(rows: int, columns: int) -> TensorDescriptor:
        return TensorDescriptor(Tensor(FLOAT16, (rows, columns)), [rows, columns], [columns, 1], [1, 1])

    if family == "attention":
        batch, heads, length, depth = 4, 32, 4096, 128
        described = {
            name: descriptor(batch * heads * length, depth) for name in ("desc_q", "desc_k", "desc_v", "desc_o")
        }
        return {
            "sm_scale": 0.5,
            "M": Tensor(FLOAT32, (batch, heads, length)),
            "Z": batch,
            "H": heads,
            "N_CTX": length,
            "HEAD_DIM": depth,
            "FP8_OUTPUT": False,
            "STAGE": 1,
            **described,
        }
    size = 4096
    return {
        **{name: Tensor(FLOAT16, (size, size)) for name in ("a_ptr", "b_ptr", "c_ptr")},
        **{name: descriptor(size, size) for name in ("a_desc", "b_desc", "c_desc", "workspace_desc")},
        **_TILES,
        "OUT_DTYPE": tl.float32,
        **dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), size),
        **dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1),
        "NUM_SMS": 132,
    }


def stand_in_for_torch() -> None:
    """Put a module in place of torch that has what the files use of it while they are imported."""
    torch = types.ModuleType("torch")
    torch.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    torch.Tensor = Tensor
    torch.float16, torch.float32, torch.float8_e5m2, torch.bfloat16 = FLOAT16, FLOAT32, FLOAT8, BFLOAT16
    torch.autograd = types.SimpleNamespace(Function=object)
    properties = types.SimpleNamespace(multi_processor_count=132)
    torch.cuda = types.SimpleNamespace(
        # Triton's own drivers ask.
        is_available=lambda: False,
        get_device_properties=lambda device: properties,
        get_device_capability=lambda device=None: (9, 0),
    )
    sys.modules["torch"] = torch


if __name__ == "__main__":
    main()
