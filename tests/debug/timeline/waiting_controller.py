"""A controlled run that tests wait for."""

from __future__ import annotations

import queue
from collections.abc import Callable

from njc.debug.timeline.happenings import Happening, ProgramEnded, RunSettings, Stopped
from njc.debug.timeline.run_controller import RunController


class WaitingController(RunController):
    """A run that keeps its events until they are waited for (state: the events)."""

    def __init__(self, settings: RunSettings) -> None:
        self._happenings: queue.SimpleQueue[Happening] = queue.SimpleQueue()
        super().__init__(settings, self._happenings.put)

    def __enter__(self) -> WaitingController:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, seconds: float) -> Happening:
        """Return the next event; TimeoutError if none comes in time."""
        try:
            return self._happenings.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"nothing happened within {seconds:g} seconds") from None

    def wait_for_stop(self, seconds: float) -> Stopped | ProgramEnded:
        """Skip events until the program is stopped or has ended."""
        while True:
            happening = self.wait(seconds)
            if isinstance(happening, Stopped | ProgramEnded):
                return happening


Control = Callable[..., WaitingController]
