"""What the commands of the case studies share: run the trials that a file does not have yet.

    results = run_trials(todo, journal.results.graph, lambda trial: ask_graph_question(trial, ...), journal)

A study goes on where its file ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from njrt.errors import NaturalError
from njrt.models.choose import choose_model
from njrt.models.model import Model
from njrt.options import Options
from spsbench.journal import Journal
from spsbench.results import ResultSet, TrialLine, read_results
from spsbench.script import SCRIPTED
from spsbench.studies.gsm8k_solving import ProblemError
from spsbench.trials.problems import report_problems

TrialT = TypeVar("TrialT", bound=TrialLine)
ResultT = TypeVar("ResultT", bound=TrialLine)


@contextmanager
def open_study(out: Path | None) -> Iterator[Journal[ResultSet]]:
    """Open the results file of a study, if it has one; problems end the command with a message."""
    with report_problems(NaturalError, ProblemError), Journal(out, read_results) as journal:
        yield journal


def run_trials(
    trials: Sequence[TrialT],
    known: Sequence[ResultT],
    run_trial: Callable[[TrialT], ResultT],
    journal: Journal[ResultSet],
) -> list[ResultT]:
    """Run the missing trials, append their results to the journal, and return all results."""
    results: dict[TrialLine, ResultT] = {result.trial: result for result in known}
    for number, trial in enumerate(trials, 1):
        if trial not in results:
            result = results[trial] = run_trial(trial)
            journal.append(result)
            verdict, usage = result.describe()
            click.echo(f"{number}/{len(trials)} {trial}: {verdict} ({usage})", err=True)
    return [results[trial] for trial in trials]


def load_study_model(name: str, environ: Mapping[str, str]) -> Model | None:
    """Return the model of a name, at NJC_BASE_URL if that is set; None if scripts answer."""
    if name == SCRIPTED:
        return None
    return choose_model(Options(model=name, base_url=environ.get("NJC_BASE_URL")), environ)
