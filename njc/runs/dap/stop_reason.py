"""Why the program is stopped, in the words of the Debug Adapter Protocol.

choose_stop_reason("effect Run")     "function breakpoint"
describe_failure(steps)              {"exceptionId": "ValueError", "description": "ValueError: ...", ...}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from njc.runs.timeline.steps import Step


def choose_stop_reason(reason: str, is_entry: bool = False) -> str:
    """Return the protocol's word for why the program is stopped."""
    kind = reason.partition(" ")[0]
    words = {"step": "entry" if is_entry else "step", "back": "step", "pause": "pause"}
    words |= {"variable": "data breakpoint", "effect": "function breakpoint"}
    words |= {"refusal": "exception", "limit": "exception", "type": "exception"}
    return words.get(kind, "breakpoint")


def describe_failure(steps: Sequence[Step]) -> Mapping[str, str]:
    """Return the response to `exceptionInfo`: the last refusal or error of these steps, else the last step."""
    failed = next((step for step in reversed(steps) if step.is_refused or step.error), steps[-1])
    text = failed.error or failed.result
    name = failed.error.partition(":")[0] if failed.error else "refusal"
    return {"exceptionId": name, "description": text, "breakMode": "always"}
