"""A limit on tokens that every text keeps: it is complete and valid by then, whoever chooses the tokens."""

from __future__ import annotations

import random

import detent

RECORD = r'\{"name": "[A-Z][a-z]{1,20}", "tags": \[("[a-z]{1,12}"(, "[a-z]{1,12}"){0,9})?\]\}'


def main() -> None:
    """Write the same record within smaller and smaller limits."""
    model = detent.load_model()
    rule = detent.regex(RECORD)
    least = rule.min_tokens(model.vocabulary)
    print(f"The shortest record has {least} tokens.")

    # The model writes on while it can, and ends in time when it cannot.
    guide = detent.compile(rule, model.vocabulary)
    for limit in (least, least + 4, least + 12):
        out = detent.generate(model, "Write a JSON record.", guide, max_tokens=limit, temperature=1.5, seed=3)
        print(f"{limit:4} tokens: {out.text}   ({len(out.token_ids)}, {out.finish_reason})")

    # Below that there is nothing to write; the message says what would be.
    try:
        guide.matcher(max_tokens=least - 1)
    except detent.LimitError as error:
        print(f"{least - 1:4} tokens: {error}")

    # Step by step, at random: the masks see to it that any choice ends in time.
    vocabulary = model.vocabulary
    matcher = guide.matcher(max_tokens=least + 10)
    rng = random.Random(2)
    while not matcher.is_finished:
        matcher.advance(rng.choice(matcher.allowed().tolist()))
    print(f"{least + 10:4} tokens: {vocabulary.decode(matcher.token_ids).decode()}   (at random)")
    print(f"The limit first took tokens out of a mask after {matcher.budget_bound_at} of them.")


if __name__ == "__main__":
    main()
