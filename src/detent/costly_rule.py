"""The error for a rule that costs more than the limits allow: which part does, and what to write instead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from detent import _core
from detent.errors import EmptyLanguageError, LimitError
from detent.language import Language
from detent.limits import Limits
from detent.origin import Alternatives, HasParts, HasRemedy

__all__ = ["costly_rule"]

_MAX_SHOWN = 160
"""Characters of a part that a message shows."""

_PROBE = Limits(work=100_000, states=20_000, memory_bytes=32 << 20)
"""The limits with which each operand is compiled, to find the one that costs most: some 20 milliseconds."""

_MAX_PROBES = 24

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


def costly_rule(language: Language[Any], error: LimitError) -> LimitError:
    """Return the error of a rule that reached a limit, with the part that costs most; others as they are."""
    if error.subject not in _SUBJECTS:
        return error
    path, part = _costly_part(language)
    source = part._origin.source
    remedy = source.remedy() if isinstance(source, HasRemedy) else None
    return LimitError(
        f"{_named(path, part)}: {error}; {remedy or _REMEDY}",
        subject=_SUBJECTS[error.subject],
        limit=error.limit,
        given=error.given,
    )


def _costly_part(language: Language[Any]) -> tuple[str, Language[Any]]:
    """Return the innermost part that reaches small limits by itself; the whole if none of several does.

    Parts are searched breadth first. A part that reaches no limit is cheap at its beginning only, so its parts follow.
    """
    found, pending, probes = ("", language), deque([("", language)]), 0
    while pending:
        path, whole = pending.popleft()
        for name, part in _parts(whole):
            probes += 1
            if probes > _MAX_PROBES:
                return found
            inner = path + (name if name.startswith("/") else f" {name} "), part
            if _reaches_limit(part):
                found = inner
                pending.clear()
                pending.append(inner)
                break
            pending.append(inner)
    return found


def _parts(language: Language[Any]) -> Iterator[tuple[str, Language[Any]]]:
    form, source = language._origin.form, language._origin.source
    if form is not None:
        yield from (("", each) for each in form.operands())
    elif isinstance(source, Alternatives):
        yield from (("", each) for each in source.operands)
    elif isinstance(source, HasParts):
        yield from source.parts()


def _named(path: str, language: Language[Any]) -> str:
    described = _shortened(language.description)
    return f"{path.strip()} ({described})" if path.strip() else described


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
