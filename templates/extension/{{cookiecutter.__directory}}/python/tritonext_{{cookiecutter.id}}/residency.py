"""A hook of the backend: kernels leave a multiprocessor room for several of their programs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tritonext.errors import OptionError
from tritonext.pipeline import StageInfo, Step, wrap_stage

__all__ = ["ctas_of", "residency"]

_THREADS = re.compile(r"^\.reqntid [0-9, ]+$", re.MULTILINE)
_MOST_CTAS = 32


def ctas_of(value: Any) -> int:
    """Return the option ``ctas_per_sm`` as a number.

    Raises:
        OptionError: It is none, or out of range.
    """
    text = str(value)
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_CTAS:
        raise OptionError(
            "the number of programs is out of range", expected=f"ctas_per_sm=1 to {_MOST_CTAS}", found=repr(value)
        )
    return int(text)


def residency(ctas: int) -> Step:
    """Return the step that limits registers so that ``ctas`` programs of a kernel fit on a multiprocessor of NVIDIA.

    The assembler is told by the directive ``.minnctapersm`` (PTX ISA, "Performance-Tuning Directives") and spills where
    a kernel does not get by with its share of the registers.
    """
    # What a kernel is cached by has the content of this file anyway; the text tells the numbers apart.
    return wrap_stage("ptx", functools.partial(_require, ctas), key=f"residency {ctas}", targets=("cuda",))


def _require(ctas: int, inner: Callable, source: Any, metadata: dict, info: StageInfo) -> str:
    return _THREADS.sub(lambda match: f"{match[0]}\n.minnctapersm {ctas}", inner(source, metadata))
