"""Effects and decisions as JSON, in traces, recordings and approval files.

Run("x = 1", True)          {"kind": "Run", "code": "x = 1", "done": true}
Reject("no")                {"decision": "reject", "words": "no"}
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, assert_never, get_args

from njrt.data.decisions import Abort, Accept, Decision, Edit, InterceptorDecision, Pause, Reject
from njrt.effects import CHANGES, Effect
from njrt.errors import PolicyError
from njrt.messages import Json
from njrt.values.dataclass_json import InvalidJsonError, validate_value

_EFFECTS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Effect)}


def effect_to_json(effect: Any) -> dict[str, Any]:
    """Return an effect as JSON: its kind, and its fields as the model sent them."""
    assert is_dataclass(effect)
    return {"kind": type(effect).__name__} | {
        part.name: getattr(effect, part.name) for part in fields(effect)
    }


def effect_from_json(value: Json) -> Effect:
    """Return the effect that `effect_to_json` wrote, or raise `InvalidJsonError`."""
    rest = dict(value)
    kind = _EFFECTS.get(str(rest.pop("kind", "")))
    if kind is None:
        raise InvalidJsonError(f"kind: there is no effect {value.get('kind')!r}")
    effect: Effect = validate_value(rest, kind)
    return effect


def format_call(effect: Json) -> str:
    """Format the JSON of a `Touch` or a `Perform` as a call: `shop.pay(order=3)`.

    Changes of contained code have a line each.
    """
    changes = effect["arguments"].get("changes")
    if effect["function"] == CHANGES and isinstance(changes, dict):
        lines = (f"    {path!r}: {change!r},\n" for path, change in changes.items())
        return f"{CHANGES}(changes={{\n{''.join(lines)}}})"
    arguments = ", ".join(f"{name}={value!r}" for name, value in effect["arguments"].items())
    return f"{effect['function']}({arguments})"


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """Return a decision as JSON: its name and its fields."""
    match decision:
        case Edit(effect):
            return {"decision": "edit", "effect": effect_to_json(effect)}
        case Reject(words):
            return {"decision": "reject", "words": words}
        case Abort(error):
            return {"decision": "abort"} | ({"words": str(error)} if error else {})
        case Accept() | Pause():
            return {"decision": type(decision).__name__.lower()}
        case _:
            assert_never(decision)


def interceptor_decision_to_json(made: InterceptorDecision) -> dict[str, Any]:
    """Return a decision as JSON, with its interceptor's name."""
    return {"interceptor": made.interceptor} | decision_to_json(made.decision)


def decision_from_json(value: Json) -> Decision:
    """Return the decision that `decision_to_json` wrote, an `Abort`'s error as a `PolicyError`.

    Raises `InvalidJsonError`.
    """
    match value:
        case {"decision": "accept"}:
            return Accept()
        case {"decision": "edit", "effect": dict(effect)}:
            return Edit(effect_from_json(effect))
        case {"decision": "reject", "words": str(words)}:
            return Reject(words)
        case {"decision": "abort", "words": str(words)}:
            return Abort(PolicyError(words))
        case {"decision": "abort"}:
            return Abort()
        case {"decision": "pause"}:
            return Pause()
    raise InvalidJsonError(
        f"decision: {value.get('decision')!r} is not a decision, or lacks a field"
    )
