"""Request and Plan: what is to be written, and the same with its arguments checked and its languages compiled.

Without a language it is the guide of all byte strings, which leaves out only ids that are no text (special and padding
ids), so the text is always what the model wrote and never the spelling of a control token. Where words are banned, a
string ends the text, or tokens are to be canonical, bytes must be characters: then it is the guide of all text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from detent.errors import ArgumentError, EmptyLanguageError
from detent.generation.aho_corasick import AhoCorasick
from detent.generation.bans import BanMode, Bans, read_bans
from detent.generation.decode_loop import Stream
from detent.generation.logits_cache import LogitsCache
from detent.generation.sampler import Sampler, whole_number
from detent.generation.token_buffer import TokenBuffer
from detent.guide import Canonical, Guide, Rule, check_canonical, compile
from detent.language import Language
from detent.matcher import Matcher
from detent.models.base import Model
from detent.sources.nodes import ANY_BYTES, UTF8
from detent.tables import TableMatcher, TokenConstraint, TokenDfa, UserDfa

__all__ = [
    "Plan",
    "Request",
    "begin",
    "check_model",
    "guide_without_bans",
    "read_prompt",
    "resolve_guide",
    "text_before",
]

_KEPT = 8  # bans a guide
_lock = Lock()
_left: WeakKeyDictionary[Guide | TokenDfa, OrderedDict[Hashable, Guide | TokenDfa]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Request:
    """What `generate_batch` is to write: a prompt, and the arguments of `generate` for it.

    >>> Request("When?", max_tokens=8, samples=3, seed=1).samples
    3

    Parameters
    ----------
    prompt, language, canonical, max_tokens, temperature, top_k, top_p, min_p, seed, stop
        As in `generate`.
    samples : int
        How many texts; the i-th has the seed ``seed + i``.
    ban, ban_mode, ban_ignore_case, ban_whole_words, ban_across_prompt, ban_retries
        As in `generate`.
    """

    prompt: str | Sequence[int]
    language: Rule | None = None
    samples: int = 1
    canonical: Canonical = False
    max_tokens: int = 256
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    ban: Sequence[str | bytes] | None = None
    ban_mode: BanMode = "rewind"
    ban_ignore_case: bool = False
    ban_whole_words: bool = False
    ban_across_prompt: bool = False
    ban_retries: int = 64


class Plan:
    """A request, ready to be written any number of times.

    Parameters
    ----------
    model : Model
        What writes it.
    request : Request
        What to write.
    guide : Guide or TokenDfa, optional
        The request's language, compiled already.
    """

    def __init__(self, model: Model, request: Request, guide: Guide | TokenDfa | None = None) -> None:
        self.request = request
        self._model = model
        self._sampler(0)
        whole_number("samples", request.samples, least=0)
        self._max_tokens = whole_number("max_tokens", request.max_tokens, least=1)
        check_model(model)
        self._bans = read_bans(
            request.ban,
            request.ban_mode,
            request.ban_ignore_case,
            request.ban_whole_words,
            request.ban_across_prompt,
            request.ban_retries,
        )
        self._stops = _stops(request.stop, request.language)
        self.prompt_ids = read_prompt(request.prompt, model)
        self._before = text_before(model, self.prompt_ids)
        in_text = self._bans is not None or self._stops is not None
        self.guide = guide or resolve_guide(request.language, model, in_text=in_text, canonical=request.canonical)
        self._safe = (
            None if self._bans is None else guide_without_bans(self._bans, self.guide, self._before, self._stops)
        )
        self._draft()  # a budget that is too small is told before anything is written

    def stream(self, sample: int = 0, cache: LogitsCache | None = None) -> Stream:
        """Begin to write the text of a sample."""
        return Stream(
            self._model.vocabulary,
            cache or LogitsCache(self._model, self.prompt_ids),
            self._draft(),
            self._sampler(sample),
            self._max_tokens,
            len(self.prompt_ids),
            self.guide.language.value,
        )

    def _sampler(self, sample: int) -> Sampler:
        request = self.request
        seed = None if request.seed is None else whole_number("seed", request.seed, least=0) + sample
        return Sampler(request.temperature, request.top_k, request.top_p, seed, request.min_p)

    def _draft(self) -> TokenBuffer:
        matcher, safe = begin(self.guide, self._max_tokens, self.prompt_ids), None
        if self._safe is not None:
            safe = begin(self._safe, self._max_tokens, self.prompt_ids)
        if self._bans is None or safe is None:
            return TokenBuffer(self._model.vocabulary, matcher, None, None, self._stops)
        if self._bans.mode == "rewind":
            return TokenBuffer(self._model.vocabulary, matcher, safe, (self._bans, self._before), self._stops)
        draft = TokenBuffer(self._model.vocabulary, safe, None, None, self._stops)
        draft.masked_from = 0
        return draft


def check_model(model: object) -> None:
    """Raise unless it is a model."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"model must have vocabulary, encode and start, got {type(model).__name__}; wrap a transformers model in "
            "detent.models.Transformers(model, tokenizer), a function in CallableModel(function, vocabulary)"
        )


