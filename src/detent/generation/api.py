"""generate, stream and generate_batch: the functions that applications call.

`Request` has the one list of their options. `generate` is `stream`, read to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from detent.errors import ArgumentError, DetentError
from detent.generation.batch import run_batch
from detent.generation.decode_loop import Stream
from detent.generation.output import Output
from detent.generation.partial_captures import partial_value
from detent.generation.partial_stream import PartialStream
from detent.generation.request import Options, PreparedRequest, Prompt, Request, check_model, make_request
from detent.generation.sampler import whole_number
from detent.generation.signature import refuse_retries, with_options
from detent.guide import Canonical, Guide
from detent.language import Language
from detent.models.base import Model
from detent.rule import AnyRule
from detent.suggestions import suggests_names

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["generate", "generate_batch", "stream"]

_Value = TypeVar("_Value")


@overload
def generate(model: Model, prompt: Prompt, language: None = None, **options: Unpack[Options]) -> Output[str]: ...
@overload
def generate(
    model: Model, prompt: Prompt, language: Language[_Value] | type[_Value], **options: Unpack[Options]
) -> Output[_Value]: ...
@overload
def generate(
    model: Model, prompt: Prompt, language: list[_Value] | tuple[_Value, ...], **options: Unpack[Options]
) -> Output[_Value]: ...
@overload
def generate(model: Model, prompt: Prompt, language: AnyRule | None, **options: Unpack[Options]) -> Output[Any]: ...
@with_options
def generate(model: Model, prompt: Prompt, language: AnyRule | None = None, **options: Unpack[Options]) -> Output[Any]:
    """Continue `prompt` with a text of `language`.

    >>> import detent
    >>> model = detent.load_model()
    >>> out = detent.generate(model, "When? ", detent.regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), seed=0)
    >>> len(out.text), out.finish_reason
    (10, 'stop')

    Parameters
    ----------
    model : Model
        `detent.load_model()`, `detent.models.Transformers`, `detent.models.CallableModel`, or any object with their
        methods.
    prompt, language, **options
        See `Request`.

    Raises
    ------
    ArgumentError
        An argument is of the wrong kind or out of range, or the guide is for another vocabulary.
    ModelError
        The model gives NaN, too many or too few logits, or -inf for everything that the language allows.
    LimitError
        The language has no text of at most `max_tokens` tokens, or none without banned words; the message has the
        shortest.
    EmptyLanguageError, ...
        The errors of `compile`.

    Notes
    -----
    Cost: at most one pass of the model a token. A token that is the only one allowed costs no pass of its own, and a
    run of such tokens is read in one pass. A `Language` is compiled at each call; pass a `Guide` to compile once.
    """
    request = PreparedRequest(model, make_request("generate", prompt, language, options))
    return run_batch(model, [(request, 0)], 1)[0]


@overload
def stream(
    model: Model,
    prompt: Prompt,
    language: AnyRule | None = None,
    *,
    partial: Literal[False] = False,
    **options: Unpack[Options],
) -> Stream: ...
@overload
def stream(
    model: Model,
    prompt: Prompt,
    language: AnyRule | None = None,
    *,
    partial: Literal[True],
    **options: Unpack[Options],
) -> PartialStream: ...
@overload
def stream(
    model: Model,
    prompt: Prompt,
    language: AnyRule | None = None,
    *,
    partial: bool,
    **options: Unpack[Options],
) -> Stream | PartialStream: ...
@with_options
def stream(
    model: Model,
    prompt: Prompt,
    language: AnyRule | None = None,
    *,
    partial: bool = False,
    **options: Unpack[Options],
) -> Stream | PartialStream:
    """Continue `prompt` with a text of `language`, piece by piece.

    >>> import detent
    >>> pieces = detent.stream(detent.load_model(), "Yes or no? ", detent.regex("yes|no"), seed=0)
    >>> "".join(pieces) in ("yes", "no")
    True

    Arguments and errors are those of `generate`. The concatenated pieces are the text that `generate` returns. A piece
    is one or more whole characters; it is never taken back. Arguments are checked and the language is compiled at the
    call; the model runs during iteration.

    With ``partial=True``, for languages of JSON texts and languages with captures, the stream yields values. Each is
    the value of the text so far: strings and containers as far as they are written, other values when they are
    complete.

    >>> pieces = detent.stream(detent.load_model(), "Go!", detent.literal('{"a": [1, 2]}'), partial=True, seed=0)
    >>> list(pieces)[-1]
    {'a': [1, 2]}
    """
    refuse_retries(options)
    request = PreparedRequest(model, make_request("stream", prompt, language, options))
    pieces = request.stream()
    return PartialStream(pieces, partial_value(request.guide.language)) if partial else pieces


@suggests_names
def generate_batch(model: Model, requests: Sequence[Request], *, batch_size: int = 16) -> list[Output]:
    """Continue several prompts, each with its own language, budget, bans and sampling.

    >>> import detent
    >>> model = detent.load_model()
    >>> answer = detent.choice("Yes", "No")
    >>> questions = [detent.Request(f"Is a {thing} an animal?", answer, samples=2, seed=0) for thing in ("dog", "car")]
    >>> [out.text in ("Yes", "No") for out in detent.generate_batch(model, questions)]
    [True, True, True, True]

    Each text is the one that `generate` writes for the request, whatever the other requests are; sample i of a request
    has the seed ``seed + i``. The model reads all texts in one pass if it is a `detent.models.BatchModel`: the embedded
    model, and models of transformers that cache every position. Other models are asked for one text after the other. A
    text that is complete makes room for the next. A prompt of several texts is read once, and a language of several
    requests is compiled once. A pass of several texts rounds otherwise than a pass of one text, so a choice between
    nearly equal tokens may differ.

    Parameters
    ----------
    model : Model
        As in `generate`.
    requests : sequence of Request
        All are checked, and their languages compiled, before the first pass.
    batch_size : int
        The most texts that the model reads together: each needs memory for its keys and values.

    Returns
    -------
    list of Output
        The samples of the first request, then those of the second, and so on.

    Raises
    ------
    ArgumentError, ModelError, LimitError, EmptyLanguageError
        As in `generate`.
    """
    if not isinstance(requests, Sequence) or not all(isinstance(request, Request) for request in requests):
        raise ArgumentError("generate_batch needs a list of detent.Request(prompt, language, ...)")
    check_model(model)
    batch_size = whole_number("batch_size", batch_size, least=1)
    guides: dict[tuple[int, Canonical | None], Guide] = {}
    prepared = []
    for index, request in enumerate(requests):
        key = id(request.language), request.canonical
        try:
            prepared.append(PreparedRequest(model, request, guides.get(key)))
        except DetentError as error:
            raise error.prefixed(f"request {index}") from None
        if request.language is not None:
            guides[key] = prepared[-1].guide
    return run_batch(model, [(each, sample) for each in prepared for sample in range(each.request.samples)], batch_size)
