'''Functions whose body is a prompt, as each library has them: the form in which all six can be compared.

    @function                                       njpy         def count(orders: ...) -> int:
    def count(orders: list[Order]) -> int:                           """natural
        """how many of <orders> complain"""                          Return how many of <orders> complain.
                                                                     """
                                                    mellea       @generative
                                                                 def count(orders: ...) -> int:
                                                                     """Return how many of the orders complain."""

A turn that returns data is told to Strands AI Functions, mellea and byLLM as the JSON that they ask for. They have no form for
a change of an object, for an object that the program has, and for an exception of the prompt.
'''

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from peer_environments import Library
from peer_server import Body, NotOffered, Reply, calls, says, split_turn

HEAD = """
from dataclasses import dataclass
from typing import Literal

@dataclass
class Order:
    number: int
    customer: str
    note: str

@dataclass
class Ticket:
    title: str
    urgent: bool

def make(size):
    notes = ["the parcel has not arrived", "all is well"]
    return [Order(number, f"customer {number}", notes[number % 3 == 0]) for number in range(size)]

"""
"""The classes of all programs."""

COST_PROGRAM = '''
@function
def count(orders: list[Order]) -> int:
    """how many of <orders> have a note that complains"""

def check():
    return count(make(1))
'''

_FUNCTION = re.compile(r'@function\n(?P<head>def (?P<name>\w+)\(.*\n)    """(?P<text>.*)"""\n')


def write_functions(program: str, library: Library) -> str:
    """Return a program with its functions in the form of a library."""

    def write(found: re.Match[str]) -> str:
        text = found["text"].strip()
        if library.form == "block":
            decorator = f"{library.decorator}\n" if library.decorator else ""
            return f'{decorator}{found["head"]}    """natural\n    Return {text}.\n    """\n'
        field = r"{\1}" if library.name == "strands" else r"the \1"
        shown = re.sub(r"<(\w+)>", field, text)
        call = f"{found['name']} = {library.call.format(found['name'])}\n" if library.call else ""
        return f'{library.decorator}\n{found["head"]}    """Return {shown}."""\n\n{call}'

    return library.prelude + HEAD + _FUNCTION.sub(write, program)


def translate_for_functions(turn: str) -> list[Reply]:
    """One reply with the value that a turn returns, in the one field of the form that the request has."""
    statements, ending = split_turn(turn)
    if statements or not isinstance(ending, ast.Return) or ending.value is None:
        raise NotOffered("a function gives a value, and nothing else")
    value = read_data(ending.value)

    def reply(body: Body) -> Any:
        if "json_schema" in (form := body.get("response_format") or {}):
            return says(json.dumps(fill(form["json_schema"]["schema"], value)))
        if not body.get("tools"):
            return says(str(value))
        tool = body["tools"][-1]["function"]
        return calls((tool["name"], json.dumps(fill(tool["parameters"], value))))

    return [reply]


def read_data(node: ast.expr) -> Any:
    """Return the value of a literal, or the fields of an object that is made."""
    match node:
        case ast.Call(ast.Name(), [], keywords):
            return {str(each.arg): ast.literal_eval(each.value) for each in keywords}
        case ast.Constant() | ast.List():
            return ast.literal_eval(node)
    raise NotOffered("the value is JSON, not an object that the program has")


def fill(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a value under the one property of a schema, or as it is if the schema has its fields."""
    properties = schema.get("properties", {})
    if isinstance(value, dict) and properties.keys() == value.keys():
        return value
    (name,) = properties
    return {name: value}
