"""A perfect model for the natural programs: a script's code, said in any of the six effect sets.

    direct                        run(code, done=True)
    nightjar, shared-python       exec(code); done(), break(), raise(error="error") ...
    shared-eval                   eval(expression) for each statement; done() ...
    isolated-eval                 lookup, deref, setref, assign on a mirror; done() ...
    baseline                      the same; goto(label="break") ...

    with njrt.using(model=perfect(lines, "baseline"), effects="baseline"):
        check_case(case, load_natural_program("menu"))

Not every effect set can say everything: expressions make no classes and no generator functions, and data
effects make no objects at all. Such code is an `UnsupportedCodeError`, a model's error to the program.
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
    """A model that says one piece of the script's code in each block, and is never refused anything."""
    pieces = iter(lines.code)
    speech: ToolCallGenerator
    unanswered: str | None = None

    def said(request: Request) -> ToolCall | Json:
        nonlocal speech, unanswered
        if request.turn == 1 or unanswered:
            piece = unanswered or next(pieces, None)
            if piece is None:
                raise ModelError(f"{request.place} asks for more than the script has")
            unanswered = None
            if request.schema is not None:
                reply = make_answer(piece)
                unanswered = piece if "needs_code" in reply else None
                return reply
            speech = make_effect_calls(piece, effects or "direct")
            return next(speech)
        answers = request.messages[-1]
        assert isinstance(answers, ToolMessage)
        (answer,) = answers.results
        if answer.failed:
            raise ModelError(f"{request.place} refuses {answer.name}: {answer.text}")
        return speech.send(answer.text)

    return Scripted(said, name="perfect")


def make_answer(code: str) -> Json:
    """A piece of code as the reply of a block that answers: its literals or its jump, else a wish for code."""
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
    """A piece of code as the tool calls of an effect set, the last one of which ends the block."""
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
    """The end of a block, normal or by a jump."""
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
