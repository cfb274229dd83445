"""The page stands alone and can be read as HTML, and the command writes and checks what the results say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from itertools import combinations
from math import dist
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from report_sample import MODEL, WHOLE, graph_lines, lines, result

from spsbench.cli import main
from spsbench.report.files import build_report_files
from spsbench.report.plots import (
    MARK_RADIUS,
    Point,
    draw_numbered_marks,
    find_free_place,
    find_log_ends,
    make_axes,
    round_up,
    set_log_scale,
)

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Nesting(HTMLParser):
    """Checks that every element is closed, in order, and collects the words (state: what is open)."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.attributes: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes |= {(name, value or "") for name, value in attributes}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes |= {(name, value or "") for name, value in attributes}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("".join([*lines(WHOLE), *graph_lines()]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the results and, in `report`, what the command writes of them; not to be changed."""
    folder = tmp_path_factory.mktemp("written")
    results = folder / "results.jsonl"
    results.write_text("".join([*lines(WHOLE), *graph_lines()]), encoding="utf-8")
    code, said = spsbench(results, "--out", folder / "report")
    assert (code, said) == (0, f"{folder / 'report' / 'index.html'} and 3 more files\n")
    return folder


@pytest.fixture(scope="module")
def page(written: Path) -> str:
    return (written / "report" / "index.html").read_text("utf-8")


