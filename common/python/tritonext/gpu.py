"""What the machine has of GPUs and drivers, asked of the system and of the driver's own library, without torch."""

from __future__ import annotations

import ctypes
import pathlib
from dataclasses import dataclass

__all__ = ["Driver", "cards", "cuda_driver", "hip_missing"]

_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}
# CUdevice_attribute.
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


@dataclass(frozen=True)
class Driver:
    """NVIDIA's driver as a process sees it.

    Attributes:
        problem: Why it cannot be used, or None.
        version: The CUDA version it implements, such as ``(13, 0)``; None when it does not say.
        devices: Pairs of name and target of its devices, such as ``("NVIDIA H200", "cuda:90")``.
    """

    problem: str | None
    version: tuple[int, int] | None = None
    devices: tuple[tuple[str, str], ...] = ()


def cards(system: pathlib.Path = pathlib.Path("/sys")) -> list[str]:
    """Return the vendors, NVIDIA or AMD, of the display controllers and accelerators on the PCI bus, one for each."""
    found = []
    for device in sorted(system.glob("bus/pci/devices/*")):
        try:
            class_, vendor = ((device / name).read_text().strip() for name in ("class", "vendor"))
        except OSError:
            continue
        # 03: display controllers, 12: processing accelerators.
        if class_[:4] in ("0x03", "0x12") and vendor in _VENDORS:
            found.append(_VENDORS[vendor])
    return found


def cuda_driver(library: str = "libcuda.so.1") -> Driver:
    """Ask NVIDIA's driver what it is, and which devices it has."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError as error:
        return Driver(f"{library} cannot be opened: {error}")
    number = ctypes.c_int()
    version = None
    if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:
        version = (number.value // 1000, number.value % 1000 // 10)
    if status := cuda.cuInit(0):
        text = ctypes.c_char_p()
        name = text.value.decode() if cuda.cuGetErrorName(status, ctypes.byref(text)) == 0 and text.value else status
        return Driver(f"cuInit fails with {name}", version)
    cuda.cuDeviceGetCount(ctypes.byref(number))
    devices = []
    for index in range(number.value):
        name = ctypes.create_string_buffer(128)
        cuda.cuDeviceGetName(name, len(name), index)
        capability = []
        for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
            value = ctypes.c_int()
            cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, index)
            capability.append(value.value)
        devices.append((name.value.decode(errors="replace"), f"cuda:{capability[0]}{capability[1]}"))
    return Driver(None, version, tuple(devices))


def hip_missing(library: str = "libamdhip64.so") -> str | None:
    """Return why AMD's runtime cannot be used, or None."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return f"{library} cannot be opened: {error}"
    return None
