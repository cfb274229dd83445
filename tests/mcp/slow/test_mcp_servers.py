"""Tools of MCP servers as functions: modules and the lock, calls by programs and blocks, recordings, lost connections."""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult
from programs import ended_by, told

import njrt
from njc import hook
from njc.commands import njc as njc_command
from njrt.mcp import McpServer, ToolConnectionError, ToolError, ToolTimeoutError
from njrt.testing import run
from processes import run_python
from waiting import wait_until

SERVER = Path(__file__).parents[2] / "servers" / "tool_server.py"
ROOT = Path(__file__).parents[3]
MYPY = ("-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache")
"""Strict, as `make types`, whose cache saves most of the time if it runs in the same directory."""


def njc(*words: str) -> Result:
    return CliRunner().invoke(njc_command, ["mcp", *words], prog_name="njc")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [*sys.modules]:
        if name.startswith("box_") or name in ("tools_prog", "times", "clock"):
            server = getattr(sys.modules.pop(name), "server", None)
            if isinstance(server, McpServer):
                server.close()


def add(folder: Path, *options: str) -> Any:
    """Add the server of the tests under a name of its own, and import its module."""
    name = f"box_{folder.name}"
    added = njc("add", name, *options, "--", sys.executable, str(SERVER), str(folder))
    assert added.exit_code == 0, added.output
    return importlib.import_module(name)


def read_calls(folder: Path) -> list[str]:
    file = folder / "calls.txt"
    return file.read_text().splitlines() if file.exists() else []


def test_functions_are_typed_and_results_are_objects(folder: Path) -> None:
    box = add(folder)
    user = box.find_user("Ann", kind="guest")
    assert (user["name"], user["langs"], user["boss"]["name"]) == ("Ann", ["de"], "Kim")
    assert box.add(2, 3) == 5
    assert box.pay("7") == "paid 7"
    assert read_calls(folder)[-1] == "pay 7 None"
    line = {"until": None, "parts": [{"until": "2"}]}
    assert json.loads(box.list_sent(line, [{"a": line}])) == {"filter": line, "more": [{"a": line}]}
    assert box.clear() is None
    assert box.draw() == "a pixel\n[image: left out]"
    with pytest.raises(ToolError, match=r"fail: .*no such thing"):
        box.fail("no such thing")
    checked = run_python(*MYPY, folder / f"{box.__name__}.py", cwd=ROOT)
    assert "Success" in checked.stdout, checked.stdout


def test_the_same_command_writes_a_module_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--env", "TOOLBOX_EXTRA", "--allow", "pay")
    file = folder / f"{add(folder, *options).__name__}.py"
    first = file.read_text()
    file.write_text(first + "# mine\n")
    add(folder, *options)
    assert file.read_text() == first
    monkeypatch.setenv("TOOLBOX_EXTRA", "1")
    add(folder, *options)
    assert "def extra(" in file.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["json", "--", "x"], "would hide another module"),
        (["mcp", "--", "x"], "would hide another module"),
        (["a-b", "--", "x"], "cannot be imported"),
        (["box", "--out", "other.py", "--", "x"], "is not written by this"),
        (["box"], "needs a command or a URL"),
        (["box", "--url", "http://127.0.0.1:9/mcp"], "no connection"),
        (["box", "--header", "x", "--", "y"], "--header needs --url"),
        (["box", "--", "no-such-program"], "no connection to `no-such-program`"),
        (["box", "--", sys.executable, "-c", "exit()"], "no connection to"),
        (["box", "--allow", "ad", "--", sys.executable, str(SERVER), "."], "has no tool `ad`"),
    ],
)  # fmt: skip
def test_mistakes_write_nothing(folder: Path, words: list[str], message: str) -> None:
    (folder / "other.py").write_text("mine")
    if "other.py" in words:
        words = [*words[:-1], sys.executable, str(SERVER), str(folder)]
    made = njc("add", *words)
    assert made.exit_code == 2
    assert message in made.output.replace("\n", " ")
    assert sorted(file.name for file in folder.iterdir()) == ["other.py"]


