"""Compile the corpus for each target with stock Triton and with the extension, and compare what comes out.

    python gate.py --target cuda:90 --write cuda-90.json   # the whole corpus for a target
    python gate.py --sample 12 --seed 3                     # a few kernels for every target
    python gate.py --page layout-gate.md                    # all of it, as a page
    python gate.py --times 3 --sample 40 --target cuda:90   # how long the compilations take, medians of three
    python gate.py --stock                                  # stock alone: which kernels spend most on conversions

Counted are layout conversions in the final TTGIR, in loops and in all; barriers of the CTA that exist for their sake;
shared memory, registers, spills, resident warps, instructions, and processor time of the compilation. A barrier belongs
to a conversion when the location of the conversion is on it: the final TTGIR is lowered once more, with locations that
number the conversions. Nothing is run, and no GPU is needed.

The exit status is 1 when a kernel spills more or fewer of its warps are resident than with stock, or does not compile.
What was measured is kept in a directory of its own, by the content of kernel, compiler and extension.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import triton  # noqa: E402
from corpus import KERNELS  # noqa: E402
from times import Times, compiled, measure_times, report  # noqa: E402
from triton._C.libtriton import ir  # noqa: E402
from triton.compiler.compiler import Language, make_backend  # noqa: E402

import tritonext  # noqa: E402
from tritonext import inspect_code  # noqa: E402
from tritonext.cachekey import digest, extension_digest  # noqa: E402
from tritonext.occupancy import Usage, resident_programs  # noqa: E402
from tritonext.offline import TARGETS, Specialization, parse_target  # noqa: E402
from tritonext.pipeline import Pipeline, wrap_stage  # noqa: E402
from tritonext.testing import quiet  # noqa: E402

__all__ = ["STORE", "Comparison", "Measured", "Totals", "compare", "main", "measure", "measured", "quiet", "worse"]

STORE = HERE.parents[2] / "build" / "layout-gate"
"""Directory of what was measured in this tree."""

# Lines of the file that is named in locations of conversions begin here, above those of any kernel.
_FIRST_LINE = 1_000_000
# Raised when what is measured changes.
_FORMAT = "2"


@dataclass(frozen=True)
class Measured:
    """What a kernel compiled to.

    Args:
        conversions: Layout conversions in the final TTGIR.
        loop_conversions: Those of them in loops.
        conversion_barriers: Barriers of the CTA on the account of conversions.
        loop_conversion_barriers: Those of them of conversions in loops.
        barriers: All barriers of the CTA in the machine code.
        shared_bytes: Shared memory of a program.
        registers: Registers of a thread.
        spills: Instructions that access spill memory.
        stack_bytes: Spill memory of a thread.
        warps: Warps that are resident in a multiprocessor at once.
        instructions: Machine instructions.
        conversion_share: Share of the PTX instructions that conversions are lowered to; 0 on AMD.
        seconds: Processor time of the compilation, of the assembler too; None where it was not compiled to the end.
        ttgir: Digest of the final TTGIR without its locations.
    """

    conversions: int
    loop_conversions: int
    conversion_barriers: int
    loop_conversion_barriers: int
    barriers: int
    shared_bytes: int
    registers: int
    spills: int
    stack_bytes: int
    warps: int
    instructions: int
    conversion_share: float
    seconds: float | None
    ttgir: str

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "ttgir"}


@dataclass(frozen=True)
class Comparison:
    """A kernel on a target, compiled by stock and with the extension; an error instead of what did not compile."""

    name: str
    family: str
    target: str
    stock: Measured | str
    ours: Measured | str | None


def resident_warps(target: str, warps: int, registers: int, shared: int) -> int:
    """Return how many warps of such programs are resident at once."""
    threads = warps * parse_target(target).warp_size
    programs = resident_programs(Usage(registers, 0, shared, threads), target)
    assert programs is not None
    return programs * warps


def conversions(ttgir: str) -> Iterator[tuple[int, bool]]:
    """Yield the line of each conversion in a module, and whether it is in a loop."""
    regions: list[bool] = []
    for number, line in enumerate(ttgir.splitlines()):
        text = re.sub(r" loc\(.*\)$", "", line).strip()
        if text.startswith("}"):
            closed = regions.pop()
        if text.endswith("{"):
            loop = closed if text.startswith("}") else re.search(r"\bscf\.(for|while)\b", text) is not None
            regions.append(loop)
        if "ttg.convert_layout" in text:
            yield number, any(regions)


def lowered(options: Mapping[str, Any], target: str, ttgir: str) -> tuple[str, str]:
    """Return LLVM IR and PTX of a module, in which the n-th conversion has line ``_FIRST_LINE + n``."""
    lines = ttgir.splitlines()
    for index, (number, _) in enumerate(conversions(ttgir)):
        lines[number] = re.sub(r" loc\(.*\)$", "", lines[number]) + f' loc("conversion":{_FIRST_LINE + index}:1)'
    chip = parse_target(target)
    backend = make_backend(chip)
    parsed = backend.parse_options(dict(options))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
        file.write("\n".join(lines))
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    stages: dict[str, Any] = {}
    backend.add_stages(stages, parsed, Language.TRITON)
    metadata = {"target": chip, **vars(parsed)}
    llir = stages["llir"](module, metadata)
    return llir, stages["ptx"](llir, metadata) if "ptx" in stages else ""


_BARRIER = re.compile(r"call void @llvm\.(?:nvvm\.barrier\.cta\.sync\.aligned\.all|amdgcn\.s\.barrier)\(.*!dbg (!\d+)")


def barriers_of_conversions(llir: str) -> list[int]:
    """Return the number of the conversion for each barrier that stands on the account of one."""
    places = dict(re.findall(r"^(!\d+) = !DILocation\(line: (\d+)", llir, re.MULTILINE))
    found = (int(places.get(place, 0)) - _FIRST_LINE for place in _BARRIER.findall(llir))
    return [number for number in found if number >= 0]


def share_of_conversions(ptx: str) -> float:
    """Return the share of the instructions between locations of conversions and the next location."""
    own = total = 0
    inside = False
    for line in ptx.splitlines():
        text = line.strip()
        if match := re.match(r"\.loc\s+\d+\s+(\d+)", text):
            inside = int(match[1]) >= _FIRST_LINE
        elif re.match(r"(@!?%p\d+ )?[a-z][\w.:]*[\s;]", text) and text.endswith(";"):
            total += 1
            own += inside
    return own / total if total else 0.0


def measure(kernel: Specialization, target: str, extended: bool) -> Measured:
    """Compile a kernel for a target and count.

    Raises:
        Exception: It does not compile.
    """
    made, spent = compiled(kernel, target, extended)
    ttgir = made.asm["ttgir"]
    places = [loop for _, loop in conversions(ttgir)]
    llir, ptx = lowered(kernel.options, target, ttgir) if places else ("", "")
    barriers = barriers_of_conversions(llir)
    code = inspect_code.stats(made)
    return Measured(
        conversions=len(places),
        loop_conversions=sum(places),
        conversion_barriers=len(barriers),
        loop_conversion_barriers=sum(places[number] for number in barriers),
        barriers=code.barriers,
        shared_bytes=code.shared_bytes,
        registers=code.registers,
        spills=code.spills,
        stack_bytes=code.stack_bytes,
        warps=resident_warps(target, made.metadata.num_warps, code.registers, code.shared_bytes),
        instructions=code.instructions,
        conversion_share=round(share_of_conversions(ptx), 4),
        seconds=round(spent.processor, 3),
        ttgir=_digest(ttgir),
    )


class _Unchanged(BaseException):
    """The final TTGIR of stock: what follows is stock's too."""


