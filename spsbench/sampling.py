"""A sample that is spread over the strata of its population, and can grow without losing members.

    order_by_strata({"a1": "a", "a2": "a", "b1": "b", "b2": "b"}, uniform)
        ["b2", "a1", "a2", "b1"], for example

The first N names are the sample of size N, so a sample of 100 starts with the sample of 50. Each
sample contains every stratum in proportion to its share of the population, give or take one; the
order within a stratum is random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from spsbench.results import group_by

Item = TypeVar("Item")
Uniform = Callable[[], float]
"""Random numbers from 0 to 1."""


def order_by_strata(strata: Mapping[str, str], uniform: Uniform) -> list[str]:
    """Return all names, given with the stratum of each, in the order that samples take them."""
    members = group_by(sorted(strata), lambda name: strata[name])
    places = []
    for stratum in sorted(members):
        shuffled = sorted(members[stratum], key=lambda name: uniform())
        offset = uniform()
        places += [
            ((number + offset) / len(shuffled), stratum, name)
            for number, name in enumerate(shuffled)
        ]
    return [name for _, _, name in sorted(places)]


def draw_sample(
    items: Iterable[Item],
    name: Callable[[Item], str],
    stratum: Callable[[Item], str],
    size: int | None,
    uniform: Uniform,
) -> list[Item]:
    """Return a random sample without replacement, in random order, with each stratum in proportion.

    A larger sample with the same random numbers starts with the smaller one.
    """
    by_name = {name(item): item for item in items}
    strata = {key: stratum(item) for key, item in by_name.items()}
    return [by_name[key] for key in order_by_strata(strata, uniform)[:size]]
