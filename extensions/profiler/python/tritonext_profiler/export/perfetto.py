"""A trace for Perfetto: a track for each warp under its CTA under its SM under the launch.

Spans are slices named by category, with the source line and the iteration; arrows lead from a copy to the wait for it.
Marks are instants on the track of their warp, with their value.
Each warp is a packet sequence of its own, with delta-encoded times and interned names, which keeps a slice near 44
bytes. https://perfetto.dev/docs/reference/synthetic-track-event describes the format.
"""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import numpy as np

from tritonext.errors import UserError

from ..assemble import UNRECORDED
from ..model import Kernel, Profile, Region
from .flows import flows
from .selection import Selection, select

if TYPE_CHECKING:
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

__all__ = ["require", "write"]

# Spans that a trace shows unless told otherwise; about 10 MB.
SPANS = 250_000

# Ids of names in a sequence: of annotations, and of marks, behind those of regions.
_ITERATION, _VALUE = 1, 2
_MARKS = 1 << 16
# Ids from 64 to 127 are clocks of a packet sequence.
_CLOCK = 64
# `builtin_clock.proto`: the trace's own clock, in which snapshots anchor ours.
_BOOTTIME = 6


def require() -> None:
    """Check that traces can be written.

    Raises:
        UserError: The package ``perfetto`` is not installed.
    """
    try:
        import perfetto.trace_builder.proto_builder  # noqa: F401
    except ImportError as error:
        raise UserError(
            "a Perfetto trace needs the package perfetto",
            found=str(error),
            hint="pip install 'perfetto>=0.59'",
        ) from error


def write(profile: Profile, path: str | pathlib.Path, *, spans: int = SPANS) -> Selection:
    """Write a trace.

    Args:
        profile: What was recorded.
        path: File to write, usually ``*.pftrace``.
        spans: The most spans to show; of more, :func:`.selection.select` leaves out CTAs and launches.

    Returns:
        What is shown.

    Raises:
        UserError: The package ``perfetto`` is not installed.
    """
    require()
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

    chosen = select(profile, spans)
    with open(path, "wb") as file:
        _Writer(profile, chosen, file, StreamingTraceProtoBuilder(file)).write()
    return chosen


