"""Files and views: what is written reads back, in other tools' own words where there are any."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rich.console import Console

from tritonext.errors import UserError
from tritonext.testing import browser
from tritonext_profiler import compare, proton, saving, storage
from tritonext_profiler.analysis import analyze
from tritonext_profiler.assemble import assemble
from tritonext_profiler.export import chrome, flows, hatchet, parquet, perfetto
from tritonext_profiler.model import Profile
from tritonext_profiler.report import html, terminal
from tritonext_profiler.testing import (
    H200,
    gemm_kernel,
    gemm_plan,
    read_trace,
    record,
    specialized_kernel,
    specialized_team,
)


def marks_of(profile, row):
    """Return what a warp's marks are, by the columns: name, ns since the warp began, and value or None."""
    warp = profile.warps[row]
    [kernel] = profile.kernels
    scale = (warp["end"] - warp["start"]) / warp["cycles"]
    mine = profile.marks[profile.marks["warp"] == row]
    regions = [kernel.regions[number] for number in mine["region"]]
    values = [value if region.value else None for region, value in zip(regions, mine["value"])]
    return list(zip([region.mark for region in regions], np.rint(mine["start"] * scale).tolist(), values))


def test_an_archive_reads_back_equal(gemm_profile, tmp_path):
    storage.save(gemm_profile, tmp_path / "p.npz")
    again = storage.load(tmp_path / "p.npz")
    for field in dataclasses.fields(Profile):
        value, other = getattr(gemm_profile, field.name), getattr(again, field.name)
        same = value.tobytes() == other.tobytes() if isinstance(value, np.ndarray) else value == other
        assert same, field.name


@pytest.mark.parametrize("damage", ["text", "other", "later", "cut", "empty", "pickled"])
def test_what_is_no_profile_is_refused(gemm_profile, tmp_path, damage, monkeypatch):
    path = tmp_path / "p.npz"
    if damage == "text":
        path.write_text("no archive")
    elif damage == "other":
        np.savez(path, launches=np.zeros(3))
    elif damage == "empty":
        path.touch()
    elif damage == "pickled":
        np.savez(path, described=np.array([{}]))
    elif damage == "cut":
        storage.save(gemm_profile, path)
        path.write_bytes(path.read_bytes()[:-200])
    else:
        monkeypatch.setattr(storage, "VERSION", storage.VERSION + 1)
        storage.save(gemm_profile, path)
        monkeypatch.undo()
    message = "written by a later release" if damage == "later" else "the file is no profile, or damaged"
    with pytest.raises(UserError, match=message) as raised:
        storage.load(path)
    assert str(path) in str(raised.value)
    assert "hint: " in str(raised.value)


@pytest.mark.filterwarnings("error")
def test_no_flipped_byte_of_an_archive_gets_further_than_reading(gemm_profile, tmp_path):
    path, random = tmp_path / "p.npz", np.random.default_rng(8)
    storage.save(gemm_profile, path)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    # Names, sizes and offsets, where damage leads NumPy and zipfile astray, are around the members.
    names = [place for place in range(len(whole) - 4) if whole[place : place + 2].tobytes() == b"PK"]
    places = [name + place for name in names for place in range(0, 64, 3) if name + place < len(whole)]
    refused = []
    for place in places:
        damaged = whole.copy()
        damaged[place] ^= 1 << random.integers(8)
        path.write_bytes(damaged.tobytes())
        try:
            storage.load(path)
        except UserError as error:
            refused.append(error)
    assert len(refused) > len(places) // 4
    assert all(error.found for error in refused)


def stored_with(profile, path, **tables):
    """Store a profile with other tables, or with ``described``, a function that changes the rest."""
    storage.save(profile, path)
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    change = tables.pop("described", None)
    if change is not None:
        described = json.loads(members["described"].tobytes())
        change(described)
        members["described"] = np.frombuffer(json.dumps(described).encode(), np.uint8)
    np.savez(path, **members | tables)


def changed(table, name, value):
    """Return a table with another value in its second row."""
    table = table.copy()
    table[name][1] = value
    return table


