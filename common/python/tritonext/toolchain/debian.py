"""LLVM's Debian packages, through the machine's own apt mirror and a private apt root.

Nothing of the system changes and no right is needed: apt keeps its lists and downloads in a temporary directory, checks
signatures against the machine's keyring, and ``dpkg-deb`` unpacks what is kept. ``mlir-tblgen`` of a newer suite needs
a newer C library than the machine may have, so it comes with its own loader and libraries and a script that starts it.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass

from . import prefix
from .model import Llvm, SourceUnavailable
from .process import environment, run
from .report import Reporter, Update

__all__ = ["mirrors", "populate"]

# mlir-tblgen and what it is linked with; the loader is in libc6.
_RUNTIME = ("libc6", "libstdc++6", "libgcc-s1", "libz3-4", "libzstd1", "zlib1g")
_KEYRINGS = ("debian-archive-keyring.pgp", "debian-archive-keyring.gpg")
# Where a file of a package goes; a file no rule names is dropped, static libraries of a gigabyte among them.
_RULES = (
    (re.compile(r"usr/include/llvm-\d+/(llvm/.+)"), "include"),
    (re.compile(r"usr/include/llvm-c-\d+/(llvm-c/.+)"), "include"),
    (re.compile(r"usr/lib/llvm-\d+/include/(mlir(?:-c)?/.+)"), "include"),
    (re.compile(r"usr/lib/llvm-\d+/bin/(mlir-tblgen)"), "libexec"),
    (re.compile(r"usr/lib/[^/]+-linux-gnu/((?:ld-linux|lib(?:c|m|z|z3|zstd|stdc\+\+|gcc_s)\.so)[^/]*)"), "libexec"),
)
_START = """#!/bin/sh
# Runs mlir-tblgen with the C library it was built for.
here=${{0%/*}}/../libexec
exec "$here/{loader}" --library-path "$here" "$here/mlir-tblgen" "$@"
"""
_BLOCK = 1 << 20


def populate(directory: pathlib.Path, series: str, suites: list[str], reporter: Reporter) -> Llvm:
    """Fill ``directory`` with the headers and ``mlir-tblgen`` of Debian's LLVM ``series``.

    Args:
        directory: An empty directory; it becomes an install prefix.
        series: Major version, as in the package names.
        suites: Debian suites to look in, in order.
        reporter: Shows progress.

    Raises:
        SourceUnavailable: There is no apt, no Debian mirror, or no suite with the packages.
    """
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise SourceUnavailable(f"there is no {tool} on this machine")
    packages = (f"libmlir-{series}-dev", f"llvm-{series}-dev", f"mlir-{series}-tools", *_RUNTIME)
    with tempfile.TemporaryDirectory(prefix=".apt-", dir=directory) as name:
        root = _AptRoot(pathlib.Path(name))
        reasons = []
        for mirror in mirrors(root):
            for suite in suites:
                try:
                    with reporter.step(f"reading the package list of {mirror} {suite}") as update:
                        root.select(mirror, suite, update)
                    with reporter.step(f"downloading LLVM {series} from {mirror} {suite}") as update:
                        debs = root.download(packages, update)
                except SourceUnavailable as error:
                    reasons.append(f"{mirror} {suite}: {error}")
                    continue
                with reporter.step("unpacking the LLVM headers and mlir-tblgen") as update:
                    _unpack(debs, directory, update)
                return prefix.inspect(directory, f"Debian {suite}, {mirror}")
    raise SourceUnavailable("; ".join(reasons))


def mirrors(root: _AptRoot) -> list[str]:
    """Return the Debian mirrors of the machine's apt configuration.

    apt knows whose a mirror is from the lists it has fetched. A machine that never ran ``apt-get update`` has none; the
    lists are then fetched into the private root.

    Raises:
        SourceUnavailable: No mirror of Debian is configured or reachable.
    """
    found = _origins(())
    if not any(origin == "Debian" for _, origin in found):
        private = root.options()
        _apt(["update", *private], root.path)
        found = _origins(private)
    debian = [uri.rstrip("/") for uri, origin in found if origin == "Debian"]
    if not debian:
        others = ", ".join(sorted({origin for _, origin in found})) or "none"
        raise SourceUnavailable(f"apt has no Debian mirror configured (origins: {others})")
    return list(dict.fromkeys(debian))


@dataclass(frozen=True)
class _AptRoot:
    """A directory in which apt works as it does below ``/var/lib/apt`` and ``/etc/apt``."""

    path: pathlib.Path

    def __post_init__(self) -> None:
        for name in ("state/lists/partial", "cache/archives/partial", "deb"):
            (self.path / name).mkdir(parents=True)

    def options(self) -> list[str]:
        """Options that keep apt's writing inside the directory."""
        settings = {
            "Dir::State": self.path / "state",
            "Dir::State::status": "/dev/null",
            "Dir::Cache": self.path / "cache",
            "Acquire::Languages": "none",
            "Acquire::Retries": 2,
            "Acquire::http::Timeout": 20,
            "Acquire::https::Timeout": 20,
            # As root, apt would switch to a user who cannot enter the caller's cache directory.
            "APT::Sandbox::User": "root",
        }
        return [f"-o{name}={value}" for name, value in settings.items()]

    def selected(self) -> list[str]:
        """The options, and the one source that :meth:`select` chose in place of the machine's."""
        sources = {"Dir::Etc::sourcelist": self.path / "sources.list", "Dir::Etc::sourceparts": "/dev/null"}
        pins = {"Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null"}
        return [*self.options(), *(f"-o{name}={value}" for name, value in (sources | pins).items())]

    def select(self, mirror: str, suite: str, update: Update) -> None:
        """Make ``suite`` of ``mirror`` the only source, and fetch its package list."""
        keyrings = [pathlib.Path("/usr/share/keyrings") / name for name in _KEYRINGS]
        signed = next((f"[signed-by={keyring}] " for keyring in keyrings if keyring.is_file()), "")
        (self.path / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n")
        _apt(["update", "--error-on=any", *self.selected()], self.path, update)

    def download(self, packages: tuple[str, ...], update: Update) -> list[pathlib.Path]:
        """Download ``packages`` and return their files; apt has checked each against the signed list."""
        _apt(["download", *self.selected(), *packages], self.path / "deb", update)
        return sorted((self.path / "deb").glob("*.deb"))


def _origins(options: tuple[str, ...] | list[str]) -> list[tuple[str, str]]:
    result = run(["apt-get", "indextargets", *options, "--format", "$(REPO_URI)|$(ORIGIN)", "Created-By: Packages"])
    return [tuple(line.split("|", 1)) for line in result.stdout.splitlines() if "|" in line]


def _apt(arguments: list[str], directory: pathlib.Path, update: Update = lambda done, total: None) -> None:
    """Run apt-get, passing its progress on; its first error is the reason it gives nothing."""
    status, end = os.pipe()
    command = ["apt-get", "-q", f"-oAPT::Status-Fd={end}", *arguments]
    with open(directory / ".log", "w+", encoding="utf-8") as log:
        with subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[end], env=environment()
        ) as process:
            os.close(end)
            try:
                with open(status, encoding="utf-8", errors="replace") as lines:
                    for line in lines:
                        # dlstatus:<item>:<percent>:<text>
                        if line.startswith("dlstatus:"):
                            update(float(line.split(":")[2]), 100)
            except BaseException:
                process.terminate()
                raise
        log.seek(0)
        output = log.read().splitlines()
    if process.returncode:
        # Older releases of apt abbreviate the word.
        errors = [match[1] for line in output if (match := re.match(r"(?:E|Error): (.+)", line))]
        raise SourceUnavailable(errors[0] if errors else f"apt-get {arguments[0]} ended with {process.returncode}")


def _unpack(debs: list[pathlib.Path], directory: pathlib.Path, update: Update) -> None:
    total, done = sum(deb.stat().st_size for deb in debs), 0
    for deb in debs:
        try:
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as process:
                with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                    for member in archive:
                        _place(archive, member, directory)
        except tarfile.TarError as error:
            raise SourceUnavailable(f"{deb.name} cannot be unpacked: {error}") from None
        if process.returncode:
            raise SourceUnavailable(f"{deb.name} cannot be unpacked: dpkg-deb ended with {process.returncode}")
        done += deb.stat().st_size
        update(done, total)
    loaders = list((directory / "libexec").glob("ld-linux*"))
    if len(loaders) != 1:
        raise SourceUnavailable(f"libc6 has {len(loaders)} loaders where one was expected")
    start = directory / "bin" / "mlir-tblgen"
    start.parent.mkdir()
    start.write_text(_START.format(loader=loaders[0].name))
    start.chmod(0o755)


def _place(archive: tarfile.TarFile, member: tarfile.TarInfo, directory: pathlib.Path) -> None:
    name = member.name.removeprefix("./")
    for rule, place in _RULES:
        match = rule.fullmatch(name)
        if match is None or ".." in name.split("/"):
            continue
        target = directory / place / match[1]
        target.parent.mkdir(parents=True, exist_ok=True)
        if member.issym() and "/" not in member.linkname:
            target.symlink_to(member.linkname)
        elif content := archive.extractfile(member):
            with content, open(target, "wb") as output:
                shutil.copyfileobj(content, output, _BLOCK)
            target.chmod(0o755 if member.mode & 0o100 else 0o644)
        return
