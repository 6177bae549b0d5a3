"""Request: a prompt and the arguments of `generate`. PreparedRequest: the same, checked and compiled for a model.

Without a language, any byte string may be written; only ids without text (special and padding ids) are excluded, so the
text never contains a control token. With bans, stop strings or canonical tokens, bytes must be characters: any text.
"""

from __future__ import annotations

import contextlib
import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Literal, TypeAlias, TypedDict, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from detent.compiler import CancellationToken, compile
from detent.errors import ArgumentError, DetentError, EmptyLanguageError, LimitError, UnsupportedError
from detent.generation.aho_corasick import AhoCorasick
from detent.generation.bans import Ban, BanMode, BannedWords, Words, banned_words
from detent.generation.decode_loop import Settings, Stream
from detent.generation.logits_cache import LogitsCache
from detent.generation.output import Output
from detent.generation.sampler import Sampler, whole_number
from detent.generation.token_buffer import TokenBuffer, Watch
from detent.guide import Canonical, Guide, check_canonical
from detent.language import Language
from detent.limits import Limits
from detent.matcher import Matcher
from detent.models.base import ChatModel, Model, context_of, temperature_of
from detent.models.chat import Chat, Message, check_text
from detent.rule import AnyRule, read_rule
from detent.sources.nodes import ANY_BYTES, UTF8
from detent.suggestions import suggests_arguments, unknown_keyword
from detent.tables import TokenConstraint, UserDfa
from detent.vocabulary import Vocabulary

__all__ = [
    "Options",
    "PreparedRequest",
    "Prompt",
    "Request",
    "check_model",
    "compile_by_default",
    "guide_without_bans",
    "make_request",
    "resolve_guide",
    "start_matcher",
    "text_after_special",
    "token_ids_of",
]

#: A prompt: text, token ids, a conversation, or its messages.
Prompt: TypeAlias = str | Sequence[int] | Sequence[Message] | Chat

_GUIDES_PER_LANGUAGE = 8
_lock = Lock()
_guides_without_bans: WeakKeyDictionary[Guide, OrderedDict[Hashable, Guide]] = WeakKeyDictionary()


class Options(TypedDict, total=False):
    """The keyword arguments of `generate`, `stream` and `Request`; the fields of `Request` describe them."""

    canonical: Canonical | None
    max_tokens: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None
    ban: Words | Ban | None
    ban_mode: BanMode | None
    retries: int
    alternatives: int
    logit_bias: Mapping[int, float] | None


@suggests_arguments
@dataclass(frozen=True, eq=False)
class Request:
    """A prompt, a language, and the options of generation.

    >>> Request("When?", max_tokens=8, samples=3, seed=1).samples
    3

    Parameters
    ----------
    prompt : str, sequence of int, Chat, or sequence of messages
        Text, token ids as the model's `encode` returns them, a `Chat`, or the messages of one:
        ``[{"role": "user", "content": "Hi"}]``, for a model with a chat template.
    language : Language, token_table, Guide, type, dict, list of str, or None
        The texts that may be written. A type or a dict is read by `json_schema`, a list by `choice`. None: any text;
        special ids other than end-of-text never.
    samples : int
        How many texts `generate_batch` writes; the i-th has the seed ``seed + i``.
    canonical : bool or "approximate", optional
        Write only the tokens that the tokenizer itself would write for the text; see `compile`. The tokens of a fixed
        text are then fixed too, and are written without a model call. None: yes, if there is a language without
        uniqueItems over many values, and the tokenizer can be followed exactly; the text is then tokenized by itself.
        True: yes or an error; the text is then tokenized after the prompt, so that both are what the tokenizer would
        write for the whole.
    max_tokens : int, optional
        The most tokens to write, without end-of-text. None: the context of the model. The budget is the smaller of
        `max_tokens` and the context without the prompt. A text of a language is complete by then: a token is written
        only if the rest fits into the budget.
    temperature : float, optional
        See `Sampler`. None: the temperature of the model's generation config if it has one, else 0.7.
    top_k, top_p, min_p, seed
        See `Sampler`.
    stop : str or sequence of str, optional
        The text ends before the first of these. Only without a language, which defines the end of its texts.
    ban : sequence of str, bytes or compiled pattern, or Ban, optional
        Words that the text must not contain, however tokens divide them, alone or inside a longer word, in this case of
        letters; ``Ban(words, ignore_case=True)`` bans all cases. Patterns must not match anywhere in the text.
    ban_mode : "rewind" or "mask", optional
        The `Ban.mode` of a list of words; "rewind" by default.
    retries : int
        How often the model is asked again if the conversion of the text to its value raises. The error is in the prompt
        then, if the model has a chat template; otherwise the seed changes. A stream has no retries.
    alternatives : int
        How many of the most likely tokens each `Step` of the report lists.
    logit_bias : mapping of int to float, optional
        What is added to the logits of token ids, before all else. The rule holds as ever: no bias allows a token that
        the mask excludes.
    """

    prompt: Prompt
    language: AnyRule | None = None
    samples: int = 1
    canonical: Canonical | None = None
    max_tokens: int | None = 256
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    ban: Words | Ban | None = None
    ban_mode: BanMode | None = None
    retries: int = 0
    alternatives: int = 0
    logit_bias: Mapping[int, float] | None = None


