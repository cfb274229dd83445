"""Attacks on the guard, and normal code that it must let run: guard_cases/*.txt, and attacks made by a grammar.

An attack counts as stopped if no effect is even attempted: an audit hook that is older than the guard's own sees
attempts that the guard's own hook refuses.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from njc.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import make_static_file
from njrt.options import Options
from processes import run_python

HERE = Path(__file__).parents[1]

STARTS: Sequence[tuple[str, str, Sequence[str], str]] = (
    # an import, an object, the attributes to read one after the other, and what to do with the last one
    ("import random", "random", ["_os", "system"], "{}(COMMAND)"),
    ("import json", "json", ["codecs", "builtins", "exec"], "{}('import os; os.system(' + repr(COMMAND) + ')')"),
    ("import typing", "typing", ["sys", "modules"], "{}['os'].system(COMMAND)"),
    ("import asyncio", "asyncio", ["events", "os", "system"], "{}(COMMAND)"),
    ("import enum", "enum.Enum", ["_convert_"], "{}('E', 'os', lambda n: n == 'system').system.value(COMMAND)"),
    ("", "describe", ["__globals__"], "{}['os'].system(COMMAND)"),
    ("", "order.total", ["__func__", "__globals__"], "{}['os'].system(COMMAND)"),
    ("", "()", ["__class__", "__base__", "__subclasses__"], "[c for c in {}() if c.__name__ == 'Popen'][0](['sh', '-c', COMMAND]).wait()"),
    ("", "type", ["__subclasses__"], "[c for c in {}(object) if c.__name__ == 'Popen'][0](['sh', '-c', COMMAND]).wait()"),
    ("", "(x for x in ())", ["gi_frame", "f_builtins"], "{}['__import__']('os').system(COMMAND)"),
)  # fmt: skip

READERS: Sequence[tuple[str, str, str]] = (
    # the name of a way to read attribute {1} of {0}, what it needs, and the expression
    ("dot", "", "{0}.{1}"),
    ("getattr", "", "getattr({0}, {2})"),
    ("map", "", "next(map(getattr, [{0}], [{2}]))"),
    ("partial", "import functools", "functools.partial(getattr, {0})({2})"),
    ("attrgetter", "import operator", "operator.attrgetter({2})({0})"),
    ("loose attrgetter", "import operator", "[operator.attrgetter][0]({2})({0})"),
    ("methodcaller", "import operator", "[operator.methodcaller][0]('__getattri' + 'bute__', {2})({0})"),
    ("reduce", "import functools", "functools.reduce(getattr, [{2}], {0})"),
    ("vars", "", "vars({0})[{2}]"),
    ("dict", "", "{0}.__dict__[{2}]"),
    ("dict of the type", "", "type({0}).__dict__[{2}].__get__({0})"),
    ("object", "", "object.__getattribute__({0}, {2})"),
    ("class body", "class R:\n    g = getattr\n    getattr = 1", "R.g({0}, {2})"),
    ("pattern", "def read(x):\n    match x:\n        case object({1}=found): return found", "read({0})"),
    ("positions", "class M(type):\n    def __instancecheck__(c, x): return True\nC = M('C', (), {{'__match' + '_args__': ({2},)}})\n"
     "def read(x):\n    match x:\n        case C(found): return found", "read({0})"),
    ("super", "class S:\n    pass", "super(S, S()).__getattribute__.__func__({0}, {2})"),
    ("wraps", "import functools\nclass W:\n    pass", "vars(functools.wraps({0}, ({2},), ())(W()))[{2}]"),
    ("own format", "class K:\n    pass\nseen = []\nclass F(str):\n    def go(self, x): return super().format(x)", "F('{{0.' + {2} + '}}').go({0})"),
)  # fmt: skip


def read_cases(name: str) -> dict[str, str]:
    """Return the cases of a file by their names."""
    cases = {}
    for part in (HERE / "guard_cases" / name).read_text(encoding="utf-8").split("\n---"):
        lines = [line for line in part.strip("\n").split("\n") if not line.startswith("# ")]
        lines = [line for line in lines if not line.startswith("## ")]
        text = "\n".join(lines).strip("\n")
        title, _, source = text.partition("\n")
        assert title not in cases, title
        cases[title] = source
    return cases


def generate_attacks() -> Iterator[tuple[str, str]]:
    """How to get hold of something, how to hide what is read of it, how to use it: all combinations."""
    for (imported, start, names, use), (way, needs, read) in itertools.product(STARTS, READERS):
        lines, value = [imported], start
        for number, name in enumerate(names):
            half = len(name) // 2
            hidden = f"{name[:half]!r} + {name[half:]!r}"
            helper = needs.format(value, name, hidden).replace("read(", f"read{number}(")
            lines.append(helper)
            value = read.format(value, name, hidden).replace("read(", f"read{number}(")
        lines.append(use.replace("{}", f"({value})"))
        yield f"{way} of {start}", "\n".join(line for line in lines if line)


ATTACKS = {
    **read_cases("attacks.txt"),
    **read_cases("attacks_by_hooks.txt"),
    **dict(generate_attacks()),
}
ALLOWED = read_cases("allowed.txt")
PRIVATE, OWN_FIELDS = "`_price` is refused in contained code", "is refused"
NOT_CONTAINED = {
    "vars of an object": OWN_FIELDS,
    "vars of an object, copied to JSON": OWN_FIELDS,
    "__dict__ of an object": OWN_FIELDS,
    "items of a __dict__": OWN_FIELDS,
    "__dict__ by getattr": OWN_FIELDS,
    "private attributes of the program": PRIVATE,
    "attrgetter of a private attribute": PRIVATE,
    "attributes by name": PRIVATE,
    "class in a function in a class": PRIVATE,
    "setattr on an object of the program": "setting `_price` is refused",
    "ZoneInfo of a zone": "cannot import name 'resources'",  # a file
    "asyncio": "an object of the class coroutine that the code made cannot be handed to the program",
    "asyncio with a subclass": "cannot derive the class Q from one of the program's",
}
"""Cases that guarded code may do and contained code may not, with the reason that the model is told."""


@cache
def run_all(policy: str, folder: Path) -> list[dict[str, Any]]:
    """Return the outcomes of all attacks under a policy, in order."""
    safe = {title: case for title, case in ATTACKS.items() if is_safe_to_run(case, policy)}
    outcomes = run_cases(list(safe.values()), policy, folder)
    return [{"title": title, **outcome} for title, outcome in zip(safe, outcomes, strict=True)]


def is_safe_to_run(case: str, policy: str) -> bool:
    """Unguarded, some cases would change the machine that runs the tests."""
    return policy != "open" or "clock_settime" not in case


def run_cases(sources: list[str], policy: str, folder: Path) -> list[dict[str, Any]]:
    done = run_python(
        str(HERE / "guard_runner.py"),
        policy,
        str(folder),
        input=json.dumps(sources),
        timeout=240,
        check=True,
    )
    outcomes: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guard")


def test_there_are_many_attacks() -> None:
    assert len(ATTACKS) >= 500


def test_no_attack_has_an_effect(folder: Path) -> None:
    wrong = [
        outcome
        for outcome in run_all("guarded", folder)
        if outcome["fired"]
        or outcome["secret"]
        or outcome["attempts"]
        or outcome["result"] in ("raised", "died")
    ]
    assert wrong == []


def test_no_attack_passes_the_boundary(folder: Path) -> None:
    """Contained code has no effect even if the guard does not look at it before."""
    wrong = [
        outcome
        for outcome in run_all("boundary", folder)
        if outcome["fired"]
        or outcome["attempts"]
        or (outcome["secret"] and not changes_its_library(outcome))
    ]
    assert wrong == []


def changes_its_library(outcome: dict[str, Any]) -> bool:
    """Return whether a case changes Python's library, in contained code that of its own process."""
    return "out = CHANGED" in ATTACKS[outcome["title"]]


