"""Run kernels in Triton's interpreter on arrays of NumPy: ``python interpret.py``, with requests as lines of its input.

A request is a list of directories to import from and a list of jobs, pickled and in base64. A job has a module, the
name of a kernel in it, a grid, arguments and constants. An argument is a number, None, or ``(dtype, array, offset)``:
memory of a tensor of the type that Triton calls ``dtype``, whose address is that many elements behind the start. The
answer is a line too: the memory of all tensors of all jobs, or an error as a text.
"""

from __future__ import annotations

import base64
import importlib
import pickle
import sys
import traceback

import numpy as np


class Memory:
    """What the interpreter asks of a tensor of torch: an address, and a storage that stays where it is."""

    def __init__(self, dtype: str, array: np.ndarray, offset: int) -> None:
        self.dtype = dtype
        self.array = array
        self.offset = offset

    def data_ptr(self) -> int:
        return self.array.ctypes.data + self.offset * self.array.itemsize

    def untyped_storage(self) -> Memory:
        return Memory(self.dtype, self.array, 0)

    def cpu(self) -> Memory:
        return self

    def new_empty(self, *_args, **_keywords) -> Memory:
        return Memory(self.dtype, self.array, self.offset)

    def set_(self, storage: Memory, offset: int, _size: object, _stride: object) -> None:
        self.array, self.offset = storage.array, offset

    def storage_offset(self) -> int:
        return self.offset

    def size(self) -> tuple[int, ...]:
        return self.array.shape

    stride = size

    def copy_(self, other: Memory) -> None:
        assert other.data_ptr() == self.data_ptr()


def run(directories: list[str], jobs: list[tuple]) -> list[list[np.ndarray]]:
    """Return the memory of the tensors of each job."""
    sys.path[:0] = [directory for directory in directories if directory not in sys.path]
    results = []
    for module, kernel, grid, arguments, constants in jobs:
        # A copy in aligned memory: unpickled arrays may be anywhere.
        values = [Memory(a[0], np.array(a[1], order="C"), a[2]) if isinstance(a, tuple) else a for a in arguments]
        getattr(importlib.import_module(module), kernel)[grid](*values, **constants)
        results.append([value.array for value in values if isinstance(value, Memory)])
    return results


def main() -> None:
    for line in sys.stdin:
        try:
            answer = run(*pickle.loads(base64.b64decode(line)))
        except Exception:
            answer = traceback.format_exc()
        print("answer", base64.b64encode(pickle.dumps(answer)).decode(), flush=True)


if __name__ == "__main__":
    main()
