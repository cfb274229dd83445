"""Other people's suites: the ground truth is right in every form, and a model is asked in the form's way."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from loopback import Response, Status
from njrt.models.scripted import Scripted, call
from openai_server import OpenAIServer, calls, says
from spsbench.cli import main
from spsbench.results import read_results
from spsbench.suites.bfcl import load_bfcl_tasks
from spsbench.suites.forms import FORMS
from spsbench.suites.m3 import KINDS, load_m3_tasks
from spsbench.suites.mtp import MTP_TASKS
from spsbench.suites.running import SuiteJob, play_job
from spsbench.suites.task import (
    SUITE_KINDS,
    FormName,
    Played,
    SuiteLimits,
    SuiteResult,
    SuiteTask,
    SuiteTrial,
    fit_value,
    read_value,
)
from spsbench.suites.values import Chore

M3_BASE = """
from collections import namedtuple
from tqdm import tqdm
from .repl import PythonREPL

ToolType = namedtuple("ToolType", ["name", "description", "function", "fn_signature"])


class Task:
    def __init__(self, name, tools, instruction, expected_output):
        self.name, self.instruction, self.expected_output = name, instruction, expected_output
        self.tools = tools() if callable(tools) else tools
        print(name)

    def check_answer(self, answer):
        return str(answer) == str(self.expected_output)
"""
M3_KIND = """
from ..base import Task, ToolType


class Shelf:
    def __init__(self):
        self.taken = 0

    def take(self, count):
        self.taken += count
        return f"{self.taken} taken"


def add(*args):
    return sum(args)


def create_tools():
    shelf = Shelf()
    return {
        "take": ToolType("take", "Takes books.", shelf.take, "take(count: int) -> str"),
        "add": ToolType("add", "Adds numbers.", add, "add(*args: float) -> int/float"),
    }


TASKS = [Task("KIND/sum", create_tools, "Add 2 and 3.", 5)]
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def m3(tmp_path: Path) -> Path:
    """Return a folder in the form of M3ToolEval, with a task of each kind."""
    folder = tmp_path / "m3tooleval"
    (folder / "tasks/impl/web_browsing").mkdir(parents=True)
    (folder / "tasks/base.py").write_text(M3_BASE)
    for name in KINDS:
        text = M3_KIND.replace("KIND", name)
        if name == "web_browsing":
            (folder / f"tasks/impl/{name}/__init__.py").write_text(
                text.replace("..base", "...base")
            )
        else:
            (folder / f"tasks/impl/{name}.py").write_text(text)
    return folder


@pytest.fixture
def mtp(tmp_path: Path) -> Path:
    """Return a folder in the form of the repository of the MTP tasks, with inputs of our own."""
    inputs = {
        "math_problem": 'question = "How much is 2 + 3?";',
        "mcq_reason": 'question: str = "Which?"; choices: dict = {"A": "this", "B": "that"};',
        "odd_word_out": 'get_reason_and_oddword(["car", "Casio"])',
        "personality_finder": "get_person_info('A. King')",
        "taskman": 'task_contents = [\n "sleep", "eat"\n];',
        "template": 'Singer(name="Bruno M."by llm())',
        "text_to_type": 'info: str = "Alice, 21.";',
        "translation": 'examples: dict[str, str] = {"a": "b"}; translate("cheese")',
        "wikipedia": 'question = "Where is it?";',
    }
    for name, text in inputs.items():
        folder = tmp_path / "mtp/benchmarks" / name
        folder.mkdir(parents=True)
        (folder / f"{name}_mtllm.jac").write_text(f"glob llm;\nwith entry {{ {text} }}\n")
    return tmp_path / "mtp"


def suite(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["suite", *arguments], env=environment)


def read(path: str = "suite.jsonl") -> tuple[SuiteResult, ...]:
    return read_results(Path(path).read_text().splitlines(keepends=True), SUITE_KINDS).results


