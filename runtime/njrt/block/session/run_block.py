"""`run` and `arun`: the calls that run natural blocks in a compiled file.

try:
    _nj.run(
        \"\"\"natural
        Put the sum of <prices> into <:total>; break if one is missing.
        \"\"\",
        lambda: (prices, total),
        writes="total",
        labels="break",
        at="shop.njpy:12",
    )
except _nj.Break:
    break

BlockCall -> BlockRun.drive: Request <-> Reply -> Effect -> Outcome -> return, jump or raise
"""

from __future__ import annotations

from typing import Any, assert_never

from njrt.block.session.block_call import VariablesLambda, read_arguments
from njrt.block.session.block_run import BlockRun
from njrt.block.session.session import add_place_note, complete_error
from njrt.data.context import is_in_event_loop
from njrt.data.jumps import Break, Continue, Return
from njrt.data.outcome import Broke, Completed, Continued, Outcome, Raised, Returned
from njrt.errors import ConfigurationError, NaturalError

NEEDS_ASYNCIO = (
    "async blocks need asyncio's event loop; trio can run the block of a plain function in a thread"
)


def run(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str = "",
    reraises: bool = False,
    **arguments: Any,
) -> bool:
    """Run one natural block on the variables of the program around it.

    `variables` is a lambda over every variable that the prompt names; it is never called, but its
    closure and globals are shared. `at` is the block's place. The other arguments are the fields of
    `BlockCall` and `RunArguments`, and options.

    Raises `Break`, `Continue` or `Return` for the jumps, any exception that the block raises in the
    program, or a `NaturalError` if the block fails. With `reraises`, as in an `except*` suite,
    return True if the program must execute `raise`; otherwise return False.
    """
    try:
        call, of_run = read_arguments(at, False, variables, arguments)
        return apply_outcome(BlockRun(call, prompt, of_run).drive(), at, reraises)
    except (NaturalError, RecursionError) as error:
        complete_error(error)
        raise


async def arun(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str = "",
    reraises: bool = False,
    **arguments: Any,
) -> bool:
    """Like `run`, in an `async` function, without blocking asyncio's event loop."""
    try:
        if not is_in_event_loop():
            raise ConfigurationError(f"{at}: {NEEDS_ASYNCIO}")
        call, of_run = read_arguments(at, True, variables, arguments)
        return apply_outcome(await BlockRun(call, prompt, of_run).adrive(), at, reraises)
    except (NaturalError, RecursionError) as error:
        complete_error(error)
        raise


def apply_outcome(outcome: Outcome, place: str, reraises: bool = False) -> bool:
    """Leave the block as its outcome requires: return, jump, or raise in the program.

    With `reraises`, return True if the program must re-raise the exception that it handles.
    """
    match outcome:
        case Completed():
            return False
        case Raised(is_reraise=True) if reraises:
            return True
        case Broke():
            raise Break
        case Continued():
            raise Continue
        case Returned(value):
            raise Return(value)
        case Raised(exception, is_reraise):
            if not is_reraise:
                add_place_note(exception, place)
            context = exception.__context__
            try:
                raise exception
            finally:
                if context is not None:  # as the code's own `raise` set it in this process
                    exception.__context__ = context
                del exception, outcome, context  # its traceback holds this frame
        case _:
            assert_never(outcome)
