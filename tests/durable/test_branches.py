"""Branches of a workflow (docs/durable.md): their steps have the same numbers however they take turns."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from dbos import DBOS
from dbos._context import DBOSContext, _set_local_dbos_context
from polling import replay

import njrt
from njrt import durable
from njrt.durable.branches import branches
from njrt.errors import ConfigurationError
from njrt.messages import ModelMessage, Reply, Request

Tree = list["int | Tree"]
"""A part of a workflow: a number of steps, or branches."""


def make_tree(pick: random.Random, depth: int) -> Tree:
    """Steps, then branches, then steps, and so on."""
    parts: Tree = []
    for _ in range(pick.randint(0, 3)):
        if depth and pick.random() < 0.5:
            parts.append([make_tree(pick, depth - 1) for _ in range(pick.randint(0, 4))])
        else:
            parts.append(pick.randint(0, 3))
    return parts


def number_steps(tree: Tree, pick: random.Random, path: str = "") -> dict[str, int]:
    """Return the number of each step and the next one, which waiting needs, with the branches run in any order."""
    from dbos._context import get_local_dbos_context

    numbers: dict[str, int] = {}
    context: Any = get_local_dbos_context()
    for index, part in enumerate(tree):
        if isinstance(part, int):
            for step in range(part):
                name = f"{path}/{index}.{step}"
                taken = context.snapshot_step_ctx(reserve_sleep_id=True).function_id
                numbers |= {name: taken, f"{name} timeout": taken + 1}
            continue
        with branches(len(part)) as contexts:
            order = list(enumerate(zip(part, contexts, strict=True)))
            pick.shuffle(order)
            for branch, (inner, around) in order:
                numbers |= around.run(number_steps, inner, pick, f"{path}/{index}[{branch}]")
    return numbers


def number_workflow(tree: Tree, pick: random.Random) -> dict[str, int]:
    context = DBOSContext()
    context.workflow_id, context.function_id = "numbers", 0
    _set_local_dbos_context(context)
    return number_steps(tree, pick)


@pytest.mark.parametrize("seed", range(20))
def test_steps_have_one_number_each_in_every_order(seed: int) -> None:
    tree = make_tree(random.Random(seed), 3)
    orders = [
        contextvars.copy_context().run(number_workflow, tree, random.Random(order))
        for order in range(3)
    ]
    assert orders[0] == orders[1] == orders[2]
    assert len(set(orders[0].values())) == len(orders[0])


def test_a_workflow_has_no_more_steps_than_postgres_can_number() -> None:
    def fork_often() -> None:
        context = DBOSContext()
        context.workflow_id, context.function_id = "numbers", 0
        _set_local_dbos_context(context)
        for _ in range(5):
            manager = branches(1000)
            (first, *_others) = manager.__enter__()
            first.run(lambda: None)
            _set_local_dbos_context(first.run(_step))

    with pytest.raises(ConfigurationError, match="too many steps"):
        contextvars.copy_context().run(fork_often)


def _step() -> Any:
    from dbos._context import get_local_dbos_context

    context: Any = get_local_dbos_context()
    context.snapshot_step_ctx()
    return context


async def find_length(text: str) -> int:
    return len(text)


@pytest.mark.parametrize(
    "function", [find_length, functools.partial(find_length), lambda text: find_length(text)]
)
def test_map_refuses_async_functions(function: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"durable\.gather"):
        durable.map(function, ["a"])


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_map_needs_a_number_of_threads(threads: Any) -> None:
    with pytest.raises(ConfigurationError, match="threads must be a number from 1"):
        durable.map(len, ["a"], threads=threads)


@pytest.mark.parametrize("make", [durable.workflow, durable.effect, durable.effect(find=len)])
def test_functions_without_a_name_are_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="needs a function with a name, not functools"):
        make(functools.partial(len))


# --- in workflows


class SlowModel:
    """Answers a question with itself, each time after another while; notes what it was asked."""

    name, protocol = "openai/slow", "tools"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.pick = random.Random(1)

    def ask(self, request: Request) -> Reply:
        self.asked.append(str(request.messages[-1]))
        threading.Event().wait(self.pick.uniform(0, 0.004))
        return Reply(ModelMessage(str(request.messages[-1]).split("?")[0][-3:]))

    async def aask(self, request: Request) -> Reply:
        self.asked.append(str(request.messages[-1]))
        await asyncio.sleep(self.pick.uniform(0, 0.004))
        return Reply(ModelMessage(str(request.messages[-1]).split("?")[0][-3:]))


def check_all_replays(identity: str, model: SlowModel, result: Any) -> None:
    """Replays from every other step on give the same, and ask only what is not stored."""
    stored = {
        step["function_id"]: step["function_name"] for step in DBOS.list_workflow_steps(identity)
    }
    for first_step in sorted(stored)[::2]:
        model.asked.clear()
        assert replay(identity, first_step) == result
        calls = [
            number
            for number, name in stored.items()
            if name.startswith("model call") and number >= first_step
        ]
        assert len(model.asked) == len(calls)


def test_gather_is_the_same_from_any_step_on(workflows: str) -> None:
    model = SlowModel()

    async def chain(name: str, length: int) -> list[str]:
        return [await njrt.allm(f"{name}{number}?") for number in range(length)]

    @durable.workflow
    async def ask_all() -> list[Any]:
        with njrt.using(model=model):
            first = await njrt.allm("a.0?")
            nested = durable.gather(chain("b.", 1), durable.gather(chain("c.", 1), chain("d.", 2)))
            results = await nested
            return [first, *results, await njrt.allm("e.0?")]

    async def call() -> list[Any]:
        with durable.workflow_id("gather"):
            return await ask_all()

    result = asyncio.run(call())
    assert result == ["a.0", ["b.0"], [["c.0"], ["d.0", "d.1"]], "e.0"]
    check_all_replays("gather", model, result)


def test_map_is_the_same_from_any_step_on(workflows: str) -> None:
    model = SlowModel()

    paid: dict[str, str] = {}

    @durable.effect(find=paid.get)
    def pay(name: str) -> str:
        paid[durable.effect_key()] = f"paid {name}"
        return f"paid {name}"

    def ask(name: str) -> str:
        return str(njrt.llm(f"{name}.1?")) + pay(name)

    @durable.workflow
    def ask_all() -> list[str]:
        with njrt.using(model=model):
            return [*durable.map(ask, "abc", threads=2), str(njrt.llm("d.1?"))]

    with durable.workflow_id("map"):
        result = ask_all()
    assert result == ["a.1paid a", "b.1paid b", "c.1paid c", "d.1"]
    check_all_replays("map", model, result)


def test_all_branches_end_before_the_first_failure_is_raised(workflows: str) -> None:
    ended: list[str] = []

    async def wait(name: str, seconds: float, fails: bool) -> str:
        await asyncio.sleep(seconds)
        ended.append(name)
        if fails:
            raise LookupError(name)
        return name

    @durable.workflow
    async def gather_them() -> None:
        await durable.gather(wait("a", 0.02, True), wait("b", 0, True), wait("c", 0.03, False))

    async def call() -> None:
        with durable.workflow_id("failing"):
            await gather_them()

    with pytest.raises(LookupError, match="a"):
        asyncio.run(call())
    assert sorted(ended) == ["a", "b", "c"]


def test_a_gather_that_is_cancelled_leaves_its_numbers_to_its_steps(workflows: str) -> None:
    async def ask(name: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        return await njrt.allm(f"Say {name}.", str)

    @durable.workflow
    async def give_up() -> list[str]:
        try:
            async with asyncio.timeout(0.5):
                await durable.gather(ask("a", 0), ask("b", 60))
        except TimeoutError:
            return [await ask("c", 0), await ask("d", 0)]
        return []

    async def call() -> list[str]:
        with durable.workflow_id("given up"):
            return await give_up()

    model = njrt.Scripted(lambda request: "x", protocol="text")
    with njrt.using(model=model):
        assert asyncio.run(call()) == ["x", "x"]


def run_outside_of_workflows() -> list[Any]:
    async def double(number: int) -> int:
        return 2 * number

    async def call() -> list[int]:
        return await durable.gather(double(1), double(2), double(3))

    return [asyncio.run(call()), durable.map(lambda number: 2 * number, [1, 2, 3])]


def test_outside_of_workflows_they_do_the_same() -> None:
    assert run_outside_of_workflows() == [[2, 4, 6], [2, 4, 6]]
    with pytest.raises(ZeroDivisionError):
        durable.map(lambda number: 1 // number, [1, 0])


# --- what is refused


async def ask_by_asyncio() -> None:
    await asyncio.gather(njrt.allm("a.1?"), njrt.allm("b.1?"))


async def ask_beside_gather() -> None:
    await asyncio.gather(durable.gather(njrt.allm("a.1?")), njrt.allm("b.1?"))


async def gather_tasks() -> None:
    await durable.gather(asyncio.create_task(asyncio.sleep(0)))


async def ask_in_plain_function() -> None:
    njrt.llm("a.1?")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (ask_by_asyncio, "starts while model call is under way in the same workflow"),
        (ask_beside_gather, "starts while a gather or map"),
        (gather_tasks, "needs coroutines that have not begun"),
        (ask_in_plain_function, "make the function async"),
    ],
)
def test_steps_at_the_same_time_without_gather(
    workflows: str, function: Callable[[], Any], words: str
) -> None:
    @durable.workflow
    async def refused() -> None:
        with njrt.using(model=SlowModel()):
            await function()

    async def call() -> None:
        with durable.workflow_id(f"refused {function.__name__}"):
            await refused()

    with pytest.raises(ConfigurationError, match=words):
        asyncio.run(call())


def test_a_block_in_a_thread_of_its_own(workflows: str) -> None:
    errors: list[Exception] = []

    def ask() -> None:
        try:
            njrt.llm("a.1?")
        except ConfigurationError as error:
            errors.append(error)

    @durable.workflow
    def refused() -> None:
        with njrt.using(model=SlowModel()):
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()

    def call(name: str) -> None:
        with durable.workflow_id(name):
            refused()

    call("main thread")
    caller = threading.Thread(target=call, args=("other thread",))
    caller.start()
    caller.join()
    assert ["start threads with durable.map" in str(error) for error in errors] == [True, True]
