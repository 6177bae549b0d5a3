"""Banned words: none in any text, whatever the model, the tokens and the language; and what going back leaves."""

from __future__ import annotations

import itertools
import json
import random
import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, EmptyLanguageError, LimitError
from detent.generation import Output
from detent.models import CallableModel
from tests.support import tiny_llama

# Few letters, so that words come about by chance all the time, and tokens that hold pieces and ends of words.
LETTERS = ["a", "b", "A", "B", " ", ".", "é", "É", "ß", "日"]
PIECES = ["ab", "ba", " a", "aB", "b a", "ab ab", "éa", "a日", "aaa", "Éb", "b."]
TOKENS = [*(letter.encode() for letter in LETTERS), *(piece.encode() for piece in PIECES), "日".encode()[:2]]
TOKENS += ["日".encode()[2:], "é".encode()[:1], "é".encode()[1:], b""]
VOCABULARY = detent.Vocabulary(TOKENS, eos_token_ids=[len(TOKENS) - 1])
END = len(TOKENS) - 1


def random_model(seed: int, end: float = -2.0, vocabulary: detent.Vocabulary = VOCABULARY) -> CallableModel:
    """Return a model whose logits depend on the last three tokens and nothing else."""

    def function(ids: Sequence[int]) -> np.ndarray:
        rng = np.random.default_rng([seed, *ids[-3:]])
        logits = rng.normal(0, 2, len(vocabulary)).astype(np.float32)
        logits[list(vocabulary.eos_token_ids)] = end
        return logits

    return CallableModel(function, vocabulary, encode=lambda text: [LETTERS.index(letter) for letter in text])


def random_words(rng: random.Random, most: int) -> list[str]:
    """Draw words of few letters, pieces of each other among them, several words in one, any case."""
    words = ["".join(rng.choices(LETTERS, k=rng.randint(1 + (rng.random() < 0.9), 5))) for _ in range(most)]
    words = words[: rng.randint(1, most)]
    return words + [word[1:] for word in words[:2] if len(word) > 2 and rng.random() < 0.2]


def has_word(text: str, words: Sequence[str], ignore_case: bool, whole_words: bool) -> bool:
    """Whether a text has one of the words, by the plainest search there is."""
    if not whole_words and not ignore_case:
        return any(word in text for word in words)
    flags = re.IGNORECASE if ignore_case else 0
    edges = (r"(?<!\w)", r"(?!\w)") if whole_words else ("", "")
    return any(re.search(edges[0] + re.escape(word) + edges[1], text, flags) for word in words)


def check(out: Output, model: CallableModel, max_tokens: int) -> None:
    assert len(out.token_ids) <= max_tokens
    if out.stop_string is None:
        assert VOCABULARY.decode(out.token_ids).decode() == out.text
    assert [step.token_id for step in out.report.steps][: len(out.token_ids)] == list(out.token_ids)
    assert len(out.report.steps) - len(out.token_ids) in (0, 1)


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("mode", ["rewind", "mask"])
def test_no_banned_word_in_any_text(ignore_case: bool, whole_words: bool, mode: str) -> None:
    rng = random.Random(5)
    rewinds = masked = 0
    for trial in range(150):
        words = random_words(rng, rng.choice([3, 10, 40]))
        words += rng.choices(["a", "b", "ab", "aB", "b a", "é"], k=rng.randint(0, 3)) if whole_words else []
        model = random_model(trial)
        retries, max_tokens = rng.choice([0, 1, 5, 64]), rng.choice([1, 5, 30])
        arguments = {
            "max_tokens": max_tokens, "temperature": 3.0, "seed": trial,
            "ban": detent.Ban(words, mode, ignore_case, whole_words, max_rewinds=retries),
        }  # fmt: skip
        stop = rng.choice([None, None, ["b."], ["ab", "."]])
        pieces = detent.stream(model, "a", stop=stop, **arguments)  # type: ignore[arg-type]
        text = ""
        for piece in pieces:
            text += piece
            assert not has_word(text, words, ignore_case, False) or whole_words
        out = pieces.output
        assert text == out.text
        assert not has_word(out.text, words, ignore_case, whole_words), (out, words)
        if ignore_case and not whole_words:
            assert not any(word.casefold() in out.text.casefold() for word in words if "ß" not in word.casefold() + "ß")
        if stop:
            assert not any(string in out.text for string in stop)
        check(out, model, max_tokens)
        rewinds += len(out.report.rewinds)
        masked += out.report.masked_from is not None
        assert len(out.report.rewinds) <= max(retries, 1)
        assert out == detent.generate(model, "a", stop=stop, **arguments)  # type: ignore[arg-type]
    assert (rewinds > 20 and masked > 2) if mode == "rewind" else (rewinds == 0 and masked == 150)


