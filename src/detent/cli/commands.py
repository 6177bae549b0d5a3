"""The commands: their names, their options and their help.

This module imports nothing that a command needs to run, so that `--help` and a mistyped command are answered at once.
The module of this package with the name of a command runs it.
"""

from __future__ import annotations

from pathlib import Path

from detent import __version__
from detent.cli.arguments import (
    Commands,
    Parser,
    add_canonical,
    add_command,
    add_model,
    add_rule,
    add_sampling,
)

__all__ = ["make_parser"]


def make_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="detent", description="Constrain the decoding of a language model to a language.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"detent {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    _add_generate(commands)
    _add_chat(commands)
    _add_serve(commands)
    _add_check(commands)
    _add_explain(commands)
    _add_compile(commands)
    _add_tokenizers(commands)
    _add_conformance(commands)
    _add_completion(commands)
    return parser


def _add_generate(commands: Commands) -> None:
    parser = add_command(
        commands,
        "generate",
        summary="write the continuation of a prompt",
        description="Write the continuation of a prompt that matches a regular expression, is valid against a JSON\n"
        "Schema, is in the language of a grammar, or is one of several texts.",
        example='  detent generate --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}" "What is the date?"',
    )
    parser.add_argument("prompt", help="the text to continue; - reads it from standard input")
    add_rule(parser, required=False)
    add_model(parser)
    add_sampling(parser)
    parser.add_argument("--report", action="store_true", help="write the report to standard error")
    parser.add_argument(
        "--json", action="store_true", help="write one JSON object: text, value, reason of the end, report"
    )


def _add_chat(commands: Commands) -> None:
    parser = add_command(
        commands,
        "chat",
        summary="talk with a model, each answer held to a rule",
        description="Talk with a model that has a chat template. Each line is a message; an empty line or Ctrl-D ends\n"
        "the conversation. With a rule, each answer is one of its texts. With tools, the model may call them:\n"
        "the call is shown, and the next line is what it returns.",
        example='  detent chat --system "Answer in one sentence."\n  detent chat --tools tools.json',
    )
    parser.add_argument("--system", metavar="TEXT", help="the first message, of the role system")
    parser.add_argument(
        "--tools", metavar="FILE", help="tools that the model may call, a JSON list as OpenAI's API takes"
    )
    parser.add_argument("--style", metavar="NAME", help="the notation of the model's turns (default: the one it names)")
    add_rule(parser, required=False)
    add_model(parser)
    add_sampling(parser)


def _add_serve(commands: Commands) -> None:
    parser = add_command(
        commands,
        "serve",
        summary="run a server of OpenAI's API whose texts are held to their rules",
        description="Run a server of OpenAI's API (chat completions, completions, responses) and Ollama's chat.\n"
        "Its page at / is a playground: type a rule, and watch the model under it.\n"
        "Keys are read from the environment variable DETENT_API_KEYS, separated by commas, or from --api-key-file,\n"
        "one a line; without keys everybody may ask, so the server then listens on this machine alone.",
        example="  detent serve --port 8000\n  curl localhost:8000/v1/chat/completions -d "
        '\'{"messages": [{"role": "user", "content": "Hi"}]}\'',
    )
    add_model(parser)
    parser.add_argument("--name", help="the model's name for clients (default: that of its folder)")
    parser.add_argument("--style", help="the notation of the model's turns (default: the one it names)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", metavar="N", type=int, default=8000, help="port; 0 for any free one (%(default)s)")
    parser.add_argument("--api-key-file", metavar="FILE", type=Path, help="file of keys, one a line")
    parser.add_argument("--max-running", metavar="N", type=int, default=16, help="most texts at a time (%(default)s)")
    parser.add_argument("--max-queued", metavar="N", type=int, default=256, help="most waiting texts (%(default)s)")
    parser.add_argument(
        "--max-body-bytes", metavar="N", type=int, default=4 << 20, help="largest request (%(default)s)"
    )
    parser.add_argument(
        "--requests-per-minute", metavar="N", type=float, default=float("inf"), help="most requests of a key"
    )
    parser.add_argument(
        "--timeout-seconds", metavar="S", type=float, default=600.0, help="longest request (%(default)s)"
    )


def _add_check(commands: Commands) -> None:
    parser = add_command(
        commands,
        "check",
        summary="say whether a text is one of a rule, and where it stops",
        description="Say whether a text is one of a rule. If it is not, say where it leaves the rule, what was\n"
        "expected there, and give an example. The exit status is 0 or 1.",
        example='  detent check --regex "[0-9]{4}-[0-9]{2}" "2021-3"',
    )
    parser.add_argument(
        "text", help="the text; - reads it from standard input, and takes it with or without the line feed at its end"
    )
    add_rule(parser, required=True)
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _add_explain(commands: Commands) -> None:
    parser = add_command(
        commands,
        "explain",
        summary="show which tokens may follow a text, and why others may not",
        description="Show which tokens of a vocabulary may follow the beginning of a text, and, for the tokens of\n"
        "--next, why they may or may not. Tokens are those of generate: canonical where this can be held exactly.",
        example='  detent explain --regex "[0-9]{4}-[0-9]{2}" --next "-" --next "/" "2021"\n'
        '  detent explain --regex "[0-9]{4}-[0-9]{2}" -o page.html "2021"',
    )
    parser.add_argument("text", nargs="?", default="", help="the text so far (default: none)")
    add_rule(parser, required=True)
    parser.add_argument(
        "--tokenizer", metavar="PATH", type=Path, help="file or folder of a tokenizer (default: the embedded model's)"
    )
    parser.add_argument("--max-tokens", metavar="N", type=int, help="the tokens that are left after the text")
    add_canonical(parser)
    parser.add_argument("--next", metavar="TEXT", action="append", help="a token to explain, by its text; repeat it")
    parser.add_argument("--json", action="store_true", help="write one JSON object")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write a page instead: HTML that needs no other file"
    )


