"""The methods that the tables compare: which program is run, and how its prompts are executed.

METHODS["direct"]          natural.njpy, live, with the effects of that name
METHODS["static"]          natural.njpy, its blocks written as Python by a model when it is built
METHODS["manual"]          manual.py, with prompts that see no state
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from njrt.data.options import Mode, Options, Reasoning
from spsbench.interfaces import EffectSet, make_settings
from spsbench.task import ProgramFile


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the tables."""

    name: str
    file: ProgramFile
    about: str
    """A short description."""
    effects: EffectSet | None = "direct"
    """None: the compiler chooses one for each block."""
    mode: Mode = "live"
    is_cached: bool = False
    """Whether identical conversations within a trial get the same reply, from a cache."""
    reasoning: Reasoning | None = None
    """How the model prepares its reply."""
    has_interpreter: bool = False
    """Whether the prompts of a manual program may run Python on separate state."""
    is_past: bool = False
    """Whether its results are kept although njc cannot run it any more."""

    @property
    def compile_options(self) -> Options:
        """The compiler options: the paper's effect sets offer all jumps and code to every block."""
        if self.effects is None:
            return Options(reasoning=self.reasoning)
        return Options(authority="code", jumps="named" if self.effects == "direct" else "all")

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `njrt.using` that choose the effects of all blocks.

        Their code runs in the program: objects that it makes outlive their blocks.
        """
        return {**make_settings(self.effects), "policy": "guarded"}

    @property
    def is_natural(self) -> bool:
        """Whether the program has natural blocks."""
        return self.file != "manual.py"

    @property
    def is_static(self) -> bool:
        """Whether a model writes code when the program is built."""
        return self.mode != "live"


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("manual", "manual.py", "isolated model calls, written by hand"),
        Method(
            *("manual-code-interpreter", "manual.py"),
            "isolated model calls, with an isolated Python to calculate",
            has_interpreter=True,
        ),
        Method("baseline", "natural.njpy", "reads and writes data, without code", "baseline"),
        Method(
            "isolated-eval",
            "natural.njpy",
            "reads and writes data, evaluates expressions separately",
            "isolated-eval",
        ),
        Method("shared-eval", "natural.njpy", "evaluates expressions on the state", "shared-eval"),
        Method("shared-python", "natural.njpy", "runs Python on the state", "shared-python"),
        Method(
            "shared-python-cached",
            "natural.njpy",
            "runs Python on the state, replies cached",
            "shared-python",
            is_cached=True,
        ),
        Method(
            "nightjar",
            "natural.njpy",
            "runs Python on the state, values shown at once, replies cached",
            "nightjar",
            is_cached=True,
        ),
        Method("direct", "natural.njpy", "a piece of Python, mostly in one call", "direct"),
        Method(
            "natural",
            "natural.njpy",
            "answers with data if no code is needed, else as direct: the default of njc",
            None,
        ),
        Method(
            "natural-ask",
            "natural.njpy",
            "as natural, and code asks the model for each judgement",
            None,
            reasoning="ask",
        ),
        Method(
            "natural-text",
            "natural.njpy",
            "as natural, and the model writes its reasoning before each reply",
            None,
            reasoning="text",
        ),
        Method(
            "rewritten",
            "rewritten.njpy",
            "as natural, with eight programs rewritten: in five of them Python changes the state",
            None,
        ),
        Method(
            "static-raw",
            "natural.njpy",
            "Python written when built, in one call, unchecked",
            None,
            mode="static",
            is_past=True,
        ),
        Method(
            "static",
            "natural.njpy",
            "Python written when built, checked and corrected",
            None,
            mode="static",
        ),
        Method(
            "auto",
            "natural.njpy",
            "as static, and live, as natural, if the code fails",
            None,
            mode="static",
            is_past=True,
        ),
        Method(
            "reviewed",
            "natural.njpy",
            "answers with data, and code is written when built, as static",
            None,
            mode="reviewed",
        ),
    )
}
