"""spsbench/docs/prediction.md has the figures of the published results."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands.debug import command as debug
from spsbench.cli import main
from spsbench.journal import read_rows
from spsbench.neural.curve import read_curve
from spsbench.neural.debugging import SHIPPED_NETWORK
from spsbench.neural.evaluation import ScoreRow
from spsbench.neural.network import load_network

ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "spsbench" / "results" / "prediction"
PAGE = (ROOT / "spsbench" / "docs" / "prediction.md").read_text(encoding="utf-8")
ROWS = {
    size: read_rows(RESULTS / f"neural-{size}.jsonl", ScoreRow, "not a row")
    for size in ("small", "medium", "large")
}


def find_rows(label: str) -> list[ScoreRow]:
    """Return the rows of the columns for the first cell of a line: the baselines, and the networks."""
    name = label.strip("`").removeprefix("depth ").replace("`", "")
    found = {
        size: {row.predictor: row for row in rows if row.name == name}
        for size, rows in ROWS.items()
    }
    baselines = [found["large"][predictor] for predictor in ("last state", "n-gram")]
    return [*baselines, *(rows["network"] for rows in found.values())]


def test_the_table_has_the_published_results() -> None:
    lines = re.findall(
        r"^\| (.+?) \| ([\d,]+) \|" + r" (\d\.\d\d) \|" * 5 + "$", PAGE, re.MULTILINE
    )
    assert len(lines) == 3
    for label, steps, *shares in lines:
        found = find_rows(label)
        assert [f"{row.exact / row.steps:.2f}" for row in found] == shares, label
        assert {f"{row.steps:,}" for row in found} == {steps}


def test_the_figures_of_the_text_are_those_of_the_results() -> None:
    network = {
        (row.group, row.name): row
        for row in ROWS["large"]
        if (row.predictor, row.part) == ("network", "test")
    }
    whole = network["all", "all"]
    assert whole.place is not None
    assert whole.values is not None
    shown = f"right line in {whole.place / whole.steps:.2f} of all steps, and the right values in {whole.values / whole.steps:.2f}"  # fmt: skip
    text = " ".join(PAGE.split())
    assert shown in text
    for name, words in (("int", "right in {} of"), ("several", "at once in {}.")):
        row = network["kind of value", name]
        assert words.format(f"{row.exact / row.steps:.2f}") in text
    last = {point.size: point for point in read_curve(RESULTS / "neural-curve.jsonl")}
    small, medium, large = (last[size] for size in ("small", "medium", "large"))
    assert (
        f"`small` reaches {small.exact:.2f} and `medium` {medium.exact:.2f} after {medium.programs:,} "
        f"programs, `large` {large.exact:.2f} after {large.programs:,}." in text
    )
    assert small.programs == medium.programs
    for sentence in (
        f"`medium` has {medium.parameters / 1e6:.2f} million parameters and `large` {large.parameters / 1e6:.2f} million",
        f"trained on {medium.programs:,} and {large.programs:,} generated programs in {medium.seconds:.0f} and "
        f"{large.seconds:.0f} seconds on an {medium.device}.",
    ):
        assert sentence in text


def test_the_debugger_of_the_page_is_given_predictions() -> None:
    """A flag behind the program would be an argument of the program, which would run."""
    (shown,) = re.findall(r"^\$ njc (debug .+)$", PAGE, re.MULTILINE)
    name, *arguments = shlex.split(shown)
    given = debug.make_context(name, arguments).params
    assert given["predicted"] == "spsbench.neural.debugging"
    assert given["call"]
    assert not given["arguments"]


def test_the_commands_of_the_page_exist_and_make_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the page they are larger."""
    pytest.importorskip("flax")
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"^\$ spsbench ((?:trajectories|train|predict) .+)$", PAGE, re.MULTILINE)
    assert len(shown) == 7
    for command in shown:
        programs = 500 if command.startswith("trajectories") else 2
        smaller = re.sub(r"--programs \d+", f"--programs {programs}", command)
        smaller = re.sub(r"--(steps|every) \d+", r"--\1 2", smaller)
        smaller = re.sub(r"--size \w+", "--size tiny", smaller)
        done = CliRunner().invoke(main, shlex.split(smaller, comments=True))
        assert done.exit_code == 0, done.output
    for results in ("results.jsonl", "neural-small-both.jsonl"):
        rows = read_rows(Path(results), ScoreRow, "not a row")
        assert {row.predictor for row in rows} == {"last state", "network"}


def read_network_rows(name: str) -> dict[str, ScoreRow]:
    rows = read_rows(RESULTS / f"neural-{name}.jsonl", ScoreRow, "not a row")
    return {row.name: row for row in rows if row.predictor == "network"}


def test_the_networks_trained_with_states_and_without() -> None:
    network = load_network(SHIPPED_NETWORK)
    assert f"{sum(array.size for array in network.weights.values()):,} parameters" in PAGE
    both, ends = read_network_rows("small-both"), read_network_rows("small-ends")
    text = " ".join(PAGE.split())
    for action, label in (("step_return", "output"), ("inv_step_call", "input")):
        rows = (both[action], ends[action])
        assert {row.steps for row in rows} == {955}
        exact, lines = (
            " | ".join(f"{(getattr(row, name) or 0) / row.steps:.3f}" for row in rows)
            for name in ("exact", "place")
        )
        assert re.search(rf"\| {label}: `{action}` .+? \| 955 \| {exact} \| {lines} \|", text)
        assert f"{both[action].exact} against {ends[action].exact}" in text