@pytest.fixture
def report(written: Path, tmp_path: Path) -> Path:
    """Return the folder of a report that a test may change, beside its results."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path / "report"


def spsbench(*arguments: str | Path) -> tuple[int, str]:
    ran = CliRunner().invoke(main, ["report", *map(str, arguments)])
    return ran.exit_code, ran.output


def test_the_page_asks_for_nothing_from_elsewhere(page: str) -> None:
    assert not re.search(r"https?:|//|@import|url\((?!#)|<script|<link|<iframe|javascript:", page)
    reader = Nesting()
    reader.feed(page)
    assert reader.open == []
    names = {name for name, value in reader.attributes if not value.startswith("#")}
    assert names.isdisjoint({"src", "href", "srcset", "onload", "onclick"})


def test_the_page_opens_with_the_answer(page: str) -> None:
    reader = Nesting()
    reader.feed(page[page.index("<main>") : page.index("</body>")])
    words = " ".join(" ".join(reader.words).split())
    assert words.startswith("Which method should I use, and what does it cost?")
    first = [
        words.index(text)
        for text in ("Use direct:", "direct passes 88% of a program's checks", "method pass rate")
    ]
    assert first == sorted(first)
    assert words.index("Machine A Processor, 2 cores, 8 GiB") > words.index("Beside the paper")


def test_every_drawing_is_well_formed_and_has_a_description(page: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    # ours and the paper's two; tokens; effects of `direct`; three of the graph
    assert len(drawings) == 3 + 1 + 1 + 3
    ids: list[str] = []
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("aria-label")
        width, height = map(float, root.get("viewBox", "").split()[2:])
        assert width == 360
        for mark in root.iter("use"):
            assert 0 <= float(mark.get("x", "-1")) <= width
            assert 0 <= float(mark.get("y", "-1")) <= height
        ids += [element.get("id", "") for element in root.iter() if element.get("id")]
        assert set(re.findall(r"#(\w+)", drawing)) <= set(ids)
    assert len(ids) == len(set(ids))
    assert "nan" not in page.lower().replace("nano", "")


def test_drawings_follow_light_and_dark(page: str) -> None:
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert set(re.findall(r"(?:fill|stroke): ([^;\"]+)", drawing)) <= {
            "none",
            *re.findall(r"var\(--\w+\)", drawing),
        }
    names = set(re.findall(r"var\(--(\w+)\)", page))
    assert names <= set(re.findall(r"--(\w+):", page))


def test_the_same_results_make_the_same_bytes_in_every_process(report: Path, page: str) -> None:
    (report / "index.html").unlink()
    results = report.parent / "results.jsonl"
    command = [sys.executable, "-m", "spsbench", "report", str(results), "--out", str(report)]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    assert (report / "index.html").read_text("utf-8") == page


def test_text_from_results_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    text = "".join(lines(WHOLE)).replace(MODEL, "openai/<b>&amp;")
    path.write_text(text, encoding="utf-8")
    page = build_report_files([path], tmp_path)["index.html"]
    assert "openai/&lt;b&gt;&amp;amp;" in page
    assert "openai/<b>" not in page


def test_a_report_is_written_and_checked(written: Path) -> None:
    out = written / "report"
    assert {path.name for path in out.iterdir()} == {
        *("index.html", "report.md", "report.txt", "report.csv")
    }
    assert spsbench(written / "results.jsonl", "--out", out, "--check") == (0, "")


def test_the_bytes_do_not_depend_on_where_the_command_runs(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written)
    assert spsbench("results.jsonl", "--out", "report", "--check") == (0, "")
    monkeypatch.chdir(written / "report")
    said = Path("report.txt").read_text(encoding="utf-8")
    (command,) = re.findall(r"spsbench report (.+)", said)
    assert spsbench(*command.split(), "--check") == (0, "")


def test_a_report_that_says_something_else_is_found(report: Path) -> None:
    page = report / "report.md"
    page.write_text(page.read_text(encoding="utf-8").replace("88%", "99%"), encoding="utf-8")
    (report / "report.csv").unlink()
    code, said = spsbench(report.parent / "results.jsonl", "--out", report, "--check")
    assert code == 1
    assert re.search(r"report\.md: differs first in line \d+", said)
    assert "report.csv: is missing" in said
    assert "index.html" not in said


def test_other_results_make_another_report(report: Path) -> None:
    results = report.parent / "results.jsonl"
    with results.open("a", encoding="utf-8") as file:
        file.write(lines([result("menu", "direct", 1, 0)])[1])
    code, said = spsbench(results, "--out", report, "--check")
    assert code == 1
    assert all(name in said for name in ("index.html", "report.md", "report.txt", "report.csv"))


def test_without_a_folder_the_report_is_printed(results: Path) -> None:
    code, said = spsbench(results)
    assert code == 0
    assert said.startswith(f"At a glance. {MODEL}")
    assert all(f"Table {number}. " in said for number in (1, 2, 4, 5, 6, 7, 9, 10, 11))


def test_mistakes_are_named(results: Path, tmp_path: Path) -> None:
    code, said = spsbench(results, "--check")
    assert (code, "--check compares with a report" in said) == (2, True)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{\n", encoding="utf-8")
    code, said = spsbench(bad)
    assert (code, "bad.jsonl: line 1 of the results is damaged" in said) == (2, True)


def test_without_the_libraries_of_the_page_only_the_text_is_written(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert spsbench(results)[0] == 0
    code, text = spsbench(results, "--out", tmp_path)
    assert code == 2
    assert 'pip install "njpy[bench]"' in text


def test_a_check_compares_the_page_but_not_its_drawings(report: Path) -> None:
    results = report.parent / "results.jsonl"
    page = report / "index.html"
    text = page.read_text("utf-8")
    page.write_text(text.replace('viewBox="0 0 360', 'viewBox="0  0 360'), "utf-8")
    assert spsbench(results, "--out", report, "--check") == (0, "")
    page.write_text(text.replace("<td>", "<td >"), "utf-8")
    code, said = spsbench(results, "--out", report, "--check")
    assert code == 1
    assert re.search(r"index\.html: differs first in line \d+", said)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([3, 80], ["2", "5", "10", "20", "50", "100"]),
        ([10, 100_000], ["10", "100", "1k", "10k", "100k"]),
        ([2e5, 3e6], ["200k", "500k", "1M", "2M", "5M"]),
        ([], ["1", "2", "5", "10"]),
    ],
)
def test_axes_end_and_count_in_round_numbers(values: list[float], labels: list[str]) -> None:
    figure, axes = make_axes("", "")
    low, high = find_log_ends(values)
    set_log_scale(axes, "x", (low, high))
    figure.draw_without_rendering()
    shown = [
        label.get_text()
        for label, place in zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)
        if low * 0.99 < place < high * 1.01
    ]
    assert shown == labels


@pytest.mark.parametrize(
    ("step", "round_number"), [(0.3, 0.5), (1, 1), (1.1, 2), (20, 20), (21, 50)]
)
def test_round_numbers(step: float, round_number: float) -> None:
    assert round_up(step) == pytest.approx(round_number)


def test_marks_that_would_cover_one_another_move_apart() -> None:
    taken: list[tuple[float, float]] = []
    for _ in range(12):
        taken.append(find_free_place((5.0, 5.0), taken, (0.0, 0.0), (300.0, 200.0)))
    assert taken[0] == (5.0, 5.0)
    assert all(dist(one, other) >= 2 * MARK_RADIUS for one, other in combinations(taken, 2))
    figure, axes = make_axes("", "")
    points = [Point(0.5, 0.5, method, f"about {method}") for method in ("a", "b")]
    described = draw_numbered_marks(figure, axes, points, {"a": "1", "b": "2"}, ["red", "blue"])
    assert described == ["about a", "about b"]


def test_a_prompt_that_was_not_sent_has_no_point_but_counts_as_wrong(page: str) -> None:
    accuracy, tokens = re.findall(
        r'<svg[^>]*aria-label="(?:Right answers|Tokens)".*?</svg>', page, re.DOTALL
    )
    assert "<title>manual, 10 papers: 1; 1,000 papers: 1; 100,000 papers: 0</title>" in accuracy
    assert "<title>manual, 10 papers: 105; 1,000 papers: 1e+04</title>" in tokens
