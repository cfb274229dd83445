"""MCP servers whose answers are wrong: a call returns a value or raises ToolError, and the next one works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from njrt.mcp import McpServer, ToolConnectionError, ToolError
from odd_tool_server import RESULTS, OddWebServer

SERVER = Path(__file__).parents[2] / "servers" / "odd_tool_server.py"
FAILURES = {
    "no content": r"content\n +Field required",
    "an error": "boom",
    "an unheard part": r"content\.0",
    "a wrong structure": "'x' is not of type 'integer'",
}
VALUES = {
    "no base64": "[image: left out]",
    "no parts": "",
    "noise": "ok",
}


@pytest.mark.parametrize("way", sorted(RESULTS))
def test_a_wrong_answer(way: str) -> None:
    server = McpServer("odd", command=[sys.executable, str(SERVER), way], timeout=20)
    name, tools = server.list_tools()
    assert (name, [tool.name for tool in tools]) == ("odd 1", ["echo"])
    for _ in range(2):
        if way in FAILURES:
            with pytest.raises(ToolError, match=rf"(?s)odd\.echo: .*{FAILURES[way]}"):
                server.call("echo", {})
        else:
            assert server.call("echo", {}) == VALUES[way]
    server.close()


def test_a_session_that_the_server_forgets_is_opened_again_by_the_next_call() -> None:
    with OddWebServer() as web:
        server = McpServer("web", url=web.url, timeout=20)
        assert server.call("echo", {}) == "ok"
        web.sessions.clear()
        with pytest.raises(ToolConnectionError, match="Session not found"):
            server.call("echo", {})
        assert server.call("echo", {}) == "ok"
        assert len(web.calls) == web.opened == 2
        server.close()


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_an_error_of_http_names_its_status(status: int) -> None:
    with OddWebServer() as web:
        server = McpServer("web", url=web.url, timeout=20)
        assert server.call("echo", {}) == "ok"
        web.status = status
        with pytest.raises(ToolError, match=rf"web\.echo: .*HTTP {status} \w+"):
            server.call("echo", {})
        web.status = 200
        assert server.call("echo", {}) == "ok"
        server.close()
        web.status = status
        with pytest.raises(ToolError, match=rf"web\.echo: .*HTTP {status}"):
            server.call("echo", {})
        server.close()
