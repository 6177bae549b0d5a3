"""Small random languages over few letters, each with its plain meaning."""

from __future__ import annotations

import re

import detent

LETTERS = ("a", "ab", "ab ", " a\n", "a'1", "a 1", "a\u00e9", " \n", "a\u00e9\u00e8 ", "'s ", "- \n", "a\U0001f600")
LONGEST = {1: 14, 2: 8, 3: 6, 4: 5}
"""Of the texts that are tried, by the number of letters."""


def random_pattern(rng, letters, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.3:
        return "".join(re.escape(letter) for letter in rng.choices(letters, k=rng.randint(1, 3)))
    if kind < 0.45:
        return "[" + "".join(map(re.escape, rng.sample(letters, rng.randint(1, len(letters))))) + "]"
    if kind < 0.6:
        return random_pattern(rng, letters, depth + 1) + random_pattern(rng, letters, depth + 1)
    if kind < 0.75:
        return f"(?:{random_pattern(rng, letters, depth + 1)}|{random_pattern(rng, letters, depth + 1)})"
    return f"(?:{random_pattern(rng, letters, depth + 1)})" + rng.choice(("*", "+", "?", "{2}", "{1,3}", "{2,}"))


def random_language(rng, letters):
    """Draw a regular expression, two of them combined, or a grammar; give it with its plain meaning."""
    kind = rng.random()
    if kind < 0.15:
        opening, closing, inside = (rng.choice(letters) for _ in range(3))
        rule = f'start: "{opening}" start "{closing}" | "{inside}"'.replace("\n", r"\n")

        def nested(text):
            depth = len(text) // 2
            return text == opening * depth + inside + closing * depth and len(text) <= 21

        # Bounded, since some splits here look ahead without end, and then all that may follow is searched.
        return detent.grammar(rule) & detent.regex(r"(?s:.{0,21})"), nested
    first = random_pattern(rng, letters)
    matches = re.compile(first).fullmatch
    if kind < 0.75:
        return detent.regex(first), matches
    second = random_pattern(rng, letters)
    excluded = re.compile(second).fullmatch
    return detent.regex(first) & ~detent.regex(second), lambda text: matches(text) and not excluded(text)
