"""Runs the native self-test of one library and prints its JSON; a process of its own, because it may crash."""

from __future__ import annotations

import json
import pathlib
import sys

from tritonext._triton import plugin
from tritonext.errors import TritonextError

if __name__ == "__main__":
    try:
        print(json.dumps(plugin.open_library(pathlib.Path(sys.argv[1]), None).self_test()))
    except TritonextError as error:
        # The caller shows one line.
        sys.exit(f"{error.message}: {error.found}")
