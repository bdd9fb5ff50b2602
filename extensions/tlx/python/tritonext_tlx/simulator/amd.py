"""What a simulation does on AMD GPUs: accesses by a pointer and offsets."""

from __future__ import annotations

from typing import Any

import triton.language as tl

__all__ = ["Amd"]


class Amd:
    """The ops; part of :class:`.operations.Operations`."""

    semantic: Any

    def _pointers(self, ptr: Any, offsets: Any) -> Any:
        if (offsets.handle.data < 0).any():
            raise self._refuse("offsets of buffer accesses are not negative", found=int(offsets.handle.data.min()))
        return self.semantic.add(ptr, offsets, False)

    def buffer_load(self, ptr, offsets, mask=None, other=None, cache_modifier=""):
        return tl.load(self._pointers(ptr, offsets), mask, 0 if other is None and mask is not None else other)

    def buffer_store(self, stored_value, ptr, offsets, mask=None, cache_modifier=""):
        tl.store(self._pointers(ptr, offsets), stored_value, mask)

    def buffer_atomic_add(self, ptr, offsets, value, mask=None, sem=None, scope=None, contiguity=1):
        return tl.atomic_add(self._pointers(ptr, offsets), value, mask, sem, scope)

    def buffer_load_to_local(self, dest, ptr, offsets, mask=None, other=None, cache_modifier="", contiguity=1):
        return self.async_load(self._pointers(ptr, offsets), dest, mask, other)
