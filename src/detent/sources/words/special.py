"""`special_token`: a token without a text, such as an end-of-turn token, given by its name."""

from __future__ import annotations

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import encode, short_repr
from detent.suggestions import suggests_names

__all__ = ["special_token"]


@suggests_names
def special_token(name: str) -> Language[str]:
    """Make the language of one special token, such as ``<|eot_id|>`` or ``[TOOL_CALLS]``.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"<go>", b"</s>"], eos_token_ids=[2], special_token_ids=[1])
    >>> turn = detent.special_token("<go>") + detent.regex("a+")
    >>> detent.compile(turn, vocabulary).matcher().allowed().tolist()
    [1]
    >>> turn.accepts("aa")
    True

    No sequence of other tokens writes it, and it has no text: questions about texts ignore it, and so does
    `Vocabulary.decode`. The vocabulary is known at `compile`: where it has the name as a token of text (as Qwen has
    ``<tool_call>``), that text is meant. An end-of-text token is allowed at the end of a text only.

    Parameters
    ----------
    name : str
        As the tokenizer writes it.

    Returns
    -------
    Language
        It combines as any other. `compile` raises `VocabularyError` where the vocabulary has no such token,
        and `ArgumentError` where a text continues after an end-of-text token. The texts of an intersection
        are read without special tokens; those that a complement leaves stand between characters.

    Raises
    ------
    ArgumentError
        The name is empty or no text.
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"special_token got {short_repr(name)}; give the name of a token, such as '<|eot_id|>'")
    return Language(_core.special(encode(name, "special_token")), name)
