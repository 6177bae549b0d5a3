"""Loader: Mistral's tokenizers: `tekken.json`, SentencePiece's `tokenizer.model.v3`, and objects of mistral-common.

A Tekken file lists `default_num_special_tokens` special tokens, which take the first ids. The tokens of a byte-level
BPE, in base64, have the next ids by rank, up to `default_vocab_size`. Older files leave the special tokens
out: then mistral-common has a fixed list, and fills it up with `<SPECIAL_n>` as it does for files that list too few.

Source: mistral_common/tokens/tokenizers/tekken.py of https://github.com/mistralai/mistral-common.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.attached_tokenizer import AttachedTokenizer, TokenizerCalls
from detent.vocabulary.file_io import Source, as_path, expect, parse_json, read_source, require
from detent.vocabulary.loaded_tokens import LoadedTokens, check_width, shown
from detent.vocabulary.sentencepiece import table_of_model

__all__ = ["read_mistral", "table_of_tekken"]

_END_OF_TEXT = "</s>"

_UNLISTED_SPECIAL = [
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
]
"""The special tokens of Tekken files that list none."""


def read_mistral(tokenizer: Any) -> LoadedTokens:
    """Read a file, or a tokenizer object of mistral-common."""
    if isinstance(tokenizer, (str, os.PathLike)):
        source = read_source(as_path(tokenizer))
        name = source.path.name
        if source.path.suffix == ".json" or source.data.startswith(b"{"):
            return table_of_tekken(expect(parse_json(source.data, name), dict, name), source)
        return table_of_model(source.data, name)
    inner = getattr(getattr(tokenizer, "instruct_tokenizer", None), "tokenizer", tokenizer)
    attached = AttachedTokenizer(lambda: _bind(inner))
    if hasattr(inner, "id_to_byte_piece"):
        table = _table_of_tekkenizer(inner, attached)
    elif hasattr(inner, "file_path") and hasattr(inner, "n_words"):
        source = read_source(as_path(inner.file_path))
        table = table_of_model(source.data, source.path.name, attached)
    else:
        raise ArgumentError(
            "expected a path, or a MistralTokenizer, Tekkenizer or SentencePieceTokenizer of mistral-common, got "
            f"{shown(tokenizer)}"
        )
    attached.check(table.tokens, table.special_token_ids)
    return table


def table_of_tekken(data: dict[str, Any], source: Source) -> LoadedTokens:
    """Return the table of a parsed Tekken file."""
    config = expect(data.get("config"), dict, "config")
    width = expect(config.get("default_vocab_size"), int, "config.default_vocab_size")
    specials = expect(config.get("default_num_special_tokens"), int, "config.default_num_special_tokens")
    check_width(width, "config.default_vocab_size")
    vocab = expect(data.get("vocab"), list, "vocab")
    if not 0 < specials < width <= specials + len(vocab):
        raise VocabularyError(
            f"config.default_vocab_size is {shown(width)}, which does not fit {shown(specials)} special tokens and "
            f"{len(vocab)} others"
        )
    names = _special_names(data.get("special_tokens"), specials)
    tokens: list[bytes | None] = [name.encode() for name in names]
    tokens.extend(_token_bytes(entry, rank) for rank, entry in enumerate(vocab[: width - specials]))
    eos = (names.index(_END_OF_TEXT),) if _END_OF_TEXT in names else ()
    known = source._replace(data=b"")  # 19 MB that are not needed again
    return LoadedTokens(
        tokens, frozenset(range(specials)), lambda: eos, attached=AttachedTokenizer(lambda: _open_tekken(known))
    )


def _special_names(entries: object, count: int) -> list[str]:
    names = list(_UNLISTED_SPECIAL)
    if entries is not None:
        names = []
        for rank, entry in enumerate(expect(entries, list, "special_tokens")):
            entry = expect(entry, dict, "special_tokens")
            if entry.get("rank") != rank:
                raise VocabularyError(
                    f"special_tokens: entry {rank} has rank {shown(entry.get('rank'))}; ranks must count up from 0"
                )
            names.append(expect(entry.get("token_str"), str, "special_tokens.token_str"))
    if len(names) > count:
        raise VocabularyError(f"special_tokens: {len(names)} are listed, but default_num_special_tokens is {count}")
    return names + [f"<SPECIAL_{number}>" for number in range(len(names), count)]


def _token_bytes(entry: object, rank: int) -> bytes:
    if isinstance(entry, dict) and entry.get("rank") == rank and isinstance(entry.get("token_bytes"), str):
        try:
            return b64decode(entry["token_bytes"], validate=True)
        except ValueError:
            pass
    raise VocabularyError(
        f"vocab: entry {rank} must have rank {rank} and token_bytes in base64, got "
        + (
            f"{shown(entry.get('rank'))} and {shown(entry.get('token_bytes'))}"
            if isinstance(entry, dict)
            else shown(entry)
        )
    )


def _table_of_tekkenizer(tekkenizer: Any, attached: AttachedTokenizer) -> LoadedTokens:
    check_width(tekkenizer.n_words, "n_words")
    specials = frozenset(tekkenizer.special_ids)
    bytes_of_tokens: Callable[[int], bytes] = tekkenizer.id_to_byte_piece
    tokens: list[bytes | None] = [
        tekkenizer.id_to_piece(number).encode() if number in specials else bytes_of_tokens(number)
        for number in range(tekkenizer.n_words)
    ]
    return LoadedTokens(tokens, specials, lambda: (tekkenizer.eos_id,), attached=attached)


def _open_tekken(source: Source) -> TokenizerCalls:
    path = source.path
    package = require("mistral_common.tokens.tokenizers.tekken", f"encoding with {path.name}", "mistral-common")
    source.check_unchanged()
    try:
        return _bind(package.Tekkenizer.from_file(path))
    except Exception as error:  # the package raises AssertionError and others
        raise VocabularyError(f"{path.name}: mistral-common cannot read it: {type(error).__name__}: {error}") from error


def _bind(tokenizer: Any) -> TokenizerCalls:
    return TokenizerCalls(
        lambda text: tokenizer.encode(text, bos=False, eos=False), lambda ids: str(tokenizer.decode(list(ids)))
    )
