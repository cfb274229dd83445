"""`njc tune`: the form of a block is chosen on some cases, checked on others, and written only if it is better there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import njrt
import plain_model
from njc.commands import njc
from njc.evaluation.cases.case_file import read_cases
from njc.evaluation.cases.runner import BlockRun, CaseResult, CaseResults
from njc.evaluation.cases.tuner import (
    Form,
    Tuner,
    choose_examples,
    choose_threshold,
    compare_held_out,
    get_first_model,
    is_kept,
    list_block_runs,
    list_sure_runs,
    split_cases,
)
from njc.project.config import find_project
from njc.project.tuned import NO_EVIDENCE
from njc.project.units import make_unit
from njc.static.lock import read_lock
from openai_server import OpenAIServer, says

PROGRAM = '''\
from typing import Literal


def route(mail: str) -> str:
    """natural
    Put into <:team: Literal["billing", "shipping"]> the team for <mail>.
    """
    return team
'''
CASES = [
    {"inputs": {"mail": f"{number}: my invoice"}, "expect": "billing"}
    if number % 4 == 0
    else {"inputs": {"mail": f"{number}: my parcel"}, "expect": "shipping"}
    for number in range(24)
]


@dataclass
class Shown:
    """What a rule sees of a request."""

    body: dict[str, Any]
    roles: list[str] = field(init=False)
    last: str = field(init=False)

    def __post_init__(self) -> None:
        self.roles = [message["role"] for message in self.body["messages"]]
        self.last = self.body["messages"][-1]["content"]

    @property
    def is_reasoned(self) -> bool:
        return "reason step by step" in self.last

    @property
    def is_code(self) -> bool:
        return "```python" in self.body["messages"][0]["content"]

    @property
    def examples(self) -> int:
        return self.roles.count("assistant")

    @property
    def mail(self) -> str:
        found = re.findall(r"mail(?:: str)? = '(.*)'", self.last)
        return found[-1]

    @property
    def right(self) -> str:
        return "shipping" if "parcel" in self.mail else "billing"


class RuleServer(OpenAIServer):
    """A server whose model follows a rule; `answer` gives a team, or the text of a reply."""

    def __init__(self, answer: Callable[[Shown], str]) -> None:
        super().__init__(vendor=False, models=("small",))
        self.answer = answer

    def answer_without_script(self, seen: Any) -> Any:
        if seen.path == "/v1/models":
            return super().answer_without_script(seen)
        shown = Shown(seen.body)
        team = self.answer(shown)
        if shown.is_code:
            return says(f'```python\nteam = "{team}"\n```')
        reply = json.dumps({"team": team})
        return says(f"It is about {shown.mail}.\n{reply}" if shown.is_reasoned else reply)


PORTS: dict[Path, int] = {}


def tune(
    folder: Path,
    answer: Callable[[Shown], str],
    *words: str,
    program: str = PROGRAM,
    cases: Any = CASES,
    command: str = "tune",
    function: str = "route",
    with_sdk: bool = False,
) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run the command; return how it ended, and how many calls of the model it made.

    The model is asked without an SDK by default: each process would take twice as long.
    """
    file, lines = folder / "triage.njpy", folder / "cases.jsonl"
    file.write_text(program)
    lines.write_text("".join(json.dumps(case) + "\n" for case in cases))
    given = RuleServer(answer)
    given.port = PORTS.get(folder, 0)  # results of another server are not taken
    with given as server:
        PORTS[folder] = int(server.url.rpartition(":")[2])
        done = subprocess.run(
            [sys.executable, "-m", "njc", command, f"{file}:{function}", str(lines), *words],
            cwd=folder,
            env={
                **os.environ,
                **(make_sdk_variables(server) if with_sdk else make_plain_variables(server)),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done, sum(seen.method == "POST" for seen in server.seen)


def make_sdk_variables(server: RuleServer) -> dict[str, str]:
    """Return the variables of a process that asks the server by the SDK."""
    return {"NJC_BASE_URL": server.base_url, "NJC_MODEL": "openai/small"}


def make_plain_variables(server: RuleServer) -> dict[str, str]:
    """Return the variables of a process that asks the server without the SDK."""
    return {
        "PYTHONPATH": str(Path(plain_model.__file__).parent),
        "PLAIN_SERVER": server.base_url,
        "NJC_MODEL": "python:plain_model:small",
    }


def test_ctrl_c_keeps_the_replies_in_flight(tmp_path: Path) -> None:
    """Of the process that runs the cases, too: the terminal interrupts both."""
    file, lines = tmp_path / "triage.njpy", tmp_path / "cases.jsonl"
    file.write_text(PROGRAM)
    lines.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    mails: list[str] = []

    def answer_late(shown: Shown) -> str:
        """Answer one of three requests after the other; interrupt when all have been sent."""
        time.sleep(1)
        if not mails:
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.5)
        mails.append(shown.mail)
        return shown.right

    with RuleServer(answer_late) as server:
        PORTS[tmp_path] = int(server.url.rpartition(":")[2])
        process = subprocess.Popen(
            [sys.executable, "-m", "njc", "tune", f"{file}:route", str(lines), "-j", "3"],
            cwd=tmp_path,
            env={**os.environ, **make_sdk_variables(server)},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, "waiting for the running cases" in errors) == (130, True), errors
    results = tmp_path / "cases.tuning.jsonl"
    kept = results.read_text()
    assert (len(mails), len(kept.splitlines())) == (3, 3)
    done, _ = tune(tmp_path, lambda shown: shown.right, with_sdk=True)
    assert done.returncode == 0, done.stderr
    assert results.read_text().startswith(kept)
    known = [json.loads(line) for line in results.read_text().splitlines()]
    assert len({(it["program"], it["case"]) for it in known}) == len(known)


def test_nothing_is_asked_if_the_lock_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "triage.njpy").write_text(PROGRAM)
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    words = ["tune", f"{tmp_path}/triage.njpy:route", f"{tmp_path}/cases.jsonl", "-o", os.devnull]
    monkeypatch.setattr("os.access", lambda place, _: place != tmp_path)
    model = njrt.Scripted(['{"team": "billing"}'] * 100, protocol="text")
    with njrt.using(model=model):
        result = CliRunner().invoke(njc, words)
    assert (result.exit_code, model.requests) == (2, [])
    assert "njc.lock: its directory is read-only" in result.output


