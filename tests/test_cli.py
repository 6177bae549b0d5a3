"""The command line: the text on standard output, all else on standard error, no traceback for a user's mistake."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.cli import main

WEIGHTS = Path(detent.__file__).parent / "models" / "weights"


class Result:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Result:
        try:
            status = main(arguments)
        except SystemExit as exit_:  # argparse's own, for --help and --version
            status = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


def command(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "detent", *arguments], **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a tiny Llama as transformers saves it."""
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    from tests.support import tiny_llama

    path = tmp_path_factory.mktemp("llama")
    tiny_llama.model().save_pretrained(path)
    tiny_llama.tokenizer().save_pretrained(path)
    return path


class TestText:
    def test_a_regex(self, run: Any) -> None:
        result = run("generate", "--regex", "[0-9]{4}-[0-9]{2}", "--seed", "0", "When?")
        assert (result.status, result.err) == (0, "")
        assert re.fullmatch(r"[0-9]{4}-[0-9]{2}\n", result.out)

    def test_a_schema_and_a_grammar_from_files(self, run: Any, tmp_path: Path) -> None:
        schema, rules = tmp_path / "schema.json", tmp_path / "rules.lark"
        schema.write_text('{"type": "integer", "minimum": 10, "maximum": 99}')
        rules.write_text('start: "<" /[a-c]/ ">"')
        assert 10 <= int(run("generate", "--json-schema", str(schema), "A number?").out) <= 99
        assert run("generate", "--grammar", str(rules), "A letter?").out in ("<a>\n", "<b>\n", "<c>\n")

    def test_a_choice_of_files_that_hold_no_rule(self, run: Any, tmp_path: Path) -> None:
        broken = tmp_path / "broken"
        broken.write_text('{"type": "strnig"}')
        assert "strnig" in run("generate", "--json-schema", str(broken), "Go").err
        assert "line 1" in run("generate", "--grammar", str(broken), "Go").err
        broken.write_bytes(b"\xff")
        assert "not UTF-8, at byte 0" in run("generate", "--json-schema", str(broken), "Go").err

    def test_what_it_cost(self, run: Any) -> None:
        result = run("generate", "--temperature", "0", "--min-p", "0.1", "--report", "--ban", "listen", "Can we talk?")
        assert result.out.startswith("Of course. I am here to help")
        assert "1 rewinds" in result.err
        assert "model calls" in result.err

    def test_the_tokenizers_own_tokens(self, run: Any) -> None:
        arguments = ("generate", "--temperature", "0", "--report", "--choice", "an interesting answer", "Well?")
        plain, own = run(*arguments, "--no-canonical"), run(*arguments, "--canonical")
        assert own.out == plain.out == "an interesting answer\n"
        assert " 100 % forced, 0 model calls" in run(*arguments, "--canonical-approximate").err
        assert " 100 % forced, 0 model calls" in own.err
        assert " 100 % forced" not in plain.err

    def test_banned_words(self, run: Any) -> None:
        plain = run("generate", "--temperature", "0", "Can we talk?")
        assert "listen" in plain.out
        result = run("generate", "--temperature", "0", "--ban", "LISTEN", "--ban", "talk", "Can we talk?")
        assert result.status == 0
        assert "listen" not in result.out

    def test_choices(self, run: Any) -> None:
        seen = {
            run(
                "generate", "--choice", "é|", "--choice", "a.b", "--temperature", "99", "--seed", str(seed), "Which?"
            ).out
            for seed in range(9)
        }
        assert seen == {"é|\n", "a.b\n"}

    def test_without_a_rule(self, run: Any) -> None:
        result = run("generate", "--temperature", "0", "--max-tokens", "5", "Can we talk?")
        assert (result.status, result.err) == (0, "")
        assert result.out.strip()

    def test_options_reach_the_sampler(self, run: Any) -> None:
        pattern = ("generate", "--regex", "[a-z]{20}", "Go")
        assert run(*pattern, "--seed", "1").out == run(*pattern, "--seed", "1").out != run(*pattern, "--seed", "2").out
        greedy = {
            run(*pattern, *options).out
            for options in (("--temperature", "0"), ("--top-k", "1"), ("--top-p", "1e-9"), ("--temperature", "1e-9"))
        }
        assert len(greedy) == 1

    def test_the_text_fits_into_max_tokens(self, run: Any) -> None:
        result = run("generate", "--regex", "[ab]{3,}!", "--max-tokens", "4", "Go")
        assert result.status == 0
        assert re.fullmatch("[ab]{3,}!\n", result.out)

    def test_too_few_tokens_for_any_text(self, run: Any) -> None:
        result = run("generate", "--regex", "[0-9]{30}", "--max-tokens", "2", "Go")
        assert (result.status, result.out) == (2, "")
        assert "max_tokens=2 is too few" in result.err

    def test_the_prompt_from_standard_input(self) -> None:
        process = command("generate", "--choice", "ok", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out, _ = process.communicate("Größe?".encode())
        assert (process.returncode, out) == (0, b"ok\n")

    def test_a_prompt_that_begins_with_a_dash(self, run: Any) -> None:
        assert run("generate", "--choice=-5", "--", "-3 - 2 =").out == "-5\n"

    def test_a_folder_of_the_embedded_layout(self, run: Any, tmp_path: Path) -> None:
        shutil.copytree(WEIGHTS, tmp_path / "model")
        options = ("generate", "--regex", "[a-z]{9}", "--seed", "3", "Go")
        assert run(*options, "--model", str(tmp_path / "model")).out == run(*options).out

    def test_a_folder_of_transformers(self, run: Any, folder: Path) -> None:
        result = run("generate", "--model", str(folder), "--regex", "[0-9]{3}", "--seed", "0", "the answer is")
        assert (result.status, result.err) == (0, "")
        assert re.fullmatch("[0-9]{3}\n", result.out)


class TestAbout:
    def test_version(self, run: Any) -> None:
        result = run("--version")
        assert (result.status, result.out) == (0, f"detent {detent.__version__}\n")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--version"],
            ["--help"],
            ["generate", "--help"],
            ["serve", "--help"],
            ["genrate", "Go"],
            ["check", "--regx"],
        ],
        ids=" ".join,
    )
    def test_help_and_mistakes_load_no_command(self, arguments: list[str]) -> None:
        """The commands need NumPy and most of detent: it takes half a second to import."""
        code = f"""
import sys; from detent.cli import main
try: main({arguments})
finally: print(sorted(name for name in sys.modules if name.partition(".")[0] in ("detent", "numpy")))
"""
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        parts = ("", ".cli", ".cli.arguments", ".cli.commands", ".cli.main", ".cli.terminal", ".errors")
        assert result.stdout.splitlines()[-1] == str([f"detent{part}" for part in parts])

    @pytest.mark.parametrize("arguments", [["--help"], ["generate", "--help"]])
    def test_help(self, run: Any, arguments: list[str]) -> None:
        result = run(*arguments)
        assert result.status == 0
        assert "usage: detent" in result.out


