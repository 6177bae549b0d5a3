"""Banned patterns: no match in any text or decoded string, whatever the model, the tokens and the language."""

from __future__ import annotations

import ast
import json
import random
import re
from typing import Any, Literal

import pytest

import detent
from detent.errors import ArgumentError, EmptyLanguageError, LimitError, UnsupportedError
from detent.generation.aho_corasick import Match
from detent.generation.bans import banned_words
from detent.generation.pattern_search import PatternSearch
from tests.generation.test_bans import VOCABULARY, random_model

EXACT = ["ab", "a+b", "[ab]{2} ", "b|aa", "(?i)AB", "é.", "a[^b]a", "日|b.", "(ab){2}", "a?b?a b"]
WITH_ASSERTIONS = [r"\bab\b", r"\ba", "a$", "^a", "a(?=b)", "(?<!a)b", r"b\B", "a(?!.*b)", "(?m)^b", r"(?<=\s)a+"]


def random_patterns(rng: random.Random, choices: list[str]) -> list[re.Pattern[str]]:
    return [re.compile(pattern) for pattern in rng.sample(choices, rng.randint(1, 3))]


@pytest.mark.parametrize("mode", ["rewind", "mask"])
@pytest.mark.parametrize("choices", [EXACT, EXACT + WITH_ASSERTIONS], ids=["exact", "assertions"])
def test_no_match_in_any_text(choices: list[str], mode: Any) -> None:
    rng = random.Random(3)
    rewinds = written = 0
    for trial in range(150):
        patterns = random_patterns(rng, choices)
        words = rng.choices(["aB", "ba", "."], k=rng.randint(0, 2))
        ban = detent.Ban([*patterns, *words], mode, max_rewinds=rng.choice([1, 5, 64]))
        language = rng.choice([None, None, detent.regex("[abAB ]{3,12}"), detent.regex("(ab|é日|ba ){1,8}")])
        stop = "b." if language is None and choices is EXACT and rng.random() < 0.3 else None
        model, max_tokens = random_model(trial), rng.choice([5, 30])
        arguments: Any = {"temperature": 2.0, "seed": trial, "ban": ban, "stop": stop, "max_tokens": max_tokens}
        try:
            out = detent.generate(model, "a", language, **arguments)
        except (EmptyLanguageError, LimitError):
            if language is not None:
                rest = language - detent.containing(*patterns, *words)
                assert rest.is_empty() or rest.min_tokens(VOCABULARY) > max_tokens
            continue
        assert not any(pattern.search(out.text) for pattern in patterns), (out, patterns)
        assert not any(word in out.text for word in words)
        assert language is None or language.accepts(out.text)
        assert out.text == "".join(detent.stream(model, "a", language, **arguments))
        rewinds += len(out.report.rewinds)
        written += len(out.text) > 2
    assert written > 50
    assert rewinds > 20 if mode == "rewind" else rewinds == 0


def test_a_match_is_the_shortest() -> None:
    dfa = detent.regex("(?s:.*)ab")._dfa()
    search = PatternSearch([(dfa, True)])
    assert search.feed("éa".encode()) is None
    assert search.pending() == 2
    assert search.feed(b"b") == Match(2, 4)
    for data in ("aab", "日ab", "xxab"):
        whole = PatternSearch([(detent.regex("a+b")._dfa(), True)]).feed(data.encode())
        assert whole is not None and data.encode()[whole.start : whole.end] == b"ab"


def test_the_token_in_which_a_match_began_is_banned() -> None:
    model = detent.load_model()
    for pattern in ("list[a-z]+", r"\blisten\b", "listen(?= and)"):
        out = detent.generate(model, "Can we talk?", ban=[re.compile(pattern)], temperature=0)
        assert out.text.startswith("Of course. I am here to help you"), pattern
        assert [model.vocabulary.token_bytes(rewind.dropped[0]) for rewind in out.report.rewinds] == [b" listen"]
    pieces = [*detent.stream(model, "Can we talk?", ban=[re.compile("listen+ans")], temperature=0)]
    assert " listen and" in pieces


