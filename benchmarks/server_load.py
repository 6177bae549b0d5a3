"""A server under load: latency, throughput beside the plain batch loop, bad clients, SIGTERM, and memory.

    python -m benchmarks.server_load --seconds 60 --at-once 200 --requests 20000

The server is a process of its own (`detent serve` with the embedded model); clients are asyncio connections of this
process. Each answer is checked against its schema. Figures depend on the machine; compare those of one run. Processor
seconds are those of the process that writes: the server, or the plain loop, without the time of other programs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import detent

CHAT = "/v1/chat/completions"
GOOD, BAD = "good", "bad"
"""The keys of the clients; the server serves keys in turns."""
SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 8 + number},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
        },
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    for number in range(20)
]


class Server:
    """A server process."""

    def __init__(self, *options: str) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        command = [sys.executable, "-m", "detent", "serve", "--port", str(self.port), *options]
        environment = {**os.environ, "DETENT_API_KEYS": f"{GOOD},{BAD}"}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)

    def megabytes(self) -> float:
        """Return the resident memory."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6

    def processor_seconds(self) -> float:
        """Return the processor time of the server so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def head_of(path: str, length: int, *more: str, key: str = GOOD) -> bytes:
    """Return the head of a request."""
    more = (f"Authorization: Bearer {key}", *more)
    return "\r\n".join(
        [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}", *more, "", ""]
    ).encode()


async def ask(port: int, body: dict[str, Any], *, path: str = CHAT) -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body).encode()
    writer.write(head_of(path, len(data), "Connection: close") + data)
    answer = await reader.read()
    writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    if b"text/event-stream" in head:
        return int(head.split()[1]), whole_of(rest)
    return int(head.split()[1]), json.loads(rest) if rest else None


def whole_of(stream: bytes) -> dict[str, Any]:
    """Return the answer that the events of a stream make together."""
    data = [line.removeprefix(b"data: ") for line in stream.split(b"\r\n") if line.startswith(b"data: ")]
    if data[-1].strip() != b"[DONE]":
        raise ValueError("the stream has no end")
    chunks = [json.loads(each) for each in data[:-1]]
    text = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
    return {"choices": [{"message": {"content": text}}], "usage": chunks[-1]["usage"]}


def body_of(number: int) -> dict[str, Any]:
    """Return a request; the numbers have different schemas and seeds."""
    schema = SCHEMAS[number % len(SCHEMAS)]
    return {
        "messages": [{"role": "user", "content": f"Person {number}. Write the person as JSON."}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "p", "schema": schema}},
        "seed": number,
        "max_tokens": 40,
    }


def is_right(number: int, answer: Any) -> bool:
    """Return whether an answer is valid."""
    schema = SCHEMAS[number % len(SCHEMAS)]
    person = json.loads(answer["choices"][0]["message"]["content"])
    length = schema["properties"]["name"]["maxLength"]
    return bool(person.keys() == {"name", "age"} and len(person["name"]) <= length and 0 <= person["age"] <= 150)


class Load:
    """Clients that ask one request after the other."""

    def __init__(self, server: Server, *, is_streamed: bool = False) -> None:
        self.server = server
        self._more = {"stream": True, "stream_options": {"include_usage": True}} if is_streamed else {}
        self.port = server.port
        self.seconds = 0.0
        self.processor = 0.0
        self.latencies: list[float] = []
        self.tokens = 0
        self.wrong = 0
        self._next = 0

    async def client(self, until: Callable[[], bool]) -> None:
        while not until():
            number, self._next = self._next, self._next + 1
            began = time.perf_counter()
            status, answer = await ask(self.port, {**body_of(number), **self._more})
            self.latencies.append(time.perf_counter() - began)
            if status != 200 or not is_right(number, answer):
                self.wrong += 1
            else:
                self.tokens += answer["usage"]["completion_tokens"]

    async def run(self, at_once: int, seconds: float) -> dict[str, float]:
        began, used = time.perf_counter(), self.server.processor_seconds()
        await asyncio.gather(*[self.client(lambda: time.perf_counter() - began > seconds) for _ in range(at_once)])
        self.seconds += time.perf_counter() - began
        self.processor += self.server.processor_seconds() - used
        return self.figures()

    def figures(self) -> dict[str, float]:
        """Return the figures of all runs so far."""
        ordered = sorted(self.latencies)
        return {
            "requests": len(ordered),
            "wrong": self.wrong,
            "p50_s": round(ordered[len(ordered) // 2], 3),
            "p99_s": round(ordered[int(len(ordered) * 0.99)], 3),
            "tokens_per_second": round(self.tokens / self.seconds, 1),
            "tokens_per_processor_second": round(self.tokens / self.processor, 1),
        }


def plain_batch(count: int, batch_size: int) -> dict[str, float]:
    """Return the tokens per second of `generate_batch` on the same requests."""
    model = detent.load_model()
    languages = [detent.json_schema(schema) for schema in SCHEMAS]
    requests = [
        detent.Request(body["messages"], languages[number % len(SCHEMAS)], seed=number, max_tokens=40)
        for number in range(count)
        for body in [body_of(number)]
    ]
    began, used = time.perf_counter(), time.process_time()
    outputs = detent.generate_batch(model, requests, batch_size=batch_size)
    tokens = sum(len(output.token_ids) for output in outputs)
    return {
        "tokens_per_second": round(tokens / (time.perf_counter() - began), 1),
        "tokens_per_processor_second": round(tokens / (time.process_time() - used), 1),
    }


async def slow_reader(port: int) -> None:
    """Ask for a stream, and read one byte a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps({**body_of(1), "stream": True}).encode()
    writer.write(head_of(CHAT, len(data), key=BAD) + data)
    while await reader.read(1):
        await asyncio.sleep(1)


