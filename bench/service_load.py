"""Measure the service of examples/service under load: 1,000 requests, 100 at once, on a loopback model of 50 ms.

    python bench/service_load.py               all three parts, each on a fresh service and database
    python bench/service_load.py --part faults --requests 200 --database postgresql+psycopg://...

    steady    the model answers every call
    faults    the model's server fails half of its calls: status 500, 429, closed connections, unreadable replies
    restart   the service is stopped with SIGTERM in the middle and started again; clients send requests again
              that were refused with 503 or found no open port

A request is answered if it got a final status: 201, or an error of the service. It is lost if it never got one; if its
connection broke it is sent again, and the break is counted. The last line of a part compares the answers with the database:
every ticket that was promised is in it, once. Memory is the peak of the service's process. Service, model and clients share the machine: on a busy one the times
mean little, and its load average is printed. Exits with 1 if a request was lost or a promise broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import uvicorn

ROOT = Path(__file__).parents[1]
SERVICE = ROOT / "compiled_out/examples/service"
PATIENCE = 120.0
"""Seconds that a request may take, all attempts together."""

Part = Literal["steady", "faults", "restart"]
TEAMS = ("billing", "shipping", "technical")


# ── The model's server ───────────────────────────────────────────────────────────────────────────


def make_model_app(failing: float, seconds: float, seed: int = 0) -> Any:
    """Make an ASGI application that answers chat completions; it fails a share of them."""
    choices = random.Random(seed)

    async def serve_model(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        message = await receive()
        while message.get("more_body"):
            message = await receive()
        await asyncio.sleep(seconds)
        body: Any = make_completion(choices.choice(TEAMS))
        status, headers = 200, [(b"content-type", b"application/json")]
        if choices.random() < failing:
            fault = choices.choice(("500", "429", "closed", "unreadable"))
            if fault == "closed":
                raise ConnectionAbortedError  # after no answer: uvicorn sends 500 and closes
            status = 200 if fault == "unreadable" else int(fault)
            body = {"unreadable": True} if fault == "unreadable" else {"error": {"message": fault}}
            headers += [(b"retry-after-ms", b"20")] if fault == "429" else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    return serve_model


def make_completion(team: str) -> Any:
    """Make the response of a model that has chosen a team."""
    text = json.dumps({"team": team, "urgent": team == "technical"})
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 160, "completion_tokens": 12, "total_tokens": 172}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "loopback",
        "choices": [choice],
        "usage": usage,
    }


# ── The processes ────────────────────────────────────────────────────────────────────────────────


def find_free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process listens on a port."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with status {process.returncode}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on port {port}")


@contextmanager
def running_model(failing: float, seconds: float) -> Iterator[str]:
    """Run the model's server in a separate process; yield its URL."""
    port = find_free_port()
    command = [sys.executable, __file__, "--model-server", str(port), str(failing), str(seconds)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


class ServiceProcess:
    """The service in a separate process; its port is the same after a restart."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        self.port = find_free_port()
        self._environ = {**environ, "TRIAGE_PORT": str(self.port), "PYTHONPATH": str(SERVICE)}
        self._log = log
        self.peak_bytes = 0
        self.cpu_seconds = 0.0

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "triage"], env=self._environ, stdout=log, stderr=log
            )
        wait_for_port(self.port, self._process)

    def stop(self) -> None:
        """Stop it by SIGTERM, and wait for its end."""
        self._process.send_signal(signal.SIGTERM)
        self._wait()

    def kill(self) -> None:
        """End it, if it runs."""
        if self._process.returncode is None:
            self._process.kill()
            self._wait()

    def _wait(self) -> None:
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.peak_bytes = max(self.peak_bytes, used.ru_maxrss * 1024)
        self.cpu_seconds += used.ru_utime + used.ru_stime


# ── The clients ──────────────────────────────────────────────────────────────────────────────────


@dataclass
class LoadResult:
    """The results of the requests (state: filled while they run)."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """Of each request, all its attempts together."""
    promised: set[str] = field(default_factory=set)
    """The tickets that were answered with 200 or 201."""
    attempts: int = 0
    refused: int = 0
    """Attempts answered by 503 and sent again, and those that found no open port."""
    broken: int = 0
    """Attempts whose connection broke after the request was sent."""
    unanswered: int = 0


async def send_once(port: int, ticket: str, message: str) -> tuple[int, float]:
    """Send one request on a new connection; return the status, and the seconds after which to try again."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        body = json.dumps({"message": message}).encode()
        head = (
            f"PUT /tickets/{ticket} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        response = await reader.read()
    finally:
        writer.close()
    if not response.startswith(b"HTTP/1.1 "):
        raise ConnectionResetError("no response")
    header = response.partition(b"\r\n\r\n")[0].decode().lower()
    waits = [line.split(":")[1] for line in header.split("\r\n") if line.startswith("retry-after:")]
    return int(header.split()[1]), float(waits[0]) if waits else 0.0


async def send_request(port: int, number: int, result: LoadResult, retries: bool) -> None:
    """Send a request, again if `retries` and it was refused, until it has its answer."""
    ticket, began = f"t{number}", time.monotonic()
    message = f"Message {number}: my parcel has not arrived."
    while time.monotonic() - began < PATIENCE:
        result.attempts += 1
        try:
            status, wait = await asyncio.wait_for(send_once(port, ticket, message), PATIENCE)
        except ConnectionRefusedError:
            result.refused += 1
            await asyncio.sleep(0.2)
            continue
        except (OSError, TimeoutError):
            result.broken += 1
            await asyncio.sleep(0.2)
            continue
        if status == 503 and retries:
            result.refused += 1
            await asyncio.sleep(wait * (0.75 + random.random() / 2))
            continue
        result.statuses[str(status)] += 1
        result.seconds.append(time.monotonic() - began)
        if status in (200, 201):
            result.promised.add(ticket)
        return
    result.unanswered += 1


async def send_all(
    service: ServiceProcess, requests: int, at_once: int, restarts: bool
) -> LoadResult:
    """Send all requests, `at_once` at a time; restart the service after a third of them."""
    result, numbers = LoadResult(), iter(range(requests))

    async def send_further() -> None:
        for number in numbers:
            await send_request(service.port, number, result, restarts)

    async def restart() -> None:
        while len(result.seconds) < requests / 3:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(service.stop)
        await asyncio.to_thread(service.start)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(send_further())
        if restarts:
            group.create_task(restart())
    return result


# ── One part ─────────────────────────────────────────────────────────────────────────────────────


def find_stored(database: str) -> Counter[str]:
    """Count the tickets in the database by their ids."""
    from sqlalchemy import create_engine, text

    engine = create_engine(database)
    with engine.connect() as connection:
        found = Counter(row.id for row in connection.execute(text("SELECT id FROM tickets")))
    engine.dispose()
    return found


def measure_part(part: Part, arguments: argparse.Namespace, folder: Path) -> bool:
    """Run one part and print its figures; return whether nothing was lost."""
    database = arguments.database or f"sqlite:///{folder / f'{part}.db'}"
    if arguments.database:
        from sqlalchemy import create_engine, text

        with create_engine(database).begin() as connection:
            connection.execute(text("DROP TABLE IF EXISTS tickets"))
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NJC_", "TRIAGE_"))
    }
    failing = 0.5 if part == "faults" else arguments.failing
    with running_model(failing, arguments.model_seconds) as url:
        environ = {
            **kept,
            "NJC_BASE_URL": url,
            "NJC_MODEL": "loopback",
            "TRIAGE_DATABASE": database,
        }
        service = ServiceProcess(environ, arguments.log or folder / "service.log")
        service.start()
        try:
            began = time.monotonic()
            result = asyncio.run(
                send_all(service, arguments.requests, arguments.at_once, part == "restart")
            )
            elapsed = time.monotonic() - began
            service.stop()
        finally:
            service.kill()
    stored = find_stored(database)
    return report_part(part, arguments, result, elapsed, service, stored)


def report_part(
    part: Part,
    arguments: argparse.Namespace,
    result: LoadResult,
    elapsed: float,
    service: ServiceProcess,
    stored: Counter[str],
) -> bool:
    """Print the figures of a part."""
    durations = sorted(result.seconds)
    p50, p99 = statistics.median(durations), durations[int(0.99 * (len(durations) - 1))]
    missing = len(result.promised - stored.keys())
    doubled = sum(count > 1 for count in stored.values())
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(result.statuses.items()))
    print(f"{part}")
    print(f"  answered    {len(durations):,} of {arguments.requests:,}: {statuses}")
    print(
        f"  time        p50 {p50:.2f} s, p99 {p99:.2f} s, {len(durations) / elapsed:.0f} a second"
    )
    cpu = f"{service.cpu_seconds / result.attempts * 1e3:.0f} ms of CPU an attempt, start included"
    print(f"  service     {service.peak_bytes / 1e6:.0f} MB; {cpu}")
    print(f"  refused     {result.refused:,} attempts, sent again")
    print(f"  lost        {result.unanswered} requests; {result.broken} connections broke")
    print(
        f"  database    {len(stored):,} tickets; {missing} promised and missing, {doubled} doubled"
    )
    # If the service restarts, a connection may break; the request is sent again.
    is_broken = result.broken and part != "restart"
    return not (result.unanswered or is_broken or missing or doubled)


def main() -> None:
    """Measure the parts."""
    if sys.argv[1:2] == ["--model-server"]:
        port, failing, seconds = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
        uvicorn.run(
            make_model_app(failing, seconds), port=port, log_level="critical", lifespan="off"
        )
        return
    parser = argparse.ArgumentParser(description="Measure examples/service under load.")
    parser.add_argument("--part", choices=get_args(Part), action="append", help="default: all")
    parser.add_argument("--requests", type=int, default=1000, help="default: 1000")
    parser.add_argument("--at-once", type=int, default=100, help="default: 100")
    parser.add_argument("--model-seconds", type=float, default=0.05, help="default: 0.05")
    parser.add_argument(
        "--failing",
        type=float,
        default=0.0,
        help="share of the model's calls that fail in other parts",
    )
    parser.add_argument("--database", help="URL of an empty database; default: SQLite in a file")
    parser.add_argument("--log", type=Path, help="file for the service's log")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parts = arguments.part or get_args(Part)
        print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before")
        kept = [measure_part(part, arguments, Path(folder)) for part in parts]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
