"""The effect set `direct` and those of the paper, on the same small programs: what a prompt may request, and what that does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from programs import Program

from case_programs import read_program
from njrt.block.session.settings import using
from njrt.errors import CodeTimeLimitError
from njrt.testing import Scripted, ToolCall, call
from spsbench.interfaces import EffectSet, make_settings

Script = list[list[ToolCall]]


def ref(address: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": address}


def items(**pairs: Any) -> dict[str, Any]:
    return {"type": "dict", "items": [{"key": key, "value": pairs[key]} for key in pairs]}


DONE = call("done")

JUMPS = Program('''
    def f(error):
        for round in (1, 2):
            """natural
            Leave with <error> in the way that <:how> says.
            """
            return "completed", how
        else:
            return "exhausted"
        return "broken"
''')


@pytest.mark.parametrize(
    ("effects", "script"),
    [
        ("shared-python", [[call("raise", error="error")]]),
        ("shared-eval", [[call("raise", variable="error")]]),
        ("isolated-eval", [[call("raise", error="error")]]),
        ("baseline", [[call("lookup", var="error")], [call("goto", label="raise", val=ref(1))]]),
    ],
)
def test_raise_raises_the_very_object(effects: EffectSet, script: Script) -> None:
    error = LookupError("mine")
    with pytest.raises(LookupError) as caught:
        JUMPS.call("f", error, says=script, **make_settings(effects))
    assert caught.value is error


PLAIN = Program(read_program("paper_effects_plain"))
MISTAKES: list[tuple[EffectSet, ToolCall, str]] = [
    ("baseline", call("lookup", var="nowhere"), "there is no variable `nowhere`; the variables are: x, Stubborn, y"),
    ("baseline", call("assign", var="y", val=ref(4)), "there is no reference 4"),
    ("baseline", call("ref", val={"type": "dict", "items": [{"key": [], "value": 1}]}), "unhashable"),
    ("baseline", call("goto", label="break", val=None), "`break` is not possible here; the labels are raise, return"),
    ("baseline", call("goto", label="raise", val="Stubborn: x"), "TypeError"),
    ("baseline", call("done"), "`y` is not bound yet"),
    ("baseline", call("exec", code="y = 1"), "there is no tool `exec`"),
    ("isolated-eval", call("eval", expr="x"), "`x`"),
    ("isolated-eval", call("eval", expr="y = 1"), "must be one expression"),
    ("shared-eval", call("eval", expr="y = 1"), "must be one expression"),
    ("shared-python", call("eval", expr="y = 1"), "statements are not possible here"),
    ("shared-python", call("break"), "`break` is not possible here"),
    ("shared-python", call("raise", error="nothing"), "`nothing` is not visible in this block"),
    ("shared-python", call("raise", error="x"), "exceptions must derive from BaseException"),
    ("shared-python", call("raise", error="Stubborn"), "TypeError"),
    ("shared-python", call("return", variable="nothing"), "`nothing` is not visible in this block"),
]  # fmt: skip


@pytest.mark.parametrize(("effects", "mistake", "advice"), MISTAKES)
def test_mistakes_are_answered(effects: EffectSet, mistake: ToolCall, advice: str) -> None:
    way_out = [call("goto", label="return", val=1)] if effects == "baseline" else None
    script = [[mistake], way_out or [call("return", variable=None)]]
    PLAIN.call("f", 3, says=script, **make_settings(effects))
    assert advice in PLAIN.told()[1]


@pytest.mark.parametrize(("name", "ended"), [("Frozen", 1), ("Endless", CodeTimeLimitError)])
def test_an_update_may_run_the_programs_own_code(name: str, ended: Any) -> None:
    target = PLAIN.load()[name]()
    script = [
        [call("lookup", var="x"), call("setref", ref=ref(1), val=items(a=1))],
        [call("goto", label="return", val=1)],
    ]
    settings = make_settings("baseline") | {"max_code_seconds": 0.2}
    if ended == 1:
        assert PLAIN.call("f", target, says=script, **settings) == 1
        assert "RuntimeError: frozen" in PLAIN.told()[2]
    else:
        with pytest.raises(ended):
            PLAIN.call("f", target, says=script, **settings)


def test_a_return_with_a_value_is_refused_where_only_a_bare_one_is_possible() -> None:
    async def consume() -> list[int]:
        return [number async for number in PLAIN.load()["g"]()]

    model = Scripted(
        [[call("goto", label="return", val=1)], [call("goto", label="return", val=None)]]
    )
    with using(model=model, **make_settings("baseline")):
        assert asyncio.run(consume()) == []
    assert "only a `return` without a value" in str(model.requests[1].messages[-1])


PAPERS_WRITES: list[tuple[EffectSet, ToolCall]] = [
    ("baseline", call("assign", var="x", val=2)),
    ("isolated-eval", call("assign", var="x", val=2)),
    ("shared-eval", call("assign", var="x", val=2)),
    *(("baseline", call("assign", var=name, val=2)) for name in ("z", "len")),
    *(
        (effects, call("exec", code=code))
        for effects in ("shared-python", "nightjar")
        for code in (
            "x = 2",
            "x += 1",
            "del x",
            "for x in [2]: pass",
            "def x(): pass",
            "import math as x",
        )
    ),
]


@pytest.mark.parametrize(("effects", "write"), PAPERS_WRITES)
def test_the_papers_sets_bind_only_what_the_block_may_write(
    effects: EffectSet, write: ToolCall
) -> None:
    text = '''
        def f(x):
            """natural
            Put <x> into <:y>.
            """
            return x, y
    '''
    assigns = effects in ("baseline", "isolated-eval", "shared-eval")
    way = call("assign", var="y", val=1) if assigns else call("exec", code="y = 1")
    model = Scripted([[write], [way], [DONE]])
    with using(model=model, **make_settings(effects)):
        assert Program(text).load()["f"](1) == (1, 1)
    refusal = str(model.requests[1].messages[-1])
    words = ("is read-only in this block", "is not an output", "exists already")
    assert any(part in refusal for part in words)


def test_code_of_the_papers_sets_has_names_of_its_own() -> None:
    script = [[call("exec", code="half = x / 2\ny = half")], [DONE]]
    assert PLAIN.call("f", 4, says=script, **make_settings("shared-python")) == 2


def test_eval_answers_with_a_bounded_text() -> None:
    script = [[call("eval", expr="'x' * 1_000_000")], [call("return", variable=None)]]
    PLAIN.call("f", 0, says=script, **make_settings("shared-eval"))
    assert 100 < len(PLAIN.told()[1]) <= 2000


@pytest.mark.parametrize("effects", ["shared-python", "baseline", "direct"])
def test_the_text_protocol_takes_calls_as_json(effects: EffectSet) -> None:
    says = {
        "shared-python": [
            '```json\n{"name": "exec", "arguments": {"code": "y = x"}}\n```',
            '```json\n{"name": "done", "arguments": {}}\n```',
        ],
        "baseline": ['{"name": "assign", "arguments": {"var": "y", "val": 5}}', '{"name": "done"}'],
        "direct": ["```python\ny = x\n```"],
    }
    assert PLAIN.call("f", 5, says=says[effects], **make_settings(effects), protocol="text") == 5
    assert PLAIN.model.requests[0].tools == ()


@pytest.mark.parametrize("effects", ["shared-eval", "isolated-eval"])
def test_an_evaluated_object_comes_with_its_reference(effects: str) -> None:
    shared = effects == "shared-eval"
    target: list[int] = [1]
    first = [call("eval", expr="x" if shared else "[1]"), call("eval", expr="1 + 1")]
    script = [
        first,
        [call("setref", ref=ref(1), val=[7]), call("assign", var="y", val=ref(1)), call("done")],
    ]
    y = PLAIN.call("f", target, says=script, **make_settings(effects))
    assert y == [7]
    assert (y is target) == shared
    assert PLAIN.told()[1:] == ['[1]\n{"type": "Ref", "addr": 1, "class": "list"}', "2"]