_OPTIONS = [each.name for each in fields(Request)][3:]

_IN_A_BATCH = "several texts are a batch: generate_batch(model, [detent.Request(prompt, samples=3)])"
_IN_THE_PROMPT = "it is a part of the prompt: detent.Chat(messages, system=..., tools=[...])"
_IN_THE_RULE = (
    "the rule comes after the prompt: detent.json_schema(...), detent.regex(...), a type or a list of choices"
)
_ELSEWHERE = {
    **dict.fromkeys(("samples", "n", "num_return_sequences"), _IN_A_BATCH),
    **dict.fromkeys(("messages", "system", "tools", "enable_thinking"), _IN_THE_PROMPT),
    **dict.fromkeys(
        "schema json_schema response_format response_model regex pattern grammar choices".split(), _IN_THE_RULE
    ),
    **dict.fromkeys(
        ("logprobs", "top_logprobs"), "out.log_probabilities has them, and alternatives=3 the likeliest tokens"
    ),
    **{
        name: f"it is an option of bans: ban=detent.Ban(words, {name}=...)"
        for name in ("across_prompt", "ignore_case", "max_rewinds", "whole_words")
    },
    "report": "each output has one: out.report",
    "tool_choice": "the calls are the rule: detent.calls([...], style=...)",
}
"""Options of other libraries, and how the same thing is said here."""


