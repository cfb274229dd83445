"""The command writes and checks what the results say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from report_sample import MODEL, WHOLE, graph_lines, lines, result

from spsbench.cli import main

FILES = ("report.md", "report.txt")


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
    assert (code, said) == (0, f"{', '.join(FILES)} are written to {folder / 'report'}\n")
    return folder


@pytest.fixture
def report(written: Path, tmp_path: Path) -> Path:
    """Return the folder of a report that a test may change, beside its results."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path / "report"


def spsbench(*arguments: str | Path) -> tuple[int, str]:
    ran = CliRunner().invoke(main, ["report", *map(str, arguments)])
    return ran.exit_code, ran.output


def test_the_report_opens_with_the_answer(report: Path) -> None:
    text = (report / "report.md").read_text("utf-8")
    places = [text.index(part) for part in ("Use direct:", "passes 88% of a program's checks")]
    assert places == sorted(places)
    assert text.index("A Processor, 2 cores, 8 GiB") > max(places)


def test_the_same_results_make_the_same_bytes_in_every_process(report: Path) -> None:
    text = (report / "report.md").read_text("utf-8")
    (report / "report.md").unlink()
    results = report.parent / "results.jsonl"
    command = [sys.executable, "-m", "spsbench", "report", str(results), "--out", str(report)]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    assert (report / "report.md").read_text("utf-8") == text


def test_a_report_is_written_and_checked(written: Path) -> None:
    out = written / "report"
    assert {path.name for path in out.iterdir()} == {*FILES}
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
    (report / "report.txt").unlink()
    code, said = spsbench(report.parent / "results.jsonl", "--out", report, "--check")
    assert code == 1
    assert [name for name in FILES if name in said] == ["report.md", "report.txt"]


def test_other_results_make_another_report(report: Path) -> None:
    results = report.parent / "results.jsonl"
    with results.open("a", encoding="utf-8") as file:
        file.write(lines([result("menu", "direct", 1, 0)])[1])
    code, said = spsbench(results, "--out", report, "--check")
    assert code == 1
    assert all(name in said for name in FILES)


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


def test_without_the_library_of_templates_only_the_text_is_written(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert spsbench(results)[0] == 0
    code, text = spsbench(results, "--out", tmp_path)
    assert code == 2
    assert 'pip install "njpy[bench]"' in text
