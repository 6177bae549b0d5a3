"""generate, stream and generate_batch: what people call; `plan` checks the arguments.

Each returns `Output`s. `generate` is `stream`, drained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from detent.errors import ArgumentError
from detent.generation.bans import BanMode
from detent.generation.batch import run_batch
from detent.generation.decode_loop import Stream
from detent.generation.output import Output
from detent.generation.partial_json import PartialStream
from detent.generation.request import Plan, Request, check_model
from detent.generation.sampler import whole_number
from detent.guide import Canonical, Guide, Rule
from detent.models.base import Model
from detent.tables import TokenDfa

__all__ = ["generate", "generate_batch", "stream"]


def generate(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule | None = None,
    *,
    canonical: Canonical = False,
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
    pass what `detent.compile` makes of it to pay for that once.

    Parameters
    ----------
    model : Model
        `detent.load_model()`, `detent.models.Transformers`, `detent.models.CallableModel`, or what has their methods.
    prompt : str or sequence of int
        Text, or token ids as the model's `encode` would give them.
    language : Language, token_table, Guide, TokenDfa or None
        What may be written. None: any text that ids of the vocabulary spell; special ids other than end-of-text never.
    canonical : bool or "approximate"
        Write only the tokens that the tokenizer itself would write for the prompt and the text, as `compile` has it. A
        text that is fixed is then fixed in its tokens, which are written without asking the model.
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
        canonical=canonical,
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


@overload
def stream(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule | None = None,
    *,
    canonical: Canonical = False,
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
    partial: Literal[False] = False,
) -> Stream: ...
@overload
def stream(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule | None = None,
    *,
    canonical: Canonical = False,
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
    partial: Literal[True],
) -> PartialStream: ...
@overload
def stream(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule | None = None,
    *,
    canonical: Canonical = False,
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
    partial: bool,
) -> Stream | PartialStream: ...
def stream(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule | None = None,
    *,
    canonical: Canonical = False,
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
    partial: bool = False,
) -> Stream | PartialStream:
    """Continue `prompt` with text of `language`, piece by piece as it is written.

    >>> import detent
    >>> pieces = detent.stream(detent.load_model(), "Yes or no? ", detent.regex("yes|no"), seed=0)
    >>> "".join(pieces) in ("yes", "no")
    True

    Arguments and errors are those of `generate`, and so is the text: the pieces joined are its `Output.text`. A
    piece is one or more whole characters. The arguments are checked and the language compiled here; the model runs
    while iterating. What a stream has yielded is never taken back.

    With ``partial=True``, for languages of JSON texts, what is yielded is the value of the text so far: strings and
    containers as far as they go, anything else when it is complete. Each value is the one before with something added.

    >>> pieces = detent.stream(detent.load_model(), "Go!", detent.literal('{"a": [1, 2]}'), partial=True, seed=0)
    >>> list(pieces)[-1]
    {'a': [1, 2]}
    """
    request = Request(
        prompt,
        language,
        canonical=canonical,
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
    pieces = Plan(model, request).stream()
    return PartialStream(pieces) if partial else pieces


def generate_batch(model: Model, requests: Sequence[Request], *, batch_size: int = 16) -> list[Output]:
    """Continue several prompts, each with a language, a budget, bans and a sampler of its own.

    >>> import detent
    >>> model = detent.load_model()
    >>> answer = detent.choice("Yes", "No")
    >>> questions = [detent.Request(f"Is a {thing} an animal?", answer, samples=2, seed=0) for thing in ("dog", "car")]
    >>> [out.text in ("Yes", "No") for out in detent.generate_batch(model, questions)]
    [True, True, True, True]

    A row is what `generate` writes for it, whatever the other rows are: sample i of a request has the seed
    ``seed + i``. The model reads all rows in one pass, if it can (`detent.models.BatchModel`: the embedded one, and
    those of transformers that keep every position); otherwise they are written one after the other. A row that ends
    makes room for the next. A prompt that several rows begin with is read once, and a language that several requests
    share is compiled once. A pass of several rows rounds otherwise than a pass of one, which can tip a choice between
    tokens that are nearly equal.

    Parameters
    ----------
    model : Model
        As in `generate`.
    requests : sequence of Request
        What to write. All are checked, and their languages compiled, before the first row.
    batch_size : int
        The most rows that the model reads together: each needs room for its keys and values.

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
    guides: dict[tuple[int, Canonical], Guide | TokenDfa] = {}
    plans = []
    for request in requests:
        language = id(request.language), request.canonical
        plans.append(Plan(model, request, guides.get(language)))
        if request.language is not None:
            guides[language] = plans[-1].guide
    return run_batch(model, [(plan, sample) for plan in plans for sample in range(plan.request.samples)], batch_size)
