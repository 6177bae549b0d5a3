"""The command line: `detent generate --regex PATTERN "prompt"`.

Standard output has the text and nothing else; the report, progress and errors go to standard error. A mistake of the
user is one paragraph and exit status 2, never a traceback; a traceback is a bug.

    0  the text was written
    2  the command is wrong: a bad pattern, a missing file, too few --max-tokens for any text
    130, 141  interrupted (Ctrl-C), or the reader of the output closed the pipe

The parser is argparse: the command line adds no dependency.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from detent import __version__
from detent.errors import ArgumentError, DetentError, ModelError
from detent.generation import Ban, stream
from detent.language import Language
from detent.models import Model, Transformers, load_model
from detent.sources.grammar import grammar
from detent.sources.json_schema import json_schema
from detent.sources.regex import regex

__all__ = ["main"]

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    >>> main(["generate", "--choice", "yes", "Agreed?"])
    yes
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that are not UTF-8
    try:
        options = _parser().parse_args(arguments)
        status = _generate(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The interpreter flushes standard output once more at exit: redirect that to /dev/null.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (DetentError, OSError) as error:
        sys.stderr.write(f"detent: {error}\n")
        return USAGE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="detent", description="Constrain the decoding of a language model to a language.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"detent {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    generate = commands.add_parser(
        "generate",
        help="write the continuation of a prompt",
        description="Write the continuation of a prompt that matches a regular expression, is valid against a JSON "
        "Schema, is in the language of a grammar, or is one of several texts.",
        epilog='Example: detent generate --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}" "What is the date?"',
        allow_abbrev=False,
    )
    generate.add_argument("prompt", help="the text to continue; - reads it from standard input")
    rule = generate.add_mutually_exclusive_group()
    rule.add_argument("--regex", metavar="PATTERN", help="what the whole text must match, in the syntax of Python's re")
    rule.add_argument("--json-schema", metavar="FILE", type=Path, help="JSON Schema that the text is valid against")
    rule.add_argument("--grammar", metavar="FILE", type=Path, help="grammar, in Lark's notation, of the whole text")
    rule.add_argument("--choice", metavar="TEXT", action="append", help="a text to choose; repeat it for each")
    generate.add_argument(
        "--model", metavar="PATH", type=Path, help="folder of a model (default: the one that comes with detent)"
    )
    generate.add_argument("--max-tokens", metavar="N", type=int, default=256, help="most tokens to write (%(default)s)")
    generate.add_argument(
        "--temperature", metavar="T", type=float, help="0 is greedy (default: the model's own, or 0.7)"
    )
    generate.add_argument("--top-k", metavar="K", type=int, help="choose among the K likeliest tokens")
    generate.add_argument(
        "--top-p", metavar="P", type=float, help="choose among the likeliest tokens of total probability P"
    )
    generate.add_argument(
        "--min-p", metavar="P", type=float, help="choose among tokens at least P times as likely as the likeliest"
    )
    generate.add_argument(
        "--ban", metavar="WORD", action="append", help="a word that must not be in the text, in any case; repeat it"
    )
    generate.add_argument(
        "--canonical",
        action=argparse.BooleanOptionalAction,
        help="write only tokens that the model's tokenizer would write for the text (default: if there is a rule)",
    )
    generate.add_argument(
        "--canonical-approximate",
        action="store_const",
        dest="canonical",
        const="approximate",
        help="the same, approximately for tokenizers that cannot be followed exactly",
    )
    generate.add_argument("--seed", metavar="N", type=int, help="makes the choices repeatable")
    generate.add_argument("--report", action="store_true", help="write the report to standard error")
    return parser


def _generate(options: argparse.Namespace) -> int:
    prompt = _read_prompt() if options.prompt == "-" else options.prompt
    language = _language(options)
    with _progress("loading the model"):
        model = _model(options.model)
    with _progress("compiling the language"):
        pieces = stream(
            model,
            prompt,
            language,
            canonical=options.canonical,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            seed=options.seed,
            ban=None if options.ban is None else Ban(options.ban, ignore_case=True),
        )
    live = sys.stdout.isatty()
    for piece in pieces:
        sys.stdout.write(piece)
        if live:
            sys.stdout.flush()
    sys.stdout.write("\n")
    if options.report:
        sys.stdout.flush()
        sys.stderr.write(f"{pieces.output.report}\n")
    return 0


def _read_prompt() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"the prompt on standard input is not {error.encoding}, at byte {error.start}") from None


def _language(options: argparse.Namespace) -> Language | None:
    for option, text in (("--regex", options.regex), *(("--choice", text) for text in options.choice or ())):
        if text is not None and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ArgumentError(f"{option} {text!a} is not valid UTF-8") from None
    if options.regex is not None:
        return regex(options.regex)
    if options.json_schema is not None:
        return json_schema(_read("--json-schema", options.json_schema))
    if options.grammar is not None:
        return grammar(_read("--grammar", options.grammar))
    return None if options.choice is None else regex("|".join(map(re.escape, options.choice)))


def _read(option: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{option} {path}: is not UTF-8, at byte {error.start}") from None
    except OSError as error:
        raise ArgumentError(f"{option} {path}: {error.strerror}") from None


def _model(path: Path | None) -> Model:
    """Load the embedded model, a folder of its layout, or any other folder with transformers."""
    if path is None:
        return load_model()
    if not path.is_dir():
        raise ModelError(f"--model {path}: is not a folder; give one with a model saved in the transformers layout")
    try:
        config = json.loads((path / "config.json").read_bytes())
    except FileNotFoundError:
        raise ModelError(
            f"--model {path}: has no config.json; give the folder of a model saved in the transformers layout"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"--model {path}: config.json is not valid JSON: {error}") from None
    if isinstance(config, dict) and isinstance(config.get("chat_template"), dict):  # only the embedded layout has this
        return load_model(path)
    if not (find_spec("torch") and find_spec("transformers")):
        raise ModelError(f"--model {path}: needs torch and transformers: pip install torch transformers")
    return _transformers(path)


def _transformers(path: Path) -> Model:
    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(path, local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    except Exception as error:  # a defect may surface as anything from KeyError to SafetensorError
        raise ModelError(f"--model {path}: transformers cannot load it: {type(error).__name__}: {error}") from error
    return Transformers(model.eval(), tokenizer)


@contextlib.contextmanager
def _progress(what: str, after: float = 0.5) -> Iterator[None]:
    """Show `what` on standard error while the block runs, if that is a terminal and the block takes long."""
    if not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write(f"detent: {what} ...")
        sys.stderr.flush()

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
