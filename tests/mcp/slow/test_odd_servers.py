"""MCP servers that break the protocol: their functions return a value or raise ToolError, and the next call works."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc
from njrt.mcp import McpServer, ToolConnectionError, ToolError
from odd_tool_server import NOISE, PAGES, RESULTS, OddWebServer

SERVER = Path(__file__).parents[2] / "servers" / "odd_tool_server.py"
REFUSED = {
    "no list": "the answer is not valid: tools: Input should be a valid list",
    "no schema": "the answer is not valid: tools.0.inputSchema: Field required",
}
FAILURES = {
    "no content": "the answer is not valid: content: Field required",
    "content of text": "the answer is not valid: content: Input should be a valid list",
    "an unheard part": "the answer is not valid: content.0",
    "no base64": "base64",
    "a task": "the answer is not valid: content: Field required",
    "a wrong structure": "'x' is not of type 'integer'",
    "no structure": "did not return structured content",
    "an error with the code of a lost connection": "boom",
    "an unheard type": "Invalid schema for tool echo",
    "an outside reference": "Invalid schema for tool echo",
}
VALUES = {"only structure": '{"n": "ö"}', "no parts": ""}
"""What the others return is `ok`."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    if found := sys.modules.pop(f"odd_{tmp_path.name}", None):
        found.server.close()


@pytest.mark.parametrize("way", sorted({*PAGES, *RESULTS, *NOISE}))
def test_a_way_to_break_the_protocol(folder: Path, way: str) -> None:
    name = f"odd_{folder.name}"
    words = ["mcp", "add", name, "--timeout", "20", "--", sys.executable, str(SERVER), way]
    added = CliRunner().invoke(njc, words)
    if way in REFUSED:
        assert added.exit_code == 2
        assert REFUSED[way] in added.output
        assert not list(folder.iterdir())
        return
    assert added.exit_code == 0, added.output
    assert "1 tool of odd 1" in added.output
    box = importlib.import_module(name)
    for _ in range(2):
        if way in FAILURES:
            with pytest.raises(ToolError, match=FAILURES[way]) as raised:
                box.echo()
            assert str(raised.value).startswith(f"{name}.echo: ")
        else:
            assert box.echo() == VALUES.get(way, "ok")


def test_an_expired_session_is_opened_again_without_a_second_call() -> None:
    with OddWebServer() as web:
        server = McpServer("web", url=web.url, timeout=20)
        assert server.call("echo", {}) == "ok"
        for calls in (2, 3):
            web.sessions.clear()
            assert server.call("echo", {}) == "ok"
            assert len(web.calls) == web.opened == calls
        server.close()


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_an_error_of_http_names_its_status(status: int) -> None:
    with OddWebServer() as web:
        server = McpServer("web", url=web.url, timeout=20)
        assert server.call("echo", {}) == "ok"
        web.status = status
        with pytest.raises(ToolError, match=rf"web\.echo: .*\(HTTP {status} \w+"):
            server.call("echo", {})
        web.status = 200
        assert server.call("echo", {}) == "ok"
        server.close()
        web.status = 401
        with pytest.raises(
            ToolConnectionError, match=r"no connection to .*\n.*HTTP 401 Unauthorized"
        ):
            server.call("echo", {})
        server.close()


CALLS = """\
import sys

from njrt.mcp import McpServer, ToolError
from odd_tool_server import OddWebServer

for way in ("rubbish", "notifications"):
    server = McpServer("odd", command=[sys.executable, sys.argv[1], way], timeout=20)
    print(server.call("echo", {}))
    server.close()
with OddWebServer() as web:
    server = McpServer("web", url=web.url, timeout=20)
    print(server.call("echo", {}))
    web.status = 201  # with an empty object as the answer
    try:
        server.call("echo", {})
    except ToolError as error:
        print(error)
    server.close()
"""


def test_no_traceback_of_the_sdk_is_printed(folder: Path) -> None:
    def start(*words: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "PYTHONPATH": str(SERVER.parent)}
        command = [sys.executable, *words]
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120)

    called = start("-c", CALLS, str(SERVER))
    assert called.stderr == ""
    *values, error = called.stdout.splitlines()
    assert values == ["ok"] * 3
    assert error.endswith("Failed to parse JSON response: no message of MCP")
    added = start("-m", "njc", "mcp", "add", "x", "--", sys.executable, "-c", "print('hi')")
    assert added.returncode == 2
    assert "Traceback" not in added.stderr
    assert (
        "a line that is not a message: 'hi'; a server prints to standard error only" in added.stderr
    )
