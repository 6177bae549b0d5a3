"""The commands beside `generate`: check, explain, compile, tokenizers, completion, chat."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.cli import main
from detent.cli.commands import make_parser
from detent.cli.inputs import sampling_options
from detent.generation.request import resolve_guide

DATE = "[0-9]{4}-[0-9]{2}"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def standard_input(text: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()))


def test_check(run: Any) -> None:
    assert run("check", "--regex", DATE, "2021-03") == (0, "accepted\n", "")
    status, out, _ = run("check", "--regex", DATE, "2021/03")
    assert (status, out.splitlines()[1:]) == (1, ["  2021/03", "      ^"])
    status, out, _ = run("check", "--regex", DATE, "--json", "2021/03")
    found = json.loads(out)
    assert (status, found["accepted"], found["position"], found["expected"]) == (1, False, 4, "'-'")
    assert json.loads(run("check", "--choice", "a", "--json", "a")[1]) == {"accepted": True}


def test_check_reads_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", standard_input('{"a": 1}\n'))
    assert run("check", "--json-schema", '{"required": ["a"]}', "-")[0] == 0


@pytest.mark.parametrize(
    ("pattern", "text", "status"),
    [
        ("a+", "aaa\n", 0),
        ("a+\n", "aaa\n", 0),
        ("a+\n", "aaa", 1),
        ("a+", "aaa\n\n", 1),
        ("a+\n?", "aaa\n\n", 0),
        ("a+\r\n", "aaa\r\n", 0),
        ("a*", "\n", 0),
    ],
)
def test_check_takes_a_text_with_or_without_its_line_feed(
    run: Any, monkeypatch: pytest.MonkeyPatch, pattern: str, text: str, status: int
) -> None:
    monkeypatch.setattr("sys.stdin", standard_input(text))
    assert run("check", "--regex", pattern, "-")[0] == status


@pytest.mark.parametrize(("pattern", "position", "expected"), [("a+b", 3, "[ab]"), ("a+\nb", 4, "'b'")])
def test_check_says_what_follows_a_line_feed_of_the_rule(
    run: Any, monkeypatch: pytest.MonkeyPatch, pattern: str, position: int, expected: str
) -> None:
    monkeypatch.setattr("sys.stdin", standard_input("aaa\n"))
    found = json.loads(run("check", "--regex", pattern, "--json", "-")[1])
    assert (found["position"], found["expected"]) == (position, expected)


@pytest.mark.filterwarnings("default::detent.SchemaWarning")
def test_a_warning_about_a_schema_is_one_line(run: Any) -> None:
    status, out, err = run("check", "--json-schema", '{"type": "string", "format": "made-up"}', '"a"')
    assert (status, out) == (0, "accepted\n")
    assert err.startswith("detent: warning: format 'made-up' ")
    assert err.count("\n") == 1
    assert ".py" not in err


def test_other_warnings_keep_their_place(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_: Any) -> int:
        warnings.warn("outdated", DeprecationWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("detent.cli.check.run", check)
    with pytest.warns(DeprecationWarning, match="outdated"):
        assert run("check", "--regex", "a", "a")[0] == 0


def test_grammars_by_their_suffix(run: Any, tmp_path: Path) -> None:
    for name, text in [("a.gbnf", 'root ::= "x"'), ("a.ebnf", 'A ::= "x"'), ("a.lark", 'start: "x"')]:
        (tmp_path / name).write_text(text)
        assert run("check", "--grammar", str(tmp_path / name), "x")[0] == 0
        assert run("check", "--grammar", str(tmp_path / name), "y")[0] == 1


def test_a_schema_that_is_neither_a_file_nor_json(run: Any, tmp_path: Path) -> None:
    assert "neither a file nor" in run("check", "--json-schema", '{"a": ', "x")[2]
    assert "No such file or directory; give" in run("check", "--json-schema", str(tmp_path / "none.json"), "x")[2]
    assert "; write the grammar to a file" in run("check", "--grammar", 'start: "a"', "x")[2]


def test_explain(run: Any) -> None:
    status, out, _ = run("explain", "--regex", DATE, "--next", "-", "--next", "/", "2021")
    assert status == 0
    assert "1 of 2048 canonical tokens may follow: '-'" in out
    assert "b'-' allowed" in out
    assert "b'/' refused" in out
    found = json.loads(run("explain", "--regex", "(ab)*", "--json", "ab")[1])
    assert found["is_complete"]
    assert "ab" in found["tokens"]
    assert run("explain", "--regex", DATE, "x")[0] == 2
    assert run("explain", "--regex", DATE, "--next", "no such token")[0] == 2


def test_compile(run: Any) -> None:
    found = json.loads(run("compile", "--regex", DATE, "--json", "--samples", "2")[1])
    assert (found["shortest"], found["count"], len(found["samples"])) == ("0000-00", 10**6, 2)
    assert "infinitely many" in json.loads(run("compile", "--regex", "a*", "--json")[1])["count"]
    assert "count          infinitely many\n" in run("compile", "--regex", "a*")[1]
    warned = json.loads(run("compile", "--json", "--json-schema", '{"propertys": {}}')[1])["warnings"]
    assert "properties" in warned[0]
    assert "shortest" in run("compile", "--regex", DATE, "--canonical")[1]


def test_tokenizers(run: Any, tmp_path: Path) -> None:
    found = json.loads(run("tokenizers", "--json")[1])
    assert (found["tokens"], found["canonical"], found["bytes_without_token"]) == (2048, "exact", [])
    assert "canonical" in run("tokenizers")[1]
    assert run("tokenizers", str(tmp_path))[0] == 2
    embedded = Path(detent.__file__).parent / "models" / "weights" / "tokenizer.json"
    (tmp_path / "tokenizer.json").write_bytes(embedded.read_bytes())  # no file beside it names the end of text
    assert "end of text          none\n" in run("tokenizers", str(tmp_path))[1]
    assert run("explain", "--regex", DATE, "--tokenizer", str(tmp_path), "2021")[0] == 0


def test_completion(run: Any) -> None:
    pytest.importorskip("shtab", reason="needs shtab")
    assert "--max-tokens" in run("completion", "bash")[1]


def test_chat(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", standard_input("Is a dog an animal? Answer Yes or No.\nAnd a car?\n\n"))
    status, out, err = run("chat", "--choice", "Yes", "--choice", "No", "--temperature", "0")
    assert (status, err) == (0, "")
    assert set(out.split()) <= {"Yes", "No"}
    assert len(out.split()) == 2


def test_chat_with_tools(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    parameters = {"type": "object", "properties": names, "required": ["a", "b"]}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "add", "description": "Add two numbers.", "parameters": parameters}]))
    monkeypatch.setattr("sys.stdin", standard_input("What is 17 plus 25? Use the tool.\n42\n"))
    status, out, err = run("chat", "--tools", str(tools), "--temperature", "0")
    assert (status, err) == (0, "")
    assert out.startswith("add(a=17, b=25)\n")
    tools.write_text("{")
    assert run("chat", "--tools", str(tools))[0] == 2
    assert "there are" in run("chat", "--style", "nope")[2]


def test_chat_shows_thinking(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", standard_input("Hello!\n\n"))
    options = ("--style", "qwen3", "--choice", "Yes", "--choice", "No", "--max-tokens", "60", "--seed", "1")
    status, out, err = run("chat", *options)
    assert (status, err) == (0, "")
    assert out.rstrip("\n").endswith(("Yes", "No"))


def test_generate_writes_json(run: Any) -> None:
    found = json.loads(run("generate", "--regex", "[0-9]{3}", "--json", "Count")[1])
    assert (len(found["text"]), found["finish_reason"]) == (3, "stop")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--regx", "a", "b"], "did you mean --regex?"),
        (["generate", "--tempreature", "0", "x"], "did you mean --temperature?"),
        (["generate", "x", "y"], "unknown argument y"),
        (["generate", "--canonical", "--no-canonical", "x"], "not allowed with"),
        (["generate", "--temp", "0", "x"], "did you mean --temperature?"),
        (["gen", "x"], "there is no command gen; did you mean generate?"),
        (["chekc", "x"], "there is no command chekc; did you mean check?"),
        (["xyz"], "there is no command xyz (see detent --help)"),
        (["conformance", "nourl"], "nourl is no address of a server; write http://"),
        (["check", "x"], "is required"),
        (["serve", "--host", "0.0.0.0"], "let everybody in"),
        (["serve", "--style", "qwn3"], "qwn3"),
        (["serve", "--port", "99999"], "--port must be from 0 to 65535"),
        (["conformance", "http://127.0.0.1:1"], "no server answers at http://127.0.0.1:1"),
    ],
)
def test_a_wrong_command_is_one_sentence(run: Any, arguments: list[str], words: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_explain_writes_a_page(run: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    status, out, _ = run("explain", "--regex", DATE, "--next", "/", "-o", str(page), "2021")
    text = page.read_text("utf-8")
    assert (status, out) == (0, "")
    assert "<svg" in text
    assert "refused at byte 0" in text
    assert "<script" not in text


def test_explain_shows_the_tokens_of_generate(run: Any) -> None:
    """By default both follow canonical tokens; the same options choose otherwise."""
    model = detent.load_model()
    for options, canonical in ((["--no-canonical"], False), (["--canonical"], True), ([], None)):
        for text in ("", "hel"):
            found = json.loads(run("explain", "--choice", "hello", "--json", *options, text)[1])
            guide = resolve_guide(detent.choice("hello"), model, text_only=False, canonical=canonical)
            matcher = guide.matcher()
            for token_id in model.vocabulary.encode_canonical(text):
                matcher.advance(token_id)
            expected = {model.vocabulary.token_bytes(token_id).decode() for token_id in matcher.allowed()}
            assert (set(found["tokens"]), found["canonical"]) == (expected, guide.canonical)
    assert "generate never stands at the end of b'h'" in run("explain", "--choice", "hello", "h")[2]
    assert "of 2048 tokens may follow: 'ell' 'el' 'e'" in run("explain", "--choice", "hello", "--no-canonical", "h")[1]


def test_explain_counts_the_tokens_after_the_text(run: Any) -> None:
    assert "3 tokens" not in run("explain", "--regex", DATE, "--max-tokens", "3", "2021")[1]
    for options in ([], ["--no-canonical"]):
        assert "may follow: '-'" in run("explain", "--regex", DATE, "--max-tokens", "3", *options, "2021")[1]
        assert run("explain", "--regex", DATE, "--max-tokens", "2", *options, "2021")[0] == 2


def test_samples_obey_no_terminal(run: Any, tmp_path: Path) -> None:
    """Control characters and line breaks are escapes in the table."""
    _, out, _ = run("compile", "--choice", "a\nb\x1b[2J", "--samples", "1")
    assert out.splitlines()[-1] == r"samples        a\nb\x1b[2J"
    assert "from 0 on, got -1" in run("compile", "--choice", "a", "--samples", "-1")[2]
    assert "samples" not in run("compile", "--choice", "a", "--samples", "0")[1]


def test_a_page_that_cannot_be_written(run: Any, tmp_path: Path) -> None:
    page = tmp_path / "none" / "page.html"
    assert run("explain", "--regex", "a", "-o", str(page)) == (
        2, "", f"detent: -o {page}: No such file or directory; give a file that can be written\n"
    )  # fmt: skip


def test_a_text_is_no_tokenizer(run: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.lark").write_text('start: "a"')
    assert "rules.lark is a text, and no tokenizer's file. Name a" in run("tokenizers", str(tmp_path / "rules.lark"))[2]


def test_banned_words_in_any_case_of_letters() -> None:
    """`--ban` ignores case, a list of words in Python does not: docs/commands.md says so."""
    options = make_parser().parse_args(["generate", "--ban", "Damn", "x"])
    assert sampling_options(options)["ban"] == detent.Ban(["Damn"], ignore_case=True)
    model = detent.models.CallableModel(
        lambda ids: [1.0, 0.0, 0.0], detent.Vocabulary([b"A", b"a", b""], eos_token_ids=[2])
    )
    [cased, caseless] = [
        detent.generate(model, [0], detent.regex("[aA]?"), ban=ban, max_tokens=2, temperature=0).text
        for ban in (["a"], detent.Ban(["a"], ignore_case=True))
    ]
    assert (cased, caseless) == ("A", "")
