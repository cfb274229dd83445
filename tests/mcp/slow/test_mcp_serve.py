"""Compiled functions as tools of an MCP server: types, results, errors, budgets, both transports."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

import njrt
from njc.commands import njc
from njc.mcp.serve import make_mcp_server
from njc.target import load_targets
from njrt.errors import ConfigurationError
from njrt.messages import Request
from openai_server import KEY, OpenAIServer, completion
from waiting import HANG_SECONDS, wait_until

SALES = completion(
    {"role": "assistant", "content": json.dumps({"team": "sales"})},
    usage={"prompt_tokens": 9000, "completion_tokens": 10, "total_tokens": 9010},
)
PROGRAM = '''\
import asyncio
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import njrt

print("imported")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c"
    "6360000000020001e221bc330000000049454e44ae426082"
)


@dataclass
class Order:
    item: str
    count: int


@dataclass
class Point:
    x: float
    more: dict[str, list[float]]


@dataclass
class Framed:
    image: njrt.Image


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def route(mail: str, /, urgent: bool = False) -> Literal["sales", "support"]:
    """Return the team for a mail."""
    print("routing")
    """natural
    Put into <:team: Literal["sales", "support"]> the team for <mail>.
    """
    return team


async def read_order(mail: str, *, most: int = 9) -> Order:
    """Return the order in a mail."""
    """natural
    Put into <:order: Order> the order in <mail>.
    """
    return order


def count(mails: list[str]) -> int:
    """Return the number of mails that ask for something."""
    found = 0
    for mail in mails:
        """natural
        Put into <:asks: bool> whether <mail> asks for something.
        """
        found += asks
    return found


def mistype(number: int) -> int:
    return f"no {number}"


def many(*mails: str) -> int:
    return len(mails)


def end(kind: str) -> object:
    match kind:
        case "leave":
            raise SystemExit(3)
        case "stop":
            return next(iter([]))
        case "interrupt":
            raise KeyboardInterrupt
        case "cancelled":
            raise asyncio.CancelledError
        case "group":
            raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
        case "unsayable":
            raise Unsayable
        case "surrogate":
            raise ValueError(chr(0xD800))
        case "sent surrogate":
            return chr(0xD800)
        case "sent bytes":
            return bytes([255])
        case "sent cycle":
            cycle: list = []
            cycle.append(cycle)
            return cycle
    return kind


async def aend(kind: str) -> object:
    return end(kind)


def later(kind: str) -> object:
    return aend(kind)


def draw() -> njrt.Image:
    return njrt.Image(PIXEL)


def draw_some() -> list[str | njrt.Image]:
    return ["a pixel", njrt.Image(PIXEL), njrt.Image(url="https://example.org/a.png")]


def draw_maybe() -> tuple[njrt.Document, njrt.Audio] | None:
    return njrt.Document(b"%PDF-1", "application/pdf"), njrt.Audio(b"OggS1")


def draw_unsaid():
    return njrt.Image(PIXEL)


def draw_nothing() -> njrt.Image:
    return "no image"


def divide(zero: int) -> float:
    return float("nan") if zero else 1.5


def place() -> Point:
    return Point(1.0, {"a": [1.0, float("-inf")]})


def get_bytes() -> bytes:
    return PIXEL


def frame() -> Framed:
    return Framed(draw())


def configure(first: int, mcp_context: str = "c", copy: int = 3, model_dump: int = 4) -> str:
    return f"{first} {mcp_context} {copy} {model_dump}"


def set_config(model_config: int) -> int:
    return model_config


def say(text: str) -> str:
    print("printed", text)
    sys.__stdout__.write("written")
    subprocess.run(["echo", "from a child"])
    return text


def say_late(text: str) -> str:
    Path(text).touch()
    time.sleep(0.5)
    print("late", flush=True)
    return text
'''
BAD_FUNCTIONS = {
    "many": "it has the parameter",
    "get_bytes": "its result has bytes",
    "frame": "its result has bytes",
    "set_config": "model_config",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("serve") / "served_orders.njpy"
    file.write_text(PROGRAM)
    return file


def make_server(program: Path, *functions: str) -> Any:
    targets = load_targets([f"{program}:{function}" for function in functions])
    return make_mcp_server(targets, "orders", ())


def get_text(result: CallToolResult) -> str:
    (part,) = result.content
    assert part.type == "text"
    return part.text


def call(server: Any, tool: str, **arguments: Any) -> CallToolResult:
    async def use() -> CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(use())


def test_tools_have_the_types_and_texts_of_the_functions(program: Path) -> None:
    server = make_server(program, "route", "read_order")

    async def use() -> None:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["route"].description == "Return the team for a mail."
            assert tools["route"].input_schema["required"] == ["mail"]
            assert tools["route"].input_schema["properties"]["urgent"]["default"] is False
            assert tools["read_order"].output_schema is not None
            assert set(tools["read_order"].output_schema["properties"]) == {"item", "count"}
            routed = await client.call_tool("route", {"mail": "Buy!"})
            assert routed.structured_content == {"result": "sales"}
            order = await client.call_tool("read_order", {"mail": "3 lamps"})
            assert order.structured_content == {"item": "lamp", "count": 3}

    replies: list[Any] = [{"team": "sales"}, {"order": {"item": "lamp", "count": 3}}]
    with njrt.using(model=njrt.Scripted(replies)):
        asyncio.run(use())


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("draw", {}, ["image"]),
        ("draw_some", {}, ["text", "image", "resource_link"]),
        ("draw_maybe", {}, ["resource", "audio"]),
        ("draw_unsaid", {}, ["image"]),
        ("draw_nothing", {}, "an instance of Image"),
        ("divide", {"zero": 0}, ["text"]),
        ("divide", {"zero": 1}, "Out of range float values are not JSON compliant"),
        ("divide", {"zero": "x"}, "valid integer"),
        ("place", {}, "Out of range float values"),
        ("mistype", {"number": 3}, "valid integer"),
        ("configure", {"first": 1}, "1 c 3 4"),
        ("configure", {"first": 1, "mcp_context": "d", "copy": 5, "model_dump": 6}, "1 d 5 6"),
        ("configure", {"frist": 1}, "Field required"),
        ("route", {"mail": "Buy!"}, "CallLimitError"),
    ],
)
def test_results_and_parameters(
    program: Path, tool: str, arguments: dict[str, Any], found: list[str] | str
) -> None:
    with njrt.using(model=njrt.Scripted(["?"] * 9), max_calls=1):
        result = call(make_server(program, tool), tool, **arguments)
    if isinstance(found, str):
        assert found in get_text(result)
    else:
        assert [part.type for part in result.content] == found


@pytest.mark.parametrize(("function", "message"), BAD_FUNCTIONS.items())
def test_what_cannot_be_a_tool_is_refused(program: Path, function: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_server(program, function)


def test_two_functions_of_one_name_are_refused(program: Path) -> None:
    with pytest.raises(ConfigurationError, match="two functions have the name `route`"):
        make_server(program, "route", "route")


ENDS = {
    "leave": "SystemExit: 3",
    "stop": "StopIteration",
    "interrupt": "KeyboardInterrupt",
    "cancelled": "CancelledError",
    "group": "ExceptionGroup: two (2 sub-exceptions)",
    "unsayable": "Unsayable: <its message cannot be shown: ValueError>",
    "surrogate": r"ValueError: \ud800",
    "sent surrogate": "surrogates not allowed",
    "sent bytes": "invalid utf-8",
    "sent cycle": "Circular reference",
}


@pytest.mark.parametrize("function", ["end", "aend", "later"])
def test_no_exception_and_no_result_of_a_function_ends_the_server(
    program: Path, function: str
) -> None:
    words = ["-m", "njc", "mcp", "serve", f"{program}:{function}"]

    async def use() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
            for kind, text in ENDS.items():
                async with asyncio.timeout(HANG_SECONDS):
                    ended = await client.call_tool(function, {"kind": kind})
                assert ended.is_error, kind
                assert text in get_text(ended)
            assert get_text(await client.call_tool(function, {"kind": "well"})) == "well"

    asyncio.run(use())


def test_progress_and_cancellation(program: Path) -> None:
    server, asked, seen = make_server(program, "count"), list[int](), list[float]()

    def answer(request: Request) -> dict[str, bool]:
        asked.append(request.turn)
        time.sleep(0.3)
        return {"asks": True}

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def use() -> None:
        async with Client(server) as client:
            arguments = {"mails": ["a", "b", "c"]}
            found = await client.call_tool("count", arguments, progress_callback=progress)
            assert found.structured_content == {"result": 3}
            assert seen == [1, 2, 3]
            calling = asyncio.create_task(client.call_tool("count", {"mails": ["x"] * 50}))
            await asyncio.sleep(1)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling

    with njrt.using(model=njrt.Scripted(answer)):
        asyncio.run(use())
    after = len(asked)
    time.sleep(1)
    assert len(asked) <= after + 1 < 20


@pytest.mark.parametrize(("tool", "reply"), [("route", "sales"), ("read_order", ["lamp", 3])])
def test_each_answer_is_reported_before_the_result(program: Path, tool: str, reply: Any) -> None:
    server, seen = make_server(program, tool), list[float]()
    said = {"team": reply} if tool == "route" else {"order": {"item": "lamp", "count": 3}}

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def use() -> None:
        async with Client(server) as client:
            for number in range(1, 6):
                await client.call_tool(tool, {"mail": "Buy!"}, progress_callback=progress)
                assert len(seen) == number

    with njrt.using(model=njrt.Scripted([said] * 5)):
        asyncio.run(use())


# ── both transports ──────────────────────────────────────────────────────────────────────────────


def environ(openai: OpenAIServer, folder: Path) -> dict[str, str]:
    """Return the model's server, and a store of accounts that no other test has."""
    state = {"NJC_STORE": str(folder / "store.sqlite3")}
    model = {"NJC_BASE_URL": openai.base_url, "NJC_MODEL": "openai/gpt-4.1", "NJC_API_KEY": KEY}
    return {**os.environ, **model, **state}