def test_in_a_language_too() -> None:
    rng = random.Random(9)
    languages = [
        detent.regex("[abAB ]{4,12}"),
        detent.regex("(a|b| ab| ba){3,9}[.]"),
        detent.regex("(ab|é日|ba ){1,8}"),
        detent.choice("ab ab.", "ba", "aaab", "b.b.b", "日日é"),
    ]
    outcomes = {"written": 0, "rewound": 0, "none": 0}
    for trial in range(300):
        language, words = rng.choice(languages), random_words(rng, rng.choice([2, 6, 30]))
        words += rng.choices(LETTERS, k=rng.randint(0, 3)) if rng.random() < 0.5 else []
        max_tokens = rng.choice([4, 8, 40])
        try:
            ban = detent.Ban(words, max_rewinds=rng.choice([1, 3, 64]))
            out = detent.generate(
                random_model(trial), "a", language, seed=trial, max_tokens=max_tokens, temperature=2.0, ban=ban
            )
        except (EmptyLanguageError, LimitError):
            rest = language - detent.containing(*words)
            assert rest.is_empty() or rest.min_tokens(VOCABULARY) > max_tokens
            outcomes["none"] += 1
            continue
        assert language.accepts(out.text)
        assert not has_word(out.text, words, False, False)
        check(out, random_model(trial), max_tokens)
        outcomes["written"] += 1
        outcomes["rewound"] += bool(out.report.rewinds)
    assert min(outcomes.values()) > 10, outcomes


def test_in_the_texts_of_a_schema() -> None:
    model = detent.load_model()
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
              "required": ["name", "age"], "additionalProperties": False}  # fmt: skip
    guide = detent.compile(detent.json_schema(schema), model.vocabulary)
    prompt = "Anna Berg is 34. Write the person as JSON."
    free = detent.generate(model, prompt, guide, temperature=0, max_tokens=60)
    assert "Anna" in free.text
    out = detent.generate(model, prompt, guide, temperature=0, max_tokens=60, ban=["Anna", "34"])
    assert "Anna" not in out.text
    assert "34" not in out.text
    assert set(json.loads(out.text)) == {"name", "age"}
    assert out.report.rewinds


