"""The package's public names: one list, which the stub and the reference agree with; what importing them loads."""

from __future__ import annotations

import argparse
import ast
import importlib
import re
from pathlib import Path

import pytest

import detent
from detent.cli.commands import make_parser
from tests.support.python_process import run_python

ROOT = Path(__file__).parents[1]
REFERENCE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def documented() -> dict[str, set[str]]:
    """Return the names that docs/api.md describes, by module; a name with a dot is a member of a class."""
    found: dict[str, set[str]] = {}
    current = "detent"
    for kind, argument in re.findall(
        r"^\.\. (currentmodule|automodule|autofunction|autoclass):: (\S+)", REFERENCE, re.M
    ):
        if kind in ("currentmodule", "automodule"):
            current = argument
            module = importlib.import_module(argument)
            if kind == "automodule" and re.search(rf":: {re.escape(argument)}\n   :members:", REFERENCE):
                found.setdefault(argument, set()).update(module.__all__)
            continue
        module_name, _, name = argument.rpartition(".")
        found.setdefault(module_name or current, set()).add(name)
    return found


def test_the_reference_has_every_public_name() -> None:
    described = documented()
    everywhere = set().union(*described.values())
    assert set(detent.__all__) - {"__version__"} <= everywhere
    for module in ("analysis", "errors", "generation", "models", "tables", "testing"):
        missing = set(importlib.import_module(f"detent.{module}").__all__) - everywhere
        assert not missing, (module, missing)


def test_every_name_of_the_reference_exists() -> None:
    for module, names in documented().items():
        if module in ("detent.jax", "detent.torch", "detent.integrations.transformers"):
            pytest.importorskip(module.removeprefix("detent.").removeprefix("integrations."), reason="an extra")
        for name in names:
            assert hasattr(importlib.import_module(module), name), (module, name)


def test_the_reference_has_every_option_of_the_command_line() -> None:
    [commands] = [x for x in make_parser()._actions if isinstance(x, argparse._SubParsersAction)]
    reference = REFERENCE[REFERENCE.index("## Command line") :]
    described = set(re.findall(r"(--[a-z][a-z-]+)", reference + (ROOT / "docs" / "server.md").read_text("utf-8")))
    known = {"--help", "--version"}
    for command, parser in commands.choices.items():
        assert re.search(rf"\| `{command}[ `]", reference), command
        known |= {option for action in parser._actions for option in action.option_strings} - {"-h", "-o"}
    assert described <= known
    assert known - described == set()


@pytest.mark.parametrize("command", ["check", "explain", "compile", "tokenizers", "conformance"])
def test_the_reference_has_every_option_of_a_command(command: str) -> None:
    [commands] = [x for x in make_parser()._actions if isinstance(x, argparse._SubParsersAction)]
    table = REFERENCE[REFERENCE.index("\nOther options:") : REFERENCE.index("\n`generate` and `chat` also take:")]
    rows = [row.split(" | ") for row in table.splitlines() if f"`{command}`" in row.partition(" | ")[2]]
    described = {option for row in rows for option in re.findall(r"--[a-z][a-z-]+", row[0])}
    rule = {"--regex", "--json-schema", "--grammar", "--choice"}  # a table of their own
    parser = commands.choices[command]
    known = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    assert known - rule - {"--help", "--json"} == described


def test_every_public_name_is_there_and_listed() -> None:
    for name in detent.__all__:
        assert getattr(detent, name) is not None
    assert set(detent.__all__) <= set(dir(detent))
    assert not hasattr(detent, "no_such_name")


def test_the_stub_lists_the_public_names() -> None:
    tree = ast.parse((ROOT / "src" / "detent" / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {
        alias.asname: statement.module
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    modules = dict.fromkeys(vars(detent)["_MODULES"], "detent")
    assert imported == modules | {name: f"detent.{module}" for name, module in vars(detent)["_MODULE_OF"].items()}


def test_names_load_their_module_at_first_use() -> None:
    out = run_python(
        """
        import sys
        import detent
        print("numpy" in sys.modules, [name for name in sys.modules if name.startswith("detent.")])
        detent.compile, detent.Matcher, detent.allocate_mask
        print([name for name in ("detent.generation", "detent.models", "torch", "regex") if name in sys.modules])
        """
    )
    assert out == "False []\n[]\n"


def test_the_catalogue_of_errors_has_every_error() -> None:
    catalogue = (ROOT / "docs" / "errors.md").read_text("utf-8")
    assert set(re.findall(r"^## (\w+)$", catalogue, re.MULTILINE)) == set(detent.errors.__all__)


@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("torch", "import detent.torch", "torch"),
        ("jax", "import detent.jax", "jax"),
        ("pyarrow", "import detent.ray", "ray"),
        ("matplotlib", "detent.generate(detent.load_model(), 'a', detent.literal('b')).report.plot()", "plot"),
        ("llama_cpp", "detent.models.LlamaCpp('model.gguf')", "gguf"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package: str, code: str, extra: str) -> None:
    hidden = f"import sys; sys.modules[{package!r}] = None; import detent, detent.models\n"
    caught = "except Exception as error:\n    print(error)"
    assert f"pip install 'detent[{extra}]'" in run_python(f"{hidden}try:\n    {code}\n{caught}")
