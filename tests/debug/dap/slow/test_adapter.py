"""`njc dap`, driven by an independent client through examples and programs of its own."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from dap.base import ErrorResponse
from dap.events import TerminatedEvent
from dap_client import DapClient

from case_programs import read_program
from waiting import HANG_SECONDS

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples"

Connect = Callable[..., DapClient]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Starts adapters; they are ended at the end."""
    started: list[DapClient] = []

    def start(**options: object) -> DapClient:
        started.append(DapClient(tmp_path, **options))
        return started[-1]

    yield start
    for client in started:
        client.process.kill()
        client.process.wait()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.njpy"
    file.write_text(read_program("adapter"))
    return file


def enter(connect: Connect) -> DapClient:
    """Launch the program, and wait until it has stopped at its first block."""
    client = connect()
    client.launch("program.njpy", stopOnEntry=True)
    client.stopped()
    return client


def test_an_example_on_its_recording(connect: Connect, tmp_path: Path) -> None:
    """A breakpoint in a prompt, into the effects, back, a variable is set, and on."""
    for file in ("mailbox.njpy", "recordings/mailbox.jsonl"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / file, tmp_path / file)
    mailbox = tmp_path / "mailbox.njpy"
    client = connect(client_id="test", lines_start_at1=True)
    assert client.initialized.supportsStepBack
    prompt = (
        mailbox.read_text()
        .splitlines()
        .index(
            '            Continue if <topic> is "prizes". Otherwise append <mail> to the list in <self.folders>'
        )
        + 1
    )
    (answer,) = client.launch(
        "mailbox.njpy",
        {mailbox: [{"line": prompt, "condition": "topic == 'prizes'"}, {"line": 2}]},
        recording="recordings/mailbox.jsonl",
        replayOnly=True,
    )
    assert [point.verified for point in answer.breakpoints] == [True, False]
    assert answer.breakpoints[0].line == prompt - 1
    stopped = client.stopped()
    assert stopped.reason == "breakpoint"
    assert client.stack() == [(f"natural block mailbox.njpy:{prompt - 1}", prompt - 1)]
    (frame,) = client.frames()
    scopes = client.scopes(frame.id)
    shown = client.variables(scopes["Variables"])
    assert shown["topic"] == "'prizes'"
    assert shown["mail"].startswith("'YOU WON")
    assert client.evaluate("len(self.folders)") == "int = 2"

    client.move("stepIn")
    (effect, block) = client.frames()
    assert effect.name == "Run"
    assert (
        "continue"
        in client.request("source", {"sourceReference": effect.source.sourceReference}).content
    )
    assert (block.source.path, block.line) == (str(mailbox), prompt - 1)
    shown = client.variables(client.scopes(effect.id)["Shown to the model"])
    assert any("YOU WON" in text for text in shown.values())
    assert client.variables(client.scopes(effect.id)["Effect"])["kind"] == "Run"

    client.move("stepBack")
    assert len(client.stack()) == 1
    client.move("reverseContinue")
    assert client.evaluate("mail[:6]") == "str = 'Can we'", "no earlier block has this condition"
    client.move("continue")
    assert client.evaluate("topic") == "str = 'prizes'"
    reference = client.scopes(client.frames()[0].id)["Variables"]
    answer = client.request(
        "setVariable", {"variablesReference": reference, "name": "topic", "value": "'gifts'"}
    )
    assert answer.value == "'gifts'"
    assert client.variables(reference)["topic"] == "'gifts'"
    client.request("continue", {"threadId": 1})
    client.ended()
    assert "RecordingMismatchError" in client.output, "what is shown is no longer what was recorded"
    assert client.close() == 0


def test_steps_of_nested_blocks(connect: Connect, program: Path) -> None:
    client = connect()
    client.launch("program.njpy", stopOnEntry=True)
    assert client.stopped().reason == "entry"
    assert client.stack() == [("natural block program.njpy:14", 14)]
    assert client.move("stepIn").reason == "step"
    assert client.stack() == [("Run", 1), ("natural block program.njpy:14", 14)]
    client.move("stepIn")
    assert client.stack() == [
        ("natural block program.njpy:6", 6),
        ("natural block program.njpy:14", 14),
    ]
    inner, outer = client.frames()
    assert list(client.scopes(inner.id)) == ["Variables"]
    assert client.variables(client.scopes(inner.id)["Variables"]) == {"number": "4"}
    assert client.variables(client.scopes(outer.id)["Variables"])["total"] == "int = 0"
    client.move("stepOut")
    assert client.stack()[0] == ("natural block program.njpy:6", 8), "the exit is at the last line"
    client.move("stepBack")
    client.move("stepBack")
    assert client.stack()[0] == ("natural block program.njpy:6", 6)
    outer_frame = client.frames()[1]
    client.request("restartFrame", {"frameId": outer_frame.id})
    client.stopped()
    assert client.stack() == [("natural block program.njpy:14", 14)]
    table = client.variables(client.scopes(client.frames()[0].id)["Variables"])
    assert table["table"] == "{'prices': [3, 4]}"
    answer = client.request(
        "variables", {"variablesReference": client.scopes(client.frames()[0].id)["Variables"]}
    )
    part = next(v for v in answer.variables if v.name == "table").variablesReference
    assert client.variables(part) == {"['prices']": "[3, 4]"}
    client.request("continue", {"threadId": 1})
    client.ended()
    assert client.output == "half done\ntotal 8\n"
    assert client.close() == 0


