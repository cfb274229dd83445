"""Functions with effects outside of the program, done at most once in a workflow.

    @durable.effect(find=find_payment)
    def pay(account: str, cents: int) -> str:
        return bank.pay(account, cents, idempotency_key=durable.effect_key())

    step "effect pay begins"     who began it, and its key                  stored before
    step "effect pay"            the result                                 stored after

A crash between the two leaves it open whether the effect was done. Then `find(key)` is asked: it looks the effect up where it
was done, and returns its result, or None if it was not done. Without `find`, `EffectInDoubtError` is raised: the
effect is not done again, and a person must look.
"""

from __future__ import annotations

import functools
import inspect
import json
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar, cast, overload

from njrt.errors import NaturalError

P = ParamSpec("P")
R = TypeVar("R")
Find = Callable[[str], Any]

_key: ContextVar[str] = ContextVar("njrt.durable.effects", default="")


class EffectInDoubtError(NaturalError):
    """The program was killed while it did an effect, so that it may have been done; it is not done again."""


@overload
def effect(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def effect(*, find: Find) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def effect(function: Any = None, /, *, find: Find | None = None) -> Any:
    """Make a function, also an async one, an effect: in a workflow it is done at most once, with arguments and a result in JSON.

    After a crash in between, `find(key)` gives the result of an effect that was done, or None. Outside of workflows, and in
    steps, the function is called as it is.
    """
    if function is None:
        return functools.partial(_make_effect, find=find)
    return _make_effect(function, find)


def effect_key() -> str:
    """Inside an effect: a text that is the same after a crash, and another one for each effect; else empty.

    Pass it on as the idempotency key, or write it beside what was done, so that `find` can look it up.
    """
    return _key.get()


def _make_effect(function: Callable[..., Any], find: Find | None) -> Callable[..., Any]:
    name = function.__name__

    def begin(attempt: str) -> str:
        from dbos import DBOS

        return json.dumps({"attempt": attempt, "key": f"{DBOS.workflow_id}/{DBOS.step_id}"})

    def find_done(begun: dict[str, str], attempt: str) -> Any:
        """The result if the effect was begun before a crash and done; None if it is to be done."""
        if begun["attempt"] == attempt:
            return None
        if find is None:
            raise EffectInDoubtError(
                f"the effect `{name}` (key {begun['key']}) was interrupted by a crash, and may have been done; it is not "
                "done again. Look whether it was, or give it a function `find` that does"
            )
        return find(begun["key"])

    def perform(begun: dict[str, str], attempt: str, arguments: Any, keywords: Any) -> Any:
        if (done := find_done(begun, attempt)) is not None:
            return done
        token = _key.set(begun["key"])
        try:
            return function(*arguments, **keywords)
        finally:
            _key.reset(token)

    async def aperform(begun: dict[str, str], attempt: str, arguments: Any, keywords: Any) -> Any:
        if (done := find_done(begun, attempt)) is not None:
            return await done if inspect.isawaitable(done) else done
        token = _key.set(begun["key"])
        try:
            return await function(*arguments, **keywords)
        finally:
            _key.reset(token)

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        dbos = get_dbos_in_workflow()
        if dbos is None:
            return function(*arguments, **keywords)
        attempt = uuid.uuid4().hex
        begun = json.loads(dbos.run_step({"name": f"effect {name} begins"}, begin, attempt))
        return dbos.run_step(
            {"name": f"effect {name}"}, perform, begun, attempt, arguments, keywords
        )

    @functools.wraps(function)
    async def acall(*arguments: Any, **keywords: Any) -> Any:
        dbos = get_dbos_in_workflow()
        if dbos is None:
            return await function(*arguments, **keywords)
        attempt = uuid.uuid4().hex
        begun = json.loads(
            await dbos.run_step_async({"name": f"effect {name} begins"}, begin, attempt)
        )
        return await dbos.run_step_async(
            {"name": f"effect {name}"}, aperform, begun, attempt, arguments, keywords
        )

    return acall if inspect.iscoroutinefunction(function) else call


def get_dbos_in_workflow() -> Any:
    """DBOS's class in a workflow and outside of its steps, else None."""
    import sys

    if (package := sys.modules.get("dbos")) is None:
        return None
    dbos = cast(Any, package).DBOS
    return dbos if dbos.workflow_id is not None and dbos.step_id is None else None
