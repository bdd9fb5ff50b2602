"""``torch.compile`` and kernels under a pipeline.

torch.compile takes a Triton kernel that a compiled function launches apart: it writes its source anew and compiles that
in worker processes, which know of no pipeline of this one, under a key that covers none. So such a kernel is refused.
Operators of ``torch.library.custom_op`` stay whole, and need none of this (docs/torch.md).

The only code that touches private interfaces of torch, which it never imports.
"""

from __future__ import annotations

import functools
import warnings
from types import ModuleType
from typing import Any

from . import _import_hook, activation
from .errors import PipelineError

__all__ = ["install"]

_MODULE = "torch._higher_order_ops.triton_kernel_wrap"


@functools.cache
def install() -> None:
    """Have torch ask about each kernel that it would take apart, as soon as it is imported; later calls do nothing."""
    _import_hook.when_imported(_MODULE, _guard)


def _guard(module: ModuleType) -> None:
    """Refuse in the place where torch first sees a kernel, in a compiled function and in ``wrap_triton``."""
    hopifier = getattr(module, "TritonHOPifier", None)
    if not hasattr(hopifier, "init_variable"):
        warnings.warn(
            "this release of torch takes kernels apart in another way than those that tritonext knows; a compiled"
            " function may drop a kernel's pipelines, unless an operator of torch.library launches it",
            stacklevel=2,
        )
        return
    original = hopifier.init_variable

    @functools.wraps(original)
    def init_variable(self: Any, variable: Any, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        refuse(kernel)
        return original(self, variable, kernel, *args, **kwargs)

    hopifier.init_variable = init_variable


def refuse(kernel: Any) -> None:
    """Raise where torch would take a kernel apart that compiles under a pipeline.

    An error, and not torch's request to leave the call to eager mode: it would trace the launch itself then, through
    Triton's compiler.

    Args:
        kernel: A ``@triton.jit`` function, or an autotuner or heuristics around one.

    Raises:
        PipelineError: The kernel has a pipeline, uses ops of an extension, or one is active around it.
    """
    from ._triton.caching import extensions_used

    names = [pipeline.name for pipeline in activation.active()]
    while True:
        names += [pipeline.name for pipeline in getattr(kernel, "tritonext_pipelines", ())]
        inner = getattr(kernel, "fn", None)
        if not hasattr(inner, "arg_names"):
            break
        kernel = inner
    names += sorted(extensions_used(kernel))
    if names:
        raise PipelineError(
            "torch.compile would take a kernel apart, and lose the pipelines it compiles under",
            where=f"kernel {kernel.__name__}",
            found=", ".join(dict.fromkeys(names)),
            hint="launch it in an operator of torch.library.custom_op, which stays whole; see docs/torch.md",
        )