def test_effects_are_edited_and_rejected_in_the_console(connect: Connect, program: Path) -> None:
    client = enter(connect)
    assert (
        client.evaluate("/edit x = 1", "repl")
        == "error: no effect is pending here; step on to the next one"
    )
    client.move("stepIn")
    assert client.evaluate("/nothing", "repl").startswith("error: there is no command `/nothing`")
    assert "/reject WORDS" in client.evaluate("/help", "repl")
    assert client.evaluate("/edit", "repl").startswith("error: write `edit TEXT`: ")
    assert client.evaluate("/reject", "repl").startswith("error: write `reject WORDS`: ")
    assert client.evaluate("/reject do it yourself", "repl") == "the effect will be refused"
    client.move("next")
    assert (
        client.evaluate("/edit total = 41\\ntotal += 1", "repl")
        == "the edited effect will be performed"
    )
    frame, *_ = client.frames()
    content = client.request("source", {"sourceReference": frame.source.sourceReference}).content
    assert content == "total = 41\ntotal += 1"
    assert client.variables(client.scopes(frame.id)["Effect"])["code"].startswith("total = 41")
    client.request("continue", {"threadId": 1})
    client.ended()
    assert client.output == "total 42\n"


BREAKPOINTS = {
    "effect Run": (
        "setFunctionBreakpoints",
        {"breakpoints": [{"name": "effect Run"}]},
        "function breakpoint",
        "Run",
    ),
    "block": (
        "setFunctionBreakpoints",
        {"breakpoints": [{"name": "block program.njpy:6"}]},
        "breakpoint",
        "natural block program.njpy:6",
    ),
    "data": (
        "setDataBreakpoints",
        {"breakpoints": [{"dataId": "doubled"}]},
        "data breakpoint",
        "natural block program.njpy:6",
    ),
    "refusal": ("setExceptionBreakpoints", {"filters": ["refusal"]}, "exception", "Run"),
}


@pytest.mark.parametrize("name", BREAKPOINTS)
def test_other_breakpoints(connect: Connect, program: Path, name: str) -> None:
    command, arguments, reason, frame = BREAKPOINTS[name]
    client = connect()
    assert not isinstance(client.request(command, arguments), ErrorResponse)
    client.launch("program.njpy")
    stopped = client.stopped()
    assert stopped.reason == reason
    assert client.stack()[0][0] == frame
    assert ("ZeroDivisionError" in stopped.text) == (reason == "exception")


def test_a_divergence_is_described(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "program.njpy").write_text(CHANCE)
    client = connect()
    client.request("setExceptionBreakpoints", {"filters": ["divergence"]})
    client.launch("program.njpy", stopOnEntry=True)
    client.stopped()
    client.move("next")
    client.request("stepBack", {"threadId": 1})
    stopped = client.stopped()
    assert (stopped.reason, stopped.description) == ("exception", "the run diverges")
    assert "number" in stopped.text


CHANCE = """\
import njrt, time
from njrt.testing import Scripted, run
number = time.time_ns()
with njrt.using(model=Scripted([run("one = 1", done=True)])):
    '''natural
    Put 1 into <:one>, not <number>.
    '''
"""


def test_the_end_is_reported_once(connect: Connect, program: Path) -> None:
    client = enter(connect)
    client.request("terminate")
    client.ended()
    client.request("terminate")
    client.request("threads")
    assert client.close() == 0
    assert sum(isinstance(event, TerminatedEvent) for event in client.events) == 1


def test_breakpoints_that_cannot_be_set(connect: Connect, program: Path) -> None:
    client = connect()
    answer = client.request("setFunctionBreakpoints", {"breakpoints": [{"name": "effekt Run"}]})
    assert not answer.breakpoints[0].verified
    assert "write one of: block [FILE:LINE]" in answer.breakpoints[0].message
    os.mkfifo(pipe := program.with_name("pipe.njpy"))
    for file in (pipe, Path("/dev/zero")):
        wanted = {"source": {"path": str(file)}, "breakpoints": [{"line": 1}]}
        assert not client.request("setBreakpoints", wanted).breakpoints[0].verified
    client.launch("program.njpy", stopOnEntry=True)
    client.stopped()
    reference = client.scopes(client.frames()[0].id)["Variables"]
    answer = client.request("variables", {"variablesReference": reference})
    table = next(variable for variable in answer.variables if variable.name == "table")
    places = {"table": reference, "['prices']": table.variablesReference}
    found = [
        client.request("dataBreakpointInfo", {"name": name, "variablesReference": place}).dataId
        for name, place in places.items()
    ]
    assert found == ["table", None]


