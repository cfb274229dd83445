"""`njc check`: all findings, in every format, and the exit code."""

from __future__ import annotations

import json
import os

import pytest
from workplace import GREETING, MISSPELT, NOT_PYTHON, Workplace

from njc.commands import njc

UNUSED = 'def f():\n    """natural\n    Find an <:answer>.\n    """\n'


def test_all_findings_of_all_files(here: Workplace) -> None:
    here.write({"src/a.njpy": MISSPELT, "src/b.njpy": NOT_PYTHON, "src/c.njpy": UNUSED})
    result = here.njc("check", "src", code=1)
    assert "src/a.njpy:3:11: error[NJ201]" in result.stdout
    assert "    Greet <nmae> in a <:greeting>." in result.stdout
    assert "did you mean `name`?" in result.stdout
    assert "src/b.njpy:1:" in result.stdout, "not Python is found even where no block stands"
    assert "src/c.njpy:3:13: warning[NJ204]" in result.stdout
    assert "2 errors, 1 warning in 3 files" in result.stderr
    assert here.files() == ["src/a.njpy", "src/b.njpy", "src/c.njpy"]


@pytest.mark.parametrize("by", ["project", "environment"])
def test_warnings_as_errors(here: Workplace, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write({"c.njpy": UNUSED})
    here.njc("check", "c.njpy")
    if by == "project":
        here.write({"pyproject.toml": '[tool.njc]\nwarnings = "error"\n'})
    if by == "environment":
        monkeypatch.setenv("NJC_WARNINGS", "error")
    assert "error[NJ204]" in here.njc("check", "c.njpy", code=1).stdout


def test_formats_for_programs(here: Workplace) -> None:
    here.write({"src/a.njpy": MISSPELT})
    found = json.loads(here.njc("check", "src", "--output-format", "json", code=1).stdout)
    assert [(finding["code"], finding["path"], finding["line"]) for finding in found] == [
        ("NJ201", "src/a.njpy", 3)
    ]
    github = here.njc("check", "src", "--output-format", "github", code=1).stdout
    assert github.startswith("::error file=src/a.njpy,line=3,")
    here.write({"src/a.njpy": GREETING})
    assert json.loads(here.njc("check", "src", "--output-format", "json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "-q", "a.njpy"], False),
        (["-q", "check", "a.njpy"], False),
        (["check", "a.njpy"], True),
        (["-q", "check", "-v", "a.njpy"], True),
    ],
)
def test_quiet(here: Workplace, arguments: list[str], told: bool) -> None:
    here.write({"a.njpy": MISSPELT})
    result = here.njc(*arguments, code=1)
    assert "NJ201" in result.stdout, "findings are the result, and are always printed"
    assert ("1 error in 1 file" in result.stderr) is told


def test_color(here: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write({"a.njpy": MISSPELT})
    assert "\x1b[" not in here.njc("check", "a.njpy", code=1).stdout
    colored = here.process("check", "a.njpy", "--color", "always", code=1).stdout
    assert "\x1b[31m\x1b[1merror[NJ201]\x1b[0m: " in colored
    forced = here.process("check", "a.njpy", code=1, environ={"FORCE_COLOR": "1"})
    assert forced.stdout == colored
    never = here.process(
        "check", "a.njpy", "--color", "never", code=1, environ={"FORCE_COLOR": "1"}
    )
    assert "\x1b[" not in never.stdout


def test_a_source_of_the_settings_that_is_not_there_is_named(here: Workplace) -> None:
    here.write({"pyproject.toml": '[tool.njc]\nsrc = "source"\n'})
    said = here.njc("check", code=2).stderr
    assert "no such file or directory: source, which is `src` of [tool.njc]" in said


def test_an_unreadable_source_is_named(here: Workplace) -> None:
    (here.folder / "a.njpy").symlink_to("nowhere.njpy")
    assert "no such file or directory: a.njpy" in here.njc("check", "a.njpy", code=2).stderr
    (here.folder / "b.njpy").mkdir()
    os.mkfifo(here.folder / "c.njpy")
    assert "cannot read c.njpy: not a regular file" in here.njc("check", ".", code=2).stderr


def test_a_closed_standard_input_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit) as ended:
        njc.main(["debug", __file__])
    problem = "error: standard input is closed; commands are read from it\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, problem)


def test_without_a_project_the_working_directory_is_checked(here: Workplace) -> None:
    here.write({"sub/a.njpy": GREETING})
    checked = here.njc("check")
    assert (checked.stdout, checked.stderr) == ("", "1 file, nothing found\n")
    assert "nothing to compile" in here.njc("build", code=2).stderr
