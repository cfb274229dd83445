"""`spsbench export`: what passed, as JSON Lines with a data card whose fields and counts are right."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_repair import FIRST, TOTAL, write

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njc.measure.repair.annotate import remove_step_comments
from njrt.values.dataclass_json import from_json, to_json
from spsbench.cli import main
from spsbench.export.command import KNOWN_DATA
from spsbench.export.records import EffectRecord, RepairRecord, list_fields, redact_effect
from spsbench.repair.results import REPAIR_KINDS
from spsbench.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.results import read_results

PROGRAM = '''\
def spend(prices, limit):
    spent = 0
    for price in prices:
        """natural
        Add <price> to <:spent>, but break if it is above <limit>.
        """
    return spent
'''
ADD = "```python\nif price > limit:\n    break\nspent += price\n```"


def export(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with problems, and the scripted model's repairs of them."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "own.jsonl", [TOTAL, FIRST])
    flags = ["--data", "own.jsonl", "--model", "scripted", "--conditions", "trace,test"]
    assert CliRunner().invoke(main, ["repair", *flags, "--out", "r.jsonl"]).exit_code == 0
    return tmp_path


def test_repairs_that_pass_are_exported_once_with_their_trace(folder: Path) -> None:
    result = export("--repairs", "r.jsonl", "--data", "own.jsonl", "--out", "out")
    assert result.exit_code == 0, result.output
    first, total = lines("out/repairs.jsonl")
    assert total["problem"] == "quixbugs/total"
    assert total["failing_test"] == "assert total([3, 4]) == 7"
    assert "# (4) spent = 3; (6) spent = 4" in total["trace"]
    assert total["rationale"] == "The program is not the right one."
    assert "return sum(prices)" in total["fix"]
    assert first["condition"] == "trace"
    card = read_card()
    assert "| repairs in the results | 4 | | of these passed | 4 |" in card
    assert "exported repairs | 2 |" in card
    assert "scripted" in card


def read_card() -> str:
    return " ".join(Path("out/README.md").read_text().split())


def test_what_is_exported_can_be_read_and_tested_again(folder: Path) -> None:
    assert export("--repairs", "r.jsonl", "--data", "own.jsonl", "--out", "out").exit_code == 0
    written = Path("out/repairs.jsonl").read_text().splitlines()
    records = [from_json(line, RepairRecord) for line in written]
    assert [to_json(record) for record in records] == written
    for record in records:
        assert run_tests(record.fix, record.tests) == PassedTests()
        failure = run_tests(record.buggy, record.tests)
        assert isinstance(failure, FailedTests)
        assert (failure.test, failure.problem) == (record.failing_test, record.failure)
        assert remove_step_comments(record.trace).split() == record.buggy.split()
    again = Path("out/repairs.jsonl").read_bytes(), Path("out/README.md").read_bytes()
    assert export("--repairs", "r.jsonl", "--data", "own.jsonl", "--out", "out").exit_code == 0
    assert again == (Path("out/repairs.jsonl").read_bytes(), Path("out/README.md").read_bytes())


def test_the_card_names_sources_and_licences_and_no_folder(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "own.jsonl").rename(folder / "deep" / "own.jsonl")
    data = folder / "deep" / "own.jsonl"
    assert export("--repairs", "r.jsonl", "--data", data, "--out", "out").exit_code == 0
    card = read_card()
    assert (
        "| buggy programs and tests of own.jsonl: not known to this command | that of its source |"
        in card
    )
    assert "| rationales, fixes and effects | those of the models' terms |" in card
    assert str(folder) not in card
    assert "deep" not in card


def test_the_licences_of_published_data_are_named() -> None:
    for digest, (source, licence) in KNOWN_DATA.items():
        assert re.fullmatch(r"[0-9a-f]{16}", digest)
        assert re.fullmatch(r"\w+ \([\w.-]+/[\w.-]+\)", source)
        assert licence == "MIT"
    results = Path(__file__).parents[3] / "spsbench" / "results" / "repair"
    (run,) = read_results(
        (results / "repair-qwen2.5-coder-1.5b.jsonl").read_text().splitlines(keepends=True),
        REPAIR_KINDS,
    ).runs[:1]
    assert set(run.data.values()) == set(KNOWN_DATA)


SECRET = "sk-proj-4f8a9c0d1e2f3a4b5c6d"


def test_a_repair_with_a_secret_is_left_out(folder: Path) -> None:
    text = (folder / "r.jsonl").read_text()
    (folder / "r.jsonl").write_text(
        text.replace("The program is", f"With {SECRET} the program is", 1)
    )
    assert export("--repairs", "r.jsonl", "--data", "own.jsonl", "--out", "out").exit_code == 0
    assert [line["problem"] for line in lines("out/repairs.jsonl")] == ["quixbugs/total"]
    assert "| left out: a text has the shape of a secret | 1 |" in read_card()


def test_secrets_of_effects_are_redacted() -> None:
    record = EffectRecord(
        place="shop.njpy:1",
        model="m",
        instruction=f"Log in with {SECRET}.",
        before={"password": "str = 'hunter2'", "n": "int = 1"},
        effect={"kind": "Run", "code": ["login('hunter2')", "n = 2"], "times": 1},
        after={"password": "str = 'hunter2'", "n": "int = 2", "url": "str = 'db://ann:pa55w@host'"},
        result="hunter2",
        ending="completed",
    )
    redacted = redact_effect(record)
    assert redacted == EffectRecord(
        place="shop.njpy:1",
        model="m",
        instruction="Log in with <redacted>.",
        before={"password": "str = <redacted>", "n": "int = 1"},
        effect={"kind": "Run", "code": ["login('<redacted>')", "n = 2"], "times": 1},
        after={
            "password": "str = <redacted>",
            "n": "int = 2",
            "url": "str = 'db://ann:<redacted>@host'",
        },
        result="<redacted>",
        ending="completed",
    )
    assert redact_effect(redacted) == redacted


def test_a_fix_that_no_longer_passes_is_left_out(folder: Path) -> None:
    text = (folder / "r.jsonl").read_text()
    (folder / "r.jsonl").write_text(text.replace("sum(prices)", "0"))
    export("--repairs", "r.jsonl", "--data", "own.jsonl", "--out", "out")
    assert [line["problem"] for line in lines("out/repairs.jsonl")] == ["humanevalfix/7"]


def test_effects_of_live_blocks_have_the_state_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = compile_source(SourceFile("spend.njpy", PROGRAM.encode())).output
    assert output is not None
    namespace: dict[str, Any] = {}
    exec(output, namespace)
    replies = iter([ADD, "```python\nspent = 1 / 0\n```", ADD, ADD])
    model = njrt.Scripted(lambda request: next(replies), protocol="text")
    with njrt.using(model=model, trace="trace.jsonl"):
        assert namespace["spend"]([3, 4, 99], 10) == 7
    result = export("--traces", "trace.jsonl", "--out", "out")
    assert result.exit_code == 0, result.output
    records = lines("out/effects.jsonl")
    assert [record["ending"] for record in records] == ["completed", "completed", "broke"]
    assert records[0]["before"]["spent"] == "int = 0"
    assert records[0]["after"]["spent"] == "int = 3"
    assert records[1]["after"]["spent"] == "int = 7"
    assert "spent += price" in records[0]["effect"]["code"]
    assert records[0]["instruction"].startswith("Add <price> to <:spent>")
    assert "| blocks with exported effects | 1 |" in read_card()


def test_the_card_names_all_fields() -> None:
    for record in (RepairRecord, EffectRecord):
        described = list_fields(record)
        assert [name for name, _ in described] == [field.name for field in fields(record)]
        assert all(meaning for _, meaning in described)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "nothing to export"), (("--repairs", "r.jsonl"), "--repairs and --data go together")],
)
def test_what_is_missing_is_said(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    result = export(*arguments, "--out", "out")
    assert (result.exit_code, message in result.output) == (2, True)
