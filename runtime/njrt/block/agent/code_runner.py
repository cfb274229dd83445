"""The model's code, run on the variables of a block, and the text of its result.

    Run("prices[0]")            Answer("3")
    Run("print(prices)")        Answer("| [3, 4]")
    Run("prices = []")          Refusal("line 1: `prices` is read-only in this block ...")
    Run("break")                Broke()

The code is yielded: the driver of the conversation runs it, awaiting it in an `async` block.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator
from typing import assert_never

from njrt.block.agent.block_end import BlockEnd
from njrt.block.agent.secrets import find_secrets
from njrt.data.outcome import UserValue
from njrt.data.records import replace
from njrt.effects import Answer, EffectResult, Refusal
from njrt.execution.execute import Execution, Failed, Jumped, Ran, Snippet, prepare
from njrt.execution.scope.declared_fields import read_fields, restore_misfits

EffectGenerator = Generator[Snippet, Execution, EffectResult]
"""Serves one effect: yields code to be run, is sent how it ended, and returns the result."""

MAX_ANSWER_CHARS = 2000
"""Most characters of a value, of printed text or of an error that a model is shown at a time."""


class CodeRunner:
    """Runs code in one block."""

    def __init__(self, end: BlockEnd) -> None:
        self.end = end

    def execute(
        self, code: str, silent: str, refer: Callable[[UserValue], str] = lambda _: ""
    ) -> EffectGenerator:
        """Run code on the scope; `silent` is the answer if it has no value and prints nothing.

        `refer` returns a text that is shown below the code's value.
        """
        block, scope = self.end.block, self.end.scope
        policy = block.options.policy or "guarded"
        assert policy != "auto", "the run has chosen"
        match prepare(
            code,
            self.end.scope,
            labels=block.labels,
            is_async=block.is_async,
            policy=policy,
        ):
            case Refusal() as refusal:
                return refusal
            case snippet:
                if block.code:
                    snippet = replace(snippet, raises_mistakes=True)
                may_set = policy != "contained" and ("." in code or "(" in code)
                fields = read_fields(scope.list_variables().values()) if may_set else []
                execution = yield snippet
        self.end.codes.append(code)
        if fields and (misfits := restore_misfits(fields)):
            was = "the attribute is" if len(misfits) == 1 else "the attributes are"
            return Refusal(
                f"the code has run, but {'; '.join(misfits)}; {was} as before; "
                "the rest is done, do not repeat it"
            )
        match execution:
            case Jumped(outcome):
                checked = self.end.check_returned(outcome)
                return refuse_end(checked) if isinstance(checked, Refusal) else checked
            case Failed(message, printed):
                return Refusal(join_parts(mark_printed(printed), message))
            case Ran(None, printed):
                return Answer(mark_printed(printed) or silent)
            case Ran(value, printed):
                find_secrets(self.end.scope, self.end.redactor)
                shown = self.end.render(find_result_name(code), value, MAX_ANSWER_CHARS)
                return Answer(join_parts(mark_printed(printed), shown, refer(value)))
            case _:
                assert_never(execution)


def refuse_end(refusal: Refusal) -> Refusal:
    """Refuse the end of a block whose code has run."""
    return Refusal(f"the code has run, but {refusal.message}; do not repeat what it did")


# ── the texts of results ─────────────────────────────────────────────────────────────────────────


def find_result_name(code: str) -> str:
    """Return the name of the variable, attribute or item in the code's last expression, or ""."""
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
    """Put `| ` before each line of printed text, so that it cannot imitate a value or a fence."""
    return "\n".join(f"| {line}" for line in text.splitlines())


def join_parts(*parts: str) -> str:
    """Join the non-empty parts, each starting on a new line."""
    return "\n".join(part.rstrip("\n") for part in parts if part)
