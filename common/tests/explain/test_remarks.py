"""Collections of remarks: nesting, threads, libraries that appear meanwhile, and the text."""

from __future__ import annotations

import threading

import pytest

from tritonext import remarks
from tritonext.remarks import Remark


class Library(threading.local):
    """Stands in for a library: collects on the thread that runs, nested, as ``lib/Remarks.cpp`` does."""

    def __init__(self) -> None:
        self.open: list[list[dict]] = []

    def begin_remarks(self) -> None:
        self.open.append([])

    def end_remarks(self) -> list[dict]:
        closed = self.open.pop()
        if self.open:
            self.open[-1].extend(closed)
        return closed

    def emit(self, message: str, loc: str = "") -> None:
        if self.open:
            self.open[-1].append(
                {"kind": "applied", "pass": "sample-do-thing", "function": "f", "loc": loc, "message": message}
            )


@pytest.fixture(autouse=True)
def _no_sources(monkeypatch):
    monkeypatch.setattr(remarks, "_sources", [])


@pytest.fixture
def library() -> Library:
    library = Library()
    remarks.attach(library)
    return library


def messages(found: list[Remark]) -> list[str]:
    return [remark.message for remark in found]


def test_nothing_is_collected_outside_a_block(library):
    library.emit("before")
    with remarks.collect() as found:
        library.emit("inside")
        assert found == []
    library.emit("after")
    assert messages(found) == ["inside"]
    assert library.open == []


def test_collections_nest(library):
    with remarks.collect() as outer:
        library.emit("one")
        with remarks.collect() as inner:
            library.emit("two")
        library.emit("three")
    assert messages(inner) == ["two"]
    assert messages(outer) == ["one", "two", "three"]


def test_the_collection_ends_when_the_block_fails(library):
    with pytest.raises(ZeroDivisionError), remarks.collect():
        raise ZeroDivisionError
    assert library.open == []


def test_threads_collect_for_themselves(library):
    inside = []

    def work() -> None:
        library.emit("unheard")
        with remarks.collect() as found:
            library.emit("other thread")
        inside.extend(messages(found))

    with remarks.collect() as found:
        library.emit("this thread")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert messages(found) == ["this thread"]
    assert inside == ["other thread"]


def test_a_library_loaded_inside_takes_part_in_every_open_collection(library):
    late = Library()
    with remarks.collect() as outer:
        with remarks.collect() as inner:
            remarks.attach(late)
            late.emit("late")
        late.emit("later")
    assert messages(inner) == ["late"]
    assert messages(outer) == ["late", "later"]
    assert late.open == []


def test_places_are_split_from_the_right(library):
    with remarks.collect() as found:
        library.emit("somewhere", "C:/odd:name.py:12:7")
        library.emit("nowhere")
    assert (found[0].file, found[0].line, found[0].column) == ("C:/odd:name.py", 12, 7)
    assert (found[1].file, found[1].line, found[1].column) == ("", 0, 0)
    assert found[0].to_json()["pass"] == "sample-do-thing"


def test_text_gathers_by_line_with_its_source(tmp_path):
    source = tmp_path / "kernel.py"
    source.write_text("x = 1\n    tl.store(p, x)\n")
    found = [
        Remark("missed", "layout-a", "f", str(source), 2, 5, "kept the layout"),
        Remark("analysis", "layout-b", "f", "", 0, 0, "one accumulator"),
        Remark("applied", "layout-a", "f", str(source), 1, 1, "changed"),
        Remark("missed", "layout-a", "f", str(source), 2, 5, "kept the layout"),
    ]
    assert remarks.render(found) == (
        "f\n"
        "  analysis: one accumulator [layout-b]\n"
        "kernel.py:1:1: x = 1\n"
        "  applied: changed [layout-a]\n"
        "kernel.py:2:5: tl.store(p, x)\n"
        "  missed: kept the layout [layout-a] (2 times)"
    )
    assert remarks.render([]) == ""