@pytest.mark.parametrize(
    ("table", "name", "value", "found"),
    [
        ("launches", "kernel", 1, "launches.kernel is 1 in row 1, not 0 or more and below 1"),
        ("launches", "first", -1, "launches.first is -1 in row 1"),
        ("launches", "count", 10_000, "launches.count is 10000 in row 1"),
        ("warps", "launch", 2, "warps.launch is 2 in row 1"),
        ("warps", "role", 1, "warps.role is 1 in row 1"),
        ("warps", "sm", -1, "warps.sm is -1 in row 1"),
        ("warps", "count", -1, "warps.count is -1 in row 1"),
        ("spans", "warp", 10_000, "spans.warp is 10000 in row 1"),
        ("spans", "region", 9, "spans.region is 9 in row 1, not 0 or more and below 9"),
        ("spans", "iteration", -1, "spans.iteration is -1 in row 1"),
        ("marks", "region", 9, "marks.region is 9 in row 1"),
    ],
)
def test_tables_that_point_nowhere_are_refused(gemm_profile, tmp_path, table, name, value, found):
    path = tmp_path / "p.npz"
    stored_with(gemm_profile, path, **{table: changed(getattr(gemm_profile, table), name, value)})
    with pytest.raises(UserError, match="the file is no profile, or damaged") as raised:
        storage.load(path)
    assert found in raised.value.found
    stored_with(gemm_profile, path, **{table: getattr(gemm_profile, table)[None]})
    with pytest.raises(UserError, match=f"{table} is no table of the columns"):
        storage.load(path)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda d: d.update(version="new"), 'the version is "new", not a whole number'),
        (lambda d: d.update(kernels={}), "kernels is {}, not a list"),
        (lambda d: d["kernels"][0].update(name=3), "kernels[0].name is 3, not text"),
        (lambda d: d["kernels"][0].pop("name"), "kernels[0] has no name"),
        (lambda d: d["kernels"][0].update(moved="x"), 'kernels[0].moved is "x", not a list'),
        (lambda d: d["kernels"][0]["regions"][2].update(flops=1.5), "regions[2].flops is 1.5, not a whole number"),
        (lambda d: d["kernels"][0]["regions"][2].update(flops=1 << 70), "regions[2].flops is 1180591620717411303424"),
        (lambda d: d["kernels"][0]["regions"][2].update(enters=1), "regions[2].enters is 1, not true or false"),
        (lambda d: d["kernels"][0]["regions"][2].update(loop=1), "regions.loop is 1 in row 2"),
        (lambda d: d["kernels"][0]["regions"].pop(0), "regions are not numbered from 0 on"),
        (lambda d: d["kernels"][0]["regions"][2].update(role=-1), "regions.role is -1 in row 2"),
        (lambda d: d["kernels"][0]["loops"][0].update(parent=0), "loops are around each other"),
        (lambda d: d["kernels"][0]["loops"][0].update(pace=9), "loops.pace is 9 in row 0"),
        (lambda d: d["kernels"][0]["resources"].update(shared=None), "resources['shared'] is null, not a whole number"),
        (lambda d: d["devices"].append(7), "devices[1] is 7, not an object"),
        (lambda d: d.update(host_offset="late"), 'host_offset is "late", not a whole number'),
    ],
)
def test_descriptions_that_are_not_as_they_were_written_are_refused(gemm_profile, tmp_path, change, found):
    path = tmp_path / "p.npz"
    stored_with(gemm_profile, path, described=change)
    with pytest.raises(UserError, match="the file is no profile, or damaged") as raised:
        storage.load(path)
    assert found in raised.value.found, raised.value.found


