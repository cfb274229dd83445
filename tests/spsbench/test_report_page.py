"""The page stands alone and can be read as HTML, and the command writes and checks what the results say."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from report_sample import GRAPH, MODEL, WHOLE, graph_lines, lines, result

from spsbench.cli import main
from spsbench.report.files import build_report_files
from spsbench.report.page_drawing import (
    MARK_RADIUS,
    Axis,
    NumberedMark,
    PlotArea,
    make_linear_axis,
    make_log_axis,
    render_numbered_marks,
    round_up,
)

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Nesting(HTMLParser):
    """Checks that every element is closed, in order, and collects the words (state: what is open)."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attributes}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attributes}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("".join([*lines(WHOLE), *graph_lines()]), encoding="utf-8")
    return path


@pytest.fixture
def page(results: Path) -> str:
    return build_report_files([results], None)["index.html"]


def spsbench(*arguments: str | Path) -> tuple[int, str]:
    ran = CliRunner().invoke(main, ["report", *map(str, arguments)])
    return ran.exit_code, ran.output


def test_the_page_asks_for_nothing_from_elsewhere(page: str) -> None:
    assert not re.search(r"https?:|//|@import|url\(|<script|<link|<iframe|javascript:", page)
    reader = Nesting()
    reader.feed(page)
    assert reader.open == []
    assert reader.names.isdisjoint({"src", "href", "srcset", "onload", "onclick"})


def test_the_page_opens_with_the_answer(page: str) -> None:
    reader = Nesting()
    reader.feed(page[page.index("<main>") : page.index("</body>")])
    words = " ".join(" ".join(reader.words).split())
    assert words.startswith("Which method should I use, and what does it cost?")
    first = [
        words.index(each)
        for each in ("Use direct:", "direct passes 88% of the checks", "method pass rate")
    ]
    assert first == sorted(first)
    assert words.index("Machine A Processor, 2 cores, 8 GiB") > words.index("Beside the paper")


def test_every_drawing_is_well_formed_and_says_what_it_shows(page: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    # ours and the paper's two; tokens and the map; effects of `direct`; three of the graph
    assert len(drawings) == 3 + 2 + 1 + 3
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("aria-label")
        width, height = map(float, root.get("viewBox", "").split()[2:])
        assert width <= 360
        for mark in root.iter("circle"):
            assert 0 <= float(mark.get("cx", "-1")) <= width
            assert 0 <= float(mark.get("cy", "-1")) <= height
    assert "nan" not in page.lower().replace("nano", "")


def test_text_from_results_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    text = "".join(lines(WHOLE)).replace(MODEL, "openai/<b>&amp;")
    path.write_text(text, encoding="utf-8")
    page = build_report_files([path], None)["index.html"]
    assert "openai/&lt;b&gt;&amp;amp;" in page
    assert "openai/<b>" not in page


def test_a_report_is_written_and_checked(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    code, said = spsbench(results, "--out", out)
    assert (code, said) == (0, f"{out / 'index.html'} and 3 more files\n")
    assert {path.name for path in out.iterdir()} == {
        *("index.html", "report.md", "report.txt", "report.csv")
    }
    assert spsbench(results, "--out", out, "--check") == (0, "")


def test_the_bytes_do_not_depend_on_where_the_command_runs(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    assert spsbench(results, "--out", out)[0] == 0
    monkeypatch.chdir(tmp_path)
    assert spsbench("results.jsonl", "--out", "report", "--check") == (0, "")
    monkeypatch.chdir(out)
    said = Path("report.txt").read_text(encoding="utf-8")
    (command,) = re.findall(r"spsbench report (.+)", said)
    assert spsbench(*command.split(), "--check") == (0, "")


def test_a_report_that_says_something_else_is_found(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    spsbench(results, "--out", out)
    page = out / "report.md"
    page.write_text(page.read_text(encoding="utf-8").replace("88%", "99%"), encoding="utf-8")
    (out / "report.csv").unlink()
    code, said = spsbench(results, "--out", out, "--check")
    assert code == 1
    assert re.search(r"report\.md: differs first in line \d+", said)
    assert "report.csv: is missing" in said
    assert "index.html" not in said


def test_other_results_make_another_report(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    spsbench(results, "--out", out)
    with results.open("a", encoding="utf-8") as file:
        file.write(lines([result("menu", "direct", 1, 0)])[1])
    code, said = spsbench(results, "--out", out, "--check")
    assert code == 1
    assert all(name in said for name in ("index.html", "report.md", "report.txt", "report.csv"))


def test_without_a_folder_the_report_is_printed(results: Path) -> None:
    code, said = spsbench(results)
    assert code == 0
    assert said.startswith(f"At a glance. {MODEL}")
    assert all(f"Table {number}. " in said for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11))


def test_mistakes_are_named(results: Path, tmp_path: Path) -> None:
    code, said = spsbench(results, "--check")
    assert (code, "--check compares with a report" in said) == (2, True)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{\n", encoding="utf-8")
    code, said = spsbench(bad)
    assert (code, "bad.jsonl: line 1 of the results is damaged" in said) == (1, True)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (make_log_axis("", [3, 80]), ["2", "5", "10", "20", "50", "100"]),
        (make_log_axis("", [10, 100_000]), ["10", "100", "1k", "10k", "100k"]),
        (make_log_axis("", []), ["1", "2", "5", "10"]),
        (make_linear_axis("", [61]), ["0", "20", "40", "60", "80"]),
        (make_linear_axis("", []), ["0", "0.5", "1"]),
        (Axis("", 0, 1, is_share=True), ["0%", "50%", "100%"]),
    ],
)
def test_axes_end_and_count_in_round_numbers(axis: Axis, ticks: list[str]) -> None:
    assert [axis.words(value) for value in axis.list_ticks()] == ticks


@pytest.mark.parametrize(
    ("step", "round_number"), [(0.3, 0.5), (1, 1), (1.1, 2), (20, 20), (21, 50)]
)
def test_round_numbers(step: float, round_number: float) -> None:
    assert round_up(step) == pytest.approx(round_number)


def test_marks_that_would_cover_one_another_move_apart() -> None:
    frame = PlotArea(Axis("", 0, 1), Axis("", 0, 1))
    marks = [
        NumberedMark(frame.left(0.5), frame.to_y(0.9), str(number), "", "ours")
        for number in range(8)
    ]
    drawn = ElementTree.fromstring(f"<svg>{''.join(render_numbered_marks(marks, 12, 220))}</svg>")
    placed = [
        (float(each.get("cx", "")), float(each.get("cy", "")))
        for each in drawn.iter("circle")
        if each.get("r") == f"{MARK_RADIUS}"
    ]
    assert len(placed) == 8
    assert all(
        math.dist(one, other) >= 2 * MARK_RADIUS - 0.2 for one, other in combinations(placed, 2)
    )


def test_what_was_never_sent_has_no_point_but_counts_as_wrong(page: str) -> None:
    accuracy, tokens = re.findall(
        r'<svg[^>]*aria-label="(?:Answered rightly|Tokens)".*?</svg>', page
    )
    assert accuracy.count("manual, ") == 3
    assert "manual, 100,000 papers: 0" in accuracy
    assert tokens.count("manual, ") == sum(question.method == "manual" for question in GRAPH) - 1
