"""Budgets, as in docs/reference/budgets.md: what fits is made and counted, what does not is refused."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import njrt
from loopback import Drop, Status
from njrt.data.options.budget import Budget, parse_budgets
from njrt.errors import (
    BudgetError,
    ConfigurationError,
    RejectedRequestError,
    ServerError,
    StoreError,
)
from njrt.log.budgets.budgeted import Budgeted, estimate_call
from njrt.log.budgets.ledger import (
    NANO,
    find_accounts,
    find_period,
    list_accounts,
)
from njrt.log.sqlite_store import MemoryStore
from njrt.messages import ModelMessage, Reply, Request, Usage, UserMessage
from njrt.models.model import LayeredModel
from njrt.models.openai import OpenAI
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.stores import Store
from njrt.testing import Scripted
from openai_server import KEY, OpenAIServer, says
from waiting import HANG_SECONDS

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
    layer = Budgeted(budgets, lambda: ledger, lambda: model)
    return LayeredModel(model, (layer,))


def count_most(model: Any) -> tuple[int, int]:
    """Return the billionths and the tokens that a call may cost."""
    estimate = estimate_call(model, REQUEST)
    return round((estimate.usd or 0) * NANO), estimate.input + estimate.output


def ask_often(model: LayeredModel) -> None:
    for _ in range(100):
        model.ask(REQUEST)


def read_only_account(ledger: Store) -> Any:
    (account,) = list_accounts(ledger)
    return account.state


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
        {"name": "é" * 51},
        {"per": None},
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"`{next(iter(values))}` must be"):
        Budget(**{"per": "day"} | values)


def test_what_is_no_budget_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="budget must be a Budget"), njrt.using(budget=[5]):  # type: ignore[list-item]
        pass


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


def test_what_a_call_costs_is_counted(ledger: Store) -> None:
    put_on_budget(PricedModel(), ledger, Budget(usd=1, per="day")).ask(REQUEST)
    state = read_only_account(ledger)
    assert (state.usd, state.tokens, state.calls) == (NANO // 1000, 50, 1)


def test_a_call_that_may_cost_too_much_is_not_made(ledger: Store) -> None:
    model = PricedModel()
    estimate = estimate_call(model, REQUEST)
    assert estimate.usd is not None
    fits = Budget(usd=estimate.usd * 1.001, per="day")
    with pytest.raises(BudgetError) as caught:
        put_on_budget(model, ledger, Budget(usd=estimate.usd * 0.999, per="day")).ask(REQUEST)
    assert model.calls == 0
    error = caught.value
    tokens = estimate.input + estimate.output
    assert f"it may need ${estimate.usd:.4f} and {tokens:,} tokens" in str(error)
    assert "with $0.0000 and 0 tokens spent" in str(error)
    assert (error.budget[:4], error.period) == ("usd=", f"{datetime.now(UTC):%Y-%m-%d}")
    put_on_budget(model, ledger, fits).ask(REQUEST)
    assert model.calls == 1


@pytest.mark.parametrize(
    "budget", [Budget(usd=0, per="day"), Budget(tokens=0, per="day"), Budget(tokens=700, per="day")]
)
def test_tokens_and_dollars_limit(ledger: Store, budget: Budget) -> None:
    model = PricedModel(answer=lambda: reply(300, 0.0))
    asked = put_on_budget(model, ledger, budget)
    with pytest.raises(BudgetError):
        ask_often(asked)
    assert model.calls * 300 <= (budget.tokens or 0)


@pytest.mark.parametrize(
    ("error", "counted"),
    [
        (RejectedRequestError("no"), 0),
        (ServerError("lost"), 1),
        (KeyboardInterrupt(), 1),
        (ValueError("bug"), 1),
    ],
    ids=["rejected", "lost", "interrupted", "bug"],
)
def test_a_failed_call_counts_its_most_if_it_may_be_billed(
    ledger: Store, error: BaseException, counted: int
) -> None:
    def fail() -> Reply:
        raise error

    model = PricedModel(answer=fail)
    with pytest.raises(type(error)):
        put_on_budget(model, ledger, Budget(usd=1, per="day")).ask(REQUEST)
    state, (usd, tokens) = read_only_account(ledger), count_most(model)
    assert (state.usd, state.tokens, state.calls) == (usd * counted, tokens * counted, counted)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(-50, 0, 0, 0.001),
        Usage(50, -1, 0, 0.001),
        Usage(50, 0, 0, -0.001),
        Usage(50, 0, 0, float("nan")),
        Usage(50, 0, 0, float("inf")),
        Usage(0, 0, 0, float("-inf")),
        Usage(float("nan"), 1),  # type: ignore[arg-type]
        Usage(1, float("inf")),  # type: ignore[arg-type]
    ],
)
def test_missing_and_impossible_counts_cost_the_most(ledger: Store, usage: Usage) -> None:
    """A model of the program cannot give money back, and its reply is not lost."""
    model = PricedModel(answer=lambda: Reply(ModelMessage("3"), usage=usage, model="m"))
    assert put_on_budget(model, ledger, Budget(usd=1, per="day")).ask(REQUEST).message.text == "3"
    state = read_only_account(ledger)
    assert ((state.usd, state.tokens), state.calls) == (count_most(model), 1)


@given(st.lists(st.integers(0, 10**7), max_size=40))
def test_sums_of_small_prices_are_exact(nanos: list[int]) -> None:
    """Dollars are added as whole billionths: no sum drifts by the rounding of floats."""
    ledger, left = MemoryStore(), list(nanos)
    model = PricedModel(answer=lambda: reply(1, left.pop() / NANO))
    asked = put_on_budget(model, ledger, Budget(usd=1, per="total"))
    for _ in nanos:
        asked.ask(REQUEST)
    assert sum(found.state.usd for found in list_accounts(ledger)) == sum(nanos)


def test_an_unknown_price_is_refused_or_counted_by_tokens(ledger: Store) -> None:
    model = PricedModel("openai/of-our-own", lambda: reply(50))
    with pytest.raises(BudgetError, match="no price is known for the model openai/of-our-own"):
        put_on_budget(model, ledger, Budget(usd=1, tokens=10_000, per="day")).ask(REQUEST)
    assert model.calls == 0
    asked = put_on_budget(model, ledger, Budget(tokens=2000, per="day"))
    with pytest.raises(BudgetError):
        ask_often(asked)
    assert 0 < model.calls * 50 <= 2000


@given(st.text(max_size=300), st.text(max_size=300))
def test_an_estimate_has_a_token_for_each_byte(system: str, text: str) -> None:
    estimate = estimate_call(PricedModel(), Request(system, (UserMessage(text),)))
    sent = (system + text).encode("utf-8", "surrogatepass")
    assert estimate.input >= len(sent)


BUSY = ServerError("busy")
BUSY.status = 503
SEVERAL = {
    "retry": (lambda model: RetryModel(model, first_wait=0), [BUSY, BUSY, None], 1),
    "fallback": (lambda model: FallbackModel([model, model, model]), [BUSY, BUSY, None], 1),
    "fallback of retries": (
        lambda model: FallbackModel([RetryModel(model, attempts=2, first_wait=0), model]),
        [BUSY, BUSY, None],
        1,
    ),
}


@pytest.mark.parametrize(("wrap", "ends", "counted"), SEVERAL.values(), ids=SEVERAL)
def test_each_call_of_a_model_that_asks_several_is_counted(
    ledger: Store, wrap: Any, ends: list[ServerError | None], counted: int
) -> None:
    remaining = iter(ends)

    def answer() -> Reply:
        if error := next(remaining):
            raise error
        return reply(50, 0.001)

    model = PricedModel(answer=answer)
    needed = estimate_call(model, REQUEST)
    put_on_budget(wrap(model), ledger, Budget(usd=1, per="day")).ask(REQUEST)
    state = read_only_account(ledger)
    assert (state.calls, state.tokens) == (counted, 50 * counted)
    small = Budget(tokens=needed.input + needed.output - 1, per="day", name="small")
    with pytest.raises(BudgetError):
        put_on_budget(wrap(model), ledger, small).ask(REQUEST)
    assert model.calls == len(ends)


# --- whose budget


NAMES = st.text(min_size=1, max_size=25) | st.integers(1, 33).map("日".__mul__)


@given(st.lists(NAMES, unique=True))
def test_budgets_of_any_names_are_apart(names: list[str]) -> None:
    ledger, model = MemoryStore(), PricedModel()
    for name in names:
        budget = Budget(tokens=1000, per="hour", name=name)
        put_on_budget(model, ledger, budget).ask(REQUEST)
    found = {account.name: account.state.tokens for account in list_accounts(ledger)}
    assert found == dict.fromkeys(names, 50)


def test_several_budgets_hold_together(ledger: Store) -> None:
    narrow, wide = (
        Budget(tokens=800, per="day", name="narrow"),
        Budget(tokens=5000, per="month", name="wide"),
    )
    model = PricedModel(answer=lambda: reply(500))
    asked = put_on_budget(model, ledger, wide, narrow)
    asked.ask(REQUEST)
    with pytest.raises(BudgetError, match="name=narrow"):
        asked.ask(REQUEST)
    states = {account.name: account.state for account in list_accounts(ledger)}
    assert {name: state.tokens for name, state in states.items()} == {"narrow": 500, "wide": 500}


def test_budgets_of_one_account_count_once_with_the_lower_limit(ledger: Store) -> None:
    model = PricedModel(answer=lambda: reply(500, 0.0))
    budgets = (
        Budget(tokens=5000, per="day"),
        Budget(tokens=900, per="day"),
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
        njrt.using(model=Scripted([]), store="memory:", budget=Budget(tokens=10, per="day")),
        pytest.raises(BudgetError, match="tokens=10 "),
        njrt.using(budget=Budget(tokens=10**9, per="day")),
    ):
        njrt.llm("How many?")


def test_the_environment_adds_to_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NJC_BUDGET", "tokens=10 per=day name=of-the-operator")
    with (
        njrt.using(model=Scripted([]), store="memory:", budget="tokens=999999 per=day"),
        pytest.raises(BudgetError, match="of-the-operator"),
    ):
        njrt.llm("How many?")


def test_recorded_replies_cost_nothing(tmp_path: Path) -> None:
    with njrt.using(store="memory:", budget=Budget(tokens=7000, per="day")):
        for script in ([reply(5000)], [], []):
            with njrt.using(model=Scripted(script), record=tmp_path / "r.jsonl"):
                assert njrt.llm("How many?") == "3"


def test_cached_replies_cost_nothing(tmp_path: Path) -> None:
    with njrt.using(
        store="memory:", budget=Budget(tokens=7000, per="day", name="cached"), cache=tmp_path
    ):
        for script in ([reply(5000)], [], []):
            with njrt.using(model=Scripted(script)):
                assert njrt.llm("How many?") == "3"


def test_async_calls_under_way_are_counted() -> None:
    model = PricedModel(answer=lambda: reply(10, 0.0))

    async def ask_all() -> list[Any]:
        with njrt.using(
            model=model, store="memory:", budget=Budget(tokens=12_000, per="day", name="async")
        ):
            return await asyncio.gather(
                *(njrt.allm("How many?") for _ in range(6)), return_exceptions=True
            )

    results = asyncio.run(ask_all())
    refused = [result for result in results if isinstance(result, BudgetError)]
    assert len(refused) + model.calls == 6
    assert refused
    assert model.calls >= 1


# --- a store that fails


class FailingStore(MemoryStore):
    """A store whose changes fail while `fails` is set, before or after they are made."""

    fails = ""

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        if self.fails == "before":
            raise StoreError("the store fails")
        done = super().swap(key, old, new)
        if self.fails == "after":
            raise StoreError("the store fails")
        return done


@pytest.mark.parametrize("when", ["before", "after"])
def test_without_the_store_no_call_is_made(when: str) -> None:
    store, model = FailingStore(), PricedModel()
    store.fails = when
    with pytest.raises(StoreError):
        put_on_budget(model, store, Budget(usd=1, per="day")).ask(REQUEST)
    assert model.calls == 0


def test_a_store_that_fails_after_a_call_keeps_its_most() -> None:
    store = FailingStore()

    def answer() -> Reply:
        store.fails = "before"
        return reply(50, 0.001)

    model = PricedModel(answer=answer)
    put_on_budget(model, store, Budget(usd=1, per="day")).ask(REQUEST)
    state = read_only_account(store)
    assert (state.usd, state.tokens) == count_most(model)


def test_an_account_of_0_2_is_read() -> None:
    store, budget = MemoryStore(), Budget(tokens=5000, per="total")
    text = (
        '{"usd": 7, "tokens": 4900, "calls": 1, "held": {"a": [1, 2, 3.5]}, "limit_usd": null, '
        '"limit_tokens": 5000, "at": 1.5, "expired": ["b"]}'
    )
    store.put(*find_accounts([budget], 0), text)
    with pytest.raises(BudgetError, match="4,900 tokens spent"):
        put_on_budget(PricedModel(), store, budget).ask(REQUEST)


def test_accounts_of_0_2_that_belonged_to_a_key_are_left_out() -> None:
    store = MemoryStore()
    store.put("budget/all/day/key/1f2e/2026-03-01", '{"usd": 7}')
    assert list(list_accounts(store)) == []


def test_a_fraction_of_a_token_counts_as_one(ledger: Store) -> None:
    used = Usage(5.5, 12.0, 0, 0.001)  # type: ignore[arg-type]
    model = PricedModel(answer=lambda: Reply(ModelMessage("3"), usage=used, model="m"))
    for _ in range(2):
        put_on_budget(model, ledger, Budget(usd=1, per="day")).ask(REQUEST)
    assert (read_only_account(ledger).tokens, read_only_account(ledger).calls) == (36, 2)


def test_an_account_that_cannot_be_read_hides_no_other(
    ledger: Store, caplog: pytest.LogCaptureFixture
) -> None:
    put_on_budget(PricedModel(), ledger, Budget(usd=1, per="day")).ask(REQUEST)
    ledger.put(*find_accounts([Budget(per="total")], 0), '{"tokens": 5.5}')
    assert [account.per for account in list_accounts(ledger)] == ["day"]
    assert "budget/all/total/all//total in the store is not an account" in caplog.text


def test_an_account_that_cannot_be_read_allows_nothing(ledger: Store) -> None:
    model, budget = PricedModel(), Budget(usd=1, per="total")
    ledger.put(*find_accounts([budget], 0), '{"usd": "none"}')
    with pytest.raises(StoreError, match="is not an account of a budget"):
        put_on_budget(model, ledger, budget).ask(REQUEST)
    assert model.calls == 0


# --- clocks


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-200_000, -3600, -1, 0, 1, 30, 100, 3600, 200_000]),
            st.sampled_from(["call", "lost", "slow"]),
        ),
        max_size=30,
    )
)
def test_no_step_of_the_clock_lets_a_day_spend_more(steps: list[tuple[int, str]]) -> None:
    """Each day's account holds its limit however the clock is set between calls."""
    now = 1_772_000_000.0
    ledger = MemoryStore(lambda: now)
    results: Iterator[str] = iter([kind for _, kind in steps])

    def answer() -> Reply:
        if next(results) == "lost":
            raise ServerError("lost")
        return reply(400)

    asked = put_on_budget(PricedModel(answer=answer), ledger, Budget(tokens=2000, per="day"))
    for step, _ in steps:
        now += step
        try:
            asked.ask(REQUEST)
        except ServerError:
            pass
        except BudgetError:
            next(results)
    for account in list_accounts(ledger):
        assert account.state.tokens <= 2000


