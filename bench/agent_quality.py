"""Run three programs with every effect set on a real model: right results, calls, tokens and seconds.

    NJC_BASE_URL=http://127.0.0.1:8000/v1 NJC_MODEL=openai/local python bench/agent_quality.py
    ... python bench/agent_quality.py direct baseline        only these sets

    effects           right     calls a block   tokens a block   refused   seconds a block
    direct           2 of 3              1.00              382         0              21.2

One program computes, one changes an object in place, one judges texts in a loop and breaks out of it: five blocks
in all, if the last one goes right. `refused` counts refused effects. Without a model the command only says that
it needs one. (The row is of a model of 1.5 billion parameters on a busy processor.)
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.observability.accounts import RunAccount, Totals
from njrt.options import read_environment_options
from spsbench.interfaces import EffectSet, make_settings

PROGRAMS = '''
class Parcel:
    """Something on its way."""

    def __init__(self, days: int) -> None:
        self.days = days
        self.is_late = False


def total_of(prices: list[float]) -> float:
    """natural
    Put the sum of <prices> into <:total>.
    """
    return total


def checked(parcel: Parcel) -> Parcel:
    """natural
    Set `is_late` of <parcel> to True if its `days` are more than 5.
    """
    return parcel


def languages_of(lines: list[str]) -> list[str]:
    languages = []
    for line in lines:
        """natural
        Break if <line> says goodbye. Else put its language, "english" or "french", into <:language>.
        """
        languages.append(language)
    return languages
'''
LIMITS: Mapping[str, Any] = {
    "max_calls": 10,
    "max_seconds": 900.0,
    "max_call_seconds": 300.0,
    "max_reply_tokens": 300,
}


@dataclass(frozen=True)
class Trial:
    """One program: the function, its argument, and a check of the result."""

    function: str
    argument: Callable[[dict[str, Any]], Any]
    is_right: Callable[[Any], bool]


TRIALS = (
    Trial("total_of", lambda names: [2.5, 4.0, 6.0], lambda total: bool(total == 12.5)),
    Trial("checked", lambda names: names["Parcel"](9), lambda parcel: parcel.is_late is True),
    Trial(
        "languages_of",
        lambda names: ["Good morning to you all", "Merci beaucoup, mon ami", "Goodbye, my friends"],
        lambda languages: bool(languages == ["english", "french"]),
    ),
)


def compile_programs() -> dict[str, Any]:
    """Return the variables of the programs' module."""
    compilation = compile_source(SourceFile("quality.njpy", PROGRAMS.encode()))
    assert compilation.output is not None, compilation.diagnostics
    names: dict[str, Any] = {"__name__": "quality"}
    exec(compile(compilation.output, "quality.py", "exec"), names)
    return names


def run_trials(effects: EffectSet, names: dict[str, Any]) -> tuple[int, list[RunAccount]]:
    """Return the number of right programs, and the accounts of their blocks."""
    right = 0
    with njrt.using(**make_settings(effects), cache=False, **LIMITS), njrt.watch() as watch:
        for trial in TRIALS:
            began = time.monotonic()
            try:
                result = names[trial.function](trial.argument(names))
                is_right = trial.is_right(result)
                note = "right" if is_right else f"wrong: {result!r}"
            except Exception as error:
                is_right, note = False, f"{type(error).__name__}: {error}"
            right += is_right
            seconds = time.monotonic() - began
            print(f"    {trial.function:<14}{seconds:6.1f} s  {note[:120]}", file=sys.stderr)
    return right, watch.runs


def report(effects: EffectSet, right: int, runs: list[RunAccount]) -> None:
    """Print one row of the table."""
    used = sum((run.totals for run in runs), Totals())
    blocks = max(1, used.runs)
    refused = sum(act.is_refused for run in runs for act in run.effects)
    print(
        f"{effects:<16}{right:>2} of {len(TRIALS)}{used.calls / blocks:>18.2f}"
        f"{used.tokens / blocks:>17.0f}{refused:>10}{used.seconds / blocks:>18.1f}",
        flush=True,
    )


def main() -> None:
    """Run the programs with each effect set, and print a table."""
    options = read_environment_options(os.environ)
    if options.model is None and options.base_url is None:
        print("agent_quality: set NJC_MODEL or NJC_BASE_URL to the model that runs the programs")
        return
    names = compile_programs()
    chosen: list[EffectSet] = [
        each for each in get_args(EffectSet) if each in sys.argv[1:] or not sys.argv[1:]
    ]
    print(
        f"{'effects':<16}{'right':>7}{'calls a block':>18}{'tokens a block':>17}"
        f"{'refused':>10}{'seconds a block':>18}"
    )
    for effects in chosen:
        report(effects, *run_trials(effects, names))


if __name__ == "__main__":
    main()
