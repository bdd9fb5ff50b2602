"""Make the advisor's table: measure the kernels on this machine's GPU.

    python -m tritonext_sparsity.tune --out DIRECTORY

For every element type, shape of weights and number of tokens it times the dense product of PyTorch and each kernel of
the package in several tiles, replayed from CUDA graphs in turns and each after a flush of the L2 cache, and keeps the
fastest tile.
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
# Close together, because the advisor bounds times between them by those around; many just behind a tile's last.
TOKENS = (
    *(1, 2, 4, 8, 16, 24, 32, 40, 52, 64, 72, 84, 100, 128, 136, 164, 200, 228, 256, 268, 330, 390, 452, 512),
    *(532, 650, 780, 900, 1024, 1100, 1300, 1540, 1796, 2048, 2200, 2600, 3080, 3600, 4096, 5128, 6152, 7176, 8192),
    *(10248, 12296, 14344, 16384),
)
DTYPES = ("bfloat16", "float8_e4m3fn")
FLUSH_BYTES = 256 * 2**20
# Tiles of the Hopper kernel that are tried, of those that it expects to be fastest.
TILES = 5


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory of tables")
    parser.add_argument("--rounds", type=int, default=7, help="times that each candidate runs (default: %(default)s)")
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, help="element types (default: %(default)s)")
    parser.add_argument("--shapes", nargs="+", help="shapes of weights, features x columns")
    parser.add_argument("--tokens", nargs="+", type=int, default=TOKENS, help="numbers of tokens")
    parser.add_argument("--kernels", nargs="+", default=[kernel.value for kernel in Kernel], help="what to time")
    parser.add_argument("--commit", default="", help="state of the sources to record")
    arguments = parser.parse_args(argv)
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
    """Write a table to the file of its device, a line for each number of tokens and each tile."""
    path = directory / f"{'-'.join(table['device'].lower().split())}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    tiles: list[dict[str, Any]] = []

    def number(tile: dict[str, Any]) -> int:
        if tile not in tiles:
            tiles.append(tile)
        return tiles.index(tile)

    shapes = []
    for entry in table["shapes"]:
        rows = []
        for tokens, row in entry["tokens"].items():
            numbers = {name: number(tile) for name, tile in row["tiles"].items()}
            rows.append(f'"{tokens}": {json.dumps({"us": row["us"], "tiles": numbers})}')
        head = json.dumps({name: value for name, value in entry.items() if name != "tokens"})[:-1]
        shapes.append(f'{head}, "tokens": {{\n' + ",\n".join(rows) + "\n}}")
    head = {name: value for name, value in table.items() if name != "shapes"}
    lines = [json.dumps(head)[:-1] + ', "shapes": [', ",\n".join(shapes), '], "tiles": [']
    lines += [",\n".join(map(json.dumps, tiles)), "]}"]
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(table['shapes'])} shapes, written to {path}")


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
        row = {"us": {kernel.value: round(us, 2) for kernel, (us, _) in best.items()}}
        tile = best.get(Kernel.HOPPER, (0, None))[1]
        row["tiles"] = {} if tile is None else {Kernel.HOPPER.value: dataclasses.asdict(tile)}
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
        for number, tile in enumerate(candidates(tokens, *sparse.shape, x.dtype, out_dtype, count)[:TILES]):
            run = functools.partial(sparse_linear_hopper, sparse.values, sparse.packed, x, out, config=tile, **factors)
            found[Kernel.HOPPER, number] = (tile, run)
    return found


def timed(candidates: Mapping[Any, Callable[[], object]], rounds: int) -> dict[Any, float]:
    """Return the median microseconds of each candidate, run in turns from CUDA graphs, without the host."""
    import torch

    # Compilations are most of the time otherwise. Launches need the context of the GPU in each thread.
    with ThreadPoolExecutor(initializer=lambda: torch.zeros((), device="cuda")) as pool:
        list(pool.map(lambda run: run(), candidates.values()))
    torch.cuda.synchronize()
    graphs = {key: torch.cuda.CUDAGraph() for key in candidates}
    for key, run in candidates.items():
        with torch.cuda.graph(graphs[key]):
            run()
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    events: dict[Any, list[tuple[Any, Any]]] = {key: [] for key in candidates}
    for _ in range(rounds + 1):
        for key, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            start.record()
            graph.replay()
            end.record()
            events[key].append((start, end))
    torch.cuda.synchronize()
    # The first replay of a graph also brings it to the GPU.
    return {key: 1e3 * statistics.median(a.elapsed_time(b) for a, b in pairs[1:]) for key, pairs in events.items()}


if __name__ == "__main__":
    sys.exit(main())