def test_what_a_later_release_adds_to_a_description_is_passed_over(gemm_profile, tmp_path):
    stored_with(gemm_profile, tmp_path / "p.npz", described=lambda d: d["kernels"][0].update(new=3))
    assert storage.load(tmp_path / "p.npz").kernels == gemm_profile.kernels


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="other"), "the file is no profile"),
        (lambda d: d.update(version=99), "written by a later release"),
        (lambda d: d.pop("version"), "the summary has no version"),
        (lambda d: d.update(version=[1]), "the summary.version is .1., not a whole number"),
        (lambda d: d.pop("kernels"), "the summary has no kernels"),
        (lambda d: d["kernels"].append(3), r"the summary.kernels\[1\] is 3, not an object"),
        (lambda d: d["kernels"][0].update(name=None), r"kernels\[0\].name is null, not text"),
        (lambda d: d["kernels"][0].update(durations_ns=[]), "durations_ns of gemm is empty"),
        (lambda d: d["kernels"][0].update(durations_ns=[None]), r"durations_ns\[0\] is null, not a number"),
        (lambda d: d["kernels"][0]["categories"].append({"name": "x"}), r"categories\[\d+\] has no share"),
        (lambda d: d["kernels"][0].update(ir=["module"]), r"kernels\[0\].ir is .*, not text"),
    ],
)
def test_summaries_that_cannot_be_compared_are_refused(gemm_profile, tmp_path, change, message):
    path = tmp_path / "p.json"
    data = storage.summary(gemm_profile)
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(UserError, match=message) as raised:
        compare.load_summary(path)
    assert str(path) in str(raised.value)


def test_summaries_without_code_can_be_compared(gemm_profile, tmp_path):
    path = tmp_path / "p.json"
    data = storage.summary(gemm_profile)
    for name in ("opcodes", "ir"):
        del data["kernels"][0][name]
    path.write_text(json.dumps(data))
    [difference] = compare.compare(compare.load_summary(path), storage.summary(gemm_profile))
    assert (difference.verdict, difference.ir) == ("same", None)


def test_the_summary_is_plain_json(gemm_profile):
    data = json.loads(json.dumps(storage.summary(gemm_profile), allow_nan=False))
    [kernel] = data["kernels"]
    assert kernel["name"] == "gemm"
    assert [(row["name"], row["count"], row["median"]) for row in kernel["marks"]][:2] == [
        ("begin", len(gemm_profile.warps), None),
        ("half", len(gemm_profile.warps), 0.5),
    ]
    assert len(kernel["durations_ns"]) == 2
    assert sum(row["share"] for row in kernel["categories"]) == pytest.approx(1, abs=1e-4)


def test_a_perfetto_trace_gives_back_the_numbers(gemm_profile, tmp_path):
    path = tmp_path / "t.pftrace"
    shown = perfetto.write(gemm_profile, path, spans=40_000)
    assert shown.omitted == len(gemm_profile.spans) - shown.spans > 0
    assert path.stat().st_size < 50 * shown.spans
    slices, arrows, instants = read_trace(path)
    warps = [entry for entry in slices if len(entry[0]) == 4]
    assert len(warps) == shown.spans
    kernel, warp = gemm_profile.kernels[0], gemm_profile.warps[shown.warps[17]]
    ticket = gemm_profile.launches["ticket"][warp["launch"]]
    place = (f"gemm launch {ticket}", f"SM {warp['sm']}", f"CTA {warp['cta']}", f"warp {warp['warp']}")
    mine = sorted(((*entry[2:], entry[1]) for entry in warps if entry[0] == place), key=lambda entry: entry[0])
    spans = gemm_profile.spans[warp["first"] : warp["first"] + warp["count"]]
    assert [entry[3] for entry in mine] == [kernel.regions[region].category for region in spans["region"]]
    frequency = warp["cycles"] / (warp["end"] - warp["start"])
    lengths = np.array([end - start for start, end, _, _ in mine])
    assert np.abs(lengths - spans["cycles"] / frequency).max() <= 1
    inside = [kernel.regions[region].depth > 0 for region in spans["region"]]
    assert [entry[2] for entry in mine] == [
        number if within else None for number, within in zip(spans["iteration"].tolist(), inside)
    ]
    begin = mine[0][0]
    found = [(name, when - begin, notes.get("value")) for where, name, when, notes in instants if where == place]
    assert found == marks_of(gemm_profile, shown.warps[17])
    assert [name for name, *_ in found] == ["begin", "half", "row"]
    assert len(instants) == 3 * len(shown.warps)
    # Host, launches, and the copies' arrows.
    assert {entry[1] for entry in slices if entry[0][0] == "host"} == {"tune gemm", "compile gemm", "launch gemm"}
    [gap] = [entry for entry in slices if entry[0][-1] == "between launches"]
    assert gap[3] - gap[2] == gemm_profile.launches["start"][1] - gemm_profile.launches["end"][0]
    assert sum(entry[0] == ("GPU 0 NVIDIA H200", "launches of gemm") for entry in slices) == 2
    complete = [(start, end) for start, end in arrows.values() if start and end]
    assert len(complete) == len(arrows) > 0
    for (track, copy, issued, number), (other, wait, waited, later) in complete:
        assert (track, copy, wait) == (other, "copy_issue", "copy_wait")
        assert issued < waited
        assert number is None or later - number == kernel.num_stages - 1


