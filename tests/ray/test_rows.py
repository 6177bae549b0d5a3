"""The rows of a batch job and its files, without a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest

import detent
from detent.errors import ArgumentError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

from detent.ray import files  # noqa: E402
from detent.ray.rows import COLUMNS, RowGenerator  # noqa: E402

NUMBERS = detent.integer(0, 99)


def ask(row: Mapping[str, Any]) -> detent.Request:
    rule = json.loads(row["schema"]) if row.get("schema") else NUMBERS
    return detent.Request(row["prompt"], rule, temperature=0, max_tokens=row.get("max_tokens", 20))


@pytest.fixture(scope="module")
def model() -> Any:
    return detent.load_model()


def test_each_row_has_the_text_that_generate_writes(model: Any) -> None:
    rows = [{"prompt": f"What is {a} + {a}?"} for a in range(2, 7)]
    found = RowGenerator(model, ask, 3)(rows)
    texts = [detent.generate(model, row["prompt"], NUMBERS, temperature=0, max_tokens=20).text for row in rows]
    assert [result.text for result in found] == texts
    assert {result.finish_reason for result in found} == {"stop"}
    assert not any(result.error for result in found)


def test_an_error_is_the_result_of_its_row_alone(model: Any) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": "What is 2 + 2?"},
        {"prompt": 7},
        {"prompt": "What is 2 + 2?", "schema": '{"type": "integer", "minimum": 3, "maximum": 1}'},
        {},
        {"prompt": "What is 2 + 2?", "schema": '{"type": "string", "minLength": 30}', "max_tokens": 3},
        {"prompt": "What is 2 + 2?"},
    ]
    found = RowGenerator(model, ask, 8)(rows)
    assert [result.error_type for result in found] == [
        None,
        "ArgumentError",
        "EmptyLanguageError",
        "KeyError",
        "LimitError",
        None,
    ]
    assert found[0].text == found[-1].text == "4"
    assert "minimum 3 and maximum 1" in str(found[2].error)
    assert [result.text for result in found[1:5]] == [None] * 4


class FailsAfter:
    """The embedded model, whose passes raise for one prompt."""

    def __init__(self, model: Any, bad: str) -> None:
        self._model, self._bad = model, model.encode(bad)
        self.vocabulary, self.encode = model.vocabulary, model.encode

    def start(self, prompt: Any) -> Any:
        if list(prompt) == list(self._bad):
            raise RuntimeError("out of memory")
        return self._model.start(prompt)


def test_an_error_of_the_model_is_the_result_of_its_row_alone(model: Any) -> None:
    rows = [{"prompt": f"What is {a} + {a}?"} for a in range(2, 6)]
    found = RowGenerator(FailsAfter(model, rows[2]["prompt"]), ask, 8)(rows)  # type: ignore[arg-type]
    assert [result.error for result in found] == [None, None, "out of memory", None]
    assert [result.text is None for result in found] == [False, False, True, False]


def test_a_text_whose_value_fails_keeps_its_text(model: Any) -> None:
    pydantic = pytest.importorskip("pydantic")

    def refuse(value: str) -> str:
        raise ValueError("odd")

    model_type = pydantic.create_model("Never", name=(Annotated[str, pydantic.AfterValidator(refuse)], ...))
    rule = detent.json_schema(model_type)
    [found] = RowGenerator(model, lambda row: detent.Request("A name?", rule, temperature=0, max_tokens=12), 1)([{}])
    assert "odd" in str(found.error)
    assert found.text


def test_equal_schemas_are_compiled_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from detent.generation import request

    compiled = []
    compile_by_default = request.compile_by_default

    def counted(rule: Any, *arguments: Any) -> Any:
        compiled.append(rule)
        return compile_by_default(rule, *arguments)

    monkeypatch.setattr(request, "compile_by_default", counted)
    rows = [
        {"prompt": "What is 2 + 2?", "schema": json.dumps({"type": "integer", "maximum": 9 + n % 2})} for n in range(6)
    ]
    generator = RowGenerator(model, ask, 2)
    for start in range(0, 6, 2):
        generator(rows[start : start + 2])
    assert len(compiled) == 2


def test_a_row_has_one_text_and_a_request(model: Any) -> None:
    several = RowGenerator(model, lambda row: detent.Request("A?", samples=2), 1)
    assert several([{}])[0].error_type == "ArgumentError"
    none = RowGenerator(model, lambda row: "A?", 1)  # type: ignore[arg-type, return-value]
    assert "detent.Request" in str(none([{}])[0].error)


def write(path: Path, rows: int, start: int = 0, **options: Any) -> None:
    table = pyarrow.table({"id": range(start, start + rows), "prompt": [f"What is 2 + {n % 9}?" for n in range(rows)]})
    parquet.write_table(table, path, **options)


@pytest.mark.parametrize("group", [7, 50])
@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_rows_of_a_file_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, at_once: int) -> None:
    monkeypatch.setattr(files, "_READ_ROWS", at_once)
    write(tmp_path / "rows.parquet", 50, row_group_size=group)
    for start in range(50):
        for stop in range(start + 1, 51):
            rows = files._read_rows(str(tmp_path / "rows.parquet"), start, stop)
            assert rows["id"].to_pylist() == list(range(start, stop))


def test_a_chunk_of_a_large_row_group_takes_little_memory(tmp_path: Path) -> None:
    path, count = tmp_path / "rows.parquet", 100_000
    long = pyarrow.table({"id": range(count), "prompt": [f"{number} " * 100 for number in range(count)]})
    parquet.write_table(long, path, row_group_size=count)
    del long
    before = pyarrow.total_allocated_bytes()
    rows = files._read_rows(str(path), count - 1000, count)
    assert rows["id"].to_pylist() == list(range(count - 1000, count))
    assert pyarrow.total_allocated_bytes() - before < 4 << 20  # the row group takes 60 MB


def test_chunks_cover_the_input_once(tmp_path: Path) -> None:
    for number, rows in enumerate((10, 0, 3)):
        write(tmp_path / f"{number}.parquet", rows)
    inputs = files._inputs(tmp_path)
    chunks = list(files._chunks(inputs, tmp_path, 4))
    assert [(Path(each.source).name, each.start, each.stop) for each in chunks] == [
        ("0.parquet", 0, 4),
        ("0.parquet", 4, 8),
        ("0.parquet", 8, 10),
        ("2.parquet", 0, 3),
    ]
    assert len({each.target for each in chunks}) == 4


def test_a_chunk_is_written_whole_and_once(tmp_path: Path, model: Any) -> None:
    write(tmp_path / "rows.parquet", 5)
    [chunk] = files._chunks(files._inputs(tmp_path / "rows.parquet"), tmp_path / "out", 10)
    (tmp_path / "out").mkdir()
    writer = files._ChunkWriter(ask, lambda: model, 2)
    table = pyarrow.Table.from_pylist([chunk._asdict()])
    writer(table)
    found = parquet.read_table(chunk.target)
    assert found.column_names == ["id", "prompt", *COLUMNS]
    texts = [detent.generate(model, each, NUMBERS, temperature=0).text for each in found["prompt"].to_pylist()]
    assert found["text"].to_pylist() == texts
    written = Path(chunk.target).stat().st_mtime_ns
    writer(table)
    assert Path(chunk.target).stat().st_mtime_ns == written
    assert files._summary([chunk]) == files.JobSummary(5, 0, sum(found["token_count"].to_pylist()))
    assert not list((tmp_path / "out").glob("*.partial"))


def test_bad_jobs_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "rows.parquet", 3)
    (tmp_path / "out").mkdir()
    with pytest.raises(ArgumentError, match="no Parquet file"):
        files.generate_files(tmp_path / "out", tmp_path / "out", ask)
    with pytest.raises(ArgumentError, match="cannot read"):
        files.generate_files(tmp_path / "absent.parquet", tmp_path / "out", ask)
    with pytest.raises(ArgumentError, match=r"a function from a row to a detent\.Request, got str"):
        files.generate_files(tmp_path / "rows.parquet", tmp_path / "out", "prompt")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="at least 1"):
        files.generate_files(tmp_path / "rows.parquet", tmp_path / "out", ask, rows_per_chunk=0)
    parquet.write_table(pyarrow.table({"text": ["a"]}), tmp_path / "taken.parquet")
    with pytest.raises(ArgumentError, match="has a column 'text'"):
        files.generate_files(tmp_path / "taken.parquet", tmp_path / "out", ask)


def test_a_folder_belongs_to_one_job(tmp_path: Path) -> None:
    inputs = {"/a.parquet": 3}
    files._check_manifest(tmp_path / "out", inputs, 10)
    files._check_manifest(tmp_path / "out", inputs, 10)
    with pytest.raises(ArgumentError, match="results of another job: inputs was"):
        files._check_manifest(tmp_path / "out", {"/b.parquet": 3}, 10)
    with pytest.raises(ArgumentError, match="rows_per_chunk was 10 and is 20"):
        files._check_manifest(tmp_path / "out", inputs, 20)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-00000.parquet").touch()
    with pytest.raises(ArgumentError, match="an empty folder"):
        files._check_manifest(tmp_path / "other", inputs, 10)
