"""Compiled functions as the tools of an MCP server: types, errors, progress, cancellation, budgets, both transports."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from njrt.options.budget import parse_budgets
from openai_server import KEY, OpenAIServer, completion

SALES = completion(
    {"role": "assistant", "content": json.dumps({"team": "sales"})},
    usage={"prompt_tokens": 9000, "completion_tokens": 10, "total_tokens": 9010},
)
PROGRAM = '''\
"""Orders."""
import asyncio
from dataclasses import dataclass
from typing import Literal

print("imported")


@dataclass
class Order:
    item: str
    count: int


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
    for mail in mails:
        """natural
        Put into <:asks: bool> whether <mail> asks for something.
        """
    return len(mails)


def fail(number: int) -> int:
    """Fail."""
    raise ValueError(f"there is no {number}")


def mistype(number: int) -> int:
    """Return a text."""
    return f"no {number}"


def leave(number: int) -> int:
    """Leave."""
    raise SystemExit(number)


def many(*mails: str) -> int:
    return len(mails)


def end(kind: str) -> object:
    """End in some way."""
    match kind:
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


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")
'''


def write(folder: Path) -> Path:
    file = folder / f"orders_{folder.name}.njpy"
    file.write_text(PROGRAM)
    return file


def make_server(folder: Path, *functions: str, budget: str = "") -> Any:
    file = write(folder)
    targets = load_targets([f"{file}:{function}" for function in functions])
    return make_mcp_server(targets, "orders", parse_budgets(budget) if budget else ())


async def call(server: Any, tool: str, **arguments: Any) -> CallToolResult:
    async with Client(server) as client:
        return await client.call_tool(tool, arguments)


def get_text(result: CallToolResult) -> str:
    (part,) = result.content
    assert part.type == "text"
    return part.text


def test_tools_have_the_types_and_texts_of_the_functions(tmp_path: Path) -> None:
    server = make_server(tmp_path, "route", "read_order", "fail", "leave", "mistype")

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
            failed = await client.call_tool("fail", {"number": 3})
            assert failed.is_error
            assert "ValueError: there is no 3" in get_text(failed)
            left = await client.call_tool("leave", {"number": 3})
            assert left.is_error
            assert "SystemExit: 3" in get_text(left)
            mistyped = await client.call_tool("mistype", {"number": 3})
            assert mistyped.is_error
            assert "valid integer" in get_text(mistyped)
            wrong = await client.call_tool("fail", {"number": "three"})
            assert wrong.is_error
            assert "valid integer" in get_text(wrong)

    replies: list[Any] = [{"team": "sales"}, {"order": {"item": "lamp", "count": 3}}]
    with njrt.using(model=njrt.Scripted(replies)):
        asyncio.run(use())


ENDS = {
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
    tmp_path: Path, function: str
) -> None:
    program = write(tmp_path)
    words = ["-m", "njc", "mcp", "serve", f"{program}:{function}"]

    async def use() -> None:
        server = StdioServerParameters(command=sys.executable, args=words)
        async with Client(server) as client:
            for kind, text in ENDS.items():
                async with asyncio.timeout(20):
                    ended = await client.call_tool(function, {"kind": kind})
                assert ended.is_error, kind
                assert text in get_text(ended)
            assert get_text(await client.call_tool(function, {"kind": "well"})) == "well"

    asyncio.run(use())


def test_errors_of_the_runtime_are_errors_of_the_tool(tmp_path: Path) -> None:
    with njrt.using(model=njrt.Scripted(["?"] * 9), max_calls=1):
        refused = asyncio.run(call(make_server(tmp_path, "route"), "route", mail="Buy!"))
    assert refused.is_error
    assert "CallLimitError" in get_text(refused)


@pytest.mark.parametrize(
    ("functions", "message"),
    [(["many"], "it has the parameter"), (["route", "route"], "two functions have the name `route`")],
)  # fmt: skip
def test_what_cannot_be_a_tool_is_refused(
    tmp_path: Path, functions: list[str], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_server(tmp_path, *functions)


def test_progress_and_cancellation(tmp_path: Path) -> None:
    server = make_server(tmp_path, "count")
    asked: list[int] = []

    def answer(request: Request) -> dict[str, bool]:
        asked.append(request.turn)
        time.sleep(0.3)
        return {"asks": True}

    async def use() -> list[float]:
        seen: list[float] = []

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        async with Client(server) as client:
            found = await client.call_tool(
                "count", {"mails": ["a", "b", "c"]}, progress_callback=progress
            )
            assert found.structured_content == {"result": 3}
            calling = asyncio.create_task(client.call_tool("count", {"mails": ["x"] * 50}))
            await asyncio.sleep(1)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
        return seen

    with njrt.using(model=njrt.Scripted(answer)):
        seen = asyncio.run(use())
    assert seen == [1, 2, 3]
    after = len(asked)
    time.sleep(1)
    assert len(asked) <= after + 1 < 20


RESULTS = """\
import njrt
from dataclasses import dataclass

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c"
    "6360000000020001e221bc330000000049454e44ae426082"
)


