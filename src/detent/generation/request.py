"""Request: a prompt and the arguments of `generate`. PreparedRequest: the same, checked and compiled for a model.

Without a language, any byte string may be written; only ids without text (special and padding ids) are excluded, so the
text never spells a control token. With bans, stop strings or canonical tokens, bytes must be characters: any text.
"""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from threading import Lock
from typing import TYPE_CHECKING, TypedDict
from weakref import WeakKeyDictionary

import numpy as np

from detent.compiler import Rule, compile
from detent.errors import ArgumentError, EmptyLanguageError
from detent.generation.aho_corasick import AhoCorasick
from detent.generation.bans import Ban, BanMode, BannedWords, Words, banned_words
from detent.generation.decode_loop import Stream
from detent.generation.logits_cache import LogitsCache
from detent.generation.sampler import Sampler, whole_number
from detent.generation.token_buffer import TokenBuffer, Watch
from detent.guide import Canonical, Guide, check_canonical
from detent.language import Language
from detent.matcher import Matcher
from detent.models.base import Model
from detent.sources.nodes import ANY_BYTES, UTF8
from detent.tables import TokenConstraint, UserDfa

if TYPE_CHECKING:
    pass

__all__ = [
    "Options",
    "PreparedRequest",
    "Request",
    "check_model",
    "guide_without_bans",
    "make_request",
    "resolve_guide",
    "start_matcher",
    "text_after_special",
    "token_ids_of",
]

_GUIDES_PER_LANGUAGE = 8
_lock = Lock()
_guides_without_bans: WeakKeyDictionary[Guide, OrderedDict[Hashable, Guide]] = WeakKeyDictionary()


class Options(TypedDict, total=False):
    """The keyword arguments of `generate`, `stream` and `Request`; the fields of `Request` describe them."""

    canonical: Canonical
    max_tokens: int
    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None
    ban: Words | Ban | None
    ban_mode: BanMode | None


@dataclass(frozen=True, eq=False)
class Request:
    """A prompt, a language, and the options of generation.

    >>> Request("When?", max_tokens=8, samples=3, seed=1).samples
    3

    Parameters
    ----------
    prompt : str or sequence of int
        Text, or token ids as the model's `encode` would give them.
    language : Language, token_table, Guide or None
        The texts that may be written. None: any text; special ids other than end-of-text never.
    samples : int
        How many texts `generate_batch` writes; the i-th has the seed ``seed + i``.
    canonical : bool or "approximate"
        Write only the tokens that the tokenizer itself would write for the prompt and the text; see `compile`. The
        tokens of a fixed text are then fixed too, and are written without a model call.
    max_tokens : int
        The most tokens to write, without end-of-text. A text of a language is complete by then: a token is written
        only if the rest fits into the tokens left.
    temperature, top_k, top_p, min_p, seed
        See `Sampler`.
    stop : str or sequence of str, optional
        The text ends before the first of these; only without a language, which defines the end of its texts.
    ban : sequence of str or bytes, or Ban, optional
        Words that the text must not contain, however tokens divide them, alone or inside a longer word.
    ban_mode : "rewind" or "mask", optional
        The `Ban.mode` of a list of words; "rewind" by default.
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
    ban: Words | Ban | None = None
    ban_mode: BanMode | None = None


_OPTIONS = [each.name for each in fields(Request)][3:]


def make_request(caller: str, prompt: str | Sequence[int], language: Rule | None, options: Options) -> Request:
    """Return the request of a call of `generate` or `stream`; raise TypeError for an unknown option."""
    for name in options:
        if name not in _OPTIONS:
            similar = difflib.get_close_matches(name, _OPTIONS, 1)
            hint = f"; did you mean {similar[0]!r}?" if similar else ""
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}{hint}")
    return Request(prompt, language, **options)


class PreparedRequest:
    """A request with its arguments checked and its languages compiled; it can be sampled any number of times.

    Parameters
    ----------
    model : Model
        The model that writes the text.
    request : Request
        The arguments.
    guide : Guide, optional
        The compiled language of the request, if it is known.
    """

    def __init__(self, model: Model, request: Request, guide: Guide | None = None) -> None:
        self.request = request
        self._model = model
        self._sampler(0)
        whole_number("samples", request.samples, least=0)
        self._max_tokens = whole_number("max_tokens", request.max_tokens, least=1)
        check_model(model)
        self._bans = banned_words(request.ban, request.ban_mode)
        self._stops = _stop_automaton(request.stop, request.language)
        self.prompt_ids = token_ids_of(request.prompt, model)
        self._prompt_text = text_after_special(model, self.prompt_ids)
        text_only = self._bans is not None or self._stops is not None
        self.guide = guide or resolve_guide(request.language, model, text_only=text_only, canonical=request.canonical)
        self._strict: Guide | None = None
        if self._bans is not None:
            self._strict = guide_without_bans(self._bans, self.guide, self._prompt_text, self._stops)
        self._token_buffer()  # raises for a budget that is too small, before anything is written

    def stream(self, sample: int = 0, logits_cache: LogitsCache | None = None) -> Stream:
        """Start the text of a sample."""
        return Stream(
            self._model.vocabulary,
            logits_cache or LogitsCache(self._model, self.prompt_ids),
            self._token_buffer(),
            self._sampler(sample),
            self._max_tokens,
            len(self.prompt_ids),
            self.guide.language.value,
        )

    def _sampler(self, sample: int) -> Sampler:
        request = self.request
        seed = None if request.seed is None else whole_number("seed", request.seed, least=0) + sample
        return Sampler(request.temperature, request.top_k, request.top_p, seed, request.min_p)

    def _token_buffer(self) -> TokenBuffer:
        matcher = start_matcher(self.guide, self._max_tokens, self.prompt_ids)
        if self._bans is None or self._strict is None:
            return TokenBuffer(self._model.vocabulary, matcher, None, self._stops)
        strict = start_matcher(self._strict, self._max_tokens, self.prompt_ids)
        if self._bans.mode == "rewind":
            watch = Watch(strict, self._bans.start(self._prompt_text), self._bans.max_rewinds)
            return TokenBuffer(self._model.vocabulary, matcher, watch, self._stops)
        buffer = TokenBuffer(self._model.vocabulary, strict, None, self._stops)
        buffer.masked_from = 0
        return buffer


def check_model(model: object) -> None:
    """Raise `ArgumentError` unless the object is a model."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"model must have vocabulary, encode and start, got {type(model).__name__}; wrap a transformers model in "
            "detent.models.Transformers(model, tokenizer), a function in CallableModel(function, vocabulary)"
        )


