"""Programs under control, closed at the end of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting_controller import Control, WaitingController

from case_programs import read_program
from njc.debug.timeline.happenings import RunSettings


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    """Make controllers of the text of a program, usually of one block that calls another."""
    made: list[WaitingController] = []

    def make(text: str = "", **settings: object) -> WaitingController:
        program = tmp_path / "program.njpy"
        program.write_text(text or read_program("nested_blocks"))
        run = RunSettings(program, folder=tmp_path, **settings)  # type: ignore[arg-type]
        made.append(WaitingController(run))
        return made[-1]

    yield make
    for controller in made:
        controller.close()
