"""A file server, stand-in tools and a small LLVM prefix: what the toolchain meets, without its size.

``provided`` is the real toolchain, fetched once into the user's cache; the others work in temporary directories.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import io
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import threading

import pytest

from tritonext import env, toolchain, versions
from tritonext._triton import wheel

VARIABLES = [
    name for name in env.VARIABLES if name.startswith(("TRITONEXT_LLVM", "TRITONEXT_CXX", "TRITONEXT_CACHE", "MLIR"))
]


@pytest.fixture(scope="session")
def provided() -> toolchain.Toolchain:
    if shutil.which("apt-get") is None and not any(map(os.environ.get, VARIABLES)):
        pytest.skip("there is no apt-get on this machine and no LLVM is pointed at")
    return toolchain.provide()


@pytest.fixture(scope="session")
def commit() -> str:
    return wheel.installed().llvm_commit


@pytest.fixture
def isolated(tmp_path, monkeypatch):
    """Start from an empty cache, with nothing pointed at and nothing reachable; gives the one directory of the path."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("TRITONEXT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITONEXT_LLVM_ARCHIVE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tools))
    monkeypatch.setenv("PATH", str(tools))
    return tools


@pytest.fixture
def script(isolated):
    """Put a shell script on the path."""

    def write(name: str, body: str) -> pathlib.Path:
        path = isolated / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def fake_clang(script):
    """Put a compiler on the path that says which clang it is and writes an empty output."""

    def write(name: str = "clang++", version: str = "23.1.4") -> pathlib.Path:
        return script(
            name,
            f'[ "$1" = --version ] && echo "clang version {version}" && exit\n'
            'while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done',
        )

    return write


@pytest.fixture
def llvm_files(commit):
    """The files of an LLVM prefix as an upstream build installs them, reduced to what is looked at."""

    def files(version: str = "24.0.0git", revision: str | None = commit) -> dict[str, str]:
        return {
            "include/llvm/Config/llvm-config.h": f'#define LLVM_VERSION_STRING "{version}"\n',
            "include/llvm/Config/abi-breaking.h": "#define LLVM_ENABLE_ABI_BREAKING_CHECKS 0\n",
            "include/llvm/Support/VCSRevision.h": f'#define LLVM_REVISION "{revision}"\n' if revision else "",
            "include/mlir/IR/Operation.h": "",
            "include/clang/AST/Decl.h": "",
            "lib/libLLVMCore.a": "large",
            "bin/mlir-tblgen": f"#!/bin/sh\necho LLVM version {version}\n",
            "bin/opt": "large",
        }

    return files


@pytest.fixture
def prefix(tmp_path, llvm_files):
    """Write an LLVM prefix and return it."""

    def write(name: str = "llvm", **kind) -> pathlib.Path:
        for path, text in llvm_files(**kind).items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if path.startswith("bin/") else 0o644)
        return tmp_path / name

    return write


class Server(http.server.ThreadingHTTPServer):
    """Serves bytes by path and records what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        # Bytes of a body that are sent before the connection closes, or before it waits for `resume`.
        self.truncate: int | None = None
        self.stall: int | None = None
        self.stalled, self.resume = threading.Event(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/builds"

    def asked(self, method: str, suffix: str) -> int:
        return sum(verb == method and path.endswith(suffix) for verb, path in self.requests)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._head()

    def do_GET(self) -> None:
        if (body := self._head()) is None:
            return
        large = self.path.endswith(".tar.gz")
        if large and self.server.truncate is not None:
            body = body[: self.server.truncate]
        if large and self.server.stall is not None:
            self.wfile.write(body[: self.server.stall])
            self.wfile.flush()
            self.server.stalled.set()
            self.server.resume.wait(60)
            body = body[self.server.stall :]
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def _head(self) -> bytes | None:
        self.server.requests.append((self.command, self.path))
        body = self.server.files.get(self.path.removeprefix("/builds/"))
        if body is None:
            self.send_error(404)
            return None
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def server(isolated, monkeypatch):
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        monkeypatch.setenv("TRITONEXT_LLVM_ARCHIVE_URL", server.url)
        yield server
        server.resume.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def archive_name(commit) -> str:
    flavour = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    return f"llvm-{commit[:8]}-almalinux-{flavour}-{versions.load()['llvm']['archive']['build']}.tar.gz"


@pytest.fixture
def publish(server, archive_name, llvm_files):
    """Put an archive on the server, with its checksum beside it unless another one is given."""

    def put(checksum: str | None = "right", **kind) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, text in llvm_files(**kind).items():
                member = tarfile.TarInfo(f"{archive_name.removesuffix('.tar.gz')}/{path}")
                member.size, member.mode = len(text), 0o755 if path.startswith("bin/") else 0o644
                archive.addfile(member, io.BytesIO(text.encode()))
        data = buffer.getvalue()
        server.files[archive_name] = data
        if checksum == "right":
            checksum = hashlib.sha256(data).hexdigest()
        if checksum:
            server.files[f"{archive_name}.sha256"] = f"{checksum}  {archive_name}\n".encode()
        return data

    return put


@pytest.fixture
def start():
    """Start the command in a process of its own."""
    processes = []

    def run(*arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "tritonext.toolchain", *arguments]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def left(tmp_path):
    """Names of the entries of the cache that are no locks and no facts."""

    def names() -> list[str]:
        base = tmp_path / "cache" / "toolchain"
        entries = sorted(path.name for path in base.iterdir()) if base.is_dir() else []
        return [name for name in entries if not name.endswith(".lock") and name != "facts"]

    return names