class TestMistakes:
    def refused(self, result: Result, *mentions: str) -> None:
        assert result.status == 2
        assert result.out == ""
        assert result.err.startswith("detent: ")
        assert result.err.endswith("\n")
        assert "\n\n" not in result.err
        assert "Traceback" not in result.err
        for mention in mentions:
            assert mention in result.err

    def test_a_bad_pattern_keeps_its_caret(self, run: Any) -> None:
        result = run("generate", "--regex", "(ab", "Go")
        self.refused(result, "(ab")
        assert any(line.strip() == "^" for line in result.err.splitlines())

    @pytest.mark.parametrize("pattern", ["*a", "[b-a]", r"(a)\1", "a{2,1}", "(?P<n>a)(?P<n>b)"])
    def test_patterns(self, run: Any, pattern: str) -> None:
        self.refused(run("generate", "--regex", pattern, "Go"), pattern)

    def test_a_pattern_that_nothing_matches(self, run: Any) -> None:
        self.refused(run("generate", "--regex", r"[^\s\S]", "Go"))

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--max-tokens", "0"),
            ("--max-tokens", "-1"),
            ("--max-tokens", "1.5"),
            ("--max-tokens", "many"),
            ("--temperature", "-1"),
            ("--temperature", "nan"),
            ("--temperature", "inf"),
            ("--temperature", "hot"),
            ("--top-k", "0"),
            ("--top-p", "0"),
            ("--top-p", "1.5"),
            ("--ban", ""),
            ("--seed", "-1"),
            ("--seed", "x"),
        ],
    )
    def test_numbers(self, run: Any, option: str, value: str) -> None:
        result = run("generate", f"{option}={value}", "Go")
        self.refused(result, value)
        assert option.lstrip("-").replace("-", "_") in result.err.replace("-", "_")

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["generate"],
            ["generate", "a", "b"],
            ["frobnicate"],
            ["generate", "--frob", "Go"],
            ["generate", "--reg", "a", "Go"],
            ["generate", "--regex", "a", "--choice", "b", "Go"],
            ["generate", "Go", "--regex"],
        ],
        ids=str,
    )
    def test_usage(self, run: Any, arguments: list[str]) -> None:
        self.refused(run(*arguments), "--help")

    def test_a_folder_that_is_not_there(self, run: Any, tmp_path: Path) -> None:
        self.refused(run("generate", "--model", str(tmp_path / "no"), "Go"), str(tmp_path / "no"), "folder")

    def test_a_folder_without_a_model(self, run: Any, tmp_path: Path) -> None:
        self.refused(run("generate", "--model", str(tmp_path), "Go"), "config.json")

    def test_a_file_instead_of_a_folder(self, run: Any) -> None:
        self.refused(run("generate", "--model", __file__, "Go"), "folder")

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
    @pytest.mark.parametrize("content", [None, b"", b"{", b"\x00\xff" * 50], ids=["missing", "empty", "cut", "noise"])
    @pytest.mark.parametrize("kind", ["embedded", "transformers"])
    def test_damaged_folders(
        self, run: Any, tmp_path: Path, request: pytest.FixtureRequest, kind: str, name: str, content: bytes | None
    ) -> None:
        source = WEIGHTS if kind == "embedded" else request.getfixturevalue("folder")
        path = tmp_path / "model"
        shutil.copytree(source, path)
        (path / name).unlink()
        if content is not None:
            (path / name).write_bytes(content)
        self.refused(run("generate", "--model", str(path), "Go"))

    def test_a_prompt_that_is_not_text(self) -> None:
        arguments = [sys.executable, "-m", "detent", "generate", b"\xff"]
        result = subprocess.run(arguments, capture_output=True, check=False)
        self.refused(Result(result.returncode, result.stdout.decode(), result.stderr.decode()), "prompt")

    @pytest.mark.parametrize("locale", ["C", "C.UTF-8"])  # in these, Python reads wrong bytes as lone surrogates
    @pytest.mark.parametrize("arguments", [["generate", "-"], ["check", "--regex", "a", "-"], ["chat"]], ids=str)
    def test_standard_input_that_is_not_text(self, arguments: list[str], locale: str) -> None:
        environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": locale}
        process = command(
            *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        out, err = process.communicate(b"ab\xff\n")
        mention = "standard input is not UTF-8, at byte 2;"
        self.refused(Result(process.returncode, out.decode(), err.decode()), mention)

    def test_choices_that_are_not_text(self, run: Any) -> None:
        self.refused(run("generate", "--choice", "\udcff", "Go"), "--choice")


class TestTerminal:
    def test_a_reader_that_goes_away(self) -> None:
        process = command("generate", "--regex", "[ab]{400}", "Go", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == 141
        process.stderr.close()

    def test_an_interrupt(self) -> None:
        master, slave = pty.openpty()
        # A command takes over what its parent ignores, as tests in the background do.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        process = command(
            "generate", "--regex", "[ab]{1000}", "--max-tokens", "1500", "Go", stdout=slave, stderr=subprocess.PIPE
        )
        signal.signal(signal.SIGINT, before)
        os.close(slave)
        os.read(master, 1)  # the first piece: a terminal gets each at once
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == 130
        process.stderr.close()
        os.close(master)

    def test_progress_of_long_work_is_shown_and_wiped_out(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "config.json")  # reading it takes as long as we like
        master, slave = pty.openpty()
        process = command("generate", "--model", str(tmp_path), "Go", stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        seen = b""
        while not seen.endswith(b"..."):
            seen += os.read(master, 1000)
        assert seen == b"detent: loading the model ..."
        (tmp_path / "config.json").write_bytes(b"{")
        assert process.wait(60) == 2
        assert os.read(master, 10_000).startswith(b"\r\x1b[Kdetent: --model ")
        os.close(master)

    def test_a_terminal_that_is_not_utf8(self) -> None:
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        process = command("generate", "--choice", "né", "Go", stdout=subprocess.PIPE, env=environment)
        assert process.communicate()[0] == b"n\\xe9\n"
        assert process.returncode == 0


def test_importing_the_command_line_pulls_no_extras() -> None:
    code = "import sys, detent.cli; print(sorted({'torch', 'transformers', 'tokenizers', 'rich'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code]).strip() == b"[]"
