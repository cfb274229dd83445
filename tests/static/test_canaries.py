"""Canaries (docs/drift.md): the live block beside the code of the mode `auto`, on copies."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from studio import Studio

import njrt
from loopback import Answer
from njrt.errors import ServerError
from njrt.messages import ModelMessage, Reply, Request, Usage
from njrt.models.scripted import Said
from njrt.observability.accounts import Totals
from njrt.options import OPTION_NAMES
from njrt.options.budget import parse_budgets
from njrt.persistence.open_store import open_store
from njrt.production.budgets.ledger import Ledger
from njrt.production.canary.block_state import CanaryStore
from njrt.session.canary import MAX_RUNNING, RunningCanaries, get_block_watch, wait_for_canaries
from njrt.session.run_block import start_block
from njrt.session.settings import get_canary_store
from openai_server import OpenAIServer, says
from waiting import HANG_SECONDS

SHOP = '''\
class Basket:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def pay(self, price):
        paid.append(price)


paid = []


def shop(prices: list[int], basket, limit: int):
    spent = 0
    for price in prices:
        """natural
        Add <price> to <:spent>, append it to the items of <basket>, break if <:spent> is over <limit>.
        """
    return spent
'''
CODE = """\
assert price >= 0
spent += price
basket.items.append(price)
if spent > limit:
    break"""
SAME = "```python\nspent += price\nbasket.add(price)\nif spent > limit: break\n```"
OTHER = "```python\nspent += price\nif spent > limit: break\n```"
BLOCK = "program.njpy:shop"


@pytest.fixture(autouse=True)
def no_canary_of_other_tests() -> Iterator[None]:
    """End the watches of blocks, and the stores: they are for the whole process."""
    get_block_watch.cache_clear()
    get_canary_store.cache_clear()
    yield
    assert wait_for_canaries(HANG_SECONDS)


class Program:
    """A program in the mode `auto`, and what its canaries did."""

    def __init__(self, studio: Studio, source: str = SHOP, code: str = CODE) -> None:
        self.studio = studio
        self.store = str(studio.folder / "store.sqlite3")
        self.space: dict[str, Any] = {"__name__": "program"}
        exec(studio.built(source, code, mode="auto"), self.space)
        self.asked: list[Request] = []

    def call(
        self, function: str, *arguments: Any, says: Any = SAME, **options: Any
    ) -> tuple[Any, list[Any]]:
        """Call a function; give what it returned and the accounts, those of the canaries last."""
        replies = says if callable(says) else lambda request: says
        model = njrt.Scripted(replies, protocol="text")
        settings = {"canary": 1.0, "store": self.store, **options}
        settings = {name: value for name, value in settings.items() if value is not None}
        with njrt.watch() as watch, njrt.using(model=model, **settings):
            result = self.space[function](*arguments)
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
            assert wait_for_canaries(HANG_SECONDS)
        self.asked += model.requests
        return result, sorted(watch.runs, key=lambda run: run.tried == "canary")

    def read_state(self) -> Any:
        (found,) = CanaryStore(open_store(self.store)).list_states()
        return found[1]


def shop(program: Program, *prices: int, **options: Any) -> tuple[int, list[int], list[Any]]:
    basket = program.space["Basket"]()
    spent, runs = program.call("shop", list(prices), basket, 5, **options)
    return spent, basket.items, runs


def test_the_live_block_changes_nothing(studio: Studio) -> None:
    program = Program(studio)
    spent, items, runs = shop(program, 1, 2, 3, 9)
    assert (spent, items) == (6, [1, 2, 3])
    assert [run.tried for run in runs] == ["ran"] * 3 + ["canary"] * 3
    assert [run.canary.differences for run in runs[3:]] == [()] * 3
    assert sorted(run.outcome for run in runs[3:]) == ["broke", "completed", "completed"]
    assert {run.parent for run in runs[3:]} == {run.id for run in runs[:3]}
    totals = sum((run.totals for run in runs), Totals())
    assert (totals.canaries, totals.canary_differences, totals.calls, totals.by_code) == (
        3,
        0,
        3,
        3,
    )


def test_differences_are_counted_and_told(studio: Studio) -> None:
    program = Program(studio)
    spent, items, runs = shop(
        program, 1, 2, says=OTHER, canary_tolerated=0.9, trace=studio.folder / "t.jsonl"
    )
    assert (spent, items) == (3, [1, 2])
    texts = {run.canary.differences for run in runs if run.tried == "canary"}
    assert texts == {
        ("`basket` is Basket(items=[]), by code Basket(items=[1])",),
        ("`basket` is Basket(items=[1]), by code Basket(items=[1, 2])",),
    }
    lines = [json.loads(line) for line in studio.read("t.jsonl").splitlines()]
    compared = [line for line in lines if line["event"] == "compared"]
    assert {tuple(line["differences"]) for line in compared} == texts
    shown = studio.njc("trace", "t.jsonl").output
    assert "completed, canary" in shown
    number = next(line.split()[0] for line in shown.splitlines() if "canary" in line)
    assert "canary: `basket` is" in studio.njc("trace", "t.jsonl", number).output
    state = program.read_state()
    assert (state.history.runs, state.history.differences, state.skipped) == (2, 2, 0)
    assert "Basket(items=" in state.example


ENDINGS = [
    ("break", "break", "break", []),
    ("break", "break", "continue", ["it continued, the code broke"]),
    ("continue", "continue", "continue", []),
    ("return <n> + 1", "return n + 1", "return n + 1", []),
    ("return <n> + 1", "return n + 1", "return n + 2", ["it returned 5, the code 4"]),
    ("return <n>, <n>", "return n, n", "return (n, n)", []),
    ("return", "return", "return", []),
    ("raise ValueError", "raise ValueError('a')", "raise ValueError('b')", []),
    (
        "raise ValueError",
        "raise ValueError('a')",
        "raise KeyError('a')",
        ["it raised KeyError, the code raised ValueError"],
    ),
    ("break", "if n: break", "if n > 100: break", ["it completed, the code broke"]),
    ("break", "for k in range(3):\n    break\nelse:\n    break", "k = 0", []),
    ("break", "while True:\n    if n:\n        break\n    continue", "k = 0", []),
    ("break", "try:\n    k = 1 / n\nfinally:\n    k = 0\nif k == 0:\n    break", "break", []),
]


@pytest.mark.parametrize(("prompt", "code", "reply", "differences"), ENDINGS)
def test_endings(
    studio: Studio, prompt: str, code: str, reply: str, differences: Sequence[str]
) -> None:
    source = (
        "def f(n):\n    for _ in range(1):\n        k = 0\n"
        f'        """natural(jumps="all")\n        With <n>: {prompt}.\n        """\n    return n\n'
    )
    program = Program(studio, source, code)
    runs: list[Any] = []
    try:
        runs = program.call("f", 3, says=f"```python\n{reply}\n```")[1]
    except ValueError:
        assert wait_for_canaries(HANG_SECONDS)
        state = program.read_state()
        assert [state.example] == (differences or [""])
        assert (state.history.runs, state.skipped) == (1, 0)
        return
    assert [list(run.canary.differences) for run in runs if run.canary] == [differences], runs


def test_async_blocks(studio: Studio) -> None:
    source = (
        'async def f(n):\n    """natural\n    Set <:y> to <n> times two.\n    """\n    return y\n'
    )
    program = Program(studio, source, "y = 2 * n")
    says = "```python\ny = n + n if await ask('ok?', bool) else 0\n```"

    def reply(request: Request) -> Said:
        return '{"value": true}' if "ok?" in str(request.messages) else says

    result, runs = program.call("f", 4, says=reply)
    assert result == 8
    assert [run.canary.differences for run in runs if run.canary] == [()]
    assert "is_async=True" in studio.read("program.py")


def test_global_variables_stay_as_they_are(studio: Studio) -> None:
    source = (
        "total, seen = 0, []\n\ndef f(n):\n    global total\n"
        '    """natural\n    Add <n> to <:total> and to <seen>.\n    """\n'
    )
    program = Program(studio, source, "total += n\nseen.append(n)")
    _, runs = program.call("f", 3, says="```python\ntotal += 2 * n\nseen.append(n)\n```")
    assert (program.space["total"], program.space["seen"]) == (3, [3])
    assert [run.canary.differences for run in runs if run.canary] == [("`total` is 6, by code 3",)]


# --- what must not be sampled, or not carried out


def test_an_effect_that_reaches_the_program_is_not_carried_out(
    studio: Studio, capfd: pytest.CaptureFixture[str]
) -> None:
    program = Program(studio)
    says = "```python\nspent += price\nbasket.pay(price)\nif spent > limit: break\n```"
    spent, items, runs = shop(program, 1, 2, says=says)
    assert (spent, items, program.space["paid"]) == (3, [1, 2], [])
    problems = [run.canary.problem for run in runs if run.canary]
    assert len(problems) == 2
    assert all("`paid` is shared with the program" in problem for problem in problems)
    assert program.read_state().skipped == 2
    assert capfd.readouterr().err.count("a canary was skipped") == 1, "it is said once"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        ("open('/dev/null')", "TextIOWrapper"),
        ("iter([])", "list_iterator"),
        ("(n for n in [])", "generator"),
        ("[print]", "`print`|a value of the data"),
        ("type('Loud', (), {'__repr__': lambda self: print()})()", "print"),
        ("list(map(lambda n: [n], range(9000)))", "more than 5,000"),
    ],
)
def test_what_cannot_be_copied_is_not_sampled(studio: Studio, make: str, why: str) -> None:
    program = Program(studio)
    basket = program.space["Basket"]()
    basket.log = eval(make)
    spent, runs = program.call("shop", [1, 2], basket, 5)
    assert (spent, basket.items) == (3, [1, 2])
    assert [run.tried for run in runs] == ["ran", "ran"]
    state = program.read_state()
    assert (state.skipped, state.history.runs) == (2, 0)
    assert re.search(why, state.problem), state.problem


def failing(error: Exception) -> Any:
    def reply(request: Request) -> Said:
        raise error

    return reply


@pytest.mark.parametrize(
    ("says", "options", "problem"),
    [
        (failing(ServerError("the server is down")), {}, "server is down"),
        (failing(RuntimeError("a bug of the model")), {}, "a bug of the model"),
        (
            "```python\nwhile True: pass\n```",
            {"max_code_seconds": 0.2},
            "CodeTimeLimitError|more than",
        ),
        ("```python\nspent = 'x' +\n```", {"max_calls": 2}, "CallLimitError|limit"),
        ("nothing", {"max_calls": 2}, "CallLimitError|limit|mistake"),
        (SAME, {"max_usd": 0.0}, "CostLimitError"),
    ],
)
def test_a_failure_of_the_canary_harms_nothing(
    studio: Studio, says: Any, options: dict[str, Any], problem: str
) -> None:
    program = Program(studio)
    spent, items, _ = shop(program, 1, 2, says=says, **options)
    assert (spent, items) == (3, [1, 2])
    state = program.read_state()
    assert (state.skipped, state.history.runs) == (2, 0)
    assert re.search(problem, state.problem), state.problem


def test_a_store_that_fails_harms_nothing(
    studio: Studio, capfd: pytest.CaptureFixture[str]
) -> None:
    program = Program(studio)
    program.store = "/proc/none/store.sqlite3"
    assert shop(program, 1, 2)[:2] == (3, [1, 2])
    assert capfd.readouterr().err.count("canaries cannot be counted") == 1


def test_the_calls_of_canaries_count_in_limits(studio: Studio) -> None:
    program = Program(studio)
    with njrt.limit(calls=1) as meter:
        assert shop(program, 1, 2)[:2] == (3, [1, 2])
    assert meter.spent().calls >= 1
    state = program.read_state()
    assert (state.history.runs, state.skipped) == (1, 1)


@pytest.mark.parametrize(
    "budget",
    [
        "tokens=0 per=day",
        "usd=0 per=total",
        "tokens=100 per=run",
        "tokens=100 per=hour each=tenant",
    ],
)
def test_a_canary_that_a_budget_refuses_is_not_asked_and_not_compared(
    studio: Studio, budget: str
) -> None:
    program = Program(studio)
    (limit,) = parse_budgets(budget)
    spent, items, runs = shop(program, 1, 2, budget=limit, tenant="acme")
    assert (spent, items) == (3, [1, 2]), "the run by code has failed"
    assert program.asked == []
    assert [run.totals.calls for run in runs if run.tried == "canary"] == [0, 0]
    accounts = list(Ledger(open_store(program.store)).list_accounts())
    assert [
        found.state.calls + found.state.tokens + len(found.state.held) for found in accounts
    ] in ([], [0])
    state = program.read_state()
    assert (state.skipped, state.history.runs, state.history.differences) == (2, 0, 0)
    assert "budget" in state.problem


def test_a_budget_for_one_canary_lets_one_be_compared(studio: Studio) -> None:
    program = Program(studio)
    limit = njrt.Budget(tokens=10_000, per="day")
    says = Reply(ModelMessage(SAME), usage=Usage(4_000, 1_000))
    assert shop(program, 1, 2, budget=limit, says=says)[:2] == (3, [1, 2])
    (found,) = Ledger(open_store(program.store)).list_accounts()
    assert (found.state.calls, found.state.tokens, found.state.held) == (1, 5_000, {})
    state = program.read_state()
    assert (state.history.runs, state.history.differences, state.skipped) == (1, 0, 1)


def test_nothing_is_sampled_under_a_recording(studio: Studio) -> None:
    program = Program(studio)
    for _ in range(2):
        _, _, runs = shop(program, 1, 2, record=studio.folder / "r.jsonl")
        assert [run.tried for run in runs] == ["ran", "ran"]
    assert program.asked == []


def test_without_the_option_nothing_is_sampled_and_no_store_opened(studio: Studio) -> None:
    program = Program(studio)
    _, _, runs = shop(program, 1, 2, canary=0)
    assert [run.tried for run in runs] == ["ran", "ran"]
    assert program.asked == []


@pytest.mark.parametrize("where", ["block", "file"])
def test_a_block_or_a_file_may_have_the_option(studio: Studio, where: str) -> None:
    source = SHOP.replace("natural\n", "natural(canary=1.0)\n") if where == "block" else SHOP
    program = Program(studio, "# njc: canary=1.0\n" * (where == "file") + source)
    _, _, runs = shop(program, 1, 2, canary=None)
    assert [run.tried for run in runs] == ["ran", "ran", "canary", "canary"]
    spent, items, runs = shop(program, -1, canary=None)  # the live block runs instead of the code
    assert (spent, items, runs[-1].tried) == (-1, [-1], "unfit")


def test_no_argument_of_compiled_code_has_the_name_of_an_option() -> None:
    assert {*inspect.signature(start_block).parameters} & {*OPTION_NAMES} == set()


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "often", float("nan")])
def test_the_share_is_checked(value: Any) -> None:
    message = "`canary` must be a number from 0 to 1"
    with pytest.raises(njrt.ConfigurationError, match=message), njrt.using(canary=value):
        pass


def test_the_choice_is_the_same_with_a_seed(studio: Studio) -> None:
    def choose(seed: int) -> list[bool]:
        get_block_watch.cache_clear()
        program = Program(studio)
        chosen = []
        for _ in range(20):
            _, _, runs = shop(program, 1, canary=0.5, canary_seed=seed)
            chosen.append(len(runs) == 2)
        return chosen

    first = choose(1)
    assert first == choose(1)
    assert first != choose(2)
    assert 3 < sum(first) < 17


# --- the alarm


def raise_alarm(program: Program) -> None:
    for _ in range(4):
        shop(program, 1, says=OTHER)


def test_an_alarm_switches_the_block_back_to_live(
    studio: Studio, capfd: pytest.CaptureFixture[str]
) -> None:
    program = Program(studio)
    raise_alarm(program)
    assert "3 of 3 canaries differed" in capfd.readouterr().err
    spent, items, runs = shop(program, 2, says=SAME)
    assert (spent, items) == (2, [2])
    assert [run.tried for run in runs] == ["alarmed"]
    assert njrt.attempts()["program.njpy:18"].alarmed >= 1

    get_block_watch.cache_clear()  # as in another process
    assert [run.tried for run in shop(program, 2)[2]] == ["alarmed"]

    result = studio.njc("canary", "--store", program.store)
    assert result.exit_code == 1
    assert "program.njpy:shop" in result.output
    assert "3 of 3 canaries differed" in result.output
    told = json.loads(studio.njc("canary", "--json", "--store", program.store).stdout)
    assert told["blocks"][0]["alarm"]["canaries"] == 3
    lock = studio.njc(
        "lock", ".", "--mode", "auto", "--set", "canary=0.1", "--set", f"store={program.store}"
    )
    assert "live at run time: 3 of 3 canaries differed" in lock.output
    assert "live at run time" not in studio.njc("lock", ".", "--mode", "auto").output

    result = studio.njc("canary", "--clear", BLOCK, "old.njpy:f", "--store", program.store)
    assert (result.exit_code, "has no canaries of old.njpy:f;" in result.output) == (2, True)
    assert studio.njc("canary", "--store", program.store).exit_code == 1, "nothing was cleared"
    assert studio.njc("canary", "--clear", BLOCK, "--store", program.store).exit_code == 0
    assert studio.njc("canary", "--store", program.store).exit_code == 0
    get_block_watch.cache_clear()
    assert [run.tried for run in shop(program, 2)[2]] == ["ran", "canary"]


def test_clearing_what_is_not_there_is_an_error(studio: Studio) -> None:
    store = str(studio.folder / "s")
    for blocks in ((), ("other.njpy:f",)):
        result = studio.njc("canary", "--clear", *blocks, "--store", store)
        assert result.exit_code == 2
        assert "has no canaries of" in result.output


def test_other_code_has_a_test_of_its_own(studio: Studio) -> None:
    raise_alarm(Program(studio))
    (studio.folder / "njc.lock").unlink()
    changed = Program(studio, code=CODE + "\nspent += 0")
    assert [run.tried for run in shop(changed, 1)[2]] == ["ran", "canary"]


def test_an_old_state_that_cannot_be_read_harms_nothing(studio: Studio) -> None:
    program = Program(studio)
    shop(program, 1)
    store = open_store(program.store)
    (key,) = store.list_keys("canary/")
    assert store.swap(key, store.get(key), '{"history": 3}')
    get_block_watch.cache_clear()
    assert shop(program, 1, 2)[:2] == (3, [1, 2])
    assert studio.njc("canary", "--store", program.store).exit_code == 3
    assert studio.njc("canary", "--clear", BLOCK, "--store", program.store).exit_code == 0


# --- threads and processes

RUNNER = """
import sys, njrt
from njrt.session.canary import wait_for_canaries
sys.path.insert(0, sys.argv[1])
with njrt.using(model=njrt.Scripted(lambda request: sys.argv[3], protocol="text"), canary=1.0, store=sys.argv[2]):
    import program
    for _ in range(5):
        program.shop([1], program.Basket(), 5)
        assert wait_for_canaries(90)
