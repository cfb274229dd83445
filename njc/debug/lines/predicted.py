"""A debugger for predicted steps: a model answers, and the program is not run.

    (njc) n                          step over
    > prog.py:4 line, depth 0
    (njc) check                      run the program, take the same steps, and continue from there

`open_predictor` loads a plug-in: a module with a function of the same name, which takes a file, if
one is given, and returns a `Predictor`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from njc.compiler.frontend.source import SourceDecodeError, SourceFile
from njc.debug.timeline.breakpoints import read_number
from njc.project.units import read_file
from njrt.errors import ConfigurationError

ACTIONS: Mapping[str, str] = {
    "s": "step_into",
    "n": "step_over",
    "r": "step_return",
    "c": "breakpoint",
    "S": "inv_step_into",
    "N": "inv_step_over",
    "R": "inv_step_call",
}
HELP = (
    "s n r         step into, over, to the return of this function",
    "S N R         the same, back: to the state before, over it, to the call of this function",
    "b LINE, c     choose a line; continue until it is about to run",
    "p             show the state with all functions",
    "check         run the program, take the same steps, and compare; continue from its state",
    "q             quit",
)
Steps = tuple[tuple[str, int | None], ...]


class PredictedFrame(Protocol):
    """A running function in a state."""

    line: int
    """The line that is about to run, or that was just left."""
    locals: Mapping[str, str]
    """Variables as text."""


class PredictedState(Protocol):
    """A state of a program."""

    event: str
    """`call`, `line`, `return` or `exception`."""
    frames: Sequence[PredictedFrame]
    """The functions, the innermost last."""
    value: str | None
    """The value returned, or the exception."""


class Predictor(Protocol):
    """Predicts a program's states; raises ValueError with the reason if it cannot."""

    def start(self, source: str, call: str) -> PredictedState:
        """Return the state at a function call with literal arguments, without running it."""

    def predict(
        self, source: str, state: Any, action: Any, line: int | None
    ) -> PredictedState | None:
        """Return the state that an action leads to; None at the end of the program."""

    def run(self, file: Path, source: str, call: str, steps: Any) -> PredictedState | None:
        """Run a call, take steps, and return the state reached."""


def read_program(program: Path) -> str:
    """Return a program's text, decoded as declared; raises ValueError if its bytes are not text."""
    try:
        return SourceFile(str(program), read_file(program)).text
    except SourceDecodeError as problem:
        raise ValueError(f"line {problem.line}: {problem}") from None


def open_predictor(name: str) -> Predictor:
    """Return the predictor of `MODULE[:FILE]`; raises ConfigurationError if it cannot be loaded."""
    module, has_file, file = name.partition(":")
    try:
        opener = importlib.import_module(module).open_predictor
        return cast(Predictor, opener(Path(file)) if has_file else opener())
    except (ImportError, AttributeError, OSError, TypeError, ValueError) as problem:
        raise ConfigurationError(f"--predicted {name}: {problem}") from None


@dataclass(slots=True)
class PredictedSession:
    """A session (state: the predicted state, and the steps that led to it)."""

    predictor: Predictor
    file: Path
    source: str
    call: str
    state: PredictedState | None = None
    steps: Steps = ()
    stop: int | None = None

    def start(self) -> list[str]:
        self.state = self.predictor.start(self.source, self.call)
        return list(self._describe(self.state))

    def do(self, command: str) -> list[str]:
        name, _, rest = command.strip().partition(" ")
        try:
            match name:
                case "p":
                    return list(self._describe(self.state, is_full=True))
                case "b" if (line := read_number(rest.strip())) is not None:
                    self.stop = line
                    return [f"`c` continues until line {self.stop}"]
                case "c" if self.stop is None:
                    return ["choose a line first: b LINE"]
                case "check":
                    return self.check()
                case _ if name in ACTIONS and not rest:
                    if (before := self.state) is None:
                        return ["the program has ended; q quits"]
                    step = (ACTIONS[name], self.stop if name == "c" else None)
                    self.state = self.predictor.predict(self.source, before, *step)
                    self.steps = (*self.steps, step)
                    return list(self._describe(self.state, before))
        except ValueError as problem:
            return [f"no answer: {problem}"]
        return list(HELP)

    def check(self) -> list[str]:
        """Compare the state with the executed one, which replaces a wrong prediction."""
        actual = self.predictor.run(self.file, self.source, self.call, self.steps)
        if actual == self.state:
            return ["right: running the program leads to this state"]
        self.state = actual
        wrong = "wrong: running the program leads to this state; the next step starts here"
        return [wrong, *self._describe(actual, is_full=True)]

    def _describe(
        self,
        state: PredictedState | None,
        before: PredictedState | None = None,
        *,
        is_full: bool = False,
    ) -> Iterator[str]:
        """Yield lines that describe a state; `*` marks variables that differ from `before`."""
        if state is None:
            yield "the program ends"
            return
        frame, lines = state.frames[-1], self.source.splitlines()
        value = "" if state.value is None else f" {state.value}"
        depth = len(state.frames) - 1
        yield f"> {self.file.name}:{frame.line} {state.event}{value}, depth {depth}"
        if 0 < frame.line <= len(lines):
            yield f"{frame.line:4} -> {lines[frame.line - 1]}"
        shown = (
            before.frames[depth].locals if before is not None and depth < len(before.frames) else {}
        )
        for name, text in frame.locals.items():
            mark = "*" if before is not None and shown.get(name) != text else " "
            yield f"      {mark} {name} = {text}"
        for number, outer in enumerate(reversed(state.frames[:-1]) if is_full else (), 1):
            held = ", ".join(f"{name} = {text}" for name, text in outer.locals.items())
            yield f"  in line {outer.line}, {number} further out: {held}"
