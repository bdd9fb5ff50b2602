"""Kernels of one instruction each, in PTX, that compare a GPU with the emulator.

Parameters, in this order: six 64-bit addresses, of the registers of A, B and C, of the metadata operand (uint32,
a lane after the other, as the emulator takes them), of an image of shared memory, and of registers of D to be written;
the 64-bit matrix descriptors of A and B, relative to the image; and the 32-bit number of words of the
image. A block is a warp, or a warp group, with dynamic shared memory for the image.
"""

from __future__ import annotations

from .nvidia import MmaSp, WgmmaSp

__all__ = ["mma_kernel", "module", "wgmma_kernel"]


def module(kernels: list[str], target: str) -> str:
    """Return a module of kernels for ``target``, such as ``sm_90a``."""
    head = f".version 8.7\n.target {target}\n.address_size 64\n.extern .shared .align 1024 .b8 image[];\n"
    return head + "\n".join(kernels)


def mma_kernel(name: str, instruction: MmaSp, selector: int, *, satfinite: bool = False) -> str:
    """Return a kernel that runs ``mma.sp::ordered_metadata`` in a warp."""
    i = instruction
    a, b, d = i.fragment_a().registers, i.fragment_b().registers, i.fragment_d().registers
    saturate = ".satfinite" if satfinite else ""
    return _kernel(
        name,
        32,
        _load("a", a) + _load("b", b) + _load("c", d) + _load("meta", 1),
        f"mma.sp::ordered_metadata.sync.aligned.m16n8k{i.k}.row.col{saturate}.{i.acc}.{i.a}.{i.b}.{i.acc} "
        f"{_vector('d', d)}, {_vector('a', a)}, {_vector('b', b)}, {_vector('c', d)}, meta0, {selector};\n",
        {"a": a, "b": b, "c": d, "d": d, "meta": 1},
    )


def wgmma_kernel(
    name: str,
    instruction: WgmmaSp,
    selector: int,
    *,
    a_in_registers: bool,
    scale_d: bool = True,
    scale_a: int = 1,
    scale_b: int = 1,
    trans_a: bool = False,
    trans_b: bool = False,
    satfinite: bool = False,
) -> str:
    """Return a kernel that runs ``wgmma.mma_async.sp`` in a warp group and waits for it."""
    i = instruction
    d = i.fragment_d().registers
    a = 4 if a_in_registers else 0
    operands = [_vector("d", d), _vector("a", 4) if a else "a_word", "b_word", "meta0", str(selector), "scale"]
    if i.acc != "s32":
        operands += [str(scale_a), str(scale_b)]
        if i.a in ("f16", "bf16"):
            operands += ([] if a else [str(int(trans_a))]) + [str(int(trans_b))]
    types = f".{i.acc}.{i.a}.{i.b}{'.satfinite' if satfinite else ''}"
    body = f"""
    mov.u32 at, lane;
copy:
    setp.ge.u32 done, at, words;
    @done bra copied;
    mul.wide.u32 offset, at, 4;
    add.u64 where, p_shared, offset;
    ld.global.b32 word, [where];
    shl.b32 inside, at, 2;
    add.u32 inside, inside, base;
    st.shared.b32 [inside], word;
    add.u32 at, at, 128;
    bra copy;
copied:
    fence.proxy.async.shared::cta;
    bar.sync 0;
{_load("d", d, "p_c")}
    setp.ne.u32 scale, {int(scale_d)}, 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sp.sync.aligned.m64n{i.n}k{i.k}{types} {", ".join(operands)};
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
"""
    return _kernel(name, 128, _load("a", a) + _load("meta", 1), body, {"a": a, "d": d, "meta": 1})


def _vector(name: str, count: int) -> str:
    return "{" + ", ".join(f"{name}{i}" for i in range(count)) + "}"


def _load(name: str, count: int, pointer: str = "") -> str:
    """Return code that loads a lane's registers."""
    if not count:
        return ""
    address = f"    mad.wide.u32 where, lane, {4 * count}, {pointer or 'p_' + name};\n"
    return address + "".join(f"    ld.global.b32 {name}{i}, [where+{4 * i}];\n" for i in range(count))


def _kernel(name: str, lanes: int, loads: str, body: str, registers: dict[str, int]) -> str:
    """Return a kernel that loads operands, runs ``body`` and stores the registers of D."""
    addresses = ("p_a", "p_b", "p_c", "p_meta", "p_shared", "p_d", "a_word", "b_word")
    parameters = ",\n".join(f"    .param .u64 {name}_{parameter}" for parameter in addresses)
    declared = "".join(f"    .reg .b32 {key}<{count}>;\n" for key, count in registers.items() if count)
    read = "".join(f"    ld.param.u64 {parameter}, [{name}_{parameter}];\n" for parameter in addresses)
    d = registers["d"]
    return f""".visible .entry {name}(
{parameters},
    .param .u32 {name}_words)
.reqntid {lanes}
{{
    .reg .b64 {", ".join(addresses)}, where, offset, start;
    .reg .b32 lane, words, at, word, inside, base;
    .reg .pred done, scale;
{declared}{read}    ld.param.u32 words, [{name}_words];
    mov.u32 lane, %tid.x;
    mov.u32 base, image;
    cvt.u64.u32 start, base;
    shr.u64 start, start, 4;
    add.u64 a_word, a_word, start;
    add.u64 b_word, b_word, start;
{loads}{body}    mad.wide.u32 where, lane, {4 * d}, p_d;
{"".join(f"    st.global.b32 [where+{4 * i}], d{i};{chr(10)}" for i in range(d))}    ret;
}}
"""
