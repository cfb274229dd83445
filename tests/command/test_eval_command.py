"""`njc eval`: cases of a function, pass rates with intervals, versions and models side by side, and runs that go on."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import njrt
from chromium import Chromium, find_chromium
from njc.commands import njc
from njc.evaluation.cases.case_file import read_cases
from njc.evaluation.cases.summary import compute_sign_test
from njrt.errors import ConfigurationError
from njrt.messages import ModelMessage, Reply, Request, Usage
from njrt.models.scripted import run
from openai_server import OpenAIServer, says
from processes import run_python

PROGRAM = '''\
from typing import Literal


def route(mail: str) -> str:
    """natural
    Put into <:team: Literal["billing", "shipping"]> the team for <mail>.
    """
    return team


def tick(tasks: list[dict[str, object]]) -> None:
    """natural
    Set done to true in each of <tasks>.
    """
'''
SETS = """\
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple
from pydantic import BaseModel, Field

@dataclass(frozen=True)
class Mail:
    tags: set[str]

class Team(BaseModel):
    members: set[str] = Field(alias="people")
    mail: Mail

class Pair(NamedTuple):
    one: frozenset[str]
    other: int

FOUND = {"b", "a", "d", "c"}

def find(n: int) -> object:
    return {
        "set": FOUND,
        3: [1, FOUND],
        "pair": Pair(frozenset(FOUND), 1),
        "queue": deque([FOUND]),
        "mail": Mail(FOUND),
        "team": Team(people=FOUND, mail=Mail(FOUND)),
        "sets": {frozenset(FOUND), frozenset("e")},
        "mixed": {Mail(frozenset(FOUND)), Pair(frozenset(FOUND), 2), Pair(frozenset(FOUND), 1), "x"},
    }
