"""The plainest meaning of a context-free grammar: the least sets of strings that satisfy its rules, up to a length."""

from __future__ import annotations

from itertools import product

Rules = dict[str, list[list[str]]]


def strings(alphabet, length):
    """Every string over an alphabet, up to a length."""
    for size in range(length + 1):
        yield from map("".join, product(alphabet, repeat=size))


def derived(rules: Rules, length: int) -> dict[str, set[str]]:
    """The texts of each rule, up to a length; symbols that are no rule are texts."""
    texts: dict[str, set[str]] = {name: set() for name in rules}
    changed = True
    while changed:
        changed = False
        for name, rows in rules.items():
            for row in rows:
                found = {""}
                for symbol in row:
                    options = texts[symbol] if symbol in rules else {symbol}
                    found = {left + right for left in found for right in options if len(left + right) <= length}
                if not found <= texts[name]:
                    texts[name] |= found
                    changed = True
    return texts
