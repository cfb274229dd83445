"""The handlers, which perform each effect on the program.

    Run("total = sum(prices)", done=True)   ──serve──>   Completed()                  the prompt is cancelled
    Eval("prices[0]")                       ──serve──>   Answer("3")                  the prompt is resumed
    Exec("prices = []")                     ──serve──>   Refusal("`prices` is ...")   resumed, with advice

A handler is a generator that yields the code to be run (the driver runs it, awaiting it in an `async` block) and
returns the result. It never asks a model. The model's mistakes are answered, not raised; only an output that
repeatedly fails to fit its type ends the block, with an `OutputTypeError`.
"""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar, assert_never
from unicodedata import normalize

from njrt.agent.answer import (
    NO_CHOICES,
    Choices,
    find_exception,
    find_name_problem,
    find_output_form,
    find_return_form,
)
from njrt.agent.interface_effects import InterfaceEffect, OpenInterface
from njrt.agent.object_references import ReferenceTable, WireVariables
from njrt.block import Block
from njrt.effects import (
    Answer,
    AskModel,
    Assign,
    BindOutputs,
    BreakLoop,
    ContinueLoop,
    Deref,
    Done,
    Effect,
    EffectResult,
    Eval,
    Exec,
    Goto,
    Lookup,
    NeedsCode,
    Perform,
    RaiseError,
    RaiseNamed,
    Ref,
    Refusal,
    ReturnAnswer,
    ReturnValue,
    Run,
    SetRef,
    Touch,
    WireValue,
)
from njrt.errors import ConfigurationError, NaturalError, OutputTypeError, PolicyError
from njrt.execution.contained.platforms import MADE_BY_CODE, find_obstacle
from njrt.execution.contracts import Contract
from njrt.execution.execute import (
    Execution,
    Failed,
    Jumped,
    Ran,
    Snippet,
    make_time_limit_error,
    prepare,
)
from njrt.execution.interruptions import is_interruption
from njrt.execution.tracebacks import cut_middle, format_error, is_stack_deep
from njrt.options import Policy
from njrt.outcome import Broke, Completed, Continued, Outcome, Raised, Returned, UserValue
from njrt.rendering.describe import render_value
from njrt.rendering.redaction import Redactor
from njrt.rendering.shown_classes import find_shown_classes, find_signature_classes
from njrt.scope.advice import format_skeleton
from njrt.scope.scope import Bound, Scope, make_scope
from njrt.scope.typecheck import find_type_mismatch
from njrt.timeouts import DeadlineExceeded, call_with_timeout
from njrt.values.introspection import is_a, is_exactly, is_exception_class

T = TypeVar("T")
EffectGenerator = Generator[Snippet, Execution, EffectResult]
ImmediateEffect = (
    Lookup | Assign | Deref | Ref | SetRef | Goto
    | BreakLoop | ContinueLoop | ReturnValue | RaiseError | ReturnAnswer | RaiseNamed
)  # fmt: skip
"""The effects that are served immediately; the others run code, or end the block."""

FORWARDED = (
    Run, Exec, Eval, Lookup, Assign, Deref, Ref, SetRef, Goto,
    BreakLoop, ContinueLoop, ReturnValue, RaiseError, Done,
    BindOutputs, ReturnAnswer, RaiseNamed,
)  # fmt: skip
"""The effects that the handler of an interface may return, for the runtime to serve."""

MAX_ANSWER_CHARS = 2000
"""Most characters of a value, of printed text or of an error that a model is shown at a time."""

MAX_SHOWN_ITEMS = 20
"""Most references to list items that a model is shown at a time."""

MAX_PART_CHARS = 200
"""Most characters of a value in a failed assert."""

MAX_QUOTED = 1_000
"""Most characters of an assert's message, and of the values in the assert."""
MAX_TYPE_MISFITS = 3
"""How often the model may correct an output of the wrong type before the block fails, or one that breaks an assert
before the program's own assert fails."""


PLAIN_TYPES = (str, int, float, bool)
"""Types that JSON is decoded to without running the program's code."""