"""
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


def evaluate(*words: str, model: Callable[[Request], Any]) -> Result:
    with njrt.using(model=njrt.Scripted(model, protocol="text")):
        return CliRunner().invoke(njc, ["eval", *words])


def run_command(*words: str, folder: Path | None = None, **environment: str) -> Any:
    """Run `njc eval` in a process of its own, with these variables, and no key of a vendor."""
    kept = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    return run_python("-m", "njc", "eval", *words, cwd=folder, env={**kept, **environment})


def commit(folder: Path) -> None:
    name = ["-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def list_worktrees(folder: Path) -> list[str]:
    words = ["git", "worktree", "list"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def answer(request: Request) -> Any:
    return {"team": "shipping" if "parcel" in str(request.messages[0]) else "billing"}


def test_all_pass(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    result = evaluate(
        f"{program}:route", cases, "--repeats", "2", "--gate", "pass^2>=1", model=answer
    )
    assert result.exit_code == 0, result.output
    assert "on 3 cases, 2 times" in result.output
    assert "6 of 6" in result.output
    assert "0.438 to 1.000" in result.output
    assert "pass^2 >= 1 holds: 1.000" in result.output


@pytest.mark.parametrize(("usd", "cost"), [(None, "price unknown"), (0.5, "$1.5000")])
def test_the_table_names_the_model_and_no_price_that_is_not_known(
    tmp_path: Path, usd: float | None, cost: str
) -> None:
    def reply(request: Request) -> Reply:
        return Reply(ModelMessage(json.dumps(answer(request))), usage=Usage(100, 20, 0, usd))

    program, cases = write(tmp_path, CASES)
    result = evaluate(f"{program}:route", cases, model=reply)
    assert cost in result.output
    assert "$0.0000" not in result.output
    assert re.search(r"^scripted +3 of 3 ", result.output, re.MULTILINE)
    without = "def route(mail: str) -> str:\n    return 'billing'\n"
    (plain := tmp_path / f"plain_{tmp_path.name}").mkdir()
    program, cases = write(plain, [CASES[1]], without)
    result = evaluate(f"{program}:route", cases, model=reply)
    assert re.search(r"^no model +1 of 1 .* \$0.0000 ", result.output, re.MULTILINE)


def test_sets_are_equal_in_any_order(tmp_path: Path) -> None:
    given = list("dbca")
    expected = {
        "set": given,
        "3": [1, given],
        "pair": [given, 1],
        "queue": [given],
        "mail": {"tags": given},
        "team": {"people": given, "mail": {"tags": given}},
        "sets": [["e"], given],
        "mixed": ["x", [given, 1], [given, 2], {"tags": given}],
    }
    cases = [{"inputs": {"n": 1}, "expect": expected}]
    wrong = {"set": list("abc")}, {"sets": [["e"], given, given]}, {"sets": [["e"], ["e"]]}
    cases += [{"inputs": {"n": 2}, "expect": expected | each} for each in wrong]
    program, file = write(tmp_path, cases, SETS)
    result = evaluate(f"{program}:find", file, model=answer)
    assert "1 of 4" in result.output, result.output


def test_failures_are_shown_with_what_the_model_was_asked(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    page = tmp_path / "page.html"
    result = evaluate(
        f"{program}:route",
        cases,
        "--html",
        str(page),
        "--gate",
        "pass>=0.9",
        model=lambda _: {"team": "billing"},
    )
    assert result.exit_code == 1
    assert "2 of 3" in result.output
    assert "line 1: expected 'shipping', got 'billing'" in result.output
    text = page.read_text()
    assert "&lt;mail&gt;" in text
    assert text.index("1 of 1 failed") < text.index("passed</span>")
    kept = [
        json.loads(line) for line in (tmp_path / "cases.results.jsonl").read_text().splitlines()
    ]
    assert ["Where is my parcel?" in line["shown"] for line in kept] == [True, False, False]


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
        evaluate(f"{path}:{function}", lines, "--fresh", model=answer)
        results = (tmp_path / "cases.results.jsonl").read_text().splitlines()
        passed = [json.loads(line)["passed"] for line in results]
        assert passed == [same for *_, same in pairs]


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


def test_results_are_kept_until_case_or_program_change(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    asked: list[str] = []

    def note(request: Request) -> Any:
        asked.append(str(request.messages[0]))
        return answer(request)

    for _ in range(2):
        evaluate(f"{program}:route", cases, model=note)
    assert len(asked) == 3
    evaluate(f"{program}:route", cases, "--repeats", "2", model=note)
    assert len(asked) == 6
    write(tmp_path, [*CASES[:2], {"inputs": {"mail": "Other"}, "expect": "billing"}])
    evaluate(f"{program}:route", cases, model=note)
    assert len(asked) == 7
    evaluate(f"{program}:route", cases, "--fresh", model=note)
    assert len(asked) == 10
    results = tmp_path / "cases.results.jsonl"
    results.write_text(results.read_text()[:-40])  # a process that was killed
    evaluate(f"{program}:route", cases, model=note)
    assert len(asked) == 11
    Path(program).write_text(PROGRAM.replace("the team for", "the group for"))
    evaluate(f"{program}:route", cases, model=note)
    assert len(asked) == 14


@pytest.mark.parametrize(
    "changed", ["rules.py", "shop/__init__.py", "shop/words.njpy", "shop/deep.py", "other.py"]
)
def test_modules_that_a_program_imports_are_a_part_of_it(tmp_path: Path, changed: str) -> None:
    program = "import rules\n" + PROGRAM + "\ndef unused():\n    from shop.words import WORDS\n"
    target, cases = write(tmp_path, CASES, program)
    (tmp_path / "shop").mkdir()
    texts = {"shop/words.njpy": "from .deep import WORDS\n", "shop/deep.py": "WORDS = 1\n"}
    for name in ("rules.py", "shop/__init__.py", "shop/words.njpy", "shop/deep.py", "other.py"):
        (tmp_path / name).write_text(texts.get(name, ""))
    for _ in range(2):
        result = evaluate(f"{target}:route", cases, model=answer)
        assert result.exit_code == 0, result.output
    assert "3 runs are known" in result.output
    (tmp_path / changed).write_text(texts.get(changed, "") + "# changed\n")
    result = evaluate(f"{target}:route", cases, model=answer)
    assert ("3 runs are known" in result.output) == (changed == "other.py")


def test_modules_of_a_namespace_package_are_a_part_of_the_program(
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
    known = []
    for rule in ("RULE = 1", "RULE = 1", "RULE = 2"):
        (folder / "rules.py").write_text(rule)
        result = evaluate(f"{name}:route", cases, model=answer)
        assert result.exit_code == 0, result.output
        known.append("3 runs are known" in result.output)
    assert known == [False, True, False]
    Path(program).write_text("from .rules import RULE\n" + PROGRAM)
    refused = evaluate(f"{program}:route", cases, model=answer)
    assert (refused.exit_code, "name it as a module" in refused.output) == (2, True)


def test_arguments_after_the_call(tmp_path: Path) -> None:
    before, done = [{"done": False}], [{"done": True}]
    program, cases = write(tmp_path, [{"inputs": {"tasks": before}, "after": {"tasks": done}}] * 2)
    replies = iter(
        [
            run("tasks[0]['done'] = True", done=True),
            run("tasks = 3"),
            run("print(tasks)", done=True),
        ]
    )
    result = evaluate(f"{program}:tick", cases, "--repeats", "2", model=lambda _: next(replies))
    assert "1 of 4" in result.output
    assert "line 2" in result.output
    assert (
        "`tasks` should be [{'done': True}] after the call, and is [{'done': False}]"
        in result.output
    )


def test_an_exception_is_a_failure(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES[:1])
    reply = {"raise": "ValueError", "message": "no team"}
    result = evaluate(f"{program}:route", cases, model=lambda _: reply)
    assert "line 1: ValueError: no team" in result.output
    assert "0 of 1" in result.output


def test_models_side_by_side_replace_those_of_blocks(tmp_path: Path) -> None:
    program = PROGRAM.replace('"""natural\n', '"""natural(model="openai/named")\n', 1)
    file, cases = write(tmp_path, CASES[:2], program)
    good, bad = says('{"team": "billing"}'), says('{"team": "shipping"}')
    with (
        OpenAIServer([bad, good, bad, bad], vendor=False, models=("a", "b", "named")) as server,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("NJC_BASE_URL", f"{server.url}/v1")
        environment.setenv("OPENAI_API_KEY", "none")
        words = ["eval", f"{file}:route", cases, "--model", "openai/a,openai/b"]
        result = CliRunner().invoke(njc, words)
        assert [seen.body["model"] for seen in server.seen] == ["a", "a", "b", "b"]
    rows = {line.split()[0]: line for line in result.output.splitlines() if " of 2 " in line}
    assert "2 of 2" in rows["openai/a"]
    assert "1 of 2" in rows["openai/b"]
    assert "invoice, openai/b: expected 'billing', got 'shipping'" in result.output


@pytest.mark.slow
def test_a_version_beside_another(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    recording = tmp_path / "run.jsonl"
    commit(tmp_path)
    with njrt.using(model=njrt.Scripted(answer, protocol="text"), record=recording, mode="new"):
        CliRunner().invoke(
            njc, ["eval", f"{program}:route", cases, "--out", str(tmp_path / "first.jsonl")]
        )
    Path(program).write_text(PROGRAM.replace("    return team", '    return "billing"'))
    words = ["--against", "HEAD"]
    done = run_command(f"{program}:route", cases, *words, NJC_RECORD=f"none:{recording}")
    assert done.returncode == 0, done.stderr
    assert "now against recorded at HEAD: better in 0 cases, worse in 1" in done.stdout
    (tmp_path / "elsewhere").mkdir()
    again = run_command(
        *(f"../{Path(program).name}:route", cases, *words, "--fresh"),
        folder=tmp_path / "elsewhere",
        NJC_RECORD="none:../run.jsonl",
    )
    assert "better in 0 cases, worse in 1" in again.stdout, again.stderr
    assert len(list_worktrees(tmp_path)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["shop", "src/shop"])
def test_a_version_has_its_own_modules(tmp_path: Path, layout: str) -> None:
    folder, cases = tmp_path / layout, tmp_path / "cases.jsonl"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "texts.py").write_text("def clean(n):\n    return n\n")
    program = folder / "mail.py"
    program.write_text("from shop.texts import clean\n\ndef f(n: int):\n    return clean(n)\n")
    cases.write_text('{"inputs": {"n": 1}, "expect": 1}\n')
    commit(tmp_path)
    for line in ("return n\n", "return n + 1\n"):
        (folder / "texts.py").write_text(f"def clean(n):\n    {line}")
        words = [f"{program}:f", str(cases), "--against", "HEAD"]
        done = run_command(*words, PYTHONPATH=str(folder.parent))
        assert done.returncode == 0, done.stderr
        worse = int("+" in line)
        assert f"better in 0 cases, worse in {worse}" in done.stdout, done.stdout
    assert len(list_worktrees(tmp_path)) == 1


def test_a_command_that_is_terminated_leaves_no_version(tmp_path: Path) -> None:
    program, cases, started = tmp_path / "v.py", tmp_path / "cases.jsonl", tmp_path / "started"
    cases.write_text('{"inputs": {"n": 1}, "expect": 1}\n')
    program.write_text(
        f"import time\n\ndef f(n: int):\n    open({str(started)!r}, 'w')\n    time.sleep(60)\n"
    )
    commit(tmp_path)
    words = [sys.executable, "-m", "njc", "eval", f"{program}:f", str(cases), "--against", "HEAD"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        while not started.exists() and process.poll() is None:
            time.sleep(0.02)
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM
    assert len(list_worktrees(tmp_path)) == 1


OLD_VERSIONS = {
    "another signature": ("def f(x: int, y: int) -> int:\n    return x\n", "HEAD: the cases cannot be run: error: line 1: the inputs do not fit v.py:f: no argument `y`"),
    "no function": ("def g(x: int) -> int:\n    return x\n", "HEAD: the cases cannot be run: error: there is no function `f` in v.py"),
    "no file": ("", "HEAD: there is no file"),
    "no program": ("def f(x:\n", "HEAD: the cases cannot be run: "),
}  # fmt: skip


@pytest.mark.parametrize(("old", "message"), OLD_VERSIONS.values(), ids=OLD_VERSIONS)
def test_a_version_that_cannot_be_run_is_named(tmp_path: Path, old: str, message: str) -> None:
    program, cases = tmp_path / "v.py", tmp_path / "cases.jsonl"
    cases.write_text('{"inputs": {"x": 1}, "expect": 1}\n')
    if old:
        program.write_text(old)
    commit(tmp_path)
    program.write_text("def f(x: int) -> int:\n    return x\n")
    result = evaluate(f"{program}:f", str(cases), "--against", "HEAD", model=answer)
    assert result.exit_code == 2
    assert message in result.output
    assert len(list_worktrees(tmp_path)) == 1


WRONG = {
    "no JSON": ("{", "not JSON"),
    "no object": ("[1]", "Input should be"),
    "nothing expected": ('{"inputs": {}}', "needs `expect`, `after` or `check`"),
    "half of a character": (r'{"inputs": {"mail": "\ud83d"}}', "needs its other half"),
    "an unknown key": ('{"inputs": {}, "expects": 1}', "unknown key `expects`"),
    "a blank check": ('{"inputs": {}, "check": " "}', "needs `expect`, `after` or `check`"),
    "no expression": ('{"inputs": {}, "check": "x ="}', "not an expression"),
    "no case": ("", "has no case"),
}


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_wrong_cases(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ConfigurationError, match=message.replace("[", r"\[")):
        read_cases(path)


def test_a_device_has_no_cases() -> None:
    with pytest.raises(ConfigurationError, match="/dev/zero: it is a device, not a file"):
        read_cases(Path("/dev/zero"))


def test_wrong_usage(tmp_path: Path) -> None:
    program, cases = write(tmp_path, [{"inputs": {"letter": "x"}, "expect": "y"}])
    for words, message in [
        ([f"{program}:route", cases], "line 1: the inputs do not fit"),
        (
            [f"{program}:route", cases, "--out", str(tmp_path / "no" / "out.jsonl")],
            "no such directory",
        ),
        ([f"{program}:route", cases, "--fresh", "--out", cases], "is an input of this command"),
        ([f"{program}:route", cases, "--html", program], "is an input of this command"),
        ([f"{program}:route", cases, "--html", "one", "--out", "one"], "the same file"),
        ([f"{program}:missing", cases], "no function `missing`"),
        ([f"{program}:route", cases, "--gate", "pass^2>=1"], "needs 2 runs: --repeats 2"),
        ([f"{program}:route", cases, "--gate", "live:pass>=1"], "which is not compared"),
        ([f"{program}:route", cases, "--against", "HEAD"], "git"),
        ([f"{program}:route", str(tmp_path / "no.jsonl")], "cannot read"),
    ]:
        done = evaluate(*words, model=answer)
        assert done.exit_code == 2, done.output
        assert message in done.output


def test_arguments_after_the_call_are_arguments(tmp_path: Path) -> None:
    program, cases = write(tmp_path, [{"inputs": {"tasks": []}, "after": {"task": []}}])
    result = evaluate(f"{program}:tick", cases, model=answer)
    assert result.exit_code == 2
    assert "line 1: `after` names `task`, which is not an argument of the case" in result.output


def test_an_expected_null_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"inputs": {}, "expect": null}\n')
    assert read_cases(path)[0].case.has_expected_result


@pytest.mark.parametrize(
    ("better", "worse", "chance"),
    [(0, 0, 1.0), (5, 0, 0.0625), (3, 3, 1.0), (9, 1, 0.0215), (5000, 0, 0.0), (900, 900, 1.0), (1060, 1000, 0.194)],
)  # fmt: skip
def test_the_sign_test(better: int, worse: int, chance: float) -> None:
    assert compute_sign_test(better, worse) == pytest.approx(chance, abs=1e-3)


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
    """Yield a server with the models a, which answers billing, and b, which answers shipping."""
    answers = [says('{"team": "billing"}'), says('{"team": "shipping"}')] * 9
    with OpenAIServer(answers, vendor=False, models=("a", "b")) as server:
        monkeypatch.setenv("NJC_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


def test_recorded_replies_count_once_and_for_their_model(
    tmp_path: Path, two_models: OpenAIServer
) -> None:
    program, cases = write(tmp_path, CASES[1:2])
    recording = tmp_path / "run.jsonl"

    def replay(mode: Any, *words: str) -> Result:
        with njrt.using(record=recording, mode=mode):
            return CliRunner().invoke(njc, ["eval", f"{program}:route", cases, *words])

    assert "1 of 1" in replay("new", "--model", "openai/a").output
    assert "1 of 1" in replay("none", "--model", "openai/a").output
    refused = replay("none", "--model", "openai/b")
    assert refused.exit_code == 3
    assert (
        "has a reply of `openai/a` to this request, and none of `openai/b`; record it"
        in refused.output
    )
    assert "0 of 1" in replay("new", "--model", "openai/b").output
    assert "0 of 1" in replay("none", "--model", "openai/b").output
    assert "1 of 1" in replay("none", "--model", "openai/a").output
    assert len(two_models.seen) == 2

    repeated = replay("none", "--model", "openai/a", "--repeats", "2")
    assert "the recording has no reply number 2 to this request" in repeated.output
    for mode in ("new", "none", "none"):
        repeated = replay(mode, "--model", "openai/a", "--repeats", "3")
        assert "2 of 3" in repeated.output, repeated.output  # billing, billing, shipping
    assert len(two_models.seen) == 4
    live = CliRunner().invoke(njc, ["eval", f"{program}:route", cases, "--model", "openai/b"])
    assert "1 of 1" in live.output
    assert len(two_models.seen) == 5


@pytest.mark.parametrize("name", ["here", "by a server's name"])
def test_a_server_may_have_another_name_for_a_model(tmp_path: Path, name: str) -> None:
    recording = tmp_path / "run.jsonl"
    model = njrt.Scripted(answer, protocol="text", name="m.gguf")
    program, cases = write(tmp_path, CASES[:1])
    words = [
        "eval",
        f"{program}:route",
        cases,
        "--model",
        "m.gguf" if name == "here" else "openai/m",
    ]
    with njrt.using(model=model, record=recording, mode="new"):
        assert "1 of 1" in CliRunner().invoke(njc, words).output
    with njrt.using(record=recording, mode="none"):
        assert "1 of 1" in CliRunner().invoke(njc, words).output


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
    "no server": ({"NJC_BASE_URL": "http://127.0.0.1:9/v1", "NJC_API_KEY": "x"}, "cannot reach", 3),
}


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "message", "code"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize(("text", "accept"), [(PROGRAM, False), (CAUGHT, False), (CAUGHT, True)])
def test_an_error_of_the_setting_counts_for_no_case(
    tmp_path: Path, settings: dict[str, str], message: str, code: int, text: str, accept: bool
) -> None:
    """Also if the program catches it."""
    case = {"inputs": {"mail": "An invoice"}} | ({} if accept else {"expect": "billing"})
    program, cases = write(tmp_path, [case], text)
    words = [f"{program}:route", cases, *["--accept"] * accept]
    done = run_command(*words, folder=tmp_path, **settings)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "cases.results.jsonl").exists()
    assert "expect" in Path(cases).read_text() or accept


def test_several_cases_at_a_time(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    model = njrt.Scripted(answer, protocol="text", delay=0.5)
    began = time.monotonic()
    with njrt.using(model=model):
        result = CliRunner().invoke(njc, ["eval", f"{program}:route", cases, "-j", "3"])
    assert "3 of 3" in result.output
    assert time.monotonic() - began < 1.4
    results = (tmp_path / "cases.results.jsonl").read_text().splitlines()
    assert len({json.loads(line)["case"] for line in results}) == 3


def test_warnings_are_counted_and_named(tmp_path: Path) -> None:
    tasks = [{"done": False}]
    text = PROGRAM.replace("Set done to true in each of <tasks>.", "Mark <tasks> as done.")
    given = [{"inputs": {"tasks": tasks}, "after": {"tasks": tasks}}]
    program, cases = write(tmp_path, given, text)
    page = tmp_path / "page.html"
    result = evaluate(
        f"{program}:tick", cases, "--html", str(page), model=lambda _: run("x = 1", done=True)
    )
    assert "1 of 1" in result.output
    assert result.output.split("warnings")[1].strip()
    assert "<th>warnings</th>" in page.read_text()
    assert "line 1: warning: the block has changed nothing" in result.output


def test_a_run_is_accepted_as_a_case(tmp_path: Path) -> None:
    given = [CASES[0], {"inputs": {"mail": "The invoice"}, "name": "new"}]
    program, cases = write(tmp_path, given)
    plain = evaluate(f"{program}:route", cases, model=answer)
    assert "needs `expect`, `after` or `check`" in plain.output
    result = evaluate(f"{program}:route", cases, "--accept", model=answer)
    assert result.exit_code == 0, result.output
    assert "2 of 2" in result.output
    first, second = map(json.loads, Path(cases).read_text().splitlines())
    assert first == CASES[0]
    assert second == {"inputs": {"mail": "The invoice"}, "expect": "billing", "name": "new"}


def test_results_beside_a_failure_are_kept(tmp_path: Path) -> None:
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

    result = evaluate(f"{program}:route", cases, "-j", "4", model=answer_late)
    assert (result.exit_code, "no longer valid" in result.output) == (3, True)
    known = {each.digest: each.case.inputs["mail"] for each in read_cases(Path(cases))}
    kept = map(json.loads, (tmp_path / "cases.results.jsonl").read_text().splitlines())
    assert {known[result["case"]] for result in kept} >= {"item-0", "item-1", "item-3"}
    assert "8 of 8" in evaluate(f"{program}:route", cases, model=answer).output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_the_reply_in_flight(tmp_path: Path, number: int) -> None:
    program, cases = write(tmp_path, CASES)
    path = tmp_path / "results.jsonl"

    def interrupt(*_: object) -> Any:
        os.kill(os.getpid(), number)
        return {"team": "shipping"}

    before = signal.getsignal(number)
    result = evaluate(f"{program}:route", cases, "-o", str(path), model=interrupt)
    assert (result.exit_code, signal.getsignal(number)) == (130, before), result.output
    assert "waiting for the running cases" in result.output
    assert len(path.read_text().splitlines()) == 1
    assert "3 of 3" in evaluate(f"{program}:route", cases, "-o", str(path), model=answer).output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_keeps_the_results_of_running_cases(
    tmp_path: Path, fails: bool, number: int
) -> None:
    """Also if one of three cases has failed with an error of the setting before."""
    program, cases = write(
        tmp_path, [{"inputs": {"mail": f"item-{n}"}, "expect": "billing"} for n in range(8)]
    )
    begun, interrupting = threading.Barrier(3), threading.Lock()

    def answer_interrupted(request: Request) -> Any:
        begun.wait(30)
        if fails and "item-2" in str(request.messages[0]):
            raise njrt.AuthenticationError("the key is no longer valid")
        if interrupting.acquire(blocking=False):
            time.sleep(0.3)  # until the other one has failed
            os.kill(os.getpid(), number)
        time.sleep(0.6)
        return answer(request)

    result = evaluate(f"{program}:route", cases, "-j", "3", model=answer_interrupted)
    assert result.exit_code == (3 if fails else 130)
    assert "waiting for the running cases" in result.output
    kept = (tmp_path / "cases.results.jsonl").read_text().splitlines()
    assert len(kept) == (2 if fails else 3)
    assert "8 of 8" in evaluate(f"{program}:route", cases, model=answer).output


def test_a_page_replaces_no_other_file(tmp_path: Path) -> None:
    program, cases = write(tmp_path, CASES)
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>\nmine\n")
    refused = evaluate(f"{program}:route", cases, "--html", str(page), model=answer)
    assert (refused.exit_code, "is not a report of njc" in refused.output) == (2, True)
    assert page.read_text() == "<!DOCTYPE html>\nmine\n"
    page.write_text("")
    for _ in range(2):
        done = evaluate(f"{program}:route", cases, "--html", str(page), model=answer)
        assert (done.exit_code, "mine" in page.read_text()) == (0, False)


def test_results_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, cases = write(tmp_path, CASES)
    words, page = (f"{program}:route", cases), str(tmp_path / "page.html")
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    refused = evaluate(*words, model=answer)
    assert (refused.exit_code, "its directory is read-only" in refused.output) == (2, True)
    monkeypatch.undo()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for name, mode in ("page.html", "w"), ("cases.results.jsonl", "a"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", fail_to_open(tmp_path / name, mode, full))
            failed = evaluate(*words, "--fresh", "--html", page, model=answer)
        message = f"{name}: No space left on device"
        assert (failed.exit_code, message in failed.output) == (2, True)
    assert "3 of 3" in evaluate(*words, model=answer).output


def fail_to_open(place: Path, mode: str, error: OSError) -> Callable[..., Any]:
    """Return Path.open with an error for one file in one mode."""
    opened = Path.open

    def open(path: Path, *given: Any, **named: Any) -> Any:
        if (path, *given) == (place, mode):
            raise error
        return opened(path, *given, **named)

    return open


LEAVING = """