def test_the_query_engine_of_perfetto_agrees(gemm_profile, tmp_path):
    engine = shutil.which("trace_processor_shell")
    if engine is None:
        pytest.skip("no trace_processor_shell on PATH, and the package perfetto would fetch it from the network")
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    path = tmp_path / "t.pftrace"
    perfetto.write(gemm_profile, path, spans=5_000)
    slices, arrows, instants = read_trace(path)
    warps = [end - start for place, _, start, end, _ in slices if len(place) == 4 and end > start]
    on_warps = "from slice join track on slice.track_id = track.id where track.name glob 'warp *'"
    with TraceProcessor(trace=str(path), config=TraceProcessorConfig(bin_path=engine)) as processor:
        ask = lambda query: next(processor.query(query))  # noqa: E731
        row = ask(f"select count(*) as number, sum(dur) as length {on_warps} and dur > 0")
        assert (row.number, row.length) == (len(warps), sum(warps))
        assert ask(f"select count(*) as number {on_warps} and slice.name = 'row'").number == len(instants) // 3
        assert ask("select count(*) as number from flow").number == len(arrows)
        assert not ask("select sum(value) as errors from stats where severity = 'error'").errors


def test_arrows_lead_from_the_producer_to_its_consumers(specialized_profile, tmp_path):
    perfetto.write(specialized_profile, tmp_path / "t.pftrace", spans=30_000)
    slices, arrows, instants = read_trace(tmp_path / "t.pftrace")
    assert not instants
    assert {entry[0][3].split()[2] for entry in slices if len(entry[0]) == 4} == {"consumer", "producer"}
    assert arrows
    for (source, copy, _, number), (target, wait, _, later) in arrows.values():
        assert source != target
        assert (copy, wait, number) == ("copy_issue", "mbarrier_wait", later)


def test_arrows_go_on_over_the_tiles_of_a_persistent_kernel():
    once = specialized_team(5)
    team = [(role, [*steps, *steps[1:]]) for role, steps in once]
    made = assemble(*record([], seed=6, ctas=3, roles=team).columns).profile([specialized_kernel()], [H200])
    starts, ends = flows.flows(made, np.arange(len(made.warps)))
    # Ten copies of each CTA, and each consumer's wait for each.
    assert len(starts) == 3 * 10
    assert len(ends) == 3 * 8 * 10
    by_name = {identifier: place for place, identifier in starts.items()}
    owner = made.warps["cta"][made.spans["warp"]]
    assert all(owner[place] == owner[by_name[identifier]] for place, identifier in ends.items())


def test_a_chrome_trace_has_the_same_slices(gemm_profile, tmp_path):
    shown = chrome.write(gemm_profile, tmp_path / "t.json", spans=5_000)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X" and event["pid"]]
    assert len(slices) == shown.spans
    assert sum(event["args"]["cycles"] for event in slices) == gemm_profile.warps["cycles"][shown.warps].sum()
    first = next(event for event in slices if event["tid"] == 3)
    found = [
        (event["name"], round((event["ts"] - first["ts"]) * 1000), event["args"].get("value"))
        for event in events
        if event["ph"] == "i" and event["tid"] == 3
    ]
    assert found == marks_of(gemm_profile, shown.warps[2])


