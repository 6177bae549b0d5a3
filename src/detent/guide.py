"""Guide: a language lifted to a vocabulary; `compile` makes one, `Guide.matcher` starts sequences in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, final, overload

import numpy as np

from detent import _core
from detent.errors import ArgumentError, LimitError, UnsupportedError
from detent.language import Language
from detent.limits import Limits
from detent.matcher import Matcher
from detent.sources.nodes import ANY_BYTES, WHITE_SPACE, concat, union
from detent.tables.automaton import UserDfa
from detent.tables.explore import explore
from detent.tables.product import hold_to, intersect
from detent.tables.rule import UNRESTRICTED, TokenConstraint
from detent.tables.table import MAX_BYTES, MAX_STATES, TokenDfa
from detent.vocabulary import Vocabulary
from detent.vocabulary.loaded_tokens import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CancellationToken", "Guide", "Rule", "compile"]


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
class Guide:
    """A language over a vocabulary's tokens: immutable, shared by any number of matchers and threads.

    States of the automaton are built when decoding first visits them, and kept.
    """

    __slots__ = ("__weakref__", "_canonical", "_core", "_language", "_vocabulary")

    def __init__(
        self, core: _core.Guide, language: Language, vocabulary: Vocabulary, *, canonical: Canonical = False
    ) -> None:
        self._canonical = canonical
        self._core = core
        self._language = language
        self._vocabulary = vocabulary

    @property
    def language(self) -> Language:
        """The language that the guide was compiled from."""
        return self._language

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the guide was compiled for."""
        return self._vocabulary

    @property
    def canonical(self) -> Canonical:
        """Whether only the tokenizer's own rows of tokens are allowed; "approximate" if that is not exact."""
        return self._canonical

    @property
    def state_count(self) -> int:
        """States built so far; `Limits.states` bounds it."""
        return self._core.state_count

    @property
    def memory_bytes(self) -> int:
        """Bytes of expressions and rows held so far; `Limits.memory_bytes` bounds it."""
        return self._core.memory_bytes

    def matcher(
        self,
        max_tokens: int | None = None,
        *,
        count_eos: bool = False,
        headroom: int = 0,
        prompt_tokens: Sequence[int] = (),
    ) -> Matcher:
        """Start a sequence: a matcher before the first token.

        Parameters
        ----------
        max_tokens : int, optional
            The text is complete when this many tokens are spent: a token is allowed only if the rest can be written in
            the tokens left, and every token for which it can be is allowed. Costs nothing until the limit nears.
            With a canonical guide, or a recursive language, a token is refused too if no end is *known* to fit.
        count_eos : bool
            Whether the host counts the end-of-text token among `max_tokens`.
        headroom : int
            Close the text this many tokens before `max_tokens`, or as early as the shortest text lets it.
        prompt_tokens : sequence of int
            The prompt's tokens, or the last of them. A canonical guide then allows what continues them as the tokenizer
            would write both together; other guides need no prompt. What counts is what stands behind the last special
            token, and behind the last place where the prompt itself is not as the tokenizer would write it.

        Raises
        ------
        LimitError
            No text of the language is that short; the message has the shortest, or the shortest known.
        EmptyLanguageError
            No text of the language continues `prompt_tokens` as the tokenizer would write both.
        """
        prompt = [self._vocabulary._check_id(token) for token in prompt_tokens]
        if max_tokens is None:
            if count_eos or headroom:
                raise ArgumentError("count_eos and headroom say how max_tokens is spent; pass max_tokens too")
            return self._start(None, prompt)
        if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or not 0 <= max_tokens < 1 << 32:
            raise ArgumentError(f"max_tokens must be an integer from 0 to 2**32 - 1, got {max_tokens!r}")
        if not isinstance(headroom, int) or isinstance(headroom, bool) or headroom < 0:
            raise ArgumentError(f"headroom must be an integer from 0 on, got {headroom!r}")
        text_tokens = min(max_tokens - count_eos, (1 << 32) - 2)
        if text_tokens >= 0 and self._completes_within(text_tokens, prompt):
            planned = text_tokens - headroom
            if headroom and not (planned >= 0 and self._completes_within(planned, prompt)):
                planned = len(self._shortest(prompt))
            return self._start(planned, prompt)
        shortest = self._shortest(prompt)
        text = b"".join(self._vocabulary.token_bytes(token_id) for token_id in shortest)
        count = f"{len(shortest)} token{'' if len(shortest) == 1 else 's'}{' and end-of-text' if count_eos else ''}"
        raise LimitError(
            f"max_tokens={max_tokens} is too few: the shortest {'known ' * bool(self._canonical)}text of "
            f"{self._language!r} is {_shown(text)}, {count}; raise max_tokens to at least {len(shortest) + count_eos}",
            subject="max_tokens",
            limit=max_tokens,
            given=len(shortest) + count_eos,
        )

    def _completes_within(self, tokens: int, prompt: list[int]) -> bool:
        if not self._canonical:
            return self._core.completes_within(tokens)
        try:
            self._start(tokens, prompt)
        except LimitError:
            return False
        return True

    def _shortest(self, prompt: list[int]) -> list[int]:
        return self._start(None, prompt).completion() if self._canonical else self._core.shortest()

    def to_table(self, *, max_states: int = MAX_STATES, max_bytes: int = MAX_BYTES) -> TokenDfa:
        """Return the guide as a table, for decoding loops that stay on a device.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> detent.compile(detent.regex("(ab)+"), vocabulary).to_table()
        TokenDfa(5 states, 5 token classes, 5 masks, 176 bytes)

        Parameters
        ----------
        max_states : int
            Bound on the states that tokens lead to, before those are merged from which the same can follow.
        max_bytes : int
            Bound on the arrays.

        Raises
        ------
        LimitError
            The states do not end below `max_states` (those of a recursive grammar never do), or the arrays would take
            more than `max_bytes`; nothing of them is allocated.

        Notes
        -----
        Visits all states: a walk over the vocabulary's trie each, up to a few milliseconds. Those of a canonical guide
        are told apart by the last token too: there may be thousands before they are merged.
        """
        moves = explore(self._core, max_states, max_bytes)
        return TokenDfa(moves, self._vocabulary, [self._language], max_bytes=max_bytes)

    def __and__(self, table: TokenDfa) -> TokenDfa:
        """What both allow, as a table; see `detent.tables.product.intersect`."""
        if not isinstance(table, TokenDfa):
            return NotImplemented
        if table.vocabulary is not self._vocabulary and table.vocabulary.fingerprint != self._vocabulary.fingerprint:
            raise ArgumentError("the guide and the table are for different vocabularies; make them for the same one")
        return self._hold(table, MAX_STATES, MAX_BYTES)

    __rand__ = __and__

    def _hold(self, table: TokenDfa, max_states: int, max_bytes: int) -> TokenDfa:
        if self._canonical:
            vocabulary = self._vocabulary
            known = vocabulary.special_token_ids if self._language._node.has_special else set(vocabulary.eos_token_ids)
            for token_id in np.flatnonzero(table.token_class != 0).tolist():
                if token_id not in known and not vocabulary.decode([token_id]):
                    raise ArgumentError(
                        f"the table allows token {token_id}, which has no text, so the tokenizer writes no text with "
                        "it; leave it out, or canonical"
                    )
        return hold_to(table, self._core, self._language, max_states=max_states, max_bytes=max_bytes)

    def _start(self, text_tokens: int | None, prompt: list[int]) -> Matcher:
        matcher = Matcher(self._core, text_tokens, prompt)
        matcher.guide = self
        return matcher

    def __repr__(self) -> str:
        return f"Guide({self._language!r}, {self._vocabulary!r})"


