"""What a trial's process is told: the trial, its limits, and who is to be asked.

Job(Trial("menu", "direct", "openai/local", 1), Limits(), base_url="http://127.0.0.1:8000/v1")
job_from_json(job_to_json(job)) == job                     it crosses to a process, or to a machine of a cluster

Keys are no part of it: each machine has its own in its environment.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from spsbench.results import Trial, TrialLimits

SCRIPTED = "scripted"
"""The model that says the perfect scripts of `spsbench.perfect`, each case its own."""


@dataclass(frozen=True, slots=True)
class Job:
    """A trial, and all that is needed to carry it out."""

    trial: Trial
    limits: TrialLimits = field(default_factory=TrialLimits)
    temperature: float | None = None
    base_url: str | None = None
    cache: str | None = None
    """A folder where replies are kept for trials that are run again."""
    keep: str | None = None
    """A folder that gets a copy of the trial's own: its traces, its output, its lock."""
    usd: float | None = None
    """What this trial may cost."""

    @property
    def is_scripted(self) -> bool:
        """Whether no model is asked."""
        return self.trial.model == SCRIPTED


def job_to_json(job: Job) -> str:
    """A job as JSON."""
    return json.dumps(asdict(job))


def job_from_json(text: str) -> Job:
    """Read a job."""
    told = json.loads(text)
    return Job(**told | {"trial": Trial(**told["trial"]), "limits": TrialLimits(**told["limits"])})
