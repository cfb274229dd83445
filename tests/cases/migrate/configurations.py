# A program for the old package.
# Second line.

import json
import nightjarpy as nj  # natural code
from nightjarpy.configs import (
    INTERPRETER_PYTHON_EAGER_CACHE_JSON_CONFIG as EAGER,
    LLMConfig,
)

# The fast one.
FAST = EAGER.with_llm_updates(model="openai/gpt-5.1", temperature=0, seed=3)
FASTER = FAST.with_interpreter_updates(max_effects=10)

config = nj.DEFAULT_CONFIG
config.llm = LLMConfig(model="openai/gpt-5.1", max_tokens=100)


def log(f):
    return f


# Before.
@log
# Above fn.
@nj.fn(config=FASTER)  # why
# After.
def judge(mail):
    """natural
    Is <mail> spam? Set <:spam>.
    """
    # in between
    return spam


def later(x):
    """natural
    Do <x>.
    """

later = nj.fn(later)
print(later(2), EAGER)
