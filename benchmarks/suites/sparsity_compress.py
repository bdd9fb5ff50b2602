"""Compression and pruning to 2:4 structure: the extension `sparsity` against a copy of as many bytes and PyTorch.

``copy`` moves as many bytes as the case reads and writes, so its ratio is the share of the measured copy bandwidth that
the kernel reaches. ``torch_cusparselt`` and ``torch_cutlass`` are PyTorch's compressions of the same sparse
matrix, pruned before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

import harness
from harness import Environment, Error, Metric, Record, Timer

__all__ = ["problems", "run"]

SUITE = "sparsity-compress"
SHAPES = ((4096, 4096), (8192, 8192), (28672, 8192))
DTYPES = (torch.bfloat16, torch.float8_e4m3fn)


def pattern(x: torch.Tensor) -> torch.Tensor:
    """Return ``x`` with zeros for all but the two largest of each group, computed by PyTorch."""
    grouped = x.float().abs().reshape(x.shape[0], -1, 4)
    kept = torch.zeros_like(grouped, dtype=torch.bool).scatter_(2, grouped.topk(2, dim=2).indices, True)
    return torch.where(kept.reshape(x.shape), x.float(), 0).to(x.dtype)


def cases(x: torch.Tensor) -> dict[str, tuple[int, Callable[[], object], Callable[[object], torch.Tensor]]]:
    """Return by name how many bytes a case reads and writes, what it runs, and how its result becomes dense."""
    # The benchmark process may have no extension installed for other suites.
    from tritonext_sparsity.compress import compress, decompress
    from tritonext_sparsity.prune import prune

    sparse = pattern(x)
    values, meta = compress(sparse)
    dense, small = x.nbytes, values.nbytes + meta.nbytes

    def both(result: object) -> torch.Tensor:
        return decompress(*result)

    def same(result: object) -> torch.Tensor:
        return result

    found = {
        "compress": (dense + small, lambda: compress(sparse, check=False), both),
        "prune_compress": (dense + small, lambda: compress(x, prune=True), both),
        "prune": (2 * dense, lambda: prune(x), same),
        "decompress": (dense + small, lambda: decompress(values, meta), same),
    }
    if x.dtype == torch.bfloat16:
        found["prune_4x4"] = (2 * dense, lambda: prune(x, transposable=True), same)
    return found


def libraries(sparse: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return PyTorch's compressions that take this matrix."""
    from torch.sparse import SparseSemiStructuredTensorCUSPARSELT, SparseSemiStructuredTensorCUTLASS

    classes = {"torch_cusparselt": SparseSemiStructuredTensorCUSPARSELT}
    if sparse.dtype == torch.bfloat16:
        # PyTorch's CUTLASS backend has no 8-bit floats.
        classes["torch_cutlass"] = SparseSemiStructuredTensorCUTLASS
    return {name: lambda kind=kind: kind.from_dense(sparse) for name, kind in classes.items()}


def measured(x: torch.Tensor, case: str, environment: Environment, timer: Timer, seconds: float) -> Record:
    """Check and time one case."""
    moved, ours, densified = cases(x)[case]
    source = torch.empty(moved // 2, dtype=torch.int8, device="cuda").random_()
    target = torch.empty_like(source)
    sparse = pattern(x)
    result = densified(ours()).float()
    if case == "prune_4x4":
        blocks = result.reshape(x.shape[0] // 4, 4, -1, 4) != 0
        wrong = ((result != 0) & (result != x.float())).any() | (blocks.sum(1) > 2).any() | (blocks.sum(3) > 2).any()
        error = Error(float(wrong), 0.0, "two of four in rows and columns")
    else:
        # Ties of magnitudes are pruned as either likes: the sums of magnitudes of groups are compared.
        sums = [value.float().abs().reshape(-1, 4).sum(1) for value in (result, sparse)]
        error = Error(float((sums[0] - sums[1]).abs().max()), 0.0, "two largest of each group by torch")
    del result
    candidates: dict[str, Callable[[], object]] = {"ours": ours, "copy": lambda: target.copy_(source)}
    if case == "compress":
        candidates |= libraries(sparse)
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params = {"M": x.shape[0], "K": x.shape[1], "input": str(x.dtype).removeprefix("torch.")}
    params |= {"bytes": moved, "rounds": rounds}
    params |= {
        "copy_gb_per_s": moved / samples["copy"].median * 1e-6,
        "gb_per_s": moved / samples["ours"].median * 1e-6,
    }
    name = f"{case}-{params['input']}-{x.shape[0]}x{x.shape[1]}"
    return harness.record(SUITE, name, params, Metric.microseconds(), samples, environment, error)


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    for shape in SHAPES:
        for dtype in DTYPES:
            names = ("compress", "prune_compress", "prune", "decompress", "prune_4x4")
            if not any(wanted in f"{name}-{str(dtype).removeprefix('torch.')}-{shape[0]}x{shape[1]}" for name in names):
                continue
            x = torch.randn(shape, device="cuda").to(dtype)
            for case in cases(x):
                name = f"{case}-{str(dtype).removeprefix('torch.')}-{shape[0]}x{shape[1]}"
                if wanted in name:
                    yield measured(x, case, environment, timer, seconds)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    return [] if entry.error.acceptable else [f"the result differs from {entry.error.reference}"]