def leave(n: int) -> object:
    if n == 2:
        raise SystemExit("bye")
    if n == 3:
        raise KeyError("three")
    if n == 5:
        raise ValueError("\\ud800 \\x1b[31m <b>\\nbold")
    if n == 6:
        raise Unsayable
    if n == 7:
        raise GeneratorExit
    if n == 8:
        from asyncio import CancelledError
        raise CancelledError
    return leave if n == 4 else n


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")
"""
ENDS = [
    (2, "SystemExit: bye"),
    (3, "KeyError: 'three'"),
    (5, "ValueError: \\ud800 \\x1b[31m <b>\n    bold"),
    (6, "Unsayable: <its message cannot be shown: ValueError>"),
    (7, "GeneratorExit"),
    (8, "CancelledError"),
]


@pytest.mark.parametrize(("n", "problem"), ENDS)
def test_a_program_that_leaves_ends_its_case_alone(tmp_path: Path, n: int, problem: str) -> None:
    given = [{"inputs": {"n": n}, "expect": 1}, {"inputs": {"n": 1}, "expect": 1}]
    file, cases = write(tmp_path, given, PROGRAM + LEAVING)
    result = evaluate(f"{file}:leave", cases, model=answer)
    assert result.exit_code == 0, result.output
    assert "1 of 2" in result.output
    assert f"line 1: {problem}" in result.output
    page = evaluate(f"{file}:leave", cases, "--html", str(tmp_path / "p.html"), model=answer)
    assert page.exit_code == 0, page.output
    assert "<b>" not in (tmp_path / "p.html").read_text()


def test_a_name_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    given = [{"inputs": {"n": 1}, "expect": 2, "name": "\x1b[31mred\n\u202e"}]
    file, cases = write(tmp_path, given, PROGRAM + LEAVING)
    result = evaluate(f"{file}:leave", cases, model=answer)
    assert r"\x1b[31mred\n\u202e: expected 2, got 1" in result.output


@pytest.mark.slow  # it opens a browser
def test_a_page_with_hostile_texts_is_read_as_text(tmp_path: Path) -> None:
    text = "</pre><script>document.title = 'run'</script> é 日 \u202e" + "x" * 5000
    given = [{"inputs": {"n": 1}, "expect": text, "name": text}]
    mail = [{"inputs": {"mail": text}, "expect": "x", "name": "<i>"}]
    file, cases = write(tmp_path, given, PROGRAM + LEAVING)
    page = tmp_path / "page.html"
    assert evaluate(f"{file}:leave", cases, "--html", str(page), model=answer).exit_code == 0
    assert "<script>" not in page.read_text(encoding="utf-8")
    file, cases = write(tmp_path, mail)
    assert evaluate(f"{file}:route", cases, "--html", str(page), model=answer).exit_code == 0
    written = page.read_text(encoding="utf-8")
    assert "&lt;/pre&gt;&lt;script&gt;document.title = &#39;run&#39;&lt;/script&gt; é 日" in written
    assert "<script>" not in written
    assert "\\u003c" not in written
    if find_chromium() is not None:
        for width in (390, 900):
            with Chromium(width=width, height=800) as browser:
                browser.open(page)
                browser.wait_for(
                    "document.readyState == 'complete' && document.querySelector('details')"
                )
                wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert browser.evaluate(wide) <= 0
                assert browser.evaluate("document.title") != "run"


def test_a_model_that_is_named_twice_is_one(tmp_path: Path) -> None:
    file, cases = write(tmp_path, [{"inputs": {"n": 1}, "expect": 1}], PROGRAM + LEAVING)
    result = evaluate(f"{file}:leave", cases, "--model", "a,b,a", "--model", "b", model=answer)
    assert [line.split()[0] for line in result.output.splitlines() if "1 of 1" in line] == [
        "a",
        "b",
    ]


def test_a_file_that_has_no_results_is_not_written_to(tmp_path: Path) -> None:
    file, cases = write(tmp_path, [{"inputs": {"n": 1}, "expect": 1}], PROGRAM + LEAVING)
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n")
    result = evaluate(f"{file}:leave", cases, "--out", str(notes), model=answer)
    assert result.exit_code == 2
    assert "notes.txt has no results; name another file" in result.output
    assert notes.read_text() == "mine\n"


def test_a_file_of_results_that_ends_anywhere_is_continued(tmp_path: Path) -> None:
    given = [{"inputs": {"n": n}, "expect": 1, "name": "ü"} for n in (1, 8, 9)]
    file, cases = write(tmp_path, given, PROGRAM + LEAVING)
    out = tmp_path / "cases.results.jsonl"
    evaluate(f"{file}:leave", cases, model=answer)
    whole = out.read_bytes()
    lines = whole.splitlines(keepends=True)
    ends = {sum(map(len, lines[:count])) for count in range(len(lines) + 1)}
    for end in sorted({0, 1, *range(20, len(whole), 97), *(e + d for e in ends for d in (-1, 1))}):
        out.write_bytes(whole[: max(0, end)])
        known = sum(len(line) - 1 <= end for line in accumulate_lines(lines))
        result = evaluate(f"{file}:leave", cases, model=answer)
        assert "1 of 3" in result.output
        assert (f"{known} runs are known" in result.output) == (known > 0), (end, result.output)


@pytest.mark.parametrize(
    ("variable", "value", "is_known"),
    [
        ("NJC_MODEL", "openai/other", False),
        ("NJC_REPLACE_MODEL", "=other", False),
        ("NJC_BASE_URL", "http://127.0.0.1:9/v1", False),
        ("NJC_TEMPERATURE", "0.5", False),
        ("NJC_STORE", "memory:", True),
    ],
)
def test_results_of_other_settings_are_not_taken_for_those_of_these(
    tmp_path: Path, variable: str, value: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, cases = write(tmp_path, [{"inputs": {"n": 1}, "expect": 1}], PROGRAM + LEAVING)
    evaluate(f"{file}:leave", cases, model=answer)
    monkeypatch.setenv(variable, value)
    result = evaluate(f"{file}:leave", cases, model=answer)
    assert ("1 runs are known" in result.output) == is_known, result.output


def accumulate_lines(lines: list[bytes]) -> list[bytes]:
    """Return each line with all lines before it."""
    return [b"".join(lines[: count + 1]) for count in range(len(lines))]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_results_before_a_case_without_one_are_accepted(tmp_path: Path, n: int) -> None:
    file, cases = write(tmp_path, [{"inputs": {"n": 1}}, {"inputs": {"n": n}}], PROGRAM + LEAVING)
    result = evaluate(f"{file}:leave", cases, "--accept", model=answer)
    assert result.exit_code == 2
    assert "line 2: no result to accept: " in result.output
    assert Path(cases).read_text().splitlines()[0] == '{"inputs": {"n": 1}, "expect": 1}'


def test_lines_that_are_written_while_results_are_accepted_stay(tmp_path: Path) -> None:
    """Two commands accept results at once: each keeps the results of the other, and the file is written once."""
    given = [{"inputs": {"mail": f"The invoice {n}"}} for n in (1, 2, 2, 3)]
    program, cases = write(tmp_path, given)
    other = {"inputs": {"mail": "The invoice 1"}, "expect": "shipping"}
    added = CASES[0]
    texts = []

    def answer_meanwhile(request: Request) -> Any:
        texts.append(Path(cases).read_text())
        if len(texts) == 2:
            lines = [json.dumps(each) for each in (added, other, *given[1:])]
            Path(cases).write_text("\n".join(lines))
        return answer(request)

    evaluate(f"{program}:route", cases, "--accept", model=answer_meanwhile)
    expected = [added, other, *({**each, "expect": "billing"} for each in given[1:])]
    assert [json.loads(line) for line in Path(cases).read_text().splitlines()] == expected
    assert len(set(texts[:2])) == len(set(texts[2:4])) == 1, "no file is written before the end"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_accepted_results_change_their_lines_alone(tmp_path: Path, mark: bytes, end: bytes) -> None:
    program, cases = write(tmp_path, [])
    lines = [json.dumps(each).encode() for each in (CASES[0], {"inputs": CASES[1]["inputs"]})]
    Path(cases).write_bytes(mark + end.join([lines[0], b"", lines[1], b""]))
    result = evaluate(f"{program}:route", cases, "--accept", model=answer)
    assert "1 result accepted" in result.output
    lines[1] = lines[1][:-1] + b', "expect": "billing"}'
    assert Path(cases).read_bytes() == mark + end.join([lines[0], b"", lines[1], b""])


def test_numbers_that_are_not_finite_are_expected(tmp_path: Path) -> None:
    program = "def get(x: float) -> list[float]:\n    return [x, -x]\n"
    file, cases = write(tmp_path, [], program)
    numbers = ["1e999, -1e999", "Infinity, -Infinity", '"Infinity", "-Infinity"']
    lines = [f'{{"inputs": {{"x": 1e999}}, "expect": [{each}]}}' for each in numbers]
    lines += [
        '{"inputs": {"x": NaN}, "expect": [NaN, NaN]}',
        '{"inputs": {"x": NaN}, "after": {"x": NaN}}',
    ]
    Path(cases).write_text("\n".join(lines))
    result = evaluate(f"{file}:get", cases, model=answer)
    assert "5 of 5" in result.output, result.output


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_order_of_a_set_does_not_matter(tmp_path: Path, seed: str) -> None:
    """It differs from process to process; an accepted one is in a fixed order."""
    program = "def tags(n: int, known: set) -> set:\n    known.add('new')\n    return {'b', 'a', 'd', 'c'}\n"
    inputs = {"n": 1, "known": ["y", "x", "z"]}
    expected = {"expect": ["d", "b", "a", "c"], "after": {"known": ["z", "new", "y", "x"]}}
    wrong = {"inputs": inputs, "expect": ["a", "b", "c", "c"]}
    given = [{"inputs": inputs, **expected}, wrong, {"inputs": inputs}]
    file, cases = write(tmp_path, given, program)
    done = run_command(f"{file}:tags", cases, "--accept", PYTHONHASHSEED=seed)
    assert "2 of 3" in done.stdout, done.stderr
    assert "expected ['a', 'b', 'c', 'c'], got ['a', 'b', 'c', 'd']" in done.stdout
    accepted = json.loads(Path(cases).read_text().splitlines()[2])
    assert accepted["expect"] == ["a", "b", "c", "d"]
    assert accepted["after"] == {"known": ["new", "x", "y", "z"]}


def test_results_of_the_named_model_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "named_models.py"
    module.write_text(
        "import njrt\n\n\ndef open_model(name):\n"
        "    return njrt.Scripted(lambda _: {'team': name}, name=name, protocol='text')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NJC_MODEL", "python:named_models:billing")
    program, cases = write(tmp_path, [{"inputs": {"mail": "a"}}])
    words = [f"{program}:route", cases, "--accept"]
    two = ["--model", "python:named_models:shipping,python:named_models:billing"]
    refused = CliRunner().invoke(njc, ["eval", *words, *two])
    assert refused.exit_code == 2
    assert "--accept takes the results of one model; name one" in refused.output
    result = CliRunner().invoke(njc, ["eval", *words, "--model", "python:named_models:shipping"])
    assert "1 of 1" in result.output, result.output
    assert json.loads(Path(cases).read_text())["expect"] == "shipping"


def test_changed_arguments_are_accepted(tmp_path: Path) -> None:
    program, cases = write(tmp_path, [{"inputs": {"tasks": [{"done": False}]}}])
    reply = run("tasks[0]['done'] = True", done=True)
    evaluate(f"{program}:tick", cases, "--accept", model=lambda _: reply)
    assert json.loads(Path(cases).read_text()) == {
        "inputs": {"tasks": [{"done": False}]},
        "after": {"tasks": [{"done": True}]},
    }


def test_a_function_without_a_block_that_runs(tmp_path: Path) -> None:
    program = PROGRAM + "\n\ndef double(n: int) -> int:\n    return 2 * n\n"
    given = [{"inputs": {"n": 2}, "expect": 4}, {"inputs": {"n": 2}, "expect": 5}]
    file, cases = write(tmp_path, given, program)
    result = evaluate(f"{file}:double", cases, model=answer)
    assert result.exit_code == 0, result.output
    assert "1 of 2" in result.output


ODD = """\
import os
import sqlite3

