"""The playground's endpoints: what a rule means, how a text is read, and a text token by token."""

from __future__ import annotations

import json
import math
import re
import socket
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import product
from typing import Any

import pytest

import detent
from detent.serve.playground.study import Study
from detent.serve.rules import refuse_misspelt_names

Serve = Callable[..., AbstractContextManager[str]]
NUMBER = {"parts": [{"kind": "regex", "source": r"([0-9]+)?\.[0-9]+"}]}


def get(url: str) -> tuple[int, Any, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


def post(url: str, path: str, body: Any, key: str | None = None) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(f"{url}/playground/{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(url: str, path: str, body: Any) -> Any:
    status, text = post(url, path, body)
    assert status == 200, text
    return json.loads(text)


def part(kind: str, source: str, operator: str = "|", *, negated: bool = False) -> dict[str, Any]:
    return {"kind": kind, "source": source, "operator": operator, "negated": negated}


def inspect(url: str, *parts: dict[str, Any], **rest: Any) -> Any:
    return ask(url, "inspect", {"rule": {"parts": list(parts), **rest}})


def run(url: str, rule: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    body = {"rule": rule, "prompt": "What does a cup of coffee cost?", "max_tokens": 12, "seed": 1, **options}
    status, text = post(url, "run", body)
    assert status == 200, text
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def path_of(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tokens that are left of a run, as the page follows its notes."""
    path: list[dict[str, Any]] = []
    for note in notes:
        if note["type"] == "token":
            assert note["position"] == len(path)
            path.append(note)
        elif note["type"] in ("rewind", "masked"):
            del path[note["position"] :]
    return path


# The files of the page


def test_the_page_asks_for_nothing_from_elsewhere(url: str) -> None:
    status, headers, html = get(f"{url}/")
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=|<style|javascript:", html)
    files = re.findall(r'(?:src|href)="(?!#)([^"]+)"', html)
    assert all(re.fullmatch(r"playground/files/\w+[.](svg|js|css)", name) for name in files)
    queue = [name.removeprefix("playground/files/") for name in files]
    for name in queue:
        status, headers, text = get(f"{url}/playground/files/{name}")
        assert status == 200
        assert headers["Content-Security-Policy"] == policy
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        if name.endswith(".js"):
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function", text)
            queue += [each for each in re.findall(r'from "\./([^"]+)"', text) if each not in queue]
    assert {"main.js", "playground.css", "icon.svg", "strip.js"} <= set(queue)


@pytest.mark.parametrize("name", ["none.js", "..%2fpages.py", "%2e%2e/pages.py", "pages.py", "index.html%00"])
def test_the_page_has_no_other_files(url: str, name: str) -> None:
    assert get(f"{url}/playground/files/{name}")[0] == 404


# What a rule means


def test_the_automaton_of_a_decimal_number(url: str) -> None:
    found = inspect(url, *NUMBER["parts"])
    assert found["shortest"] == ".0"
    assert found["automaton"]["classes"] == [".", "0-9"]
    assert found["automaton"]["rows"] == [[1, 0], [None, 2], [None, 2]]
    assert found["automaton"]["accepting"] == [2]
    assert found["count"].startswith("infinitely many")
    assert all(re.fullmatch(r"([0-9]+)?\.[0-9]+", sample) for sample in found["samples"])
    steps = ask(url, "walk", {"rule": NUMBER, "text": "23.37"})["steps"]
    assert [step["state"] for step in steps] == [0, 0, 0, 1, 2, 2]


RULES = {
    "(ab|c)*": [part("regex", "(ab|c)*")],
    "a{2,3}b?": [part("regex", "a{2,3}b?")],
    "[ab]+ & ~(.*bb.*)": [part("regex", "[ab]+"), part("regex", "(?s:.*)bb(?s:.*)", "&", negated=True)],
    "[abc]{0,3} - ca": [part("regex", "[abc]{0,3}"), part("choice", "ca\nb", "-")],
    "a + b|c": [part("regex", "a"), part("regex", "b|c", "+")],
}


def members(name: str, text: str) -> bool:
    return {
        "(ab|c)*": lambda: re.fullmatch("(ab|c)*", text) is not None,
        "a{2,3}b?": lambda: re.fullmatch("a{2,3}b?", text) is not None,
        "[ab]+ & ~(.*bb.*)": lambda: re.fullmatch("[ab]+", text) is not None and "bb" not in text,
        "[abc]{0,3} - ca": lambda: re.fullmatch("[abc]{0,3}", text) is not None and text not in ("ca", "b"),
        "a + b|c": lambda: text in ("ab", "ac"),
    }[name]()


@pytest.mark.parametrize("name", RULES)
def test_tables_and_walks_agree_with_membership(url: str, name: str) -> None:
    """All texts of up to five letters: the table that the page shows, and the walk, against Python."""
    automaton = inspect(url, *RULES[name])["automaton"]
    columns = {each: index for index, label in enumerate(automaton["classes"]) for each in _letters(label)}
    texts = ["".join(letters) for length in range(6) for letters in product("abcd", repeat=length)]
    member_texts = {text for text in texts if members(name, text)}
    for text in texts:
        state: int | None = 0
        for letter in text:
            state = None if state is None or letter not in columns else automaton["rows"][state][columns[letter]]
        assert (state in automaton["accepting"]) == (text in member_texts), text
    for text in texts[::17]:
        walked = ask(url, "walk", {"rule": {"parts": RULES[name]}, "text": text})
        assert walked["accepted"] == (text in member_texts)
        assert (walked["reason"] is None) == walked["accepted"]
        live = [step["is_live"] for step in walked["steps"]]
        for length, is_live in enumerate(live):
            longer = {each[:length] for each in member_texts}
            if is_live is False:
                assert text[:length] not in longer


def _letters(label: str) -> str:
    found = ""
    for each in label.split(" "):
        found += "".join(map(chr, range(ord(each[0]), ord(each[2]) + 1))) if len(each) == 3 else each
    return found


@pytest.mark.parametrize(
    ("kind", "source", "position"),
    [
        ("regex", "a(b", 1),
        ("regex", r"(a)\1", 3),
        ("schema", '{"properties": {"a": {"minItems": -1}}}', 22),
        ("schema", '{"a": ', 6),
        ("schema", '{"type": "objec"}', 1),
        ("type", "list[in]", 5),
        ("type", "list[int", 8),
        ("type", "__import__('os')", 0),
        ("grammar", 'start: "a" b', 11),
        ("grammar", 'root ::= "a" b', 13),
        ("tools", "[1", 2),
    ],
)
def test_errors_have_their_position(url: str, kind: str, source: str, position: int) -> None:
    error = inspect(url, part("regex", "a"), part(kind, source))["error"]
    assert (error["part"], error["position"]) == (1, position), error


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ([part("regex", "[0-9]{1,3}")], "1,110"),
        ([part("choice", "a\nb\n\nc")], "3"),
        ([part("regex", "[ab]{60}")], "about 1.2 × 10¹⁸"),
        ([part("type", "bool")], "2"),
    ],
)
def test_counts(url: str, parts: list[Any], count: str) -> None:
    assert inspect(url, *parts)["count"] == count


def test_rules_without_texts_parts_or_bounds(url: str) -> None:
    assert "exclude each other" in inspect(url, part("regex", "a"), part("regex", "b", "&"))["empty"]
    free = inspect(url, ban={"words": ["talk"], "mode": "rewind"})
    assert free["shortest"] == ""
    assert not ask(url, "walk", {"rule": {"parts": [], "ban": {"words": ["talk"]}}, "text": "a talk"})["accepted"]
    schema = (
        '{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}'
    )
    found = inspect(url, part("schema", schema))
    assert found["automaton"] is None
    assert "states" in found["no_automaton"]
    assert all(json.loads(sample)["name"] is not None for sample in found["samples"])


def test_warnings_about_a_schema(url: str) -> None:
    schema = {"type": "object", "propertes": {}, "properties": {"a": {"type": "string", "format": "shoe-size"}}}
    with warnings.catch_warnings():
        refuse_misspelt_names()  # as `detent serve` does: the page shows them and lets the rule run
        found = inspect(url, part("schema", json.dumps(schema)))["warnings"]
    assert len(found) == 2 and "write properties" in found[0] and "shoe-size" in found[1]
    assert inspect(url, part("regex", "a"))["warnings"] == []


def test_tools(url: str) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}
    found = inspect(url, part("tools", json.dumps([tool])))
    assert '"f"' in found["shortest"]


# A text, token by token


@pytest.fixture(scope="module")
def notes(url: str) -> list[dict[str, Any]]:
    return run(url, NUMBER)


def test_the_notes_of_a_run_are_its_report(notes: list[dict[str, Any]]) -> None:
    path, done = path_of(notes), notes[-1]
    assert "".join(token["text"] for token in path if token["kind"] != "end") == done["text"]
    assert math.isclose(sum(token["nats"] for token in path if not token["forced"]), -done["report"]["log_mass"])
    for token in path:
        if not token["forced"]:
            assert math.isclose(token["after"] * token["mass"], token["before"], rel_tol=1e-9)
    bound = [note["position"] for note in notes if note["type"] == "budget"]
    assert bound == ([] if done["report"]["budget_bound_at"] is None else [done["report"]["budget_bound_at"]])


def test_candidates_agree_with_a_matcher(notes: list[dict[str, Any]]) -> None:
    model = detent.load_model()
    guide = detent.compile(detent.regex(NUMBER["parts"][0]["source"]), model.vocabulary, canonical=True)
    matcher = guide.matcher(12)
    for token in path_of(notes):
        allowed = set(matcher.allowed().tolist())
        if token["forced"]:
            assert allowed == {token["id"]}
        for each in token["candidates"]:
            assert each["allowed"] == (each["id"] in allowed)
            assert each["allowed"] or each["reason"]["text"]
        probabilities = [each["before"] for each in token["candidates"]]
        assert probabilities == sorted(probabilities, reverse=True)
        matcher.advance(token["id"])


def test_a_branch_keeps_its_first_tokens_and_goes_on_as_the_run_did(url: str, notes: list[dict[str, Any]]) -> None:
    path = path_of(notes)
    ids = [token["id"] for token in path]
    assert run(url, NUMBER, forced=ids[:5])[-1]["text"] == notes[-1]["text"]
    other = next(each["id"] for each in path[2]["candidates"] if each["allowed"] and each["id"] != ids[2])
    branch = path_of(run(url, NUMBER, forced=[*ids[:2], other]))
    assert [token["id"] for token in branch[:3]] == [*ids[:2], other]
    assert [token["chosen_by_user"] for token in branch[:4]] == [True, True, True, False]


def test_a_branch_that_the_rule_refuses_is_an_error(url: str) -> None:
    letter = detent.load_model().vocabulary.encode("a")
    assert "cannot stand" in run(url, NUMBER, forced=letter)[-1]["error"]["message"]
    body = {"rule": NUMBER, "prompt": "Hi", "max_tokens": 4, "forced": [10**6]}
    assert post(url, "run", body)[0] == 400


def test_rewinds_are_crossed_out(url: str) -> None:
    rule = {"parts": [], "ban": {"words": ["listen", "talk"], "ignore_case": True}}
    found = run(url, rule, prompt="Can we talk?", max_tokens=30, temperature=0)
    assert [note["word"] for note in found if note["type"] == "rewind"] == ["listen"]
    path = path_of(found)
    assert "".join(token["text"] for token in path if token["kind"] != "end") == found[-1]["text"]
    at = next(index for index, note in enumerate(found) if note["type"] == "rewind")
    again = found[at + 1]
    reason = next(each["reason"] for each in again["candidates"] if each["text"] == " listen")
    assert reason["kind"] == "banned"


def test_beside_it_the_model_without_the_rule(url: str) -> None:
    free = run(
        url, {"parts": [part("regex", "Of course[.] You.*")]}, prompt="Can we talk?", constrained=False, temperature=0
    )
    path = path_of(free)
    left = [index for index, token in enumerate(path) if token["leaves"]]
    assert len(left) == 1
    before = "".join(token["text"] for token in path[: left[0]])
    language = detent.regex("Of course[.] You.*")
    assert language.parser().feed(before)[-1].text == before
    mismatch = language.why(before + path[left[0]]["text"])
    assert mismatch is not None
    assert len(before) <= mismatch.position < len(before + path[left[0]]["text"])
    assert all(math.isclose(token["mass"], 1, abs_tol=1e-6) for token in path)


# Strangers


def test_keys(serve: Serve) -> None:
    with serve(api_keys=["secret"]) as url:
        assert get(f"{url}/")[0] == 200
        assert get(f"{url}/playground/about")[0] == 401
        for path, body in (("inspect", {"rule": NUMBER}), ("walk", {"rule": NUMBER, "text": ""})):
            assert post(url, path, body)[0] == 401
            assert post(url, path, body, "secret")[0] == 200


def test_rates(serve: Serve) -> None:
    with serve(requests_per_minute=12) as url:
        statuses = [post(url, "inspect", {"rule": NUMBER})[0] for _ in range(4)]
    assert statuses[0] == 200
    assert statuses[-1] == 429


@pytest.mark.parametrize(
    "bad",
    [
        part("regex", "(" * 50_000),
        part("regex", "((a{1,500}){1,500}){1,500}"),
        part("regex", "(?:" + "|".join(f"a{{{n}}}" for n in range(500)) + ")*b"),
        part("regex", ".*a.{200}"),
        part("type", "list[" * 5000 + "int" + "]" * 5000),
        part("type", '"' + "\\" * 10_001),
        part("schema", "[" * 100_000),
        part("grammar", 'start: "a" start start | "b" start start start | ("c" start)* '),
        part("tools", "[" * 100_000),
        part("choice", "\n"),
        part("choice", "".join(f"{n}\n" for n in range(20_000))),
        part("regex", "\ud800"),
    ],
    ids=lambda each: f"{each['kind']} {each['source'][:12]!a}",
)
def test_hostile_rules_are_answered(url: str, bad: dict[str, Any]) -> None:
    status, text = post(url, "inspect", {"rule": {"parts": [bad]}})
    assert status in (200, 400), text
    status, text = post(url, "walk", {"rule": {"parts": [bad]}, "text": "aaaa\x00<b>"})
    assert status in (200, 400), text


@pytest.mark.parametrize(
    "body",
    [
        {"rule": {"parts": [part("regex", "a")] * 9}, "prompt": "Hi", "max_tokens": 4},
        {"rule": NUMBER, "prompt": "Hi", "max_tokens": 0},
        {"rule": NUMBER, "prompt": "Hi", "max_tokens": 4, "forced": [-1]},
        {"rule": {"parts": [part("regex", "a(")]}, "prompt": "Hi", "max_tokens": 4},
        {"rule": {"parts": [part("regex", "a(")]}, "prompt": "Hi", "max_tokens": 4, "constrained": False},
        {"rule": {"parts": [part("regex", "a{9}")]}, "prompt": "Hi", "max_tokens": 1},
        {"rule": {"parts": [part("regex", "a"), part("regex", "b", "&")]}, "prompt": "Hi", "max_tokens": 1},
    ],
)
def test_runs_that_cannot_be(url: str, body: dict[str, Any]) -> None:
    status, text = post(url, "run", body)
    assert status == 400, text
    assert json.loads(text)["error"]["message"]


# What refuses a token


SMALL = {"minimum": 1, "maximum": 20}
TOOLS = json.dumps(
    [
        {"type": "function", "function": {"name": "g", "parameters": {"properties": {"n": {"maximum": 3}}}}},
        {
            "type": "function",
            "function": {"name": "f", "parameters": {"properties": {"n": {"maximum": 20, "minimum": 1}}}},
        },
    ]
)


LABELLED = json.dumps(
    [{"name": "f", "annotations": {"properties": {"n": {"maximum": 1}}}, "inputSchema": {"properties": {"n": SMALL}}}]
)


def why(url: str, parts: list[dict[str, Any]], before: str, refused: str, **options: Any) -> dict[str, Any]:
    vocabulary = detent.load_model().vocabulary
    tokens, (token_id,) = vocabulary.encode_canonical(before), vocabulary.encode_canonical(refused)
    body = {"rule": {"parts": parts}, "prompt": "Hi", "max_tokens": 40, "tokens": tokens, "refused": [token_id]}
    found: dict[str, Any] = ask(url, "why", {**body, **options})[str(token_id)]
    return found


@pytest.mark.parametrize(
    ("parts", "before", "refused", "marked"),
    [
        ([part("regex", "[0-9]{4}-x")], "12", "a", ["[0-9]"]),
        ([part("regex", "[0-9]{4}-x"), part("choice", "1", "-")], "1234", "a", ["-"]),
        ([part("schema", '{"type": "integer", "maximum": 20}')], "2", "5", ['"maximum"']),
        ([part("grammar", 'start: "a" other\nother: "bc"')], "a", "c", ['other: "bc"']),
        ([part("tools", TOOLS)], '{"name": "f", "arguments": {"n": 2', "5", ['"maximum"']),
        ([part("tools", TOOLS)], '{"name": "g', "5", []),
        ([part("tools", LABELLED)], '{"name": "f", "arguments": {"n": 2', "5", ['"maximum"']),
    ],
)
def test_what_refuses_a_token_is_marked_in_the_rule(
    url: str, parts: list[dict[str, Any]], before: str, refused: str, marked: list[str]
) -> None:
    found = why(url, parts, before, refused, canonical=False)
    assert found["by"]
    assert [parts[mark["part"]]["source"][mark["start"] : mark["end"]] for mark in found["marks"]] == marked
    assert all("inputSchema" not in parts[mark["part"]]["source"][mark["start"] :] for mark in found["marks"])


def test_what_refuses_a_token_by_budget_and_tokenizer(url: str) -> None:
    letters = [part("regex", "[ab]{3,9}")]
    assert "left are" in why(url, [part("regex", "a{3}|b{20}")], "", "b", max_tokens=3, canonical=False)["text"]
    assert why(url, letters, "", "c")["by"]
    model = detent.load_model()
    pairs = [bytes(pair) for pair in product(b"abcdefghijklmnopqrstuvwxyz", repeat=2)]
    merged = next(pair for pair in pairs if len(model.vocabulary.encode_canonical(pair)) == 1)
    first, second = (bytes([each]).decode() for each in merged)
    text = why(url, [part("regex", "[a-z]{2}")], first, second)["text"]
    assert merged.decode() in text


def test_why_of_tokens_that_cannot_be(url: str) -> None:
    body = {"rule": NUMBER, "prompt": "Hi", "max_tokens": 4}
    letter = detent.load_model().vocabulary.encode("a")
    assert post(url, "why", {**body, "tokens": letter, "refused": [5]})[0] == 400
    assert post(url, "why", {**body, "tokens": [], "refused": [10**7]})[0] == 400
    assert post(url, "why", {**body, "tokens": [], "refused": []})[0] == 400


def test_models_without_probability_for_the_rule(serve: Serve) -> None:
    vocabulary = detent.Vocabulary([b"<img src=x>", b"b", b"\xff", b""], eos_token_ids=[3])
    logits = [0.0, -math.inf, 1.0, -1e30]
    model = detent.models.CallableModel(lambda ids: logits, vocabulary, encode=lambda text: [0])
    with serve(model=model) as url:
        found = run(url, {"parts": [part("regex", "b?")]}, canonical=False)
        assert "Infinity" not in json.dumps(found)
        free = run(url, {"parts": []}, constrained=False, max_tokens=3)
        assert {token["kind"] for token in path_of(free)} <= {"text", "bytes", "end"}
        assert "\\xff" in {token["text"] for token in path_of(free)} | {each["text"] for each in free[1]["candidates"]}


# What takes long


def chain(length: int, least: int) -> dict[str, Any]:
    """A schema of so many definitions, each an array of items of one of two others: seconds of work for a study."""
    definitions: dict[str, Any] = {
        f"n{index}": {
            "anyOf": [{"type": "array", "items": {"$ref": f"#/$defs/n{(3 * index + k) % length}"}} for k in (1, 2)]
        }
        for index in range(1, length)
    }
    definitions["n0"] = {"type": "integer", "minimum": least}
    return {"$ref": "#/$defs/n1", "$defs": definitions}


def letters(count: int) -> list[tuple[int, str]]:
    return list(enumerate("abcdefghijklmnop"[:count]))


def contained(count: int) -> list[dict[str, str]]:
    return [{"pattern": f"{a}.{{{i + 3}}}{'abcdefghijklmnop'[i + 1]}"} for i, a in letters(count)]


def test_a_rule_whose_shortest_text_is_far_has_a_short_one(url: str) -> None:
    patterns = contained(5)
    found = inspect(url, part("schema", json.dumps({"type": "string", "allOf": patterns, "maxLength": 240})))
    assert found["shortest"] is None
    short = json.loads(found["short"])
    assert all(re.search(each["pattern"], short) for each in patterns)
    assert all(isinstance(json.loads(sample), str) for sample in found["samples"])


def test_a_rule_that_is_too_large_for_the_page_says_so(url: str) -> None:
    schema = {"type": "string", "allOf": contained(8), "maxLength": 240}
    found = inspect(url, part("schema", json.dumps(schema)))
    assert list(found) == ["too_large", "warnings"]
    walked = ask(url, "walk", {"rule": {"parts": [part("regex", "a")]}, "text": "a"})
    assert walked["accepted"]


def test_a_study_stops_when_it_is_asked_to() -> None:
    stop = detent.CancellationToken()
    stop.cancel()
    with pytest.raises(detent.CancelledError):
        Study(detent.regex("[a-z]+"), detent.Limits(), stop)


@pytest.mark.long
def test_rules_that_were_typed_over_do_not_hold_up_the_next(url: str) -> None:
    for number in range(12):
        body = json.dumps({"rule": {"parts": [part("schema", json.dumps(chain(600, number)))]}}).encode()
        host = url.removeprefix("http://")
        with socket.create_connection((host.partition(":")[0], int(host.partition(":")[2]))) as connection:
            head = f"POST /playground/inspect HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            time.sleep(0.2)  # as long as the page waits for another key
    began = time.perf_counter()
    assert inspect(url, part("regex", "[0-9]{2}"))["count"] == "100"
    assert time.perf_counter() - began < 2
