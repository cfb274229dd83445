"""What a perfect model says for task_completion, and a slip."""

from spsbench.script import Lines, Script, Slip


def done(*numbers: int) -> Lines:
    code = "\n".join(f"tasks[{number}].done = True" for number in numbers) or "pass"
    return Lines((list(numbers),), (code,))


SCRIPT = Script(
    {"one": done(0), "two": done(1, 2), "none": done()},
    Slip("none", done(2), fails=("done: nothing",)),
)