DATABASE = sqlite3.connect(":memory:")


def move(n: int) -> int:
    os.chdir("/")
    return DATABASE.execute("select ?", [n]).fetchone()[0]


def write(n: int) -> str:
    return "x" * 900 + str(n) + "y" * 900
"""


def test_a_program_that_changes_its_folder_moves_no_results(tmp_path: Path) -> None:
    """It also uses a connection that belongs to the thread that imports it."""
    pytest.importorskip("jinja2")
    write(tmp_path, [{"inputs": {"n": 1}}], ODD)
    name = f"triage_{tmp_path.name}.njpy:move"
    words = ["cases.jsonl", "--accept", "--out", "o.jsonl", "--html", "p.html"]
    done = run_command(name, *words, folder=tmp_path)
    assert "1 of 1" in done.stdout, done.stderr
    assert done.stdout.startswith(f"{name} on 1 case")
    assert '"expect": 1' in (tmp_path / "cases.jsonl").read_text()
    assert (tmp_path / "o.jsonl").exists()
    assert (tmp_path / "p.html").exists()


def test_a_failure_shows_the_first_difference(tmp_path: Path) -> None:
    expected = "x" * 900 + "2" + "y" * 900
    program, cases = write(tmp_path, [{"inputs": {"n": 1}, "expect": expected}], ODD)
    result = evaluate(f"{program}:write", cases, model=answer)
    assert "x2y" in result.output
    assert "x1y" in result.output
    assert len(result.output) < 900


def test_the_last_blocks_of_a_failure_are_kept(tmp_path: Path) -> None:
    program = (
        PROGRAM
        + """

