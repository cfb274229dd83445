"""`spsbench run` as a command: it goes on after every kind of end, and refuses what would mix results up."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loopback import Trickle
from openai_server import KEY, OpenAIServer, says
from spsbench.cli import main
from spsbench.results import Results, Trial, read_results
from waiting import HANG_SECONDS, wait_until

RIGHT = says("```python\naverage = 2.0\n```")


def choose(model: str, programs: str, methods: str, repeats: int) -> list[str]:
    """Return the flags that choose trials."""
    chosen = {"model": model, "programs": programs, "methods": methods, "repeats": str(repeats)}
    return [word for name, value in chosen.items() for word in (f"--{name}", value)]


@pytest.fixture(autouse=True)
def _empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def spsbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments], prog_name="spsbench")


def results() -> Results:
    return read_results(Path("results.jsonl").read_text().splitlines(keepends=True))


def test_a_scripted_run_writes_each_trial_once_and_is_not_repeated() -> None:
    arguments = (
        "--model",
        "scripted",
        "--programs",
        "menu,gsm8k",
        "--methods",
        "direct,manual,static,baseline",
    )
    first = spsbench(*arguments, "--repeats", "1", "--jobs", "2")
    assert first.exit_code == 0, first.output
    assert "left out, because a script has no code for them: baseline, static\n" in first.output
    assert "menu direct 1: 4/4 checks" in first.output
    assert "4 trials are done; results: results.jsonl" in first.output
    again = spsbench(*arguments, "--repeats", "2")
    assert "4 of 8 trials are done in results.jsonl" in again.output
    read = results()
    assert [result.share for result in read.results] == [1.0] * 8
    assert [run.repeats for run in read.runs] == [1, 2]
    assert Counter(result.trial.repeat for result in read.results) == {1: 4, 2: 4}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "sttic"), "there is no method `sttic`; did you mean `static`?"),
        (("--programs", "menus"), "there is no program `menus`; did you mean `menu`?"),
        (("--repeats", "0"), "0 is not in the range"),
    ],
)
def test_what_is_not_there_cannot_be_run(arguments: tuple[str, ...], message: str) -> None:
    result = spsbench("--model", "scripted", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not Path("results.jsonl").exists()


def test_results_under_other_conditions_are_not_mixed() -> None:
    arguments = choose("scripted", "menu", "direct", 1)
    assert spsbench(*arguments).exit_code == 0
    before = Path("results.jsonl").read_bytes()
    refused = spsbench(*arguments, "--effects", "20")
    assert refused.exit_code == 2
    assert "the file has trials with effects 300, not 20; name another file" in refused.output
    assert Path("results.jsonl").read_bytes() == before


def test_a_runner_that_is_killed_leaves_nobody_behind_and_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = choose("openai/local", "average_of_three", "direct", 2)
    with OpenAIServer([*[RIGHT] * 3, Trickle()], vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        runner = subprocess.Popen([sys.executable, "-m", "spsbench", "run", *arguments])
        wait_until(lambda: len(server.seen) == 4)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        assert server.abandoned.wait(HANG_SECONDS), "the trial asks on, though its runner is dead"
        assert len(results().results) == 1
        server.script = [RIGHT] * 3
        again = spsbench(*arguments)
    assert again.exit_code == 0, again.output
    assert "1 of 2 trials are done" in again.output
    assert [result.trial.repeat for result in results().results] == [1, 2]
    assert len(Path("results.jsonl").read_text().splitlines()) == 4


def test_an_interrupted_runner_ends_its_trials_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = choose("openai/local", "menu", "direct", 1)
    with OpenAIServer([Trickle()], vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        runner = subprocess.Popen([sys.executable, "-m", "spsbench", "run", *arguments])
        wait_until(lambda: server.seen)
        runner.send_signal(signal.SIGINT)
        assert runner.wait(HANG_SECONDS) == 1
        assert server.abandoned.wait(HANG_SECONDS)
    assert results().results == ()


def test_no_trial_is_started_once_the_money_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = choose("openai/gpt-4.1", "average_of_three", "manual", 3)
    with OpenAIServer([says('{"answer": 2.0}')] * 20) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        stopped = spsbench(*arguments, "--limit-cost", "0.006")  # a trial costs 0.00378
        assert stopped.exit_code == 3
        assert "the limit of $0.006 is reached, and 1 trials are left" in stopped.output
        assert [result.ending for result in results().results] == ["finished"] * 2
        spent = results().spent
        assert spsbench(*arguments, "--limit-cost", "0.006").exit_code == 3
        assert results().spent == spent
        assert spsbench(*arguments).exit_code == 0
    read = results()
    assert {result.trial for result in read.results} == {
        Trial("average_of_three", "manual", "openai/gpt-4.1", repeat) for repeat in (1, 2, 3)
    }
    assert {result.ending for result in read.results} == {"finished"}
    assert read.spent == pytest.approx(spent + 0.00378)


def test_a_server_that_fails_stops_the_run_and_gives_no_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = choose("openai/gpt-4.1", "average_of_three", "manual", 3)
    with OpenAIServer([says('{"answer": 2.0}')] * 9) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        stopped = spsbench(*arguments)
        assert stopped.exit_code == 1
        assert "the model's server failed repeatedly; check it first" in stopped.output
        assert "3 trials are left; the same command continues with them" in stopped.output
        assert [result.is_final for result in results().results] == [False] * 3
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert spsbench(*arguments).exit_code == 0
    assert [result.is_final for result in results().results] == [True] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "opnai/gpt-4.1"), "write openai/NAME"),
        (
            ("--model", "openai/unheard-of", "--limit-cost", "1"),
            "no price is known for openai/unheard-of",
        ),
    ],
)
def test_models_that_cannot_be_asked_or_counted_are_refused(
    arguments: tuple[str, ...], message: str
) -> None:
    refused = spsbench(*arguments)
    assert refused.exit_code == 2
    assert message in refused.output