def answer_if(condition: Callable[[Shown], bool]) -> Callable[[Shown], str]:
    """Return a model that is right under a condition, and else says billing."""
    return lambda shown: shown.right if condition(shown) else "billing"


def test_reasoning_is_chosen_checked_and_written(tmp_path: Path) -> None:
    rule = answer_if(lambda shown: shown.is_reasoned)
    done, calls = tune(tmp_path, rule, "--tokens", "3", with_sdk=True)
    assert done.returncode == 0, done.stderr
    first = done.stdout
    assert 'triage.njpy:5: reasoning="text"' in first
    held_out = re.search(
        r"0\.\d+ -> 1\.000 on 12 held-out cases \(better in (\d+), worse in 0; p = 0\.0",
        done.stdout,
    )
    assert held_out, done.stdout
    assert int(held_out[1]) >= 6
    (section,) = read_lock(tmp_path / "njc.lock").tuned.values()
    assert (section.model, section.options) == ("openai/small", {"reasoning": "text"})
    assert (section.evidence.cases, section.evidence.looks) == (12, 1)

    subprocess.run([sys.executable, "-m", "njc", "build", "triage.njpy"], cwd=tmp_path, check=True)
    compiled = (tmp_path / "triage.py").read_text()
    assert 'tuned={"openai/small": {"reasoning": "text"}}' in compiled
    assert "Put into <:team:" in compiled
    done, _ = tune(tmp_path, rule, command="eval", with_sdk=True)
    assert "24 of 24" in done.stdout

    again, further = tune(tmp_path, rule, "--tokens", "3", with_sdk=True)
    assert (again.stdout, further) == (first, 0)
    assert calls > 60


