"""`njc dap` under a client that is strict about the protocol, impatient and wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from strict_client import StrictClient

from case_programs import read_program
from processes import is_running
from waiting import wait_until

PROGRAM = read_program("strictness")

Connect = Callable[[], StrictClient]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Starts adapters; they are ended at the end."""
    (tmp_path / "program.njpy").write_text(PROGRAM)
    started: list[StrictClient] = []

    def start() -> StrictClient:
        started.append(StrictClient(tmp_path))
        return started[-1]

    yield start
    for client in started:
        client.process.kill()
        client.process.wait()


def check_end(client: StrictClient, folder: Path) -> None:
    """The adapter ends, has answered all, and leaves no program behind."""
    assert client.end() == 0, client.stderr
    assert client.problems == []
    assert client.stderr == ""
    pid_file = folder / "pid"
    wait_until(
        lambda: not pid_file.exists() or not is_running(int(pid_file.read_text() or 0)),
        lambda: "the program still runs",
    )


REQUESTS: list[tuple[str, Any]] = [
    *((name, {"threadId": 1}) for name in ("next", "stepIn", "stepOut", "continue", "pause")),
    *((name, {"threadId": 1}) for name in ("stepBack", "reverseContinue", "stackTrace")),
    *((name, None) for name in ("threads", "configurationDone", "stepIn", "nonsense")),
    *(("scopes", {"frameId": number}) for number in (0, 1, 2, 99)),
    *(("variables", {"variablesReference": number}) for number in (0, 1, 3, 99)),
    *(("restartFrame", {"frameId": number}) for number in (1, 2)),
    ("setVariable", {"variablesReference": 1, "name": "total", "value": "5"}),
    ("setVariable", {"variablesReference": 1, "name": "a b", "value": "5 5"}),
    ("evaluate", {"expression": "total", "context": "watch"}),
    ("evaluate", {"expression": "\\ud800 \\0", "context": "repl", "frameId": 7}),
    ("evaluate", {"expression": "/reject no", "context": "repl"}),
    ("evaluate", {"expression": "/edit total = 7", "context": "repl"}),
    ("setFunctionBreakpoints", {"breakpoints": [{"name": "effect run"}, {"name": "block"}]}),
    ("setFunctionBreakpoints", {"breakpoints": []}),
    ("setDataBreakpoints", {"breakpoints": [{"dataId": "doubled", "condition": "x ="}]}),
    (
        "setBreakpoints",
        {
            "source": {"path": "program.njpy"},
            "breakpoints": [{"line": line} for line in (8, 17, -1, 10**12)],
        },
    ),
    ("setBreakpoints", {"source": {"path": "a\\0b"}, "breakpoints": [{"line": 3}]}),
    ("setExceptionBreakpoints", {"filters": ["refusal", "nothing"]}),
    ("source", {"sourceReference": 1}),
    ("dataBreakpointInfo", {"name": "total"}),
    ("launch", {"program": "program.njpy"}),
    ("launch", ["program.njpy"]),
    ("next", "now"),
]
MALFORMED = [b"Content-Length: 2\r\n\r\n[]", b"nonsense\r\n\r\n", b"Content-Length: 0\r\n\r\n"]


@pytest.mark.parametrize("seed", [1, 2])
def test_requests_at_any_time_are_all_answered(connect: Connect, tmp_path: Path, seed: int) -> None:
    random, client = Random(seed), connect()
    client.launch(stopOnEntry=True)
    for _ in range(60):
        client.send(*random.choice(REQUESTS))
        if random.random() < 0.1:
            client.send_bytes(random.choice(MALFORMED))
        if random.random() < 0.2:
            client.request("threads")
    assert client.request("disconnect")["success"]
    assert client.pending == {}
    check_end(client, tmp_path)


MOMENTS = ["", "initialize", "launch", "start", "stop", "continue", "back", "half a message"]


