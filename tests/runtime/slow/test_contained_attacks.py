"""Attacks that were written for the boundary of contained code: by objects that call, by raw messages, by jumps.

The child is a real one, and hostile: its code runs without the checks of the guard, finds the connection in its own
frames, and sends what it likes. All checks must be the program's.
"""

from __future__ import annotations

import configparser
import dataclasses
import functools
import importlib
import inspect
import io
import itertools
import logging
import pathlib
import string
import subprocess
import sys
import tarfile
import types
import weakref
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from enum import Enum
from typing import Any, Generic, TypeVar
from xml.etree import ElementTree

import jinja2
import numpy
import pandas
import pydantic
import pytest

import njrt
from njrt.execution.contained.authority import limit_function
from njrt.execution.contained.door import Door, Refused
from njrt.execution.contained.known import CHILD_MODULES, find_known_name, is_plain_class
from njrt.execution.contained.platforms import find_obstacle
from njrt.execution.contained.process import start_server
from njrt.execution.execute import Snippet, execute, prepare
from njrt.execution.results import Execution, Failed, Jumped, Ran
from njrt.models.scripted import run
from njrt.outcome import Raised
from njrt.scope.scope import make_scope

pytestmark = pytest.mark.skipif(
    find_obstacle() is not None, reason="this system cannot contain code"
)

EFFECTS = ("os.system", "subprocess.Popen", "os.fork", "socket.connect")
watched: list[str] | None = None


def notice(event: str, arguments: tuple[object, ...]) -> None:
    if watched is None:
        return
    is_file = event == "open" and not str(arguments[0]).endswith((".py", ".pyc", "/stat"))
    is_code = event == "exec" and "system" in getattr(arguments[0], "co_names", ())
    if is_file or is_code or event in EFFECTS:
        watched.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(notice)


@contextmanager
def watch_effects() -> Iterator[list[str]]:
    """Note the files, processes and sockets that the program opens meanwhile, in all threads."""
    global watched
    found: list[str] = []
    watched = found
    try:
        yield found
    finally:
        watched = None


made: list[int] = []


class Order:
    """A class of the program that the block does not name."""

    def __init__(self, number: int = 0) -> None:
        made.append(number)


def retry(function: Any, *args: Any, **named: Any) -> Any:
    return function(*args, **named)


def run_hostile(
    code: str, labels: tuple[str, ...] = (), seconds: float = 20, **more: Any
) -> Execution:
    """Run code in a child on a new scene, without the checks of its text; nothing may have an effect."""
    xs: list[Any] = [1]
    order, call, out = Order(), retry, None
    series, frame = pandas.Series(["__builtins__"]), pandas.DataFrame({"a": [1]})
    with ThreadPoolExecutor(1) as pool:
        variables = lambda: (xs, order, call, series, frame, pool, out)  # noqa: E731
        scope = make_scope(variables, writes="out", at="case.njpy:1")
        snippet = prepare(FIND_CHILD + code, scope, labels=labels, policy="open")
        assert isinstance(snippet, Snippet), snippet
        pool.submit(int).result()
        start_server()
        assert frame.style  # imports
        made.clear()
        with watch_effects() as effects:
            done = execute(dataclasses.replace(snippet, is_contained=True, **more), seconds=seconds)
    assert effects == []
    assert made == []
    return done


FIND_CHILD = """
import sys
frame_ = sys._getframe()
while 'self' not in frame_.f_locals or type(frame_.f_locals['self']).__name__ != 'Child':
    frame_ = frame_.f_back
child = frame_.f_locals['self']
request, connection, encode = child.request, child.connection, child.proxies.encode_operand
del frame_
"""

# ── classes of both sides, called by the program ─────────────────────────────────────────────────

CALLERS = {
    "function": "get = call({}, '__builtins__')",
    "pool": "get = pool.submit({}, '__builtins__').result()",
    "series": "get = series.map({}).iloc[0]",
    "planted": "xs.append({})\nxs.pop()\nget = request('call', {}, ['__builtins__'], {{}})",
    "mirror": "mine = [{}]\nxs.append(mine)\nget = call(lambda: xs[-1][0])('__builtins__')",
    "output": "out = {}\nget = request('call', out, ['__builtins__'], {{}})",
    "raw": "connection.send(['touch', [], [], [], 'call', [encode(call), [['k', {}.__module__, {}.__name__], '__builtins__'], {{}}]])\nget = connection.receive()",
    "raw name": "connection.send(['touch', [], [['out', ['k', {}.__module__, {}.__name__]]], [], 'variables', []])\nget = connection.receive()",
}
REFLECTING = ["operator.attrgetter", "operator.methodcaller", "functools.partial", "types.FunctionType", "types.MethodType", "property", "type", "super", "staticmethod", "memoryview"]  # fmt: skip


@pytest.mark.parametrize("caller", CALLERS)
def test_no_class_that_reflects_is_called_by_the_program(caller: str) -> None:
    for kind in REFLECTING:
        code = "import operator, functools, types\n" + CALLERS[caller].format(*[kind] * 4)
        use = "\nget(call)['exec']('import os; os.system(\"true\")')\nout = 1"
        assert isinstance(run_hostile(code + use), Failed), kind


