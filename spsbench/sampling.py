"""A sample that is spread over the kinds of its population, and grows without losing a member.

    order_by_strata({"a1": "a", "a2": "a", "b1": "b", "b2": "b"}, uniform)     ["b2", "a1", "a2", "b1"], or alike

The first N names are the sample of N: a sample of 100 starts with the sample of 50. Each has of every stratum its
share of the population, give or take one, and within a stratum the order is random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Uniform = Callable[[], float]
"""Random numbers from 0 to 1."""


def order_by_strata(strata: Mapping[str, str], uniform: Uniform) -> list[str]:
    """Return all names, given with the stratum of each, in the order that samples take them."""
    members: dict[str, list[str]] = {}
    for name in sorted(strata):
        members.setdefault(strata[name], []).append(name)
    places = []
    for stratum in sorted(members):
        shuffled = sorted(members[stratum], key=lambda name: uniform())
        offset = uniform()
        places += [
            ((number + offset) / len(shuffled), stratum, name)
            for number, name in enumerate(shuffled)
        ]
    return [name for _, _, name in sorted(places)]


def divide_by_size(sizes: Mapping[str, int], parts: int) -> dict[str, str]:
    """Divide names by size into parts of nearly equal number, from `1 of 4` to `4 of 4`."""
    ranked: Sequence[str] = sorted(sizes, key=lambda name: (sizes[name], name))
    return {
        name: f"{number * parts // len(ranked) + 1} of {parts}"
        for number, name in enumerate(ranked)
    }
