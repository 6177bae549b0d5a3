"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "shared"

SHARED: Path | None = _FOLDER if _FOLDER.is_dir() else None
"""The folder of shared data beside the repository, or None."""

needs_shared = pytest.mark.skipif(SHARED is None, reason=f"needs the shared data in {_FOLDER}, which is not there")
