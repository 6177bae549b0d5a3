"""Free text with tagged parts: where a tag begins, what stands inside, what free text may not hold."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import detent
from detent import TaggedPart
from tests.support.random_texts import texts

ADD = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
TAGS = [("<function=add>", ADD, "</function>"), ("<function=now>", {"const": None}, "</function>"), ("<<", True, ">>")]
TRIGGERS = ["<function=", "<<"]


def test_tags_and_free_text() -> None:
    rule = detent.structural_tags(TAGS, triggers=TRIGGERS)
    assert rule.parse("") == []
    assert rule.parse("just text < < <functio") == ["just text < < <functio"]
    text = 'A: <function=add>{"a": 1}</function><function=now>null</function> and <<[1]>> é'
    assert rule.parse(text) == [
        "A: ",
        TaggedPart("<function=add>", {"a": 1}),
        TaggedPart("<function=now>", None),
        " and ",
        TaggedPart("<<", [1]),
        " é",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<function=",
        "<function=add>",
        '<function=add>{"a": 1}',
        '<function=add>{"a": "1"}</function>',
        "<function=sub>{}</function>",
        'x <function=now>{"a": 1}</function>',
        "text <<",
        "text <<x",
        "<<1>> <function=",
    ],
)
def test_a_trigger_opens_a_whole_tag(text: str) -> None:
    assert not detent.structural_tags(TAGS, triggers=TRIGGERS).accepts(text)


def test_a_trigger_is_seen_where_it_first_ends() -> None:
    rule = detent.structural_tags([("aba(", {"const": 1}, ")")], triggers=["aba"])
    assert rule.parse("xaba(1)") == ["x", TaggedPart("aba(", 1)]
    assert rule.parse("aaba(1)ab") == ["a", TaggedPart("aba(", 1), "ab"]
    assert not rule.accepts("ababa(1)")


def test_bounds_of_the_number_of_tags() -> None:
    one = [("<t>", {"const": 1}, "</t>")]
    tag = "<t>1</t>"
    bounded = detent.structural_tags(one, triggers=["<t>"], at_least=1, at_most=2)
    assert [bounded.accepts("a" + tag * count + "b") for count in range(4)] == [False, True, True, False]


def test_the_text_of_an_end_may_stand_inside_a_value() -> None:
    rule = detent.structural_tags([("<t>", {"type": "string"}, "</t>")], triggers=["<t>"])
    assert rule.parse('<t>"</t><t>"</t>') == [TaggedPart("<t>", "</t><t>")]


def test_what_is_written_can_be_read() -> None:
    rule = detent.structural_tags(TAGS, triggers=TRIGGERS)
    for text in texts(rule, 60):
        parts = rule.parse(text)
        assert isinstance(parts, list)
        free = [part for part in parts if isinstance(part, str)]
        assert not any(trigger in part for part in free for trigger in TRIGGERS)


def test_it_is_pickled() -> None:
    rule = pickle.loads(pickle.dumps(detent.structural_tags(TAGS, triggers=TRIGGERS)))
    assert rule.parse("<<1>>") == [TaggedPart("<<", 1)]


@pytest.mark.parametrize(
    ("tags", "triggers", "said"),
    [
        (TAGS, [], "at least one trigger"),
        (TAGS, [""], "not empty"),
        (TAGS, ["<", "<<"], "contains"),
        (TAGS, ["<function="], "none of the triggers"),
        (TAGS, [*TRIGGERS, "zzz"], "opens no tag"),
        ([("<a>", True)], ["<a>"], "begin, schema, end"),
        ([("<a>", True, 5)], ["<a>"], "text must stand"),
        ([], ["<a>"], "opens no tag"),
        ([("<a>", True, "")], ["<a>"], "number"),
        ([("<a>", True, "1")], ["<a>"], "number"),
    ],
)
def test_wrong_arguments(tags: Any, triggers: Any, said: str) -> None:
    with pytest.raises(detent.ArgumentError, match=said):
        detent.structural_tags(tags, triggers=triggers)


def test_wrong_bounds() -> None:
    with pytest.raises(detent.ArgumentError, match="at least 2"):
        detent.structural_tags([("<t>", True, "</t>")], triggers=["<t>"], at_least=2, at_most=1)
