"""Say which entries of the suite `layout-kernels` are bound by layouts, from machine code alone.

    python benchmarks/layout_bound.py --write

An entry is bound by layouts when in each of its configurations, so in whichever is the fastest, stock Triton spends
more than a tenth of the instructions on conversions, or has a barrier of the CTA for a conversion in a loop. The list
is committed before anything is measured. Nothing is run, and no GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from suites._layout_kernels import ENTRIES, gate  # noqa: E402

__all__ = ["FILE", "bound", "main"]

FILE = HERE / "layout_bound.json"
TARGET = "cuda:90"
SHARE = 0.1


def bound(configs: list[dict[str, Any]]) -> bool:
    """Return whether an entry is bound by layouts, from what stock makes of its configurations."""
    return all(config["share"] > SHARE or config["loop_barriers"] > 0 for config in configs)


def _stock(name: str, number: int) -> dict[str, Any]:
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    entry = ENTRIES[name]
    with gate().quiet():
        found = gate().measured(entry.specialization(entry.configs[number]), TARGET, False, gate().STORE)
    if isinstance(found, str):
        raise RuntimeError(f"{name}, configuration {number}: stock does not compile it: {found}")
    return {
        "share": found.conversion_share,
        "conversions": found.conversions,
        "loop_conversions": found.loop_conversions,
        "barriers": found.conversion_barriers,
        "loop_barriers": found.loop_conversion_barriers,
    }


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the list beside this file")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    arguments = parser.parse_args(argv)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        tasks = {
            name: [pool.submit(_stock, name, number) for number in range(len(entry.configs))]
            for name, entry in ENTRIES.items()
        }
        found = {name: [task.result() for task in tasks[name]] for name in ENTRIES}
    listed = {name: {"bound": bound(configs), "configs": configs} for name, configs in found.items()}
    text = "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in listed.items()) + "\n}\n"
    if arguments.write:
        FILE.write_text(text)
    names = [name for name, value in listed.items() if value["bound"]]
    print(f"{len(names)} of {len(listed)} are bound by layouts: {', '.join(names)}")


if __name__ == "__main__":
    main()