def test_the_attacks_are_attacks(folder: Path) -> None:
    """Without the guard most of them have their effect."""
    outcomes = run_all("open", folder)
    real = [outcome for outcome in outcomes if outcome["fired"] or outcome["secret"]]
    assert len(real) >= 200


STATIC = '''\
def block(order, describe):
    """natural
    Do with <order> and <describe> what is needed, into <:out>.
    """
'''


def test_static_code_cannot_hide_the_names_of_attributes() -> None:
    """It runs without the guard: the checks of its text refuse each way to read a hidden name."""
    unit = Unit(Path("case.njpy"), Path(), Path("case.py"))
    file = make_static_file(unit, SourceFile("case.njpy", STATIC.encode()), Options(mode="static"))
    assert file is not None
    check = file.make_code_check(file.holes[0])
    accepted = [
        title
        for title, case in generate_attacks()
        if not check(f"out = 1\n{case.replace('COMMAND', repr('x'))}")
    ]
    assert accepted == []


@pytest.mark.parametrize("policy", ["guarded", "contained"])
def test_normal_code_runs(folder: Path, policy: str) -> None:
    sources = [case.partition("\n=> ")[0] for case in ALLOWED.values()]
    outcomes = run_cases(sources, policy, folder)
    for (title, case), outcome in zip(ALLOWED.items(), outcomes, strict=True):
        expected = case.partition("\n=> ")[2]
        if policy == "contained" and title in NOT_CONTAINED:
            assert outcome["result"] == "failed", title
            assert NOT_CONTAINED[title] in outcome["text"], title
            continue
        assert outcome["result"] == "ran", (title, outcome["text"])
        if expected:
            assert outcome["text"].partition("\n")[0] == expected, title
