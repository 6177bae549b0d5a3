"""Canonical turns: tags that are added tokens are found by the tokenizer first, as special tokens are."""

import json
import unicodedata
from pathlib import Path
from random import Random

import jsonschema
import pytest

import detent
from detent.turns import STYLES
from tests.support.turns import TOOLS, random_turn, render

tokenizers = pytest.importorskip("tokenizers")

WEIGHTS = Path(detent.__file__).parent / "models" / "weights" / "tokenizer.json"


@pytest.fixture(scope="module", params=[False, True], ids=["added", "special"])
def tokenizer(request, tmp_path_factory):
    """Return the embedded model's tokenizer with the tags of Qwen 3, as added tokens or as special tokens."""
    path = tmp_path_factory.mktemp("tags") / "tokenizer.json"
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    first = max([*data["model"]["vocab"].values(), *(token["id"] for token in data["added_tokens"])]) + 1
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": request.param}
    for token_id, tag in enumerate((*STYLES["qwen3"].tags, "<|im_end|>"), first):
        data["added_tokens"].append(
            {"id": token_id, "content": tag, **flags, "special": flags["special"] or "|" in tag}
        )
    path.write_text(json.dumps(data), encoding="utf-8")
    vocabulary = detent.Vocabulary.from_file(path, eos_token_ids="<|im_end|>")
    return tokenizers.Tokenizer.from_file(str(path)), vocabulary


def test_encodings_of_turns_are_allowed(tokenizer):
    encoder, vocabulary = tokenizer
    rng, style = Random(0), STYLES["qwen3"]
    guide = detent.compile(detent.turn(TOOLS, style=style), vocabulary, canonical=True)
    for _ in range(25):
        turn = random_turn(rng, style)
        text = render(rng, style, turn)
        if unicodedata.normalize("NFC", text) != text:
            continue
        matcher = guide.matcher()
        ids = encoder.encode(text, add_special_tokens=False).ids
        for token_id in ids:
            matcher.advance(token_id)
        assert set(vocabulary.eos_token_ids) & set(matcher.allowed().tolist())
        assert guide.language.value.of_tokens(vocabulary, ids) == turn


@pytest.mark.parametrize("budget", [0, 3, 40])
def test_sampled_turns_are_encodings(tokenizer, budget):
    encoder, vocabulary = tokenizer
    rng = Random(budget)
    schemas = {tool["name"]: tool["parameters"] for tool in TOOLS}
    rule = detent.turn(TOOLS, style="qwen3", thinking="required", tool_choice="required", max_calls=2)
    guide = detent.compile(rule, vocabulary, canonical=True)
    shortest = len(guide.matcher().completion())
    for _ in range(8):
        matcher = guide.matcher(shortest + budget)
        while not matcher.is_finished:
            matcher.advance(rng.choice(matcher.allowed().tolist()))
        ids = [token_id for token_id in matcher.token_ids if token_id not in vocabulary.eos_token_ids]
        assert len(ids) <= shortest + budget
        text = b"".join(vocabulary.token_bytes(token_id) for token_id in ids).decode()
        if unicodedata.is_normalized("NFC", text):
            assert encoder.encode(text, add_special_tokens=False).ids == ids
        turn = guide.language.value.of_tokens(vocabulary, ids)
        for call in turn.calls:
            jsonschema.validate(call.arguments, schemas[call.name])


@pytest.mark.parametrize("budget", [None, 0, 2, 20])
def test_canonical_thinking_closes_in_time(tokenizer, budget):
    encoder, vocabulary = tokenizer
    rng = Random(budget)
    for thinking_tokens in (2, 3, 4, 8, 30):
        rule = detent.turn(style="qwen3", thinking="required", thinking_tokens=thinking_tokens, answer=["yes", "no"])
        guide = detent.compile(rule, vocabulary, canonical=True)
        shortest = len(guide.matcher().completion())
        for _ in range(6):
            matcher = guide.matcher(None if budget is None else shortest + budget)
            while not matcher.is_finished:
                matcher.advance(rng.choice(matcher.allowed().tolist()))
            ids = [token_id for token_id in matcher.token_ids if token_id not in vocabulary.eos_token_ids]
            closed = ids.index(next(i for i in ids if vocabulary.token_bytes(i) == b"</think>"))
            assert closed + 1 <= thinking_tokens and (budget is None or len(ids) <= shortest + budget)
            text = b"".join(vocabulary.token_bytes(token_id) for token_id in ids).decode()
            if unicodedata.is_normalized("NFC", text):
                assert encoder.encode(text, add_special_tokens=False).ids == ids
            assert guide.language.value.of_tokens(vocabulary, ids).answer in ("yes", "no")


def operators(turn):
    """Return the languages that operators make of a turn and that have its texts."""
    return {
        "|": turn | "x",
        "reflected |": detent.choice("x", "y") | turn,
        "&": detent.text().capture("text") & turn,
        "-": turn - "x",
        "+": turn + detent.regex("x*"),
        "~": ~~turn,
        "capture": turn.capture("turn"),
        "repeat": turn.repeat(1, 2),
        "optional": turn.optional(),
        "join": detent.join(";", turn, minimum=1, maximum=2),
    }


@pytest.mark.parametrize("operator", operators(detent.regex("z")))
def test_operators_keep_the_tags(tokenizer, operator):
    _, vocabulary = tokenizer
    turn = detent.turn(TOOLS, style="qwen3", thinking="none", tool_choice="required", max_calls=1)
    ids = detent.compile(turn, vocabulary, canonical=True).matcher().completion()
    ids = [token_id for token_id in ids if token_id not in vocabulary.eos_token_ids]
    language = operators(turn)[operator]
    assert detent.compile(language, vocabulary, canonical=True).matcher().validate(ids) == len(ids)
    text = b"".join(vocabulary.token_bytes(token_id) for token_id in ids)
    assert language.accepts(text)


def test_saved_guides_keep_the_tags(tokenizer, tmp_path):
    _, vocabulary = tokenizer
    rule = detent.turn(TOOLS, style="qwen3", tool_choice="required", max_calls=1)
    guide = detent.compile(rule, vocabulary, canonical=True)
    guide.save(tmp_path / "guide")
    loaded = detent.load_guide(tmp_path / "guide", vocabulary)
    ids = guide.matcher().completion()
    assert loaded.matcher().completion() == ids
    matcher, other = guide.matcher(), loaded.matcher()
    for token_id in ids:
        assert matcher.allowed().tolist() == other.allowed().tolist()
        matcher.advance(token_id)
        other.advance(token_id)
