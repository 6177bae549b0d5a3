"""Write src/detent/vocabulary/character_classes.py: the sets of characters that split patterns name.

The sets are those of the package tokenizers, asked for every code point: its regular expressions have their own
version of Unicode, and a split must cut where the tokenizer does. Run it again when tokenizers moves to another one.

    python tools/write_character_classes.py
"""

from __future__ import annotations

from pathlib import Path

import tokenizers

NAMES = ("Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "P", "S", "d", "s", "w")
TARGET = Path(__file__).resolve().parents[1] / "src/detent/vocabulary/character_classes.py"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
HEAD = '''"""The sets of characters that split patterns name, as the package tokenizers {version} knows them.

Written by tools/write_character_classes.py. Each set is a row of lengths in base 36: characters outside the set,
characters in it, outside, in, and so on from U+0000.
"""

from __future__ import annotations

__all__ = ["RUNS"]

RUNS: dict[str, str] = {{
'''


def members(name: str) -> list[int]:
    """Return the code points that match, in order."""
    pattern = rf"\{name}" if name in "dsw" else rf"\p{{{name}}}"
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    found = []
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    for start in range(0, len(points), 4096):
        text = "".join(chr(point) for point in points[start : start + 4096])
        for piece, (begin, end) in split.pre_tokenize_str(text):
            if end == begin + 1 and _matches(split, piece):
                found.append(ord(piece))
    return found


def _matches(split: tokenizers.pre_tokenizers.Split, piece: str) -> bool:
    return len(split.pre_tokenize_str(piece + piece)) == 2


def runs(points: list[int]) -> str:
    """Return the lengths of the runs outside and inside, in base 36."""
    lengths: list[int] = []
    at = 0
    for point in points:
        if lengths and point == at:
            lengths[-1] += 1
        else:
            lengths += [point - at, 1]
        at = point + 1
    return " ".join(_base36(length) for length in lengths)


def _base36(number: int) -> str:
    text = DIGITS[number % 36]
    while number := number // 36:
        text = DIGITS[number % 36] + text
    return text


def main() -> None:
    """Write the file."""
    lines = [HEAD.format(version=tokenizers.__version__)]
    for name in NAMES:
        words = runs(members(name)).split(" ")
        lines.append(f'    "{name}": (\n')
        row = ""
        for word in [*words, None]:
            if word is None or len(row) + len(word) > 104:
                lines.append(f'        "{row}"\n' if word is None else f'        "{row} "\n')
                row = ""
            if word is not None:
                row = f"{row} {word}" if row else word
        lines.append("    ),\n")
    lines.append("}\n")
    TARGET.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
