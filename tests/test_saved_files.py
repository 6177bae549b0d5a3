"""Saved vocabularies, guides and tables: what comes back is equal, and every damaged byte is an error."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent import _core
from detent.generation.bans import banned_words
from detent.saved_file import read_saved, write_saved
from detent.vocabulary.vocabulary_file import SavedTokens
from tests.support.shared_data import needs_shared, tokenizer_file

TOKENS = [*(bytes([byte]) for byte in range(256)), b"ab", b"ab", b"abc", "é".encode(), b"<s>", b"", b"</s>"]
VOCABULARY = detent.Vocabulary(TOKENS, eos_token_ids=[262], special_token_ids=[260], size=300)
PATTERNS = ["(ab)+", "[a-c]{2,9}", ".*", "(?i)é|x{3,}"]


def equal(a: detent.Guide, b: detent.Guide, seed: int = 0, max_tokens: int | None = None) -> None:
    """Walk through both with the same tokens: the masks are equal."""
    rng = random.Random(seed)
    one, other = a.matcher(max_tokens), b.matcher(max_tokens)
    for _ in range(20):
        allowed = one.allowed()
        assert np.array_equal(allowed, other.allowed())
        if one.is_finished or not allowed.size:
            return
        token = int(rng.choice(allowed))
        one.advance(token)
        other.advance(token)


def test_a_vocabulary_and_back(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary"
    VOCABULARY.save(path)
    loaded = detent.Vocabulary.load(path)
    assert len(loaded) == len(VOCABULARY)
    assert loaded.eos_token_ids == VOCABULARY.eos_token_ids
    assert loaded.special_token_ids == VOCABULARY.special_token_ids
    assert [loaded.token_bytes(k) for k in range(300)] == [VOCABULARY.token_bytes(k) for k in range(300)]
    fingerprint = loaded.fingerprint
    object.__setattr__(loaded, "_fingerprint", None)
    assert loaded.fingerprint == fingerprint == VOCABULARY.fingerprint
    assert loaded._tables.core.save_trie() == VOCABULARY._tables.core.save_trie()
    for pattern in PATTERNS:
        for budget in (None, 4):
            guides = [detent.compile(detent.regex(pattern), vocabulary) for vocabulary in (VOCABULARY, loaded)]
            equal(*guides, max_tokens=budget)
    asks = detent.special_token("<s>") + detent.regex("(ab)+")
    equal(*(detent.compile(asks, vocabulary) for vocabulary in (VOCABULARY, loaded)))
    loaded.save(path)  # a file that is in use is replaced
    assert detent.Vocabulary.load(path).fingerprint == fingerprint
    assert loaded.token_bytes(256) == b"ab"


def test_tokens_are_a_sequence() -> None:
    ends = memoryview(np.cumsum([len(token) for token in TOKENS], dtype=np.int32).tobytes())
    tokens = SavedTokens(memoryview(b"".join(TOKENS)), ends)
    assert list(tokens) == TOKENS
    assert [tokens[k] for k in (-1, 0, 5, -3)] == [TOKENS[k] for k in (-1, 0, 5, -3)]
    assert tokens[250:260] == tuple(TOKENS[250:260])
    with pytest.raises(IndexError):
        tokens[len(TOKENS)]


def test_a_vocabulary_with_its_tokenizer(tmp_path: Path) -> None:
    vocabulary = detent.load_model().vocabulary
    vocabulary.save(tmp_path / "v")
    loaded = detent.Vocabulary.load(tmp_path / "v")
    for text in ("Please think of the thing.", "  naïve\n\n日本 1234", ""):
        assert loaded.encode_canonical(text) == vocabulary.encode_canonical(text)
        assert loaded.heal(text) == vocabulary.heal(text)
    language = detent.regex("[a-z ]{3,40}")
    equal(*(detent.compile(language, each, canonical=True) for each in (vocabulary, loaded)), max_tokens=12)
    with pytest.raises(detent.VocabularyError, match="no tokenizer"):
        loaded.encode("text")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "v").read_bytes()


def test_a_vocabulary_without_a_tokenizer(tmp_path: Path) -> None:
    VOCABULARY.save(tmp_path / "v")
    with pytest.raises(detent.UnsupportedError, match="does not say how its tokenizer splits"):
        detent.compile(detent.regex("a"), detent.Vocabulary.load(tmp_path / "v"), canonical=True)


@pytest.mark.parametrize("canonical", [False, True])
def test_a_guide_and_back(tmp_path: Path, canonical: bool) -> None:
    vocabulary = detent.load_model().vocabulary if canonical else VOCABULARY
    languages = [
        detent.regex("(ab)+"),
        detent.json_schema({"type": "object", "properties": {"a": {"type": "integer"}}}),
    ]
    for language in languages:
        guide = detent.compile(language, vocabulary, canonical=canonical)
        guide.save(tmp_path / "guide")
        loaded = detent.load_guide(tmp_path / "guide", vocabulary)
        assert (loaded.canonical, loaded.language.description) == (guide.canonical, guide.language.description)
        equal(guide, loaded)


def test_a_loaded_guide_knows_its_strings(tmp_path: Path) -> None:
    """Banned patterns are found in the decoded strings of JSON."""
    guide = detent.compile(detent.json_schema({"enum": ["a\nb", "ab"]}), detent.load_model().vocabulary)
    guide.save(tmp_path / "guide")
    loaded = detent.load_guide(tmp_path / "guide", guide.vocabulary)
    ban = banned_words([re.compile("a\nb")], "mask")
    assert ban is not None
    for each in (guide, loaded):
        allowed = ban.excluding(each.language, b"", None)
        assert [allowed.accepts(text) for text in (r'"a\nb"', '"ab"')] == [False, True]


def test_a_table_and_back(tmp_path: Path) -> None:
    tables = [detent.compile(detent.regex(pattern), VOCABULARY).to_table() for pattern in PATTERNS[:2]]
    stack = detent.stack_tables(tables)
    for table in (*tables, stack):
        table.save(tmp_path / "table")
        loaded = detent.load_guide(tmp_path / "table", VOCABULARY)
        assert isinstance(loaded, detent.TokenDfa)
        assert loaded.size == table.size
        for name in ("next", "token_class", "masks", "mask_row", "distance", "starts"):
            assert np.array_equal(getattr(loaded, name), getattr(table, name))
            assert not getattr(loaded, name).flags.writeable
        for budget in (None, 5):
            equal(table, loaded, max_tokens=budget)
    both = detent.load_guide(tmp_path / "table", VOCABULARY)
    assert isinstance(both, detent.TokenDfa)
    assert np.array_equal(both.matcher(constraint=1).allowed(), tables[1].matcher().allowed())
    assert len(both.languages) == 2


def test_another_vocabulary(tmp_path: Path) -> None:
    detent.compile(detent.regex("a"), VOCABULARY).save(tmp_path / "guide")
    other = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
    with pytest.raises(detent.ArgumentError, match="a guide for another vocabulary, of 300 ids, than <Vocabulary of 2"):
        detent.load_guide(tmp_path / "guide", other)


def saved(tmp_path: Path) -> dict[str, tuple[Path, Any]]:
    small = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    files = {name: tmp_path / name for name in ("vocabulary", "guide", "table")}
    small.save(files["vocabulary"])
    guide = detent.compile(detent.regex("(ab)+"), small)
    guide.save(files["guide"])
    guide.to_table().save(files["table"])
    return {
        "vocabulary": (files["vocabulary"], detent.Vocabulary.load),
        "guide": (files["guide"], lambda path: detent.load_guide(path, small)),
        "table": (files["table"], lambda path: detent.load_guide(path, small)),
    }


@pytest.mark.parametrize("kind", ["vocabulary", "guide", "table"])
def test_every_damaged_byte_is_an_error(tmp_path: Path, kind: str) -> None:
    path, load = saved(tmp_path)[kind]
    data = path.read_bytes()
    load(path)
    damaged = tmp_path / "damaged"
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        damaged.write_bytes(changed)
        with pytest.raises(detent.SavedFileError):
            load(damaged)
    for length in [*range(0, len(data), 7), len(data) - 1]:
        damaged.write_bytes(data[:length])
        with pytest.raises(detent.SavedFileError):
            load(damaged)
    damaged.write_bytes(data + b"\x00")
    with pytest.raises(detent.SavedFileError):
        load(damaged)


@pytest.mark.parametrize("kind", ["vocabulary", "guide", "table"])
def test_content_that_does_not_fit_under_a_right_checksum(tmp_path: Path, kind: str) -> None:
    """Each number and name of a file is replaced, and the file saved again: an error or a working object, no crash."""
    path, load = saved(tmp_path)[kind]
    file = read_saved(path, "vocabulary" if kind == "vocabulary" else "guide")
    sections = {name: bytes(view) for name, view in file.sections.items()}
    rng = random.Random(0)
    outcomes = set()
    for attempt in range(300):
        meta = json.loads(json.dumps(file.meta))
        changed = dict(sections)
        if attempt % 3 == 0:
            key = rng.choice(sorted(meta))
            meta[key] = rng.choice([None, -1, 2**40, "x", [], [-1], [2**33], [7, 7], {}, True])
            if rng.random() < 0.3:
                del meta[key]
        else:
            name = rng.choice(sorted(changed))
            data = bytearray(changed[name])
            for _ in range(rng.choice((1, 1, 3))):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
            changed[name] = bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data) + 1)))])
            if rng.random() < 0.1:
                del changed[name]
        write_saved(path, "vocabulary" if kind == "vocabulary" else "guide", meta, changed)
        try:
            found = load(path)
        except detent.DetentError as error:
            outcomes.add(type(error))
            continue
        outcomes.add(type(found))
        try:
            guide = detent.compile(detent.regex("[ab]{1,3}"), found) if isinstance(found, detent.Vocabulary) else found
            for budget in (None, 3):
                matcher = guide.matcher(budget)
                while (allowed := matcher.allowed()).size and not matcher.is_finished and len(matcher) < 5:
                    matcher.advance(int(rng.choice(allowed)))
                    matcher.explain(0)
        except detent.DetentError as error:
            outcomes.add(type(error))
    assert detent.SavedFileError in outcomes


def test_another_kind_version_and_machine(tmp_path: Path) -> None:
    files = saved(tmp_path)
    with pytest.raises(detent.SavedFileError, match="has kind 'guide', but 'vocabulary' is wanted"):
        detent.Vocabulary.load(files["guide"][0])
    with pytest.raises(detent.SavedFileError, match="no file that detent has saved"):
        (tmp_path / "text").write_text("{}" * 40)
        detent.Vocabulary.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        detent.Vocabulary.load(tmp_path / "nothing")
    with pytest.raises(detent.ArgumentError, match="expected the path of a file"):
        VOCABULARY.save(7)  # type: ignore[arg-type]
    path = files["vocabulary"][0]
    data = bytearray(path.read_bytes())
    at = data.index(b'"version":1') + len(b'"version":')
    data[at : at + 1] = b"9"
    data[16:32] = _core.checksum(bytes(data[:16]) + _core.checksum(bytes(data[32:])))
    path.write_bytes(data)
    with pytest.raises(detent.SavedFileError, match="has version 9, but 1 is wanted"):
        detent.Vocabulary.load(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder to save into: '.*missing'"):
        VOCABULARY.save(tmp_path / "missing" / "tokens.detent")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "v"
    VOCABULARY.save(path)
    data = path.read_bytes()
    with pytest.raises(TypeError):
        write_saved(path, "vocabulary", {"a": object()}, {})
    assert path.read_bytes() == data
    assert [each.name for each in tmp_path.iterdir()] == ["v"]


@needs_shared
def test_a_second_process_starts_fast(tmp_path: Path) -> None:
    """Llama 3's 128,256 tokens. The bound is loose, for a machine that does other things too."""
    source = tokenizer_file("llama3")
    vocabulary = detent.Vocabulary.from_file(source, eos_token_ids=[128001])
    vocabulary.save(tmp_path / "llama3")
    code = (
        "import sys, time, detent\n"
        "detent.Vocabulary\n"
        "times = []\n"
        "for _ in range(5):\n"
        "    started = time.process_time()\n"
        "    vocabulary = detent.Vocabulary.load(sys.argv[1])\n"
        "    times.append(time.process_time() - started)\n"
        "print(min(times), vocabulary.fingerprint, len(vocabulary.encode_canonical('Hello there')))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "llama3")], capture_output=True, text=True, check=True
    )
    seconds, fingerprint, count = ran.stdout.split()
    assert float(seconds) < 0.1
    assert fingerprint == vocabulary.fingerprint
    assert int(count) == 2


def test_a_file_that_cannot_be_read_is_an_error_of_the_system(tmp_path: Path) -> None:
    vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
    for path in (tmp_path / "missing", str(tmp_path / "missing")):
        with pytest.raises(FileNotFoundError):
            detent.Vocabulary.load(path)
        with pytest.raises(FileNotFoundError):
            detent.load_guide(path, vocabulary)


def test_compile_imports_no_network() -> None:
    """What engines import for masks alone: no ssl, no http, no schemas."""
    code = (
        "import sys, detent\n"
        "detent.compile(detent.regex('a'), detent.Vocabulary([b'a', b''], eos_token_ids=[1])).matcher()\n"
        "print([name for name in sys.modules if name in ('ssl', '_ssl', 'http.client', 'secrets', 'urllib.request') "
        "or name.startswith('detent.sources.json_schema')])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
