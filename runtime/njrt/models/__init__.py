"""Models, and wrappers around them. Only the adapters know a wire format and import an SDK.

    njrt.models.RetryModel(njrt.models.OpenAI("gpt-4.1", retries=0), attempts=5)

openai, anthropic, pydantic_ai the adapters; `remote` is their common part
retry_and_fallback             the wrappers
choose                         from options and names to the model

Each public name is loaded when it is first used.
"""

from njrt.data.loading import load_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from njrt.models.anthropic import Anthropic
    from njrt.models.choose import get_model
    from njrt.models.model import Model
    from njrt.models.openai import OpenAI
    from njrt.models.pydantic_ai import PydanticAI
    from njrt.models.retry_and_fallback import FallbackModel, RetryModel

__all__ = [
    "Anthropic", "FallbackModel", "Model", "OpenAI", "PydanticAI", "RetryModel", "get_model",
]  # fmt: skip

_LOADED_LATER = {
    "Anthropic": "anthropic",
    "FallbackModel": "retry_and_fallback",
    "Model": "model",
    "OpenAI": "openai",
    "PydanticAI": "pydantic_ai",
    "RetryModel": "retry_and_fallback",
    "get_model": "choose",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _LOADED_LATER:
        from njrt.data.options.removed import refuse_removed_name

        refuse_removed_name(name)
        raise AttributeError(f"module 'njrt.models' has no attribute {name!r}")
    value = getattr(load_module(f"njrt.models.{_LOADED_LATER[name]}"), name)
    globals()[name] = value
    return value
