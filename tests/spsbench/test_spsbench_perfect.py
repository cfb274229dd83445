"""A script's code is said in other effect sets with the same meaning, or is known to be unsayable."""

from __future__ import annotations

import ast
import copy
from types import SimpleNamespace
from typing import Any

import pytest

from njrt.errors import ModelError
from njrt.messages import Request, ToolMessage, ToolResult, UserMessage
from paper_model import make_data_effect_calls, make_perfect_model, to_expressions
from spsbench.script import CaseScript, UnsupportedCodeError

STATE: dict[str, Any] = {
    "n": 2,
    "words": ["b", "a"],
    "stock": {"tea": 3},
    "player": SimpleNamespace(health=9),
}


@pytest.mark.parametrize(
    "code",
    [
        "n = n + 1",
        "n += 1; n *= 2",
        "pass",
        "player.health -= n",
        "player.name = 'Ada'",
        "stock['tea'] -= 1; stock['milk'] = n",
        "words.append('c')",
        "words[:] = [word for word in words if word > 'a']",
        "for word in words:\n    stock[word] = n\n    n += 1",
        "def double(x, y=2): return x * y\nn = double(5)",
    ],
)
def test_expressions_do_what_the_statements_do(code: str) -> None:
    told, evaluated = copy.deepcopy(STATE), copy.deepcopy(STATE)
    exec(code, told)
    for expression in to_expressions(ast.parse(code).body):
        eval(expression, evaluated)
    assert {name: evaluated[name] for name in STATE} == {name: told[name] for name in STATE}


@pytest.mark.parametrize(
    "code",
    [
        "class A: pass",
        "while True: pass",
        "def f():\n    yield 1",
        "import json",
        "a, b = 1, 2",
        "words[1:] = []",
    ],
)
def test_no_expression_says_what_needs_a_statement(code: str) -> None:
    with pytest.raises(UnsupportedCodeError):
        to_expressions(ast.parse(code).body)


@pytest.mark.parametrize("code", ["def f(): pass", "class A: pass", "x = Book('title')"])
def test_data_effects_neither_define_nor_call(code: str) -> None:
    with pytest.raises(UnsupportedCodeError):
        next(make_data_effect_calls(ast.parse(code).body))


def test_a_perfect_model_takes_no_refusal_and_says_no_more_than_its_script() -> None:
    model = make_perfect_model(CaseScript((), ("x = 1",)), "nightjar")
    opening = Request("", (UserMessage("Set <:x>."),))
    (call,) = model.ask(opening).message.calls
    assert (call.name, call.arguments) == ("exec", {"code": "x = 1"})
    refused = ToolMessage((ToolResult(call.id, call.name, "`x` is read-only", failed=True),))
    with pytest.raises(ModelError, match="refuses exec: `x` is read-only"):
        model.ask(Request("", (*opening.messages, refused), turn=2))
    with pytest.raises(ModelError, match="more pieces than the script has"):
        model.ask(opening)


def test_the_script_of_a_block_without_code_is_an_answer_with_and_without_a_schema() -> None:
    script = CaseScript((), ("mood = 'positive'",))
    for schema in ({"type": "object"}, None):  # with reasoning as text, the server enforces none
        model = make_perfect_model(script)
        reply = model.ask(Request("", (UserMessage("Set <:mood>."),), schema=schema))
        assert reply.message.text == '{"mood": "positive"}'
