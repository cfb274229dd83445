"""Version requirements, as `required-version` states them.

    unmet(">=0.1,<0.3", "0.2.1")    None
    unmet("==0.1.*", "0.2.1")       "==0.1.*"

The clauses are those of Python packaging (`==` `!=` `<=` `>=` `<` `>` `~=`, a bare version means
`==`), over release numbers only: a compiler's releases need no epochs and no local versions.
"""

from __future__ import annotations

import re

_CLAUSE = re.compile(r"\s*(==|!=|<=|>=|~=|<|>)?\s*(\d+(?:\.\d+)*)(\.\*)?\s*")


def find_unmet_clause(requirement: str, version: str) -> str | None:
    """Return the first clause of `requirement` that `version` does not meet, or None.

    Raises ValueError, with the clause as its text, where a clause cannot be read.
    """
    return next((clause for clause in requirement.split(",") if not _is_met(clause, version)), None)


def _is_met(clause: str, version: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        raise ValueError(clause.strip())
    comparison, number, wildcard = match[1] or "==", match[2], match[3]
    if wildcard and comparison not in ("==", "!="):
        raise ValueError(clause.strip())
    have, want = _parse_release(version), _parse_release(number)
    if comparison == "~=":
        return have >= want and _has_prefix(have, want[:-1])
    if wildcard:
        return _has_prefix(have, want) is (comparison == "==")
    have, want = _pad_to_same_length(have, want)
    return {
        "==": have == want,
        "!=": have != want,
        "<=": have <= want,
        ">=": have >= want,
        "<": have < want,
        ">": have > want,
    }[comparison]


def _parse_release(version: str) -> tuple[int, ...]:
    """Read the leading release numbers; `0.2.0.dev1` counts as `0.2.0`."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _has_prefix(have: tuple[int, ...], prefix: tuple[int, ...]) -> bool:
    return have[: len(prefix)] == prefix


def _pad_to_same_length(
    left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    length = max(len(left), len(right))
    return left + (0,) * (length - len(left)), right + (0,) * (length - len(right))
