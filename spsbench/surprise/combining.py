"""Surprise, combined with facts about the effect by a logistic model that is tested on other programs.

    combine_alarms(results, uniform)
        -> Alarm("surprise", auc=0.61, ...), Alarm("the effect", ...), Alarm("surprise and the effect", ...)

The scores of a program's effects come from a model fitted to the effects of all other programs. Not covered: the same
programs with another model, and mistakes that are rarer than half of the effects.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log1p

from spsbench.report.measures import BOOTSTRAP_ROUNDS, Uniform
from spsbench.results import group_by
from spsbench.surprise.results import SurpriseResult

Features = tuple[float, ...]

_PENALTY = 1.0
"""Of the squared weights (ridge), so that features that separate all examples have finite weights."""
_STEPS = 25
"""Of Newton's method, which needs about 8."""


def list_surprise_features(result: SurpriseResult) -> Features:
    """Return whether a prediction was compared and wrong, and in how many places."""
    return (float(result.is_surprise), log1p(len(result.mismatches)))


def list_effect_features(result: SurpriseResult) -> Features:
    """Return whether an effect was refused or ended the block, and how much it changed."""
    facts = result.facts
    if facts is None:
        raise ValueError("the results have no facts about the effects")
    is_jump = facts.ending not in ("goes on", "refused")
    return (
        float(facts.ending == "refused"),
        float(is_jump),
        log1p(facts.variables),
        log1p(facts.characters),
    )


def list_all_features(result: SurpriseResult) -> Features:
    """Return the features of the prediction and of the effect."""
    return list_surprise_features(result) + list_effect_features(result)


FEATURES: Mapping[str, Callable[[SurpriseResult], Features]] = {
    "surprise": list_surprise_features,
    "the effect": list_effect_features,
    "surprise and the effect": list_all_features,
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """How well the scores of one set of features find mistakes, on programs that they were not fitted to."""

    features: str
    auc: float
    """The share of pairs of a wrong and a right effect whose scores are in this order; ties count half."""
    low: float
    high: float
    gain: tuple[float, float, float]
    """The difference of `auc` from that of surprise, and its interval."""
    hits: float
    """Mistakes among as many alarms as there are surprises; equal scores share the last places."""


def combine_alarms(results: Sequence[SurpriseResult], uniform: Uniform) -> list[Alarm]:
    """Return an alarm for each set of features; intervals are of a bootstrap over programs."""
    scores = {name: score_held_out(results, features) for name, features in FEATURES.items()}
    alarms = sum(result.is_surprise for result in results)
    wrong = [result.planted != "none" for result in results]
    places = group_by(range(len(results)), lambda place: results[place].program)
    programs = list(places.values())
    drawn: dict[str, list[float]] = {name: [] for name in scores}
    for _ in range(BOOTSTRAP_ROUNDS):
        chosen = [p for _ in programs for p in programs[int(uniform() * len(programs))]]
        for name, found in scores.items():
            drawn[name].append(compute_auc([found[p] for p in chosen], [wrong[p] for p in chosen]))
    made = []
    for name, found in scores.items():
        auc = compute_auc(found, wrong)
        gains = [one - other for one, other in zip(drawn[name], drawn["surprise"], strict=True)]
        gain = (auc - compute_auc(scores["surprise"], wrong), *_find_middle(gains))
        hits = count_hits(found, wrong, alarms)
        made.append(Alarm(name, auc, *_find_middle(drawn[name]), gain, hits))
    return made


def score_held_out(
    results: Sequence[SurpriseResult], list_features: Callable[[SurpriseResult], Features]
) -> list[float]:
    """Return a score for each effect, from a model of all other programs."""
    examples = [(list_features(result), float(result.planted != "none")) for result in results]
    scores = [0.0] * len(results)
    for program in dict.fromkeys(result.program for result in results):
        inside = [result.program == program for result in results]
        others = [example for example, is_in in zip(examples, inside, strict=True) if not is_in]
        weights = fit_logistic(others)
        for place, is_in in enumerate(inside):
            if is_in:
                scores[place] = _add_up(weights, examples[place][0])
    return scores


def fit_logistic(examples: Sequence[tuple[Features, float]]) -> list[float]:
    """Return the weights of a logistic model, the constant first (Newton's method, ridge penalty)."""
    width = len(examples[0][0]) + 1 if examples else 1
    weights = [0.0] * width
    for _ in range(_STEPS):
        slope = [0.0] + [-_PENALTY * weight for weight in weights[1:]]
        curve = [[_PENALTY * (i == j > 0) for j in range(width)] for i in range(width)]
        for features, target in examples:
            row = (1.0, *features)
            chance = 1 / (1 + exp(-_add_up(weights, features)))
            for i in range(width):
                slope[i] += (target - chance) * row[i]
                for j in range(width):
                    curve[i][j] += chance * (1 - chance) * row[i] * row[j]
        curve[0][0] += 1e-9
        weights = [
            weight + step for weight, step in zip(weights, _solve(curve, slope), strict=True)
        ]
    return weights


def compute_auc(scores: Sequence[float], wrong: Sequence[bool]) -> float:
    """Return the share of pairs in order (Mann and Whitney, 1947); .5 if there is no pair."""
    right_scores = [score for score, is_wrong in zip(scores, wrong, strict=True) if not is_wrong]
    wrong_scores = [score for score, is_wrong in zip(scores, wrong, strict=True) if is_wrong]
    if not right_scores or not wrong_scores:
        return 0.5
    ordered = sorted(right_scores)
    below = sum(
        bisect_left(ordered, score) + bisect_right(ordered, score) for score in wrong_scores
    )
    return below / 2 / len(right_scores) / len(wrong_scores)


def count_hits(scores: Sequence[float], wrong: Sequence[bool], alarms: int) -> float:
    """Return how many mistakes are among the `alarms` highest scores; equal scores share the last places."""
    if not alarms:
        return 0.0
    last = sorted(scores, reverse=True)[alarms - 1]
    above = [is_wrong for score, is_wrong in zip(scores, wrong, strict=True) if score > last]
    equal = [is_wrong for score, is_wrong in zip(scores, wrong, strict=True) if score == last]
    return sum(above) + sum(equal) * (alarms - len(above)) / len(equal)


def _add_up(weights: Sequence[float], features: Features) -> float:
    total = weights[0] + sum(w * x for w, x in zip(weights[1:], features, strict=True))
    return max(-30.0, min(30.0, total))


def _solve(matrix: list[list[float]], values: Sequence[float]) -> list[float]:
    """Solve a system of linear equations with a positive definite matrix (Gauss)."""
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    for i, row in enumerate(rows):
        for other in rows[i + 1 :]:
            factor = other[i] / row[i]
            other[:] = [b - factor * a for a, b in zip(row, other, strict=True)]
    found: list[float] = []
    for i in reversed(range(len(rows))):
        known = sum(a * x for a, x in zip(rows[i][i + 1 : -1], found, strict=True))
        found.insert(0, (rows[i][-1] - known) / rows[i][i])
    return found


def _find_middle(values: Sequence[float]) -> tuple[float, float]:
    """Return the limits of the middle 95 %."""
    ordered = sorted(values)
    cut = round(len(ordered) * 0.025)
    return ordered[cut], ordered[-1 - cut]
