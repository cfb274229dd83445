"""The paper's interface, whole: every form of a value that models send, and every way to leave a block.

The forms are those of the published traces of the sets `baseline`, `isolated-eval` and `shared-eval`.
"""

from __future__ import annotations

import asyncio
import itertools
from datetime import datetime
from typing import Any, get_args

import pytest
from heaps import open_heap
from programs import Program

import njrt
from case_programs import read_program
from njrt.effects import Perform, Refusal, Run
from njrt.testing import Scripted, ToolCall, call
from spsbench.interfaces import INTERFACES, EffectSet, make_settings
from spsbench.references import VALUE_FORMS, decode_wire

PROGRAM = Program(read_program("paper_forms"))


def ref(address: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": address}


def attributes(**named: Any) -> list[dict[str, Any]]:
    return [{"key": name, "value": value} for name, value in named.items()]


def assigned(value: Any, effects: str = "baseline", *first: ToolCall, x: Any = None) -> Any:
    """What `y` is after a model has assigned it a form."""
    script = [[*first, call("assign", var="y", val=value)], call("done")]
    return PROGRAM.call("f", x, says=script, **make_settings(effects))


def refusal_of(value: Any, x: Any = None) -> str:
    script = [call("assign", var="y", val=value), [call("assign", var="y", val=1), call("done")]]
    PROGRAM.call("f", x, says=script, **make_settings("baseline"))
    return PROGRAM.told()[1]


FORMS: list[tuple[Any, Any]] = [
    (None, None), (True, True), (3, 3), (2.5, 2.5), ("text", "text"),
    ({"type": "list", "items": ["a", 1]}, ["a", 1]),
    ({"type": "list", "items": [{"type": "tuple", "items": ["a", False]}]}, [("a", False)]),
    ({"type": "set", "items": [5, 13]}, {5, 13}),
    ({"type": "dict", "items": [{"key": "a", "value": {"type": "list", "items": []}}]}, {"a": []}),
    ({"type": "dict", "items": [{"key": {"type": "tuple", "items": [1, 2]}, "value": 3}]}, {(1, 2): 3}),
    ({"type": "datetime", "value": "2025-04-11T14:00:00"}, datetime(2025, 4, 11, 14)),
    ({"type": "dict", "items": []}, {}), ({"type": "tuple", "items": [1, {"type": "set", "items": []}]}, (1, set())),
    ([1, [2]], [1, [2]]),
]  # fmt: skip


@pytest.mark.parametrize(("form", "value"), FORMS)
@pytest.mark.parametrize("effects", ["baseline", "isolated-eval", "shared-eval"])
def test_forms_of_values(effects: str, form: Any, value: Any) -> None:
    found = assigned(form, effects)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "form",
    [
        {}, {"a": 1}, {"items": []}, {"name": "latte", "size": "tall"}, {"type": "Foo", "items": []},
        {"type": "list"}, {"type": "list", "items": {}}, {"type": "dict", "items": [1]},
        {"type": "dict", "items": [{"key": 1}]}, {"type": "Object", "class": "Enemy"},
        {"type": "Object", "class": "Enemy", "attributes": {"name": "x"}}, {"type": "Ref"}, {"type": "Ref", "addr": "1"},
        {"type": "Func", "name": "f", "full_func": "def f(): ...", "signature": []}, {"type": "Register", "name": "r"},
        {"type": "notsupporteddatatype"}, {"type": ["list"], "items": []}, [{"a": 1}],
        {"type": "list", "items": [{"a": 1}]}, {"type": "datetime", "value": "soon"}, {"type": "datetime"},
        {"type": "Object", "class": "Nobody", "attributes": []}, {"type": "Object", "class": "list", "attributes": []},
        {"type": "Object", "class": "PROGRAM", "attributes": []},
        {"type": "Class", "name": "New", "bases": [1], "annotations": [], "attributes": []},
    ],
)  # fmt: skip
def test_an_unknown_form_is_refused_and_never_a_dict(form: Any) -> None:
    assert refusal_of(form).startswith("ValueError: ")


def test_an_object_is_made_by_its_constructor_and_gets_its_other_attributes() -> None:
    form = {
        "type": "Object",
        "class": "Enemy",
        "attributes": attributes(name="Lira", health=15, kind="orc", hit={"type": "notsupporteddatatype"}, armour=2),
    }  # fmt: skip
    enemy = assigned(form)
    assert vars(enemy) == {"name": "Lira", "health": 15, "made_by_init": True, "armour": 2}
    fact = assigned(
        {"type": "Object", "class": "Fact", "attributes": attributes(text="t", true=True)}
    )
    assert (type(fact).__name__, fact.text, fact.true) == ("Fact", "t", True)
    for part in ({"_value_": "red"}, {"_name_": "RED"}):
        form = {"type": "Object", "class": "Colour", "attributes": attributes(**part)}
        assert str(assigned(form)) == "Colour.RED"


