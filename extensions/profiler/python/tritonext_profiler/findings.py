"""Plain-language findings: what stands out in an analysis, with the figures behind it and what could be done."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from .analysis import Analysis
from .model import HostEvent, Profile

__all__ = ["Finding", "findings", "measurement"]

# Shares and ratios from which something is worth a sentence.
_WAIT = 0.15
_ISSUE = 0.20
_CONVERSION = 0.05
_BARRIER = 0.05
_TAIL = 0.10
_IMBALANCE = 0.10
_SLOW_SM = 0.10
_RAMP = 0.20
_JITTER = 0.5
_STORE = 0.20
_CLOSURE = 0.01


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that stands out.

    Attributes:
        kind: A stable name for tools, such as ``copy-wait``.
        message: What was found, one sentence.
        evidence: The figures behind it.
        advice: What could be done; empty where nothing general can be said.
        weight: Share of the kernel's time concerned, for the order.
        severe: Whether it puts the measurement itself in doubt.
    """

    kind: str
    message: str
    evidence: str
    advice: str = ""
    weight: float = 0.0
    severe: bool = False


def findings(analysis: Analysis) -> tuple[Finding, ...]:
    """Return what stands out about a kernel: doubts about the measurement first, then what concerns most time."""
    found = [finding for rule in _RULES for finding in rule(analysis)]
    return tuple(sorted(found, key=lambda finding: (not finding.severe, -finding.weight)))


def measurement(profile: Profile) -> tuple[Finding, ...]:
    """Return what to know about the measurement as a whole: losses, notices, and what autotuners chose."""
    result = []
    if profile.loss:
        loss = profile.loss
        wishes = [f"buffer={loss.needed}, or a sparser sample"] if loss.launches or loss.segments else []
        wishes += [f"records={loss.needed_records}"] if loss.records else []
        advice = f"profile with {' and '.join(wishes)}"
        result.append(Finding("loss", str(loss), ", ".join(loss.kernels), advice, severe=True))
    result += [Finding("notice", notice, "", severe=True) for notice in profile.notices]
    result += [_choice(event) for event in profile.events if event.kind == "tune" and event.detail]
    return tuple(result)


def _choice(event: HostEvent) -> Finding:
    (best, time), *others = event.detail.items()
    when = f"in {(event.end - event.start) / 1e9:.2f} s" if event.end > event.start else "from what is stored"
    message = f"{event.name} was tuned {when}: {best} took {time * 1000:,.1f} µs"
    evidence = "; ".join(f"{config}: {slower / time - 1:+.0%}" for config, slower in others[:4])
    more = f"; and {len(others) - 4} more" if len(others) > 4 else ""
    return Finding(
        "tuning", message, evidence + more, "its launches while it measured are plain, and not in the profile"
    )


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"


def _place(analysis: Analysis, *categories: str) -> str:
    """Return the source line with most time in some categories."""
    lines = [(sum(line.categories.get(name, 0.0) for name in categories), line) for line in analysis.lines]
    share, line = max(lines, key=lambda entry: entry[0], default=(0.0, None))
    if line is None or not share or not line.line:
        return ""
    return f" at {line.file.rsplit('/', 1)[-1]}:{line.line}"


def _integrity(analysis: Analysis) -> Iterator[Finding]:
    if analysis.closure > _CLOSURE:
        yield Finding(
            "closure",
            "the recorded spans do not add up to the time that warps lived",
            f"largest difference {_percent(analysis.closure)}",
            "treat the shares as estimates; report the kernel",
            severe=True,
        )
    if analysis.unrecorded:
        yield Finding(
            "unrecorded",
            f"{_percent(analysis.unrecorded)} of the warps' time was not recorded, because their places were full",
            f"{len(analysis.rows)} launches looked at",
            "give each warp more records",
            severe=True,
        )
    resources = analysis.kernel.resources
    now, plain = resources.get("ctas_per_sm"), resources.get("plain_ctas_per_sm")
    if now is not None and plain is not None and now < plain:
        yield Finding(
            "occupancy",
            "the records change the kernel: fewer CTAs fit on an SM",
            f"{now} instead of {plain} CTAs per SM",
            'use mode="header" for times that are not distorted',
            severe=True,
        )
    spills, before = resources.get("spills"), resources.get("plain_spills")
    # In mode `header` those are the stamps of the begin, which one thread keeps there.
    if analysis.kernel.mode != "header" and spills is not None and before is not None and spills > before:
        yield Finding(
            "spills",
            "the records make the kernel spill registers",
            f"{spills} bytes instead of {before}",
            'use mode="header" for times that are not distorted',
            severe=True,
        )


def _moved(analysis: Analysis) -> Iterator[Finding]:
    if analysis.kernel.moved:
        regions = [analysis.kernel.regions[number] for number in analysis.kernel.moved]
        yield Finding(
            "moved",
            f"the assembler moved {len(regions)} operations away from their records, so that their time is another's",
            ", ".join(f"{region.category} at {region.place}" for region in regions[:6]),
            "trust the sums of neighbours rather than their shares",
            severe=True,
        )


