"""Special tokens: what a model's tokenizer has no text for, asked for by name."""

from __future__ import annotations

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import encode, short_repr

__all__ = ["special_token"]


def special_token(name: str) -> Language:
    """Make the language of one special token, such as ``<|eot_id|>`` or ``[TOOL_CALLS]``.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"<go>", b"</s>"], eos_token_ids=[2], special_token_ids=[1])
    >>> turn = detent.special_token("<go>") + detent.regex("a+")
    >>> detent.compile(turn, vocabulary).matcher().allowed().tolist()
    [1]
    >>> turn.accepts("aa")
    True

    No row of other tokens writes it, and it has no text: questions about texts pass it over, and so does
    `Vocabulary.decode`. The vocabulary is known at `compile`: where it has the name as a token of text (as Qwen has
    ``<tool_call>``), that text is meant. An end-of-text token may be asked for at the end of a text alone.

    Parameters
    ----------
    name : str
        As the tokenizer writes it.

    Returns
    -------
    Language
        It combines as any other. `compile` raises `VocabularyError` where the vocabulary has no such token,
        and `ArgumentError` where a text goes on behind an end-of-text.

    Raises
    ------
    ArgumentError
        The name is empty or no text.
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"special_token got {short_repr(name)}; give the name of a token, such as '<|eot_id|>'")
    return Language(_core.special(encode(name, "special_token")), name)