# --- many processes, and kills

HAMMER = """
import random, sys, time
from njrt.data.options.budget import Budget
from njrt.log.budgets.budgeted import Budgeted
from njrt.errors import BudgetError
from njrt.messages import ModelMessage, Reply, Request, Usage, UserMessage
from njrt.models.retry_and_fallback import FallbackModel
from njrt.models.model import LayeredModel
from njrt.log.open_store import get_store

url, log, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
pick = random.Random(seed)

class Model:
    name, protocol = "openai/gpt-4.1", "tools"
    def ask(self, request):
        used = pick.randint(100, 600)
        with open(log, "a") as file:
            file.write(f"{used}\\n")
        return Reply(ModelMessage("3"), usage=Usage(used, 0, 0, 0.0), model="m")

ledger = get_store(url, {})
model = Model()
layer = Budgeted((Budget(tokens=20_000, per="total"),), lambda: ledger, lambda: model)
asked = LayeredModel(model, (layer,))
request = Request("Answer.", (UserMessage("How many?"),), max_reply_tokens=100, timeout=600.0)
print("ready", flush=True)
sys.stdin.readline()
refused = 0
while refused < 3:
    try:
        asked.ask(request)
    except BudgetError:
        refused += 1
        time.sleep(0.01)
"""


def start_hammer(url: str, log: Path, seed: int) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HAMMER, url, str(log), str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "ready\n"
    return child


