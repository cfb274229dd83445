"""Workflows for kills.py: each settles orders in another way, so that together they have every kind of step.

    SCENARIOS["gather"].run(world)      in a process that may be killed: launch, and run the workflow from where it is

What a scenario does outside of the program goes into files of its folder: `asked`, `decided`, `paid`. A scenario must end
with the same result and the same payments however often it was killed.
"""

from __future__ import annotations

import asyncio
import functools
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt import durable
from njrt.decisions import Accept, Decision, PendingEffect, Reject
from njrt.message_json import hash_conversation
from njrt.messages import ModelMessage, Reply, Request, Usage
from njrt.models.scripted import run

PROGRAM = '''
# njc: authority=code


def check(order):
    is_payable: bool
    """natural
    Put into <:is_payable> whether <order> may be paid.
    """
    return is_payable


def settle(orders, pay):
    total = 0
    for order in orders:
        """natural
        If <check> allows <order>, <pay> it and add its cents to <:total>, of which <total> has those so far.
        """
    return total


def visit(orders, pay):
    seen = []
    for order in orders:
        try:
            """natural
            Continue if <order> has no cents, break if it is "last", raise if it is "lost", else <pay> it and
            append what that gives to <seen>.
            """
        except Exception as error:
            seen.append(type(error).__name__)
    return seen


async def acheck(order):
    is_payable: bool
    """natural
    Put into <:is_payable> whether <order> may be paid.
    """
    return is_payable


async def asettle(orders, pay):
    total = 0
    for order in orders:
        """natural
        If <acheck> allows <order>, <pay> it and add its cents to <:total>, of which <total> has those so far.
        """
    return total
'''

CHECK = 'is_payable = order["cents"] > 0'
SETTLE = """
if {check}(order):
    {wait}pay(order["id"], order["cents"])
    total += order["cents"]
"""
VISIT = """
if order["cents"] == 0:
    continue
if order["id"] == "last":
    break
if order["id"] == "lost":
    raise LookupError("lost")
seen.append(pay(order["id"], order["cents"]))
"""
ORDERS = [
    {"id": f"order-{number}", "cents": cents} for number, cents in enumerate([100, 0, 250, 30])
]
ODD_ORDERS = [
    {"id": "free", "cents": 0},
    {"id": "lost", "cents": 5},
    {"id": "stolen", "cents": 7},
    {"id": "endless", "cents": 8},
    {"id": "good", "cents": 9},
    {"id": "last", "cents": 1},
    {"id": "never", "cents": 1},
]


class DeclinedError(Exception):
    """The bank does not pay an order."""


