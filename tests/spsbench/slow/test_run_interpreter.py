"""The code interpreter of manual programs: Python on a state of its own, offered to the model in two ways."""

from __future__ import annotations

import pytest

from njrt.errors import CallLimitError, EffectLimitError
from njrt.events import Event, Performed
from njrt.log.cache import ReplyStore, open_cache_file
from njrt.messages import Request
from njrt.models.model import LayeredModel
from njrt.testing import Said, Scripted, call
from spsbench.llm import llm, use_model
from spsbench.results import TrialLimits
from spsbench.trials.answering import (
    CONTINUE_MESSAGE,
    PYTHON_TOOL,
    TEXT_INSTRUCTIONS,
    InterpreterModel,
    RequestDefaults,
    TrialCache,
)
from spsbench.trials.interpreter import Interpreter, InterpreterOutput

NUMBER = {"type": "integer"}


def test_variables_live_until_the_end_and_the_last_value_is_told() -> None:
    with Interpreter() as interpreter:
        assert interpreter.run("import math\nx = 6") == InterpreterOutput("", failed=False)
        assert interpreter.run("print('so')\nx * 7") == InterpreterOutput("so\n42", failed=False)
        assert interpreter.run("1 / 0") == InterpreterOutput(
            "ZeroDivisionError: division by zero", True
        )
        assert interpreter.run("x +").failed
        assert interpreter.run("math.sqrt(x + 30)") == InterpreterOutput("6.0", failed=False)


def test_it_sees_nothing_of_the_program() -> None:
    with Interpreter() as interpreter:
        code = "import os, sys; (sorted(os.environ), 'spsbench' in sys.modules, os.getcwd())"
        text = interpreter.run(code).text
        assert "False, '/'" in text
        assert "PATH" not in text
        assert interpreter.run("input()") == InterpreterOutput(
            "EOFError: EOF when reading a line", True
        )


def test_code_that_does_not_end_or_ends_the_process_costs_the_variables() -> None:
    with Interpreter(seconds=1.0) as interpreter:
        interpreter.run("x = 1")
        assert (
            interpreter.run("while True: pass").text
            == "it ran for too long; all variables are lost"
        )
        assert interpreter.run("import os; os._exit(3)").text.startswith("it ended the interpreter")
        assert interpreter.run("x").failed
        assert interpreter.run("'y' * 9000").text.endswith("... (+5002 characters)")


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
        call(PYTHON_TOOL, code="x = 17"),
        call(PYTHON_TOOL, code="x * 23"),
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
        "Let me see.\n```run\n17 * 23\n```", '{"answer": 391}', textual=True
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


def test_kept_replies_serve_a_second_run_in_the_same_order(tmp_path: object) -> None:
    def both(repeat: int, script: list[Said]) -> list[str]:
        model = LayeredModel(
            Scripted(script), (TrialCache(ReplyStore(open_cache_file(tmp_path)), "m", repeat),)
        )
        request = Request("", (), temperature=1.0)
        return [model.ask(request).message.text for _ in range(2)]

    assert both(1, ["a", "b"]) == ["a", "b"]
    assert both(1, []) == ["a", "b"]
    assert both(2, ["c", "d"]) == ["c", "d"]
