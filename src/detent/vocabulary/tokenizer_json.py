"""Loader: Hugging Face `tokenizer.json` (BPE, Unigram, WordPiece and WordLevel models).

Ids come from the `model` section and from `added_tokens`; bytes come from the `decoder` section (see `decoder`). Added
tokens that are special never stand for text; the others stand for their content: as UTF-8 under a byte-level decoder
(they are matched in the text before it becomes bytes), through the decoder otherwise. The file is read by
Python's `json` alone; the package `tokenizers` is needed only to encode.

Format: https://github.com/huggingface/tokenizers, tokenizers/src/tokenizer/serialization.rs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from detent.errors import VocabularyError
from detent.vocabulary.attached_tokenizer import AttachedTokenizer, TokenizerCalls
from detent.vocabulary.core_encoder import CoreEncoder, read_core_encoder
from detent.vocabulary.decoder import Decoder, components, read_decoder
from detent.vocabulary.end_of_text import read_end_of_text
from detent.vocabulary.file_io import Source, expect, parse_around_merges, read_source, require
from detent.vocabulary.loaded_tokens import RAW_REMEDY, LoadedTokens, by_id, check_width, shown, token_id
from detent.vocabulary.sentencepiece_pieces import METASPACE

__all__ = ["bind_tokenizer", "open_encoder", "table_of", "table_of_file"]


class _Model(NamedTuple):
    """The `model` section: pieces by id (None in gaps), the id of each piece, and the id of the unknown token."""

    pieces: list[str | None]
    ids: dict[str, int]
    unknown: int | None


def table_of_file(data: dict[str, Any], source: Source) -> LoadedTokens:
    """Return the table of a parsed file, with the end-of-text ids that the files beside it name."""
    table, id_of = table_of(data)
    find = partial(read_end_of_text, source.path.parent, id_of, table.special_token_ids)
    known = source._replace(data=b"")  # 17 MB that are not needed again
    attached = AttachedTokenizer(lambda: _open_tokenizer(known))
    return replace(table, find_end_of_text=find, attached=attached, open_encoder=open_encoder(known.path, known))


def table_of(data: dict[str, Any]) -> tuple[LoadedTokens, Callable[[str], int | None]]:
    """Return the table of a parsed `tokenizer.json`, and a look-up from a token's name to its id."""
    model = _read_model(expect(data.get("model"), dict, "model"))
    decoder = read_decoder(data.get("decoder"))
    _check_agreement(data, decoder)
    pieces = model.pieces
    raw_tokens: list[bytes | None] = list(decoder.bytes_of_tokens([piece or "" for piece in pieces]))
    for index, piece in enumerate(pieces):
        if piece is None:
            raw_tokens[index] = None
    special = set() if model.unknown is None else {model.unknown}
    added = _insert_added(
        expect(data.get("added_tokens", []), list, "added_tokens"), model, raw_tokens, special, decoder
    )
    table = LoadedTokens(raw_tokens, frozenset(special), leading_space=_leading_space(data, decoder))
    return table, lambda name: added.get(name, model.ids.get(name))


def bind_tokenizer(backend: Any) -> TokenizerCalls:
    """Return the calls of a `tokenizers.Tokenizer`; clean-up of WordPiece texts is left out, as in the table."""
    decoders = require("tokenizers", "decoding").decoders
    decoder = backend.decoder
    if isinstance(decoder, decoders.WordPiece):
        decoder = decoders.WordPiece(prefix=decoder.prefix, cleanup=False)

    def decode(ids: Sequence[int]) -> str:
        return str(decoder.decode([backend.id_to_token(token) for token in ids]))

    return TokenizerCalls(lambda text: backend.encode(text, add_special_tokens=False).ids, decode)


def _open_tokenizer(source: Source) -> TokenizerCalls:
    path = source.path
    tokenizers = require("tokenizers", f"encoding with {path.name}")
    source.check_unchanged()
    try:
        backend = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise VocabularyError(f"{path.name}: the tokenizers library cannot read it: {error}") from error
    backend.no_truncation()
    backend.no_padding()
    return bind_tokenizer(backend)


def open_encoder(path: Path, source: Source | None = None) -> Callable[[int], CoreEncoder]:
    """Return a function that reads a file's tokenizer into the core; `source` is the file as it was read before."""

    def read(size: int) -> CoreEncoder:
        if source is not None:
            source.check_unchanged()
        data, merges = parse_around_merges(read_source(path).data, path.name)
        return read_core_encoder(expect(data, dict, path.name), size, merges)

    return read


