"""What recording costs: the same work with plain and with recorded kernels, in turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from triton.runtime import driver

from tritonext.errors import UserError

from .gpu import gpu
from .model import Profile
from .runtime import profile

__all__ = ["Overhead", "overhead"]


@dataclasses.dataclass(frozen=True)
class Overhead:
    """Times of one mode.

    Attributes:
        mode: What was recorded.
        plain: Median ns of a call with plain kernels.
        recorded: Median ns of a call with recorded ones.
        spread: Relative median absolute deviation of the ratio of neighbouring calls.
        data: What was recorded meanwhile.
    """

    mode: str
    plain: float
    recorded: float
    spread: float
    data: Profile

    @property
    def cost(self) -> float:
        """``recorded / plain``, less one."""
        return self.recorded / self.plain - 1


def overhead(
    call: Callable[[], object], kernels: str = "", modes: Sequence[str] = ("header", "auto", "all"), repeats: int = 50
) -> tuple[Overhead, ...]:
    """Measure what recording costs on the GPU, between events on the current stream.

    Plain and recorded calls alternate, so that both see the same clocks and temperatures.

    Args:
        call: Does the work: launches kernels on the current stream.
        kernels: Which are recorded, as for :class:`.runtime.profile`.
        modes: Modes to measure, each by itself.
        repeats: Calls of each kind.

    Raises:
        UserError: ``repeats`` is less than 2.
    """
    if repeats < 2:
        raise UserError("repeats is unusable", expected="at least 2", found=repeats)
    here = gpu(driver.active.get_current_device())
    stream = driver.active.get_current_stream(here.index)
    result = []
    for mode in modes:
        times = np.zeros((repeats, 2))
        with here.timer(stream) as time, profile(kernels, mode) as recording:
            for number in range(-3, repeats):
                with recording.pause():
                    plain = time(call)
                recorded = time(call)
                # The first ones compile and warm up.
                if number >= 0:
                    times[number] = plain, recorded
        ratios = times[:, 1] / times[:, 0]
        spread = float(np.median(np.abs(ratios - np.median(ratios))) / np.median(ratios))
        plain, recorded = (float(value) for value in np.median(times, axis=0))
        result.append(Overhead(mode, plain, recorded, spread, recording.data))
    return tuple(result)