def route_all(mail: str) -> str:
    return [route("long " * 900), *[route(f"{n} " + "m" * 900) for n in range(30)]][-1]
"""
    )
    program, cases = write(tmp_path, [{"inputs": {"mail": "x"}, "expect": "y"}], program)
    evaluate(f"{program}:route_all", cases, model=answer)
    (line,) = (tmp_path / "cases.results.jsonl").read_text().splitlines()
    shown = json.loads(line)["shown"]
    assert shown.startswith("... (")
    assert "characters before are left out)\n== " in shown
    assert "29 mmm" in shown
    assert len(shown) < 20_100


def test_a_check_may_begin_with_a_blank(tmp_path: Path) -> None:
    program, cases = write(tmp_path, [CASES[0] | {"check": " result == 'shipping'"}])
    assert "1 of 1" in evaluate(f"{program}:route", cases, model=answer).output


def test_the_interval_counts_cases(tmp_path: Path) -> None:
    """Four equal runs of each of three cases say no more about other cases than one."""
    program, cases = write(tmp_path, CASES)
    result = evaluate(f"{program}:route", cases, "--repeats", "4", model=answer)
    assert "0.438 to 1.000" in result.output, result.output
    program, cases = write(tmp_path, CASES * 4)
    result = evaluate(f"{program}:route", cases, model=answer)
    assert "12 of 12  1.000  0.438 to 1.000" in result.output, result.output