def _add_compile(commands: Commands) -> None:
    parser = add_command(
        commands,
        "compile",
        summary="compile a rule and show its size, its shortest text, how many there are, and warnings",
        description="Compile a rule for a vocabulary; show what it costs, its shortest text, how many texts it has,\n"
        "some samples, and what to be aware of.",
        example='  detent compile --json-schema \'{"type": "integer", "minimum": 0, "maximum": 99}\'',
    )
    add_rule(parser, required=True)
    parser.add_argument(
        "--tokenizer", metavar="PATH", type=Path, help="file or folder of a tokenizer (default: the embedded model's)"
    )
    add_canonical(parser)
    parser.add_argument("--samples", metavar="N", type=int, default=3, help="how many sample texts (%(default)s)")
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _add_tokenizers(commands: Commands) -> None:
    parser = add_command(
        commands,
        "tokenizers",
        summary="show what detent reads of tokenizers, and whether canonical tokens are exact for them",
        description="Show the size, the end-of-text and special tokens, the bytes without a token, and whether\n"
        "canonical tokens are exact, for each tokenizer.",
        example="  detent tokenizers tokenizer.json ./my-model",
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, help="files or folders of tokenizers (default: the embedded model's)"
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object a line")


def _add_conformance(commands: Commands) -> None:
    parser = add_command(
        commands,
        "conformance",
        summary="check what a server of OpenAI's API holds of the constraints that it accepts",
        description="Ask a server of OpenAI's API for texts under constraints, and check the answers. A constraint\n"
        "that the server refuses with an error is no failure. The exit status is 1 if a check fails\n"
        "or the server does.\n"
        "The API key is read from OPENAI_API_KEY.",
        example="  detent conformance http://127.0.0.1:8000",
    )
    parser.add_argument("url", help="the server")
    parser.add_argument("--model", metavar="NAME", help="the model (default: the first that the server has)")
    parser.add_argument("--kind", action="append", help="only the checks of a kind, such as schema; repeat it")
    parser.add_argument(
        "--schema-in-object",
        action="store_true",
        help="send schemas inside json_object, as llama.cpp's servers take them",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object a line")


def _add_completion(commands: Commands) -> None:
    parser = add_command(
        commands,
        "completion",
        summary="write a script that completes commands in a shell",
        description="Write a script that completes commands and options in a shell; needs the package shtab.",
        example="  detent completion bash > ~/.local/share/bash-completion/completions/detent",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")
