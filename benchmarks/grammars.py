"""Lark and GBNF grammars: reading beside lark's own constructors, and texts that are walked token by token.

    python -m benchmarks.grammars --tokenizer ../shared/data/tokenizers/llama3/tokenizer.json > table.md

Each grammar is read by lark (`Lark(text, parser=...)`) and by detent in turn, five times; the least CPU time counts.
Compiling includes the first mask, but not what a vocabulary computes once for all rules: another one is compiled first.
The texts are random derivations of lark's own rules, written by lark's terminals, and for Lark's grammar also the
grammars that come with lark. A text is taken if the matcher takes each of its tokens,
after a mask each, and its end. Spaces stand between terminals, so a grammar that ignores none, such as `cron`, refuses
some derivations, as lark does. The texts of a GBNF grammar are samples of its language.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from time import process_time
from typing import Any

import lark

import detent
from benchmarks.process import machine
from benchmarks.timing import memory

FOLDER = Path(__file__).with_name("grammars")
LARK = Path(lark.__file__).parent / "grammars"
LEXERS = {"contextual": "lalr", "dynamic": "earley", "dynamic_complete": "earley"}


def grammars() -> dict[str, tuple[str, list[str]]]:
    """Return the grammars by name, each with real texts, if there are some."""
    choose = random.Random(1)
    words = ["".join(choose.choices("abcdefghijklmnop", k=choose.randint(2, 10))) for _ in range(2_000)]
    numbered = [f"lit{number}_{number * 7919:x}" for number in range(512)]
    own = [path.read_text() for path in sorted([*LARK.glob("*.lark"), *FOLDER.glob("*.lark")])]
    return {
        "lark.lark": ((LARK / "lark.lark").read_text(), own),
        **{path.name: (path.read_text(), []) for path in sorted(FOLDER.glob("*.lark"))},
        "512 literals": ("start: (" + " | ".join(f'"{word}"' for word in numbered) + ")+\n", []),
        "a terminal of 2,000 texts": ("start: W+\nW: " + " | ".join(f'"{word}"' for word in words) + "\n", []),
        "a regex of 2,000 alternatives": (f"start: W+\nW: /{'|'.join(words)}/\n", []),
    }


def least(call: Callable[[], Any], times: int = 5) -> tuple[float, Any]:
    """Return the least CPU time of some calls, and the last result."""
    found = []
    for _ in range(times):
        start = process_time()
        result = call()
        found.append(process_time() - start)
    return min(found), result


class Derivations:
    """Random texts of a grammar, by the rules and terminals that lark has read."""

    def __init__(self, text: str) -> None:
        parser = lark.Lark(text, parser="earley", lexer="dynamic", keep_all_tokens=True)
        self.rules: dict[str, list[list[tuple[str, bool]]]] = {}
        for rule in parser.rules:
            row = [(symbol.name, symbol.is_term) for symbol in rule.expansion]
            self.rules.setdefault(rule.origin.name, []).append(row)
        self.terminals = {
            each.name: each.pattern.value
            if isinstance(each.pattern, lark.lexer.PatternStr)
            else detent.regex(each.pattern.to_regexp())
            for each in parser.terminals
        }
        self.height = dict.fromkeys(self.rules, 10**6)
        for _ in self.rules:
            for name, rows in self.rules.items():
                self.height[name] = min([self.height[name], *map(self.row_height, rows)])

    def row_height(self, row: list[tuple[str, bool]]) -> int:
        """Return the least height of a derivation of a row."""
        return 1 + max([0 if is_terminal else self.height[name] for name, is_terminal in row], default=0)

    def text(self, seed: int) -> str:
        """Return a text: rows at random up to a depth, then those that end soonest."""
        rng = random.Random(seed)
        depth = rng.randint(8, 30)
        parts: list[str] = []
        waiting = [("start", False, 0)]
        while waiting:
            name, is_terminal, above = waiting.pop()
            if is_terminal:
                parts.append(self.sample(name, rng))
                continue
            rows = self.rules[name]
            if above > depth or len(parts) + len(waiting) > 300:
                fewest = min(map(self.row_height, rows))
                rows = [row for row in rows if self.row_height(row) == fewest]
            waiting += [(*symbol, above + 1) for symbol in reversed(rng.choice(rows))]
        return " ".join(parts)

    def sample(self, name: str, rng: random.Random) -> str:
        """Return a text of a terminal."""
        terminal = self.terminals[name]
        return terminal if isinstance(terminal, str) else terminal.sample(rng, 24).decode()


def read_row(name: str, text: str, lexer: str, vocabulary: detent.Vocabulary) -> str:
    """Return the row of reading one grammar with one lexer."""
    try:
        theirs, _ = least(lambda: lark.Lark(text, parser=LEXERS[lexer], lexer=lexer))
        shown = f"{theirs * 1e3:.0f}"
    except lark.exceptions.LarkError as error:
        theirs, shown = 0.0, f"refused: {type(error).__name__}"

    try:
        read, language = least(lambda: detent.grammar(text, lexer=lexer))
    except detent.DetentError as error:
        return f"| {name} | {lexer} | {shown} | {type(error).__name__} | | |"
    try:  # once, since the vocabulary keeps masks; compiling computes the first one
        compiled, _ = least(lambda: detent.compile(language, vocabulary), times=1)
    except detent.LimitError as error:
        return f"| {name} | {lexer} | {shown} | {read * 1e3:.0f} | LimitError: {error.subject} | {read / theirs:.2f} |"
    ratio = f"{(read + compiled) / theirs:.2f}" if theirs else ""
    return f"| {name} | {lexer} | {shown} | {read * 1e3:.0f} | {compiled * 1e3:.1f} | {ratio} |"


def walk(matcher: detent.Matcher, ids: list[int], mask: Any) -> Iterator[float]:
    """Take each token after a mask; yield the CPU time of each step."""
    for token in ids:
        start = process_time()
        matcher.fill_mask(mask)
        matcher.advance(token)
        yield process_time() - start


def walk_row(
    name: str, texts: Iterable[str], guide: detent.Guide, lexer: str, vocabulary: detent.Vocabulary, seconds: float
) -> str:
    """Return the row of walking texts through one grammar with one lexer."""
    mask = detent.allocate_mask(1, len(vocabulary))[0]
    taken = refused = failed = 0
    steps: list[float] = []
    before = memory("VmRSS")
    begin = process_time()
    for each in texts:
        if process_time() - begin > seconds:
            break
        ids = vocabulary.encode(each)
        matcher = guide.matcher()
        try:
            for step in walk(matcher, ids, mask):
                steps.append(step)
                if process_time() - begin > seconds:
                    break
            else:
                taken += matcher.is_accepting
                refused += not matcher.is_accepting
        except detent.LimitError:
            failed += 1
        except detent.StateError:
            refused += 1
    steps.sort()
    grown = (memory("VmRSS") - before) / 2**20
    mean, worst = (sum(steps) / len(steps) * 1e6, steps[-1] * 1e3) if steps else (0, 0)
    p99 = steps[len(steps) * 99 // 100] * 1e3 if steps else 0
    return (
        f"| {name} | {lexer} | {taken} | {refused} | {failed} | {len(steps)} | {mean:.0f} | {p99:.1f} | {worst:.1f} | "
        f"{guide.state_count} | {grown:.0f} |"
    )


def gbnf_row(path: Path, vocabulary: detent.Vocabulary, options: argparse.Namespace) -> str:
    """Return the row of walking samples of a GBNF grammar."""
    language = detent.gbnf(path.read_text())
    rng = random.Random(3)
    texts = (language.sample(rng, rng.choice((30, 100, 300))).decode() for _ in range(options.texts))
    return walk_row(path.name, texts, detent.compile(language, vocabulary), "gbnf", vocabulary, options.seconds)


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--texts", type=int, default=200, help="derivations of each grammar")
    parser.add_argument("--seconds", type=float, default=60, help="CPU time of the texts of one grammar and lexer")
    parser.add_argument("--lexers", nargs="*", default=["contextual", "dynamic", "dynamic_complete"])
    parser.add_argument("--only", nargs="*", default=[], help="names of grammars")
    parser.add_argument("--no-walks", action="store_true", help="write the first table alone")
    options = parser.parse_args()
    vocabulary = detent.Vocabulary.from_file(options.tokenizer)
    detent.compile(detent.regex("[a-z]+;"), vocabulary)
    chosen = {name: each for name, each in grammars().items() if not options.only or name in options.only}
    print(machine() + "\n")
    print("| grammar | lexer | lark, ms | read, ms | compile with the first mask, ms | ratio |")
    print("|---|---|---:|---:|---:|---:|")
    for name, (text, _) in chosen.items():
        for lexer in options.lexers:
            print(read_row(name, text, lexer, vocabulary), flush=True)
    if options.no_walks:
        return
    print()
    print("| grammar | lexer | texts | refused | LimitError | tokens | mean, us | p99, ms | worst, ms | states | MB |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, (text, real) in chosen.items():
        made = Derivations(text)
        for lexer in options.lexers:
            sys.stderr.write(f"{name} {lexer}\n")
            try:
                guide = detent.compile(detent.grammar(text, lexer=lexer), vocabulary)
            except detent.DetentError as error:
                print(f"| {name} | {lexer} | {type(error).__name__} | | | | | | | | |")
                continue
            texts = chain(real, map(made.text, range(options.texts)))
            print(walk_row(name, texts, guide, lexer, vocabulary, options.seconds), flush=True)
    for path in sorted(FOLDER.glob("*.gbnf")):
        if not options.only or path.name in options.only:
            print(gbnf_row(path, vocabulary, options), flush=True)


if __name__ == "__main__":
    main()
