"""The models that a program gives, and those inside of wrappers.

adapt_model(FunctionModel(reply))                    PydanticAI(FunctionModel(reply))
list_inner_models(FallbackModel((first, second)))    [first, second]
"""

from __future__ import annotations

from typing import Any

from njrt.errors import ConfigurationError
from njrt.models.model import Model


def list_inner_models(model: Any) -> list[Model]:
    """Return the models that a wrapper asks; empty for any other model."""
    parts = (*getattr(model, "models", ()), getattr(model, "model", None))
    return [part for part in parts if hasattr(part, "aask")]


def can_decide(model: Any) -> bool:
    """Return whether a `Question` may be sent to a model, or to all inside of a wrapper.

    A model says so by its attribute `can_decide`. It may still reply without probabilities.
    """
    inner = list_inner_models(model)
    return bool(getattr(model, "can_decide", inner and all(map(can_decide, inner))))


def adapt_model(given: Any) -> Model:
    """Return a model that a program gives: ours, its own, or a model object of PydanticAI."""
    missing = [name for name in ("name", "protocol", "ask", "aask") if not hasattr(given, name)]
    if not missing and not isinstance(given, type):
        model: Model = given
        return model
    bases = type(given).__mro__
    if any(base.__name__ == "Model" and "pydantic_ai" in base.__module__ for base in bases):
        from njrt.models.pydantic_ai import PydanticAI

        adapted: Model = PydanticAI(given)
        return adapted
    if isinstance(given, type):
        problem = f"the class {given.__name__} is not a model"
    else:
        name = type(given).__name__
        problem = f"an object of class {name} is not a model (it has no `{missing[0]}`)"
    raise ConfigurationError(
        f'{problem}; pass an object such as njrt.models.OpenAI("gpt-4.1"), '
        "njrt.models.get_model(NAME), or a model object of PydanticAI"
    )
