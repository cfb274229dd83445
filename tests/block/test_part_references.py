"""A path in a prompt, such as `<self.folders>`, is that part: no other use of its variable passes, in no policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import CodePolicy
from njrt.testing import Request, Scripted, UserMessage, run


@dataclass
class Box:
    items: list[int] = field(default_factory=lambda: [3, 1, 2])
    hidden: list[int] = field(default_factory=lambda: [9])
    opened: int = 0
    pair: tuple[int, int] = (1, 2)
    inner: Any = None
    log: list[str] = field(default_factory=list)

    def note(self, text: str) -> int:
        """Write a line into the log."""
        self.log.append(text)
        self.opened += 1
        return len(self.log)

    @property
    def total(self) -> int:
        return sum(self.items) + self.opened

    @property
    def broken(self) -> int:
        raise ValueError("no value")


def play(
    code: str, parts: str, policy: CodePolicy = "guarded", writes: str = "x"
) -> tuple[Box, Any, list[str]]:
    """Run a block over parts of `box`: the box, the output `x`, and what the model was told."""
    box, x = Box(inner=Box()), None
    told: list[str] = []
    waiting = iter([run(code, done=True), run("x = 'repaired'\nbox.items", done=True)])

    def answer(request: Request) -> Any:
        last = request.messages[-1]
        told.append(last.text if isinstance(last, UserMessage) else last.results[0].text)  # type: ignore[union-attr]
        return next(waiting)

    with njrt.using(model=Scripted(answer)):
        njrt.run(
            "natural\nDo it.",
            lambda: (box, x),
            writes=writes,
            reads="x",
            parts=f"box.items {parts}",
            at="case.njpy:1",
            policy=policy,
        )
    return box, x, told


REFUSED = {
    "another part": "x = box.hidden",
    "a change of another part": "box.hidden.clear()",
    "an assignment of another part": "box.hidden = []",
    "an augmented assignment": "box.opened += 1",
    "a new attribute": "box.other = 1",
    "the whole": "x = box",
    "the whole as an argument": "x = str(box)",
    "the whole in a collection": "x = [box]",
    "the whole in an f-string": "x = f'{box}'",
    "the whole by a walrus": "(y := box)",
    "getattr": "x = getattr(box, 'hidden')",
    "setattr": "setattr(box, 'hidden', 1)",
    "a match": "match box:\n    case object(hidden=y): x = y",
    "a loop": "for y in [box]: x = y.hidden",
    "a with": "with box as y: pass",
    "a comparison": "x = box == 1",
    "a function": "def f(): return box.hidden\nx = f()",
    "a default": "def f(box=box): return box.hidden\nx = f()",
    "a lambda": "x = (lambda: box.hidden)()",
    "a lambda's default": "x = (lambda box=box: box.hidden)()",
    "a comprehension": "x = [box.hidden for _ in [1]]",
    "a class": "class A:\n    y = box.hidden\nx = A.y",
    "a decorator": "@box.note\ndef f(): pass",
    "a method of the whole": "box.note('a')",
    "a rebinding": "box = 1",
    "a deletion": "del box",
    "a deletion of the part": "del box.items",
    "the part rebound": "box.items = []",
    "the part rebound in a loop": "for box.items in [[1]]: pass",
    "a longer name": "x = box.items2",
    "inside a long sum": "x = box.hidden" + " + 1" * 2000,
    "a star": "x = [*box]",
    "another nesting": "x = (box).hidden[0]",
}

FINE = {
    "the part": ("x = box.items[0]", "", 3),
    "a change of it": ("box.items.append(4)\nx = len(box.items)", "", 4),
    "an item of it": ("box.items[0] = 5\nx = box.items[0]", "", 5),
    "in a function": ("def f(): return box.items\nx = f()[0]", "", 3),
    "a parameter of the same name": ("def f(box): return box.upper()\nx = f('a')", "", "A"),
    "a lambda's": ("x = (lambda box: box + 1)(1)", "", 2),
    "an immutable part": ("box.opened += 1\nx = box.opened", "box.opened", 1),
    "a tuple": ("box.pair = (3, 4)\nx = box.pair", "box.pair", (3, 4)),
    "a method": ("x = box.note('a')", "box.note", 1),
    "a property": ("box.items.append(4)\nx = box.total", "box.total", 10),
    "a part of a part": ("box.inner.items.append(4)\nx = box.inner.items", "box.inner", [3, 1, 2, 4]),
    "an attribute of a part": ("box.inner.opened = 4\nx = box.inner.opened", "box.inner", 4),
    "a nested part": ("x = box.inner.items[0]", "box.inner.items", 3),
}  # fmt: skip


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_another_use_is_refused_before_it_runs(code: str, policy: CodePolicy) -> None:
    box, x, told = play(f"box.items.append(7)\n{code}", "", policy)
    assert x == "repaired", told
    assert box == Box(inner=Box())


@pytest.mark.parametrize(("code", "parts", "expected"), FINE.values(), ids=FINE)
def test_the_part_is_used_like_any_object(
    code: str, parts: str, expected: Any, policy: CodePolicy
) -> None:
    _, x, told = play(code, parts, policy)
    assert x == expected, told


def test_an_output_that_is_a_part_is_assigned() -> None:
    box, _, told = play("box.hidden = [1]\nx = 1", "box.hidden", writes="x box.hidden")
    assert box.hidden == [1], told
    assert "box.hidden, to be set" in told[0]


def test_locals_have_only_the_parts() -> None:
    _, x, _ = play("x = sorted(name for name in locals() if name != 'x')", "")
    assert x == ["box.items"]


def test_only_the_parts_are_shown() -> None:
    _, _, told = play("x = 1", "box.note box.total box.broken box.missing")
    lines = told[0].splitlines()[2:]
    assert lines[0] == "box.items: list[int], 3 items = [3, 1, 2]"
    assert lines[1].startswith("box.note: method Box.note(text: str) -> int")
    assert "box.total: int = 6" in lines
    assert any(line.startswith("box.broken: cannot be read: ValueError") for line in lines)
    assert "box.missing: not bound" in lines
    assert "hidden" not in told[0]


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("<self.a> and <self.b.c>", "self.a self.b.c"),
        ("<self.a> and <self>", None),
        ("<self.a> into <:self.b>", "self.a self.b"),
        ("<self>", None),
        ("<os.path>", None),
        ("<Kind.SMALL>", "Kind.SMALL"),
    ],
)
def test_the_compiled_call_says_the_parts(prompt: str, parts: str | None) -> None:
    text = f'import os\nclass Kind:\n    SMALL = 1\ndef f(self):\n    """natural\n    Use {prompt}.\n    """\n'
    output = compile_source(SourceFile("a.njpy", text.encode())).output
    assert output is not None
    assert ("parts=" in output.decode()) == (parts is not None)
    assert parts is None or f'parts="{parts}"' in output.decode()
