"""An effect as interceptors see it, and their possible decisions.

    def allow_no_imports(pending: PendingEffect) -> Decision:
        match pending.effect:
            case Run(code) if "import" in code:
                return Reject("do it without imports")
        return Accept()

    with njrt.using(intercept=allow_no_imports): ...

Interceptors see every effect of every set before it is performed, and each question of `njrt.llm`.
They do not see replies that cannot be read as an effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from njrt.data.records import record
from njrt.effects import EFFECT_KINDS, Effect, Touch
from njrt.errors import InterceptorError, NaturalError


@dataclass(frozen=True, slots=True)
class Accept:
    """Perform the effect."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Perform this effect of the block's effect set instead; it is checked like the model's."""

    effect: Effect


@dataclass(frozen=True, slots=True)
class Reject:
    """Do not perform the effect; `words` give the model the reason and an alternative.

    For a question of `njrt.llm`, no model is asked, and the call raises `PolicyError`.
    """

    words: str


@dataclass(frozen=True, slots=True)
class Abort:
    """End the block with this error, a `PolicyError` by default."""

    error: NaturalError | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """End the block with `Paused`; the program can continue here later."""


Decision = Accept | Edit | Reject | Abort | Pause


@dataclass(frozen=True, slots=True)
class PendingEffect:
    """An effect that the model has requested and that has not been performed.

    `run` and `parent` are as in the event `Began`, `place` is `file.njpy:line`, `turn` is the
    number of the model's reply in the run and `number` the effect's number in the run, both from 1
    (refused effects count). `instruction` is the block's instruction, empty for a question of
    `njrt.llm`. `effects` is the block's effect set.
    """

    run: str
    parent: str | None
    place: str
    turn: int
    number: int
    effect: Effect
    effects: str
    instruction: str
    is_async: bool
    render_variables: Callable[[], Mapping[str, str]] = field(repr=False, compare=False)
    """Writes the block's variables by name, as the model sees them: bounded, secrets redacted. The
    only code of the program that this runs is a `__repr__` written by hand."""
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The arguments of a `Touch` by parameter: the program's own objects."""
    digest: str = field(default="", repr=False)
    """A digest of a `Touch`'s full arguments; the `Touch` cuts long ones and redacts secrets."""
    probabilities: Mapping[str, Mapping[str, float]] = field(default_factory=dict, compare=False)
    """The probabilities of the answers by output, if the block decides."""
    is_sure: bool | None = None
    """With `unsure="ask"`, whether the answers reach `sure`, so that nobody need be asked."""


Interceptor = Callable[[PendingEffect], Decision | Awaitable[Decision]]
"""Decides about an effect. It may be a coroutine function only in async blocks."""


@record
class OpenInterceptor:
    """An interceptor in its `with using`; `name` is its name in events, recordings and messages.

    With an attribute `asks_again` it is asked even if the recording has its decision.
    """

    name: str
    decide: Interceptor

    @property
    def asks_again(self) -> bool:
        return bool(getattr(self.decide, "asks_again", False))


def is_observer(opened: OpenInterceptor) -> bool:
    """Return whether an interceptor only watches, like a debugger; alone, it decides nothing."""
    return bool(getattr(opened.decide, "is_observer", False))


def decides_changes(opened: OpenInterceptor) -> bool:
    """Return whether an interceptor decides about the changes of contained code."""
    return bool(getattr(opened.decide, "decides_changes", False))


@record
class InterceptorDecision:
    """The decision of one interceptor; `interceptor` is its name."""

    interceptor: str
    decision: Decision


@record
class Interception:
    """The decisions of the interceptors around a block about an effect, in order.

    `effect` is the effect after all edits. Without an interceptor and a recorded decision,
    `decisions` is empty.
    """

    effect: Effect
    decisions: tuple[InterceptorDecision, ...]

    @property
    def last(self) -> Decision:
        """The decision that counts; if it is an `Edit`, all outer interceptors accepted it."""
        return self.decisions[-1].decision if self.decisions else Accept()


def get_interceptor_name(interceptor: Interceptor) -> str:
    """Return an interceptor's name: its function's, or its class's if it is another object."""
    name = getattr(interceptor, "__name__", None)
    return name if isinstance(name, str) else type(interceptor).__name__


def check_edit(name: str, decision: Edit, pending: PendingEffect) -> None:
    """Raise `InterceptorError` if the new effect does not belong to the block's effect set."""
    before, edited = pending.effect, decision.effect
    if isinstance(before, Touch):
        if not isinstance(edited, Touch) or edited.function != before.function:
            raise InterceptorError(
                f"the interceptor `{name}` replaced a call of {before.function} by something else"
            )
    elif not isinstance(edited, kinds := EFFECT_KINDS[pending.effects]):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise InterceptorError(
            f"the interceptor `{name}` replaced {type(before).__name__} by {type(edited).__name__};"
            f" the effects of `{pending.effects}` are: {names}"
        )