def _read_model(model: dict[str, Any]) -> _Model:
    kind = model.get("type") or _untagged(model)
    if kind == "Unigram":
        entries = expect(model.get("vocab"), list, "model.vocab")
        if not all(isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) for entry in entries):
            raise VocabularyError("model.vocab: a Unigram vocabulary is a list of [piece, score]")
        check_width(len(entries), "model.vocab")
        pieces: list[str | None] = [entry[0] for entry in entries]
        unknown = model.get("unk_id")
        if unknown is not None and not 0 <= token_id(unknown, "model.unk_id") < len(pieces):
            raise VocabularyError(f"model.unk_id: {shown(unknown)} is outside the {len(pieces)} pieces")
        return _Model(pieces, {piece: index for index, piece in enumerate(pieces) if piece is not None}, unknown)
    if kind not in ("BPE", "WordPiece", "WordLevel"):
        raise VocabularyError(
            f"model type {shown(kind)} is not known: BPE, Unigram, WordPiece and WordLevel are. {RAW_REMEDY}"
        )
    ids: dict[str, int] = expect(model.get("vocab"), dict, "model.vocab")
    name = expect(model.get("unk_token"), (str, type(None)), "model.unk_token")
    return _Model(by_id(ids, "model.vocab"), ids, ids.get(name))  # type: ignore[arg-type]  # keys of JSON are strings


def _untagged(model: dict[str, Any]) -> str:
    """Return the type of a model in a file written before types were, by its fields, as the library does."""
    if "merges" in model:
        return "BPE"
    if "max_input_chars_per_word" in model:
        return "WordPiece"
    return "Unigram" if isinstance(model.get("vocab"), list) else "WordLevel"


def _check_agreement(data: dict[str, Any], decoder: Decoder) -> None:
    """Refuse a decoder that does not undo what the model and the pre-tokenizer do."""
    model = data["model"]
    kinds = {part["type"] for part in _input_parts(data)}
    prefix = model.get("continuing_subword_prefix")
    if decoder.word_prefix is not None and prefix != decoder.word_prefix:
        raise VocabularyError(
            f"decoder WordPiece joins words at {shown(decoder.word_prefix)}, but the model splits them at "
            f"{shown(prefix)}. {RAW_REMEDY}"
        )
    if decoder.word_prefix is None:
        for field in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(field):
                raise VocabularyError(
                    f"model.{field} {shown(model[field])} is not undone by decoder {decoder.kind}. {RAW_REMEDY}"
                )
    if (decoder.kind == "ByteLevel") != ("ByteLevel" in kinds):
        raise VocabularyError(
            f"decoder {decoder.kind} does not undo what comes before the model "
            f"({', '.join(sorted(kinds)) or 'nothing'}): one of them is byte-level, the other is not. {RAW_REMEDY}"
        )
    if model.get("byte_fallback") and not decoder.byte_pieces:
        raise VocabularyError(
            f"model.byte_fallback is set, but decoder {decoder.kind} has no ByteFallback. {RAW_REMEDY}"
        )


def _input_parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *components(data.get("normalizer"), "normalizers", "normalizer"),
        *components(data.get("pre_tokenizer"), "pretokenizers", "pre_tokenizer"),
    ]


def _leading_space(data: dict[str, Any], decoder: Decoder) -> bool:
    for part in _input_parts(data):
        kind = part["type"]
        if kind == "ByteLevel" and part.get("add_prefix_space") is True:
            return True
        if (
            kind == "Metaspace"
            and part.get("prepend_scheme", "always") != "never"
            and part.get("add_prefix_space") is not False
        ):
            return True
        if kind == "Prepend" and part.get("prepend") in (METASPACE, " "):
            return True
    return decoder.word_prefix is not None


def _insert_added(
    entries: list[Any], model: _Model, raw_tokens: list[bytes | None], special: set[int], decoder: Decoder
) -> dict[str, int]:
    """Write the added tokens into `raw_tokens` and `special`; return their ids by content.

    The library keeps the id of a token that the model has, and numbers others on from the end, whatever id the file
    states; a file that states another id would be encoded otherwise than it reads, so it is refused.
    """
    added: dict[str, int] = {}
    following = len(model.ids)
    for entry in entries:
        entry = expect(entry, dict, "added_tokens")
        content = expect(entry.get("content"), str, "added_tokens.content")
        stated = token_id(entry.get("id"), f"added token {shown(content)}: id")
        number = added.get(content, model.ids.get(content, following))
        if stated != number:
            raise VocabularyError(
                f"added token {shown(content)} has id {shown(stated)} in the file, but the tokenizers library gives it "
                f"{number}. Save the tokenizer again with that library, or load it with from_transformers."
            )
        if content == "":
            continue
        check_width(number + 1, "added_tokens")
        raw_tokens.extend([None] * (number + 1 - len(raw_tokens)))
        if content not in added and content not in model.ids and raw_tokens[number] is not None:
            raise VocabularyError(
                f"id {number} is given to both {shown(raw_tokens[number])} and added token {shown(content)}"
            )
        added[content] = number
        following = max(following, number + 1)
        raw_tokens[number] = content.encode() if entry.get("special") is True else decoder.bytes_of_added([content])[0]
        if entry.get("special") is True:
            special.add(number)
    return added
