"""Types that the code around a block states.

The corpus is our own programs: without their outputs' types, the stated types are the written ones.
"""

from __future__ import annotations

import re
from pathlib import Path

from njc.compiler.compiler import analyze
from njc.compiler.frontend.source import SourceFile

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    [*(ROOT / "spsbench/programs").glob("*/*.njpy"), *(ROOT / "examples").rglob("*.njpy")]
)
WIDER = {"team": "str"}
"""Types that are said, and wider than the written ones: both are right."""


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
        for name, type_ in stated:
            if type_ is not None and name in written:
                assert str(type_) in (written[name], WIDER.get(name)), (file, name)
                right += str(type_) == written[name]
    assert right >= 3