def test_stepping_back_from_the_end(connect: Connect, program: Path) -> None:
    client = connect()
    client.launch("program.njpy", stopAtEnd=True)
    assert client.stopped().description == "the program has ended"
    assert client.stack() == []
    client.move("stepBack")
    assert client.stack() == [("natural block program.njpy:14", 16)]
    assert client.evaluate("total") == "int = 8"


def test_lines_and_columns_are_numbered_from_one(connect: Connect, program: Path) -> None:
    with pytest.raises(AssertionError, match="numbers lines and columns from 1"):
        connect(lines_start_at1=False)
    client = connect(path_format="uri")
    answer = client.request(
        "setBreakpoints",
        {"source": {"path": program.as_uri()}, "breakpoints": [{"line": 15}]},
    )
    assert [(point.verified, point.line) for point in answer.breakpoints] == [(True, 14)]
    client.launch("program.njpy")
    client.stopped()
    assert client.stack() == [("natural block program.njpy:14", 14)]
    assert client.frames()[0].column == 1


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("launch", {}, "program: Field required"),
        ("launch", {"program": "nowhere.njpy"}, "there is no program nowhere.njpy"),
        ("launch", {"program": "program.njpy", "args": 3}, "args: "),
        ("launch", {"program": "program.njpy", "replayOnly": True}, "`replayOnly` needs `reco"),
        (
            "launch",
            {"program": "program.njpy", "predicted": "a:b", "call": "main()"},
            "`predicted` was removed: use `njc debug --predicted`",
        ),
        ("next", {"threadId": 1}, "no program has been launched"),
        ("scopes", {"frameId": 7}, "no program has been launched"),
        ("variables", {"variablesReference": 7}, "no program has been launched"),
        ("source", {"sourceReference": 7}, "no program has been launched"),
        ("evaluate", {}, "expression: Field required"),
        ("attach", {}, "njc dap does not serve `attach`"),
        ("setExceptionBreakpoints", {"filters": ["all"]}, "filters.0: "),
        ("setBreakpoints", {"source": {"name": "x"}}, "breakpoints are set in files"),
    ],
)
def test_wrong_requests(
    connect: Connect, program: Path, command: str, arguments: dict[str, object], message: str
) -> None:
    client = connect()
    answer = client.request(command, arguments)
    assert isinstance(answer, ErrorResponse)
    assert message in str(answer.message)
    assert client.close() == 0


MALFORMED = [
    b"Content-Length: 3\r\n\r\n{]}",
    b"Content-Length: 2\r\n\r\n[]",
    b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01",
    b"Nonsense: yes\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"Content-Length: many\r\n\r\n",
    b"content-length:2\r\nContent-Type: x\r\n\r\n{}",
]


@pytest.mark.parametrize("data", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_messages_are_skipped(connect: Connect, data: bytes) -> None:
    client = connect()
    client.send_bytes(data)
    assert client.request("threads").threads[0].name == "natural blocks"
    assert client.close() == 0


def test_a_program_that_is_killed_at_a_stop_leaves_the_adapter_serving(
    connect: Connect, program: Path
) -> None:
    client = enter(connect)
    pid = int(client.evaluate("__import__('os').getpid()").removeprefix("int = "))
    os.kill(pid, signal.SIGKILL)
    client.request("next", {"threadId": 1})
    client.evaluate("total")
    client.ended()
    assert "signal 9" in client.output
    assert client.close() == 0


def test_a_program_that_fails_and_one_that_reads_its_input(
    connect: Connect, tmp_path: Path
) -> None:
    (tmp_path / "fails.njpy").write_text("print('begun')\n1 / 0\n")
    (tmp_path / "reads.njpy").write_text("print('read', input())\n")
    (tmp_path / "wrong.njpy").write_text("def f(:\n")
    client = connect()
    client.launch("fails.njpy")
    client.ended()
    assert "begun\n" in client.output
    assert "ZeroDivisionError" in client.output
    client = connect()
    client.launch("reads.njpy")
    client.ended()
    assert "EOFError" in client.output
    client = connect()
    client.launch("wrong.njpy")
    client.ended()
    assert "wrong.njpy:1:" in client.output


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGHUP", 1)])
def test_a_signal_leaves_no_temporary_files(
    connect: Connect, program: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with TemporaryDirectory() as temporary:  # a short path, for the addresses of sockets
        monkeypatch.setenv("TMPDIR", temporary)
        client = connect()
        client.launch(str(program), stopOnEntry=True)
        client.stopped()
        assert os.listdir(temporary)
        client.process.send_signal(number)
        assert client.process.wait(HANG_SECONDS) == -number
        assert os.listdir(temporary) == []
