"""The parser, and the arguments that several commands share: a rule, a model or tokenizer, and sampling."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from detent.errors import ArgumentError

__all__ = [
    "Commands",
    "Parser",
    "add_canonical",
    "add_command",
    "add_model",
    "add_rule",
    "add_sampling",
]

Commands = Any
"""What argparse's `add_subparsers` returns."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `ArgumentError`, and name the option that was probably meant."""

    _given: tuple[str, ...] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the arguments of this parser; those of a command come here too."""
        self._given = tuple(sys.argv[1:] if args is None else args)
        options, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            self.error(self._unknown(unknown[0]))
        return options, unknown

    def _unknown(self, argument: str) -> str:
        name = argument.split("=", 1)[0]
        known = [option for action in self._actions for option in action.option_strings]
        hint = _nearest(name, known) if name.startswith("-") else ""
        return f"unknown {'option' if name.startswith('-') else 'argument'} {name}{hint}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if self._subparsers is not None and action.choices is not None and value not in action.choices:
            self.error(f"there is no command {value}{_nearest(value, action.choices)}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """Raise the error of a wrong command; an unknown option is often the reason of another error."""
        known = {option for action in self._actions for option in action.option_strings}
        for argument in self._given if self._subparsers is None else ():
            if argument.startswith("--") and len(argument) > 2 and argument.split("=", 1)[0] not in known:
                message = self._unknown(argument)
                break
        raise ArgumentError(f"{message} (see {self.prog} --help)")


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names what was meant: what begins so, or else what is spelt nearly so."""
    names = list(known)
    similar = [each for each in names if each.startswith(name) and name.strip("-")]
    similar = similar or difflib.get_close_matches(name, names, 1)
    return f"; did you mean {similar[0]}?" if similar else ""


def add_command(commands: Commands, name: str, *, summary: str, description: str, example: str) -> Parser:
    """Add a command; `example` is shown below its options."""
    parser: Parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def add_rule(parser: Parser, *, required: bool) -> None:
    """Add the options that say what the text must be."""
    rule = parser.add_argument_group("rule").add_mutually_exclusive_group(required=required)
    rule.add_argument("--regex", metavar="PATTERN", help="what the whole text must match, in the syntax of Python's re")
    rule.add_argument(
        "--json-schema", metavar="SCHEMA", help="JSON Schema that the text is valid against: a file, or the JSON itself"
    )
    rule.add_argument(
        "--grammar",
        metavar="FILE",
        type=Path,
        help="grammar of the whole text, in Lark's notation; .gbnf and .ebnf files are in these notations",
    )
    rule.add_argument("--choice", metavar="TEXT", action="append", help="a text to choose; repeat it for each")


def add_model(parser: Parser) -> None:
    """Add the option --model."""
    parser.add_argument(
        "--model",
        metavar="PATH",
        type=Path,
        help="folder of a transformers model, or GGUF file (default: the model that comes with detent)",
    )


def add_sampling(parser: Parser) -> None:
    """Add the options of how tokens are chosen."""
    group = parser.add_argument_group("choice of tokens")
    group.add_argument("--max-tokens", metavar="N", type=int, default=256, help="most tokens to write (%(default)s)")
    group.add_argument("--temperature", metavar="T", type=float, help="0 is greedy (default: the model's own, or 0.7)")
    group.add_argument("--top-k", metavar="K", type=int, help="choose among the K likeliest tokens")
    group.add_argument(
        "--top-p", metavar="P", type=float, help="choose among the likeliest tokens of total probability P"
    )
    group.add_argument(
        "--min-p", metavar="P", type=float, help="choose among tokens at least P times as likely as the likeliest"
    )
    group.add_argument(
        "--ban",
        metavar="WORD",
        action="append",
        help="a word that must not be in the text, in upper or lower case; repeat it",
    )
    add_canonical(group)
    group.add_argument("--seed", metavar="N", type=int, help="makes the choices repeatable")


def add_canonical(group: Any) -> None:
    """Add the options of which tokenizations are allowed; without them, those that `generate` allows."""
    canonical = group.add_mutually_exclusive_group()
    canonical.add_argument(
        "--canonical",
        action="store_true",
        default=None,
        help="only tokens that the tokenizer itself would write for the text (default: if there is a rule, and this "
        "can be held exactly)",
    )
    canonical.add_argument(
        "--no-canonical", action="store_false", dest="canonical", help="allow every tokenization of the text"
    )
    canonical.add_argument(
        "--canonical-approximate",
        action="store_const",
        dest="canonical",
        const="approximate",
        help="the same, approximately for tokenizers that cannot be followed exactly",
    )
