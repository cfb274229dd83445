"""An MCP server that breaks the protocol in one way, on standard input and output, by hand: `odd_tool_server.py WAY`.

`OddWebServer` is one at a URL: its sessions expire, and it answers calls with the status that it is given.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TEXT = {"content": [{"type": "text", "text": "ok"}]}
START = {"capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}

PAGES: dict[str, dict[str | None, Any]] = {
    "the same page for ever": {None: {"tools": [TOOL], "nextCursor": "2"}, "2": {"tools": [], "nextCursor": "2"}},
    "an empty first page": {None: {"tools": [], "nextCursor": "2"}, "2": {"tools": [TOOL]}},
    "an empty cursor": {None: {"tools": [TOOL], "nextCursor": ""}},
    "no list": {None: {"tools": {"echo": TOOL}}},
    "no schema": {None: {"tools": [{"name": "echo"}]}},
    "an unheard type": {None: {"tools": [{**TOOL, "outputSchema": {"type": "object", "properties": {"n": {"type": "odd"}}}}]}},
    "an outside reference": {None: {"tools": [{**TOOL, "outputSchema": {"type": "object", "properties": {"n": {"$ref": "http://127.0.0.1:9/"}}}}]}},
}  # fmt: skip
RESULTS: dict[str, Any] = {
    "no content": {},
    "an error with the code of a lost connection": None,
    "content of text": {"content": "text"},
    "an unheard part": {"content": [{"type": "smell", "data": "x"}]},
    "no base64": {"content": [{"type": "image", "data": "@@@not base64", "mimeType": "image/png"}]},
    "a task": {"task": {"taskId": "1", "status": "working"}},
    "only structure": {"content": [], "structuredContent": {"n": "ö"}},
    "no parts": {"content": []},
    "a wrong structure": {"content": [], "structuredContent": {"n": "x"}},
    "no structure": TEXT,
    "an unheard type": {"content": [], "structuredContent": {"n": 1}},
    "an outside reference": {"content": [], "structuredContent": {"n": 1}},
}
ERRORS = {"an error with the code of a lost connection": {"code": -32000, "message": "boom"}}
NOISE: dict[str, list[Any]] = {
    "rubbish": ["a text", "{", [1, 2], {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 99, "result": TEXT}],
    "notifications": [
        {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": held}
        for name, held in [("message", {"level": "shout", "data": 1}), ("tools/list_changed", {}), ("odd", {}), ("progress", {"progressToken": "none", "progress": "x"})]
    ],
    "bytes that are not UTF-8": [b"\xff\xfe log"],
    "requests": [
        {"jsonrpc": "2.0", "id": name, "method": name, "params": {"message": "?", "messages": [], "maxTokens": 5, "requestedSchema": {"type": "object", "properties": {}}}}
        for name in ("sampling/createMessage", "elicitation/create", "roots/list", "ping", "odd")
    ],
}  # fmt: skip


def answer(way: str, method: str, params: Any) -> Any:
    """Return the result of a request."""
    if method == "initialize":
        return {**START, "protocolVersion": params["protocolVersion"]}
    if method == "tools/list":
        needs = {"outputSchema": NUMBER} if way in ("a wrong structure", "no structure") else {}
        return PAGES.get(way, {None: {"tools": [{**TOOL, **needs}]}})[params.get("cursor")]
    return RESULTS.get(way, TEXT) if method == "tools/call" else None


def serve(way: str) -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        if request["method"] == "tools/call":
            for each in NOISE.get(way, ()):
                line = each if isinstance(each, str | bytes) else json.dumps(each)
                data = line.encode() if isinstance(line, str) else line
                sys.stdout.buffer.write(data + b"\n")
                sys.stdout.buffer.flush()
        result = answer(way, request["method"], request.get("params") or {})
        found = (
            {"result": result}
            if result is not None
            else {"error": ERRORS.get(way, {"code": -32601, "message": "no"})}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **found}), flush=True)


class OddWebServer(ThreadingHTTPServer):
    """A server with sessions at `url` (state: the sessions that it knows, and the status of the next calls)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        self.sessions: list[str] = []
        self.opened = 0
        self.calls: list[str] = []
        self.status = 200

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no error for a connection that its client has reset; a test reads what the client prints."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def __enter__(self) -> OddWebServer:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OddWebServer

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._reply(405, {})

    def do_DELETE(self) -> None:
        self._reply(200, {})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, session = request.get("method"), self.headers.get("Mcp-Session-Id")
        held: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
        if method == "initialize" and self.server.status != 401:
            self.server.opened += 1
            self.server.sessions.append(str(self.server.opened))
            held["result"] = answer("", method, request["params"])
            self._reply(200, held, str(self.server.opened))
        elif self.server.status != 200 and method in (
            "initialize",
            "tools/call",
            "server/discover",
        ):
            self._reply(self.server.status, {})
        elif (
            method not in ("initialize", "server/discover") and session not in self.server.sessions
        ):
            self._reply(404, {**held, "error": {"code": -32001, "message": "Session not found"}})
        elif "id" not in request:
            self._reply(202, {})
        else:
            if method == "tools/call":
                self.server.calls.append(str(session))
            result = answer("", str(method), request.get("params") or {})
            error = {"error": {"code": -32601, "message": "no"}}
            self._reply(200, {**held, **({"result": result} if result else error)})

    def _reply(self, status: int, held: dict[str, Any], session: str = "") -> None:
        body = json.dumps(held).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    serve(sys.argv[1])
