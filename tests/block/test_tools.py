"""From what a model says to the effects it means: tool calls, fenced code, fenced JSON, bare code."""

import json
import time

import pytest

from njrt.block.agent.text_protocol import parse_text_effects
from njrt.block.agent.tools import DIRECT, Operation, Parameter, make_tools, parse_tool_call
from njrt.effects import Perform, Refusal, Run
from njrt.messages import ToolCall

TEXT = {"type": "string"}
SHOP = (
    Operation("note", "Note a text.", (Parameter("code", TEXT),), lambda code: Perform("note", {"code": code})),
    Operation(
        "find",
        "Find a product.",
        (Parameter("name", TEXT, ("product", "var")), Parameter("most", {}, default=None)),
        lambda name, most: Perform("find", {"name": name, "most": most}),
    ),
    Operation("done", "End.", (), lambda: Perform("done", {})),
)  # fmt: skip
"""The effects of an interface."""
FIND = Perform("find", {"name": "x", "most": None})
END = Perform("done", {})


def call(name, arguments):
    return ToolCall("1", name, arguments, json.dumps(arguments))


@pytest.mark.parametrize(
    ("effects", "name", "arguments", "effect"),
    [
        (DIRECT, "run", {"code": "x = 1", "done": True}, Run("x = 1", True)),
        (DIRECT, "run", {"code": "x"}, Run("x", False)),
        (SHOP, "find", {"name": "x"}, FIND),
        (SHOP, "find", {"product": "x"}, FIND),
        (SHOP, "find", {"var": "x", "most": 3}, Perform("find", {"name": "x", "most": 3})),
        (SHOP, "done", {}, END),
    ],
)
def test_calls_become_effects(effects, name, arguments, effect):
    assert parse_tool_call(call(name, arguments), effects) == effect


@pytest.mark.parametrize(
    ("effects", "name", "arguments", "advice"),
    [
        (DIRECT, "run", {"done": True}, "`run` needs `code`; send run(code, done)"),
        (SHOP, "find", {"name": "x", "product": "y"}, "`find` takes no `product`"),
        (SHOP, "buy", {}, "the tools are note, find, done"),
    ],
)
def test_wrong_calls_are_refused_with_advice(effects, name, arguments, advice):
    refusal = parse_tool_call(call(name, arguments), effects)
    assert isinstance(refusal, Refusal)
    assert advice in refusal.message