def test_a_table_has_every_span(gemm_profile, specialized_profile, tmp_path, monkeypatch):
    reader = pytest.importorskip("pyarrow.parquet")
    # More than one group of rows.
    monkeypatch.setattr(parquet, "_ROWS", 10_000)
    for profile in (gemm_profile, specialized_profile):
        parquet.write(profile, tmp_path / "t.parquet")
        table = reader.read_table(tmp_path / "t.parquet").to_pydict()
        assert table["cycles"] == profile.spans["cycles"].tolist()
        assert table["iteration"] == profile.spans["iteration"].tolist()
        [kernel] = profile.kernels
        regions = [kernel.regions[number] for number in profile.spans["region"]]
        assert table["category"] == [region.category for region in regions]
        assert table["line"] == [region.line for region in regions]
        warps = profile.warps[profile.spans["warp"]]
        assert table["sm"] == warps["sm"].tolist()
        assert table["role"] == [kernel.roles[role] for role in warps["role"]]
        assert min(table["start_ns"]) == profile.warps["start"].min()
        ends = np.array(table["start_ns"]) + np.array(table["duration_ns"])
        assert np.abs(ends - warps["end"]).min() < 2
        assert (ends < warps["end"] + 2).all()
        marked = [index for index, name in enumerate(table["mark"]) if name]
        assert marked == profile.marked.tolist()
        named = [kernel.regions[number] for number in profile.marks["region"]]
        assert [table["mark"][index] for index in marked] == [region.mark for region in named]
        values = [value if region.value else None for region, value in zip(named, profile.marks["value"].tolist())]
        assert [table["value"][index] for index in marked] == values
        assert len(marked) == (3 * len(profile.warps) if profile is gemm_profile else 0)


def test_a_table_has_warps_without_spans_and_may_be_empty(gemm_profile, tmp_path):
    reader = pytest.importorskip("pyarrow.parquet")
    bare = gemm_profile.warps.copy()
    bare["count"][5:], bare["first"][5:] = 0, 0
    spans = gemm_profile.spans[: bare["count"].sum()]
    parquet.write(dataclasses.replace(gemm_profile, warps=bare, spans=spans), tmp_path / "t.parquet")
    table = reader.read_table(tmp_path / "t.parquet").to_pydict()
    assert table["category"].count("not recorded") == len(bare) - 5
    assert table["cycles"][-1] == bare["cycles"][-1]
    parquet.write(Profile(), tmp_path / "t.parquet")
    assert reader.read_table(tmp_path / "t.parquet").num_rows == 0


def test_a_tree_for_hatchet_keeps_the_time(gemm_profile, tmp_path):
    hatchet.write(gemm_profile, tmp_path / "t.hatchet")
    rows = proton.read_tree(tmp_path / "t.hatchet")
    total = analyze(gemm_profile)[0].durations.sum()
    assert sum(row.metrics.get("time (ns)", 0) for row in rows) == pytest.approx(total)
    assert ("gemm", "copy_wait", "gemm.py:15") in {row.path for row in rows}
    _, devices = json.loads((tmp_path / "t.hatchet").read_text())
    assert devices["CUDA"]["0"]["num_sms"] == 132


def test_a_trace_of_proton_becomes_a_profile(tmp_path):
    def event(name, start, cycles, warp=0, cta=0, line=0):
        where = {"pid": f"attn Core{cta + 3} CTA{cta}", "tid": f"warp {warp} (line {line})", "cat": "attn"}
        return {"name": name, "ph": "X", "ts": start / 1000, "dur": cycles / 1000, **where}

    events = [event("load", 100, 50), event("dot", 150, 400), event("inner", 200, 100, line=1), event("load", 600, 50)]
    events += [event("load", 120, 60, warp=1), event("dot", 500, 100, cta=1)]
    (tmp_path / "t.json").write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
    made = proton.read_trace(tmp_path / "t.json")
    [kernel] = made.kernels
    names = [region.scope for region in kernel.regions]
    first = made.spans[: made.warps["count"][0]]
    assert [(names[region], cycles) for region, cycles in zip(first["region"], first["cycles"])] == [
        ("load", 50),
        ("dot", 50),
        ("inner", 100),
        ("dot", 250),
        ("", 50),
        ("load", 50),
    ]
    assert made.warps[["sm", "cta", "warp"]].tolist() == [(3, 0, 0), (3, 0, 1), (4, 1, 0)]
    [analysis] = analyze(made)
    assert {row.name for row in analysis.scopes} == {"load", "dot", "inner"}


