"""The command writes and checks what the results say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from report_sample import MODEL, WHOLE, lines, result

from spsbench.cli import main


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with results and the report that the command writes of them; not to be changed."""
    folder = tmp_path_factory.mktemp("written")
    results = folder / "results.jsonl"
    results.write_text("".join(lines(WHOLE)), encoding="utf-8")
    assert spsbench(results, "--out", folder / "report.md") == (0, "")
    return folder


@pytest.fixture
def report(written: Path, tmp_path: Path) -> Path:
    """Return a report that a test may change, beside its results."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path / "report.md"


def spsbench(*arguments: str | Path) -> tuple[int, str]:
    ran = CliRunner().invoke(main, ["report", *map(str, arguments)])
    return ran.exit_code, ran.output


def test_the_same_results_make_the_same_bytes_in_every_process(report: Path) -> None:
    text = report.read_text("utf-8")
    report.unlink()
    results = report.parent / "results.jsonl"
    command = [sys.executable, "-m", "spsbench", "report", str(results), "--out", str(report)]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    assert report.read_text("utf-8") == text


def test_the_bytes_do_not_depend_on_where_the_command_runs(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written)
    assert spsbench("results.jsonl", "--out", "report.md", "--check") == (0, "")
    said = Path("report.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`spsbench report (.+)`", said)
    assert spsbench(*command.split(), "--check") == (0, "")


def test_a_report_that_says_something_else_is_found(report: Path) -> None:
    report.write_text(report.read_text("utf-8").replace("0.88", "0.99"), encoding="utf-8")
    code, said = spsbench(report.parent / "results.jsonl", "--out", report, "--check")
    assert (code, "report.md differs from the results" in said) == (1, True)
    report.unlink()
    assert spsbench(report.parent / "results.jsonl", "--out", report, "--check")[0] == 1


def test_other_results_make_another_report(report: Path) -> None:
    results = report.parent / "results.jsonl"
    with results.open("a", encoding="utf-8") as file:
        file.write(lines([result("menu", "direct", 1, 0)])[1])
    assert spsbench(results, "--out", report, "--check")[0] == 1


def test_without_a_file_the_report_is_printed(written: Path) -> None:
    code, said = spsbench(written / "results.jsonl")
    assert code == 0
    places = [said.index(part) for part in (f"## On {MODEL}", *TITLES, "A Processor, 2 cores")]
    assert places == sorted(places)


TITLES = ("At a glance", "Table 4. ", "Table 9. ")


def test_mistakes_are_named(written: Path, tmp_path: Path) -> None:
    code, said = spsbench(written / "results.jsonl", "--check")
    assert (code, "--check compares with a report" in said) == (2, True)
    bad = tmp_path / "bad.jsonl"
    for damage in ("{\n", '{"kind": "trial"}\n'):
        bad.write_text("".join([*lines(WHOLE)[:2], damage]), encoding="utf-8")
        code, said = spsbench(bad)
        assert (code, "bad.jsonl: line 3 of the results is damaged" in said) == (2, True)