def refuse_uncontainable(scope: Scope) -> None:
    """Raise `PolicyError`, before the model is asked, if code cannot be contained on this system or in this place."""
    problem = find_obstacle()
    if scope.namespace is not None:
        problem = "code in the body of a class cannot be contained"
    elif found := [
        name
        for name, kind in scope.types.items()
        if (typing.get_origin(kind) or kind) in MADE_BY_CODE
    ]:
        problem = f"`{found[0]}` is a function, a class or an iterator, which ends with its code"
    if problem:
        raise PolicyError(f'policy="contained" is not possible here: {problem}')
    from njrt.execution.contained.process import start_server

    start_server()


def list_shown_classes(scope: Scope) -> list[type]:
    """Return the classes that the model is shown with a block's values, types and functions."""
    shown = find_shown_classes(scope.list_variables().values(), scope.types.values())
    return shown + find_signature_classes(scope.list_used_functions())


_LINE_PREFIX = re.compile(r"^line \d+: ")


class Handlers:
    """Serves the effects of one block run on its scope (state: the last result, misfits, decoded outputs)."""

    def __init__(
        self,
        block: Block,
        scope: Scope,
        contract: Contract | None = None,
        interface: OpenInterface | None = None,
    ) -> None:
        if block.options.policy == "contained" and block.options.effects != "answer":
            refuse_uncontainable(scope)
        self.block = block
        self.scope = scope
        self.redactor = Redactor(block.options.redact is None or block.options.redact)
        self.failed = False
        self.misfits = 0
        self.checked: Mapping[str, UserValue] = {}
        self.codes: list[str] = []
        """Code that has run, or has run up to an exception."""
        self.contract = contract
        self.interface = interface
        self.choices: Choices = NO_CHOICES
        """Objects that an answer may choose."""
        self.refusals: dict[str, int] = {}
        """Number of refusals of code, by the reason."""
        if block.options.effects == "direct":
            scope.watch_outputs([path for path in scope.outputs if path not in block.reads])
            scope.show_classes(partial(list_shown_classes, scope))

    @cached_property
    def variables(self) -> WireVariables:
        """The variables in the forms of the paper's interface."""
        is_baseline = self.block.options.effects == "baseline"
        return WireVariables(self.scope, ReferenceTable(self.redactor), only_outputs=is_baseline)

    def serve(self, effect: Effect | Refusal, turn: int) -> EffectGenerator:
        """Serve one effect, or the refusal of a request that could not be read as one."""
        match effect:
            case BindOutputs(values):
                result = self.bind_outputs(values)
            case Run(code, done):
                result = yield from self.run(code, done)
            case Exec(code):
                result = yield from self.execute(code, silent="Success")
            case Eval(expression):
                result = yield from self.evaluate(expression)
            case Perform():
                result = yield from self.perform(effect, turn)
            case Refusal():
                result = effect
            case Done():
                result = self.conclude()
            case ReturnValue(str(text)) if not self.is_bound(text):
                result = yield from self.jump_with_expression("return", text)
            case RaiseError(text) if not self.is_bound(text):
                result = yield from self.jump_with_expression("raise", text)
            case NeedsCode(reason):
                if self.block.options.authority == "strict":
                    raise PolicyError(
                        f'the block needs code, which authority="strict" does not allow: {reason}'
                    )
                result = effect
            case AskModel() | Touch():
                raise AssertionError("no effect set has questions or calls")
            case ReturnAnswer() | RaiseNamed():
                result = self.call_in_time(partial(self.serve_immediate, effect))
            case _:
                result = self.call_safely(partial(self.serve_immediate, effect))
        self.failed = isinstance(result, Refusal)
        return self.redact(result)

    def redact(self, result: EffectResult) -> EffectResult:
        """Redact a result's text, including secrets in the block's variables that were printed or raised."""
        if not isinstance(result, Answer | Refusal) or result == Answer("Success"):
            return result
        find_secrets(self.scope, self.redactor)
        if isinstance(result, Answer):
            return replace(result, text=self.redactor.redact_whole(result.text))
        restart = self.redactor.redact_whole(result.restart) if result.restart else ""
        return replace(result, message=self.redactor.redact_whole(result.message), restart=restart)

    def call_safely(self, action: Callable[[], T]) -> T | Refusal:
        """Call a function that may run the program's code, within the time limit; return exceptions as refusals."""
        return refuse_errors(
            partial(call_with_timeout, self.block.options.max_code_seconds, action)
        )

    def serve_immediate(self, effect: ImmediateEffect) -> EffectResult:
        """Serve an effect on the scope, on the references or on the program's control flow."""
        match effect:
            case Lookup(variable):
                return self.variables.show(variable)
            case Assign(variable, value):
                return self.variables.assign(variable, value)
            case Deref(reference):
                return self.variables.dereference(reference)
            case Ref(value):
                return self.variables.make_reference(value)
            case SetRef(reference, value):
                return self.variables.set_reference(reference, value)
            case Goto(label, value):
                return self.go_to(label, self.variables.decode(value))
            case BreakLoop():
                return self.jump("break")
            case ContinueLoop():
                return self.jump("continue")
            case ReturnValue(variable):
                return self.jump_with_variable("return", variable)
            case RaiseError(variable):
                return self.jump_with_variable("raise", variable)
            case ReturnAnswer(value):
                return self.return_answer(value)
            case RaiseNamed(name, message):
                return self.raise_named(name, message)
            case _:
                assert_never(effect)

    # ── the direct effect ────────────────────────────────────────────────────────────────────────

    def run(self, code: str, done: bool) -> EffectGenerator:
        """Run code; with `done` the block ends once it has run and its outputs are bound."""
        if done and self.failed and not code.strip():
            return Refusal(
                "the last code failed, so this is not done; send code that does what is left"
            )
        result = yield from self.execute(code, silent="(ran; no value)")
        if done and isinstance(result, Answer):
            match self.conclude():
                case Refusal(message, restart=requirement):
                    return self.vary_refusal(_refuse_result(message), has_run=bool(requirement))
                case outcome:
                    return outcome
        return self.vary_refusal(result) if isinstance(result, Refusal) else result

    def vary_refusal(self, refusal: Refusal, has_run: bool = False) -> Refusal:
        """Add a code skeleton to a refusal the second time, and shorten the refusal from then on.

        There is no skeleton if the code `has_run` and broke the contract: it must not be written anew.
        """
        reason = _LINE_PREFIX.sub("", refusal.message.partition("\n")[0])
        times = self.refusals[reason] = self.refusals.get(reason, 0) + 1
        if times == 1:
            return refusal
        if times == 2:
            scope = self.scope
            skeleton = format_skeleton(scope.outputs, scope.list_variables(), scope.types)
            form = (
                f"\nWrite all of it anew, in this form:\n{skeleton}"
                if skeleton and not has_run
                else ""
            )
            return Refusal(f"again: {refusal.message}{form}", times=times)
        advice = "Do without it: write other, simpler code"
        if has_run:
            advice = "Write only code that makes it true, starting from the present values"
        return Refusal(f"refused {times} times: {reason}\n{advice}", times=times)

    # ── the effects of `answer` ──────────────────────────────────────────────────────────────────

    def bind_outputs(self, values: Mapping[str, WireValue]) -> EffectResult:
        """Bind all outputs to JSON values, or none of them, and end the block."""
        values = {normalize("NFKC", name): value for name, value in values.items()}
        if problem := find_name_problem(tuple(values), self.scope):
            return self.count_misfit(problem)
        decoded: dict[str, UserValue] = {}
        for name, value in values.items():
            form = find_output_form(self.scope, name, self.choices)
            decode = partial(form.decode, value, self.choices.objects)
            is_plain = form.declared in PLAIN_TYPES  # runs none of the program's code
            try:
                decoded[name] = decode() if is_plain else self.limit_time(decode)
            except NaturalError:
                raise
            except Exception as error:  # including one from the program's validators
                return self.count_misfit(f"`{name}`: {error}")
        self.checked = decoded  # a validator may refuse its own result
        return self.conclude_after(lambda: self.bind_values(decoded))

    def return_answer(self, value: WireValue) -> EffectResult:
        """Return from the program's function with a JSON value."""
        try:
            form = find_return_form(self.scope, self.choices)
            returned = form.decode(value, self.choices.objects)
        except ValueError as error:
            return self.count_misfit(f"the value to return: {error}")
        return self.jump("return", returned, decoded=True)

    def raise_named(self, name: str, message: str) -> EffectResult:
        """Raise an exception that the block may name."""
        kind = find_exception(self.scope, name)
        if kind is None:
            return Refusal(f"there is no exception `{name}` here; ValueError is one")
        try:
            return self.jump("raise", make_exception(kind, message))
        except TypeError as failure:
            way = "" if self.block.options.authority == "strict" else ', or {"needs_code": "why"}'
            return Refusal(
                f"`{name}` is not made of a message alone ({failure}); raise another exception{way}"
            )

    def count_misfit(self, problem: str) -> Refusal:
        """Refuse a reply that does not have the required form; raise OutputTypeError if it happens too often."""
        wrong = f"the model's reply does not have the form: {problem}"
        return self.refuse_misfit(wrong, f"{problem}. Reply again, with the whole JSON object.")

    # ── the effects of an interface ──────────────────────────────────────────────────────────────

    def perform(self, effect: Perform, turn: int) -> EffectGenerator:
        """Call an effect's handler, and do what its result asks."""
        found = self.interface.find(effect.function) if self.interface else None
        if found is None:
            return Refusal(f"the interface of this block has no effect `{effect.function}`")
        arguments = self.call_in_time(partial(self.decode_arguments, found, effect))
        if isinstance(arguments, Refusal):
            return arguments
        if found.handler is None:
            self.checked = arguments
            bind = partial(self.bind_values, arguments)
            return self.conclude_after(lambda: self.call_in_time(bind))
        given = (self.interface.handling,) if self.interface and found.takes_handling else ()
        call = partial(found.handler, *given, **arguments)
        result = self.call_in_time(call)
        if inspect.isawaitable(result):
            execution = yield self.prepare_awaiting(result, found.operation.name)
            assert isinstance(execution, Ran)
            result = execution.value
        if isinstance(result, FORWARDED):
            return (yield from self.serve(result, turn))
        return self.call_in_time(partial(self.make_handled_result, result))

    def conclude_after(self, bind: Callable[[], Refusal | None]) -> Completed | Refusal:
        """Bind the outputs and end the block; if refused, restore the variables for a jump or error that follows."""
        before = self.scope.save_bindings()
        if isinstance(end := bind() or self.conclude(), Refusal):
            self.scope.restore_bindings(before)
        return end

    def bind_values(self, values: Mapping[str, UserValue]) -> None:
        """Bind the outputs; setting attributes may run the program's code."""
        for name, value in values.items():
            self.scope.assign(name, value)

    def decode_arguments(
        self, found: InterfaceEffect, effect: Perform
    ) -> dict[str, UserValue] | Refusal:
        """Return the arguments of a handler, or the reason to refuse them."""
        try:
            return found.decode(effect.arguments, self.variables)
        except ValueError as error:
            return Refusal(str(error))

    def call_in_time(self, action: Callable[[], T]) -> T | Refusal:
        """Do the same as `call_safely`, but raise CodeTimeLimitError on a timeout."""
        return self.limit_time(partial(refuse_errors, action))

    def limit_time(self, action: Callable[[], T]) -> T:
        """Call a function under the time limit of code; raise CodeTimeLimitError when it is exceeded."""
        try:
            return call_with_timeout(self.block.options.max_code_seconds, action)
        except DeadlineExceeded as error:
            raise make_time_limit_error(error) from None

    def prepare_awaiting(self, result: Awaitable[Any], effect: str) -> Snippet:
        """Return code that awaits the result of a handler; raise ConfigurationError outside of an `async` function."""
        if not self.block.is_async:
            if inspect.iscoroutine(result):
                result.close()
            raise ConfigurationError(
                f"{self.block.place}: the handler of `{effect}` is a coroutine function, but the block is not in an async "
                "function; use a plain function"
            )
        scope = make_isolated_scope()
        scope.lend("result", await_refusing_errors(result))
        snippet = prepare("await result", scope, is_async=True, policy="open", expression=True)
        assert isinstance(snippet, Snippet)
        return snippet

    def make_handled_result(self, result: Any) -> EffectResult:
        """Convert a handler's return value to the result of its effect."""
        match result:
            case Answer(text):
                return Answer(cut_middle(str(text), MAX_ANSWER_CHARS))
            case Refusal(message):
                return Refusal(cut_middle(str(message), MAX_ANSWER_CHARS))
            case Completed():
                return self.conclude()
            case Broke():
                return self.jump("break")
            case Continued():
                return self.jump("continue")
            case Returned(value):
                return self.jump("return", value)
            case Raised(exception):
                return self.jump("raise", exception)
            case None:
                return Answer("Success")
            case _:
                return Answer(self.show_result(result))

    def show_result(self, value: UserValue) -> str:
        """Return a handler's result as text, with references to objects."""
        find_secrets(self.scope, self.redactor)
        if type(value) is str and len(value) <= MAX_ANSWER_CHARS:
            return value
        shown = render_value(value, MAX_ANSWER_CHARS, self.redactor)
        if not self.has_references:
            return shown
        format_reference = self.variables.format_reference
        if not is_exactly(value, list, tuple) or len(value) > MAX_SHOWN_ITEMS:
            return join_parts(shown, format_reference(value))
        # For a short list, show references to its items, which models pass on.
        items = [
            f"[{n}]: {text}" for n, item in enumerate(value) if (text := format_reference(item))
        ]
        return join_parts(shown, *items)

    # ── the paper's effects ──────────────────────────────────────────────────────────────────────

    def execute(self, code: str, silent: str) -> EffectGenerator:
        """Run code on the scope; `silent` is the answer if the code has no value and prints nothing."""
        match prepare(
            code,
            self.scope,
            labels=self.block.labels,
            is_async=self.block.is_async,
            policy=self.policy,
        ):
            case Refusal() as refusal:
                return refusal
            case snippet:
                if self.block.code:
                    snippet = replace(snippet, raises_mistakes=True)
                execution = yield snippet
                self.codes.append(code)
                return self.make_result(execution, silent, code)

    def make_result(self, execution: Execution, silent: str, code: str) -> EffectResult:
        """Return the result of an effect that has run code."""
        match execution:
            case Jumped(outcome):
                match self.check_returned(outcome):
                    case Refusal(message):
                        return _refuse_result(message)
                    case checked:
                        return checked
            case Failed(message, printed):
                return Refusal(join_parts(mark_printed(printed), message))
            case Ran(value, printed):
                shown = ""
                if value is not None:
                    find_secrets(self.scope, self.redactor)
                    shown = self.render(find_result_name(code), value, MAX_ANSWER_CHARS)
                reference = self.variables.format_reference(value) if self.has_references else ""
                parts = (mark_printed(printed) if printed else "", shown, reference)
                return Answer(join_parts(*parts) or silent)
            case _:
                assert_never(execution)

    def render(self, name: str, value: UserValue, most: int = MAX_PART_CHARS) -> str:
        """Return a value as text of at most `most` characters, redacted if it has the name of a secret."""
        return self.redactor.write_named(
            name, value, lambda: render_value(value, most, self.redactor)
        )

    def evaluate(self, expression: str) -> EffectGenerator:
        """Evaluate one expression, on the program's variables or, in the isolated set, without them."""
        has_statements = self.block.options.effects in ("nightjar", "shared-python")
        match self.prepare_expression(expression):
            case Refusal(message):
                return Refusal(message + ("; `exec` runs statements" if has_statements else ""))
            case snippet:
                return self.make_result((yield snippet), "None", expression)

    def prepare_expression(self, expression: str) -> Snippet | Refusal:
        isolated = self.block.options.effects == "isolated-eval"
        return prepare(
            expression.strip(),
            make_isolated_scope() if isolated else self.scope,
            is_async=self.block.is_async,
            policy=self.policy,
            expression=True,
        )

    def jump_with_variable(self, label: str, variable: str | None) -> EffectResult:
        """Return or raise the value of a variable."""
        if variable is None:
            return self.jump(label)
        found = self.scope.lookup(variable)
        if isinstance(found, Bound):
            return self.jump(label, found.value)
        return Refusal(
            f"`{label}` takes the name of a variable, and `{variable}` is not bound; bind one first, "
            f"or, if nothing is to {label}, bind the outputs and call `done`"
        )

    def is_bound(self, variable: str) -> bool:
        """Return whether there is a variable of this name, with a value."""
        return isinstance(self.scope.lookup(variable), Bound)

    def jump_with_expression(self, label: str, text: str) -> EffectGenerator:
        """Return or raise the value of an expression."""
        match self.prepare_expression(text):
            case Refusal(message):
                return Refusal(
                    f"`{label}` takes a variable or an expression, and `{text}` has no value: {message}; "
                    f"bind a variable first, or, if nothing is to {label}, bind the outputs and call `done`"
                )
            case snippet:
                execution = yield snippet
        if isinstance(execution, Ran):
            return self.call_safely(partial(self.jump, label, execution.value))
        return self.make_result(execution, "", text)

    def go_to(self, label: str, value: UserValue) -> EffectResult:
        """Jump to a label with a value, or with an exception written as text."""
        if label == "raise" and type(value) is str:
            name, _, message = value.partition(":")
            match self.scope.lookup(name.strip()):
                case Bound(kind) if is_exception_class(kind):
                    value = kind(message.strip()) if message else kind()
                case _:
                    return Refusal(
                        f"there is no exception `{name}`; write it as 'ValueError: message'"
                    )
        return self.jump(label, value)

    def jump(self, label: str, value: UserValue = None, decoded: bool = False) -> Outcome | Refusal:
        """Return the outcome of a jump to a label with a value, if it is legal here; `raise` always is."""
        legal = {"raise", *self.block.labels}
        match label:
            case "break" if label in legal:
                return Broke()
            case "continue" if label in legal:
                return Continued()
            case "return" if label in legal or ("bare_return" in legal and value is None):
                return Returned(value) if decoded else self.check_returned(Returned(value))
            case "return" if "bare_return" in legal:
                return Refusal("only a `return` without a value is possible here")
            case "raise":
                if is_exception_class(value):
                    value = value()
                if is_a(value, BaseException):
                    return Raised(value)
                return Refusal(f"only exceptions can be raised, not a {type(value).__name__}")
        known = ", ".join(name.removeprefix("bare_") for name in sorted(legal))
        return Refusal(f"`{label}` is not possible here; the labels are {known}")

    def check_returned(self, outcome: Outcome) -> Outcome | Refusal:
        """Return the outcome, but a refusal of a value that does not fit the type that the function returns.

        `-> None` is not checked: it is often written for functions without a result that anyone reads.
        """
        declared = self.scope.types.get("return")
        is_checked = declared is not None and declared is not type(None) and not self.block.code
        if not (is_checked and isinstance(outcome, Returned)):
            return outcome
        if problem := find_type_mismatch(outcome.value, declared, self.scope.module):
            wrong = f"the value to return does not fit its type: {problem}"
            return self.refuse_misfit(wrong, f"{wrong}; return another one")
        return outcome

    def refuse_misfit(self, problem: str, shown: str) -> Refusal:
        """Refuse a value of the wrong type with the text `shown`; raise OutputTypeError if it happens too often."""
        self.misfits += 1
        if self.misfits > MAX_TYPE_MISFITS:
            raise OutputTypeError(problem)
        return Refusal(shown)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────

    def conclude(self) -> Completed | Refusal:
        """End the block normally, unless an output is missing or does not fit its type.

        Reading an output may run the program's code, such as a property or a validator, under the time limit of code.
        """
        scope = self.scope
        if (
            self.contract is None
            and "." not in "".join(scope.outputs)
            and all(map(scope.has_plain_value, scope.types.keys(), scope.types.values()))
        ):
            return self.check_outputs()
        return self.limit_time(self.check_outputs)

    def check_outputs(self) -> Completed | Refusal:
        """Do the same as `conclude`, without a time limit."""
        if missing := self.scope.list_unbound_outputs():
            names = ", ".join(f"`{name}`" for name in missing)
            advice = "bind what is missing: " + ", ".join(f"`{name} = ...`" for name in missing)
            if self.interface is not None:
                advice = "request an effect that binds " + ("it" if len(missing) == 1 else "them")
                if self.interface.effects["done"].handler is None:
                    advice = "end by `done`, with all outputs"
            return Refusal(
                f"{names} {'is' if len(missing) == 1 else 'are'} not bound yet; {advice}"
            )
        if unchanged := self.scope.list_unchanged_outputs():
            names = ", ".join(f"`{name}`" for name in unchanged)
            return Refusal(
                f"{names} still {'has its value' if len(unchanged) == 1 else 'have their values'} from before; "
                "bind each output anew, to the same value if that is right"
            )
        if misfits := "; ".join(self.scope.misfits(self.checked)):
            wrong = f"an output does not fit its type: {misfits}"
            return self.refuse_misfit(wrong, f"{wrong}; bind it anew")
        if self.contract is not None and self.contract.breaches < MAX_TYPE_MISFITS:
            find_secrets(self.scope, self.redactor)
            if breach := self.contract.find_breach(self.render):
                self.contract.breaches += 1
                reason, state = map(self.shorten, (breach.reason, breach.state))
                breach = replace(breach, reason=reason, state=state)
                is_shown = self.contract.breaches > 1 and state != ""
                again = f" The last reply was refused: {state}." * is_shown
                return Refusal(str(breach), restart=breach.requirement + again)
        return Completed()

    def shorten(self, text: str) -> str:
        """Shorten program text that a message to the model quotes, after redacting all of it."""
        is_long = len(text) > MAX_QUOTED
        return cut_middle(self.redactor.redact_whole(text), MAX_QUOTED) if is_long else text

    @property
    def policy(self) -> Policy:
        return self.block.options.policy or "guarded"

    @property
    def has_references(self) -> bool:
        if self.interface is not None:
            return self.interface.has_references
        return self.block.options.effects in ("shared-eval", "isolated-eval")


