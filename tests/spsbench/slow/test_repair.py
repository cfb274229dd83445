"""`spsbench repair`: problems, prompts, budgets, results that go on, and pass rates; on programs of our own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from njc.measure.repair.reply import read_rationale
from openai_server import OpenAIServer, says
from spsbench.cli import main
from spsbench.repair.problems import RepairProblem, parse_repair_problems
from spsbench.repair.program_reply import complete_program, find_program
from spsbench.repair.prompt import MAX_ANNOTATED_CHARS, make_repair_prompt
from spsbench.repair.results import (
    ASKED,
    REPAIR_KINDS,
    RepairResult,
)
from spsbench.repair.solving import draw_sample
from spsbench.repair.table import list_summary_rows, list_tables
from spsbench.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.results import read_results

TOTAL = {
    "name": "total",
    "buggy": "\ndef total(prices):\n    spent = 0\n    for price in prices:\n        spent = price\n    return spent\n",
    "correct": "\ndef total(prices):\n    return sum(prices)\n",
    "tests": [[[[]], 0], [[[3, 4]], 7]],
}
FIRST = {
    "task_id": "Python/7",
    "prompt": 'from typing import List\n\n\ndef first(items: List[int]) -> int:\n    """The first one."""\n',
    "buggy_solution": "    return items[1]\n",
    "canonical_solution": "    return items[0]\n",
    "test": "\n\ndef check(first):\n    assert first([5, 6]) == 5\n\ncheck(first)",
    "entry_point": "first",
}
PAIRS = {
    "name": "pairs",
    "buggy": "def pairs(n):\n    for i in range(n):\n        yield i\n",
    "correct": "def pairs(n):\n    for i in range(n):\n        yield i + 1\n",
    "tests": [[[2], [1, 2]]],
}
RIGHT = "Each price replaces the sum.\n\n```python\ndef total(prices):\n    return sum(prices)\n```"
WRONG = "Rationale: no idea.\n\n```python\ndef total(prices):\n    return 7\n```"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of three problems, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "own.jsonl", [TOTAL, FIRST, PAIRS])
    return tmp_path / "own.jsonl"


def write(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def repair(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["repair", *map(str, arguments)])


def parse(*rows: object) -> list[RepairProblem]:
    return list(parse_repair_problems(map(json.dumps, rows)))


@pytest.mark.parametrize("row", [TOTAL, FIRST, PAIRS])
def test_problems_fail_as_they_are_and_pass_when_right(row: object) -> None:
    (problem,) = parse(row)
    assert isinstance(run_tests(problem.code, problem.tests), FailedTests)
    assert run_tests(problem.correct, problem.tests) == PassedTests()


def test_a_line_that_is_no_problem_is_named(data: Path) -> None:
    write(data, [TOTAL, {"name": "x"}])
    result = repair("--data", data, "--model", "scripted")
    assert result.exit_code == 2
    assert (
        "own.jsonl: line 2 is of neither HumanEvalFix nor QuixBugs (KeyError: 'buggy')"
        in result.output
    )


def test_a_sample_depends_on_its_seed_alone() -> None:
    first = draw_sample("abc", 2, seed=4)
    assert first == draw_sample("cab", 2, seed=4)
    assert len({draw_sample("abc", 1, seed)[0] for seed in range(30)}) == 3
    whole = draw_sample("abc", None, seed=4)
    assert (whole[:2], set(whole)) == (first, set("abc"))


def test_conditions_show_more_and_more() -> None:
    (problem,) = parse(TOTAL)
    failure = run_tests(problem.code, problem.tests, traces=True)
    assert isinstance(failure, FailedTests)
    shown = {condition: make_repair_prompt(condition, problem.code, failure) for condition in ASKED}
    has = {
        "def total(prices):": set(ASKED),
        "assert total([3, 4]) == 7": {*ASKED} - {"neither"},
        "`total([3, 4])` is 4, but should be 7": {*ASKED} - {"neither"},
        "# (4) spent = 3; (6) spent = 4": {"trace"},
        "(1) prices = [3, 4]": {"trace"},
    }
    for text, conditions in has.items():
        assert {name for name, prompt in shown.items() if text in prompt} == conditions, text


def test_a_long_trace_is_shortened() -> None:
    lines = "".join(f"    x{i} = [n] * {i + 40}\n" for i in range(60))
    code = f"def f(n):\n{lines}    return n\n"
    failure = run_tests(code, "assert f(123456) == 0", traces=True)
    assert isinstance(failure, FailedTests)
    assert len(make_repair_prompt("trace", code, failure)) < MAX_ANNOTATED_CHARS + 500


REPLIES = {
    "two blocks": (
        "a\n```python\nx = 1\n```\nb\n```python\ndef f(): pass\n```",
        "a",
        "def f(): pass\n",
    ),
    "example after": ("```\ndef f(): pass\n```\n```python\nprint(f())\n```", "", "def f(): pass\n"),
    "cut off": (
        "Because.\n```python\ndef f():\n    return 1",
        "Because.",
        "def f():\n    return 1\n",
    ),
    "heading": (
        "### Rationale:\nBecause.\n```py\ndef f(): pass\n```",
        "Because.",
        "def f(): pass\n",
    ),
    "bold heading": ("**Rationale**: So.\n```\ndef f(): pass\n```", "So.", "def f(): pass\n"),
    "lead-in": (
        "So.\n\nHere is the corrected program:\n```\ndef f(): pass\n```",
        "So.",
        "def f(): pass\n",
    ),
    "no code": ("I cannot.", "I cannot.", ""),
    "other language": (
        "x\n```bash\nls\n```\n```python\ndef f(): pass\n```",
        "x",
        "def f(): pass\n",
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_replies_are_read(name: str) -> None:
    text, rationale, code = REPLIES[name]
    assert (read_rationale(text), find_program(text, "f")) == (rationale, code)


def test_what_a_reply_leaves_out_is_completed() -> None:
    program = "from typing import List\nimport math\n\nN = 3\n\ndef helper(): return N\n\ndef f(): return 0\n"
    completed = complete_program("import math\n\ndef f(x: List): return helper()\n", program)
    assert completed.splitlines()[:4] == [
        "from typing import List",
        "N = 3",
        "def helper(): return N",
        "import math",
    ]
    assert complete_program("not python", program) == "not python"


@pytest.mark.parametrize(
    ("program", "reply"),
    [
        (
            "import functools\n\n@functools.cache\ndef twice(n):\n    return [n, n]\n\ndef f(): pass\n",
            "def f():\n    return twice(2) is twice(2)\n",
        ),
        (
            "from dataclasses import dataclass\n\n@dataclass\nclass P:\n    x: int\n\ndef f(): pass\n",
            "def f():\n    return P(2) == P(2)\n",
        ),
        (
            "from __future__ import annotations\nimport math\n\ndef f(): pass\n",
            "from __future__ import annotations\n\ndef f() -> Nothing:\n    return math.pi > 3\n",
        ),
        (
            '"""Text."""\nfrom __future__ import annotations\n\nN = 3\n\ndef f(): pass\n',
            "def f() -> Nothing:\n    return N == 3\n",
        ),
        ("import math, sys\n\ndef f(): pass\n", "import math\n\ndef f():\n    return bool(sys)\n"),
        ("A, (B, C) = 1, (2, 3)\n\ndef f(): pass\n", "def f():\n    return A + B == C\n"),
        ("M = N = 1\nM: int\n\ndef f(): pass\n", "def f():\n    return M == N\n"),
        (
            "try:\n    import nothing_like_it\nexcept ImportError:\n    nothing_like_it = 7\n\ndef f(): pass\n",
            "def f():\n    return nothing_like_it == 7\n",
        ),
        ("import math; N = 2\n\ndef f(): pass\n", "def f():\n    return math.pi > N\n"),
        ("T = '''\n    def f\n'''\n\ndef f(): pass\n", "def f():\n    return len(T) == 11\n"),
    ],
)
def test_what_is_completed_runs_as_it_did_in_the_program(program: str, reply: str) -> None:
    names: dict[str, object] = {"__name__": "program"}
    module = ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(compile(complete_program(reply, program), "program", "exec"), names)
        assert eval("f()", names) is True
    finally:
        del sys.modules["program"]


def test_the_scripted_model_repairs_everything(data: Path) -> None:
    result = repair(
        *("--data", data, "--model", "scripted", "--jobs", "2", "--out", "r.jsonl"),
        *("--conditions", "test"),
    )
    assert result.exit_code == 0, result.output
    read = read_results(Path("r.jsonl").read_text().splitlines(keepends=True), REPAIR_KINDS)
    assert len(read.results) == 3
    assert all(found.passed for found in read.results)
    assert read.runs[0].problems == 3


def test_a_killed_run_goes_on(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(data, [TOTAL])
    answers = [says(WRONG), says("I cannot."), says(RIGHT)]
    with OpenAIServer(answers, vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        flags = ("--data", data, "--model", "openai/local", "--temperature", "0")
        result = repair(*flags, "--conditions", "test,neither", "--out", "r.jsonl")
        assert result.exit_code == 0, result.output
        lines = Path("r.jsonl").read_text().splitlines(keepends=True)
        Path("r.jsonl").write_text("".join(lines[:2]) + lines[2][:30])  # killed while it wrote
        result = repair(*flags, "--conditions", "test,neither", "--out", "r.jsonl")
    assert result.exit_code == 0, result.output
    read = read_results(Path("r.jsonl").read_text().splitlines(keepends=True), REPAIR_KINDS)
    by_condition = {found.condition: found for found in read.results}
    (wrong,) = by_condition["test"].replies
    assert not by_condition["test"].passed
    assert wrong.verdict == "assert total([]) == 0: `total([])` is 7, but should be 0"
    assert wrong.rationale == "no idea."
    assert by_condition["neither"].replies[-1].verdict == "passes"
    assert len(server.seen) == 3, "the repair that was written down is not run again"
    assert [seen.body["temperature"] for seen in server.seen] == [0, 0, 0]


def test_other_settings_are_not_mixed(data: Path) -> None:
    write(data, [TOTAL])
    flags = ("--data", data, "--model", "scripted", "--out", "r.jsonl", "--conditions", "neither")
    assert repair(*flags).exit_code == 0
    result = repair(*flags, "--reply-tokens", "9")
    assert (result.exit_code, "another budget" in result.output) == (2, True)
    write(data, [FIRST])
    result = repair(*flags)
    assert (result.exit_code, "repairs of another own.jsonl" in result.output) == (2, True)


def test_a_server_that_fails_ends_the_run_with_its_results(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(data, [TOTAL])
    with OpenAIServer([says(RIGHT)], vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
    result = repair("--data", data, "--model", "openai/local", "--out", "r.jsonl")
    assert result.exit_code == 1
    assert "3 repairs are left; the same command continues with them" in result.output


def result_of(problem: str, condition: str, sample: int, passed: bool) -> RepairResult:
    return RepairResult(
        *(problem, condition, "m", sample),  # type: ignore[arg-type]
        passed=passed,
        replies=(),
        input_tokens=10,
        output_tokens=1,
        seconds=1.0,
        started="2026-01-01T00:00:00Z",
    )


def test_summaries_and_paired_differences() -> None:
    results = [
        result_of(f"p{number}", condition, sample, passed)
        for number in range(8)
        for sample in (1, 2)
        for condition, passed in (("trace", number < 6), ("test", number < 4 and sample == 1))
    ]
    trace, test = list_summary_rows(results)
    assert trace[:4] == ("m", "trace", "8", "2")
    assert (trace[4], trace[6]) == ("0.750", "0.750")
    assert (test[1], test[4], test[6]) == ("test", "0.250", "0.500")
    ((*names, problems, difference, interval, better, worse),) = list_tables(results)[1].rows
    assert names == ["m", "trace", "test"]
    assert (problems, difference) == ("8", "+0.500")
    low, high = map(float, interval.split(" to "))
    assert 0.2 < low < 0.5 < high < 0.8
    assert (better, worse) == ("6", "0")


def test_the_report_is_the_same_for_the_same_results(data: Path) -> None:
    write(data, [TOTAL])
    repair("--data", data, "--model", "scripted", "--out", "r.jsonl", "--conditions", "trace,test")
    flags = ["repair-report", "r.jsonl", "--out", "report.md"]
    assert CliRunner().invoke(main, flags).exit_code == 0
    assert CliRunner().invoke(main, [*flags, "--check"]).exit_code == 0
    text = Path("report.md").read_text()
    row = "| scripted | trace | 1 | 1 | 1.000 | 0.207 to 1.000 |"
    assert row in " ".join(text.split())
    assert "all 1 problems" in text
    Path("report.md").write_text(text + "more\n")
    assert CliRunner().invoke(main, [*flags, "--check"]).exit_code == 1
