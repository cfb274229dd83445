"""Types for JSON schemas: they take what a schema allows, and no text of a server is code."""

from __future__ import annotations

import ast
import sys
import types
from random import Random
from typing import Any, get_type_hints

import pytest
from mcp.types import Tool
from schema_values import make_tools

from njc.mcp.tool_module import make_identifier, quote_docstring, write_module, write_type
from njrt.mcp import McpServer

SERVER = McpServer("box", command=("x",))


def make_tool(name: str, schema: Any, **said: Any) -> Tool:
    return Tool.model_validate({"name": name, "inputSchema": schema, **said})


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({"type": "string"}, "str"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "string", "items": {}, "properties": {"a": {}}}, "str"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, "int | float | None"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "Any"),
        ({"enum": ["a", "b", "a"]}, "Literal['a', 'b']"),
        ({"enum": [1.5, 2]}, "Any"),
        ({"enum": [1, True]}, "Any"),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "null"}, "type": "array"}, "list[Any]"),
        ({"type": "object", "patternProperties": {}, "additionalProperties": {"type": "null"}}, "dict[str, Any]"),
        ({"type": "object", "properties": {"a": {}}, "allOf": [], "additionalProperties": {"type": "null"}}, "dict[str, Any]"),
        ({"const": "x"}, "Any"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, Any]"),
        ({"type": "object", "properties": {"a": {}}}, "dict[str, Any]"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, "Any"),
        ({"$ref": "https://elsewhere.test/schema"}, "Any"),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "Any"),
        (True, "Any"),
        ({}, "Any"),
        ({"type": "unheard"}, "Any"),
    ],
)  # fmt: skip
def test_the_annotation_of_a_schema(schema: Any, annotation: str) -> None:
    assert write_type(schema) == annotation


A = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "a reference": ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": A}}, "a: Any=None"),
    "no list": ({**A, "required": True}, "a: str | None=None"),
    "no properties": ({"properties": [1], "required": 3}, ""),
}


@pytest.mark.parametrize(("schema", "head"), INPUTS.values(), ids=INPUTS)
def test_a_tool_has_the_parameters_of_its_schema(schema: dict[str, Any], head: str) -> None:
    text = write_text([make_tool("look", schema)])
    function = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    assert ast.unparse(function.args) == head


def write_text(tools: list[Tool], server: McpServer = SERVER) -> str:
    return write_module(server, tools, [], "# head")


def import_text(text: str) -> types.ModuleType:
    module = types.ModuleType("box_under_test")
    sys.modules[module.__name__] = module
    exec(compile(text, "box.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_server_says_the_module_imports_and_runs_no_code_of_it(seed: int) -> None:
    random = Random(seed)
    allowed = {"McpServer", "njrt.gated", "server.call"}
    for _ in range(60):
        tools, name = make_tools(random)
        server = McpServer(name, command=("serve", name))
        text = write_text([Tool.model_validate(tool) for tool in tools], server)
        tree = ast.parse(text)
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert calls <= allowed
        assert sum(isinstance(node, ast.FunctionDef) for node in tree.body) == len(tools)
        module = import_text(text)
        for function in (each for each in tree.body if isinstance(each, ast.FunctionDef)):
            get_type_hints(getattr(module, function.name))
        assert module.server.command == ("serve", name)
        assert make_identifier(name).isidentifier()
        quoted = ast.parse(f"def f():\n    {quote_docstring(name.replace(chr(0), ''))}\n")
        assert isinstance(quoted.body[0], ast.FunctionDef)


def test_the_module_does_not_depend_on_the_order_of_tools() -> None:
    names = ["a.b", "a-b", "a_b", "A", "list", "annotations", "class"]
    tools = [make_tool(name, {"properties": {"x": {"type": "string"}}}) for name in names]
    text = write_text(tools)
    assert text == write_text(tools[::-1])
    functions = [each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    assert len(set(functions)) == len(names)
