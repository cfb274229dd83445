"""`njc compare`: modes that are built, run and counted, the advice on them, and comparisons that go on."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from studio import Studio

from njc.evaluation.comparison.page import render_comparison_page
from njc.evaluation.comparison.results import (
    ComparedRun,
    ModeBuild,
    ModeSummary,
    ModeUsage,
    ResultFile,
    compute_pass_interval,
    sum_usage_by_block,
)
from njc.evaluation.comparison.text import format_text_table, write_advice
from njc.trace_lines import parse_trace
from njrt.errors import ConfigurationError

SHOP = '''\
import njrt


def total(prices, limit):
    spent = 0
    for price in prices:
        """natural
        Add <price> to <:spent>, but break before it is above <limit>.
        """
    return spent


model = njrt.Scripted(lambda request: "```python\\nspent += price\\n```", protocol="text")
if __name__ == "__main__":
    with njrt.using(model=model):
        assert total([1, 2, 3], 4) == 3
'''
GOOD = "```python\nif spent + price > limit:\n    break\nspent += price\n```"
RAW = "```python\nspent += = price\n```"


def rows_of(output: str) -> dict[str, str]:
    """Return the lines of the first table, by mode."""
    return {line.split()[0]: line for line in output.split("\n\n")[0].split("\n")}


def test_modes_are_compared(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    flags = ("-n", "2", "--json", "r.json", "--html", "r.html", "--attempts", "1")
    command = ("shop.njpy", "--", sys.executable, "{out}/shop.py")
    result = studio.njc("compare", *flags, *command, replies=[RAW, GOOD, GOOD])
    assert result.exit_code == 0, result.output
    lines = rows_of(result.stdout)
    assert "0/2" in lines["live"], "the live model does not look at the limit"
    assert "not built" in lines["static-raw"]
    assert "2/2" in lines["static"]
    assert "2/2" in lines["auto"]
    assert "static-raw was not built: " in result.stdout
    assert "static did best: 2 of 2 runs passed, at " in result.stdout
    assert "auto (2 of 2) is too close to distinguish with so few runs." in result.stdout
    assert "live (0 of 2) failed: no run passed." in result.stdout
    assert "shop.njpy:7  live" in result.stdout
    assert "static 2/2: passed in " in result.stderr
    written = json.loads(studio.read("r.json"))
    live, _, static, _ = written["modes"]
    assert live["usage_per_trial"]["calls"] == 3
    assert static["pass_rate"] == 1.0
    assert static["usage_per_trial"]["calls"] == 0
    assert static["build"]["usage"]["calls"] == 1
    page = studio.read("r.html")
    assert page.count("<svg") == 4
    assert all(f"{mode} 2/2" not in page and f"{mode} 100%" in page for mode in ("static", "auto"))
    assert "static did best" in page
    assert "http" not in page
    assert "<script" not in page


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
    assert studio.njc("build", "shop.njpy", "--mode", "static", replies=[GOOD]).exit_code == 0
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


def test_guards_are_counted(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    code = "```python\nassert price < 3\nif spent + price > limit:\n    break\nspent += price\n```"
    flags = ("--modes", "auto", "-n", "2", "--json", "r.json", "--html", "r.html")
    result = studio.njc(
        "compare", *flags, "shop.njpy", "--", sys.executable, "{out}/shop.py", replies=[code]
    )
    assert result.exit_code == 0, result.output
    (auto,) = json.loads(studio.read("r.json"))["modes"]
    per_run = auto["usage_per_trial"]
    assert (per_run["by_code"], per_run["unfit"], per_run["raised"], per_run["calls"]) == (
        2,
        1,
        0,
        1,
    )
    assert "unfit" in result.stdout
    assert "unfit" in studio.read("r.html")


def test_what_is_done_is_not_done_again(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    command = ("shop.njpy", "--", sys.executable, "-c", "import shop; open('ran', 'a').write('x')")
    for runs in ("2", "3"):
        result = studio.njc("compare", "--modes", "live", "-n", runs, *command)
        assert result.exit_code == 0, result.output
    assert studio.read("ran") == "xxx"
    (kept,) = studio.folder.glob(".njc_cache/compare/*/trials.jsonl")
    kept.write_text(kept.read_text()[:-20] + "\n")  # as a process that is killed leaves it
    studio.njc("compare", "--modes", "live", "-n", "3", *command)
    assert studio.read("ran") == "xxxx"
    studio.njc("compare", "--modes", "live", "-n", "1", "--fresh", *command)
    assert studio.read("ran") == "xxxxx"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shop.njpy"], "no command to run"),
        (["shop.njpy", "--"], "no command to run"),
        (["shop.njpy", "-n", "3", "--", "true"], "flags go before SRC"),
        (["--modes", "fast", "shop.njpy", "--", "true"], "no mode `fast`; the modes are live"),
        (["shop.njpy", "--", "no-such-command"], "there is no command `no-such-command`"),
        (["--html", "no/r.html", "shop.njpy", "--", "true"], "no such directory: no"),
        (["--json", "shop.njpy", "shop.njpy", "--", "true"], "shop.njpy is an input of this"),
    ],
)
def test_wrong_usage(studio: Studio, arguments: list[str], words: str) -> None:
    studio.write({"shop.njpy": SHOP})
    result = studio.njc("compare", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


@given(st.integers(1, 200), st.integers(0, 200))
def test_intervals_hold_the_rate(trials: int, passed: int) -> None:
    passed = min(passed, trials)
    low, high = compute_pass_interval(passed, trials)
    assert 0 <= low <= passed / trials <= high <= 1
    wider_low, wider_high = compute_pass_interval(passed, trials, z=2.58)
    assert wider_low <= low
    assert wider_high >= high


def test_known_intervals() -> None:
    assert compute_pass_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert compute_pass_interval(0, 0) == (0.0, 1.0)


def summarize(
    mode: str, passed: int, *, runs: int = 10, tokens: int = 0, build: int = 0, failure: str = ""
) -> ModeSummary:
    """Return a mode of which the first runs passed, each with the same tokens."""
    blocks = {"a.njpy:1": ModeUsage(1, tokens)} if tokens else {}
    return ModeSummary(
        mode,
        ModeBuild(1.0, ModeUsage(0, build), failure),
        tuple(
            ComparedRun(mode, number, number < passed, int(number >= passed), 1.0, blocks)
            for number in range(runs)
        ),
    )


LIVE = summarize("live", 10, tokens=500)


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        (
            [summarize("live", 2, runs=2, tokens=500), summarize("static", 0, runs=2)],
            [
                "live did best: 2 of 2 runs passed, at 1.00 s and 500 tokens a run.",
                "static (0 of 2) failed: no run passed.",
            ],
        ),
        (
            [summarize("live", 0, tokens=500), summarize("static", 0, build=100)],
            ["No run passed in any mode."],
        ),
        (
            [LIVE, summarize("static", 9, tokens=100, build=1000), summarize("auto", 2, tokens=1)],
            [
                "live did best: 10 of 10 runs passed, at 1.00 s and 500 tokens a run.",
                "static (9 of 10) is too close to distinguish with so few runs; static uses the fewest tokens.",
                "auto (2 of 10) did worse (outside of the 95 % interval).",
                "Runs until code saves more tokens than it took to write, against live: static 3.",
            ],
        ),
        (
            [summarize("live", 0, tokens=500), summarize("static", 5, build=100)],
            [
                "static did best: 5 of 10 runs passed, at 1.00 s and 0 tokens a run.",
                "live (0 of 10) failed: no run passed.",
            ],
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
            st.sampled_from(["live", "static", "static-raw", "auto"]),
            st.integers(0, 3),
            runs=st.integers(0, 3),
            tokens=st.integers(0, 3),
            build=st.integers(0, 3),
        ),
        unique_by=lambda row: row.name,
    )
)
def test_a_mode_that_passed_no_run_is_only_named_as_failing(rows: list[ModeSummary]) -> None:
    for row in rows:
        for sentence in write_advice(rows):
            if not row.passed and re.search(rf"\b{row.name}\b(?!-)", sentence):
                is_baseline = row.name == "live" and "against live" in sentence
                assert is_baseline or "failed: no run passed" in sentence, sentence
    if any(row.passed for row in rows):
        assert "No run passed" not in " ".join(write_advice(rows))


def test_the_time_of_a_run_is_the_median() -> None:
    def measure(*seconds: float) -> float | None:
        runs = tuple(
            ComparedRun("live", number, True, 0, value) for number, value in enumerate(seconds)
        )
        return ModeSummary("live", ModeBuild(0.0, ModeUsage()), runs).seconds

    assert [measure(3, 1, 2), measure(1, 2), measure()] == [2, 1.5, None]


def test_a_page_without_runs_and_with_markup() -> None:
    page = render_comparison_page([summarize("live", 0, runs=0, failure="<b>&")], "run <x>")
    assert "run &lt;x&gt;" in page
    assert "&lt;b&gt;&amp;" in page
    assert "<svg" not in page
    assert page == render_comparison_page([summarize("live", 0, runs=0, failure="<b>&")], "run <x>")


def test_a_page_is_the_same_each_time_and_follows_the_colours_of_the_reader() -> None:
    page = render_comparison_page([LIVE, summarize("auto", 3)], "run")
    assert page == render_comparison_page([LIVE, summarize("auto", 3)], "run")
    assert "var(--bar)" in page
    assert not re.search(r"#00000|https?:", page)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seconds": "long"}, "seconds: Input should be a valid number"),
        ({"blocks": {"a:1": {"calls": None}}}, "blocks.a:1.calls: Input should be a valid integer"),
        ({"passed": 1}, "passed: Input should be a valid boolean"),
    ],
)
def test_a_wrong_line_of_the_results_is_named(
    change: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    run = {"mode": "live", "number": 1, "passed": True, "exit_code": 0, "seconds": 1.0}
    lines = [json.dumps(run), '{"mode": "li', json.dumps(run | change)]
    results = ResultFile(tmp_path / "r.jsonl", ComparedRun)
    results.path.write_text("\n".join(lines))
    with pytest.raises(ConfigurationError, match=rf"r\.jsonl:3: {problem}; .*--fresh"):
        results.read()
    results.path.write_text("\n".join(lines[:2]))
    results.read()
    assert [found.number for found in results.known.values()] == [1]
    results.add(ComparedRun("live", 2, False, 1, 1.0))
    again = ResultFile(results.path, ComparedRun)
    again.read()
    assert again.known == results.known


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
    (used,) = sum_usage_by_block(parse_trace(f"{line}\n".encode() for line in lines)).values()
    assert (used.calls, used.tokens, used.seconds) == (2, 14, 4.0)


def test_tables_line_up() -> None:
    assert (
        format_text_table(("a", "b"), [("x", "10"), ("yyy", "2")])
        == "a     b\n---  --\nx    10\nyyy   2"
    )
