"""A driver without a GPU, so that launches and ``warmup`` compile for a named target on any machine.

Kernels go through everything Triton does on a launch, specialization and caches included, but for the launch itself,
which does nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from tritonext.offline import parse_target

__all__ = ["Array", "active"]


class Array:
    """Stands in for a tensor argument: a dtype and an aligned address.

    Args:
        dtype: Triton's spelling, such as ``fp16``.
        address: What ``data_ptr()`` returns.
    """

    def __init__(self, dtype: str, address: int = 1 << 20) -> None:
        self.dtype = dtype
        self.address = address

    def data_ptr(self) -> int:
        return self.address

    def ptr_range(self) -> int:
        return 0


class _Utils:
    @staticmethod
    def get_device_properties(device: int) -> dict[str, int]:
        return {"max_shared_mem": 1 << 20}

    @staticmethod
    def load_binary(*arguments: Any) -> tuple[object, object, int, int, int]:
        return object(), object(), 0, 0, 1 << 10

    @staticmethod
    def unload_module(module: object) -> None:
        return None


class _Driver:
    utils = _Utils

    def __init__(self, target: GPUTarget) -> None:
        self._target = target

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Callable:
        """Return a benchmark that runs a candidate once and calls the earlier of two the faster."""
        count = iter(range(1 << 30))

        def benchmark(call: Callable[[], object], quantiles: tuple[float, ...]) -> list[float]:
            call()
            return [float(next(count))] * len(quantiles)

        return benchmark

    @staticmethod
    def launcher_cls(source: object, metadata: object) -> Callable[..., None]:
        return lambda *arguments: None


@contextlib.contextmanager
def active(target: str = "cuda:90") -> Iterator[None]:
    """Launch for ``target`` inside the block. Kernels that were launched before keep the target they had."""
    previous = driver._active
    driver.set_active(_Driver(parse_target(target)))
    try:
        yield
    finally:
        # A launched kernel is unloaded through the active driver whenever it is collected. Where the machine has no
        # other, this one stays.
        if previous is not None or any(backend.driver.is_active() for backend in backends.values()):
            driver._active = previous
