"""Make the advisor's table: measure it on this machine's GPU, or take it from records of the benchmarks.

    python -m tritonext_sparsity.tune --out DIRECTORY
    python -m tritonext_sparsity.tune --out DIRECTORY --records sparsity-linear.json sparsity-fp8.json

For every element type, shape of weights and number of tokens it times the dense product of PyTorch and each kernel of
the package in several tiles, in turns and each after a flush of the L2 cache, and keeps the fastest tile. Records are
those of the suites ``sparsity-linear`` and ``sparsity-fp8``, measured the same way.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import pathlib
import statistics
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .advisor import Kernel

__all__ = ["main"]

# (features, columns) of linear layers of language models.
SHAPES = ((4096, 4096), (14336, 4096), (4096, 14336), (8192, 8192), (28672, 8192), (8192, 28672))
TOKENS = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
DTYPES = ("bfloat16", "float8_e4m3fn")
FLUSH_BYTES = 256 * 2**20


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory of tables")
    parser.add_argument("--rounds", type=int, default=7, help="times that each candidate runs (default: %(default)s)")
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, help="element types (default: %(default)s)")
    parser.add_argument("--shapes", nargs="+", help="shapes of weights, features x columns")
    parser.add_argument("--tokens", nargs="+", type=int, default=TOKENS, help="numbers of tokens")
    parser.add_argument("--kernels", nargs="+", default=[kernel.value for kernel in Kernel], help="what to time")
    parser.add_argument("--records", nargs="+", type=pathlib.Path, help="files of records to take instead of measuring")
    parser.add_argument("--commit", default="", help="state of the sources to record")
    arguments = parser.parse_args(argv)
    if arguments.records:
        entries = [entry for path in arguments.records for entry in json.loads(path.read_text())]
        for table in tables_of(entries):
            write(table, arguments.out)
        return 0
    import torch

    if not torch.cuda.is_available():
        parser.exit(2, "there is no GPU to measure\n")
    shapes = SHAPES
    if arguments.shapes:
        shapes = tuple(tuple(map(int, text.split("x"))) for text in arguments.shapes)
    name = torch.cuda.get_device_name()
    kernels = set(map(Kernel, arguments.kernels))
    entries: list[dict[str, Any]] = []
    for dtype in arguments.dtypes:
        for features, depth in shapes:
            entries.append(measured(dtype, features, depth, arguments.tokens, arguments.rounds, kernels))
            # Device time is scarce: what was measured before an error is kept.
            table = {"device": name, "torch": torch.__version__, "commit": arguments.commit, "shapes": entries}
            write(table, arguments.out)
    return 0


def write(table: Mapping[str, Any], directory: pathlib.Path) -> None:
    """Write a table to the file of its device."""
    path = directory / f"{'-'.join(table['device'].lower().split())}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{len(table['shapes'])} shapes, written to {path}")


# Element types by what cases of the suites begin with, and the record's name of the dense product of this package.
_RECORDED = {"bf16": ("bfloat16", "cublas"), "rowwise": ("float8_e4m3fn", "scaled_mm")}


def tables_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tables, one for each device, that records of products in TFLOPS amount to."""
    tables: dict[str, dict[str, Any]] = {}
    shapes: dict[tuple[str, str, int, int], dict[str, Any]] = {}
    for record in records:
        kind, _, _ = record["case"].partition("-")
        if kind not in _RECORDED:
            continue
        dtype, dense = _RECORDED[kind]
        tokens, features, depth = (record["params"][name] for name in ("tokens", "features", "K"))
        device = record["device"]
        table = tables.setdefault(
            device, {"device": device, "torch": record["torch"], "commit": record["commit"], "shapes": []}
        )
        key = device, dtype, features, depth
        if key not in shapes:
            shapes[key] = {"dtype": dtype, "features": features, "depth": depth, "tokens": {}}
            table["shapes"].append(shapes[key])
        work = 2e-6 * tokens * features * depth
        rates = {Kernel.DENSE: record["baselines"][dense], Kernel.HOPPER: record["ours"]}
        times = {kernel.value: round(work / rate, 2) for kernel, rate in rates.items()}
        # One tile was measured, which is none that was found to be best.
        shapes[key]["tokens"][str(tokens)] = {"us": times}
    return list(tables.values())


