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

from njc.execution_trace import ExecutionTrace, LineStep
from njc.repair.annotate import annotate_code
from spsbench.states.trace import ProgramState, StateTrace


def annotate_source(trace: StateTrace, hidden: int | None = None) -> str:
    """The program with its states, but without what the state with the index `hidden` has."""
    states = [
        ProgramState(state.event, state.line, state.depth) if index == hidden else state
        for index, state in enumerate(trace.states)
    ]
    return annotate_code(trace.source, ExecutionTrace(tuple(_list_steps(states))))


def _list_steps(states: Sequence[ProgramState]) -> list[LineStep]:
    """What each state's line does. Changes are those of the line before, in the same function."""
    steps: list[LineStep] = []
    running: list[int] = []
    for state in states:
        changes = [f"{name} = {text}" for name, text in state.changed.items()]
        changes += [f"del {name}" for name in state.removed]
        match state.event:
            case "call":
                running.append(-1)
                steps.append(LineStep(state.line, ", ".join(changes)))
            case "line":
                if (before := running[-1]) >= 0:
                    steps[before] = LineStep(steps[before].line, ", ".join(changes))
                running[-1] = len(steps)
                steps.append(LineStep(state.line, ""))
            case "exception":
                running[-1] = -1
                steps.append(LineStep(state.line, f"raise {state.value}" if state.value else ""))
            case "return":
                running.pop()
                steps.append(LineStep(state.line, f"return {state.value}" if state.value else ""))
    return steps