class TestRewinding:
    """What happens, token by token, in a small vocabulary."""

    VOCABULARY = detent.Vocabulary([b"li", b"sten", b"st", b"en", b" to", b"ke", b"x", b""], eos_token_ids=[7])

    def model(self, *texts: bytes) -> CallableModel:
        """Return a model that likes the texts, the first of them best, and nothing else."""

        def function(ids: Sequence[int]) -> np.ndarray:
            done = self.VOCABULARY.decode(ids[1:])
            logits = np.full(8, -20, dtype=np.float32)
            for rank, text in enumerate(texts):
                if text.startswith(done):
                    rest = text[len(done) :]
                    for token_id in range(7):
                        token = self.VOCABULARY.token_bytes(token_id)
                        if rest.startswith(token):
                            logits[token_id] = max(logits[token_id], 10 - rank + 0.1 * len(token))
                    if not rest:
                        logits[7] = 10 - rank
            return logits

        return CallableModel(function, self.VOCABULARY, encode=lambda text: [6])

    def test_the_token_in_which_the_word_began_is_banned_there(self) -> None:
        model = self.model(b"x tolistenx", b"x tolikex", b"x toxlix")
        out = detent.generate(model, "p", temperature=0, ban=["listen"])
        assert out.text == "x toxlix"  # "li" is banned after "x to" only
        assert [(rewind.position, rewind.dropped, rewind.word) for rewind in out.report.rewinds] == [
            (2, (0, 1), b"listen")
        ]

    def test_a_word_inside_longer_tokens(self) -> None:
        out = detent.generate(self.model(b"listento", b"like to"), "p", temperature=0, ban=["ist"])
        assert "ist" not in out.text
        assert out.report.rewinds[0] == (0, (0, 1), b"ist")

    def test_a_place_with_nothing_left_backs_up(self) -> None:
        language = detent.choice("listen", "like", "x listen", "x to")
        model = self.model(b"listen", b"like")
        out = detent.generate(model, "p", detent.regex("li(sten|st|ke)|x"), temperature=0, ban=["st", "lik"])
        assert out.text == "x"
        assert out.report.masked_from is None
        assert len(out.report.rewinds) >= 2
        assert detent.generate(model, "p", language - "x listen" - "x to", temperature=0, ban=["st"]).text == "like"

    def test_the_mask_takes_over(self) -> None:
        model = self.model(b"xlisten", b"xlix")
        out = detent.generate(model, "p", temperature=0, ban=detent.Ban(["listen"], max_rewinds=1), max_tokens=9)
        assert out.report.masked_from == 1
        assert "listen" not in out.text
        assert len(out.report.rewinds) == 1

    def test_a_language_that_has_only_banned_texts(self) -> None:
        with pytest.raises(EmptyLanguageError, match="banned"):
            detent.generate(self.model(b"listen"), "p", detent.regex("x?listen"), ban=["listen"])
        with pytest.raises(LimitError, match="max_tokens=1"):
            detent.generate(self.model(b"x"), "p", detent.regex("x|li(ke){2}"), ban=["x"], max_tokens=1)

    def test_a_dead_end_is_seen_before_it_is_shown(self) -> None:
        # After "x", the language leaves "listen" only: the "x" must not be shown and then be found wanting.
        pieces = detent.stream(self.model(b"xlisten"), "p", detent.regex("xlisten|like"), temperature=0, ban=["listen"])
        assert list(pieces) == ["like"]
        assert pieces.output.report.rewinds[0] == (0, (6,), None)

    def test_what_may_become_a_word_is_held_back_and_nothing_else(self) -> None:
        model = self.model(b"x to listen".replace(b" l", b"l"), b"x tolikex")
        pieces = detent.stream(model, "p", temperature=0, ban=["listen"])
        assert list(pieces)[:2] == ["x", " to"]
        listing = list(detent.stream(self.model(b"x tolistx"), "p", temperature=0, ban=["listen"]))
        assert listing == ["x", " to", "listx"]  # "li", "st" wait for the "x"

    def test_no_place_is_asked_twice(self) -> None:
        asked: list[tuple[int, ...]] = []
        inner = self.model(b"x tolisten", b"x tolikex", b"x toxlix")

        def function(ids: Sequence[int]) -> object:
            asked.append(tuple(ids))
            return inner._function(ids)

        model = CallableModel(function, self.VOCABULARY, encode=lambda text: [6])  # type: ignore[arg-type]
        out = detent.generate(model, "p", temperature=0, ban=["listen"])
        assert out.report.rewinds
        assert len(set(asked)) == len(asked) == out.report.model_calls

    def test_across_the_prompt(self) -> None:
        vocabulary = detent.Vocabulary([b"lis", b"ten", b"x", b"<s>", b""], eos_token_ids=[4], special_token_ids=[3])
        model = CallableModel(lambda ids: [0.0, 9.0 if len(ids) < 4 else 0, 1.0, 0.0, 0.0], vocabulary)
        for mode in ("rewind", "mask"):
            for ignore_case in (False, True):
                alone, across = (detent.Ban(["listen"], mode, ignore_case, False, across) for across in (False, True))
                out = detent.generate(model, [2, 0], temperature=0, max_tokens=3, ban=alone)
                assert out.text.startswith("ten")
                out = detent.generate(model, [2, 0], temperature=0, max_tokens=3, ban=across)
                assert out.text.startswith("x")
                out = detent.generate(model, [0, 3], temperature=0, max_tokens=3, ban=across)
                assert out.text.startswith("ten")  # a special token stands between


