"""What guarded code can reach by attributes alone: a walk over everything, with the reads that the guard allows.

It starts at the importable modules, the builtins, objects of the library and one of the program, and follows every
attribute, `vars`, types and the contents of containers. It must meet no module, frame, code, stream or event loop, and no
function or class of a module that has effects. It does not call anything.
"""

from __future__ import annotations

import asyncio
import builtins
import io
import types
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from njrt.execution.guard.allowed import (
    IMPORTABLE_MODULES,
    MODULES_WITH_EFFECTS,
    REFUSED_ATTRIBUTES,
    REFUSED_BUILTINS,
    SUBMODULES,
)
from njrt.execution.guard.module_proxies import open_module
from njrt.execution.guard.runtime import CHECKED_BUILTINS, ComputingModule

PLAIN = (str, bytes, int, float, complex, types.NoneType)
LEAVES = (types.MethodWrapperType, types.BuiltinFunctionType, types.MethodDescriptorType)
DANGEROUS = (types.CodeType, types.FrameType, types.TracebackType, io.IOBase)
EFFECTS = (MODULES_WITH_EFFECTS | {"codecs", "inspect", "threading"}) - IMPORTABLE_MODULES


class Order:
    """An object of the program."""

    def __init__(self) -> None:
        self.name = "tea"

    def total(self) -> int:
        return 1


def list_starts() -> Iterator[tuple[str, Any]]:
    for path in sorted(IMPORTABLE_MODULES | SUBMODULES):
        yield path, open_module(path)
    for name, value in vars(builtins).items():
        if name not in REFUSED_BUILTINS:
            yield name, CHECKED_BUILTINS.get(name, value)
    for name, text in {
        "pprint": "PrettyPrinter()", "json": "JSONEncoder()", "contextlib": "ExitStack()", "random": "Random()",
        "functools": "partial(len)", "re": "compile('x')", "decimal": "getcontext()", "calendar": "TextCalendar()",
        "csv": "reader([])", "uuid": "uuid4()", "typing": "List['int']", "collections": "UserDict()",
        "html.parser": "HTMLParser()", "difflib": "Differ()", "textwrap": "TextWrapper()", "string": "Template('')",
        "graphlib": "TopologicalSorter()", "datetime": "datetime.now()", "secrets": "SystemRandom()",
        "enum": "Enum('E', 'a')", "dataclasses": "field()", "asyncio": "TaskGroup()", "types": "SimpleNamespace()",
    }.items():  # fmt: skip
        yield f"{name}.{text}", eval(text, dict(vars(open_module(name))))
    yield from {"order": Order(), "total": Order.total, "generator": (x for x in ())}.items()
    yield from {"queue": asyncio.Queue(), "future": asyncio.Future(), "task": asyncio.current_task()}.items()  # fmt: skip
    yield from {"manager": asyncio.timeout(1), "error": ValueError(Order()), "super": super(Order, Order())}.items()  # fmt: skip


def list_neighbours(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(value):
        if name in REFUSED_ATTRIBUTES or name in ("__setattr__", "__delattr__"):
            continue
        try:
            yield f"{path}.{name}", CHECKED_BUILTINS["getattr"](value, name)
        except Exception:
            continue
    with suppress(TypeError):
        yield f"vars({path})", dict(CHECKED_BUILTINS["vars"](value))
    if isinstance(value, dict):
        yield from ((f"{path}[{key!r:.20}]", item) for key, item in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"{path}[...]", item) for item in value)
    yield f"type({path})", type(value)


def is_dangerous(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return not isinstance(value, ComputingModule)
    is_named = isinstance(value, type | types.FunctionType | types.BuiltinFunctionType)
    module = (value if is_named else type(value)).__module__
    home = module.partition(".")[0] if isinstance(module, str) else ""
    is_loop = isinstance(value, asyncio.AbstractEventLoop)
    return is_loop or isinstance(value, DANGEROUS) or home in EFFECTS


def test_nothing_dangerous_is_reachable() -> None:
    asyncio.run(walk())  # the loop makes tasks, queues and futures possible


async def walk() -> None:
    waiting = deque(list_starts())
    kept: dict[int, Any] = {}  # the objects, too, so that no other gets the same number
    found: list[str] = []
    while waiting:
        path, value = waiting.popleft()
        if isinstance(value, PLAIN) or id(value) in kept or path.count(".") + path.count("(") > 8:
            continue
        kept[id(value)] = value
        if is_dangerous(value):
            found.append(path)
        elif not isinstance(value, LEAVES):
            waiting.extend(list_neighbours(path, value))
    assert len(kept) > 5000
    assert found == []
