"""What a compiled kernel is made of: its tasks, its shared memory, its barriers, its machine code.

Tasks and buffers are read from the kernel's TritonGPU IR, behind the stock passes that give out warps, registers and
shared memory. Those print operations in a form that is stable within a release of Triton, which is what this package is
built for.
"""

from __future__ import annotations

import dataclasses
import io
import math
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from tritonext import inspect_code
from tritonext.errors import InternalError, UserError

__all__ = ["Allocation", "KernelReport", "Task", "report"]

# Operations by what a report calls them.
_KINDS = {
    "ttng.warp_group_dot": "MMA",
    "tt.dot": "MMA",
    "ttng.tc_gen5_mma": "MMA",
    "ttng.tc_gen5_mma_scaled": "MMA",
    "tlx.pair_dot": "MMA",
    "tlx.pair_dot_scaled": "MMA",
    "ttng.async_tma_copy_global_to_local": "tile loads",
    "ttng.async_tma_copy_local_to_global": "tile stores",
    "ttng.async_tma_reduce": "tile stores",
    "ttg.async_copy_global_to_local": "copies",
    "tt.load": "loads",
    "tt.store": "stores",
    "ttg.local_load": "buffer loads",
    "ttg.local_store": "buffer stores",
    "ttng.wait_barrier": "waits",
    "ttng.arrive_barrier": "arrivals",
    "ttng.barrier_expect": "arrivals",
    "ttg.convert_layout": "conversions",
}
_MEMDESC = re.compile(r"!ttg\.memdesc<(?P<shape>[\dx]+)x(?P<element>\w+), #(?P<space>\w+)")
_ALLOCATION = re.compile(r"^\s*%(?P<name>[\w#.]+) = ttg\.local_alloc\b")
_OFFSET = re.compile(r"allocation\.offset = (\d+)")
_SIZE = re.compile(r"allocation\.size = (\d+)")
_RESULT = re.compile(r"^\s*%(?P<name>[\w#.]+)(?::\d+)? = (?P<op>[\w.]+)")
_OP = re.compile(r"^\s*(?:%[\w#:,. ]+ = )?(?P<op>[a-z_]+\.[\w.]+)")
_GENERIC = re.compile(r'"(?P<op>[a-z_]+\.\w+)"\(.*\(\{$')
_VIEWS = "ttg.memdesc_"
_VALUE = re.compile(r"%([\w.]+)")
_PLACE = re.compile(r'"(?P<file>[^"]+)":(?P<line>\d+):\d+')
# PTX ISA, setmaxnreg: the most registers of a thread. Stock gives the default task what is left, and cuts it there.
_MOST_REGISTERS = 256
_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}


@dataclass(frozen=True)
class Allocation:
    """A piece of shared memory.

    Attributes:
        name: What the kernel calls it; empty for a buffer without a name, as one that the compiler makes.
        kind: ``buffer``, ``barriers``, or ``compiler`` for memory that an operation of the compiler needs.
        shape: Shape with slots first, and the type of the elements.
        offset: Its first byte in the shared memory of a block.
        size: Its bytes.
        line: Line of the kernel that allocates it.
        first_use: First line that reads or writes it, or a view of it; 0 when none does.
        last_use: Last such line.
        kept: Whether nobody else gets its memory before the kernel ends, because no wait in the kernel is sure to come
            behind all asynchronous work with the buffer.
    """

    name: str
    kind: str
    shape: str
    offset: int
    size: int
    line: int
    first_use: int = 0
    last_use: int = 0
    kept: bool = False


