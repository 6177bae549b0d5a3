"""A compressor as a language model, held to a few answers.

A text that a compressor has seen before costs it few bytes more. So the negative length of a compressed text is a
logit of sorts: the next character is likely if it makes the story, the question and what was written so far shrink
well together. Free to write, such a model babbles; held to the answers that make sense, it looks the right one up.

The idea is Futrell's ziplm; that constraints make something of it was shown with Outlines in 2023. Here a character
is a token.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import detent
from detent.models import CallableModel

STORY = """
the light on gull rock was kept by marta quill, who had it from her mother, who had it from hers. the
tower had ninety-one steps, a stove that smoked when the wind was in the east, and a clock that nobody wound,
because the lamp told the time well enough: lit at dusk, trimmed at midnight, put out at dawn.

twice a year the supply boat came. it brought oil, flour, letters and the inspector, mr. pell, who counted the oil,
tasted the flour and read the letters. in the spring of the year of the three comets he also asked for the brass
key. the brass key opened the iron chest, and in the iron chest lay the logbooks of sixty years: every wreck, every
rescue, every ship that had passed without a light of her own. the harbour company wanted them burned before the
court could read them.

marta had heard of this from the cook of the supply boat, a week before. she did not throw the key into the sea,
since the sea gives back what it is given. she did not hang it round the neck of the goat, although the goat was
willing. at night, when the lamp was turning, she took off her shoes and hid the brass key under the seventh step,
where the board was loose and the wood smelled of tar. then she went up and trimmed the lamp, because it was
midnight.

mr. pell looked in the stove and burned his cuff. he looked in the flour and sneezed until evening. he looked behind
the clock that nobody wound and found a letter that was none of his business, and read it. he went up all ninety-one
steps and down again, and the seventh step creaked both times, as it had always done. "your stairs want mending,"
said mr. pell. "they do," said marta.

in the autumn the judge came herself, in a rowing boat, with a lantern between her knees. she asked where the
logbooks were, and marta asked her to mind the seventh step. they read until the oil ran low. of the forty ships
that the harbour company had sworn were lost in fog, thirty-one had been lost on clear nights, with the harbour
light dark and the harbour master asleep.

the company paid for a new stove. the goat was given the letter of apology, and ate it. the key hangs beside the
lamp now, where anyone can see it, and the step still creaks; nobody has mended it, because nobody wants to.
"""

ALPHABET = "abcdefghijklmnopqrstuvwxyz .,;:'?!-\"\n"
END = len(ALPHABET)


class ZipModel:
    """Logits of the next character by the bits that it adds to a compressed text."""

    def __init__(self, story: str) -> None:
        self.story = " ".join(story.split())

    def __call__(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        """Return one logit for each character, and one for the end, which costs what a line break does."""
        so_far = self.story + "".join(ALPHABET[token_id] for token_id in token_ids)
        sizes = [compressed_bits(so_far + character) for character in ALPHABET + "\n"]
        return np.array(sizes) * -math.log(2)


def compressed_bits(text: str) -> int:
    """Return the bits of a text, compressed with fixed codes (and a constant more).

    Compressors give whole bytes. A byte of 144 or more costs nine bits, so each in front shifts the end by one bit, and
    the sizes behind none, one, ... seven of them add up to a count of bits.
    """
    size = 0
    for shift in range(8):
        compressor = zlib.compressobj(level=9, wbits=-15, strategy=zlib.Z_FIXED)
        size += len(compressor.compress(bytes(range(200, 200 + shift)) + text.encode()) + compressor.flush())
    return size


def main() -> None:
    """Ask the story a question, freely and under a constraint."""
    vocabulary = detent.Vocabulary([character.encode() for character in ALPHABET] + [b""], eos_token_ids=[END])
    model = CallableModel(ZipModel(STORY), vocabulary, encode=lambda text: [ALPHABET.index(c) for c in text.lower()])

    question = "Where is it? She hid the brass key "
    print(question)
    print("  freely:         ", detent.generate(model, question, max_tokens=30, seed=1).text.replace("\n", " "))
    answers = detent.regex("(in the stove|behind the clock|under the seventh step|round the neck of the goat)")
    print("  among 4 answers:", detent.generate(model, question, answers, temperature=0).text)


if __name__ == "__main__":
    main()
