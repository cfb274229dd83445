"""`njc show` and `njc explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from workplace import GREETING, MISSPELT, NOT_PYTHON, Workplace

from case_programs import read_program
from njc.compiler.frontend.diagnostics import SEVERITIES
from njc.findings import read_finding

LOOP = read_program("show_loop")


def show(here: Workplace, program: str, *flags: str, code: int = 0) -> Result:
    """Show a program of one file."""
    here.write({"a.njpy": program})
    return here.njc("show", "a.njpy", *flags, code=code)


def test_blocks_as_data(here: Workplace) -> None:
    shown = show(here, LOOP, "--stage", "blocks", "--output-format", "json").stdout
    first, second = json.loads(shown)
    assert (first["line"], first["end_line"]) == (5, 7)
    assert first["reads"] == ["query", "graph"]
    assert first["writes"] == ["response", "graph.size"]
    assert first["labels"] == ["raise", "break", "continue", "return", "return_value"]
    assert first["scope"] == "async function"
    assert first["options"] == {"max_effects": 20, "max_calls": 3}
    assert first["jumps"] == ["break"]
    assert (first["effects"], first["because"][:18]) == ("direct", "the output `respon")
    assert second == {
        "line": 13,
        "end_line": 15,
        "reads": [],
        "writes": ["content"],
        "labels": ["raise"],
        "scope": "class",
        "options": {"max_calls": 3},
        "in": "class Box",
        "prompt": "Fill <:content>.",
        "jumps": [],
        "effects": "direct",
        "decision": False,
        "because": "the output `content` has no type",
        "to do without code": "write its type, as in `<:content: str>`",
        "policy": "auto",
        "with auto": "guarded: code in the body of a class cannot be contained",
        "may change": ["content"],
        "may call": [],
    }


@pytest.mark.parametrize(
    ("prompt", "is_warned"),
    [
        ("Pay <orders> by <pay>.", True),
        ("Clear <orders>.", False),
        ("Put the number of <text>'s lines into <:count: int>, by <pay>.", False),
    ],
)
def test_a_block_that_changes_and_calls_is_warned_about(
    here: Workplace, prompt: str, is_warned: bool
) -> None:
    source = f'''def pay(order: str) -> None: ...


def work(orders: list[str], text: str) -> None:
    """natural(effects="direct")
    {prompt}
    """
'''
    shown = show(here, source).stdout
    assert ("may change objects and make calls" in shown) is is_warned


def test_labels_are_those_of_the_cases(here: Workplace) -> None:
    cases = json.loads(Path(__file__).parents[1].joinpath("data/label_cases.json").read_text())
    for case in cases:
        if case["min_python"] != "3.11":
            continue
        blocks = json.loads(show(here, case["source"], "--output-format", "json").stdout)
        assert blocks[case["block_index"]]["labels"] == case["labels"], case["name"]


def test_a_block_with_code_shows_what_it_may_change_and_call(here: Workplace) -> None:
    program = '''def ship(order: str) -> None: ...

def f(orders: list[str], name: str):
    """natural
    Call <ship> for each of <orders> with <name>, and count them in <:n: int>.
    """
    return n
'''
    shown = show(here, program, "--stage", "blocks").stdout
    assert "  change   n; `orders: list[str]`\n  call     the function `ship`\n" in shown


def test_a_block_with_code_shows_its_policy_and_what_auto_means_for_it(here: Workplace) -> None:
    program = '''import logging

def f(log: logging.Logger):
    """natural
    Write to <log>.
    """

def g(names: list[str]):
    """natural(policy="open")
    Sort <names>.
    """
'''
    here.write({"pyproject.toml": '[tool.njc]\npolicy = "auto"\n'})
    shown = show(here, program).stdout
    reason = "the type of `log` has a class of another package, `logging.Logger`"
    assert f"  policy   auto\n  auto     guarded: {reason}\n" in shown
    assert "  policy   open\n  auto     contained\n" in shown


def test_a_block_that_asks_ahead_shows_it(here: Workplace) -> None:
    block = '"""natural(ahead=8)\n        Put into <:t: bool> whether <mail> is spam.\n        """'
    program = (
        f"def f(mails: list[str]):\n    for mail in mails:\n        {block}\n        print(t)\n"
    )
    assert "  options  ahead=8\n" in show(here, program).stdout


def test_blocks_for_people(here: Workplace) -> None:
    shown = show(here, LOOP).stdout
    assert "lines 5-7, async function answer\n" in shown
    assert "  writes   response graph.size\n" in shown
    assert "  options  max_effects=20 max_calls=3\n" in shown


def test_the_compiled_file(here: Workplace) -> None:
    shown = show(here, LOOP, "--stage", "lower").stdout
    here.njc("build", "a.njpy")
    assert shown == here.read("a.py")
    assert not (here.folder / "b.py").exists()


@pytest.mark.parametrize("text", [MISSPELT, NOT_PYTHON, "# coding: nonsense\n"])
def test_a_file_with_errors_shows_them(here: Workplace, text: str) -> None:
    for stage in ("blocks", "lower"):
        result = show(here, text, "--stage", stage, "--output-format", "json", code=1)
        assert "a.njpy:" in result.stderr


def test_a_compiled_line_is_mapped_to_its_source(here: Workplace) -> None:
    here.write({"pyproject.toml": '[tool.njc]\nsrc = "src"\nout = "out"\n', "src/pkg/a.njpy": LOOP})
    here.njc("build")
    compiled = here.read("out/pkg/a.py").splitlines()
    source = LOOP.splitlines()
    for text in ("    return responses", "        Perform the <query> on"):
        (at,) = (number for number, line in enumerate(compiled, 1) if line.startswith(text))
        (line,) = (number for number, line in enumerate(source, 1) if line.startswith(text))
        assert here.njc("show", "--line", f"out/pkg/a.py:{at}").stdout == f"src/pkg/a.njpy:{line}\n"
    (arm,) = (number for number, line in enumerate(compiled, 1) if "except _nj.Break" in line)
    assert here.njc("show", "--line", f"out/pkg/a.py:{arm}:9").stdout == "src/pkg/a.njpy:5\n"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("a.py", "`a.py` is not a place; write FILE:LINE"),
        ("a.py:x", "is not a place"),
        ("a.py:0", "is not a place"),
        ("a.py:1", "a.py was not compiled by njc"),
        ("inserted.py:12", "inserted.py was edited after the build"),
        ("added.py:1", "added.py was edited after the build"),
        ("a.py:9", "a.py has no line 9; its last is 2"),
        ("none.py:1", "cannot read none.py"),
        ("wrong.njpy:1", "wrong.njpy was not compiled by njc"),
    ],
)
def test_a_place_that_has_no_source_is_named(here: Workplace, place: str, message: str) -> None:
    here.write({"a.py": "x = 1\n", "wrong.njpy": MISSPELT, "right.njpy": GREETING})
    here.njc("build", "right.njpy")
    compiled = here.read("right.py")
    here.write(
        {"added.py": f"{compiled}x = 1\n", "inserted.py": compiled.replace("\ndef", "\n\ndef")}
    )
    assert message in here.njc("show", "--line", place, code=2).stderr


def test_explanations(here: Workplace) -> None:
    for code in SEVERITIES:
        text = here.njc("explain", code.lower()).stdout
        assert text.startswith(f"{code} ({SEVERITIES[code]}): {read_finding(code).title}\n")
        assert f"[{code}]: " in text or code == "NJ002", "an example"
    assert len(here.njc("explain").stdout.splitlines()) == len(SEVERITIES)
    assert "`njc explain` lists all codes" in here.njc("explain", "NJ4011", code=2).stderr
