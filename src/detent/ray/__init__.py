"""Texts for many prompts on a cluster, with Ray (``pip install 'detent[ray]'``).

`generate` is a stage of a Ray Data pipeline. `generate_files` is a whole job from Parquet files to Parquet files, which
continues where it was stopped. In both, every worker has one model and one cache of compiled rules, and a row that
fails is a row with its error.
"""

from __future__ import annotations

try:
    from detent.ray.dataset import generate
    from detent.ray.files import JobSummary, generate_files
except ModuleNotFoundError as error:
    if error.name not in {"ray", "pyarrow"}:
        raise
    raise ModuleNotFoundError("detent.ray needs Ray: pip install 'detent[ray]'", name=error.name) from error

__all__ = ["JobSummary", "generate", "generate_files"]