def _refuse_result(problem: str) -> Refusal:
    return Refusal(f"the code has run, but {problem}; do not repeat what it did")


def refuse_errors(action: Callable[[], T]) -> T | Refusal:
    """Call one of the program's functions; return its exception as a refusal."""
    try:
        return action()
    except Exception as error:
        return make_refusal(error)


async def await_refusing_errors(awaitable: Awaitable[T]) -> T | Refusal:
    """Await one of the program's awaitables; return its exception as a refusal."""
    try:
        return await awaitable
    except Exception as error:
        return make_refusal(error)


def make_refusal(error: Exception) -> Refusal:
    """Return an exception of the program as a refusal, or re-raise it if it must leave the block."""
    is_ours = isinstance(error, NaturalError) or is_interruption(error)
    if is_ours or (isinstance(error, RecursionError) and is_stack_deep()):
        raise error
    return Refusal(format_error(error))


def find_secrets(scope: Scope, redactor: Redactor) -> None:
    """Look for secrets in the current values of the block's variables."""
    names = dict.fromkeys((*scope.names, *scope.scratch))
    found = ((name, scope.lookup(name)) for name in names)
    redactor.scan((name, held.value) for name, held in found if isinstance(held, Bound))


def redact_secrets(scope: Scope, redactor: Redactor, text: str) -> str:
    """Redact a text, including the secrets of the block's variables."""
    find_secrets(scope, redactor)
    return redactor.redact(text)