def test_the_class_of_an_object_may_be_known_by_a_reference_only() -> None:
    class Hidden:
        pass

    form = {"type": "Object", "class": "Hidden", "attributes": attributes(a=1)}
    made = assigned(form, "baseline", call("lookup", var="x"), x=Hidden())
    assert (type(made), vars(made)) == (Hidden, {"a": 1})
    assert "there is no class `Hidden` here" in refusal_of(form)


def test_an_object_is_updated_in_place() -> None:
    enemy = PROGRAM.load()["Enemy"]("Lira")
    form = {
        "type": "Object",
        "class": "Enemy",
        "attributes": attributes(health=1, limit=3, name="Lira"),
    }
    script = [
        [call("lookup", var="x"), call("setref", ref=ref(1), val=form), call("assign", var="y", val=ref(1))],
        call("done"),
    ]  # fmt: skip
    assert PROGRAM.call("f", enemy, says=script, **make_settings("baseline")) is enemy
    assert vars(enemy) == {"name": "Lira", "health": 1, "made_by_init": True}
    wrong = [call("lookup", var="x"), call("setref", ref=ref(1), val={**form, "class": "Fact"})]
    done = [call("assign", var="y", val=1), call("done")]
    PROGRAM.call("f", enemy, says=[wrong, done], **make_settings("baseline"))
    assert PROGRAM.told()[2] == "this is a Enemy, not a Fact"


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__init__"])
def test_special_attributes_cannot_be_set(name: str) -> None:
    form = {"type": "Object", "class": "Enemy", "attributes": attributes(name="a", **{name: 1})}
    assert f"`{name}` cannot be set" in refusal_of(form)


def test_a_class_is_made_of_its_bases_and_updated_in_place() -> None:
    base = type("Base", (), {"rate": 1})
    form = {
        "type": "Class",
        "name": "New",
        "bases": [ref(1)],
        "annotations": [],
        "attributes": attributes(a=2),
    }
    made = assigned(form, "baseline", call("lookup", var="x"), x=base)
    assert (made.__name__, made.__bases__, made.a, made.rate) == ("New", (base,), 2, 1)
    update = {
        "type": "Class",
        "name": "Base",
        "bases": [],
        "annotations": [],
        "attributes": attributes(rate=5),
    }
    assigned(1, "baseline", call("lookup", var="x"), call("setref", ref=ref(1), val=update), x=base)
    assert base.rate == 5  # type: ignore[attr-defined]


def test_a_reference_to_a_scalar_is_a_cell() -> None:
    script = [
        [call("ref", val="a"), call("ref", val="a"), call("assign", var="y", val=ref(1))],
        [call("setref", ref=ref(1), val="b"), call("deref", ref=ref(1)), call("deref", ref=ref(2)), call("done")],
    ]  # fmt: skip
    assert PROGRAM.call("f", None, says=script, **make_settings("baseline")) == "b"
    assert PROGRAM.told()[1:3] == [
        '{"type": "Ref", "addr": 1, "class": "str"}',
        '{"type": "Ref", "addr": 2, "class": "str"}',
    ]
    script[1:] = [
        [call("assign", var="y", val="own"), call("setref", ref=ref(1), val="b"), call("done")]
    ]
    assert PROGRAM.call("f", None, says=script, **make_settings("baseline")) == "own"


def test_deref_shows_the_attributes_of_the_class_and_the_names_of_properties() -> None:
    says = [
        [
            call("lookup", var="x"),
            call("deref", ref=ref(1)),
            call("assign", var="y", val=1),
            call("done"),
        ]
    ]
    model = Scripted(says)
    names = PROGRAM.load()
    with njrt.using(model=model, **make_settings("baseline")), njrt.watch() as watch:
        names["f"](names["Enemy"]("Lira"))
    shown = watch.runs[0].effects[1].result
    assert '"class attributes": {"kind": "orc", "limit": 3}' in shown
    assert '"properties": ["alive"]' in shown
    assert '"methods": ["hit"]' in shown
    assert '"attributes": {"name": "Lira", "health": 10, "made_by_init": true}' in shown