@dataclass
class Point:
    x: float
    more: dict[str, list[float]]


@dataclass
class Framed:
    image: njrt.Image


def draw() -> njrt.Image:
    return njrt.Image(PIXEL)


def draw_some() -> list[str | njrt.Image]:
    return ["a pixel", njrt.Image(PIXEL), njrt.Image(url="https://example.org/a.png")]


def draw_maybe() -> tuple[njrt.Document, njrt.Audio] | None:
    return njrt.Document(b"%PDF-1", "application/pdf"), njrt.Audio(b"OggS1")


def draw_unsaid():
    return njrt.Image(PIXEL)


def mistype() -> njrt.Image:
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
"""
NAMES = [
    "draw",
    "draw_some",
    "draw_maybe",
    "draw_unsaid",
    "mistype",
    "divide",
    "place",
    "configure",
]


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("draw", {}, ["image"]),
        ("draw_some", {}, ["text", "image", "resource_link"]),
        ("draw_maybe", {}, ["resource", "audio"]),
        ("draw_unsaid", {}, ["image"]),
        ("mistype", {}, "an instance of Image"),
        ("divide", {"zero": 0}, ["text"]),
        ("divide", {"zero": 1}, "Out of range float values are not JSON compliant"),
        ("place", {}, "Out of range float values"),
        ("configure", {"first": 1}, "1 c 3 4"),
        ("configure", {"first": 1, "mcp_context": "d", "copy": 5, "model_dump": 6}, "1 d 5 6"),
        ("configure", {"frist": 1}, "Field required"),
    ],
)  # fmt: skip
def test_results_and_parameters_of_all_kinds(
    tmp_path: Path, tool: str, arguments: dict[str, Any], found: list[str] | str
) -> None:
    program = tmp_path / f"results_{tmp_path.name}.njpy"
    program.write_text(RESULTS)
    server = make_mcp_server(load_targets([f"{program}:{name}" for name in NAMES]), "r", ())
    result = asyncio.run(call(server, tool, **arguments))
    if isinstance(found, str):
        assert found in get_text(result)
    else:
        assert [part.type for part in result.content] == found
    refused = {"get_bytes": "has bytes", "frame": "has bytes", "set_config": "model_config"}
    for name, message in refused.items():
        with pytest.raises(ConfigurationError, match=message):
            make_mcp_server(load_targets([f"{program}:{name}"]), "r", ())


def test_each_client_has_its_own_budget(tmp_path: Path) -> None:
    limit = "tokens=15000 per=day"
    with OpenAIServer([SALES] * 8) as openai:
        with serve_http(write(tmp_path), openai, "--budget", limit) as url:
            results = {name: asyncio.run(call_as(url, name, 3)) for name in ("ann", "bo")}
        for texts in results.values():
            assert texts[0] == "sales"
            assert "BudgetError" in texts[-1]
        others = ["--name", "other", "--budget", limit], ["--budget", f"{limit} name=other_budget"]
        for words in others:  # other accounts in the same store
            with serve_http(write(tmp_path), openai, *words) as url:
                assert asyncio.run(call_as(url, "ann", 1)) == ["sales"]


async def call_as(url: str, token: str, times: int) -> list[str]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return [
            get_text(await client.call_tool("route", {"mail": f"Buy {n}!"})) for n in range(times)
        ]


def environ(openai: OpenAIServer, folder: Path) -> dict[str, str]:
    """Return the model's server, and a store of accounts that no other test has."""
    state = {"NJC_STORE": str(folder / "store.sqlite3")}
    model = {"NJC_BASE_URL": openai.base_url, "NJC_MODEL": "openai/gpt-4.1", "NJC_API_KEY": KEY}
    return {**os.environ, **model, **state}