def list_known_classes() -> dict[tuple[str, str], type]:
    found: dict[tuple[str, str], type] = {}
    for module in sorted(CHILD_MODULES | {"builtins"}):
        try:
            members = vars(importlib.import_module(module)).values()
        except ImportError:
            continue
        for member in members:
            if isinstance(member, type) and (name := find_known_name(member)):
                found[name] = member
    return found


def test_classes_that_the_code_hands_over_read_no_attributes_by_name() -> None:
    """Whatever a future Python adds is refused; what is allowed makes data, called with any text."""
    known = list_known_classes()
    plain = [cls for cls in known.values() if is_plain_class(cls)]
    assert len(plain) < len(known) * 3 / 4
    assert not [cls for cls in plain if issubclass(cls, SystemExit | KeyboardInterrupt)]
    for cls in plain:
        for args in (("__builtins__",), (retry,), (retry, "__builtins__"), ([("a", 1)],)):
            try:
                result = cls(*args)
            except Exception:
                continue
            assert isinstance(result, cls)
            assert not callable(result), cls
    door = Door(frozenset(), lambda *_: None)
    for name, cls in known.items():
        if not is_plain_class(cls):
            with pytest.raises(Refused):
                door.decode(["k", *name])


FOUND = [
    "type(order)(7)",
    "call(type(order), 7)",
    "request('get', order, '__class__')(7)",
    "call(request('get', order, '__class__'), 7)",
    "xs.append(type(order))\nxs[-1](7)",
    "xs.append([type(order)])\ncall(lambda: xs[-1][0])(7)",
    "out = type(order)\nout(7)",
    "out = [type(order)]\ncall(out[0], 7)",
    "mine = {}\nxs.append(mine)\nmine['a'] = type(order)\ncall(list, mine.values())[0](7)",
    "series.map(lambda _: type(order)).iloc[0](7)",
    "pool.submit(type(order), 7).result()",
    "{1: 2}.get(3, type(order))\ncall(dict, a=type(order))['a'](7)",
    "request('call', request('get', call(dict), 'get'), ['a', type(order)], {})(7)",
    "del type(frame).agg",
    "type(frame).agg = call",
    "request('set', type(frame), 'sum', call)",
    "connection.send(['touch', [], [], [], 'call', [['r', type(order)._njrt_class], [], {}]])\nassert connection.receive()[0] == 'result'",
    "connection.send(['touch', [], [], [], 'call', [encode(call), [['r', type(order)._njrt_class], 7], {}]])\nassert connection.receive()[0] == 'result'",
    "connection.send(['touch', [], [['out', ['r', type(order)._njrt_class]]], [], 'variables', []])\nconnection.receive()\ncall(out, 7)",
]  # fmt: skip


@pytest.mark.parametrize("code", FOUND)
def test_a_class_that_is_only_found_makes_no_instance(code: str) -> None:
    assert isinstance(run_hostile(code + "\nout = 1"), Failed)


def test_a_class_that_is_only_found_can_be_looked_up() -> None:
    handlers, order, out = {Order: "order", int: "number"}, Order(), None
    scope = make_scope(lambda: (handlers, order, out), writes="out", at="case.njpy:1")
    code = "out = handlers[type(order)], handlers.get(type(order)), type(order) in handlers, handlers[int]"
    snippet = prepare(code, scope, policy="contained")
    assert isinstance(snippet, Snippet)
    assert isinstance(execute(snippet), Ran)
    assert out == ("order", "order", True, "number")


# ── members of libraries that do more than their object ───────────────────────────────────────────

WRITING = [
    "frame.agg('eval', expr='@f.__func__.__builtins__')",
    "frame.query('@f.__func__.__builtins__')",
    "frame['a'].apply('__getattribute__', args=('_mgr',))",
    "frame.agg(['sum', 'eval'], expr='a')",
    "frame.agg({'a': ['sum', 'to_pickle']}, path='/tmp/x')",
    "frame.agg({'a': {'b': 'to_pickle'}}, path='/tmp/x')",
    "frame.agg(x=('a', 'eval'))",
    "frame['a'].agg(x=('eval', 'sum'))",
    "frame['a'].agg(x='to_clipboard')",
    "frame.transform('agg', func='eval', expr='a')",
    "frame.apply('pipe', func=call)",
    "frame.agg(call(list, ['eval']), expr='a')",
    "frame.agg(series, 0)",
    "frame.groupby('a').agg('eval')",
    "frame.groupby('a').apply('to_csv', '/tmp/x')",
    "frame.groupby('a').transform('__getattribute__', '_mgr')",
    "frame.rolling(1).agg('to_csv')",
    "frame.pivot_table(index='a', aggfunc='eval')",
    "frame.pivot_table(None, 'a', None, 'eval')",
    "frame.pivot_table(index='a', aggfunc={'a': ['eval']})",
    "frame.pipe(type(frame).agg, 'eval', expr='a')",
    "call(frame.agg, 'eval', expr='a')",
    "pool.submit(frame.agg, func='eval', expr='a').result()",
    "type(frame).agg(frame, 'eval', expr='a')",
    "type(frame).agg(func='eval', expr='a', self=frame)",
    "type(frame).to_csv(frame, '/tmp/x')",
    "type(frame).to_csv(self=frame, path_or_buf='/tmp/x')",
    "frame.pipe(type(frame).to_csv, '/tmp/x')",
    "frame.groupby('a').apply(type(frame).to_csv, '/tmp/x')",
    "call(frame.to_csv, '/tmp/x')",
    "pool.submit(frame.to_json, path_or_buf='/tmp/x').result()",
    "series.map(frame.to_csv)",
    "frame.to_xml(stylesheet='/etc/passwd')",
    "frame.style.to_typst('/tmp/x')",
    "frame.style.env.from_string('{{ 7 }}').render()",
    "frame.style.template_html.environment",
    "type(frame.style).from_custom_template('/etc', 'hostname')",
    "frame.style.format('{0.__class__.__init__.__globals__}').to_html()",
    "frame.style.format({'a': '{0.__class__}'})",
    "frame.style.format_index('{0.__class__}')",
    "type(frame.style).format(frame.style, '{0.__class__}')",
    "frame.plot(backend='antigravity')",
    "frame.hist(backend='antigravity')",
    "series.to_numpy().tofile('/tmp/x')",
    "type(series.to_numpy()).dump(series.to_numpy(), '/tmp/x')",
    "series.to_numpy().resize(1000000, refcheck=False)",
]