def test_examples_are_taken_from_right_cases(tmp_path: Path) -> None:
    rule = answer_if(lambda shown: shown.examples >= 2 or int(shown.mail.split(":")[0]) % 3 == 0)
    done, _ = tune(tmp_path, rule, "--tokens", "4", "--confidence", "0.5")
    assert "2 examples" in done.stdout, done.stdout + done.stderr
    (section,) = read_lock(tmp_path / "njc.lock").tuned.values()
    assert section.options == {}
    for shown, reply in section.examples:
        assert re.fullmatch(r"mail = '\d+: my \w+'", shown)
        assert json.loads(reply) == {"team": "shipping" if "parcel" in shown else "billing"}


def test_nothing_is_written_if_nothing_is_better(tmp_path: Path) -> None:
    done, _ = tune(tmp_path, answer_if(lambda shown: not shown.is_reasoned))
    assert "no form is better" in done.stdout, done.stderr
    assert not (tmp_path / "njc.lock").exists()


def test_what_only_fits_the_chosen_half_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    mails = {case.case.inputs["mail"] for case in split_cases(read_cases(path))[0]}
    done, _ = tune(tmp_path, answer_if(lambda shown: shown.is_reasoned and shown.mail in mails))
    assert 'reasoning="text"' in done.stdout
    assert re.search(r"(0\.\d+) -> \1 on 12", done.stdout)
    assert "nothing is written" in done.stdout
    assert not (tmp_path / "njc.lock").exists()


def test_equal_cases_count_once(tmp_path: Path) -> None:
    """One different case in each half is no evidence, however often the file repeats it."""
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    halves = split_cases(read_cases(tmp_path / "cases.jsonl"))
    lines = [next(case.text for case in half if "parcel" in case.text) for half in halves]
    cases = [json.loads(line) for line in lines] * 12
    done, _ = tune(tmp_path, answer_if(lambda shown: shown.is_reasoned), "--tokens", "3", cases=cases)  # fmt: skip
    assert "0.000 -> 1.000 on 1 held-out cases (better in 1, worse in 0; p = 1.000)" in done.stdout
    assert not (tmp_path / "njc.lock").exists()


def test_further_candidates_on_the_same_cases_raise_the_bar(tmp_path: Path) -> None:
    done, _ = tune(tmp_path, answer_if(lambda shown: shown.is_reasoned), "--check")
    first = find_chance(done.stdout)
    assert "better; nothing is written" in done.stdout
    other = PROGRAM.replace("the team for", "the group for")
    rule = answer_if(lambda shown: shown.is_reasoned and "group" in shown.last)
    done, _ = tune(tmp_path, rule, program=other)
    assert find_chance(done.stdout) == pytest.approx(3 * first, abs=2e-3)


def find_chance(text: str) -> float:
    """Return the p of the held-out cases."""
    found = re.search(r"p = ([\d.]+)\)", text)
    assert found, text
    return float(found[1])


def test_the_calls_are_limited(tmp_path: Path) -> None:
    done, calls = tune(tmp_path, answer_if(lambda shown: shown.is_code), "--calls", "50")
    assert calls == 24
    assert 'effects="direct": left out, 50 calls would not be enough' in done.stderr
    done, calls = tune(tmp_path, answer_if(lambda shown: shown.is_code), "--calls", "90")
    assert 'effects="direct"' in done.stdout
    assert calls <= 90 - 24


def test_the_calls_of_a_function_that_asks_several_times_are_limited(tmp_path: Path) -> None:
    """All in one folder: a higher limit continues from the calls of a lower one."""
    program = PROGRAM.replace(
        "    return team",
        "    return team\n\n\ndef route_thrice(mail: str) -> str:\n    return [route(mail) for _ in range(3)][0]",
    )
    made = 0
    for limit in (140, 150, 240, 330):
        done, calls = tune(tmp_path, answer_if(lambda shown: shown.is_code), "--calls", str(limit), program=program, function="route_thrice")  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert ("left out" in done.stderr.splitlines()[2]) == (limit == 140)
        made += calls
        assert made <= limit


