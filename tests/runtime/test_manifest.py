"""The manifest of a lock file is enforced: on the model's effects, and on those that others have edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.decisions import Decision, PendingEffect
from njrt.effects import (
    AskModel,
    BindOutputs,
    BreakLoop,
    Effect,
    Goto,
    NeedsCode,
    ReturnAnswer,
    Run,
    Touch,
)
from njrt.models.scripted import Said, run
from njrt.production.approval.manifest import BlockAuthority, Manifest
from njrt.production.approval.needs import EffectNeeds

LOCK = """
version = 1

[[authority]]
file = "case.njpy"
instruction = '''
Work on <x>, giving <:y>.
'''
effects = ["Run", "BindOutputs", "Goto"]
jumps = ["break"]
imports = ["json"]
attributes = ["append", "loads"]

[[authority]]
file = "asks.njpy"
instruction = ""
effects = ["AskModel"]
"""

ALLOWED = BlockAuthority("a.njpy", "Do it.", ["Run", "Goto", "BindOutputs"], ["break"], ["json"], ["append", "loads"], ["shop.pay"])  # fmt: skip


def decide(effect: Effect, place: str = "a.njpy:3", instruction: str = "Do it.") -> Decision:
    pending = PendingEffect("r", None, place, 1, 1, effect, "direct", instruction, False, dict)
    return Manifest("njc.lock", [ALLOWED])(pending)


DECIDED: list[tuple[Effect, str]] = [
    (Run("y = [x]; y.append(1)", True), ""),
    (Run("import json\nif x: break\ny = json.loads(x)", True), ""),
    (Run("for z in x:\n    continue", True), ""),
    (Goto("break", None), ""),
    (BindOutputs({"y": 1}), ""),
    (Run("import os", True), "imports: os"),
    (Run("from json import loads", True), "imports: json.loads"),
    (Run("x.clear()", True), "attributes: clear"),
    (Run("f = x.clear\nf()", True), "attributes: clear"),
    (Run("getattr(x, 'clear')()", True), "attributes: getattr"),
    (Run("return x", True), "jumps: return"),
    (Goto("return", 1), "jumps: return"),
    (BreakLoop(), "effects: BreakLoop"),
    (ReturnAnswer(3), "effects: ReturnAnswer; jumps: return"),
    (NeedsCode("why"), "effects: NeedsCode"),
    (Run("x = (", True), "cannot be read as Python"),
    (Touch("shop.pay", {"order": 3}), ""),
    (Touch("shop.refund", {"order": 3}), "calls: shop.refund"),
]


@pytest.mark.parametrize(("effect", "problem"), DECIDED)
def test_what_is_not_allowed_is_rejected(effect: Effect, problem: str) -> None:
    decision = decide(effect)
    if problem:
        assert isinstance(decision, njrt.Reject)
        assert problem in decision.words
    else:
        assert decision == njrt.Accept()


@pytest.mark.parametrize(
    ("effect", "place", "instruction"),
    [
        (Run("y = 1", True), "a.njpy:3", "Do it now."),
        (Run("y = 1", True), "b.njpy:3", "Do it."),
        (AskModel("Is it?"), "a.njpy:3", "Do it."),
    ],
)
def test_a_block_without_a_section_is_ended(effect: Effect, place: str, instruction: str) -> None:
    decision = decide(effect, place, instruction)
    assert isinstance(decision, njrt.Abort)
    assert "the manifest njc.lock does not have" in str(decision.error)


def work(x: Any) -> Any:
    y = None
    njrt.run(
        "natural\nWork on <x>, giving <:y>.",
        lambda: (x, y),
        writes="y",
        at="case.njpy:7",
        effects="direct",
    )
    return y


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "njc.lock"
    path.write_text(LOCK)
    return path


def test_the_model_is_told_and_may_do_without(lock: Path) -> None:
    script: list[Said] = [run("y = x.pop()", done=True), run("y = len(x)", done=True)]
    model = njrt.Scripted(script)
    with njrt.using(model=model, manifest=lock):
        assert work([1, 2]) == 2
    assert "does not allow that here (attributes: pop)" in str(model.requests[1].messages[-1])
    with (
        njrt.using(model=njrt.Scripted(["yes"]), manifest=lock),
        pytest.raises(njrt.PolicyError, match=r"questions of njrt\.llm"),
    ):
        njrt.llm("Is it?")


@pytest.mark.parametrize("inside", [True, False])
def test_an_edit_cannot_go_beyond_it(lock: Path, inside: bool) -> None:
    def edit(pending: PendingEffect) -> Decision:
        return njrt.Edit(Run("y = x.pop()", True)) if pending.turn == 1 else njrt.Accept()

    script = [run("y = 1", done=True), run("y = 2", done=True)]
    settings: list[dict[str, Any]] = [{"manifest": lock}, {"intercept": edit}]
    outer, inner = settings if inside else settings[::-1]
    with njrt.using(model=njrt.Scripted(script)), njrt.using(**outer), njrt.using(**inner):
        assert work([1, 2]) == 2


def test_it_is_enforced_in_a_replay_of_accepted_effects(lock: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    model = njrt.Scripted([run("y = x.pop()", done=True)])
    with njrt.using(model=model, record=path, intercept=lambda pending: njrt.Accept()):
        assert work([1, 2]) == 2
    with (
        njrt.using(record=path, mode="none", manifest=lock),
        pytest.raises(njrt.RecordingMismatchError),
    ):
        work([1, 2])


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "No such file"), ("authority = 3", "tuple"), ("[[authority]]\nfile = 'a'", "0.instruction"), ("x", "Expected")],
)  # fmt: skip
def test_a_manifest_that_cannot_be_read_is_an_error(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    path = tmp_path / "njc.lock"
    if text is not None:
        path.write_text(text)
    with (
        pytest.raises(
            njrt.ConfigurationError, match=f"manifest .*njc.lock cannot be read: .*{problem}"
        ),
        njrt.using(manifest=path),
    ):
        raise AssertionError("the manifest was accepted")


def test_sections_add_up_to_what_is_allowed() -> None:
    assert ALLOWED.allowed | EffectNeeds() == ALLOWED.allowed
    assert ALLOWED.key == ("a.njpy", "Do it.")
