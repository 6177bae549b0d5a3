"""ConstraintCompiler: compiles the rules of requests for host engines such as vLLM, with one cache for all requests.

An adapter translates its engine's calls into a `Constraint` and an `EngineMatcher` (`engine_matcher`). Everything else
is here: which rules there are, the cache of compiled rules, and compilations in threads beside the engine's loop, which
can be stopped.
"""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from detent.compiler import CancellationToken, compile
from detent.errors import ArgumentError
from detent.generation.bans import Ban, Words, banned_words
from detent.generation.request import compile_by_default
from detent.guide import Canonical, Guide, check_canonical
from detent.integrations.request_rule import RequestRule
from detent.language import Language
from detent.limits import Limits
from detent.rule import AnyRule, read_rule
from detent.single_flight import Pending, SingleFlight
from detent.sources.nodes import UTF8
from detent.vocabulary import Vocabulary

__all__ = ["Constraint", "ConstraintCompiler"]

_RULES = 256
_CACHE_BYTES = 1 << 30
_THREADS = 4


@dataclass(frozen=True, eq=False)
class _Identity:
    """An object that is equal to itself alone, and that lives as long as its key."""

    item: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.item is self.item

    def __hash__(self) -> int:
        return id(self.item)


@dataclass(frozen=True, eq=False)
class Constraint:
    """The rule of the text of one request, with the words that are banned from it.

    >>> import detent
    >>> Constraint(detent.json_value(), ban=["null"]).canonical is None
    True

    Parameters
    ----------
    rule : RequestRule, Language, Guide, type, dict, list or None
        A rule as a request writes it (`RequestRule.of`), or what `detent.compile` takes. None: any text.
    ban : sequence of words, or Ban
        The text contains none of them, as in `detent.generate`. They are kept out by masks: a host that can rewind may
        do so by itself (`detent.Ban`).
    canonical : bool or "approximate", optional
        As in `detent.compile`; None: yes, if the tokenizer can be followed exactly.
    """

    rule: RequestRule | AnyRule | None
    ban: Words | Ban = ()
    canonical: Canonical | None = None

    def __post_init__(self) -> None:
        if self.canonical is not None:
            check_canonical(self.canonical)
        banned_words(self.ban, None)

    def key(self) -> Hashable:
        """Return a key: equal for equal content and options; a rule that is no `RequestRule` equals itself alone."""
        rule = self.rule if isinstance(self.rule, RequestRule) else _Identity(self.rule)
        ban = self.ban if isinstance(self.ban, Ban) else Ban(self.ban)
        words = tuple(ban.words), ban.ignore_case, ban.whole_words
        return rule, words, self.canonical

    def compile(
        self, vocabulary: Vocabulary, limits: Limits | None = None, cancel: CancellationToken | None = None
    ) -> Guide:
        """Return the guide of the texts for a vocabulary.

        Raises
        ------
        DetentError
            As `detent.compile` does, and for a `RequestRule` as its source does.
        """
        bans = banned_words(self.ban, None)
        given = self.rule.language() if isinstance(self.rule, RequestRule) else self.rule
        if isinstance(given, Guide):
            if given.vocabulary.fingerprint != vocabulary.fingerprint:
                raise ArgumentError(f"{given!r} is for another vocabulary than that of the engine, {vocabulary!r}")
            if bans is None:
                return given
            return given._restricted_to(bans.excluding(given.language, b"", None))
        rule = Language(UTF8, "text") if given is None else read_rule(given, "Constraint")
        if bans is None:
            return compile_by_default(rule, vocabulary, self.canonical, limits, cancel)
        if isinstance(rule, Language):
            return compile_by_default(bans.excluding(rule, b"", None), vocabulary, self.canonical, limits, cancel)
        guide = compile(rule, vocabulary, limits=limits, cancel=cancel)
        return guide._restricted_to(bans.excluding(guide.language, b"", None))


class ConstraintCompiler:
    """Compiles the constraints of an engine's requests for one vocabulary, each once.

    Threads share it. A constraint that several requests ask for at once is compiled once; one that nobody waits for any
    more is not compiled to its end.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> with ConstraintCompiler(vocabulary) as compiler:
    ...     guides = [compiler.compile(Constraint(RequestRule.of("regex", "a+"))) for _ in range(2)]
    >>> guides[0] is guides[1]
    True

    Parameters
    ----------
    vocabulary : Vocabulary
        The tokens of the engine's model.
    size : int
        How many guides are kept.
    cache_bytes : int
        The memory that the kept guides may take together. The last one is kept in any case.
    limits : Limits, optional
        Bounds on each constraint.
    threads : int
        How many constraints are compiled at a time.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        size: int = _RULES,
        cache_bytes: int = _CACHE_BYTES,
        limits: Limits | None = None,
        threads: int = _THREADS,
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(f"vocabulary must be a detent.Vocabulary, got {type(vocabulary).__name__}")
        self.vocabulary = vocabulary
        self._limits = limits
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="detent-compile")
        self._cache: SingleFlight[Guide] = SingleFlight(
            size, self._executor, lambda guide: guide.memory_bytes, cache_bytes
        )

    def submit(self, constraint: Constraint) -> Pending[Guide]:
        """Have a constraint compiled on a thread. `Pending.cancel` stops that, if nobody else waits for it."""
        cancel = CancellationToken()
        return self._cache.submit(constraint.key(), lambda: self._compile(constraint, cancel), cancel.cancel)

    def compile(self, constraint: Constraint) -> Guide:
        """Return the guide of a constraint, compiled on a thread unless it is known."""
        return self.submit(constraint).result()

    async def compile_async(self, constraint: Constraint) -> Guide:
        """Return the guide of a constraint beside the event loop; cancelling the task stops the compiling."""
        cancel = CancellationToken()
        return await self._cache.get(constraint.key(), lambda: self._compile(constraint, cancel), cancel.cancel)

    def close(self) -> None:
        """Stop the threads; what is being compiled is left to end."""
        self._cache.close()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> ConstraintCompiler:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _compile(self, constraint: Constraint, cancel: CancellationToken) -> Guide:
        return constraint.compile(self.vocabulary, self._limits, cancel)
