"""The end-of-text ids that the files beside a tokenizer name.

`generation_config.json` lists the ids at which the model's authors stop; `tokenizer_config.json` names the token that
ends a text. Both count, since chat models have several. `special_tokens_map.json` and `config.json` are asked only if
those are silent: they are often older than the tokenizer. A name alone (`</s>`) proves nothing, so it is never used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from detent.errors import VocabularyError
from detent.vocabulary.file_io import expect, read_json
from detent.vocabulary.loaded_tokens import shown, token_id

__all__ = ["read_end_of_text", "read_named_ids"]

_SOURCES = (("generation_config.json", "tokenizer_config.json"), ("config.json", "special_tokens_map.json"))


def read_end_of_text(folder: Path, id_of: Callable[[str], int | None], special_token_ids: Collection[int]) -> set[int]:
    """Return the ids that the files in `folder` name; none if they name none."""
    for by_number, by_name in _SOURCES:
        found: set[int] = set()
        if (folder / by_number).is_file():
            found.update(read_named_ids(folder / by_number, special_token_ids))
        if (folder / by_name).is_file():
            found.update(_read_named_token(folder / by_name, id_of))
        if found:
            return found
    return set()


def read_named_ids(path: Path, special_token_ids: Collection[int]) -> list[int]:
    """Return the ids under `eos_token_id`; each must be a special token, or the file belongs to another tokenizer."""
    value = expect(read_json(path), dict, path.name).get("eos_token_id")
    values = value if isinstance(value, list) else [value]
    ids = [token_id(each, f"{path.name}: eos_token_id") for each in values if each is not None]
    for each in ids:
        if each not in special_token_ids:
            raise VocabularyError(
                f"{path.name} names id {shown(each)} as end of text, which is not a special token of the tokenizer. "
                "If it is right, pass eos_token_ids=[...]."
            )
    return ids


def _read_named_token(path: Path, id_of: Callable[[str], int | None]) -> list[int]:
    value = expect(read_json(path), dict, path.name).get("eos_token")
    if isinstance(value, dict):
        value = value.get("content")
    if value is None:
        return []
    number = id_of(expect(value, str, f"{path.name}: eos_token"))
    if number is None:
        raise VocabularyError(
            f"{path.name} names {shown(value)} as end of text, which the tokenizer does not have. "
            "Pass eos_token_ids=[...]."
        )
    return [number]