def unchanged(kernel: Specialization, target: str, stock: Measured) -> bool:
    """Return whether the extension leaves the final TTGIR of a kernel as stock makes it; compiles no further."""
    found = False

    def stop(inner: Any, source: Any, metadata: Any, info: Any) -> Any:
        nonlocal found
        found = _digest(str(source)) == stock.ttgir
        raise _Unchanged

    pipeline = Pipeline((wrap_stage("llir", stop, key="layout-gate"),))
    with contextlib.suppress(_Unchanged), tritonext.use(pipeline):
        compiled(kernel, target, extended=True)
    return found


def _digest(ttgir: str) -> str:
    """Return a digest of a module without its locations and names of values, some of which parsing loses."""
    return digest(re.sub(r" loc\(.*\)$|^#loc.*$|(?<=%)[\w#:]+", "", ttgir, flags=re.MULTILINE))


def measured(
    kernel: Specialization, target: str, extended: bool, store: pathlib.Path, stock: Measured | str | None = None
) -> Measured | str:
    """Return what :func:`measure` finds, from the directory of earlier results where it is there, or an error.

    Args:
        kernel: The kernel.
        target: What it is compiled for.
        extended: Whether with the extension.
        store: The directory.
        stock: What stock compiles it to, to be returned where the extension changes nothing.
    """
    compiler = extension_digest("layout") if extended else "stock"
    source = kernel.source().hash()
    path = store / digest(_FORMAT, triton.__version__, source, repr(sorted(kernel.options.items())), target, compiler)
    if path.is_file():
        known = json.loads(path.read_text())
        return known if isinstance(known, str) else Measured(**known)
    try:
        if isinstance(stock, Measured) and unchanged(kernel, target, stock):
            found: Measured | str = dataclasses.replace(stock, seconds=None)
        else:
            found = measure(kernel, target, extended)
    except Exception as error:
        # A kernel that does not compile is a result.
        found = f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"
    store.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found if isinstance(found, str) else dataclasses.asdict(found)))
    return found


