"""One adapter for each engine: how a user sets its vocabulary up, compiles a regex, fills a mask and takes a token.

Each uses the engine's leanest documented call from Python, one thread, and a buffer that is allocated once. Only the
engine that is asked for is imported.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Walk = tuple["Callable[[], object]", "Callable[[int], object]"]
"""Fill the mask row of the present state; take a token."""


class Engine(ABC):
    """One library under measurement.

    `tokens` are the bytes of each id, b"" for ids that are not text; `row` is the mask that walks fill.
    """

    def __init__(self, path: Path, tokens: list[bytes], eos: int) -> None:
        self.path = path
        self.tokens = tokens
        self.eos = eos
        self.vocabulary: Any = None
        self.row = np.zeros(-(-len(tokens) // 32), dtype=np.int32)
        self.version = self.load()

    @abstractmethod
    def load(self) -> str:
        """Import the library; return its version."""

    def set_up(self) -> None:
        """Make the vocabulary, with empty caches, in the place of the one before."""
        self.vocabulary = None
        self.vocabulary = self.make_vocabulary()

    @abstractmethod
    def make_vocabulary(self) -> Any:
        """Make it from `tokens`, or from `path` if the library reads tokenizer.json."""

    @abstractmethod
    def compile(self, pattern: str) -> object:
        """Compile a regex; raise if the library refuses it."""

    @abstractmethod
    def walk(self, compiled: Any) -> Walk:
        """Start a text."""


class Detent(Engine):
    """Reads tokenizer.json."""

    def load(self) -> str:
        self.detent = import_module("detent")
        return str(self.detent.__version__)

    def make_vocabulary(self) -> Any:
        return self.detent.Vocabulary.from_file(self.path)

    def compile(self, pattern: str) -> object:
        return self.detent.compile(self.detent.regex(pattern), self.vocabulary)

    def walk(self, compiled: Any) -> Walk:
        matcher = compiled.matcher()
        return partial(matcher.fill_mask, self.row), matcher.advance


class LLGuidance(Engine):
    """Reads tokenizer.json. A compiled regex is a matcher; resetting it keeps what it has learnt."""

    def load(self) -> str:
        self.llguidance = import_module("llguidance")
        return version("llguidance")

    def make_vocabulary(self) -> Any:
        return self.llguidance.LLTokenizer(str(self.path), eos_token=self.eos)

    def compile(self, pattern: str) -> object:
        grammar = self.llguidance.LLMatcher.grammar_from_regex(pattern)
        matcher = self.llguidance.LLMatcher(self.vocabulary, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def walk(self, compiled: Any) -> Walk:
        compiled.reset()
        return partial(compiled.unsafe_compute_mask_ptr, self.row.ctypes.data, self.row.nbytes), compiled.consume_token


class XGrammar(Engine):
    """Takes the token bytes. Its cache of compiled grammars is off, so that each compilation is one."""

    def load(self) -> str:
        torch = import_module("torch")
        torch.set_num_threads(1)
        self.xgrammar = import_module("xgrammar")
        self.bitmask = torch.from_numpy(self.row[None])
        return version("xgrammar")

    def make_vocabulary(self) -> Any:
        info = self.xgrammar.TokenizerInfo(self.tokens, vocab_size=len(self.tokens), stop_token_ids=[self.eos])
        return self.xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, pattern: str) -> object:
        return self.vocabulary.compile_regex(pattern)

    def walk(self, compiled: Any) -> Walk:
        matcher = self.xgrammar.GrammarMatcher(compiled)
        return partial(matcher.fill_next_token_bitmask, self.bitmask), matcher.accept_token


class OutlinesCore(Engine):
    """Takes the token bytes."""

    def load(self) -> str:
        self.outlines_core = import_module("outlines_core")
        return version("outlines-core")

    def make_vocabulary(self) -> Any:
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(self.tokens):
            if token and token_id != self.eos:
                ids.setdefault(token, []).append(token_id)
        return self.outlines_core.Vocabulary(self.eos, ids)

    def compile(self, pattern: str) -> object:
        return self.outlines_core.Index(pattern, self.vocabulary)

    def walk(self, compiled: Any) -> Walk:
        guide = self.outlines_core.Guide(compiled)
        fill = partial(guide.write_mask_into, self.row.ctypes.data, self.row.size, self.row.itemsize)
        return fill, partial(guide.advance, return_tokens=False)


ENGINES: dict[str, type[Engine]] = {
    "detent": Detent,
    "llguidance": LLGuidance,
    "xgrammar": XGrammar,
    "outlines-core": OutlinesCore,
}


def read_tokens(path: Path) -> tuple[list[bytes], int]:
    """Return the bytes of each id of a byte-level BPE `tokenizer.json` (b"" for added tokens), and the end-of-text id.

    Independent of all engines, so that none is measured with another's reading of the file.
    """
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    config = json.loads((path.parent / "tokenizer_config.json").read_text(encoding="utf-8"))
    added = {entry["content"]: entry["id"] for entry in tokenizer["added_tokens"]}
    vocab: dict[str, int] = tokenizer["model"]["vocab"]
    # The printable stand-ins of byte-level BPE: visible Latin-1 characters are themselves, the others go from 256 on.
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    byte_of = {chr(byte): byte for byte in visible}
    byte_of |= {chr(256 + i): byte for i, byte in enumerate(b for b in range(256) if b not in visible)}
    tokens = [b""] * (max([*vocab.values(), *added.values()]) + 1)
    for text, token_id in vocab.items():
        if text not in added:
            tokens[token_id] = bytes(byte_of[character] for character in text)
    return tokens, added[config["eos_token"]]
