"""What a perfect model says for task_completion, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

TITLES = ("water the plants", "call the landlord", "buy stamps")


def done(*numbers: int) -> CaseScript:
    code = "\n".join(f"tasks[{number}].done = True" for number in numbers) or "pass"
    completed = [TITLES[number] for number in numbers]
    return CaseScript((list(numbers),), (code,), (f"completed = {completed}",))


SCRIPT = Script(
    {"one": done(0), "two": done(1, 2), "none": done()},
    Mistake("none", done(2), fails=("done: nothing",)),
)