class _Writer:
    """Writes the packets of one trace.

    Args:
        profile: What was recorded.
        chosen: What of it is shown.
        file: Where to.
        builder: What frames the packets.
    """

    def __init__(
        self, profile: Profile, chosen: Selection, file: IO[bytes], builder: StreamingTraceProtoBuilder
    ) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

        self.profile = profile
        self.chosen = chosen
        self.file = file
        self.builder = builder
        self.protos = protos
        self.tracks = 0
        self.sequences = 1
        # Viewers show times since the first; nanoseconds since the GPU started would hide the difference.
        first = [int(profile.launches["start"].min())] if len(profile.launches) else []
        if profile.host_offset is not None:
            first += [event.start + profile.host_offset for event in profile.events]
        self.origin = min(first, default=0)

    def write(self) -> None:
        """Write all packets."""
        self.packet().trace_packet_defaults.Clear()
        self.host()
        self.launches()
        self.details()

    def packet(self, sequence: int = 1):
        """Return a new packet of a sequence, to be filled and then given to :meth:`emit`."""
        packet = self.builder.create_packet()
        packet.trusted_packet_sequence_id = sequence
        return packet

    def emit(self, packet) -> None:
        self.builder.write_packet(packet)

    def track(self, name: str, parent: int | None = None, *, rank: int | None = None, ordered: bool = False) -> int:
        """Write the description of a track and return its id."""
        self.tracks += 1
        packet = self.packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = self.tracks
        descriptor.name = name
        if parent is not None:
            descriptor.parent_uuid = parent
        if rank is not None:
            descriptor.sibling_order_rank = rank
        if ordered:
            descriptor.child_ordering = self.protos.TrackDescriptor.EXPLICIT
        self.emit(packet)
        return self.tracks

    def slice(self, track: int, name: str, start: int, end: int, annotations: dict[str, int | float | str]) -> None:
        """Write one slice of its own, without interning."""
        begin = self.packet()
        begin.timestamp = start - self.origin
        event = begin.track_event
        event.type = self.protos.TrackEvent.TYPE_SLICE_BEGIN
        event.track_uuid = track
        event.name = name
        for key, value in annotations.items():
            entry = event.debug_annotations.add()
            entry.name = key
            if isinstance(value, str):
                entry.string_value = value
            elif isinstance(value, float):
                entry.double_value = value
            else:
                entry.int_value = int(value)
        self.emit(begin)
        close = self.packet()
        close.timestamp = end - self.origin
        close.track_event.type = self.protos.TrackEvent.TYPE_SLICE_END
        close.track_event.track_uuid = track
        self.emit(close)

    def host(self) -> None:
        """Write launches, compilations and tuning on the host, where its clock can be placed."""
        offset = self.profile.host_offset
        if offset is None or not self.profile.events:
            return
        root = self.track("host")
        threads: dict[int, int] = {}
        # A slice may lie in another one, and then has to come after its beginning.
        for event in sorted(self.profile.events, key=lambda event: (event.start, -event.end)):
            if event.thread not in threads:
                threads[event.thread] = self.track(f"thread {event.thread}", root)
            label = f" ({event.label})" if event.label else ""
            notes = {"device": event.device, "stream": event.stream} | dict(event.detail)
            track = threads[event.thread]
            self.slice(track, f"{event.kind} {event.name}{label}", event.start + offset, event.end + offset, notes)

    def launches(self) -> None:
        """Write every launch as one slice, on a track for each device and kernel."""
        launches = self.profile.launches
        for device in np.unique(launches["device"]):
            described = self.profile.device(int(device))
            root = self.track(f"GPU {device} {described.name}".rstrip())
            for number, kernel in enumerate(self.profile.kernels):
                rows = self.profile.of(number)
                rows = rows[launches["device"][rows] == device]
                if not len(rows):
                    continue
                # Launches of one kernel may overlap, and slices of a track must not.
                for lane, mine in enumerate(_lanes(launches["start"][rows], launches["end"][rows])):
                    track = self.track(f"launches of {kernel.name}" + (f" {lane + 1}" if lane else ""), root)
                    for row in rows[mine]:
                        launch = launches[row]
                        notes = {"ticket": int(launch["ticket"]), "grid": int(launch["grid"])}
                        notes["recorded CTAs"] = int(launch["ctas"])
                        self.slice(track, kernel.name, int(launch["start"]), int(launch["end"]), notes)
            self.gaps(np.flatnonzero(launches["device"] == device), root)

    def gaps(self, rows: np.ndarray, root: int) -> None:
        """Write when no recorded kernel ran on a device, and between which."""
        launches, timed = self.profile.launches[rows], self.profile.timed[rows]
        until = np.maximum.accumulate(launches["end"])
        rows = np.flatnonzero((launches["start"][1:] > until[:-1]) & timed[:-1])
        if not len(rows):
            return
        track = self.track("between launches", root)
        for row in rows:
            before, after = (self.profile.kernels[number].name for number in launches["kernel"][row : row + 2])
            notes = {"after": before, "before": after}
            self.slice(track, "no recorded kernel", int(until[row]), int(launches["start"][row + 1]), notes)

    def details(self) -> None:
        """Write the warps of the chosen launches."""
        profile, warps = self.profile, self.profile.warps
        chosen = self.chosen.warps
        places = np.lexsort([warps[name][chosen] for name in ("warp", "start", "cta", "sm", "launch")])
        launch_track = sm_track = cta_track = 0
        last: tuple[int, int, int] = (-1, -1, -1)
        starts, ends = flows(profile, chosen)
        for row in chosen[places]:
            warp = warps[row]
            launch, sm, cta = int(warp["launch"]), int(warp["sm"]), int(warp["cta"])
            kernel = profile.kernels[profile.launches["kernel"][launch]]
            if launch != last[0]:
                described = profile.launches[launch]
                launch_track = self.track(f"{kernel.name} launch {described['ticket']}", ordered=True)
                notes = {"grid": int(described["grid"]), "recorded CTAs": int(described["ctas"])}
                self.slice(launch_track, kernel.name, int(described["start"]), int(described["end"]), notes)
            if (launch, sm) != last[:2]:
                sm_track = self.track(f"SM {sm}", launch_track, rank=sm, ordered=True)
            if (launch, sm, cta) != last:
                cta_track = self.track(f"CTA {cta}", sm_track, rank=cta, ordered=True)
            last = (launch, sm, cta)
            role = kernel.roles[warp["role"]]
            name = f"warp {warp['warp']}" + (f" {role}" if len(kernel.roles) > 1 else "")
            self.warp(int(row), kernel, self.track(name, cta_track, rank=int(warp["warp"])), starts, ends)

    def warp(self, row: int, kernel: Kernel, track: int, starts: dict[int, int], ends: dict[int, int]) -> None:
        """Write the spans of a warp as one sequence of packets."""
        self.sequences += 1
        sequence = self.sequences
        warp = self.profile.warps[row]
        first = int(warp["first"])
        spans = self.profile.spans[first : first + int(warp["count"])]
        scale = (int(warp["end"]) - int(warp["start"])) / max(int(warp["cycles"]), 1)
        begin = int(warp["start"]) - self.origin
        times = begin + np.rint((spans["start"]) * scale).astype(np.int64)
        stops = np.append(times[1:], int(warp["end"]) - self.origin)

        used = [int(number) for number in np.unique(spans["region"])]
        packet = self.packet(sequence)
        packet.sequence_flags = self.protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.first_packet_on_sequence = True
        packet.trace_packet_defaults.timestamp_clock_id = _CLOCK
        packet.trace_packet_defaults.track_event_defaults.track_uuid = track
        here = packet.clock_snapshot.clocks.add()
        here.clock_id = _CLOCK
        here.timestamp = 0
        here.is_incremental = True
        anchor = packet.clock_snapshot.clocks.add()
        anchor.clock_id = _BOOTTIME
        anchor.timestamp = int(times[0]) if len(times) else begin
        for number in used:
            self.intern(packet, kernel, number)
        for number, name in ((_ITERATION, "iteration"), (_VALUE, "value")):
            annotation = packet.interned_data.debug_annotation_names.add()
            annotation.iid, annotation.name = number, name
        marks = [
            (begin + round(start * scale), region, iteration, value)
            for region, iteration, start, value in self.profile.marks_of(row)
        ]
        for number in {region.id for _, region, _, _ in marks}:
            name = packet.interned_data.event_names.add()
            name.iid, name.name = _MARKS + number, kernel.regions[number].mark
            if number not in used:
                self.locate(packet, kernel, number)
        self.emit(packet)
        self.spans(sequence, kernel, spans, times, stops, first, starts, ends, marks)

    def intern(self, packet, kernel: Kernel, number: int) -> None:
        """Name a region in a sequence; its id is two more than its number, so that 1 is that of what is unknown."""
        name = packet.interned_data.event_names.add()
        name.iid = number + 2
        if number == UNRECORDED:
            name.name = "not recorded"
            return
        region = kernel.regions[number]
        name.name = region.scope or region.category
        self.locate(packet, kernel, number)

    @staticmethod
    def locate(packet, kernel: Kernel, number: int) -> None:
        """Say in a sequence where a region is in the source."""
        region = kernel.regions[number]
        if region.line:
            place = packet.interned_data.source_locations.add()
            place.iid, place.file_name, place.line_number = number + 2, region.file, region.line
            place.function_name = kernel.name

    def spans(
        self,
        sequence: int,
        kernel: Kernel,
        spans: np.ndarray,
        times: np.ndarray,
        stops: np.ndarray,
        first: int,
        starts: dict[int, int],
        ends: dict[int, int],
        marks: list[tuple[int, Region, int, float | int | None]],
    ) -> None:
        event_type = self.protos.TrackEvent
        needs = self.protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        located = np.array([bool(region.line) for region in kernel.regions])
        inside = np.array([region.depth > 0 for region in kernel.regions])
        packet = self.packet(sequence)
        now = int(times[0]) if len(times) else 0
        waiting = collections.deque(marks)
        for offset, (region, iteration, time, stop) in enumerate(
            zip(spans["region"].tolist(), spans["iteration"].tolist(), times.tolist(), stops.tolist())
        ):
            while waiting and waiting[0][0] <= time:
                when, mark, number, value = waiting.popleft()
                packet.Clear()
                packet.trusted_packet_sequence_id = sequence
                packet.sequence_flags = needs
                packet.timestamp = when - now
                event = packet.track_event
                event.type = event_type.TYPE_INSTANT
                event.name_iid = _MARKS + mark.id
                if located[mark.id]:
                    event.source_location_iid = mark.id + 2
                if inside[mark.id]:
                    entry = event.debug_annotations.add()
                    entry.name_iid, entry.uint_value = _ITERATION, number
                if value is not None:
                    entry = event.debug_annotations.add()
                    entry.name_iid = _VALUE
                    if isinstance(value, int):
                        entry.int_value = value
                    else:
                        entry.double_value = value
                self.emit(packet)
                now = when
            if stop == time and offset:
                continue
            packet.Clear()
            packet.trusted_packet_sequence_id = sequence
            packet.sequence_flags = needs
            packet.timestamp = time - now
            event = packet.track_event
            event.type = event_type.TYPE_SLICE_BEGIN
            event.name_iid = region + 2
            if region != UNRECORDED:
                if located[region]:
                    event.source_location_iid = region + 2
                if inside[region]:
                    entry = event.debug_annotations.add()
                    entry.name_iid, entry.uint_value = _ITERATION, iteration
                if first + offset in starts:
                    event.flow_ids.append(starts[first + offset])
                if first + offset in ends:
                    event.terminating_flow_ids.append(ends[first + offset])
            self.emit(packet)
            packet.Clear()
            packet.trusted_packet_sequence_id = sequence
            packet.sequence_flags = needs
            packet.timestamp = stop - time
            packet.track_event.type = event_type.TYPE_SLICE_END
            self.emit(packet)
            now = stop


def _lanes(start: np.ndarray, end: np.ndarray) -> Iterator[np.ndarray]:
    """Spread intervals over as few lanes as hold them without overlap; yield the places of each lane's."""
    free: list[int] = []
    lane = np.zeros(len(start), np.int64)
    for place in np.argsort(start, kind="stable"):
        fitting = next((index for index, until in enumerate(free) if until <= start[place]), None)
        if fitting is None:
            fitting = len(free)
            free.append(0)
        free[fitting] = int(end[place])
        lane[place] = fitting
    for index in range(len(free)):
        yield np.flatnonzero(lane == index)
