"""Loader: any tokenizer file; its content decides the kind.

GGUF begins with its four letters. JSON begins with a brace: with a `model` it is a `tokenizer.json`, with a top-level
`vocab` a Tekken file. Everything else is read as a SentencePiece model, a protobuf message that checks itself.
"""

from __future__ import annotations

from pathlib import Path

from detent.errors import VocabularyError
from detent.vocabulary.file_io import expect, parse_without_merges, read_source, read_start
from detent.vocabulary.gguf import MAGIC, read_gguf
from detent.vocabulary.loaded_tokens import LoadedTokens, shown
from detent.vocabulary.mistral import table_of_tekken
from detent.vocabulary.sentencepiece import table_of_model
from detent.vocabulary.tokenizer_json import table_of_file

__all__ = ["read_tokenizer_file"]

_NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model", "tokenizer.model.*", "*.gguf")
"""Names of tokenizer files, those first that say most about the tokenizer."""


def read_tokenizer_file(path: Path) -> LoadedTokens:
    """Read a tokenizer file of any known kind, or the one in a folder."""
    if path.is_dir():
        path = _file_in(path)
    start = read_start(path)
    if start.startswith(MAGIC):
        return read_gguf(path)
    source = read_source(path)
    if path.suffix != ".json" and not start.startswith(b"{"):
        return table_of_model(source.data, path.name)
    data = expect(parse_without_merges(source.data, path.name), dict, path.name)
    if data and all(isinstance(value, int) for value in data.values()):
        raise VocabularyError(
            f"{path.name} holds the ids of tokens, without what tells their bytes. Name the tokenizer.json beside it. "
            "If there is none, transformers writes it: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    if "model" in data:
        return table_of_file(data, source)
    if "vocab" in data:
        return table_of_tekken(data, source)
    raise VocabularyError(
        f"{path.name}: neither a tokenizer.json (it has no 'model') nor a Tekken file (it has no 'vocab'). "
        "Name the file that holds the tokens."
    )


def _file_in(folder: Path) -> Path:
    """Return the tokenizer file of a folder: the first of the usual names, or its only GGUF file."""
    for pattern in _NAMES:
        found = sorted(each for each in folder.glob(pattern) if each.is_file())
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(each.name for each in found[:5])
            raise VocabularyError(f"{shown(str(folder), 200)} has several tokenizer files: {names}. Name one of them.")
    inside = sorted(folder.iterdir())
    names = ", ".join([each.name for each in inside if each.is_file()][:8]) or "no files"
    folders = ", ".join([each.name for each in inside if each.is_dir()][:8])
    raise VocabularyError(
        f"{shown(str(folder), 200)} has no tokenizer.json, tekken.json, tokenizer.model or .gguf file; it has {names}"
        + (f", and the folders {folders}: name one of them" if folders else "")
    )
