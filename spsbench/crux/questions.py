"""The questions for each task and form, and the answers in the replies.

    make_question("output", "action", problem, trace)     Question(system, "PROGRAM ...", right='{"event": "return", ...}')
    find_answer("output", "action", problem, reply)       "[2]"

Each question carries the right reply, taken from the trace, which replaces the model in runs without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from njc.evaluation.execution_trace import ExecutionTrace, LineStep
from njc.evaluation.repair.annotate import annotate_code
from spsbench.crux.answers import find_call, find_output
from spsbench.crux.prediction import (
    StateScore,
    build_call,
    parse_prediction,
    score_prediction,
    show_state,
)
from spsbench.crux.problems import CruxProblem
from spsbench.crux.results import CruxForm, CruxTask
from spsbench.states.actions import ActionStep, find_target
from spsbench.states.trace import ProgramState, StateTrace, list_locals

OUTPUT_SYSTEM = """\
You execute Python code. Replace ?? with the value that the call returns, as a Python literal.
Reply with the completed assertion in [ANSWER] and [/ANSWER], and nothing else. Example:

def f(s):
    return s + "a"
assert f("x9j") == ??

[ANSWER]assert f("x9j") == "x9ja"[/ANSWER]"""

INPUT_SYSTEM = """\
You execute Python code. Replace ?? with arguments, as Python literals, so that the assertion holds.
Any arguments that make it true are right.
Reply with the completed assertion in [ANSWER] and [/ANSWER], and nothing else. Example:

def f(a, b):
    return a + b
assert f(??) == "banana"

[ANSWER]assert f("ba", "nana") == "banana"[/ANSWER]"""

TRACE_NOTE = """
A comment `# (3) n = 1` says that step 3 of the execution was this line, and that it set n to 1.
"""

DEBUGGER_SYSTEM = """\
You are a Python debugger. You get a program with line numbers, a state of its execution, and an action.
Reply with the state after the action as one JSON object, and nothing else.

States:
{"event": "call", "line": 1, "locals": {"n": "3"}}  a function is entered; its arguments
{"event": "line", "line": 2, "locals": {"n": "3"}}  line 2 is about to run; all variables of the function
{"event": "return", "line": 2, "value": "4"}  a function is left at line 2; its value
{"event": "exception", "line": 2, "value": "KeyError('a')"}  an exception

Values are strings with the Python literal.

Actions:
step_into  the next state
step_over  the next state in this function or its caller
step_return  the return of this function
breakpoint N  the next state in which line N is about to run
inv_step_into  the state before
inv_step_over  the state before, in this function or its caller
inv_step_call  the call of this function"""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a model."""

    system: str
    text: str
    right: str
    """A right reply."""


def make_question(
    task: CruxTask, form: CruxForm, problem: CruxProblem, trace: StateTrace
) -> Question:
    """Return the question for a problem's output or input."""
    if form == "action":
        last = len(trace.states) - 1
        steps = {"output": ActionStep(0, "step_return"), "input": ActionStep(last, "inv_step_call")}
        return ask_for_state(trace, steps[task])
    code, note = problem.code, ""
    if form == "trace":
        asked = len(trace.states) - 1 if task == "output" else 0
        code, note = annotate_source(trace, hidden=asked), TRACE_NOTE
    right = f"[ANSWER]assert {problem.call} == {problem.output}[/ANSWER]"
    if task == "output":
        return Question(OUTPUT_SYSTEM + note, f"{code}\nassert {problem.call} == ??", right)
    return Question(INPUT_SYSTEM + note, f"{code}\nassert f(??) == {problem.output}", right)


def find_answer(task: CruxTask, form: CruxForm, problem: CruxProblem, reply: str) -> str | None:
    """Return the value, or the call, in a reply; None if it has none."""
    if form != "action":
        return find_output(reply) if task == "output" else find_call(reply)
    if (predicted := parse_prediction(reply)) is None:
        return None
    match task, predicted.event:
        case "output", "return":
            return find_output(predicted.value or "")
        case "input", "call":
            call = build_call(problem.code, predicted.locals)
            return None if call is None else find_call(call)
    return None


def _find_index(trace: StateTrace, step: ActionStep) -> int:
    """Return the index of the state after a step, or of the same state at the end of the trace."""
    found = find_target(trace.states, step)
    return step.index if found is None else found


def _find_right_reply(trace: StateTrace, step: ActionStep) -> str:
    index = _find_index(trace, step)
    return show_state(trace.states[index], list_locals(trace.states)[index])


def _describe_step(trace: StateTrace, step: ActionStep) -> str:
    """Return the program, a state and an action, as a message."""
    lines = trace.source.rstrip("\n").split("\n")
    numbered = "\n".join(f"{number:3} {line}" for number, line in enumerate(lines, 1))
    state = show_state(trace.states[step.index], list_locals(trace.states)[step.index])
    return f"PROGRAM\n{numbered}\n\nSTATE {state}\nACTION {step}"


def ask_for_state(trace: StateTrace, step: ActionStep) -> Question:
    """Return the question for the state after one step."""
    return Question(DEBUGGER_SYSTEM, _describe_step(trace, step), _find_right_reply(trace, step))


def score_state(trace: StateTrace, step: ActionStep, reply: str) -> StateScore:
    """Return the score of a reply to `ask_for_state`."""
    index = _find_index(trace, step)
    held = list_locals(trace.states)
    is_same_function = trace.states[index].depth == trace.states[step.index].depth
    return score_prediction(
        parse_prediction(reply),
        trace.states[index],
        held[index],
        held[step.index] if is_same_function else {},
    )


# ── a program with the states of a run as comments ─────────────────────────────────────────────────


def annotate_source(trace: StateTrace, hidden: int | None = None) -> str:
    """Return the program with its states as comments, leaving out the content of the state at index `hidden`."""
    states = [
        ProgramState(state.event, state.line, state.depth) if index == hidden else state
        for index, state in enumerate(trace.states)
    ]
    return annotate_code(trace.source, ExecutionTrace(tuple(_list_steps(states))))


def _list_steps(states: Sequence[ProgramState]) -> list[LineStep]:
    """Return the effect of each state's line, which the next state in the same function shows as its changes."""
    steps: list[LineStep] = []
    running: list[int] = []
    words = {"exception": "raise", "return": "return"}
    for state in states:
        if state.event == "call":
            running.append(len(steps))
        ending = f"{words[state.event]} {state.value}" if state.value else ""
        steps.append(LineStep(state.line, ending))
        changes = [f"{name} = {text}" for name, text in state.changed.items()]
        changes += [f"del {name}" for name in state.removed]
        before = steps[running[-1]]
        shown = ", ".join(filter(None, (*changes, before.changes)))
        steps[running[-1]] = LineStep(before.line, shown)
        running[-1] = len(steps) - 1
        if state.event == "return":
            running.pop()
    return steps
