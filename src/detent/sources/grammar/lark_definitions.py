"""The definitions of a Lark grammar: imports brought in, overrides and extensions applied, every name checked."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from detent.errors import PatternSyntaxError, UnsupportedError
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.lark_syntax import (
    Declaration,
    Definition,
    Ignored,
    Import,
    TerminalName,
    Usage,
    read_statements,
)
from detent.sources.grammar.tree import (
    Complement,
    Difference,
    Intersection,
    Repeat,
    RuleName,
    Sequence,
    TerminalNode,
    Tree,
    Union,
)
from detent.suggestions import did_you_mean

__all__ = ["Definitions", "leaves"]

# The grammars that come with lark; nothing else is read.
_LIBRARY = ("common", "lark", "python", "unicode")


class Definitions:
    """Rules and terminals by name, and what is ignored."""

    def __init__(self, source: GrammarText, limits: Limits, is_library: bool = False) -> None:
        self.source, self.limits = source, limits
        self.all: dict[str, Definition] = {}
        self.ignored: list[str] = []
        self.declared: set[str] = set()  # names of %declare; only libraries may have them
        statements = list(read_statements(source, limits))
        # As in Lark, imports come first, wherever they stand.
        for statement in statements:
            if isinstance(statement, Import):
                self._import(statement)
        for statement in statements:
            if isinstance(statement, Definition):
                self._define(statement)
            elif isinstance(statement, Ignored):
                self._ignore(statement)
            elif isinstance(statement, Declaration) and is_library:
                self.declared.update(statement.names)
            elif isinstance(statement, Declaration):
                what = f"%declare {statement.names[0]}: a declared name gets its text from a program"
                self.source.unsupported(what, statement.offset, "define it as a terminal or a rule")
        self._check()

    def _define(self, new: Definition) -> None:
        known = self.all.get(new.name)
        noun = "terminal" if new.is_terminal else "rule"
        if new.mode == "define" and known is not None:
            remedy = "write %override or %extend before it" if known.offset < 0 else "put the alternatives into one"
            self.source.malformed(f"{noun} {new.name!r} is defined twice", new.offset, remedy)
        if new.mode != "define" and known is None:
            remedy = "import or define it before"
            self.source.malformed(f"{noun} {new.name!r} is not defined, to {new.mode} it", new.offset, remedy)
        if new.mode == "extend" and known is not None:
            if known.parameters != new.parameters:
                self.source.malformed(f"{new.name!r} has other parameters", new.offset, "give it the same")
            new = replace(known, tree=Union((new.tree, known.tree)))
        self.all[new.name] = new

    def _ignore(self, statement: Ignored) -> None:
        tree = statement.tree
        if isinstance(tree, TerminalNode) and isinstance(tree.value, TerminalName):
            self.ignored.append(tree.value.name)
            return
        name = f"__IGNORE_{len(self.ignored)}"
        self.ignored.append(name)
        self.all[name] = Definition(name, tree, statement.offset, True)

    def _import(self, statement: Import) -> None:
        """Take over definitions of a grammar that comes with lark, and what they call, under longer names."""
        path = ".".join(statement.path)
        if statement.is_relative or path not in _LIBRARY:
            what = f"%import {path or next(iter(statement.names))}: no files are read"
            meant = "" if statement.is_relative else did_you_mean(path, _LIBRARY)
            remedy = f"import from {', '.join(_LIBRARY[:-1])} or {_LIBRARY[-1]}, or copy the definitions{meant}"
            self.source.unsupported(what, statement.offset, remedy)
        library = _library(path)
        waiting = list(statement.names)
        renamed = dict(statement.names)
        for name in waiting:
            if name in library.declared:
                what = f"%import {path}: {name} gets its text from a program"
                self.source.unsupported(what, statement.offset, "import parts that do without it")
            if name not in library.all:
                remedy = f"correct the name{did_you_mean(name, library.all)}"
                self.source.malformed(f"{path} has no {name!r}", statement.offset, remedy)
            for called in _called(library.all[name]):
                if called not in renamed:
                    renamed[called] = _mangled(called, path)
                    waiting.append(called)
        for name in waiting:
            definition, target = library.all[name], renamed[name]
            if target in self.all and name in statement.names:
                self.source.malformed(f"{target!r} is defined twice", statement.offset, "import it under another name")
            self.all[target] = replace(definition, name=target, tree=_with_names(definition.tree, renamed), offset=-1)

    def _check(self) -> None:
        """Raise where a name is used that is not defined, or a template not as it is defined."""
        known = self.all.keys() | self.declared
        for definition in self.all.values():
            for leaf in leaves([definition.tree]):
                name = leaf.name if isinstance(leaf, RuleName) else _name_of(leaf)
                if name is not None and name not in known and name not in definition.parameters:
                    noun = "rule" if name.strip("_").islower() else "terminal"
                    remedy = f"define it{did_you_mean(name, self._own_names())}"
                    self.source.malformed(f"{noun} {name!r} is not defined", max(leaf.offset, 0), remedy)
                if name is not None and name in self.all:
                    count = (
                        len(leaf.value.arguments)
                        if isinstance(leaf, TerminalNode) and isinstance(leaf.value, Usage)
                        else 0
                    )
                    wanted = len(self.all[name].parameters)
                    is_argument = isinstance(leaf, RuleName) and wanted
                    if count != wanted and not is_argument:
                        what = f"template {name!r} takes {wanted} arguments, got {count}"
                        self.source.malformed(what, max(leaf.offset, 0), "give it as many as it has parameters")
        for name in self.ignored:
            if name not in self.all:
                meant = did_you_mean(name, self._own_names())
                raise PatternSyntaxError(f"%ignore {name}: the terminal is not defined; define or import it{meant}")

    def _own_names(self) -> list[str]:
        """Return the names that the grammar itself defines or imports."""
        return [name for name in self.all if "__" not in name]


@cache
def _library(path: str) -> Definitions:
    """Read one of the few grammars that come with lark."""
    try:
        return Definitions(GrammarText(_library_text(path)), Limits(), is_library=True)
    except PatternSyntaxError as error:
        raise UnsupportedError(f"%import {path}: the installed lark's {path}.lark cannot be read: {error}") from None


def _mangled(name: str, path: str) -> str:
    """Return the name under which Lark takes over what was not named."""
    return f"{'_' if name.startswith('_') else ''}{path}__{name.removeprefix('_')}"


def _library_text(path: str) -> str:
    spec = importlib.util.find_spec("lark")
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise UnsupportedError(f"%import {path}: the grammar comes with the package lark; pip install lark")
    return (Path(folders[0]) / "grammars" / f"{path}.lark").read_text(encoding="utf-8")


def _name_of(leaf: TerminalNode) -> str | None:
    return leaf.value.name if isinstance(leaf.value, (TerminalName, Usage)) else None


def _called(definition: Definition) -> Iterator[str]:
    for leaf in leaves([definition.tree]):
        name = leaf.name if isinstance(leaf, RuleName) else _name_of(leaf)
        if name is not None and name not in definition.parameters:
            yield name


def leaves(trees: Iterable[Tree]) -> Iterator[RuleName | TerminalNode]:
    """Yield the names and leaves of trees, those in the arguments of templates included."""
    waiting = list(trees)
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, (RuleName, TerminalNode)):
            yield tree
            if isinstance(tree, TerminalNode) and isinstance(tree.value, Usage):
                waiting.extend(tree.value.arguments)
        elif isinstance(tree, (Repeat, Complement)):
            waiting.append(tree.part)
        elif isinstance(tree, Union):
            waiting.extend(reversed(tree.options))
        elif isinstance(tree, (Sequence, Intersection)):
            waiting.extend(reversed(tree.parts))


def _with_names(tree: Tree, names: dict[str, str]) -> Tree:
    """Return a tree of the library with other names; these trees are small, so recursion is safe."""
    if isinstance(tree, RuleName):
        return RuleName(names.get(tree.name, tree.name), -1)
    if isinstance(tree, TerminalNode):
        value = tree.value
        if isinstance(value, TerminalName):
            value = TerminalName(names[value.name])
        elif isinstance(value, Usage):
            value = Usage(names[value.name], tuple(_with_names(argument, names) for argument in value.arguments))
        return TerminalNode(value, -1)
    if isinstance(tree, Repeat):
        return Repeat(_with_names(tree.part, names), tree.minimum, tree.maximum)
    if isinstance(tree, Union):
        return Union(tuple(_with_names(option, names) for option in tree.options))
    if isinstance(tree, (Difference, Intersection, Complement)):
        raise AssertionError("Lark's own grammars have no such sign")
    return Sequence(tuple(_with_names(part, names) for part in tree.parts))
