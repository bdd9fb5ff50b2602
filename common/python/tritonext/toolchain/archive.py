"""The LLVM archive that Triton's own builds download: the exact commit, from upstream's address.

The archive is an install prefix of several gigabytes; headers and ``mlir-tblgen`` are kept.
"""

from __future__ import annotations

import hashlib
import http.client
import pathlib
import platform
import re
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator

from tritonext import env, versions

from . import prefix
from .model import Llvm, SourceUnavailable
from .report import Reporter, Update

__all__ = ["address", "populate"]

_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
_KEEP = re.compile(r"[^/]+/(include/(?:llvm|llvm-c|mlir|mlir-c)/.+|bin/mlir-tblgen)")
_SHA256 = re.compile(r"\b[0-9a-fA-F]{64}\b")
# A network that drops packets must not hold up the sources that follow; a connected server may be slow.
_CONNECT_SECONDS = 4
_READ_SECONDS = 60
_BLOCK = 1 << 20


def address(commit: str) -> str:
    """Return the URL of the archive for ``commit`` and this machine.

    Raises:
        SourceUnavailable: Upstream builds none for this architecture, or the base URL is not HTTP.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise SourceUnavailable(f"no archive is built for {machine}")
    pins = versions.load()["llvm"]["archive"]
    base = env.get("TRITONEXT_LLVM_ARCHIVE_URL") or pins["base"]
    if urllib.parse.urlsplit(base).scheme not in ("http", "https"):
        raise SourceUnavailable(f"TRITONEXT_LLVM_ARCHIVE_URL is no http or https address: {base}")
    return f"{base.rstrip('/')}/llvm-{commit[:8]}-almalinux-{_ARCHITECTURES[machine]}-{pins['build']}.tar.gz"


def populate(directory: pathlib.Path, commit: str, reporter: Reporter) -> Llvm:
    """Fill ``directory`` with headers and ``mlir-tblgen`` of the archive for ``commit``.

    Raises:
        SourceUnavailable: The address does not answer, the checksum is not known or wrong, or the archive lacks a file.
    """
    url = address(commit)
    try:
        with _open(url, "HEAD", _CONNECT_SECONDS):
            pass
        expected, origin = _checksum(url, commit)
        file = directory / "archive.tar.gz"
        with reporter.step(f"downloading {url}") as update:
            actual = _download(url, file, update)
    except (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException) as error:
        raise SourceUnavailable(f"{url} {_explain(error)}") from None
    if actual != expected:
        raise SourceUnavailable(f"{url} has sha256 {actual}, {origin} says {expected}")
    with reporter.step("unpacking the LLVM headers and mlir-tblgen") as update:
        try:
            _unpack(file, directory, update)
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise SourceUnavailable(f"{url} cannot be unpacked: {error}") from None
    file.unlink()
    return prefix.inspect(directory, f"Triton's archive {url.rpartition('/')[2]}")


def _open(url: str, method: str, timeout: float) -> http.client.HTTPResponse:
    return urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=timeout)


def _checksum(url: str, commit: str) -> tuple[str, str]:
    """Return the expected digest and who says so: the user, versions.toml, or a file beside the archive."""
    if digest := env.get("TRITONEXT_LLVM_ARCHIVE_SHA256"):
        return digest.lower(), "TRITONEXT_LLVM_ARCHIVE_SHA256"
    pinned = versions.load()["llvm"]["archive"]["sha256"]
    name = url.rpartition("/")[2]
    if name in pinned:
        return pinned[name], "versions.toml"
    try:
        with _open(f"{url}.sha256", "GET", _CONNECT_SECONDS) as response:
            match = _SHA256.search(response.read(4096).decode("ascii", "replace"))
    except urllib.error.HTTPError:
        match = None
    if match is None:
        raise SourceUnavailable(
            f"{url} is there, but nothing says what its sha256 must be; set TRITONEXT_LLVM_ARCHIVE_SHA256 to the value "
            f"in cmake/llvm-info.json of Triton's source for LLVM {commit[:12]}"
        )
    return match[0].lower(), f"{name}.sha256"


def _download(url: str, file: pathlib.Path, update: Update) -> str:
    digest, done = hashlib.sha256(), 0
    with _open(url, "GET", _READ_SECONDS) as response, open(file, "wb") as output:
        length = response.headers.get("Content-Length")
        total = int(length) if length else None
        while block := _read(response):
            output.write(block)
            digest.update(block)
            done += len(block)
            update(done, total)
    if total is not None and done != total:
        raise SourceUnavailable(f"{url} ended after {done} of {total} bytes")
    return digest.hexdigest()


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_BLOCK)
    except OSError as error:
        # A plain OSError, as for a host that is not reached any more, would be taken for one of the cache directory.
        raise urllib.error.URLError(error) from error


def _unpack(file: pathlib.Path, directory: pathlib.Path, update: Update) -> None:
    for member, archive, name in _members(file, update):
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        content = archive.extractfile(member)
        if content is None:
            raise tarfile.ReadError(f"{member.name} is no regular file")
        with content, open(target, "wb") as output:
            shutil.copyfileobj(content, output, _BLOCK)
        target.chmod(0o755 if member.mode & 0o100 else 0o644)


def _members(file: pathlib.Path, update: Update) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile, str]]:
    size = file.stat().st_size
    with open(file, "rb") as raw, tarfile.open(fileobj=raw, mode="r|gz") as archive:
        for member in archive:
            update(raw.tell(), size)
            match = _KEEP.fullmatch(member.name.removeprefix("./"))
            if match and not member.isdir() and ".." not in match[1].split("/"):
                yield member, archive, match[1]


def _explain(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"answered {error.code} {error.reason}"
    reason = getattr(error, "reason", error)
    return f"does not answer: {getattr(reason, 'strerror', None) or reason}"
