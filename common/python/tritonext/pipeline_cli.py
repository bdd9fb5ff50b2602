"""The command ``tritonext pipeline``: what the installed backends run, by anchor, and what pipelines change in it."""

from __future__ import annotations

import argparse
import difflib
import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import triton

from . import activation, offline
from ._triton import pipeline as planning
from .errors import UserError

if TYPE_CHECKING:
    from ._triton.pipeline import Plan, Stock

__all__ = ["golden", "main"]

_EXAMPLES = """\
examples:
  tritonext pipeline --target cuda:90
  tritonext pipeline --target hip:gfx942 --stage ttgir --json
  tritonext pipeline --target cuda:90 --enable layout --kernel gemm_fp16
  tritonext pipeline --target cuda:100 --language gluon
  tritonext pipeline golden --check common/tests/pipeline/golden
  tritonext pipeline golden --write common/tests/pipeline/golden

A pass is named by its stage and its anchor. Where a name repeats, #1, #2, … says which; #-1 is the last one.
"""


# What triton 3.9 assumes anyway, but warns about when it is left open.
_DEFAULTS: dict[str, Any] = {"enable_fp_fusion": True}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 when ``golden --check`` finds a difference.

    Raises:
        TritonextError: The target, an option or a pipeline is unusable.
    """
    parser = argparse.ArgumentParser(
        prog="tritonext pipeline",
        description="List the passes of each stage with their anchors. With pipelines enabled, mark what they change: "
        "+ added, - disabled, ~ replaced or wrapped.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", nargs="?", choices=["show", "golden"], default="show", help="golden: record lists")
    parser.add_argument("--target", help="such as cuda:90 or hip:gfx942")
    parser.add_argument("--stage", help="list this stage only")
    parser.add_argument("--language", choices=["triton", "gluon"], default="triton", help="front end of the kernel")
    parser.add_argument("--enable", action="append", default=[], metavar="ID[:KEY=VALUE]", help="pipeline to enable")
    parser.add_argument("--kernel", help="take the compile options of this kernel of tritonext.testing.kernels")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="compile option to set")
    parser.add_argument("--json", action="store_true", help="print machine-readable JSON")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--write", type=pathlib.Path, metavar="DIR", help="golden: write the lists of every target")
    where.add_argument("--check", type=pathlib.Path, metavar="DIR", help="golden: compare with the lists there")
    options = parser.parse_args(arguments)
    if options.action == "golden":
        if options.write is None and options.check is None:
            parser.error("golden needs --write DIR or --check DIR")
        return _write(options.write) if options.write else _check(options.check)
    if options.target is None:
        parser.error("the following arguments are required: --target")
    return _show(options)


def _show(options: argparse.Namespace) -> int:
    target = offline.parse_target(options.target)
    compile_options = _compile_options(options)
    offline.check_options(target, compile_options, "--option")
    stock = planning.stock(target, compile_options, options.language)
    pipelines = activation.prepare(options.enable, "--enable") if options.enable else ()
    state = activation.state_with(pipelines)
    active = state.pipelines if state else ()
    plan = planning.plan(active, stock.backend, stock.table, stock.options, stock.language)
    if options.stage is not None and options.stage not in stock.table:
        raise UserError(
            "the backend has no such stage",
            where=f"target {options.target}, language {options.language}",
            expected=", ".join(stock.table),
            found=options.stage,
        )
    stages = [options.stage] if options.stage else list(stock.table)
    if options.json:
        record = {
            "triton": triton.__version__,
            "target": options.target,
            "language": options.language,
            "pipelines": [pipeline.name for pipeline in active],
            "replaced_by": plan.pipeline[1] if plan.pipeline else None,
            "stages": [
                {"stage": name, "changes": _whole(plan, name), "passes": list(_lines(stock, plan, name))}
                for name in stages
            ],
        }
        print(json.dumps(record, indent=2))
        return 0
    print(f"{options.target}, {options.language}, triton {triton.__version__}")
    if active:
        print("enabled: " + ", ".join(pipeline.name for pipeline in active))
    if plan.pipeline:
        print(f"~ the whole pipeline is replaced: {plan.pipeline[1]}")
    for name in stages:
        print(f"\n{name}" + "".join(f"  ~ {change}" for change in _whole(plan, name)))
        for line in _lines(stock, plan, name):
            note = f"  ({line['pipeline']})" if "pipeline" in line else ""
            print(f"  {line['mark']} {line['text']}{note}".rstrip())
    return 0


def _compile_options(options: argparse.Namespace) -> dict[str, Any]:
    values = dict(_DEFAULTS)
    if options.kernel is not None:
        from .testing import kernels

        values.update(kernels.get(options.kernel).options)
    values.update(offline.parse_setting(text, "--option") for text in options.option)
    return values


def _whole(plan: Plan, stage: str) -> list[str]:
    """Return what happens to a stage as a whole."""
    changes = [f"replaced: {plan.replacements[stage][1]}"] if stage in plan.replacements else []
    return changes + [str(step) for step in plan.wrappers.get(stage, ())]


def _lines(stock: Stock, plan: Plan, stage: str) -> Iterator[dict[str, str]]:
    """Yield the passes of a stage in the order they run, with a mark for those that change."""
    changes = plan.stages[stage].changes if stage in plan.stages else []
    for position, anchor in enumerate(stock.anchors.get(stage, ())):
        here = [change for change in changes if change.position == position]
        by_kind = {change.kind: change for change in here}

        def added(kind: str, here: list = here) -> Iterator[dict[str, str]]:
            for change in here:
                if change.kind == kind:
                    for text in change.passes:
                        yield {"mark": "+", "text": text, "pipeline": change.pipeline}

        yield from added("before")
        if "replace" in by_kind:
            change = by_kind["replace"]
            text = f"{anchor} -> {', '.join(change.passes)}"
            yield {"mark": "~", "text": text, "anchor": anchor, "pipeline": change.pipeline}
        elif "disable" in by_kind:
            yield {"mark": "-", "text": anchor, "anchor": anchor, "pipeline": by_kind["disable"].pipeline}
        else:
            yield {"mark": " ", "text": anchor, "anchor": anchor}
        yield from added("after")


def golden(target: str) -> str:
    """Return the stock anchors of ``target`` with default options, for both languages, one a line."""
    lines = [f"# stock passes of triton {triton.__version__} for {target}, by `tritonext pipeline golden --write`"]
    for language in ("triton", "gluon"):
        stock = planning.stock(offline.parse_target(target), _DEFAULTS, language)
        for stage, anchors in stock.anchors.items():
            lines += ["", f"[{language} {stage}]", *anchors]
    return "\n".join(lines) + "\n"


def _file(directory: pathlib.Path, target: str) -> pathlib.Path:
    return directory / f"{target.replace(':', '-')}.txt"


def _write(directory: pathlib.Path) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    for target in offline.TARGETS:
        _file(directory, target).write_text(golden(target))
        print(_file(directory, target))
    return 0


def _check(directory: pathlib.Path) -> int:
    differences = 0
    for target in offline.TARGETS:
        path = _file(directory, target)
        if not path.is_file():
            raise UserError("there is no recorded list", where=path, hint="record it with `golden --write`")
        expected, found = path.read_text().splitlines(), golden(target).splitlines()
        if expected != found:
            differences += 1
            print(
                "\n".join(difflib.unified_diff(expected, found, str(path), f"triton {triton.__version__}", lineterm=""))
            )
    print(f"{len(offline.TARGETS) - differences} of {len(offline.TARGETS)} lists agree")
    return 1 if differences else 0
