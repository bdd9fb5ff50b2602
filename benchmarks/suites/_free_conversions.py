"""Stock Triton with conversions of layouts that move nothing.

What such a kernel computes is wrong. Its time says how much of stock's time the exchange of elements takes, so about
what the best choice of layouts could save.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Collection, Mapping
from typing import Any

from triton._C.libtriton import ir

from tritonext.pipeline import Pipeline, wrap_stage
from tritonext.testing import quiet

__all__ = ["FREED", "PIPELINE"]

# Of the metadata of a kernel: how many of its conversions move nothing.
FREED = "freed_conversions"
_CONVERSION = re.compile(r"ttg\.convert_layout (%[\w#]+)(?: \{[^}]*\})? : ")


def _parsed(text: str, context: Any) -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    return module


def _freed(inner: Callable, source: Any, metadata: dict[str, Any], info: Any) -> Any:
    """Lower a module whose conversions are reshapes of any order: those hand on registers as they are.

    Both layouts have to give a thread equally many elements. Only the lowering tells, so it is asked.
    """
    lines = str(source).splitlines()
    conversions = [number for number, line in enumerate(lines) if _CONVERSION.search(line)]

    def lowered(chosen: Collection[int]) -> tuple[Any, Mapping[str, Any]]:
        text = "\n".join(
            _CONVERSION.sub(r"tt.reshape \1 allow_reorder : ", line) if number in chosen else line
            for number, line in enumerate(lines)
        )
        found = dict(metadata)
        return inner(_parsed(text, source.context), found), found

    free: list[int] = []
    with quiet():
        for number in conversions:
            with contextlib.suppress(RuntimeError):
                lowered([*free, number])
                free.append(number)
        result, found = lowered(free)
    metadata.update(found)
    metadata[FREED] = [len(free), len(conversions)]
    return result


PIPELINE = Pipeline((wrap_stage("llir", _freed, key="conversions that move nothing, 1"),))