@pytest.mark.parametrize("seed", range(4))
def test_texts_of_the_embedded_model(seed: int) -> None:
    model = detent.load_model()
    prompt = "Tell me a story about a dog."
    plain = detent.generate(model, prompt, temperature=1.5, seed=seed, max_tokens=48)
    rng = random.Random(seed)
    words = list({word for word in re.findall(r"\w+", plain.text) if len(word) > 2 and rng.random() < 0.6})
    pieces = {plain.text[place : place + 3] for place in range(0, len(plain.text), 9)}
    ban = [*words, *(piece for piece in pieces if piece.strip())] or ["the"]
    out = detent.generate(
        model, prompt, temperature=1.5, seed=seed, max_tokens=48, ban=detent.Ban(ban, ignore_case=True)
    )
    assert not has_word(out.text, ban, True, False)
    assert out.report.rewinds


@pytest.mark.parametrize("kind", ["embedded", "transformers"])
def test_going_back_leaves_the_model_as_if_it_had_never_been_there(kind: str) -> None:
    """Each choice of the text that came out is the one that a fresh session makes of the same tokens."""
    if kind == "embedded":
        model: detent.models.Model = detent.load_model()
        ban, prompt = ["is", "to", "I w", "you", "."], "Can we talk?"
    else:
        pytest.importorskip("torch", reason="needs torch")
        pytest.importorskip("transformers", reason="needs transformers")
        model = detent.models.Transformers(tiny_llama.model(), tiny_llama.tokenizer())
        ban, prompt = ["e", "an", "in t", "12", "or"], "yes no"
    out = detent.generate(model, prompt, ban=detent.Ban(ban, ignore_case=True), temperature=0, max_tokens=30)
    assert out.report.rewinds
    assert not has_word(out.text, ban, True, False)
    ids = model.encode(prompt)
    for step in out.report.steps:
        logits = model.start(ids).logits
        weights = logits - np.logaddexp.reduce(logits.astype(np.float64))
        if step.log_probability is not None:
            assert step.log_probability == pytest.approx(weights[step.token_id], abs=1e-3)
            assert weights[step.top_token_id] == pytest.approx(weights.max(), abs=1e-3)
        ids.append(step.token_id)


