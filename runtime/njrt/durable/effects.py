"""Functions with effects outside of the program, done at most once in a workflow.

    @durable.effect(find=find_payment)
    def pay(account: str, cents: int) -> str:
        return bank.pay(account, cents, idempotency_key=durable.effect_key())

    step "effect pay begins"     who began it, its key, the digest of its arguments      stored before
    step "effect pay"            the result or the exception                             stored after

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
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

from njrt.durable.steps import WorkflowSteps, find_steps, get_dbos, read_step
from njrt.durable.stored_json import normalize
from njrt.durable.versions import note_function
from njrt.errors import CallInDoubtError
from njrt.gates import call_key, keyed
from njrt.message_json import hash_json
from njrt.values.failures import failure_to_json

P = ParamSpec("P")
R = TypeVar("R")
Find = Callable[[str], Any]


class EffectInDoubtError(CallInDoubtError):
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
    return call_key()


@dataclass(frozen=True, slots=True)
class EffectCall:
    """One call of an effect in a workflow."""

    function: Callable[..., Any]
    find: Find | None
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    attempt: str
    """Differs between this process and one that was killed."""

    @property
    def name(self) -> str:
        return f"effect {self.function.__name__}"

    @property
    def digest(self) -> str:
        """The digest of the arguments; only the types count of those that are not JSON."""
        try:
            text = json.dumps(
                [self.arguments, self.keywords], default=lambda value: str(type(value))
            )
        except (TypeError, ValueError, RecursionError):
            return ""
        return hash_json(json.loads(text))

    def begin(self) -> str:
        """Return what is stored before the effect is done."""
        dbos = get_dbos()
        key = f"{dbos.workflow_id}/{dbos.step_id}"
        return json.dumps({"key": self.digest, "attempt": self.attempt, "effect": key})

    def look_up(self, begun: dict[str, Any]) -> Any:
        """Return what `find` gives where the effect was begun before a crash; None if it is to be done."""
        if begun["attempt"] == self.attempt:
            return None
        if self.find is None:
            raise EffectInDoubtError(
                f"the {self.name.replace(' ', ' `')}` (key {begun['effect']}) was interrupted by a crash, and may have been done; "
                "it is not done again. Look whether it was, or give it a function `find` that does"
            )
        return self.find(begun["effect"])

    def perform(self, begun: dict[str, Any]) -> str:
        """Do the effect, unless it was done; give what is stored of it."""
        try:
            result = self.look_up(begun)
            if result is None:
                with keyed(begun["effect"]):
                    result = self.function(*self.arguments, **self.keywords)
            return self.format_result(result)
        except Exception as error:
            return self.format_failure(error)

    async def aperform(self, begun: dict[str, Any]) -> str:
        """Return the same for async functions; `find` may be async."""
        try:
            result = self.look_up(begun)
            if inspect.isawaitable(result):
                result = await result
            if result is None:
                with keyed(begun["effect"]):
                    result = await self.function(*self.arguments, **self.keywords)
            return self.format_result(result)
        except Exception as error:
            return self.format_failure(error)

    def format_result(self, result: Any) -> str:
        """Return what is stored of a result."""
        return json.dumps(
            {"key": self.digest, "result": normalize(result, f"the result of the {self.name}")}
        )

    def format_failure(self, error: Exception) -> str:
        """Return what is stored of an exception: the program has seen it, and must see it again."""
        return json.dumps({"key": self.digest, "failure": failure_to_json(error)})


def _make_effect(function: Callable[..., Any], find: Find | None) -> Callable[..., Any]:
    note_function(function)

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        steps = find_steps()
        if steps is None:
            return function(*arguments, **keywords)
        return call_once(steps, function, find, arguments, keywords)

    @functools.wraps(function)
    async def acall(*arguments: Any, **keywords: Any) -> Any:
        steps = find_steps()
        if steps is None:
            return await function(*arguments, **keywords)
        return await acall_once(steps, function, find, arguments, keywords)

    return acall if inspect.iscoroutinefunction(function) else call


def call_once(
    steps: WorkflowSteps,
    function: Callable[..., Any],
    find: Find | None,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Call a function as two steps of a workflow; after a crash its stored result is used."""
    call = EffectCall(function, find, arguments, keywords, uuid.uuid4().hex)
    begun = read_step(steps.run(f"{call.name} begins", call.begin), call.digest, call.name)
    done = steps.run(call.name, functools.partial(call.perform, begun))
    return read_step(done, call.digest, call.name)["result"]


async def acall_once(
    steps: WorkflowSteps,
    function: Callable[..., Any],
    find: Find | None,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Do the same for a coroutine function."""
    call = EffectCall(function, find, arguments, keywords, uuid.uuid4().hex)

    async def begin() -> str:
        return call.begin()

    begun = read_step(await steps.arun(f"{call.name} begins", begin), call.digest, call.name)
    done = await steps.arun(call.name, functools.partial(call.aperform, begun))
    return read_step(done, call.digest, call.name)["result"]