def _stop_automaton(stop: str | Sequence[str] | None, language: Rule | None) -> AhoCorasick | None:
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


def guide_without_bans(bans: BannedWords, guide: Guide, prompt: bytes, stops: AhoCorasick | None = None) -> Guide:
    """Return a guide without the texts that have a banned word. The last few results of each guide are cached."""
    key = bans.key(prompt, stops)
    with _lock:
        cached = _guides_without_bans.setdefault(guide, OrderedDict())
        if key in cached:
            cached.move_to_end(key)
            return cached[key]
    language = bans.excluding(guide.language, prompt, stops)
    try:
        strict = guide._restricted_to(language)
    except EmptyLanguageError:
        raise EmptyLanguageError(
            f"Every text of {guide.language!r} has one of the banned words, so there is nothing to write; ban fewer"
        ) from None
    with _lock:
        cached[key] = strict
        if len(cached) > _GUIDES_PER_LANGUAGE:
            cached.popitem(last=False)
    return strict


def start_matcher(guide: Guide, max_tokens: int, prompt_ids: Sequence[int]) -> Matcher:
    """Return a matcher with a budget; the matcher of a canonical guide continues the prompt's tokens."""
    return guide.matcher(max_tokens, prompt_tokens=prompt_ids if guide.canonical else ())


def text_after_special(model: Model, prompt_ids: Sequence[int]) -> bytes:
    """Return the text of the prompt after its last special token."""
    special = model.vocabulary.special_token_ids
    last = max((index for index, token_id in enumerate(prompt_ids) if token_id in special), default=-1)
    return model.vocabulary.decode(prompt_ids[last + 1 :])


def resolve_guide(language: Rule | None, model: Model, *, text_only: bool, canonical: Canonical) -> Guide:
    """Return the guide of a language for a model's vocabulary.

    Parameters
    ----------
    language : Language, token_table, Guide or None
        None: any text if `text_only` or `canonical`, else any bytes.
    model : Model
        A guide that is compiled already must be for its vocabulary.
    text_only : bool
        Whether the bytes must be UTF-8.
    canonical : bool or "approximate"
        As in `compile`.
    """
    check_canonical(canonical)
    if language is None:
        language = Language(UTF8, "text") if text_only or canonical else Language(ANY_BYTES, "any bytes")
    if isinstance(language, (Language, UserDfa, TokenConstraint)):
        return compile(language, model.vocabulary, canonical=canonical)
    if not isinstance(language, Guide):
        raise ArgumentError(
            f"language must be a Language, what detent.compile makes of one, or None, got {type(language).__name__}; "
            "write detent.regex(pattern)"
        )
    if language.vocabulary is not model.vocabulary and language.vocabulary.fingerprint != model.vocabulary.fingerprint:
        raise ArgumentError(
            f"{language!r} is for {language.vocabulary!r} but the model has {model.vocabulary!r}; "
            "compile it with detent.compile(language, model.vocabulary)"
        )
    if canonical and language.canonical not in (True, canonical):
        raise ArgumentError(
            f"canonical={canonical!r} is a choice of compile, and {language!r} is compiled already; "
            f"write detent.compile(language, model.vocabulary, canonical={canonical!r})"
        )
    return language


def token_ids_of(prompt: str | Sequence[int], model: Model) -> list[int]:
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
