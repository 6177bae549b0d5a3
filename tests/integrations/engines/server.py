"""A server of an engine in a process of its own, and requests to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import detent
from tests.integrations.engines.cases import GRAMMAR, cases

_START_SECONDS = 300


class Server:
    """The address of a server that runs."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Return the status and the JSON of a response."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return response.status, json.load(response)
        except HTTPError as error:
            return error.code, json.loads(error.read())

    def chat(self, **options: Any) -> Any:
        """Return the only choice of a conversation of one sentence."""
        status, found = self.post("/v1/chat/completions", _conversation(options))
        assert status == 200, found
        return found["choices"][0]

    def refusal(self, **options: Any) -> str:
        """Return the message with which a conversation is refused, by status 400."""
        status, found = self.post("/v1/chat/completions", _conversation(options))
        assert status == 400, found
        return str(found)

    def is_ready(self) -> bool:
        """Whether the server answers."""
        try:
            with urllib.request.urlopen(self.address + "/health", timeout=5) as response:
                return bool(response.status == 200)
        except (URLError, OSError):
            return False


def check_answers(server: Server, rules: dict[str, dict[str, Any]], thinking: str) -> list[bool]:
    """Check that the answer under each rule is of it; return which messages have text in their field `thinking`.

    The options of each rule are in `rules`, under its name in `cases`.
    """
    found = []
    for name, rule in rules.items():
        choice = server.chat(**rule)
        text = choice["message"]["content"]
        if choice["finish_reason"] == "length":  # these servers hold no budget: a grammar that repeats may be cut off
            assert name == "grammar" and detent.gbnf(GRAMMAR).why(text + "\x00")
        else:
            assert cases()[name].is_right(text), (name, choice)
        found.append(bool(choice["message"].get(thinking)))
    return found


def _conversation(options: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Make up a person."}]
    return {"model": "model", "messages": messages, "max_tokens": 200, "temperature": 0, **options}


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[Server]:
    """Start a server; `{port}` in the command becomes a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [word.replace("{port}", str(port)) for word in command]
    with log.open("w") as output:
        process = subprocess.Popen(
            words, stdout=output, stderr=output, env={**os.environ, **environment}, start_new_session=True
        )
    server = Server(port)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not server.is_ready():
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-4000:]
            time.sleep(1)
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with suppress(ProcessLookupError):  # what is left of its processes
            os.killpg(process.pid, signal.SIGKILL)
