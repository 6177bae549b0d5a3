"""Metrics in the format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from detent.serve.admission import Admission

__all__ = ["Metrics"]

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """The counters of one server; each server has a registry of its own."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, admission: Admission) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "detent_requests", "Requests by path and status", ["path", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "detent_request_seconds", "Seconds of a request", ["path"], buckets=_SECONDS, registry=self._registry
        )
        self.prompt_tokens = Counter("detent_prompt_tokens", "Tokens of prompts", registry=self._registry)
        self.tokens = Counter("detent_tokens", "Tokens written", registry=self._registry)
        self.forced_tokens = Counter(
            "detent_forced_tokens", "Tokens written without asking the model", registry=self._registry
        )
        self.compile_seconds = Histogram(
            "detent_compile_seconds", "Seconds of compiling a rule", buckets=_SECONDS, registry=self._registry
        )
        for name, help_text, read in (
            ("detent_running", "Texts that are being written", lambda: admission.running),
            ("detent_queued", "Texts that wait", lambda: admission.queued),
        ):
            Gauge(name, help_text, registry=self._registry).set_function(read)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)
