"""Triton's own LLVM archive, from a loopback file server."""

from __future__ import annotations

import errno
import hashlib
import http.client
import io
import os
import socket
import tarfile
import time

import pytest

from tritonext import toolchain
from tritonext.errors import ToolchainError
from tritonext.toolchain import archive


@pytest.fixture(autouse=True)
def _compiler(fake_clang):
    fake_clang()


def refusal() -> str:
    """Return why the archive was not taken; nothing else can give headers here."""
    with pytest.raises(ToolchainError) as caught:
        toolchain.provide()
    return caught.value.details[0].removeprefix("headers from Triton's archive: ")


@pytest.fixture
def offer(server, archive_name):
    """Put any bytes where the archive is expected, with their checksum."""

    def put(data: bytes) -> None:
        server.files[archive_name] = data
        server.files[f"{archive_name}.sha256"] = hashlib.sha256(data).hexdigest().encode()

    return put


def test_headers_and_tblgen_are_kept_and_the_rest_is_not(publish, left, commit):
    publish()
    result = toolchain.provide()
    assert (result.headers_version, result.llvm_commit) == ("24.0.0git", commit)
    root = result.mlir_tblgen.parents[1]
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == [
        "bin/mlir-tblgen",
        "include/llvm/Config/abi-breaking.h",
        "include/llvm/Config/llvm-config.h",
        "include/llvm/Support/VCSRevision.h",
        "include/mlir/IR/Operation.h",
        "piece.json",
    ]
    assert [name for name in left() if name.startswith("llvm-")] == [root.name]


def test_the_first_include_directory_states_what_libtriton_was_built_with(publish):
    publish()
    result = toolchain.provide()
    assert result.abi_breaking_checks is True
    header = "llvm/Config/abi-breaking.h"
    assert (result.include_dirs[0] / header).read_text() == "#define LLVM_ENABLE_ABI_BREAKING_CHECKS 1\n"
    assert (result.include_dirs[1] / header).read_text() == "#define LLVM_ENABLE_ABI_BREAKING_CHECKS 0\n"


def test_a_checksum_of_the_user_is_enough(publish, monkeypatch):
    data = publish(checksum=None)
    monkeypatch.setenv("TRITONEXT_LLVM_ARCHIVE_SHA256", hashlib.sha256(data).hexdigest().upper())
    assert toolchain.provide().headers_version == "24.0.0git"


def test_an_archive_nobody_vouches_for_is_not_downloaded(publish, server, left):
    publish(checksum=None)
    assert "set TRITONEXT_LLVM_ARCHIVE_SHA256" in refusal()
    assert server.asked("GET", ".tar.gz") == 0
    assert left() == []


def test_a_wrong_checksum_leaves_nothing(publish, server, left):
    publish(checksum="0" * 64)
    reason = refusal()
    assert "has sha256 " in reason
    assert reason.endswith(f".sha256 says {'0' * 64}")
    assert server.asked("GET", ".tar.gz") == 1
    assert left() == []


def test_a_truncated_download_leaves_nothing(publish, server, left):
    data = publish()
    server.truncate = len(data) // 2
    reason = refusal()
    assert f"ended after {len(data) // 2} of {len(data)} bytes" in reason
    assert left() == []


def test_a_network_that_goes_away_is_no_full_file_system(publish, left, monkeypatch):
    publish()
    read = http.client.HTTPResponse.read

    def unreachable(response, size=None):
        if size == archive._BLOCK:
            raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
        return read(response, size)

    monkeypatch.setattr(http.client.HTTPResponse, "read", unreachable)
    assert refusal().endswith("does not answer: No route to host")
    assert left() == []


def test_an_archive_without_mlir_is_refused(offer, left):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("llvm/include/llvm/Config/llvm-config.h"))
    offer(buffer.getvalue())
    assert refusal() == "there is no include/llvm/Config/abi-breaking.h in it"
    assert left() == []


def test_a_file_that_is_no_archive_is_refused(offer, left):
    offer(b"<html>sign in</html>")
    assert "cannot be unpacked: not a gzip file" in refusal()
    assert left() == []


def test_a_tblgen_that_does_not_run_is_refused(publish, left):
    publish(version="24.0.0git\nexec >&2; echo 'libc.so.6: version not found'; exit 1\n")
    assert refusal().startswith("its bin/mlir-tblgen does not run: libc.so.6: version not found")
    assert left() == []


def test_an_address_that_never_answers_costs_the_connect_timeout(isolated, monkeypatch):
    monkeypatch.setattr(archive, "_CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("TRITONEXT_LLVM_ARCHIVE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        assert "does not answer: timed out" in refusal()
    assert time.monotonic() - started < 5


def test_a_base_that_is_no_web_address_is_named(isolated, monkeypatch):
    monkeypatch.setenv("TRITONEXT_LLVM_ARCHIVE_URL", "/srv/llvm")
    assert refusal() == "TRITONEXT_LLVM_ARCHIVE_URL is no http or https address: /srv/llvm"
