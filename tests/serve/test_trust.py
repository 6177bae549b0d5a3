"""What a server does with strangers: keys, rates, sizes, garbage, clients that leave, and texts that take too long."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import detent
from detent.generation.token_buffer import TokenBuffer
from detent.integrations.request_rule import RequestRule

Serve = Callable[..., AbstractContextManager[str]]


def post(url: str, body: Any, *, path: str = "/v1/completions", key: str | None = None) -> tuple[int, Any, Any]:
    """Return the status, the headers and the JSON of an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    if key is not None:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, json.load(error)


QUICK = {"prompt": "Agreed?", "guided_choice": ["yes", "no"]}


class Slow:
    """A model that takes its time at each pass."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passes = 0
        self.vocabulary = detent.Vocabulary([bytes([b]) for b in range(128)] + [b""], eos_token_ids=[128])
        function = detent.models.CallableModel(self.logits, self.vocabulary, encode=lambda text: [*text.encode()])
        self.encode, self.start = function.encode, function.start

    def logits(self, ids: Any) -> Any:
        self.passes += 1
        time.sleep(self.seconds)
        return np.zeros(129)


def test_keys(serve: Serve) -> None:
    with serve(api_keys=["first", "second"]) as url:
        assert post(url, QUICK, key="second")[0] == 200
        for key in (None, "third", "", "fi", "first "[:4]):
            status, headers, body = post(url, QUICK, key=key)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert body["error"]["code"] == "invalid_api_key"
        for path in ("/v1/models", "/api/tags"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(url + path)
            assert caught.value.code == 401
            caught.value.close()
        with urllib.request.urlopen(url + "/health") as answer:
            assert answer.read() == b"ok"


def test_rates(serve: Serve) -> None:
    with serve(requests_per_minute=12, api_keys=["a", "b"]) as url:
        answers = [post(url, QUICK, key="a") for _ in range(4)]
        assert [status for status, _, _ in answers] == [200, 200, 429, 429]
        assert 1 <= int(answers[-1][1]["Retry-After"]) <= 5
        assert post(url, QUICK, key="b")[0] == 200


def test_large_and_deep_bodies(serve: Serve) -> None:
    with serve(max_body_bytes=10_000) as url:
        assert post(url, b" " * 9_000 + json.dumps(QUICK).encode())[0] == 200
        assert post(url, b" " * 20_000)[0] == 413
        for _ in range(5):  # the answer is not lost while the client is still sending
            assert post(url, b" " * 20_000_000)[0] == 413
        address = url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(address[0], int(address[1]))
        chunks = iter([b" " * 4_000] * 8)
        connection.request("POST", "/v1/completions", chunks, {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        for body in (
            b"",
            b"{",
            b"[]",
            b"null",
            b"[" * 9_000,
            b'{"prompt": "\\ud800"}',
            b"\xff\xfe",
            b'{"prompt": NaN}',
        ):
            status, _, answer = post(url, body)
            assert (status, answer["error"]["type"]) == (400, "invalid_request_error"), body
        assert post(url, QUICK)[0] == 200


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_client_that_leaves_stops_its_text(serve: Serve, is_streamed: bool) -> None:
    model = Slow(0.02)
    with serve(model) as url:
        host, port = url.removeprefix("http://").split(":")
        text = {"prompt": "x", "max_tokens": 5000, "guided_regex": "[a-z]*", "stream": is_streamed}
        body = json.dumps(text).encode()
        with socket.create_connection((host, int(port))) as client:
            head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            if is_streamed:
                client.recv(1000)
            while not model.passes:
                time.sleep(0.01)
        time.sleep(0.3)
        passes = model.passes
        time.sleep(0.3)
        assert model.passes <= passes + 1
        assert "detent_running 0.0" in urllib.request.urlopen(f"{url}/metrics").read().decode()


def test_a_text_that_takes_too_long(serve: Serve) -> None:
    with serve(Slow(0.02), timeout_seconds=0.2) as url:
        body = {"prompt": "x", "max_tokens": 5000, "guided_regex": "[a-z]*"}
        status, _, answer = post(url, {**body, "guided_regex": "[a-z]{1000}"})
        assert (status, answer["error"]["code"]) == (504, "timeout")
        assert post(url, {**body, "max_tokens": 2})[0] == 200


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_rule_with_slow_masks_ends_as_an_error(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, is_streamed: bool
) -> None:
    fill_mask = TokenBuffer.fill_mask

    def slowly(buffer: TokenBuffer, mask: Any) -> None:
        end = time.thread_time() + 0.12
        while len(buffer.token_ids) % 2 and time.thread_time() < end:
            pass
        fill_mask(buffer, mask)

    monkeypatch.setattr(TokenBuffer, "fill_mask", slowly)
    monkeypatch.setattr("detent.serve.engine._SLOW_STEP_SECONDS", 0.3)
    with serve(Slow(0.001)) as url:
        body = {"prompt": "x", "max_tokens": 50, "guided_regex": "[a-z]{40}", "stream": is_streamed}
        if is_streamed:
            request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode())
            events = urllib.request.urlopen(request).read().decode().split("\n\n")
            answer = json.loads(events[-3].removeprefix("data: "))
            assert 4 <= len(events) <= 10
        else:
            status, _, answer = post(url, body)
            assert status == 400
        assert (answer["error"]["code"], answer["error"]["param"]) == ("limit_exceeded", "guided_regex")
        assert "simplify the rule" in answer["error"]["message"]
        assert post(url, {**body, "stream": False, "max_tokens": 5, "guided_regex": "[a-z]{4}"})[0] == 200


def test_a_rule_that_takes_too_long_is_the_requests_fault(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = RequestRule.language

    def slowly(rule: RequestRule) -> Any:
        time.sleep(0.6 if "slow" in rule.text else 0)
        return inner(rule)

    monkeypatch.setattr(RequestRule, "language", slowly)
    with serve(Slow(0.001), timeout_seconds=0.3) as url:
        status, _, answer = post(url, {"prompt": "x", "guided_regex": "slow"})
        assert (status, answer["error"]["code"], answer["error"]["param"]) == (400, "limit_exceeded", "guided_regex")
        assert "--timeout-seconds" in answer["error"]["message"]
        assert post(url, {"prompt": "x", "guided_regex": "ab"})[0] == 200


def test_a_full_server(serve: Serve) -> None:
    with serve(Slow(0.02), max_running=1, max_queued=1) as url:
        body = {"prompt": "x", "max_tokens": 64, "guided_regex": "[a-z]{60}"}
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(post(url, body)[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200, 200, 429, 429]


def test_a_model_that_fails_harms_one_request(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    model = Slow(0)
    logits = model.logits

    def fail(ids: Any) -> Any:
        if ids[0] == ord("!"):
            raise RuntimeError("broken")
        return logits(ids)

    model.start = detent.models.CallableModel(fail, model.vocabulary).start
    with serve(model) as url, caplog.at_level(logging.ERROR, "detent.serve"):
        status, _, answer = post(url, {**QUICK, "prompt": "!"})
        assert (status, answer["error"]["type"]) == (500, "server_error")
        assert "broken" not in json.dumps(answer)
        assert post(url, QUICK)[0] == 200


def test_logs_have_no_prompt_no_text_no_path_and_no_key(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), serve(api_keys=["secret-key"]) as url:
        post(url, {"prompt": "secret prompt", "guided_choice": ["secret text"]}, key="secret-key")
        post(url, {"prompt": "secret prompt", "guided_regex": "(secret"}, key="secret-key")
        post(url, {}, path="/secret-path", key="wrong-secret")
    lines = [record.getMessage() + str(getattr(record, "fields", "")) for record in caplog.records]
    ours = [line for line, record in zip(lines, caplog.records, strict=True) if record.name.startswith("detent")]
    assert len(ours) >= 3
    assert not [line for line in ours if "secret" in line]


def test_metrics(serve: Serve) -> None:
    with serve() as url:
        post(url, QUICK)
        post(url, {})
        with urllib.request.urlopen(url + "/metrics") as answer:
            text = answer.read().decode()
    assert 'detent_requests_total{path="/v1/completions",status="200"} 1.0' in text
    assert 'detent_requests_total{path="/v1/completions",status="400"} 1.0' in text
    assert "detent_running 0.0" in text
    assert "detent_compile_seconds_count 1.0" in text
