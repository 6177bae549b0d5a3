"""Parsers of `structural_tags`: the events of all chunkings are the free text and the tagged parts."""

from random import Random

import pytest

import detent
from detent import TaggedPart
from detent.turns import CallFinished, CallStarted, TextDelta
from tests.support.turns import chunks

ADD = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
TAGS = [("<f=add>", ADD, "</f>"), ("<f=now>", {"const": None}, "</f>"), ("<<", {"type": "array"}, ">>")]
PIECES = [
    "a",
    "é",
    "<",
    "<f",
    "f=",
    ">",
    " ",
    '<f=add>{"a": 12}</f>',
    "<f=now>null</f>",
    '<<[1, "</f>"]>>',
    "User:",
    "\n",
]


def rule(**options):
    return detent.structural_tags(TAGS, triggers=["<f=", "<<"], **options)


def parts_of(events):
    found = []
    for event in events:
        if isinstance(event, TextDelta):
            if found and isinstance(found[-1], str):
                found[-1] += event.text
            else:
                found.append(event.text)
        elif isinstance(event, CallFinished):
            found.append(event.call)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_events_are_the_parts_of_the_value(seed):
    rng, language, read = Random(seed), rule(stop=["User:"]), 0
    for _ in range(40):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(8)))
        parser = language.parser()
        events = [event for piece in chunks(rng, text.encode()) for event in parser.feed(piece)] + parser.finish()
        if not language.accepts(text):
            assert events[-1].reason != "complete"
            continue
        read += 1
        assert events[-1].reason == "complete"
        assert parts_of(events) == language.parse(text), text
        assert events[-1].turn.calls == tuple(part for part in language.parse(text) if isinstance(part, TaggedPart))
    assert read


def test_triggers_that_overlap_themselves():
    language = detent.structural_tags([("aba(", {"const": 1}, ")")], triggers=["aba"])
    parser = language.parser()
    assert parts_of(parser.feed("aaba(1)ab") + parser.finish()) == ["a", TaggedPart("aba(", 1), "ab"]
    parser = language.parser()
    assert parser.feed("ababa(1)")[-1].position == 3


def test_a_stop_ends_the_text():
    language = rule(stop=["User:", "Tool:"])
    assert language.parse("So <<[1]>> it is. User:") == ["So ", TaggedPart("<<", [1]), " it is. "]
    assert not language.accepts("User: a") and not language.accepts("a User: <<[1]>>")
    parser = language.parser()
    assert parser.feed("Yes. Use") == [TextDelta("Yes. ")]
    assert parser.feed("r:") == []
    assert parser.finish()[-1].reason == "complete"


def test_an_end_token_ends_the_text():
    vocabulary = detent.Vocabulary([*(bytes([b]) for b in range(256)), b"<|eom|>", b""], eos_token_ids=[256, 257])
    matcher = detent.compile(rule(end="<|eom|>"), vocabulary).matcher()
    for byte in b"ab<<[1]":
        matcher.advance(byte)
    assert 256 not in matcher.allowed()
    for byte in b">>":
        matcher.advance(byte)
    matcher.advance(256)
    assert matcher.is_finished
    parser = rule(end="<|eom|>").parser(vocabulary)
    events = [event for token_id in (*b"<<[1]>>b", 256) for event in parser.feed(token_id)]
    assert CallStarted(0, "<<") in events and parts_of(events) == [TaggedPart("<<", [1]), "b"]
    assert events[-1].reason == "complete"


@pytest.mark.parametrize("stop", [[""], [3]])
def test_wrong_stops(stop):
    with pytest.raises(detent.ArgumentError, match="stop"):
        rule(stop=stop)