def _compared(name: str, target: str, stock_only: bool, store: pathlib.Path, timed: bool = False) -> Comparison:
    """Run in a worker process: passes print what fails, which is a result here."""
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    kernel = KERNELS[name].specialization()
    with quiet():
        stock = measured(kernel, target, False, store)
        ours = None if stock_only else measured(kernel, target, True, store, None if timed else stock)
    return Comparison(name, KERNELS[name].family, target, stock, ours)


def compare(
    names: Iterable[str],
    targets: Iterable[str],
    store: pathlib.Path,
    jobs: int = 0,
    stock_only: bool = False,
    timed: bool = False,
) -> list[Comparison]:
    """Compile kernels for targets, both ways.

    Args:
        names: Kernels; those that are not meant for a target are left out there.
        targets: Targets.
        store: Directory of what earlier calls measured.
        jobs: Number of processes; 0 for this one.
        stock_only: Whether to leave the extension out.
        timed: Whether to compile to the end what the extension does not change, for its processor time.
    """
    names = list(names)
    wanted = [(name, target) for target in targets for name in names if target in KERNELS[name].targets]
    if jobs == 0:
        return [_compared(name, target, stock_only, store, timed) for name, target in wanted]
    with _pool(jobs) as pool:
        tasks = [pool.submit(_compared, name, target, stock_only, store, timed) for name, target in wanted]
        return [
            _awaited(task, name, target, stock_only, store) for task, (name, target) in zip(tasks, wanted, strict=True)
        ]


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _awaited(task: Future, name: str, target: str, stock_only: bool, store: pathlib.Path) -> Comparison:
    """Return the result of a task. A compiler that ends its process ends all tasks; each is then tried alone."""
    try:
        return task.result()
    except BrokenProcessPool:
        pass
    ended = "the compiler ended the process"
    found: list[Comparison] = []
    for only in (True, False)[: 1 if stock_only else 2]:
        with _pool(1) as pool:
            try:
                found.append(pool.submit(_compared, name, target, only, store).result())
            except BrokenProcessPool:
                break
    if not found:
        return Comparison(name, KERNELS[name].family, target, ended, None)
    return found[-1] if stock_only or len(found) == 2 else dataclasses.replace(found[0], ours=ended)