def _copies(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("copy_wait", phase="steady")
    if share < _WAIT:
        return
    kernel, device = analysis.kernel, analysis.device
    advice = "start the copies earlier, or make the tiles larger, so that a copy has more work to hide behind"
    stages, shared = kernel.num_stages, kernel.resources.get("shared", 0)
    if stages > 1 and shared and device.shared:
        each = shared // stages
        # What one more stage needs has to fit for as many CTAs as are there now.
        room = device.shared // max(analysis.waves.resident, 1)
        if shared + each <= room:
            advice = (
                f"num_stages={stages + 1} fits in shared memory: about {shared + each:,} of {room:,} bytes for each of "
                f"{analysis.waves.resident} CTAs per SM"
            )
        else:
            advice = (
                f"num_stages={stages + 1} would need about {shared + each:,} bytes of shared memory, and "
                f"{room:,} are there for each CTA: smaller tiles would make room"
            )
    yield Finding(
        "copy-wait",
        f"warps wait {_percent(share)} of steady state for copies{_place(analysis, 'copy_wait')}",
        f"copy waits {_percent(share)}, MMA waits {_percent(analysis.share('mma_wait', phase='steady'))}, "
        f"copy issue {_percent(analysis.share('copy_issue', phase='steady'))} of steady state",
        advice,
        share * (analysis.phases[1] if analysis.phases else 1.0),
    )


def _issue(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("copy_issue", phase="steady")
    if share >= _ISSUE and len(analysis.roles) < 2:
        yield Finding(
            "copy-issue",
            f"warps spend {_percent(share)} of steady state on issuing copies{_place(analysis, 'copy_issue')}",
            f"MMA issue {_percent(analysis.share('mma_issue', phase='steady'))}, MMA waits "
            f"{_percent(analysis.share('mma_wait', phase='steady'))} of steady state",
            "copies by tensor descriptors are issued by one thread, and a producer of its own hides them altogether",
            share,
        )


def _products(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("mma_wait", phase="steady")
    waits = ("copy_wait", "mbarrier_wait")
    if share < _WAIT or any(analysis.share(name, phase="steady") > share / 2 for name in waits):
        return
    whole = analysis.rooflines[0] if analysis.rooflines else None
    evidence = f"MMA waits {_percent(share)} of steady state"
    if whole is not None and whole.peak and whole.flops:
        evidence += f"; {whole.flop_rate / 1e12:.0f} TFLOP/s, {_percent(whole.flop_rate / whole.peak)} of the peak"
        if whole.flop_rate > 0.75 * whole.peak:
            yield Finding(
                "mma-bound",
                "the tensor cores are the limit, as they should be",
                evidence,
                weight=share,
            )
            return
    yield Finding(
        "mma-wait",
        f"warps wait {_percent(share)} of steady state for tensor cores{_place(analysis, 'mma_wait')}",
        evidence,
        "keep a product in flight over the next iteration, or let two groups of warps take turns",
        share,
    )


def _loads(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("global_load")
    if share >= _WAIT:
        yield Finding(
            "global-load",
            f"{_percent(share)} of the time goes into loads from global memory{_place(analysis, 'global_load')}",
            f"copies issued {_percent(analysis.share('copy_issue'))}",
            "let the pipeliner make them asynchronous (num_stages > 1), or load wider and more contiguous pieces",
            share,
        )


def _conversions(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("layout_conversion")
    if share >= _CONVERSION:
        yield Finding(
            "layout-conversion",
            f"{_percent(share)} of the time goes into layout conversions{_place(analysis, 'layout_conversion')}",
            f"shared loads {_percent(analysis.share('shared_load'))}, stores "
            f"{_percent(analysis.share('shared_store'))}, barriers {_percent(analysis.share('barrier'))}",
            "`tritonext explain` shows which pass makes them; the layout extension removes some before stores",
            share,
        )


def _barriers(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("barrier")
    if share >= _BARRIER:
        yield Finding(
            "barrier",
            f"warps wait {_percent(share)} of the time at CTA barriers{_place(analysis, 'barrier')}",
            f"{_percent(share)} in the category barrier",
            "warps arrive at different times: compare them in the trace",
            share,
        )


def _stores(analysis: Analysis) -> Iterator[Finding]:
    share = analysis.share("global_store") + analysis.share("epilogue")
    if share >= _STORE:
        yield Finding(
            "epilogue",
            f"{_percent(share)} of the time goes into writing results{_place(analysis, 'global_store', 'epilogue')}",
            f"stores {_percent(analysis.share('global_store'))}, other epilogue {_percent(analysis.share('epilogue'))}",
            "let it overlap the next tile: a persistent kernel, or two CTAs per SM",
            share,
        )


def _ramps(analysis: Analysis) -> Iterator[Finding]:
    if not analysis.phases:
        return
    warm, steady, drain = analysis.phases
    if warm + drain >= _RAMP:
        yield Finding(
            "ramps",
            f"{_percent(warm + drain)} of the time is warm-up and drain, not steady state",
            f"warm-up {_percent(warm)}, steady {_percent(steady)}, drain {_percent(drain)}",
            "give each CTA more iterations (larger K per CTA), or keep CTAs for several tiles",
            warm + drain,
        )


def _iterations(analysis: Analysis) -> Iterator[Finding]:
    for entry in analysis.iterations:
        # The slow ones at the beginning are the warm-up, and reported as such.
        if entry.jitter >= _JITTER and entry.count > 100 and entry.p95 > 1.25 * entry.median:
            launch, cta, warp, number = entry.worst
            yield Finding(
                "jitter",
                f"iterations of {entry.role} differ: one in a hundred takes {_percent(entry.jitter)} longer",
                f"median {entry.median:,.0f}, 99th percentile {entry.p99:,.0f}, longest {entry.longest:,.0f} cycles "
                f"(launch {launch}, CTA {cta}, warp {warp}, iteration {number})",
                "look for contention: the trace shows what the others do at that moment",
                0.05,
            )


def _roles(analysis: Analysis) -> Iterator[Finding]:
    if len(analysis.roles) < 2:
        return
    waits = {role: analysis.waiting(role) for role in analysis.roles}
    least = min(waits, key=lambda role: waits[role])
    most = max(waits, key=lambda role: waits[role])
    if waits[most] - waits[least] >= _WAIT:
        yield Finding(
            "roles",
            f"{least} is the critical role: {most} waits {_percent(waits[most])} of its time, {least} "
            f"{_percent(waits[least])}",
            ", ".join(f"{role} waits {_percent(share)}" for role, share in waits.items()),
            f"speed up {least}, or give it more warps; deeper buffers help only against variation",
            waits[most] - waits[least],
        )


def _spread(analysis: Analysis) -> Iterator[Finding]:
    waves = analysis.waves
    whole = waves.recorded == waves.grid
    seen = "" if whole else f" ({waves.recorded} of {waves.grid} CTAs recorded)"
    if whole and waves.idle >= _TAIL:
        rest = waves.waves - int(waves.waves)
        yield Finding(
            "tail",
            f"{_percent(waves.idle)} of the SMs' time is idle at the end of a launch",
            f"{waves.grid} CTAs are {waves.waves:.2f} waves of {waves.resident} per SM; the last "
            f"{_percent(waves.tail)} of a launch have idle SMs",
            "choose tiles that fill the last wave" + (", or a persistent or split-K kernel" if rest else ""),
            waves.idle,
        )
    # A few CTAs on each SM do not tell whether the SM is slow or they are.
    if waves.slowdown >= _SLOW_SM and waves.recorded >= 2 * waves.sms:
        yield Finding(
            "slow-sm",
            f"CTAs on SM {waves.slow_sm} take {_percent(waves.slowdown)} longer than on the median SM{seen}",
            f"busiest SM {_percent(waves.imbalance)} above the mean",
            "look for work that differs between CTAs, and for another process on the GPU",
            0.02,
        )
    elif whole and waves.imbalance >= _IMBALANCE and waves.waves > 1:
        yield Finding(
            "imbalance",
            f"the busiest SM works {_percent(waves.imbalance)} more than the mean",
            f"{waves.grid} CTAs on {waves.sms} SMs",
            "order the CTAs by size, largest first, or let them fetch their tiles from a counter",
            waves.imbalance / 2,
        )


def _memory(analysis: Analysis) -> Iterator[Finding]:
    if not analysis.rooflines:
        return
    whole = analysis.rooflines[0]
    if whole.bandwidth and not whole.cached and whole.byte_rate > 0.75 * whole.bandwidth:
        yield Finding(
            "memory-bound",
            "the memory is the limit",
            f"{whole.byte_rate / 1e12:.2f} TB/s asked for, {_percent(whole.byte_rate / whole.bandwidth)} of "
            "the bandwidth",
            "move fewer bytes: fuse with a neighbour, or use narrower types",
            0.5,
        )


def _gaps(analysis: Analysis) -> Iterator[Finding]:
    if len(analysis.gaps) < 5:
        return
    gap = sorted(analysis.gaps)[len(analysis.gaps) // 2]
    if gap > analysis.duration:
        yield Finding(
            "gaps",
            f"the GPU idles {gap / 1000:.1f} µs between launches, longer than a launch takes",
            f"median launch {analysis.duration / 1000:.1f} µs",
            "launch from a CUDA graph, or fuse the kernels",
            0.3,
        )


_RULES: tuple[Callable[[Analysis], Iterator[Finding]], ...] = (
    _integrity,
    _moved,
    _copies,
    _issue,
    _products,
    _loads,
    _conversions,
    _barriers,
    _stores,
    _ramps,
    _iterations,
    _roles,
    _spread,
    _memory,
    _gaps,
)
