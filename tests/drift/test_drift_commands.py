"""`njc replay --drift` and `njc migrate-model`: recordings that no longer match, and what another model makes of them.

The forms of what docs/drift.md shows are checked here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import njrt
from loopback import Answer, Seen, Status
from njc.commands import njc as njc_command
from njc.evaluation.drift import (
    compare_runs,
    describe_reply,
    format_difference,
    read_runs,
)
from njc.trace_lines import read_trace
from openai_server import OpenAIServer, says

pytest.importorskip("openai")

PROGRAM = '''\
import sys

import njrt


def sort_mail(mail: str) -> str:
    """natural
    Put into <:kind: str> what <mail> is about.
    """
    return kind


for mail in sys.argv[1:]:
    print(sort_mail(mail), njrt.llm(f"Is it urgent? {mail}", bool))
'''
RECORDING = "recordings/prog.jsonl"


class SortingServer(OpenAIServer):
    """Says of each mail its first word, or what `kinds` says of it."""

    def __init__(self, **kinds: str) -> None:
        super().__init__(models=("gpt-4.1", "gpt-5-mini"))
        self.kinds = kinds

    def answer_without_script(self, seen: Seen) -> Answer:
        text = str(seen.body["messages"][1:])
        if "urgent" in text:
            return Answer(says('{"value": false}').body)
        word = next(word for word in ("invoice", "spam", "party") if word in text)
        return Answer(says(f'{{"kind":  "{self.kinds.get(word, word)}"}}').body)

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": str(self.key), "OPENAI_BASE_URL": self.base_url}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program in the working directory, with a recording of gpt-4.1 on two mails."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    (tmp_path / ".git").mkdir()
    (tmp_path / "prog.njpy").write_text(PROGRAM)
    monkeypatch.setenv("NJC_MODEL", "openai/gpt-4.1")
    monkeypatch.setenv("NJC_RECORD", f"once:{RECORDING}")
    with SortingServer() as server:
        result = run_program(server.environment)
    assert result.returncode == 0, result.stderr
    return tmp_path


def command(*mails: str) -> list[str]:
    return ["--", sys.executable, "-m", "njc", "run", "prog.njpy", *mails]


def run_program(environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [word for word in command("invoice 1", "spam 2") if word != "--"]
    return subprocess.run(words, env={**os.environ, **environ}, capture_output=True, text=True)


def njc(*arguments: str, environ: dict[str, str] | None = None) -> Result:
    runner = CliRunner(env=environ or {})
    return runner.invoke(njc_command, arguments, prog_name="njc")


def test_recordings_that_match_have_no_drift(program: Path) -> None:
    result = njc("replay", "--drift", *command("invoice 1", "spam 2"))
    assert result.exit_code == 0, result.output
    assert "all requests are in the recordings" in result.output


@pytest.mark.parametrize(
    "record", [None, "", "all:new.jsonl", "new:new.jsonl", "none:missing.jsonl"]
)
@pytest.mark.parametrize("flags", [(), ("--drift",)])
def test_no_model_is_asked_if_there_is_no_recording(
    program: Path, flags: tuple[str, ...], record: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the environment has no other variable of njc, so that a key alone chooses the model."""
    monkeypatch.setenv("NJC_RECORD", record or "")
    if record is None:
        monkeypatch.delenv("NJC_RECORD")
        monkeypatch.delenv("NJC_MODEL")
    with SortingServer() as server:
        result = njc("replay", *flags, *command("invoice 1"), environ=server.environment)
        assert result.exit_code == (1 if flags else 3), result.output
        assert server.seen == []


DRIFTS = {
    "prompt": ("is about", "is mainly about", ["turn 1", "mainly about"]),
    "question": ("Is it urgent?", "Is it very urgent?", ["turn 1", "very urgent"]),
    "value": ("print(sort_mail(mail)", 'print(sort_mail(mail + "!")', ["turn 1", "invoice 1!"]),
}


