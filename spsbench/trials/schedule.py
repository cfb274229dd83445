"""The trials of a run, their order, and which of them remain to be run.

    list_trials(("menu", "graph"), ("direct", "manual"), "openai/gpt-4.1", repeats=2)
        menu direct 1, menu manual 1, graph direct 1, graph manual 1, menu direct 2, ...

A repeat runs all programs and methods before the next one starts, and a program's methods are run together: a run
that is stopped early has compared all methods on the same programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from spsbench.methods import METHODS
from spsbench.results import ResultSet, Trial, TrialLimits, TrialResult
from spsbench.suite import choose_program_file, digest_program


class OtherConditionsError(ValueError):
    """A results file has trials with other settings."""


def list_trials(
    programs: Sequence[str], methods: Iterable[str], model: str, repeats: int
) -> tuple[Trial, ...]:
    """Return all trials of a run, in order."""
    places = product(range(1, repeats + 1), programs, tuple(methods))
    return tuple(Trial(program, method, model, repeat) for repeat, program, method in places)


def list_remaining_trials(
    trials: Iterable[Trial], results: Iterable[TrialResult]
) -> tuple[Trial, ...]:
    """Return the trials without a final result."""
    done = {result.trial for result in results if result.is_final}
    return tuple(trial for trial in trials if trial not in done)


def refuse_other_conditions(
    results: ResultSet, model: str, limits: TrialLimits, temperature: float | None
) -> None:
    """Raise `OtherConditionsError` if the trials of a file cannot be compared with new ones."""
    refuse_other_programs(results.results)

    def list_settings(
        model: str, limits: TrialLimits, temperature: float | None
    ) -> dict[str, object]:
        flags = {"seconds": limits.seconds, "effects": limits.effects, "max-calls": limits.calls}
        return {"model": model, "temperature": temperature, **flags}

    requested = list_settings(model, limits, temperature)
    for run in results.runs:
        recorded = list_settings(run.model, run.limits, run.temperature)
        differing = [
            f"{name} {recorded[name]}, not {value}"
            for name, value in requested.items()
            if recorded[name] != value
        ]
        if differing:
            raise OtherConditionsError(
                f"the file has trials with {', '.join(differing)}; name another file by --out, or use the same settings"
            )


def refuse_other_programs(results: Iterable[TrialResult]) -> None:
    """Raise `OtherConditionsError` if a result is of another version of its program or checks."""
    for result in results:
        method = METHODS.get(result.method)
        if method and result.digest != digest_program(result.program, method.file):
            file = choose_program_file(result.program, method.file)
            raise OtherConditionsError(
                f"the file has trials of another version of {result.program}/{file} "
                "or its checks; name another file by --out"
            )
