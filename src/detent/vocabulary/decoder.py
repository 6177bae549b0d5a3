"""How a `tokenizer.json` says that tokens become text: its `decoder` section, read as a function from pieces to bytes.

A decoder maps a list of tokens to a text. Masks need one byte string a token, so only decoders that work token by token
are accepted. What they strip from the very start of a text, the dummy prefix, does not matter:

    ByteLevel                                          each character is a byte (GPT-2, Llama 3, Qwen, Tekken)
    [Replace, ...] [ByteFallback] [Fuse] [Strip]       U+2581 is a space, <0x41> a byte (Llama 2, Mistral, Gemma)
    Metaspace                                          U+2581 is a space (T5, XLM-R, Unigram models)
    WordPiece                                          ##ing goes on with a word, other tokens begin one (BERT)

WordPiece decoders may also tidy the finished text ("don ' t" becomes "don't"). That depends on neighbours and loses
information, so the bytes here are those of the text *before* the clean-up, in which words are separated by one space.

Source: tokenizers/src/decoders of https://github.com/huggingface/tokenizers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from detent.errors import VocabularyError
from detent.vocabulary import byte_level
from detent.vocabulary.file_io import expect
from detent.vocabulary.loaded_tokens import RAW_REMEDY, shown
from detent.vocabulary.sentencepiece_pieces import bytes_of_pieces

__all__ = ["Decoder", "components", "read_decoder"]

BytesOf = Callable[[Sequence[str]], list[bytes]]


@dataclass(frozen=True)
class Decoder:
    """How tokens become text: the bytes that each token of the model, and each added token, adds to a text."""

    kind: str
    bytes_of_tokens: BytesOf
    bytes_of_added: BytesOf
    word_prefix: str | None = None
    byte_pieces: bool = False


def components(section: object, list_key: str, what: str) -> list[dict[str, Any]]:
    """Flatten a section of possibly nested sequences into its parts, in order; a missing section has none."""
    parts: list[dict[str, Any]] = []
    pending = [section]
    while pending:
        part = pending.pop()
        if part is None:
            continue
        part = expect(part, dict, what)
        if part.get("type") == "Sequence":
            pending.extend(reversed(expect(part.get(list_key), list, f"{what}.{list_key}")))
        else:
            expect(part.get("type"), str, f"{what}.type")
            parts.append(part)
    return parts


def read_decoder(section: object) -> Decoder:
    """Read the `decoder` section, or raise `VocabularyError` naming what is not understood."""
    parts = components(section, "decoders", "decoder")
    kinds = [part["type"] for part in parts]
    if kinds == ["ByteLevel"]:
        return Decoder("ByteLevel", lambda tokens: byte_level.bytes_of_tokens(tokens)[0], _as_text)
    if kinds == ["WordPiece"]:
        prefix = expect(parts[0].get("prefix"), str, "decoder.prefix")
        bytes_of_tokens = _word_pieces(prefix)
        return Decoder("WordPiece", bytes_of_tokens, bytes_of_tokens, word_prefix=prefix)
    if not kinds:
        raise VocabularyError(
            "the tokenizer has no decoder, so nothing says how its tokens join to text. "
            f"Set tokenizer.decoder before saving it. {RAW_REMEDY}"
        )
    return _read_pieces(parts)


def _read_pieces(parts: list[dict[str, Any]]) -> Decoder:
    replacements: list[tuple[str, str]] = []
    seen: list[str] = []
    for part in parts:
        kind = part["type"]
        if kind in ("Replace", "Metaspace") and not {"ByteFallback", "Fuse", "Strip"} & set(seen):
            replacements.append(_replacement(part))
        elif not (
            (kind == "ByteFallback" and not {"ByteFallback", "Fuse", "Strip"} & set(seen))
            or (kind == "Fuse" and "Strip" not in seen)
            or (kind == "Strip" and "Fuse" in seen and "Strip" not in seen and _strips_prefix(part))
        ):
            raise VocabularyError(
                f"decoder {shown(kind)} {f'after {seen[-1]} ' if seen else ''}is not known to work token by token, so "
                f"the bytes of tokens are not defined (all of it: {', '.join(each['type'] for each in parts[:9])}). "
                f"{RAW_REMEDY}"
            )
        seen.append(kind)
    byte_pieces = "ByteFallback" in seen

    def bytes_of_tokens(tokens: Sequence[str]) -> list[bytes]:
        return bytes_of_pieces(tokens, replacements, byte_pieces=byte_pieces)

    return Decoder("pieces", bytes_of_tokens, bytes_of_tokens, byte_pieces=byte_pieces)


def _replacement(part: dict[str, Any]) -> tuple[str, str]:
    if part["type"] == "Metaspace":
        return expect(part.get("replacement"), str, "decoder.replacement"), " "
    pattern = expect(part.get("pattern"), dict, "decoder.pattern")
    if not isinstance(pattern.get("String"), str) or not pattern["String"]:
        raise VocabularyError(
            f"decoder Replace: only a plain string is read as pattern, got {shown(next(iter(pattern), None))}. "
            f"{RAW_REMEDY}"
        )
    return pattern["String"], expect(part.get("content"), str, "decoder.content")


def _strips_prefix(part: dict[str, Any]) -> bool:
    """Whether a Strip takes at most the dummy prefix, one space at the start, and nothing from the end."""
    return part.get("content") == " " and part.get("start") in (0, 1) and part.get("stop") == 0


def _word_pieces(prefix: str) -> BytesOf:
    def bytes_of_tokens(tokens: Sequence[str]) -> list[bytes]:
        return [(token[len(prefix) :] if token.startswith(prefix) else " " + token).encode() for token in tokens]

    return bytes_of_tokens


def _as_text(tokens: Sequence[str]) -> list[bytes]:
    return [token.encode() for token in tokens]
