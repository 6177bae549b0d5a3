"""Self-contained pages and the documentation in Chromium: axe finds nothing, wide and narrow, light and dark."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import detent

axe_module = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("default")]

LOOKS = [(width, scheme) for width in (360, 1600) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the pages of a report, of languages and of the command line."""
    folder = tmp_path_factory.mktemp("pages")
    model = detent.load_model()
    rule = detent.json_schema({"properties": {"age": {"type": "integer", "maximum": 120}}, "required": ["age"]})
    prompt = "Anna is 34. Write her age as JSON."
    out = detent.generate(model, prompt, rule, temperature=0, alternatives=5)
    free = detent.generate(model, prompt, temperature=0, max_tokens=12, alternatives=5)
    guide = detent.compile(rule, model.vocabulary, canonical=True)
    banned = detent.generate(model, "Can we talk?", ban=["help", "talk", "listen"], temperature=0, max_tokens=24)
    number = detent.regex(r"([0-9]+)?\.[0-9]+")
    many = detent.regex("(?:[a-z]{9},){40}")
    texts = {
        "report": out.report.to_html(guide, title="An age as JSON", unconstrained=free.report),
        "rewinds": banned.report.to_html(),
        "language": number.to_html("23.x7"),
        "many-states": many.to_html("abc"),
        "empty": (detent.regex("a") & "b").to_html("a"),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    arguments = ["explain", "--regex", "[0-9]{4}-[0-9]{2}", "-o", str(folder / "explain.html"), "2021"]
    subprocess.run([sys.executable, "-m", "detent", *arguments], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_self_contained_pages(chromium: Any, pages: Path, width: int, scheme: str) -> None:
    for file in sorted(pages.glob("*.html")):
        with opened(chromium, width, scheme) as page:
            page.goto(file.as_uri())
            page.keyboard.press("Tab")  # in a report, the details of the first token
            check(page, file.stem)


@pytest.fixture(scope="module")
def documentation() -> Iterator[str]:
    """Serve the documentation, which `just docs` has built."""
    folder = Path(__file__).parents[1] / "build/docs"
    if not (folder / "index.html").exists():
        pytest.skip("the documentation is not built: just docs")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["index", "reasons"])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pages_of_the_documentation(chromium: Any, documentation: str, name: str, width: int, scheme: str) -> None:
    with opened(chromium, width, scheme) as page:
        page.goto(f"{documentation}/{name}.html")
        check(page, name, "main, article, [role=main]")


def test_the_search_of_the_documentation_needs_no_network(chromium: Any, documentation: str) -> None:
    with opened(chromium, 1600, "light") as page:
        page.goto(f"{documentation}/search.html?q=canonical")
        page.wait_for_selector("#search-results li a")
        found = page.locator("#search-results li a").all_inner_texts()
        assert any("anonical" in each for each in found)


class opened:  # noqa: N801 - a context manager
    """A page; what it asks for elsewhere and writes as an error is a failure."""

    def __init__(self, browser: Any, width: int, scheme: str) -> None:
        self._context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True
        )
        self._page = self._context.new_page()
        self._complaints: list[str] = []

    def __enter__(self) -> Any:
        self._page.on("request", lambda request: self._ask(request.url))
        self._page.on("pageerror", lambda error: self._complaints.append(str(error)))
        return self._page

    def _ask(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "http://127.0.0.1:")):
            self._complaints.append(f"asks {url}")

    def __exit__(self, *error: object) -> None:
        self._context.close()
        if error[0] is None:
            assert self._complaints == []


def check(page: Any, name: str, within: str | None = None) -> None:
    """Check a page with axe, and that it is not wider than the window."""
    found = axe_module.Axe().run(page, context=within).response["violations"]
    violations = [(each["id"], each["impact"], [node["html"][:150] for node in each["nodes"]][:3]) for each in found]
    assert (name, violations) == (name, [])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