async def leaver(port: int) -> None:
    """Ask for a stream, and leave after the first bytes, again and again."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        data = json.dumps({**body_of(2), "stream": True}).encode()
        writer.write(head_of(CHAT, len(data), key=BAD) + data)
        await reader.read(10)
        writer.close()
        await asyncio.sleep(0.2)


async def garbage(port: int) -> None:
    """Send what is no HTTP, no JSON, or no request."""
    source = random.Random(0)
    while True:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(source.randbytes(200))
        writer.close()
        await ask(port, {"messages": source.choice(["x", 3, [[]] * 9])})
        await asyncio.sleep(0.2)


async def giant(port: int) -> None:
    """Send 100 MB."""
    while True:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        key = f"Authorization: Bearer {BAD}"
        writer.write(f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(100):
                writer.write(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
                await writer.drain()
        except OSError:
            pass
        writer.close()
        await asyncio.sleep(1)


async def attack(port: int) -> None:
    """Be all bad clients, until the process ends."""
    print("ready", flush=True)
    await asyncio.gather(*(slow_reader(port) for _ in range(10)), leaver(port), garbage(port), giant(port))


def calm_and_attacked(server: Server, at_once: int, seconds: float, rounds: int = 4) -> dict[str, Any]:
    """Return the figures of good clients alone and beside bad ones, in turns: the machine has other work too.

    The bad ones are a process of their own, so that what they cost themselves delays no measurement.
    """
    calm, attacked = Load(server), Load(server)
    for _ in range(rounds):
        asyncio.run(calm.run(at_once, seconds / rounds))
        command = [sys.executable, "-m", "benchmarks.server_load", "--attack", str(server.port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as bad:
            assert bad.stdout is not None  # noqa: S101 - a pipe
            bad.stdout.readline()  # it runs
            asyncio.run(attacked.run(at_once, seconds / rounds))
            bad.kill()
    figures = calm.figures(), attacked.figures()
    ratio = round(figures[1]["p99_s"] / figures[0]["p99_s"], 2)
    return {"calm": figures[0], "attacked": figures[1], "p99_ratio": ratio}


async def terminated(server: Server, in_flight: int) -> dict[str, int]:
    """Return how many requests in flight are answered after SIGTERM."""
    tasks = [asyncio.ensure_future(ask(server.port, body_of(number))) for number in range(in_flight)]
    await asyncio.sleep(0.3)
    server.process.send_signal(signal.SIGTERM)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    answered = [isinstance(answer, tuple) and answer[0] == 200 for answer in answers]
    return {"in_flight": in_flight, "answered": sum(answered)}


def varied_schema(number: int) -> dict[str, Any]:
    """Return one of ever more schemas, of five kinds."""
    source = random.Random(number)
    kind = number % 5
    if kind == 0:
        return {
            "enum": [f"{source.choice('abcdefgh')}{source.randrange(10**6)}" for _ in range(source.randrange(2, 40))]
        }
    if kind == 1:
        return {"type": "integer", "minimum": source.randrange(1000), "maximum": 1000 + source.randrange(10**6)}
    if kind == 2:
        word, flag = f"p{source.randrange(1000)}", f"q{source.randrange(1000)}"
        text = {"type": "string", "maxLength": source.randrange(3, 9)}
        return {"type": "object", "properties": {word: text, flag: {"type": "boolean"}}, "additionalProperties": False}
    if kind == 3:
        item = {"type": "integer", "multipleOf": source.randrange(2, 30), "minimum": 0, "maximum": 999}
        return {"type": "array", "items": item, "minItems": 1, "maxItems": source.randrange(1, 4)}
    return {"type": "string", "pattern": f"^[a-z]{{{source.randrange(1, 5)}}}-[0-9]{{{source.randrange(1, 4)}}}$"}


def varied_body(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema and its request: three in ten are new, a third one of the last 200, the others one of fifty."""
    source = random.Random(number)
    draw = source.random()
    which = number if draw < 0.3 else source.randrange(max(1, number - 200), number + 1) if draw < 0.65 else draw * 50
    schema = varied_schema(int(which))
    messages = [{"role": "user", "content": f"Value {number % 37}?"}]
    form = {"type": "json_schema", "json_schema": {"name": "v", "schema": schema}}
    return schema, {"messages": messages, "response_format": form, "seed": number, "max_tokens": 32}


