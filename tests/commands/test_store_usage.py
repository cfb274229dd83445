"""`njc store usage`, as in docs/reference/budgets.md: what is spent is shown, by period, key and budget, and exported as metrics."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest
from workplace import Workplace

import njrt
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.testing import ModelMessage, Reply, Request, Scripted, Usage


@pytest.fixture(autouse=True)
def store(here: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is spent in the folder of the test."""
    monkeypatch.setenv("NJC_STORE", f"{here.folder}/store.sqlite3")


def spend(usd: float | None, budget: str) -> None:
    """Ask once, at this price."""
    reply = Reply(ModelMessage("3"), usage=Usage(1000, 200, 0, usd))
    with njrt.using(model=Scripted([reply]), budget=budget):
        njrt.llm("How many?")


@pytest.fixture
def spent(here: Workplace) -> Workplace:
    """Return a store in which two teams have spent something today and ever."""
    for team, usd in (("acme", 0.25), ("zoë", 0.5)):
        spend(usd, f"usd=5 per=day name={team}; tokens=1000000 per=total name=research")
    return here


def test_the_table(spent: Workplace) -> None:
    lines = [line.split() for line in spent.njc("store", "usage").stdout.splitlines()]
    head, _, *rows = lines
    assert head == ["budget", "per", "period", "spent", "tokens", "calls"]
    assert [(*row[:2], *row[3:]) for row in rows if row[1] == "day"] == [
        ("acme", "day", "$0.2500", "1,200", "1"),
        ("zoë", "day", "$0.5000", "1,200", "1"),
    ]
    (total,) = [row for row in rows if row[1] == "total"]
    assert total == ["research", "total", "total", "$0.7500", "2,400", "2"]


@pytest.mark.parametrize(
    ("usd", "shown"), [(0.00004, "$0.00004"), (0.000123456, "$0.000123456"), (0.0015, "$0.0015")]
)
def test_small_amounts_have_all_their_digits(here: Workplace, usd: float, shown: str) -> None:
    spend(usd, "usd=1 per=total")
    (_, _, row) = here.njc("store", "usage").stdout.splitlines()
    assert row.split()[3] == shown


def test_a_price_that_is_not_known_is_not_zero(here: Workplace) -> None:
    spend(None, "tokens=5000 per=total")
    assert "  price unknown  " in here.njc("store", "usage").stdout
    (account,) = json.loads(here.njc("store", "usage", "--json").stdout)["accounts"]
    assert (account["usd"], account["tokens"]) == (None, 1200)


def test_json_has_every_account(spent: Workplace) -> None:
    found = json.loads(spent.njc("store", "usage", "--json").stdout)
    (account,) = (each for each in found["accounts"] if each["budget"] == "acme")
    assert found["store"].endswith("store.sqlite3")
    assert account | {"period": ""} == {
        "budget": "acme", "per": "day", "period": "", "current": True,
        "usd": 0.25, "tokens": 1200, "calls": 1,
    }  # fmt: skip


def test_an_empty_store_says_so(here: Workplace) -> None:
    result = here.njc("store", "usage", "--store", f"{here.folder}/empty")
    assert result.stdout == ""
    assert result.stderr == f"{here.folder}/empty: no budget has been used\n"


def test_a_store_that_fails_is_an_error(here: Workplace) -> None:
    here.write({"mail.njpy": "x = 1\n"})
    result = here.njc("store", "usage", "--store", f"{here.folder}/mail.njpy", code=3)
    assert "cannot be used" in result.stderr
    removed = here.njc("store", "usage", "--store", "redis://:secret@127.0.0.1:1/0", code=2)
    assert "python:MODULE:NAME" in removed.stderr
    assert "secret" not in removed.stderr


class FaultyModel:
    """A model of a known price that replies or fails as drawn."""

    protocol = "text"
    name = "openai/gpt-4.1"

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def ask(self, request: Request) -> Reply:
        draw = self._random.random()
        if draw < 0.2:
            error = njrt.ServerError("busy")
            error.status = 503
            raise error
        if draw < 0.3:
            raise njrt.RejectedRequestError("no")
        usage = Usage(self._random.randrange(1, 900), self._random.randrange(90), 0, draw / 7)
        text = "" if draw < 0.5 else f"number {self._random.randrange(2)}"
        return Reply(ModelMessage(text), usage=usage, model=self.name)

    async def aask(self, request: Request) -> Reply:
        return self.ask(request)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_spent_is_the_sum_of_the_traces(here: Workplace, seed: int) -> None:
    """Through retries and fallbacks that fail: accounts, traces and the watch have the same sums."""
    leaf = FaultyModel(seed)
    retried = RetryModel(leaf, first_wait=0)
    models = [
        leaf,
        retried,
        FallbackModel((retried, leaf)),
        RetryModel(FallbackModel((leaf, retried)), first_wait=0),
    ]
    with njrt.watch() as watch:
        for number, model in enumerate(models * 3):
            trace = here.folder / f"{number}.jsonl"
            budget = f"usd=90 per=total; usd=40 tokens=900000 per=day name=t{number % 2}"
            with njrt.using(model=model, budget=budget, trace=trace), suppress(njrt.NaturalError):
                njrt.llm("How many?")
    traced: list[Usage] = []
    for file in here.folder.glob("*.jsonl"):
        for line in map(json.loads, file.read_text().splitlines()):
            traced += read_usages(line)
    tokens = sum(usage.input + usage.output for usage in traced)
    usd = sum(usage.usd or 0.0 for usage in traced)
    accounts = json.loads(here.njc("store", "usage", "--json").stdout)["accounts"]
    assert tokens > 0
    for per in ("total", "day"):
        found = [account for account in accounts if account["per"] == per]
        assert sum(account["tokens"] for account in found) == tokens
        assert sum(account["usd"] for account in found) == pytest.approx(usd, abs=1e-7)
    assert watch.totals.tokens == tokens
    assert watch.totals.usd == pytest.approx(usd)


def read_usages(line: dict[str, Any]) -> list[Usage]:
    """What the calls used that a line of a trace tells of."""
    if "reply" in line:
        return [Usage(**line["reply"]["usage"])]
    return [Usage(**attempt["usage"]) for attempt in line.get("attempts", ())]
