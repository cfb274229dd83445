"""A program with the states of a run in comments, in the form of NExT (arXiv 2404.14662).

    def f(nums):              # (0) nums = [1, 2]
        total = 0             # (1) total = 0
        for n in nums:        # (2) n = 1; (4) n = 2; (6)
            total += n        # (3) total = 1; (5) total = 3
        return total          # (7); (8) return 3

Each number is a step in the order of time; behind it stands what the line has changed. Of a line that runs often the
first `FIRST` steps and the last `LAST` are shown.
"""

from __future__ import annotations

from collections.abc import Collection

from spsbench.states.trace import ProgramState, StateTrace

FIRST, LAST = 3, 1


def annotate_source(trace: StateTrace, hidden: Collection[int] = ()) -> str:
    """The program with its states; of the states with the indices `hidden` the step is left out."""
    comments: dict[int, list[str]] = {}
    effects = _list_effects(trace.states)
    for number, (index, line, text) in enumerate(effects):
        if index not in hidden:
            comments.setdefault(line, []).append(f"({number}) {text}".rstrip())
    lines = trace.source.split("\n")
    width = max((len(lines[number - 1]) for number in comments), default=0)
    for number, steps in comments.items():
        if len(steps) > FIRST + LAST:
            steps[FIRST:-LAST] = ["..."]
        lines[number - 1] = f"{lines[number - 1]:<{width}}  # {'; '.join(steps)}"
    return "\n".join(lines)


def _list_effects(states: tuple[ProgramState, ...]) -> list[tuple[int, int, str]]:
    """The index, the line and the effect of each step: a change is that of the line before."""
    effects: list[tuple[int, int, str]] = []
    running: list[int] = []
    for index, state in enumerate(states):
        changes = [f"{name} = {text}" for name, text in state.changed.items()]
        changes += [f"del {name}" for name in state.removed]
        match state.event:
            case "call":
                running.append(len(effects))
                effects.append((index, state.line, ", ".join(changes)))
            case "line":
                before, line, _ = effects[running[-1]]
                if states[before].event == "line":
                    effects[running[-1]] = (before, line, ", ".join(changes))
                running[-1] = len(effects)
                effects.append((index, state.line, ""))
            case "exception":
                running[-1] = len(effects)
                effects.append((index, state.line, f"raise {state.value}"))
            case "return":
                if state.value is not None:
                    effects.append((index, state.line, f"return {state.value}"))
                running.pop()
    return effects
