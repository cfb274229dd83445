"""Models that answer a `Question` with the probabilities of its answers.

can_decide(model)       whether a request with a question may be sent to it
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
    inner = [model.choose()] if hasattr(model, "choose") else list_inner_models(model)
    return bool(inner) and all(map(can_decide, inner))