@pytest.mark.parametrize("kind", ["embedded", "transformers"])
def test_the_demonstration(kind: str) -> None:
    """The question of a lonely user: the plain answer offers to listen, the other one does not say the word."""
    model: detent.models.Model = detent.load_model()
    if kind == "transformers":  # the same weights, in the network of transformers
        pytest.importorskip("torch", reason="needs torch")
        pytest.importorskip("transformers", reason="needs transformers")
        load = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "transformers_generate.py"))["load"]
        model = load(Path(detent.__file__).parent / "models" / "weights")
    plain = detent.generate(model, "Can we talk?", temperature=0)
    assert "listen" in plain.text
    out = detent.generate(model, "Can we talk?", temperature=0, ban=detent.Ban(["talk", "listen"], ignore_case=True))
    assert "listen" not in out.text
    assert "talk" not in out.text
    assert out.finish_reason == "stop"
    assert out.text.startswith("Of course. I am here to ")
    assert out.report.rewinds[0].word == b"listen"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ban": "word"}, "ban must be a list"),
        ({"ban": [""]}, "empty word"),
        ({"ban": [5]}, "int"),
        ({"ban": 5}, "ban must be a list"),
        ({"ban": ["a"], "ban_mode": "soft"}, "'rewind' or 'mask'"),
        ({"ban_mode": "soft"}, "'rewind' or 'mask'"),
        ({"ban": detent.Ban(["a"]), "ban_mode": "mask"}, "ban_mode"),
        ({"stop": ["a", ""]}, "empty word"),
        ({"stop": 5}, "stop"),
        ({"stop": [5]}, "stop"),
    ],
    ids=str,
)
def test_refusals(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        detent.generate(random_model(0), "a", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("word",), "list"), (([""],), "empty word"), ((["a"], "soft"), "'rewind' or 'mask'"), ((5,), "list")],
    ids=str,
)
def test_refused_bans(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        detent.generate(random_model(0), "a", ban=detent.Ban(*arguments))
    with pytest.raises(ArgumentError, match="max_rewinds"):
        detent.Ban(["a"], max_rewinds=-1)


def test_no_bans_is_as_nothing_said() -> None:
    plain = detent.generate(random_model(3), "a", seed=1, max_tokens=20)
    assert detent.generate(random_model(3), "a", seed=1, max_tokens=20, ban=[], stop=[]) == plain


@pytest.mark.parametrize("mode", ["rewind", "mask"])
def test_what_a_guide_keeps_of_bans_changes_no_text(mode: str) -> None:
    """One guide for many bans, more than it keeps, like ones one after the other: texts are those of a fresh guide."""
    rng, model = random.Random(3), random_model(4)
    language = detent.regex("[abAB .]{0,30}")
    kept = detent.compile(language, VOCABULARY)
    words = [random_words(rng, 4) for _ in range(6)]
    for ban, prompt in [*itertools.product(words, ("", "a", "ab", "ba")), (words[0], "")]:
        for ignore_case, whole_words in itertools.product((False, True), repeat=2):
            texts = [
                detent.generate(
                    model, prompt, guide, max_tokens=30, seed=1,
                    ban=detent.Ban(ban, mode, ignore_case, whole_words, across_prompt=True),
                ).text
                for guide in (kept, detent.compile(language, VOCABULARY))
            ]  # fmt: skip
            assert texts[0] == texts[1], (ban, prompt, ignore_case, whole_words)


class TestValues:
    """In a text with strings in quotes, a ban is about the decoded strings as well as the text."""

    @pytest.mark.parametrize("mode", ["rewind", "mask"])
    def test_escapes_hide_no_word(self, mode: Any) -> None:
        model = detent.load_model()
        only = detent.json_schema({"type": "string", "pattern": "^listen$"})
        with pytest.raises(EmptyLanguageError, match="banned words"):
            detent.generate(model, "Say it", only, ban=["listen"], ban_mode=mode)
        either = detent.json_schema({"type": "string", "pattern": "^(listen|hear)$"})
        for seed in range(5):
            out = detent.generate(model, "Say it", either, ban=["listen"], ban_mode=mode, seed=seed, temperature=3)
            assert out.value == "hear"

    @pytest.mark.parametrize("mode", ["rewind", "mask"])
    @pytest.mark.parametrize("ignore_case", [False, True])
    def test_no_value_has_a_word(self, mode: Any, ignore_case: bool) -> None:
        model = detent.load_model()
        schema = detent.json_schema(
            {"type": "array", "items": {"enum": ['a"b', "é", "É\n", "\\n", "x", "ab", "k\u212a"]}}
        )
        words = ['a"', "é"]
        seen: set[str] = set()
        for seed in range(30):
            ban = detent.Ban(words, mode, ignore_case)
            out = detent.generate(model, "Go", schema, ban=ban, seed=seed, temperature=9, max_tokens=40)
            values = json.loads(out.text)
            assert not any(has_word(value, words, ignore_case, False) for value in values), (values, out.text)
            seen.update(values)
        assert seen == {"\\n", "x", "ab", "k\u212a"} | (set() if ignore_case else {"É\n"})