@pytest.mark.parametrize("code", WRITING)
def test_objects_of_pandas_write_no_file_and_run_no_text(code: str) -> None:
    done = run_hostile(f"{code}\nout = 1")
    assert isinstance(done, Failed)
    assert "PermissionError" in done.message or "is refused here" in done.message, done


def test_a_logger_gives_no_way_to_files(tmp_path: Any) -> None:
    logger = logging.getLogger("attacked")
    handler = logging.FileHandler(tmp_path / "app.log")
    logger.addHandler(handler)
    door = Door(frozenset(), lambda *_: None)
    try:
        for value in (logger, logger.parent, logger.getChild("x"), Delegate(logger)):
            number = door._refer(value)
            for name in ("handlers", "addHandler", "manager"):
                with pytest.raises(Refused, match="logging"):
                    door.perform("get", [["r", number], name])
            assert door.perform("get", [["r", number], "error"])
    finally:
        logger.removeHandler(handler)
        handler.close()


FILES_AND_CODE: dict[str, tuple[Any, str]] = {
    "value.environment.from_string('{{ 7 * 7 }}').render()": (jinja2.Template("{{ x }}"), "value.render(x=1)"),
    "value.from_string('{{ 7 * 7 }}').render()": (jinja2.Environment(), "value.autoescape"),
    "value.overlay().compile_expression('7 * 7')()": (jinja2.Environment(), "value.is_async"),
    "value.read('/etc/hostname')": (configparser.ConfigParser(), "value.sections()"),
    "value.parse('/etc/hostname')": (ElementTree.ElementTree(ElementTree.Element("a")), "value.getroot().tag"),
    "value.write('/tmp/x')": (ElementTree.ElementTree(ElementTree.Element("a")), "value.find('b')"),
    "value.write('/etc/hostname')": (zipfile.ZipFile(io.BytesIO(), "w"), "value.namelist()"),
    "value.extractall('/tmp')": (zipfile.ZipFile(io.BytesIO(), "w"), "value.infolist()"),
    "value.add('/etc/hostname')": (tarfile.TarFile(fileobj=io.BytesIO(), mode="w"), "value.getnames()"),
}  # fmt: skip


@pytest.mark.parametrize("code", FILES_AND_CODE)
def test_objects_read_no_other_files_and_run_no_text(code: str) -> None:
    given, useful = FILES_AND_CODE[code]
    for value in (given, Delegate(given)):
        for line, expected in ((code, Failed), (useful, Ran)):
            scope = make_scope(lambda: (value,), at="case.njpy:1")  # noqa: B023
            snippet = prepare(line, scope, policy="contained")
            assert isinstance(snippet, Snippet)
            done = execute(snippet)
            assert isinstance(done, expected), done
            assert isinstance(done, Ran) or "is refused here" in done.message


USEFUL = [
    "frame.agg('sum')",
    "frame.agg(['min', 'max'])",
    "frame.agg({'a': ['sum', 'mean']})",
    "frame.agg(total=('a', 'sum'), most=('a', 'max'))",
    "frame.groupby('a').agg(total=('a', 'sum'), eval=('a', 'count'))",
    "frame['a'].agg(x='sum', y=call)",
    "frame.groupby('a')['a'].transform('sum')",
    "frame.apply(lambda row: row['a'] + 1, axis=1)",
    "frame['a'].apply(float)",
    "frame.pivot_table(index='a', values='a', aggfunc='sum')",
    "frame.to_csv()",
    "frame.to_csv(index=False)",
    "frame.to_json(orient='records')",
    "frame.style.format('{:.2f}').to_html()",
    "frame['a'].map({1: 'one'})",
    "frame.rename(columns={'a': 'eval'}).sort_values('eval')",
]


@pytest.mark.parametrize("code", USEFUL)
def test_objects_of_pandas_compute(code: str) -> None:
    code = code.replace("y=call", "y='max'")
    assert isinstance(run_hostile(f"str({code})"), Ran)


PATHS = {"buf", "path", "path_or_buf", "path_or_buffer", "excel_writer", "fname", "con", "backend", "table_identifier"}  # fmt: skip


def list_writers() -> Iterator[tuple[Any, str, str]]:
    """Yield the methods of pandas that take a path, a connection or a module, with the parameter."""
    frame = pandas.DataFrame({"a": [1]})
    for value in (frame, frame["a"], frame.index, frame.style, frame.groupby("a"), frame.rolling(1)):  # fmt: skip
        for name in dir(value):
            member = getattr(value, name, None) if name[0] != "_" else None
            if inspect.ismethod(member):
                for parameter in PATHS & set(inspect.signature(member).parameters):
                    yield value, name, parameter