def make_request(caller: str, prompt: Prompt, language: AnyRule | None, options: Options) -> Request:
    """Return the request of a call of `generate` or `stream`; raise TypeError for an unknown option."""
    for name in options:
        if name not in _OPTIONS:
            if name in _ELSEWHERE:
                raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}; {_ELSEWHERE[name]}")
            raise unknown_keyword(caller, name, _OPTIONS)
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
    is_turn : bool
        Whether the text is read as a turn; then it is UTF-8 without a language too.
    """

    def __init__(self, model: Model, request: Request, guide: Guide | None = None, *, is_turn: bool = False) -> None:
        self.request = request
        self._model = model
        check_model(model)
        self._sampler(0)
        for name, least in (("samples", 1), ("retries", 0), ("alternatives", 0)):
            whole_number(name, getattr(request, name), least=least)
        _check_bias(request.logit_bias, len(model.vocabulary))
        self._bans = banned_words(request.ban, request.ban_mode)
        self._stops = _stop_automaton(request.stop, request.language)
        self.prompt_ids = token_ids_of(request.prompt, model)
        self._budget, self._budget_from = _budget(request.max_tokens, model, len(self.prompt_ids))
        self._prompt_text = text_after_special(model, self.prompt_ids)
        text_only, canonical = self._bans is not None or self._stops is not None, request.canonical
        if is_turn and not text_only and request.language is None and canonical is None:
            text_only, canonical = True, False
        self.guide = guide or resolve_guide(request.language, model, text_only=text_only, canonical=canonical)
        self._strict: Guide | None = None
        if self._bans is not None:
            self._strict = guide_without_bans(self._bans, self.guide, self._prompt_text, self._stops)
        self._token_buffer()  # raises for a budget that is too small, before anything is written

    def stream(self, sample: int = 0, logits_cache: LogitsCache | None = None, kind: type[Stream] = Stream) -> Stream:
        """Start the text of a sample, as a stream of some kind."""
        return kind(
            self._model.vocabulary,
            logits_cache or self.logits_cache(),
            self._token_buffer(),
            self._sampler(sample),
            Settings(
                budget=self._budget,
                budget_from=self._budget_from,
                canonical=self.guide.canonical,
                alternatives=self.request.alternatives,
                language=self.guide.language,
                start_unbounded=lambda is_strict: self._matcher(is_strict=is_strict, budget=None),
            ),
        )

    def logits_cache(self) -> LogitsCache:
        """Return the logits of a new session."""
        return LogitsCache(self._model, self.prompt_ids, self.request.logit_bias)

    def again(self, sample: int, output: Output, attempt: int) -> PreparedRequest | None:
        """Return the request of the next attempt, after an output without a value; None if it could not differ."""
        request, chat = self.request, _as_chat(self.request.prompt, self._model)
        seed, prompt = request.seed, request.prompt
        if seed is not None:
            seed = int(np.random.SeedSequence([seed + sample, attempt]).generate_state(1)[0])
        if chat is not None:
            with contextlib.suppress(DetentError):  # a template without answers, or too small a context
                prompt = chat.with_messages(
                    {"role": "assistant", "content": output.text},
                    {"role": "user", "content": f"This is not valid: {_reason(output.value_error)}\nAnswer again."},
                )
                return PreparedRequest(self._model, replace(request, prompt=prompt, seed=seed, samples=1), self.guide)
        if self._sampler(0).temperature == 0:
            return None
        return PreparedRequest(self._model, replace(request, seed=seed, samples=1), self.guide)

    def _sampler(self, sample: int) -> Sampler:
        request = self.request
        seed = None if request.seed is None else whole_number("seed", request.seed, least=0) + sample
        temperature = temperature_of(self._model) if request.temperature is None else request.temperature
        return Sampler(temperature, request.top_k, request.top_p, seed, request.min_p)

    def _matcher(self, *, is_strict: bool, budget: int | None) -> Matcher:
        guide = self._strict if is_strict else self.guide
        assert guide is not None  # noqa: S101 - there is a strict guide if there are bans
        # A canonical guide that was not asked for must not lose texts: the prompt's tokens would exclude some.
        is_explicit = self.request.canonical is not None or isinstance(self.request.language, Guide)
        return start_matcher(guide, budget, self.prompt_ids if is_explicit else ())

    def _token_buffer(self) -> TokenBuffer:
        try:
            matcher = self._matcher(is_strict=False, budget=self._budget)
            if self._bans is None:
                return TokenBuffer(self._model.vocabulary, matcher, None, self._stops)
            strict = self._matcher(is_strict=True, budget=self._budget)
        except LimitError as error:
            if self._budget_from == "max_tokens" or error.subject != "max_tokens":
                raise
            raise LimitError(
                f"the context of the model has {self._budget} tokens left after the prompt of {len(self.prompt_ids)}, "
                f"too few for the shortest text of the language, {error.given}; shorten the prompt",
                subject="context",
                limit=self._budget,
                given=error.given,
            ) from None
        if self._bans.mode == "rewind":
            watch = Watch(strict, self._bans.start(self._prompt_text), self._bans.max_rewinds)
            return TokenBuffer(self._model.vocabulary, matcher, watch, self._stops)
        buffer = TokenBuffer(self._model.vocabulary, strict, None, self._stops)
        buffer.masked_from = 0
        return buffer


def _budget(max_tokens: int | None, model: Model, prompt_length: int) -> tuple[int, Literal["max_tokens", "context"]]:
    """Return the most tokens of a text, and the option or property that bounds it."""
    context = context_of(model)
    if max_tokens is None and context is None:
        raise ArgumentError("max_tokens=None means the context of the model, but the model has none; pass max_tokens")
    if max_tokens is not None:
        max_tokens = whole_number("max_tokens", max_tokens, least=1)
    if context is None:
        return max_tokens or 1, "max_tokens"
    left = context - prompt_length
    if left < 1:
        raise LimitError(
            f"the prompt has {prompt_length} tokens, and the context of the model {context}, so no token can be "
            "written; shorten the prompt",
            subject="context",
            limit=context,
            given=prompt_length,
        )
    return (left, "context") if max_tokens is None or left < max_tokens else (max_tokens, "max_tokens")


def _check_bias(bias: object, width: int) -> None:
    if bias is None:
        return
    if not isinstance(bias, Mapping):
        raise ArgumentError(f"logit_bias must be a dict of token ids and numbers, got {type(bias).__name__}")
    for token_id, value in bias.items():
        if whole_number("each token id of logit_bias", token_id, least=0) >= width:
            raise ArgumentError(f"logit_bias has token id {token_id}, but the model's vocabulary has {width}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ArgumentError(f"logit_bias of token id {token_id} must be a finite number, got {value!r}")


def _reason(error: Exception | None) -> str:
    """Return the message of an error without the links to documentation that pydantic adds."""
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("For further information visit"))


def check_model(model: object) -> None:
    """Raise `ArgumentError` unless the object is a model."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"model must have vocabulary, encode and start, got {type(model).__name__}; wrap a transformers model in "
            "detent.models.Transformers(model, tokenizer), a function in CallableModel(function, vocabulary)"
        )


def _stop_automaton(stop: str | Sequence[str] | None, language: object) -> AhoCorasick | None:
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


def start_matcher(guide: Guide, max_tokens: int | None, prompt_ids: Sequence[int]) -> Matcher:
    """Return a matcher with a budget; the matcher of a canonical guide continues the prompt's tokens."""
    return guide.matcher(max_tokens, prompt_tokens=prompt_ids if guide.canonical else ())


def text_after_special(model: Model, prompt_ids: Sequence[int]) -> bytes:
    """Return the text of the prompt after its last special token."""
    special = model.vocabulary.special_token_ids
    last = max((index for index, token_id in enumerate(prompt_ids) if token_id in special), default=-1)
    return model.vocabulary.decode(prompt_ids[last + 1 :])


