"""Parser: the events of a text, from the state of a rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

from detent import _core
from detent.errors import ArgumentError, DetentError, StateError
from detent.expected import expected_after
from detent.language import Language
from detent.mismatch import Mismatch
from detent.partial_json import PartialJson
from detent.sources.calls.tags import TagsValue
from detent.sources.nodes import short_repr
from detent.turns.events import Event, Turn, TurnFinished
from detent.turns.graph import Graph
from detent.turns.late_values import PartialValue
from detent.turns.outline import Part
from detent.turns.reader import TurnReader
from detent.turns.tags_rule import TagsRule
from detent.turns.value import TurnValue, special_names
from detent.vocabulary import Vocabulary

__all__ = ["Parser", "trusted_parser"]


class Parser:
    r"""The events of a text that is fed in pieces; made by `Language.parser`.

    >>> import detent
    >>> def add(a: int, b: int): ...
    >>> parser = detent.turn(add, style="qwen3").parser()
    >>> for piece in ("<think>2 and ", "2</thi", 'nk>Sum: <tool_call>\n{"name": "add", "arguments": {"a": 2, "b"'):
    ...     for event in parser.feed(piece):
    ...         print(event)
    ThinkingDelta(text='2 and ')
    ThinkingDelta(text='2')
    TextDelta(text='Sum: ')
    CallStarted(index=0, name='add')
    ArgumentsDelta(index=0, text='{"a": 2, "b"', value={'a': 2})

    The events come from the state of the rule. Text that is not certain yet, such as the beginning of a tag, is held
    back. So the events of a text do not depend on how it is cut into pieces, except for the sizes of deltas.

    The text may come from elsewhere, such as a service that does not hold its model to the rule. Where it leaves the
    rule, the last event is a `TurnFinished` with the position and what was expected; its turn has all that was valid
    before. Further pieces have no events.

    Parameters
    ----------
    rule : Language
        The rule. A rule that is no turn is one answer.
    vocabulary : Vocabulary, optional
        Of the token ids that are fed. Without one, pieces are texts, in which tags are letters.

    Notes
    -----
    Cost: some microseconds for each byte where a tag may begin, less elsewhere. A rule that was combined with others
    (`&`, `-`) is followed beside.
    """

    def __init__(self, rule: Language[Any], vocabulary: Vocabulary | None = None, *, _is_trusted: bool = False) -> None:
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(f"a parser needs a Vocabulary or None, got {short_repr(vocabulary)}")
        value = rule.value
        known: TurnValue | TagsRule | _AnswerRule = _AnswerRule(rule)
        if isinstance(value, TurnValue):
            known = value
        elif isinstance(value, TagsValue):
            known = TagsRule(value)
        self._rule = rule
        self._vocabulary = vocabulary
        self._ends = frozenset() if vocabulary is None else frozenset(vocabulary.eos_token_ids)
        self._special = special_names(known.special_names, vocabulary)
        self._reader = TurnReader(known, self._special)
        self._restriction: _TextRestriction | _TokenRestriction | None = None
        is_wider = isinstance(value, TurnValue) and value.node != rule._node
        if not _is_trusted and (is_wider or isinstance(known, TagsRule)):
            self._restriction = _TextRestriction(rule) if vocabulary is None else _TokenRestriction(rule, vocabulary)
        self._text = bytearray()  # all that was fed; special tokens as their names
        self._has_left = False
        self._is_finished = False

    @property
    def turn(self) -> Turn:
        """The turn, as far as it is certain."""
        return self._reader.turn

    def feed(self, piece: str | bytes | SupportsIndex | Iterable[int]) -> list[Event]:
        """Append a piece of the text; return the events that became certain.

        Parameters
        ----------
        piece : str, bytes, int or iterable of int
            Text; bytes may end inside a character; or, with a vocabulary, token ids. An end-of-text id ends the turn.

        Raises
        ------
        StateError
            The turn was finished.
        ArgumentError
            The piece is neither text nor token ids, or token ids were fed without a vocabulary.
        VocabularyError
            A token id is none of the vocabulary. The tokens before it are read.
        """
        if self._is_finished:
            raise StateError("the turn is finished; make another parser for another text")
        if self._has_left:
            return []
        if isinstance(piece, str):
            piece = piece.encode(errors="surrogatepass")  # the text leaves the rule at a lone surrogate
        if isinstance(piece, (bytes, bytearray, memoryview)):
            return self._reader.events() if self._read_bytes(bytes(piece)) else self._leave()
        if self._vocabulary is None:
            raise ArgumentError("feed takes text, unless the parser has a vocabulary: rule.parser(vocabulary)")
        return self._feed_tokens(self._vocabulary, _token_ids(piece))

    def finish(self) -> list[Event]:
        """End the text; return the last events, of which `TurnFinished` is the last.

        After a text that left the rule there are none.
        """
        is_over, self._is_finished = self._is_finished or self._has_left, True
        if is_over:
            return []
        is_complete = self._reader.finish() and (self._restriction is None or self._restriction.is_accepting())
        found = self._reader.events()
        if is_complete:
            return [*found, TurnFinished("complete", self.turn)]
        return [*found, TurnFinished("incomplete", self.turn, None, self._mismatch())]

    def _read_bytes(self, data: bytes) -> bool:
        """Read bytes; return False where the text leaves the rule."""
        allowed = data if self._restriction is None else data[: self._restriction.feed(data)]
        self._text += data
        return self._reader.feed(allowed) and len(allowed) == len(data)

    def _feed_tokens(self, vocabulary: Vocabulary, token_ids: Iterable[Any]) -> list[Event]:
        """Read tokens; those between two special tokens are read as one text."""
        text, failure = bytearray(), None
        for token_id in token_ids:
            try:
                data = vocabulary.token_bytes(token_id)
            except DetentError as error:
                failure = error
                break
            if data and token_id not in vocabulary.special_token_ids:
                text += data
                continue
            if not self._read_bytes(bytes(text)) or not self._read_special(token_id, data):
                return self._leave()
            text.clear()
            if token_id in self._ends:
                return self.finish()
        if not self._read_bytes(bytes(text)):
            return self._leave()
        if failure is not None:
            raise failure
        return self._reader.events()

    def _read_special(self, token_id: int, data: bytes) -> bool:
        """Read a special token; return False where the text leaves the rule."""
        name = data.decode(errors="replace")
        if token_id in self._ends:
            if name in self._special:
                self._reader.feed_special(name)
            return True
        self._text += data
        is_allowed = self._restriction is None or self._restriction.feed_special(token_id)
        return is_allowed and self._reader.feed_special(name)

    def _leave(self) -> list[Event]:
        """Return the last events of a text that has left the rule."""
        found = self._reader.events()
        self._has_left = True
        return [*found, TurnFinished("mismatch", self.turn, self._reader.offset, self._mismatch())]

    def _mismatch(self) -> Mismatch:
        """Return the mismatch after the bytes that are read."""
        dfa = self._rule._dfa()
        data = bytes(self._text)
        position, state = dfa.longest_prefix(data[: self._reader.offset])
        before = data[:position].decode(errors="replace").rstrip("\ufffd")
        example = (data[:position] + dfa.some_completion(state)).decode(errors="replace") if state else None
        expected = expected_after(dfa, data[:position]) if state else "nothing at all (the rule has no text)"
        return Mismatch(
            data.decode(errors="replace"), len(before), expected, example, self._reader.part, repr(self._rule)
        )


def trusted_parser(rule: Language[Any], vocabulary: Vocabulary) -> Parser:
    """Return a parser of tokens that are known to be of the rule: it follows the parts alone."""
    return Parser(rule, vocabulary, _is_trusted=True)


def _token_ids(piece: object) -> Iterable[Any]:
    if hasattr(piece, "__index__") and not hasattr(piece, "__len__"):
        return (piece,)
    if not isinstance(piece, Iterable):
        raise ArgumentError(f"feed takes text, a token id or several token ids, got {short_repr(piece)}")
    return piece


class _TextRestriction:
    """Follows a text in the language of a rule that other languages were combined with."""

    def __init__(self, rule: Language[Any]) -> None:
        self._dfa = rule._dfa()
        self._state = self._dfa.start

    def feed(self, data: bytes) -> int:
        """Read bytes as far as they are allowed; return how many are."""
        for index, byte in enumerate(data):
            target = self._dfa.row(self._state)[self._dfa.class_of[byte]] if self._state else 0
            if not target:
                return index
            self._state = target
        return len(data)

    def feed_special(self, token_id: int) -> bool:
        """Raise `StateError`: without a vocabulary, there are no special tokens."""
        raise StateError(f"token id {token_id} needs a vocabulary")

    def is_accepting(self) -> bool:
        """Return whether the text may end here."""
        return self._dfa.is_accepting(self._state)


class _TokenRestriction:
    """Follows tokens in the language of a rule that other languages were combined with."""

    def __init__(self, rule: Language[Any], vocabulary: Vocabulary) -> None:
        self._matcher = _core.Matcher(rule._machine(vocabulary), None, [])
        self._ends = vocabulary.eos_token_ids

    def feed(self, data: bytes) -> int:
        """Read bytes as far as they are allowed; return how many are."""
        allowed = self._matcher._diagnose(data)[0]
        if allowed:
            self._matcher.advance_bytes(data[:allowed])
        return allowed

    def feed_special(self, token_id: int) -> bool:
        """Read a special token; return whether it is allowed."""
        if self._matcher._refusal(token_id) is not _core.Refusal.NONE:
            return False
        self._matcher.advance(token_id)
        return True

    def is_accepting(self) -> bool:
        """Return whether the text may end here."""
        if self._matcher.is_accepting:
            return True
        return any(self._matcher._refusal(token_id) is _core.Refusal.NONE for token_id in self._ends)


class _AnswerRule:
    """A rule that is no turn: its texts are answers."""

    names: tuple[str, ...] = ()
    special_names: tuple[str, ...] = ()

    def __init__(self, rule: Language[Any]) -> None:
        self.answer: Language[Any] | None = rule
        self._graph = Graph(Part("answer", rule._node))

    def graph(self, special: frozenset[str]) -> Graph:
        """See `TurnRule.graph`."""
        return self._graph

    def partial(self, function: int) -> PartialValue:
        """See `TurnRule.partial`: there are no calls."""
        return PartialJson()

    def call(self, function: int, text: str) -> Any:
        """See `TurnRule.call`: there are no calls."""
        raise StateError("the rule has no calls")
