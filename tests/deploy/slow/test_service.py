"""The example service over HTTP: limits, faults, clients that leave, stopping. The models are scripted or loopback servers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from workplace import Workplace

import njrt
from loopback import Drop, Garbage, Raw, Status
from njrt.testing import Request, Scripted
from openai_server import OpenAIServer, says
from services import find_free_port
from waiting import HANG_SECONDS, wait_until

ROOT = Path(__file__).parents[3]
SERVICE = ROOT / "compiled_out/examples/service"
sys.path.insert(0, str(SERVICE))

import uvicorn  # noqa: E402

from triage import failures, settings, storage  # noqa: E402
from triage.__main__ import DrainingServer  # noqa: E402
from triage.admission import MAX_BODY_BYTES, Gate  # noqa: E402
from triage.service import make_app  # noqa: E402

GOOD = '{"team": "shipping", "urgent": true}'
SECRET = "s3cret-host.example"

Answer = tuple[int, Any, Mapping[str, str]]


class RunningService:
    """The service in a thread of this process."""

    def __init__(self, database: str, **given: Any) -> None:
        chosen = settings.ServiceSettings(
            database=database, **{"drain_seconds": 0.0, "stop_seconds": 10.0, **given}
        )
        self.gate = Gate()
        config = uvicorn.Config(
            make_app(chosen, self.gate), port=0, log_config=None, timeout_graceful_shutdown=1
        )
        self.server = DrainingServer(config, self.gate, chosen)
        self._thread = threading.Thread(target=njrt.carry(self.server.run))

    def __enter__(self) -> RunningService:
        self._thread.start()
        wait_until(lambda: self.server.started)
        self.port: int = self.server.servers[0].sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.server.handle_exit(signal.SIGTERM, None)
        self._thread.join(HANG_SECONDS)
        assert not self._thread.is_alive()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)

    def send(self, method: str, path: str, body: Any = None) -> http.client.HTTPConnection:
        """Send a request and do not wait for its answer."""
        connection = self.connect()
        data = body if isinstance(body, bytes | str | None) else json.dumps(body)
        connection.request(method, path, data, {"content-type": "application/json"})
        return connection

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return read_answer(self.send(method, path, body))

    def put(self, ticket: str = "a1", message: str = "Where is my parcel?") -> Answer:
        return self.ask("PUT", f"/tickets/{ticket}", {"message": message})

    def read_metric(self, line: str) -> float:
        """Return the value of one line of the metrics; 0 if it is not there yet."""
        text = self.send("GET", "/metrics").getresponse().read().decode()
        found = [row for row in text.splitlines() if row.startswith(f"{line} ")]
        return float(found[0].split()[-1]) if found else 0.0


def read_answer(connection: http.client.HTTPConnection) -> Answer:
    response = connection.getresponse()
    text = response.read().decode()
    headers = {name.lower(): value for name, value in response.getheaders()}
    connection.close()
    return response.status, json.loads(text), headers


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'triage.db'}"


class SlowModel(Scripted):
    """A model that answers when `release` is set; `asked` counts those who wait or have waited."""

    def __init__(self) -> None:
        super().__init__(lambda _: GOOD)
        self.release = threading.Event()
        self.asked = 0

    async def aask(self, request: Request) -> Any:
        import asyncio

        self.asked += 1
        while not self.release.is_set():
            await asyncio.sleep(0.01)
        return await super().aask(request)


@pytest.fixture
def slow() -> Iterator[SlowModel]:
    model = SlowModel()
    with njrt.using(model=model):
        yield model
    model.release.set()


def start_put(service: RunningService, ticket: str = "a1") -> http.client.HTTPConnection:
    return service.send("PUT", f"/tickets/{ticket}", {"message": "Where is my parcel?"})


# ── The example's own tests, and its settings ────────────────────────────────────────────────────


def test_the_tests_of_the_example_pass_offline() -> None:
    environ = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    words = ("-m", "pytest", "-q", "-p", "njrt.pytest_plugin", "-p", "no:cacheprovider")
    done = Workplace(ROOT / "examples/service").python(*words, environ=environ)
    assert "6 passed" in done.stdout


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"TRIAGE_PORT": "http"}, "TRIAGE_PORT: Input should be a valid integer"),
        ({"TRIAGE_PORT": "70000"}, "TRIAGE_PORT: Input should be less than or equal to 65535"),
        ({"TRIAGE_REQUEST_SECONDS": "0"}, "TRIAGE_REQUEST_SECONDS: Input should be greater than 0"),
        ({"TRIAGE_MAX_RUNNING": ""}, "TRIAGE_MAX_RUNNING: Input should be a valid integer"),
        ({"TRIAGE_DRAIN": "3"}, "TRIAGE_DRAIN: there is no such setting"),
    ],
)
def test_wrong_settings_are_named(environ: dict[str, str], line: str) -> None:
    with pytest.raises(ValueError, match="TRIAGE") as raised:
        settings.read_settings(environ)
    assert str(raised.value).startswith(line)


def test_every_setting_is_read_from_its_variable() -> None:
    chosen = settings.ServiceSettings(
        database="sqlite://", host="::", port=1, request_seconds=2, max_running=3, drain_seconds=4, stop_seconds=5
    )  # fmt: skip
    environ = {f"TRIAGE_{name.upper()}": str(value) for name, value in chosen}
    assert settings.read_settings({**environ, "PATH": "/bin"}) == chosen


# ── Errors become statuses ───────────────────────────────────────────────────────────────────────


def list_errors(root: type[njrt.NaturalError]) -> Iterator[type[njrt.NaturalError]]:
    yield root
    for child in root.__subclasses__():
        yield from list_errors(child)


STATUSES = {
    "AuthenticationError": 500,
    "BudgetError": 503,
    "CallLimitError": 502,
    "CodeTimeLimitError": 502,
    "ConfigurationError": 500,
    "CostLimitError": 503,
    "EffectLimitError": 502,
    "InterceptorError": 500,
    "LimitError": 502,
    "ModelError": 502,
    "ModelNotFoundError": 500,
    "NaturalError": 500,
    "OutputTypeError": 502,
    "Paused": 500,
    "PolicyError": 500,
    "RecordingError": 500,
    "RecordingMismatchError": 500,
    "RejectedRequestError": 502,
    "ReplyError": 502,
    "ServerError": 503,
    "StoreError": 503,
    "TimeLimitError": 504,
    "TokenLimitError": 502,
}


def test_every_error_of_the_runtime_has_a_status() -> None:
    errors = [kind for kind in list_errors(njrt.NaturalError) if kind.__module__ == "njrt.errors"]
    found = {kind.__name__: failures.describe_failure(kind("x")).status for kind in errors}
    assert {name: found[name] for name in STATUSES} == STATUSES
    assert all(400 <= status < 600 for status in found.values())


SERVER_FAULTS = [
    ("refused key", [Status(401, body={"error": {"message": SECRET}})], 500),
    ("unknown model", [Status(404, body={"error": {"message": SECRET}})] * 2, 500),
    ("rejected", [Status(400, body={"error": {"message": SECRET}})] * 2, 502),
    ("overloaded", [Status(429, retry_after=0.001)] * 4, 503),
    ("broken", [Status(500, retry_after=0.001)] * 4, 503),
    ("dropped", [Drop()] * 4, 503),
    ("no HTTP", [Garbage(b"\0\1\2\r\n\r\n")] * 4, 503),
    ("no JSON", [Raw("<html>" + SECRET)], 503),
    ("unusable", [says("I cannot tell.")] * 60, 502),
    ("wrong type", [says('{"team": "sales", "urgent": true}')] * 60, 502),
    ("recovered", [Status(500, retry_after=0.001), says(GOOD)], 201),
    ("corrected", [says('{"team": "sales", "urgent": true}'), says(GOOD)], 201),
]


def test_faults_of_the_server_of_the_model_become_statuses(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    with OpenAIServer(vendor=False, models=("m",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        monkeypatch.setenv("NJC_MODEL", "m")
        with RunningService(database) as service:
            for name, script, status in SERVER_FAULTS:
                server.script[:] = script
                answered, body, headers = service.put(name.replace(" ", "-"))
                found[name] = answered
                assert SECRET not in json.dumps(body)
                assert ("retry-after" in headers) == (status == 503), name
            assert service.read_metric('triage_requests_total{status="503"}') == 5
            assert service.read_metric('triage_model_calls_total{result="replied"}') >= 2
    assert found == {name: status for name, _, status in SERVER_FAULTS}


def test_an_exception_of_the_program_is_answered_and_counted(database: str) -> None:
    with njrt.using(model=Scripted([RuntimeError("a bug")])), RunningService(database) as service:
        connection = start_put(service)
        assert connection.getresponse().status == 500
        wait_until(lambda: service.read_metric('triage_requests_total{status="500"}') == 1)
        assert service.gate.running == 0


# ── Requests ─────────────────────────────────────────────────────────────────────────────────────

BODIES = [
    ("PUT", "/tickets/a1", {"message": ""}, 422),
    ("PUT", "/tickets/a1", {"message": "x" * 8001}, 422),
    ("PUT", "/tickets/a1", {"message": 7}, 422),
    ("PUT", "/tickets/a1", {}, 422),
    ("PUT", "/tickets/a1", b"\xff\xfe", 422),
    ("PUT", "/tickets/a1", "{", 422),
    ("PUT", "/tickets/a1", "[" * 20_000, 400),
    ("PUT", "/tickets/" + "a" * 65, {"message": "x"}, 422),
    ("PUT", "/tickets/a%20b", {"message": "x"}, 422),
    ("PUT", "/tickets/a%00", {"message": "x"}, 422),
    ("PUT", "/tickets/", {"message": "x"}, 404),
    ("GET", "/tickets/unknown", None, 404),
    ("DELETE", "/tickets/a1", None, 405),
]


def test_wrong_requests_ask_no_model_and_leave_nothing(database: str) -> None:
    model = Scripted([GOOD])
    with njrt.using(model=model), RunningService(database) as service:
        for method, path, body, status in BODIES:
            response = service.send(method, path, body).getresponse()
            assert response.status == status, (method, path, body, response.read())
        for header, value, status in (
            ("transfer-encoding", "chunked", 411),
            ("content-length", str(MAX_BODY_BYTES + 1), 413),
        ):
            connection = service.connect()
            connection.putrequest("PUT", "/tickets/a1")
            connection.putheader(header, value)
            # Without a body, which is refused unread: one on its way when the service closes could reset the connection.
            connection.endheaders()
            assert connection.getresponse().status == status
        assert service.ask("GET", "/tickets/a1")[0] == 404
        wait_until(lambda: service.gate.running == 0)
    assert model.requests == []


def test_one_ticket_sent_often_at_once_is_stored_once(database: str, slow: SlowModel) -> None:
    with RunningService(database) as service:
        connections = [start_put(service) for _ in range(20)]
        wait_until(lambda: slow.asked == 20)
        slow.release.set()
        answers = [read_answer(connection) for connection in connections]
        assert {status for status, *_ in answers} <= {200, 201}
        assert {json.dumps(body) for _, body, _ in answers} == {
            '{"id": "a1", "team": "shipping", "urgent": true}'
        }


def test_too_many_requests_at_once_are_refused(database: str, slow: SlowModel) -> None:
    with RunningService(database, max_running=2) as service:
        connections = [start_put(service, f"a{number}") for number in range(2)]
        wait_until(lambda: slow.asked == 2)
        status, body, headers = service.put("a3")
        assert (status, body["error"], headers["retry-after"]) == (503, "overloaded", "1")
        assert service.ask("GET", "/health/ready")[0] == 200
        slow.release.set()
        assert [read_answer(connection)[0] for connection in connections] == [201, 201]
        wait_until(lambda: service.gate.running == 0)
        assert service.put("a3")[0] == 201


def test_a_request_has_its_time(database: str, slow: SlowModel) -> None:
    with RunningService(database, request_seconds=0.3) as service:
        status, body, _ = service.put()
        assert (status, body["error"]) == (504, "too_slow")
        wait_until(lambda: service.gate.running == 0)
        slow.release.set()
        assert service.ask("GET", "/tickets/a1")[0] == 404
        assert service.put()[0] == 201


def test_a_body_that_does_not_come_has_its_time_too(database: str) -> None:
    with RunningService(database, request_seconds=0.3) as service:
        with socket.create_connection(("127.0.0.1", service.port), HANG_SECONDS) as client:
            client.sendall(b"PUT /tickets/a1 HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{")
            assert client.recv(100).startswith(b"HTTP/1.1 504 ")
        wait_until(lambda: service.gate.running == 0)


@pytest.mark.parametrize("how", ["close", "reset", "half a body"])
def test_a_client_that_leaves_cancels_its_request(database: str, slow: SlowModel, how: str) -> None:
    with RunningService(database) as service:
        if how == "half a body":
            client = socket.create_connection(("127.0.0.1", service.port), HANG_SECONDS)
            client.sendall(b"PUT /tickets/a1 HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{")
            wait_until(lambda: service.gate.running == 1)
            client.close()
        else:
            connection = start_put(service)
            wait_until(lambda: slow.asked == 1)
            if how == "reset":
                linger = (1).to_bytes(4, sys.byteorder) + (0).to_bytes(4, sys.byteorder)
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.close()
        wait_until(lambda: service.read_metric('triage_requests_total{status="499"}') == 1)
        assert service.gate.running == 0
        cancelled = service.read_metric('triage_model_calls_total{result="CancelledError"}')
        assert cancelled == (0 if how == "half a body" else 1)
        slow.release.set()
        assert service.ask("GET", "/tickets/a1")[0] == 404


# ── The database ─────────────────────────────────────────────────────────────────────────────────


def test_a_database_that_fails_is_an_answer_and_not_ready(tmp_path: Path) -> None:
    file = tmp_path / "triage.db"
    with njrt.using(model=Scripted([GOOD])), RunningService(f"sqlite:///{file}") as service:
        with contextlib.closing(__import__("sqlite3").connect(file)) as other:
            other.execute("DROP TABLE tickets")
        for status, body, _ in (service.put(), service.ask("GET", "/health/ready")):
            assert (status, body["error"]) == (503, "storage_unavailable")
        assert service.ask("GET", "/health/live")[0] == 200


def test_a_store_that_cannot_be_reached_is_not_ready(tmp_path: Path) -> None:
    store = storage.TicketStore(f"sqlite:///{tmp_path}/no/such/folder.db")
    with pytest.raises(Exception, match="unable to open") as raised:
        store.check()
    assert failures.describe_failure(raised.value) == failures.STORAGE


# ── Stopping ─────────────────────────────────────────────────────────────────────────────────────


def test_sigterm_finishes_what_runs_and_refuses_what_comes(tmp_path: Path) -> None:
    """In a process of its own: only there do signals come."""
    with OpenAIServer([says(GOOD)], vendor=False, models=("m",)) as server:
        answer_later = threading.Event()
        find_refusal = server.find_refusal

        def wait_and_find_refusal(seen: Any) -> Any:
            answer_later.wait(HANG_SECONDS)
            return find_refusal(seen)

        server.find_refusal = wait_and_find_refusal  # type: ignore[method-assign]
        port = find_free_port()
        environ = os.environ | {
            "NJC_BASE_URL": server.base_url, "NJC_MODEL": "m", "PYTHONPATH": str(SERVICE),
            "TRIAGE_PORT": str(port), "TRIAGE_DATABASE": f"sqlite:///{tmp_path / 'triage.db'}",
            "TRIAGE_DRAIN_SECONDS": "0.2", "TRIAGE_STOP_SECONDS": "60",
        }  # fmt: skip
        process = subprocess.Popen([sys.executable, "-m", "triage"], env=environ)
        try:
            service = RunningService.__new__(RunningService)
            service.port = port

            def is_ready() -> bool:
                with contextlib.suppress(OSError):
                    return service.ask("GET", "/health/ready")[0] == 200
                return False

            wait_until(is_ready)
            running = start_put(service)
            wait_until(lambda: server.connections == 1)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: service.ask("GET", "/health/ready")[0] == 503)
            status, body, headers = service.put("a2")
            assert (status, body["error"], headers["connection"]) == (503, "stopping", "close")
            assert service.ask("GET", "/health/live")[0] == 200
            assert process.poll() is None
            answer_later.set()
            status, body, headers = read_answer(running)
            assert (status, body["team"], headers["connection"]) == (201, "shipping", "close")
            assert process.wait(HANG_SECONDS) == -signal.SIGTERM
            with pytest.raises(ConnectionRefusedError):
                service.put("a3")
        finally:
            process.kill()
            process.wait()
    assert len(server.seen) == 1


def test_a_request_that_does_not_end_does_not_keep_the_service_from_stopping(
    database: str, slow: SlowModel
) -> None:
    with RunningService(database, stop_seconds=0.1) as service:
        connection = start_put(service)
        wait_until(lambda: slow.asked == 1)
    status, body, headers = read_answer(connection)
    assert (status, body["error"], headers["retry-after"]) == (503, "stopping", "1")


# ── docs/reference/deploying.md ────────────────────────────────────────────────────────────────────────────


def test_the_document_has_the_statuses_of_the_errors() -> None:
    document = (ROOT / "examples/service/README.md").read_text()
    rows = re.findall(r"^\| (`\w+`[^|]*) \| (\d+)([^|]*) \|", document, re.MULTILINE)
    shown = {
        name: (int(status), "Retry-After" in more)
        for names, status, more in rows
        for name in re.findall(r"`(\w+Error)`", names)
    }
    assert len(shown) > 6
    for name, (status, is_retried) in shown.items():
        failure = failures.describe_failure(getattr(njrt, name)("x"))
        assert (failure.status, failure.retry_after is not None) == (status, is_retried), name


def test_the_document_has_the_defaults_of_the_settings() -> None:
    document = " ".join((ROOT / "examples/service/README.md").read_text().split())
    found = re.findall(r"(\d+)[^()\d]*\(`TRIAGE_(\w+)`\)", document)
    assert len(found) == 4
    for number, name in found:
        assert getattr(settings.ServiceSettings(), name.lower()) == float(number)
