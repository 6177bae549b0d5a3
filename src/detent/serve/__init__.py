"""A server of OpenAI's API whose texts are held to their rules; needs the extra `serve`."""

from __future__ import annotations

from detent.serve.app import make_app
from detent.serve.settings import ServerSettings

__all__ = ["ServerSettings", "make_app"]
