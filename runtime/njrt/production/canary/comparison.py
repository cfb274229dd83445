"""Compare a run of the code with a run of the live block: ending, value and variables.

    BlockEnd("completed", variables={"total": 7})       of the code       "`total` is 8, by code 7"
    BlockEnd("completed", variables={"total": 8})       of the live block, on copies

Not compared: a raised exception's message, and variables that only one of the two has bound if both left by a jump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from njrt.outcome import UserValue
from njrt.records import field, record
from njrt.values.copying import is_kept
from njrt.values.equality import is_same_value


@record
class BlockEnd:
    """How a block ended, and its variables."""

    outcome: str
    """`completed`, `broke`, `continued`, `returned` or `raised`."""
    value: UserValue = None
    """The returned value, or the class of the raised exception."""
    variables: Mapping[str, UserValue] = field(default_factory=dict)


RenderValue = Callable[[str, UserValue], str]
"""Writes a name's value in a bounded form, with secrets redacted."""


def find_differences(code: BlockEnd, live: BlockEnd, render: RenderValue) -> Iterator[str]:
    """Yield one text for each difference between the live block and the code."""
    if code.outcome != live.outcome:
        yield f"it {describe_end(live)}, the code {describe_end(code)}"
        return
    if code.outcome == "raised":
        if code.value is not live.value:
            yield f"it {describe_end(live)}, the code {describe_end(code)}"
        return
    if code.outcome == "returned" and not is_same_value(code.value, live.value):
        yield f"it returned {render('', live.value)}, the code {render('', code.value)}"
    for name in dict.fromkeys((*code.variables, *live.variables)):
        bound = [end.variables for end in (code, live) if name in end.variables]
        if len(bound) == 2:
            one, other = code.variables[name], live.variables[name]
            if one is not other and not is_same_value(one, other):
                yield f"`{name}` is {render(name, other)}, by code {render(name, one)}"
        elif code.outcome == "completed" and not is_kept(bound[0][name]):
            yield f"`{name}` is bound by {'the live block' if name in live.variables else 'code'} only"


def describe_end(end: BlockEnd) -> str:
    """Describe the ending in a few words."""
    return f"raised {end.value.__name__}" if end.outcome == "raised" else end.outcome
