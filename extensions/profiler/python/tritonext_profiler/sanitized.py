"""Runs a script in this process with a sanitizer on: ``python -m tritonext_profiler.sanitized TOOL SCRIPT …``.

:func:`.sanitize.run` starts it, so that what a failed check leaves of the GPU's context ends with a process.
"""

from __future__ import annotations

import pathlib
import runpy
import sys
from collections.abc import Sequence

import triton

from tritonext import launch

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run a script as ``python`` would.

    Args:
        arguments: A key of :data:`.sanitize.TOOLS`, the script, and its arguments.

    Returns:
        0; how the script ends otherwise, this does too.
    """
    tool, script, *rest = arguments
    # Sanitizers add scratch memory to kernels whose scripts set no allocator.
    launch.provide_scratch()
    if tool == "gsan":
        # It sees only memory from an allocator of its own, which Triton's runner puts in place.
        from triton.tools import gsan

        return gsan.main([script, *rest])
    triton.knobs.compilation.instrumentation_mode = tool
    sys.argv = [script, *rest]
    sys.path[0] = str(pathlib.Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
