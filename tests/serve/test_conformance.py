"""`detent conformance`: our server holds all that it accepts, and a server that holds nothing fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from detent.cli import main
from detent.conformance import CHECKS


def test_our_server_holds_what_it_accepts(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", url, "--json"]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(results) == len(CHECKS)
    assert {result["name"] for result in results if result["verdict"] != "holds"} == {"thinking, then a schema"}


class Careless(BaseHTTPRequestHandler):
    """Accepts everything and holds nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("stream"):
            delta = {"choices": [{"index": 0, "delta": {"content": "Once"}, "finish_reason": "stop"}]}
            answer = f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n"
        else:
            message = {"role": "assistant", "content": "Once upon a time"}
            answer = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
        self._answer(answer)

    def do_GET(self) -> None:
        self._answer(json.dumps({"data": [{"id": "careless"}]}))

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def careless() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Careless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_that_holds_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with careless() as url:
        assert main(["conformance", url, "--json"]) == 1
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    held = {result["name"] for result in results if result["verdict"] == "holds"}
    assert held == {"no call if none is allowed"}


def test_what_is_asked_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "http://127.0.0.1:1"]) == 2
    assert "no server answers" in capsys.readouterr().err
    assert main(["conformance", "http://127.0.0.1:1", "--kind", "schem", "--model", "x"]) == 2
    assert "schema" in capsys.readouterr().err
