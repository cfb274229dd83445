"""Combine surprise with facts about the effect, in a logistic model that is tested on other programs.

    combine_alarms(results, uniform)
        -> Alarm("surprise", auc=0.61, ...), Alarm("the effect", ...), Alarm("surprise and the effect", ...)

The scores of a program's effects come from a model fitted to the effects of all other programs. Not covered: other
models, and cases where fewer than half of the effects are mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from njrt.session.prediction import GOES_ON
from spsbench.report.measures import BOOTSTRAP_ROUNDS, Uniform
from spsbench.surprise.results import SurpriseResult

FEATURES = {
    "surprise": slice(0, 2),
    "the effect": slice(2, 6),
    "surprise and the effect": slice(0, 6),
}
"""The columns of `make_features` that each alarm uses."""
RIDGE = 1.0
"""The penalty on the squared weights, which keeps them finite if features separate all examples."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """How well scores from some features find mistakes in programs that they were not fitted to."""

    features: str
    auc: float
    """How often a wrong effect scores higher than a right one, as a share of all such pairs; ties count half."""
    interval: tuple[float, float]
    gain: float
    """The gain in `auc` over the previous entry of `FEATURES`; 0 for the first."""
    gain_interval: tuple[float, float]
    hits: float
    """Mistakes found with as many alarms as there are surprises; equal scores share the last places."""


def make_features(result: SurpriseResult) -> list[float]:
    """Return how wrong the prediction was, whether the effect was refused or jumped, and how much it changed."""
    facts = result.facts
    assert facts is not None, "results without facts are left out"
    counts = np.log1p([len(result.mismatches), facts.variables, facts.characters])
    is_jump = facts.ending not in (GOES_ON, "refused")
    return [result.is_surprise, counts[0], facts.ending == "refused", is_jump, *counts[1:]]


def combine_alarms(results: Sequence[SurpriseResult], uniform: Uniform) -> list[Alarm]:
    """Return an alarm for each set of features; intervals are from a bootstrap over programs."""
    examples = np.array([make_features(result) for result in results], float)
    wrong = np.array([result.planted != "none" for result in results])
    programs = np.array([result.program for result in results])
    scores = {
        name: score_held_out(examples[:, columns], wrong, programs)
        for name, columns in FEATURES.items()
    }
    places = [np.flatnonzero(programs == name) for name in dict.fromkeys(programs)]
    drawn: dict[str, list[float]] = {name: [] for name in scores}
    for _ in range(BOOTSTRAP_ROUNDS):
        chosen = np.concatenate([places[int(uniform() * len(places))] for _ in places])
        for name, found in scores.items():
            drawn[name].append(compute_auc(found[chosen], wrong[chosen]))
    alarms = sum(result.is_surprise for result in results)
    aucs = {name: compute_auc(found, wrong) for name, found in scores.items()}
    names = list(scores)
    return [
        Alarm(
            name,
            aucs[name],
            _find_middle(drawn[name]),
            aucs[name] - aucs[before],
            _find_middle(np.subtract(drawn[name], drawn[before])),
            count_hits(scores[name], wrong, alarms),
        )
        for before, name in zip([names[0], *names], names, strict=False)
    ]


def score_held_out(examples: np.ndarray, wrong: np.ndarray, programs: np.ndarray) -> np.ndarray:
    """Return a score for each effect, from a logistic model fitted to all other programs."""
    rows = np.column_stack([np.ones(len(examples)), examples])
    scores = np.zeros(len(rows))
    for program in dict.fromkeys(programs):
        inside = programs == program
        scores[inside] = rows[inside] @ fit_logistic(rows[~inside], wrong[~inside])
    return scores.round(9)  # so that equal features have equal scores


def fit_logistic(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic model with a ridge penalty (Newton's method); the first column is 1."""
    penalty = np.diag([1e-9, *[RIDGE] * (rows.shape[1] - 1)])
    weights = np.zeros(rows.shape[1])
    for _ in range(25):  # it needs about 8
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (targets - chances) - penalty @ weights
        curve = (rows.T * (chances * (1 - chances))) @ rows + penalty
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def compute_auc(scores: np.ndarray, wrong: np.ndarray) -> float:
    """Return the share of pairs in the right order (Mann and Whitney, 1947), or 0.5 if there are no pairs."""
    pairs = scores[wrong][:, None] - scores[~wrong]
    return float((np.sign(pairs) / 2 + 0.5).mean()) if pairs.size else 0.5


def count_hits(scores: np.ndarray, wrong: np.ndarray, alarms: int) -> float:
    """Return how many mistakes are among the `alarms` highest scores; equal scores share the last places."""
    if not alarms:
        return 0.0
    last = np.sort(scores)[-alarms]
    above, equal = scores > last, scores == last
    return float(wrong[above].sum() + wrong[equal].mean() * (alarms - above.sum()))


def _find_middle(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the limits of the middle 95 %."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