def play(task: SuiteTask, form: FormName, replies: list[Any], calls: int = 8) -> SuiteResult:
    model = Scripted(replies, protocol="text")
    trial = SuiteTrial("m3", task.name, form, "openai/local", 1)
    result = play_job(SuiteJob(trial, task, SuiteLimits(calls), model))
    assert isinstance(result, SuiteResult)
    return result


def test_the_ground_truth_of_m3_is_right_in_every_form(m3: Path) -> None:
    done = suite("m3", "--data", str(m3), "--model", "scripted")
    assert done.exit_code == 0, done.output
    assert len(read()) == 15
    assert all(result.passed for result in read())
    assert "dna_sequencer/sum\n" not in done.output  # its modules print their tasks


def test_the_ground_truth_of_mtp_is_right_in_every_form(mtp: Path) -> None:
    done = suite("mtp", "--data", str(mtp), "--model", "scripted")
    assert done.exit_code == 0, done.output
    assert all(result.passed for result in read())
    by_form = {form: [r.task for r in read() if r.form == form] for form in FORMS}
    assert {form: len(tasks) for form, tasks in by_form.items()} == {
        "json": 9,
        "codeact": 9,
        "natural": 9,
        "answer": 8,
        "bfcl": 0,
    }
    assert "wikipedia" not in by_form["answer"]


def test_the_ground_truth_of_bfcl_is_right_in_every_form() -> None:
    pytest.importorskip("bfcl_eval")
    done = suite("bfcl", "--model", "scripted", "--sample", "20")
    assert done.exit_code == 0, done.output
    assert {result.form for result in read()} == {"json", "codeact", "natural", "bfcl"}
    assert len(read()) == 80
    assert all(result.passed for result in read())
    calls = {
        form: [result.tool_calls for result in read() if result.form == form]
        for form in ("json", "natural")
    }
    assert calls["json"] == calls["natural"]


def test_calls_that_are_missing_or_wrong_do_not_pass_bfcl() -> None:
    pytest.importorskip("bfcl_eval")
    task = load_bfcl_tasks()[0]
    right = [list(turn) for turn in task.truth]
    assert task.judge(Played(right))
    assert not task.judge(Played(right[:-1]))
    assert not task.judge(Played([[], *right[1:]]))
    assert not task.judge(Played([["mkdir(dir_name='other')", *right[0]], *right[1:]]))


def test_methods_that_a_task_leaves_out_are_not_offered() -> None:
    pytest.importorskip("bfcl_eval")
    bench = load_bfcl_tasks()[0].open()
    assert "cp" not in {tool.name for tool in bench.tools}
    assert bench.variables["fs"].cp is None


def test_natural_blocks_are_shown_the_passwords_of_their_tasks() -> None:
    pytest.importorskip("bfcl_eval")
    task = next(task for task in load_bfcl_tasks() if "password=" in task.truth[-1][0])
    model = Scripted(FORMS["natural"].script(task, 0) * 9, protocol="text")
    trial = SuiteTrial("bfcl", task.name, "natural", "openai/local", 1)
    play_job(SuiteJob(trial, task, SuiteLimits(), model))
    shown = [getattr(each, "text", "") for request in model.requests for each in request.messages]
    assert shown
    assert not [text for text in shown if "<redacted>" in text]


def test_a_missing_package_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bfcl_eval", None)
    done = suite("bfcl", "--model", "scripted")
    assert done.exit_code == 2
    assert "pip install --no-deps bfcl-eval" in done.output


@pytest.mark.parametrize("name", ["m3", "mtp"])
def test_a_folder_of_something_else_is_refused(name: str, tmp_path: Path) -> None:
    done = suite(name, "--data", str(tmp_path), "--model", "scripted")
    assert done.exit_code == 2
    assert "--data names the folder" in done.output
    assert not Path("suite.jsonl").exists()
    done = suite(name, "--model", "scripted")
    assert done.exit_code == 2
    assert f"--data names the folder of {name}" in done.output


def test_the_modules_of_a_suite_are_gone_after_loading(m3: Path) -> None:
    before = set(sys.modules)
    load_m3_tasks(m3)
    assert not [
        name for name in set(sys.modules) - before if "m3tooleval" in name or name == "tqdm"
    ]


