"""`load_guide`: reads the guides that `Guide.save` has written."""

from __future__ import annotations

from typing import Any

from detent import _core
from detent.compiler import CancellationToken, compile
from detent.errors import ArgumentError
from detent.guide import GUIDE_KIND, Guide, check_canonical
from detent.language import Language
from detent.limits import Limits
from detent.origin import Origin, Quotes
from detent.saved_file import read_saved
from detent.suggestions import suggests_names
from detent.tables.token_dfa import TokenDfa
from detent.vocabulary import Vocabulary

__all__ = ["load_guide"]


@suggests_names
def load_guide(
    path: Any, vocabulary: Vocabulary, *, limits: Limits | None = None, cancel: CancellationToken | None = None
) -> Guide:
    """Load a guide that `Guide.save` has written.

    >>> import detent, pathlib, tempfile
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rule.detent"
    >>> detent.compile(detent.regex("(ab)+"), vocabulary).save(path)
    >>> detent.load_guide(path, vocabulary).matcher().allowed()
    array([0, 2], dtype=int32)

    Parameters
    ----------
    path : path
        The file. The arrays of a `TokenDfa` are mapped into memory: the file must not be written to.
    vocabulary : Vocabulary
        The vocabulary that the guide was compiled for, or an equal one.
    limits, cancel
        As in `compile`. A language is saved as its expression: its states are built anew.

    Raises
    ------
    SavedFileError
        The file is damaged, or of another kind, version or machine.
    OSError
        The file cannot be read: it does not exist, for example.
    ArgumentError
        The guide was compiled for another vocabulary.
    """
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(f"load_guide needs a detent.Vocabulary, got {type(vocabulary).__name__}")
    file = read_saved(path, GUIDE_KIND)
    if file.meta.get("fingerprint") != vocabulary.fingerprint:
        raise ArgumentError(
            f"{file.name} has a guide for another vocabulary, of {file.meta.get('vocab_size')} ids, than {vocabulary!r}"
        )
    try:
        languages = [
            Language(
                _core.node_from_bytes(bytes(file.sections[f"language{k}"])),
                str(description),
                _origin=Origin(quotes=Quotes(quotes), letter_tags=tuple(map(str, tags))),
            )
            for k, (description, quotes, tags) in enumerate(
                zip(*(file.meta[name] for name in ("languages", "quotes", "letter_tags")), strict=True)
            )
        ]
        canonical = file.meta["canonical"]
        check_canonical(canonical)
        if file.meta["is_table"]:
            return TokenDfa._of_arrays(file.sections, vocabulary, languages, canonical=canonical)
        language = languages[0]
        language._with_part_budgets(
            tuple(
                (_core.node_from_bytes(bytes(file.sections[f"part{k}"])), tokens)
                for k, tokens in enumerate(file.meta["part_tokens"])
            )
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise file.damaged(error) from None
    return compile(language, vocabulary, canonical=canonical, limits=limits, cancel=cancel)
