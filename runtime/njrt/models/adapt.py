"""What a program gives as a model, as a `Model`.

adapt_model(OpenAI("gpt-4.1"))              itself
adapt_model(FunctionModel(reply))           PydanticAI(FunctionModel(reply))
adapt_model(42)                             ConfigurationError
"""

from __future__ import annotations

from typing import Any

from njrt.errors import ConfigurationError
from njrt.models.model import Model


def adapt_model(given: Any) -> Model:
    """Return a model that a program gives: one of this package or of its own, or a model object of PydanticAI."""
    if all(hasattr(given, name) for name in ("name", "protocol", "ask", "aask")) and not isinstance(
        given, type
    ):
        model: Model = given
        return model
    bases = type(given).__mro__
    if any(base.__name__ == "Model" and "pydantic_ai" in base.__module__ for base in bases):
        from njrt.models.pydantic_ai import PydanticAI

        return PydanticAI(given)
    what = f"the text {given!a}" if isinstance(given, str) else f"a {type(given).__name__}"
    raise ConfigurationError(
        f'{what} is no model here; give one such as njrt.models.OpenAI("gpt-4.1"), '
        "njrt.models.get_model(NAME), or a model object of PydanticAI"
    )
