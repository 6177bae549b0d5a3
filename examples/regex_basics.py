"""Regular expressions and the embedded model: what may be written, as a whole text, as a stream, and step by step."""

from __future__ import annotations

import detent


def main() -> None:
    """Show a few patterns, a stream, and the masks behind them."""
    model = detent.load_model()

    for prompt, pattern in (
        ("Write June 6, 1996 as an ISO date.", r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"),
        ("Is the number 32 smaller than 44?", r"Yes|No"),
        ("Where can I find maps? The site is motelena.com.", r"https?://(www\.)?[a-z]{2,20}\.(com|org|edu|ai)"),
        ("Write a JSON record of a city.", r'\{"name": "[A-Z][a-z]+", "people": [1-9][0-9]{3,6}\}'),
    ):
        # The whole text matches the pattern, whatever the model would have liked to write.
        out = detent.generate(model, prompt, detent.regex(pattern), temperature=0)
        print(f"{prompt}\n    {out.text}   ({len(out.token_ids)} tokens, {out.finish_reason})")

    # Compile once and write often. A stream gives whole characters, as soon as the model has written them.
    guide = detent.compile(detent.regex(r"([A-Z][a-z]+( [a-z]+){2,9}\. ?){1,3}"), model.vocabulary)
    print("Tell me a story about Ida.\n    ", end="")
    for piece in detent.stream(model, "Tell me a story about Ida.", guide, max_tokens=64, temperature=0.7, seed=5):
        print(piece, end="", flush=True)
    print()

    # Behind both: a matcher says after each token which ones may come next.
    vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b"abb", b"</s>"], eos_token_ids=[4])
    matcher = detent.compile(detent.regex("(ab)+"), vocabulary).matcher()
    for token_id in (0, 1, 2, 4):
        allowed = [vocabulary.token_bytes(allowed_id).decode() for allowed_id in matcher.allowed()]
        print(f"(ab)+ allows {allowed}, taking {vocabulary.token_bytes(token_id).decode()!r}")
        matcher.advance(token_id)


if __name__ == "__main__":
    main()
