"""The core's encoder for a `tokenizer.json`, and the reasons why it may differ from the tokenizer.

    byte-level     BPE; [Split at a known pattern] ByteLevel; no normalizer but NFC
    pieces         BPE or Unigram; space to U+2581, by a normalizer or Metaspace; byte pieces for unknown characters

A tokenizer with further steps is approximated by the nearest of these kinds, and `differs` names the step: the core may
then tokenize a text differently. The core tokenizes by Unigram exactly, but pairs of tokens do not decide whether a
token sequence is canonical (`undecided`). Other models raise `UnsupportedError`.

Two steps are excluded. The caller applies NFC: the core tokenizes a text unchanged. Special tokens are never found in a
text, as with `encode_ordinary`. Three lists describe what the tokenizer does itself: special tokens that it finds only
between word boundaries, special tokens that absorb white space, and literals of added tokens that are not special.

Source: tokenizers/src/{models,pre_tokenizers,normalizers} of https://github.com/huggingface/tokenizers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from detent import _core
from detent.vocabulary import bpe, unigram
from detent.vocabulary.decoder import components
from detent.vocabulary.encoder_config import EncoderConfig
from detent.vocabulary.file_io import expect
from detent.vocabulary.loaded_tokens import shown
from detent.vocabulary.sentencepiece_pieces import METASPACE, read_piece_input
from detent.vocabulary.unsupported import unsupported

__all__ = ["CoreEncoder", "read_core_encoder"]


class CoreEncoder(NamedTuple):
    """A tokenizer of the core, with the differences from the tokenizer that it follows.

    Attributes
    ----------
    encoder : _core.Encoder
        The encoder.
    literals : tuple of str
        The texts that the tokenizer finds before it pre-tokenizes.
    differs : str
        The step of the tokenizer that the encoder lacks; empty if there is none.
    undecided : str
        Why pairs of tokens do not decide whether a token sequence is canonical; empty if they do.
    strip_before, strip_after : tuple of str
        Special tokens that absorb the white space there.
    words : tuple of str
        Special tokens that are found between word boundaries only.
    config : EncoderConfig or None
        The arguments of the encoder, where it can be saved.
    """

    encoder: _core.Encoder
    literals: tuple[str, ...] = ()
    differs: str = ""
    undecided: str = ""
    strip_before: tuple[str, ...] = ()
    strip_after: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    config: EncoderConfig | None = None

    @property
    def exact(self) -> bool:
        """Whether `canonical=True` is exact."""
        return not self.differs and not self.undecided


def read_core_encoder(data: dict[str, Any], size: int, merges: bytes | None = None) -> CoreEncoder:
    """Return the core's encoder of a parsed `tokenizer.json`, for a vocabulary of `size` ids.

    `merges` is the JSON of its merges, where these were not parsed with the file.
    """
    added = expect(data.get("added_tokens", []), list, "added_tokens")
    special = [token for token in added if token.get("special") and token["content"]]
    before, after, words = (
        tuple(token["content"] for token in special if token.get(flag)) for flag in ("lstrip", "rstrip", "single_word")
    )
    found = _read(data, added, size, merges)
    return found._replace(strip_before=before, strip_after=after, words=words)


def _read(data: dict[str, Any], added: list[Any], size: int, merges: bytes | None) -> CoreEncoder:
    model = expect(data.get("model"), dict, "model")
    kind = model.get("type") or _untagged(model)
    taken = {token["content"] for token in added}
    literals = tuple(token["content"] for token in added if not token.get("special") and token["content"])
    parts = components(data.get("pre_tokenizer"), "pretokenizers", "pre_tokenizer")
    normalizers = components(data.get("normalizer"), "normalizers", "normalizer")
    doubts: list[str] = []
    if kind not in ("BPE", "Unigram"):
        raise unsupported(f"its model is {shown(kind)}; BPE and Unigram are supported")
    in_bytes = any(part["type"] == "ByteLevel" for part in parts)
    if in_bytes and kind == "BPE":
        built = bpe.of_bytes(model, merges, taken, normalizers, parts, size, doubts)
        return CoreEncoder(built.encoder, literals, doubts[0] if doubts else "", config=built.config)
    if in_bytes:
        raise unsupported("its model is 'Unigram' over bytes")
    words = read_piece_input(normalizers, parts, doubts)
    literals = tuple({text for literal in literals for text in (literal, literal.replace(METASPACE, " "))})
    if kind == "BPE":
        built = bpe.of_pieces(model, merges, taken, size, doubts, words=words)
        return CoreEncoder(built.encoder, literals, doubts[0] if doubts else "", config=built.config)
    undecided = str(unsupported("its model is 'Unigram': only BPE's pairs decide exactly which tokens may follow"))
    built = unigram.of_pieces(model, taken, size, words=words)
    return CoreEncoder(built.encoder, literals, doubts[0] if doubts else "", undecided, config=built.config)


def _untagged(model: dict[str, Any]) -> str:
    return "BPE" if "merges" in model else "Unigram" if isinstance(model.get("vocab"), list) else "another"
