"""An MCP server with tools of many kinds, on standard input and output, or at a port; it writes into the folder it is given."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel

FOLDER = Path(sys.argv[1])
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)
server = MCPServer("toolbox", version=os.environ.get("TOOLBOX_VERSION", "1.0"))
reads = ToolAnnotations(read_only_hint=True)


class User(BaseModel):
    """A user of the shop."""

    name: str
    langs: list[str]
    boss: User | None = None


class OrderFilter(BaseModel, extra="allow"):
    """A choice of orders."""

    until: str | None
    kind: str | None = None
    parts: list[OrderFilter] = []


def note(line: str) -> None:
    with (FOLDER / "calls.txt").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


@server.tool(annotations=reads)
def find_user(name: str, kind: Literal["staff", "guest"] = "staff") -> User:
    """Find a user by name."""
    note(f"find_user {name} {kind}")
    return User(name=name, langs=["de"], boss=User(name="Kim", langs=[]))


@server.tool(annotations=reads)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    note(f"add {a} {b}")
    return a + b


@server.tool()
def pay(order: str, cents: int | None = None) -> str:
    """Pay an order."""
    note(f"pay {order} {cents}")
    return f"paid {order}"


@server.tool(annotations=reads)
def list_sent(filter: OrderFilter, more: list[dict[str, OrderFilter]]) -> str:
    """Return the arguments as they were sent."""
    sent = [
        {key: value.model_dump(exclude_unset=True) for key, value in each.items()} for each in more
    ]
    return json.dumps({"filter": filter.model_dump(exclude_unset=True), "more": sent})


@server.tool(annotations=reads)
def fail(text: str) -> str:
    """Fail with a text."""
    note("fail")
    raise ToolError(text)


@server.tool(annotations=reads)
def draw() -> list[str | Image]:
    """Draw a picture."""
    return ["a pixel", Image(data=PIXEL, format="png")]


@server.tool()
def clear() -> None:
    """Return nothing."""
    note("clear")


@server.tool()
async def wait(seconds: float, context: Context) -> str:
    """Wait, and report progress."""
    note("wait begins")
    try:
        for step in range(10):
            await context.report_progress(step + 1, 10, f"step {step + 1}")
            await asyncio.sleep(seconds / 10)
    except asyncio.CancelledError:
        note("wait cancelled")
        raise
    return "waited"


@server.tool(annotations=reads)
async def wait_safely(seconds: float) -> str:
    """Wait."""
    note("wait_safely")
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
def crash() -> str:
    """End the process of the server."""
    note("crash")
    os._exit(1)


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def crash_once() -> str:
    """End the process of the server at the first call."""
    note("crash_once")
    if (FOLDER / "calls.txt").read_text().count("crash_once") == 1:
        os._exit(1)
    return "alive"


@server.tool(annotations=reads)
def get_variable(name: str) -> str:
    """Return a variable of the environment."""
    return os.environ.get(name, "")


if os.environ.get("TOOLBOX_EXTRA"):

    @server.tool()
    def extra() -> str:
        """Do more."""
        return "more"


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    server.run("stdio")