def test_escapes_hide_no_match_in_json() -> None:
    model = detent.load_model()
    values: set[str] = set()
    rule = detent.json_schema({"enum": ["listen", "hear", "é\n", 'a"b', "k"]}, spelling="any")
    wide = detent.json_schema({"type": "string", "maxLength": 2}, spelling="any")
    patterns = [re.compile("list[a-z]"), re.compile("[é日]\n"), re.compile("a.b|[v-z]")]
    for seed in range(30):
        for mode in ("rewind", "mask"):
            for language in (rule, wide):
                out = detent.generate(
                    model, "Go", language, ban=patterns, ban_mode=mode, seed=seed, temperature=9, max_tokens=40
                )  # fmt: skip
                value = json.loads(out.text)
                assert not any(pattern.search(value) for pattern in patterns), out
                values.add(value)
    assert values >= {"hear", "k"} and len(values) > 20
    for pattern in patterns:
        held = detent.json_schema({"type": "string"}, spelling="any") & detent.without(pattern)
        for value in ("listen", "hear", "é\n", 'a"b', "k"):
            escaped = "".join(f"\\u{ord(each):04X}" for each in value)
            assert held.accepts(f'"{escaped}"') == held.accepts(json.dumps(value)) == (not pattern.search(value))


ESCAPES = {
    "raw": lambda each: each,
    "x": lambda each: f"\\x{ord(each):02x}",
    "u": lambda each: f"\\u{ord(each):04X}",
    "U": lambda each: f"\\U{ord(each):08x}",
    "letter": lambda each: {"'": "\\'", "\a": "\\a", "\v": "\\v", "\n": "\\n"}.get(each, f"\\x{ord(each):02X}"),
}


@pytest.mark.parametrize("kind", ESCAPES)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_escapes_hide_no_word_and_no_match_in_pythonic_calls(kind: str, quote: str) -> None:
    def say(text: str) -> None: ...

    for word, other in (("listen", "hear"), ("it's", "its"), ("a\vb", "ab"), ("é\n", "e"), ("\a", "b")):
        for banned in (word, re.compile(re.escape(word)), re.compile(f"(?:{re.escape(word[0])}){re.escape(word[1:])}")):
            rule = detent.calls([say], style="llama3-pythonic")
            held = rule & detent.without(banned)
            words = banned_words([banned], None)
            assert words is not None
            by_ban = words.excluding(rule, b"", None)
            for text in (word, other, f"oh {word}!"):
                if kind == "raw" and (text != repr(text)[1:-1] or quote in text):
                    continue
                written = f"[say(text={quote}{''.join(map(ESCAPES[kind], text))}{quote})]"
                assert ast.literal_eval(written[10:-2]) == text
                assert rule.accepts(written), written
                assert held.accepts(written) == by_ban.accepts(written) == (word not in text), written


@pytest.mark.long
def test_bans_canonical_tokens_and_budgets_together() -> None:
    model = detent.load_model()
    ban: list[Any] = ["dog", re.compile("ca[a-z]"), re.compile(r"\bno\b")]
    rule = detent.json_schema({"type": "array", "items": {"enum": "dog cat no cow not h".split()}, "minItems": 1})
    modes: tuple[Literal["rewind", "mask"], ...] = ("rewind", "mask")
    for seed in range(12):
        for mode in modes:
            for budget in (4, 9, 30):
                arguments: Any = {"canonical": True, "seed": seed, "max_tokens": budget, "ban_mode": mode}
                arguments["temperature"] = 5
                out = detent.generate(model, "Go", rule, ban=ban, **arguments)
                assert set(json.loads(out.text)) <= {"cow", "not", "h"}
                assert len(out.token_ids) <= budget
                assert list(out.token_ids) == model.vocabulary.encode_canonical(out.text)
                text = detent.generate(model, "Can we talk?", ban=[*ban, "listen"], **arguments).text
                assert not re.search(r"dog|ca[a-z]|\bno\b|listen", text)


def test_refused_patterns() -> None:
    model = detent.load_model()
    for pattern, message in ((re.compile("x*"), "matches in every text"), (re.compile(b"x"), "of type str")):
        with pytest.raises(ArgumentError, match=message):
            detent.generate(model, "Hi", ban=[pattern])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="across_prompt is for words"):
        detent.Ban([re.compile("x")], across_prompt=True)
    with pytest.raises(ArgumentError, match="stop= moves"):
        detent.generate(model, "Hi", ban=[re.compile("x$")], stop="y")
    with pytest.raises(UnsupportedError, match="backreference"):
        detent.generate(model, "Hi", ban=[re.compile(r"(a)\1")])
