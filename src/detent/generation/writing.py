"""generate and stream: arguments checked, the languages compiled, and the writing left to `Stream`.

Without a language the same loop runs under the guide of all byte strings, which leaves out only ids that are no text
(special and padding ids), so the text is always what the model wrote and never the spelling of a control token. Where
words are banned or a string ends the text, bytes must be characters: then it is the guide of all text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detent.errors import ArgumentError, EmptyLanguageError
from detent.generation.bans import BanMode, Bans, read_bans
from detent.generation.draft import Draft
from detent.generation.finder import Finder
from detent.generation.output import Output
from detent.generation.reader import Reader
from detent.generation.sampler import Sampler, whole_number
from detent.generation.streaming import Stream
from detent.guide import Guide, compile
from detent.language import Language
from detent.models.base import Model
from detent.sources.nodes import EVERYTHING, TEXT

__all__ = ["generate", "stream"]


def generate(
    model: Model,
    prompt: str | Sequence[int],
    language: Language | Guide | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    seed: int | None = None,
    stop: str | Sequence[str] | None = None,
    ban: Sequence[str | bytes] | None = None,
    ban_mode: BanMode = "rewind",
    ban_ignore_case: bool = False,
    ban_whole_words: bool = False,
    ban_across_prompt: bool = False,
    ban_retries: int = 64,
) -> Output:
    """Continue `prompt` with text of `language`.

    >>> import detent
    >>> model = detent.load_model()
    >>> out = detent.generate(model, "When? ", detent.regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), seed=0)
    >>> len(out.text), out.finish_reason
    (10, 'stop')

    At most one forward pass of the model a token: one that is the only one allowed is written without asking the model,
    and a run of them enters its cache in one pass. A `Language` is compiled for the model's vocabulary at each call;
    pass a `Guide` (`detent.compile`) to pay for that once.

    Parameters
    ----------
    model : Model
        `detent.load_model()`, `detent.models.Transformers`, `detent.models.CallableModel`, or what has their methods.
    prompt : str or sequence of int
        Text, or token ids as the model's `encode` would give them.
    language : Language, Guide or None
        What may be written. None: any text that ids of the vocabulary spell; special ids other than end-of-text never.
    max_tokens : int
        The most tokens to write, end-of-text not counted. A text of a language is complete by then: a token is written
        only if the rest fits into the tokens left.
    temperature, top_k, top_p, min_p, seed
        See `Sampler`.
    stop : str or sequence of str, optional
        The text ends before the first of these; only without a language, which says itself where its texts end.
    ban : sequence of str or bytes, optional
        Words that the text must not have anywhere, however tokens spell them, alone or inside a longer word.
    ban_mode : "rewind" or "mask"
        "rewind": when a banned word is complete, return to the token in which it began, ban that token at that place,
        and go on, so that the model says something else. "mask": never write a token that completes one; cheaper to
        follow, but the model may find itself in the middle of a word that it cannot end. Neither lets a word through.
    ban_ignore_case, ban_whole_words : bool
        As `detent.containing` has them.
    ban_across_prompt : bool
        Also find words that begin in the prompt's text (after its last special token) and end in this one.
    ban_retries : int
        After this many rewinds the rest of the text is masked; `Report.masked_from` says where.

    Raises
    ------
    ArgumentError
        An argument is of the wrong kind or out of range, or the guide is of another vocabulary.
    ModelError
        The model gives NaN, too many or too few logits, or -inf for everything that the language allows.
    LimitError
        The language has no text of at most `max_tokens` tokens, or none without banned words; the message has the
        shortest.
    EmptyLanguageError, ...
        What `compile` raises for the language.
    """
    pieces = stream(
        model,
        prompt,
        language,
        max_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        seed=seed,
        stop=stop,
        ban=ban,
        ban_mode=ban_mode,
        ban_ignore_case=ban_ignore_case,
        ban_whole_words=ban_whole_words,
        ban_across_prompt=ban_across_prompt,
        ban_retries=ban_retries,
    )
    for _ in pieces:
        pass
    return pieces.output


def stream(
    model: Model,
    prompt: str | Sequence[int],
    language: Language | Guide | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    seed: int | None = None,
    stop: str | Sequence[str] | None = None,
    ban: Sequence[str | bytes] | None = None,
    ban_mode: BanMode = "rewind",
    ban_ignore_case: bool = False,
    ban_whole_words: bool = False,
    ban_across_prompt: bool = False,
    ban_retries: int = 64,
) -> Stream:
    """Continue `prompt` with text of `language`, piece by piece as it is written.

    >>> import detent
    >>> pieces = detent.stream(detent.load_model(), "Yes or no? ", detent.regex("yes|no"), seed=0)
    >>> "".join(pieces) in ("yes", "no")
    True

    Arguments and errors are those of `generate`, and so is the text: the pieces joined are its `Output.text`. A
    piece is one or more whole characters. The arguments are checked and the language compiled here; the model runs
    while iterating.
    """
    sampler = Sampler(temperature, top_k, top_p, seed, min_p)
    max_tokens = whole_number("max_tokens", max_tokens, least=1)
    if not isinstance(model, Model):
        raise ArgumentError(
            f"model must have vocabulary, encode and start, got {type(model).__name__}; wrap a transformers model in "
            "detent.models.Transformers(model, tokenizer), a function in CallableModel(function, vocabulary)"
        )
    bans = read_bans(ban, ban_mode, ban_ignore_case, ban_whole_words, ban_across_prompt, ban_retries)
    stops = _stops(stop, language)
    prompt_ids = _prompt_ids(prompt, model)
    guide = _guide(language, model, in_text=bans is not None or stops is not None)
    draft = _draft(guide, bans, stops, _text_before(model, prompt_ids), max_tokens)
    return Stream(
        model.vocabulary,
        Reader(model, prompt_ids),
        draft,
        sampler,
        max_tokens,
        len(prompt_ids),
        guide.language.value,
    )


def _draft(guide: Guide, bans: Bans | None, stops: Finder | None, prompt: bytes, max_tokens: int) -> Draft:
    if bans is None:
        return Draft(guide, None, None, stops, prompt, max_tokens)
    try:
        safe = compile(bans.keep_out_of(guide.language, prompt, stops), guide.vocabulary)
    except EmptyLanguageError:
        raise EmptyLanguageError(
            f"Every text of {guide.language!r} has one of the banned words, so there is nothing to write; ban fewer"
        ) from None
    if bans.mode == "rewind":
        return Draft(guide, safe, bans, stops, prompt, max_tokens)
    draft = Draft(safe, None, None, stops, prompt, max_tokens)
    draft.masked_from = 0
    return draft


def _stops(stop: str | Sequence[str] | None, language: Language | Guide | None) -> Finder | None:
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
    return Finder(strings, "stop") if strings else None


def _text_before(model: Model, prompt_ids: Sequence[int]) -> bytes:
    """Return the text of the prompt after its last special token."""
    special = model.vocabulary.special_token_ids
    last = max((place for place, token_id in enumerate(prompt_ids) if token_id in special), default=-1)
    return model.vocabulary.decode(prompt_ids[last + 1 :])


def _guide(language: Language | Guide | None, model: Model, *, in_text: bool) -> Guide:
    if language is None:
        language = Language(TEXT, "text") if in_text else Language(EVERYTHING, "any bytes")
    if isinstance(language, Language):
        return compile(language, model.vocabulary)
    if not isinstance(language, Guide):
        raise ArgumentError(
            f"language must be a Language, a Guide or None, got {type(language).__name__}; write detent.regex(pattern)"
        )
    if language.vocabulary is not model.vocabulary and language.vocabulary.fingerprint != model.vocabulary.fingerprint:
        raise ArgumentError(
            f"The guide is for {language.vocabulary!r} but the model has {model.vocabulary!r}; "
            "compile it with detent.compile(language, model.vocabulary)"
        )
    return language


def _prompt_ids(prompt: str | Sequence[int], model: Model) -> list[int]:
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
