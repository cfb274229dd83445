"""Models that answer a `Question` with the probabilities of its answers.

can_decide(model)       whether a request with a question may be sent to it
stop_deciding(model)    it has rejected one
"""

from __future__ import annotations

from typing import Any

from njrt.models.wrapped import list_inner_models


def can_decide(model: Any) -> bool:
    """Return whether a model decides; a wrapper does if all models inside do.

    A model says so by its attribute `can_decide`. It may still reply without probabilities.
    """
    own = getattr(model, "can_decide", None)
    if own is not None:
        return bool(own)
    inner = _list_inner(model)
    return bool(inner) and all(map(can_decide, inner))


def stop_deciding(model: Any) -> None:
    """Note that a model, or one inside it, has rejected a question: it is asked none again."""
    if getattr(model, "can_decide", None) is not None:
        model.can_decide = False
        return
    for inner in _list_inner(model):
        stop_deciding(inner)


def _list_inner(model: Any) -> list[Any]:
    return [model.choose()] if hasattr(model, "choose") else list_inner_models(model)
