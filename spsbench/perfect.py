"""A perfect model for the natural programs: a script's code in the effect sets that run Python.

    direct                        run(code, done=True)
    nightjar, shared-python       exec(code); done(), break(), raise(error="error") ...

Other effect sets cannot run a script's code: `UnsupportedCodeError`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator

from njrt.errors import ModelError
from njrt.messages import Json, Request, ToolCall, ToolMessage
from njrt.models.model import Model
from njrt.testing import Scripted, call, run
from spsbench.interfaces import EffectSet
from spsbench.methods import Method
from spsbench.script import CaseScript, UnsupportedCodeError, make_manual_replies

ToolCallGenerator = Generator[ToolCall, str, None]
"""The calls of a model in one block: yields a tool call and is sent the text of the answer."""


def make_perfect_model(
    lines: CaseScript,
    effects: EffectSet | None = None,
    make_calls: Callable[[str, EffectSet], ToolCallGenerator] | None = None,
) -> Scripted:
    """Return a model that replies with one script piece per block run; a refusal is an error.

    `make_calls` returns a piece as tool calls of an effect set.
    """
    make_calls = make_calls or make_effect_calls
    pieces = iter(lines.code)
    calls: ToolCallGenerator
    unanswered: str | None = None

    def reply(request: Request) -> ToolCall | Json:
        nonlocal calls, unanswered
        if request.turn == 1 or unanswered:
            piece = unanswered or next(pieces, None)
            if piece is None:
                raise ModelError(f"{request.place} asks for more pieces than the script has")
            unanswered = None
            if request.schema is not None or (effects is None and not request.tools):
                answer = make_answer(piece)
                unanswered = piece if "needs_code" in answer else None
                return answer
            calls = make_calls(piece, effects or "direct")
            return next(calls)
        last = request.messages[-1]
        assert isinstance(last, ToolMessage)
        (result,) = last.results
        if result.failed:
            raise ModelError(f"{request.place} refuses {result.name}: {result.text}")
        return calls.send(result.text)

    return Scripted(reply, name="perfect")


def make_script_model(lines: CaseScript, method: Method) -> Model:
    """Return a model that replies from a script under a method."""
    if not method.is_natural:
        return Scripted(make_manual_replies(lines))
    return make_perfect_model(lines, method.effects)


def make_answer(code: str) -> Json:
    """Return the reply for code in a block that answers: literals, a jump or a request for code."""
    answer: dict[str, object] = {}
    for statement in ast.parse(code).body:
        match statement:
            case ast.Break() | ast.Continue():
                return {type(statement).__name__.lower(): True}
            case ast.Raise(ast.Call(ast.Name(kind), [ast.Constant(str(message))])):
                return {"raise": kind, "message": message}
            case ast.Assign([ast.Name(name)], value):
                try:
                    answer[name] = ast.literal_eval(value)
                except ValueError:
                    return {"needs_code": "the value is not a literal"}
            case _:
                return {"needs_code": "it is not an assignment"}
    return answer


SCRIPTED_EFFECTS: tuple[EffectSet | None, ...] = (None, "direct", "nightjar", "shared-python")
"""The effect sets that a script's code can be written in."""


def make_effect_calls(code: str, effects: EffectSet) -> ToolCallGenerator:
    """Yield a piece of code as tool calls of an effect set; the last call ends the block."""
    if effects == "direct":
        yield run(code, done=True)
        return
    if effects not in SCRIPTED_EFFECTS:
        raise UnsupportedCodeError(f"a script's code is not written in the effects of {effects}")
    *body, last = ast.parse(code).body
    if not isinstance(last, ast.Break | ast.Continue | ast.Raise):
        body.append(last)
    if body:
        yield call("exec", code="\n".join(ast.unparse(statement) for statement in body))
    match last:
        case ast.Break() | ast.Continue():
            yield call(type(last).__name__.lower())
        case ast.Raise(ast.Call() as error):
            yield call("exec", code=f"error = {ast.unparse(error)}")
            yield call("raise", error="error")
        case _:
            yield call("done")
