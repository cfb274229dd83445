"""Carry out recorded traces on our runtime: what became of their effects, of the state, of the checks.

    $ spsbench replay traces.jsonl
    program                model              run  blocks  calls  effects  refused  same answers  checks
    filter_numbers         gpt-4.1-2025-04-14   0     3/3     12       12        0           4/9     0/3
      block 1, eval str(numbers): recorded [42, 911, 1337], here [200, 404, 301]

Each trace is played on the program of its name, from its start. Its replies are said as they were recorded,
whatever our answers: so a trace that was taken from other inputs goes astray as soon as it has read one, and
where that is, the line below says.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import njrt
from spsbench.replay.player import Divergence, TraceReplayer
from spsbench.replay.programs import CannotReplayError, CheckOutcomes, RunChecks, load_suite_program
from spsbench.replay.traces import Trace

MAX_EFFECTS = 1000
MAX_CODE_SECONDS = 5.0
MAX_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What became of one trace on a program."""

    trace: Trace
    blocks: int
    """Blocks that were played; the trace may hold more."""
    ended_alike: int
    """Those that ended by the jump, or without, as recorded."""
    calls: int
    effects: int
    refused: int
    compared: int
    """Answers that were recorded and given here, too."""
    agreed: int
    checks: CheckOutcomes
    divergences: tuple[Divergence, ...]


@dataclass(frozen=True, slots=True)
class SkippedTrace:
    """A trace for which there is no program, and why."""

    trace: Trace
    reason: str


def replay_trace(
    trace: Trace, program_for: Callable[[Trace], RunChecks] = load_suite_program
) -> ReplayResult | SkippedTrace:
    """Play a trace on the program that there is for it."""
    try:
        play = program_for(trace)
    except CannotReplayError as problem:
        return SkippedTrace(trace, str(problem))
    player = TraceReplayer(trace)
    with (
        njrt.using(
            model=player.model,
            effects=trace.effects,
            cache=False,
            max_effects=MAX_EFFECTS,
            max_calls=MAX_EFFECTS,
            max_code_seconds=MAX_CODE_SECONDS,
        ),
        njrt.watch() as watch,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        checks = play()
    acts = [act for run in watch.runs for act in run.effects]
    return ReplayResult(
        trace,
        blocks=len(player.played),
        ended_alike=player.ended_alike(watch.runs),
        calls=sum(len(run.calls) for run in watch.runs),
        effects=len(acts),
        refused=sum(act.is_refused for act in acts),
        compared=player.compared,
        agreed=player.agreed,
        checks=checks,
        divergences=player.divergences,
    )


def format_replay_table(replays: Sequence[ReplayResult | SkippedTrace]) -> str:
    """All that was replayed, a row each with the first divergence below, and the sums."""
    heads = (
        f"{'blocks':>8}{'calls':>7}{'effects':>9}{'refused':>9}{'same answers':>14}{'checks':>9}"
    )
    rows = [f"{'program':27}{'model':26}{'run':>4}{heads}"]
    rows += [row for each in replays for row in format_replay_rows(each)]
    played = [each for each in replays if isinstance(each, ReplayResult)]
    return "\n".join([*rows, "", format_replay_totals(played, len(replays))])


def format_replay_rows(replayed: ReplayResult | SkippedTrace) -> Iterator[str]:
    """The row of one trace, and what is to be said of it."""
    trace = replayed.trace
    named = f"{trace.program:27}{trace.model.rpartition('/')[2]:26}{trace.run:4}"
    match replayed:
        case SkippedTrace(_, reason):
            yield f"{named}  not played: {reason}"
        case ReplayResult():
            blocks = f"{replayed.blocks}/{len(trace.blocks)}"
            answers = f"{replayed.agreed}/{replayed.compared}"
            checks = f"{sum(replayed.checks.values())}/{len(replayed.checks)}"
            yield (
                f"{named}{blocks:>8}{replayed.calls:7}{replayed.effects:9}{replayed.refused:9}"
                f"{answers:>14}{checks:>9}"
            )
            for first in replayed.divergences[:1]:
                yield (
                    f"  block {first.block}, {shorten_text(first.call)}: recorded {shorten_text(first.recorded)}, "
                    f"here {shorten_text(first.ours)}"
                )


def format_replay_totals(played: Sequence[ReplayResult], traces: int) -> str:
    """What all traces gave together."""
    blocks = sum(each.blocks for each in played)
    checks = [passed for each in played for passed in each.checks.values()]
    return (
        f"{len(played)} of {traces} traces played: {blocks} blocks, of which "
        f"{sum(each.ended_alike for each in played)} ended as recorded; "
        f"{sum(each.calls for each in played)} calls, "
        f"{sum(each.effects for each in played)} effects, "
        f"{sum(each.refused for each in played)} of them refused; "
        f"{sum(each.agreed for each in played)} of {sum(each.compared for each in played)} answers "
        f"are the recorded ones; {sum(checks)} of {len(checks)} checks hold; "
        f"{sum(not each.divergences for each in played)} traces never differ"
    )


def shorten_text(text: str) -> str:
    """A text on one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN_CHARS else line[: MAX_SHOWN_CHARS - 3] + "..."
