"""What is wrong with static blocks is reported as all findings are: by code, for people and for programs.

`pytest tests/static --update-cases` writes the reports in njc/findings anew: read the diff.
"""

from __future__ import annotations

import json
from functools import partial

import pytest
from studio import Studio

from njc.findings import get_file, read_finding

STATIC = ("--mode", "static", "--attempts", "1")
GOOD = "```python\nif spent + price > limit:\n    break\nspent += price\n```"
BAD = "```python\nlimit -= price\n```"


def locked(studio: Studio, name: str) -> None:
    """Build the program once, so that its code is in the lock."""
    studio.njc("build", name, *STATIC, replies=[GOOD])


@pytest.mark.parametrize("code", [f"NJ40{number}" for number in range(1, 7)])
def test_findings_of_static_builds(studio: Studio, code: str, update_cases: bool) -> None:
    name = f"{code}.njpy"
    finding = read_finding(code)
    program = finding.program
    studio.write({name: program})
    flags: list[str] = []
    match code:
        case "NJ402":
            flags = ["--locked"]
        case "NJ403":
            studio.edit(name, "but break before", "and break once")
            locked(studio, name)
            studio.edit("njc.lock", "spent += price", "spent = spent + price")
            studio.write({name: program})
        case "NJ405":
            flags = ["--mode", "reviewed"]
        case "NJ406":
            locked(studio, name)
            flags = ["--mode", "reviewed", "--locked"]
        case "NJ404":
            locked(studio, name)
            studio.edit("njc.lock", "spent += price", "spent += prices")
    build = partial(studio.njc, "build", name, *STATIC, *flags, replies=[BAD], code=1)
    shown = build().stderr
    report = shown[shown.index(f"{name}:") :].removeprefix(f"{name}:total\n")
    reported = report.split("\n1 error")[0] + "\n"
    if update_cases:
        text = get_file(code).read_text(encoding="utf-8")
        get_file(code).write_text(text.replace(finding.report, reported), encoding="utf-8")
    assert reported == finding.report
    assert "nothing was written" in report
    (found,) = json.loads(build("--output-format", "json").stdout)
    assert (found["code"], found["path"], found["line"], found["column"]) == (code, name, 4, 9)
    assert found["hint"]
    github = build("--output-format", "github").stdout
    assert github.startswith(f"::error file={name},line=4,endLine=4,col=9,")
