"""Guards whose escapes show that states are live, against the search that decides it without them."""

from __future__ import annotations

from random import Random

import pytest

import detent
from detent.queries import ByteDfa
from detent.sources.grammar.guards import Guard, Guards
from tests.support.lark_grammars import random_grammar

# What a terminal of Lark leaves open: comments that another may continue, signs before numbers, backtracking.
WRITTEN = [
    'start: (W | W "=" W | N)+\nW: /[ab]+c?/\nN: /-?a+/\n%ignore " "\n%ignore /#[^ ]*/',
    'start: x+\nx: "(" x* ")" | N | S\nN.2: /[+-]?a+(b+)?/\nS: /[a-c+-]+/\n%ignore / +/',
    'start: C | start C\nC: /#([abc]|..)/\n%ignore " "',
    'start: "a" (D "a")*\nD: /b/\n%ignore /b#*c/\n%ignore " "',
    'start: (A | "b" | ";")+\nA: /a(?!b)/\n%ignore " "',
    'start: ";" T U | "b"\nT: /a+( *a)*/\nU: /a;/\n%ignore " "',
]


def live_bytes(text, lexer):
    """The bytes that may follow each short text that the language of a grammar begins with."""
    dfa = ByteDfa(detent.grammar(text, lexer=lexer)._node, detent.Limits(states=20_000))
    found = {}
    waiting = [(b"", dfa.start)]
    for prefix, state in waiting:
        found[prefix] = {byte for byte in b"abc #();=+-" if dfa.step(state, byte)}
        if len(prefix) < (5 if len(found) < 500 else 4):
            waiting.extend((prefix + bytes([byte]), dfa.step(state, byte)) for byte in sorted(found[prefix]))
        if len(waiting) > 3_000:
            break
    return found


def check(text, lexer, monkeypatch):
    try:
        with_escapes = live_bytes(text, lexer)
        with monkeypatch.context() as patch:
            patch.setattr(Guards, "blanks", property(lambda self: {}))
            without = live_bytes(text, lexer)
    except (detent.UnsupportedError, detent.PatternSyntaxError, detent.EmptyLanguageError, detent.LimitError):
        return False
    assert with_escapes == without
    return True


@pytest.mark.parametrize("lexer", ["auto", "dynamic"])
@pytest.mark.parametrize("text", WRITTEN)
def test_written_grammars(text, lexer, monkeypatch):
    assert check(text, lexer, monkeypatch)


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
def test_random_grammars(lexer, monkeypatch):
    judged = 0
    for seed in range(150):
        rng = Random(seed)
        text = random_grammar(rng) + "\n%ignore " + rng.choice(['" "', "/ +/", "/[ c]/"])
        judged += check(text, lexer, monkeypatch)
    assert judged > 40


def spaced_grammar(rng):
    """Return a grammar with a terminal that takes blanks away from those that are ignored."""
    word = rng.choice(["a+", "a(?!b)", "ab?", "[ab]+", "a+( a)*"])
    spaced = rng.choice([" b?", "[ b]+", " ", "[ #]a", "[ ;]"])
    symbols = ["W", "T", '";"', '"b"', "(W | T)", "W?", "T?"]
    rows = [" ".join(rng.choices(symbols, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 3))]
    ignored = rng.choice(['" "', "/ +/", "/[ c]/"])
    return f"start: {' | '.join(rows)}\nW: /{word}/\nT.2: /{spaced}/\n%ignore {ignored}"


def test_guards_rest_on_blanks_that_every_terminal_has(monkeypatch):
    check_blanks = Guards.check_blanks
    owner, allowed, restarts = [], [], []

    def note(self, before):
        edges = list(before)
        owner[:] = [self]
        allowed.append({number for number, path, guard in edges if guard == Guard.NONE and not path.rivals})
        try:
            check_blanks(self, edges)
        except Exception:
            restarts.append(allowed.copy())
            allowed.clear()
            raise

    monkeypatch.setattr(Guards, "check_blanks", note)
    judged = 0
    for seed in range(200):
        rng = Random(seed)
        owner.clear()
        allowed.clear()
        try:
            detent.grammar(spaced_grammar(rng), lexer=rng.choice(["contextual", "dynamic"]))
        except (detent.UnsupportedError, detent.PatternSyntaxError, detent.EmptyLanguageError):
            continue
        for terminals in owner:
            judged += bool(terminals._used_blanks)
            assert all(terminals._used_blanks <= found for found in allowed)
    assert judged > 10
    assert len(restarts) > 5


def test_escapes_that_the_vocabulary_cannot_write():
    text = 'start: W ("b" W)*\nW: /a+/\n%ignore " "'
    language = detent.grammar(text.replace('"b" W', "W"), lexer="dynamic")
    guide = detent.compile(language, detent.Vocabulary([b"a", b"aa", b"</s>"], eos_token_ids=[2]))
    matcher = guide.matcher()
    matcher.advance(0)
    assert list(matcher.allowed()) == [0, 1, 2]
