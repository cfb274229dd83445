"""`njc lock --authority`: the manifest is written from recordings and traces, and checked against them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from workplace import Workplace

import njrt
from njc.runs.authority import read_reply_effects
from njc.static.lock import read_lock
from njrt import Decision, Edit, PendingEffect
from njrt.effects import BindOutputs, Done, Effect, Eval, Exec, Lookup, NeedsCode, Run
from njrt.message_json import reply_from_json
from njrt.models.scripted import Said, run
from njrt.production.approval.needs import find_needs

SOURCE = '''\
def add(total, items):
    """natural(authority="code")
    Add <items> to <:total>.
    """
    return total


def name(items: tuple[int, ...]) -> str:
    """natural
    Name <items> in <:title: str>.
    """
    return title
'''


@pytest.fixture
def shop(here: Workplace) -> Workplace:
    here.write({"shop.njpy": SOURCE})
    assert here.njc("build", "shop.njpy").exit_code == 0
    return here


def play(shop: Workplace, *said: Said, call_name: str = "add", **settings: Any) -> Any:
    """Run a function of the compiled program."""
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(shop.read("shop.py"), "shop.py", "exec"), names)
    arguments = (0, [1, 2]) if call_name == "add" else ([1, 2],)
    with njrt.using(model=njrt.Scripted(said), **settings):
        return names[call_name](*arguments)


def read_sections(shop: Workplace) -> dict[str, dict[str, Any]]:
    found = tomllib.loads(shop.read("njc.lock")).get("authority", [])
    return {section["instruction"].strip(): section for section in found}


ADD, NAME = "Add <items> to <:total>.", "Name <items> in <:title: str>."
COUNT = run("import math\ntotal = math.prod(items)", done=True)


@pytest.mark.parametrize("kind", ["record", "trace"])
def test_it_is_written_from_runs_and_checked(shop: Workplace, kind: str) -> None:
    file = "recordings/shop.jsonl" if kind == "record" else "trace.jsonl"
    source = () if kind == "record" else ("--from", file)
    recorded: dict[str, Any] = {kind: shop.folder / file}
    recorded |= {"mode": "new"} if kind == "record" else {}
    play(shop, COUNT, **recorded)
    assert shop.njc("lock", "--authority", "--check", *source, ".").exit_code == 1
    assert "njc.lock" not in shop.files()
    result = shop.njc("lock", "--authority", *source, ".")
    assert result.exit_code == 0, result.output
    assert '+imports = ["math"]' in result.output
    section = read_sections(shop)[ADD]
    assert (section["file"], section["effects"], section["imports"], section["attributes"]) == (
        "shop.njpy", ["Run"], ["math"], ["prod"],
    )  # fmt: skip
    assert shop.njc("lock", "--authority", "--check", *source, ".").exit_code == 0

    play(shop, {"title": "Numbers"}, call_name="name", **recorded)
    result = shop.njc("lock", "--authority", "--check", *source, ".")
    assert result.exit_code == 1
    assert '+effects = ["BindOutputs"]' in result.output
    assert NAME not in read_sections(shop)
    shop.njc("lock", "--authority", *source, ".")
    assert read_sections(shop).keys() == {ADD, NAME}
    with njrt.using(manifest=shop.folder / "njc.lock"):
        assert play(shop, COUNT) == 2
        assert play(shop, {"title": "Numbers"}, call_name="name") == "Numbers"
        with pytest.raises(njrt.CallLimitError):
            play(shop, *[run("total = items.pop()", done=True)] * 3, max_calls=1)


def test_sections_of_changed_blocks_are_removed_and_code_is_kept(shop: Workplace) -> None:
    play(shop, COUNT, record="recordings/shop.jsonl")
    shop.njc("lock", "--authority", ".")
    before = shop.read("njc.lock")
    assert read_lock(shop.folder / "njc.lock").authority
    shop.njc("lock", ".")
    assert shop.read("njc.lock") == before
    shop.write({"shop.njpy": SOURCE.replace("Add <items>", "Count <items>")})
    result = shop.njc("lock", "--authority", ".")
    assert "-[[authority]]" in result.output
    assert read_sections(shop) == {}


def edit(pending: PendingEffect) -> Decision:
    return Edit(Run("total = len(items)", True))


def reject_first(pending: PendingEffect) -> Decision:
    return njrt.Reject("no") if pending.turn == 1 else njrt.Accept()


@pytest.mark.parametrize("kind", ["record", "trace"])
@pytest.mark.parametrize("intercept", [edit, reject_first])
def test_what_was_decided_counts(
    shop: Workplace, kind: str, intercept: Callable[[PendingEffect], Decision]
) -> None:
    play(
        shop,
        COUNT,
        run("total = 3", done=True),
        intercept=intercept,
        **{kind: shop.folder / "f.jsonl"},
    )
    result = shop.njc("lock", "--authority", "--from", "f.jsonl", ".")
    assert result.exit_code == 0, result.output
    assert read_sections(shop)[ADD]["imports"] == []


def test_refused_effects_and_questions_of_a_trace(shop: Workplace) -> None:
    play(
        shop,
        run("import os"),
        run("total = ask('How many?', int)"),
        '{"value": 3}',
        run("", done=True),
        trace=shop.folder / "t.jsonl",
    )
    shop.njc("lock", "--authority", "--from", "t.jsonl", ".")
    sections = read_sections(shop)
    assert sections[ADD]["imports"] == []
    assert sections[""]["effects"] == ["AskModel"]


def test_wrong_use_is_named(shop: Workplace) -> None:
    for arguments, problem in (
        (["--check"], "needs --authority"),
        (["--from", "x"], "needs --authority"),
        (["--authority", "--update"], "--update is about static code; --authority is not"),
        (["--authority"], "there are no recordings of these sources"),
        (["--authority", "--from", "none.jsonl"], "cannot read none.jsonl"),
    ):
        result = shop.njc("lock", *arguments, ".")
        assert (result.exit_code, problem in result.output) == (2, True), result.output


CODE = "```python\nx = 1\n```"
REPLIES: list[tuple[dict[str, Any], list[Effect]]] = [
    ({"calls": [{"id": "1", "name": "run", "code": ["x = 1"], "arguments": {"done": True}}]}, [Run("x = 1", True)]),
    ({"calls": [{"id": "1", "name": "exec", "code": ["x = 1"]}, {"id": "2", "name": "done"}]}, [Exec("x = 1"), Done()]),
    ({"calls": [{"id": "1", "name": "fly"}]}, []),
    ({"text": ['{"x": 3}']}, [BindOutputs({"x": 3})]),
    ({"text": ['{"needs_code": "why"}']}, [NeedsCode("why")]),
    ({"text": CODE.split("\n")}, [Run("x = 1\n", True)]),
    ({"text": ['{"name": "eval", "arguments": {"expr": "x"}}']}, [Eval("x")]),
    ({"text": ["```json", '{"name": "lookup", "arguments": {"var": "x"}}', "```"]}, [Lookup("x")]),
    ({"text": ["I do not know."]}, []),
]  # fmt: skip


def test_a_call_of_a_block_with_an_interface_is_one_of_its_effects() -> None:
    for said in (
        {"calls": [{"id": "1", "name": "reserve", "arguments": {"count": 2}}]},
        {"text": ["```json", '{"name": "reserve", "arguments": {"count": 2}}', "```"]},
    ):
        (effect,) = read_reply_effects(reply_from_json(said, "m"), (), has_interface=True)
        assert find_needs(effect).calls == {"reserve"}


@pytest.mark.parametrize(("reply", "effects"), REPLIES)
def test_replies_are_read_whatever_their_form(reply: dict[str, Any], effects: list[Effect]) -> None:
    assert list(read_reply_effects(reply_from_json(reply, "m"), ["Do it."])) == effects


def test_the_examples_run_under_their_manifest(tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    place = Workplace(tmp_path)
    for path in (*examples.glob("*.njpy"), *examples.glob("recordings/*.jsonl")):
        place.write({str(path.relative_to(examples)): path.read_text()})
    place.write({"pyproject.toml": "[tool.njc]\n"})
    result = place.process("lock", "--authority", ".")
    assert result.returncode == 0, result.stderr
    assert place.process("lock", "--authority", "--check", ".").returncode == 0
    assert len(read_lock(tmp_path / "njc.lock").authority) >= 5
    lines = (tmp_path / "recordings" / "citations.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["place"].startswith("citations.njpy:")
