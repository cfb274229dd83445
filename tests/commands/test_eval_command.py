"""`njc eval`: cases of a function, pass rates with intervals, models side by side, and runs that go on."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import njrt
from case_programs import read_program
from njc.commands import njc
from njc.measure.cases.case_file import read_cases
from njc.target import get_target
from njrt.testing import ModelMessage, Reply, Request, Usage, run
from openai_server import OpenAIServer, says
from processes import run_python

PROGRAM = read_program("eval_command")
CASES = [
    {"inputs": {"mail": "Where is my parcel?"}, "expect": "shipping"},
    {"inputs": {"mail": "The invoice is wrong."}, "expect": "billing", "name": "invoice"},
    {"inputs": {"mail": "A refund, please"}, "check": "result == 'billing' and Literal and mail"},
]


def write(folder: Path, cases: Sequence[dict[str, Any]], program: str = PROGRAM) -> tuple[str, str]:
    """Write a program of a name of its own, and its cases; return their paths."""
    file, lines = folder / f"triage_{folder.name}.njpy", folder / "cases.jsonl"
    file.write_text(program)
    lines.write_text("\n".join(map(json.dumps, cases)) + "\n")
    return str(file), str(lines)


def evaluate(*words: str, model: Any, code: int = 0) -> Result:
    """Run `njc eval` with a scripted model; its exit code must be `code`."""
    with njrt.using(model=njrt.Scripted(model, protocol="text")):
        result = CliRunner(catch_exceptions=False).invoke(njc, ["eval", *words])
    assert result.exit_code == code, result.output
    return result


def run_command(*words: str, folder: Path | None = None, **environment: str) -> Any:
    """Run `njc eval` in a process of its own, with these variables, and no key of a vendor."""
    kept = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    return run_python("-m", "njc", "eval", *words, cwd=folder, env={**kept, **environment})


def answer(request: Request) -> Any:
    return {"team": "shipping" if "parcel" in str(request.messages[0]) else "billing"}


MORE = """
import os
import sqlite3
from asyncio import CancelledError

DATABASE = sqlite3.connect(":memory:")


def move(n: int) -> int:
    os.chdir("/")
    return DATABASE.execute("select ?", [n]).fetchone()[0]


def repeat(n: int) -> str:
    return "x" * 900 + str(n) + "y" * 900


def get(x: float) -> list[float]:
    return [x, -x]


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def leave(n: int) -> object:
    errors = [
        SystemExit("bye"), KeyError("three"), ValueError("\\ud800 \\x1b[31m <b>\\nbold"), Unsayable(),
        GeneratorExit(), CancelledError(),
    ]
    if n > 1:
        raise errors[n - 2]
    return n
