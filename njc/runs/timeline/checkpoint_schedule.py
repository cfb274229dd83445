"""At which steps a program under control is copied.

schedule = CheckpointSchedule(interval=20)
schedule.take(40, None)     True: there is no checkpoint in the last 20 steps
schedule.take(41, None)     False
"""

from __future__ import annotations

from dataclasses import dataclass, field

from njc.runs.timeline.steps import Position

DENSE_INTERVAL = 5
"""Steps between two checkpoints just before a position to which the user has gone back."""


@dataclass(slots=True)
class CheckpointSchedule:
    """When checkpoints are due (state: the steps that have one)."""

    interval: int = 0
    """Steps between two checkpoints; 0 for none."""
    taken: set[int] = field(default_factory=set)

    def take(self, number: int, target: Position | None) -> bool:
        """Return whether a checkpoint is due at this step, on the way to a target; it counts as taken from now on."""
        interval = self.interval
        if target is not None and number > target.number - interval:
            interval = min(interval, DENSE_INTERVAL)  # the user may go back further
        if not interval or not self.taken.isdisjoint(range(number - interval + 1, number + 1)):
            return False
        self.taken.add(number)
        return True
