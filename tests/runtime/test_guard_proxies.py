"""Proxies, contexts and data of Python's library: what the code of a model cannot reach or change by them."""

# ruff: noqa: F821

from __future__ import annotations

import asyncio
import enum
import html.entities
import json
import re
import weakref
from typing import Any

import pytest

import njrt
from njrt.execution.guard.runtime import check_read, check_store, find_target
from njrt.models.scripted import run
from njrt.session.limits import limit, list_open_meters

HOLDERS = """
import types, typing, json, enum, collections, functools
holders = [
    types.GenericAlias(json.JSONEncoder, int),
    types.GenericAlias(enum.Enum, int),
    typing.Annotated[json.JSONEncoder, 1],
    typing.Annotated[enum.Enum, 1],
    typing.Counter,
    typing.Counter[int],
    typing.DefaultDict,
    types.MethodType(json.dumps, 1),
    typing.Annotated[types.GenericAlias(json.JSONEncoder, int), 1],
    functools.partial(json.JSONEncoder),
    functools.partial(functools.partial, json.JSONEncoder),
    functools.partial(json.dumps),
    type("Partial", (functools.partial,), {})(json.JSONEncoder),
    type("Alias", (types.GenericAlias,), {})(json.JSONEncoder, int),
    type("Alias", (types.GenericAlias,), {})(enum.Enum, int),
    super(enum.Flag, enum.Flag),
    type("Super", (super,), {})(enum.Flag, enum.Flag),
    functools.partial(enum.Enum),
]
"""


def refused(code: str) -> None:
    model = njrt.Scripted([run(HOLDERS + code, done=True), run("done = 1", done=True)])
    with njrt.using(model=model, effects="direct"):
        njrt.run("natural: Set <:done>.", lambda: (done,), writes="done")
    assert len(model.requests) == 2
    assert "AttributeError" in str(model.requests[1].messages[-1]), model.requests[1].messages[-1]


@pytest.mark.parametrize("number", [0, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13])
@pytest.mark.parametrize("store", ["setattr(holders[{}], 'changed', 1)", "holders[{}].changed = 1"])
def test_stores_through_a_proxy_are_stores_to_what_it_stands_for(number: int, store: str) -> None:
    refused(store.format(number))
    assert not hasattr(json.JSONEncoder, "changed")


@pytest.mark.parametrize("holder", [1, 3, 14, 15, 16, 17])
@pytest.mark.parametrize("name", ["_member_map_", "_convert_", "_use_args_", "_find_data_type_"])
def test_reads_through_a_proxy_are_reads_of_what_it_stands_for(holder: int, name: str) -> None:
    refused(f"holders[{holder}].{name}")
    refused(f"getattr(holders[{holder}], {name!r})")


def test_weak_proxies() -> None:
    class Own:
        pass

    own = Own()
    encoder = json.JSONEncoder()
    for value in (own, encoder, json.JSONEncoder, Own):
        assert find_target(weakref.proxy(value)) is value
    with pytest.raises(AttributeError, match="belongs to Python's library"):
        check_store(weakref.proxy(json.JSONEncoder))
    check_store(weakref.proxy(own))
    queue: asyncio.Queue[int] = asyncio.Queue()
    with pytest.raises(AttributeError, match="internal"):
        check_read(weakref.proxy(queue), "_queue")


def test_data_of_the_library_is_copied() -> None:
    code = "import html.entities\nhtml.entities.html5['x'] = 'y'\ndone = 1"
    before = dict(html.entities.html5)
    with njrt.using(model=njrt.Scripted([run(code, done=True)]), effects="direct"):
        njrt.run("natural: Set <:done>.", lambda: (done,), writes="done")
    assert html.entities.html5 == before


def test_a_comparison_gives_no_mapping_of_the_library() -> None:
    code = """
import json, re
class Taker:
    def __eq__(self, other):
        other["taken"] = 1
        return True
    def __ror__(self, other):
        return self == other
for mapping in [re.RegexFlag.__members__, getattr(re.RegexFlag, "__members__"), vars(json.JSONEncoder)]:
    assert len(mapping) > 3
    mapping == Taker(), mapping | Taker()
done = 1
"""
    model = njrt.Scripted([run(code, done=True)])
    with njrt.using(model=model, effects="direct"):
        njrt.run("natural: Set <:done>.", lambda: (done,), writes="done")
    assert "taken" not in re.RegexFlag.__members__
    assert not hasattr(json.JSONEncoder, "taken")


def test_members_of_an_enum_are_read() -> None:
    class Color(enum.Enum):
        RED = 1

    names: list[str] = []
    model = njrt.Scripted([run("names.extend(Color.__members__)", done=True)])
    with njrt.using(model=model, effects="direct"):
        njrt.run("natural: Add the names of <Color> to <names>.", lambda: (Color, names))
    assert names == ["RED"]


LOOP = """
import asyncio
class Loop:
    def call_soon(self, callback, *arguments, context=None):
        contexts.append(context)
    def get_debug(self):
        return False
    def is_running(self):
        return True
future = asyncio.Future(loop=Loop())
future.add_done_callback(print)
future.set_result(1)
"""
THEFTS = [
    "for context in contexts:\n    for variable in context:\n        taken.append(context[variable]._items)",
    "for context in contexts:\n    for variable in context:\n        taken.append(getattr(context[variable], '_' + 'items'))",
    "for context in contexts:\n    for variable in context:\n        value = context[variable]\n        variable.set(type(value)((), 'inherited'))",
]


@pytest.mark.parametrize("theft", THEFTS)
def test_a_context_gives_neither_the_settings_nor_a_way_out_of_them(theft: str) -> None:
    contexts: list[Any] = []
    taken: list[Any] = []

    async def main() -> None:
        with limit(calls=5):
            await njrt.arun("natural: Fill <contexts> and <taken>.", lambda: (contexts, taken))
            assert len(list_open_meters()) == 1
            assert all(not isinstance(item, tuple) for item in taken)

    replies = [run(LOOP + theft, done=True), run("1", done=True)]
    with njrt.using(model=njrt.Scripted(replies), effects="direct"):
        asyncio.run(main())
    assert contexts
