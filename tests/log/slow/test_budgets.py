"""Budgets, as in docs/reference/budgets.md: what a call costs is counted, and once that is spent, none is made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starting import run_together

import njrt
from njrt.data.options.budget import Budget, parse_budgets
from njrt.errors import (
    BudgetError,
    ConfigurationError,
    ServerError,
    StoreError,
)
from njrt.log.budgets.budgeted import Budgeted
from njrt.log.budgets.ledger import (
    NANO,
    find_accounts,
    find_period,
    list_accounts,
)
from njrt.log.sqlite_store import MemoryStore
from njrt.messages import CallAttempt, ModelMessage, Reply, Request, Usage, UserMessage
from njrt.models.model import LayeredModel
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.stores import Store
from njrt.testing import Scripted
from waiting import run_threads

REQUEST = Request("Answer.", (UserMessage("How many?"),), max_reply_tokens=100, timeout=5.0)


def reply(tokens: int = 0, usd: float | None = None) -> Reply:
    return Reply(ModelMessage("3"), usage=Usage(tokens, 0, 0, usd), model="m")


class PricedModel:
    """A model of a known price whose replies are given by a function; it counts its calls."""

    protocol = "tools"

    def __init__(
        self, name: str = "openai/gpt-4.1", answer: Any = lambda: reply(50, 0.001)
    ) -> None:
        self.name = name
        self.calls = 0
        self._answer = answer

    def ask(self, request: Request) -> Reply:
        self.calls += 1
        result: Reply = self._answer()
        return result

    async def aask(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        return self.ask(request)


@pytest.fixture
def ledger() -> Store:
    return MemoryStore()


def put_on_budget(model: Any, ledger: Store, *budgets: Budget) -> LayeredModel:
    layer = Budgeted(budgets, lambda: ledger)
    return LayeredModel(model, (layer,))


def ask_often(model: LayeredModel) -> None:
    for _ in range(100):
        model.ask(REQUEST)


def read_only_account(ledger: Store) -> Any:
    ((_, state),) = list_accounts(ledger)
    return state


# --- writing budgets


BUDGETS = st.builds(
    Budget,
    usd=st.none() | st.floats(0, 1e6),
    tokens=st.integers(0, 10**12),
    per=st.sampled_from(["hour", "day", "month", "total"]),
    name=st.sampled_from(["all", "research", "x-1"]),
)


@given(st.lists(BUDGETS, max_size=3))
def test_a_written_budget_is_read_again(budgets: list[Budget]) -> None:
    assert parse_budgets("; ".join(map(str, budgets))) == tuple(budgets)


WRONG = [
    ("usd=5", "`per` must be one of"),
    ("usd=5 per=scope", r"limit a `with` by njrt\.limit\(usd=\.\.\.\)"),
    ("usd=5 per=run", "a run by the options max_usd and max_tokens"),
    ("usd=5 per=week", "`per` must be one of"),
    ("usd=five per=day", "must be numbers"),
    ("usd=nan per=day", "a number from 0"),
    ("usd=inf per=day", "a number from 0"),
    ("usd=-1 per=day", "a number from 0"),
    ("tokens=1.5 per=day", "must be numbers"),
    ("dollars=5 per=day", "is not one NAME=VALUE"),
    ("usd=5 usd=6 per=day", "is not one NAME=VALUE"),
    ("5 dollars a day", "is not one NAME=VALUE"),
    ("usd=5 per=day zone=UTC", "`zone` was removed in njc 0.3: hours, days and months are in UTC"),
    ("usd=5 per=day unpriced=tokens", "`unpriced` was removed in njc 0.3: limit `tokens`"),
    ("usd=5 per=day each=key", "`each` was removed in njc 0.3: open `njrt.using"),
    ("usd=5 per=day name=", "`name` must be"),
]


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_a_wrong_budget_is_refused(text: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=why):
        parse_budgets(text)
    monkeypatch.setenv("NJC_BUDGET", text)
    with (
        njrt.using(model=Scripted(["3"]), store="memory:"),
        pytest.raises(ConfigurationError, match=why),
    ):
        njrt.llm("How many?")


@pytest.mark.parametrize(
    "values",
    [
        {"usd": True},
        {"usd": "5"},
        {"tokens": 1.5},
        {"per": "week"},
        {"name": 5},
        {"per": None},
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"`{next(iter(values))}` must be"):
        Budget(**{"per": "day"} | values)


PERIODS = [
    ("2026-03-01T23:59:59+00:00", "day", "2026-03-01"),
    ("2026-03-02T00:30:00+01:00", "day", "2026-03-01"),
    ("2026-03-01T23:59:59+00:00", "month", "2026-03"),
    ("2026-03-01T10:59:59+00:00", "hour", "2026-03-01T10+0000"),
    ("2026-03-01T10:59:59+00:00", "total", "total"),
]


@pytest.mark.parametrize(("at", "per", "label"), PERIODS)
def test_periods(at: str, per: Any, label: str) -> None:
    assert find_period(per, datetime.fromisoformat(at).timestamp()) == label


# --- one call


def test_a_spent_budget_allows_no_call(ledger: Store) -> None:
    model = PricedModel()
    asked = put_on_budget(model, ledger, Budget(usd=0.0015, per="day"))
    with pytest.raises(BudgetError, match=r"is spent: \$0.0020 and 100 tokens, in") as caught:
        ask_often(asked)
    assert model.calls == 2
    error = caught.value
    assert (error.budget, error.period) == ("usd=0.0015 per=day", f"{datetime.now(UTC):%Y-%m-%d}")


@pytest.mark.parametrize(
    "budget", [Budget(usd=0, per="day"), Budget(tokens=0, per="day"), Budget(tokens=700, per="day")]
)
def test_tokens_and_dollars_limit(ledger: Store, budget: Budget) -> None:
    model = PricedModel(answer=lambda: reply(300, 0.0))
    asked = put_on_budget(model, ledger, budget)
    with pytest.raises(BudgetError):
        ask_often(asked)
    assert model.calls * 300 <= (budget.tokens or 0) + 300
    assert model.calls or not budget.tokens


@pytest.mark.parametrize("error", [ServerError("lost"), KeyboardInterrupt(), ValueError("bug")])
def test_a_call_without_a_reply_costs_what_its_error_says(
    ledger: Store, error: BaseException
) -> None:
    def fail() -> Reply:
        raise error

    asked = put_on_budget(PricedModel(answer=fail), ledger, Budget(usd=1, per="day"))
    with pytest.raises(type(error)):
        asked.ask(REQUEST)
    assert list(list_accounts(ledger)) == []
    if isinstance(error, ServerError):
        error.attempts = (CallAttempt("m", "ServerError", Usage(50, 0, 0, 0.001)),)
        with pytest.raises(ServerError):
            asked.ask(REQUEST)
        assert read_only_account(ledger).tokens == 50


@pytest.mark.parametrize("budget", [Budget(usd=1, per="day"), Budget(tokens=9, per="day")])
def test_a_reply_without_counts_is_an_error(ledger: Store, budget: Budget) -> None:
    asked = put_on_budget(PricedModel(answer=reply), ledger, budget)
    with pytest.raises(BudgetError, match="server of m reported no usage; limit calls"):
        asked.ask(REQUEST)
    assert read_only_account(ledger).calls == 1


@given(st.lists(st.integers(0, 10**7), max_size=40))
def test_sums_of_small_prices_are_exact(nanos: list[int]) -> None:
    """Dollars are added as whole billionths: no sum drifts by the rounding of floats."""
    ledger, left = MemoryStore(), list(nanos)
    model = PricedModel(answer=lambda: reply(1, left.pop() / NANO))
    asked = put_on_budget(model, ledger, Budget(usd=1, per="total"))
    for _ in nanos:
        asked.ask(REQUEST)
    assert sum(state.usd for _, state in list_accounts(ledger)) == sum(nanos)


def test_an_unknown_price_is_an_error_or_counted_by_tokens(ledger: Store) -> None:
    model = PricedModel("openai/of-our-own", lambda: reply(50))
    with pytest.raises(BudgetError, match="no price is known for the model m; upgrade"):
        put_on_budget(model, ledger, Budget(usd=1, tokens=10_000, per="day")).ask(REQUEST)
    asked = put_on_budget(model, ledger, Budget(tokens=2000, per="day"))
    with pytest.raises(BudgetError, match="is spent"):
        ask_often(asked)
    assert model.calls * 50 == 2000


BUSY = ServerError("busy")
BUSY.status = 503
SEVERAL: dict[str, Callable[[Any], Any]] = {
    "retry": lambda model: RetryModel(model, first_wait=0),
    "fallback": lambda model: FallbackModel([model, model, model]),
    "fallback of retries": lambda model: FallbackModel(
        [RetryModel(model, attempts=2, first_wait=0), model]
    ),
}


@pytest.mark.parametrize("wrap", SEVERAL.values(), ids=SEVERAL)
def test_of_a_model_that_asks_several_what_a_reply_costs_is_counted(
    ledger: Store, wrap: Callable[[Any], Any]
) -> None:
    def answer() -> Reply:
        if model.calls < 3:
            raise BUSY
        return reply(50, 0.001)

    model = PricedModel(answer=answer)
    put_on_budget(wrap(model), ledger, Budget(usd=1, per="day")).ask(REQUEST)
    state = read_only_account(ledger)
    assert (state.calls, state.tokens, state.usd) == (1, 50, NANO // 1000)
    with pytest.raises(BudgetError):
        put_on_budget(wrap(model), ledger, Budget(tokens=50, per="day")).ask(REQUEST)
    assert model.calls == 3


# --- whose budget


NAMES = st.text(min_size=1, max_size=25) | st.integers(1, 33).map("日".__mul__)


@given(st.lists(NAMES, unique=True))
def test_budgets_of_any_names_are_apart(names: list[str]) -> None:
    ledger, model = MemoryStore(), PricedModel()
    for name in names:
        budget = Budget(tokens=1000, per="hour", name=name)
        put_on_budget(model, ledger, budget).ask(REQUEST)
    found = {it.budget.name: state.tokens for it, state in list_accounts(ledger)}
    assert found == dict.fromkeys(names, 50)


def test_several_budgets_hold_together(ledger: Store) -> None:
    narrow, wide = (
        Budget(tokens=500, per="day", name="narrow"),
        Budget(tokens=5000, per="month", name="wide"),
    )
    model = PricedModel(answer=lambda: reply(500))
    asked = put_on_budget(model, ledger, wide, narrow)
    asked.ask(REQUEST)
    with pytest.raises(BudgetError, match="name=narrow"):
        asked.ask(REQUEST)
    states = {it.budget.name: state for it, state in list_accounts(ledger)}
    assert {name: state.tokens for name, state in states.items()} == {"narrow": 500, "wide": 500}


def test_budgets_of_one_account_count_once_with_the_lower_limit(ledger: Store) -> None:
    model = PricedModel(answer=lambda: reply(500, 0.0))
    budgets = (
        Budget(tokens=5000, per="day"),
        Budget(tokens=500, per="day"),
        Budget(usd=3, per="day"),
    )
    asked = put_on_budget(model, ledger, *budgets)
    asked.ask(REQUEST)
    assert read_only_account(ledger).tokens == 500
    with pytest.raises(BudgetError):
        asked.ask(REQUEST)


# --- in programs


def test_inner_budgets_do_not_loosen_outer_ones() -> None:
    with (
        njrt.using(model=Scripted([]), store="memory:", budget=Budget(tokens=0, per="day")),
        pytest.raises(BudgetError, match="tokens=0 "),
        njrt.using(budget=Budget(tokens=10**9, per="day")),
    ):
        njrt.llm("How many?")


def test_the_environment_adds_to_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NJC_BUDGET", "tokens=0 per=day name=of-the-operator")
    with (
        njrt.using(model=Scripted([]), store="memory:", budget="tokens=999999 per=day"),
        pytest.raises(BudgetError, match="of-the-operator"),
    ):
        njrt.llm("How many?")


@pytest.mark.parametrize("setting", ["record", "cache"])
def test_kept_replies_cost_nothing(tmp_path: Path, setting: str) -> None:
    kept: dict[str, Any] = {setting: tmp_path / "kept"}
    with njrt.using(store="memory:", budget=Budget(tokens=5001, per="day", name=setting)):
        for script in ([reply(5000)], [], []):
            with njrt.using(model=Scripted(script), **kept):
                assert njrt.llm("How many?") == "3"


# --- a store that fails


class FailingStore(MemoryStore):
    """A store that cannot be used while `fails` is set."""

    fails = False

    def get(self, key: str) -> str | None:
        if self.fails:
            raise StoreError("the store fails")
        return super().get(key)


def test_without_the_store_no_call_is_made() -> None:
    store, model = FailingStore(), PricedModel()
    store.fails = True
    with pytest.raises(StoreError):
        put_on_budget(model, store, Budget(usd=1, per="day")).ask(REQUEST)
    assert model.calls == 0


def test_a_call_that_cannot_be_counted_is_an_error() -> None:
    store = FailingStore()

    def answer() -> Reply:
        store.fails = True
        return reply(50, 0.001)

    asked = put_on_budget(PricedModel(answer=answer), store, Budget(usd=1, per="day"))
    with pytest.raises(StoreError):
        asked.ask(REQUEST)


def test_an_account_of_0_2_is_read() -> None:
    store, budget = MemoryStore(), Budget(tokens=4900, per="total")
    text = (
        '{"usd": 7, "tokens": 4900, "calls": 1, "held": {"a": [1, 2, 3.5]}, "limit_usd": null, '
        '"limit_tokens": 5000, "at": 1.5, "expired": ["b"]}'
    )
    store.put(find_accounts([budget], 0)[0].key, text)
    with pytest.raises(BudgetError, match="4,900 tokens, in total"):
        put_on_budget(PricedModel(), store, budget).ask(REQUEST)


def test_accounts_of_0_2_that_belonged_to_a_key_are_left_out() -> None:
    store = MemoryStore()
    store.put("budget/all/day/key/1f2e/2026-03-01", '{"usd": 7}')
    assert list(list_accounts(store)) == []


def test_an_account_that_cannot_be_read_hides_no_other(
    ledger: Store, caplog: pytest.LogCaptureFixture
) -> None:
    put_on_budget(PricedModel(), ledger, Budget(usd=1, per="day")).ask(REQUEST)
    ledger.put(find_accounts([Budget(per="total")], 0)[0].key, '{"tokens": 5.5}')
    assert [account.budget.per for account, _ in list_accounts(ledger)] == ["day"]
    assert "budget/all/total/all//total in the store is not an account" in caplog.text


def test_an_account_that_cannot_be_read_allows_nothing(ledger: Store) -> None:
    model, budget = PricedModel(), Budget(usd=1, per="total")
    ledger.put(find_accounts([budget], 0)[0].key, '{"usd": "none"}')
    with pytest.raises(StoreError, match="is not an account of a budget"):
        put_on_budget(model, ledger, budget).ask(REQUEST)
    assert model.calls == 0


# --- many processes

HAMMER = """
import random, sys, time
import njrt
from njrt.messages import ModelMessage, Reply, Usage