@pytest.mark.parametrize("kind", DRIFTS)
def test_entries_that_no_longer_match_are_listed(program: Path, kind: str) -> None:
    before, after, said = DRIFTS[kind]
    recorded = Path(RECORDING).read_bytes()
    Path("prog.njpy").write_text(PROGRAM.replace(before, after))
    result = njc("replay", "--drift", *command("invoice 1", "spam 2"))
    assert result.exit_code == 1
    assert f"{RECORDING}: 2 entries no longer match" in result.output
    assert all(word in result.output for word in said)
    assert Path(RECORDING).read_bytes() == recorded


def test_entries_that_are_never_asked_for_are_listed(program: Path) -> None:
    result = njc("replay", "--drift", *command("invoice 1"))
    assert result.exit_code == 1
    assert result.output.count("the program never asks for it") == 2


@pytest.mark.parametrize(("last", "code"), [("spam 2", 0), ("invoice 1", 1)])
def test_programs_may_share_a_recording(program: Path, last: str, code: int) -> None:
    """As tests do that have one marker: an entry is used if one of them asks for it."""
    run = f"{sys.executable} -m njc run prog.njpy"
    result = njc("replay", "--drift", "--", "sh", "-c", f"{run} 'invoice 1' && {run} '{last}'")
    assert result.exit_code == code, result.output
    assert result.output.count("the program never asks for it") == 2 * code


def test_a_request_without_an_entry_is_listed_and_fails(program: Path) -> None:
    result = njc("replay", "--drift", *command("invoice 1", "spam 2", "party 3"))
    assert result.exit_code == 1
    assert "party 3" in result.output or "no longer match" in result.output


@pytest.mark.parametrize("write", [False, True])
def test_another_model_is_compared_by_block(program: Path, write: bool) -> None:
    recorded = Path(RECORDING).read_bytes()
    models = ("openai/gpt-4.1", "openai/gpt-5-mini")
    flags = ("--write",) if write else ()
    with SortingServer(spam="junk") as server:
        arguments = ("migrate-model", *flags, *models, *command("invoice 1", "spam 2"))
        result = njc(*arguments, environ=server.environment)
        assert result.exit_code == 1, result.output
        rows: dict[str, list[str]] = {}
        for line in filter(None, result.output.splitlines()):
            rows.setdefault(line.split()[0], line.split()[1:])
        assert rows["prog.njpy:7"] == ["2", "1", "1"]
        assert rows["njrt.llm"] == ["2", "2", "2"]
        assert '"junk"' in result.output
        assert {seen.body["model"] for seen in server.seen} == {"gpt-5-mini"}
        asked = len(server.seen)
        njc(*arguments, environ=server.environment)
        assert len(server.seen) == asked, "the new model was asked again"
    assert (Path(RECORDING).read_bytes() == recorded) is not write
    if write:
        assert b"junk" in Path(RECORDING).read_bytes()


class FailingServer(SortingServer):
    """Refuses the key for what is about spam until it is `paid`."""

    paid = False

    def answer_without_script(self, seen: Seen) -> Answer | Status:  # type: ignore[override]
        if not self.paid and "spam" in str(seen.body["messages"][1:]):
            return Status(401)
        return super().answer_without_script(seen)


def test_recordings_stay_if_the_new_model_does_not_answer_all(program: Path) -> None:
    recorded = Path(RECORDING).read_bytes()
    models = ("openai/gpt-4.1", "openai/gpt-5-mini")
    with FailingServer(spam="junk") as server:
        arguments = ("migrate-model", "--write", *models, *command("invoice 1", "spam 2"))
        result = njc(*arguments, environ=server.environment)
        assert (result.exit_code, Path(RECORDING).read_bytes()) == (2, recorded), result.output
        assert "openai/gpt-5-mini left requests unanswered; nothing is written" in result.output
        server.paid, asked = True, len(server.seen)
        result = njc(*arguments, environ=server.environment)
        assert result.exit_code == 1, result.output
        assert len(server.seen) - asked == 2, "only what is missing is asked for"
    assert b"junk" in Path(RECORDING).read_bytes()