def test_what_costs_too_much_is_not_chosen(tmp_path: Path) -> None:
    class Costly(RuleServer):
        def answer_without_script(self, seen: Any) -> Any:
            answer = super().answer_without_script(seen)
            if seen.method == "POST" and Shown(seen.body).is_reasoned:
                answer.body["usage"] |= {"prompt_tokens": 9000}
            return answer

    assert issubclass(Costly, RuleServer)
    rule = answer_if(lambda shown: shown.is_reasoned)
    file, lines = tmp_path / "triage.njpy", tmp_path / "cases.jsonl"
    file.write_text(PROGRAM)
    lines.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    with Costly(rule) as server:
        done = subprocess.run(
            [sys.executable, "-m", "njc", "tune", f"{file}:route", str(lines)],
            env={**os.environ, **make_plain_variables(server)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "no form is better" in done.stdout, done.stderr


def test_what_the_author_has_set_is_left_alone(tmp_path: Path) -> None:
    program = PROGRAM.replace('"""natural\n', '"""natural(reasoning="none", effects="answer")\n')
    rule = answer_if(lambda shown: shown.is_reasoned or shown.is_code)
    done, _ = tune(tmp_path, rule, program=program)
    assert "no form is better" in done.stdout, done.stderr
    assert "reasoning=" not in done.stderr


def test_a_changed_prompt_is_no_longer_tuned(tmp_path: Path) -> None:
    tune(tmp_path, answer_if(lambda shown: shown.is_reasoned))
    assert (tmp_path / "njc.lock").exists()
    (tmp_path / "triage.njpy").write_text(PROGRAM.replace("the team", "the best team"))
    subprocess.run([sys.executable, "-m", "njc", "build", "triage.njpy"], cwd=tmp_path, check=True)
    assert "tuned" not in (tmp_path / "triage.py").read_text()
    for words, said in ((), "stale: its prompt has changed"), (("--update",), ""):
        done = subprocess.run(
            [sys.executable, "-m", "njc", "lock", "triage.njpy", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert said in done.stdout
    assert "[[tuned]]" not in (tmp_path / "njc.lock").read_text()


WRONG: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "too few": (CASES[:12], (), "there are 6 cases to choose a form on and 6 to check it on"),
    "input": (CASES, ("--out", "cases.jsonl"), "cases.jsonl is an input of this command"),
    "shared": (CASES, ("--held-out", "cases.jsonl"), "this case is also in"),
}


@pytest.mark.parametrize(("cases", "words", "message"), WRONG.values(), ids=WRONG)
def test_wrong_usage(tmp_path: Path, cases: Any, words: tuple[str, ...], message: str) -> None:
    done, calls = tune(tmp_path, lambda shown: shown.right, *words, cases=cases)
    assert (done.returncode, calls) == (2, 0)
    assert message in done.stderr


def test_a_broken_section_is_an_error_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "triage.njpy").write_text(PROGRAM)
    for options, message in (
        ('{ model = "other" }', "option `model` cannot be tuned"),
        ("{ votes = 0 }", "whole number from 1"),
        ("3", "options"),
    ):
        (tmp_path / "njc.lock").write_text(
            'version = 1\n[[tuned]]\nfile = "triage.njpy"\ninstruction = "x"\nmodel = "m"\n'
            f'date = "2026-01-01"\noptions = {options}\nevidence = {{ cases = 1, before = 0.0, after = 1.0, better = 1, '
            "worse = 0, chance = 0.1, looks = 1, tokens_before = 1.0, tokens_after = 1.0 }\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "njc", "build", "triage.njpy"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "njc.lock" in done.stderr
        assert message in done.stderr


def test_a_choice_replaces_the_sections_of_the_blocks_that_were_measured(tmp_path: Path) -> None:
    """A block that ran, and is best as it is, loses its section: with it the choice was not measured."""
    program = tmp_path / "triage.njpy"
    program.write_text(PROGRAM)
    unit, project = make_unit(program, find_project(program, {})), find_project(program, {})
    tuner = Tuner(
        print, f"{program}:route", unit, project, CaseResults(tmp_path / "out.jsonl", CaseResult), "", 1, 1, 9, 0
    )  # fmt: skip
    old, new = Form({"votes": 3}), Form({"reasoning": "text"})
    for model in ("other", "small"):
        tuner.name = model
        tuner.places = dict.fromkeys(("one", "two", "three"), "triage.njpy:5")
        tuner.write({"one": old, "two": old, "three": old}, NO_EVIDENCE)
    tuner.places = dict.fromkeys(("one", "two"), "triage.njpy:5")
    tuner.write({"one": new}, NO_EVIDENCE)
    sections = read_lock(tmp_path / "njc.lock").tuned.values()
    assert {(it.model, it.instruction.strip()): dict(it.options) for it in sections} == {
        **{("other", name): {"votes": 3} for name in ("one", "two", "three")},
        ("small", "one"): {"reasoning": "text"},
        ("small", "three"): {"votes": 3},
    }


def test_the_halves_depend_on_the_cases_alone(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    lines = [json.dumps(case) for case in CASES]

    def split(lines: list[str]) -> list[set[str]]:
        path.write_text("\n".join(lines) + "\n")
        return [{case.text for case in part} for part in split_cases(read_cases(path))]

    choosing, held_out = split(lines)
    assert len(choosing) == len(held_out) == 12
    assert not choosing & held_out
    assert split(lines[::-1]) == [choosing, held_out]
    assert split(lines + lines[:5]) == [choosing, held_out]
    more = [json.dumps({"inputs": {"mail": f"more {n}"}, "expect": "billing"}) for n in range(9)]
    later = split(lines + more)
    assert later[0] >= choosing
    assert later[1] >= held_out


def make_result(digest: str, passed: bool, reply: str = "", opening: str = "") -> CaseResult:
    block = BlockRun("Judge <x>.", "answer", "m", opening, reply)
    return CaseResult("p", digest, "", 1, passed, blocks=(block,) if reply else ())


def test_a_block_with_an_interface_has_no_other_forms() -> None:
    block = BlockRun("Serve <x>.", "interface", "m", "Serve <x>.", "")
    other = BlockRun("Judge <x>.", "answer", "m", "Judge <x>.", "")
    result = CaseResult("p", "c", "", 1, True, blocks=(block, other, other))
    assert list_block_runs({"c": [result]}) == [other]


def test_examples_differ_in_their_answers() -> None:
    results = {
        f"c{number}": [
            make_result(
                f"c{number}",
                True,
                json.dumps({"y": number == 7}),
                f"Judge <x>.\n---\nx = {number}\nReply with {{...}}",
            )
        ]
        for number in range(9)
    }
    examples, cases = choose_examples(results, "Judge <x>.", 2)
    assert ("x = 7", '{"y": true}') in examples
    assert len(examples) == len(cases) == 2


@pytest.mark.parametrize(
    ("better", "worse", "looks", "kept"),
    [(6, 0, 1, True), (6, 0, 2, False), (5, 0, 1, False), (12, 3, 1, True), (3, 12, 1, False)],
)
def test_what_counts_as_better(better: int, worse: int, looks: int, kept: bool) -> None:
    outcomes = [(False, True)] * better + [(True, False)] * worse + [(True, True)] * 10
    before, after = (
        {f"c{n}": [make_result(f"c{n}", pair[side])] for n, pair in enumerate(outcomes)}
        for side in (0, 1)
    )
    assert is_kept(compare_held_out(before, after, looks), 0.95) is kept


class TwoModels(RuleServer):
    """The first model is right where it is sure; the second is always right."""

    def answer_without_script(self, seen: Any) -> Any:
        if seen.method == "GET":
            return super().answer_without_script(seen)
        shown = Shown(seen.body)
        is_sure = int(shown.mail.split(":")[0]) % 3 != 0
        right = is_sure or seen.body["model"] == "large"
        other = {"shipping": "billing", "billing": "shipping"}[shown.right]
        text = json.dumps({"team": shown.right if right else other})
        answer = says(text)
        answer.body["choices"][0]["logprobs"] = {
            "content": [{"token": text, "logprob": -0.01 if is_sure else -1.0}]
        }
        return answer


def test_a_run_with_several_answers_counts_once_for_a_second_model() -> None:
    def run_block(probability: float | None) -> BlockRun:
        return BlockRun("Judge <x>.", "answer", "m", probability=probability)

    result = make_result("c", False)
    many = {
        "sure": [replace(result, blocks=(run_block(0.9), run_block(0.7)))],
        "asked": [replace(result, blocks=(run_block(0.9), run_block(None)))],
        "no block": [replace(result, blocks=())],
    }
    assert list_sure_runs(many) == [(0.7, False)]


def test_a_form_without_probabilities_is_kept_with_a_second_model(tmp_path: Path) -> None:
    rule = answer_if(lambda shown: shown.is_reasoned)
    done, _ = tune(tmp_path, rule, "--second", "openai/large")
    assert done.returncode == 0, done.stderr
    assert '--second does not apply to reasoning="text"' in done.stderr
    assert 'triage.njpy:5: reasoning="text"' in done.stdout
    assert (tmp_path / "njc.lock").exists()


def test_votes_that_need_too_many_tokens_are_named(tmp_path: Path) -> None:
    done, _ = tune(tmp_path, lambda shown: "shipping")
    assert "votes=3: left out, it needs more than 2 times the tokens" in done.stderr
    program = PROGRAM.replace('"""natural\n', '"""natural(votes=2)\n')
    done, _ = tune(tmp_path, lambda shown: "shipping", program=program)
    assert "votes" not in done.stderr


def tune_second(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], int]:
    """Tune with a second model; return how the command ended, and the calls of both models."""
    file, lines = folder / "triage.njpy", folder / "cases.jsonl"
    file.write_text(PROGRAM.replace("natural\n", 'natural(reasoning="none", effects="answer")\n'))
    lines.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    with TwoModels(lambda shown: shown.right) as server:
        server.models = ("small", "large")
        done = subprocess.run(
            [sys.executable, "-m", "njc", "tune", f"{file}:route", str(lines), "--second", "openai/large", *words],
            env={**os.environ, **make_sdk_variables(server)},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        return done, sum(seen.method == "POST" for seen in server.seen)


def test_a_threshold_for_a_second_model(tmp_path: Path) -> None:
    done, _ = tune_second(tmp_path)
    assert "answered by the first model alone: " in done.stdout, done.stderr
    assert re.search(r"-> 1\.000 on 12 held-out cases", done.stdout), done.stdout
    assert ", 0 wrong (0.000;" in done.stdout


@pytest.mark.parametrize("limit", [20, 47, 83])
def test_the_calls_for_a_second_model_are_limited(tmp_path: Path, limit: int) -> None:
    """Measuring the first model's probabilities needs 12 calls, and the check up to 36 of both models."""
    done, calls = tune_second(tmp_path, "--calls", str(limit))
    assert done.returncode == 0, done.stderr
    assert f"second_below=0.0: left out, {limit} calls would not be enough" in done.stderr
    assert calls <= limit
    kept = map(json.loads, (tmp_path / "cases.tuning.jsonl").read_text().splitlines())
    assert sum(result["calls"] for result in kept) == calls


@pytest.mark.parametrize(
    ("runs", "threshold"),
    [
        ([(0.9, True), (0.8, True), (0.7, False)], 0.8),
        ([(0.9, False), (0.8, True)], None),
        ([(0.9, True), (0.9, False), (0.8, True)], None),
        ([(0.5, True)] * 30 + [(0.4, False)], 0.4),
        ([], None),
    ],
)
def test_the_threshold(runs: list[tuple[float, bool]], threshold: float | None) -> None:
    assert choose_threshold(runs, 0.05) == threshold


@pytest.mark.parametrize(
    "name", ["a/b", "vote(3xa/b)", "cascade(a/b,c/d)", "vote(2xcascade(a/b,c/d))"]
)
def test_the_name_of_a_wrapped_model(name: str) -> None:
    assert get_first_model(name) == "a/b"