def worse(found: Comparison) -> list[str]:
    """Say in what a kernel is worse with the extension, where that fails the gate."""
    stock, ours = found.stock, found.ours
    if not isinstance(stock, Measured) or ours is None:
        return []
    if not isinstance(ours, Measured):
        return [f"does not compile: {ours}"]
    # An assembler may spill less in narrower pieces.
    less_spilled = ours.stack_bytes < stock.stack_bytes
    return [
        f"{label} {before} -> {after}"
        for label, before, after, more in (
            ("spill instructions", stock.spills, ours.spills, ours.spills > stock.spills and not less_spilled),
            ("spill bytes", stock.stack_bytes, ours.stack_bytes, ours.stack_bytes > stock.stack_bytes),
            ("resident warps", stock.warps, ours.warps, ours.warps < stock.warps),
        )
        if more
    ]


@dataclass(frozen=True)
class Totals:
    """Sums over the kernels that both compile."""

    kernels: int
    changed: int
    failed: int
    counts: Mapping[str, tuple[float, float]]
    slowest: float

    @classmethod
    def of(cls, found: Iterable[Comparison]) -> Totals:
        """Add up."""
        found = list(found)
        both = [(one.stock, one.ours) for one in found if isinstance(one.stock, Measured)]
        both = [(stock, ours) for stock, ours in both if isinstance(ours, Measured)]
        names = (
            "conversions",
            "loop_conversions",
            "conversion_barriers",
            "loop_conversion_barriers",
            "barriers",
            "shared_bytes",
            "spills",
            "instructions",
        )
        timed = [(stock.seconds, ours.seconds) for stock, ours in both if ours.seconds is not None]
        counts = {name: tuple(sum(getattr(one, name) for one in side) for side in zip(*both)) for name in names if both}
        if timed:
            counts[f"seconds of {len(timed)}"] = tuple(round(sum(side), 1) for side in zip(*timed))
        return cls(
            kernels=len(both),
            changed=sum(stock.ttgir != ours.ttgir for stock, ours in both),
            failed=sum(bool(worse(one)) for one in found),
            counts=counts,
            slowest=round(max((ours / stock for stock, ours in timed), default=0), 2),
        )


def _table(rows: Iterable[Iterable[Any]]) -> str:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def summary(found: list[Comparison]) -> str:
    """Return a table of the totals by target, and of all of them where there are several."""
    rows: list[list[Any]] = [["target", "kernels", "changed", "worse", "what", "stock", "extension", "change"]]
    targets = dict.fromkeys(one.target for one in found)
    parts = {target: [one for one in found if one.target == target] for target in targets}
    for target, part in (parts | ({"all": found} if len(parts) > 1 else {})).items():
        totals = Totals.of(part)
        for number, (name, (before, after)) in enumerate(totals.counts.items()):
            head = [target, totals.kernels, totals.changed, totals.failed] if not number else [""] * 4
            change = f"{100 * (after - before) / before:+.1f} %" if before else ""
            rows.append([*head, name.replace("_", " "), f"{before:g}", f"{after:g}", change])
    return _table(rows)


def changes(found: list[Comparison]) -> str:
    """Return a table of the kernels that the extension changes, those that are worse first."""
    rows: list[list[Any]] = [
        [
            "kernel",
            "target",
            "conversions",
            "in loops",
            "barriers",
            "in loops",
            "shared",
            "registers",
            "spills",
            "warps",
        ]
    ]
    both = [one for one in found if isinstance(one.stock, Measured) and isinstance(one.ours, Measured)]
    for one in sorted(both, key=lambda one: (not worse(one), one.target, one.name)):
        if one.stock.ttgir == one.ours.ttgir and not worse(one):
            continue
        pairs = (
            (getattr(one.stock, name), getattr(one.ours, name))
            for name in (
                "conversions",
                "loop_conversions",
                "conversion_barriers",
                "loop_conversion_barriers",
                "shared_bytes",
                "registers",
                "spills",
                "warps",
            )
        )
        cells = [str(before) if before == after else f"{before} → {after}" for before, after in pairs]
        rows.append([one.name, one.target, *cells])
    return _table(rows)


