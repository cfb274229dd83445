"""`policy="auto"`: the compiler and the system decide where code runs, and never a value."""

from __future__ import annotations

import contextlib
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import load

import njrt
from njc.compiler.analysis.containment import PLAIN_CLASSES
from njc.project.config import Project, make_project
from njrt.execution.contained.state import _EXACT
from njrt.execution.contained.wire import WRITERS
from njrt.testing import Scripted, run

pytestmark = pytest.mark.usefixtures("contained")
KEEP = "kept.append(lambda: 1)"
"""Code whose result lives on only in guarded code."""


def is_contained(start: Callable[[], Any], **settings: Any) -> bool:
    """Return whether the code of a block that appends to `kept` runs in another process."""
    with njrt.using(model=Scripted([run(KEEP), run("pass", done=True)]), **settings):
        start()
    account = njrt.last_run()
    assert account is not None
    assert account.effects[0].is_refused == ("code ends with it" in account.effects[0].result)
    return account.effects[0].is_refused


def write_program(parameters: str = "", text: str = "", options: str = "") -> str:
    """Return a program with a block that appends to `kept`."""
    return f"""
import datetime, io, logging, os, pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO
kept = []

class Own:
    _rows = 1

def it({parameters}):
    '''natural{options}
    Append to <kept>{text}.
    '''
"""


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("days: list[datetime.date]", " the <days>"),
        ("own: Own", " what <own> has"),
        ("own: 'Own | None' = None", " what <own> has"),
        ("f: Callable[[logging.Logger], int]", " what <f> returns"),
        ("rows: Sequence[dict[str, float]]", " the <rows>"),
        ("unknown", " the <unknown>"),
        ("", " the result of <os.getcwd>"),
    ],
)
def test_data_own_classes_and_functions_are_contained(
    parameters: str, text: str, tmp_path: Path
) -> None:
    program = load(write_program(parameters, text), tmp_path)
    arguments = [None] * bool(parameters)
    assert is_contained(lambda: program["it"](*arguments), policy="auto")


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("log: logging.Logger", ", and to <log>"),
        ("logs: 'dict[str, list[logging.Logger]]'", " and <logs>"),
        ("log: 'logging.Logger | None'", " if <log.name> is set"),
        ("stream: 'io.StringIO'", ", and to <stream>"),
        ("file: TextIO", " the lines of <file>"),
        ("own: Own", ", and to <own._rows>"),
        ("own: Own", ", and bind <:own._rows>"),
        ("x", ", and bind a <:path: pathlib.Path | None>"),
        ("x", ", and bind <:Own.limit>"),
    ],
)
def test_blocks_on_classes_of_libraries_run_guarded(
    parameters: str, text: str, tmp_path: Path
) -> None:
    program = load(write_program(parameters, text), tmp_path)
    binds = {"<:own._rows>": "own._rows = 2", "<:Own.limit>": "Own.limit = 2"}
    code = f"{KEEP}\n{binds.get(text.split()[-1], 'path = None')}"
    with njrt.using(model=Scripted([run(code, done=True)]), policy="auto"):
        program["it"](program["Own"]())
    assert callable(program["kept"][0])


IN_A_CLASS = """
kept = []
def it():
    class Box:
        '''natural
        Append to <kept>.
        '''
"""
A_FUNCTION = """
from collections.abc import Callable
kept = []
def it():
    '''natural
    Append to <kept>, and make <:f: Callable[[], int]>.
    '''
"""
A_GROUP = """
from collections.abc import Callable
kept = []
def it():
    try:
        raise ExceptionGroup("two", [ValueError(1), ValueError(2)])
    except* ValueError as group:
        '''natural
        Append to <kept> what <group> holds.
        '''
"""


@pytest.mark.parametrize("text", [IN_A_CLASS, A_FUNCTION, A_GROUP])
def test_what_cannot_be_contained_runs_guarded(text: str, tmp_path: Path) -> None:
    program = load(text, tmp_path)
    model = Scripted([run(f"{KEEP}\nf = kept[0]", done=True)])
    with njrt.using(model=model, policy="auto"):
        program["it"]()
    assert callable(program["kept"][0])


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("x" * 20_000_000, "kept.append(value)"),
        (open, "value.mode"),
        (iter([1]), "next(value)"),
    ],
)
def test_no_value_changes_where_code_runs(value: Any, code: str, tmp_path: Path) -> None:
    program = load(write_program("value", " the <value>"), tmp_path)
    model = Scripted([run(f"kept.append(lambda: 1)\n{code}", done=True)] * 9)
    with njrt.using(model=model, policy="auto"), pytest.raises(njrt.NaturalError):
        program["it"](value)
    assert program["kept"] == []


