"""The playground in Chromium: typing, walking, running, branching, by mouse and by keyboard alone; `just browser`."""

from __future__ import annotations

import json
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serve.conftest import running

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with running() as url:
        yield url


class Visit:
    """A page, and what it must not do: ask elsewhere, write errors, or grow wider than the window."""

    def __init__(self, browser: Any, site: str, width: int = 1600, scheme: str = "light", **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.site = site
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.ask(request.url))

    def note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def ask(self, url: str) -> None:
        if not url.startswith((self.site, "data:")):
            self.complaints.append(f"asks {url}")

    def open(self, fragment: str = "") -> Any:
        self.page.goto(f"{self.site}/{fragment}")
        self.page.wait_for_selector("#meaning[aria-busy=false]")
        return self.page

    def run(self) -> None:
        self.page.click("#run")
        self.finish()

    def finish(self) -> None:
        self.page.wait_for_selector("#held-note:not(:empty)")
        self.page.wait_for_selector("#stop[hidden]", state="attached")

    def close(self) -> None:
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        self.context.close()
        assert not self.complaints


def test_first_picture_within_two_seconds(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    seconds = []
    for _ in range(3):  # the fastest counts: the machine may be busy
        start = time.perf_counter()
        visit.page.goto(site)
        visit.page.wait_for_selector("#drawing svg .node")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 2
    visit.close()


def test_typing_shows_errors_at_their_place_and_what_the_rule_means(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    assert page.locator("#drawing .node").count() == 4
    expect(page.locator("#verdict")).to_have_text("✓ in the language")
    page.fill("#part-0", "a(b|")
    page.wait_for_selector("#part-0[aria-invalid=true]")
    assert page.inner_text(".mirror mark", timeout=1000) == "("
    expect(page.locator(".problem")).to_contain_text("unterminated")
    expect(page.locator("#run")).to_be_disabled()
    page.fill("#part-0", "a(b|c)")
    page.wait_for_selector("#part-0:not([aria-invalid])")
    expect(page.locator("#count")).to_have_text("2 texts")
    expect(page.locator("#texts .text").first).to_have_text("ab")
    page.fill("#test", "ad")
    expect(page.locator("#mismatch")).to_contain_text("Character 2 is “d”")
    expect(page.locator("#run")).to_be_enabled()
    visit.close()


def test_combinations(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    page.fill("#part-0", "[0-9]{2}")
    page.click("#add-part")
    page.fill("#part-1", "1.")
    page.select_option("select[aria-label^='Part 2: how']", "-")
    expect(page.locator("#count")).to_have_text("90 texts")
    assert page.inner_text("#expression") == "A - B"
    page.check("[aria-label='Part 2: not (~)']")
    expect(page.locator("#count")).to_have_text("10 texts")
    page.click("[aria-label='Remove part 1']")
    expect(page.locator("#count")).to_contain_text("Infinitely many")
    visit.close()


def test_walking_a_text_step_by_step(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site, reduced_motion="reduce")
    page = visit.open()
    expect(page.locator("#verdict")).to_have_text("✓ in the language")
    page.click("#first")
    states = []
    for _ in range(6):
        states.append(page.inner_text("#tape .state.now"))
        assert page.locator("#drawing g.now:not(.arrow) text").text_content() == states[-1]
        if page.is_enabled("#next"):
            page.click("#next")
    assert states == ["0", "0", "0", "1", "2", "2"]
    page.click("#tab-table")
    assert page.locator("#table tbody tr").all_inner_texts() == ["→ 0\t\t1\t0", "1\t\t–\t2", "2\tyes\t–\t2"]
    assert page.locator("#table tr.now th").inner_text() == "2"
    page.click("#play")
    expect(page.locator("#tape .state.now")).to_have_text("1")
    page.click("#play")
    assert page.inner_text("#play") == "Play"
    visit.close()


def test_a_run_its_choices_and_a_branch(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    page.fill("#prompt", "What does a cup of coffee cost?")
    visit.run()
    text = "".join(page.locator("#held .token:not(.gone) .word").all_inner_texts())
    assert re.fullmatch(r"([0-9]+)?[.][0-9]+(end)?", text)
    assert "nats" in page.inner_text("#headline")
    assert page.locator("#held .flag", has_text="budget binds").count() == 1
    assert page.locator("#free .flag", has_text="leaves the rule").count() == 1
    page.locator("#held .token").nth(2).hover()
    refused = page.locator("#choices del")
    assert refused.count() > 0
    assert page.locator("#choices tr:has(del) .tag").count() == refused.count()
    page.locator("#held .token").nth(2).click()
    expect(page.locator("#choices .by").first).to_contain_text("at character")
    assert page.locator("#rule mark.refusing").all_inner_texts() != []
    before = page.locator("#held .token .word").all_inner_texts()
    button = page.locator("#choices button.text").first
    other = button.inner_text()
    button.click()
    page.wait_for_selector("#branch:not([hidden])")
    visit.finish()
    assert page.locator("#held .token .word").all_inner_texts()[:3] == [*before[:2], other]
    assert page.locator("#held .token.byuser").count() == 3
    assert page.locator("#runs li").count() == 2
    page.locator("#runs button").first.click()
    assert page.locator("#held .token .word").all_inner_texts() == before
    visit.close()


def test_a_token_clicked_before_the_reasons_came_shows_them(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    visit.run()
    asked: list[Any] = []

    def answer_the_second(route: Any) -> None:
        asked.append(route)
        if len(asked) > 1:
            route.continue_()

    page.route("**/playground/why", answer_the_second)
    with page.expect_request("**/playground/why"):
        page.locator("#held .token").nth(2).hover()
    page.locator("#held .token").nth(2).click()
    expect(page.locator("#choices .by").first).to_contain_text("at character")
    visit.complaints.clear()  # the browser's own line about the request that was given up
    visit.close()


def test_banned_words_are_crossed_out(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    page.select_option("#example", "Banned words")
    visit.run()
    assert "listen" in page.locator("#held .token.gone .word").first.inner_text()
    assert page.locator("#held .flag", has_text="is banned").count() >= 1
    visit.close()


def test_a_run_that_cannot_be_says_why(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    page.fill("#part-0", "[0-9]{9}")
    page.fill("#max-tokens", "2")
    page.wait_for_selector("#run:enabled")
    page.click("#run")
    expect(page.locator("#alert")).to_contain_text("raise max_tokens to at least 9")
    expect(page.locator("#empty")).to_be_visible()
    visit.complaints.clear()  # the browser's own line about status 400
    visit.close()


def test_a_late_answer_about_the_rule_leaves_the_error_of_a_run(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    held: list[Any] = []
    page.route("**/playground/inspect", lambda route: held.append(route))
    with page.expect_request("**/playground/inspect"):
        page.fill("#part-0", "[0-9]{9}")
    page.fill("#max-tokens", "2")
    page.click("#run")
    expect(page.locator("#alert")).to_contain_text("raise max_tokens to at least 9")
    with page.expect_response("**/playground/inspect"):
        (route,) = held
        route.continue_()
    expect(page.locator("#count")).to_have_text("1,000,000,000 texts")
    expect(page.locator("#alert")).to_contain_text("raise max_tokens to at least 9")
    page.unroute("**/playground/inspect")
    page.fill("#max-tokens", "12")
    visit.run()
    expect(page.locator("#alert")).to_be_hidden()
    visit.complaints.clear()  # the browser's own line about status 400
    visit.close()


def test_a_link_carries_the_state(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    page.select_option("#example", "A person as JSON")
    page.fill("#prompt", "Grüße <b>☃</b>")
    link = page.evaluate("location.hash")
    other = Visit(chromium, site)
    page = other.open(link)
    assert page.input_value("#prompt") == "Grüße <b>☃</b>"
    assert json.loads(page.input_value("#part-0"))["type"] == "object"
    other.close()
    visit.close()


@pytest.mark.parametrize("fragment", ["", "%%%", "AAAA", "A" * 200_000, "bnVsbA", "eyJwYXJ0cyI6MX0", "W10"])
def test_malformed_links(chromium: Any, site: str, fragment: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open(f"#s={fragment}")
    assert page.input_value("#part-0") == r"([0-9]+)?\.[0-9]+"
    visit.close()


def test_by_keyboard_alone(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site, width=360, scheme="dark", reduced_motion="reduce")
    page = visit.open()
    press = page.keyboard.press

    def focused() -> str:
        return str(page.evaluate("document.activeElement.id"))

    def tab_to(name: str) -> None:
        for _ in range(60):
            if focused() == name:
                return
            press("Tab")
        raise AssertionError(f"the keyboard does not reach {name}")

    tab_to("part-0")
    press("Control+A")
    page.keyboard.type("[0-9]{3}")
    expect(page.locator("#count")).to_have_text("1,000 texts")
    tab_to("prompt")
    press("Control+Enter")
    visit.finish()
    for _ in range(60):
        if page.evaluate("document.activeElement.classList.contains('token')"):
            break
        press("Tab")
    press("ArrowRight")
    assert page.locator("#choices-title").inner_text().startswith("Token 2:")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    press("Enter")
    assert page.evaluate("document.activeElement.matches('#choices button.text')")
    press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('token')")
    press("Enter")
    press("Enter")
    page.wait_for_selector("#branch:not([hidden])")
    visit.finish()
    assert page.locator("#held .token.byuser").count() == 2
    visit.close()


def test_texts_never_become_markup(chromium: Any, site: str) -> None:
    visit = Visit(chromium, site)
    page = visit.open()
    evil = "<img src=x onerror=alert(1)>"
    page.on("dialog", lambda dialog: visit.complaints.append(dialog.message))
    page.fill("#part-0", f"({evil}|{evil})")
    page.fill("#test", evil)
    page.wait_for_selector("#tape .cell")
    page.fill("#prompt", evil)
    page.fill("#max-tokens", "40")
    page.wait_for_selector("#run:enabled")
    visit.run()
    page.fill("#part-0", f"{evil}(")
    page.wait_for_selector("#part-0[aria-invalid=true]")
    page.select_option("select[aria-label='The rule: notation']", "schema")
    page.fill("#part-0", json.dumps({"type": evil}))
    page.wait_for_selector(".problem:not([hidden])")
    assert page.locator("main img").count() == 0
    visit.close()


def test_a_key_is_asked_for_and_is_in_no_link(chromium: Any) -> None:
    with running(api_keys=["secret"]) as site:
        visit = Visit(chromium, site)
        visit.page.goto(site)
        visit.page.wait_for_selector("#key-bar:not([hidden])")
        visit.complaints.clear()  # the browser's own line about status 401
        visit.page.fill("#key", "secret")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector("#drawing svg .node")
        link = visit.page.evaluate("location.hash").removeprefix("#s=")
        assert b"secret" not in urlsafe_b64decode(link + "===")
        assert visit.page.evaluate("localStorage.length + sessionStorage.length") == 0
        visit.run()
        visit.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_accessibility(chromium: Any, site: str, width: int, scheme: str) -> None:
    axe_module = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    visit = Visit(chromium, site, width, scheme, bypass_csp=True, reduced_motion="reduce")
    page = visit.open()

    def check() -> None:
        found = axe_module.Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found] == []

    page.select_option("#example", "Banned words" if width == 360 else "A tight budget")
    page.wait_for_selector("#meaning[aria-busy=false]")
    visit.run()
    check()
    page.select_option("#example", "A person as JSON")
    page.fill("#part-0", "a(")
    page.wait_for_selector(".problem:not([hidden])")
    check()
    visit.close()
