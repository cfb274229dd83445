"""School problems in the format of GSM8K: the sample is right, answers are read and judged, results kept."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from njrt.dataclass_json import from_json, to_json
from njrt.errors import ServerError
from njrt.messages import Request, ToolCall
from njrt.models.scripted import Scripted, call, run
from spsbench.cli import main
from spsbench.results import Gsm8kResult, Gsm8kTrial, InputError
from spsbench.studies.gsm8k_solving import (
    Problem,
    format_gsm8k_table,
    parse_problems,
    read_sample_problems,
    solve_problem,
)
from spsbench.studies.study import StudyLimits, format_study_error

APPLES = Problem(1, "Ida has 3 boxes of 8 apples. How many apples has she?", 24.0)
STEP = re.compile(r"([\d.()+*/ -]*[\d)]) = ([\d.]+)")


def solving(method: str, repeat: int = 1) -> Gsm8kTrial:
    return Gsm8kTrial(1, method, "scripted", repeat)


@pytest.mark.parametrize(
    "problem", list(parse_problems(read_sample_problems())), ids=lambda problem: problem.number
)
def test_the_steps_of_the_sample_s_answers_are_right(problem: Problem) -> None:
    steps = STEP.findall(json.loads(read_sample_problems()[problem.number - 1])["answer"])
    assert steps
    for expression, value in steps:
        assert eval(expression) == pytest.approx(float(value))
    assert float(steps[-1][1]) == problem.answer
    assert problem.question.endswith("?")


def test_the_sample_has_twenty_different_problems() -> None:
    assert len({problem.question for problem in parse_problems(read_sample_problems())}) == 20


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("3 * 8 = 24\n#### 24", 24.0),
        ("#### 1,234", 1234.0),
        ("#### -5", -5.0),
        ("#### $18", 18.0),
        ("so <<2*3=6>>6 #### 6.5 ", 6.5),
    ],
)
def test_answers_are_read_as_they_are_published(answer: str, number: float) -> None:
    line = json.dumps({"question": "How many?", "answer": answer})
    assert list(parse_problems(["\n", line])) == [Problem(2, "How many?", number)]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"question": "?"}', '{"question": "?", "answer": "no number"}']
)
def test_a_line_that_is_no_problem_is_named(line: str) -> None:
    with pytest.raises(InputError, match=r"^line 1 is not a problem"):
        list(parse_problems([line]))


@pytest.mark.parametrize(
    ("found", "is_right"),
    [
        (24, True),
        (24.0, True),
        (8 * 3 + 1e-12, True),
        (25, False),
        (float("nan"), False),
        (None, False),
    ],
)
def test_what_is_found_is_the_answer_or_not(found: object, is_right: bool) -> None:
    assert APPLES.is_solved_by(found) == is_right


@pytest.mark.parametrize(
    "method", ["manual", "baseline", "shared-eval", "shared-python", "nightjar", "direct"]
)
def test_a_perfect_model_solves_a_problem_by_every_method(method: str) -> None:
    solved = solve_problem(solving(method), APPLES, None, StudyLimits())
    assert (solved.passed, solved.found, solved.ending) == (True, 24.0, "finished")


@pytest.mark.parametrize(
    ("expression", "found", "ending"),
    [("3 + 8", 11.0, "finished"), ("apples", None, "raised"), ("1 / 0", None, "raised")],
)
def test_a_wrong_expression_fails_and_one_that_raises_ends_nothing(
    expression: str, found: float | None, ending: str
) -> None:
    model = Scripted([run(f"expression = {expression!r}", done=True)])
    solved = solve_problem(solving("direct"), APPLES, model, StudyLimits())
    assert (solved.passed, solved.found, solved.ending) == (False, found, ending)
    assert (solved.error is None) == (ending == "finished")


def test_the_isolated_interpreter_is_counted_by_its_pieces_of_code() -> None:
    def said(request: Request) -> ToolCall:
        return call("python", code="3 * 8") if request.turn == 1 else call("answer", answer="24")

    solved = solve_problem(
        solving("manual-code-interpreter"), APPLES, Scripted(said), StudyLimits()
    )
    assert (solved.passed, solved.effects, solved.calls) == (True, 1, 2)


def test_models_are_asked_at_the_temperature_of_the_study() -> None:
    for method in ("manual", "direct"):
        reply = (
            call("answer", answer="24") if method == "manual" else run("expression = '24'", True)
        )
        model = Scripted([reply])
        assert solve_problem(solving(method), APPLES, model, StudyLimits(temperature=0.0)).passed
        assert [request.temperature for request in model.requests] == [0.0]


def test_models_that_are_asked_in_plain_text_are_asked_at_0() -> None:
    model = Scripted(['{"answer": "24"}'], protocol="text")
    assert solve_problem(solving("manual"), APPLES, model, StudyLimits()).passed
    assert [request.temperature for request in model.requests] == [0.0]


def test_the_command_solves_the_sample_and_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "gsm8k.jsonl"
    flags = ["gsm8k", "--model", "scripted", "--out", str(out), "--first", "3"]
    first = CliRunner().invoke(main, [*flags, "--methods", "direct"])
    assert first.exit_code == 0, first.output
    assert first.stdout.splitlines()[2].split()[:3] == ["direct", "3", "1.00"]
    again = CliRunner().invoke(main, [*flags, "--methods", "direct,manual", "--repeats", "2"])
    assert again.exit_code == 0, again.output
    assert again.stderr.count("right") == 9
    assert again.stdout.splitlines()[2].split()[:6] == ["manual", "3", "x", "2", "1.00", "±"]
    assert "Nightjar (Shared Python)" in again.stdout
    assert len(out.read_text().splitlines()) == 12


def test_the_command_takes_a_file_of_problems(tmp_path: Path) -> None:
    problems = tmp_path / "problems.jsonl"
    problems.write_text('{"question": "How many?", "answer": "#### 5"}\n')
    flags = ["gsm8k", str(problems), "--methods", "direct", "--model"]
    told = CliRunner().invoke(main, [*flags, "scripted"])
    assert told.stdout.splitlines()[2].split()[:3] == ["direct", "1", "1.00"]
    unknown = CliRunner().invoke(main, [*flags, "nobody/here"])
    assert unknown.exit_code == 2
    assert "no vendor is known for model `nobody/here`" in unknown.output
    problems.write_text("{}\n")
    damaged = CliRunner().invoke(main, [*flags, "scripted"])
    assert damaged.exit_code == 2
    assert "line 1 is not a problem" in damaged.output


def test_results_are_read_back() -> None:
    solved = solve_problem(solving("direct"), APPLES, None, StudyLimits())
    assert from_json(to_json(solved), Gsm8kResult) == solved


def test_the_table_has_the_spread_over_repeats_and_the_range_of_seconds() -> None:
    def result(repeat: int, passed: bool, seconds: float) -> Gsm8kResult:
        return Gsm8kResult(
            **asdict(solving("direct", repeat)),
            seconds=seconds,
            model_seconds=seconds,
            own_seconds=0.0,
            calls=1,
            effects=2,
            input_tokens=0,
            cached_tokens=0,
            output_tokens=0,
            prompt_chars=0,
            cost=None,
            passed=passed,
            found=None,
            ending="finished",
            error=None,
            started="",
        )

    shown = format_gsm8k_table([result(1, True, 1.0), result(2, False, 3.0)]).splitlines()[2]
    assert " ".join(shown.split()) == "direct 1 x 2 0.50 ± 0.71 2.0 (1.0-3.0) 2.0 (2-2) 1.0 (1-1)"


def test_an_error_is_written_down_without_the_address_of_the_server() -> None:
    error = ServerError("no reply from openai/m at http://127.0.0.1:8000/v1 within 60 s\nmore")
    assert format_study_error(error) == "ServerError: no reply from openai/m within 60 s"
