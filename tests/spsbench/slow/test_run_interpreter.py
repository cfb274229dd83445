"""The code interpreter of manual programs: Python on a state of its own, offered to the model in two ways."""

from __future__ import annotations

import pytest

from njrt.errors import CallLimitError, EffectLimitError
from njrt.events import Event, Performed
from njrt.models.model import LayeredModel
from njrt.testing import Request, Said, Scripted, call
from spsbench.llm import llm, use_model
from spsbench.results import TrialLimits
from spsbench.trials.answering import (
    CONTINUE_MESSAGE,
    PYTHON_TOOL,
    TEXT_INSTRUCTIONS,
    InterpreterModel,
    RequestDefaults,
)
from spsbench.trials.interpreter import InterpreterOutput, run_code

NUMBER = {"type": "integer"}


def run_piece(code: str, seconds: float = 30.0) -> InterpreterOutput:
    return run_code([code], seconds)


def test_what_is_printed_is_told() -> None:
    code = "import math\nx = 6\nprint('so')\nprint(math.sqrt(x + 30))"
    assert run_piece(code) == InterpreterOutput("so\n6.0", failed=False)
    assert run_piece("x = 1") == InterpreterOutput("", failed=False)
    assert run_piece("print(x)").text == "NameError: name 'x' is not defined"
    assert run_piece("print(1); 1 / 0") == InterpreterOutput(
        "1\nZeroDivisionError: division by zero", failed=True
    )
    assert run_piece("x +").failed


def test_variables_stay_for_later_pieces_also_after_a_mistake() -> None:
    pieces = ["def f(n): return n + 1", "x = f(1); print(x); x.y", "y +", "print(f(x))"]
    assert run_code(pieces) == InterpreterOutput("3", failed=False)


def test_it_sees_nothing_of_the_program() -> None:
    code = "import os, sys; print(sorted(os.environ), os.getcwd(), sys.path[-1])"
    text = run_piece(code).text
    assert "PATH" not in text
    assert " / " in text
    assert run_piece("import njrt").text == "ModuleNotFoundError: No module named 'njrt'"
    assert run_piece("input()").text == "EOFError: EOF when reading a line"


def test_code_that_does_not_end_or_ends_the_process_fails() -> None:
    assert run_piece("while True: pass", 1.0) == InterpreterOutput("it ran for too long", True)
    assert run_piece("import os; os._exit(3)") == InterpreterOutput("", failed=True)
    assert run_piece("\0").failed
    assert run_piece("print('y' * 9000)").text.endswith("... (+5000 characters)")


def asked(
    *script: Said, most: int = 10, calls: int = 10, textual: bool = False
) -> tuple[int, Scripted, list[Event]]:
    """What `llm` answers, by a model that may run Python, and what was told of it."""
    told: list[Event] = []
    model = Scripted(script, protocol="text" if textual else "tools")
    with use_model(InterpreterModel(model, TrialLimits(effects=most, calls=calls), told.append)):
        return llm("How much?", NUMBER), model, told


def test_by_tools_the_model_runs_code_and_then_answers() -> None:
    script = (
        call(PYTHON_TOOL, code="print(17)"),
        call(PYTHON_TOOL, code="print(17 * 23)"),
        call("answer", answer=391),
    )
    answer, model, told = asked(*script)
    assert answer == 391
    assert [tool.name for tool in model.requests[0].tools] == ["answer", PYTHON_TOOL]
    assert [request.turn for request in model.requests] == [1, 2, 3]
    assert [type(event) for event in told] == [Performed, Performed]
    results = model.requests[2].messages[-1].results  # type: ignore[union-attr]
    assert [result.text for result in results] == ["391"]


def test_in_words_the_model_runs_code_and_then_answers() -> None:
    answer, model, told = asked(
        "Let me see.\n```run\nprint(17 * 23)\n```", '{"answer": 391}', textual=True
    )
    assert answer == 391
    assert model.requests[0].system.endswith(TEXT_INSTRUCTIONS)
    assert model.requests[1].messages[-1].text == f"391\n---\n{CONTINUE_MESSAGE}"  # type: ignore[union-attr]
    assert len(told) == 1


def test_pieces_of_code_are_limited() -> None:
    with pytest.raises(EffectLimitError, match="limit of 2 pieces of code"):
        asked(*[call(PYTHON_TOOL, code="1")] * 3, most=2)
    with pytest.raises(CallLimitError, match="limit of 2 model calls"):
        asked(*[call(PYTHON_TOOL, code="1")] * 3, calls=2)


def test_terms_fill_in_what_is_not_said() -> None:
    model = Scripted(["a", "b"])
    layered = LayeredModel(model, (RequestDefaults(0.7, 5.0),))
    layered.ask(Request("", ()))
    layered.ask(Request("", (), temperature=0.2))
    assert [(request.temperature, request.timeout) for request in model.requests] == [
        (0.7, 5.0),
        (0.2, 5.0),
    ]
