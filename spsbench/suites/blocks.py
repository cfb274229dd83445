"""The forms `natural` and `answer`: a natural block, compiled by njc, on the objects and functions of the task.

    def serve(request, fs):                    with `earlier` in later turns
        \"\"\"natural
        Do what <request> asks, by calling methods of <fs>. Put the result of your last call into <:result>.
        \"\"\"
        return result

Under `natural` the model replies with code (the effect set `direct`), under `answer` with data.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.models.model import Model
from njrt.models.scripted import Said
from njrt.options import EffectSet
from spsbench.suite import make_program_module
from spsbench.suites import values
from spsbench.suites.code_actions import CODE_SECONDS
from spsbench.suites.conversation import MAX_EQUAL
from spsbench.suites.results import SuiteLimits
from spsbench.suites.task import Bench, SuiteTask, dump_value

SHOWN_CHARS = 6000
"""Characters of one variable that are shown: an object with all its methods."""


def play_block(
    effects: EffectSet, task: SuiteTask, bench: Bench, model: Model, limits: SuiteLimits
) -> Any:
    """Run the block once in each turn; returns the value of the last one."""
    earlier: tuple[tuple[str, Any], ...] = ()
    value = None
    with njrt.using(
        model=model,
        effects=effects,
        cache=False,
        max_calls=limits.calls,
        max_seconds=limits.seconds,
        max_call_seconds=limits.seconds,
        max_repeats=MAX_EQUAL,
        max_code_seconds=CODE_SECONDS,
        max_reply_tokens=limits.reply_tokens,
        show_chars=SHOWN_CHARS,
        redact=False,  # tasks have passwords of their users, which all other forms see
    ):
        for turn in task.turns:
            bench.log.start_turn()
            block = task.block + (task.later_block if earlier else "")
            shared: dict[str, Any] = {"request": turn, "earlier": earlier}
            named = {name: value for name, value in shared.items() if f"<{name}>" in block}
            named |= bench.variables
            value = load_program(block, tuple(named)).serve(**named)
            earlier = (*earlier, (turn, value))
    return value


@functools.cache
def load_program(block: str, names: tuple[str, ...]) -> ModuleType:
    """Compile the program of a block, and return it as a module."""
    source = write_program(block, names)
    compilation = compile_source(SourceFile("suite.njpy", source.encode()))
    assert compilation.output is not None, compilation.diagnostics
    return make_program_module("spsbench.suites.program", compilation.output, "suite.njpy")


def write_program(block: str, names: tuple[str, ...]) -> str:
    """Return the program of a block: a function that takes its variables and returns its output."""
    types = [name for name in vars(values) if re.search(rf"<:\w+:.*\b{name}\b", block)]
    imports = f"from {values.__name__} import {', '.join(types)}\n\n\n" if types else ""
    output = re.findall(r"<:(\w+)", block)[-1]
    return (
        f"{imports}def serve({', '.join(names)}):\n"
        f'    """natural\n    {block}\n    """\n    return {output}\n'
    )


def script_code(task: SuiteTask, turn: int) -> Sequence[Said]:
    """Return the right code of a turn."""
    return [f"```python\n{task.natural_truth[turn]}\n```"]


def script_answer(task: SuiteTask, turn: int) -> Sequence[Said]:
    """Return the right data."""
    return [{"answer": dump_value(task.answer, task.result)}]


play_natural = functools.partial(play_block, "direct")
play_answer = functools.partial(play_block, "answer")