"""


def test_processes_share_the_test(studio: Studio) -> None:
    program = Program(studio)
    command = [sys.executable, "-c", RUNNER, str(studio.folder), program.store, SAME]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    said = [child.communicate(timeout=HANG_SECONDS)[1].decode() for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    assert said == ["", ""]
    assert program.read_state().history.runs == 10


def test_the_end_of_the_program_waits_for_its_canaries(studio: Studio) -> None:
    program = Program(studio)
    code = RUNNER.replace("        assert wait_for_canaries(90)\n", "").replace(
        "range(5)", "range(2)"
    )
    command = [sys.executable, "-c", code, str(studio.folder), program.store, SAME]
    subprocess.run(command, check=True, timeout=HANG_SECONDS)
    assert program.read_state().history.runs == 2


SHORT = """
import sys, njrt
sys.path.insert(0, sys.argv[1])
import program
with njrt.using(canary=1.0, store=sys.argv[2]):
    program.shop([1], program.Basket(), 5)
"""


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 2), reason="it starts no threads while a program ends"
)
def test_a_canary_asks_a_server_after_the_end_of_a_short_program(studio: Studio) -> None:
    """The server's client, its event loop and its threads are started when the main thread has ended."""
    pytest.importorskip("openai")
    program = Program(studio)
    with OpenAIServer([Answer(says(SAME).body, after=0.3)], vendor=False) as server:
        environ = {
            "NJC_MODEL": "openai/gpt-4.1",
            "NJC_BASE_URL": f"{server.url}/v1",
            "NJC_PROTOCOL": "text",
        }
        command = [sys.executable, "-c", SHORT, str(studio.folder), program.store]
        done = subprocess.run(
            command, env={**os.environ, **environ}, timeout=HANG_SECONDS, capture_output=True
        )
    assert (done.returncode, done.stderr) == (0, b"")
    state = program.read_state()
    assert (state.history.runs, state.skipped) == (1, 0)


