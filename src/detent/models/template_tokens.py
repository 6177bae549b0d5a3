"""The token ids of a conversation.

The names of special tokens in the text of a template are special tokens; those in the texts of messages are text. So a
user cannot end a turn by writing `<|im_end|>`. For this, each such name in a message is replaced by a character of the
private use areas before the template is rendered, and restored in the pieces between special tokens.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from detent.errors import ArgumentError, DetentError, ModelError
from detent.models.chat import Chat
from detent.models.chat_template import ChatTemplate
from detent.vocabulary import Vocabulary

__all__ = ["tokenize_chat"]

_PRIVATE_USE = (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE), *range(0x100000, 0x10FFFE))


def tokenize_chat(
    template: ChatTemplate, chat: Chat, vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]]
) -> list[int]:
    """Return the token ids of a conversation, up to the start of the next answer.

    Parameters
    ----------
    template : ChatTemplate
        The template.
    chat : Chat
        The conversation.
    vocabulary : Vocabulary
        The bytes of each id, and the special tokens.
    encode : callable
        From a text to token ids. Reads the names of special tokens, and adds none.

    Raises
    ------
    ArgumentError
        The template cannot express the conversation, or a message has the name of a special token, and the tokenizer
        cannot write it as text.
    ModelError
        The template fails, or `encode` writes the names of special tokens as text.
    """
    special = {vocabulary.token_bytes(each).decode("utf-8", "replace"): each for each in vocabulary.special_token_ids}
    special.pop("", None)
    if not special:
        return list(encode(template.render(chat)))
    names = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))))
    texts = list(_texts([chat.messages, chat.tools]))
    found = {name for text in texts for name in names.findall(text)}
    if found:
        return _tokenize_in_pieces(template, chat, vocabulary, names, special, found, set("".join(texts)))
    rendered = template.render(chat)
    ids = list(encode(rendered))
    expected = [special[name] for name in names.findall(rendered)]
    if [token_id for token_id in ids if token_id in vocabulary.special_token_ids] != expected:
        raise ModelError(
            f"the conversation has {len(expected)} special tokens by the chat template, but encode writes others for "
            f"{rendered[:80]!r}; encode must read the names of special tokens and add none"
        )
    return ids


def _tokenize_in_pieces(
    template: ChatTemplate,
    chat: Chat,
    vocabulary: Vocabulary,
    names: re.Pattern[str],
    special: dict[str, int],
    found: set[str],
    used: set[str],
) -> list[int]:
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in used)
    hidden = dict(zip(sorted(found), free, strict=False))
    restored = str.maketrans({mark: name for name, mark in hidden.items()})
    rendered = template.render(chat.mapped(lambda text: names.sub(lambda match: hidden[match[0]], text)))
    ids: list[int] = []
    try:
        if vocabulary.leading_space:
            raise ArgumentError("the tokenizer puts a space before texts")
        for piece, name in itertools.zip_longest(names.split(rendered), names.findall(rendered)):
            ids += vocabulary.encode_canonical(piece.translate(restored))
            ids += [] if name is None else [special[name]]
    except DetentError as error:
        raise ArgumentError(
            f"a message has the name of the special token {min(found)!r}, which this tokenizer cannot write as text; "
            f"remove it from the message ({error})"
        ) from None
    return ids


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