url, log, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
pick = random.Random(seed)

def answer(request):
    used = pick.randint(100, 600)
    with open(log, "a") as file:
        file.write(f"{used}\\n")
    return Reply(ModelMessage("3"), usage=Usage(used, 0, 0, 0.0), model="m")

print("ready", flush=True)
sys.stdin.readline()
refused = 0
with njrt.using(model=njrt.Scripted(answer), store=url, budget="tokens=20000 per=total"):
    while refused < 3:
        try:
            njrt.llm("How many?")
        except njrt.BudgetError:
            refused += 1
            time.sleep(0.01)
"""


LIMIT, MOST_USED = 20_000, 600


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_processes_share_a_budget(url: str, store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_together(HAMMER, *((url, log, seed) for seed in range(3)))
    used = sum(map(int, log.read_text().split()))
    state = read_only_account(store)
    assert LIMIT <= used == state.tokens < LIMIT + 3 * MOST_USED


def test_threads_share_a_budget(ledger: Store) -> None:
    model = PricedModel(answer=lambda: reply(300, 0.0))
    asked = put_on_budget(model, ledger, Budget(tokens=10_000, per="total"))

    def work() -> None:
        for _ in range(20):
            try:
                asked.ask(REQUEST)
            except BudgetError:
                time.sleep(0.001)

    run_threads(*[work] * 6)
    assert model.calls * 300 == read_only_account(ledger).tokens
    assert 10_000 <= model.calls * 300 < 10_000 + 6 * 300
