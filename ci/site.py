"""Build the documentation site into build/site, from every page of the repository.

    nox -s docs                  # the generated pages, then the site
    python ci/site.py --serve    # and show it at http://127.0.0.1:8000

The repository's layout is the site's, so that links work in both; a link to something that is not there fails the
build. The reference of the Python API comes from docstrings.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys

import yaml

import workspace

ROOT = workspace.ROOT
SOURCE = ROOT / "build" / "site-source"
SITE = ROOT / "build" / "site"

# The public modules of the SDK, in the order of their page.
MODULES = (
    "activation",
    "pipeline",
    "language",
    "launch",
    "registry",
    "loader",
    "manifest",
    "offline",
    "inspect_code",
    "remarks",
    "explain",
    "doctor",
    "index",
    "scaffold",
    "errors",
    "testing",
    "testing.kernels",
    "testing.fixtures",
    "testing.fake_driver",
    "testing.findings",
)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help="serve the site after it was built")
    serve = parser.parse_args(argv).serve
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = stage()
    configuration = ROOT / "build" / "mkdocs.yml"
    configuration.write_text(yaml.safe_dump(settings(pages), sort_keys=False))
    # Not --quiet: a warning that is not logged does not fail a strict build.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", configuration]
    # Material greets with a notice about another project.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        print("\n".join([line for line in lines if not line.startswith("INFO")] or lines))
        raise SystemExit(done.returncode)
    print(f"{len(pages)} pages: {(SITE / 'index.html').relative_to(ROOT)}")
    if serve:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=SITE)
        print("http://127.0.0.1:8000, until interrupted")
        http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler).serve_forever()


def stage() -> list[str]:
    """Copy the pages and what they link to, and write the page of the API; return the pages."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.md", "docs/*.svg"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    files = [name for name in listed if name and not name.startswith(("templates/", "common/templates"))]
    for name in files:
        target = SOURCE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            target.write_text(linked(name, (ROOT / name).read_text()))
        else:
            shutil.copy2(ROOT / name, target)
    pages = sorted(name for name in files if name.endswith(".md"))
    api = "docs/reference/api.md"
    lines = ["# Python API", "", "From the docstrings of the public modules."]
    lines += [f"\n## `tritonext.{module}`\n\n::: tritonext.{module}" for module in MODULES]
    (SOURCE / api).write_text("\n".join(lines) + "\n")
    return sorted([*pages, api])


def linked(name: str, text: str) -> str:
    """Return a page whose links to files find them in the site, and whose links to directories are text."""

    def replace(match: re.Match[str]) -> str:
        label, target = match[1], match[2]
        path = (ROOT / name).parent / target
        if "://" in target or target.endswith((".md", ".svg")) or not path.exists():
            return match[0]
        if path.is_dir():
            return label
        copy = SOURCE / path.resolve().relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
        return match[0]

    # Code shows no links.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else LINK.sub(replace, part) for index, part in enumerate(parts))


def settings(pages: list[str]) -> dict:
    """Return the configuration of MkDocs."""

    def group(prefix: str) -> list[str]:
        return [page for page in pages if page.startswith(prefix)]

    tutorials = [f"docs/tutorials/{name}.md" for name in ("README", "pass", "dialect", "op", "debug", "publish")]
    guides = [page for page in group("docs/") if page.count("/") == 1]
    extensions = sorted(page for page in pages if page.startswith("extensions/"))
    return {
        "site_name": "tritonext",
        "docs_dir": str(SOURCE),
        "site_dir": str(SITE),
        # Nothing is fetched from elsewhere when a page is shown.
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.tabs", "navigation.indexes", "content.code.copy", "toc.follow"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo"},
            ],
        },
        "use_directory_urls": False,
        "markdown_extensions": [
            "tables",
            "toc",
            "pymdownx.superfences",
            {"pymdownx.highlight": {"anchor_linenums": True}},
        ],
        "plugins": [
            "search",
            {
                "mkdocstrings": {
                    "handlers": {
                        "python": {
                            "paths": [str(ROOT / "common" / "python")],
                            "options": {
                                "docstring_style": "google",
                                # Fields of named tuples are described like parameters.
                                "docstring_options": {"warn_unknown_params": False, "warn_missing_types": False},
                                "heading_level": 3,
                                "show_root_heading": False,
                                "show_source": False,
                                "members_order": "source",
                            },
                        }
                    }
                }
            },
        ],
        "validation": {"links": {"anchors": "warn", "not_found": "warn", "unrecognized_links": "ignore"}},
        "nav": [
            {"Start": "README.md"},
            {"Tutorials": tutorials},
            {"Guides": guides},
            {"Extensions": extensions},
            {"Reference": group("docs/reference/")},
            {"Benchmarks": group("docs/benchmarks/")},
            {"Project": ["ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md"]},
        ],
    }


if __name__ == "__main__":
    main()