def test_equal_answers_are_no_difference(program: Path) -> None:
    models = ("openai/gpt-4.1", "openai/gpt-5-mini")
    with SortingServer() as server:
        arguments = ("migrate-model", *models, *command("invoice 1", "spam 2"))
        result = njc(*arguments, environ=server.environment)
    assert result.exit_code == 0, result.output


def test_a_command_that_fails_on_its_recordings_is_not_compared(program: Path) -> None:
    result = njc("migrate-model", "a/b", "c/d", *command("party 3"))
    assert result.exit_code == 2
    assert "fails on its recordings" in result.output


def test_a_command_that_asks_no_model_is_not_compared(program: Path) -> None:
    result = njc("migrate-model", "a/b", "c/d", "--", sys.executable, "-c", "")
    assert result.exit_code == 2
    assert "no block asked a model while" in result.output


EQUAL = [
    ({"calls": [{"name": "run", "code": ["x = 1  # one"]}]}, {"calls": [{"name": "run", "code": ["x=1"]}]}),
    ({"text": ['{"a": 1, "b": 2}']}, {"text": ['{"b":2,', '"a":1}']}),
    ({"text": ["```python", "x = 1", "```"]}, {"text": ["x  =  1"]}),
    ({"calls": [{"name": "bind", "arguments": {"a": 1, "b": 2}}]}, {"calls": [{"name": "bind", "arguments": {"b": 2, "a": 1}}]}),
]  # fmt: skip
EQUAL += [
    ({"text": ["```json", '{"a": 1, "b": 2}', "```"]}, {"text": ['{"b": 2, "a": 1}']}),
]
DIFFERENT = [
    ({"calls": [{"name": "run", "code": ["x = 1"]}]}, {"calls": [{"name": "run", "code": ["x = 2"]}]}),
    ({"text": ['{"a": 1}']}, {"text": ['{"a": 2}']}),
    ({"calls": [{"name": "run", "raw": "{"}]}, {"calls": [{"name": "run", "raw": "["}]}),
    ({"text": ["yes"]}, {"text": ["no"]}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_layout_is_no_difference(one: dict[str, object], other: dict[str, object]) -> None:
    assert describe_reply(one) == describe_reply(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_meaning_is_a_difference(one: dict[str, object], other: dict[str, object]) -> None:
    assert describe_reply(one) != describe_reply(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Dear customer, we are sorry for the late delivery. Yes.",) * 2,
        ("x" * 300 + " yes", "x" * 300 + " no"),
        ("'yes'", '"yes"'),
        ("1_000", "1000"),
        ("yes # maybe", "yes"),
        ("yes", "yes "),
    ],
)
def test_the_outcome_of_a_question_is_its_whole_reply(tmp_path: Path, old: str, new: str) -> None:
    """Also where the replies begin alike, or would be the same code."""
    traces = []
    for number, text in enumerate((old, new)):
        trace = tmp_path / f"{number}.jsonl"
        with njrt.using(model=njrt.Scripted([text]), trace=trace):
            njrt.llm("Question?")
        traces.append(read_runs(read_trace(trace)))
    (block,) = compare_runs(*traces)
    is_same = old.strip() == new.strip()
    assert block.same_outcome == is_same
    for difference in block.differences:
        *_, first, second = format_difference(difference)
        assert first.removeprefix("  old: ") != second.removeprefix("  new: ")


def test_runs_are_paired_by_what_they_were_shown(tmp_path: Path) -> None:
    traces = []
    for number, order in enumerate([(1, 2, 3), (3, 1)]):
        trace = tmp_path / f"{number}.jsonl"
        model = njrt.Scripted(lambda request: "yes")
        with njrt.using(model=model, trace=trace):
            for question in order:
                njrt.llm(f"Question {question}?")
        traces.append(read_runs(read_trace(trace)))
    (block,) = compare_runs(*traces)
    assert (block.runs, block.same_effects, block.same_outcome) == (3, 2, 2)
    (difference,) = block.differences
    assert difference.old is not None
    assert "Question 2?" in difference.old.shown
    assert difference.new is None
