"""A perfect model for the natural programs: a script's code in any of the effect sets.

    direct                        run(code, done=True)
    nightjar, shared-python       exec(code); done(), break(), raise(error="error") ...
    shared-eval                   eval(expression) for each statement; done() ...
    isolated-eval                 lookup, deref, setref, assign on a mirror; done() ...
    baseline                      the same; goto(label="break") ...

    with njrt.using(model=make_perfect_model(lines, "baseline"), effects="baseline"):
        check_case(case, load_natural_program("menu"))

Not every effect set can express all code: expressions make no classes and no generator functions, and data effects
make no objects. Such code raises `UnsupportedCodeError`, an error of the model for the program.
"""

from __future__ import annotations

import ast

from njrt.errors import ModelError
from njrt.messages import Json, Request, ToolCall, ToolMessage
from njrt.models.scripted import Scripted, call, run
from njrt.options import EffectSet
from spsbench.expressions import to_expressions
from spsbench.mirror import ToolCallGenerator, make_data_effect_calls
from spsbench.script import CaseScript


def make_perfect_model(lines: CaseScript, effects: EffectSet | None = None) -> Scripted:
    """Return a model that replies with one piece of the script's code in each block run; a refusal is an error."""
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
            if request.schema is not None:
                answer = make_answer(piece)
                unanswered = piece if "needs_code" in answer else None
                return answer
            calls = make_effect_calls(piece, effects or "direct")
            return next(calls)
        last = request.messages[-1]
        assert isinstance(last, ToolMessage)
        (result,) = last.results
        if result.failed:
            raise ModelError(f"{request.place} refuses {result.name}: {result.text}")
        return calls.send(result.text)

    return Scripted(reply, name="perfect")


def make_answer(code: str) -> Json:
    """A piece of code as the reply of a block that answers: its literals or its jump, else a request for code."""
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


def make_effect_calls(code: str, effects: EffectSet) -> ToolCallGenerator:
    """Yield a piece of code as tool calls of an effect set; the last one ends the block."""
    if effects == "direct":
        yield run(code, done=True)
        return
    *body, last = ast.parse(code).body
    if not isinstance(last, ast.Break | ast.Continue | ast.Raise):
        body.append(last)
    if effects in ("nightjar", "shared-python") and body:
        yield call("exec", code="\n".join(ast.unparse(statement) for statement in body))
    elif effects == "shared-eval":
        for expression in to_expressions(body):
            yield call("eval", expr=expression)
    elif effects in ("isolated-eval", "baseline"):
        yield from make_data_effect_calls(body)
    yield from make_ending_calls(last, effects)


def make_ending_calls(last: ast.stmt, effects: EffectSet) -> ToolCallGenerator:
    """Yield the calls that end a block, normally or by a jump."""
    match last:
        case ast.Break() | ast.Continue():
            label = type(last).__name__.lower()
            yield call("goto", label=label, val=None) if effects == "baseline" else call(label)
        case ast.Raise(ast.Call(ast.Name(kind), [ast.Constant(str(message))])) if (
            effects == "baseline"
        ):
            yield call("goto", label="raise", val=f"{kind}: {message}")
        case ast.Raise(ast.Call(ast.Name(kind)) as error):
            match effects:
                case "isolated-eval":
                    yield from make_data_effect_calls(ast.parse(f"error = {kind}").body)
                case "shared-eval":
                    yield call("eval", expr=f"(error := {ast.unparse(error)})")
                case _:
                    yield call("exec", code=f"error = {ast.unparse(error)}")
            yield call("raise", error="error")
        case _:
            yield call("done")