@pytest.mark.parametrize(
    "place", ["nowhere", "block", "file", "project", "environment", "using", "configure"]
)
def test_every_place_of_the_option(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code is contained where none has another policy."""
    text = write_program(options='(policy="guarded")' if place == "block" else "")
    if place == "file":
        text = f"# njc: policy=guarded\n{text}"
    project = Project()
    if place == "project":
        project = make_project({"policy": "guarded"}, tmp_path / "pyproject.toml")
    if place == "environment":
        monkeypatch.setenv("NJC_POLICY", "guarded")
    program = load(text, tmp_path, project)
    if place == "configure":
        njrt.configure(policy="guarded")
    settings = {"policy": "guarded"} if place == "using" else {}
    try:
        assert is_contained(program["it"], **settings) == (place == "nowhere")
    finally:
        njrt.configure()


def test_code_of_a_replay_runs_where_it_ran(tmp_path: Path) -> None:
    program = load(write_program(), tmp_path)
    path, kept = tmp_path / "r.jsonl", program["kept"]
    model = Scripted([run(KEEP, done=True)])
    with njrt.using(model=model, policy="guarded", record=path):
        program["it"]()
    recorded = path.read_text()
    for written, count in (("guarded", 1), ("", 1), ("auto", 0)):  # "": by 0.2
        kept.clear()
        path.write_text(recorded.replace('"policy": "auto"', f'"policy": "{written}"'))
        with njrt.using(record=f"none:{path}"), contextlib.suppress(njrt.NaturalError):
            program["it"]()
        assert len(kept) == count


class Thing:
    size = 1


@pytest.mark.parametrize("code", ["thing.size = 2", "thing.size = 'x'", "thing.other = 1"])
def test_an_attribute_may_be_new_if_it_is_an_output_or_its_class_has_it(code: str) -> None:
    thing = Thing()
    model = Scripted([run(f"thing.new = 1\n{code}", done=True)])
    with njrt.using(model=model), contextlib.suppress(njrt.NaturalError):
        njrt.run("natural\nSet <:thing.new>.", lambda: (thing,), writes="thing.new", at="a.njpy:1")
    assert vars(thing) == ({"new": 1, "size": 2} if code == "thing.size = 2" else {})


def test_data_that_needs_code_is_contained(tmp_path: Path) -> None:
    program = load(
        """
        def it(text: str) -> int:
            '''natural
            Count the words of <text> into <:count: int>.
            '''
            return count
        """,
        tmp_path,
    )
    probe = run("count = lambda: 1", done=True)
    model = Scripted([{"needs_code": "to count"}, probe, run("count = 2", done=True)])
    with njrt.using(model=model, policy="auto"):
        assert program["it"]("a b") == 2
    account = njrt.last_run()
    assert account is not None
    assert "function" in account.effects[1].result


def test_the_compiler_and_the_runtime_agree_about_plain_classes() -> None:
    crossing = {*WRITERS, *_EXACT, deque, defaultdict}
    found = {f"{it.__module__}.{it.__name__}" for it in crossing if it.__module__ != "builtins"}
    assert found - {"types.SimpleNamespace", "zoneinfo.ZoneInfo"} == PLAIN_CLASSES


OWN = """
from orders import Order

def settle(order: Order, kept: list[object]) -> None:
    '''natural
    Set the status of <order>, and note it in <kept>.
    '''
"""


@pytest.mark.parametrize("own", [None, ["orders"], "shop, orders"])
def test_classes_of_named_packages_are_the_programs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: Any
) -> None:
    """Installed packages are another's, unless the project names them."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "orders.py").write_text("class Order:\n    status: str = 'open'\n")
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setattr("njrt.block.session.code_policy._warned", [])
    table = {"policy": "auto"} | ({"own-packages": own} if own else {})
    space = load(OWN, tmp_path, make_project(table, tmp_path / "pyproject.toml"))
    order, kept = space["Order"](), list[object]()
    code = "order.status = 'paid'\nkept.append(order.status)"
    with njrt.using(model=Scripted([run(code, done=True)])):
        if own:
            space["settle"](order, kept)
        else:
            with pytest.warns(njrt.PolicyWarning, match=r"another package, `orders\.Order`"):
                space["settle"](order, kept)
    assert (order.status, kept) == ("paid", ["paid"])
    with njrt.using(model=Scripted([run("kept.append(order)", done=True)]), policy="contained"):
        if own:
            space["settle"](order, kept)
            assert kept[1] is order


def test_a_name_that_is_no_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(njrt.ConfigurationError, match="`own_packages` must be names"):
        make_project({"own-packages": ["a-b"]}, tmp_path / "pyproject.toml")
