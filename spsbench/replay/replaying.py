"""Replay recorded traces on our runtime, and compare effects, state and checks.

    $ spsbench replay traces.jsonl --results results.jsonl
    program         model    run  blocks  calls  effects  refused  same answers  checks  recorded
    filter_numbers  gpt-4.1    0     3/3     12       12        0           4/9     0/3       3/3
      block 1, eval str(numbers): recorded [42, 911, 1337], here [200, 404, 301]

Each trace is played on the program with its name, from the start. Its replies are sent as recorded,
regardless of our answers: a trace recorded on other inputs diverges at the first effect that reads
one, and the line below its row shows where. Not detected: divergences that affect neither an answer
nor a check.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import njrt
from njrt.rendering.writer import clip
from spsbench.interfaces import make_settings
from spsbench.replay.player import Divergence, TraceReplayer
from spsbench.replay.programs import CannotReplayError, RunChecks, load_suite_program
from spsbench.replay.traces import CheckOutcomes, RunKey, Trace

MAX_EFFECTS = 1000
MAX_CODE_SECONDS = 5.0
MAX_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of replaying one trace on a program."""

    trace: Trace
    blocks: int
    """Blocks that were played; the trace may have more."""
    same_endings: int
    """Blocks that ended normally or by the same jump, as recorded."""
    calls: int
    effects: int
    refused: int
    compared: int
    """Effects that have both a recorded answer and ours."""
    agreed: int
    """Effects with equivalent answers."""
    checks: CheckOutcomes
    recorded_checks: CheckOutcomes | None
    """The recorded evaluation of the run, if it is known."""
    divergences: tuple[Divergence, ...]

    @property
    def has_recorded_checks(self) -> bool:
        """Whether every check has the recorded outcome."""
        return dict(self.checks) == self.recorded_checks

    @property
    def is_not_worse(self) -> bool:
        """Whether every check that held in the recorded run holds."""
        recorded = self.recorded_checks or {}
        return all(self.checks.get(name, False) for name, held in recorded.items() if held)


@dataclass(frozen=True, slots=True)
class SkippedTrace:
    """A trace that was not replayed, and the reason."""

    trace: Trace
    reason: str


def keep_last_runs(traces: Iterable[Trace]) -> list[Trace]:
    """Return the last trace of each run of a program by a model; a retried run counts once."""
    return list({(trace.model, trace.key): trace for trace in traces}.values())


def replay_trace(
    trace: Trace,
    find_program: Callable[[Trace], RunChecks] = load_suite_program,
    evaluations: Mapping[RunKey, CheckOutcomes] | None = None,
) -> ReplayResult | SkippedTrace:
    """Play a trace on its program; `evaluations` are the recorded outcomes of checks."""
    try:
        run_checks = find_program(trace)
    except CannotReplayError as problem:
        return SkippedTrace(trace, str(problem))
    replayer = TraceReplayer(trace)
    with (
        njrt.using(
            model=replayer.model,
            cache=False,
            max_effects=MAX_EFFECTS,
            max_calls=MAX_EFFECTS,
            max_code_seconds=MAX_CODE_SECONDS,
            **make_settings(trace.effects),
        ),
        njrt.watch() as watch,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        checks = run_checks()
    effects = [effect for run in watch.runs for effect in run.effects]
    return ReplayResult(
        trace,
        blocks=len(replayer.played),
        same_endings=replayer.count_same_endings(watch.runs),
        calls=sum(len(run.calls) for run in watch.runs),
        effects=len(effects),
        refused=sum(effect.is_refused for effect in effects),
        compared=sum(block.compared for block in replayer.played),
        agreed=sum(block.agreed for block in replayer.played),
        checks=checks,
        recorded_checks=(evaluations or {}).get(trace.key),
        divergences=replayer.divergences,
    )


def format_replay_table(replays: Sequence[ReplayResult | SkippedTrace]) -> str:
    """Return a row for each trace, with its first divergence below, and the totals."""
    columns = (
        f"{'blocks':>8}{'calls':>7}{'effects':>9}{'refused':>9}{'same answers':>14}{'checks':>9}"
    )
    rows = [f"{'program':27}{'model':26}{'run':>4}{columns}{'recorded':>10}"]
    rows += [row for replay in replays for row in format_replay_rows(replay)]
    played = [replay for replay in replays if isinstance(replay, ReplayResult)]
    return "\n".join([*rows, "", format_replay_totals(played, len(replays))])


def format_replay_rows(replay: ReplayResult | SkippedTrace) -> Iterator[str]:
    """Yield the row for one trace, and its first divergence."""
    trace = replay.trace
    name = f"{trace.program:27}{trace.model.rpartition('/')[2]:26}{trace.run:4}"
    match replay:
        case SkippedTrace(_, reason):
            yield f"{name}  not played: {reason}"
        case ReplayResult():
            blocks = f"{replay.blocks}/{len(trace.blocks)}"
            answers = f"{replay.agreed}/{replay.compared}"
            recorded = replay.recorded_checks
            yield (
                f"{name}{blocks:>8}{replay.calls:7}{replay.effects:9}{replay.refused:9}"
                f"{answers:>14}{count_passed(replay.checks):>9}"
                f"{'-' if recorded is None else count_passed(recorded):>10}"
            )
            for first in replay.divergences[:1]:
                texts = (
                    " ".join(text.split()) for text in (first.call, first.recorded, first.ours)
                )
                call, recorded_text, ours = (clip(text, MAX_SHOWN_CHARS) for text in texts)
                yield f"  block {first.block}, {call}: recorded {recorded_text}, here {ours}"


def count_passed(checks: CheckOutcomes) -> str:
    """Return how many checks hold, out of how many."""
    return f"{sum(checks.values())}/{len(checks)}"


def format_replay_totals(played: Sequence[ReplayResult], traces: int) -> str:
    """Return the totals of all traces."""

    def total(name: str) -> int:
        return sum(getattr(replay, name) for replay in played)

    checks = [passed for replay in played for passed in replay.checks.values()]
    known = [replay for replay in played if replay.recorded_checks is not None]
    text = (
        f"{len(played)} of {traces} traces played: {total('blocks')} blocks, of which"
        f" {total('same_endings')} ended as recorded; {total('calls')} calls, {total('effects')}"
        f" effects, {total('refused')} of them refused; {total('agreed')} of {total('compared')}"
        f" answers are the recorded ones; {sum(checks)} of {len(checks)} checks hold;"
        f" {sum(not replay.divergences for replay in played)} traces never differ"
    )
    if not known:
        return text
    fidelity = sum(replay.has_recorded_checks for replay in known)
    return (
        f"{text}; {fidelity} of {len(known)} runs have the recorded evaluation, "
        f"{sum(replay.is_not_worse for replay in known)} are not worse"
    )
