"""Findings of a changed text: reading one function gives the same as reading all of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from language_programs import PROGRAMS, edit_at_random, name_program

from njc.editors.language_server.texts.quick_check import (
    analyze_always,
    check_change,
    check_text,
    find_change,
)
from njc.frontend.source import SourceFile

EDITS = 30


def make_source(text: str) -> SourceFile:
    return SourceFile("mail.njpy", text.encode())


@pytest.mark.parametrize("file", PROGRAMS, ids=name_program)
def test_random_edits_have_the_findings_of_the_whole_text(file: Path) -> None:
    generator = random.Random(name_program(file))
    text = file.read_text(encoding="utf-8")
    checked = check_text(make_source(text))
    for edited in edit_at_random(text, EDITS, generator):
        source = make_source(edited)
        checked = check_change(checked, source)
        expected = analyze_always(source).diagnostics
        assert checked.diagnostics == expected
        assert [it.hint for it in checked.diagnostics] == [it.hint for it in expected]


HEAD = '''import sys
from typing import NoReturn

count = 0

def stop() -> None:
    print("x")

class Box:
    size = 1

    def fill(self, things):
        total = 1
        return total

    @property
    def full(self):
        return self.size

def use(items):
    for item in items:
        """natural
        Put <item> into <:best>.
        """
    print(best)

def last(x):
    return x
'''


@pytest.mark.parametrize(
    ("old", "new", "is_quick"),
    [
        (
            "total = 1",
            'total = 1\n        """natural\n        Put <things> into <:total>, <undefined>.\n        """',
            True,
        ),
        ("Put <item>", "Put <itme>", True),
        ("Put <item>", "Put <item> < item >", True),
        ("    print(best)\n", "    print(best)\n    x = 1\n", True),
        ("    return x\n", "    return x\n\n    # the end\n", True),
        ("    return x\n", '    """natural\n    Return <y>.\n    """', True),
        ("    print(best)\n", "", True),
        ("Put <item> into <:best>.", "", True),
        ('    print("x")\n', '    raise ValueError("x")\n', False),
        ("    print(best)\n", "    print(best)\nx = 1\n", False),
        ("    print(best)\n", "    global best\n    print(best)\n", False),
        ("    print(best)\n", "    print(best)  # njc: ignore[NJ205]\n", False),
        ("def use(items)", "def use(itmes)", False),
        ("    print(best)\n", "    print(best", False),
        ("total = 1", 'total = """natural\nno statement\n"""', False),
        ("count = 0", "count = 1", False),
        ("size = 1", "size = 2", False),
    ],
)
def test_what_is_read_quickly(old: str, new: str, is_quick: bool) -> None:
    checked = check_text(make_source(HEAD))
    changed = HEAD.replace(old, new, 1)
    assert changed != HEAD
    for text in (changed, HEAD, changed):
        source = make_source(text)
        checked = check_change(checked, source)
        assert checked.diagnostics == analyze_always(source).diagnostics
    again = check_change(check_text(make_source(HEAD)), make_source(changed))
    assert again.is_quick == is_quick


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("", "", (0, 0)),
        ("abc", "abc", (3, 0)),
        ("aa", "aaa", (2, 0)),
        ("abc", "axc", (1, 1)),
        ("ab", "", (0, 0)),
    ],
)
def test_the_change_between_two_texts(before: str, after: str, change: tuple[int, int]) -> None:
    assert find_change(before, after) == change
