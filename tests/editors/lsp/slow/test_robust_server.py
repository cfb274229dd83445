"""The server in a process of its own, by a client that does not follow the protocol, and files that are not as they should be."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
SECONDS = 90
Message = dict[str, Any]

FAILING = """
import sys
from njc.editors.lsp.serving.features import make_server

def fail(params):
    raise ZeroDivisionError("the handler failed")

server = make_server()
server.feature("njc/fail")(fail)
server.start_io()
"""


def write_message(method: str, params: Any, **more: Any) -> bytes:
    """Return a request or a notification as it is sent."""
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class RawClient:
    """A client that sends any bytes (state: the process, and a thread that reads its messages)."""

    def __init__(self, *command: str) -> None:
        arguments = command or ("-m", "njc", "lsp", "--stdio")
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.messages: queue.Queue[Message | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.number = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            while header.strip():
                if header.startswith(b"Content-Length"):
                    length = int(header.partition(b":")[2])
                header = self.process.stdout.readline()
            self.messages.put(json.loads(self.process.stdout.read(length)))
        self.messages.put(None)

    def write(self, method: str, params: Any, **more: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(write_message(method, params, **more))
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.write(method, params)

    def send(self, method: str, params: Any) -> int:
        self.number += 1
        self.write(method, params, id=self.number)
        return self.number

    def ask(self, method: str, params: Any) -> Message:
        """Return the response to a request."""
        number = self.send(method, params)
        return self.wait_for(lambda message: message.get("id") == number)

    def wait_for(self, is_wanted: Any) -> Message:
        while True:
            message = self.messages.get(timeout=SECONDS)
            assert message is not None, "the server has ended"
            if is_wanted(message):
                return message

    def findings(self, uri: str, version: int | None = 1) -> list[Message]:
        """Return the findings of a version, without hints."""

        def is_wanted(message: Message) -> bool:
            params = message.get("params") or {}
            return (params.get("uri"), params.get("version")) == (uri, version)

        found = self.wait_for(is_wanted)["params"]["diagnostics"]
        return [finding for finding in found if finding["severity"] < 4]

    def start(self, encodings: list[str] | None = None) -> Message:
        capabilities = {"general": {"positionEncodings": encodings}} if encodings else {}
        params = {"processId": None, "rootUri": None, "capabilities": capabilities}
        found = self.ask("initialize", params)
        self.notify("initialized", {})
        return dict(found["result"])

    def open(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "njpy", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def replace(self, uri: str, text: str) -> None:
        """Replace the text of an open document; its version is 2 then."""
        params = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", params)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def client() -> Iterator[RawClient]:
    started = RawClient()
    yield started
    started.end()


@pytest.fixture(scope="module")
def shared() -> Iterator[RawClient]:
    """Yield a server that several tests use."""
    started = RawClient()
    started.start(["utf-8", "utf-16"])
    yield started
    started.end()


PROGRAM = 'é = "😀"\n"""natural\n\tPut 😀 <é> and <undefined> into <:x>.\n"""\n'


@pytest.mark.parametrize(("encoding", "exit_code"), [("utf-8", 0), ("utf-32", 1)])
def test_positions_have_the_encoding_that_was_agreed_on(
    client: RawClient, encoding: str, exit_code: int
) -> None:
    """And the session ends with a code: 1 where the client has not shut the server down before."""
    result = client.start([encoding])
    assert result["capabilities"]["positionEncoding"] == encoding
    client.open("untitled:Untitled-1", PROGRAM.replace("\n", "\r\n"))
    (finding,) = client.findings("untitled:Untitled-1")
    before = PROGRAM.split("\n")[2].partition("<undefined>")[0]
    sizes = {"utf-8": len(before.encode()), "utf-16": len(before) + 1, "utf-32": len(before)}
    assert finding["range"]["start"] == {"line": 2, "character": sizes[encoding]}
    assert finding["range"]["end"]["character"] == sizes[encoding] + len("<undefined>")
    client.replace("untitled:Untitled-1", PROGRAM.replace("<undefined>", "<é>"))
    assert client.findings("untitled:Untitled-1", 2) == []
    if exit_code == 0:
        assert client.ask("shutdown", None)["result"] is None
    client.notify("exit", None)
    assert client.process.wait(SECONDS) == exit_code


def test_a_handler_that_fails_is_an_error_response() -> None:
    client = RawClient("-c", FAILING)
    try:
        client.start()
        error = client.ask("njc/fail", {})["error"]
        assert error["message"] == "ZeroDivisionError: the handler failed"
        client.open("untitled:a.njpy", "x = (")
        assert client.findings("untitled:a.njpy")[0]["code"] == "NJ001"
    finally:
        client.end()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("njc/compiledText", None),
        ("njc/compiledText", {}),
        ("njc/compiledText", []),
        ("njc/compiledText", {"textDocument": 1}),
        ("njc/compiledText", {"textDocument": {"uri": "file:///no/such.njpy"}}),
        ("workspace/executeCommand", {"command": "no.such.command"}),
        ("no/such/method", {}),
    ],
)
def test_wrong_requests_are_answered_with_errors(
    shared: RawClient, method: str, params: Any
) -> None:
    assert shared.ask(method, params)["error"]["message"]


def test_a_cancelled_request_is_answered(shared: RawClient) -> None:
    uri = "untitled:cancelled.njpy"
    shared.open(uri, PROGRAM)
    place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 8}}
    number = shared.send("textDocument/hover", place)
    shared.notify("$/cancelRequest", {"id": number})
    answered = shared.wait_for(lambda message: message.get("id") == number)
    assert "result" in answered or answered["error"]["code"] == -32800


def test_a_file_that_is_not_open_has_no_answers(shared: RawClient, tmp_path: Path) -> None:
    file = tmp_path / "closed.njpy"
    file.write_text(PROGRAM, encoding="utf-8")
    place = {"textDocument": {"uri": file.as_uri()}, "position": {"line": 0, "character": 0}}
    for method in ("hover", "definition", "completion", "prepareRename", "codeLens"):
        assert shared.ask(f"textDocument/{method}", place)["result"] is None


def test_a_deleted_file_that_is_open_is_known(shared: RawClient, tmp_path: Path) -> None:
    file = tmp_path / "mail.njpy"
    file.write_text("x = 1\n")
    shared.open(file.as_uri(), 'x = 1\n"""natural\nPut <y> into <:z>.\n"""\n')
    file.unlink()
    assert [it["code"] for it in shared.findings(file.as_uri())] == ["NJ201"]
    lenses = {"textDocument": {"uri": file.as_uri()}}
    assert shared.ask("textDocument/codeLens", lenses)["result"] == []


def test_a_huge_text_is_left_alone(shared: RawClient) -> None:
    uri = "untitled:huge.njpy"
    shared.open(uri, "x = 1\n" * 400_000)
    (finding,) = shared.findings(uri)
    assert finding["message"] == "njc analyses files of up to 2,000,000 characters"
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 1}}
    assert shared.ask("textDocument/hover", place)["result"] is None


def test_wrong_settings_are_shown_and_the_server_ends_with_its_client(
    client: RawClient, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.njc]\nsrcc = 1\n")
    uri = (tmp_path / "mail.njpy").as_uri()
    client.start()
    client.open(uri, '"""natural\nPut 1 into <:x>.\n"""\n')
    shown = client.wait_for(lambda message: message.get("method") == "window/showMessage")
    assert "unknown key `srcc`" in shown["params"]["message"]
    assert client.findings(uri) == []
    (tmp_path / "pyproject.toml").write_text('[tool.njc]\nwarnings = "error"\n')
    client.replace(uri, 'x = 1\n"""natural\nSay <None> and <:x>.\n"""\n')
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    found = client.wait_for(
        lambda message: any(
            it["severity"] == 1 for it in (message.get("params") or {}).get("diagnostics", ())
        )
    )
    assert found["params"]["diagnostics"][0]["code"] == "NJ203"
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.process.wait(SECONDS)


def test_lenses_tell_the_trace(shared: RawClient, tmp_path: Path) -> None:
    for name in ("tickets.njpy", "mailbox.njpy", "recordings", "traces"):
        copy = shutil.copytree if (ROOT / "examples" / name).is_dir() else shutil.copy
        copy(ROOT / "examples" / name, tmp_path / name)
    uri = (tmp_path / "mailbox.njpy").as_uri()
    shared.open(uri, (tmp_path / "mailbox.njpy").read_text(encoding="utf-8"))
    lenses = shared.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})["result"]
    titles = [lens["command"]["title"] for lens in lenses]
    assert any("runs, " in title and "calls, " in title for title in titles)


def test_input_from_a_file_is_answered(tmp_path: Path) -> None:
    """What the event loop cannot wait for is read by threads."""
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    session = tmp_path / "session"
    session.write_bytes(write_message("initialize", params, id=1))
    with session.open("rb") as opened:
        command = [sys.executable, "-m", "njc", "lsp"]
        ended = subprocess.run(command, stdin=opened, capture_output=True, timeout=SECONDS)
    assert b'"hoverProvider": true' in ended.stdout
    assert ended.returncode == 1
