"""Which kernels of the corpus of `layout` are measured, at which sizes, and with which configurations.

It needs neither torch nor a GPU, so that :mod:`layout_bound` can say before any measurement which kernels are bound by
layouts.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from harness import ROOT
from tritonext.offline import Argument, Specialization

__all__ = ["ENTRIES", "Entry", "corpus", "gate"]

TESTS = ROOT / "extensions" / "layout" / "tests"


@functools.cache
def _of_tests(name: str) -> ModuleType:
    sys.path.insert(0, str(TESTS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TESTS))


def corpus() -> ModuleType:
    """Return the package of kernels, which belongs to the extension's tests."""
    return _of_tests("corpus")


def gate() -> ModuleType:
    """Return the static gate."""
    return _of_tests("gate")


@dataclass(frozen=True)
class Entry:
    """A kernel at a size.

    Args:
        name: Unique name.
        case: Name of the case in the corpus.
        sizes: Sizes that differ from those of the case.
        configs: Constants and compile options that differ from those of the case, one mapping for each configuration.
    """

    name: str
    case: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    configs: Sequence[Mapping[str, Any]] = ({},)

    @property
    def kernel(self) -> Any:
        """The case."""
        return corpus().KERNELS[self.case]

    def constants(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the kernel's constants in a configuration."""
        wanted = {**self.kernel.constants, **self.sizes, **config}
        return {name: wanted[name] for name in self.kernel.constants}

    def options(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the compile options of a configuration."""
        return {**self.kernel.options, **{name: value for name, value in config.items() if name.startswith("num_")}}

    def integers(self) -> dict[str, int | float]:
        """Return the numbers that the kernel takes when it runs."""
        arguments = self.kernel.arguments(seed=0)
        return {
            name: self.sizes.get(name, value) for name, value in arguments.items() if isinstance(value, int | float)
        }

    def specialization(self, config: Mapping[str, Any]) -> Specialization:
        """Return what is compiled in a configuration."""
        base = self.kernel.specialization()
        sizes = {
            name: Argument("i32", 16 if value % 16 == 0 else 1)
            for name, value in self.integers().items()
            if isinstance(value, int)
        }
        return Specialization(base.fn, {**base.signature, **sizes}, self.constants(config), self.options(config))


GEMM = (
    {"BM": 128, "BN": 128, "BK": 64, "num_warps": 4, "num_stages": 3},
    {"BM": 128, "BN": 256, "BK": 64, "num_warps": 8, "num_stages": 3},
    {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 4},
)
FLAT = (
    {"BM": 16, "BN": 128, "BK": 128, "num_warps": 4, "num_stages": 3},
    {"BM": 16, "BN": 64, "BK": 128, "num_warps": 4, "num_stages": 4},
)
MIXED = (
    {"BM": 64, "BN": 128, "BK": 64, "num_warps": 4, "num_stages": 3},
    {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
)
WARPS = ({"num_warps": 4}, {"num_warps": 8})
EPILOGUES = (
    "plain",
    "bias",
    "residual",
    "bias_silu_residual",
    "row_scale",
    "interleaved",
    "transposed",
    "both_ways",
    "fp32",
)


def _shape(m: int, n: int, k: int) -> dict[str, int]:
    return {"M": m, "N": n, "K": k}


def _products() -> list[Entry]:
    found = [
        Entry(f"gemm-{epilogue.replace('_', '-')}-{m}x{n}x{k}", f"gemm_{epilogue}", _shape(m, n, k), GEMM)
        for epilogue in EPILOGUES
        for m, n, k in ((4096, 4096, 4096), (8192, 8192, 512))
    ]
    found += [
        Entry(f"gemm-{epilogue}-65536x1024x1024", f"gemm_{epilogue}", _shape(65536, 1024, 1024), GEMM)
        for epilogue in ("bias", "residual")
    ]
    found += [
        Entry("gemm-plain-16x8192x8192", "gemm_flat", _shape(16, 8192, 8192), FLAT),
        Entry("gemm-split-k-1024x1024x16384", "gemm_split_k", _shape(1024, 1024, 16384) | {"SPLIT": 8}, GEMM),
        Entry(
            "gemm-norm-65536x256x1024",
            "gemm_norm",
            {"M": 65536, "N": 256, "K": 1024},
            ({}, {"BM": 128, "num_warps": 8}),
        ),
        Entry("gemm-top-k-16384x64x4096", "gemm_top_k", {"M": 16384, "K": 4096}, ({}, {"BM": 64})),
        Entry("gemm-scale-gemm-d128-4096", "gemm_scale_gemm", {"length": 4096}, WARPS),
        Entry("gemm-scale-gemm-d64-4096", "gemm_scale_gemm_d64", {"length": 4096}, ({}, {"BM": 128, "num_warps": 8})),
        Entry("gemm-block-scales-4096", "gemm_block_scales", _shape(4096, 4096, 4096), WARPS),
        Entry("gemm-relu-operand-4096", "gemm_relu_operand", _shape(4096, 4096, 4096), WARPS),
        Entry("norm-gemm-4096", "norm_gemm", _shape(4096, 4096, 4096), ({}, {"BM": 128, "num_warps": 8})),
        Entry("gemm-symmetric-8192x512", "gemm_symmetric", {"M": 8192, "K": 512}, WARPS),
        Entry(
            "scaled-accumulator-4096", "scaled_accumulator", _shape(4096, 4096, 4096), ({}, {"BM": 128, "num_warps": 8})
        ),
        Entry(
            "experts-gemm-4096", "experts_gemm", {"count": 4096, "N": 2048, "K": 1024, "EXPERTS": 8}, ({}, {"BN": 128})
        ),
    ]
    for name in ("w4a16", "w4a16_by_column", "w4a16_packed", "w8a16", "fp8_weights", "mxfp4_weights"):
        label = name.replace("_", "-")
        flat = FLAT if name not in ("w4a16_packed",) else FLAT[:1]
        found.append(Entry(f"{label}-16x8192x8192", f"{name}_flat", _shape(16, 8192, 8192), flat))
        # The scales of one of them belong to a step of the loop.
        found.append(Entry(f"{label}-4096x4096x4096", name, _shape(4096, 4096, 4096), MIXED))
    found.append(Entry("w4a16-64x8192x8192", "w4a16", _shape(64, 8192, 8192), MIXED[:1]))
    found.append(
        Entry(
            "w8a16-groups-64x8192x8192",
            "w8a16_groups",
            _shape(64, 8192, 8192),
            ({}, {"BN": 128, "BK": 128, "num_warps": 8}),
        )
    )
    return found


def _attention() -> list[Entry]:
    heads = {"heads": 32, "length": 4096}
    backward = {"heads": 16, "length": 4096}
    wide = ({}, {"BM": 128, "BN": 128, "num_warps": 8})
    return [
        Entry("attention-d64-4096", "attention_plain", heads, wide),
        Entry("attention-d128-4096", "attention_d128", heads, wide),
        Entry("attention-causal-d128-4096", "attention_causal_bf16", heads, wide),
        Entry("attention-bias-d64-4096", "attention_bias", {"heads": 8, "length": 4096}, wide),
        Entry("attention-cap-d64-4096", "attention_cap", heads, wide),
        Entry(
            "attention-keys-backward-d64-4096", "attention_keys_backward", backward, ({}, {"BN": 128, "num_warps": 8})
        ),
        Entry("attention-keys-backward-d128-4096", "attention_keys_backward_d128", backward),
        Entry(
            "attention-atomic-backward-d64-4096",
            "attention_keys_backward_atomic",
            backward,
            ({}, {"BN": 128, "num_warps": 8}),
        ),
        Entry("attention-atomic-backward-d128-4096", "attention_keys_backward_atomic_d128", backward),
        Entry(
            "attention-queries-backward-d64-4096",
            "attention_queries_backward",
            backward,
            ({}, {"BM": 128, "num_warps": 8}),
        ),
    ]


def _others() -> list[Entry]:
    square = {"rows": 8192, "columns": 8192}
    heads = {"heads": 64, "length": 4096}
    return [
        Entry("transpose-fp32-8192", "transpose_fp32_64x64", square, ({}, {"BM": 32, "BN": 32})),
        Entry("transpose-fp16-8192", "transpose_fp16_64x64", square, ({}, {"BM": 128, "BN": 128, "num_warps": 8})),
        Entry("transpose-i8-8192", "transpose_i8_64x64", square, ({}, {"BM": 128, "BN": 128})),
        Entry("add-transposed-8192", "add_transposed_fp32", {"size": 8192}, WARPS),
        Entry(
            "silu-and-mul-interleaved-8192", "silu_and_mul_interleaved_bf16", square, ({}, {"BM": 32, "num_warps": 8})
        ),
        Entry("rope-interleaved-8192", "rope_interleaved", {"tokens": 8192, "heads": 32}, WARPS),
        Entry("rope-halves-8192", "rope_halves", {"tokens": 8192, "heads": 32}, WARPS),
        Entry("softmax-tile-65536x1024", "softmax_tile", {"rows": 65536, "columns": 1024, "BN": 1024, "BM": 4}, WARPS),
        Entry(
            "softmax-columns-4096", "softmax_columns", {"rows": 4096, "columns": 4096}, ({}, {"BM": 64, "num_warps": 8})
        ),
        Entry(
            "layer-norm-16384x4096",
            "layer_norm_tile",
            {"rows": 16384, "columns": 4096, "BN": 4096},
            ({"BM": 1}, {"BM": 4}),
        ),
        Entry(
            "layer-norm-backward-16384x1024",
            "layer_norm_backward",
            {"rows": 16384, "columns": 1024, "BN": 1024, "programs": 528},
            ({"BM": 1}, {"num_warps": 8}),
        ),
        Entry(
            "add-rms-norm-16384x4096",
            "add_rms_norm_tile",
            {"rows": 16384, "columns": 4096, "BN": 4096},
            ({"BM": 1}, {"BM": 2}),
        ),
        Entry("column-sum-fp32-8192", "column_sum_fp32", square, ({}, {"BM": 64, "BN": 32})),
        Entry("column-sum-bf16-8192", "column_sum_bf16", square, ({}, {"BM": 128, "num_warps": 8})),
        Entry(
            "sum-partial-gradients-1024x8192",
            "sum_partial_gradients",
            {"rows": 1024, "columns": 8192},
            ({}, {"BN": 32}),
        ),
        Entry("cumulative-sum-columns-8192", "cumulative_sum_columns", square, WARPS),
        Entry("cumulative-sum-rows-8192", "cumulative_sum_rows", square, WARPS),
        Entry("top-k-65536x128", "top_k_fp16", {"rows": 65536}, ({}, {"BM": 16})),
        Entry("sort-65536x64", "sort_rows_fp32", {"rows": 65536}, ({}, {"BM": 16})),
        Entry("gather-rows-i32", "gather_rows_i32", {"batch": 2048}, WARPS),
        Entry("gather-rows-i64", "gather_rows_i64", {"batch": 2048}, WARPS),
        Entry("gather-columns-i32", "gather_columns_i32", {"batch": 4096}, WARPS),
        Entry("fp8-groups-8192", "fp8_groups", square, WARPS),
        Entry("fp8-both-ways-8192", "fp8_both_ways", square, ({}, {"BN": 128, "num_warps": 8})),
        Entry("int8-transposed-8192", "int8_transposed", square, ({}, {"BM": 128, "BN": 128, "num_warps": 8})),
        Entry(
            "int8-columns-256x65536", "int8_columns", {"rows": 256, "columns": 65536}, ({}, {"BN": 64, "num_warps": 8})
        ),
        Entry("int4-widen-8192", "int4_widen", square, WARPS),
        Entry("mxfp4-rows-8192", "mxfp4_rows", square, WARPS),
        Entry("mxfp4-widen-8192", "mxfp4_widen", square, WARPS),
        Entry(
            "norm-and-quantize-16384x4096",
            "norm_and_quantize_tile",
            {"rows": 16384, "columns": 4096, "BN": 4096},
            ({"BM": 1}, {"BM": 2}),
        ),
        Entry("welford-16384x4096", "welford", {"rows": 16384, "columns": 4096}, ({}, {"BM": 1, "BN": 2048})),
        Entry(
            "group-norm-channels-last",
            "group_norm_channels_last",
            {"batch": 32, "channels": 512, "plane": 4096},
            ({}, {"BP": 128, "num_warps": 8}),
        ),
        Entry("linear-recurrence-4096x8192", "linear_recurrence", {"length": 4096, "width": 8192}, WARPS),
        Entry("chunk-states-4096", "chunk_states", heads, WARPS),
        Entry("chunk-output-4096", "chunk_output", heads, WARPS),
        Entry("retention-4096", "retention", heads, WARPS),
        Entry("delta-inverse-4096", "delta_inverse_wide", heads, ({}, {"num_warps": 1})),
        Entry("delta-states-4096", "delta_states", heads, ({}, {"num_warps": 2})),
        Entry("recurrent-delta-512", "recurrent_delta", {"heads": 64, "length": 512}, ({}, {"num_warps": 4})),
        Entry("state-space-chunk-8192", "state_space_chunk", {"length": 8192, "width": 4096}, WARPS),
        Entry("selective-scan-512", "selective_scan", {"length": 512, "width": 8192}, ({}, {"num_warps": 2})),
        Entry("combine-experts-16384x4096", "combine_experts_eight", {"count": 16384, "width": 4096}, WARPS),
        Entry("route-65536x60", "route", {"tokens": 65536}, WARPS),
    ]


ENTRIES: dict[str, Entry] = {entry.name: entry for entry in (*_products(), *_attention(), *_others())}
"""Every entry by name."""