def test_a_canary_that_hangs_is_left_behind() -> None:
    running, released = RunningCanaries(), threading.Event()

    def hang() -> None:
        released.wait(HANG_SECONDS)

    for _ in range(MAX_RUNNING):
        running.start(hang)
    assert running.is_full()
    assert not running.wait(0.1)
    assert running.is_full(), "it has not waited for their end"
    released.set()
    assert running.wait(HANG_SECONDS)
    assert not running.is_full()


def test_the_runtime_alone_can_do_it(studio: Studio) -> None:
    text = studio.built(SHOP, CODE, mode="auto")
    name = next(line for line in text.splitlines() if "code=" in line)
    assert name.strip().startswith('code="program.njpy:shop ')
    assert '_nj_try.note("break")\n                break\n' in text
    assert Path("program.py").exists()


DOUBLE = '''\
def double(x: int, least: int = 0):
    """natural
    Put into <:y: int> the double of <x>.
    """
    assert y % 2 == 0
    return y
'''
BROKEN, KEPT = ({"y": value} for value in (5, 6))


@pytest.mark.parametrize(
    ("asserts", "replies", "asked", "differences"),
    [
        ("y % 2 == 0", [BROKEN, KEPT], 2, []),
        ("y % 2 == 0", [BROKEN] * 9, 4, ["`y` is 5, by code 6"]),
        ("y % 2 == 0 or least is None", [BROKEN, KEPT], 1, ["`y` is 5, by code 6"]),
        ("y == 2 * x", [BROKEN, KEPT], 2, []),
    ],
)
def test_replies_that_break_the_contract_are_corrected(
    studio: Studio, asserts: str, replies: list[Said], asked: int, differences: list[str]
) -> None:
    """They are mistakes of the model and not of the code; a contract with other variables is not checked."""
    program = Program(studio, DOUBLE.replace("y % 2 == 0", asserts), "y = 2 * x")
    left = iter(replies)
    result, runs = program.call("double", 3, says=lambda request: next(left))
    assert (result, len(program.asked)) == (6, asked)
    assert [list(run.canary.differences) for run in runs if run.canary] == [differences]