def test_no_method_of_pandas_takes_a_path(tmp_path: Any) -> None:
    """Also of a future version: each method with such a parameter is refused, or refuses it."""
    found = [*list_writers()]
    assert len(found) > 30
    for value, name, parameter in found:
        door = Door(frozenset(), lambda *_: None)
        number = door._refer(value)
        for target in (value, type(value)):
            try:
                reference = door.encode(door.perform("get", [["r", door._refer(target)], name]))  # fmt: skip
            except Refused:
                continue
            assert isinstance(reference, list)
            args = [] if target is value else [["r", number]]
            with pytest.raises((PermissionError, AttributeError)):
                door.perform("call", [reference[:2], args, {parameter: str(tmp_path / "x")}])
    assert [*tmp_path.iterdir()] == []


def test_no_member_is_called_by_its_name_that_pandas_has_for_more_than_data() -> None:
    frame = pandas.DataFrame({"a": [1]})
    names = {name for value in (frame, frame["a"], frame.groupby("a")) for name in dir(value)}
    refused = {name for name in names if name[0] == "_" or name.startswith(("to_", "agg"))}
    for name in refused | {"eval", "query", "apply", "transform", "pipe", "map", "plot", "style"}:
        with pytest.raises(PermissionError):
            limit_function(frame.agg, frozenset())(name)


@pytest.mark.parametrize(
    ("library", "name", "refused", "allowed"),
    [
        ("polars.dataframe", "write_csv", ["x.csv"], []),
        ("polars.lazyframe", "sink_parquet", ["x"], []),
        ("PIL.Image", "save", ["x.png"], [io.BytesIO()]),
    ],
)
def test_writers_of_other_libraries(
    library: str, name: str, refused: list[Any], allowed: list[Any]
) -> None:
    def write(self: Any, target: Any = None) -> str:
        return "written"

    write.__module__, write.__name__ = library, name
    kind = type("Thing", (), {name: write})
    limited = limit_function(getattr(kind(), name), frozenset())
    assert limited(*allowed) == "written"
    with pytest.raises(PermissionError):
        limited(*refused)
    assert limit_function(getattr(kind(), name), {library.partition(".")[0]})(*refused) == "written"


MODULE = """
import os, sys, collections, logging, subprocess
from os import environ, environb, path, system, getenv
from sys import stdout, stderr, modules, argv, path as search_path, meta_path
from pandas import options
from subprocess import PIPE
from re import IGNORECASE
from decimal import Decimal
from datetime import date
from enum import Enum
from attacked_settings import API_KEY, LIMITS, ACCOUNTS as accounts
from attacked_settings import *

class Kind(Enum):
    TEA = 1

prices = {"tea": 3}
orders = []
limit = Decimal("2.5")
start = date(2026, 1, 1)
counts = collections.Counter("aab")
log = logging.getLogger("shop")
first = Kind.TEA
names = ("tea",)
nothing = None
renamed = os.environ

def price(name):
    return prices[name]
"""
SETTINGS = """
API_KEY, LIMITS, ACCOUNTS, HOSTS = "key of a server", (1, 2), {"ada": 1}, ["a"]
prices = {}
"""
IMPORTED = ["os", "sys", "environ", "environb", "path", "system", "getenv", "stdout", "stderr", "modules", "argv", "search_path", "meta_path", "options", "renamed", "subprocess", "API_KEY", "LIMITS", "accounts", "HOSTS"]  # fmt: skip
OWN = [
    "prices",
    "orders",
    "limit",
    "start",
    "counts",
    "log",
    "first",
    "names",
    "nothing",
    "price",
    "Kind",
    "PIPE",
    "IGNORECASE",
    "Decimal",
    "date",
]