@pytest.mark.parametrize(
    ("effects", "reading"),
    [
        ("baseline", call("lookup", var="y")), ("isolated-eval", call("lookup", var="y")),
        ("shared-eval", call("eval", expr="y")), ("shared-python", call("eval", expr="y + 1")),
        ("shared-python", call("exec", code="print(y)")), ("nightjar", call("eval", expr="[y for _ in 'a']")),
        ("direct", call("run", code="y.a", done=False)), ("direct", call("run", code="y += 1", done=False)),
    ],
)  # fmt: skip
def test_reading_an_unbound_output_says_so(effects: str, reading: ToolCall) -> None:
    ends = {
        "direct": call("run", code="y = 1", done=True),
        "shared-python": call("return", value=None),
    }
    end = ends.get(effects) or ([call("goto", label="return", val=1)] if effects == "baseline" else call("return", value=None))  # fmt: skip
    PROGRAM.call("f", 1, says=[reading, end], **make_settings(effects))
    assert "`y` is not bound yet" in PROGRAM.told()[1]


@pytest.mark.parametrize("effects", ["direct", "shared-python"])
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("dir()", "['Colour', 'Enemy', 'Fact', 'Wrong', 'x']"),
        ("z = 1\ndir()", "['Colour', 'Enemy', 'Fact', 'Wrong', 'x', 'z']"),
        ("sorted(locals())", "['Colour', 'Enemy', 'Fact', 'Wrong', 'x']"),
        ("locals()['x']", "1"),
        ("z = locals()\nz['x'] = 2\nx", "1"),
        ("'append' in dir([])", "True"),
    ],
)
def test_dir_and_locals_show_the_variables_of_the_block(
    effects: str, code: str, expected: str
) -> None:
    if effects == "direct":
        script = [call("run", code=code, done=False), call("run", code="y = 1", done=True)]
    else:
        *lines, last = code.split("\n")
        first = [call("exec", code="\n".join(lines))] if lines else []
        script = [[*first, call("eval", expr=last)], call("return", value=None)]  # type: ignore[list-item]
    PROGRAM.call("f", 1, says=script, **make_settings(effects))
    told = [text for text in PROGRAM.told()[1:] if text != "Success"]
    assert told[0].split("\n")[0] == expected


# ── leaving ──────────────────────────────────────────────────────────────────────────────────────

PYTHON_SETS = ["nightjar", "shared-python", "shared-eval"]
RETURNS: list[tuple[Any, Any]] = [
    ("x", 5), ("x + 1", 6), ("'SHAPE'", "SHAPE"), ("[x, number]", [5, 1]), (None, None), ("None", None),
    (" x ", 5), ("(lambda: x)()", 5),
]  # fmt: skip
RAISES: list[tuple[str, str]] = [
    ("Wrong", ""), ("Wrong('because')", "because"), ("Wrong(f'{x}')", "5"), ("ValueError('v')", "v"),
]  # fmt: skip


@pytest.mark.parametrize("effects", PYTHON_SETS)
@pytest.mark.parametrize(("value", "expected"), RETURNS)
@pytest.mark.parametrize("function", ["g", "h"])
def test_return_takes_an_expression(effects: str, value: Any, expected: Any, function: str) -> None:
    assert leave(function, call("return", value=value), effects) == expected


@pytest.mark.parametrize("effects", PYTHON_SETS)
@pytest.mark.parametrize(("error", "message"), RAISES)
def test_raise_takes_an_expression(effects: str, error: str, message: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        leave("g", call("raise", error=error), effects)
    assert (type(caught.value).__name__, str(caught.value)) == (error.partition("(")[0], message)


@pytest.mark.parametrize("effects", ["nightjar", "shared-python"])
@pytest.mark.parametrize("function", ["g", "h"])
def test_jumps_at_the_top_level_of_exec_act_on_the_program(effects: str, function: str) -> None:
    assert leave(function, call("exec", code="if x:\n    return x + number"), effects) == 6
    assert leave(function, call("exec", code="break"), effects) == "end"
    assert leave(function, call("exec", code="continue"), effects, times=2) == "end"
    with pytest.raises(Exception, match="because") as caught:
        leave(function, call("exec", code="e = Wrong('because')\nraise e"), effects)
    assert type(caught.value).__name__ == "Wrong"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (call("return", value="x +"), "syntax error"),
        (call("return", value="1 / 0"), "ZeroDivisionError"),
        (call("return", value="y = 1"), "this must be one expression"),
        (call("raise", error="x"), "exceptions must derive from BaseException"),
        (call("raise", error="x + 1"), "exceptions must derive from BaseException"),
        (
            call("raise", error="nowhere"),
            "`nowhere` is not visible in this block",
        ),
    ],
)
def test_what_cannot_be_returned_or_raised(wrong: ToolCall, words: str) -> None:
    says = [wrong, call("break")]
    assert PROGRAM.call("g", 5, says=says, **make_settings("nightjar")) == "end"
    assert words in PROGRAM.told()[1]