def trace_with(**changes):
    """Return a trace whose second event has other fields; those that are ``...`` are left out."""
    event = {"name": "load", "ph": "X", "ts": 1, "dur": 2, "pid": "attn Core0 CTA0", "tid": "warp 0 (line 0)"}
    other = {key: value for key, value in (event | changes).items() if value is not ...}
    return json.dumps({"traceEvents": [event, other]})


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        ("read_trace", "[1, 2]", "no Chrome trace where.*expected: an object with a list traceEvents found: list"),
        ("read_trace", '{"traceEvents": {}}', "found: traceEvents of type dict"),
        ("read_trace", trace_with()[:-40], "no JSON where.*expected: a whole file that Proton wrote found: .*line 1"),
        ("read_trace", '{"traceEvents": [5]}', "an event of the trace is not as Proton writes it.*event 0: 5"),
        ("read_trace", trace_with(ts=...), 'expected: an object whose name is text.* found: event 1: {"name": "load"'),
        ("read_trace", trace_with(ts="soon"), "event 1: .*soon"),
        ("read_trace", trace_with(ts=1e300), "event 1: "),
        ("read_trace", trace_with(dur=-1), "dur not below 0.*event 1: "),
        ("read_trace", trace_with(name=["load"]), "event 1: "),
        ("read_tree", "{}", "the file is no tree of Proton"),
        ("read_tree", '[{"frame": {"name": "ROOT"}, "children": [{"frame": {}}]}]', "below the root: .*frame"),
        (
            "read_tree",
            '[{"frame": {"name": "ROOT"}, "children": 3}]',
            "a node of the tree is not as.*found: below the root: ",
        ),
    ],
)
def test_what_proton_did_not_write_is_refused(tmp_path, reader, text, message):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        getattr(proton, reader)(path)
    shown = " ".join(str(raised.value).split())
    assert re.search(message, shown), shown
    assert str(path) in shown


def test_the_terminal_view(gemm_profile, specialized_profile):
    text = io.StringIO()
    console = Console(file=text, width=140)
    for profile in (gemm_profile, specialized_profile, Profile()):
        terminal.show(profile, console)
    shown = text.getvalue()
    for line in (
        r"gemm  cuda:90, GPU 0 NVIDIA H200",
        r"Gemm was tuned in 2\.00 s: BLOCK: 128 took 50\.0 µs",
        r"BLOCK: 64: \+40%",
        r"mma_wait +\d\d\.\d %",
        r"gemm\.py:17 +\d\d\.\d %  acc = tl\.dot\(a, b, acc\)",
        r"Warps wait \d\d % of steady state for copies at gemm\.py:15",
        r"producer +\d+\.\d %",
        r"row +gemm\.py:20 +1\.0 +\d",
        r"no launch was recorded",
    ):
        assert re.search(line, shown), line


def test_brackets_in_names_are_no_markup(gemm_profile):
    name = "k[/b] [red]x"
    [kernel] = gemm_profile.kernels
    change = {"scope": name, "op": name, "file": f"{name}.py"}
    regions = [dataclasses.replace(region, **change, mark=region.mark and name) for region in kernel.regions]
    kernel = dataclasses.replace(
        kernel, name=name, regions=tuple(regions), source={f"{name}.py:17": name}, roles=(name,), opcodes={name: 1}
    )
    profile = dataclasses.replace(gemm_profile, kernels=(kernel,), notices=(name,))
    text = io.StringIO()
    terminal.show(profile, Console(file=text, width=200))
    # At least the heading, a scope, a mark with its line, the role, a line of the source with its text, and a roofline.
    assert text.getvalue().count(name) >= 8
    before, after = storage.summary(profile), storage.summary(profile)
    slower = [2 * value for value in before["kernels"][0]["durations_ns"]]
    after["kernels"][0] |= {"opcodes": {name: 2}, "durations_ns": slower}
    text = io.StringIO()
    compare.show(compare.compare(before, after), Console(file=text, width=200), code=True)
    assert text.getvalue().count(name) == 4
    assert "slower" in text.getvalue()