def test_tool_calls_come_back_with_their_results(m3: Path) -> None:
    script: list[Response] = [
        calls(("take", '{"count": 2}'), ("add", '{"args": [2, 3]}')),
        calls(("nothing", "{}"), ("take", '{"much": 1}')),
        calls(("answer", '{"answer": "5"}')),
    ]
    with OpenAIServer(script, vendor=False, models=("local",)) as server:
        done = suite(
            *("m3", "--data", str(m3), "--model", "openai/local", "--forms", "json"),
            *("--sample", "1", "--keep", "kept"),
            NJC_BASE_URL=server.base_url,
        )
    assert done.exit_code == 0, done.output
    (result,) = read()
    assert (result.passed, result.calls, result.tool_calls) == (True, 3, 3)
    assert result.input_tokens == 3000
    bodies = [request.body for request in server.seen]
    offered = {tool["function"]["name"]: tool["function"] for tool in bodies[0]["tools"]}
    assert set(offered) == {"take", "add", "answer"}
    assert offered["take"]["parameters"]["properties"]["count"] == {"type": "integer"}
    assert [each["content"] for each in bodies[1]["messages"] if each["role"] == "tool"] == [
        "2 taken",
        "5",
    ]
    last = [each["content"] for each in bodies[2]["messages"] if each["role"] == "tool"][2:]
    assert last[0] == "there is no tool `nothing`"
    assert last[1].startswith("TypeError: take() got an unexpected keyword argument 'much'")
    (kept,) = Path("kept").rglob("1.jsonl")
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(lines) == 4
    assert lines[3]["calls"] == [["take(count=2)", "add(2, 3)", "take(much=1)"]]


def test_a_second_run_asks_nothing_and_other_limits_are_refused(m3: Path) -> None:
    arguments = ("m3", "--data", str(m3), "--model", "scripted", "--sample", "2")
    assert suite(*arguments).exit_code == 0
    before = read()
    done = suite(*arguments)
    assert done.exit_code == 0
    assert "6 of 6 runs are done" in done.output
    assert read() == before
    done = suite(*arguments, "--max-calls", "3")
    assert done.exit_code == 2
    assert "max-calls 8, not 3" in done.output


def test_a_server_that_fails_loses_no_result_and_the_run_continues(m3: Path) -> None:
    refused = Status(400, body={"error": {"message": "out of order"}})
    arguments = ("m3", "--data", str(m3), "--model", "openai/local", "--forms", "codeact")
    script = [says("<solution>5</solution>"), *[refused] * 3]
    with OpenAIServer(script, vendor=False, models=("local",)) as server:
        done = suite(*arguments, NJC_BASE_URL=server.base_url)
    assert done.exit_code == 1
    assert "the model's server failed repeatedly" in done.output
    assert "4 runs are left; the same command continues" in done.output
    with OpenAIServer([says("no answer")] * 4, vendor=False, models=("local",)) as server:
        done = suite(*arguments, NJC_BASE_URL=server.base_url)
    assert done.exit_code == 0, done.output
    assert sorted(result.passed for result in read()) == [False, False, False, False, True]
    report = CliRunner().invoke(main, ["suite-report", "suite.jsonl"])
    assert report.exit_code == 0
    assert re.search(r"m3 +codeact +5 +0\.200 ", report.output)


def test_code_runs_in_one_session_and_prints_are_observed(m3: Path) -> None:
    task = load_m3_tasks(m3)[0]
    replies = [
        "<execute>\nn = add(2, 1)\nprint(take(count=n))\n</execute>",
        "```python\nn + 2\n```",
        "<solution>5</solution>",
    ]
    model = Scripted(replies, protocol="text")
    trial = SuiteTrial("m3", task.name, "codeact", "openai/local", 1)
    result = play_job(SuiteJob(trial, task, SuiteLimits(), model))
    assert isinstance(result, SuiteResult)
    assert (result.passed, result.tool_calls) == (True, 2)
    shown = [request.messages[-1] for request in model.requests[1:]]
    assert [getattr(each, "text", "") for each in shown] == [
        "<observation>\n3 taken\n</observation>",
        "<observation>\n5\n</observation>",
    ]


