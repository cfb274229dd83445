"""Programs under control: forward, back, changed, ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from njc.timeline.breakpoints import (
    BlockBreakpoint,
    Breakpoint,
    EffectBreakpoint,
    JumpBreakpoint,
    LineBreakpoint,
    RefusalBreakpoint,
    TokenBreakpoint,
    VariableBreakpoint,
)
from njc.timeline.controller import RunControlError, RunController
from njc.timeline.happenings import (
    Diverged,
    Happening,
    OutputWritten,
    ProgramEnded,
    RunSettings,
    Stopped,
)
from njc.timeline.steps import Position, Step

SECONDS = 60.0

PROGRAM = '''\
import njrt
from njrt.models.scripted import Scripted, run


def double(number):
    """natural
    Double <number> into <:doubled>.
    """
    return doubled


def main():
    total = 0
    """natural
    Add <double> of 4 to <:total>.
    """
    print("total", total)


CODES = [
    ("partial = double(4)\\nprint('half done')\\n1 / 0", False),
    ("doubled = number * 2", True),
    ("total = partial", True),
]
model = Scripted([run(code, done=done) for code, done in (CODES[0], *CODES[1:])])
with njrt.using(model=model):
    main()
'''
STEPS = [
    ("enter", 1), ("effect", 1), ("enter", 2), ("effect", 2), ("exit", 2), ("effect", 1), ("exit", 1),
]  # fmt: skip

Control = Callable[..., RunController]


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    """Makes controllers of a program text; they are closed at the end."""
    made: list[RunController] = []

    def make(text: str = PROGRAM, **settings: object) -> RunController:
        program = tmp_path / "program.njpy"
        program.write_text(text)
        made.append(RunController(RunSettings(program, folder=tmp_path, **settings)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for controller in made:
        controller.close()


def stop(controller: RunController) -> Step:
    """Wait for a stop; the step."""
    stopped = controller.wait_for_stop(SECONDS)
    assert isinstance(stopped, Stopped), stopped
    assert controller.step == stopped.step
    return stopped.step


def end(controller: RunController) -> tuple[ProgramEnded, list[Happening]]:
    """Wait for the end; what happened before."""
    happenings: list[Happening] = []
    while not isinstance(happening := controller.wait(SECONDS), ProgramEnded):
        happenings.append(happening)
    return happening, happenings


def write_output(happenings: list[Happening]) -> str:
    return "".join(item.text for item in happenings if isinstance(item, OutputWritten))


def test_forward_and_back_over_effects_blocks_and_lines(control: Control) -> None:
    controller = control()
    controller.start()
    positions = []
    step = stop(controller)
    while step.number < 6:
        positions.append((step.position.number, step.position.line, step.kind, step.code_line))
        controller.step_into()
        step = stop(controller)
    assert [(step.kind, step.run) for step in controller.timeline] == STEPS
    lines = [position[3] for position in positions if position[1]]
    assert lines == [1, 1, 2, 3, 1]
    for number, line, kind, code_line in reversed(positions):
        controller.step_back_into()
        step = stop(controller)
        assert (step.position, step.kind, step.code_line) == (
            Position(number, line),
            kind,
            code_line,
        )
    with pytest.raises(RunControlError, match="this is the beginning"):
        controller.step_back_into()
    controller.run_on()
    ended, happenings = end(controller)
    assert ended == ProgramEnded(0)
    assert write_output(happenings) == "half done\ntotal 8\n"
    assert not any(isinstance(happening, Diverged) for happening in happenings)


def test_over_skips_called_blocks_and_out_ends_a_block(control: Control) -> None:
    controller = control()
    controller.start()
    assert stop(controller).number == 0
    for number in (1, 5, 6):
        controller.step_over()
        assert stop(controller).number == number
    for number in (5, 1):
        controller.step_back_over()
        assert stop(controller).number == number
    controller.step_into()
    assert stop(controller).position == Position(1, 1)
    controller.step_over()
    assert stop(controller).position == Position(4, 1)
    controller.step_back_over()
    assert stop(controller).position == Position(1, 1)
    controller.run_to(Position(3))
    assert stop(controller).number == 3
    controller.step_out()
    assert (stop(controller).kind, controller.position) == ("exit", Position(4))
    controller.step_back_out()
    assert stop(controller).number == 2
    controller.step_back_out()
    assert stop(controller).number == 1


BREAKPOINTS: dict[str, tuple[Breakpoint, list[int]]] = {
    "line": (LineBreakpoint("program.njpy", 7), [2]),
    "block": (BlockBreakpoint("program.njpy:14"), [0]),
    "any block": (BlockBreakpoint(), [0, 2]),
    "effect": (EffectBreakpoint("Run"), [1, 3, 5]),
    "other effect": (EffectBreakpoint("Done"), []),
    "condition": (EffectBreakpoint(condition="number == 4"), [3]),
    "jump": (JumpBreakpoint(), []),
    "variable": (VariableBreakpoint("doubled"), [4]),
    "variable in a block": (VariableBreakpoint("doubled", "program.njpy:14"), []),
    "refusal": (RefusalBreakpoint(), [5]),
    "tokens": (TokenBreakpoint(1000), []),
}


@pytest.mark.parametrize("name", BREAKPOINTS)
def test_breakpoints_stop_forward_and_backward(name: str, control: Control) -> None:
    breakpoint, numbers = BREAKPOINTS[name]
    controller = control(checkpoint_interval=2)
    controller.set_breakpoints((breakpoint,))
    controller.start(stops=False)
    for number in numbers:
        assert stop(controller).number == number
        controller.run_on()
    assert end(controller)[0] == ProgramEnded(0)
    for number in (*reversed(numbers), 0):
        controller.run_back()
        assert stop(controller).number == number


def test_a_breakpoint_outside_of_prompts_is_refused(control: Control) -> None:
    with pytest.raises(RunControlError, match=r"there is no prompt at program.njpy:1$"):
        control().set_breakpoints((LineBreakpoint("program.njpy", 1),))
