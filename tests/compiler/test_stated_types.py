"""Types that the words of a prompt or the code around it state: NJ308, and what `--fix` writes.

The corpus is our own programs, whose types are written: without those of their outputs, what is stated must be what was written.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc
from njc.compiler import compile_source
from njc.frontend.source import SourceFile

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
    return dict(re.findall(r"`(\w+)` is `(.*?)` by the words", "\n".join(stated)))


def test_what_is_stated_for_our_programs_is_what_was_written() -> None:
    right = 0
    for file in PROGRAMS:
        text, written = file.read_text(encoding="utf-8"), {}
        for name, type_ in re.findall(r"<:(\w+): ((?:[^<>]|->)+?)>", text):
            written.setdefault(name, type_)
        without = re.sub(r"<:(\w+): (?:[^<>]|->)+?>", r"<:\1>", text)
        for name, type_ in find_stated(without).items():
            if name in written:
                assert type_ in (written[name], WIDER.get(name)), (file, name)
                right += type_ == written[name]
    assert right >= 15


WORDS = [
    ("Compute the mean of <text> as <:x> as a float.", "float"),
    ("Compute the mean of <text> as <:x>, a float.", "float"),
    ("Put into <:x> (an integer) the length of <text>.", "int"),
    ("Store the mood of <text> in the boolean <:x>.", "bool"),
    ("Put the names in <text> into a list of strings <:x>.", "list[str]"),
    ("Put into <:x>, a set of integers, the years in <text>.", "set[int]"),
    ("Put into <:x> as a tuple of floats the prices in <text>.", "tuple[float, ...]"),
    ("Read <text>, and store it in <:x> as a <Cart>.", "Cart"),
    ("Read <text> into <:x>, a <Cart>.", "Cart"),
    ("Decide into <:x> whether <text> is polite.", "bool"),
    ("Store whether <text> is polite in <:x>.", "bool"),
    ("Set <:x> to true or false, as <text> says.", "bool"),
    ("Count the vowels of <text> into <:x>.", "int"),
    ("Put the number of vowels of <text> into <:x>.", "int"),
    ("Classify <text> as <:x>: either positive, neutral, or negative.", 'Literal["positive", "neutral", "negative"]'),
    ('Put into <:x> the team for <text>, one of "billing", "it" or "sales".', 'Literal["billing", "it", "sales"]'),
]  # fmt: skip
SILENT = [
    "Put into <:x> what <text> says about floats.",
    "Find out whether <text> is an expense, and put its kind into <:x>.",
    "Count how often each word of <text> occurs into <:x>.",
    "Put either of <text> into <:x>.",
    "Put into <:x> the best offer in <text>. An integer is not needed.",
    "Put <text> into <:x: bytes> as a float.",
    "Put <text> into <:x.y> as a float.",
    "Put a <Cart> and <text> into <:x>.",
]


@pytest.mark.parametrize(("prompt", "type_"), WORDS)
def test_words(prompt: str, type_: str) -> None:
    text = (
        f'class Cart: ...\n\n\ndef f(text):\n    """natural\n    {prompt}\n    """\n    print(x)\n'
    )
    assert find_stated(text)["x"] == type_


@pytest.mark.parametrize("prompt", SILENT)
def test_words_without_a_type(prompt: str) -> None:
    text = (
        f'class Cart: ...\n\n\ndef f(text):\n    """natural\n    {prompt}\n    """\n    print(x)\n'
    )
    assert "x" not in find_stated(text)


USES = [
    ("def f(text) -> list[str]:", "return x", {"x": "list[str]"}),
    ("def f(text) -> 'Cart':", "return x", {"x": "Cart"}),
    ("def f(text) -> str | None:", "return x", {}),
    ("def f(text):", "if x:\n        return 1", {"x": "bool"}),
    ("def f(text):", "if not x:\n        return 1", {"x": "bool"}),
    ("def f(text):", "if x:\n        return x", {}),
    ("def f(text):", "print(x.upper())", {"x": "str"}),
    ("def f(text):", "for y in x:\n        print(y.strip())", {"x": "list[str]"}),
    ("def f(text) -> int:", "print(x.upper())\n    return x", {}),
    ("def f(text):", "print(text.lower(), x)", {"text": "str"}),
    ("def f(text='a'):", "print(x)", {"text": "str"}),
    ("def f(text=3):", "print(text.lower(), x)", {}),
    ("def f(text=None):", "print(x)", {}),
    ("def f(text: str):", "print(x)", {}),
]


@pytest.mark.parametrize(("head", "below", "said"), USES)
def test_uses(head: str, below: str, said: dict[str, str]) -> None:
    text = f'class Cart: ...\n\n\n{head}\n    """natural\n    Put what <text> means into <:x>.\n    """\n    {below}\n'
    assert find_stated(text) == said


def test_calls_in_the_file() -> None:
    block = 'def f(text, n):\n    """natural\n    Put <text> and <n> into <:x>.\n    """\n    print(x)\n'
    assert find_stated(f'{block}\n\nf("a", 1)\nf(f"b{{1}}", n=2)\n') == {"text": "str", "n": "int"}
    assert find_stated(f'{block}\n\nf("a", 1)\nf(3, g())\n') == {}


def test_fix_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "mail.njpy"
    file.write_text(
        "def f(text, n=3):\n"
        '    """natural\n    Put the mean of <text> and <n> into <:x> as a float.\n    """\n'
        "    return x\n\n\nprint(f('4 and 5'))\n"
    )
    plain = CliRunner().invoke(njc, ["check", "--fix", str(file)])
    assert plain.exit_code == 0
    assert "<:x>" in file.read_text()
    result = CliRunner().invoke(njc, ["check", "--fix", "--hints", str(file)])
    assert result.exit_code == 0, result.output
    assert "def f(text: str, n: int = 3):" in file.read_text()
    assert "<:x: float>" in file.read_text()
    compiled = compile_source(SourceFile("mail.njpy", file.read_bytes()))
    assert compiled.authorities[0].effects == "answer"
