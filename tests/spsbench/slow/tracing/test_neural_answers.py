"""Answers of a neural debugger as tokens, the baseline beside it, and how they are scored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from njc.commands import njc
from spsbench.cli import main
from spsbench.neural.dataset import find_ends, generate_trajectory, write_dataset
from spsbench.neural.debugging import SHIPPED_NETWORK, DebugPredictor
from spsbench.neural.encoding import (
    StepEncoder,
    TooLongError,
    UnreadableAnswerError,
    count_kept_frames,
    read_answer,
)
from spsbench.neural.evaluation import score_steps, tabulate
from spsbench.neural.predictors import LastState, NeuralDebugger, NoPredictionError
from spsbench.neural.vocabulary import (
    MARKERS,
    Vocabulary,
    collect_vocabulary,
    decode_names,
    read_names,
)
from spsbench.states.actions import Action
from spsbench.states.trace import Frame, StackState, list_stacks

HERE = StackState("line", (Frame(9, {"n": "3"}), Frame(2, {"k": "1", "m": "[1, 2]"})))
ENCODER = StepEncoder(collect_vocabulary(["k", "m", "return"], min_count=1))
NAMES = ENCODER.vocabulary.list_names()


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    vocabulary = collect_vocabulary(["def f(x):", "total = 137"], min_count=1)
    names = read_names(vocabulary.list_names(), vocabulary.encode_text(text))
    assert decode_names(names) == text.encode("utf-8", "replace").decode()


def test_numbers_are_one_token_up_to_99() -> None:
    encode = Vocabulary(()).encode_text
    assert [len(encode(text)) for text in ("7", "99", "100", "007", "<stop>")] == [1, 1, 3, 3, 6]


@pytest.mark.parametrize(
    ("after", "answer"),
    [
        (
            StackState("line", (Frame(9, {"n": "3"}), Frame(3, {"k": "2", "m": "[1, 2]"}))),
            "<line> <keep 1> <frame> <line 3> k <=> 2 <;> <stop>",
        ),
        (
            StackState("line", (Frame(10, {"n": "4"}),)),
            "<line> <keep 0> <frame> <line 10> <byte 110> <=> 4 <;> <stop>",
        ),
        (
            StackState("return", (Frame(9, {"n": "3"}), Frame(2, {"k": "1"})), "5"),
            "<return> <keep 1> <frame> <line 2> <gone> m <value> 5 <stop>",
        ),
        (
            StackState("call", (*HERE.frames, Frame(1, {"k": "0"}))),
            "<call> <keep 2> <fresh> <line 1> k <=> 0 <;> <stop>",
        ),
        (None, "<end> <stop>"),
    ],
    ids=["line", "out", "return", "call", "end"],
)
def test_answers_by_hand(after: StackState | None, answer: str) -> None:
    names = read_names(NAMES, ENCODER.encode_answer(HERE, after))
    assert " ".join(names) == answer
    assert read_answer(names, HERE) == after


def test_answers_of_generated_programs_come_back() -> None:
    for trajectory in (generate_trajectory(11, number) for number in range(150)):
        stacks = list_stacks(trajectory.trace.states)
        for step in trajectory.steps:
            before, after = find_ends(stacks, step)
            names = read_names(NAMES, ENCODER.encode_answer(before, after))
            assert read_answer(names, before) == after
            assert after is None or count_kept_frames(before, after) < len(after.frames)


@given(st.lists(st.sampled_from([*MARKERS[:20], "<keep 1>", "<line 3>", "k", "1"]), max_size=12))
def test_other_tokens_are_no_state_or_one(names: list[str]) -> None:
    try:
        state = read_answer(names, HERE)
    except UnreadableAnswerError:
        return
    assert state is None or state.frames


def test_programs_that_are_too_long_are_refused() -> None:
    with pytest.raises(TooLongError):
        ENCODER.encode_source("x = 1\n" * 65)


def test_the_last_state() -> None:
    expected = StackState("line", (HERE.frames[0], Frame(3, HERE.frames[1].locals)))
    assert LastState().predict("", HERE, "step_over") == expected
    before = LastState().predict("", HERE, "inv_step_over")
    assert before is not None
    assert before.frames[-1].line == 1


def test_the_directions_are_parts_of_all_steps() -> None:
    trajectories = [generate_trajectory(2, number) for number in range(60)]
    seen = list(score_steps(LastState(), trajectories, perf_counter))
    rows = {(row.group, row.name): row for row in tabulate("train", "last", seen)}
    directions = [rows["direction", name] for name in ("forward", "inverse")]
    assert sum(row.steps for row in directions) == rows["all", "all"].steps == len(seen)
    assert sum(row.exact for row in directions) == rows["all", "all"].exact > 0


class Perfect:
    """Knows the trajectories that it is asked about."""

    def __init__(self, trajectories: list) -> None:  # type: ignore[type-arg]
        self.answers = {}
        for trajectory in trajectories:
            stacks = list_stacks(trajectory.trace.states)
            for step in trajectory.steps:
                before, after = find_ends(stacks, step)
                key = (trajectory.trace.source, repr(before), step.action, step.line)
                self.answers.setdefault(key, after)

    def predict(self, source, state, action, line=None):  # type: ignore[no-untyped-def]
        return self.answers[source, repr(state), action, line]


def test_what_no_predictor_can_know_is_little() -> None:
    """States that look the same may have different ones after them."""
    trajectories = [generate_trajectory(4, number) for number in range(300)]
    scores = list(score_steps(Perfect(trajectories), trajectories, perf_counter))
    share = sum(score.is_exact for score in scores) / len(scores)
    assert 0.97 < share <= 1


def test_an_untrained_network_answers_nothing_exactly(untrained: Path, tmp_path: Path) -> None:
    write_dataset(tmp_path / "data", 1, 300)
    command = ["predict", str(tmp_path / "data"), "--model", str(untrained), "--programs", "3"]
    result = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "out.jsonl")])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["predictor"] for row in rows} == {"last state", "network"}
    mine = [row for row in rows if row["predictor"] == "network"]
    assert {row["group"] for row in mine} >= {"all", "direction", "action", "depth"}
    assert [row["exact"] for row in mine] == [0] * len(mine)


def test_an_answer_that_is_no_state_is_named(untrained: Path) -> None:
    from spsbench.neural.network import load_network

    debugger = NeuralDebugger(load_network(untrained))
    state = StackState("call", (Frame(1, {"n": "1"}),))
    with pytest.raises(NoPredictionError, match="not a state"):
        debugger.predict("def f(n):\n    return n\n", state, "step_over")
    with pytest.raises(NoPredictionError, match="empty"):
        debugger.predict("", state, "step_over")


def test_the_shipped_network_is_small_and_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SHIPPED_NETWORK.stat().st_size < 2_000_000
    monkeypatch.chdir(tmp_path)
    Path("prog.py").write_text("def add(n, m):\n    total = n + m\n    return total\n")
    arguments = ["debug", "--predicted", "spsbench.neural.debugging", "--call", "add(1, 2)"]
    done = CliRunner().invoke(njc, [*arguments, "prog.py"], input="n\ncheck\nq\n")
    assert done.exit_code == 0, done.output
    assert "> prog.py:2 line, depth 0" in done.output
    assert "right: running the program leads to this state" in done.output


PLACES = """\
import functools

twice = lambda n: 2 * n


@functools.cache
def add(n):
    return n + 1


print(add(1))
"""


@dataclass(frozen=True)
class FixedAnswer:
    """Predicts one line."""

    line: int

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None = None
    ) -> StackState | None:
        return StackState("line", (*state.frames, Frame(self.line, {}))) if self.line else None


def test_only_lines_in_functions_are_predicted() -> None:
    for line in range(len(PLACES.splitlines()) + 3):
        predictor = DebugPredictor(FixedAnswer(line))
        start = predictor.start(PLACES, "add(1)")
        if line in (0, 3, 6, 7, 8):
            found = predictor.predict(PLACES, start, "step_over", None)
            assert (found.frames[-1].line if found else 0) == line
        else:
            with pytest.raises(ValueError, match=f"the predicted line {line} is in no function"):
                predictor.predict(PLACES, start, "step_over", None)
