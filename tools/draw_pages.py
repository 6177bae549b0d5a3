"""Draw the pictures of the playground, of reports and of languages in Chromium: python tools/draw_pages.py [folder]."""

from __future__ import annotations

import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

import detent
from detent.serve import make_app

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = (
    ("playground-rule", "A decimal number", 1180, "light", "#meaning", None),
    ("playground-run", "A decimal number", 1180, "light", "#result", 2),
    ("playground-phone", "Banned words", 360, "dark", "#result", 8),
)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    app = make_app(detent.load_model())
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for picture in PICTURES:
            draw(browser, f"http://127.0.0.1:{port}/", folder, *picture)
        for name, html, step in pages():
            draw_page(browser, folder, name, html, step)
        browser.close()
    server.should_exit = True


def draw(
    browser: Any, url: str, folder: Path, name: str, example: str, width: int, scheme: str, card: str, token: int | None
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#meaning[aria-busy=false]")
    page.select_option("#example", example)
    page.wait_for_timeout(1500)
    if token is None:
        page.click("#back")
    else:
        page.click("#run")
        page.wait_for_selector("#held-note:not(:empty)")
        page.wait_for_selector("#free-note:not(:empty)")
        page.locator("#held .token").nth(token).click()
    page.wait_for_timeout(1500)
    page.mouse.move(0, 0)
    page.locator(card).screenshot(path=folder / f"{name}.png", animations="disabled")
    context.close()


def pages() -> Iterator[tuple[str, str, int | None]]:
    """Yield the name of each page, its text, and the token whose details are open."""
    model = detent.load_model()
    yield "language-page", detent.regex(r"([0-9]+)?\.[0-9]+").to_html("23.x7"), None
    prompt, rule = "It costs 12.50 euros. What is the price?", detent.regex(r"([0-9]+)?\.[0-9]+")
    out = detent.generate(model, prompt, rule, temperature=0, alternatives=5)
    free = detent.generate(model, prompt, temperature=0, max_tokens=12)
    guide = detent.compile(rule, model.vocabulary, canonical=True)
    yield "report-page", out.report.to_html(guide, title="A price", unconstrained=free.report), 2


def draw_page(browser: Any, folder: Path, name: str, html: str, step: int | None) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 100}, color_scheme="light")
    page.set_content(html)
    if step is not None:
        page.locator(".step").nth(step).focus()
    page.screenshot(path=folder / f"{name}.png", full_page=True, animations="disabled")
    page.close()


if __name__ == "__main__":
    main()
