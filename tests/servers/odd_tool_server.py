"""An MCP server whose answers are wrong: `odd_tool_server.py WAY` on standard input and output.

`OddWebServer` is one at a URL: it forgets sessions, and answers calls with the status it is given.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
TEXT = {"content": [{"type": "text", "text": "ok"}]}
START = {"capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
ERROR = {"code": -32000, "message": "boom"}
"""The code is the SDK's for a lost connection."""
RESULTS: dict[str, Any] = {
    "no content": {},
    "an error": None,
    "an unheard part": {"content": [{"type": "smell", "data": "x"}]},
    "no base64": {"content": [{"type": "image", "data": "@@@not base64", "mimeType": "image/png"}]},
    "no parts": {"content": []},
    "a wrong structure": {"content": [], "structuredContent": {"n": "x"}},
    "noise": TEXT,
}
NOISE = [b"\xff\xfe log", b"{", b'{"jsonrpc": "2.0", "id": 99, "result": {}}']


def answer(way: str, method: str, params: Any) -> dict[str, Any]:
    """Return the result of a request, or its error."""
    match method:
        case "initialize":
            return {"result": {**START, "protocolVersion": params["protocolVersion"]}}
        case "tools/list":
            needs = {"outputSchema": NUMBER} if way == "a wrong structure" else {}
            return {"result": {"tools": [{**TOOL, **needs}]}}
        case "tools/call":
            result = RESULTS.get(way, TEXT)
            return {"error": ERROR} if result is None else {"result": result}
    return {"error": {"code": -32601, "message": "no"}}


def serve(way: str) -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if way == "noise" and request["method"] == "tools/call":
            sys.stdout.buffer.write(b"\n".join([*NOISE, b""]))
        found = answer(way, request["method"], request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **found}), flush=True)


class OddWebServer(ThreadingHTTPServer):
    """A server at `url` (state: the sessions that it knows, and the status of its answers)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        self.sessions: list[str] = []
        self.calls: list[str] = []
        self.opened, self.status = 0, 200

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
        if self.server.status != 200:
            self._reply(self.server.status, {})
        elif method == "initialize":
            self.server.opened += 1
            self.server.sessions.append(str(self.server.opened))
            held |= answer("", method, request["params"])
            self._reply(200, held, str(self.server.opened))
        elif session not in self.server.sessions and method != "server/discover":
            self._reply(404, {**held, "error": {"code": -32001, "message": "Session not found"}})
        elif "id" not in request:
            self._reply(202, {})
        else:
            if method == "tools/call":
                self.server.calls.append(str(session))
            self._reply(200, held | answer("", str(method), request.get("params") or {}))

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