def make_isolated_scope() -> Scope:
    """Return a scope without variables, in a separate module."""
    return make_scope(eval("lambda: ()", {"__name__": "isolated"}))


def make_exception(kind: type[BaseException], message: str) -> BaseException:
    """Return an exception with a message, or without one if its class takes none. Raises the class's errors."""
    try:
        return kind(message) if message else kind()
    except TypeError as first:
        try:
            return kind() if message else kind("")
        except TypeError:
            raise first from None


# ── the texts of results ─────────────────────────────────────────────────────────────────────────


def find_result_name(code: str) -> str:
    """Return the name of the variable, attribute or item in the code's last expression, or an empty string."""
    try:
        last = ast.parse(code.strip()).body[-1]
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return ""
    match last:
        case ast.Expr(ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case ast.Expr(
            ast.Subscript(slice=ast.Constant(value=str(name)))
            | ast.Call(args=[ast.Constant(value=str(name)), *_])
            | ast.Call(args=[_, ast.Constant(value=str(name)), *_])
        ):
            return name
    return ""


def mark_printed(text: str) -> str:
    """Put `| ` before each line of printed text, so that it cannot imitate a value, a message or a fence."""
    return "\n".join(f"| {line}" for line in text.splitlines())


def join_parts(*parts: str) -> str:
    """Join the non-empty parts, each starting on a new line."""
    return "\n".join(part.rstrip("\n") for part in parts if part)
