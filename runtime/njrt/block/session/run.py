"""One run, of a block or of a question: its events, its driver, and the only way to its effects.

    run.drive()
        begin       Began
        converse    yields what it asks for:    Request          the model answers
                                                Snippet          the model's code runs
                                                PendingEffect    the interceptors decide
            serve   each effect: counted, shown to interceptors, handled or refused, reported
        end         Ended, and warnings

`BlockRun` and `QuestionRun` say how they converse and how they handle an effect.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping

from njrt.block.agent.code_runner import EffectGenerator
from njrt.block.agent.conversation import Conversation, ConversationStep, ServedEffect, StepResult
from njrt.block.session.interception import intercept
from njrt.block.session.session import (
    Session,
    add_note,
    add_place,
    enter_run,
    leave_run,
    make_ending_error,
    warn_at,
)
from njrt.block.session.state_observer import Observe
from njrt.data.coroutines import run_without_waiting
from njrt.data.decisions import (
    Abort,
    Interception,
    InterceptorDecision,
    Pause,
    PendingEffect,
    Reject,
)
from njrt.data.outcome import Outcome, Raised
from njrt.data.timeouts import close_watch, open_watch, paused
from njrt.effects import Answer, Effect, EffectResult, Refusal
from njrt.errors import CodeTimeLimitError, LimitError, NaturalError, TimeLimitError
from njrt.events import Began, Ended, Performed
from njrt.execution.execute import Snippet, aexecute, execute
from njrt.execution.scope.scope import Scope
from njrt.messages import Request
from njrt.values.rendering.redaction import redact_shapes


class BaseRun(ABC):
    """One run (state: when it began, and what its subclass keeps)."""

    effects = ""
    """The effect set, as events and interceptors see it."""
    instruction = ""
    scope: Scope | None = None
    """The program's variables, of which a question has none."""
    observe: Observe | None = None
    """Returns the changes of the variables; None if no listener wants them."""

    def __init__(self, session: Session, is_async: bool) -> None:
        self.session, self.is_async = session, is_async
        self._refusal: Refusal | None = None
        self.interceptors, self.record = session.interceptors, session.record

    # ── what a subclass says ─────────────────────────────────────────────────────────────────────

    @abstractmethod
    def converse(self) -> Conversation:
        """Yield what the run asks for, and return how it ends."""

    @abstractmethod
    def handle(self, effect: Effect | Refusal, turn: int) -> EffectGenerator | ServedEffect:
        """Perform an effect, or return a refusal; called by `serve` only."""

    def render_variables(self) -> Mapping[str, str]:
        """Return the variables as interceptors see them."""
        return {}

    def redact(self, text: str) -> str:
        """Redact the secrets in a text of the run."""
        return redact_shapes(text)

    def redact_result(self, result: Answer | Refusal) -> EffectResult:
        """Redact a result that the model is shown."""
        return result

    def finish(self, ending: Outcome | BaseException) -> tuple[str, ...]:
        """Clean up before the run is reported as ended; return the warnings about it."""
        return ()

    def close(self) -> None:  # noqa: B027 - a run may hold nothing
        """Release what the run has held, at the very end."""

    # ── driving ──────────────────────────────────────────────────────────────────────────────────

    def drive(self) -> Outcome:
        """Run to the end; raise the error that ends the run, if any."""
        self.begin()
        step: ConversationStep | None = None
        result: StepResult | None = None
        try:
            conversation = self.converse()
            step = next(conversation)
            while True:
                try:
                    match step:
                        case Snippet():
                            result = execute(step, seconds=self.session.get_code_seconds())
                        case Request():
                            result = self.session.model.ask(step)
                        case PendingEffect():
                            decided = intercept(step, self.interceptors, self.record)
                            result = run_without_waiting(decided)
                except BaseException as error:
                    step = conversation.throw(error)
                else:
                    step = conversation.send(result)
        except StopIteration as ended:
            outcome: Outcome = ended.value
        except BaseException as error:
            self.end(error)
            raise
        finally:
            del step, result
        try:
            self.end(outcome)
            return outcome
        finally:
            del outcome  # an exception in a variable would keep this frame alive, with all values

    async def adrive(self) -> Outcome:
        """Do the same in an `async` function, without blocking its event loop."""
        self.begin()
        step: ConversationStep | None = None
        result: StepResult | None = None
        try:
            conversation = self.converse()
            step = next(conversation)
            while True:
                try:
                    match step:
                        case Snippet():
                            seconds = self.session.get_code_seconds()
                            result = await aexecute(step, seconds=seconds)
                        case Request():
                            result = await self.session.model.aask(step)
                        case PendingEffect():
                            result = await intercept(step, self.interceptors, self.record)
                except BaseException as error:
                    step = conversation.throw(error)
                else:
                    step = conversation.send(result)
        except StopIteration as ended:
            outcome: Outcome = ended.value
        except BaseException as error:
            self.end(error)
            raise
        finally:
            del step, result
        try:
            self.end(outcome)
            return outcome
        finally:
            del outcome

    # ── events ───────────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Make this the innermost run, and report that it has begun."""
        session = self.session
        self._began = time.monotonic()
        self._token = enter_run(session.run)
        self._watched = open_watch(session.meter.watch)
        session.listener(
            Began(
                *(session.run, time.time(), session.place, session.model.name, self.effects),
                *(session.parent, self.instruction, self.observe and self.observe()),
            )
        )

    def end(self, ending: Outcome | BaseException) -> None:
        """Finish, report how the run has ended, and warn about a block that did nothing."""
        session = self.session
        signs: tuple[str, ...] = ()
        try:
            if isinstance(ending, LimitError) and self._refusal is not None:
                add_note(ending, f"the last reply was refused: {self._refusal.message}")
            if isinstance(ending, NaturalError):
                add_place(ending, session.place)
            signs = self.finish(ending)
        except BaseException as error:
            ending = add_place(error, session.place) if isinstance(error, NaturalError) else error
            raise
        finally:
            seconds = time.monotonic() - self._began
            close_watch(session.meter.watch, self._watched)
            leave_run(self._token)
            session.listener(
                Ended(
                    session.run,
                    time.time(),
                    ending,
                    seconds,
                    self.observe and self.observe(),
                    self.redact,
                    signs,
                )
            )
            self.close()
            del ending  # its traceback may hold this frame
        for sign in signs:
            warn_at(session.place, sign)

    # ── the only way to an effect ────────────────────────────────────────────────────────────────

    def serve(self, effect: Effect | Refusal, turn: int) -> ServedEffect:
        """Serve an effect of a turn: count it, show it, handle or refuse it, and report it."""
        session = self.session
        number, touches = session.meter.count_effect(), self.scope.touches if self.scope else 0
        decisions: tuple[InterceptorDecision, ...] = ()
        served = effect
        has_decisions = self.record is not None and self.record.recorder.has_decisions
        if (self.interceptors or has_decisions) and not isinstance(effect, Refusal):
            with paused():
                interception = yield self.describe(effect, turn, number)
            assert isinstance(interception, Interception)
            decisions = interception.decisions
            match interception.last:
                case Reject(words):
                    served = Refusal(words)
                case Abort() | Pause() as ending:
                    error = make_ending_error(ending, decisions[-1].interceptor, session)
                    self.report(effect, Raised(error), turn, decisions=decisions)
                    raise error
                case _:
                    served = interception.effect
        began = time.monotonic()
        try:
            result = yield from self.handle(served, turn)
        except CodeTimeLimitError:
            try:
                session.meter.check()  # it may be the limit of the whole run
            except TimeLimitError as over:
                raise over from None
            raise
        if isinstance(result, Answer | Refusal):
            result = self.redact_result(result)
        self._refusal = result if isinstance(result, Refusal) else None
        touches = self.scope.touches - touches if self.scope else 0
        self.report(effect, result, turn, time.monotonic() - began, decisions, touches)
        return result

    def describe(self, effect: Effect, turn: int, number: int) -> PendingEffect:
        """Describe an effect to the interceptors."""
        session = self.session
        return PendingEffect(
            *(session.run, session.parent, session.place, turn, number, effect),
            *(self.effects or "direct", self.instruction, self.is_async, self.render_variables),
        )

    def report(
        self,
        effect: Effect | Refusal,
        result: EffectResult,
        turn: int,
        seconds: float = 0.0,
        decisions: tuple[InterceptorDecision, ...] = (),
        touches: int = 0,
    ) -> None:
        """Report an effect with its result."""
        self.session.listener(
            Performed(
                *(self.session.run, time.time(), turn, effect, result, seconds),
                *(self.observe and self.observe(), decisions, self.redact, touches),
            )
        )
