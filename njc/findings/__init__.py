"""The meanings of findings: one file for each code, beside this module.

# NJ217: name without brackets            its title
*warning*                                 its severity
The text reads no variable, but ...       its explanation
a program, and what is reported           the example, which the tests compile

`njc explain`, the page of diagnostics, reports for other tools and the compiler's tests read them.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from njrt.data.records import record

FOLDER = Path(__file__).parent
_FORM = re.compile(
    r"# NJ\d+: (?P<title>.+)\n\n\*(?P<severity>.+)\*\n\n(?P<explanation>.+?)\n"
    r"(?:\n```njpy\n(?P<program>.*?)```\n\n```text\n(?P<report>.*?)```\n)?",
    re.DOTALL,
)


@record
class FindingText:
    """The meaning of a code; program and report are empty if the example is no text."""

    title: str
    severity: str
    explanation: str
    program: str
    report: str


def get_file(code: str) -> Path:
    """Return the file of a code."""
    return FOLDER / f"{code}.md"


@functools.cache
def read_finding(code: str) -> FindingText:
    """Read the meaning of a code."""
    found = _FORM.fullmatch(get_file(code).read_text(encoding="utf-8"))
    assert found is not None, f"{code}.md has another form"
    return FindingText(**found.groupdict(default=""))
