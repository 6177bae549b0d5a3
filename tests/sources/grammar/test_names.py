"""Names in grammars: masks where a walk takes the tokens over their letters at once, and guards after names."""

from __future__ import annotations

import pytest

import detent
from detent.queries import ByteDfa
from tests.support.derivation import strings

lark = pytest.importorskip("lark")

# Each with the letters of its texts. Brackets make the rules recursive.
GRAMMARS = {
    "keywords between names": (
        'start: "(" start ")" | N | "n" start | start "i" start\nN: /[a-z]+/\n%ignore " "',
        "ni( )",
    ),
    "names with digits": ('start: "(" start ")" | N+ | "i" D\nN: /[a-z][0-9]*/\nD: /[0-9]+/', "i0()"),
    "a name swallows what must follow": (
        'start: N "b" start | "b" "aa1" start | "1"\nN: /[ab]+/',
        "ab1",
    ),
    "a name swallows some of it": ('start: "(" start ")" | N ("b" | "1")\nN: /[ab]+/', "ab1()"),
    # Operators of which some are letters, with the same first two bytes.
    "the first operator is none": (
        'start: N | N "⁺" start | N "ⁱ" "a" start | N "ⁿ" "(" start\nN: /\\w+/\n%ignore " "',
        "a⁺ⁱ(",
    ),
    "the last operator is none": (
        'start: N | N "ⁱ" start | N "ⁿ" "a" start | N "⁺" "(" start\nN: /\\w+/\n%ignore " "',
        "a⁺ⁱ(",
    ),
}
CASES = [(name, lexer) for name in GRAMMARS for lexer in ("contextual", "dynamic", "dynamic_complete")]


@pytest.mark.parametrize(("name", "lexer"), CASES)
def test_masks_and_states_of_names(name: str, lexer: str) -> None:
    text, letters = GRAMMARS[name]
    try:
        parser = lark.Lark(text, parser="lalr" if lexer == "contextual" else "earley", lexer=lexer)
        language = detent.grammar(text, lexer=lexer)
    except (lark.exceptions.GrammarError, detent.UnsupportedError):
        pytest.skip("not LALR(1)")
    texts = set()
    for candidate in strings(letters, 5):
        try:
            parser.parse(candidate)
            texts.add(candidate)
        except lark.exceptions.LarkError:
            continue
    dfa = ByteDfa(language._node)
    assert {each for each in strings(letters, 5) if dfa.accepts(each.encode())} == texts
    for prefix in strings(letters, 2):
        state = dfa.after(prefix.encode())
        assert state or not any(each.startswith(prefix) for each in texts), prefix
        if state:
            assert dfa.accepts(prefix.encode() + (dfa.some_completion(state) or b"")), prefix
    # Tokens of all letters; and tokens of two letters, which a walk takes together.
    for several in (letters, letters[:2]):
        tokens = [each.encode() for each in [*letters, *strings(several, 3)] if len(each) != 0]
        vocabulary = detent.Vocabulary([*tokens, b"</s>"], eos_token_ids=[len(tokens)])
        guide = detent.compile(language, vocabulary)
        for prefix in (each for each in strings(letters, 2) if dfa.after(each.encode())):
            matcher = guide.matcher()
            matcher.advance_bytes(prefix.encode())
            allowed = {vocabulary.token_bytes(each) for each in matcher.allowed()} - {b"</s>"}
            assert allowed == {each for each in tokens if dfa.after(prefix.encode() + each)}, prefix