@contextmanager
def serve_http(program: Path, folder: Path, openai: OpenAIServer, *options: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "njc", "mcp", "serve", f"{program}:route", "--http", "0", *options],
        env=environ(openai, folder),
        stdout=(folder / "printed.txt").open("w"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        url = next(line for line in process.stderr if line.startswith("serving")).split()[-1]
        threading.Thread(target=process.stderr.read, daemon=True).start()
        place = urlsplit(url)
        wait_until(lambda: is_served(str(place.hostname), int(place.port or 0)))
        yield url
    finally:
        process.terminate()
        process.wait(HANG_SECONDS)


def is_served(host: str, port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((host, port)) == 0


async def call_as(url: str, token: str, times: int) -> list[str]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        calls = [await client.call_tool("route", {"mail": f"Buy {n}!"}) for n in range(times)]
    return list(map(get_text, calls))


def test_each_client_has_its_own_budget(program: Path, tmp_path: Path) -> None:
    limit = "tokens=15000 per=day"
    with OpenAIServer([SALES] * 8) as openai:
        with serve_http(program, tmp_path, openai, "--budget", limit) as url:
            results = {name: asyncio.run(call_as(url, name, 3)) for name in ("ann", "bo")}
        for texts in results.values():
            assert texts[0] == "sales"
            assert "BudgetError" in texts[-1]
        others = ["--name", "other", "--budget", limit], ["--budget", f"{limit} name=other_budget"]
        for words in others:  # other accounts in the same store
            with serve_http(program, tmp_path, openai, *words) as url:
                assert asyncio.run(call_as(url, "ann", 1)) == ["sales"]
    assert (tmp_path / "printed.txt").read_text() == ""


def test_what_tools_print_is_never_among_the_messages(program: Path, tmp_path: Path) -> None:
    names = ["say", "say_late"]
    words = [sys.executable, "-m", "njc", "mcp", "serve", *(f"{program}:{name}" for name in names)]
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    client = {**about, "clientInfo": {"name": "c", "version": "1"}}
    begun = tmp_path / "begun"
    calls = [("tools/call", {"name": name, "arguments": {"text": str(begun)}}) for name in names]
    asked = [("initialize", client), ("notifications/initialized", {}), *calls]
    *first, last = (
        {"jsonrpc": "2.0", "method": method, "params": params}
        | ({} if method.startswith("notifications") else {"id": number})
        for number, (method, params) in enumerate(asked)
    )
    served = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
    )
    assert served.stdin is not None
    assert served.stdout is not None
    served.stdin.write("".join(json.dumps(line) + "\n" for line in first))
    served.stdin.flush()
    answers = [json.loads(served.stdout.readline()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [0, 2]
    served.stdin.write(json.dumps(last) + "\n")
    served.stdin.flush()
    wait_until(begun.exists)
    output, errors = served.communicate(timeout=HANG_SECONDS)  # ends the input while say_late runs
    assert all(json.loads(line)["jsonrpc"] for line in output.splitlines())
    for text in ("imported", f"printed {begun}", "written", "from a child", "late"):
        assert text in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serve"], "Missing argument"),
        (["serve", "nowhere.njpy:f"], "there is no file nowhere.njpy"),
        (["serve", "x.njpy:f", "--budget", "usd=x"], "usd"),
    ],
)
def test_wrong_usage(words: list[str], message: str) -> None:
    made = CliRunner().invoke(njc, ["mcp", *words])
    assert made.exit_code == 2
    assert message in made.output


def test_a_used_port_is_refused(program: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = str(used.getsockname()[1])
        made = CliRunner().invoke(njc, ["mcp", "serve", f"{program}:route", "--http", port])
    assert made.exit_code == 2
    assert "cannot serve at 127.0.0.1" in made.output
    assert "serving" not in made.output
