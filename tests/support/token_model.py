"""What tokens may write in a small regular language, by plain search: the ground truth where tokens lack bytes.

Expressions are tuples: `("a",)` a letter, `("",)` the empty text, `(".", x, y)` concatenation, `("|", x, y)` a choice,
`("{", x, low, high)` repetition, without end if high is None. A state is the set of what may follow (Antimirov's
partial derivatives, 1996); there are finitely many.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Expression: TypeAlias = tuple[Any, ...]
State: TypeAlias = "frozenset[Expression]"

EMPTY: Expression = ("",)


def as_regex(expression: Expression) -> str:
    """Write an expression as a pattern of `re`."""
    kind, *parts = expression
    if kind == ".":
        return as_regex(parts[0]) + as_regex(parts[1])
    if kind == "|":
        return f"(?:{as_regex(parts[0])}|{as_regex(parts[1])})"
    if kind == "{":
        inner, low, high = parts
        return f"(?:{as_regex(inner)}){{{low},{'' if high is None else high}}}"
    return str(kind)


def is_nullable(expression: Expression) -> bool:
    """Whether the empty text is in the language."""
    kind, *parts = expression
    if kind == ".":
        return is_nullable(parts[0]) and is_nullable(parts[1])
    if kind == "|":
        return is_nullable(parts[0]) or is_nullable(parts[1])
    if kind == "{":
        return parts[1] == 0 or is_nullable(parts[0])
    return kind == ""


def derive(expression: Expression, letter: str) -> State:
    """Return what may follow the letter."""
    kind, *parts = expression
    if kind == ".":
        first = frozenset(_join(rest, parts[1]) for rest in derive(parts[0], letter))
        return first | derive(parts[1], letter) if is_nullable(parts[0]) else first
    if kind == "|":
        return derive(parts[0], letter) | derive(parts[1], letter)
    if kind == "{":
        inner, low, high = parts
        if high == 0:
            return frozenset()
        rest = ("{", inner, max(low - 1, 0), None if high is None else high - 1)
        return frozenset(_join(first, rest) for first in derive(inner, letter))
    return frozenset([EMPTY]) if kind == letter else frozenset()


def _join(first: Expression, second: Expression) -> Expression:
    return second if first == EMPTY else (".", first, second)


class TokenModel:
    """A language's states under whole tokens, all of them, with the fewest tokens from each to an end."""

    def __init__(self, expression: Expression, tokens: list[str]) -> None:
        self.tokens = tokens
        self.start: State = frozenset([expression])
        self.steps: dict[State, list[State]] = {}
        pending = [self.start]
        while pending:
            state = pending.pop()
            if state not in self.steps:
                self.steps[state] = [self._step(state, token) for token in tokens]
                pending += self.steps[state]
        self.distance: dict[State, int] = {state: 0 for state in self.steps if self.is_accepting(state)}
        fringe = list(self.distance)
        while fringe:
            known = set(self.distance)
            fringe = [state for state in self.steps if state not in known and not known.isdisjoint(self.steps[state])]
            for state in fringe:
                self.distance[state] = 1 + min(self.distance[after] for after in self.steps[state] if after in known)

    @staticmethod
    def _step(state: State, token: str) -> State:
        for letter in token:
            state = frozenset(rest for expression in state for rest in derive(expression, letter))
        return state

    @staticmethod
    def is_accepting(state: State) -> bool:
        """Whether the text may end here."""
        return any(is_nullable(expression) for expression in state)

    def allowed(self, state: State, tokens_left: int | None = None) -> list[int]:
        """Return the tokens after which the text can be ended, with the tokens left if there is a budget."""
        return [
            token
            for token, after in enumerate(self.steps[state])
            if after in self.distance and (tokens_left is None or self.distance[after] < tokens_left)
        ]
