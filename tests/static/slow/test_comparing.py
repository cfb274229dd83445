"""`njc compare`: modes that are built, run and counted, and the advice on them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from studio import Studio

from case_programs import read_program
from njc.debug.trace_lines import parse_trace
from njc.measure.comparison.results import (
    ComparedRun,
    ModeBuild,
    ModeSummary,
    read_tests,
    sum_usage,
)
from njc.measure.comparison.text import write_advice
from njc.project.report import format_text_table
from njrt.log.accounts import Totals

SHOP = read_program("comparing_shop")
GOOD = "```python\nif spent + price > limit:\n    break\nspent += price\n```"


def rows_of(output: str) -> dict[str, str]:
    """Return the lines of the first table, by mode."""
    return {line.split()[0]: line for line in output.split("\n\n")[0].split("\n")}


def test_modes_are_compared(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    flags = ("-n", "2")
    command = ("shop.njpy", "--", sys.executable, "{out}/shop.py")
    result = studio.njc("compare", *flags, *command, replies=[GOOD])
    lines = rows_of(result.stdout)
    assert "0/2" in lines["live"], "the live model does not look at the limit"
    assert "2/2" in lines["static"]
    assert "2/2" in lines["reviewed"]
    assert "static did best: 2 of 2 tests passed, at " in result.stdout
    assert "Too close to distinguish with so few tests: reviewed." in result.stdout
    assert re.search(r"^live .* 3 +[\d,]+ +\$", result.stdout, re.MULTILINE), result.stdout
    assert "static 2/2: passed in " in result.stderr
    assert re.search(r"live 1/2: failed \(1\) in .* 3 calls; output: ", result.stderr)


TESTS = """\
import pytest
import njrt
from shop import model, total

@pytest.fixture(autouse=True)
def scripted():
    with njrt.using(model=model):
        yield

@pytest.mark.parametrize("limit", [4, 6])
def test_total(limit):
    assert total([1, 2, 3], limit) == {4: 3, 6: 6}[limit]

@pytest.mark.skip
def test_later(): ...
"""


def test_tests_are_counted_and_paired_by_their_names(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP, "test_shop.py": TESTS})
    pytest_run = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py")
    call = ("compare", "-n", "2", "--modes", "live,static", "shop.njpy", "--", *pytest_run)
    result = studio.njc(*call, replies=[GOOD])
    modes, tests, *_ = result.stdout.split("\n\n")
    passed = [line.split()[:2] for line in modes.split("\n")[2:]]
    assert passed == [["live", "2/4"], ["static", "4/4"]]
    assert [line.split() for line in tests.split("\n")] == [
        ["test", "live", "static"],
        ["-" * len("test_shop::test_total[4]"), "----", "------"],
        ["test_shop::test_total[4]", "0/2", "2/2"],
    ]
    assert "static did best: 4 of 4 tests passed, at " in result.stdout
    assert "live 1/2: 1 of 2 tests passed in " in result.stderr


REPORT = """<testsuites><testsuite>
<testcase classname="a.T" name="test_one"/><testcase name="bare"/>
<testcase classname="a" name="test_two"><failure/></testcase>
<testcase classname="a" name="test_torn"/><testcase classname="a" name="test_torn"><error/></testcase>
<testcase classname="a" name="test_off"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("report", "tests"),
    [
        (
            REPORT,
            {"a.T::test_one": True, "bare": True, "a::test_two": False, "a::test_torn": False},
        ),
        ("<testsuites><testsuite", {}),
        ("", {}),
        (None, {}),
    ],
)
def test_a_report_of_tests_is_read(tmp_path: Path, report: str | None, tests: object) -> None:
    file = tmp_path / "report.xml"
    if report is not None:
        file.write_text(report)
    assert read_tests(file) == tests


def test_code_of_a_comparison_does_not_enter_the_lock_of_the_project(studio: Studio) -> None:
    """Code that failed every run must not be built the next time; the same comparison uses it again."""
    studio.write({"shop.njpy": SHOP})
    command = ("compare", "--modes", "static", "-n", "1", "shop.njpy")
    command = (*command, "--", sys.executable, "{out}/shop.py")
    wrong = "```python\nspent += 2\n```"
    result = studio.njc(*command, replies=[wrong])
    assert "0/1" in rows_of(result.stdout)["static"]
    assert not (studio.folder / "njc.lock").exists()
    (kept,) = studio.folder.glob(".njc_cache/compare/*/njc.lock")
    assert f"written: {kept.relative_to(studio.folder)}" in result.stderr
    assert "spent += 2" in kept.read_text()
    assert "0/1" in rows_of(studio.njc(*command).stdout)["static"]
    studio.njc("build", "shop.njpy", "--mode", "static", replies=[GOOD])
    before = studio.read("njc.lock")
    result = studio.njc(*command)
    assert "1/1" in rows_of(result.stdout)["static"], "the project's code counts"
    assert "written" not in result.stderr
    assert studio.read("njc.lock") == before


