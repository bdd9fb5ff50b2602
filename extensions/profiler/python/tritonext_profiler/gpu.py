"""Memory and copies of a GPU through the driver's own interface, apart from whatever runs on it.

Nothing here waits for the program's streams but :meth:`Gpu.synchronize`, and nothing disturbs a capture of theirs.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator

import numpy as np

from tritonext.errors import UserError

from .model import Device

__all__ = ["Gpu", "gpu"]

# Of cuda.h.
_ATTRIBUTES = {"sms": 16, "memory_clock": 36, "bus_width": 37, "shared": 97, "major": 75, "minor": 76}
_RELAXED = 2
_NON_BLOCKING = 1
_HOST, _DEVICE = 1, 2
_CHUNK = 8 << 20
# What is cleared before something is timed, and how often: larger than the caches, and 0.3 ms at 3 TB/s.
_BALLAST, _TURNS = 128 << 20, 8


@functools.cache
def _driver() -> ctypes.CDLL:
    """Return the driver's library, which the program's GPU work needs anyway.

    Raises:
        UserError: There is none.
    """
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise UserError("profiling needs an NVIDIA GPU", found=str(error)) from error
    _checked(library, "cuInit", 0)
    return library


def _checked(library: ctypes.CDLL, function: str, *arguments: object) -> None:
    status = getattr(library, function)(*arguments)
    if status:
        text = ctypes.c_char_p()
        library.cuGetErrorName(status, ctypes.byref(text))
        raise UserError("the GPU's driver refuses", where=function, found=(text.value or b"?").decode())


def _call(function: str, *arguments: object) -> None:
    _checked(_driver(), function, *arguments)


class _Entered(threading.local):
    """Whether this thread has made the context current."""

    yes = False


class _Copy2D(ctypes.Structure):
    """``CUDA_MEMCPY2D``."""

    _fields_ = (
        ("src_x", ctypes.c_size_t),
        ("src_y", ctypes.c_size_t),
        ("src_type", ctypes.c_uint),
        ("src_host", ctypes.c_void_p),
        ("src_device", ctypes.c_uint64),
        ("src_array", ctypes.c_void_p),
        ("src_pitch", ctypes.c_size_t),
        ("dst_x", ctypes.c_size_t),
        ("dst_y", ctypes.c_size_t),
        ("dst_type", ctypes.c_uint),
        ("dst_host", ctypes.c_void_p),
        ("dst_device", ctypes.c_uint64),
        ("dst_array", ctypes.c_void_p),
        ("dst_pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class Gpu:
    """One GPU: its primary context, which PyTorch and Triton use too, and a stream of its own.

    Args:
        index: Number of the device, as CUDA counts.

    Raises:
        UserError: There is no such GPU, or the driver refuses.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        device = ctypes.c_int()
        _call("cuDeviceGet", ctypes.byref(device), index)
        self._device = device.value
        self._context = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)
        self._entered = _Entered()
        self._stream = ctypes.c_void_p()
        self._pinned = ctypes.c_void_p()
        self._is_capturing = _driver().cuStreamIsCapturing
        self._is_capturing.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        # One copy at a time: they share the pinned memory.
        self._lock = threading.Lock()
        with self.current():
            _call("cuStreamCreate", ctypes.byref(self._stream), _NON_BLOCKING)
            _call("cuMemHostAlloc", ctypes.byref(self._pinned), ctypes.c_size_t(_CHUNK), 0)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make the context current, and what is done with it no part of a capture that is under way.

        Whoever does much in a row enters it once around all of it: each call of the driver gives up the interpreter's
        lock, which the program's launches then hand back and forth.
        """
        if self._entered.yes:
            yield
            return
        _call("cuCtxPushCurrent_v2", self._context)
        self._entered.yes = True
        try:
            with self.relaxed():
                yield
        finally:
            self._entered.yes = False
            _call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    @contextlib.contextmanager
    def relaxed(self) -> Iterator[None]:
        """Let this thread do what would else end a capture, such as loading a kernel."""
        mode = ctypes.c_int(_RELAXED)
        _call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            yield
        finally:
            _call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def describe(self) -> Device:
        """Return what the analysis needs to know."""
        values = {}
        for name, attribute in _ATTRIBUTES.items():
            value = ctypes.c_int()
            _call("cuDeviceGetAttribute", ctypes.byref(value), attribute, self._device)
            values[name] = value.value
        text = ctypes.create_string_buffer(256)
        _call("cuDeviceGetName", text, 256, self._device)
        # Two transfers per clock (kHz) over the width of the bus (bits).
        bandwidth = 2 * values["memory_clock"] * 1000 * values["bus_width"] // 8
        target = f"cuda:{values['major'] * 10 + values['minor']}"
        return Device(self.index, text.value.decode(), target, values["sms"], values["shared"], bandwidth)

    def allocate(self, size: int) -> int:
        """Return the address of ``size`` bytes, all zero.

        Raises:
            UserError: There is not so much memory.
        """
        address = ctypes.c_uint64()
        with self.current():
            _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
            _call("cuMemsetD8Async", address, ctypes.c_ubyte(0), ctypes.c_size_t(size), self._stream)
            _call("cuStreamSynchronize", self._stream)
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        with self.current():
            _call("cuMemFree_v2", ctypes.c_uint64(address))

    @property
    def stream(self) -> int:
        """Handle of the stream of our own."""
        return self._stream.value or 0

    def read(self, address: int, size: int) -> np.ndarray:
        """Return ``size`` bytes from ``address``, without waiting for anything but the copy."""
        return self.read_rows(address, size, size, 1)[0]

    def read_rows(self, address: int, pitch: int, width: int, count: int) -> np.ndarray:
        """Return the first ``width`` bytes of each of ``count`` rows that are ``pitch`` bytes apart, likewise.

        The interpreter's lock is free meanwhile, so that the program goes on launching.
        """
        if width > _CHUNK and width != pitch:
            return np.stack([self.read(address + row * pitch, width) for row in range(count)])
        result = np.empty((count, width), np.uint8)
        # Bytes without gaps are rows of one.
        if width == pitch:
            pitch, width, count = 1, 1, count * width
        rows = _CHUNK // width
        with self._lock, self.current():
            for first in range(0, count, rows):
                number = min(rows, count - first)
                source = address + first * pitch
                if width == pitch:
                    length = ctypes.c_size_t(number)
                    _call("cuMemcpyDtoHAsync_v2", self._pinned, ctypes.c_uint64(source), length, self._stream)
                else:
                    copy = _Copy2D(
                        src_type=_DEVICE,
                        src_device=source,
                        src_pitch=pitch,
                        dst_type=_HOST,
                        dst_host=self._pinned,
                        dst_pitch=width,
                        width=width,
                        height=number,
                    )
                    _call("cuMemcpy2DAsync_v2", ctypes.byref(copy), self._stream)
                _call("cuStreamSynchronize", self._stream)
                ctypes.memmove(result.ctypes.data + first * width, self._pinned, number * width)
        return result

    def write(self, address: int, data: np.ndarray) -> None:
        """Write bytes to ``address``, likewise."""
        data = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        with self._lock, self.current():
            for offset in range(0, data.size, _CHUNK):
                length = min(_CHUNK, data.size - offset)
                ctypes.memmove(self._pinned, data.ctypes.data + offset, length)
                target = ctypes.c_uint64(address + offset)
                _call("cuMemcpyHtoDAsync_v2", target, self._pinned, ctypes.c_size_t(length), self._stream)
                _call("cuStreamSynchronize", self._stream)

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero, likewise."""
        with self._lock, self.current():
            _call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size), self._stream)
            _call("cuStreamSynchronize", self._stream)

    def ctas_per_sm(self, function: int, threads: int, shared: int) -> int:
        """Return how many CTAs of a loaded kernel fit on an SM.

        Args:
            function: The driver's handle.
            threads: Threads of a CTA.
            shared: Bytes of its dynamic shared memory.
        """
        count = ctypes.c_int()
        arguments = (ctypes.c_void_p(function), threads, ctypes.c_size_t(shared))
        with self.current():
            _call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(count), *arguments)
        return count.value

    @contextlib.contextmanager
    def timer(self, stream: int) -> Iterator[Callable[[Callable[[], object]], float]]:
        """Yield what returns the ns between two events on ``stream`` around what a call launches there.

        It waits for them. The device is busy before, so that what the host does for the launch is not measured.
        """
        ballast = self.allocate(_BALLAST)
        try:
            yield functools.partial(self._time, ctypes.c_uint64(ballast), ctypes.c_void_p(stream))
        finally:
            self.free(ballast)

    def _time(self, ballast: ctypes.c_uint64, stream: ctypes.c_void_p, call: Callable[[], object]) -> float:
        events, elapsed = [ctypes.c_void_p(), ctypes.c_void_p()], ctypes.c_float()
        with self.current():
            for event in events:
                _call("cuEventCreate", ctypes.byref(event), 0)
            for _ in range(_TURNS):
                _call("cuMemsetD8Async", ballast, ctypes.c_ubyte(0), ctypes.c_size_t(_BALLAST), stream)
            _call("cuEventRecord", events[0], stream)
        call()
        with self.current():
            _call("cuEventRecord", events[1], stream)
            _call("cuEventSynchronize", events[1])
            _call("cuEventElapsedTime", ctypes.byref(elapsed), *events)
            for event in events:
                _call("cuEventDestroy_v2", event)
        return elapsed.value * 1e6

    def synchronize(self) -> None:
        """Wait for everything that runs on the GPU."""
        with self.current():
            _call("cuCtxSynchronize")

    def capturing(self, stream: int) -> bool:
        """Whether what is launched on ``stream`` goes into a graph."""
        status = ctypes.c_int()
        # Asked at each launch, so without the detours of `_call`.
        if self._is_capturing(stream, ctypes.byref(status)):
            # The default stream while another one is captured: nothing can be launched on it.
            return False
        return status.value != 0


@functools.cache
def gpu(index: int) -> Gpu:
    """Return the GPU of that number, always the same object."""
    return Gpu(index)