@pytest.mark.parametrize("arguments", [{}, {"": ""}, {"status": "ok", "value": None}, None])
def test_arguments_of_an_effect_that_takes_none_are_ignored(arguments):
    call = ToolCall("1", "done", arguments, "" if arguments is None else json.dumps(arguments))
    assert parse_tool_call(call, SHOP) == END


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("```python\nx = 1\n```", (Run("x = 1\n", True),)),
        ("Sure!\n```py\nx = 1\n```\nThat is it.", (Run("x = 1\n", True),)),
        ("```\nx = 1\n```", (Run("x = 1\n", True),)),
        ("```python\n# look\nx\n```", (Run("# look\nx\n", False),)),
        ("```python\na\n```\n```python\nb\n```", (Run("a\n", False), Run("b\n", True))),
        ("```python\nx = 1\n```\nprints\n```\n1\n```", (Run("x = 1\n", True),)),
        ("~~~python\nx = '''\n```\n'''\n~~~", (Run("x = '''\n```\n'''\n", True),)),
        ("````python\nx = '''\n```\n'''\n````", (Run("x = '''\n```\n'''\n", True),)),
        ("````python\nx = 1\n```\ny = 2\n````", (Run("x = 1\n```\ny = 2\n", True),)),
        ("```python\r\nx = 1\r\n```\r\n", (Run("x = 1\r\n", True),)),
        ("```python\nx = 1", (Run("x = 1\n", True),)),
        ("x = 1\n```", (Run("x = 1\n", True),)),
        ("x = 1\ny = 2", (Run("x = 1\ny = 2\n", True),)),
        ('```json\n{"name": "run", "arguments": {"code": "x", "done": true}}\n```', (Run("x", True),)),
        ('{"name": "run", "arguments": {"code": "x", "done": true}}', (Run("x", True),)),
        ('```json\n{"name": "run", "arguments": {"code": "x", "done": true}}', (Run("x", True),)),
        ('```json\n{"topic": "x"}\n```', ()),
        ('```json\n{"name": "run", "argum\n```', ()),
        ("Done", ()),
        ("I cannot do that.", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_plain_text_is_read_for_code(text, effects):
    assert parse_text_effects(text, DIRECT) == effects


def test_code_in_text_is_for_the_effect_that_takes_code_alone():
    text = "```python\nx = 1\n```"
    assert parse_text_effects(text, SHOP) == (Perform("note", {"code": "x = 1\n"}),)
    (refusal,) = parse_text_effects(text, SHOP[1:])
    assert isinstance(refusal, Refusal)
    assert refusal.message == "this needs a call, not code; the tools are find, done"


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_code_in_three_quotes_is_taken_as_it_stands(quotes):
    lines = [r"import re", "", r'y = re.sub(r"\bno\b", "yes", x)']
    indented = "\n".join(f"      {line}" if line else "" for line in lines)
    code = f"{quotes}\n{indented}\n    {quotes}"
    text = f'```json\n{{"name": "note", "arguments": {{"code": {code}}}}}\n```'
    (effect,) = parse_text_effects(text, SHOP)
    assert isinstance(effect, Perform)
    assert effect.arguments["code"].rstrip() == "\n".join(lines)


LOOKUP = '{"name": "find", "arguments": {"var": "x"}}'
DONE = '{"name": "done", "arguments": {}}'


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{LOOKUP}\n{DONE}\n```",
        f"```json\n{LOOKUP},\n{DONE}\n```",
        f"```\n[{LOOKUP}, {DONE}]\n```",
        f"```json\n{LOOKUP}\n```\n```json\n{DONE}\n```",
        f"{LOOKUP}\n\n{DONE}",
        f"```json\n{LOOKUP}\n{DONE}",
    ],
)
def test_several_calls_are_carried_out_in_their_order(text):
    assert parse_text_effects(text, SHOP) == (FIND, END)


def test_calls_before_one_that_is_no_json_are_carried_out():
    lookup, refusal = parse_text_effects(f'```json\n{LOOKUP}\n{{"name": "do\n{DONE}\n```', SHOP)
    assert lookup == FIND
    assert isinstance(refusal, Refusal)
    assert "the call is not JSON" in refusal.message


@pytest.mark.parametrize(
    "text", [f"```json\n{LOOKUP}\nand then\n```", f'```json\n{LOOKUP}\n{{"x": 1}}\n```']
)
def test_calls_among_other_things_are_none(text):
    assert parse_text_effects(text, SHOP) == ()


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            '```json\n{"name": "note",\n "arguments": {code: "x"}}\n```',
            "not JSON: Expecting property name",
        ),
        (
            '```json\n{"name": "note",\n "arguments": {"code": "x" + "y"}}\n```',
            ", in line 2; write code as",
        ),
        (
            '```json\n{"name": "note", "arguments": {"code": "x", "done": True}}\n```',
            ", in line 1; write true for True",
        ),
    ],
)
def test_a_call_that_is_not_quite_json_is_refused_with_its_place(text, advice):
    (refusal,) = parse_text_effects(text, SHOP)
    assert isinstance(refusal, Refusal)
    assert advice in refusal.message


@pytest.mark.parametrize("effects", [DIRECT, SHOP])
def test_every_schema_is_strict(effects):
    """As both vendors ask of strict tools: every object closed, every property required."""

    def check(schema):
        if isinstance(schema, list):
            for part in schema:
                check(part)
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])
            for part in schema.values():
                check(part)

    tools = make_tools(effects)
    for tool in tools:
        assert tool.parameters["type"] == "object"
        check(dict(tool.parameters))


@pytest.mark.parametrize("first", ["", "```python\n", "~~~\n", "````\n"])
@pytest.mark.parametrize(
    "unit", ["`", "~", "```\n", "```python\n", "~~~x\n", "`````\n````\n", "``` ", " ", "\t\n", "```a ", "\"\"\"", "'''", "{", "["]
)  # fmt: skip
def test_fences_are_found_in_linear_time(first: str, unit: str) -> None:
    text = first + unit * (100_000 // len(unit)) + "!"
    start = time.process_time()
    parse_text_effects(text, DIRECT)
    assert time.process_time() - start < 2
