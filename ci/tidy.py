"""Run clang-tidy over the C++ of the SDK and the extensions, from the build trees that ci/build.py leaves.

python ci/tidy.py            # every source
python ci/tidy.py layout     # one extension
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

import build
import workspace


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extensions", nargs="*", help="ids; all, the test fixtures included, when none is given")
    names = parser.parse_args(argv).extensions or list(workspace.extensions(fixtures=True))
    entries = {entry["file"]: entry for name in names for entry in commands(build.build_tree(name))}
    with tempfile.TemporaryDirectory() as database:
        (pathlib.Path(database) / "compile_commands.json").write_text(json.dumps(list(entries.values())))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda source: check(source, database), entries))
    failed = [result for result in results if result.returncode]
    for result in failed:
        print(result.stdout)
    print(f"clang-tidy: {len(results)} files, {len(failed)} to mend")
    raise SystemExit(bool(failed))


def commands(tree: pathlib.Path) -> list[dict]:
    """Return the compile commands of a build tree without its precompiled header, which only clang++ reads.

    Raises:
        SystemExit: The extension has not been built.
    """
    path = tree / "compile_commands.json"
    if not path.exists():
        raise SystemExit(f"no build tree in {tree}\n  hint: run `nox -s build-{tree.name}` first")
    found = []
    for entry in json.loads(path.read_text()):
        if "cmake_pch" in entry["file"]:
            continue
        words = [word for word in shlex.split(entry["command"]) if word != "-Winvalid-pch"]
        kept = [words[i] for i in range(len(words)) if not _part_of_pch(words, i)]
        found.append({"directory": entry["directory"], "file": entry["file"], "arguments": kept})
    return found


def _part_of_pch(words: list[str], i: int) -> bool:
    """Say whether word ``i`` belongs to ``-Xclang -include-pch -Xclang …`` or ``-Xclang -include -Xclang …``."""
    window = words[max(0, i - 3) : i + 4]
    return (words[i] == "-Xclang" or "-include" in words[i] or "cmake_pch" in words[i]) and any(
        "cmake_pch" in word for word in window
    )


def check(source: str, database: str) -> subprocess.CompletedProcess[str]:
    """Run clang-tidy on one file."""
    command = [
        workspace.program("clang-tidy"),
        "--quiet",
        f"--config-file={workspace.ROOT / '.clang-tidy'}",
        "-p",
        database,
        source,
    ]
    return subprocess.run(command, check=False, capture_output=True, text=True)


if __name__ == "__main__":
    main()
