"""Pieces of the cache are complete or absent, whatever happens while they are made."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from tritonext import toolchain
from tritonext.errors import ToolchainError
from tritonext.toolchain import cache


def test_kill_in_the_middle_leaves_nothing_that_is_used(publish, server, fake_clang, start, left):
    fake_clang()
    data = publish()
    server.stall = len(data) // 2
    process = start()
    assert server.stalled.wait(60)
    (partial,) = left()
    assert ".tmp-" in partial
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    with pytest.raises(ToolchainError, match="no usable LLVM headers"):
        toolchain.find()
    # The next run removes what the dead one left, and succeeds.
    server.stall = None
    assert toolchain.provide().headers_version == "24.0.0git"
    assert not [name for name in left() if ".tmp-" in name]


def test_an_interrupted_command_removes_what_it_began(publish, server, fake_clang, start, left):
    fake_clang()
    server.stall = len(publish()) // 2
    process = start()
    assert server.stalled.wait(60)
    process.send_signal(signal.SIGINT)
    # The read that is under way ends first.
    server.resume.set()
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.endswith("interrupted; what was not complete has been removed\n")
    assert left() == []


def test_two_processes_download_once(publish, server, fake_clang, start):
    fake_clang()
    data = publish()
    server.stall = len(data) // 2
    first = start("--json")
    assert server.stalled.wait(60)
    second = start("--json")
    # The second waits for the first; it must not even ask for the archive before the first has finished.
    with pytest.raises(Exception, match="timed out"):
        second.wait(3)
    server.resume.set()
    outputs = [process.communicate(timeout=60) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert server.asked("GET", ".tar.gz") == 1


def test_what_is_cached_is_used_without_a_network(publish, server, fake_clang, monkeypatch):
    fake_clang()
    publish()
    first = toolchain.provide()
    asked = len(server.requests)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert toolchain.find() == first
    assert toolchain.provide() == first
    assert len(server.requests) == asked


def test_a_damaged_piece_is_found_out_and_replaced(publish, fake_clang):
    fake_clang()
    publish()
    tblgen = toolchain.provide().mlir_tblgen
    tblgen.unlink()
    with pytest.raises(
        ToolchainError, match=r"the cached Triton's archive: there is no bin/mlir-tblgen in it"
    ) as caught:
        toolchain.find()
    assert "headers from the cache: there is none" not in str(caught.value)
    assert toolchain.provide().mlir_tblgen == tblgen
    assert tblgen.is_file()


def test_a_cache_that_cannot_be_written_names_the_variable(publish, fake_clang, tmp_path, monkeypatch):
    fake_clang()
    publish()
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRITONEXT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ToolchainError, match="the cache directory cannot be written") as caught:
        toolchain.provide()
    assert caught.value.found == "Not a directory"
    assert "TRITONEXT_CACHE_DIR" in caught.value.hint


def test_a_full_file_system_leaves_nothing(isolated, left):
    def populate(directory):
        (directory / "part").touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ToolchainError) as caught:
        cache.build("piece", populate)
    assert caught.value.found == "No space left on device"
    assert left() == []
    assert cache.lookup("piece") is None


def test_an_interrupt_leaves_nothing_and_is_passed_on(isolated, left):
    def populate(directory):
        (directory / "part").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.build("piece", populate)
    assert left() == []


@pytest.mark.parametrize("record", ['{"schema": 0, "source": "old"}', "[]", "{"])
def test_a_piece_of_another_layout_is_made_again(isolated, record):
    first = cache.build("piece", lambda directory: {"source": "old"})
    (first.path / "piece.json").write_text(record)
    assert cache.build("piece", lambda directory: {"source": "new"}).record["source"] == "new"
    assert cache.lookup("piece").record["source"] == "new"


def test_facts_live_as_long_as_the_file(isolated, tmp_path):
    file, calls = tmp_path / "tool", []
    file.write_text("one")

    def compute():
        calls.append(file.read_text())
        return calls[-1]

    assert [cache.remember("text", file, compute) for _ in range(2)] == ["one", "one"]
    file.write_text("second")
    assert cache.remember("text", file, compute) == "second"
    assert cache.remember("other", file, compute) == "second"
    assert calls == ["one", "second", "second"]


def test_failures_are_not_remembered(isolated, tmp_path):
    def fail():
        raise ValueError

    with pytest.raises(ValueError):
        cache.remember("text", tmp_path, fail)
    assert cache.remember("text", tmp_path, lambda: 1) == 1