"""
ENDS = [
    *("SystemExit: bye", "KeyError: 'three'", "ValueError: \\ud800 \\x1b[31m <b>\n    bold"),
    *("Unsayable: <its message cannot be shown: ValueError>", "GeneratorExit", "CancelledError"),
]


def cost(usd: float | None) -> Callable[[Request], Reply]:
    """Return a model whose replies cost this much."""
    usage = Usage(100, 20, 0, usd)
    return lambda request: Reply(ModelMessage(json.dumps(answer(request))), usage=usage)


def give(*values: Any, **expected: Any) -> list[dict[str, Any]]:
    """Return cases with the input `n`, and one expectation."""
    return [{"inputs": {"n": value}, **expected} for value in values]


OPEN, DONE = {"tasks": [{"done": False}]}, {"tasks": [{"done": True}]}
LONG = "x" * 900 + "2" + "y" * 900


@dataclass(frozen=True)
class Call:
    """A call of the command, patterns of what it prints, further words, and the exit code."""

    function: str
    cases: Sequence[dict[str, Any]]
    printed: Sequence[str]
    words: str = ""
    model: Any = answer
    code: int = 0


CALLS: dict[str, Call] = {
    "all pass": Call(
        "route", CASES, ["on 3 cases, 2 times", "6 of 6", "0.438 to 1.000"], "--repeats 2 --gate 1"
    ),
    "some fail": Call(
        *("route", CASES, ["2 of 3", "^line 1: expected 'shipping', got 'billing'$"]),
        *("--gate 0.9", lambda _: {"team": "billing"}, 1),
    ),
    "no price": Call("route", CASES, ["^scripted +3 of 3 .* price unknown"], model=cost(None)),
    "a price": Call("route", CASES, [r"^scripted +3 of 3 .* \$1.5000"], model=cost(0.5)),
    "no block": Call("get", [{"inputs": {"x": 1}, "check": "1"}], [r"^no model .* \$0.0000"]),
    "nearly equal": Call("get", [{"inputs": {"x": 0.1 + 0.2}, "expect": [0.3, -0.3]}], ["1 of 1"]),
    "no boolean": Call("leave", give(1, expect=True), ["expected True, got 1"]),
    "an exception": Call(
        *("route", CASES[:1], ["^line 1: ValueError: no team", "0 of 1"]),
        model=lambda _: {"raise": "ValueError", "message": "no team"},
    ),
    "arguments after the call": Call(
        *("tick", [{"inputs": OPEN, "after": DONE}]),
        [
            "1 of 2",
            r"^line 1: `tasks` should be .*True.* after the call, and is .*False.* \(1 of 2",
        ],
        "--repeats 2",
        [run("tasks[0]['done'] = True", done=True), run("print(tasks)", done=True)],
    ),
    "a hostile name": Call(
        *("leave", give(1, expect=2, name="\x1b[31mred\n\u202e")),
        [r"^\\x1b\[31mred\\n\\u202e: expected 2, got 1$"],
    ),
    "a model named twice": Call(
        *("leave", give(1, expect=1), [r"-\na +1 of 1.*\nb +1 of 1.*\n\Z"]),
        "--model a,b,a --model b",
    ),
    "long texts": Call("repeat", give(1, expect=LONG), [r"x{100}x*'\.\.\..*got 'x{100}x*'\.\.\."]),
    "a check that begins with a blank": Call("leave", give(1, check=" n == 1"), ["1 of 1"]),
    "no expression": Call("leave", give(1, check="x ="), ["`check` is no expression here"], code=2),
    "a null": Call("leave", give(1, expect=None), ["expected None, got 1"]),
    "repeats": Call("route", CASES, ["12 of 12  1.000  0.438 to 1.000"], "--repeats 4"),
    "inputs that do not fit": Call(
        "route", give(1, expect=1), ["line 1 gives n, which does not fit"], code=2
    ),
    "no function": Call("missing", CASES, ["no function `missing`"], code=2),
    "no gate": Call("route", CASES, ["is not a valid float"], "--gate pass^2>=1", code=2),
    "no flag": Call("route", CASES, ["--against was removed in njc 0.3"], "--against HEAD", code=2),
    **{
        text: Call("leave", give(n, 1, expect=1), ["1 of 2", f"^line 1: {re.escape(text)}"])
        for n, text in enumerate(ENDS, 2)
    },
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_printed(tmp_path: Path, call: Call) -> None:
    program, cases = write(tmp_path, call.cases, PROGRAM + MORE)
    words = (f"{program}:{call.function}", cases, *call.words.split())
    result = evaluate(*words, model=call.model, code=call.code)
    for text in call.printed:
        assert re.search(text, result.output, re.MULTILINE), result.output
    assert len(result.output) < 900


NUMBERS = [
    *(
        '{"inputs": {"x": 1e999}, "expect": [1e999, -1e999]}',
        '{"inputs": {"x": NaN}, "after": {"x": NaN}}',
    ),
    *(
        '{"inputs": {"x": 1e999}, "expect": [Infinity, -Infinity]}',
        '{"inputs": {"x": NaN}, "expect": [NaN, NaN]}',
    ),
    '{"inputs": {"x": 1e999}, "expect": ["Infinity", "-Infinity"]}',
]


def test_numbers_that_are_not_finite_are_expected(tmp_path: Path) -> None:
    file, cases = write(tmp_path, [], PROGRAM + MORE)
    Path(cases).write_text("\n".join(NUMBERS))
    result = evaluate(f"{file}:get", cases, model=answer)
    assert "5 of 5" in result.output, result.output


VALUES = [
    (1, 1, True),
    (1, 1.0, True),
    (1, True, False),
    (0, False, False),
    ([[1]], [[True]], False),
    ({"a": {"b": [0]}}, {"a": {"b": [False]}}, False),
    ({"a": [True, 1, 0.5]}, {"a": [True, 1, 0.5]}, True),
]


def test_numbers_and_booleans_differ_in_results_and_arguments(tmp_path: Path) -> None:
    program = "def same(value):\n    return value\n\n\ndef put(held, value):\n    held[0] = value\n"
    pairs = [*VALUES, *((one, other, same) for other, one, same in VALUES)]
    for function, cases in {
        "same": [{"inputs": {"value": got}, "expect": wanted} for wanted, got, _ in pairs],
        "put": [
            {"inputs": {"held": [None], "value": got}, "after": {"held": [wanted]}}
            for wanted, got, _ in pairs
        ],
    }.items():
        path, lines = write(tmp_path, cases, program)
        result = evaluate(f"{path}:{function}", lines, model=answer)
        failed = re.findall(r"^line (\d+): ", result.output, re.MULTILINE)
        assert failed == [str(n) for n, (*_, same) in enumerate(pairs, 1) if not same]


@pytest.mark.parametrize("annotation", ["", ": dict", ": dict[str, list[object]]", ": object"])
@pytest.mark.parametrize("jobs", ["1", "4"])
def test_each_run_of_a_case_has_fresh_arguments(tmp_path: Path, annotation: str, jobs: str) -> None:
    program = (
        f"def fill(box{annotation}):\n    box['a'][0].append(1)\n    return len(box['a'][0])\n"
    )
    case = {"inputs": {"box": {"a": [[]]}}, "expect": 1, "after": {"box": {"a": [[1]]}}}
    path, cases = write(tmp_path, [case], program)
    result = evaluate(f"{path}:fill", cases, "--repeats", "4", "-j", jobs, model=answer)
    assert "4 of 4" in result.output, result.output


def test_a_request_is_sent_once(tmp_path: Path) -> None:
    """Also if the command was interrupted, and if what the model does not see has changed."""
    program, cases = write(tmp_path, CASES)
    asked: list[str] = []

    def note(request: Request) -> Any:
        asked.append(str(request.messages[0]))
        if len(asked) == 2:
            raise njrt.AuthenticationError("the key is no longer valid")
        return answer(request)

    def count(*words: str, code: int = 0) -> int:
        asked_before = len(asked)
        get_target.cache_clear()  # the program may have changed
        evaluate(f"{program}:route", cases, *words, model=note, code=code)
        return len(asked) - asked_before

    assert [count(code=3), count(), count()] == [2, 2, 0]
    assert count("--repeats", "2") == 3
    write(tmp_path, [*CASES[:2], {"inputs": {"mail": "Other"}, "expect": "billing"}])
    assert count() == 1
    write(tmp_path, [CASES[0] | {"expect": "billing"}], PROGRAM.replace("return team", "return 1"))
    assert count() == 0
    Path(program).write_text(PROGRAM.replace("the team for", "the group for"))
    assert count() == 1


def test_a_program_may_be_named_as_a_module_of_a_namespace_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python finds them in the working directory if the program is named as a module."""
    folder = tmp_path / f"space_{tmp_path.name}" / "shop"
    folder.mkdir(parents=True)
    program, cases = write(
        folder, CASES, f"from {folder.parent.name}.shop.rules import RULE\n{PROGRAM}"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"{folder.parent.name}.shop.{Path(program).stem}"
    (folder / "rules.py").write_text("RULE = 1")
    evaluate(f"{name}:route", cases, model=answer)
    Path(program).write_text("from .rules import RULE\n" + PROGRAM)
    refused = evaluate(f"{program}:route", cases, model=answer, code=2)
    assert "name it as a module" in refused.output


def test_models_side_by_side_replace_those_of_blocks(
    tmp_path: Path, two_models: OpenAIServer
) -> None:
    program = PROGRAM.replace('"""natural\n', '"""natural(model="openai/named")\n', 1)
    file, cases = write(tmp_path, CASES[:2], program)
    billing, shipping, *_ = two_models.script
    two_models.script = [shipping, billing, shipping, shipping]
    words = ["eval", f"{file}:route", cases, "--model", "openai/a,openai/b"]
    result = CliRunner().invoke(njc, words)
    assert [seen.body["model"] for seen in two_models.seen] == ["a", "a", "b", "b"]
    rows = {line.split()[0]: line for line in result.output.splitlines() if " of 2 " in line}
    assert "2 of 2" in rows["openai/a"]
    assert "1 of 2" in rows["openai/b"]
    assert "invoice, openai/b: expected 'billing', got 'shipping'" in result.output


WRONG = {
    "no JSON": ("{", "not JSON"),
    "no object": ("[1]", "Input should be"),
    "nothing expected": ('{"inputs": {}}', "needs `expect`, `after` or `check`"),
    "half of a character": (r'{"inputs": {"mail": "\ud83d"}}', "needs its other half"),
    "an unknown key": (
        '{"inputs": {}, "expects": 1}',
        "expects: Unexpected keyword argument; the fields of a case are inputs, expect, after",
    ),
    "a blank check": ('{"inputs": {}, "check": " "}', "needs `expect`, `after` or `check`"),
    "no case": ("", "has no case"),
}


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_wrong_cases(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(njrt.ConfigurationError, match=message.replace("[", r"\[")):
        read_cases(path)


@pytest.mark.parametrize("target", ["triage.njpy", "route", ":route", "triage.njpy:"])
def test_a_target_without_a_function_is_refused(target: str) -> None:
    assert "write PROGRAM:FUNCTION" in CliRunner().invoke(njc, ["eval", target]).output


@pytest.mark.parametrize(
    ("file", "message"), [("/dev/zero", "it is a device, not a file"), ("/no.jsonl", "cannot read")]
)
def test_files_that_cannot_be_read(file: str, message: str) -> None:
    with pytest.raises(njrt.ConfigurationError, match=message):
        read_cases(Path(file))


CAUGHT = """\
def route(mail: str) -> str:
    try:
        \"\"\"natural
        Put into <:team: str> the team for <mail>.
        \"\"\"
    except Exception:
        return "billing"
    return team
"""


@pytest.fixture
def two_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Yield a server with several models, which answers billing and shipping in turn."""
    answers = [says('{"team": "billing"}'), says('{"team": "shipping"}')] * 9
    with OpenAIServer(answers, vendor=False, models=("a", "b", "named")) as server:
        monkeypatch.setenv("NJC_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


def test_recorded_replies_count_once(
    tmp_path: Path, two_models: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, cases = write(tmp_path, CASES[1:2])

    def replay(mode: Any, *words: str) -> Result:
        with njrt.using(record=f"{mode}:{tmp_path / 'run.jsonl'}"):
            return CliRunner().invoke(njc, ["eval", f"{program}:route", cases, *words])

    monkeypatch.setenv("NJC_REPLACE_MODEL", "=openai/a")
    assert "1 of 1" in replay("new").output
    assert "1 of 1" in replay("none").output
    repeated = replay("none", "--repeats", "2")
    assert "the recording has no reply number 2 to this request" in repeated.output
    for mode in ("new", "none", "none"):
        repeated = replay(mode, "--repeats", "3")
        assert "2 of 3" in repeated.output, repeated.output  # billing, shipping, billing
    assert len(two_models.seen) == 3
    refused = replay("none", "--model", "openai/b")
    assert refused.exit_code == 2
    assert "a recording has the replies of one" in refused.output


def test_repeats_are_not_answered_by_the_cache(
    tmp_path: Path, two_models: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NJC_CACHE", "on")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program, cases = write(tmp_path, CASES[1:2])
    words = ["eval", f"{program}:route", cases, "--model", "openai/a", "--repeats", "4"]
    assert "2 of 4" in CliRunner().invoke(njc, words).output
    assert len(two_models.seen) == 4


SETTINGS = {
    "no recording": ({"NJC_RECORD": "none:missing.jsonl"}, "there is no recording", 3),
    "no model": ({}, "no model is configured", 2),
    "no server": (
        {"NJC_BASE_URL": "http://127.0.0.1:9/v1", "NJC_API_KEY": "x"},
        "no reply from",
        3,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "message", "code"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("text", [PROGRAM, CAUGHT])
def test_an_error_of_the_setting_counts_for_no_case(
    tmp_path: Path, settings: dict[str, str], message: str, code: int, text: str
) -> None:
    """Also if the program catches it."""
    program, cases = write(
        tmp_path, [{"inputs": {"mail": "An invoice"}, "expect": "billing"}], text
    )
    done = run_command(f"{program}:route", cases, folder=tmp_path, **settings)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stdout == ""


def test_several_cases_at_a_time(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    model = njrt.Scripted(answer, protocol="text", delay=0.5)
    began = time.monotonic()
    with njrt.using(model=model):
        result = CliRunner().invoke(njc, ["eval", f"{program}:route", cases, "-j", "3"])
    assert "3 of 3" in result.output
    assert time.monotonic() - began < 1.4


def test_replies_beside_a_failure_are_kept(tmp_path: Path) -> None:
    """Of four cases at a time one ends the command, before the others are answered."""
    cases_of_all = [{"inputs": {"mail": f"item-{n}"}, "expect": "billing"} for n in range(8)]
    program, cases = write(tmp_path, cases_of_all)
    has_failed, begun = threading.Event(), threading.Barrier(4)

    def answer_late(request: Request) -> Any:
        if not has_failed.is_set():
            begun.wait(30)
        if "item-2" in str(request.messages[0]):
            has_failed.set()
            raise njrt.AuthenticationError("the key is no longer valid")
        assert has_failed.wait(30)
        return answer(request)

    result = evaluate(f"{program}:route", cases, "-j", "4", model=answer_late, code=3)
    assert "no longer valid" in result.output
    asked: list[str] = []

    def answer_again(request: Request) -> Any:
        asked.append(str(request.messages[0]))
        return answer(request)

    assert "8 of 8" in evaluate(f"{program}:route", cases, model=answer_again).output
    assert not [each for each in asked if re.search("item-[013]", each)]


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_an_interrupt_keeps_the_replies_before(tmp_path: Path, jobs: str) -> None:
    program, cases = write(tmp_path, CASES)
    asked: list[str] = []

    def interrupt(request: Request) -> Any:
        asked.append(str(request.messages[0]))
        if len(asked) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return answer(request)

    words = (f"{program}:route", cases, "-j", jobs)
    evaluate(*words, model=interrupt, code=130)
    assert "3 of 3" in evaluate(*words, model=interrupt).output
    assert len(asked) == (4 if jobs == "1" else 3)


def test_a_program_that_changes_its_folder_moves_no_results(tmp_path: Path) -> None:
    """It also uses a connection that belongs to the thread that imports it."""
    write(tmp_path, give(1, expect=1), PROGRAM + MORE)
    name = f"triage_{tmp_path.name}.njpy:move"
    done = run_command(name, "cases.jsonl", "--repeats", "2", folder=tmp_path)
    assert "2 of 2" in done.stdout, done.stderr
    assert done.stdout.startswith(f"{name} on 1 case")
