"""What a perfect model says for task_completion, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def done(*numbers: int) -> CaseScript:
    code = "\n".join(f"tasks[{number}].done = True" for number in numbers) or "pass"
    return CaseScript((list(numbers),), (code,))


SCRIPT = Script(
    {"one": done(0), "two": done(1, 2), "none": done()},
    Mistake("none", done(2), fails=("done: nothing",)),
)
