"""`compile`: lifts a language to the tokens of a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final, overload

import numpy as np

from detent import _core
from detent.costly_rule import costly_rule
from detent.errors import ArgumentError, CancelledError, EmptyLanguageError, LimitError, UnsupportedError
from detent.guide import Canonical, Guide, Ints, check_canonical
from detent.language import Language
from detent.limits import Limits, read_limits
from detent.mismatch import explain_empty
from detent.rule import AnyRule, read_rule
from detent.sources.nodes import ANY_BYTES, WHITE_SPACE, concat, short_repr, union
from detent.suggestions import suggests_names
from detent.tables.explore import explore
from detent.tables.product import intersect, intersect_guide
from detent.tables.token_constraint import UNRESTRICTED, TokenConstraint
from detent.tables.token_dfa import MAX_BYTES, MAX_STATES, TokenDfa
from detent.tables.user_dfa import UserDfa
from detent.vocabulary import Vocabulary
from detent.vocabulary.core_tables import CoreTables

__all__ = ["CancellationToken", "LanguageGuide", "compile"]


@final
class CancellationToken:
    """A wish to stop that any thread may set; the core looks at it every few thousand steps.

    >>> import detent
    >>> stop = detent.CancellationToken()
    >>> stop.cancel()
    >>> stop.is_cancelled
    True
    """

    __slots__ = ("_flag",)

    def __init__(self) -> None:
        self._flag = _core.CancelFlag()

    def cancel(self) -> None:
        """Ask every call that was given this object to raise `CancelledError`."""
        self._flag.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._flag.is_set()


@final
class LanguageGuide(Guide):
    """A language over a vocabulary's tokens.

    Its states are built when decoding first visits them, and kept until they fill half of what the limits allow.
    """

    __slots__ = ("_core",)

    def __init__(
        self,
        machine: _core.TokenMachine,
        language: Language,
        vocabulary: Vocabulary,
        *,
        canonical: Canonical = False,
    ) -> None:
        super().__init__(language, vocabulary, canonical=canonical)
        self._core = machine

    def _machine(self) -> _core.TokenMachine:
        return self._core

    def to_table(self, *, max_states: int = MAX_STATES, max_bytes: int = MAX_BYTES) -> TokenDfa:  # noqa: D102
        dfa = explore(self._core, max_states, max_bytes)
        return TokenDfa(dfa, self._vocabulary, [self._language], canonical=self._canonical, max_bytes=max_bytes)

    def __and__(self, table: TokenDfa) -> TokenDfa:
        """Return the table of what both allow; see `detent.tables.product.intersect`."""
        if not isinstance(table, TokenDfa):
            return NotImplemented
        if table.vocabulary is not self._vocabulary and table.vocabulary.fingerprint != self._vocabulary.fingerprint:
            raise ArgumentError("the guide and the table are for different vocabularies; make them for the same one")
        return self._intersect(table, MAX_STATES, MAX_BYTES)

    __rand__ = __and__

    def _restricted_to(self, language: Language) -> Guide:
        return compile(language, self._vocabulary, canonical=self._canonical)

    def _saved(self) -> tuple[Sequence[Language], dict[str, Ints]]:
        return [self._language], {}

    def _intersect(self, table: TokenDfa, max_states: int, max_bytes: int) -> TokenDfa:
        if self._canonical:
            vocabulary = self._vocabulary
            known = vocabulary.special_token_ids if self._language._node.has_special else set(vocabulary.eos_token_ids)
            for token_id in np.flatnonzero(table.token_class != 0).tolist():
                if token_id not in known and not vocabulary.decode([token_id]):
                    raise ArgumentError(
                        f"the table allows token {token_id}, which has no text, so the tokenizer writes no text with "
                        "it; leave it out, or canonical"
                    )
        return intersect_guide(
            table, self._core, self._language, canonical=self._canonical, max_states=max_states, max_bytes=max_bytes
        )

    def __repr__(self) -> str:
        return f"Guide({self._language!r}, {self._vocabulary!r})"


@overload
def compile(
    language: Language[Any] | UserDfa | type | dict[str, Any] | list[Any] | tuple[Any, ...],
    vocabulary: Vocabulary,
    *,
    canonical: Canonical = False,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> Guide: ...


@overload
def compile(
    language: TokenConstraint,
    vocabulary: Vocabulary,
    *,
    canonical: Canonical = False,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> TokenDfa: ...


@suggests_names
def compile(
    language: AnyRule,
    vocabulary: Vocabulary,
    *,
    canonical: Canonical = False,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> Guide:
    """Lift a language to a vocabulary's tokens.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> guide = detent.compile(detent.regex("ab+"), vocabulary)
    >>> matcher = guide.matcher()
    >>> [vocabulary.token_bytes(i) for i in matcher.allowed()]
    [b'a', b'ab']

    Parameters
    ----------
    language : Language, UserDfa, TokenConstraint, type, dict or list
        What the text must be, from its first byte to its last; or which tokens may be written. A type or a dict is read
        by `json_schema`, a list of texts by `choice`.
    vocabulary : Vocabulary
        The model's tokens.
    canonical : bool or "approximate"
        Allow only the tokens that the tokenizer itself would write. A token is allowed exactly when the sequence so far
        with it begins ``vocabulary.encode_canonical(text)`` for some text of the language. After a prompt's tokens
        (``Guide.matcher(prompt_tokens=...)``), the two are encoded together. Each text between special tokens is
        encoded by itself. "approximate" is the same where that can be exact, and comes near it for other tokenizers.
    limits : Limits, optional
        Bounds on what the guide may cost; `Limits()` by default.
    cancel : CancellationToken, optional
        Set it from another thread to stop.

    Returns
    -------
    Guide
        Shared by threads. Compiling builds the first state only; the GIL is released. A `token_table` over tokens,
        alone or narrowed by languages, becomes a `TokenDfa`. This is a guide with all its states, within the `states`
        of `limits` (4096 if none are given).

    Raises
    ------
    EmptyLanguageError
        No text satisfies the rule, or the vocabulary's tokens cannot write one.
    VocabularyError
        The rule asks for a special token that the vocabulary does not have.
    UnsupportedError
        With ``canonical=True``, the vocabulary's tokenizer cannot be followed exactly; with "approximate", not at all.
        Or the tokenizer finds a special token of the rule only as a separate word.
    LimitError
        A limit was reached.
    CancelledError
        `cancel` was set.
    """
    check_canonical(canonical)
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(
            f"compile needs a detent.Vocabulary as its second argument, got {short_repr(vocabulary)} "
            f"({type(vocabulary).__name__}); write detent.Vocabulary.from_file(path) or model.vocabulary"
        )
    if cancel is not None and not isinstance(cancel, CancellationToken):
        raise ArgumentError(f"compile needs a detent.CancellationToken as cancel, got {type(cancel).__name__}")
    if cancel is not None and cancel.is_cancelled:
        raise CancelledError("cancelled by the caller")
    rule = read_rule(language, "compile")
    if isinstance(rule, UserDfa):
        rule = TokenConstraint((rule,), None) if rule.over == "tokens" else rule.language()
    if isinstance(rule, TokenConstraint):
        return _compile_tokens(rule, vocabulary, canonical, limits, cancel)
    return _compile_language(rule, vocabulary, canonical, limits, cancel)


def _compile_language(
    language: Language,
    vocabulary: Vocabulary,
    canonical: Canonical,
    limits: Limits | None,
    cancel: CancellationToken | None,
) -> LanguageGuide:
    bounds = read_limits(limits)
    costs = (bounds.states, bounds.memory_bytes, bounds.work, cancel._flag if cancel else None)
    tables = _tagged_tables(vocabulary, canonical, language) if canonical else vocabulary._tables
    token_steps = _token_steps(tables, canonical, language._node) if canonical else None
    try:
        node, core_vocabulary = tables.for_language(language._node)
    except LimitError as error:
        raise costly_rule(language, error) from None

    def make_machine() -> _core.TokenMachine:
        if token_steps is not None:
            part = _part_with_budget(language, tables)
            return _core.CanonicalMachine(_as_tokenized(node, tables), core_vocabulary, token_steps, *costs, *part)
        machine = _core.LanguageMachine(node, core_vocabulary, *costs)
        if not (part := _part_with_budget(language, tables)):
            return machine
        node_of_part, tokens = part
        return _core.PartBudgetMachine(machine, node_of_part, tokens, *costs)

    if token_steps is not None and tables.encoder.exact:
        canonical = True
    try:
        return LanguageGuide(make_machine(), language, vocabulary, canonical=canonical)
    except EmptyLanguageError as error:
        raise _explained(error, language) from None
    except LimitError as error:
        raise costly_rule(language, error) from None


def _explained(error: EmptyLanguageError, language: Language) -> EmptyLanguageError:
    """Return the error that names the parts of a language without texts; the same if only the vocabulary lacks them."""
    try:
        return explain_empty(language) if language.is_empty() else error
    except LimitError:  # the explanation would visit too many states
        return error


def _part_with_budget(language: Language, tables: CoreTables) -> tuple[Any, ...]:
    """Return the first part of a language that has a token budget of its own, and this budget; or nothing."""
    if not language._part_budgets:
        return ()
    if len(language._part_budgets) > 1:
        raise ArgumentError(f"{language!r} has two budgets for its first part; combine languages with one of them")
    part, tokens = language._part_budgets[0]
    return tables.for_language(part)[0], tokens


def _compile_tokens(
    rule: TokenConstraint,
    vocabulary: Vocabulary,
    canonical: Canonical,
    limits: Limits | None,
    cancel: CancellationToken | None,
) -> TokenDfa:
    max_bytes = min(read_limits(limits).memory_bytes, (1 << 31) - 1)
    max_states = MAX_STATES if limits is None else limits.states
    table, *others = [automaton.table(vocabulary, max_bytes=max_bytes) for automaton in rule.automata]
    for other in others:
        table = intersect(table, other, max_states=max_states, max_bytes=max_bytes)
    language = rule.language
    if language is None:
        if not canonical:
            return table
        language = UNRESTRICTED
    guide = _compile_language(language, vocabulary, canonical, limits, cancel)
    return guide._intersect(table, max_states, max_bytes)


def _tagged_tables(vocabulary: Vocabulary, canonical: Canonical, language: Language) -> CoreTables:
    """Return the tables in which the tags of a turn that are added tokens are special tokens."""
    tags = language._origin.letter_tags
    try:
        return vocabulary._tables.with_tags(tags) if tags else vocabulary._tables
    except UnsupportedError as error:
        raise _not_canonical(canonical, error) from None


def _not_canonical(canonical: Canonical, error: UnsupportedError) -> UnsupportedError:
    return UnsupportedError(
        f"canonical={canonical!r} cannot be: {str(error).rstrip('.')}. Without it, masks allow every token sequence "
        "that joins to a text, the tokenizer's own among them"
    )


def _token_steps(tables: CoreTables, canonical: Canonical, node: _core.Node) -> _core.PretokenTransitions:
    try:
        tokenizer, steps = tables.encoder, tables.steps(with_special=node.has_special)
    except UnsupportedError as error:
        raise _not_canonical(canonical, error) from None
    if canonical is True and not tokenizer.exact:
        reason = tokenizer.differs or tokenizer.undecided
        raise UnsupportedError(
            f'canonical=True is exact or refused: {reason.rstrip(".")}. canonical="approximate" comes near it; without '
            "canonical, masks allow every token sequence of a text"
        )
    return steps


def _as_tokenized(node: _core.Node, tables: CoreTables) -> _core.Node:
    """Leave out what the tokenizer finds before it splits and merges, and would read in another way."""
    tokenizer = tables.encoder
    if not node.has_special:
        found = [_core.literal(text.encode()) for text in tokenizer.literals]
        return _without(node, found, ANY_BYTES)
    special = tables.special_tokens
    names = {text: _core.special(text.encode()) for text in (*tokenizer.strip_before, *tokenizer.strip_after)}
    around = special.sequences()

    def has_one(words: tuple[str, ...]) -> bool:
        return special.intersects(
            node, concat(around, union(*(_core.special(word.encode()) for word in words)), around)
        )

    words = tokenizer.words
    if words and has_one(words):
        while len(words) > 1:  # there may be thousands
            half = words[: len(words) // 2]
            words = half if has_one(half) else words[len(half) :]
        raise UnsupportedError(
            f"canonical tokens cannot be told: the tokenizer finds {words[0]} only where it is a word of its own. "
            "Without canonical, masks allow every token sequence of a text, the tokenizer's own among them"
        )
    found = [_core.literal(text.encode()) for text in tokenizer.literals]
    found += [concat(WHITE_SPACE, names[text]) for text in tokenizer.strip_before]
    found += [concat(names[text], WHITE_SPACE) for text in tokenizer.strip_after]
    return _without(node, found, around)


def _without(node: _core.Node, parts: list[_core.Node], around: _core.Node) -> _core.Node:
    return _core.intersection([node, _core.complement(concat(around, union(*parts), around))]) if parts else node