@pytest.mark.parametrize("moment", ["launch", "start", "continue", "half a message"])
def test_a_client_that_goes_at_any_moment_leaves_nothing(
    connect: Connect, tmp_path: Path, moment: str
) -> None:
    client = connect()
    for reached in MOMENTS[1 : MOMENTS.index(moment) + 1]:
        match reached:
            case "initialize":
                client.send("initialize", {"adapterID": "njc"})
            case "launch":
                client.send("launch", {"program": "program.njpy", "stopOnEntry": True})
            case "start":
                client.send("configurationDone")
            case "stop":
                client.wait_for("stopped")
            case "continue":
                client.send("stepIn", {"threadId": 1})
            case "back":
                client.send("reverseContinue", {"threadId": 1})
            case _:
                client.send_bytes(b'Content-Length: 100\r\n\r\n{"seq": 9, "type": "requ')
    check_end(client, tmp_path)


def test_the_order_of_requests_and_what_each_says(connect: Connect, tmp_path: Path) -> None:
    client = connect()

    def fails(command: str, arguments: Any = None) -> str:
        response = client.request(command, arguments)
        assert not response["success"], response
        return str(response["message"])

    for command in ("configurationDone", "restart", "terminate", "pause", "next"):
        assert fails(command) == "no program has been launched"
    client.launch(stopOnEntry=True, program="program.njpy")
    assert client.wait_for("stopped")["reason"] == "entry"
    assert fails("configurationDone") == "the program has been started already"
    assert fails("launch", {"program": "program.njpy"}).startswith("a program has been launched")
    assert client.request("stepBack", {"threadId": 1})["success"]
    assert client.wait_for("stopped")["reason"] == "step", "it has not moved, and the client knows"
    assert "this is the start\n" in [
        message["body"]["output"] for message in client.events if message["event"] == "output"
    ]
    for _ in range(2):  # to the entry of the inner block
        client.request("stepIn", {"threadId": 1})
        client.wait_for("stopped")
    inner, outer = client.request("stackTrace", {"threadId": 1})["body"]["stackFrames"]
    for frame, expression in ((inner, "number"), (inner, "number + 1")):
        arguments = {"expression": expression, "frameId": frame["id"], "context": "hover"}
        assert client.request("evaluate", arguments)["success"]
    arguments = {"expression": "total", "frameId": outer["id"], "context": "hover"}
    assert fails("evaluate", arguments) == "expressions are evaluated in the innermost block only"
    info = client.request("dataBreakpointInfo", {"name": "doubled"})["body"]
    assert info["dataId"] == "doubled"
    points = {"breakpoints": [{"name": "line nowhere.njpy:3"}, {"name": "effect if x ="}]}
    answers = client.request("setFunctionBreakpoints", points)["body"]["breakpoints"]
    assert [answer["verified"] for answer in answers] == [False, False]
    source = {"path": str(tmp_path / "program.njpy")}
    points = {"source": source, "breakpoints": [{"line": 8, "condition": "x ="}, {"line": 8}]}
    answers = client.request("setBreakpoints", points)["body"]["breakpoints"]
    assert [answer["verified"] for answer in answers] == [False, True]
    client.request("terminate")
    client.wait_for("terminated")
    check_end(client, tmp_path)


@pytest.mark.parametrize("arguments", [{"noDebug": True, "stopOnEntry": True}, {"stopAtEnd": True}])
def test_running_without_stops_and_ending_at_the_end(
    connect: Connect, tmp_path: Path, arguments: dict[str, bool]
) -> None:
    client = connect()
    client.request(
        "setFunctionBreakpoints", {"breakpoints": [{"name": "effect"}] * ("noDebug" in arguments)}
    )
    client.launch(**arguments)
    if "stopAtEnd" in arguments:
        assert client.wait_for("stopped")["description"] == "the program has ended"
        client.request("terminate")
    client.wait_for("terminated")
    assert "total 8\n" in [
        message["body"]["output"] for message in client.events if message["event"] == "output"
    ]
    stops = [message for message in client.events if message["event"] == "stopped"]
    assert len(stops) == ("stopAtEnd" in arguments)
    check_end(client, tmp_path)


