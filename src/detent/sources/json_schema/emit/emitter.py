"""Emitter: from conjunctions of schemas to expressions of the core, each conjunction once.

Scalars are sets, emitted immediately. Objects and arrays are emitted along their plans (`objects`, `arrays`), which ask
for the expressions of their members and items by `yield`: the trampoline does on the heap what would be recursion over
the schema. A conjunction that is asked for while it is being emitted is recursive. It becomes a rule of a grammar; all
others are plain expressions.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TypeAlias

from detent import _core
from detent.errors import LimitError
from detent.limits import Limits
from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.assertions.diagnostics import self_reference
from detent.sources.json_schema.emit.arrays import emit_array
from detent.sources.json_schema.emit.nested_lists import NestedLists, are_taken
from detent.sources.json_schema.emit.objects import emit_object
from detent.sources.json_schema.emit.plain import PlainEmitter
from detent.sources.json_schema.emit.scalars import scalars_of
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import Continuation, InPlace, Request, Task, union_of
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.json_schema.parse.values import ARRAY, OBJECT
from detent.sources.json_schema.solve.array_plan import ArrayPlan
from detent.sources.json_schema.solve.merged import MergedAssertions
from detent.sources.json_schema.solve.object_plan import ObjectPlan
from detent.sources.json_schema.solve.solver import Solver
from detent.sources.json_schema.solve.splitting import split
from detent.sources.trampoline import trampoline

__all__ = ["Emitter"]

_Target: TypeAlias = Conjunction | Continuation


class Emitter:
    """Emits the conjunctions of one document in one spelling.

    `outermost`, if given, is the spelling of the document's own value where that is an object. `reader`, if given,
    makes the expressions of the schemas of the document that are plain, with all schemas inside.
    """

    def __init__(
        self,
        solver: Solver,
        spelling: Spelling,
        *,
        is_ordered: bool = True,
        outermost: Spelling | None = None,
        reader: _core.PlainReader | None = None,
    ) -> None:
        self.solver = solver
        self.spelling = spelling
        self.is_ordered = is_ordered
        self._outermost = outermost
        self._nodes: dict[_Target, _core.Node] = {solver.document.nothing: _core.empty()}
        self._rules: list[_core.Node] = []
        self._nested_lists = NestedLists()
        self._rule_of: dict[_Target, int] = {}
        self._active: dict[_Target, int] = {}
        """The conjunctions and continuations that are being emitted, with their depths."""
        self._value_depth = 0
        """The depth of the innermost active conjunction that is about a value of its own."""
        self._weights: dict[Conjunction, int] = {}
        self._outermost_objects: dict[Conjunction, Continuation] = {}
        self._plain = PlainEmitter(self, reader)

    def emit(self, conjunction: Conjunction | None = None) -> _core.Node:
        """Return the expression of the whole document, or of one conjunction."""
        document = self.solver.document
        if conjunction is not None:
            return self._emitted(conjunction)
        node = self._emitted(document.conjunction([document.root]))
        document.diagnostics.finish()
        return node

    def _emitted(self, root: Conjunction) -> _core.Node:
        start: Request = root if self._outermost is None else self._outermost_object(root, self._outermost)
        known = self.try_immediate(root) if start is root else None
        if known is not None:
            return known
        node = trampoline(self._visit, start)
        if self._rules:
            node = _core.grammar([*self._rules, node], len(self._rules))
        self._nested_lists.decide(node, self._rules)
        return node

    def takes_nested_lists(self, plan: ArrayPlan, items: _core.Node) -> bool:
        """See `ValueEmitter.takes_nested_lists`. Rules that are not complete yet count as empty where it is decided."""
        if self.solver.document.diagnostics.is_lenient:
            return are_taken(items, self._rules)
        self._nested_lists.add(plan, items)
        return True

    def try_immediate(self, conjunction: Conjunction) -> _core.Node | None:
        """Return the expression of a conjunction if it is known or needs no other; else None."""
        known = self._nodes.get(conjunction)
        if known is None:
            known = self._immediate(conjunction)
            if known is not None:
                self._nodes[conjunction] = known
        return known

    def _immediate(self, conjunction: Conjunction) -> _core.Node | None:
        if self.solver.document.plain_schema(conjunction) is not None:
            return self._plain.whole(self.solver.first_node(conjunction))
        merged = self.solver.merged(conjunction)
        if merged.is_empty:
            return _core.empty()
        if merged.is_trivial:
            return self.spelling.anything
        if not merged.kinds & (ARRAY | OBJECT) and not merged.disjunctions and not merged.negations:
            return union_of(self.scalars(merged))
        return None

    def _visit(self, request: Request) -> Task:
        """Emit the target of a request, or refer to the rule that it will be."""
        is_in_place = isinstance(request, InPlace)
        target = request.target if isinstance(request, InPlace) else request
        known = self._nodes.get(target)
        if known is not None:
            return known
        depth = self._active.get(target)
        if depth is not None:
            if is_in_place and depth >= self._value_depth:
                raise self_reference(self.solver.first_node(target))
            if target not in self._rule_of:
                self._rule_of[target] = len(self._rules)
                self._rules.append(_core.empty())
            return _core.reference(self._rule_of[target])
        outer_depth = self._value_depth
        self._active[target] = len(self._active)
        if not is_in_place:
            self._value_depth = len(self._active) - 1
        try:
            node = yield from (target.start() if isinstance(target, Continuation) else self._conjunction(target))
        except LimitError as error:
            if not isinstance(target, Conjunction):
                raise
            raise _located(error, self.solver.first_node(target)) from None
        self._value_depth = outer_depth
        del self._active[target]
        if target in self._rule_of:
            self._rules[self._rule_of[target]] = node
            node = _core.reference(self._rule_of[target])
        self._nodes[target] = node
        return node

    def _conjunction(self, conjunction: Conjunction) -> Task:
        plain = self.solver.document.plain_schema(conjunction)
        if plain is not None:
            return (yield from self._plain.emit(self.solver.first_node(conjunction), plain))
        merged = self.solver.merged(conjunction)
        if merged.is_empty:
            return _core.empty()
        parts: list[_core.Node] = []
        found = split(self.solver, merged, self._weights.get(conjunction, 1))
        if found is not None:
            for conjuncts in found.alternatives:
                inner = self.solver.document.conjunction(conjuncts)
                self._weights.setdefault(inner, found.weight)
                node = self.try_immediate(inner)
                parts.append(node if node is not None else (yield InPlace(inner)))
            return union_of(parts)
        if merged.is_trivial:
            return self.spelling.anything
        parts = self.scalars(merged)
        if merged.kinds & ARRAY:
            formulas = self.solver.formulas.about(merged, ARRAY)
            if formulas is not None:
                parts.append((yield from emit_array(self, ArrayPlan(self.solver, conjunction, formulas))))
        if merged.kinds & OBJECT:
            formulas = self.solver.formulas.about(merged, OBJECT)
            if formulas is not None:
                plan = ObjectPlan(self.solver, conjunction, self.spelling.member_order(merged.declared), formulas)
                parts.append((yield from emit_object(self, self.spelling, plan)))
        return union_of(parts)

    def _outermost_object(self, conjunction: Conjunction, spelling: Spelling) -> Continuation:
        """Return the document's own object, in a spelling of its own."""
        found = self._outermost_objects.get(conjunction)
        if found is None:
            found = Continuation(lambda: self._emit_outermost(conjunction, spelling))
            self._outermost_objects[conjunction] = found
        return found

    def _emit_outermost(self, conjunction: Conjunction, spelling: Spelling) -> Task:
        merged = self.solver.merged(conjunction)
        if merged.is_empty or not merged.kinds & OBJECT:
            return _core.empty()
        parts: list[_core.Node] = []
        found = split(self.solver, merged, self._weights.get(conjunction, 1))
        if found is not None:
            for conjuncts in found.alternatives:
                inner = self.solver.document.conjunction(conjuncts)
                self._weights.setdefault(inner, found.weight)
                parts.append((yield InPlace(self._outermost_object(inner, spelling))))
            return union_of(parts)
        formulas = self.solver.formulas.about(merged, OBJECT)
        if formulas is None:
            return _core.empty()
        plan = ObjectPlan(self.solver, conjunction, self.spelling.member_order(merged.declared), formulas)
        return (yield from emit_object(spelling.members(self), spelling, plan))

    def scalars(self, merged: MergedAssertions) -> list[_core.Node]:
        """Return the expressions of the scalars of a conjunction without disjunctions, one for each kind."""
        try:
            return scalars_of(self.solver, self.spelling, merged)
        except LimitError as error:
            raise _located(error, merged.node) from None


def _located(error: LimitError, node: SchemaNode | None) -> LimitError:
    """Return the error with the pointer of a schema, unless it is about the whole document or has one."""
    is_of_document = any(field.name == error.subject for field in fields(Limits))
    return error if node is None or error.pointer is not None or is_of_document else error.at(node.pointer())