def test_only_named_variables_reach_a_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOX_TOKEN", "secret")
    monkeypatch.setenv("OTHER_TOKEN", "secret")
    box = add(folder, "--env", "BOX_TOKEN")
    assert (box.get_variable("BOX_TOKEN"), box.get_variable("OTHER_TOKEN")) == ("secret", "")
    assert "secret" not in (folder / f"{box.__name__}.py").read_text()


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────

PROGRAM = '''\
import {box} as box


def find(name: str) -> str:
    """natural
    Find <name> with <box.find_user>, and put the boss into <:boss: str>.
    """
    return boss


def settle(order: str) -> str:
    """natural
    Pay <order> with <box.pay> and put what comes back into <:paid: str>.
    """
    return paid
'''


def load_program(folder: Path, box: Any) -> Any:
    hook.install()
    (folder / "tools_prog.njpy").write_text(PROGRAM.replace("{box}", box.__name__))
    return importlib.import_module("tools_prog")


def test_a_block_calls_the_tools_that_it_names_and_no_other(folder: Path, policy: str) -> None:
    box = add(folder, "--allow", "pay")
    program = load_program(folder, box)
    right = "boss = box.find_user(name)['boss']['name']"
    wrong = ("boss = box.pay('7')", "boss = getattr(box, 'p' + 'ay')('7')")
    model = njrt.Scripted(ended_by(*wrong, right))
    with njrt.using(model=model, policy=policy):
        assert program.find("Ann") == "Kim"
    assert read_calls(folder) == ["find_user Ann staff"]
    prompt, *refusals = told(model)
    assert "box.find_user: function find_user(name: str" in prompt
    assert "Find a user by name." in prompt
    assert '"langs"' in prompt
    assert "pay" not in prompt
    assert "the prompt does not name" in " ".join(refusals)


def test_a_tool_that_changes_things_is_decided_by_the_interceptors(folder: Path) -> None:
    program = load_program(folder, add(folder))
    code = run("try:\n    paid = box.pay(order)\nexcept PermissionError as error:\n    paid = str(error)", done=True)  # fmt: skip
    with njrt.using(model=njrt.Scripted([code])):
        assert "nobody decides about calls of" in program.settle("7")
    asked: list[Any] = []

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        if isinstance(pending.effect, njrt.Touch):
            asked.append(pending.effect.arguments)
        return njrt.Accept()

    with njrt.using(model=njrt.Scripted([code]), intercept=decide):
        assert program.settle("7") == "paid 7"
    assert asked == [{"order": "7"}]


def test_a_recording_answers_for_the_server(folder: Path, policy: str) -> None:
    box = add(folder)
    program = load_program(folder, box)
    replies = ended_by(
        "boss = box.find_user(name, kind='nobody')['name']",
        "boss = box.find_user(name)['boss']['name']",
    )

    def play(mode: Any) -> Any:
        record = f"{mode}:{folder / 'r.jsonl'}"
        with njrt.using(model=njrt.Scripted(replies), record=record, policy=policy):
            return program.find("Ann")

    assert play("once") == "Kim"
    calls = read_calls(folder)
    box.server.close()
    box.server.command = ("no-such-program",)
    assert play("none") == "Kim"
    assert read_calls(folder) == calls


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────


def test_time_limits_and_cancellation(folder: Path) -> None:
    box = add(folder, "--allow", "*")
    assert box.add(1, 1) == 2
    box.server.timeout = 0.3
    with pytest.raises(ToolTimeoutError, match=r"has not answered in 0\.3 seconds"):
        box.wait(20)
    box.server.timeout = 60
    # Ctrl-C ends a call that waits.
    interrupt = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        box.wait(20)
    wait_until(lambda: read_calls(folder).count("wait cancelled") == 2)
    assert box.add(1, 2) == 3


def test_after_a_lost_connection_a_new_one_is_opened_and_no_call_is_made_twice(
    folder: Path,
) -> None:
    box = add(folder, "--allow", "*")
    assert box.add(1, 1) == 2
    with pytest.raises(ToolConnectionError, match="the call may have been made"):
        box.crash()
    assert box.add(1, 2) == 3
    assert read_calls(folder).count("crash") == 1
    with ThreadPoolExecutor(4) as pool:  # calls that are lost together
        others = [pool.submit(box.wait_safely, 20) for _ in range(3)]
        wait_until(lambda: read_calls(folder).count("wait_safely") == 3)
        with pytest.raises(ToolConnectionError):
            box.crash()
        assert {type(other.exception()) for other in others} == {ToolConnectionError}
    assert box.add(1, 3) == 4


