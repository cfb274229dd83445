"""Steps of a debugger in programs whose states were written down by hand, and the data set of generated ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from spsbench.cli import main
from spsbench.neural.dataset import choose_part, generate_trajectory, read_part, write_dataset
from spsbench.neural.library_programs import write_function
from spsbench.neural.programs import FAMILIES, write_program
from spsbench.results import InputError
from spsbench.states.actions import Action, ActionStep, find_target, list_taken_steps
from spsbench.states.programs import record_call
from spsbench.states.trace import Frame, StackState, list_stacks
from spsbench.states.trajectories import read_trajectory_lines, write_trajectory_lines

RECURSION = """\
def fact(n):
    if n < 2:
        return 1
    return n * fact(n - 1)
"""
EXCEPTION = """\
def inner(n):
    raise KeyError(n)
def outer(n):
    inner(n)
def main(n):
    try:
        outer(n)
    except KeyError:
        n = 0
    return n
"""
GENERATOR = """\
def count(n):
    yield n
    yield n + 1
def main():
    total = 0
    for v in count(3):
        total += v
    return total
"""
CLOSURE = """\
def counter():
    count = 0
    def bump(by):
        nonlocal count
        count += by
    bump(2)
    return count
"""
CHANGES = [
    ("call", 1, 0, {}),
    ("line", 2, 0, {}),
    ("line", 3, 0, {"count": "0"}),
    ("line", 6, 0, {"bump": "<function bump>"}),
    ("call", 3, 1, {"by": "2", "count": "0"}),
    ("line", 5, 1, {}),
    ("return", 5, 1, {"count": "2"}),
    ("line", 7, 0, {"count": "2"}),
    ("return", 7, 0, {}),
]


def test_the_changes_of_each_state_are_those_written_here() -> None:
    found = record_call(CLOSURE, "counter()").trace.states
    assert [(each.event, each.line, each.depth, each.changed) for each in found] == CHANGES


@pytest.mark.parametrize(
    ("source", "call", "index", "action", "line", "target"),
    [
        (RECURSION, "fact(2)", 2, "step_into", None, 3),
        (RECURSION, "fact(2)", 2, "step_over", None, 7),
        (RECURSION, "fact(2)", 4, "step_return", None, 6),
        (RECURSION, "fact(2)", 2, "step_return", None, 7),  # out of the outermost function
        (RECURSION, "fact(2)", 7, "step_over", None, None),
        (RECURSION, "fact(2)", 7, "inv_step_into", None, 6),
        (RECURSION, "fact(2)", 7, "inv_step_over", None, 2),
        (RECURSION, "fact(2)", 7, "inv_step_call", None, 0),
        (RECURSION, "fact(2)", 5, "inv_step_call", None, 3),
        (RECURSION, "fact(2)", 0, "breakpoint", 3, 5),
        (RECURSION, "fact(2)", 5, "breakpoint", 3, None),  # not hit again
        (EXCEPTION, "main(5)", 2, "step_over", None, 11),  # to the exception that has come up
        (EXCEPTION, "main(5)", 6, "step_return", None, 8),
        (EXCEPTION, "main(5)", 4, "step_over", None, 9),
        (EXCEPTION, "main(5)", 10, "step_into", None, 11),
        (EXCEPTION, "main(5)", 12, "inv_step_over", None, 11),
        (EXCEPTION, "main(5)", 11, "inv_step_over", None, 2),
        (GENERATOR, "main()", 2, "step_over", None, 6),
        (GENERATOR, "main()", 4, "step_return", None, 5),
        (GENERATOR, "main()", 10, "inv_step_call", None, 8),  # entered again after the first yield
        (GENERATOR, "main()", 7, "inv_step_over", None, 6),
        (GENERATOR, "main()", 0, "breakpoint", 7, 6),
        (GENERATOR, "main()", 6, "breakpoint", 7, 11),
    ],
)
def test_steps_by_hand(
    source: str, call: str, index: int, action: Action, line: int | None, target: int | None
) -> None:
    states = record_call(source, call).trace.states
    assert find_target(states, ActionStep(index, action, line)) == target
    taken = {(step.index, step.action, step.line): step.target for step in list_taken_steps(states)}
    assert taken[index, action, line] == target


def test_the_stack_has_the_functions_around() -> None:
    stacks = list_stacks(record_call(RECURSION, "fact(2)").trace.states)
    assert stacks[5] == StackState("line", (Frame(4, {"n": "2"}), Frame(3, {"n": "1"})))
    assert stacks[7] == StackState("return", (Frame(4, {"n": "2"}),), "2")


def test_of_a_trace_that_is_cut_no_end_is_claimed() -> None:
    trace = record_call(RECURSION, "fact(4)", max_states=6).trace
    assert trace.is_cut
    steps = list_taken_steps(trace.states, is_cut=True)
    assert steps
    assert [
        step for step in steps if step.target is None and not step.action.startswith("inv")
    ] == []


def test_the_command_writes_states_and_steps(tmp_path: Path) -> None:
    program, out = tmp_path / "prog.py", tmp_path / "prog.jsonl"
    program.write_text(RECURSION)
    command = ["states", str(program), "--call", "fact(2)", "--actions", "--out", str(out)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    (found,) = read_trajectory_lines(out.read_text().splitlines(keepends=True))
    assert found.trace == record_call(RECURSION, "fact(2)").trace
    assert found.steps == tuple(list_taken_steps(found.trace.states))


def test_a_call_that_is_no_expression_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(RECURSION)
    result = CliRunner().invoke(main, ["states", str(tmp_path / "prog.py"), "--call", "fact("])
    assert result.exit_code == 2
    assert "--call 'fact(' is not an expression" in result.output


def test_damaged_trajectories_are_named() -> None:
    lines = [*write_trajectory_lines([generate_trajectory(3, 0), generate_trajectory(3, 1)])]
    with pytest.raises(InputError, match="no line of kind `steps`"):
        list(read_trajectory_lines(lines[:-1]))
    with pytest.raises(InputError, match="up to line"):
        list(read_trajectory_lines([lines[0], lines[-1]]))


def test_the_data_come_back_as_they_were_written(tmp_path: Path) -> None:
    command = ["trajectories", "--seed", "5", "--programs", "60", "--out"]
    for folder in ("one", "two"):
        result = CliRunner().invoke(main, [*command, str(tmp_path / folder)])
        assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["card.md", "test.jsonl", "train.jsonl", "valid.jsonl"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    parts = {name: list(read_part(tmp_path / "one", name)) for name in ("train", "valid", "test")}
    made = [generate_trajectory(5, number) for number in range(60)]
    for name, found in parts.items():
        assert found == [each for each in made if choose_part(each.trace.source) == name]
    card = " ".join((tmp_path / "one/card.md").read_text().split())
    assert f"| train | {len(parts['train'])} |" in card


def test_steps_from_a_call_to_its_return_and_back_can_be_chosen(tmp_path: Path) -> None:
    command = ["trajectories", "--seed", "5", "--programs", "60", "--steps", "ends", "--out"]
    result = CliRunner().invoke(main, [*command, str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "--steps ends" in (tmp_path / "card.md").read_text()
    found = [each for name in ("train", "valid", "test") for each in read_part(tmp_path, name)]
    for trajectory in found:
        last = len(trajectory.trace.states) - 1
        for step in trajectory.steps:
            assert (step.index, step.action, step.target) in {
                (0, "step_return", last),
                (last, "inv_step_call", 0),
            }
    assert sum(len(trajectory.steps) for trajectory in found) > 80
    both = [generate_trajectory(5, number, "both").steps for number in range(60)]
    sampled = [generate_trajectory(5, number).steps for number in range(60)]
    assert all(set(some) <= set(more) for some, more in zip(sampled, both, strict=True))


def test_programs_and_steps_occur_once(tmp_path: Path) -> None:
    write_dataset(tmp_path, 1, 300)
    made = [each for name in ("train", "valid", "test") for each in read_part(tmp_path, name)]
    sources = [trajectory.trace.source for trajectory in made]
    assert len(set(sources)) == len(sources)
    for trajectory in made:
        stacks = list_stacks(trajectory.trace.states)
        keys = Counter(
            (str(stacks[step.index]), str(step), str(step.target and stacks[step.target]))
            for step in trajectory.steps
        )
        assert max(keys.values()) == 1


def test_generated_programs_call_recurse_yield_and_raise() -> None:
    sources = [write_program(Random(seed)) for seed in range(600)]
    traces = [record_call(program.source, program.call).trace for program in sources]
    events = Counter(state.event for trace in traces for state in trace.states)
    depths = Counter(max(state.depth for state in trace.states) for trace in traces)
    assert min(events.values()) > 20
    assert max(depths) >= 4
    texts = "\n".join(program.source for program in sources)
    assert len(FAMILIES) == 7
    for word in ("yield", "raise", "nonlocal", "class", "except", "finally", "for"):
        assert texts.count(word) > 10


def test_library_functions_end_and_use_variables_of_the_right_types() -> None:
    """Some raise on their values, as the functions of a library do; none is wrong in itself."""
    ended = Counter[str]()
    for seed in range(1500):
        lines, arguments = write_function(Random(seed))
        source = "\n".join(lines) + "\n"
        made = record_call(source, f"f({', '.join(arguments)})", max_states=300)
        ended[type(made.error).__name__] += 1
        assert all(
            len(text) < 20_000 for state in made.trace.states for text in state.changed.values()
        )
    assert ended["NoneType"] > 1000
    assert set(ended) <= {"NoneType", "ValueError", "IndexError", "KeyError", "RuntimeError", "StateLimitError"}  # fmt: skip