def test_a_module_gives_its_own_members_only(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "attacked_shop.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "attacked_settings.py").write_text(SETTINGS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("attacked_shop")
    door = Door(frozenset({"attacked_shop"}), lambda *_: None)
    reference = door.encode(module)
    assert isinstance(reference, list)
    for name in IMPORTED:
        with pytest.raises(Refused, match="the prompt does not name"):
            door.encode(door.perform("get", [reference[:2], name]))
    for name in OWN:
        assert door.perform("get", [reference[:2], name]) is getattr(module, name)


def test_a_module_keeps_its_list_of_members() -> None:
    module = types.ModuleType("attacked_list")
    exec("from os import system\n__all__ = ['price']\nprice = 1", vars(module))
    door = Door(frozenset({"attacked_list"}), lambda *_: None)
    number = door._refer(module)
    door.perform("get", [["r", number], "__all__"]).append("system")
    with pytest.raises(Refused, match="the prompt does not name"):
        door.perform("get", [["r", number], "system"])
    with pytest.raises(Refused):
        door.encode(vars(module)["__builtins__"])


class Attached(pydantic.BaseModel):
    """A class of the program with fields of a class that reaches every file; no prompt names it."""

    path: pathlib.Path = pathlib.Path("a")
    process: subprocess.Popen[str] | None = None
    pipe: subprocess.Popen[str] = pydantic.Field(default=None)

    model_config = {"arbitrary_types_allowed": True}

    @pydantic.computed_field
    def home(self) -> pathlib.Path:
        return self.path


DESCRIBED = [
    "type(model).model_fields['path'].annotation('/etc/hostname')",
    "type(model).model_fields['path'].annotation.home()",
    "model.model_fields['pipe'].annotation(['id'])",
    "model.model_computed_fields['home'].return_type('/etc/hostname')",
    "signature.parameters['path'].annotation.cwd()",
    "signature.return_annotation('/etc/hostname')",
    "fields[0].type('/etc/hostname')",
    "type(model).model_validate({'path': '/etc/hostname'})",
    "model.model_validate_json('{}')",
    "model.model_construct(path=1)",
    "type(model).parse_obj({})",
    "model.path.home()",
]


@pytest.mark.parametrize("code", DESCRIBED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_description_of_a_field_gives_no_class(code: str) -> None:
    def open_file(path: pathlib.Path) -> pathlib.Path:
        return path

    described = dataclasses.make_dataclass("Described", [("path", pathlib.Path)])
    model, fields = Attached(), dataclasses.fields(described)
    signature, out = inspect.signature(open_file, eval_str=True), None
    scope = make_scope(lambda: (model, fields, signature, out), writes="out", at="case.njpy:1")
    snippet = prepare(f"out = str({code})", scope, policy="contained")
    assert isinstance(snippet, Snippet)
    done = execute(snippet)
    assert isinstance(done, Failed)
    assert "does not name the class" in done.message or "is refused here" in done.message
    snippet = prepare(
        "out = type(model).model_fields['path'].annotation is type(model.path), model.model_dump()['path'].name, "
        "str(fields[0].type), fields[0].name, model.model_copy(update={'process': None}).path.name",
        scope,
        policy="contained",
    )
    assert isinstance(snippet, Snippet)
    assert isinstance(execute(snippet), Ran)
    assert isinstance(out, tuple)


class Delegate:
    """A proxy of a program: it gives the attributes of its object."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)


class Label(str):
    """A text of the program."""


Content = TypeVar("Content")


class Product(pydantic.BaseModel):
    """A model of the program."""

    price: int = 0


class Box(pydantic.BaseModel, Generic[Content]):
    """A model with a parameter."""

    content: Content


class Crate(Generic[Content]):
    """A class with a parameter, and items."""

    def __getitem__(self, key: Any) -> Any:
        return key


class Registry:
    """A class that is asked for texts."""

    def __class_getitem__(cls, name: str) -> str:
        return name


class Drink(Enum):
    """An enum: its class is asked for members by texts."""

    TEA = 1


def list_indirect_owners() -> Iterator[tuple[Any, str]]:
    """Yield objects that give members of other objects, with a member that is refused."""
    frame, array = pandas.DataFrame({"a": [1]}), numpy.zeros(2).view(numpy.recarray)
    label, product = Label("{0.__class__}"), Product()
    members = [(frame, "to_pickle"), (array, "tofile"), (label, "format"), (product, "parse_raw")]
    for value, name in members:
        cls: Any = type(value)
        yield from [(value, name), (cls, name), (super(cls, value), name), (super(cls, cls), name)]
        yield Delegate(value), name
        yield types.GenericAlias(cls, int), name
        if cls is not Product:
            yield weakref.proxy(value), name
    yield string.Formatter(), "get_field"
    yield numpy.random.default_rng().bit_generator, "cffi"
    yield Product, "model_rebuild"
    yield Product, "model_config"
    yield Crate[int], "copy_with"


def test_a_refused_member_is_refused_on_every_way() -> None:
    for value, name in list_indirect_owners():
        door = Door(frozenset(), lambda *_: None)
        with pytest.raises(Refused):
            door.perform("get", [["r", door._refer(value)], name])


EVALUATED = "__import__('os').system('true')"


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("__getitem__", [Box, EVALUATED]),
        ("__getitem__", [Box, ("x", EVALUATED)]),
        ("__getitem__", [Box, [[EVALUATED]]]),
        ("__getitem__", [Box, {"x": [EVALUATED]}]),
        ("__getitem__", [Box, Label(EVALUATED)]),
        ("__getitem__", [Crate, EVALUATED]),
        ("__getitem__", [Crate[Content], EVALUATED]),  # type: ignore[valid-type]
        ("__or__", [Crate[int], EVALUATED]),
        ("__ror__", [Crate[int], EVALUATED]),
        ("__or__", [Label(EVALUATED), Crate[int]]),
        ("__or__", [Content, EVALUATED]),
    ],
)
def test_no_text_in_a_type_is_run(operation: str, values: list[Any]) -> None:
    door = Door(frozenset(), lambda *_: None)
    references = []
    for value in values:
        door.encode(value)
        references.append(value if type(value) is str else ["r", door._refer(value)])
    with watch_effects() as effects, pytest.raises(Refused, match="a text in a type"):
        door.perform("op", [operation, *references])
    assert effects == []


def test_classes_are_asked_for_types_and_members() -> None:
    door = Door(frozenset(), lambda *_: None)
    for cls in (Box, Registry, Drink):
        door.encode(cls)

    def ask(cls: Any, key: Any) -> Any:
        return door.perform("op", ["__getitem__", ["r", door._refer(cls)], key])

    assert ask(Box, ["k", "builtins", "int"])(content=3).content == 3
    assert ask(Registry, "tea") == "tea"
    assert ask({Box: "box", "x": 1}, ["r", door._refer(Box)]) == "box"
    assert ask(Drink, "TEA") is Drink.TEA


def test_no_text_becomes_the_type_of_a_field() -> None:
    door = Door(frozenset(), lambda *_: None)
    field = door._refer(Product.model_fields["price"])
    for name in ("annotation", "alias", "validation_alias"):
        with pytest.raises(Refused, match="pydantic evaluates"):
            door.perform("set", [["r", field], name, EVALUATED])
    door.encode(Product)
    with pytest.raises(Refused, match="pydantic evaluates"):
        door.perform("set", [["r", door._refer(Product)], "model_config", EVALUATED])
    for name in ("from_annotation", "merge_field_infos"):
        with pytest.raises(Refused, match="pydantic"):
            door.perform("get", [["r", field], name])
    assert door.perform("get", [["r", field], "annotation"]) is int


def test_asyncio_gives_no_tasks_of_the_program() -> None:
    for named in (frozenset[str](), frozenset({"asyncio"})):
        door = Door(named, lambda *_: None)
        module = ["r", door._refer(door.perform("import", ["asyncio", False]))]
        with nullcontext() if named else pytest.raises(Refused, match="tasks"):
            door.perform("get", [module, "all_tasks"])
        assert door.perform("get", [module, "gather"])


# ── rules for calls ──────────────────────────────────────────────────────────────────────────────

sent: list[Any] = []


class Mailer:
    """Sends mails; all its methods have a rule."""

    def send(self, to: Any) -> None:
        sent.append(to)

    @staticmethod
    def send_plain(to: Any) -> None:
        sent.append(to)

    @classmethod
    def send_all(cls, to: Any) -> None:
        sent.append(to)

    @njrt.gated(decide="deny")
    def __call__(self, to: Any = None) -> None:
        sent.append(to)

    @njrt.gated(decide="deny")
    def __setitem__(self, key: Any, to: Any) -> None:
        sent.append(to)

    @njrt.gated(decide="deny")
    def __enter__(self) -> Any:
        sent.append("enter")

    def __exit__(self, *_: Any) -> None:
        return

    @njrt.gated(decide="deny")
    def __add__(self, to: Any) -> Any:
        sent.append(to)


class Urgent(Mailer):
    """A subclass."""


CALLS = [
    "m('x')", "m['x'] = 1", "with m: pass", "m + 1", "Mailer.__call__(m, 'x')", "list(map(m, [1]))", "call(m, 'x')",
    "series.map(m)", "pool.submit(m, 1).result()", "call(list, map(m, [1]))", "sorted([1], key=m)", "call(sorted, [1], key=m)",
    "m.send(1)", "u.send(1)", "m.send_plain(1)", "m.send_all(1)", "Mailer.send(m, 1)", "Mailer.send_all(1)", "type(m).send(m, 1)",
    "call(m.send, 1)", "call(Mailer.send, m, 1)", "bound(1)", "call(bound, 1)", "part(1)", "full()", "nested()", "call(part, 1)",
    "part.func(1)", "series.map(part)", "held['send'](1)", "held['part'](1)", "xs.sort(key=m.send)", "xs.sort(key=part)",
    "import operator\nseries.map(operator.methodcaller('send', 1))", "import operator\ncall(call(operator.methodcaller, 'send', 1), m)",
    "import functools\nfunctools.partial(m.send, 1)()", "import functools\ncall(functools.partial, m.send, 1)()",
    "next(iter(lambda: m.send(1), None))",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_a_rule_for_a_call_holds_on_every_way(code: str) -> None:
    def invite(m: Any, u: Any, bound: Any, part: Any, full: Any, nested: Any, held: Any) -> None:
        call, pool, xs, series = retry, executor, [1], pandas.Series([m])
        njrt.run(
            "natural\nInvite by <m>, <u>, <Mailer>, <bound>, <part>, <full>, <nested>, <held>, <call>, <pool>, <xs>, <series>.",
            lambda: (m, u, Mailer, bound, part, full, nested, held, call, pool, xs, series),
            at="case.njpy:1",
            policy="contained",
        )

    m = Mailer()
    part, full = functools.partial(m.send), functools.partial(Mailer.send, m, 1)
    held = {"send": m.send, "part": part}
    rules = {
        function: njrt.CallRule(decide="deny")
        for function in (Mailer.send, Mailer.send_plain, Mailer.send_all)
    }
    model = njrt.Scripted([run(code, done=True), run("pass", done=True)])
    sent.clear()
    # In a thread of the program, an object that gates its own `__call__` finds no settings: it is refused there.
    in_thread = pytest.raises(njrt.ConfigurationError, match=r"njrt\.carry")
    refused = in_thread if code.startswith("pool.") else nullcontext()
    with ThreadPoolExecutor(1) as executor, njrt.using(model=model, calls=rules), refused:
        invite(m, Urgent(), m.send, part, full, functools.partial(part, 1), held)
    assert sent == []


class Button:
    """An object that calls what it is given."""

    on_click: Any = None


@pytest.mark.parametrize(
    "code", ["button.on_click = m.send", "button.on_click = part", "held.append(m.send)"]
)
def test_a_rule_for_a_call_holds_after_the_block(code: str) -> None:
    m, button, held = Mailer(), Button(), [None]
    part = functools.partial(m.send)
    model = njrt.Scripted([run(code, done=True)])
    sent.clear()
    with njrt.using(model=model, calls={Mailer.send: njrt.CallRule(decide="deny")}):
        njrt.run(
            "natural\nPut a function of <m> or <part> into <button> or <held>.",
            lambda: (m, part, button, held),
            at="case.njpy:1",
            policy="contained",
        )
        for call in filter(None, [button.on_click, held[-1]]):
            with pytest.raises(PermissionError, match="end with the block"):
                call("x")
    assert sent == []
    m.send("y")
    assert sent == ["y"]


@pytest.mark.parametrize("name", ["__call__", "__setitem__", "__enter__", "__exit__", "__init__"])
def test_a_rule_for_a_special_method_is_refused(name: str) -> None:
    for calls in ({getattr(Mailer, name): njrt.CallRule()}, [getattr(Mailer(), name)]):
        with (
            pytest.raises(njrt.ConfigurationError, match="special method"),
            njrt.using(calls=calls),
        ):
            pass


# ── raw messages ─────────────────────────────────────────────────────────────────────────────────

VALUES = [
    "None", "-1", "2.5", "'__class__'", "[]", "{}", "['r', 1]", "['r', 99999]", "['r', -1]", "['r', 'x']", "['L', -7]",
    "['m', -3, 'list', [['r', 1]]]", "['m', 3, 'dict', [1]]", "['m', -4, 'tuple', []]", "['k', 'builtins', 'eval']",
    "['k', 'builtins', 'type']", "['k', 'os', 'environ']", "['k', 'operator', 'attrgetter']", "['f', 0]", "['g', 0]",
    "['f', -1]", "['x', 'builtins', 'SystemExit', [3], {}, None, None]", "['x', 'builtins', 'type', ['X', ['t', []], {}], {}, None, None]",
    "['from', 1, None, ['r', 1]]", "['from', 1, 3, 4]", "['module', 'os']", "['module', 'operator']", "['shown', 3]", "['i', 3]",
    "['b', 3]", "['t', 3]", "['fs', [['m', -9, 'set', []]]]", "['slice']", "['range', 1]", "['date', 'x']", "['Decimal', []]", "['zzz']",
    "[[[[]]]]", "['E', 1]", "['interruption']", "['from', 1, None, None, True]", "['x', 'builtins', 'ValueError', [], {}, None, None, 3]", "['x', 'builtins', 'ValueError', [], {}, None, None, True, 1]", "['C', 1]", "['local', 0]",
]  # fmt: skip
SHAPES = [
    "['touch', [], [], [], 'get', [V, 'real']]",
    "['touch', [], [], [], 'get', [['r', 1], V]]",
    "['touch', [], [], [], 'op', ['__getitem__', V, V]]",
    "['touch', [], [], [], 'op', [V, ['r', 1]]]",
    "['touch', [], [], [], 'call', [V, [], {}]]",
    "['touch', [], [], [], 'call', [encode(call), [V, 'system'], {}]]",
    "['touch', [], [], [], 'call', [encode(call), V, {'a': V}]]",
    "['touch', [], [], [], 'set', [V, 'x', V]]",
    "['touch', [], [], [], 'del', [V, 'x']]",
    "['touch', [], [], [], 'isinstance', [V, V]]",
    "['touch', [], [], [], 'issubclass', [V, V]]",
    "['touch', [], [], [], 'super', [V, V]]",
    "['touch', [], [], [], 'import', [V, True]]",
    "['touch', [], [], [], 'await', [V]]",
    "['touch', [], [], [], 'print', [V, V]]",
    "['touch', [], [], [], 'note', [V]]",
    "['touch', [], [], [], 'variables', [V]]",
    "['touch', [], [], [], V, [V]]",
    "['touch', V, [], [], 'variables', []]",
    "['touch', [[V, V, V]], [], [], 'variables', []]",
    "['touch', [], [['out', V]], [], 'variables', []]",
    "['touch', [], [[V, V]], [], 'variables', []]",
    "['touch', [], [], [V, 1, 2], 'variables', []]",
    "['end', [], [], [], V, V]",
    "['end', [], [['out', V]], [], 1, V]",
    "['failed', [], [], [], V, [], True, False, None, None]",
    "['failed', [], [], [], V, [[V, V]], True, True, V, V]",
    "['returned', [], [], [], V]",
    "['raised', [], [], [], V]",
    "['interrupted', [], [], []]",
    "['crashed', [], [], [], V]",
    "[V]",
    "V",
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_raw_message_has_no_effect_and_raises_nothing_in_the_program(shape: str) -> None:
    texts = (shape.replace("V", value) for value in (VALUES if "V" in shape else [""]))
    for text in texts:
        done = run_hostile(f"connection.send({text})\nconnection.receive()\nout = 1")
        # After the answer the child ends as it likes: the code is a mistake, or its own jump or value.
        assert isinstance(done, Failed | Ran) or (
            isinstance(done, Jumped)
            and isinstance(done.outcome, Raised)
            and isinstance(done.outcome.exception, Exception)
        ), text


@pytest.mark.parametrize("shape", ["returned", "raised"])
def test_a_raw_message_in_a_callback_has_no_effect(shape: str) -> None:
    for value in VALUES:
        send = f"connection.send([{shape!r}, [], [], [], {value}])"
        done = run_hostile(f"def f(*a):\n    {send}\n    connection.receive()\ncall(f)\nout = 1")
        assert isinstance(done, Failed | Ran), value


# ── jumps ────────────────────────────────────────────────────────────────────────────────────────

JUMPS = {2: "return", 3: "break", 4: "continue"}


@pytest.mark.parametrize(
    ("kind", "label"), [*itertools.product(JUMPS, [None, *JUMPS.values(), "bare_return"])]
)
def test_only_jumps_that_the_block_offers_are_taken(kind: int, label: str | None) -> None:
    code = f"connection.send(['end', [], [], [], {kind}, 5])\nconnection.receive()"
    done = run_hostile(code, labels=(label,) if label else ())
    assert isinstance(done, Jumped if JUMPS[kind] == label else Failed)


ENDING = ["SystemExit", "KeyboardInterrupt", "GeneratorExit"]


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize(
    "code",
    [
        "raise NAME(3)",
        "def f():\n    raise NAME(3)\ncall(f)",
        "raise call(NAME, 3)",
        "raise [c for c in BaseException.__subclasses__() if c.__name__ == 'NAME'][0]()",
        "connection.send(['failed', [], [], [], ['x', 'builtins', 'NAME', [3], {}, None, None], [], True, False, None, None])\nconnection.receive()",
        "sorted(xs, key=call(lambda: (_ for _ in ()).throw(NAME())))",
    ],
)
def test_code_does_not_end_the_program(code: str, name: str) -> None:
    assert isinstance(run_hostile(code.replace("NAME", name)), Failed)


def test_a_block_without_labels_raises_no_jump() -> None:
    def look(xs: list[int]) -> None:
        njrt.run("natural\nLook at <xs>.", lambda: (xs,), at="case.njpy:1", policy="contained")

    code = "c = getattr(getattr(xs, '_njrt' + '_request'), '__se' + 'lf__').connection\nc.send(['end', [], [], [], 4, None])"
    with njrt.using(model=njrt.Scripted([run(code, done=True), run("pass", done=True)])):
        look([1])


# ── messages that cost more than their size ──────────────────────────────────────────────────────

FAILED = "connection.send(['failed', [], [], [], ['x', 'builtins', 'ValueError', ['a'], {}], FRAMES, OWN, False, None, TEXT])\nconnection.receive()"


@pytest.mark.parametrize("number", ["'1e300000000'", "1, 0", "['i', '0x'], 1", "None"])
def test_a_fraction_is_not_computed_from_a_text(number: str) -> None:
    code = f"connection.send(['touch', [], [], [], 'call', [encode(call), [['Fraction', {number}]], {{}}]])\nconnection.receive()"
    assert isinstance(run_hostile(code), Failed | Ran)


@pytest.mark.parametrize("line", [-5, 0, 2**33, 2**62, 2**70])
@pytest.mark.parametrize("is_own", [True, False])
def test_a_far_line_needs_no_memory(line: int, is_own: bool) -> None:
    code = FAILED.replace("FRAMES", f"[[None, {line}]]").replace("OWN", str(is_own))
    done = run_hostile(code.replace("TEXT", "None"))
    assert isinstance(done, Jumped if is_own else Failed)


@pytest.mark.parametrize(
    ("frames", "text"),
    [("[['f', 1]] * 100_000", "None"), ("[['f' * 10**6, 1]]", "None"), ("[]", "'y' * 10**6")],
)
def test_the_message_of_a_mistake_is_short(frames: str, text: str) -> None:
    code = FAILED.replace("FRAMES", frames).replace("OWN", "False").replace("TEXT", text)
    done = run_hostile(code)
    assert isinstance(done, Failed)
    assert "ValueError: a" in done.message or "yyy" in done.message
    assert len(done.message) < 3000


def test_a_child_that_does_not_read_is_stopped() -> None:
    code = "big = 'x' * 10**6\nm = ['touch', [], [], [], 'call', [encode(call), [encode(str), big], {}]]\n"
    code += "for _ in range(30):\n    connection.send(m)\nimport time\ntime.sleep(60)"
    with pytest.raises(njrt.CodeTimeLimitError):
        run_hostile(code, seconds=3.0)


def test_a_kept_function_is_found_behind_a_cycle_of_causes() -> None:
    code = """
def f():
    return xs.index(77)
try:
    call(f)
except ValueError as error:
    n = error.__dict__['_njrt_ref']
connection.send(['touch', [], [], [], 'call', [encode(xs.append), [['f', 77]], {}]])
connection.receive()
connection.send(['end', [], [], [], 1, ['from', n, ['r', n], ['r', n], False]])
connection.receive()
"""
    done = run_hostile(code)
    assert isinstance(done, Failed)
    assert "keeps a function" in done.message


@pytest.mark.parametrize("name", ["__exit__", "__aexit__", "__getitem__", "__eq__"])
@pytest.mark.parametrize("target", ["encode(call)", "['r', 99]", "['k', 'builtins', 'type']", "None"])  # fmt: skip
def test_only_a_manager_is_given_the_end_of_a_generator(name: str, target: str) -> None:
    end = "['x', 'builtins', 'GeneratorExit', [], {}, None, None, False]"
    code = f"connection.send(['touch', [], [], [], 'op', [{name!r}, {target}, {end}]])\nout = connection.receive()[0]"
    done = run_hostile(code)
    assert isinstance(done, Failed | Ran)
