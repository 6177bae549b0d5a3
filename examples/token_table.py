"""Your own automaton as a constraint: over tokens, over characters, narrowed by other rules, and drawn."""

from __future__ import annotations

import detent


def main() -> None:
    """The numbers 1, 2, 3 in this order; and a language whose automaton is written by hand."""
    automaton = detent.token_table([(1, 1, 2), (2, 2, 3), (3, 3, 1)], initial=1, accepting=[1])
    vocabulary = detent.Vocabulary([b"0", b"1", b"2", b"3", b"</s>"], eos_token_ids=[4])
    table = automaton.table(vocabulary)
    matcher = table.matcher(max_tokens=6)
    while not matcher.is_finished:
        allowed = matcher.allowed().tolist()
        print(f"{vocabulary.decode(matcher.token_ids).decode():7} then {[vocabulary.token_bytes(i) for i in allowed]}")
        matcher.advance(allowed[0])
    print(detent.draw_automaton(automaton, vocabulary).dot())

    # Over tokens, `&` narrows: here by a language of the text.
    both = detent.compile(automaton & detent.regex(".{6}"), vocabulary).matcher()
    for token_id in (1, 2, 3, 1, 2, 3):
        both.advance(token_id)
    print("with six characters exactly, after 123123:", both.allowed().tolist())

    moves = [("even", "a", "odd"), ("odd", "a", "even"), ("even", ("b", "z"), "even"), ("odd", ("b", "z"), "odd")]
    even = detent.token_table(moves, "even", ["even"], over="characters").language()
    print("an even number of a:", [word for word in ("banana", "papaya", "mama") if even.accepts(word)])
    print("and with two letters:", (even & detent.regex("a.")).shortest())


if __name__ == "__main__":
    main()