def _stops(stop: str | Sequence[str] | None, language: Rule | None) -> AhoCorasick | None:
    strings = [stop] if isinstance(stop, str) else stop
    if strings is None:
        return None
    if not isinstance(strings, Sequence) or not all(isinstance(string, str) for string in strings):
        raise ArgumentError(f"stop must be a string or a list of strings, got {stop!r}")
    if strings and language is not None:
        raise ArgumentError(
            "stop cuts a text off, so it would not be one of the language; leave stop out, and write the language such "
            'that its texts end there: (detent.text() & detent.without("\\n")) for the text of one line'
        )
    return AhoCorasick(strings, "stop") if strings else None


def guide_without_bans(
    bans: Bans, guide: Guide | TokenDfa, before: bytes, stops: AhoCorasick | None = None
) -> Guide | TokenDfa:
    """Return what is left of a guide or table without the banned words; the same one for the last few bans of it."""
    key = bans.key(before, stops)
    with _lock:
        kept = _left.setdefault(guide, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
    language = bans.excluding(guide.language, before, stops)
    try:
        left = (
            guide & language
            if isinstance(guide, TokenDfa)
            else compile(language, guide.vocabulary, canonical=guide.canonical)
        )
    except EmptyLanguageError:
        raise EmptyLanguageError(
            f"Every text of {guide.language!r} has one of the banned words, so there is nothing to write; ban fewer"
        ) from None
    with _lock:
        kept[key] = left
        if len(kept) > _KEPT:
            kept.popitem(last=False)
    return left


def begin(guide: Guide | TokenDfa, max_tokens: int, prompt_ids: Sequence[int]) -> Matcher | TableMatcher:
    """Return a matcher; that of a canonical guide continues the prompt as the tokenizer would."""
    if isinstance(guide, Guide) and guide.canonical:
        return guide.matcher(max_tokens, prompt_tokens=prompt_ids)
    return guide.matcher(max_tokens)


def text_before(model: Model, prompt_ids: Sequence[int]) -> bytes:
    """Return the text of the prompt after its last special token."""
    special = model.vocabulary.special_token_ids
    last = max((place for place, token_id in enumerate(prompt_ids) if token_id in special), default=-1)
    return model.vocabulary.decode(prompt_ids[last + 1 :])


def resolve_guide(language: Rule | None, model: Model, *, in_text: bool, canonical: Canonical) -> Guide | TokenDfa:
    """Return the guide or table of a language for a model; that of any text or bytes for None."""
    check_canonical(canonical)
    if language is None:
        language = Language(UTF8, "text") if in_text or canonical else Language(ANY_BYTES, "any bytes")
    if isinstance(language, (Language, UserDfa, TokenConstraint)):
        return compile(language, model.vocabulary, canonical=canonical)
    if not isinstance(language, (Guide, TokenDfa)):
        raise ArgumentError(
            f"language must be a Language, what detent.compile makes of one, or None, got {type(language).__name__}; "
            "write detent.regex(pattern)"
        )
    if language.vocabulary is not model.vocabulary and language.vocabulary.fingerprint != model.vocabulary.fingerprint:
        raise ArgumentError(
            f"{language!r} is for {language.vocabulary!r} but the model has {model.vocabulary!r}; "
            "compile it with detent.compile(language, model.vocabulary)"
        )
    if canonical and not (isinstance(language, Guide) and language.canonical in (True, canonical)):
        raise ArgumentError(
            f"canonical={canonical!r} says how a language is to be compiled, and {language!r} is compiled already; "
            f"write detent.compile(language, model.vocabulary, canonical={canonical!r})"
        )
    return language


def read_prompt(prompt: str | Sequence[int], model: Model) -> list[int]:
    """Return the token ids of a prompt."""
    if isinstance(prompt, str):
        try:
            prompt.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"The prompt has a lone surrogate at character {error.start}, which is not text"
            ) from None
        return list(model.encode(prompt))
    if isinstance(prompt, (bytes, bytearray)) or not isinstance(prompt, (Sequence, np.ndarray)):
        raise ArgumentError(f"prompt must be a str or a sequence of token ids, got {type(prompt).__name__}")
    ids = [whole_number("each token id of the prompt", token_id, least=0) for token_id in prompt]
    if ids and max(ids) >= len(model.vocabulary):
        raise ArgumentError(
            f"The prompt has token id {max(ids)}, but the model's vocabulary has {len(model.vocabulary)}"
        )
    return ids
