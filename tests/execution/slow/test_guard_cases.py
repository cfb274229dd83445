"""Normal code that the guard must let run, and attacks on contained code: guard_cases/*.txt.

An attack counts as stopped if no effect is even attempted, as an audit hook sees.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from processes import run_python

HERE = Path(__file__).parents[1]


def read_cases(name: str) -> dict[str, str]:
    """Return the cases of a file by their names."""
    cases = {}
    for part in (HERE / "guard_cases" / name).read_text(encoding="utf-8").split("\n---"):
        lines = [line for line in part.strip("\n").split("\n") if not line.startswith("# ")]
        lines = [line for line in lines if not line.startswith("## ")]
        text = "\n".join(lines).strip("\n")
        title, _, source = text.partition("\n")
        assert title not in cases, title
        cases[title] = source
    return cases


ATTACKS = read_cases("attacks.txt")
ALLOWED = read_cases("allowed.txt")
HIDDEN = "no attribute '_price'"
NOT_CONTAINED = {
    "vars of an object": "{'name': 'tea'}",
    "vars of an object, copied to JSON": '{"name": "tea"}',
    "__dict__ of an object": "{'name': 'tea'}",
    "items of a __dict__": "['name']",
    "private attributes of the program": HIDDEN,
    "attrgetter of a private attribute": HIDDEN,
    "attributes by name": HIDDEN,
    "class in a function in a class": HIDDEN,
    "setattr on an object of the program": "`_price` of a Order cannot be set",
    "ZoneInfo of a zone": "No time zone found",  # a file
    "a class of the program is changed": "the class Order cannot be changed",
    "deepcopy of an object of the program": "cannot make or copy a Order itself",
}
"""Cases that differ in contained code, with what they show or the reason that the model is told."""


def run_cases(sources: list[str], policy: str, folder: Path) -> list[dict[str, Any]]:
    done = run_python(
        str(HERE / "guard_runner.py"),
        policy,
        str(folder),
        input=json.dumps(sources),
        timeout=240,
        check=True,
    )
    outcomes: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guard")


def test_no_attack_passes_the_boundary(folder: Path) -> None:
    """Contained code has no effect even if the guard does not look at it before."""
    outcomes = run_cases(list(ATTACKS.values()), "boundary", folder)
    wrong = [
        {"title": title, **outcome}
        for title, outcome in zip(ATTACKS, outcomes, strict=True)
        if outcome["fired"]
        or outcome["attempts"]
        or (outcome["secret"] and not changes_its_library(title))
    ]
    assert wrong == []


def changes_its_library(title: str) -> bool:
    """Return whether a case changes Python's library, in contained code that of its own process."""
    return "out = CHANGED" in ATTACKS[title]


def test_normal_code_runs(folder: Path, policy: str) -> None:
    sources = [case.partition("\n=> ")[0] for case in ALLOWED.values()]
    outcomes = run_cases(sources, policy, folder)
    for (title, case), outcome in zip(ALLOWED.items(), outcomes, strict=True):
        expected = case.partition("\n=> ")[2]
        if policy == "contained" and title in NOT_CONTAINED:
            assert NOT_CONTAINED[title] in outcome["text"], title
            continue
        assert outcome["result"] == "ran", (title, outcome["text"])
        if expected:
            assert outcome["text"].partition("\n")[0] == expected, title