def test_packages_keep_their_folders(studio: Studio) -> None:
    (studio.folder / "src/pkg").mkdir(parents=True)
    studio.write({"src/pkg/__init__.py": "", "src/pkg/shop.njpy": SHOP})
    program = "import pkg.shop; print(pkg.shop.__file__)"
    result = studio.njc(
        "compare", "--modes", "live", "-n", "1", "src", "--", sys.executable, "-c", program
    )
    assert "1/1" in rows_of(result.stdout)["live"], result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shop.njpy"], "no command to run"),
        (["shop.njpy", "--"], "no command to run"),
        (["shop.njpy", "-n", "3", "--", "true"], "flags go before SRC"),
        (["--modes", "fast", "shop.njpy", "--", "true"], "no mode `fast`; the modes are live"),
        (["shop.njpy", "--", "no-such-command"], "there is no command `no-such-command`"),
        (["--gate", "pass>=1", "shop.njpy"], "--gate was removed in njc 0.3: use `njc eval"),
    ],
)
def test_wrong_usage(studio: Studio, arguments: list[str], words: str) -> None:
    studio.write({"shop.njpy": SHOP})
    assert words in studio.njc("compare", *arguments, code=2).stderr


def summarize(
    mode: str, passed: int, *, runs: int = 10, tokens: int = 0, build: int = 0, failure: str = ""
) -> ModeSummary:
    """Return a mode of which the first runs passed, each with the same tokens."""
    usage = Totals(calls=int(tokens > 0), input_tokens=tokens)
    return ModeSummary(
        mode,
        ModeBuild(1.0, build, failure),
        tuple(ComparedRun(int(number >= passed), 1.0, usage) for number in range(runs)),
    )


LIVE = summarize("live", 10, tokens=500)


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        (
            [summarize("live", 2, runs=2, tokens=500), summarize("static", 0, runs=2)],
            ["live did best: 2 of 2 tests passed, at 1.00 s and 500 tokens a run."],
        ),
        (
            [summarize("live", 0, tokens=500), summarize("static", 0, build=100)],
            ["No test passed in any mode."],
        ),
        (
            [
                LIVE,
                summarize("static", 9, tokens=100, build=1000),
                summarize("reviewed", 2, tokens=1),
            ],
            [
                "live did best: 10 of 10 tests passed, at 1.00 s and 500 tokens a run.",
                "Too close to distinguish with so few tests: static.",
                "static pays after 3 runs, against live: 1,000 tokens (price unknown) to write it, "
                "400 saved a run.",
            ],
        ),
        (
            [summarize("live", 0, tokens=500), summarize("static", 5, build=100)],
            ["static did best: 5 of 10 tests passed, at 1.00 s and 0 tokens a run."],
        ),
        ([summarize("static", 0, runs=0, failure="no code")], ["static was not built: no code"]),
    ],
)
def test_advice(rows: list[ModeSummary], advice: list[str]) -> None:
    assert write_advice(rows) == advice


@given(
    st.lists(
        st.builds(
            summarize,
            st.sampled_from(["live", "static", "reviewed"]),
            st.integers(0, 3),
            runs=st.integers(0, 3),
            tokens=st.integers(0, 3),
            build=st.integers(0, 3),
        ),
        unique_by=lambda row: row.name,
    )
)
def test_a_mode_that_passed_no_test_is_not_named(rows: list[ModeSummary]) -> None:
    advice = " ".join(write_advice(rows)).replace("against live", "")
    for row in rows:
        if not row.passes.passed:
            assert not re.search(rf"\b{row.name}\b(?!-)", advice), advice
    no_run_passed = any(row.runs for row in rows) and not any(row.passes.passed for row in rows)
    assert ("No test passed" in advice) == no_run_passed


def test_the_time_of_a_run_is_the_median() -> None:
    def measure(*seconds: float) -> float:
        runs = tuple(ComparedRun(0, value) for value in seconds)
        return ModeSummary("live", ModeBuild(0.0), runs).seconds

    assert [measure(3, 1, 2), measure(1, 2), measure()] == [2, 1.5, 0.0]


def test_a_broken_trace_is_read_as_far_as_it_goes() -> None:
    common = {"run": "r", "at": "2026-01-02T03:04:05Z"}
    began = {**common, "event": "began", "place": "a.njpy:1"}
    replied = {
        **common,
        "event": "replied",
        "turn": 1,
        "seconds": 2.0,
        "reply": {"usage": {"input": 3, "output": 4}},
    }
    lines = [json.dumps(began), json.dumps(replied), json.dumps(replied), '{"event": "beg']
    used = sum_usage(parse_trace(f"{line}\n".encode() for line in lines))
    assert (used.calls, used.tokens) == (2, 14)


def test_tables_line_up() -> None:
    assert (
        format_text_table(("a", "b"), [("x", "10"), ("yyy", "2")])
        == "a     b\n---  --\nx    10\nyyy   2"
    )
