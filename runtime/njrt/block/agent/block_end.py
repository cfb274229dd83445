"""The end of a block: its outputs are checked, and its jumps must be legal in its place.

    end.conclude()           Completed()
                             Refusal("`total` is not bound yet; bind what is missing: ...")
    end.jump("return", 3)    Returned(3)
                             Refusal("`return` is not possible here; the labels are raise")

The model's mistakes are answered, not raised; only an output that repeatedly fails to fit its type
ends the block, with an `OutputTypeError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from njrt.block.agent.calls import limit_time, make_refusal
from njrt.block.agent.secrets import find_secrets
from njrt.block.block import Block
from njrt.data.outcome import Broke, Completed, Continued, Outcome, Raised, Returned, UserValue
from njrt.data.records import replace
from njrt.effects import Refusal
from njrt.errors import OutputTypeError
from njrt.execution.contracts import Contract
from njrt.execution.scope.scope import Scope
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.execution.tracebacks import cut_middle
from njrt.values.introspection import is_a, is_exception_class
from njrt.values.rendering.describe import render_value
from njrt.values.rendering.redaction import Redactor

MAX_PART_CHARS = 200
"""Most characters of a value in a failed assert."""

MAX_QUOTED = 1_000
"""Most characters of an assert's message, and of the values in the assert."""

MAX_TYPE_MISFITS = 3
"""How often the model may correct an output of the wrong type before the block fails, or one that
breaks an assert before the program's own assert fails."""


def advise_binding(missing: Sequence[str]) -> str:
    """Return what a model that writes code must do about missing outputs."""
    return "assign a value to " + ", ".join(f"`{name}`" for name in missing)


class BlockEnd:
    """Ends one run of a block.

    State: the code that has run, also up to an exception, the misfits, and outputs that were
    checked as JSON.
    """

    def __init__(
        self,
        block: Block,
        scope: Scope,
        redactor: Redactor,
        contract: Contract | None = None,
        advise: Callable[[Sequence[str]], str] = advise_binding,
    ) -> None:
        self.block = block
        self.scope = scope
        self.redactor = redactor
        self.contract = contract
        self.advise = advise
        """Returns what the model must do about missing outputs."""
        self.codes: list[str] = []
        self.misfits = 0
        self.checked: Mapping[str, UserValue] = {}

    def conclude(self) -> Completed | Refusal:
        """End the block normally, unless an output is missing or does not fit its type.

        Reading an output may run the program's code, such as a property or a validator, so it has
        the time limit of code.
        """
        return limit_time(self.block.options.max_code_seconds, self.check_outputs)

    def bind(self, values: Mapping[str, UserValue]) -> Completed | Refusal:
        """Bind the outputs and end the block; if that is refused, restore the variables.

        Setting attributes may run the program's code: call this under its time limit.
        """
        before = self.scope.save_bindings()
        self.checked = values  # a validator may refuse its own result
        result: Completed | Refusal
        try:
            for name, value in values.items():
                self.scope.assign(name, value)
        except Exception as error:
            result = make_refusal(error)
        else:
            result = self.check_values()
        if isinstance(result, Refusal):
            self.scope.restore_bindings(before)
        return result

    def check_outputs(self) -> Completed | Refusal:
        """Do the same as `conclude`, without a time limit."""
        if missing := self.scope.list_unbound_outputs():
            names = ", ".join(f"`{name}`" for name in missing)
            verb = "is" if len(missing) == 1 else "are"
            return Refusal(f"{names} {verb} not bound yet; {self.advise(missing)}")
        if unchanged := self.scope.list_unchanged_outputs():
            names = ", ".join(f"`{name}`" for name in unchanged)
            has = "has its value" if len(unchanged) == 1 else "have their values"
            return Refusal(
                f"{names} still {has} from before; "
                "bind each output anew, to the same value if that is right"
            )
        return self.check_values()

    def check_values(self) -> Completed | Refusal:
        """Refuse outputs that do not fit their types or break an assert after the block."""
        if misfits := "; ".join(self.scope.misfits(self.checked)):
            wrong = f"an output does not fit its type: {misfits}"
            return self.refuse_misfit(wrong, f"{wrong}; bind it anew")
        return self.find_breach(self.contract) if self.contract else Completed()

    def find_breach(self, contract: Contract) -> Completed | Refusal:
        """Refuse outputs breaking an assert after the block; the last time, leave it to Python."""
        if contract.breaches >= MAX_TYPE_MISFITS:
            return Completed()
        find_secrets(self.scope, self.redactor)
        breach = contract.find_breach(self.render)
        if not breach:
            return Completed()
        contract.breaches += 1
        reason, state = map(self.shorten, (breach.reason, breach.state))
        breach = replace(breach, reason=reason, state=state)
        is_shown = contract.breaches > 1 and state != ""
        again = f" The last reply was refused: {state}." * is_shown
        return Refusal(str(breach), restart=breach.requirement + again)

    def render(self, name: str, value: UserValue, most: int = MAX_PART_CHARS) -> str:
        """Return a value as text of at most `most` characters, redacted if named as a secret."""
        return self.redactor.write_named(
            name, value, lambda: render_value(value, most, self.redactor)
        )

    def shorten(self, text: str) -> str:
        """Shorten program text that a message to the model quotes, after redacting all of it."""
        is_long = len(text) > MAX_QUOTED
        return cut_middle(self.redactor.redact(text), MAX_QUOTED) if is_long else text

    def jump(self, label: str, value: UserValue = None) -> Outcome | Refusal:
        """Return the outcome of a jump with a value, if it is legal here; `raise` always is."""
        legal = {"raise", *self.block.labels}
        match label:
            case "break" if label in legal:
                return Broke()
            case "continue" if label in legal:
                return Continued()
            case "return" if label in legal or ("bare_return" in legal and value is None):
                return self.check_returned(Returned(value))
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
        """Return the outcome, or refuse a value that does not fit the function's return type.

        `-> None` is not checked: it is often written for functions whose result nobody reads.
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
        """Refuse a value of the wrong type with the text `shown`; fail if it happens too often."""
        self.misfits += 1
        if self.misfits > MAX_TYPE_MISFITS:
            raise OutputTypeError(problem)
        return Refusal(shown)
