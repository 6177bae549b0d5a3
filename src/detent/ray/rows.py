"""RowGenerator: one model and one cache of compiled rules, which write the text of each row of a table."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import pyarrow

from detent.errors import ArgumentError
from detent.generation.batch import run_batch
from detent.generation.output import Output
from detent.generation.request import PreparedRequest, Request
from detent.guide import Guide
from detent.models.base import Model

__all__ = ["COLUMNS", "MakeRequest", "Result", "RowGenerator", "check_columns"]

#: From a row to what is asked of the model.
MakeRequest: TypeAlias = Callable[[Mapping[str, Any]], Request]

_KEPT_BYTES = 512 << 20
"""The most memory of the compiled rules that a worker keeps; those that were not used for longest go first."""


class Result(NamedTuple):
    """What a row gets: a text or an error."""

    text: str | None = None
    finish_reason: str | None = None
    token_count: int | None = None
    error_type: str | None = None
    error: str | None = None


COLUMNS = Result._fields
"""The columns that results add to a table."""


def check_columns(names: Sequence[str]) -> None:
    """Raise `ArgumentError` if a table has a column of a result's name, which would be lost."""
    taken = sorted(set(names) & set(COLUMNS))
    if taken:
        raise ArgumentError(f"the input has a column {taken[0]!r}, which the output needs; rename or drop it")


class RowGenerator:
    """Write the text of each row.

    Parameters
    ----------
    model : Model
        The model of this worker.
    request : callable
        From a row to its `Request`.
    batch_size : int
        The most rows that the model reads in one pass.
    """

    def __init__(self, model: Model, request: MakeRequest, batch_size: int) -> None:
        self._model = model
        self._request = request
        self._batch_size = batch_size
        # The key of a rule that is no JSON is its identity: the cache holds the rule, so that the number is not reused.
        self._guides: OrderedDict[object, tuple[object, Guide]] = OrderedDict()

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> list[Result]:
        """Return the result of each row; an error of one row leaves the others as they are."""
        results: dict[int, Result] = {}
        prepared: dict[int, PreparedRequest] = {}
        for index, row in enumerate(rows):
            try:
                prepared[index] = self._prepare(row)
            except Exception as error:
                results[index] = _failed(error)
        for index, output in self._run(prepared).items():
            results[index] = _failed(output) if isinstance(output, Exception) else _written(output)
        self._evict()
        return [results[index] for index in range(len(rows))]

    def add_to(self, table: pyarrow.Table) -> pyarrow.Table:
        """Return a table with the columns of the results."""
        results = self(table.to_pylist())
        for position, column in enumerate(COLUMNS):
            kind = pyarrow.int64() if column == "token_count" else pyarrow.string()
            table = table.append_column(column, pyarrow.array([result[position] for result in results], kind))
        return table

    def _prepare(self, row: Mapping[str, Any]) -> PreparedRequest:
        request = self._request(row)
        if not isinstance(request, Request):
            raise ArgumentError(f"the request of a row is a detent.Request, got {type(request).__name__}")
        if request.samples != 1:
            raise ArgumentError(f"a row has one text, got samples={request.samples}; repeat the row with other seeds")
        key = _key(request)
        known = self._guides.get(key)
        found = PreparedRequest(self._model, request, known[1] if known else None)
        if request.language is not None:
            self._guides[key] = request.language, found.guide
            self._guides.move_to_end(key)
        return found

    def _evict(self) -> None:
        total = sum(guide.memory_bytes for _, guide in self._guides.values())
        while total > _KEPT_BYTES:
            _, (_, guide) = self._guides.popitem(last=False)
            total -= guide.memory_bytes

    def _run(self, prepared: Mapping[int, PreparedRequest]) -> dict[int, Output | Exception]:
        """Write the texts together; if that raises, each alone, so that only the rows at fault fail."""
        if not prepared:
            return {}
        try:
            outputs = run_batch(self._model, [(each, 0) for each in prepared.values()], self._batch_size)
        except Exception as error:
            if len(prepared) == 1:
                return dict.fromkeys(prepared, error)
            return {index: self._run({index: each})[index] for index, each in prepared.items()}
        return dict(zip(prepared, outputs, strict=True))


def _key(request: Request) -> object:
    """Return a key that equal rules of different rows share: their JSON, where they have one; else their identity."""
    rule: object = request.language
    if isinstance(rule, (dict, list, tuple)):
        with suppress(TypeError, ValueError):
            return type(rule), json.dumps(rule), request.canonical
    return id(rule), request.canonical


def _written(output: Output) -> Result:
    if output.value_error is not None:
        return _failed(output.value_error)._replace(
            text=output.text, finish_reason=output.finish_reason, token_count=len(output.token_ids)
        )
    return Result(output.text, output.finish_reason, len(output.token_ids))


def _failed(error: Exception) -> Result:
    return Result(error_type=type(error).__name__, error=str(error))
