"""What a trial's process is given: the trial, its limits, and the model's server.

    Job(Trial("menu", "direct", "openai/local", 1), TrialLimits(), base_url="http://127.0.0.1:8000/v1")

It is sent as JSON (`njrt.typed_json`) to a process or to a machine of a cluster. API keys are not part of it:
each machine has its own in its environment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spsbench.results import Trial, TrialLimits
from spsbench.script import SCRIPTED


@dataclass(frozen=True, slots=True)
class Job:
    """A trial and everything that is needed to run it."""

    trial: Trial
    limits: TrialLimits = field(default_factory=TrialLimits)
    temperature: float | None = None
    base_url: str | None = None
    cache: str | None = None
    """A folder that keeps replies for trials that are run again."""
    keep: str | None = None
    """A folder that gets a copy of the trial's folder: its traces, its output, its lock."""
    usd: float | None = None
    """The limit on the cost of this trial."""

    @property
    def is_scripted(self) -> bool:
        """Whether scripts answer instead of a model."""
        return self.trial.model == SCRIPTED