def let_go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


LIMIT, MOST_COUNTED = 20_000, 900


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_processes_never_exceed_a_budget_together(url: str, store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    children = [start_hammer(url, log, seed) for seed in range(3)]
    for child in children:
        let_go(child)
    for child in children:
        child.communicate(timeout=100)
    assert [child.returncode for child in children] == [0] * 3
    used = sum(map(int, log.read_text().split()))
    state = read_only_account(store)
    assert state.tokens == used <= LIMIT
    assert used > LIMIT - MOST_COUNTED * 2


def count_lines(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_kill_costs_no_more_than_the_most_of_its_call(
    url: str, store: Store, tmp_path: Path
) -> None:
    log, pick, kills = tmp_path / "log", random.Random(11), 4
    for seed in range(kills):
        child = start_hammer(url, log, seed)
        let_go(child)
        calls = count_lines(log) + pick.randint(1, 4)
        stops = time.monotonic() + HANG_SECONDS
        while count_lines(log) < calls and child.poll() is None and time.monotonic() < stops:
            time.sleep(0.0005)
        time.sleep(pick.uniform(0, 0.004))
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=HANG_SECONDS)
    used = sum(map(int, log.read_text().split()))
    state = read_only_account(store)
    assert used <= state.tokens <= min(LIMIT, used + kills * MOST_COUNTED)


def test_threads_never_exceed_a_budget_together(ledger: Store) -> None:
    model = PricedModel(answer=lambda: reply(300, 0.0))
    asked = put_on_budget(model, ledger, Budget(tokens=10_000, per="total"))

    def work() -> None:
        for _ in range(20):
            try:
                asked.ask(REQUEST)
            except BudgetError:
                time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert model.calls * 300 == read_only_account(ledger).tokens <= 10_000


# --- a real wire


@pytest.mark.parametrize(
    ("script", "calls"),
    [([says("3")], 1), ([Status(400)], 0), ([Status(503)], 0), ([Drop()], 1)],
    ids=["answers", "rejects", "fails", "drops"],
)
def test_calls_to_a_server(ledger: Store, script: list[Any], calls: int) -> None:
    with OpenAIServer(script) as server:
        model = OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY, retries=0)
        with suppress(RejectedRequestError, ServerError):
            put_on_budget(model, ledger, Budget(usd=1, per="day")).ask(REQUEST)
    assert read_only_account(ledger).calls == calls