def test_a_turn_does_not_end_with_code_that_failed() -> None:
    pytest.importorskip("bfcl_eval")
    task = load_bfcl_tasks()[0]
    failing = "<execute>import os\nos.mkdir('temp')</execute><solution>done</solution>"
    right = [reply for turn in range(4) for reply in FORMS["codeact"].script(task, turn)]
    result = play(task, "codeact", [failing, *right])
    assert (result.passed, result.calls) == (True, 9)
    assert not Path("temp").exists()


def test_code_is_guarded_as_in_natural_blocks(m3: Path) -> None:
    task = load_m3_tasks(m3)[0]
    Path("kept.txt").write_text("here")
    code = "import os\nos.remove('kept.txt')"
    for form, reply in (
        ("codeact", f"<execute>{code}</execute>"),
        ("natural", f"```python\n{code}\n```"),
    ):
        result = play(task, form, [reply] * 3, calls=2)  # type: ignore[arg-type]
        assert not result.passed
    assert Path("kept.txt").read_text() == "here"


def test_a_solution_beside_code_counts_when_the_model_repeats_it(m3: Path) -> None:
    task = load_m3_tasks(m3)[0]
    reply = "<execute>add(1, 1)</execute><solution>5</solution>"
    result = play(task, "codeact", [reply, reply])
    assert (result.passed, result.calls) == (True, 2)


@pytest.mark.parametrize("form", ["json", "codeact", "natural"])
def test_a_turn_ends_at_its_limit_of_calls(form: FormName, m3: Path) -> None:
    task = load_m3_tasks(m3)[0]
    replies = {
        "json": [call("take", count=number) for number in range(5)],
        "codeact": [f"<execute>take({number})</execute>" for number in range(5)],
        "natural": [f"```python\n# look\ntake(count={number})\n```" for number in range(5)],
    }
    result = play(task, form, replies[form], calls=4)
    assert (result.ending, result.passed, result.calls) == ("limit", False, 4)


@pytest.mark.parametrize(
    ("form", "reply", "times"),
    [
        ("json", call("add", args=[1]), 3),
        ("codeact", "<execute>add(1)</execute>", 3),
        ("codeact", "<execute>take(1)</execute>", 8),  # has another effect each time
        ("natural", "```python\nanswer = nothing\n```", 3),
    ],
)
def test_a_model_that_repeats_itself_is_stopped(
    form: FormName, reply: Any, times: int, m3: Path
) -> None:
    result = play(load_m3_tasks(m3)[0], form, [reply] * 9)
    assert (result.passed, result.calls) == (False, times)


def test_a_task_starts_with_a_new_state_each_time(m3: Path) -> None:
    task = load_m3_tasks(m3)[0]
    for _ in range(2):
        bench = task.open()
        bench.log.start_turn()
        assert bench.variables["take"](count=1) == "1 taken"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("5", int, 5),
        ("'A'", str, "'A'"),
        ('["a", "b"]', tuple[str, str], ("a", "b")),
        (
            '[{"description": "rest", "minutes": 5, "priority": 1}]',
            list[Chore],
            [Chore("rest", 5, 1)],
        ),
    ],
)
def test_values_are_read_from_text(text: str, kind: Any, value: Any) -> None:
    assert read_value(text, kind) == value


def test_values_of_another_type_are_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match=r"0\.priority: Field required"):
        fit_value([{"description": "rest", "minutes": 5}], list[Chore])


def test_each_of_the_nine_tasks_refuses_a_wrong_answer() -> None:
    wrong: dict[Any, Any] = {int: 6, str: "B", tuple[str, str]: ("it is one", "car")}
    for task in MTP_TASKS:
        assert task.accepts(task.answer)
        if task.result in wrong:
            assert not task.accepts(wrong[task.result])
