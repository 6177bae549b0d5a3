"""Texts that the loaders are tested on: to train small tokenizers, and to encode."""

from __future__ import annotations

TRAINING = [
    f"{sentence} {number}"
    for number in range(60)
    for sentence in (
        "The quick brown fox jumps over the lazy dog, again and again.",
        "Hello, world! It's a small text (for the tokenizer), isn't it?",
        'def f(x):\n\treturn {"a": [1, 2], "b": null}\r\n',
        "Ein Käfer läuft über die Straße; na\u00efve caf\u00e9s \u2013 \u03a9\u03bc\u03ad\u03b3\u03b1.",
        "\u6f22\u5b57 and \u304b\u306a, \U0001f600 and \U0001f44d",
    )
]

SAMPLES = [
    "Hello, world!",
    "a",
    "The quick brown fox jumps over the lazy dog.",
    "two  spaces, three   spaces,    four",
    "line one\nline two\r\n\r\n\tindented\t\ttwice\n    four spaces\n",
    '{"name": "Ada", "age": 36, "tags": ["x", "y"], "ok": true, "none": null}',
    "https://example.org/a-b_c?d=e&f=%20#g",
    "0123456789 3.14159 -2.5e10 1,000,000",
    "na\u00efve caf\u00e9, Stra\u00dfe, \u017c\u00f3\u0142\u0107, \u03a9\u03bc\u03ad\u03b3\u03b1, \u0416\u0443\u043a",
    "\u6f22\u5b57\u304b\u306a\u4ea4\u3058\u308a\u6587 \ud55c\uad6d\uc5b4 \u0e44\u0e17\u0e22",
    "\u05e2\u05d1\u05e8\u05d9\u05ea \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "e\u0301 a\u0308 (combining), \u00a0\u2003\u3000 (spaces), \ufeff\u200b (invisible)",
    "\x00\x01\x7f control characters",
    "don't can't it's they'll I'D WE'VE",
    "<0x41> <|not special|> [INS] </ s> \u0120\u010a",
    "x" * 100 + " " * 50 + "=" * 77,
]
"""None begins with a space, which some tokenizers put there themselves."""

IDENTITY = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
"""Options of SentencePiece models that leave texts as they are."""
