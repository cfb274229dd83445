import os

import nightjarpy as nj
from nightjarpy import NJ_TELEMETRY, EffectException, nj_llm_factory
from nightjarpy.configs import INTERPRETER_PYTHON_NESTED_JSON_CONFIG, Config, LLMConfig

llm = nj_llm_factory(LLMConfig(), __file__, "main")


def chosen():
    return nj.DEFAULT_CONFIG


@nj.fn(config=chosen())
def unknown(x):
    """natural
    Double <x>.
    """


@nj.fn(config=INTERPRETER_PYTHON_NESTED_JSON_CONFIG.disable_cache())
def preset(x):
    """natural
    Double <x>.
    """


@nj.fn(
    config=Config(
        execution_strategy=None,
        llm_config=LLMConfig(model=os.environ["MODEL"], reasoning_effort="low"),
    )
)
def environment(x):
    """natural
    Double <x>.
    """


try:
    unknown(1)
except EffectException:
    print(NJ_TELEMETRY)

try:
    import nightjarpy as optional
except ImportError:
    optional = None