def _shown(text: bytes) -> str:
    decoded = text.decode("utf-8", "backslashreplace")
    return repr(decoded if len(decoded) <= 80 else decoded[:79] + "…")


#: What `canonical` may be.
Canonical: TypeAlias = bool | Literal["approximate"]

#: What text may be held to: what `compile` takes, and what it gives.
Rule: TypeAlias = Language | UserDfa | TokenConstraint | Guide | TokenDfa


@overload
def compile(
    language: Language,
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


@overload
def compile(
    language: UserDfa,
    vocabulary: Vocabulary,
    *,
    canonical: Canonical = False,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> Guide | TokenDfa: ...


def compile(
    language: Language | UserDfa | TokenConstraint,
    vocabulary: Vocabulary,
    *,
    canonical: Canonical = False,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> Guide | TokenDfa:
    """Lift a language to a vocabulary's tokens.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> guide = detent.compile(detent.regex("ab+"), vocabulary)
    >>> matcher = guide.matcher()
    >>> [vocabulary.token_bytes(i) for i in matcher.allowed()]
    [b'a', b'ab']

    Parameters
    ----------
    language : Language, UserDfa or TokenConstraint
        What the text must be, from its first byte to its last; or which tokens may be written.
    vocabulary : Vocabulary
        The model's tokens.
    canonical : bool or "approximate"
        Allow only the tokens that the tokenizer itself would write: a token is allowed exactly when the sequence so far
        with it begins ``vocabulary.encode_canonical(text)`` for some text of the language. After a prompt's tokens
        (``Guide.matcher(prompt_tokens=...)``), the two are encoded together. Each text between special tokens is
        encoded by itself.
        "approximate" is the same where that can be exact, and comes near it for other tokenizers.
    limits : Limits, optional
        Bounds on what the guide may cost; `Limits()` by default.
    cancel : CancellationToken, optional
        Set it from another thread to stop.

    Returns
    -------
    Guide
        Shared by threads. Compiling builds the first state only; the GIL is released. A `token_table` over tokens,
        alone or narrowed by languages, becomes a `TokenDfa` with all its states, within the `states` of `limits`
        (4096 if none are given).

    Raises
    ------
    EmptyLanguageError
        No text satisfies the rule, or the vocabulary's tokens cannot write one.
    VocabularyError
        The rule asks for a special token that the vocabulary does not have.
    UnsupportedError
        With `canonical`: the vocabulary's tokenizer cannot be followed, or not exactly and that is not "approximate";
        or it finds a special token that the rule asks for only as a word of its own.
    LimitError
        A limit was reached.
    CancelledError
        `cancel` was set.
    """
    check_canonical(canonical)
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(f"compile needs a detent.Vocabulary, got {type(vocabulary).__name__}")
    if isinstance(language, UserDfa):
        language = TokenConstraint((language,), None) if language.over == "tokens" else language.language()
    if isinstance(language, TokenConstraint):
        return _compile_tokens(language, vocabulary, canonical, limits, cancel)
    if not isinstance(language, Language):
        raise ArgumentError(f"compile needs a Language (such as detent.regex(...)), got {type(language).__name__}")
    bounds = limits or Limits()
    steps = _token_steps(vocabulary, canonical, language._node) if canonical else None
    node, core_vocabulary = vocabulary._for_language(language._node)
    core = _core.Guide(
        _as_tokenized(node, vocabulary) if canonical else node,
        core_vocabulary,
        bounds.states,
        bounds.memory_bytes,
        bounds.work,
        cancel._flag if cancel else None,
        steps,
    )
    if canonical and vocabulary._require_core_encoder().exact:
        canonical = True
    return Guide(core, language, vocabulary, canonical=canonical)


def _compile_tokens(
    rule: TokenConstraint,
    vocabulary: Vocabulary,
    canonical: Canonical,
    limits: Limits | None,
    cancel: CancellationToken | None,
) -> TokenDfa:
    max_bytes = min((limits or Limits()).memory_bytes, (1 << 31) - 1)
    max_states = MAX_STATES if limits is None else limits.states
    table, *others = [automaton.table(vocabulary, max_bytes=max_bytes) for automaton in rule.automata]
    for other in others:
        table = intersect(table, other, max_states=max_states, max_bytes=max_bytes)
    language = rule.language
    if language is None:
        if not canonical:
            return table
        language = UNRESTRICTED
    guide = compile(language, vocabulary, canonical=canonical, limits=limits, cancel=cancel)
    return guide._hold(table, max_states, max_bytes)


def _token_steps(vocabulary: Vocabulary, canonical: Canonical, node: _core.Node) -> _core.PretokenTransitions:
    try:
        tokenizer, steps = vocabulary._require_core_encoder(), vocabulary._token_steps(with_special=node.has_special)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"canonical={canonical!r} cannot be: {str(error).rstrip('.')}. Without it, masks allow every row of "
            "tokens that spells a text, the tokenizer's own among them"
        ) from None
    if canonical is True and not tokenizer.exact:
        reason = tokenizer.differs or tokenizer.undecided
        raise UnsupportedError(
            f'canonical=True is exact or refused: {reason.rstrip(".")}. canonical="approximate" comes near it; without '
            "canonical, masks allow every row of tokens that spells a text"
        )
    return steps


def check_canonical(canonical: object) -> None:
    """Raise `ArgumentError` for what is not a `Canonical`."""
    if not isinstance(canonical, bool) and not (isinstance(canonical, str) and canonical == "approximate"):
        raise ArgumentError(f'canonical must be True, False or "approximate", got {shown(canonical)}')


def _as_tokenized(node: _core.Node, vocabulary: Vocabulary) -> _core.Node:
    """Leave out what the tokenizer finds before it splits and merges, and would read in another way."""
    tokenizer = vocabulary._require_core_encoder()
    if not node.has_special:
        found = [_core.literal(text.encode()) for text in tokenizer.literals]
        return _without(node, found, ANY_BYTES)
    special = vocabulary._special_tokens()
    names = {text: _core.special(text.encode()) for text in (*tokenizer.strip_before, *tokenizer.strip_after)}
    around = special.rows()

    def has_one(words: tuple[str, ...]) -> bool:
        return special.has_row(node, concat(around, union(*(_core.special(word.encode()) for word in words)), around))

    words = tokenizer.words
    if words and has_one(words):
        while len(words) > 1:  # there may be thousands
            half = words[: len(words) // 2]
            words = half if has_one(half) else words[len(half) :]
        raise UnsupportedError(
            f"canonical tokens cannot be told: the tokenizer finds {words[0]} only where it is a word of its own. "
            "Without canonical, masks allow every row of tokens that spells a text, the tokenizer's own among them"
        )
    found = [_core.literal(text.encode()) for text in tokenizer.literals]
    found += [concat(WHITE_SPACE, names[text]) for text in tokenizer.strip_before]
    found += [concat(names[text], WHITE_SPACE) for text in tokenizer.strip_after]
    return _without(node, found, around)


def _without(node: _core.Node, parts: list[_core.Node], around: _core.Node) -> _core.Node:
    return _core.intersection([node, _core.complement(concat(around, union(*parts), around))]) if parts else node
