"""A program with the states of a run in comments, in the form of NExT (arXiv 2404.14662).

    def f(nums):              # (1) nums = [1, 2]
        total = 0             # (2) total = 0
        for n in nums:        # (3) n = 1; (5) n = 2
            total += n        # (4) total = 1; (6) total = 3
        return total          # (9) return 3

Each number is a step in the order of time; behind it stands what the line has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from njc.evaluation.execution_trace import ExecutionTrace, LineStep
from njc.evaluation.repair.annotate import annotate_code
from spsbench.states.trace import ProgramState, StateTrace


def annotate_source(trace: StateTrace, hidden: int | None = None) -> str:
    """Return the program with its states, but without what the state with the index `hidden` has."""
    states = [
        ProgramState(state.event, state.line, state.depth) if index == hidden else state
        for index, state in enumerate(trace.states)
    ]
    return annotate_code(trace.source, ExecutionTrace(tuple(_list_steps(states))))


def _list_steps(states: Sequence[ProgramState]) -> list[LineStep]:
    """Return what each state's line does; a state has the changes of the state before it in the same function."""
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
