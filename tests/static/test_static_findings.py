"""What is wrong with static blocks is reported as all findings are: by code, for people and for programs.

`pytest tests/static --update-cases` writes the reports in njc/findings anew: read the diff.
"""

from __future__ import annotations

import json

import pytest
from studio import Studio

from njc.compiler.frontend.diagnostics import SEVERITIES
from njc.findings import get_file, read_finding

STATIC = ("--mode", "static", "--attempts", "1")
GOOD = "```python\nif spent + price > limit:\n    break\nspent += price\n```"
BAD = "```python\nlimit -= price\n```"


def locked(studio: Studio, name: str) -> None:
    """Build the program once, so that its code is in the lock."""
    assert studio.njc("build", name, *STATIC, replies=[GOOD]).exit_code == 0


def edit(studio: Studio, file: str, before: str, after: str) -> None:
    text = studio.read(file)
    assert before in text
    studio.write({file: text.replace(before, after)})


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
            edit(studio, name, "but break before", "and break once")
            locked(studio, name)
            edit(studio, "njc.lock", "spent += price", "spent = spent + price")
            studio.write({name: program})
        case "NJ405":
            flags = ["--mode", "reviewed"]
        case "NJ406":
            locked(studio, name)
            flags = ["--mode", "reviewed", "--locked"]
        case "NJ404":
            locked(studio, name)
            edit(studio, "njc.lock", "spent += price", "spent += prices")
    arguments = ("build", name, *STATIC, *flags)
    result = studio.njc(*arguments, replies=[BAD])
    assert result.exit_code == 1
    report = result.stderr[result.stderr.index(f"{name}:") :].removeprefix(f"{name}:total\n")
    reported = report.split("\n1 error")[0] + "\n"
    if update_cases:
        text = get_file(code).read_text(encoding="utf-8")
        get_file(code).write_text(text.replace(finding.report, reported), encoding="utf-8")
    assert reported == finding.report
    assert "nothing was written" in report
    (found,) = json.loads(studio.njc(*arguments, "--output-format", "json", replies=[BAD]).stdout)
    assert (found["code"], found["path"], found["line"], found["column"]) == (code, name, 4, 9)
    assert found["hint"]
    github = studio.njc(*arguments, "--output-format", "github", replies=[BAD]).stdout
    assert github.startswith(f"::error file={name},line=4,endLine=4,col=9,")


def test_all_of_them_are_explained(studio: Studio) -> None:
    for code in (code for code in SEVERITIES if code.startswith("NJ4")):
        assert read_finding(code).title in studio.njc("explain", code).stdout
