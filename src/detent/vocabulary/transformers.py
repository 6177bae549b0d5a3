"""Loader: tokenizers of the package transformers.

Fast ones carry a whole `tokenizer.json`. The attributes of the others show their kind: a SentencePiece model, GPT-2's
byte table, a WordPiece tokenizer, or a tokenizer of mistral-common. In every case the result is checked by encoding a
few texts.

Source: src/transformers/tokenization_*.py of https://github.com/huggingface/transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary import byte_level
from detent.vocabulary.attached_tokenizer import AttachedTokenizer, TokenizerCalls
from detent.vocabulary.core_encoder import CoreEncoder, read_core_encoder
from detent.vocabulary.end_of_text import read_named_ids
from detent.vocabulary.file_io import expect, parse_around_merges, parse_without_merges
from detent.vocabulary.loaded_tokens import RAW_REMEDY, LoadedTokens, by_id, shown, token_id
from detent.vocabulary.mistral import read_mistral
from detent.vocabulary.sentencepiece import table_of_model
from detent.vocabulary.tokenizer_json import bind_tokenizer, table_of

__all__ = ["read_transformers"]


def read_transformers(tokenizer: Any) -> LoadedTokens:
    """Read a tokenizer, fast or slow."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        name = type(tokenizer).__name__
        table, _ = table_of(expect(parse_without_merges(backend.to_str().encode(), name), dict, name))
        decode = bind_tokenizer(backend).decode

        def open_encoder(size: int) -> CoreEncoder:
            data, merges = parse_around_merges(backend.to_str().encode(), name)
            return read_core_encoder(expect(data, dict, name), size, merges)

        table = replace(table, open_encoder=open_encoder)
    elif hasattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer"):
        return read_mistral(tokenizer.tokenizer)
    elif all(hasattr(tokenizer, name) for name in ("get_vocab", "added_tokens_decoder", "all_special_ids")):
        table = _read_slow(tokenizer)
        decode = partial(tokenizer.decode, clean_up_tokenization_spaces=False)
    else:
        raise ArgumentError(
            f"expected a tokenizer of the package transformers, got {shown(tokenizer)}; save one of the package "
            "tokenizers, and write Vocabulary.from_file(path, eos_token_ids=...)"
        )
    attached = AttachedTokenizer(lambda: TokenizerCalls(partial(tokenizer.encode, add_special_tokens=False), decode))
    attached.check(table.tokens, table.special_token_ids)
    return replace(table, find_end_of_text=partial(_end_of_text, tokenizer, table), attached=attached)


def _read_slow(tokenizer: Any) -> LoadedTokens:
    added = dict(tokenizer.added_tokens_decoder)
    vocab = expect(tokenizer.get_vocab(), dict, f"{type(tokenizer).__name__}.get_vocab()")
    names = by_id({**vocab, **{token.content: number for number, token in added.items()}}, "get_vocab()")
    special = {*tokenizer.all_special_ids, *(number for number, token in added.items() if token.special)}
    bytes_of_tokens, leading_space = _bytes_of_slow_tokenizer(tokenizer)
    tokens: list[bytes | None] = []
    for number, name in enumerate(names):
        if name is None:
            tokens.append(None)
        elif number in special or number in added:
            tokens.append(str(name).encode())
        else:
            tokens.append(bytes_of_tokens(str(name)))
    return LoadedTokens(tokens, frozenset(special), leading_space=leading_space)


def _bytes_of_slow_tokenizer(tokenizer: Any) -> tuple[Callable[[str], bytes | None], bool]:
    """Return the function from tokens of a slow tokenizer to bytes, and whether it puts a space before a text."""
    if hasattr(tokenizer, "sp_model"):
        processor = tokenizer.sp_model
        model = table_of_model(processor.serialized_model_proto(), "sp_model")

        def bytes_of_piece(name: str) -> bytes | None:
            number = processor.piece_to_id(name)
            if processor.id_to_piece(number) != name:
                raise VocabularyError(
                    f"token {shown(name)} is neither added nor in the SentencePiece model. {RAW_REMEDY}"
                )
            return None if number in model.special_token_ids else model.tokens[number]

        return bytes_of_piece, model.leading_space
    if hasattr(tokenizer, "byte_decoder"):
        table = {character: byte for byte, character in enumerate(byte_level.CHARACTER_OF_BYTE)}
        if tokenizer.byte_decoder != table:
            raise VocabularyError(f"the byte_decoder of {type(tokenizer).__name__} is not GPT-2's. {RAW_REMEDY}")

        def bytes_of_symbols(name: str) -> bytes:
            if not table.keys() >= set(name):
                raise VocabularyError(f"token {shown(name)} is not written in byte-level characters. {RAW_REMEDY}")
            return bytes(table[character] for character in name)

        return bytes_of_symbols, bool(getattr(tokenizer, "add_prefix_space", False))
    if hasattr(tokenizer, "wordpiece_tokenizer"):
        return lambda name: (name[2:] if name.startswith("##") else " " + name).encode(), True
    raise VocabularyError(
        f"{type(tokenizer).__name__} is neither a fast tokenizer nor a slow one of a known kind (SentencePiece, GPT-2 "
        f"byte-level, WordPiece), so the bytes of its tokens cannot be told. {RAW_REMEDY}"
    )


def _end_of_text(tokenizer: Any, table: LoadedTokens) -> set[int]:
    eos = tokenizer.eos_token_id
    found = set() if eos is None else {token_id(eos, "eos_token_id")}
    folder = getattr(tokenizer, "name_or_path", None)  # a folder, or a name on the hub
    if folder and (Path(folder) / "generation_config.json").is_file():
        found.update(read_named_ids(Path(folder) / "generation_config.json", table.special_token_ids))
    return found
