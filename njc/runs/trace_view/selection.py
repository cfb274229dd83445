"""Which runs and which steps of a trace are shown.

selection = Selection(refusals=True, slow=2.0)
selection.has_run(run)      whether a run, or a step of it, may be of interest: all conditions must hold
selection.has_step(step)    the same for a step of such a run
"""

from __future__ import annotations

from dataclasses import dataclass

from njc.runs.trace_view.index import RunSummary
from njc.runs.trace_view.steps import TraceStep, format_differences


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions; those that are not set always hold. `slow` is in seconds, `expensive` in US dollars."""

    refusals: bool = False
    unchanged: bool = False
    surprises: bool = False
    jumps: bool = False
    slow: float | None = None
    expensive: float | None = None
    block: str = ""
    search: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether everything is shown."""
        return self == Selection()

    def has_run(self, run: RunSummary) -> bool:
        """Return whether a run is shown. `block` is a place, the name of its file, or the start of one."""
        return (
            (not self.refusals or run.refusals > 0)
            and (not self.unchanged or run.is_unchanged)
            and (not self.surprises or run.surprises > 0)
            and (not self.jumps or run.is_jump)
            and (self.slow is None or run.seconds >= self.slow)
            and (self.expensive is None or (run.usd or 0.0) >= self.expensive)
            and (not self.search or run.has_text)
            and (not self.block or run.place.startswith(self.block))
        )

    def has_step(self, step: TraceStep) -> bool:
        """Return whether a step of a run that was chosen is shown."""
        wanted = self.search.casefold()
        return (
            (not self.refusals or step.is_refused)
            and (not self.unchanged or step.is_unchanged)
            and (not self.surprises or step.is_surprise)
            and (not self.jumps or step.is_jump)
            and (self.slow is None or step.seconds >= self.slow)
            and (self.expensive is None or (step.cost.usd or 0.0) >= self.expensive)
            and (not wanted or any(wanted in text.casefold() for text in list_texts(step)))
        )


def list_texts(step: TraceStep) -> list[str]:
    """Return the texts of a step that are searched."""
    changes = [f"{change.name}: {change.after}" for change in step.changes]
    predicted = format_differences(step.prediction)
    return [step.code, step.result, step.shown, step.reply, step.printed, predicted, *changes]
