"""GEMMs as Triton compiles them are right in every order, and broken ones are found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tritonext.testing.simulator import (
    BarrierMisuse,
    ByteCountMismatch,
    Deadlock,
    Finding,
    Leak,
    MissingFence,
    OutOfRange,
    Race,
    ReadBeforeCompletion,
    load,
    simulate,
)


@pytest.mark.parametrize("name", ["bulk", "partitions", "threads"])
def test_right_in_every_order(gemms, name):
    gemm = gemms[name]
    module = load(gemm.text)
    for order in ("random", "eager", "lazy"):
        for k in (0, 64, 320):
            arguments, c, expected = gemm.arguments(256, 256, k)
            report = simulate(module, gemm.grid, arguments, seed=np.random.default_rng().integers(1 << 30), order=order)
            np.testing.assert_allclose(c, expected, rtol=2**-11, atol=1e-3)
            assert report.programs == 4


def test_same_seed_same_run(gemms):
    module = load(gemms["partitions"].text)
    switches = []
    for seed in (3, 3, 4):
        arguments, _, _ = gemms["partitions"].arguments(256, 256, 128)
        switches.append(simulate(module, (2, 2), arguments, seed=seed).switches)
    assert switches[0] == switches[1] != switches[2]


def edit(text: str, pattern: str, replacement: str, which: int = 0, *, every: bool = False) -> str:
    """Replace one match of a pattern, or every one."""
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    chosen = matches if every else [matches[which]]
    for match in reversed(chosen):
        text = text[: match.start()] + match.expand(replacement) + text[match.end() :]
    return text


def drop(pattern: str, which: int = 0, *, every: bool = False):
    """Return an edit that removes the line with a match."""
    return lambda text: edit(text, rf"^.*{pattern}.*\n", "", which, every=every)


def swap(pattern: str, replacement: str, which: int = 0, *, every: bool = False):
    """Return an edit that replaces a match."""
    return lambda text: edit(text, pattern, replacement, which, every=every)


def release_early(text: str) -> str:
    """Let a consumer release a slot before its product has read it."""
    lines = text.split("\n")
    dot = next(i for i, line in enumerate(lines) if "ttng.warp_group_dot " in line)
    assert "memdesc_index" in lines[dot + 1]
    assert "arrive_barrier" in lines[dot + 2]
    return "\n".join([*lines[:dot], *lines[dot + 1 : dot + 3], lines[dot], *lines[dot + 3 :]])


MUTATIONS = {
    "bulk": {
        "no wait for a copy": (drop(r"ttng\.wait_barrier"), ReadBeforeCompletion),
        "wrong phase": (swap(r"(ttng\.wait_barrier %\w+), %\w+", r"\1, %c1_i32"), (Deadlock, ReadBeforeCompletion)),
        "product left running too long": (swap(r"pendings = 1 : i32", "pendings = 2 : i32"), Race),
        "memory freed while a product reads it": (
            swap(r"(warp_group_dot_wait.*)pendings = 0", r"\1pendings = 1"),
            Race,
        ),
        "product never waited for": (
            swap(
                r"%(\w+) = ttng\.warp_group_dot_wait (%[\w#]+) .*",
                r"%\1 = arith.addf \2, %cst : tensor<128x128xf32, #mma>",
            ),
            ReadBeforeCompletion,
        ),
        "too few bytes": (
            swap(r"(barrier_expect %\w+), 32768", r"\1, 16384", -1),
            (ByteCountMismatch, ReadBeforeCompletion),
        ),
        "too many bytes": (swap(r"(barrier_expect %\w+), 32768", r"\1, 65536", 0), ByteCountMismatch),
        "copy missing": (drop(r"async_tma_copy_global_to_local", -1), ByteCountMismatch),
        "expectation missing": (drop(r"ttng\.barrier_expect"), Finding),
        "too many arrivals wanted": (swap(r"(init_barrier %\w+), 1", r"\1, 2"), Deadlock),
        "barrier not initialized": (drop(r"ttng\.init_barrier"), Finding),
        "no fence": (drop(r"ttng\.fence_async_shared"), MissingFence),
        "store never waited for": (drop(r"ttng\.async_tma_store_wait"), Leak),
        "ring one slot short": (swap(r"(%\w+ = arith\.cmpi sge, %\w+), %c3_i32", r"\1, %c2_i32", 1), Finding),
        "slot out of range": (swap(r"(memdesc_index %\w+)\[%c1_i32\]", r"\1[%c3_i32]", 1), OutOfRange),
        "prefetch behind the end": (swap(r"(arith\.cmpi )slt", r"\1sle"), (BarrierMisuse, Leak, Race)),
        "barrier invalidated in use": (
            swap(r"^ *ttng\.barrier_expect (%\w+), .* (:.*>).*$", r"\g<0>\nttng.inval_barrier \1 \2"),
            BarrierMisuse,
        ),
        "box of another shape": (swap(r"(tensormap_create.*\[%c64_i32, )%c128_i32", r"\1%c64_i32"), OutOfRange),
    },
    "partitions": {
        "slot not released": (drop(r"ttng\.arrive_barrier"), Deadlock),
        "too few arrivals": (swap(r"(arrive_barrier %\w+), 128", r"\1, 64"), Deadlock),
        "too many arrivals": (swap(r"(init_barrier %\w+), 128", r"\1, 64", every=True), BarrierMisuse),
        "producer does not wait": (drop(r"ttng\.wait_barrier"), (BarrierMisuse, Race)),
        "consumer does not wait": (drop(r"ttng\.wait_barrier", 4), ReadBeforeCompletion),
        "consumer waits for the other phase": (
            swap(r"(wait_barrier %\w+), %\w+( \{async_task_id = array<i32: 1>\})", r"\1, %c0_i32_5\2"),
            Finding,
        ),
        "slot released early": (release_early, (Race, ReadBeforeCompletion)),
        "copies of one slot at the barrier of another": (
            swap(r"%53, %52, %true", "%53, %48, %true"),
            (ByteCountMismatch, BarrierMisuse),
        ),
        "store never waited for": (drop(r"ttng\.async_tma_store_wait", 1), Leak),
    },
    "threads": {
        "no wait for a copy": (swap(r"(async_wait.*num = )2", r"\g<1>4"), ReadBeforeCompletion),
        "no fence": (drop(r"ttng\.fence_async_shared"), MissingFence),
        "group not closed": (
            swap(r"(%\w+) = ttg\.async_commit_group tokens %\w+", r"\1 = ttg.async_wait {num = 9 : i32}", -1),
            ReadBeforeCompletion,
        ),
    },
}


@pytest.mark.parametrize(
    ("name", "mutation"), [(name, mutation) for name, mutations in MUTATIONS.items() for mutation in mutations]
)
def test_broken_is_found(gemms, name, mutation):
    gemm = gemms[name]
    change, finding = MUTATIONS[name][mutation]
    changed = change(gemm.text)
    assert changed != gemm.text
    module = load(changed)
    for order in ("random", "eager", "lazy"):
        arguments, _, _ = gemm.arguments(256, 256, 320)
        with pytest.raises(finding) as caught:
            simulate(module, gemm.grid, arguments, order=order)
        assert isinstance(caught.value, Finding)
        assert caught.value.where is not None


def test_memory_that_is_used_again(gemms):
    gemm = gemms["bulk"]
    broken = swap(r"(arith\.cmpi )slt", r"\1sle")(gemm.text)
    for pattern in (r"ttng\.inval_barrier", r"ttg\.local_dealloc"):
        broken = drop(pattern, every=True)(broken)
    for allocate, finding in ((True, Race), (False, Leak)):
        arguments, _, _ = gemm.arguments(256, 256, 384)
        with pytest.raises(finding) as caught:
            simulate(load(broken, allocate=allocate), gemm.grid, arguments, order="lazy")
    # Where the epilogue has memory of its own, only the end tells.
    assert "ends before a copy was waited for" in str(caught.value)
