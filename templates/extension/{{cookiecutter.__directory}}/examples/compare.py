"""Compile kernels for targets by name with stock Triton and with the extension, and print what differs; needs no GPU.

python examples/compare.py
"""

from __future__ import annotations
{% if cookiecutter.with_pass or cookiecutter.__ir or cookiecutter.with_profiler %}

import re
{% endif %}
{% set corpus = cookiecutter.with_pass or cookiecutter.with_backend or cookiecutter.with_profiler %}

{% if cookiecutter.__ir %}
import triton
import triton.language as tl
{% endif %}
{% if cookiecutter.__ir %}

{% endif %}
{% if cookiecutter.with_pass or cookiecutter.with_dialect or cookiecutter.__hooks %}
import tritonext
{% endif %}
{% if cookiecutter.with_op %}
import tritonext_{{cookiecutter.id}} as {{cookiecutter.id}}
{% endif %}
{% if cookiecutter.with_backend %}
from tritonext.inspect_code import stats
{% endif %}
{% if cookiecutter.__ir %}
from tritonext.offline import Specialization, parse_signature
{% endif %}
{% if corpus %}
from tritonext.testing import kernels
{% endif %}
{% if cookiecutter.with_pass or cookiecutter.__ir or cookiecutter.with_profiler %}


def count(kernel, pattern: str) -> int:
    """Return how many instructions of the assembly text match."""
    return len(re.findall(pattern, kernel.asm.get("ptx") or kernel.asm["amdgcn"]))
{% endif %}


def row(kernel: str, target: str, what: str, stock: int, ours: int) -> None:
    print(f"| `{kernel}` | {target} | {what} | {stock} | {ours} |")
{% if cookiecutter.__ir %}


@triton.jit
def select(x, y, BLOCK: tl.constexpr):
    """Stock Triton: a comparison and a selection."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, tl.where(value > 0, value, 0))


SELECT = Specialization(select, parse_signature("x=*fp32:16, y=*fp32:16"), {"BLOCK": 1024})
COMPARES = r"\b(?:setp\.\w+\.f|selp\.|max\.f)"
{% endif %}
{% if cookiecutter.with_op %}


@triton.jit
def apply(x, y, BLOCK: tl.constexpr):
    """The same with the op of the extension, which brings the extension along."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, {{cookiecutter.id}}.{{cookiecutter.__op}}(tl.load(x + at)))


APPLY = Specialization(apply, parse_signature("x=*fp32:16, y=*fp32:16"), {"BLOCK": 1024})
{% endif %}


def main() -> None:
    print("| kernel | target | instructions | stock | {{cookiecutter.id}} |")
    print("|---|---|---|---|---|")
{% if cookiecutter.with_pass %}
    for target, pattern in (("cuda:90", r"st\.global\.cs"), ("hip:gfx942", r"_store_\S+ .* nt\b")):
        stock = kernels.compile("softmax", target)
        with tritonext.use("{{cookiecutter.id}}"):
            ours = kernels.compile("softmax", target)
        row("softmax", target, "streaming stores", count(stock, pattern), count(ours, pattern))
{% endif %}
{% if cookiecutter.with_dialect %}
    for target in ("cuda:80", "cuda:90"):
        stock = SELECT.compile(target)
        with tritonext.use("{{cookiecutter.id}}"):
            ours = SELECT.compile(target)
        row("select", target, "compare, select, max", count(stock, COMPARES), count(ours, COMPARES))
{% endif %}
{% if cookiecutter.with_op %}
    for target in ("cuda:80", "cuda:90"):
        stock, ours = SELECT.compile(target), APPLY.compile(target)
        row("apply", target, "compare, select, max", count(stock, COMPARES), count(ours, COMPARES))
{% endif %}
{% if cookiecutter.with_backend %}
    for target in ("cuda:80", "cuda:90"):
        stock = kernels.compile("attention_forward", target)
        with tritonext.use("{{cookiecutter.id}}:ctas_per_sm=3"):
            ours = kernels.compile("attention_forward", target)
        row("attention_forward", target, "registers of a thread", stats(stock).registers, stats(ours).registers)
{% endif %}
{% if cookiecutter.with_profiler %}
    for target in ("cuda:80", "cuda:90"):
        stock = kernels.compile("softmax", target)
        with tritonext.use("{{cookiecutter.id}}"):
            ours = kernels.compile("softmax", target)
        row("softmax", target, "marks for a profiler", count(stock, "pmevent"), count(ours, "pmevent"))
{% endif %}


if __name__ == "__main__":
    main()
