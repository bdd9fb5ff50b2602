"""Take the newcomer's road for each kind of extension apart, in an environment of its own, and say how long it took.

    nox -s template                 # every kind
    nox -s template -- op backend   # some

The commands are those that `tritonext new` prints, at most five. They run without a network: where the kernel allows
it, in a namespace that has none. The exit status is 1 when a test of an extension fails, or a road takes more processor
time than it may; on a machine with two idle cores the wall clock shows less.
"""

from __future__ import annotations

import argparse
import functools
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import build
import workspace

ENVIRONMENT = workspace.ROOT / "build" / "newcomer"
WORK = workspace.ROOT / "build" / "newcomer-work"
# Seconds of processor time from `tritonext new` to green tests, and commands.
LIMIT = 180
MOST_COMMANDS = 5
# A new namespace has no network; that of an ordinary user needs one of users around it.
WITHOUT_NETWORK = ("unshare", "--map-root-user", "--net")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = workspace.kinds()
    parser.add_argument("kinds", nargs="*", default=known, help=f"some of {', '.join(known)}")
    kinds = parser.parse_args(argv).kinds

    (wheel,) = build.DIST.glob("tritonext-*.whl")
    build.run(sys.executable, "-m", "venv", "--clear", ENVIRONMENT)
    build.run(ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "-q", f"{wheel}[build,develop]")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    print("without a network" if prefix() else "pip without an index; the network cannot be cut off here", flush=True)
    too_long = []
    for kind in kinds:
        wall, processor, commands = road(kind)
        times = f"{wall:.0f} s, {processor:.0f} s of processors"
        print(f"{kind}: {times}, {commands} commands from `tritonext new` to green tests", flush=True)
        too_long += [kind] if processor > LIMIT else []
    if too_long:
        raise SystemExit(f"expected at most {LIMIT} s of processor time, but it took more for {', '.join(too_long)}")


def road(kind: str) -> tuple[float, float, int]:
    """Make, build, install and test an extension of one kind.

    Returns:
        The seconds of the clock and of processors, and the number of commands.
    """
    identifier = f"my_{kind}"
    started, used = time.monotonic(), processor_time()
    printed = command(WORK, "tritonext", "new", identifier, "--kind", kind)
    directory, *others = (line.strip() for line in printed.partition("next:\n")[2].splitlines())
    for line in others:
        command(WORK / directory.removeprefix("cd "), "bash", "-c", line)
    seconds = time.monotonic() - started, processor_time() - used
    command(WORK, "pip", "uninstall", "-q", "-y", f"tritonext-my-{kind}")
    count = 2 + len(others)
    if count > MOST_COMMANDS:
        raise SystemExit(f"expected at most {MOST_COMMANDS} commands, got {count}:\n{printed}")
    return *seconds, count


@functools.cache
def prefix() -> tuple[str, ...]:
    """Return what runs a command without a network, or nothing where this machine has no way to."""
    program = shutil.which(WITHOUT_NETWORK[0])
    allowed = program and not subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode
    return WITHOUT_NETWORK if allowed else ()


def processor_time() -> float:
    """Return the seconds that processes which this one started have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command(directory: pathlib.Path, *arguments: str) -> str:
    """Run a command as in the activated environment, without a network, and return what it printed."""
    path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*prefix(), *arguments],
        cwd=directory,
        env={**os.environ, "PATH": path, "PIP_NO_INDEX": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{' '.join(arguments)}: exit status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
