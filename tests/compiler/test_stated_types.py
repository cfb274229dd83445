"""Types that the code around a block states: NJ308, and what `--fix` writes.

The corpus is our own programs: without their outputs' types, the stated types are the written ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc
from njc.compiler.compiler import analyze, compile_source
from njc.compiler.frontend.source import SourceFile

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    [*(ROOT / "spsbench/programs").glob("*/*.njpy"), *(ROOT / "examples").rglob("*.njpy")]
)
WIDER = {"team": "str"}
"""Types that are said, and wider than the written ones: both are right."""


def find_stated(text: str) -> dict[str, str]:
    """Return the types that NJ308 reports, by name."""
    hints = compile_source(SourceFile("mail.njpy", text.encode())).hints
    stated = [hint.message for hint in hints if hint.code == "NJ308"]
    return dict(re.findall(r"`(\w+)` is `(.*?)` by the code", "\n".join(stated)))


def test_what_is_stated_for_our_programs_is_what_was_written() -> None:
    right = 0
    for file in PROGRAMS:
        text, written = file.read_text(encoding="utf-8"), {}
        for name, type_ in re.findall(r"<:(\w+): ((?:[^<>]|->)+?)>", text):
            written.setdefault(name, type_)
        without = re.sub(r"<:(\w+): (?:[^<>]|->)+?>", r"<:\1>", text)
        analysis = analyze(SourceFile("mail.njpy", without.encode()))
        places = {(name, each.scope) for each in analysis.blocks for name in each.binds}
        stated = [(name, analysis.types.stated_type(name, scope)) for name, scope in places]
        for name, type_ in [*find_stated(without).items(), *stated]:
            if type_ is not None and name in written:
                assert str(type_) in (written[name], WIDER.get(name)), (file, name)
                right += str(type_) == written[name]
    assert right >= 3


USES = [
    ("def f(text) -> list[str]:", "return x", {}),
    ("def f(text) -> list[str]:", "if text:\n        return x", {"x": "list[str]"}),
    ("def f(text) -> 'Cart':", "while True:\n        return x", {"x": "Cart"}),
    ("def f(text) -> str | None:", "return x", {}),
    ("def f(text):", "if x:\n        return 1", {}),
    ("def f(text):", "if x:\n        return x", {}),
    ("def f(text):", "print(x.upper())", {"x": "str"}),
    ("def f(text):", "note(x)", {"x": "str"}),
    ("def f(text):", "Cart(size=x)", {"x": "int"}),
    ("def f(text):", "Cart(other=x)", {}),
    ("def f(text):", "note(x)\n    Cart(size=x)", {}),
    ("def f(text):", "note(3, anything=x)", {}),
    ("def f(text):", "for y in x:\n        print(y.strip())", {}),
    ("def f(text) -> str:", "def show():\n        return x\n    return ' '.join(show())", {}),
    ("def f(text):", "def show(x):\n        return x.upper()", {}),
    ("def f(text) -> str:", "x = len(x)\n    return x", {}),
    ("def f(text) -> str:", "if x is None:\n        return ''\n    return x", {}),
    ("def f(text) -> str:", "if isinstance(x, str):\n        return x", {}),
    ("def f(text) -> 'Iterator[str]':", "yield 1\n    return x", {}),
    ("def f(text):", "note(*text, x)", {}),
    ("def f(text):", "Box(1, x)", {}),
    ("def f(text):", "if x is not None:\n        note(x)", {}),
    ("def f(text) -> int:", "print(x.upper())\n    return x", {}),
    ("def f(text) -> int:", "print(x[0])\n    return x", {}),
    ("def f(text) -> int:", "for y in x:\n        print(y)\n    return x", {}),
    ("def f(text) -> str:", "x.append(1)\n    return x", {}),
    ("def f(text) -> int:", "if x == 'unknown':\n        return 0\n    return x", {}),
    ("def f(text) -> int:", "if x > 18:\n        return 0\n    return x", {}),
    ("def f(text):", "print(text.lower(), x)", {"text": "str"}),
    ("def f(text='a'):", "print(x)", {"text": "str"}),
    ("def f(text=3):", "print(text.lower(), x)", {}),
    ("def f(text=None):", "print(x)", {}),
    ("def f(text: str):", "print(x)", {}),
]


@pytest.mark.parametrize(("head", "below", "said"), USES)
def test_uses(head: str, below: str, said: dict[str, str]) -> None:
    text = (
        "class Cart:\n    size: int | None\n\n\nclass Box(Cart):\n    a: int\n    b: str\n\n\ndef note(text: str, anything: object = 1): ...\n\n\n"
        f'{head}\n    """natural\n    Put what <text> means into <:x>.\n    """\n    {below}\n'
    )
    assert find_stated(text) == said


OTHER_MEANINGS = {
    "a name of the class": "class Box:\n    T = int\n\n    def f(self, text) -> T:",
    "a class of the class": "class Box:\n    class T: ...\n\n    def f(self, text) -> T:",
    "another class in the module": "class T: ...\n\n\nclass Box:\n    T = int\n\n    def f(self, text) -> T:",
    "a parameter": "def g():\n    def f(text, list) -> list[int]:",
}


@pytest.mark.parametrize("head", OTHER_MEANINGS.values(), ids=OTHER_MEANINGS)
def test_a_type_with_another_meaning_in_the_block_is_not_proposed(head: str) -> None:
    block = '"""natural\n        Put what <text> means into <:x>.\n        """'
    text = f"{head}\n        {block}\n        return x\n"
    assert find_stated(text) == {}


def test_a_parameter_that_two_blocks_read_is_reported_once() -> None:
    text = "def f(text=''):\n" + '    """natural\n    Print <text>.\n    """\n' * 2
    (hint,) = (
        hint
        for hint in compile_source(SourceFile("mail.njpy", text.encode())).hints
        if hint.code == "NJ308"
    )
    assert hint.hint == "write `text: str = ''`"


def test_fix_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "mail.njpy"
    file.write_text(
        "def f(text, n=3):\n"
        '    """natural\n    Put the mean of <text> and <n> into <:x>.\n    """\n'
        "    print(text.lower())\n    return x.strip()\n"
    )
    plain = CliRunner().invoke(njc, ["check", "--fix", str(file)])
    assert plain.exit_code == 0
    assert "<:x>" in file.read_text()
    result = CliRunner().invoke(njc, ["check", "--fix", "--hints", str(file)])
    assert result.exit_code == 0, result.output
    assert "def f(text: str, n: int = 3):" in file.read_text()
    assert "<:x: str>" in file.read_text()
    compiled = compile_source(SourceFile("mail.njpy", file.read_bytes()))
    assert compiled.authorities[0].effects == "answer"
