"""What a hostile client sends: each is a clean error, in time, and others are served."""

from __future__ import annotations

import functools
import http.client
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

import detent
from detent.errors import ArgumentError, ModelError
from detent.serve import ServerSettings
from detent.serve.connections import TimedConnection
from detent.serve.logs import Json
from detent.serve.rules import refuse_misspelt_names
from tests.serve.test_trust import QUICK, post

Serve = Callable[..., AbstractContextManager[str]]
CHAT = "/v1/chat/completions"
ASK = [{"role": "user", "content": "Hi"}]
DEEP_CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "[" * 100_000}}


def raw(url: str, data: bytes, *, wait: float = 5.0) -> bytes:
    """Send bytes, and return all that comes until the connection ends."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=wait) as client:
        client.sendall(data)
        received = b""
        try:
            while part := client.recv(65536):
                received += part
        except (TimeoutError, ConnectionResetError):
            pass
        return received


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (CHAT, {"messages": [{}] * 200_000}, "messages[0].role"),
        (CHAT, {"messages": ASK, "x" * 3_000_000: 1}, "x" * 80),
        (CHAT, {"messages": ASK, "model": "x" * 3_000_000}, "model"),
        (CHAT, {"messages": [{"role": "user", "content": "word " * 600_000}]}, "messages"),
        (CHAT, {"messages": [{"role": "x" * 1_000_000, "content": "Hi"}]}, "messages[0].role"),
        (
            CHAT,
            {"messages": ASK, "tool_choice": {"type": "function", "function": {"name": "x" * 10**6}}},
            "tool_choice",
        ),
        (CHAT, {"messages": ASK, "response_format": {"type": "x" * 1_000_000}}, "response_format.type"),
        (CHAT, {"messages": ASK, "logit_bias": {"9" * 1_000_000: "x"}}, "logit_bias." + "9" * 69),
        ("/v1/completions", {"prompt": "word " * 600_000}, "prompt"),
        ("/v1/completions", {"prompt": ["x"] * 100_000}, "prompt"),
        ("/v1/completions", {"prompt": "x", "n": 10**30}, "n"),
        (CHAT, {"messages": ASK, "logit_bias": {str(number): 1 for number in range(2000)}}, "logit_bias"),
        (CHAT, {"messages": ASK, "logit_bias": {"5": 1e308}}, "logit_bias"),
        (CHAT, {"messages": ASK, "logit_bias": {"٣": 1}}, "logit_bias"),
        (CHAT, {"messages": ASK, "logit_bias": {"9" * 5000: 1}}, "logit_bias"),
        (CHAT, {"messages": ASK, "max_tokens": 10**40}, None),
        (CHAT, {"messages": ASK, "top_k": -(10**40)}, "top_k"),
        (CHAT, {"messages": ASK, "temperature": 1e-308, "max_tokens": 3}, None),
        (CHAT, {"messages": ASK, "temperature": 1e308, "max_tokens": 3}, None),
        (CHAT, {"messages": ASK, "guided_json": "[" * 100_000}, "guided_json"),
        (CHAT, {"messages": ASK, "guided_json": {"pattern": "(" * 50_000}}, "guided_json"),
        (CHAT, {"messages": ASK, "stop": ["a" * 1_000_000] * 3, "max_tokens": 5}, None),
        (CHAT, {"messages": ASK, "ban": ["\\"] * 9, "max_tokens": 5}, None),
        (CHAT, {"messages": ASK, "structured_outputs": {"structural_tag": "[" * 100_000}}, None),
        (CHAT, {"messages": [*ASK, {"role": "assistant", "tool_calls": [DEEP_CALL]}], "max_tokens": 3}, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_large_and_odd_values(url: str, path: str, body: dict[str, Any], param: str | None) -> None:
    began = time.perf_counter()
    status, _, answer = post(url, body, path=path)
    assert status in (200, 400, 404), answer
    if param is not None:
        assert (status != 200, answer["error"]["param"][:80]) == (True, param)
        assert len(json.dumps(answer)) < 3000
    assert time.perf_counter() - began < 30
    assert post(url, QUICK)[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"messages": [{"role": "user", "content": "x"}], "guided_choice": ["\\ud800"]}',
        b'{"messages": [{"role": "user", "content": "x"}], "guided_json": {"const": "\\ud800"}}',
        b'{"messages": [{"role": "user", "content": "x"}], "\\u0000": 1}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": ' + b"9" * 5000 + b"}",
        b'{"messages": ' + b"[" * 100_000 + b"}",
        b'{"messages": [{"role": "user", "content": "x"}], "tools": ' + b'{"a":' * 50_000 + b"}",
        b"\x1f\x8b\x08\x00" + b"\x00" * 100,
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 3, "max_tokens": 900}',
        b'{"messages": [{"role": "user", "content": "x"}], "guided_json": {"type": "null", "type": "integer"}}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 3, "max\\u005ftokens": 900}',
        b'{"messages": [{"role": "user", "content": "x"}], "metadata": {"a": NaN}}',
        b'{"messages": [{"role": "user", "content": "x"}], "metadata": {"a": [-Infinity' + b", 1" * 50_000 + b"]}}",
    ],
    ids=range(13),
)
def test_odd_texts(url: str, body: bytes) -> None:
    status, _, answer = post(url, body, path=CHAT)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"


def request(body: Any, *headers: str, version: str = "1.1") -> bytes:
    data = json.dumps(body).encode()
    lines = [f"POST {CHAT} HTTP/{version}", "Connection: close", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def test_newlines_of_a_text_open_no_event(url: str, client: Any) -> None:
    evil = "a\n\ndata: [DONE]\r\rb"
    answer = raw(url, request({"messages": ASK, "stream": True, "guided_choice": [evil]}, "Host: x"))
    assert answer.count(b"data: [DONE]\n\n") == 1
    chunks = client.chat.completions.create(
        model="detent", messages=ASK, stream=True, extra_body={"guided_choice": [evil]}
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == evil


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 3\r\nContent-Length: 30\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +3\r\n",
        f"Content-Length: {'9' * 5000}\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "X: a\r\n b\x00\r\n",
    ],
)
def test_no_request_hides_in_another(url: str, head: str) -> None:
    hidden = b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = raw(url, f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode() + hidden)
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413", b"HTTP/1.1 501"))
    assert b'"object":"list"' not in answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", 400),  # RFC 9112, section 6.1
        ("Content-Length: 2\r\nContent-Encoding: gzip\r\n", 415),
        (f"Content-Length: 2\r\nX: {'a' * 40_000}\r\n", 431),
        ("Content-Length: 2\r\n" + "".join(f"X-{number}: y\r\n" for number in range(5000)), 431),
    ],
    ids=["two lengths", "gzip", "a long header", "many headers"],
)
def test_heads_that_are_refused(url: str, headers: str, status: int) -> None:
    hidden = b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = raw(url, f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode() + hidden)
    assert answer.startswith(f"HTTP/1.1 {status}".encode())
    assert b'"object":"list"' not in answer  # the connection is closed: nothing after it is a request


@pytest.mark.parametrize(
    ("field", "value"),
    [("n", True), ("n", "2"), ("n", 1.5), ("temperature", "1"), ("seed", "7"), ("stream", "yes"), ("logprobs", 1),
     ("max_tokens", "9"), ("canonical", "yes"), ("report", 1), ("logit_bias", {"5": "1"})],
)  # fmt: skip
def test_values_of_a_wrong_type(url: str, field: str, value: object) -> None:
    status, _, answer = post(url, {"messages": ASK, "max_tokens": 3, field: value}, path=CHAT)
    assert (status, answer["error"]["param"].split(".")[0]) == (400, field)


def test_a_field_of_another_object_is_named(url: str) -> None:
    status, _, answer = post(url, {"messages": ASK, "max_tokens": 3, "regex": "a+"}, path=CHAT)
    assert (status, answer["error"]["param"]) == (400, "regex")
    assert "a field of structured_outputs" in answer["error"]["message"]


def test_misspelt_names_of_a_schema(url: str) -> None:
    def ask(schema: object) -> tuple[int, Any]:
        status, _, answer = post(url, {"messages": ASK, "max_tokens": 20, "guided_json": schema}, path=CHAT)
        return status, answer

    with warnings.catch_warnings():
        refuse_misspelt_names()
        status, answer = ask({"type": "object", "propertes": {"a": {"type": "integer"}}})
        assert (status, answer["error"]["param"]) == (400, "guided_json")
        assert "write properties" in answer["error"]["message"]
        assert ask({"name": "string"})[0] == 400
        nested = {"type": "object", "properties": {"a\nb": {"type": "string", "maxLenght": 3}}}
        assert ask(nested)[0] == 400
        assert ask({"type": "integer", "x-unit": "m", "title": "Length", "format": "int64"})[0] == 200
        for _ in range(2):
            status, answer = ask({"type": "object", "properties": {"to": {"type": "string", "format": "emial"}}})
            assert (status, answer["error"]["param"]) == (400, "guided_json")
            assert "did you mean 'email'?" in answer["error"]["message"]
        assert ask({"type": "string", "format": "uuid4", "maxLength": 3})[0] == 200


def test_only_local_hosts_and_origins_without_keys(serve: Serve) -> None:
    with serve(hosts=["127.0.0.1", "localhost", "::1"]) as url:
        port = url.rsplit(":", 1)[1]
        small = {"messages": ASK, "max_tokens": 1}
        for host, origin, status in (
            (f"127.0.0.1:{port}", None, 200),
            ("LOCALHOST", f"http://localhost:{port}", 200),
            ("[::1]:8000", None, 200),
            ("evil.example", None, 403),
            (f"127.0.0.1:{port}", "https://evil.example", 403),
            (f"127.0.0.1:{port}", "null", 403),
            ("127.0.0.1.evil.example", None, 403),
            ("[::1", None, 403),
            ("evil@localhost", None, 403),
            ("localhost/evil", None, 403),
            ("localhost#evil", None, 403),
            ("localhost,evil", None, 403),
            ("localhost", "http://evil\\@localhost", 403),
            ("localhost", "http://localhost@evil.example", 403),
        ):
            headers = [f"Host: {host}", *([f"Origin: {origin}"] if origin else [])]
            assert raw(url, request(small, *headers)).startswith(f"HTTP/1.1 {status}".encode()), (host, origin)
        assert raw(url, request(small, version="1.0")).startswith(b"HTTP/1.1 403")


def test_keys_that_headers_cannot_carry() -> None:
    for key in ("schlüssel", " a", "a\n", ""):
        with pytest.raises(ArgumentError):
            ServerSettings(api_keys=[key])


@pytest.fixture
def quick_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("head_seconds", "body_seconds", "stall_seconds"):
        monkeypatch.setattr(TimedConnection, name, 0.5)


@pytest.mark.usefixtures("quick_timers")
def test_clients_that_do_nothing_are_cut_off(serve: Serve) -> None:
    with serve(http=TimedConnection) as url:
        body = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        done = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        for sent in (b"", b"GET /heal", body, body + b"{", done + b"GET /he"):
            began = time.perf_counter()
            answer = raw(url, sent, wait=9)
            assert 0.3 < time.perf_counter() - began < 4, sent
            assert answer.count(b"200 OK") == sent.count(b"health")
        host, port = url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port))
        for _ in range(3):  # one that is in time keeps its connection
            connection.request("POST", "/v1/completions", json.dumps(QUICK))
            assert connection.getresponse().read()
            time.sleep(0.7)
        connection.close()
        assert post(url, QUICK)[0] == 200


@pytest.mark.usefixtures("quick_timers")
def test_a_client_that_never_reads_is_cut_off(serve: Serve) -> None:
    with serve(http=TimedConnection) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port)))
            client.settimeout(10)
            client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 400)  # answers of many megabytes
            time.sleep(3)
            received, is_cut = 0, False
            try:
                while part := client.recv(1 << 20):
                    received += len(part)
                is_cut = True
            except ConnectionResetError:
                is_cut = True
            except TimeoutError:
                pass
        assert is_cut
        assert received < 10_000_000
        assert post(url, QUICK)[0] == 200


def test_a_failure_is_logged_without_what_was_sent(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    inner: Any = detent.load_model()

    class Broken:
        vocabulary, chat, encode, style = inner.vocabulary, True, inner.encode, "detent"

        def start(self, ids: Any) -> Any:
            raise ModelError("cannot read: secret prompt")

        def encode_chat(self, chat: Any) -> Any:
            return inner.encode_chat(chat)

    with serve(Broken()) as url, caplog.at_level(logging.INFO, "detent.serve"):
        assert post(url, {"messages": ASK, "max_tokens": 3}, path=CHAT)[0] == 500
    lines = [Json().format(record) for record in caplog.records if record.name == "detent.serve"]
    [failed] = [json.loads(line) for line in lines if "request failed" in line]
    assert failed["error"] == "ModelError"
    assert any("start" in frame for frame in failed["stack"])
    assert "secret" not in str(lines)


@pytest.fixture
def command(tmp_path: Any) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if key != "DETENT_API_KEYS"}
    arguments = [sys.executable, "-m", "detent", "serve", "--port", str(port)]
    # A shell that runs pytest in the background lets its processes ignore SIGINT.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, preexec_fn=heed) as process:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield process, f"http://127.0.0.1:{port}"
        process.kill()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where an earlier test has imported it
def test_sigterm_answers_what_is_in_flight(command: tuple[subprocess.Popen[bytes], str]) -> None:
    process, url = command
    assert post(url, QUICK)[0] == 200
    body = {"messages": ASK, "max_tokens": 20, "guided_regex": "[a-z]{20}"}
    connections = [http.client.HTTPConnection(url.removeprefix("http://")) for _ in range(100)]
    for connection in connections:
        connection.request("POST", CHAT, json.dumps(body))
    for _ in range(600):  # until all are read; those that are still on their way are not in flight
        with urllib.request.urlopen(f"{url}/ready") as answer:
            state = json.load(answer)
        if state["running"] + state["queued"] == len(connections):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    for connection in connections:
        answered = connection.getresponse()
        assert answered.status == 200
        [choice] = json.load(answered)["choices"]
        assert re.fullmatch("[a-z]{20}", choice["message"]["content"])
        connection.close()
    assert process.wait(30) == 0
    assert process.stderr is not None
    events = [json.loads(line)["event"] for line in process.stderr.read().splitlines()]
    assert (*events[:2], events[-1]) == ("started", "listening", "stopped")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where an earlier test has imported it
def test_sigterm_and_ctrl_c_end_an_idle_server(command: tuple[subprocess.Popen[bytes], str]) -> None:
    process, url = command
    taken = [sys.executable, "-m", "detent", "serve", "--port", url.rsplit(":", 1)[1]]
    second = subprocess.run(taken, capture_output=True, timeout=60, check=False)
    assert second.returncode == 2
    assert b"address already in use" in second.stderr
    assert b"give another --port" in second.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    with subprocess.Popen([*taken], stderr=subprocess.PIPE) as third:
        assert third.stderr is not None
        third.stderr.readline()  # it runs
        third.send_signal(signal.SIGTERM)
        assert third.wait(30) == 0
