"""Guards that any later text may break, as after an unfinished long comment: against lark, and by brute force."""

from __future__ import annotations

import pytest

from detent import grammar
from detent.queries import ByteDfa
from tests.support.derivation import strings

lark = pytest.importorskip("lark")

# A short comment may become a long one by a bracket much later.
COMMENTS = "COMMENT: /-\\[(.|\\n)*?\\]/ | /-[^\\n]*/\n%ignore COMMENT\n"
GRAMMARS = {
    "nested": 'start: "(" start* ")" | "a"\n' + COMMENTS,
    "ends in a bracket": 'start: "a"+ "]"\n' + COMMENTS,
    "blanks": 'start: ("a" "]"?)+\n%ignore "\\n"\n' + COMMENTS,
}
LETTERS = "a-[](\n)"


@pytest.mark.parametrize("name", sorted(GRAMMARS))
def test_states_are_live_where_some_text_follows(name):
    text = GRAMMARS[name]
    letters = LETTERS if name == "nested" else LETTERS.replace("(", "").replace(")", "")
    length = 5 if name == "nested" else 6
    parser = lark.Lark(text, parser="earley", lexer="dynamic")
    texts = set()
    for candidate in strings(letters, length):
        try:
            parser.parse(candidate)
            texts.add(candidate)
        except lark.exceptions.LarkError:
            continue
    dfa = ByteDfa(grammar(text, lexer="dynamic")._node)
    assert {each for each in strings(letters, length) if dfa.accepts(each.encode())} == texts
    for prefix in strings(letters, 3):
        shortest = min((len(each) - len(prefix) for each in texts if each.startswith(prefix)), default=None)
        state = dfa.after(prefix.encode())
        if shortest is not None:
            assert state != 0, prefix
            assert dfa._core.completion_bound(state) >= shortest, prefix
        if state:
            completion = dfa.some_completion(state).decode()
            assert dfa.accepts((prefix + completion).encode()), (prefix, completion)
