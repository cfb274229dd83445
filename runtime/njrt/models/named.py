"""A model by its name, as the option `model` names it, to put wrappers around.

RetryModel(get_model("openai/gpt-4.1"), attempts=5)
"""

from __future__ import annotations

import os

from njrt.models.choose import choose_model
from njrt.models.model import Model
from njrt.options import DEFAULTS, Options, merge_option_layers, read_environment_options


def get_model(name: str | None = None, *, base_url: str | None = None) -> Model:
    """Return the model of a name, or the one that the environment configures; one for the whole process.

    Raises `ConfigurationError` for a name that none has, and `NoModelError` if none is configured.
    """
    environment = read_environment_options(os.environ)
    options = merge_option_layers(Options(model=name, base_url=base_url), environment, DEFAULTS)
    return choose_model(options, os.environ)
