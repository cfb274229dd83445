"""A perfect model's replies in every case of a task, and a mistake that its checks must catch.

    SCRIPT = Script(
        {"words": CaseScript(answers=(2.0,), code=("average = (1 + 2 + 3) / 3",))},
        Mistake("words", CaseScript(answers=(2.5,), code=("average = 2.5",)), fails=("...",)),
    )

`answers` are the return values of the manual program's `llm`, call by call. `code` is the code that
the natural program's blocks run, one piece per block run, in order; a jump, if any, is the last
statement of its piece. `rewritten` is the same for the rewritten program, if it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from njrt.errors import ModelError
from njrt.messages import ModelMessage
from njrt.testing import call

SCRIPTED = "scripted"
"""The name of the model that replies by these scripts."""

ScriptAnswer = Any
"""A text, or the JSON value of an answer with a schema."""


class UnsupportedCodeError(ModelError):
    """An effect set cannot express a piece of a script's code."""


@dataclass(frozen=True, slots=True)
class CaseScript:
    """The replies in one case, to the manual, the natural and the rewritten program."""

    answers: tuple[ScriptAnswer, ...]
    code: tuple[str, ...]
    rewritten: tuple[str, ...] = ()

    def use_rewritten(self) -> CaseScript:
        """Return the same case with the code of the rewritten program."""
        return replace(self, code=self.rewritten or self.code)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A model's mistake in one case, and the texts of exactly the checks that it must fail."""

    case: str
    lines: CaseScript
    fails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A perfect model's replies in a task, by case name, and a mistake of a less perfect model."""

    lines: Mapping[str, CaseScript]
    slip: Mistake


def make_manual_replies(lines: CaseScript) -> tuple[ModelMessage, ...]:
    """Return the replies to one case's calls of `spsbench.llm.llm`, with and without a schema."""
    return tuple(
        ModelMessage(answer if isinstance(answer, str) else "", (call("answer", answer=answer),))
        for answer in lines.answers
    )
