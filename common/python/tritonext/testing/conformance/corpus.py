"""Compile kernels of the corpus for every target as launches do, in a process of its own, and say what came out.

    python corpus.py RESULT [--load ID …] [--leave] [--decorate ID KERNEL …]

``--load`` imports extensions, ``--leave`` activates each of them around one compilation and leaves it again, and
``--decorate`` compiles the named kernels under an extension. RESULT gets a JSON object: for each target and kernel, the
key of the cache entry, whether it was found there, and a digest of the binary.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import pathlib
import sys

import triton

import tritonext
from tritonext.offline import TARGETS, Argument
from tritonext.testing import fake_driver, kernels

KERNELS = (
    "gemm_fp16",
    "gemm_fp32_out",
    "gemm_fp8",
    "gemm_split_k",
    "gemm_persistent",
    "attention_forward",
    "softmax",
    "layer_norm",
    "column_sum",
    "cumulative_sum",
    "gather_rows",
    "histogram",
    "transpose",
    "dropout",
)


def value(argument: Argument) -> object:
    """Return an argument that specializes as ``argument`` says."""
    if argument.type.startswith("*"):
        return fake_driver.Array(argument.type[1:])
    if argument.type.startswith("fp"):
        return 0.5
    return 16 if argument.divisible > 1 else 17


def warm(kernel: kernels.Kernel, decorate: tritonext.use | None = None) -> triton.compiler.CompiledKernel:
    """Compile ``kernel`` for the active driver."""
    # A kernel object keeps the target of its first launch.
    function = triton.jit(kernel.fn.fn)
    if decorate is not None:
        function = decorate(function)
    arguments = {name: value(argument) for name, argument in kernel.signature.items()}
    return function.warmup(grid=(1,), **arguments, **kernel.constexprs, **kernel.options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--load", nargs="*", default=[])
    parser.add_argument("--leave", action="store_true")
    parser.add_argument("--decorate", nargs="+", default=[])
    options = parser.parse_args()
    for identifier in options.load:
        importlib.import_module(f"tritonext_{identifier}")
    if options.leave:
        for identifier in options.load:
            with fake_driver.active("cuda:90"), tritonext.use(identifier):
                warm(kernels.get("dropout"))
    scope = tritonext.use(options.decorate[0]) if options.decorate else None
    hits: list[bool] = []
    triton.knobs.compilation.listener = lambda *, cache_hit, **_: hits.append(cache_hit)
    found = {}
    for target in TARGETS:
        for name in KERNELS:
            kernel = kernels.get(name)
            if target not in kernel.targets:
                continue
            with fake_driver.active(target):
                compiled = warm(kernel, scope if name in options.decorate[1:] else None)
            binary = hashlib.sha256(compiled.kernel).hexdigest()
            found[f"{target} {name}"] = {"key": compiled.hash, "hit": hits.pop(), "binary": binary}
    loaded = sorted(sys.modules["tritonext.loader"].loaded()) if "tritonext.loader" in sys.modules else []
    slot = vars(triton.knobs.runtime_knobs)["add_stages_inspection_hook"]
    state = {"loaded": loaded, "installed": slot is not None, "found": found}
    options.result.write_text(json.dumps(state))


if __name__ == "__main__":
    main()
