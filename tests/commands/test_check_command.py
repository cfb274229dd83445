"""`njc check`: all findings, in every format, and the exit code."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner
from workplace import GREETING, MISSPELT, NOT_PYTHON, Workplace

from njc.commands import njc

UNUSED = 'def f():\n    """natural\n    Find an <:answer>.\n    """\n'


def test_all_findings_of_all_files(here: Workplace) -> None:
    here.write({"src/a.njpy": MISSPELT, "src/b.njpy": NOT_PYTHON, "src/c.njpy": UNUSED})
    result = here.njc("check", "src")
    assert result.exit_code == 1
    assert "src/a.njpy:3:11: error[NJ201]" in result.stdout
    assert "    Greet <nmae> in a <:greeting>." in result.stdout
    assert "did you mean `name`?" in result.stdout
    assert "src/b.njpy:1:" in result.stdout, "not Python is found even where no block stands"
    assert "src/c.njpy:3:13: warning[NJ204]" in result.stdout
    assert "2 errors, 1 warning in 3 files" in result.stderr
    assert here.files() == ["src/a.njpy", "src/b.njpy", "src/c.njpy"]


def test_nothing_found(here: Workplace) -> None:
    here.write({"a.njpy": GREETING})
    result = here.njc("check", "a.njpy")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "1 file, nothing found" in result.stderr


@pytest.mark.parametrize("by", ["project", "environment"])
def test_warnings_as_errors(here: Workplace, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write({"c.njpy": UNUSED})
    assert here.njc("check", "c.njpy").exit_code == 0
    if by == "project":
        here.write({"pyproject.toml": '[tool.njc]\nwarnings = "error"\n'})
    if by == "environment":
        monkeypatch.setenv("NJC_WARNINGS", "error")
    result = here.njc("check", "c.njpy")
    assert result.exit_code == 1
    assert "error[NJ204]" in result.stdout


def test_formats_for_programs(here: Workplace) -> None:
    here.write({"src/a.njpy": MISSPELT})
    found = json.loads(here.njc("check", "src", "--output-format", "json").stdout)
    assert [(finding["code"], finding["path"], finding["line"]) for finding in found] == [
        ("NJ201", "src/a.njpy", 3)
    ]
    github = here.njc("check", "src", "--output-format", "github").stdout
    assert github.startswith("::error file=src/a.njpy,line=3,")
    sarif = json.loads(here.njc("check", "src", "--output-format", "sarif").stdout)
    assert sarif["runs"][0]["results"][0]["ruleId"] == "NJ201"
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
    result = here.njc(*arguments)
    assert result.exit_code == 1
    assert "NJ201" in result.stdout, "findings are the result, and are always printed"
    assert ("1 error in 1 file" in result.stderr) is told


def test_color(here: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write({"a.njpy": MISSPELT})
    assert "\x1b[" not in here.njc("check", "a.njpy").stdout
    colored = here.process("check", "a.njpy", "--color", "always").stdout
    assert "\x1b[31m\x1b[1merror[NJ201]\x1b[0m: " in colored
    assert here.process("check", "a.njpy", environ={"FORCE_COLOR": "1"}).stdout == colored
    never = here.process("check", "a.njpy", "--color", "never", environ={"FORCE_COLOR": "1"})
    assert "\x1b[" not in never.stdout


def test_an_unreadable_source_is_named(here: Workplace) -> None:
    (here.folder / "a.njpy").symlink_to("nowhere.njpy")
    result = here.njc("check", "a.njpy")
    assert result.exit_code == 2
    assert "no such file or directory: a.njpy" in result.stderr
    (here.folder / "b.njpy").mkdir()
    os.mkfifo(here.folder / "c.njpy")
    result = here.njc("check", ".")
    assert result.exit_code == 2
    assert "cannot read c.njpy: not a regular file" in result.stderr


def test_standard_input(here: Workplace) -> None:
    here.write({"pyproject.toml": '[tool.njc]\nwarnings = "error"\n', "src/a.njpy": NOT_PYTHON})
    text = UNUSED.replace("Find", "Fínd").encode()
    runner = CliRunner()
    result = runner.invoke(njc, ["check", "-", "--stdin-filename", "src/a.njpy"], input=text)
    assert result.exit_code == 1, "the settings of the project count"
    assert "src/a.njpy:3:13: error[NJ204]" in result.stdout, "the text is that of standard input"
    unnamed = runner.invoke(njc, ["check", "-", "--output-format", "json"], input=MISSPELT)
    assert [finding["path"] for finding in json.loads(unnamed.stdout)] == ["stdin.njpy"]
    assert runner.invoke(njc, ["check", "-"], input=GREETING).exit_code == 0
    assert here.read("src/a.njpy") == NOT_PYTHON


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "a.njpy"], "name no other beside it"),
        (["-", "--watch"], "--watch needs files"),
        (["-", "--fix"], "--fix writes files"),
        (["a.njpy", "--stdin-filename", "b.njpy"], "add `-`"),
    ],
)
def test_wrong_use_of_standard_input(here: Workplace, arguments: list[str], message: str) -> None:
    here.write({"a.njpy": GREETING})
    result = here.njc("check", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


CORRECTIONS = [
    ("Add < a > to <:b>.", "Add <a> to <:b>."),
    ("Add <a> to <: b >, <:b >.", "Add <a> to <:b>, <:b>."),
    ("Add <a, b> to <:b, a>.", "Add <a>, <b> to <:b>, <:a>."),
    ("Add <a: int> to <:b>.", "Add <a> to <:b>."),
    ("Add {a} to <:b>.", "Add <a> to <:b>."),
    ("Add <a> to <:b>, or <class>.", "Add <a> to <:b>, or <<class>."),
    ("Ädd < a > tö <: b > 🙂 {a}.", "Ädd <a> tö <:b> 🙂 <a>."),
]
"""What is found in a prompt of which `a` is an input and `b` an output, and its correction."""
UNCORRECTED = [
    "Add <a[0]> to <:b>.",
    "Add <aa> to <:b>.",
    "Add <a> to <:b: of what>.",
    "Add {a!r} to <:b>.",
    "Add <a> to <:b: of>, <input>.",
    *(f"{text} <:b>. {{a!r}}" for text in (
        r"Add the digits \\d{a} of <a> to", "Add <a> if 1 < a > 0 to", "Add <a> if a < a > 1 to",
        "Add `< a >` and `{a}` to", 'Add "< a >" to', "Add '{a}' to", "Add <a> as {a:>5} to")),
]  # fmt: skip
SUM = '''\
def add(a, b):
    """natural
    PROMPT
    """
    return a, b
'''


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["check", "-"], "name a file in place of `-`"),
        (["debug", __file__], "commands are read from it"),
    ],
)
def test_a_closed_standard_input_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    way: str,
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit) as ended:
        njc.main(words)
    problem = f"error: standard input is closed; {way}\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, problem)


@pytest.mark.parametrize(("before", "after"), CORRECTIONS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-8 crlf"])
def test_corrections(here: Workplace, before: str, after: str, encoding: str) -> None:
    codec, *crlf = encoding.split()
    source, corrected = (
        SUM.replace("PROMPT", text).replace("\n", "\r\n" if crlf else "\n").encode(codec)
        for text in (before, after)
    )
    file = here.folder / "a.njpy"
    file.write_bytes(source)
    file.chmod(0o755)
    (here.folder / "link.njpy").symlink_to(file)
    assert here.njc("check", "link.njpy").stdout
    result = here.njc("check", "link.njpy", "--fix")
    assert (result.exit_code, result.stdout) == (0, ""), "nothing is left to report"
    assert result.stderr.startswith("corrected ")
    assert file.read_bytes() == corrected
    assert file.stat().st_mode & 0o777 == 0o755
    assert (here.folder / "link.njpy").is_symlink()
    assert here.njc("check", "a.njpy", "--fix").stderr == "1 file, nothing found\n"


@pytest.mark.parametrize("prompt", UNCORRECTED)
def test_what_has_no_right_correction_stays(here: Workplace, prompt: str) -> None:
    text = SUM.replace("PROMPT", prompt)
    here.write({"a.njpy": text})
    before = here.njc("check", "a.njpy")
    after = here.njc("check", "a.njpy", "--fix")
    assert before.stdout
    assert (after.stdout, after.stderr) == (before.stdout, before.stderr)
    assert here.read("a.njpy") == text


def test_a_correction_that_makes_a_new_finding_is_not_made(here: Workplace) -> None:
    text = SUM.replace("PROMPT", "Add <a> to <:b, unused>.")
    here.write({"a.njpy": text, "b.njpy": SUM.replace("PROMPT", "Add < a > to <:b>.")})
    result = here.njc("check", "--fix", ".")
    assert "a.njpy:3:16: error[NJ207]" in result.stdout
    assert result.stderr == "corrected 1 finding in 1 file\n1 error in 2 files\n"
    assert here.read("a.njpy") == text


def test_without_a_project_the_working_directory_is_checked(here: Workplace) -> None:
    here.write({"sub/a.njpy": GREETING})
    assert "1 file, nothing found" in here.njc("check").stderr
    assert "nothing to compile" in here.njc("build").stderr
