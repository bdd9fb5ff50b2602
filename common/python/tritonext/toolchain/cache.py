"""Directories that appear in the user's cache complete or not at all, and small facts remembered about files.

A piece is made in a temporary directory beside its final place and renamed there last, so a process that dies
half-way leaves only a directory nobody looks at; the next one to take the lock removes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import filelock

from tritonext import env
from tritonext.errors import ToolchainError

__all__ = ["Piece", "atomic_write", "build", "digest", "discard", "lookup", "remember", "root", "write_or_explain"]

_SCHEMA = 1
_RECORD = "piece.json"


@dataclass(frozen=True)
class Piece:
    """A complete cached directory and what was recorded when it was made."""

    path: pathlib.Path
    record: dict[str, Any]


def root() -> pathlib.Path:
    """Return the directory that holds every piece; it may not exist yet."""
    return env.cache_dir() / "toolchain"


def lookup(key: str) -> Piece | None:
    """Return the piece ``key`` if it is complete, else None."""
    path = root() / key
    try:
        record = json.loads((path / _RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return Piece(path, record) if isinstance(record, dict) and record.get("schema") == _SCHEMA else None


def build(key: str, populate: Callable[[pathlib.Path], dict[str, Any]]) -> Piece:
    """Return the piece ``key``, made by ``populate`` unless it is there already.

    Args:
        key: Name of the directory below :func:`root`.
        populate: Fills the empty directory it is given and returns the record to keep with it. When it raises, nothing
            is kept.

    Raises:
        ToolchainError: The cache directory cannot be written, or the file system is full.
    """
    if piece := lookup(key):
        return piece
    base = root()
    try:
        base.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(base / f".{key}.lock")
        lock.acquire()
    except OSError as error:
        raise _unwritable(base, error) from None
    try:
        if piece := lookup(key):
            return piece
        # Whoever made these died: a live process would hold the lock.
        for stale in base.glob(f".{key}.tmp-*"):
            shutil.rmtree(stale, ignore_errors=True)
        temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{key}.tmp-", dir=base))
        try:
            record = {"schema": _SCHEMA, **populate(temporary)}
            (temporary / _RECORD).write_text(json.dumps(record, indent=2) + "\n", "utf-8")
            temporary.chmod(0o755)
            # One flush for thousands of small files: after a power loss the renamed directory must not hold empty ones.
            os.sync()
            shutil.rmtree(base / key, ignore_errors=True)
            temporary.rename(base / key)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise _unwritable(base, error) from error
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        return Piece(base / key, record)
    finally:
        lock.release()


def discard(piece: Piece) -> None:
    """Make :func:`lookup` forget ``piece``, which turned out to be damaged; :func:`build` replaces it."""
    (piece.path / _RECORD).unlink(missing_ok=True)


def remember(kind: str, path: pathlib.Path, compute: Callable[[], Any], *also: str) -> Any:
    """Return ``compute()``, a JSON value, remembered for as long as the file ``path`` stays the same.

    Args:
        kind: What is remembered; part of the key.
        path: The file the value is about. Its paths, size and modification time are part of the key.
        compute: Called when nothing is remembered. What it raises is raised and not remembered.
        also: Further parts of the key.
    """
    real = path.resolve()
    status = real.stat()
    key = json.dumps([_SCHEMA, kind, str(path), str(real), status.st_size, status.st_mtime_ns, *also])
    memo = root() / "facts" / f"{kind}-{digest(key)}.json"
    try:
        stored = json.loads(memo.read_text("utf-8"))
        if stored["key"] == key:
            return stored["value"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    value = compute()
    # A cache that cannot be written costs the next call the same time again and nothing else.
    with contextlib.suppress(OSError):
        atomic_write(memo, json.dumps({"key": key, "value": value}).encode())
    return value


def atomic_write(path: pathlib.Path, content: bytes) -> None:
    """Write ``content`` to ``path`` so that a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = pathlib.Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        # mkstemp makes private files; those written here go into wheels, and into caches that users may share.
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_or_explain(path: pathlib.Path, text: str) -> None:
    """Do :func:`atomic_write` of a text to a file below :func:`root`.

    Raises:
        ToolchainError: The cache directory cannot be written.
    """
    try:
        atomic_write(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from None


def digest(text: str) -> str:
    """Return a short name for ``text``."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]


def _unwritable(path: pathlib.Path, error: OSError) -> ToolchainError:
    return ToolchainError(
        "the cache directory cannot be written",
        found=error.strerror or str(error),
        where=path,
        hint="set TRITONEXT_CACHE_DIR to a directory you can write",
    )
