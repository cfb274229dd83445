"""Asking the interceptors around a block about an effect before it is carried out.

    with njrt.using(intercept=outer):
        with njrt.using(intercept=inner):
            triage(mail)         each effect: inner -> outer -> the handler

    inner: Edit(effect)          outer is asked about the edited effect
    inner: Reject, Abort, Pause  decides; outer is not asked

`make_effect_server` yields a `PendingEffect`; the driver passes it to `intercept` and sends back the `Interception`.
An interceptor is not asked about the blocks that it runs itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import cast

from njrt.decisions import (
    Abort,
    Accept,
    Decision,
    Edit,
    Interception,
    Interceptor,
    InterceptorDecision,
    Pause,
    PendingEffect,
    Reject,
    get_interceptor_name,
)
from njrt.effects import EFFECT_KINDS
from njrt.errors import ConfigurationError, InterceptorError, NaturalError

_asking: ContextVar[tuple[Interceptor, ...]] = ContextVar("njrt.session.interception", default=())
"""The interceptors that are deciding around this point."""


def list_interceptors(opened: Sequence[Interceptor]) -> tuple[Interceptor, ...]:
    """Those of the opened interceptors that a block here must ask, innermost first."""
    asking = _asking.get()
    return tuple(
        interceptor
        for interceptor in reversed(opened)
        if not any(interceptor is other for other in asking)
    )


async def intercept(pending: PendingEffect, interceptors: Sequence[Interceptor]) -> Interception:
    """Ask the interceptors, innermost first, until one does neither accept nor edit the effect.

    In a sync block nothing is awaited.
    """
    decisions: list[InterceptorDecision] = []
    for number, interceptor in enumerate(interceptors, start=1):
        token = _asking.set((*_asking.get(), *interceptors[:number]))
        try:
            decision = await _ask_interceptor(interceptor, pending)
        finally:
            _asking.reset(token)
        decisions.append(InterceptorDecision(get_interceptor_name(interceptor), decision))
        if isinstance(decision, Edit):
            pending = replace(pending, effect=decision.effect)
        elif not isinstance(decision, Accept):
            break
    return Interception(pending.effect, tuple(decisions))


async def _ask_interceptor(interceptor: Interceptor, pending: PendingEffect) -> Decision:
    """The decision of one interceptor; its exceptions become an `InterceptorError`."""
    name = get_interceptor_name(interceptor)
    try:
        answer = interceptor(pending)
        if inspect.isawaitable(answer):
            if not pending.is_async:
                if inspect.iscoroutine(answer):
                    answer.close()
                raise ConfigurationError(
                    f"the interceptor `{name}` is a coroutine function, but the block at {pending.place} "
                    "is not in an async function; use a plain function"
                )
            answer = await answer
    except NaturalError:
        raise
    except Exception as error:
        raise InterceptorError(
            f"the interceptor `{name}` raised {type(error).__name__}: {error}"
        ) from error
    return _check_decision(name, cast(object, answer), pending)


def _check_decision(name: str, decision: object, pending: PendingEffect) -> Decision:
    """Return a decision, or raise `InterceptorError` where it is none or its effect is not of the block's set."""
    if not isinstance(decision, Accept | Edit | Reject | Abort | Pause):
        raise InterceptorError(
            f"the interceptor `{name}` returned {type(decision).__name__}, not Accept(), Edit(...), Reject(...), "
            "Abort(...) or Pause()"
        )
    if isinstance(decision, Edit):
        kinds = EFFECT_KINDS[pending.effects]
        if not isinstance(decision.effect, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise InterceptorError(
                f"the interceptor `{name}` replaced {type(pending.effect).__name__} by "
                f"{type(decision.effect).__name__}; the effects of `{pending.effects}` are: {names}"
            )
    return decision
