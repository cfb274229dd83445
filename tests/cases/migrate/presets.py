import nightjarpy as nj
from nightjarpy.configs import (
    Config,
    ExecutionStrategy,
    ExecutionSubstrate,
    InterpreterConfig,
    LLMConfig,
)


@nj.fn(config=nj.configs.INTERPRETER_BASE_NOREG_JSON_CONFIG)
def baseline(x):
    """natural
    Double <x>.
    """


@nj.fn(config=nj.configs.COMPILER_PYTHON_JSON_CONFIG)
def compiled(x):
    """natural
    Double <x>.
    """


@nj.fn(
    config=Config(
        execution_strategy=ExecutionStrategy.INTERPRETER,
        compiler_config=None,
        interpreter_config=InterpreterConfig(
            execution_substrate=ExecutionSubstrate.PYTHON_BASE_NOREG,
            max_effects=12,
            max_iters=7,
            max_serialize_len=400,
        ),
        llm_config=LLMConfig(model="anthropic/claude-sonnet-4-5", temperature=0.5),
    )
)
def written_out(x):
    """natural
    Double <x>.
    """
