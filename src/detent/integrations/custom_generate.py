"""CustomGenerate: detent's decoding loop inside `model.generate` of transformers, as its `custom_generate`.

The loop reads forced tokens together and rewinds where a ban asks for it, which a logits processor cannot. It takes
what `generate` has prepared, and refuses settings that it would have to ignore.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from detent.errors import ArgumentError, UnsupportedError
from detent.generation import Output, Request
from detent.generation.bans import Ban, Words
from detent.generation.batch import run_batch
from detent.generation.request import PreparedRequest, compile_by_default
from detent.guide import Canonical, Guide
from detent.models.base import Session
from detent.models.kv_cache import CachedSession, read_sessions
from detent.rule import AnyRule, read_rule
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = ["CustomGenerate"]

_ELSEWHERE = {
    "num_beams": (1, "beams are for detent.analysis.beam_search, or LogitsProcessor"),
    "num_return_sequences": (1, "repeat the prompt instead"),
    "repetition_penalty": (1.0, "leave it out"),
    "no_repeat_ngram_size": (0, "leave it out"),
    "min_length": (0, "write the length into the rule"),
    "min_new_tokens": (None, "write the length into the rule"),
    "bad_words_ids": (None, "pass ban= to CustomGenerate"),
    "prompt_lookup_num_tokens": (None, "use LogitsProcessor, which holds drafts to the rule"),
    "guidance_scale": (None, "leave it out"),
    "return_dict_in_generate": (False, "CustomGenerate.outputs has the reports"),
    "output_scores": (False, "CustomGenerate.outputs has the log probabilities"),
}
"""Settings that this loop does not have: the value that means nothing, and what to do instead."""


class CustomGenerate:
    """Holds what `model.generate` writes to a rule, by detent's own loop.

    >>> generate = CustomGenerate(detent.json_schema(schema), vocabulary, ban=["foo"])         # doctest: +SKIP
    >>> ids = model.generate(**inputs, custom_generate=generate, max_new_tokens=64)             # doctest: +SKIP
    >>> generate.outputs[0].value                                                               # doctest: +SKIP

    `max_new_tokens`, `do_sample`, `temperature`, `top_k`, `top_p` and `min_p` are those of the call or of the model's
    generation config; each text is complete within `max_new_tokens`. Rows are read together. Padding on the left is
    left out by the attention mask.

    Parameters
    ----------
    rule : Guide, Language, type, dict, list or None
        One rule for all rows, as in `detent.generate`.
    vocabulary : Vocabulary
        The vocabulary of the model: ``Vocabulary.from_transformers(tokenizer, size=model.config.vocab_size)``.
    ban, canonical : optional
        As in `detent.generate`: words are found as they are written, and taken back.
    seed : int, optional
        For sampling; without it, torch's own random numbers give one.

    Attributes
    ----------
    outputs : list of Output
        Of the last call, a row each, with reports.
    """

    def __init__(
        self,
        rule: Guide | AnyRule | None,
        vocabulary: Vocabulary,
        *,
        ban: Words | Ban | None = None,
        canonical: Canonical | None = None,
        seed: int | None = None,
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(f"vocabulary must be a detent.Vocabulary, got {type(vocabulary).__name__}")
        self.outputs: list[Output] = []
        self._rule = rule
        self._guide: Guide | None = None
        if rule is not None and not isinstance(rule, Guide):
            self._guide = compile_by_default(read_rule(rule, "CustomGenerate"), vocabulary, canonical)
        self._canonical = canonical
        self._vocabulary = vocabulary
        self._ban = ban
        self._seed = seed

    def __call__(
        self,
        model: Any,
        input_ids: torch.LongTensor,
        logits_processor: Sequence[Any],
        stopping_criteria: Sequence[Any],
        generation_config: Any,
        synced_gpus: bool = False,
        streamer: Any = None,
        **model_kwargs: Any,
    ) -> torch.LongTensor:
        """Return the ids of the prompts and texts, int64[rows, length], padded on the right; `generate` calls this.

        Raises
        ------
        UnsupportedError
            The call asks for what this loop does not have.
        DetentError
            As `detent.generate` does.
        """
        import torch

        self._check(generation_config, logits_processor, stopping_criteria, streamer)
        config = generation_config
        attention = model_kwargs.get("attention_mask")
        prompts = [
            row.tolist() if attention is None else row[attention[index].bool()].tolist()
            for index, row in enumerate(input_ids)
        ]
        seed = self._seed if self._seed is not None else int(torch.randint(2**31, (1,)))
        most = config.max_length - input_ids.shape[1]
        requests = [
            Request(
                prompt,
                self._rule,
                ban=self._ban,
                canonical=self._canonical,
                max_tokens=most,
                temperature=(1.0 if config.temperature is None else config.temperature) if config.do_sample else 0,
                top_k=(config.top_k or None) if config.do_sample else None,
                top_p=config.top_p if config.do_sample and config.top_p != 1 else None,
                min_p=config.min_p if config.do_sample else None,
                seed=seed + index,
            )
            for index, prompt in enumerate(prompts)
        ]
        reader = _Rows(model, self._vocabulary)
        prepared = [PreparedRequest(reader, request, self._guide) for request in requests]
        self.outputs = run_batch(reader, [(each, 0) for each in prepared], len(prepared))
        end = self._vocabulary.eos_token_ids[0]
        texts = [[*each.token_ids, *([end] if each.finish_reason == "stop" else [])][:most] for each in self.outputs]
        pad = end if config.pad_token_id is None else config.pad_token_id
        longest = max(map(len, texts))
        rows = torch.tensor([[*text, *[pad] * (longest - len(text))] for text in texts], dtype=input_ids.dtype)
        return torch.cat([input_ids, rows.to(input_ids.device)], dim=1)  # type: ignore[return-value]

    def _check(
        self, config: Any, logits_processor: Sequence[Any], stopping_criteria: Sequence[Any], streamer: Any
    ) -> None:
        """Refuse what would be ignored."""
        for name, (nothing, advice) in _ELSEWHERE.items():
            value = getattr(config, name, nothing)
            if value is not None and value != nothing:
                raise UnsupportedError(f"CustomGenerate does not have {name}={value!r}; {advice}")
        if streamer is not None:
            raise UnsupportedError(
                "CustomGenerate has no streamer; write detent.stream(detent.models.Transformers(...))"
            )
        for each in logits_processor:
            if type(each).__name__ not in _OWN_PROCESSORS:
                raise UnsupportedError(f"CustomGenerate does not run the logits processor {type(each).__name__}")
        for each in stopping_criteria:
            if type(each).__name__ not in ("MaxLengthCriteria", "EosTokenCriteria"):
                raise UnsupportedError(f"CustomGenerate does not run the stopping criterion {type(each).__name__}")


_OWN_PROCESSORS = (
    "TemperatureLogitsWarper",
    "TopKLogitsWarper",
    "TopPLogitsWarper",
    "MinPLogitsWarper",
)
"""The processors that `generate` makes of options which the loop here applies by itself."""


class _Rows:
    """The model of `generate`, for prompts of token ids."""

    def __init__(self, model: Any, vocabulary: Vocabulary) -> None:
        self._model = model
        self.vocabulary = vocabulary

    def encode(self, prompt: str) -> list[int]:
        raise ArgumentError("CustomGenerate takes the ids of generate, not a text")

    def start(self, token_ids: Sequence[int]) -> CachedSession:
        return CachedSession(self._model, token_ids)

    def read(self, sessions: Sequence[Session]) -> None:
        read_sessions([each for each in sessions if isinstance(each, CachedSession)])

    def fork(self, session: Session) -> CachedSession:
        if not isinstance(session, CachedSession):
            raise ArgumentError(f"expected a session of this model, got {type(session).__name__}")
        return session.fork()
