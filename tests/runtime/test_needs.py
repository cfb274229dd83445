"""What an effect needs, found in the text of its code."""

from __future__ import annotations

import pytest

from njrt.effects import (
    Assign,
    BindOutputs,
    BreakLoop,
    Effect,
    Eval,
    Exec,
    Goto,
    RaiseNamed,
    ReturnAnswer,
    ReturnValue,
    Run,
)
from njrt.production.approval.needs import EffectNeeds, find_needs

CASES: list[tuple[Effect, str]] = [
    (Run("x = 1", True), "effects: Run"),
    (Run("import json\nreturn json.loads(t)", True), "effects: Run; jumps: return; imports: json; attributes: loads"),
    (Run("from os.path import join as j", True), "effects: Run; imports: os.path.join"),
    (Run("for x in y:\n    break\nelse:\n    continue", True), "effects: Run; jumps: continue"),
    (Run("while True:\n    return 1", True), "effects: Run; jumps: return"),
    (Run("if x:\n    break", True), "effects: Run; jumps: break"),
    (Run("with x:\n    try:\n        raise E\n    finally:\n        continue", True), "effects: Run; jumps: continue, raise"),
    (Run("def f():\n    return 1\nclass A:\n    def g(self):\n        raise E", True), "effects: Run"),
    (Run("match x:\n    case Mail(subject=s):\n        return s", True), "effects: Run; jumps: return; attributes: subject"),
    (Run("wipe = box.clear\nwipe()", True), "effects: Run; attributes: clear"),
    (Run("getattr(box, 'cle' + 'ar')()", True), "effects: Run; attributes: getattr"),
    (Run("from operator import methodcaller as m", True), "effects: Run; imports: operator.methodcaller; attributes: methodcaller"),
    (Run("box.size = 3\ndel box.lid", True), "effects: Run; attributes: lid, size"),
    (Exec("x.pop()"), "effects: Exec; attributes: pop"),
    (Eval("  x.pop()"), "effects: Eval; attributes: pop"),
    (ReturnValue("x.pop()"), "effects: ReturnValue; jumps: return; attributes: pop"),
    (ReturnValue(None), "effects: ReturnValue; jumps: return"),
    (BreakLoop(), "effects: BreakLoop; jumps: break"),
    (Goto("raise", "ValueError"), "effects: Goto; jumps: raise"),
    (ReturnAnswer(3), "effects: ReturnAnswer; jumps: return"),
    (RaiseNamed("ValueError", "x.y()"), "effects: RaiseNamed; jumps: raise"),
    (BindOutputs({"x": "import os"}), "effects: BindOutputs"),
    (Assign("x", 3), "effects: Assign"),
]  # fmt: skip


@pytest.mark.parametrize(("effect", "needs"), CASES)
def test_needs(effect: Effect, needs: str) -> None:
    assert str(find_needs(effect)) == needs


def test_code_that_cannot_be_parsed_has_no_needs() -> None:
    with pytest.raises(SyntaxError):
        find_needs(Run("x = (", True))


def test_needs_add_and_subtract() -> None:
    one, two = find_needs(Run("x.a", True)), find_needs(Run("x.b", True))
    assert str((one | two) - one) == "attributes: b"
    assert not one - (one | two)
    assert EffectNeeds() | one == one
