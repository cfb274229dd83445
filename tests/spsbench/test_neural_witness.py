"""A neural debugger that predicts the effects of blocks: by name, by variable, by `--set`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from njrt.errors import ConfigurationError, ModelError
from njrt.messages import Request, UserMessage
from njrt.models.choose import get_model
from njrt.session.prediction import read_prediction
from spsbench.neural.predictors import NoPredictionError
from spsbench.neural.witness import MAX_STEPS, Witness
from spsbench.states.actions import Action
from spsbench.states.trace import Frame, StackState

REQUEST = "Instruction:\n\nAdd.\n\nVariables before the step:\n\n{}\n\nStep:\n\n{}"


@dataclass
class Steps:
    """Answers with states in order (state: the sources seen)."""

    states: list[StackState | None]
    sources: list[str] = field(default_factory=list)

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None = None
    ) -> StackState | None:
        self.sources.append(source)
        if not self.states:
            raise NoPredictionError("no state is left")
        return self.states.pop(0)


def state(event: str, line: int, value: str | None = None, **held: str) -> StackState:
    return StackState(event, (Frame(line, held),), value)  # type: ignore[arg-type]


def predict(states: list[StackState | None], code: str, before: str = "n = 3") -> str:
    request = Request("", (UserMessage(REQUEST.format(before, code)),))
    return Witness(Steps(states), "x").ask(request).message.text


def test_the_code_is_a_function_of_the_variables() -> None:
    steps = Steps([state("line", 2, n="3"), state("return", 2, "None", n="4"), None])
    request = Request(
        "",
        (
            UserMessage(
                REQUEST.format("n = 3\nxs = [1]", "n += 1\nn"),
            ),
        ),
    )
    reply = Witness(steps, "x").ask(request)
    assert steps.sources[0] == "def step(n, xs):\n    n += 1\n    n\n"
    assert reply.message.text == "n = 4\nEND: goes on"


@pytest.mark.parametrize(
    ("code", "states", "said"),
    [
        ("break", [state("line", 2, n="3")], "END: break"),
        ("continue", [state("line", 2, n="3")], "END: continue"),
        ("return n", [state("line", 2, n="3")], "END: return 3"),
        ("return", [state("line", 2, n="3")], "END: return None"),
        ("raise KeyError(n)", [state("line", 2, n="3")], "END: raise KeyError"),
        ("n[0]", [state("line", 2, n="3"), state("exception", 2, "TypeError('x')", n="3"), None], "END: raise TypeError"),
        ("m = n", [state("line", 2, n="3"), state("return", 2, n="3", m="3"), None], "m = 3\nEND: goes on"),
        ("n += 1", [None], "END: goes on"),
    ],
)  # fmt: skip
def test_ends_of_the_code(code: str, states: list[StackState | None], said: str) -> None:
    assert predict(states, code) == said


def test_a_reply_without_an_answer_has_no_prediction() -> None:
    said = predict([], "n += 1")
    assert said == "no answer: no state is left"
    assert read_prediction(said).problem == "the reply has no prediction"
    said = predict([state("line", 2, n="3")] * (MAX_STEPS + 1), "n += 1")
    assert "does not end after" in said


def test_other_requests_are_refused() -> None:
    with pytest.raises(ModelError, match="cannot carry one out"):
        Witness(Steps([]), "x").ask(Request("", (UserMessage("Do it."),)))


def test_models_of_a_program_are_chosen_by_module_and_name(untrained: Path) -> None:
    name = f"python:spsbench.neural.witness:{untrained}"
    assert get_model(name) is get_model(name)
    assert get_model(name).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python:no.such.module:x", "No module named 'no'.*open_model"),
        ("python:json:x", "has no attribute 'open_model'"),
        ("python:spsbench.neural.witness:missing.npz", "missing.npz has no network"),
    ],
)
def test_a_name_without_a_model_is_an_error(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        get_model(name)


PROGRAM = """
import njrt
from njrt.models.scripted import Scripted, run

prices = [3, 4]
with njrt.using(model=Scripted([run("total = 7", done=True)])), njrt.watch() as watch:
    '''natural(effects="direct")
    Put the sum of <prices> into <:total: int>.
    '''
(effect,) = watch.runs[0].effects
print(total, effect.prediction is not None)
"""


@pytest.mark.parametrize("way", ["--set", "variable"])
def test_njc_run_predicts(way: str, untrained: Path, tmp_path: Path) -> None:
    (tmp_path / "prog.njpy").write_text(PROGRAM)
    name = f"python:spsbench.neural.witness:{untrained}"
    flags = ["--set", f"predict={name}"] if way == "--set" else []
    environment = {} if way == "--set" else {"NJC_PREDICT": name}
    done = subprocess.run(
        [sys.executable, "-m", "njc", "run", *flags, "prog.njpy"],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("7 True\n", 0), done.stderr