def resolve_guide(
    language: AnyRule | None,
    model: Model,
    *,
    text_only: bool,
    canonical: Canonical | None,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> Guide:
    """Return the guide of a language for a model's vocabulary.

    Parameters
    ----------
    language : Language, token_table, Guide, type, dict, list of str, or None
        None: any text if `text_only` or `canonical`, else any bytes.
    model : Model
        A guide that is compiled already must be for its vocabulary.
    text_only : bool
        Whether the bytes must be UTF-8.
    canonical : bool or "approximate", optional
        As in `compile`; None as in `Request`.
    limits, cancel : optional
        As in `compile`.
    """
    if canonical is not None:
        check_canonical(canonical)
    if isinstance(language, Guide):
        return _check_guide(language, model, canonical)
    is_free = language is None
    if language is None:
        language = Language(UTF8, "text") if text_only or canonical else Language(ANY_BYTES, "any bytes")
    if canonical is None and is_free and not text_only:
        canonical = False
    return compile_by_default(read_rule(language, "generate"), model.vocabulary, canonical, limits, cancel)


def compile_by_default(
    rule: Language | UserDfa | TokenConstraint,
    vocabulary: Vocabulary,
    canonical: Canonical | None = None,
    limits: Limits | None = None,
    cancel: CancellationToken | None = None,
) -> Guide:
    """Compile a rule; with ``canonical=None``, for canonical tokens if they can be followed exactly.

    Canonical tokens of unique items are known only without a budget, and texts are generated with one.
    """
    over_tokens = isinstance(rule, TokenConstraint) or (isinstance(rule, UserDfa) and rule.over == "tokens")
    has_unique_items = isinstance(rule, Language) and rule._node.has_distinct
    if canonical is None and not over_tokens and not has_unique_items:
        try:
            return compile(rule, vocabulary, canonical=True, limits=limits, cancel=cancel)
        except (UnsupportedError, EmptyLanguageError, LimitError):  # without canonical, it may be possible
            pass
    return compile(rule, vocabulary, canonical=canonical or False, limits=limits, cancel=cancel)


def _check_guide(guide: Guide, model: Model, canonical: Canonical | None) -> Guide:
    if guide.vocabulary is not model.vocabulary and guide.vocabulary.fingerprint != model.vocabulary.fingerprint:
        raise ArgumentError(
            f"{guide!r} is for {guide.vocabulary!r} but the model has {model.vocabulary!r}; "
            "compile it with detent.compile(language, model.vocabulary)"
        )
    if canonical and guide.canonical not in (True, canonical):
        raise ArgumentError(
            f"canonical={canonical!r} is a choice of compile, and {guide!r} is compiled already; "
            f"write detent.compile(language, model.vocabulary, canonical={canonical!r})"
        )
    return guide


def token_ids_of(prompt: Prompt, model: Model) -> list[int]:
    """Return the token ids of a prompt."""
    if isinstance(prompt, str):
        check_text(prompt)
        return list(model.encode(prompt))
    if isinstance(prompt, Chat) or _is_conversation(prompt):
        if not isinstance(model, ChatModel):
            raise ArgumentError("a conversation needs a model with encode_chat(chat); pass the prompt as a str")
        return list(model.encode_chat(Chat.of(prompt)))
    if isinstance(prompt, (bytes, bytearray)) or not isinstance(prompt, (Sequence, np.ndarray)):
        raise ArgumentError(
            f"prompt must be a str, a detent.Chat, a list of messages or of token ids, got {type(prompt).__name__}"
        )
    if len(prompt) > 0 and all(isinstance(each, str) for each in prompt):
        raise ArgumentError(
            "prompt is one text, got a list of texts; several are a batch: "
            "generate_batch(model, [detent.Request(prompt, language) for prompt in prompts])"
        )
    ids = [whole_number("each token id of the prompt", token_id, least=0) for token_id in prompt]
    if ids and max(ids) >= len(model.vocabulary):
        raise ArgumentError(
            f"the prompt has token id {max(ids)}, but the model's vocabulary has {len(model.vocabulary)}"
        )
    return ids


def _is_conversation(prompt: object) -> TypeGuard[Sequence[Message]]:
    return isinstance(prompt, (list, tuple)) and len(prompt) > 0 and isinstance(prompt[0], Mapping)


def _as_chat(prompt: Prompt, model: Model) -> Chat | None:
    """Return a prompt as a conversation, or None if the model reads it as a text."""
    if not isinstance(model, ChatModel) or isinstance(prompt, Chat):
        return prompt if isinstance(prompt, Chat) else None
    return Chat(prompt) if _is_conversation(prompt) or (isinstance(prompt, str) and model.chat) else None