NO_BREAKPOINT = "is not a breakpoint; write one of: "
WRONG: list[tuple[str, Any, str]] = [
    ("scopes", {"frameId": -1}, "the frame is no longer there"),
    ("scopes", {"frameId": 10**40}, "the frame is no longer there"),
    ("variables", {"variablesReference": -1}, "the variables are no longer there"),
    ("setVariable", {"variablesReference": 1, "name": "class", "value": "3"}, "`class` is not the"),
    ("setVariable", {"variablesReference": 1, "name": "total", "value": ""}, "invalid syntax"),
    ("evaluate", {"expression": "", "context": "repl"}, "invalid syntax"),
    ("evaluate", {"expression": "/", "context": "repl"}, "there is no command `/`"),
    ("evaluate", {"expression": "/live now", "context": "repl"}, "`live` takes no arguments"),
    ("evaluate", {"expression": "/reject", "context": "repl"}, "write `reject WORDS`: "),
    ("evaluate", {"expression": "total", "frameId": -3}, "the frame is no longer there"),
    ("evaluate", {"expression": "1 +"}, "invalid syntax"),
    ("evaluate", {"expression": "nowhere"}, "NameError"),
    ("variables", {"variablesReference": 1, "start": -1}, "start: Input should be greater"),
    ("stackTrace", {"threadId": 1, "levels": -1}, "levels: Input should be greater"),
    ("source", {"sourceReference": -1}, "the text is no longer there"),
    ("dataBreakpointInfo", {"name": "a b"}, "only variables have breakpoints on changes"),
    ("restartFrame", {"frameId": 99}, "the frame is no longer there"),
    ("setDataBreakpoints", {"breakpoints": [{"dataId": "3x"}]}, NO_BREAKPOINT),
    (
        "setBreakpoints",
        {"source": {"path": "a\0b"}, "breakpoints": [{"line": 3}]},
        "no natural block has this",
    ),
    (
        "setBreakpoints",
        {"source": {"path": "."}, "breakpoints": [{"line": 3}]},
        "no natural block has this",
    ),
    (
        "setBreakpoints",
        {"source": {"path": "program.njpy"}, "breakpoints": [{"line": -1}]},
        "no natural block",
    ),
    *(
        ("setFunctionBreakpoints", {"breakpoints": [{"name": name}]}, message)
        for name, message in {
            "": NO_BREAKPOINT,
            "block nosuch.njpy:3": "nosuch.njpy is not here; a module elsewhere may have it",
            "block program.njpy:99": "there is no prompt at program.njpy:99",
            "block program.njpy": NO_BREAKPOINT,
            "line program.njpy:8": "`line program.njpy:8` is not a breakpoint; write one of: ",
            "block a.njpy:" + "9" * 5000: NO_BREAKPOINT,
        }.items()
    ),
]


def test_wrong_arguments_are_answered_with_the_reason(connect: Connect, tmp_path: Path) -> None:
    client = connect()
    client.launch(stopOnEntry=True)
    client.wait_for("stopped")
    frame = client.request("stackTrace", {"threadId": 1})["body"]["stackFrames"][0]["id"]
    client.request("scopes", {"frameId": frame})
    for command, arguments, message in WRONG:
        response = client.request(command, arguments)
        body = response["body"]
        (answer,) = body.get("breakpoints", [body])
        text = answer.get("message") or answer.get("description") or response.get("message")
        assert message in text, (command, arguments)
        assert answer.get("verified", False) is False
    check_end(client, tmp_path)


def test_a_breakpoint_from_before_the_launch_without_a_block_stops_nothing(
    connect: Connect, tmp_path: Path
) -> None:
    client = connect()
    points = {"breakpoints": [{"name": "block program.njpy:99"}, {"name": "block program.njpy:18"}]}
    client.request("setFunctionBreakpoints", points)
    client.launch()
    assert client.wait_for("stopped")["description"] == "block program.njpy:18"
    check_end(client, tmp_path)