@contextmanager
def serve_http(
    program: Path, openai: OpenAIServer, *options: str, stdout: Path = Path(os.devnull)
) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "njc", "mcp", "serve", f"{program}:route", "--http", "0", *options],
        env=environ(openai, program.parent),
        stdout=stdout.open("w"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if line.startswith("serving"))
        url = line.split()[-1]
        threading.Thread(target=process.stderr.read, daemon=True).start()
        wait_until_served(url)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def wait_until_served(url: str) -> None:
    import socket
    from urllib.parse import urlsplit

    place = urlsplit(url)
    for _ in range(200):
        with socket.socket() as tried:
            if tried.connect_ex((str(place.hostname), int(place.port or 0))) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody serves {url}")


def test_standard_output_carries_messages_only(tmp_path: Path) -> None:
    program = write(tmp_path)
    words = ["-m", "njc", "mcp", "serve", f"{program}:route", f"{program}:fail"]

    async def use(openai: OpenAIServer) -> None:
        server = StdioServerParameters(
            command=sys.executable, args=words, env=environ(openai, tmp_path)
        )
        async with Client(server) as client:
            assert get_text(await client.call_tool("route", {"mail": "Buy!"})) == "sales"
            assert (await client.call_tool("fail", {"number": 1})).is_error

    with OpenAIServer([SALES]) as openai:
        asyncio.run(use(openai))


PRINTING = """\
import os
import subprocess
import sys
import time
from pathlib import Path


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
"""


def test_what_tools_print_is_never_among_the_messages(tmp_path: Path) -> None:
    program = tmp_path / "printing.njpy"
    program.write_text(PRINTING)
    names = ["say", "say_late"]
    words = [sys.executable, "-m", "njc", "mcp", "serve", *(f"{program}:{name}" for name in names)]
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}  # fmt: skip
    begun = tmp_path / "begun"
    calls = [("tools/call", {"name": name, "arguments": {"text": str(begun)}}) for name in names]
    asked = [("initialize", client), ("notifications/initialized", {}), *calls]
    lines = [
        {"jsonrpc": "2.0", "method": method, "params": params}
        | ({} if method.startswith("notifications") else {"id": number})
        for number, (method, params) in enumerate(asked)
    ]
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
    *first, last = [json.dumps(line) + "\n" for line in lines]
    served.stdin.write("".join(first))
    served.stdin.flush()
    answers = [json.loads(served.stdout.readline()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [0, 2]
    served.stdin.write(last)
    served.stdin.flush()
    until = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    output, errors = served.communicate(timeout=60)  # ends the input while say_late runs
    assert all(json.loads(line)["jsonrpc"] for line in output.splitlines())
    for text in (f"printed {begun}", "written", "from a child", "late"):
        assert text in errors


def test_http_prints_to_standard_error_and_refuses_a_used_port(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as used:
        port = str(used.getsockname()[1])
        made = CliRunner().invoke(njc, ["mcp", "serve", f"{write(tmp_path)}:route", "--http", port])
    assert made.exit_code == 2
    assert "cannot serve at 127.0.0.1" in made.output
    assert "serving" not in made.output
    with (
        OpenAIServer([SALES]) as openai,
        serve_http(write(tmp_path), openai, stdout=tmp_path / "printed.txt") as url,
    ):
        assert asyncio.run(call_as(url, "ann", 1)) == ["sales"]
    assert (tmp_path / "printed.txt").read_text() == ""


def test_wrong_usage() -> None:
    for words, message in [
        (["serve"], "Missing argument"),
        (["serve", "nowhere.njpy:f"], "there is no file nowhere.njpy"),
        (["serve", "x.njpy:f", "--budget", "usd=x"], "usd"),
    ]:
        made = CliRunner().invoke(njc, ["mcp", *words])
        assert made.exit_code == 2
        assert message in made.output