def measured(
    dtype: str, features: int, depth: int, counts: tuple[int, ...], rounds: int, kernels: set[Kernel]
) -> dict[str, Any]:
    """Return the entry of one shape of weights."""
    import torch

    from .linear import SparseWeight24

    kind = getattr(torch, dtype)
    weight = torch.randn((features, depth), device="cuda").to(kind)
    scale = torch.full((features,), 1 / depth, device="cuda") if weight.element_size() == 1 else None
    sparse = SparseWeight24.from_dense(weight, prune="magnitude", scale=scale, keep_dense=True)
    del weight
    rows = {}
    for tokens in counts:
        x = torch.randn((tokens, depth), device="cuda").to(kind)
        candidates = {key: found for key, found in runnable(x, sparse).items() if key[0] in kernels}
        times = timed({key: run for key, (_, run) in candidates.items()}, rounds)
        best: dict[Kernel, tuple[float, Any]] = {}
        for (kernel, number), us in times.items():
            if kernel not in best or us < best[kernel][0]:
                best[kernel] = (us, candidates[kernel, number][0])
        row: dict[str, Any] = {"us": {kernel.value: round(us, 2) for kernel, (us, _) in best.items()}}
        tile = best.get(Kernel.HOPPER, (0, None))[1]
        if tile is not None:
            row["configs"] = {Kernel.HOPPER.value: dataclasses.asdict(tile)}
        rows[str(tokens)] = row
        print(f"{dtype} {features} x {depth}, {tokens} tokens: {row['us']}", flush=True)
    return {"dtype": dtype, "features": features, "depth": depth, "tokens": rows}


def runnable(x: Any, sparse: Any) -> dict[tuple[Kernel, int], tuple[Any, Callable[[], object]]]:
    """Return what computes a layer, by kernel and number of the tile, with the tile."""
    import torch

    from .kernels.portable import choose, sparse_linear_portable
    from .linear import dense_linear

    tokens = x.shape[0]
    fp8 = x.element_size() == 1
    out_dtype = torch.bfloat16 if fp8 else x.dtype
    out = torch.empty((tokens, sparse.shape[0]), device="cuda", dtype=out_dtype)
    factors = {"scale_x": None, "scale_w": sparse.scale, "bias": None, "residual": None}
    if fp8:
        factors["scale_x"] = torch.ones(tokens, device="cuda")
    found: dict[tuple[Kernel, int], tuple[Any, Callable[[], object]]] = {
        (Kernel.DENSE, 0): (None, lambda: dense_linear(x, sparse.dense, out_dtype, "none", **factors))
    }
    tile = choose(tokens, 8 * x.element_size())
    run = functools.partial(sparse_linear_portable, x, sparse.values, sparse.meta, out, config=tile, **factors)
    found[Kernel.PORTABLE, 0] = (tile, run)
    if sparse.packed is not None:
        from .kernels.hopper import candidates, sparse_linear_hopper

        count = torch.cuda.get_device_properties(x.device).multi_processor_count
        for number, tile in enumerate(candidates(tokens, sparse.shape[0], x.dtype, out_dtype, count)[:3]):
            run = functools.partial(sparse_linear_hopper, sparse.values, sparse.packed, x, out, config=tile, **factors)
            found[Kernel.HOPPER, number] = (tile, run)
    return found


def timed(candidates: Mapping[Any, Callable[[], object]], rounds: int) -> dict[Any, float]:
    """Return the median microseconds of each candidate, run in turns."""
    import torch

    # Compilations are most of the time otherwise.
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda run: run(), candidates.values()))
    torch.cuda.synchronize()
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    events: dict[Any, list[tuple[Any, Any]]] = {key: [] for key in candidates}
    for _ in range(rounds):
        for key, run in candidates.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            start.record()
            run()
            end.record()
            events[key].append((start, end))
    torch.cuda.synchronize()
    return {key: 1e3 * statistics.median(a.elapsed_time(b) for a, b in pairs) for key, pairs in events.items()}


if __name__ == "__main__":
    sys.exit(main())
