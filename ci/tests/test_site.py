"""The built documentation site in a browser: pages, menus, plots, search, and nothing from elsewhere."""

from __future__ import annotations

import functools
import http.server
import json
import pathlib
import re
import subprocess
import threading

import pytest

from tritonext.testing import browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and keeps what was asked for, and what was not there."""

    asked: list[tuple[str, int]] = []

    def log_request(self, code="-", size="-"):
        self.asked.append((self.path, int(code)))

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def opened():
    """A function that returns the document of a page as Chromium has it after its scripts ran."""
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built; `nox -s docs` builds it")
    chromium = browser()
    if not chromium:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell, or name it in TRITONEXT_CHROMIUM")
    handler = functools.partial(Handler, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # Any other host is nowhere, so that what a page fetches from elsewhere fails aloud.
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
        options += ["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"]

        def open_page(path: str) -> str:
            address = f"http://127.0.0.1:{server.server_port}/{path}"
            done = subprocess.run(
                [chromium, *options, address], capture_output=True, text=True, timeout=120, check=True
            )
            complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
            assert complaints == []
            return done.stdout

        yield open_page
        server.shutdown()


@pytest.mark.parametrize(
    ("page", "parts"),
    [
        ("index.html", ["Compiler extensions", "Tutorials", "Reference", "Benchmarks"]),
        ("docs/tutorials/pass.html", ["Write a pass", "tritonext new demo --kind pass", "StreamStores.cpp"]),
        ("docs/reference/extensions.html", ["layout-localize-stores", "warpspec-specialize-loops"]),
        ("docs/reference/api.html", ["insert_after", "InstalledExtension"]),
        ("docs/benchmarks/nvidia-h200/tlx-gemm.html", ["TFLOPS"]),
    ],
)
def test_pages_are_drawn(opened, page, parts):
    Handler.asked.clear()
    document = opened(page)
    text = re.sub(r"<[^>]+>", "", document)
    assert [part for part in parts if part not in text] == []
    # Scripts of the theme ran: they mark the document.
    assert re.search(r'<html[^>]* class="js', document)
    assert [path for path, code in Handler.asked if code >= 400 and path != "/favicon.ico"] == []
    kinds = {pathlib.PurePosixPath(path).suffix for path, _ in Handler.asked}
    assert {".html", ".css", ".js"} <= kinds
    assert (".svg" in kinds) == ("benchmarks" in page)


def test_the_search_has_the_passes(opened):
    Handler.asked.clear()
    opened("index.html?q=localize")
    # A worker answers in a time of its own, so it is the index that is looked at.
    assert ("/search/search_index.json", 200) in Handler.asked
    entries = json.loads((SITE / "search" / "search_index.json").read_text())["docs"]
    assert "docs/reference/extensions.html#layout-localize-stores" in [entry["location"] for entry in entries]
