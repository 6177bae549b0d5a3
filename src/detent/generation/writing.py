"""generate and stream: arguments checked, the language compiled, and the writing left to `Stream`.

Without a language the same loop runs under the guide of all byte strings, which leaves out only ids that are no text
(special and padding ids), so the text is always what the model wrote and never the spelling of a control token.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detent import _core
from detent.errors import ArgumentError
from detent.generation.sampler import Sampler, whole_number
from detent.generation.streaming import Output, Stream
from detent.guide import Guide, compile
from detent.language import Language
from detent.models.base import Model

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
    seed: int | None = None,
) -> Output:
    """Continue `prompt` with text of `language`.

    >>> import detent
    >>> model = detent.load_model()
    >>> out = detent.generate(model, "When? ", detent.regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), seed=0)
    >>> len(out.text), out.finish_reason
    (10, 'stop')

    One forward pass of the model a token and one for the prompt. A `Language` is compiled for the model's vocabulary at
    each call; pass a `Guide` (`detent.compile`) to pay for that once.

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
    temperature, top_k, top_p, seed
        See `Sampler`.

    Raises
    ------
    ArgumentError
        An argument is of the wrong kind or out of range, or the guide is of another vocabulary.
    ModelError
        The model gives NaN, too many or too few logits, or -inf for everything that the language allows.
    LimitError
        The language has no text of at most `max_tokens` tokens; the message has the shortest.
    EmptyLanguageError, ...
        What `compile` raises for the language.
    """
    pieces = stream(
        model, prompt, language, max_tokens=max_tokens, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
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
    seed: int | None = None,
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
    sampler = Sampler(temperature, top_k, top_p, seed)
    max_tokens = whole_number("max_tokens", max_tokens, least=1)
    if not isinstance(model, Model):
        raise ArgumentError(
            f"model must have vocabulary, encode and start, got {type(model).__name__}; wrap a transformers model in "
            "detent.models.Transformers(model, tokenizer), a function in CallableModel(function, vocabulary)"
        )
    guide = _guide(language, model)
    return Stream(model, _prompt_ids(prompt, model), guide, sampler, max_tokens)


def _guide(language: Language | Guide | None, model: Model) -> Guide:
    if language is None:
        any_byte = _core.byte_set(bytes(range(256)))
        language = Language(_core.repeat(any_byte, 0, None), "any bytes")
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
