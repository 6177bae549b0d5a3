"""Members in any order without some words: whether a text is left, against all arrangements."""

from __future__ import annotations

import json
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.language import Language
from detent.sources.nodes import concat

# Long, so that a search meets more states than it expands before a text is tried.
_LONG = "0123456789012345678901234567890123456789"


@settings(max_examples=150)
@given(
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=2, max_size=5, unique=True),
    st.lists(st.text("ab,", min_size=2, max_size=4), min_size=1, max_size=4),
    st.booleans(),
)
def test_arrangements_without_words(names: list[str], words: list[str], is_nested: bool) -> None:
    members = [f"{name}{_LONG}{name[::-1]}" for name in names]
    node = _core.unordered([(concat(member), True) for member in members], None, concat(","), len(names), len(names))
    around = ("<", ">") if is_nested else ("", "")
    language = Language(concat(around[0], node, around[1]), "members") & detent.without(*words)
    texts = [around[0] + ",".join(order) + around[1] for order in permutations(members)]
    left = {text for text in texts if not any(word in text for word in words)}
    assert language.is_empty() == (not left)
    if left:
        assert language.shortest().decode() in left


def test_fifty_required_members_without_words() -> None:
    """Liveness ended in a LimitError after two minutes, since it looked at sets of members one by one."""
    names = [f"{chr(ord('A') + i % 26)}{i}_the_name_of_a_member_of_a_long_record" for i in range(53)]
    record = {
        "type": "object",
        "properties": {name: {"enum": ["x", "y"]} for name in names},  # others have any value, nested as well
        "required": names,
    }
    schema = {"type": "array", "items": record, "minItems": 1}
    vocabulary = detent.Vocabulary([*(bytes([i]) for i in range(256)), b""], eos_token_ids=[256])
    language = detent.json_schema(schema, order="any")
    guide = detent.compile(language & detent.without("the ", "listen"), vocabulary)
    text = json.dumps([{name: "x" for name in reversed(names)}]).encode()
    matcher = guide.matcher(len(text) + 400)
    mask = detent.allocate_mask(1, len(vocabulary))[0]
    for byte in text:
        matcher.fill_mask(mask)
        matcher.advance(byte)
    matcher.advance(256)
