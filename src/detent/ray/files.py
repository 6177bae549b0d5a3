"""generate_files: a job from Parquet files to Parquet files, which continues where it was stopped.

The input is divided into chunks of rows, in the order of its files. A worker writes a chunk into a file of a temporary
name and then renames it, so a chunk is either complete or absent: rows are neither lost nor doubled, whenever a worker
or the job is killed. ``manifest.json`` describes the input; an output folder with another manifest is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from detent.errors import ArgumentError
from detent.models import load_model as load_embedded_model
from detent.models.base import Model
from detent.ray.dataset import check_callables
from detent.ray.rows import MakeRequest, RowGenerator, check_columns

__all__ = ["JobSummary", "generate_files"]

_MANIFEST = "manifest.json"
_READ_ROWS = 1000


class JobSummary(NamedTuple):
    """The counts of the rows in a job's output folder.

    Attributes
    ----------
    rows : int
        Rows that were written, those of earlier runs among them.
    failed : int
        Those among them that have an error.
    token_count : int
        Tokens of the texts.
    """

    rows: int
    failed: int
    token_count: int


class _Chunk(NamedTuple):
    """Rows of an input file, and the file that they are written to."""

    source: str
    start: int
    stop: int
    target: str


def generate_files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    request: MakeRequest,
    *,
    load_model: Callable[[], Model] = load_embedded_model,
    workers: int = 1,
    batch_size: int = 32,
    rows_per_chunk: int = 1000,
    ray_options: Mapping[str, Any] | None = None,
) -> JobSummary:
    """Write a text for each row of Parquet files; a job that was stopped continues where it was.

    Parameters
    ----------
    source : path or sequence of paths
        Parquet files, or one folder of them. All workers must reach them under this path.
    output : path
        The folder of the results: the rows of the input with the columns that `generate` adds, in files
        ``part-00000.parquet``, ... in the order of the input. Give a changed request another folder: the manifest
        describes the input only.
    request, load_model, workers, batch_size, ray_options
        As in `generate`.
    rows_per_chunk : int
        Rows of one output file. A worker holds one chunk in memory, and loses at most one if it is killed.

    Returns
    -------
    JobSummary

    Raises
    ------
    ArgumentError
        There is no input, its columns have names of results, or the folder has results of another input.
    """
    check_callables(request, load_model)
    if rows_per_chunk < 1 or workers < 1 or batch_size < 1:
        raise ArgumentError("rows_per_chunk, workers and batch_size are at least 1")
    folder = Path(output).absolute()
    inputs = _inputs(source)
    chunks = list(_chunks(inputs, folder, rows_per_chunk))
    _check_manifest(folder, inputs, rows_per_chunk)
    missing = [chunk for chunk in chunks if not Path(chunk.target).exists()]
    for leftover in folder.glob("*.partial"):  # of workers that were killed
        leftover.unlink()
    if missing:
        _run(missing, request, load_model, workers, batch_size, ray_options or {})
    return _summary(chunks)


def _inputs(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> dict[str, int]:
    """Return the rows of each input file."""
    paths = [Path(source)] if isinstance(source, (str, os.PathLike)) else [Path(each) for each in source]
    if len(paths) == 1 and paths[0].is_dir():
        paths = sorted(paths[0].glob("*.parquet"))
    if not paths:
        raise ArgumentError(f"there is no Parquet file in {source}")
    rows = {}
    for path in paths:
        try:
            file = pyarrow.parquet.ParquetFile(path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise ArgumentError(f"cannot read {path} as a Parquet file: {error}") from None
        check_columns(file.schema_arrow.names)
        rows[str(path.absolute())] = file.metadata.num_rows
    return rows


def _chunks(inputs: Mapping[str, int], folder: Path, size: int) -> Iterator[_Chunk]:
    number = 0
    for path, rows in inputs.items():
        for start in range(0, rows, size):
            yield _Chunk(path, start, min(start + size, rows), str(folder / f"part-{number:05}.parquet"))
            number += 1


def _check_manifest(folder: Path, inputs: Mapping[str, int], rows_per_chunk: int) -> None:
    """Write the manifest of a new job; raise `ArgumentError` if the folder has that of another one."""
    manifest = {"version": 1, "inputs": dict(inputs), "rows_per_chunk": rows_per_chunk}
    path = folder / _MANIFEST
    if path.exists():
        known = json.loads(path.read_text())
        if known != manifest:
            changed = [name for name in manifest if known.get(name) != manifest[name]]
            raise ArgumentError(
                f"{folder} has results of another job: {changed[0]} was {known.get(changed[0])!r} and is "
                f"{manifest[changed[0]]!r}; give this job a folder of its own, or the former input to continue"
            )
        return
    if folder.exists() and any(folder.glob("part-*.parquet")):
        raise ArgumentError(f"{folder} has results without {_MANIFEST}; give the job an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".partial")
    temporary.write_text(json.dumps(manifest, indent=2) + "\n")
    temporary.replace(path)


def _run(
    chunks: Sequence[_Chunk],
    request: MakeRequest,
    load_model: Callable[[], Model],
    workers: int,
    batch_size: int,
    ray_options: Mapping[str, Any],
) -> None:
    import ray

    rows = [chunk._asdict() for chunk in chunks]
    written = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        _ChunkWriter,
        fn_constructor_args=(request, load_model, batch_size),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        **ray_options,
    )
    for _ in written.iter_batches(batch_size=None):  # Ray shows the progress; the rows are in the files
        pass


class _ChunkWriter:
    """The worker of a job: a model, and one chunk after the other."""

    def __init__(self, request: MakeRequest, load_model: Callable[[], Model], batch_size: int) -> None:
        self._rows = RowGenerator(load_model(), request, batch_size)
        self._batch_size = batch_size

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        for row in table.to_pylist():
            self._write(_Chunk(**row))
        return table.select(["target"])

    def _write(self, chunk: _Chunk) -> None:
        target = Path(chunk.target)
        if target.exists():  # a worker was lost after it had written this chunk
            return
        rows = _read_rows(chunk.source, chunk.start, chunk.stop)
        batches = [
            self._rows.add_to(rows.slice(start, self._batch_size)) for start in range(0, len(rows), self._batch_size)
        ]
        temporary = target.with_name(f"{target.name}.{uuid4().hex}.partial")
        pyarrow.parquet.write_table(pyarrow.concat_tables(batches), temporary)
        temporary.replace(target)


def _read_rows(path: str, start: int, stop: int) -> pyarrow.Table:
    """Return some rows of a Parquet file. Of the row groups that have them, no more is held than these rows."""
    file = pyarrow.parquet.ParquetFile(path)
    groups: list[int] = []
    first = position = 0
    for group in range(file.num_row_groups):
        after = position + file.metadata.row_group(group).num_rows
        if after > start and position < stop:
            if not groups:
                first = position
            groups.append(group)
        position = after
    kept = []
    position = first
    for batch in file.iter_batches(min(_READ_ROWS, stop - start), row_groups=groups):
        begin, end = max(start - position, 0), min(stop - position, len(batch))
        if begin < end:
            kept.append(batch.slice(begin, end - begin))
        position += len(batch)
        if position >= stop:
            break
    return pyarrow.Table.from_batches(kept)


def _summary(chunks: Sequence[_Chunk]) -> JobSummary:
    rows = failed = tokens = 0
    for chunk in chunks:
        columns = pyarrow.parquet.read_table(chunk.target, columns=["error", "token_count"])
        rows += len(columns)
        failed += len(columns) - columns["error"].null_count
        tokens += pyarrow.compute.sum(columns["token_count"]).as_py() or 0
    return JobSummary(rows, failed, tokens)