async def memory_curve(server: Server, requests: int) -> dict[str, Any]:
    """Return the memory of the server after each tenth of the requests, of ever more schemas."""
    from jsonschema import Draft202012Validator

    numbers = iter(range(requests))
    curve, wrong, done = [round(server.megabytes(), 1)], 0, 0

    async def client() -> None:
        nonlocal wrong, done
        for number in numbers:
            schema, body = varied_body(number)
            status, answer = await ask(server.port, body)
            text = answer["choices"][0]["message"]["content"] if status == 200 else "null"
            wrong += not Draft202012Validator(schema).is_valid(json.loads(text))
            done += 1
            if done % max(1, requests // 10) == 0:
                curve.append(round(server.megabytes(), 1))

    await asyncio.gather(*[client() for _ in range(32)])
    return {"requests": done, "wrong": wrong, "megabytes": curve}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--attack", type=int, metavar="PORT", help="only be the bad clients of a server")
    options = parser.parse_args()
    if options.attack:
        asyncio.run(attack(options.attack))
        return
    for part in options.parts:
        print(json.dumps({part: measure(part, options)}, indent=2), flush=True)


PARTS = ("load", "streams", "bad_clients", "memory", "sigterm")


def measure(part: str, options: argparse.Namespace) -> Any:
    """Return the figures of one part, with a server of its own."""
    is_load = part in ("load", "streams")
    batch = plain_batch(4 * options.at_once, 64) if is_load else {}
    server = Server("--max-running", "64", "--max-queued", "1000")
    try:
        if is_load:
            load = Load(server, is_streamed=part == "streams")
            return {"plain_batch": batch, "server": asyncio.run(load.run(options.at_once, options.seconds))}
        if part == "bad_clients":
            return calm_and_attacked(server, 32, options.seconds)
        if part == "memory":
            return asyncio.run(memory_curve(server, options.requests))
        return asyncio.run(terminated(server, 100))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
