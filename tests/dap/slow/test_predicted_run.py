"""The debug adapter over predictions: an editor steps through a program that is not run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dap.base import ErrorResponse
from dap_client import DapClient

from predicted_oracle import ORACLE, PROGRAM


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DapClient]:
    (tmp_path / "fact.py").write_text(PROGRAM)
    (tmp_path / "oracle.py").write_text(ORACLE)
    (tmp_path / "calls").write_text("fact(2)\nfact(3)")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    client = DapClient(tmp_path)
    yield client
    client.close()


def launch(client: DapClient, *lines: int, call: str = "fact(2)") -> None:
    points = {Path("fact.py"): [{"line": line} for line in lines]}
    client.launch("fact.py", points if lines else None, predicted="oracle:calls", call=call)
    client.stopped()


def test_steps_forward_and_back(client: DapClient) -> None:
    launch(client)
    assert client.stack() == [("depth 0, as predicted", 1)]
    places = []
    for command in ("next", "next", "next", "stepOut", "stepBack", "reverseContinue"):
        assert client.move(command).reason == "step"
        places.append(client.stack()[0][1])
    assert places == [2, 4, 5, 5, 5, 1]


def test_continue_goes_to_the_line_of_a_breakpoint(client: DapClient) -> None:
    launch(client, 5)
    client.move("continue")
    assert client.stack() == [("depth 0, as predicted", 5)]


def test_continue_without_progress_stops(client: DapClient) -> None:
    """The oracle's `step_into`, by which several lines are looked for, stays in place."""
    launch(client, 3, 5)
    client.move("continue")
    assert client.stack() == [("depth 0, as predicted", 1)]


def test_breakpoints_of_other_files_and_with_conditions_are_not_taken(
    client: DapClient, tmp_path: Path
) -> None:
    launch(client, 5)

    def set_in(file: str, **point: object) -> Any:
        source = {"path": str(tmp_path / file)}
        arguments = {"source": source, "breakpoints": [{"line": 3, **point}]}
        (answer,) = client.request("setBreakpoints", arguments).breakpoints
        return answer

    assert not set_in("oracle.py").verified
    assert client.move("continue").reason == "breakpoint"
    assert client.stack() == [("depth 0, as predicted", 5)]
    assert "needs a program that runs" in set_in("fact.py", condition="n == 1").message
    for command in ("pause", "restartFrame", "completions", "dataBreakpointInfo"):
        refused = client.request(
            command, {"threadId": 1, "frameId": 1, "text": "", "column": 1, "name": "n"}
        )
        assert isinstance(refused, ErrorResponse)
        assert "needs a program that runs" in refused.message


def test_variables_are_shown_set_and_checked(client: DapClient) -> None:
    launch(client)
    scopes = client.scopes(1)
    assert client.variables(scopes["Predicted"]) == {"n": "2"}
    assert client.evaluate("n") == "2"
    assert "nothing is run" in client.evaluate("n + 1")
    changed = client.request("setVariable", {"variablesReference": 1, "name": "n", "value": "3"})
    assert changed.value == "3"
    client.move("stepOut")
    assert client.variables(1) == {"n": "3", "k": "2", "(return)": "6"}
    assert client.evaluate("check", "repl").startswith("right")


def test_what_cannot_be_answered_changes_nothing(client: DapClient) -> None:
    launch(client)
    answer = client.request(
        "setVariable", {"variablesReference": 1, "name": "n", "value": "other()"}
    )
    assert isinstance(answer, ErrorResponse)
    assert client.variables(1) == {"n": "2"}
    for name, value in (("", "3"), ("n", " ")):
        arguments = {"variablesReference": 1, "name": name, "value": value}
        refused = client.request("setVariable", arguments)
        assert refused.message == "a variable needs a name and a value"
    refused = client.request("variables", {"variablesReference": 7})
    assert isinstance(refused, ErrorResponse)
    assert "no such frame" in refused.message


def test_the_end_terminates_the_session(client: DapClient) -> None:
    launch(client)
    client.move("stepOut")
    client.request("next", {"threadId": 1})
    client.ended()
    assert "has ended, as predicted" in client.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predicted": "oracle:calls"}, "needs `call`"),
        ({"predicted": "oracle:calls", "call": "other(2)"}, "not a call of a function"),
        ({"predicted": "nothing:calls", "call": "fact(2)"}, "No module named 'nothing'"),
        ({"predicted": "oracle", "call": "fact(2)"}, "MODULE:FILE"),
    ],
)
def test_a_launch_that_cannot_be_served_says_why(
    arguments: dict[str, str], message: str, client: DapClient
) -> None:
    answer = client.request("launch", {"program": "fact.py", **arguments})
    assert isinstance(answer, ErrorResponse)
    assert message in answer.message