@dataclass(frozen=True)
class World:
    """One workflow and what is around it: where its files are, and whom its events are reported to."""

    folder: Path
    url: str
    identity: str
    report: Callable[[str], None]

    def log(self, name: str, line: str) -> None:
        """Add a line to a file."""
        self.report(f"before {name}")
        with (self.folder / name).open("a") as file:
            file.write(line + "\n")
        self.report(name)

    def read(self, name: str) -> list[str]:
        """Return the lines of a file."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def find_payment(self, key: str) -> str | None:
        """Return the payment of a key."""
        return next((line.split()[1] for line in self.read("paid") if line.split()[0] == key), None)

    def make_pay(self) -> Callable[..., str]:
        """Return the effect: a payment; an order that is stolen is declined."""

        @durable.effect(find=self.find_payment)
        def pay(order: str, cents: int) -> str:
            if order == "stolen":
                raise DeclinedError(order)
            self.log("paid", f"{durable.effect_key()} {order} {cents}")
            return order

        return pay

    def make_apay(self) -> Callable[..., Any]:
        """Return the same for async workflows."""

        @durable.effect(find=self.find_payment)
        async def pay(order: str, cents: int) -> str:
            await asyncio.sleep(0)
            self.log("paid", f"{durable.effect_key()} {order} {cents}")
            return order

        return pay

    def decide(self, pending: PendingEffect) -> Decision:
        """Return the interceptor."""
        self.log("decided", f"{pending.place} {pending.effect!r}"[:60].replace("\n", " "))
        return Accept()

    def using(self, **options: Any) -> Any:
        """Return the settings inside of the workflow."""
        return njrt.using(model=LoggedModel(self), intercept=self.decide, **options)

    def launch(self) -> None:
        """Start DBOS, and report."""
        durable.launch(
            self.url, executor_id=self.identity, notification_listener_polling_interval_sec=0.02
        )
        self.report("launched")


class LoggedModel:
    """Answers as it must, and logs each request in a file."""

    name, protocol = "openai/logged", "tools"

    def __init__(self, world: World) -> None:
        self._world = world

    def ask(self, request: Request) -> Reply:
        self._world.log("asked", hash_conversation(request.messages))
        return make_reply(request)

    async def aask(self, request: Request) -> Reply:
        self._world.log("asked", hash_conversation(request.messages))
        await asyncio.sleep(0.001)
        self._world.report("reply")
        return make_reply(request)


def make_reply(request: Request) -> Reply:
    """Return the code that a block needs."""
    text = str(request.messages[0])
    done = True
    if "may be paid" in text:
        code = CHECK
    elif "Continue if" in text:
        code, done = (VISIT, True) if "endless" not in text else ("seen.append('x')", False)
    elif "acheck" in text:
        code = SETTLE.format(check="await acheck", wait="await ")
    else:
        code = SETTLE.format(check="check", wait="")
    message = ModelMessage("", (run(code, done=done),))
    return Reply(message, usage=Usage(100, 20, 0, 0.001), model="logged")


@functools.cache
def compile_program() -> Any:
    """Return the code of the compiled program."""
    source = SourceFile("settling.njpy", textwrap.dedent(PROGRAM).encode())
    output = compile_source(source).output
    assert output is not None
    return compile(output, "settling.py", "exec")


def load_program() -> dict[str, Any]:
    """Return the functions of the program."""
    names: dict[str, Any] = {"__name__": "settling"}
    exec(compile_program(), names)
    return names


# --- the scenarios


def run_orders(world: World) -> Any:
    settle, pay = load_program()["settle"], world.make_pay()

    @durable.workflow
    def settle_orders(orders: list[dict[str, Any]]) -> int:
        with world.using():
            return int(settle(orders, pay))

    world.launch()
    with durable.workflow_id(world.identity):
        return settle_orders(ORDERS)


def run_async(world: World) -> Any:
    asettle, pay = load_program()["asettle"], world.make_apay()

    @durable.workflow
    async def settle_orders(orders: list[dict[str, Any]]) -> int:
        with world.using():
            return int(await asettle(orders, pay))

    async def call() -> int:
        with durable.workflow_id(world.identity):
            return await settle_orders(ORDERS)

    world.launch()
    return asyncio.run(call())


def run_gather(world: World) -> Any:
    asettle, pay = load_program()["asettle"], world.make_apay()

    async def settle_pair(pair: list[dict[str, Any]]) -> int:
        return sum(await durable.gather(*(asettle([order], pay) for order in pair)))

    @durable.workflow
    async def settle_orders(orders: list[dict[str, Any]]) -> int:
        with world.using():
            total = sum(await durable.gather(settle_pair(orders[:2]), asettle(orders[2:3], pay)))
            return total + int(await asettle(orders[3:], pay))

    async def call() -> int:
        with durable.workflow_id(world.identity):
            return await settle_orders(ORDERS)

    world.launch()
    return asyncio.run(call())


def run_threads(world: World) -> Any:
    settle, pay = load_program()["settle"], world.make_pay()

    def settle_one(order: dict[str, Any]) -> int:
        return int(settle([order], pay))

    @durable.workflow
    def settle_orders(orders: list[dict[str, Any]]) -> int:
        with world.using():
            return sum(durable.map(settle_one, orders[:3], threads=2)) + settle_one(orders[3])

    world.launch()
    with durable.workflow_id(world.identity):
        return settle_orders(ORDERS)


def run_nested(world: World) -> Any:
    settle, pay = load_program()["settle"], world.make_pay()

    @durable.workflow
    def settle_order(order: dict[str, Any]) -> int:
        if order["cents"] == 0:
            raise DeclinedError(order["id"])
        with world.using():
            return int(settle([order], pay))

    @durable.workflow
    def settle_orders(orders: list[dict[str, Any]]) -> list[Any]:
        results: list[Any] = []
        for order in orders:
            try:
                results.append(settle_order(order))
            except DeclinedError as error:
                results.append(list(error.args))
        return results

    world.launch()
    with durable.workflow_id(world.identity):
        return settle_orders(ORDERS)


def run_jumps(world: World) -> Any:
    visit, pay = load_program()["visit"], world.make_pay()

    @durable.workflow
    def visit_orders(orders: list[dict[str, Any]]) -> list[str]:
        with world.using(max_calls=2, cache=world.folder / "cache"):
            return list(visit(orders, pay))

    world.launch()
    with durable.workflow_id(world.identity):
        return visit_orders(ODD_ORDERS)


def run_person(world: World) -> Any:
    settle, pay = load_program()["settle"], world.make_pay()

    @durable.workflow
    def settle_orders(orders: list[dict[str, Any]]) -> list[Any]:
        results: list[Any] = []
        for order in orders:
            try:
                with njrt.using(
                    model=LoggedModel(world), intercept=durable.ask_person(), max_calls=1
                ):
                    results.append(settle([order], pay))
            except njrt.NaturalError as error:
                results.append(type(error).__name__)
        return results

    def answer_questions() -> None:
        while True:
            for question in durable.list_questions(world.url):
                if question.workflow_id == world.identity:
                    is_large = "order-2" in question.text
                    world.report("before decided")
                    durable.decide(world.url, question, Reject("no") if is_large else Accept())
                    world.report("decided")
            time.sleep(0.02)

    world.launch()
    threading.Thread(target=answer_questions, daemon=True).start()
    with durable.workflow_id(world.identity):
        return settle_orders(ORDERS[2:])


@dataclass(frozen=True)
class Scenario:
    """A way to settle orders."""

    run: Callable[[World], Any]
    result: Any
    paid: tuple[str, ...]
    parallel: int = 1
    """How many calls or decisions may be under way when the process is killed."""


PAID = ("order-0 100", "order-2 250", "order-3 30")
SCENARIOS = {
    "orders": Scenario(run_orders, 380, PAID),
    "async": Scenario(run_async, 380, PAID),
    "gather": Scenario(run_gather, 380, PAID, parallel=3),
    "threads": Scenario(run_threads, 380, PAID, parallel=2),
    "nested": Scenario(run_nested, [100, ["order-1"], 250, 30], PAID),
    "jumps": Scenario(
        run_jumps,
        ["LookupError", "CallLimitError", "x", "x", "CallLimitError", "good"],
        ("good 9",),
    ),
    "person": Scenario(run_person, ["CallLimitError", 30], ("order-3 30",)),
}
