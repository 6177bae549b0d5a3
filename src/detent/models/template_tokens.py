"""The token ids of a conversation.

The names of special tokens in the text of a template are special tokens; those in the texts of messages are text. So a
user cannot end a turn by writing `<|im_end|>`. For this, each such name in a message is replaced by a character of the
private use areas before the template is rendered. It is restored in the pieces between special tokens. Tokenizers that
put a space before texts encode the whole, and the tokens of the characters are replaced.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from detent.errors import ArgumentError, ModelError, UnsupportedError, VocabularyError
from detent.models.chat import Chat
from detent.models.chat_template import ChatTemplate
from detent.vocabulary import Vocabulary

__all__ = ["tokenize_chat"]

_PRIVATE_USE = (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE), *range(0x100000, 0x10FFFE))


def tokenize_chat(
    template: ChatTemplate,
    chat: Chat,
    vocabulary: Vocabulary,
    encode: Callable[[str], Sequence[int]],
    encode_text: Callable[[str], Sequence[int]] | None = None,
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
    encode_text : callable, optional
        The same, but reads names of special tokens as text; by default `Vocabulary.encode_canonical`.

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
    if not found:
        return _checked(encode, template.render(chat), names, special)
    used = set("".join(texts))
    marks = dict(zip(sorted(found), (chr(code) for code in _PRIVATE_USE if chr(code) not in used), strict=False))
    rendered = template.render(chat.mapped(lambda text: names.sub(lambda match: marks[match[0]], text)))
    try:
        if vocabulary.leading_space:
            return _with_names(_checked(encode, rendered, names, special), marks, vocabulary, encode)
        return _in_pieces(rendered, marks, encode_text or vocabulary.encode_canonical, names, special)
    except (ArgumentError, UnsupportedError, VocabularyError) as error:
        raise ArgumentError(
            f"a message has the name of the special token {min(found)!r}, which this tokenizer cannot write as text; "
            f"remove it from the message ({error})"
        ) from None


def _checked(
    encode: Callable[[str], Sequence[int]], rendered: str, names: re.Pattern[str], special: dict[str, int]
) -> list[int]:
    """Encode a text whose names of special tokens are all special tokens."""
    ids, known = list(encode(rendered)), set(special.values())
    expected = [special[name] for name in names.findall(rendered)]
    if [token_id for token_id in ids if token_id in known] != expected:
        raise ModelError(
            f"the conversation has {len(expected)} special tokens by the chat template, but encode writes others for "
            f"{rendered[:80]!r}; encode must read the names of special tokens and add none"
        )
    return ids


def _in_pieces(
    rendered: str,
    marks: dict[str, str],
    encode_text: Callable[[str], Sequence[int]],
    names: re.Pattern[str],
    special: dict[str, int],
) -> list[int]:
    """Encode the pieces between special tokens, with the names that marks stand for."""
    restored = str.maketrans({mark: name for name, mark in marks.items()})
    ids: list[int] = []
    for piece, name in itertools.zip_longest(names.split(rendered), names.findall(rendered)):
        ids += encode_text(piece.translate(restored))
        ids += [] if name is None else [special[name]]
    return ids


def _with_names(
    ids: list[int], marks: dict[str, str], vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]]
) -> list[int]:
    """Replace the byte tokens of marks by the tokens of names. A piece by itself would begin with another space."""
    for name, mark in marks.items():
        data = mark.encode()
        tokens = list(encode(mark))[-len(data) :]
        if b"".join(map(vocabulary.token_bytes, tokens)) != data or len(tokens) != len(data):
            raise UnsupportedError("it has no byte tokens")
        text = vocabulary.encode_canonical(name)
        position = 0
        while position < len(ids):
            if ids[position : position + len(tokens)] == tokens:
                ids[position : position + len(tokens)] = text
                position += len(text)
            else:
                position += 1
    return ids


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