def leave(function: str, effect: ToolCall, effects: str, times: int = 1) -> Any:
    names = PROGRAM.load()
    with njrt.using(model=Scripted([effect] * times), **make_settings(effects)):
        result = names[function](5)
        return asyncio.run(result) if function == "h" else result


# ── one way to the handlers ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("effects", get_args(EffectSet))
@pytest.mark.parametrize("function", ["g", "h"])
def test_every_effect_of_every_set_is_reported_and_counted(
    effects: EffectSet, function: str
) -> None:
    arguments = {
        "run": {"code": "x", "done": False}, "exec": {"code": "x"}, "eval": {"expr": "1"}, "raise": {"error": "nowhere"},
        "break": {}, "continue": {}, "return": {"value": "nowhere"}, "done": {}, "lookup": {"var": "x"},
        "assign": {"var": "z", "val": 1}, "deref": {"ref": ref(1)}, "ref": {"val": 1}, "setref": {"ref": ref(1), "val": 1},
        "goto": {"label": "nowhere"},
    }  # fmt: skip
    end = [call("break")] if effects not in ("direct", "baseline") else []
    ends = {"direct": call("run", code="break", done=True), "baseline": call("goto", label="break")}
    sent = (
        ["run"] if effects == "direct" else [name for name, _ in INTERFACES[effects].list_effects()]
    )
    names = [name for name in sent if name not in ("break", "continue", "done")]
    script = (
        [call(name, **arguments[name]) for name in names]
        + [call("nonsense")]
        + (end or [ends[effects]])
    )
    program = PROGRAM.load()
    with (
        njrt.using(model=Scripted(script), **make_settings(effects)),
        njrt.watch() as watch,
        njrt.limit(effects=99) as meter,
    ):
        result = program[function](5)
        asyncio.run(result) if function == "h" else result
    (account,) = watch.runs
    assert len(account.effects) == len(script) == meter.spent().effects
    reported = [performed.effect for performed in account.effects]
    assert isinstance(reported[-2], Refusal)
    if effects == "direct":
        assert isinstance(reported[0], Run)
    else:
        functions = [it.function for it in reported if isinstance(it, Perform)]
        last = "goto" if effects == "baseline" else "break"
        assert functions == [f"{effects}.{name}" for name in [*names, last]]


VALUE_SCHEMA = {"anyOf": VALUE_FORMS}


def list_offered_values(schema: Any, depth: int = 0) -> list[Any]:
    """Return a value of each form that the schema of a tool offers."""
    if "$ref" in schema:
        return list_offered_values(VALUE_SCHEMA, depth + 1) if depth < 2 else [1]
    if "anyOf" in schema:
        return [value for choice in schema["anyOf"] for value in list_offered_values(choice, depth)]
    if "enum" in schema:
        return list(schema["enum"])
    match schema["type"]:
        case "object":
            names = list(schema["properties"])
            choices = [list_offered_values(part, depth) for part in schema["properties"].values()]
            return [dict(zip(names, some, strict=True)) for some in itertools.product(*choices)]
        case "array":
            return [[], *([value] for value in list_offered_values(schema["items"], depth))]
        case kind:
            scalars = {"string": "a", "number": 2.5, "boolean": True, "null": None, "integer": 1}
            return [scalars[name] for name in ([kind] if isinstance(kind, str) else kind)]


def test_every_form_that_the_tools_offer_is_served_or_refused_with_the_forms() -> None:
    class a:  # the forms have this text everywhere
        def __init__(self) -> None:
            self.items: list[int] = []

    heap = open_heap(a())
    served, refused = set(), []
    for value in list_offered_values(VALUE_SCHEMA):
        try:
            made = decode_wire(value, heap)
        except (ValueError, TypeError) as error:  # TypeError: a list as the key of a dict
            refused.append((value, str(error)))
        else:
            served.add(type(made))
    assert served == {str, float, bool, type(None), int, list, tuple, set, dict, a} - {int}
    for value, message in refused:
        assert "forms are" in message or "attributes are" in message or "unhashable" in message, (
            value
        )
