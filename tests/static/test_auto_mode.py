"""The mode `auto`: code is tried, undone where it fails, and the live block takes over."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import black
import pytest
from studio import Studio

import njrt
from njc.evaluation.comparison.results import sum_usage_by_block
from njc.trace_lines import read_trace

GRAPH = '''\
class Stop(Exception):
    """The query says stop."""


class Graph:
    def __init__(self):
        self.edges = {1: set()}


def converse(queries: list[str], graph):
    answers = []
    for query in queries:
        """natural
        Break if <query> is "quit", raise <Stop> if it is "stop". `add A B` adds B to the edges of A in
        <graph>. Bind <:answer: str> to "done", or answer the <query>.
        """
        answers.append(answer)
    return answers
'''
CODE = """\
assert query.split()[0] in ("quit", "stop", "add")
if query == "quit":
    break
if query == "stop":
    raise Stop(
        "stopped"  # by the user
    )
_, a, b = query.split()
graph.edges[int(a)].add(int(b))
answer = "done"
answer = answer[int(b) > 100 and answer] or answer if int(b) > 100 else answer"""
LIVE = '```python\nanswer = "live"\n```'


def program(studio: Studio, source: str = GRAPH, code: str = CODE) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(studio.built(source, code, mode="auto"), space)
    return space


def converse(space: dict[str, Any], queries: list[str]) -> tuple[list[str], Any, list[Any]]:
    """Run the program; give its answers, its graph and what the live model was asked."""
    model = njrt.Scripted(lambda request: LIVE, protocol="text")
    graph = space["Graph"]()
    with njrt.using(model=model):
        return space["converse"](queries, graph), graph.edges, model.requests


def test_code_answers_what_it_is_fit_for(studio: Studio) -> None:
    answers, edges, asked = converse(program(studio), ["add 1 2", "add 1 3", "quit", "add 1 4"])
    assert (answers, edges, asked) == (["done", "done"], {1: {2, 3}}, [])


def test_the_live_block_answers_the_rest(studio: Studio) -> None:
    answers, edges, asked = converse(program(studio), ["add 1 2", "who?", "add 7 2", "add 1 101"])
    assert answers == ["done", "live", "live", "live"]
    assert edges == {1: {2}}, "what the code did before it failed is undone"
    assert len(asked) == 3


def test_counters_tell_how_often(studio: Studio) -> None:
    before = njrt.attempts().get("program.njpy:13")
    made = before.made if before else 0
    converse(program(studio), ["add 1 2", "who?", "add 7 2"])
    tally = njrt.attempts()["program.njpy:13"]
    assert tally.made - made == 3
    assert tally.live >= 2


def test_accounts_tell_how_each_run_was_done(studio: Studio) -> None:
    space = program(studio)
    with njrt.watch() as watch:
        converse(space, ["add 1 2", "who?", "add 7 2", "quit"])
    assert [run.tried for run in watch.runs] == ["ran", "unfit", "raised", "ran"]
    assert [len(run.calls) for run in watch.runs] == [0, 1, 1, 0]
    assert (watch.totals.by_code, watch.totals.unfit, watch.totals.raised) == (2, 1, 1)
    assert str(watch.totals).endswith(" s, 2 by code (1 unfit, 1 raised)")
    last = njrt.last_run()
    assert last is not None
    assert (last.place, last.tried, last.outcome) == ("program.njpy:13", "ran", "completed")


def test_the_trace_tells_it_too(studio: Studio) -> None:
    space = program(studio)
    with njrt.using(trace=studio.folder / "t.jsonl"):
        converse(space, ["add 1 2", "who?"])
    events = [json.loads(line) for line in studio.read("t.jsonl").splitlines()]
    assert [event.get("tried") for event in events if event["event"] == "began"] == ["ran", "unfit"]
    used = sum_usage_by_block(read_trace(studio.folder / "t.jsonl"))["program.njpy:13"]
    assert used.calls == 1


def test_values_of_another_shape_are_left_to_the_live_block(studio: Studio) -> None:
    source = GRAPH.replace("graph):", "graph: Graph):").replace("queries: list[str]", "queries")
    answers, _, asked = converse(program(studio, source), ["add 1 2"])
    assert (answers, len(asked)) == (["done"], 0)
    space = program(studio, source)
    with njrt.using(model=njrt.Scripted(lambda request: LIVE, protocol="text")):
        assert space["converse"](["add 1 2"], {1: set()}) == ["live"], "no Graph"


def test_what_the_block_raises_reaches_the_program(studio: Studio) -> None:
    space = program(studio)
    with pytest.raises(space["Stop"], match="stopped") as caught:
        converse(space, ["stop"])
    assert caught.value.__context__ is None


def test_the_compiled_form(studio: Studio) -> None:
    text = studio.built(GRAPH, CODE, mode="auto")
    assert '_nj_try.guard(query.split()[0] in ("quit", "stop", "add"))' in text
    assert "raise _nj_try.meant(Stop(" in text
    assert black.format_str(text, mode=black.Mode()) == text
    lock = studio.read("njc.lock")
    assert 'mode = "auto"' in lock
    assert "begin with `assert` lines" in studio.asked[0].messages[-1].text  # type: ignore[union-attr]


def test_annotations_are_part_of_the_guard(studio: Studio) -> None:
    source = 'def f(n: int, names: list[str], x: float):\n    """natural\n    Set <:y> by <n>, <names>, <x>.\n    """\n    return y\n'
    text = studio.built(source, "assert n > 0\nassert x or names\ny = n", mode="auto")
    assert (
        '        _nj_try.expect(n="int", names="list[str]", x="float")\n'
        "        _nj_try.guard(n > 0 and (x or names))\n        y = n\n"
    ) in text


def test_what_needs_judgement_stays_live(studio: Studio) -> None:
    text = studio.built(GRAPH, 'answer = llm(f"{query}?")', mode="auto")
    assert "attempt" not in text
    assert "_nj.run(" in text
    result = studio.njc("lock", ".", "--mode", "auto")
    assert "stays live: it needs judgement" in result.stdout


def test_bindings_are_put_back(studio: Studio) -> None:
    source = 'def f(x, y):\n    """natural\n    Change <:y> by <x>.\n    """\n    return y\n'
    space: dict[str, Any] = {}
    exec(studio.built(source, "y = 5\ny += 1 / x", mode="auto"), space)
    seen = njrt.Scripted(lambda request: "```python\ny += 1\n```", protocol="text")
    with njrt.using(model=seen):
        assert space["f"](0, 1) == 2, "1 and 1: the 5 of the code is gone"


def test_generators_and_coroutines(studio: Studio) -> None:
    source = 'async def f(x):\n    """natural\n    Set <:y> by <x>.\n    """\n    return y\n'
    assert "await _nj_try.arun(" in studio.built(source, "y = x", mode="auto")


def test_an_output_of_another_type_is_left_to_the_live_block(studio: Studio) -> None:
    source = (
        'def f(n):\n    """natural\n    Bind <:y: str> to <n> as text.\n    """\n    return y\n'
    )
    code = "y = str(n) if n else n"
    text = studio.built(source, code, mode="auto")
    assert "        y = str(n) if n else n\n        _nj_try.check()\n" in text
    assert black.format_str(text, mode=black.Mode()) == text
    space: dict[str, Any] = {}
    exec(text, space)
    with njrt.using(model=njrt.Scripted(["```python\ny = 'none'\n```"], protocol="text")):
        assert [space["f"](3), space["f"](0)] == ["3", "none"]


OWN_EXCEPTIONS = {
    "a bare raise in a handler of the program": ("if x:\n    raise\ny = 2", "Raise it again.", "ValueError: 1"),
    "one of the code's own error": ("try:\n    y = x / 0\nexcept ArithmeticError:\n    raise", "Divide.", "ZeroDivisionError"),
    "one on the line of its condition": ("if x: raise\ny = 2", "Raise it again.", "ValueError: 1"),
    "one that the code catches": ("try:\n    raise\nexcept ValueError:\n    y = x / 0", "Divide.", "live"),
    "an exception in except*": ("try:\n    y = x / 0\nexcept* ArithmeticError:\n    raise KeyError(x)", "Divide.", "KeyError: 1"),
    "a bare raise in except*": ("try:\n    y = x / 0\nexcept* ArithmeticError:\n    raise", "Divide.", "ExceptionGroup"),
    "a mistake": ("y = x / 0", "Divide.", "live"),
    "a late assert that the block asks for": ("y = x\nassert y > 1, 'low'", "Assert that <x> is above 1.", "AssertionError: low"),
    "one of several lines": ("y = x\nassert (\n    y > 0\n    and y > 1\n)", "Assert that <x> is above 1.", "AssertionError"),
    "one that fails by an error": ("y = x\nassert y / 0", "Assert that <x> can divide.", "live"),
    "one that the code catches itself": ("try:\n    assert x > 1\n    y = x\nexcept AssertionError:\n    y = 'low'", "Assert that <x> is above 1.", "low"),
    "a late assert of the model": ("y = x\nassert y > 1", "Double <x>.", "live"),
    "a guard": ("assert x > 1\ny = x", "Assert that <x> is above 1.", "live"),
}  # fmt: skip
"""Code of a block that handles `ValueError(1)`, the instruction, and the result: an exception, or the live block's."""


@pytest.mark.parametrize("case", OWN_EXCEPTIONS)
@pytest.mark.parametrize("is_async", [False, True])
def test_the_own_exceptions_of_a_block_ask_no_model(
    studio: Studio, case: str, is_async: bool
) -> None:
    code, instruction, expected = OWN_EXCEPTIONS[case]
    source = (
        "def f(x):\n    try:\n        raise ValueError(x)\n    except ValueError:\n"
        f'        """natural\n        {instruction} Put the result for <x> into <:y>.\n        """\n'
        "        return y\n"
    )
    space: dict[str, Any] = {}
    exec(studio.built(f"{'async ' * is_async}{source}", code, mode="auto"), space)
    model = njrt.Scripted(lambda request: '```python\ny = "live"\n```', protocol="text")
    with njrt.using(model=model):
        try:
            result = asyncio.run(space["f"](1)) if is_async else space["f"](1)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
            assert njrt.last_run().tried == "ran"  # type: ignore[union-attr]
    assert result.startswith(expected)
    assert len(model.requests) == (expected == "live")