def costly(found: list[Comparison]) -> str:
    """Return a table of the kernels on which stock spends most on conversions."""
    rows: list[list[Any]] = [["kernel", "target", "conversions", "in loops", "barriers", "in loops", "share", "spills"]]
    known = [one for one in found if isinstance(one.stock, Measured) and one.stock.conversions]
    order = ("loop_conversion_barriers", "loop_conversions", "conversion_share")
    known.sort(key=lambda one: [-getattr(one.stock, name) for name in order])
    for one in known:
        stock = one.stock
        counts = (stock.conversions, stock.loop_conversions, stock.conversion_barriers, stock.loop_conversion_barriers)
        rows.append([one.name, one.target, *counts, f"{100 * stock.conversion_share:.1f} %", stock.spills])
    return _table(rows)


def page(found: list[Comparison]) -> str:
    """Return a page with the totals and the kernels that the extension changes."""
    stock = sum(isinstance(one.stock, Measured) for one in found)
    return f"""# What the extension `layout` changes in machine code

{len(KERNELS)} kernels of `extensions/layout/tests/corpus`, in {stock} builds by stock Triton {triton.__version__}
and as many with the extension. `nox -s layout-gate -- --page docs/layout-gate.md` writes this page; nothing is run.
Counts of each kernel are in `extensions/layout/tests/gate-*.json`.

Conversions are those of the final TTGIR; barriers are barriers of the CTA for the sake of a conversion; shared memory
is in bytes; warps are those that a multiprocessor holds at once. The gate fails when a kernel spills more, or fewer of
its warps are resident.

## Totals

{summary(found)}

## Kernels that differ

{changes(found)}
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="kernel", help="texts that names contain; all when none is given")
    parser.add_argument("--target", action="append", choices=TARGETS, help="repeatable; every target without it")
    parser.add_argument("--sample", type=int, help="take this many of the kernels for each target")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--stock", action="store_true", help="only stock")
    parser.add_argument("--timed", action="store_true", help="compile to the end what the extension does not change")
    parser.add_argument("--times", type=int, help="only compare times of compilation, medians of so many")
    parser.add_argument("--write", type=pathlib.Path, help="file for the counts of each kernel, as JSON")
    parser.add_argument("--page", type=pathlib.Path, help="file for a page with the tables")
    parser.add_argument(
        "--store", type=pathlib.Path, default=STORE, help="directory of earlier results (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    names = [name for name in KERNELS if not arguments.kernels or any(text in name for text in arguments.kernels)]
    found: list[Comparison] = []
    times: list[Times] = []
    for number, target in enumerate(arguments.target or TARGETS):
        chosen = [name for name in names if target in KERNELS[name].targets]
        if arguments.sample is not None:
            chosen = random.Random(arguments.seed + number).sample(chosen, min(arguments.sample, len(chosen)))
        if arguments.times:
            times += measure_times(chosen, target, arguments.times)
            continue
        found += compare(chosen, [target], arguments.store, arguments.jobs, arguments.stock, arguments.timed)
    if times:
        print(report(times))
        return 0
    if arguments.stock:
        print(costly(found))
    else:
        print(changes(found), summary(found), sep="\n\n")
    if arguments.write:
        entries = [
            {
                "kernel": one.name,
                "family": one.family,
                "target": one.target,
                "stock": one.stock.to_json() if isinstance(one.stock, Measured) else one.stock,
                "extension": one.ours.to_json() if isinstance(one.ours, Measured) else one.ours,
            }
            for one in found
        ]
        arguments.write.write_text("[\n" + ",\n".join(f" {json.dumps(entry)}" for entry in entries) + "\n]\n")
    if arguments.page:
        arguments.page.write_text(page(found))
    for one in found:
        if isinstance(one.stock, str):
            print(f"{one.name}, {one.target}: stock does not compile it: {one.stock}")
    failures = [(one, reason) for one in found for reason in worse(one)]
    for one, reason in failures:
        print(f"{one.name}, {one.target}: {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
