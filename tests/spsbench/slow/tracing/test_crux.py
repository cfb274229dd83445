"""Predicting outputs, inputs and states: questions, answers, their scores, and runs that go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from loopback import Status
from openai_server import OpenAIServer, says
from spsbench.cli import main
from spsbench.crux.answers import find_call, find_output
from spsbench.crux.judge import Judge
from spsbench.crux.prediction import (
    PredictedState,
    build_call,
    is_same_value,
    parse_prediction,
    score_prediction,
)
from spsbench.crux.problems import CruxProblem, read_problems, sample_problems, trace_problem
from spsbench.crux.questions import (
    annotate_source,
    ask_for_state,
    find_answer,
    make_question,
    score_state,
)
from spsbench.crux.results import CRUX_KINDS, AnswerResult, StateResult
from spsbench.results import Results, read_results
from spsbench.states.actions import ACTIONS, ActionStep, find_target, is_inverse, list_steps
from spsbench.states.programs import record_call
from spsbench.states.tokens import read_tokens, write_tokens
from spsbench.states.trace import ProgramState, read_state_lines, write_state_lines

OWN = Path(__file__).parents[2] / "crux_functions.jsonl"
PROBLEMS, _ = read_problems(OWN)
TRACES = {name: trace_problem(problem) for name, problem in PROBLEMS.items()}
PUBLISHED = Path(__file__).parents[4] / "spsbench" / "results" / "prediction"
CRUXEVAL = "CRUXEVAL"
"""Environment variable: the path of cruxeval.jsonl; published generations are read from the same folder."""
NO_EXPRESSION = "keeps"
"""The problem whose argument is a function, which no state shows as an expression."""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(seconds=1.0) as judge:
        yield judge


CODE = "def f(n):\n    return n + 1"


@pytest.mark.parametrize(
    ("code", "output", "answer", "passed"),
    [
        (CODE, "4", "f(3)", True),
        (CODE, "4", "f(4)", False),
        (CODE, "4", "f('a')", False),
        (CODE, "4", "f(3", False),
        (CODE, "'ü'", "'ü'", True),
        (CODE, "4", "'\ud800'", False),
        (CODE, "4", "print('x' * 100_000) or 4", True),
        (CODE, "4", "__import__('os')._exit(0)", False),
        (CODE, "4", "exit()", False),
        (CODE, "4", "[0] * 10**10 and 4", False),
        (CODE, "4", "open('here', 'w') and 4", False),
        (CODE, "4", "__import__('socket').socket().connect(('127.0.0.1', 9)) or 4", False),
        (CODE, "4", "__import__('socket').socket().bind(('127.0.0.1', 0)) or 4", False),
        (CODE, "4", "__import__('os').utime('.', (1, 1)) or 4", False),
        (CODE, "4", "__import__('subprocess').run(['true']) and 4", False),
        (CODE, "4", "__import__('os').system('true') or 4", False),
        (CODE, "4", "__import__('os').kill(1, 0) or 4", False),
        ("def f():\n    while True:\n        pass", "4", "f()", False),
        (CODE, "4", "__import__('time').sleep(100) or 4", False),
        (CODE, "4", "__import__('re').match('(a+)+$', 'a' * 40 + 'b') or 4", False),
        (CODE, "4", "9**9**9 and 4", False),
        (CODE, "4", "__import__('os').fork() and 4", False),
        (CODE, "4", "__import__('os').abort()", False),
        (CODE, "4", "__import__('os').closerange(3, 100) or 4", False),
        (
            CODE,
            "4",
            "__import__('threading').Thread(target=lambda: [0 for _ in iter(int, 1)]).start() or 4",
            True,
        ),
        (CODE, "4", "(_ for _ in ()).throw(KeyboardInterrupt)", False),
        (CODE, "4", "input()", False),
        (
            "import asyncio\nasync def g(n):\n    await asyncio.sleep(0)\n    return n\n"
            "def f(n):\n    return asyncio.run(g(n))",
            *("4", "f(4)", True),
        ),
        ("import os\ndef f(n):\n    os.environ['A'] = 'b'\n    return n", "4", "f(4)", True),
        ("import builtins\nbuiltins.len = None\ndef f():\n    return 1", "1", "f()", True),
        ("def f():\n    return len('a')", "1", "f()", True),
    ],
)
def test_answers_run_in_a_process_with_limits(
    judge: Judge, code: str, output: str, answer: str, passed: bool
) -> None:
    assert judge.accepts(code, output, answer) is passed


def test_answers_have_an_empty_network_where_the_system_allows_it(judge: Judge) -> None:
    may = "import ctypes\nassert ctypes.CDLL(None).unshare(0x40000000) == 0"
    if subprocess.run([sys.executable, "-c", may], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this process may not leave its network")
    interfaces = "open('/proc/net/dev').read().count(':')"
    assert judge.accepts("", "1", interfaces)


NESTED = record_call(
    "def g(n):\n    m = n + 1\n    return m\n\ndef f(n):\n    k = g(n)\n    return k\n", "f(1)"
).trace
"""0 call f, 1 line 6, 2 call g, 3 line 2, 4 line 3, 5 return g, 6 line 7, 7 return f."""


@pytest.mark.parametrize(
    ("step", "target"),
    [
        (ActionStep(1, "step_into"), 2),
        (ActionStep(1, "step_over"), 6),
        (ActionStep(2, "step_over"), 3),
        (ActionStep(5, "step_over"), 6),
        (ActionStep(3, "step_return"), 5),
        (ActionStep(1, "step_return"), 7),
        (ActionStep(0, "breakpoint", 3), 4),
        (ActionStep(4, "breakpoint", 3), None),
        (ActionStep(7, "step_into"), None),
        (ActionStep(6, "inv_step_into"), 5),
        (ActionStep(6, "inv_step_over"), 1),
        (ActionStep(5, "inv_step_over"), 4),
        (ActionStep(2, "inv_step_over"), 1),
        (ActionStep(4, "inv_step_call"), 2),
        (ActionStep(7, "inv_step_call"), 0),
        (ActionStep(0, "inv_step_into"), None),
    ],
    ids=str,
)
def test_actions_lead_to_states(step: ActionStep, target: int | None) -> None:
    assert find_target(NESTED.states, step) == target


RESUMED = tuple(
    ProgramState(event, line, depth)  # type: ignore[arg-type]
    for event, line, depth in (
        *(("call", 5, 0), ("line", 6, 0), ("call", 1, 1), ("line", 2, 1), ("return", 2, 1)),
        *(("line", 7, 0), ("call", 2, 1), ("line", 3, 1), ("exception", 3, 1), ("return", 3, 1)),
        *(("exception", 7, 0), ("line", 8, 0), ("return", 8, 0)),
    )
)
"""A generator that is entered at 2 and 6, left by a yield at 4 and by an exception at 9, which is caught at 11."""

TARGETS: dict[str, list[int | None]] = {
    "step_into": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, None],
    "step_over": [1, 5, 3, 4, 5, 10, 7, 8, 9, 10, 11, 12, None],
    "step_return": [12, 12, 4, 4, 9, 12, 9, 9, 9, None, 12, 12, None],
    "breakpoint 3": [7, 7, 7, 7, 7, 7, 7, None, None, None, None, None, None],
    "breakpoint 8": [11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, None, None],
    "inv_step_into": [None, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    "inv_step_over": [None, 0, 1, 2, 3, 1, 5, 6, 7, 8, 5, 10, 11],
    "inv_step_call": [None, 0, 0, 2, 2, 0, 2, 6, 6, 6, 0, 0, 0],
}
"""Where each action leads from each of the states, by hand."""
OF_OTHER_FUNCTIONS = {("step_return", 4), ("inv_step_call", 2), ("inv_step_call", 6)}
"""Steps to another run of the function, which no model is asked for."""


@pytest.mark.parametrize("name", TARGETS)
def test_actions_lead_through_generators_and_exceptions(name: str) -> None:
    action, _, line = name.partition(" ")
    steps = [
        ActionStep(index, action, int(line) if line else None)  # type: ignore[arg-type]
        for index in range(len(RESUMED))
    ]
    expected = TARGETS[name]
    known = [step for step in steps if (action, step.index) not in OF_OTHER_FUNCTIONS]
    assert [find_target(RESUMED, step) for step in known] == [
        expected[step.index] for step in known
    ]
    asked = [step for step in list_steps(RESUMED, action) if step.line == steps[0].line]  # type: ignore[arg-type]
    assert asked == [step for step in known if expected[step.index] is not None]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_step_has_a_target_in_its_direction_and_not_too_deep(name: str) -> None:
    states = TRACES[name].states
    for action in ACTIONS:
        steps = list_steps(states, action)
        assert steps
        for step in steps:
            target = find_target(states, step)
            assert target is not None
            assert (target < step.index) == is_inverse(action)
            if action in ("step_over", "inv_step_over"):
                assert states[target].depth <= states[step.index].depth


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_right_reply_to_every_step_is_exact_and_another_is_not(name: str) -> None:
    trace = TRACES[name]
    for action in ACTIONS:
        for step in list_steps(trace.states, action):
            right = ask_for_state(trace, step).right
            assert score_state(trace, step, f"Here it is:\n```json\n{right}\n```").exact
            said = json.loads(right)
            for wrong in (said | {"line": 99}, said | {"event": "jump"}, {}):
                assert not score_state(trace, step, json.dumps(wrong)).exact
            if "value" in said:
                assert not score_state(trace, step, json.dumps(said | {"value": "'other'"})).exact
            if "locals" in said:
                more = said | {"locals": {**said["locals"], "more": "1"}}
                assert not score_state(trace, step, json.dumps(more)).exact


@pytest.mark.parametrize("task", ["output", "input"])
@pytest.mark.parametrize("form", ["direct", "action", "trace"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_right_replies_lead_to_right_answers(judge: Judge, name: str, form: Any, task: Any) -> None:
    problem = PROBLEMS[name]
    answer = find_answer(
        task, form, problem, make_question(task, form, problem, TRACES[name]).right
    )
    if name == NO_EXPRESSION and task == "input" and form == "action":
        assert answer is None
    else:
        assert answer is not None
        assert judge.accepts(problem.code, problem.output, answer)


@pytest.mark.timeout(900)
@pytest.mark.skipif(CRUXEVAL not in os.environ, reason=f"{CRUXEVAL} names no file")
def test_right_replies_lead_to_right_answers_on_all_of_cruxeval(judge: Judge) -> None:
    wrong = []
    for problem in read_problems(Path(os.environ[CRUXEVAL]))[0].values():
        trace = trace_problem(problem)
        for task in ("output", "input"):
            for form in ("direct", "action", "trace"):
                right = make_question(task, form, problem, trace).right
                answer = find_answer(task, form, problem, right)
                if answer is None or not judge.accepts(problem.code, problem.output, answer):
                    wrong.append((problem.id, task, form))
    assert wrong == [(name, "input", "action") for name in ("sample_344", "sample_364")]


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_annotated_program_does_not_have_what_is_asked_for(name: str) -> None:
    trace = TRACES[name]
    result = f"return {trace.states[-1].value}"
    argument = " = ".join(next(iter(trace.states[0].changed.items())))
    whole = annotate_source(trace)
    assert result in whole
    assert f"(1) {argument}" in whole
    assert result not in annotate_source(trace, len(trace.states) - 1)
    assert "(1)" not in annotate_source(trace, 0)


def test_the_annotated_program_is_that_of_next() -> None:
    source = "def f(nums):\n    total = 0\n    for n in nums:\n        total += n\n    return total"
    assert annotate_source(record_call(source, "f([1, 2, 3, 4, 5])").trace) == (
        "def f(nums):        # (1) nums = [1, 2, 3, 4, 5]\n"
        "    total = 0       # (2) total = 0\n"
        "    for n in nums:  # (3) n = 1; (5) n = 2; ... (11) n = 5\n"
        "        total += n  # (4) total = 1; (6) total = 3; ... (12) total = 15\n"
        "    return total    # (15) return 15"
    )
    raising = (
        "def f(n):\n    try:\n        n = 1 // n\n        return n\n"
        "    except ArithmeticError as error:\n        del n\n    return error\n"
    )
    assert annotate_source(record_call(raising, "f(0)").trace).split("\n")[2:6] == [
        "        n = 1 // n                    # (4) raise ZeroDivisionError('integer division or modulo by zero')",
        "        return n                      # not reached",
        "    except ArithmeticError as error:  # (5) error = ZeroDivisionError('integer division or modulo by zero')",
        "        del n                         # (6) del error, del n",
    ]


@pytest.mark.parametrize(
    ("body", "last"),
    [
        ("    n += 1\n", "(2) n = 3"),
        ("    return (n := n + 1)\n", "(2) n = 3; (3) return 3"),
        ("    del n\n", "(2) del n"),
        (
            "    n.add(1 // 0) if (n := 0) else 1 / n\n",
            "(3) n = 0, raise ZeroDivisionError('division by zero')",
        ),
        ("    with open('/none') as n: pass\n", "(3) raise FileNotFoundError"),
    ],
)
def test_the_last_line_of_a_function_keeps_what_it_changed(body: str, last: str) -> None:
    trace = record_call(f"def f(n):\n{body}", "f(2)").trace
    assert last in annotate_source(trace).split("\n")[1]
    assert "n = 3" not in annotate_source(trace, len(trace.states) - 1)
    assert list(read_tokens(write_tokens(trace))) == [trace]
    assert list(read_state_lines(write_state_lines([trace]))) == [trace]


@pytest.mark.parametrize(
    ("reply", "output", "call"),
    [
        ("[ANSWER]assert f([1]) == [2][/ANSWER]", "[2]", "f([1])"),
        ("assert f([1]) == [2]  # f adds one", "[2]", "f([1])"),
        ("```python\nassert f([1]) == [2]\n```", "[2]", "f([1])"),
        ("Sure!\n[ANSWER]\nassert [2] == f([1])\n[/ANSWER]", "[2]", "f([1])"),
        ("[ANSWER]assert f([1]) == [2]", "[2]", "f([1])"),
        ("f([1]) == [2]", "[2]", "f([1])"),
        ("def f(a):\n    return a\n\nassert f([1]) == [2]", "[2]", "f([1])"),
        ("[2]", "[2]", "f([2])"),
        ("1, 2", "(1, 2)", "f(1, 2)"),
        ("The value is\n'b'", "'b'", "f('b')"),
        ("f(lambda x: x < 2, 'a b'.split())", None, "f(lambda x: x < 2, 'a b'.split())"),
        ("set([1])", "set([1])", "f(set([1]))"),
        ("assert f(open('x')) == exec('y')", None, None),
        ("f((x := 1))", None, None),
        ("f(().__class__)", None, None),
        ("g(1)", None, "f(g(1))"),
        ("assert f(os.system('x')) == [-inf, nan]", "[-float('inf'), float('nan')]", None),
        ("f(collections.abc.sys.modules)", None, None),
        ("f(os.mkfifo('x') or 3)", None, None),
        ("f(inf)", None, "f(float('inf'))"),
        ("deque([Counter('a')])", "deque([Counter('a')])", "f(deque([Counter('a')]))"),
        ("I do not know!", None, None),
        ("", None, "f()"),
        ("(" * 5000, None, None),
    ],
)
def test_answers_are_found_in_replies(reply: str, output: str | None, call: str | None) -> None:
    assert find_output(reply) == output
    assert find_call(reply) == call


@given(st.text(alphabet="f()[]{}\"'=,: \n\\aĀ0.*", max_size=30))
@settings(max_examples=200, deadline=None)
def test_no_reply_breaks_the_reading(reply: str) -> None:
    for found in (find_output(reply), find_call(reply)):
        assert found is None or compile(found, "<answer>", "eval")
    parse_prediction("{" + reply)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            '{"event": "line", "line": 3, "locals": {"n": "1"}}',
            PredictedState("line", 3, {"n": "1"}),
        ),
        (
            '{"event": "return", "line": 3, "value": [1, null]}',
            PredictedState("return", 3, {}, "[1, None]"),
        ),
        ('so {x} then {"line": "3", "locals": [], "event": 1}', PredictedState()),
        ("no state", None),
        ("[1, 2]", None),
        ("{" * 3000, None),
    ],
)
def test_predictions_are_read(reply: str, expected: PredictedState | None) -> None:
    assert parse_prediction(reply) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("[1,2]", "[1, 2]", True),
        ('"a"', "'a'", True),
        ("{2, 1}", "{1, 2}", True),
        (" <f> ", "<f>", True),
        ("1", "True", False),
        ("1", "1.0", False),
        ("a", "'a'", False),
        ("[nan,inf]", "[nan, inf]", True),
        ("P(x=1,y='a')", 'P(x=1, y="a")', True),
        ("deque([1,2])", "deque([1, 2])", True),
        ("P(x=1)", "P(x=2)", False),
        ("[1, 2...", "[1, 2, 3]", False),
    ],
)
def test_values_are_compared_as_python_reads_them(one: str, other: str, same: bool) -> None:
    assert is_same_value(one, other) is same


def test_the_score_has_every_part() -> None:
    state, held = ProgramState("line", 3, 0, {}), {"a": "1", "b": "[1]"}
    predicted = PredictedState("line", 4, {"a": "..", "b": "[2]", "c": "3"})
    score = score_prediction(predicted, state, held, shown={"a": "1"})
    assert (score.event, score.line, score.value) == (True, False, None)
    assert score.locals == {"a": True, "b": False, "c": False}
    assert (score.exact, score.partial) == (False, 2 / 5)
    returned = ProgramState("return", 3, 0, value="4")
    assert score_prediction(PredictedState("return", 3, {}, "4"), returned, {}, {}).exact
    assert score_prediction(None, returned, {}, {}).partial == 0


@pytest.mark.parametrize(
    ("parameters", "held", "call"),
    [
        ("a, b=2", {"b": "3", "a": "1"}, "f(1, 3)"),
        (
            "a, /, *rest, c=1, **more",
            {"a": "1", "rest": "(2, 3)", "c": "4", "more": "{'d': 5}"},
            "f(1, *(2, 3), c=4, **{'d': 5})",
        ),
        ("a, b", {"other": "1"}, "f()"),
    ],
)
def test_arguments_become_a_call(parameters: str, held: dict[str, str], call: str) -> None:
    assert build_call(f"def f({parameters}):\n    pass", held) == call


def test_a_smaller_sample_begins_a_larger_one() -> None:
    sample = sample_problems(PROBLEMS, 4, seed=7)
    assert sample_problems(PROBLEMS, None, seed=7)[:4] == sample
    assert len(set(sample)) == 4
    assert sample_problems(PROBLEMS, None, seed=8) != sample_problems(PROBLEMS, None, seed=7)


def spsbench(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(main, ["crux", *arguments], prog_name="spsbench", env=environ)


def read(file: str = "crux.jsonl") -> Results:
    return read_results(Path(file).read_text().splitlines(keepends=True), CRUX_KINDS)


def test_a_scripted_run_is_right_and_goes_on_where_it_was_killed() -> None:
    arguments = ("--data", str(OWN), "--model", "scripted", "--sample", "2", "--states", "2")
    first = spsbench(*arguments)
    assert first.exit_code == 0, first.output
    whole = read()
    assert len(whole.select(AnswerResult)) == 2 * 2 * 3
    assert len(whole.select(StateResult)) == 2 * len(ACTIONS)
    assert all(result.score.exact for result in whole.select(StateResult))
    assert "about" in first.output
    lines = Path("crux.jsonl").read_text().splitlines(keepends=True)
    Path("crux.jsonl").write_text("".join(lines[:20]) + lines[20][:30])
    again = spsbench(*arguments)
    assert "19 of 26 questions are done" in again.output
    assert "was cut off and is left out" in again.output
    strip = {(result.trial, result.answer, result.passed) for result in read().select(AnswerResult)}
    assert strip == {
        (result.trial, result.answer, result.passed) for result in whole.select(AnswerResult)
    }
    assert {(r.trial, r.index, r.line) for r in read().select(StateResult)} == {
        (r.trial, r.index, r.line) for r in whole.select(StateResult)
    }
    third = spsbench(*arguments)
    assert "26 of 26 questions are done" in third.output
    assert len(read().runs) == 2


def test_other_settings_are_refused() -> None:
    arguments = ("--data", str(OWN), "--model", "scripted", "--tasks", "output", "--sample", "1")
    assert spsbench(*arguments).exit_code == 0
    other = spsbench(*arguments, "--seed", "2")
    assert other.exit_code == 2
    assert "the file has questions with seed 1, not 2; name another file by --out" in other.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "scripted"), "--data names the file of problems"),
        (("--data", str(OWN)), "--model names a model"),
        (("--data", str(OWN), "--model", "gpt"), "--model: "),
        (
            ("--data", str(OWN), "--model", "scripted", "--tasks", "outputs"),
            "there is no task `outputs`",
        ),
        (("--data", str(OWN), "--model", "scripted", "--forms", "cot"), "there is no form `cot`"),
        (
            ("--data", __file__, "--model", "scripted"),
            "line 1 is not a problem of CruxEval (JSONDecodeError",
        ),
        (("--report", str(OWN)), "line 1 of the results is damaged"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], message: str) -> None:
    done = spsbench(*arguments)
    assert done.exit_code != 0
    assert message in done.output


@pytest.mark.parametrize(
    ("code", "output", "message"),
    [
        ("def f():\n    raise KeyError(1)", "1", "mine raises KeyError"),
        ("def f(:", "1", "mine raises SyntaxError"),
        ("1 / 0", "1", "mine raises ZeroDivisionError"),
        ("import sys\ndef f():\n    sys.exit(0)", "1", "mine raises SystemExit"),
        ("def g():\n    return 1", "1", "mine raises NameError"),
        ("def f():\n    while True:\n        pass", "1", "mine has more than 1,000 states"),
        ("def f():\n    return f()", "1", "mine has more than 1,000 states"),
        ("def f():\n    yield 1", "1", "no run of its functions can be recorded"),
        ("f = list", "[]", "no run of its functions can be recorded"),
        ("def f():\n    return 2", "1", "mine returns 2, and its output is 1"),
        (
            "class A:\n    def __repr__(self): return 'A'\ndef f():\n    return A()",
            "A",
            "mine returns <A>",
        ),
        ("def f():\n    return float('inf')", "inf", "output inf cannot be read (NameError"),
        ("def f():\n    return float('inf')", "float('inf')", ""),
        ("def f():\n    return 1", "1 +", "output 1 + cannot be read (SyntaxError"),
        ("class A:\n    x = 1\ndef f():\n    return A.x", "A.x", ""),
        ("def f():\n    return print(input())", "None", "mine raises EOFError"),
    ],
)
def test_a_problem_that_cannot_be_used_is_named_before_a_question(
    tmp_path: Path, code: str, output: str, message: str
) -> None:
    problem = {"id": "mine", "code": code, "input": "", "output": output}
    (tmp_path / "mine.jsonl").write_text(json.dumps(problem) + "\n")
    done = spsbench(
        *("--data", "mine.jsonl", "--model", "scripted", "--tasks", "output", "--forms", "direct")
    )
    assert message in done.output
    assert Path("crux.jsonl").exists() is not bool(message)


def test_an_id_stands_once_in_a_file(tmp_path: Path) -> None:
    problem = {"id": "mine", "code": CODE, "input": "3", "output": "4"}
    (tmp_path / "mine.jsonl").write_text((json.dumps(problem) + "\n") * 2)
    done = spsbench("--data", "mine.jsonl", "--model", "scripted")
    assert "line 2 has the id mine a second time" in done.output


def test_the_trace_of_a_problem_ends_with_the_call(judge: Judge) -> None:
    code = "def g(n):\n    try:\n        yield n\n    finally:\n        n = 0\n\ndef f(n):\n    a = g(n)\n    return next(a)"
    trace = trace_problem(CruxProblem("mine", code, "3", "3"))
    assert trace.states[-1] == ProgramState("return", 9, 0, value="3")


LOCAL = (
    "--data",
    str(OWN),
    "--model",
    "openai/local",
    "--tasks",
    "output,states",
    "--forms",
    "direct",
)


def test_a_model_is_asked_and_its_wrong_answers_are_wrong() -> None:
    with OpenAIServer([says("[ANSWER]3[/ANSWER]")] * 40, vendor=False, models=("local",)) as server:
        done = spsbench(*LOCAL, "--states", "1", NJC_BASE_URL=server.base_url)
    assert done.exit_code == 0, done.output
    found = read()
    assert {result.problem for result in found.select(AnswerResult) if result.passed} == {"halves"}
    assert all(result.usage.input_tokens for result in found.select(AnswerResult))
    assert not any(result.score.exact for result in found.select(StateResult))
    body = server.seen[0].body
    assert (body["temperature"], body["messages"][0]["role"]) == (0.0, "system")


def test_a_run_stops_when_the_server_fails_and_goes_on_later() -> None:
    refused = Status(400, body={"error": {"message": "out of order"}})
    with OpenAIServer([says("3"), *[refused] * 3], vendor=False, models=("local",)) as server:
        done = spsbench(*LOCAL, "--states", "1", NJC_BASE_URL=server.base_url)
    assert done.exit_code == 1
    assert "the model's server failed repeatedly" in done.output
    assert "12 questions are left; the same command continues" in done.output
    with OpenAIServer([says("3")] * 12, vendor=False, models=("local",)) as server:
        done = spsbench(*LOCAL, "--states", "1", NJC_BASE_URL=server.base_url)
    assert done.exit_code == 0, done.output
    assert len(server.seen) == 12


def test_the_report_is_made_from_the_lines_alone() -> None:
    note = ("--note", "No model was asked.")
    done = spsbench(
        "--data", str(OWN), "--model", "scripted", "--sample", "1", "--states", "1", *note
    )
    assert done.exit_code == 0, done.output
    report = spsbench("--report", "crux.jsonl").output
    assert (
        "- Sample: 1 of 6 problems, drawn with seed 1, with its share of each quarter of the functions by length; 7 steps; "
        in report
    )
    assert "- Note: No model was asked.\n\n## Outputs and inputs\n\n| model |" in report
    for row in (
        "| scripted | output | trace | 1 | 1.000 | 0.207-1.000 | 0 |",
        "| scripted | inv_step_over | 1 | 1.000 |",
        "| scripted | forward, depth ",
    ):
        assert row in report, report


@pytest.mark.parametrize(("size", "report"), [("1.5b", "crux.md"), ("0.5b", "crux-0.5b.md")])
def test_the_published_reports_are_those_of_the_published_results(size: str, report: str) -> None:
    file = PUBLISHED / f"crux-qwen2.5-coder-{size}.jsonl"
    done = spsbench("--report", str(file))
    assert done.exit_code == 0, done.output
    assert done.output == (PUBLISHED / report).read_text(encoding="utf-8")
    results = read(str(file))
    assert results.select(AnswerResult)
    if size == "1.5b":
        assert results.select(StateResult)