@dataclass(frozen=True)
class Task:
    """A task, or the whole kernel when it has none.

    Attributes:
        name: ``kernel``, ``default``, or ``task`` with a number; ``idle`` for warps that the compiler adds, because
            tasks get warps in groups of four.
        line: Line at which its code begins.
        warps: Its warps.
        registers: Registers of each of its threads while it runs; None when they are those of the kernel.
        operations: How often its code has an operation, by kind. One in a loop counts once.
    """

    name: str
    line: int
    warps: int
    registers: int | None
    operations: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class KernelReport:
    """What a compiled kernel is made of.

    Attributes:
        kernel: Its name.
        file: File of its source.
        target: Such as ``cuda:90``.
        warps: Warps of a block.
        registers: Registers of a thread at launch.
        spills: Machine instructions that access spilled registers, in all tasks together.
        shared_bytes: Shared memory of a block.
        instructions: Machine instructions.
        mma: Tensor-core instructions.
        tasks: Its tasks.
        memory: Its shared memory, by offset.
    """

    kernel: str
    file: str
    target: str
    warps: int
    registers: int
    spills: int
    shared_bytes: int
    instructions: int
    mma: int
    tasks: tuple[Task, ...]
    memory: tuple[Allocation, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data for ``json.dumps``."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        out = io.StringIO()
        # Nothing in a report is markup or names an emoji, as `:100:` of a target would.
        self._print(Console(file=out, width=120, markup=False, emoji=False))
        return out.getvalue().rstrip()

    def _print(self, console: Console) -> None:
        console.print(
            f"{self.kernel} ({pathlib.Path(self.file).name}) for {self.target}: {self.warps} warps, "
            f"{self.registers} registers a thread, {self.spills} spills, {self.shared_bytes} bytes of shared memory, "
            f"{self.instructions} instructions, {self.mma} of them MMA",
            highlight=False,
        )
        tasks = Table("task", "line", "warps", "registers", "in its code", title="tasks", title_justify="left")
        for task in self.tasks:
            counts = ", ".join(f"{kind} {count}" for kind, count in sorted(task.operations.items()))
            tasks.add_row(task.name, str(task.line or ""), str(task.warps), str(task.registers or ""), counts)
        console.print(tasks)
        memory = Table("offset", "bytes", "what", "shape", "line", "used", title="shared memory", title_justify="left")
        for piece in self.memory:
            used = f"{piece.first_use} to {'the end' if piece.kept else piece.last_use}" if piece.first_use else ""
            name = f"{piece.name} ({piece.kind})" if piece.kind != "buffer" else piece.name or "(no name)"
            memory.add_row(str(piece.offset), str(piece.size), name, piece.shape, str(piece.line or ""), used)
        console.print(memory)


def report(kernel: Any) -> KernelReport:
    """Say what a compiled kernel is made of.

    Args:
        kernel: What a launch, ``warmup`` or ``tritonext.offline`` returns, compiled for an NVIDIA GPU. It need not use
            TLX.

    Returns:
        The report; ``print`` shows it as tables, ``to_json`` gives it to tools.

    Raises:
        UserError: The argument is no such kernel.
    """
    assembly = getattr(kernel, "asm", None)
    if assembly is None or "ttgir" not in assembly:
        raise UserError(
            "there is nothing to report on",
            expected="a compiled kernel, as a launch returns",
            found=type(kernel).__name__,
            hint="kernel.warmup(…, grid=…) compiles without a launch",
        )
    target = kernel.metadata.target
    if target.backend != "cuda":
        raise UserError("reports are for NVIDIA GPUs only", expected="cuda", found=f"{target.backend}:{target.arch}")
    lines = _allocated(assembly["ttgir"], int(target.arch)).splitlines()
    places = _places(lines)
    header = next(line for line in lines if line.startswith("module"))
    code = inspect_code.stats(kernel)
    entry = next(line for line in lines if re.match(r"\s*tt\.func public", line))
    return KernelReport(
        kernel=kernel.metadata.name,
        file=places(entry)[0],
        target=f"{target.backend}:{target.arch}",
        warps=kernel.metadata.num_warps,
        registers=code.registers,
        spills=code.spills,
        shared_bytes=code.shared_bytes,
        instructions=code.instructions,
        mma=code.mma,
        tasks=tuple(_tasks(lines, places, int(re.search(r'"ttg\.num-warps" = (\d+)', header)[1]))),
        memory=tuple(sorted(_memory(lines, places, places(entry)[1]), key=lambda piece: piece.offset)),
    )


def _allocated(ir: str, arch: int) -> str:
    """Return the IR of a kernel with warps, registers and shared memory given out."""
    passes = f"ttgpuir.allocate_warp_groups,nvidia.ttgpuir.allocate_shared_memory_nv{{{arch} 90}}"
    with tempfile.TemporaryDirectory(prefix="tritonext-") as directory:
        source, result = (pathlib.Path(directory) / name for name in ("kernel.ttgir", "allocated.ttgir"))
        source.write_text(ir)
        command = ["-m", "tritonext.opt", source, "--load", "tlx", "--pipeline", passes, "--print-locations"]
        done = subprocess.run(
            [sys.executable, *command, "-o", result], capture_output=True, text=True, check=False, timeout=300
        )
        if done.returncode:
            raise InternalError("the stock passes that give out shared memory fail on the kernel", found=done.stderr)
        return result.read_text()


def _places(lines: list[str]) -> Any:
    """Return a function that gives the file and line of a line of IR; of calls, the place of the outermost."""
    aliases = dict(
        match.groups() for line in lines if (match := re.match(r"^(#loc\d*) = loc\((.*)\)$", line)) is not None
    )

    def resolve(text: str) -> tuple[str, int]:
        # A call site is `callsite(inner at outer)`; a name is `"name"(place)`.
        outer = text.rpartition(" at ")[2]
        if (place := _PLACE.search(outer)) is not None:
            return place["file"], int(place["line"])
        alias = re.search(r"#loc\d*", outer)
        return resolve(aliases[alias[0]]) if alias is not None and alias[0] in aliases else ("", 0)

    def of(line: str) -> tuple[str, int]:
        start = line.rfind(" loc(")
        return resolve(line[start + 5 :].strip().removesuffix("{").strip().removesuffix(")")) if start >= 0 else ("", 0)

    return of


def _tasks(lines: list[str], places: Any, warps: int) -> Iterator[Task]:
    """Return the tasks in order."""
    start = next((number for number, line in enumerate(lines) if "ttg.warp_specialize(" in line), None)
    if start is None:
        yield Task("kernel", 0, warps, None, _operations(lines))
        return
    indent = len(lines[start]) - len(lines[start].lstrip())
    given = re.search(r"actualRegisters = array<i32: ([\d, ]+)>", lines[start])
    registers: list[int | None] = [int(number) for number in given[1].split(",")] if given else []
    heads = []
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if len(line) - len(line.lstrip()) != indent or not line.strip():
            continue
        if line.lstrip().startswith(("default", "partition")):
            heads.append(number)
        elif not line.lstrip().startswith("}"):
            break
    else:
        number = len(lines)
    for index, (head, end) in enumerate(zip(heads, [*heads[1:], number])):
        own = re.search(r"num_warps\((\d+)\)", lines[head])
        body = lines[head + 1 : end]
        begin = next((at for line in body if _kind(line) and (at := places(line)[1])), 0)
        name = f"task {index}" if own else "default"
        if own and all(line.lstrip().startswith(("ttg.warp_return", "}")) for line in body):
            name = "idle"
        count = min(registers[index], _MOST_REGISTERS) if index < len(registers) else None
        yield Task(name, begin, int(own[1]) if own else warps, count, _operations(body))


def _kind(line: str) -> str | None:
    match = _OP.match(line)
    return _KINDS.get(match["op"]) if match else None


def _operations(lines: list[str]) -> dict[str, int]:
    return dict(Counter(kind for line in lines if (kind := _kind(line))))


def _memory(lines: list[str], places: Any, head: int) -> Iterator[Allocation]:
    """Return the pieces of shared memory; ``head`` is the line of the kernel, where its end is located too."""
    pieces: list[Allocation] = []
    # Which piece a name is, or is a view of. Tasks other than the default one are isolated: they name their captures
    # anew, and begin to count names from 0 again.
    bases: dict[str, int] = {}
    outside: dict[str, int] | None = None
    captured: list[str] = []
    end = ""
    used: dict[int, list[int]] = {}
    kept: set[int] = set()
    scratch: list[Allocation] = []
    # Reductions and scans are printed in the general form, with what they need behind their bodies.
    opened: list[str] = []
    for line in lines:
        offset = _OFFSET.search(line)
        if (generic := _GENERIC.search(line)) is not None:
            opened.append(generic["op"])
        closed = opened.pop() if line.lstrip().startswith("})") else None
        if (made := _ALLOCATION.match(line)) is not None:
            bases[made["name"]] = len(pieces)
            pieces.append(_buffer(made["name"], line, int(offset[1]), places(line)[1]))
            continue
        if "ttg.warp_specialize(" in line:
            captured = _VALUE.findall(line[line.index("(") : line.index(")")])
            end = line[: len(line) - len(line.lstrip())] + "} : ("
        if line.lstrip().startswith("partition"):
            outside = bases if outside is None else outside
            names = re.findall(r"%([\w.]+): ", line)
            bases = {name: outside[origin] for name, origin in zip(names, captured) if origin in outside}
            continue
        if outside is not None and line.startswith(end):
            bases, outside = outside, None
        # A function has an offset too, where that of its callee's memory ends.
        if offset is not None and (size := _SIZE.search(line)) is not None:
            name = closed or _OP.match(line)["op"]
            scratch.append(Allocation(name, "compiler", "", int(offset[1]), int(size[1]), places(line)[1]))
        operation = _OP.match(line)
        if operation is None or operation["op"] in ("ttg.warp_specialize", "ttng.init_barrier", "ttng.inval_barrier"):
            continue
        result = _RESULT.match(line)
        operands = line[result.end() :] if result else line
        touched = {bases[name] for name in _VALUE.findall(operands) if name in bases}
        if result and operation["op"].startswith(_VIEWS):
            bases.update((result["name"], base) for base in touched)
            continue
        at = places(line)[1]
        if operation["op"] == "ttg.local_dealloc" and at == head:
            kept |= touched
            continue
        for base in touched:
            used.setdefault(base, []).append(at)
    for number, piece in enumerate(pieces):
        at = [line for line in used.get(number, []) if line]
        yield dataclasses.replace(piece, first_use=min(at, default=0), last_use=max(at, default=0), kept=number in kept)
    yield from scratch


def _buffer(name: str, line: str, offset: int, at: int) -> Allocation:
    kind = _MEMDESC.search(line)
    shape = kind["shape"].split("x")
    element = kind["element"]
    width = _BYTES.get(element) or (1 if element.startswith("f8") else 0)
    size = math.prod(map(int, shape)) * width
    # An mbarrier is one 64-bit element, and buffers of such numbers have more of them in a slot.
    barriers = element == "i64" and shape[-1] == "1"
    sizes = shape[:-1] if barriers and len(shape) > 1 else shape
    text = f"{'x'.join(sizes)} {'mbarrier' if barriers else element}"
    return Allocation(re.sub(r"_\d+$|^\d+$", "", name), "barriers" if barriers else "buffer", text, offset, size, at)