def test_the_page_is_one_small_file_that_a_browser_draws(gemm_profile, specialized_profile, tmp_path):
    page = tmp_path / "page.html"
    both = dataclasses.replace(gemm_profile.kernels[0], source={"gemm.py:17": "</script><b>"})
    html.write(dataclasses.replace(gemm_profile, kernels=(both,)), page)
    text = page.read_text()
    assert len(text) < 2_000_000
    assert text.count("</script>") == 1
    assert not re.search(r'(src|href)="|url\(|@import|fetch\(', text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    chromium = browser()
    if not chromium:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell, or name it in TRITONEXT_CHROMIUM")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert 'data-ready="1"' in done.stdout
    for part in (
        "Marks",
        "Time by category",
        "Time by source line",
        "Cycles by iteration",
        "Roofline",
        "Warps over time",
    ):
        assert part in done.stdout
    assert "&lt;/script&gt;&lt;b&gt;" in done.stdout


@pytest.mark.parametrize(("wait", "verdict"), [(300, "same"), (500, "slower"), (150, "faster")])
def test_comparison_judges_by_the_noise(tmp_path, wait, verdict):
    paths = []
    for number, cycles in enumerate((300, wait)):
        made = assemble(*record(gemm_plan(24, cycles), seed=number, ctas=40, warps=2, launches=5).columns)
        paths.append(tmp_path / f"{number}.npz")
        storage.save(made.profile([gemm_kernel()], [H200]), paths[-1])
    summaries = [compare.load_summary(path) for path in paths]
    [difference] = compare.compare(*summaries)
    assert difference.verdict == verdict
    if verdict != "same":
        assert next(iter(difference.parts)) == "copy_wait"
    text = io.StringIO()
    compare.show((difference,), Console(file=text, width=160))
    assert verdict in text.getvalue()
    assert not re.search("HGMMA|TTGIR", text.getvalue())
    for entry, stages in zip(summaries, (3, 4)):
        entry["kernels"][0] |= {
            "opcodes": {"HGMMA": stages, "BAR": 2},
            "ir": f"module {{\n  depth = {stages} {'wide ' * 40}end\n}}\n",
        }
    differences = compare.compare(*summaries)
    assert differences[0].opcodes == {"HGMMA": (3, 4)}
    compare.show(differences, Console(file=text, width=160), code=True)
    assert re.search(r"HGMMA 3 → 4[\s\S]*-  depth = 3 (wide )+end\s+\+  depth = 4 (wide )+end", text.getvalue())
    summaries[1]["kernels"][0]["name"] = "other"
    assert {entry.verdict for entry in compare.compare(*summaries)} == {"gone", "new"}


def test_a_file_stays_whole_where_it_cannot_be_replaced(gemm_profile, tmp_path, monkeypatch):
    path = tmp_path / "p.json"
    path.write_text("older")
    path.chmod(0o640)

    def fail(profile, place):
        place.write_text("half")
        raise OSError(28, "No space left on device", str(place))

    with monkeypatch.context() as patched:
        patched.setitem(saving._WRITERS, ".json", ("", fail))
        with pytest.raises(OSError, match=r"No space left on device: '.*/p\.json'$"):
            saving.save(gemm_profile, path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("p.json", "older")]
    saving.save(gemm_profile, path)
    assert json.loads(path.read_text())["format"] == "tritonext-profile"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]


def test_links_lead_to_what_is_saved_and_pipes_take_it(gemm_profile, tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "p.json"
    link.symlink_to(tmp_path / "there" / "real.json")
    saving.save(gemm_profile, link)
    assert link.is_symlink()
    saved = (tmp_path / "there" / "real.json").read_text()
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_text)
        saving.save(gemm_profile, pipe)
        assert read.result(60) == saved
    assert pipe.is_fifo()
