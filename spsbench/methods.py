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
    file: ProgramFile = "natural.njpy"
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
        Method("manual", "manual.py"),
        Method("manual-code-interpreter", "manual.py", has_interpreter=True),
        Method("baseline", effects="baseline"),
        Method("isolated-eval", effects="isolated-eval"),
        Method("shared-eval", effects="shared-eval"),
        Method("shared-python", effects="shared-python"),
        Method("shared-python-cached", effects="shared-python", is_cached=True),
        Method("nightjar", effects="nightjar", is_cached=True),
        Method("direct"),
        Method("natural", effects=None),
        Method("natural-ask", effects=None, reasoning="ask"),
        Method("natural-text", effects=None, reasoning="text"),
        Method("rewritten", "rewritten.njpy", effects=None),
        Method("static-raw", mode="static", is_past=True),
        Method("static", mode="static"),
        Method("auto", mode="static", is_past=True),
        Method("reviewed", mode="reviewed"),
    )
}
"""The methods, in the order of the tables; spsbench/docs/spsbench.md describes them."""
