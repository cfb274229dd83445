"""Every field that a client may send, filled, with every value of every enumeration, is understood."""

from __future__ import annotations

import asyncio
import enum
import json
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal, Union

import attrs
import pytest
from lsprotocol import types as lsp
from strict_language_client import StrictClient

from njc.editors.language_server.serving.features import make_server
from njc.editors.language_server.serving.protocol import make_converter

FROM_CLIENTS = [
    method
    for method, direction in lsp._MESSAGE_DIRECTION.items()
    if direction != "serverToClient" and not method.startswith("$/")
]
ENUMERATIONS = [
    kind
    for kind in vars(lsp).values()
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and len(kind)
]
MAX_DEPTH = 9


def make_values(kind: Any, depth: int = 0) -> list[Any]:
    """JSON values of a type of the protocol: one for most types, all of an enumeration's."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is type(None) or kind is None:
        return [None]
    if origin in (Union, types.UnionType):
        found = [value for other in arguments for value in make_values(other, depth)]
        return [value for value in found if value is not None] or [None]
    if origin is Literal:
        return list(arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return [[make_values(item, depth)[0] for item in arguments]]
    if origin is not None and issubclass(origin, Sequence):
        return [make_values(arguments[0], depth)]
    if origin is not None:
        return [{"key": make_values(arguments[1], depth)[0]}]
    if attrs.has(kind):
        return make_objects(kind, depth)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [member.value for member in kind]
    plain: dict[Any, list[Any]] = {bool: [True], int: [1], float: [0.5], str: ["text"]}
    return plain.get(kind, [{"any": [1]}])


def make_objects(kind: Any, depth: int) -> list[Any]:
    """Objects with all fields of a class; as many as it takes for the values of its enumerations."""
    if depth > MAX_DEPTH:
        return []
    fields = {}
    for field in attrs.fields(attrs.resolve_types(kind)):
        values = [] if field.name == "parent" else make_values(field.type, depth + 1)
        if isinstance(field.default, str):  # the name of one alternative of a union
            values = [field.default]
        if values and values != [None]:
            first, *rest = field.name.split("_")
            fields[first + "".join(map(str.capitalize, rest))] = values
    count = max(
        [1, *(len(values) for values in fields.values() if not isinstance(values[0], dict))]
    )
    return [
        {name: values[number % len(values)] for name, values in fields.items()}
        for number in range(count)
    ]


@pytest.mark.parametrize("kind", ENUMERATIONS, ids=lambda kind: kind.__name__)
def test_every_value_of_an_enumeration_is_read(kind: type[enum.Enum]) -> None:
    converter = make_converter()
    assert [converter.structure(member.value, kind) for member in kind] == list(kind)


@pytest.mark.parametrize("method", FROM_CLIENTS)
def test_every_message_of_a_client_is_read(method: str) -> None:
    params = lsp.METHOD_TO_TYPES[method][2]
    protocol = make_server().protocol
    for value in make_values(params) if params is not None else [{}]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": value}
        json.dumps(message)
        protocol._structure(message)


def test_a_client_that_can_everything_is_served() -> None:
    async def play() -> None:
        client = StrictClient("utf-16")
        await client.start(capabilities)
        uri, text = "file:///x/a.njpy", "x = 1\n'''natural\n<x>\n'''\n"
        client.open(uri, text)
        for kind in (1, 2, 3):
            change = {"uri": "file:///x/pyproject.toml", "type": kind}
            client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
            context = {"triggerKind": kind, "triggerCharacter": "<"}
            asked = await client.ask_at("completion", uri, text.index("x>"), context=context)
            assert asked["result"]
        assert client.refusals == []

    (capabilities,) = make_values(lsp.ClientCapabilities)[:1]
    assert len(json.dumps(capabilities)) > 5_000
    asyncio.run(play())


def test_nothing_is_kept_of_messages_that_were_handled() -> None:
    async def play() -> None:
        client = StrictClient("utf-16")
        await client.start()
        uri = "untitled:a.njpy"
        client.open(uri, "x = 1\n")
        for _ in range(30):
            client.change(uri, 0, 0, "y")
            await client.ask_at("hover", uri, 0)
        await asyncio.sleep(0)
        assert client.server.protocol._request_futures == {}
        assert client.server.protocol._result_types == {}

    asyncio.run(play())
