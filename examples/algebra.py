"""Rules that compose: languages are made of languages, asked about without a model, and then written by one."""

from __future__ import annotations

import random

import detent


def main() -> None:
    """Put rules together, ask what they hold, and let the embedded model write one."""
    # A rule for the form, one for the choice of letters, and one for what must not be in it.
    word = detent.regex("[a-z]{3,8}")
    text = detent.regex("(?s:.)*")
    swearing = text + detent.regex("damn|drat|darn") + text
    name = detent.regex("[A-Z][a-z]+")
    greeting = ("Hello, " + (name | word) + detent.regex("[!.]")) - swearing
    print(f"{greeting!r}")
    for line in ("Hello, Ida!", "Hello, world.", "Hello, darned!", "hello, world"):
        print(f"    {line:16} {greeting.accepts(line)}")

    # ByteDfa need no model: what is the shortest, how many are there, what would some look like?
    code = detent.regex("[A-C]{2,3}-[0-9]") & ~detent.regex(".*(AA|BB|CC).*")
    print(f"\nshortest {code.shortest().decode()}, {code.count(max_bytes=5)} in all, and these are among them:")
    print("   ", *(code.sample(random.Random(seed)).decode() for seed in range(5)))

    # Two ways to write a rule are one language, or a text shows where they differ.
    pairs, even = detent.regex("(ab|ba)*"), detent.regex("([ab]{2})*")
    print(f"\npairs <= even: {pairs <= even}; even <= pairs: {even <= pairs}, as {even.counterexample(pairs)!r} shows")
    print(f"(ab)*a == a(ba)*: {detent.regex('(ab)*a') == detent.regex('a(ba)*')}")

    # The product never runs into a dead end: every token that is allowed leaves a way to a complete text.
    model = detent.load_model()
    out = detent.generate(model, "Say hello.", greeting, max_tokens=12, seed=1)
    print(f"\n{out.text}   ({greeting.accepts(out.text)})")


if __name__ == "__main__":
    main()
