"""The view of a profile in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..analysis import PHASES, Analysis, analyze
from ..findings import Finding, findings, measurement
from ..model import Profile

__all__ = ["show"]

_LINES = 8


def show(profile: Profile, console: Console | None = None) -> None:
    """Print what a profile says.

    Args:
        profile: What was recorded.
        console: Where to; standard output when None.
    """
    console = console or Console()
    about = measurement(profile)
    if about:
        console.print(_findings(about))
    analyses = analyze(profile)
    if not analyses:
        console.print("no launch was recorded")
    for analysis in analyses:
        console.print(kernel_view(analysis))


def kernel_view(analysis: Analysis) -> RenderableType:
    """Return the view of one kernel."""
    parts: list[RenderableType] = [_heading(analysis)]
    if analysis.categories:
        parts.append(_categories(analysis))
    if analysis.scopes:
        parts.append(_scopes(analysis))
    if analysis.marks:
        parts.append(_marks(analysis))
    if len(analysis.roles) > 1:
        parts.append(_roles(analysis))
    if analysis.lines:
        parts.append(_lines(analysis))
    if analysis.rooflines:
        parts.append(_rooflines(analysis))
    parts.append(_figures(analysis))
    found = findings(analysis)
    if found:
        parts.append(_findings(found))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def nanoseconds(value: float) -> str:
    """Return a time with a unit that suits it."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.0f} ns"


def percent(share: float) -> str:
    """Return a share as text; what is there but less than the last digit shows as such."""
    return "<0.1 %" if 0 < share < 0.0005 else f"{share * 100:.1f} %"


def _heading(analysis: Analysis) -> RenderableType:
    kernel, durations = analysis.kernel, analysis.durations
    text = Text(kernel.name, style="bold")
    text.append(f"  {kernel.target}, GPU {analysis.device.index} {analysis.device.name}".rstrip(), style="dim")
    rest = f", {len(durations):,} of them timed" if len(durations) < len(analysis.rows) else ""
    times = f"{len(analysis.rows):,} launches{rest}, median {nanoseconds(analysis.duration)}"
    if len(durations) > 1:
        times += f" ({nanoseconds(durations.min())} to {nanoseconds(durations.max())})"
    times += f", {analysis.frequency:.3f} GHz, {kernel.num_warps} warps"
    if kernel.num_stages:
        times += f", {kernel.num_stages} stages"
    return Group(text, Text(times))


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, justify in columns:
        # Of what is narrowed, the text of the source can best spare it.
        spare = name in {"source", "categories"}
        table.add_column(name, justify=justify, no_wrap=not spare, overflow="fold" if spare else "ellipsis")
    return table


def _add(table: Table, *cells: str | Text) -> None:
    """Add a row, in which brackets of names and of the source are no markup."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def _bar(share: float, width: int = 24) -> Text:
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    return Text("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else ""), style="cyan")


def _categories(analysis: Analysis) -> RenderableType:
    phased = bool(analysis.phases)
    columns = [("category", "left"), ("share", "right"), ("", "left"), ("cycles/warp", "right")]
    if phased:
        columns += [(f"{name} {percent(share)}", "right") for name, share in zip(PHASES, analysis.phases)]
    table = _table(*columns)
    for row in analysis.categories:
        phases = [percent(share) for share in row.phases] if phased else []
        _add(table, row.name, percent(row.share), _bar(row.share), f"{row.cycles:,.0f}", *phases)
    if analysis.unrecorded:
        _add(table, "not recorded", percent(analysis.unrecorded), _bar(analysis.unrecorded), "")
    return table


def _scopes(analysis: Analysis) -> RenderableType:
    table = _table(("scope", "left"), ("share", "right"), ("", "left"), ("cycles/warp", "right"), ("entries", "right"))
    for row in analysis.scopes:
        _add(table, row.name, percent(row.share), _bar(row.share), f"{row.cycles:,.0f}", f"{row.entries:,.1f}")
    return table


def _marks(analysis: Analysis) -> RenderableType:
    columns = [("mark", "left"), ("line", "left"), ("entries", "right")]
    table = _table(*columns, ("least", "right"), ("median", "right"), ("most", "right"))
    for row in analysis.marks:
        values = ("" if value is None else f"{value:,.6g}" for value in (row.least, row.median, row.most))
        _add(table, row.name, row.place, f"{row.entries:,.1f}", *values)
    return table


def _roles(analysis: Analysis) -> RenderableType:
    names = [row.name for row in analysis.categories]
    table = _table(("role", "left"), ("waits", "right"), *((name, "right") for name in names))
    for role, shares in analysis.roles.items():
        _add(table, role, percent(analysis.waiting(role)), *(percent(shares.get(name, 0)) for name in names))
    return table


def _lines(analysis: Analysis) -> RenderableType:
    table = _table(("line", "left"), ("share", "right"), ("source", "left"), ("categories", "left"))
    for line in analysis.lines[:_LINES]:
        place = f"{line.file.rsplit('/', 1)[-1]}:{line.line}" if line.line else "elsewhere"
        parts = ", ".join(f"{name} {percent(share)}" for name, share in list(line.categories.items())[:3])
        _add(table, place, percent(line.share), line.text, parts)
    return table


def _rooflines(analysis: Analysis) -> RenderableType:
    table = _table(
        ("roofline", "left"),
        ("TFLOP/s", "right"),
        ("TB/s asked", "right"),
        ("FLOP/B", "right"),
        ("of roof", "right"),
        ("bound by", "left"),
    )
    for entry in analysis.rooflines:
        _add(
            table,
            entry.place,
            f"{entry.flop_rate / 1e12:,.1f}" if entry.flops else "",
            f"{entry.byte_rate / 1e12:,.2f}" if entry.bytes else "",
            f"{entry.intensity:,.0f}" if entry.intensity else "",
            percent(entry.fraction) if entry.fraction else "",
            entry.bound,
        )
    return table


def _figures(analysis: Analysis) -> RenderableType:
    waves = analysis.waves
    line = f"{waves.grid:,} CTAs, {waves.resident} at a time on each SM: {waves.waves:.2f} waves; "
    if waves.recorded == waves.grid:
        line += (
            f"tail {percent(waves.tail)} of a launch, {percent(waves.idle)} of SM time idle; "
            f"busiest SM {percent(waves.imbalance)} above the mean"
        )
    else:
        line += f"{waves.recorded:,} of them recorded"
    lines = [line]
    lines += [
        f"iteration of {entry.role}: median {entry.median:,.0f} cycles, p95 {entry.p95:,.0f}, p99 {entry.p99:,.0f}, "
        f"longest {entry.longest:,.0f}; {entry.warmup} of warm-up"
        for entry in analysis.iterations
    ]
    if analysis.categories:
        lines.append(f"closure: spans and lifetimes of warps differ by at most {analysis.closure * 100:.2g} %")
    return Text("\n".join(lines))


def _findings(found: Iterable[Finding]) -> RenderableType:
    parts = []
    for finding in found:
        text = Text("! " if finding.severe else "• ", style="bold red" if finding.severe else "bold yellow")
        text.append(finding.message[:1].upper() + finding.message[1:], style="bold")
        if finding.evidence:
            text.append(f"\n    {finding.evidence}", style="dim")
        if finding.advice:
            text.append(f"\n    {finding.advice}")
        parts.append(text)
    return Group(*parts)
