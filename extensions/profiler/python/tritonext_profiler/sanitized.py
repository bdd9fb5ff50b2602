"""Runs a script under a sanitizer, in a process that :func:`.sanitize.run` starts for it.

The variable ``TRITON_INSTRUMENTATION_MODE`` says which, and reaches the processes that the script starts.
"""

from __future__ import annotations

import pathlib
import runpy
import sys
from collections.abc import Sequence

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
        # This one sees only memory from an allocator of its own, which Triton's runner puts in place.
        from triton.tools import gsan

        return gsan.main([script, *rest])
    sys.argv = [script, *rest]
    sys.path[0] = str(pathlib.Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
