"""The error for a rule that costs more than the limits allow: which part does, and what to write instead."""

from __future__ import annotations

from typing import Any

from detent import _core
from detent.errors import EmptyLanguageError, LimitError
from detent.language import Language
from detent.limits import Limits

__all__ = ["costly_compile"]

_MAX_SHOWN = 160
"""Characters of a part that a message shows."""

_MAX_DEPTH = 4
"""Operators above the part that a message names."""

_PROBE = Limits(work=100_000, states=20_000, memory_bytes=32 << 20)
"""The limits with which each operand is compiled, to find the one that costs most: some 20 milliseconds."""

_MAX_PROBES = 12

_SUBJECTS = {
    "compiled_states": "states",
    "compiled_bytes": "memory_bytes",
    "compiled_work": "work",
    "states": "states",
    "memory_bytes": "memory_bytes",
    "work": "work",
}
"""The field of `Limits` for each limit of the core that a rule may reach."""

_REMEDY = (
    "let less of it match at the same position: narrower classes instead of '.', smaller counts, fewer parts combined"
)


def costly_compile(language: Language[Any], error: LimitError) -> LimitError:
    """Return the error of a compilation that reached a limit, with the part that costs most; others as they are."""
    if error.subject not in _SUBJECTS:
        return error
    part = _costly_operand(language)
    return LimitError(
        f"{_shortened(part.description)}: {error}; {_REMEDY}",
        subject=_SUBJECTS[error.subject],
        limit=error.limit,
        given=error.given,
    )


def _costly_operand(language: Language[Any]) -> Language[Any]:
    """Return the innermost operand that reaches small limits by itself; the language if none of several does."""
    probes = 0
    for _ in range(_MAX_DEPTH):
        form = language._origin.form
        for each in form.operands() if form is not None else []:
            probes += 1
            if probes > _MAX_PROBES:
                return language
            if _reaches_limit(each):
                language = each
                break
        else:
            return language
    return language


def _reaches_limit(language: Language[Any]) -> bool:
    """Return whether the automaton of a language takes more than a probe may."""
    try:
        _core.Automaton(language._text_node(), _PROBE.states, _PROBE.memory_bytes, _PROBE.work)
    except LimitError:
        return True
    except EmptyLanguageError:
        pass
    return False


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
