"""Write the generated parts of the documentation, or with --check say which are out of date.

Generated: the table of extensions in README.md, and docs/reference/ (extensions, environment variables, ops). Their
sources are the manifests, TableGen, `tritonext/env.py` and the docstrings of ops.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys

import ops_reference
import workspace

ROOT = workspace.ROOT
sys.path.insert(0, str(ROOT / "common" / "python"))

from tritonext import env, manifest  # noqa: E402

NOTICE = "<!-- Written by `nox -s docs`; edit the sources it names, not this file. -->\n"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 when a file is out of date")
    check = parser.parse_args(argv).check
    stale = []
    for path, text in pages().items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in stale:
        print(f"{path}: {'out of date; run `nox -s docs`' if check else 'written'}")
    raise SystemExit(bool(stale) and check)


def pages() -> dict[pathlib.Path, str]:
    """Return the text of every generated file by path."""
    manifests = {
        name: manifest.load(directory / "pyproject.toml") for name, directory in workspace.extensions().items()
    }
    reference = ROOT / "docs" / "reference"
    readme = ROOT / "README.md"
    return {
        readme: replace_section(readme.read_text(), "extensions", extension_table(manifests)),
        reference / "extensions.md": extension_reference(manifests),
        reference / "environment.md": environment_reference(),
        reference / "tlx-ops.md": ops_reference.page(
            "Ops of TLX", NOTICE, ROOT / "extensions" / "tlx" / "python" / "tritonext_tlx"
        ),
    }


def replace_section(text: str, name: str, body: str) -> str:
    """Return ``text`` with the lines between ``<!-- name -->`` and ``<!-- /name -->`` replaced by ``body``."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"README.md has no section <!-- {name} --> … <!-- /{name} -->")
    return pattern.sub(lambda match: match[1] + body + match[2], text)


def extension_table(manifests: dict[str, manifest.Manifest]) -> str:
    """Return one row for each extension."""
    rows = ["| extension | what it does | passes | targets |", "|---|---|---|---|"]
    for name, entry in manifests.items():
        passes = f"[{len(entry.passes)}](docs/reference/extensions.md#{name})"
        targets = ", ".join(entry.targets)
        rows.append(f"| [`{name}`](extensions/{name}/README.md) | {entry.description} | {passes} | {targets} |")
    return "\n".join(rows) + "\n"


def extension_reference(manifests: dict[str, manifest.Manifest]) -> str:
    """Return the page on every extension's passes, from manifests and TableGen."""
    lines = [NOTICE, "# Extensions", ""]
    for name, entry in manifests.items():
        lines += [f"## {name}", "", f"{entry.description}. Needs Triton {workspace.pins()['triton']['version']}.", ""]
        definitions = (ROOT / f"extensions/{name}/include/tritonext_{name}/Transforms/Passes.td").read_text()
        for item in entry.passes:
            summary, description, options = parse_pass(definitions, item.definition)
            lines += [f"### `{item.flag}`", "", f"{summary}.", "", description, ""]
            lines += [f"Default place: stage `{item.stage}`, {place(item)}.", ""]
            if options:
                lines += ["| option | type | default | meaning |", "|---|---|---|---|"]
                lines += [f"| `{flag}` | {kind} | `{default}` | {text} |" for flag, kind, default, text in options]
                lines.append("")
    return "\n".join(lines)


def place(item: manifest.PassEntry) -> str:
    """Say where a pass runs by default."""
    return ", ".join(f"{item.position} `{anchor}` on {backend}" for backend, anchor in item.anchors)


def parse_pass(text: str, name: str) -> tuple[str, str, list[tuple[str, str, str, str]]]:
    """Return summary, description and options (flag, type, default, meaning) of a pass definition."""
    match = re.search(rf"def {name} .*?\n}}\n", text, re.DOTALL)
    if match is None:
        raise SystemExit(f"no definition of {name} in its Passes.td")
    body = match[0]
    summary = re.search(r'let summary = "([^"]*)"', body)[1]
    description = re.search(r"let description = \[\{\n(.*?)\}\]", body, re.DOTALL)[1]
    description = "\n".join(line.removeprefix("    ") for line in description.splitlines()).strip()
    string = r'"((?:[^"\\]|\\.)*)"'
    parsed = re.findall(
        rf'Option<"\w+",\s*{string},\s*{string},\s*(?:/\*default=\*/)?{string},\s*((?:{string}\s*)+)(?:,\s*\[\{{(.*?)\}}\])?>',
        body,
        re.DOTALL,
    )
    if len(parsed) != len(re.findall(r"\bOption<", body)):
        raise SystemExit(f"an option of {name} is written in a way that this script does not read")
    options = []
    for flag, kind, default, meaning, _, values in parsed:
        names = dict(re.findall(rf"clEnumValN\((\S+), {string}", values))
        text = "".join(re.findall(string, meaning))
        if names:
            text += f": {', '.join(names.values())}"
        options.append((flag, "enum" if names else kind, names.get(default, default.replace('\\"', '"')), text))
    return summary, description, options


def environment_reference() -> str:
    """Return the page on environment variables."""
    rows = [f"| `{item.name}` | {item.summary} | {item.default or 'unset'} |" for item in env.VARIABLES.values()]
    return "\n".join(
        [NOTICE, "# Environment variables", "", "| variable | meaning | default |", "|---|---|---|", *rows, ""]
    )


if __name__ == "__main__":
    main()