def test_a_server_at_a_url_may_be_started_again(folder: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    process = serve_http(folder, port)
    name = f"box_{folder.name}"
    try:
        added = njc("add", name, "--url", f"http://127.0.0.1:{port}/mcp", "--allow", "*")
        assert added.exit_code == 0, added.output
        box = importlib.import_module(name)
        assert box.add(1, 2) == 3
        stop(process)
        with pytest.raises(ToolConnectionError, match="no connection to http://127"):
            box.pay("7")
        process = serve_http(folder, port)
        assert box.add(2, 2) == 4
        assert box.pay("8") == "paid 8"
        box.server.close()
    finally:
        stop(process)
    assert read_calls(folder).count("pay 8 None") == 1


def serve_http(folder: Path, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, str(SERVER), str(folder), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def is_served() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    wait_until(is_served)
    return process


def stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(20)


def test_a_server_that_never_answers_is_given_up(folder: Path) -> None:
    seconds = f"1000.{os.getpid()}"
    server = McpServer("silent", command=["sleep", seconds], timeout=0.5)
    with pytest.raises(ToolTimeoutError):
        server.call("x", {})
    server.close()
    search = ["pgrep", "-f", f"sleep {seconds}"]
    wait_until(lambda: not subprocess.run(search, capture_output=True).stdout)


def test_threads_and_forks_share_a_server(folder: Path) -> None:
    box = add(folder)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: box.add(n, 1), range(20))) == list(range(1, 21))
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(box.add(3, 4) != 7))
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert box.add(1, 1) == 2


def test_a_program_ends_the_servers_that_it_started(folder: Path) -> None:
    box = add(folder)
    box.server.close()
    code = f"import {box.__name__} as box\nprint(box.add(1, 2))"
    ended = run_python("-c", code, cwd=folder, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("3\n", "", 0)
    found = subprocess.run(["pgrep", "-f", f"tool_server.py {folder}"], capture_output=True)
    assert found.stdout == b""


async def call_tool(server: MCPServer, name: str, **arguments: str) -> CallToolResult:
    async with Client(server) as client:
        return await client.call_tool(name, arguments)


def test_a_server_of_the_package_index_as_on_the_page_mcp_md(folder: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|console)\n(.*?)```", page, re.DOTALL)
    command, written = blocks[0].splitlines()
    words = shlex.split(command.removeprefix("$ njc mcp "))
    words = [sys.executable if word == "python" else word for word in words]
    made = njc(*words)
    assert made.exit_code == 0, made.output
    assert re.sub(r"[\d.]+$", "", made.output.strip()) == re.sub(r"[\d.]+$", "", written)
    shown, module = (ast.unparse(ast.parse(it)) for it in (blocks[1], Path("clock.py").read_text()))
    assert shown in module
    hook.install()
    Path("tools_prog.njpy").write_text(blocks[2])
    clock = importlib.import_module("clock")
    program = importlib.import_module("tools_prog")
    code = run("text = clock.get_current_time('Europe/Berlin')['datetime'][11:16]", done=True)
    with njrt.using(model=njrt.Scripted([code])):
        assert re.fullmatch(r"\d\d:\d\d", program.time_in("Berlin"))
    Path("times.py").write_text("from tools_prog import time_in\n")
    namespace = {"__name__": "served"}
    exec(compile(blocks[-1], "serve.py", "exec"), namespace)
    with njrt.using(model=njrt.Scripted([code])):
        served = asyncio.run(call_tool(namespace["server"], "time_in", city="Berlin"))
    assert re.fullmatch(r"\d\d:\d\d", served.structured_content["result"])
    moved = clock.convert_time("UTC", "12:00", "Asia/Tokyo")
    assert moved["time_difference"] == "+9.0h"
    with pytest.raises(ToolError, match="Nowhere"):
        clock.get_current_time("Nowhere")
